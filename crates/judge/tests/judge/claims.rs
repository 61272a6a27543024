//! Claims on records with known answers: each expectation, several claims, and what leaves one
//! open.

use crate::made_up::{claim, name};
use crate::ratios::{record, spread, trial};
use record::judgement::{ClaimOutcome, ClaimVerdict, Outcome};
use record::{Fault, Record};
use spec::experiment::{Claim, Expectation};
use spec::metric::Metric;

#[test]
fn equivalence_refutes_a_claimed_difference() {
    let outcomes = |ratio: f64| {
        judge::judge(&record(&[ratio; 6])).claims.iter().map(|c| c.outcome).collect::<Vec<_>>()
    };
    use ClaimOutcome::{Confirmed, Refuted};
    // Higher, same, lower.
    assert_eq!(outcomes(2.0), [Confirmed, Refuted, Refuted]);
    assert_eq!(outcomes(1.0), [Refuted, Confirmed, Refuted]);
    assert_eq!(outcomes(0.5), [Refuted, Refuted, Confirmed]);
}

#[test]
fn not_worse_claim_is_refuted_by_worse_alone() {
    let of = |ratio: f64, noise: f64| {
        let noisy: Vec<f64> =
            [-1.0, 0.0, 1.0, 0.0, -1.0, 1.0].iter().map(|n| ratio * (1.0 + n * noise)).collect();
        let mut record = record(&noisy);
        record.header.experiment.claims = vec![claim(Expectation::NotWorse)];
        judge::judge(&record).claims[0].outcome
    };
    assert_eq!(
        [of(2.0, 0.01), of(0.5, 0.01), of(1.01, 0.01)],
        [ClaimOutcome::Refuted, ClaimOutcome::Confirmed, ClaimOutcome::Confirmed]
    );
    assert_eq!(of(1.05, 0.2), ClaimOutcome::Undecided);
    // Perhaps better by more than the margin, perhaps not, but certainly not worse.
    assert_eq!(of(1.0 / 1.05, 0.01), ClaimOutcome::Confirmed);
    assert_eq!(of(1.05, 0.01), ClaimOutcome::Undecided);
    // A higher throughput is better, and not worse.
    let slower = record(&[2.0; 6]);
    let about = Claim { metric: Metric::Throughput, ..claim(Expectation::NotWorse) };
    let mut record = slower;
    record.header.experiment.claims = vec![about];
    record.trials.iter_mut().filter(|t| t.contender == name("b")).for_each(|t| {
        let counts = &mut t.measurements[0].counts;
        (counts.scheduled, counts.correct) = (2 * counts.scheduled, 2 * counts.correct);
    });
    assert_eq!(judge::judge(&record).claims[0].outcome, ClaimOutcome::Confirmed);
}

/// That it is lower by more than the margin is open; that it is not higher by more is certain.
#[test]
fn one_sided_claim_tests_one_edge_of_the_margin() {
    let noisy = [0.93, 0.97, 0.95, 0.96, 0.94, 0.98];
    let of = |expects: Expectation| {
        let mut record = record(&noisy);
        record.header.experiment.claims = vec![claim(expects)];
        let judgement = judge::judge(&record);
        assert_eq!(judgement.claims[0].cells[0].verdict.outcome, Outcome::Undecided);
        (judgement.claims[0].outcome, judgement.claims[0].p.unwrap())
    };
    let (refuted, p) = of(Expectation::Higher);
    assert!(refuted == ClaimOutcome::Refuted && p < 0.001, "{p}");
    assert_eq!(of(Expectation::NotWorse).0, ClaimOutcome::Confirmed);
    for open in [Expectation::Lower, Expectation::Same] {
        let (outcome, p) = of(open);
        assert!(outcome == ClaimOutcome::Undecided && p > 0.05, "{open:?} {p}");
    }
}

/// The t statistic of the distance to the margin's edge, 0.1 − ln 1.05, is 3.0: p = 0.030 by R's `2
/// * pt(-3, 5)`.
#[test]
fn claim_that_holds_alone_may_fail_among_several() {
    let deviation = (0.1 - 1.05f64.ln()) * 6f64.sqrt() / 3.0;
    let mut alone = record(&spread(0.1, deviation));
    let three = judge::judge(&alone).claims;
    alone.header.experiment.claims = vec![claim(Expectation::Higher)];
    let one = &judge::judge(&alone).claims[0];
    assert_eq!(one.outcome, ClaimOutcome::Confirmed);
    assert!((one.p.unwrap() - 0.0301).abs() < 2e-4 && one.p == one.p_adjusted, "{one:?}");
    assert_eq!(
        [0, 1, 2].map(|n| three[n].outcome),
        [ClaimOutcome::Undecided, ClaimOutcome::Undecided, ClaimOutcome::Refuted],
        "{three:#?}"
    );
    // "Lower by more than the margin" is refuted with certainty, so it is first in Holm's order.
    assert!(
        three[2].p_adjusted.unwrap() < 0.01
            && (three[0].p_adjusted.unwrap() - 2.0 * one.p.unwrap()).abs() < 1e-9,
        "{three:#?}"
    );
    assert!(three[0].reason.starts_with("it would hold alone"), "{}", three[0].reason);
    assert!(three[1].reason.starts_with("it would be refuted alone"), "{}", three[1].reason);
}

