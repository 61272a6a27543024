//! Corrects p-values of several claims that are tested at once.

/// Adjusts p-values with Holm's step-down method. Returns them in the order given.
///
/// Claims whose adjusted p is at most α are accepted together. The probability that any of them is
/// wrong is at most α, however the claims depend on each other (Holm, *Scandinavian Journal of
/// Statistics* 6, 1979). A value that is not a number counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let p = |at: usize| if p_values[at].is_nan() { 1.0 } else { p_values[at] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p(*a).total_cmp(&p(*b)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut greatest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        greatest = greatest.max(p(at) * (p_values.len() - rank) as f64).min(1.0);
        adjusted[at] = greatest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// R: `p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.2), "holm")`; statsmodels 0.15 agrees.
    #[test]
    fn five_claims_match_r() {
        for (found, expected) in
            holm(&[0.01, 0.04, 0.03, 0.005, 0.2]).into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.2])
        {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.03]), [0.03]);
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_order_and_bonferroni_bound(p_values in prop::collection::vec(0.0f64..=1.0, 1..20)) {
            let adjusted = holm(&p_values);
            for (a, p) in adjusted.iter().zip(&p_values) {
                prop_assert!(*a >= *p && *a <= (p * p_values.len() as f64).min(1.0).max(adjusted.iter().copied().fold(0.0, f64::max)));
                for (b, q) in adjusted.iter().zip(&p_values) {
                    prop_assert!(p > q || a <= b);
                }
            }
        }
    }
}
