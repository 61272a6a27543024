//! Tests of the command from outside, in one program: real processes, sockets, misbehaving systems,
//! engines, clusters and databases.
//!
//! A test that measures has the machine to itself: `machine.rs`. A test names what it needs and not
//! every machine has: `needs.rs`.

mod by_schema;
mod command;
mod conformance;
mod contained;
mod control_server;
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
