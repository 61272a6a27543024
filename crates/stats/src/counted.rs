//! Differences between values that were counted from samples, over paired blocks.
//!
//! Many lines are tested at once, each with few blocks. The number of samples says how much a value
//! scatters at least. All lines together say how much more they usually scatter (`moderated.rs`).
//! So a line does not seem certain because its few blocks agree by chance: one sample more in each
//! of four blocks proves nothing. Start with [`counted_differences`].

use crate::interval::{Interval, mean, sample_deviation};
use crate::moderated::Prior;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A value that was counted from samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// The value.
    pub value: f64,
    /// The variance that counting alone gives it.
    pub variance: f64,
}

impl Counted {
    /// Makes the value of `samples` of `all` samples, each of which counts as `weight`. Its
    /// variance is that of the binomial distribution.
    pub fn of_samples(samples: u64, all: u64, weight: f64) -> Counted {
        let share = if all == 0 { 0.0 } else { (samples as f64 / all as f64).min(1.0) };
        Counted {
            value: samples as f64 * weight,
            variance: samples as f64 * (1.0 - share) * weight * weight,
        }
    }
}

/// The mean difference of a line over blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedDifference {
    /// The first minus the second, in the mean.
    pub difference: f64,
    /// Its confidence interval.
    pub interval: Interval,
    /// The probability of such a difference, or a larger one in either direction, if there is none.
    pub p: f64,
}

/// A line with its variances of the mean difference: from the blocks, and from counting alone.
struct Line {
    difference: f64,
    of_blocks: f64,
    of_counts: f64,
}

/// Returns the difference `a − b` of each line, over pairs `(a, b)` of the same blocks. `None` for
/// a line with fewer than two pairs or a value that is not finite.
///
/// The test is the paired t test of Student (1908). The variance is moderated: its ratio to the
/// variance of counts is drawn towards the usual ratio of all lines, and is at least 1. A line
/// whose values were not counted (variance 0) gets the plain t test.
pub fn counted_differences(
    lines: &[Vec<(Counted, Counted)>],
    confidence: f64,
) -> Vec<Option<CountedDifference>> {
    let measured: Vec<Option<Line>> = lines.iter().map(|pairs| measure(pairs)).collect();
    let freedom = lines.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
    let dispersions: Vec<f64> = measured
        .iter()
        .flatten()
        .filter(|line| line.of_counts > 0.0)
        .map(|line| line.of_blocks / line.of_counts)
        .collect();
    let prior = Prior::of_variances(&dispersions, freedom);
    let found = measured.into_iter().zip(lines).map(|(line, pairs)| {
        let (line, own) = (line?, pairs.len() - 1);
        let (variance, freedom) = match line.of_counts > 0.0 {
            true => {
                let (ratio, freedom) = prior.moderate(line.of_blocks / line.of_counts, own);
                (ratio.max(1.0) * line.of_counts, freedom)
            }
            false => (line.of_blocks, own as f64),
        };
        Some(tested(line.difference, variance.sqrt(), freedom, confidence))
    });
    found.collect()
}

fn measure(pairs: &[(Counted, Counted)]) -> Option<Line> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| a.value - b.value).collect();
    let n = pairs.len() as f64;
    let line = Line {
        difference: mean(&differences)?,
        of_blocks: sample_deviation(&differences)?.powi(2) / n,
        of_counts: pairs.iter().map(|(a, b)| a.variance + b.variance).sum::<f64>() / (n * n),
    };
    let parts = [line.difference, line.of_blocks, line.of_counts];
    parts.iter().all(|part| part.is_finite()).then_some(line)
}

