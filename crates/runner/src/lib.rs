//! Starts, watches and stops systems. The only place where processes begin.
//!
//! Every process hangs on a [`guard`]: a small process of ours that adopts all
//! that the system starts and ends it when it is told to, and also when faceoff
//! itself is gone, however it went.

pub mod awake;
pub mod build;
mod cgroup;
pub mod circumstances;
pub mod cpus;
pub mod database;
pub mod docker;
mod engine;
pub mod guard;
pub mod image;
mod jdk;
pub mod kubernetes;
pub mod leftovers;
pub mod lock;
pub mod machine;
pub mod needs;
pub mod notes;
pub mod place;
mod ports;
pub mod postgres;
pub mod process;
mod procfs;
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
