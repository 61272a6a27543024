//! A record and its judgement as tables, for CSV and Parquet. Start with [`table`], which makes any
//! of them.

use super::source::Source;
use record::{Measurement, Record, Trial};
use stats::{Histogram, smallest_sample};

/// The subject of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Contender against baseline, by cell and metric.
    Verdicts,
    /// The experiment's claims.
    Claims,
    /// Each cell of each trial.
    Measurements,
    /// Each second of each measurement.
    Seconds,
    /// Latency by quantile, over the used trials of a contender in a cell.
    Quantiles,
    /// Each start of each contender.
    Starts,
}

impl Of {
    /// Every subject.
    pub const ALL: [Of; 6] =
        [Of::Verdicts, Of::Claims, Of::Measurements, Of::Seconds, Of::Quantiles, Of::Starts];
}

/// The kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// True or false.
    Flag,
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// In a column of text.
    Text(String),
    /// In a column of whole numbers.
    Whole(u64),
    /// In a column of numbers; always finite.
    Number(f64),
    /// In a column of true and false.
    Flag(bool),
    /// No value.
    Nothing,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the columns, with their units, and their kinds.
    pub columns: Vec<(&'static str, Kind)>,
    /// The rows, with one value for each column.
    pub rows: Vec<Vec<Field>>,
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Field {
        Field::Whole(number)
    }
}

impl From<f64> for Field {
    fn from(number: f64) -> Field {
        if number.is_finite() { Field::Number(number) } else { Field::Nothing }
    }
}

