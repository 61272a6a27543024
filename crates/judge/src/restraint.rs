//! When a contender may not win although its numbers are better.
//!
//! A contender that failed requests cannot win the cell: its fast failures are no responses. If its
//! slowness caused faults that removed its worst measurements, the remaining sample is biased. Then
//! it cannot be better, equivalent or not worse. Start with [`bar_failed`] and [`bar_biased`].

use crate::judged::Judged;
use crate::readings::invalidating;
use crate::soundness::{has_failed, invalidates, is_self_caused, measurement};
use record::judgement::{Outcome, Verdict};
use record::{Fault, Record, Trial};
use spec::metric::Metric;
use spec::name::ContenderName;
use std::cmp::Ordering;

/// The largest share of its measurements that a contender may lose to faults that it caused itself,
/// if its opponent lost fewer.
const LEFT_OUT_MAX: f64 = 0.25;

/// Withdraws an outcome that favours a contender whose remaining sample is biased.
pub(crate) fn bar_biased(judged: &mut Judged, record: &Record, cell: &str) {
    let Verdict { contender, baseline, metric, .. } = &judged.verdict;
    let excluded = |name: &ContenderName| {
        let of_cell = |t: &&Trial| t.contender == *name && measurement(t, cell).is_some();
        let all: Vec<&Trial> = record.trials.iter().filter(of_cell).collect();
        let is_excluded = |t: &&&Trial| invalidating(t, *metric, Some(cell)).any(is_self_caused);
        (all.iter().filter(is_excluded).count(), all.len())
    };
    let ((its, of_its), (theirs, of_theirs)) = (excluded(contender), excluded(baseline));
    let (favoured, excluded, all) = match (its * of_theirs).cmp(&(theirs * of_its)) {
        Ordering::Greater => (contender, its, of_its),
        Ordering::Less => (baseline, theirs, of_theirs),
        Ordering::Equal => return,
    };
    // A contender that loses even on its best measurements has lost.
    if excluded as f64 <= LEFT_OUT_MAX * all as f64
        || judged.winner_and_loser().is_some_and(|(_, loser)| loser == favoured)
    {
        return;
    }
    let reason = format!(
        "{excluded} of {all} measurements of {favoured} were excluded because of faults that it caused itself, so the remaining sample is biased"
    );
    judged.unsettle(reason);
}

/// Withdraws the outcome if the winner failed requests in the cell.
pub(crate) fn bar_failed(judged: &mut Judged, record: &Record, cell: Option<&str>) {
    if let Some((winner, _)) = judged.winner_and_loser() {
        withdraw_if_failed(judged, record, &winner.clone(), cell, "better");
    }
}

/// Withdraws an equivalent verdict on a contender that failed: part of the work was not done.
pub(crate) fn bar_failed_equal(judged: &mut Judged, record: &Record, cell: Option<&str>) {
    if judged.verdict.outcome == Outcome::Equivalent {
        withdraw_if_failed(judged, record, &judged.verdict.contender.clone(), cell, "equal");
    }
}

fn withdraw_if_failed(
    judged: &mut Judged,
    record: &Record,
    name: &ContenderName,
    cell: Option<&str>,
    outcome: &str,
) {
    let causes = failures(record, name, cell);
    if !causes.is_empty() {
        judged.withdraw(format!(
            "{name} had failures of its own ({}), so it cannot be judged {outcome}",
            causes.join(", ")
        ));
    }
}

/// Lists what a contender itself failed in a cell, or in all cells: `3 requests timed out`, `1 of
/// its trials failed`.
pub(crate) fn failures(record: &Record, name: &ContenderName, cell: Option<&str>) -> Vec<String> {
    // A failure that a fault may have caused is not the contender's.
    let has_fault =
        |faults: &[Fault]| faults.iter().any(|f| invalidates(&f.kind, Metric::FailedShare));
    let has_latency_fault =
        |faults: &[Fault]| faults.iter().any(|f| invalidates(&f.kind, Metric::LatencyP99));
    let mut failed: Vec<(&str, u64)> = Vec::new();
    let mut failed_trials = 0;
    for trial in record.trials.iter().filter(|t| t.contender == *name && !has_fault(&t.faults)) {
        failed_trials += usize::from(has_failed(trial));
        for measured in trial
            .measurements
            .iter()
            .filter(|m| cell.is_none_or(|c| m.cell == c) && !has_fault(&m.faults))
        {
            for (kind, count) in measured.counts.parts() {
                // A closed load ends with requests in flight: unfinished ones are no failures.
                let bars =
                    matches!(kind, "wrong" | "declined" | "refused" | "broken" | "timed_out")
                        || kind == "unfinished"
                            && measured.latency.is_some()
                            && !has_latency_fault(&measured.faults);
                if bars && count > 0 {
                    match failed.iter_mut().find(|(k, _)| *k == kind) {
                        Some((_, sum)) => *sum += count,
                        None => failed.push((kind, count)),
                    }
                }
            }
        }
    }
    let mut causes: Vec<String> = failed
        .iter()
        .map(|(kind, count)| format!("{count} requests {}", kind.replace('_', " ")))
        .collect();
    if failed_trials > 0 {
        causes.push(format!("{failed_trials} of its trials failed"));
    }
    causes
}
