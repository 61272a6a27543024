//! The first line of a record: what the run intended to do, with which contenders, and where.
//!
//! It has everything that is needed to read the other lines without the files of the project: the
//! experiment, the plan of trials, the contenders as they were built, and the machine. Start with
//! [`Header`].

use crate::selftest::SelfTest;
use serde::{Deserialize, Serialize};
use spec::article::Article;
use spec::experiment::{CpuSets, Experiment};
use spec::image::Image;
use spec::name::ContenderName;
use std::collections::BTreeMap;

/// The name of this layout of lines. A change that an older reader would misunderstand gets a new
/// number.
pub const SCHEMA: &str = "faceoff.record.v1";

/// What a run intended to do, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The name of the run.
    pub id: String,
    /// When the run began, RFC 3339, UTC.
    pub recorded_at: String,
    /// The version of faceoff.
    pub faceoff: String,
    /// The experiment as it was then. If the quick form was requested, it is already in that form.
    pub experiment: Experiment,
    /// Whether it was the quick form.
    pub quick: bool,
    /// The order of trials: for each block, contenders in the order of their trials. Spare blocks
    /// come last.
    pub plan: Vec<Vec<ContenderName>>,
    /// The contenders that take part, the baseline first.
    pub contenders: Vec<Participant>,
    /// The system that proxies forward to.
    pub upstream: Option<Participant>,
    /// The database. Its version and settings are in each trial.
    #[serde(default)]
    pub database: Option<Participant>,
    /// The contenders that do not take part, and why.
    pub skipped: Vec<Skipped>,
    /// Cells that are not measured, because their driver is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_cells: Vec<SkippedCell>,
    /// The machine.
    pub machine: Machine,
    /// The CPUs of each part of a trial.
    pub cpus: CpuSets,
    /// How contenders alternate.
    #[serde(default)]
    pub alternation: Alternation,
    /// The packages whose energy is read, such as `package-0`, or why none is. Empty in older
    /// records.
    #[serde(default)]
    pub energy: String,
    /// Whether the CPUs were kept from sleeping.
    #[serde(default)]
    pub kept_awake: bool,
    /// By workload: what was checked in the responses, and on which share of them.
    #[serde(default)]
    pub checks: BTreeMap<String, String>,
    /// The tables of the article that the question comes from.
    #[serde(default)]
    pub article: Option<Article>,
    /// The latest self-test on this machine, if it is not too old.
    #[serde(default)]
    pub instrument: Option<SelfTest>,
    /// What the command line changed in the experiment, as its words: `--blocks`, `3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

impl Header {
    /// Describes the machine in words: `AMD EPYC 7763, 8 CPUs, 4 of them for the contender`.
    pub fn machine_in_words(&self) -> String {
        let (all, contender) = (self.machine.cores, self.cpus.contender.len());
        let s = if all == 1 { "" } else { "s" };
        format!("{}, {all} CPU{s}, {contender} of them for the contender", self.machine.cpu)
    }
}

/// How the contenders of a block alternate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Alternation {
    /// All are started and warmed up, then the load alternates between them in slices.
    Slices,
    /// Contenders are started, measured and stopped one after the other.
    Trials {
        /// The reason; empty if the experiment did not ask for slices.
        reason: String,
    },
}

impl Default for Alternation {
    /// The value in records from before slices existed.
    fn default() -> Alternation {
        Alternation::Trials { reason: String::new() }
    }
}

impl Alternation {
    /// Describes it for people, with the reason.
    pub fn describe(&self) -> String {
        match self {
            Alternation::Slices => {
                "all are up, and the load of a cell alternates between them".into()
            }
            Alternation::Trials { reason } if reason.is_empty() => {
                "one contender after the other, as the experiment asks".into()
            }
            Alternation::Trials { reason } => format!("one contender after the other: {reason}"),
        }
    }
}

/// A system that takes part, as it was built.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Participant {
    /// System and variants.
    pub name: ContenderName,
    /// Its summary.
    pub summary: String,
    /// Its facts.
    pub facts: BTreeMap<String, String>,
    /// Versions of the tools it needs, as found.
    pub versions: BTreeMap<String, String>,
    /// What its build made.
    pub artifacts: Vec<Artifact>,
    /// What it starts from, if it starts in containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Its address, if it was already running and was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<String>,
}

/// A file that a build made, or a folder with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Artifact {
    /// The path, relative to the system's folder.
    pub path: String,
    /// The SHA-256, in hex. For a folder, it covers the names and digests of its content.
    pub sha256: String,
    /// Its size, in bytes.
    pub bytes: u64,
}

/// A contender that does not take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The contender.
    pub contender: ContenderName,
    /// The reason, with what to do.
    pub reason: String,
    /// Whether something failed; otherwise a required tool was missing.
    pub failed: bool,
}

/// A cell of the experiment that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedCell {
    /// The name of the cell.
    pub cell: String,
    /// The reason, with what to do.
    pub reason: String,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// The number of CPUs that this process may use.
    pub cores: usize,
    /// The memory, in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// The distribution.
    pub os: String,
    /// The frequency governor; `None` if it cannot be read.
    pub governor: Option<String>,
    /// Whether it reports to be a virtual machine.
    pub is_virtual: bool,
}
