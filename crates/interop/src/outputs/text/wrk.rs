//! Reads wrk, and wrk2, which counts latency from a schedule.

use crate::outputs::paste::Line;
use crate::outputs::{run::Format, run::Run, run::Slot, run::percent, run::words};
use spec::article::SOCKET_ERRORS;
use spec::article::{Figure, Tool};

pub const WRK: Format = Format { tool: Tool::Wrk, begins, line, finish: |_| {}, hint: None };

/// autocannon prints the same title; the line after it distinguishes them.
fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    if text.starts_with("Running ") && text.contains(" test @ ") {
        return !super::tables::is_title_of_autocannon(lines);
    }
    let is_titled = text.starts_with("Thread Stats")
        || text.contains(" threads and ") && text.ends_with(" connections");
    let is_headless = match words(text)[..] {
        ["Latency", _, _, _, within] => within.ends_with('%'),
        [_, "requests", "in", _, _, "read"] => run.is_none_or(|run| run.row.samples.is_some()),
        _ => false,
    };
    is_titled && run.is_none_or(|run| run.row.latency.mean.is_some())
        || is_headless && run.is_none_or(|run| run.row.throughput.is_some())
}

fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if let Some((settings, url)) = text.split_once(" test @ ") {
        url.trim().clone_into(&mut run.row.name);
        run.keep(settings);
        return true;
    }
    match words(text)[..] {
        [threads, "threads", "and", connections, "connections"] => {
            run.row.load.connections = run.places(line, connections);
            run.keep(&format!("threads {threads}"));
        }
        ["Thread", "calibration:", ..] => {
            (run.tool, run.row.load.scheduled) = (Tool::Wrk2, true);
            return run.aside(line);
        }
        ["Thread", "Stats", ..] => {
            run.columns = text
                .replace("+/- Stdev", "+/-Stdev")
                .split_whitespace()
                .skip(2)
                .map(str::to_owned)
                .collect()
        }
        ["Latency", "Distribution", ..] => {
            if text.contains("HdrHistogram") {
                (run.tool, run.row.load.scheduled) = (Tool::Wrk2, true);
            }
            run.section =
                if text.contains("Uncorrected") { "uncorrected" } else { "distribution" }.into();
        }
        ["Detailed", "Percentile", ..] => run.section = "spectrum".into(),
        ["Latency", ..] => return stats(run, line),
        ["Req/Sec", ..] => return run.aside(line),
        [of, value] if percent(of).is_some() && run.section == "distribution" => {
            run.put(line, Slot::Quantile(percent(of).unwrap_or_default()), Figure::time(value));
        }
        [samples, "requests", "in", duration, received, "read"] => {
            run.section.clear();
            run.put(line, Slot::Samples, Figure::count(samples));
            run.put(line, Slot::Duration, Figure::time(duration.trim_end_matches(',')));
            run.put(line, Slot::Received, Figure::bytes(received));
        }
        ["Non-2xx", "or", "3xx", "responses:", ..] => {
            run.put(line, Slot::Errors, Figure::count(text.rsplit(':').next().unwrap_or_default()))
        }
        // `Socket errors: connect 0, read 12, write 0, timeout 3`
        ["Socket", "errors:", ..] => {
            let counts = words(text)[2..].join(" ");
            let numbers = counts.split([' ', ',']).filter_map(|word| word.parse::<f64>().ok());
            run.row.socket_errors = Some(Figure::whole(numbers.sum()));
            run.row.other.push((SOCKET_ERRORS.into(), counts));
        }
        ["Requests/sec:", ..] => {
            run.put(line, Slot::Throughput, Figure::count(&text["Requests/sec:".len()..]))
        }
        ["Transfer/sec:", ..] => {
            run.put(line, Slot::Transfer, Figure::bytes(&text["Transfer/sec:".len()..]))
        }
        _ if run.section == "spectrum" || run.section == "uncorrected" => return run.aside(line),
        _ => return false,
    }
    true
}

/// Reads `Latency 40.08us 59.86us 2.25ms 99.08%`, with the columns that are named above it.
fn stats(run: &mut Run, line: &Line) -> bool {
    let values = words(&line.text)[1..].iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let usual = || ["Avg", "Stdev", "Max", "+/-Stdev"].map(str::to_owned).to_vec();
    let columns = if run.columns.is_empty() { usual() } else { run.columns.clone() };
    if values.len() != columns.len() {
        run.note(line, &format!("{} figures below {} headings", values.len(), columns.len()));
        return true;
    }
    for (column, value) in columns.iter().zip(values) {
        match column.as_str() {
            "Avg" => run.put(line, Slot::Mean, Figure::time(&value)),
            "Stdev" => run.put(line, Slot::Deviation, Figure::time(&value)),
            "Max" => run.put(line, Slot::Max, Figure::time(&value)),
            other => run.keep(&format!("latency {other} {value}")),
        }
    }
    true
}
