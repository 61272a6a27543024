//! Corrects p-values where many lines are tested at once and a few wrong ones among those that are
//! named are acceptable. Holm's method (`holm.rs`) is stricter: it allows no wrong one.

/// Adjusts p-values with the step-up method of Benjamini and Hochberg. Returns them in the order
/// given.
///
/// Of all lines whose adjusted p is at most α, the expected share of wrong ones is at most α. This
/// holds if the lines are independent or positively dependent (Benjamini and Hochberg, *Journal of
/// the Royal Statistical Society B* 57, 1995). A value that is not a number counts as 1.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let p = |at: usize| if p_values[at].is_nan() { 1.0 } else { p_values[at] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p(*b).total_cmp(&p(*a)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (smaller, at) in order.into_iter().enumerate() {
        let rank = p_values.len() - smaller;
        least = least.min(p(at) * p_values.len() as f64 / rank as f64);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Section 4.1 of the paper: 15 comparisons of two treatments of heart attacks. At 0.05 the
    /// method accepts four of them, Bonferroni's three.
    #[test]
    fn example_of_the_paper_accepts_the_first_four() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let adjusted = benjamini_hochberg(&p_values);
        let accepted = adjusted.iter().filter(|q| **q <= 0.05).count();
        assert_eq!(accepted, 4, "{adjusted:?}");
        // R: p.adjust(p, "BH") has 0.0015, 0.003, 0.0095, 0.035625, 0.0603 as its first five.
        for (found, expected) in adjusted.iter().zip([0.0015, 0.003, 0.0095, 0.035625, 0.0603]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn order_is_kept_and_what_is_no_number_counts_as_one() {
        assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
        assert_eq!(benjamini_hochberg(&[0.03]), [0.03]);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert_eq!(benjamini_hochberg(&[0.5, 0.01, 0.04]), [0.5, 0.03, 0.06]);
    }

    proptest! {
        #[test]
        fn adjusted_values_lie_between_the_values_and_those_of_holm(
            p_values in prop::collection::vec(0.0f64..=1.0, 1..20),
        ) {
            let adjusted = benjamini_hochberg(&p_values);
            for ((q, p), holm) in adjusted.iter().zip(&p_values).zip(crate::holm(&p_values)) {
                prop_assert!(*q >= *p - 1e-12 && *q <= holm + 1e-12);
            }
        }
    }
}
