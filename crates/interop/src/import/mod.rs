//! Reads plans of other tools as a workload and a load.
//!
//! [`read_plan`] recognizes the format: a plan of JMeter, a script of wrk, a HAR recording, an
//! OpenAPI description, or command lines of curl. Each format has a module. What it cannot carry
//! over it notes in [`Imported::lost`], and what it had to decide in [`Imported::taken`]; nothing
//! is dropped silently. [`Imported::write`] writes the workload and its tables.

mod curl;
mod escapes;
mod har;
mod jmx;
mod jsonpath;
mod lua;
mod multipart;
mod openapi;
#[cfg(test)]
mod tests;
mod wire;
pub mod words;
mod write;
mod wrk;
pub mod xml;

pub use write::{Written, quoted, time};

use wire::{
    FORM, Spoken, add_header, default_header, has_header, one_server, path, percent_decoded, place,
    protocol, split_url, userinfo,
};

use serde::Serialize;
use spec::data::is_value_name;
use spec::experiment::Load;
use spec::name::{is_name, percent_encoded as encoded};
use spec::problem::Problems;
use spec::secret;
use spec::workload::{Answer, BUILT_IN, Statuses, Step, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// The most bytes of a file.
const LONGEST: u64 = 64 << 20;
/// The most steps of one workload.
const MOST_STEPS: usize = 2_000;

/// The workloads and loads of a plan.
#[derive(Default)]
pub struct Imported {
    parts: Vec<Part>,
    /// What could not be carried over.
    pub lost: Notes,
    /// Decisions about what the plan leaves open or writes differently.
    pub taken: Notes,
}

impl Imported {
    /// Writes every part and its tables into a folder. An existing file is replaced only with
    /// `force`.
    ///
    /// # Errors
    /// A file that exists or cannot be written.
    pub fn write(
        &self,
        name: &str,
        source: &str,
        folder: &Path,
        force: bool,
    ) -> Result<Vec<Written>, Problems> {
        write::write_import(self, name, source, folder, force)
    }
}

/// Reads a plan from a file, or from standard input if the path is `-`.
///
/// # Errors
/// A file that cannot be read or has an unknown format; a plan without a request.
pub fn read_plan(path: &str, defined: &BTreeMap<String, String>) -> Result<Imported, Problems> {
    let text = read_text(path)?;
    let folder = Path::new(path)
        .parent()
        .filter(|folder| path != "-" && !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    understand(path, &text, folder, defined)
}

/// Reads the arguments of a command line of curl.
///
/// # Errors
/// Arguments that are not understood.
pub fn read_curl(arguments: &[String]) -> Result<Imported, Problems> {
    curl::import(arguments, Path::new("."))
}

/// One workload and its load.
struct Part {
    /// Follows the name, if there are several parts.
    suffix: String,
    workload: Workload,
    /// Fixed texts by name, for the whole workload.
    parameters: BTreeMap<String, String>,
    /// Tables next to the workload: the value they belong to, and their text.
    tables: BTreeMap<String, String>,
    /// `http://host:port`
    server: Option<String>,
    load: Load,
    duration: Option<Duration>,
    timeout: Option<Duration>,
    /// Further options for `faceoff load`.
    flags: Vec<&'static str>,
}

impl Part {
    fn new(steps: Vec<Step>, load: Load) -> Part {
        Part {
            suffix: String::new(),
            workload: Workload { steps, ..Workload::default() },
            parameters: BTreeMap::new(),
            tables: BTreeMap::new(),
            server: None,
            load,
            duration: None,
            timeout: None,
            flags: Vec::new(),
        }
    }
}

/// Notes with their reasons, in the order in which they were found, each once.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Notes(Vec<Note>);

/// A part of the source, with the reason for the note.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ImportNote"))]
struct Note {
    /// The part.
    what: String,
    /// The reason.
    why: String,
}

/// Names the form of [`ImportReport`].
pub const SCHEMA: &str = "faceoff.import.v1";

/// What `faceoff import --format json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportReport<'a> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The file, `-` for standard input, or `curl`.
    pub source: &'a str,
    /// The workloads that were written.
    pub workloads: &'a [Written],
    /// What could not be carried over.
    pub lost: &'a Notes,
    /// Decisions about what the plan leaves open or writes differently.
    pub taken: &'a Notes,
}

impl Notes {
    fn add(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let note = Note { what: what.into(), why: why.into() };
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Makes the error for a source without requests, with everything that was not carried over.
    fn nothing(&self, message: &str, hint: &str) -> Problems {
        Problems::plain(format!("{message}{}", self.text("Not carried over").trim_end()), hint)
    }

    /// Returns whether there are no notes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the notes as lines below a title; empty if there are none.
    pub fn text(&self, title: &str) -> String {
        let lines: Vec<String> =
            self.0.iter().map(|note| format!("  {}: {}\n", note.what, note.why)).collect();
        if lines.is_empty() { String::new() } else { format!("\n{title}\n{}", lines.concat()) }
    }
}

/// The requests of a curl command line, to be written as a workload.
pub struct Requests {
    part: Part,
    lost: Notes,
    /// Environment variables that replace secrets.
    kept_out: Vec<String>,
}

impl Requests {
    /// Reads the words after `curl`.
    ///
    /// # Errors
    /// What is not understood.
    pub fn of_curl(words: &[String]) -> Result<Requests, Problems> {
        let Imported { mut parts, lost, .. } = curl::import(words, Path::new("."))?;
        let mut part = parts.remove(0);
        let mut kept_out: Vec<String> = part
            .workload
            .steps
            .iter_mut()
            .flat_map(|step| secret::lift(&mut step.path, &mut step.headers))
            .collect();
        kept_out.sort_unstable();
        kept_out.dedup();
        Ok(Requests { part, lost, kept_out })
    }

    /// Returns the workload. Its correct responses are those with any status of success, until they
    /// are changed.
    pub fn workload(&mut self) -> &mut Workload {
        &mut self.part.workload
    }

    /// Writes the file of a workload. Its last table is the check of the last response.
    pub fn text(&self, name: &str) -> String {
        write::workload(&self.part, name)
    }

    /// Files for the bodies that are not text, to be written next to the workload.
    pub fn bodies(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        write::bodies(&self.part, name).collect()
    }

    /// Describes which secrets were replaced, and by which variables; `None` if there are none.
    pub fn kept_out(&self) -> Option<String> {
        let variables = self.kept_out.join(", ");
        let text = || {
            format!(
                "secrets of the request are written to no file: set {variables} in the environment to do this again (docs/guide/secrets.md)"
            )
        };
        (!variables.is_empty()).then(text)
    }

    /// Returns what could not be carried over.
    pub fn lost(&self) -> String {
        self.lost.text("Not carried over")
    }
}

/// Reads a plan of JMeter with one thread group: its workload, and the line of `faceoff load`.
#[cfg(test)]
pub fn of_plan(text: &str) -> Result<(Workload, String), Problems> {
    let part = jmx::import(text, Path::new("."), &BTreeMap::new())?.parts.remove(0);
    let line = write::command(&part, Path::new("it.toml"));
    Ok((part.workload, line))
}

fn read_text(path: &str) -> Result<String, Problems> {
    let failed = |e: std::io::Error| {
        Problems::plain(
            format!("{path} cannot be read: {e}"),
            "does it exist, and may you read it?",
        )
    };
    let mut bytes = Vec::new();
    match path {
        "-" => std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes),
        path => std::fs::File::open(path)
            .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)),
    }
    .map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Problems::plain(
            format!("{path} is longer than 64 MiB"),
            "leave out what is not to be loaded",
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Problems::plain(format!("{path} is not UTF-8"), "save it as UTF-8"))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Reads the text of a file that another file names.
fn text_of(path: &Path) -> std::io::Result<String> {
    String::from_utf8(bytes_of(path)?).map_err(|_| std::io::Error::other("it is not UTF-8"))
}

