//! Tests of closed loads, arrivals and users, with a simulated server, network and clock.
//!
//! Schedules, pauses and latencies are exact. In every run the counts add up.

mod agents;
mod slices;

use super::sending::RETRIES_MAX;
use super::*;
use crate::connection::describe_connect;
use crate::plan::{Target, Wait};
use crate::simulation::{Server, Simulation};
use proptest::prelude::*;
use record::Counts;
use rustix::io::Errno;
use spec::experiment::{Overflow, Pause, Spacing, Stage};
use spec::workload::{Answer, BodyCheck, Step, Workload};
use stats::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn workload(steps: usize) -> Workload {
    let answer = Answer { body: BodyCheck::Text("hello".into()), ..Answer::default() };
    let step = Step { method: "GET".into(), path: "/".into(), answer, ..Step::default() };
    Workload {
        name: "hello".into(),
        summary: String::new(),
        steps: vec![step; steps],
        ..Workload::default()
    }
}

struct Run {
    measured: Measured,
    world: Simulation,
    took_ns: u64,
}

struct Case {
    load: Load,
    server: Server,
    duration_ns: u64,
    requests: Option<u64>,
    timeout_ns: u64,
    keep_alive: bool,
    wait: Wait,
    seed: u64,
}

impl Case {
    fn new(load: Load, mean_ns: u64) -> Case {
        Case {
            load,
            server: Server { mean_ns, ..Server::default() },
            duration_ns: S,
            requests: None,
            timeout_ns: 500 * MS,
            keep_alive: true,
            wait: Wait::Asleep,
            seed: 1,
        }
    }

    fn run(&self) -> Run {
        self.share(Share::WHOLE, None).0
    }

    fn protocol(&self) -> Protocol {
        Protocol::Http1 { keep_alive: self.keep_alive }
    }

    fn target(&self) -> Target {
        Target {
            host: "simulated".into(),
            protocol: self.protocol(),
            ..Target::plain("127.0.0.1:1".parse().unwrap())
        }
    }

    fn share(&self, share: Share, start_ns: Option<u64>) -> (Run, BTreeMap<usize, Histogram>) {
        let target = self.target();
        let (workload, stop) = (workload(1), AtomicBool::new(false));
        let plan = Plan {
            target: &target,
            workload: &workload,
            load: &self.load,
            duration: Duration::from_nanos(self.duration_ns),
            requests: self.requests,
            timeout: Duration::from_nanos(self.timeout_ns),
            seed: self.seed,
            threads: 1,
            wait: self.wait,
            stop: &stop,
            progress: None,
        };
        let mut generator = Generator::new(Simulation::new(self.server, self.seed), &plan, share);
        generator.connect();
        let begun = match start_ns {
            Some(at) => generator.await_start(&Start::known(at)).0,
            None => generator.now_ns(),
        };
        let (sender, receiver) = mpsc::channel();
        let measured = generator.run(begun, Listeners { progress: None, seconds: Some(sender) });
        let took_ns = generator.world.now.get() - begun;
        (Run { measured, took_ns, world: generator.world }, receiver.into_iter().collect())
    }
}

fn users(users: u32, ramp_ns: u64, pause: Pause, rounds: Option<u64>, pooled: Option<u32>) -> Load {
    Load::Users { users, ramp: Duration::from_nanos(ramp_ns), pause, rounds, pooled }
}

const SECOND_LONG: Pause = Pause::Constant(Duration::from_secs(1));

#[test]
fn closed_load_keeps_every_connection_busy() {
    let run = Case::new(Load::closed(8), MS).run();
    assert_eq!((run.world.connections, run.measured.in_flight_max), (8, 8));
    // 8 at a time, each about 1 ms, for a second.
    assert!((7_000..9_000).contains(&run.measured.counts.correct), "{:?}", run.measured.counts);
    assert_eq!(run.measured.latency.len(), run.measured.service.len());
    assert!(run.measured.lag.max_ns() < MS, "the next is due when the one before was answered");
}

#[test]
fn closed_load_opens_few_connections_at_once() {
    for (connections, every_ns) in [(100, 5 * MS), (10_000, MS)] {
        let run = Case { timeout_ns: 5 * S, ..Case::new(Load::closed(connections), MS) }.run();
        let at = &run.world.connected_at[..connections as usize];
        assert!(
            at.windows(33).all(|w| w[32] - w[0] >= every_ns),
            "more than 32 within {every_ns} ns"
        );
        // All are open before the clock starts, at most a second after the first.
        let first_request = run.world.read_at.iter().min().unwrap();
        assert!(at.iter().all(|at| at < first_request) && first_request - at[0] < 1_000 * MS);
    }
}

