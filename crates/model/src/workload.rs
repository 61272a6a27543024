//! A workload: the requests, in order, and the right answers to them (`workloads/<name>.toml`).

use crate::problem::Problems;
use crate::reader::{Table, read_file};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The requests that are made, and what a right answer to each is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The file's name.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Made one after the other, then again from the first.
    pub steps: Vec<Step>,
}

/// One request and its right answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Sent as written; `Host` and `Content-Length` are added.
    pub headers: Vec<(String, String)>,
    /// Sent as it is.
    pub body: Option<String>,
    /// What a right answer is.
    pub answer: Answer,
    /// A status that says "not now": counted as declined, not as wrong.
    pub declined: Option<u16>,
}

impl Default for Step {
    fn default() -> Self {
        Step { method: "GET".into(), path: "/".into(), headers: Vec::new(), body: None, answer: Answer::default(), declined: None }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Answer { status: 200, headers: Vec::new(), body: BodyCheck::Any }
    }
}

/// What makes an answer right. All of it is checked on every answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers that must be there with exactly this value, compared as bytes.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: BodyCheck,
}

/// What the body must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyCheck {
    /// Anything.
    Any,
    /// Exactly this text.
    Text(String),
    /// JSON equal to this value, in any spelling.
    Json(serde_json::Value),
    /// Any bytes, so many.
    Length(u64),
}

impl Workload {
    /// Reads a workload and the files it names, which stand beside it.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Workload, Problems> {
        let folder = path.parent().unwrap_or(Path::new("."));
        read_file(path, |table| {
            let workload = Workload {
                name: table.required_string("name"),
                summary: table.required_string("summary"),
                steps: table.tables("step", |t| walk_step(t, folder)),
            };
            if path.file_stem().is_some_and(|stem| *stem != *workload.name) {
                table.problem("name", format!("the name `{}` is not that of its file", workload.name), "name the file `<name>.toml`");
            }
            if workload.steps.is_empty() {
                table.problem("step", "the workload makes no request", "write one [[step]] or more");
            }
            workload
        })
    }
}

fn walk_step(table: &Table<'_>, folder: &Path) -> Step {
    let step = Step {
        method: table.string("method").unwrap_or_else(|| "GET".into()),
        path: table.required_string("path"),
        headers: table.map("headers").into_iter().collect(),
        body: text_or_file(table, "body", "body_file", folder),
        answer: table.table("answer", |t| walk_answer(t, folder)).unwrap_or_else(|| {
            table.problem("answer", "the step does not say what a right answer is", "write [step.answer] with `status` and a body check");
            Answer { status: 200, headers: Vec::new(), body: BodyCheck::Any }
        }),
        declined: table.integer("declined", 100, 599).map(|n| n as u16),
    };
    if !step.path.starts_with('/') && table.has("path") {
        table.problem("path", format!("the path `{}` does not start with `/`", step.path), "the server's address comes from the runner");
    }
    if step.path.contains(|c: char| c.is_ascii_control() || c == ' ') {
        table.problem("path", "the path holds a space or a control character", "write it percent-encoded, as it is sent");
    }
    if step.method.is_empty() || !step.method.chars().all(|c| c.is_ascii_alphabetic() || c == '-') {
        table.problem("method", format!("`{}` is not a method", step.method), "write GET, POST, ...");
    }
    for (name, value) in &step.headers {
        let name_is_token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        if !name_is_token || value.contains(['\r', '\n', '\0']) {
            table.problem("headers", format!("`{name}: {value}` is not a header"), "names are tokens, values have no line breaks");
        }
        if ["host", "content-length", "connection", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
            table.problem("headers", format!("the header `{name}` is written by the load generator itself"), "leave it out");
        }
    }
    step
}

fn walk_answer(table: &Table<'_>, folder: &Path) -> Answer {
    let text = text_or_file(table, "body", "body_file", folder);
    let json = text_or_file(table, "json", "json_file", folder).and_then(|text| {
        serde_json::from_str(&text)
            .map_err(|e| table.problem(if table.has("json") { "json" } else { "json_file" }, format!("not JSON: {e}"), "mend the JSON"))
            .ok()
    });
    let length = table.integer("length", 0, u64::MAX);
    let mut checks: Vec<BodyCheck> =
        text.map(BodyCheck::Text).into_iter().chain(json.map(BodyCheck::Json)).chain(length.map(BodyCheck::Length)).collect();
    if checks.len() > 1 {
        table.problem(
            "",
            "the answer's body is described more than once",
            "keep one of `body`, `body_file`, `json`, `json_file`, `length`",
        );
    }
    Answer {
        status: table.integer("status", 100, 599).unwrap_or(200) as u16,
        headers: table.map("headers").into_iter().collect(),
        body: checks.pop().unwrap_or(BodyCheck::Any),
    }
}

/// A text written in place, or read from a file that stands beside the workload.
fn text_or_file(table: &Table<'_>, key: &'static str, file_key: &'static str, folder: &Path) -> Option<String> {
    let text = table.string(key);
    let file = table.string(file_key);
    let read = file.and_then(|name| {
        std::fs::read_to_string(folder.join(&name))
            .map_err(|e| table.problem(file_key, format!("`{name}` cannot be read: {e}"), "the path is counted from the workload's folder"))
            .ok()
    });
    if text.is_some() && read.is_some() {
        table.problem(file_key, format!("both `{key}` and `{file_key}` are given"), "keep one");
    }
    text.or(read)
}
