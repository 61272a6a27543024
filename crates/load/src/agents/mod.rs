//! One load, made by generators of several machines: who makes which part, when all begin, and what they measured together.
//!
//! A load is divided as it is among the threads of one generator ([`Share`]): `k` agents with `t` event loops each make what one
//! generator with `k·t` makes, the same arrivals, users, connections and data. All count from one instant ([`Start`]), which each
//! agent is told on its own clock ([`Offset`]). What they measured is put together without loss ([`merged`]). An [`Agent`] waits for
//! who knows its token; [`run`] is the coordinator, which asks, over connections that nobody else can read (`link`).

mod agent;
mod coordinator;
mod deal;
mod link;
mod offset;
mod only;
mod words;

pub use agent::Agent;
pub use coordinator::{Seat, Whom, look, run, run_from};
pub use deal::{LOOPS_MAX, Part, deal};
pub use link::{TOKEN_SHORTEST, TOKEN_VARIABLE, Token};
pub use model::agents::OfAgent;
pub use offset::{Exchange, Offset};
pub use only::Only;
pub use words::TrustedTls;

#[cfg(doc)]
use crate::schedule::Share;
use crate::tally::Measured;
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The instant from which all event loops of a load count, once it is known.
#[derive(Debug, Default)]
pub struct Start(AtomicU64);

impl Start {
    /// An instant of CLOCK_MONOTONIC that is known.
    pub fn at(at_ns: u64) -> Start {
        Start(AtomicU64::new(at_ns))
    }

    /// Makes it known to all who wait for it.
    pub fn tell(&self, at_ns: u64) {
        self.0.store(at_ns, Ordering::Release);
    }

    /// The instant, in nanoseconds of CLOCK_MONOTONIC; `None` before it is known.
    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|at| *at > 0)
    }
}

/// What a part of a load came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Made {
    /// As any load's.
    pub measured: Measured,
    /// The latencies of each second, from which the quantiles of all parts together are made.
    pub seconds: BTreeMap<usize, Histogram>,
    /// By how much the event loop that began last missed the start.
    pub late_ns: u64,
}

/// What several parts came to together, in the order of the parts; `None` of none. Counts and histograms are exactly those of all
/// requests. Peaks are added up, as those of threads are, and the latest beginning is that of all.
pub fn merged(all: impl IntoIterator<Item = Made>) -> Option<Made> {
    all.into_iter().reduce(|mut all, Made { measured, seconds, late_ns }| {
        for (second, latencies) in seconds {
            add_second(&mut all.seconds, second, latencies);
        }
        all.measured.merge(measured, &all.seconds);
        all.late_ns = all.late_ns.max(late_ns);
        all
    })
}

/// Adds the latencies of a second to those of others in the same.
pub(crate) fn add_second(seconds: &mut BTreeMap<usize, Histogram>, second: usize, latencies: Histogram) {
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

    /// A request: when it was due, how long it waited, how long it took, whether it was answered.
    type Request = (u64, u64, u64, bool);

    fn tallied<'r>(requests: impl IntoIterator<Item = &'r Request>, planned_ns: u64) -> Made {
        let (sender, receiver) = mpsc::channel();
        let mut tally = Tally::heard(0, true, Listeners { progress: None, seconds: Some(sender) });
        for (due, waited, took, is_right) in requests {
            let (sent, done) = (due + waited, due + waited + took);
            tally.sent(*due, sent);
            if *is_right {
                tally.correct(*due, sent, done, 200, 10);
            } else {
                tally.failed(done, Failed::Broken, || "reset".into());
            }
            tally.counts.scheduled += 1;
        }
        Made { measured: tally.finish(planned_ns, planned_ns), seconds: receiver.into_iter().collect(), late_ns: 0 }
    }

    fn same(a: &Histogram, b: &Histogram) -> bool {
        serde_json::to_string(a).unwrap() == serde_json::to_string(b).unwrap()
    }

    #[test]
    fn none_is_nothing_and_one_is_itself() {
        assert!(merged([]).is_none());
        let one = merged([tallied(&[(0, MS, MS, true)], 1_000 * MS)]).unwrap();
        assert_eq!((one.measured.counts.correct, one.measured.latency.max_ns()), (1, 2 * MS));
    }

    #[test]
    fn a_start_is_known_once_it_is_told() {
        let start = Start::default();
        assert_eq!(start.get(), None);
        start.tell(7);
        assert_eq!((start.get(), Start::at(9).get()), (Some(7), Some(9)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

        /// Whoever made which request: together they are what one would have measured, also after a journey as JSON.
        #[test]
        fn what_agents_measured_is_put_together_without_loss(
            requests in prop::collection::vec((0u64..300, 0u64..MS / 5, 1u64..MS, prop::bool::weighted(0.9)), 1..3_000),
            agents in 1usize..5,
        ) {
            // One after the other, as a tally hears of them: the next is due when the one before is settled, or later.
            let mut free_ns = 0;
            let requests: Vec<Request> = requests
                .into_iter()
                .map(|(gap_us, waited, took, is_right)| {
                    let due = free_ns + gap_us * 1_000;
                    free_ns = due + waited + took;
                    (due, waited, took, is_right)
                })
                .collect();
            // A whole second, so that none is cut short.
            let planned_ns = free_ns.next_multiple_of(1_000 * MS);
            let one = tallied(&requests, planned_ns);
            let dealt = (0..agents).map(|agent| {
                let made = tallied(requests.iter().skip(agent).step_by(agents), planned_ns);
                serde_json::from_str::<Made>(&serde_json::to_string(&made).unwrap()).unwrap()
            });
            let together = merged(dealt).unwrap();
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
