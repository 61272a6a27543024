//! What the terminal shows at the end of a run.

use crate::answer::{answer, besides, made_again, not_known, unsteady};
use crate::judged::fault_counts;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use model::judgement::{CapacityCurves, ClaimVerdict, Judgement, Noise, Outcome, SweepCurves, Symptom, Verdict, WarmUp, show_confidence};
use model::metric::Metric;
use model::record::Record;
use model::sweep::{Slice, slices};
use model::units::{show_duration, show_number};
use std::fmt::Write;
use std::time::Duration;

/// The answer, the claims and where to look next, without the table.
pub fn summary(record: &Record, judgement: &Judgement) -> String {
    let mut text = String::new();
    let said = answer(record, judgement);
    let _ = writeln!(text, "{}\n\n{}", record.header.experiment.question, said.sentence);
    for detail in &said.details {
        let _ = writeln!(text, "{detail}");
    }
    others(&mut text, &besides(record, judgement));
    if !judgement.claims.is_empty() {
        let _ = writeln!(text, "\nClaims");
    }
    for claim in &judgement.claims {
        let _ = writeln!(text, "  {:<10} {}: {}{}", claim.outcome.name(), claim.claim.text, claim.reason, tested(claim));
    }
    for curves in &judgement.capacities {
        let _ = writeln!(text, "\n{}", capacities(curves));
    }
    crossings(&mut text, &judgement.sweeps);
    turns(&mut text, &judgement.sweeps);
    if !judgement.databases.is_empty() {
        let _ = writeln!(text, "\nDatabase");
    }
    for used in &judgement.databases {
        let _ = writeln!(text, "  {}, {}: {}", used.cell, used.contender, crate::judged::database_use(used));
    }
    if !judgement.offered.is_empty() {
        let _ = writeln!(text, "\nOffered\n  {}", judgement.offered.join("\n  "));
    }
    text += &crate::effects::text(judgement);
    for (at, warmup) in judgement.warmups.iter().enumerate() {
        let _ = writeln!(text, "{}{}", if at == 0 { "\nWarm-up\n" } else { "" }, warmup_line(warmup));
    }
    for note in unsteady(record, judgement) {
        let _ = writeln!(text, "  {note}");
    }
    if record.torn_lines > 0 {
        let _ = writeln!(text, "\nlines of the record that a crash cut short, and that are left out: {}", record.torn_lines);
    }
    for skipped in &record.header.skipped {
        let _ = writeln!(text, "\nskipped: {}: {}", skipped.contender, skipped.reason);
    }
    text += &crate::witnesses::skipped(record);
    for (name, failure) in record.dropped() {
        let _ = writeln!(text, "\nout: {name} failed before anything was timed ({}): {}", failure.stage, failure.cause);
    }
    for excluded in &judgement.excluded {
        let _ = writeln!(text, "excluded: block {}, {}: {}", excluded.block, excluded.contender, excluded.reason);
    }
    symptoms(&mut text, &judgement.symptoms);
    if !judgement.faults.is_empty() {
        let counts: Vec<String> = fault_counts(&judgement.faults).iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        let _ = writeln!(text, "\nFaults ({})", counts.join(", "));
    }
    const SHOWN: usize = 8;
    for fault in judgement.faults.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}: {}: {}\n    hint: {}", fault.place, fault.kind, fault.evidence, fault.hint);
    }
    if judgement.faults.len() > SHOWN {
        let _ = writeln!(text, "  and {} more, all on the page", judgement.faults.len() - SHOWN);
    }
    let lines = [not_known(record), made_again(judgement), looks(record, judgement), noise(&judgement.noise), audit(judgement)];
    for line in lines.into_iter().flatten() {
        let _ = writeln!(text, "\n{line}");
    }
    text
}

