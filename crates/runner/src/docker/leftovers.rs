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
    let labels = [RUN_LABEL.to_owned(), format!("{LOCK_LABEL}={}", crate::lock::folder())];
    engine().and_then(|engine| remove(&engine, &labels).ok()).unwrap_or(0)
}

/// Removes the images of systems from the engine. Returns what they were called.
pub fn forget_images() -> Vec<String> {
    let Some(engine) = engine() else { return vec![] };
    let mut removed = Vec::new();
    for image in listed(&engine, "/images/json?", &[SYSTEM_LABEL.to_owned()]).unwrap_or_default() {
        let Some(id) = image["Id"].as_str() else { continue };
        if engine.ask("DELETE", &format!("/images/{id}?force=1"), Body::Nothing, super::WITHIN).is_ok() {
            let names = image["RepoTags"].as_array().into_iter().flatten().filter_map(Value::as_str);
            removed.push(names.map(str::to_owned).next().unwrap_or_else(|| id.to_owned()));
        }
    }
    removed
}
