//! What killed runs left in an engine.

use super::{LOCK_LABEL, RUN_LABEL};
use crate::engine::{Body, Engine, escaped};
use crate::image::SYSTEM_LABEL;
use serde_json::{Value, json};
use std::time::Duration;

/// An engine that takes longer is left alone.
const WITHIN: Duration = Duration::from_secs(5);

fn engine() -> Option<Engine> {
    Engine::named().ok().filter(|engine| engine.socket().exists())
}

fn listed(engine: &Engine, path: &str, filters: &Value) -> Vec<Value> {
    let path = format!("{path}filters={}", escaped(&filters.to_string()));
    engine.ask("GET", &path, Body::Nothing, WITHIN).ok().and_then(|all| all.as_array().cloned()).unwrap_or_default()
}

/// Removes containers of runs that held the lock which whoever calls holds now: they are over. Returns how many.
pub fn clear() -> usize {
    let Some(engine) = engine() else { return 0 };
    let filters = json!({"label": [RUN_LABEL, format!("{LOCK_LABEL}={}", crate::lock::folder())]});
    let removed = |container: &Value| {
        let id = container["Id"].as_str()?;
        engine.ask("DELETE", &format!("/containers/{id}?force=1&v=1"), Body::Nothing, super::WITHIN).ok()
    };
    listed(&engine, "/containers/json?all=1&", &filters).iter().filter_map(removed).count()
}

/// Removes the images of systems from the engine. Returns what they were called.
pub fn forget_images() -> Vec<String> {
    let Some(engine) = engine() else { return vec![] };
    let mut removed = Vec::new();
    for image in listed(&engine, "/images/json?", &json!({"label": [SYSTEM_LABEL]})) {
        let Some(id) = image["Id"].as_str() else { continue };
        if engine.ask("DELETE", &format!("/images/{id}?force=1"), Body::Nothing, super::WITHIN).is_ok() {
            let names = image["RepoTags"].as_array().into_iter().flatten().filter_map(Value::as_str);
            removed.push(names.map(str::to_owned).next().unwrap_or_else(|| id.to_owned()));
        }
    }
    removed
}
