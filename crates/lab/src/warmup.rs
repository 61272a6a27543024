//! The warm-up of a fresh start.
//!
//! Load is made in windows of about a second until the steady state is found, or the time is over.
//! Each window ends with a pause, in which CPU time reveals a compiler at work. The number of
//! connections adapts: fewer while a compiler needs the CPU, more for a contender that mostly
//! waits. Start with [`run`]; `steady` decides when a contender is warm.

use crate::steady::{self, Decides, UNASKED_MAX};
use crate::trial_database::TrialDatabase;
use load::{LoadError, Measured, Plan, Wait};
use record::{WarmUpClass, WarmUpWindow, Warmup};
use runner::start::Running;
use spec::experiment::{Experiment, Load};
use spec::workload::Workload;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Connections of the first window: few, so that a compiler gets CPU time next to busy threads.
const CONNECTIONS_FIRST: u32 = 2;
/// Most connections of a contender that is busy on its CPU.
const CONNECTIONS_USUAL: u32 = 8;
/// Most connections of a contender that waits more than it works, so that it gets enough requests.
const CONNECTIONS_MOST: u32 = 64;
/// A contender that uses less of a CPU than this under load waits. One that uses more in the pauses
/// needs CPU time for its compiler.
const HALF: f64 = 0.5;

/// The share of a window that is a pause, in which compilers work off their queue.
const PAUSE_SHARE: f64 = 0.3;

/// Length of a window after a fresh start. Windows are a little longer if the time available is no
/// multiple of it. A shorter time makes one window.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// Length of windows for a warm-up of at most this long: a tenth of it, so that a short warm-up can
/// be found steady as well.
pub(crate) fn window_of(at_most: Duration) -> Duration {
    (at_most / 10).clamp(WINDOW / 5, WINDOW)
}

/// How long an upstream is warmed up at most: longer than a contender, as all contenders use it.
pub fn upstream_warmup(experiment: &Experiment) -> Duration {
    (experiment.design.warmup * 2).clamp(Duration::from_secs(2), Duration::from_secs(60))
}

/// Parameters of a warm-up.
pub(crate) struct Parameters<'a> {
    /// Workloads, which get equal shares of each window.
    pub workloads: &'a [&'a Workload],
    /// Least duration, even if a steady state is found earlier.
    pub at_least: Duration,
    /// Greatest duration.
    pub at_most: Duration,
    /// Length of a window.
    pub window: Duration,
    /// Number of windows after which the warm-up ends even without a steady state, unless the
    /// system still changes.
    pub enough: Option<usize>,
    /// CPUs of the generator.
    pub cpus: &'a [usize],
    /// Set from outside to end early.
    pub stop: &'a AtomicBool,
}

/// Called as each window begins, with the time so far and the last window.
pub(crate) type OnWindow<'t> = dyn FnMut(Duration, Option<&WarmUpWindow>) + 't;

/// Makes load until the system is steady and the least duration has passed, it ends, or the time is
/// over. `decides` names the series that must be steady. The database's ledger records what the
/// load stored.
pub(crate) fn run(
    running: &mut Running,
    parameters: &Parameters<'_>,
    decides: Decides,
    database: &mut TrialDatabase,
    on_window: &mut OnWindow<'_>,
) -> Option<Warmup> {
    if parameters.at_most.is_zero() {
        return None;
    }
    let count = (parameters.at_most.as_nanos() / parameters.window.as_nanos()).max(1) as u32;
    let long = parameters.at_most / count;
    let fewest = parameters.at_least.as_nanos().div_ceil(long.as_nanos().max(1));
    let mut windows: Vec<WarmUpWindow> = Vec::new();
    let mut steady = None;
    let (mut begin, mut connections) = (None, CONNECTIONS_FIRST);
    let is_enough = |windows: &[WarmUpWindow]| {
        parameters.enough.is_some_and(|enough| {
            windows.len() >= enough && !steady::still_changes(windows, decides)
        })
    };
    while (steady.is_none() && !is_enough(&windows) || (windows.len() as u128) < fewest)
        && windows.len() < count as usize
        && !parameters.stop.load(Ordering::Relaxed)
        && running.ended().is_none()
    {
        let now = load::clock::now_ns();
        let at_ns = now - *begin.get_or_insert(now);
        on_window(Duration::from_nanos(at_ns), windows.last());
        // If this load cannot be made, the measurement reports it.
        let Ok(window) = measure_window(
            running,
            parameters,
            database,
            (at_ns, windows.len() as u64),
            long,
            connections,
        ) else {
            break;
        };
        connections = next_connections(&window, decides);
        windows.push(window);
        steady = steady::find_steady(&windows, decides);
    }
    // A warm-up that was stopped from outside has no result.
    if steady.is_none() && windows.len() < count as usize && !is_enough(&windows) {
        return None;
    }
    let open = || {
        if steady::still_changes(&windows, decides) {
            WarmUpClass::NeverSteady
        } else {
            WarmUpClass::TooShort
        }
    };
    let class = steady.map_or_else(open, |s| s.class);
    Some(Warmup { class, steady_after_ns: steady.map(|s| windows[s.since].at_ns), windows })
}