#[test]
fn pipeline_has_the_configured_depth() {
    let run = Case::new(Load::Closed { connections: 2, depth: 16 }, MS).run();
    assert_eq!((run.world.connections, run.measured.in_flight_max), (2, 32));
    assert_eq!(run.measured.counts.unfinished, 32);
}

#[test]
fn request_limit_is_exact() {
    for load in [
        Load::closed(8),
        Load::arrivals(10_000.0, 64),
        users(10, 0, Pause::Constant(Duration::ZERO), None, None),
    ] {
        let run = Case { requests: Some(1_234), ..Case::new(load.clone(), MS) }.run();
        assert_eq!(
            run.measured.counts,
            Counts { scheduled: 1_234, correct: 1_234, ..Counts::default() },
            "{load:?}"
        );
        assert!(run.measured.duration_ns < S, "it ends when they are answered: {load:?}");
    }
}

#[test]
fn arrivals_keep_their_schedule_with_a_slow_server() {
    let run = Case::new(Load::arrivals(1_000.0, 1_024), 50 * MS).run();
    assert_eq!(run.measured.counts.scheduled, 1_000);
    assert!(run.measured.lag.quantile_ns(0.99) < 20_000);
    for (number, at) in run.world.read_at.iter().enumerate().skip(100) {
        assert!(at.abs_diff(S + number as u64 * MS) < MS, "request {number} was read at {at}");
    }
}

#[test]
fn waiting_for_room_counts_as_latency() {
    // 1,000/s of about 10 ms each, one at a time: the server falls behind by 9 in 10.
    let queued = Case { timeout_ns: 5 * S, ..Case::new(Load::arrivals(1_000.0, 1), 10 * MS) }.run();
    let counts = queued.measured.counts;
    assert!(counts.add_up() && counts.scheduled == 1_000 && counts.unsent > 600, "{counts:?}");
    assert!(queued.measured.latency.max_ns() > S, "the wait shows");
    assert!(queued.measured.service.max_ns() < 200 * MS);
    let Load::Arrivals { rate_per_s, stages, spacing, .. } = Load::arrivals(1_000.0, 1) else {
        unreachable!()
    };
    let shed =
        Load::Arrivals { rate_per_s, stages, spacing, in_flight_max: 1, overflow: Overflow::Shed };
    let shed = Case::new(shed, 10 * MS).run();
    let counts = shed.measured.counts;
    assert!(counts.add_up() && counts.scheduled == 1_000 && counts.unsent > 800, "{counts:?}");
    assert!(shed.measured.latency.quantile_ns(0.99) < 100 * MS, "shed requests delay no other");
}

#[test]
fn stalled_server_shows_in_the_latency() {
    // The server stalls for the last 100 ms of every second. An arrival within that time waits for
    // the rest of it.
    let server = Server { mean_ns: 1, stall: Some((S, 100 * MS)), ..Server::default() };
    let run =
        Case { server, duration_ns: 10 * S, ..Case::new(Load::arrivals(1_000.0, 1_024), 1) }.run();
    let latency = run.measured.latency;
    assert_eq!(run.measured.counts.correct, 10_000);
    for (q, truth_ms) in [(0.95, 50.0), (0.99, 90.0), (0.5, 0.0)] {
        let found = latency.quantile_ns(q) as f64 / MS as f64;
        assert!((found - truth_ms).abs() < 1.2, "p{q}: {found} ms instead of {truth_ms}");
    }
}

#[test]
fn users_pause_between_requests() {
    let load = users(100, 0, SECOND_LONG, None, None);
    let run = Case { duration_ns: 10 * S, ..Case::new(load, 10 * MS) }.run();
    // Each user sends one request, then pauses for 1 s, with about 10 ms between, for 10 s.
    assert!((980..=1_000).contains(&run.measured.counts.correct), "{:?}", run.measured.counts);
    assert_eq!(run.world.connections, 100, "each keeps its own");
    assert!(run.measured.lag.max_ns() < 2 * MS);
}

#[test]
fn users_ramp_up_and_leave_after_their_rounds() {
    let load = users(100, 10 * S, SECOND_LONG, Some(3), None);
    let run = Case { duration_ns: 60 * S, ..Case::new(load, MS) }.run();
    assert_eq!(run.measured.counts, Counts { scheduled: 300, correct: 300, ..Counts::default() });
    assert!((11 * S..13 * S).contains(&run.took_ns), "{}", run.took_ns);
    // The n-th starts after n tenths of a second.
    let mut first_second: Vec<u64> =
        run.world.read_at.iter().map(|at| at - S).filter(|at| *at < 900 * MS).collect();
    first_second.sort_unstable();
    assert_eq!(first_second.len(), 9);
    for (number, at) in first_second.iter().enumerate() {
        assert!(at.abs_diff(number as u64 * 100 * MS) < MS);
    }
}

