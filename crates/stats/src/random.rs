//! Seeded randomness that gives the same values on every machine and in every release.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Creates the generator of a seed and a stream number. The streams of a seed are independent.
pub(crate) fn seeded(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// Draws a uniform position in a list of `length`, without bias (Lemire, *Fast Random Integer
/// Generation in an Interval*, ACM TOMACS 29(1), 2019). This takes one multiplication, and rarely a
/// second draw.
pub(crate) fn place(random: &mut ChaCha8Rng, length: usize) -> usize {
    if length == 1 {
        return 0;
    }
    let length = length as u64;
    loop {
        let wide = u128::from(random.next_u64()) * u128::from(length);
        let rest = wide as u64;
        if rest >= length || rest >= length.wrapping_neg() % length {
            return (wide >> 64) as usize;
        }
    }
}

/// Draws a uniform number between 0 and 1, both excluded.
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Draws a standard normal value (Box and Muller, *Annals of Mathematical Statistics* 29, 1958).
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Seeded random values for simulations. The streams of a seed are independent.
#[derive(Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Creates a generator. The same seed and stream give the same values on every machine.
    pub fn new(seed: u64, stream: u64) -> Self {
        Random(seeded(seed, stream))
    }

    /// Draws a uniform number between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        uniform(&mut self.0)
    }

    /// Draws a standard normal value.
    pub fn normal(&mut self) -> f64 {
        normal(&mut self.0)
    }
}

/// Shuffles in place (Fisher and Yates; Knuth, *TAOCP* vol. 2, algorithm P), from a seed and a
/// stream number. The streams of a seed are independent.
pub fn shuffle<T>(items: &mut [T], seed: u64, stream: u64) {
    shuffle_by(&mut seeded(seed, stream), items);
}

/// As [`shuffle`], with an existing generator.
pub(crate) fn shuffle_by<T>(random: &mut ChaCha8Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last as u64 + 1) as usize);
    }
}

/// Draws a uniform number in 0..bound without bias. Draws in the incomplete last part of the range
/// are discarded.
fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    let whole = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = random.next_u64();
        if drawn < whole {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_and_stream_give_the_same_order() {
        let order = |seed, stream| {
            let mut items: Vec<u32> = (0..8).collect();
            shuffle(&mut items, seed, stream);
            items
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
        // The order of a seed must never change, so that a printed plan stays valid.
        assert_eq!(order(42, 7), [3, 7, 6, 4, 1, 2, 5, 0]);
    }

    #[test]
    fn every_position_is_equally_likely() {
        let mut random = seeded(5, 0);
        let mut seen = [0u32; 7];
        (0..70_000).for_each(|_| seen[place(&mut random, 7)] += 1);
        // 10,000 expected of each; six standard deviations are 555.
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 555), "{seen:?}");
        assert_eq!(place(&mut random, 1), 0);
    }

    #[test]
    fn values_have_the_right_mean_and_deviation() {
        let mut random = Random::new(3, 1);
        let uniform: Vec<f64> = (0..20_000).map(|_| random.uniform()).collect();
        let normal: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        assert!(uniform.iter().all(|u| *u > 0.0 && *u < 1.0));
        for (values, mean, deviation) in [(uniform, 0.5, 12f64.sqrt().recip()), (normal, 0.0, 1.0)]
        {
            // Six standard deviations of a mean and of a standard deviation.
            assert!(
                (crate::mean(&values).unwrap() - mean).abs() < 6.0 * deviation / 20_000f64.sqrt()
            );
            assert!(
                (crate::sample_deviation(&values).unwrap() - deviation).abs()
                    < 6.0 * deviation / 40_000f64.sqrt()
            );
        }
        assert_eq!(Random::new(3, 1).normal(), Random::new(3, 1).normal());
        assert_ne!(Random::new(3, 1).normal(), Random::new(3, 2).normal());
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for stream in 0..6_000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, 9, stream);
            *seen.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1,000 expected of each; six standard deviations are 173.
        assert!(seen.values().all(|count| count.abs_diff(1_000) < 173), "{seen:?}");
    }
}
