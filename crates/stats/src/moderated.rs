//! The variance that many lines have in common, for tests of each line with few values.
//!
//! A t test of four differences must be cautious, because four values say little about their own
//! scatter. If hundreds of lines are measured in the same way, their scatter together says what is
//! usual. Each line then gets a variance between its own and the usual one: the moderated t test.
//! Source: Smyth, *Linear Models and Empirical Bayes Methods for Assessing Differential
//! Expression*, Statistical Applications in Genetics and Molecular Biology 3, 2004. Start with
//! [`Prior::of_variances`].

use statrs::function::gamma::digamma;

/// With fewer lines, nothing is known about the usual variance.
const LINES_MIN: usize = 5;
/// More degrees of freedom than this are as good as infinitely many.
const FREEDOM_MAX: f64 = 1e4;

/// The usual variance of a line, and how closely lines keep to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    /// The usual variance.
    pub variance: f64,
    /// The number of degrees of freedom that this knowledge is worth; 0 if nothing is known.
    pub freedom: f64,
}

impl Prior {
    const NOTHING: Prior = Prior { variance: 0.0, freedom: 0.0 };

    /// Estimates it from the variances of all lines, each with `freedom` degrees of freedom. It
    /// fits the mean and the variance of their logarithms (section 6.2 of the source).
    pub fn of_variances(variances: &[f64], freedom: usize) -> Prior {
        let half = freedom as f64 / 2.0;
        let logs: Vec<f64> = variances
            .iter()
            .filter(|v| v.is_finite() && **v > 0.0)
            .map(|v| v.ln() - digamma(half) + half.ln())
            .collect();
        if logs.len() < LINES_MIN || freedom == 0 {
            return Prior::NOTHING;
        }
        let n = logs.len() as f64;
        let centre = logs.iter().sum::<f64>() / n;
        let scatter = logs.iter().map(|e| (e - centre).powi(2)).sum::<f64>() / (n - 1.0);
        let excess = scatter - trigamma(half);
        let half_prior = if excess > 0.0 {
            inverse_trigamma(excess).min(FREEDOM_MAX / 2.0)
        } else {
            FREEDOM_MAX / 2.0
        };
        Prior {
            variance: (centre + digamma(half_prior) - half_prior.ln()).exp(),
            freedom: 2.0 * half_prior,
        }
    }

    /// Returns the moderated variance of a line, and its degrees of freedom.
    pub fn moderate(self, variance: f64, freedom: usize) -> (f64, f64) {
        let all = self.freedom + freedom as f64;
        ((self.freedom * self.variance + freedom as f64 * variance) / all, all)
    }
}

/// The derivative of the digamma function, for positive numbers: the recurrence, then the
/// asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + series * square / x
}

/// The number whose trigamma is `y`, by bisection of its logarithm: trigamma decreases.
fn inverse_trigamma(y: f64) -> f64 {
    let (mut low, mut high) = (1e-8f64.ln(), 1e8f64.ln());
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if trigamma(middle.exp()) > y { low = middle } else { high = middle }
    }
    low.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use std::f64::consts::PI;

    #[test]
    fn trigamma_has_its_known_values() {
        for (x, expected) in [
            (0.5, PI * PI / 2.0),
            (1.0, PI * PI / 6.0),
            (2.0, PI * PI / 6.0 - 1.0),
            (1.5, PI * PI / 2.0 - 4.0),
        ] {
            assert!((trigamma(x) - expected).abs() < 1e-10, "{x} {}", trigamma(x));
            assert!((inverse_trigamma(expected) / x - 1.0).abs() < 1e-8, "{x}");
        }
    }

    /// Variances of `freedom` + 1 normal values, whose true variance is `usual` times `spread()`.
    fn variances(
        freedom: usize,
        usual: f64,
        mut spread: impl FnMut(&mut Random) -> f64,
    ) -> Vec<f64> {
        let mut random = Random::new(5, 0);
        (0..4_000)
            .map(|_| {
                let of_line = usual * spread(&mut random);
                let squares = (0..freedom).map(|_| random.normal().powi(2)).sum::<f64>();
                of_line * squares / freedom as f64
            })
            .collect()
    }

    #[test]
    fn equal_variances_are_known_with_many_degrees_of_freedom() {
        let prior = Prior::of_variances(&variances(3, 4.0, |_| 1.0), 3);
        assert!((prior.variance / 4.0 - 1.0).abs() < 0.05, "{prior:?}");
        assert!(prior.freedom > 50.0, "{prior:?}");
    }

    /// The true variances are scaled inverse chi-squared with eight degrees of freedom.
    #[test]
    fn the_spread_of_true_variances_is_recovered() {
        let spread =
            |random: &mut Random| 8.0 / (0..8).map(|_| random.normal().powi(2)).sum::<f64>();
        let prior = Prior::of_variances(&variances(5, 2.0, spread), 5);
        assert!((prior.variance / 2.0 - 1.0).abs() < 0.1, "{prior:?}");
        assert!((6.0..11.0).contains(&prior.freedom), "{prior:?}");
    }

    #[test]
    fn few_lines_leave_each_variance_as_it_is() {
        let prior = Prior::of_variances(&[1.0, 2.0, f64::NAN, 0.0], 3);
        assert_eq!(prior, Prior::NOTHING);
        assert_eq!(prior.moderate(7.0, 3), (7.0, 3.0));
        let known = Prior { variance: 1.0, freedom: 9.0 };
        assert_eq!(known.moderate(5.0, 3), (2.0, 12.0));
    }
}
