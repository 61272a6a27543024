//! Values that a workload draws anew for each pass over its steps.
//!
//! A `[[data]]` table names a value and its one source: a counter, a random number or text, a
//! choice, or the rows of a CSV file. Templates use the value as `${name}`, or `${name.column}` for
//! rows. Parameters are fixed texts instead, which a cell of an experiment may set.
//!
//! Start with [`Values`].

use crate::reader::Table;
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The most bytes of a generated text or body.
pub(crate) const SIZE_MAX: u64 = 64 << 20;

/// A value, or the columns of a table of them, with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Data {
    /// The name that templates use.
    pub name: String,
    /// Where values come from.
    pub values: Values,
}

/// Where values come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Values {
    /// `from`, `from + step`, ...: no two passes of a run get the same value.
    Counter {
        /// The first value.
        from: u64,
        /// The difference between a value and the next.
        step: u64,
    },
    /// A whole number, each equally likely.
    Number {
        /// The lowest number.
        from: u64,
        /// The highest number.
        to: u64,
    },
    /// This number of random letters and digits.
    Text(usize),
    /// One of these, each equally likely.
    Choice(Vec<String>),
    /// A row of a table, whose columns are named `name.column`.
    Rows {
        /// The columns' names.
        columns: Vec<String>,
        /// The values, row by row.
        rows: Vec<Vec<String>>,
        /// Whether any row is equally likely. Otherwise rows are used in order, then again from the
        /// first.
        at_random: bool,
    },
}

impl Data {
    /// Returns the names by which templates use it.
    pub fn names(&self) -> Vec<String> {
        match &self.values {
            Values::Rows { columns, .. } => {
                columns.iter().map(|column| format!("{}.{column}", self.name)).collect()
            }
            _ => vec![self.name.clone()],
        }
    }
}

/// Fixed texts by name, which apply to a whole workload.
pub(crate) struct Parameters(pub BTreeMap<String, String>);

impl Parameters {
    /// Replaces the names of parameters with their texts; other names remain.
    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), value)
        })
    }
}

/// Returns printable bytes, the same for each call.
pub fn filler(size: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(size).collect()
}

/// Returns whether templates can name a value like this: one or more letters, digits, `-` and `_`.
pub fn is_value_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    match units::parse_bytes(text)? {
        size if size > SIZE_MAX => Err(format!("{text} is more than the limit of 64M")),
        size => Ok(size as usize),
    }
}

/// Reads one value of a workload: its name and its source.
pub(crate) fn parse_data(table: &Table<'_>, folder: &Path, parameters: &Parameters) -> Data {
    let name = table.required_string("name");
    if !name.is_empty() && (!is_value_name(&name) || name == "env") {
        table.problem(
            "name",
            format!("`{name}` cannot name a value"),
            "use letters, digits, `-` and `_`; `env` is the environment",
        );
    }
    let counter = table.table("counter", |t| Values::Counter {
        from: t.integer("from", 0, u64::MAX >> 1).unwrap_or(1),
        step: t.integer("step", 1, u64::MAX >> 32).unwrap_or(1),
    });
    let number = table.table("random", parse_random);
    let text = table.table("text", |t| parse_text(t, parameters));
    let choice = table.has("choice").then(|| Values::Choice(table.strings("choice")));
    if choice == Some(Values::Choice(Vec::new())) {
        table.problem("choice", "there is nothing to choose from", "write one text or more");
    }
    let rows = parse_rows(table, folder, parameters);
    let mut all: Vec<Values> =
        [counter, number, text, choice, rows].into_iter().flatten().collect();
    if all.len() != 1 {
        let what = if all.is_empty() {
            "the value has no source"
        } else {
            "the value has several sources"
        };
        table.problem("", what, "write one of `counter`, `random`, `text`, `choice`, `csv`");
    }
    Data { name, values: all.pop().unwrap_or(Values::Choice(Vec::new())) }
}

fn parse_random(table: &Table<'_>) -> Values {
    let from = table.integer("from", 0, u64::MAX >> 1).unwrap_or(0);
    let to = table.integer("to", 0, u64::MAX >> 1).unwrap_or(from);
    if !table.has("to") {
        table.problem(
            "to",
            "the greatest number is missing",
            "write `random = { from = 1, to = 100 }`",
        );
    } else if to < from {
        table.problem(
            "to",
            format!("{to} is less than {from}"),
            "`from` is the least number, `to` the greatest",
        );
    }
    Values::Number { from, to: to.max(from) }
}

fn parse_text(table: &Table<'_>, parameters: &Parameters) -> Values {
    let size = table.parsed("size", |text| parse_size(&parameters.fill(text)));
    if !table.has("size") {
        table.problem(
            "size",
            "the size of the text is missing",
            "write `text = { size = \"1K\" }`",
        );
    }
    Values::Text(size.unwrap_or(0))
}

/// Reads the rows of `csv`, and their `order`.
fn parse_rows(table: &Table<'_>, folder: &Path, parameters: &Parameters) -> Option<Values> {
    let at_random = table.choice("order", &[("in-turn", false), ("random", true)]);
    let rows = table.string("csv").map(|file| {
        let file = parameters.fill(&file);
        let (columns, rows) = read_csv(&folder.join(&file)).unwrap_or_else(|error| {
            table.problem(
                "csv",
                format!("`{file}` {error}"),
                "the first line names the columns; the path is relative to the workload's folder",
            );
            Default::default()
        });
        Values::Rows { columns, rows, at_random: at_random.unwrap_or(false) }
    });
    if at_random.is_some() && rows.is_none() {
        table.problem(
            "order",
            "only rows have an order",
            "leave it out, or name a file with `csv`",
        );
    }
    rows
}

type Rows = (Vec<String>, Vec<Vec<String>>);

fn read_csv(path: &Path) -> Result<Rows, String> {
    let cannot = |error: csv::Error| match error.kind() {
        csv::ErrorKind::Io(error) => format!("cannot be read: {error}"),
        _ => format!("is not a table: {error}"),
    };
    let mut reader = csv::Reader::from_path(path).map_err(cannot)?;
    let columns: Vec<String> =
        reader.headers().map_err(cannot)?.iter().map(|name| name.trim().to_owned()).collect();
    let rows = reader.records().map(|row| row.map(|row| row.iter().map(str::to_owned).collect()));
    let rows: Vec<Vec<String>> = rows.collect::<Result<_, _>>().map_err(cannot)?;
    if rows.is_empty() {
        return Err("has no rows".into());
    }
    Ok((columns, rows))
}
