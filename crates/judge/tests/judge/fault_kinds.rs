//! The table of faults as a whole, and kinds that it does not have.

use crate::made_up::{self, MS, SECOND, claim, histogram, measurement, name, trial};
use crate::not_made;
use judge::soundness::FaultKind;
use record::judgement::{Judgement, Outcome, Verdict};
use record::soundness::CheckResult;
use record::{Fault, Measurement, Record};
use spec::experiment::{Expectation, Load};
use spec::metric::Metric;
use std::collections::BTreeSet;

/// Makes six blocks in which `b` needs half the CPU time and half the latency of `a`.
fn record() -> Record {
    let of = |contender: &str, block: u32, share: u64| {
        let mut measured = measurement(10, histogram((0..1_000).map(|i| 2 * share * MS + i)));
        measured.latency = Some(measured.service.clone());
        measured.usage.cpu_ns = (200 * share + u64::from(block)) * MS;
        trial(contender, block, measured)
    };
    let trials = (1..=6).flat_map(|block| [of("a", block, 2), of("b", block, 1)]).collect();
    let mut record = made_up::record(&["a", "b"], Load::arrivals(100.0, 10), trials);
    record.header.experiment.claims = vec![claim(Expectation::Lower)];
    record
}

pub fn fault(kind: &str) -> Fault {
    Fault { kind: kind.into(), evidence: "e".into(), hint: "h".into() }
}

fn outcomes(judgement: &Judgement, metrics: [Metric; 2]) -> [Outcome; 2] {
    metrics.map(|metric| judgement.verdicts.iter().find(|v| v.metric == metric).unwrap().outcome)
}

#[test]
fn every_kind_has_a_full_row_with_a_unique_name() {
    let names: BTreeSet<&str> = FaultKind::ALL.iter().map(|kind| kind.row().name).collect();
    assert_eq!(names.len(), FaultKind::ALL.len());
    for kind in FaultKind::ALL {
        let row = kind.row();
        assert_eq!(FaultKind::named(row.name), Some(*kind));
        let texts = [row.name, row.holds, row.threshold, row.reason, row.summary];
        assert!(
            texts.iter().all(|text| !text.is_empty() && !text.contains(['|', '\n'])),
            "{}",
            row.name
        );
        assert!(row.limit != Some(""), "{}", row.name);
    }
}

#[test]
fn only_an_external_generator_invalidates_nothing() {
    let harmless =
        |kind: &&FaultKind| Metric::ALL.iter().all(|metric| !(kind.row().invalidates)(*metric));
    let harmless: Vec<FaultKind> = FaultKind::ALL.iter().filter(harmless).copied().collect();
    assert_eq!(harmless, [FaultKind::ExternalGenerator]);
}

#[test]
fn known_fault_invalidates_its_metrics_and_a_mistyped_all() {
    for (kind, metric, expected) in [
        ("generator-lag", Metric::LatencyP50, true),
        ("generator-lag", Metric::CpuPerRequest, false),
        ("external-generator", Metric::Throughput, false),
        ("memory", Metric::Threads, true),
        ("generator-lagg", Metric::CpuPerRequest, true),
        ("Generator-Lag", Metric::Threads, true),
        ("", Metric::StartUp, true),
    ] {
        assert_eq!(judge::invalidates(kind, metric), expected, "{kind:?} {metric:?}");
    }
}

#[test]
fn unknown_fault_of_a_measurement_invalidates_every_metric() {
    let mut record = record();
    let metrics = [Metric::LatencyP50, Metric::CpuPerRequest];
    assert_eq!(outcomes(&judge::judge(&record), metrics), [Outcome::Better; 2]);
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        trial.measurements[0].faults.push(fault("moon-phase"));
    }
    let judgement = judge::judge(&record);
    assert_eq!(outcomes(&judgement, metrics), [Outcome::Undecided; 2]);
    let verdict = judgement.verdicts.iter().find(|v| v.metric == Metric::CpuPerRequest).unwrap();
    let unconfirmed = &verdict.unconfirmed;
    assert!(
        unconfirmed.contains("moon-phase (a fault unknown to this version of faceoff)"),
        "{verdict:?}"
    );
    let check = judgement.checks.iter().find(|check| check.kind == "moon-phase").unwrap();
    assert_eq!((check.found, check.standing()), (6, CheckResult::Found));
    assert!(judgement.unsound);
}

#[test]
fn unknown_fault_of_a_trial_excludes_it() {
    let mut record = record();
    record.trials[0].faults.extend([fault("moon-phase"), fault("tide")]);
    record.trials[1].faults.push(fault("tide"));
    let judgement = judge::judge(&record);
    let reasons: Vec<&str> =
        judgement.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
    let unknown = "(a fault unknown to this version of faceoff): e";
    assert_eq!(reasons, [format!("moon-phase {unknown}"), format!("tide {unknown}")]);
    let found: Vec<(&str, usize)> =
        judgement.checks.iter().take(2).map(|check| (check.kind.as_str(), check.found)).collect();
    assert_eq!(found, [("tide", 2), ("moon-phase", 1)]);
}

#[test]
fn load_that_cannot_be_made_invalidates_its_cell_only() {
    let cpu_time = |m: &mut Measurement, contender: &str, _: f64, noise: f64| {
        m.usage.cpu_ns =
            ((if contender == "b" { 0.5 } else { 1.0 }) * noise * SECOND as f64) as u64;
    };
    let mut record = made_up::sweep(&["a", "b"], "n", &[1.0, 16.0], cpu_time);
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        trial.measurements.truncate(1);
        trial.cell_faults.push(not_made("c-n-16", "too few descriptors"));
    }
    let judgement = judge::judge(&record);
    let of_cell = |cell: &str| {
        let is_it =
            |v: &&Verdict| v.metric == Metric::CpuPerRequest && v.cell.as_deref() == Some(cell);
        let verdict = judgement.verdicts.iter().find(is_it).unwrap();
        (verdict.outcome, verdict.used, verdict.invalidated)
    };
    assert_eq!(of_cell("c-n-1"), (Outcome::Better, 6, 0));
    assert_eq!(of_cell("c-n-16"), (Outcome::Undecided, 0, 6));
    assert!(!judgement.unsound && judgement.excluded.is_empty(), "{:?}", judgement.excluded);
    let places: Vec<&str> = judgement.faults.iter().map(|f| f.place.as_str()).take(1).collect();
    assert_eq!(places, ["block 1, b, cell c-n-16"]);
    // A record of an older version holds it as a fault of the trial.
    for trial in &mut record.trials {
        let of_cells = std::mem::take(&mut trial.cell_faults);
        trial.faults.extend(of_cells.into_iter().map(|of| of.fault));
    }
    let text = serde_json::to_string(&record.trials).unwrap();
    assert!(!text.contains("cell_faults"));
    record.trials = serde_json::from_str(&text).unwrap();
    assert_eq!(judge::judge(&record).excluded.len(), 6);
}
