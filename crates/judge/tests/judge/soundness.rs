//! Faults from readings: each threshold from both sides, on measurements that are made up.

use crate::made_up::{self, MS, SECOND, claim, histogram, measurement, name, trial};
use model::agents::OfAgent;
use model::experiment::{Claim, Expectation, Load, Spacing, Stage};
use model::factorial::Factor;
use model::judgement::{FaultAt, Judgement, Outcome};
use model::metric::Metric;
use model::record::{
    Circumstances, Counts, CpuTime, Descriptors, Fault, Generator, Host, Measurement, Memory, Ports, Record, Tcp, Trial, Usage,
};
use model::soundness::Standing;
use proptest::prelude::*;
use std::time::Duration;

/// Six blocks of `names`, all alike and all sound: a load of 10 s that is answered 1,000 times in 2 ms each.
fn record(names: &[&str], load: Load) -> Record {
    let closed = matches!(load, Load::Closed { .. });
    let host = || Host { steal_share: 0.5, start_steal_share: Some(0.05), load_average: 9.0 };
    let trials = (1..=6).flat_map(|block| names.iter().map(move |n| Trial { host: host(), ..trial(n, block, sound(closed)) })).collect();
    made_up::record(names, load, trials)
}

fn sound(closed: bool) -> Measurement {
    let plain = measurement(10, histogram((0..1_000).map(|i| 2 * MS + i)));
    let samples = || (0..=100u64).map(|tenth| tenth * SECOND / 10);
    Measurement {
        latency: (!closed).then(|| plain.service.clone()),
        usage: Usage {
            t_ns: samples().collect(),
            // A tenth of a CPU, a little more and a little less in turn.
            cpu_ns_at: samples().map(|t| t / 10 + (t / (SECOND / 10) % 2) * MS).collect(),
            descriptors: Some(Descriptors { open: 94, limit: 100 }),
            generator_descriptors: Some(Descriptors { open: 94, limit: 100 }),
            allowed_cpus: vec![1],
            mhz_at: vec![3_000.0, 3_000.0, 2_750.0, 2_750.0],
            ..plain.usage
        },
        generator: Generator {
            cpu_ns: 8_900 * MS,
            in_flight_max: 9,
            sent_in_time: Some(991),
            in_flight_mean: Some(if closed { 4.0 } else { 0.2 }),
            sent_at_us: if closed { vec![] } else { (0..1_000).map(|i| i * 10_000).collect() },
            correct_per_tenth: (0..100).map(|tenth| 10 + tenth % 2).collect(),
            ..plain.generator
        },
        circumstances: Some(Circumstances {
            wall_ns: 10 * SECOND,
            // The contender used 100 ticks of CPU 1, faceoff 890 of CPU 0.
            cpus: vec![
                CpuTime { cpu: 0, busy_ticks: 950, ticks: 1_000, stolen_ticks: Some(0) },
                CpuTime { cpu: 1, busy_ticks: 160, ticks: 1_000, stolen_ticks: Some(100) },
            ],
            faceoff_cpu_ns: 8_900 * MS,
            faceoff_memory_bytes: Some(20_000_000),
            tcp: Some(Tcp { segments: 10_000, retransmitted: 10, probes: 0, listen_overflows: 0, listen_drops: 0 }),
            ports: Some(Ports { taken_before: 0, taken_after: 899, range: 1_000 }),
            memory: Some(Memory { available_bytes: 6, total_bytes: 100, swapped_pages: 0 }),
            wall_clock_moved_ns: -50_000_000,
            slept_ns: 1_000,
        }),
        ..plain
    }
}

fn open() -> Load {
    Load::arrivals(100.0, 10)
}

/// What a change of the first trial's measurement comes to.
fn judged(load: Load, change: impl Fn(&mut Measurement)) -> Judgement {
    let mut record = record(&["a", "b"], load);
    change(&mut record.trials[0].measurements[0]);
    judge::judge(&record)
}

/// What it brings to light.
fn after(load: Load, change: impl Fn(&mut Measurement)) -> Vec<FaultAt> {
    judged(load, change).faults
}

fn around(change: impl Fn(&mut Circumstances)) -> Vec<FaultAt> {
    after(open(), |m| change(m.circumstances.as_mut().unwrap()))
}

