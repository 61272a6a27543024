//! Reads tables that were saved as CSV, by JMeter's listeners and Locust. Columns are found by
//! their headings.

use super::jmeter::NO_USERS;
use super::paste::Line;
use super::run::{Run, Slot, is_digit, percentage, place};
use super::text::rounded_ms;
use spec::article::{Figure, Row, Tool};

/// The most rows of a table.
const MOST_ROWS: usize = 10_000;

/// What a column contains.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Name,
    Count(Slot),
    /// Milliseconds.
    Time(Slot),
    /// Milliseconds, rounded as Locust rounds them.
    Rounded(Slot),
    Share(Slot),
    /// `100.8/sec`, `30.0/min`
    Rate,
    /// Bytes in this unit.
    Bytes(Slot, &'static str),
    /// Nothing is checked against it.
    Aside,
}

/// Returns the tool that writes a table with such headings, and its separator.
fn written_by(heading: &str) -> Option<(Tool, u8)> {
    let separator = *[b',', b';', b'\t']
        .iter()
        .max_by_key(|separator| heading.bytes().filter(|b| b == *separator).count())?;
    let has = |name: &str| {
        heading
            .split(char::from(separator))
            .any(|cell| cell.trim().trim_matches('"').eq_ignore_ascii_case(name))
    };
    if has("# Samples") || has("aggregate_report_count") {
        return Some((Tool::Jmeter, separator));
    }
    let is_locust = has("Name") && (has("Request Count") || has("# requests")) && has("Requests/s");
    is_locust.then_some((Tool::Locust, separator))
}

/// Reads every such table of a text; `None` if there is none.
pub fn read_tables(lines: &[Line]) -> Option<(Vec<Run>, Vec<Line>)> {
    let heads: Vec<usize> =
        (0..lines.len()).filter(|at| written_by(&lines[*at].text).is_some()).collect();
    let first = *heads.first()?;
    let figures = |line: &&Line| line.text.contains(is_digit);
    let before = lines[..first].iter().filter(figures).cloned().collect();
    let ends = heads.iter().skip(1).copied().chain([lines.len()]);
    let mut runs = Vec::new();
    for (from, to) in heads.iter().zip(ends) {
        let (tool, separator) = written_by(&lines[*from].text)?;
        runs.push(table(tool, separator, &lines[*from..to]));
    }
    Some((runs, before))
}

fn table(tool: Tool, separator: u8, lines: &[Line]) -> Run {
    let mut run = Run::new(tool, tool.name());
    run.hint = Some(if tool == Tool::Jmeter {
        NO_USERS
    } else {
        "Locust does not save its users: name them with --connections N"
    });
    let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).delimiter(separator).from_reader(text.as_bytes());
    let Ok(header) = reader.headers().cloned() else { return run };
    let columns: Vec<Option<Column>> =
        header.iter().map(|name| column(tool, name.trim())).collect();
    for (name, column) in header.iter().zip(&columns) {
        if column.is_none() {
            run.note(&lines[0], &format!("`{name}` is not a column that is known"));
        }
    }
    for record in reader.records().take(MOST_ROWS) {
        let at = |record: &csv::StringRecord| {
            record
                .position()
                .map_or(0, |position| position.line() as usize)
                .saturating_sub(1)
                .min(lines.len() - 1)
        };
        match record {
            Ok(record) if record.len() == header.len() => {
                let row = row(&mut run, &lines[at(&record)], &columns, &header, &record);
                run.parts.push(row);
            }
            Ok(record) if record.iter().any(|cell| cell.contains(is_digit)) => {
                run.unread.push(lines[at(&record)].clone())
            }
            Ok(_) => {}
            Err(why) => run.notes.push(format!("a line of the table is not read: {why}")),
        }
    }
    run
}