#[test]
fn claim_for_many_cpus_is_undecided_on_few() {
    let asking = |cpus| {
        let mut record = record(&[0.5; 6]);
        record.header.cpus.contender = vec![1, 2];
        record.header.experiment.claims =
            vec![Claim { contender_cpus: Some(cpus), ..claim(Expectation::Lower) }];
        judge::judge(&record).claims.remove(0)
    };
    assert_eq!(asking(2).outcome, ClaimOutcome::Confirmed);
    let open = asking(4);
    assert_eq!(
        (open.outcome, open.reason.as_str()),
        (ClaimOutcome::Undecided, "it is about 4 CPUs or more for the contender, which had 2 here")
    );
}

#[test]
fn claim_may_set_its_own_margin() {
    let outcome = |ratio: f64| {
        let mut record = record(&[ratio; 6]);
        record.header.experiment.claims =
            vec![Claim { margin: Some(19.0), ..claim(Expectation::Higher) }];
        judge::judge(&record).claims.remove(0).outcome
    };
    assert_eq!(
        [outcome(30.0), outcome(10.0), outcome(0.04)],
        [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Refuted]
    );
}

#[test]
fn times_claim_holds_only_near_its_multiple() {
    let judged = |ratio: f64, times: f64| {
        let noisy: Vec<f64> =
            [0.99, 1.0, 1.01, 1.0, 0.99, 1.01].iter().map(|n| n * ratio).collect();
        let mut record = record(&noisy);
        record.header.experiment.claims =
            vec![Claim { margin: Some(0.1), value: Some(times), ..claim(Expectation::Times) }];
        judge::judge(&record).claims.remove(0)
    };
    let half = judged(0.5, 0.5);
    assert_eq!(
        (half.outcome, half.claim.expected().as_str()),
        (ClaimOutcome::Confirmed, "0.5 times the baseline")
    );
    let seen = &half.cells[0].verdict;
    let interval = seen.interval.unwrap();
    assert!(
        (seen.ratio.unwrap() - 0.5).abs() < 0.005 && interval.low < 0.5 && 0.5 < interval.high,
        "{seen:?}"
    );
    assert!((seen.value.unwrap() / seen.baseline_value.unwrap() - 0.5).abs() < 0.005, "{seen:?}");
    assert_eq!(
        [judged(0.3, 0.5), judged(1.0, 0.5), judged(1.0, 2.0)].map(|judged| judged.outcome),
        [ClaimOutcome::Refuted; 3]
    );
}

#[test]
fn contender_with_failures_reaches_no_multiple() {
    let judged = |ratio: f64| {
        let mut record = record(&[ratio; 6]);
        record.header.experiment.claims =
            vec![Claim { margin: Some(0.1), value: Some(0.5), ..claim(Expectation::Times) }];
        let trial = record.trials.iter_mut().find(|t| t.contender == name("b")).unwrap();
        trial.measurements[0].counts.correct = 999;
        trial.measurements[0].counts.wrong = 1;
        judge::judge(&record).claims.remove(0)
    };
    // Equal to the multiple, better than it, and worse than it.
    assert_eq!(
        [0.5, 0.3, 1.0].map(|ratio| judged(ratio).outcome),
        [ClaimOutcome::Undecided, ClaimOutcome::Undecided, ClaimOutcome::Refuted]
    );
}

/// Judges the claim that `b` needs at most `value` µs of CPU time per request. It needs 200.2 in
/// the first of six blocks and 1201.2 in the last.
fn at_most(value: f64, change: impl Fn(&mut Record)) -> ClaimVerdict {
    let mut record = record(&[1.001; 6]);
    let claim =
        Claim { value: Some(value), metric: Metric::CpuPerRequest, ..claim(Expectation::AtMost) };
    record.header.experiment.claims = vec![claim];
    change(&mut record);
    judge::judge(&record).claims.remove(0)
}

