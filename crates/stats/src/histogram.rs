//! A histogram of nanoseconds whose size does not depend on the number of samples.
//!
//! It adds exact moments to `buckets`: minimum, maximum, sum and sum of squares. In a record, it is
//! stored in the compressed format of HdrHistogram.

use crate::buckets::Buckets;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest value that is distinguished: one hour in nanoseconds. Longer ones count there and in
/// [`Histogram::beyond`].
const HIGHEST_NS: u64 = 3_600_000_000_000;

/// An HDR histogram of values in nanoseconds with three significant digits. It also keeps the exact
/// minimum, maximum, sum and sum of squares.
#[derive(Clone)]
pub struct Histogram {
    buckets: Buckets,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    sum_of_squares: u128,
    beyond: u64,
}

/// Why stored bytes are not a valid histogram.
#[derive(Debug)]
pub struct HistogramError(String);

impl fmt::Display for HistogramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an HDR histogram: {}", self.0)
    }
}

impl std::error::Error for HistogramError {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("len", &self.len())
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .finish()
    }
}

impl Histogram {
    /// Creates an empty histogram and allocates all its memory.
    pub fn new() -> Self {
        Histogram {
            buckets: Buckets::new(HIGHEST_NS),
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_of_squares: 0,
            beyond: 0,
        }
    }

    /// Records one value in nanoseconds. It never fails and never allocates.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        if value_ns > HIGHEST_NS {
            self.beyond += 1;
        }
        self.buckets.record(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.sum_ns += u128::from(value_ns);
        self.sum_of_squares += u128::from(value_ns) * u128::from(value_ns);
    }

    /// Adds every sample of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.add(&other.buckets);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
        self.beyond += other.beyond;
    }

    /// Removes all samples and keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.clear();
        (self.min_ns, self.max_ns, self.sum_ns, self.sum_of_squares, self.beyond) =
            (u64::MAX, 0, 0, 0, 0);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.buckets.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the exact minimum in nanoseconds, or 0 without samples.
    pub fn min_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// Returns the exact maximum in nanoseconds, or 0 without samples.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Returns the exact sum of all samples in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Returns the exact mean in nanoseconds, or 0 without samples.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns as f64 / self.len() as f64 }
    }

    /// Returns the exact population standard deviation in nanoseconds, or 0 without samples. JMeter
    /// prints the same (STDEVP).
    pub fn deviation_ns(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        // Computes n·Σx² − (Σx)² in integers to avoid cancellation. Uses floats if that would
        // overflow.
        let n = u128::from(self.len());
        let spread =
            match (n.checked_mul(self.sum_of_squares), self.sum_ns.checked_mul(self.sum_ns)) {
                (Some(squares), Some(square)) => (squares - square) as f64,
                _ => {
                    (n as f64 * self.sum_of_squares as f64 - (self.sum_ns as f64).powi(2)).max(0.0)
                }
            };
        spread.sqrt() / n as f64
    }

    /// Returns the value at a quantile in 0..=1 in nanoseconds, with three digits, or 0 without
    /// samples. It is never outside the exact extremes.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.buckets.value_at_quantile(quantile).clamp(self.min_ns, self.max_ns)
    }

    /// Returns the confidence interval of a quantile in nanoseconds, from the samples at its two
    /// ranks ([`quantile_ranks`](crate::quantile_ranks)). `None` if a rank is beyond the samples.
    pub fn quantile_interval_ns(&self, quantile: f64, confidence: f64) -> Option<(u64, u64)> {
        let (low, high) = crate::quantile_ranks(self.len(), quantile, confidence)?;
        // Half a rank lower, so that rounding cannot reach the next sample.
        let at = |rank: u64| self.quantile_ns((rank as f64 - 0.5) / self.len() as f64);
        Some((at(low), at(high)))
    }

    /// Returns how many samples are from `low_ns` to `high_ns`, inclusive, at a resolution of three
    /// digits.
    pub fn count_between(&self, low_ns: u64, high_ns: u64) -> u64 {
        self.buckets.count_between(low_ns, high_ns)
    }

    /// Returns the recorded values in nanoseconds with their counts, in ascending order, at a
    /// resolution of three digits. Values are within the exact extremes.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.recorded().map(|(value, count)| (value.clamp(self.min_ns, self.max_ns), count))
    }

    /// Returns the distribution in steps that become finer towards the maximum: `steps` for each
    /// halving of the rest. Each step has a value in nanoseconds, its quantile, and the number of
    /// samples up to it.
    pub fn spectrum(&self, steps: u32) -> Vec<(u64, f64, u64)> {
        let mut count = 0;
        let mut seen = |point: hdrhistogram::iterators::IterationValue<u64>| {
            count += point.count_since_last_iteration();
            (point.value_iterated_to().min(self.max_ns), point.quantile_iterated_to(), count)
        };
        self.buckets.to_hdr().iter_quantiles(steps).map(&mut seen).collect()
    }

    /// Returns the number of HdrHistogram's buckets up to an hour, each twice as wide as the one
    /// before, and the steps of each.
    pub fn layout(&self) -> (u8, u64) {
        self.buckets.layout()
    }

    /// Encodes the buckets in HdrHistogram's compressed V2 format, in base64. Its interval logs
    /// contain this.
    pub fn to_hdr_base64(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.buckets.to_hdr(), &mut bytes)
            .expect("memory takes all that is written");
        BASE64.encode(bytes)
    }

    /// Returns the number of samples longer than an hour.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }
}

