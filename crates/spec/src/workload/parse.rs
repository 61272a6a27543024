//! Reads the file of a workload, and reports every problem in it.
//!
//! A template may name only values that are known by then: data, parameters, and captures of
//! earlier steps ([`Scope`]). Start with [`parse_workload`].

use super::database;
use super::{Answer, BUILT_IN, Body, BodyCheck, Capture, Source, Statuses, Step, Wanted, Workload};
use crate::data::{self, Parameters};
use crate::name::did_you_mean;
use crate::reader::{Levels, Table};
use crate::secret;
use crate::template::{Part, Template};
use crate::units;
use crate::variable;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Reads a workload from its file, with other values for some of its parameters.
pub(super) fn parse_workload(
    table: &Table<'_>,
    path: &Path,
    given: &BTreeMap<String, String>,
) -> Workload {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = table.required_string("name");
    let summary = table.required_string("summary");
    let parameters = parse_parameters(table, given);
    let data = table.tables("data", |t| data::parse_data(t, folder, &parameters));
    let mut scope = Scope { known: BUILT_IN.into_iter().map(str::to_owned).collect(), parameters };
    for data in &data {
        for name in data.names() {
            if scope.parameters.0.contains_key(&name) || !scope.known.insert(name.clone()) {
                table.problem(
                    "data",
                    format!("the value `{name}` is defined twice"),
                    "give each its own name",
                );
            }
        }
    }
    let steps = table.tables("step", |t| parse_step(t, folder, &mut scope));
    let stored = table.table("database", |t| database::parse_stored(t, folder, &scope.parameters));
    if let (None, Some(step)) = (&stored, steps.iter().find(|step| !step.stores.is_empty())) {
        let hint = "write [database] with `tables`, the file of the statements that make them";
        table.problem(
            "step",
            format!(
                "`{} {}` stores rows, and the workload names no tables",
                step.method, step.path
            ),
            hint,
        );
    }
    let workload = Workload { name, summary, data, steps, stored };
    if path.file_stem().is_some_and(|stem| *stem != *workload.name) {
        table.problem(
            "name",
            format!("the name `{}` is not that of its file", workload.name),
            "name the file `<name>.toml`",
        );
    }
    if workload.steps.is_empty() {
        table.problem("step", "the workload makes no request", "write one [[step]] or more");
    }
    workload
}

/// The names that templates may use.
struct Scope {
    /// Values that are drawn, or captured by earlier steps.
    known: BTreeSet<String>,
    parameters: Parameters,
}

fn parse_parameters(table: &Table<'_>, given: &BTreeMap<String, String>) -> Parameters {
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
                let hint = format!(
                    "keep one; a cell of an experiment sweeps it: `with = {{ {name} = [...] }}`"
                );
                table.problem("parameters", format!("`{name}` has several values"), hint);
            }
        }
    }
    for (name, value) in given {
        if let Some(own) = all.get_mut(name) {
            own.clone_from(value);
        } else {
            let hint = did_you_mean(name, all.keys().map(String::as_str));
            table.problem(
                "parameters",
                format!("a cell sets `{name}`, which is not a parameter of this workload"),
                hint,
            );
        }
    }
    Parameters(all)
}

fn parse_step(table: &Table<'_>, folder: &Path, scope: &mut Scope) -> Step {
    let step = Step {
        method: table.string("method").unwrap_or_else(|| "GET".into()),
        path: {
            table.required_string("path");
            template(table, "path", scope).unwrap_or_default()
        },
        headers: parse_headers(table, scope),
        body: parse_body(table, folder, scope),
        answer: table.table("answer", |t| parse_answer(t, folder, scope)).unwrap_or_else(|| {
            table.problem(
                "answer",
                "the step does not say what a correct response is",
                "write [step.answer] with `status` and a body check",
            );
            Answer::default()
        }),
        captures: table
            .named_tables("capture", |name, t| parse_capture(name, t, scope))
            .into_values()
            .flatten()
            .collect(),
        declined: table.integer("declined", 100, 599).map(|n| n as u16),
        stores: database::parse_stores(table),
    };
    check_captures(table, &step, scope);
    // The captures are known to later steps, not to this one.
    scope.known.extend(step.captures.iter().map(|capture| capture.name.clone()));
    check_path(table, &step);
    if !is_method(&step.method) {
        table.problem(
            "method",
            format!("`{}` is not a method", step.method),
            "write GET, POST, ...",
        );
    }
    check_headers(table, &step);
    secret::notice(&step.path, &step.headers);
    step
}

