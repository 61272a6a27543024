//! What other generators reported of a load, beside ours and what is known of it. Nothing is decided by it: each counts, times and waits
//! in its own way, so no verdict compares them.

use crate::verdict::value;
use crate::{exclusion, measurement};
use model::article::Figure;
use model::experiment::Cell;
use model::judgement::{WitnessLine, Witnesses};
use model::metric::Metric;
use model::name::ContenderName;
use model::record::{Circumstances, Measurement, Record, Trial};
use model::witness::{Driver, Witnessed};
use stats::median;

/// For each load that another generator makes, or of which something is known: everybody who made it, by contender.
pub(crate) fn all(record: &Record) -> Vec<Witnesses> {
    let cells = &record.header.experiment.cells;
    let is_same = |a: &Cell, b: &Cell| a.asks() == b.asks() && a.load == b.load;
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|group| is_same(group[0], cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups.retain(|group| group.iter().any(|cell| cell.driver.is_some() || cell.truth.is_some()));
    let everybody = || record.header.contenders.iter().map(|participant| &participant.name);
    let of_group = |group: &Vec<&Cell>, contender: &ContenderName| Witnesses {
        contender: contender.clone(),
        load: group[0].load.describe(),
        workload: group[0].asks(),
        // Whoever was added to the experiment is another system.
        truth: group.iter().find_map(|cell| cell.truth).filter(|_| *contender == record.header.experiment.baseline),
        lines: group.iter().map(|cell| line(record, contender, cell)).collect(),
    };
    groups.iter().flat_map(|group| everybody().map(|contender| of_group(group, contender)).collect::<Vec<_>>()).collect()
}

fn line(record: &Record, contender: &ContenderName, cell: &Cell) -> WitnessLine {
    let trials: Vec<&Trial> = record.trials.iter().filter(|t| t.contender == *contender && exclusion(t).is_none()).collect();
    match cell.driver {
        Some(driver) => reported(cell, driver, &trials),
        None => measured(cell, &trials),
    }
}

fn typical<T>(all: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    median(&all.iter().filter_map(of).collect::<Vec<_>>())
}

fn reported(cell: &Cell, driver: Driver, trials: &[&Trial]) -> WitnessLine {
    let all: Vec<&Witnessed> = trials.iter().flat_map(|t| t.witnessed.iter().filter(|w| w.cell == cell.name)).collect();
    let used: Vec<&Witnessed> = all.iter().copied().filter(|w| !w.is_robbed()).collect();
    let failed = |w: &Witnessed| {
        let row = &w.reported;
        let counted = row.errors.as_ref().zip(row.samples.as_ref()).filter(|(_, samples)| samples.value() > 0.0);
        let share = counted.map(|(errors, samples)| errors.value() / samples.value());
        share.or(row.error_share.as_ref().map(Figure::value)).map(|share| 100.0 * share)
    };
    WitnessLine {
        cell: cell.name.clone(),
        driver: Some(driver),
        used: used.len(),
        robbed: all.len() - used.len(),
        rate_per_s: typical(&used, |w| w.reported.throughput.as_ref().map(Figure::value)),
        p50_ms: typical(&used, |w| w.quantile_ms(50.0)),
        p99_ms: typical(&used, |w| w.quantile_ms(99.0)),
        failed_percent: typical(&used, |w| failed(w)),
        cpu_us_per_request: typical(&used, |w| w.cpu_us_per_request()),
        memory_mb: typical(&used, |w| Some(w.usage.rss_max_bytes as f64 / 1e6)),
        differs: all.first().map(|w| w.differs.clone()).unwrap_or_default(),
    }
}

fn measured(cell: &Cell, trials: &[&Trial]) -> WitnessLine {
    let is_robbed = |m: &Measurement| m.circumstances.as_ref().is_some_and(Circumstances::is_robbed);
    let all: Vec<(&Trial, &Measurement)> = trials.iter().filter_map(|t| Some((*t, measurement(t, &cell.name)?))).collect();
    let used: Vec<(&Trial, &Measurement)> = all.iter().copied().filter(|(_, m)| !is_robbed(m)).collect();
    let of = |metric: Metric| typical(&used, |(trial, m)| value(metric, trial, Some(*m)));
    let settled = |m: &Measurement| Some(m.counts.settled()).filter(|n| *n > 0).map(|n| n as f64);
    WitnessLine {
        cell: cell.name.clone(),
        driver: None,
        used: used.len(),
        robbed: all.len() - used.len(),
        rate_per_s: of(Metric::Throughput),
        p50_ms: of(Metric::LatencyP50),
        p99_ms: of(Metric::LatencyP99),
        failed_percent: of(Metric::FailedShare),
        cpu_us_per_request: typical(&used, |(_, m)| Some(m.generator.busy_ns() as f64 / 1e3 / settled(m)?)),
        memory_mb: typical(&used, |(_, m)| Some(m.circumstances.as_ref()?.faceoff_memory_bytes? as f64 / 1e6)),
        differs: Vec::new(),
    }
}
