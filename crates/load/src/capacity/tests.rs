//! Tests of the search for a capacity, with a simulated server whose limit is known.
//!
//! Its clock is simulated too, so hours take milliseconds and no result depends on this machine.

use super::*;
use record::capacity::{Estimate, estimate};
use spec::experiment::{Overflow, Pause, Spacing};
use spec::threshold::ServiceLevel;
use stats::{Held, Random};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SECOND: u64 = 1_000_000_000;
/// How long responses are awaited after the last request.
const DRAIN: u64 = 2 * SECOND;

/// A server with a simulated clock whose workers each take a known time for a request, first come,
/// first served. It also completes requests whose clients have given up.
struct Simulated {
    now: u64,
    free_at: Vec<u64>,
    service_ns: u64,
    /// Service times vary uniformly by this share.
    varies: f64,
    random: Random,
    /// After this many requests in one load, the server hangs until it is restarted.
    hangs_above: u64,
    hangs: bool,
    /// Whether it ends instead of hanging.
    ends: bool,
    can_restart: bool,
    restarts: u32,
    steals: Vec<f64>,
    /// The share of loads in which other programs take a third of the CPU time.
    disturbed: f64,
    /// The factor by which they slow down every request.
    slowed: f64,
    busy: f64,
    /// The generator's limit of descriptors. Each user needs one.
    descriptors: u64,
    /// The number of users from which some find no port.
    ports: u32,
    loads: u32,
    stops_after: u32,
}

impl Simulated {
    fn new(workers: usize, service_ms: u64, varies: f64, seed: u64) -> Simulated {
        Simulated {
            now: 0,
            free_at: vec![0; workers],
            service_ns: service_ms * 1_000_000,
            varies,
            random: Random::new(seed, 99),
            hangs_above: u64::MAX,
            hangs: false,
            ends: false,
            can_restart: false,
            restarts: 0,
            steals: vec![],
            disturbed: 0.0,
            slowed: 1.0,
            busy: 0.1,
            descriptors: u64::MAX,
            ports: u32::MAX,
            loads: 0,
            stops_after: u32::MAX,
        }
    }

    /// Returns when a request that arrives at an instant is answered.
    fn answer(&mut self, due: u64) -> u64 {
        let takes = self.slowed
            * self.service_ns as f64
            * (1.0 + self.varies * (2.0 * self.random.uniform() - 1.0));
        let first = self.free_at.iter_mut().min().unwrap();
        *first = due.max(*first) + takes as u64;
        *first
    }
}

/// Returns the instants at which a load's first requests are due, and how long a user pauses before
/// the next one. Arrivals have no next one.
fn first_requests(load: &Load, began: u64, long: u64) -> (BinaryHeap<Reverse<u64>>, Option<u64>) {
    match load {
        Load::Arrivals { rate_per_s, overflow: Overflow::Queue, .. } => {
            let gap = SECOND as f64 / rate_per_s;
            let due = |n| Reverse(began + (n as f64 * gap) as u64);
            ((0..(long as f64 / gap).ceil() as u64).map(due).collect(), None)
        }
        Load::Users { users, ramp, pause: Pause::Constant(pause), .. } => {
            let due = |n| Reverse(began + ramp.as_nanos() as u64 * n / u64::from(*users));
            ((0..u64::from(*users)).map(due).collect(), Some(pause.as_nanos() as u64))
        }
        other => panic!("{other:?}"),
    }
}

