//! Claims of one contender alone: its last turn beside its first, its steady state beside its first second of load.

use crate::rule::{Pair, Question, Side, by_ratio};
use crate::summary::{cold_cpu_us, steady_cpu_us};
use crate::verdict::{Judge, Judged};
use crate::{exclusion, spoils};
use model::beside::{Beside, first_turn};
use model::experiment::Claim;
use model::judgement::Verdict;
use model::record::Trial;

/// What such a claim rests on, in a cell, or in none for a start.
pub(crate) fn compared(judge: &Judge<'_>, claim: &Claim, beside: Beside, cell: Option<&str>, margin: f64) -> Judged {
    match (beside, cell) {
        (Beside::FirstTurn, Some(cell)) => {
            let first = first_turn(&judge.record.header.experiment.cells, cell);
            judge.within(&claim.contender, claim.metric, cell, first, margin)
        }
        _ => warmed(judge, claim, margin),
    }
}

/// CPU for a right answer in the steady state, beside that in the first second of load, of each start.
fn warmed(judge: &Judge<'_>, claim: &Claim, margin: f64) -> Judged {
    let design = &judge.record.header.experiment.design;
    let (mut pairs, mut excluded, mut spoilt) = (Vec::new(), 0, 0);
    for trial in judge.record.trials.iter().filter(|trial| trial.contender == claim.contender) {
        let is_spoilt = trial.faults.iter().any(|fault| spoils(&fault.kind, claim.metric));
        match pair(trial).filter(|_| !is_spoilt && exclusion(trial).is_none()) {
            Some(pair) => pairs.push(pair),
            None => {
                excluded += 1;
                spoilt += usize::from(is_spoilt);
            }
        }
    }
    let question = Question::at(&judge.looks, design.confidence, margin, claim.metric.describe().lower_is_better, design.seed);
    let found = by_ratio(&pairs, &question);
    let typical = |pick: fn(&Pair) -> f64| stats::geometric_mean(&pairs.iter().map(pick).collect::<Vec<_>>());
    let verdict = Verdict {
        outcome: found.outcome,
        reason: found.reason,
        ratio: found.ratio,
        interval: found.interval,
        interval_t: found.interval_t,
        interval_bootstrap: found.interval_bootstrap,
        interval_equivalence: found.interval_equivalence,
        confidence: judge.looks.now.confidence,
        sign_flip_p: found.sign_flip_p,
        blocks_needed: found.blocks_needed,
        value: typical(|pair| pair.contender.value),
        baseline_value: typical(|pair| pair.baseline.value),
        margin,
        used: pairs.len(),
        excluded,
        spoilt,
        ..Verdict::open(claim.contender.clone(), claim.contender.clone(), claim.metric)
    };
    let mut judged = Judged { verdict, p: found.p, edges: found.edges, log_deviation: found.log_deviation };
    judge.restrain(&mut judged);
    judged
}

/// A start that found its steady state.
fn pair(trial: &Trial) -> Option<Pair> {
    let warmup = trial.warmup.as_ref()?;
    let side = |value: f64| Side { value, seconds: Vec::new() };
    Some(Pair { contender: side(steady_cpu_us(warmup)?), baseline: side(cold_cpu_us(warmup)?) })
}
