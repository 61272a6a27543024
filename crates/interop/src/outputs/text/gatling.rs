//! Reads the text of Gatling, in whole milliseconds.
//!
//! Since 3.14 it is a table (`request count | 1,000 | 998 | 2`), before that
//! `request count 1000 (OK=998 KO=2)`.

use crate::outputs::paste::Line;
use crate::outputs::{run::Format, run::Run, run::Slot};
use spec::article::{Figure, Tool};

pub const HINT: &str = "Gatling does not sum up its users: name them with --connections N";

pub const GATLING: Format =
    Format { tool: Tool::Gatling, begins, line, finish: |_| {}, hint: Some(HINT) };

fn begins(lines: &[Line], run: Option<&Run>) -> bool {
    let text = &lines[0].text;
    let titles = ["---- Global Information ", "---- Requests ", "Simulation ", "request count "];
    let is_title = titles.iter().any(|title| text.starts_with(title))
        && (!text.starts_with("Simulation ") || text.contains(" started"));
    is_title && run.is_none_or(|run| run.row.samples.is_some())
}

fn line(run: &mut Run, line: &Line) -> bool {
    let text = line.text.as_str();
    if let Some(title) = text.strip_prefix("---- ") {
        run.section = if title.starts_with("Global Information") { "" } else { "aside" }.into();
        return run.aside(line);
    }
    if text.starts_with("====") {
        // A block of progress ends, and another may begin.
        run.section = "aside".into();
        return true;
    }
    let Some((label, all, ok, failed)) = columns(text).filter(|_| run.section.is_empty()) else {
        return (run.section == "aside"
            || text.starts_with("Simulation ")
            || text.contains(" log file(s) done"))
            && run.aside(line);
    };
    let label = label.trim_end_matches(" (ms)");
    let slot = match label {
        "request count" => {
            run.put(line, Slot::Samples, Figure::count(all));
            // A dash means none.
            run.put(
                line,
                Slot::Errors,
                if failed == "-" { Ok(Figure::exact(0.0, "0")) } else { Figure::count(failed) },
            );
            run.keep(&format!("OK {ok}"));
            return true;
        }
        "mean throughput (rps)" | "mean requests/sec" => {
            run.put(line, Slot::Throughput, Figure::count(all));
            run.keep(&format!("{label} OK {ok} KO {failed}"));
            return true;
        }
        "min response time" => Slot::Min,
        "max response time" => Slot::Max,
        "mean response time" => Slot::Mean,
        "response time std deviation" | "std deviation" => Slot::Deviation,
        label => {
            let percent = label
                .strip_prefix("response time ")
                .and_then(|rest| rest.strip_suffix(" percentile"));
            match percent
                .and_then(|nth| nth.trim_end_matches(char::is_alphabetic).parse::<f64>().ok())
                .filter(|p| *p <= 100.0)
            {
                Some(percent) => Slot::Quantile(percent),
                None => return false,
            }
        }
    };
    run.put(line, slot, Figure::time(&format!("{all}ms")));
    run.keep(&format!("{label} OK {ok} KO {failed}"));
    true
}

/// Splits a line of the summary into its label and the values of all requests, the successful and
/// the failed ones.
fn columns(text: &str) -> Option<(&str, &str, &str, &str)> {
    let columns: Vec<&str> = text.split('|').map(str::trim).collect();
    if let [label, all, ok, failed] = columns[..] {
        return Some((label, all, ok, failed));
    }
    let (before, after) = text.split_once(" (OK=")?;
    let (label, all) = before.rsplit_once(' ')?;
    let (ok, failed) = after.split_once("KO=")?;
    Some((label.trim(), all, ok.trim(), failed.trim_end_matches(')').trim()))
}
