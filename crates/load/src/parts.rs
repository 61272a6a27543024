//! Parts of one load, each made by the event loops of one machine, and how their results are
//! merged.
//!
//! [`Part`] says which event loops a machine runs. [`Start`] is the instant from which all of them
//! count. [`merge_parts`] combines their results exactly: histograms are added up, so no quantile
//! is averaged.

use crate::measured::Measured;
use crate::plan::Protocol;
use crate::schedule::Share;
use crate::sizing::event_loops;
use serde::{Deserialize, Serialize};
use spec::experiment::Load;
use stats::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest number of event loops of one agent.
pub const LOOPS_MAX: u32 = 256;

/// The event loops of a load that run on one machine.
///
/// Each event loop has an equal share of the rate. Connections and users are divided into whole
/// numbers that differ by at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The number of its first event loop, from 0.
    pub first: u32,
    /// The number of event loops in this part.
    pub loops: u32,
    /// The number of event loops in all parts.
    pub of: u32,
}

impl Part {
    /// Returns the part that contains the whole load.
    pub fn whole(loops: u32) -> Part {
        Part { first: 0, loops, of: loops }
    }

    /// Returns the share of each event loop.
    pub fn shares(self) -> impl Iterator<Item = Share> {
        (self.first..self.first.saturating_add(self.loops))
            .map(move |thread| Share { thread, of: self.of })
    }

    /// Checks that the part belongs to this load and has a connection for each event loop.
    ///
    /// # Errors
    /// If it does not.
    pub fn check(self, load: &Load, protocol: Protocol) -> Result<(), String> {
        let Part { first, loops, of } = self;
        let is_within = loops > 0
            && loops <= LOOPS_MAX
            && first.checked_add(loops).is_some_and(|end| end <= of);
        if !is_within {
            return Err(format!("{loops} event loops from number {first} are not part of {of}"));
        }
        if event_loops(load, protocol, of) < of {
            return Err(format!("{of} event loops need more connections than {}", load.describe()));
        }
        Ok(())
    }
}

/// The instant from which all event loops of a load count. It is published while they wait for it.
#[derive(Debug, Default)]
pub struct Start(AtomicU64);

impl Start {
    /// Creates a start that is already known, as an instant of CLOCK_MONOTONIC.
    pub fn known(at_ns: u64) -> Start {
        Start(AtomicU64::new(at_ns))
    }

    /// Publishes the instant to all event loops that wait for it.
    pub fn tell(&self, at_ns: u64) {
        self.0.store(at_ns, Ordering::Release);
    }

    /// Returns the instant in nanoseconds of CLOCK_MONOTONIC, or `None` if it is not known yet.
    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|at| *at > 0)
    }
}

/// The result of one part of a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartResult {
    /// The measurement, as of any load.
    pub measured: Measured,
    /// The latencies of each second. Quantiles per second of all parts are computed from them.
    pub seconds: BTreeMap<usize, Histogram>,
    /// How late the last event loop started, compared with the agreed instant.
    pub late_ns: u64,
}

/// Merges the results of parts, in their order. Returns `None` if there are none.
///
/// Counts and histograms are exactly those of all requests together. Peaks are added up, as those
/// of threads are. The latest start counts for all.
pub fn merge_parts(all: impl IntoIterator<Item = PartResult>) -> Option<PartResult> {
    all.into_iter().reduce(|mut all, PartResult { measured, seconds, late_ns }| {
        for (second, latencies) in seconds {
            add_second(&mut all.seconds, second, latencies);
        }
        all.measured.merge(measured, &all.seconds);
        all.late_ns = all.late_ns.max(late_ns);
        all
    })
}

