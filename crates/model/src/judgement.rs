//! What a record comes to: the judge fills it in, the report shows it.

use crate::audit::Audit;
use crate::experiment::Claim;
use crate::metric::Metric;
use crate::name::ContenderName;
use crate::problem::Problems;
use crate::record::WarmUpClass;
use crate::soundness::Check;
use crate::units::show_number;
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

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Better than the baseline by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Within the margin.
    Equivalent,
    /// None of the three can be said.
    Undecided,
}

impl Outcome {
    /// As it stands in a judgement.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Equivalent => "equivalent",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A contender compared with the baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// Who.
    pub contender: ContenderName,
    /// With whom.
    pub baseline: ContenderName,
    /// By what.
    pub metric: Metric,
    /// What it comes to.
    pub outcome: Outcome,
    /// Why, when undecided; else empty.
    pub reason: String,
    /// Contender over baseline (geometric mean over blocks); `None` for a difference, or from too few blocks.
    pub ratio: Option<f64>,
    /// Its interval at [`Verdict::confidence`]: all that the next two hold.
    pub interval: Option<Interval>,
    /// The t interval of the paired log-ratios.
    pub interval_t: Option<Interval>,
    /// The hierarchical bootstrap's; `None` where it could not be made.
    pub interval_bootstrap: Option<Interval>,
    /// What this look allows: the design's confidence, or more where there were, or will be, other looks.
    pub confidence: f64,
    /// The exact sign-flip test's p-value of "no difference"; it decides nothing.
    pub sign_flip_p: Option<f64>,
    /// About how many blocks would settle it, when undecided; `None` where no number would.
    pub blocks_needed: Option<usize>,
    /// Its interval for equivalence, at twice the error.
    pub interval_equivalence: Option<Interval>,
    /// Contender minus baseline, in the metric's unit, for a metric compared by difference.
    pub difference: Option<f64>,
    /// Typical value of the contender, in the metric's unit.
    pub value: Option<f64>,
    /// Typical value of the baseline.
    pub baseline_value: Option<f64>,
    /// The margin.
    pub margin: f64,
    /// Blocks that were used.
    pub used: usize,
    /// Blocks of the record that were not.
    pub excluded: usize,
    /// Of these, those that a fault spoilt.
    pub spoilt: usize,
}

impl Verdict {
    /// Nothing compared: undecided, without a figure, a margin or a confidence.
    pub fn open(contender: ContenderName, baseline: ContenderName, metric: Metric) -> Verdict {
        Verdict {
            cell: None,
            contender,
            baseline,
            metric,
            outcome: Outcome::Undecided,
            reason: String::new(),
            ratio: None,
            interval: None,
            interval_t: None,
            interval_bootstrap: None,
            confidence: 0.0,
            sign_flip_p: None,
            blocks_needed: None,
            interval_equivalence: None,
            difference: None,
            value: None,
            baseline_value: None,
            margin: 0.0,
            used: 0,
            excluded: 0,
            spoilt: 0,
        }
    }

    /// Its ratio and the ends of its interval for people, in one unit; `None` where it has not both.
    pub fn ratio_shown(&self) -> Option<(RatioUnit, [String; 3])> {
        let (ratio, interval) = self.ratio.zip(self.interval)?;
        let unit = RatioUnit::of(&[ratio, interval.high]);
        Some((unit, [ratio, interval.low, interval.high].map(|r| unit.show(r))))
    }

    /// Whose the other figure is.
    fn whose(&self) -> &'static str {
        if self.contender == self.baseline { "its own at first" } else { "the baseline's" }
    }

    /// The verdict in a few words: `31 % of the baseline's (29 % to 33 %)`, `2.4 × the baseline's (2.1 × to 2.7 ×)`.
    pub fn phrase(&self) -> String {
        let Some((unit, [ratio, low, high])) = self.ratio_shown() else {
            return match self.difference.and(self.value.zip(self.baseline_value)) {
                Some((value, baseline)) => format!("{} % against {} {} %", show_number(value), self.whose(), show_number(baseline)),
                None => self.reason.clone(),
            };
        };
        format!("{ratio} {}{} ({low} to {high})", unit.preposition(), self.whose())
    }
}

