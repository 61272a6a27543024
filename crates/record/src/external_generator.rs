//! What another load generator reported about a cell.
//!
//! Its figures are shown next to ours. Since faceoff measured none of them, they decide no verdict.

use crate::{Circumstances, Usage};
use serde::{Deserialize, Serialize};
use spec::article::Row;
use spec::experiment::external_generator::Driver;

/// What another generator reported about a cell's load, and what that cost it. faceoff measured
/// only the cost, so no verdict uses the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalReport {
    /// The cell's name.
    pub cell: String,
    /// The position within the trial, from 1.
    pub position: u32,
    /// The generator.
    pub driver: Driver,
    /// Its command-line arguments.
    pub arguments: Vec<String>,
    /// How its load differs from faceoff's load of the same description.
    pub differs: Vec<String>,
    /// The figures that it printed, in its own units and with its own errors.
    pub reported: Row,
    /// The resources of its process tree, from its start to its end.
    pub usage: Usage,
    /// What the machine did during its load.
    pub circumstances: Option<Circumstances>,
}

impl ExternalReport {
    /// Returns whether CPU steal was too high for its times to be valid.
    pub fn exceeds_steal_limit(&self) -> bool {
        self.circumstances.as_ref().is_some_and(Circumstances::exceeds_steal_limit)
    }

    /// Returns the CPU time that it used for each request, in microseconds.
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        let requests =
            self.reported.samples.as_ref().map(|figure| figure.value()).filter(|n| *n > 0.0)?;
        Some(self.usage.cpu_ns as f64 / 1e3 / requests)
    }

    /// Returns a quantile that it printed, in milliseconds.
    pub fn quantile_ms(&self, percent: f64) -> Option<f64> {
        let found = self.reported.latency.quantiles.iter().find(|(of, _)| *of == percent);
        found.map(|(_, figure)| figure.value() * 1e3)
    }
}
