//! Faults from readings: each threshold from both sides, on made-up measurements.

use crate::made_up::{SECOND, claim, histogram};
use crate::readings::{after, around, judged, open, record, shows};
use record::AgentReport;
use record::judgement::FaultAt;
use record::{Circumstances, Counts, CpuTime, Descriptors, Measurement, Slices, Tcp, Trial};
use spec::experiment::{Claim, Expectation, Load, Spacing, Stage};
use spec::metric::Metric;
use std::time::Duration;

#[test]
fn readings_within_every_threshold_are_sound() {
    for load in [open(), Load::closed(4)] {
        let judgement = judge::judge(&record(&["a", "b"], load));
        assert!(judgement.faults.is_empty(), "{:#?}", judgement.faults);
    }
}

#[test]
fn generator_reading_beyond_its_threshold_is_a_fault() {
    shows(after(open(), |m| m.counts.scheduled += 1), "counts", "do not add up");
    shows(
        after(open(), |m| m.generator.cpu_ns = 9_100_000_000),
        "generator-cpu",
        "the generator used 91 % of its CPU",
    );
    let late = histogram([300_000; 1_000]);
    shows(
        after(open(), |m| m.generator.lag = Some(late.clone())),
        "generator-lag",
        "late (median)",
    );
    // 20 of 1,000 were sent 5 ms late and took as much longer. With latencies of 20 ms that is
    // little.
    let paused = |latency_ns: u64| {
        after(open(), move |m| {
            m.generator.lag = Some(histogram([10_000; 980].into_iter().chain([5_000_000; 20])));
            m.latency = Some(histogram([1_000_000; 980].into_iter().chain([latency_ns; 20])));
        })
    };
    shows(
        paused(6_000_000),
        "generator-lag-tail",
        "1 % of the requests were sent 5 ms late or later",
    );
    assert!(paused(20_000_000).is_empty(), "{:#?}", paused(20_000_000));
    shows(
        after(open(), |m| m.generator.sent_in_time = Some(989)),
        "rate-not-achieved",
        "989 of the 1000 requests",
    );
    shows(
        after(open(), |m| m.generator.in_flight_max = 10),
        "in-flight-limit",
        "10 requests were in flight",
    );
    shows(after(open(), |m| m.generator.in_flight_mean = Some(0.22)), "littles-law", "0.220");
    shows(
        after(Load::closed(4), |m| m.generator.in_flight_mean = Some(3.7)),
        "littles-law",
        "not 4.00 (",
    );
}

#[test]
fn busy_upstream_binds_and_an_idle_one_does_not() {
    shows(
        after(open(), |m| m.upstream_cpu_ns = Some(SECOND)),
        "upstream-binds",
        "upstream and generator together used 99 %",
    );
    let idle = |m: &mut Measurement| {
        m.upstream_cpu_ns = Some(SECOND / 10);
        m.generator.cpu_ns = 96 * SECOND / 10;
    };
    shows(after(open(), idle), "generator-cpu", "the generator used 96 %");
    assert!(
        after(open(), idle).iter().all(|f| f.kind != "upstream-binds"),
        "the upstream is nearly idle"
    );
}

#[test]
fn exhausted_descriptors_and_ports_are_faults() {
    shows(
        after(open(), |m| m.usage.descriptors = Some(Descriptors { open: 95, limit: 100 })),
        "descriptors",
        "a process of the contender",
    );
    shows(
        after(open(), |m| {
            m.usage.generator_descriptors = Some(Descriptors { open: 95, limit: 100 })
        }),
        "descriptors",
        "the generator held",
    );
    let refused = "connecting failed: the generator is out of descriptors";
    shows(
        after(open(), |m| m.examples = vec![refused.into()]),
        "descriptors",
        "out of descriptors",
    );
    shows(around(|c| c.ports.as_mut().unwrap().taken_after = 900), "ports", "900 TCP sockets");
    shows(around(|c| c.ports.as_mut().unwrap().taken_before = 806), "ports", "900 TCP sockets");
}

