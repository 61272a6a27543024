//! A workload: the requests, in order, and the right answers to them (`workloads/<name>.toml`).

use crate::data::{self, Data, Parameters};
use crate::database::{self, Stored};
use crate::name::did_you_mean;
use crate::problem::Problems;
use crate::reader::{Levels, Table, read_file};
use crate::secret;
use crate::template::Template;
use crate::units;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Values that every user has: its number, and how many passes it has begun, both from 0.
pub const BUILT_IN: [&str; 2] = ["user", "round"];

/// The requests that are made, and what a right answer to each is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Workload {
    /// The file's name.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Values that are drawn anew for each pass over the steps.
    pub data: Vec<Data>,
    /// Made one after the other, then again from the first.
    pub steps: Vec<Step>,
    /// What they leave in a database, where the experiment has one.
    pub stored: Option<Stored>,
}

/// One request and its right answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// `Host` and `Content-Length` are added.
    pub headers: Vec<(String, Template)>,
    /// What is sent after the head.
    pub body: Body,
    /// What is taken from a right answer, for later requests.
    pub captures: Vec<Capture>,
    /// What a right answer is.
    pub answer: Answer,
    /// A status that says "not now": counted as declined, not as wrong.
    pub declined: Option<u16>,
    /// By table, how many rows each right answer says were stored.
    pub stores: BTreeMap<String, u64>,
}

/// What a request sends after its head.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// A text that may vary.
    Text(Template),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A value taken from an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Capture {
    /// How later steps name it.
    pub name: String,
    /// Where it stands.
    pub from: Source,
    /// Which part of that: the first group of the first match, or the whole match where it has no group.
    #[serde(with = "crate::sent::pattern")]
    pub regex: Option<regex_lite::Regex>,
}

/// Where a captured value stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// In a body that is JSON, at this pointer (RFC 6901).
    Json(String),
    /// In a header.
    Header(String),
    /// Anywhere in the body.
    Body,
}

/// What makes an answer right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The status.
    pub status: Statuses,
    /// Headers that must be there with exactly this value, compared as bytes.
    pub headers: Vec<(String, Template)>,
    /// The whole body.
    pub body: BodyCheck,
    /// What must stand at places of a body that is JSON.
    pub pointers: Vec<(String, Wanted)>,
    /// What must be found somewhere in the body.
    #[serde(with = "crate::sent::pattern")]
    pub regex: Option<regex_lite::Regex>,
    /// On which share of the answers the costly checks are made: JSON, pointers and `regex`. The
    /// status, headers, bytes and length are looked at on every answer whatever this says.
    pub sample: f64,
}

/// Statuses of which any is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses {
    /// The least.
    pub from: u16,
    /// The greatest.
    pub to: u16,
}

impl Statuses {
    /// One alone.
    pub fn one(status: u16) -> Statuses {
        Statuses { from: status, to: status }
    }

    /// Whether a status is right.
    pub fn has(self, status: u16) -> bool {
        (self.from..=self.to).contains(&status)
    }

    /// Reads `200`, `2xx`, `200..399`.
    ///
    /// # Errors
    /// What is none of these.
    pub fn parse(text: &str) -> Result<Statuses, String> {
        let one = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (200..=599).contains(status));
        let statuses = match (text.strip_suffix("xx"), text.split_once("..")) {
            (Some(hundreds), _) => one(&format!("{hundreds}00")).map(|from| Statuses { from, to: from + 99 }),
            (_, Some((from, to))) => one(from).zip(one(to)).map(|(from, to)| Statuses { from, to }).filter(|s| s.from <= s.to),
            _ => one(text).map(Statuses::one),
        };
        statuses.ok_or_else(|| format!("`{text}` is no status from 200 to 599: write it like 200, 2xx or 200..399"))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Statuses { from, to } if from == to => write!(f, "{from}"),
            Statuses { from, to } if from % 100 == 0 && to == from + 99 => write!(f, "{}xx", from / 100),
            Statuses { from, to } => write!(f, "{from}..{to}"),
        }
    }
}

