//! Finds a capacity: many short loads, each with a rest before it, on whatever can be loaded.

mod planner;

pub use planner::{Next, Planner};

use crate::clock;
use crate::generator::describe_connect;
use crate::plan::{LoadError, Plan};
use crate::tally::Measured;
use model::capacity::{Capacity, Ended, Lacked, Of, Probe, Recovered, Recovery, Unfit};
use model::experiment::Load;
use model::record::Counts;
use model::threshold::Readings;
use model::units::show_short;
use rustix::io::Errno;
use stats::{Histogram, smallest_sample, student_t};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A rate is held when it could be kept up so long: a queue that grows breaks the level later.
const KEPT_UP_S: f64 = 60.0;
/// Of the slope of a queue's growth, so sure must one be.
const GROWTH_CONFIDENCE: f64 = 0.95;
/// Fewest tenths of a second in which growth is looked for.
const GROWTH_FEWEST: usize = 5;
/// Between two probes.
const REST: Duration = Duration::from_millis(200);
/// So long may a system take to come back from a level that it did not keep.
const RECOVERS_WITHIN: Duration = Duration::from_secs(15);
/// It has come back when single requests take at most twice what they took at first, and so much more.
const QUIET_SLACK_NS: u64 = 5_000_000;
/// The longest probe, however few the requests of its level.
const LONGEST: Duration = Duration::from_secs(60);
/// Requests beyond those that are needed, where their number is not exact.
const RESERVE: f64 = 1.2;
/// Of the requests that were due, so many are to be sent in time.
const SENT_SHARE_MIN: f64 = 0.99;

/// What a short load measured.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Latencies of the right answers.
    pub times: Histogram,
    /// What became of the requests.
    pub counts: Counts,
    /// How long it lasted.
    pub duration_ns: u64,
    /// For each tenth of a second of the planned time: right answers, and their latencies added up.
    pub tenths: Vec<(u32, u64)>,
    /// CPU that the generator needed, of the threads that it had.
    pub generator_busy: f64,
    /// Whether requests left too late though there was room for them.
    pub generator_late: bool,
    /// What it had none left of, so that connecting failed.
    pub generator_lacked: Option<Lacked>,
    /// CPU time of what was loaded, where that is read.
    pub contender_cpu_ns: Option<u64>,
    /// CPU time of what stands behind it, where that is read.
    pub behind_cpu_ns: Option<u64>,
    /// CPU time that the hypervisor took, where that is read.
    pub steal_share: Option<f64>,
    /// CPU time that other programs used, where that is read and is not too little to be told.
    pub others_share: Option<f64>,
    /// How the system ended meanwhile, where it did.
    pub ended: Option<String>,
}

impl Reading {
    /// What a run measured, of a load that it was given.
    pub fn of(measured: Measured, load: &Load) -> Reading {
        let planned = (measured.planned_ns / 100_000_000) as usize;
        let tenths = measured.correct_per_tenth.iter().copied().zip(measured.latency_ns_per_tenth.iter().copied());
        let busy = measured.cpu_ns.saturating_sub(measured.spun_ns) as f64 / measured.duration_ns as f64 / f64::from(measured.threads);
        let (sent, due) = (measured.sent_in_time, measured.counts.scheduled);
        let is_late = (sent as f64) < SENT_SHARE_MIN * due as f64 && due - sent.min(due) > 1;
        Reading {
            tenths: tenths.take(planned).collect(),
            generator_busy: busy,
            generator_late: matches!(load, Load::Arrivals { .. }) && is_late && measured.in_flight_max < load.in_flight_max(),
            generator_lacked: lacked(&measured.examples),
            contender_cpu_ns: None,
            behind_cpu_ns: None,
            steal_share: None,
            others_share: None,
            ended: None,
            times: measured.latency,
            counts: measured.counts,
            duration_ns: measured.duration_ns,
        }
    }
}

/// What connecting failed for want of, by what was said of requests that failed: no server's doing.
fn lacked(examples: &[String]) -> Option<Lacked> {
    let is_said = |errno| examples.contains(&describe_connect(errno));
    match () {
        () if is_said(Errno::ADDRNOTAVAIL) => Some(Lacked::Ports),
        () if is_said(Errno::MFILE) => Some(Lacked::Descriptors),
        () => None,
    }
}

/// What can be loaded, and how it is looked after between loads.
pub trait Subject {
    /// Loads it; `None` when it was asked to stop.
    ///
    /// # Errors
    /// A load that cannot be made.
    fn load(&mut self, load: &Load, duration: Duration, seed: u64) -> Result<Option<Reading>, LoadError>;

    /// Asks a few times, one request after the other: how long the longest took, in nanoseconds; `None` when not all were answered rightly.
    ///
    /// # Errors
    /// As [`Subject::load`].
    fn quiet(&mut self) -> Result<Option<u64>, LoadError>;

    /// Whether there is nobody any more who could come back.
    fn has_ended(&mut self) -> bool;

    /// Stops it; what was wrong with how it ended.
    fn stop(&mut self) -> Option<String>;

