//! Whether the claims of an experiment hold.

use crate::itself;
use crate::rule::Edges;
use crate::verdict::{Judge, Judged, failures, values};
use model::experiment::{Claim, Expectation, FEWEST_BLOCKS};
use model::judgement::{ClaimCell, ClaimOutcome, ClaimVerdict, Outcome, Verdict};
use model::units::show_number;
use stats::holm;

/// Rounding of a p-value that lies on its threshold.
pub(crate) const ROUNDING: f64 = 1e-9;

/// Judges every claim of the experiment, with Holm's correction for all that are tested.
pub(crate) fn all(judge: &Judge<'_>, verdicts: &[Judged]) -> Vec<ClaimVerdict> {
    let experiment = &judge.record.header.experiment;
    let mut claims: Vec<ClaimVerdict> = experiment.claims.iter().map(|claim| one(judge, claim, verdicts)).collect();
    let mut tested: Vec<&mut ClaimVerdict> = claims.iter_mut().filter(|c| !c.claim.expects.is_absolute()).collect();
    // A claim without a p-value belongs to the family all the same: how many there are is written before the run.
    let adjusted = holm(&tested.iter().map(|c| c.p.unwrap_or(1.0)).collect::<Vec<_>>());
    let threshold = 1.0 - experiment.design.confidence;
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
                "it would {word} in one cell alone, but it speaks of {}: p = {}, above {}",
                claim.cells.len(),
                show_number(adjusted),
                show_number(threshold)
            )
        };
        claim.outcome = ClaimOutcome::Undecided;
    }
    claims
}

fn one(judge: &Judge<'_>, claim: &Claim, verdicts: &[Judged]) -> ClaimVerdict {
    let record = judge.record;
    let experiment = &record.header.experiment;
    let verdict = |outcome, reason: String, p, cells| ClaimVerdict { claim: claim.clone(), outcome, reason, p, p_adjusted: None, cells };
    if let Some(why) = record.untried(claim) {
        return verdict(ClaimOutcome::Undecided, why, None, vec![]);
    }
    let names: Vec<Option<&str>> = match claim.judged_in(&experiment.cells) {
        None => vec![None],
        Some(cells) => cells.into_iter().map(|cell| Some(cell.name.as_str())).collect(),
    };
    let margin = claim.margin.unwrap_or(experiment.design.margin);
    let (cells, p_values): (Vec<ClaimCell>, Vec<Option<f64>>) = names
        .into_iter()
        .map(|cell| {
            if let Some(beside) = claim.beside {
                let judged = itself::compared(judge, claim, beside, cell, margin);
                let (outcome, p) = of_comparison(claim, &judged);
                return (ClaimCell { cell: cell.unwrap_or("warm-up").to_owned(), outcome, verdict: judged.verdict }, p);
            }
            let name = cell.unwrap_or("start").to_owned();
            if claim.expects == Expectation::AtMost {
                let (outcome, verdict) = at_most(judge, claim, cell, margin);
                return (ClaimCell { cell: name, outcome, verdict }, None);
            }
            let same = |j: &&Judged| {
                let v = &j.verdict;
                v.contender == claim.contender && v.metric == claim.metric && v.cell.as_deref() == cell && v.margin == margin
            };
            let judged = match claim.value.filter(|_| claim.expects == Expectation::Times) {
                Some(factor) => judge.times(&claim.contender, claim.metric, cell, margin, factor),
                None => {
                    let known = verdicts.iter().find(same).cloned();
                    known.unwrap_or_else(|| judge.one(&claim.contender, claim.metric, cell, margin))
                }
            };
            let (outcome, p) =
                if claim.expects.is_absolute() { (of_zero(judge, claim, cell), None) } else { of_comparison(claim, &judged) };
            (ClaimCell { cell: name, outcome, verdict: judged.verdict }, p)
        })
        .unzip();
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
    let p = if claim.expects.is_absolute() { None } else { combined(outcome, &cells, &p_values) };
    verdict(outcome, reason, p, cells)
}

