//! Contenders and the machine that they ran on, as the report shows them.

use super::fact::{Fact, fact};
use crate::machine::machine_facts;
use crate::wording::findings::database_use;
use record::database::DatabaseOfTrial;
use record::judgement::Judgement;
use record::{Participant, Record};
use serde::Serialize;
use spec::units::{show_bytes, show_number};

/// A contender of the experiment; one of them is the baseline.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Contender {
    /// `proxy-spring-mvc:virtual-threads`
    name: String,
    baseline: bool,
    summary: String,
    facts: Vec<Fact>,
    version: Option<String>,
    /// Files and folders that its build made.
    artifacts: Vec<Artifact>,
    trials_valid: usize,
    trials_excluded: usize,
    /// Milliseconds to the first correct response, over its trials.
    ready_ms: Option<Ready>,
    /// Whether it was already running: faceoff did not start it.
    reached: bool,
}

/// A file or folder that a build made.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Artifact {
    path: String,
    sha256: String,
    bytes: u64,
}

/// Start-up times over trials, in milliseconds.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Ready {
    median: f64,
    min: f64,
    max: f64,
}

/// The contenders in the order of the experiment.
pub(super) fn contenders(record: &Record, judgement: &Judgement) -> Vec<Contender> {
    record.header.contenders.iter().map(|p| contender(record, judgement, p)).collect()
}

fn contender(record: &Record, judgement: &Judgement, p: &Participant) -> Contender {
    let trials = record.trials.iter().filter(|t| t.contender == p.name).count();
    let excluded = judgement.excluded.iter().filter(|e| e.contender == p.name).count();
    let start = judgement.starts.iter().find(|s| s.contender == p.name);
    let versions: Vec<String> = p
        .versions
        .iter()
        .map(|(tool, version)| format!("{} {version}", without_bound(tool)))
        .collect();
    let command = record
        .trials
        .iter()
        .find(|t| t.contender == p.name && !t.command.is_empty())
        .map(|t| t.command.join(" "));
    let facts = p.facts.iter().map(|(name, value)| fact(name.clone(), value.clone()));
    let image = p.image.as_ref().map(|i| {
        fact("image", format!("{}, {} unpacked, {}", i.reference, show_bytes(i.bytes), i.digest))
    });
    let artifacts = p.artifacts.iter().map(|artifact| Artifact {
        path: artifact.path.clone(),
        sha256: artifact.sha256.clone(),
        bytes: artifact.bytes,
    });
    Contender {
        name: p.name.to_string(),
        baseline: p.name == judgement.baseline,
        summary: p.summary.clone(),
        facts: facts.chain(image).chain(command.map(|c| fact("command", c))).collect(),
        version: (!versions.is_empty()).then(|| versions.join(", ")),
        artifacts: artifacts.collect(),
        trials_valid: trials - excluded,
        trials_excluded: excluded,
        ready_ms: start.map(|s| Ready { median: s.median_ms, min: s.min_ms, max: s.max_ms }),
        reached: p.reached.is_some(),
    }
}

/// The name of a tool without the oldest version that will do: `JDK` of `JDK 17+`.
fn without_bound(tool: &str) -> &str {
    tool.rsplit_once(' ').filter(|(_, bound)| bound.ends_with('+')).map_or(tool, |(name, _)| name)
}

/// The machine, the database and the CPU steal of the run.
pub(super) fn machine(record: &Record, judgement: &Judgement) -> Vec<Fact> {
    let mut facts: Vec<Fact> =
        machine_facts(&record.header).into_iter().map(|(name, value)| fact(name, value)).collect();
    if let Some(database) = &record.header.database {
        facts.push(fact("database", format!("{}: {}", database.name, database.summary)));
        facts.extend(
            record
                .trials
                .iter()
                .find_map(|t| t.database.as_ref())
                .map_or_else(Vec::new, database_facts),
        );
        facts.extend(judgement.databases.iter().map(|used| {
            fact(format!("database in {}, {}", used.cell, used.contender), database_use(used))
        }));
    }
    let steal = record.trials.iter().map(|t| t.host.steal_share).fold(0.0, f64::max);
    facts.push(fact("highest CPU steal in a trial", format!("{} %", show_number(steal * 100.0))));
    facts
}

/// Version and settings, as the database reports them.
fn database_facts(kept: &DatabaseOfTrial) -> Vec<Fact> {
    let settings: Vec<String> =
        kept.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    vec![
        fact("version of the database", kept.version.clone()),
        fact("settings of the database", settings.join(", ")),
    ]
}
