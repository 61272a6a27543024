//! Reads JSON of vegeta, bombardier, autocannon, zrk, fortio, and the runs that HttpArena collects.
//!
//! One function for each tool, which puts each figure to its place with the tool's unit. Figures
//! without a place are kept by name. `tools.rs` has oha, h2load, Gatling and JMeter, and `k6.rs`
//! has k6.

use super::document::Reading;
use crate::outputs::{run::Run, run::percent, run::percentage, run::share_of};
use crate::outputs::{text::OF_SAMPLES, text::loosen_rates_of_autocannon};
use serde_json::Value;
use spec::article::{Figure, Tool};

const NS: f64 = 1e-9;
const US: f64 = 1e-6;
const MS: f64 = 1e-3;

/// Adds up the numbers of an object with these names.
fn sum(reading: &Reading, object: &Value, keys: &[&str]) -> f64 {
    keys.iter().filter_map(|key| reading.number(&object[*key], 1.0)).sum()
}

/// Reads `report -type=json`, in nanoseconds.
pub fn vegeta(document: &Value) -> Run {
    let reading = Reading::default();
    let mut run = Run::new(Tool::Vegeta, "vegeta");
    let row = &mut run.row;
    row.load.scheduled = true;
    row.samples = reading.count(&document["requests"]);
    row.throughput = reading.count(&document["rate"]);
    row.duration = reading.seconds(&document["duration"], NS);
    row.error_share = reading.share(&document["success"], 1.0).map(Figure::complement);
    row.received = reading.bytes(&document["bytes_in"]["total"], 1.0);
    row.bytes_per_answer = reading.bytes(&document["bytes_in"]["mean"], 1.0);
    let latencies = &document["latencies"];
    row.latency.mean = reading.time(&latencies["mean"], NS);
    row.latency.min = reading.time(&latencies["min"], NS);
    row.latency.max = reading.time(&latencies["max"], NS);
    reading.quantiles_by_name(row, latencies, |key| percentage(key.strip_suffix("th")?), NS);
    reading.close(
        document,
        &["latencies.total", "bytes_out", "wait", "throughput", "status_codes", "buckets"],
        &mut run,
    );
    run
}

/// Reads `--format json`, in microseconds.
pub fn bombardier(document: &Value) -> Run {
    let reading = Reading::default();
    let (spec, result) = (&document["spec"], &document["result"]);
    let mut run = Run::new(Tool::Bombardier, spec["url"].as_str().unwrap_or("bombardier"));
    let row = &mut run.row;
    row.load.connections = reading.places(&spec["numberOfConnections"]);
    let failed = sum(&reading, result, &["req4xx", "req5xx", "others"]);
    row.samples =
        Some(Figure::whole(sum(&reading, result, &["req1xx", "req2xx", "req3xx"]) + failed));
    row.errors = Some(Figure::whole(failed));
    row.duration = reading.seconds(&result["timeTakenSeconds"], 1.0);
    row.throughput = reading.count(&result["rps"]["mean"]).map(|figure| figure.within(OF_SAMPLES));
    row.received = reading.bytes(&result["bytesRead"], 1.0);
    let latency = &result["latency"];
    row.latency.mean = reading.time(&latency["mean"], US);
    row.latency.deviation = reading.time(&latency["stddev"], US);
    row.latency.max = reading.time(&latency["max"], US);
    reading.quantiles_by_name(row, &latency["percentiles"], |key| percentage(key.trim()), US);
    reading.close(
        document,
        &["spec", "result.rps", "result.bytesWritten", "result.errors"],
        &mut run,
    );
    run
}