impl From<bool> for Field {
    fn from(flag: bool) -> Field {
        Field::Flag(flag)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Field {
        value.map_or(Field::Nothing, Into::into)
    }
}

/// A column's name and kind, and its value in a row.
type Column = (&'static str, Kind, Field);

fn text(name: &'static str, value: impl Into<Field>) -> Column {
    (name, Kind::Text, value.into())
}

fn whole(name: &'static str, value: impl Into<Field>) -> Column {
    (name, Kind::Whole, value.into())
}

fn number(name: &'static str, value: impl Into<Field>) -> Column {
    (name, Kind::Number, value.into())
}

fn flag(name: &'static str, value: impl Into<Field>) -> Column {
    (name, Kind::Flag, value.into())
}

/// Puts rows under their columns, after the columns of the run. `empty` is a row without values,
/// which has the names of the columns.
fn put_together(
    record: &Record,
    empty: Vec<Column>,
    rows: impl Iterator<Item = Vec<Column>>,
) -> Table {
    let run = || {
        [
            text("record", record.header.id.as_str()),
            text("experiment", record.header.experiment.name.as_str()),
        ]
    };
    let columns = run().into_iter().chain(empty).map(|(name, kind, _)| (name, kind)).collect();
    let rows =
        rows.map(|row| run().into_iter().chain(row).map(|(_, _, value)| value).collect()).collect();
    Table { columns, rows }
}

/// Makes a table of a record.
pub fn table(source: &Source<'_>, of: Of) -> Table {
    match of {
        Of::Verdicts => verdicts(source),
        Of::Claims => claims(source),
        Of::Measurements => measurements(source),
        Of::Seconds => seconds(source),
        Of::Quantiles => quantiles(source),
        Of::Starts => starts(source),
    }
}

fn verdicts(source: &Source<'_>) -> Table {
    let row = |v: Option<&record::judgement::Verdict>| {
        let about = v.map(|v| v.metric.describe());
        let interval = v.and_then(|v| v.interval);
        let (t, bootstrap) = (v.and_then(|v| v.interval_t), v.and_then(|v| v.interval_bootstrap));
        vec![
            text("cell", v.and_then(|v| v.cell.as_deref())),
            text("contender", v.map(|v| v.contender.to_string())),
            text("baseline", v.map(|v| v.baseline.to_string())),
            text("metric", about.map(|a| a.name)),
            text("unit", about.map(|a| a.unit)),
            flag("lower_is_better", about.map(|a| a.lower_is_better)),
            text("outcome", v.map(|v| v.outcome.name())),
            text("reason", v.map(|v| v.reason.as_str())),
            number("ratio", v.and_then(|v| v.ratio)),
            number("ratio_low", interval.map(|i| i.low)),
            number("ratio_high", interval.map(|i| i.high)),
            number("confidence", v.map(|v| v.confidence)),
            number("t_low", t.map(|i| i.low)),
            number("t_high", t.map(|i| i.high)),
            number("bootstrap_low", bootstrap.map(|i| i.low)),
            number("bootstrap_high", bootstrap.map(|i| i.high)),
            number("sign_flip_p", v.and_then(|v| v.sign_flip_p)),
            number("difference", v.and_then(|v| v.difference)),
            number("value", v.and_then(|v| v.value)),
            number("baseline_value", v.and_then(|v| v.baseline_value)),
            number("margin", v.map(|v| v.margin)),
            whole("blocks_used", v.map(|v| v.used as u64)),
            whole("blocks_excluded", v.map(|v| v.excluded as u64)),
            whole("blocks_invalidated", v.map(|v| v.invalidated as u64)),
            whole("blocks_needed", v.and_then(|v| v.blocks_needed).map(|n| n as u64)),
        ]
    };
    let chosen =
        source.judgement.verdicts.iter().filter(|v| source.has(v.cell.as_deref(), &v.contender));
    put_together(source.record, row(None), chosen.map(|v| row(Some(v))))
}

fn claims(source: &Source<'_>) -> Table {
    let row = |c: Option<&record::judgement::ClaimVerdict>| {
        vec![
            text("claim", c.map(|c| c.claim.text.as_str())),
            text("contender", c.map(|c| c.claim.contender.to_string())),
            text("metric", c.map(|c| c.claim.metric.describe().name)),
            text("expects", c.map(|c| c.claim.expected())),
            text("outcome", c.map(|c| c.outcome.name())),
            text("reason", c.map(|c| c.reason.as_str())),
            number("p", c.and_then(|c| c.p)),
            number("p_adjusted", c.and_then(|c| c.p_adjusted)),
        ]
    };
    // A claim may be about several cells: it is kept if one of them was chosen.
    let speaks = |c: &&record::judgement::ClaimVerdict| {
        source.has_contender(&c.claim.contender)
            && (source.cells.is_empty() || c.cells.iter().any(|of| source.has_cell(Some(&of.cell))))
    };
    put_together(
        source.record,
        row(None),
        source.judgement.claims.iter().filter(speaks).map(|c| row(Some(c))),
    )
}

/// The block, the contender and the cell of a measurement.
fn place(made: Option<(&Trial, &Measurement)>) -> Vec<Column> {
    vec![
        whole("block", made.map(|(t, _)| u64::from(t.block))),
        text("contender", made.map(|(t, _)| t.contender.to_string())),
        text("cell", made.map(|(_, m)| m.cell.as_str())),
    ]
}

const MS: f64 = 1e6;

/// The figures of a histogram, without quantiles for which it has too few samples.
fn times(names: [&'static str; 7], of: Option<&Histogram>) -> Vec<Column> {
    let of = of.filter(|times| !times.is_empty());
    let quantile = |q: f64| {
        of.filter(|times| times.len() >= smallest_sample(q))
            .map(|times| times.quantile_ns(q) as f64 / MS)
    };
    let values = [
        of.map(|times| times.min_ns() as f64 / MS),
        of.map(|times| times.mean_ns() / MS),
        of.map(|times| times.deviation_ns() / MS),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        of.map(|times| times.max_ns() as f64 / MS),
    ];
    names.into_iter().zip(values).map(|(name, value)| number(name, value)).collect()
}

const LATENCY: [&str; 7] = [
    "latency_min_ms",
    "latency_mean_ms",
    "latency_deviation_ms",
    "latency_p50_ms",
    "latency_p95_ms",
    "latency_p99_ms",
    "latency_max_ms",
];
const SERVICE: [&str; 7] = [
    "service_min_ms",
    "service_mean_ms",
    "service_deviation_ms",
    "service_p50_ms",
    "service_p95_ms",
    "service_p99_ms",
    "service_max_ms",
];

fn measurements(source: &Source<'_>) -> Table {
    let row = |made: Option<(&Trial, &Measurement, Option<&str>)>| {
        let m = made.map(|(_, m, _)| m);
        let seconds = |ns: fn(&Measurement) -> u64| m.map(|m| ns(m) as f64 / 1e9);
        let mut columns = place(made.map(|(t, m, _)| (t, m)));
        columns.extend([
            whole("position", m.map(|m| u64::from(m.position))),
            text("trial_started_at", made.map(|(t, _, _)| t.started_at.as_str())),
            flag("used", made.map(|(_, _, excluded)| excluded.is_none())),
            text("excluded_because", made.and_then(|(_, _, excluded)| excluded)),
            number("began_after_s", seconds(|m| m.began_after_ns)),
            number("duration_s", seconds(|m| m.duration_ns)),
            whole("scheduled", m.map(|m| m.counts.scheduled)),
            whole("unsent", m.map(|m| m.counts.unsent)),
            whole("correct", m.map(|m| m.counts.correct)),
            whole("wrong", m.map(|m| m.counts.wrong)),
            whole("declined", m.map(|m| m.counts.declined)),
            whole("refused", m.map(|m| m.counts.refused)),
            whole("broken", m.map(|m| m.counts.broken)),
            whole("timed_out", m.map(|m| m.counts.timed_out)),
            whole("unfinished", m.map(|m| m.counts.unfinished)),
            whole("received_bytes", m.map(|m| m.received_bytes)),
        ]);
        columns.extend(times(LATENCY, m.and_then(|m| m.latency.as_ref())));
        columns.extend(times(SERVICE, m.map(|m| &m.service)));
        columns.extend([
            number("cpu_s", seconds(|m| m.usage.cpu_ns)),
            number("upstream_cpu_s", m.and_then(|m| m.upstream_cpu_ns).map(|ns| ns as f64 / 1e9)),
            whole("memory_max_bytes", m.map(|m| m.usage.rss_max_bytes)),
            whole("threads_max", m.map(|m| m.usage.threads_max)),
            whole("descriptors_max", m.map(|m| m.usage.descriptors_max)),
            number("generator_cpu_s", seconds(|m| m.generator.cpu_ns)),
            number("generator_spun_s", seconds(|m| m.generator.spun_ns)),
            whole("in_flight_max", m.map(|m| m.generator.in_flight_max)),
            whole("connections_opened", m.map(|m| m.generator.connections_opened)),
        ]);
        columns
    };
    let rows = source
        .all_measurements()
        .map(|(made, excluded)| row(Some((made.trial, made.measurement, excluded))));
    put_together(source.record, row(None), rows)
}

fn seconds(source: &Source<'_>) -> Table {
    let row = |made: Option<(&Trial, &Measurement)>, second: Option<(u64, &record::Second)>| {
        let of = second.map(|(_, s)| s);
        let mut columns = place(made);
        columns.extend([
            whole("second", second.map(|(number, _)| number)),
            whole("correct", of.map(|s| s.correct)),
            whole("not_correct", of.map(|s| s.not_correct)),
            number("p50_ms", of.and_then(|s| s.p50_ns).map(|ns| ns as f64 / MS)),
            number("p99_ms", of.and_then(|s| s.p99_ns).map(|ns| ns as f64 / MS)),
            number("max_ms", of.and_then(|s| s.max_ns).map(|ns| ns as f64 / MS)),
        ]);
        columns
    };
    let all = source.all_measurements().map(|(made, _)| made);
    let rows = all.flat_map(|made| {
        (0u64..)
            .zip(&made.measurement.seconds)
            .map(move |second| row(Some((made.trial, made.measurement)), Some(second)))
    });
    put_together(source.record, row(None, None), rows)
}

fn quantiles(source: &Source<'_>) -> Table {
    let row = |of: Option<(&record::judgement::Curve, (f64, f64))>| {
        vec![
            text("cell", of.map(|(curve, _)| curve.cell.as_str())),
            text("contender", of.map(|(curve, _)| curve.contender.to_string())),
            whole("samples", of.map(|(curve, _)| curve.samples)),
            number("quantile", of.map(|(_, (quantile, _))| quantile)),
            number("ms", of.map(|(_, (_, ms))| ms)),
        ]
    };
    let curves = source
        .judgement
        .curves
        .iter()
        .filter(|curve| source.has(Some(&curve.cell), &curve.contender));
    let rows =
        curves.flat_map(|curve| curve.points.iter().map(move |point| row(Some((curve, *point)))));
    put_together(source.record, row(None), rows)
}

fn starts(source: &Source<'_>) -> Table {
    let row = |of: Option<(&Trial, Option<&str>)>| {
        let trial = of.map(|(trial, _)| trial);
        let warmup = trial.and_then(|t| t.warmup.as_ref());
        vec![
            whole("block", trial.map(|t| u64::from(t.block))),
            whole("position", trial.map(|t| u64::from(t.position))),
            text("contender", trial.map(|t| t.contender.to_string())),
            text("started_at", trial.map(|t| t.started_at.as_str())),
            flag("used", of.map(|(_, excluded)| excluded.is_none())),
            text("excluded_because", of.and_then(|(_, excluded)| excluded)),
            number("ready_after_ms", trial.and_then(|t| t.ready_after_ns).map(|ns| ns as f64 / MS)),
            text("warmup", warmup.map(|w| w.class.name())),
            number(
                "steady_after_s",
                warmup.and_then(|w| w.steady_after_ns).map(|ns| ns as f64 / 1e9),
            ),
            whole("warmed_with", trial.map(|t| t.warmed_with)),
            text(
                "stopped_with",
                trial.and_then(|t| t.stop.as_ref()).map(|stop| stop.status.as_str()),
            ),
            text(
                "failed_because",
                trial.and_then(|t| t.failure.as_ref()).map(|failure| failure.cause.as_str()),
            ),
        ]
    };
    put_together(source.record, row(None), source.trials().map(|of| row(Some(of))))
}

/// Writes a table as CSV, with the names of the columns first. Missing values are empty.
pub fn csv(table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = "memory takes all that is written";
    writer.write_record(table.columns.iter().map(|(name, _)| *name)).expect(written);
    for row in &table.rows {
        let texts = row.iter().map(|field| match field {
            Field::Text(text) => text.clone(),
            Field::Whole(number) => number.to_string(),
            Field::Number(number) => number.to_string(),
            Field::Flag(flag) => flag.to_string(),
            Field::Nothing => String::new(),
        });
        writer.write_record(texts).expect(written);
    }
    String::from_utf8(writer.into_inner().expect(written)).expect("text is written")
}
