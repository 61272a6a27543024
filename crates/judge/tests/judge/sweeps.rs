//! Curves of sweeps and their crossings, on made-up records with known answers.

use crate::made_up::{self, NOISE, name};
use proptest::prelude::*;
use record::judgement::{Crossing, Judgement, Outcome, SweepCurves};
use record::{Fault, Record};
use spec::experiment::Load;
use spec::metric::Metric;

fn cell_name(level: f64) -> String {
    format!("c-connections-{level}")
}

/// Makes a sweep of connections. `cpu` gives the CPU time of a contender at a level in a block.
fn record(names: &[&str], levels: &[f64], cpu: impl Fn(&str, f64, f64) -> f64) -> Record {
    let mut record =
        made_up::sweep(names, "connections", levels, |measured, contender, level, noise| {
            measured.usage.cpu_ns = (cpu(contender, level, noise) * 1e9) as u64;
        });
    for (cell, level) in record.header.experiment.cells.iter_mut().zip(levels) {
        cell.load = Load::closed(*level as u32);
    }
    record
}

fn cpu(judgement: &Judgement) -> &SweepCurves {
    judgement.sweeps.iter().find(|s| s.metric == Metric::CpuPerRequest).unwrap()
}

fn crossings(judgement: &Judgement) -> Vec<(String, String, (f64, f64))> {
    cpu(judgement)
        .crossings
        .iter()
        .map(|c| (c.below.to_string(), c.above.to_string(), c.between))
        .collect()
}

/// `b` needs a quarter of `a`'s CPU time at 1 connection and four times as much at 16, so they are
/// equal at 4.
fn steeper(contender: &str, level: f64, noise: f64) -> f64 {
    if contender == "b" { level / 4.0 * noise } else { 1.0 }
}

