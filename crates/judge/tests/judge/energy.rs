//! Energy per request: its value, where it is compared, and what invalidates it.

use crate::made_up::{MS, NOISE, histogram, measurement, name, record, trial};
use record::judgement::{Outcome, Verdict};
use record::{Fault, Record};
use spec::experiment::Load;
use spec::metric::Metric;

/// A record of six blocks. A request costs 3 mJ with `a` and 6 mJ with `b`, both with chance.
fn six_blocks() -> Record {
    let trials = (1..).zip(NOISE).flat_map(|(block, noise)| {
        [("a", 3_000.0), ("b", 6_000.0)].map(|(contender, uj)| {
            let mut measured = measurement(10, histogram((0..1_000).map(|i| 2 * MS + i)));
            measured.energy_uj = Some((uj * noise * 1e3) as u64);
            trial(contender, block, measured)
        })
    });
    record(&["a", "b"], Load::closed(1), trials.collect())
}

fn verdicts(record: &Record) -> Vec<Verdict> {
    let is_energy = |v: &Verdict| v.metric == Metric::EnergyPerRequest;
    judge::judge(record).verdicts.into_iter().filter(is_energy).collect()
}

#[test]
fn energy_per_request_is_compared_like_any_metric() {
    let [verdict] = &verdicts(&six_blocks())[..] else { panic!("one verdict") };
    assert_eq!(verdict.outcome, Outcome::Worse);
    assert!((verdict.ratio.unwrap() - 2.0).abs() < 1e-3, "{:?}", verdict.ratio);
    assert!((verdict.baseline_value.unwrap() - 3_000.0).abs() < 5.0, "{verdict:?}");
    assert_eq!(Metric::EnergyPerRequest.show(3_000.0), "3000 µJ");
}

#[test]
fn without_readings_of_both_there_is_no_verdict() {
    let mut unread = six_blocks();
    let of_b = |t: &&mut record::Trial| t.contender == name("b");
    unread.trials.iter_mut().filter(of_b).for_each(|t| t.measurements[0].energy_uj = None);
    assert!(verdicts(&unread).is_empty());
}

#[test]
fn energy_of_this_machine_is_unknown_for_one_elsewhere() {
    let mut elsewhere = six_blocks();
    elsewhere.trials.iter_mut().for_each(|t| t.measurements[0].usage.wall_ns = 0);
    let values: Vec<Option<f64>> = verdicts(&elsewhere).iter().map(|v| v.value).collect();
    assert_eq!(values, [None]);
}

#[test]
fn steal_invalidates_energy_and_a_lagging_generator_does_not() {
    for (kind, used) in [("steal", 0), ("generator-lag", 6)] {
        let mut faulty = six_blocks();
        let fault = Fault { kind: kind.into(), evidence: "e".into(), hint: "h".into() };
        faulty.trials.iter_mut().for_each(|t| t.measurements[0].faults.push(fault.clone()));
        assert_eq!(verdicts(&faulty)[0].used, used, "{kind}");
    }
}
