//! Runs a plan and returns what it measured.
//!
//! [`run`] checks the plan, divides the load among event loops, runs each on a thread of its own
//! and merges their results. [`run_part`] does the same for one machine of several: it waits for an
//! agreed start.

use crate::clock;
use crate::generator::Generator;
use crate::kernel::Kernel;
use crate::measured::Measured;
use crate::parts::{Part, PartResult, Start, add_second};
use crate::plan::{LoadError, Plan, Protocol};
use crate::schedule::Share;
use crate::sizing::{Size, event_loops};
use crate::tally::Listeners;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use spec::experiment::Load;
use stats::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, mpsc};
use std::time::Duration;

/// The longest run that is accepted.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// The largest number of requests in flight that is accepted.
const IN_FLIGHT_MAX: u64 = 1_000_000;
/// File descriptors that are needed in addition to those of connections: files, standard streams,
/// epoll.
pub(crate) const OTHER_DESCRIPTORS: u64 = 64;

/// Runs a plan. A single event loop runs on the calling thread. Several run on threads of their
/// own, which inherit the calling thread's CPUs.
///
/// # Errors
/// If the run cannot start. Failed requests are counted and are not errors.
pub fn run(plan: &Plan<'_>) -> Result<Measured, LoadError> {
    check_plan(plan)?;
    let whole = Part::whole(event_loops(plan.load, plan.target.protocol, plan.threads));
    let mut kernels = kernels(plan, whole)?;
    if whole.loops == 1 {
        let kernel = kernels.remove(0);
        let listeners = Listeners { progress: plan.progress.clone(), seconds: None };
        return Ok(run_loop(kernel, plan, Share::WHOLE, listeners, |generator| generator.now_ns()));
    }
    let all_connected = Barrier::new(kernels.len());
    let (measured, _) = on_threads(kernels, plan, whole, |generator| {
        all_connected.wait();
        generator.now_ns()
    });
    Ok(measured)
}

/// Runs one part of a plan on threads of its own. Other machines run the other parts. Calls
/// `connected` once, when the connections of a closed load are open. Then all parts wait for the
/// start.
///
/// # Errors
/// If the run cannot start. Failed requests are counted and are not errors.
pub fn run_part(
    plan: &Plan<'_>,
    part: Part,
    start: &Start,
    connected: impl Fn() + Sync,
) -> Result<PartResult, LoadError> {
    check_plan(plan)?;
    part.check(plan.load, plan.target.protocol).map_err(LoadError::Impossible)?;
    let kernels = kernels(plan, part)?;
    let all_connected = Barrier::new(kernels.len());
    let late_ns = AtomicU64::new(0);
    let (measured, seconds) = on_threads(kernels, plan, part, |generator| {
        if all_connected.wait().is_leader() {
            connected();
        }
        let (start_ns, missed_ns) = generator.await_start(start);
        late_ns.fetch_max(missed_ns, Ordering::Relaxed);
        start_ns
    });
    Ok(PartResult { measured, seconds, late_ns: late_ns.into_inner() })
}

/// Creates one epoll instance for each event loop of a part, after raising the descriptor limit.
fn kernels(plan: &Plan<'_>, part: Part) -> Result<Vec<Kernel>, LoadError> {
    let connections = part
        .shares()
        .map(|share| u64::from(Size::of_share(plan.load, plan.target.protocol, share).connections))
        .sum::<u64>();
    allow_descriptors(connections + u64::from(part.loops) + OTHER_DESCRIPTORS)?;
    part.shares()
        .map(|_| Kernel::new())
        .collect::<Result<_, _>>()
        .map_err(|e| LoadError::System("epoll_create1", e))
}

/// Runs each event loop of a part on its own thread. Also returns the latencies of each second.
/// `begins` returns the instant from which a loop counts.
fn on_threads(
    kernels: Vec<Kernel>,
    plan: &Plan<'_>,
    part: Part,
    begins: impl Fn(&mut Generator<'_, Kernel>) -> u64 + Sync,
) -> (Measured, BTreeMap<usize, Histogram>) {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel::<(usize, Histogram)>();
        let loops: Vec<_> = part
            .shares()
            .zip(kernels)
            .map(|(share, kernel)| {
                let listeners =
                    Listeners { progress: plan.progress.clone(), seconds: Some(sender.clone()) };
                let begins = &begins;
                scope.spawn(move || run_loop(kernel, plan, share, listeners, begins))
            })
            .collect();
        drop(sender);
        let mut seconds = BTreeMap::<usize, Histogram>::new();
        for (second, latencies) in receiver {
            add_second(&mut seconds, second, latencies);
        }
        let mut measured = loops
            .into_iter()
            .map(|l| l.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let mut first = measured.next().expect("there is one");
        measured.for_each(|other| first.merge(other, &seconds));
        (first, seconds)
    })
}

fn run_loop(
    kernel: Kernel,
    plan: &Plan<'_>,
    share: Share,
    listeners: Listeners,
    begins: impl Fn(&mut Generator<'_, Kernel>) -> u64,
) -> Measured {
    let mut generator = Generator::new(kernel, plan, share);
    generator.connect();
    let start_ns = begins(&mut generator);
    let cpu_before = clock::thread_cpu_ns();
    let mut measured = generator.run(start_ns, listeners);
    measured.cpu_ns = clock::thread_cpu_ns() - cpu_before;
    measured
}

/// Rejects plans that contradict themselves or exceed a limit.
pub(crate) fn check_plan(plan: &Plan<'_>) -> Result<(), LoadError> {
    let wrong = |why: &str| Err(LoadError::Impossible(why.to_owned()));
    let closes = plan.target.protocol == (Protocol::Http1 { keep_alive: false });
    match plan.load {
        _ if plan.target.addresses.is_empty() => wrong("the target has no address"),
        _ if plan.workload.steps.is_empty() => wrong("the workload has no requests"),
        _ if plan.duration.is_zero() => wrong("the duration is zero"),
        _ if plan.duration > LONGEST => wrong(
            "the load is longer than 30 days\nhint: every second is kept, so measure for a shorter time",
        ),
        Load::Closed { connections, depth }
            if u64::from(*connections) * u64::from(*depth) > IN_FLIGHT_MAX =>
        {
            wrong(
                "more than a million requests in flight\nhint: use fewer connections, or fewer requests on each",
            )
        }
        Load::Capacity(_) => wrong("a capacity search consists of many loads"),
        Load::Closed { depth, .. } if *depth > 1 && closes => wrong(
            "a connection for a single request cannot have several in flight\nhint: remove the pipeline, or keep connections open",
        ),
        _ => Ok(()),
    }
}

/// Raises the soft limit of file descriptors, if the hard limit permits.
pub(crate) fn allow_descriptors(needed: u64) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let allowed = limit.maximum.unwrap_or(u64::MAX);
    if allowed < needed {
        return Err(LoadError::Descriptors { needed, allowed });
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .map_err(|e| LoadError::System("setrlimit", e))
}
