//! The rule on pairs whose answers are known.

use super::*;
use crate::looks::looks;
use proptest::prelude::*;

fn question(margin: f64) -> Question {
    Question::at_look(&looks(&[], 6, 6, 0.95), 0.95, margin, true, 1)
}

fn pairs(ratios: &[f64]) -> Vec<Pair> {
    let side = |value: f64| Side { value, seconds: vec![] };
    ratios
        .iter()
        .zip(1..)
        .map(|(ratio, block)| Pair {
            contender: side(ratio * f64::from(block)),
            baseline: side(f64::from(block)),
        })
        .collect()
}

/// Adds seconds that vary by `spread` around 1.
fn with_seconds(ratios: &[f64], spread: f64) -> Vec<Pair> {
    let mut all = pairs(ratios);
    for pair in &mut all {
        for side in [&mut pair.contender, &mut pair.baseline] {
            side.seconds = (0..10)
                .map(|i| Second::from(if i % 2 == 0 { 1.0 + spread } else { 1.0 - spread }))
                .collect();
        }
    }
    all
}

/// ln-ratios 0.1 to 0.6: mean 0.35, s = 0.18708, t(5; 0.975) = 2.5706: half-width 0.19633.
/// Among all sign assignments only the one seen and its mirror reach the sum: 2/2⁶.
#[test]
fn intervals_are_those_worked_by_hand() {
    let found = by_ratio(&pairs(&[0.1f64, 0.2, 0.3, 0.4, 0.5, 0.6].map(f64::exp)), &question(0.05));
    let t = found.interval_t.unwrap();
    assert!((found.ratio.unwrap().ln() - 0.35).abs() < 1e-9);
    assert!((t.low.ln() - 0.15367).abs() < 1e-5 && (t.high.ln() - 0.54633).abs() < 1e-5, "{t:?}");
    assert_eq!(found.interval, Some(t), "the t interval contains the other");
    assert_eq!((found.outcome, found.sign_flip_p), (Outcome::Worse, Some(2.0 / 64.0)));
    // The bootstrap of a mean has the standard deviation √((n−1)/n)·s/√n = 0.0697: ± 1.96 of it, about.
    let bootstrap = found.interval_bootstrap.unwrap();
    assert!(
        (bootstrap.low.ln() - 0.213).abs() < 0.012 && (bootstrap.high.ln() - 0.487).abs() < 0.012,
        "{bootstrap:?}"
    );
}

#[test]
fn bootstrap_decides_if_seconds_vary_more_than_blocks() {
    let ratios = [1.099, 1.1, 1.101, 1.1, 1.099, 1.101];
    let (calm, restless) = (
        by_ratio(&with_seconds(&ratios, 0.0), &question(0.05)),
        by_ratio(&with_seconds(&ratios, 0.5), &question(0.05)),
    );
    assert_eq!(calm.interval_t, restless.interval_t);
    assert_eq!((calm.interval, calm.outcome), (calm.interval_t, Outcome::Worse));
    assert_eq!(
        (restless.interval, restless.outcome),
        (restless.interval_bootstrap, Outcome::Undecided)
    );
    assert!(restless.p.unwrap() > 0.05 && restless.blocks_needed.unwrap() > 6, "{restless:?}");
    assert_eq!(calm.blocks_needed, None);
}

#[test]
fn early_look_is_stricter_and_needs_blocks_of_the_last() {
    let noisy = pairs(&[1.10, 1.14, 1.08, 1.16, 1.09, 1.13]);
    let early = Question::at_look(&looks(&[6, 9, 12], 12, 6, 0.95), 0.95, 0.05, true, 1);
    let (now, at_end) = (by_ratio(&noisy, &early), by_ratio(&noisy, &question(0.05)));
    assert_eq!((now.outcome, at_end.outcome), (Outcome::Undecided, Outcome::Worse));
    assert_eq!(now.blocks_needed, Some(7), "at the confidence of the last look it is settled");
    assert!(now.p.unwrap() > 0.05 && at_end.p.unwrap() < 0.05);
    let nothing =
        by_ratio(&noisy, &Question { confidence: 1.0, confidence_equivalence: 1.0, ..early });
    assert_eq!((nothing.outcome, nothing.interval), (Outcome::Undecided, None));
    assert!(nothing.reason.starts_with("no interim analysis yet"), "{}", nothing.reason);
}

