//! Capacities as curves: how often each level was kept, and what the trials come to. Verdicts compare trial with trial.

use crate::exclusion;
use crate::verdict::values;
use model::capacity::{Of, Probe, Searched};
use model::judgement::{CapacityCurves, CapacityLine, CapacityProbe};
use model::metric::Metric;
use model::name::ContenderName;
use model::record::Record;
use stats::{Held, Interval, mean_interval};

/// One for each cell whose capacity was looked for.
pub(crate) fn all(record: &Record) -> Vec<CapacityCurves> {
    let header = &record.header;
    let confidence = header.experiment.design.confidence;
    let cells = header.experiment.cells.iter().filter_map(|cell| Some((cell, cell.load.capacity()?)));
    cells
        .map(|(cell, capacity)| CapacityCurves {
            cell: cell.name.clone(),
            unit: match capacity.of {
                Of::Users { .. } => "users".to_owned(),
                Of::Rate { .. } => "requests per second".to_owned(),
            },
            service_level: capacity.service_level.to_string(),
            confidence,
            lines: header.contenders.iter().map(|p| line(record, &p.name, &cell.name, confidence)).collect(),
        })
        .collect()
}

fn line(record: &Record, name: &ContenderName, cell: &str, confidence: f64) -> CapacityLine {
    let found: Vec<f64> =
        values(record, name, Metric::Capacity, Some(cell)).into_iter().filter_map(|(_, side)| side.ok()).map(|side| side.value).collect();
    let logs: Vec<f64> = found.iter().map(|value| value.ln()).collect();
    let trials = record.trials.iter().filter(|t| t.contender == *name && exclusion(t).is_none());
    let searched: Vec<(u32, &Searched)> =
        trials.flat_map(|t| t.capacities.iter().filter(move |c| c.cell == cell).map(move |c| (t.block, c))).collect();
    let probes: Vec<(u32, &Probe)> = searched.iter().flat_map(|(block, c)| c.probes.iter().map(move |probe| (*block, probe))).collect();
    let said: Vec<Held> = probes.iter().filter_map(|(_, probe)| probe.says()).collect();
    CapacityLine {
        contender: name.clone(),
        value: stats::mean(&logs).map(f64::exp),
        interval: mean_interval(&logs, confidence).map(|(_, i)| Interval { low: i.low.exp(), high: i.high.exp() }),
        used: found.len(),
        searched: searched.len(),
        curve: stats::held_shares(&said),
        probes: probes
            .iter()
            .filter_map(|(block, probe)| probe.says().map(|said| CapacityProbe { block: *block, level: said.level, kept: said.held }))
            .collect(),
        left_out: probes.iter().filter(|(_, probe)| probe.unfit().is_some()).count(),
        restarts: probes.iter().filter(|(_, probe)| probe.recovery.as_ref().is_some_and(|r| !r.is_by_itself())).count(),
        warnings: {
            let ended = searched.iter().filter_map(|(_, c)| c.ended.warning()).map(str::to_owned);
            let failed = probes.iter().filter_map(|(_, probe)| probe.recovery.as_ref()?.failure.as_ref());
            let mut warnings: Vec<String> = ended.chain(failed.map(|cause| format!("when a level was too much for it, {cause}"))).collect();
            warnings.sort();
            warnings.dedup();
            warnings
        },
    }
}
