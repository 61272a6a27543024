//! What a run measured, and how the results of several event loops are merged into one.

use record::{Counts, Second};
use serde::{Deserialize, Serialize};
use stats::{Histogram, smallest_sample};
use std::collections::BTreeMap;

/// The largest number of failed requests that are kept as examples.
pub(crate) const EXAMPLES_MAX: usize = 5;

/// Outcomes of one step of a workload. The check for lost writes needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Requests with a correct response.
    pub correct: u64,
    /// Requests whose effect on the server is unknown. They had no complete response, a server
    /// error, or a wrong response with a success status.
    pub in_doubt: u64,
}

/// What a run measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The start of the measurement (CLOCK_MONOTONIC).
    pub began_ns: u64,
    /// From the start to the end: the planned duration, or the last response of a schedule if that
    /// came later.
    pub duration_ns: u64,
    /// From the start to the instant after which no request starts.
    pub planned_ns: u64,
    /// From the scheduled instant to the complete response. Without a schedule, a request is due
    /// when its connection has room: when the response before it has been read.
    pub latency: Histogram,
    /// From sending to the complete response.
    pub service: Histogram,
    /// From the instant at which a request was due to the instant of sending.
    pub lag: Histogram,
    /// Requests by outcome.
    pub counts: Counts,
    /// Outcomes by step of the workload.
    pub steps: Vec<StepCounts>,
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of correct responses.
    pub received_bytes: u64,
    /// The first few failed requests, described.
    pub examples: Vec<String>,
    /// One entry per second.
    pub seconds: Vec<Second>,
    /// CPU time of the generator's threads.
    pub cpu_ns: u64,
    /// The largest number of requests in flight.
    pub in_flight_max: u64,
    /// The mean number of requests in flight.
    pub in_flight_mean: f64,
    /// Requests sent within the planned duration.
    pub sent_in_time: u64,
    /// When a sample of the scheduled requests was sent, in microseconds from the start.
    pub sent_at_us: Vec<u64>,
    /// Correct responses in each of the first `TENTHS_MAX` tenths of a second.
    pub correct_per_tenth: Vec<u32>,
    /// The sum of the latencies of correct responses in each of these tenths, in nanoseconds.
    pub latency_ns_per_tenth: Vec<u64>,
    /// Connections opened.
    pub connections_opened: u64,
    /// Retries of requests that got no response on their connection.
    pub retried: u64,
    /// How long each connection took to open, including those that a closed load opens before its
    /// clock starts.
    pub connect: Histogram,
    /// How long each TLS handshake took. Empty without TLS.
    pub handshake: Histogram,
    /// TLS handshakes that resumed an earlier session.
    pub resumed: u64,
    /// CPU time spent polling for events in order to wake up on time.
    pub spun_ns: u64,
    /// The number of event loops.
    pub threads: u32,
    /// Whether the run was stopped early.
    pub interrupted: bool,
}

impl Measured {
    /// Adds what another event loop measured at the same time.
    ///
    /// Peaks are added up too, so the sum is the worst case. The quantiles of seconds come from
    /// `seconds`.
    pub(crate) fn merge(&mut self, other: Measured, seconds: &BTreeMap<usize, Histogram>) {
        self.began_ns = self.began_ns.min(other.began_ns);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.planned_ns = self.planned_ns.max(other.planned_ns);
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.counts = self.counts.plus(&other.counts);
        for (ours, theirs) in self.steps.iter_mut().zip(other.steps) {
            ours.correct += theirs.correct;
            ours.in_doubt += theirs.in_doubt;
        }
        for (status, n) in other.statuses {
            *self.statuses.entry(status).or_default() += n;
        }
        self.received_bytes += other.received_bytes;
        for example in other.examples {
            if self.examples.len() < EXAMPLES_MAX && !self.examples.contains(&example) {
                self.examples.push(example);
            }
        }
        for (at, theirs) in other.seconds.into_iter().enumerate() {
            if at == self.seconds.len() {
                self.seconds.push(theirs);
                continue;
            }
            let ours = &mut self.seconds[at];
            ours.correct += theirs.correct;
            ours.not_correct += theirs.not_correct;
            (ours.max_ns, ours.max_at_ns) =
                (ours.max_ns, ours.max_at_ns).max((theirs.max_ns, theirs.max_at_ns));
            let quantile = |q: f64| {
                seconds.get(&at).filter(|h| h.len() >= smallest_sample(q)).map(|h| h.quantile_ns(q))
            };
            (ours.p50_ns, ours.p99_ns) = (quantile(0.5), quantile(0.99));
        }
        self.cpu_ns += other.cpu_ns;
        self.spun_ns += other.spun_ns;
        self.in_flight_max += other.in_flight_max;
        self.in_flight_mean += other.in_flight_mean;
        self.sent_in_time += other.sent_in_time;
        self.sent_at_us.extend(other.sent_at_us);
        self.correct_per_tenth
            .resize(self.correct_per_tenth.len().max(other.correct_per_tenth.len()), 0);
        for (ours, theirs) in self.correct_per_tenth.iter_mut().zip(other.correct_per_tenth) {
            *ours += theirs;
        }
        self.latency_ns_per_tenth
            .resize(self.latency_ns_per_tenth.len().max(other.latency_ns_per_tenth.len()), 0);
        for (ours, theirs) in self.latency_ns_per_tenth.iter_mut().zip(other.latency_ns_per_tenth) {
            *ours += theirs;
        }
        self.connections_opened += other.connections_opened;
        self.resumed += other.resumed;
        self.retried += other.retried;
        self.threads += other.threads;
        self.interrupted |= other.interrupted;
    }
}

/// What each thread reports once a second.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of the second, from 0.
    pub number: usize,
    /// What was measured in it.
    pub second: Second,
    /// Requests in flight now.
    pub in_flight: u64,
}
