//! JMeter: samples as CSV (JTL), the tables of its listeners saved as CSV, and the lines that it prints while it runs.

use super::Output;
use crate::article::{Figure, Latency, Load, Row, Tool};
use crate::units::show_number;
use stats::{Histogram, smallest_sample};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;

/// The most bytes of one sample.
const LONGEST_SAMPLE: usize = 1 << 20;
/// The most labels that are kept apart.
const MOST_LABELS: usize = 1_000;

/// Whether this is the beginning of a list of samples.
pub fn is_samples(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(line);
    let has = |name: &str| header.split(',').any(|column| column.trim().trim_matches('"') == name);
    has("timeStamp") && has("elapsed")
}

/// What the samples of one label come to.
struct Label {
    times: Histogram,
    errors: u64,
    bytes: u64,
    /// When the first began and the last ended, in ms.
    span_ms: (u64, u64),
    threads: u64,
}

/// Fails when a sample is longer than any.
struct Bounded<R> {
    input: R,
    since_sample: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.since_sample.set(self.since_sample.get() + read);
        if self.since_sample.get() > LONGEST_SAMPLE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a sample is longer than a megabyte"));
        }
        Ok(read)
    }
}

/// Sums samples up by label; memory does not grow with their number.
pub fn samples(input: impl Read) -> Result<Vec<Row>, String> {
    let since_sample = Rc::new(Cell::new(0));
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(Bounded { input, since_sample: since_sample.clone() });
    let header = reader.headers().map_err(|e| e.to_string())?.clone();
    let column = |name: &str| header.iter().position(|column| column.trim() == name);
    let (Some(at), Some(elapsed)) = (column("timeStamp"), column("elapsed")) else { return Err("a column is missing".into()) };
    let (label, success, bytes, threads) = (column("label"), column("success"), column("bytes"), column("allThreads"));
    let mut labels: BTreeMap<String, Label> = BTreeMap::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| e.to_string())? {
        since_sample.set(0);
        let number = |column: Option<usize>| column.and_then(|c| record.get(c)).and_then(|text| text.trim().parse::<u64>().ok());
        let line = record.position().map_or(0, csv::Position::line);
        let (Some(began), Some(took)) = (number(Some(at)), number(Some(elapsed))) else {
            return Err(format!("line {line} has no timeStamp and elapsed in whole milliseconds"));
        };
        // A year of milliseconds: beyond it the sums could overflow.
        if took > 31_557_600_000 || began > u64::MAX / 2 {
            return Err(format!("line {line} has a time that cannot be"));
        }
        let name = label.and_then(|c| record.get(c)).unwrap_or("samples");
        if !labels.contains_key(name) {
            if labels.len() == MOST_LABELS {
                return Err(format!("there are more than {MOST_LABELS} labels"));
            }
            let empty = Label { times: Histogram::new(), errors: 0, bytes: 0, span_ms: (u64::MAX, 0), threads: 0 };
            labels.insert(name.to_owned(), empty);
        }
        let Some(sum) = labels.get_mut(name) else { continue };
        sum.times.record(took * 1_000_000);
        sum.errors += u64::from(success.and_then(|c| record.get(c)).is_some_and(|text| text.eq_ignore_ascii_case("false")));
        sum.bytes = sum.bytes.saturating_add(number(bytes).unwrap_or(0));
        sum.span_ms = (sum.span_ms.0.min(began), sum.span_ms.1.max(began + took));
        sum.threads = sum.threads.max(number(threads).unwrap_or(0));
    }
    Ok(labels.into_iter().map(|(name, sum)| row(name, &sum)).collect())
}

fn row(name: String, sum: &Label) -> Row {
    let n = sum.times.len();
    let seconds = (sum.span_ms.1 - sum.span_ms.0).max(1) as f64 / 1e3;
    let whole = |value: u64| Some(Figure::exact(value as f64, value.to_string()));
    let time = |ns: f64| Some(Figure::exact(ns / 1e9, format!("{} ms", show_number(ns / 1e6))));
    let quantile = |percent: f64| {
        let q = percent / 100.0;
        (n >= smallest_sample(q)).then(|| time(sum.times.quantile_ns(q) as f64)).flatten().map(|figure| (percent, figure))
    };
    Row {
        name,
        load: Load { users: Some(sum.threads).filter(|n| *n > 0), ..Load::default() },
        samples: whole(n),
        errors: whole(sum.errors),
        throughput: Some(Figure::exact(n as f64 / seconds, show_number(n as f64 / seconds))),
        received: whole(sum.bytes),
        latency: Latency {
            mean: time(sum.times.mean_ns()),
            deviation: time(sum.times.deviation_ns()),
            min: time(sum.times.min_ns() as f64),
            max: time(sum.times.max_ns() as f64),
            quantiles: [50.0, 90.0, 95.0, 99.0].into_iter().filter_map(quantile).collect(),
        },
        ..Row::default()
    }
}

