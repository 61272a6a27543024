//! The effect of each factor of a factorial experiment, separated from the others.
//!
//! A linear model of all starts has one column for each factor, each pair of factors and each
//! block. Its coefficients are the effects. Start with [`all_effects`].

use crate::readings::values;
use record::judgement::{Effect, Effects};
use record::{Record, Trial};
use spec::experiment::factorial::Combination;
use spec::metric::Metric;
use stats::{Fit, Interval, holm, least_squares, mean, student_t};
use std::collections::BTreeSet;

/// With fewer degrees of freedom than this, the model has no pairs of factors.
const FREEDOM_MIN: usize = 4;
/// The smallest share of usable starts from which effects are estimated.
const USED_MIN: f64 = 0.75;

/// Estimates the effects on every metric in every cell. Returns none if no factors are crossed.
pub(crate) fn all_effects(record: &Record) -> Vec<Effects> {
    let experiment = &record.header.experiment;
    let combinations = experiment.combinations();
    if combinations.is_empty() {
        return Vec::new();
    }
    let metrics = || Metric::ALL.into_iter().filter(|m| !m.describe().by_difference);
    let of_cells = experiment.cells.iter().flat_map(|cell| {
        let metrics = metrics().filter(|m| m.is_of(cell));
        metrics.map(move |m| (Some(cell.name.as_str()), m))
    });
    let of_trial = metrics().filter(|m| m.is_of_trial()).map(|m| (None, m));
    of_cells
        .chain(of_trial)
        .filter_map(|(cell, metric)| effects(record, &combinations, metric, cell))
        .collect()
}

/// Returns the kinds of faults because of which no effect could be estimated. Returns `None` if
/// some could, or if no factors are crossed.
pub(crate) fn unsound(record: &Record, all: &[Effects]) -> Option<String> {
    if all.is_empty() || all.iter().any(|e| !e.effects.is_empty()) {
        return None;
    }
    let of_trials = record.trials.iter().flat_map(Trial::all_faults);
    let kinds: BTreeSet<&str> = of_trials.map(|fault| fault.kind.as_str()).collect();
    (!kinds.is_empty()).then(|| kinds.into_iter().collect::<Vec<_>>().join(", "))
}

/// A start: its block, whether it had each factor, and the measured value.
struct Start<'c> {
    block: u32,
    has: &'c [bool],
    value: f64,
}

/// Estimates the effects on one metric. Returns `None` if it was measured nowhere.
fn effects(
    record: &Record,
    combinations: &[Combination],
    metric: Metric,
    cell: Option<&str>,
) -> Option<Effects> {
    let experiment = &record.header.experiment;
    let confidence = experiment.design.confidence;
    let (mut starts, mut excluded) = (Vec::new(), 0);
    for combination in combinations {
        for (block, side) in values(record, &combination.contender, metric, cell) {
            match side {
                Ok(side) => starts.push(Start { block, has: &combination.has, value: side.value }),
                Err(_) => excluded += 1,
            }
        }
    }
    let of_all: Vec<f64> = starts.iter().map(|start| start.value).collect();
    let mean = mean(&of_all)?;
    let names: Vec<&str> = experiment.factors.iter().map(|factor| factor.name.as_str()).collect();
    let found = if (starts.len() as f64) < USED_MIN * (starts.len() + excluded) as f64 {
        Err(format!("only {} of {} starts could be used", starts.len(), starts.len() + excluded))
    } else {
        fit(&starts, names.len())
            .ok_or_else(|| "too few starts to tell the factors apart".to_owned())
    };
    let (effects, reason) = match found {
        Ok((fit, terms)) => (reported(&fit, &terms, &names, confidence), String::new()),
        Err(reason) => (Vec::new(), reason),
    };
    Some(Effects {
        cell: cell.map(str::to_owned),
        metric,
        mean,
        confidence,
        effects,
        reason,
        used: starts.len(),
        excluded,
    })
}

/// The last columns of the model, after the blocks: factors, then pairs.
type Terms = Vec<Vec<usize>>;

/// Fits the model with all pairs of factors if there are enough starts, else without pairs. A
/// factor that was in all starts, or in none, has no column.
fn fit(starts: &[Start<'_>], factors: usize) -> Option<(Fit, Terms)> {
    let varies = |factor: &usize| {
        starts.iter().any(|s| s.has[*factor]) && starts.iter().any(|s| !s.has[*factor])
    };
    let alone: Vec<usize> = (0..factors).filter(varies).collect();
    let mut terms: Terms = alone.iter().map(|factor| vec![*factor]).collect();
    let mains = terms.clone();
    terms.extend(
        alone.iter().enumerate().flat_map(|(at, a)| alone[at + 1..].iter().map(|b| vec![*a, *b])),
    );
    with_terms(starts, &terms)
        .filter(|fit| fit.degrees_of_freedom >= FREEDOM_MIN)
        .map(|fit| (fit, terms))
        .or_else(|| {
            let fit = with_terms(starts, &mains)?;
            (!mains.is_empty()).then_some((fit, mains))
        })
}

/// Fits a model with these terms. Each term is −½ or ½, so that its coefficient is the difference
/// between with and without.
fn with_terms(starts: &[Start<'_>], terms: &Terms) -> Option<Fit> {
    let mut blocks: Vec<u32> = starts.iter().map(|s| s.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let row = |start: &Start<'_>| -> Vec<f64> {
        let sign = |factor: &usize| if start.has[*factor] { 1.0 } else { -1.0 };
        let of_blocks = blocks.iter().map(|block| f64::from(*block == start.block));
        of_blocks
            .chain(terms.iter().map(|term| term.iter().map(sign).product::<f64>() / 2.0))
            .collect()
    };
    let rows: Vec<Vec<f64>> = starts.iter().map(row).collect();
    least_squares(&rows, &starts.iter().map(|s| s.value).collect::<Vec<_>>())
}

/// Returns the effects of all factors, and of the pairs that chance does not explain among all
/// pairs.
fn reported(fit: &Fit, terms: &Terms, names: &[&str], confidence: f64) -> Vec<Effect> {
    let first = fit.coefficients.len() - terms.len();
    let half = student_t(confidence, fit.degrees_of_freedom);
    let p: Vec<f64> = (first..fit.coefficients.len()).map(|at| fit.p(at)).collect();
    let (alone, pairs) = p.split_at(terms.iter().take_while(|term| term.len() == 1).count());
    let adjusted = [holm(alone), holm(pairs)].concat();
    let effect = |(at, term): (usize, &Vec<usize>)| {
        let (value, error) = (fit.coefficients[first + at], fit.errors[first + at]);
        Effect {
            factors: term.iter().map(|factor| names[*factor].to_owned()).collect(),
            value,
            interval: Interval { low: value - half * error, high: value + half * error },
            p_adjusted: Some(adjusted[at]),
        }
    };
    let all = terms.iter().enumerate().map(effect);
    all.filter(|e| !e.is_pair() || e.p_adjusted.is_some_and(|p| p <= 1.0 - confidence)).collect()
}