impl Subject for Simulated {
    fn load(
        &mut self,
        load: &Load,
        duration: Duration,
        _: u64,
    ) -> Result<Option<Reading>, LoadError> {
        self.loads += 1;
        if let Load::Users { users, .. } = load
            && u64::from(*users) > self.descriptors
        {
            return Err(LoadError::Descriptors {
                needed: u64::from(*users),
                allowed: self.descriptors,
            });
        }
        let is_disturbed = self.disturbed > 0.0 && self.random.uniform() < self.disturbed;
        self.slowed = if is_disturbed { 1.5 } else { 1.0 };
        let (began, long) = (self.now, duration.as_nanos() as u64);
        let end = began + long;
        let (mut dues, pause) = first_requests(load, began, long);
        let (mut times, mut counts) = (Histogram::new(), Counts::default());
        let mut tenths = vec![(0u32, 0u64); (long / 100_000_000) as usize];
        let mut last = end;
        while let Some(Reverse(due)) = dues.pop() {
            if due >= end {
                continue;
            }
            counts.scheduled += 1;
            self.hangs |= counts.scheduled > self.hangs_above;
            let done = if self.hangs { u64::MAX } else { self.answer(due) };
            if done > end + DRAIN {
                (counts.unfinished, last) = (counts.unfinished + 1, end + DRAIN);
                continue;
            }
            counts.correct += 1;
            times.record(done - due);
            if let Some(tenth) = tenths.get_mut(((done - began) / 100_000_000) as usize) {
                *tenth = (tenth.0 + 1, tenth.1 + done - due);
            }
            last = last.max(done);
            if let Some(pause) = pause {
                dues.push(Reverse(done + pause));
            }
        }
        (self.now, self.slowed) = (last, 1.0);
        let lacks_ports = matches!(load, Load::Users { users, .. } if *users > self.ports);
        counts.refused += 100 * u64::from(lacks_ports);
        counts.scheduled += 100 * u64::from(lacks_ports);
        let generator_lacked = lacks_ports.then_some(Lacked::Ports);
        let steal_share = Some(self.steals.pop().unwrap_or(0.0));
        Ok(Some(Reading {
            times,
            counts,
            duration_ns: last - began,
            tenths,
            generator_busy: self.busy,
            generator_late: false,
            generator_lacked,
            contender_cpu_ns: None,
            behind_cpu_ns: None,
            steal_share,
            others_share: is_disturbed.then_some(1.0 / 3.0),
            ended: self.has_ended().then(|| "exit 3".into()),
        }))
    }

    fn quiet(&mut self) -> Result<Option<u64>, LoadError> {
        if self.hangs {
            self.now += DRAIN;
            return Ok(None);
        }
        let mut longest = 0;
        for _ in 0..5 {
            let done = self.answer(self.now);
            longest = longest.max(done - self.now);
            self.now = done;
        }
        Ok(Some(longest))
    }

    fn has_ended(&mut self) -> bool {
        self.hangs && self.ends
    }

    fn stop(&mut self) -> Option<String> {
        Some(
            if self.has_ended() {
                "it had ended with exit 3 before it was stopped"
            } else {
                "it was killed"
            }
            .into(),
        )
    }

    fn start(&mut self) -> bool {
        self.restarts += 1;
        if self.can_restart {
            (self.hangs, self.now) = (false, self.now + 5 * SECOND);
            self.free_at.fill(self.now);
        }
        self.can_restart
    }

    fn rest(&mut self, for_so_long: Duration) {
        self.now += for_so_long.as_nanos() as u64;
    }

    fn now_ns(&self) -> u64 {
        self.now
    }

    fn is_stopped(&self) -> bool {
        self.loads >= self.stops_after
    }
}

fn rate() -> Quantity {
    Quantity::Rate { spacing: Spacing::Even, in_flight_max: None }
}

fn users(pause_ms: u64) -> Quantity {
    Quantity::Users { pause: Pause::Constant(Duration::from_millis(pause_ms)), pooled: None }
}

fn capacity(of: Quantity) -> Capacity {
    let service_level = ServiceLevel::parse("p95<100ms and errors<0.1%").unwrap();
    Capacity {
        of,
        service_level,
        from: 10.0,
        at_most: of.most(),
        probe: Duration::from_secs(3),
        probes: 24,
    }
}

fn found(subject: &mut Simulated, capacity: &Capacity, seed: u64) -> (Ended, Vec<Probe>, Estimate) {
    let mut probes = Vec::new();
    let ended = search(subject, capacity, Duration::from_secs(10), seed, &mut |probe| {
        probes.push(probe.clone())
    })
    .unwrap();
    let estimate = estimate(&probes, 0.95, seed);
    (ended, probes, estimate)
}