    /// Starts it after that; whether it could be done.
    fn start(&mut self) -> bool;

    /// Lets time pass.
    fn rest(&mut self, for_so_long: Duration);

    /// The monotonic clock.
    fn now_ns(&self) -> u64;

    /// Whether to stop.
    fn is_stopped(&self) -> bool;
}

/// Looks for a capacity; tells of each probe as it is made.
///
/// # Errors
/// A load that cannot be made.
pub fn search(
    subject: &mut dyn Subject,
    capacity: &Capacity,
    timeout: Duration,
    seed: u64,
    told: &mut dyn FnMut(&Probe),
) -> Result<Ended, LoadError> {
    let Some(quiet_ns) = subject.quiet()? else {
        return Ok(if subject.is_stopped() { Ended::Stopped } else { Ended::NeverQuiet });
    };
    let mut planner = Planner::new(capacity, seed);
    // Requests a second of each user; a rate says it itself.
    let mut per_level = if capacity.of.is_whole() { None } else { Some(1.0) };
    let (mut made, mut again) = (0, 0);
    while let Some(next) = planner.next_level() {
        subject.rest(REST);
        let duration = lasts(capacity, next.level, per_level);
        let load = capacity.load_at(next.level, duration);
        made += 1;
        let loaded = match subject.load(&load, duration, seed.wrapping_add(made)) {
            // Nothing was asked of it: whatever its edge is, it lies lower or is not to be seen from here.
            Err(LoadError::Descriptors { .. }) => {
                again = 0;
                planner.out_of_reach(next, Unfit::Descriptors);
                continue;
            }
            loaded => loaded?,
        };
        let Some(reading) = loaded else { return Ok(Ended::Stopped) };
        // Of whoever is gone nobody learns how often its users ask.
        if capacity.of.is_whole() && reading.counts.scheduled > 0 && reading.ended.is_none() {
            per_level = Some(reading.counts.scheduled as f64 / duration.as_secs_f64() / next.level);
        }
        let mut probe = probe(capacity, next, &reading, timeout);
        let mut is_lost = false;
        if probe.kept == Some(false) {
            let recovery = recover(subject, quiet_ns)?;
            is_lost = recovery.how == Recovered::Not;
            probe.recovery = Some(recovery);
        }
        told(&probe);
        if subject.is_stopped() {
            return Ok(Ended::Stopped);
        }
        if is_lost {
            return Ok(Ended::NotRecovered);
        }
        match probe.unfit() {
            None => again = 0,
            Some(unfit) if again < again_max(unfit) => {
                again += 1;
                // Whoever takes CPU time mostly does so for seconds.
                if matches!(unfit, Unfit::Robbed | Unfit::Disturbed) {
                    subject.rest(duration);
                }
                continue;
            }
            Some(unfit) if unfit.is_out_of_reach() => {
                again = 0;
                planner.out_of_reach(next, unfit);
                continue;
            }
            Some(unfit) if !next.at_edge => return Ok(Ended::Unfit(unfit)),
            Some(_) => again = 0,
        }
        planner.tell(next, probe.says().map(|held| held.held));
    }
    Ok(planner.bound_by().map_or(Ended::Done, Ended::Unfit))
}

/// How often a probe that says nothing is made again: that the generator was at its limit is mostly no chance.
fn again_max(unfit: Unfit) -> u32 {
    if unfit.is_out_of_reach() { 1 } else { 3 }
}

/// How long a level must be probed for its quantiles to be told.
fn lasts(capacity: &Capacity, level: f64, per_level: Option<f64>) -> Duration {
    let needed = per_level.map_or(0.0, |rate| RESERVE * capacity.service_level.fewest() as f64 / (rate * level));
    Duration::from_secs_f64(needed.min(LONGEST.as_secs_f64())).max(capacity.probe)
}

fn probe(capacity: &Capacity, next: Next, reading: &Reading, timeout: Duration) -> Probe {
    let Reading { times, counts, duration_ns, .. } = reading;
    let mut kept = capacity.service_level.check(&Readings { times, counts, duration_ns: *duration_ns });
    // Users wait for their answers, so that what they wait for cannot grow for ever.
    if kept.kept == Some(true)
        && matches!(capacity.of, Of::Rate { .. })
        && let Some(grows) = growth(&reading.tenths)
    {
        let bound = capacity.service_level.latency_bound_ns().unwrap_or(timeout.as_nanos() as f64);
        let after = times.mean_ns() + grows.surely * KEPT_UP_S;
        if after > bound {
            kept.kept = Some(false);
            kept.found += &format!(", but latency grows by {} a second", show_short(grows.by));
        }
    }
    if let Some(status) = &reading.ended {
        kept.kept = Some(false);
        kept.found += &format!(", but it ended with {status}");
    }
    let quantile = |q: f64| (times.len() >= smallest_sample(q)).then(|| times.quantile_ns(q));
    Probe {
        level: next.level,
        at_edge: next.at_edge,
        kept: kept.kept,
        found: kept.found,
        duration_ns: *duration_ns,
        counts: *counts,
        rate_per_s: counts.correct as f64 / (*duration_ns as f64 / 1e9),
        p50_ns: quantile(0.5),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        generator_busy: reading.generator_busy,
        generator_late: reading.generator_late,
        generator_lacked: reading.generator_lacked,
        contender_cpu_ns: reading.contender_cpu_ns,
        behind_cpu_ns: reading.behind_cpu_ns,
        steal_share: reading.steal_share,
        others_share: reading.others_share,
        ended: reading.ended.clone(),
        recovery: None,
    }
}