#[test]
fn finished_user_closes_its_connection() {
    let load = users(1_000, 10 * S, Pause::Constant(Duration::ZERO), Some(3), None);
    let run = Case { duration_ns: 60 * S, ..Case::new(load, MS) }.run();
    assert_eq!(
        run.measured.counts,
        Counts { scheduled: 3_000, correct: 3_000, ..Counts::default() }
    );
    // One user starts each hundredth of a second and stays for about three milliseconds.
    assert_eq!(run.world.connections, 1_000);
    assert!(run.world.open_most < 10, "{} were open at once", run.world.open_most);
}

#[test]
fn pauses_follow_their_distribution() {
    for (pause, least, most) in [
        (
            Pause::Uniform { from: Duration::from_millis(500), to: Duration::from_millis(1_500) },
            0.97,
            1.03,
        ),
        (Pause::Exponential(Duration::from_secs(1)), 0.95, 1.05),
    ] {
        let run =
            Case { duration_ns: 100 * S, ..Case::new(users(100, 0, pause, None, None), 1) }.run();
        let rate = run.measured.counts.correct as f64 / 100.0 / 100.0;
        assert!((least..most).contains(&rate), "{pause:?}: {rate}/s a user");
    }
}

#[test]
fn pooled_users_share_connections_and_wait_for_them() {
    let load = users(50, 0, Pause::Constant(Duration::ZERO), None, Some(5));
    let run = Case::new(load, 10 * MS).run();
    assert_eq!((run.world.connections, run.measured.in_flight_max), (5, 5));
    // 5 at a time of 10 ms: each of 50 users waits for 9 others.
    let mean_ms = run.measured.latency.mean_ns() / MS as f64;
    assert!((60.0..120.0).contains(&mean_ms), "{mean_ms}");
    assert!(run.measured.counts.add_up());
}

#[test]
fn each_request_opens_a_connection_without_keep_alive() {
    for load in [
        Load::closed(4),
        Load::arrivals(500.0, 64),
        users(10, 0, Pause::Constant(Duration::ZERO), None, None),
    ] {
        let run = Case { keep_alive: false, ..Case::new(load.clone(), MS) }.run();
        assert!(
            run.measured.counts.correct > 100 && run.measured.counts.failed() == 0,
            "{load:?}: {:?}",
            run.measured.counts
        );
        assert!(run.world.connections >= run.world.requests, "{load:?}");
        assert_eq!(run.measured.connections_opened, run.world.connections, "{load:?}");
        assert!(run.measured.connect.mean_ns() >= 30_000.0, "{load:?}");
        assert!(run.measured.service.min_ns() >= 30_000, "connecting is on the path: {load:?}");
    }
}

#[test]
fn unprocessed_requests_are_retried_after_a_close() {
    let server = Server { mean_ns: MS, closes: 0.05, ..Server::default() };
    let run = Case { server, ..Case::new(Load::Closed { connections: 4, depth: 16 }, 0) }.run();
    let counts = run.measured.counts;
    assert!(counts.correct > 1_000 && counts.failed() == 0, "{counts:?}");
    assert!(run.world.connections > 50);
}

#[test]
fn refusing_and_silent_servers_are_counted() {
    let refusing = Case {
        server: Server { refuses: 1.0, ..Server::default() },
        ..Case::new(Load::closed(4), MS)
    }
    .run();
    let counts = refusing.measured.counts;
    assert!(
        counts.refused > 30 && counts.refused < 400 && counts.correct == 0 && counts.add_up(),
        "backing off: {counts:?}"
    );
    let silent = Case {
        server: Server { never: 1.0, ..Server::default() },
        ..Case::new(Load::arrivals(100.0, 1_024), MS)
    }
    .run();
    assert_eq!(silent.measured.counts.timed_out, 100);
    let ignoring = Case {
        server: Server { ignores: 1.0, ..Server::default() },
        ..Case::new(Load::arrivals(100.0, 1_024), MS)
    }
    .run();
    assert_eq!(ignoring.measured.counts.timed_out, 100);
    assert!(
        ignoring.measured.examples[0].contains("no connection within"),
        "{:?}",
        ignoring.measured.examples
    );
}

#[test]
fn polling_gives_the_same_counts() {
    let near = Case { wait: Wait::Near, ..Case::new(Load::arrivals(1_000.0, 64), 50_000) }.run();
    assert_eq!(near.measured.counts.correct, 1_000);
    assert!(near.measured.spun_ns > 0 && near.measured.spun_ns < S);
}

#[test]
fn pipelined_requests_are_retried_in_order_after_a_close() {
    let mut case = Case::new(Load::Closed { connections: 1, depth: 32 }, 10_000);
    case.server.closes = 1.0;
    case.requests = Some(100);
    let run = case.run();
    assert_eq!(
        run.measured.counts,
        Counts { scheduled: 100, correct: 100, ..Counts::default() },
        "{:?}",
        run.measured.examples
    );
    assert_eq!(run.measured.connections_opened, 100, "one answer each");
}

