//! What a trial gives for a metric: its value, its values by second, and whether a fault
//! invalidates it.
//!
//! Verdicts, claims and curves all take their numbers from here. Start with [`values`].

use crate::rule::{Second, Side};
use crate::soundness::{exclusion, invalidates, measurement};
use record::capacity::CapacitySearch;
use record::judgement::Verdict;
use record::{CellFault, Measurement, Record, Trial};
use spec::metric::Metric;
use spec::name::ContenderName;
use stats::smallest_sample;
use std::collections::BTreeMap;

/// Returns a metric's value in its unit. Returns `None` if the measurement does not support it.
pub fn value(metric: Metric, trial: &Trial, measurement: Option<&Measurement>) -> Option<f64> {
    if metric == Metric::StartUp {
        return trial.ready_after_ns.map(|ns| ns as f64 / 1e6);
    }
    if metric == Metric::ScaleOut {
        return trial.scaled_out_after_ns.map(|ns| ns as f64 / 1e6);
    }
    let m = measurement?;
    let times = m.times();
    let with_samples = |value: f64| (!times.is_empty()).then_some(value);
    // Requests that were due and never answered are the slowest of all. Quantiles count them there;
    // a quantile that falls among them is not known.
    let unanswered = m.unanswered();
    let quantile = |q: f64| {
        let among_answered = q * (1.0 + unanswered as f64 / times.len().max(1) as f64);
        (times.len() >= smallest_sample(q) && among_answered <= 1.0)
            .then(|| times.quantile_ns(among_answered) as f64 / 1e6)
    };
    let with_all = |value: f64| with_samples(value).filter(|_| unanswered == 0);
    match metric {
        Metric::Throughput => with_samples(m.throughput_per_s()),
        Metric::LatencyMean => with_all(times.mean_ns() / 1e6),
        Metric::LatencyDeviation => with_all(times.deviation_ns() / 1e6),
        Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99 => {
            metric.quantile().and_then(quantile)
        }
        Metric::LatencyMax => with_all(times.max_ns() as f64 / 1e6),
        Metric::CpuPerRequest if !m.usage.is_known() => None,
        Metric::CpuPerRequest => {
            with_samples(m.usage.cpu_ns as f64 / 1e3 / m.counts.correct as f64)
        }
        // It is of the whole machine, which says nothing about a contender elsewhere.
        Metric::EnergyPerRequest if !m.usage.is_known() => None,
        Metric::EnergyPerRequest => {
            m.energy_uj.and_then(|uj| with_samples(uj as f64 / m.counts.correct as f64))
        }
        Metric::Memory => Some(m.usage.rss_max_bytes as f64 / 1e6).filter(|v| *v > 0.0),
        Metric::Threads => Some(m.usage.threads_max as f64).filter(|v| *v > 0.0),
        Metric::StartUp | Metric::ScaleOut | Metric::Capacity => None,
        Metric::FailedShare => {
            Some(100.0 * m.counts.failed() as f64 / m.counts.settled().max(1) as f64)
        }
    }
}

/// Returns a metric's whole seconds, if it has a value each second. Without them the trial's value
/// counts as a whole.
fn seconds(metric: Metric, measurement: Option<&Measurement>) -> Vec<Second> {
    let Some(m) = measurement else { return Vec::new() };
    let whole = m.seconds.iter().take((m.duration_ns / 1_000_000_000) as usize);
    let all_have = |pick: fn(&record::Second) -> Option<u64>| -> Vec<Second> {
        whole
            .clone()
            .map(|s| pick(s).map(|ns| Second::from(ns as f64)))
            .collect::<Option<_>>()
            .unwrap_or_default()
    };
    match metric {
        Metric::Throughput => whole.map(|s| Second::from(s.correct as f64)).collect(),
        Metric::CpuPerRequest => {
            let used = m.usage.cpu_of_windows(1_000_000_000, whole.len());
            whole
                .zip(used)
                .map(|(s, cpu_ns)| Second { amount: cpu_ns, weight: s.correct as f64 })
                .collect()
        }
        Metric::LatencyP50 => all_have(|s| s.p50_ns),
        Metric::LatencyP99 => all_have(|s| s.p99_ns),
        _ => Vec::new(),
    }
}

/// Returns the search for the capacity of a cell in a trial.
fn search<'t>(trial: &'t Trial, cell: Option<&str>) -> Option<&'t CapacitySearch> {
    trial.capacities.iter().find(|searched| Some(searched.cell.as_str()) == cell)
}

/// Lists the kinds of faults that invalidate a metric in a cell of a trial.
pub(crate) fn invalidating<'t>(
    trial: &'t Trial,
    metric: Metric,
    cell: Option<&str>,
) -> impl Iterator<Item = &'t str> {
    let of_cell = cell.and_then(|c| measurement(trial, c)).into_iter().flat_map(|m| &m.faults);
    let of_search = search(trial, cell)
        .filter(|_| metric == Metric::Capacity)
        .into_iter()
        .flat_map(|searched| &searched.faults);
    let is_of_cell = |of: &&CellFault| Some(of.cell.as_str()) == cell;
    let of_unmeasured: Vec<&CellFault> = trial.cell_faults.iter().filter(is_of_cell).collect();
    trial
        .faults
        .iter()
        .chain(of_unmeasured.into_iter().map(|of| &of.fault))
        .chain(of_cell)
        .chain(of_search)
        .map(|fault| fault.kind.as_str())
        .filter(move |kind| invalidates(kind, metric))
}

/// Lists the kinds of faults that invalidate a verdict, of its contender or of the baseline, by
/// block.
pub(crate) fn invalidating_verdict<'r>(
    record: &'r Record,
    verdict: &Verdict,
) -> impl Iterator<Item = (u32, Vec<&'r str>)> {
    let mut kinds: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for trial in record
        .trials
        .iter()
        .filter(|t| t.contender == verdict.contender || t.contender == verdict.baseline)
    {
        kinds.entry(trial.block).or_default().extend(invalidating(
            trial,
            verdict.metric,
            verdict.cell.as_deref(),
        ));
    }
    kinds.into_iter().filter(|(_, kinds)| !kinds.is_empty())
}

/// Why a trial has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A fault invalidates it.
    Invalidated,
    /// The trial is excluded, or the metric was not measured.
    Unmeasured,
}

/// Returns what one contender's trials give for a metric in a cell, by block.
pub(crate) fn values(
    record: &Record,
    name: &ContenderName,
    metric: Metric,
    cell: Option<&str>,
) -> Vec<(u32, Result<Side, Missing>)> {
    let of_trial = |trial: &Trial| {
        if invalidating(trial, metric, cell).next().is_some() {
            return Err(Missing::Invalidated);
        }
        match exclusion(trial) {
            Some(_) => Err(Missing::Unmeasured),
            None => side(trial, metric, cell).ok_or(Missing::Unmeasured),
        }
    };
    let trials = record.trials.iter().filter(|t| t.contender == *name);
    trials.map(|trial| (trial.block, of_trial(trial))).collect()
}

/// Returns what a trial gives for a metric in a cell, whatever faults it has.
pub(crate) fn side(trial: &Trial, metric: Metric, cell: Option<&str>) -> Option<Side> {
    let measured = cell.and_then(|c| measurement(trial, c));
    let value = match metric {
        Metric::Capacity => search(trial, cell).and_then(CapacitySearch::level),
        _ => value(metric, trial, measured),
    };
    value.map(|value| Side { value, seconds: seconds(metric, measured) })
}
