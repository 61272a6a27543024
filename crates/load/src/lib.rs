//! Times requests. Knows no system and no experiment: an address, a workload,
//! a load, and how long.
//!
//! One thread runs one event loop over non-blocking sockets. On its path nothing
//! is locked; memory does not grow with the number of requests. A request's
//! latency begins at its scheduled instant ([`schedule`]); every answer is
//! read by [`http1`] and checked in full by [`check`]; [`tally`] counts.

pub mod check;
pub mod clock;
pub mod http1;
pub mod schedule;

mod connection;
mod generator;
mod probe;
pub mod tally;

pub use generator::{LoadError, Plan, run};
pub use probe::{WrongAnswer, ask};
pub use tally::Measured;
