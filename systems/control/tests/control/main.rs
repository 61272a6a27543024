//! Runs `control` as its users do, and finds every truth through real sockets: counts exactly, times as lower bounds.

mod answers;
mod faults;
mod process;
mod support;
mod time;
