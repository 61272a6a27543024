//! Pairs in a fixed order and direction, and their resampling.
//!
//! The verdict must not depend on which side is called the baseline, nor on the order of the
//! blocks. So pairs are sorted, and the ratio is taken in the direction in which it is above 1,
//! before anything is resampled. Start with [`Canonical::of_pairs`].

use super::question::{Pair, Second, Side};
use stats::{Block, hierarchical_bootstrap};
use std::cmp::Ordering;

/// Pairs in a fixed order and direction.
pub(super) struct Canonical<'p> {
    /// Numerator and denominator of each log-ratio.
    sides: Vec<(&'p Side, &'p Side)>,
    /// Whether the baseline is the numerator.
    pub is_exchanged: bool,
}

impl<'p> Canonical<'p> {
    pub fn of_pairs(pairs: &'p [Pair]) -> Canonical<'p> {
        let log = |a: &Side, b: &Side| (a.value / b.value).ln();
        let mut sum: Vec<f64> = pairs.iter().map(|p| log(&p.contender, &p.baseline)).collect();
        sum.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let is_exchanged = sum.iter().sum::<f64>() < 0.0;
        let mut sides: Vec<(&Side, &Side)> = pairs
            .iter()
            .map(|p| {
                if is_exchanged { (&p.baseline, &p.contender) } else { (&p.contender, &p.baseline) }
            })
            .collect();
        sides.sort_by(|a, b| {
            let first = |s: &Side| s.seconds.first().map_or(0.0, |s| s.amount);
            let key =
                |s: &(&Side, &Side)| [s.0.value / s.1.value, s.0.value, first(s.0), first(s.1)];
            key(a)
                .iter()
                .zip(key(b))
                .map(|(a, b)| a.total_cmp(&b))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        Canonical { sides, is_exchanged }
    }

    pub fn logs(&self) -> Vec<f64> {
        self.sides.iter().map(|(a, b)| a.value.ln() - b.value.ln()).collect()
    }

    /// Resamples the mean of the log-ratios: blocks and, within the trial of each side, seconds
    /// (Kalibera and Jones 2012).
    pub fn bootstrap(&self, seed: u64, resamples: usize) -> Option<stats::Bootstrap> {
        let blocks: Vec<Block<Drawn, 2>> =
            self.sides.iter().map(|(a, b)| [vec![drawn(a)], vec![drawn(b)]]).collect();
        hierarchical_bootstrap(&blocks, resamples, seed, |sample| {
            let side = |block: usize, side: usize| {
                let seconds = sample.seconds(block, side);
                let Some(first) = seconds.first() else { return f64::NAN };
                if seconds.len() == 1 {
                    return first.log_value;
                }
                let (amount, weight) =
                    seconds.iter().fold((0.0, 0.0), |(a, w), s| (a + s.amount, w + s.weight));
                // A draw of empty seconds alone is far off, not infinitely far.
                let drawn = if weight > 0.0 { amount / weight } else { f64::MAX };
                first.log_value + drawn.clamp(f64::MIN_POSITIVE, f64::MAX).ln() - first.log_whole
            };
            let blocks = sample.blocks();
            (0..blocks).map(|b| side(b, 0) - side(b, 1)).sum::<f64>() / blocks as f64
        })
    }
}

/// A second with the values of its trial, from which the value of a draw of seconds is computed.
struct Drawn {
    amount: f64,
    weight: f64,
    log_value: f64,
    log_whole: f64,
}

/// Returns the seconds of a trial, or its value alone if the seconds are too few or unusable.
fn drawn(side: &Side) -> Vec<Drawn> {
    let log_value = side.value.ln();
    let (amount, weight) =
        side.seconds.iter().fold((0.0, 0.0), |(a, w), s| (a + s.amount, w + s.weight));
    let is_usable = |s: &Second| {
        s.amount.is_finite() && s.weight.is_finite() && s.amount >= 0.0 && s.weight >= 0.0
    };
    if side.seconds.len() < 2
        || !side.seconds.iter().all(is_usable)
        || amount <= 0.0
        || weight <= 0.0
    {
        return vec![Drawn { amount: 1.0, weight: 1.0, log_value, log_whole: 0.0 }];
    }
    let log_whole = (amount / weight).ln();
    side.seconds
        .iter()
        .map(|s| Drawn { amount: s.amount, weight: s.weight, log_value, log_whole })
        .collect()
}
