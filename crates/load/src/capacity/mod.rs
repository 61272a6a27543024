//! Searches for the capacity of a system: the highest level of load that keeps a service level.
//!
//! [`search`] makes many short loads, called probes, with a rest before each. [`Planner`] chooses
//! the next level. A [`Subject`] is what is loaded, and [`Reading`] is what one probe measured.
//! `record::capacity` estimates the capacity from all probes.

mod planner;

pub use planner::{Next, Planner};

use crate::clock;
use crate::connection::describe_connect;
use crate::measured::Measured;
use crate::plan::{LoadError, Plan};
use crate::run::run;
use record::Counts;
use record::capacity::{Ended, Lacked, Probe, Recovered, Recovery, Unfit};
use rustix::io::Errno;
use spec::experiment::Load;
use spec::experiment::capacity::{Capacity, Quantity};
use spec::units::show_short;
use stats::{Histogram, smallest_sample, student_t};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A rate is kept if it could be sustained for this long. A growing queue breaks the level later.
const KEPT_UP_S: f64 = 60.0;
/// The confidence at which the slope of a growing queue is judged.
const GROWTH_CONFIDENCE: f64 = 0.95;
/// The smallest number of tenths of a second in which growth is estimated.
const GROWTH_FEWEST: usize = 5;
/// The rest between two probes.
const REST: Duration = Duration::from_millis(200);
/// How long a system may take to recover from a level that it did not keep.
const RECOVERS_WITHIN: Duration = Duration::from_secs(15);
/// A system has recovered if single requests take at most twice their first time, and this much
/// more.
const QUIET_SLACK_NS: u64 = 5_000_000;
/// The longest probe, for levels with few requests.
const LONGEST: Duration = Duration::from_secs(60);
/// Sends more requests than needed, because their number is not exact.
const RESERVE: f64 = 1.2;
/// The share of due requests that must be sent in time.
const SENT_SHARE_MIN: f64 = 0.99;

/// What one probe measured.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Latencies of correct responses.
    pub times: Histogram,
    /// Requests by outcome.
    pub counts: Counts,
    /// The duration of the probe.
    pub duration_ns: u64,
    /// For each tenth of a second of the planned time: correct responses, and the sum of their
    /// latencies.
    pub tenths: Vec<(u32, u64)>,
    /// The share of its threads' CPU time that the generator used.
    pub generator_busy: f64,
    /// Whether requests were sent late although there was room for them.
    pub generator_late: bool,
    /// The resource that the generator lacked, so that connecting failed.
    pub generator_lacked: Option<Lacked>,
    /// CPU time of the loaded system, if it is measured.
    pub contender_cpu_ns: Option<u64>,
    /// CPU time of the systems that it calls, if it is measured.
    pub behind_cpu_ns: Option<u64>,
    /// CPU steal, if it is measured.
    pub steal_share: Option<f64>,
    /// CPU time of other programs, if it is measured and large enough to tell.
    pub others_share: Option<f64>,
    /// How the system ended during the probe, if it did.
    pub ended: Option<String>,
}

