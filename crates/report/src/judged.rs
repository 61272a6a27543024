//! What the judgement gives to the page's data.

use crate::page::{ms, round};
use model::article::{Article, Figure, Row, Table};
use model::audit::Audit;
use model::experiment::Source;
use model::judgement::{
    CapacityCurves, ClaimVerdict, DatabaseUse, FaultAt, Judgement, Noise, Picture, PlannedLook, SweepCurves, Symptom, Verdict, WarmUp,
};
use model::record::{Record, Warmup};
use model::units::show_number;
use serde_json::{Value, json};
use stats::Interval;

/// The interval that decided, the two that it was chosen from, and what checks it.
fn estimate(v: &Verdict) -> Value {
    let pair = |interval: Option<Interval>| interval.map(|i| [i.low, i.high]);
    json!({
        "ratio": v.ratio, "ratio_low": v.interval.map(|i| i.low), "ratio_high": v.interval.map(|i| i.high),
        "confidence": v.confidence, "t": pair(v.interval_t), "bootstrap": pair(v.interval_bootstrap), "decided_by": decided_by(v),
        "sign_flip_p": v.sign_flip_p, "blocks_needed": v.blocks_needed,
        "margin": v.margin, "phrase": v.phrase(), "reason": v.reason, "outcome": v.outcome,
    })
}

/// Which of the two intervals holds the other, and so decided alone.
fn decided_by(v: &Verdict) -> Option<&'static str> {
    let interval = v.interval?;
    match Some(interval) {
        i if i == v.interval_t => Some("t"),
        i if i == v.interval_bootstrap => Some("bootstrap"),
        _ => None,
    }
}

pub fn verdict(v: &Verdict) -> Value {
    let about = v.metric.describe();
    let mut value = estimate(v);
    let more = json!({
        "cell": v.cell.as_deref().unwrap_or("start"), "contender": v.contender, "baseline": v.baseline,
        "metric": about.name, "label": about.label, "unit": about.unit, "lower_is_better": about.lower_is_better,
        "value": v.value, "baseline_value": v.baseline_value, "used": v.used, "excluded": v.excluded,
    });
    merge(&mut value, more);
    value
}

pub fn claim(c: &ClaimVerdict) -> Value {
    let (about, expected) = (c.claim.metric.describe(), c.claim.expected());
    let expects = match c.claim.beside {
        Some(beside) => format!("{expected}: {}", beside.describe()),
        None => expected,
    };
    json!({
        "text": c.claim.text, "contender": c.claim.contender, "metric": about.name, "label": about.label,
        "expects": expects, "outcome": c.outcome, "reason": c.reason, "p": c.p, "p_adjusted": c.p_adjusted,
        "cells": c.cells.iter().map(|cell| {
            let mut value = estimate(&cell.verdict);
            merge(&mut value, json!({"cell": cell.cell, "outcome": cell.outcome}));
            value
        }).collect::<Vec<_>>(),
    })
}

