//! Capacities that were searched for, as the report shows them.

use crate::number::round;
use record::judgement as judged;
use record::judgement::Judgement;
use serde::Serialize;

/// The highest level at which a service level holds, of each contender in a cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Capacity {
    cell: String,
    /// `users` or `requests per second`
    unit: String,
    /// `p95<100ms and errors<0.1%`
    service_level: String,
    /// The confidence of the intervals.
    confidence: f64,
    lines: Vec<CapacityLine>,
}

/// The capacity of one contender.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct CapacityLine {
    contender: String,
    /// The capacity of the typical trial; null if no trial has one.
    value: Option<f64>,
    /// Its interval over blocks; null from fewer than two.
    low: Option<f64>,
    high: Option<f64>,
    used: usize,
    searched: usize,
    /// The number of probes without a result.
    left_out: usize,
    restarts: usize,
    warnings: Vec<String>,
    /// Level, and the share of probes that keep the service level there.
    curve: Vec<[f64; 2]>,
    /// Block, level, and whether the service level was kept.
    probes: Vec<(u32, f64, bool)>,
}

/// The capacities of every cell in which they were searched for.
pub(super) fn capacities(judgement: &Judgement) -> Vec<Capacity> {
    judgement.capacities.iter().map(capacity).collect()
}

fn capacity(c: &judged::CapacityCurves) -> Capacity {
    let line = |line: &judged::CapacityLine| CapacityLine {
        contender: line.contender.to_string(),
        value: line.value.map(round),
        low: line.interval.map(|i| round(i.low)),
        high: line.interval.map(|i| round(i.high)),
        used: line.used,
        searched: line.searched,
        left_out: line.left_out,
        restarts: line.restarts,
        warnings: line.warnings.clone(),
        curve: line.curve.iter().map(|(level, share)| [round(*level), round(*share)]).collect(),
        probes: line.probes.iter().map(|p| (p.block, round(p.level), p.kept)).collect(),
    };
    Capacity {
        cell: c.cell.clone(),
        unit: c.unit.clone(),
        service_level: c.service_level.clone(),
        confidence: c.confidence,
        lines: c.lines.iter().map(line).collect(),
    }
}
