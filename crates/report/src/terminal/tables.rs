//! The tables of a run's end: verdicts cell by cell, curves of what was swept, and load generators.
//! Start with [`verdict_table`].

use crate::wording::generators::{
    generator_name, title_of_generators, trials_of_generator, why_excluded,
};
use crate::wording::strip::{pooled, too_few};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use record::Record;
use record::judgement::{Judgement, Outcome, Phrase, SweepCurves, Verdict};
use spec::experiment::sweep::{Slice, slices};
use spec::name::ContenderName;
use spec::units::show_number;
use std::fmt::Write;

/// Writes the verdicts cell by cell, for a terminal of this width. Cells swept along the first
/// parameter are one table of curves instead.
pub fn verdict_table(record: &Record, judgement: &Judgement, width: u16) -> String {
    let mut text = String::new();
    let cells = &record.header.experiment.cells;
    let along_first: Vec<Slice<'_>> =
        slices(cells).into_iter().filter(Slice::is_along_first).collect();
    let is_in_curves = |cell: &str| {
        along_first.iter().any(|slice| slice.cells.iter().any(|(_, swept)| swept.name == cell))
    };
    for slice in &along_first {
        let table = curve_table(slice, &judgement.sweeps, &judgement.verdicts, width);
        if !table.is_empty() {
            let _ = writeln!(
                text,
                "{} over {}, against {}\n{table}\n",
                slice.title(),
                slice.parameter,
                judgement.baseline
            );
        }
    }
    let places = cells.iter().filter(|c| !is_in_curves(&c.name));
    let places = places
        .map(|c| (Some(c.name.as_str()), format!("{} ({})", c.name, c.load.describe())))
        .chain([(None, "start".to_owned())]);
    for (cell, title) in places {
        let tables = tables_of_cell(cell, judgement, width);
        if !tables.is_empty() {
            let _ = write!(text, "{title}\n{tables}");
        }
    }
    text + &generator_tables(judgement, width)
}

/// A table of this width at most, in the style of all tables.
pub(super) fn empty_table(width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table
}

/// A cell of a table whose text is aligned to the right.
pub(super) fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The verdicts of a cell, with one table for each contender: `A` is the contender and `B` the
/// baseline. Reasons are below the table, each once.
fn tables_of_cell(cell: Option<&str>, judgement: &Judgement, width: u16) -> String {
    let here = || judgement.verdicts.iter().filter(|v| v.cell.as_deref() == cell);
    let mut names: Vec<&ContenderName> = Vec::new();
    here().for_each(|v| {
        if !names.contains(&&v.contender) {
            names.push(&v.contender);
        }
    });
    let mut text = String::new();
    for name in names {
        let mut rows = vec![Row {
            metric: String::new(),
            a: "A".into(),
            b: "B".into(),
            difference: Phrase { size: "A against B".into(), interval: None },
            verdict: String::new(),
        }];
        let mut reasons: Vec<String> = Vec::new();
        for verdict in here().filter(|v| v.contender == *name && !v.is_without_failures()) {
            rows.push(row(verdict, judgement, &mut reasons));
        }
        let _ = writeln!(text, "A = {name}, B = {} (baseline)", judgement.baseline);
        text += &lines(&rows, width.into());
        for (number, reason) in (1..).zip(&reasons) {
            text += &wrapped(&format!("  {number}: {reason}"), width.into());
        }
        text.push('\n');
    }
    text
}

/// A row of a table of verdicts. If the verdict is undecided, its reason is added to the reasons.
fn row(verdict: &Verdict, judgement: &Judgement, reasons: &mut Vec<String>) -> Row {
    let (metric, cell) = (verdict.metric, verdict.cell.as_deref());
    let show = |value: Option<f64>, name: &ContenderName| {
        let value = value.or_else(|| pooled(judgement, metric, cell, name));
        value.map_or("-".into(), |value| metric.show(value))
    };
    let missing_quantile = || {
        too_few(judgement, metric, cell, &verdict.contender)
            .or_else(|| too_few(judgement, metric, cell, &judgement.baseline))
    };
    let word = verdict.outcome.name();
    let word = match verdict.outcome {
        Outcome::Better | Outcome::Worse | Outcome::Equivalent => word.to_owned(),
        Outcome::Undecided => {
            let reason = match missing_quantile().filter(|_| verdict.value.is_none()) {
                Some(too_few) => format!("the quantile {too_few}"),
                None => verdict.reason.clone(),
            };
            let known = reasons.iter().position(|known| *known == reason);
            let at = known.unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            format!("{word} {}", at + 1)
        }
    };
    Row {
        metric: metric.short_label().into(),
        a: show(verdict.value, &verdict.contender),
        b: show(verdict.baseline_value, &judgement.baseline),
        difference: verdict.short_phrase(),
        verdict: word,
    }
}

/// A row of a table of verdicts.
struct Row {
    metric: String,
    a: String,
    b: String,
    difference: Phrase,
    verdict: String,
}

