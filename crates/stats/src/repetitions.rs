//! Determines how often to repeat at each level, from a pilot (Kalibera and Jones, *Rigorous
//! Benchmarking in Reasonable Time*, ISMM 2013, §6, with the later correction of the formula for
//! T²).

/// The variances of a pilot at each level, starting with the outermost: blocks, trials, seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Variances {
    /// S²: the variance of the means at a level, which includes that of the levels below.
    pub observed: Vec<f64>,
    /// T²: the variance that the level adds. Not positive if the pilot shows none.
    pub own: Vec<f64>,
}

/// Computes the variances of a balanced pilot.
///
/// `repetitions` are the counts at each level, starting with the outermost. `values` are all
/// measurements, with the innermost level varying fastest. Returns `None` if counts and values do
/// not match, a count is below two, or a value is not finite.
pub fn variances(values: &[f64], repetitions: &[usize]) -> Option<Variances> {
    let expected =
        repetitions.iter().try_fold(1usize, |product, count| product.checked_mul(*count))?;
    if repetitions.is_empty()
        || repetitions.iter().any(|r| *r < 2)
        || expected != values.len()
        || values.iter().any(|v| !v.is_finite())
    {
        return None;
    }
    let (mut observed, mut own) = (Vec::new(), Vec::new());
    let mut means = values.to_vec();
    let mut from_below = 0.0;
    for count in repetitions.iter().rev() {
        let groups = means.len() / count;
        let variance =
            means.chunks(*count).filter_map(crate::sample_deviation).map(|s| s * s).sum::<f64>()
                / groups as f64;
        observed.push(variance);
        own.push(variance - from_below);
        from_below = variance / *count as f64;
        means = means.chunks(*count).filter_map(crate::mean).collect();
    }
    observed.reverse();
    own.reverse();
    Some(Variances { observed, own })
}

impl Variances {
    /// Returns the counts that give the narrowest interval for the time spent, at every level
    /// except the outermost: `⌈√(c′/c · T²/T′²)⌉`, with c′ and T′² of the level above.
    ///
    /// `costs` are those of one more repetition at each level, without what is inside it (a start
    /// and its warm-up; one second). They may have any unit and start with the outermost level. A
    /// count is `None` if the level above adds no variance: repeating here is then always cheaper.
    /// Returns `None` if costs are missing or not positive.
    pub fn best_counts(&self, costs: &[f64]) -> Option<Vec<Option<usize>>> {
        if costs.len() != self.own.len() || costs.iter().any(|c| !(c.is_finite() && *c > 0.0)) {
            return None;
        }
        let count = |(above, here): (usize, usize)| {
            let ratio = costs[above] / costs[here] * self.own[here].max(0.0) / self.own[above];
            (self.own[above] > 0.0).then(|| (ratio.sqrt().ceil() as usize).max(1))
        };
        Some((0..costs.len() - 1).map(|above| count((above, above + 1))).collect())
    }

    /// Returns the expected standard deviation of the outermost level's means for the given counts
    /// below it. With [`pairs_needed`](crate::pairs_needed), it determines how many blocks an
    /// interval of a given width takes.
    pub fn deviation_with(&self, counts: &[usize]) -> f64 {
        let mut repeated = 1.0;
        let mut variance = self.own.first().map_or(0.0, |v| v.max(0.0));
        for (own, count) in self.own.iter().skip(1).zip(counts) {
            repeated *= (*count).max(1) as f64;
            variance += own.max(0.0) / repeated;
        }
        variance.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounded(values: &[f64]) -> Vec<f64> {
        values.iter().map(|v| (v * 10.0).round() / 10.0).collect()
    }

    /// The paper's worked example, with three levels and with two.
    #[test]
    fn worked_example_matches_the_paper() {
        let values = [9.0, 5.0, 8.0, 3.0, 10.0, 6.0, 7.0, 11.0, 1.0, 12.0, 2.0, 4.0];
        let three = variances(&values, &[3, 2, 2]).unwrap();
        assert_eq!(
            (rounded(&three.observed), rounded(&three.own)),
            (vec![3.6, 2.6, 16.5], vec![2.3, -5.7, 16.5])
        );
        let two = variances(&values, &[3, 4]).unwrap();
        assert_eq!((rounded(&two.observed), rounded(&two.own)), (vec![3.6, 12.7], vec![0.4, 12.7]));
        // A level without variance of its own: repeating it gains nothing.
        assert_eq!(three.best_counts(&[100.0, 20.0, 3.0]), Some(vec![Some(1), None]));
    }

    /// The example of libkalibera, the authors' own implementation: 4.2937 and 1.3023 before
    /// rounding.
    #[test]
    fn counts_match_libkalibera() {
        let values = [3.0, 4.0, 3.0, 1.2, 3.1, 3.0, 0.2, 1.0, 1.5, 1.0, 2.0, 3.0];
        let found = variances(&values, &[2, 2, 3]).unwrap();
        for (own, expected) in found.own.iter().zip([0.7747, 0.262777778, 0.7266667]) {
            assert!((own - expected).abs() < 1e-4, "{own} {expected}");
        }
        assert_eq!(found.best_counts(&[100.0, 20.0, 3.0]), Some(vec![Some(2), Some(5)]));
        assert_eq!(found.best_counts(&[100.0, 20.0]), None);
        assert_eq!(found.best_counts(&[100.0, 0.0, 1.0]), None);
    }

    #[test]
    fn counts_of_the_pilot_reproduce_its_deviation() {
        let values = [3.0, 4.0, 3.0, 1.2, 3.1, 3.0, 0.2, 1.0, 1.5, 1.0, 2.0, 3.0];
        let found = variances(&values, &[2, 2, 3]).unwrap();
        assert!((found.deviation_with(&[2, 3]) - found.observed[0].sqrt()).abs() < 1e-12);
        assert!(found.deviation_with(&[20, 30]) < found.deviation_with(&[2, 3]));
    }

    #[test]
    fn invalid_pilots_give_none() {
        assert_eq!(variances(&[1.0, 2.0], &[]), None);
        assert_eq!(variances(&[1.0, 2.0], &[2, 1]), None);
        assert_eq!(variances(&[1.0, 2.0, 3.0], &[2, 2]), None);
        assert_eq!(variances(&[1.0, f64::NAN], &[2]), None);
        assert_eq!(variances(&[], &[usize::MAX, usize::MAX]), None);
    }

    proptest! {
        /// No count measures more precisely in the same time, as trying all of them shows.
        #[test]
        fn chosen_count_is_optimal(trial in 0.01f64..10.0, second in 0.01f64..10.0, start in 0.5f64..100.0) {
            let pilot = Variances { observed: vec![0.0; 2], own: vec![trial, second] };
            let best = pilot.best_counts(&[start, 1.0]).unwrap()[0].unwrap();
            // The variance of the mean times the time spent, for as many trials as the time
            // permits.
            let price = |count: f64| (trial + second / count) * (start + count);
            let least = (1..2_000).map(|count| price(f64::from(count))).fold(f64::INFINITY, f64::min);
            prop_assert!(price(best as f64).min(price((best - 1).max(1) as f64)) <= least * (1.0 + 1e-9));
        }
    }
}
