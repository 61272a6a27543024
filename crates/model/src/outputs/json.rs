//! The summaries that oha, k6, h2load, JMeter and Gatling write for programs.

use super::{OHA_CUT_OFF, Output};
use crate::article::{Figure, Row, Tool};
use crate::units::show_number;
use serde_json::Value;

pub fn read(document: &Value) -> Option<Output> {
    if document["summary"]["requestsPerSec"].is_number() {
        return Some(oha(document));
    }
    if document["numberOfRequests"]["total"].is_number() {
        return Some(gatling(document));
    }
    if document["measurements"]["performance"]["request"].is_object() {
        return Some(h2load(&document["measurements"]));
    }
    if let Some(metrics) = document["results"]["metrics"].as_array() {
        let named = metrics.iter().filter_map(|metric| Some((metric["name"].as_str()?.to_owned(), metric.clone())));
        let metrics = Value::Object(named.collect());
        return metrics["http_req_duration"].is_object().then(|| k6(&metrics, &document["config"]["duration"]));
    }
    let metrics = if document["metrics"].is_object() { &document["metrics"] } else { document };
    if metrics["http_req_duration"].is_object() {
        return Some(k6(metrics, &Value::Null));
    }
    let rows: Vec<Row> = document.as_object()?.values().filter(|entry| entry["sampleCount"].is_number()).map(jmeter).collect();
    (!rows.is_empty()).then_some(Output { tool: Tool::Jmeter, rows, hint: None, depth_unsaid: false })
}

/// The percentage in `p(95)` and `p99.9`.
pub fn percent(key: &str) -> Option<f64> {
    let digits = key.strip_prefix('p')?.trim_start_matches('(').trim_end_matches(')');
    digits.parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0)
}

/// A number, times a scale; what a file of ours could not hold is left out.
fn number(value: &Value, scale: f64) -> Option<f64> {
    value.as_f64().map(|v| v * scale).filter(|v| (0.0..=1e30).contains(v))
}

fn count(value: &Value) -> Option<Figure> {
    number(value, 1.0).map(|v| Figure::exact(v, show_number(v)))
}

fn time(value: &Value, scale: f64) -> Option<Figure> {
    number(value, scale).map(|v| Figure::exact(v, format!("{} ms", show_number(v * 1e3))))
}

fn bytes(value: &Value, scale: f64) -> Option<Figure> {
    number(value, scale).map(|v| Figure::exact(v, format!("{} KB", show_number(v / 1024.0))))
}

fn oha(document: &Value) -> Output {
    let summary = &document["summary"];
    // Requests under way at the end failed nobody.
    let sum = |key: &str| {
        let counts = document[key].as_object().into_iter().flatten().filter(|(what, _)| *what != OHA_CUT_OFF);
        counts.filter_map(|(_, n)| n.as_u64()).fold(0u64, u64::saturating_add)
    };
    let (answers, errors) = (sum("statusCodeDistribution"), sum("errorDistribution"));
    let mut row = Row {
        name: "oha".into(),
        samples: Some(Figure::exact(answers.saturating_add(errors) as f64, answers.saturating_add(errors).to_string())),
        errors: Some(Figure::exact(errors as f64, errors.to_string())),
        duration: number(&summary["total"], 1.0).map(|v| Figure::exact(v, format!("{} s", show_number(v)))),
        throughput: count(&summary["requestsPerSec"]),
        transfer: bytes(&summary["sizePerSec"], 1.0),
        received: bytes(&summary["totalData"], 1.0),
        ..Row::default()
    };
    row.latency.mean = time(&summary["average"], 1.0);
    row.latency.min = time(&summary["fastest"], 1.0);
    row.latency.max = time(&summary["slowest"], 1.0);
    let quantiles = document["latencyPercentiles"].as_object().into_iter().flatten();
    row.latency.quantiles = quantiles.filter_map(|(key, value)| percent(key).zip(time(value, 1.0))).collect();
    row.latency.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    Output {
        tool: Tool::Oha,
        rows: vec![row],
        hint: Some("oha does not print its connections: name them with --connections N"),
        depth_unsaid: false,
    }
}