#[test]
fn cpu_time_of_others_beyond_its_threshold_is_a_fault() {
    shows(
        after(open(), |m| m.usage.mhz_at = vec![3_000.0, 3_000.0, 2_700.0, 2_700.0]),
        "frequency",
        "3000 MHz",
    );
    shows(after(open(), |m| m.usage.allowed_cpus = vec![0, 1]), "left-cpu-set", "CPU 0");
    shows(around(|c| c.cpus[0].stolen_ticks = Some(1)), "steal", "5.05 %");
    shows(around(|c| c.cpus[0].busy_ticks = 960), "other-cpu", "of the CPUs of the generator");
    shows(
        around(|c| c.cpus[1].busy_ticks = 170),
        "other-cpu",
        "other processes used 7 % of the CPUs of the contender",
    );
    // A recorded case at 300 requests/s: each tick met a request, but the CPU was idle for 360 of
    // 400 ticks.
    assert!(
        around(
            |c| c.cpus[1] = CpuTime { cpu: 1, busy_ticks: 300, ticks: 1_140, stolen_ticks: None }
        )
        .is_empty(),
        "ticks in step with the load"
    );
}

/// The faults of a measurement in ten slices of a tenth of a second.
fn in_slices(alter: fn(&mut Slices, &mut Measurement)) -> Vec<FaultAt> {
    after(open(), |m| {
        let mut slices = Slices {
            whole_ns: SECOND,
            correct: vec![m.counts.correct as f64 / 10.0; 10],
            idle_cpu_ns: vec![0; 10],
            neighbours_within_ns: Some(0),
            upstream_outside_ns: Some(0),
            ..Slices::default()
        };
        alter(&mut slices, m);
        m.slices = Some(slices);
    })
}

#[test]
fn work_while_another_contender_has_the_load_is_a_fault() {
    shows(
        in_slices(|s, _| s.neighbours_within_ns = Some(60_000_000)),
        "spill-over",
        "other contenders used 6 % of the contender's CPUs while it had the load",
    );
    shows(
        in_slices(|s, _| s.idle_cpu_ns = vec![6_000_000; 10]),
        "spill-over",
        "between its slices it used CPU time worth 5.4 %",
    );
    assert!(
        in_slices(|s, _| {
            s.neighbours_within_ns = Some(50_000_000);
            s.idle_cpu_ns = vec![5_000_000; 10];
        })
        .is_empty()
    );
    assert!(in_slices(|s, _| s.neighbours_within_ns = None).is_empty(), "an older record");
}

#[test]
fn upstream_that_serves_other_contenders_is_no_other_program() {
    fn busy(m: &mut Measurement) {
        m.upstream_cpu_ns = Some(SECOND / 10);
        m.circumstances.as_mut().unwrap().cpus[0].busy_ticks = 980;
    }
    let others = "of the CPUs of the generator";
    shows(in_slices(|_, m| busy(m)), "shared-cpu", others);
    let for_all = in_slices(|s, m| {
        busy(m);
        s.upstream_outside_ns = Some(SECOND);
    });
    assert!(for_all.is_empty(), "{for_all:#?}");
    let older = in_slices(|s, m| {
        busy(m);
        s.upstream_outside_ns = None;
    });
    assert!(older.is_empty(), "{older:#?}");
}

