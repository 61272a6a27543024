//! The command from outside, in one program: real processes, real sockets, systems that misbehave, engines, clusters, databases.
//!
//! A test that measures has the machine alone: `machine.rs`. What not every machine has is named by the test that needs it: `needs.rs`.

mod by_schema;
mod command;
mod conformance;
mod databases;
mod docker;
mod documents;
mod engines;
mod export;
mod folder;
mod gateway;
mod kubernetes;
mod machine;
mod measuring;
mod needs;