fn check_captures(table: &Table<'_>, step: &Step, scope: &Scope) {
    for Capture { name, .. } in &step.captures {
        if !data::is_value_name(name) {
            table.problem(
                "capture",
                format!("`{name}` cannot name a value"),
                "use letters, digits, `-` and `_`",
            );
        }
        if BUILT_IN.contains(&name.as_str()) || scope.parameters.0.contains_key(name) {
            table.problem(
                "capture",
                format!("`{name}` is already defined by faceoff or by `parameters`"),
                "give the captured value another name",
            );
        }
    }
}

fn check_path(table: &Table<'_>, step: &Step) {
    let begins_well = match step.path.parts.first() {
        Some(Part::Text(text)) => text.starts_with('/'),
        other => other.is_some(),
    };
    if !begins_well && table.has("path") {
        table.problem(
            "path",
            format!("the path `{}` does not start with `/`", step.path),
            "the server's address comes from the runner",
        );
    }
    if step.path.texts().any(|text| text.contains(|c: char| c.is_ascii_control() || c == ' ')) {
        table.problem(
            "path",
            "the path holds a space or a control character",
            "write it percent-encoded, as it is sent",
        );
    }
}

fn check_headers(table: &Table<'_>, step: &Step) {
    for (name, value) in &step.headers {
        if !is_header_name(name) || !value.texts().all(is_header_value) {
            table.problem(
                "headers",
                format!("`{name}: {value}` is not a header"),
                "names are tokens, values have no line breaks",
            );
        }
        if is_written_by_generator(name) {
            table.problem(
                "headers",
                format!("the header `{name}` is written by the load generator itself"),
                "leave it out",
            );
        }
    }
    if step.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host")).count() > 1 {
        table.problem("headers", "a request has one `host`", "keep one value");
    }
}

/// Returns whether a text can be sent as a method: one or more letters and `-`.
pub fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
}

/// Returns whether a text can be sent as a header's name, which is a token (RFC 9110, 5.6.2).
pub fn is_header_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Returns whether a text can be sent as a header's value, or a part of one: it has no line break.
pub fn is_header_value(text: &str) -> bool {
    !text.contains(['\r', '\n', '\0'])
}

/// Returns whether only the load generator writes a header. These headers decide how requests are
/// framed and connections are kept.
pub fn is_written_by_generator(header: &str) -> bool {
    ["content-length", "connection", "transfer-encoding"]
        .iter()
        .any(|ours| header.eq_ignore_ascii_case(ours))
}

/// Reads a field as a template whose names are all known.
fn template(table: &Table<'_>, key: &'static str, scope: &Scope) -> Option<Template> {
    let text = table.string(key)?;
    checked(table, key, &text, scope)
}

fn checked(table: &Table<'_>, key: &str, text: &str, scope: &Scope) -> Option<Template> {
    match Template::parse(text) {
        Err(problem) => {
            table.problem(
                key,
                problem,
                "a value is written `${name}`, a plain `${` is written `$${`",
            );
            None
        }
        Ok(template) => {
            let template = template.with(&scope.parameters.0);
            for name in template.names().filter(|name| !scope.known.contains(*name)) {
                if let Some(variable) = name.strip_prefix(variable::PREFIX) {
                    if !variable::is_variable(variable) {
                        table.problem(
                            key,
                            format!("`${{{name}}}` names no environment variable"),
                            "use letters, digits and `_`",
                        );
                    }
                    continue;
                }
                table.problem(
                    key,
                    format!("nothing before this step gives the value `{name}`"),
                    did_you_mean(
                        name,
                        scope.known.iter().chain(scope.parameters.0.keys()).map(String::as_str),
                    ),
                );
            }
            Some(template)
        }
    }
}

fn templates(table: &Table<'_>, key: &'static str, scope: &Scope) -> Vec<(String, Template)> {
    let texts = table.map(key);
    texts
        .into_iter()
        .map(|(name, text)| (name, checked(table, key, &text, scope).unwrap_or_default()))
        .collect()
}