#[track_caller]
fn shows(faults: Vec<FaultAt>, kind: &str, evidence: &str) {
    let [fault] = &faults[..] else { panic!("one fault was to be found: {faults:#?}") };
    assert_eq!((fault.kind.as_str(), fault.place.as_str()), (kind, "block 1, a, cell c"));
    assert!(fault.evidence.contains(evidence), "{fault:#?}");
    assert!(!fault.hint.is_empty());
}

#[test]
fn readings_within_every_threshold_are_sound() {
    for load in [open(), Load::closed(4)] {
        let judgement = judge::judge(&record(&["a", "b"], load));
        assert!(judgement.faults.is_empty(), "{:#?}", judgement.faults);
    }
}

#[test]
fn each_reading_beyond_its_threshold_is_a_fault() {
    shows(after(open(), |m| m.counts.scheduled += 1), "counts", "do not add up");
    shows(after(open(), |m| m.generator.cpu_ns = 9_100_000_000), "generator-cpu", "the generator used 91.0 % of its CPU");
    let late = histogram([300_000; 1_000]);
    shows(after(open(), |m| m.generator.lag = Some(late.clone())), "generator-lag", "late (median)");
    // 20 of 1,000 left 5 ms late, and took as much longer; with latencies of 20 ms that is nothing.
    let paused = |latency_ns: u64| {
        after(open(), move |m| {
            m.generator.lag = Some(histogram([10_000; 980].into_iter().chain([5_000_000; 20])));
            m.latency = Some(histogram([1_000_000; 980].into_iter().chain([latency_ns; 20])));
        })
    };
    shows(paused(6_000_000), "generator-lag-tail", "one of a hundred requests left 5 ms late or later");
    assert!(paused(20_000_000).is_empty(), "{:#?}", paused(20_000_000));
    shows(after(open(), |m| m.generator.sent_in_time = Some(989)), "rate-not-achieved", "989 of the 1000 requests");
    shows(after(open(), |m| m.generator.in_flight_max = 10), "in-flight-limit", "10 requests were under way");
    shows(after(open(), |m| m.generator.in_flight_mean = Some(0.22)), "littles-law", "0.220");
    shows(after(Load::closed(4), |m| m.generator.in_flight_mean = Some(3.7)), "littles-law", "not 4.00 (");
    shows(after(open(), |m| m.upstream_cpu_ns = Some(SECOND)), "upstream-binds", "upstream and generator together used 99.0 %");
    let idle = |m: &mut Measurement| {
        m.upstream_cpu_ns = Some(SECOND / 10);
        m.generator.cpu_ns = 96 * SECOND / 10;
    };
    shows(after(open(), idle), "generator-cpu", "the generator used 96.0 %");
    assert!(after(open(), idle).iter().all(|f| f.kind != "upstream-binds"), "it has next to nothing to do");
    shows(after(open(), |m| m.usage.mhz_at = vec![3_000.0, 3_000.0, 2_700.0, 2_700.0]), "frequency", "3000 MHz");
    shows(after(open(), |m| m.usage.descriptors = Some(Descriptors { open: 95, limit: 100 })), "descriptors", "a process of the contender");
    shows(
        after(open(), |m| m.usage.generator_descriptors = Some(Descriptors { open: 95, limit: 100 })),
        "descriptors",
        "the generator held",
    );
    let refused = "connecting failed: the generator is out of descriptors";
    shows(after(open(), |m| m.examples = vec![refused.into()]), "descriptors", "out of descriptors");
    shows(after(open(), |m| m.usage.allowed_cpus = vec![0, 1]), "left-cpu-set", "CPU 0");
    shows(around(|c| c.cpus[0].stolen_ticks = Some(1)), "steal", "5.05 %");
    shows(around(|c| c.cpus[0].busy_ticks = 960), "other-cpu", "of the CPUs of the generator");
    shows(around(|c| c.cpus[1].busy_ticks = 170), "other-cpu", "other processes used 7.00 % of the CPUs of the contender");
    // As recorded before a load of 300/s: each tick met a request, but the CPU was idle for 360 of 400 ticks.
    assert!(
        around(|c| c.cpus[1] = CpuTime { cpu: 1, busy_ticks: 300, ticks: 1_140, stolen_ticks: None }).is_empty(),
        "ticks that are in step with the load"
    );
    shows(around(|c| c.ports.as_mut().unwrap().taken_after = 900), "ports", "900 TCP sockets");
    shows(around(|c| c.ports.as_mut().unwrap().taken_before = 806), "ports", "900 TCP sockets");
    shows(around(|c| c.tcp.as_mut().unwrap().listen_overflows = 1), "backlog", "full 1 times");
    shows(around(|c| c.tcp.as_mut().unwrap().retransmitted = 11), "retransmits", "11 of 10000");
    // Of which 3 only asked for an acknowledgement.
    let sent_again =
        |c: &mut Circumstances, all: u64| c.tcp = Some(Tcp { segments: 10_000, retransmitted: all, probes: 3, ..Tcp::default() });
    shows(around(|c| sent_again(c, 14)), "retransmits", "11 of 10000");
    assert!(around(|c| sent_again(c, 13)).is_empty());
    shows(around(|c| c.memory.as_mut().unwrap().available_bytes = 4), "memory", "4.00 % of the memory");
    shows(around(|c| c.memory.as_mut().unwrap().swapped_pages = 1), "memory", "1 pages");
    shows(around(|c| c.wall_clock_moved_ns = -51_000_000), "clock-step", "back by 51 ms");
    shows(around(|c| c.wall_clock_moved_ns = 51_000_000), "clock-step", "forward by 51 ms");
    shows(around(|c| c.slept_ns = 60_000_000), "suspended", "slept for 60 ms");
}

