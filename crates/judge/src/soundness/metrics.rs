//! Sets of metrics that a fault may invalidate.

use spec::metric::Metric;

pub(super) fn everything(_: Metric) -> bool {
    true
}

pub(super) fn nothing(_: Metric) -> bool {
    false
}

pub(super) fn latency(metric: Metric) -> bool {
    metric.is_latency()
}

pub(super) fn tail(metric: Metric) -> bool {
    matches!(metric, Metric::LatencyP99 | Metric::LatencyMax | Metric::LatencyDeviation)
}

pub(super) fn speed(metric: Metric) -> bool {
    metric.is_latency() || matches!(metric, Metric::Throughput | Metric::Capacity)
}

pub(super) fn speed_and_cost(metric: Metric) -> bool {
    speed(metric) || matches!(metric, Metric::CpuPerRequest | Metric::EnergyPerRequest)
}

/// The counters of energy are of the whole machine, so they include other programs.
pub(super) fn speed_and_energy(metric: Metric) -> bool {
    speed(metric) || metric == Metric::EnergyPerRequest
}

pub(super) fn speed_and_failures(metric: Metric) -> bool {
    speed(metric) || metric == Metric::FailedShare
}

pub(super) fn starts(metric: Metric) -> bool {
    matches!(metric, Metric::StartUp | Metric::ScaleOut)
}
