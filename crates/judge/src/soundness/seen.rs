//! What a check looks at, and what it returns.
//!
//! A check is a function from [`Seen`], one measurement with the plan that it belongs to, to
//! [`Found`]. It does not name its kind: the row that lists the check in `kinds.rs` does. So the
//! files of the checks do not depend on the table.

use record::{Circumstances, Measurement, Record};
use spec::experiment::{Cell, CpuSets, Experiment};

/// One measurement, with the plan that it belongs to.
pub(super) struct Seen<'a> {
    pub measurement: &'a Measurement,
    pub cell: &'a Cell,
    pub experiment: &'a Experiment,
    pub cpus: &'a CpuSets,
}

impl<'a> Seen<'a> {
    /// Finds the cell of a measurement. Returns `None` if the experiment has no such cell.
    pub fn of_measurement(record: &'a Record, measurement: &'a Measurement) -> Option<Seen<'a>> {
        let experiment = &record.header.experiment;
        let cell = experiment.cells.iter().find(|c| c.name == measurement.cell)?;
        Some(Seen { measurement, cell, experiment, cpus: &record.header.cpus })
    }

    /// The readings of the machine during the measurement. Older records have none.
    pub fn circumstances(&self) -> Option<&'a Circumstances> {
        self.measurement.circumstances.as_ref()
    }

    /// Returns whether contenders alternated in slices, so that all of them met the same
    /// disturbances.
    pub fn is_sliced(&self) -> bool {
        self.measurement.slices.is_some()
    }

    /// Returns whether agents made the load instead of this process.
    pub fn is_by_agents(&self) -> bool {
        !self.measurement.generator.agents.is_empty()
    }
}

/// What a check found: the readings that show it, and what to do about it.
pub(super) struct Found {
    pub evidence: String,
    pub hint: String,
}

/// Makes the result of a check that found something.
pub(super) fn found(evidence: String, hint: &str) -> Option<Found> {
    Some(Found { evidence, hint: hint.into() })
}