/// Reads the headers of a request. A list becomes several headers of that name, in order.
fn parse_headers(table: &Table<'_>, scope: &Scope) -> Vec<(String, Template)> {
    let named = table.texts_or_lists("headers").into_iter();
    let each =
        named.flat_map(|(name, texts)| texts.into_iter().map(move |text| (name.clone(), text)));
    each.map(|(name, text)| (name, checked(table, "headers", &text, scope).unwrap_or_default()))
        .collect()
}

fn parse_body(table: &Table<'_>, folder: &Path, scope: &Scope) -> Body {
    let text = template(table, "body", scope).map(Body::Text);
    let file = bytes(table, "body_file", folder, scope).map(Body::Bytes);
    let size = table
        .parsed("body_size", |text| data::parse_size(&scope.parameters.fill(text)))
        .map(|size| Body::Bytes(data::filler(size)));
    let mut bodies: Vec<Body> = [text, file, size].into_iter().flatten().collect();
    if bodies.len() > 1 {
        table.problem(
            "",
            "the step has more than one body",
            "keep one of `body`, `body_file`, `body_size`",
        );
    }
    bodies.pop().unwrap_or_default()
}

fn parse_capture(name: &str, table: &Table<'_>, scope: &Scope) -> Option<Capture> {
    let json = table.string("json").map(|pointer| {
        check_pointer(table, "json", &pointer);
        Source::Json(pointer)
    });
    let header = table.string("header").map(Source::Header);
    let regex = table.parsed("regex", |text| parse_regex(&scope.parameters.fill(text)));
    if json.is_some() && header.is_some() {
        table.problem(
            "header",
            "the value is taken from two places",
            "keep one of `json` and `header`",
        );
    }
    if json.is_none() && header.is_none() && !table.has("regex") {
        table.problem(
            "",
            format!("the capture `{name}` names no source"),
            "write `json = \"/pointer\"`, `header = \"Name\"` or `regex = \"...\"`",
        );
        return None;
    }
    Some(Capture { name: name.to_owned(), from: json.or(header).unwrap_or(Source::Body), regex })
}

fn parse_answer(table: &Table<'_>, folder: &Path, scope: &Scope) -> Answer {
    let fill = |text: &str| scope.parameters.fill(text);
    let text = template(table, "body", scope).map(BodyCheck::Text);
    let file = bytes(table, "body_file", folder, scope).map(BodyCheck::Bytes);
    let json =
        table.string("json").and_then(|text| parse_json(table, "json", fill(&text).as_bytes()));
    let json_file = bytes(table, "json_file", folder, scope)
        .and_then(|text| parse_json(table, "json_file", &text));
    let length = match table.is_text("length") {
        true => table.parsed("length", |text| units::parse_bytes(&fill(text))),
        false => table.integer("length", 0, u64::MAX),
    };
    let length = length.map(BodyCheck::Length);
    let mut checks: Vec<BodyCheck> =
        [text, file, json, json_file, length].into_iter().flatten().collect();
    if checks.len() > 1 {
        table.problem(
            "",
            "the response's body is described more than once",
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
    serde_json::from_slice(text)
        .map(BodyCheck::Json)
        .map_err(|e| table.problem(key, format!("not JSON: {e}"), "fix the JSON"))
        .ok()
}

fn check_pointer(table: &Table<'_>, key: &str, pointer: &str) {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        table.problem(
            key,
            format!("`{pointer}` is not a JSON pointer"),
            format!("write `/{}`", pointer.replace('.', "/")),
        );
    }
}

fn parse_regex(text: &str) -> Result<regex_lite::Regex, String> {
    regex_lite::Regex::new(text)
        .map_err(|error| format!("`{text}` is not a regular expression: {error}"))
}

/// Reads the bytes of a file next to the workload.
fn bytes(table: &Table<'_>, key: &'static str, folder: &Path, scope: &Scope) -> Option<Vec<u8>> {
    let name = scope.parameters.fill(&table.string(key)?);
    std::fs::read(folder.join(&name))
        .map_err(|e| {
            table.problem(
                key,
                format!("`{name}` cannot be read: {e}"),
                "the path is relative to the workload's folder",
            )
        })
        .ok()
}
