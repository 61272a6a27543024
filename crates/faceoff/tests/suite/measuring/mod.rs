//! Tests whose outcome depends on other programs on the CPUs: each has the machine to itself.

mod false_alarms;
mod soundness;
mod sweeps;
mod symptoms;
mod warmup;

pub use symptoms::Quota;
