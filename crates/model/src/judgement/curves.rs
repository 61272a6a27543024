//! What is drawn over something: quantiles, levels, factors. It is to be looked at; verdicts decide.

use super::Outcome;
use crate::metric::Metric;
use crate::name::ContenderName;
use serde::{Deserialize, Serialize};
use stats::Interval;

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
    /// Why searches ended before their time, and what was wrong with its end where it had to be started again.
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
    /// Holm's p-value among all factors of this metric, or among all pairs; `None` in judgements that were kept when factors had none.
    pub p_adjusted: Option<f64>,
}

impl Effect {
    /// Whether it is that of two factors together.
    pub fn is_pair(&self) -> bool {
        self.factors.len() > 1
    }
}
