//! Counts the outcomes of requests and records their times.
//!
//! The event loop calls [`Tally::sent`] when a request goes out, and one of [`Tally::correct`],
//! [`Tally::wrong`], [`Tally::declined`] and [`Tally::failed`] when it is settled.
//! [`Tally::finish`] returns the result. Instants are arguments, so tests need no clock. Between
//! the slices of a load, the measured time is frozen.

use crate::check::{Wrong, harmless};
use crate::measured::{EXAMPLES_MAX, Measured, Progress, StepCounts};
use record::{Counts, Second};
use stats::{Histogram, smallest_sample};
use std::sync::mpsc::{Sender, SyncSender};

/// The largest number of tenths of a second that are kept. Longer runs have their seconds only.
const TENTHS_MAX: usize = 36_000;
const TENTH_NS: u64 = 100_000_000;

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The connection could not be opened.
    Refused,
    /// The connection broke, or the response was malformed.
    Broken,
    /// No response arrived in time.
    TimedOut,
}

/// The receivers of each second when it is over.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    /// Receives progress. A message is dropped if the channel is full.
    pub progress: Option<SyncSender<Progress>>,
    /// Receives the number and latencies of each second, in order to merge threads.
    pub seconds: Option<Sender<(usize, Histogram)>>,
}

/// The measured part of a closed load's slice.
#[derive(Clone, Copy)]
struct Part {
    from_ns: u64,
    /// `u64::MAX` until it ends.
    to_ns: u64,
    /// How long the load ran before. A response that takes longer cannot start early enough to end
    /// at every instant of the part. If it ends after the part, its start decides.
    lead_ns: u64,
}

/// The counts and histograms of a run that is in progress. All memory is allocated at the start.
pub struct Tally {
    listeners: Listeners,
    start_ns: u64,
    /// Whether the run lasts as long as its schedule, not as long as it took.
    has_schedule: bool,
    latency: Histogram,
    service: Histogram,
    lag: Histogram,
    pub(crate) counts: Counts,
    /// One entry for each step of the workload.
    pub(crate) steps: Vec<StepCounts>,
    statuses: Box<[u64; 1000]>,
    received_bytes: u64,
    examples: Vec<String>,
    seconds: Vec<Second>,
    current: Histogram,
    current_not_correct: u64,
    /// The maximum latency of the current second, and when its response was complete.
    current_longest: (u64, u64),
    last_answer_ns: u64,
    in_flight: u64,
    in_flight_max: u64,
    /// The number of requests in flight integrated over time, in nanoseconds, until
    /// `in_flight_since_ns`.
    in_flight_area: u128,
    in_flight_since_ns: u64,
    planned_end_ns: u64,
    sent_in_time: u64,
    /// The numbers of the requests whose instants are kept, in descending order.
    chosen: Vec<u64>,
    sent_at_us: Vec<u64>,
    correct_per_tenth: Vec<u32>,
    correct_before: u64,
    latency_ns_per_tenth: Vec<u64>,
    latency_in_tenth_ns: u64,
    tenths: u64,
    /// A moving average of service times.
    typical_service_ns: u64,
    /// Whether outcomes enter the histograms. Between slices they are only counted.
    records: bool,
    /// The instant since which the measured time is frozen: between slices.
    frozen_since_ns: Option<u64>,
    /// The measured part of a closed load's slice, and its correct responses. Those at its edges
    /// count in part.
    part: Option<Part>,
    credited: f64,
    pub(crate) connect: Histogram,
    handshake: Histogram,
    resumed: u64,
    pub(crate) connections_opened: u64,
    pub(crate) retried: u64,
    enough_for_p50: u64,
    enough_for_p99: u64,
}

impl Tally {
    /// Creates a tally that counts from an instant.
    pub fn new(start_ns: u64, has_schedule: bool) -> Tally {
        Tally::with_listeners(start_ns, has_schedule, Listeners::default())
    }

    /// As [`Tally::new`], with receivers of each second.
    pub(crate) fn with_listeners(start_ns: u64, has_schedule: bool, listeners: Listeners) -> Tally {
        Tally {
            listeners,
            start_ns,
            has_schedule,
            latency: Histogram::new(),
            service: Histogram::new(),
            lag: Histogram::new(),
            counts: Counts::default(),
            steps: Vec::new(),
            statuses: Box::new([0; 1000]),
            received_bytes: 0,
            examples: Vec::with_capacity(EXAMPLES_MAX),
            seconds: Vec::with_capacity(4096),
            current: Histogram::new(),
            current_not_correct: 0,
            current_longest: (0, 0),
            last_answer_ns: start_ns,
            in_flight: 0,
            in_flight_max: 0,
            in_flight_area: 0,
            in_flight_since_ns: start_ns,
            planned_end_ns: u64::MAX,
            sent_in_time: 0,
            chosen: Vec::new(),
            sent_at_us: Vec::new(),
            correct_per_tenth: Vec::with_capacity(TENTHS_MAX),
            correct_before: 0,
            latency_ns_per_tenth: Vec::with_capacity(TENTHS_MAX),
            latency_in_tenth_ns: 0,
            tenths: 0,
            typical_service_ns: 0,
            records: true,
            frozen_since_ns: None,
            part: None,
            credited: 0.0,
            connect: Histogram::new(),
            handshake: Histogram::new(),
            resumed: 0,
            connections_opened: 0,
            retried: 0,
            enough_for_p50: smallest_sample(0.5),
            enough_for_p99: smallest_sample(0.99),
        }
    }

