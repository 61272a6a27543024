//! Published tables, checked for what cannot be.
//!
//! Every figure is taken as the interval that its digits leave open, so that rounding never raises a flag. What is flagged
//! follows from arithmetic on the row, or on rows of one table; the formulas and their sources stand in docs/audit.md.

mod checks;
mod moments;
mod text;

use model::article::{Article, Row, Table};
use std::collections::BTreeSet;

pub use model::audit::{Audit, Check, Finding, Note, SCHEMA, TableAudit, Wording};

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