/// How ratios that stand together are shown to people: all in per cent, or all as multiples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RatioUnit {
    /// `31 %`
    Percent,
    /// `2.4 ×`
    Times,
}

impl RatioUnit {
    /// Multiples as soon as one of them is one and a half.
    pub fn of(ratios: &[f64]) -> RatioUnit {
        if ratios.iter().any(|ratio| *ratio >= 1.5) { RatioUnit::Times } else { RatioUnit::Percent }
    }

    /// One of them.
    pub fn show(self, ratio: f64) -> String {
        match self {
            RatioUnit::Percent => format!("{} %", show_number(ratio * 100.0)),
            RatioUnit::Times => format!("{} ×", show_number(ratio)),
        }
    }

    /// What stands between a ratio and whose it is: `31 % of the baseline's`, `2.4 × the baseline's`.
    pub fn preposition(self) -> &'static str {
        match self {
            RatioUnit::Percent => "of ",
            RatioUnit::Times => "",
        }
    }
}

/// A confidence for people: `95 %`, `99.87 %`, as many digits as tell it from certainty.
pub fn show_confidence(confidence: f64) -> String {
    let error = (1.0 - confidence) * 100.0;
    if error.is_nan() || error <= 0.0 {
        return "100 %".into();
    }
    // Two digits of the error; thresholds beyond a billionth mean nothing.
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.decimals$}", 100.0 - error);
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// What a claim comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// It holds in every cell that it speaks of.
    Confirmed,
    /// It does not hold in at least one.
    Refuted,
    /// Neither can be said.
    Undecided,
}

impl ClaimOutcome {
    /// As it stands in a judgement.
    pub fn name(self) -> &'static str {
        match self {
            ClaimOutcome::Confirmed => "confirmed",
            ClaimOutcome::Refuted => "refuted",
            ClaimOutcome::Undecided => "undecided",
        }
    }
}

/// A claim and what it comes to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// The claim.
    pub claim: Claim,
    /// What it comes to.
    pub outcome: ClaimOutcome,
    /// In words, why.
    pub reason: String,
    /// The p-value of what it came to, scaled so that 1 minus the confidence is its threshold; `None` where nothing was tested.
    pub p: Option<f64>,
    /// The same with Holm's correction for all claims of the experiment.
    pub p_adjusted: Option<f64>,
    /// Cell by cell.
    pub cells: Vec<ClaimCell>,
}

/// A claim in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimCell {
    /// The cell; `start` for a metric of the start.
    pub cell: String,
    /// What it comes to there.
    pub outcome: ClaimOutcome,
    /// The verdict it rests on, with the claim's margin.
    pub verdict: Verdict,
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

/// Latency by quantile, pooled over the used trials of a contender in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// The cell.
    pub cell: String,
    /// Who.
    pub contender: ContenderName,
    /// Quantile and milliseconds, no quantile beyond what the samples support.
    pub points: Vec<(f64, f64)>,
    /// How many samples.
    pub samples: u64,
}

/// A metric over the levels of a swept parameter, all else held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepCurves {
    /// What its cells have in common: `uppercase, size 128`.
    pub of: String,
    /// What differs: `connections`, `rate`, or a parameter of the workload.
    pub parameter: String,
    /// What is shown.
    pub metric: Metric,
    /// Of the intervals, each by itself.
    pub confidence: f64,
    /// One a contender, the baseline first.
    pub lines: Vec<SweepLine>,
    /// Where lines cross, and it is sure that they do.
    pub crossings: Vec<Crossing>,
    /// What each contender's last turn comes to beside its first, where cells are measured in turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turns>,
}

/// The last turn of a contender in a cell beside its first, within the same starts, by the rule of every verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Who.
    pub contender: ContenderName,
    /// The last turn's number.
    pub last: f64,
    /// Better, worse, equivalent or undecided, the last beside the first.
    pub outcome: Outcome,
    /// Last over first; `None` where that is not told.
    pub ratio: Option<f64>,
    /// The interval that decides.
    pub interval: Option<Interval>,
    /// Last less first, of a metric that can be zero.
    pub difference: Option<f64>,
    /// Blocks used.
    pub used: usize,
    /// The same, for people.
    pub sentence: String,
}

