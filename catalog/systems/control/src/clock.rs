//! The only place where clocks are read. All instants and lengths are nanoseconds.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// One second in nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// The monotonic instant, in nanoseconds since the machine started.
pub fn now() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Keeps the calling thread busy until it has used `nanoseconds` of CPU time, and returns what it
/// used. Time in which the thread did not run does not count, so the cost is the same on a busy
/// machine.
pub fn burn(nanoseconds: u64) -> u64 {
    let start = thread_cpu();
    loop {
        let used = thread_cpu() - start;
        if used >= nanoseconds {
            return used;
        }
        for _ in 0..16 {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps until the monotonic instant `deadline`, never less.
pub fn sleep_until(deadline: u64) {
    // A signal that does not end the process (see `--ignore-term`) interrupts the sleep, so it
    // continues.
    while now() < deadline {
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(deadline));
    }
}

/// Converts a length or an instant to the form of the kernel.
pub fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: (nanoseconds / SECOND).cast_signed(),
        tv_nsec: (nanoseconds % SECOND).cast_signed(),
    }
}

fn thread_cpu() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * SECOND + time.tv_nsec.cast_unsigned()
}
