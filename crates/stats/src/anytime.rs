//! Confidence intervals that hold at every interim analysis, so that a comparison may stop as soon
//! as it is decided.
//!
//! A 95 % t interval misses the truth in 5 % of the experiments if it is computed once. Computed
//! after every value, it misses far more often. A *confidence sequence* is a series of intervals
//! that all contain the truth together with the stated confidence. A run may stop at any of them,
//! for any reason.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The variance of the normal prior for the effect, in standard deviations of the values.
///
/// With a larger variance, large effects need fewer values and small effects need more. With 2, six
/// values need 1.9 times the width of a t interval, and sixty need 1.7 times.
const PRIOR_VARIANCE: f64 = 2.0;

/// Returns the confidence at which the t interval of `n` values is as wide as the confidence
/// sequence at confidence `1 - alpha`. Returns 1 if the sequence is still unbounded. May be used
/// after every value, without limit.
///
/// The sequence inverts a likelihood ratio. It compares the mean μ with a mixture of means `μ +
/// δσ`, where `δ ~ N(0, 1/c)` and σ is unknown (Lai, *Annals of Statistics* 4, 1976; Wang and
/// Ramdas, *Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
/// variance*, 2023, theorem 4.7).
///
/// Let `S` be the sum of `x − μ` and `V` the sum of its squares. The ratio is `√(c/(n+c)) · (V / (V
/// − S²/(n+c)))^(n/2)`. It exceeds `1/alpha` with probability at most `alpha`, over all `n`
/// (Ville's inequality). It depends on the data only through the t statistic, so its bound is a
/// quantile of t.
pub fn anytime_confidence(n: usize, alpha: f64) -> f64 {
    let never = 1.0;
    if n < 2 || !(alpha > 0.0 && alpha < 1.0) {
        return never;
    }
    let (n, c) = (n as f64, 1.0 / PRIOR_VARIANCE);
    let k = (((n + c) / c).sqrt() / alpha).powf(2.0 / n);
    let left = 1.0 - k * c / (n + c);
    if left <= 0.0 {
        return never;
    }
    let t = ((n - 1.0) * (k - 1.0) / left).sqrt();
    match StudentsT::new(0.0, 1.0, n - 1.0) {
        Ok(distribution) => 1.0 - 2.0 * distribution.sf(t),
        Err(_) => never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normal, seeded};
    use crate::{mean_interval, student_t};

    /// The likelihood ratio itself, for the hypothesis that the mean is zero.
    fn ratio(values: &[f64]) -> f64 {
        let (n, c) = (values.len() as f64, 1.0 / PRIOR_VARIANCE);
        let (s, v) = (values.iter().sum::<f64>(), values.iter().map(|x| x * x).sum::<f64>());
        (c / (n + c)).sqrt() * (v / (v - s * s / (n + c))).powf(n / 2.0)
    }

    #[test]
    fn interval_ends_where_the_ratio_is_one_over_alpha() {
        let values = [1.3, 0.2, 2.2, 0.9, 1.4, 1.1, 0.4, 1.9, 1.0];
        for n in 4..=values.len() {
            let (_, interval) = mean_interval(&values[..n], anytime_confidence(n, 0.05)).unwrap();
            for end in [interval.low, interval.high] {
                let from_end: Vec<f64> = values[..n].iter().map(|x| x - end).collect();
                assert!((ratio(&from_end) * 0.05 - 1.0).abs() < 1e-6, "{n}: {}", ratio(&from_end));
            }
        }
    }

    #[test]
    fn interval_is_less_than_twice_as_wide_as_t() {
        let wider =
            |n: usize| student_t(anytime_confidence(n, 0.05), n - 1) / student_t(0.95, n - 1);
        assert!((1.8..1.95).contains(&wider(6)), "{}", wider(6));
        assert!((1.65..1.8).contains(&wider(60)), "{}", wider(60));
    }

    #[test]
    fn too_few_values_have_an_unbounded_interval() {
        assert_eq!([0, 1, 3].map(|n| anytime_confidence(n, 0.05)), [1.0; 3]);
        assert!(anytime_confidence(4, 0.05) < 1.0);
        assert_eq!([0.0, 1.0, f64::NAN].map(|alpha| anytime_confidence(10, alpha)), [1.0; 3]);
    }

    /// Tests after every value from 6 to 100. The naive interval misses the truth in a third of the
    /// experiments, this one in at most 5 %.
    #[test]
    fn testing_after_every_value_keeps_the_error() {
        let most = 100;
        let naive: Vec<f64> = (6..=most).map(|n| student_t(0.95, n - 1)).collect();
        let anytime: Vec<f64> =
            (6..=most).map(|n| student_t(anytime_confidence(n, 0.05), n - 1)).collect();
        let (mut naive_missed, mut missed) = (0, 0);
        let runs = 4_000;
        let mut random = seeded(45, 0);
        for _ in 0..runs {
            let (mut sum, mut squares) = (0.0, 0.0);
            let (mut of_naive, mut of_anytime) = (false, false);
            for n in 1..=most {
                let x = normal(&mut random);
                (sum, squares) = (sum + x, squares + x * x);
                if n >= 6 {
                    let count = n as f64;
                    let deviation = ((squares - sum * sum / count) / (count - 1.0)).sqrt();
                    let t = (sum / count / (deviation / count.sqrt())).abs();
                    of_naive |= t > naive[n - 6];
                    of_anytime |= t > anytime[n - 6];
                }
            }
            naive_missed += u32::from(of_naive);
            missed += u32::from(of_anytime);
        }
        let share = |count: u32| f64::from(count) / f64::from(runs);
        assert!(share(naive_missed) > 0.25, "{}", share(naive_missed));
        assert!(share(missed) < 0.05, "{}", share(missed));
    }
}
