//! Whether the claims of an experiment hold.

use crate::verdict::{one, values};
use model::experiment::{Claim, Expectation, FEWEST_BLOCKS};
use model::judgement::{ClaimCell, ClaimOutcome, ClaimVerdict, Outcome, Verdict};
use model::record::Record;

/// Judges every claim of the experiment.
pub(crate) fn all(record: &Record, verdicts: &[Verdict]) -> Vec<ClaimVerdict> {
    record.header.experiment.claims.iter().map(|claim| judge(record, claim, verdicts)).collect()
}

fn judge(record: &Record, claim: &Claim, verdicts: &[Verdict]) -> ClaimVerdict {
    let experiment = &record.header.experiment;
    let verdict = |outcome, reason: String, cells| ClaimVerdict { claim: claim.clone(), outcome, reason, p: None, p_adjusted: None, cells };
    if let Some(skipped) = record.header.skipped.iter().find(|s| s.contender == claim.contender) {
        return verdict(ClaimOutcome::Undecided, format!("{} took no part: {}", claim.contender, first_line(&skipped.reason)), vec![]);
    }
    if let Some((_, failure)) = record.dropped().find(|(name, _)| **name == claim.contender) {
        return verdict(ClaimOutcome::Undecided, format!("{} took no part: {}", claim.contender, failure.cause), vec![]);
    }
    let names: Vec<Option<&str>> = if claim.metric.describe().of_trial {
        vec![None]
    } else {
        let all = experiment.cells.iter().map(|c| c.name.as_str());
        all.filter(|c| claim.cells.is_empty() || claim.cells.iter().any(|n| n == c)).map(Some).collect()
    };
    let margin = claim.margin.unwrap_or(experiment.design.margin);
    let cells: Vec<ClaimCell> = names
        .into_iter()
        .map(|cell| {
            let same = |v: &&Verdict| {
                v.contender == claim.contender && v.metric == claim.metric && v.cell.as_deref() == cell && v.margin == margin
            };
            let verdict = verdicts.iter().find(same).cloned().unwrap_or_else(|| one(record, &claim.contender, claim.metric, cell, margin));
            let outcome = match claim.expects {
                Expectation::Zero | Expectation::AboveZero => of_zero(record, claim, cell),
                _ => of_comparison(claim, &verdict),
            };
            ClaimCell { cell: cell.unwrap_or("start").to_owned(), outcome, verdict }
        })
        .collect();
    let with = |outcome| cells.iter().filter(|c| c.outcome == outcome).map(|c| c.cell.as_str()).collect::<Vec<_>>();
    let (refuted, undecided) = (with(ClaimOutcome::Refuted), with(ClaimOutcome::Undecided));
    let (outcome, reason) = match () {
        () if !refuted.is_empty() && refuted.len() == cells.len() => (ClaimOutcome::Refuted, "it does not hold".into()),
        () if !refuted.is_empty() => (ClaimOutcome::Refuted, format!("it does not hold in {}", refuted.join(", "))),
        () if cells.is_empty() => (ClaimOutcome::Undecided, "none of its cells was measured".into()),
        () if undecided.is_empty() => {
            (ClaimOutcome::Confirmed, if cells.len() == 1 { "it holds".into() } else { format!("it holds in all {} cells", cells.len()) })
        }
        () => {
            let first = cells.iter().find(|c| c.outcome == ClaimOutcome::Undecided).expect("one is undecided");
            let why = if first.verdict.reason.is_empty() { "too few blocks" } else { &first.verdict.reason };
            (ClaimOutcome::Undecided, format!("open in {}: {why}", undecided.join(", ")))
        }
    };
    verdict(outcome, reason, cells)
}

fn of_comparison(claim: &Claim, verdict: &Verdict) -> ClaimOutcome {
    let lower_is_better = claim.metric.describe().lower_is_better;
    let confirming = match claim.expects {
        Expectation::Same => Outcome::Equivalent,
        Expectation::Lower if lower_is_better => Outcome::Better,
        Expectation::Higher if !lower_is_better => Outcome::Better,
        _ => Outcome::Worse,
    };
    match verdict.outcome {
        Outcome::Undecided => ClaimOutcome::Undecided,
        outcome if outcome == confirming => ClaimOutcome::Confirmed,
        _ => ClaimOutcome::Refuted,
    }
}

/// Zero, or above it, in every trial: what is seen once is seen.
fn of_zero(record: &Record, claim: &Claim, cell: Option<&str>) -> ClaimOutcome {
    let seen: Vec<f64> = values(record, &claim.contender, claim.metric, cell).into_iter().filter_map(|(_, v)| v.ok()).collect();
    let holds = |v: &f64| (*v > 0.0) == (claim.expects == Expectation::AboveZero);
    match () {
        () if !seen.iter().all(holds) => ClaimOutcome::Refuted,
        () if seen.len() < FEWEST_BLOCKS as usize => ClaimOutcome::Undecided,
        () => ClaimOutcome::Confirmed,
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
