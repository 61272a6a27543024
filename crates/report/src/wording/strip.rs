//! The strip of absolute values below the answer: what the contender and the baseline do in
//! requests per second, milliseconds and megabytes. Start with [`strip`].

use super::answer::Answer;
use super::leads::leads;
use record::Record;
use record::judgement::{Judgement, Outcome};
use serde::Serialize;
use spec::metric::Metric;
use spec::name::ContenderName;

/// A row of the strip of absolute values below the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct StripRow {
    /// `requests/s`
    label: &'static str,
    cell: String,
    /// The contender's value with its unit, or why there is none.
    value: String,
    /// The baseline's.
    baseline_value: String,
    /// `17× less (12× to 23×)`
    difference: String,
    #[cfg_attr(test, ts(type = "Outcome"))]
    outcome: Outcome,
    /// Why it is undecided; else empty.
    reason: String,
}

/// Compares the contender of an answer with the baseline in absolute numbers: throughput, latency,
/// CPU time, memory, start-up, failures.
pub(crate) fn strip(record: &Record, judgement: &Judgement, answer: &Answer) -> Vec<StripRow> {
    let Some(subject) = &answer.subject else { return Vec::new() };
    let leads = leads(record, judgement, subject);
    let lead_cell =
        |metric: Metric| leads.iter().find(|v| v.metric == metric).and_then(|v| v.cell.clone());
    // Latency at a fixed rate if there is one, else under the load that there is.
    let of_latency = lead_cell(Metric::LatencyMean).or_else(|| lead_cell(Metric::Throughput));
    let of_cost = lead_cell(Metric::Throughput).or_else(|| lead_cell(Metric::CpuPerRequest));
    let wanted = [
        (Metric::Capacity, lead_cell(Metric::Capacity)),
        (Metric::Throughput, lead_cell(Metric::Throughput)),
        (Metric::LatencyP50, of_latency.clone()),
        (Metric::LatencyP99, of_latency),
        (Metric::CpuPerRequest, lead_cell(Metric::CpuPerRequest)),
        (Metric::Memory, lead_cell(Metric::Memory)),
        (Metric::StartUp, None),
        (Metric::FailedShare, of_cost),
    ];
    let row = |(metric, cell): (Metric, Option<String>)| {
        if cell.is_none() && metric != Metric::StartUp {
            return None;
        }
        let verdict = judgement
            .verdicts
            .iter()
            .find(|v| v.contender == *subject && v.metric == metric && v.cell == cell)?;
        let shown = |value: Option<f64>, name: &ContenderName| match value
            .or_else(|| pooled(judgement, metric, cell.as_deref(), name))
        {
            Some(value) => metric.show(value),
            None => too_few(judgement, metric, cell.as_deref(), name).unwrap_or_else(|| "-".into()),
        };
        Some(StripRow {
            label: metric.short_label(),
            cell: cell.clone().unwrap_or_else(|| "start".into()),
            value: shown(verdict.value, subject),
            baseline_value: shown(verdict.baseline_value, &judgement.baseline),
            difference: verdict.short_phrase().to_string(),
            outcome: verdict.outcome,
            reason: verdict.reason.clone(),
        })
    };
    wanted.into_iter().filter_map(row).collect()
}

/// Returns a quantile over all trials, for cells where no single trial has enough responses.
pub(crate) fn pooled(
    judgement: &Judgement,
    metric: Metric,
    cell: Option<&str>,
    name: &ContenderName,
) -> Option<f64> {
    let row =
        judgement.rows.iter().find(|r| Some(r.cell.as_str()) == cell && r.contender == *name)?;
    match metric {
        Metric::LatencyP50 => row.p50_ms,
        Metric::LatencyP95 => row.p95_ms,
        Metric::LatencyP99 => row.p99_ms,
        _ => None,
    }
}

/// Returns why a quantile is missing: `needs 563 responses, had 500`.
pub(crate) fn too_few(
    judgement: &Judgement,
    metric: Metric,
    cell: Option<&str>,
    name: &ContenderName,
) -> Option<String> {
    let needed = stats::smallest_sample(metric.quantile()?);
    let row = judgement.rows.iter().find(|r| Some(r.cell.as_str()) == cell && r.contender == *name);
    let had = row.map_or(0, |row| row.samples);
    (had < needed).then(|| format!("needs {needed} responses, had {had}"))
}
