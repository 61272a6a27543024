//! Isotonic regression, and the highest level of load that a system keeps.
//!
//! [`edge`] estimates that level from trials that succeeded or failed. It combines isotonic
//! regression here with the logistic curve of `logistic.rs`.

use crate::random::{place, seeded};
use crate::{Interval, logistic};

/// The result of one trial at a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// The level of the trial, which is positive.
    pub level: f64,
    /// Whether the trial succeeded.
    pub held: bool,
}

/// The level at which trials start to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The level at which half of the trials succeed.
    pub level: f64,
    /// Its confidence interval.
    pub interval: Interval,
}

/// A point of the regression, or several that were pooled: their mean position, mean value and
/// weight.
#[derive(Clone, Copy, Debug)]
struct Pool {
    place: f64,
    mean: f64,
    weight: f64,
    count: usize,
}

impl Pool {
    fn with(self, other: Pool) -> Pool {
        let weight = self.weight + other.weight;
        let between = |a: f64, b: f64| (a * self.weight + b * other.weight) / weight;
        Pool {
            place: between(self.place, other.place),
            mean: between(self.mean, other.mean),
            weight,
            count: self.count + other.count,
        }
    }
}

/// Merges neighbours until none violate the order (pool adjacent violators).
fn pooled(points: impl Iterator<Item = Pool>, violate: fn(&Pool, &Pool) -> bool) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for point in points {
        let mut last = point;
        while let Some(before) = pools.pop_if(|before| violate(before, &last)) {
            last = before.with(last);
        }
        pools.push(last);
    }
    pools
}

/// Returns the non-decreasing values that are closest to the given ones by weighted least squares.
///
/// The method pools adjacent violators (Ayer, Brunk, Ewing, Reid and Silverman, *An Empirical
/// Distribution Function for Sampling with Incomplete Information*, Annals of Mathematical
/// Statistics 26, 1955). There is one positive weight for each value.
pub fn isotonic(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let points = values.iter().zip(weights).map(|(&mean, &weight)| Pool {
        place: 0.0,
        mean,
        weight,
        count: 1,
    });
    let pools = pooled(points, |a, b| a.mean > b.mean);
    pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean, pool.count)).collect()
}

/// The logarithm of a level, the number of trials and the number of failures, in ascending order of
/// levels.
type Tried = (f64, f64, f64);

