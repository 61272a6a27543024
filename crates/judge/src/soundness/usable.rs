//! Which trials count: whether anything excludes a trial from every verdict.

use super::by_name::{invalidates_all, title};
use record::{Measurement, Record, Trial};
use spec::name::ContenderName;

/// Returns whether a trial failed before its measurements were complete.
pub(crate) fn has_failed(trial: &Trial) -> bool {
    trial.failure.as_ref().is_some_and(|failure| failure.stage != "stop")
}

/// Returns why a trial is excluded from every verdict. Returns `None` if it is used.
pub fn exclusion(trial: &Trial) -> Option<String> {
    if let Some(failure) = trial.failure.as_ref().filter(|_| has_failed(trial)) {
        return Some(format!("{} ({})", failure.cause, failure.stage));
    }
    trial
        .faults
        .iter()
        .find(|fault| invalidates_all(&fault.kind))
        .map(|fault| format!("{}: {}", title(&fault.kind), fault.evidence))
}

/// Returns the trials of a contender that verdicts use.
pub(crate) fn used_trials<'r>(
    record: &'r Record,
    name: &ContenderName,
) -> impl Iterator<Item = &'r Trial> {
    record.trials.iter().filter(move |t| t.contender == *name && exclusion(t).is_none())
}

/// Returns the measurement of a cell in a trial.
pub fn measurement<'t>(trial: &'t Trial, cell: &str) -> Option<&'t Measurement> {
    trial.measurements.iter().find(|m| m.cell == cell)
}
