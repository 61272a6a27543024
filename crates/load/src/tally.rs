//! Counts what became of requests. Instants come in as values, so a test can make them up.

use crate::check::Wrong;
use model::record::{Counts, Second};
use serde::{Deserialize, Serialize};
use stats::{Histogram, smallest_sample};
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, SyncSender};

/// Most examples of failed requests that are kept in words.
const EXAMPLES_MAX: usize = 5;
/// So many tenths of a second are kept: more than an hour is for seconds.
const TENTHS_MAX: usize = 36_000;
const TENTH_NS: u64 = 100_000_000;

/// What became of the requests of one step of a workload, as far as it matters to who keeps what they wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfStep {
    /// Answered rightly.
    pub right: u64,
    /// Sent, and nobody can say what came of it: no whole answer came, a server's error, or one that says it was done and is wrong.
    pub in_doubt: u64,
}

/// What a run measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// When it began (CLOCK_MONOTONIC).
    pub began_ns: u64,
    /// From the start to the end: the planned duration, or the last answer of a schedule where that is later.
    pub duration_ns: u64,
    /// From the start to the instant from which no request was to begin any more.
    pub planned_ns: u64,
    /// From the scheduled instant to the whole answer. Without a schedule a request is due as soon as
    /// there is room for it: when the answer before it was read.
    pub latency: Histogram,
    /// From the sending to the whole answer.
    pub service: Histogram,
    /// From the instant at which it was due to the sending.
    pub lag: Histogram,
    /// What became of the requests.
    pub counts: Counts,
    /// By step of the workload.
    pub steps: Vec<OfStep>,
    /// How often each status came.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the right answers.
    pub received_bytes: u64,
    /// The first few requests that failed, in words.
    pub examples: Vec<String>,
    /// One entry per second.
    pub seconds: Vec<Second>,
    /// CPU time of the generator's threads.
    pub cpu_ns: u64,
    /// Most requests under way at once.
    pub in_flight_max: u64,
    /// Requests under way, on average.
    pub in_flight_mean: f64,
    /// Requests sent within the planned time.
    pub sent_in_time: u64,
    /// When the chosen requests of a schedule were sent, in microseconds from the start.
    pub sent_at_us: Vec<u64>,
    /// Right answers in each tenth of a second, of the first `TENTHS_MAX`.
    pub correct_per_tenth: Vec<u32>,
    /// Latencies of the right answers in each of these tenths, added up, in nanoseconds.
    pub latency_ns_per_tenth: Vec<u64>,
    /// Connections opened.
    pub connections_opened: u64,
    /// How long connecting took, each connection that was made, also those of a closed load before its clock starts.
    pub connect: Histogram,
    /// How long the TLS handshakes took, likewise; empty in the clear.
    pub handshake: Histogram,
    /// How many of these handshakes took up an earlier session.
    pub resumed: u64,
    /// Part of the CPU time that was spent looking for something to do, so as not to oversleep.
    pub spun_ns: u64,
    /// Event loops.
    pub threads: u32,
    /// Whether it was asked to stop early.
    pub interrupted: bool,
}

impl Measured {
    /// Adds what another event loop measured at the same time. Peaks are added, too: what each
    /// had under way at its own worst moment. The quantiles of seconds are those of `seconds`.
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
            ours.right += theirs.right;
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
            (ours.max_ns, ours.max_at_ns) = (ours.max_ns, ours.max_at_ns).max((theirs.max_ns, theirs.max_at_ns));
            let quantile = |q: f64| seconds.get(&at).filter(|h| h.len() >= smallest_sample(q)).map(|h| h.quantile_ns(q));
            (ours.p50_ns, ours.p99_ns) = (quantile(0.5), quantile(0.99));
        }
        self.cpu_ns += other.cpu_ns;
        self.spun_ns += other.spun_ns;
        self.in_flight_max += other.in_flight_max;
        self.in_flight_mean += other.in_flight_mean;
        self.sent_in_time += other.sent_in_time;
        self.sent_at_us.extend(other.sent_at_us);
        self.correct_per_tenth.resize(self.correct_per_tenth.len().max(other.correct_per_tenth.len()), 0);
        for (ours, theirs) in self.correct_per_tenth.iter_mut().zip(other.correct_per_tenth) {
            *ours += theirs;
        }
        self.latency_ns_per_tenth.resize(self.latency_ns_per_tenth.len().max(other.latency_ns_per_tenth.len()), 0);
        for (ours, theirs) in self.latency_ns_per_tenth.iter_mut().zip(other.latency_ns_per_tenth) {
            *ours += theirs;
        }
        self.connections_opened += other.connections_opened;
        self.resumed += other.resumed;
        self.threads += other.threads;
        self.interrupted |= other.interrupted;
    }
}