/// Reads `--json`, in milliseconds.
pub fn autocannon(document: &Value) -> Run {
    let reading = Reading::default();
    let mut run = Run::new(
        Tool::Autocannon,
        document["title"].as_str().or(document["url"].as_str()).unwrap_or("autocannon"),
    );
    let row = &mut run.row;
    row.load.connections = reading.places(&document["connections"]);
    row.load.depth = reading.places(&document["pipelining"]).filter(|depth| *depth > 1);
    row.samples = reading.count(&document["requests"]["total"]);
    let answers = row.samples.as_ref().map_or(0.0, Figure::value);
    let unanswered = sum(&reading, document, &["errors"]);
    row.error_share = share_of(
        unanswered + sum(&reading, document, &["non2xx", "mismatches"]),
        answers + unanswered,
    );
    row.duration = reading.seconds(&document["duration"], 1.0);
    row.throughput = reading.count(&document["requests"]["average"]);
    row.transfer = reading.bytes(&document["throughput"]["average"], 1.0);
    loosen_rates_of_autocannon(row);
    row.received = reading.bytes(&document["throughput"]["total"], 1.0);
    let latency = &document["latency"];
    row.latency.mean = reading.time(&latency["average"], MS);
    row.latency.deviation = reading.time(&latency["stddev"], MS);
    row.latency.min = reading.time(&latency["min"], MS);
    row.latency.max = reading.time(&latency["max"], MS);
    // It records whole milliseconds, so smaller times are 0.
    reading.quantiles_by_name(row, latency, percent, MS);
    const ASIDE: [&str; 16] = [
        "requests",
        "throughput",
        "latency.mean",
        "latency.totalCount",
        "timeouts",
        "samples",
        "sampleInt",
        "resets",
        "1xx",
        "2xx",
        "3xx",
        "4xx",
        "5xx",
        "statusCodeStats",
        "workers",
        "warmup",
    ];
    reading.close(document, &ASIDE, &mut run);
    run
}

/// Reads `--format json`, in microseconds.
pub fn zrk(document: &Value) -> Run {
    let reading = Reading::default();
    let config = &document["config"];
    let mut run = Run::new(Tool::Zrk, document["target"]["url"].as_str().unwrap_or("zrk"));
    let row = &mut run.row;
    row.load.connections = reading.places(&config["connections"]);
    row.load.depth = reading.places(&config["streams"]).filter(|depth| *depth > 1);
    row.load.scheduled = config["closed"].as_bool() != Some(true);
    row.samples = reading.count(&document["requests"]);
    row.duration = reading.seconds(&document["duration_s"], 1.0);
    // The share of all attempts, including those without a response.
    let share = reading.number(&document["error_rate"], 1.0).unwrap_or(0.0);
    let answers = row.samples.as_ref().map_or(0.0, Figure::value);
    row.error_share = share_of(share * answers, answers);
    row.received = reading.bytes(&document["bytes"], 1.0);
    // For a ramp, these values are of its end.
    let is_ramp = document["target_rate_end"]
        .as_f64()
        .is_some_and(|end| document["target_rate"].as_f64() != Some(end))
        && row.load.scheduled;
    if !is_ramp {
        row.throughput = reading.count(&document["achieved_rate"]);
        row.transfer = reading.bytes(&document["bytes_per_sec"], 1.0);
    }
    let latency = &document["latency_us"];
    row.latency.mean = reading.time(&latency["mean"], US);
    row.latency.deviation = reading.time(&latency["stdev"], US);
    row.latency.min = reading.time(&latency["min"], US);
    row.latency.max = reading.time(&latency["max"], US);
    reading.quantiles_by_name(row, latency, percent, US);
    const ASIDE: [&str; 14] = [
        "config",
        "achieved_rate",
        "target_rate",
        "target_rate_end",
        "rate_ratio",
        "achieved_rate_end",
        "rate_ratio_end",
        "end_window_s",
        "bytes_per_sec",
        "max_schedule_lag_us",
        "status_codes",
        "errors",
        "workload",
        "latency_histogram",
    ];
    reading.close(document, &ASIDE, &mut run);
    run
}

/// Reads `-json`, in seconds.
pub fn fortio(document: &Value) -> Run {
    let reading = Reading::default();
    let mut run = Run::new(
        Tool::Fortio,
        document["URL"].as_str().or(document["Destination"].as_str()).unwrap_or("fortio"),
    );
    let row = &mut run.row;
    row.load.connections = reading.places(&document["NumThreads"]);
    row.throughput = reading.count(&document["ActualQPS"]);
    row.duration = reading.seconds(&document["ActualDuration"], NS);
    let times = &document["DurationHistogram"];
    row.samples = reading.count(&times["Count"]);
    row.latency.mean = reading.time(&times["Avg"], 1.0);
    row.latency.deviation = reading.time(&times["StdDev"], 1.0);
    row.latency.min = reading.time(&times["Min"], 1.0);
    row.latency.max = reading.time(&times["Max"], 1.0);
    let quantiles = times["Percentiles"].as_array().into_iter().flatten();
    reading.quantiles(
        row,
        quantiles.map(|entry| {
            (reading.number(&entry["Percentile"], 1.0), reading.time(&entry["Value"], 1.0))
        }),
    );
    // Exact only within the buckets of its histogram.
    row.has_loose_quantiles = true;
    let codes = document["RetCodes"].as_object().into_iter().flatten();
    // Codes of gRPC differ from those of HTTP.
    let is_failed = |code: &str| code.parse::<i32>().is_ok_and(|code| !(0..400).contains(&code));
    let failed = codes.filter(|(code, _)| is_failed(code)).filter_map(|(_, n)| n.as_f64());
    row.errors = Some(Figure::whole(failed.sum()));
    const ASIDE: [&str; 23] = [
        "Exactly",
        "RunID",
        "RequestedQPS",
        "DurationHistogram",
        "ErrorsDurationHistogram",
        "NumConnections",
        "Sizes",
        "HeaderSizes",
        "Sockets",
        "SocketCount",
        "ConnectionStats",
        "HTTPReqTimeOut",
        "BytesSent",
        "BytesReceived",
        "Streams",
        "MaxStreams",
        "LogErrors",
        "SequentialWarmup",
        "ConnReuseRange",
        "AbortOn",
        "IPCountMap",
        "PayloadSize",
        "RetCodes",
    ];
    reading.close(document, &ASIDE, &mut run);
    run
}

