//! Loads in slices, compared with the same load in one piece.

use super::*;
use crate::generator::slices::Slice;

/// Makes a load in slices. After each, time passes in which other contenders have the load.
fn in_slices(
    case: &Case,
    length_ns: u64,
    apart_ns: u64,
    slices: usize,
) -> (Measured, Vec<Slice>, Simulation) {
    let target = case.target();
    let (workload, stop) = (workload(1), AtomicBool::new(false));
    let plan = Plan {
        target: &target,
        workload: &workload,
        load: &case.load,
        duration: Duration::from_nanos(length_ns * slices as u64),
        requests: None,
        timeout: Duration::from_nanos(case.timeout_ns),
        seed: case.seed,
        threads: 1,
        wait: case.wait,
        stop: &stop,
        progress: None,
    };
    let mut generator =
        Generator::new(Simulation::new(case.server, case.seed), &plan, Share::WHOLE);
    generator.connect();
    let mut schedule = generator.begin_slices();
    let mut made = Vec::new();
    for _ in 0..slices {
        made.push(generator.slice(&mut schedule, length_ns));
        generator.world.now.set(generator.world.now.get() + apart_ns);
    }
    let measured = generator.end_slices();
    (measured, made, generator.world)
}

/// Returns correct responses per second of the measured parts.
fn rate(slices: &[Slice]) -> f64 {
    let (correct, ns) =
        slices.iter().fold((0.0, 0), |(n, ns), slice| (n + slice.correct, ns + slice.measured_ns));
    correct / (ns as f64 / 1e9)
}

#[test]
fn closed_load_in_slices_keeps_its_throughput() {
    for mean_ns in [100_000, MS, 4 * MS] {
        // Enough requests for the tolerance.
        let case = Case {
            duration_ns: (40_000 * mean_ns).clamp(4 * S, 20 * S),
            ..Case::new(Load::closed(8), mean_ns)
        };
        let whole = case.run().measured;
        let whole_rate = whole.counts.correct as f64 / (whole.duration_ns as f64 / 1e9);
        for length_ns in [(20 * mean_ns).max(40 * MS), 500 * MS] {
            let (measured, slices, world) = in_slices(
                &case,
                length_ns,
                30 * MS,
                (100_000 * mean_ns / length_ns).clamp(20, 100) as usize,
            );
            let ratio = rate(&slices) / whole_rate;
            assert!(
                (ratio - 1.0).abs() < 0.02,
                "{mean_ns} ns in slices of {length_ns} ns: {ratio}"
            );
            let means = measured.service.mean_ns() / whole.service.mean_ns();
            assert!(
                (means - 1.0).abs() < 0.025,
                "{mean_ns} ns in slices of {length_ns} ns: mean service time {means}"
            );
            assert_eq!(world.connections, 8, "idle connections are kept");
            assert!(
                measured.counts.add_up() && measured.counts.unfinished == 0,
                "{:?}",
                measured.counts
            );
            assert_eq!(
                measured.duration_ns,
                slices.iter().map(|slice| slice.measured_ns).sum::<u64>()
            );
            let credited = slices.iter().map(|slice| slice.correct).sum::<f64>()
                / measured.service.len() as f64;
            assert!(
                (credited - 1.0).abs() < 0.01,
                "as many begin before the part as end after it: {credited}"
            );
        }
    }
}

#[test]
fn arrivals_in_slices_keep_their_rate_and_latency() {
    for (mean_ns, rate_per_s) in [(100_000, 2_000.0), (3 * MS, 400.0)] {
        let load = Load::arrivals(rate_per_s, 1_024);
        let case = Case { duration_ns: 4 * S, ..Case::new(load, mean_ns) };
        let whole = case.run().measured;
        let (measured, slices, _) = in_slices(&case, 100 * MS, 70 * MS, 40);
        assert_eq!(measured.counts.scheduled, whole.counts.scheduled);
        assert_eq!(
            (measured.counts.correct, measured.duration_ns),
            (measured.counts.scheduled, 4 * S)
        );
        assert_eq!(
            measured.latency.len(),
            measured.counts.correct,
            "also those that are answered after the slice"
        );
        let means = measured.latency.mean_ns() / whole.latency.mean_ns();
        assert!((means - 1.0).abs() < 0.1, "{means}");
        assert!(measured.lag.quantile_ns(0.99) < MS, "{}", measured.lag.quantile_ns(0.99));
        assert_eq!(measured.sent_in_time, measured.counts.scheduled);
        assert_eq!(
            slices.iter().map(|slice| slice.correct).sum::<f64>(),
            measured.counts.correct as f64
        );
    }
}

#[test]
fn unanswered_request_of_a_slice_is_counted_once() {
    let server =
        Server { mean_ns: MS, never: 0.002, wrong: 0.01, closes: 0.05, ..Server::default() };
    for load in [Load::closed(4), Load::arrivals(500.0, 64)] {
        let case = Case { server, timeout_ns: 200 * MS, ..Case::new(load, MS) };
        let (measured, slices, _) = in_slices(&case, 60 * MS, 20 * MS, 30);
        assert!(measured.counts.add_up(), "{:?}", measured.counts);
        assert!(
            measured.counts.timed_out > 0 && measured.counts.wrong > 0,
            "{:?}",
            measured.counts
        );
        assert!(slices.iter().filter(|slice| slice.correct > 0.0).count() >= 25);
    }
}

#[test]
fn arrival_longer_than_a_slice_keeps_its_latency() {
    let case = Case { timeout_ns: 60 * S, ..Case::new(Load::arrivals(50.0, 1_024), 3 * S) };
    let (measured, ..) = in_slices(&case, 500 * MS, 10 * S, 100);
    assert_eq!(measured.latency.len(), measured.counts.scheduled, "{:?}", measured.counts);
    // The times of the server are exponentially distributed.
    let mean = measured.latency.mean_ns() / (3 * S) as f64;
    let tail = measured.latency.quantile_ns(0.9) as f64 / (3 * S) as f64 / 10f64.ln();
    assert!((mean - 1.0).abs() < 0.06 && (tail - 1.0).abs() < 0.06, "{mean} {tail}");
}

#[test]
fn closed_load_records_responses_longer_than_a_slice() {
    let server = Server { mean_ns: MS, slow: Some((0.001, 3 * S)), ..Server::default() };
    let case = Case { server, timeout_ns: 10 * S, ..Case::new(Load::closed(16), MS) };
    let (measured, ..) = in_slices(&case, 100 * MS, 10 * S, 100);
    assert!(measured.counts.add_up() && measured.counts.unfinished == 0);
    let service = &measured.service;
    let slow = service.count_between(S, u64::MAX);
    let share = slow as f64 / service.len() as f64;
    assert!((0.00075..0.00125).contains(&share) && service.max_ns() < 4 * S, "{slow} {share}");
}
