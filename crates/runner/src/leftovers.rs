//! Removes what killed runs left: processes, containers, namespaces and schemas.
//!
//! A process remains if both the run and the process's guard were killed. Everything else is found
//! by the notes in `notes`. Start with [`clear_processes`] and [`clear_noted`].

use crate::guard::{ARGUMENT, MARK};
use crate::notes::{Left, folders, name_of, notes_of_ended};
use crate::procfs::{Reader, command, parents};
use crate::{database, docker, kubernetes};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, io};

/// Kills processes that carry a run's mark and whose guard is gone, which means that no ancestor
/// carries the mark or is a guard. Returns their number.
pub fn clear_processes() -> usize {
    let parents = parents();
    let mut reader = Reader::default();
    let me = std::process::id();
    let marked: Vec<u32> = parents
        .keys()
        .copied()
        .filter(|pid| *pid != me && reader.environment(*pid, MARK).is_some())
        .collect();
    let mut cleared = 0;
    for pid in &marked {
        // A guard carries the mark as well, but its parent, faceoff, does not. A process that was
        // adopted by init or a subreaper of the session has no marked parent either.
        let is_guard = |pid: u32| command(pid).get(1).is_some_and(|word| word == ARGUMENT);
        let mut ancestor = parents.get(pid).copied();
        let mut has_guard = is_guard(*pid);
        while let Some(a) = ancestor.filter(|a| marked.contains(a)) {
            has_guard |= is_guard(a);
            ancestor = parents.get(&a).copied();
        }
        if !has_guard && let Some(pid) = Pid::from_raw(*pid as i32) {
            cleared += usize::from(kill_process(pid, Signal::KILL).is_ok());
        }
    }
    cleared
}

/// What killed runs left, and whether it was removed.
#[derive(Debug, Default)]
pub struct Cleared {
    /// Descriptions of what was removed.
    pub removed: Vec<String>,
    /// Descriptions of what could not be removed, with the cause and a hint.
    pub kept: Vec<String>,
}

/// Removes what the notes of ended runs describe.
pub fn clear_noted() -> Cleared {
    let mut cleared = Cleared::default();
    for folder in folders() {
        for (path, held) in notes_of_ended(&folder).unwrap_or_default() {
            let text = io::read_to_string(&held).unwrap_or_default();
            let removed = match serde_json::from_str::<Left>(&text) {
                Ok(left) => remove_noted(&left, name_of(&path)),
                // A note that was cut short was written before anything was made.
                Err(error) if error.is_eof() => Ok(None),
                Err(error) => {
                    Err(format!("a killed run left a note that cannot be parsed: {error}"))
                }
            };
            match removed {
                Ok(what) => {
                    cleared.removed.extend(what);
                    let _ = fs::remove_file(&path);
                }
                Err(why) => cleared.kept.push(format!(
                    "{why}\nhint: if that no longer exists, remove {}",
                    path.display()
                )),
            }
        }
        // Fails unless it is empty.
        let _ = fs::remove_dir(&folder);
    }
    cleared
}

/// Removes what a note describes. Returns what it was, if it existed.
fn remove_noted(left: &Left, note: &str) -> Result<Option<String>, String> {
    match left {
        Left::Containers { engine } => docker::remove_noted(engine, note),
        Left::Namespace { name, kubeconfig, context } => {
            kubernetes::remove_namespace(name, kubeconfig.as_deref(), context).map(Some)
        }
        Left::Schema { name, server, password } => {
            database::remove_schema(name, server, *password).map(Some)
        }
    }
}