/// What the body must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BodyCheck {
    /// Anything.
    Any,
    /// Exactly this text.
    Text(Template),
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// JSON equal to this value, in any spelling.
    Json(serde_json::Value),
    /// Any bytes, so many.
    Length(u64),
}

/// What must stand at a place of a JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wanted {
    /// This value.
    Value(serde_json::Value),
    /// The text, or number, that is spelt so.
    Spelling(Template),
    /// Anything at all.
    Present,
}

impl Default for Step {
    fn default() -> Self {
        Step {
            method: "GET".into(),
            path: Template::fixed("/"),
            headers: Vec::new(),
            body: Body::None,
            captures: Vec::new(),
            answer: Answer::default(),
            declined: None,
            stores: BTreeMap::new(),
        }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Answer { status: Statuses::one(200), headers: Vec::new(), body: BodyCheck::Any, pointers: Vec::new(), regex: None, sample: 1.0 }
    }
}

impl Workload {
    /// Reads a workload and the files it names, which stand beside it; its parameters are what the file says.
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Workload, Problems> {
        Workload::read_with(path, &BTreeMap::new())
    }

    /// As [`Workload::read`], with other values for some of its parameters.
    ///
    /// # Errors
    /// Every problem of the file, with its place; a parameter that it does not have, with the nearest.
    pub fn read_with(path: &Path, given: &BTreeMap<String, String>) -> Result<Workload, Problems> {
        let folder = path.parent().unwrap_or(Path::new("."));
        read_file(path, |table| {
            let name = table.required_string("name");
            let summary = table.required_string("summary");
            let parameters = walk_parameters(table, given);
            let data = table.tables("data", |t| data::walk(t, folder, &parameters));
            let mut scope = Scope { known: BUILT_IN.into_iter().map(str::to_owned).collect(), parameters };
            for data in &data {
                for name in data.names() {
                    if scope.parameters.0.contains_key(&name) || !scope.known.insert(name.clone()) {
                        table.problem("data", format!("the value `{name}` is defined twice"), "give each its own name");
                    }
                }
            }
            let steps = table.tables("step", |t| walk_step(t, folder, &mut scope));
            let stored = table.table("database", |t| database::walk(t, folder, &scope.parameters));
            if let (None, Some(step)) = (&stored, steps.iter().find(|step| !step.stores.is_empty())) {
                let hint = "write [database] with `tables`, the file of the statements that make them";
                table.problem("step", format!("`{} {}` stores rows, and the workload names no tables", step.method, step.path), hint);
            }
            let workload = Workload { name, summary, data, steps, stored };
            if path.file_stem().is_some_and(|stem| *stem != *workload.name) {
                table.problem("name", format!("the name `{}` is not that of its file", workload.name), "name the file `<name>.toml`");
            }
            if workload.steps.is_empty() {
                table.problem("step", "the workload makes no request", "write one [[step]] or more");
            }
            workload
        })
    }

    /// That every environment variable has a value that it names.
    ///
    /// # Errors
    /// One that has none.
    pub fn must_have_secrets(&self) -> Result<(), Problems> {
        self.variables().into_iter().try_for_each(|variable| secret::value(&variable).map(drop).map_err(Problems::from))
    }

    fn variables(&self) -> BTreeSet<String> {
        self.steps.iter().flat_map(Step::templates).flat_map(Template::variables).map(str::to_owned).collect()
    }

    /// With the values of the environment variables that it names; nothing stands for one that has none.
    pub fn with_secrets(&self) -> Cow<'_, Workload> {
        let values = self.variables().into_iter().map(|variable| {
            let value = secret::value(&variable).unwrap_or_default();
            (format!("{}{variable}", secret::PREFIX), value)
        });
        let values: BTreeMap<String, String> = values.collect();
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        let in_path = values.iter().map(|(name, value)| (name.clone(), secret::in_path(value))).collect();
        let mut workload = self.clone();
        for step in &mut workload.steps {
            step.path = step.path.with(&in_path);
            let answer = &mut step.answer;
            for (_, value) in step.headers.iter_mut().chain(&mut answer.headers) {
                *value = value.with(&values);
            }
            if let Body::Text(text) = &mut step.body {
                *text = text.with(&values);
            }
            if let BodyCheck::Text(text) = &mut answer.body {
                *text = text.with(&values);
            }
            for (_, wanted) in &mut answer.pointers {
                if let Wanted::Spelling(text) = wanted {
                    *text = text.with(&values);
                }
            }
        }
        Cow::Owned(workload)
    }

    /// What is looked at in the answers, in words: what is not looked at in every answer says so.
    pub fn checks(&self) -> String {
        let all: BTreeSet<String> = self.steps.iter().map(|step| step.answer.checks()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    }
}