#[test]
fn tcp_memory_and_clock_beyond_thresholds_are_faults() {
    shows(around(|c| c.tcp.as_mut().unwrap().listen_overflows = 1), "backlog", "full 1 times");
    shows(around(|c| c.tcp.as_mut().unwrap().retransmitted = 11), "retransmits", "11 of 10000");
    // Three of them only probed for an acknowledgement.
    let sent_again = |c: &mut Circumstances, all: u64| {
        c.tcp = Some(Tcp { segments: 10_000, retransmitted: all, probes: 3, ..Tcp::default() })
    };
    shows(around(|c| sent_again(c, 14)), "retransmits", "11 of 10000");
    assert!(around(|c| sent_again(c, 13)).is_empty());
    shows(
        around(|c| c.memory.as_mut().unwrap().available_bytes = 4),
        "memory",
        "4 % of the memory",
    );
    shows(around(|c| c.memory.as_mut().unwrap().swapped_pages = 1), "memory", "1 pages");
    shows(around(|c| c.wall_clock_moved_ns = -51_000_000), "clock-step", "back by 51 ms");
    shows(around(|c| c.wall_clock_moved_ns = 51_000_000), "clock-step", "forward by 51 ms");
    shows(around(|c| c.slept_ns = 60_000_000), "suspended", "slept for 60 ms");
}

#[test]
fn steal_invalidates_start_speed_and_cpu_not_memory() {
    let invalidated_by = |alter: fn(&mut Trial), kind: &str| {
        let mut record = record(&["a", "b"], open());
        record.trials.iter_mut().for_each(alter);
        let judgement = judge::judge(&record);
        assert_eq!((judgement.faults.len(), judgement.faults[0].kind.as_str()), (12, kind));
        let invalidated =
            |metric| judgement.verdicts.iter().find(|v| v.metric == metric).unwrap().invalidated;
        [
            Metric::StartUp,
            Metric::LatencyP50,
            Metric::Throughput,
            Metric::CpuPerRequest,
            Metric::Memory,
        ]
        .map(invalidated)
    };
    assert_eq!(
        invalidated_by(|t| t.host.start_steal_share = Some(0.06), "start-steal"),
        [6, 0, 0, 0, 0]
    );
    let measured = |t: &mut Trial| {
        t.measurements[0].circumstances.as_mut().unwrap().cpus[1].stolen_ticks = Some(101)
    };
    assert_eq!(invalidated_by(measured, "steal"), [0, 6, 6, 6, 0]);
    // Older records have the steal of the whole trial only.
    let older = |t: &mut Trial| {
        (t.host.steal_share, t.host.start_steal_share) = (0.06, None);
        t.measurements[0].circumstances.as_mut().unwrap().cpus[0].stolen_ticks = None;
    };
    assert_eq!(invalidated_by(older, "steal"), [6, 6, 6, 6, 0]);
}

#[test]
fn spare_blocks_are_needed_only_for_claimed_metrics() {
    let at_most =
        |metric, value| Claim { metric, value: Some(value), ..claim(Expectation::AtMost) };
    let disturbed_start = |claimed: Option<Metric>, disturbed_blocks: u32| {
        let mut record = record(&["a", "b"], open());
        record
            .trials
            .iter_mut()
            .filter(|t| t.block <= disturbed_blocks)
            .for_each(|t| t.host.start_steal_share = Some(0.06));
        record.header.experiment.claims =
            claimed.map(|metric| at_most(metric, f64::INFINITY)).into_iter().collect();
        judge::judge(&record).needs_spare_blocks()
    };
    assert!(!disturbed_start(None, 0));
    assert!(disturbed_start(None, 1), "without claims all metrics count");
    assert!(!disturbed_start(Some(Metric::LatencyP50), 1), "no claim is about the start");
    assert!(disturbed_start(Some(Metric::StartUp), 1));
    let mut refuted = record(&["a", "b"], open());
    refuted.trials[0].host.start_steal_share = Some(0.06);
    refuted.header.experiment.claims = vec![at_most(Metric::StartUp, 0.0)];
    assert!(!judge::judge(&refuted).needs_spare_blocks(), "five starts refute it as well as six");
}

