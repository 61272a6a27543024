//! Reads the text of vegeta, bombardier and zrk.
//!
//! One `Format` for each tool: how its text is recognized, and how one line of it is read. A figure
//! is read with the rounding that the tool applies.

use crate::outputs::paste::Line;
use crate::outputs::{
    run::Format, run::Run, run::Slot, run::after, run::percent, run::percentage, run::share_of,
    run::words,
};
use spec::article::{Figure, Tool};

pub const VEGETA: Format = Format {
    tool: Tool::Vegeta,
    begins: |lines, run| {
        let text = &lines[0].text;
        let heading = |title: &str| {
            text.strip_prefix(title).map(str::trim_start).is_some_and(|rest| {
                rest.starts_with(["[total", "[min"][usize::from(title == "Latencies")])
            })
        };
        let is_first = heading("Requests");
        (is_first || heading("Duration") || heading("Latencies"))
            && run.is_none_or(|run| is_first && run.row.samples.is_some())
    },
    line: vegeta,
    finish: |run| run.row.load.scheduled = true,
    hint: None,
};

/// Reads a line such as `Latencies  [min, mean, 50, max]  90.4ms, 113.1ms, 108.2ms, 264.8ms`. Each
/// line has its own headings.
fn vegeta(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if text.starts_with("Error Set:") {
        run.section = "errors".into();
        return true;
    }
    if run.section == "errors" {
        return run.aside(line);
    }
    let Some((heading, names, values)) = text.split_once('[').and_then(|(heading, rest)| {
        let (names, values) = rest.split_once(']')?;
        Some((heading.trim(), names, values))
    }) else {
        return false;
    };
    if heading == "Status Codes" {
        return run.aside(line);
    }
    let (names, values): (Vec<&str>, Vec<&str>) =
        (names.split(", ").map(str::trim).collect(), values.split(", ").map(str::trim).collect());
    if names.len() != values.len() {
        run.note(line, &format!("{} figures below {} headings", values.len(), names.len()));
        return true;
    }
    for (name, value) in names.into_iter().zip(values) {
        match (heading, name) {
            ("Requests", "total") => run.put(line, Slot::Samples, Figure::count(value)),
            ("Requests", "rate") => run.put(line, Slot::Throughput, Figure::count(value)),
            ("Duration", "attack") => run.put(line, Slot::Duration, Figure::time(value)),
            ("Latencies", name) => match name {
                "min" => run.put(line, Slot::Min, Figure::time(value)),
                "mean" => run.put(line, Slot::Mean, Figure::time(value)),
                "max" => run.put(line, Slot::Max, Figure::time(value)),
                name => match percentage(name) {
                    Some(percent) => run.put(line, Slot::Quantile(percent), Figure::time(value)),
                    None => run.note(line, &format!("`{name}` is not a heading that is known")),
                },
            },
            ("Bytes In", "total") => {
                run.put(line, Slot::Received, Figure::bytes(&format!("{value}B")))
            }
            ("Bytes In", "mean") => {
                run.put(line, Slot::PerAnswer, Figure::bytes(&format!("{value}B")))
            }
            ("Success", "ratio") => {
                run.put(line, Slot::ErrorShare, Figure::share(value).map(Figure::complement))
            }
            ("Requests" | "Duration" | "Bytes Out", name) => {
                run.keep(&format!("{heading} {name} {value}"))
            }
            _ => return false,
        }
    }
    true
}

pub const BOMBARDIER: Format = Format {
    tool: Tool::Bombardier,
    begins: |lines, run| {
        let text = &lines[0].text;
        let is_title =
            text.starts_with("Bombarding ") || words(text) == ["Statistics", "Avg", "Stdev", "Max"];
        is_title
            && run.is_none_or(|run| run.row.throughput.is_some() || run.row.latency.mean.is_some())
    },
    line: bombardier,
    finish: of_statuses,
    hint: Some("name its connections with --connections N"),
};

/// The mean of many short samples may differ by this share from requests divided by time.
pub const OF_SAMPLES: f64 = 0.05;

