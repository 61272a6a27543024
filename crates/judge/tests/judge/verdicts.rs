//! The rule on records with known answers: outcomes, intervals, looks and blocks.

use crate::fault_kinds::fault;
use crate::made_up::{MS, histogram, name};
use crate::ratios::{cpu, record, spread, trial, verdict};
use record::judgement::{ClaimOutcome, Outcome};
use record::{Event, Record, Second, Session};
use spec::metric::Metric;

#[test]
fn cpu_ratio_decides_worse_better_or_equivalent() {
    let outcomes = [2.0, 0.5, 1.01].map(|ratio| {
        let noisy: Vec<f64> =
            [0.99, 1.0, 1.01, 1.0, 0.99, 1.01].iter().map(|n| n * ratio).collect();
        cpu(&record(&noisy))
    });
    assert_eq!(
        outcomes.clone().map(|v| v.outcome),
        [Outcome::Worse, Outcome::Better, Outcome::Equivalent]
    );
    for (verdict, truth) in outcomes.iter().zip([2.0, 0.5, 1.01]) {
        assert!((verdict.ratio.unwrap() - truth).abs() < 0.01 * truth, "{verdict:?}");
        let interval = verdict.interval.unwrap();
        assert!(interval.low < truth && truth < interval.high, "{verdict:?}");
        assert_eq!((verdict.used, verdict.excluded), (6, 0));
    }
}

/// Worked by hand: ln-ratios 0.1, 0.2, 0.3, 0.4, 0.5, 0.6 have mean 0.35 and s = 0.18708. With t(5;
/// 0.975) = 2.5706 the half-width is 0.19633. So the interval is exp(0.15367) to exp(0.54633).
#[test]
fn interval_is_the_one_worked_by_hand() {
    let ratios: Vec<f64> = (1..=6).map(|i| (f64::from(i) / 10.0).exp()).collect();
    let verdict = cpu(&record(&ratios));
    let interval = verdict.interval.unwrap();
    assert!((verdict.ratio.unwrap() - 0.35f64.exp()).abs() < 1e-4, "{verdict:?}");
    assert!(
        (interval.low - 0.15367f64.exp()).abs() < 1e-4
            && (interval.high - 0.54633f64.exp()).abs() < 1e-4,
        "{verdict:?}"
    );
    assert_eq!(verdict.outcome, Outcome::Worse);
}

#[test]
fn wide_interval_is_undecided_with_blocks_needed() {
    let verdict = cpu(&record(&[0.7, 1.3, 0.8, 1.35, 0.75, 1.4]));
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(
        verdict.reason.contains("both sides") && verdict.reason.contains("blocks would settle it"),
        "{}",
        verdict.reason
    );
}

#[test]
fn difference_close_to_the_margin_is_undecided() {
    let verdict = cpu(&record(&[1.04, 1.05, 1.06, 1.05, 1.04, 1.06]));
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(
        verdict.reason.starts_with("higher, but perhaps by less than 5 %"),
        "{}",
        verdict.reason
    );
}

#[test]
fn five_blocks_decide_nothing() {
    let judgement = judge::judge(&record(&[3.0; 5]));
    let ratio_metrics = judgement.verdicts.iter().filter(|v| v.metric != Metric::FailedShare);
    for verdict in ratio_metrics {
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("only 5 blocks have a value"), "{}", verdict.reason);
    }
}

#[test]
fn equal_values_are_equivalent() {
    let judgement = judge::judge(&record(&[2.0; 6]));
    for metric in
        [Metric::Throughput, Metric::Memory, Metric::Threads, Metric::StartUp, Metric::FailedShare]
    {
        assert_eq!(verdict(&judgement, metric).outcome, Outcome::Equivalent, "{metric:?}");
    }
}

#[test]
fn quantile_needs_enough_samples() {
    let mut record = record(&[2.0; 6]);
    for trial in &mut record.trials {
        trial.measurements[0].latency = Some(histogram((0..500).map(|i| MS + i)));
    }
    let judgement = judge::judge(&record);
    let p99 = verdict(&judgement, Metric::LatencyP99);
    assert_eq!(p99.value, None);
    assert_eq!(
        p99.reason,
        "a verdict needs 563 responses in each block, and no block had more than 500"
    );
    assert!(verdict(&judgement, Metric::LatencyP95).value.is_some());
}