/// A block may have no value without a fault: a search that finds no edge, say.
#[test]
fn spare_blocks_are_needed_if_claimed_values_are_missing() {
    let lacking = |blocks: u32| {
        let mut record = record(&["a", "b"], open());
        let of_b = |t: &&mut Trial| t.contender.to_string() == "b" && t.block <= blocks;
        record.trials.iter_mut().filter(of_b).for_each(|t| t.measurements.clear());
        record.header.experiment.claims = vec![claim(Expectation::Lower)];
        judge::judge(&record).needs_spare_blocks()
    };
    assert_eq!([0, 1, 6].map(lacking), [false, true, false]);
}

#[test]
fn descriptor_limit_set_by_the_experiment_is_no_fault() {
    let mut record = record(&["a", "b"], open());
    record.header.experiment.place.descriptors = Some(100);
    record.trials[0].measurements[0].usage.descriptors =
        Some(Descriptors { open: 100, limit: 100 });
    assert!(judge::judge(&record).faults.is_empty());
}

#[test]
fn failed_requests_are_no_fault() {
    let faults = after(open(), |m| {
        m.counts = Counts {
            scheduled: 1_000,
            correct: 500,
            wrong: 100,
            declined: 100,
            refused: 100,
            broken: 100,
            timed_out: 100,
            ..m.counts
        };
        m.generator.in_flight_mean = Some(5.0);
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn clumped_arrivals_are_a_fault_but_a_ramp_is_not() {
    let clumps = |m: &mut Measurement| {
        m.generator.sent_at_us = (0..1_000).map(|i| i / 250 * 2_500_000).collect()
    };
    shows(after(open(), clumps), "arrivals", "1000 send times");
    let late = |m: &mut Measurement| {
        m.generator.sent_at_us = (0..1_000).map(|i| 1_500_000 + i * 8_500).collect()
    };
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
    assert!(
        even.iter().any(|f| f.kind == "arrivals" && f.place == "block 1, a, cell c"),
        "even arrivals are no ramp: {even:#?}"
    );
    let mut of_ramp = record(&["a", "b"], ramp);
    for measurement in of_ramp.trials.iter_mut().flat_map(|t| &mut t.measurements) {
        measurement.generator.sent_at_us =
            (0..1_000).map(|n| (1e7 * (f64::from(n) / 1e3).sqrt()) as u64).collect();
    }
    assert!(judge::judge(&of_ramp).faults.is_empty());
}

#[test]
fn agent_beyond_a_threshold_is_a_fault_with_its_name() {
    let kept = || AgentReport {
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
    let by_two = |change: fn(&mut AgentReport, &mut AgentReport)| {
        move |m: &mut Measurement| {
            let (mut one, mut other) =
                (kept(), AgentReport { name: "b:1".into(), first_loop: 2, ..kept() });
            change(&mut one, &mut other);
            m.generator.agents = vec![one, other];
            // Of four event loops: one CPU would be too few.
            m.generator.cpu_ns = 35 * SECOND;
            m.upstream_cpu_ns = Some(SECOND);
        }
    };
    assert!(after(open(), by_two(|_, _| ())).is_empty(), "{:#?}", after(open(), by_two(|_, _| ())));
    shows(
        after(open(), by_two(|one, _| one.late_ns = 2_000_000)),
        "agent-start",
        "agent a:1: it began 2.00ms late",
    );
    shows(
        after(open(), by_two(|_, other| other.busy_share = 0.93)),
        "agent-cpu",
        "agent b:1: it was busy for 93 %",
    );
    let both = by_two(|one, other| (one.lag_p50_ns, other.lag_p50_ns) = (60_000, 60_000));
    shows(after(open(), both), "agent-lag", "more; agent b:1: half of its requests");
    let checks = judged(open(), by_two(|_, _| ())).checks;
    let seen = |kind: &str| checks.iter().find(|c| c.kind == kind).map(|c| (c.looked_at, c.all));
    assert_eq!(
        (seen("agent-cpu"), seen("agent-start"), seen("generator-cpu")),
        (Some((1, 1)), Some((1, 1)), Some((11, 11)))
    );
    assert_eq!(seen("agent-lost"), None, "the experiment has no agents");
}
