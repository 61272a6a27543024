//! The database of a start: given to the contender, watched, and looked into, so that what was acknowledged is held against what is there.

use crate::LabError;
use load::OfStep;
use model::database::{Checked, Found, Kept, Stored, TableCount, Unlike, conditions};
use model::name::ContenderName;
use model::record::{Failure, Fault, Participant};
use model::workload::Workload;
use runner::database::{Database, Databases, Means};
use runner::postgres::{self, quoted};
use runner::usage::tree_cpu_ns;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long emptying the tables may wait for requests that nobody awaits any more.
const LOCK_WITHIN: Duration = Duration::from_secs(20);
/// How long a look into the tables may take.
const LOOK_WITHIN: Duration = Duration::from_secs(120);

/// Where the trials of a run get their databases from.
pub struct Source {
    pub(crate) name: ContenderName,
    pub(crate) databases: Databases,
    pub(crate) participant: Participant,
}

/// A database under way, with what requests were told they left in it.
pub(crate) struct Keeping {
    database: Database,
    kept: Kept,
    ledger: BTreeMap<String, Told>,
    holds: Vec<model::database::Holds>,
    /// By table, what each row meets.
    rows: BTreeMap<String, String>,
    lost: Option<Fault>,
}

/// What is known of a table without looking.
#[derive(Default)]
struct Told {
    /// Rows acknowledged since it was emptied.
    acknowledged: u64,
    /// Rows that may appear at any time, ever since the start.
    in_doubt: u64,
    /// Rows that were put in when it had been emptied.
    before: u64,
}

impl Source {
    /// Its system.
    pub fn name(&self) -> &ContenderName {
        &self.name
    }

    /// Starts one, asks it, and stops it; says after how long it was ready.
    ///
    /// # Errors
    /// A database that does not start, or not end in order.
    pub fn prove(&self, cpus: &[usize], work: &Path, means: Means<'_>) -> Result<u64, LabError> {
        let keeping = self.start(&[], cpus, work, means)?;
        let ready_after_ns = keeping.kept.ready_after_ns.unwrap_or(0);
        let failed = |cause| LabError::Database(self.name.clone(), Box::new(Failure { stage: "stop".into(), cause, log: vec![] }));
        keeping.database.end().map_or(Ok(ready_after_ns), |cause| Err(failed(cause)))
    }

    /// A database for one start, with the tables of these workloads.
    pub(crate) fn start(&self, workloads: &[&Workload], cpus: &[usize], work: &Path, means: Means<'_>) -> Result<Keeping, LabError> {
        let failed = |failure| match means.stop.load(std::sync::atomic::Ordering::Relaxed) {
            true => LabError::Interrupted,
            false => LabError::Database(self.name.clone(), Box::new(failure)),
        };
        let mut database = self.databases.start(cpus, work, means).map_err(failed)?;
        let stored: Vec<&Stored> = workloads.iter().filter_map(|workload| workload.stored.as_ref()).collect();
        let mut made = BTreeSet::new();
        for stored in stored.iter().filter(|stored| made.insert(&stored.tables)) {
            let run = database.client().and_then(|client| client.run(&stored.tables));
            let cause = |error: postgres::Error| format!("the tables of {} cannot be made: {error}", stored.file);
            run.map_err(|error| failed(Failure { stage: "start".into(), cause: cause(error), log: vec![] }))?;
        }
        let tables = workloads.iter().flat_map(|w| &w.steps).flat_map(|step| step.stores.keys().cloned());
        let mut holds: Vec<model::database::Holds> = Vec::new();
        for hold in stored.iter().flat_map(|stored| &stored.holds) {
            if !holds.contains(hold) {
                holds.push(hold.clone());
            }
        }
        Ok(Keeping {
            kept: Kept {
                ready_after_ns: database.ready_after_ns,
                version: database.version.clone(),
                settings: database.settings.clone(),
                checks: Vec::new(),
            },
            ledger: tables.map(|table| (table, Told::default())).collect(),
            holds,
            rows: conditions(workloads).into_iter().map(|(table, condition)| (table.to_owned(), condition)).collect(),
            lost: None,
            database,
        })
    }
}

impl Keeping {
    /// What `{database.*}` stands for.
    pub fn values(&self) -> BTreeMap<String, String> {
        self.database.values()
    }

    /// Its process, where it is one of ours.
    pub fn pid(&self) -> Option<u32> {
        self.database.pid()
    }

