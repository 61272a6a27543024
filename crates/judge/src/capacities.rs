//! Capacities as curves: how often each level held, and the capacity over all trials.
//!
//! The curves decide nothing: verdicts compare trials block by block.

use crate::readings::values;
use crate::soundness::used_trials;
use record::Record;
use record::capacity::{CapacitySearch, Probe, results};
use record::judgement::{CapacityCurves, CapacityLine, CapacityProbe};
use spec::experiment::capacity::Quantity;
use spec::metric::Metric;
use spec::name::ContenderName;
use stats::{Held, Interval, mean_interval};

/// Draws the curves of each cell with a search for its capacity.
pub(crate) fn all_capacities(record: &Record) -> Vec<CapacityCurves> {
    let header = &record.header;
    let confidence = header.experiment.design.confidence;
    let cells =
        header.experiment.cells.iter().filter_map(|cell| Some((cell, cell.load.capacity()?)));
    cells
        .map(|(cell, capacity)| CapacityCurves {
            cell: cell.name.clone(),
            unit: match capacity.of {
                Quantity::Users { .. } => "users".to_owned(),
                Quantity::Rate { .. } => "requests per second".to_owned(),
            },
            service_level: capacity.service_level.to_string(),
            confidence,
            lines: header
                .contenders
                .iter()
                .map(|p| line(record, &p.name, &cell.name, confidence))
                .collect(),
        })
        .collect()
}

fn line(record: &Record, name: &ContenderName, cell: &str, confidence: f64) -> CapacityLine {
    let found: Vec<f64> = values(record, name, Metric::Capacity, Some(cell))
        .into_iter()
        .filter_map(|(_, side)| side.ok())
        .map(|side| side.value)
        .collect();
    let logs: Vec<f64> = found.iter().map(|value| value.ln()).collect();
    let searched: Vec<(u32, &CapacitySearch)> = used_trials(record, name)
        .flat_map(|t| {
            t.capacities.iter().filter(move |c| c.cell == cell).map(move |c| (t.block, c))
        })
        .collect();
    let probes: Vec<(u32, &Probe)> = searched
        .iter()
        .flat_map(|(block, c)| c.probes.iter().map(move |probe| (*block, probe)))
        .collect();
    let told: Vec<(u32, Held)> = searched
        .iter()
        .flat_map(|(block, c)| results(&c.probes).into_iter().map(move |held| (*block, held)))
        .collect();
    let held: Vec<Held> = told.iter().map(|(_, held)| *held).collect();
    CapacityLine {
        contender: name.clone(),
        value: stats::mean(&logs).map(f64::exp),
        interval: mean_interval(&logs, confidence)
            .map(|(_, i)| Interval { low: i.low.exp(), high: i.high.exp() }),
        used: found.len(),
        searched: searched.len(),
        curve: stats::held_shares(&held),
        left_out: probes.len() - told.len(),
        probes: told
            .into_iter()
            .map(|(block, held)| CapacityProbe { block, level: held.level, kept: held.held })
            .collect(),
        restarts: probes
            .iter()
            .filter(|(_, probe)| probe.recovery.as_ref().is_some_and(|r| !r.is_by_itself()))
            .count(),
        warnings: {
            let ended = searched.iter().filter_map(|(_, c)| c.ended.warning()).map(str::to_owned);
            let failed =
                probes.iter().filter_map(|(_, probe)| probe.recovery.as_ref()?.failure.as_ref());
            let mut warnings: Vec<String> = ended
                .chain(failed.map(|cause| format!("after a level that was too high, {cause}")))
                .collect();
            warnings.sort();
            warnings.dedup();
            warnings
        },
    }
}
