//! Whether the instrument did what it was to do.

use super::{Seen, fault};
use model::experiment::Load;
use model::record::{Fault, Measurement};
use model::units::{show_duration, show_number, show_share};
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
/// Of the requests that were due, so many are to be sent within the planned time.
const SENT_SHARE_MIN: f64 = 0.99;
/// Anderson and Darling's statistic of arrivals as scheduled: beyond it lies one of a million.
const ARRIVALS_STATISTIC_MAX: f64 = 13.0;
/// Fewer instants say little about a distribution.
pub(super) const ARRIVALS_FEWEST: usize = 20;
/// Requests under way may differ so much from rate times service time.
const LITTLE_MAX: f64 = 0.05;
/// Little's law is looked at where fewer requests failed than this.
const LITTLE_FAILED_MAX: f64 = 0.001;
/// And where there were so many: the first and the last are cut off by the ends.
pub(super) const LITTLE_FEWEST: u64 = 200;

/// Waiting for a free place is the contender's doing, not the generator's.
fn is_at_limit(seen: &Seen<'_>) -> bool {
    let load = &seen.cell.load;
    matches!(load, Load::Arrivals { .. }) && seen.measurement.generator.in_flight_max >= load.in_flight_max()
}

/// When the last request was to be sent, in seconds from the start.
fn planned(seen: &Seen<'_>) -> f64 {
    let measure = seen.experiment.design.measure;
    seen.cell.load.ends_after().map_or(measure, |end| end.min(measure)).as_secs_f64()
}

pub(super) fn counts(seen: &Seen<'_>) -> Option<Fault> {
    let counts = &seen.measurement.counts;
    (!counts.add_up())
        .then(|| fault("counts", format!("{counts:?} do not add up"), "this is a defect of faceoff: please report it"))
        .flatten()
}

pub(super) fn cpu(seen: &Seen<'_>) -> Option<Fault> {
    // Each agent has CPUs of its own, and is looked at by itself.
    if !seen.measurement.generator.agents.is_empty() {
        return None;
    }
    let used = seen.measurement.generator.busy_ns() as f64 / seen.measurement.duration_ns.max(1) as f64;
    if used <= CPU_SHARE_MAX {
        return None;
    }
    let evidence = format!("the generator used {} of its CPU", show_share(used));
    fault("generator-cpu", evidence, "give the generator a CPU of its own, or offer less load")
}

pub(super) fn lag(seen: &Seen<'_>) -> Option<Fault> {
    let Measurement { generator, latency, .. } = seen.measurement;
    let (lag, latency) = (generator.lag.as_ref()?, latency.as_ref().filter(|times| !times.is_empty())?);
    let (lag, latency) = (lag.quantile_ns(0.5), latency.quantile_ns(0.5));
    if lag <= LAG_FLOOR_NS || lag as f64 <= LAG_SHARE_MAX * latency as f64 || is_at_limit(seen) {
        return None;
    }
    let show = |ns| show_duration(Duration::from_nanos(ns));
    let evidence = format!("requests left {} late (median), of a latency of {}", show(lag), show(latency));
    fault("generator-lag", evidence, "give the generator a CPU of its own, or close what else runs")
}

/// A few pauses leave the medians alone and are the tail of the latency all the same.
pub(super) fn lag_of_tail(seen: &Seen<'_>) -> Option<Fault> {
    let Measurement { generator, latency, .. } = seen.measurement;
    let (lag, latency) = (generator.lag.as_ref()?, latency.as_ref().filter(|times| times.len() >= smallest_sample(0.99))?);
    let (lag, latency) = (lag.quantile_ns(0.99), latency.quantile_ns(0.99));
    if lag <= TAIL_FLOOR_NS || lag as f64 <= TAIL_SHARE_MAX * latency as f64 || is_at_limit(seen) {
        return None;
    }
    let show = |ns| show_duration(Duration::from_nanos(ns));
    let evidence =
        format!("one of a hundred requests left {} late or later, and the 99th percentile of the latency is {}", show(lag), show(latency));
    fault("generator-lag-tail", evidence, "give the generator a CPU of its own, or close what else runs")
}

