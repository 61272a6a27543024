//! `faceoff import`: what other tools are given to do, as a workload and a load, and what of it could not be carried over.

mod curl;
mod har;
mod jmx;
mod jsonpath;
mod lua;
mod openapi;
#[cfg(test)]
mod tests;
pub mod words;
mod write;
mod wrk;
mod xml;

pub use write::{quoted, time};

use crate::Format;
use crate::exit::{BREACHED, Error};
use crate::output::{json as print_json, print};
use clap::{Args, Subcommand};
use model::data::is_value_name;
use model::experiment::Load;
use model::name::{is_name, percent_encoded as encoded};
use model::problem::Problems;
use model::secret;
use model::template::Template;
use model::workload::{Answer, BUILT_IN, Statuses, Step, Workload, is_header_name, is_header_value, is_written_by_generator};
use serde::Serialize;
use serde_json::json as value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What `--format json` prints.
const SCHEMA: &str = "faceoff.import.v1";
/// The most that a file may hold.
const LONGEST: u64 = 64 << 20;
/// The most steps that one workload is given.
const MOST_STEPS: usize = 2_000;

/// What `faceoff import` is asked.
#[derive(Args)]
#[command(
    subcommand_negates_reqs = true,
    after_help = "Exit codes: 0 done (what could not be carried over is said), 2 not understood, 3 something could not be carried over (with --strict)."
)]
pub struct Options {
    /// A JMeter plan (.jmx), a script of wrk (.lua), a recording (.har), an OpenAPI description (.yaml, .json), or a file with a
    /// command line of curl; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    input: Option<String>,
    #[command(subcommand)]
    line: Option<Line>,
    /// What the workload is called [default: as the file]
    #[arg(long)]
    name: Option<String>,
    /// The folder that it is written to
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    to: PathBuf,
    /// A property of the plan, as JMeter's -J; may be given several times
    #[arg(long = "define", short = 'J', value_name = "NAME=VALUE", value_parser = definition)]
    defined: Vec<(String, String)>,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
    /// Exit with 3 where something could not be carried over
    #[arg(long)]
    strict: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Subcommand)]
enum Line {
    /// A command line of curl, as it stands
    #[command(disable_help_flag = true)]
    Curl {
        /// What follows `curl`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "ARGUMENT")]
        words: Vec<String>,
    },
}

fn definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` defines nothing: write NAME=VALUE"))?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// What a file came to.
#[derive(Default)]
struct Imported {
    parts: Vec<Part>,
    /// What could not be carried over.
    lost: Notes,
    /// What was decided where the file says nothing, or says it otherwise.
    taken: Notes,
}

/// One workload and its load.
struct Part {
    /// Behind the name, where there are several.
    suffix: String,
    workload: Workload,
    /// Texts that stand for names throughout the workload.
    parameters: BTreeMap<String, String>,
    /// Tables beside the workload: the value they belong to, and their text.
    tables: BTreeMap<String, String>,
    /// `http://host:port`
    server: Option<String>,
    load: Load,
    duration: Option<Duration>,
    timeout: Option<Duration>,
    /// Further words for `faceoff load`.
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

/// Things, each with its reason, in the order in which they were met; each is said once.
#[derive(Default, Serialize)]
#[serde(transparent)]
struct Notes(Vec<Note>);

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Note {
    what: String,
    why: String,
}

