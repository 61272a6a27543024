//! The hierarchical bootstrap: resamples at every level at which a measurement was repeated.
//!
//! Start with [`hierarchical_bootstrap`].

use crate::Interval;
use crate::random::{place, seeded};

/// One block: the trials of each side, and the seconds of each trial. Blocks, trials and seconds
/// are resampled. Sides are compared, so they are fixed.
pub type Block<T, const SIDES: usize> = [Vec<Vec<T>>; SIDES];

/// A sample with the shape of the blocks, drawn with replacement at every level.
#[derive(Debug)]
pub struct Resample<'a, T, const SIDES: usize> {
    seconds: Vec<&'a T>,
    /// Where each trial ends in `seconds`.
    trial_ends: Vec<usize>,
    /// Where each side of each block ends in `trial_ends`.
    side_ends: Vec<usize>,
}

impl<'a, T, const SIDES: usize> Resample<'a, T, SIDES> {
    /// Returns the blocks as they were measured.
    fn whole(blocks: &'a [Block<T, SIDES>]) -> Self {
        let mut sample = Resample {
            seconds: Vec::new(),
            trial_ends: Vec::new(),
            side_ends: Vec::with_capacity(blocks.len() * SIDES),
        };
        for side in blocks.iter().flatten() {
            for trial in side {
                sample.seconds.extend(trial);
                sample.trial_ends.push(sample.seconds.len());
            }
            sample.side_ends.push(sample.trial_ends.len());
        }
        sample
    }

    /// Draws a new sample, reusing the memory.
    fn draw(&mut self, blocks: &'a [Block<T, SIDES>], random: &mut chacha20::ChaCha8Rng) {
        self.seconds.clear();
        self.trial_ends.clear();
        self.side_ends.clear();
        for _ in blocks {
            for side in &blocks[place(random, blocks.len())] {
                for _ in side {
                    let trial = &side[place(random, side.len())];
                    self.seconds
                        .extend((0..trial.len()).map(|_| &trial[place(random, trial.len())]));
                    self.trial_ends.push(self.seconds.len());
                }
                self.side_ends.push(self.trial_ends.len());
            }
        }
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.side_ends.len() / SIDES
    }

    /// Returns the trials of one side of a block, each as its seconds.
    ///
    /// # Panics
    /// If there is no such block or side.
    pub fn trials(&self, block: usize, side: usize) -> impl Iterator<Item = &[&'a T]> {
        span(&self.side_ends, block * SIDES + side)
            .map(|trial| &self.seconds[span(&self.trial_ends, trial)])
    }

    /// Returns all seconds of one side of a block.
    ///
    /// # Panics
    /// If there is no such block or side.
    pub fn seconds(&self, block: usize, side: usize) -> &[&'a T] {
        let trials = span(&self.side_ends, block * SIDES + side);
        &self.seconds
            [span(&self.trial_ends, trials.start).start..span(&self.trial_ends, trials.end - 1).end]
    }
}

/// Returns the range between two successive ends.
fn span(ends: &[usize], number: usize) -> std::ops::Range<usize> {
    let begin = if number == 0 { 0 } else { ends[number - 1] };
    begin..ends[number]
}

/// A statistic and its values over all resamples.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// The statistic of the measured blocks.
    pub estimate: f64,
    sorted: Vec<f64>,
}

impl Bootstrap {
    /// Returns the percentile interval: quantiles of the resamples (Efron and Tibshirani, *An
    /// Introduction to the Bootstrap*, 1993, §13.3).
    pub fn percentile(&self, confidence: f64) -> Interval {
        let resamples = self.sorted.len();
        let rank = ((resamples + 1) as f64 * (1.0 - confidence) / 2.0).floor() as usize;
        let rank = rank.clamp(1, resamples.div_ceil(2));
        Interval { low: self.sorted[rank - 1], high: self.sorted[resamples - rank] }
    }

    /// Returns the basic interval: the percentile interval, mirrored at the estimate (Davison and
    /// Hinkley, *Bootstrap Methods and their Application*, 1997, eq. 5.6). For a ratio, use its
    /// logarithm as the statistic and transform the result back.
    pub fn basic(&self, confidence: f64) -> Interval {
        let Interval { low, high } = self.percentile(confidence);
        Interval { low: 2.0 * self.estimate - high, high: 2.0 * self.estimate - low }
    }
}

