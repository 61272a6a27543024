//! Claims about one contender alone.

use crate::made_up::{self, MS, SECOND, histogram, measurement, name};
use record::judgement::{ClaimOutcome, ClaimVerdict};
use record::{Record, Trial, WarmUpClass, WarmUpWindow, Warmup};
use spec::experiment::self_comparison::SelfComparison;
use spec::experiment::{Cell, Claim, Expectation, Load};

fn claim(contender: &str, expects: Expectation, compared_with: SelfComparison) -> Claim {
    Claim {
        contender: name(contender),
        compared_with: Some(compared_with),
        ..made_up::claim(expects)
    }
}

/// Makes a start whose first second costs `cold_ms` of CPU time for each of 100 responses, and
/// whose later seconds cost 1 ms for each.
fn start(contender: &str, block: u32, cold_ms: u64) -> Trial {
    let window = |second: u64| WarmUpWindow {
        at_ns: second * SECOND,
        load_ns: SECOND,
        connections: 2,
        correct: 100,
        // The blocks differ a little, so that there is a spread.
        cpu_ns: if second == 0 {
            100 * cold_ms * MS
        } else {
            100 * MS + u64::from(block) * MS / 10
        },
        pause_ns: 0,
        pause_cpu_ns: 0,
        p50_ns: None,
        max_ns: None,
    };
    let measured = measurement(10, histogram((0..1_000).map(|i| MS + i)));
    let warmup = Warmup {
        class: WarmUpClass::WarmUp,
        steady_after_ns: Some(3 * SECOND),
        windows: (0..8).map(window).collect(),
    };
    Trial { warmup: Some(warmup), ..made_up::trial(contender, block, measured) }
}

fn record(claims: Vec<Claim>) -> Record {
    let trials = (1..=6).flat_map(|block| [start("a", block, 4), start("b", block, 1)]).collect();
    let mut record = made_up::record(&["a", "b"], Load::closed(4), trials);
    record.header.experiment.claims = claims;
    record
}

fn judged(record: &Record) -> Vec<ClaimVerdict> {
    judge::judge(record).claims
}

#[test]
fn steady_state_is_compared_with_the_first_second() {
    let cold = |contender: &str, expects| claim(contender, expects, SelfComparison::Cold);
    let record = record(vec![
        cold("a", Expectation::Lower),
        cold("b", Expectation::Same),
        cold("b", Expectation::Lower),
    ]);
    let [of_a, same, lower]: [ClaimVerdict; 3] = judged(&record).try_into().unwrap();
    assert_eq!(
        [of_a.outcome, same.outcome, lower.outcome],
        [ClaimOutcome::Confirmed, ClaimOutcome::Confirmed, ClaimOutcome::Refuted]
    );
    let cell = &of_a.cells[0];
    let ratio = cell.verdict.ratio.unwrap();
    assert!(
        (ratio - 0.25).abs() < 0.01 && cell.cell == "warm-up" && cell.verdict.cell.is_none(),
        "{cell:?}"
    );
    assert!(cell.verdict.phrase().contains("less CPU per request"), "{}", cell.verdict.phrase());
    assert!(of_a.p_adjusted.is_some_and(|p| p < 0.05), "it belongs to the family of claims");
}

#[test]
fn starts_without_a_steady_state_are_excluded() {
    let mut record = record(vec![claim("a", Expectation::Lower, SelfComparison::Cold)]);
    for trial in record.trials.iter_mut().filter(|trial| trial.block > 4) {
        let warmup = trial.warmup.as_mut().unwrap();
        (warmup.class, warmup.steady_after_ns) = (WarmUpClass::NeverSteady, None);
    }
    let [of_a]: [ClaimVerdict; 1] = judged(&record).try_into().unwrap();
    let verdict = &of_a.cells[0].verdict;
    assert_eq!((of_a.outcome, verdict.used, verdict.excluded), (ClaimOutcome::Undecided, 4, 2));
}

#[test]
fn last_repetition_is_compared_with_the_first() {
    let mut record = record(vec![
        claim("b", Expectation::Higher, SelfComparison::FirstRepetition),
        claim("b", Expectation::Lower, SelfComparison::FirstRepetition),
    ]);
    let of_repetition = |repetition: u32| Cell {
        name: format!("c-repetition-{repetition}"),
        after: (repetition > 1).then(|| format!("c-repetition-{}", repetition - 1)),
        ..record.header.experiment.cells[0].clone()
    };
    record.header.experiment.cells = vec![of_repetition(1), of_repetition(2)];
    for trial in &mut record.trials {
        let first = trial.measurements.remove(0);
        for repetition in [1, 2] {
            let mut measured = first.clone();
            measured.cell = format!("c-repetition-{repetition}");
            measured.usage.cpu_ns = repetition * SECOND + u64::from(trial.block) * MS;
            trial.measurements.push(measured);
        }
    }
    let [higher, lower]: [ClaimVerdict; 2] = judged(&record).try_into().unwrap();
    assert_eq!([higher.outcome, lower.outcome], [ClaimOutcome::Confirmed, ClaimOutcome::Refuted]);
    let [cell] = higher.cells.as_slice() else {
        panic!("expected the last repetition only: {:?}", higher.cells)
    };
    assert!(
        cell.cell == "c-repetition-2" && (cell.verdict.ratio.unwrap() - 2.0).abs() < 0.02,
        "{cell:?}"
    );
}
