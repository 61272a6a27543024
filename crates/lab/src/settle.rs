//! Waits for what contenders put off while they had load, such as compilation.
//!
//! A compiler is one thread among all that have requests to handle. On one CPU, next to a hundred of
//! them, it gets a hundredth of the time; without load it gets all of it.

use runner::start::Running;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Contenders that together use less than this share of a CPU have nothing left to do.
const QUIET: f64 = 0.05;
/// How often it looks.
const LOOK: Duration = Duration::from_millis(50);
/// Bounds of the longest wait before a measurement.
const LIMIT_MIN: Duration = Duration::from_secs(2);
const LIMIT_MAX: Duration = Duration::from_secs(10);

/// The longest wait before a measurement, from the time that it takes for all contenders together.
/// There must be a limit, because a contender that always works is never quiet.
pub(crate) fn limit(measured: Duration) -> Duration {
    measured.clamp(LIMIT_MIN, LIMIT_MAX)
}

/// Waits until these contenders have nothing left to do, at most this long. CPU time that is unknown
/// counts as none.
pub(crate) fn settle(contenders: &[&Running], most: Duration, stop: &AtomicBool) {
    let cpu_ns = || contenders.iter().map(|running| running.cpu_ns()).sum::<u64>();
    let (began, mut looked) = (Instant::now(), Instant::now());
    let mut before_ns = cpu_ns();
    loop {
        std::thread::sleep(LOOK);
        let now_ns = cpu_ns();
        let used = now_ns.saturating_sub(before_ns) as f64 / looked.elapsed().as_nanos() as f64;
        if used < QUIET || began.elapsed() >= most || stop.load(Ordering::Relaxed) {
            return;
        }
        (looked, before_ns) = (Instant::now(), now_ns);
    }
}