#[test]
fn spare_block_is_missing_only_once_begun() {
    let mut record = record(&[1.0; 8]);
    record.header.experiment.design.blocks = 6;
    record.trials.retain(|t| t.block <= 6);
    assert!(record.missing().is_empty(), "the planned blocks are there");
    assert_eq!(
        record.missing_or_spare().iter().map(|m| (m.0, m.1)).collect::<Vec<_>>(),
        [(7, 1), (7, 2)]
    );
    record.trials.push(trial("a", 7, 1.0));
    assert_eq!(
        record.missing(),
        [(7, 2, name("b"))],
        "a block that was begun is finished, also after a resume"
    );
}

#[test]
fn early_look_is_stricter() {
    let mut record = record(&spread(0.15, 0.06));
    record.header.experiment.claims.truncate(1);
    assert_eq!(cpu(&record).outcome, Outcome::Worse);
    let design = &mut record.header.experiment.design;
    (design.blocks, design.looks) = (12, vec![6, 9, 12]);
    let judgement = judge::judge(&record);
    let verdict = verdict(&judgement, Metric::CpuPerRequest);
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!((verdict.confidence - 0.99750).abs() < 1e-5, "{verdict:?}");
    assert_eq!(
        judgement.looks.iter().map(|l| (l.blocks, l.taken)).collect::<Vec<_>>(),
        [(6, true), (9, false), (12, false)]
    );
    assert_eq!(judgement.claims[0].outcome, ClaimOutcome::Undecided);
}

#[test]
fn settled_record_misses_only_begun_blocks() {
    let mut record = record(&[2.0; 6]);
    record.header.experiment.design.blocks = 12;
    record.header.plan = vec![vec![name("a"), name("b")]; 14];
    assert_eq!((record.missing().len(), record.complete_blocks()), (12, 6));
    assert!(judge::judge(&record).incomplete);
    record.sessions.push(Session { event: Event::Settled, at: String::new() });
    assert!(
        record.missing().is_empty()
            && record.missing_or_spare().is_empty()
            && !judge::judge(&record).incomplete
    );
    record.trials.pop();
    assert_eq!((record.missing().len(), record.complete_blocks()), (1, 5));
    assert!(judge::judge(&record).incomplete);
}

#[test]
fn run_without_a_plan_is_complete_when_its_time_is_spent() {
    let mut record = record(&[2.0; 6]);
    let design = &mut record.header.experiment.design;
    (design.blocks, design.look_always) = (1000, true);
    record.header.plan = vec![vec![name("a"), name("b")]; 1000];
    record.sessions.push(Session { event: Event::BudgetSpent, at: String::new() });
    assert!(!judge::judge(&record).incomplete);
    record.header.experiment.design.look_always = false;
    assert!(judge::judge(&record).incomplete);
}

#[test]
fn block_spoiled_by_a_fault_is_not_settled() {
    let mut record = record(&[2.0; 7]);
    let spoil = |record: &mut Record, blocks: usize| {
        for trial in record.trials.iter_mut().filter(|t| t.block as usize <= blocks) {
            trial.measurements[0].faults = vec![fault("shared-cpu")];
        }
    };
    let mut six = record.clone();
    six.trials.retain(|t| t.block <= 6);
    assert!(judge::is_settled(&six));
    spoil(&mut six, 1);
    assert!(!judge::is_settled(&six));
    // A seventh block replaces it.
    spoil(&mut record, 1);
    assert!(judge::is_settled(&record));
}

#[test]
fn run_whose_every_block_is_spoiled_is_given_up() {
    let spoiled = |blocks: usize| {
        let mut record = record(&vec![2.0; blocks]);
        for trial in &mut record.trials {
            trial.measurements[0].faults = vec![fault("shared-cpu")];
        }
        record
    };
    assert!(!judge::is_settled(&spoiled(11)));
    assert!(judge::is_settled(&spoiled(12)));
}

#[test]
fn seconds_that_vary_more_widen_the_interval() {
    let throughput = |counts: [u64; 4]| {
        let mut record = record(&[1.0; 6]);
        for measured in record.trials.iter_mut().flat_map(|t| &mut t.measurements) {
            let second = |correct| Second {
                correct,
                not_correct: 0,
                p50_ns: None,
                p99_ns: None,
                max_ns: None,
                max_at_ns: None,
            };
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
