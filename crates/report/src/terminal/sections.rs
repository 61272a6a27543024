//! The sections of a run's summary: claims, capacities, warm-up, symptoms, faults. Long lists are
//! cut, as the report has all of them.

use crate::wording::findings::fault_counts;
use record::Record;
use record::judgement::{
    CapacityCurves, ClaimVerdict, FaultAt, Judgement, SweepCurves, Symptom, WarmUp, show_confidence,
};
use spec::units::{show_duration, show_number};
use std::fmt::Write;
use std::time::Duration;

/// Writes each kind of fault with its number and first place; the report lists all of them.
pub(super) fn faults(text: &mut String, faults: &[FaultAt]) {
    if !faults.is_empty() {
        let _ = writeln!(text, "\nFaults");
    }
    for (kind, count) in fault_counts(faults) {
        let Some(first) = faults.iter().find(|fault| fault.kind == kind) else { continue };
        let often =
            if count == 1 { " in".to_owned() } else { format!(", {count} times, first in") };
        let _ = writeln!(
            text,
            "  {kind}{often} {}: {}\n    hint: {}",
            first.place, first.evidence, first.hint
        );
    }
}

/// Writes the symptoms kind by kind. Of many variants each may show the same cause, so only a few
/// are written.
pub(super) fn symptoms(text: &mut String, symptoms: &[Symptom]) {
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
            let place =
                symptom.cell.as_ref().map(|cell| format!(", cell {cell}")).unwrap_or_default();
            let _ = writeln!(
                text,
                "  {}{place}: {kind}: {}\n    hint: {}",
                symptom.contender, symptom.sentence, symptom.hint
            );
        }
        if all.len() > SHOWN {
            let _ = writeln!(text, "  and {} more of {kind}, all in the report", all.len() - SHOWN);
        }
    }
}

/// Writes each claim with its outcome, its reason and its p-value.
pub(super) fn claims(text: &mut String, claims: &[ClaimVerdict]) {
    if !claims.is_empty() {
        let _ = writeln!(text, "\nClaims");
    }
    for claim in claims {
        let _ = writeln!(
            text,
            "  {:<10} {}: {}{}",
            claim.outcome.name(),
            claim.claim.text,
            claim.reason,
            p_value(claim)
        );
    }
}

/// Writes how each contender warmed up, and which of them never became steady.
pub(super) fn warm_up(text: &mut String, warmups: &[WarmUp], unsteady: &[String]) {
    for (at, warmup) in warmups.iter().enumerate() {
        let heading = if at == 0 { "\nWarm-up\n" } else { "" };
        let _ = writeln!(text, "{heading}{}", warmup_line(warmup));
    }
    for note in unsteady {
        let _ = writeln!(text, "  {note}");
    }
}

/// Writes a sentence for each further comparison.
pub(super) fn other_contenders(text: &mut String, sentences: &[String]) {
    const SHOWN: usize = 12;
    if !sentences.is_empty() {
        let _ = writeln!(text, "\nOther contenders");
    }
    for sentence in sentences.iter().take(SHOWN) {
        let _ = writeln!(text, "  {sentence}");
    }
    if sentences.len() > SHOWN {
        let _ = writeln!(text, "  and {} more, all in the table", sentences.len() - SHOWN);
    }
}

/// Writes a line for each contender: `  proxy-gin: 801 (95 % interval 798 to 803), in 6 of 6
/// trials; started again 2 times`.
pub(super) fn capacities(curves: &CapacityCurves) -> String {
    let mut text = format!(
        "Capacity of {}: {} at which {} holds",
        curves.cell, curves.unit, curves.service_level
    );
    for line in &curves.lines {
        text += &format!("\n  {}: ", line.contender);
        text += &match (line.value, line.interval) {
            (Some(value), Some(i)) => {
                let (low, high, confidence) =
                    (show_number(i.low), show_number(i.high), show_confidence(curves.confidence));
                format!("{} ({confidence} interval {low} to {high})", show_number(value))
            }
            (Some(value), None) => show_number(value),
            (None, _) => "none was found".to_owned(),
        };
        text += &format!(", in {} of {} trials", line.used, line.searched);
        if line.restarts > 0 {
            text += &format!(
                "; started again {} time{}",
                line.restarts,
                if line.restarts == 1 { "" } else { "s" }
            );
        }
        line.warnings.iter().for_each(|warning| text += &format!("\n    {warning}"));
    }
    text
}

/// Writes where lines of a sweep cross.
pub(super) fn crossings(text: &mut String, sweeps: &[SweepCurves]) {
    const SHOWN: usize = 20;
    let all: Vec<(&str, &str)> = sweeps
        .iter()
        .flat_map(|sweep| sweep.crossings.iter().map(|c| (sweep.of.as_str(), c.sentence.as_str())))
        .collect();
    if !all.is_empty() {
        let _ = writeln!(text, "\nCrossings");
    }
    for (of, sentence) in all.iter().take(SHOWN) {
        let _ = writeln!(text, "  {of}: {sentence}");
    }
    if all.len() > SHOWN {
        let _ = writeln!(text, "  and {} more, all in the report", all.len() - SHOWN);
    }
}