fn merge(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

/// The looks, and how far the run came.
pub fn stopping(record: &Record, judgement: &Judgement) -> Value {
    let design = &record.header.experiment.design;
    let run = record.trials.iter().map(|t| t.block).max().unwrap_or(0);
    json!({
        "planned": design.blocks, "run": run, "early": record.is_settled(),
        "confidence": design.confidence, "margin": design.margin,
        "looks": judgement.looks.iter().map(look).collect::<Vec<_>>(),
    })
}

fn look(l: &PlannedLook) -> Value {
    json!({"blocks": l.blocks, "confidence": l.confidence, "confidence_equivalence": l.confidence_equivalence, "taken": l.taken})
}

pub fn noise(n: &Noise, margin: f64) -> Value {
    let about = n.metric.describe();
    json!({
        "cell": n.cell.as_deref().unwrap_or("start"), "metric": about.name, "label": about.label,
        "ratio": n.ratio, "ratio_low": n.interval.low, "ratio_high": n.interval.high, "log_deviation": n.log_deviation, "margin": margin, "best_seconds": n.best_seconds,
    })
}

/// A metric over the levels of a parameter.
pub fn sweep(s: &SweepCurves) -> Value {
    let about = s.metric.describe();
    json!({
        "of": s.of, "parameter": s.parameter, "metric": about.name, "label": about.label, "unit": about.unit,
        "lower_is_better": about.lower_is_better, "confidence": s.confidence,
        "lines": s.lines.iter().map(|line| json!({
            "contender": line.contender,
            "points": line.points.iter().map(|p| json!({
                "level": p.level, "value": round(p.value), "low": p.interval.map(|i| round(i.low)), "high": p.interval.map(|i| round(i.high)), "used": p.used,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "crossings": s.crossings.iter().map(|c| json!({"level": c.level, "sentence": c.sentence})).collect::<Vec<_>>(),
        "turns": s.turns.iter().map(|t| &t.sentence).collect::<Vec<_>>(),
    })
}

/// What a database used: `412 µs of CPU a request, 31.0 % of a CPU, 96.1 MB, 14 processes`.
pub fn database_use(used: &DatabaseUse) -> String {
    let a_request = used.cpu_us_per_request.map_or(String::new(), |us| format!("{} µs of CPU a request, ", show_number(us)));
    let processes = if used.processes == 1 { "1 process".to_owned() } else { format!("{} processes", used.processes) };
    format!("{a_request}{} % of a CPU, {} MB, {processes}", show_number(used.cpu_percent), show_number(used.memory_mb))
}

/// The capacities of a cell.
pub fn capacities(c: &CapacityCurves) -> Value {
    json!({
        "cell": c.cell, "unit": c.unit, "service_level": c.service_level, "confidence": c.confidence,
        "lines": c.lines.iter().map(|line| json!({
            "contender": line.contender, "value": line.value.map(round),
            "low": line.interval.map(|i| round(i.low)), "high": line.interval.map(|i| round(i.high)),
            "used": line.used, "searched": line.searched, "left_out": line.left_out, "restarts": line.restarts, "warnings": line.warnings,
            "curve": line.curve.iter().map(|(level, share)| json!([round(*level), round(*share)])).collect::<Vec<_>>(),
            "probes": line.probes.iter().map(|p| json!([p.block, round(p.level), p.kept])).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

pub fn warm_up(w: &WarmUp) -> Value {
    json!({
        "contender": w.contender,
        "classes": w.classes.iter().map(|(class, count)| json!({"class": class, "count": count})).collect::<Vec<_>>(),
        "steady_after_s": w.steady_after_s,
        "cold_cpu_us": w.cold_cpu_us, "steady_cpu_us": w.steady_cpu_us,
        "cold_max_ms": w.cold_max_ms,
    })
}

/// A start's windows, in columns.
pub fn windows(w: &Warmup) -> Value {
    // Nothing is known of a process that was not started.
    let per = |time_ns: u64, count: u64| (count > 0 && time_ns > 0).then(|| round(time_ns as f64 / 1e3 / count as f64));
    json!({
        "class": w.class, "steady_after_s": w.steady_after_ns.map(|ns| round(ns as f64 / 1e9)),
        "t_s": w.windows.iter().map(|x| round(x.at_ns as f64 / 1e9)).collect::<Vec<_>>(),
        "rate_per_s": w.windows.iter().map(|x| round(x.correct as f64 * 1e9 / x.load_ns.max(1) as f64)).collect::<Vec<_>>(),
        "cpu_us": w.windows.iter().map(|x| per(x.cpu_ns, x.correct)).collect::<Vec<_>>(),
        "p50_ms": w.windows.iter().map(|x| x.p50_ns.map(ms)).collect::<Vec<_>>(),
        "max_ms": w.windows.iter().map(|x| x.max_ns.map(ms)).collect::<Vec<_>>(),
    })
}

pub fn faults(faults: &[FaultAt]) -> Vec<Value> {
    faults.iter().map(|f| json!({"kind": f.kind, "where": f.place, "evidence": f.evidence, "hint": f.hint})).collect()
}

/// How many faults there are of each kind, most first.
pub fn fault_counts(faults: &[FaultAt]) -> Vec<(&str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for fault in faults {
        match counts.iter_mut().find(|(kind, _)| *kind == fault.kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((&fault.kind, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

pub fn symptom(s: &Symptom) -> Value {
    json!({"kind": s.kind, "contender": s.contender, "cell": s.cell, "sentence": s.sentence, "hint": s.hint, "picture": picture(&s.picture)})
}

fn picture(p: &Picture) -> Value {
    json!({
        "title": p.title, "x": p.x, "y": p.y, "bars": p.bars,
        "series": p.series.iter().map(|(name, points)| json!({
            "name": name, "points": points.iter().map(|(x, y)| [round(*x), round(*y)]).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "marks": p.marks.iter().map(|(at, text)| json!({"at": round(*at), "text": text})).collect::<Vec<_>>(),
    })
}

/// The article's tables as they were printed, with what cannot be, and with who of ours stands beside which row.
pub fn audit(article: &Article, audit: &Audit, source: Option<&Source>) -> Value {
    let tables = article.tables.iter().zip(&audit.tables).map(|(table, audit)| {
        let columns = columns(table);
        let rows = table.rows.iter().map(|row| {
            let printed = printed(row);
            json!({
                "name": row.name,
                "ours": source.and_then(|source| source.ours.get(&row.name)),
                "figures": columns.iter().map(|column| printed.iter().find(|p| p.column == *column).map(|p| &p.text)).collect::<Vec<_>>(),
                "findings": audit.findings.iter().filter(|f| f.row == row.name).collect::<Vec<_>>(),
                "notes": audit.notes.iter().filter(|n| n.row == row.name).map(|n| &n.what).collect::<Vec<_>>(),
            })
        });
        json!({
            "title": table.title, "tool": table.tool.map(|t| t.name()), "columns": columns, "rows": rows.collect::<Vec<_>>(),
            "flagged": audit.flagged(), "repeated": audit.repeated,
        })
    });
    json!({
        "name": audit.name, "title": audit.title, "source": audit.source,
        "rows": audit.rows(), "flagged": audit.flagged(), "tables": tables.collect::<Vec<_>>(),
    })
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
        ("deviation", figure(&latency.deviation)),
        ("min", figure(&latency.min)),
    ];
    let last = [
        ("max", figure(&latency.max)),
        ("transfer /s", figure(&row.transfer)),
        ("received", figure(&row.received)),
        ("bytes an answer", figure(&row.bytes_per_answer)),
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
    let other = |(column, text): &(String, String)| Printed { place: f64::INFINITY, column: column.clone(), text: text.clone() };
    let first = first.into_iter().enumerate().filter_map(placed(0.0));
    let last = last.into_iter().enumerate().filter_map(placed(LAST));
    first.chain(latency.quantiles.iter().map(quantile)).chain(last).chain(row.other.iter().map(other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::Metric;
    use model::record::{WarmUpClass, WarmUpWindow};

    fn of(low: f64, high: f64) -> Option<Interval> {
        Some(Interval { low, high })
    }

    fn compared(interval: Option<Interval>, t: Option<Interval>, bootstrap: Option<Interval>) -> Verdict {
        Verdict {
            reason: "r".into(),
            ratio: Some(1.0),
            interval,
            interval_t: t,
            interval_bootstrap: bootstrap,
            confidence: 0.975,
            sign_flip_p: Some(0.03125),
            blocks_needed: Some(19),
            value: Some(2.0),
            baseline_value: Some(2.0),
            margin: 0.05,
            used: 6,
            ..Verdict::open("b".parse().unwrap(), "a".parse().unwrap(), Metric::StartUp)
        }
    }

    #[test]
    fn both_intervals_are_there_and_the_one_that_decided_is_named() {
        let (wide, narrow) = (of(0.5, 2.0), of(0.75, 1.5));
        let by = |t, bootstrap| verdict(&compared(wide, t, bootstrap))["decided_by"].clone();
        assert_eq!([by(wide, narrow), by(narrow, wide), by(wide, None)], ["t", "bootstrap", "t"]);
        let value = verdict(&compared(wide, narrow, wide));
        assert_eq!((&value["t"], &value["bootstrap"]), (&json!([0.75, 1.5]), &json!([0.5, 2.0])));
        assert_eq!((&value["confidence"], &value["sign_flip_p"], &value["blocks_needed"]), (&json!(0.975), &json!(0.03125), &json!(19)));
        assert_eq!((&value["cell"], &value["outcome"]), (&json!("start"), &json!("undecided")));
        assert_eq!(verdict(&compared(None, None, None))["decided_by"], Value::Null);
    }

    #[test]
    fn windows_stand_in_columns_with_nothing_where_nothing_was_answered() {
        let window = |at_ns, correct| WarmUpWindow {
            at_ns,
            load_ns: 500_000_000,
            connections: 2,
            correct,
            cpu_ns: 3_000_000,
            pause_ns: 300_000_000,
            pause_cpu_ns: 0,
            p50_ns: None,
            max_ns: Some(2_000_000),
        };
        let start =
            Warmup { class: WarmUpClass::NeverSteady, steady_after_ns: None, windows: vec![window(0, 0), window(1_000_000_000, 100)] };
        let expected = json!({
            "class": "never_steady", "steady_after_s": null, "t_s": [0.0, 1.0], "rate_per_s": [0.0, 200.0], "cpu_us": [null, 30.0],
            "p50_ms": [null, null], "max_ms": [2.0, 2.0],
        });
        assert_eq!(windows(&start), expected);
    }

    #[test]
    fn faults_are_counted_by_kind_most_first() {
        let fault = |kind: &str| FaultAt { place: String::new(), kind: kind.into(), evidence: String::new(), hint: String::new() };
        assert_eq!(fault_counts(&["a", "b", "b"].map(fault)), [("b", 2), ("a", 1)]);
    }

    #[test]
    fn columns_of_a_published_table_stand_in_reading_order() {
        let row = |name: &str| Row { name: name.into(), ..Row::default() };
        let mut rows = [row("one"), row("two")];
        rows[0].latency.max = Some(Figure::time("9ms").unwrap());
        rows[0].other = vec![("CPU".into(), "7 %".into())];
        rows[1].latency.quantiles = vec![(50.0, Figure::time("2ms").unwrap()), (99.0, Figure::time("3ms").unwrap())];
        rows[1].throughput = Some(Figure::count("100").unwrap());
        let table = Table { rows: rows.into(), ..Table::default() };
        assert_eq!(columns(&table), ["throughput /s", "p50", "p99", "max", "CPU"]);
    }
}
