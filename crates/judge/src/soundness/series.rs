//! Whether a measurement stayed at one level from its first half to its second.
//!
//! A contender that is not warm yet changes in the same direction at every start. A change of the
//! machine happens once, or in different directions. So all measurements of a contender in a cell
//! decide together. Start with [`not_stationary`].

use super::seen::{Found, found};
use record::{Measurement, Record};
use spec::experiment::Load;
use spec::name::ContenderName;
use spec::units::{show_number, show_share};
use stats::{kpss, kpss_lags, mean, mean_interval, sample_deviation};

/// The halves may differ by this share.
const HALVES_MAX: f64 = 0.10;
/// And by this many standard errors of their difference.
const STANDARD_ERRORS_MAX: f64 = 4.0;
/// And then the p-value of the test that the series has a level must be this small.
const KPSS_P_MAX: f64 = 0.01;
/// With fewer windows, that test cannot reach such a p-value.
pub(super) const WINDOWS_FEWEST: usize = 28;
/// Confidence of the interval of the mean change, which must exclude zero.
const CONFIDENCE: f64 = 0.95;
/// Length of a window: throughput and CPU time are compared in tenths of a second.
const WINDOW_NS: u64 = 100_000_000;

/// Returns whether a load changes by itself, so that no level is expected.
pub(super) fn changes_by_design(load: &Load) -> bool {
    match load {
        Load::Arrivals { stages, .. } => !stages.is_empty(),
        Load::Users { ramp, .. } => !ramp.is_zero(),
        Load::Closed { .. } => false,
        // A search makes many loads, none of which is a measurement.
        Load::Capacity(_) => true,
    }
}

/// A trial, and a measurement within it, by number.
type Place = (usize, usize);

/// Finds the measurements that moved to another level because the contender did. Throughput decides
/// for closed loads, and CPU time per request for loads with a given rate.
pub(super) fn not_stationary(record: &Record) -> Vec<(Place, Found)> {
    let experiment = &record.header.experiment;
    // With crossed factors each combination has one start in a block, so they are pooled.
    let groups: Vec<Option<&ContenderName>> = match experiment.factors.is_empty() {
        true => record.header.contenders.iter().map(|contender| Some(&contender.name)).collect(),
        false => vec![None],
    };
    let cells = experiment.cells.iter().filter(|cell| !changes_by_design(&cell.load));
    let places = cells.flat_map(|cell| groups.iter().map(move |group| (cell, *group)));
    places
        .flat_map(|(cell, group)| changed_in(record, group, &cell.name, !cell.load.has_schedule()))
        .collect()
}

/// Finds them among the measurements of one cell by one contender, or by all.
fn changed_in(
    record: &Record,
    contender: Option<&ContenderName>,
    cell: &str,
    is_closed: bool,
) -> Vec<(Place, Found)> {
    let trials = record.trials.iter().enumerate();
    let of_group = trials.filter(|(_, t)| contender.is_none_or(|name| t.contender == *name));
    let places = of_group.filter_map(|(t, trial)| {
        Some((t, trial.measurements.iter().position(|m| m.cell == cell)?))
    });
    let halves: Vec<(Place, Halves)> = places
        .filter_map(|(t, m)| {
            let measurement = &record.trials[t].measurements[m];
            Some(((t, m), Halves::of_measurement(measurement, is_closed)?))
        })
        .collect();
    let changes: Vec<f64> = halves.iter().map(|(_, halves)| halves.log_ratio()).collect();
    let Some(average) = average_change(&changes, is_closed) else { return Vec::new() };
    let count = halves.len();
    halves
        .into_iter()
        .filter(|(_, halves)| halves.stand_apart && average * halves.log_ratio() > 0.0)
        .filter_map(|(place, halves)| Some((place, halves.report(is_closed, average, count)?)))
        .collect()
}