impl Step {
    /// Every text in which a value may stand.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let answer = &self.answer;
        let sent = if let Body::Text(text) = &self.body { Some(text) } else { None };
        let expected = if let BodyCheck::Text(text) = &answer.body { Some(text) } else { None };
        let pointers = answer.pointers.iter().filter_map(|(_, wanted)| if let Wanted::Spelling(text) = wanted { Some(text) } else { None });
        let headers = self.headers.iter().chain(&answer.headers).map(|(_, value)| value);
        std::iter::once(&self.path).chain(headers).chain(sent).chain(expected).chain(pointers)
    }
}

impl Answer {
    /// What is looked at, in words.
    fn checks(&self) -> String {
        let mut cheap = vec!["status"];
        if !self.headers.is_empty() {
            cheap.push("headers");
        }
        let mut costly = Vec::new();
        match self.body {
            BodyCheck::Any => {}
            BodyCheck::Text(_) | BodyCheck::Bytes(_) => cheap.push("every byte of the body"),
            BodyCheck::Length(_) => cheap.push("length"),
            BodyCheck::Json(_) => costly.push("the whole JSON"),
        }
        if !self.pointers.is_empty() {
            costly.push("JSON pointers");
        }
        if self.regex.is_some() {
            costly.push("a regular expression");
        }
        if self.sample >= 1.0 {
            cheap.append(&mut costly);
        }
        let mut text = format!("{} of every answer", cheap.join(", "));
        if !costly.is_empty() {
            text.push_str(&format!(", {} of {} %", costly.join(", "), (self.sample * 1e6).round() / 1e4));
        }
        text
    }
}

/// What texts may name.
struct Scope {
    /// Values that are drawn or captured before.
    known: BTreeSet<String>,
    parameters: Parameters,
}

fn walk_parameters(table: &Table<'_>, given: &BTreeMap<String, String>) -> Parameters {
    let mut all = BTreeMap::new();
    for (name, value) in table.texts_or_levels("parameters") {
        if !data::is_value_name(&name) || BUILT_IN.contains(&name.as_str()) {
            table.problem(
                "parameters",
                format!("`{name}` cannot name a parameter"),
                "use letters, digits, `-` and `_`; every user has `user` and `round`",
            );
        }
        match value {
            Levels::One(value) => drop(all.insert(name, value)),
            Levels::Several(_) => {
                let hint = format!("keep one; a cell of an experiment sweeps it: `with = {{ {name} = [...] }}`");
                table.problem("parameters", format!("`{name}` has several values"), hint);
            }
        }
    }
    for (name, value) in given {
        if let Some(own) = all.get_mut(name) {
            own.clone_from(value);
        } else {
            let hint = did_you_mean(name, all.keys().map(String::as_str));
            table.problem("parameters", format!("a cell sets `{name}`, which is no parameter of this workload"), hint);
        }
    }
    Parameters(all)
}

