//! Starts, watches and stops systems. No other crate starts processes.
//!
//! Every process has a [`guard`]: a small process of ours that adopts everything the system starts.
//! It ends the system on request, and also when faceoff itself is gone, even if it was killed.
//!
//! Start with [`start`]: from a contender to a correct response. [`place`] is the interface to
//! where systems run; `processes`, [`docker`] and [`kubernetes`] implement it; [`open`] chooses
//! one.

pub mod awake;
pub mod build;
mod cgroup;
pub mod circumstances;
pub mod cpus;
pub mod database;
pub mod docker;
pub mod energy;
mod engine;
pub mod guard;
pub mod image;
mod jdk;
pub mod kubernetes;
pub mod leftovers;
pub mod listener;
pub mod lock;
pub mod machine;
pub mod means;
pub mod needs;
mod notes;
pub mod open;
pub mod pause;
pub mod place;
mod ports;
pub mod postgres;
pub mod process;
mod processes;
mod procfs;
pub mod profile;
mod reset;
pub mod revision;
pub mod scrub;
pub mod sessions;
mod sha256;
pub mod signs;
pub mod start;
pub mod usage;

pub use jdk::Jdk;
pub use procfs::{load_average, peak_resident_bytes, running_since_ticks};
pub use reset::reset;
