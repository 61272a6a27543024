//! What the requests of a trial stored in its database, and what the database used.
//!
//! A database must contain each row that a correct response acknowledged, and no more than the
//! requests could have stored. [`DatabaseCheck::broken`] lists every contradiction as a fault.
//! Start with [`DatabaseOfTrial`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The database of a trial, in its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatabaseOfTrial {
    /// Time from its start to the first successful connection; `None` if it was already running.
    pub ready_after_ns: Option<u64>,
    /// Its version, as it reports it.
    pub version: String,
    /// Its settings: those that affect speed and safety, and those that differ from the default.
    pub settings: BTreeMap<String, String>,
    /// The checks of its data, in order: after the warm-up, and after each cell.
    pub checks: Vec<DatabaseCheck>,
}

/// What the processes of a database used during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatabaseUsage {
    /// CPU time, including sessions that have ended. These are known only in ticks.
    pub cpu_ns: u64,
    /// Time between the first and the last reading.
    pub wall_ns: u64,
    /// The largest sampled memory: the private memory of each process, and the largest shared
    /// memory once.
    pub memory_max_bytes: u64,
    /// The most processes: one for each session, and the database's own.
    pub processes_max: u64,
    /// Instants of the samples, from the first one.
    pub t_ns: Vec<u64>,
    /// CPU time since the first sample.
    pub cpu_ns_at: Vec<u64>,
    /// Memory at each sample.
    pub memory_bytes_at: Vec<u64>,
}

/// A check of the tables, which had only the initial rows when the load began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatabaseCheck {
    /// When it was made: `warm-up`, or the cell's name, before it.
    pub after: String,
    /// The tables that requests write to.
    pub tables: Vec<TableCount>,
    /// The invariants with their values.
    pub holds: Vec<InvariantResult>,
    /// The tables whose rows must meet a condition.
    #[serde(default)]
    pub rows: Vec<RowMismatch>,
}

/// The rows of a table that do not meet the workload's condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowMismatch {
    /// The name of the table.
    pub table: String,
    /// The condition that each row must meet.
    pub condition: String,
    /// How many rows do not meet it.
    pub rows: u64,
    /// One such row, as the database writes it.
    pub example: Option<String>,
}

/// The rows of a table, compared with the requests that wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableCount {
    /// The name of the table.
    pub table: String,
    /// Rows that correct responses reported as stored.
    pub acknowledged: u64,
    /// Rows that may have been stored by requests that timed out, were cut off or got a server
    /// error.
    pub in_doubt: u64,
    /// Rows in the table, without the initial ones.
    pub rows: u64,
}

/// The value of an invariant's statement, which must be zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InvariantResult {
    /// The invariant in words.
    pub text: String,
    /// The value, as the database writes it.
    pub value: String,
}

impl TableCount {
    /// Returns how acknowledged writes and rows contradict each other, if they do: the kind of the
    /// fault, and the sentence.
    pub fn broken(&self) -> Option<(&'static str, String)> {
        let TableCount { table, acknowledged, in_doubt, rows } = self;
        if rows < acknowledged {
            let lost = acknowledged - rows;
            return Some((
                "lost-write",
                format!("{lost} of {acknowledged} acknowledged rows of `{table}` are missing"),
            ));
        }
        let most = acknowledged.saturating_add(*in_doubt);
        (*rows > most).then(|| {
            let more = rows - most;
            let known = format!("{acknowledged} acknowledged and {in_doubt} in doubt");
            (
                "doubled-write",
                format!("`{table}` has {more} more rows than were written: {rows}, with {known}"),
            )
        })
    }
}

impl InvariantResult {
    /// Returns whether the value is zero, however it is written.
    pub fn is_zero(&self) -> bool {
        self.value.parse::<f64>().is_ok_and(|value| value == 0.0)
    }
}

impl RowMismatch {
    fn broken(&self) -> Option<(&'static str, String)> {
        let RowMismatch { table, condition, rows, example } = self;
        let example = example.as_ref().map_or(String::new(), |row| format!(", one is {row}"));
        (*rows > 0).then(|| {
            (
                "broken-data",
                format!(
                    "`{table}` has rows that violate the condition ({condition}): {rows}{example}"
                ),
            )
        })
    }
}

impl DatabaseCheck {
    /// Returns every contradiction: the kind of the fault, and the sentence.
    pub fn broken(&self) -> Vec<(&'static str, String)> {
        let of_data = self.holds.iter().filter(|found| !found.is_zero());
        let of_data = of_data.map(|found| {
            (
                "broken-data",
                format!("its data are wrong: \"{}\" is off by {}", found.text, found.value),
            )
        });
        self.tables
            .iter()
            .filter_map(TableCount::broken)
            .chain(of_data)
            .chain(self.rows.iter().filter_map(RowMismatch::broken))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(acknowledged: u64, in_doubt: u64, rows: u64) -> Option<&'static str> {
        TableCount { table: "t".into(), acknowledged, in_doubt, rows }
            .broken()
            .map(|(kind, _)| kind)
    }

    #[test]
    fn rows_lie_between_acknowledged_and_possible_writes() {
        assert_eq!([count(5, 2, 5), count(5, 2, 7), count(0, 0, 0)], [None; 3]);
        assert_eq!(
            count(5, 2, 4),
            Some("lost-write"),
            "what was in doubt does not replace what was acknowledged"
        );
        assert_eq!(count(5, 2, 8), Some("doubled-write"));
    }

    #[test]
    fn zero_is_recognized_in_any_notation() {
        let found =
            |value: &str| InvariantResult { text: "all is well".into(), value: value.into() };
        assert!(["0", "0.00", "-0"].iter().all(|v| found(v).is_zero()));
        let checked = DatabaseCheck {
            after: "c".into(),
            tables: vec![],
            holds: vec![found("0"), found("-3")],
            rows: vec![],
        };
        assert_eq!(
            checked.broken(),
            [("broken-data", "its data are wrong: \"all is well\" is off by -3".to_owned())]
        );
        assert!(!found("").is_zero() && !found("NaN").is_zero());
    }

    #[test]
    fn rows_that_break_their_condition_are_reported() {
        let unlike = |rows: u64| RowMismatch {
            table: "t".into(),
            condition: "n = 1".into(),
            rows,
            example: (rows > 0).then(|| "(7,5)".into()),
        };
        let checked = |rows: u64| DatabaseCheck {
            after: "c".into(),
            tables: vec![],
            holds: vec![],
            rows: vec![unlike(rows)],
        };
        assert_eq!(checked(0).broken(), []);
        let message = "`t` has rows that violate the condition (n = 1): 2, one is (7,5)".to_owned();
        assert_eq!(checked(2).broken(), [("broken-data", message)]);
    }
}
