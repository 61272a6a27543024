//! The metrics by which contenders are compared.
//!
//! The table has one row for each metric: its names, its unit, what it belongs to, how it is
//! compared, and the words for its ratios. To add one, add a row, and say in `judge`'s `readings.rs`
//! which value a trial gives.

use crate::units::show_number;
use serde::{Deserialize, Serialize};

/// How a metric is shown and compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// Its name in files.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// Its name for a narrow table.
    pub short_label: &'static str,
    /// The unit of shown values.
    pub unit: &'static str,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// What it belongs to.
    pub of: Subject,
    /// Whether it is compared by difference instead of ratio, because it can be zero.
    pub by_difference: bool,
    /// The words for its ratios.
    pub words: Words,
}

/// What a metric belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The requests of a cell, as the load generator sees them.
    Requests,
    /// The latencies of a cell, which a lagging generator would invalidate.
    Latency,
    /// The contender's processes during a cell. Unknown for one that was already running.
    Process,
    /// The start of the contender's processes. Unknown for one that was already running.
    Start,
}

/// The directions of an amount: below a ratio of 1, and above.
pub const AMOUNT: [&str; 2] = ["less", "more"];
/// The directions of a time.
const SPEED: [&str; 2] = ["faster", "slower"];

/// The words for a ratio, as in `uses 10 % less memory`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Words {
    /// What the contender does.
    pub verb: &'static str,
    /// For a ratio below 1.
    pub lower: &'static str,
    /// For a ratio above 1.
    pub higher: &'static str,
    /// Both directions next to the name of the metric.
    pub short: [&'static str; 2],
    /// What follows either.
    pub where_: &'static str,
    /// For a ratio that is shown as 1.
    pub same: &'static str,
}

