//! Failures and faults that prevent a win or a ranking, and those that do not.

use crate::faulty;
use crate::made_up::{claim, histogram, name};
use crate::ratios::{cpu, record, verdict, with_third};
use record::judgement::{ClaimOutcome, Outcome};
use record::{Failure, Fault, Record};
use spec::experiment::{Claim, Expectation};
use spec::metric::Metric;

#[test]
fn failed_trial_is_excluded_and_bars_from_winning() {
    let mut record = record(&[0.5; 7]);
    let failed = record.trials.iter_mut().find(|t| t.contender == name("b")).unwrap();
    failed.failure = Some(Failure {
        stage: "measure".into(),
        cause: "it ended with signal 9".into(),
        log: vec![],
    });
    let judgement = judge::judge(&record);
    let verdict = verdict(&judgement, Metric::CpuPerRequest);
    assert_eq!((verdict.used, verdict.excluded, verdict.outcome), (6, 1, Outcome::Undecided));
    assert!(
        verdict.reason.contains("b had failures of its own (1 of its trials failed"),
        "{}",
        verdict.reason
    );
    assert!(judgement.incomplete);
    assert_eq!(judgement.excluded.len(), 1);
}

#[test]
fn wrong_response_bars_from_winning_but_not_losing() {
    let with_wrong = |ratio: f64| {
        let mut record = record(&[ratio; 6]);
        let trial = record.trials.iter_mut().find(|t| t.contender == name("b")).unwrap();
        trial.measurements[0].counts.correct = 999;
        trial.measurements[0].counts.wrong = 1;
        cpu(&record)
    };
    assert!(with_wrong(0.5).reason.contains("1 requests wrong"));
    assert_eq!(with_wrong(2.0).outcome, Outcome::Worse);
}

/// Makes a record in which `of_thousand` of 1,000 requests of `b` have no response at the end.
fn hanging(ratio: f64, of_thousand: u64) -> Record {
    let mut record = record(&[ratio; 6]);
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        let m = &mut trial.measurements[0];
        let rest: Vec<u64> = (0..1_000 - of_thousand)
            .map(|i| (2e6 * f64::from(trial.block) * ratio) as u64 + i * 1_000)
            .collect();
        m.latency = Some(histogram(rest));
        (m.counts.correct, m.counts.unfinished) = (1_000 - of_thousand, of_thousand);
    }
    record
}

#[test]
fn unanswered_requests_are_slowest_and_bar_from_winning() {
    let judgement = judge::judge(&hanging(0.5, 20));
    let of = |metric| verdict(&judgement, metric);
    for metric in
        [Metric::LatencyP99, Metric::LatencyMax, Metric::LatencyMean, Metric::LatencyDeviation]
    {
        assert_eq!(
            (of(metric).value, of(metric).outcome),
            (None, Outcome::Undecided),
            "{metric:?}"
        );
    }
    // The 950th of 1,000, not of the 980 that were answered: the first block's is 1 ms + 949 µs.
    let mut first = hanging(0.5, 20);
    first.trials.retain(|t| t.block == 1);
    let p95 =
        judge::value(Metric::LatencyP95, &first.trials[1], first.trials[1].measurements.first())
            .unwrap();
    assert!((p95 - 1.949).abs() < 0.003, "{p95}");
    assert!(
        of(Metric::LatencyP95)
            .reason
            .contains("b had failures of its own (120 requests unfinished"),
        "{}",
        of(Metric::LatencyP95).reason
    );
    assert_eq!(cpu(&hanging(2.0, 20)).outcome, Outcome::Worse, "it may lose");
    // At the in-flight limit latency is invalid, and unfinished requests are due to the limit.
    let mut limited = hanging(0.5, 20);
    for trial in &mut limited.trials {
        trial.measurements[0].faults.push(Fault {
            kind: "in-flight-limit".into(),
            evidence: "10".into(),
            hint: "h".into(),
        });
    }
    assert_eq!(cpu(&limited).outcome, Outcome::Better);
}

