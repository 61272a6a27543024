//! The summaries that wrk, wrk2, oha, hey, h2load, ab, k6 and Gatling print for people.
//!
//! Line by line; what is not understood is left out, so a newer version loses a figure rather than the audit.

use super::json::percent;
use super::{OHA_CUT_OFF, Output, SOCKET_ERRORS};
use crate::article::{Figure, Latency, Load, Row, Tool};

const NAME_CONNECTIONS: &str = "name its connections with --connections N";

pub fn read(text: &str) -> Option<Output> {
    if text.contains(" test @ ") && text.contains("Requests/sec:") {
        return Some(wrk(text));
    }
    if text.contains("finished in ") && text.contains(" errored") {
        return Some(h2load(text));
    }
    if text.contains("Concurrency Level:") && text.contains("Time taken for tests:") {
        return Some(ab(text));
    }
    if text.contains("http_req_duration") {
        return Some(k6(text));
    }
    if text.contains("---- Global Information ") && text.contains("> request count") {
        return Some(gatling(text));
    }
    if text.contains("Requests/sec:") && text.contains("Slowest:") {
        return Some(hey_or_oha(text));
    }
    None
}

fn count(text: &str) -> Option<Figure> {
    Figure::count(text).ok()
}

fn time(text: &str) -> Option<Figure> {
    Figure::time(text).ok()
}

fn bytes(text: &str) -> Option<Figure> {
    Figure::bytes(text).ok()
}

/// The words of what follows a heading in a line.
fn after<'t>(line: &'t str, heading: &str) -> Option<Vec<&'t str>> {
    line.trim_start().strip_prefix(heading).map(|rest| rest.split_whitespace().collect())
}

/// The number before a word, as in `119107 total`.
fn before<'w>(words: &[&'w str], word: &str) -> Option<&'w str> {
    let at = words.iter().position(|w| w.trim_end_matches(',') == word)?;
    words.get(at.checked_sub(1)?).copied()
}

fn wrk(text: &str) -> Output {
    let mut rows: Vec<Row> = Vec::new();
    let mut tool = Tool::Wrk;
    let mut reads_quantiles = false;
    for line in text.lines() {
        if let Some((_, url)) = line.split_once(" test @ ") {
            let name = url.trim().to_owned();
            let runs = rows.iter().filter(|row| row.name == name || row.name.starts_with(&format!("{name} ("))).count();
            rows.push(Row { name: if runs > 0 { format!("{name} ({})", runs + 1) } else { name }, ..Row::default() });
            continue;
        }
        let Some(row) = rows.last_mut() else { continue };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "threads", "and", connections, "connections"] => row.load.connections = connections.parse().ok().filter(|n| *n > 0),
            ["Thread", "calibration:", ..] => (tool, row.load.scheduled) = (Tool::Wrk2, true),
            ["Latency", "Distribution", ..] => {
                if line.contains("HdrHistogram") {
                    (tool, row.load.scheduled) = (Tool::Wrk2, true);
                }
                reads_quantiles = !line.contains("Uncorrected");
            }
            ["Latency", mean, deviation, max, _] => {
                (row.latency.mean, row.latency.deviation, row.latency.max) = (time(mean), time(deviation), time(max));
            }
            [percent, value] if reads_quantiles && percent.ends_with('%') => {
                let of = percent.trim_end_matches('%').parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
                row.latency.quantiles.extend(of.zip(time(value)));
            }
            [samples, "requests", "in", duration, received, "read"] => {
                row.samples = count(samples);
                row.duration = time(duration.trim_end_matches(','));
                row.received = bytes(received);
            }
            ["Non-2xx", "or", "3xx", "responses:", errors] => row.errors = count(errors),
            ["Socket", "errors:", ..] => row.other.push((SOCKET_ERRORS.into(), words[2..].join(" "))),
            ["Requests/sec:", rate] => row.throughput = count(rate),
            ["Transfer/sec:", transfer] => row.transfer = bytes(transfer),
            [] => {}
            _ => reads_quantiles &= line.starts_with(' '),
        }
    }
    Output { tool, rows, hint: None, depth_unsaid: false }
}

