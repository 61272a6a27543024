//! One-sided t tests of a mean.
//!
//! Two of them, one at each end of a margin, show equivalence (Schuirmann, *Journal of
//! Pharmacokinetics and Biopharmaceutics* 15, 1987). The larger p is at most α exactly if the
//! interval with confidence 1 − 2α is within the margin.

use crate::{mean, sample_deviation};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the p-value of the claim that the mean is above `bound`, by the one-sided t test. A
/// small p supports the claim. `None` for fewer than two values, or if one is not finite.
pub fn p_above(values: &[f64], bound: f64) -> Option<f64> {
    let (centre, deviation) = (mean(values)?, sample_deviation(values)?);
    let distance = centre - bound;
    if !(distance.is_finite() && deviation.is_finite()) {
        return None;
    }
    if deviation == 0.0 {
        return Some(if distance > 0.0 { 0.0 } else { 1.0 });
    }
    let t = StudentsT::new(0.0, 1.0, (values.len() - 1) as f64).ok()?;
    Some(t.sf(distance / (deviation / (values.len() as f64).sqrt())))
}

/// Returns the p-value of the claim that the mean is below `bound`, as [`p_above`].
pub fn p_below(values: &[f64], bound: f64) -> Option<f64> {
    p_above(&values.iter().map(|v| -v).collect::<Vec<_>>(), -bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLEEP: [f64; 10] = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];

    fn p_equivalent(values: &[f64], low: f64, high: f64) -> Option<f64> {
        Some(p_above(values, low)?.max(p_below(values, high)?))
    }

    fn close(a: Option<f64>, b: f64) {
        assert!((a.unwrap() / b - 1.0).abs() < 1e-9, "{a:?} {b}");
    }

    /// scipy 1.17 `ttest_1samp` and statsmodels 0.15 `ttost_paired` on Student's sleep data.
    #[test]
    fn sleep_data_match_scipy_and_statsmodels() {
        close(p_above(&SLEEP, 1.0), 0.08505588544871145);
        close(p_below(&SLEEP, 2.5), 0.02111686024650077);
        close(p_equivalent(&SLEEP, 0.5, 2.5), 0.021116860246500745);
        close(p_equivalent(&SLEEP, -3.0, 3.0), 0.002655570292658671);
    }

    #[test]
    fn constant_values_are_certain_and_too_few_give_none() {
        assert_eq!(
            (p_above(&[1.0; 6], 0.5), p_above(&[1.0; 6], 1.0), p_below(&[1.0; 6], 0.5)),
            (Some(0.0), Some(1.0), Some(1.0))
        );
        assert_eq!(
            (p_above(&[1.0], 0.0), p_above(&[], 0.0), p_above(&[1.0, f64::NAN], 0.0)),
            (None, None, None)
        );
        assert_eq!(p_below(&[1.0, 2.0], f64::NAN), None);
    }

    proptest! {
        #[test]
        fn tests_agree_with_the_interval(values in prop::collection::vec(-1.0f64..1.0, 3..20), low in -1.0f64..0.0, high in 0.0f64..1.0) {
            let p = p_equivalent(&values, low, high).unwrap();
            let (_, interval) = crate::mean_interval(&values, 0.9).unwrap();
            if (p - 0.05).abs() > 1e-9 {
                prop_assert_eq!(p < 0.05, low <= interval.low && interval.high <= high);
            }
        }
    }
}
