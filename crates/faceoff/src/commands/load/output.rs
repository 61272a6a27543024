//! The results of a load as JSON, CSV and an HdrHistogram interval log. `text` has them for people.

use load::Measured;
use record::Second;
use record::load_report::{
    GeneratorUse, LOAD_SCHEMA, LoadReport, LoadSecond, Rates, ThresholdResult, Times,
};
use report::export::{LogInterval, hdr_log};
use spec::experiment::Load;
use spec::threshold::Outcome;
use stats::{Histogram, smallest_sample};

/// Names and values of the quantiles that are reported.
pub const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

/// Peak resident memory of this process, in bytes.
pub fn peak_rss_bytes() -> u64 {
    runner::peak_resident_bytes(std::process::id()).unwrap_or(0)
}

/// The duration of the measurement in seconds.
pub fn seconds(measured: &Measured) -> f64 {
    measured.duration_ns as f64 / 1e9
}

/// Scheduled requests per second, while any were scheduled.
pub fn offered_per_s(measured: &Measured) -> f64 {
    measured.counts.scheduled as f64 / (measured.planned_ns as f64 / 1e9)
}

/// Correct responses per second.
pub fn achieved_per_s(measured: &Measured) -> f64 {
    measured.counts.correct as f64 / seconds(measured)
}

/// Returns the results for `--format json`.
pub fn load_report<'a>(
    measured: &'a Measured,
    load: &Load,
    checks: &'a str,
    thresholds: &'a [Outcome],
) -> LoadReport<'a> {
    let unless_empty = |histogram: &Histogram| (!histogram.is_empty()).then(|| times(histogram));
    LoadReport {
        schema: LOAD_SCHEMA,
        load: load.describe(),
        has_schedule: load.has_schedule(),
        checks,
        duration_s: seconds(measured),
        counts: measured.counts,
        statuses: &measured.statuses,
        rate_per_s: Rates { offered: offered_per_s(measured), achieved: achieved_per_s(measured) },
        received_bytes: measured.received_bytes,
        latency_us: times(&measured.latency),
        service_us: times(&measured.service),
        lag_us: times(&measured.lag),
        connect_us: unless_empty(&measured.connect),
        handshake_us: unless_empty(&measured.handshake),
        handshakes_resumed: measured.resumed,
        generator: GeneratorUse {
            threads: measured.threads,
            cpu_s: measured.cpu_ns as f64 / 1e9,
            spun_s: measured.spun_ns as f64 / 1e9,
            peak_rss_bytes: peak_rss_bytes(),
            in_flight_max: measured.in_flight_max,
            in_flight_limit: load.in_flight_max(),
            connections_opened: measured.connections_opened,
            retried: measured.retried,
        },
        seconds: measured.seconds.iter().map(load_second).collect(),
        examples: &measured.examples,
        thresholds: thresholds.iter().map(threshold_result).collect(),
        interrupted: measured.interrupted,
    }
}

fn times(histogram: &Histogram) -> Times {
    let us = |ns: f64| ns / 1e3;
    let [p50, p75, p90, p95, p99, p99_9, p99_99] = QUANTILES.map(|(_, q)| {
        (histogram.len() >= smallest_sample(q)).then(|| us(histogram.quantile_ns(q) as f64))
    });
    Times {
        min: us(histogram.min_ns() as f64),
        mean: us(histogram.mean_ns()),
        stddev: us(histogram.deviation_ns()),
        max: us(histogram.max_ns() as f64),
        p50,
        p75,
        p90,
        p95,
        p99,
        p99_9,
        p99_99,
    }
}

fn load_second(second: &Second) -> LoadSecond {
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    LoadSecond {
        correct: second.correct,
        not_correct: second.not_correct,
        p50_us: us(second.p50_ns),
        p99_us: us(second.p99_ns),
        max_us: us(second.max_ns),
    }
}

fn threshold_result(outcome: &Outcome) -> ThresholdResult<'_> {
    ThresholdResult { threshold: &outcome.text, found: &outcome.found, kept: outcome.kept }
}

/// Returns the results as CSV, with one line per second.
pub fn to_csv(measured: &Measured, in_flight: &[u64]) -> String {
    let us = |ns: Option<u64>| ns.map(|ns| (ns as f64 / 1e3).to_string()).unwrap_or_default();
    let mut text = "second,correct,not_correct,p50_us,p99_us,max_us,in_flight\n".to_owned();
    for (number, s) in measured.seconds.iter().enumerate() {
        let in_flight = in_flight.get(number).map(u64::to_string).unwrap_or_default();
        text += &format!(
            "{number},{},{},{},{},{},{in_flight}\n",
            s.correct,
            s.not_correct,
            us(s.p50_ns),
            us(s.p99_ns),
            us(s.max_ns)
        );
    }
    text
}

/// Returns the times as an HdrHistogram interval log: one interval, tagged by what was timed.
pub fn to_hdr_log(measured: &Measured, started_at_s: f64) -> String {
    let timed =
        [("latency", &measured.latency), ("service", &measured.service), ("lag", &measured.lag)];
    let intervals = timed.map(|(tag, times)| LogInterval {
        tag: tag.into(),
        from_s: 0.0,
        length_s: seconds(measured),
        times,
    });
    hdr_log(started_at_s, &[], &intervals)
}

#[cfg(test)]
mod tests {
    use super::super::planned_load::readings;
    use super::super::test_measurement::measured;
    use super::*;
    use serde_json::{Value, json as value};
    use spec::threshold;

    #[test]
    fn json_matches_schema() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../../../docs/load.schema.json")).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let breaches = |value: &Value| {
            schema
                .iter_errors(value)
                .map(|e| format!("{}: {e}", e.instance_path()))
                .collect::<Vec<_>>()
        };
        let outcomes: Vec<_> = threshold::parse_thresholds("p(99)<1ms,errors<0.01%")
            .unwrap()
            .iter()
            .map(|t| t.check(&readings(&measured())))
            .collect();
        let measured = measured();
        let load = Load::arrivals(5_000.0, 1024);
        let report = load_report(&measured, &load, "status of every response", &outcomes);
        let mut found = serde_json::to_value(report).unwrap();
        assert_eq!(breaches(&found), Vec::<String>::new());
        assert_eq!(
            (&found["latency_us"]["p99"], &found["latency_us"]["p99_99"]),
            (&value!(148.095), &Value::Null)
        );
        // The schema rejects unknown fields and wrong types.
        found["counts"]["lost"] = value!(1);
        found["latency_us"]["p50"] = value!("fast");
        assert_eq!(breaches(&found).len(), 2);
    }

    #[test]
    fn csv_has_one_line_per_second() {
        assert_eq!(
            to_csv(&measured(), &[3]),
            "second,correct,not_correct,p50_us,p99_us,max_us,in_flight\n0,4000,1,100,149,149,3\n1,6000,1,100,149,2345.678,\n"
        );
    }

    #[test]
    fn interval_log_has_one_line_per_kind_of_time() {
        let log = to_hdr_log(&measured(), 1_700_000_000.5);
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines[0], "#[Histogram log format version 1.3]");
        assert_eq!(lines[1], "#[StartTime: 1700000000.500 (seconds since epoch)]");
        assert!(lines[4].starts_with("Tag=latency,0.000,2.000,2.346,HISTF"), "{}", lines[4]);
        assert!(lines[6].starts_with("Tag=lag,0.000,2.000,0.100,HISTF"), "{}", lines[6]);
    }
}
