//! What each agent did of a load, and how well it followed its orders.
//!
//! Agents on several machines must start together and keep to the schedule. Otherwise a latency may
//! be the agent's own delay, not the contender's. [`AgentReport::doubts`] lists such reasons; the
//! judge turns them into faults.

use crate::Counts;
use serde::{Deserialize, Serialize};
use spec::units::{show_share, show_short};

/// The most that clocks may be uncertain or apart, and that a start may be late.
const APART_MAX_NS: u64 = 1_000_000;
/// A median lag below this is never the agent's fault. The clock and a wake-up cost as much.
const LAG_FLOOR_NS: u64 = 50_000;
/// The event loops of an agent may use this share of their CPUs.
const BUSY_MAX: f64 = 0.90;

/// What one agent did of a load, and how well it followed its orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentReport {
    /// Its name: `host:port`; for an agent in a pod, its number and node.
    pub name: String,
    /// The number of its first event loop, from 0.
    pub first_loop: u32,
    /// The number of its event loops.
    pub loops: u32,
    /// The number of event loops of all agents. Each made an equal share of the load.
    pub loops_of_all: u32,
    /// How far its clock was ahead of the coordinator's, before the load.
    pub offset_ns: i64,
    /// The largest possible error of that offset.
    pub offset_error_ns: u64,
    /// How far the clocks drifted apart during the load, as far as that is certain.
    pub drift_ns: u64,
    /// How late it started.
    pub late_ns: u64,
    /// The outcomes of its requests.
    pub counts: Counts,
    /// CPU time of its event loops, as a share of the time of their CPUs.
    pub busy_share: f64,
    /// The median delay between the scheduled instant of a request and its start.
    pub lag_p50_ns: u64,
    /// The median latency.
    pub latency_p50_ns: u64,
    /// Whether its limit in flight was reached at times. Requests then waited for the server, not
    /// for the agent.
    pub was_full: bool,
}

/// How an agent failed to follow its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It started at another instant than the others, or this cannot be ruled out.
    Start,
    /// It sent its requests late.
    Lag,
    /// It had no CPU time to spare.
    Busy,
}

impl AgentReport {
    /// Returns the reasons why its figures may be its own doing. Each text begins with its name.
    pub fn doubts(&self) -> Vec<(Doubt, String)> {
        let show = |ns: u64| show_short(ns as f64);
        let lags = self.lag_p50_ns > LAG_FLOOR_NS
            && self.lag_p50_ns.saturating_mul(10) > self.latency_p50_ns
            && !self.was_full;
        let doubts = [
            (
                Doubt::Start,
                self.offset_error_ns > APART_MAX_NS,
                format!("its clock is only known to within {}", show(self.offset_error_ns)),
            ),
            (
                Doubt::Start,
                self.drift_ns > APART_MAX_NS,
                format!("its clock drifted {} from ours", show(self.drift_ns)),
            ),
            (
                Doubt::Start,
                self.late_ns > APART_MAX_NS,
                format!("it began {} late", show(self.late_ns)),
            ),
            (
                Doubt::Lag,
                lags,
                "half of its requests left late by a tenth of their latency or more".into(),
            ),
            (
                Doubt::Busy,
                self.busy_share > BUSY_MAX,
                format!("it was busy for {} of the time", show_share(self.busy_share)),
            ),
        ];
        let found = doubts.into_iter().filter(|(_, is_so, _)| *is_so);
        found.map(|(doubt, _, what)| (doubt, format!("agent {}: {what}", self.name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn kept() -> AgentReport {
        AgentReport {
            name: "there:1".into(),
            first_loop: 0,
            loops: 1,
            loops_of_all: 1,
            offset_ns: -5,
            offset_error_ns: MS / 10,
            drift_ns: 0,
            late_ns: MS / 10,
            counts: Counts::default(),
            busy_share: 0.5,
            lag_p50_ns: MS / 100,
            latency_p50_ns: MS,
            was_full: false,
        }
    }

    #[test]
    fn only_an_agent_that_broke_its_orders_is_doubted() {
        assert!(kept().doubts().is_empty());
        let doubted = |agent: AgentReport, doubt: Doubt, why: &str| {
            let doubts = agent.doubts();
            let is_it = |(of, text): &(Doubt, String)| {
                *of == doubt && text.starts_with("agent there:1: ") && text.contains(why)
            };
            assert!(matches!(&doubts[..], [only] if is_it(only)), "{why}: {doubts:?}");
        };
        doubted(AgentReport { offset_error_ns: 2 * MS, ..kept() }, Doubt::Start, "known to");
        doubted(AgentReport { drift_ns: 2 * MS, ..kept() }, Doubt::Start, "drifted");
        doubted(AgentReport { late_ns: 2 * MS, ..kept() }, Doubt::Start, "late");
        doubted(AgentReport { busy_share: 0.95, ..kept() }, Doubt::Busy, "95 %");
        let lagging = AgentReport { lag_p50_ns: MS / 5, ..kept() };
        doubted(lagging.clone(), Doubt::Lag, "half of its requests");
        assert!(
            AgentReport { was_full: true, ..lagging.clone() }.doubts().is_empty(),
            "they waited for the server"
        );
        assert!(
            AgentReport { latency_p50_ns: 100 * MS, ..lagging }.doubts().is_empty(),
            "it hardly shows"
        );
    }
}