#[test]
fn too_few_pairs_and_zeros_are_undecided_with_a_reason() {
    let five = by_ratio(&pairs(&[3.0; 5]), &question(0.05));
    assert_eq!(
        (five.outcome, five.reason.as_str()),
        (Outcome::Undecided, "only 5 blocks have a value for this metric; a verdict needs 6")
    );
    assert!(five.ratio.is_some() && five.interval_bootstrap.is_none());
    assert_eq!(by_ratio(&pairs(&[0.0; 6]), &question(0.05)).reason, "a value of zero has no ratio");
    assert_eq!(
        by_ratio(&[], &question(0.05)).reason,
        "no block has a value for this metric; a verdict needs 6"
    );
    assert_eq!(by_ratio(&pairs(&[2.0]), &question(0.05)).ratio, None, "one block has no spread");
}

#[test]
fn zero_margin_distinguishes_equal_from_different() {
    assert_eq!(by_ratio(&pairs(&[1.0; 6]), &question(0.0)).outcome, Outcome::Equivalent);
    assert_eq!(
        by_ratio(&pairs(&[1.01, 1.012, 1.011, 1.009, 1.01, 1.011]), &question(0.0)).outcome,
        Outcome::Worse
    );
    assert!(by_ratio(&pairs(&[1.0; 6]), &question(0.0)).p.unwrap() <= 0.05 + 1e-12);
}

/// 4 % less may be more than 5 % less, but it is certainly not more than 5 % more.
#[test]
fn each_edge_is_tested_alone() {
    let slightly_less = by_ratio(&pairs(&[0.93, 0.97, 0.95, 0.96, 0.94, 0.98]), &question(0.05));
    assert_eq!(slightly_less.outcome, Outcome::Undecided);
    let Edges { below_lower, above_lower, below_upper, above_upper } = slightly_less.edges;
    assert_eq!(
        [below_lower, above_lower, below_upper, above_upper].map(|side| side.holds),
        [false, false, true, false]
    );
    assert!(below_upper.p.unwrap() < 0.001 && above_upper.p.unwrap() == 1.0, "{slightly_less:?}");
    assert!(below_lower.p.unwrap() > 0.05 && above_lower.p.unwrap() > 0.05, "{slightly_less:?}");
    // By the one-sided t test itself: mean of the logs −0.046, s 0.0196, five degrees of
    // freedom, twice 0.05 of either side.
    let logs: Vec<f64> = [0.93f64, 0.97, 0.95, 0.96, 0.94, 0.98].map(f64::ln).to_vec();
    let exact = stats::p_above(&logs, -(1.05f64.ln())).unwrap();
    assert!((above_lower.p.unwrap() - exact).abs() < 0.02, "{above_lower:?} {exact}");
}

#[test]
fn differences_of_shares_are_decided_like_ratios() {
    let of = |values: [f64; 6]| by_difference(&values.map(|v| (v, 0.0)), &question(0.05));
    assert_eq!(of([0.0; 6]).outcome, Outcome::Equivalent);
    assert_eq!(of([98.0, 97.0, 99.0, 98.0, 98.0, 97.0]).outcome, Outcome::Worse);
    let open = of([0.0, 20.0, 0.0, 30.0, 0.0, 10.0]);
    assert_eq!(open.outcome, Outcome::Undecided);
    assert!(open.reason.contains("points; about") && open.p.unwrap() > 0.05, "{open:?}");
    assert_eq!(
        by_difference(&[(1.0, 0.0)], &question(0.05)).reason,
        "only 1 block has a value for this metric; a verdict needs 6"
    );
}

