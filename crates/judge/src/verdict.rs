//! The verdict on one metric of one contender in one cell.

use crate::{exclusion, measurement, spoils};
use model::experiment::{Design, FEWEST_BLOCKS};
use model::judgement::{Outcome, Verdict};
use model::metric::Metric;
use model::name::ContenderName;
use model::record::{Measurement, Record, Trial};
use model::units::show_number;
use stats::{Interval, paired_difference, paired_ratio, pairs_needed, smallest_sample};

/// A metric's value in its unit; `None` where the measurement does not support it.
pub fn value(metric: Metric, trial: &Trial, measurement: Option<&Measurement>) -> Option<f64> {
    if metric == Metric::StartUp {
        return trial.ready_after_ns.map(|ns| ns as f64 / 1e6);
    }
    let m = measurement?;
    let times = m.times();
    let quantile = |q: f64| (times.len() >= smallest_sample(q)).then(|| times.quantile_ns(q) as f64 / 1e6);
    let seconds = m.duration_ns as f64 / 1e9;
    let with_samples = |value: f64| (!times.is_empty()).then_some(value);
    match metric {
        Metric::Throughput => with_samples(m.counts.correct as f64 / seconds),
        Metric::LatencyMean => with_samples(times.mean_ns() / 1e6),
        Metric::LatencyDeviation => with_samples(times.deviation_ns() / 1e6),
        Metric::LatencyP50 => quantile(0.5),
        Metric::LatencyP95 => quantile(0.95),
        Metric::LatencyP99 => quantile(0.99),
        Metric::LatencyMax => with_samples(times.max_ns() as f64 / 1e6),
        Metric::CpuPerRequest => with_samples(m.usage.cpu_ns as f64 / 1e3 / m.counts.correct as f64),
        Metric::Memory => Some(m.usage.rss_max_bytes as f64 / 1e6).filter(|v| *v > 0.0),
        Metric::Threads => Some(m.usage.threads_max as f64).filter(|v| *v > 0.0),
        Metric::StartUp => None,
        Metric::FailedShare => Some(100.0 * m.counts.failed() as f64 / m.counts.settled().max(1) as f64),
    }
}

/// What one contender's trials give for a metric in a cell: block, value, and
/// whether a fault spoilt it.
pub(crate) fn values(record: &Record, name: &ContenderName, metric: Metric, cell: Option<&str>) -> Vec<(u32, Result<f64, bool>)> {
    let trials = record.trials.iter().filter(|t| t.contender == *name);
    trials
        .map(|trial| {
            let measured = cell.and_then(|c| measurement(trial, c));
            let is_spoilt = trial.faults.iter().chain(measured.iter().flat_map(|m| &m.faults)).any(|f| spoils(&f.kind, metric));
            let found = match (exclusion(trial).is_some(), is_spoilt) {
                (_, true) => Err(true),
                (true, _) => Err(false),
                _ => value(metric, trial, measured).ok_or(false),
            };
            (trial.block, found)
        })
        .collect()
}

/// Every verdict of a record, in reading order.
pub(crate) fn all(record: &Record) -> Vec<Verdict> {
    let experiment = &record.header.experiment;
    let others = record.header.contenders.iter().map(|p| &p.name).filter(|n| **n != experiment.baseline);
    let mut verdicts = Vec::new();
    let of_cells = Metric::ALL.into_iter().filter(|m| !m.describe().of_trial);
    let of_trial = Metric::ALL.into_iter().filter(|m| m.describe().of_trial);
    let places =
        experiment.cells.iter().flat_map(|c| of_cells.clone().map(move |m| (Some(c.name.as_str()), m))).chain(of_trial.map(|m| (None, m)));
    for (cell, metric) in places {
        for contender in others.clone() {
            verdicts.push(one(record, contender, metric, cell, experiment.design.margin));
        }
    }
    verdicts
}

/// Compares one contender with the baseline.
pub(crate) fn one(record: &Record, contender: &ContenderName, metric: Metric, cell: Option<&str>, margin: f64) -> Verdict {
    let design = &record.header.experiment.design;
    let baseline = &record.header.experiment.baseline;
    let theirs = values(record, contender, metric, cell);
    let of_baseline = values(record, baseline, metric, cell);
    let mut pairs = Vec::new();
    let (mut excluded, mut spoilt) = (0, 0);
    for block in 1..=record.header.plan.len() as u32 {
        let find = |list: &[(u32, Result<f64, bool>)]| list.iter().find(|(b, _)| *b == block).map(|(_, v)| *v);
        match (find(&theirs), find(&of_baseline)) {
            (Some(Ok(a)), Some(Ok(b))) => pairs.push((a, b)),
            (None, None) => {}
            (a, b) => {
                excluded += 1;
                spoilt += usize::from(a == Some(Err(true)) || b == Some(Err(true)));
            }
        }
    }
    let mut verdict = Verdict {
        cell: cell.map(str::to_owned),
        contender: contender.clone(),
        baseline: baseline.clone(),
        metric,
        outcome: Outcome::Undecided,
        reason: String::new(),
        ratio: None,
        interval: None,
        interval_t: None,
        interval_bootstrap: None,
        confidence: design.confidence,
        sign_flip_p: None,
        blocks_needed: None,
        interval_equivalence: None,
        difference: None,
        value: None,
        baseline_value: None,
        margin,
        used: pairs.len(),
        excluded,
        spoilt,
    };
    let side = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).collect::<Vec<f64>>();
    let typical = |values: &[f64]| stats::geometric_mean(values).or_else(|| stats::mean(values));
    verdict.value = typical(&side(|p| p.0));
    verdict.baseline_value = typical(&side(|p| p.1));
    if metric.describe().by_difference {
        judge_difference(&mut verdict, &pairs, design);
    } else {
        judge_ratio(&mut verdict, &pairs, design);
        bar(&mut verdict, record, cell);
    }
    verdict
}

