//! Tests whose outcome depends on who else uses the CPUs: each has the machine alone.

mod soundness;
mod sweeps;
mod symptoms;
mod warmup;
mod wolf;

pub use symptoms::Quota;