/// Adds latencies to the histogram of their second.
pub(crate) fn add_second(
    seconds: &mut BTreeMap<usize, Histogram>,
    second: usize,
    latencies: Histogram,
) {
    match seconds.get_mut(&second) {
        Some(histogram) => histogram.merge(&latencies),
        None => drop(seconds.insert(second, latencies)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{Failed, Listeners, Tally};
    use proptest::prelude::*;
    use std::sync::mpsc;

    const MS: u64 = 1_000_000;

    /// A request: when it was due, how long it waited, how long it took, and whether the response
    /// was correct.
    type Request = (u64, u64, u64, bool);

    fn tallied<'r>(requests: impl IntoIterator<Item = &'r Request>, planned_ns: u64) -> PartResult {
        let (sender, receiver) = mpsc::channel();
        let mut tally =
            Tally::with_listeners(0, true, Listeners { progress: None, seconds: Some(sender) });
        for (due, waited, took, is_correct) in requests {
            let (sent, done) = (due + waited, due + waited + took);
            tally.sent(*due, sent);
            if *is_correct {
                tally.correct(*due, sent, done, 200, 10);
            } else {
                tally.failed(done, Failed::Broken, || "reset".into());
            }
            tally.counts.scheduled += 1;
        }
        PartResult {
            measured: tally.finish(planned_ns, planned_ns),
            seconds: receiver.into_iter().collect(),
            late_ns: 0,
        }
    }

    fn same(a: &Histogram, b: &Histogram) -> bool {
        serde_json::to_string(a).unwrap() == serde_json::to_string(b).unwrap()
    }

    #[test]
    fn merging_none_is_none_and_merging_one_is_itself() {
        assert!(merge_parts([]).is_none());
        let one = merge_parts([tallied(&[(0, MS, MS, true)], 1_000 * MS)]).unwrap();
        assert_eq!((one.measured.counts.correct, one.measured.latency.max_ns()), (1, 2 * MS));
    }

    #[test]
    fn invalid_part_is_refused() {
        let load = Load::closed(4);
        let check = |first, loops, of| {
            Part { first, loops, of }.check(&load, Protocol::Http1 { keep_alive: true }).is_ok()
        };
        assert!(check(0, 4, 4) && check(2, 2, 4));
        assert!(
            !check(0, 0, 4) && !check(3, 2, 4) && !check(0, 8, 8) && !check(u32::MAX, 2, u32::MAX)
        );
    }

    #[test]
    fn start_is_known_after_it_is_published() {
        let start = Start::default();
        assert_eq!(start.get(), None);
        start.tell(7);
        assert_eq!((start.get(), Start::known(9).get()), (Some(7), Some(9)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

        /// It does not matter which agent made a request. Merged results equal those of one
        /// generator, also after encoding them as JSON.
        #[test]
        fn merged_parts_equal_one_measurement(
            requests in prop::collection::vec((0u64..300, 0u64..MS / 5, 1u64..MS, prop::bool::weighted(0.9)), 1..3_000),
            agents in 1usize..5,
        ) {
            // Requests follow each other, as a tally expects: each is due when the one before is
            // settled, or later.
            let mut free_ns = 0;
            let requests: Vec<Request> = requests
                .into_iter()
                .map(|(gap_us, waited, took, is_correct)| {
                    let due = free_ns + gap_us * 1_000;
                    free_ns = due + waited + took;
                    (due, waited, took, is_correct)
                })
                .collect();
            // A whole number of seconds, so that the last second is complete.
            let planned_ns = free_ns.next_multiple_of(1_000 * MS);
            let one = tallied(&requests, planned_ns);
            let dealt = (0..agents).map(|agent| {
                let made = tallied(requests.iter().skip(agent).step_by(agents), planned_ns);
                serde_json::from_str::<PartResult>(&serde_json::to_string(&made).unwrap()).unwrap()
            });
            let together = merge_parts(dealt).unwrap();
            let (theirs, its) = (&together.measured, &one.measured);
            prop_assert_eq!(theirs.counts, its.counts);
            for (a, b) in [(&theirs.latency, &its.latency), (&theirs.service, &its.service), (&theirs.lag, &its.lag)] {
                prop_assert!(same(a, b));
            }
            prop_assert_eq!(&theirs.seconds, &its.seconds);
            prop_assert_eq!(together.seconds.len(), one.seconds.len());
            prop_assert!(together.seconds.values().zip(one.seconds.values()).all(|(a, b)| same(a, b)));
            prop_assert_eq!(&theirs.correct_per_tenth, &its.correct_per_tenth);
            prop_assert_eq!(&theirs.latency_ns_per_tenth, &its.latency_ns_per_tenth);
            prop_assert_eq!(&theirs.statuses, &its.statuses);
            prop_assert_eq!((theirs.received_bytes, theirs.sent_in_time), (its.received_bytes, its.sent_in_time));
            prop_assert_eq!((theirs.began_ns, theirs.duration_ns), (its.began_ns, its.duration_ns));
            prop_assert!((theirs.in_flight_mean - its.in_flight_mean).abs() < 1e-9);
        }
    }
}
