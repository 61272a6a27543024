//! Curves of a judgement: latency by quantile, metrics over levels, capacities, and factors.
//!
//! They illustrate. Verdicts decide, and are in `verdict.rs`.

use super::Outcome;
use serde::{Deserialize, Serialize};
use spec::metric::Metric;
use spec::name::ContenderName;
use stats::Interval;

/// Latency by quantile, pooled over the used trials of a contender in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curve {
    /// The cell.
    pub cell: String,
    /// The contender.
    pub contender: ContenderName,
    /// Quantiles with milliseconds. No quantile is beyond what the samples support.
    pub points: Vec<(f64, f64)>,
    /// The number of samples.
    pub samples: u64,
}

/// A metric over the levels of a swept parameter, with everything else fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCurves {
    /// What its cells have in common: `uppercase, size 128`.
    pub of: String,
    /// The swept parameter: `connections`, `rate`, or a parameter of the workload.
    pub parameter: String,
    /// The metric.
    pub metric: Metric,
    /// The confidence of each interval by itself.
    pub confidence: f64,
    /// One line for each contender, the baseline first.
    pub lines: Vec<SweepLine>,
    /// Levels at which lines cross with certainty.
    pub crossings: Vec<Crossing>,
    /// For each contender, the last repetition compared with the first, if cells are measured in repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Repetitions>,
}

/// The line of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepLine {
    /// The contender.
    pub contender: ContenderName,
    /// Its points, with rising levels. A level without a value has no point.
    pub points: Vec<SweepPoint>,
}

/// A value at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPoint {
    /// The cell.
    pub cell: String,
    /// Its level.
    pub level: f64,
    /// The value of the typical trial, in the metric's unit. It is the geometric mean over blocks,
    /// or the mean if the metric may be zero.
    pub value: f64,
    /// The t interval over blocks; `None` with fewer than two.
    pub interval: Option<Interval>,
    /// The number of used blocks.
    pub used: usize,
}

/// A level at which another contender becomes better, according to verdicts on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crossing {
    /// The contender that is better at lower levels.
    pub below: ContenderName,
    /// The contender that is better at higher levels.
    pub above: ContenderName,
    /// The level, from a straight line through the ratios between logarithms.
    pub level: f64,
    /// The same level, rounded to its certainty.
    pub about: f64,
    /// The judged levels on both sides.
    pub between: (f64, f64),
    /// The crossing, in a sentence.
    pub sentence: String,
}

/// The last repetition of a contender in a cell compared with its first, within the same starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repetitions {
    /// The contender.
    pub contender: ContenderName,
    /// The number of the last repetition.
    pub last: f64,
    /// Whether the last repetition is better than, worse than or equivalent to the first.
    pub outcome: Outcome,
    /// Last over first; `None` if there is no ratio.
    pub ratio: Option<f64>,
    /// The interval that decides the outcome.
    pub interval: Option<Interval>,
    /// Last minus first, for a metric that can be zero.
    pub difference: Option<f64>,
    /// The number of used blocks.
    pub used: usize,
    /// The result, in a sentence.
    pub sentence: String,
}

/// The capacities of a cell, as curves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityCurves {
    /// The cell.
    pub cell: String,
    /// The unit of its levels: `users`, `requests per second`.
    pub unit: String,
    /// The service level that had to hold.
    pub service_level: String,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// One line for each contender, the baseline first.
    pub lines: Vec<CapacityLine>,
}

/// The capacity of a contender in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityLine {
    /// The contender.
    pub contender: ContenderName,
    /// The capacity of the typical trial; `None` if no trial has one.
    pub value: Option<f64>,
    /// Its t interval over blocks.
    pub interval: Option<Interval>,
    /// The number of trials with a capacity and no faults.
    pub used: usize,
    /// The number of trials that searched for it.
    pub searched: usize,
    /// Levels with the share of probes at which the service level holds, over all trials. Lines
    /// connect these points.
    pub curve: Vec<(f64, f64)>,
    /// All usable probes.
    pub probes: Vec<CapacityProbe>,
    /// The number of probes that are unusable, or that later ones contradict.
    pub left_out: usize,
    /// How often the contender had to be restarted.
    pub restarts: usize,
    /// Why searches ended early, and what was wrong with the contender's end if it had to be
    /// restarted.
    pub warnings: Vec<String>,
}

/// A probe of a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityProbe {
    /// The block of the trial.
    pub block: u32,
    /// The level: users, or requests per second.
    pub level: f64,
    /// Whether the service level held.
    pub kept: bool,
}

/// The effect of each factor on a metric, separate from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// The mean of all starts, in the metric's unit.
    pub mean: f64,
    /// The confidence of each interval by itself.
    pub confidence: f64,
    /// One effect for each factor, in the order of the experiment; then those of pairs whose
    /// effects certainly do not just add up.
    pub effects: Vec<Effect>,
    /// Why there are no effects; otherwise empty.
    pub reason: String,
    /// The number of used starts.
    pub used: usize,
    /// The number of excluded starts.
    pub excluded: usize,
}

/// The effect of a factor, or how the effect of one factor changes with another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// The factor, or the two of a pair.
    pub factors: Vec<String>,
    /// The mean with the factor minus the mean without it, in the metric's unit. For a pair, half
    /// of the change in the one effect when the other factor is on.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Holm's p-value among all factors of this metric, or among all pairs; `None` in judgements
    /// from before it was stored.
    pub p_adjusted: Option<f64>,
}

impl Effect {
    /// Returns whether it is the effect of a pair.
    pub fn is_pair(&self) -> bool {
        self.factors.len() > 1
    }
}
