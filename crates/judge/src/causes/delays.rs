//! How much later a contender's responses arrive than the baseline's, and which waits differ.
//!
//! Each wait is a paired difference over profiled blocks: time without a CPU, pauses of the garbage
//! collector, and calls that block. Waits are tested and corrected like categories of CPU time. They
//! are of interest where CPU time does not explain a difference in response time. Start with
//! [`compare`].

use super::costs::{BLOCKS_MIN, CONFIDENCE};
use super::differences::Q_MAX;
use super::waits::counted_calls;
use record::judgement::{CauseLine, WaitsDifference};
use record::{Profile, SystemCall};
use stats::{Counted, CountedDifference, benjamini_hochberg, counted_differences, mean};
use std::collections::{BTreeMap, BTreeSet};

/// The smallest ratio of response times that is worth an explanation.
const RATIO_MIN: f64 = 1.05;
/// CPU time explains a difference in response time if it differs by this part of it, as a ratio.
const EXPLAINED_MIN: f64 = 0.5;
/// A call is compared if the time within it is at least this part of the response time. Both
/// contenders count together, so the choice does not bias the test.
const CALL_MIN: f64 = 0.05;
/// The fewest calls whose mean duration says how long tracing takes.
const CALLS_MIN: u64 = 20;

const FOR_CPU: &str = "for a CPU";
const FOR_COLLECTOR: &str = "for the garbage collector";

/// Calls in which threads also wait for their next request. Time within them says nothing about the
/// request before.
const IDLE: [&str; 29] = [
    "accept",
    "accept4",
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex",
    "futex_wait",
    "futex_waitv",
    "io_getevents",
    "io_pgetevents",
    "io_uring_enter",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "read",
    "readv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "restart_syscall",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_yield",
    "select",
    "wait4",
    "waitid",
];

/// What a request of one contender takes in one block, in microseconds.
struct Delays {
    response_us: f64,
    cpu_us: f64,
    run_queue_us: Option<f64>,
    pauses_us: Option<f64>,
    /// Time in calls that block; `None` if calls were not counted.
    calls_us: Option<BTreeMap<String, f64>>,
}

impl Delays {
    fn of_profile(profile: &Profile) -> Option<Delays> {
        let load = profile.load?;
        let correct = profile.correct as f64;
        let response_us = load.response_ns as f64 / 1e3;
        let delays = Delays {
            response_us,
            cpu_us: profile.cpu_ns as f64 / 1e3 / correct,
            run_queue_us: profile.waits.run_queue_ns.map(|ns| ns as f64 / 1e3 / correct),
            // A request meets pauses in the same part of its time as the whole load does.
            pauses_us: profile.waits.pauses.map(|pauses| {
                response_us * pauses.total_ns as f64 / load.duration_ns.max(1) as f64
            }),
            calls_us: counted_calls(profile).map(|(calls, correct)| blocked_us(calls, correct)),
        };
        (profile.correct > 0).then_some(delays)
    }

    /// Time in a call; none if it was not made.
    fn call_us(&self, name: &str) -> Option<f64> {
        self.calls_us.as_ref().map(|calls| calls.get(name).copied().unwrap_or(0.0))
    }
}

/// Returns the time for which calls blocked, by name. Tracing takes as long as the shortest call at
/// most, and this much is subtracted from each.
fn blocked_us(calls: &[SystemCall], correct: u64) -> BTreeMap<String, f64> {
    let per_call = |call: &SystemCall| Some(call.spent_ns? as f64 / call.calls as f64);
    let frequent = calls.iter().filter(|call| call.calls >= CALLS_MIN);
    let shortest_ns = frequent.filter_map(per_call).min_by(f64::total_cmp).unwrap_or(0.0);
    let blocking = calls.iter().filter(|call| !IDLE.contains(&call.name.as_str()));
    blocking
        .filter_map(|call| {
            let blocked_ns = call.spent_ns? as f64 - call.calls as f64 * shortest_ns;
            Some((call.name.clone(), blocked_ns.max(0.0) / 1e3 / correct as f64))
        })
        .collect()
}

/// A block of both contenders: the contender's first.
type Pair = (Delays, Delays);

/// The values of a wait in each block of both.
type Values = Vec<(Counted, Counted)>;

