//! Whether the load generator made the load as planned.
//!
//! A generator that is late, short of CPU time or at its own limit measures itself. Each function
//! is one check of a measurement; `kinds.rs` lists them with their thresholds and reasons.

use super::seen::{Found, Seen, found};
use record::Measurement;
use spec::experiment::Load;
use spec::units::{show_duration, show_number, show_share};
use stats::{anderson_darling, smallest_sample};
use std::time::Duration;

/// The generator may use this share of one CPU.
const CPU_SHARE_MAX: f64 = 0.90;
/// The median lag may be this share of the median latency.
const LAG_SHARE_MAX: f64 = 0.10;
/// Lag below this is never a fault: the clock and a wake-up cost that much.
const LAG_FLOOR_NS: u64 = 50_000;
/// The 99th percentile of the lag may be this share of the latency's ...
const TAIL_SHARE_MAX: f64 = 0.50;
/// ... and below this it is never a fault: a wake-up on a busy CPU costs that much now and then.
const TAIL_FLOOR_NS: u64 = 1_000_000;
/// The smallest share of the due requests to send within the planned time.
const SENT_SHARE_MIN: f64 = 0.99;
/// Largest Anderson-Darling statistic of arrivals that follow their schedule: one in a million such
/// schedules exceeds it.
const ARRIVALS_STATISTIC_MAX: f64 = 13.0;
/// Fewer send times than this say little about a distribution.
pub(super) const ARRIVALS_FEWEST: usize = 20;
/// Requests in flight may differ by this share from rate times service time.
const LITTLE_MAX: f64 = 0.05;
/// Little's law is checked if a smaller share of requests than this failed.
const LITTLE_FAILED_MAX: f64 = 0.001;
/// And if there are at least this many: the ends of a measurement cut off the first and the last.
pub(super) const LITTLE_FEWEST: u64 = 200;

/// Returns whether the in-flight limit was reached. Then the contender makes requests late, not the
/// generator.
fn is_at_limit(seen: &Seen<'_>) -> bool {
    let load = &seen.cell.load;
    matches!(load, Load::Arrivals { .. })
        && seen.measurement.generator.in_flight_max >= load.in_flight_max()
}

/// Returns when the last request was due, in seconds from the start.
fn last_due_s(seen: &Seen<'_>) -> f64 {
    let measure = seen.experiment.design.measure;
    seen.cell.load.ends_after().map_or(measure, |end| end.min(measure)).as_secs_f64()
}

pub(super) fn counts(seen: &Seen<'_>) -> Option<Found> {
    let counts = &seen.measurement.counts;
    if counts.add_up() {
        return None;
    }
    found(format!("{counts:?} do not add up"), "this is a defect of faceoff: please report it")
}

pub(super) fn cpu(seen: &Seen<'_>) -> Option<Found> {
    // Agents have their own CPUs and their own check.
    if seen.is_by_agents() {
        return None;
    }
    let used =
        seen.measurement.generator.busy_ns() as f64 / seen.measurement.duration_ns.max(1) as f64;
    if used <= CPU_SHARE_MAX {
        return None;
    }
    let evidence = format!("the generator used {} of its CPU", show_share(used));
    found(evidence, "give the generator its own CPU, or offer less load")
}

pub(super) fn lag(seen: &Seen<'_>) -> Option<Found> {
    let Measurement { generator, latency, .. } = seen.measurement;
    let (lag, latency) =
        (generator.lag.as_ref()?, latency.as_ref().filter(|times| !times.is_empty())?);
    let (lag, latency) = (lag.quantile_ns(0.5), latency.quantile_ns(0.5));
    if lag <= LAG_FLOOR_NS || lag as f64 <= LAG_SHARE_MAX * latency as f64 || is_at_limit(seen) {
        return None;
    }
    let show = |ns| show_duration(Duration::from_nanos(ns));
    let evidence = format!(
        "requests were sent {} late (median), and the median latency is {}",
        show(lag),
        show(latency)
    );
    found(evidence, "give the generator its own CPU, or end other programs")
}

