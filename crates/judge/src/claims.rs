//! Whether the claims of an experiment hold.
//!
//! A claim names a contender, a metric and a direction. Each of its cells is judged, then the cells
//! are combined, then Holm's correction is applied over all claims. Start with [`judge_claims`].

use crate::judged::Judged;
use crate::ranking::ROUNDING;
use crate::readings::{Missing, values};
use crate::restraint::failures;
use crate::rule::Edges;
use crate::self_comparison::judge_self_comparison;
use crate::verdict::Judge;
use record::judgement::{ClaimCell, ClaimOutcome, ClaimVerdict, Outcome, Verdict};
use spec::experiment::{Claim, Expectation, FEWEST_BLOCKS};
use spec::units::show_number;
use stats::holm;

/// Judges every claim of the experiment, with Holm's correction for all that are tested.
pub(crate) fn judge_claims(judge: &Judge<'_>, verdicts: &[Judged]) -> Vec<ClaimVerdict> {
    let experiment = &judge.record.header.experiment;
    let mut claims: Vec<ClaimVerdict> =
        experiment.claims.iter().map(|claim| one(judge, claim, verdicts)).collect();
    correct(&mut claims, 1.0 - experiment.design.confidence);
    claims
}

/// Corrects the p-values of claims, and withdraws outcomes that are not certain enough then.
fn correct(claims: &mut [ClaimVerdict], threshold: f64) {
    let mut tested: Vec<&mut ClaimVerdict> =
        claims.iter_mut().filter(|c| !c.claim.expects.is_absolute()).collect();
    // A claim without a p-value belongs to the family all the same: the number of claims is written
    // before the run.
    let adjusted = holm(&tested.iter().map(|c| c.p.unwrap_or(1.0)).collect::<Vec<_>>());
    let family = tested.len();
    for (claim, adjusted) in tested.iter_mut().zip(adjusted) {
        let Some(p) = claim.p else { continue };
        claim.p_adjusted = Some(adjusted);
        if claim.outcome == ClaimOutcome::Undecided || adjusted <= threshold + ROUNDING {
            continue;
        }
        let word = if claim.outcome == ClaimOutcome::Confirmed { "hold" } else { "be refuted" };
        claim.reason = if p <= threshold + ROUNDING {
            format!(
                "it would {word} alone (p = {}), but it is one of {family} claims: corrected by Holm, p = {}, above {}",
                show_number(p),
                show_number(adjusted),
                show_number(threshold)
            )
        } else {
            format!(
                "it would {word} in one cell alone, but it is about {} cells: p = {}, above {}",
                claim.cells.len(),
                show_number(adjusted),
                show_number(threshold)
            )
        };
        claim.outcome = ClaimOutcome::Undecided;
    }
}

fn one(judge: &Judge<'_>, claim: &Claim, verdicts: &[Judged]) -> ClaimVerdict {
    let experiment = &judge.record.header.experiment;
    let verdict = |outcome, reason: String, p, cells| ClaimVerdict {
        claim: claim.clone(),
        outcome,
        reason,
        p,
        p_adjusted: None,
        cells,
    };
    if let Some(why) = judge.record.untried(claim) {
        return verdict(ClaimOutcome::Undecided, why, None, vec![]);
    }
    let names: Vec<Option<&str>> = match claim.judged_in(&experiment.cells) {
        None => vec![None],
        Some(cells) => cells.into_iter().map(|cell| Some(cell.name.as_str())).collect(),
    };
    let (cells, p_values): (Vec<ClaimCell>, Vec<Option<f64>>) =
        names.into_iter().map(|cell| in_cell(judge, claim, verdicts, cell)).unzip();
    let (outcome, reason) = over_cells(&cells);
    let p = if claim.expects.is_absolute() { None } else { combined(outcome, &cells, &p_values) };
    verdict(outcome, reason, p, cells)
}