/// Reads metrics by name, as `--summary-export` writes them or `handleSummary` is given them. The summary that
/// `--new-machine-readable-summary` asks for has a list of them, without rates but with the seconds that the run took.
fn k6(metrics: &Value, seconds: &Value) -> Output {
    let of = |metric: &str, key: &str| {
        let metric = &metrics[metric];
        if metric["values"].is_object() { metric["values"][key].clone() } else { metric[key].clone() }
    };
    let mut row = Row {
        name: "k6".into(),
        samples: count(&of("http_reqs", "count")),
        throughput: count(&of("http_reqs", "rate")),
        transfer: bytes(&of("data_received", "rate"), 1.0),
        received: bytes(&of("data_received", "count"), 1.0),
        ..Row::default()
    };
    row.duration = number(seconds, 1.0).map(|v| Figure::exact(v, format!("{} s", show_number(v))));
    let per_s = row.samples.as_ref().zip(row.duration.as_ref()).map(|(n, seconds)| n.value() / seconds.value());
    row.throughput = row.throughput.or_else(|| per_s.filter(|v| v.is_finite()).map(|v| Figure::exact(v, show_number(v))));
    row.load.users = of("vus_max", "max").as_u64().or_else(|| of("vus_max", "value").as_u64()).filter(|n| *n > 0);
    let failed = of("http_req_failed", "rate");
    let failed = if failed.is_number() { failed } else { of("http_req_failed", "value") };
    row.error_share = number(&failed, 1.0).map(|v| Figure::exact(v, format!("{} %", show_number(v * 100.0))));
    let duration = &metrics["http_req_duration"];
    let values = if duration["values"].is_object() { &duration["values"] } else { duration };
    for (key, value) in values.as_object().into_iter().flatten() {
        let latency = &mut row.latency;
        match key.as_str() {
            "avg" => latency.mean = time(value, 1e-3),
            "min" => latency.min = time(value, 1e-3),
            "max" => latency.max = time(value, 1e-3),
            "med" => latency.quantiles.extend(time(value, 1e-3).map(|figure| (50.0, figure))),
            key => latency.quantiles.extend(percent(key).zip(time(value, 1e-3))),
        }
    }
    row.latency.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    Output { tool: Tool::K6, rows: vec![row], hint: None, depth_unsaid: false }
}

/// Reads what h2load writes with `--output-file`, in seconds and bytes.
fn h2load(measurements: &Value) -> Output {
    let mut row = Row {
        name: "h2load".into(),
        samples: count(&measurements["requests"]["done"]),
        errors: count(&measurements["requests"]["failed"]),
        duration: number(&measurements["duration"], 1.0).map(|v| Figure::exact(v, format!("{} s", show_number(v)))),
        throughput: count(&measurements["request_per_second"]),
        transfer: bytes(&measurements["bytes_per_second"], 1.0),
        received: bytes(&measurements["traffic"]["total"], 1.0),
        ..Row::default()
    };
    let request = &measurements["performance"]["request"];
    row.latency.mean = time(&request["mean"], 1.0);
    row.latency.deviation = time(&request["sd"], 1.0);
    row.latency.min = time(&request["min"], 1.0);
    row.latency.max = time(&request["max"], 1.0);
    let values = request.as_object().into_iter().flatten();
    let quantiles = values.filter_map(|(key, value)| {
        let of = if key == "median" { Some(50.0) } else { percent(key) };
        of.zip(time(value, 1.0))
    });
    row.latency.quantiles = quantiles.collect();
    row.latency.quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let hint = "h2load writes neither its clients nor its streams into this file: name them with --connections N and --pipeline N";
    Output { tool: Tool::H2load, rows: vec![row], hint: Some(hint), depth_unsaid: true }
}

/// Of all requests, as the report's `global_stats.json` has them in versions that write it: in whole milliseconds, with the quantiles of its usual settings.
fn gatling(document: &Value) -> Output {
    let all = |key: &str| &document[key]["total"];
    let whole_ms = |key: &str| number(all(key), 1.0).and_then(|ms| Figure::time(&format!("{}ms", ms as u64)).ok());
    let mut row = Row {
        name: document["name"].as_str().unwrap_or("Gatling").to_owned(),
        samples: count(all("numberOfRequests")),
        errors: count(&document["numberOfRequests"]["ko"]),
        throughput: count(all("meanNumberOfRequestsPerSecond")),
        ..Row::default()
    };
    row.latency.min = whole_ms("minResponseTime");
    row.latency.mean = whole_ms("meanResponseTime");
    row.latency.max = whole_ms("maxResponseTime");
    row.latency.deviation = whole_ms("standardDeviation");
    let quantiles = [(50.0, "percentiles1"), (75.0, "percentiles2"), (95.0, "percentiles3"), (99.0, "percentiles4")];
    row.latency.quantiles = quantiles.into_iter().filter_map(|(percent, key)| Some((percent, whole_ms(key)?))).collect();
    let hint = Some("Gatling does not sum up its users: name them with --connections N");
    Output { tool: Tool::Gatling, rows: vec![row], hint, depth_unsaid: false }
}

/// An entry of the dashboard's `statistics.json`; its three quantiles are those of its usual settings.
fn jmeter(entry: &Value) -> Row {
    let mut row = Row {
        name: entry["transaction"].as_str().unwrap_or("JMeter").to_owned(),
        samples: count(&entry["sampleCount"]),
        errors: count(&entry["errorCount"]),
        error_share: number(&entry["errorPct"], 0.01).map(|v| Figure::exact(v, format!("{} %", show_number(v * 100.0)))),
        throughput: count(&entry["throughput"]),
        transfer: bytes(&entry["receivedKBytesPerSec"], 1024.0),
        ..Row::default()
    };
    row.latency.mean = time(&entry["meanResTime"], 1e-3);
    row.latency.min = time(&entry["minResTime"], 1e-3);
    row.latency.max = time(&entry["maxResTime"], 1e-3);
    let quantiles = [(50.0, "medianResTime"), (90.0, "pct1ResTime"), (95.0, "pct2ResTime"), (99.0, "pct3ResTime")];
    row.latency.quantiles = quantiles.into_iter().filter_map(|(percent, key)| Some((percent, time(&entry[key], 1e-3)?))).collect();
    row
}
