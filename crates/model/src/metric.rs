//! What contenders are compared by.

use crate::experiment::Cell;
use serde::{Deserialize, Serialize};

/// A quantity of a measurement, or of a trial's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Right answers per second.
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
    /// Longest latency.
    LatencyMax,
    /// CPU time of the whole process tree per right answer.
    CpuPerRequest,
    /// Greatest resident memory of the process tree during the measurement.
    Memory,
    /// Most threads of the process tree during the measurement.
    Threads,
    /// From the start of the process to its first right answer.
    StartUp,
    /// From the instant at which several replicas are asked for, where one answers, until all of them have answered rightly.
    ScaleOut,
    /// Share of the requests made that got no right answer and were not declined.
    FailedShare,
}

/// How a metric is shown and compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// As files spell it.
    pub name: &'static str,
    /// As people read it.
    pub label: &'static str,
    /// The unit values are shown in.
    pub unit: &'static str,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// Whether it belongs to the whole trial rather than to a cell.
    pub of_trial: bool,
    /// Whether it is compared by difference, because it can be zero.
    pub by_difference: bool,
}

impl Metric {
    /// All, in reading order.
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

    /// How it is shown and compared.
    pub const fn describe(self) -> Description {
        let (name, label, unit, lower_is_better) = match self {
            Metric::Throughput => ("throughput", "right answers per second", "/s", false),
            Metric::Capacity => ("capacity", "capacity", "", false),
            Metric::LatencyMean => ("latency_mean", "mean latency", "ms", true),
            Metric::LatencyDeviation => ("latency_deviation", "deviation of latency", "ms", true),
            Metric::LatencyP50 => ("latency_p50", "median latency", "ms", true),
            Metric::LatencyP95 => ("latency_p95", "95th percentile of latency", "ms", true),
            Metric::LatencyP99 => ("latency_p99", "99th percentile of latency", "ms", true),
            Metric::LatencyMax => ("latency_max", "longest latency", "ms", true),
            Metric::CpuPerRequest => ("cpu_per_request", "CPU per request", "µs", true),
            Metric::Memory => ("memory", "memory", "MB", true),
            Metric::Threads => ("threads", "OS threads", "", true),
            Metric::StartUp => ("start_up", "start to first right answer", "ms", true),
            Metric::ScaleOut => ("scale_out", "scale-out until all replicas answer", "ms", true),
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

    /// Whether a cell has it: one whose capacity is looked for has nothing else, and of one that another generator loads there is nothing
    /// that we measured.
    pub fn is_of(self, cell: &Cell) -> bool {
        !self.describe().of_trial && cell.driver.is_none() && cell.load.capacity().is_some() == (self == Metric::Capacity)
    }

    /// The metric of a name.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|m| m.describe().name == name)
    }

    /// Whether it is of the contender's process, and so not known of one that ran already and was only reached.
    pub fn is_of_process(self) -> bool {
        matches!(self, Metric::CpuPerRequest | Metric::Memory | Metric::Threads | Metric::StartUp | Metric::ScaleOut)
    }

    /// Whether it is a latency, and so spoilt by a generator that lags.
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
