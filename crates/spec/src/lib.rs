//! The files that people write: read, and checked with every problem at its line.
//!
//! A project has systems ([`system`]), workloads ([`workload`]) and experiments ([`experiment`]). A
//! [`catalog::Catalog`] finds and reads them. Articles with published tables ([`article`]) are read
//! in the same way.
//!
//! Start with `catalog.rs`, then `experiment/mod.rs`. Each file is read key by key through
//! `reader.rs`, which collects [`problem::Problems`]. This crate knows nothing of records: what a
//! run leaves is in the crate `record`.

pub mod article;
pub mod catalog;
pub mod categories;
pub mod data;
pub mod experiment;
mod figure;
pub mod image;
#[cfg(test)]
mod keys;
pub mod metric;
pub mod name;
pub mod placeholder;
pub mod price;
pub mod problem;
mod reader;
#[cfg(test)]
mod reference;
pub mod reset;
mod runner_kind;
pub mod secret;
pub mod system;
pub mod template;
pub mod threshold;
pub mod units;
pub mod variable;
pub mod workload;
