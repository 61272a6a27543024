//! Reads k6's metrics by name, as `--summary-export` or `handleSummary` writes them, and its
//! machine-readable summary, which lists them.

use super::document::Reading;
use crate::outputs::{run::Run, run::place};
use crate::outputs::{text::depth_of_k6, text::slot_of_k6};
use serde_json::Value;
use spec::article::{Figure, Tool};
use spec::units::show_number;

/// Parts next to the metrics, and metrics of other protocols and of scripts.
const ASIDE: [&str; 12] = [
    "metrics",
    "results.metrics",
    "results.checks",
    "config",
    "metadata",
    "options",
    "state",
    "root_group",
    "setup_data",
    "results.groups",
    "results.scenarios",
    "*.values",
];

pub fn k6(document: &Value) -> Option<Run> {
    let has_list = document["results"]["metrics"].is_array();
    let listed = document["results"]["metrics"].as_array().into_iter().flatten();
    let of = |name: &str| -> &Value {
        if has_list {
            return listed.clone().find(|metric| metric["name"] == name).unwrap_or(&Value::Null);
        }
        if document["metrics"].is_object() { &document["metrics"][name] } else { &document[name] }
    };
    if !of("http_req_duration").is_object() {
        return None;
    }
    let reading = Reading::default();
    let values = |metric: &'_ str| {
        let metric = of(metric);
        if metric["values"].is_object() { &metric["values"] } else { metric }
    };
    let mut run = Run::new(Tool::K6, "k6");
    let row = &mut run.row;
    let requests = values("http_reqs");
    row.samples = reading.count(&requests["count"]);
    row.received = reading.bytes(&values("data_received")["count"], 1.0);
    row.transfer = reading.bytes(&values("data_received")["rate"], 1.0);
    row.duration = reading
        .seconds(&document["config"]["duration"], 1.0)
        .or_else(|| reading.seconds(&document["state"]["testRunDurationMs"], 1e-3));
    let per_s = row
        .samples
        .as_ref()
        .zip(row.duration.as_ref())
        .map(|(n, seconds)| n.value() / seconds.value())
        .filter(|v| v.is_finite());
    row.throughput = reading
        .count(&requests["rate"])
        .or_else(|| per_s.map(|v| Figure::exact(v, show_number(v))));
    let users = values("vus_max");
    row.load.users = reading.places(&users["max"]).or_else(|| reading.places(&users["value"]));
    let share = |metric: &Value| {
        reading.share(&metric["rate"], 1.0).or_else(|| reading.share(&metric["value"], 1.0))
    };
    row.error_share = share(values("http_req_failed"));
    let failed = checks_failed(document).and_then(|metric| share(&metric["values"]));
    row.failed_checks = failed.or_else(|| share(values("checks")).map(Figure::complement));
    for (key, value) in values("http_req_duration").as_object().into_iter().flatten() {
        let Some(slot) = slot_of_k6(key) else { continue };
        reading.time(value, 1e-3).into_iter().for_each(|figure| drop(place(row, slot, figure)));
    }
    let once = |value: &Value, scale| reading.number(value, scale).map(|v| v * scale);
    run.sums.extend(once(&values("iterations")["count"], 1.0).map(|n| ("iterations", n)));
    run.sums.extend(
        once(&values("iteration_duration")["avg"], 1e-3).map(|seconds| ("iteration", seconds)),
    );
    run.row.load.depth = depth_of_k6(&run);
    let is_bare = !has_list && !document["metrics"].is_object();
    reading.close(document, if is_bare { &["*"] } else { &ASIDE }, &mut run);
    Some(run)
}

/// Returns the metric of failed checks, in either form of the list.
fn checks_failed(document: &Value) -> Option<&Value> {
    let metrics = &document["results"]["checks"]["metrics"];
    let listed =
        metrics.as_array().into_iter().flatten().find(|metric| metric["name"] == "checks_failed");
    listed.or_else(|| metrics.get("checksFailed"))
}
