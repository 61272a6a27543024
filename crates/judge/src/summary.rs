//! Figures for tables and charts, pooled over trials: what a load tester would print.
//!
//! They decide nothing: verdicts compare trials block by block.

use crate::soundness::{measurement, used_trials};
use record::database::DatabaseUsage;
use record::judgement::{Curve, DatabaseUse, Row, StartUp, WarmUp};
use record::{Measurement, Record, Trial, WarmUpWindow, Warmup};
use spec::name::ContenderName;
use stats::{Histogram, mean, median, smallest_sample, supported_quantiles};
use std::collections::BTreeMap;

/// Lists the used measurements of each cell and contender that have some.
fn groups(record: &Record) -> impl Iterator<Item = (&str, &ContenderName, Vec<&Measurement>)> {
    let names = move || record.header.contenders.iter().map(|p| &p.name);
    record.header.experiment.cells.iter().flat_map(move |cell| {
        names().filter_map(move |name| {
            let found: Vec<&Measurement> =
                used_trials(record, name).filter_map(|t| measurement(t, &cell.name)).collect();
            (!found.is_empty()).then_some((cell.name.as_str(), name, found))
        })
    })
}

fn pooled(measurements: &[&Measurement]) -> Histogram {
    let mut all = Histogram::new();
    measurements.iter().for_each(|m| all.merge(m.times()));
    all
}

/// Returns a row for each cell and contender, as a load tester prints it.
pub(crate) fn rows(record: &Record) -> Vec<Row> {
    groups(record)
        .map(|(cell, contender, all)| {
            let times = pooled(&all);
            let ms = |ns: f64| ns / 1e6;
            let quantile = |q: f64| {
                (times.len() >= smallest_sample(q)).then(|| ms(times.quantile_ns(q) as f64))
            };
            let average = |of: &dyn Fn(&Measurement) -> f64| {
                mean(&all.iter().map(|m| of(m)).collect::<Vec<_>>()).unwrap_or(0.0)
            };
            let sum = |of: &dyn Fn(&Measurement) -> u64| all.iter().map(|m| of(m)).sum::<u64>();
            let seconds = |m: &Measurement| m.duration_ns as f64 / 1e9;
            let correct = sum(&|m| m.counts.correct);
            let mut errors: Vec<(String, u64)> = Vec::new();
            for (kind, count) in all
                .iter()
                .flat_map(|m| m.counts.parts())
                .filter(|(kind, n)| *kind != "correct" && *n > 0)
            {
                match errors.iter_mut().find(|(k, _)| k == kind) {
                    Some((_, total)) => *total += count,
                    None => errors.push((kind.to_owned(), count)),
                }
            }
            Row {
                cell: cell.to_owned(),
                contender: contender.clone(),
                samples: correct,
                standard_deviation_ms: ms(times.deviation_ns()),
                throughput_per_s: average(&|m| m.throughput_per_s()),
                average_ms: ms(times.mean_ns()),
                min_ms: ms(times.min_ns() as f64),
                p50_ms: quantile(0.5),
                p95_ms: quantile(0.95),
                p99_ms: quantile(0.99),
                max_ms: ms(times.max_ns() as f64),
                received_kb_per_s: average(&|m| m.received_bytes as f64 / 1e3 / seconds(m)),
                average_bytes: sum(&|m| m.received_bytes) as f64 / correct.max(1) as f64,
                cpu_percent: average(&|m| 100.0 * m.usage.cpus_used()),
                cpu_us_per_request: (correct > 0 && all.iter().all(|m| m.usage.is_known()))
                    .then(|| sum(&|m| m.usage.cpu_ns) as f64 / 1e3 / correct as f64),
                threads: all.iter().map(|m| m.usage.threads_max).max().unwrap_or(0),
                memory_mb: all.iter().map(|m| m.usage.rss_max_bytes).max().unwrap_or(0) as f64
                    / 1e6,
                errors,
            }
        })
        .collect()
}

