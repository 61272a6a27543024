//! Which metrics a cell has, and which of them its load dictates.
//!
//! A judgement skips metrics that a cell cannot have, and explains those that its load fixes.

use super::Cell;
use crate::metric::Metric;

impl Metric {
    /// Returns whether a cell has this metric. A search for a capacity has nothing else, and a cell
    /// that another generator loads has no figures of our own.
    pub fn is_of(self, cell: &Cell) -> bool {
        !self.is_of_trial()
            && cell.driver.is_none()
            && cell.load.capacity().is_some() == (self == Metric::Capacity)
    }

    /// Returns whether this metric follows from the load of a cell. A schedule dictates throughput;
    /// without a schedule latency follows from throughput.
    pub fn follows_from(self, cell: &Cell) -> bool {
        match self {
            Metric::Throughput => cell.load.has_schedule(),
            metric => metric.is_latency() && !cell.load.has_schedule(),
        }
    }

    /// Returns whether a run without claims continues until this metric is settled. These are the
    /// metrics that a user of a service notices first.
    pub fn is_primary(self, cell: Option<&Cell>) -> bool {
        let is_asked_first = matches!(
            self,
            Metric::Throughput
                | Metric::LatencyP50
                | Metric::Capacity
                | Metric::CpuPerRequest
                | Metric::Memory
                | Metric::StartUp
        );
        is_asked_first && cell.is_none_or(|cell| !self.follows_from(cell))
    }
}
