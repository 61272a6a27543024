//! Faults over several trials, older records, and the list of checks.

use crate::made_up::name;
use crate::readings::{after, judged, open, record};
use proptest::prelude::*;
use record::judgement::{Judgement, Outcome};
use record::soundness::CheckResult;
use record::{
    Circumstances, Counts, CpuTime, Descriptors, Fault, Measurement, Memory, Ports, Tcp, Trial,
};
use spec::experiment::Load;
use spec::metric::Metric;

#[test]
fn contenders_that_all_tie_are_a_fault() {
    let of = |names: &[&str], load: Load| judge::judge(&record(names, load));
    let judgement = of(&["a", "b", "c"], Load::closed(4));
    let [fault] = &judgement.faults[..] else { panic!("{:#?}", judgement.faults) };
    assert_eq!((fault.kind.as_str(), fault.place.as_str()), ("all-tie", "all blocks, cell c"));
    assert!(
        fault.evidence.contains("all 3 contenders answered 100 to 100 requests per second")
            && !fault.hint.is_empty(),
        "{fault:?}"
    );
    let outcome = |metric| {
        judgement
            .verdicts
            .iter()
            .find(|v| v.metric == metric)
            .map(|v| (v.outcome, v.invalidated))
            .unwrap()
    };
    assert_eq!(outcome(Metric::Throughput), (Outcome::Undecided, 6));
    assert_eq!(outcome(Metric::CpuPerRequest), (Outcome::Equivalent, 0), "CPU time was measured");
    let none =
        |judgement: Judgement| assert!(judgement.faults.is_empty(), "{:#?}", judgement.faults);
    none(of(&["a", "b"], Load::closed(4)));
    none(of(&["a", "b", "c"], open()));
    none(of(&["a", "b", "a:aa"], Load::closed(4)));
    let mut busy = record(&["a", "b", "c"], Load::closed(4));
    let of_b = |t: &&mut Trial| t.contender == name("b");
    for measurement in busy.trials.iter_mut().filter(of_b).flat_map(|t| &mut t.measurements) {
        measurement.usage.cpu_ns = 9_500_000_000;
        measurement.circumstances = None;
    }
    none(judge::judge(&busy));
    let mut faster = record(&["a", "b", "c"], Load::closed(4));
    for measurement in faster.trials.iter_mut().filter(of_b).flat_map(|t| &mut t.measurements) {
        measurement.counts = Counts { scheduled: 1_020, correct: 1_020, ..Counts::default() };
    }
    none(judge::judge(&faster));
}

#[test]
fn fault_in_an_older_record_is_listed_once() {
    let mut record = record(&["a", "b"], open());
    let known = Fault {
        kind: "generator-cpu".into(),
        evidence: "as recorded then".into(),
        hint: "h".into(),
    };
    record.trials[0].measurements[0].generator.cpu_ns = 9_900_000_000;
    record.trials[0].measurements[0].circumstances = None;
    record.trials[0].measurements[0].faults.push(known);
    let faults = judge::judge(&record).faults;
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert_eq!(faults[0].evidence, "as recorded then");
}

#[test]
fn measurement_of_an_older_record_has_fewer_checks() {
    let record = record(&["a", "b"], open());
    let mut line = serde_json::to_value(&record.trials[0].measurements[0]).unwrap();
    line.as_object_mut().unwrap().remove("circumstances");
    for field in ["sent_in_time", "in_flight_mean", "sent_at_us", "correct_per_tenth"] {
        line["generator"].as_object_mut().unwrap().remove(field);
    }
    for field in ["descriptors", "generator_descriptors", "allowed_cpus", "mhz_at"] {
        line["usage"].as_object_mut().unwrap().remove(field);
    }
    let older: Measurement = serde_json::from_value(line).unwrap();
    assert!(after(open(), |m| *m = older.clone()).is_empty());
}

