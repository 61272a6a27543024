//! Metrics over the levels of a swept parameter, as the report shows them.

use crate::number::round;
use record::judgement as judged;
use record::judgement::Judgement;
use serde::Serialize;

/// A metric over the levels of a swept parameter, everything else unchanged.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Sweep {
    /// `uppercase, size 128`
    of: String,
    /// `connections`
    parameter: String,
    metric: &'static str,
    label: &'static str,
    unit: &'static str,
    lower_is_better: bool,
    /// The confidence of each interval by itself.
    confidence: f64,
    lines: Vec<SweepLine>,
    /// Where two lines surely cross.
    crossings: Vec<Crossing>,
    /// The last repetition of each contender compared with its first; empty unless cells were
    /// repeated within a trial.
    repetitions: Vec<String>,
}

/// The line of one contender.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct SweepLine {
    contender: String,
    points: Vec<SweepPoint>,
}

/// A value at one level.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct SweepPoint {
    level: f64,
    /// Of the typical trial, in the metric's unit.
    value: f64,
    /// Its interval over blocks; null from fewer than two.
    low: Option<f64>,
    high: Option<f64>,
    used: usize,
}

/// A level at which two lines cross.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Crossing {
    level: f64,
    sentence: String,
}

/// Every metric over every swept parameter.
pub(super) fn sweeps(judgement: &Judgement) -> Vec<Sweep> {
    judgement.sweeps.iter().map(sweep).collect()
}

fn sweep(s: &judged::SweepCurves) -> Sweep {
    let about = s.metric.describe();
    let point = |p: &judged::SweepPoint| SweepPoint {
        level: p.level,
        value: round(p.value),
        low: p.interval.map(|i| round(i.low)),
        high: p.interval.map(|i| round(i.high)),
        used: p.used,
    };
    let line = |line: &judged::SweepLine| SweepLine {
        contender: line.contender.to_string(),
        points: line.points.iter().map(point).collect(),
    };
    let crossing = |c: &judged::Crossing| Crossing { level: c.level, sentence: c.sentence.clone() };
    Sweep {
        of: s.of.clone(),
        parameter: s.parameter.clone(),
        metric: about.name,
        label: about.label,
        unit: about.unit,
        lower_is_better: about.lower_is_better,
        confidence: s.confidence,
        lines: s.lines.iter().map(line).collect(),
        crossings: s.crossings.iter().map(crossing).collect(),
        repetitions: s.repetitions.iter().map(|repetitions| repetitions.sentence.clone()).collect(),
    }
}
