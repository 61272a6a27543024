//! Determines which quantiles a sample of a given size supports.

/// The 97.5 % point of the normal distribution, for a two-sided 95 % interval.
const Z: f64 = 1.96;

/// Returns the fewest samples from which a quantile may be printed.
///
/// This is the smallest n for which both ends of the 95 % order-statistic interval exist: `j =
/// floor(np − z·√(np(1−p))) ≥ 1` and `k = ceil(np + z·√(np(1−p))) + 1 ≤ n` (Le Boudec, *Performance
/// Evaluation of Computer and Communication Systems*, 2010, §2.2.3). The quantiles 0 and 1 are
/// extremes and need one sample.
pub fn smallest_sample(quantile: f64) -> u64 {
    if quantile <= 0.0 || quantile >= 1.0 {
        return 1;
    }
    let enough = |n: u64| {
        let n = n as f64;
        let half = Z * (n * quantile * (1.0 - quantile)).sqrt();
        (n * quantile - half).floor() >= 1.0 && (n * quantile + half).ceil() + 1.0 <= n
    };
    // Below z²·p/(1−p) (or its mirror), one end certainly does not exist. The search starts there.
    let rarer = quantile.max(1.0 - quantile);
    let certain = (Z * Z * rarer / (1.0 - rarer)).floor() as u64;
    (certain.max(2)..).find(|n| enough(*n)).expect("both ends exist for a large enough sample")
}

/// Returns the requested quantiles that `samples` support.
pub fn supported_quantiles(samples: u64, quantiles: &[f64]) -> impl Iterator<Item = f64> + '_ {
    quantiles.iter().copied().filter(move |q| samples >= smallest_sample(*q))
}

/// Returns the ranks, counted from 1, of the two samples that enclose a quantile with at least this
/// confidence, for any distribution and with equal tails.
///
/// They are the largest j with `P(B < j) ≤ (1 − c)/2` and the smallest k with `P(B ≥ k) ≤ (1 −
/// c)/2`, where B is binomial(n, p) (Conover, *Practical Nonparametric Statistics*, 3rd ed. 1999,
/// §3.2). Samples must be independent. Within a trial they are not, and the interval is then too
/// narrow. Returns `None` if a rank is beyond the samples.
pub fn quantile_ranks(samples: u64, quantile: f64, confidence: f64) -> Option<(u64, u64)> {
    if !(quantile > 0.0 && quantile < 1.0 && confidence > 0.0 && confidence < 1.0) || samples == 0 {
        return None;
    }
    let n = samples as f64;
    let odds = quantile / (1.0 - quantile);
    // P(k+1)/P(k). Weights are relative to the mode, so the relevant ones do not underflow.
    let ratio = |k: u64| (n - k as f64) / (k as f64 + 1.0) * odds;
    let negligible = 1e-20;
    let mode = (((n + 1.0) * quantile).floor() as u64).min(samples);
    let (mut first, mut first_weight, mut total) = (mode, 1.0, 1.0);
    while first > 0 && first_weight > negligible {
        first -= 1;
        first_weight /= ratio(first);
        total += first_weight;
    }
    let (mut last, mut last_weight) = (mode, 1.0);
    while last < samples && last_weight > negligible {
        last_weight *= ratio(last);
        last += 1;
        total += last_weight;
    }
    let tail = (1.0 - confidence) / 2.0 * total;
    let (mut low, mut below) = (first, first_weight);
    while below <= tail {
        first_weight *= ratio(low);
        below += first_weight;
        low += 1;
    }
    let (mut high, mut above) = (last + 1, last_weight);
    while above <= tail {
        last_weight /= ratio(high - 2);
        above += last_weight;
        high -= 1;
    }
    (low >= 1 && high <= samples).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn smallest_samples_match_published_values() {
        let found: Vec<u64> =
            [0.5, 0.9, 0.99, 0.999, 0.9999].into_iter().map(smallest_sample).collect();
        assert_eq!(found, [8, 53, 563, 5_662, 56_647]);
    }

    #[test]
    fn unsupported_quantiles_are_omitted() {
        let kept: Vec<f64> = supported_quantiles(600, &[0.5, 0.99, 0.999]).collect();
        assert_eq!(kept, [0.5, 0.99]);
    }

    /// Binomial quantiles from scipy 1.17.
    #[test]
    fn ranks_match_the_exact_binomial() {
        for (samples, quantile, confidence, ranks) in [
            (5, 0.5, 0.95, None),
            (6, 0.5, 0.95, Some((1, 6))),
            (8, 0.5, 0.95, Some((1, 8))),
            (9, 0.5, 0.95, Some((2, 8))),
            (25, 0.5, 0.95, Some((8, 18))),
            (100, 0.5, 0.95, Some((40, 61))),
            (100, 0.9, 0.95, Some((84, 96))),
            (367, 0.99, 0.95, None),
            (500, 0.99, 0.95, Some((490, 500))),
            (1_000, 0.99, 0.95, Some((983, 997))),
            (1_000_000, 0.999, 0.95, Some((998_938, 999_062))),
            (100_000_000, 0.5, 0.99, Some((49_987_121, 50_012_880))),
        ] {
            assert_eq!(
                quantile_ranks(samples, quantile, confidence),
                ranks,
                "{samples} {quantile}"
            );
        }
    }

    proptest! {
        #[test]
        fn ranks_enclose_the_quantile_symmetrically(samples in 1u64..20_000, quantile in 0.001f64..0.999, confidence in 0.5f64..0.999) {
            if let Some((low, high)) = quantile_ranks(samples, quantile, confidence) {
                prop_assert!(1 <= low && low < high && high <= samples);
                prop_assert!(low as f64 <= samples as f64 * quantile + 1.0 && high as f64 >= samples as f64 * quantile);
                let (mirrored_low, mirrored_high) = quantile_ranks(samples, 1.0 - quantile, confidence).unwrap();
                prop_assert!(mirrored_low.abs_diff(samples + 1 - high) <= 1 && mirrored_high.abs_diff(samples + 1 - low) <= 1);
            }
        }

        #[test]
        fn invalid_probability_has_no_ranks(samples in any::<u64>(), bad in prop::sample::select(vec![0.0, 1.0, -1.0, 2.0, f64::NAN])) {
            prop_assert_eq!(quantile_ranks(samples, bad, 0.95), None);
            prop_assert_eq!(quantile_ranks(samples, 0.5, bad), None);
        }
    }
}