#[test]
fn each_level_has_a_value_with_an_interval() {
    let judgement = judge::judge(&record(&["a", "b"], &[16.0, 1.0], steeper));
    let curves = cpu(&judgement);
    assert_eq!(
        (curves.of.as_str(), curves.parameter.as_str(), curves.confidence),
        ("c", "connections", 0.95)
    );
    assert_eq!(
        curves.lines.iter().map(|l| l.contender.to_string()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    let points = &curves.lines[1].points;
    assert_eq!(
        points.iter().map(|p| (p.level, p.used, p.cell.clone())).collect::<Vec<_>>(),
        [(1.0, 6, cell_name(1.0)), (16.0, 6, cell_name(16.0))]
    );
    // 1 s of CPU time for 1,000 responses is 1,000 µs each.
    for (point, truth) in points.iter().zip([250.0, 4_000.0]) {
        let logs: Vec<f64> = NOISE.iter().map(|n| (truth * n).ln()).collect();
        let (center, interval) = stats::mean_interval(&logs, 0.95).unwrap();
        let found = point.interval.unwrap();
        for (found, expected) in [
            (point.value, center.exp()),
            (found.low, interval.low.exp()),
            (found.high, interval.high.exp()),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-6, "{point:?} {expected}");
        }
    }
    assert!(
        !judgement
            .sweeps
            .iter()
            .any(|s| s.metric == Metric::FailedShare || s.metric == Metric::StartUp),
        "no request failed, and a start has no level"
    );
    let again = serde_json::to_string(&judgement).unwrap();
    assert_eq!(serde_json::from_str::<Judgement>(&again).unwrap().sweeps, judgement.sweeps);
}

#[test]
fn crossing_is_reported_with_its_level() {
    let judgement = judge::judge(&record(&["a", "b"], &[1.0, 4.0, 16.0], steeper));
    let [Crossing { below, above, level, about, between, sentence }] =
        &cpu(&judgement).crossings[..]
    else {
        panic!("{:?}", cpu(&judgement).crossings)
    };
    assert_eq!((below, above, *about, *between), (&name("b"), &name("a"), 4.0, (1.0, 16.0)));
    assert!((level - 4.0).abs() < 0.05, "{level}");
    assert_eq!(
        sentence,
        "By CPU per request, b is better up to about 4 connections, a above (judged at 1 and 16)."
    );
    assert!(
        judgement
            .sweeps
            .iter()
            .filter(|s| s.metric != Metric::CpuPerRequest)
            .all(|s| s.crossings.is_empty())
    );
}

/// The lines cross between 300 and 1,000, by latency.
#[test]
fn latencies_cross_where_they_are_equal() {
    let judgement = judge::judge(&made_up::crossing());
    assert!(judgement.faults.is_empty(), "{:?}", judgement.faults);
    let curves = judgement.sweeps.iter().find(|s| s.metric == Metric::LatencyMean).unwrap();
    let [crossing] = &curves.crossings[..] else { panic!("{curves:?}") };
    assert_eq!(
        (&crossing.below, &crossing.above, crossing.between),
        (&name("working"), &name("waiting"), (300.0, 1_000.0))
    );
    assert!((350.0..600.0).contains(&crossing.level), "{crossing:?}");
    assert!(
        crossing.sentence.starts_with("By mean latency, working is better up to about cpu "),
        "{crossing:?}"
    );
}

/// `b` needs 40 % more CPU time in the second repetition, and `a` needs the same.
#[test]
fn last_repetition_is_compared_with_the_first() {
    let cpu_time = |contender: &str, repetition: f64, noise: f64| {
        if contender == "b" && repetition == 2.0 { 1.4 * noise } else { 1.0 }
    };
    let mut record = record(&["a", "b"], &[1.0, 2.0], cpu_time);
    for cell in &mut record.header.experiment.cells {
        cell.sweep
            .iter_mut()
            .flat_map(|sweep| &mut sweep.levels)
            .for_each(|level| level.parameter = "repetition".into());
    }
    let judgement = judge::judge(&record);
    let [of_a, of_b] = &cpu(&judgement).repetitions[..] else {
        panic!("{:?}", cpu(&judgement).repetitions)
    };
    assert_eq!((&of_a.contender, of_a.outcome, of_a.used), (&name("a"), Outcome::Equivalent, 6));
    assert_eq!((&of_b.contender, of_b.outcome, of_b.last), (&name("b"), Outcome::Worse, 2.0));
    assert!(
        (of_b.ratio.unwrap() / 1.4 - 1.0).abs() < 1e-3
            && of_b.interval.is_some_and(|i| i.low > 1.37 && i.high < 1.43),
        "{of_b:?}"
    );
    assert_eq!(
        of_a.sentence,
        "a, c: CPU per request in repetition 2 is 1.00 times that in repetition 1 (95 % interval 1.00 to 1.00): no difference that matters."
    );
    let sentence = &of_b.sentence;
    assert!(
        sentence.starts_with(
            "b, c: CPU per request in repetition 2 is 1.40 times that in repetition 1 (95 % interval 1.3"
        ) && sentence.ends_with("): worse."),
        "{sentence}"
    );
    // Five blocks decide nothing, and only repetitions compare a contender with itself.
    record.trials.retain(|t| t.block < 6);
    let short = judge::judge(&record);
    assert!(
        cpu(&short).repetitions[1].sentence.ends_with(
            "): undecided: only 5 blocks have a value for this metric; a verdict needs 6."
        ),
        "{:?}",
        cpu(&short).repetitions[1]
    );
    let other = judge::judge(&self::record(&["a", "b"], &[1.0, 2.0], cpu_time));
    assert!(other.sweeps.iter().all(|sweep| sweep.repetitions.is_empty()));
}

#[test]
fn undecided_sides_make_no_crossing() {
    let nearly = |contender: &str, level: f64, noise: f64| {
        if contender == "b" { 0.97 + level / 400.0 * noise } else { 1.0 }
    };
    assert_eq!(crossings(&judge::judge(&record(&["a", "b"], &[1.0, 16.0], nearly))), []);
    // The same lines, but with five blocks.
    let mut short = record(&["a", "b"], &[1.0, 16.0], steeper);
    short.trials.retain(|t| t.block < 6);
    assert_eq!(crossings(&judge::judge(&short)), []);
    // With a fault of the generator there is no verdict.
    let mut faulty = record(&["a", "b"], &[1.0, 16.0], steeper);
    for trial in faulty.trials.iter_mut().filter(|t| t.block < 4) {
        trial.measurements[1].faults.push(Fault {
            kind: "generator".into(),
            evidence: "e".into(),
            hint: "h".into(),
        });
    }
    let judgement = judge::judge(&faulty);
    assert_eq!(crossings(&judgement), []);
    assert!(
        cpu(&judgement).lines.iter().all(|l| l.points.iter().map(|p| p.used).eq([6, 3])),
        "{:?}",
        cpu(&judgement).lines
    );
}

#[test]
fn contenders_are_compared_with_each_other_but_no_twin() {
    let need = |contender: &str, level: f64, noise: f64| match contender {
        "b" => level / 4.0 * noise,
        "c" => 4.0 / level * (2.0 - noise),
        _ => 100.0 * noise,
    };
    let judgement = judge::judge(&record(&["a", "b", "c", "a:aa"], &[1.0, 16.0], need));
    assert_eq!(crossings(&judgement), [("b".into(), "c".into(), (1.0, 16.0))]);
    assert!((cpu(&judgement).crossings[0].level - 4.0).abs() < 0.1);
    assert_eq!(cpu(&judgement).lines.len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn crossing_is_where_the_lines_meet(at in 1.3f64..50.0, power in 0.5f64..2.0) {
        let need = |contender: &str, level: f64, noise: f64| if contender == "b" { (level / at).powf(power) * noise } else { 1.0 };
        let judgement = judge::judge(&record(&["a", "b"], &[1.0, 8.0, 64.0], need));
        let [crossing] = &cpu(&judgement).crossings[..] else { panic!("{:?}", cpu(&judgement).crossings) };
        // The geometric mean of the noise is not exactly 1.
        prop_assert!((crossing.level / at).ln().abs() < 0.01, "{crossing:?}");
        prop_assert!(crossing.between.0 <= at && at <= crossing.between.1);
        prop_assert_eq!((&crossing.below, &crossing.above), (&name("b"), &name("a")));
    }
}
