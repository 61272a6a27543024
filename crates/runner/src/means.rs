//! What every build and every start needs, whichever system it is.

use crate::needs::Tools;
use std::sync::atomic::{AtomicBool, Ordering};

/// What every build and every start needs.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The tools of this machine.
    pub tools: &'a Tools,
    /// The run's id.
    pub run: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

impl Means<'_> {
    /// Whether everything must end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
