//! Tests whether a series is stationary.

/// Significance and critical value, from table 1 of the paper (about a level).
const CRITICAL: [(f64, f64); 4] = [(0.10, 0.347), (0.05, 0.463), (0.025, 0.574), (0.01, 0.739)];

/// The result of the test of Kwiatkowski, Phillips, Schmidt and Shin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kpss {
    /// The larger it is, the less the series stays at one level.
    pub statistic: f64,
    /// The p-value of the hypothesis that the series is stationary. Interpolated in the paper's
    /// table, so between 0.01 and 0.10.
    pub p: f64,
}

/// Returns the number of lags for short-term correlation: `⌊4·(n/100)^¼⌋`, the paper's l4.
pub fn kpss_lags(length: usize) -> usize {
    (4.0 * (length as f64 / 100.0).powf(0.25)) as usize
}

/// Tests whether a series is stationary about a level, with Bartlett's window over the given lags.
///
/// Kwiatkowski, Phillips, Schmidt and Shin, *Journal of Econometrics* 54, 1992, eqs. 10 and 11 with
/// residuals from the mean. A constant series is stationary. Returns `None` for fewer than three
/// values, for as many lags as values, or if a value is not finite.
pub fn kpss(values: &[f64], lags: usize) -> Option<Kpss> {
    let n = values.len();
    if n < 3 || lags >= n || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let centre = crate::mean(values)?;
    let residuals: Vec<f64> = values.iter().map(|v| v - centre).collect();
    let lagged = |lag: usize| {
        residuals[lag..].iter().zip(&residuals).map(|(now, before)| now * before).sum::<f64>()
    };
    let window = |lag: usize| 1.0 - lag as f64 / (lags + 1) as f64;
    let long_run =
        (lagged(0) + 2.0 * (1..=lags).map(|lag| window(lag) * lagged(lag)).sum::<f64>()) / n as f64;
    let mut sum = 0.0;
    let squares: f64 = residuals
        .iter()
        .map(|r| {
            sum += r;
            sum * sum
        })
        .sum();
    // If the values differ only by rounding, the series is constant.
    let rounding = centre.abs() * f64::EPSILON * n as f64;
    let statistic =
        if long_run <= rounding * rounding { 0.0 } else { squares / (n * n) as f64 / long_run };
    Some(Kpss { statistic, p: p_value(statistic) })
}

fn p_value(statistic: f64) -> f64 {
    let after = CRITICAL.iter().position(|(_, critical)| statistic < *critical);
    match after {
        Some(0) => CRITICAL[0].0,
        None => CRITICAL[CRITICAL.len() - 1].0,
        Some(at) => {
            let ((p_before, before), (p_after, after)) = (CRITICAL[at - 1], CRITICAL[at]);
            p_before + (p_after - p_before) * (statistic - before) / (after - before)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_points::tests::NILE;
    use crate::random::{normal, seeded};

    /// statsmodels 0.15: `kpss(nile, regression="c", nlags=...)`.
    #[test]
    fn nile_is_not_stationary() {
        for (lags, statistic, p) in [
            (0, 2.5264564549208757, 0.01),
            (4, 0.96543490775266, 0.01),
            (12, 0.5497197024396356, 0.030468535486568544),
        ] {
            let found = kpss(&NILE, lags).unwrap();
            assert!(
                (found.statistic - statistic).abs() < 1e-12 && (found.p - p).abs() < 1e-12,
                "{found:?}"
            );
        }
        assert_eq!((kpss_lags(100), kpss_lags(30), kpss_lags(1_000)), (4, 2, 7));
    }

    #[test]
    fn critical_values_match_the_table() {
        for (p, critical) in CRITICAL {
            assert!((p_value(critical) - p).abs() < 1e-12);
        }
        assert_eq!((p_value(0.0), p_value(99.0), p_value(f64::INFINITY)), (0.10, 0.01, 0.01));
    }

    #[test]
    fn noise_is_stationary_and_a_ramp_is_not() {
        let rejected = |slope: f64| {
            let of = |seed| {
                let mut random = seeded(seed, 0);
                let values: Vec<f64> =
                    (0..200).map(|i| normal(&mut random) + slope * f64::from(i)).collect();
                kpss(&values, kpss_lags(200)).unwrap().p < 0.05
            };
            (0..400).filter(|seed| of(*seed)).count()
        };
        // 5 % of 400 are 20, with a standard deviation of 4.4.
        assert!((5..=46).contains(&rejected(0.0)), "{}", rejected(0.0));
        assert_eq!(rejected(0.02), 400);
    }

    #[test]
    fn short_constant_and_invalid_series() {
        assert_eq!(kpss(&[0.1; 50], 3), Some(Kpss { statistic: 0.0, p: 0.10 }));
        assert_eq!(
            (kpss(&[1.0, 2.0], 0), kpss(&[1.0, 2.0, 3.0], 3), kpss(&[1.0, f64::NAN, 2.0], 0)),
            (None, None, None)
        );
    }
}