/// The format in a record: the buckets in HdrHistogram's compressed V2 format, in base64, and the
/// exact moments. Every HdrHistogram reader can open the buckets.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Stored {
    hdr: String,
    min_ns: u64,
    max_ns: u64,
    /// Decimal, because some JSON readers store numbers as doubles.
    sum_ns: String,
    sum_of_squares: String,
    beyond: u64,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Stored {
            hdr: self.to_hdr_base64(),
            min_ns: self.min_ns(),
            max_ns: self.max_ns,
            sum_ns: self.sum_ns.to_string(),
            sum_of_squares: self.sum_of_squares.to_string(),
            beyond: self.beyond,
        }
        .serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Stored::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        Stored::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

impl TryFrom<Stored> for Histogram {
    type Error = HistogramError;

    fn try_from(stored: Stored) -> Result<Self, HistogramError> {
        let fail = |cause: String| HistogramError(cause);
        let bytes = BASE64.decode(&stored.hdr).map_err(|e| fail(e.to_string()))?;
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| fail(format!("{e:?}")))?;
        let mut histogram = Histogram::new();
        histogram.buckets = Buckets::from_hdr(HIGHEST_NS, &read);
        if !histogram.is_empty() {
            histogram.min_ns = stored.min_ns;
        }
        histogram.max_ns = stored.max_ns;
        histogram.sum_ns =
            stored.sum_ns.parse().map_err(|_| fail("sum_ns is no whole number".into()))?;
        histogram.sum_of_squares = stored
            .sum_of_squares
            .parse()
            .map_err(|_| fail("sum_of_squares is no whole number".into()))?;
        histogram.beyond = stored.beyond;
        if !histogram.is_empty() && (histogram.min_ns > histogram.max_ns) {
            return Err(fail("min_ns is greater than max_ns".into()));
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram_of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        histogram
    }

