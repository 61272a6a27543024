//! The judgement of a record: verdicts, claims, faults and everything that the report shows.
//!
//! The judge fills in a [`Judgement`] and stores it next to the record. `verdict.rs` has
//! comparisons and claims, `causes.rs` where CPU time went, `costs.rs` what requests cost, and
//! `curves.rs` what is drawn. `ratio_text.rs` words ratios for people.

mod causes;
mod costs;
mod curves;
mod ratio_text;
mod verdict;

pub use causes::{
    CauseLine, Causes, Cost, CpuCauses, CpuDifference, FunctionCost, NamedCost, PausesPerBlock,
    SystemCallsPerRequest, WaitsDifference, WaitsPerRequest, slowest_calls,
};
pub use costs::{Costs, RequestCost};
pub use curves::{
    CapacityCurves, CapacityLine, CapacityProbe, Crossing, Curve, Effect, Effects, Repetitions,
    SweepCurves, SweepLine, SweepPoint,
};
pub use ratio_text::Phrase;
pub use verdict::{ClaimCell, ClaimOutcome, ClaimVerdict, Outcome, Verdict, show_confidence};

use crate::WarmUpClass;
use crate::audit::Audit;
use crate::soundness::Check;
use serde::{Deserialize, Serialize};
use spec::experiment::FEWEST_BLOCKS;
use spec::experiment::external_generator::{Driver, Truth};
use spec::metric::Metric;
use spec::name::ContenderName;
use spec::problem::Problems;
use stats::Interval;
use std::path::Path;

/// The name of the layout of a judgement.
pub const SCHEMA: &str = "faceoff.judgement.v1";

/// The judgement of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// [`SCHEMA`].
    pub schema: String,
    /// The record's id.
    pub record: String,
    /// The experiment's name.
    pub experiment: String,
    /// When the run began, RFC 3339, UTC.
    #[serde(default)]
    pub recorded_at: String,
    /// The number of blocks that it began.
    #[serde(default)]
    pub blocks: u32,
    /// Whether it was the quick form.
    #[serde(default)]
    pub quick: bool,
    /// The machine, in words; empty in older judgements.
    #[serde(default)]
    pub machine: String,
    /// The contender that the others are compared with.
    pub baseline: ContenderName,
    /// One verdict for each cell, contender and metric. Metrics of a start have no cell.
    pub verdicts: Vec<Verdict>,
    /// The verdicts on the experiment's claims.
    pub claims: Vec<ClaimVerdict>,
    /// Excluded trials, and why.
    pub excluded: Vec<Excluded>,
    /// Contenders that lost acknowledged data, or stored it twice. They get no verdict.
    #[serde(default)]
    pub disqualified: Vec<Disqualified>,
    /// All faults, with their places.
    pub faults: Vec<FaultAt>,
    /// The checks that find faults, including those that found none.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// The number of measurements that were repeated, because the hypervisor or other programs
    /// took the CPUs.
    #[serde(default)]
    pub made_again: u32,
    /// The table of a load tester: one row for each cell and contender.
    pub rows: Vec<Row>,
    /// What the database used, if the trials started one: one row for each cell and contender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseUse>,
    /// How this machine, or the available time, fell short of the requested loads, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<String>,
    /// One latency curve for each cell and contender.
    pub curves: Vec<Curve>,
    /// Every metric over the levels of every swept parameter.
    #[serde(default)]
    pub sweeps: Vec<SweepCurves>,
    /// The results of searches for a capacity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityCurves>,
    /// What other generators reported, compared with faceoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_generators: Vec<GeneratorComparison>,
    /// The effect of each factor, if factors are crossed.
    #[serde(default)]
    pub effects: Vec<Effects>,
    /// The time from start to first correct response, for each contender.
    pub starts: Vec<StartUp>,
    /// How each contender reached its steady state.
    pub warmups: Vec<WarmUp>,
    /// The planned looks, and the confidence that each allows.
    pub looks: Vec<PlannedLook>,
    /// The difference between the baseline and itself, if the experiment requested it
    /// (`aa = true`).
    pub noise: Vec<Noise>,
    /// Where CPU time went, for each cell that was profiled. They decide no verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Causes>,
    /// Causes that the shape of the data reveals.
    pub symptoms: Vec<Symptom>,
    /// What requests cost, if the command was given a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// The audit of the article's tables, if the experiment names one.
    #[serde(default)]
    pub audit: Option<Audit>,
    /// Whether faults left nothing to compare.
    pub unsound: bool,
    /// Whether a contender or a trial failed.
    pub incomplete: bool,
}