/// What points to causes, kind by kind: a chain of many variants shows one cause in each of them.
fn symptoms(text: &mut String, symptoms: &[Symptom]) {
    const SHOWN: usize = 3;
    if !symptoms.is_empty() {
        let _ = writeln!(text, "\nSymptoms");
    }
    let mut kinds: Vec<&str> = Vec::new();
    for symptom in symptoms {
        if !kinds.contains(&symptom.kind.as_str()) {
            kinds.push(&symptom.kind);
        }
    }
    for kind in kinds {
        let all: Vec<&Symptom> = symptoms.iter().filter(|symptom| symptom.kind == kind).collect();
        for symptom in all.iter().take(SHOWN) {
            let place = symptom.cell.as_ref().map(|cell| format!(", cell {cell}")).unwrap_or_default();
            let _ = writeln!(text, "  {}{place}: {kind}: {}\n    hint: {}", symptom.contender, symptom.sentence, symptom.hint);
        }
        if all.len() > SHOWN {
            let _ = writeln!(text, "  and {} more of {kind}, all on the page", all.len() - SHOWN);
        }
    }
}

/// What else was compared, a sentence each.
fn others(text: &mut String, sentences: &[String]) {
    const SHOWN: usize = 12;
    if !sentences.is_empty() {
        let _ = writeln!(text, "\nBesides");
    }
    for sentence in sentences.iter().take(SHOWN) {
        let _ = writeln!(text, "  {sentence}");
    }
    if sentences.len() > SHOWN {
        let _ = writeln!(text, "  and {} more, all in the table", sentences.len() - SHOWN);
    }
}

/// A line a contender: `  proxy-gin: 801 (95 % interval 798 to 803), of 6 trials; started again 2 times`.
fn capacities(curves: &CapacityCurves) -> String {
    let mut text = format!("Capacity of {}: {} at which {} holds", curves.cell, curves.unit, curves.service_level);
    for line in &curves.lines {
        text += &format!("\n  {}: ", line.contender);
        text += &match (line.value, line.interval) {
            (Some(value), Some(i)) => {
                let (low, high, confidence) = (show_number(i.low), show_number(i.high), show_confidence(curves.confidence));
                format!("{} ({confidence} interval {low} to {high})", show_number(value))
            }
            (Some(value), None) => show_number(value),
            (None, _) => "none was found".to_owned(),
        };
        text += &format!(", in {} of {} trials", line.used, line.searched);
        if line.restarts > 0 {
            text += &format!("; started again {} time{}", line.restarts, if line.restarts == 1 { "" } else { "s" });
        }
        line.warnings.iter().for_each(|warning| text += &format!("\n    {warning}"));
    }
    text
}

/// Where swept lines cross.
fn crossings(text: &mut String, sweeps: &[SweepCurves]) {
    const SHOWN: usize = 20;
    let all: Vec<(&str, &str)> =
        sweeps.iter().flat_map(|sweep| sweep.crossings.iter().map(|c| (sweep.of.as_str(), c.sentence.as_str()))).collect();
    if !all.is_empty() {
        let _ = writeln!(text, "\nCrossings");
    }
    for (of, sentence) in all.iter().take(SHOWN) {
        let _ = writeln!(text, "  {of}: {sentence}");
    }
    if all.len() > SHOWN {
        let _ = writeln!(text, "  and {} more, all on the page", all.len() - SHOWN);
    }
}

/// What a cell's last turn came to beside its first.
fn turns(text: &mut String, sweeps: &[SweepCurves]) {
    let all: Vec<&str> = sweeps.iter().flat_map(|sweep| &sweep.turns).map(|turns| turns.sentence.as_str()).collect();
    if !all.is_empty() {
        let _ = writeln!(text, "\nIn turn\n  {}", all.join("\n  "));
    }
}

