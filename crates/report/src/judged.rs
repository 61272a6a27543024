//! What the judgement gives to the page's data.

use crate::page::{fact, ms, round};
use model::article::{Article, Figure, Row, Table};
use model::audit::Audit;
use model::judgement::{ClaimVerdict, FaultAt, Judgement, Noise, Picture, PlannedLook, Symptom, Verdict, WarmUp};
use model::record::{Event, Record, Warmup};
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

/// Which of the two intervals is the wider one; `None` where there is none, or only one was made.
fn decided_by(v: &Verdict) -> Option<&'static str> {
    let (interval, t, bootstrap) = (v.interval?, v.interval_t?, v.interval_bootstrap?);
    match interval {
        i if i == t => Some("t"),
        i if i == bootstrap => Some("bootstrap"),
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
    let about = c.claim.metric.describe();
    json!({
        "text": c.claim.text, "contender": c.claim.contender, "metric": about.name, "label": about.label,
        "expects": c.claim.expects, "outcome": c.outcome, "reason": c.reason, "p": c.p, "p_adjusted": c.p_adjusted,
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
        "planned": design.blocks, "run": run, "early": stopped_early(record, judgement),
        "confidence": design.confidence, "margin": design.margin,
        "looks": judgement.looks.iter().map(look).collect::<Vec<_>>(),
    })
}

fn look(l: &PlannedLook) -> Value {
    json!({"blocks": l.blocks, "confidence": l.confidence, "confidence_equivalence": l.confidence_equivalence, "taken": l.taken})
}

/// Whether the run came to its end before its last look.
pub fn stopped_early(record: &Record, judgement: &Judgement) -> bool {
    let cut = matches!(record.ended(), None | Some(Event::Interrupted | Event::UpstreamLost | Event::BudgetSpent));
    !cut && judgement.looks.iter().any(|l| l.taken) && judgement.looks.last().is_some_and(|l| !l.taken)
}

pub fn noise(n: &Noise, margin: f64) -> Value {
    let about = n.metric.describe();
    json!({
        "cell": n.cell.as_deref().unwrap_or("start"), "metric": about.name, "label": about.label,
        "ratio": n.ratio, "ratio_low": n.interval.low, "ratio_high": n.interval.high, "log_deviation": n.log_deviation, "margin": margin,
    })
}

pub fn warm_up(w: &WarmUp) -> Value {
    json!({
        "contender": w.contender,
        "classes": w.classes.iter().map(|(class, count)| json!({"class": class, "count": count})).collect::<Vec<_>>(),
        "steady_after_s": w.steady_after_s,
        "cold_cpu_us": w.cold_cpu_us, "steady_cpu_us": w.steady_cpu_us,
        "cold_throughput_per_s": w.cold_throughput_per_s, "steady_throughput_per_s": w.steady_throughput_per_s,
        "cold_max_ms": w.cold_max_ms,
    })
}

/// A start's windows, in columns.
pub fn windows(w: &Warmup) -> Value {
    let per = |time_ns: u64, count: u64| (count > 0).then(|| round(time_ns as f64 / 1e3 / count as f64));
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

/// The article's tables as they were printed, with what cannot be.
pub fn audit(article: &Article, audit: &Audit) -> Value {
    let tables = article.tables.iter().zip(&audit.tables).map(|(table, audit)| {
        let columns = columns(table);
        let rows = table.rows.iter().map(|row| {
            let printed = printed(row);
            json!({
                "name": row.name,
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

/// The designed looks in a sentence, for the facts of the design.
pub fn looks_fact(judgement: &Judgement) -> Option<Value> {
    let blocks: Vec<String> = judgement.looks.iter().map(|l| l.blocks.to_string()).collect();
    let (last, before) = blocks.split_last()?;
    let when = if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) };
    Some(fact("looks", format!("after {when} blocks, the error spent over them; the run stops at one that settles every claim")))
}
