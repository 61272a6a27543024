//! The command from outside: real processes, real sockets, systems that misbehave.

mod against;
mod articles;
mod audit;
mod bad_input;
mod capacity;
mod export;
mod faults;
mod folder;
mod hostile;
mod images;
mod import;
mod init;
mod interrupted;
mod load;
mod native;
mod newcomer;
mod page;
mod plans;
mod resets;
mod run;
mod schemas;
mod selftest;
mod stopping;
mod sweeps;
mod vs;
mod witness;
