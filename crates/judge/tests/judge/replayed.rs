//! Verdicts on the figures that the command's tests measure on a quiet machine.
//!
//! Those tests, in `crates/faceoff/tests/suite`, run real processes and do not judge them, because
//! any other program on their machine may disturb a measurement.

use crate::made_up::{self, MS, NOISE, claim, histogram, measurement, name, trial};
use record::judgement::{ClaimOutcome, Judgement, Outcome, Verdict};
use record::{Counts, Event, Measurement, Record, Session, Usage};
use spec::experiment::{Claim, Expectation, Load};
use spec::metric::Metric;

/// Six blocks of two contenders whose requests take the given microseconds of CPU time.
fn record([first, second]: [(&str, f64); 2], claims: Vec<Claim>) -> Record {
    let of = |us: f64, noise: f64| {
        let mut measured = measurement(1, histogram((0..400).map(|i| MS + i)));
        measured.latency = Some(measured.service.clone());
        measured.usage.cpu_ns = (us * noise * 1e3 * 400.0) as u64;
        measured
    };
    let blocks = (1u32..).zip(NOISE);
    let trials = blocks.flat_map(|(block, noise)| {
        [trial(first.0, block, of(first.1, 1.0)), trial(second.0, block, of(second.1, noise))]
    });
    let mut record =
        made_up::record(&[first.0, second.0], Load::arrivals(400.0, 1024), trials.collect());
    record.header.experiment.claims = claims;
    record
}

#[track_caller]
fn verdict(judgement: &Judgement, metric: Metric) -> &Verdict {
    assert!(
        judgement.faults.is_empty() && !judgement.unsound && !judgement.incomplete,
        "{:?}",
        judgement.faults
    );
    judgement.verdicts.iter().find(|v| v.metric == metric).unwrap()
}

/// `command/run.rs`: one of them burns 300 µs more.
#[test]
fn slower_system_is_worse_and_its_claim_confirmed() {
    let about =
        Claim { contender: name("slow"), cells: vec!["c".into()], ..claim(Expectation::Higher) };
    let judgement = judge::judge(&record([("fast", 25.0), ("slow", 325.0)], vec![about]));
    let cpu = verdict(&judgement, Metric::CpuPerRequest);
    assert_eq!((cpu.outcome, cpu.used), (Outcome::Worse, 6), "{cpu:?}");
    assert_eq!(judgement.claims[0].outcome, ClaimOutcome::Confirmed);
}

/// `command/vs.rs`: two services that faceoff did not start. One waits 2 ms and the other 6.
#[test]
fn slower_of_two_running_services_is_worse_by_latency() {
    let of = |ms: f64| {
        let service = histogram((0..100).map(|i| (ms * 1e6) as u64 + i));
        Measurement {
            latency: Some(service.clone()),
            usage: Usage::default(),
            ..measurement(1, service)
        }
    };
    let blocks = (1u32..).zip(NOISE);
    let trials = blocks.flat_map(|(block, noise)| {
        [trial("quick", block, of(2.1)), trial("slow", block, of(6.1 * noise))]
    });
    let mut record =
        made_up::record(&["quick", "slow"], Load::arrivals(100.0, 1024), trials.collect());
    record.trials.iter_mut().for_each(|t| t.ready_after_ns = None);
    record
        .header
        .contenders
        .iter_mut()
        .for_each(|contender| contender.reached = Some("http://127.0.0.1:1".into()));
    let judgement = judge::judge(&record);
    let median = verdict(&judgement, Metric::LatencyP50);
    assert_eq!((median.outcome, median.used), (Outcome::Worse, 6), "{median:?}");
    assert!(
        judgement.verdicts.iter().all(|v| !v.metric.is_of_process()),
        "{:?}",
        judgement.verdicts
    );
}

/// `command/against.rs`: the working copy uses four times the CPU time of the commit, or the same.
#[test]
fn regression_refutes_the_not_worse_claim() {
    let of = |us: f64| {
        let about = Claim { contender: name("api"), ..claim(Expectation::NotWorse) };
        let judgement =
            judge::judge(&record([("api:at-0123456789ab", 125.0), ("api", us)], vec![about]));
        (verdict(&judgement, Metric::CpuPerRequest).outcome, judgement.claims[0].outcome)
    };
    assert_eq!(of(425.0), (Outcome::Worse, ClaimOutcome::Refuted));
    assert_eq!(of(125.0), (Outcome::Equivalent, ClaimOutcome::Confirmed));
}

/// `command/faults.rs`: the faster one closes the connection of every twentieth request.
#[test]
fn broken_requests_bar_from_winning() {
    let mut record = record([("slow", 525.0), ("fast", 25.0)], vec![]);
    let of_fast = record.trials.iter_mut().filter(|t| t.contender == name("fast"));
    of_fast.for_each(|t| {
        t.measurements[0].counts =
            Counts { scheduled: 400, correct: 380, broken: 20, ..Counts::default() }
    });
    let judgement = judge::judge(&record);
    let cpu = verdict(&judgement, Metric::CpuPerRequest);
    assert_eq!(cpu.outcome, Outcome::Undecided, "{cpu:?}");
    assert!(
        cpu.reason.contains("fast had failures of its own (120 requests broken"),
        "{}",
        cpu.reason
    );
    assert!(
        judgement.verdicts.iter().all(|v| v.outcome != Outcome::Better),
        "{:#?}",
        judgement.verdicts
    );
    let row = judgement.rows.iter().find(|r| r.contender == name("fast")).unwrap();
    assert!(row.errors.iter().any(|(kind, n)| kind == "broken" && *n == 120), "{row:?}");
}

/// `command/stopping.rs`: 50 % more CPU time, after 6 blocks of 12.
#[test]
fn fifty_percent_more_cpu_is_settled_at_the_first_look() {
    let about = Claim { contender: name("more"), ..claim(Expectation::Higher) };
    let mut record = record([("base", 625.0), ("more", 925.0)], vec![about]);
    let design = &mut record.header.experiment.design;
    (design.blocks, design.looks) = (12, vec![6, 9, 12]);
    let judgement = judge::judge(&record);
    assert_eq!(
        judgement.looks.iter().map(|l| (l.blocks, l.taken)).collect::<Vec<_>>(),
        [(6, true), (9, false), (12, false)]
    );
    assert_eq!(judgement.claims[0].outcome, ClaimOutcome::Confirmed);
    assert!(judgement.claims[0].cells[0].verdict.confidence > 0.95);
    record.sessions = vec![Session { event: Event::Settled, at: String::new() }];
    let judgement = judge::judge(&record);
    assert!(record.missing().is_empty() && !judgement.incomplete);
    assert_eq!(verdict(&judgement, Metric::CpuPerRequest).outcome, Outcome::Worse);
}
