//! Reads the text of ab (ApacheBench).

use crate::outputs::paste::Line;
use crate::outputs::{run::Format, run::Run, run::Slot, run::after, run::percent, run::words};
use spec::article::{Figure, Tool};

pub const AB: Format = Format {
    tool: Tool::Ab,
    begins,
    line,
    finish,
    hint: Some("name its concurrency level with --connections N"),
};

fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    let titles = [
        "This is ApacheBench",
        "Server Software:",
        "Document Path:",
        "Concurrency Level:",
        "Time taken for tests:",
    ];
    titles.iter().any(|title| text.starts_with(title))
        && run.is_none_or(|run| run.row.duration.is_some())
}

/// Headings whose figures nothing is checked against.
const ASIDE: [&str; 18] = [
    "This is ApacheBench",
    "Copyright",
    "Licensed to",
    "Benchmarking",
    "Completed ",
    "Finished ",
    "Server Software:",
    "Server Hostname:",
    "Server Port:",
    "SSL/TLS Protocol:",
    "Server Temp Key:",
    "TLS Server Name:",
    "Document Length:",
    "Keep-Alive requests:",
    "HTML transferred:",
    "Total body sent:",
    "Time per request:",
    "Write errors:",
];

fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    let first = |rest: &str| words(rest).first().copied().unwrap_or_default().to_owned();
    if ASIDE.iter().any(|heading| text.starts_with(heading)) {
        return run.aside(line);
    }
    if let Some(path) = after(text, "Document Path:") {
        path.clone_into(&mut run.row.name);
    } else if let Some(level) = after(text, "Concurrency Level:") {
        run.row.load.connections = run.places(line, level);
    } else if let Some(rest) = after(text, "Time taken for tests:") {
        run.put(line, Slot::Duration, Figure::time(rest));
    } else if let Some(rest) = after(text, "Complete requests:") {
        run.put(line, Slot::Samples, Figure::count(rest));
    } else if let Some(rest) = after(text, "Failed requests:") {
        run.put(line, Slot::Errors, Figure::count(rest));
    } else if let Some(rest) = after(text, "Non-2xx responses:") {
        run.add(line, "non-2xx", rest);
    } else if text.starts_with("(Connect:") {
        let length = text
            .split_once("Length:")
            .map_or("", |(_, rest)| rest.split([',', ')']).next().unwrap_or_default());
        run.add(line, "length", length.trim());
        run.keep(text);
    } else if let Some(rest) = after(text, "Requests per second:") {
        run.put(line, Slot::Throughput, Figure::count(&first(rest)));
    } else if let Some(rest) = after(text, "Total transferred:") {
        run.put(line, Slot::Received, Figure::bytes(rest));
    } else if let Some(rest) = after(text, "Transfer rate:") {
        run.put(line, Slot::Transfer, Figure::bytes(&format!("{}KB", first(rest))));
    } else {
        return tabled(run, line);
    }
    true
}

fn tabled(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    let ms = |text: &str| Figure::time(&format!("{text}ms"));
    match words(text)[..] {
        ["min", "mean[+/-sd]", "median", "max"] => {}
        ["Total:", min, mean, deviation, median, max] => {
            for (slot, value) in [
                (Slot::Min, min),
                (Slot::Mean, mean),
                (Slot::Deviation, deviation),
                (Slot::Max, max),
            ] {
                run.put(line, slot, ms(value));
            }
            run.keep(&format!("median {median}"));
        }
        ["Total:", ..] => {
            run.note(line, "its columns are not min, mean, standard deviation, median and max")
        }
        ["Connect:" | "Processing:" | "Waiting:", ..] => return run.aside(line),
        [of, value] | [of, value, "(longest", "request)"] if percent(of).is_some() => {
            run.put(line, Slot::Quantile(percent(of).unwrap_or_default()), ms(value));
        }
        // For a POST: `7024.07 kb/s sent`.
        [_, "kb/s", "sent" | "total"] => return run.aside(line),
        _ => return false,
    }
    true
}

/// Computes the failed requests. ab also counts a response as failed if its length differs from the
/// first one. Dynamic pages do that, so these are not errors here.
fn finish(run: &mut Run) {
    let (length, non_2xx) = (run.sum("length"), run.sum("non-2xx"));
    let failed = run.row.errors.as_ref().map_or(0.0, Figure::value);
    if length > 0.0 {
        run.notes.push(format!(
            "{length} responses differ in length from the first, which ab counts as failed; they are not counted as errors here"
        ));
    }
    let errors = (failed - length).max(0.0).max(non_2xx);
    if errors != failed {
        run.keep(&format!("Failed requests: {failed}"));
        run.row.errors = Some(Figure::whole(errors));
    }
}