fn walk_step(table: &Table<'_>, folder: &Path, scope: &mut Scope) -> Step {
    let step = Step {
        method: table.string("method").unwrap_or_else(|| "GET".into()),
        path: {
            table.required_string("path");
            template(table, "path", scope).unwrap_or_default()
        },
        headers: templates(table, "headers", scope),
        body: walk_body(table, folder, scope),
        answer: table.table("answer", |t| walk_answer(t, folder, scope)).unwrap_or_else(|| {
            table.problem("answer", "the step does not say what a right answer is", "write [step.answer] with `status` and a body check");
            Answer::default()
        }),
        captures: table.named_tables("capture", |name, t| walk_capture(name, t, scope)).into_values().flatten().collect(),
        declined: table.integer("declined", 100, 599).map(|n| n as u16),
        stores: database::walk_stores(table),
    };
    for Capture { name, .. } in &step.captures {
        if !data::is_value_name(name) {
            table.problem("capture", format!("`{name}` cannot name a value"), "use letters, digits, `-` and `_`");
        }
        if BUILT_IN.contains(&name.as_str()) || scope.parameters.0.contains_key(name) {
            table.problem("capture", format!("`{name}` is a value that every user has"), "give the captured value another name");
        }
    }
    // Known to the steps that follow, not to this one.
    scope.known.extend(step.captures.iter().map(|capture| capture.name.clone()));
    let begins_well = match step.path.parts.first() {
        Some(crate::template::Part::Text(text)) => text.starts_with('/'),
        other => other.is_some(),
    };
    if !begins_well && table.has("path") {
        table.problem("path", format!("the path `{}` does not start with `/`", step.path), "the server's address comes from the runner");
    }
    if step.path.texts().any(|text| text.contains(|c: char| c.is_ascii_control() || c == ' ')) {
        table.problem("path", "the path holds a space or a control character", "write it percent-encoded, as it is sent");
    }
    if !is_method(&step.method) {
        table.problem("method", format!("`{}` is not a method", step.method), "write GET, POST, ...");
    }
    for (name, value) in &step.headers {
        if !is_header_name(name) || !value.texts().all(is_header_value) {
            table.problem("headers", format!("`{name}: {value}` is not a header"), "names are tokens, values have no line breaks");
        }
        if is_written_by_generator(name) || name.eq_ignore_ascii_case("host") {
            table.problem("headers", format!("the header `{name}` is written by the load generator itself"), "leave it out");
        }
    }
    secret::notice(&step);
    step
}

/// Whether this can be sent as a method: letters and `-`, one or more.
pub fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
}

/// Whether this can be sent as a header's name: a token (RFC 9110, 5.6.2).
pub fn is_header_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Whether this can be sent as a header's value, or a part of one: it ends no line.
pub fn is_header_value(text: &str) -> bool {
    !text.contains(['\r', '\n', '\0'])
}

/// Whether only the load generator writes the header, as how requests are framed and connections kept follows from it.
pub fn is_written_by_generator(header: &str) -> bool {
    ["content-length", "connection", "transfer-encoding"].iter().any(|ours| header.eq_ignore_ascii_case(ours))
}

/// A field as a template, all of whose names are known.
fn template(table: &Table<'_>, key: &'static str, scope: &Scope) -> Option<Template> {
    let text = table.string(key)?;
    checked(table, key, &text, scope)
}

fn checked(table: &Table<'_>, key: &str, text: &str, scope: &Scope) -> Option<Template> {
    match Template::parse(text) {
        Err(problem) => {
            table.problem(key, problem, "a value is written `${name}`, a plain `${` is written `$${`");
            None
        }
        Ok(template) => {
            let template = template.with(&scope.parameters.0);
            for name in template.names().filter(|name| !scope.known.contains(*name)) {
                if let Some(variable) = name.strip_prefix(secret::PREFIX) {
                    if !secret::is_variable(variable) {
                        table.problem(key, format!("`${{{name}}}` names no environment variable"), "use letters, digits and `_`");
                    }
                    continue;
                }
                table.problem(
                    key,
                    format!("nothing before this step gives the value `{name}`"),
                    did_you_mean(name, scope.known.iter().chain(scope.parameters.0.keys()).map(String::as_str)),
                );
            }
            Some(template)
        }
    }
}

fn templates(table: &Table<'_>, key: &'static str, scope: &Scope) -> Vec<(String, Template)> {
    let texts = table.map(key);
    texts.into_iter().map(|(name, text)| (name, checked(table, key, &text, scope).unwrap_or_default())).collect()
}