#[test]
fn a_thief_spoils_start_speed_and_cpu_time_and_no_memory() {
    let spoilt_by = |alter: fn(&mut Trial), kind: &str| {
        let mut record = record(&["a", "b"], open());
        record.trials.iter_mut().for_each(alter);
        let judgement = judge::judge(&record);
        assert_eq!((judgement.faults.len(), judgement.faults[0].kind.as_str()), (12, kind));
        let spoilt = |metric| judgement.verdicts.iter().find(|v| v.metric == metric).unwrap().spoilt;
        [Metric::StartUp, Metric::LatencyP50, Metric::Throughput, Metric::CpuPerRequest, Metric::Memory].map(spoilt)
    };
    assert_eq!(spoilt_by(|t| t.host.start_steal_share = Some(0.06), "start-steal"), [6, 0, 0, 0, 0]);
    let measured = |t: &mut Trial| t.measurements[0].circumstances.as_mut().unwrap().cpus[1].stolen_ticks = Some(101);
    assert_eq!(spoilt_by(measured, "steal"), [0, 6, 6, 6, 0]);
    // Older records know of the whole trial alone.
    let older = |t: &mut Trial| {
        (t.host.steal_share, t.host.start_steal_share) = (0.06, None);
        t.measurements[0].circumstances.as_mut().unwrap().cpus[0].stolen_ticks = None;
    };
    assert_eq!(spoilt_by(older, "steal"), [6, 6, 6, 6, 0]);
}

#[test]
fn spare_blocks_are_for_what_was_asked() {
    let at_most = |metric, value| Claim { metric, value: Some(value), ..claim(Expectation::AtMost) };
    let spoilt_start = |claimed: Option<Metric>, spoilt_blocks: u32| {
        let mut record = record(&["a", "b"], open());
        record.trials.iter_mut().filter(|t| t.block <= spoilt_blocks).for_each(|t| t.host.start_steal_share = Some(0.06));
        record.header.experiment.claims = claimed.map(|metric| at_most(metric, f64::INFINITY)).into_iter().collect();
        judge::judge(&record).needs_spare_blocks()
    };
    assert!(!spoilt_start(None, 0));
    assert!(spoilt_start(None, 1), "nothing is claimed, so all is asked");
    assert!(!spoilt_start(Some(Metric::LatencyP50), 1), "nobody asked for the start");
    assert!(spoilt_start(Some(Metric::StartUp), 1));
    let mut refuted = record(&["a", "b"], open());
    refuted.trials[0].host.start_steal_share = Some(0.06);
    refuted.header.experiment.claims = vec![at_most(Metric::StartUp, 0.0)];
    assert!(!judge::judge(&refuted).needs_spare_blocks(), "five starts refute it as well as six");
}

