//! The baseline compared with itself: the noise floor, and differences that must not be.

use crate::made_up::{SECOND, name};
use crate::ratios::{spread, with_twin};
use record::Second;
use record::judgement::{ClaimOutcome, Judgement, Outcome};
use spec::metric::Metric;

#[test]
fn baseline_unlike_itself_withdraws_verdicts_there() {
    let judgement = judge::judge(&with_twin(&[0.5; 6], &[1.2, 1.21, 1.19, 1.2, 1.2, 1.2]));
    let fault = judgement.faults.iter().find(|f| f.kind == "aa-differs").unwrap();
    let expected = ["20 % slower on average", "both are the same program"];
    assert!(
        expected.iter().all(|text| fault.evidence.contains(text)) && !fault.hint.is_empty(),
        "{fault:?}"
    );
    assert!(judgement.unsound, "claims rest on CPU per request");
    for verdict in judgement.verdicts.iter().filter(|v| v.metric == Metric::CpuPerRequest) {
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(
            verdict.reason.starts_with("the baseline differs from itself here"),
            "{}",
            verdict.reason
        );
        assert!(
            verdict.ratio.is_some() && verdict.interval.is_some(),
            "the estimate is still shown"
        );
    }
    assert!(
        judgement.claims.iter().all(|c| c.outcome == ClaimOutcome::Undecided && c.p.is_none()),
        "{:#?}",
        judgement.claims
    );
}

/// One difference in many is chance: t = 2.7 with 5 degrees of freedom has p = 0.043, which is not
/// significant among five comparisons.
#[test]
fn one_of_many_self_comparisons_may_differ_by_chance() {
    let record = |metrics_too: bool| {
        let mut record = with_twin(&[0.5; 6], &[1.0; 6]);
        for trial in record.trials.iter_mut().filter(|t| t.contender == name("a:aa")) {
            let off = 1.0 + 0.1 * [0.4, 1.9, 0.1, 1.6, 0.3, 1.7][trial.block as usize - 1];
            trial.measurements[0].usage.rss_max_bytes = (5e7 * off) as u64;
            if metrics_too {
                // Fifty percent more in every block is not chance.
                trial.measurements[0].usage.threads_max = 11;
            }
        }
        record.header.experiment.design.margin = 0.0;
        record.header.experiment.claims.clear();
        judge::judge(&record)
    };
    let differing = |judgement: &Judgement| {
        let all =
            judgement.faults.iter().filter(|f| f.kind == "aa-differs").map(|f| f.evidence.clone());
        all.collect::<Vec<_>>()
    };
    let chance = record(false);
    let memory = chance
        .verdicts
        .iter()
        .find(|v| v.metric == Metric::Memory && v.contender == name("a:aa"))
        .unwrap();
    assert!(memory.interval.unwrap().low > 1.0, "{memory:?}");
    assert!(memory.reason.starts_with("alone this would be a difference"), "{}", memory.reason);
    assert!(differing(&chance).is_empty() && !chance.unsound, "{:?}", differing(&chance));
    let real = record(true);
    assert_eq!(differing(&real).len(), 1, "{:?}", differing(&real));
    assert!(!real.unsound, "CPU per request and memory could be judged");
}

#[test]
fn baseline_like_itself_gives_the_noise_floor() {
    let judgement = judge::judge(&with_twin(&[0.5; 6], &spread(0.0, 0.02)));
    assert!(!judgement.unsound && judgement.faults.is_empty());
    let noise = judgement.noise.iter().find(|n| n.metric == Metric::CpuPerRequest).unwrap();
    assert!(
        (noise.ratio - 1.0).abs() < 1e-3 && (noise.log_deviation - 0.02).abs() < 1e-3,
        "{noise:?}"
    );
    assert!(noise.interval.low < 1.0 && 1.0 < noise.interval.high);
    let of_b = judgement
        .verdicts
        .iter()
        .find(|v| v.metric == Metric::CpuPerRequest && v.contender == name("b"))
        .unwrap();
    assert_eq!(of_b.outcome, Outcome::Better);
}

/// Starts differ by 0.2 in logarithms and seconds by 0.3, and a start takes half a second. So T² is
/// 0.048 − 0.1/10 and 0.1, and ⌈√(0.5·0.1/0.038)⌉ = 2.
#[test]
fn noise_tells_how_long_to_measure() {
    let mut record = with_twin(&[1.0; 6], &spread(0.0, 0.02));
    let second = |log: f64| Second {
        correct: (1e6 * log.exp()) as u64,
        not_correct: 0,
        p50_ns: None,
        p99_ns: None,
        max_ns: None,
        max_at_ns: None,
    };
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("a")) {
        let start = if trial.block % 2 == 0 { 0.2 } else { -0.2 };
        for m in &mut trial.measurements {
            m.duration_ns = 10 * SECOND;
            m.seconds =
                (0..10).map(|s| second(start + if s % 2 == 0 { 0.3 } else { -0.3 })).collect();
        }
    }
    let noise = judge::judge(&record).noise;
    let best = |metric: Metric| noise.iter().find(|n| n.metric == metric).unwrap().best_seconds;
    assert_eq!((best(Metric::Throughput), best(Metric::LatencyMean)), (Some(2), None));
}
