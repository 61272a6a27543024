//! Counts by value, in the buckets of HdrHistogram (Tene, 2012): 2,048 steps of one up to 2,048, then 1,024 steps to each
//! doubling. Ours record in a few instructions; HdrHistogram's own hold what is stored and shown.

use hdrhistogram::Histogram as Hdr;

/// Significant decimal digits kept of each value; 2,048 is the first power of two that tells 2 · 10³ steps apart.
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
    /// With all memory taken, for values up to the highest; what is greater counts there.
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

    /// The greatest value that cannot be told from the one at this rank; at quantile 0 the least.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile.clamp(0.0, 1.0) * self.len as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        at.map_or(0, |at| if quantile > 0.0 { lowest(at) + width(at) - 1 } else { lowest(at) })
    }

    /// How many values lie from `low` to `high`, both included, as far as buckets tell them apart.
    pub fn count_between(&self, low: u64, high: u64) -> u64 {
        let (from, to) = (index(low.min(self.highest)), index(high.min(self.highest)));
        if from > to { 0 } else { self.counts[from..=to].iter().sum() }
    }

    /// The greatest value of every bucket that counts any, and how many it counts; rising.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..).zip(&self.counts).filter(|(_, count)| **count > 0).map(|(at, count)| (lowest(at) + width(at) - 1, *count))
    }

    /// How many buckets HdrHistogram has for these values, each twice as wide as the one before, and the steps of each.
    pub fn layout(&self) -> (u8, u64) {
        (self.to_hdr().buckets(), STEPS)
    }

    pub fn to_hdr(&self) -> Hdr<u64> {
        let mut hdr = Hdr::new_with_bounds(1, self.highest, DIGITS).expect("constant bounds are valid");
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            hdr.saturating_record_n(lowest(at), *count);
        }
        hdr
    }

    /// Takes what others have counted; what is beyond the highest counts there.
    pub fn from_hdr(highest: u64, hdr: &Hdr<u64>) -> Buckets {
        let mut buckets = Buckets::new(highest);
        for point in hdr.iter_recorded() {
            buckets.counts[index(point.value_iterated_to().min(highest))] += point.count_at_value();
            buckets.len += point.count_at_value();
        }
        buckets
    }
}

/// Which bucket counts a value.
#[inline]
fn index(value: u64) -> usize {
    let doublings = (value | (STEPS - 1)).ilog2() - HALF_BITS;
    ((u64::from(doublings) << HALF_BITS) + (value >> doublings)) as usize
}

fn doublings(index: usize) -> u64 {
    (index as u64 >> HALF_BITS).saturating_sub(1)
}

/// The least value that a bucket counts.
fn lowest(index: usize) -> u64 {
    let doublings = doublings(index);
    (index as u64 - (doublings << HALF_BITS)) << doublings
}

/// How many values a bucket counts.
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
        fn they_count_as_hdr_histogram_does(values in prop::collection::vec(prop_oneof![0u64..5_000, 0..HIGHEST, Just(HIGHEST), Just(u64::MAX)], 0..200)) {
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
        fn a_value_lies_in_its_bucket(value in prop_oneof![0u64..10_000, 0..HIGHEST]) {
            let at = index(value);
            prop_assert!(lowest(at) <= value && value < lowest(at) + width(at));
            prop_assert!(width(at) - 1 <= value / 1_000, "three digits");
        }
    }
}
