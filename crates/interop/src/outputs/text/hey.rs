//! Reads the text of hey, and of oha, which has the same layout.

use crate::outputs::OHA_CUT_OFF;
use crate::outputs::paste::Line;
use crate::outputs::{run::Format, run::Run, run::Slot, run::after, run::percent};
use spec::article::{Figure, Tool};

pub const HEY: Format = Format {
    tool: Tool::Hey,
    begins,
    line,
    finish,
    hint: Some("hey and oha do not print their connections: name them with --connections N"),
};

/// hey keeps the times and statuses of this many responses, but divides the sum of all times by
/// this number.
const KEPT: f64 = 1e6;

fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    let follows =
        |heading: &str| lines[1..].iter().take(3).any(|line| line.text.starts_with(heading));
    if text == "Summary:" {
        return (follows("Total:") || follows("Success rate:")) && !follows("Count:");
    }
    let is_headless =
        text.starts_with("Success rate:") || text.starts_with("Total:") && follows("Slowest:");
    is_headless && run.is_none_or(|run| run.row.duration.is_some())
}

/// The sections, by the beginning of their titles.
const SECTIONS: [(&str, &str); 8] = [
    ("Summary:", "summary"),
    ("Response time histogram", "aside"),
    ("Response time distribution", "quantiles"),
    ("Latency distribution", "quantiles"),
    ("Details", "aside"),
    ("Status code distribution", "statuses"),
    ("Error distribution", "errors"),
    ("HTTP/", "aside"),
];

/// Reads a line with a number and its unit: `0.0217 secs`, `0.25 10 sec`, `1.98 MiB`.
fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if let Some((_, section)) =
        SECTIONS.iter().find(|(title, _)| text.starts_with(title) && text.contains(':'))
    {
        let is_part = text.contains(" only)");
        run.section = if is_part { "aside" } else { section }.to_owned();
        return true;
    }
    const TIMES: [(&str, Slot); 4] = [
        ("Total:", Slot::Duration),
        ("Slowest:", Slot::Max),
        ("Fastest:", Slot::Min),
        ("Average:", Slot::Mean),
    ];
    const BYTES: [(&str, Slot); 3] = [
        ("Total data:", Slot::Received),
        ("Size/request:", Slot::PerAnswer),
        ("Size/sec:", Slot::Transfer),
    ];
    if let Some((slot, rest)) =
        BYTES.iter().find_map(|(heading, slot)| Some((*slot, after(text, heading)?)))
    {
        run.put(line, slot, Figure::bytes(rest));
    } else if let Some((slot, rest)) =
        TIMES.iter().find_map(|(heading, slot)| Some((*slot, after(text, heading)?)))
    {
        run.put(line, slot, Figure::time(rest));
    } else if let Some(rest) = after(text, "Requests/sec:") {
        run.put(line, Slot::Throughput, Figure::count(rest));
    } else if text.starts_with("Success rate:") {
        run.tool = Tool::Oha;
        if run.row.name == Tool::Hey.name() {
            Tool::Oha.name().clone_into(&mut run.row.name);
        }
        return run.aside(line);
    } else {
        return sectioned(run, line);
    }
    true
}

fn sectioned(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    let bracketed = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map(|(inside, rest)| (inside.trim(), rest.trim()));
    match (run.section.as_str(), bracketed) {
        ("aside", _) if !text.is_empty() => run.aside(line),
        ("quantiles", _) if text.contains(" in ") => {
            let (of, value) = text.split_once(" in ").unwrap_or_default();
            match percent(of.trim()) {
                Some(of) => run.put(line, Slot::Quantile(of), Figure::time(value)),
                None => run.note(line, &format!("`{of}` is not a percentage")),
            }
            true
        }
        // `[200] 72568 responses`
        ("statuses", Some((status, rest))) => {
            let answers = rest.split_whitespace().next().unwrap_or_default();
            run.add(line, "answers", answers);
            if status.parse::<u16>().is_ok_and(|status| status >= 400) {
                run.add(line, "failed", answers);
            }
            run.keep(&format!("status {status}"));
            true
        }
        // `[7] aborted due to deadline`: in flight at the end, so not errors
        ("errors", Some((_, OHA_CUT_OFF))) => run.aside(line),
        ("errors", Some((number, rest))) => {
            run.add(line, "errors", number);
            run.keep(rest);
            true
        }
        _ => false,
    }
}

fn finish(run: &mut Run) {
    let all = run.sum("answers") + run.sum("errors");
    let failed = run.sum("failed") + run.sum("errors");
    if run.sum("errors") > 0.0 {
        // There were then fewer responses than requests.
        run.row
            .bytes_per_answer
            .take()
            .into_iter()
            .for_each(|figure| run.keep(&format!("bytes per response {}", figure.text())));
    }
    // Without statuses, the number of responses is rate times duration.
    if run.tool == Tool::Hey && (all == 0.0 || run.sum("answers") >= KEPT) {
        return beyond_the_kept(run);
    }
    if all > 0.0 {
        run.row.samples = Some(Figure::whole(all));
        run.row.errors = Some(Figure::whole(failed));
    }
}

/// Corrects the means that hey divides by the responses it keeps, and sets aside the figures of the
/// kept responses alone.
fn beyond_the_kept(run: &mut Run) {
    let (rate, duration) = (
        run.row.throughput.as_ref().map_or(0.0, Figure::value),
        run.row.duration.as_ref().map_or(0.0, Figure::value),
    );
    let answers = rate * duration - run.sum("errors");
    if run.sum("answers") > 0.0 {
        let failed = run.sum("failed") / KEPT;
        run.row.error_share = Some(Figure::exact(failed, format!("{:.2}%", failed * 100.0)));
    }
    if answers <= KEPT {
        return;
    }
    let factor = KEPT / answers;
    run.row.latency.mean = run.row.latency.mean.take().map(|mean| mean.times(factor).within(0.01));
    run.row.bytes_per_answer =
        run.row.bytes_per_answer.take().map(|size| size.times(factor).within(0.01));
    let latency = &mut run.row.latency;
    let kept = latency.quantiles.drain(..).map(|(percent, figure)| {
        (format!("{percent} % of the first million"), figure.text().to_owned())
    });
    let kept: Vec<(String, String)> = kept
        .chain([("min", latency.min.take()), ("max", latency.max.take())].into_iter().filter_map(
            |(name, figure)| {
                Some((format!("{name} of the first million"), figure?.text().to_owned()))
            },
        ))
        .collect();
    run.row.other.extend(kept);
    run.notes.push(format!(
        "hey keeps a million responses, but divides the sum of all times by a million: with {answers:.0} responses the average is {factor:.3} of the printed one, and this is used here; its quantiles and extremes cover only the first million and are not checked"
    ));
}
