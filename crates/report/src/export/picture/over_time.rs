//! Panels of trials over time: starts, warm-up, and readings by second and by sample.
//!
//! Each trial is one line of a panel, and each cell is one panel, so that drift between trials is
//! visible. Start with `readings`; `trials` puts the whole course of a trial on one axis.

use crate::chart::panel::{Axis, NAMES, Panel, Series};
use crate::chart::scales::{Scale, is_drawable};
use crate::export::source::{Made, Source};
use record::{Measurement, Second, Trial, WarmUpWindow};

/// A reading over the time of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Correct responses per second.
    Rate,
    /// Median latency of each second.
    P50,
    /// 99th percentile of latency of each second.
    P99,
    /// Maximum latency of each second.
    Max,
    /// CPU time used, as a share of one CPU.
    Cpu,
    /// Resident memory.
    Memory,
    /// Threads.
    Threads,
    /// Open descriptors.
    Descriptors,
}

impl Reading {
    /// Its name with its unit; `timed` is `latency` or `service time`.
    fn name(self, timed: &str) -> String {
        match self {
            Reading::Rate => "correct responses, /s".into(),
            Reading::P50 => format!("median {timed}, ms, log scale"),
            Reading::P99 => format!("99th percentile of {timed}, ms, log scale"),
            Reading::Max => format!("maximum {timed}, ms, log scale"),
            Reading::Cpu => "CPU, % of one".into(),
            Reading::Memory => "resident memory, MB".into(),
            Reading::Threads => "threads".into(),
            Reading::Descriptors => "open descriptors".into(),
        }
    }

    fn is_latency(self) -> bool {
        matches!(self, Reading::P50 | Reading::P99 | Reading::Max)
    }

    /// Seconds from the start of a measurement, with values.
    fn of_measurement(self, m: &Measurement) -> Vec<(f64, f64)> {
        let by_second = |value: fn(&Second) -> Option<f64>| -> Vec<(f64, f64)> {
            (1u32..)
                .zip(&m.seconds)
                .filter_map(|(end, second)| Some((f64::from(end), value(second)?)))
                .collect()
        };
        let of_samples = |column: &[u64], scale: f64| -> Vec<(f64, f64)> {
            m.usage
                .t_ns
                .iter()
                .zip(column)
                .skip(1)
                .map(|(t, value)| (*t as f64 / 1e9, *value as f64 / scale))
                .collect()
        };
        let ms = |ns: u64| ns as f64 / 1e6;
        match self {
            Reading::Rate => by_second(|s| Some(s.correct as f64)),
            Reading::P50 => by_second(|s| s.p50_ns.map(|ns| ns as f64 / 1e6)),
            Reading::P99 => by_second(|s| s.p99_ns.map(|ns| ns as f64 / 1e6)),
            Reading::Max => by_second(|s| s.max_ns.map(|ns| ns as f64 / 1e6)),
            Reading::Cpu => {
                let samples: Vec<(f64, f64)> = m
                    .usage
                    .t_ns
                    .iter()
                    .zip(&m.usage.cpu_ns_at)
                    .map(|(t, cpu)| (ms(*t), ms(*cpu)))
                    .collect();
                let share = |from: (f64, f64), to: (f64, f64)| {
                    (to.0 / 1e3, 100.0 * (to.1 - from.1) / (to.0 - from.0))
                };
                samples
                    .windows(2)
                    .filter(|two| two[1].0 > two[0].0)
                    .map(|two| share(two[0], two[1]))
                    .collect()
            }
            Reading::Memory => of_samples(&m.usage.rss_bytes_at, 1e6),
            Reading::Threads => of_samples(&m.usage.threads_at, 1.0),
            Reading::Descriptors => of_samples(&m.usage.descriptors_at, 1.0),
        }
    }
}

/// One line for each trial, one panel for each cell.
pub(super) fn readings(source: &Source<'_>, reading: Reading) -> Vec<Panel> {
    let mut cells: Vec<(&str, Vec<Series>)> = Vec::new();
    for (Made { trial, measurement }, excluded) in source.all_measurements() {
        let mut line = reading.of_measurement(measurement);
        line.retain(|(_, value)| {
            if reading.is_latency() {
                is_drawable(*value)
            } else {
                value.is_finite() && *value >= 0.0
            }
        });
        if line.is_empty() {
            continue;
        }
        let series = Series {
            who: trial.contender.to_string(),
            line,
            is_unused: excluded.is_some(),
            ..Series::default()
        };
        match cells.iter_mut().find(|(cell, _)| *cell == measurement.cell) {
            Some((_, all)) => all.push(series),
            None => cells.push((measurement.cell.as_str(), vec![series])),
        }
    }
    // Cells are measured in random order.
    let place = |name: &str| {
        source.record.header.experiment.cells.iter().position(|cell| cell.name == name)
    };
    cells.sort_by_key(|(cell, _)| place(cell));
    let panel = |(cell, series): (&str, Vec<Series>)| {
        let y = reading.name(source.times_of(cell));
        over(cell, "s from the start of the measurement", y, reading.is_latency(), series)
    };
    cells.into_iter().map(panel).collect()
}

/// Lines over time.
fn over(title: &str, x: &str, y: String, is_log: bool, series: Vec<Series>) -> Panel {
    let times = series.iter().flat_map(|s| &s.line).map(|(t, _)| *t);
    let values = series.iter().flat_map(|s| &s.line).map(|(_, value)| *value);
    Panel {
        title: title.to_owned(),
        x: Axis { name: x.to_owned(), scale: Scale::with_zero(times) },
        y: Axis {
            name: y,
            scale: if is_log { Scale::logarithmic(values) } else { Scale::with_zero(values) },
        },
        has_rows: false,
        pointers: Vec::new(),
        series,
    }
}

