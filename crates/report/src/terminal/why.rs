//! Where CPU time went, for a terminal: what `faceoff why` prints.
//!
//! For each cell: the sentences, a table of categories with the contenders side by side, the
//! functions that differ, and what else the processes did. Start with [`why`].

use super::tables::{empty_table, right, wrapped};
use comfy_table::{Cell, ColumnConstraint, Width};
use record::judgement::{
    CauseLine, Causes, Cost, CpuCauses, CpuDifference, SystemCallsPerRequest, slowest_calls,
};
use spec::units::show_number;
use std::collections::BTreeSet;

/// Columns of a line.
const WIDTH: u16 = 80;
/// Blanks around the text of a cell.
const PADDING: usize = 2;
/// The most contenders next to each other in a table.
const SIDE_BY_SIDE: usize = 2;
/// The most functions that are listed for a contender.
const FUNCTIONS_MAX: usize = 12;
/// The most system calls that are listed.
const CALLS_MAX: usize = 8;
/// The longest name of a function, in characters.
const NAME_MAX: usize = 36;

/// Writes the causes of every cell in lines of 80 columns.
pub fn why(causes: &[Causes]) -> String {
    causes.iter().map(cell).collect::<Vec<_>>().join("\n")
}

fn cell(of: &Causes) -> String {
    let mut text = format!("{}\n\n", of.cell);
    for difference in &of.differences {
        text += &wrapped(&format!("  {}", difference.sentence), usize::from(WIDTH));
    }
    if of.differences.is_empty() {
        text += "  Nothing is compared: fewer than two contenders were profiled, or not the\n";
        text += "  baseline.\n";
    }
    for columns in side_by_side(&of.contenders) {
        text += &format!("\n{}", table(&category_rows(&columns)));
    }
    for difference in &of.differences {
        text += &functions(difference);
    }
    for columns in side_by_side(&of.contenders) {
        text += &format!("\n{}", table(&wait_rows(&columns)));
    }
    let remarks: String = of.contenders.iter().map(remarks).collect();
    if !remarks.is_empty() {
        text += &format!("\n{remarks}");
    }
    text
}

/// Groups contenders for tables. The first of them, the baseline, is in every group.
fn side_by_side(contenders: &[CpuCauses]) -> Vec<Vec<&CpuCauses>> {
    match contenders {
        [] => Vec::new(),
        [only] => vec![vec![only]],
        [first, others @ ..] => others
            .chunks(SIDE_BY_SIDE - 1)
            .map(|group| std::iter::once(first).chain(group).collect())
            .collect(),
    }
}

/// A table of rows below a header, the first column to the left and the others to the right. A
/// column is at least as wide as its longest word, so that no word is broken.
fn table(rows: &[Vec<String>]) -> String {
    let mut table = empty_table(WIDTH);
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().enumerate().map(|(at, text)| match at {
            0 => Cell::new(text),
            _ => right(text.clone()),
        });
        match number {
            0 => table.set_header(cells),
            _ => table.add_row(cells),
        };
    }
    let longest_word = |at: usize| {
        let words = rows.iter().filter_map(|row| row.get(at)).flat_map(|text| text.split(' '));
        words.map(|word| word.chars().count()).max().unwrap_or(0)
    };
    let columns = rows.first().map_or(0, Vec::len);
    table.set_constraints((0..columns).map(|at| {
        ColumnConstraint::LowerBoundary(Width::Fixed((longest_word(at) + PADDING) as u16))
    }));
    format!("{table}\n")
}

/// `12.3 (12.0 to 12.6)`
fn show_cost(cost: &Cost) -> String {
    let us = show_us(cost.us);
    match cost.interval {
        Some(interval) => {
            format!("{us} ({} to {})", show_us(interval.low.max(0.0)), show_us(interval.high))
        }
        None => us,
    }
}

/// Shows microseconds. Less than a nanosecond is nothing.
fn show_us(us: f64) -> String {
    if us.abs() < 0.001 { "0".into() } else { show_number(us) }
}

fn header(first: &str, columns: &[&CpuCauses]) -> Vec<String> {
    let names = columns.iter().map(|of| of.contender.to_string());
    std::iter::once(first.to_owned()).chain(names).collect()
}

