//! Finds where a series changes its level, with PELT.
//!
//! Start with [`change_points`]. The file `e_divisive.rs` does the same for short series without
//! assuming a normal distribution.

/// The cost of a segment: minus twice the log-likelihood of the normal distribution, up to a
/// constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// The mean changes. The variance is known or estimated ([`noise_variance`]) and constant.
    Mean {
        /// In the square of the series' unit, and positive.
        variance: f64,
    },
    /// Mean and variance change.
    MeanAndVariance,
}

/// Returns where new segments start, as indices into the series.
///
/// The segmentation minimizes the sum of costs plus one `penalty` for each change. It is exact
/// (PELT: Killick, Fearnhead and Eckley, *JASA* 107, 2012). A segment has at least `shortest`
/// values, and at least two if its variance is estimated.
///
/// The penalty is on the scale of twice the log-likelihood. A change adds p parameters (mean and
/// place: 2; with variance: 3). The Schwarz criterion is p·ln n, which assumes independent values.
/// Barrett et al. (OOPSLA 2017) use 15·ln n for iterations of virtual machines.
///
/// Returns `None` if a value is not finite, or if the variance or the penalty is not positive.
pub fn change_points(
    values: &[f64],
    cost: Cost,
    penalty: f64,
    shortest: usize,
) -> Option<Vec<usize>> {
    let is_fit = |v: f64| v.is_finite() && v > 0.0;
    if values.iter().any(|v| !v.is_finite())
        || !is_fit(penalty)
        || matches!(cost, Cost::Mean { variance } if !is_fit(variance))
    {
        return None;
    }
    let n = values.len();
    let shortest = shortest.max(if cost == Cost::MeanAndVariance { 2 } else { 1 });
    if n < 2 * shortest {
        return Some(Vec::new());
    }
    let costs = Costs::new(values, cost);
    // For each end: the minimum cost of everything before it, and where its last segment starts.
    let mut least = vec![f64::INFINITY; n + 1];
    let mut begins = vec![0; n + 1];
    least[0] = -penalty;
    // Where a last segment may start, and from which end on it cannot be optimal. A split at `end`
    // is better, but it is permitted only after another `shortest` values.
    let mut candidates: Vec<(usize, usize)> = Vec::new();
    for end in shortest..=n {
        candidates.push((end - shortest, usize::MAX));
        for (begin, _) in &candidates {
            let whole = least[*begin] + costs.of_segment(*begin, end) + penalty;
            if whole < least[end] {
                (least[end], begins[end]) = (whole, *begin);
            }
        }
        for (begin, beaten) in &mut candidates {
            if *beaten == usize::MAX && least[*begin] + costs.of_segment(*begin, end) >= least[end]
            {
                *beaten = end + shortest;
            }
        }
        candidates.retain(|(_, beaten)| *beaten > end + 1);
    }
    let mut changes: Vec<usize> = std::iter::successors(Some(begins[n]), |end| Some(begins[*end]))
        .take_while(|b| *b > 0)
        .collect();
    changes.reverse();
    Some(changes)
}

/// Estimates the variance of the noise about a level that may change.
///
/// It uses the differences of neighbours and their median distance from their median, so a few
/// changes do not affect it. For independent values. If neighbours are correlated, the estimate is
/// too small. Returns `None` for fewer than three values.
pub fn noise_variance(values: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if differences.len() < 2 {
        return None;
    }
    let centre = crate::median(&differences)?;
    let spread =
        crate::median(&differences.iter().map(|d| (d - centre).abs()).collect::<Vec<_>>())?;
    // 1.4826 converts it to the standard deviation of a normal distribution. A difference has twice
    // the variance.
    Some((1.4826 * spread).powi(2) / 2.0)
}

/// Costs of segments in constant time, from running sums.
struct Costs {
    cost: Cost,
    /// Sums of the values and of their squares before each place, relative to the mean of all.
    sums: Vec<(f64, f64)>,
    /// A segment without any spread has no likelihood, so its variance is at least a billionth of
    /// the total.
    least_variance: f64,
}

impl Costs {
    fn new(values: &[f64], cost: Cost) -> Costs {
        let centre = crate::mean(values).unwrap_or_default();
        let mut sums = Vec::with_capacity(values.len() + 1);
        let mut running = (0.0, 0.0);
        sums.push(running);
        for value in values {
            let off = value - centre;
            running = (running.0 + off, running.1 + off * off);
            sums.push(running);
        }
        Costs {
            cost,
            sums,
            least_variance: (running.1 / values.len() as f64 * 1e-9).max(f64::MIN_POSITIVE),
        }
    }