/// The windows of each start's warm-up: CPU time per response, and maximum service time.
pub(super) fn warm_ups(source: &Source<'_>) -> Vec<Panel> {
    let lines = |value: fn(&WarmUpWindow) -> Option<f64>| -> Vec<Series> {
        let line = |trial: &Trial| -> Vec<(f64, f64)> {
            let windows = trial.warmup.iter().flat_map(|warmup| &warmup.windows);
            windows
                .filter_map(|w| Some((w.at_ns as f64 / 1e9, value(w)?)))
                .filter(|(_, value)| is_drawable(*value))
                .collect()
        };
        let all = source.trials().map(|(trial, excluded)| Series {
            who: trial.contender.to_string(),
            line: line(trial),
            is_unused: excluded.is_some(),
            ..Series::default()
        });
        all.filter(|series| !series.line.is_empty()).collect()
    };
    let cost = lines(|w| (w.correct > 0).then(|| w.cpu_ns as f64 / 1e3 / w.correct as f64));
    let longest = lines(|w| w.max_ns.map(|ns| ns as f64 / 1e6));
    let x = "s of load since the first correct response";
    let panels = [
        over(
            "CPU per correct response during warm-up",
            x,
            "CPU per correct response, µs, log scale".into(),
            true,
            cost,
        ),
        over(
            "Maximum service time during warm-up",
            x,
            "maximum service time, ms, log scale".into(),
            true,
            longest,
        ),
    ];
    panels.into_iter().filter(|panel| !panel.series.is_empty()).collect()
}

/// Each trial on one axis: its warm-up, its cells, its first correct response and its steady state.
/// Older records do not have the beginning of a cell, so they show no cells.
pub(super) fn trials(source: &Source<'_>) -> Vec<Panel> {
    source
        .trials()
        .filter_map(|(trial, excluded)| whole(source, trial, excluded.is_some()))
        .collect()
}

fn whole(source: &Source<'_>, trial: &Trial, is_unused: bool) -> Option<Panel> {
    let ready_s = trial.ready_after_ns? as f64 / 1e9;
    let windows = trial.warmup.iter().flat_map(|warmup| &warmup.windows);
    let warming =
        windows.filter_map(|w| Some((ready_s + w.at_ns as f64 / 1e9, w.p50_ns? as f64 / 1e6)));
    let mut series = vec![Series {
        who: "warm-up".into(),
        line: warming.collect(),
        is_unused,
        ..Series::default()
    }];
    for m in
        trial.measurements.iter().filter(|m| source.has_cell(Some(&m.cell)) && m.began_after_ns > 0)
    {
        let began_s = m.began_after_ns as f64 / 1e9;
        let line =
            Reading::P50.of_measurement(m).into_iter().map(|(t, ms)| (began_s + t, ms)).collect();
        series.push(Series { who: m.cell.clone(), line, is_unused, ..Series::default() });
    }
    series.iter_mut().for_each(|s| s.line.retain(|(_, ms)| is_drawable(*ms)));
    series.retain(|s| !s.line.is_empty());
    let steady = trial
        .warmup
        .as_ref()
        .and_then(|warmup| warmup.steady_after_ns)
        .map(|ns| (ready_s + ns as f64 / 1e9, "steady".to_owned()));
    let title = format!(
        "{}, block {}{}",
        trial.contender,
        trial.block,
        if is_unused { ", which no verdict uses" } else { "" }
    );
    let panel = over(
        &title,
        "s from the start of the process",
        "median, ms, log scale".into(),
        true,
        series,
    );
    let pointers =
        std::iter::once((ready_s, "first correct response".to_owned())).chain(steady).collect();
    (!panel.series.is_empty()).then_some(Panel { pointers, ..panel })
}

/// The first correct response of each start and, with a small mark, its steady state.
pub(super) fn starts(source: &Source<'_>) -> Vec<Panel> {
    let mut names: Vec<String> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for (trial, excluded) in source.trials() {
        let Some(ready_ns) = trial.ready_after_ns.filter(|ns| *ns > 0) else { continue };
        let who = trial.contender.to_string();
        let row = match names.iter().position(|name| *name == who) {
            Some(row) => row,
            None if names.len() == NAMES => continue,
            None => {
                names.push(who.clone());
                names.len() - 1
            }
        };
        let at = |ns: u64| (ns as f64 / 1e6, Scale::row(row));
        let steady = trial
            .warmup
            .as_ref()
            .and_then(|warmup| warmup.steady_after_ns)
            .and_then(|ns| ready_ns.checked_add(ns));
        series.push(Series {
            who,
            marks: vec![at(ready_ns)],
            dots: steady.map(at).into_iter().collect(),
            is_unused: excluded.is_some(),
            ..Series::default()
        });
    }
    if names.is_empty() {
        return Vec::new();
    }
    let values = series.iter().flat_map(|s| s.marks.iter().chain(&s.dots)).map(|(ms, _)| *ms);
    vec![Panel {
        title:
            "From the start of the process to the first correct response; small: to the steady state"
                .into(),
        x: Axis { name: "ms, log scale".into(), scale: Scale::logarithmic(values) },
        y: Axis { name: "one mark for each start".into(), scale: Scale::rows(&names) },
        has_rows: true,
        pointers: Vec::new(),
        series,
    }]
}