/// Compares response times and waits over the blocks that both have. `None` without one.
pub(super) fn compare(of: &[&Profile], with: &[&Profile]) -> Option<WaitsDifference> {
    let by_block = |profiles: &[&Profile]| -> BTreeMap<u32, Delays> {
        profiles.iter().filter_map(|p| Some((p.block, Delays::of_profile(p)?))).collect()
    };
    let (of, mut with) = (by_block(of), by_block(with));
    let pairs: Vec<Pair> =
        of.into_iter().filter_map(|(block, of)| Some((of, with.remove(&block)?))).collect();
    let enough = pairs.len() >= BLOCKS_MIN;
    let response = values(&pairs, |delays| Some(delays.response_us))?;
    let mut tested = counted_differences(std::slice::from_ref(&response), CONFIDENCE);
    let mut response_line = line("", &response, tested.pop().flatten());
    response_line.holds = enough && response_line.p.is_some_and(|p| p <= 1.0 - CONFIDENCE);
    let waits = all_waits(&pairs, &response);
    let costs: Vec<_> = waits.iter().map(|(_, values)| values.clone()).collect();
    let found = counted_differences(&costs, CONFIDENCE);
    let mut lines: Vec<CauseLine> =
        waits.iter().zip(found).map(|((name, values), found)| line(name, values, found)).collect();
    let p_values: Vec<f64> = lines.iter().map(|line| line.p.unwrap_or(1.0)).collect();
    for (line, q) in lines.iter_mut().zip(benjamini_hochberg(&p_values)) {
        line.q = line.p.map(|_| q);
        line.holds = enough && line.q.is_some_and(|q| q <= Q_MAX);
    }
    lines.sort_by(|a, b| b.holds.cmp(&a.holds).then_with(|| b.us.abs().total_cmp(&a.us.abs())));
    let beyond_cpu = response_line.holds && is_beyond_cpu(&pairs);
    Some(WaitsDifference { response: response_line, beyond_cpu, lines })
}

/// The values of all pairs; `None` without a pair, or if one lacks its value.
fn values(pairs: &[Pair], value: impl Fn(&Delays) -> Option<f64>) -> Option<Values> {
    let exact = |delays: &Delays| Some(Counted { value: value(delays)?, variance: 0.0 });
    let all: Option<Values> = pairs.iter().map(|(a, b)| exact(a).zip(exact(b))).collect();
    all.filter(|all| !all.is_empty())
}

/// The waits that both contenders have in every block.
fn all_waits(pairs: &[Pair], response: &[(Counted, Counted)]) -> Vec<(String, Values)> {
    let sum =
        |values: &[(Counted, Counted)]| values.iter().map(|(a, b)| a.value + b.value).sum::<f64>();
    let delays = pairs.iter().flat_map(|(a, b)| [a, b]);
    let names: BTreeSet<&String> =
        delays.filter_map(|delays| delays.calls_us.as_ref()).flat_map(BTreeMap::keys).collect();
    let calls = names.into_iter().filter_map(|name| {
        let values = values(pairs, |delays| delays.call_us(name))?;
        (sum(&values) >= CALL_MIN * sum(response)).then(|| (format!("in {name}"), values))
    });
    let run_queue = values(pairs, |delays| delays.run_queue_us);
    let pauses = values(pairs, |delays| delays.pauses_us);
    let others = [(FOR_CPU, run_queue), (FOR_COLLECTOR, pauses)];
    let others = others.into_iter().filter_map(|(name, values)| Some((name.to_owned(), values?)));
    others.chain(calls).collect()
}

/// Makes a line that does not hold yet.
fn line(name: &str, values: &[(Counted, Counted)], found: Option<CountedDifference>) -> CauseLine {
    let differences: Vec<f64> = values.iter().map(|(a, b)| a.value - b.value).collect();
    CauseLine {
        name: name.to_owned(),
        category: String::new(),
        us: mean(&differences).unwrap_or(0.0),
        interval: found.map(|found| found.interval),
        p: found.map(|found| found.p),
        q: None,
        holds: false,
    }
}

/// Whether response times differ by much more than CPU time does. Both are compared as ratios,
/// because a busy contender responds later in proportion to its CPU time.
fn is_beyond_cpu(pairs: &[Pair]) -> bool {
    let ratio = |value: fn(&Delays) -> f64| {
        let sum = |side: fn(&Pair) -> &Delays| pairs.iter().map(|p| value(side(p))).sum::<f64>();
        (sum(|pair| &pair.0) / sum(|pair| &pair.1)).ln()
    };
    let (response, cpu) = (ratio(|delays| delays.response_us), ratio(|delays| delays.cpu_us));
    let along = if response < 0.0 { -cpu } else { cpu };
    response.abs() >= RATIO_MIN.ln() && along < EXPLAINED_MIN * response.abs()
}
