//! Finds where the distribution of a short series changes, with E-divisive.
//!
//! Start with [`e_divisive`].

use crate::random::{seeded, shuffle_by};
use chacha20::ChaCha8Rng;

/// A change in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Where the new segment starts, as an index into the series.
    pub at: usize,
    /// The p-value of the permutation test that found the change, given those found before it.
    pub p: f64,
}

/// Returns where new segments start, in order.
///
/// This is E-divisive (Matteson and James, *JASA* 109, 2014; James and Matteson, *Journal of
/// Statistical Software* 62(7), 2014) with moment index 1. It suits series of tens to hundreds of
/// values, and the noise need not be normal.
///
/// Each step considers all segments found so far and takes the split with the greatest energy
/// distance. It then permutes the values within the segments. The split is kept if at most a share
/// `level` of the `permutations` has a distance as great. The p-value follows Phipson and Smyth
/// (*SAGMB* 9(1), 2010), so it is never 0.
///
/// A segment has at least `shortest` values. Between changes, values must be exchangeable: a slow
/// drift is mistaken for steps.
///
/// Returns `None` if a value is not finite, `shortest` is less than 2, the level is not between 0
/// and 1, or there are no permutations.
pub fn e_divisive(
    values: &[f64],
    shortest: usize,
    level: f64,
    permutations: u32,
    seed: u64,
) -> Option<Vec<Change>> {
    if values.iter().any(|v| !v.is_finite())
        || shortest < 2
        || !(level > 0.0 && level < 1.0)
        || permutations == 0
    {
        return None;
    }
    let mut changes: Vec<Change> = Vec::new();
    let mut random = seeded(seed, 0);
    loop {
        let mut bounds: Vec<usize> =
            changes.iter().map(|c| c.at).chain([0, values.len()]).collect();
        bounds.sort_unstable();
        let Some((at, seen)) = greatest(values, &bounds, shortest) else { break };
        let Some(p) =
            permutation_p(values, &bounds, shortest, seen, level, permutations, &mut random)
        else {
            break;
        };
        changes.push(Change { at, p });
    }
    changes.sort_by_key(|c| c.at);
    Some(changes)
}

/// Returns the p-value of the best split, or `None` as soon as it exceeds the level.
fn permutation_p(
    values: &[f64],
    bounds: &[usize],
    shortest: usize,
    seen: f64,
    level: f64,
    permutations: u32,
    random: &mut ChaCha8Rng,
) -> Option<f64> {
    let all = f64::from(permutations) + 1.0;
    // Sums that differ only by rounding are equal.
    let seen = seen - seen.abs() * 1e-9;
    let mut shuffled = values.to_vec();
    let mut as_great = 1.0;
    for _ in 0..permutations {
        for pair in bounds.windows(2) {
            shuffle_by(random, &mut shuffled[pair[0]..pair[1]]);
        }
        if greatest(&shuffled, bounds, shortest).is_some_and(|(_, q)| q >= seen) {
            as_great += 1.0;
            if as_great / all > level {
                return None;
            }
        }
    }
    Some(as_great / all).filter(|p| *p <= level)
}

/// Returns the split with the greatest scaled energy distance within any segment between the
/// bounds.
fn greatest(values: &[f64], bounds: &[usize], shortest: usize) -> Option<(usize, f64)> {
    let splits = bounds.windows(2).filter_map(|pair| {
        let (at, q) = best_split(&values[pair[0]..pair[1]], shortest)?;
        Some((pair[0] + at, q))
    });
    splits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// Returns the best split of a segment in two. The second part may end anywhere, so that a later
/// change does not hide an earlier one. Takes quadratic time.
fn best_split(values: &[f64], shortest: usize) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    // Sums of distances within: from each place to the current end, and from the first to each
    // place.
    let mut to_end = vec![0.0; values.len()];
    let mut from_first = vec![0.0; values.len() + 1];
    for end in 1..=values.len() {
        let newest = values[end - 1];
        let mut to_newest = 0.0;
        for begin in (0..end).rev() {
            to_newest += (values[begin] - newest).abs();
            to_end[begin] += to_newest;
        }
        from_first[end] = to_end[0];
        for at in shortest..=end.saturating_sub(shortest) {
            let (before, behind) = (from_first[at], to_end[at]);
            let between = from_first[end] - before - behind;
            let q = energy(at as f64, (end - at) as f64, between, before, behind);
            if best.is_none_or(|(_, greatest)| q > greatest) {
                best = Some((at, q));
            }
        }
    }
    best
}