fn walk_body(table: &Table<'_>, folder: &Path, scope: &Scope) -> Body {
    let text = template(table, "body", scope).map(Body::Text);
    let file = bytes(table, "body_file", folder, scope).map(Body::Bytes);
    let size = table.parsed("body_size", |text| data::parse_size(&scope.parameters.fill(text))).map(|size| Body::Bytes(data::filler(size)));
    let mut bodies: Vec<Body> = [text, file, size].into_iter().flatten().collect();
    if bodies.len() > 1 {
        table.problem("", "the step has more than one body", "keep one of `body`, `body_file`, `body_size`");
    }
    bodies.pop().unwrap_or_default()
}

fn walk_capture(name: &str, table: &Table<'_>, scope: &Scope) -> Option<Capture> {
    let json = table.string("json").map(|pointer| {
        check_pointer(table, "json", &pointer);
        Source::Json(pointer)
    });
    let header = table.string("header").map(Source::Header);
    let regex = table.parsed("regex", |text| parse_regex(&scope.parameters.fill(text)));
    if json.is_some() && header.is_some() {
        table.problem("header", "the value is taken from two places", "keep one of `json` and `header`");
    }
    if json.is_none() && header.is_none() && !table.has("regex") {
        table.problem(
            "",
            format!("where `{name}` is taken from is not said"),
            "write `json = \"/pointer\"`, `header = \"Name\"` or `regex = \"...\"`",
        );
        return None;
    }
    Some(Capture { name: name.to_owned(), from: json.or(header).unwrap_or(Source::Body), regex })
}

fn walk_answer(table: &Table<'_>, folder: &Path, scope: &Scope) -> Answer {
    let fill = |text: &str| scope.parameters.fill(text);
    let text = template(table, "body", scope).map(BodyCheck::Text);
    let file = bytes(table, "body_file", folder, scope).map(BodyCheck::Bytes);
    let json = table.string("json").and_then(|text| parse_json(table, "json", fill(&text).as_bytes()));
    let json_file = bytes(table, "json_file", folder, scope).and_then(|text| parse_json(table, "json_file", &text));
    let length = match table.is_text("length") {
        true => table.parsed("length", |text| units::parse_bytes(&fill(text))),
        false => table.integer("length", 0, u64::MAX),
    };
    let length = length.map(BodyCheck::Length);
    let mut checks: Vec<BodyCheck> = [text, file, json, json_file, length].into_iter().flatten().collect();
    if checks.len() > 1 {
        table.problem(
            "",
            "the answer's body is described more than once",
            "keep one of `body`, `body_file`, `json`, `json_file`, `length`",
        );
    }
    let pointers = table.values("pointers").into_iter().map(|(pointer, value)| {
        check_pointer(table, "pointers", &pointer);
        let wanted = match value {
            serde_json::Value::String(text) if text.contains("${") => {
                Wanted::Spelling(checked(table, "pointers", &text, scope).unwrap_or_default())
            }
            value => Wanted::Value(value),
        };
        (pointer, wanted)
    });
    let present = table.strings("present").into_iter().map(|pointer| {
        check_pointer(table, "present", &pointer);
        (pointer, Wanted::Present)
    });
    Answer {
        status: match table.is_text("status") {
            true => table.parsed("status", Statuses::parse),
            false => table.integer("status", 200, 599).map(|status| Statuses::one(status as u16)),
        }
        .unwrap_or(Statuses::one(200)),
        headers: templates(table, "headers", scope),
        body: checks.pop().unwrap_or(BodyCheck::Any),
        pointers: pointers.chain(present).collect(),
        regex: table.parsed("regex", |text| parse_regex(&fill(text))),
        sample: table.number("sample", 0.0, 1.0).unwrap_or(1.0),
    }
}

fn parse_json(table: &Table<'_>, key: &str, text: &[u8]) -> Option<BodyCheck> {
    serde_json::from_slice(text).map(BodyCheck::Json).map_err(|e| table.problem(key, format!("not JSON: {e}"), "mend the JSON")).ok()
}

