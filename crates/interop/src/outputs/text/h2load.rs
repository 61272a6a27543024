//! Reads the text of h2load. Version 1.69 renamed the rows of its table and moved the columns, so
//! both are found by name.

use crate::outputs::paste::Line;
use crate::outputs::{run::Format, run::Run, run::Slot, run::after, run::percent, run::words};
use spec::article::{Figure, Tool};

const HINT: &str = "h2load does not print its streams: name them with --pipeline N";

pub const H2LOAD: Format = Format { tool: Tool::H2load, begins, line, finish, hint: None };

fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    let is_title =
        ["starting benchmark", "spawning thread #", "Application protocol:", "finished in "]
            .iter()
            .any(|title| text.starts_with(title));
    is_title && run.is_none_or(|run| run.row.duration.is_some() || run.row.throughput.is_some())
}

/// Returns the number before a word, as in `119107 total`.
fn before<'t>(text: &'t str, word: &str) -> &'t str {
    let words = words(text);
    let at =
        words.iter().position(|w| w.trim_end_matches(',') == word).and_then(|at| at.checked_sub(1));
    at.and_then(|at| words.get(at)).copied().unwrap_or_default()
}

fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if let Some(rest) = after(text, "spawning thread") {
        run.add(line, "clients", before(rest, "total"));
        run.keep(text);
    } else if let Some(protocol) = after(text, "Application protocol:") {
        run.depth_unsaid = !protocol.starts_with("http/1");
        run.hint = run.depth_unsaid.then_some(HINT);
        run.keep(text);
    } else if let Some(rest) = after(text, "finished in") {
        run.put(line, Slot::Duration, Figure::time(rest.split(',').next().unwrap_or_default()));
        run.put(line, Slot::Throughput, Figure::count(before(rest, "req/s")));
        let transfer = words(rest)
            .last()
            .and_then(|word| word.strip_suffix("/s"))
            .unwrap_or_default()
            .to_owned();
        run.put(line, Slot::Transfer, Figure::bytes(&transfer));
    } else if let Some(rest) = after(text, "requests:") {
        run.put(line, Slot::Samples, Figure::count(before(rest, "done")));
        run.put(line, Slot::Errors, Figure::count(before(rest, "failed")));
        run.keep(rest);
    } else if let Some(rest) = after(text, "traffic:") {
        let total = words(rest).first().copied().unwrap_or_default();
        run.put(line, Slot::Received, Figure::bytes(total));
        run.keep(rest);
    } else if let Some(headings) = columns(text) {
        run.columns = headings;
    } else {
        return tabled(run, line);
    }
    true
}

fn tabled(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    let (name, values) = text.split_once(':').unwrap_or((text, ""));
    match name.trim() {
        "request" | "time for request" => {
            let values = words(values);
            if values.len() != run.columns.len() {
                run.note(
                    line,
                    &format!("{} figures below {} headings", values.len(), run.columns.len()),
                );
                return true;
            }
            let pairs: Vec<(String, String)> =
                run.columns.iter().cloned().zip(values.into_iter().map(str::to_owned)).collect();
            pairs.into_iter().for_each(|(column, value)| column_of(run, line, &column, &value));
            true
        }
        "status codes" | "connect" | "TTFB" | "req/s" | "time for connect" | "time to 1st byte"
        | "progress" | "Server Temp Key" | "Cipher" | "TLS Protocol" | "UDP datagram" => {
            run.aside(line)
        }
        // `95us-     3.23ms [////       ]( 12.00/ 12.00%)`
        _ if text.contains("](") && text.contains('-') => run.aside(line),
        _ if ["Main benchmark", "Stopped all clients", "Warm-up ", "starting benchmark"]
            .iter()
            .any(|known| text.starts_with(known)) =>
        {
            run.aside(line)
        }
        _ => false,
    }
}

/// Returns the columns that a heading of the table names, in their order.
fn columns(text: &str) -> Option<Vec<String>> {
    let columns: Vec<String> =
        text.replace("+/- sd", "+/-sd").split_whitespace().map(str::to_owned).collect();
    let known = |column: &&String| {
        ["min", "max", "median", "mean", "sd"].contains(&column.as_str())
            || percent(column).is_some()
    };
    (!text.contains([':', '(']) && columns.iter().filter(known).count() >= 2).then_some(columns)
}

fn column_of(run: &mut Run, line: &Line, column: &str, value: &str) {
    let slot = match column {
        "min" => Slot::Min,
        "max" => Slot::Max,
        "mean" => Slot::Mean,
        "sd" => Slot::Deviation,
        "median" => Slot::Quantile(50.0),
        "+/-sd" => return run.keep(&format!("within sd {value}")),
        column => match percent(column) {
            Some(percent) => Slot::Quantile(percent),
            None => return run.note(line, &format!("`{column}` is not a column that is known")),
        },
    };
    run.put(line, slot, Figure::time(value));
}

fn finish(run: &mut Run) {
    let clients = run.sum("clients") as u64;
    run.row.load.connections = Some(clients).filter(|n| *n > 0);
    if clients == 0 && run.hint.is_none() {
        run.hint = Some(
            "its clients are printed above what is here: name them with --connections N, and with HTTP/2 its streams with --pipeline N",
        );
    }
}
