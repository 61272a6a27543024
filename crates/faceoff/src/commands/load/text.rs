//! The results of a load as text for people.

use super::output::{QUANTILES, achieved_per_s, offered_per_s, peak_rss_bytes, seconds};
use load::Measured;
use spec::experiment::Load;
use spec::units::{show_bytes, show_duration, show_number, show_short};
use stats::smallest_sample;
use std::time::Duration;

/// A generator that is busy for more than this share of the time may limit the result.
const BUSY: f64 = 0.9;
/// Minimum seconds and requests for that warning: a generator is busy while it sends few requests.
const BUSY_LEAST: (f64, u64) = (0.2, 100);

/// Returns the results as text.
pub fn to_text(measured: &Measured, load: &Load, checks: &str) -> String {
    let mut text = requests_text(measured, load, checks);
    text += &times_table(measured);
    if !load.has_schedule() {
        text += "           a closed load has no schedule: a request is due when the previous response arrives\n";
    }
    if measured.resumed > 0 {
        text += &format!(
            "           {} of {} handshakes resumed a session\n",
            measured.resumed,
            measured.handshake.len()
        );
    }
    text += &generator_text(measured, load);
    for warning in warnings(measured, load) {
        text += &format!("warning: {warning}\n");
    }
    // The last lines of wrk's output, for scripts that parse them.
    text += &format!(
        "\nRequests/sec: {:>10.2}\nTransfer/sec: {:>10}\n",
        achieved_per_s(measured),
        show_bytes((measured.received_bytes as f64 / seconds(measured)) as u64)
    );
    text
}

/// Rates, counts of requests by outcome, and examples of failures.
fn requests_text(measured: &Measured, load: &Load, checks: &str) -> String {
    let (counts, mut text) = (&measured.counts, String::new());
    if load.has_schedule() {
        text += &format!("offered    {}/s\n", show_number(offered_per_s(measured)));
    }
    text += &format!(
        "achieved   {}/s correct responses over {}\n",
        show_number(achieved_per_s(measured)),
        show_duration(Duration::from_nanos(measured.duration_ns))
    );
    let parts: Vec<String> = counts
        .parts()
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{n} {}", kind.replace('_', " ")))
        .collect();
    text += &format!("requests   {}: {}\n", counts.scheduled, parts.join(", "));
    text += &format!("checked    {checks}\n");
    for example in &measured.examples {
        text += &format!("           e.g. {example}\n");
    }
    text
}

/// A table of the times that were measured, by quantile.
fn times_table(measured: &Measured) -> String {
    let rows = [
        ("latency", &measured.latency),
        ("service", &measured.service),
        ("lag", &measured.lag),
        ("connect", &measured.connect),
        ("handshake", &measured.handshake),
    ];
    let mut text = format!("\n{:<10}{:>9}{:>9}{:>9}", "", "min", "mean", "stddev");
    for (name, _) in QUANTILES {
        text += &format!("{:>9}", name.replace('_', "."));
    }
    text += &format!("{:>9}\n", "max");
    for (name, h) in rows.into_iter().filter(|(_, h)| !h.is_empty()) {
        text += &format!(
            "{name:<10}{:>9}{:>9}{:>9}",
            show_short(h.min_ns() as f64),
            show_short(h.mean_ns()),
            show_short(h.deviation_ns())
        );
        for (_, q) in QUANTILES {
            let shown = if h.len() >= smallest_sample(q) {
                show_short(h.quantile_ns(q) as f64)
            } else {
                "-".into()
            };
            text += &format!("{shown:>9}");
        }
        text += &format!("{:>9}\n", show_short(h.max_ns() as f64));
    }
    text
}

/// What the generator itself used.
fn generator_text(measured: &Measured, load: &Load) -> String {
    let per_request = (measured.cpu_ns - measured.spun_ns.min(measured.cpu_ns)) as f64
        / 1e3
        / measured.counts.settled().max(1) as f64;
    let threads = match measured.threads {
        0 | 1 => String::new(),
        n => format!(" on {n} threads"),
    };
    let retried = match measured.retried {
        0 => String::new(),
        n => format!(", {n} retries"),
    };
    format!(
        "\ngenerator  {} % busy{threads}, {} µs CPU per request, {} resident, at most {} of {} in flight, {} connections opened{retried}\n",
        show_number(100.0 * busy_share(measured)),
        show_number(per_request),
        show_bytes(peak_rss_bytes()),
        measured.in_flight_max,
        load.in_flight_max(),
        measured.connections_opened
    )
}

/// The share of the time that the generator was busy, per thread.
fn busy_share(measured: &Measured) -> f64 {
    (measured.cpu_ns.saturating_sub(measured.spun_ns)) as f64
        / measured.duration_ns as f64
        / f64::from(measured.threads)
}

/// Returns reasons why the figures may describe the generator rather than the server.
fn warnings(measured: &Measured, load: &Load) -> Vec<String> {
    let mut all = Vec::new();
    let is_long = seconds(measured) >= BUSY_LEAST.0 && measured.counts.settled() >= BUSY_LEAST.1;
    if is_long && busy_share(measured) > BUSY {
        all.push("the generator was busy all the time, so the results may show its own limit; give it more threads".into());
    }
    let Measured { latency, lag, .. } = measured;
    if load.has_schedule()
        && !latency.is_empty()
        && lag.quantile_ns(0.5) > 50_000
        && lag.quantile_ns(0.5) * 10 > latency.quantile_ns(0.5)
        && measured.in_flight_max < load.in_flight_max()
    {
        all.push("half of the requests were sent late by a tenth of their latency or more: the schedule was not kept".into());
    }
    if matches!(load, Load::Arrivals { .. }) && measured.in_flight_max >= load.in_flight_max() {
        let what = match measured.counts.unsent {
            0 => "requests waited (counted in their latency)",
            _ => "requests waited (counted in their latency) or were not sent",
        };
        all.push(format!(
            "the limit of {} requests in flight was reached, and {what}; -c raises it",
            load.in_flight_max()
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::test_measurement::measured;
    use super::*;

    #[test]
    fn text_of_open_load() {
        insta::assert_snapshot!(without_memory(&to_text(
            &measured(),
            &Load::arrivals(5_000.0, 1024),
            "status of every response"
        )));
    }

    #[test]
    fn text_of_closed_load() {
        let mut measured = measured();
        (measured.cpu_ns, measured.spun_ns, measured.threads) = (1_900_000_000, 0, 1);
        insta::assert_snapshot!(without_memory(&to_text(
            &measured,
            &Load::closed(64),
            "status of every response"
        )));
    }

    /// Replaces the memory of this process, which varies.
    fn without_memory(text: &str) -> String {
        let at = text.find(" resident").unwrap();
        let from = text[..at].rfind(", ").unwrap();
        format!("{}, 9.9 MiB{}", &text[..from], &text[at..])
    }
}