impl Judgement {
    /// Returns whether a claim is open because fewer blocks than a verdict needs have a value that
    /// no fault invalidates. Without claims, any open verdict counts that faults left short.
    pub fn needs_spare_blocks(&self) -> bool {
        let is_short = |verdict: &Verdict| verdict.used < FEWEST_BLOCKS as usize;
        if self.claims.is_empty() {
            return self.verdicts.iter().any(|v| is_short(v) && v.invalidated > 0);
        }
        // What has no value in any block will have none in another.
        let can_be_more = |v: &Verdict| v.invalidated > 0 || (v.used > 0 && v.excluded > 0);
        let mut open = self.claims.iter().filter(|claim| claim.outcome == ClaimOutcome::Undecided);
        open.any(|claim| {
            claim.cells.iter().any(|c| is_short(&c.verdict) && can_be_more(&c.verdict))
        })
    }
}

/// The part of a judgement that the document of the articles' claims needs. A file of a whole
/// judgement can be read as one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// [`SCHEMA`].
    pub schema: String,
    /// The record's id.
    pub record: String,
    /// The experiment's name.
    pub experiment: String,
    /// When the run began, RFC 3339, UTC.
    pub recorded_at: String,
    /// How many blocks it began.
    pub blocks: u32,
    /// Whether it was the quick form.
    pub quick: bool,
    /// The machine, in words; empty in older judgements.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// The contender that claims compare with.
    pub baseline: ContenderName,
    /// The experiment's claims.
    pub claims: Vec<ClaimVerdict>,
    /// The effect of each factor.
    #[serde(default)]
    pub effects: Vec<Effects>,
    /// How each contender reached its steady state; empty in older files.
    #[serde(default)]
    pub warmups: Vec<WarmUp>,
}

impl From<Judgement> for Evidence {
    fn from(judgement: Judgement) -> Evidence {
        let Judgement {
            schema,
            record,
            experiment,
            recorded_at,
            blocks,
            quick,
            machine,
            baseline,
            claims,
            effects,
            warmups,
            ..
        } = judgement;
        Evidence {
            schema,
            record,
            experiment,
            recorded_at,
            blocks,
            quick,
            machine,
            baseline,
            claims,
            effects,
            warmups,
        }
    }
}

impl Evidence {
    /// Reads it from a file.
    ///
    /// # Errors
    /// A file that cannot be read or is not a judgement, or that is too old to have all fields.
    pub fn read(path: &Path) -> Result<Evidence, Problems> {
        let wrong = |why: String| {
            Problems::plain(
                format!("{} is not a judgement: {why}", path.display()),
                "name the folder of a record, or a file of what `faceoff judge --format json` prints of one",
            )
        };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let evidence: Evidence = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        match evidence.schema == SCHEMA {
            true => Ok(evidence),
            false => Err(wrong(format!("its schema is {}, not {SCHEMA}", evidence.schema))),
        }
    }
}

/// A trial that no verdict uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Excluded {
    /// The contender.
    pub contender: ContenderName,
    /// Its block.
    pub block: u32,
    /// The reason.
    pub reason: String,
}

/// A contender whose stored data contradicts its responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disqualified {
    /// The contender.
    pub contender: ContenderName,
    /// What was found, and where first.
    pub reason: String,
}

/// A fault with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultAt {
    /// `block 3, nginx, cell closed-64`.
    pub place: String,
    /// Its kind.
    pub kind: String,
    /// The evidence.
    pub evidence: String,
    /// What to do.
    pub hint: String,
}

/// The columns of a load tester's summary table, over all used trials of a contender in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The cell.
    pub cell: String,
    /// The contender.
    pub contender: ContenderName,
    /// The number of correct responses.
    pub samples: u64,
    /// Population standard deviation of latency.
    pub standard_deviation_ms: f64,
    /// Correct responses per second: the mean over trials.
    pub throughput_per_s: f64,
    /// Mean latency.
    pub average_ms: f64,
    /// Minimum latency.
    pub min_ms: f64,
    /// Median; `None` with too few samples.
    pub p50_ms: Option<f64>,
    /// 95th percentile; `None` with too few samples.
    pub p95_ms: Option<f64>,
    /// 99th percentile; `None` with too few samples.
    pub p99_ms: Option<f64>,
    /// Maximum latency.
    pub max_ms: f64,
    /// Thousands of bytes of correct responses per second, including heads.
    pub received_kb_per_s: f64,
    /// Bytes of a correct response, including its head.
    pub average_bytes: f64,
    /// Share of one CPU, mean over trials.
    pub cpu_percent: f64,
    /// CPU time per correct response.
    pub cpu_us_per_request: Option<f64>,
    /// The most threads in any trial.
    pub threads: u64,
    /// Maximum resident memory in any trial, in millions of bytes.
    pub memory_mb: f64,
    /// Requests without a correct response, by kind, without zeros.
    pub errors: Vec<(String, u64)>,
}

/// What the database used in a cell, over the used trials of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DatabaseUse {
    /// The cell.
    pub cell: String,
    /// The contender.
    pub contender: ContenderName,
    /// Share of one CPU, mean over trials.
    pub cpu_percent: f64,
    /// CPU time per correct response of the contender.
    pub cpu_us_per_request: Option<f64>,
    /// Maximum memory in any trial, in millions of bytes, with shared memory counted once.
    pub memory_mb: f64,
    /// The most processes in any trial.
    pub processes: u64,
}