/// Chooses the connections of the next window: fewer while a compiler fills the pauses, more if
/// they are quiet.
fn next_connections(window: &WarmUpWindow, decides: Decides) -> u32 {
    let under_load =
        window.cpu_ns.saturating_sub(window.pause_cpu_ns) as f64 / window.load_ns.max(1) as f64;
    let unasked = window.unasked();
    // A contender of unknown CPU time may be busy.
    let most = if under_load < HALF && decides != Decides::Throughput {
        CONNECTIONS_MOST
    } else {
        CONNECTIONS_USUAL
    };
    match () {
        () if unasked > HALF => (window.connections / 2).max(CONNECTIONS_FIRST),
        () if unasked <= UNASKED_MAX && window.connections < most => 2 * window.connections,
        () => window.connections,
    }
}

/// Makes the load of one window, then pauses.
fn measure_window(
    running: &Running,
    parameters: &Parameters<'_>,
    database: &mut TrialDatabase,
    (at_ns, number): (u64, u64),
    long: Duration,
    connections: u32,
) -> Result<WarmUpWindow, LoadError> {
    let pause = long.mul_f64(PAUSE_SHARE);
    let cpu_before = running.cpu_ns();
    let mut window = WarmUpWindow {
        at_ns,
        load_ns: 0,
        connections,
        correct: 0,
        cpu_ns: 0,
        pause_ns: 0,
        pause_cpu_ns: 0,
        p50_ns: None,
        max_ns: None,
    };
    let mut service = stats::Histogram::new();
    for workload in parameters.workloads {
        let plan = Plan {
            target: &running.target,
            workload,
            load: &Load::closed(connections),
            duration: (long - pause) / parameters.workloads.len() as u32,
            requests: None,
            timeout: Duration::from_secs(10),
            // Each window sends other data, and none that a measurement will send.
            seed: u64::MAX - number,
            threads: 1,
            wait: Wait::Asleep,
            stop: parameters.stop,
            progress: None,
        };
        let measured = on_cpus(&plan, parameters.cpus)?;
        database.record(workload, &measured.steps);
        window.load_ns += measured.duration_ns;
        window.correct += measured.counts.correct;
        service.merge(&measured.service);
    }
    let (cpu_loaded, paused_at) = (running.cpu_ns(), load::clock::now_ns());
    if !parameters.stop.load(Ordering::Relaxed) {
        std::thread::sleep(pause);
    }
    let cpu_after = running.cpu_ns();
    window.pause_ns = load::clock::now_ns() - paused_at;
    window.pause_cpu_ns = cpu_after.saturating_sub(cpu_loaded);
    window.cpu_ns = cpu_after.saturating_sub(cpu_before);
    window.p50_ns =
        (service.len() >= stats::smallest_sample(0.5)).then(|| service.quantile_ns(0.5));
    window.max_ns = (!service.is_empty()).then(|| service.max_ns());
    Ok(window)
}

/// Runs a load on a thread that is pinned to these CPUs.
pub(crate) fn on_cpus(plan: &Plan<'_>, cpus: &[usize]) -> Result<Measured, LoadError> {
    on_pinned_thread(cpus, || load::run(plan))?
}

/// Calls a function on a thread that is pinned to these CPUs.
///
/// # Errors
/// The thread cannot be pinned, so the generator could disturb the contender; or it panicked.
pub(crate) fn on_pinned_thread<T: Send>(
    cpus: &[usize],
    does: impl FnOnce() -> T + Send,
) -> Result<T, LoadError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let unkept = |e| {
                LoadError::Impossible(format!("the generator cannot be pinned to its CPUs: {e}"))
            };
            runner::cpus::pin_this_thread(cpus).map_err(unkept)?;
            Ok(does())
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(LoadError::Impossible("the generator panicked".into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpinned_or_panicking_thread_is_an_error() {
        let why = |result: Result<(), LoadError>| result.unwrap_err().to_string();
        assert!(why(on_pinned_thread(&[], || ())).contains("cannot be pinned to its CPUs"));
        let cpus = runner::cpus::usable();
        assert_eq!(why(on_pinned_thread(&cpus, || panic!("p"))), "the generator panicked");
    }

    #[test]
    fn connections_fall_for_a_compiler_and_rise_for_a_waiter() {
        let window = |cpu_ms: u64, pause_cpu_ms: u64, connections: u32| WarmUpWindow {
            at_ns: 0,
            load_ns: 700_000_000,
            connections,
            correct: 1,
            cpu_ns: (cpu_ms + pause_cpu_ms) * 1_000_000,
            pause_ns: 300_000_000,
            pause_cpu_ns: pause_cpu_ms * 1_000_000,
            p50_ns: None,
            max_ns: None,
        };
        let next = |window: WarmUpWindow| next_connections(&window, Decides::Cpu);
        assert_eq!((next(window(700, 0, 2)), next(window(700, 0, 8))), (4, 8), "it works");
        assert_eq!(
            (next(window(700, 290, 8)), next(window(700, 290, 2))),
            (4, 2),
            "its compiler works"
        );
        assert_eq!((next(window(100, 10, 8)), next(window(100, 10, 64))), (16, 64), "it waits");
        assert_eq!(next(window(700, 100, 4)), 4);
        assert_eq!(next_connections(&window(0, 0, 8), Decides::Throughput), 8, "nothing is known");
    }
}