fn check_pointer(table: &Table<'_>, key: &str, pointer: &str) {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        table.problem(key, format!("`{pointer}` is not a JSON pointer"), format!("write `/{}`", pointer.replace('.', "/")));
    }
}

fn parse_regex(text: &str) -> Result<regex_lite::Regex, String> {
    regex_lite::Regex::new(text).map_err(|error| format!("`{text}` is not a regular expression: {error}"))
}

/// The bytes of a file that stands beside the workload.
fn bytes(table: &Table<'_>, key: &'static str, folder: &Path, scope: &Scope) -> Option<Vec<u8>> {
    let name = scope.parameters.fill(&table.string(key)?);
    std::fs::read(folder.join(&name))
        .map_err(|e| table.problem(key, format!("`{name}` cannot be read: {e}"), "the path is counted from the workload's folder"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("people.csv"), "name,age\n\"Ann, B.\",7\nBob,8\n").unwrap();
        std::fs::write(folder.path().join("bad.csv"), "name,age\nAnn\n").unwrap();
        std::fs::write(folder.path().join("w.toml"), text).unwrap();
        Workload::read(&folder.path().join("w.toml")).map_err(|problems| {
            let text = problems.to_string();
            text.replace(&folder.path().display().to_string(), "")
        })
    }

    #[test]
    fn a_workload_with_everything() {
        let workload = read(
            r#"
name = "w"
summary = "an order, and a look at it"
[[data]]
name = "n"
counter = { from = 10, step = 2 }
[[data]]
name = "amount"
random = { from = 1, to = 100 }
[[data]]
name = "blob"
text = { size = "1K" }
[[data]]
name = "colour"
choice = ["red", "green"]
[[data]]
name = "person"
csv = "people.csv"
order = "random"
[[step]]
method = "POST"
path = "/orders/${n}?by=${person.name}"
headers = { x-user = "${user}-${round}" }
body = '{"amount": ${amount}, "colour": "${colour}", "text": "$${x} ${blob}"}'
capture.id = { json = "/id" }
capture.place = { header = "Location", regex = "/(\\d+)" }
[step.answer]
status = 201
regex = "ok"
sample = 0.25
present = ["/id"]
[step.answer.pointers]
"/amount" = "${amount}"
"/list/0" = 5
[[step]]
path = "${place}"
[step.answer]
headers = { etag = "${id}" }
body = "hello ${id}"
"#,
        )
        .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.data.len(), 5);
        assert_eq!(workload.steps[0].captures.len(), 2);
        assert_eq!(workload.steps[0].answer.pointers.len(), 3);
        assert_eq!(workload.steps[0].answer.pointers[2], ("/id".into(), Wanted::Present));
        assert_eq!(
            workload.checks(),
            "status of every answer, JSON pointers, a regular expression of 25 %; status, headers, every byte of the body of every answer"
        );
    }

    const SIZED: &str = r#"
