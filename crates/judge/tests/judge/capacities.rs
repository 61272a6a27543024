//! Capacities: blocks of searches with known edges.

use crate::made_up::{self, claim, histogram, measurement, name};
use record::capacity::{CapacitySearch, Ended, Lacked, Probe, Recovered, Recovery, Unfit};
use record::judgement::{ClaimOutcome, Judgement, Outcome, Verdict};
use record::{Counts, Record, Trial};
use spec::experiment::capacity::{Capacity, Quantity};
use spec::experiment::{Claim, CpuSets, Expectation, Load, Spacing};
use spec::metric::Metric;
use spec::threshold::ServiceLevel;
use std::time::Duration;

fn load() -> Load {
    Load::Capacity(Capacity {
        of: Quantity::Rate { spacing: Spacing::Even, in_flight_max: None },
        service_level: ServiceLevel::parse("p95<100ms").unwrap(),
        from: 10.0,
        at_most: 1e6,
        probe: Duration::from_secs(3),
        probes: 24,
    })
}

fn probe(level: f64, kept: bool) -> Probe {
    Probe {
        level,
        at_edge: true,
        kept: Some(kept),
        duration_ns: 1,
        // A search overloads on purpose, so failures do not bar from winning.
        counts: Counts { scheduled: 10, correct: 5, timed_out: 5, ..Counts::default() },
        rate_per_s: 1.0,
        generator_busy: 0.1,
        steal_share: Some(0.0),
        ..Probe::default()
    }
}

/// Makes a trial whose probes below the edge held, and those above did not.
fn trial(contender: &str, block: u32, edge: f64) -> Trial {
    let mut trial = made_up::trial(contender, block, measurement(1, histogram([1])));
    trial.measurements.clear();
    let probes =
        [0.5, 0.9, 0.99, 1.01, 1.1, 2.0].map(|share| probe(edge * share, share < 1.0)).to_vec();
    trial.capacities.push(CapacitySearch {
        cell: "c".into(),
        position: 1,
        probes,
        ended: Ended::Done,
        faults: vec![],
    });
    trial
}

/// Makes six blocks in which `b` carries a multiple of the load that `a` carries.
fn record(ratio: f64) -> Record {
    let noisy = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01];
    let trials = (1u32..)
        .zip(noisy)
        .flat_map(|(block, n)| [trial("a", block, 100.0), trial("b", block, 100.0 * ratio * n)])
        .collect();
    let mut record = made_up::record(&["a", "b"], load(), trials);
    record.header.experiment.claims =
        vec![Claim { metric: Metric::Capacity, ..claim(Expectation::Higher) }];
    record
}

fn verdicts(judgement: &Judgement) -> Vec<&Verdict> {
    judgement.verdicts.iter().filter(|v| v.cell.is_some()).collect()
}

#[test]
fn higher_capacity_is_better() {
    for (ratio, outcome, claimed) in [
        (1.5, Outcome::Better, ClaimOutcome::Confirmed),
        (0.6, Outcome::Worse, ClaimOutcome::Refuted),
        (1.005, Outcome::Equivalent, ClaimOutcome::Refuted),
    ] {
        let judgement = judge::judge(&record(ratio));
        let found = verdicts(&judgement);
        assert_eq!(
            found.iter().map(|v| v.metric).collect::<Vec<_>>(),
            [Metric::Capacity],
            "a search has no other metric"
        );
        assert_eq!(
            (found[0].outcome, judgement.claims[0].outcome),
            (outcome, claimed),
            "{:?}",
            found[0]
        );
        assert!((found[0].ratio.unwrap() / ratio - 1.0).abs() < 0.01, "{:?}", found[0]);
        assert!((found[0].baseline_value.unwrap() - 100.0).abs() < 0.1);
        assert!(
            judgement.faults.is_empty() && judgement.symptoms.is_empty() && !judgement.unsound,
            "{:?}",
            judgement.faults
        );
        let lines = &judgement.capacities[0].lines;
        assert_eq!((lines[1].used, lines[1].searched, lines[1].probes.len()), (6, 6, 36));
        let (value, interval) = (lines[1].value.unwrap(), lines[1].interval.unwrap());
        assert!(
            interval.low < value
                && value < interval.high
                && (value / (100.0 * ratio) - 1.0).abs() < 0.01
        );
        assert!(
            lines[1].curve.first().unwrap().1 == 1.0 && lines[1].curve.last().unwrap().1 == 0.0
        );
    }
}

#[test]
fn generator_at_its_limit_invalidates_the_capacity() {
    let mut record = record(1.5);
    for trial in record.trials.iter_mut().filter(|t| t.contender == name("b")) {
        let searched = &mut trial.capacities[0];
        searched.ended = Ended::Unfit(Unfit::Generator);
        searched.probes.iter_mut().for_each(|p| p.generator_busy = 0.97);
    }
    let judgement = judge::judge(&record);
    let found = verdicts(&judgement)[0];
    assert_eq!((found.outcome, found.used, found.invalidated), (Outcome::Undecided, 0, 6));
    assert!(
        judgement.unsound
            && judgement
                .faults
                .iter()
                .all(|f| f.kind == "generator-cpu" && f.place.ends_with(", cell c"))
    );
    assert_eq!(judgement.capacities[0].lines[1].left_out, 18);
}

