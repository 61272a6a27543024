//! The rule, on records made up with known answers.

use crate::faulty;
use crate::made_up::{self, MS, SECOND, claim, histogram, measurement, name};
use model::experiment::{Claim, Expectation, Load};
use model::judgement::{ClaimOutcome, Judgement, Outcome, Verdict};
use model::metric::Metric;
use model::record::{Event, Failure, Fault, Participant, Record, Second, Session, Trial};

/// A record of blocks in which contender `b` takes `ratio[block]` times the latency and CPU of `a`.
fn record(ratios: &[f64]) -> Record {
    let trials = (1u32..)
        .zip(ratios)
        .flat_map(|(block, ratio)| {
            // Drift from block to block, common to both, must not matter.
            let base = 2.0 * f64::from(block);
            [trial("a", block, base), trial("b", block, base * ratio)]
        })
        .collect();
    let mut record = made_up::record(&["a", "b"], Load::arrivals(100.0, 10), trials);
    record.header.experiment.claims = [Expectation::Higher, Expectation::Same, Expectation::Lower].map(claim).to_vec();
    record
}

fn trial(contender: &str, block: u32, ms: f64) -> Trial {
    let mut measured = measurement(10, histogram((0..1_000).map(|i| (ms * 1e6) as u64 + i)));
    measured.latency = Some(measured.service.clone());
    measured.usage.cpu_ns = (ms * 1e8) as u64;
    made_up::trial(contender, block, measured)
}

fn verdict(judgement: &Judgement, metric: Metric) -> &Verdict {
    judgement.verdicts.iter().find(|v| v.metric == metric).unwrap()
}

fn cpu(record: &Record) -> Verdict {
    verdict(&judge::judge(record), Metric::CpuPerRequest).clone()
}

#[test]
fn twice_the_cpu_is_worse_half_is_better_and_nearly_none_is_equivalent() {
    let outcomes = [2.0, 0.5, 1.01].map(|ratio| {
        let noisy: Vec<f64> = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01].iter().map(|n| n * ratio).collect();
        cpu(&record(&noisy))
    });
    assert_eq!(outcomes.clone().map(|v| v.outcome), [Outcome::Worse, Outcome::Better, Outcome::Equivalent]);
    for (verdict, truth) in outcomes.iter().zip([2.0, 0.5, 1.01]) {
        assert!((verdict.ratio.unwrap() - truth).abs() < 0.01 * truth, "{verdict:?}");
        let interval = verdict.interval.unwrap();
        assert!(interval.low < truth && truth < interval.high, "{verdict:?}");
        assert_eq!((verdict.used, verdict.excluded), (6, 0));
    }
}

