//! The only place that reads the monotonic clock.

use rustix::time::{ClockId, clock_gettime};

fn read_clock(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    read_clock(ClockId::Monotonic)
}

/// Returns the CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_clock(ClockId::ThreadCPUTime)
}