/// ` (p 0.012; 0.036 with Holm's correction)`
fn tested(claim: &ClaimVerdict) -> String {
    let Some(p) = claim.p else { return String::new() };
    let show = |p: f64| if p < 1e-4 { "below 0.0001".to_owned() } else { show_number(p) };
    let adjusted = claim.p_adjusted.filter(|a| *a != p).map_or(String::new(), |a| format!("; {} with Holm's correction", show(a)));
    format!(" (p {}{adjusted})", show(p))
}

/// `Stopped after 9 of 12 blocks: nothing was left open at this look.`
fn looks(record: &Record, judgement: &Judgement) -> Option<String> {
    let last_taken = judgement.looks.iter().rfind(|l| l.taken).filter(|_| record.is_settled())?;
    let planned = judgement.looks.last()?.blocks;
    Some(format!("Stopped after {} of {planned} blocks: nothing was left open at this look.", last_taken.blocks))
}

/// `The baseline against itself is at most 1.8 % off: memory in closed-64, interval 0.99 to 1.05.`
pub(crate) fn noise(noise: &[Noise]) -> Option<String> {
    let off = |n: &Noise| n.ratio.ln().abs();
    let most = noise.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    let cell = most.cell.as_deref().unwrap_or("start");
    let percent = show_number(off(most).exp_m1() * 100.0);
    let (label, low, high) = (most.metric.describe().label, show_number(most.interval.low), show_number(most.interval.high));
    Some(format!("The baseline against itself is at most {percent} % off: {label} in {cell}, interval {low} to {high}."))
}

/// `The article's tables: 5 of 14 rows flagged.`
fn audit(judgement: &Judgement) -> Option<String> {
    let audit = judgement.audit.as_ref()?;
    let rows = audit.rows();
    Some(match audit.flagged() {
        0 => format!("The article's own tables: none of {rows} rows flagged."),
        n => format!("The article's own tables: {n} of {rows} rows flagged, for figures that do not fit each other; see the page."),
    })
}

/// `  proxy-gin: warm_up in 10 of 12 starts, flat in 2; steady after 14 s; cold 3.1 ms CPU a request, steady 0.45 ms`.
fn warmup_line(warmup: &WarmUp) -> String {
    let starts: usize = warmup.classes.iter().map(|(_, n)| n).sum();
    let mut classes = warmup.classes.clone();
    classes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let classes: Vec<String> = (0..)
        .zip(&classes)
        .map(|(at, (class, n))| match at {
            0 => format!("{} in {n} of {starts} start{}", class.name(), if starts == 1 { "" } else { "s" }),
            _ => format!("{} in {n}", class.name()),
        })
        .collect();
    let mut line = format!("  {}: {}", warmup.contender, classes.join(", "));
    if let Some(after) = warmup.steady_after_s {
        line += &match after {
            0.0 => "; steady from the start".to_owned(),
            _ => format!("; steady after {}", show_duration(Duration::from_secs_f64(after))),
        };
    }
    let ms = |us: f64| format!("{} ms", show_number(us / 1e3));
    match (warmup.cold_cpu_us, warmup.steady_cpu_us) {
        (Some(cold), Some(steady)) => line += &format!("; cold {} CPU a request, steady {}", ms(cold), ms(steady)),
        (Some(cold), None) => line += &format!("; cold {} CPU a request", ms(cold)),
        (None, _) => {}
    }
    line
}

/// The verdicts, a table a cell, as wide as the terminal; where cells were swept, a table of curves for those along the first
/// parameter.
pub fn verdict_table(record: &Record, judgement: &Judgement, width: u16) -> String {
    let mut text = String::new();
    let cells = &record.header.experiment.cells;
    let along_first: Vec<Slice<'_>> = slices(cells).into_iter().filter(Slice::is_along_first).collect();
    let is_in_curves = |cell: &str| along_first.iter().any(|slice| slice.cells.iter().any(|(_, swept)| swept.name == cell));
    for slice in &along_first {
        let table = curve_table(slice, &judgement.sweeps, &judgement.verdicts, width);
        if !table.is_empty() {
            let _ = writeln!(text, "{} over {}, against {}\n{table}\n", slice.title(), slice.parameter, judgement.baseline);
        }
    }
    let places = cells.iter().filter(|c| !is_in_curves(&c.name));
    let places = places.map(|c| (Some(c.name.as_str()), format!("{} ({})", c.name, c.load.describe()))).chain([(None, "start".to_owned())]);
    for (cell, title) in places {
        let table = table_of_cell(cell, judgement, width);
        if !table.is_empty() {
            let _ = writeln!(text, "{title}, against {}\n{table}\n", judgement.baseline);
        }
    }
    text + &crate::witnesses::tables(judgement, width)
}

