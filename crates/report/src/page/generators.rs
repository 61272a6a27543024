//! What external generators report of a load, as the report shows it.

use crate::number::round;
use crate::wording::generators::{
    generator_name, title_of_generators, trials_of_generator, why_excluded,
};
use record::judgement as judged;
use record::judgement::Judgement;
use serde::Serialize;

/// What several generators report of one load. Each measures in its own way, so there is no
/// ranking.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct GeneratorComparison {
    contender: String,
    load: String,
    workload: String,
    /// `Generators before control (closed loop, 32 connections, workload products)`
    title: String,
    /// What is known about the load beforehand.
    truth: Option<KnownLoad>,
    lines: Vec<GeneratorLine>,
    /// Why trials were excluded; null if none were.
    excluded: Option<String>,
}

/// Figures that are known without measuring.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct KnownLoad {
    rate_per_s: Option<f64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// Medians over trials of one generator; null if the generator does not report the figure.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct GeneratorLine {
    cell: String,
    generator: &'static str,
    ours: bool,
    /// The number of trials used, and of how many if CPU steal excluded some.
    trials: String,
    rate_per_s: Option<f64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    failed_percent: Option<f64>,
    /// CPU time of the generator itself.
    cpu_us_per_request: Option<f64>,
    /// Memory of the generator itself.
    memory_mb: Option<f64>,
    differs: Vec<String>,
}

/// The reports of generators, one entry for each load.
pub(super) fn external_generators(judgement: &Judgement) -> Vec<GeneratorComparison> {
    let of_load = |of: &judged::GeneratorComparison| GeneratorComparison {
        contender: of.contender.to_string(),
        load: of.load.clone(),
        workload: of.workload.clone(),
        title: title_of_generators(of),
        truth: of.truth.map(|t| KnownLoad {
            rate_per_s: t.rate_per_s,
            p50_ms: t.p50_ms,
            p99_ms: t.p99_ms,
        }),
        lines: of.lines.iter().map(line).collect(),
        excluded: why_excluded(of),
    };
    judgement.external_generators.iter().map(of_load).collect()
}

fn line(line: &judged::GeneratorLine) -> GeneratorLine {
    GeneratorLine {
        cell: line.cell.clone(),
        generator: generator_name(line),
        ours: line.driver.is_none(),
        trials: trials_of_generator(line),
        rate_per_s: line.rate_per_s.map(round),
        p50_ms: line.p50_ms.map(round),
        p99_ms: line.p99_ms.map(round),
        failed_percent: line.failed_percent.map(round),
        cpu_us_per_request: line.cpu_us_per_request.map(round),
        memory_mb: line.memory_mb.map(round),
        differs: line.differs.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_that_a_generator_did_not_print_is_null() {
        let printed: judged::GeneratorLine = serde_json::from_value(serde_json::json!({
            "cell": "c", "driver": null, "used": 3, "stolen": 0, "rate_per_s": 499.6,
            "p50_ms": 10.04, "p99_ms": null, "failed_percent": 0.0, "cpu_us_per_request": 31.25,
            "memory_mb": null, "differs": []
        }))
        .unwrap();
        let shown = serde_json::to_value(line(&printed)).unwrap();
        assert_eq!(shown["p99_ms"], serde_json::Value::Null);
        assert_eq!((&shown["generator"], &shown["ours"]), (&"faceoff".into(), &true.into()));
    }
}
