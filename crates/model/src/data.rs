//! Values that a workload draws anew for each pass over its steps.

use crate::reader::Table;
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Most bytes of a generated text or body.
pub(crate) const SIZE_MAX: u64 = 64 << 20;

/// A value, or the columns of a table of them, with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// How templates name it.
    pub name: String,
    /// Where values come from.
    pub values: Values,
}

/// Where values come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// `from`, `from + step`, ...: no two passes of a run get the same.
    Counter {
        /// The first.
        from: u64,
        /// From one to the next.
        step: u64,
    },
    /// A whole number, each equally likely.
    Number {
        /// The least.
        from: u64,
        /// The greatest.
        to: u64,
    },
    /// Letters and digits at random, so many.
    Text(usize),
    /// One of these, each equally likely.
    Choice(Vec<String>),
    /// A row of a table, whose columns are named `name.column`.
    Rows {
        /// The columns' names.
        columns: Vec<String>,
        /// Row by row.
        rows: Vec<Vec<String>>,
        /// Any row equally likely; otherwise one after the other, then again from the first.
        at_random: bool,
    },
}

impl Data {
    /// The names by which templates use it.
    pub fn names(&self) -> Vec<String> {
        match &self.values {
            Values::Rows { columns, .. } => columns.iter().map(|column| format!("{}.{column}", self.name)).collect(),
            _ => vec![self.name.clone()],
        }
    }
}

/// Texts that stand for a name throughout a workload.
pub(crate) struct Parameters(pub BTreeMap<String, String>);

impl Parameters {
    /// A text in which they stand for their names; any other name is left.
    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
    }
}

/// Printable bytes, the same each time.
pub fn filler(size: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(size).collect()
}

/// Whether templates can name a value so: letters, digits, `-` and `_`, one or more.
pub fn is_value_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    match units::parse_bytes(text)? {
        size if size > SIZE_MAX => Err(format!("{text} is more than the 64M that are generated at most")),
        size => Ok(size as usize),
    }
}

pub(crate) fn walk(table: &Table<'_>, folder: &Path, parameters: &Parameters) -> Data {
    let name = table.required_string("name");
    if !name.is_empty() && (!is_value_name(&name) || name == "env") {
        table.problem("name", format!("`{name}` cannot name a value"), "use letters, digits, `-` and `_`; `env` is the environment");
    }
    let counter = table.table("counter", |t| Values::Counter {
        from: t.integer("from", 0, u64::MAX >> 1).unwrap_or(1),
        step: t.integer("step", 1, u64::MAX >> 32).unwrap_or(1),
    });
    let number = table.table("random", |t| {
        let from = t.integer("from", 0, u64::MAX >> 1).unwrap_or(0);
        let to = t.integer("to", 0, u64::MAX >> 1).unwrap_or(from);
        if !t.has("to") {
            t.problem("to", "the greatest number is missing", "write `random = { from = 1, to = 100 }`");
        } else if to < from {
            t.problem("to", format!("{to} is less than {from}"), "`from` is the least number, `to` the greatest");
        }
        Values::Number { from, to: to.max(from) }
    });
    let text = table.table("text", |t| {
        let size = t.parsed("size", |text| parse_size(&parameters.fill(text)));
        if !t.has("size") {
            t.problem("size", "the size of the text is missing", "write `text = { size = \"1K\" }`");
        }
        Values::Text(size.unwrap_or(0))
    });
    let choice = table.has("choice").then(|| Values::Choice(table.strings("choice")));
    if choice == Some(Values::Choice(Vec::new())) {
        table.problem("choice", "there is nothing to choose from", "write one text or more");
    }
    let at_random = table.choice("order", &[("in-turn", false), ("random", true)]);
    let rows = table.string("csv").map(|file| {
        let file = parameters.fill(&file);
        let (columns, rows) = read_csv(&folder.join(&file)).unwrap_or_else(|error| {
            table.problem(
                "csv",
                format!("`{file}` {error}"),
                "the first line names the columns; the path is counted from the workload's folder",
            );
            Default::default()
        });
        Values::Rows { columns, rows, at_random: at_random.unwrap_or(false) }
    });
    if at_random.is_some() && rows.is_none() {
        table.problem("order", "only rows have an order", "leave it out, or name a file with `csv`");
    }
    let mut all: Vec<Values> = [counter, number, text, choice, rows].into_iter().flatten().collect();
    if all.len() != 1 {
        let what = if all.is_empty() { "it is not said where the value comes from" } else { "the value comes from several places" };
        table.problem("", what, "write one of `counter`, `random`, `text`, `choice`, `csv`");
    }
    Data { name, values: all.pop().unwrap_or(Values::Choice(Vec::new())) }
}

type Rows = (Vec<String>, Vec<Vec<String>>);

fn read_csv(path: &Path) -> Result<Rows, String> {
    let cannot = |error: csv::Error| match error.kind() {
        csv::ErrorKind::Io(error) => format!("cannot be read: {error}"),
        _ => format!("is not a table: {error}"),
    };
    let mut reader = csv::Reader::from_path(path).map_err(cannot)?;
    let columns: Vec<String> = reader.headers().map_err(cannot)?.iter().map(|name| name.trim().to_owned()).collect();
    let rows = reader.records().map(|row| row.map(|row| row.iter().map(str::to_owned).collect()));
    let rows: Vec<Vec<String>> = rows.collect::<Result<_, _>>().map_err(cannot)?;
    if rows.is_empty() {
        return Err("has no rows".into());
    }
    Ok((columns, rows))
}
