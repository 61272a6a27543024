//! Which quantiles a sample of a given size supports.

/// 97.5 % point of the normal distribution, for a two-sided 95 % interval.
const Z: f64 = 1.96;

/// The fewest samples from which a quantile may be printed: the smallest n for
/// which both ends of the 95 % order-statistic interval exist,
/// `j = floor(np − z·√(np(1−p))) ≥ 1` and `k = ceil(np + z·√(np(1−p))) + 1 ≤ n`
/// (Le Boudec, *Performance Evaluation of Computer and Communication Systems*,
/// 2010, §2.2.3). A quantile of 0 or 1, an extreme, needs one sample.
pub fn smallest_sample(quantile: f64) -> u64 {
    if quantile <= 0.0 || quantile >= 1.0 {
        return 1;
    }
    let enough = |n: u64| {
        let n = n as f64;
        let half = Z * (n * quantile * (1.0 - quantile)).sqrt();
        (n * quantile - half).floor() >= 1.0 && (n * quantile + half).ceil() + 1.0 <= n
    };
    // Below z²·p/(1−p) (or its mirror) one end is missing for certain; from there on, look.
    let rarer = quantile.max(1.0 - quantile);
    let certain = (Z * Z * rarer / (1.0 - rarer)).floor() as u64;
    (certain.max(2)..).find(|n| enough(*n)).expect("both ends exist for a large enough sample")
}

/// Of the quantiles asked for, those that `samples` support.
pub fn supported_quantiles(samples: u64, quantiles: &[f64]) -> impl Iterator<Item = f64> + '_ {
    quantiles.iter().copied().filter(move |q| samples >= smallest_sample(*q))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_samples_are_the_published_ones() {
        let found: Vec<u64> = [0.5, 0.9, 0.99, 0.999, 0.9999].into_iter().map(smallest_sample).collect();
        assert_eq!(found, [8, 53, 563, 5_662, 56_647]);
    }

    #[test]
    fn quantiles_beyond_the_sample_are_left_out() {
        let kept: Vec<f64> = supported_quantiles(600, &[0.5, 0.99, 0.999]).collect();
        assert_eq!(kept, [0.5, 0.99]);
    }
}
