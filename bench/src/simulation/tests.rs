//! A small form of the simulation, with the bounds of `bench simulate` and an allowance for chance.

use super::*;
use world::{MEASURED_S, value};

const EXPERIMENTS: u32 = 300;

fn plan(ratio: f64, margin: f64, looks: &'static [u32]) -> Plan {
    Plan {
        world: World { spread: 0.03, parts: USUAL },
        ratio,
        margin,
        blocks: BLOCKS,
        looks,
        resamples: 100,
    }
}

/// Returns four standard deviations of a share.
fn chance(share: f64) -> f64 {
    4.0 * (share * (1.0 - share) / f64::from(EXPERIMENTS)).sqrt()
}

/// At equality and at either edge of the margin, with one look and with three.
#[test]
fn false_verdicts_are_rare_and_intervals_contain_the_truth() {
    for (ratio, margin) in [(1.0, 0.0), (1.05, 0.05), (1.0 / 1.05, 0.05)] {
        for looks in LOOKS {
            let plan = plan(ratio, margin, looks);
            let tally = plan.many(EXPERIMENTS, 7);
            let (false_verdicts, covered) =
                (plan.false_verdicts(&tally), tally.share(tally.covered));
            assert!(false_verdicts <= 0.05 + chance(0.05), "{plan:?} {tally:?}");
            assert!(covered >= 0.94 - chance(0.94), "{plan:?} {tally:?}");
            assert!(tally.share(tally.equivalent) <= 0.05 + chance(0.05), "{plan:?} {tally:?}");
            if looks.is_empty() {
                assert!(
                    (tally.share(tally.t_covered) - 0.95).abs() <= 0.01 + chance(0.95),
                    "{plan:?} {tally:?}"
                );
            }
        }
    }
}

/// A judge that never decides would meet every other bound.
#[test]
fn difference_of_ten_percent_is_found_early() {
    let all = plan(1.1, 0.05, LOOKS[0]).many(EXPERIMENTS, 8);
    assert!(all.share(all.above) >= 0.8 && all.below == 0, "{all:?}");
    let early = plan(1.1, 0.0, LOOKS[1]).many(EXPERIMENTS, 8);
    assert!(early.share(early.above) >= 0.8 && early.share(early.blocks) < 9.0, "{early:?}");
    let equal = plan(1.0, 0.05, LOOKS[0]).many(EXPERIMENTS, 8);
    assert!(equal.share(equal.equivalent) >= 0.8, "{equal:?}");
}

/// With a look after every block, quiet and next to bursts: it errs no more often, covers the
/// truth, and finds large differences.
#[test]
fn look_after_every_block_errs_no_more_often() {
    const FEW: u32 = 1_000;
    let chance = |share: f64| 4.0 * (share * (1.0 - share) / f64::from(FEW)).sqrt();
    for bursts in [false, true] {
        let plan = |ratio, margin| bursts::Plan {
            ratio,
            margin,
            blocks: 18,
            bursts,
            always: true,
            resamples: 0,
        };
        let equal = plan(1.0, 0.0);
        let tally = equal.many(FEW, 10);
        assert!(equal.false_verdicts(&tally) <= 0.05 + chance(0.05), "{equal:?} {tally:?}");
        assert!(
            f64::from(tally.covered) / f64::from(FEW) >= 0.95 - chance(0.95),
            "{equal:?} {tally:?}"
        );
        let threefold = plan(3.0, 0.05).many(FEW, 11);
        assert!(threefold.above == FEW && threefold.blocks <= 8 * FEW, "{threefold:?}");
    }
}

#[test]
fn naive_designs_find_differences_of_equal_systems() {
    let world = World { spread: 0.03, parts: USUAL };
    let share = |naive: Naive| {
        let found = |number| {
            u32::from(naive.finds_difference(
                world,
                1.0,
                BLOCKS as usize,
                &mut Random::new(9, number),
            ))
        };
        f64::from(on_all_cpus(EXPERIMENTS, found)) / f64::from(EXPERIMENTS)
    };
    assert!(
        share(Naive::OneStart) > 0.5 && share(Naive::Requests) > 0.5 && share(Naive::Starts) > 0.2
    );
}

/// Blocks deviate by the given spread, whatever its sources, though the session drifts by more.
#[test]
fn blocks_deviate_by_the_given_spread() {
    for parts in [USUAL, DRIFTING] {
        let world = World { spread: 0.03, parts };
        let (mut squares, mut count, mut drift) = (0.0, 0, 0.0);
        for number in 0..300 {
            let blocks = world.interleaved(1.1, BLOCKS as usize, &mut Random::new(3, number));
            let logs: Vec<f64> =
                blocks.iter().map(|[a, b]| (value(a) / value(b)).ln() - 1.1f64.ln()).collect();
            let baseline: Vec<f64> = blocks.iter().map(|[_, b]| value(b).ln()).collect();
            squares += logs.iter().map(|d| d * d).sum::<f64>();
            count += logs.len();
            drift += stats::sample_deviation(&baseline).unwrap() / 300.0;
            assert!(blocks.iter().flatten().all(|trial| trial.len() == MEASURED_S
                && trial.iter().all(|s| s.is_finite() && *s > 0.0)));
        }
        let spread = (squares / f64::from(count as u32)).sqrt();
        assert!((spread / 0.03 - 1.0).abs() < 0.08, "{spread} of {parts:?}");
        assert!(drift > 1.3 * 0.03, "{drift} of {parts:?}");
    }
}

#[test]
fn same_seed_gives_the_same_tally() {
    let plan = plan(1.02, 0.0, LOOKS[1]);
    assert_eq!(plan.many(20, 1), plan.many(20, 1));
    assert_ne!(plan.many(50, 1), plan.many(50, 2));
}

#[test]
fn labels_in_a_drawing_do_not_overlap() {
    let line = |name: &str, end| Line {
        name: name.into(),
        is_dashed: false,
        points: vec![(0.0, 1.0), (0.2, end)],
    };
    let drawing = Drawing {
        title: "a < b".into(),
        x: "x".into(),
        y: "y".into(),
        ticks: vec![0.0, 0.2],
        mark: 0.8,
        lines: vec![line("one", 0.5), line("two", 0.5), line("three", 0.51)],
    };
    let svg = drawing.to_svg();
    let places: Vec<f64> = svg
        .split("<text x=\"568\" y=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next()?.parse().ok())
        .collect();
    assert!(
        places.len() == 3 && places.windows(2).all(|pair| (pair[0] - pair[1]).abs() >= 19.0),
        "{places:?}"
    );
    assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
}
