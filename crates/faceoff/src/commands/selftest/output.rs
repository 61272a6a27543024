//! Prints the result of the self-test as text.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use record::selftest::{SelfTest, Truth, TruthOutcome};
use spec::units::{show_duration, show_number};
use stats::Interval;
use std::fmt::Write;

/// Shows a value. A ratio near 1 needs more than three digits.
fn show(value: f64, unit: &str) -> String {
    if unit.is_empty() && value < 10.0 { format!("{value:.4}") } else { format!("{value:.1}") }
}

fn range(interval: Interval, unit: &str) -> String {
    let (low, high) = (show(interval.low, unit), show(interval.high, unit));
    if low == high { low } else { format!("{low} to {high}") }
}

fn row(truth: &Truth) -> Vec<Cell> {
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let unit = truth.unit.as_str();
    let with_unit = |text: String| format!("{text} {unit}").trim_end().to_owned();
    let dash = || "-".to_owned();
    let known = truth.known.map_or("no difference".into(), |known| with_unit(range(known, unit)));
    let outcome = match truth.outcome {
        TruthOutcome::Holds => "ok".to_owned(),
        TruthOutcome::Missed => "NOT".to_owned(),
        TruthOutcome::Unsound => "open".to_owned(),
    };
    vec![
        Cell::new(&truth.what),
        Cell::new(&truth.cell),
        Cell::new(&truth.quantity),
        right(known),
        right(truth.measured.map_or_else(dash, |value| with_unit(show(value, unit)))),
        right(truth.interval.map_or_else(dash, |interval| range(interval, unit))),
        right(truth.error().map_or_else(dash, |error| format!("{:.2} %", 100.0 * error))),
        Cell::new(truth.told_apart.map_or("", |is_told| if is_told { "yes" } else { "no" })),
        Cell::new(if truth.note.is_empty() {
            outcome
        } else {
            format!("{outcome}: {}", truth.note)
        }),
    ]
}

/// Returns the table, the generator's maximum rate and the overall result.
pub fn text(found: &SelfTest, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    let interval = format!("{} % interval", show_number(found.confidence * 100.0));
    table.set_header([
        "the server",
        "load",
        "figure",
        "known",
        "measured",
        &interval,
        "error",
        "diff",
        "outcome",
    ]);
    table.add_rows(found.truths.iter().map(row));
    let mut text = format!("{table}\n\n");
    if let Some(c) = &found.ceiling {
        let lag = |us: Option<f64>| us.map_or("-".into(), |us| format!("{} µs", show_number(us)));
        let _ = writeln!(
            text,
            "The generator on this machine: {:.0} correct responses per second over {} connections, at {} µs of its CPU time each. At {:.0}/s a request is sent {} late (median), {} (99th percentile).",
            c.per_s,
            c.connections,
            show_number(c.cpu_us),
            c.rate_per_s,
            lag(c.lag_p50_us),
            lag(c.lag_p99_us)
        );
    }
    let _ = writeln!(text, "diff: whether the interval excludes that there is no difference.");
    let count = |outcome| found.truths.iter().filter(|t| t.outcome == outcome).count();
    let all = found.truths.len();
    let sum = match found.outcome {
        TruthOutcome::Holds => format!("all {all} truths hold"),
        TruthOutcome::Missed => {
            format!(
                "{} of {all} truths are MISSED: do not trust measurements on this machine before you know why",
                count(found.outcome)
            )
        }
        TruthOutcome::Unsound => {
            format!(
                "{} of {all} truths could not be measured, {} hold",
                count(found.outcome),
                count(TruthOutcome::Holds)
            )
        }
    };
    let _ = writeln!(text, "{sum} ({}, {})", found.machine.cpu, show_duration(found.took));
    text
}