/// Categories that any of the contenders spends time in, and the total.
fn category_rows(columns: &[&CpuCauses]) -> Vec<Vec<String>> {
    let mut rows = vec![header("CPU per request, µs", columns)];
    let mut row = |name: &str, cost: &dyn Fn(&CpuCauses) -> Cost| {
        let costs = columns.iter().map(|of| show_cost(&cost(of)));
        rows.push(std::iter::once(name.to_owned()).chain(costs).collect());
    };
    let names = columns.first().map(|of| of.categories.as_slice()).unwrap_or_default();
    for (at, category) in names.iter().enumerate() {
        if columns.iter().any(|of| of.categories[at].cost.us > 0.0) {
            row(&category.name, &|of| of.categories[at].cost);
        }
    }
    row("total", &|of| of.total);
    rows
}

/// The functions of a difference that hold.
fn functions(of: &CpuDifference) -> String {
    if !of.functions_compared {
        let (contender, baseline) = (&of.contender, &of.baseline);
        let text =
            format!("  {contender} and {baseline} share too few functions to be compared by them.");
        return format!("\n{}", wrapped(&text, usize::from(WIDTH)));
    }
    let holding: Vec<&CauseLine> = of.functions.iter().filter(|line| line.holds).collect();
    if holding.is_empty() {
        return String::new();
    }
    let title = format!("{} minus {}, µs", of.contender, of.baseline);
    let mut rows = vec![vec![title, "difference".into(), "q".into()]];
    for line in holding.iter().take(FUNCTIONS_MAX) {
        rows.push(vec![
            shortened(&line.name),
            show_difference(line),
            line.q.map_or(
                "-".into(),
                |q| {
                    if q < 1e-4 { "<0.0001".into() } else { format!("{q:.4}") }
                },
            ),
        ]);
    }
    let more = holding.len().saturating_sub(FUNCTIONS_MAX);
    let rest = if more > 0 { format!("and {more} more functions\n") } else { String::new() };
    format!("\n{}{rest}", table(&rows))
}

/// `+0.8 (0.6 to 1.0)`, `-0.8 (-1.0 to -0.6)`
fn show_difference(line: &CauseLine) -> String {
    let sign = if line.us > 0.0 { "+" } else { "" };
    let interval = line.interval.map_or(String::new(), |interval| {
        format!(" ({} to {})", show_us(interval.low), show_us(interval.high))
    });
    format!("{sign}{}{interval}", show_us(line.us))
}

/// Cuts the beginning of a long name: its end tells more.
fn shortened(name: &str) -> String {
    let length = name.chars().count();
    match length > NAME_MAX {
        true => format!("…{}", name.chars().skip(length - NAME_MAX + 1).collect::<String>()),
        false => name.to_owned(),
    }
}

/// What the processes did besides using a CPU.
fn wait_rows(columns: &[&CpuCauses]) -> Vec<Vec<String>> {
    let mut rows = vec![header("per request", columns)];
    let mut row = |name: &str, value: &dyn Fn(&CpuCauses) -> Option<f64>| {
        let values = columns.iter().map(|of| value(of).map_or("-".into(), show_us));
        rows.push(std::iter::once(name.to_owned()).chain(values).collect());
    };
    row("waiting for a CPU, µs", &|of| of.waits.run_queue_us);
    row("switches, waiting", &|of| Some(of.waits.voluntary_switches));
    row("switches, CPU lost", &|of| Some(of.waits.involuntary_switches));
    row("page faults, no disk", &|of| Some(of.waits.minor_faults));
    row("page faults, disk", &|of| Some(of.waits.major_faults));
    if columns.iter().any(|of| of.waits.pauses.is_some()) {
        let pauses = |of: &CpuCauses| of.waits.pauses;
        row("collector paused, % of time", &|of| pauses(of).map(|pauses| 100.0 * pauses.share));
        row("longest such pause, µs", &|of| pauses(of).map(|pauses| pauses.longest_us));
    }
    for name in slowest_calls(columns.iter().copied()).into_iter().take(CALLS_MAX) {
        let calls = columns.iter().map(|of| of.waits.call(name).map_or("-".into(), show_calls));
        rows.push(std::iter::once(name.to_owned()).chain(calls).collect());
    }
    rows
}