/// Checks the tail: a few pauses of the generator do not move the medians, but they are the tail of
/// the latency.
pub(super) fn lag_of_tail(seen: &Seen<'_>) -> Option<Found> {
    let Measurement { generator, latency, .. } = seen.measurement;
    let (lag, latency) = (
        generator.lag.as_ref()?,
        latency.as_ref().filter(|times| times.len() >= smallest_sample(0.99))?,
    );
    let (lag, latency) = (lag.quantile_ns(0.99), latency.quantile_ns(0.99));
    if lag <= TAIL_FLOOR_NS || lag as f64 <= TAIL_SHARE_MAX * latency as f64 || is_at_limit(seen) {
        return None;
    }
    let show = |ns| show_duration(Duration::from_nanos(ns));
    let evidence = format!(
        "1 % of the requests were sent {} late or later, and the 99th percentile of the latency is {}",
        show(lag),
        show(latency)
    );
    found(evidence, "give the generator its own CPU, or end other programs")
}

pub(super) fn rate(seen: &Seen<'_>) -> Option<Found> {
    let sent = seen.measurement.generator.sent_in_time?;
    let due = seen.measurement.counts.scheduled;
    // A single request is no meaningful share of a few.
    let is_met = sent as f64 >= SENT_SHARE_MIN * due as f64 || due - sent <= 1;
    if !matches!(seen.cell.load, Load::Arrivals { .. }) || is_met || is_at_limit(seen) {
        return None;
    }
    let evidence = format!(
        "{sent} of the {due} requests that were due were sent in time: {}",
        show_share(sent as f64 / due as f64)
    );
    found(evidence, "offer less load, or give the generator its own CPU")
}

pub(super) fn in_flight_limit(seen: &Seen<'_>) -> Option<Found> {
    if !is_at_limit(seen) {
        return None;
    }
    let limit = seen.cell.load.in_flight_max();
    let evidence = format!(
        "{limit} requests were in flight, the most that the cell allows: from then on, arrivals waited for responses"
    );
    found(evidence, "raise `in_flight_max` of the cell, or offer less load")
}

pub(super) fn arrivals(seen: &Seen<'_>) -> Option<Found> {
    let sent = &seen.measurement.generator.sent_at_us;
    let all = seen.cell.load.expected_until(last_due_s(seen)).filter(|all| *all > 0.0)?;
    if sent.len() < ARRIVALS_FEWEST || is_at_limit(seen) {
        return None;
    }
    // On the scale of expected arrivals they are uniform, however the rate changes.
    let place =
        |us: &u64| (seen.cell.load.expected_until(*us as f64 / 1e6).unwrap_or(0.0) / all).min(1.0);
    let mut places: Vec<f64> = sent.iter().map(place).collect();
    let test = anderson_darling::uniform(&mut places)?;
    if test.statistic <= ARRIVALS_STATISTIC_MAX {
        return None;
    }
    let statistic = show_number(test.statistic);
    let evidence = format!(
        "{} send times do not follow the schedule: Anderson and Darling's A² is {statistic}",
        sent.len()
    );
    found(evidence, "give the generator its own CPU, or end other programs")
}

pub(super) fn littles_law(seen: &Seen<'_>) -> Option<Found> {
    let Measurement { counts, generator, service, .. } = seen.measurement;
    let in_flight = generator.in_flight_mean?;
    let failed = counts.failed() + counts.declined;
    if counts.correct < LITTLE_FEWEST
        || failed as f64 >= LITTLE_FAILED_MAX * counts.scheduled as f64
    {
        return None;
    }
    let (expected, whence) = match seen.cell.load {
        // Connections are idle while a contender that closes them gets new ones.
        Load::Closed { connections, .. }
            if generator.connections_opened > u64::from(connections) =>
        {
            return None;
        }
        Load::Closed { .. } => {
            (seen.cell.load.in_flight_max() as f64, "connections that are never idle".to_owned())
        }
        // Requests in flight at the end count on one side only.
        _ if counts.unfinished > 0 => return None,
        _ => {
            let rate = seen.measurement.throughput_per_s();
            let mean_ms = service.mean_ns() / 1e6;
            (
                rate * mean_ms / 1e3,
                format!("{}/s times {} ms", show_number(rate), show_number(mean_ms)),
            )
        }
    };
    if (in_flight - expected).abs() <= LITTLE_MAX * expected {
        return None;
    }
    let evidence = format!(
        "{} requests were in flight on average, not {} ({whence})",
        show_number(in_flight),
        show_number(expected)
    );
    found(
        evidence,
        "idle connections of a closed load mean a slow generator: give it its own CPU. Otherwise, please report this",
    )
}