    /// CPU time of its processes so far, also of those that have ended.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.pid().map(tree_cpu_ns)
    }

    /// Notes that a workload was asked so often with nobody counting: any of it may have been stored.
    pub fn doubt(&mut self, workload: &Workload, passes: u64) {
        let all = OfStep { right: 0, in_doubt: passes };
        self.told(workload, &vec![all; workload.steps.len()]);
    }

    /// Notes what requests came to.
    pub fn told(&mut self, workload: &Workload, steps: &[OfStep]) {
        for (step, of_step) in workload.steps.iter().zip(steps) {
            for (table, rows) in &step.stores {
                let told = self.ledger.entry(table.clone()).or_default();
                told.acknowledged += rows * of_step.right;
                told.in_doubt += rows * of_step.in_doubt;
            }
        }
    }

    /// Empties the tables, and puts in what workloads want there; of one with several values of a parameter, what the first wants. What is
    /// in doubt stays so: it may be stored yet.
    pub fn begin(&mut self, workloads: &[&Workload]) {
        let mut filled = BTreeSet::new();
        let first = workloads.iter().filter(|workload| filled.insert(&workload.name));
        let fills: Vec<&str> = first.filter_map(|workload| workload.stored.as_ref()?.fill.as_deref()).collect();
        if let Err(error) = self.empty(&fills) {
            self.lose("it cannot be emptied", &error);
        }
    }

    fn empty(&mut self, fills: &[&str]) -> Result<(), postgres::Error> {
        let client = self.database.client()?;
        client.wait_for(LOOK_WITHIN)?;
        client.run(&format!("SET lock_timeout = '{}s'", LOCK_WITHIN.as_secs()))?;
        self.database.empty()?;
        let client = self.database.client()?;
        for fill in fills {
            client.run(fill)?;
        }
        for (table, told) in &mut self.ledger {
            (told.acknowledged, told.before) = (0, rows_of(client, table)?);
        }
        Ok(())
    }

    /// Looks into the tables, unless the database was lost before: what is there now may not be what was.
    pub fn check(&mut self, after: &str) {
        if self.lost.is_some() {
            return;
        }
        match self.look(after) {
            Ok(checked) => self.kept.checks.push(checked),
            Err(error) => self.lose("it cannot be looked into", &error),
        }
    }

    fn look(&mut self, after: &str) -> Result<Checked, postgres::Error> {
        let client = self.database.client()?;
        client.wait_for(LOOK_WITHIN)?;
        let mut tables = Vec::new();
        for (table, told) in &self.ledger {
            let rows = rows_of(client, table)?.saturating_sub(told.before);
            tables.push(TableCount { table: table.clone(), acknowledged: told.acknowledged, in_doubt: told.in_doubt, rows });
        }
        let mut holds = Vec::new();
        for hold in &self.holds {
            holds.push(Found { text: hold.text.clone(), value: client.value(&hold.zero)? });
        }
        let mut rows = Vec::new();
        for (table, condition) in &self.rows {
            rows.push(unlike(client, table, condition)?);
        }
        Ok(Checked { after: after.into(), tables, holds, rows })
    }

    fn lose(&mut self, what: &str, error: &postgres::Error) {
        let ended = self.database.ended().map_or(String::new(), |status| format!(" (it ended with {status})"));
        self.lost.get_or_insert_with(|| Fault {
            kind: "database-lost".into(),
            evidence: format!("{what}: {error}{ended}"),
            hint: "see its log in the record's folder under starts/".into(),
        });
    }

    /// Ends it; says what was found, and what went wrong with it, if anything.
    pub fn end(mut self) -> (Kept, Option<Fault>) {
        let ended = self.database.ended();
        let lost = self.lost.take().or_else(|| {
            let evidence = format!("the database ended with {} during the trial", ended?);
            Some(Fault { kind: "database-lost".into(), evidence, hint: "see its log in the record's folder under starts/".into() })
        });
        // How it ends says nothing of what was measured, and what one of ours leaves is removed by the next run.
        let is_ours = self.database.pid().is_some();
        let left = self.database.end().filter(|_| !is_ours).map(|evidence| Fault {
            kind: "database-lost".into(),
            evidence,
            hint: "look whether the server runs, and drop the schema".into(),
        });
        (self.kept, lost.or(left))
    }
}

fn rows_of(client: &mut postgres::Client, table: &str) -> Result<u64, postgres::Error> {
    let rows = client.value(&format!("SELECT count(*) FROM {}", quoted(table)))?;
    rows.parse().map_err(|_| postgres::Error::Lost(format!("`{table}` has {rows} rows")))
}

/// The rows of a table that do not meet a condition; where it is unknown (NULL) as well.
fn unlike(client: &mut postgres::Client, table: &str, condition: &str) -> Result<Unlike, postgres::Error> {
    let name = quoted(table);
    let found = client.run(&format!("SELECT count(*), min({name}::text) FROM {name} WHERE ({condition}) IS NOT TRUE"))?;
    let Some([count, example]) = found.first().map(Vec::as_slice) else {
        return Err(postgres::Error::Lost(format!("`{table}` has no count")));
    };
    let rows = count.as_deref().unwrap_or_default().parse();
    let rows = rows.map_err(|_| postgres::Error::Lost(format!("`{table}` has {count:?} rows that are not as they must be")))?;
    Ok(Unlike { table: table.into(), condition: condition.into(), rows, example: example.clone() })
}