#[test]
fn exhausted_descriptors_invalidate_the_capacity() {
    let mut record = record(1.5);
    record.trials[0].capacities[0].ended = Ended::Unfit(Unfit::Descriptors);
    let judgement = judge::judge(&record);
    let found: Vec<_> =
        judgement.faults.iter().map(|f| (f.kind.as_str(), f.place.as_str())).collect();
    assert_eq!(
        (found, verdicts(&judgement)[0].invalidated),
        (vec![("descriptors", "block 1, a, cell c")], 1)
    );
}

#[test]
fn exhausted_ports_invalidate_the_capacity() {
    let mut record = record(1.5);
    record.trials[0].capacities[0].ended = Ended::Unfit(Unfit::Ports);
    // With more ports two of the three levels might have held.
    record.trials[1].capacities[0].probes[4..]
        .iter_mut()
        .for_each(|p| p.generator_lacked = Some(Lacked::Ports));
    let judgement = judge::judge(&record);
    let mut found: Vec<_> =
        judgement.faults.iter().map(|f| (f.kind.as_str(), f.place.as_str())).collect();
    found.sort_unstable();
    assert_eq!(found, [("ports", "block 1, a, cell c"), ("ports", "block 1, b, cell c")]);
}

#[test]
fn upstream_at_its_limit_invalidates_the_capacity() {
    // Each for a second, each on its own CPU.
    let behind = |probe: &mut Probe, behind: u64, own: u64| {
        probe.duration_ns = 1_000_000_000;
        (probe.behind_cpu_ns, probe.contender_cpu_ns) =
            (Some(behind * 10_000_000), Some(own * 10_000_000));
    };
    let judged = |percents: [(u64, u64); 6]| {
        let mut record = record(1.5);
        record.header.cpus = CpuSets { contender: vec![0], generator: vec![1], upstream: vec![2] };
        record.trials[0].capacities[0]
            .probes
            .iter_mut()
            .zip(percents)
            .for_each(|(p, (there, own))| behind(p, there, own));
        judge::judge(&record).faults
    };
    let kept = [(99, 50); 3];
    let with = |broken: [(u64, u64); 3]| {
        judged([kept[0], kept[1], kept[2], broken[0], broken[1], broken[2]])
    };
    let faults = with([(99, 60), (98, 70), (50, 99)]);
    let evidence = "the upstream used 98 % or more of its CPUs in 2 of the 3 probes around the edge that broke the level, the contender at most 70 % of its own";
    assert_eq!(
        faults.iter().map(|f| (f.kind.as_str(), f.evidence.as_str())).collect::<Vec<_>>(),
        [("upstream-binds", evidence)]
    );
    assert_eq!(faults[0].place, "block 1, a, cell c");
    assert!(
        with([(99, 60), (50, 99), (50, 99)]).is_empty(),
        "the contender was the limit in most of them"
    );
    assert!(with([(99, 99), (99, 98), (99, 97)]).is_empty(), "both were at their limit");
}

#[test]
fn cpu_steal_invalidates_the_capacity() {
    let mut record = record(1.5);
    record.trials[0].capacities[0].probes.iter_mut().for_each(|p| p.steal_share = Some(0.3));
    let judgement = judge::judge(&record);
    assert_eq!(
        judgement.faults.iter().map(|f| (f.kind.as_str(), f.place.as_str())).collect::<Vec<_>>(),
        [("steal", "block 1, a, cell c")]
    );
    assert_eq!(verdicts(&judgement)[0].invalidated, 1);
}

#[test]
fn other_programs_invalidate_the_capacity() {
    let mut record = record(1.5);
    // Up to half of the probes may be unfit; with more the search is invalid.
    let probes = |record: &mut Record, n: usize| {
        record.trials[0].capacities[0]
            .probes
            .iter_mut()
            .take(n)
            .for_each(|p| p.others_share = Some(0.2));
    };
    probes(&mut record, 3);
    assert!(judge::judge(&record).faults.is_empty());
    probes(&mut record, 4);
    let judgement = judge::judge(&record);
    let fault = &judgement.faults[0];
    assert_eq!(
        (judgement.faults.len(), fault.kind.as_str(), fault.place.as_str()),
        (1, "other-cpu", "block 1, a, cell c")
    );
    assert!(fault.evidence.contains("66.7 %"), "{}", fault.evidence);
    assert_eq!(verdicts(&judgement)[0].invalidated, 1);
}

#[test]
fn crash_under_a_level_is_a_warning_only() {
    let mut record = record(1.5);
    for trial in &mut record.trials[..4] {
        let last = trial.capacities[0].probes.last_mut().unwrap();
        let failure = Some("it had ended with exit 3 before it was stopped".into());
        (last.ended, last.recovery) = (
            Some("exit 3".into()),
            Some(Recovery { after_ns: 1, how: Recovered::Restarted, failure }),
        );
    }
    let judgement = judge::judge(&record);
    assert!(judgement.faults.is_empty() && verdicts(&judgement)[0].outcome == Outcome::Better);
    let line = &judgement.capacities[0].lines[0];
    assert_eq!(line.restarts, 2);
    assert_eq!(
        line.warnings,
        ["after a level that was too high, it had ended with exit 3 before it was stopped"],
        "each once"
    );
}

#[test]
fn search_without_an_edge_has_no_value() {
    let mut record = record(1.5);
    for trial in &mut record.trials[..2] {
        trial.capacities[0].probes.retain(|p| p.kept == Some(true));
    }
    let judgement = judge::judge(&record);
    let found = verdicts(&judgement)[0];
    assert_eq!((found.used, found.invalidated), (5, 0));
    assert_eq!(
        (judgement.capacities[0].lines[0].used, judgement.capacities[0].lines[0].searched),
        (5, 6)
    );
}