/// hey and oha, which took over its layout.
fn hey_or_oha(text: &str) -> Output {
    let tool = if text.contains("Success rate:") { Tool::Oha } else { Tool::Hey };
    let mut row = Row { name: tool.name().into(), ..Row::default() };
    let (mut answers, mut errors) = (0u64, 0u64);
    let mut section = "";
    // `0.0217 secs`, `17.47 ms`, `2.5 sec`
    let timed = |words: &[&str]| {
        let unit = match *words.get(1)? {
            "secs" | "sec" | "s" => "s",
            unit => unit,
        };
        time(&format!("{}{unit}", words.first()?))
    };
    let sized = |words: &[&str]| bytes(&format!("{}{}", words.first()?, words.get(1)?.replace("bytes", "B")));
    for line in text.lines() {
        if !line.starts_with(char::is_whitespace) && !line.is_empty() {
            section = line;
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(words) = after(line, "Total data:") {
            row.received = sized(&words);
        } else if let Some(words) = after(line, "Size/request:") {
            row.bytes_per_answer = sized(&words);
        } else if let Some(words) = after(line, "Size/sec:") {
            row.transfer = sized(&words);
        } else if let Some(words) = after(line, "Requests/sec:") {
            row.throughput = words.first().and_then(|rate| count(rate));
        } else if section.starts_with("Summary") {
            for (heading, place) in [
                ("Total:", &mut row.duration),
                ("Slowest:", &mut row.latency.max),
                ("Fastest:", &mut row.latency.min),
                ("Average:", &mut row.latency.mean),
            ] {
                if let Some(words) = after(line, heading) {
                    *place = timed(&words);
                }
            }
        } else if let [percent, "in", value, unit] = words[..] {
            let of = percent.trim_end_matches('%').parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
            row.latency.quantiles.extend(of.zip(timed(&[value, unit])));
        } else if let Some(inside) = words.first().and_then(|w| w.strip_prefix('[')?.strip_suffix(']')) {
            // `[200] 72568 responses`, `[7] aborted due to deadline`, which failed nobody
            if line.ends_with(OHA_CUT_OFF) {
                continue;
            }
            let (sum, number) =
                if section.starts_with("Status") { (&mut answers, words.get(1).copied()) } else { (&mut errors, Some(inside)) };
            if section.starts_with("Status") || section.starts_with("Error") {
                *sum = sum.saturating_add(number.and_then(|n| n.parse().ok()).unwrap_or(0));
            }
        }
    }
    if errors > 0 {
        // Then answers and requests are not the same.
        row.bytes_per_answer = None;
    }
    let all = answers.saturating_add(errors);
    // hey remembers a million answers and no more.
    if all > 0 && (tool == Tool::Oha || all < 1_000_000) {
        row.samples = Some(Figure::exact(all as f64, all.to_string()));
        row.errors = Some(Figure::exact(errors as f64, errors.to_string()));
    }
    Output { tool, rows: vec![row], hint: Some(NAME_CONNECTIONS), depth_unsaid: false }
}

/// Reads h2load's summary. Version 1.69 renamed the rows of its table and moved the columns, so both are found by name.
fn h2load(text: &str) -> Output {
    let mut row = Row { name: "h2load".into(), ..Row::default() };
    let mut clients = 0u64;
    let mut streams = false;
    let mut columns = Vec::new();
    for line in text.lines() {
        if let Some(words) = after(line, "spawning thread") {
            clients = clients.saturating_add(before(&words, "total").and_then(|n| n.parse().ok()).unwrap_or(0));
        } else if let Some(words) = after(line, "Application protocol:") {
            streams = words.first().is_some_and(|protocol| !protocol.starts_with("http/1"));
        } else if let Some(words) = after(line, "finished in") {
            row.duration = words.first().and_then(|w| time(w.trim_end_matches(',')));
            row.throughput = before(&words, "req/s").and_then(count);
            row.transfer = words.last().and_then(|w| w.strip_suffix("/s")).and_then(bytes);
        } else if let Some(words) = after(line, "requests:") {
            row.samples = before(&words, "done").and_then(count);
            row.errors = before(&words, "failed").and_then(count);
        } else if let Some(words) = after(line, "traffic:") {
            row.received = words.first().and_then(|w| bytes(w));
        } else if let Some(headings) = h2load_columns(line) {
            columns = headings;
        } else if let Some((_, values)) = line.split_once(':').filter(|(name, _)| ["request", "time for request"].contains(&name.trim())) {
            let values: Vec<&str> = values.split_whitespace().collect();
            if values.len() == columns.len() {
                columns.iter().zip(values).for_each(|(column, value)| h2load_latency(&mut row.latency, column, value));
            }
        }
    }
    row.latency.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    row.load = Load { connections: Some(clients).filter(|n| *n > 0), ..Load::default() };
    let hint = "h2load does not print its streams: name them with --pipeline N";
    Output { tool: Tool::H2load, rows: vec![row], hint: streams.then_some(hint), depth_unsaid: streams }
}

/// Finds the columns that a heading of h2load's table names, in their order.
fn h2load_columns(line: &str) -> Option<Vec<String>> {
    let columns: Vec<String> = line.replace("+/- sd", "+/-sd").split_whitespace().map(str::to_owned).collect();
    let known = |column: &&String| ["min", "max", "median", "mean", "sd"].contains(&column.as_str()) || percent(column).is_some();
    (!line.contains(':') && columns.iter().filter(known).count() >= 2).then_some(columns)
}

/// Takes over one value of h2load's table.
fn h2load_latency(latency: &mut Latency, column: &str, value: &str) {
    match column {
        "min" => latency.min = time(value),
        "max" => latency.max = time(value),
        "mean" => latency.mean = time(value),
        "sd" => latency.deviation = time(value),
        "median" => latency.quantiles.extend(time(value).map(|figure| (50.0, figure))),
        column => latency.quantiles.extend(percent(column).zip(time(value))),
    }
}

fn ab(text: &str) -> Output {
    let mut row = Row { name: "ab".into(), ..Row::default() };
    let ms = |text: &str| time(&format!("{text}ms"));
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Document", "Path:", path] => row.name = path.to_owned(),
            ["Concurrency", "Level:", n] => row.load.connections = n.parse().ok().filter(|n| *n > 0),
            ["Time", "taken", "for", "tests:", seconds, "seconds"] => row.duration = time(&format!("{seconds}s")),
            ["Complete", "requests:", n] => row.samples = count(n),
            ["Failed", "requests:", n] => row.errors = count(n),
            ["Requests", "per", "second:", rate, ..] => row.throughput = count(rate),
            ["Total", "transferred:", n, "bytes"] => row.received = bytes(&format!("{n}B")),
            ["Transfer", "rate:", rate, "[Kbytes/sec]", ..] => row.transfer = bytes(&format!("{rate}KB")),
            ["Total:", min, mean, deviation, _, max] => {
                let latency = &mut row.latency;
                (latency.min, latency.mean, latency.deviation, latency.max) = (ms(min), ms(mean), ms(deviation), ms(max));
            }
            [percent, value] if percent.ends_with('%') => {
                let of = percent.trim_end_matches('%').parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
                row.latency.quantiles.extend(of.zip(ms(value)));
            }
            _ => {}
        }
    }
    Output { tool: Tool::Ab, rows: vec![row], hint: None, depth_unsaid: false }
}

