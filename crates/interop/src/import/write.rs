//! Writes an import: the workload as a file, its load as a cell and as a command line.
//!
//! What is written must be read again as the same workload, so every file is parsed before it is
//! stored. Start with [`write_import`].

use super::{Imported, Note, Part};
use serde::Serialize;
use serde_json::Value;
use spec::data::Values;
use spec::experiment::{Load, Overflow, Pause, Spacing};
use spec::name::shell_word;
use spec::problem::Problems;
use spec::template::{self, Template};
use spec::workload::{Answer, Body, BodyCheck, Source, Statuses, Step, Wanted, Workload};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The parameter that is written for a literal `$`.
const DOLLAR: &str = "a-dollar-sign";
/// The server if none is known.
const SERVER: &str = "http://127.0.0.1:8080";

/// One workload that was written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Written {
    /// Its file.
    file: PathBuf,
    /// The number of its steps.
    steps: usize,
    /// The cell for an experiment.
    cell: String,
    /// The command for a shell.
    command: String,
}

impl Written {
    /// Returns the file, the cell for an experiment, and the command line, for people.
    pub fn text(&self) -> String {
        let steps =
            if self.steps == 1 { "1 step".to_owned() } else { format!("{} steps", self.steps) };
        format!(
            "{}: {steps}\n\nIn an experiment\n{}\nBy itself\n  {}\n",
            self.file.display(),
            indented(&self.cell),
            self.command
        )
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Writes every part and its tables into a folder. An existing file is replaced only with `force`.
pub fn write_import(
    imported: &Imported,
    name: &str,
    source: &str,
    folder: &Path,
    force: bool,
) -> Result<Vec<Written>, Problems> {
    let mut files = Vec::new();
    let mut written = Vec::new();
    for part in &imported.parts {
        let name = format!("{name}{}", part.suffix);
        let file = folder.join(format!("{name}.toml"));
        let shown = Written {
            steps: part.workload.steps.len(),
            cell: cell(part, &name),
            command: command(part, &file),
            file: file.clone(),
        };
        let head = head(imported, source, &shown);
        for (value, table) in &part.tables {
            files.push((folder.join(table_name(&name, value)), table.clone().into_bytes()));
        }
        files.extend(bodies(part, &name).map(|(file, bytes)| (folder.join(file), bytes)));
        files.push((file, (head + &workload(part, &name)).into_bytes()));
        written.push(shown);
    }
    if let Some((there, _)) = files.iter().find(|(file, _)| !force && file.exists()) {
        return Err(Problems::plain(
            format!("{} already exists", there.display()),
            "name another with --name, or write over it with --force",
        ));
    }
    for (file, text) in &files {
        let failed = |e| {
            Problems::plain(
                format!("{} cannot be written: {e}", file.display()),
                "does the folder exist, and may you write to it?",
            )
        };
        std::fs::write(file, text).map_err(failed)?;
    }
    // The reader of workloads must accept the text.
    for shown in &written {
        Workload::read(&shown.file)?;
    }
    Ok(written)
}

fn head(imported: &Imported, source: &str, shown: &Written) -> String {
    let mut text = format!("Imported from {source}.\n\n{}\n{}\n", shown.cell, shown.command);
    for (title, notes) in [("Not carried over:", &imported.lost), ("Decided:", &imported.taken)] {
        if !notes.0.is_empty() {
            text += &format!("\n{title}\n");
            text.extend(notes.0.iter().map(|Note { what, why }| format!("- {what}: {why}\n")));
        }
    }
    // A comment must contain no control character.
    let lines = text
        .lines()
        .map(|line| format!("# {line}").trim_end().replace(|c: char| c.is_control(), " "));
    lines.map(|line| line + "\n").collect::<String>() + "\n"
}

fn table_name(workload: &str, value: &str) -> String {
    format!("{workload}-{value}.csv")
}

fn body_name(workload: &str, step: usize) -> String {
    format!("{workload}-body-{}.bin", step + 1)
}

/// Returns the bodies that are not text, each with its file next to the workload.
pub fn bodies(part: &Part, name: &str) -> impl Iterator<Item = (String, Vec<u8>)> {
    part.workload.steps.iter().enumerate().filter_map(move |(n, step)| match &step.body {
        Body::Bytes(bytes) => Some((body_name(name, n), bytes.clone())),
        Body::None | Body::Text(_) => None,
    })
}

/// Writes the cell of an experiment.
pub fn cell(part: &Part, name: &str) -> String {
    let mut text = format!(
        "[[cell]]\nname = {}\nworkload = {}\nload = {}\n",
        quoted(name),
        quoted(name),
        load(&part.load)
    );
    if let Some(timeout) = part.timeout {
        text += &format!("timeout = \"{}\"\n", time(timeout));
    }
    text
}

/// Writes a load as an experiment has it.
pub fn load(load: &Load) -> String {
    if let Load::Arrivals { rate_per_s, stages, spacing, in_flight_max, overflow } = load {
        let mut text = format!("{{ kind = \"arrivals\", rate = {rate_per_s}");
        let stages: Vec<String> = stages
            .iter()
            .map(|s| format!("{{ to = {}, over = \"{}\" }}", s.to_per_s, time(s.over)))
            .collect();
        if !stages.is_empty() {
            text += &format!(", stages = [{}]", stages.join(", "));
        }
        if *spacing == Spacing::Poisson {
            text += ", spacing = \"poisson\"";
        }
        if *overflow == Overflow::Shed {
            text += ", overflow = \"shed\"";
        }
        return text + &format!(", in_flight_max = {in_flight_max} }}");
    }
    if let Load::Closed { connections, depth } = load {
        let depth = if *depth == 1 { String::new() } else { format!(", depth = {depth}") };
        return format!("{{ kind = \"closed\", connections = {connections}{depth} }}");
    }
    let Load::Users { users, ramp, pause, rounds, pooled } = load else { return String::new() };
    let mut text = format!("{{ kind = \"users\", users = {users}");
    if !ramp.is_zero() {
        text += &format!(", ramp = \"{}\"", time(*ramp));
    }
    if *pause != Pause::Constant(Duration::ZERO) {
        text += &format!(", pause = \"{}\"", pause_text(*pause));
    }
    for (field, number) in [("rounds", *rounds), ("pooled", pooled.map(u64::from))] {
        text += &number.map(|n| format!(", {field} = {n}")).unwrap_or_default();
    }
    text + " }"
}

/// Writes the line of `faceoff load`.
pub fn command(part: &Part, file: &Path) -> String {
    let mut words =
        vec!["faceoff load".to_owned(), shell_word(part.server.as_deref().unwrap_or(SERVER))];
    words.push(format!("--workload {}", shell_word(&file.display().to_string())));
    if let Load::Arrivals { rate_per_s, stages, spacing, in_flight_max, overflow } = &part.load {
        words.push(format!("-R {rate_per_s} -c {in_flight_max}"));
        let stages: Vec<String> =
            stages.iter().map(|s| format!("{}:{}", time(s.over), s.to_per_s)).collect();
        if !stages.is_empty() {
            words.push(format!("--stages {}", stages.join(",")));
        }
        words.extend((*spacing == Spacing::Poisson).then(|| "--poisson".to_owned()));
        words.extend((*overflow == Overflow::Shed).then(|| "--shed".to_owned()));
    }
    if let Load::Closed { connections, depth } = &part.load {
        words.push(format!("-c {connections}"));
        let word = if part.flags.contains(&"--http2") { "--streams" } else { "--pipeline" };
        words.extend((*depth > 1).then(|| format!("{word} {depth}")));
    }
    if let Load::Users { users, ramp, pause, rounds, pooled } = &part.load {
        words.push(format!("--users {users}"));
        words.extend((!ramp.is_zero()).then(|| format!("--ramp {}", time(*ramp))));
        words.extend(
            (*pause != Pause::Constant(Duration::ZERO))
                .then(|| format!("--pause {}", shell_word(&pause_text(*pause)))),
        );
        words.extend(rounds.map(|n| format!("--rounds {n}")));
        words.extend(pooled.map(|n| format!("--pooled {n}")));
    }
    words.extend(part.duration.map(|d| format!("-d {}", time(d))));
    words.extend(part.timeout.map(|t| format!("--timeout {}", time(t))));
    words.extend(part.flags.iter().map(|flag| (*flag).to_owned()));
    words.join(" ")
}

/// Writes a workload as [`Workload::read`] reads it.
pub fn workload(part: &Part, name: &str) -> String {
    let Part { workload, parameters, .. } = part;
    let steps: String = workload
        .steps
        .iter()
        .enumerate()
        .map(|(n, made)| step(made, &body_name(name, n)))
        .collect();
    let mut parameters = parameters.clone();
    if steps.contains(&format!("${{{DOLLAR}}}")) {
        parameters.insert(DOLLAR.into(), "$".into());
    }
    let mut text = format!("name = {}\nsummary = {}\n", quoted(name), quoted(&workload.summary));
    if !parameters.is_empty() {
        text += &format!(
            "parameters = {}\n",
            table(parameters.iter().map(|(name, value)| (name.clone(), quoted(value))))
        );
    }
    for data in &workload.data {
        text += &format!("\n[[data]]\nname = {}\n", quoted(&data.name));
        text += &match &data.values {
            Values::Counter { from, step } => {
                format!("counter = {{ from = {from}, step = {step} }}\n")
            }
            Values::Number { from, to } => format!("random = {{ from = {from}, to = {to} }}\n"),
            Values::Text(size) => format!("text = {{ size = \"{size}\" }}\n"),
            Values::Choice(texts) => format!(
                "choice = [{}]\n",
                texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
            ),
            Values::Rows { at_random, .. } => {
                let order = if *at_random { "order = \"random\"\n" } else { "" };
                format!("csv = {}\n{order}", quoted(&table_name(name, &data.name)))
            }
        };
    }
    text + &steps
}

/// Writes a template so that it is read as the same. A `$` before a value would make it literal, so
/// a parameter is written for the sign.
fn shown(template: &Template) -> String {
    let mut text = String::new();
    for (n, part) in template.parts.iter().enumerate() {
        match (part, template.parts.get(n + 1)) {
            (template::Part::Text(plain), Some(template::Part::Value(_))) => {
                let kept = plain.trim_end_matches('$');
                text += &kept.replace("${", "$${");
                text += &format!("${{{DOLLAR}}}").repeat(plain.len() - kept.len());
            }
            (template::Part::Text(plain), _) => text += &plain.replace("${", "$${"),
            (template::Part::Value(name), _) => text += &format!("${{{name}}}"),
        }
    }
    text
}

/// Writes the headers of a request. Headers of one name become a list.
fn headers(all: &[(String, Template)]) -> String {
    let mut named: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in all {
        let value = quoted(&shown(value));
        match named.iter_mut().find(|(other, _)| other == name) {
            Some((_, values)) => values.push(value),
            None => named.push((name.clone(), vec![value])),
        }
    }
    table(named.into_iter().map(|(name, mut values)| match values.len() {
        1 => (name, values.remove(0)),
        _ => (name, format!("[{}]", values.join(", "))),
    }))
}

fn step(step: &Step, body_file: &str) -> String {
    let mut text = format!(
        "\n[[step]]\nmethod = {}\npath = {}\n",
        quoted(&step.method),
        quoted(&shown(&step.path))
    );
    if !step.headers.is_empty() {
        text += &format!("headers = {}\n", headers(&step.headers));
    }
    match &step.body {
        Body::None => {}
        Body::Text(body) => text += &format!("body = {}\n", quoted(&shown(body))),
        Body::Bytes(_) => text += &format!("body_file = {}\n", quoted(body_file)),
    }
    if let Some(status) = step.declined {
        text += &format!("declined = {status}\n");
    }
    for capture in &step.captures {
        let from = match &capture.from {
            Source::Json(pointer) => vec![("json".to_owned(), quoted(pointer))],
            Source::Header(header) => vec![("header".to_owned(), quoted(header))],
            Source::Body => Vec::new(),
        };
        let regex = capture.regex.iter().map(|regex| ("regex".to_owned(), quoted(regex.as_str())));
        text += &format!("capture.{} = {}\n", capture.name, table(from.into_iter().chain(regex)));
    }
    text + &answer(&step.answer)
}

fn answer(answer: &Answer) -> String {
    let Statuses { from, to } = answer.status;
    let status = if from == to { from.to_string() } else { format!("\"{}\"", answer.status) };
    let mut text = format!("[step.answer]\nstatus = {status}\n");
    if !answer.headers.is_empty() {
        text += &format!(
            "headers = {}\n",
            table(answer.headers.iter().map(|(name, value)| (name.clone(), quoted(&shown(value)))))
        );
    }
    match &answer.body {
        BodyCheck::Any => {}
        BodyCheck::Text(body) => text += &format!("body = {}\n", quoted(&shown(body))),
        BodyCheck::Bytes(bytes) => {
            text += &format!(
                "body = {}\n",
                quoted(&String::from_utf8_lossy(bytes).replace("${", "$${"))
            )
        }
        BodyCheck::Json(json) => text += &format!("json = {}\n", quoted(&json.to_string())),
        BodyCheck::Length(length) => text += &format!("length = {length}\n"),
    }
    let wanted = answer.pointers.iter().filter_map(|(pointer, wanted)| match wanted {
        Wanted::Spelling(template) => Some((pointer.clone(), quoted(&shown(template)))),
        Wanted::Value(value) => plain(value).map(|value| (pointer.clone(), value)),
        Wanted::Present => None,
    });
    let wanted: Vec<_> = wanted.collect();
    if !wanted.is_empty() {
        text += &format!("pointers = {}\n", table(wanted.into_iter()));
    }
    let is_present = |(pointer, wanted): &(String, Wanted)| match wanted {
        Wanted::Present => Some(quoted(pointer)),
        Wanted::Value(value) if plain(value).is_none() => Some(quoted(pointer)),
        _ => None,
    };
    let present: Vec<String> = answer.pointers.iter().filter_map(is_present).collect();
    if !present.is_empty() {
        text += &format!("present = [{}]\n", present.join(", "));
    }
    if let Some(regex) = &answer.regex {
        text += &format!("regex = {}\n", quoted(regex.as_str()));
    }
    if answer.sample < 1.0 {
        text += &format!("sample = {}\n", answer.sample);
    }
    text
}

/// Writes a JSON value as TOML; `None` for null and for nested values.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::String(text) => Some(quoted(&text.replace("${", "$${"))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn table(fields: impl Iterator<Item = (String, String)>) -> String {
    let bare = |key: &str| {
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let fields: Vec<String> = fields
        .map(|(key, value)| {
            format!("{} = {value}", if bare(&key) { key.clone() } else { quoted(&key) })
        })
        .collect();
    if fields.is_empty() { "{}".into() } else { format!("{{ {} }}", fields.join(", ")) }
}

/// Writes a TOML string: literal if possible, otherwise with escapes.
pub fn quoted(text: &str) -> String {
    let needs_escape = |c: char| c.is_control() || c == '\'';
    if text.contains(['"', '\\']) && !text.contains(needs_escape) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Writes a duration so that it is read as the same.
pub fn time(duration: Duration) -> String {
    let ns = duration.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (scale, unit) =
        units.into_iter().find(|(scale, _)| ns.is_multiple_of(*scale)).unwrap_or((1, "ns"));
    format!("{}{unit}", ns / scale)
}

fn pause_text(pause: Pause) -> String {
    match pause {
        Pause::Constant(pause) => time(pause),
        Pause::Uniform { from, to } => format!("{}..{}", time(from), time(to)),
        Pause::Exponential(mean) => format!("~{}", time(mean)),
    }
}
