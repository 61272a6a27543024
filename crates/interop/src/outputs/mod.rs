//! Reads what load generators print: each run becomes a row of a table.
//!
//! Every figure of the input is read, kept among [`Row::other`], or noted with its line and the
//! reason; or the input is refused. `paste.rs` removes decoration, `run.rs` collects the figures of
//! a run, `text/` and `json/` have a reader for each tool. Start with [`read_outputs`].

mod csv_table;
mod jmeter;
mod json;
mod paste;
mod run;
mod text;
mod unsupported;

use paste::Line;
use run::Run;
use serde_json::Value;
use spec::article::{Row, Tool};
use spec::problem::Problems;
use std::io::{self, Read};

/// The most bytes of a summary. Lists of samples have no limit, because they are summed up while
/// they are read.
pub const LONGEST_SUMMARY: u64 = 16 << 20;
/// The number of bytes that are enough to recognize an input.
const HEAD: u64 = 64 << 10;
/// How oha names requests that were in flight when its time was over.
const OHA_CUT_OFF: &str = "aborted due to deadline";
/// The tools whose output is read, with its forms if there are several.
pub const READABLE: &str = "wrk, wrk2, oha, k6, h2load, hey, ab, vegeta, bombardier, autocannon, zrk, fortio, goose, Locust (CSV), JMeter (JTL, CSV, summary), Gatling and HttpArena";
/// What some editors and spreadsheets put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The most lines that are tried as the beginning of a document.
const MOST_BEGINNINGS: usize = 1_000;

/// A remark about how a row was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The name of the row.
    pub row: String,
    /// The note, in a sentence.
    pub what: String,
}

/// The results of one load generator.
#[derive(Debug)]
pub struct Output {
    /// The tool.
    pub tool: Tool,
    /// Its results, one row for each run.
    pub rows: Vec<Row>,
    /// Remarks: what could not be read, and what a reader must know about the rest.
    pub notes: Vec<Note>,
    /// How to supply what the output lacks and Little's law needs.
    pub hint: Option<&'static str>,
    /// Whether a connection has several requests in flight, and the output does not tell how many.
    pub depth_unsaid: bool,
}

