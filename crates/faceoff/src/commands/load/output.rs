//! What was measured, for people, for programs and for HdrHistogram's tools.

use load::Measured;
use model::experiment::Load;
use model::units::{show_bytes, show_duration, show_number};
use serde_json::{Value, json as value};
use stats::{Histogram, smallest_sample};
use std::time::Duration;

const QUANTILES: [(&str, f64); 7] =
    [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// A generator that is busier is taken as the limit of what it measured.
const BUSY: f64 = 0.9;

/// The most memory that this process has had resident, in bytes.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn seconds(measured: &Measured) -> f64 {
    measured.duration_ns as f64 / 1e9
}

/// Requests that were to begin, each second: what a schedule asked for, or what was sent.
fn offered(measured: &Measured, load: &Load) -> Option<f64> {
    load.has_schedule().then(|| measured.counts.scheduled as f64 / seconds(measured))
}

/// As JSON, by the schema in docs/load.schema.json.
pub fn to_json(measured: &Measured, load: &Load) -> Value {
    let times = |histogram: &Histogram| {
        let us = |ns: f64| ns / 1e3;
        let mut object = value!({
            "min": us(histogram.min_ns() as f64), "mean": us(histogram.mean_ns()), "stddev": us(histogram.deviation_ns()), "max": us(histogram.max_ns() as f64),
        });
        for (name, q) in QUANTILES {
            object[name] = if histogram.len() >= smallest_sample(q) { value!(us(histogram.quantile_ns(q) as f64)) } else { Value::Null };
        }
        object
    };
    let unless_empty = |histogram: &Histogram| (!histogram.is_empty()).then(|| times(histogram));
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    value!({
        "schema": "faceoff.load.v1",
        "load": load.describe(),
        "duration_s": seconds(measured),
        "counts": measured.counts,
        "statuses": measured.statuses,
        "rate_per_s": {"offered": offered(measured, load), "achieved": measured.counts.correct as f64 / seconds(measured)},
        "received_bytes": measured.received_bytes,
        "latency_us": measured.latency.as_ref().map(times),
        "service_us": times(&measured.service),
        "lag_us": measured.lag.as_ref().map(times),
        "connect_us": unless_empty(&measured.connect),
        "handshake_us": unless_empty(&measured.handshake),
        "handshakes_resumed": measured.resumed,
        "generator": {
            "threads": measured.threads,
            "cpu_s": measured.cpu_ns as f64 / 1e9,
            "spun_s": measured.spun_ns as f64 / 1e9,
            "peak_rss_bytes": peak_rss_bytes(),
            "in_flight_max": measured.in_flight_max,
            "in_flight_limit": load.in_flight_max(),
            "connections_opened": measured.connections_opened,
        },
        "seconds": measured.seconds.iter().map(|s| value!({
            "correct": s.correct, "not_correct": s.not_correct, "p50_us": us(s.p50_ns), "p99_us": us(s.p99_ns), "max_us": us(s.max_ns),
        })).collect::<Vec<_>>(),
        "examples": measured.examples,
    })
}

/// One line a second.
pub fn to_csv(measured: &Measured) -> String {
    let us = |ns: Option<u64>| ns.map(|ns| (ns as f64 / 1e3).to_string()).unwrap_or_default();
    let mut text = "second,correct,not_correct,p50_us,p99_us,max_us\n".to_owned();
    for (number, s) in measured.seconds.iter().enumerate() {
        text += &format!("{number},{},{},{},{},{}\n", s.correct, s.not_correct, us(s.p50_ns), us(s.p99_ns), us(s.max_ns));
    }
    text
}

