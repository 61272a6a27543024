//! From a record to verdicts. Runs nothing, reads nothing but the record.
//!
//! The rule stands in METHOD.md: per metric, cell and contender, the blocks'
//! log-ratios to the baseline, the wider of two intervals, and a margin.

pub mod audit;
mod claims;
pub mod looks;
mod ranking;
pub mod rule;
mod summary;
mod verdict;

pub use verdict::value;

use model::judgement::{Excluded, FaultAt, Judgement, SCHEMA};
use model::metric::Metric;
use model::record::{Measurement, Record, Trial};
use verdict::Bench;

/// Why a trial is left out of every verdict; `None` when it is used.
pub fn exclusion(trial: &Trial) -> Option<String> {
    if let Some(failure) = &trial.failure
        && failure.stage != "stop"
    {
        return Some(format!("{} ({})", failure.cause, failure.stage));
    }
    trial.faults.iter().find(|f| spoils_all(&f.kind)).map(|fault| format!("{}: {}", fault.kind, fault.evidence))
}

/// Whether a fault of this kind spoils a metric. CPU per request, memory and
/// threads are the contender's own, whoever else was busy.
pub fn spoils(kind: &str, metric: Metric) -> bool {
    match kind {
        "generator-lag" => metric.is_latency(),
        "steal" => metric.is_latency() || matches!(metric, Metric::Throughput | Metric::StartUp),
        "upstream-binds" | "generator-cpu" => metric.is_latency() || metric == Metric::Throughput,
        _ => true,
    }
}

/// Whether a fault of this kind spoils every metric.
fn spoils_all(kind: &str) -> bool {
    Metric::ALL.into_iter().all(|metric| spoils(kind, metric))
}

/// The measurement of a cell in a trial.
pub fn measurement<'t>(trial: &'t Trial, cell: &str) -> Option<&'t Measurement> {
    trial.measurements.iter().find(|m| m.cell == cell)
}

/// Judges a record.
pub fn judge(record: &Record) -> Judgement {
    let experiment = &record.header.experiment;
    let mut bench = Bench::new(record);
    let mut judged = bench.all();
    let mut excluded = Vec::new();
    let mut faults = Vec::new();
    for trial in &record.trials {
        if let Some(reason) = exclusion(trial) {
            excluded.push(Excluded { contender: trial.contender.clone(), block: trial.block, reason });
        }
        let place = format!("block {}, {}", trial.block, trial.contender);
        let of_trial = trial.faults.iter().map(|f| (place.clone(), f));
        let of_cells = trial.measurements.iter().flat_map(|m| m.faults.iter().map(move |f| (m.cell.clone(), f)));
        let of_cells = of_cells.map(|(cell, f)| (format!("{place}, cell {cell}"), f));
        for (place, fault) in of_trial.chain(of_cells) {
            faults.push(FaultAt { place, kind: fault.kind.clone(), evidence: fault.evidence.clone(), hint: fault.hint.clone() });
        }
    }
    let noise = ranking::noise(&judged);
    let differing = ranking::differing(&judged);
    faults.extend(differing.iter().map(ranking::aa_differs));
    // No fault yet is of the run as a whole, but for the baseline that differs from itself.
    let unsound = ranking::unsound(record, &judged, &differing, &[]);
    bench.differs = ranking::places(&differing);
    bench.unsound = unsound.clone().unwrap_or_default();
    judged.iter_mut().for_each(|j| bench.restrain(j));
    let claims = claims::all(&bench, &judged);
    let failed_trial = record.trials.iter().any(|t| t.failure.is_some());
    let failed_contender = record.dropped().next().is_some() || record.header.skipped.iter().any(|s| s.failed);
    Judgement {
        schema: SCHEMA.into(),
        record: record.header.id.clone(),
        experiment: experiment.name.clone(),
        baseline: experiment.baseline.clone(),
        verdicts: judged.into_iter().map(|j| j.verdict).collect(),
        claims,
        excluded,
        faults,
        rows: summary::rows(record),
        curves: summary::curves(record),
        starts: summary::starts(record),
        warmups: summary::warmups(record),
        looks: bench.looks.all,
        noise,
        symptoms: Vec::new(),
        audit: record.header.article.as_ref().map(audit::audit),
        unsound: unsound.is_some(),
        incomplete: failed_trial || failed_contender || !record.missing().is_empty(),
    }
}
