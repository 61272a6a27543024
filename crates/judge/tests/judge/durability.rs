//! Contenders that keep the writes that they acknowledge, and contenders that do not.

use crate::made_up::{self, claim, histogram, measurement, name};
use record::database::{DatabaseCheck, DatabaseOfTrial, RowMismatch, TableCount};
use record::judgement::{ClaimOutcome, Outcome};
use record::{Fault, Record};
use spec::experiment::{Claim, Expectation, Load};
use spec::metric::Metric;

/// Makes six blocks in which `b` and `c` need half the CPU time of `a`, and all keep their writes.
fn record() -> Record {
    let trial = |contender: &str, block: u32, cpu_ns: u64| {
        let mut measured =
            measurement(10, histogram((0..1_000).map(|i| 1_000_000 + i * u64::from(block))));
        measured.latency = Some(measured.service.clone());
        measured.usage.cpu_ns = cpu_ns + u64::from(block) * 1_000;
        let mut trial = made_up::trial(contender, block, measured);
        let count = TableCount { table: "t".into(), acknowledged: 100, in_doubt: 1, rows: 100 };
        let checked =
            DatabaseCheck { after: "c".into(), tables: vec![count], holds: vec![], rows: vec![] };
        trial.database = Some(DatabaseOfTrial {
            ready_after_ns: None,
            version: "18".into(),
            settings: Default::default(),
            checks: vec![checked],
        });
        trial
    };
    let block = |block| {
        [
            trial("a", block, 200_000_000),
            trial("b", block, 100_000_000),
            trial("c", block, 100_000_000),
        ]
    };
    made_up::record(&["a", "b", "c"], Load::arrivals(100.0, 10), (1..=6).flat_map(block).collect())
}

fn outcomes(record: &Record, contender: &str) -> Vec<Outcome> {
    let judgement = judge::judge(record);
    let of = judgement
        .verdicts
        .iter()
        .filter(|v| v.contender == name(contender) && v.metric == Metric::CpuPerRequest);
    of.map(|v| v.outcome).collect()
}

fn set_rows(record: &mut Record, contender: &str, rows: u64) {
    let trial =
        record.trials.iter_mut().find(|t| t.contender == name(contender) && t.block == 2).unwrap();
    trial.database.as_mut().unwrap().checks[0].tables[0].rows = rows;
}

#[test]
fn contender_that_keeps_all_writes_is_judged() {
    let judgement = judge::judge(&record());
    assert!(judgement.disqualified.is_empty() && !judgement.incomplete);
    assert_eq!(
        (outcomes(&record(), "b"), outcomes(&record(), "c")),
        (vec![Outcome::Better], vec![Outcome::Better])
    );
}

#[test]
fn lost_or_doubled_write_disqualifies_one_contender() {
    for (rows, kind) in [(99, "lost-write"), (102, "doubled-write")] {
        let mut record = record();
        set_rows(&mut record, "b", rows);
        let judgement = judge::judge(&record);
        let [disqualified] = &judgement.disqualified[..] else {
            panic!("{:?}", judgement.disqualified)
        };
        assert_eq!(disqualified.contender, name("b"));
        assert!(
            disqualified.reason.contains("`t`")
                && disqualified.reason.contains("block 2, b, after c"),
            "{disqualified:?}"
        );
        assert!(judgement.incomplete && !judgement.unsound);
        assert!(judgement.faults.iter().any(|fault| fault.kind == kind), "{:?}", judgement.faults);
        assert_eq!(
            (outcomes(&record, "b"), outcomes(&record, "c")),
            (vec![Outcome::Undecided], vec![Outcome::Better])
        );
    }
}

#[test]
fn wrong_row_disqualifies_without_a_lost_row() {
    let mut record = record();
    let trial =
        record.trials.iter_mut().find(|t| t.contender == name("b") && t.block == 2).unwrap();
    let unlike = RowMismatch {
        table: "t".into(),
        condition: "amount = 1".into(),
        rows: 1,
        example: Some("(7,1,2,5)".into()),
    };
    trial.database.as_mut().unwrap().checks[0].rows.push(unlike);
    let judgement = judge::judge(&record);
    let [disqualified] = &judgement.disqualified[..] else {
        panic!("{:?}", judgement.disqualified)
    };
    assert!(
        disqualified.contender == name("b") && disqualified.reason.contains("(7,1,2,5)"),
        "{disqualified:?}"
    );
    assert!(
        judgement.faults.iter().any(|fault| fault.kind == "broken-data"),
        "{:?}",
        judgement.faults
    );
    assert_eq!(
        (outcomes(&record, "b"), outcomes(&record, "c")),
        (vec![Outcome::Undecided], vec![Outcome::Better])
    );
}

#[test]
fn claims_about_a_disqualified_contender_are_undecided() {
    let claim = |expects, value| Claim { metric: Metric::FailedShare, value, ..claim(expects) };
    let mut record = record();
    record.header.experiment.claims =
        vec![claim(Expectation::Zero, None), claim(Expectation::AtMost, Some(1.0))];
    let outcomes =
        |record: &Record| judge::judge(record).claims.iter().map(|c| c.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes(&record), [ClaimOutcome::Confirmed; 2]);
    set_rows(&mut record, "b", 99);
    assert_eq!(outcomes(&record), [ClaimOutcome::Undecided; 2]);
}

#[test]
fn write_in_doubt_may_exist() {
    let mut record = record();
    set_rows(&mut record, "b", 101);
    assert!(judge::judge(&record).disqualified.is_empty());
}

#[test]
fn disqualified_baseline_leaves_all_undecided() {
    let mut record = record();
    set_rows(&mut record, "a", 0);
    assert_eq!(
        (outcomes(&record, "b"), outcomes(&record, "c")),
        (vec![Outcome::Undecided], vec![Outcome::Undecided])
    );
}

#[test]
fn lost_database_does_not_undo_earlier_findings() {
    for (rows, disqualified) in [(100, 0), (99, 1)] {
        let mut record = record();
        set_rows(&mut record, "b", rows);
        let trial =
            record.trials.iter_mut().find(|t| t.contender == name("b") && t.block == 2).unwrap();
        trial.faults.push(Fault {
            kind: "database-lost".into(),
            evidence: "it ended".into(),
            hint: String::new(),
        });
        let judgement = judge::judge(&record);
        assert_eq!(judgement.disqualified.len(), disqualified, "{:?}", judgement.disqualified);
        assert!(
            judgement.excluded.iter().any(|e| e.contender == name("b") && e.block == 2),
            "{:?}",
            judgement.excluded
        );
    }
}
