//! Plans interim analyses: how much of the error each may spend, so that their total error stays as
//! planned.
//!
//! Start with [`error_spending`]. A planned interim analysis is called a look, as in the
//! literature.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Looks closer together than this share of the whole are rejected.
const CLOSEST: f64 = 1e-3;

/// A look that may spend less than this cannot stop.
const LEAST_SPENT: f64 = 1e-13;

/// Beyond this many standard deviations, the density is negligible.
const FARTHEST: f64 = 8.5;

/// One planned look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The share of all planned blocks that have been measured, above 0 and at most 1.
    pub fraction: f64,
    /// The two-sided error spent up to and including this look.
    pub spent: f64,
    /// The |z| at which the look stops. Infinite if it cannot stop.
    pub boundary: f64,
    /// The boundary as a two-sided significance: `2·(1 − Φ(boundary))`.
    pub significance: f64,
}

impl Look {
    /// Returns the confidence of the t interval that this look permits. 1 if the look cannot stop,
    /// which makes the interval infinite.
    ///
    /// The boundary assumes a known variance. Using its significance instead of its value keeps the
    /// error close to the plan for few blocks too. The interval contains the truth with the planned
    /// confidence, whichever look a run stops at (Jennison and Turnbull, *Group Sequential
    /// Methods*, 2000, §3.8 and ch. 9).
    ///
    /// For equivalence at 5 % on each side, plan the looks with an alpha of 0.10.
    pub fn confidence(&self) -> f64 {
        1.0 - self.significance
    }
}

/// Computes boundaries of planned looks whose total two-sided error is `alpha`.
///
/// The error is spent as by O'Brien and Fleming, `4·(1 − Φ(z/√t))` with `Φ(z) = 1 − alpha/4` (Lan
/// and DeMets, *Biometrika* 70, 1983): little early, nearly all at the end. `fractions` are the
/// blocks of each look, divided by the maximum, in ascending order. Looks may be skipped or moved,
/// if the results are not examined first.
///
/// The boundaries come from integrating, from look to look, the density of the sum that has not
/// stopped yet (Armitage, McPherson and Rowe, *JRSS A* 132, 1969), by Simpson's rule.
///
/// Returns `None` without looks, if a fraction is not in 0..=1 or is less than 0.001 above the one
/// before, or if alpha is not in 0..1.
pub fn error_spending(fractions: &[f64], alpha: f64) -> Option<Vec<Look>> {
    let mut rises = fractions.iter().scan(0.0, |before, t| Some(t - std::mem::replace(before, *t)));
    let is_rising = rises.all(|rise| rise >= CLOSEST) && fractions.iter().all(|t| *t <= 1.0);
    let is_probability = alpha > 0.0 && alpha < 1.0;
    if fractions.is_empty() || !is_rising || !is_probability {
        return None;
    }
    let normal = Normal::standard();
    let z = normal.inverse_cdf(alpha / 4.0);
    let mut looks: Vec<Look> = Vec::with_capacity(fractions.len());
    // The possible values of the sum, with their probability of not having stopped.
    let mut unstopped = vec![(0.0, 1.0)];
    let (mut before, mut spent_before) = (0.0, 0.0);
    for (number, fraction) in fractions.iter().copied().enumerate() {
        let spent = 4.0 * normal.cdf(z / fraction.sqrt());
        let step = (fraction - before).sqrt();
        let stops = |boundary: f64| {
            let edge = boundary * fraction.sqrt();
            unstopped
                .iter()
                .map(|(at, mass)| {
                    mass * (normal.sf((edge - at) / step) + normal.sf((edge + at) / step))
                })
                .sum::<f64>()
        };
        let may_spend = spent - spent_before;
        let boundary =
            if may_spend < LEAST_SPENT { f64::INFINITY } else { falling_to(may_spend, stops) };
        looks.push(Look { fraction, spent, boundary, significance: 2.0 * normal.sf(boundary) });
        let Some(next) = fractions.get(number + 1) else { break };
        // Fine enough for the density of this step and of the next.
        let half = boundary.min(FARTHEST) * fraction.sqrt();
        let finest = step.min((next - fraction).sqrt()) / 8.0;
        let halves = (half / finest).ceil().max(50.0) as usize;
        unstopped = (0..=2 * halves)
            .map(|i| {
                let at = half * (i as f64 / halves as f64 - 1.0);
                let simpson = if i == 0 || i == 2 * halves {
                    1.0
                } else if i % 2 == 1 {
                    4.0
                } else {
                    2.0
                };
                let density = unstopped
                    .iter()
                    .map(|(from, mass)| mass * normal.pdf((at - from) / step) / step)
                    .sum::<f64>();
                (at, simpson * half / halves as f64 / 3.0 * density)
            })
            .collect();
        (before, spent_before) = (fraction, spent);
    }
    Some(looks)
}

