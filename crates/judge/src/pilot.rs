//! What a run says about how the next one should be planned (Kalibera and Jones, ISMM 2013).

use crate::verdict::values;
use model::metric::Metric;
use model::name::ContenderName;
use model::record::Record;

/// How many seconds a measurement should last, so that a cell's interval is the narrowest for the time that a run takes: the more
/// seconds differ beside starts, and the longer a start takes, the more. `None` where a metric has no values by second,
/// where fewer than two trials have two of them, or where starts add nothing to what seconds differ by.
pub(crate) fn best_seconds(record: &Record, name: &ContenderName, metric: Metric, cell: Option<&str>) -> Option<usize> {
    let logs = |side: crate::rule::Side| -> Vec<f64> {
        side.seconds.iter().map(|s| (s.amount / s.weight).ln()).take_while(|log| log.is_finite()).collect()
    };
    let trials: Vec<Vec<f64>> = values(record, name, metric, cell).into_iter().filter_map(|(_, found)| found.ok()).map(logs).collect();
    let trials: Vec<Vec<f64>> = trials.into_iter().filter(|seconds| seconds.len() > 1).collect();
    let shortest = trials.iter().map(Vec::len).min()?;
    let all: Vec<f64> = trials.iter().flat_map(|seconds| &seconds[..shortest]).copied().collect();
    let variances = stats::variances(&all, &[trials.len(), shortest])?;
    // A start is shared by the cells that are measured in it.
    let cells = record.header.experiment.cells.len().max(1) as f64;
    variances.best_counts(&[start_s(record, name)? / cells, 1.0])?.first().copied()?
}

/// Seconds from the start of a process to its first measurement, on average.
fn start_s(record: &Record, name: &ContenderName) -> Option<f64> {
    let trials = record.trials.iter().filter(|t| t.contender == *name);
    let took = trials.filter_map(|t| Some(t.ready_after_ns? + t.warmup.as_ref().map_or(0, |w| warmed_ns(&w.windows))));
    stats::mean(&took.map(|ns| ns as f64 / 1e9).collect::<Vec<_>>()).filter(|s| *s > 0.0)
}

fn warmed_ns(windows: &[model::record::WarmUpWindow]) -> u64 {
    windows.last().map_or(0, |w| w.at_ns.saturating_add(w.load_ns).saturating_add(w.pause_ns))
}
