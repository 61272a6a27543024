//! The command from outside: real processes, real sockets, systems that misbehave.

mod audit;
mod bad_input;
mod faults;
mod folder;
mod hostile;
mod import;
mod interrupted;
mod load;
mod newcomer;
mod page;
mod run;
mod selftest;
mod stopping;
mod sweeps;
mod witness;