/// Writes how the last repetition of a cell compares with its first.
pub(super) fn repetitions(text: &mut String, sweeps: &[SweepCurves]) {
    let all: Vec<&str> = sweeps
        .iter()
        .flat_map(|sweep| &sweep.repetitions)
        .map(|repetitions| repetitions.sentence.as_str())
        .collect();
    if !all.is_empty() {
        let _ = writeln!(text, "\nRepetitions\n  {}", all.join("\n  "));
    }
}

/// Returns the p-value of a claim: ` (p 0.012; 0.036 with Holm's correction)`.
fn p_value(claim: &ClaimVerdict) -> String {
    let Some(p) = claim.p else { return String::new() };
    let show = |p: f64| if p < 1e-4 { "below 0.0001".to_owned() } else { show_number(p) };
    let adjusted = claim
        .p_adjusted
        .filter(|a| *a != p)
        .map_or(String::new(), |a| format!("; {} with Holm's correction", show(a)));
    format!(" (p {}{adjusted})", show(p))
}

/// `Stopped after 9 of 12 blocks: every claim is settled.`
pub(super) fn stopped_early(record: &Record, judgement: &Judgement) -> Option<String> {
    let last_taken = judgement.looks.iter().rfind(|l| l.taken).filter(|_| record.is_settled())?;
    let planned = judgement.looks.last()?.blocks;
    let settled = if judgement.claims.is_empty() { "primary metric" } else { "claim" };
    Some(format!(
        "Stopped after {} of {planned} blocks: every {settled} is settled.",
        last_taken.blocks
    ))
}

/// `The article's tables: 5 of 14 rows flagged.`
pub(super) fn audit(judgement: &Judgement) -> Option<String> {
    let audit = judgement.audit.as_ref()?;
    let rows = audit.rows();
    Some(match audit.flagged() {
        0 => format!("The article's own tables: none of {rows} rows flagged."),
        n => format!(
            "The article's own tables: {n} of {rows} rows flagged, for figures that contradict each other; see the report."
        ),
    })
}

/// `  proxy-gin: warm_up in 10 of 12 starts, flat in 2; steady after 14 s; cold 3.1 ms CPU a
/// request, steady 0.45 ms`.
fn warmup_line(warmup: &WarmUp) -> String {
    let starts: usize = warmup.classes.iter().map(|(_, n)| n).sum();
    let mut classes = warmup.classes.clone();
    classes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let classes: Vec<String> = (0..)
        .zip(&classes)
        .map(|(at, (class, n))| match at {
            0 => format!(
                "{} in {n} of {starts} start{}",
                class.name(),
                if starts == 1 { "" } else { "s" }
            ),
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
        (Some(cold), Some(steady)) => {
            line += &format!("; cold {} CPU a request, steady {}", ms(cold), ms(steady))
        }
        (Some(cold), None) => line += &format!("; cold {} CPU a request", ms(cold)),
        (None, _) => {}
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::WarmUpClass;
    use record::judgement::CapacityLine;

    #[test]
    fn warm_up_of_a_contender_takes_one_line() {
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
        assert_eq!(
            warmup_line(&warmup),
            "  proxy: never_steady in 1 of 1 start; cold 3.10 ms CPU a request"
        );
    }

    #[test]
    fn faults_of_one_kind_are_shown_once_with_their_count() {
        let fault = |kind: &str, place: &str| FaultAt {
            place: place.into(),
            kind: kind.into(),
            evidence: "seen".into(),
            hint: "do".into(),
        };
        let mut text = String::new();
        faults(
            &mut text,
            &[fault("lag", "block 1"), fault("steal", "block 2"), fault("steal", "block 3")],
        );
        let expected = "\nFaults\n  steal, 2 times, first in block 2: seen\n    hint: do\n  lag in block 1: seen\n    hint: do\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn symptoms_are_grouped_by_kind_and_counted_beyond_three() {
        let symptom = |kind: &str, contender: &str| Symptom {
            kind: kind.into(),
            contender: contender.parse().unwrap(),
            cell: Some("c".into()),
            sentence: "seen".into(),
            hint: "do".into(),
            picture: record::judgement::Picture {
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
            &[
                symptom("log", "a"),
                symptom("ack", "b"),
                symptom("log", "d"),
                symptom("log", "e"),
                symptom("log", "f"),
                symptom("log", "g"),
            ],
        );
        let of = |contender: &str, kind: &str| {
            format!("  {contender}, cell c: {kind}: seen\n    hint: do\n")
        };
        let expected = ["a", "d", "e"].map(|name| of(name, "log")).concat()
            + "  and 2 more of log, all in the report\n"
            + &of("b", "ack");
        assert_eq!(text, format!("\nSymptoms\n{expected}"));
        text.clear();
        symptoms(&mut text, &[]);
        assert_eq!(text, "");
    }

    #[test]
    fn capacity_of_each_contender_takes_one_line() {
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
