//! Tests intervals and tests in many seeded experiments whose truth is known.

use crate::random::{normal, seeded};
use crate::{
    Block, hierarchical_bootstrap, mean, mean_interval, p_above, p_below, paired_ratio, sign_flip,
};

/// Returns the share of seeded experiments for which a condition is true.
fn share(
    experiments: u32,
    stream: u64,
    mut holds: impl FnMut(&mut dyn FnMut() -> f64) -> bool,
) -> f64 {
    let mut random = seeded(2_026, stream);
    let mut draw = || normal(&mut random);
    f64::from((0..experiments).map(|_| u32::from(holds(&mut draw))).sum::<u32>())
        / f64::from(experiments)
}

/// Returns four standard deviations of a share.
fn chance(probability: f64, experiments: u32) -> f64 {
    4.0 * (probability * (1.0 - probability) / f64::from(experiments)).sqrt()
}

const MANY: u32 = 10_000;

#[test]
fn t_interval_has_its_nominal_coverage() {
    for (blocks, confidence) in [(6, 0.95), (12, 0.95), (12, 0.90), (30, 0.99)] {
        let covered = share(MANY, blocks, |draw| {
            let values: Vec<f64> = (0..blocks).map(|_| 3.0 + 2.0 * draw()).collect();
            let (_, interval) = mean_interval(&values, confidence).unwrap();
            interval.low <= 3.0 && 3.0 <= interval.high
        });
        assert!(
            (covered - confidence).abs() < chance(confidence, MANY),
            "{blocks} blocks: {covered}"
        );
    }
}

/// Blocks drift by a random walk of ten times the noise within them. Pairs are not affected. Two
/// means that are compared as independent samples would rarely show a difference of 10 %.
#[test]
fn drift_between_blocks_cancels_in_pairs() {
    let (truth, noise) = (1.1f64, 0.02);
    let mut lengths = (0.0, 0.0);
    let covered = share(MANY, 100, |draw| {
        let mut level = 0.0;
        let pairs: Vec<(f64, f64)> = (0..12)
            .map(|_| {
                level += 10.0 * noise * draw();
                ((level + truth.ln() + noise * draw()).exp(), (level + noise * draw()).exp())
            })
            .collect();
        let found = paired_ratio(&pairs, 0.95).unwrap();
        let (_, alone) =
            mean_interval(&pairs.iter().map(|p| p.0.ln()).collect::<Vec<_>>(), 0.95).unwrap();
        lengths.0 += (found.interval.high / found.interval.low).ln();
        lengths.1 += alone.high - alone.low;
        found.interval.low <= truth && truth <= found.interval.high
    });
    assert!((covered - 0.95).abs() < chance(0.95, MANY), "{covered}");
    assert!(lengths.1 > 5.0 * lengths.0, "{lengths:?}");
}

#[test]
fn tests_have_their_nominal_error() {
    let values = |draw: &mut dyn FnMut() -> f64, centre: f64| {
        (0..8).map(|_| centre + 0.1 * draw()).collect::<Vec<_>>()
    };
    let allowed = 0.05 + chance(0.05, MANY);
    let above = share(MANY, 200, |draw| p_above(&values(draw, 0.3), 0.3).unwrap() <= 0.05);
    assert!((above - 0.05).abs() < chance(0.05, MANY), "{above}");
    // At the margin's edge, where a false "equivalent" is most likely.
    let equivalent = share(MANY, 201, |draw| {
        let values = values(draw, 0.3);
        p_above(&values, -0.3).unwrap().max(p_below(&values, 0.3).unwrap()) <= 0.05
    });
    assert!(equivalent <= allowed, "{equivalent}");
    // 2⁸ assignments: the largest level below 5 % is 12/256.
    let flipped = share(MANY, 202, |draw| sign_flip(&values(draw, 0.0), 0).unwrap().p <= 0.05);
    assert!((flipped - 12.0 / 256.0).abs() < chance(0.05, MANY), "{flipped}");
}

/// Twelve blocks of one trial and five seconds. The percentile interval is too narrow for so few
/// blocks and covers about 92 %. That is why it supplements the t interval and does not replace it.
#[test]
fn bootstrap_covers_nearly_the_nominal_share() {
    let experiments = 250;
    let covered = share(experiments, 300, |draw| {
        let blocks: Vec<Block<f64, 1>> = (0..12)
            .map(|_| {
                let block = 0.1 * draw();
                [vec![(0..5).map(|_| block + 0.05 * draw()).collect()]]
            })
            .collect();
        let found = hierarchical_bootstrap(&blocks, 199, 1, |sample| {
            let of_blocks: Vec<f64> =
                (0..12).map(|b| sample.seconds(b, 0).iter().copied().sum::<f64>() / 5.0).collect();
            mean(&of_blocks).unwrap_or(f64::NAN)
        });
        let interval = found.unwrap().percentile(0.95);
        interval.low <= 0.0 && 0.0 <= interval.high
    });
    assert!((0.87..=0.98).contains(&covered), "{covered}");
}