/// Returns what the database used.
pub(crate) fn databases(record: &Record) -> Vec<DatabaseUse> {
    let used = groups(record).filter_map(|(cell, contender, all)| {
        let used: Vec<(&DatabaseUsage, u64)> =
            all.iter().filter_map(|m| Some((m.database.as_ref()?, m.counts.correct))).collect();
        let shares: Vec<f64> = used
            .iter()
            .map(|(used, _)| 100.0 * used.cpu_ns as f64 / used.wall_ns.max(1) as f64)
            .collect();
        let correct: u64 = used.iter().map(|(_, correct)| correct).sum();
        let cpu_ns: u64 = used.iter().map(|(used, _)| used.cpu_ns).sum();
        Some(DatabaseUse {
            cell: cell.to_owned(),
            contender: contender.clone(),
            cpu_percent: mean(&shares)?,
            cpu_us_per_request: (correct > 0).then(|| cpu_ns as f64 / 1e3 / correct as f64),
            memory_mb: used.iter().map(|(used, _)| used.memory_max_bytes).max()? as f64 / 1e6,
            processes: used.iter().map(|(used, _)| used.processes_max).max()?,
        })
    });
    used.collect()
}

/// Returns the quantiles of a curve: evenly spaced on the axis of 1/(1 − q), from 0 to five nines.
fn curve_quantiles() -> Vec<f64> {
    (0..=100).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 20.0)).collect()
}

pub(crate) fn curves(record: &Record) -> Vec<Curve> {
    let quantiles = curve_quantiles();
    groups(record)
        .map(|(cell, contender, all)| {
            let times = pooled(&all);
            let points = supported_quantiles(times.len(), &quantiles)
                .map(|q| (q, times.quantile_ns(q) as f64 / 1e6))
                .collect();
            Curve {
                cell: cell.to_owned(),
                contender: contender.clone(),
                points,
                samples: times.len(),
            }
        })
        .collect()
}

pub(crate) fn starts(record: &Record) -> Vec<StartUp> {
    let of = |name: &ContenderName| {
        let ready = record
            .trials
            .iter()
            .filter(|t: &&Trial| t.contender == *name)
            .filter_map(|t| t.ready_after_ns);
        let ms: Vec<f64> = ready.map(|ns| ns as f64 / 1e6).collect();
        Some(StartUp {
            contender: name.clone(),
            median_ms: median(&ms)?,
            min_ms: ms.iter().copied().reduce(f64::min)?,
            max_ms: ms.iter().copied().reduce(f64::max)?,
        })
    };
    record.header.contenders.iter().filter_map(|p| of(&p.name)).collect()
}

pub(crate) fn warmups(record: &Record) -> Vec<WarmUp> {
    record.header.contenders.iter().filter_map(|p| warmup(record, &p.name)).collect()
}

fn warmup(record: &Record, name: &ContenderName) -> Option<WarmUp> {
    let all: Vec<&Warmup> = record
        .trials
        .iter()
        .filter(|t| t.contender == *name)
        .filter_map(|t| t.warmup.as_ref())
        .collect();
    let mut classes = BTreeMap::new();
    all.iter().for_each(|w| *classes.entry(w.class).or_insert(0) += 1);
    let typical = |of: &dyn Fn(&Warmup) -> Option<f64>| {
        median(&all.iter().filter_map(|w| of(w)).collect::<Vec<_>>())
    };
    (!all.is_empty()).then(|| WarmUp {
        contender: name.clone(),
        classes: classes.into_iter().collect(),
        steady_after_s: typical(&|w| w.steady_after_ns.map(|ns| ns as f64 / 1e9)),
        cold_cpu_us: typical(&cold_cpu_us),
        steady_cpu_us: typical(&steady_cpu_us),
        cold_max_ms: typical(&|w| Some(w.windows.first()?.max_ns? as f64 / 1e6)),
    })
}

/// Returns the CPU time per correct response in the first second of load, in microseconds.
pub(crate) fn cold_cpu_us(warmup: &Warmup) -> Option<f64> {
    cpu_us(warmup.windows.iter().take(1))
}

/// Returns the same in the steady state, if one was found.
pub(crate) fn steady_cpu_us(warmup: &Warmup) -> Option<f64> {
    let since = warmup.steady_after_ns?;
    cpu_us(warmup.windows.iter().filter(|window| window.at_ns >= since))
}

fn cpu_us<'w>(windows: impl Iterator<Item = &'w WarmUpWindow>) -> Option<f64> {
    let (correct, cpu_ns) =
        windows.fold((0, 0), |(correct, cpu_ns), w| (correct + w.correct, cpu_ns + w.cpu_ns));
    (correct > 0 && cpu_ns > 0).then(|| cpu_ns as f64 / 1e3 / correct as f64)
}
