//! From a record to verdicts. Runs nothing, reads nothing but the record.
//!
//! The rule stands in METHOD.md: per metric, cell and contender, the blocks'
//! log-ratios to the baseline, an interval that holds two others, and a margin.

pub mod audit;
mod capacities;
mod claims;
mod effects;
pub mod history;
mod itself;
mod keeping;
pub mod looks;
mod offered;
mod pilot;
mod ranking;
pub mod rule;
pub mod soundness;
mod summary;
mod sweeps;
mod symptoms;
mod turns;
mod verdict;
mod witnesses;

pub use soundness::spoils;
pub use verdict::value;

use model::judgement::{Excluded, Judgement, SCHEMA};
use model::record::{Measurement, Record, Trial};
use std::borrow::Cow;
use verdict::Judge;

/// Why a trial is left out of every verdict; `None` when it is used.
pub fn exclusion(trial: &Trial) -> Option<String> {
    if let Some(failure) = &trial.failure
        && failure.stage != "stop"
    {
        return Some(format!("{} ({})", failure.cause, failure.stage));
    }
    trial.faults.iter().find(|f| soundness::spoils_all(&f.kind)).map(|fault| format!("{}: {}", fault.kind, fault.evidence))
}

/// The measurement of a cell in a trial.
pub fn measurement<'t>(trial: &'t Trial, cell: &str) -> Option<&'t Measurement> {
    trial.measurements.iter().find(|m| m.cell == cell)
}

/// The record with every fault in it: those that stand in it, and those that its readings show.
pub fn with_faults(record: &Record) -> Cow<'_, Record> {
    soundness::Faults::of(record).within(record)
}

/// Judges a record.
pub fn judge(record: &Record) -> Judgement {
    let found = soundness::Faults::of(record);
    let mut faults = found.list(record);
    faults.extend(keeping::faults(record));
    // From here on the record holds every fault, so that whoever asks it sees them all.
    let record = &*found.within(record);
    let experiment = &record.header.experiment;
    let mut judge = Judge::new(record);
    let mut judged = judge.all();
    let mut excluded = Vec::new();
    for trial in &record.trials {
        if let Some(reason) = exclusion(trial) {
            excluded.push(Excluded { contender: trial.contender.clone(), block: trial.block, reason });
        }
    }
    let noise = ranking::noise(record, &judged);
    ranking::correct_twins(&mut judged, experiment.design.confidence);
    let differing = ranking::differing(&judged);
    faults.extend(differing.iter().map(ranking::aa_differs));
    let mut effects = effects::all(record);
    let unsound = ranking::unsound(record, &judged, &differing).or_else(|| effects::unsound(record, &effects));
    judge.differs = ranking::places(&differing);
    judge.unsound = unsound.clone().unwrap_or_default();
    judged.iter_mut().for_each(|j| judge.restrain(j));
    if !judge.unsound.is_empty() {
        effects.iter_mut().for_each(|e| {
            e.effects.clear();
            e.reason = format!("the run is unsound: {}", judge.unsound);
        });
    }
    let claims = claims::all(&judge, &judged);
    let sweeps = sweeps::all(&judge, &judged);
    let checks = soundness::checks(record, &faults, noise.len());
    let failed_trial = record.trials.iter().any(|t| t.failure.is_some());
    let failed_contender = record.dropped().next().is_some() || record.header.skipped.iter().any(|s| s.failed);
    Judgement {
        schema: SCHEMA.into(),
        record: record.header.id.clone(),
        experiment: experiment.name.clone(),
        recorded_at: record.header.recorded_at.clone(),
        blocks: record.trials.iter().map(|t| t.block).max().unwrap_or(0),
        quick: record.header.quick,
        baseline: experiment.baseline.clone(),
        verdicts: judged.into_iter().map(|j| j.verdict).collect(),
        claims,
        excluded,
        disqualified: judge.disqualified.clone(),
        made_again: record.trials.iter().map(|t| t.robbed.len() as u32).sum(),
        faults,
        checks,
        rows: summary::rows(record),
        databases: summary::databases(record),
        offered: offered::all(record),
        curves: summary::curves(record),
        sweeps,
        capacities: capacities::all(record),
        witnesses: witnesses::all(record),
        effects,
        starts: summary::starts(record),
        warmups: summary::warmups(record),
        looks: judge.looks.all,
        noise,
        symptoms: symptoms::all(record),
        audit: record.header.article.as_ref().map(audit::audit),
        unsound: unsound.is_some(),
        incomplete: !judge.disqualified.is_empty() || failed_trial || failed_contender || !record.missing().is_empty(),
    }
}
