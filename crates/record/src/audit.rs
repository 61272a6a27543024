//! The result of auditing published tables: impossible or inconsistent figures.
//!
//! The judge fills in an [`Audit`], and the command and the report show it. [`Check`] lists what is
//! checked.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The layout of an audit written as JSON.
pub const SCHEMA: &str = "faceoff.audit.v1";

/// The audit of an article's tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audit {
    /// The name of the article.
    pub name: String,
    /// The title of the article.
    pub title: String,
    /// Where and when it was published.
    pub source: String,
    /// Its tables, in order.
    pub tables: Vec<TableAudit>,
}

/// The audit of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableAudit {
    /// Its title.
    pub title: String,
    /// How many rows it has.
    pub rows: usize,
    /// Impossible or inconsistent figures, in the order of the rows. A finding about a run that an
    /// earlier table has too is listed only once.
    pub findings: Vec<Finding>,
    /// The number of rows that were left out for that.
    pub repeated: usize,
    /// The number of rows with mostly failed requests. Such a row tells nothing about the service.
    #[serde(default)]
    pub failed: usize,
    /// Remarks about possible figures.
    pub notes: Vec<Note>,
}

/// An impossible or inconsistent figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The name of the row.
    pub row: String,
    /// What was checked.
    pub check: Check,
    /// The wording of the finding.
    pub wording: Wording,
    /// The arithmetic, in a sentence.
    pub what: String,
    /// How far the figures are apart, above 1; absent if no ratio describes it.
    pub factor: Option<f64>,
    /// The largest value, or the only one, that agrees with the other figures.
    pub possible: Option<String>,
    /// Possible explanations that assume no bad faith.
    pub explanations: Vec<String>,
}

/// A remark about a possible figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The name of the row.
    pub row: String,
    /// The remark, in a sentence.
    pub what: String,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Throughput times mean time, with the limit of requests in flight.
    Little,
    /// Bytes, with throughput, responses and time.
    Transfer,
    /// Requests, with throughput and time.
    Count,
    /// Requests, with throughput and ramp-up.
    RampUp,
    /// A quantile of zero that is above one greater than zero.
    Zero,
    /// The order of minimum, quantiles, mean and maximum.
    Order,
    /// Mean and standard deviation, with quantiles and extremes.
    Moments,
    /// Errors, with requests.
    Errors,
    /// One run in two tables, or the quotient of two rows.
    Differs,
    /// The latencies of another row, figure by figure.
    Repeated,
}

impl Check {
    /// Returns its name in JSON and in lists.
    pub fn name(self) -> &'static str {
        match self {
            Check::Little => "little",
            Check::Transfer => "transfer",
            Check::Count => "count",
            Check::RampUp => "ramp-up",
            Check::Zero => "zero",
            Check::Order => "order",
            Check::Moments => "moments",
            Check::Errors => "errors",
            Check::Differs => "differs",
            Check::Repeated => "repeated",
        }
    }
}

/// The wording of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wording {
    /// No explanation makes all figures true.
    ContradictsItself,
    /// A tool can have printed each figure, but together they are not the time that requests took.
    InconsistentAsServiceTime,
}

impl fmt::Display for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wording::ContradictsItself => "contradicts itself",
            Wording::InconsistentAsServiceTime => "inconsistent as a service time",
        })
    }
}

/// What `faceoff audit --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audits {
    /// [`SCHEMA`].
    pub schema: String,
    /// Rows in all.
    pub rows: usize,
    /// Rows with a finding.
    pub flagged: usize,
    /// Rows whose requests mostly failed.
    pub failed: usize,
    /// One audit for each input.
    pub audits: Vec<Audit>,
}

impl From<Vec<Audit>> for Audits {
    fn from(audits: Vec<Audit>) -> Audits {
        Audits {
            schema: SCHEMA.to_owned(),
            rows: audits.iter().map(Audit::rows).sum(),
            flagged: audits.iter().map(Audit::flagged).sum(),
            failed: audits.iter().map(Audit::failed).sum(),
            audits,
        }
    }
}

impl Audit {
    /// Returns how many rows have a finding, in either wording.
    pub fn flagged(&self) -> usize {
        self.tables.iter().map(TableAudit::flagged).sum()
    }

    /// Returns how many rows have mostly failed requests.
    pub fn failed(&self) -> usize {
        self.tables.iter().map(|table| table.failed).sum()
    }

    /// Returns how many rows there are.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

impl TableAudit {
    /// Returns how many of its rows have a finding, in either wording.
    pub fn flagged(&self) -> usize {
        self.findings.iter().map(|finding| &finding.row).collect::<BTreeSet<_>>().len()
    }
}