fn tested(difference: f64, error: f64, freedom: f64, confidence: f64) -> CountedDifference {
    let t = StudentsT::new(0.0, 1.0, freedom).expect("at least one degree of freedom");
    let half = t.inverse_cdf(0.5 + confidence / 2.0) * error;
    CountedDifference {
        difference,
        interval: Interval { low: difference - half, high: difference + half },
        p: if difference == 0.0 { 1.0 } else { 2.0 * t.sf((difference / error).abs()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn exact(value: f64) -> Counted {
        Counted { value, variance: 0.0 }
    }

    /// The result of a line by itself.
    fn alone(pairs: Vec<(Counted, Counted)>) -> Option<CountedDifference> {
        counted_differences(&[pairs], 0.95)[0]
    }

    /// The sleep data of Student (1908). R: `t.test(second, first, paired = TRUE)` prints
    /// p = 0.002833, and 0.7001142 to 2.4598858.
    #[test]
    fn exact_values_give_the_paired_t_test() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let pairs = second.into_iter().zip(first).map(|(a, b)| (exact(a), exact(b)));
        let found = alone(pairs.collect()).unwrap();
        assert!((found.difference - 1.58).abs() < 1e-9, "{found:?}");
        assert!((found.p - 0.002833).abs() < 1e-6, "{found:?}");
        assert!((found.interval.low - 0.7001142).abs() < 1e-6, "{found:?}");
        assert!((found.interval.high - 2.4598858).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn one_sample_more_in_every_block_proves_nothing() {
        let pair = (Counted::of_samples(1, 5_000, 2.0), Counted::of_samples(0, 5_000, 2.0));
        let found = alone(vec![pair; 4]).unwrap();
        assert_eq!(found.difference, 2.0);
        assert!(found.p > 0.1 && found.interval.low < 0.0, "{found:?}");
    }

    #[test]
    fn too_few_pairs_and_values_without_size_give_nothing() {
        assert_eq!(alone(vec![]), None);
        assert_eq!(alone(vec![(exact(1.0), exact(0.0))]), None);
        assert_eq!(alone(vec![(exact(f64::INFINITY), exact(0.0)); 3]), None);
        let same = alone(vec![(exact(1.0), exact(1.0)); 3]).unwrap();
        assert_eq!((same.difference, same.p), (0.0, 1.0));
        assert_eq!(counted_differences(&[], 0.95), []);
    }

    /// Draws how many of 5,000 samples fall on a line with this share.
    fn drawn(random: &mut Random, share: f64) -> Counted {
        let mean = 5_000.0 * share;
        let samples = (mean + (mean * (1.0 - share)).sqrt() * random.normal()).round().max(0.0);
        Counted::of_samples(samples as u64, 5_000, 1.0)
    }

    /// Thirty lines in four blocks, 300 times. The first line of the second side has its share
    /// multiplied by `factor`. Returns how often p was at most 0.05 for the first line, and for the
    /// others.
    fn rates(factor: f64) -> (f64, f64) {
        let mut random = Random::new(7, 0);
        let (mut first, mut others) = (0.0, 0.0);
        for _ in 0..300 {
            let lines: Vec<Vec<(Counted, Counted)>> = (0..30)
                .map(|line| {
                    let share = [0.1, 0.05, 0.01][line % 3];
                    let changed = if line == 0 { factor * share } else { share };
                    let mut block = || (drawn(&mut random, changed), drawn(&mut random, share));
                    (0..4).map(|_| block()).collect()
                })
                .collect();
            let found = counted_differences(&lines, 0.95);
            let is_small = |at: usize| f64::from(found[at].is_some_and(|found| found.p <= 0.05));
            first += is_small(0) / 300.0;
            others += (1..30).map(is_small).sum::<f64>() / (300.0 * 29.0);
        }
        (first, others)
    }

    /// A plain t test of four blocks finds 15 % more of 500 samples in half of the cases.
    #[test]
    fn lines_that_differ_are_found_and_equal_ones_keep_their_rate() {
        let (first, others) = rates(1.15);
        assert!(first > 0.95, "{first}");
        assert!((0.01..0.055).contains(&others), "{others}");
        let (first, others) = rates(1.0);
        assert!(first < 0.1 && others < 0.055, "{first} {others}");
    }

    /// Two equal sides with rare samples: 4 blocks with 0 to 5 samples each, 4,000 times.
    #[test]
    fn equal_sides_with_few_samples_rarely_seem_to_differ() {
        let mut random = Random::new(7, 1);
        let mut count = || {
            let hits = (0..40).filter(|_| random.uniform() < 0.05).count();
            Counted::of_samples(hits as u64, 4_000, 1.0)
        };
        let wrong = (0..4_000)
            .filter(|_| alone((0..4).map(|_| (count(), count())).collect()).unwrap().p <= 0.05)
            .count();
        assert!(wrong <= 200, "{wrong} of 4000");
    }
}
