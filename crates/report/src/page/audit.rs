//! The tables of an article as they were printed, with the figures in them that are impossible or
//! inconsistent, and with what was measured here for the same row.

use record::Header;
use record::audit as audited;
use record::audit::{TableAudit, Wording};
use record::judgement::Judgement;
use serde::Serialize;
use spec::article::{Article, Figure, Row, Table};
use spec::experiment::Source;

/// The audit of an article's tables.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Audit {
    name: String,
    title: String,
    source: String,
    rows: usize,
    flagged: usize,
    tables: Vec<AuditedTable>,
}

/// One table as it was printed.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct AuditedTable {
    title: String,
    tool: Option<&'static str>,
    columns: Vec<String>,
    rows: Vec<AuditedRow>,
    flagged: usize,
    /// The number of rows that only repeat an earlier table.
    repeated: usize,
}

/// One row as it was printed, with what its figures contradict.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct AuditedRow {
    name: String,
    /// What was measured here in the way of that row.
    ours: Option<Ours>,
    figures: Vec<Option<String>>,
    findings: Vec<AuditFinding>,
    notes: Vec<String>,
}

/// A contender in a cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Ours {
    contender: String,
    cell: String,
}

/// An impossible or inconsistent figure.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct AuditFinding {
    check: &'static str,
    #[cfg_attr(test, ts(type = "AuditWording"))]
    wording: Wording,
    /// The arithmetic, in a sentence.
    what: String,
    factor: Option<f64>,
    /// The largest value, or the only one, that the other figures allow.
    possible: Option<String>,
    /// What would explain it without bad faith.
    explanations: Vec<String>,
}

/// The audit of the article that the experiment names, if it names one.
pub(super) fn audit(header: &Header, judgement: &Judgement) -> Option<Audit> {
    let (article, audit) = header.article.as_ref().zip(judgement.audit.as_ref())?;
    Some(audit_of_article(article, audit, header.experiment.source.as_ref()))
}

fn audit_of_article(article: &Article, audit: &audited::Audit, source: Option<&Source>) -> Audit {
    let tables = article.tables.iter().zip(&audit.tables);
    Audit {
        name: audit.name.clone(),
        title: audit.title.clone(),
        source: audit.source.clone(),
        rows: audit.rows(),
        flagged: audit.flagged(),
        tables: tables.map(|(table, audit)| audited_table(table, audit, source)).collect(),
    }
}

fn audited_table(table: &Table, audit: &TableAudit, source: Option<&Source>) -> AuditedTable {
    let columns = columns(table);
    AuditedTable {
        title: table.title.clone(),
        tool: table.tool.map(|t| t.name()),
        rows: table.rows.iter().map(|row| audited_row(row, &columns, audit, source)).collect(),
        columns,
        flagged: audit.flagged(),
        repeated: audit.repeated,
    }
}

fn audited_row(
    row: &Row,
    columns: &[String],
    audit: &TableAudit,
    source: Option<&Source>,
) -> AuditedRow {
    let printed = printed(row);
    let figure = |column: &String| {
        printed.iter().find(|p| p.column == *column).map(|printed| printed.text.clone())
    };
    let ours = source.and_then(|source| source.ours.get(&row.name));
    let findings = audit.findings.iter().filter(|f| f.row == row.name).map(|f| AuditFinding {
        check: f.check.name(),
        wording: f.wording,
        what: f.what.clone(),
        factor: f.factor,
        possible: f.possible.clone(),
        explanations: f.explanations.clone(),
    });
    AuditedRow {
        name: row.name.clone(),
        ours: ours.map(|o| Ours { contender: o.contender.clone(), cell: o.cell.clone() }),
        figures: columns.iter().map(figure).collect(),
        findings: findings.collect(),
        notes: audit.notes.iter().filter(|n| n.row == row.name).map(|n| n.what.clone()).collect(),
    }
}

/// The columns of a table, in the order in which people read them.
fn columns(table: &Table) -> Vec<String> {
    let mut columns: Vec<Printed> = Vec::new();
    for printed in table.rows.iter().flat_map(printed) {
        if !columns.iter().any(|c| c.column == printed.column) {
            columns.push(printed);
        }
    }
    columns.sort_by(|a, b| a.place.total_cmp(&b.place));
    columns.into_iter().map(|c| c.column).collect()
}

/// A figure of a row.
struct Printed {
    place: f64,
    column: String,
    text: String,
}

fn printed(row: &Row) -> Vec<Printed> {
    let (load, latency) = (&row.load, &row.latency);
    let number = |n: Option<u64>| n.map(|n| n.to_string());
    let figure = |f: &Option<Figure>| f.as_ref().map(|f| f.text().to_owned());
    const QUANTILES: f64 = 14.0;
    const LAST: f64 = QUANTILES + 1.0;
    let first = [
        ("connections", number(load.connections)),
        ("depth", number(load.depth)),
        ("users", number(load.users)),
        ("loops", number(load.loops)),
        ("ramp-up", figure(&load.ramp_up)),
        ("mean pause", figure(&load.pause_mean)),
        ("samples", figure(&row.samples)),
        ("duration", figure(&row.duration)),
        ("throughput /s", figure(&row.throughput)),
        ("errors", figure(&row.errors)),
        ("error share", figure(&row.error_share)),
        ("mean", figure(&latency.mean)),
        ("standard deviation", figure(&latency.deviation)),
        ("min", figure(&latency.min)),
    ];
    let last = [
        ("max", figure(&latency.max)),
        ("transfer /s", figure(&row.transfer)),
        ("received", figure(&row.received)),
        ("bytes per response", figure(&row.bytes_per_answer)),
    ];
    let placed = |from: f64| {
        move |(i, (column, text)): (usize, (&str, Option<String>))| {
            text.map(|text| Printed { place: from + i as f64, column: column.to_owned(), text })
        }
    };
    let quantile = |(percent, f): &(f64, Figure)| Printed {
        place: QUANTILES + percent / 100.0,
        column: format!("p{percent}"),
        text: f.text().to_owned(),
    };
    let other = |(column, text): &(String, String)| Printed {
        place: f64::INFINITY,
        column: column.clone(),
        text: text.clone(),
    };
    let first = first.into_iter().enumerate().filter_map(placed(0.0));
    let last = last.into_iter().enumerate().filter_map(placed(LAST));
    first
        .chain(latency.quantiles.iter().map(quantile))
        .chain(last)
        .chain(row.other.iter().map(other))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_published_table_are_in_reading_order() {
        let row = |name: &str| Row { name: name.into(), ..Row::default() };
        let mut rows = [row("one"), row("two")];
        rows[0].latency.max = Some(Figure::time("9ms").unwrap());
        rows[0].other = vec![("CPU".into(), "7 %".into())];
        rows[1].latency.quantiles =
            vec![(50.0, Figure::time("2ms").unwrap()), (99.0, Figure::time("3ms").unwrap())];
        rows[1].throughput = Some(Figure::count("100").unwrap());
        let table = Table { rows: rows.into(), ..Table::default() };
        assert_eq!(columns(&table), ["throughput /s", "p50", "p99", "max", "CPU"]);
    }
}