/// Words for an amount.
const fn amount(
    verb: &'static str,
    [lower, higher]: [&'static str; 2],
    same: &'static str,
) -> Words {
    Words { verb, lower, higher, short: AMOUNT, where_: "", same }
}

/// Words for a time.
const fn speed(verb: &'static str, where_: &'static str, same: &'static str) -> Words {
    let [lower, higher] = SPEED;
    Words { verb, lower, higher, short: SPEED, where_, same }
}

/// Makes the enum, the list of all metrics and the row of each from the same lines.
macro_rules! table {
    ($($(#[$doc:meta])* $metric:ident { $($field:ident: $value:expr,)* })*) => {
        /// A quantity of a measurement, or of a trial's start.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum Metric {
            $($(#[$doc])* $metric,)*
        }

        impl Metric {
            /// All metrics, in reading order.
            pub const ALL: [Metric; [$(Metric::$metric),*].len()] = [$(Metric::$metric),*];

            /// Returns how it is shown and compared.
            pub const fn describe(self) -> Description {
                match self {
                    $(Metric::$metric => Description { $($field: $value,)* },)*
                }
            }
        }
    };
}

table! {
    /// Correct responses per second.
    Throughput {
        name: "throughput",
        label: "correct responses per second",
        short_label: "requests/s",
        unit: "/s",
        lower_is_better: false,
        of: Subject::Requests,
        by_difference: false,
        words: amount("handles", ["fewer requests per second", "more requests per second"], "as many requests per second"),
    }
    /// The most users, or the highest rate, at which the cell's service level holds.
    Capacity {
        name: "capacity",
        label: "capacity",
        short_label: "capacity",
        unit: "",
        lower_is_better: false,
        of: Subject::Requests,
        by_difference: false,
        words: amount("carries", ["less load", "more load"], "as much load"),
    }
    /// Mean latency.
    LatencyMean {
        name: "latency_mean",
        label: "mean latency",
        short_label: "mean latency",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Latency,
        by_difference: false,
        words: speed("is", " on average", "as fast on average"),
    }
    /// Population standard deviation of latency.
    LatencyDeviation {
        name: "latency_deviation",
        label: "standard deviation of latency",
        short_label: "latency std dev",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Latency,
        by_difference: false,
        words: amount("has", ["less variation in latency", "more variation in latency"], "as much variation in latency"),
    }
    /// Median latency.
    LatencyP50 {
        name: "latency_p50",
        label: "median latency",
        short_label: "p50 latency",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Latency,
        by_difference: false,
        words: speed("is", " at the median", "as fast at the median"),
    }
    /// 95th percentile of latency.
    LatencyP95 {
        name: "latency_p95",
        label: "95th percentile of latency",
        short_label: "p95 latency",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Latency,
        by_difference: false,
        words: speed("is", " at the 95th percentile", "as fast at the 95th percentile"),
    }
    /// 99th percentile of latency.
    LatencyP99 {
        name: "latency_p99",
        label: "99th percentile of latency",
        short_label: "p99 latency",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Latency,
        by_difference: false,
        words: speed("is", " at the 99th percentile", "as fast at the 99th percentile"),
    }
    /// Maximum latency.
    LatencyMax {
        name: "latency_max",
        label: "maximum latency",
        short_label: "max latency",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Latency,
        by_difference: false,
        words: amount("has a", ["lower maximum latency", "higher maximum latency"], "maximum latency as high"),
    }
    /// CPU time of the whole process tree per correct response.
    CpuPerRequest {
        name: "cpu_per_request",
        label: "CPU per request",
        short_label: "CPU per request",
        unit: "µs",
        lower_is_better: true,
        of: Subject::Process,
        by_difference: false,
        words: amount("uses", ["less CPU per request", "more CPU per request"], "as much CPU per request"),
    }
    /// Maximum resident memory of the process tree during the measurement.
    Memory {
        name: "memory",
        label: "memory",
        short_label: "memory",
        unit: "MB",
        lower_is_better: true,
        of: Subject::Process,
        by_difference: false,
        words: amount("uses", ["less memory", "more memory"], "as much memory"),
    }
    /// Maximum number of threads of the process tree during the measurement.
    Threads {
        name: "threads",
        label: "OS threads",
        short_label: "threads",
        unit: "",
        lower_is_better: true,
        of: Subject::Process,
        by_difference: false,
        words: amount("uses", ["fewer threads", "more threads"], "as many threads"),
    }
    /// Energy of the processor packages, of the whole machine, per correct response.
    EnergyPerRequest {
        name: "energy_per_request",
        label: "energy per request",
        short_label: "energy per req.",
        unit: "µJ",
        lower_is_better: true,
        of: Subject::Process,
        by_difference: false,
        words: amount("uses", ["less energy per request", "more energy per request"], "as much energy per request"),
    }
    /// Time from the start of the process to its first correct response.
    StartUp {
        name: "start_up",
        label: "start to first correct response",
        short_label: "start-up",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Start,
        by_difference: false,
        words: speed("starts", "", "as fast"),
    }
    /// Time from the request for several replicas, when one responds, until all have given a
    /// correct response.
    ScaleOut {
        name: "scale_out",
        label: "scale-out until all replicas respond",
        short_label: "scale-out",
        unit: "ms",
        lower_is_better: true,
        of: Subject::Start,
        by_difference: false,
        words: speed("scales out", "", "as fast"),
    }
    /// Share of the requests that got no correct response and were not declined.
    FailedShare {
        name: "failed_share",
        label: "failed requests",
        short_label: "failed",
        unit: "%",
        lower_is_better: true,
        of: Subject::Requests,
        by_difference: true,
        words: amount("fails", ["fewer requests", "more requests"], "as many requests"),
    }
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

    /// Returns its name for a narrow table.
    pub fn short_label(self) -> &'static str {
        self.describe().short_label
    }

    /// Returns the metric with a name.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|m| m.describe().name == name)
    }

    /// Returns whether it is about the contender's process. It is then unknown for a contender that
    /// was already running and is not started by faceoff.
    pub fn is_of_process(self) -> bool {
        matches!(self.describe().of, Subject::Process | Subject::Start)
    }

    /// Returns whether it belongs to the whole trial, not to a cell.
    pub fn is_of_trial(self) -> bool {
        self.describe().of == Subject::Start
    }

    /// Returns whether it is a latency, which a lagging generator would invalidate.
    pub fn is_latency(self) -> bool {
        self.describe().of == Subject::Latency
    }
}