pub(crate) fn empty_table(width: u16) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table
}

pub(crate) fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn table_of_cell(cell: Option<&str>, judgement: &Judgement, width: u16) -> Table {
    let mut table = empty_table(width);
    let here: Vec<&Verdict> = judgement.verdicts.iter().filter(|v| v.cell.as_deref() == cell).collect();
    let confidence = here.iter().filter(|v| v.interval.is_some()).map(|v| v.confidence).reduce(f64::min);
    let interval = confidence.map_or("interval".into(), |c| format!("{} interval", show_confidence(c)));
    table.set_header(["metric", "contender", "value", "baseline", "ratio", &interval, "verdict"]);
    let mut last = None;
    for verdict in here {
        let about = verdict.metric.describe();
        if verdict.metric == Metric::FailedShare && verdict.value == Some(0.0) && verdict.baseline_value == Some(0.0) {
            continue;
        }
        let show = |value: Option<f64>| value.map_or("-".into(), |v| format!("{} {}", show_number(v), about.unit).trim().to_owned());
        let ratio = verdict.ratio.map_or("-".into(), show_number);
        let interval = verdict.interval.map_or("-".into(), |i| format!("{} to {}", show_number(i.low), show_number(i.high)));
        let outcome = match verdict.outcome {
            Outcome::Undecided => format!("undecided: {}", verdict.reason),
            decided => decided.name().to_owned(),
        };
        let label = if last == Some(verdict.metric) { "" } else { about.label };
        last = Some(verdict.metric);
        table.add_row([
            Cell::new(label),
            Cell::new(&verdict.contender),
            right(show(verdict.value)),
            right(show(verdict.baseline_value)),
            right(ratio),
            right(interval),
            Cell::new(outcome),
        ]);
    }
    table
}

