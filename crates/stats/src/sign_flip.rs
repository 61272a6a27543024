//! The exact test of paired differences by flipping their signs.

use crate::random::seeded;
use chacha20::rand_core::Rng;

/// Up to this many differences, all assignments of signs are counted.
const EXACT: usize = 20;

/// The number of random assignments for more differences.
const DRAWS: u32 = 100_000;

/// The result of the sign-flip test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignFlip {
    /// The two-sided p-value.
    pub p: f64,
    /// Whether all 2ⁿ assignments were counted instead of a sample.
    pub is_exact: bool,
}

/// Tests whether differences are symmetric about zero.
///
/// The p-value is the share of all 2ⁿ assignments of signs whose sum is at least as far from zero
/// as the observed one (Fisher, *The Design of Experiments*, 1935, §21). For more than 20
/// differences, assignments are drawn from the seed. The observed one counts among them, so p is
/// never 0 (Phipson and Smyth, *SAGMB* 9(1), 2010). Returns `None` without differences or if one is
/// not finite.
pub fn sign_flip(differences: &[f64], seed: u64) -> Option<SignFlip> {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let reach: f64 = differences.iter().map(|d| d.abs()).sum();
    // Sums that differ only by rounding are equal.
    let seen = differences.iter().sum::<f64>().abs() - reach * 1e-12;
    if differences.len() <= EXACT {
        let extreme = count_extreme(differences, 0.0, reach, seen);
        return Some(SignFlip {
            p: extreme as f64 / (1u64 << differences.len()) as f64,
            is_exact: true,
        });
    }
    let mut random = seeded(seed, 0);
    let extreme = (0..DRAWS).filter(|_| {
        let signed = differences.chunks(64).map(|chunk| {
            let signs = random.next_u64();
            chunk
                .iter()
                .enumerate()
                .map(|(bit, d)| if signs >> bit & 1 == 1 { *d } else { -d })
                .sum::<f64>()
        });
        signed.sum::<f64>().abs() >= seen
    });
    Some(SignFlip { p: (extreme.count() + 1) as f64 / f64::from(DRAWS + 1), is_exact: false })
}

/// Returns how many assignments of signs to `rest` move `sum` to `seen` or beyond. `reach` is the
/// sum of the absolute values of `rest`, which settles whole branches at once.
fn count_extreme(rest: &[f64], sum: f64, reach: f64, seen: f64) -> u64 {
    if sum.abs() + reach < seen {
        return 0;
    }
    if sum.abs() - reach >= seen {
        return 1 << rest.len();
    }
    let Some((first, rest)) = rest.split_first() else {
        return u64::from(sum.abs() >= seen);
    };
    let reach = rest.iter().map(|d| d.abs()).sum();
    count_extreme(rest, sum + first, reach, seen) + count_extreme(rest, sum - first, reach, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Darwin's fifteen pairs of maize, crossed against self-fertilised, in eighths of an inch.
    /// Fisher counts 863 of the 32,768 assignments in each direction.
    #[test]
    fn darwins_maize_matches_fisher() {
        let maize = [
            49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0,
            -48.0,
        ];
        assert_eq!(
            sign_flip(&maize, 0),
            Some(SignFlip { p: 2.0 * 863.0 / 32_768.0, is_exact: true })
        );
    }

    #[test]
    fn six_blocks_can_reach_five_percent_but_five_cannot() {
        let p = |n: usize| sign_flip(&vec![0.1; n], 0).unwrap().p;
        assert_eq!((p(1), p(5), p(6)), (1.0, 0.0625, 0.03125));
    }

    /// scipy 1.17: `permutation_test(..., permutation_type='samples')` on Student's sleep data.
    #[test]
    fn sleep_data_match_scipy() {
        let differences = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        assert_eq!(sign_flip(&differences, 0).unwrap().p, 0.00390625);
    }

    #[test]
    fn zero_differences_are_no_evidence() {
        assert_eq!(sign_flip(&[0.0; 8], 0).unwrap().p, 1.0);
        assert_eq!(sign_flip(&[], 0), None);
        assert_eq!(sign_flip(&[1.0, f64::NAN], 0), None);
        assert_eq!(sign_flip(&[1.0, f64::INFINITY], 0), None);
    }

    #[test]
    fn drawn_signs_agree_with_exact_counts() {
        let small: Vec<f64> = (0..20).map(|i| f64::from(i) - 6.0).collect();
        let exact = sign_flip(&small, 0).unwrap();
        // A difference of zero changes no sum, and is the 21st.
        let drawn = sign_flip(&[small, vec![0.0]].concat(), 1).unwrap();
        assert!(exact.is_exact && !drawn.is_exact);
        // Six standard deviations of a share of 100,000 draws are at most 0.0095.
        assert!((exact.p - drawn.p).abs() < 0.0095, "{} {}", exact.p, drawn.p);
        assert_eq!(
            drawn,
            sign_flip(
                &(0..21).map(|i| if i < 20 { f64::from(i) - 6.0 } else { 0.0 }).collect::<Vec<_>>(),
                1
            )
            .unwrap()
        );
        assert_eq!(sign_flip(&[1.0; 70], 1).unwrap().p, 1.0 / 100_001.0);
    }

    proptest! {
        #[test]
        fn count_matches_full_enumeration(differences in prop::collection::vec(-20i32..20, 1..11)) {
            let n = differences.len();
            let seen = differences.iter().sum::<i32>().abs();
            let signed = |mask: u32| differences.iter().enumerate().map(|(i, d)| if mask >> i & 1 == 1 { *d } else { -d }).sum::<i32>();
            let extreme = (0..1u32 << n).filter(|mask| signed(*mask).abs() >= seen).count();
            // Tenths, which are not exact in binary.
            let tenths: Vec<f64> = differences.iter().map(|d| f64::from(*d) / 10.0).collect();
            prop_assert_eq!(sign_flip(&tenths, 0).unwrap().p, extreme as f64 / f64::from(1u32 << n));
        }
    }
}