#[test]
fn not_worse_is_what_is_better_or_the_same_and_is_refuted_by_worse_alone() {
    let of = |ratio: f64, noise: f64| {
        let noisy: Vec<f64> = [-1.0, 0.0, 1.0, 0.0, -1.0, 1.0].iter().map(|n| ratio * (1.0 + n * noise)).collect();
        let mut record = record(&noisy);
        record.header.experiment.claims = vec![claim(Expectation::NotWorse)];
        judge::judge(&record).claims[0].outcome
    };
    assert_eq!([of(2.0, 0.01), of(0.5, 0.01), of(1.01, 0.01)], [ClaimOutcome::Refuted, ClaimOutcome::Confirmed, ClaimOutcome::Confirmed]);
    assert_eq!(of(1.05, 0.2), ClaimOutcome::Undecided);
    // Perhaps better by more than the margin, perhaps not: worse it is not.
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

/// Whether it is lower by more than the margin is open; that it is not higher by more is sure.
#[test]
fn a_claim_of_one_direction_asks_about_one_edge_of_the_margin() {
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

/// Worked by hand: ln-ratios 0.1, 0.2, 0.3, 0.4, 0.5, 0.6 have mean 0.35 and s = 0.18708;
/// t(5; 0.975) = 2.5706, so the half-width is 0.19633 and the interval exp(0.15367) to exp(0.54633).
#[test]
fn the_interval_is_the_one_worked_by_hand() {
    let ratios: Vec<f64> = (1..=6).map(|i| (f64::from(i) / 10.0).exp()).collect();
    let verdict = cpu(&record(&ratios));
    let interval = verdict.interval.unwrap();
    assert!((verdict.ratio.unwrap() - 0.35f64.exp()).abs() < 1e-4, "{verdict:?}");
    assert!((interval.low - 0.15367f64.exp()).abs() < 1e-4 && (interval.high - 0.54633f64.exp()).abs() < 1e-4, "{verdict:?}");
    assert_eq!(verdict.outcome, Outcome::Worse);
}

#[test]
fn a_wide_interval_is_undecided_with_the_blocks_still_needed() {
    let verdict = cpu(&record(&[0.7, 1.3, 0.8, 1.35, 0.75, 1.4]));
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(verdict.reason.contains("both sides") && verdict.reason.contains("blocks would settle it"), "{}", verdict.reason);
}

#[test]
fn different_but_perhaps_within_the_margin_is_undecided() {
    let verdict = cpu(&record(&[1.04, 1.05, 1.06, 1.05, 1.04, 1.06]));
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(verdict.reason.starts_with("higher, but not surely by more than 5"), "{}", verdict.reason);
}

#[test]
fn five_blocks_have_no_winner_however_clear() {
    let judgement = judge::judge(&record(&[3.0; 5]));
    let ratio_metrics = judgement.verdicts.iter().filter(|v| v.metric != Metric::FailedShare);
    for verdict in ratio_metrics {
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("5 blocks of the 6"), "{}", verdict.reason);
    }
}

#[test]
fn throughput_memory_and_threads_that_are_the_same_are_equivalent() {
    let judgement = judge::judge(&record(&[2.0; 6]));
    for metric in [Metric::Throughput, Metric::Memory, Metric::Threads, Metric::StartUp, Metric::FailedShare] {
        assert_eq!(verdict(&judgement, metric).outcome, Outcome::Equivalent, "{metric:?}");
    }
}

#[test]
fn claims_follow_the_verdict_and_equivalence_refutes_a_difference() {
    let outcomes = |ratio: f64| judge::judge(&record(&[ratio; 6])).claims.iter().map(|c| c.outcome).collect::<Vec<_>>();
    use ClaimOutcome::{Confirmed, Refuted};
    // Higher, same, lower.
    assert_eq!(outcomes(2.0), [Confirmed, Refuted, Refuted]);
    assert_eq!(outcomes(1.0), [Refuted, Confirmed, Refuted]);
    assert_eq!(outcomes(0.5), [Refuted, Refuted, Confirmed]);
}

#[test]
fn a_failed_trial_is_left_out_and_bars_from_winning() {
    let mut record = record(&[0.5; 7]);
    let fallen = record.trials.iter_mut().find(|t| t.contender == name("b")).unwrap();
    fallen.failure = Some(Failure { stage: "measure".into(), cause: "it ended with signal 9".into(), log: vec![] });
    let judgement = judge::judge(&record);
    let verdict = verdict(&judgement, Metric::CpuPerRequest);
    assert_eq!((verdict.used, verdict.excluded, verdict.outcome), (6, 1, Outcome::Undecided));
    assert!(verdict.reason.contains("b is barred from winning: 1 of its trials failed"), "{}", verdict.reason);
    assert!(judgement.incomplete);
    assert_eq!(judgement.excluded.len(), 1);
}

#[test]
fn one_wrong_answer_bars_from_winning_but_not_from_losing() {
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

#[test]
fn a_fault_spoils_what_it_touches_and_nothing_else() {
    let mut record = record(&[0.5; 6]);
    for trial in &mut record.trials {
        trial.measurements[0].faults.push(Fault { kind: "generator-lag".into(), evidence: "late".into(), hint: "h".into() });
    }
    let judgement = judge::judge(&record);
    assert_eq!(verdict(&judgement, Metric::LatencyMean).outcome, Outcome::Undecided);
    assert_eq!(verdict(&judgement, Metric::LatencyMean).spoilt, 6);
    assert_eq!(verdict(&judgement, Metric::CpuPerRequest).outcome, Outcome::Better);
    assert!(!judgement.unsound, "something could be judged");
    for trial in &mut record.trials {
        trial.faults.push(Fault { kind: "upstream-lost".into(), evidence: "exit 1".into(), hint: "h".into() });
    }
    let judgement = judge::judge(&record);
    assert!(judgement.unsound && judgement.verdicts.iter().all(|v| v.outcome == Outcome::Undecided));
}

/// Of 1,000 requests `of_thousand` had no answer when waiting ended.
fn hanging(ratio: f64, of_thousand: u64) -> Record {
    let mut record = record(&[ratio; 6]);
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        let m = &mut trial.measurements[0];
        let rest: Vec<u64> = (0..1_000 - of_thousand).map(|i| (2e6 * f64::from(trial.block) * ratio) as u64 + i * 1_000).collect();
        m.latency = Some(histogram(rest));
        (m.counts.correct, m.counts.unfinished) = (1_000 - of_thousand, of_thousand);
    }
    record
}

#[test]
fn what_never_answered_is_the_slowest_of_all_and_bars_from_winning() {
    let judgement = judge::judge(&hanging(0.5, 20));
    let of = |metric| verdict(&judgement, metric);
    for metric in [Metric::LatencyP99, Metric::LatencyMax, Metric::LatencyMean, Metric::LatencyDeviation] {
        assert_eq!((of(metric).value, of(metric).outcome), (None, Outcome::Undecided), "{metric:?}");
    }
    // The 950th of 1,000, not of the 980 that were answered: the first block's is 1 ms + 949 µs.
    let mut first = hanging(0.5, 20);
    first.trials.retain(|t| t.block == 1);
    let p95 = judge::value(Metric::LatencyP95, &first.trials[1], first.trials[1].measurements.first()).unwrap();
    assert!((p95 - 1.949).abs() < 0.003, "{p95}");
    assert!(
        of(Metric::LatencyP95).reason.contains("b is barred from winning: 120 requests unfinished"),
        "{}",
        of(Metric::LatencyP95).reason
    );
    assert_eq!(cpu(&hanging(2.0, 20)).outcome, Outcome::Worse, "it may lose");
    // At its limit nothing is said of latency, and what is still under way is the limit's.
    let mut limited = hanging(0.5, 20);
    for trial in &mut limited.trials {
        trial.measurements[0].faults.push(Fault { kind: "in-flight-limit".into(), evidence: "10".into(), hint: "h".into() });
    }
    assert_eq!(cpu(&limited).outcome, Outcome::Better);
}

#[test]
fn nobody_wins_by_what_its_own_faults_have_left() {
    let record = |of_b: usize, of_a: usize, kind: &str| {
        let mut record = record(&[0.5; 12]);
        faulty(&mut record, "b", kind, of_b);
        faulty(&mut record, "a", kind, of_a);
        verdict(&judge::judge(&record), Metric::LatencyP50).clone()
    };
    let withdrawn = record(6, 0, "in-flight-limit");
    assert_eq!((withdrawn.used, withdrawn.outcome), (6, Outcome::Undecided));
    assert!(withdrawn.reason.starts_with("6 of 12 measurements of b were left out"), "{}", withdrawn.reason);
    // A few are chance, the loser's are its own loss, both alike favour nobody, and a thief takes from either.
    for (of_b, of_a, kind) in [(3, 0, "in-flight-limit"), (0, 6, "in-flight-limit"), (6, 6, "in-flight-limit"), (6, 0, "steal")] {
        assert_eq!(record(of_b, of_a, kind).outcome, Outcome::Better, "{of_b} {of_a} {kind}");
    }
}

#[test]
fn a_quantile_needs_its_samples() {
    let mut record = record(&[2.0; 6]);
    for trial in &mut record.trials {
        trial.measurements[0].latency = Some(histogram((0..500).map(|i| MS + i)));
    }
    let judgement = judge::judge(&record);
    assert_eq!(verdict(&judgement, Metric::LatencyP99).value, None);
    assert!(verdict(&judgement, Metric::LatencyP95).value.is_some());
}

#[test]
fn a_spare_block_is_missing_only_once_it_has_begun() {
    let mut record = record(&[1.0; 8]);
    record.header.experiment.design.blocks = 6;
    record.trials.retain(|t| t.block <= 6);
    assert!(record.missing().is_empty(), "the planned blocks are there");
    assert_eq!(record.missing_or_spare().iter().map(|m| (m.0, m.1)).collect::<Vec<_>>(), [(7, 1), (7, 2)]);
    record.trials.push(trial("a", 7, 1.0));
    assert_eq!(record.missing(), [(7, 2, name("b"))], "a block that was begun is finished, also after a resume");
}

/// Six blocks whose log-ratios have this mean and deviation.
fn spread(mean: f64, deviation: f64) -> Vec<f64> {
    // Sum 0, sum of squares 5.
    let unit = [-1.5, -0.5, 0.0, 0.0, 0.5, 1.5];
    unit.map(|u| (mean + u * deviation).exp()).to_vec()
}

/// The t statistic of the distance to the margin's edge, 0.1 − ln 1.05, is 3.0: p = 0.030 by R's `2 * pt(-3, 5)`.
#[test]
fn a_claim_that_holds_alone_may_not_hold_among_several() {
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
    // That it is lower by more than the margin is refuted for sure, and first in Holm's order; the other two come after it.
    assert!(three[2].p_adjusted.unwrap() < 0.01 && (three[0].p_adjusted.unwrap() - 2.0 * one.p.unwrap()).abs() < 1e-9, "{three:#?}");
    assert!(three[0].reason.starts_with("it would hold alone"), "{}", three[0].reason);
    assert!(three[1].reason.starts_with("it would be refuted alone"), "{}", three[1].reason);
}

#[test]
fn an_early_look_is_stricter_and_says_so() {
    let mut record = record(&spread(0.15, 0.06));
    record.header.experiment.claims.truncate(1);
    assert_eq!(cpu(&record).outcome, Outcome::Worse);
    let design = &mut record.header.experiment.design;
    (design.blocks, design.looks) = (12, vec![6, 9, 12]);
    let judgement = judge::judge(&record);
    let verdict = verdict(&judgement, Metric::CpuPerRequest);
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!((verdict.confidence - 0.99750).abs() < 1e-5, "{verdict:?}");
    assert_eq!(judgement.looks.iter().map(|l| (l.blocks, l.taken)).collect::<Vec<_>>(), [(6, true), (9, false), (12, false)]);
    assert_eq!(judgement.claims[0].outcome, ClaimOutcome::Undecided);
}

#[test]
fn a_settled_record_misses_nothing_but_what_its_blocks_began() {
    let mut record = record(&[2.0; 6]);
    record.header.experiment.design.blocks = 12;
    record.header.plan = vec![vec![name("a"), name("b")]; 14];
    assert_eq!((record.missing().len(), record.complete_blocks()), (12, 6));
    assert!(judge::judge(&record).incomplete);
    record.sessions.push(Session { event: Event::Settled, at: String::new() });
    assert!(record.missing().is_empty() && record.missing_or_spare().is_empty() && !judge::judge(&record).incomplete);
    record.trials.pop();
    assert_eq!((record.missing().len(), record.complete_blocks()), (1, 5));
    assert!(judge::judge(&record).incomplete);
}

/// The baseline a second time, with these ratios to itself.
fn with_twin(ratios: &[f64], of_twin: &[f64]) -> Record {
    let mut record = record(ratios);
    record.header.experiment.aa = true;
    record.header.experiment.contenders.push(name("a:aa"));
    record.header.contenders.push(Participant { name: name("a:aa"), ..record.header.contenders[0].clone() });
    record.header.plan = vec![vec![name("a"), name("b"), name("a:aa")]; ratios.len()];
    for (block, ratio) in (1u32..).zip(of_twin) {
        record.trials.push(trial("a:aa", block, 2.0 * f64::from(block) * ratio));
    }
    record
}

#[test]
fn a_baseline_that_differs_from_itself_takes_every_verdict_back() {
    let judgement = judge::judge(&with_twin(&[0.5; 6], &[1.2, 1.21, 1.19, 1.2, 1.2, 1.2]));
    let fault = judgement.faults.iter().find(|f| f.kind == "aa-differs").unwrap();
    let said = ["120 % of the baseline's", "both are the same program"];
    assert!(said.iter().all(|text| fault.evidence.contains(text)) && !fault.hint.is_empty(), "{fault:?}");
    assert!(judgement.unsound, "claims rest on CPU per request");
    for verdict in judgement.verdicts.iter().filter(|v| v.metric == Metric::CpuPerRequest) {
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.starts_with("the baseline differs from itself here"), "{}", verdict.reason);
        assert!(verdict.ratio.is_some() && verdict.interval.is_some(), "what was seen is still shown");
    }
    assert!(judgement.claims.iter().all(|c| c.outcome == ClaimOutcome::Undecided && c.p.is_none()), "{:#?}", judgement.claims);
}

