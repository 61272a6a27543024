//! What this machine could not offer of what was asked, and what the database used.

use crate::faulty;
use crate::made_up::{self, SECOND, claim, histogram, measurement, name};
use model::beside::Beside;
use model::database::Used;
use model::experiment::{Claim, Expectation, Load, Pause};
use model::judgement::ClaimOutcome;
use model::metric::Metric;
use model::record::{Fault, Record};
use std::time::Duration;

const ASKED: &str = "4000 users over 1 min, no pause, 1 round each";

fn users(ramp: Duration) -> Load {
    Load::Users { users: 4000, ramp, pause: Pause::Constant(Duration::ZERO), rounds: Some(1), pooled: None }
}

/// Six blocks of users, of whom 30 are there at once with `a` and 200 with `b`.
fn record(load: Load, measure: Duration) -> Record {
    let of = |contender: &str, block: u32| {
        let mut measured = measurement(10, histogram((0..1_000).map(|i| 2_000_000 + i)));
        measured.generator.in_flight_max = if contender == "a" { 24 } else { 194 } + u64::from(block);
        made_up::trial(contender, block, measured)
    };
    let mut record = made_up::record(&["a", "b"], load, (1..=6).flat_map(|block| [of("a", block), of("b", block)]).collect());
    record.header.experiment.design.measure = measure;
    record
}

#[test]
fn a_load_that_was_offered_whole_leaves_only_who_was_there_at_once() {
    let whole = record(users(Duration::from_secs(60)), Duration::from_secs(150));
    assert_eq!(
        judge::judge(&whole).offered,
        ["Of the 4000 users of c, at most so many waited for an answer at once: 30 with a, 200 with b."]
    );
    let at_once = record(users(Duration::ZERO), Duration::from_secs(150));
    assert!(judge::judge(&at_once).offered.is_empty(), "all of them are there from the beginning");
    assert!(judge::judge(&record(Load::closed(64), Duration::from_secs(8))).offered.is_empty());
}

#[test]
fn users_who_did_not_begin_are_said() {
    let cut = judge::judge(&record(users(Duration::from_secs(60)), Duration::from_secs(8)));
    let expected = format!("c asks for {ASKED}, and was measured for 8.0 s: 534 of them began, and what more would do was not seen.");
    assert_eq!((cut.offered[0].as_str(), cut.offered.len()), (expected.as_str(), 2));
}

#[test]
fn a_claim_about_users_who_did_not_all_begin_is_open() {
    let claim = Claim { metric: Metric::LatencyP95, value: Some(1_000.0), ..claim(Expectation::AtMost) };
    let claimed = |measure: Duration| {
        let mut record = record(users(Duration::from_secs(60)), measure);
        record.header.experiment.claims = vec![claim.clone()];
        let found = judge::judge(&record).claims.remove(0);
        (found.outcome, found.reason)
    };
    assert_eq!(claimed(Duration::from_secs(60)).0, ClaimOutcome::Confirmed);
    let expected = format!("c asks for {ASKED}, and was measured for 8.0 s, in which only 534 began");
    assert_eq!(claimed(Duration::from_secs(8)), (ClaimOutcome::Undecided, expected));

    // Who was there before all users were asks nothing of them.
    let of_warm_up =
        Claim { metric: Metric::CpuPerRequest, beside: Some(Beside::Cold), expects: Expectation::Higher, value: None, ..claim };
    let mut cut = record(users(Duration::from_secs(60)), Duration::from_secs(8));
    cut.header.experiment.claims = vec![of_warm_up];
    assert_eq!(cut.untried(&cut.header.experiment.claims[0]), None);
}

#[test]
fn what_the_machine_was_short_of_is_said_of_loads_that_ask_for_it() {
    let mut short = record(users(Duration::from_secs(60)), Duration::from_secs(150));
    faulty(&mut short, "a", "upstream-binds", 2);
    assert_eq!(judge::judge(&short).offered.len(), 1, "two of six are no limit of the machine");
    faulty(&mut short, "b", "upstream-binds", 3);
    faulty(&mut short, "b", "ports", 6);
    let expected = format!(
        "c asks for {ASKED}, more than this machine can offer: what stands behind the contenders, and the generator, had no CPU time left \
         (in 3 of 6 measurements of b); ports ran out (in 6 of 6 measurements of b). So it shows what comes of that load on this machine, \
         and not how much of it the contenders could carry."
    );
    assert_eq!(judge::judge(&short).offered[0], expected);
    // A closed loop asks for no more than is answered.
    let mut closed = record(Load::closed(64), Duration::from_secs(8));
    faulty(&mut closed, "b", "generator-cpu", 6);
    assert!(judge::judge(&closed).offered.is_empty());
}

#[test]
fn a_load_that_could_not_be_made_is_said_with_its_cause() {
    let mut none = record(users(Duration::from_secs(60)), Duration::from_secs(150));
    for trial in &mut none.trials {
        trial.measurements.clear();
        let evidence = "cell c: it needs 10065 descriptors, and 1024 are allowed\nhint: raise it".to_owned();
        trial.faults.push(Fault { kind: "generator".into(), evidence, hint: "h".into() });
    }
    let offered = judge::judge(&none).offered;
    assert_eq!(offered.len(), 1);
    assert!(
        offered[0].contains("it could not be made at all (in 12 starts: it needs 10065 descriptors, and 1024 are allowed). So"),
        "{offered:?}"
    );
}

#[test]
fn what_the_database_used_is_told_by_cell_and_contender() {
    let mut record = record(users(Duration::ZERO), Duration::from_secs(10));
    assert!(judge::judge(&record).databases.is_empty());
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        let block = u64::from(trial.block);
        trial.measurements[0].database = Some(Used {
            cpu_ns: 2 * SECOND,
            wall_ns: 10 * SECOND,
            memory_max_bytes: 100_000_000 + 1_000_000 * block,
            processes_max: 10 + block,
            ..Used::default()
        });
    }
    let found = judge::judge(&record).databases;
    assert_eq!((found.len(), found[0].cell.as_str(), &found[0].contender), (1, "c", &name("b")));
    // 2 s of 10 s, for 1,000 right answers.
    assert!((found[0].cpu_percent - 20.0).abs() < 1e-9 && (found[0].cpu_us_per_request.unwrap() - 2_000.0).abs() < 1e-9);
    assert_eq!((found[0].memory_mb, found[0].processes), (106.0, 16));
}
