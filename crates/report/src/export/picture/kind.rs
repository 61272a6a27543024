//! The charts that can be exported, with their names, titles and explanations.

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// Contender against baseline: an interval for each claim and cell, or for each verdict.
    Verdicts,
    /// Every metric over the levels of a swept parameter.
    Sweeps,
    /// How often each level was kept in the search for a capacity.
    Capacities,
    /// Latency by quantile.
    Quantiles,
    /// What each factor adds, if factors are crossed.
    Effects,
    /// From the start of each process to its first correct response.
    Starts,
    /// How each start warmed up.
    WarmUp,
    /// Each trial from the start of its process to its end.
    Trials,
    /// Correct responses by second.
    Rate,
    /// Median latency by second.
    LatencyP50,
    /// 99th percentile of latency by second.
    LatencyP99,
    /// Maximum latency by second.
    LatencyMax,
    /// Latency by second and trial, as steps from light to dark.
    Heat,
    /// CPU time over time.
    Cpu,
    /// Memory over time.
    Memory,
    /// Threads over time.
    Threads,
    /// Open descriptors over time.
    Descriptors,
    /// The evidence of symptoms.
    Symptoms,
}

impl Chart {
    /// Every chart.
    pub const ALL: [Chart; 18] = [
        Chart::Verdicts,
        Chart::Sweeps,
        Chart::Capacities,
        Chart::Quantiles,
        Chart::Effects,
        Chart::Starts,
        Chart::WarmUp,
        Chart::Trials,
        Chart::Rate,
        Chart::LatencyP50,
        Chart::LatencyP99,
        Chart::LatencyMax,
        Chart::Heat,
        Chart::Cpu,
        Chart::Memory,
        Chart::Threads,
        Chart::Descriptors,
        Chart::Symptoms,
    ];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Chart::Verdicts => "verdicts",
            Chart::Sweeps => "sweeps",
            Chart::Capacities => "capacities",
            Chart::Quantiles => "quantiles",
            Chart::Effects => "effects",
            Chart::Starts => "starts",
            Chart::WarmUp => "warm-up",
            Chart::Trials => "trials",
            Chart::Rate => "rate",
            Chart::LatencyP50 => "latency-p50",
            Chart::LatencyP99 => "latency-p99",
            Chart::LatencyMax => "latency-max",
            Chart::Heat => "heat",
            Chart::Cpu => "cpu",
            Chart::Memory => "memory",
            Chart::Threads => "threads",
            Chart::Descriptors => "descriptors",
            Chart::Symptoms => "symptoms",
        }
    }

    /// Returns the chart of a name.
    pub fn named(name: &str) -> Option<Chart> {
        Chart::ALL.into_iter().find(|chart| chart.name() == name)
    }

    /// Returns whether it shows metrics, of which some can be chosen.
    pub fn has_metrics(self) -> bool {
        matches!(self, Chart::Verdicts | Chart::Sweeps | Chart::Effects)
    }

    /// Returns its title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Chart::Verdicts => "Contenders against the baseline",
            Chart::Sweeps => "Metrics over swept parameters",
            Chart::Capacities => "Capacity of each contender",
            Chart::Quantiles => "Latency by quantile",
            Chart::Effects => "What each factor adds",
            Chart::Starts => "Starts",
            Chart::WarmUp => "Warm-up",
            Chart::Trials => "Each trial, from the start of its process",
            Chart::Rate => "Correct responses over time",
            Chart::LatencyP50 => "Median latency over time",
            Chart::LatencyP99 => "99th percentile of latency over time",
            Chart::LatencyMax => "Maximum latency over time",
            Chart::Heat => "Latency by second and trial",
            Chart::Cpu => "CPU over time",
            Chart::Memory => "Memory over time",
            Chart::Threads => "Threads over time",
            Chart::Descriptors => "Open descriptors over time",
            Chart::Symptoms => "Symptoms",
        }
    }

    /// Returns the text below it that explains how to read it.
    pub(super) fn note(self) -> &'static str {
        match self {
            Chart::Verdicts | Chart::Symptoms | Chart::Heat => "",
            Chart::Trials => {
                "Medians: of windows of the warm-up, then of each second of each cell. "
            }
            Chart::Sweeps => {
                "Bars: intervals over blocks, each by itself. A dashed upright marks a sure crossing. "
            }
            Chart::Capacities => {
                "At 50 %: capacities with their intervals over blocks. Small marks: probes, at the top if they kept the service level, at the bottom if not. "
            }
            Chart::Quantiles => "From all trials that verdicts use. ",
            Chart::Effects => "An interval that contains 0 may be no effect at all. ",
            Chart::Starts => "Hollow: a start that no verdict uses. ",
            _ => "One line for each trial; dotted with hollow marks: no verdict uses it. ",
        }
    }
}
