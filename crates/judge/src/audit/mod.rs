//! Checks published tables for impossible or inconsistent figures.
//!
//! Each figure counts as the interval that its digits leave open, so that rounding never causes a
//! finding. A finding follows from arithmetic on the row, or on rows of one table.
//! docs/guide/audit.md has the formulas and their sources. Rows come as data: the caller reads the
//! files. Start with [`audit`].

mod errors;
mod failures;
mod figures;
mod little;
mod moments;
mod order;
mod ramp_up;
mod runs;
mod text;
mod ties;
mod totals;

use spec::article::{Article, Row, Table};
use std::collections::BTreeSet;

pub use record::audit::{Audit, Check, Finding, Note, SCHEMA, TableAudit, Wording};

/// Checks every table of an article.
pub fn audit(article: &Article) -> Audit {
    let mut reported = BTreeSet::new();
    let mut tables = Vec::new();
    for (at, table) in article.tables.iter().enumerate() {
        let mut audit = audit_table(table, &article.tables[..at]);
        let found = audit.flagged();
        // A run that several tables show is reported once.
        audit
            .findings
            .retain(|f| f.check == Check::Differs || reported.insert((f.row.clone(), f.check)));
        audit.repeated = found - audit.flagged();
        tables.push(audit);
    }
    Audit {
        name: article.name.clone(),
        title: article.title.clone(),
        source: article.source.clone(),
        tables,
    }
}

fn audit_table(table: &Table, earlier: &[Table]) -> TableAudit {
    let mut findings = Vec::new();
    for (at, (row, ramp_up)) in table.rows.iter().zip(ramp_up::wrong_ramp_ups(table)).enumerate() {
        findings.extend(little::too_many_in_flight(row, table.tool));
        findings.extend(totals::wrong_bytes(row, table));
        findings.extend(totals::wrong_count(row));
        findings.extend(ramp_up);
        findings.extend(order::out_of_order(row, table.tool));
        findings.extend(moments::impossible_moments(row, table.tool));
        findings.extend(errors::wrong_errors(row));
        findings.extend(runs::repeated_latencies(row, &table.rows[..at]));
        let same_run = |other: &&Row| other.name == row.name;
        let before = earlier.iter().find_map(|t| t.rows.iter().find(same_run).map(|r| (t, r)));
        findings.extend(before.and_then(|(t, r)| runs::differing_run(row, r, &t.title)));
        let quotients = table.quotients.iter().filter(|q| q.of == row.name);
        findings.extend(quotients.filter_map(|q| runs::wrong_quotient(q, table)));
    }
    let mut notes = Vec::new();
    let mut failed = 0;
    for row in &table.rows {
        let failures = failures::note_failures(row);
        failed += usize::from(failures.iter().any(|failure| failure.is_most));
        let of_load = ramp_up::note_ramp_up(row).or_else(|| little::note_few_in_flight(row));
        let all = failures.into_iter().map(|failure| failure.what).chain(of_load);
        notes.extend(all.map(|what| Note { row: row.name.clone(), what }));
    }
    let tie = ties::note_tie(table);
    notes.extend(tie.map(|what| Note { row: format!("all {} rows", table.rows.len()), what }));
    TableAudit {
        title: table.title.clone(),
        rows: table.rows.len(),
        findings,
        repeated: 0,
        failed,
        notes,
    }
}
