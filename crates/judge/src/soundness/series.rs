//! Whether a measurement kept to one state.

use super::{Seen, fault};
use model::experiment::Load;
use model::record::Fault;
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

pub(super) fn not_stationary(seen: &Seen<'_>) -> Option<Fault> {
    let correct = &seen.measurement.generator.correct_per_tenth;
    if changes_by_design(&seen.cell.load) {
        return None;
    }
    let is_closed = matches!(seen.cell.load, Load::Closed { .. });
    let (what, unit, numerators): (_, _, Vec<f64>) = match is_closed {
        true => ("right answers a second", 10.0, correct.iter().map(|n| f64::from(*n)).collect()),
        false => ("CPU time per request", 1e-3, seen.measurement.usage.cpu_of_windows(WINDOW_NS, correct.len())),
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
    let change =
        if second > first { format!("+{}", show_share(second / first - 1.0)) } else { format!("-{}", show_share(1.0 - second / first)) };
    let us = if is_closed { "" } else { " µs" };
    let show = |value: f64| show_number(value * unit);
    let evidence = format!("{what} went from {}{us} in the first half to {}{us} in the second ({change})", show(first), show(second));
    fault("not-stationary", evidence, "warm up longer, or measure longer; and see whether something else began to run")
}

fn ratio(numerators: &[f64], weights: &[f64]) -> Option<f64> {
    let all: f64 = weights.iter().sum();
    (all > 0.0).then(|| numerators.iter().sum::<f64>() / all).filter(|ratio| *ratio > 0.0)
}
