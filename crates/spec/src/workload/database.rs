//! What a workload stores in a database (`[database]`), and what must be true of it afterwards.
//!
//! A fast response is worth nothing if its data was lost. So a workload names its tables, the rows
//! that a correct response stores, and invariants. The crate `runner` counts rows and checks
//! invariants after the load. Start with [`Stored`].

use super::Workload;
use crate::data::Parameters;
use crate::reader::Table;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The `[database]` section of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stored {
    /// The file of the statements, for messages.
    pub file: String,
    /// The statements that create the tables, in an empty schema.
    pub tables: String,
    /// The statements that insert the initial rows, each time after the tables were emptied.
    pub fill: Option<String>,
    /// Invariants of the data, which hold whatever was responded.
    pub holds: Vec<Holds>,
    /// By table, a condition in SQL that each of its rows meets.
    #[serde(default)]
    pub rows: BTreeMap<String, String>,
}

/// An invariant of the data at any time without a write in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holds {
    /// In words.
    pub text: String,
    /// The statement whose single value is zero if the invariant holds.
    pub zero: String,
}

/// Reads `[database]` of a workload in a folder.
pub(crate) fn parse_stored(table: &Table<'_>, folder: &Path, parameters: &Parameters) -> Stored {
    let file = table.required_string("tables");
    let tables = match std::fs::read_to_string(folder.join(&file)) {
        Ok(text) => text,
        Err(_) if file.is_empty() => String::new(),
        Err(error) => {
            table.problem(
                "tables",
                format!("`{file}` cannot be read: {error}"),
                "the path is relative to the workload's folder",
            );
            String::new()
        }
    };
    let holds = table.tables("holds", |t| Holds {
        text: t.required_string("text"),
        zero: t.required_string("zero"),
    });
    let fill = table.string("fill").map(|text| parameters.fill(&text));
    let rows = table
        .map("rows")
        .into_iter()
        .map(|(name, condition)| (name, parameters.fill(&condition)))
        .collect();
    Stored { file, tables, fill, holds, rows }
}

/// Reads how many rows a step stores, by table.
pub(crate) fn parse_stores(table: &Table<'_>) -> BTreeMap<String, u64> {
    let mut stores = BTreeMap::new();
    for (name, value) in table.values("stores") {
        match value.as_u64().filter(|rows| (1..=1_000_000).contains(rows)) {
            Some(rows) => drop(stores.insert(name, rows)),
            None => table.problem(
                "stores",
                format!("`{name}` stores {value} rows"),
                "write how many rows a correct response reports as stored: `stores = { orders = 1 }`",
            ),
        }
    }
    stores
}

/// Returns the condition that each row of a table meets, if several workloads write to it in one
/// start.
///
/// A row that meets the condition of any of them is valid, because a request of a finished workload
/// may still take effect. A table is left out if a workload writes to it without a condition.
pub fn conditions<'a>(workloads: &[&'a Workload]) -> BTreeMap<&'a str, String> {
    let mut all: BTreeMap<&str, Option<Vec<&str>>> = BTreeMap::new();
    for workload in workloads {
        let described = workload.stored.iter().flat_map(|stored| &stored.rows);
        let written = workload.steps.iter().flat_map(|step| step.stores.keys());
        for table in described.map(|(table, _)| table).chain(written).collect::<BTreeSet<_>>() {
            let condition = workload.stored.as_ref().and_then(|stored| stored.rows.get(table));
            let known = all.entry(table).or_insert_with(|| Some(Vec::new()));
            match (known.as_mut(), condition) {
                (Some(known), Some(condition)) if !known.contains(&condition.as_str()) => {
                    known.push(condition)
                }
                (_, Some(_)) => {}
                (_, None) => *known = None,
            }
        }
    }
    let one_of = |conditions: Vec<&str>| match &conditions[..] {
        [only] => (*only).to_owned(),
        several => several
            .iter()
            .map(|condition| format!("({condition})"))
            .collect::<Vec<_>>()
            .join(" OR "),
    };
    all.into_iter().filter_map(|(table, conditions)| Some((table, one_of(conditions?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &str, stores: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("w.toml");
        std::fs::write(folder.path().join("t.sql"), "CREATE TABLE t ()").unwrap();
        let text = format!(
            "name = \"w\"\nsummary = \"s\"\nparameters = {{ n = \"3\" }}\n{more}\n[[step]]\npath = \"/\"\n{stores}\n[step.answer]\n"
        );
        std::fs::write(&file, text).unwrap();
        Workload::read(&file).map_err(|problems| problems.to_string())
    }

    #[test]
    fn the_stored_rows_of_a_workload_are_read() {
        let database = "[database]\ntables = \"t.sql\"\nfill = \"INSERT ${n}\"\n[[database.holds]]\ntext = \"all is well\"\nzero = \"SELECT 0\"\n[database.rows]\nt = \"n = ${n}\"";
        let workload = read(database, "stores = { t = 2 }").unwrap();
        let stored = workload.stored.unwrap();
        assert_eq!(
            (stored.tables.as_str(), stored.fill.as_deref()),
            ("CREATE TABLE t ()", Some("INSERT 3"))
        );
        assert_eq!(stored.holds, [Holds { text: "all is well".into(), zero: "SELECT 0".into() }]);
        assert_eq!(stored.rows, BTreeMap::from([("t".to_owned(), "n = 3".to_owned())]));
        assert_eq!(workload.steps[0].stores, BTreeMap::from([("t".to_owned(), 2)]));
        assert!(read("", "").unwrap().stored.is_none());
    }

    #[test]
    fn impossible_stored_rows_are_reported() {
        assert!(
            read("", "stores = { t = 1 }").unwrap_err().contains("the workload names no tables")
        );
        assert!(
            read("[database]\ntables = \"t.sql\"", "stores = { t = 0 }")
                .unwrap_err()
                .contains("`t` stores 0 rows")
        );
        assert!(
            read("[database]\ntables = \"u.sql\"", "")
                .unwrap_err()
                .contains("`u.sql` cannot be read")
        );
    }

    #[test]
    fn a_row_of_a_shared_table_meets_the_condition_of_one() {
        let of = |rows: &str| {
            read(&format!("[database]\ntables = \"t.sql\"\n{rows}"), "stores = { t = 1 }").unwrap()
        };
        let (one, two, none) =
            (of("rows = { t = \"n = 1\" }"), of("rows = { t = \"n = 2\" }"), of(""));
        let met = |all: &[&Workload]| conditions(all).remove("t");
        assert_eq!(met(&[&one, &one]), Some("n = 1".into()));
        assert_eq!(met(&[&one, &two]), Some("(n = 1) OR (n = 2)".into()));
        assert_eq!(
            [met(&[&one, &none]), met(&[&none, &one]), met(&[&none])],
            [None, None, None],
            "who says nothing may write anything"
        );
    }
}