impl Notes {
    fn add(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let note = Note { what: what.into(), why: why.into() };
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    fn text(&self, title: &str) -> String {
        let lines: Vec<String> = self.0.iter().map(|note| format!("  {}: {}\n", note.what, note.why)).collect();
        if lines.is_empty() { String::new() } else { format!("\n{title}\n{}", lines.concat()) }
    }
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let (source, imported) = match (&options.line, &options.input) {
        (Some(Line::Curl { words }), _) => ("curl".to_owned(), curl::import(words, Path::new("."))?),
        (None, Some(path)) => {
            let text = read(path)?;
            let folder = Path::new(path).parent().filter(|folder| path != "-" && !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            (path.clone(), understand(path, &text, folder, &options.defined.iter().cloned().collect())?)
        }
        // clap asks for one of them.
        (None, None) => return Err(Problems::plain("nothing is to be imported", "name a file").into()),
    };
    let name = match &options.name {
        Some(name) if is_name(name) => name.clone(),
        Some(name) => {
            return Err(Problems::plain(format!("`{name}` cannot name a workload"), "use letters, digits, `-`, `_` and `.`").into());
        }
        None => name_for(&source),
    };
    let written = write::write(&imported, &name, &source, &options.to, options.force)?;
    match options.format {
        Format::Text => {
            let parts: Vec<String> = written.iter().map(write::Written::text).collect();
            let lost = match imported.lost.0.len() {
                0 => "\nEverything was carried over.\n".to_owned(),
                _ => imported.lost.text("Not carried over"),
            };
            print(&(parts.join("\n") + &lost + &imported.taken.text("Decided")));
        }
        Format::Json => print_json(&value!({
            "schema": SCHEMA,
            "source": source,
            "workloads": written,
            "lost": imported.lost,
            "taken": imported.taken,
        })),
    }
    Ok(ExitCode::from(if options.strict && !imported.lost.0.is_empty() { BREACHED } else { 0 }))
}

/// What a command line of curl asks, to be written as a workload.
pub struct Requests {
    part: Part,
    lost: Notes,
    /// Environment variables that stand for what must not be written down.
    kept_out: Vec<String>,
}

impl Requests {
    /// Reads the words behind `curl`.
    ///
    /// # Errors
    /// What cannot be understood.
    pub fn of_curl(words: &[String]) -> Result<Requests, Problems> {
        let Imported { mut parts, lost, .. } = curl::import(words, Path::new("."))?;
        let mut part = parts.remove(0);
        let mut kept_out: Vec<String> = part.workload.steps.iter_mut().flat_map(secret::lift).collect();
        kept_out.sort_unstable();
        kept_out.dedup();
        Ok(Requests { part, lost, kept_out })
    }

    /// The workload, whose right answers are those of any success until somebody says otherwise.
    pub fn workload(&mut self) -> &mut Workload {
        &mut self.part.workload
    }

    /// As a file of a workload; the last table is what is asked of the last answer.
    pub fn text(&self, name: &str) -> String {
        write::workload(&self.part, name)
    }

    /// What must not be written down, and what stands for it; where that is anything.
    pub fn kept_out(&self) -> Option<String> {
        let variables = self.kept_out.join(", ");
        let text =
            || format!("a secret of the request stands in no file: set {variables} in the environment to do this again (docs/secrets.md)");
        (!variables.is_empty()).then(text)
    }

    /// What could not be carried over.
    pub fn lost(&self) -> String {
        self.lost.text("Not carried over")
    }
}

/// A plan of JMeter with one thread group: its workload, and the line of `faceoff load`.
#[cfg(test)]
pub fn of_plan(text: &str) -> Result<(Workload, String), Problems> {
    let part = jmx::import(text, Path::new("."), &BTreeMap::new())?.parts.remove(0);
    let line = write::command(&part, Path::new("it.toml"));
    Ok((part.workload, line))
}

fn read(path: &str) -> Result<String, Problems> {
    let failed = |e: std::io::Error| Problems::plain(format!("{path} cannot be read: {e}"), "is it there, and yours to read?");
    let mut bytes = Vec::new();
    match path {
        "-" => std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes),
        path => std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)),
    }
    .map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Problems::plain(format!("{path} is longer than 64 MiB"), "leave out what is not to be loaded"));
    }
    let text = String::from_utf8(bytes).map_err(|_| Problems::plain(format!("{path} is not UTF-8"), "save it as UTF-8"))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// The text of a file that is named within another: a regular one, no longer than is imported.