    /// Sets the end of sending, and which requests have their instants kept. `chosen` holds their
    /// numbers in the order of sending, from 0, in descending order.
    pub(crate) fn expect(&mut self, planned_ns: u64, chosen: Vec<u64>) {
        self.planned_end_ns = self.start_ns + planned_ns;
        self.sent_at_us.reserve(chosen.len());
        self.chosen = chosen;
    }

    /// Records that a request is sent for the first time.
    #[inline]
    pub fn sent(&mut self, scheduled_ns: u64, sent_ns: u64) {
        self.add_area(sent_ns);
        self.sent_in_time += u64::from(sent_ns < self.planned_end_ns);
        // There are as many lags as requests before this one.
        if self.chosen.last() == Some(&self.lag.len()) {
            self.chosen.pop();
            self.sent_at_us.push(sent_ns.saturating_sub(self.start_ns) / 1_000);
        }
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        self.lag.record(sent_ns.saturating_sub(scheduled_ns));
    }

    /// Records a complete and correct response.
    #[inline]
    pub fn correct(
        &mut self,
        scheduled_ns: u64,
        sent_ns: u64,
        done_ns: u64,
        status: u16,
        bytes: u64,
    ) {
        self.settled(done_ns);
        let service = done_ns.saturating_sub(sent_ns);
        self.typical_service_ns = (self.typical_service_ns * 7 + service) / 8;
        let mut is_recorded = self.records;
        if let Some(Part { from_ns, to_ns, lead_ns }) = self.part {
            let within = done_ns.min(to_ns).saturating_sub(sent_ns.max(from_ns));
            self.credited += within as f64 / service.max(1) as f64;
            let is_first = scheduled_ns.saturating_add(lead_ns) <= from_ns;
            is_recorded |=
                service > lead_ns && !is_first && sent_ns.saturating_add(lead_ns) < to_ns;
        }
        if is_recorded {
            self.service.record(service);
            let latency = done_ns.saturating_sub(scheduled_ns);
            self.latency.record(latency);
            self.latency_in_tenth_ns += latency;
            self.current.record(latency);
            if latency > self.current_longest.0 {
                self.current_longest = (latency, done_ns);
            }
        }
        self.counts.correct += 1;
        self.count_status(status);
        self.received_bytes += bytes;
        self.last_answer_ns = done_ns;
    }

    /// Records a complete but wrong response.
    pub fn wrong(&mut self, done_ns: u64, status: u16, wrong: &Wrong) {
        self.settled(done_ns);
        self.counts.wrong += 1;
        self.current_not_correct += 1;
        self.count_status(status);
        self.example(|| wrong.to_string());
        self.last_answer_ns = done_ns;
    }

    /// Records a request that the server shed, as the workload permits.
    pub fn declined(&mut self, done_ns: u64, status: u16) {
        self.settled(done_ns);
        self.counts.declined += 1;
        self.current_not_correct += 1;
        self.count_status(status);
        self.last_answer_ns = done_ns;
    }

    /// Records that a request will get no response.
    pub fn failed(&mut self, at_ns: u64, how: Failed, why: impl FnOnce() -> String) {
        self.settled(at_ns);
        match how {
            Failed::Refused => self.counts.refused += 1,
            Failed::Broken => self.counts.broken += 1,
            Failed::TimedOut => self.counts.timed_out += 1,
        }
        self.current_not_correct += 1;
        self.example(why);
    }

    /// Records that a connection opened.
    pub(crate) fn connected(&mut self, took_ns: u64) {
        self.connect.record(took_ns);
    }

