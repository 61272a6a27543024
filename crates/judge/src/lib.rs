//! From a record to verdicts. Runs nothing, reads nothing but the record.
//!
//! The rule stands in METHOD.md: per metric, cell and contender, the blocks'
//! log-ratios to the baseline, their t interval, and a margin.

pub mod audit;
mod claims;
pub mod soundness;
mod summary;
mod verdict;

pub use soundness::spoils;
pub use verdict::value;

use model::judgement::{Excluded, Judgement, Outcome, SCHEMA, Verdict};
use model::metric::Metric;
use model::record::{Measurement, Record, Trial};

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

/// Judges a record.
pub fn judge(record: &Record) -> Judgement {
    let found = soundness::Faults::of(record);
    let faults = found.list(record);
    // From here on the record holds every fault, so that whoever asks it sees them all.
    let record = &*found.within(record);
    let experiment = &record.header.experiment;
    let verdicts = verdict::all(record);
    let claims = claims::all(record, &verdicts);
    let mut excluded = Vec::new();
    for trial in &record.trials {
        if let Some(reason) = exclusion(trial) {
            excluded.push(Excluded { contender: trial.contender.clone(), block: trial.block, reason });
        }
    }
    let judged: Vec<&Verdict> = verdicts.iter().filter(|v| v.metric != Metric::FailedShare).collect();
    let unsound = !faults.is_empty() && !judged.is_empty() && judged.iter().all(|v| v.outcome == Outcome::Undecided && v.spoilt > 0);
    let failed_trial = record.trials.iter().any(|t| t.failure.is_some());
    let failed_contender = record.dropped().next().is_some() || record.header.skipped.iter().any(|s| s.failed);
    Judgement {
        schema: SCHEMA.into(),
        record: record.header.id.clone(),
        experiment: experiment.name.clone(),
        baseline: experiment.baseline.clone(),
        verdicts,
        claims,
        excluded,
        faults,
        rows: summary::rows(record),
        curves: summary::curves(record),
        starts: summary::starts(record),
        warmups: Vec::new(),
        looks: Vec::new(),
        noise: Vec::new(),
        symptoms: Vec::new(),
        unsound,
        incomplete: failed_trial || failed_contender || !record.missing().is_empty(),
    }
}