/// What a thread says once a second, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Which second, from 0.
    pub number: usize,
    /// What it came to.
    pub second: Second,
    /// Requests under way now.
    pub in_flight: u64,
}

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The connection could not be made.
    Refused,
    /// The connection broke, or the answer was malformed.
    Broken,
    /// No answer in time.
    TimedOut,
}

/// Who hears of each second when it is over.
#[derive(Clone, Default)]
pub(crate) struct Listeners {
    /// Whoever watches; a message that finds no room is dropped.
    pub progress: Option<SyncSender<Progress>>,
    /// Whoever puts the seconds of several threads together: the second's number and its latencies.
    pub seconds: Option<Sender<(usize, Histogram)>>,
}

/// Adds up while a run goes on. All its memory is taken at the start.
pub struct Tally {
    listeners: Listeners,
    start_ns: u64,
    /// Whether the run lasts as long as its schedule says, not as long as it took.
    has_schedule: bool,
    latency: Histogram,
    service: Histogram,
    lag: Histogram,
    pub(crate) counts: Counts,
    /// As many as the workload has steps.
    pub(crate) steps: Vec<OfStep>,
    statuses: Box<[u64; 1000]>,
    received_bytes: u64,
    examples: Vec<String>,
    seconds: Vec<Second>,
    current: Histogram,
    current_not_correct: u64,
    /// The longest latency of the current second, and when its answer was whole.
    current_longest: (u64, u64),
    last_answer_ns: u64,
    in_flight: u64,
    in_flight_max: u64,
    /// Requests under way times how long they were, in nanoseconds, until `in_flight_since_ns`.
    in_flight_area: u128,
    in_flight_since_ns: u64,
    planned_end_ns: u64,
    sent_in_time: u64,
    /// Numbers of the requests whose instants are kept, the last first.
    chosen: Vec<u64>,
    sent_at_us: Vec<u64>,
    correct_per_tenth: Vec<u32>,
    correct_before: u64,
    latency_ns_per_tenth: Vec<u64>,
    latency_in_tenth_ns: u64,
    tenths: u64,
    /// How long answers take, smoothed.
    typical_service_ns: u64,
    pub(crate) connect: Histogram,
    handshake: Histogram,
    resumed: u64,
    pub(crate) connections_opened: u64,
    enough_for_p50: u64,
    enough_for_p99: u64,
}

impl Tally {
    /// Begins at an instant.
    pub fn new(start_ns: u64, has_schedule: bool) -> Tally {
        Tally::heard(start_ns, has_schedule, Listeners::default())
    }