/// One place of many differs by what chance makes: t = 2.7 with 5 degrees of freedom has p = 0.043, and among five comparisons nothing.
#[test]
fn of_many_comparisons_with_itself_one_may_differ() {
    let record = |metrics_too: bool| {
        let mut record = with_twin(&[0.5; 6], &[1.0; 6]);
        for trial in record.trials.iter_mut().filter(|t| t.contender == name("a:aa")) {
            let off = 1.0 + 0.1 * [0.4, 1.9, 0.1, 1.6, 0.3, 1.7][trial.block as usize - 1];
            trial.measurements[0].usage.rss_max_bytes = (5e7 * off) as u64;
            if metrics_too {
                // Fifty percent more in every block is no chance.
                trial.measurements[0].usage.threads_max = 11;
            }
        }
        record.header.experiment.design.margin = 0.0;
        record.header.experiment.claims.clear();
        judge::judge(&record)
    };
    let differing = |judgement: &Judgement| {
        let all = judgement.faults.iter().filter(|f| f.kind == "aa-differs").map(|f| f.evidence.clone());
        all.collect::<Vec<_>>()
    };
    let chance = record(false);
    let memory = chance.verdicts.iter().find(|v| v.metric == Metric::Memory && v.contender == name("a:aa")).unwrap();
    assert!(memory.interval.unwrap().low > 1.0, "{memory:?}");
    assert!(memory.reason.starts_with("alone it would differ from itself"), "{}", memory.reason);
    assert!(differing(&chance).is_empty() && !chance.unsound, "{:?}", differing(&chance));
    let real = record(true);
    assert_eq!(differing(&real).len(), 1, "{:?}", differing(&real));
    assert!(real.unsound);
}

