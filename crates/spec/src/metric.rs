//! The metrics by which contenders are compared.
//!
//! [`Metric::describe`] has one row for each metric: its name in files, its label, its unit, and
//! how it is compared. Start there to add one.

use crate::units::show_number;
use serde::{Deserialize, Serialize};

/// A quantity of a measurement, or of a trial's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Correct responses per second.
    Throughput,
    /// The most users, or the highest rate, at which the cell's service level holds.
    Capacity,
    /// Mean latency.
    LatencyMean,
    /// Population standard deviation of latency.
    LatencyDeviation,
    /// Median latency.
    LatencyP50,
    /// 95th percentile of latency.
    LatencyP95,
    /// 99th percentile of latency.
    LatencyP99,
    /// Maximum latency.
    LatencyMax,
    /// CPU time of the whole process tree per correct response.
    CpuPerRequest,
    /// Maximum resident memory of the process tree during the measurement.
    Memory,
    /// Maximum number of threads of the process tree during the measurement.
    Threads,
    /// Time from the start of the process to its first correct response.
    StartUp,
    /// Time from the request for several replicas, when one responds, until all have given a
    /// correct response.
    ScaleOut,
    /// Share of the requests that got no correct response and were not declined.
    FailedShare,
}

/// How a metric is shown and compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// Its name in files.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// The unit of shown values.
    pub unit: &'static str,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// Whether it belongs to the whole trial, not to a cell.
    pub of_trial: bool,
    /// Whether it is compared by difference instead of ratio, because it can be zero.
    pub by_difference: bool,
}

impl Metric {
    /// Returns the share of responses above a quantile; `None` for a metric that is not a quantile.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Metric::LatencyP50 => Some(0.5),
            Metric::LatencyP95 => Some(0.95),
            Metric::LatencyP99 => Some(0.99),
            _ => None,
        }
    }

    /// Shows a value with its unit: `0.412 ms`, `42` threads.
    pub fn show(self, value: f64) -> String {
        let number = match self {
            Metric::Threads if value.fract() == 0.0 => format!("{value:.0}"),
            _ => show_number(value),
        };
        format!("{number} {}", self.describe().unit).trim_end().to_owned()
    }

    /// All metrics, in reading order.
    pub const ALL: [Metric; 14] = [
        Metric::Throughput,
        Metric::Capacity,
        Metric::LatencyMean,
        Metric::LatencyDeviation,
        Metric::LatencyP50,
        Metric::LatencyP95,
        Metric::LatencyP99,
        Metric::LatencyMax,
        Metric::CpuPerRequest,
        Metric::Memory,
        Metric::Threads,
        Metric::StartUp,
        Metric::ScaleOut,
        Metric::FailedShare,
    ];

    /// Returns how it is shown and compared.
    pub const fn describe(self) -> Description {
        let (name, label, unit, lower_is_better) = match self {
            Metric::Throughput => ("throughput", "correct responses per second", "/s", false),
            Metric::Capacity => ("capacity", "capacity", "", false),
            Metric::LatencyMean => ("latency_mean", "mean latency", "ms", true),
            Metric::LatencyDeviation => {
                ("latency_deviation", "standard deviation of latency", "ms", true)
            }
            Metric::LatencyP50 => ("latency_p50", "median latency", "ms", true),
            Metric::LatencyP95 => ("latency_p95", "95th percentile of latency", "ms", true),
            Metric::LatencyP99 => ("latency_p99", "99th percentile of latency", "ms", true),
            Metric::LatencyMax => ("latency_max", "maximum latency", "ms", true),
            Metric::CpuPerRequest => ("cpu_per_request", "CPU per request", "µs", true),
            Metric::Memory => ("memory", "memory", "MB", true),
            Metric::Threads => ("threads", "OS threads", "", true),
            Metric::StartUp => ("start_up", "start to first correct response", "ms", true),
            Metric::ScaleOut => ("scale_out", "scale-out until all replicas respond", "ms", true),
            Metric::FailedShare => ("failed_share", "failed requests", "%", true),
        };
        Description {
            name,
            label,
            unit,
            lower_is_better,
            of_trial: matches!(self, Metric::StartUp | Metric::ScaleOut),
            by_difference: matches!(self, Metric::FailedShare),
        }
    }

    /// Returns its name for a narrow table.
    pub fn short_label(self) -> &'static str {
        match self {
            Metric::Throughput => "requests/s",
            Metric::Capacity => "capacity",
            Metric::LatencyMean => "mean latency",
            Metric::LatencyDeviation => "latency std dev",
            Metric::LatencyP50 => "p50 latency",
            Metric::LatencyP95 => "p95 latency",
            Metric::LatencyP99 => "p99 latency",
            Metric::LatencyMax => "max latency",
            Metric::CpuPerRequest => "CPU per request",
            Metric::Memory => "memory",
            Metric::Threads => "threads",
            Metric::StartUp => "start-up",
            Metric::ScaleOut => "scale-out",
            Metric::FailedShare => "failed",
        }
    }

    /// Returns the metric with a name.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|m| m.describe().name == name)
    }

    /// Returns whether it is about the contender's process. It is then unknown for a contender that
    /// was already running and is not started by faceoff.
    pub fn is_of_process(self) -> bool {
        matches!(
            self,
            Metric::CpuPerRequest
                | Metric::Memory
                | Metric::Threads
                | Metric::StartUp
                | Metric::ScaleOut
        )
    }

    /// Returns whether it is a latency, which a lagging generator would invalidate.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Metric::LatencyMean
                | Metric::LatencyDeviation
                | Metric::LatencyP50
                | Metric::LatencyP95
                | Metric::LatencyP99
                | Metric::LatencyMax
        )
    }
}
