//! Published tables, checked for what cannot be.
//!
//! Every figure is taken as the interval that its digits leave open, so that rounding never raises a flag. What is flagged
//! follows from arithmetic on the row, or on rows of one table; the formulas and their sources stand in docs/audit.md.

mod checks;
mod moments;
mod text;

use model::article::{Article, Row, Table};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// The layout of an audit written as JSON.
pub const SCHEMA: &str = "faceoff.audit.v1";

/// What an article's tables came to.
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// The row's name.
    pub row: String,
    /// In a sentence.
    pub what: String,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// Checks every table of an article.
pub fn audit(article: &Article) -> Audit {
    let mut said = BTreeSet::new();
    let mut tables = Vec::new();
    for (at, table) in article.tables.iter().enumerate() {
        let mut audit = audit_table(table, &article.tables[..at]);
        let found = audit.flagged();
        audit.findings.retain(|f| f.check == Check::Differs || said.insert((f.row.clone(), f.check)));
        audit.repeated = found - audit.flagged();
        tables.push(audit);
    }
    Audit { name: article.name.clone(), title: article.title.clone(), source: article.source.clone(), tables }
}

fn audit_table(table: &Table, earlier: &[Table]) -> TableAudit {
    let mut findings = Vec::new();
    for (at, (row, ramp_up)) in table.rows.iter().zip(checks::ramp_up(table)).enumerate() {
        findings.extend(checks::little(row, table.tool));
        findings.extend(checks::transfer(row, table));
        findings.extend(checks::count(row));
        findings.extend(ramp_up);
        findings.extend(checks::order(row, table.tool));
        findings.extend(moments::check(row, table.tool));
        findings.extend(checks::errors(row));
        findings.extend(checks::repeated(row, &table.rows[..at]));
        let same_run = |other: &&Row| other.name == row.name;
        let before = earlier.iter().find_map(|t| t.rows.iter().find(same_run).map(|r| (t, r)));
        findings.extend(before.and_then(|(t, r)| checks::differs(row, r, &t.title)));
        findings.extend(table.quotients.iter().filter(|q| q.of == row.name).filter_map(|q| checks::quotient(q, table)));
    }
    let notes = table.rows.iter().filter_map(|row| checks::note(row).map(|what| Note { row: row.name.clone(), what })).collect();
    TableAudit { title: table.title.clone(), rows: table.rows.len(), findings, repeated: 0, notes }
}
