//! Reads autocannon and goose, which print tables.
//!
//! One `Format` for each tool: how its table is recognized, and how one line of it is read. Both
//! tools round their figures, so these are widened to what they may have been.

use crate::outputs::paste::Line;
use crate::outputs::run::{Format, Run, Slot, percent, percentage, share_of, words};
use spec::article::{Figure, Row, Tool};

pub const AUTOCANNON: Format = Format {
    tool: Tool::Autocannon,
    begins: |lines, run| {
        let text = &lines[0].text;
        let is_title =
            text.starts_with("Running ") && text.contains(" @ ") && is_title_of_autocannon(lines);
        let is_headless = cells(text).is_some_and(|cells| cells[0] == "Stat")
            && run.is_none_or(|run| run.row.samples.is_some());
        is_title || is_headless
    },
    line: autocannon,
    finish: |run| {
        loosen_rates(&mut run.row);
        if run.sums.contains_key("failed") {
            let sent = run.row.samples.as_ref().map_or(0.0, Figure::value);
            run.row.error_share = share_of(run.sum("failed"), sent.max(run.sum("failed")));
        }
    },
    hint: Some("name its connections with --connections N"),
};

/// Widens autocannon's rates. They are means over samples of a second, without the last and shorter
/// one.
pub fn loosen_rates(row: &mut Row) {
    let off = 0.02 + row.duration.as_ref().map_or(0.1, |duration| 1.0 / duration.value().max(1.0));
    row.throughput = row.throughput.take().map(|figure| figure.within(off));
    row.transfer = row.transfer.take().map(|figure| figure.within(off));
}

/// Returns whether the line after a title is one of autocannon: `10 connections`,
/// `10 connections with 4 pipelining factor`, `4 workers`.
pub fn is_title_of_autocannon(lines: &[Line]) -> bool {
    let next =
        lines[1..].iter().find(|line| !line.text.is_empty()).map_or("", |line| line.text.as_str());
    matches!(
        words(next)[..],
        [_, "connections"] | [_, "connections", "with", _, "pipelining", "factor"] | [_, "workers"]
    )
}

/// Returns the cells of a table's line, whose outer borders were removed already.
fn cells(text: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = text.split(['│', '|', '┃']).map(str::trim).collect();
    (cells.len() >= 2).then_some(cells)
}

fn autocannon(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if let Some(cells) = cells(text) {
        return celled(run, line, &cells);
    }
    if let Some((settings, url)) = text.split_once(" @ ").filter(|_| text.starts_with("Running ")) {
        url.trim().clone_into(&mut run.row.name);
        run.keep(settings);
        return true;
    }
    match words(text)[..] {
        [connections, "connections"] => run.row.load.connections = run.places(line, connections),
        [connections, "connections", "with", depth, "pipelining", "factor"] => {
            run.row.load.connections = run.places(line, connections);
            run.row.load.depth = run.places(line, depth);
        }
        [sent, "requests", "in", duration, ..] => {
            run.put(line, Slot::Samples, Figure::count(sent));
            run.put(line, Slot::Duration, Figure::time(duration.trim_end_matches(',')));
            let received =
                text.split_once(", ").map_or("", |(_, rest)| rest.trim_end_matches(" read"));
            run.put(line, Slot::Received, Figure::decimal_bytes(received));
        }
        [_, "2xx", "responses,", failed, "non", "2xx", "responses"] => {
            run.add(line, "failed", failed);
            run.keep(text);
        }
        [errors, "errors", ..] => {
            run.add(line, "failed", errors);
            run.keep(text);
        }
        [mismatched, "requests", "with", "mismatched", "body"] => {
            run.add(line, "failed", mismatched)
        }
        _ => {
            let known = ["Req/Bytes counts", "# of samples", "request pipeline was reset"]
                .iter()
                .any(|known| text.starts_with(known));
            return (known || text.ends_with(" workers")) && run.aside(line);
        }
    }
    true
}

