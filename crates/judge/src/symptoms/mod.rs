//! Causes that the shape of the data gives away. Each symptom is a pure function of what one contender did in one cell;
//! thresholds and what they point to stand in METHOD.md. A symptom decides nothing: verdicts do not look at it.

mod connect_steps;
mod connection_churn;
mod cpu_throttled;
mod delayed_ack;
mod gc_pauses;
mod log_on_hot_path;
mod one_core;
mod pool_exhausted;

use crate::{exclusion, measurement};
use model::experiment::Cell;
use model::judgement::{Picture, Symptom};
use model::name::ContenderName;
use model::record::{Measurement, Record, Trial};
use model::units::show_duration;
use stats::{Histogram, median};
use std::time::Duration;

/// With fewer requests than these, a share of them says nothing.
const REQUESTS_MIN: u64 = 50;

/// A symptom without its place.
struct Finding {
    kind: &'static str,
    sentence: String,
    hint: &'static str,
    picture: Picture,
}

/// One measurement and the trial it belongs to.
type Measured<'a> = (&'a Trial, &'a Measurement);

/// What one contender did in one cell.
struct Seen<'a> {
    record: &'a Record,
    contender: &'a ContenderName,
    cell: &'a Cell,
    all: Vec<Measured<'a>>,
}

impl<'a> Seen<'a> {
    fn of(record: &'a Record, contender: &'a ContenderName, cell: &'a Cell) -> Seen<'a> {
        let trials = record.trials.iter().filter(|t| t.contender == *contender && exclusion(t).is_none());
        let all = trials.filter_map(|t| Some((t, measurement(t, &cell.name)?))).collect();
        Seen { record, contender, cell, all }
    }

    /// What each measurement shows, where at least half of them show something.
    fn in_half<T>(&self, shows: impl Fn(Measured<'a>) -> Option<T>) -> Option<Vec<(Measured<'a>, T)>> {
        let showing: Vec<_> = self.all.iter().filter_map(|m| Some((*m, shows(*m)?))).collect();
        (!showing.is_empty() && 2 * showing.len() >= self.all.len()).then_some(showing)
    }

    /// CPUs that the contender may use.
    fn cpus(&self) -> usize {
        self.record.header.cpus.contender.len().max(1)
    }
}

/// Every symptom of a record, at most one a kind, contender and cell.
pub(crate) fn all(record: &Record) -> Vec<Symptom> {
    let detectors = [
        delayed_ack::find,
        pool_exhausted::find,
        connect_steps::find,
        gc_pauses::find,
        cpu_throttled::find,
        one_core::find,
        connection_churn::find,
        log_on_hot_path::find,
    ];
    let mut symptoms = Vec::new();
    for participant in &record.header.contenders {
        for cell in &record.header.experiment.cells {
            let seen = Seen::of(record, &participant.name, cell);
            symptoms.extend(detectors.iter().filter_map(|find| find(&seen)).map(|finding| Symptom {
                kind: finding.kind.into(),
                contender: participant.name.clone(),
                cell: Some(cell.name.clone()),
                sentence: finding.sentence,
                hint: finding.hint.into(),
                picture: finding.picture,
            }));
        }
    }
    symptoms
}

fn duration(ns: f64) -> String {
    show_duration(Duration::from_nanos(ns.max(0.0) as u64))
}

/// The middle of what the trials show.
fn typical<T>(showing: &[(Measured<'_>, T)], of: impl Fn(&T) -> f64) -> f64 {
    median(&showing.iter().map(|(_, found)| of(found)).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Bars of how many samples lie in each step, in per cent of all.
fn bars(times: &Histogram, step_ns: u64, steps: u64) -> Vec<(f64, f64)> {
    let unit = if step_ns >= 100_000_000 { 1e9 } else { 1e6 };
    let share = |step: u64| 100.0 * times.count_between(step * step_ns, (step + 1) * step_ns - 1) as f64 / times.len().max(1) as f64;
    (0..=steps).map(|step| ((step * step_ns) as f64 / unit, if step < steps { share(step) } else { 0.0 })).collect()
}

/// A figure of each block.
fn by_block<T>(showing: &[(Measured<'_>, T)], of: impl Fn(&T) -> f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = showing.iter().map(|((trial, _), found)| (f64::from(trial.block), of(found))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}