fn row(
    run: &mut Run,
    line: &Line,
    columns: &[Option<Column>],
    header: &csv::StringRecord,
    record: &csv::StringRecord,
) -> Row {
    let mut row = Row::default();
    for ((cell, column), heading) in record.iter().map(str::trim).zip(columns).zip(header) {
        let (slot, figure) = match column {
            Some(Column::Name) => {
                row.name = [row.name.as_str(), cell]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(" ");
                continue;
            }
            Some(Column::Count(slot)) => (*slot, Figure::count(cell)),
            Some(Column::Time(slot)) => (*slot, Figure::time(&format!("{cell}ms"))),
            Some(Column::Rounded(slot)) => {
                (*slot, Figure::time(&format!("{cell}ms")).map(rounded_ms))
            }
            Some(Column::Share(slot)) => {
                (*slot, Figure::share(&format!("{}%", cell.trim_end_matches('%'))))
            }
            Some(Column::Rate) => (Slot::Throughput, rate(cell)),
            Some(Column::Bytes(slot, unit)) => (*slot, Figure::bytes(&format!("{cell}{unit}"))),
            Some(Column::Aside) | None => {
                row.other.push((heading.to_owned(), cell.to_owned()));
                continue;
            }
        };
        match figure {
            Ok(figure) => {
                if let Some(before) = place(&mut row, slot, figure.clone())
                    .filter(|before| before.value() != figure.value())
                {
                    row.other.push((heading.to_owned(), cell.to_owned()));
                    if (figure.value() - before.value()).abs() > figure.unit() + before.unit() {
                        run.note(
                            line,
                            &format!("{heading} is {cell}, but there is {} too", before.text()),
                        );
                    }
                }
            }
            Err(why) => run.note(line, &format!("{heading}: {why}")),
        }
    }
    row
}

/// Reads a rate: `100.778`, `100.8/sec`, `30.0/min`, `5.0/hour`.
fn rate(text: &str) -> Result<Figure, String> {
    let (number, unit) = text.split_once('/').unwrap_or((text, "sec"));
    let seconds = match unit.trim() {
        "sec" | "s" => 1.0,
        "min" => 60.0,
        "hour" => 3600.0,
        _ => return Err(format!("`{text}` is not a rate, such as 100.8/sec")),
    };
    Figure::count(number)
        .map(|figure| if seconds > 1.0 { figure.times(1.0 / seconds) } else { figure })
}

fn column(tool: Tool, name: &str) -> Option<Column> {
    if tool == Tool::Locust { of_locust(name) } else { of_jmeter(name) }
}

fn of_jmeter(name: &str) -> Option<Column> {
    Some(match name.to_ascii_lowercase().as_str() {
        "label" | "sampler_label" => Column::Name,
        "# samples" | "aggregate_report_count" => Column::Count(Slot::Samples),
        "average" => Column::Time(Slot::Mean),
        "median" | "aggregate_report_median" => Column::Time(Slot::Quantile(50.0)),
        "min" | "minimum" | "aggregate_report_min" => Column::Time(Slot::Min),
        "max" | "maximum" | "aggregate_report_max" => Column::Time(Slot::Max),
        "std. dev." | "aggregate_report_stddev" => Column::Time(Slot::Deviation),
        "error %" | "error%" | "aggregate_report_error%" => Column::Share(Slot::ErrorShare),
        "throughput" | "aggregate_report_rate" => Column::Rate,
        "received kb/sec" | "kb/sec" | "aggregate_report_bandwidth" => {
            Column::Bytes(Slot::Transfer, "KB")
        }
        "avg. bytes" => Column::Bytes(Slot::PerAnswer, "B"),
        "sent kb/sec" => Column::Aside,
        other => {
            let percent = other
                .strip_suffix("% line")
                .or_else(|| other.strip_prefix("aggregate_report_")?.strip_suffix("%_line"))?;
            Column::Time(Slot::Quantile(percentage(percent.trim())?))
        }
    })
}

fn of_locust(name: &str) -> Option<Column> {
    Some(match name.to_ascii_lowercase().as_str() {
        "type" | "method" | "name" => Column::Name,
        "request count" | "# requests" => Column::Count(Slot::Samples),
        "failure count" | "# failures" => Column::Count(Slot::Errors),
        "median response time" => Column::Rounded(Slot::Quantile(50.0)),
        "average response time" => Column::Time(Slot::Mean),
        "min response time" => Column::Time(Slot::Min),
        "max response time" => Column::Time(Slot::Max),
        "average content size" => Column::Bytes(Slot::PerAnswer, "B"),
        "requests/s" => Column::Count(Slot::Throughput),
        "failures/s" => Column::Aside,
        other => Column::Rounded(Slot::Quantile(percentage(other.strip_suffix('%')?.trim())?)),
    })
}
