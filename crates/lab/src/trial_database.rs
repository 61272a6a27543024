//! The database of one trial, and whether it kept every write that it acknowledged.
//!
//! Each trial gets an empty database. While requests run, a ledger counts for each table how many
//! rows the responses acknowledged, and how many may or may not have been stored because no
//! response arrived. After each cell, the rows in the tables are compared with the ledger.
//!
//! Start with [`TrialDatabase`]. An experiment without a database has one as well, on which every
//! operation does nothing, so callers need not distinguish.

use crate::error::LabError;
use load::StepCounts;
use record::database::{DatabaseCheck, DatabaseOfTrial, InvariantResult, RowMismatch, TableCount};
use record::{Failure, Fault, Participant};
use runner::database::{Database, Databases};
use runner::means::Means;
use runner::postgres::{self, quoted};
use runner::usage::tree_cpu_ns;
use spec::name::ContenderName;
use spec::workload::Workload;
use spec::workload::database::{Holds, Stored, conditions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long emptying the tables may wait for requests that have already timed out.
const LOCK_WITHIN: Duration = Duration::from_secs(20);
/// How long the queries of a check may take.
const QUERIES_WITHIN: Duration = Duration::from_secs(120);
/// Hint of faults of a database that faceoff started.
const SEE_LOG: &str = "see its log in the record's folder under starts/";

/// Provides the trials of a run with databases.
pub struct DatabaseSource {
    pub(crate) name: ContenderName,
    pub(crate) databases: Databases,
    pub(crate) participant: Participant,
}

/// The database of one trial, if the experiment has one.
pub(crate) struct TrialDatabase {
    live: Option<Live>,
}

/// A running database, and the rows that responses acknowledged.
struct Live {
    database: Database,
    kept: DatabaseOfTrial,
    /// By table.
    ledger: BTreeMap<String, Ledger>,
    holds: Vec<Holds>,
    /// By table, the condition that each row must meet.
    rows: BTreeMap<String, String>,
    lost: Option<Fault>,
}

/// What is known about a table without a query.
#[derive(Default)]
struct Ledger {
    /// Rows acknowledged since the table was emptied.
    acknowledged: u64,
    /// Rows that may appear at any time, counted since the start.
    in_doubt: u64,
    /// Rows inserted right after the table was emptied.
    before: u64,
}

impl DatabaseSource {
    /// The name of the database's system.
    pub fn name(&self) -> &ContenderName {
        &self.name
    }

    /// Starts a database, queries it, and stops it. Returns how long it took until it was ready.
    ///
    /// # Errors
    /// A database that does not start, or does not end in order.
    pub fn prove(&self, cpus: &[usize], work: &Path, means: Means<'_>) -> Result<u64, LabError> {
        let live = self.start_live(&[], cpus, work, means)?;
        let ready_after_ns = live.kept.ready_after_ns.unwrap_or(0);
        match live.database.end() {
            None => Ok(ready_after_ns),
            Some(cause) => Err(self.failed(failure("stop", cause))),
        }
    }

    /// Starts a database for one trial, with the tables of these workloads.
    pub(crate) fn start(
        &self,
        workloads: &[&Workload],
        cpus: &[usize],
        work: &Path,
        means: Means<'_>,
    ) -> Result<TrialDatabase, LabError> {
        self.start_live(workloads, cpus, work, means).map(|live| TrialDatabase { live: Some(live) })
    }

    fn failed(&self, failure: Failure) -> LabError {
        LabError::Database(self.name.clone(), Box::new(failure))
    }

    fn start_live(
        &self,
        workloads: &[&Workload],
        cpus: &[usize],
        work: &Path,
        means: Means<'_>,
    ) -> Result<Live, LabError> {
        let failed = |failure| match means.is_stopped() {
            true => LabError::Interrupted,
            false => self.failed(failure),
        };
        let mut database = self.databases.start(cpus, work, means).map_err(failed)?;
        let stored: Vec<&Stored> =
            workloads.iter().filter_map(|workload| workload.stored.as_ref()).collect();
        create_tables(&mut database, &stored).map_err(failed)?;
        let tables =
            workloads.iter().flat_map(|w| &w.steps).flat_map(|step| step.stores.keys().cloned());
        let mut holds: Vec<Holds> = Vec::new();
        for hold in stored.iter().flat_map(|stored| &stored.holds) {
            if !holds.contains(hold) {
                holds.push(hold.clone());
            }
        }
        Ok(Live {
            kept: DatabaseOfTrial {
                ready_after_ns: database.ready_after_ns,
                version: database.version.clone(),
                settings: database.settings.clone(),
                checks: Vec::new(),
            },
            ledger: tables.map(|table| (table, Ledger::default())).collect(),
            holds,
            rows: conditions(workloads)
                .into_iter()
                .map(|(table, condition)| (table.to_owned(), condition))
                .collect(),
            lost: None,
            database,
        })
    }
}

fn failure(stage: &str, cause: String) -> Failure {
    Failure { stage: stage.into(), cause, log: vec![] }
}

/// Creates the tables of workloads, those that several workloads share only once.
fn create_tables(database: &mut Database, stored: &[&Stored]) -> Result<(), Failure> {
    let mut created = BTreeSet::new();
    for stored in stored.iter().filter(|stored| created.insert(&stored.tables)) {
        database.client().and_then(|client| client.run(&stored.tables)).map_err(|error| {
            failure("start", format!("the tables of {} cannot be made: {error}", stored.file))
        })?;
    }
    Ok(())
}

impl TrialDatabase {
    /// The database of an experiment that has none.
    pub fn none() -> TrialDatabase {
        TrialDatabase { live: None }
    }

    /// Whether there is a database.
    pub fn exists(&self) -> bool {
        self.live.is_some()
    }

    /// The values of the placeholders `{database.*}`.
    pub fn values(&self) -> Option<BTreeMap<String, String>> {
        self.live.as_ref().map(|live| live.database.values())
    }

    /// The process id of the database, if faceoff started it.
    pub fn pid(&self) -> Option<u32> {
        self.live.as_ref()?.database.pid()
    }

    /// CPU time of its processes so far, including those that have ended.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.pid().map(tree_cpu_ns)
    }

    /// Records passes of a workload whose responses were not counted: any of them may have been
    /// stored.
    pub fn doubt(&mut self, workload: &Workload, passes: u64) {
        let all = StepCounts { correct: 0, in_doubt: passes };
        self.record(workload, &vec![all; workload.steps.len()]);
    }

    /// Records the rows that the responses of a load acknowledged or left in doubt.
    pub fn record(&mut self, workload: &Workload, steps: &[StepCounts]) {
        let Some(live) = &mut self.live else { return };
        for (step, of_step) in workload.steps.iter().zip(steps) {
            for (table, rows) in &step.stores {
                let ledger = live.ledger.entry(table.clone()).or_default();
                ledger.acknowledged += rows * of_step.correct;
                ledger.in_doubt += rows * of_step.in_doubt;
            }
        }
    }

    /// Empties the tables, then inserts the initial rows of the workloads. Of a workload with
    /// several parameter values, the first is used. Rows in doubt stay so: they may be stored yet.
    pub fn begin(&mut self, workloads: &[&Workload]) {
        let Some(live) = &mut self.live else { return };
        let mut filled = BTreeSet::new();
        let first = workloads.iter().filter(|workload| filled.insert(&workload.name));
        let fills: Vec<&str> =
            first.filter_map(|workload| workload.stored.as_ref()?.fill.as_deref()).collect();
        if let Err(error) = live.empty(&fills) {
            live.lose("it cannot be emptied", &error);
        }
    }

    /// Compares the tables with the ledger. A database that was lost before is not queried, as its
    /// rows may differ from those that it had.
    pub fn check(&mut self, after: &str) {
        let Some(live) = self.live.as_mut().filter(|live| live.lost.is_none()) else { return };
        match live.count_rows(after) {
            Ok(checked) => live.kept.checks.push(checked),
            Err(error) => live.lose("it cannot be queried", &error),
        }
    }

    /// Stops the database. Returns its checks, and its fault if it was lost.
    pub fn end(self) -> Option<(DatabaseOfTrial, Option<Fault>)> {
        self.live.map(Live::end)
    }
}