#[test]
fn at_most_claim_must_hold_in_every_valid_trial() {
    let most = judge::value(
        Metric::CpuPerRequest,
        &trial("b", 6, 12.0 * 1.001),
        Some(&trial("b", 6, 12.0 * 1.001).measurements[0]),
    )
    .unwrap();
    let kept = at_most(most, |_| ());
    assert_eq!(
        (kept.outcome, kept.reason.as_str(), kept.p),
        (ClaimOutcome::Confirmed, "it holds", None),
        "the value itself is allowed"
    );
    let seen = &kept.cells[0].verdict;
    assert_eq!(
        (seen.phrase().as_str(), seen.ratio, seen.used),
        ("200 to 1201 µs in 6 trials", None, 6)
    );
    assert_eq!(kept.claim.expected(), "at most 1201 µs");
    let beyond = at_most(most * 0.999_999, |_| ());
    assert_eq!(
        (beyond.outcome, beyond.reason.as_str()),
        (ClaimOutcome::Refuted, "it does not hold")
    );

    let of_baseline = at_most(most, |r| r.header.experiment.claims[0].contender = name("a"));
    assert_eq!(of_baseline.outcome, ClaimOutcome::Confirmed, "a claim may be about the baseline");
    let invalidate = |r: &mut Record, block: u32| {
        let trial =
            r.trials.iter_mut().find(|t| t.block == block && t.contender == name("b")).unwrap();
        trial.measurements[0].faults.push(Fault {
            kind: "steal".into(),
            evidence: "stolen".into(),
            hint: "h".into(),
        });
    };
    let five = at_most(most, |r| invalidate(r, 6));
    assert_eq!(five.outcome, ClaimOutcome::Undecided, "five trials are too few");
    assert_eq!(five.reason, "in c: 200 to 1001 µs in 5 trials, but a verdict needs 6");
    let invalid_beyond = at_most(most * 0.9, |r| invalidate(r, 6));
    assert_eq!(invalid_beyond.outcome, ClaimOutcome::Undecided, "an invalid trial refutes nothing");
    assert_eq!(
        at_most(most * 0.5, |r| invalidate(r, 6)).outcome,
        ClaimOutcome::Refuted,
        "one trial to the contrary is enough"
    );
}

#[test]
fn at_most_claim_with_failed_requests_is_undecided() {
    let fail = |r: &mut Record| {
        let counts =
            &mut r.trials.iter_mut().find(|t| t.contender == name("b")).unwrap().measurements[0]
                .counts;
        (counts.timed_out, counts.scheduled) = (3, counts.scheduled + 3);
    };
    let open = at_most(1e9, fail);
    assert_eq!(open.outcome, ClaimOutcome::Undecided);
    assert!(
        open.reason.ends_with("in 6 trials, not counting failures: 3 requests timed out"),
        "{}",
        open.reason
    );
    assert_eq!(at_most(1.0, fail).outcome, ClaimOutcome::Refuted);
}

#[test]
fn one_trial_refutes_that_a_metric_is_zero_or_above_zero() {
    let judged = |expects, failing: usize| {
        let mut record = record(&[1.0; 6]);
        let claim = Claim { metric: Metric::FailedShare, ..claim(expects) };
        record.header.experiment.claims = vec![claim];
        let of_b = record.trials.iter_mut().filter(|t| t.contender == name("b"));
        for trial in of_b.take(failing) {
            let counts = &mut trial.measurements[0].counts;
            (counts.timed_out, counts.scheduled) = (counts.correct, 2 * counts.correct);
        }
        let judged = judge::judge(&record).claims.remove(0);
        let verdict = &judged.cells[0].verdict;
        assert_eq!((verdict.ratio, verdict.difference), (None, None), "nothing is compared");
        (judged.outcome, verdict.phrase())
    };
    let [none, some, all] = ["0 % in 6 trials", "0 to 50.0 % in 6 trials", "50.0 % in 6 trials"];
    let of = |expects| [0, 1, 6].map(|failing| judged(expects, failing));
    assert_eq!(
        of(Expectation::Zero),
        [
            (ClaimOutcome::Confirmed, none.to_owned()),
            (ClaimOutcome::Refuted, some.to_owned()),
            (ClaimOutcome::Refuted, all.to_owned()),
        ]
    );
    assert_eq!(
        of(Expectation::AboveZero),
        [
            (ClaimOutcome::Refuted, none.to_owned()),
            (ClaimOutcome::Refuted, some.to_owned()),
            (ClaimOutcome::Confirmed, all.to_owned()),
        ]
    );
}
