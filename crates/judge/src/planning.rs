//! What a run says about how to plan the next one (Kalibera and Jones, ISMM 2013).

use crate::readings::values;
use crate::rule::Side;
use record::{Record, WarmUpWindow};
use spec::metric::Metric;
use spec::name::ContenderName;

/// Returns how many seconds a measurement should last for the narrowest interval in a given time.
///
/// Longer measurements pay if seconds differ more than starts do, and if a start takes long.
/// Returns `None` if the metric has no values by second, if fewer than two trials have two of them,
/// or if starts add nothing to the differences between seconds.
pub(crate) fn best_seconds(
    record: &Record,
    name: &ContenderName,
    metric: Metric,
    cell: Option<&str>,
) -> Option<usize> {
    let logs = |side: Side| -> Vec<f64> {
        side.seconds
            .iter()
            .map(|s| (s.amount / s.weight).ln())
            .take_while(|log| log.is_finite())
            .collect()
    };
    let trials: Vec<Vec<f64>> = values(record, name, metric, cell)
        .into_iter()
        .filter_map(|(_, found)| found.ok())
        .map(logs)
        .filter(|seconds| seconds.len() > 1)
        .collect();
    let shortest = trials.iter().map(Vec::len).min()?;
    let all: Vec<f64> = trials.iter().flat_map(|seconds| &seconds[..shortest]).copied().collect();
    let variances = stats::variances(&all, &[trials.len(), shortest])?;
    // All cells of a trial share its start.
    let cells = record.header.experiment.cells.len().max(1) as f64;
    variances.best_counts(&[start_s(record, name)? / cells, 1.0])?.first().copied()?
}

/// Returns the mean seconds from the start of a process to its first measurement.
fn start_s(record: &Record, name: &ContenderName) -> Option<f64> {
    let trials = record.trials.iter().filter(|t| t.contender == *name);
    let took = trials.filter_map(|t| {
        Some(t.ready_after_ns? + t.warmup.as_ref().map_or(0, |w| warmed_up_ns(&w.windows)))
    });
    stats::mean(&took.map(|ns| ns as f64 / 1e9).collect::<Vec<_>>()).filter(|s| *s > 0.0)
}

fn warmed_up_ns(windows: &[WarmUpWindow]) -> u64 {
    windows.last().map_or(0, |w| w.at_ns.saturating_add(w.load_ns).saturating_add(w.pause_ns))
}
