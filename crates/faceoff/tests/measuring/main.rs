//! Tests whose outcome depends on who else uses the CPUs: one at a time, in a process of their own, which cargo runs
//! when no other tests run.

#[path = "../command/folder.rs"]
#[allow(dead_code)]
mod folder;
mod soundness;
mod sweeps;
mod symptoms;
mod warmup;
mod wolf;

use std::sync::{Mutex, MutexGuard};

/// Whoever holds it has the machine.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