/// Judges a claim in one cell, or in none for a claim about the start. Returns its p-value if it
/// has one.
fn in_cell(
    judge: &Judge<'_>,
    claim: &Claim,
    verdicts: &[Judged],
    cell: Option<&str>,
) -> (ClaimCell, Option<f64>) {
    let margin = claim.margin.unwrap_or(judge.record.header.experiment.design.margin);
    let named = |name: &str, outcome, verdict| ClaimCell {
        cell: cell.unwrap_or(name).to_owned(),
        outcome,
        verdict,
    };
    if let Some(compared_with) = claim.compared_with {
        let judged = judge_self_comparison(judge, claim, compared_with, cell, margin);
        let (outcome, p) = of_comparison(claim, &judged);
        return (named("warm-up", outcome, judged.verdict), p);
    }
    if claim.expects.is_absolute() {
        let (outcome, verdict) = in_every_trial(judge, claim, cell, margin);
        return (named("start", outcome, verdict), None);
    }
    let is_same = |j: &&Judged| {
        let v = &j.verdict;
        v.contender == claim.contender
            && v.metric == claim.metric
            && v.cell.as_deref() == cell
            && v.margin == margin
    };
    let judged = match claim.value.filter(|_| claim.expects == Expectation::Times) {
        Some(factor) => judge.with_multiple(&claim.contender, claim.metric, cell, margin, factor),
        None => {
            verdicts.iter().find(is_same).cloned().unwrap_or_else(|| {
                judge.with_baseline(&claim.contender, claim.metric, cell, margin)
            })
        }
    };
    let (outcome, p) = of_comparison(claim, &judged);
    (named("start", outcome, judged.verdict), p)
}

/// Combines the outcomes of all cells: a claim holds in all of them or not at all.
fn over_cells(cells: &[ClaimCell]) -> (ClaimOutcome, String) {
    let with = |outcome| {
        cells.iter().filter(|c| c.outcome == outcome).map(|c| c.cell.as_str()).collect::<Vec<_>>()
    };
    let (refuted, undecided) = (with(ClaimOutcome::Refuted), with(ClaimOutcome::Undecided));
    let first_open = cells.iter().find(|c| c.outcome == ClaimOutcome::Undecided);
    match first_open {
        _ if !refuted.is_empty() && refuted.len() == cells.len() => {
            (ClaimOutcome::Refuted, "it does not hold".into())
        }
        _ if !refuted.is_empty() => {
            (ClaimOutcome::Refuted, format!("it does not hold in {}", refuted.join(", ")))
        }
        _ if cells.is_empty() => (ClaimOutcome::Undecided, "none of its cells was measured".into()),
        None if cells.len() == 1 => (ClaimOutcome::Confirmed, "it holds".into()),
        None => (ClaimOutcome::Confirmed, format!("it holds in all {} cells", cells.len())),
        Some(first) => {
            let why = match first.verdict.reason.as_str() {
                "" => "too few blocks",
                reason => reason,
            };
            (ClaimOutcome::Undecided, format!("in {}: {why}", undecided.join(", ")))
        }
    }
}

/// Combines the p-values of all cells. A claim must hold in every cell, so its p-value is the
/// greatest. One cell refutes it, so then the smallest is multiplied by the number of cells
/// (Bonferroni).
fn combined(outcome: ClaimOutcome, cells: &[ClaimCell], p_values: &[Option<f64>]) -> Option<f64> {
    if outcome != ClaimOutcome::Refuted {
        return p_values
            .iter()
            .copied()
            .collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::max);
    }
    let refuting = cells
        .iter()
        .zip(p_values)
        .filter(|(cell, _)| cell.outcome == ClaimOutcome::Refuted)
        .filter_map(|(_, p)| *p);
    refuting.reduce(f64::min).map(|p| (p * cells.len() as f64).min(1.0))
}