/// The summary of k6, whose kilobytes are 1,000 bytes. With `--summary-mode=full` groups and scenarios follow, which are parts of it.
fn k6(text: &str) -> Output {
    let mut row = Row { name: "k6".into(), ..Row::default() };
    let is_part = |line: &&str| ["█ GROUP:", "█ SCENARIO:"].iter().any(|title| line.trim_start().starts_with(title));
    for line in text.lines().take_while(|line| !is_part(line)) {
        let Some((name, rest)) = line.split_once(':') else { continue };
        // Before a metric with thresholds some versions print whether they are met.
        let name = name.trim_start_matches(['✓', '✗', ' ']).trim_end_matches('.');
        let words: Vec<&str> = rest.split_whitespace().collect();
        match name {
            "http_req_duration" => {
                for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
                    let latency = &mut row.latency;
                    match key {
                        "avg" => latency.mean = time(value),
                        "min" => latency.min = time(value),
                        "max" => latency.max = time(value),
                        "med" => latency.quantiles.extend(time(value).map(|figure| (50.0, figure))),
                        _ => latency.quantiles.extend(percent(key).zip(time(value))),
                    }
                }
                row.latency.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            "http_reqs" => {
                row.samples = words.first().and_then(|n| count(n));
                row.throughput = words.get(1).and_then(|n| count(n.trim_end_matches("/s")));
            }
            "http_req_failed" => row.error_share = words.first().and_then(|n| Figure::share(n).ok()),
            "vus_max" => row.load.users = words.first().and_then(|n| n.parse().ok()).filter(|n| *n > 0),
            _ => {}
        }
    }
    Output { tool: Tool::K6, rows: vec![row], hint: None, depth_unsaid: false }
}

/// Gatling's, in whole milliseconds: a table since 3.14 (`> request count | 1,000 | 998 | 2`), before `> request count 1000 (OK=998 KO=2)`.
fn gatling(text: &str) -> Output {
    let mut row = Row { name: "Gatling".into(), ..Row::default() };
    for (label, all, failed) in text.lines().filter_map(of_gatling) {
        let ms = time(&format!("{all}ms"));
        let latency = &mut row.latency;
        match label.trim_end_matches(" (ms)") {
            "request count" => {
                row.samples = count(all);
                // None at all is a dash.
                row.errors = if failed == "-" { Some(Figure::exact(0.0, "0")) } else { count(failed) };
            }
            "min response time" => latency.min = ms,
            "max response time" => latency.max = ms,
            "mean response time" => latency.mean = ms,
            "response time std deviation" | "std deviation" => latency.deviation = ms,
            "mean throughput (rps)" | "mean requests/sec" => row.throughput = count(all),
            label => {
                let percent = label.strip_prefix("response time ").and_then(|rest| rest.strip_suffix(" percentile"));
                let percent = percent.and_then(|nth| nth.trim_end_matches(char::is_alphabetic).parse::<f64>().ok());
                latency.quantiles.extend(percent.filter(|p| *p > 0.0 && *p < 100.0).zip(ms));
            }
        }
    }
    Output {
        tool: Tool::Gatling,
        rows: vec![row],
        hint: Some("Gatling does not sum up its users: name them with --connections N"),
        depth_unsaid: false,
    }
}

/// A line of Gatling's summary: its label, and what all requests and those that failed come to.
fn of_gatling(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.strip_prefix("> ")?;
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    if let [label, all, _, failed] = columns[..] {
        return Some((label, all, failed));
    }
    let (before, after) = line.split_once(" (OK=")?;
    let (label, all) = before.rsplit_once(' ')?;
    let (_, failed) = after.split_once("KO=")?;
    Some((label.trim(), all, failed.trim_end_matches(')').trim()))
}