impl Reading {
    /// Converts the measurement of a load.
    pub fn from_measured(measured: Measured, load: &Load) -> Reading {
        let planned = (measured.planned_ns / 100_000_000) as usize;
        let tenths = measured
            .correct_per_tenth
            .iter()
            .copied()
            .zip(measured.latency_ns_per_tenth.iter().copied());
        let busy = measured.cpu_ns.saturating_sub(measured.spun_ns) as f64
            / measured.duration_ns as f64
            / f64::from(measured.threads);
        let (sent, due) = (measured.sent_in_time, measured.counts.scheduled);
        let is_late = (sent as f64) < SENT_SHARE_MIN * due as f64 && due - sent.min(due) > 1;
        Reading {
            tenths: tenths.take(planned).collect(),
            generator_busy: busy,
            generator_late: matches!(load, Load::Arrivals { .. })
                && is_late
                && measured.in_flight_max < load.in_flight_max(),
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

/// Returns the resource whose lack made connecting fail, according to the examples of failed
/// requests. The server is not the cause.
fn lacked(examples: &[String]) -> Option<Lacked> {
    let is_said = |errno| examples.contains(&describe_connect(errno));
    match () {
        () if is_said(Errno::ADDRNOTAVAIL) => Some(Lacked::Ports),
        () if is_said(Errno::MFILE) => Some(Lacked::Descriptors),
        () => None,
    }
}

/// A system that can be loaded, and its care between loads.
pub trait Subject {
    /// Makes a load. Returns `None` if it was stopped.
    ///
    /// # Errors
    /// A load that cannot be made.
    fn load(
        &mut self,
        load: &Load,
        duration: Duration,
        seed: u64,
    ) -> Result<Option<Reading>, LoadError>;

    /// Sends a few single requests. Returns the longest time in nanoseconds, or `None` if a
    /// response was missing or wrong.
    ///
    /// # Errors
    /// As [`Subject::load`].
    fn quiet(&mut self) -> Result<Option<u64>, LoadError>;

    /// Whether the system has ended, so that it cannot recover.
    fn has_ended(&mut self) -> bool;

    /// Stops the system. Returns what was wrong with its end.
    fn stop(&mut self) -> Option<String>;

    /// Starts the system after a stop. Returns whether it succeeded.
    fn start(&mut self) -> bool;

    /// Waits.
    fn rest(&mut self, for_so_long: Duration);

    /// Reads the monotonic clock.
    fn now_ns(&self) -> u64;

    /// Whether the search should stop.
    fn is_stopped(&self) -> bool;
}

/// Searches for a capacity. Reports each probe when it is made.
///
/// # Errors
/// A load that cannot be made.
pub fn search(
    subject: &mut dyn Subject,
    capacity: &Capacity,
    timeout: Duration,
    seed: u64,
    report: &mut dyn FnMut(&Probe),
) -> Result<Ended, LoadError> {
    let Some(quiet_ns) = subject.quiet()? else {
        return Ok(if subject.is_stopped() { Ended::Stopped } else { Ended::NeverQuiet });
    };
    let mut planner = Planner::new(capacity, seed);
    // Requests a second of each user. `None` for rates, which need no such factor.
    let mut per_level = if capacity.of.is_whole() { None } else { Some(1.0) };
    let (mut made, mut again) = (0, 0);
    while let Some(next) = planner.next_level() {
        subject.rest(REST);
        let duration = lasts(capacity, next.level, per_level);
        let load = capacity.load_at(next.level, duration);
        made += 1;
        let loaded = match subject.load(&load, duration, seed.wrapping_add(made)) {
            // No request was sent, so the system's edge is lower or cannot be seen from here.
            Err(LoadError::Descriptors { .. }) => {
                again = 0;
                planner.out_of_reach(next, Unfit::Descriptors);
                continue;
            }
            loaded => loaded?,
        };
        let Some(reading) = loaded else { return Ok(Ended::Stopped) };
        // A system that has ended does not show how often its users send requests.
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
        report(&probe);
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
                // Programs that take CPU time mostly do so for seconds.
                if matches!(unfit, Unfit::Stolen | Unfit::Disturbed) {
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

/// Returns how often an inconclusive probe is repeated. A generator at its limit is rarely a
/// coincidence.
fn again_max(unfit: Unfit) -> u32 {
    if unfit.is_out_of_reach() { 1 } else { 3 }
}

/// Returns how long a probe must be to support the quantiles of the service level.
fn lasts(capacity: &Capacity, level: f64, per_level: Option<f64>) -> Duration {
    let needed = per_level
        .map_or(0.0, |rate| RESERVE * capacity.service_level.fewest() as f64 / (rate * level));
    Duration::from_secs_f64(needed.min(LONGEST.as_secs_f64())).max(capacity.probe)
}

fn probe(capacity: &Capacity, next: Next, reading: &Reading, timeout: Duration) -> Probe {
    let Reading { times, counts, duration_ns, .. } = reading;
    let mut kept = capacity.service_level.check(&counts.readings(times, *duration_ns));
    // Users wait for their responses, so their queue cannot grow without limit.
    if kept.kept == Some(true)
        && matches!(capacity.of, Quantity::Rate { .. })
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

/// By how many nanoseconds latency grows in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Growth {
    by: f64,
    /// The lower bound, at the chosen confidence.
    surely: f64,
}

/// Fits a line to the mean latencies of the second half's tenths, by least squares. Returns `None`
/// if there are too few.
fn growth(tenths: &[(u32, u64)]) -> Option<Growth> {
    let half = tenths.iter().enumerate().skip(tenths.len() / 2);
    let points: Vec<(f64, f64)> = half
        .filter(|(_, (n, _))| *n > 0)
        .map(|(at, (n, sum))| (at as f64 / 10.0, *sum as f64 / f64::from(*n)))
        .collect();
    if points.len() < GROWTH_FEWEST {
        return None;
    }
    let many = points.len() as f64;
    let (t_mean, y_mean) = (
        points.iter().map(|p| p.0).sum::<f64>() / many,
        points.iter().map(|p| p.1).sum::<f64>() / many,
    );
    let spread: f64 = points.iter().map(|p| (p.0 - t_mean).powi(2)).sum();
    let by = points.iter().map(|p| (p.0 - t_mean) * (p.1 - y_mean)).sum::<f64>() / spread;
    let rest: f64 = points.iter().map(|p| (p.1 - y_mean - by * (p.0 - t_mean)).powi(2)).sum();
    let error = (rest / (many - 2.0) / spread).sqrt();
    Some(Growth { by, surely: by - student_t(GROWTH_CONFIDENCE, points.len() - 2) * error })
}

/// Waits until single requests are as fast as at first. Restarts the system if that takes too long.
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

/// The number of requests that check whether a system is quiet.
const QUIET_REQUESTS: u64 = 5;
/// The time limit for all of them together.
const QUIET_WITHIN: Duration = Duration::from_secs(2);

/// Returns a plan that checks whether a system is quiet: one connection and a few requests.
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

/// Returns the longest time that a quiet plan measured, if all responses were correct.
pub fn quiet_time_ns(measured: &Measured) -> Option<u64> {
    (measured.counts.correct == QUIET_REQUESTS).then(|| measured.service.max_ns())
}

/// A target without any control over the system behind it.
pub struct UnmanagedTarget<'p> {
    /// The plan. Load, duration and seed are replaced.
    pub plan: Plan<'p>,
}

impl Subject for UnmanagedTarget<'_> {
    fn load(
        &mut self,
        load: &Load,
        duration: Duration,
        seed: u64,
    ) -> Result<Option<Reading>, LoadError> {
        let plan = Plan { load, duration, seed, progress: None, ..self.plan };
        let measured = run(&plan)?;
        Ok((!measured.interrupted).then(|| Reading::from_measured(measured, load)))
    }

    fn quiet(&mut self) -> Result<Option<u64>, LoadError> {
        let one = Load::closed(1);
        run(&quiet_plan(&self.plan, &one)).map(|measured| quiet_time_ns(&measured))
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
