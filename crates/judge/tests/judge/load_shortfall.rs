//! Loads that could not be made in full, and what the database used.

use crate::made_up::{self, SECOND, claim, histogram, measurement, name};
use crate::{faulty, not_made};
use record::Record;
use record::database::DatabaseUsage;
use record::judgement::ClaimOutcome;
use spec::experiment::self_comparison::SelfComparison;
use spec::experiment::{Claim, Expectation, Load, Pause};
use spec::metric::Metric;
use std::time::Duration;

const PLANNED: &str = "4000 users over 1 min, no pause, 1 round each";

fn users(ramp: Duration) -> Load {
    Load::Users {
        users: 4000,
        ramp,
        pause: Pause::Constant(Duration::ZERO),
        rounds: Some(1),
        pooled: None,
    }
}

/// Makes six blocks of users, of whom at most 30 wait at once with `a` and 200 with `b`.
fn record(load: Load, measure: Duration) -> Record {
    let of = |contender: &str, block: u32| {
        let mut measured = measurement(10, histogram((0..1_000).map(|i| 2_000_000 + i)));
        measured.generator.in_flight_max =
            if contender == "a" { 24 } else { 194 } + u64::from(block);
        made_up::trial(contender, block, measured)
    };
    let mut record = made_up::record(
        &["a", "b"],
        load,
        (1..=6).flat_map(|block| [of("a", block), of("b", block)]).collect(),
    );
    record.header.experiment.design.measure = measure;
    record
}

#[test]
fn complete_load_reports_only_the_users_waiting_at_once() {
    let whole = record(users(Duration::from_secs(60)), Duration::from_secs(150));
    assert_eq!(
        judge::judge(&whole).offered,
        [
            "Of the 4000 users of c, the most that waited for a response at once were 30 with a, 200 with b."
        ]
    );
    let at_once = record(users(Duration::ZERO), Duration::from_secs(150));
    assert!(judge::judge(&at_once).offered.is_empty(), "all of them start at once");
    assert!(judge::judge(&record(Load::closed(64), Duration::from_secs(8))).offered.is_empty());
}

#[test]
fn users_who_did_not_begin_are_reported() {
    let cut = judge::judge(&record(users(Duration::from_secs(60)), Duration::from_secs(8)));
    let expected = format!(
        "c is planned with {PLANNED}, but was measured for 8.0 s: 534 of them began, and the effect of the others was not measured."
    );
    assert_eq!((cut.offered[0].as_str(), cut.offered.len()), (expected.as_str(), 2));
}

#[test]
fn claim_about_users_who_did_not_begin_is_undecided() {
    let claim =
        Claim { metric: Metric::LatencyP95, value: Some(1_000.0), ..claim(Expectation::AtMost) };
    let claimed = |measure: Duration| {
        let mut record = record(users(Duration::from_secs(60)), measure);
        record.header.experiment.claims = vec![claim.clone()];
        let found = judge::judge(&record).claims.remove(0);
        (found.outcome, found.reason)
    };
    assert_eq!(claimed(Duration::from_secs(60)).0, ClaimOutcome::Confirmed);
    let expected =
        format!("c asks for {PLANNED}, and was measured for 8.0 s, in which only 534 began");
    assert_eq!(claimed(Duration::from_secs(8)), (ClaimOutcome::Undecided, expected));

    // A claim about the warm-up does not need the users.
    let of_warm_up = Claim {
        metric: Metric::CpuPerRequest,
        compared_with: Some(SelfComparison::Cold),
        expects: Expectation::Higher,
        value: None,
        ..claim
    };
    let mut cut = record(users(Duration::from_secs(60)), Duration::from_secs(8));
    cut.header.experiment.claims = vec![of_warm_up];
    assert_eq!(cut.untried(&cut.header.experiment.claims[0]), None);
}

#[test]
fn limit_of_the_machine_is_reported_for_scheduled_loads() {
    let mut short = record(users(Duration::from_secs(60)), Duration::from_secs(150));
    faulty(&mut short, "a", "upstream-binds", 2);
    assert_eq!(judge::judge(&short).offered.len(), 1, "two of six are no limit of the machine");
    faulty(&mut short, "b", "upstream-binds", 3);
    faulty(&mut short, "b", "ports", 6);
    let expected = format!(
        "c is planned with {PLANNED}, more than this machine can offer: the upstream or database, with the generator, had no CPU time left \
         (in 3 of 6 measurements of b); ports ran out (in 6 of 6 measurements of b). So it shows the effect of that load on this machine, \
         not how much of it the contenders could carry."
    );
    assert_eq!(judge::judge(&short).offered[0], expected);
    // A closed loop plans no more than the contender answers.
    let mut closed = record(Load::closed(64), Duration::from_secs(8));
    faulty(&mut closed, "b", "generator-cpu", 6);
    assert!(judge::judge(&closed).offered.is_empty());
}

#[test]
fn load_that_could_not_be_made_is_reported_with_its_cause() {
    let mut none = record(users(Duration::from_secs(60)), Duration::from_secs(150));
    for trial in &mut none.trials {
        trial.measurements.clear();
        trial.cell_faults.push(not_made(
            "c",
            "it needs 10065 descriptors, and 1024 are allowed\nhint: raise it",
        ));
    }
    let offered = judge::judge(&none).offered;
    assert_eq!(offered.len(), 1);
    assert!(
        offered[0].contains("the load could not be made at all (in 12 starts: it needs 10065 descriptors, and 1024 are allowed). So"),
        "{offered:?}"
    );
}

#[test]
fn database_use_is_listed_by_cell_and_contender() {
    let mut record = record(users(Duration::ZERO), Duration::from_secs(10));
    assert!(judge::judge(&record).databases.is_empty());
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        let block = u64::from(trial.block);
        trial.measurements[0].database = Some(DatabaseUsage {
            cpu_ns: 2 * SECOND,
            wall_ns: 10 * SECOND,
            memory_max_bytes: 100_000_000 + 1_000_000 * block,
            processes_max: 10 + block,
            ..DatabaseUsage::default()
        });
    }
    let found = judge::judge(&record).databases;
    assert_eq!((found.len(), found[0].cell.as_str(), &found[0].contender), (1, "c", &name("b")));
    // 2 s of 10 s, for 1,000 correct responses.
    assert!(
        (found[0].cpu_percent - 20.0).abs() < 1e-9
            && (found[0].cpu_us_per_request.unwrap() - 2_000.0).abs() < 1e-9
    );
    assert_eq!((found[0].memory_mb, found[0].processes), (106.0, 16));
}
