//! A pool of threads, connections or permits that is used up.
//!
//! By Little's law (1961), throughput times the time of a request that does not wait is the number
//! of requests served at once. If that stays below the requests in flight while CPU time is left,
//! something else limits them: a pool of that size. Start with [`find`].

use super::finding::{Detector, Finding, Measured, REQUESTS_MIN, Seen, duration, typical};
use crate::soundness::{FaultKind, measurement};
use record::Measurement;
use record::judgement::Picture;
use spec::experiment::Load;
use spec::units::show_share;
use stats::Histogram;

/// The smallest ratio of requests in flight to requests served at once.
const WAITING_MIN: f64 = 1.5;
/// The smallest pool: any lock or loop serves one request at a time.
const POOL_MIN: f64 = 1.8;
/// A contender that uses more of its CPUs than this is limited by them.
const CPU_MAX: f64 = 0.80;
/// In a closed load a pool makes all requests wait equally. Only the first of each connection are
/// faster than this share of the median.
const QUICK: f64 = 0.7;
/// The fewest requests on each connection of a closed load.
const ROUNDS_MIN: u64 = 10;
/// An open load is limited if the contender answers less than this share of its rate.
const SERVED_MAX: f64 = 0.90;
/// Samples within this ratio of the shortest show the time without waiting.
const NEAR: f64 = 1.1;

struct Pool {
    size: f64,
    in_flight: f64,
    quiet_ns: f64,
    cpu_share: f64,
}

pub(super) static DETECTOR: Detector = Detector {
    kind: "pool-exhausted",
    sign: "flat concurrency while latency grows",
    threshold: "the size of the pool is throughput × quiet service time (Little 1961). The size \
        is at least 1.8, and at least 1.5 × size requests are in flight. The median is at least \
        1.5 × the quiet service time. The contender uses at most 80 % of its CPUs. There is no \
        fault but `in-flight-limit`. Closed load and users: at least 10 requests per connection, \
        and at most 1.5 on each that are faster than 0.7 of the median. Open load: responses \
        arrive at less than 90 % of the rate",
    cause: "a limit of that size: threads, connections, permits",
    hint: "look for a limit of this size: threads, connections to an upstream or database, permits",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let elsewhere = quiet_elsewhere(seen);
    let showing = seen.in_half(|measured| pool(seen, measured, elsewhere))?;
    let size = typical(&showing, |p| p.size).round();
    let quiet_ns = typical(&showing, |p| p.quiet_ns);
    let ((_, worst), _) = showing.iter().max_by(|a, b| a.1.in_flight.total_cmp(&b.1.in_flight))?;
    Some(Finding {
        sentence: format!(
            "at most about {size} requests are served at once, while {} are in flight: by Little's law {} responses per second of {} each \
             (the time of a request that does not wait). The median has grown to {}, but only {} of its CPU time is used: a pool of that size is exhausted",
            typical(&showing, |p| p.in_flight).round(),
            (size / quiet_ns * 1e9).round(),
            duration(quiet_ns),
            duration(worst.service.quantile_ns(0.5) as f64),
            show_share(typical(&showing, |p| p.cpu_share)),
        ),
        picture: picture(worst, quiet_ns, size),
    })
}

/// Draws requests in flight and requests served, second by second.
fn picture(m: &Measurement, quiet_ns: f64, size: f64) -> Picture {
    let at = |of: &dyn Fn(f64, f64) -> f64| -> Vec<(f64, f64)> {
        let seconds = m.seconds.iter().enumerate();
        seconds
            .filter_map(|(second, s)| Some((second as f64, of(s.correct as f64, s.p50_ns? as f64))))
            .collect()
    };
    Picture {
        title: "Requests in flight and served, by Little's law".into(),
        x: "second".into(),
        y: "requests".into(),
        bars: false,
        series: vec![
            ("in flight".into(), at(&|rate, p50| rate * p50 / 1e9)),
            (format!("served (about {size})"), at(&|rate, _| rate * quiet_ns / 1e9)),
        ],
        marks: vec![],
    }
}

/// Returns the median service time of the same work in the cell with the fewest requests in flight.
fn quiet_elsewhere(seen: &Seen<'_>) -> Option<f64> {
    let cells =
        seen.record.header.experiment.cells.iter().filter(|c| {
            c.workload_label() == seen.cell.workload_label() && c.name != seen.cell.name
        });
    let quiet = cells.filter_map(|cell| {
        let (mut times, mut in_flight) = (Histogram::new(), 0.0f64);
        for (trial, _) in &seen.all {
            let m = measurement(trial, &cell.name)?;
            times.merge(&m.service);
            in_flight = in_flight.max(self::in_flight(m));
        }
        (times.len() >= REQUESTS_MIN).then(|| (in_flight, times.quantile_ns(0.5) as f64))
    });
    let (there, median) = quiet.min_by(|a, b| a.0.total_cmp(&b.0))?;
    seen.all.iter().all(|(_, m)| there * 2.0 <= in_flight(m)).then_some(median)
}

/// Returns the mean number of requests in flight, by Little's law.
fn in_flight(m: &Measurement) -> f64 {
    m.throughput_per_s() * m.service.mean_ns() / 1e9
}

fn pool(seen: &Seen<'_>, (trial, m): Measured<'_>, elsewhere: Option<f64>) -> Option<Pool> {
    let times = &m.service;
    let median = times.quantile_ns(0.5) as f64;
    let cpu_share = m.usage.cpus_used() / seen.cpus() as f64;
    // If the generator or the upstream was the limit, nothing is known about the contender.
    // Reaching the in-flight limit is what an exhausted pool causes.
    let is_limited_by_others = trial
        .faults
        .iter()
        .chain(&m.faults)
        .any(|fault| fault.kind != FaultKind::InFlightLimit.row().name);
    if is_limited_by_others
        || !m.usage.is_known()
        || cpu_share > CPU_MAX
        || times.len() < REQUESTS_MIN
    {
        return None;
    }
    let connections = m.generator.in_flight_max;
    let is_limited = match seen.cell.load {
        Load::Arrivals { .. } => {
            let measure_ns = seen.record.header.experiment.design.measure.as_nanos() as f64;
            m.throughput_per_s()
                < SERVED_MAX * m.counts.scheduled as f64 * 1e9 / measure_ns.max(1.0)
        }
        // A search has no measurement.
        Load::Capacity(_) => false,
        Load::Closed { .. } | Load::Users { .. } => {
            let quick = times.count_between(0, (QUICK * median) as u64);
            times.len() >= ROUNDS_MIN.saturating_mul(connections)
                && quick <= connections.saturating_add(connections / 2)
        }
    };
    let shortest = times.min_ns() as f64;
    let quiet_ns = elsewhere.unwrap_or(shortest);
    let size = m.throughput_per_s() * quiet_ns / 1e9;
    let in_flight = in_flight(m);
    let is_usual = elsewhere.is_some()
        || times.count_between(0, (NEAR * shortest) as u64) as f64 * 2.0 >= size;
    let is_shown = is_limited
        && is_usual
        && size >= POOL_MIN
        && in_flight >= WAITING_MIN * size
        && median >= WAITING_MIN * quiet_ns;
    is_shown.then_some(Pool { size, in_flight, quiet_ns, cpu_share })
}