#[test]
fn a_baseline_like_itself_gives_the_noise_floor() {
    let judgement = judge::judge(&with_twin(&[0.5; 6], &spread(0.0, 0.02)));
    assert!(!judgement.unsound && judgement.faults.is_empty());
    let noise = judgement.noise.iter().find(|n| n.metric == Metric::CpuPerRequest).unwrap();
    assert!((noise.ratio - 1.0).abs() < 1e-3 && (noise.log_deviation - 0.02).abs() < 1e-3, "{noise:?}");
    assert!(noise.interval.low < 1.0 && 1.0 < noise.interval.high);
    let of_b = judgement.verdicts.iter().find(|v| v.metric == Metric::CpuPerRequest && v.contender == name("b")).unwrap();
    assert_eq!(of_b.outcome, Outcome::Better);
}

/// Starts 0.2 off in logarithms, seconds 0.3, and a start takes half a second: T² = 0.048 − 0.1/10 and 0.1, ⌈√(0.5·0.1/0.038)⌉ = 2.
#[test]
fn the_noise_says_how_long_to_measure() {
    let mut record = with_twin(&[1.0; 6], &spread(0.0, 0.02));
    let second =
        |log: f64| Second { correct: (1e6 * log.exp()) as u64, not_correct: 0, p50_ns: None, p99_ns: None, max_ns: None, max_at_ns: None };
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("a")) {
        let start = if trial.block % 2 == 0 { 0.2 } else { -0.2 };
        for m in &mut trial.measurements {
            m.duration_ns = 10 * SECOND;
            m.seconds = (0..10).map(|s| second(start + if s % 2 == 0 { 0.3 } else { -0.3 })).collect();
        }
    }
    let noise = judge::judge(&record).noise;
    let best = |metric: Metric| noise.iter().find(|n| n.metric == metric).unwrap().best_seconds;
    assert_eq!((best(Metric::Throughput), best(Metric::LatencyMean)), (Some(2), None));
}