/// W workers that each take D answer at most W/D a second. With one worker, u users with pauses of
/// Z wait u·D − Z, which reaches the bound L at u = (Z + L)/D. (With more workers in step, users
/// wait for whole rounds.) Each search takes at most three minutes of simulated time.
#[test]
fn known_limit_is_within_the_interval() {
    for (of, workers, takes_ms, truth) in
        [(rate(), 8, 10, 800.0), (users(0), 1, 2, 50.0), (users(400), 1, 2, 250.0)]
    {
        let mut hits = 0;
        for seed in 0..20 {
            let mut server = Simulated::new(workers, takes_ms, 0.0, seed);
            let (ended, probes, estimate) = found(&mut server, &capacity(of), seed);
            assert_eq!(ended, Ended::Done);
            assert!(server.now < 180 * SECOND, "{of:?}: {} s", server.now / SECOND);
            let Estimate::Edge { level, interval } = estimate else { panic!("{estimate:?}") };
            assert!((level / truth - 1.0).abs() < 0.02, "{of:?}: {level}, {probes:#?}");
            // With `<`, the last level that is kept is one user lower. A growing queue breaks the
            // level within a minute from 0.15 % above the true rate.
            let slack = if of.is_whole() { 1.0 } else { 0.0015 * truth };
            hits += u32::from(interval.low <= truth + slack && truth - slack <= interval.high);
            assert!(interval.high / interval.low < 1.05, "{of:?}: {interval:?}");
        }
        assert!(hits >= 19, "{of:?}: {hits} of 20");
    }
}

/// Varying service times make queues that come and go, so the limit is not sharp.
#[test]
fn gradual_limit_is_found_within_six_percent() {
    for (of, truth) in [(rate(), 800.0), (users(0), 80.0)] {
        for seed in 0..10 {
            let mut server = Simulated::new(8, 10, 0.3, seed);
            let (ended, _, estimate) = found(&mut server, &capacity(of), seed);
            let level = estimate.level().unwrap();
            assert!(
                ended == Ended::Done && (level / truth - 1.0).abs() < 0.06,
                "{of:?}, seed {seed}: {level}"
            );
        }
    }
}

#[test]
fn growing_queue_breaks_a_level_in_advance() {
    let capacity = capacity(rate());
    let mut server = Simulated::new(8, 10, 0.0, 1);
    let load = capacity.load_at(808.0, capacity.probe);
    let reading = server.load(&load, capacity.probe, 1).unwrap().unwrap();
    let judged = |reading: &Reading| {
        probe(&capacity, Next { level: 808.0, at_edge: true }, reading, Duration::from_secs(10))
    };
    let grown = judged(&reading);
    assert!(grown.p95_ns.unwrap() < 100_000_000 && grown.kept == Some(false), "{grown:?}");
    assert!(
        grown.found.contains("but latency grows by 9.")
            || grown.found.contains("but latency grows by 10."),
        "{}",
        grown.found
    );
    assert_eq!(judged(&Reading { tenths: vec![], ..reading }).kept, Some(true));
}

/// A line with a known slope, and one without slope.
#[test]
fn growth_is_the_slope_of_the_second_half() {
    let line = |slope: f64, noise: f64| -> Vec<(u32, u64)> {
        let at = |t: usize| {
            10e6 + slope * t as f64 / 10.0 + if t.is_multiple_of(2) { noise } else { -noise }
        };
        (0..30).map(|t| (10, (10.0 * at(t)) as u64)).collect()
    };
    let steady = growth(&line(0.0, 1e6)).unwrap();
    assert!(steady.surely < 0.0 && steady.by.abs() < 1e6, "{steady:?}");
    let rising = growth(&line(5e6, 0.0)).unwrap();
    assert!((rising.by - 5e6).abs() < 100.0 && (rising.surely - 5e6).abs() < 1_000.0, "{rising:?}");
    assert_eq!(growth(&line(1.0, 0.0)[..8]), None);
}

#[test]
fn overload_does_not_affect_the_next_probe() {
    // One worker takes seconds to complete what an overload of 3 s left behind.
    let mut server = Simulated::new(1, 20, 0.0, 1);
    let (ended, probes, estimate) =
        found(&mut server, &Capacity { from: 200.0, ..capacity(rate()) }, 1);
    assert_eq!(ended, Ended::Done);
    let slow: Vec<&Recovery> = probes
        .iter()
        .filter_map(|p| p.recovery.as_ref())
        .filter(|r| r.after_ns > SECOND / 2)
        .collect();
    assert!(!slow.is_empty() && slow.iter().all(|r| r.how == Recovered::ByItself), "{probes:#?}");
    assert!((estimate.level().unwrap() / 50.0 - 1.0).abs() < 0.02, "{estimate:?}");
}

