//! One module a subcommand.

pub mod against;
pub mod agent;
pub mod articles;
pub mod audit;
pub mod build;
pub mod check;
pub mod clean;
pub mod doctor;
pub mod export;
pub mod generate;
pub mod import;
pub mod init;
pub mod judge;
pub mod list;
pub mod load;
pub mod report;
pub mod run;
pub mod selftest;
pub mod serve;
pub mod side_by_side;
pub mod vs;

use crate::exit::Error;
use crate::output;
use model::catalog::Catalog;
use model::experiment::RunnerKind;
use model::name::did_you_mean;
use model::system::Contender;
use runner::lock::Lock;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version that goes into records.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where build logs and stamps are kept.
pub fn cache(catalog: &Catalog) -> PathBuf {
    catalog.dir().join(".faceoff")
}

/// Takes the machine's lock, and removes what killed runs left.
pub fn lock(stop: &AtomicBool) -> Result<Lock, Error> {
    let lock = take_lock(stop)?;
    clear_left();
    Ok(lock)
}

/// Takes the machine's lock; waits, and says so, while another run holds it.
pub fn take_lock(stop: &AtomicBool) -> Result<Lock, Error> {
    let mut said = false;
    let taken = runner::lock::take(|holder| {
        if !said {
            output::message(&format!("waiting: another faceoff ({holder}) is at work on this machine, and two would disturb each other"));
            said = true;
        }
        !stop.load(Ordering::Relaxed)
    });
    taken
        .map_err(|e| {
            Error::Failed(format!("the lock in {} cannot be taken: {e}\nhint: is the folder writable?", std::env::temp_dir().display()))
        })?
        .ok_or_else(|| Error::Interrupted(crate::signals::code()))
}

/// Removes what killed runs left, and says so; whether nothing is left. For whoever holds the machine's lock.
pub fn clear_left() -> bool {
    let cleared = runner::leftovers::clear();
    if cleared > 0 {
        output::message(&format!("ended {cleared} processes that a killed run had left"));
    }
    let cleared = runner::docker::clear();
    if cleared > 0 {
        output::message(&format!("removed {cleared} containers that a killed run had left"));
    }
    runner::kubernetes::clear();
    let noted = runner::notes::clear();
    for what in noted.removed {
        output::message(&format!("removed {what} that a killed run had left"));
    }
    for why in &noted.kept {
        output::message(why);
    }
    noted.kept.is_empty()
}

/// Reads `process`, `docker` or `kubernetes`.
pub fn runner_kind(text: &str) -> Result<RunnerKind, String> {
    let known = RunnerKind::WORDS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind);
    known.ok_or_else(|| did_you_mean(text, RunnerKind::WORDS.map(|(word, _)| word)))
}

/// The named contenders, or with `all` every system with each of its variants.
pub fn contenders(catalog: &Catalog, names: &[String], all: bool) -> Result<Vec<Contender>, Error> {
    let mut found = Vec::new();
    if all {
        for name in catalog.system_names() {
            let system = catalog.system(&name)?;
            found.push(system.with_variants(&[])?);
            for variant in system.variants.keys() {
                found.push(system.with_variants(std::slice::from_ref(variant))?);
            }
        }
    }
    for name in names {
        let name =
            name.parse().map_err(|e| model::problem::Problems::plain(e, "write `system`, `system:variant` or `system:one+another`"))?;
        found.push(catalog.contender(&name)?);
    }
    Ok(found)
}
