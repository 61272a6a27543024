//! What requests leave in a database: what a workload says of it, and what was found there.

use crate::data::Parameters;
use crate::reader::Table;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a workload says of the data that it leaves (`[database]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The file of the statements, for messages.
    pub file: String,
    /// The statements that make the tables, in a schema that is empty.
    pub tables: String,
    /// The statements that put in what was there before, each time the tables were emptied.
    pub fill: Option<String>,
    /// What must hold of the data whatever was answered.
    pub holds: Vec<Holds>,
    /// By table, the condition that each of its rows meets, in SQL.
    #[serde(default)]
    pub rows: BTreeMap<String, String>,
}

/// Something that holds of the data at any time nobody writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    /// In words.
    pub text: String,
    /// The statement whose one value is then zero.
    pub zero: String,
}

/// Reads `[database]` of a workload that stands in a folder.
pub(crate) fn walk(table: &Table<'_>, folder: &Path, parameters: &Parameters) -> Stored {
    let file = table.required_string("tables");
    let tables = match std::fs::read_to_string(folder.join(&file)) {
        Ok(text) => text,
        Err(_) if file.is_empty() => String::new(),
        Err(error) => {
            table.problem("tables", format!("`{file}` cannot be read: {error}"), "the path is counted from the workload's folder");
            String::new()
        }
    };
    let holds = table.tables("holds", |t| Holds { text: t.required_string("text"), zero: t.required_string("zero") });
    let fill = table.string("fill").map(|text| parameters.fill(&text));
    let rows = table.map("rows").into_iter().map(|(name, condition)| (name, parameters.fill(&condition))).collect();
    Stored { file, tables, fill, holds, rows }
}

/// Reads how many rows a step stores, by table.
pub(crate) fn walk_stores(table: &Table<'_>) -> BTreeMap<String, u64> {
    let mut stores = BTreeMap::new();
    for (name, value) in table.values("stores") {
        match value.as_u64().filter(|rows| (1..=1_000_000).contains(rows)) {
            Some(rows) => drop(stores.insert(name, rows)),
            None => table.problem(
                "stores",
                format!("`{name}` stores {value} rows"),
                "write how many rows a right answer says were stored: `stores = { orders = 1 }`",
            ),
        }
    }
    stores
}

/// The database of a trial, in its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// From its start to the first right answer; `None` where it ran already.
    pub ready_after_ns: Option<u64>,
    /// What it says it is.
    pub version: String,
    /// Its settings: those that decide about speed and safety, and those that are not as they come.
    pub settings: BTreeMap<String, String>,
    /// What was looked at, in order: after the warm-up, after each cell.
    pub checks: Vec<Checked>,
}

/// What the processes of a database used during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// CPU time, also of sessions that have ended, which is known in ticks.
    pub cpu_ns: u64,
    /// Time between the first and the last reading.
    pub wall_ns: u64,
    /// Greatest memory that was sampled: what each process has of its own, and the most that one shares, once.
    pub memory_max_bytes: u64,
    /// Most processes: one a session, besides its own.
    pub processes_max: u64,
    /// Instants of the samples, from the first on.
    pub t_ns: Vec<u64>,
    /// CPU time since the first sample.
    pub cpu_ns_at: Vec<u64>,
    /// Memory.
    pub memory_bytes_at: Vec<u64>,
}

/// What was found in the tables, in which nothing was when it began but what had been put in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// After what: `warm-up`, or the cell's name.
    pub after: String,
    /// Each table that requests write to.
    pub tables: Vec<TableCount>,
    /// What must hold, and what came.
    pub holds: Vec<Found>,
    /// Each table whose rows must meet a condition.
    #[serde(default)]
    pub rows: Vec<Unlike>,
}

/// The rows of a table that are not what the workload says of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlike {
    /// Its name.
    pub table: String,
    /// The condition that each row meets.
    pub condition: String,
    /// How many do not.
    pub rows: u64,
    /// One of them, as the database writes it.
    pub example: Option<String>,
}

/// The rows of a table beside the requests that wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableCount {
    /// Its name.
    pub table: String,
    /// Rows that right answers said were stored.
    pub acknowledged: u64,
    /// Rows that may have been stored: of requests that were sent, and timed out, were cut off or got a server's error.
    pub in_doubt: u64,
    /// Rows that are there, without those that were put in before.
    pub rows: u64,
}

/// What a statement that must give zero gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What must hold, in words.
    pub text: String,
    /// The value, as the database writes it.
    pub value: String,
}

impl TableCount {
    /// How acknowledged writes and rows disagree, if they do: the kind of the fault, and the sentence.
    pub fn broken(&self) -> Option<(&'static str, String)> {
        let TableCount { table, acknowledged, in_doubt, rows } = self;
        if rows < acknowledged {
            let lost = acknowledged - rows;
            return Some(("lost-write", format!("{lost} of {acknowledged} acknowledged rows of `{table}` are not there")));
        }
        let most = acknowledged.saturating_add(*in_doubt);
        (*rows > most).then(|| {
            let more = rows - most;
            let known = format!("{acknowledged} acknowledged and {in_doubt} in doubt");
            ("doubled-write", format!("`{table}` has {more} rows more than were written: {rows}, with {known}"))
        })
    }
}

impl Found {
    /// Whether it is zero, however it is written.
    pub fn is_zero(&self) -> bool {
        self.value.parse::<f64>().is_ok_and(|value| value == 0.0)
    }
}

impl Unlike {
    fn broken(&self) -> Option<(&'static str, String)> {
        let Unlike { table, condition, rows, example } = self;
        let example = example.as_ref().map_or(String::new(), |row| format!(", one is {row}"));
        (*rows > 0)
            .then(|| ("broken-data", format!("`{table}` has rows that are not as they were asked for ({condition}): {rows}{example}")))
    }
}

/// What each row of a table meets, where workloads write to it in one start: what one of them says, as a row of one that is over may
/// still appear. Tables of which one that writes to them says nothing are left out.
pub fn conditions<'a>(workloads: &[&'a Workload]) -> BTreeMap<&'a str, String> {
    let mut all: BTreeMap<&str, Option<Vec<&str>>> = BTreeMap::new();
    for workload in workloads {
        let said = workload.stored.iter().flat_map(|stored| &stored.rows);
        let written = workload.steps.iter().flat_map(|step| step.stores.keys());
        for table in said.map(|(table, _)| table).chain(written).collect::<BTreeSet<_>>() {
            let condition = workload.stored.as_ref().and_then(|stored| stored.rows.get(table));
            let known = all.entry(table).or_insert_with(|| Some(Vec::new()));
            match (known.as_mut(), condition) {
                (Some(known), Some(condition)) if !known.contains(&condition.as_str()) => known.push(condition),
                (_, Some(_)) => {}
                (_, None) => *known = None,
            }
        }
    }
    let one_of = |conditions: Vec<&str>| match &conditions[..] {
        [only] => (*only).to_owned(),
        several => several.iter().map(|condition| format!("({condition})")).collect::<Vec<_>>().join(" OR "),
    };
    all.into_iter().filter_map(|(table, conditions)| Some((table, one_of(conditions?)))).collect()
}

impl Checked {
    /// Everything that is not as it must be: the kind of the fault, and the sentence.
    pub fn broken(&self) -> Vec<(&'static str, String)> {
        let of_data = self.holds.iter().filter(|found| !found.is_zero());
        let of_data = of_data.map(|found| ("broken-data", format!("it does not hold that {}: off by {}", found.text, found.value)));
        self.tables.iter().filter_map(TableCount::broken).chain(of_data).chain(self.rows.iter().filter_map(Unlike::broken)).collect()
    }
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
    fn what_a_workload_stores_is_read() {
        let database = "[database]\ntables = \"t.sql\"\nfill = \"INSERT ${n}\"\n[[database.holds]]\ntext = \"all is well\"\nzero = \"SELECT 0\"\n[database.rows]\nt = \"n = ${n}\"";
        let workload = read(database, "stores = { t = 2 }").unwrap();
        let stored = workload.stored.unwrap();
        assert_eq!((stored.tables.as_str(), stored.fill.as_deref()), ("CREATE TABLE t ()", Some("INSERT 3")));
        assert_eq!(stored.holds, [Holds { text: "all is well".into(), zero: "SELECT 0".into() }]);
        assert_eq!(stored.rows, BTreeMap::from([("t".to_owned(), "n = 3".to_owned())]));
        assert_eq!(workload.steps[0].stores, BTreeMap::from([("t".to_owned(), 2)]));
        assert!(read("", "").unwrap().stored.is_none());
    }

    #[test]
    fn what_cannot_be_stored_is_said() {
        assert!(read("", "stores = { t = 1 }").unwrap_err().contains("the workload names no tables"));
        assert!(read("[database]\ntables = \"t.sql\"", "stores = { t = 0 }").unwrap_err().contains("`t` stores 0 rows"));
        assert!(read("[database]\ntables = \"u.sql\"", "").unwrap_err().contains("`u.sql` cannot be read"));
    }

    fn count(acknowledged: u64, in_doubt: u64, rows: u64) -> Option<&'static str> {
        TableCount { table: "t".into(), acknowledged, in_doubt, rows }.broken().map(|(kind, _)| kind)
    }

    #[test]
    fn rows_lie_between_what_was_acknowledged_and_what_may_be() {
        assert_eq!([count(5, 2, 5), count(5, 2, 7), count(0, 0, 0)], [None; 3]);
        assert_eq!(count(5, 2, 4), Some("lost-write"), "what was in doubt does not replace what was acknowledged");
        assert_eq!(count(5, 2, 8), Some("doubled-write"));
    }

    #[test]
    fn zero_is_zero_in_any_spelling() {
        let found = |value: &str| Found { text: "all is well".into(), value: value.into() };
        assert!(["0", "0.00", "-0"].iter().all(|v| found(v).is_zero()));
        let checked = Checked { after: "c".into(), tables: vec![], holds: vec![found("0"), found("-3")], rows: vec![] };
        assert_eq!(checked.broken(), [("broken-data", "it does not hold that all is well: off by -3".to_owned())]);
        assert!(!found("").is_zero() && !found("NaN").is_zero());
    }

    #[test]
    fn rows_that_break_their_condition_are_said_with_one_of_them() {
        let unlike = |rows: u64| Unlike { table: "t".into(), condition: "n = 1".into(), rows, example: (rows > 0).then(|| "(7,5)".into()) };
        let checked = |rows: u64| Checked { after: "c".into(), tables: vec![], holds: vec![], rows: vec![unlike(rows)] };
        assert_eq!(checked(0).broken(), []);
        let said = "`t` has rows that are not as they were asked for (n = 1): 2, one is (7,5)".to_owned();
        assert_eq!(checked(2).broken(), [("broken-data", said)]);
    }

    #[test]
    fn where_workloads_share_a_table_a_row_is_as_one_of_them_says() {
        let of = |rows: &str| read(&format!("[database]\ntables = \"t.sql\"\n{rows}"), "stores = { t = 1 }").unwrap();
        let (one, two, none) = (of("rows = { t = \"n = 1\" }"), of("rows = { t = \"n = 2\" }"), of(""));
        let met = |all: &[&Workload]| conditions(all).remove("t");
        assert_eq!(met(&[&one, &one]), Some("n = 1".into()));
        assert_eq!(met(&[&one, &two]), Some("(n = 1) OR (n = 2)".into()));
        assert_eq!([met(&[&one, &none]), met(&[&none, &one]), met(&[&none])], [None, None, None], "who says nothing may write anything");
    }
}
