//! The warm-up of a fresh start: window by window, until its steady state is found.

use crate::steady::{self, Decides, UNASKED_MAX};
use load::{LoadError, Measured, Plan, Wait};
use model::experiment::Load;
use model::record::{WarmUpClass, WarmUpWindow, Warmup};
use model::workload::Workload;
use runner::start::Running;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Few at first: a compiler that shares a CPU with many busy threads starves.
const CONNECTIONS_FIRST: u32 = 2;
/// As many as that while no compiler is at work.
const CONNECTIONS_USUAL: u32 = 8;
/// As many as that for whoever waits more than it works, so that it is asked often enough.
const CONNECTIONS_MOST: u32 = 64;
/// Whoever uses less of a CPU than this under load waits; whoever uses more in the pauses starves.
const HALF: f64 = 0.5;

/// The last part of a window is a pause, in which compilers catch up with what they queued.
const PAUSE_SHARE: f64 = 0.3;

/// Of one window; a cap that is not a whole number of seconds makes them a little longer, one below a second makes one.
const WINDOW: Duration = Duration::from_secs(1);

/// What a warm-up is made of.
pub(crate) struct Given<'a> {
    /// Whose turn it is within each window, in equal shares.
    pub workloads: &'a [&'a Workload],
    /// Which series says that the steady state is reached.
    pub decides: Decides,
    /// How long it goes on even where a steady state is found before.
    pub at_least: Duration,
    /// The most it may take.
    pub at_most: Duration,
    /// CPUs of the generator.
    pub cpus: &'a [usize],
    /// Set from outside to end early.
    pub stop: &'a AtomicBool,
    /// Hears what each load came to.
    pub heard: &'a dyn Fn(&Workload, &Measured),
}

/// Hears of each window that begins.
pub(crate) type Tell<'t> = dyn FnMut(Duration, Option<&WarmUpWindow>) + 't;

/// Makes requests until the system is steady and was asked for long enough, it ends, or the time is over; `tell` hears how
/// long it has taken so far, and how the last second went.
pub(crate) fn run(running: &mut Running, given: &Given<'_>, tell: &mut Tell<'_>) -> Option<Warmup> {
    if given.at_most.is_zero() {
        return None;
    }
    let count = (given.at_most.as_nanos() / WINDOW.as_nanos()).max(1) as u32;
    let long = given.at_most / count;
    let fewest = given.at_least.as_nanos().div_ceil(long.as_nanos().max(1));
    let mut windows: Vec<WarmUpWindow> = Vec::new();
    let mut steady = None;
    let (mut begin, mut connections) = (None, CONNECTIONS_FIRST);
    while (steady.is_none() || (windows.len() as u128) < fewest)
        && windows.len() < count as usize
        && !given.stop.load(Ordering::Relaxed)
        && running.ended().is_none()
    {
        let now = load::clock::now_ns();
        let at_ns = now - *begin.get_or_insert(now);
        tell(Duration::from_nanos(at_ns), windows.last());
        // A load that cannot be made is said by the measurement.
        let Ok(window) = self::window(running, given, at_ns, windows.len() as u64, long, connections) else { break };
        connections = next_connections(&window, given.decides);
        windows.push(window);
        steady = steady::find(&windows, given.decides);
    }
    // Cut off from outside, it says nothing.
    if steady.is_none() && windows.len() < count as usize {
        return None;
    }
    let too_short = (count as usize) < steady::FEWEST_WINDOWS;
    let class = steady.map_or(if too_short { WarmUpClass::TooShort } else { WarmUpClass::NeverSteady }, |s| s.class);
    Some(Warmup { class, steady_after_ns: steady.map(|s| windows[s.since].at_ns), windows })
}

/// Fewer while a compiler fills the pauses, more where they are quiet.
fn next_connections(window: &WarmUpWindow, decides: Decides) -> u32 {
    let asked = window.cpu_ns.saturating_sub(window.pause_cpu_ns) as f64 / window.load_ns.max(1) as f64;
    let unasked = window.unasked();
    // Of whom no CPU time is known, nothing says that it waits.
    let most = if asked < HALF && decides != Decides::Throughput { CONNECTIONS_MOST } else { CONNECTIONS_USUAL };
    match () {
        () if unasked > HALF => (window.connections / 2).max(CONNECTIONS_FIRST),
        () if unasked <= UNASKED_MAX && window.connections < most => 2 * window.connections,
        () => window.connections,
    }
}

fn window(
    running: &Running,
    given: &Given<'_>,
    at_ns: u64,
    number: u64,
    long: Duration,
    connections: u32,
) -> Result<WarmUpWindow, LoadError> {
    let pause = long.mul_f64(PAUSE_SHARE);
    let cpu_before = running.cpu_ns();
    let mut window =
        WarmUpWindow { at_ns, load_ns: 0, connections, correct: 0, cpu_ns: 0, pause_ns: 0, pause_cpu_ns: 0, p50_ns: None, max_ns: None };
    let mut service = stats::Histogram::new();
    for workload in given.workloads {
        let plan = Plan {
            target: &running.target,
            workload,
            load: &Load::closed(connections),
            duration: (long - pause) / given.workloads.len() as u32,
            requests: None,
            timeout: Duration::from_secs(10),
            // Other data in each window, and none that a measurement will send.
            seed: u64::MAX - number,
            threads: 1,
            wait: Wait::Asleep,
            stop: given.stop,
            progress: None,
        };
        let measured = on_cpus(&plan, given.cpus)?;
        (given.heard)(workload, &measured);
        window.load_ns += measured.duration_ns;
        window.correct += measured.counts.correct;
        service.merge(&measured.service);
    }
    let (cpu_loaded, paused_at) = (running.cpu_ns(), load::clock::now_ns());
    if !given.stop.load(Ordering::Relaxed) {
        std::thread::sleep(pause);
    }
    let cpu_after = running.cpu_ns();
    window.pause_ns = load::clock::now_ns() - paused_at;
    window.pause_cpu_ns = cpu_after.saturating_sub(cpu_loaded);
    window.cpu_ns = cpu_after.saturating_sub(cpu_before);
    window.p50_ns = (service.len() >= stats::smallest_sample(0.5)).then(|| service.quantile_ns(0.5));
    window.max_ns = (!service.is_empty()).then(|| service.max_ns());
    Ok(window)
}

/// Runs a load on a thread that is kept on these CPUs.
pub(crate) fn on_cpus(plan: &Plan<'_>, cpus: &[usize]) -> Result<Measured, LoadError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let unkept = |e| LoadError::Impossible(format!("the generator cannot be kept on its CPUs: {e}"));
            runner::cpus::pin_this_thread(cpus).map_err(unkept)?;
            load::run(plan)
        });
        thread.join().unwrap_or_else(|_| Err(LoadError::Impossible("the generator panicked".into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_gets_its_share_and_whoever_waits_is_asked_more_often() {
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
        assert_eq!((next(window(700, 290, 8)), next(window(700, 290, 2))), (4, 2), "its compiler works");
        assert_eq!((next(window(100, 10, 8)), next(window(100, 10, 64))), (16, 64), "it waits");
        assert_eq!(next(window(700, 100, 4)), 4);
        assert_eq!(next_connections(&window(0, 0, 8), Decides::Throughput), 8, "nothing is known");
    }
}