/// The capacities of a cell, as curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityCurves {
    /// The cell.
    pub cell: String,
    /// Of its levels: `users`, `requests per second`.
    pub unit: String,
    /// What was to hold.
    pub service_level: String,
    /// Of the intervals.
    pub confidence: f64,
    /// One a contender, the baseline first.
    pub lines: Vec<CapacityLine>,
}

/// The capacity of a contender in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityLine {
    /// Who.
    pub contender: ContenderName,
    /// The typical trial's capacity; `None` where no trial has one.
    pub value: Option<f64>,
    /// Its t interval over blocks.
    pub interval: Option<Interval>,
    /// Trials with a capacity that nothing spoilt.
    pub used: usize,
    /// Trials in which it was looked for.
    pub searched: usize,
    /// Level, and share of probes that keep the service level there, over all trials: the points between which lines are drawn.
    pub curve: Vec<(f64, f64)>,
    /// All probes that say something.
    pub probes: Vec<CapacityProbe>,
    /// Probes that say nothing.
    pub left_out: usize,
    /// How often it had to be started again.
    pub restarts: usize,
    /// Why searches ended before their time.
    pub warnings: Vec<String>,
}

/// A probe of a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityProbe {
    /// The block of its trial.
    pub block: u32,
    /// So many users, or requests per second.
    pub level: f64,
    /// Whether the service level was kept.
    pub kept: bool,
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

/// What each factor does to a metric, apart from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// What is shown.
    pub metric: Metric,
    /// Mean of all starts, in the metric's unit.
    pub mean: f64,
    /// Of the intervals, each by itself.
    pub confidence: f64,
    /// One a factor, in the order of the experiment, then those of pairs that surely do not just add up.
    pub effects: Vec<Effect>,
    /// Why there are none; else empty.
    pub reason: String,
    /// Starts that were used.
    pub used: usize,
    /// Starts that were not.
    pub excluded: usize,
}

/// The effect of a factor, or how that of one changes with another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The factor, or the two of a pair.
    pub factors: Vec<String>,
    /// Mean with it less mean without it, in the metric's unit; of a pair, half of how much more the one adds where the other is there.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Holm's p-value among all pairs of this metric; `None` for a factor.
    pub p_adjusted: Option<f64>,
}

/// One contender's line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepLine {
    /// Who.
    pub contender: ContenderName,
    /// Rising in their level; a level without a value has none.
    pub points: Vec<SweepPoint>,
}

/// A value at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// The cell that was measured.
    pub cell: String,
    /// Its level.
    pub level: f64,
    /// Of the typical trial (geometric mean over blocks; mean, where the metric may be zero), in the metric's unit.
    pub value: f64,
    /// The t interval over blocks; `None` from fewer than two.
    pub interval: Option<Interval>,
    /// Blocks that were used.
    pub used: usize,
}

/// A place where who is better changes, which the verdicts on both sides have decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// Who is better at lower levels.
    pub below: ContenderName,
    /// Who is better at higher ones.
    pub above: ContenderName,
    /// Where, the line through the ratios being straight between logarithms.
    pub level: f64,
    /// The same, as exactly as it is known.
    pub about: f64,
    /// The levels on both sides that were judged.
    pub between: (f64, f64),
    /// In words.
    pub sentence: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_told_from_certainty() {
        let shown = [0.5, 0.9, 0.95, 0.975, 0.99866, 0.999_987, 1.0].map(show_confidence);
        assert_eq!(shown, ["50 %", "90 %", "95 %", "97.5 %", "99.87 %", "99.9987 %", "100 %"]);
    }
    #[test]
    fn ratios_that_stand_together_are_shown_in_one_unit() {
        let shown = |ratios: &[f64]| {
            let unit = RatioUnit::of(ratios);
            ratios.iter().map(|ratio| unit.show(*ratio)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(shown(&[0.31, 0.29, 1.2]), "31.0 %, 29.0 %, 120 %");
        assert_eq!(shown(&[1.2, 0.886, 1.64]), "1.20 ×, 0.886 ×, 1.64 ×");
    }
}
