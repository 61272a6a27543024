//! Finds what makes a measurement unfit to judge from: readings in, faults out.
//!
//! `kinds.rs` is the table of all kinds, with thresholds and their reasons; start there. The checks
//! themselves are in the files by topic: `generator`, `agents`, `surroundings`, `binding`,
//! `series`, `ties` and `capacity`. `faults` runs them on a record, `usable` says which trials are
//! excluded, and `checks` lists what was checked. A contender's own errors are results, never
//! faults.

mod agents;
mod binding;
mod by_name;
mod capacity;
mod checks;
mod faults;
mod generator;
mod kinds;
mod look;
mod metrics;
mod reach;
mod seen;
mod series;
mod surroundings;
mod ties;
mod usable;

pub use by_name::invalidates;
pub(crate) use by_name::{is_self_caused, summary};
pub(crate) use checks::list_checks;
pub(crate) use faults::Faults;
pub use faults::faults_of_trial;
pub use kinds::{FaultKind, Row};
pub use usable::{exclusion, measurement};
pub(crate) use usable::{has_failed, used_trials};