#[test]
fn a_run_whose_claims_lost_their_blocks_to_faults_ranks_nobody() {
    let with_lag = |metric: Metric| {
        let mut record = record(&[0.5; 6]);
        record.header.experiment.claims = vec![Claim { metric, ..claim(Expectation::Lower) }];
        record.trials[0].measurements[0].faults.push(Fault { kind: "generator-lag".into(), evidence: "late".into(), hint: "h".into() });
        judge::judge(&record)
    };
    let spoilt = with_lag(Metric::LatencyMean);
    assert!(spoilt.unsound);
    let cpu = verdict(&spoilt, Metric::CpuPerRequest);
    assert_eq!((cpu.outcome, cpu.reason.as_str()), (Outcome::Undecided, "the run is unsound: generator-lag"));
    assert!(cpu.ratio.is_some() && spoilt.claims[0].outcome == ClaimOutcome::Undecided);
    let sound = with_lag(Metric::CpuPerRequest);
    assert!(!sound.unsound && sound.claims[0].outcome == ClaimOutcome::Confirmed, "CPU per request is not touched by lag");
}

/// Contender `c` beside `b` and the baseline `a`; what `b` is claimed to be, `c` is claimed as well.
fn with_third(ratios: &[f64]) -> Record {
    let mut trials = record(ratios).trials;
    let thirds: Vec<Trial> =
        trials.iter().filter(|t| t.contender == name("b")).map(|t| Trial { contender: name("c"), ..t.clone() }).collect();
    trials.extend(thirds);
    let mut record = made_up::record(&["a", "b", "c"], Load::arrivals(100.0, 10), trials);
    let lower = Claim { metric: Metric::LatencyMean, ..claim(Expectation::Lower) };
    record.header.experiment.claims = vec![lower.clone(), Claim { contender: name("c"), ..lower }];
    record
}