    #[test]
    fn spectrum_ends_with_all_samples() {
        let histogram = histogram_of(&[1_000, 2_000, 3_000, 4_000]);
        let spectrum = histogram.spectrum(5);
        assert_eq!(spectrum.last().copied(), Some((4_000, 1.0, 4)));
        assert!(spectrum.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].2 <= w[1].2));
        assert_eq!(histogram.count_between(2_000, 3_000), 2);
        assert_eq!(
            (histogram.count_between(0, u64::MAX), histogram.count_between(3_000, 2_000)),
            (4, 0)
        );
        assert!(histogram.to_hdr_base64().starts_with("HISTF"));
        assert!(histogram_of(&[]).spectrum(5).iter().all(|(_, _, count)| *count == 0));
    }

    #[test]
    fn recorded_values_are_returned_with_counts() {
        let histogram = histogram_of(&[1_000, 1_000, 5_000_001, HIGHEST_NS + 5]);
        let recorded: Vec<(u64, u64)> = histogram.recorded().collect();
        assert_eq!((recorded.len(), recorded[0]), (3, (1_000, 2)));
        assert!(
            recorded[1].0.abs_diff(5_000_001) <= 5_000 && recorded[2] == (HIGHEST_NS + 5, 1),
            "{recorded:?}"
        );
        assert_eq!(
            (histogram.sum_ns(), histogram_of(&[]).recorded().count()),
            (3_600_005_002_006, 0)
        );
    }

    #[test]
    fn quantile_interval_is_the_samples_at_its_ranks() {
        let hundred = histogram_of(&(1..=100).collect::<Vec<_>>());
        assert_eq!(hundred.quantile_interval_ns(0.5, 0.95), Some((40, 61)));
        assert_eq!(hundred.quantile_interval_ns(0.99, 0.95), None);
        assert_eq!(histogram_of(&[]).quantile_interval_ns(0.5, 0.95), None);
    }

    #[test]
    fn empty_histogram_is_zero_everywhere() {
        let empty = Histogram::new();
        assert_eq!(
            (empty.len(), empty.min_ns(), empty.max_ns(), empty.quantile_ns(0.5)),
            (0, 0, 0, 0)
        );
        assert_eq!((empty.mean_ns(), empty.deviation_ns()), (0.0, 0.0));
    }

    #[test]
    fn samples_beyond_an_hour_are_counted() {
        let histogram = histogram_of(&[HIGHEST_NS + 5]);
        assert_eq!(
            (histogram.len(), histogram.beyond(), histogram.max_ns()),
            (1, 1, HIGHEST_NS + 5)
        );
    }

    #[test]
    fn standard_deviation_is_of_the_population() {
        // A textbook set with mean 5 and population standard deviation 2.
        let histogram = histogram_of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((histogram.mean_ns(), histogram.deviation_ns()), (5.0, 2.0));
    }

    #[test]
    fn invalid_stored_bytes_are_refused() {
        for bad in [
            r#"{"hdr":"??","min_ns":0,"max_ns":0,"sum_ns":"0","sum_of_squares":"0","beyond":0}"#,
            r#"{"hdr":"AAAA","min_ns":0,"max_ns":0,"sum_ns":"0","sum_of_squares":"0","beyond":0}"#,
        ] {
            assert!(serde_json::from_str::<Histogram>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn moments_are_exact_and_quantiles_have_three_digits(mut values in prop::collection::vec(1u64..HIGHEST_NS, 1..400)) {
            let histogram = histogram_of(&values);
            values.sort_unstable();
            let n = values.len();
            prop_assert_eq!(histogram.len(), n as u64);
            prop_assert_eq!(histogram.min_ns(), values[0]);
            prop_assert_eq!(histogram.max_ns(), values[n - 1]);
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n as f64;
            prop_assert!((histogram.mean_ns() - mean).abs() <= mean * 1e-9);
            for q in [0.0, 0.25, 0.5, 0.9, 0.99, 1.0] {
                let rank = ((q * n as f64).ceil() as usize).clamp(1, n);
                let truth = values[rank - 1] as f64;
                prop_assert!((histogram.quantile_ns(q) as f64 - truth).abs() <= truth * 1e-3 + 1.0);
            }
        }

        #[test]
        fn storing_and_merging_are_lossless(a in prop::collection::vec(0u64..10_000_000_000, 0..200), b in prop::collection::vec(0u64..10_000_000_000, 0..200)) {
            let mut merged = histogram_of(&a);
            merged.merge(&histogram_of(&b));
            let both = histogram_of(&[a, b].concat());
            let read: Histogram = serde_json::from_str(&serde_json::to_string(&merged).unwrap()).unwrap();
            for other in [&merged, &read] {
                prop_assert_eq!(other.len(), both.len());
                prop_assert_eq!((other.min_ns(), other.max_ns()), (both.min_ns(), both.max_ns()));
                prop_assert_eq!(other.mean_ns(), both.mean_ns());
                prop_assert_eq!(other.deviation_ns(), both.deviation_ns());
                prop_assert_eq!(other.quantile_ns(0.99), both.quantile_ns(0.99));
            }
        }
    }
}