/// Returns the mean change of a contender's measurements of a cell, as a logarithm, if the
/// contender causes it. A single measurement cannot show that: then a change of throughput counts
/// as the contender's, and one of CPU time per request as the machine's.
fn average_change(changes: &[f64], is_closed: bool) -> Option<f64> {
    if let [change] = changes {
        return is_closed.then_some(*change);
    }
    let (average, interval) = mean_interval(changes, CONFIDENCE)?;
    let is_sure = interval.low > 0.0 || interval.high < 0.0;
    (is_sure && average.abs() > HALVES_MAX.ln_1p()).then_some(average)
}

/// The two halves of a measurement.
struct Halves {
    first: f64,
    second: f64,
    /// Whether they differ by more than the limits above.
    stand_apart: bool,
}

impl Halves {
    /// Compares the halves. Returns `None` if there are too few windows.
    fn of_measurement(measurement: &Measurement, is_closed: bool) -> Option<Halves> {
        let correct = &measurement.generator.correct_per_tenth;
        let numerators: Vec<f64> = match is_closed {
            true => correct.iter().map(|n| f64::from(*n)).collect(),
            false => measurement.usage.cpu_of_windows(WINDOW_NS, correct.len()),
        };
        if numerators.len() < WINDOWS_FEWEST {
            return None;
        }
        let weights: Vec<f64> = correct[..numerators.len()]
            .iter()
            .map(|n| if is_closed { 1.0 } else { f64::from(*n) })
            .collect();
        let all = ratio(&numerators, &weights)?;
        let middle = numerators.len() / 2;
        let (first, second) = (
            ratio(&numerators[..middle], &weights[..middle])?,
            ratio(&numerators[middle..], &weights[middle..])?,
        );
        // For a ratio: what each window adds beyond its share.
        let residuals: Vec<f64> =
            numerators.iter().zip(&weights).map(|(n, w)| n - all * w).collect();
        let (early, late) = residuals.split_at(middle);
        let error = |part: &[f64]| Some(sample_deviation(part)?.powi(2) / part.len() as f64);
        let standard_error = (error(early)? + error(late)?).sqrt() / mean(&weights)?;
        let difference = (second - first).abs();
        let has_level =
            || kpss(&residuals, kpss_lags(residuals.len())).is_none_or(|test| test.p > KPSS_P_MAX);
        let stand_apart = difference > HALVES_MAX * first
            && difference > STANDARD_ERRORS_MAX * standard_error
            && !has_level();
        Some(Halves { first, second, stand_apart })
    }

    fn log_ratio(&self) -> f64 {
        (self.second / self.first).ln()
    }

    /// Describes the change. `average` is the mean change over `count` measurements.
    fn report(&self, is_closed: bool, average: f64, count: usize) -> Option<Found> {
        let Halves { first, second, .. } = *self;
        let (what, unit, suffix) = match is_closed {
            true => ("correct responses per second", 10.0, ""),
            false => ("CPU time per request", 1e-3, " µs"),
        };
        let show = |value: f64| show_number(value * unit);
        let mut evidence = format!(
            "{what} went from {}{suffix} in the first half to {}{suffix} in the second ({})",
            show(first),
            show(second),
            show_change(second / first)
        );
        if count > 1 {
            evidence += &format!(
                "; over {count} measurements by {} on average",
                show_change(average.exp())
            );
        }
        found(
            evidence,
            "warm up longer, at least a minute (`warmup = \"60s..90s\"`), or measure longer. A `warmup` of the cell warms up with that cell's load. Also check whether another program started",
        )
    }
}

/// Shows a ratio as a change: `+12.0 %`, `-7.10 %`.
fn show_change(ratio: f64) -> String {
    match ratio > 1.0 {
        true => format!("+{}", show_share(ratio - 1.0)),
        false => format!("-{}", show_share(1.0 - ratio)),
    }
}

fn ratio(numerators: &[f64], weights: &[f64]) -> Option<f64> {
    let all: f64 = weights.iter().sum();
    (all > 0.0).then(|| numerators.iter().sum::<f64>() / all).filter(|ratio| *ratio > 0.0)
}
