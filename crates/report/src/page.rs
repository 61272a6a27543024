//! The page: one file, readable offline. Its data has the type of `web/src/page.ts`.

use crate::answer::{answer, notes};
use crate::{believe, effects, judged, witnesses};
use model::database::Kept;
use model::experiment::{Experiment, Published};
use model::judgement::{Judgement, show_confidence};
use model::metric::Metric;
use model::name::{ContenderName, shell_word};
use model::record::{Header, Measurement, Participant, Record, Trial};
use model::selftest::{SelfTest, Truth, TruthOutcome};
use model::units::{show_bytes, show_number, show_share};
use serde_json::{Value, json};
use stats::Interval;

/// The page as `npm run build` in `web/` makes it. It is committed, so that Rust alone builds the command.
const PAGE: &str = include_str!("../page/index.html");
const MARKER: &str = r#"id="page-data">null</script>"#;

/// The page of a record as one HTML file.
pub fn html(record: &Record, judgement: &Judgement) -> String {
    let data = data(record, judgement).to_string();
    // A `<` in a string of the data must not end the script element.
    let safe = data.replace('<', "\\u003c");
    PAGE.replacen(MARKER, &format!(r#"id="page-data">{safe}</script>"#), 1)
}

/// What a page may do, as it says itself: run its own script, use its own style, and reach nothing.
pub fn policy() -> &'static str {
    const BEFORE: &str = "http-equiv=\"Content-Security-Policy\" content=\"";
    let after = PAGE.split_once(BEFORE).and_then(|(_, after)| after.split_once('"'));
    after.map_or("default-src 'none'", |(policy, _)| policy)
}

pub(crate) fn ms(ns: u64) -> f64 {
    round(ns as f64 / 1e6)
}

/// Four significant digits: what a picture can show, and a page can carry.
pub(crate) fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

fn data(record: &Record, judgement: &Judgement) -> Value {
    let header = &record.header;
    let experiment = &header.experiment;
    let mut cells: Vec<Value> = experiment
        .cells
        .iter()
        .filter(|c| c.driver.is_none())
        .map(|c| json!({"name": c.name, "load": c.load.describe(), "workload": c.asks(), "scheduled": c.load.has_schedule()}))
        .collect();
    cells.push(json!({"name": "start", "load": "from the start of the process to its first right answer", "workload": experiment.cells.first().map_or("", |c| c.workload.as_str()), "scheduled": false}));
    json!({
        "schema": "faceoff.page.v1",
        "experiment": experiment.name,
        "question": experiment.question,
        "source": experiment.source,
        "answer": answer(record, judgement),
        "notes": notes(record, judgement),
        "believe": believe::grounds(record, judgement),
        "checks": believe::checks(&judgement.checks),
        "claims": judgement.claims.iter().map(judged::claim).collect::<Vec<_>>(),
        "contenders": header.contenders.iter().map(|p| contender(record, judgement, p)).collect::<Vec<_>>(),
        "cells": cells,
        "verdicts": judgement.verdicts.iter().map(judged::verdict).collect::<Vec<_>>(),
        "table": judgement.rows.iter().map(|row| {
            let mut value = serde_json::to_value(row).expect("a row is plain data");
            value["errors"] = row.errors.iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect();
            if ran_already(header, &row.contender) {
                ["cpu_percent", "threads", "memory_mb"].into_iter().for_each(|unknown| value[unknown] = Value::Null);
            }
            value
        }).collect::<Vec<_>>(),
        "published": experiment.published.as_ref().map(published),
        "curves": judgement.curves.iter().map(|c| json!({
            "cell": c.cell, "contender": c.contender, "samples": c.samples,
            "points": c.points.iter().map(|(q, v)| json!([q, round(*v)])).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "effects": effects::values(judgement),
        "capacities": judgement.capacities.iter().map(judged::capacities).collect::<Vec<_>>(),
        "witnesses": witnesses::values(judgement),
        "sweeps": judgement.sweeps.iter().map(judged::sweep).collect::<Vec<_>>(),
        "trials": record.trials.iter().map(|t| trial(header, judgement, t)).collect::<Vec<_>>(),
        "faults": judged::faults(&judgement.faults),
        "fault_counts": judged::fault_counts(&judgement.faults).into_iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect::<Vec<_>>(),
        "stopping": judged::stopping(record, judgement),
        "noise": judgement.noise.iter().map(|n| judged::noise(n, experiment.design.margin)).collect::<Vec<_>>(),
        "warmups": judgement.warmups.iter().map(judged::warm_up).collect::<Vec<_>>(),
        "symptoms": judgement.symptoms.iter().map(judged::symptom).collect::<Vec<_>>(),
        "audit": header.article.as_ref().zip(judgement.audit.as_ref()).map(|(article, audit)| judged::audit(article, audit, experiment.source.as_ref())),
        "instrument": header.instrument.as_ref().map_or_else(Vec::new, instrument),
        "skipped": header.skipped.iter().map(|s| json!({"contender": s.contender, "reason": s.reason}))
            .chain(header.skipped_cells.iter().map(|s| json!({"contender": format!("cell {}", s.cell), "reason": s.reason})))
            .chain(record.dropped().map(|(name, f)| json!({"contender": name, "reason": format!("{}: {}", f.stage, f.cause)}))).collect::<Vec<_>>(),
        "machine": machine(record, judgement),
        "design": experiment.describe_design().into_iter().map(|(name, value)| fact(name, value))
            .chain(header.checks.iter().map(|(workload, checks)| fact("checked", format!("{workload}: {checks}")))).collect::<Vec<_>>(),
        "repeat": [
            again(record),
            format!("faceoff judge {}", folder(header)),
            format!("faceoff report {}", folder(header)),
        ],
        "analysis": experiment.analysis,
        "made": {"version": header.faceoff, "recorded_at": header.recorded_at, "record": header.id},
    })
}

/// Where a record is, in a command: a record may be called anything, and commands are copied.
fn folder(header: &Header) -> String {
    shell_word(&format!("records/{}", header.id))
}

/// What makes such a run once more.
fn again(record: &Record) -> String {
    let (header, experiment) = (&record.header, &record.header.experiment);
    let quick = if header.quick { " --quick" } else { "" };
    let revision = experiment.against.as_ref().zip(experiment.contenders.first());
    let revision = revision.map_or(String::new(), |(against, of)| {
        let metrics = |of: &Experiment| of.claims.iter().map(|claim| claim.metric).collect::<Vec<Metric>>();
        let (named, usual) = (metrics(experiment), metrics(&experiment.clone().against(of, against.clone(), &[])));
        let by = named.iter().filter(|_| named != usual).map(|metric| format!(" --by {}", metric.describe().name));
        format!(" --against {} --of {of}{}", shell_word(against.short()), by.collect::<String>())
    });
    // What `faceoff vs` did stands in the record's own folder, and nowhere else.
    let is_vs = experiment.name == "vs" && header.contenders.iter().all(|p| p.reached.is_some());
    let place = if is_vs { format!(" --dir {}", folder(header)) } else { String::new() };
    let changes: String = header.changes.iter().map(|word| format!(" {}", shell_word(word))).collect();
    format!("faceoff{place} run {}{quick}{revision}{changes}", shell_word(&experiment.name))
}

fn fact(name: &str, value: impl Into<String>) -> Value {
    json!({"name": name, "value": value.into()})
}

fn published(published: &Published) -> Value {
    json!({"title": published.title, "columns": published.columns, "rows": published.rows, "note": published.note})
}

fn contender(record: &Record, judgement: &Judgement, p: &Participant) -> Value {
    let trials = record.trials.iter().filter(|t| t.contender == p.name).count();
    let excluded = judgement.excluded.iter().filter(|e| e.contender == p.name).count();
    let start = judgement.starts.iter().find(|s| s.contender == p.name);
    let versions: Vec<String> = p.versions.iter().map(|(tool, version)| format!("{tool} {version}")).collect();
    let command = record.trials.iter().find(|t| t.contender == p.name && !t.command.is_empty()).map(|t| t.command.join(" "));
    let facts = p.facts.iter().map(|(name, value)| fact(name, value.clone()));
    let image = p.image.as_ref().map(|i| fact("image", format!("{}, {} unpacked, {}", i.reference, show_bytes(i.bytes), i.digest)));
    json!({
        "name": p.name, "baseline": p.name == judgement.baseline, "summary": p.summary,
        "facts": facts.chain(image).chain(command.map(|c| fact("command", c))).collect::<Vec<_>>(),
        "version": (!versions.is_empty()).then(|| versions.join(", ")),
        "artifacts": p.artifacts,
        "trials_valid": trials - excluded, "trials_excluded": excluded,
        "ready_ms": start.map(|s| json!({"median": s.median_ms, "min": s.min_ms, "max": s.max_ms})),
        "reached": p.reached.is_some(),
    })
}

/// Where a run happened, by name.
pub(crate) fn place(header: &Header) -> Vec<(&'static str, String)> {
    let (m, cpus) = (&header.machine, &header.cpus);
    let show = |set: &[usize]| set.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let by_agents = header.experiment.place.agents_asked() > 0;
    let mut facts = vec![
        ("processor", format!("{}{}", m.cpu, if m.is_virtual { " (virtual machine)" } else { "" })),
        ("CPUs", m.cores.to_string()),
        ("memory", show_bytes(m.memory_bytes)),
        ("system", format!("{}, kernel {}", m.os, m.kernel)),
        ("frequency governor", m.governor.clone().unwrap_or_else(|| "not to be seen here".into())),
        ("CPUs of the contender", show(&cpus.contender)),
        (if by_agents { "CPUs of warm-up and readings" } else { "CPUs of the load generator" }, show(&cpus.generator)),
    ];
    if header.kept_awake {
        facts.push(("kept awake", "yes: a virtual CPU that sleeps comes back late".into()));
    }
    if let Some(upstream) = &header.upstream {
        facts.push(("CPUs of the upstream", show(&cpus.upstream)));
        facts.push(("upstream", format!("{}: {}", upstream.name, upstream.summary)));
    }
    facts
}

fn machine(record: &Record, judgement: &Judgement) -> Vec<Value> {
    let mut facts: Vec<Value> = place(&record.header).into_iter().map(|(name, value)| fact(name, value)).collect();
    if let Some(database) = &record.header.database {
        facts.push(fact("database", format!("{}: {}", database.name, database.summary)));
        facts.extend(record.trials.iter().find_map(|t| t.database.as_ref()).map_or_else(Vec::new, kept));
        facts.extend(
            judgement
                .databases
                .iter()
                .map(|used| fact(&format!("database in {}, {}", used.cell, used.contender), judged::database_use(used))),
        );
    }
    let steal = record.trials.iter().map(|t| t.host.steal_share).fold(0.0, f64::max);
    facts.push(fact("most CPU time stolen in a trial", format!("{} %", show_number(steal * 100.0))));
    facts
}

/// What a database is, as it said itself.
fn kept(kept: &Kept) -> Vec<Value> {
    let settings: Vec<String> = kept.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    vec![fact("version of the database", kept.version.clone()), fact("settings of the database", settings.join(", "))]
}

/// What the self-test found of what is known.
fn instrument(test: &SelfTest) -> Vec<Value> {
    let span = |i: Interval| match i.low == i.high {
        true => show_number(i.low),
        false => format!("{} to {}", show_number(i.low), show_number(i.high)),
    };
    let truth = |t: &Truth| {
        let name = [&t.what, &t.quantity, &t.cell].into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ");
        let known = t.known.map_or("known to be no different".to_owned(), |k| format!("known {}", span(k)));
        let measured = t.measured.map_or("not measured".to_owned(), |m| format!("measured {}", show_number(m)));
        let interval = t.interval.map_or(String::new(), |i| format!(" ({})", span(i)));
        let unit = if t.unit.is_empty() { String::new() } else { format!(", in {}", t.unit) };
        let outcome = match t.outcome {
            TruthOutcome::Holds => "holds",
            TruthOutcome::Unsound => "could not be told",
            TruthOutcome::Missed => "MISSED",
        };
        fact(&name, format!("{known}, {measured}{interval}{unit}: {outcome}"))
    };
    let ceiling = test.ceiling.iter().map(|c| {
        fact(
            "ceiling of the load generator",
            format!("{} right answers a second, {} µs of CPU each", show_number(c.per_s), show_number(c.cpu_us)),
        )
    });
    let when = fact("self-test", format!("{}, faceoff {}, intervals at {}", test.at, test.faceoff, show_confidence(test.confidence)));
    std::iter::once(when).chain(test.truths.iter().map(truth)).chain(ceiling).collect()
}

/// Whether a contender was only reached, and nobody started or stopped it.
fn ran_already(header: &Header, name: &ContenderName) -> bool {
    header.contenders.iter().any(|p| p.name == *name && p.reached.is_some())
}

fn trial(header: &Header, judgement: &Judgement, t: &Trial) -> Value {
    let no_stop = if ran_already(header, &t.contender) { "none: it ran already, and goes on" } else { "never started" };
    let excluded = judgement.excluded.iter().find(|e| e.contender == t.contender && e.block == t.block);
    json!({
        "contender": t.contender, "block": t.block, "position": t.position,
        "valid": excluded.is_none(), "reason": excluded.map_or("", |e| e.reason.as_str()),
        "ready_ms": t.ready_after_ns.map(ms), "steady_ms": steady(t).map(ms),
        "warmup": t.warmup.as_ref().map(judged::windows),
        "stop": t.stop.as_ref().map_or_else(|| no_stop.to_owned(), |s| format!("{} after {} ms", s.status, show_number(s.after_ns as f64 / 1e6))),
        "facts": trial_facts(t),
        "measurements": t.measurements.iter().map(measurement).collect::<Vec<_>>(),
    })
}

/// When the steady state began, from the start of the process: the warm-up's load begins with the first right answer.
fn steady(t: &Trial) -> Option<u64> {
    t.ready_after_ns?.checked_add(t.warmup.as_ref()?.steady_after_ns?)
}

/// What stands in no other place of the page.
fn trial_facts(t: &Trial) -> Vec<Value> {
    let mut facts = vec![fact("began", t.started_at.clone()), fact("load average before", show_number(t.host.load_average))];
    facts.push(fact("CPU time that the hypervisor took", show_share(t.host.steal_share)));
    facts.extend(t.host.start_steal_share.map(|share| fact("of it, while it started", show_share(share))));
    facts.push(fact("right answers while it warmed up", t.warmed_with.to_string()));
    if !t.robbed.is_empty() {
        facts.push(fact("measured again", format!("{} measurements, as the hypervisor took too much of them", t.robbed.len())));
    }
    if !t.pauses.is_empty() {
        let longest = t.pauses.iter().map(|p| p.duration_ns).max().unwrap_or(0);
        facts.push(fact("pauses of its collector", format!("{}, the longest {} ms", t.pauses.len(), show_number(longest as f64 / 1e6))));
    }
    if let Some(failure) = &t.failure {
        facts.push(fact("failed", format!("{}: {}", failure.stage, failure.cause)));
        facts.extend((!failure.log.is_empty()).then(|| fact("its last lines", failure.log.join("\n"))));
    }
    facts
}

fn measurement(m: &Measurement) -> Value {
    let seconds = &m.seconds;
    let usage = &m.usage;
    // The CPU share of each stretch between two samples; the first sample has none before it. Columns may be cut short or fall in a record
    // that another program wrote.
    let samples: Vec<(u64, u64)> = usage.t_ns.iter().copied().zip(usage.cpu_ns_at.iter().copied()).collect();
    let share = |(from, before): (u64, u64), (to, after): (u64, u64)| {
        round(100.0 * after.saturating_sub(before) as f64 / to.saturating_sub(from).max(1) as f64)
    };
    let cpu: Vec<f64> = samples.windows(2).map(|pair| share(pair[0], pair[1])).collect();
    let from_second = |column: &[u64], scale: f64| column.iter().skip(1).map(|v| round(*v as f64 / scale)).collect::<Vec<f64>>();
    let opt_ms = |pick: fn(&model::record::Second) -> Option<u64>| seconds.iter().map(|s| pick(s).map(ms)).collect::<Vec<_>>();
    json!({
        "cell": m.cell, "position": m.position, "counts": m.counts,
        "began_s": (m.began_after_ns > 0).then(|| round(m.began_after_ns as f64 / 1e9)), "lasted_s": round(m.duration_ns as f64 / 1e9),
        "seconds": {
            "t_s": (1..=seconds.len()).collect::<Vec<_>>(),
            "rate_per_s": seconds.iter().map(|s| s.correct).collect::<Vec<_>>(),
            "p50_ms": opt_ms(|s| s.p50_ns), "p99_ms": opt_ms(|s| s.p99_ns), "max_ms": opt_ms(|s| s.max_ns),
        },
        "usage": {
            "t_s": from_second(&usage.t_ns, 1e9), "cpu_percent": cpu,
            "memory_mb": from_second(&usage.rss_bytes_at, 1e6), "threads": from_second(&usage.threads_at, 1.0),
            "descriptors": from_second(&usage.descriptors_at, 1.0),
        },
        "generator": {
            "cpu_percent": round(100.0 * m.generator.busy_ns() as f64 / m.duration_ns as f64 / f64::from(m.generator.loops())),
            "lag_p99_us": m.generator.lag.as_ref().filter(|l| l.len() >= 563).map(|l| round(l.quantile_ns(0.99) as f64 / 1e3)),
            "in_flight_max": m.generator.in_flight_max,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_page_has_one_place_for_its_data() {
        assert_eq!(PAGE.matches(MARKER).count(), 1);
    }

    #[test]
    fn the_policy_of_the_page_is_found() {
        assert!(
            policy().contains("script-src 'sha256-") && policy().contains("base-uri 'none'") && !policy().contains('"'),
            "{}",
            policy()
        );
    }

    #[test]
    fn four_digits_are_kept() {
        assert_eq!([1234567.0, 12.34567, 0.00123456, 0.0].map(round), [1_235_000.0, 12.35, 0.001235, 0.0]);
    }
}
