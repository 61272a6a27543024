//! Reads the text of k6, whose kilobytes are 1,000 bytes.
//!
//! With `--summary-mode=full`, groups and scenarios follow, which are parts of the run.

use crate::outputs::paste::Line;
use crate::outputs::{run::Format, run::Run, run::Slot, run::after, run::percent, run::words};
use spec::article::{Figure, Tool};

pub const K6: Format = Format {
    tool: Tool::K6,
    begins,
    line,
    finish,
    hint: Some("name its users with --connections N"),
};

/// Returns the name of a metric, which is the text before its dots, and the rest.
fn metric(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    // Some versions print a mark before a metric with thresholds.
    let name = name.trim_start_matches(['✓', '✗', ' ']);
    let bare = name.trim_end_matches('.');
    let is_name = !bare.is_empty() && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && (bare.len() < name.len() || KNOWN.contains(&bare))).then_some((bare, rest.trim()))
}

/// The most lines between the first metric and that of the times.
const FOLLOWS_WITHIN: usize = 60;
/// The metrics with which a summary can begin.
const KNOWN: [&str; 8] = [
    "http_req_duration",
    "http_reqs",
    "http_req_failed",
    "iteration_duration",
    "iterations",
    "vus_max",
    "data_received",
    "checks",
];

fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    let has_results = |run: &Run| run.row.samples.is_some() || run.row.latency.mean.is_some();
    let is_title = ["█ TOTAL RESULTS", "█ THRESHOLDS", "execution: local", "scenarios: ("]
        .iter()
        .any(|title| text.starts_with(title));
    if is_title {
        return run.is_none_or(has_results);
    }
    // Without its title, a run begins with the first of its metrics.
    let follows = || {
        lines
            .iter()
            .take(FOLLOWS_WITHIN)
            .any(|line| metric(&line.text).is_some_and(|(name, _)| name == KNOWN[0]))
    };
    metric(text).is_some_and(|(name, _)| match run {
        Some(run) => {
            KNOWN.contains(&name)
                && run.section != "part"
                && run.columns.iter().any(|seen| seen == name)
        }
        None => KNOWN.contains(&name) || follows(),
    })
}

fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if text.starts_with('█') {
        run.section = if ["█ GROUP", "█ SCENARIO"].iter().any(|part| text.starts_with(part)) {
            "part"
        } else {
            ""
        }
        .into();
        return run.aside(line);
    }
    let Some((name, rest)) = metric(text) else {
        // Thresholds, checks, progress and the settings above the summary.
        let is_known = run.section == "part"
            || text.starts_with(['✓', '✗', '↳', '{', '*'])
            || ["running (", "scenarios:", "script:", "output:", "execution:"]
                .iter()
                .any(|known| text.starts_with(known))
            || text.contains("] ") && text.contains("VUs");
        return is_known && run.aside(line);
    };
    if run.section == "part" {
        return run.aside(line);
    }
    value(run, line, name, rest)
}

/// Reads the values of a metric, which follow its name.
fn value(run: &mut Run, line: &Line, name: &str, rest: &str) -> bool {
    run.columns.push(name.to_owned());
    let words = words(rest);
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    match name {
        "http_req_duration" => words.iter().for_each(|word| stat(run, line, word)),
        "http_reqs" => {
            run.put(line, Slot::Samples, Figure::count(word(0)));
            run.put(line, Slot::Throughput, Figure::count(word(1).trim_end_matches("/s")));
        }
        // `0.25% 10 out of 4000`, `0.25% ✓ 10 ✗ 3990`
        "http_req_failed" => {
            run.put(line, Slot::ErrorShare, Figure::share(word(0)));
            run.keep(&words.get(1..).unwrap_or_default().join(" "));
        }
        "checks_failed" => {
            run.put(line, Slot::FailedChecks, Figure::share(word(0)));
            run.keep(&words.get(1..).unwrap_or_default().join(" "));
        }
        "checks" => {
            run.put(line, Slot::FailedChecks, Figure::share(word(0)).map(Figure::complement));
            run.keep(rest);
        }
        "vus_max" => {
            run.row.load.users = run.places(line, word(0));
            run.keep(&words.get(1..).unwrap_or_default().join(" "));
        }
        "iterations" => {
            run.add(line, "iterations", word(0));
            run.keep(rest);
        }
        "iteration_duration" => {
            match words.iter().find_map(|word| after(word, "avg=")).map(Figure::time) {
                Some(Ok(mean)) => drop(run.sums.insert("iteration", mean.value())),
                Some(Err(why)) => run.note(line, &why),
                None => {}
            }
            run.keep(rest);
        }
        "data_received" => {
            run.put(
                line,
                Slot::Received,
                Figure::decimal_bytes(&format!("{}{}", word(0), word(1))),
            );
            run.put(
                line,
                Slot::Transfer,
                Figure::decimal_bytes(&format!("{}{}", word(2), word(3).trim_end_matches("/s"))),
            );
        }
        _ => return run.aside(line),
    }
    true
}

/// Reads a statistic: `avg=4.2ms`, `p(95)=1m12s`.
fn stat(run: &mut Run, line: &Line, word: &str) {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match slot(key) {
        Some(slot) => run.put(line, slot, Figure::time(value)),
        None if key == "count" => run.keep(word),
        None => run.note(line, &format!("`{key}` is not a statistic that is known")),
    }
}

/// Returns the place of a statistic of `http_req_duration`, by its name in the text and in JSON.
pub fn slot(key: &str) -> Option<Slot> {
    Some(match key {
        "avg" => Slot::Mean,
        "min" => Slot::Min,
        "max" => Slot::Max,
        "med" => Slot::Quantile(50.0),
        key => Slot::Quantile(percent(key)?),
    })
}

fn finish(run: &mut Run) {
    run.row.load.depth = depth(run);
}

/// Returns how many requests of a user are in flight at once. With `http.batch` the requests of an
/// iteration together last longer than the iteration. There are at most as many as it sends.
pub fn depth(run: &Run) -> Option<u64> {
    let per_iteration = run.row.samples.as_ref()?.value() / run.sum("iterations");
    let mean = run.row.latency.mean.as_ref()?.value();
    let at_once = per_iteration * mean / run.sum("iteration");
    let depth = at_once.ceil().min(per_iteration.floor());
    (at_once.is_finite() && at_once > 1.02 && depth > 1.0).then_some(depth as u64)
}
