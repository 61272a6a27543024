//! What published tables come to: the judge fills it in, the command and the report show it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The layout of an audit written as JSON.
pub const SCHEMA: &str = "faceoff.audit.v1";

/// What an article's tables came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// The article's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where and when it was published.
    pub source: String,
    /// Its tables, in order.
    pub tables: Vec<TableAudit>,
}

/// What a table came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableAudit {
    /// Its title.
    pub title: String,
    /// How many rows it has.
    pub rows: usize,
    /// What cannot be, in the order of the rows. What an earlier table of the article showed of the same run is not said again.
    pub findings: Vec<Finding>,
    /// How many rows were left out for that.
    pub repeated: usize,
    /// What can be and is worth knowing.
    pub notes: Vec<Note>,
}

/// Something that cannot be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The row's name.
    pub row: String,
    /// What was checked.
    pub check: Check,
    /// How it is said.
    pub wording: Wording,
    /// The arithmetic, in a sentence.
    pub what: String,
    /// How far the figures are apart, above 1; absent where no ratio says it.
    pub factor: Option<f64>,
    /// The largest value, or the only one, that the other figures allow.
    pub possible: Option<String>,
    /// What would explain it without bad faith.
    pub explanations: Vec<String>,
}

/// Something that can be and is worth knowing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The row's name.
    pub row: String,
    /// In a sentence.
    pub what: String,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Throughput times mean time against the requests that could be under way.
    Little,
    /// Bytes against throughput, answers and time.
    Transfer,
    /// Requests against throughput and time.
    Count,
    /// Requests against throughput and ramp-up.
    RampUp,
    /// A quantile of zero above one that is not.
    Zero,
    /// Least, quantiles, mean and greatest in their order.
    Order,
    /// Mean and deviation against quantiles and extremes.
    Moments,
    /// Errors against requests.
    Errors,
    /// One run in two tables, or a row divided by another.
    Differs,
    /// The latencies of another row, figure by figure.
    Repeated,
}

impl Check {
    /// As it is written in JSON and in lists.
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

/// How a finding is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wording {
    /// No explanation saves the figures together.
    ContradictsItself,
    /// Each figure can be what a tool printed, but this is not how long requests took.
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

impl Audit {
    /// How many rows are flagged, in either wording.
    pub fn flagged(&self) -> usize {
        self.tables.iter().map(TableAudit::flagged).sum()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

impl TableAudit {
    /// How many of its rows are flagged, in either wording.
    pub fn flagged(&self) -> usize {
        self.findings.iter().map(|finding| &finding.row).collect::<BTreeSet<_>>().len()
    }
}
