//! What the tests of containers and of pods have in common.

pub mod kills;
pub mod limits;