#[test]
fn system_that_does_not_recover_is_restarted_or_given_up() {
    let hanging = |can_restart| Simulated {
        hangs_above: 3_000,
        can_restart,
        ..Simulated::new(8, 10, 0.0, 1)
    };
    let mut server = hanging(false);
    let (ended, probes, estimate) = found(&mut server, &capacity(rate()), 1);
    assert_eq!((ended, server.restarts), (Ended::NotRecovered, 1));
    let last = probes.last().unwrap();
    assert_eq!(
        (last.kept, last.recovery.as_ref().map(|r| r.how)),
        (Some(false), Some(Recovered::Not))
    );
    assert!(matches!(estimate, Estimate::Edge { .. }), "the edge is known: {estimate:?}");
    let mut server = hanging(true);
    let (ended, probes, estimate) = found(&mut server, &capacity(rate()), 1);
    assert!(ended == Ended::Done && server.restarts > 0);
    assert!(
        probes.iter().any(|p| p.recovery.as_ref().is_some_and(|r| r.how == Recovered::Restarted))
    );
    assert!((estimate.level().unwrap() / 800.0 - 1.0).abs() < 0.02, "{estimate:?}");
}

/// A system that has ended cannot recover, so the search does not wait. Its level is not kept,
/// whatever it answered before.
#[test]
fn system_that_ended_is_restarted_and_failed_the_level() {
    // 600/s for 3 s are answered well.
    let mut server = Simulated {
        hangs_above: 1_800,
        ends: true,
        can_restart: true,
        busy: 0.95,
        ..Simulated::new(8, 10, 0.0, 1)
    };
    let (ended, probes, estimate) = found(&mut server, &capacity(rate()), 1);
    assert_eq!(ended, Ended::Done);
    assert!((estimate.level().unwrap() / 600.0 - 1.0).abs() < 0.02, "{estimate:?}");
    let died: Vec<&Probe> = probes.iter().filter(|p| p.ended.is_some()).collect();
    assert_eq!(died.len(), server.restarts as usize, "{probes:#?}");
    for probe in died {
        assert!(
            probe.says() == Some(Held { level: probe.level, held: false })
                && probe.found.ends_with(", but it ended with exit 3"),
            "{probe:?}"
        );
        let recovery = probe.recovery.as_ref().unwrap();
        assert!(
            recovery.how == Recovered::Restarted
                && recovery.after_ns < RECOVERS_WITHIN.as_nanos() as u64,
            "{recovery:?}"
        );
        assert_eq!(
            recovery.failure.as_deref(),
            Some("it had ended with exit 3 before it was stopped")
        );
    }
}

#[test]
fn inconclusive_probe_is_repeated_or_ends_the_search() {
    let mut server =
        Simulated { steals: vec![0.0, 0.3, 0.3, 0.0], ..Simulated::new(8, 10, 0.0, 1) };
    let (ended, probes, _) = found(&mut server, &capacity(rate()), 1);
    assert_eq!(ended, Ended::Done);
    assert_eq!(
        probes.iter().take(4).map(|p| p.level).collect::<Vec<_>>(),
        [10.0, 20.0, 20.0, 20.0]
    );
    // 10/s for 3 s do not support a 95th percentile, so the probe takes longer.
    assert!(probes[0].duration_ns > 5 * SECOND && probes[0].kept == Some(true), "{:?}", probes[0]);
    let mut server = Simulated { busy: 0.95, ..Simulated::new(8, 10, 0.0, 1) };
    let (ended, _, estimate) = found(&mut server, &capacity(rate()), 1);
    assert_eq!(ended, Ended::Unfit(Unfit::Generator));
    assert!(
        matches!(estimate, Estimate::AtLeast(level) if (690.0..800.0).contains(&level)),
        "{estimate:?}"
    );
}