    fn of_segment(&self, begin: usize, end: usize) -> f64 {
        let n = (end - begin) as f64;
        let (sum, squares) =
            (self.sums[end].0 - self.sums[begin].0, self.sums[end].1 - self.sums[begin].1);
        let about_mean = (squares - sum * sum / n).max(0.0);
        match self.cost {
            Cost::Mean { variance } => about_mean / variance,
            Cost::MeanAndVariance => n * ((about_mean / n).max(self.least_variance).ln() + 1.0),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::random::{normal, seeded};
    use proptest::prelude::*;

    /// Yearly flow of the Nile at Aswan, 1871 to 1970, in 10⁸ m³ (Cobb, *Biometrika* 65, 1978).
    pub(crate) const NILE: [f64; 100] = [
        1120.0, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0, 935.0,
        1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0, 1250.0,
        1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0, 916.0,
        692.0, 1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0, 832.0,
        764.0, 821.0, 768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, 781.0,
        865.0, 845.0, 944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0, 742.0,
        801.0, 1040.0, 860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0,
        797.0, 923.0, 975.0, 815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0,
        714.0, 740.0,
    ];

    /// The generally accepted change: after 1898, the 28th year.
    #[test]
    fn nile_changes_after_1898() {
        let penalty = 3.0 * 100f64.ln();
        let variance = noise_variance(&NILE).unwrap();
        assert_eq!(change_points(&NILE, Cost::Mean { variance }, penalty, 2), Some(vec![28]));
        assert_eq!(change_points(&NILE, Cost::MeanAndVariance, penalty, 5), Some(vec![28]));
    }

    #[test]
    fn step_is_found_and_noise_has_none() {
        let mut random = seeded(3, 0);
        let noise: Vec<f64> = (0..120).map(|_| normal(&mut random)).collect();
        let penalty = 15.0 * 120f64.ln();
        for cost in
            [Cost::Mean { variance: noise_variance(&noise).unwrap() }, Cost::MeanAndVariance]
        {
            assert_eq!(change_points(&noise, cost, penalty, 3), Some(vec![]));
            let stepped: Vec<f64> = noise
                .iter()
                .enumerate()
                .map(|(i, v)| v + if i < 30 { 12.0 } else { 0.0 })
                .collect();
            assert_eq!(change_points(&stepped, cost, penalty, 3), Some(vec![30]));
        }
        // A change of the variance only.
        let louder: Vec<f64> =
            noise.iter().enumerate().map(|(i, v)| if i < 60 { *v } else { v * 20.0 }).collect();
        let found = change_points(&louder, Cost::MeanAndVariance, penalty, 3).unwrap();
        assert!(matches!(found[..], [at] if at.abs_diff(60) <= 2), "{found:?}");
    }

    #[test]
    fn noise_estimate_ignores_steps() {
        let mut random = seeded(4, 0);
        let stepped: Vec<f64> =
            (0..2_000).map(|i| 3.0 * normal(&mut random) + f64::from(i / 500) * 100.0).collect();
        let variance = noise_variance(&stepped).unwrap();
        assert!((variance / 9.0 - 1.0).abs() < 0.2, "{variance}");
        assert_eq!(noise_variance(&[1.0, 2.0]), None);
    }

    #[test]
    fn short_constant_and_invalid_series() {
        let find = |values: &[f64], cost| change_points(values, cost, 10.0, 2);
        for cost in [Cost::Mean { variance: 1.0 }, Cost::MeanAndVariance] {
            assert_eq!(find(&[], cost), Some(vec![]));
            assert_eq!(find(&[1.0, 2.0, 3.0], cost), Some(vec![]));
            assert_eq!(find(&[5.0; 50], cost), Some(vec![]));
            assert_eq!(find(&[5.0, f64::NAN, 1.0], cost), None);
            assert_eq!(change_points(&[1.0; 9], cost, 0.0, 2), None);
        }
        assert_eq!(find(&[1.0; 9], Cost::Mean { variance: 0.0 }), None);
    }

    /// Optimal partitioning without pruning (Jackson et al., *IEEE Signal Processing Letters* 12,
    /// 2005), with costs from the values themselves.
    fn least_cost(
        values: &[f64],
        cost: Cost,
        penalty: f64,
        shortest: usize,
        floor: f64,
    ) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; values.len() + 1];
        least[0] = -penalty;
        for end in shortest..=values.len() {
            for begin in 0..=end - shortest {
                least[end] = least[end]
                    .min(least[begin] + direct_cost(&values[begin..end], cost, floor) + penalty);
            }
        }
        least
    }

    fn direct_cost(stretch: &[f64], cost: Cost, floor: f64) -> f64 {
        let (n, centre) = (stretch.len() as f64, crate::mean(stretch).unwrap());
        let about_mean = stretch.iter().map(|v| (v - centre).powi(2)).sum::<f64>();
        match cost {
            Cost::Mean { variance } => about_mean / variance,
            Cost::MeanAndVariance => n * ((about_mean / n).max(floor).ln() + 1.0),
        }
    }

    proptest! {
        #[test]
        fn pruning_keeps_the_optimum(
            steps in prop::collection::vec((-10.0f64..10.0, 0.1f64..3.0, 1usize..25), 1..6),
            seed in any::<u64>(), shortest in 2usize..8, penalty in 0.5f64..30.0, mean_only in any::<bool>(),
        ) {
            let mut random = seeded(seed, 0);
            let values: Vec<f64> = steps.iter().flat_map(|(level, spread, length)| vec![(*level, *spread); *length])
                .map(|(level, spread)| level + spread * normal(&mut random)).collect();
            prop_assume!(values.len() >= 2 * shortest);
            let cost = if mean_only { Cost::Mean { variance: 1.5 } } else { Cost::MeanAndVariance };
            let floor = Costs::new(&values, cost).least_variance;
            let changes = change_points(&values, cost, penalty, shortest).unwrap();
            let ends: Vec<usize> = changes.iter().copied().chain([values.len()]).collect();
            let begins = std::iter::once(0).chain(changes.iter().copied());
            let mut found = -penalty;
            for (begin, end) in begins.zip(ends) {
                prop_assert!(end - begin >= shortest);
                found += direct_cost(&values[begin..end], cost, floor) + penalty;
            }
            let least = least_cost(&values, cost, penalty, shortest, floor)[values.len()];
            prop_assert!((found - least).abs() <= 1e-6 * least.abs().max(1.0), "{} {}", found, least);
        }
    }
}