pub(super) fn rate(seen: &Seen<'_>) -> Option<Fault> {
    let sent = seen.measurement.generator.sent_in_time?;
    let due = seen.measurement.counts.scheduled;
    // One request of a few is no share.
    let is_met = sent as f64 >= SENT_SHARE_MIN * due as f64 || due - sent <= 1;
    if !matches!(seen.cell.load, Load::Arrivals { .. }) || is_met || is_at_limit(seen) {
        return None;
    }
    let evidence = format!("{sent} of the {due} requests that were due were sent in time: {}", show_share(sent as f64 / due as f64));
    fault("rate-not-achieved", evidence, "offer less load, or give the generator a CPU of its own")
}

pub(super) fn in_flight_limit(seen: &Seen<'_>) -> Option<Fault> {
    let limit = seen.cell.load.in_flight_max();
    let evidence = format!("{limit} requests were under way, the most that the cell allows: from there on, arrivals wait for answers");
    is_at_limit(seen).then(|| fault("in-flight-limit", evidence, "raise `in_flight_max` of the cell, or offer less load")).flatten()
}

pub(super) fn arrivals(seen: &Seen<'_>) -> Option<Fault> {
    let sent = &seen.measurement.generator.sent_at_us;
    let all = seen.cell.load.expected_until(planned(seen)).filter(|all| *all > 0.0)?;
    if sent.len() < ARRIVALS_FEWEST || is_at_limit(seen) {
        return None;
    }
    // On the scale of expected arrivals, whatever the rate does, they are uniform.
    let place = |us: &u64| (seen.cell.load.expected_until(*us as f64 / 1e6).unwrap_or(0.0) / all).min(1.0);
    let mut places: Vec<f64> = sent.iter().map(place).collect();
    let found = anderson_darling::uniform(&mut places)?;
    if found.statistic <= ARRIVALS_STATISTIC_MAX {
        return None;
    }
    let statistic = show_number(found.statistic);
    let evidence =
        format!("of {} instants of sending, Anderson and Darling's A² is {statistic}: they do not follow the schedule", sent.len());
    fault("arrivals", evidence, "give the generator a CPU of its own, or close what else runs")
}

pub(super) fn littles_law(seen: &Seen<'_>) -> Option<Fault> {
    let Measurement { counts, generator, service, .. } = seen.measurement;
    let under_way = generator.in_flight_mean?;
    let failed = counts.failed() + counts.declined;
    if counts.correct < LITTLE_FEWEST || failed as f64 >= LITTLE_FAILED_MAX * counts.scheduled as f64 {
        return None;
    }
    let (expected, whence) = match seen.cell.load {
        // Places stand empty while a contender that closes connections gets new ones.
        Load::Closed { connections, .. } if generator.connections_opened > u64::from(connections) => return None,
        Load::Closed { .. } => (seen.cell.load.in_flight_max() as f64, "places that are never empty".to_owned()),
        // What is still under way at the end is in the one and not in the other.
        _ if counts.unfinished > 0 => return None,
        _ => {
            let rate = seen.measurement.throughput_per_s();
            let mean_ms = service.mean_ns() / 1e6;
            (rate * mean_ms / 1e3, format!("{}/s times {} ms", show_number(rate), show_number(mean_ms)))
        }
    };
    if (under_way - expected).abs() <= LITTLE_MAX * expected {
        return None;
    }
    let evidence = format!("{} requests were under way on average, not {} ({whence})", show_number(under_way), show_number(expected));
    fault(
        "littles-law",
        evidence,
        "a closed load whose places stand empty has a slow generator: give it a CPU of its own; else please report it",
    )
}
