//! A metric over the records of one experiment: the judge fills it in, the report shows it.

use crate::judgement::Verdict;
use crate::metric::Metric;
use crate::name::ContenderName;
use crate::record::Machine;

/// What one record gives to a history.
#[derive(Clone, Copy, Debug)]
pub struct Chapter<'a> {
    /// Names the record.
    pub record: &'a str,
    /// When its run began, RFC 3339, UTC.
    pub recorded_at: &'a str,
    /// Where.
    pub machine: &'a Machine,
    /// What it came to.
    pub verdicts: &'a [Verdict],
}

/// A metric of a contender in a cell, over the records that have it, oldest first.
#[derive(Clone, Debug)]
pub struct History {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// Who.
    pub contender: ContenderName,
    /// With whom it was compared.
    pub baseline: ContenderName,
    /// By what.
    pub metric: Metric,
    /// One a record.
    pub points: Vec<Point>,
    /// Where the ratio to the baseline changed, or the difference where a metric is compared by difference.
    pub compared: Vec<Turn>,
    /// Where the contender's own values changed.
    pub values: Vec<Turn>,
    /// Where the baseline's changed.
    pub baseline_values: Vec<Turn>,
}

/// What a record says of a metric.
#[derive(Clone, Debug)]
pub struct Point {
    /// Names the record.
    pub record: String,
    /// When its run began, RFC 3339, UTC.
    pub recorded_at: String,
    /// Whether the machine is another than that of the point before.
    pub is_elsewhere: bool,
    /// What is said.
    pub verdict: Verdict,
}

/// Where a series begins to keep another level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// The first point of the new level.
    pub at: usize,
    /// The typical value before, since the turn before: the median.
    pub before: f64,
    /// The typical value from there to the next.
    pub after: f64,
    /// How often chance alone would show as great a change.
    pub p: f64,
}
