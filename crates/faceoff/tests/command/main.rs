//! The command from outside: real processes, real sockets, systems that misbehave.

mod audit;
mod bad_input;
mod capacity;
mod faults;
mod folder;
mod hostile;
mod interrupted;
mod load;
mod newcomer;
mod page;
mod resets;
mod run;
mod selftest;
mod stopping;
mod sweeps;