/// Resamples blocks, trials and seconds with replacement, starting with blocks, and computes the
/// statistic of each resample (Kalibera and Jones, *Quantifying Performance Changes with Effect
/// Size Confidence Intervals*, 2012, §5). The same seed gives the same resamples.
///
/// With few blocks, the interval is too narrow by about √((n−1)/n), and because it does not use the
/// t distribution. It also ignores the correlation of successive seconds, which matters little if
/// blocks differ more than seconds.
///
/// Returns `None` without blocks or resamples, if a side has no trial or a trial no second, or if
/// the statistic is not a number.
pub fn hierarchical_bootstrap<T, const SIDES: usize>(
    blocks: &[Block<T, SIDES>],
    resamples: usize,
    seed: u64,
    mut statistic: impl FnMut(&Resample<'_, T, SIDES>) -> f64,
) -> Option<Bootstrap> {
    let is_empty = |side: &Vec<Vec<T>>| side.is_empty() || side.iter().any(Vec::is_empty);
    if blocks.is_empty() || SIDES == 0 || resamples == 0 || blocks.iter().flatten().any(is_empty) {
        return None;
    }
    let mut sample = Resample::whole(blocks);
    let estimate = Some(statistic(&sample)).filter(|value| !value.is_nan())?;
    let mut random = seeded(seed, 0);
    let mut sorted = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        sample.draw(blocks, &mut random);
        sorted.push(Some(statistic(&sample)).filter(|value| !value.is_nan())?);
    }
    sorted.sort_unstable_by(f64::total_cmp);
    Some(Bootstrap { estimate, sorted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;
    use proptest::prelude::*;

    fn mean_of_blocks(sample: &Resample<'_, f64, 1>) -> f64 {
        let block = |b: usize| {
            sample.seconds(b, 0).iter().copied().sum::<f64>() / sample.seconds(b, 0).len() as f64
        };
        (0..sample.blocks()).map(block).sum::<f64>() / sample.blocks() as f64
    }

    /// The mouse data of Efron and Tibshirani (1993), table 2.1: seven treated mice, mean survival
    /// 86.86 days. The bootstrap's standard error of the mean converges to 23.36 (table 2.2).
    #[test]
    fn mouse_data_match_the_published_standard_error() {
        let blocks: Vec<Block<f64, 1>> =
            [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0].map(|days| [vec![vec![days]]]).to_vec();
        let found = hierarchical_bootstrap(&blocks, 5_000, 1, mean_of_blocks).unwrap();
        assert!((found.estimate - 86.857).abs() < 1e-3);
        // Six standard errors of a standard deviation from 5,000 resamples: 23.36·6/√10,000.
        assert!((crate::sample_deviation(&found.sorted).unwrap() - 23.36).abs() < 1.4);
    }

    /// If every level is drawn with replacement, the variance of the resampled mean is v(blocks)/B
    /// + v(trials)/(B·T) + v(seconds)/(B·T·S), where v is the population variance.
    #[test]
    fn every_level_adds_its_variance() {
        // The worked example of Kalibera and Jones, *Rigorous Benchmarking in Reasonable Time*.
        let data =
            [[[9.0, 5.0], [8.0, 3.0]], [[10.0, 6.0], [7.0, 11.0]], [[1.0, 12.0], [2.0, 4.0]]];
        let blocks: Vec<Block<f64, 1>> =
            data.iter().map(|block| [block.iter().map(|trial| trial.to_vec()).collect()]).collect();
        let found = hierarchical_bootstrap(&blocks, 10_000, 7, mean_of_blocks).unwrap();
        assert_eq!(found.estimate, 6.5);
        let population = |values: &[f64]| {
            let centre = crate::mean(values).unwrap();
            values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / values.len() as f64
        };
        let mean_over = |values: Vec<f64>| crate::mean(&values).unwrap();
        let trials: Vec<Vec<f64>> = data
            .iter()
            .map(|block| block.iter().map(|t| crate::mean(t).unwrap()).collect())
            .collect();
        let of_blocks =
            population(&trials.iter().map(|t| crate::mean(t).unwrap()).collect::<Vec<_>>());
        let of_trials = mean_over(trials.iter().map(|t| population(t)).collect());
        let of_seconds = mean_over(data.iter().flatten().map(|t| population(t)).collect());
        let expected = of_blocks / 3.0 + of_trials / 6.0 + of_seconds / 12.0;
        let variance = population(&found.sorted);
        // Four standard deviations of a variance from 10,000 resamples: 4·√(2/10,000).
        assert!((variance / expected - 1.0).abs() < 0.057, "{variance} {expected}");
    }

    #[test]
    fn resampling_keeps_sides_of_a_block_together() {
        // Both sides of a block share its level, so the ratio does not depend on it.
        let blocks: Vec<Block<f64, 2>> = (1..=8)
            .map(|b| [vec![vec![2.0 * f64::from(b); 3]], vec![vec![f64::from(b); 5]; 2]])
            .collect();
        let mut shapes = Vec::new();
        let found = hierarchical_bootstrap(&blocks, 50, 3, |sample| {
            shapes.push((
                sample.blocks(),
                sample.trials(0, 0).count(),
                sample.trials(7, 1).map(<[_]>::len).collect::<Vec<_>>(),
            ));
            let log_ratio = |b: usize| (sample.seconds(b, 0)[0] / sample.seconds(b, 1)[9]).ln();
            (0..sample.blocks()).map(log_ratio).sum::<f64>() / sample.blocks() as f64
        });
        let interval = found.unwrap().percentile(0.95);
        assert!(
            (interval.low.exp() - 2.0).abs() < 1e-12 && (interval.high.exp() - 2.0).abs() < 1e-12
        );
        assert!(shapes.iter().all(|shape| *shape == (8, 1, vec![5, 5])));
    }

    #[test]
    fn percentile_and_basic_intervals_mirror_each_other() {
        let found = Bootstrap { estimate: 10.0, sorted: (1..=999).map(f64::from).collect() };
        assert_eq!(found.percentile(0.95), Interval { low: 25.0, high: 975.0 });
        assert_eq!(found.basic(0.95), Interval { low: -955.0, high: -5.0 });
        let one = Bootstrap { estimate: 1.0, sorted: vec![1.0] };
        assert_eq!(one.percentile(0.95), Interval { low: 1.0, high: 1.0 });
    }

    #[test]
    fn empty_levels_give_none() {
        let one = |value: f64| vec![[vec![vec![value]]]];
        assert!(hierarchical_bootstrap(&[] as &[Block<f64, 1>], 10, 0, mean_of_blocks).is_none());
        assert!(hierarchical_bootstrap(&one(1.0), 0, 0, mean_of_blocks).is_none());
        assert!(
            hierarchical_bootstrap(&[[Vec::<Vec<f64>>::new()]], 10, 0, mean_of_blocks).is_none()
        );
        assert!(
            hierarchical_bootstrap(&[[vec![Vec::<f64>::new()]]], 10, 0, mean_of_blocks).is_none()
        );
        assert!(hierarchical_bootstrap(&one(f64::NAN), 10, 0, mean_of_blocks).is_none());
    }

    #[test]
    fn many_blocks_agree_with_the_t_interval() {
        let mut random = seeded(11, 0);
        let values: Vec<f64> = (0..200).map(|_| normal(&mut random)).collect();
        let blocks: Vec<Block<f64, 1>> = values.iter().map(|v| [vec![vec![*v]]]).collect();
        let found = hierarchical_bootstrap(&blocks, 1_500, 5, mean_of_blocks).unwrap();
        let (_, t) = crate::mean_interval(&values, 0.95).unwrap();
        for interval in [found.percentile(0.95), found.basic(0.95)] {
            assert!(
                (interval.low - t.low).abs() < 0.03 && (interval.high - t.high).abs() < 0.03,
                "{interval:?} {t:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn resample_keeps_values_and_shape(
            shape in prop::collection::vec(prop::collection::vec(1usize..4, 1..4), 1..6), seed in any::<u64>(),
        ) {
            // Every second contains its block and trial.
            let blocks: Vec<Block<(usize, usize), 1>> = shape.iter().enumerate()
                .map(|(b, trials)| [trials.iter().enumerate().map(|(t, seconds)| vec![(b, t); *seconds]).collect()]).collect();
            let found = hierarchical_bootstrap(&blocks, 5, seed, |sample| {
                for b in 0..sample.blocks() {
                    let drawn = sample.seconds(b, 0)[0].0;
                    assert_eq!(sample.trials(b, 0).count(), shape[drawn].len());
                    for trial in sample.trials(b, 0) {
                        assert!(trial.iter().all(|second| **second == *trial[0] && second.0 == drawn));
                        assert_eq!(trial.len(), shape[drawn][trial[0].1]);
                    }
                }
                sample.blocks() as f64
            });
            prop_assert_eq!(found.unwrap().estimate, shape.len() as f64);
        }
    }
}