/// A claim holds in every cell or not at all, so its p is the greatest; one cell refutes it, so the smallest counts as often
/// as there are cells (Bonferroni).
fn combined(outcome: ClaimOutcome, cells: &[ClaimCell], p_values: &[Option<f64>]) -> Option<f64> {
    if outcome != ClaimOutcome::Refuted {
        return p_values.iter().copied().collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max);
    }
    let refuting = cells.iter().zip(p_values).filter(|(cell, _)| cell.outcome == ClaimOutcome::Refuted).filter_map(|(_, p)| *p);
    refuting.reduce(f64::min).map(|p| (p * cells.len() as f64).min(1.0))
}

/// What a comparison says of a claim, and its p. Who speaks of one direction is asked about that edge of the margin alone.
fn of_comparison(claim: &Claim, judged: &Judged) -> (ClaimOutcome, Option<f64>) {
    let Edges { below_lower, above_lower, below_upper, above_upper } = judged.edges;
    let (holds, fails) = match claim.expects {
        Expectation::Lower => (below_lower, above_lower),
        Expectation::Higher => (above_upper, below_upper),
        Expectation::NotWorse if claim.metric.describe().lower_is_better => (below_upper, above_upper),
        Expectation::NotWorse => (above_lower, below_lower),
        _ => {
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

/// Zero, or above it, in every trial: what is seen once is seen.
fn of_zero(judge: &Judge<'_>, claim: &Claim, cell: Option<&str>) -> ClaimOutcome {
    let seen: Vec<f64> =
        values(judge.record, &claim.contender, claim.metric, cell).into_iter().filter_map(|(_, v)| v.ok()).map(|side| side.value).collect();
    let holds = |v: &f64| (*v > 0.0) == (claim.expects == Expectation::AboveZero);
    match () {
        () if !seen.iter().all(holds) => ClaimOutcome::Refuted,
        // It answered without doing what it said.
        () if judge.is_disqualified(&claim.contender) || seen.len() < FEWEST_BLOCKS as usize => ClaimOutcome::Undecided,
        () => ClaimOutcome::Confirmed,
    }
}

/// At most its value in every trial. Nobody is compared: the verdict says what was seen. Whoever failed requests is not confirmed, as
/// those that got no answer are in no latency.
fn at_most(judge: &Judge<'_>, claim: &Claim, cell: Option<&str>, margin: f64) -> (ClaimOutcome, Verdict) {
    let about = claim.metric.describe();
    let found = values(judge.record, &claim.contender, claim.metric, cell);
    let seen: Vec<f64> = found.iter().filter_map(|(_, v)| v.as_ref().ok()).map(|side| side.value).collect();
    let (least, most) = seen.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(*v), most.max(*v)));
    let mut reason = match seen.len() {
        0 => "no trial could be used".to_owned(),
        n => {
            let range = format!("{} to {} {}", show_number(least), show_number(most), about.unit);
            format!("{} in {n} trial{}", range.trim_end(), if n == 1 { "" } else { "s" })
        }
    };
    let failed = if about.by_difference { Vec::new() } else { failures(judge.record, &claim.contender, cell) };
    let outcome = match claim.value {
        None => ClaimOutcome::Undecided,
        Some(value) if most > value => ClaimOutcome::Refuted,
        Some(_) if seen.len() < FEWEST_BLOCKS as usize => {
            reason += &format!(", of which there must be {FEWEST_BLOCKS}");
            ClaimOutcome::Undecided
        }
        Some(_) if judge.is_disqualified(&claim.contender) => {
            reason += &format!(", but {} is disqualified", claim.contender);
            ClaimOutcome::Undecided
        }
        Some(_) if !failed.is_empty() => {
            reason += &format!(", but of those that were answered: {}", failed.join(", "));
            ClaimOutcome::Undecided
        }
        Some(_) => ClaimOutcome::Confirmed,
    };
    let verdict = Verdict {
        cell: cell.map(str::to_owned),
        reason,
        confidence: judge.looks.now.confidence,
        value: stats::geometric_mean(&seen).or_else(|| stats::mean(&seen)),
        margin,
        used: seen.len(),
        excluded: found.len() - seen.len(),
        spoilt: found.iter().filter(|(_, v)| matches!(v, Err(true))).count(),
        ..Verdict::open(claim.contender.clone(), judge.record.header.experiment.baseline.clone(), claim.metric)
    };
    (outcome, verdict)
}