#[test]
fn fault_invalidates_only_the_metrics_it_distorts() {
    let mut record = record(&[0.5; 6]);
    for trial in &mut record.trials {
        trial.measurements[0].faults.push(Fault {
            kind: "generator-lag".into(),
            evidence: "late".into(),
            hint: "h".into(),
        });
    }
    let judgement = judge::judge(&record);
    assert_eq!(verdict(&judgement, Metric::LatencyMean).outcome, Outcome::Undecided);
    assert_eq!(verdict(&judgement, Metric::LatencyMean).invalidated, 6);
    assert_eq!(verdict(&judgement, Metric::CpuPerRequest).outcome, Outcome::Better);
    assert!(!judgement.unsound, "something could be judged");
    for trial in &mut record.trials {
        trial.faults.push(Fault {
            kind: "upstream-lost".into(),
            evidence: "exit 1".into(),
            hint: "h".into(),
        });
    }
    let judgement = judge::judge(&record);
    assert!(
        judgement.unsound && judgement.verdicts.iter().all(|v| v.outcome == Outcome::Undecided)
    );
}

#[test]
fn self_caused_faults_prevent_a_win() {
    let record = |of_b: usize, of_a: usize, kind: &str| {
        let mut record = record(&[0.5; 12]);
        faulty(&mut record, "b", kind, of_b);
        faulty(&mut record, "a", kind, of_a);
        verdict(&judge::judge(&record), Metric::LatencyP50).clone()
    };
    let withdrawn = record(6, 0, "in-flight-limit");
    assert_eq!((withdrawn.used, withdrawn.outcome), (6, Outcome::Undecided));
    assert!(
        withdrawn.reason.starts_with("6 of 12 measurements of b were excluded"),
        "{}",
        withdrawn.reason
    );
    // A few are chance, those of the loser do not favour it, equal numbers favour neither, and CPU
    // steal is not caused by the contender.
    for (of_b, of_a, kind) in [
        (3, 0, "in-flight-limit"),
        (0, 6, "in-flight-limit"),
        (6, 6, "in-flight-limit"),
        (6, 0, "steal"),
    ] {
        assert_eq!(record(of_b, of_a, kind).outcome, Outcome::Better, "{of_b} {of_a} {kind}");
    }
}

/// Six of the twelve measurements of `b` are excluded for its own slowness.
#[test]
fn biased_sample_supports_no_favourable_verdict() {
    let of = |names: &[&str], ratio: f64, expects: Expectation| {
        let noisy: Vec<f64> = (0..12).map(|i| ratio * [0.99, 1.0, 1.01][i % 3]).collect();
        let mut record = record(&noisy);
        record.header.experiment.claims =
            vec![Claim { metric: Metric::LatencyMean, ..claim(expects) }];
        names.iter().for_each(|name| faulty(&mut record, name, "not-stationary", 6));
        let judgement = judge::judge(&record);
        assert!(!judgement.unsound);
        (verdict(&judgement, Metric::LatencyMean).outcome, judgement.claims[0].outcome)
    };
    let (confirmed, undecided) = (ClaimOutcome::Confirmed, ClaimOutcome::Undecided);
    for (expects, ratio) in [
        (Expectation::Lower, 0.5),
        (Expectation::Same, 1.0),
        (Expectation::NotWorse, 1.0),
        (Expectation::NotWorse, 1.0 / 1.05),
    ] {
        assert_eq!(
            of(&["b"], ratio, expects),
            (Outcome::Undecided, undecided),
            "{expects:?} {ratio}"
        );
    }
    assert_eq!(of(&[], 1.0, Expectation::Same), (Outcome::Equivalent, confirmed));
    assert_eq!(
        of(&["b"], 2.0, Expectation::Higher),
        (Outcome::Worse, confirmed),
        "even its best measurements are worse"
    );
    assert_eq!(
        of(&["a", "b"], 1.0, Expectation::Same),
        (Outcome::Equivalent, confirmed),
        "both lost equally many"
    );
}

