//! Handles SIGINT, SIGTERM and SIGHUP.
//!
//! The first signal asks for an orderly end. The second ends the process at once, and the guard
//! processes stop what it had started.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static LAST: AtomicUsize = AtomicUsize::new(0);

/// Returns a flag that SIGINT, SIGTERM and SIGHUP set.
pub fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let which = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the second signal finds the flag set and ends the process.
        let registered = signal_hook::flag::register_conditional_shutdown(
            signal,
            128 + signal,
            Arc::clone(&stop),
        )
        .and_then(|_| {
            signal_hook::flag::register_usize(signal, Arc::clone(&which), signal as usize)
        })
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
        if let Err(error) = registered {
            crate::output::message(&format!("warning: signal {signal} cannot be caught: {error}"));
        }
    }
    let (watched, flag) = (Arc::clone(&which), Arc::clone(&stop));
    std::thread::spawn(move || {
        while !flag.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        LAST.store(watched.load(Ordering::Relaxed), Ordering::Relaxed);
    });
    stop
}

/// Returns the exit code for the signal that arrived, such as 130 or 143.
pub fn code() -> u8 {
    // The watching thread checks the flag every 20 ms.
    for _ in 0..50 {
        match LAST.load(Ordering::Relaxed) {
            0 => std::thread::sleep(std::time::Duration::from_millis(5)),
            signal => return 128 + signal as u8,
        }
    }
    130
}