name = "w"
summary = "as many letters as a cell says"
parameters = { size = 8, word = "hello" }
[[data]]
name = "blob"
text = { size = "${size}" }
[[step]]
path = "/${word}/${size}?${round}"
headers = { x-size = "${size}" }
body = "${blob}"
[step.answer]
regex = '^.{${size}}$'
length = "${size}"
[step.answer.pointers]
"/size" = "${size}"
[[step]]
path = "/"
body_size = "${size}"
[step.answer]
body_file = "${word}.csv"
"#;

    fn read_with(text: &str, given: &[(&str, &str)]) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in ["hello", "people"] {
            std::fs::write(folder.path().join(name).with_extension("csv"), name).unwrap();
        }
        std::fs::write(folder.path().join("w.toml"), text).unwrap();
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Workload::read_with(&folder.path().join("w.toml"), &given).map_err(|problems| problems.to_string())
    }

    #[test]
    fn parameters_stand_wherever_a_value_does() {
        for (given, size, word) in [(&[][..], 8, "hello"), (&[("size", "128"), ("word", "people")][..], 128, "people")] {
            let workload = read_with(SIZED, given).unwrap_or_else(|e| panic!("{e}"));
            let [first, second] = &workload.steps[..] else { panic!("two steps") };
            assert_eq!(first.path.to_string(), format!("/{word}/{size}?${{round}}"));
            assert_eq!(first.headers[0].1.as_fixed(), Some(&*size.to_string()));
            assert_eq!(workload.data[0].values, crate::data::Values::Text(size));
            assert_eq!(first.answer.body, BodyCheck::Length(size as u64));
            assert_eq!(first.answer.pointers[0].1, Wanted::Spelling(Template::fixed(size.to_string())));
            assert!(first.answer.regex.as_ref().unwrap().is_match(&"x".repeat(size)));
            assert_eq!(second.answer.body, BodyCheck::Bytes(word.into()));
            assert!(matches!(&second.body, Body::Bytes(bytes) if bytes.len() == size));
        }
    }

    #[test]
    fn environment_variables_stand_for_their_values_when_it_is_asked() {
        let text = "name = \"w\"\nsummary = \"s\"\n[[step]]\npath = \"/a?k=${env.FACEOFF_TEST_KEY}\"\nheaders = { x = \"<${env.FACEOFF_TEST_KEY}>\" }\n[step.answer]\nbody = \"${env.FACEOFF_TEST_KEY}\"\n";
        let workload = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(workload.steps[0].path.to_string(), "/a?k=${env.FACEOFF_TEST_KEY}");
        let said = workload.must_have_secrets().unwrap_err().to_string();
        assert!(said.contains("FACEOFF_TEST_KEY is not set") && said.contains("\nhint: "), "{said}");
        let filled = workload.with_secrets();
        assert_eq!((filled.steps[0].path.as_fixed(), filled.steps[0].headers[0].1.as_fixed()), (Some("/a?k="), Some("<>")));
        assert_eq!(filled.steps[0].answer.body, BodyCheck::Text(Template::default()));
        let wrong = read(&text.replace("FACEOFF_TEST_KEY", "1")).unwrap_err();
        assert!(wrong.contains("`${env.1}` names no environment variable"), "{wrong}");
        let taken = read(&format!("{text}[[data]]\nname = \"env\"\nchoice = [\"a\"]\n")).unwrap_err();
        assert!(taken.contains("`env` cannot name a value"), "{taken}");
    }

    #[test]
    fn what_is_wrong_with_parameters_is_said() {
        let wrong = SIZED.replace("word = \"hello\"", "word = [1, 2], blob = 1, user = 1, none = 0");
        let said = read_with(&wrong, &[("sise", "1")]).unwrap_err();
        for part in [
            "`word` has several values",
            "`with = { word = [...] }`",
            "the value `blob` is defined twice",
            "`user` cannot name a parameter",
            "`parameters.none` must be from",
            "a cell sets `sise`, which is no parameter of this workload",
            "did you mean `size`?",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }

    #[test]
    fn statuses_are_read_as_they_are_shown() {
        for text in ["200", "2xx", "200..399", "404"] {
            assert_eq!(Statuses::parse(text).unwrap().to_string(), text);
        }
        assert!(Statuses::parse("2xx").unwrap().has(204) && !Statuses::parse("2xx").unwrap().has(300));
        for bad in ["", "xx", "1xx", "6xx", "99", "300..200", "abc", "2x"] {
            assert!(Statuses::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_problem_is_said_with_its_place() {
        let problems = read(
            r#"
name = "w"
summary = "wrong in every way"
[[data]]
name = "n"
counter = {}
choice = ["a"]
[[data]]
name = "user"
random = { from = 5, to = 1 }
[[data]]
name = "person"
csv = "bad.csv"
[[data]]
name = "nothing"
[[step]]
path = "orders/${m}"
headers = { x = "${id}" }
body = "${"
body_size = "12 parsecs"
capture.id = { json = "id" }
capture.other = {}
capture.third = { regex = "(" }
[step.answer]
sample = 2
[step.answer.pointers]
"/a" = "${idd}"
"#,
        )
        .unwrap_err();
        insta::assert_snapshot!(problems);
    }
}