fn by_level(trials: &[Held]) -> Vec<Tried> {
    let mut all: Vec<(f64, bool)> = trials.iter().map(|t| (t.level.ln(), t.held)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut levels: Vec<Tried> = Vec::new();
    for (level, held) in all {
        let failed = f64::from(u8::from(!held));
        match levels.last_mut() {
            Some(last) if last.0 == level => (last.1, last.2) = (last.1 + 1.0, last.2 + failed),
            _ => levels.push((level, 1.0, failed)),
        }
    }
    levels
}

/// Returns the share of failures over the logarithm of the level.
///
/// This is centered isotonic regression: what is pooled becomes one point at its weighted centre
/// (Oron and Flournoy, *Centered Isotonic Regression*, Statistics in Biopharmaceutical Research 9,
/// 2017). Equal shares are pooled too, so the line between points rises, except where no trial or
/// every trial fails.
fn centered(levels: impl Iterator<Item = Tried>) -> Vec<Pool> {
    let points = levels.map(|(place, tried, failed)| Pool {
        place,
        mean: failed / tried,
        weight: tried,
        count: 1,
    });
    pooled(points, |a, b| a.mean > b.mean || (a.mean == b.mean && a.mean > 0.0 && a.mean < 1.0))
}

/// Returns where half of the trials fail, on the line between points. If they never or always do,
/// returns an end of the line.
fn half(points: &[Pool]) -> f64 {
    let at = points.partition_point(|point| point.mean <= 0.5);
    match (at.checked_sub(1).map(|before| points[before]), points.get(at)) {
        (Some(a), Some(b)) => a.place + (b.place - a.place) * (0.5 - a.mean) / (b.mean - a.mean),
        (Some(end), None) => end.place,
        (None, Some(end)) => end.place,
        (None, None) => f64::NAN,
    }
}

/// Returns the share of successful trials over the level. The points are connected by straight
/// lines over the logarithm of the level.
pub fn held_shares(trials: &[Held]) -> Vec<(f64, f64)> {
    centered(by_level(trials).into_iter())
        .iter()
        .map(|point| (point.place.exp(), 1.0 - point.mean))
        .collect()
}

/// Returns the level at which half of the trials succeed, for systems that succeed at low levels
/// and fail at high ones.
///
/// The method is centered isotonic regression over the logarithm of the level, with the percentile
/// interval of a bootstrap over trials (Stylianou and Flournoy, *Dose Finding Using the Biased Coin
/// Up-and-Down Design and Isotonic Regression*, Biometrics 58, 2002; Pace and Stylianou,
/// Anesthesiology 107, 2007).
///
/// With so few trials, the bootstrap of a step is too narrow. The interval therefore includes that
/// of a logistic curve's likelihood ([`logistic`]). If every trial below a level succeeded and
/// every one above failed, it also includes the gap between the two.
///
/// Returns `None` if fewer than half succeed at the lowest level, if fewer than half fail at the
/// highest, or if a level is not positive.
pub fn edge(trials: &[Held], confidence: f64, resamples: usize, seed: u64) -> Option<Edge> {
    if trials.iter().any(|t| !(t.level > 0.0 && t.level.is_finite())) || resamples == 0 {
        return None;
    }
    let levels = by_level(trials);
    let points = centered(levels.iter().copied());
    let (first, last) = (points.first()?, points.last()?);
    if first.mean > 0.5 || last.mean <= 0.5 {
        return None;
    }
    let estimate = half(&points);
    // Trials by the position of their level, so that a resample needs no sorting.
    let each: Vec<(usize, f64)> = levels
        .iter()
        .enumerate()
        .flat_map(|(at, (_, tried, failed))| {
            (0..*tried as usize).map(move |n| (at, f64::from(u8::from((n as f64) < *failed))))
        })
        .collect();
    let mut random = seeded(seed, 0);
    let mut drawn = vec![(0.0, 0.0); levels.len()];
    let mut edges: Vec<f64> = (0..resamples)
        .map(|_| {
            drawn.fill((0.0, 0.0));
            for _ in &each {
                let (at, failed) = each[place(&mut random, each.len())];
                drawn[at] = (drawn[at].0 + 1.0, drawn[at].1 + failed);
            }
            let there = levels.iter().zip(&drawn).filter(|(_, (tried, _))| *tried > 0.0);
            half(&centered(there.map(|((level, ..), (tried, failed))| (*level, *tried, *failed))))
        })
        .collect();
    edges.sort_unstable_by(f64::total_cmp);
    let rank = ((resamples + 1) as f64 * (1.0 - confidence) / 2.0).floor() as usize;
    let rank = rank.clamp(1, resamples.div_ceil(2));
    let (mut low, mut high) =
        (edges[rank - 1].min(estimate), edges[resamples - rank].max(estimate));
    if let Some(curve) = logistic(trials, confidence) {
        (low, high) = (low.min(curve.interval.low.ln()), high.max(curve.interval.high.ln()));
    }
    let held_up_to = levels
        .iter()
        .filter(|(_, tried, failed)| failed < tried)
        .map(|l| l.0)
        .fold(f64::NEG_INFINITY, f64::max);
    let failed_from = levels
        .iter()
        .filter(|(.., failed)| *failed > 0.0)
        .map(|l| l.0)
        .fold(f64::INFINITY, f64::min);
    if held_up_to < failed_from {
        (low, high) = (low.min(held_up_to), high.max(failed_from));
    }
    Some(Edge { level: estimate.exp(), interval: Interval { low: low.exp(), high: high.exp() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    fn held(levels: &[(f64, u32, u32)]) -> Vec<Held> {
        let one = |(level, tried, failed): &(f64, u32, u32)| {
            let (level, failed) = (*level, *failed);
            (0..*tried).map(move |n| Held { level, held: n >= failed }).collect::<Vec<_>>()
        };
        levels.iter().flat_map(one).collect()
    }

    /// R's own example: `isoreg(c(1,0,4,3,3,5,4,2,0))$yf` is 0.5 0.5 and seven times 3.
    #[test]
    fn example_of_isoreg_matches() {
        let found = isotonic(&[1.0, 0.0, 4.0, 3.0, 3.0, 5.0, 4.0, 2.0, 0.0], &[1.0; 9]);
        assert_eq!(found, [0.5, 0.5, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn weight_equals_repeated_values() {
        close(isotonic(&[3.0, 0.0], &[1.0, 2.0])[0], 1.0);
        assert_eq!(isotonic(&[], &[]), Vec::<f64>::new());
        assert_eq!(isotonic(&[1.0, 2.0, 2.0, 5.0], &[1.0; 4]), [1.0, 2.0, 2.0, 5.0]);
    }

    /// By hand: failures 0/4, 1/4, 3/4, 1/4 and 4/4 at logarithms 0 to 4. The third and fourth pool
    /// to 4 of 8 at 2.5.
    #[test]
    fn violators_are_pooled_at_their_centre() {
        let e = std::f64::consts::E;
        let trials = held(&[
            (1.0, 4, 0),
            (e, 4, 1),
            (e.powi(2), 4, 3),
            (e.powi(3), 4, 1),
            (e.powi(4), 4, 4),
        ]);
        let shares = held_shares(&trials);
        let expected = [(0.0, 1.0), (1.0, 0.75), (2.5, 0.5), (4.0, 0.0)];
        assert_eq!(shares.len(), expected.len());
        for ((level, share), (log, right)) in shares.iter().zip(expected) {
            close(level.ln(), log);
            close(*share, right);
        }
        let found = edge(&trials, 0.95, 500, 1).unwrap();
        close(found.level.ln(), 2.5);
        assert!(found.interval.low < found.level && found.level < found.interval.high, "{found:?}");
    }

    #[test]
    fn sharp_edge_is_midway_and_interval_covers_the_gap() {
        let trials = held(&[(10.0, 1, 0), (20.0, 3, 0), (40.0, 1, 0), (90.0, 1, 1), (100.0, 2, 2)]);
        let found = edge(&trials, 0.95, 1000, 1).unwrap();
        close(found.level, 60.0);
        assert!(found.interval.low <= 40.0 && found.interval.high >= 90.0, "{found:?}");
    }

    #[test]
    fn edge_beyond_the_trials_is_none() {
        let trials = held(&[(10.0, 3, 0), (20.0, 3, 1)]);
        assert_eq!(edge(&trials, 0.95, 100, 1), None);
        assert_eq!(edge(&held(&[(10.0, 3, 3), (20.0, 3, 3)]), 0.95, 100, 1), None);
        assert_eq!(edge(&[], 0.95, 100, 1), None);
        for level in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                edge(&[Held { level, held: true }, Held { level: 1.0, held: false }], 0.95, 100, 1),
                None
            );
        }
    }

    /// Random trials around a known edge, 30 each, for a few steep and many flat curves. Nineteen
    /// of twenty intervals should contain it: 380 of 400, and four standard deviations below that
    /// is 363.
    #[test]
    fn intervals_cover_the_edge() {
        for width in [0.02, 0.1, 0.3] {
            let mut hits = 0;
            for seed in 0..400 {
                let mut random = Random::new(seed, 7);
                let truth: f64 = 1.0 + random.uniform() * 5.0;
                let trials: Vec<Held> = (0..30)
                    .map(|_| {
                        let at = truth + width * 5.0 * (2.0 * random.uniform() - 1.0);
                        let chance = 1.0 / (1.0 + ((at - truth) / width).exp());
                        Held { level: at.exp(), held: random.uniform() < chance }
                    })
                    .collect();
                let found = edge(&trials, 0.95, 400, seed).unwrap();
                hits += u32::from(
                    found.interval.low.ln() <= truth && truth <= found.interval.high.ln(),
                );
            }
            assert!(hits >= 363, "{width}: {hits} of 400");
        }
    }

    proptest! {
        #[test]
        fn fit_rises_keeps_the_mean_and_beats_constants(values in prop::collection::vec(-5.0..5.0f64, 1..30)) {
            let weights: Vec<f64> = (0..values.len()).map(|n| 1.0 + (n % 3) as f64).collect();
            let found = isotonic(&values, &weights);
            prop_assert!(found.windows(2).all(|pair| pair[0] <= pair[1]));
            let sum = |of: &[f64]| of.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
            prop_assert!((sum(&found) - sum(&values)).abs() < 1e-9);
            let away = |of: &dyn Fn(usize) -> f64| (0..values.len()).map(|n| weights[n] * (values[n] - of(n)).powi(2)).sum::<f64>();
            let mean = sum(&values) / weights.iter().sum::<f64>();
            prop_assert!(away(&|n| found[n]) <= away(&|_| mean) + 1e-9);
        }

        #[test]
        fn edge_is_within_its_interval_and_the_trials(
            tried in prop::collection::vec((0.1..1000.0f64, any::<bool>()), 0..40), seed in any::<u64>(),
        ) {
            let trials: Vec<Held> = tried.iter().map(|(level, held)| Held { level: *level, held: *held }).collect();
            if let Some(found) = edge(&trials, 0.9, 50, seed) {
                let least = trials.iter().map(|t| t.level).fold(f64::INFINITY, f64::min);
                let most = trials.iter().map(|t| t.level).fold(0.0, f64::max);
                prop_assert!(found.interval.low <= found.level && found.level <= found.interval.high);
                prop_assert!(found.interval.low >= least * (1.0 - 1e-9) && found.interval.high <= most * (1.0 + 1e-9));
                // The order of the trials does not matter.
                let mut turned = trials.clone();
                turned.reverse();
                prop_assert_eq!(edge(&turned, 0.9, 50, seed), Some(found));
            }
        }
    }
}
