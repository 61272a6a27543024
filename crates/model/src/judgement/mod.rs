//! What a record comes to: the judge fills it in, the report shows it.

mod curves;
mod verdict;

pub use curves::{
    CapacityCurves, CapacityLine, CapacityProbe, Crossing, Curve, Effect, Effects, SweepCurves, SweepLine, SweepPoint, Turns,
};
pub use verdict::{ClaimCell, ClaimOutcome, ClaimVerdict, Outcome, RatioUnit, Verdict, show_confidence};

use crate::audit::Audit;
use crate::experiment::FEWEST_BLOCKS;
use crate::metric::Metric;
use crate::name::ContenderName;
use crate::problem::Problems;
use crate::record::WarmUpClass;
use crate::soundness::Check;
use crate::witness::{Driver, Truth};
use serde::{Deserialize, Serialize};
use stats::Interval;
use std::path::Path;

/// Names the form of a judgement.
pub const SCHEMA: &str = "faceoff.judgement.v1";

/// What a record comes to.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// How many blocks it began.
    #[serde(default)]
    pub blocks: u32,
    /// Whether it was the quick form.
    #[serde(default)]
    pub quick: bool,
    /// Who is compared with whom.
    pub baseline: ContenderName,
    /// Per cell, contender and metric; metrics of a start have no cell.
    pub verdicts: Vec<Verdict>,
    /// The experiment's claims.
    pub claims: Vec<ClaimVerdict>,
    /// Trials that were left out, and why.
    pub excluded: Vec<Excluded>,
    /// Who did not keep what it acknowledged, or kept it twice: no verdict is passed on it.
    #[serde(default)]
    pub disqualified: Vec<Disqualified>,
    /// Everything that makes something unfit to judge from, with where it was.
    pub faults: Vec<FaultAt>,
    /// The checks that find them, also those that found none.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Measurements that were made again, as the hypervisor took too much of the first ones.
    #[serde(default)]
    pub made_again: u32,
    /// One per cell and contender: what a load tester's table shows.
    pub rows: Vec<Row>,
    /// What the database used, where there was one of ours: one per cell and contender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseUse>,
    /// What of the loads that were asked for this machine, or the time, could not offer: sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<String>,
    /// One latency curve per cell and contender.
    pub curves: Vec<Curve>,
    /// Every metric over the levels of every swept parameter.
    #[serde(default)]
    pub sweeps: Vec<SweepCurves>,
    /// The capacities that were looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityCurves>,
    /// What other generators reported, beside ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Witnesses>,
    /// What each factor does, where factors are crossed.
    #[serde(default)]
    pub effects: Vec<Effects>,
    /// Time from start to first right answer, a contender.
    pub starts: Vec<StartUp>,
    /// How each contender came to its steady state.
    pub warmups: Vec<WarmUp>,
    /// The looks that were planned, and what each allows.
    pub looks: Vec<PlannedLook>,
    /// How far the baseline stands from itself, where the experiment asked (`aa = true`).
    pub noise: Vec<Noise>,
    /// Causes that the shape of the data gives away.
    pub symptoms: Vec<Symptom>,
    /// What the tables of the article come to, where the experiment names one.
    #[serde(default)]
    pub audit: Option<Audit>,
    /// Whether faults left nothing to rank.
    pub unsound: bool,
    /// Whether a contender or a trial failed.
    pub incomplete: bool,
}

impl Judgement {
    /// Whether faults leave something that was asked with fewer blocks than a verdict needs: a claim that is still open or, where
    /// nothing is claimed, any verdict.
    pub fn needs_spare_blocks(&self) -> bool {
        let is_short = |verdict: &Verdict| verdict.spoilt > 0 && verdict.used < FEWEST_BLOCKS as usize;
        if self.claims.is_empty() {
            return self.verdicts.iter().any(is_short);
        }
        let mut open = self.claims.iter().filter(|claim| claim.outcome == ClaimOutcome::Undecided);
        open.any(|claim| claim.cells.iter().any(|cell| is_short(&cell.verdict)))
    }
}

/// What of a judgement the document of the articles' claims rests on. A file of a whole judgement is one of these as well.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Whom claims compare with.
    pub baseline: ContenderName,
    /// The experiment's claims.
    pub claims: Vec<ClaimVerdict>,
    /// What each factor does.
    #[serde(default)]
    pub effects: Vec<Effects>,
}

impl From<Judgement> for Evidence {
    fn from(judgement: Judgement) -> Evidence {
        let Judgement { schema, record, experiment, recorded_at, blocks, quick, baseline, claims, effects, .. } = judgement;
        Evidence { schema, record, experiment, recorded_at, blocks, quick, baseline, claims, effects }
    }
}

impl Evidence {
    /// Reads it from a file.
    ///
    /// # Errors
    /// A file that cannot be read or is no judgement, also one that was made before all that is needed stood there.
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
pub struct Excluded {
    /// Who.
    pub contender: ContenderName,
    /// Its block.
    pub block: u32,
    /// Why.
    pub reason: String,
}

/// A contender whose data are not what it answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disqualified {
    /// Who.
    pub contender: ContenderName,
    /// What was found, and where first.
    pub reason: String,
}

/// A fault with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultAt {
    /// `block 3, nginx, cell closed-64`.
    pub place: String,
    /// Its kind.
    pub kind: String,
    /// What was seen.
    pub evidence: String,
    /// What to do.
    pub hint: String,
}