/// What several generators reported about one load on one contender. Each counts in its own way, so
/// they are not ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorComparison {
    /// The contender.
    pub contender: ContenderName,
    /// `closed loop, 32 connections`
    pub load: String,
    /// The workload.
    pub workload: String,
    /// The known results.
    pub truth: Option<Truth>,
    /// One line for each generator, in the order of the experiment's cells.
    pub lines: Vec<GeneratorLine>,
}

/// What one generator reported, as the median over trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorLine {
    /// The cell.
    pub cell: String,
    /// The generator; `None` for faceoff.
    pub driver: Option<Driver>,
    /// The number of used trials.
    pub used: usize,
    /// The number of trials that were excluded because of CPU steal.
    pub stolen: usize,
    /// The rate that it reached, as it reports it.
    pub rate_per_s: Option<f64>,
    /// The median latency that it reports.
    pub p50_ms: Option<f64>,
    /// The 99th percentile that it reports.
    pub p99_ms: Option<f64>,
    /// The requests that it reports as failed, in percent.
    pub failed_percent: Option<f64>,
    /// CPU time that it used for each request.
    pub cpu_us_per_request: Option<f64>,
    /// The most memory that it used. For faceoff, the memory of the whole process at the end, which
    /// includes the lab, the sampler and the record.
    pub memory_mb: Option<f64>,
    /// How its load differs from faceoff's.
    pub differs: Vec<String>,
}

/// The time from the start of the process to its first correct response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartUp {
    /// The contender.
    pub contender: ContenderName,
    /// The median over trials.
    pub median_ms: f64,
    /// The minimum.
    pub min_ms: f64,
    /// The maximum.
    pub max_ms: f64,
}

/// An interim analysis, at which the run may stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedLook {
    /// After this number of blocks.
    pub blocks: u32,
    /// The confidence of better and worse there; 1 if nothing can be decided yet.
    pub confidence: f64,
    /// The confidence of equivalent there.
    pub confidence_equivalence: f64,
    /// Whether the record has that number of blocks.
    pub taken: bool,
}

/// The baseline compared with itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// The ratio.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// The standard deviation of the blocks' log-ratios: the typical error of one block here and
    /// now.
    pub log_deviation: f64,
    /// How many seconds of measurement give the narrowest interval for the time that a run takes.
    /// It follows from how much starts and seconds varied here (Kalibera and Jones 2013). `None` if
    /// the metric has no values by second, or if starts add no variation.
    #[serde(default)]
    pub best_seconds: Option<usize>,
}

/// How a contender reached its steady state, over its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// The contender.
    pub contender: ContenderName,
    /// The number of trials of each kind; kinds without trials are included.
    pub classes: Vec<(WarmUpClass, usize)>,
    /// Seconds of load until the steady state: the median over the trials that reached it.
    pub steady_after_s: Option<f64>,
    /// CPU time per correct response in the first second of load: the median over trials.
    pub cold_cpu_us: Option<f64>,
    /// The same in the steady state.
    pub steady_cpu_us: Option<f64>,
    /// Maximum latency in the first second of load: the median over trials.
    pub cold_max_ms: Option<f64>,
}

impl WarmUp {
    /// The number of trials.
    pub fn starts(&self) -> usize {
        self.classes.iter().map(|(_, count)| count).sum()
    }

    /// The number of trials of one kind.
    pub fn count(&self, class: WarmUpClass) -> usize {
        self.classes.iter().filter(|(c, _)| *c == class).map(|(_, count)| count).sum()
    }

    /// Whether most trials ended their warm-up without a steady state.
    pub fn is_mostly_unsteady(&self) -> bool {
        2 * self.count(WarmUpClass::NeverSteady) > self.starts()
    }
}

/// A cause that the shape of the data reveals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Symptom {
    /// The kind, a fixed word: `delayed-ack`, `pool-exhausted`.
    pub kind: String,
    /// The contender.
    pub contender: ContenderName,
    /// The cell; `None` for the whole trial.
    pub cell: Option<String>,
    /// What was seen and what it points to, in a sentence.
    pub sentence: String,
    /// What to do about it.
    pub hint: String,
    /// The picture that shows it.
    pub picture: Picture,
}

/// A small picture: lines or bars over one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Picture {
    /// The title.
    pub title: String,
    /// The horizontal axis, with its unit.
    pub x: String,
    /// The vertical axis, with its unit.
    pub y: String,
    /// Whether points are bars (each from its x to the next) or a line.
    pub bars: bool,
    /// Named series of points, with rising x.
    pub series: Vec<(String, Vec<(f64, f64)>)>,
    /// Places on the horizontal axis with a label each.
    pub marks: Vec<(f64, String)>,
}
