//! A pool of threads, connections or permits that is used up. By Little's law (1961) throughput times the time that a request
//! takes when it need not wait is how many are served at once; where that stays below what is under way, and the
//! CPU is not used up, something else holds the rest back.

use super::{Finding, Measured, REQUESTS_MIN, Seen, duration, typical};
use crate::measurement;
use model::experiment::Load;
use model::judgement::Picture;
use model::record::Measurement;
use model::units::show_share;
use stats::Histogram;

/// So many times as many requests are under way as are served, at least.
const WAITING_MIN: f64 = 1.5;
/// One request at a time is what any lock or loop does.
const POOL_MIN: f64 = 1.8;
/// A contender that uses more of its CPUs is held back by these.
const CPU_MAX: f64 = 0.80;
/// In a closed load a pool makes all wait alike: only the first of each connection are quicker than this share of the median.
const QUICK: f64 = 0.7;
/// A closed load has made so many requests on each connection, at least.
const ROUNDS_MIN: u64 = 10;
/// An open load is held back when it is served at less than this share of the rate at which it came.
const SERVED_MAX: f64 = 0.90;
/// A second at its lightest gives the time without waiting: samples within this of the shortest.
const NEAR: f64 = 1.1;

struct Pool {
    size: f64,
    under_way: f64,
    quiet_ns: f64,
    cpu_share: f64,
}

pub(super) fn find(seen: &Seen<'_>) -> Option<Finding> {
    let elsewhere = quiet_elsewhere(seen);
    let showing = seen.in_half(|measured| pool(seen, measured, elsewhere))?;
    let size = typical(&showing, |p| p.size).round();
    let quiet_ns = typical(&showing, |p| p.quiet_ns);
    let ((_, worst), _) = showing.iter().max_by(|a, b| a.1.under_way.total_cmp(&b.1.under_way))?;
    Some(Finding {
        kind: "pool-exhausted",
        sentence: format!(
            "about {size} requests are served at once, no more, while {} are under way: by Little's law {} answers a second of {} each \
             (what one takes that need not wait); the median has grown to {}, and {} of its CPU time is used: a pool of that size is exhausted",
            typical(&showing, |p| p.under_way).round(),
            (size / quiet_ns * 1e9).round(),
            duration(quiet_ns),
            duration(worst.service.quantile_ns(0.5) as f64),
            show_share(typical(&showing, |p| p.cpu_share)),
        ),
        hint: "look for a limit of this size: threads, connections to an upstream or database, permits",
        picture: picture(worst, quiet_ns, size),
    })
}

/// What waits and what is served, second by second.
fn picture(m: &Measurement, quiet_ns: f64, size: f64) -> Picture {
    let at = |of: &dyn Fn(f64, f64) -> f64| -> Vec<(f64, f64)> {
        let seconds = m.seconds.iter().enumerate();
        seconds.filter_map(|(second, s)| Some((second as f64, of(s.correct as f64, s.p50_ns? as f64)))).collect()
    };
    Picture {
        title: "Requests under way and served, by Little's law".into(),
        x: "second".into(),
        y: "requests".into(),
        bars: false,
        series: vec![
            ("under way".into(), at(&|rate, p50| rate * p50 / 1e9)),
            (format!("served (about {size})"), at(&|rate, _| rate * quiet_ns / 1e9)),
        ],
        marks: vec![],
    }
}

/// Median service time of the same work in the cell that has the fewest requests under way.
fn quiet_elsewhere(seen: &Seen<'_>) -> Option<f64> {
    let cells = seen.record.header.experiment.cells.iter().filter(|c| c.asks() == seen.cell.asks() && c.name != seen.cell.name);
    let quiet = cells.filter_map(|cell| {
        let (mut times, mut under_way) = (Histogram::new(), 0.0f64);
        for (trial, _) in &seen.all {
            let m = measurement(trial, &cell.name)?;
            times.merge(&m.service);
            under_way = under_way.max(self::under_way(m));
        }
        (times.len() >= REQUESTS_MIN).then(|| (under_way, times.quantile_ns(0.5) as f64))
    });
    let (there, median) = quiet.min_by(|a, b| a.0.total_cmp(&b.0))?;
    seen.all.iter().all(|(_, m)| there * 2.0 <= under_way(m)).then_some(median)
}

/// Requests under way on average: Little's law.
fn under_way(m: &Measurement) -> f64 {
    m.throughput_per_s() * m.service.mean_ns() / 1e9
}

fn pool(seen: &Seen<'_>, (trial, m): Measured<'_>, elsewhere: Option<f64>) -> Option<Pool> {
    let times = &m.service;
    let median = times.quantile_ns(0.5) as f64;
    let cpu_share = m.usage.cpus_used() / seen.cpus() as f64;
    // Where the instrument or the upstream held it back, nothing is known of the contender. That all places were taken is what a pool does.
    let is_held_back_by_others = trial.faults.iter().chain(&m.faults).any(|fault| fault.kind != "in-flight-limit");
    if is_held_back_by_others || !m.usage.is_known() || cpu_share > CPU_MAX || times.len() < REQUESTS_MIN {
        return None;
    }
    let connections = m.generator.in_flight_max;
    let is_held_back = match seen.cell.load {
        Load::Arrivals { .. } => {
            let measure_ns = seen.record.header.experiment.design.measure.as_nanos() as f64;
            m.throughput_per_s() < SERVED_MAX * m.counts.scheduled as f64 * 1e9 / measure_ns.max(1.0)
        }
        // It has no measurement.
        Load::Capacity(_) => false,
        Load::Closed { .. } | Load::Users { .. } => {
            let quick = times.count_between(0, (QUICK * median) as u64);
            times.len() >= ROUNDS_MIN.saturating_mul(connections) && quick <= connections.saturating_add(connections / 2)
        }
    };
    let shortest = times.min_ns() as f64;
    let quiet_ns = elsewhere.unwrap_or(shortest);
    let size = m.throughput_per_s() * quiet_ns / 1e9;
    let under_way = under_way(m);
    let is_usual = elsewhere.is_some() || times.count_between(0, (NEAR * shortest) as u64) as f64 * 2.0 >= size;
    let is_shown = is_held_back && is_usual && size >= POOL_MIN && under_way >= WAITING_MIN * size && median >= WAITING_MIN * quiet_ns;
    is_shown.then_some(Pool { size, under_way, quiet_ns, cpu_share })
}