fn text_of(path: &Path) -> std::io::Result<String> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() || about.len() > LONGEST {
        return Err(std::io::Error::other("it is no file, or longer than 64 MiB"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a file by what it looks like; its name decides only where that says nothing.
fn understand(path: &str, text: &str, folder: &Path, defined: &BTreeMap<String, String>) -> Result<Imported, Problems> {
    let begins = text.trim_start();
    let extension = Path::new(path).extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is_curl = || words::lines(begins).first().is_some_and(|line| line.first().is_some_and(|word| word == "curl"));
    match extension.as_str() {
        "lua" => wrk::import(text, defined),
        _ if begins.starts_with('<') => jmx::import(text, folder, defined),
        _ if is_curl() => curl::import_lines(text, folder),
        _ => match openapi::document(text)? {
            Some(document) if document.get("log").is_some() => har::import(&document),
            Some(document) if document.get("openapi").or(document.get("swagger")).is_some() => openapi::import(&document),
            _ if text.contains("wrk.") || text.contains("request =") => wrk::import(text, defined),
            _ => Err(Problems::plain(
                format!("{path} is nothing that can be imported"),
                "known are JMeter's plans (.jmx), scripts of wrk (.lua), recordings (.har), OpenAPI descriptions (.yaml, .json) and command lines of curl",
            )),
        },
    }
}

/// A workload's name from that of a file.
fn name_for(source: &str) -> String {
    let stem = Path::new(source).file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' }).take(40).collect();
    let name = name.trim_matches('-').to_owned();
    if is_name(&name) { name } else { "imported".to_owned() }
}

/// Names of values that have not been given yet.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// As near to a wish as a template can name, and given to nobody else.
    fn new_name(&mut self, wish: &str) -> String {
        let name = value_name(wish);
        let free = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") }).find(|name| !self.0.contains(name));
        let free = free.unwrap_or(name);
        self.0.insert(free.clone());
        free
    }
}

/// As near to a wish as a template can name.
fn value_name(wish: &str) -> String {
    let name: String = wish.trim().chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' }).take(60).collect();
    match is_value_name(&name) && !BUILT_IN.contains(&name.as_str()) {
        true => name,
        false => format!("its-{}", if name.is_empty() { "value" } else { &name }),
    }
}

/// Adds a header that may be sent; the last of a name stays, as in most tools.
fn add_header(step: &mut Step, name: &str, value: Template, lost: &mut Notes) {
    let name = name.trim();
    if is_written_by_generator(name) || name.eq_ignore_ascii_case("host") {
        // Written by the generator as the request asks for it.
        return;
    }
    if !is_header_name(name) || !value.texts().all(is_header_value) {
        lost.add(format!("the header `{}`", shortened(name)), "it cannot be sent");
        return;
    }
    step.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    step.headers.push((name.to_lowercase(), value));
}

/// A path as it may be sent: it begins with `/`, and what cannot stand in it is percent-encoded.
fn path(template: Template) -> Template {
    use model::template::Part::{Text, Value};
    let mut parts = template.parts;
    for part in &mut parts {
        if let Text(text) = part {
            let cut = text.find('#').unwrap_or(text.len());
            *text = text[..cut]
                .chars()
                .map(|c| if c.is_ascii_control() || c == ' ' { format!("%{:02X}", c as u32) } else { c.to_string() })
                .collect();
        }
    }
    parts.retain(|part| !matches!(part, Text(text) if text.is_empty()));
    match parts.first_mut() {
        Some(Text(text)) if text.starts_with('/') => {}
        Some(Text(text)) => text.insert(0, '/'),
        // A value that was taken from an answer: a path with its slash, as a rule.
        Some(Value(_)) => {}
        None => parts.push(Text("/".into())),
    }
    Template { parts }
}

/// `scheme://authority` and the path with its query, of an absolute URL.
fn split_url(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.trim().split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let sound = !host.is_empty() && host.chars().all(|c| c.is_ascii_graphic() && !"'\"`$\\{}".contains(c));
    sound.then(|| (format!("{}://{host}", scheme.to_lowercase()), path.to_owned()))
}

/// Keeps steps that go to one server, the first's, and says which do not.
fn one_server(steps: Vec<(String, Step)>, lost: &mut Notes) -> (Option<String>, Vec<Step>) {
    let server = steps.first().map(|(server, _)| server.clone());
    let mut kept = Vec::new();
    for (other, step) in steps {
        if Some(&other) != server.as_ref() {
            lost.add(
                format!("{} {other}{}", step.method, step.path),
                "it goes to another server than the first request: a workload has one",
            );
        } else if kept.len() == MOST_STEPS {
            lost.add(format!("what follows {MOST_STEPS} requests"), "a workload is not given more steps");
        } else {
            kept.push(step);
        }
    }
    (server, kept)
}

/// The beginning of a text, for people.
fn shortened(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

/// A right answer is one with such a status.
fn answer(status: Statuses) -> Answer {
    Answer { status, ..Answer::default() }
}