/// Nanoseconds by which latency grows in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Growth {
    by: f64,
    /// At least, at the confidence that is asked for.
    surely: f64,
}

/// The slope of a line, by least squares, through the mean latencies of the second half's tenths; `None` from too few.
fn growth(tenths: &[(u32, u64)]) -> Option<Growth> {
    let half = tenths.iter().enumerate().skip(tenths.len() / 2);
    let points: Vec<(f64, f64)> =
        half.filter(|(_, (n, _))| *n > 0).map(|(at, (n, sum))| (at as f64 / 10.0, *sum as f64 / f64::from(*n))).collect();
    if points.len() < GROWTH_FEWEST {
        return None;
    }
    let many = points.len() as f64;
    let (t_mean, y_mean) = (points.iter().map(|p| p.0).sum::<f64>() / many, points.iter().map(|p| p.1).sum::<f64>() / many);
    let spread: f64 = points.iter().map(|p| (p.0 - t_mean).powi(2)).sum();
    let by = points.iter().map(|p| (p.0 - t_mean) * (p.1 - y_mean)).sum::<f64>() / spread;
    let rest: f64 = points.iter().map(|p| (p.1 - y_mean - by * (p.0 - t_mean)).powi(2)).sum();
    let error = (rest / (many - 2.0) / spread).sqrt();
    Some(Growth { by, surely: by - student_t(GROWTH_CONFIDENCE, points.len() - 2) * error })
}

/// Waits until single requests are answered as at first; starts the system again where that takes too long.
fn recover(subject: &mut dyn Subject, quiet_ns: u64) -> Result<Recovery, LoadError> {
    let began_ns = subject.now_ns();
    let is_quiet = |found: Option<u64>| found.is_some_and(|ns| ns <= 2 * quiet_ns + QUIET_SLACK_NS);
    loop {
        let has_ended = subject.has_ended();
        let came_back = !has_ended && is_quiet(subject.quiet()?);
        let after_ns = subject.now_ns() - began_ns;
        if came_back || subject.is_stopped() {
            return Ok(Recovery { after_ns, how: Recovered::ByItself, failure: None });
        }
        if has_ended || after_ns >= RECOVERS_WITHIN.as_nanos() as u64 {
            let failure = subject.stop();
            let restarted = subject.start() && subject.quiet()?.is_some();
            let how = if restarted { Recovered::Restarted } else { Recovered::Not };
            return Ok(Recovery { after_ns: subject.now_ns() - began_ns, how, failure });
        }
        subject.rest(REST);
    }
}

/// Requests that are made to see whether a system is quiet.
const QUIET_REQUESTS: u64 = 5;
/// They may take so long, all together.
const QUIET_WITHIN: Duration = Duration::from_secs(2);

/// The plan by which a system is asked whether it is quiet: like another one, but with a connection and a few requests.
pub fn quiet_plan<'a>(plan: &Plan<'a>, load: &'a Load) -> Plan<'a> {
    Plan {
        load,
        duration: QUIET_WITHIN,
        requests: Some(QUIET_REQUESTS),
        timeout: plan.timeout.min(QUIET_WITHIN),
        threads: 1,
        progress: None,
        ..*plan
    }
}

/// What such a plan measured: the longest time, where all were answered rightly.
pub fn quiet_of(measured: &Measured) -> Option<u64> {
    (measured.counts.correct == QUIET_REQUESTS).then(|| measured.service.max_ns())
}

/// Something that a plan can be run on, whose life nobody looks after.
pub struct Lone<'p> {
    /// Everything but the load, the duration and the seed.
    pub plan: Plan<'p>,
}

impl Subject for Lone<'_> {
    fn load(&mut self, load: &Load, duration: Duration, seed: u64) -> Result<Option<Reading>, LoadError> {
        let plan = Plan { load, duration, seed, progress: None, ..self.plan };
        let measured = crate::run(&plan)?;
        Ok((!measured.interrupted).then(|| Reading::of(measured, load)))
    }

    fn quiet(&mut self) -> Result<Option<u64>, LoadError> {
        let one = Load::closed(1);
        crate::run(&quiet_plan(&self.plan, &one)).map(|measured| quiet_of(&measured))
    }

    fn has_ended(&mut self) -> bool {
        false
    }

    fn stop(&mut self) -> Option<String> {
        None
    }

    fn start(&mut self) -> bool {
        false
    }

    fn rest(&mut self, for_so_long: Duration) {
        std::thread::sleep(for_so_long);
    }

    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn is_stopped(&self) -> bool {
        self.plan.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
