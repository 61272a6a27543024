//! What several generators say of one load, as a table each; what is known of it stands first.

use crate::page::round;
use crate::text::{empty_table, right};
use comfy_table::Cell;
use model::judgement::{Judgement, WitnessLine, Witnesses};
use model::record::Record;
use model::units::show_number;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What ours is called beside the others.
const OURS: &str = "faceoff";

fn name(line: &WitnessLine) -> &'static str {
    line.driver.map_or(OURS, |driver| driver.name())
}

fn title(of: &Witnesses) -> String {
    format!("Generators before {} ({}, workload {})", of.contender, of.load, of.workload)
}

/// The sentence of an experiment that compares generators.
pub(crate) fn sentence(judgement: &Judgement) -> Option<String> {
    let lines = judgement.witnesses.iter().flat_map(|of| &of.lines).filter(|line| line.used > 0);
    let names: BTreeSet<&str> = lines.map(name).collect();
    (!names.is_empty()).then(|| {
        let all: Vec<&str> = names.into_iter().collect();
        format!(
            "{} loaded {}; what each reached, reports and costs stands in the tables, and nobody is ranked.",
            all.join(", "),
            judgement.baseline
        )
    })
}

/// The tables, as wide as the terminal.
pub(crate) fn tables(judgement: &Judgement, width: u16) -> String {
    let show = |value: Option<f64>| right(value.map_or("-".into(), show_number));
    let mut text = String::new();
    for of in &judgement.witnesses {
        let mut table = empty_table(width);
        table.set_header(["generator", "reached /s", "median ms", "p99 ms", "failed %", "own CPU µs/request", "own memory MB", "trials"]);
        if let Some(truth) = &of.truth {
            let known = [truth.rate_per_s, truth.p50_ms, truth.p99_ms].map(show);
            table.add_row(std::iter::once(Cell::new("known")).chain(known));
        }
        for line in &of.lines {
            let figures = [line.rate_per_s, line.p50_ms, line.p99_ms, line.failed_percent, line.cpu_us_per_request, line.memory_mb];
            let trials = std::iter::once(right(line.used.to_string()));
            table.add_row(std::iter::once(Cell::new(name(line))).chain(figures.map(show)).chain(trials));
        }
        let _ = writeln!(text, "{}\n{table}\n", title(of));
    }
    text
}

/// The cells that were not measured, a paragraph each.
pub(crate) fn skipped(record: &Record) -> String {
    record.header.skipped_cells.iter().fold(String::new(), |text, cell| text + &format!("\nskipped: cell {}: {}\n", cell.cell, cell.reason))
}

/// For the page.
pub(crate) fn values(judgement: &Judgement) -> Vec<Value> {
    let line = |line: &WitnessLine| {
        json!({
            "cell": line.cell, "generator": name(line), "ours": line.driver.is_none(), "used": line.used, "robbed": line.robbed,
            "rate_per_s": line.rate_per_s.map(round), "p50_ms": line.p50_ms.map(round), "p99_ms": line.p99_ms.map(round),
            "failed_percent": line.failed_percent.map(round), "cpu_us_per_request": line.cpu_us_per_request.map(round),
            "memory_mb": line.memory_mb.map(round), "differs": line.differs,
        })
    };
    let of_load = |of: &Witnesses| {
        json!({
            "contender": of.contender, "load": of.load, "workload": of.workload, "title": title(of),
            "truth": of.truth.map(|t| json!({"rate_per_s": t.rate_per_s, "p50_ms": t.p50_ms, "p99_ms": t.p99_ms})),
            "lines": of.lines.iter().map(line).collect::<Vec<_>>(),
        })
    };
    judgement.witnesses.iter().map(of_load).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::witness::{Driver, Truth};

    #[test]
    fn what_is_known_stands_first_and_what_was_not_printed_is_left_open() {
        let line = |driver: Option<Driver>, p99_ms: Option<f64>| WitnessLine {
            cell: "c".into(),
            driver,
            used: 3,
            robbed: 0,
            rate_per_s: Some(499.6),
            p50_ms: Some(10.04),
            p99_ms,
            failed_percent: Some(0.0),
            cpu_us_per_request: Some(31.25),
            memory_mb: driver.map(|_| 107.2),
            differs: vec![],
        };
        let of = Witnesses {
            contender: "control".parse().unwrap(),
            load: "arrivals at 500/s, evenly spaced".into(),
            workload: "exact".into(),
            truth: Some(Truth { rate_per_s: Some(500.0), p50_ms: Some(10.0), p99_ms: None }),
            lines: vec![line(None, Some(10.4)), line(Some(Driver::H2load), None)],
        };
        let mut judgement: Judgement = serde_json::from_value(json!({
            "schema": "faceoff.judgement.v1", "record": "r", "experiment": "e", "baseline": "control", "verdicts": [], "claims": [],
            "excluded": [], "faults": [], "rows": [], "curves": [], "starts": [],
            "warmups": [], "looks": [], "noise": [], "symptoms": [], "unsound": false, "incomplete": false
        }))
        .unwrap();
        assert_eq!((tables(&judgement, 100), sentence(&judgement)), (String::new(), None));
        judgement.witnesses = vec![of];
        insta::assert_snapshot!(format!("{}\n{}", sentence(&judgement).unwrap(), tables(&judgement, 100)));
        assert_eq!(values(&judgement)[0]["lines"][1]["p99_ms"], Value::Null);
    }
}
