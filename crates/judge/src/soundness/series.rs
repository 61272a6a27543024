//! Whether a measurement kept to one state.

use super::fault;
use model::experiment::Load;
use model::name::ContenderName;
use model::record::{Fault, Measurement, Record};
use model::units::{show_number, show_share};
use stats::{kpss, kpss_lags, mean, mean_interval, sample_deviation};

/// The halves may differ by this share.
const HALVES_MAX: f64 = 0.10;
/// And by so many standard errors of their difference.
const STANDARD_ERRORS_MAX: f64 = 4.0;
/// And then the series must be as unlikely as this to have a level.
const KPSS_P_MAX: f64 = 0.01;
/// With fewer windows, the test of a level cannot come to that p.
pub(super) const WINDOWS_FEWEST: usize = 28;
/// The interval of what a contender's measurements of a cell change by on average, which must not hold zero.
const CONFIDENCE: f64 = 0.95;
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

/// Throughput of closed loads, and CPU time per request of loads whose rate is given, that went to another level because the contender
/// did. By place: the trial and the measurement within it. What changes once, or now this way and now that, is the machine's, and a
/// part of the spread between blocks.
pub(super) fn not_stationary(record: &Record) -> Vec<((usize, usize), Fault)> {
    let experiment = &record.header.experiment;
    // Of crossed factors each combination has one start in a block: they are one program with this and that left out.
    let groups: Vec<Option<&ContenderName>> = match experiment.factors.is_empty() {
        true => record.header.contenders.iter().map(|contender| Some(&contender.name)).collect(),
        false => vec![None],
    };
    let cells = experiment.cells.iter().filter(|cell| !changes_by_design(&cell.load));
    let found = cells.flat_map(|cell| groups.iter().map(move |group| (cell, group))).flat_map(|(cell, group)| {
        let is_closed = !cell.load.has_schedule();
        let of_group = record.trials.iter().enumerate().filter(|(_, trial)| group.is_none_or(|name| trial.contender == *name));
        let places = of_group.filter_map(|(t, trial)| Some((t, trial.measurements.iter().position(|m| m.cell == cell.name)?)));
        let halves: Vec<_> =
            places.filter_map(|(t, m)| Some(((t, m), Halves::of(&record.trials[t].measurements[m], is_closed)?))).collect();
        let changes: Vec<f64> = halves.iter().map(|(_, halves)| halves.log_ratio()).collect();
        let average = of_its_own(&changes, is_closed);
        let with_it = move |halves: &Halves| average.filter(|average| halves.stand_apart && average * halves.log_ratio() > 0.0);
        let count = halves.len();
        halves.into_iter().filter_map(move |(place, halves)| Some((place, halves.told(is_closed, with_it(&halves)?, count)?)))
    });
    found.collect()
}

/// By how much a contender's measurements of a cell change on average, as a logarithm, where that is its own doing. Of a single
/// measurement nobody can tell: throughput is then taken for the contender's, and CPU per request for the machine's.
fn of_its_own(changes: &[f64], is_closed: bool) -> Option<f64> {
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
    /// Whether they differ by more than chance and custom.
    stand_apart: bool,
}

impl Halves {
    /// `None` where there are too few windows to tell.
    fn of(measurement: &Measurement, is_closed: bool) -> Option<Halves> {
        let correct = &measurement.generator.correct_per_tenth;
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
        let has_level = || kpss(&residuals, kpss_lags(residuals.len())).is_none_or(|test| test.p > KPSS_P_MAX);
        let stand_apart = difference > HALVES_MAX * first && difference > STANDARD_ERRORS_MAX * standard_error && !has_level();
        Some(Halves { first, second, stand_apart })
    }

    fn log_ratio(&self) -> f64 {
        (self.second / self.first).ln()
    }

    /// `average` as of [`of_its_own`], over so many measurements.
    fn told(&self, is_closed: bool, average: f64, count: usize) -> Option<Fault> {
        let Halves { first, second, .. } = *self;
        let (what, unit, suffix) = match is_closed {
            true => ("right answers a second", 10.0, ""),
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
            evidence += &format!("; in {count} measurements by {} on average", show_change(average.exp()));
        }
        fault(
            "not-stationary",
            evidence,
            "warm up longer (`warmup = \"60s..90s\"` is a minute at least; in a cell it is with its own load, for one that asks more at once), or measure longer; and see whether something else began to run",
        )
    }
}

/// `+12.0 %`, `-7.10 %`.
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
