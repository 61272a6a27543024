//! Measurements that move to another level half way, by the contender's doing or the machine's.

use crate::made_up::{SECOND, name};
use crate::readings::{open, record};
use record::Measurement;
use record::judgement::FaultAt;
use spec::experiment::Load;
use spec::experiment::factorial::Factor;

/// Sets the correct responses of each tenth of a second, with one more in every second tenth:
/// `first` of them, and `second` from half way on.
fn half_way(first: u32, second: u32) -> impl Fn(&mut Measurement) {
    move |m| {
        m.generator.correct_per_tenth =
            (0..100u32).map(|t| if t < 50 { first } else { second } + t % 2).collect()
    }
}

type Change<'c> = &'c dyn Fn(&mut Measurement);

fn times(count: usize, change: Change<'_>) -> Vec<Change<'_>> {
    vec![change; count]
}

/// Lists the faults after changes of one contender's measurements, block by block.
fn after_each(load: Load, changes: &[Change<'_>]) -> Vec<FaultAt> {
    let mut record = record(&["a", "b"], load);
    let of_a = record.trials.iter_mut().filter(|t| t.contender == name("a"));
    for (trial, change) in of_a.zip(changes) {
        change(&mut trial.measurements[0]);
    }
    let faults = judge::judge(&record).faults;
    assert!(
        faults.iter().all(|f| f.kind == "not-stationary" && f.place.contains(", a, cell c")),
        "{faults:#?}"
    );
    faults
}

#[test]
fn change_half_way_in_all_starts_is_not_stationary() {
    let (drop, rise) = (half_way(10, 8), half_way(8, 10));
    let found = after_each(Load::closed(4), &times(6, &drop));
    assert_eq!(found.len(), 6, "{found:#?}");
    let expected = "correct responses per second went from 105 in the first half to 85.0 in the second (-19 %); over 6 measurements by -19 % on average";
    assert!(
        found.iter().all(|f| f.evidence.contains(expected) && !f.hint.is_empty()),
        "{found:#?}"
    );
    // 10 % is within the threshold.
    assert!(after_each(Load::closed(4), &times(6, &half_way(100, 91))).is_empty());
    // A change once, or in different directions, is the machine's.
    assert!(after_each(Load::closed(4), &[&drop]).is_empty());
    assert!(after_each(Load::closed(4), &[&drop, &rise, &drop, &rise]).is_empty());
    // If the contender changes, a measurement that changed the other way stays valid.
    let (halved, risen) = (half_way(10, 5), half_way(100, 120));
    let most = after_each(Load::closed(4), &[&halved, &halved, &halved, &halved, &halved, &risen]);
    assert_eq!(most.len(), 5, "{most:#?}");
    // Twice as many requests cost twice as much.
    let busier = |m: &mut Measurement| {
        m.generator.correct_per_tenth = (0..100).map(|t| if t < 50 { 10 } else { 20 }).collect();
        m.usage.cpu_ns_at =
            m.usage.t_ns.iter().map(|t| t / 10 + t.saturating_sub(5 * SECOND) / 10).collect();
        m.usage.cpu_ns = 2 * SECOND;
    };
    assert!(after_each(open(), &times(6, &busier)).is_empty());
    // A few tenths of a second are too few.
    let short = |m: &mut Measurement| {
        m.generator.correct_per_tenth = (0..20).map(|t| if t < 10 { 10 } else { 1 }).collect()
    };
    assert!(after_each(Load::closed(4), &times(6, &short)).is_empty());
    // A change of throughput in a single measurement counts as the contender's.
    let mut record = record(&["a", "b"], Load::closed(4));
    record.trials.truncate(2);
    drop(&mut record.trials[0].measurements[0]);
    let found = judge::judge(&record).faults;
    assert!(
        matches!(&found[..], [one] if one.kind == "not-stationary" && one.evidence.ends_with("in the second (-19 %)")),
        "{found:#?}"
    );
}

#[test]
fn cpu_change_in_most_starts_is_the_contenders() {
    // At a constant rate it doubles in the last third, or halves.
    let of = |change: fn(u64) -> u64| {
        move |m: &mut Measurement| {
            m.usage.cpu_ns_at = m.usage.t_ns.iter().map(|t| change(*t)).collect()
        }
    };
    let rising = of(|t| t / 10 + t.saturating_sub(7 * SECOND) / 10);
    let falling = of(|t| t / 10 - t.saturating_sub(5 * SECOND) / 20);
    assert!(after_each(open(), &[&rising]).is_empty());
    assert!(after_each(open(), &[&rising, &rising]).is_empty(), "two of six");
    assert!(after_each(open(), &[&rising, &rising, &falling, &falling]).is_empty(), "both ways");
    assert!(
        after_each(open(), &[&rising, &rising, &rising, &falling]).is_empty(),
        "half of six, and one the other way"
    );
    let found = after_each(open(), &times(4, &rising));
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(
        found
            .iter()
            .all(|f| f.evidence.contains("CPU time per request went from")
                && f.evidence.contains("(+")),
        "{found:#?}"
    );
    assert_eq!(after_each(open(), &times(6, &falling)).len(), 6);
}

#[test]
fn combinations_of_factors_are_pooled() {
    let drop = half_way(10, 8);
    let found = |dropped: usize| {
        let mut record = record(&["a", "a:audit"], Load::closed(4));
        record.header.experiment.factors =
            vec![Factor { name: "audit".into(), off: vec![], on: vec!["audit".into()] }];
        record.trials.truncate(2);
        record.trials.iter_mut().take(dropped).for_each(|trial| drop(&mut trial.measurements[0]));
        judge::judge(&record).faults.iter().filter(|f| f.kind == "not-stationary").count()
    };
    assert_eq!((found(1), found(2)), (0, 2), "one start of two shows nothing");
}