#[test]
fn checks_without_findings_or_readings_are_listed() {
    let busy = |m: &mut Measurement| {
        m.generator.cpu_ns = 9_100_000_000;
        m.circumstances = None;
    };
    let checks = judged(open(), busy).checks;
    let of = |kind: &str| {
        checks.iter().find(|c| c.kind == kind).unwrap_or_else(|| panic!("no {kind}: {checks:#?}"))
    };
    let seen = |kind: &str| (of(kind).looked_at, of(kind).all, of(kind).found, of(kind).standing());
    assert_eq!(checks[0].kind, "generator-cpu", "checks that found something come first");
    assert_eq!(seen("generator-cpu"), (12, 12, 1, CheckResult::Found));
    assert_eq!(seen("steal"), (11, 12, 0, CheckResult::Held));
    assert_eq!(seen("upstream-binds"), (0, 12, 0, CheckResult::NotMade));
    assert_eq!(seen("start-steal"), (12, 12, 0, CheckResult::Held));
    assert!(checks.iter().all(|c| !c.what.is_empty() && c.all > 0), "{checks:#?}");
    assert!(
        checks.iter().all(|c| !matches!(c.kind.as_str(), "all-tie" | "aa-differs" | "lost-write")),
        "absent features have no checks"
    );
    let closed = judge::judge(&record(&["a", "b", "c"], Load::closed(4))).checks;
    let tie = closed.iter().find(|c| c.kind == "all-tie").unwrap();
    assert_eq!((tie.of.as_str(), tie.all, tie.looked_at), ("cells", 1, 1));
    assert!(
        closed
            .iter()
            .any(|c| c.kind == "rate-not-achieved" && c.standing() == CheckResult::NotMade),
        "a closed load has no rate"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn checks_of_any_readings_do_not_panic(
        numbers in prop::collection::vec(any::<u64>(), 12),
        moved in any::<(i64, i64)>(),
        tenths in prop::collection::vec(any::<u32>(), 0..60),
        samples in prop::collection::vec(any::<(u64, u64)>(), 0..40),
        mhz in prop::collection::vec(-1e6..1e6, 0..5),
        closed in any::<bool>(),
    ) {
        let load = if closed { Load::closed(4) } else { open() };
        let judgement = judged(load, |m| {
            m.duration_ns = numbers[0];
            m.generator.sent_in_time = Some(numbers[1]);
            m.generator.in_flight_mean = Some(numbers[2] as f64);
            m.generator.sent_at_us.clone_from(&numbers);
            m.generator.correct_per_tenth.clone_from(&tenths);
            m.usage.cpu_ns = numbers[3];
            m.usage.wall_ns = numbers[4];
            m.usage.t_ns = samples.iter().map(|s| s.0).collect();
            m.usage.cpu_ns_at = samples.iter().map(|s| s.1).collect();
            m.usage.mhz_at.clone_from(&mhz);
            m.usage.descriptors = Some(Descriptors { open: numbers[5], limit: numbers[6] });
            m.circumstances = Some(Circumstances {
                wall_ns: numbers[7],
                cpus: vec![CpuTime { cpu: 0, busy_ticks: numbers[8], ticks: numbers[9], stolen_ticks: Some(numbers[10]) }],
                faceoff_cpu_ns: numbers[10],
                faceoff_memory_bytes: None,
                tcp: Some(Tcp { segments: numbers[0], retransmitted: numbers[1], probes: numbers[1] >> 2, listen_overflows: numbers[2] >> 1, listen_drops: numbers[3] >> 1 }),
                ports: Some(Ports { taken_before: numbers[4], taken_after: numbers[8], range: numbers[5] }),
                memory: Some(Memory { available_bytes: numbers[6], total_bytes: numbers[7], swapped_pages: 0 }),
                wall_clock_moved_ns: moved.0,
                slept_ns: moved.1,
            });
        });
        for check in &judgement.checks {
            prop_assert!(check.found <= check.looked_at && check.looked_at <= check.all, "{:?}", check);
        }
        for fault in &judgement.faults {
            prop_assert!(judgement.checks.iter().any(|check| check.kind == fault.kind && check.found > 0), "{:?}", fault);
        }
    }
}
