//! Tests whether arrivals follow their schedule, with the Anderson-Darling test of a distribution.
//!
//! The test weighs both ends of a distribution more than its middle. [`uniform`] tests instants,
//! [`exponential`] the gaps between them.

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AndersonDarling {
    /// A². The larger it is, the worse the fit.
    pub statistic: f64,
    /// The p-value of the hypothesis that the values have this distribution.
    pub p: f64,
}

/// Tests whether values are uniform in 0..1, and sorts them in place.
///
/// The instants of a Poisson process, divided by the duration, are uniform at any rate (Cox and
/// Lewis, *The Statistical Analysis of Series of Events*, 1966, §6.3). So the test also finds a
/// rate that drifts.
///
/// The distribution is fully specified. The p-value is that of large samples (Marsaglia and
/// Marsaglia, *Journal of Statistical Software* 9(2), 2004), accurate to about 0.005 from five
/// values on. Returns `None` for fewer than five values, or if one is not a number.
pub fn uniform(values: &mut [f64]) -> Option<AndersonDarling> {
    let statistic = statistic(values)?;
    Some(AndersonDarling { statistic, p: 1.0 - limit(statistic) })
}

/// Tests whether gaps are exponential with a known mean, in the unit of the gaps. Sorts them in
/// place and replaces them by probabilities. Otherwise as [`uniform`].
pub fn exponential(gaps: &mut [f64], mean: f64) -> Option<AndersonDarling> {
    to_probabilities(gaps, mean);
    uniform(gaps)
}

/// Tests whether gaps are exponential with any mean. Sorts them in place and replaces them by
/// probabilities.
///
/// The p-value is that of `A²·(1 + 0.6/n)` (D'Agostino and Stephens, *Goodness-of-Fit Techniques*,
/// 1986, table 4.14). Returns `None` as [`uniform`].
pub fn exponential_of_any_mean(gaps: &mut [f64]) -> Option<AndersonDarling> {
    let mean = crate::mean(gaps)?;
    to_probabilities(gaps, mean);
    let statistic = statistic(gaps)?;
    let a = statistic * (1.0 + 0.6 / gaps.len() as f64);
    let p = match a {
        _ if a < 0.26 => 1.0 - (-12.2204 + 67.459 * a - 110.3 * a * a).exp(),
        _ if a < 0.51 => 1.0 - (-6.1327 + 20.218 * a - 18.663 * a * a).exp(),
        _ if a < 0.95 => (0.9209 - 3.353 * a + 0.300 * a * a).exp(),
        // Beyond its vertex, the parabola would rise again.
        _ => (0.731 - 3.009 * a.min(10.0) + 0.15 * a.min(10.0).powi(2)).exp(),
    };
    Some(AndersonDarling { statistic, p })
}

fn to_probabilities(gaps: &mut [f64], mean: f64) {
    gaps.iter_mut().for_each(|gap| *gap = -(-*gap / mean).exp_m1());
}

/// Computes A² of values that should be uniform (Anderson and Darling, *JASA* 49, 1954).
fn statistic(probabilities: &mut [f64]) -> Option<f64> {
    let n = probabilities.len();
    if n < 5 || probabilities.iter().any(|p| p.is_nan()) {
        return None;
    }
    probabilities.sort_unstable_by(f64::total_cmp);
    // A gap that a clock rounds to zero must not refute the distribution.
    let at = |i: usize| probabilities[i].clamp(1e-12, 1.0 - 1e-12);
    let sum: f64 =
        (0..n).map(|i| (2 * i + 1) as f64 * (at(i).ln() + (-at(n - 1 - i)).ln_1p())).sum();
    Some(-(n as f64) - sum / n as f64)
}

