//! Fits a logistic curve to trials that succeeded or failed, by maximum likelihood.

use crate::{Held, Interval};
use statrs::distribution::{ContinuousCDF, Normal};

/// The first width that is tried, as the logarithm of a level. Each further one is a multiple of
/// the one before.
const WIDTH_MIN: f64 = 0.0005;
const WIDTH_STEP: f64 = 1.4;
const WIDTHS: i32 = 24;
/// The number of positions that are tried first.
const PLACES: i32 = 40;
/// How often an end of the interval is then bisected.
const HALVINGS: u32 = 30;

/// A curve that falls from 1 to 0 over the logarithm of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// The level at which half of the trials succeed.
    pub level: f64,
    /// By how much the logarithm of the level must rise for the odds to fall to 1/e. 0 if the
    /// trials do not determine a width.
    pub width: f64,
    /// The confidence interval of the level, from the likelihood.
    pub interval: Interval,
}

/// Computes ln L of the curve.
fn log_likelihood(trials: &[(f64, bool)], place: f64, width: f64) -> f64 {
    let one = |(level, held): &(f64, bool)| {
        let against = if *held { (level - place) / width } else { (place - level) / width };
        // ln(1 + eˣ), which equals x if eˣ would overflow.
        if against > 30.0 { against } else { against.exp().ln_1p() }
    };
    -trials.iter().map(one).sum::<f64>()
}

/// Returns the most likely width at a position, and its ln L.
fn profile(trials: &[(f64, bool)], place: f64) -> (f64, f64) {
    let widths = (0..WIDTHS).map(|n| WIDTH_MIN * WIDTH_STEP.powi(n));
    let all = widths.map(|width| (log_likelihood(trials, place, width), width));
    all.reduce(|best, next| if next.0 > best.0 { next } else { best }).expect("there are widths")
}