/// For people.
pub fn to_text(measured: &Measured, load: &Load) -> String {
    let seconds = seconds(measured);
    let counts = &measured.counts;
    let mut text = String::new();
    if let Some(offered) = offered(measured, load) {
        text += &format!("offered    {}/s\n", show_number(offered));
    }
    text += &format!(
        "achieved   {}/s right answers over {}\n",
        show_number(counts.correct as f64 / seconds),
        show_duration(Duration::from_nanos(measured.duration_ns))
    );
    let parts: Vec<String> =
        counts.parts().iter().filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{n} {}", kind.replace('_', " "))).collect();
    text += &format!("requests   {}: {}\n", counts.scheduled, parts.join(", "));
    for example in &measured.examples {
        text += &format!("           e.g. {example}\n");
    }
    let rows = [
        ("latency", measured.latency.as_ref()),
        ("service", Some(&measured.service)),
        ("lag", measured.lag.as_ref()),
        ("connect", Some(&measured.connect)),
        ("handshake", Some(&measured.handshake)),
    ];
    text += &format!("\n{:<10}{:>9}{:>9}{:>9}", "", "min", "mean", "stddev");
    for (name, _) in QUANTILES {
        text += &format!("{:>9}", name.replace('_', "."));
    }
    text += &format!("{:>9}\n", "max");
    for (name, histogram) in rows {
        let Some(h) = histogram.filter(|h| !h.is_empty()) else { continue };
        text += &format!(
            "{name:<10}{:>9}{:>9}{:>9}",
            show_short(h.min_ns() as f64),
            show_short(h.mean_ns()),
            show_short(h.deviation_ns())
        );
        for (_, q) in QUANTILES {
            let shown = if h.len() >= smallest_sample(q) { show_short(h.quantile_ns(q) as f64) } else { "-".into() };
            text += &format!("{shown:>9}");
        }
        text += &format!("{:>9}\n", show_short(h.max_ns() as f64));
    }
    if measured.latency.is_none() {
        text += "           a closed load has no schedule: these are service times\n";
    }
    if measured.resumed > 0 {
        text += &format!("           {} of {} handshakes resumed a session\n", measured.resumed, measured.handshake.len());
    }
    let busy = busy_share(measured);
    let per_request = (measured.cpu_ns - measured.spun_ns.min(measured.cpu_ns)) as f64 / 1e3 / counts.settled().max(1) as f64;
    let threads = if measured.threads > 1 { format!(" on {} threads", measured.threads) } else { String::new() };
    text += &format!(
        "\ngenerator  {} % busy{threads}, {} µs CPU a request, {} resident, at most {} of {} under way, {} connections opened\n",
        show_number(100.0 * busy),
        show_number(per_request),
        show_bytes(peak_rss_bytes()),
        measured.in_flight_max,
        load.in_flight_max(),
        measured.connections_opened
    );
    for warning in warnings(measured, load) {
        text += &format!("warning: {warning}\n");
    }
    // As wrk ends, so that what reads wrk finds them.
    text += &format!(
        "\nRequests/sec: {:>10.2}\nTransfer/sec: {:>10}\n",
        counts.correct as f64 / seconds,
        show_bytes((measured.received_bytes as f64 / seconds) as u64)
    );
    text
}

fn busy_share(measured: &Measured) -> f64 {
    (measured.cpu_ns.saturating_sub(measured.spun_ns)) as f64 / measured.duration_ns as f64 / f64::from(measured.threads)
}

/// Why the figures may say more about the generator than about the server.
fn warnings(measured: &Measured, load: &Load) -> Vec<String> {
    let mut all = Vec::new();
    if busy_share(measured) > BUSY {
        all.push("the generator was busy all the time: what it shows may be its own limit; give it more threads".into());
    }
    if let (Some(latency), Some(lag)) = (&measured.latency, &measured.lag)
        && !latency.is_empty()
        && lag.quantile_ns(0.5) > 50_000
        && lag.quantile_ns(0.5) * 10 > latency.quantile_ns(0.5)
        && measured.in_flight_max < load.in_flight_max()
    {
        all.push("half of the requests left late by a tenth of their latency or more: the schedule was not kept".into());
    }
    if matches!(load, Load::Arrivals { .. }) && measured.in_flight_max >= load.in_flight_max() {
        all.push(format!(
            "all {} places were taken at times, and requests waited for one (counted in their latency); -c allows more",
            load.in_flight_max()
        ));
    }
    all
}

/// `55.2us`, `1.34ms`, `2.05s`: narrow, for columns.
pub fn show_short(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{}us", show_number(ns / 1e3)),
        ns if ns < 1e9 => format!("{}ms", show_number(ns / 1e6)),
        ns => format!("{}s", show_number(ns / 1e9)),
    }
}

/// An HdrHistogram interval log, version 1.3: one interval, tagged by what was timed.
pub fn to_hdr_log(measured: &Measured, started_at_s: f64) -> String {
    let mut text = format!(
        "#[Histogram log format version 1.3]\n#[StartTime: {started_at_s:.3} (seconds since epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    );
    for (tag, histogram) in [("latency", measured.latency.as_ref()), ("service", Some(&measured.service)), ("lag", measured.lag.as_ref())] {
        if let Some(histogram) = histogram {
            // The greatest value in milliseconds, as the format's own writers have it.
            let max_ms = histogram.max_ns() as f64 / 1e6;
            text += &format!("Tag={tag},0.000,{:.3},{max_ms:.3},{}\n", seconds(measured), histogram.to_hdr_base64());
        }
    }
    text
}
