//! Collects the figures of a run while it is read.
//!
//! Each figure of the input goes to its [`Slot`] in a row, to the figures that nothing is checked
//! against, or into a note. None is left out silently. A [`Format`] describes how the output of a
//! tool is read.

use super::paste::Line;
use spec::article::{Figure, Row, Tool};
use std::collections::BTreeMap;

/// The most characters of a line that a note shows.
const SHOWN: usize = 120;
/// The most unread lines that a note shows.
const LINES_SHOWN: usize = 3;

/// The place of a figure in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slot {
    Samples,
    Duration,
    Throughput,
    Errors,
    ErrorShare,
    FailedChecks,
    Transfer,
    Received,
    PerAnswer,
    Mean,
    Deviation,
    Min,
    Max,
    Quantile(f64),
}

/// One run of a tool, as far as it was read.
pub struct Run {
    pub tool: Tool,
    pub row: Row,
    /// Rows for parts of the run, which replace its own row if there are any.
    pub parts: Vec<Row>,
    /// Known figures that could not be read, with line and reason; and what a reader must know.
    pub notes: Vec<String>,
    /// Lines with unknown figures.
    pub unread: Vec<Line>,
    /// The section of the output that is being read.
    pub section: String,
    /// The headings of the table that is being read.
    pub columns: Vec<String>,
    /// Sums and figures from which values of the row are computed at the end.
    pub sums: BTreeMap<&'static str, f64>,
    /// How to supply what the output lacks and Little's law needs.
    pub hint: Option<&'static str>,
    /// Whether a connection has several requests in flight, and the output does not tell how many.
    pub depth_unsaid: bool,
}

/// How the output of a tool is read.
pub struct Format {
    pub tool: Tool,
    /// Returns whether a run begins with the first of these lines, after the lines of a run of the
    /// same format.
    pub begins: fn(&[Line], Option<&Run>) -> bool,
    /// Reads a line, and returns whether it is known.
    pub line: fn(&mut Run, &Line) -> bool,
    /// Computes the remaining figures of the run.
    pub finish: fn(&mut Run),
    pub hint: Option<&'static str>,
}

impl Run {
    pub fn new(tool: Tool, name: &str) -> Run {
        Run {
            tool,
            row: Row { name: name.to_owned(), ..Row::default() },
            parts: Vec::new(),
            notes: Vec::new(),
            unread: Vec::new(),
            section: String::new(),
            columns: Vec::new(),
            sums: BTreeMap::new(),
            hint: None,
            depth_unsaid: false,
        }
    }

    /// Stores a figure, or notes why it cannot be read.
    pub fn put(&mut self, line: &Line, slot: Slot, figure: Result<Figure, String>) {
        if let Err(why) = put_into(&mut self.row, "this run", slot, figure) {
            self.note(line, &why);
        }
    }

    /// Takes a figure of a part of the run over, or notes why it cannot be read.
    pub fn put_in_part(
        &mut self,
        line: &Line,
        part: usize,
        name: &str,
        slot: Slot,
        figure: Result<Figure, String>,
    ) {
        if let Err(why) = put_into(&mut self.parts[part], name, slot, figure) {
            self.note(line, &why);
        }
    }

    /// Notes that a line, or a part of it, cannot be read, and why.
    pub fn note(&mut self, line: &Line, why: &str) {
        self.notes.push(format!(
            "line {} is not read: {why} (`{}`)",
            line.number,
            shortened(&line.text)
        ));
    }

    /// Keeps a line that nothing is checked against.
    pub fn aside(&mut self, line: &Line) -> bool {
        self.keep(&line.text);
        true
    }

    /// Keeps a text that nothing is checked against.
    pub fn keep(&mut self, text: &str) {
        let Some(at) = text.find(is_digit) else { return };
        self.row.other.push((text[..at].trim().to_owned(), text[at..].trim().to_owned()));
    }

    /// Adds a whole number to a sum, or notes that it is not one.
    pub fn add(&mut self, line: &Line, sum: &'static str, number: &str) {
        match Figure::count(number) {
            Ok(figure) => *self.sums.entry(sum).or_default() += figure.value(),
            Err(why) => self.note(line, &why),
        }
    }

    pub fn sum(&self, name: &str) -> f64 {
        self.sums.get(name).copied().unwrap_or(0.0)
    }

    /// Reads a number of connections or users.
    pub fn places(&mut self, line: &Line, number: &str) -> Option<u64> {
        let places =
            number.replace(',', "").parse::<u64>().ok().filter(|n| (1..=1_000_000_000).contains(n));
        if places.is_none() {
            self.note(line, &format!("`{number}` is not a number of connections or users"));
        }
        places
    }
}

/// Puts a figure into its place in a row. Returns why it cannot: it is not readable, or the row has
/// another figure there.
fn put_into(
    row: &mut Row,
    name: &str,
    slot: Slot,
    figure: Result<Figure, String>,
) -> Result<(), String> {
    let figure = figure?;
    match place(row, slot, figure.clone()) {
        Some(before) if before.value() != figure.value() => {
            Err(format!("{name} already has {} there", before.text()))
        }
        _ => Ok(()),
    }
}

