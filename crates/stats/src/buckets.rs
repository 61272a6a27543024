//! Counts by value, in the buckets of HdrHistogram (Tene, 2012).
//!
//! There are 2,048 steps of one up to 2,048, then 1,024 steps for each doubling. This
//! implementation records in a few instructions. The library's histogram is used for what is stored
//! and displayed.

use hdrhistogram::Histogram as Hdr;

/// Significant decimal digits of each value. 2,048 is the first power of two that distinguishes 2 ·
/// 10³ steps.
const DIGITS: u8 = 3;
const STEPS: u64 = 2_048;
const HALF_BITS: u32 = 10;

#[derive(Clone)]
pub(crate) struct Buckets {
    counts: Box<[u64]>,
    len: u64,
    highest: u64,
}

impl Buckets {
    /// Allocates buckets for values up to the highest. Greater values count there.
    pub fn new(highest: u64) -> Buckets {
        Buckets { counts: vec![0; index(highest) + 1].into_boxed_slice(), len: 0, highest }
    }

    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[index(value.min(self.highest))] += 1;
        self.len += 1;
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn add(&mut self, other: &Buckets) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(ours, theirs)| *ours += theirs);
        self.len += other.len;
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.len = 0;
    }

    /// Returns the largest value in the bucket at a quantile. Quantile 0 is the minimum.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile.clamp(0.0, 1.0) * self.len as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        at.map_or(0, |at| if quantile > 0.0 { lowest(at) + width(at) - 1 } else { lowest(at) })
    }

    /// Returns how many values are from `low` to `high`, inclusive, at the resolution of buckets.
    pub fn count_between(&self, low: u64, high: u64) -> u64 {
        let (from, to) = (index(low.min(self.highest)), index(high.min(self.highest)));
        if from > to { 0 } else { self.counts[from..=to].iter().sum() }
    }

    /// Returns the largest value of every bucket in use and its count, in ascending order.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .map(|(at, count)| (lowest(at) + width(at) - 1, *count))
    }

    /// Returns the number of HdrHistogram's buckets for these values, each twice as wide as the one
    /// before, and the steps of each.
    pub fn layout(&self) -> (u8, u64) {
        (self.to_hdr().buckets(), STEPS)
    }

    pub fn to_hdr(&self) -> Hdr<u64> {
        let mut hdr =
            Hdr::new_with_bounds(1, self.highest, DIGITS).expect("constant bounds are valid");
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            hdr.saturating_record_n(lowest(at), *count);
        }
        hdr
    }

    /// Converts a histogram of the library. Values above the highest count there.
    pub fn from_hdr(highest: u64, hdr: &Hdr<u64>) -> Buckets {
        let mut buckets = Buckets::new(highest);
        for point in hdr.iter_recorded() {
            buckets.counts[index(point.value_iterated_to().min(highest))] += point.count_at_value();
            buckets.len += point.count_at_value();
        }
        buckets
    }
}

/// Returns the bucket of a value.
#[inline]
fn index(value: u64) -> usize {
    let doublings = (value | (STEPS - 1)).ilog2() - HALF_BITS;
    ((u64::from(doublings) << HALF_BITS) + (value >> doublings)) as usize
}

fn doublings(index: usize) -> u64 {
    (index as u64 >> HALF_BITS).saturating_sub(1)
}

/// Returns the smallest value of a bucket.
fn lowest(index: usize) -> u64 {
    let doublings = doublings(index);
    (index as u64 - (doublings << HALF_BITS)) << doublings
}

/// Returns how many values a bucket contains.
fn width(index: usize) -> u64 {
    1 << doublings(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HIGHEST: u64 = 3_600_000_000_000;

    proptest! {
        #[test]
        fn buckets_match_hdr_histogram(values in prop::collection::vec(prop_oneof![0u64..5_000, 0..HIGHEST, Just(HIGHEST), Just(u64::MAX)], 0..200)) {
            let (mut ours, mut theirs) = (Buckets::new(HIGHEST), Hdr::<u64>::new_with_bounds(1, HIGHEST, DIGITS).unwrap());
            for value in &values {
                ours.record(*value);
                theirs.saturating_record(*value);
            }
            prop_assert_eq!(ours.len(), theirs.len());
            for quantile in [0.0, 0.1, 0.5, 0.9, 0.999, 1.0] {
                prop_assert_eq!(ours.value_at_quantile(quantile), theirs.value_at_quantile(quantile));
            }
            for (low, high) in [(0, 1_000), (2_000, 70_000), (5_000, HIGHEST), (HIGHEST, HIGHEST)] {
                prop_assert_eq!(ours.count_between(low, high), theirs.count_between(low, high));
            }
            prop_assert!(ours.to_hdr() == theirs, "to theirs");
            prop_assert_eq!(&Buckets::from_hdr(HIGHEST, &theirs).counts, &ours.counts);
        }

        #[test]
        fn value_is_within_its_bucket(value in prop_oneof![0u64..10_000, 0..HIGHEST]) {
            let at = index(value);
            prop_assert!(lowest(at) <= value && value < lowest(at) + width(at));
            prop_assert!(width(at) - 1 <= value / 1_000, "three digits");
        }
    }
}