/// A row a metric and contender, a column a level: the value with its interval, and the verdict.
fn curve_table(slice: &Slice<'_>, sweeps: &[SweepCurves], verdicts: &[Verdict], width: u16) -> Table {
    let mut table = empty_table(width);
    let levels = slice.cells.iter().map(|(level, _)| level.to_string());
    table.set_header(["metric".to_owned(), "contender".to_owned()].into_iter().chain(levels));
    let title = slice.title();
    for curves in sweeps.iter().filter(|s| s.of == title && s.parameter == slice.parameter) {
        let about = curves.metric.describe();
        let mut label = format!("{}, {}", about.label, about.unit);
        for line in &curves.lines {
            let at = |(level, cell): &(f64, &model::experiment::Cell)| {
                let Some(point) = line.points.iter().find(|p| p.level == *level) else { return right("-".into()) };
                let interval = point.interval.map(|i| format!("{} to {}", show_number(i.low), show_number(i.high)));
                let verdict = verdicts
                    .iter()
                    .find(|v| v.contender == line.contender && v.metric == curves.metric && v.cell.as_deref() == Some(&cell.name));
                let lines = [Some(show_number(point.value)), interval, verdict.map(|v| v.outcome.name().to_owned())];
                right(lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
            };
            let cells = slice.cells.iter().map(at);
            table.add_row([Cell::new(label.trim_end_matches(", ")), Cell::new(&line.contender)].into_iter().chain(cells));
            label.clear();
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::experiment::Load;
    use model::judgement::CapacityLine;
    use model::judgement::{Crossing, SweepLine, SweepPoint};
    use model::record::WarmUpClass;
    use model::sweep::{Level, Swept};
    use std::collections::BTreeMap;

    #[test]
    fn a_warm_up_in_a_line() {
        let mut warmup = WarmUp {
            contender: "proxy".parse().unwrap(),
            classes: vec![(WarmUpClass::Flat, 2), (WarmUpClass::WarmUp, 10)],
            steady_after_s: Some(14.2),
            cold_cpu_us: Some(3_100.0),
            steady_cpu_us: Some(451.0),
            cold_max_ms: None,
        };
        let line = "  proxy: warm_up in 10 of 12 starts, flat in 2; steady after 14 s; cold 3.10 ms CPU a request, steady 0.451 ms";
        assert_eq!(warmup_line(&warmup), line);
        warmup.classes = vec![(WarmUpClass::NeverSteady, 1)];
        (warmup.steady_after_s, warmup.steady_cpu_us) = (None, None);
        assert_eq!(warmup_line(&warmup), "  proxy: never_steady in 1 of 1 start; cold 3.10 ms CPU a request");
    }

    #[test]
    fn symptoms_of_one_kind_stand_together_and_are_counted_beyond_three() {
        let symptom = |kind: &str, contender: &str| Symptom {
            kind: kind.into(),
            contender: contender.parse().unwrap(),
            cell: Some("c".into()),
            sentence: "seen".into(),
            hint: "do".into(),
            picture: model::judgement::Picture {
                title: String::new(),
                x: String::new(),
                y: String::new(),
                bars: false,
                series: vec![],
                marks: vec![],
            },
        };
        let mut text = String::new();
        symptoms(
            &mut text,
            &[symptom("log", "a"), symptom("ack", "b"), symptom("log", "d"), symptom("log", "e"), symptom("log", "f"), symptom("log", "g")],
        );
        let of = |contender: &str, kind: &str| format!("  {contender}, cell c: {kind}: seen\n    hint: do\n");
        let expected = ["a", "d", "e"].map(|name| of(name, "log")).concat() + "  and 2 more of log, all on the page\n" + &of("b", "ack");
        assert_eq!(text, format!("\nSymptoms\n{expected}"));
        text.clear();
        symptoms(&mut text, &[]);
        assert_eq!(text, "");
    }

    fn cell(connections: u32) -> model::experiment::Cell {
        let level = Level { parameter: "connections".into(), value: f64::from(connections) };
        model::experiment::Cell {
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
            interval: (level > 1.0).then_some(stats::Interval { low: value * 0.9, high: value * 1.1 }),
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
            turns: vec![],
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
    fn curves_as_people_read_them() {
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
    fn capacities_in_a_line_each() {
        let line = |name: &str, value: Option<f64>| CapacityLine {
            contender: name.parse().unwrap(),
            value,
            interval: value.map(|v| stats::Interval { low: v * 0.9, high: v * 1.1 }),
            used: value.map_or(0, |_| 6),
            searched: 6,
            curve: vec![],
            probes: vec![],
            left_out: 0,
            restarts: value.map_or(2, |_| 0),
            warnings: value.map_or(vec!["it hangs".to_owned()], |_| vec![]),
        };
        let curves = CapacityCurves {
            cell: "c".into(),
            unit: "users".into(),
            service_level: "p95<100ms".into(),
            confidence: 0.95,
            lines: vec![line("a", Some(80.0)), line("b:x", None)],
        };
        let expected = "Capacity of c: users at which p95<100ms holds\n  a: 80.0 (95 % interval 72.0 to 88.0), in 6 of 6 trials\n  b:x: none was found, in 0 of 6 trials; started again 2 times\n    it hangs";
        assert_eq!(capacities(&curves), expected);
    }
}