#[test]
fn run_is_unsound_if_faults_invalidate_all_claims() {
    let with_lag = |metric: Metric| {
        let mut record = record(&[0.5; 6]);
        record.header.experiment.claims = vec![Claim { metric, ..claim(Expectation::Lower) }];
        record.trials[0].measurements[0].faults.push(Fault {
            kind: "generator-lag".into(),
            evidence: "late".into(),
            hint: "h".into(),
        });
        judge::judge(&record)
    };
    let unsound = with_lag(Metric::LatencyMean);
    assert!(unsound.unsound, "no claim could be judged");
    assert_eq!(
        verdict(&unsound, Metric::CpuPerRequest).outcome,
        Outcome::Better,
        "lag distorts no CPU time"
    );
    let latency = verdict(&unsound, Metric::LatencyMean);
    assert_eq!(
        (latency.outcome, latency.unconfirmed.as_str()),
        (Outcome::Undecided, "requests were sent late")
    );
    assert!(
        latency.reason.starts_with("not confirmed: requests were sent late in "),
        "{}",
        latency.reason
    );
    assert!(latency.ratio.is_some() && latency.interval.is_some(), "the best estimate is shown");
    assert_eq!(unsound.claims[0].outcome, ClaimOutcome::Undecided);
    let sound = with_lag(Metric::CpuPerRequest);
    assert!(
        !sound.unsound && sound.claims[0].outcome == ClaimOutcome::Confirmed,
        "lag distorts no CPU time"
    );
}

#[test]
fn overload_of_one_contender_leaves_others_judged() {
    let overrun = |names: &[&str], kinds: &[&str]| {
        let mut record = with_third(&[0.5; 7]);
        names
            .iter()
            .for_each(|name| kinds.iter().for_each(|kind| faulty(&mut record, name, kind, 2)));
        let judgement = judge::judge(&record);
        (judgement.unsound, judgement.claims.iter().map(|c| c.outcome).collect::<Vec<_>>())
    };
    let (confirmed, undecided) = (ClaimOutcome::Confirmed, ClaimOutcome::Undecided);
    for kind in ["in-flight-limit", "backlog", "retransmits"] {
        assert_eq!(overrun(&["c"], &[kind]), (false, vec![confirmed, undecided]), "{kind}");
        assert_eq!(
            overrun(&["b", "c"], &[kind]),
            (true, vec![undecided; 2]),
            "{kind}: no contender can be ranked"
        );
        assert_eq!(
            overrun(&["a"], &[kind]),
            (true, vec![undecided; 2]),
            "{kind}: the baseline cannot be compared"
        );
        assert_eq!(
            overrun(&["c"], &[kind, "generator-lag"]),
            (false, vec![confirmed, undecided]),
            "{kind}"
        );
    }
    assert_eq!(overrun(&["c"], &["not-stationary"]), (false, vec![confirmed, undecided]));
}

#[test]
fn run_is_sound_if_one_claim_can_be_judged() {
    let mut record = with_third(&[0.5; 7]);
    faulty(&mut record, "c", "backlog", 2);
    faulty(&mut record, "b", "generator-lag", 2);
    // Both claims are about latency, and both faults distort it.
    let judgement = judge::judge(&record);
    assert!(judgement.unsound);
    assert_eq!(verdict(&judgement, Metric::CpuPerRequest).outcome, Outcome::Better);
    // A claim that can be judged is enough.
    record.header.experiment.claims[0].metric = Metric::CpuPerRequest;
    assert!(!judge::judge(&record).unsound);
    // Without claims every verdict by ratio counts.
    record.header.experiment.claims.clear();
    assert!(!judge::judge(&record).unsound);
}