/// The table of a listener saved as CSV, or the lines `summary =`.
pub fn summary(text: &str) -> Option<Output> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let rows = if first.contains("# Samples") { listener(text) } else { printed(text) };
    (!rows.is_empty()).then_some(Output {
        tool: Tool::Jmeter,
        rows,
        hint: Some("JMeter does not print its users: name them with --connections N"),
        depth_unsaid: false,
    })
}

fn listener(text: &str) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.trim_start().as_bytes());
    let Ok(header) = reader.headers().cloned() else { return Vec::new() };
    let mut rows = Vec::new();
    for record in reader.records().map_while(Result::ok).take(MOST_LABELS) {
        let cell = |name: &str| header.iter().position(|column| column.trim() == name).and_then(|c| record.get(c)).map(str::trim);
        let ms = |name: &str| cell(name).and_then(|text| Figure::time(&format!("{text}ms")).ok());
        let quantiles = [(50.0, "Median"), (90.0, "90% Line"), (95.0, "95% Line"), (99.0, "99% Line")];
        rows.push(Row {
            name: cell("Label").unwrap_or("samples").to_owned(),
            samples: cell("# Samples").and_then(|text| Figure::count(text).ok()),
            error_share: cell("Error %").and_then(|text| Figure::share(text).ok()),
            throughput: cell("Throughput").and_then(per_second),
            transfer: cell("Received KB/sec").and_then(|text| Figure::bytes(&format!("{text}KB")).ok()),
            bytes_per_answer: cell("Avg. Bytes").and_then(|text| Figure::bytes(&format!("{text}B")).ok()),
            latency: Latency {
                mean: ms("Average"),
                deviation: ms("Std. Dev."),
                min: ms("Min"),
                max: ms("Max"),
                quantiles: quantiles.into_iter().filter_map(|(percent, name)| Some((percent, ms(name)?))).collect(),
            },
            ..Row::default()
        });
    }
    rows
}

/// `100.778`, `100.8/sec`; `30.0/min` is shown in a unit that is left out.
fn per_second(text: &str) -> Option<Figure> {
    Figure::count(text.trim_end_matches("/sec")).ok()
}

/// The last line `summary = 30000 in 00:01:40 = 300.0/s Avg: 3 Min: 1 Max: 275 Err: 0 (0.00%)`.
fn printed(text: &str) -> Vec<Row> {
    let Some(line) = text.lines().rfind(|line| line.contains("summary = ") && line.contains("Avg:")) else { return Vec::new() };
    let words: Vec<&str> = line.split_whitespace().collect();
    let next = |word: &str| words.iter().position(|w| *w == word).and_then(|at| words.get(at + 1)).copied();
    let ms = |word: &str| next(word).and_then(|text| Figure::time(&format!("{text}ms")).ok());
    let rate = words.iter().find_map(|word| word.strip_suffix("/s"));
    vec![Row {
        name: "summary".into(),
        samples: next("=").and_then(|text| Figure::count(text).ok()),
        duration: next("in").and_then(lasted),
        throughput: rate.and_then(|text| Figure::count(text).ok()),
        errors: next("Err:").and_then(|text| Figure::count(text).ok()),
        error_share: words.iter().find_map(|w| w.strip_prefix('(')?.strip_suffix(')')).and_then(|text| Figure::share(text).ok()),
        latency: Latency { mean: ms("Avg:"), min: ms("Min:"), max: ms("Max:"), ..Latency::default() },
        ..Row::default()
    }]
}

/// `00:01:40` or `100s`, to the second.
fn lasted(text: &str) -> Option<Figure> {
    let mut seconds = 0u64;
    for part in text.trim_end_matches('s').split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    Figure::time(&format!("{seconds}s")).ok()
}