impl Live {
    fn empty(&mut self, fills: &[&str]) -> Result<(), postgres::Error> {
        let client = self.database.client()?;
        client.wait_for(QUERIES_WITHIN)?;
        client.run(&format!("SET lock_timeout = '{}s'", LOCK_WITHIN.as_secs()))?;
        self.database.empty()?;
        let client = self.database.client()?;
        for fill in fills {
            client.run(fill)?;
        }
        for (table, ledger) in &mut self.ledger {
            (ledger.acknowledged, ledger.before) = (0, rows_of(client, table)?);
        }
        Ok(())
    }

    fn count_rows(&mut self, after: &str) -> Result<DatabaseCheck, postgres::Error> {
        let client = self.database.client()?;
        client.wait_for(QUERIES_WITHIN)?;
        let mut tables = Vec::new();
        for (table, ledger) in &self.ledger {
            let rows = rows_of(client, table)?.saturating_sub(ledger.before);
            tables.push(TableCount {
                table: table.clone(),
                acknowledged: ledger.acknowledged,
                in_doubt: ledger.in_doubt,
                rows,
            });
        }
        let mut holds = Vec::new();
        for hold in &self.holds {
            holds.push(InvariantResult {
                text: hold.text.clone(),
                value: client.value(&hold.zero)?,
            });
        }
        let mut rows = Vec::new();
        for (table, condition) in &self.rows {
            rows.push(unlike(client, table, condition)?);
        }
        Ok(DatabaseCheck { after: after.into(), tables, holds, rows })
    }

