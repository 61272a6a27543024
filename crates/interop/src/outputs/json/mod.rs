//! Reads what load generators write for programs, as JSON.

mod document;
mod k6;
mod others;
mod tools;

use super::run::Run;
use serde_json::Value;

/// Reads every run of a document; `None` if no known tool wrote it.
pub fn read_json(document: &Value, name: &str) -> Option<Vec<Run>> {
    if let Some(runs) = others::httparena(document, name) {
        return Some(runs);
    }
    if let Value::Array(documents) = document {
        let runs: Vec<Run> = documents
            .iter()
            .map(read_one)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        return (!runs.is_empty()).then_some(runs);
    }
    read_one(document)
}

fn read_one(document: &Value) -> Option<Vec<Run>> {
    let one = |run: Run| Some(vec![run]);
    if document["summary"]["requestsPerSec"].is_number() {
        return one(tools::oha(document));
    }
    if document["numberOfRequests"]["total"].is_number()
        || document["numberOfRequests"]["total"].is_string()
    {
        return one(tools::gatling(document, document));
    }
    if document["stats"]["numberOfRequests"].is_object() {
        return one(tools::gatling(&document["stats"], document));
    }
    if document["measurements"]["performance"]["request"].is_object() {
        return one(tools::h2load(document));
    }
    if document["latencies"]["mean"].is_number() && document["bytes_in"].is_object() {
        return one(others::vegeta(document));
    }
    if document["spec"]["numberOfConnections"].is_number() && document["result"].is_object() {
        return one(others::bombardier(document));
    }
    if document["requests"]["average"].is_number() && document["latency"].is_object() {
        return one(others::autocannon(document));
    }
    if document["zrk_version"].is_string() {
        return one(others::zrk(document));
    }
    if document["DurationHistogram"].is_object() && document["ActualQPS"].is_number() {
        return one(others::fortio(document));
    }
    if let Some(run) = k6::k6(document) {
        return one(run);
    }
    tools::jmeter(document)
}
