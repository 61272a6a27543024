//! One module per subcommand, and what several of them share.
//!
//! Shared are: the machine's lock and the clean-up of killed runs (here), `measuring` (run, judge,
//! report), `authoring` (files for services of your own), `build_groups` (parallel builds) and
//! `values` (parsers for option values).

pub mod agent;
pub mod articles;
pub mod audit;
pub mod authoring;
pub mod build;
pub mod build_groups;
pub mod check;
pub mod clean;
pub mod doctor;
pub mod examples;
pub mod export;
pub mod generate;
pub mod import;
pub mod init;
pub mod judge;
pub mod list;
pub mod load;
pub mod measuring;
pub mod plan_text;
pub mod report;
pub mod revision;
pub mod run;
pub mod selftest;
pub mod serve;
pub mod values;
pub mod vs;
pub mod why;

use crate::exit::Error;
use crate::output;
use runner::lock::Lock;
use spec::catalog::Catalog;
use spec::problem::Problems;
use spec::system::Contender;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version that records carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the folder for build logs and build stamps.
pub fn cache(catalog: &Catalog) -> PathBuf {
    catalog.dir().join(".faceoff")
}

/// Takes the machine's lock, and removes what killed runs left behind.
pub fn lock(stop: &AtomicBool) -> Result<Lock, Error> {
    let lock = take_lock(stop)?;
    remove_leftovers();
    Ok(lock)
}

/// Takes the machine's lock. Waits, with a message, while another run holds it.
pub fn take_lock(stop: &AtomicBool) -> Result<Lock, Error> {
    let mut is_announced = false;
    let taken = runner::lock::take(|holder| {
        if !is_announced {
            output::message(&format!(
                "waiting: another faceoff ({holder}) runs on this machine, and two would disturb each other"
            ));
            is_announced = true;
        }
        !stop.load(Ordering::Relaxed)
    });
    taken
        .map_err(|e| {
            Error::Failed(format!(
                "the lock in {} cannot be taken: {e}\nhint: check that the folder is writable",
                std::env::temp_dir().display()
            ))
        })?
        .ok_or_else(|| Error::Interrupted(crate::signals::code()))
}

/// Removes what killed runs left behind, with messages, and returns whether nothing remains.
///
/// The caller must hold the machine's lock.
pub fn remove_leftovers() -> bool {
    let ended = runner::leftovers::clear_processes();
    if ended > 0 {
        output::message(&format!("ended {ended} processes that a killed run left behind"));
    }
    let removed = runner::docker::clear();
    if removed > 0 {
        output::message(&format!("removed {removed} containers that a killed run left behind"));
    }
    runner::kubernetes::clear();
    let noted = runner::leftovers::clear_noted();
    for what in noted.removed {
        output::message(&format!("removed {what} that a killed run left behind"));
    }
    for why in &noted.kept {
        output::message(why);
    }
    noted.kept.is_empty()
}

/// Returns the named contenders, after every system with each of its variants if `all` is set.
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
        let name = name.parse().map_err(|e| {
            Problems::plain(e, "write `system`, `system:variant` or `system:one+another`")
        })?;
        found.push(catalog.contender(&name)?);
    }
    Ok(found)
}