/// Reads the output of any known load generators: one result for each tool.
///
/// # Errors
/// An input that cannot be read, that no known tool wrote, or with a run that has neither a rate
/// nor a latency.
pub fn read_outputs(name: &str, mut input: impl Read) -> Result<Vec<Output>, Problems> {
    let failed = |e: io::Error| {
        Problems::plain(
            format!("{name} cannot be read: {e}"),
            "does it exist, and may you read it?",
        )
    };
    let mut bytes = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if jmeter::is_samples(&bytes) {
        let rows = jmeter::samples(io::Cursor::new(bytes).chain(input)).map_err(|e| {
            Problems::plain(
                format!("{name} cannot be read as samples: {e}"),
                "save them as CSV with JMeter's usual columns",
            )
        })?;
        if rows.is_empty() {
            return Err(Problems::plain(
                format!("{name} holds no samples, only the names of columns"),
                "did the test end before its first response?",
            ));
        }
        return Ok(vec![Output {
            tool: Tool::Jmeter,
            rows,
            notes: Vec::new(),
            hint: None,
            depth_unsaid: false,
        }]);
    }
    input.take(LONGEST_SUMMARY - HEAD + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST_SUMMARY {
        return Err(Problems::plain(
            format!("{name} is longer than any summary"),
            "give the summary that the tool prints, or JMeter's samples as CSV",
        ));
    }
    let text = paste::decode(&bytes);
    if let Some((tool, hint)) = unsupported::unsupported_lookalike(&text) {
        return Err(Problems::plain(
            format!("{name} is the output of {tool}, which is not read"),
            hint,
        ));
    }
    let (runs, before) = find(&text, name);
    if runs.is_empty() {
        return Err(unknown(name, &text));
    }
    sorted(name, runs, &before)
}

/// Finds every run of a text, and the lines with figures before the first.
fn find(text: &str, name: &str) -> (Vec<Run>, Vec<Line>) {
    let lines = paste::lines(text);
    let (documents, lines) = documents(lines);
    let mut unknown = 0;
    let mut runs: Vec<Run> = Vec::new();
    for document in &documents {
        match json::read_json(document, name) {
            Some(found) => runs.extend(found),
            None => unknown += 1,
        }
    }
    if let Some(run) = runs.first_mut().filter(|_| unknown > 0) {
        run.notes.push(format!(
            "{unknown} of the {} JSON documents here are not known and not read",
            documents.len()
        ));
    }
    let (others, before) =
        csv_table::read_tables(&lines).unwrap_or_else(|| run::read_runs(&lines, &text::FORMATS));
    runs.extend(others);
    (runs, before)
}

/// Splits lines into JSON documents and other lines.
fn documents(lines: Vec<Line>) -> (Vec<Value>, Vec<Line>) {
    let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let (mut documents, mut others, mut end, mut from, mut tried) =
        (Vec::new(), Vec::new(), 0, 0, 0);
    let holds_fields = |value: &Value| {
        value.is_object()
            || value.as_array().is_some_and(|values| values.iter().any(Value::is_object))
    };
    for line in lines {
        let begins = from;
        from += line.text.len() + 1;
        if begins < end {
            continue;
        }
        let behind = if line.text.starts_with(['{', '[']) {
            Some(0)
        } else {
            line.text.find("| {").map(|at| at + 2)
        };
        if let Some(behind) = behind.filter(|_| tried < MOST_BEGINNINGS) {
            tried += 1;
            let begins = begins + behind;
            let mut stream =
                serde_json::Deserializer::from_str(&text[begins..]).into_iter::<Value>();
            while let Some(Ok(value)) = stream.next() {
                if !holds_fields(&value) {
                    break;
                }
                documents.push(value);
                end = begins + stream.byte_offset();
            }
        }
        if begins >= end {
            others.push(line);
        }
    }
    (documents, others)
}

/// Explains why nothing was read.
fn unknown(name: &str, text: &str) -> Problems {
    if let Some((tool, hint)) = unsupported::unsupported_tool(text) {
        return Problems::plain(
            format!("{name} is not the output of a load generator that is known, but of {tool}"),
            hint,
        );
    }
    if let Some(Err(why)) =
        text.trim_start().starts_with('{').then(|| serde_json::from_str::<Value>(text))
    {
        return Problems::plain(
            format!("{name} is not valid JSON: {why}"),
            "is it whole? give the file as the tool wrote it",
        );
    }
    let hint = match text.lines().next().unwrap_or_default() {
        first if first.contains("timeStamp") && first.contains("elapsed") => {
            "save the samples with commas between them (jmeter.save.saveservice.default_delimiter=,)".to_owned()
        }
        _ => format!(
            "the output of these tools can be read: {READABLE}. Tables are written as in docs/guide/audit.md"
        ),
    };
    Problems::plain(format!("{name} is not the output of a load generator that is known"), hint)
}

/// Sorts the runs by tool, and gives each a name of its own.
fn sorted(name: &str, runs: Vec<Run>, before: &[Line]) -> Result<Vec<Output>, Problems> {
    let mut outputs: Vec<Output> = Vec::new();
    let mut empty: Vec<String> = Vec::new();
    for run in runs {
        let at = outputs.iter().position(|o| {
            (o.tool, o.hint, o.depth_unsaid) == (run.tool, run.hint, run.depth_unsaid)
        });
        let at = at.unwrap_or_else(|| {
            outputs.push(Output {
                tool: run.tool,
                rows: Vec::new(),
                notes: Vec::new(),
                hint: run.hint,
                depth_unsaid: run.depth_unsaid,
            });
            outputs.len() - 1
        });
        let mut rows = run.parts;
        match rows.first_mut() {
            Some(first) => first.other.extend(run.row.other),
            None => rows.push(run.row),
        }
        let notes: Vec<String> =
            run.notes.into_iter().chain(run::note_of_unread(&run.unread)).collect();
        let lacking = rows
            .iter()
            .filter(|row| !says_something(row))
            .map(|row| row.name.clone())
            .collect::<Vec<_>>();
        let mut shown_as = None;
        for row in rows {
            let shown = add_row(&mut outputs, at, row);
            shown_as.get_or_insert(shown);
        }
        let row = shown_as.unwrap_or_default();
        empty.extend(lacking.into_iter().map(|lacking| {
            let why =
                if notes.is_empty() { String::new() } else { format!(": {}", notes.join("; ")) };
            format!("`{lacking}` has neither a rate nor a latency that can be read{why}")
        }));
        outputs[at].notes.extend(notes.into_iter().map(|what| Note { row: row.clone(), what }));
    }
    if !empty.is_empty() {
        return Err(Problems::plain(
            format!("{name} cannot be audited: {}", empty.join("; ")),
            "give the whole output, as it was printed",
        ));
    }
    if let (Some(what), Some(output)) = (run::note_of_unread(before), outputs.first_mut()) {
        output.notes.insert(0, Note { row: name.to_owned(), what });
    }
    Ok(outputs)
}

/// Returns whether a row has a rate or a latency.
fn says_something(row: &Row) -> bool {
    let latency = &row.latency;
    let has_rate = row.throughput.is_some() || row.samples.is_some() && row.duration.is_some();
    has_rate || latency.mean.is_some() || latency.max.is_some() || !latency.quantiles.is_empty()
}

/// Adds a row under an unused name, and returns the name. A run that occurs twice counts once.
fn add_row(outputs: &mut [Output], at: usize, mut row: Row) -> String {
    let figures = |row: &Row| Row { name: String::new(), other: Vec::new(), ..row.clone() };
    let same_name = |other: &Row| {
        other.name == row.name
            || other.name.strip_prefix(&row.name).is_some_and(|rest| rest.starts_with(" ("))
    };
    let own = figures(&row);
    let is_part = outputs[at].tool.divides_runs();
    // The mean comes first: it is fast to compare, and two rows of one table seldom share it.
    let same_mean =
        |other: &Row| row.latency.mean.is_some() && other.latency.mean == row.latency.mean;
    let again =
        |other: &&Row| same_mean(other) && (same_name(other) || is_part) && figures(other) == own;
    if let Some(name) = outputs[at].rows.iter().find(again).map(|other| other.name.clone()) {
        outputs[at].notes.push(Note {
            row: name.clone(),
            what: format!("the same figures are shown again, as `{}`: they count once", row.name),
        });
        return name;
    }
    // Rows of one name in several tables would be read as one run.
    let runs =
        outputs.iter().flat_map(|output| &output.rows).filter(|other| same_name(other)).count();
    if runs > 0 {
        row.name += &format!(" ({})", runs + 1);
    }
    let name = row.name.clone();
    outputs[at].rows.push(row);
    name
}

#[cfg(test)]
mod tests;
