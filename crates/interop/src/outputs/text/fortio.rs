//! Reads the text of fortio, whose times are in seconds.

use crate::outputs::paste::Line;
use crate::outputs::{
    run::Format, run::Run, run::Slot, run::after, run::next_word, run::percent, run::words,
};
use spec::article::{Figure, Tool};

pub const FORTIO: Format = Format {
    tool: Tool::Fortio,
    begins,
    line,
    finish: super::go::of_statuses,
    hint: Some("name its connections with --connections N"),
};

fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    let is_title = text.starts_with("Fortio ") && text.contains(" running at ");
    let is_headless =
        text.starts_with("Ended after ") || text.starts_with("Aggregated Function Time");
    let has_results = |run: &Run| run.row.samples.is_some() && run.row.latency.mean.is_some();
    (is_title || is_headless) && run.is_none_or(has_results)
}

/// Beginnings of lines that say nothing about the figures.
const ASIDES: [&str; 12] = [
    "All done ",
    "Sockets used",
    "Total Bytes",
    "Uniform:",
    "# range",
    "# target",
    "WARNING",
    "[",
    "Jitter",
    "tcp ",
    "udp ",
    "Health ",
];

fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    let words = words(text);
    let next = |name: &str| next_word(&words, name);
    if text.starts_with("Fortio ") {
        if let Some(url) = words.last().filter(|_| text.contains("://")) {
            (*url).clone_into(&mut run.row.name);
        }
        return run.aside(line);
    }
    if text.starts_with("Starting at ") {
        run.row.load.connections = run.places(line, next("with"));
        return run.aside(line);
    }
    if let Some(rest) = after(text, "Ended after") {
        let duration = rest.split(" : ").next().unwrap_or_default();
        run.put(line, Slot::Duration, Figure::time(duration));
        run.put(line, Slot::Samples, Figure::count(next(":")));
        run.put(
            line,
            Slot::Throughput,
            Figure::count(text.split_once("qps=").map_or("", |(_, rate)| rate)),
        );
        return true;
    }
    if read_times(run, line, &words) {
        return true;
    }
    if text.contains(" : count ") {
        // Other times, such as sleep times.
        run.section = "aside".into();
        return run.aside(line);
    }
    if text.starts_with("IP addresses") {
        run.section = "aside".into();
        return true;
    }
    if let Some(rest) = after(text, "Code ") {
        let is_failed = rest
            .split_whitespace()
            .next()
            .and_then(|code| code.parse::<i32>().ok())
            .is_none_or(|code| !(100..400).contains(&code));
        run.add(line, if is_failed { "failed" } else { "answers" }, next(":"));
        return run.aside(line);
    }
    is_aside(run, text) && run.aside(line)
}

/// Reads a line of the function times or of their quantiles. Returns whether it was one.
fn read_times(run: &mut Run, line: &Line, words: &[&str]) -> bool {
    let next = |name: &str| next_word(words, name);
    let text = line.text.as_str();
    if text.starts_with("Aggregated Function Time") {
        run.section = "times".into();
        // Exact only within the buckets of its histogram.
        run.row.has_loose_quantiles = true;
        for (name, slot) in
            [("avg", Slot::Mean), ("+/-", Slot::Deviation), ("min", Slot::Min), ("max", Slot::Max)]
        {
            run.put(line, slot, Figure::time(&format!("{}s", next(name))));
        }
        run.keep(&format!("count {} sum {}", next("count"), next("sum")));
        return true;
    }
    let Some(target) = after(text, "# target").filter(|_| run.section == "times") else {
        return false;
    };
    let (of, value) = target.split_once(' ').unwrap_or((target, ""));
    match percent(of) {
        Some(of) => run.put(line, Slot::Quantile(of), Figure::time(&format!("{value}s"))),
        None => run.note(line, &format!("`{of}` is not a percentage")),
    }
    true
}

fn is_aside(run: &Run, text: &str) -> bool {
    let is_log =
        text.get(1..2) == Some(" ") && text.contains(".go:") || text.contains(" ended after ");
    let is_histogram = text.contains("<=") || text.starts_with(">=") || text.contains(" < ");
    is_log
        || is_histogram
        || ASIDES.iter().any(|known| text.starts_with(known))
        || run.section == "aside"
}
