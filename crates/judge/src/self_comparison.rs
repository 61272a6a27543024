//! Claims about one contender alone, compared with itself at another time.
//!
//! The claim compares the last repetition of a cell within a trial with the first, or the steady
//! state with the first second of load.

use crate::judged::Judged;
use crate::readings::Missing;
use crate::rule::{Pair, Question, Side, by_ratio};
use crate::soundness::{exclusion, invalidates};
use crate::summary::{cold_cpu_us, steady_cpu_us};
use crate::verdict::Judge;
use record::Trial;
use record::judgement::Verdict;
use spec::experiment::Claim;
use spec::experiment::self_comparison::{SelfComparison, first_repetition};

/// Judges such a claim in a cell, or in none for a claim about the start.
pub(crate) fn judge_self_comparison(
    judge: &Judge<'_>,
    claim: &Claim,
    compared_with: SelfComparison,
    cell: Option<&str>,
    margin: f64,
) -> Judged {
    match (compared_with, cell) {
        (SelfComparison::FirstRepetition, Some(cell)) => {
            let first = first_repetition(&judge.record.header.experiment.cells, cell);
            judge.with_itself(&claim.contender, claim.metric, cell, first, margin)
        }
        // A claim about a repetition always has a cell: the experiment is refused otherwise.
        (SelfComparison::FirstRepetition, None) | (SelfComparison::Cold, _) => {
            steady_and_cold(judge, claim, margin)
        }
    }
}

/// Compares CPU time per correct response in the steady state with that in the first second of
/// load, start by start.
fn steady_and_cold(judge: &Judge<'_>, claim: &Claim, margin: f64) -> Judged {
    let design = &judge.record.header.experiment.design;
    let trials = judge.record.trials.iter().filter(|trial| trial.contender == claim.contender);
    let (mut pairs, mut missing) = (Vec::new(), Vec::new());
    for found in trials.map(|trial| pair_of_trial(trial, claim)) {
        match found {
            Ok(pair) => pairs.push(pair),
            Err(why) => missing.push(why),
        }
    }
    let question = Question::at_look(
        &judge.looks,
        design.confidence,
        margin,
        claim.metric.describe().lower_is_better,
        design.seed,
    );
    let found = by_ratio(&pairs, &question);
    let typical =
        |pick: fn(&Pair) -> f64| stats::geometric_mean(&pairs.iter().map(pick).collect::<Vec<_>>());
    let verdict = Verdict {
        confidence: judge.looks.now.confidence,
        value: typical(|pair| pair.contender.value),
        baseline_value: typical(|pair| pair.baseline.value),
        margin,
        used: pairs.len(),
        excluded: missing.len(),
        invalidated: missing.iter().filter(|why| **why == Missing::Invalidated).count(),
        ..Verdict::open(claim.contender.clone(), claim.contender.clone(), claim.metric)
    };
    let mut judged = Judged::of_finding(found, verdict);
    judge.restrain(&mut judged);
    judged
}

/// Pairs the steady state of a start with its first second of load.
fn pair_of_trial(trial: &Trial, claim: &Claim) -> Result<Pair, Missing> {
    if trial.faults.iter().any(|fault| invalidates(&fault.kind, claim.metric)) {
        return Err(Missing::Invalidated);
    }
    let warmup = trial.warmup.as_ref().filter(|_| exclusion(trial).is_none());
    let side = |value: f64| Side { value, seconds: Vec::new() };
    let sides = warmup.and_then(|w| Some((steady_cpu_us(w)?, cold_cpu_us(w)?)));
    sides
        .map(|(steady, cold)| Pair { contender: side(steady), baseline: side(cold) })
        .ok_or(Missing::Unmeasured)
}