/// Returns where a decreasing function of a boundary reaches a probability, by bisection.
fn falling_to(probability: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, FARTHEST);
    for _ in 0..52 {
        let middle = (low + high) / 2.0;
        if function(middle) > probability { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normal, seeded};
    use crate::{mean_interval, student_t};
    use proptest::prelude::*;

    fn boundaries(fractions: &[f64], alpha: f64) -> Vec<f64> {
        error_spending(fractions, alpha).unwrap().iter().map(|look| look.boundary).collect()
    }

    fn close(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() <= tolerance, "{found:?} {expected:?}");
        }
    }

    /// Five equal looks at 0.05, as printed by ldbounds and by Reboussin et al. (2000).
    #[test]
    fn boundaries_of_five_looks_match_published_values() {
        close(
            &boundaries(&[0.2, 0.4, 0.6, 0.8, 1.0], 0.05),
            &[4.877, 3.357, 2.680, 2.290, 2.031],
            5e-4,
        );
    }

    /// The same recursion by the trapezoid rule over 4,001 points, in numpy and scipy.
    #[test]
    fn boundaries_of_uneven_looks_match_scipy() {
        close(
            &boundaries(&[0.5, 2.0 / 3.0, 5.0 / 6.0, 1.0], 0.05),
            &[2.96259, 2.53814, 2.25205, 2.04473],
            2e-5,
        );
        close(&boundaries(&[0.5, 1.0], 0.05), &[2.96259, 1.9686], 2e-5);
        close(&boundaries(&[0.5, 0.75, 1.0], 0.10), &[2.53799, 2.01592, 1.72013], 2e-5);
        close(
            &boundaries(&[0.25, 0.5, 0.75, 1.0], 0.05),
            &[4.33263, 2.96313, 2.35904, 2.01409],
            2e-5,
        );
        close(&boundaries(&[0.3, 0.35, 1.0], 0.01), &[4.99273, 4.61258, 2.57588], 2e-5);
    }

    #[test]
    fn single_look_spends_all_and_early_look_cannot_stop() {
        let only = error_spending(&[1.0], 0.05).unwrap()[0];
        close(&[only.boundary, only.significance, only.spent], &[1.959964, 0.05, 0.05], 1e-6);
        let looks = error_spending(&[0.01, 1.0], 0.05).unwrap();
        assert_eq!((looks[0].boundary, looks[0].significance), (f64::INFINITY, 0.0));
        close(&[looks[1].boundary], &[1.959964], 1e-6);
        let (_, interval) = mean_interval(&[1.0, 2.0, 3.0], looks[0].confidence()).unwrap();
        assert_eq!((interval.low, interval.high), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn invalid_plans_give_none() {
        for (fractions, alpha) in [
            (&[][..], 0.05),
            (&[0.0, 1.0], 0.05),
            (&[0.5, 0.5], 0.05),
            (&[0.8, 0.5], 0.05),
            (&[1.1], 0.05),
            (&[f64::NAN], 0.05),
            (&[1.0], 0.0),
            (&[1.0], 1.0),
            (&[1.0], f64::NAN),
        ] {
            assert_eq!(error_spending(fractions, alpha), None, "{fractions:?} {alpha}");
        }
    }

    /// Looks at 6, 8, 10 and 12 blocks with their t intervals. The error stays near the planned 5
    /// %. As many looks at 95 % err about twice as often.
    #[test]
    fn few_blocks_keep_the_planned_error() {
        let at = [6usize, 8, 10, 12];
        let looks = error_spending(&at.map(|n| n as f64 / 12.0), 0.05).unwrap();
        let limits: Vec<(f64, f64)> = looks
            .iter()
            .zip(at)
            .map(|(look, n)| (student_t(look.confidence(), n - 1), student_t(0.95, n - 1)))
            .collect();
        let (mut planned, mut naive) = (0, 0);
        let runs = 40_000;
        let mut random = seeded(21, 0);
        for _ in 0..runs {
            let values: [f64; 12] = std::array::from_fn(|_| normal(&mut random));
            let t = at.map(|n| {
                let (mean, deviation) = (
                    crate::mean(&values[..n]).unwrap(),
                    crate::sample_deviation(&values[..n]).unwrap(),
                );
                (mean / (deviation / (n as f64).sqrt())).abs()
            });
            planned += usize::from(t.iter().zip(&limits).any(|(t, (limit, _))| t > limit));
            naive += usize::from(t.iter().zip(&limits).any(|(t, (_, limit))| t > limit));
        }
        let share = |count: usize| count as f64 / f64::from(runs);
        // Four standard deviations of a share of 5 % are 0.0044.
        assert!((share(planned) - 0.05).abs() < 0.0044 + 0.002, "{}", share(planned));
        assert!(share(naive) > 0.08, "{}", share(naive));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn looks_spend_all_error_and_never_exceed_it(steps in prop::collection::vec(1u32..20, 1..6), alpha in 0.001f64..0.3) {
            let all: u32 = steps.iter().sum();
            let fractions: Vec<f64> = steps.iter().scan(0, |sum, s| { *sum += s; Some(f64::from(*sum) / f64::from(all)) }).collect();
            let looks = error_spending(&fractions, alpha).unwrap();
            prop_assert!((looks.last().unwrap().spent - alpha).abs() < 1e-9);
            prop_assert!(looks.windows(2).all(|pair| pair[0].spent <= pair[1].spent));
            prop_assert!(looks.iter().all(|look| look.significance <= look.spent + 1e-9));
        }
    }
}