fn bombardier(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if let Some(rest) = after(text, "Bombarding") {
        let words = words(rest);
        words.first().copied().unwrap_or_default().clone_into(&mut run.row.name);
        if let Some(number) = words
            .iter()
            .position(|word| word.starts_with("connection"))
            .and_then(|at| words.get(at.checked_sub(1)?))
        {
            run.row.load.connections = run.places(line, number);
        }
        run.keep(rest);
        return true;
    }
    match words(text)[..] {
        ["Reqs/sec", mean, deviation, max] => {
            run.put(
                line,
                Slot::Throughput,
                Figure::count(mean).map(|figure| figure.within(OF_SAMPLES)),
            );
            run.keep(&format!("Reqs/sec {deviation} {max}"));
        }
        ["Latency", "Distribution"] => run.section = "distribution".into(),
        ["Latency", mean, deviation, max] => {
            for (slot, value) in
                [(Slot::Mean, mean), (Slot::Deviation, deviation), (Slot::Max, max)]
            {
                run.put(line, slot, Figure::time(value));
            }
        }
        ["Reqs/sec" | "Latency", ..] => {
            run.note(line, "it does not have the three figures Avg, Stdev and Max")
        }
        [of, value] if percent(of).is_some() => {
            run.put(line, Slot::Quantile(percent(of).unwrap_or_default()), Figure::time(value))
        }
        ["HTTP", "codes:"] => run.section = "codes".into(),
        ["Errors:"] => run.section = "errors".into(),
        ["Throughput:", ..] => {
            run.section.clear();
            let both = after(text, "Throughput:").unwrap_or_default();
            // Sent and received bytes together.
            let figure = Figure::bytes(both.trim_end_matches("/s"));
            match figure {
                Ok(_) => run.keep(text),
                Err(why) => run.note(line, &why),
            }
        }
        _ if run.section == "codes" => {
            // `1xx - 0, 2xx - 674539, 4xx - 3`, `others - 0`
            for part in text.split(", ") {
                let (status, number) = part.split_once(" - ").unwrap_or((part, ""));
                run.add(
                    line,
                    if matches!(status, "4xx" | "5xx" | "others") { "failed" } else { "answers" },
                    number,
                );
            }
            run.keep(text);
        }
        _ if run.section == "errors" => return run.aside(line),
        _ => return text.starts_with("[=") && run.aside(line) || text.starts_with("Done!"),
    }
    true
}

/// Computes requests and errors from the counts of statuses.
pub fn of_statuses(run: &mut Run) {
    let all = run.sum("answers") + run.sum("failed");
    if all > 0.0 && run.row.samples.is_none() {
        run.row.samples = Some(Figure::whole(all));
    }
    if all > 0.0 && run.row.errors.is_none() {
        run.row.errors = Some(Figure::whole(run.sum("failed")));
    }
}

pub const ZRK: Format = Format {
    tool: Tool::Zrk,
    begins: |lines, _| {
        lines[0].text.contains(" requests in ")
            && lines[0].text.contains('·')
            && lines[0].text.contains(" req/s")
    },
    line: zrk,
    finish: |run| {
        let answers = run.row.samples.as_ref().map_or(0.0, Figure::value);
        run.row.error_share = share_of(run.sum("failed"), answers + run.sum("unanswered"));
    },
    hint: Some("zrk does not print its connections: name them with --connections N"),
};

fn zrk(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if text.contains(" requests in ") {
        let parts: Vec<&str> = text.split('·').map(str::trim).collect();
        let totals = words(parts[0]);
        let word = |at: usize| totals.get(at).copied().unwrap_or_default();
        run.put(line, Slot::Samples, Figure::count(word(0)));
        run.put(line, Slot::Duration, Figure::time(word(3).trim_end_matches(',')));
        run.put(line, Slot::Received, Figure::bytes(word(4)));
        run.put(
            line,
            Slot::Throughput,
            Figure::count(parts.get(1).map_or("", |part| part.trim_end_matches(" req/s"))),
        );
        run.put(
            line,
            Slot::Transfer,
            Figure::bytes(parts.get(2).map_or("", |part| part.trim_end_matches("/s"))),
        );
        return true;
    }
    if text.starts_with("latency (") {
        run.row.load.scheduled = text.contains("coordinated-omission corrected");
        return true;
    }
    let failed = ["non-2xx/3xx:", "deadline misses:", "socket errors:"]
        .iter()
        .find_map(|heading| after(text, heading));
    if let Some(rest) = failed {
        // `12`, `7 (CO latency exceeded --deadline)`, `connect 0, read 3, write 0, timeout 1`
        let counts = rest.split(" (").next().unwrap_or_default();
        for count in counts.split(',').map(|count| count.rsplit(' ').next().unwrap_or_default()) {
            run.add(line, "failed", count);
            if !text.starts_with("non-2xx") {
                run.add(line, "unanswered", count);
            }
        }
        return true;
    }
    match words(text)[..] {
        ["max", value] => run.put(line, Slot::Max, Figure::time(value)),
        [of, value] if percent(of).is_some() => {
            run.put(line, Slot::Quantile(percent(of).unwrap_or_default()), Figure::time(value))
        }
        _ => {
            return (text.starts_with("peak schedule lag:")
                || text.starts_with("script:")
                || text.starts_with("3xx (redirect)"))
                && run.aside(line);
        }
    }
    true
}
