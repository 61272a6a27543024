//! Whether a measurement kept to one state.

use super::{Seen, fault};
use model::experiment::{Cell, Load};
use model::record::{Fault, Measurement, Record};
use model::units::{show_number, show_share};
use stats::{kpss, kpss_lags, mean, sample_deviation};

/// The halves may differ by this share.
const HALVES_MAX: f64 = 0.10;
/// And by so many standard errors of their difference.
const STANDARD_ERRORS_MAX: f64 = 4.0;
/// And then the series must be as unlikely as this to have a level.
const KPSS_P_MAX: f64 = 0.01;
/// With fewer windows, the test of a level cannot come to that p.
pub(super) const WINDOWS_FEWEST: usize = 28;
/// CPU per request that changes comes from the contender where so many of its measurements of a cell show it, the same way;
const ALIKE_FEWEST: usize = 2;
/// and where they are this share of them. What shows once is the machine's, and a part of the spread between blocks.
const ALIKE_SHARE: f64 = 0.5;
/// Throughput and CPU are looked at in tenths of a second.
const WINDOW_NS: u64 = 100_000_000;

pub(super) fn changes_by_design(load: &Load) -> bool {
    match load {
        Load::Arrivals { stages, .. } => !stages.is_empty(),
        Load::Users { ramp, .. } => !ramp.is_zero(),
        Load::Closed { .. } => false,
        // It is many loads, none of which is a measurement.
        Load::Capacity(_) => true,
    }
}

/// Throughput of a closed load that went to another level.
pub(super) fn not_stationary(seen: &Seen<'_>) -> Option<Fault> {
    matches!(seen.cell.load, Load::Closed { .. }).then(|| Change::of(seen.measurement, seen.cell)?.told())?
}

/// CPU time per request that went to another level in most measurements of a contender, of loads whose rate is given. By place:
/// the trial and the measurement within it.
pub(super) fn dearer_or_cheaper(record: &Record) -> Vec<((usize, usize), Fault)> {
    let header = &record.header;
    let given = header.experiment.cells.iter().filter(|cell| !matches!(cell.load, Load::Closed { .. }));
    let of_cells = given.flat_map(|cell| header.contenders.iter().map(move |contender| (cell, &contender.name)));
    let in_most = of_cells.flat_map(|(cell, name)| {
        let of_contender = record.trials.iter().enumerate().filter(|(_, trial)| trial.contender == *name);
        let places = of_contender.filter_map(|(t, trial)| Some((t, trial.measurements.iter().position(|m| m.cell == cell.name)?)));
        let measured: Vec<_> = places.map(|(t, m)| ((t, m), Change::of(&record.trials[t].measurements[m], cell))).collect();
        let rises = |rise: bool| measured.iter().filter(move |(_, change)| change.as_ref().is_some_and(|c| c.is_rise() == rise)).count();
        let is_its_own = |count: usize| count >= ALIKE_FEWEST && count as f64 >= ALIKE_SHARE * measured.len() as f64;
        let of_its_own = [false, true].map(|rise| is_its_own(rises(rise)));
        measured.into_iter().filter_map(move |(place, change)| Some((place, change.filter(|c| of_its_own[usize::from(c.is_rise())])?)))
    });
    in_most.filter_map(|(place, change)| Some((place, change.told()?))).collect()
}

/// A measurement whose second half is not like its first.
struct Change {
    is_closed: bool,
    first: f64,
    second: f64,
}

impl Change {
    fn of(measurement: &Measurement, cell: &Cell) -> Option<Change> {
        if changes_by_design(&cell.load) {
            return None;
        }
        let correct = &measurement.generator.correct_per_tenth;
        let is_closed = matches!(cell.load, Load::Closed { .. });
        let numerators: Vec<f64> = match is_closed {
            true => correct.iter().map(|n| f64::from(*n)).collect(),
            false => measurement.usage.cpu_of_windows(WINDOW_NS, correct.len()),
        };
        if numerators.len() < WINDOWS_FEWEST {
            return None;
        }
        let weights: Vec<f64> = correct[..numerators.len()].iter().map(|n| if is_closed { 1.0 } else { f64::from(*n) }).collect();
        let all = ratio(&numerators, &weights)?;
        let middle = numerators.len() / 2;
        let (first, second) = (ratio(&numerators[..middle], &weights[..middle])?, ratio(&numerators[middle..], &weights[middle..])?);
        // Of a ratio: what each window adds beyond its share.
        let residuals: Vec<f64> = numerators.iter().zip(&weights).map(|(n, w)| n - all * w).collect();
        let (early, late) = residuals.split_at(middle);
        let error = |part: &[f64]| Some(sample_deviation(part)?.powi(2) / part.len() as f64);
        let standard_error = (error(early)? + error(late)?).sqrt() / mean(&weights)?;
        let difference = (second - first).abs();
        if difference <= HALVES_MAX * first || difference <= STANDARD_ERRORS_MAX * standard_error {
            return None;
        }
        kpss(&residuals, kpss_lags(residuals.len())).filter(|test| test.p <= KPSS_P_MAX)?;
        Some(Change { is_closed, first, second })
    }

    fn is_rise(&self) -> bool {
        self.second > self.first
    }

    fn told(&self) -> Option<Fault> {
        let Change { is_closed, first, second } = *self;
        let (what, unit, suffix) = match is_closed {
            true => ("right answers a second", 10.0, ""),
            false => ("CPU time per request", 1e-3, " µs"),
        };
        let change = match self.is_rise() {
            true => format!("+{}", show_share(second / first - 1.0)),
            false => format!("-{}", show_share(1.0 - second / first)),
        };
        let show = |value: f64| show_number(value * unit);
        let evidence =
            format!("{what} went from {}{suffix} in the first half to {}{suffix} in the second ({change})", show(first), show(second));
        fault(
            "not-stationary",
            evidence,
            "warm up longer, with the cell's own load where that asks more at once (`warmup` in the cell), or measure longer; and see whether something else began to run",
        )
    }
}

fn ratio(numerators: &[f64], weights: &[f64]) -> Option<f64> {
    let all: f64 = weights.iter().sum();
    (all > 0.0).then(|| numerators.iter().sum::<f64>() / all).filter(|ratio| *ratio > 0.0)
}
