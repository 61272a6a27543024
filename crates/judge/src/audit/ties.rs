//! Rows whose throughputs are too close to each other to be ranked.

use spec::article::{Figure, Row, Table};
use spec::units::show_share;

/// Single runs of the same service differ by this share on most machines.
const NOISE: f64 = 0.05;

/// Notes that the fastest row of a table is ahead of the slowest by less than the noise.
pub(super) fn note_tie(table: &Table) -> Option<String> {
    if table.rows.len() < 2 || table.tool.is_some_and(|tool| tool.divides_runs()) {
        return None;
    }
    let is_comparable = |row: &&Row| !row.load.scheduled;
    let rates: Vec<&Figure> =
        table.rows.iter().filter(is_comparable).filter_map(|row| row.throughput.as_ref()).collect();
    let least = rates.iter().min_by(|a, b| a.value().total_cmp(&b.value()))?;
    let greatest = rates.iter().max_by(|a, b| a.value().total_cmp(&b.value()))?;
    let apart = greatest.value() / least.value() - 1.0;
    (rates.len() == table.rows.len() && apart.is_finite() && apart <= NOISE).then(|| {
        format!(
            "all throughputs tie: they range from {}/s to {}/s, {} apart. Single runs of the same service differ that much, so the rows have no order. The load generator or the network may be the limit",
            least.text(),
            greatest.text(),
            show_share(apart)
        )
    })
}