/// Returns the scaled energy distance of two samples, from the sums of distances between them and
/// within each.
fn energy(n: f64, m: f64, between: f64, within_n: f64, within_m: f64) -> f64 {
    let pairs = |k: f64| k * (k - 1.0) / 2.0;
    n * m / (n + m) * (2.0 * between / (n * m) - within_n / pairs(n) - within_m / pairs(m))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_points::tests::NILE;
    use crate::random::normal;
    use proptest::prelude::*;

    const LEVEL: f64 = 0.01;

    fn find(values: &[f64]) -> Vec<usize> {
        e_divisive(values, 3, LEVEL, 999, 1).unwrap().iter().map(|c| c.at).collect()
    }

    /// The generally accepted change: after 1898, the 28th year (Cobb, *Biometrika* 65, 1978).
    #[test]
    fn nile_changes_after_1898() {
        let found = e_divisive(&NILE, 3, LEVEL, 999, 1).unwrap();
        assert_eq!(found.iter().map(|c| c.at).collect::<Vec<_>>(), [28]);
        assert_eq!(found[0].p, 1.0 / 1000.0, "no permutation is as great");
    }

    #[test]
    fn distance_matches_the_definition() {
        assert_eq!(best_split(&[0.0, 0.0, 10.0, 10.0], 2), Some((2, 20.0)));
        // 36 between 1, 2, 3 and 7, 9; 4 within the first, 2 within the second: 2·36/6 − 4/3 − 2 =
        // 26/3, times 6/5.
        let (at, q) = best_split(&[1.0, 2.0, 3.0, 7.0, 9.0], 2).unwrap();
        assert_eq!(at, 3);
        assert!((q - 6.0 / 5.0 * 26.0 / 3.0).abs() < 1e-12, "{q}");
    }

    #[test]
    fn several_changes_are_found() {
        let mut random = seeded(7, 0);
        let levels = [10.0, 14.0, 10.0, 20.0];
        let values: Vec<f64> = levels
            .iter()
            .flat_map(|level| vec![*level; 12])
            .map(|level| level + 0.5 * normal(&mut random))
            .collect();
        assert_eq!(find(&values), [12, 24, 36]);
        let few = [1.0, 1.02, 0.99, 1.01, 1.0, 1.01, 1.2, 1.21, 1.19, 1.22, 1.2, 1.21];
        assert_eq!(find(&few), [6], "twelve values are enough for a clear step");
        assert!(find(&few[..8]).is_empty(), "eight are not, at this level");
        let odd: Vec<f64> = (0..20)
            .map(|i| if i == 9 || i == 10 { 5.0 } else { 1.0 + 0.01 * f64::from(i % 3) })
            .collect();
        assert!(find(&odd).is_empty(), "two odd values are not a level");
    }

    #[test]
    fn noise_has_false_changes_at_the_level() {
        let mut random = seeded(11, 0);
        let alarms = (0..400).filter(|_| {
            // Skewed with a heavy tail, as measurements are.
            let values: Vec<f64> = (0..20).map(|_| (0.3 * normal(&mut random)).exp()).collect();
            !e_divisive(&values, 3, 0.05, 199, 2).unwrap().is_empty()
        });
        // 20 are expected, with three standard deviations of that count.
        let alarms = alarms.count();
        assert!((7..=34).contains(&alarms), "{alarms} of 400");
    }

    #[test]
    fn short_constant_and_invalid_series() {
        for values in [&[][..], &[1.0], &[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0; 50]] {
            assert_eq!(find(values), Vec::<usize>::new(), "{values:?}");
        }
        assert_eq!(e_divisive(&[1.0, f64::NAN], 3, LEVEL, 99, 1), None);
        for (shortest, level, permutations) in
            [(1, LEVEL, 99), (3, 0.0, 99), (3, 1.0, 99), (3, f64::NAN, 99), (3, LEVEL, 0)]
        {
            assert_eq!(e_divisive(&[1.0; 9], shortest, level, permutations, 1), None);
        }
    }

    proptest! {
        #[test]
        fn running_sums_match_the_definition(values in prop::collection::vec(-100.0f64..100.0, 0..14), shortest in 2usize..4) {
            let distance = |a: &[f64], b: &[f64]| a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum::<f64>();
            let mut best = None::<f64>;
            for end in 0..=values.len() {
                for at in shortest..=end.saturating_sub(shortest) {
                    let (x, y) = (&values[..at], &values[at..end]);
                    let q = energy(x.len() as f64, y.len() as f64, distance(x, y), distance(x, x) / 2.0, distance(y, y) / 2.0);
                    best = Some(best.map_or(q, |b| b.max(q)));
                }
            }
            let found = best_split(&values, shortest).map(|(_, q)| q);
            prop_assert_eq!(found.is_some(), best.is_some());
            if let Some((found, best)) = found.zip(best) {
                prop_assert!((found - best).abs() <= 1e-9 * best.abs().max(1.0), "{} {}", found, best);
            }
        }

        #[test]
        fn result_is_independent_of_unit_and_origin(seed in any::<u64>(), scale in 0.01f64..100.0, origin in -1e3f64..1e3) {
            let mut random = seeded(seed, 0);
            let values: Vec<f64> = (0..24).map(|i| normal(&mut random) + if i < 11 { 0.0 } else { 4.0 }).collect();
            let moved: Vec<f64> = values.iter().map(|v| origin + scale * v).collect();
            let at = |values: &[f64]| e_divisive(values, 3, LEVEL, 199, 3).unwrap().iter().map(|c| c.at).collect::<Vec<_>>();
            prop_assert_eq!(at(&values), at(&moved));
        }
    }
}