    /// Records the end of a TLS handshake.
    pub(crate) fn handshake_done(&mut self, took_ns: u64, resumed: bool) {
        self.handshake.record(took_ns);
        self.resumed += u64::from(resumed);
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the moving average of service times, in nanoseconds.
    pub(crate) fn typical_service_ns(&self) -> u64 {
        self.typical_service_ns
    }

    /// Freezes the measured time at an instant. Outcomes until [`Tally::thaw`] are counted. They
    /// enter the histograms only if `records` is set.
    pub(crate) fn freeze(&mut self, at_ns: u64, records: bool) {
        self.advance_to(at_ns);
        self.add_area(at_ns);
        self.frozen_since_ns = Some(at_ns);
        self.records = records;
    }

    /// Continues the measured time at an instant, as if none had passed since it was frozen.
    /// Returns the instant from which the measurement now counts.
    pub(crate) fn thaw(&mut self, at_ns: u64) -> u64 {
        if let Some(since_ns) = self.frozen_since_ns.take() {
            self.start_ns += at_ns.saturating_sub(since_ns);
            if self.planned_end_ns < u64::MAX {
                self.planned_end_ns += at_ns.saturating_sub(since_ns);
            }
        }
        self.add_area(at_ns);
        self.records = true;
        self.start_ns
    }

    /// Starts the measured part of a closed load's slice, which began at `began_ns`. From now on,
    /// each correct response counts by the share of its service time that lies within the part.
    pub(crate) fn open_part(&mut self, began_ns: u64, at_ns: u64) {
        let lead_ns = at_ns.saturating_sub(began_ns);
        self.part = Some(Part { from_ns: at_ns, to_ns: u64::MAX, lead_ns });
        self.credited = 0.0;
    }

    /// Ends the measured part at an instant. Responses to requests still in flight count in part.
    pub(crate) fn close_part(&mut self, at_ns: u64) {
        self.part = self.part.map(|part| Part { to_ns: at_ns, ..part });
    }

    /// Returns the number of correct responses in the part, after all requests in flight are
    /// settled.
    pub(crate) fn take_part(&mut self) -> f64 {
        self.part = None;
        std::mem::take(&mut self.credited)
    }

    /// Returns the number of requests with an outcome.
    pub(crate) fn settled_requests(&self) -> u64 {
        self.counts.settled()
    }

    /// Returns the number of correct responses in the histograms.
    pub(crate) fn recorded(&self) -> u64 {
        self.service.len()
    }

    #[inline]
    fn add_area(&mut self, until_ns: u64) {
        if self.records {
            self.in_flight_area += u128::from(self.in_flight)
                * u128::from(until_ns.saturating_sub(self.in_flight_since_ns));
        }
        self.in_flight_since_ns = self.in_flight_since_ns.max(until_ns);
    }

    fn settled(&mut self, at_ns: u64) {
        self.advance_to(at_ns);
        self.add_area(at_ns);
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Keeps a text among the examples that is not about a failed request.
    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        self.example(text);
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES_MAX {
            let text = harmless(&text());
            if !self.examples.contains(&text) {
                self.examples.push(text);
            }
        }
    }

    fn count_status(&mut self, status: u16) {
        if let Some(count) = self.statuses.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    /// Closes the tenths and seconds that have passed.
    #[inline]
    pub(crate) fn advance_to(&mut self, at_ns: u64) {
        if self.frozen_since_ns.is_some() {
            return;
        }
        while at_ns.saturating_sub(self.start_ns) >= (self.tenths + 1) * TENTH_NS {
            self.close_tenth();
            if self.tenths.is_multiple_of(10) {
                self.close_second();
            }
        }
    }

    fn close_tenth(&mut self) {
        self.tenths += 1;
        if self.correct_per_tenth.len() < TENTHS_MAX {
            self.correct_per_tenth.push((self.service.len() - self.correct_before) as u32);
            self.latency_ns_per_tenth.push(self.latency_in_tenth_ns);
        }
        self.latency_in_tenth_ns = 0;
        self.correct_before = self.service.len();
    }

    fn close_second(&mut self) {
        let second = self.second_of(&self.current, self.current_not_correct);
        let Listeners { progress, seconds } = &self.listeners;
        if let Some(progress) = progress {
            let _ = progress.try_send(Progress {
                number: self.seconds.len(),
                second,
                in_flight: self.in_flight,
            });
        }
        if let Some(seconds) = seconds {
            let _ = seconds.send((self.seconds.len(), self.current.clone()));
        }
        self.seconds.push(second);
        self.current.clear();
        self.current_not_correct = 0;
        self.current_longest = (0, 0);
    }

    fn second_of(&self, latencies: &Histogram, not_correct: u64) -> Second {
        let samples = latencies.len();
        Second {
            correct: samples,
            not_correct,
            p50_ns: (samples >= self.enough_for_p50).then(|| latencies.quantile_ns(0.5)),
            p99_ns: (samples >= self.enough_for_p99).then(|| latencies.quantile_ns(0.99)),
            max_ns: (samples > 0).then(|| latencies.max_ns()),
            max_at_ns: (samples > 0).then(|| self.current_longest.1.saturating_sub(self.start_ns)),
        }
    }

    /// Closes the last, incomplete second. If it is short, its responses count in the second
    /// before, because it would look like a drop in the rate.
    fn close_rest(&mut self, end_ns: u64) {
        if self.current.is_empty() && self.current_not_correct == 0 {
            return;
        }
        let passed = end_ns - self.start_ns - self.seconds.len() as u64 * 1_000_000_000;
        let rest = self.second_of(&self.current, self.current_not_correct);
        match self.seconds.last_mut() {
            Some(last) if passed < 200_000_000 => {
                last.correct += self.current.len();
                last.not_correct += self.current_not_correct;
                (last.max_ns, last.max_at_ns) =
                    (last.max_ns, last.max_at_ns).max((rest.max_ns, rest.max_at_ns));
            }
            _ => self.close_second(),
        }
    }

    /// Ends the run. The caller adds the counts of requests that are not settled.
    pub fn finish(mut self, planned_ns: u64, ended_ns: u64) -> Measured {
        let end_ns = match (self.frozen_since_ns.take(), self.has_schedule) {
            // A load in slices lasted as long as its slices.
            (Some(frozen_ns), _) => frozen_ns,
            // A schedule lasts until its end, or until its last response if that came later.
            (None, true) => (self.start_ns + planned_ns).max(self.last_answer_ns),
            (None, false) => ended_ns,
        };
        self.advance_to(end_ns);
        self.close_rest(end_ns);
        self.add_area(end_ns);
        Measured {
            began_ns: self.start_ns,
            duration_ns: (end_ns - self.start_ns).max(1),
            planned_ns: planned_ns.max(1),
            latency: self.latency,
            service: self.service,
            lag: self.lag,
            counts: self.counts,
            steps: self.steps,
            statuses: (0u16..).zip(self.statuses.iter().copied()).filter(|(_, n)| *n > 0).collect(),
            received_bytes: self.received_bytes,
            examples: self.examples,
            seconds: self.seconds,
            cpu_ns: 0,
            in_flight_max: self.in_flight_max,
            in_flight_mean: self.in_flight_area as f64 / (end_ns - self.start_ns).max(1) as f64,
            sent_in_time: self.sent_in_time,
            sent_at_us: self.sent_at_us,
            correct_per_tenth: self.correct_per_tenth,
            latency_ns_per_tenth: self.latency_ns_per_tenth,
            connections_opened: self.connections_opened,
            retried: self.retried,
            connect: self.connect,
            handshake: self.handshake,
            resumed: self.resumed,
            spun_ns: 0,
            threads: 1,
            interrupted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn latency_starts_at_the_schedule_and_service_at_sending() {
        let mut tally = Tally::new(1_000 * MS, true);
        tally.sent(1_000 * MS, 1_002 * MS);
        tally.correct(1_000 * MS, 1_002 * MS, 1_007 * MS, 200, 900);
        let measured = tally.finish(5_000 * MS, 6_000 * MS);
        assert_eq!(measured.latency.max_ns(), 7 * MS);
        assert_eq!(measured.service.max_ns(), 5 * MS);
        assert_eq!(measured.lag.max_ns(), 2 * MS);
        assert_eq!((measured.received_bytes, measured.duration_ns), (900, 5_000 * MS));
        assert_eq!(measured.statuses, [(200, 1)].into());
    }

    #[test]
    fn response_counts_in_the_second_of_its_arrival() {
        let mut tally = Tally::new(0, false);
        for at in [100, 900, 2_500] {
            tally.correct((at - 50) * MS, (at - 50) * MS, at * MS, 200, 1);
        }
        tally.failed(2_600 * MS, Failed::Broken, || "reset".into());
        let measured = tally.finish(3_000 * MS, 3_000 * MS);
        let counts: Vec<(u64, u64)> =
            measured.seconds.iter().map(|s| (s.correct, s.not_correct)).collect();
        assert_eq!(counts, [(2, 0), (0, 0), (1, 1)]);
        assert_eq!(
            (measured.seconds[0].max_ns, measured.seconds[0].max_at_ns),
            (Some(50 * MS), Some(100 * MS))
        );
        assert_eq!(measured.seconds[0].p50_ns, None, "two samples do not support a median");
    }

    #[test]
    fn late_schedule_lasts_until_its_last_response() {
        let mut tally = Tally::new(0, true);
        tally.correct(900 * MS, 900 * MS, 1_700 * MS, 200, 1);
        assert_eq!(tally.finish(1_000 * MS, 3_000 * MS).duration_ns, 1_700 * MS);
    }

    #[test]
    fn examples_are_distinct() {
        let mut tally = Tally::new(0, false);
        for i in 0..20 {
            tally.failed(i, Failed::Refused, || format!("cause {}", i % 2));
        }
        assert_eq!(tally.finish(1, 1).examples, ["cause 0", "cause 1"]);
    }
}
