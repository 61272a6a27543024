//! Trials and their measurements, as the report shows them: counts, and readings by second and by
//! sample. Columns may be shorter than others or decrease in a record that another program wrote.

use super::fact::{Fact, fact};
use super::warm_up::{Windows, windows};
use crate::number::{ms, round};
use record::judgement::Judgement;
use record::{Header, Record, Second};
use serde::Serialize;
use spec::name::ContenderName;
use spec::units::{show_number, show_share};
use stats::smallest_sample;

/// One fresh start of one contender.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Trial {
    contender: String,
    /// The block, from 1.
    block: u32,
    /// The place within its block, from 1.
    position: u32,
    valid: bool,
    /// Why no verdict uses it; empty if it is valid.
    reason: String,
    /// From the start of the process to the first correct response.
    ready_ms: Option<f64>,
    /// From the start of the process to the steady state.
    steady_ms: Option<f64>,
    /// Null in older records.
    warmup: Option<Windows>,
    stop: String,
    facts: Vec<Fact>,
    measurements: Vec<Measurement>,
}

/// One cell of a trial.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Measurement {
    cell: String,
    position: u32,
    counts: Counts,
    /// From the start of the process; null in older records.
    began_s: Option<f64>,
    lasted_s: f64,
    seconds: Seconds,
    usage: Usage,
    generator: Generator,
}

/// Requests by result. `scheduled` is the sum of the others.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Counts {
    scheduled: u64,
    unsent: u64,
    correct: u64,
    wrong: u64,
    declined: u64,
    refused: u64,
    broken: u64,
    timed_out: u64,
    unfinished: u64,
}

/// Readings in columns, with one entry for each second.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Seconds {
    t_s: Vec<usize>,
    rate_per_s: Vec<u64>,
    p50_ms: Vec<Option<f64>>,
    p99_ms: Vec<Option<f64>>,
    max_ms: Vec<Option<f64>>,
}

/// Readings of the process in columns, with one entry for each sample of 100 ms.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Usage {
    t_s: Vec<f64>,
    cpu_percent: Vec<f64>,
    memory_mb: Vec<f64>,
    threads: Vec<f64>,
    descriptors: Vec<f64>,
}

/// Readings of the load generator.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Generator {
    cpu_percent: f64,
    lag_p99_us: Option<f64>,
    in_flight_max: u64,
}

/// Returns whether a contender was already running, so that faceoff neither started nor stopped it.
pub(super) fn ran_already(header: &Header, name: &ContenderName) -> bool {
    header.contenders.iter().any(|p| p.name == *name && p.reached.is_some())
}

/// The trials in the order in which they were made.
pub(super) fn trials(record: &Record, judgement: &Judgement) -> Vec<Trial> {
    record.trials.iter().map(|t| trial(&record.header, judgement, t)).collect()
}

fn trial(header: &Header, judgement: &Judgement, t: &record::Trial) -> Trial {
    let no_stop = if ran_already(header, &t.contender) {
        "none: it was already running, and keeps running"
    } else {
        "never started"
    };
    let excluded =
        judgement.excluded.iter().find(|e| e.contender == t.contender && e.block == t.block);
    let stop = t.stop.as_ref().map_or_else(
        || no_stop.to_owned(),
        |s| format!("{} after {} ms", s.status, show_number(s.after_ns as f64 / 1e6)),
    );
    Trial {
        contender: t.contender.to_string(),
        block: t.block,
        position: t.position,
        valid: excluded.is_none(),
        reason: excluded.map_or_else(String::new, |e| e.reason.clone()),
        ready_ms: t.ready_after_ns.map(ms),
        steady_ms: steady_after_ns(t).map(ms),
        warmup: t.warmup.as_ref().map(windows),
        stop,
        facts: facts_of_trial(t),
        measurements: t.measurements.iter().map(measurement).collect(),
    }
}

/// When the steady state began, from the start of the process. The warm-up's load begins with the
/// first correct response.
fn steady_after_ns(t: &record::Trial) -> Option<u64> {
    t.ready_after_ns?.checked_add(t.warmup.as_ref()?.steady_after_ns?)
}

