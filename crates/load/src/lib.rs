//! Sends requests, times them and checks every response.
//!
//! This crate knows a target, a workload, a load and a duration. It knows no system and no
//! experiment. A [`Plan`] holds the input, and [`run()`] returns what it [`Measured`].
//!
//! Each thread runs one event loop (`generator`) over non-blocking sockets. The loop takes no lock,
//! and its memory does not grow with the number of requests. It combines three things that do not
//! know each other. [`schedule`] decides when requests are due. [`http1`] and [`http2`] encode and
//! decode them, with TLS below them in `connection`. `generator` decides when to stop.
//!
//! [`request`] writes requests, [`check`] checks responses in full, and [`tally`] counts.
//! [`capacity`] makes many short loads, one after the other, and [`agents`] divides one load among
//! several machines. The loop reaches sockets and clocks through `world` only, so tests run it on a
//! simulation. Start reading at `run.rs`, then `generator/mod.rs`.

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
pub mod slices;
pub mod tally;
pub mod tls;
pub mod url;

mod answer;
mod connection;
mod decode;
mod generator;
mod headers;
mod kernel;
mod limits;
mod measured;
mod parts;
mod plan;
mod probe;
mod run;
#[cfg(test)]
mod simulation;
mod sizing;
mod values;
mod world;

pub use answer::{Event, Finished, Retry};
pub use measured::{Measured, Progress, StepCounts};
pub use plan::{Address, LoadError, Plan, Protocol, Target, Tls, Wait};
pub use probe::{Heard, WrongAnswer, ask, hear};
pub use run::{run, run_part};
pub use sizing::event_loops;
