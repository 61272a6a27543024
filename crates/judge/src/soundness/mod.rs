//! What makes a measurement unfit to judge from: readings in, faults out. Thresholds and their reasons stand in
//! METHOD.md, "Faults". A contender's own errors are results, never faults.

mod agents;
mod binding;
mod capacity;
mod checks;
mod generator;
mod series;
mod surroundings;

use model::capacity::Searched;
use model::experiment::{Cell, CpuSets, Experiment};
use model::judgement::FaultAt;
use model::metric::Metric;
use model::record::{Fault, Measurement, Record, Trial};
use std::borrow::Cow;

pub(crate) use checks::checks;
pub use checks::known;

/// One measurement, with what it was meant to be.
struct Seen<'a> {
    measurement: &'a Measurement,
    cell: &'a Cell,
    experiment: &'a Experiment,
    cpus: &'a CpuSets,
}

impl<'a> Seen<'a> {
    /// `None` where the experiment has no such cell.
    fn of(record: &'a Record, measurement: &'a Measurement) -> Option<Seen<'a>> {
        let experiment = &record.header.experiment;
        let cell = experiment.cells.iter().find(|c| c.name == measurement.cell)?;
        Some(Seen { measurement, cell, experiment, cpus: &record.header.cpus })
    }
}

/// What a fault of a kind spoils. Memory and threads are the contender's own, whoever else was busy; so is CPU per request, save where
/// the clock rate or the state changed under it, or a neighbour shared the caches.
pub fn spoils(kind: &str, metric: Metric) -> bool {
    let of_speed = metric.is_latency() || matches!(metric, Metric::Throughput | Metric::Capacity);
    match kind {
        "generator-lag" | "agent-lag" | "agent-start" | "in-flight-limit" | "arrivals" => metric.is_latency(),
        "generator-lag-tail" => matches!(metric, Metric::LatencyP99 | Metric::LatencyMax | Metric::LatencyDeviation),
        // Another generator that made no load, in a cell of its own.
        "witness" => false,
        "all-tie" => metric == Metric::Throughput,
        "steal" => of_speed || matches!(metric, Metric::StartUp | Metric::CpuPerRequest),
        "start-steal" => matches!(metric, Metric::StartUp | Metric::ScaleOut),
        "upstream-binds" | "generator-cpu" | "agent-cpu" | "rate-not-achieved" | "other-cpu" | "backlog" | "retransmits" | "clock-step" => {
            of_speed
        }
        "descriptors" | "ports" => of_speed || metric == Metric::FailedShare,
        "frequency" | "not-stationary" => of_speed || metric == Metric::CpuPerRequest,
        _ => true,
    }
}

/// Whether a fault of this kind spoils every metric.
pub(crate) fn spoils_all(kind: &str) -> bool {
    Metric::ALL.into_iter().all(|metric| spoils(kind, metric))
}

/// The faults of a trial: its own, those of each of its measurements, and of each of its capacities.
struct OfTrial {
    own: Vec<Fault>,
    cells: Vec<Vec<Fault>>,
    capacities: Vec<Vec<Fault>>,
}

/// All faults of a record: those that stand in it, and those that its readings show.
pub(crate) struct Faults {
    trials: Vec<OfTrial>,
    /// Of a cell over all trials.
    cells: Vec<(String, Fault)>,
}

impl Faults {
    pub fn of(record: &Record) -> Faults {
        let of_measurement = |measurement: &Measurement| {
            let Some(seen) = Seen::of(record, measurement) else { return measurement.faults.clone() };
            with_found(&measurement.faults, checks::OF_MEASUREMENT.iter().filter_map(|check| (check.find)(&seen)))
        };
        let of_search = |searched: &Searched| {
            with_found(&searched.faults, capacity::OF_SEARCH.iter().filter_map(|check| (check.find)(searched, &record.header)))
        };
        let trials = record.trials.iter().map(|trial| OfTrial {
            own: of_trial(trial),
            cells: trial.measurements.iter().map(of_measurement).collect(),
            capacities: trial.capacities.iter().map(of_search).collect(),
        });
        let mut trials: Vec<OfTrial> = trials.collect();
        for ((trial, measurement), found) in series::not_stationary(record) {
            trials[trial].cells[measurement].push(found);
        }
        Faults { trials, cells: binding::ties(record) }
    }

    /// The record with all of them in it, those of a cell in each of its measurements.
    pub fn within<'r>(&self, record: &'r Record) -> Cow<'r, Record> {
        let has_more = |(trial, of): (&Trial, &OfTrial)| {
            of.own.len() > trial.faults.len()
                || trial.measurements.iter().zip(&of.cells).any(|(m, found)| found.len() > m.faults.len())
                || trial.capacities.iter().zip(&of.capacities).any(|(c, found)| found.len() > c.faults.len())
        };
        if self.cells.is_empty() && !record.trials.iter().zip(&self.trials).any(has_more) {
            return Cow::Borrowed(record);
        }
        let mut record = record.clone();
        for (trial, of) in record.trials.iter_mut().zip(&self.trials) {
            trial.faults.clone_from(&of.own);
            for (searched, found) in trial.capacities.iter_mut().zip(&of.capacities) {
                searched.faults.clone_from(found);
            }
            for (measurement, found) in trial.measurements.iter_mut().zip(&of.cells) {
                let of_cell = self.cells.iter().filter(|(cell, _)| *cell == measurement.cell).map(|(_, fault)| fault.clone());
                measurement.faults = found.iter().cloned().chain(of_cell).collect();
            }
        }
        Cow::Owned(record)
    }

    /// All with their places, in the order of the record.
    pub fn list(&self, record: &Record) -> Vec<FaultAt> {
        let at = |place: String, fault: &Fault| FaultAt {
            place,
            kind: fault.kind.clone(),
            evidence: fault.evidence.clone(),
            hint: fault.hint.clone(),
        };
        let mut all: Vec<FaultAt> = self.cells.iter().map(|(cell, fault)| at(format!("all blocks, cell {cell}"), fault)).collect();
        for (trial, of) in record.trials.iter().zip(&self.trials) {
            let place = format!("block {}, {}", trial.block, trial.contender);
            all.extend(of.own.iter().map(|fault| at(place.clone(), fault)));
            let measured = trial.measurements.iter().map(|m| &m.cell).zip(&of.cells);
            for (cell, found) in measured.chain(trial.capacities.iter().map(|c| &c.cell).zip(&of.capacities)) {
                all.extend(found.iter().map(|fault| at(format!("{place}, cell {cell}"), fault)));
            }
        }
        all
    }
}

/// The faults of a whole trial, without those of its measurements.
pub fn of_trial(trial: &Trial) -> Vec<Fault> {
    with_found(&trial.faults, surroundings::start_steal(trial))
}

/// Older records hold faults that are computed now: each kind once.
fn with_found(recorded: &[Fault], found: impl IntoIterator<Item = Fault>) -> Vec<Fault> {
    let is_new = |fault: &Fault| !recorded.iter().any(|known| known.kind == fault.kind);
    recorded.iter().cloned().chain(found.into_iter().filter(is_new)).collect()
}

fn fault(kind: &str, evidence: String, hint: &str) -> Option<Fault> {
    Some(Fault { kind: kind.into(), evidence, hint: hint.into() })
}