/// Returns what a comparison means for a claim, with its p-value. A claim about one direction is
/// tested at that edge of the margin alone.
fn of_comparison(claim: &Claim, judged: &Judged) -> (ClaimOutcome, Option<f64>) {
    let Edges { below_lower, above_lower, below_upper, above_upper } = judged.edges;
    let (holds, fails) = match claim.expects {
        Expectation::Lower => (below_lower, above_lower),
        Expectation::Higher => (above_upper, below_upper),
        Expectation::NotWorse if claim.metric.describe().lower_is_better => {
            (below_upper, above_upper)
        }
        Expectation::NotWorse => (above_lower, below_lower),
        Expectation::Same
        | Expectation::Times
        | Expectation::Zero
        | Expectation::AboveZero
        | Expectation::AtMost => {
            let outcome = match judged.verdict.outcome {
                Outcome::Equivalent => ClaimOutcome::Confirmed,
                Outcome::Better | Outcome::Worse => ClaimOutcome::Refuted,
                Outcome::Undecided => ClaimOutcome::Undecided,
            };
            return (outcome, judged.p);
        }
    };
    match () {
        () if holds.holds => (ClaimOutcome::Confirmed, holds.p),
        () if fails.holds => (ClaimOutcome::Refuted, fails.p),
        () => (ClaimOutcome::Undecided, holds.p.into_iter().chain(fails.p).reduce(f64::min)),
    }
}

/// Checks that a metric is zero, above zero or at most the claim's value in every trial: a single
/// trial refutes it. No contender is compared: the verdict reports what was measured. Failed
/// requests are in no latency, so a contender that has some is not confirmed.
fn in_every_trial(
    judge: &Judge<'_>,
    claim: &Claim,
    cell: Option<&str>,
    margin: f64,
) -> (ClaimOutcome, Verdict) {
    let about = claim.metric.describe();
    let found = values(judge.record, &claim.contender, claim.metric, cell);
    let seen: Vec<f64> =
        found.iter().filter_map(|(_, v)| v.as_ref().ok()).map(|side| side.value).collect();
    let mut reason = range(&seen, about.unit);
    let failed = if about.by_difference {
        Vec::new()
    } else {
        failures(judge.record, &claim.contender, cell)
    };
    let holds = |value: &f64| match claim.expects {
        Expectation::Zero => *value == 0.0,
        Expectation::AboveZero => *value > 0.0,
        _ => claim.value.is_some_and(|most| *value <= most),
    };
    let outcome = match () {
        () if !seen.iter().all(holds) => ClaimOutcome::Refuted,
        () if seen.len() < FEWEST_BLOCKS as usize => {
            reason += &format!(", but a verdict needs {FEWEST_BLOCKS}");
            ClaimOutcome::Undecided
        }
        // It acknowledged writes that it did not keep, say.
        () if judge.is_disqualified(&claim.contender) => {
            reason += &format!(", but {} is disqualified", claim.contender);
            ClaimOutcome::Undecided
        }
        () if !failed.is_empty() => {
            reason += &format!(", not counting failures: {}", failed.join(", "));
            ClaimOutcome::Undecided
        }
        () => ClaimOutcome::Confirmed,
    };
    let verdict = Verdict {
        cell: cell.map(str::to_owned),
        reason,
        confidence: judge.looks.now.confidence,
        value: stats::geometric_mean(&seen).or_else(|| stats::mean(&seen)),
        margin,
        used: seen.len(),
        excluded: found.len() - seen.len(),
        invalidated: found.iter().filter(|(_, v)| matches!(v, Err(Missing::Invalidated))).count(),
        ..Verdict::open(
            claim.contender.clone(),
            judge.record.header.experiment.baseline.clone(),
            claim.metric,
        )
    };
    (outcome, verdict)
}

/// `31.8 to 32.4 % in 12 trials`
fn range(values: &[f64], unit: &str) -> String {
    let ends = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
    let Some((least, most)) = ends else { return "no trial could be used".to_owned() };
    let (least, most) = (show_number(least), show_number(most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let (n, s) = (values.len(), if values.len() == 1 { "" } else { "s" });
    format!("{} in {n} trial{s}", format!("{range} {unit}").trim_end())
}
