//! What a detector looks at, what it returns, and the figures that detectors share.

use crate::soundness::{measurement, used_trials};
use record::judgement::Picture;
use record::{Measurement, Record, Trial};
use spec::experiment::Cell;
use spec::name::ContenderName;
use spec::units::show_duration;
use stats::{Histogram, median};
use std::time::Duration;

/// With fewer requests than this, a share of them means nothing.
pub(super) const REQUESTS_MIN: u64 = 50;

/// A kind of symptom, and how it is found.
pub struct Detector {
    /// Its name in judgements.
    pub kind: &'static str,
    /// What is seen.
    pub sign: &'static str,
    /// From where on it is reported.
    pub threshold: &'static str,
    /// What likely causes it.
    pub cause: &'static str,
    /// What to do about it.
    pub hint: &'static str,
    /// Looks for it in what one contender did in one cell.
    pub(super) find: fn(&Seen<'_>) -> Option<Finding>,
}

/// A symptom that was found, without its kind and place.
pub(super) struct Finding {
    pub sentence: String,
    pub picture: Picture,
}

/// One measurement and the trial it belongs to.
pub(super) type Measured<'a> = (&'a Trial, &'a Measurement);

/// What one contender did in one cell.
pub(super) struct Seen<'a> {
    pub record: &'a Record,
    pub contender: &'a ContenderName,
    pub cell: &'a Cell,
    pub all: Vec<Measured<'a>>,
}

impl<'a> Seen<'a> {
    /// Collects the used measurements of a contender in a cell.
    pub fn of_cell(record: &'a Record, contender: &'a ContenderName, cell: &'a Cell) -> Seen<'a> {
        let all = used_trials(record, contender)
            .filter_map(|t| Some((t, measurement(t, &cell.name)?)))
            .collect();
        Seen { record, contender, cell, all }
    }

    /// Returns what each measurement shows, if at least half of them show something.
    pub fn in_half<T>(
        &self,
        shows: impl Fn(Measured<'a>) -> Option<T>,
    ) -> Option<Vec<(Measured<'a>, T)>> {
        let showing: Vec<_> = self.all.iter().filter_map(|m| Some((*m, shows(*m)?))).collect();
        (!showing.is_empty() && 2 * showing.len() >= self.all.len()).then_some(showing)
    }

    /// Returns how many CPUs the contender may use.
    pub fn cpus(&self) -> usize {
        self.record.header.cpus.contender.len().max(1)
    }
}

pub(super) fn duration(ns: f64) -> String {
    show_duration(Duration::from_nanos(ns.max(0.0) as u64))
}

/// Returns the median over the trials.
pub(super) fn typical<T>(showing: &[(Measured<'_>, T)], of: impl Fn(&T) -> f64) -> f64 {
    median(&showing.iter().map(|(_, found)| of(found)).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Returns bars of the samples in each step, in percent of all.
pub(super) fn bars(times: &Histogram, step_ns: u64, steps: u64) -> Vec<(f64, f64)> {
    let unit = if step_ns >= 100_000_000 { 1e9 } else { 1e6 };
    let share = |step: u64| {
        100.0 * times.count_between(step * step_ns, (step + 1) * step_ns - 1) as f64
            / times.len().max(1) as f64
    };
    (0..=steps)
        .map(|step| ((step * step_ns) as f64 / unit, if step < steps { share(step) } else { 0.0 }))
        .collect()
}

/// Returns a figure for each block.
pub(super) fn by_block<T>(
    showing: &[(Measured<'_>, T)],
    of: impl Fn(&T) -> f64,
) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        showing.iter().map(|((trial, _), found)| (f64::from(trial.block), of(found))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}
