//! Whether each agent did what it was told: thresholds stand with what an agent leaves (`model::agents`).

use super::{Seen, fault};
use model::agents::{Doubt, OfAgent};
use model::record::Fault;

/// All agents of whom the same is doubted, by their names.
fn doubted(seen: &Seen<'_>, doubt: Doubt, kind: &str, hint: &str) -> Option<Fault> {
    let doubts = seen.measurement.generator.agents.iter().flat_map(OfAgent::doubts);
    let told: Vec<String> = doubts.filter(|(of, _)| *of == doubt).map(|(_, text)| text).collect();
    if told.is_empty() {
        return None;
    }
    fault(kind, told.join("; "), hint)
}

pub(super) fn cpu(seen: &Seen<'_>) -> Option<Fault> {
    doubted(seen, Doubt::Busy, "agent-cpu", "name more agents, let them run more threads (`-t`), or offer less load")
}

pub(super) fn lag(seen: &Seen<'_>) -> Option<Fault> {
    doubted(seen, Doubt::Lag, "agent-lag", "end what else runs on the agent's machine, or name more agents")
}

pub(super) fn start(seen: &Seen<'_>) -> Option<Fault> {
    doubted(seen, Doubt::Start, "agent-start", "bring agents nearer to this machine, and end what else runs on theirs")
}
