//! What killed runs left in an engine.

use super::{LOCK_LABEL, NOTE_LABEL, RUN_LABEL};
use crate::engine::{Body, Engine, Trouble, escaped};
use crate::image::SYSTEM_LABEL;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// An engine that takes longer is left alone.
const WITHIN: Duration = Duration::from_secs(5);

fn engine() -> Option<Engine> {
    Engine::named().ok().filter(|engine| engine.socket().exists())
}

fn listed(engine: &Engine, path: &str, labels: &[String]) -> Result<Vec<Value>, Trouble> {
    let path = format!("{path}filters={}", escaped(&json!({"label": labels}).to_string()));
    let all = engine.ask("GET", &path, Body::Nothing, WITHIN)?;
    Ok(all.as_array().cloned().unwrap_or_default())
}

/// Removes the containers that carry all of these labels; how many those were.
pub(super) fn remove(engine: &Engine, labels: &[String]) -> Result<usize, Trouble> {
    let (mut removed, mut trouble) = (0, None);
    for container in listed(engine, "/containers/json?all=1&", labels)? {
        let id = container["Id"].as_str().unwrap_or_default();
        // Whatever becomes of one, the others go.
        match engine.ask("DELETE", &format!("/containers/{id}?force=1&v=1"), Body::Nothing, super::WITHIN) {
            Ok(_) => removed += 1,
            Err(why) => trouble = Some(why),
        }
    }
    trouble.map_or(Ok(removed), Err)
}

/// What containers of a note carry.
pub(super) fn of_note(note: &str) -> String {
    format!("{NOTE_LABEL}={note}")
}

/// Removes what a note is of, in whichever engine that is: what it was, where there was anything.
pub(crate) fn remove_noted(engine: &Path, note: &str) -> Result<Option<String>, String> {
    let removed = remove(&Engine::at(engine.to_owned()), &[of_note(note)]);
    let removed = removed.map_err(|trouble| format!("containers may be left in the engine at {}: {trouble}", engine.display()))?;
    Ok((removed > 0).then(|| format!("{removed} containers")))
}

/// Removes from the engine that is named now containers of runs that held the lock which whoever calls holds now, also of other users:
/// they are over. Returns how many.
pub fn clear() -> usize {
    let lock = crate::lock::identity();
    if lock.is_empty() {
        return 0;
    }
    let labels = [RUN_LABEL.to_owned(), format!("{LOCK_LABEL}={lock}")];
    engine().and_then(|engine| remove(&engine, &labels).ok()).unwrap_or(0)
}

/// What became of images that were to go.
#[derive(Debug, Default)]
pub struct ForgottenImages {
    /// What those were called that are gone.
    pub removed: Vec<String>,
    /// Those that the engine kept, with why.
    pub kept: Vec<(String, String)>,
}

/// Removes the images of systems from the engine.
pub fn forget_images() -> ForgottenImages {
    let mut forgotten = ForgottenImages::default();
    let Some(engine) = engine() else { return forgotten };
    for image in listed(&engine, "/images/json?", &[SYSTEM_LABEL.to_owned()]).unwrap_or_default() {
        let Some(id) = image["Id"].as_str() else { continue };
        let name = image["RepoTags"].as_array().into_iter().flatten().find_map(Value::as_str).unwrap_or(id).to_owned();
        match engine.ask("DELETE", &format!("/images/{id}?force=1"), Body::Nothing, super::WITHIN) {
            Ok(_) => forgotten.removed.push(name),
            Err(trouble) => forgotten.kept.push((name, trouble.to_string())),
        }
    }
    forgotten
}