/// Puts a figure into its place if that is free, and returns what is there otherwise.
pub fn place(row: &mut Row, slot: Slot, figure: Figure) -> Option<Figure> {
    let latency = &mut row.latency;
    let place = match slot {
        Slot::Samples => &mut row.samples,
        Slot::Duration => &mut row.duration,
        Slot::Throughput => &mut row.throughput,
        Slot::Errors => &mut row.errors,
        Slot::ErrorShare => &mut row.error_share,
        Slot::FailedChecks => &mut row.failed_checks,
        Slot::Transfer => &mut row.transfer,
        Slot::Received => &mut row.received,
        Slot::PerAnswer => &mut row.bytes_per_answer,
        Slot::Mean => &mut latency.mean,
        Slot::Deviation => &mut latency.deviation,
        Slot::Min => &mut latency.min,
        Slot::Max => &mut latency.max,
        Slot::Quantile(percent) if percent <= 0.0 => &mut latency.min,
        Slot::Quantile(percent) if percent >= 100.0 => {
            // Some tools round the last quantile differently from the maximum.
            if latency.max.is_some() {
                row.other.push(("100 %".into(), figure.text().to_owned()));
                return None;
            }
            &mut latency.max
        }
        Slot::Quantile(percent) => {
            let known = latency
                .quantiles
                .iter()
                .find(|(of, _)| *of == percent)
                .map(|(_, known)| known.clone());
            if known.is_none() {
                latency.quantiles.push((percent, figure));
                latency.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            return known;
        }
    };
    if place.is_some() {
        return place.clone();
    }
    *place = Some(figure);
    None
}

/// Returns the share of failed requests if it is uncertain which of them count as requests. The
/// result allows for one more or less.
pub fn share_of(failed: f64, all: f64) -> Option<Figure> {
    let share = failed / all;
    (all > 0.0).then(|| {
        Figure::exact(share, format!("{:.2}%", share * 100.0)).within(1.0 / failed.max(1.0))
    })
}

/// Shortens a line for a note.
pub fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= SHOWN {
        words
    } else {
        words.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

/// Makes the note about lines with unknown figures.
pub fn note_of_unread(lines: &[Line]) -> Option<String> {
    let shown: Vec<String> = lines
        .iter()
        .take(LINES_SHOWN)
        .map(|line| format!("line {}: `{}`", line.number, shortened(&line.text)))
        .collect();
    let others = lines.len().saturating_sub(LINES_SHOWN);
    let and = if others > 0 { format!(", and {others} more") } else { String::new() };
    let known = if lines.len() == 1 {
        "1 line with figures is not known and not read"
    } else {
        "lines with figures are not known and not read"
    };
    (!lines.is_empty()).then(|| format!("{known}: {}{and}", shown.join(", ")))
}

/// Reads all runs of a text, of any tool.
pub fn read_runs(lines: &[Line], formats: &[Format]) -> (Vec<Run>, Vec<Line>) {
    let mut runs: Vec<Run> = Vec::new();
    let mut current: Option<(&Format, Run)> = None;
    let mut before = Vec::new();
    let mut url: Option<String> = None;
    for (at, line) in lines.iter().enumerate() {
        let of = |format: &Format| {
            current.as_ref().filter(|(own, _)| std::ptr::eq(*own, format)).map(|(_, run)| run)
        };
        if let Some(format) =
            formats.iter().find(|format| (format.begins)(&lines[at..], of(format)))
        {
            let name = url.take().unwrap_or_else(|| format.tool.name().to_owned());
            let run = Run { hint: format.hint, ..Run::new(format.tool, &name) };
            runs.extend(current.replace((format, run)).map(ended));
        }
        if current.as_mut().is_some_and(|(format, run)| (format.line)(run, line)) {
            continue;
        }
        let quoted = |word: &str| word.trim_matches(['"', '\'']).to_owned();
        url = words(&line.text).into_iter().find(|word| word.contains("://")).map(quoted).or(url);
        if line.text.contains(is_digit) {
            current.as_mut().map_or(&mut before, |(_, run)| &mut run.unread).push(line.clone());
        }
    }
    runs.extend(current.map(ended));
    (runs, before)
}

fn ended((format, mut run): (&Format, Run)) -> Run {
    (format.finish)(&mut run);
    run
}

/// Returns the words of a line.
pub fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Returns the text after a heading.
pub fn after<'t>(text: &'t str, heading: &str) -> Option<&'t str> {
    text.strip_prefix(heading).map(str::trim)
}

/// Returns whether a character is a digit. A text with one contains a figure.
pub fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns the word after another.
pub fn next_word<'t>(words: &[&'t str], word: &str) -> &'t str {
    words
        .iter()
        .position(|known| *known == word)
        .and_then(|at| words.get(at + 1))
        .copied()
        .unwrap_or_default()
}

/// Reads a number from 0 to 100.
pub fn percentage(digits: &str) -> Option<f64> {
    digits.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p))
}

/// Reads the percentage in `50%`, `99.9%`, `10%%`, `p(95)`, `p99.9` and `p99_9`.
pub fn percent(text: &str) -> Option<f64> {
    let digits = match text.strip_prefix('p') {
        Some(digits) => digits.trim_start_matches('(').trim_end_matches(')'),
        None => text.strip_suffix('%')?.trim_end_matches('%').trim(),
    };
    percentage(&digits.replace('_', "."))
}