#[test]
fn unusable_seconds_are_ignored() {
    let ratios = [1.1, 1.2, 1.1, 1.2, 1.1, 1.2];
    let mut odd = pairs(&ratios);
    odd[0].contender.seconds = vec![Second { amount: 0.0, weight: 0.0 }; 5];
    odd[1].baseline.seconds = vec![Second { amount: f64::NAN, weight: 1.0 }; 5];
    odd[2].baseline.seconds = vec![1.0.into()];
    assert_eq!(by_ratio(&odd, &question(0.05)), by_ratio(&pairs(&ratios), &question(0.05)));
    // A draw of stalled seconds alone must not become infinite.
    odd[3].contender.seconds = vec![0.0.into(), 1.0.into()];
    let found = by_ratio(&odd, &question(0.05)).interval_bootstrap.unwrap();
    assert!(found.low.is_finite() && found.high.is_finite(), "{found:?}");
}

fn side() -> impl Strategy<Value = Side> {
    (0.5f64..2.0, prop::collection::vec((0.1f64..2.0, 0.5f64..2.0), 0..5)).prop_map(
        |(value, seconds)| Side {
            value,
            seconds: seconds
                .into_iter()
                .map(|(amount, weight)| Second { amount, weight })
                .collect(),
        },
    )
}

fn any_pairs() -> impl Strategy<Value = Vec<Pair>> {
    prop::collection::vec(
        (side(), side()).prop_map(|(contender, baseline)| Pair { contender, baseline }),
        6..9,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn order_of_blocks_changes_nothing(pairs in any_pairs(), seed in any::<u64>()) {
        let mut shuffled = pairs.clone();
        stats::shuffle(&mut shuffled, seed, 0);
        prop_assert_eq!(by_ratio(&pairs, &question(0.05)), by_ratio(&shuffled, &question(0.05)));
    }

    #[test]
    fn exchanged_sides_give_the_mirrored_finding(pairs in any_pairs()) {
        let exchanged: Vec<Pair> = pairs.iter().map(|p| Pair { contender: p.baseline.clone(), baseline: p.contender.clone() }).collect();
        let (there, back) = (by_ratio(&pairs, &question(0.05)), by_ratio(&exchanged, &question(0.05)));
        let mirrored = match there.outcome { Outcome::Better => Outcome::Worse, Outcome::Worse => Outcome::Better, same => same };
        prop_assert_eq!(back.outcome, mirrored);
        prop_assert_eq!((back.p, back.sign_flip_p, back.blocks_needed), (there.p, there.sign_flip_p, there.blocks_needed));
        prop_assert_eq!(back.edges, there.edges.exchanged());
        for (a, b) in [(there.interval, back.interval), (there.interval_bootstrap, back.interval_bootstrap), (there.interval_equivalence, back.interval_equivalence)] {
            let (a, b) = (a.unwrap(), b.unwrap());
            prop_assert!((a.low * b.high - 1.0).abs() < 1e-9 && (a.high * b.low - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn p_and_outcome_agree(pairs in any_pairs(), margin in 0.0f64..0.5) {
        let found = by_ratio(&pairs, &question(margin));
        prop_assert_eq!(found.outcome == Outcome::Undecided, found.p.unwrap() > 0.05 + 1e-9, "{:?}", found);
        prop_assert_eq!(found.outcome == Outcome::Undecided, !found.reason.is_empty());
        let Edges { below_lower, above_lower, below_upper, above_upper } = found.edges;
        for side in [below_lower, above_lower, below_upper, above_upper] {
            prop_assert_eq!(side.holds, side.p.unwrap() <= 0.05 + 1e-9, "{:?}", found);
        }
        prop_assert!(!(below_lower.holds && above_lower.holds || below_upper.holds && above_upper.holds), "{:?}", found);
    }
}