/// The columns of a load tester's summary table, over all used trials of a contender in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The cell.
    pub cell: String,
    /// Who.
    pub contender: ContenderName,
    /// Right answers.
    pub samples: u64,
    /// Population standard deviation of latency.
    pub deviation_ms: f64,
    /// Right answers per second: mean over trials.
    pub throughput_per_s: f64,
    /// Mean latency.
    pub average_ms: f64,
    /// Shortest latency.
    pub min_ms: f64,
    /// Median; `None` from too few samples.
    pub p50_ms: Option<f64>,
    /// 95th percentile; `None` from too few samples.
    pub p95_ms: Option<f64>,
    /// 99th percentile; `None` from too few samples.
    pub p99_ms: Option<f64>,
    /// Longest latency.
    pub max_ms: f64,
    /// Thousands of bytes of right answers per second, heads included.
    pub received_kb_per_s: f64,
    /// Bytes of a right answer, head included.
    pub average_bytes: f64,
    /// Share of one CPU, mean over trials.
    pub cpu_percent: f64,
    /// CPU time per right answer.
    pub cpu_us_per_request: Option<f64>,
    /// Most threads in any trial.
    pub threads: u64,
    /// Greatest resident memory in any trial, in millions of bytes.
    pub memory_mb: f64,
    /// Requests that got no right answer, by kind; zeros left out.
    pub errors: Vec<(String, u64)>,
}

/// What the database used in a cell, over the used trials of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseUse {
    /// The cell.
    pub cell: String,
    /// Who used it.
    pub contender: ContenderName,
    /// Share of one CPU, mean over trials.
    pub cpu_percent: f64,
    /// CPU time per right answer of the contender.
    pub cpu_us_per_request: Option<f64>,
    /// Greatest memory in any trial, in millions of bytes, what is shared counted once.
    pub memory_mb: f64,
    /// Most processes in any trial.
    pub processes: u64,
}

/// What several generators say of one load on one contender. Each reports in its own way: they are to be looked at, and nobody is ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Witnesses {
    /// Who was loaded.
    pub contender: ContenderName,
    /// `closed loop, 32 connections`
    pub load: String,
    /// What was asked.
    pub workload: String,
    /// What is known.
    pub truth: Option<Truth>,
    /// One a generator, in the order of the experiment's cells.
    pub lines: Vec<WitnessLine>,
}

/// What one generator says, as the median over trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WitnessLine {
    /// The cell.
    pub cell: String,
    /// Which; `None`: ours.
    pub driver: Option<Driver>,
    /// Trials that tell of it.
    pub used: usize,
    /// Trials that do not, as the hypervisor took too much meanwhile.
    pub robbed: usize,
    /// The rate that it reached, by its own account.
    pub rate_per_s: Option<f64>,
    /// The median latency that it reports.
    pub p50_ms: Option<f64>,
    /// The 99th percentile that it reports.
    pub p99_ms: Option<f64>,
    /// The requests that it calls failed, as a share in per cent.
    pub failed_percent: Option<f64>,
    /// CPU time that it used itself, for each request.
    pub cpu_us_per_request: Option<f64>,
    /// The most memory that it held; of ours all that the process holds at the end, in which the lab, the sampler and the record live as well.
    pub memory_mb: Option<f64>,
    /// What it does otherwise than ours.
    pub differs: Vec<String>,
}

/// Time from the start of the process to its first right answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartUp {
    /// Who.
    pub contender: ContenderName,
    /// Median over trials.
    pub median_ms: f64,
    /// The shortest.
    pub min_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// A look at which the run may stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedLook {
    /// After so many blocks.
    pub blocks: u32,
    /// The confidence of better and worse there; 1 where nothing can be said yet.
    pub confidence: f64,
    /// The confidence of equivalent there.
    pub confidence_equivalence: f64,
    /// Whether the record has come so far.
    pub taken: bool,
}

/// The baseline against itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// By what.
    pub metric: Metric,
    /// The ratio.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// Standard deviation of the blocks' log-ratios: what one block is off by here, today.
    pub log_deviation: f64,
    /// How many seconds of measurement give the narrowest interval for the time that a run takes, from how much starts and seconds
    /// differed here (Kalibera and Jones 2013); `None` where the metric has no values by second or starts add nothing.
    #[serde(default)]
    pub best_seconds: Option<usize>,
}

/// How a contender came to its steady state, over its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// Who.
    pub contender: ContenderName,
    /// How many trials were of each class, none left out.
    pub classes: Vec<(WarmUpClass, usize)>,
    /// Seconds of load until the steady state; median over the trials that reached it.
    pub steady_after_s: Option<f64>,
    /// CPU time per right answer in the first second of load; median over trials.
    pub cold_cpu_us: Option<f64>,
    /// The same in the steady state.
    pub steady_cpu_us: Option<f64>,
    /// Longest latency in the first second of load; median over trials.
    pub cold_max_ms: Option<f64>,
}

/// A cause, found from the shape of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Symptom {
    /// A fixed word: `delayed-ack`, `pool-exhausted`.
    pub kind: String,
    /// Who shows it.
    pub contender: ContenderName,
    /// Where; `None` for the whole trial.
    pub cell: Option<String>,
    /// What was seen and what it points to, in a sentence.
    pub sentence: String,
    /// What to do about it.
    pub hint: String,
    /// What shows it.
    pub picture: Picture,
}

/// A small picture: lines or bars over one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// The horizontal axis, with its unit.
    pub x: String,
    /// The vertical axis, with its unit.
    pub y: String,
    /// Whether points are bars (each from its x to the next) or a line.
    pub bars: bool,
    /// Named series of points, rising in x.
    pub series: Vec<(String, Vec<(f64, f64)>)>,
    /// Places on the horizontal axis to point at, with words.
    pub marks: Vec<(f64, String)>,
}