/// Profiles whose requests share connections as streams. Their files do not count them.
const STREAMED: [&str; 5] = ["h2", "h3", "grpc", "gateway", "production"];

/// Reads a list of runs of one profile, or an object of such lists by profile, next to a
/// description of the machine.
pub fn httparena(document: &Value, name: &str) -> Option<Vec<Run>> {
    let is_run = |run: &Value| run["framework"].is_string() && run["rps"].is_number();
    let is_list = |list: &Value| {
        list.as_array().is_some_and(|runs| !runs.is_empty() && runs.iter().all(is_run))
    };
    let runs_of = |list: &Value, profile: &str, is_named: bool| -> Vec<Run> {
        list.as_array()
            .into_iter()
            .flatten()
            .map(|run| httparena_run(run, profile, is_named))
            .collect()
    };
    let runs: Vec<Run> = match document {
        Value::Array(_) if is_list(document) => runs_of(document, name, false),
        Value::Object(_) if is_run(document) => vec![httparena_run(document, name, false)],
        Value::Object(parts) if parts.values().any(is_list) => {
            let (lists, others): (Vec<_>, Vec<_>) =
                parts.iter().partition(|(_, part)| is_list(part));
            let mut runs: Vec<Run> = lists
                .into_iter()
                .flat_map(|(profile, list)| runs_of(list, profile, true))
                .collect();
            let others: Vec<&str> = others
                .into_iter()
                .filter(|(_, part)| part.as_array().is_none_or(|list| !list.is_empty()))
                .map(|(name, _)| name.as_str())
                .collect();
            if let Some(first) = runs.first_mut().filter(|_| !others.is_empty()) {
                first
                    .notes
                    .push(format!("`{}` hold no runs and are not read", others.join("`, `")));
            }
            runs
        }
        _ => return None,
    };
    (!runs.is_empty()).then_some(runs)
}

fn httparena_run(document: &Value, profile: &str, is_named: bool) -> Run {
    let reading = Reading::default();
    let framework = document["framework"].as_str().unwrap_or_default();
    let name = if is_named { format!("{framework}, {profile}") } else { framework.to_owned() };
    let mut run = Run::new(Tool::HttpArena, &name);
    let row = &mut run.row;
    row.load.connections = reading.places(&document["connections"]);
    row.load.depth = reading.places(&document["pipeline"]).filter(|depth| *depth > 1);
    row.throughput = reading.count(&document["rps"]);
    row.duration = reading.text(&document["duration"], Figure::time, "a time with its unit");
    let failed = sum(&reading, document, &["status_4xx", "status_5xx"]);
    // Its rate counts the successful ones.
    let answers = sum(&reading, document, &["status_2xx", "status_3xx"]);
    row.samples = (answers > 0.0).then(|| Figure::whole(answers));
    row.error_share = share_of(failed, answers + failed);
    let per_s = |text: &str| Figure::bytes(text.trim_end_matches("/s"));
    row.transfer = reading.text(&document["bandwidth"], per_s, "bytes a second with their unit");
    row.latency.mean = reading.text(&document["avg_latency"], Figure::time, "a time with its unit");
    let p99 = reading.text(&document["p99_latency"], Figure::time, "a time with its unit");
    reading.quantiles(row, [(Some(99.0), p99)]);
    if STREAMED.iter().any(|part| profile.contains(part)) && row.load.depth.is_none() {
        run.depth_unsaid = true;
        run.hint = Some(
            "HttpArena does not write how many streams a connection has: name them with --pipeline N",
        );
    }
    reading.close(document, &["threads", "reconnects", "tpl_*"], &mut run);
    run
}
