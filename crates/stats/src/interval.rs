//! Confidence intervals for means, differences and ratios over paired blocks.
//!
//! Start with [`paired_ratio`].

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The ratio of two systems over blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairedRatio {
    /// Geometric mean of the blocks' ratios.
    pub ratio: f64,
    /// Its confidence interval.
    pub interval: Interval,
    /// Standard deviation of the blocks' log-ratios.
    pub log_deviation: f64,
}

/// Returns the arithmetic mean, or `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the geometric mean. `None` without values or if one is not positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|v| *v <= 0.0) {
        return None;
    }
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).map(f64::exp)
}

/// Returns the median: the middle value, or the mean of the two middle ones. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// Returns the sample standard deviation (n − 1). `None` for fewer than two values.
pub fn sample_deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    (values.len() > 1).then(|| {
        (values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
            .sqrt()
    })
}

/// Returns the two-sided critical value of Student's t distribution: the absolute value of t
/// exceeds it with probability `1 − confidence`.
pub fn student_t(confidence: f64, degrees_of_freedom: usize) -> f64 {
    let t = StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1) as f64)
        .expect("at least one degree of freedom");
    t.inverse_cdf(0.5 + confidence / 2.0)
}

/// Returns the mean and its t interval: `x̄ ± t(n−1)·s/√n` (Student 1908). `None` for fewer than
/// two values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    let (centre, deviation) = (mean(values)?, sample_deviation(values)?);
    let half = student_t(confidence, values.len() - 1) * deviation / (values.len() as f64).sqrt();
    Some((centre, Interval { low: centre - half, high: centre + half }))
}

/// Returns the ratio `a/b` over pairs `(a, b)`, one pair for each block.
///
/// The interval is the t interval of `ln(a/b)`, transformed back. Drift slower than a block
/// cancels. `None` for fewer than two pairs, or if a value is not positive.
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<PairedRatio> {
    if pairs.iter().any(|(a, b)| !(*a > 0.0 && *b > 0.0 && a.is_finite() && b.is_finite())) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
    let (centre, interval) = mean_interval(&logs, confidence)?;
    Some(PairedRatio {
        ratio: centre.exp(),
        interval: Interval { low: interval.low.exp(), high: interval.high.exp() },
        log_deviation: sample_deviation(&logs)?,
    })
}

/// Returns the difference `a − b` over pairs, for values that may be zero. `None` for fewer than
/// two pairs.
pub fn paired_difference(pairs: &[(f64, f64)], confidence: f64) -> Option<(f64, Interval)> {
    mean_interval(&pairs.iter().map(|(a, b)| a - b).collect::<Vec<_>>(), confidence)
}

/// Estimates how many blocks an interval needs to be no wider than `half_width` on each side, given
/// the standard deviation of log-ratios.
///
/// This is the smallest n with `t(n−1)·s/√n ≤ half_width`. Searches up to `most`, and returns
/// `None` beyond.
pub fn pairs_needed(
    log_deviation: f64,
    half_width: f64,
    confidence: f64,
    most: usize,
) -> Option<usize> {
    let reaches =
        |n: usize| student_t(confidence, n - 1) * log_deviation / (n as f64).sqrt() <= half_width;
    // The width decreases with n, so bisection finds the first that suffices.
    let (mut below, mut above) = (1, most);
    if most < 2 || !reaches(most) {
        return None;
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if reaches(middle) { above = middle } else { below = middle }
    }
    Some(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not within {tolerance} of {b}");
    }

    #[test]
    fn critical_values_match_printed_tables() {
        for (confidence, df, printed) in [
            (0.95, 1, 12.706),
            (0.95, 5, 2.571),
            (0.90, 5, 2.015),
            (0.95, 11, 2.201),
            (0.99, 10, 3.169),
            (0.95, 120, 1.980),
        ] {
            close(student_t(confidence, df), printed, 5e-4);
        }
    }

    /// Early interim analyses need them. From scipy 1.17 `t.isf`.
    #[test]
    fn extreme_critical_values_match_scipy() {
        for (significance, df, expected) in [
            (0.00305065, 5, 5.355433275327351),
            (1.07774e-6, 5, 28.052982735052275),
            (1.07774e-6, 11, 9.628549465755285),
            (1e-9, 5, 113.65505107641252),
        ] {
            let found = student_t(1.0 - significance, df);
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        }
    }

    /// Student (1908), *The Probable Error of a Mean*, table of Cushny and Peebles: additional
    /// hours of sleep with two drugs, ten patients. The mean difference is 1.58, with s = 1.23 (n −
    /// 1) and t = 4.06.
    #[test]
    fn sleep_data_match_students_t_test() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let pairs: Vec<(f64, f64)> = second.into_iter().zip(first).collect();
        let (difference, interval) = paired_difference(&pairs, 0.95).unwrap();
        close(difference, 1.58, 1e-9);
        // R: t.test(second, first, paired = TRUE) prints 0.7001142 2.4598858.
        close(interval.low, 0.7001142, 1e-6);
        close(interval.high, 2.4598858, 1e-6);
    }

    #[test]
    fn constant_ratio_has_an_interval_of_zero_width() {
        let found = paired_ratio(&[(2.0, 1.0), (4.0, 2.0), (20.0, 10.0)], 0.95).unwrap();
        close(found.ratio, 2.0, 1e-12);
        close(found.interval.high - found.interval.low, 0.0, 1e-9);
    }

    #[test]
    fn ratio_of_swapped_sides_is_the_inverse() {
        let pairs = [(1.0, 2.0), (1.5, 2.5), (0.9, 2.2), (1.2, 2.0)];
        let there = paired_ratio(&pairs, 0.95).unwrap();
        let back = paired_ratio(&pairs.map(|(a, b)| (b, a)), 0.95).unwrap();
        close(there.ratio * back.ratio, 1.0, 1e-12);
        close(there.interval.low * back.interval.high, 1.0, 1e-12);
    }

    #[test]
    fn zeros_and_too_few_pairs_give_no_ratio() {
        assert!(paired_ratio(&[(1.0, 1.0)], 0.95).is_none());
        assert!(paired_ratio(&[(1.0, 1.0), (0.0, 1.0)], 0.95).is_none());
        assert!(paired_ratio(&[(1.0, 1.0), (f64::NAN, 1.0)], 0.95).is_none());
    }

    #[test]
    fn blocks_needed_shrink_with_the_spread() {
        let few = pairs_needed(0.02, 0.05, 0.95, 1000).unwrap();
        let many = pairs_needed(0.20, 0.05, 0.95, 1000).unwrap();
        assert!(few < many, "{few} {many}");
        assert_eq!(pairs_needed(5.0, 0.01, 0.95, 100), None);
    }

    #[test]
    fn median_of_odd_even_and_empty() {
        assert_eq!(
            (median(&[]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])),
            (None, Some(2.0), Some(2.5))
        );
    }
}
