//! Cells of a closed load in which all contenders reach one throughput, though none is at its
//! limit.
//!
//! Different programs agree that closely only by what they share: the generator, the upstream or a
//! delay. The check needs all trials of a cell, so it is not in the table of single measurements.

use super::binding::cpu_share;
use super::reach::TIE_FEWEST;
use super::seen::{Found, found};
use super::usable::{measurement, used_trials};
use record::{Measurement, Record};
use spec::experiment::Load;
use spec::units::{show_number, show_share};

/// Throughputs tie if the highest is at most this multiple of the lowest.
const TIE: f64 = 1.01;
/// A contender that uses more of its CPUs than this may be the limit itself.
const TIE_BUSY_SHARE: f64 = 0.90;

/// Finds the cells in which all contenders tie.
pub(super) fn tied_cells(record: &Record) -> Vec<(String, Found)> {
    let cells = record.header.experiment.cells.iter();
    let closed = cells.filter(|cell| matches!(cell.load, Load::Closed { .. }));
    closed.filter_map(|cell| Some((cell.name.clone(), tie(record, &cell.name)?))).collect()
}

fn tie(record: &Record, cell: &str) -> Option<Found> {
    let (mut throughputs, mut busiest) = (Vec::new(), 0.0f64);
    // The baseline's second self is the same program.
    for participant in record.header.contenders.iter().filter(|c| !c.name.is_twin()) {
        let trials = used_trials(record, &participant.name);
        let all: Vec<&Measurement> =
            trials.filter_map(|t| measurement(t, cell)).filter(|m| m.counts.correct > 0).collect();
        let rates: Vec<f64> = all.iter().map(|m| m.throughput_per_s()).collect();
        // A contender without measurements ties with no other.
        let Some(throughput) = stats::mean(&rates) else { continue };
        throughputs.push(throughput);
        // A contender whose CPU time is unknown may be the limit.
        let share = |m: &Measurement| {
            if m.usage.is_known() { cpu_share(m, &record.header.cpus) } else { 1.0 }
        };
        let shares: Vec<f64> = all.iter().map(|m| share(m)).collect();
        busiest = busiest.max(stats::mean(&shares)?);
    }
    let (low, high) = throughputs
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(low, high), t| (low.min(*t), high.max(*t)));
    if throughputs.len() < TIE_FEWEST || high > TIE * low || busiest >= TIE_BUSY_SHARE {
        return None;
    }
    let evidence = format!(
        "all {} contenders answered {} to {} requests per second, though none used more than {} of its CPUs",
        throughputs.len(),
        show_number(low),
        show_number(high),
        show_share(busiest)
    );
    found(
        evidence,
        "the generator, the upstream or a delay was measured instead: load the contenders more, or compare CPU per request",
    )
}
