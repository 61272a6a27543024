//! Reads JMeter's samples as CSV (JTL), and the lines that it prints while it runs.
//!
//! A list of samples may have gigabytes, so it is summed up while it is read. Start with
//! [`samples`].

use super::paste::Line;
use super::run::{Format, Run, Slot, next_word, words};
use spec::article::{Figure, Latency, Load, Row, Tool};
use spec::units::show_number;
use stats::{Histogram, smallest_sample};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::rc::Rc;

/// The most bytes of one sample.
const LONGEST_SAMPLE: usize = 1 << 20;
/// The most labels that are kept separate.
const MOST_LABELS: usize = 1_000;

/// Returns whether this is the beginning of a list of samples.
pub fn is_samples(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(line);
    let has = |name: &str| header.split(',').any(|column| column.trim().trim_matches('"') == name);
    has("timeStamp") && has("elapsed")
}

/// The sums over the samples of one label.
struct Label {
    times: Histogram,
    errors: u64,
    bytes: u64,
    /// When the first began and the last ended, in ms.
    span_ms: (u64, u64),
    threads: u64,
}

/// Fails if a sample is longer than [`LONGEST_SAMPLE`].
struct Bounded<R> {
    input: R,
    since_sample: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.since_sample.set(self.since_sample.get() + read);
        if self.since_sample.get() > LONGEST_SAMPLE {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a sample is longer than a megabyte",
            ));
        }
        Ok(read)
    }
}

/// Sums up samples by label. Memory does not grow with their number.
pub fn samples(input: impl Read) -> Result<Vec<Row>, String> {
    let since_sample = Rc::new(Cell::new(0));
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(Bounded { input, since_sample: since_sample.clone() });
    let header = reader.headers().map_err(|e| e.to_string())?.clone();
    let column = |name: &str| header.iter().position(|column| column.trim() == name);
    let (Some(at), Some(elapsed)) = (column("timeStamp"), column("elapsed")) else {
        return Err("a column is missing".into());
    };
    let (label, success, bytes, threads) =
        (column("label"), column("success"), column("bytes"), column("allThreads"));
    let mut labels: BTreeMap<String, Label> = BTreeMap::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| e.to_string())? {
        since_sample.set(0);
        let number = |column: Option<usize>| {
            column.and_then(|c| record.get(c)).and_then(|text| text.trim().parse::<u64>().ok())
        };
        let line = record.position().map_or(0, csv::Position::line);
        let (Some(began), Some(took)) = (number(Some(at)), number(Some(elapsed))) else {
            return Err(format!("line {line} has no timeStamp and elapsed in whole milliseconds"));
        };
        // A year of milliseconds. Beyond it the sums could overflow.
        if took > 31_557_600_000 || began > u64::MAX / 2 {
            return Err(format!("line {line} has a time that cannot be"));
        }
        for (column, what) in [(bytes, "bytes"), (threads, "allThreads")] {
            let cell = column.and_then(|c| record.get(c)).map_or("", str::trim);
            if !cell.is_empty() && number(column).is_none() {
                return Err(format!(
                    "line {line} has `{cell}` as {what}, which is no whole number"
                ));
            }
        }
        let succeeded = success.and_then(|c| record.get(c)).map_or("", str::trim);
        if !["", "true", "false"].iter().any(|known| succeeded.eq_ignore_ascii_case(known)) {
            return Err(format!(
                "line {line} has `{succeeded}` as success, which is neither true nor false"
            ));
        }
        let name = label.and_then(|c| record.get(c)).unwrap_or("samples");
        if !labels.contains_key(name) {
            if labels.len() == MOST_LABELS {
                return Err(format!("there are more than {MOST_LABELS} labels"));
            }
            let empty = Label {
                times: Histogram::new(),
                errors: 0,
                bytes: 0,
                span_ms: (u64::MAX, 0),
                threads: 0,
            };
            labels.insert(name.to_owned(), empty);
        }
        let Some(sum) = labels.get_mut(name) else { continue };
        sum.times.record(took * 1_000_000);
        sum.errors += u64::from(succeeded.eq_ignore_ascii_case("false"));
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
        (n >= smallest_sample(q))
            .then(|| time(sum.times.quantile_ns(q) as f64))
            .flatten()
            .map(|figure| (percent, figure))
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

/// The lines that it prints while it runs, of which the last counts:
/// `summary = 30000 in 00:01:40 = 300.0/s Avg: 3 Min: 1 Max: 275 Err: 0 (0.00%)`.
pub const SUMMARY: Format = Format {
    tool: Tool::Jmeter,
    begins: |lines, run| {
        let text = &lines[0].text;
        let fewer = |run: &Run| {
            run.row
                .samples
                .as_ref()
                .is_some_and(|before| samples_of(text).is_some_and(|n| n < before.value()))
        };
        let is_summary = text.starts_with("summary ") && text.contains("Avg:");
        is_summary && run.is_none_or(fewer)
            || text.starts_with("Creating summariser")
                && run.is_none_or(|run| run.row.samples.is_some())
    },
    line: printed,
    finish: |_| {},
    hint: Some(NO_USERS),
};

/// How to supply the number of users, which JMeter does not print.
pub const NO_USERS: &str = "JMeter does not print its users: name them with --connections N";

fn samples_of(text: &str) -> Option<f64> {
    let number = text
        .strip_prefix("summary")?
        .trim_start_matches([' ', '=', '+'])
        .split_whitespace()
        .next()?;
    Figure::count(number).ok().map(|figure| figure.value())
}

fn printed(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if !text.starts_with("summary =") || !text.contains("Avg:") {
        let known = [
            "summary ",
            "Creating summariser",
            "Created the tree",
            "Starting ",
            "Waiting for possible",
            "Tidying up",
            "... end of run",
        ];
        return known.iter().any(|known| text.starts_with(known)) && run.aside(line);
    }
    let words = words(text);
    let next = |word: &str| next_word(&words, word);
    let ms = |word: &str| Figure::time(&format!("{}ms", next(word)));
    // Each line sums up everything before it.
    let (name, other) = ("summary".to_owned(), std::mem::take(&mut run.row.other));
    run.row = Row { name, other, ..Row::default() };
    run.put(line, Slot::Samples, Figure::count(next("=")));
    run.put(line, Slot::Duration, lasted(next("in")));
    let rate = words.iter().find_map(|word| word.strip_suffix("/s")).unwrap_or_default();
    run.put(line, Slot::Throughput, Figure::count(rate));
    run.put(line, Slot::Mean, ms("Avg:"));
    run.put(line, Slot::Min, ms("Min:"));
    run.put(line, Slot::Max, ms("Max:"));
    run.put(line, Slot::Errors, Figure::count(next("Err:")));
    let share =
        words.iter().find_map(|w| w.strip_prefix('(')?.strip_suffix(')')).unwrap_or_default();
    run.put(line, Slot::ErrorShare, Figure::share(share));
    true
}

/// Reads a duration to the second: `00:01:40` or `100s`.
fn lasted(text: &str) -> Result<Figure, String> {
    let mut seconds = Some(0u64);
    for part in text.trim_end_matches('s').split(':') {
        seconds = seconds.and_then(|sum| sum.checked_mul(60)?.checked_add(part.parse().ok()?));
    }
    let wrong = || format!("`{text}` is not a time, such as 00:01:40");
    seconds.ok_or_else(wrong).and_then(|seconds| Figure::time(&format!("{seconds}s")))
}