/// Fits the curve.
///
/// The interval contains the positions whose profile likelihood is not too far below the maximum
/// (Williams, *Interval Estimation of the Median Lethal Dose*, Biometrics 42, 1986). Returns `None`
/// if all trials succeeded or all failed, or if a level is not positive.
pub fn logistic(trials: &[Held], confidence: f64) -> Option<Logistic> {
    if trials.iter().any(|t| !(t.level > 0.0 && t.level.is_finite()))
        || !(confidence > 0.0 && confidence < 1.0)
    {
        return None;
    }
    let mut trials: Vec<(f64, bool)> = trials.iter().map(|t| (t.level.ln(), t.held)).collect();
    // Sorted, so that the rounding of sums does not depend on the order of trials.
    trials.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let extreme = |held: bool, pick: fn(f64, f64) -> f64| {
        trials.iter().filter(|t| t.1 == held).map(|t| t.0).reduce(pick)
    };
    let (highest_held, lowest_failed) = (extreme(true, f64::max)?, extreme(false, f64::min)?);
    let (lowest, highest) =
        (extreme(true, f64::min)?.min(lowest_failed), extreme(false, f64::max)?.max(highest_held));
    let (left, right) = (highest_held.min(lowest_failed), highest_held.max(lowest_failed));
    // Most positions are where the maximum must be: between the two groups, or where they overlap.
    let places = (0..=PLACES).map(|n| left + (right - left) * f64::from(n) / f64::from(PLACES));
    let all: Vec<(f64, f64, f64)> = places
        .map(|place| (place, profile(&trials, place)))
        .map(|(place, (l, w))| (place, l, w))
        .collect();
    let greatest = all.iter().map(|(_, l, _)| *l).reduce(f64::max)?;
    // If nothing is between, all positions there are equally likely. The middle is taken.
    let best: Vec<&(f64, f64, f64)> =
        all.iter().filter(|(_, l, _)| *l >= greatest - 1e-9).collect();
    let (mut place, mut greatest, mut width) = **best.get(best.len() / 2)?;
    let mut step = (right - left) / f64::from(PLACES);
    for _ in 0..HALVINGS {
        step /= 2.0;
        for near in [(place - step).max(left), (place + step).min(right)] {
            let (likelihood, its_width) = profile(&trials, near);
            if likelihood > greatest {
                (place, greatest, width) = (near, likelihood, its_width);
            }
        }
    }
    let allowed = Normal::standard().inverse_cdf(0.5 + confidence / 2.0).powi(2) / 2.0;
    let is_likely = |place: f64| profile(&trials, place).0 >= greatest - allowed;
    let end = |beyond: f64| {
        let (mut inside, mut outside) = (place, beyond);
        if is_likely(outside) {
            return outside;
        }
        for _ in 0..HALVINGS {
            let middle = (inside + outside) / 2.0;
            if is_likely(middle) { inside = middle } else { outside = middle }
        }
        outside
    };
    let is_separate = highest_held < lowest_failed;
    Some(Logistic {
        level: place.exp(),
        width: if is_separate { 0.0 } else { width },
        interval: Interval { low: end(lowest).exp(), high: end(highest).exp() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use proptest::prelude::*;

    /// Finney's data on rotenone (*Probit Analysis*, 1947): of insects at 2.6, 3.8, 5.1, 7.7 and
    /// 10.2 mg/l, 6 of 50, 16 of 48, 24 of 46, 42 of 49 and 44 of 50 died. In an independent
    /// exhaustive search, the most likely logistic curve over ln dose is one half at 4.83 and has a
    /// width of 0.322. The profile likelihood is within 1.92 of its maximum from 4.355 to 5.34.
    #[test]
    fn rotenone_data_match_exhaustive_search() {
        let doses = [(2.6, 50, 6), (3.8, 48, 16), (5.1, 46, 24), (7.7, 49, 42), (10.2, 50, 44)];
        let trials: Vec<Held> = doses
            .iter()
            .flat_map(|(level, tried, died)| {
                (0..*tried).map(move |n| Held { level: *level, held: n >= *died })
            })
            .collect();
        let found = logistic(&trials, 0.95).unwrap();
        assert!((found.level / 4.83 - 1.0).abs() < 0.005, "{found:?}");
        assert!(
            (found.interval.low / 4.355 - 1.0).abs() < 0.01
                && (found.interval.high / 5.34 - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert!((0.27..0.40).contains(&found.width), "{found:?}");
    }

    #[test]
    fn sharp_edge_has_no_width_and_covers_the_gap() {
        let trials: Vec<Held> = [10.0, 20.0, 30.0, 40.0, 90.0, 100.0, 110.0]
            .map(|level| Held { level, held: level < 60.0 })
            .to_vec();
        let found = logistic(&trials, 0.95).unwrap();
        assert!(found.width == 0.0 && (55.0..65.0).contains(&found.level), "{found:?}");
        assert!(found.interval.low <= 40.0 && found.interval.high >= 90.0, "{found:?}");
    }

    #[test]
    fn all_or_no_success_gives_none() {
        let all = |held| [1.0, 2.0].map(|level| Held { level, held });
        assert_eq!(
            (logistic(&all(true), 0.95), logistic(&all(false), 0.95), logistic(&[], 0.95)),
            (None, None, None)
        );
        assert_eq!(
            logistic(&[Held { level: 0.0, held: true }, Held { level: 1.0, held: false }], 0.95),
            None
        );
    }

    /// Thirty trials at random levels around a known edge. 19 of 20 intervals should contain it:
    /// 380 of 400, and four standard deviations below that is 363.
    #[test]
    fn intervals_cover_the_edge() {
        for width in [0.02, 0.1, 0.3] {
            let mut hits = 0;
            for seed in 0..400 {
                let mut random = Random::new(seed, 8);
                let truth = 1.0 + random.uniform() * 5.0;
                let trials: Vec<Held> = (0..30)
                    .map(|_| {
                        let at = truth + width * 5.0 * (2.0 * random.uniform() - 1.0);
                        Held {
                            level: at.exp(),
                            held: random.uniform() < 1.0 / (1.0 + ((at - truth) / width).exp()),
                        }
                    })
                    .collect();
                let found = logistic(&trials, 0.95).unwrap();
                hits += u32::from(
                    found.interval.low.ln() <= truth && truth <= found.interval.high.ln(),
                );
            }
            assert!(hits >= 363, "{width}: {hits} of 400");
        }
    }

    proptest! {
        #[test]
        fn level_is_within_its_interval_and_the_trials(tried in prop::collection::vec((0.1..1000.0f64, any::<bool>()), 0..25)) {
            let trials: Vec<Held> = tried.iter().map(|(level, held)| Held { level: *level, held: *held }).collect();
            if let Some(found) = logistic(&trials, 0.95) {
                let least = trials.iter().map(|t| t.level).fold(f64::INFINITY, f64::min);
                let most = trials.iter().map(|t| t.level).fold(0.0, f64::max);
                let near = 1.0 + 1e-9;
                prop_assert!(found.interval.low <= found.level * near && found.level <= found.interval.high * near, "{:?}", found);
                prop_assert!(found.interval.low * near >= least && found.interval.high <= most * near, "{:?}", found);
            }
        }
    }
}
