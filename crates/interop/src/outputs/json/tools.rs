//! Reads JSON of oha, h2load, Gatling and JMeter.

use super::document::Reading;
use crate::outputs::OHA_CUT_OFF;
use crate::outputs::jmeter::NO_USERS;
use crate::outputs::text::GATLING_HINT;
use crate::outputs::{run::Run, run::percent};
use serde_json::Value;
use spec::article::{Figure, Tool};

/// Makes the note that percentages are assumed from default settings.
fn usual(tool: &str, keys: &str, percentages: &str) -> String {
    format!(
        "{tool} does not name the percentages of `{keys}`, which can be set: they are taken for {percentages}, and the mean is not checked against them"
    )
}

pub fn oha(document: &Value) -> Run {
    let reading = Reading::default();
    let summary = &document["summary"];
    let sum = |counts: &Value, counted: &dyn Fn(&str) -> bool| {
        let counts = counts.as_object().into_iter().flatten();
        counts
            .filter_map(|(what, n)| Some((counted(what), reading.number(n, 1.0)?)))
            .filter(|(counted, _)| *counted)
            .map(|(_, n)| n)
            .sum::<f64>()
    };
    let answers = sum(&document["statusCodeDistribution"], &|_| true);
    let refused = sum(&document["statusCodeDistribution"], &|status| {
        status.parse::<u16>().is_ok_and(|status| status >= 400)
    });
    // oha aborts the requests that are in flight at the end. They are not errors.
    let errors = sum(&document["errorDistribution"], &|what| what != OHA_CUT_OFF);
    let mut run = Run::new(Tool::Oha, "oha");
    let row = &mut run.row;
    row.samples = Some(Figure::whole(answers + errors));
    row.errors = Some(Figure::whole(refused + errors));
    row.duration = reading.seconds(&summary["total"], 1.0);
    row.throughput = reading.count(&summary["requestsPerSec"]);
    row.transfer = reading.bytes(&summary["sizePerSec"], 1.0);
    row.received = reading.bytes(&summary["totalData"], 1.0);
    row.latency.mean = reading.time(&summary["average"], 1.0);
    row.latency.min = reading.time(&summary["fastest"], 1.0);
    row.latency.max = reading.time(&summary["slowest"], 1.0);
    reading.quantiles_by_name(row, &document["latencyPercentiles"], percent, 1.0);
    for counts in [&document["statusCodeDistribution"], &document["errorDistribution"]] {
        row.other.push(("counts".into(), counts.to_string()));
    }
    run.hint = Some("oha does not print its connections: name them with --connections N");
    const ASIDE: [&str; 12] = [
        "metrics",
        "responseTimeHistogram",
        "firstByteHistogram",
        "firstBytePercentiles",
        "rps",
        "details",
        "summary.successRate",
        "summary.sizePerRequest",
        "responseTimeHistogramSuccessful",
        "latencyPercentilesSuccessful",
        "responseTimeHistogramNotSuccessful",
        "latencyPercentilesNotSuccessful",
    ];
    reading.close(document, &ASIDE, &mut run);
    run
}

/// Reads what h2load writes with `--output-file`, in seconds and bytes.
pub fn h2load(document: &Value) -> Run {
    let reading = Reading::default();
    let measured = &document["measurements"];
    let mut run = Run::new(Tool::H2load, "h2load");
    let row = &mut run.row;
    row.samples = reading.count(&measured["requests"]["done"]);
    row.errors = reading.count(&measured["requests"]["failed"]);
    row.duration = reading.seconds(&measured["duration"], 1.0);
    row.throughput = reading.count(&measured["request_per_second"]);
    row.transfer = reading.bytes(&measured["bytes_per_second"], 1.0);
    row.received = reading.bytes(&measured["traffic"]["total"], 1.0);
    let request = &measured["performance"]["request"];
    row.latency.mean = reading.time(&request["mean"], 1.0);
    row.latency.deviation = reading.time(&request["sd"], 1.0);
    row.latency.min = reading.time(&request["min"], 1.0);
    row.latency.max = reading.time(&request["max"], 1.0);
    let named = |key: &str| if key == "median" { Some(50.0) } else { percent(key) };
    reading.quantiles_by_name(row, request, named, 1.0);
    run.hint = Some(
        "h2load writes neither its clients nor its streams into this file: name them with --connections N and --pipeline N",
    );
    run.depth_unsaid = true;
    const ASIDE: [&str; 8] = [
        "metadata",
        "measurements.status_codes",
        "measurements.requests",
        "measurements.traffic",
        "measurements.performance.*.samples",
        "measurements.performance.*.within_sd",
        "measurements.udp",
        "measurements.performance",
    ];
    reading.close(document, &ASIDE, &mut run);
    run
}

