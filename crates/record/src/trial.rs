//! A trial: one fresh start of one contender, from its start to its stop.
//!
//! The start is the unit of replication, so each trial has its own warm-up, measurements, failures
//! and readings of the host. Start with [`Trial`].

use crate::ExternalReport;
use crate::capacity::CapacitySearch;
use crate::database::DatabaseOfTrial;
use crate::fault::{CellFault, Fault};
use crate::measurement::Measurement;
use serde::{Deserialize, Serialize};
use spec::name::ContenderName;

/// The check of a contender's responses before anything is timed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answers {
    /// The contender.
    pub contender: ContenderName,
    /// Time from its start to the first correct response.
    pub ready_after_ns: Option<u64>,
    /// What went wrong; `None` if every response was correct.
    pub failure: Option<Failure>,
}

/// The upstream of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Upstream {
    /// The system.
    pub name: ContenderName,
    /// Time from its start to the first correct response.
    pub ready_after_ns: u64,
    /// The number of requests of its warm-up.
    pub warmed_with: u64,
    /// The course of its warm-up; `None` in older records.
    #[serde(default)]
    pub warmup: Option<Warmup>,
}

/// One fresh start of one contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// The contender.
    pub contender: ContenderName,
    /// Its block, from 1.
    pub block: u32,
    /// The position within the block, from 1.
    pub position: u32,
    /// When it started, RFC 3339, UTC.
    pub started_at: String,
    /// The command as it was run.
    pub command: Vec<String>,
    /// SHA-256 of each artifact when this trial began.
    pub artifact_sha256: Vec<String>,
    /// Time from its start to the first correct response; `None` if there was none, or if nothing
    /// was started.
    pub ready_after_ns: Option<u64>,
    /// Time from the request for further replicas until all had given a correct response; `None`
    /// with a single replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_out_after_ns: Option<u64>,
    /// The number of correct responses during warm-up.
    pub warmed_with: u64,
    /// The course of the warm-up; `None` in older records.
    #[serde(default)]
    pub warmup: Option<Warmup>,
    /// The cells, in the order in which they were measured.
    pub measurements: Vec<Measurement>,
    /// Measurements that were repeated, in order, because CPU steal was above
    /// [`STEAL_SHARE_MAX`](crate::STEAL_SHARE_MAX) or other programs used the CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stolen: Vec<Measurement>,
    /// Searches for the capacity of a cell, in order. These cells have no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacitySearch>,
    /// Cells whose load another generator made, in order. They have no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_reports: Vec<ExternalReport>,
    /// How it stopped.
    pub stop: Option<Stopped>,
    /// The contender's own failure, if any, which is a result.
    pub failure: Option<Failure>,
    /// Faults that only the lab could see. The judge finds the others in the readings.
    pub faults: Vec<Fault>,
    /// Faults of single cells, which were not measured. Older records hold these in `faults`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cell_faults: Vec<CellFault>,
    /// Readings of the host during the trial.
    pub host: Host,
    /// The database of this trial, and what was found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseOfTrial>,
    /// Pauses of a garbage collector according to the contender's own log, in order.
    #[serde(default)]
    pub pauses: Vec<Pause>,
}

impl Trial {
    /// Lists the faults of the whole trial, of cells that were not measured, and of measurements.
    pub fn all_faults(&self) -> impl Iterator<Item = &Fault> {
        let of_cells = self.cell_faults.iter().map(|of_cell| &of_cell.fault);
        let of_measurements = self.measurements.iter().flat_map(|m| &m.faults);
        self.faults.iter().chain(of_cells).chain(of_measurements)
    }
}

/// A period in which a garbage collector delayed requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CollectorPause"))]
pub struct Pause {
    /// When it began, counted from the start of the process.
    pub at_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// Its name in the log.
    pub kind: String,
}

/// How a fresh start reached its steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warmup {
    /// The kind of warm-up.
    pub class: WarmUpClass,
    /// When the last level began, counted from the start of the load; `None` if no level was
    /// reached.
    pub steady_after_ns: Option<u64>,
    /// The windows, second by second.
    pub windows: Vec<WarmUpWindow>,
}

/// The kind of a warm-up (after Barrett et al., OOPSLA 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WarmUpClass {
    /// It was equally fast from the first second.
    Flat,
    /// It became faster, then stayed at a level.
    WarmUp,
    /// Its last level is slower than an earlier one.
    Slowdown,
    /// It stayed at no level within its time.
    NeverSteady,
    /// It had too few seconds to decide.
    TooShort,
}

impl WarmUpClass {
    /// Returns its name in a record.
    pub fn name(self) -> &'static str {
        match self {
            WarmUpClass::Flat => "flat",
            WarmUpClass::WarmUp => "warm_up",
            WarmUpClass::Slowdown => "slowdown",
            WarmUpClass::NeverSteady => "never_steady",
            WarmUpClass::TooShort => "too_short",
        }
    }
}

/// The value in records from before the number of connections was written.
fn connections_once() -> u32 {
    8
}

/// A second of warm-up: load for its first part, then a pause in which compilers catch up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUpWindow {
    /// When it began, counted from the start of the load.
    pub at_ns: u64,
    /// How long the load lasted.
    pub load_ns: u64,
    /// The connections of the load.
    #[serde(default = "connections_once")]
    pub connections: u32,
    /// Correct responses.
    pub correct: u64,
    /// CPU time of the process tree over the whole window, its pause included.
    pub cpu_ns: u64,
    /// The length of the pause; zero in records from before it was stored.
    #[serde(default)]
    pub pause_ns: u64,
    /// CPU time in the pause alone, when the system has no request.
    #[serde(default)]
    pub pause_cpu_ns: u64,
    /// Median service time; `None` from too few samples.
    pub p50_ns: Option<u64>,
    /// Maximum service time; `None` without samples.
    pub max_ns: Option<u64>,
}

impl WarmUpWindow {
    /// Returns the CPUs that were used in the pause, without any request.
    pub fn unasked(&self) -> f64 {
        self.pause_cpu_ns as f64 / self.pause_ns.max(1) as f64
    }
}

/// How a process ended after it was requested to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// How long it took.
    pub after_ns: u64,
    /// `exit 0`, `exit 143`, `signal 9`.
    pub status: String,
    /// Whether it ended within its time limit, without being killed.
    pub clean: bool,
}

/// A system that failed to build, start, respond correctly, keep running or stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The stage: `start`, `reach`, `ready`, `scale-out`, `answers`, `warm-up`, `reset`, `measure`,
    /// `stop`.
    pub stage: String,
    /// What happened.
    pub cause: String,
    /// The last lines it wrote.
    pub log: Vec<String>,
}

/// Writes the last lines of a log, each on its own line below the message that they belong to.
pub fn log_lines(log: &[String]) -> String {
    log.iter().map(|line| format!("\n  | {line}")).collect()
}

/// What the host did during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// CPU steal as a share of all CPU time, over the whole trial.
    pub steal_share: f64,
    /// The same from the start to the first correct response; `None` in older records, and if there
    /// was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_steal_share: Option<f64>,
    /// Load average of the last minute when the trial began.
    pub load_average: f64,
}