/// One worker that takes 2 ms makes 50 users wait for 100 ms.
#[test]
fn level_beyond_the_descriptors_is_out_of_reach() {
    let search = |descriptors| {
        found(
            &mut Simulated { descriptors, ..Simulated::new(1, 2, 0.0, 1) },
            &capacity(users(0)),
            1,
        )
    };
    let (ended, probes, estimate) = search(45);
    assert_eq!(ended, Ended::Unfit(Unfit::Descriptors));
    assert!(
        matches!(estimate, Estimate::AtLeast(level) if (35.0..=45.0).contains(&level)),
        "{estimate:?}"
    );
    assert!(probes.iter().all(|p| p.level <= 45.0 && p.kept == Some(true)), "{probes:#?}");
    let (ended, probes, estimate) = search(60);
    assert!(
        ended == Ended::Done && (estimate.level().unwrap() / 50.0 - 1.0).abs() < 0.02,
        "{ended:?}, {estimate:?}"
    );
    assert!(probes.iter().all(|p| p.level <= 60.0), "{probes:#?}");
    let (ended, probes, estimate) = search(0);
    assert_eq!(
        (ended, probes.len(), estimate),
        (Ended::Unfit(Unfit::Descriptors), 0, Estimate::Unknown)
    );
}

/// A connection that fails for lack of a port was not refused by the server, so this is no
/// capacity.
#[test]
fn level_beyond_the_ports_is_out_of_reach() {
    let search = |ports| {
        found(&mut Simulated { ports, ..Simulated::new(1, 2, 0.0, 1) }, &capacity(users(0)), 1)
    };
    let (ended, _, estimate) = search(45);
    assert_eq!(ended, Ended::Unfit(Unfit::Ports));
    assert!(
        matches!(estimate, Estimate::AtLeast(level) if (35.0..=45.0).contains(&level)),
        "{estimate:?}"
    );
    let (ended, _, estimate) = search(60);
    assert!(
        ended == Ended::Done && (estimate.level().unwrap() / 50.0 - 1.0).abs() < 0.02,
        "{ended:?}, {estimate:?}"
    );
    let said = |errno| lacked(&["the answer was cut short".into(), describe_connect(errno)]);
    let found = [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::CONNREFUSED].map(said);
    assert_eq!(
        found,
        [Some(Lacked::Ports), Some(Lacked::Descriptors), Some(Lacked::Descriptors), None]
    );
}

/// The experiment `known-capacities`: workers in step make users wait for whole rounds, and the
/// bound is between two of them. With one more user, one in eight (or in ten) waits for another
/// round, which a 95th percentile does not permit.
#[test]
fn other_programs_do_not_move_the_edge() {
    let service_level = ServiceLevel::parse("p95<95ms and errors<0.1%").unwrap();
    let known = Capacity { service_level, from: 40.0, probes: 12, ..capacity(users(0)) };
    for (places, truth) in [(8, 72.0), (10, 90.0)] {
        let (mut excluded, mut done) = (0, 0);
        for seed in 0..20 {
            let mut server = Simulated { disturbed: 0.3, ..Simulated::new(places, 10, 0.0, seed) };
            let (ended, probes, estimate) = found(&mut server, &known, seed);
            excluded += probes.iter().filter(|p| p.unfit() == Some(Unfit::Disturbed)).count();
            match ended {
                Ended::Done => {
                    let Estimate::Edge { level, interval } = estimate else {
                        panic!("{estimate:?}")
                    };
                    let holds = interval.low <= truth + 1.0 && truth <= interval.high;
                    assert!(
                        holds && (level / truth - 1.0).abs() < 0.04,
                        "{places} places, seed {seed}: {level}, {interval:?}"
                    );
                    done += 1;
                }
                // Four times in a row, during the search.
                ended => assert_eq!(ended, Ended::Unfit(Unfit::Disturbed)),
            }
        }
        assert!(
            done >= 15 && excluded >= 50,
            "{places} places: {done} were found, {excluded} probes were excluded"
        );
    }
}

#[test]
fn search_ends_without_responses_or_when_stopped() {
    let mut server = Simulated { hangs: true, ..Simulated::new(8, 10, 0.0, 1) };
    assert_eq!(found(&mut server, &capacity(rate()), 1).0, Ended::NeverQuiet);
    let mut server = Simulated { stops_after: 3, ..Simulated::new(8, 10, 0.0, 1) };
    let (ended, probes, estimate) = found(&mut server, &capacity(rate()), 1);
    assert_eq!((ended, probes.len(), estimate), (Ended::Stopped, 3, Estimate::AtLeast(40.0)));
}