#[test]
fn a_limit_of_descriptors_that_was_written_is_no_fault() {
    let mut record = record(&["a", "b"], open());
    record.header.experiment.place.descriptors = Some(100);
    record.trials[0].measurements[0].usage.descriptors = Some(Descriptors { open: 100, limit: 100 });
    assert!(judge::judge(&record).faults.is_empty());
}

#[test]
fn whoever_fails_requests_voids_nothing() {
    let faults = after(open(), |m| {
        m.counts =
            Counts { scheduled: 1_000, correct: 500, wrong: 100, declined: 100, refused: 100, broken: 100, timed_out: 100, ..m.counts };
        m.generator.in_flight_mean = Some(5.0);
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn arrivals_in_clumps_are_found_and_those_of_a_ramp_are_not() {
    let clumps = |m: &mut Measurement| m.generator.sent_at_us = (0..1_000).map(|i| i / 250 * 2_500_000).collect();
    shows(after(open(), clumps), "arrivals", "1000 instants");
    let late = |m: &mut Measurement| m.generator.sent_at_us = (0..1_000).map(|i| 1_500_000 + i * 8_500).collect();
    shows(after(open(), late), "arrivals", "A²");
    // From 0 to 200 a second: the n-th of 1,000 comes after 10·sqrt(n/1000) s.
    let ramp = Load::Arrivals {
        rate_per_s: 0.0,
        stages: vec![Stage { to_per_s: 200.0, over: Duration::from_secs(10) }],
        spacing: Spacing::Even,
        in_flight_max: 10,
        overflow: Default::default(),
    };
    let even = after(ramp.clone(), |_| ());
    assert!(even.iter().any(|f| f.kind == "arrivals" && f.place == "block 1, a, cell c"), "even arrivals are no ramp: {even:#?}");
    let mut of_ramp = record(&["a", "b"], ramp);
    for measurement in of_ramp.trials.iter_mut().flat_map(|t| &mut t.measurements) {
        measurement.generator.sent_at_us = (0..1_000).map(|n| (1e7 * (f64::from(n) / 1e3).sqrt()) as u64).collect();
    }
    assert!(judge::judge(&of_ramp).faults.is_empty());
}

/// Right answers in each tenth, and one more in every second: so many, and from half way on so many.
fn half_way(first: u32, second: u32) -> impl Fn(&mut Measurement) {
    move |m| m.generator.correct_per_tenth = (0..100u32).map(|t| if t < 50 { first } else { second } + t % 2).collect()
}

type Change<'c> = &'c dyn Fn(&mut Measurement);

fn times(count: usize, change: Change<'_>) -> Vec<Change<'_>> {
    vec![change; count]
}

/// What comes to light where one contender's measurements, block by block, change within so.
fn after_each(load: Load, changes: &[Change<'_>]) -> Vec<FaultAt> {
    let mut record = record(&["a", "b"], load);
    let of_a = record.trials.iter_mut().filter(|t| t.contender == name("a"));
    for (trial, change) in of_a.zip(changes) {
        change(&mut trial.measurements[0]);
    }
    let faults = judge::judge(&record).faults;
    assert!(faults.iter().all(|f| f.kind == "not-stationary" && f.place.contains(", a, cell c")), "{faults:#?}");
    faults
}

#[test]
fn what_changes_half_way_in_all_starts_is_not_stationary() {
    let (drop, rise) = (half_way(10, 8), half_way(8, 10));
    let found = after_each(Load::closed(4), &times(6, &drop));
    assert_eq!(found.len(), 6, "{found:#?}");
    let told =
        "right answers a second went from 105 in the first half to 85.0 in the second (-19.0 %); in 6 measurements by -19.0 % on average";
    assert!(found.iter().all(|f| f.evidence.contains(told) && !f.hint.is_empty()), "{found:#?}");
    // 10 % and no more.
    assert!(after_each(Load::closed(4), &times(6, &half_way(100, 91))).is_empty());
    // Once, or now this way and now that, it is the machine.
    assert!(after_each(Load::closed(4), &[&drop]).is_empty());
    assert!(after_each(Load::closed(4), &[&drop, &rise, &drop, &rise]).is_empty());
    // Where it is the contender, whoever changed the other way is as good as ever.
    let (halved, risen) = (half_way(10, 5), half_way(100, 120));
    let most = after_each(Load::closed(4), &[&halved, &halved, &halved, &halved, &halved, &risen]);
    assert_eq!(most.len(), 5, "{most:#?}");
    // Twice as much to do costs twice as much.
    let busier = |m: &mut Measurement| {
        m.generator.correct_per_tenth = (0..100).map(|t| if t < 50 { 10 } else { 20 }).collect();
        m.usage.cpu_ns_at = m.usage.t_ns.iter().map(|t| t / 10 + t.saturating_sub(5 * SECOND) / 10).collect();
        m.usage.cpu_ns = 2 * SECOND;
    };
    assert!(after_each(open(), &times(6, &busier)).is_empty());
    // A few tenths tell nothing.
    let short = |m: &mut Measurement| m.generator.correct_per_tenth = (0..20).map(|t| if t < 10 { 10 } else { 1 }).collect();
    assert!(after_each(Load::closed(4), &times(6, &short)).is_empty());
    // Of a single measurement throughput is taken for the contender's.
    let mut record = record(&["a", "b"], Load::closed(4));
    record.trials.truncate(2);
    drop(&mut record.trials[0].measurements[0]);
    let found = judge::judge(&record).faults;
    assert!(matches!(&found[..], [one] if one.kind == "not-stationary" && one.evidence.ends_with("in the second (-19.0 %)")), "{found:#?}");
}

#[test]
fn cpu_per_request_that_changes_in_most_starts_is_the_contenders() {
    // At a rate that stays it doubles in the last third, or halves.
    let of = |change: fn(u64) -> u64| move |m: &mut Measurement| m.usage.cpu_ns_at = m.usage.t_ns.iter().map(|t| change(*t)).collect();
    let dearer = of(|t| t / 10 + t.saturating_sub(7 * SECOND) / 10);
    let cheaper = of(|t| t / 10 - t.saturating_sub(5 * SECOND) / 20);
    assert!(after_each(open(), &[&dearer]).is_empty());
    assert!(after_each(open(), &[&dearer, &dearer]).is_empty(), "two of six");
    assert!(after_each(open(), &[&dearer, &dearer, &cheaper, &cheaper]).is_empty(), "both ways");
    assert!(after_each(open(), &[&dearer, &dearer, &dearer, &cheaper]).is_empty(), "half of six, and one the other way");
    let found = after_each(open(), &times(4, &dearer));
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found.iter().all(|f| f.evidence.contains("CPU time per request went from") && f.evidence.contains("(+")), "{found:#?}");
    assert_eq!(after_each(open(), &times(6, &cheaper)).len(), 6);
}

#[test]
fn combinations_of_factors_are_looked_at_together() {
    let drop = half_way(10, 8);
    let found = |dropped: usize| {
        let mut record = record(&["a", "a:audit"], Load::closed(4));
        record.header.experiment.factors = vec![Factor { name: "audit".into(), off: vec![], on: vec!["audit".into()] }];
        record.trials.truncate(2);
        record.trials.iter_mut().take(dropped).for_each(|trial| drop(&mut trial.measurements[0]));
        judge::judge(&record).faults.iter().filter(|f| f.kind == "not-stationary").count()
    };
    assert_eq!((found(1), found(2)), (0, 2), "one start of two tells nothing");
}

#[test]
fn all_that_tie_at_one_throughput_were_not_measured() {
    let of = |names: &[&str], load: Load| judge::judge(&record(names, load));
    let judgement = of(&["a", "b", "c"], Load::closed(4));
    let [fault] = &judgement.faults[..] else { panic!("{:#?}", judgement.faults) };
    assert_eq!((fault.kind.as_str(), fault.place.as_str()), ("all-tie", "all blocks, cell c"));
    assert!(fault.evidence.contains("all 3 contenders answered 100 to 100 requests a second") && !fault.hint.is_empty(), "{fault:?}");
    let outcome = |metric| judgement.verdicts.iter().find(|v| v.metric == metric).map(|v| (v.outcome, v.spoilt)).unwrap();
    assert_eq!(outcome(Metric::Throughput), (Outcome::Undecided, 6));
    assert_eq!(outcome(Metric::CpuPerRequest), (Outcome::Equivalent, 0), "that was measured");
    let none = |judgement: Judgement| assert!(judgement.faults.is_empty(), "{:#?}", judgement.faults);
    none(of(&["a", "b"], Load::closed(4)));
    none(of(&["a", "b", "c"], open()));
    none(of(&["a", "b", "a:aa"], Load::closed(4)));
    let mut busy = record(&["a", "b", "c"], Load::closed(4));
    let of_b = |t: &&mut Trial| t.contender == name("b");
    for measurement in busy.trials.iter_mut().filter(of_b).flat_map(|t| &mut t.measurements) {
        measurement.usage.cpu_ns = 9_500_000_000;
        measurement.circumstances = None;
    }
    none(judge::judge(&busy));
    let mut faster = record(&["a", "b", "c"], Load::closed(4));
    for measurement in faster.trials.iter_mut().filter(of_b).flat_map(|t| &mut t.measurements) {
        measurement.counts = Counts { scheduled: 1_020, correct: 1_020, ..Counts::default() };
    }
    none(judge::judge(&faster));
}

#[test]
fn a_fault_that_an_older_record_holds_is_not_found_twice() {
    let mut record = record(&["a", "b"], open());
    let known = Fault { kind: "generator-cpu".into(), evidence: "as it was told then".into(), hint: "h".into() };
    record.trials[0].measurements[0].generator.cpu_ns = 9_900_000_000;
    record.trials[0].measurements[0].circumstances = None;
    record.trials[0].measurements[0].faults.push(known);
    let faults = judge::judge(&record).faults;
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert_eq!(faults[0].evidence, "as it was told then");
}

#[test]
fn what_an_agent_did_not_keep_to_is_a_fault_with_its_name() {
    let kept = || OfAgent {
        name: "a:1".into(),
        first_loop: 0,
        loops: 2,
        loops_of_all: 4,
        offset_ns: -9_000,
        offset_error_ns: 50_000,
        drift_ns: 0,
        late_ns: 20_000,
        counts: Counts::default(),
        busy_share: 0.89,
        lag_p50_ns: 40_000,
        latency_p50_ns: 200_000,
        was_full: false,
    };
    let by_two = |change: fn(&mut OfAgent, &mut OfAgent)| {
        move |m: &mut Measurement| {
            let (mut one, mut other) = (kept(), OfAgent { name: "b:1".into(), first_loop: 2, ..kept() });
            change(&mut one, &mut other);
            m.generator.agents = vec![one, other];
            // Of four event loops: one CPU would be too few.
            m.generator.cpu_ns = 35 * SECOND;
            m.upstream_cpu_ns = Some(SECOND);
        }
    };
    assert!(after(open(), by_two(|_, _| ())).is_empty(), "{:#?}", after(open(), by_two(|_, _| ())));
    shows(after(open(), by_two(|one, _| one.late_ns = 2_000_000)), "agent-start", "agent a:1: it began 2.00ms late");
    shows(after(open(), by_two(|_, other| other.busy_share = 0.93)), "agent-cpu", "agent b:1: it was busy for 93.0 %");
    let both = by_two(|one, other| (one.lag_p50_ns, other.lag_p50_ns) = (60_000, 60_000));
    shows(after(open(), both), "agent-lag", "more; agent b:1: half of its requests");
    let checks = judged(open(), by_two(|_, _| ())).checks;
    let seen = |kind: &str| checks.iter().find(|c| c.kind == kind).map(|c| (c.looked_at, c.all));
    assert_eq!((seen("agent-cpu"), seen("agent-start"), seen("generator-cpu")), (Some((1, 1)), Some((1, 1)), Some((11, 11))));
    assert_eq!(seen("agent-lost"), None, "the experiment names none");
}

#[test]
fn a_measurement_of_an_older_record_is_read_and_has_fewer_checks() {
    let record = record(&["a", "b"], open());
    let mut line = serde_json::to_value(&record.trials[0].measurements[0]).unwrap();
    line.as_object_mut().unwrap().remove("circumstances");
    for field in ["sent_in_time", "in_flight_mean", "sent_at_us", "correct_per_tenth"] {
        line["generator"].as_object_mut().unwrap().remove(field);
    }
    for field in ["descriptors", "generator_descriptors", "allowed_cpus", "mhz_at"] {
        line["usage"].as_object_mut().unwrap().remove(field);
    }
    let older: Measurement = serde_json::from_value(line).unwrap();
    assert!(after(open(), |m| *m = older.clone()).is_empty());
}

#[test]
fn checks_are_told_also_where_they_find_nothing_and_where_they_cannot_look() {
    let busy = |m: &mut Measurement| {
        m.generator.cpu_ns = 9_100_000_000;
        m.circumstances = None;
    };
    let checks = judged(open(), busy).checks;
    let of = |kind: &str| checks.iter().find(|c| c.kind == kind).unwrap_or_else(|| panic!("no {kind}: {checks:#?}"));
    let seen = |kind: &str| (of(kind).looked_at, of(kind).all, of(kind).found, of(kind).standing());
    assert_eq!(checks[0].kind, "generator-cpu", "what found something comes first");
    assert_eq!(seen("generator-cpu"), (12, 12, 1, Standing::Found));
    assert_eq!(seen("steal"), (11, 12, 0, Standing::Held));
    assert_eq!(seen("upstream-binds"), (0, 12, 0, Standing::NotMade));
    assert_eq!(seen("start-steal"), (12, 12, 0, Standing::Held));
    assert!(checks.iter().all(|c| !c.what.is_empty() && c.all > 0), "{checks:#?}");
    assert!(
        checks.iter().all(|c| !matches!(c.kind.as_str(), "all-tie" | "aa-differs" | "lost-write")),
        "nothing is said of what is not there"
    );
    let closed = judge::judge(&record(&["a", "b", "c"], Load::closed(4))).checks;
    let tie = closed.iter().find(|c| c.kind == "all-tie").unwrap();
    assert_eq!((tie.of.as_str(), tie.all, tie.looked_at), ("cells", 1, 1));
    assert!(closed.iter().any(|c| c.kind == "rate-not-achieved" && c.standing() == Standing::NotMade), "a closed load has no rate");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_reading_makes_a_check_panic(
        numbers in prop::collection::vec(any::<u64>(), 12),
        moved in any::<(i64, i64)>(),
        tenths in prop::collection::vec(any::<u32>(), 0..60),
        samples in prop::collection::vec(any::<(u64, u64)>(), 0..40),
        mhz in prop::collection::vec(-1e6..1e6, 0..5),
        closed in any::<bool>(),
    ) {
        let load = if closed { Load::closed(4) } else { open() };
        let judgement = judged(load, |m| {
            m.duration_ns = numbers[0];
            m.generator.sent_in_time = Some(numbers[1]);
            m.generator.in_flight_mean = Some(numbers[2] as f64);
            m.generator.sent_at_us.clone_from(&numbers);
            m.generator.correct_per_tenth.clone_from(&tenths);
            m.usage.cpu_ns = numbers[3];
            m.usage.wall_ns = numbers[4];
            m.usage.t_ns = samples.iter().map(|s| s.0).collect();
            m.usage.cpu_ns_at = samples.iter().map(|s| s.1).collect();
            m.usage.mhz_at.clone_from(&mhz);
            m.usage.descriptors = Some(Descriptors { open: numbers[5], limit: numbers[6] });
            m.circumstances = Some(Circumstances {
                wall_ns: numbers[7],
                cpus: vec![CpuTime { cpu: 0, busy_ticks: numbers[8], ticks: numbers[9], stolen_ticks: Some(numbers[10]) }],
                faceoff_cpu_ns: numbers[10],
                faceoff_memory_bytes: None,
                tcp: Some(Tcp { segments: numbers[0], retransmitted: numbers[1], probes: numbers[1] >> 2, listen_overflows: numbers[2] >> 1, listen_drops: numbers[3] >> 1 }),
                ports: Some(Ports { taken_before: numbers[4], taken_after: numbers[8], range: numbers[5] }),
                memory: Some(Memory { available_bytes: numbers[6], total_bytes: numbers[7], swapped_pages: 0 }),
                wall_clock_moved_ns: moved.0,
                slept_ns: moved.1,
            });
        });
        for check in &judgement.checks {
            prop_assert!(check.found <= check.looked_at && check.looked_at <= check.all, "{:?}", check);
        }
        for fault in &judgement.faults {
            prop_assert!(judgement.checks.iter().any(|check| check.kind == fault.kind && check.found > 0), "{:?}", fault);
        }
    }
}
