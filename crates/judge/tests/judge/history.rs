//! A metric over several records, on made-up verdicts with known changes.

use crate::made_up::name;
use judge::history::{MOST_RECORDS, histories};
use record::Machine;
use record::history::{Chapter, History};
use record::judgement::Verdict;
use spec::metric::Metric;

fn verdict(metric: Metric, value: f64, baseline_value: f64) -> Verdict {
    let by_difference = metric.describe().by_difference;
    Verdict {
        cell: Some("c".into()),
        ratio: (!by_difference).then(|| value / baseline_value),
        confidence: 0.95,
        difference: by_difference.then_some(value - baseline_value),
        value: Some(value),
        baseline_value: Some(baseline_value),
        margin: 0.05,
        used: 6,
        ..Verdict::open(name("b"), name("a"), metric)
    }
}

/// Makes a history of records on successive days, given newest first, as a folder may list them.
fn history(days: &[Vec<Verdict>], machine: impl Fn(usize) -> Machine) -> Vec<History> {
    let ids: Vec<(String, String)> = (0..days.len())
        .map(|day| {
            (
                format!("r{day:03}"),
                format!("2026-{:02}-{:02}T00:00:00Z", 1 + day / 28, 1 + day % 28),
            )
        })
        .collect();
    let machines: Vec<Machine> = (0..days.len()).map(machine).collect();
    let chapters = days.iter().zip(&ids).zip(&machines).map(|((verdicts, (id, at)), machine)| {
        Chapter { record: id, recorded_at: at, machine, verdicts }
    });
    histories(&chapters.rev().collect::<Vec<_>>())
}

/// Returns up to two percent of noise, the same each time.
fn noise(day: usize) -> f64 {
    1.0 + 0.02 * (((day * 2_654_435_761) >> 9) % 13) as f64 / 13.0
}

#[test]
fn contenders_change_is_distinguished_from_the_machines() {
    // From day 12 on the machine is slower by half; from day 24 on the contender alone by a fifth.
    let day = |day: usize| {
        let slow = if day < 12 { 1.0 } else { 1.5 };
        let (a, b) = (
            100.0 * slow * noise(day),
            80.0 * slow * noise(day + 5) * if day < 24 { 1.0 } else { 1.2 },
        );
        vec![
            verdict(Metric::CpuPerRequest, b, a),
            verdict(Metric::Memory, 50.0 * noise(day), 40.0 * noise(day + 1)),
        ]
    };
    let all = history(&(0..36).map(day).collect::<Vec<_>>(), |_| Machine::default());
    assert_eq!(all.len(), 2);
    let at =
        |turns: &[record::history::ChangePoint]| turns.iter().map(|t| t.at).collect::<Vec<_>>();
    let cpu = &all[0];
    assert_eq!(
        (at(&cpu.compared), at(&cpu.baseline_values), at(&cpu.values)),
        (vec![24], vec![12], vec![12, 24])
    );
    let turn = cpu.compared[0];
    assert!(
        (turn.before / 0.8 - 1.0).abs() < 0.02
            && (turn.after / 0.96 - 1.0).abs() < 0.02
            && turn.p <= 0.01,
        "{turn:?}"
    );
    assert_eq!(cpu.points[24].record, "r024");
    let memory = &all[1];
    assert!(
        memory.compared.is_empty() && memory.values.is_empty() && memory.baseline_values.is_empty(),
        "{memory:?}"
    );
}

#[test]
fn differences_are_compared_and_missing_values_skipped() {
    let day = |day: usize| {
        let failed =
            verdict(Metric::FailedShare, if day < 10 { 0.0 } else { 8.0 + noise(day) }, 0.0);
        let mut median = verdict(Metric::LatencyP50, noise(day), 1.0);
        // On two days it has no value.
        if day == 4 || day == 5 {
            (median.ratio, median.value) = (None, None);
        }
        vec![failed, median]
    };
    let all = history(&(0..20).map(day).collect::<Vec<_>>(), |day| Machine {
        cores: if day < 15 { 2 } else { 4 },
        ..Machine::default()
    });
    assert_eq!(all[0].compared.iter().map(|t| (t.at, t.before)).collect::<Vec<_>>(), [(10, 0.0)]);
    assert_eq!(all[1].points.len(), 18);
    let elsewhere: Vec<&str> =
        all[1].points.iter().filter(|p| p.is_elsewhere).map(|p| p.record.as_str()).collect();
    assert_eq!(elsewhere, ["r015"]);
}

#[test]
fn change_within_the_margin_is_dropped() {
    // By 4 % on the 15th day, by 4 % more on the 30th: more than the margin together, each less.
    let level = |day: usize| {
        if day < 15 {
            1.0
        } else if day < 30 {
            1.04
        } else {
            1.0816
        }
    };
    let all = |last: usize| {
        history(
            &(0..last)
                .map(|day| vec![verdict(Metric::Memory, level(day), 1.0)])
                .collect::<Vec<_>>(),
            |_| Machine::default(),
        )
    };
    assert!(all(30)[0].compared.is_empty(), "{:?}", all(30)[0].compared);
    let turns = all(45)[0].compared.clone();
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert!(turns[0].after / turns[0].before > 1.05, "{turns:?}");
}

#[test]
fn few_records_show_no_change_and_old_ones_are_dropped() {
    let day = |day: usize| vec![verdict(Metric::Throughput, if day < 4 { 1.0 } else { 9.0 }, 1.0)];
    assert!(histories(&[]).is_empty());
    let few = history(&(0..8).map(day).collect::<Vec<_>>(), |_| Machine::default());
    assert!(few[0].compared.is_empty(), "eight records are too few");
    let many =
        history(&(0..MOST_RECORDS + 60).map(day).collect::<Vec<_>>(), |_| Machine::default());
    assert_eq!((many[0].points.len(), many[0].points[0].record.as_str()), (MOST_RECORDS, "r060"));
    assert!(many[0].compared.is_empty());
}
