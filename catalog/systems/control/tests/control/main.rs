//! Runs `control` like its users, and checks every flag over real sockets: counts exactly, times as
//! lower bounds.

mod answers;
mod faults;
mod process;
mod support;
mod time;