/// Writes rows with aligned columns, numbers to the right. Where a row would be wider than `width`,
/// its interval is below the row.
fn lines(rows: &[Row], width: usize) -> String {
    fn widest(texts: impl Iterator<Item = impl AsRef<str>>) -> usize {
        texts.map(|text| text.as_ref().chars().count()).max().unwrap_or(0)
    }
    let metric = widest(rows.iter().map(|row| &row.metric));
    let a = widest(rows.iter().map(|row| &row.a));
    let b = widest(rows.iter().map(|row| &row.b));
    let verdict = widest(rows.iter().map(|row| &row.verdict));
    let before = 2 + metric + 2 + a + 2 + b + 2;
    let most = width.saturating_sub(before + 2 + verdict);
    let shown: Vec<(String, Option<String>)> = rows
        .iter()
        .map(|Row { difference, .. }| match (difference.to_string(), &difference.interval) {
            (whole, Some(interval)) if whole.chars().count() > most => {
                (difference.size.clone(), Some(format!("({interval})")))
            }
            (whole, _) => (whole, None),
        })
        .collect();
    let difference = widest(shown.iter().map(|(text, _)| text));
    let line = |(row, (text, below)): (&Row, &(String, Option<String>))| {
        let line = format!(
            "  {:<metric$}  {:>a$}  {:>b$}  {text:<difference$}  {}",
            row.metric, row.a, row.b, row.verdict
        );
        let below = below.as_ref().map(|below| format!("{:before$}{below}\n", ""));
        format!("{}\n{}", line.trim_end(), below.unwrap_or_default())
    };
    rows.iter().zip(&shown).map(line).collect()
}