    fn lose(&mut self, what: &str, error: &postgres::Error) {
        let ended = self
            .database
            .ended()
            .map_or(String::new(), |status| format!(" (it ended with {status})"));
        self.lost.get_or_insert_with(|| database_lost(format!("{what}: {error}{ended}"), SEE_LOG));
    }

    fn end(mut self) -> (DatabaseOfTrial, Option<Fault>) {
        let ended = self.database.ended();
        let lost = self.lost.take().or_else(|| {
            let evidence = format!("the database ended with {} during the trial", ended?);
            Some(database_lost(evidence, SEE_LOG))
        });
        // The end of a process that faceoff started does not affect the measurements, and the next
        // run removes what it leaves.
        let is_ours = self.database.pid().is_some();
        let left = self.database.end().filter(|_| !is_ours).map(|evidence| {
            database_lost(evidence, "check whether the server runs, and drop the schema")
        });
        (self.kept, lost.or(left))
    }
}

fn database_lost(evidence: String, hint: &str) -> Fault {
    Fault { kind: "database-lost".into(), evidence, hint: hint.into() }
}

fn rows_of(client: &mut postgres::Client, table: &str) -> Result<u64, postgres::Error> {
    let rows = client.value(&format!("SELECT count(*) FROM {}", quoted(table)))?;
    rows.parse().map_err(|_| postgres::Error::Lost(format!("`{table}` has {rows} rows")))
}

/// Counts the rows of a table that do not meet a condition, including those for which it is NULL.
fn unlike(
    client: &mut postgres::Client,
    table: &str,
    condition: &str,
) -> Result<RowMismatch, postgres::Error> {
    let name = quoted(table);
    let found = client.run(&format!(
        "SELECT count(*), min({name}::text) FROM {name} WHERE ({condition}) IS NOT TRUE"
    ))?;
    let Some([count, example]) = found.first().map(Vec::as_slice) else {
        return Err(postgres::Error::Lost(format!("`{table}` has no count")));
    };
    let rows = count.as_deref().unwrap_or_default().parse();
    let rows = rows.map_err(|_| {
        postgres::Error::Lost(format!("`{table}` has {count:?} rows that break its condition"))
    })?;
    Ok(RowMismatch {
        table: table.into(),
        condition: condition.into(),
        rows,
        example: example.clone(),
    })
}