#[test]
fn who_is_asked_for_more_than_it_carries_takes_nobody_else_out() {
    let overrun = |names: &[&str], kinds: &[&str]| {
        let mut record = with_third(&[0.5; 7]);
        names.iter().for_each(|name| kinds.iter().for_each(|kind| faulty(&mut record, name, kind, 2)));
        let judgement = judge::judge(&record);
        (judgement.unsound, judgement.claims.iter().map(|c| c.outcome).collect::<Vec<_>>())
    };
    let (confirmed, undecided) = (ClaimOutcome::Confirmed, ClaimOutcome::Undecided);
    for kind in ["in-flight-limit", "backlog", "retransmits"] {
        assert_eq!(overrun(&["c"], &[kind]), (false, vec![confirmed, undecided]), "{kind}");
        assert_eq!(overrun(&["b", "c"], &[kind]), (true, vec![undecided; 2]), "{kind}: nobody is left to rank");
        assert_eq!(overrun(&["a"], &[kind]), (true, vec![undecided; 2]), "{kind}: nobody is left to compare with");
        assert_eq!(overrun(&["c"], &[kind, "generator-lag"]), (true, vec![undecided; 2]), "{kind}: and the instrument failed");
    }
    assert_eq!(overrun(&["c"], &["not-stationary"]), (true, vec![undecided; 2]), "others make that as well");
}

#[test]
fn overload_that_others_show_as_well_may_be_their_surroundings() {
    let mut record = with_third(&[0.5; 7]);
    faulty(&mut record, "c", "backlog", 2);
    faulty(&mut record, "b", "backlog", 1);
    assert!(judge::judge(&record).unsound);
}

#[test]
fn only_a_verdict_by_the_same_metric_excuses() {
    let mut record = with_third(&[0.5; 7]);
    faulty(&mut record, "c", "backlog", 2);
    record.header.experiment.claims[0].metric = Metric::CpuPerRequest;
    assert!(judge::judge(&record).unsound);
    // Without claims every verdict by ratio counts.
    record.header.experiment.claims.clear();
    assert!(!judge::judge(&record).unsound);
    faulty(&mut record, "b", "backlog", 2);
    assert!(judge::judge(&record).unsound, "that of memory excuses nobody");
}

#[test]
fn an_unsound_run_names_only_the_faults_to_blame() {
    let mut record = with_third(&[0.5; 7]);
    faulty(&mut record, "c", "backlog", 2);
    faulty(&mut record, "b", "generator-lag", 2);
    let judgement = judge::judge(&record);
    // Beside `c` nobody is whole.
    assert_eq!(verdict(&judgement, Metric::CpuPerRequest).reason, "the run is unsound: backlog, generator-lag");
    record.header.experiment.claims.pop();
    let judgement = judge::judge(&record);
    assert_eq!(verdict(&judgement, Metric::CpuPerRequest).reason, "the run is unsound: generator-lag");
}