fn too_few(verdict: &mut Verdict) -> bool {
    if verdict.used >= FEWEST_BLOCKS as usize {
        return false;
    }
    let blocks = |n: usize| if n == 1 { "1 block".to_owned() } else { format!("{n} blocks") };
    verdict.reason = match (verdict.used, verdict.spoilt) {
        (used, 0) => format!("{} of the {FEWEST_BLOCKS} that a verdict needs", blocks(used)),
        (used, spoilt) => format!("{} of the {FEWEST_BLOCKS} that a verdict needs: faults spoilt {spoilt}", blocks(used)),
    };
    true
}

fn judge_ratio(verdict: &mut Verdict, pairs: &[(f64, f64)], design: &Design) {
    let equivalence_confidence = 2.0 * design.confidence - 1.0;
    let (Some(wide), Some(narrow)) = (paired_ratio(pairs, design.confidence), paired_ratio(pairs, equivalence_confidence)) else {
        if !too_few(verdict) {
            verdict.reason = "a value of zero has no ratio".into();
        }
        return;
    };
    verdict.ratio = Some(wide.ratio);
    verdict.interval = Some(wide.interval);
    verdict.interval_equivalence = Some(narrow.interval);
    if too_few(verdict) {
        return;
    }
    let (low, high) = (1.0 / (1.0 + verdict.margin), 1.0 + verdict.margin);
    let lower_is_better = verdict.metric.describe().lower_is_better;
    let side = |is_lower: bool| if is_lower == lower_is_better { Outcome::Better } else { Outcome::Worse };
    let Interval { low: from, high: to } = wide.interval;
    verdict.outcome = if to < low {
        side(true)
    } else if from > high {
        side(false)
    } else if narrow.interval.within(low, high) {
        Outcome::Equivalent
    } else {
        let margin = show_number(verdict.margin * 100.0);
        let seen = match () {
            () if to < 1.0 => format!("lower, but not surely by more than {margin} %"),
            () if from > 1.0 => format!("higher, but not surely by more than {margin} %"),
            () => "the interval holds both sides of the baseline".to_owned(),
        };
        // Half the way from the estimate to the nearest edge of the margin must be spanned.
        let distance = (wide.ratio.ln().abs() - (1.0 + verdict.margin).ln()).abs();
        let needed = pairs_needed(wide.log_deviation, distance, design.confidence, 1_000).filter(|n| *n > pairs.len());
        verdict.reason = match needed {
            Some(n) => format!("{seen}; about {n} blocks would settle it"),
            None => format!("{seen}; it lies too near the margin to be settled"),
        };
        Outcome::Undecided
    };
}

/// A share of failures: no margin in ratio is of use where zero is what is hoped for.
fn judge_difference(verdict: &mut Verdict, pairs: &[(f64, f64)], design: &Design) {
    let Some((difference, interval)) = paired_difference(pairs, design.confidence) else {
        let _ = too_few(verdict);
        return;
    };
    verdict.difference = Some(difference);
    if too_few(verdict) {
        return;
    }
    let margin = 100.0 * verdict.margin;
    verdict.outcome = match () {
        () if interval.high < 0.0 && interval.high <= -margin => Outcome::Better,
        () if interval.low > 0.0 && interval.low >= margin => Outcome::Worse,
        () if interval.within(-margin, margin) => Outcome::Equivalent,
        () => Outcome::Undecided,
    };
    if verdict.outcome == Outcome::Undecided {
        verdict.reason = format!("the difference lies between {} and {} points", show_number(interval.low), show_number(interval.high));
    }
}

/// Whoever failed requests cannot win the cell.
fn bar(verdict: &mut Verdict, record: &Record, cell: Option<&str>) {
    let winner = match verdict.outcome {
        Outcome::Better => &verdict.contender,
        Outcome::Worse => &verdict.baseline,
        _ => return,
    };
    let mut failed: Vec<(&str, u64)> = Vec::new();
    for trial in record.trials.iter().filter(|t| t.contender == *winner) {
        for measured in trial.measurements.iter().filter(|m| cell.is_none_or(|c| m.cell == c)) {
            for (kind, count) in measured.counts.parts() {
                if matches!(kind, "wrong" | "declined" | "refused" | "broken" | "timed_out") && count > 0 {
                    match failed.iter_mut().find(|(k, _)| *k == kind) {
                        Some((_, sum)) => *sum += count,
                        None => failed.push((kind, count)),
                    }
                }
            }
        }
    }
    let fell = record.trials.iter().filter(|t| t.contender == *winner && t.failure.as_ref().is_some_and(|f| f.stage != "stop")).count();
    if failed.is_empty() && fell == 0 {
        return;
    }
    let mut causes: Vec<String> = failed.iter().map(|(kind, count)| format!("{count} requests {}", kind.replace('_', " "))).collect();
    if fell > 0 {
        causes.push(format!("{fell} of its trials failed"));
    }
    verdict.reason = format!("{winner} is barred from winning: {}", causes.join(", "));
    verdict.outcome = Outcome::Undecided;
}
