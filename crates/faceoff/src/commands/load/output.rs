//! What was measured, for people, for programs and for HdrHistogram's tools.

use load::Measured;
use model::experiment::Load;
use model::threshold::Outcome;
use model::units::{show_bytes, show_duration, show_number, show_short};
use report::export::{LogInterval, hdr_log};
use serde_json::{Value, json as value};
use stats::{Histogram, smallest_sample};
use std::time::Duration;

const QUANTILES: [(&str, f64); 7] =
    [("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

/// A generator that is busier is taken as the limit of what it measured.
const BUSY: f64 = 0.9;

/// The most memory that this process has had resident, in bytes.
fn peak_rss_bytes() -> u64 {
    runner::peak_resident_bytes(std::process::id()).unwrap_or(0)
}

fn seconds(measured: &Measured) -> f64 {
    measured.duration_ns as f64 / 1e9
}

/// Requests that were to begin, each second while any were.
fn offered(measured: &Measured) -> f64 {
    measured.counts.scheduled as f64 / (measured.planned_ns as f64 / 1e9)
}

/// As JSON, by the schema in docs/load.schema.json.
pub fn to_json(measured: &Measured, load: &Load, checks: &str, thresholds: &[Outcome]) -> Value {
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
        "has_schedule": load.has_schedule(),
        "checks": checks,
        "duration_s": seconds(measured),
        "counts": measured.counts,
        "statuses": measured.statuses,
        "rate_per_s": {"offered": offered(measured), "achieved": measured.counts.correct as f64 / seconds(measured)},
        "received_bytes": measured.received_bytes,
        "latency_us": times(&measured.latency),
        "service_us": times(&measured.service),
        "lag_us": times(&measured.lag),
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
        "thresholds": thresholds.iter().map(|t| value!({"threshold": t.text, "found": t.found, "kept": t.kept})).collect::<Vec<_>>(),
        "interrupted": measured.interrupted,
    })
}

/// One line a second.
pub fn to_csv(measured: &Measured, in_flight: &[u64]) -> String {
    let us = |ns: Option<u64>| ns.map(|ns| (ns as f64 / 1e3).to_string()).unwrap_or_default();
    let mut text = "second,correct,not_correct,p50_us,p99_us,max_us,in_flight\n".to_owned();
    for (number, s) in measured.seconds.iter().enumerate() {
        let in_flight = in_flight.get(number).map(u64::to_string).unwrap_or_default();
        text += &format!("{number},{},{},{},{},{},{in_flight}\n", s.correct, s.not_correct, us(s.p50_ns), us(s.p99_ns), us(s.max_ns));
    }
    text
}