/// `2 calls, 13.5 µs`: how often a request makes a call, and the time within it.
fn show_calls(call: &SystemCallsPerRequest) -> String {
    let calls = format!("{} calls", show_us(call.calls));
    call.spent_us.map_or(calls.clone(), |us| format!("{calls}, {} µs", show_us(us)))
}

/// What a reader must know about the profiles of a contender.
fn remarks(of: &CpuCauses) -> String {
    let mut lines: BTreeSet<String> = of.notes.iter().cloned().collect();
    if of.lost > 0 {
        lines.insert(format!("the kernel dropped {} samples", of.lost));
    }
    let lines = lines
        .iter()
        .map(|line| wrapped(&format!("  {}: {line}", of.contender), usize::from(WIDTH)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::judgement::{NamedCost, PausesPerBlock, WaitsPerRequest};
    use stats::Interval;

    fn cost(us: f64, half: f64) -> Cost {
        Cost { us, interval: Some(Interval { low: us - half, high: us + half }) }
    }

    fn contender(name: &str, tcp: f64, collection: f64) -> CpuCauses {
        let category =
            |name: &str, us: f64| NamedCost { name: name.into(), cost: cost(us, 0.1 * us) };
        CpuCauses {
            contender: name.parse().unwrap(),
            blocks: 6,
            samples: 30_000,
            lost: u64::from(name == "b") * 12,
            total: cost(tcp + collection, 1.0),
            sampled_share: Some(0.93),
            agrees: Some(true),
            categories: vec![
                category("kernel TCP/IP", tcp),
                category("garbage collection", collection),
                category("TLS", 0.0),
            ],
            functions: vec![],
            modules: vec![],
            waits: WaitsPerRequest {
                run_queue_us: (name == "a").then_some(3.21),
                voluntary_switches: 1.5,
                system_calls: vec![SystemCallsPerRequest {
                    name: "write".into(),
                    calls: 2.0,
                    spent_us: (name == "a").then_some(13.5),
                }],
                pauses: (name == "b").then_some(PausesPerBlock {
                    count: 12.0,
                    share: 0.0123,
                    longest_us: 850.0,
                }),
                ..WaitsPerRequest::default()
            },
            notes: vec![format!("libx.so of {name} has no symbols")],
        }
    }

    #[test]
    fn causes_of_a_cell_fit_in_80_columns() {
        let line = |name: &str, us: f64| CauseLine {
            name: name.into(),
            category: "garbage collection".into(),
            us,
            interval: Some(Interval { low: us - 0.2, high: us + 0.2 }),
            p: Some(1e-6),
            q: Some(1e-5),
            holds: true,
        };
        let long = "com.example.company.product.module.server.Handler.handleRequest";
        let difference = CpuDifference {
            contender: "b".parse().unwrap(),
            baseline: "a".parse().unwrap(),
            blocks: 6,
            total: line("", 1.2),
            categories: vec![],
            functions: vec![line("runtime.gcDrain", 0.8), line(long, -0.4)],
            functions_compared: true,
            waits: None,
            sentence: "b uses 1.2 µs more CPU per request than a (1.0 µs to 1.4 µs): 0.8 µs in \
                       garbage collection (runtime.gcDrain); 0.4 µs is spread over the rest."
                .into(),
        };
        let contenders = vec![contender("a", 12.3, 0.0), contender("b", 12.7, 0.8)];
        let causes = Causes { cell: "closed-64".into(), contenders, differences: vec![difference] };
        let text = why(&[causes]);
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn long_names_stay_whole() {
        let names = ["proxy-spring-webflux:virtual-threads", "proxy-spring-gateway:platform"];
        let contenders = names.map(|name| contender(name, 12.3, 0.8)).to_vec();
        let text = why(&[Causes { cell: "c".into(), contenders, differences: vec![] }]);
        assert!(names.iter().all(|name| text.matches(name).count() >= 2), "{text}");
    }
}