/// Of twelve blocks in which all are alike, six of `b` are left out for its own slowness.
#[test]
fn who_is_flattered_by_what_is_left_is_neither_ahead_nor_alike_nor_no_worse() {
    let of = |names: &[&str], ratio: f64, expects: Expectation| {
        let noisy: Vec<f64> = (0..12).map(|i| ratio * [0.99, 1.0, 1.01][i % 3]).collect();
        let mut record = record(&noisy);
        record.header.experiment.claims = vec![Claim { metric: Metric::LatencyMean, ..claim(expects) }];
        names.iter().for_each(|name| faulty(&mut record, name, "not-stationary", 6));
        let judgement = judge::judge(&record);
        assert!(!judgement.unsound);
        (verdict(&judgement, Metric::LatencyMean).outcome, judgement.claims[0].outcome)
    };
    let (confirmed, undecided) = (ClaimOutcome::Confirmed, ClaimOutcome::Undecided);
    for (expects, ratio) in
        [(Expectation::Lower, 0.5), (Expectation::Same, 1.0), (Expectation::NotWorse, 1.0), (Expectation::NotWorse, 1.0 / 1.05)]
    {
        assert_eq!(of(&["b"], ratio, expects), (Outcome::Undecided, undecided), "{expects:?} {ratio}");
    }
    assert_eq!(of(&[], 1.0, Expectation::Same), (Outcome::Equivalent, confirmed));
    assert_eq!(of(&["b"], 2.0, Expectation::Higher), (Outcome::Worse, confirmed), "even what is left of it is worse");
    assert_eq!(of(&["a", "b"], 1.0, Expectation::Same), (Outcome::Equivalent, confirmed), "both lost as many");
}

#[test]
fn a_claim_on_machines_with_many_cpus_stays_open_on_a_small_one() {
    let asking = |cpus| {
        let mut record = record(&[0.5; 6]);
        record.header.cpus.contender = vec![1, 2];
        record.header.experiment.claims = vec![Claim { contender_cpus: Some(cpus), ..claim(Expectation::Lower) }];
        judge::judge(&record).claims.remove(0)
    };
    assert_eq!(asking(2).outcome, ClaimOutcome::Confirmed);
    let open = asking(4);
    assert_eq!(
        (open.outcome, open.reason.as_str()),
        (ClaimOutcome::Undecided, "it speaks of 4 CPUs or more for the contender, which had 2 here")
    );
}

#[test]
fn a_claim_of_how_much_has_a_margin_of_its_own() {
    let outcome = |ratio: f64| {
        let mut record = record(&[ratio; 6]);
        record.header.experiment.claims = vec![Claim { margin: Some(19.0), ..claim(Expectation::Higher) }];
        judge::judge(&record).claims.remove(0).outcome
    };
    assert_eq!([outcome(30.0), outcome(10.0), outcome(0.04)], [ClaimOutcome::Confirmed, ClaimOutcome::Refuted, ClaimOutcome::Refuted]);
}

#[test]
fn so_many_times_the_baseline_is_neither_more_nor_less() {
    let asked = |ratio: f64, times: f64| {
        let noisy: Vec<f64> = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01].iter().map(|n| n * ratio).collect();
        let mut record = record(&noisy);
        record.header.experiment.claims = vec![Claim { margin: Some(0.1), value: Some(times), ..claim(Expectation::Times) }];
        judge::judge(&record).claims.remove(0)
    };
    let half = asked(0.5, 0.5);
    assert_eq!((half.outcome, half.claim.expected().as_str()), (ClaimOutcome::Confirmed, "0.5 times the baseline"));
    let seen = &half.cells[0].verdict;
    let interval = seen.interval.unwrap();
    assert!((seen.ratio.unwrap() - 0.5).abs() < 0.005 && interval.low < 0.5 && 0.5 < interval.high, "{seen:?}");
    assert!((seen.value.unwrap() / seen.baseline_value.unwrap() - 0.5).abs() < 0.005, "{seen:?}");
    assert_eq!([asked(0.3, 0.5), asked(1.0, 0.5), asked(1.0, 2.0)].map(|asked| asked.outcome), [ClaimOutcome::Refuted; 3]);
}

