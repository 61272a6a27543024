//! What external generators reported for a load, next to our figures and to the known truth.
//!
//! Each generator counts, times and waits in its own way, so no verdict compares them.

use crate::readings::value;
use crate::soundness::{measurement, used_trials};
use record::judgement::{GeneratorComparison, GeneratorLine};
use record::{Circumstances, ExternalReport, Measurement, Record, Trial};
use spec::article::Figure;
use spec::experiment::Cell;
use spec::experiment::external_generator::Driver;
use spec::metric::Metric;
use spec::name::ContenderName;
use stats::median;

/// Lists the figures of all generators, for each load that an external generator makes or that has
/// a known truth, by contender.
pub(crate) fn compare_generators(record: &Record) -> Vec<GeneratorComparison> {
    let cells = &record.header.experiment.cells;
    let is_same = |a: &Cell, b: &Cell| a.workload_label() == b.workload_label() && a.load == b.load;
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|group| is_same(group[0], cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups.retain(|group| group.iter().any(|cell| cell.driver.is_some() || cell.truth.is_some()));
    let names = || record.header.contenders.iter().map(|participant| &participant.name);
    let of_group = |group: &Vec<&Cell>, contender: &ContenderName| GeneratorComparison {
        contender: contender.clone(),
        load: group[0].load.describe(),
        workload: group[0].workload_label(),
        // The truth is known for the baseline only.
        truth: group
            .iter()
            .find_map(|cell| cell.truth)
            .filter(|_| *contender == record.header.experiment.baseline),
        lines: group.iter().map(|cell| line(record, contender, cell)).collect(),
    };
    groups
        .iter()
        .flat_map(|group| names().map(|contender| of_group(group, contender)).collect::<Vec<_>>())
        .collect()
}

fn line(record: &Record, contender: &ContenderName, cell: &Cell) -> GeneratorLine {
    let trials: Vec<&Trial> = used_trials(record, contender).collect();
    match cell.driver {
        Some(driver) => reported(cell, driver, &trials),
        None => measured(cell, &trials),
    }
}

fn typical<T>(all: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    median(&all.iter().filter_map(of).collect::<Vec<_>>())
}

fn reported(cell: &Cell, driver: Driver, trials: &[&Trial]) -> GeneratorLine {
    let all: Vec<&ExternalReport> = trials
        .iter()
        .flat_map(|t| t.external_reports.iter().filter(|w| w.cell == cell.name))
        .collect();
    let used: Vec<&ExternalReport> =
        all.iter().copied().filter(|w| !w.exceeds_steal_limit()).collect();
    let failed = |w: &ExternalReport| {
        let row = &w.reported;
        let counted = row
            .errors
            .as_ref()
            .zip(row.samples.as_ref())
            .filter(|(_, samples)| samples.value() > 0.0);
        let share = counted.map(|(errors, samples)| errors.value() / samples.value());
        share.or(row.error_share.as_ref().map(Figure::value)).map(|share| 100.0 * share)
    };
    GeneratorLine {
        cell: cell.name.clone(),
        driver: Some(driver),
        used: used.len(),
        stolen: all.len() - used.len(),
        rate_per_s: typical(&used, |w| w.reported.throughput.as_ref().map(Figure::value)),
        p50_ms: typical(&used, |w| w.quantile_ms(50.0)),
        p99_ms: typical(&used, |w| w.quantile_ms(99.0)),
        failed_percent: typical(&used, |w| failed(w)),
        cpu_us_per_request: typical(&used, |w| w.cpu_us_per_request()),
        memory_mb: typical(&used, |w| Some(w.usage.rss_max_bytes as f64 / 1e6)),
        differs: all.first().map(|w| w.differs.clone()).unwrap_or_default(),
    }
}

fn measured(cell: &Cell, trials: &[&Trial]) -> GeneratorLine {
    let is_disturbed =
        |m: &Measurement| m.circumstances.as_ref().is_some_and(Circumstances::exceeds_steal_limit);
    let all: Vec<(&Trial, &Measurement)> =
        trials.iter().filter_map(|t| Some((*t, measurement(t, &cell.name)?))).collect();
    let used: Vec<(&Trial, &Measurement)> =
        all.iter().copied().filter(|(_, m)| !is_disturbed(m)).collect();
    let of = |metric: Metric| typical(&used, |(trial, m)| value(metric, trial, Some(*m)));
    let settled = |m: &Measurement| Some(m.counts.settled()).filter(|n| *n > 0).map(|n| n as f64);
    GeneratorLine {
        cell: cell.name.clone(),
        driver: None,
        used: used.len(),
        stolen: all.len() - used.len(),
        rate_per_s: of(Metric::Throughput),
        p50_ms: of(Metric::LatencyP50),
        p99_ms: of(Metric::LatencyP99),
        failed_percent: of(Metric::FailedShare),
        cpu_us_per_request: typical(&used, |(_, m)| {
            Some(m.generator.busy_ns() as f64 / 1e3 / settled(m)?)
        }),
        memory_mb: typical(&used, |(_, m)| {
            Some(m.circumstances.as_ref()?.faceoff_memory_bytes? as f64 / 1e6)
        }),
        differs: Vec::new(),
    }
}