/// Reads the bytes of a regular file that another file names, up to the size limit of imports.
fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() || about.len() > LONGEST {
        return Err(std::io::Error::other("it is not a regular file, or is larger than 64 MiB"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file by its content. Its name decides only if the content does not.
fn understand(
    path: &str,
    text: &str,
    folder: &Path,
    defined: &BTreeMap<String, String>,
) -> Result<Imported, Problems> {
    let begins = text.trim_start();
    let extension =
        Path::new(path).extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is_curl = || words::first_line(begins).is_some_and(|line| curl::arguments(&line).is_some());
    match extension.as_str() {
        "lua" => wrk::import(text, defined),
        _ if begins.starts_with('<') => jmx::import(text, folder, defined),
        _ if is_curl() => curl::import_lines(text, folder),
        _ if begins.contains("Invoke-WebRequest") || begins.contains("Invoke-RestMethod") => {
            Err(Problems::plain(
                format!("{path} is a command of PowerShell, which is not read"),
                "copy the request as cURL, for bash or for cmd",
            ))
        }
        _ => match openapi::document(text)? {
            Some(document) if document.get("log").is_some() => har::import(&document),
            Some(document) if document.get("openapi").or(document.get("swagger")).is_some() => {
                openapi::import(&document)
            }
            _ if text.contains("wrk.") || text.contains("request =") => wrk::import(text, defined),
            _ => Err(Problems::plain(
                format!("{path} is nothing that can be imported"),
                "known are JMeter's plans (.jmx), scripts of wrk (.lua), recordings (.har), OpenAPI descriptions (.yaml, .json) and command lines of curl",
            )),
        },
    }
}

/// Derives the name of a workload from that of a file.
pub fn name_for(source: &str) -> String {
    let stem = Path::new(source)
        .file_stem()
        .map(|stem| stem.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let name: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' })
        .take(40)
        .collect();
    let name = name.trim_matches('-').to_owned();
    if is_name(&name) { name } else { "imported".to_owned() }
}

/// The names of values that are taken.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Returns a new name that templates can use, as near to a wish as possible.
    fn new_name(&mut self, wish: &str) -> String {
        let name = value_name(wish);
        let free = (1..)
            .map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") })
            .find(|name| !self.0.contains(name));
        let free = free.unwrap_or(name);
        self.0.insert(free.clone());
        free
    }
}

/// Returns a name that templates can use, as near to a wish as possible.
fn value_name(wish: &str) -> String {
    let name: String = wish
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' })
        .take(60)
        .collect();
    match is_value_name(&name) && !BUILT_IN.contains(&name.as_str()) {
        true => name,
        false => format!("its-{}", if name.is_empty() { "value" } else { &name }),
    }
}

/// Returns the beginning of a text, for people.
fn shortened(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

/// Returns the check of a status.
fn answer(status: Statuses) -> Answer {
    Answer { status, ..Answer::default() }
}