/// For people.
pub fn to_text(measured: &Measured, load: &Load, checks: &str) -> String {
    let seconds = seconds(measured);
    let counts = &measured.counts;
    let mut text = String::new();
    if load.has_schedule() {
        text += &format!("offered    {}/s\n", show_number(offered(measured)));
    }
    text += &format!(
        "achieved   {}/s right answers over {}\n",
        show_number(counts.correct as f64 / seconds),
        show_duration(Duration::from_nanos(measured.duration_ns))
    );
    let parts: Vec<String> =
        counts.parts().iter().filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{n} {}", kind.replace('_', " "))).collect();
    text += &format!("requests   {}: {}\n", counts.scheduled, parts.join(", "));
    text += &format!("checked    {checks}\n");
    for example in &measured.examples {
        text += &format!("           e.g. {example}\n");
    }
    let rows = [
        ("latency", &measured.latency),
        ("service", &measured.service),
        ("lag", &measured.lag),
        ("connect", &measured.connect),
        ("handshake", &measured.handshake),
    ];
    text += &format!("\n{:<10}{:>9}{:>9}{:>9}", "", "min", "mean", "stddev");
    for (name, _) in QUANTILES {
        text += &format!("{:>9}", name.replace('_', "."));
    }
    text += &format!("{:>9}\n", "max");
    for (name, h) in rows.into_iter().filter(|(_, h)| !h.is_empty()) {
        text += &format!("{name:<10}{:>9}{:>9}{:>9}", show_short(h.min_ns() as f64), show_short(h.mean_ns()), show_short(h.deviation_ns()));
        for (_, q) in QUANTILES {
            let shown = if h.len() >= smallest_sample(q) { show_short(h.quantile_ns(q) as f64) } else { "-".into() };
            text += &format!("{shown:>9}");
        }
        text += &format!("{:>9}\n", show_short(h.max_ns() as f64));
    }
    if !load.has_schedule() {
        text += "           a closed load has no schedule: a request is due when the one before it is answered\n";
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
    let Measured { latency, lag, .. } = measured;
    if load.has_schedule()
        && !latency.is_empty()
        && lag.quantile_ns(0.5) > 50_000
        && lag.quantile_ns(0.5) * 10 > latency.quantile_ns(0.5)
        && measured.in_flight_max < load.in_flight_max()
    {
        all.push("half of the requests left late by a tenth of their latency or more: the schedule was not kept".into());
    }
    if matches!(load, Load::Arrivals { .. }) && measured.in_flight_max >= load.in_flight_max() {
        let what = match measured.counts.unsent {
            0 => "requests waited for one (counted in their latency)",
            _ => "requests waited for one (counted in their latency) or were not sent",
        };
        all.push(format!("all {} places were taken at times, and {what}; -c allows more", load.in_flight_max()));
    }
    all
}

/// An HdrHistogram interval log: one interval, tagged by what was timed.
pub fn to_hdr_log(measured: &Measured, started_at_s: f64) -> String {
    let timed = [("latency", &measured.latency), ("service", &measured.service), ("lag", &measured.lag)];
    let intervals = timed.map(|(tag, times)| LogInterval { tag: tag.into(), from_s: 0.0, length_s: seconds(measured), times });
    hdr_log(started_at_s, &[], &intervals)
}

#[cfg(test)]
mod tests {
    use super::super::{made_up::measured, readings};
    use super::*;
    use model::threshold;

    #[test]
    fn what_people_read() {
        insta::assert_snapshot!(without_memory(&to_text(&measured(), &Load::arrivals(5_000.0, 1024), "status of every answer")));
    }

    #[test]
    fn what_people_read_of_a_closed_load() {
        let mut measured = measured();
        (measured.cpu_ns, measured.spun_ns, measured.threads) = (1_900_000_000, 0, 1);
        insta::assert_snapshot!(without_memory(&to_text(&measured, &Load::closed(64), "status of every answer")));
    }

    /// The memory of this process is what it is.
    fn without_memory(text: &str) -> String {
        let at = text.find(" resident").unwrap();
        let from = text[..at].rfind(", ").unwrap();
        format!("{}, 9.9 MiB{}", &text[..from], &text[at..])
    }

    #[test]
    fn what_programs_read_keeps_to_the_schema() {
        let schema: Value = serde_json::from_str(include_str!("../../../../../docs/load.schema.json")).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let breaches = |value: &Value| schema.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect::<Vec<_>>();
        let outcomes: Vec<_> =
            threshold::parse("p(99)<1ms,errors<0.01%").unwrap().iter().map(|t| t.check(&readings(&measured()))).collect();
        let mut found = to_json(&measured(), &Load::arrivals(5_000.0, 1024), "status of every answer", &outcomes);
        assert_eq!(breaches(&found), Vec::<String>::new());
        assert_eq!((&found["latency_us"]["p99"], &found["latency_us"]["p99_99"]), (&value!(148.095), &Value::Null));
        // The schema would tell.
        found["counts"]["lost"] = value!(1);
        found["latency_us"]["p50"] = value!("fast");
        assert_eq!(breaches(&found).len(), 2);
    }

    #[test]
    fn a_line_a_second() {
        assert_eq!(
            to_csv(&measured(), &[3]),
            "second,correct,not_correct,p50_us,p99_us,max_us,in_flight\n0,4000,1,100,149,149,3\n1,6000,1,100,149,2345.678,\n"
        );
    }

    #[test]
    fn the_interval_log_has_a_line_for_each_time() {
        let log = to_hdr_log(&measured(), 1_700_000_000.5);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[0], "#[Histogram log format version 1.3]");
        assert_eq!(lines[1], "#[StartTime: 1700000000.500 (seconds since epoch)]");
        assert!(lines[4].starts_with("Tag=latency,0.000,2.000,2.346,HISTF"), "{}", lines[4]);
        assert!(lines[6].starts_with("Tag=lag,0.000,2.000,0.100,HISTF"), "{}", lines[6]);
    }
}
