//! Crossed factors on made-up records with known effects.

use crate::made_up;
use record::judgement::{Effects, Judgement};
use record::{Fault, Record};
use spec::experiment::factorial::Factor;
use spec::metric::Metric;
use stats::Random;

fn factors(names: &[&str]) -> Vec<Factor> {
    names
        .iter()
        .map(|name| Factor { name: (*name).into(), off: vec![format!("no-{name}")], on: vec![] })
        .collect()
}

/// Makes every combination of the factors once a block. `cost_us` gives the CPU time of a request,
/// to which noise of 1 µs is added.
fn record(names: &[&str], blocks: u32, cost_us: impl Fn(&[bool]) -> f64) -> Record {
    let mut chance = Random::new(1, 1);
    // Later blocks are slower, which is no effect of a factor.
    made_up::crossed(&factors(names), blocks, |has, block| {
        cost_us(has) + 10.0 * f64::from(block) + chance.normal()
    })
}

fn cpu(judgement: &Judgement) -> &Effects {
    judgement.effects.iter().find(|e| e.metric == Metric::CpuPerRequest).unwrap()
}

const SEVEN: [&str; 7] =
    ["audit", "security", "validator", "exception", "traceability", "correlation", "metrics"];

#[test]
fn effects_and_one_pair_are_found_in_64_starts() {
    let judgement = judge::judge(&record(&SEVEN, 1, |has| {
        let on = |at: usize| f64::from(has[at]);
        200.0 + 20.0 * on(0) + 40.0 * on(1) + 3.0 * on(2) + 8.0 * on(0) * on(1)
    }));
    assert!(
        judgement.verdicts.is_empty() && !judgement.unsound,
        "combinations are judged together"
    );
    let found = cpu(&judgement);
    assert_eq!((found.used, found.excluded, found.reason.as_str()), (64, 0, ""));
    let names: Vec<String> = found.effects.iter().map(|e| e.factors.join("+")).collect();
    assert_eq!(names[..7], SEVEN);
    assert_eq!(names[7..], ["audit+security"], "and no other pair");
    // Half of the starts of one factor have the other one too, so half of the pair's 8 µs is in
    // each factor's effect.
    for (effect, truth) in found.effects.iter().zip([24.0, 44.0, 3.0, 0.0, 0.0, 0.0, 0.0, 4.0]) {
        let wide = effect.interval.high - effect.interval.low;
        assert!(
            (effect.value - truth).abs() < 1.0 && (0.5..2.0).contains(&wide),
            "{effect:?} is not {truth}"
        );
    }
    let p: Vec<f64> = found.effects.iter().map(|e| e.p_adjusted.unwrap()).collect();
    assert!(
        [0, 1, 2, 7].into_iter().all(|at| p[at] < 1e-4) && p[3..7].iter().all(|p| *p > 1e-3),
        "{p:?}"
    );
}

#[test]
fn intervals_contain_the_truth_as_often_as_stated() {
    let (mut inside, mut factors, mut pairs, runs) = (0, 0, 0, 60);
    for run in 0..runs {
        // Each run has its own noise.
        let mut record = record(&["audit", "security", "validator"], 3, |_| 200.0);
        let mut chance = Random::new(7, run);
        for t in &mut record.trials {
            t.measurements[0].usage.cpu_ns = ((200.0 + 5.0 * chance.normal()) * 4e6) as u64;
        }
        let judgement = judge::judge(&record);
        let effects = &cpu(&judgement).effects;
        inside += effects
            .iter()
            .take(3)
            .filter(|e| e.interval.low <= 0.0 && e.interval.high >= 0.0)
            .count();
        factors += usize::from(effects.iter().take(3).any(|e| e.p_adjusted.unwrap() <= 0.05));
        pairs += usize::from(effects.len() > 3);
    }
    let share = inside as f64 / (3 * runs) as f64;
    assert!((0.91..=0.99).contains(&share), "{share}");
    assert!(
        factors as f64 <= 0.1 * runs as f64,
        "in {factors} of {runs} runs a factor without effect is significant"
    );
    assert!(pairs as f64 <= 0.1 * runs as f64, "{pairs} of {runs} runs show a pair without effect");
}

#[test]
fn invalid_starts_are_excluded_and_too_few_give_no_effect() {
    let disturb = |n: usize| {
        let mut record = record(&SEVEN, 1, |has| 200.0 + 20.0 * f64::from(has[0]));
        for t in record.trials.iter_mut().step_by(3).take(n) {
            t.measurements[0].usage.cpu_ns *= 2;
            t.measurements[0].faults.push(Fault {
                kind: "steal".into(),
                evidence: "e".into(),
                hint: "h".into(),
            });
        }
        judge::judge(&record)
    };
    let some = disturb(5);
    assert_eq!((cpu(&some).used, cpu(&some).excluded), (59, 5));
    assert!((cpu(&some).effects[0].value - 20.0).abs() < 1.0);
    let many = disturb(20);
    assert_eq!(cpu(&many).reason, "only 44 of 64 starts could be used");
    assert!(cpu(&many).effects.is_empty());
}

#[test]
fn missing_combinations_leave_no_pairs() {
    let mut record = record(&["audit", "security"], 6, |has| {
        200.0 + 20.0 * f64::from(has[0]) + 50.0 * f64::from(has[1])
    });
    record.trials.retain(|t| t.contender.variants.len() < 2);
    let judgement = judge::judge(&record);
    let found = &cpu(&judgement).effects;
    assert_eq!(
        found.iter().map(|e| e.factors.join("+")).collect::<Vec<_>>(),
        ["audit", "security"]
    );
    assert!(
        (found[0].value - 20.0).abs() < 2.0 && (found[1].value - 50.0).abs() < 2.0,
        "{found:?}"
    );
}

#[test]
fn largest_effect_comes_first() {
    let judgement = judge::judge(&made_up::work_and_lines());
    let found = cpu(&judgement);
    assert_eq!((found.used, found.reason.as_str()), (12, ""));
    assert_eq!(
        found.effects.iter().take(2).map(|e| e.factors.join("+")).collect::<Vec<_>>(),
        ["work", "lines"]
    );
    assert!(
        (found.effects[0].value - 300.0).abs() < 5.0 && (found.effects[1].value - 10.0).abs() < 5.0,
        "{found:#?}"
    );
}