/// A claim that `b` needs at most so many µs of CPU time a request, of which it needs 200.2 in the first of six blocks and 1201.2 in the last.
fn at_most(value: f64, change: impl Fn(&mut Record)) -> model::judgement::ClaimVerdict {
    let mut record = record(&[1.001; 6]);
    let claim = Claim { value: Some(value), metric: Metric::CpuPerRequest, ..claim(Expectation::AtMost) };
    record.header.experiment.claims = vec![claim];
    change(&mut record);
    judge::judge(&record).claims.remove(0)
}

#[test]
fn a_value_is_kept_to_in_every_unspoilt_trial_or_not_at_all() {
    let most =
        judge::value(Metric::CpuPerRequest, &trial("b", 6, 12.0 * 1.001), Some(&trial("b", 6, 12.0 * 1.001).measurements[0])).unwrap();
    let kept = at_most(most, |_| ());
    assert_eq!((kept.outcome, kept.reason.as_str(), kept.p), (ClaimOutcome::Confirmed, "it holds", None), "the value itself is allowed");
    let seen = &kept.cells[0].verdict;
    assert_eq!((seen.phrase().as_str(), seen.ratio, seen.used), ("200 to 1201 µs in 6 trials", None, 6));
    assert_eq!(kept.claim.expected(), "at most 1201 µs");
    let beyond = at_most(most * 0.999_999, |_| ());
    assert_eq!((beyond.outcome, beyond.reason.as_str()), (ClaimOutcome::Refuted, "it does not hold"));

    let of_baseline = at_most(most, |r| r.header.experiment.claims[0].contender = name("a"));
    assert_eq!(of_baseline.outcome, ClaimOutcome::Confirmed, "the baseline may be spoken of");
    let spoil = |r: &mut Record, block: u32| {
        let trial = r.trials.iter_mut().find(|t| t.block == block && t.contender == name("b")).unwrap();
        trial.measurements[0].faults.push(Fault { kind: "steal".into(), evidence: "stolen".into(), hint: "h".into() });
    };
    let five = at_most(most, |r| spoil(r, 6));
    assert_eq!(five.outcome, ClaimOutcome::Undecided, "five trials are too few");
    assert_eq!(five.reason, "open in c: 200 to 1001 µs in 5 trials, of which there must be 6");
    let spoilt_beyond = at_most(most * 0.9, |r| spoil(r, 6));
    assert_eq!(spoilt_beyond.outcome, ClaimOutcome::Undecided, "what a fault spoilt refutes nothing");
    assert_eq!(at_most(most * 0.5, |r| spoil(r, 6)).outcome, ClaimOutcome::Refuted, "one trial to the contrary is enough");
}

#[test]
fn whoever_leaves_requests_unanswered_is_not_confirmed_by_those_that_were() {
    let fail = |r: &mut Record| {
        let counts = &mut r.trials.iter_mut().find(|t| t.contender == name("b")).unwrap().measurements[0].counts;
        (counts.timed_out, counts.scheduled) = (3, counts.scheduled + 3);
    };
    let open = at_most(1e9, fail);
    assert_eq!(open.outcome, ClaimOutcome::Undecided);
    assert!(open.reason.ends_with("in 6 trials, but of those that were answered: 3 requests timed out"), "{}", open.reason);
    assert_eq!(at_most(1.0, fail).outcome, ClaimOutcome::Refuted);
}

#[test]
fn seconds_that_differ_more_than_trials_widen_the_interval() {
    let throughput = |counts: [u64; 4]| {
        let mut record = record(&[1.0; 6]);
        for measured in record.trials.iter_mut().flat_map(|t| &mut t.measurements) {
            let second = |correct| Second { correct, not_correct: 0, p50_ns: None, p99_ns: None, max_ns: None, max_at_ns: None };
            measured.seconds = counts.map(second).to_vec();
            measured.duration_ns = 4_000 * MS;
        }
        verdict(&judge::judge(&record), Metric::Throughput).clone()
    };
    let (even, uneven) = (throughput([250; 4]), throughput([100, 400, 100, 400]));
    assert_eq!((even.outcome, uneven.outcome), (Outcome::Equivalent, Outcome::Undecided));
    assert_eq!(uneven.interval, uneven.interval_bootstrap);
    assert!(uneven.interval_t.unwrap().high < uneven.interval.unwrap().high);
}
