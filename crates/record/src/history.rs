//! How a metric develops over the records of one experiment.
//!
//! The judge fills in a [`History`], with the points at which the level changed, and the report
//! draws it.

use crate::Machine;
use crate::judgement::Verdict;
use spec::metric::Metric;
use spec::name::ContenderName;

/// What one record contributes to a history.
#[derive(Clone, Copy, Debug)]
pub struct Chapter<'a> {
    /// The name of the record.
    pub record: &'a str,
    /// When its run began, RFC 3339, UTC.
    pub recorded_at: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// The verdicts of the record.
    pub verdicts: &'a [Verdict],
}

/// A metric of a contender in a cell, over the records that have it. The oldest comes first.
#[derive(Clone, Debug)]
pub struct History {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// The contender.
    pub contender: ContenderName,
    /// The contender that it was compared with.
    pub baseline: ContenderName,
    /// The metric.
    pub metric: Metric,
    /// One point for each record.
    pub points: Vec<Point>,
    /// Change points of the ratio to the baseline, or of the difference for a metric that is
    /// compared by difference.
    pub compared: Vec<ChangePoint>,
    /// Change points of the contender's own values.
    pub values: Vec<ChangePoint>,
    /// Change points of the baseline's values.
    pub baseline_values: Vec<ChangePoint>,
}

/// The value of a metric in one record.
#[derive(Clone, Debug)]
pub struct Point {
    /// The name of the record.
    pub record: String,
    /// When its run began, RFC 3339, UTC.
    pub recorded_at: String,
    /// Whether the machine differs from that of the previous point.
    pub is_elsewhere: bool,
    /// The verdict.
    pub verdict: Verdict,
}

/// A change point: where a series moves to another level and stays there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first point of the new level.
    pub at: usize,
    /// The median of the values since the previous change point.
    pub before: f64,
    /// The median of the values up to the next change point.
    pub after: f64,
    /// The probability that chance alone shows a change of this size.
    pub p: f64,
}
