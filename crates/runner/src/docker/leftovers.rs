//! Removes what killed runs left in an engine.
//!
//! Everything that is made carries labels. [`clear`] finds containers by the lock of their run, and
//! [`remove_noted`] by their note.

use super::names::{self, LOCK_LABEL, NOTE_LABEL, RUN_LABEL};
use crate::engine::{Body, Engine, EngineError};
use crate::image::SYSTEM_LABEL;
use serde_json::{Value, json};
use spec::name::percent_encoded;
use std::path::Path;
use std::time::Duration;

/// An engine that takes longer is not cleared.
const WITHIN: Duration = Duration::from_secs(5);

fn engine() -> Option<Engine> {
    Engine::named().ok().filter(|engine| engine.socket().exists())
}

fn listed(engine: &Engine, path: &str, labels: &[String]) -> Result<Vec<Value>, EngineError> {
    let path = format!("{path}filters={}", percent_encoded(&json!({"label": labels}).to_string()));
    let all = engine.request("GET", &path, Body::Nothing, WITHIN)?;
    Ok(all.as_array().cloned().unwrap_or_default())
}

/// Removes the containers that carry all of these labels. Returns their number.
pub(super) fn remove(engine: &Engine, labels: &[String]) -> Result<usize, EngineError> {
    let (mut removed, mut error) = (0, None);
    for container in listed(engine, "/containers/json?all=1&", labels)? {
        let id = container["Id"].as_str().unwrap_or_default();
        // A failure must not keep the others.
        match engine.request(
            "DELETE",
            &format!("/containers/{id}?force=1&v=1"),
            Body::Nothing,
            names::WITHIN,
        ) {
            Ok(_) => removed += 1,
            Err(why) => error = Some(why),
        }
    }
    error.map_or(Ok(removed), Err)
}

/// The label of the containers of a note.
pub(super) fn of_note(note: &str) -> String {
    format!("{NOTE_LABEL}={note}")
}

/// Removes the containers of a note from their engine. Returns what they were, if any existed.
pub(crate) fn remove_noted(engine: &Path, note: &str) -> Result<Option<String>, String> {
    let removed = remove(&Engine::at_socket(engine.to_owned()), &[of_note(note)]);
    let removed = removed.map_err(|error| {
        format!("containers may be left in the engine at {}: {error}", engine.display())
    })?;
    Ok((removed > 0).then(|| format!("{removed} containers")))
}

/// Removes containers of ended runs from the current engine, also those of other users. They are
/// the containers of runs that held the lock that the caller now holds. Returns their number.
pub fn clear() -> usize {
    let lock = crate::lock::identity();
    if lock.is_empty() {
        return 0;
    }
    let labels = [RUN_LABEL.to_owned(), format!("{LOCK_LABEL}={lock}")];
    engine().and_then(|engine| remove(&engine, &labels).ok()).unwrap_or(0)
}

/// The result of removing images.
#[derive(Debug, Default)]
pub struct ForgottenImages {
    /// Names of the images that were removed.
    pub removed: Vec<String>,
    /// Images that the engine kept, each with the reason.
    pub kept: Vec<(String, String)>,
}

/// Removes the images of systems from the engine.
pub fn forget_images() -> ForgottenImages {
    let mut forgotten = ForgottenImages::default();
    let Some(engine) = engine() else { return forgotten };
    for image in listed(&engine, "/images/json?", &[SYSTEM_LABEL.to_owned()]).unwrap_or_default() {
        let Some(id) = image["Id"].as_str() else { continue };
        let name = image["RepoTags"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .unwrap_or(id)
            .to_owned();
        match engine.request(
            "DELETE",
            &format!("/images/{id}?force=1"),
            Body::Nothing,
            names::WITHIN,
        ) {
            Ok(_) => forgotten.removed.push(name),
            Err(error) => forgotten.kept.push((name, error.to_string())),
        }
    }
    forgotten
}