/// Returns the probability of a smaller A² in a large sample (`adinf` of Marsaglia and Marsaglia).
fn limit(z: f64) -> f64 {
    let horner = |coefficients: &[f64]| coefficients.iter().rev().fold(0.0, |sum, c| sum * z + c);
    let probability = match z {
        _ if z <= 0.0 => 0.0,
        _ if z < 2.0 => {
            (-1.2337141 / z).exp() / z.sqrt()
                * horner(&[2.00012, 0.247105, -0.0649821, 0.0347962, -0.0116720, 0.00168691])
        }
        _ => (-horner(&[1.0776, -2.30695, 0.43424, -0.082433, 0.008056, -0.0003146]).exp()).exp(),
    };
    probability.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::seeded;
    use chacha20::rand_core::Rng;
    use proptest::prelude::*;

    const GAPS: [f64; 12] = [0.11, 0.27, 0.45, 0.03, 1.9, 0.82, 0.66, 2.4, 0.35, 1.2, 0.09, 0.71];

    /// The formula in numpy 2.4, and scipy 1.17 `anderson(x, "expon")`.
    #[test]
    fn statistics_of_twelve_gaps_match_scipy() {
        assert!(
            (exponential(&mut GAPS.clone(), 1.0).unwrap().statistic - 0.5120630281465655).abs()
                < 1e-12
        );
        assert!(
            (exponential_of_any_mean(&mut GAPS.clone()).unwrap().statistic - 0.14942319242095436)
                .abs()
                < 1e-12
        );
    }

    /// Stephens, *JASA* 69 (1974), table 1A: the limits of the fully specified case.
    #[test]
    fn critical_values_match_stephens() {
        for (significance, critical) in
            [(0.10, 1.933), (0.05, 2.492), (0.025, 3.070), (0.01, 3.857)]
        {
            assert!(
                (1.0 - limit(critical) - significance).abs() < 5e-4,
                "{significance} {}",
                1.0 - limit(critical)
            );
        }
    }

    fn uniforms(seed: u64, n: usize) -> Vec<f64> {
        let mut random = seeded(seed, 0);
        (0..n).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).collect()
    }

    #[test]
    fn p_is_uniform_when_the_distribution_is_right() {
        let gaps =
            |seed| uniforms(seed, 40).iter().map(|u| -3.0 * (1.0 - u).ln()).collect::<Vec<_>>();
        for test in [
            &(|seed| uniform(&mut uniforms(seed, 40)).unwrap().p) as &dyn Fn(u64) -> f64,
            &|seed| exponential(&mut gaps(seed), 3.0).unwrap().p,
            &|seed| exponential_of_any_mean(&mut gaps(seed)).unwrap().p,
        ] {
            let found: Vec<f64> = (0..2_000).map(test).collect();
            for level in [0.01, 0.05, 0.5, 0.9] {
                let below = found.iter().filter(|p| **p < level).count() as f64 / 2_000.0;
                let deviation = (level * (1.0 - level) / 2_000.0f64).sqrt();
                assert!((below - level).abs() < 4.0 * deviation + 0.005, "{level} {below}");
            }
        }
    }

    #[test]
    fn even_arrivals_and_drifting_rates_are_rejected() {
        let mut even: Vec<f64> = vec![1.0; 500];
        assert!(exponential(&mut even, 1.0).unwrap().p < 1e-6);
        assert!(exponential_of_any_mean(&mut [1.0; 500]).unwrap().p < 1e-6);
        // A rate that doubles during the time.
        let mut drifting: Vec<f64> =
            uniforms(2, 500).iter().map(|u| (1.0 + 3.0 * u).sqrt() - 1.0).collect();
        assert!(uniform(&mut drifting).unwrap().p < 1e-3);
    }

    #[test]
    fn too_few_or_invalid_values_give_none() {
        assert_eq!(uniform(&mut [0.1, 0.2, 0.3, 0.4]), None);
        assert_eq!(uniform(&mut [0.1, 0.2, 0.3, 0.4, f64::NAN]), None);
        assert_eq!(exponential(&mut GAPS.clone(), f64::NAN), None);
        assert_eq!(exponential_of_any_mean(&mut []), None);
        assert_eq!(exponential_of_any_mean(&mut [0.0; 9]), None);
    }

    proptest! {
        #[test]
        fn p_is_a_decreasing_probability(values in prop::collection::vec(-0.5f64..1.5, 5..60), z in 0.0f64..400.0, step in 0.0f64..1.0) {
            let found = uniform(&mut values.clone()).unwrap();
            prop_assert!((0.0..=1.0).contains(&found.p) && found.statistic.is_finite());
            prop_assert!(limit(z + step) >= limit(z) - 1e-5);
            let gaps = exponential_of_any_mean(&mut values.iter().map(|v| v.abs() + 1e-9).collect::<Vec<_>>()).unwrap();
            prop_assert!((0.0..=1.0).contains(&gaps.p));
        }
    }
}