fn celled(run: &mut Run, line: &Line, cells: &[&str]) -> bool {
    if matches!(cells[0], "Stat" | "Code" | "Percentile") {
        run.columns = cells.iter().map(|cell| (*cell).to_owned()).collect();
        return true;
    }
    let columns = run.columns.clone();
    if columns.len() != cells.len() {
        run.note(line, &format!("{} figures below {} headings", cells.len(), columns.len()));
        return true;
    }
    if columns[0] == "Percentile" {
        match percentage(cells[0]) {
            Some(percent) => {
                run.put(line, Slot::Quantile(percent), Figure::time(&format!("{}ms", cells[1])))
            }
            None => run.note(line, &format!("`{}` is not a percentage", cells[0])),
        }
        return true;
    }
    for (column, cell) in columns.iter().zip(cells).skip(1) {
        match (cells[0], column.as_str()) {
            ("Latency", "Avg") => run.put(line, Slot::Mean, Figure::time(cell)),
            ("Latency", "Stdev") => run.put(line, Slot::Deviation, Figure::time(cell)),
            ("Latency", "Max") => run.put(line, Slot::Max, Figure::time(cell)),
            ("Latency", "Min") => run.put(line, Slot::Min, Figure::time(cell)),
            ("Latency", column) if percent(column).is_some() => run.put(
                line,
                Slot::Quantile(percent(column).unwrap_or_default()),
                Figure::time(cell),
            ),
            ("Req/Sec", "Avg") => run.put(line, Slot::Throughput, Figure::count(cell)),
            ("Bytes/Sec", "Avg") => run.put(line, Slot::Transfer, Figure::decimal_bytes(cell)),
            (name, column) => run.keep(&format!("{name} {column} {cell}")),
        }
    }
    true
}

pub const GOOSE: Format = Format {
    tool: Tool::Goose,
    begins: |lines, run| {
        let text = &lines[0].text;
        let is_headless = text.starts_with("Name ")
            && text.contains("| ")
            && text.contains("# reqs")
            && run.is_none_or(|run| run.section.is_empty());
        let is_title = text.starts_with("=== PER ")
            && text.ends_with(" METRICS ===")
            && run.is_none_or(|run| !run.parts.is_empty());
        is_headless || is_title
    },
    line: goose,
    finish: |_| {},
    hint: Some("name its users with --connections N"),
};

fn goose(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if text.starts_with("=== ") {
        run.section = if text.contains("PER REQUEST") { "requests" } else { "aside" }.into();
        return true;
    }
    if text.starts_with("Slowest page load") {
        run.section = "requests".into();
        return run.aside(line);
    }
    if text.starts_with("Adjusted for Coordinated Omission") {
        run.section = "aside".into();
    }
    let cells = cells(text);
    if text.starts_with("Name ")
        && let Some(cells) = &cells
    {
        if run.section.is_empty() {
            run.section = "requests".into();
        }
        run.columns = cells.iter().map(|cell| (*cell).to_owned()).collect();
        return true;
    }
    if let Some((_, users)) = text.rsplit_once(", ").filter(|_| text.starts_with("Maintaining:")) {
        let users = run.places(line, users.trim_end_matches(')'));
        run.parts.iter_mut().for_each(|part| part.load.users = users);
        return run.aside(line);
    }
    match cells {
        Some(cells) if run.section == "requests" && cells.len() == run.columns.len() => {
            part(run, line, &cells)
        }
        Some(cells) if run.section == "requests" => {
            run.note(line, &format!("{} figures below {} headings", cells.len(), run.columns.len()))
        }
        _ => return (!run.section.is_empty() || text.starts_with("goose v")) && run.aside(line),
    }
    true
}

/// Reads a line with the figures of one request.
fn part(run: &mut Run, line: &Line, cells: &[&str]) {
    let name = cells[0];
    let at = run.parts.iter().position(|part| part.name == name).unwrap_or_else(|| {
        run.parts.push(Row { name: name.to_owned(), ..Row::default() });
        run.parts.len() - 1
    });
    let columns = run.columns.clone();
    for (column, cell) in columns.iter().zip(cells).skip(1) {
        let ms = |text: &str| Figure::time(&format!("{text}ms"));
        let (slot, figure) = match column.as_str() {
            "# reqs" => (Slot::Samples, Figure::count(cell)),
            // `0 (0%)`
            "# fails" => {
                let (number, share) = cell.split_once(" (").unwrap_or((cell, ""));
                run.keep(&format!("{name} failed {share}"));
                (Slot::Errors, Figure::count(number))
            }
            "req/s" => (Slot::Throughput, Figure::count(cell)),
            "Avg (ms)" => (Slot::Mean, ms(cell)),
            "Min" => (Slot::Min, ms(cell)),
            "Max" => (Slot::Max, ms(cell)),
            "Median" => (Slot::Quantile(50.0), ms(cell).map(rounded_ms)),
            column => match percent(column) {
                Some(percent) => (Slot::Quantile(percent), ms(cell).map(rounded_ms)),
                None => {
                    run.keep(&format!("{name} {column} {cell}"));
                    continue;
                }
            },
        };
        run.put_in_part(line, at, name, slot, figure);
    }
}

/// Widens times that goose and Locust round for their quantiles: to tens, hundreds or thousands of
/// milliseconds, depending on their size.
pub fn rounded_ms(figure: Figure) -> Figure {
    let off = match figure.value() {
        s if s < 0.1 => return figure,
        s if s < 0.5 => 0.01,
        s if s < 1.0 => 0.1,
        _ => 1.0,
    };
    let share = off / figure.value();
    figure.within(share)
}