    /// As [`Tally::new`], with somebody who hears of each second.
    pub(crate) fn heard(start_ns: u64, has_schedule: bool, listeners: Listeners) -> Tally {
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
            connect: Histogram::new(),
            handshake: Histogram::new(),
            resumed: 0,
            connections_opened: 0,
            enough_for_p50: smallest_sample(0.5),
            enough_for_p99: smallest_sample(0.99),
        }
    }

    /// Says until when requests are to be sent, and of which the instants are to be kept: their numbers in the order
    /// of sending, from 0, falling.
    pub(crate) fn expect(&mut self, planned_ns: u64, chosen: Vec<u64>) {
        self.planned_end_ns = self.start_ns + planned_ns;
        self.sent_at_us.reserve(chosen.len());
        self.chosen = chosen;
    }

    /// A request goes out for the first time.
    #[inline]
    pub fn sent(&mut self, scheduled_ns: u64, sent_ns: u64) {
        self.add_area(sent_ns);
        self.sent_in_time += u64::from(sent_ns < self.planned_end_ns);
        // The lags are as many as the requests before.
        if self.chosen.last() == Some(&self.lag.len()) {
            self.chosen.pop();
            self.sent_at_us.push(sent_ns.saturating_sub(self.start_ns) / 1_000);
        }
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        self.lag.record(sent_ns.saturating_sub(scheduled_ns));
    }

    /// A right answer is whole.
    #[inline]
    pub fn correct(&mut self, scheduled_ns: u64, sent_ns: u64, done_ns: u64, status: u16, bytes: u64) {
        self.settled(done_ns);
        let service = done_ns.saturating_sub(sent_ns);
        self.service.record(service);
        self.typical_service_ns = (self.typical_service_ns * 7 + service) / 8;
        let latency = done_ns.saturating_sub(scheduled_ns);
        self.latency.record(latency);
        self.latency_in_tenth_ns += latency;
        self.current.record(latency);
        if latency > self.current_longest.0 {
            self.current_longest = (latency, done_ns);
        }
        self.counts.correct += 1;
        self.count_status(status);
        self.received_bytes += bytes;
        self.last_answer_ns = done_ns;
    }

    /// A wrong answer is whole.
    pub fn wrong(&mut self, done_ns: u64, status: u16, wrong: &Wrong) {
        self.settled(done_ns);
        self.counts.wrong += 1;
        self.current_not_correct += 1;
        self.count_status(status);
        self.example(|| wrong.to_string());
        self.last_answer_ns = done_ns;
    }

    /// The request was shed, as the workload allows.
    pub fn declined(&mut self, done_ns: u64, status: u16) {
        self.settled(done_ns);
        self.counts.declined += 1;
        self.current_not_correct += 1;
        self.count_status(status);
        self.last_answer_ns = done_ns;
    }

    /// No answer will come.
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

    /// A connection stands.
    pub(crate) fn connected(&mut self, took_ns: u64) {
        self.connect.record(took_ns);
    }

    /// A TLS handshake is over.
    pub(crate) fn shook_hands(&mut self, took_ns: u64, resumed: bool) {
        self.handshake.record(took_ns);
        self.resumed += u64::from(resumed);
    }

    /// Requests under way now.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// How long answers take these days, in nanoseconds.
    pub(crate) fn typical_service_ns(&self) -> u64 {
        self.typical_service_ns
    }

    #[inline]
    fn add_area(&mut self, until_ns: u64) {
        self.in_flight_area += u128::from(self.in_flight) * u128::from(until_ns.saturating_sub(self.in_flight_since_ns));
        self.in_flight_since_ns = self.in_flight_since_ns.max(until_ns);
    }

    fn settled(&mut self, at_ns: u64) {
        self.turn_to(at_ns);
        self.add_area(at_ns);
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    fn example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES_MAX {
            let text = text();
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

    /// Closes the tenths and the seconds that have passed.
    #[inline]
    pub(crate) fn turn_to(&mut self, at_ns: u64) {
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
            self.correct_per_tenth.push((self.counts.correct - self.correct_before) as u32);
            self.latency_ns_per_tenth.push(self.latency_in_tenth_ns);
        }
        self.latency_in_tenth_ns = 0;
        self.correct_before = self.counts.correct;
    }

    fn close_second(&mut self) {
        let second = self.second_of(&self.current, self.current_not_correct);
        let Listeners { progress, seconds } = &self.listeners;
        if let Some(progress) = progress {
            let _ = progress.try_send(Progress { number: self.seconds.len(), second, in_flight: self.in_flight });
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

    /// Closes the second that is not whole. Hardly begun, it would look like a
    /// drop in the rate, and counts with the one before.
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
                (last.max_ns, last.max_at_ns) = (last.max_ns, last.max_at_ns).max((rest.max_ns, rest.max_at_ns));
            }
            _ => self.close_second(),
        }
    }

    /// Ends the run. What is not settled yet is told by the caller's counts.
    pub fn finish(mut self, planned_ns: u64, ended_ns: u64) -> Measured {
        let end_ns = match self.has_schedule {
            // A schedule lasts until its end, or its last answer where that came later.
            true => (self.start_ns + planned_ns).max(self.last_answer_ns),
            false => ended_ns,
        };
        self.turn_to(end_ns);
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
    fn latency_counts_from_the_schedule_and_service_from_the_sending() {
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
    fn an_answer_falls_into_the_second_in_which_it_came() {
        let mut tally = Tally::new(0, false);
        for at in [100, 900, 2_500] {
            tally.correct((at - 50) * MS, (at - 50) * MS, at * MS, 200, 1);
        }
        tally.failed(2_600 * MS, Failed::Broken, || "reset".into());
        let measured = tally.finish(3_000 * MS, 3_000 * MS);
        let counts: Vec<(u64, u64)> = measured.seconds.iter().map(|s| (s.correct, s.not_correct)).collect();
        assert_eq!(counts, [(2, 0), (0, 0), (1, 1)]);
        assert_eq!((measured.seconds[0].max_ns, measured.seconds[0].max_at_ns), (Some(50 * MS), Some(100 * MS)));
        assert_eq!(measured.seconds[0].p50_ns, None, "two samples support no median");
    }

    #[test]
    fn a_schedule_served_late_lasts_until_its_last_answer() {
        let mut tally = Tally::new(0, true);
        tally.correct(900 * MS, 900 * MS, 1_700 * MS, 200, 1);
        assert_eq!(tally.finish(1_000 * MS, 3_000 * MS).duration_ns, 1_700 * MS);
    }

    #[test]
    fn examples_are_few_and_not_the_same() {
        let mut tally = Tally::new(0, false);
        for i in 0..20 {
            tally.failed(i, Failed::Refused, || format!("cause {}", i % 2));
        }
        assert_eq!(tally.finish(1, 1).examples, ["cause 0", "cause 1"]);
    }
}
