//! All faults of a record: those that were recorded, and those that its readings show.
//!
//! A run records only the faults that it must act on. Everything else is computed from the readings
//! each time, so that a new check also judges old records. Start with [`Faults::of_record`].

use super::kinds::FaultKind;
use super::look::Look;
use super::seen::{Found, Seen};
use super::{series, surroundings, ties};
use record::capacity::CapacitySearch;
use record::judgement::FaultAt;
use record::{Fault, Measurement, Record, Trial};
use std::borrow::Cow;

/// The faults of a trial: those of the whole trial, of each of its measurements, and of each of its
/// capacities.
struct OfTrial {
    whole: Vec<Fault>,
    cells: Vec<Vec<Fault>>,
    capacities: Vec<Vec<Fault>>,
}

/// All faults of a record.
pub(crate) struct Faults {
    trials: Vec<OfTrial>,
    /// Faults of a cell over all trials.
    cells: Vec<(String, Fault)>,
}

impl Faults {
    /// Runs every check on a record.
    pub fn of_record(record: &Record) -> Faults {
        let looks = || FaultKind::ALL.iter().map(|kind| (*kind, &kind.row().look));
        let of_measurement = |measurement: &Measurement| {
            let Some(seen) = Seen::of_measurement(record, measurement) else {
                return measurement.faults.clone();
            };
            let found = looks().filter_map(|(kind, look)| {
                Some(fault(kind, (Look::of_measurement(look)?.find)(&seen)?))
            });
            with_found(&measurement.faults, found)
        };
        let of_search = |searched: &CapacitySearch| {
            let found = looks().filter_map(|(kind, look)| {
                Some(fault(kind, (Look::of_search(look)?.find)(searched, &record.header)?))
            });
            with_found(&searched.faults, found)
        };
        let trials = record.trials.iter().map(|trial| OfTrial {
            whole: faults_of_trial(trial),
            cells: trial.measurements.iter().map(of_measurement).collect(),
            capacities: trial.capacities.iter().map(of_search).collect(),
        });
        let mut trials: Vec<OfTrial> = trials.collect();
        for ((trial, measurement), found) in series::not_stationary(record) {
            trials[trial].cells[measurement].push(fault(FaultKind::NotStationary, found));
        }
        let tied = ties::tied_cells(record).into_iter();
        Faults {
            trials,
            cells: tied.map(|(cell, found)| (cell, fault(FaultKind::AllTie, found))).collect(),
        }
    }

    /// Returns the record with all faults in it. A fault of a cell is added to each of the cell's
    /// measurements.
    pub fn within<'r>(&self, record: &'r Record) -> Cow<'r, Record> {
        let has_more = |(trial, of): (&Trial, &OfTrial)| {
            of.whole.len() > trial.faults.len()
                || trial
                    .measurements
                    .iter()
                    .zip(&of.cells)
                    .any(|(m, found)| found.len() > m.faults.len())
                || trial
                    .capacities
                    .iter()
                    .zip(&of.capacities)
                    .any(|(c, found)| found.len() > c.faults.len())
        };
        if self.cells.is_empty() && !record.trials.iter().zip(&self.trials).any(has_more) {
            return Cow::Borrowed(record);
        }
        let mut record = record.clone();
        for (trial, of) in record.trials.iter_mut().zip(&self.trials) {
            trial.faults.clone_from(&of.whole);
            for (searched, found) in trial.capacities.iter_mut().zip(&of.capacities) {
                searched.faults.clone_from(found);
            }
            for (measurement, found) in trial.measurements.iter_mut().zip(&of.cells) {
                let of_cell = self
                    .cells
                    .iter()
                    .filter(|(cell, _)| *cell == measurement.cell)
                    .map(|(_, fault)| fault.clone());
                measurement.faults = found.iter().cloned().chain(of_cell).collect();
            }
        }
        Cow::Owned(record)
    }

    /// Lists all faults with their places, in the order of the record.
    pub fn list(&self, record: &Record) -> Vec<FaultAt> {
        let at = |place: String, fault: &Fault| FaultAt {
            place,
            kind: fault.kind.clone(),
            evidence: fault.evidence.clone(),
            hint: fault.hint.clone(),
        };
        let mut all: Vec<FaultAt> = self
            .cells
            .iter()
            .map(|(cell, fault)| at(format!("all blocks, cell {cell}"), fault))
            .collect();
        for (trial, of) in record.trials.iter().zip(&self.trials) {
            let place = format!("block {}, {}", trial.block, trial.contender);
            all.extend(of.whole.iter().map(|fault| at(place.clone(), fault)));
            let of_cells = trial.cell_faults.iter();
            all.extend(of_cells.map(|of| at(format!("{place}, cell {}", of.cell), &of.fault)));
            let measured = trial.measurements.iter().map(|m| &m.cell).zip(&of.cells);
            for (cell, found) in
                measured.chain(trial.capacities.iter().map(|c| &c.cell).zip(&of.capacities))
            {
                all.extend(found.iter().map(|fault| at(format!("{place}, cell {cell}"), fault)));
            }
        }
        all
    }
}

/// Returns the faults of a whole trial, without those of its measurements.
pub fn faults_of_trial(trial: &Trial) -> Vec<Fault> {
    let at_start = surroundings::start_steal(trial).map(|found| (FaultKind::StartSteal, found));
    let found = at_start
        .or_else(|| surroundings::steal_of_trial(trial).map(|found| (FaultKind::Steal, found)));
    with_found(&trial.faults, found.map(|(kind, found)| fault(kind, found)))
}

/// Adds computed faults to recorded ones. An older record may hold a kind that is computed now;
/// such a kind is listed once.
fn with_found(recorded: &[Fault], found: impl IntoIterator<Item = Fault>) -> Vec<Fault> {
    let is_new = |fault: &Fault| !recorded.iter().any(|known| known.kind == fault.kind);
    recorded.iter().cloned().chain(found.into_iter().filter(is_new)).collect()
}

fn fault(kind: FaultKind, found: Found) -> Fault {
    Fault { kind: kind.row().name.into(), evidence: found.evidence, hint: found.hint }
}
