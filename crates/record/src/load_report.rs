//! The results of `faceoff load` as JSON.
//!
//! [`LoadReport`] has what faceoff's own generator measured, and [`ExternalLoadReport`] what
//! another one printed, with its cost. The command fills both in. Their JSON Schemas are made from
//! these types, so a comment of a field here is its published description.

use crate::Counts;
use serde::Serialize;
use serde_json::{Map, Value};
use spec::experiment::external_generator::Driver;
use std::collections::BTreeMap;

/// Names the form of [`LoadReport`].
pub const LOAD_SCHEMA: &str = "faceoff.load.v1";

/// Names the form of [`ExternalLoadReport`].
pub const EXTERNAL_LOAD_SCHEMA: &str = "faceoff.external-generator.v1";

/// What `faceoff load --format json` prints.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadReport<'a> {
    /// [`LOAD_SCHEMA`].
    pub schema: &'static str,
    /// The load, in words.
    pub load: String,
    /// Whether the load has a schedule. Without one, a request is due when the response before it
    /// on its connection has been read.
    pub has_schedule: bool,
    /// Which parts of a response were checked, and in how many responses.
    pub checks: &'a str,
    /// From the start to the planned end, or to the last response of a schedule if that came later.
    pub duration_s: f64,
    /// The outcomes of the requests.
    pub counts: Counts,
    /// Responses by status.
    pub statuses: &'a BTreeMap<u16, u64>,
    /// Requests and responses per second.
    pub rate_per_s: Rates,
    /// Bytes of correct responses, with heads and framing.
    pub received_bytes: u64,
    /// Correct responses: from the scheduled instant to the complete response.
    pub latency_us: Times,
    /// Correct responses: from sending to the complete response.
    pub service_us: Times,
    /// All requests that were sent: from the scheduled instant to the instant of sending.
    pub lag_us: Times,
    /// How long connections took to open; null if none was opened during the measurement.
    pub connect_us: Option<Times>,
    /// How long TLS handshakes took; null if there were none during the measurement.
    pub handshake_us: Option<Times>,
    /// TLS handshakes that resumed an earlier session.
    pub handshakes_resumed: u64,
    /// What the generator itself used.
    pub generator: GeneratorUse,
    /// One entry per second, by the instant of the response.
    pub seconds: Vec<LoadSecond>,
    /// The first few kinds of failure, in words.
    pub examples: &'a [String],
    /// What each threshold comes to.
    pub thresholds: Vec<ThresholdResult<'a>>,
    /// Whether a signal stopped the load before its end.
    pub interrupted: bool,
}

/// Requests and responses per second.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Scheduled requests per second.
    pub offered: f64,
    /// Correct responses per second.
    pub achieved: f64,
}

/// A distribution of times, in microseconds. A quantile is null if there are too few samples.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// The minimum.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
    /// The maximum.
    pub max: f64,
    /// The median.
    pub p50: Option<f64>,
    /// The 75th percentile.
    pub p75: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p99_9: Option<f64>,
    /// The 99.99th percentile.
    pub p99_99: Option<f64>,
}

/// What faceoff's own generator used.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorUse {
    /// The number of event loops.
    pub threads: u32,
    /// CPU time of the event loops.
    pub cpu_s: f64,
    /// The part of `cpu_s` that was spent polling, in order not to oversleep.
    pub spun_s: f64,
    /// Peak resident memory of the whole process.
    pub peak_rss_bytes: u64,
    /// The most requests in flight.
    pub in_flight_max: u64,
    /// The most requests in flight that the load allows.
    pub in_flight_limit: u64,
    /// Connections opened during the measurement. A closed load counts those opened before it too.
    pub connections_opened: u64,
    /// Retries of requests that got no response on their connection. docs/guide/protocol.md says
    /// when a request is retried.
    pub retried: u64,
}

/// One second of a load. Times are latencies in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadSecond {
    /// Correct responses.
    pub correct: u64,
    /// Failed and declined requests.
    pub not_correct: u64,
    /// The median; null from too few samples.
    pub p50_us: Option<f64>,
    /// The 99th percentile; null from too few samples.
    pub p99_us: Option<f64>,
    /// The maximum; null without samples.
    pub max_us: Option<f64>,
}

/// What a threshold comes to.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThresholdResult<'a> {
    /// The threshold as it was written.
    pub threshold: &'a str,
    /// The measured value: `p(99)=61.2ms`.
    pub found: &'a str,
    /// Whether it holds.
    pub kept: bool,
}

/// What `faceoff load --driver NAME --format json` prints.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalLoadReport<'a> {
    /// [`EXTERNAL_LOAD_SCHEMA`].
    pub schema: &'static str,
    /// The generator.
    pub driver: Driver,
    /// Its command-line arguments.
    pub arguments: &'a [String],
    /// The load, in words.
    pub load: String,
    /// The figures that it printed. faceoff measured none of them.
    pub reported: ReportedFigures,
    /// What it used, sampled by faceoff.
    pub cost: GeneratorCost,
    /// How its load differs from faceoff's load of the same description, in sentences.
    pub differs: &'a [String],
}

/// The figures that another generator printed. One that it does not print is null.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedFigures {
    /// The number of requests.
    pub requests: Option<f64>,
    /// Requests per second.
    pub rate_per_s: Option<f64>,
    /// The number of failed requests.
    pub errors: Option<f64>,
    /// The failed requests as a share of all, from 0 to 1.
    pub error_share: Option<f64>,
    /// Further text that it printed, by its name there.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub other: Map<String, Value>,
    /// How long requests took.
    pub latency_us: ReportedTimes,
}

/// The times that another generator printed, in microseconds. One that it does not print is null.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedTimes {
    /// The minimum.
    pub min: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
    /// The quantiles that it printed, by their name: `p99`.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, f64>"))]
    pub quantiles: Map<String, Value>,
}

/// What another generator used.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorCost {
    /// Its CPU time.
    pub cpu_s: f64,
    /// Its CPU time per request, in microseconds; null if it does not print how many it made.
    pub cpu_us_per_request: Option<f64>,
    /// Its maximum resident memory.
    pub rss_max_bytes: u64,
    /// Its maximum number of threads.
    pub threads_max: u64,
}
