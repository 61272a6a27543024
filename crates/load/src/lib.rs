//! Times requests. Knows no system and no experiment: a target, a workload, a load, and how long.
//!
//! A [`Plan`] says what is to be done; [`run`] does it and gives what it [`Measured`]. Each thread
//! runs one event loop (`generator`) over non-blocking sockets; nothing on its path is locked, and
//! memory does not grow with the number of requests. Three things compose there, none of which
//! knows the others: when requests begin ([`schedule`], or the journeys of users), how they are
//! spoken ([`http1`], [`http2`], TLS beneath them in `connection`), and when to stop. What a
//! request says is written by [`request`]; every answer is checked in full by [`check`]; [`tally`]
//! counts; [`capacity`] makes many short loads, one after the other; [`agents`] divides one among
//! generators of several machines. The loop sees sockets and time through `world` alone: the
//! kernel's in a run, simulated ones in tests.

pub mod agents;
pub mod capacity;
pub mod check;
pub mod clock;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod http1;
pub mod http2;
pub mod request;
pub mod schedule;
pub mod tally;
pub mod tls;
pub mod url;

mod answer;
mod connection;
mod generator;
mod kernel;
mod plan;
mod probe;
#[cfg(test)]
mod simulation;
mod values;
mod world;

pub use answer::{Event, Finished};
pub use plan::{Address, LoadError, Plan, Protocol, Target, Tls, Wait};
pub use probe::{Heard, WrongAnswer, ask, hear};
pub use tally::{Measured, OfStep, Progress};

use agents::{Made, Part, Start};
use generator::Generator;
use kernel::Kernel;
use model::experiment::Load;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use schedule::Share;
use stats::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, mpsc};
use std::time::Duration;
use tally::Listeners;

/// Longest run.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Most requests under way at once.
const UNDER_WAY_MAX: u64 = 1_000_000;
/// Descriptors besides those of connections: files, standard streams, epoll.
const OTHER_DESCRIPTORS: u64 = 64;

/// Makes the requests of a plan and measures them: on the calling thread where it is one, on
/// threads of their own otherwise, which have the calling thread's CPUs.
///
/// # Errors
/// When it cannot begin. What happens to requests is counted, never an error.
pub fn run(plan: &Plan<'_>) -> Result<Measured, LoadError> {
    possible(plan)?;
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

/// Makes a part of a plan's requests, on threads of its own: the others make the rest, elsewhere. `connected` is called once when the
/// connections of a closed load stand; then all wait for the start.
///
/// # Errors
/// When it cannot begin. What happens to requests is counted, never an error.
pub fn run_part(plan: &Plan<'_>, part: Part, start: &Start, connected: impl Fn() + Sync) -> Result<Made, LoadError> {
    possible(plan)?;
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
    Ok(Made { measured, seconds, late_ns: late_ns.into_inner() })
}

/// One for each event loop of a part, and descriptors for its connections.
fn kernels(plan: &Plan<'_>, part: Part) -> Result<Vec<Kernel>, LoadError> {
    let connections = part.shares().map(|share| u64::from(generator::size(plan.load, plan.target.protocol, share).0)).sum::<u64>();
    allow_descriptors(connections + u64::from(part.loops) + OTHER_DESCRIPTORS)?;
    part.shares().map(|_| Kernel::new()).collect::<Result<_, _>>().map_err(|e| LoadError::System("epoll_create1", e))
}

/// Runs the event loops of a part, each on a thread of its own; gives the latencies of each second as well. `begins` says when a loop begins.
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
                let listeners = Listeners { progress: plan.progress.clone(), seconds: Some(sender.clone()) };
                let begins = &begins;
                scope.spawn(move || run_loop(kernel, plan, share, listeners, begins))
            })
            .collect();
        drop(sender);
        let mut seconds = BTreeMap::<usize, Histogram>::new();
        for (second, latencies) in receiver {
            agents::add_second(&mut seconds, second, latencies);
        }
        let mut measured = loops.into_iter().map(|l| l.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let mut first = measured.next().expect("there is one");
        measured.for_each(|other| first.merge(other, &seconds));
        (first, seconds)
    })
}

/// How many event loops a load is shared among, of those that were asked for: each has a connection at least.
pub fn event_loops(load: &Load, protocol: Protocol, asked: u32) -> u32 {
    let (connections, journeys, ..) = generator::size(load, protocol, Share::WHOLE);
    asked.clamp(1, connections.min(journeys).max(1))
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

/// Refuses what contradicts itself.
fn possible(plan: &Plan<'_>) -> Result<(), LoadError> {
    let wrong = |why: &str| Err(LoadError::Impossible(why.to_owned()));
    let closes = plan.target.protocol == (Protocol::Http1 { keep_alive: false });
    match plan.load {
        _ if plan.target.addresses.is_empty() => wrong("the target has no address"),
        _ if plan.workload.steps.is_empty() => wrong("the workload makes no request"),
        _ if plan.duration.is_zero() => wrong("the duration is zero"),
        _ if plan.duration > LONGEST => wrong("a load of more than 30 days\nhint: each second of it is kept; measure for less"),
        Load::Closed { connections, depth } if u64::from(*connections) * u64::from(*depth) > UNDER_WAY_MAX => {
            wrong("more than a million requests under way\nhint: fewer connections, or fewer requests on each")
        }
        Load::Capacity(_) => wrong("a capacity is not one load but many"),
        Load::Closed { depth, .. } if *depth > 1 && closes => wrong(
            "a connection that carries one request cannot have several under way\nhint: leave out the pipeline, or let connections be kept",
        ),
        _ => Ok(()),
    }
}

/// Raises the soft limit of descriptors where the hard one lets it.
fn allow_descriptors(needed: u64) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let allowed = limit.maximum.unwrap_or(u64::MAX);
    if allowed < needed {
        return Err(LoadError::Descriptors { needed, allowed });
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).map_err(|e| LoadError::System("setrlimit", e))
}
