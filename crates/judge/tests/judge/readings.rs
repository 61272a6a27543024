//! Measurements whose readings are all sound, and what a change of one reading causes.

use crate::made_up::{self, MS, SECOND, histogram, measurement, trial};
use record::judgement::{FaultAt, Judgement};
use record::{
    Circumstances, CpuTime, Descriptors, Generator, Host, Measurement, Memory, Ports, Record, Tcp,
    Trial, Usage,
};
use spec::experiment::Load;

/// Makes six blocks of `names`, all alike and all sound: 10 s of load with 1,000 responses in 2 ms
/// each.
pub fn record(names: &[&str], load: Load) -> Record {
    let closed = matches!(load, Load::Closed { .. });
    let host = || Host { steal_share: 0.5, start_steal_share: Some(0.05), load_average: 9.0 };
    let trials = (1..=6)
        .flat_map(|block| {
            names.iter().map(move |n| Trial { host: host(), ..trial(n, block, sound(closed)) })
        })
        .collect();
    made_up::record(names, load, trials)
}

pub fn sound(closed: bool) -> Measurement {
    let plain = measurement(10, histogram((0..1_000).map(|i| 2 * MS + i)));
    let samples = || (0..=100u64).map(|tenth| tenth * SECOND / 10);
    Measurement {
        latency: (!closed).then(|| plain.service.clone()),
        usage: Usage {
            t_ns: samples().collect(),
            // A tenth of a CPU, alternately a little more and a little less.
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
            tcp: Some(Tcp {
                segments: 10_000,
                retransmitted: 10,
                probes: 0,
                listen_overflows: 0,
                listen_drops: 0,
            }),
            ports: Some(Ports { taken_before: 0, taken_after: 899, range: 1_000 }),
            memory: Some(Memory { available_bytes: 6, total_bytes: 100, swapped_pages: 0 }),
            wall_clock_moved_ns: -50_000_000,
            slept_ns: 1_000,
        }),
        ..plain
    }
}

pub fn open() -> Load {
    Load::arrivals(100.0, 10)
}

/// Judges a record after a change of the first trial's measurement.
pub fn judged(load: Load, change: impl Fn(&mut Measurement)) -> Judgement {
    let mut record = record(&["a", "b"], load);
    change(&mut record.trials[0].measurements[0]);
    judge::judge(&record)
}

/// Lists the faults after such a change.
pub fn after(load: Load, change: impl Fn(&mut Measurement)) -> Vec<FaultAt> {
    judged(load, change).faults
}

pub fn around(change: impl Fn(&mut Circumstances)) -> Vec<FaultAt> {
    after(open(), |m| change(m.circumstances.as_mut().unwrap()))
}

#[track_caller]
pub fn shows(faults: Vec<FaultAt>, kind: &str, evidence: &str) {
    let [fault] = &faults[..] else { panic!("expected one fault: {faults:#?}") };
    assert_eq!((fault.kind.as_str(), fault.place.as_str()), (kind, "block 1, a, cell c"));
    assert!(fault.evidence.contains(evidence), "{fault:#?}");
    assert!(!fault.hint.is_empty());
}