/// What no other place of the report shows of a trial.
fn facts_of_trial(t: &record::Trial) -> Vec<Fact> {
    let mut facts = vec![
        fact("began", t.started_at.clone()),
        fact("load average before", show_number(t.host.load_average)),
    ];
    facts.push(fact("CPU steal", show_share(t.host.steal_share)));
    facts.extend(
        t.host.start_steal_share.map(|share| fact("CPU steal while it started", show_share(share))),
    );
    facts.push(fact("correct responses during warm-up", t.warmed_with.to_string()));
    if !t.stolen.is_empty() {
        facts.push(fact(
            "measured again",
            format!("{} measurements, which the machine disturbed", t.stolen.len()),
        ));
    }
    if !t.pauses.is_empty() {
        let longest = t.pauses.iter().map(|p| p.duration_ns).max().unwrap_or(0);
        facts.push(fact(
            "pauses of its collector",
            format!("{}, the longest {} ms", t.pauses.len(), show_number(longest as f64 / 1e6)),
        ));
    }
    if let Some(failure) = &t.failure {
        facts.push(fact("failed", format!("{}: {}", failure.stage, failure.cause)));
        facts.extend(
            (!failure.log.is_empty()).then(|| fact("its last lines", failure.log.join("\n"))),
        );
    }
    facts
}

fn measurement(m: &record::Measurement) -> Measurement {
    Measurement {
        cell: m.cell.clone(),
        position: m.position,
        counts: counts(&m.counts),
        began_s: (m.began_after_ns > 0).then(|| round(m.began_after_ns as f64 / 1e9)),
        lasted_s: round(m.duration_ns as f64 / 1e9),
        seconds: seconds(&m.seconds),
        usage: usage(&m.usage),
        generator: generator(m),
    }
}

fn counts(counts: &record::Counts) -> Counts {
    let record::Counts {
        scheduled,
        unsent,
        correct,
        wrong,
        declined,
        refused,
        broken,
        timed_out,
        unfinished,
    } = *counts;
    Counts { scheduled, unsent, correct, wrong, declined, refused, broken, timed_out, unfinished }
}

fn seconds(seconds: &[Second]) -> Seconds {
    let column =
        |pick: fn(&Second) -> Option<u64>| seconds.iter().map(|s| pick(s).map(ms)).collect();
    Seconds {
        t_s: (1..=seconds.len()).collect(),
        rate_per_s: seconds.iter().map(|s| s.correct).collect(),
        p50_ms: column(|s| s.p50_ns),
        p99_ms: column(|s| s.p99_ns),
        max_ms: column(|s| s.max_ns),
    }
}

fn usage(usage: &record::Usage) -> Usage {
    // The CPU share of each stretch between two samples; the first sample has none before it.
    let samples: Vec<(u64, u64)> =
        usage.t_ns.iter().copied().zip(usage.cpu_ns_at.iter().copied()).collect();
    let share = |(from, before): (u64, u64), (to, after): (u64, u64)| {
        round(100.0 * after.saturating_sub(before) as f64 / to.saturating_sub(from).max(1) as f64)
    };
    let from_second = |column: &[u64], scale: f64| {
        column.iter().skip(1).map(|v| round(*v as f64 / scale)).collect::<Vec<f64>>()
    };
    Usage {
        t_s: from_second(&usage.t_ns, 1e9),
        cpu_percent: samples.windows(2).map(|pair| share(pair[0], pair[1])).collect(),
        memory_mb: from_second(&usage.rss_bytes_at, 1e6),
        threads: from_second(&usage.threads_at, 1.0),
        descriptors: from_second(&usage.descriptors_at, 1.0),
    }
}

fn generator(m: &record::Measurement) -> Generator {
    let busy = m.generator.busy_ns() as f64;
    let lag = m.generator.lag.as_ref().filter(|lag| lag.len() >= smallest_sample(0.99));
    Generator {
        cpu_percent: round(100.0 * busy / m.duration_ns as f64 / f64::from(m.generator.loops())),
        lag_p99_us: lag.map(|lag| round(lag.quantile_ns(0.99) as f64 / 1e3)),
        in_flight_max: m.generator.in_flight_max,
    }
}