#[test]
fn connect_errors_are_explained() {
    assert!(describe_connect(Errno::ADDRNOTAVAIL).contains("no ephemeral port is free"));
    assert!(describe_connect(Errno::MFILE).contains("out of descriptors"));
    assert!(describe_connect(Errno::CONNREFUSED).contains("refused"));
}

fn any_load() -> impl Strategy<Value = Load> {
    let pause = prop_oneof![
        Just(Pause::Constant(Duration::ZERO)),
        Just(Pause::Uniform { from: Duration::ZERO, to: Duration::from_millis(20) }),
        Just(Pause::Exponential(Duration::from_millis(5))),
    ];
    let stages = prop::collection::vec((0.0f64..3_000.0, 0u64..300), 0..3);
    prop_oneof![
        (1u32..9, 1u32..9).prop_map(|(connections, depth)| Load::Closed { connections, depth }),
        (10.0f64..3_000.0, stages, any::<(bool, bool)>(), 1u32..40).prop_map(
            |(rate_per_s, stages, (poisson, shed), in_flight_max)| {
                Load::Arrivals {
                    rate_per_s,
                    stages: stages
                        .into_iter()
                        .map(|(to_per_s, ms)| Stage { to_per_s, over: Duration::from_millis(ms) })
                        .collect(),
                    spacing: if poisson { Spacing::Poisson } else { Spacing::Even },
                    in_flight_max,
                    overflow: if shed { Overflow::Shed } else { Overflow::Queue },
                }
            }
        ),
        (1u32..30, 0u64..200, pause, prop::option::of(1u64..20), prop::option::of(1u32..8))
            .prop_map(|(n, ramp, pause, rounds, pooled)| users(
                n,
                ramp * MS,
                pause,
                rounds,
                pooled
            )),
    ]
}

fn any_server() -> impl Strategy<Value = Server> {
    let share = || prop_oneof![3 => Just(0.0), 1 => 0.0f64..0.12, 1 => Just(0.01)];
    let shares = (share(), share(), share(), share(), share(), share(), share(), share(), share());
    (1u64..20 * MS, shares).prop_map(
        |(mean_ns, (refuses, ignores, drips, wrong, closes, garbage, resets, hangs_up, never))| {
            Server {
                mean_ns,
                refuses,
                ignores,
                drips,
                wrong,
                closes,
                garbage,
                resets,
                hangs_up,
                never,
                slow: None,
                stall: None,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// With any load and any behaviour of the server, no request is lost or counted twice, and the
    /// run ends in time.
    #[test]
    fn counts_add_up(
        load in any_load(), server in any_server(), keep_alive in any::<bool>(), near in any::<bool>(),
        requests in prop::option::of(1u64..2_000), seed in any::<u64>(),
    ) {
        let wait = if near { Wait::Near } else { Wait::Asleep };
        let keep_alive = keep_alive || matches!(load, Load::Closed { depth: 2.., .. });
        let case = Case { load, server, duration_ns: 400 * MS, requests, timeout_ns: 100 * MS, keep_alive, wait, seed };
        let Run { measured, world, took_ns } = case.run();
        let counts = measured.counts;
        prop_assert!(counts.add_up(), "{:?}", counts);
        let [step_counts] = measured.steps[..] else { panic!("one step") };
        prop_assert_eq!(step_counts.correct, counts.correct);
        // Wrong responses had status 200. Refused connections carried no request.
        prop_assert_eq!(step_counts.in_doubt, counts.wrong + counts.broken + counts.timed_out + counts.unfinished, "{:?}", counts);
        prop_assert!(took_ns <= 400 * MS + DRAIN_NS + 100 * MS, "it took {} ns", took_ns);
        prop_assert!(requests.is_none_or(|most| counts.scheduled <= most), "{:?}", counts);
        // The server answered what was counted as answered, and received no more than was sent.
        prop_assert!(counts.correct + counts.wrong <= world.requests);
        let sent = counts.scheduled - counts.unsent;
        prop_assert!(world.requests <= sent * (1 + u64::from(RETRIES_MAX)));
        prop_assert!(measured.in_flight_max <= case.load.in_flight_max());
        prop_assert_eq!(measured.service.len(), counts.correct);
        prop_assert_eq!(measured.statuses.values().sum::<u64>(), counts.correct + counts.wrong);
        prop_assert_eq!(measured.seconds.iter().map(|s| s.correct).sum::<u64>(), counts.correct);
        prop_assert_eq!(measured.latency.len(), counts.correct);
        prop_assert_eq!(measured.lag.len(), sent);
        // The same seed gives the same run.
        prop_assert_eq!(case.run().measured.counts, counts);
    }
}