/// Breaks a text between words into lines of at most `width` characters. Further lines are
/// indented.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let indent = text.chars().take_while(|c| *c == ' ').count();
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        let is_empty = line.trim().is_empty();
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{}{word}", " ".repeat(indent + 3)));
        } else {
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// One row for each metric and contender, one column for each level: the value with its interval,
/// and the verdict.
fn curve_table(
    slice: &Slice<'_>,
    sweeps: &[SweepCurves],
    verdicts: &[Verdict],
    width: u16,
) -> Table {
    let mut table = empty_table(width);
    let levels = slice.cells.iter().map(|(level, _)| level.to_string());
    table.set_header(["metric".to_owned(), "contender".to_owned()].into_iter().chain(levels));
    let title = slice.title();
    for curves in sweeps.iter().filter(|s| s.of == title && s.parameter == slice.parameter) {
        let about = curves.metric.describe();
        let mut label = format!("{}, {}", about.label, about.unit);
        for line in &curves.lines {
            let at = |(level, cell): &(f64, &spec::experiment::Cell)| {
                let Some(point) = line.points.iter().find(|p| p.level == *level) else {
                    return right("-".into());
                };
                let interval = point
                    .interval
                    .map(|i| format!("{} to {}", show_number(i.low), show_number(i.high)));
                let verdict = verdicts.iter().find(|v| {
                    v.contender == line.contender
                        && v.metric == curves.metric
                        && v.cell.as_deref() == Some(&cell.name)
                });
                let lines = [
                    Some(show_number(point.value)),
                    interval,
                    verdict.map(|v| v.outcome.name().to_owned()),
                ];
                right(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
            };
            let cells = slice.cells.iter().map(at);
            table.add_row(
                [Cell::new(label.trim_end_matches(", ")), Cell::new(&line.contender)]
                    .into_iter()
                    .chain(cells),
            );
            label.clear();
        }
    }
    table
}

/// Writes one table for each load that several generators made, as wide as the terminal.
fn generator_tables(judgement: &Judgement, width: u16) -> String {
    let show = |value: Option<f64>| right(value.map_or("-".into(), show_number));
    let mut text = String::new();
    for of in &judgement.external_generators {
        let mut table = empty_table(width);
        table.set_header([
            "generator",
            "reached /s",
            "median ms",
            "p99 ms",
            "failed %",
            "own CPU µs/request",
            "own memory MB",
            "trials",
        ]);
        if let Some(truth) = &of.truth {
            let known = [truth.rate_per_s, truth.p50_ms, truth.p99_ms].map(show);
            table.add_row(std::iter::once(Cell::new("known")).chain(known));
        }
        for line in &of.lines {
            let figures = [
                line.rate_per_s,
                line.p50_ms,
                line.p99_ms,
                line.failed_percent,
                line.cpu_us_per_request,
                line.memory_mb,
            ];
            let trials = std::iter::once(right(trials_of_generator(line)));
            let name = std::iter::once(Cell::new(generator_name(line)));
            table.add_row(name.chain(figures.map(show)).chain(trials));
        }
        let _ = writeln!(text, "{}\n{table}", title_of_generators(of));
        text.extend(why_excluded(of).map(|why| why + "\n"));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sections::crossings;
    use super::*;
    use crate::wording::generators::generators_sentence;
    use record::judgement::{Crossing, GeneratorComparison, GeneratorLine, SweepLine, SweepPoint};
    use spec::experiment::Load;
    use spec::experiment::external_generator::{Driver, Truth};
    use spec::experiment::sweep::{Level, Swept};
    use spec::metric::Metric;
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn cell(connections: u32) -> spec::experiment::Cell {
        let level = Level { parameter: "connections".into(), value: f64::from(connections) };
        spec::experiment::Cell {
            name: format!("c-{connections}"),
            workload: "w".into(),
            with: BTreeMap::new(),
            load: Load::closed(connections),
            driver: None,
            truth: None,
            timeout: Duration::from_secs(1),
            warmup: Duration::ZERO,
            after: None,
            sweep: Some(Swept { of: "c".into(), levels: vec![level] }),
        }
    }

    fn curves(metric: Metric, value: f64) -> SweepCurves {
        let point = |level: f64, value: f64| SweepPoint {
            cell: format!("c-{level}"),
            level,
            value,
            interval: (level > 1.0)
                .then_some(stats::Interval { low: value * 0.9, high: value * 1.1 }),
            used: 6,
        };
        let line = |name: &str, points| SweepLine { contender: name.parse().unwrap(), points };
        SweepCurves {
            of: "c".into(),
            parameter: "connections".into(),
            metric,
            confidence: 0.95,
            lines: vec![
                line("a", vec![point(1.0, value), point(6.0, value * 5.0), point(48.0, value * 7.0)]),
                line("b:x+y", vec![point(1.0, value / 3.0), point(48.0, value * 9.0)]),
            ],
            repetitions: vec![],
            crossings: vec![Crossing {
                below: "a".parse().unwrap(),
                above: "b:x+y".parse().unwrap(),
                level: 17.2,
                about: 17.0,
                between: (6.0, 48.0),
                sentence: "By throughput, a is better up to about 17 connections, b:x+y above (judged at 6 and 48).".into(),
            }],
        }
    }

    #[test]
    fn curve_table_has_one_column_for_each_level() {
        let verdict = |cell: &str, outcome| Verdict {
            cell: Some(cell.into()),
            outcome,
            confidence: 0.95,
            margin: 0.05,
            used: 6,
            ..Verdict::open("b:x+y".parse().unwrap(), "a".parse().unwrap(), Metric::Throughput)
        };
        let verdicts = [verdict("c-1", Outcome::Worse), verdict("c-48", Outcome::Better)];
        let cells = [cell(48), cell(1), cell(6)];
        let all = [curves(Metric::Throughput, 1234.0), curves(Metric::Threads, 7.0)];
        let mut text = curve_table(&slices(&cells)[0], &all, &verdicts, 100).to_string();
        crossings(&mut text, &all);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn rows_fit_the_terminal() {
        let row = |metric: &str, size: &str, interval: Option<&str>, verdict: &str| Row {
            metric: metric.into(),
            a: "0.0175 ms".into(),
            b: "0.0239 ms".into(),
            difference: Phrase { size: size.into(), interval: interval.map(str::to_owned) },
            verdict: verdict.into(),
        };
        let rows = [
            row("latency std dev", "27 % less", Some("18× more to 33× less"), "undecided 1"),
            row("p50 latency", "1.8× faster", Some("1.7× to 1.8×"), "better"),
            row("memory", "no difference", None, "equivalent"),
        ];
        let whole = lines(&rows, 120);
        assert_eq!(whole.lines().count(), 3);
        assert!(whole.contains("27 % less (18× more to 33× less)  undecided 1\n"), "{whole}");
        let narrow = lines(&rows, 80);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        insta::assert_snapshot!(narrow);
    }

    #[test]
    fn generator_table_has_known_figures_and_marks_missing_ones() {
        let line = |driver: Option<Driver>, p99_ms: Option<f64>| GeneratorLine {
            cell: "c".into(),
            driver,
            used: 3,
            stolen: usize::from(driver.is_some()),
            rate_per_s: Some(499.6),
            p50_ms: Some(10.04),
            p99_ms,
            failed_percent: Some(0.0),
            cpu_us_per_request: Some(31.25),
            memory_mb: driver.map(|_| 107.2),
            differs: vec![],
        };
        let of = GeneratorComparison {
            contender: "control".parse().unwrap(),
            load: "arrivals at 500/s, evenly spaced".into(),
            workload: "exact".into(),
            truth: Some(Truth { rate_per_s: Some(500.0), p50_ms: Some(10.0), p99_ms: None }),
            lines: vec![line(None, Some(10.4)), line(Some(Driver::H2load), None)],
        };
        let mut judgement: Judgement = serde_json::from_value(serde_json::json!({
            "schema": "faceoff.judgement.v1", "record": "r", "experiment": "e",
            "baseline": "control", "verdicts": [], "claims": [], "excluded": [], "faults": [],
            "rows": [], "curves": [], "starts": [], "warmups": [], "looks": [], "noise": [],
            "symptoms": [], "unsound": false, "incomplete": false
        }))
        .unwrap();
        let sentence = generators_sentence(&judgement);
        assert_eq!((generator_tables(&judgement, 100), sentence), (String::new(), None));
        judgement.external_generators = vec![of];
        insta::assert_snapshot!(format!(
            "{}\n{}",
            generators_sentence(&judgement).unwrap(),
            generator_tables(&judgement, 100)
        ));
    }
}
