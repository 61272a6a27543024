//! A made-up measurement, for tests of the output.

use load::Measured;
use record::{Counts, Second};
use stats::Histogram;

/// Returns 10,000 correct responses within 2 s, and two failures.
pub fn measured() -> Measured {
    let of = |offset_ns: u64, n: u64| {
        let mut histogram = Histogram::new();
        (0..n).for_each(|k| histogram.record(offset_ns + 1_000 * (k % 100)));
        histogram
    };
    let second = |correct, max_ns| Second {
        correct,
        not_correct: 1,
        p50_ns: Some(100_000),
        p99_ns: Some(149_000),
        max_ns: Some(max_ns),
        max_at_ns: None,
    };
    let mut latency = of(50_000, 9_999);
    latency.record(2_345_678);
    Measured {
        began_ns: 0,
        duration_ns: 2_000_000_000,
        planned_ns: 2_000_000_000,
        latency,
        service: of(49_000, 10_000),
        lag: of(1_000, 10_002),
        counts: Counts {
            scheduled: 10_002,
            correct: 10_000,
            wrong: 1,
            timed_out: 1,
            ..Counts::default()
        },
        steps: vec![],
        statuses: [(200, 10_000), (500, 1)].into(),
        received_bytes: 12_340_000,
        examples: vec!["status 500 instead of 200".into(), "no answer within 2 s".into()],
        seconds: vec![second(4_000, 149_000), second(6_000, 2_345_678)],
        cpu_ns: 500_000_000,
        in_flight_max: 17,
        in_flight_mean: 2.5,
        sent_in_time: 10_002,
        sent_at_us: vec![],
        correct_per_tenth: vec![],
        latency_ns_per_tenth: vec![],
        connections_opened: 18,
        retried: 0,
        connect: Histogram::new(),
        handshake: Histogram::new(),
        resumed: 0,
        spun_ns: 300_000_000,
        threads: 2,
        interrupted: false,
    }
}
