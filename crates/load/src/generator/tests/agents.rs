//! Loads that several agents make, compared with the same load from one generator.

use super::*;
use crate::agents::partition_load;
use crate::parts::{PartResult, merge_parts};

impl Case {
    /// Makes the load with agents that run these numbers of event loops. Every loop has its own
    /// world, and all clocks show the same.
    fn agents(&self, requested: &[u32], start_ns: u64) -> (Measured, Vec<Run>) {
        let parts = partition_load(&self.load, self.protocol(), requested).unwrap();
        let mut runs = Vec::new();
        let mut all = Vec::new();
        for part in parts {
            let mut made: Option<PartResult> = None;
            for share in part.shares() {
                let (run, seconds) = self.share(share, Some(start_ns));
                let of_loop = PartResult { measured: run.measured.clone(), seconds, late_ns: 0 };
                made = merge_parts(made.into_iter().chain([of_loop]));
                runs.push(run);
            }
            all.extend(made);
        }
        (merge_parts(all).unwrap().measured, runs)
    }
}

/// Returns the instants at which servers read requests, in ascending order.
fn read_at(runs: &[Run]) -> Vec<u64> {
    let mut all: Vec<u64> = runs.iter().flat_map(|run| run.world.read_at.iter().copied()).collect();
    all.sort_unstable();
    all
}

#[test]
fn agents_match_one_generator_in_schedule_and_latency() {
    // The server stalls for the last 100 ms of every second, for all agents.
    let server = Server { mean_ns: 1, stall: Some((S, 100 * MS)), ..Server::default() };
    for spacing in [Spacing::Even, Spacing::Poisson] {
        let stages = vec![Stage { to_per_s: 2_000.0, over: Duration::from_secs(2) }];
        let load = Load::Arrivals {
            rate_per_s: 500.0,
            stages,
            spacing,
            in_flight_max: 1_024,
            overflow: Overflow::Queue,
        };
        let case = Case { server, duration_ns: 5 * S, ..Case::new(load, 1) };
        let (one, _) = case.share(Share::WHOLE, Some(3 * S));
        let (together, runs) = case.agents(&[1, 2, 1], 3 * S);
        assert_eq!(runs.len(), 4);
        assert_eq!(together.counts, one.measured.counts);
        assert_eq!(
            (together.threads, together.began_ns, together.duration_ns / S),
            (4, 3 * S, one.measured.duration_ns / S)
        );
        assert_eq!(together.lag.len(), one.measured.lag.len());
        let (theirs, its) = (read_at(&runs), read_at(std::slice::from_ref(&one)));
        assert_eq!(theirs.len(), its.len());
        assert!(
            theirs.iter().zip(&its).all(|(a, b)| a.abs_diff(*b) < MS),
            "{spacing:?}: the same instants"
        );
        for q in [0.5, 0.9, 0.95, 0.99, 1.0] {
            let (theirs, its) =
                (together.latency.quantile_ns(q), one.measured.latency.quantile_ns(q));
            assert!(
                theirs.abs_diff(its) < 2 * MS,
                "{spacing:?} p{q}: {theirs} ns, and {its} ns of one generator"
            );
        }
        for (theirs, its) in together.seconds.iter().zip(&one.measured.seconds) {
            assert!(theirs.correct.abs_diff(its.correct) < 20, "{theirs:?} {its:?}");
            let (theirs, its) = (theirs.p99_ns.unwrap(), its.p99_ns.unwrap());
            assert!(
                theirs.abs_diff(its) < 2 * MS,
                "the quantile of a second is that of all agents: {theirs} {its}"
            );
        }
    }
}

#[test]
fn agents_divide_users_and_connections_without_remainder() {
    let (together, runs) = Case::new(Load::closed(10), MS).agents(&[1, 2], 2 * S);
    assert_eq!(runs.iter().map(|run| run.world.connections).collect::<Vec<_>>(), [4, 3, 3]);
    assert_eq!((together.in_flight_max, together.connections_opened), (10, 10));
    assert!(
        together.counts.add_up() && (8_000..11_000).contains(&together.counts.correct),
        "{:?}",
        together.counts
    );

    // The n-th of all users starts after n tenths of a second, whichever agent it belongs to.
    let load = users(100, 10 * S, SECOND_LONG, Some(3), None);
    let (together, runs) =
        Case { duration_ns: 60 * S, ..Case::new(load, MS) }.agents(&[1, 1, 1], 2 * S);
    assert_eq!(together.counts, Counts { scheduled: 300, correct: 300, ..Counts::default() });
    let first_second: Vec<u64> =
        read_at(&runs).into_iter().map(|at| at - 2 * S).filter(|at| *at < 850 * MS).collect();
    assert_eq!(first_second.len(), 9);
    assert!(
        first_second
            .iter()
            .enumerate()
            .all(|(number, at)| at.abs_diff(number as u64 * 100 * MS) < MS),
        "{first_second:?}"
    );
}

#[test]
fn late_start_keeps_the_schedule_and_shows_in_the_lag() {
    let load = Load::arrivals(100.0, 16);
    let (in_time, _) = Case::new(load.clone(), MS).share(Share::WHOLE, Some(2 * S));
    assert_eq!(in_time.measured.began_ns, 2 * S);
    assert!(in_time.world.read_at[0].abs_diff(2 * S) < MS);
    // Its clock started at one second, so half a second of the schedule has passed.
    let (late, _) = Case::new(load, MS).share(Share::WHOLE, Some(S / 2));
    assert_eq!((late.measured.began_ns, late.measured.counts.scheduled), (S / 2, 100));
    assert!(late.measured.lag.max_ns() >= S / 2, "it is counted in the lag, and in the latency");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// However a load is divided, no arrival is lost or sent twice.
    #[test]
    fn agents_lose_no_arrival(
        load in any_load(), server in any_server(), requested in prop::collection::vec(1u32..4, 1..5),
        requests in prop::option::of(1u64..2_000), seed in any::<u64>(),
    ) {
        let case = Case { load, server, duration_ns: 400 * MS, requests, timeout_ns: 100 * MS, keep_alive: true, wait: Wait::Asleep, seed };
        prop_assume!(partition_load(&case.load, case.protocol(), &requested).is_ok());
        let (together, runs) = case.agents(&requested, 2 * S);
        let counts = together.counts;
        prop_assert!(counts.add_up(), "{:?}", counts);
        prop_assert!(together.in_flight_max <= case.load.in_flight_max());
        prop_assert_eq!(together.latency.len(), counts.correct);
        prop_assert_eq!(together.seconds.iter().map(|s| s.correct).sum::<u64>(), counts.correct);
        prop_assert_eq!(together.threads as usize, runs.len());
        if let Load::Arrivals { rate_per_s, stages, spacing, .. } = &case.load {
            let planned_ns = case.load.ends_after().map_or(400 * MS, |end| (end.as_nanos() as u64).min(400 * MS));
            let mut whole = Schedule::new(*rate_per_s, stages, *spacing, planned_ns, requests.unwrap_or(u64::MAX), seed);
            prop_assert_eq!(counts.scheduled, whole.take_due(u64::MAX));
        }
    }
}