/// Reads the statistics of all requests, from the report's `global_stats.json`, or from the
/// `stats.json` around it in versions that write it.
pub fn gatling(stats: &Value, document: &Value) -> Run {
    let reading = Reading::default();
    let all = |key: &str| &stats[key]["total"];
    let whole_ms = |key: &str| {
        reading.number(all(key), 1.0).and_then(|ms| Figure::time(&format!("{}ms", ms as u64)).ok())
    };
    let mut run = Run::new(Tool::Gatling, stats["name"].as_str().unwrap_or("Gatling"));
    let row = &mut run.row;
    row.samples = reading.count(all("numberOfRequests"));
    row.errors = reading.count(&stats["numberOfRequests"]["ko"]);
    row.throughput = reading.count(all("meanNumberOfRequestsPerSecond"));
    row.latency.min = whole_ms("minResponseTime");
    row.latency.mean = whole_ms("meanResponseTime");
    row.latency.max = whole_ms("maxResponseTime");
    row.latency.deviation = whole_ms("standardDeviation");
    let quantiles = [
        (50.0, "percentiles1"),
        (75.0, "percentiles2"),
        (95.0, "percentiles3"),
        (99.0, "percentiles4"),
    ];
    reading.quantiles(row, quantiles.map(|(percent, key)| (Some(percent), whole_ms(key))));
    row.has_loose_quantiles = true;
    run.hint = Some(GATLING_HINT);
    run.notes.push(usual("Gatling", "percentiles1` to `percentiles4", "50, 75, 95 and 99 %"));
    if document["contents"].as_object().is_some_and(|parts| parts.len() > 1) {
        run.notes.push(
            "the requests in `contents` are parts of this run and are not checked one by one"
                .into(),
        );
    }
    const ASIDE: [&str; 16] = [
        "contents",
        "numberOfRequests",
        "minResponseTime",
        "meanResponseTime",
        "maxResponseTime",
        "standardDeviation",
        "percentiles1",
        "percentiles2",
        "percentiles3",
        "percentiles4",
        "meanNumberOfRequestsPerSecond",
        "group1",
        "group2",
        "group3",
        "group4",
        "stats",
    ];
    reading.close(document, &ASIDE, &mut run);
    run
}

/// Reads the entries of the dashboard's `statistics.json`.
pub fn jmeter(document: &Value) -> Option<Vec<Run>> {
    let entries = document.as_object()?.values().filter(|entry| entry["sampleCount"].is_number());
    let runs: Vec<Run> = entries.map(jmeter_entry).collect();
    (!runs.is_empty()).then_some(runs)
}

fn jmeter_entry(entry: &Value) -> Run {
    let reading = Reading::default();
    let mut run = Run::new(Tool::Jmeter, entry["transaction"].as_str().unwrap_or("JMeter"));
    let row = &mut run.row;
    row.samples = reading.count(&entry["sampleCount"]);
    row.errors = reading.count(&entry["errorCount"]);
    row.error_share = reading.share(&entry["errorPct"], 0.01);
    row.throughput = reading.count(&entry["throughput"]);
    row.transfer = reading.bytes(&entry["receivedKBytesPerSec"], 1024.0);
    row.latency.mean = reading.time(&entry["meanResTime"], 1e-3);
    row.latency.min = reading.time(&entry["minResTime"], 1e-3);
    row.latency.max = reading.time(&entry["maxResTime"], 1e-3);
    let quantiles = [
        (50.0, "medianResTime"),
        (90.0, "pct1ResTime"),
        (95.0, "pct2ResTime"),
        (99.0, "pct3ResTime"),
    ];
    reading.quantiles(
        row,
        quantiles.map(|(percent, key)| (Some(percent), reading.time(&entry[key], 1e-3))),
    );
    row.has_loose_quantiles = true;
    run.hint = Some(NO_USERS);
    if entry["pct1ResTime"].is_number() {
        run.notes.push(usual("JMeter", "pct1ResTime` to `pct3ResTime", "90, 95 and 99 %"));
    }
    reading.close(entry, &["sentKBytesPerSec"], &mut run);
    run
}
