//! Whether each agent made its part of the load as planned. The thresholds are next to the readings
//! that an agent reports (`AgentReport::doubts`).

use super::seen::{Found, Seen, found};
use record::{AgentReport, Doubt};

/// Lists all agents about which there is the same doubt, by their names.
fn doubted(seen: &Seen<'_>, doubt: Doubt, hint: &str) -> Option<Found> {
    let doubts = seen.measurement.generator.agents.iter().flat_map(AgentReport::doubts);
    let texts: Vec<String> = doubts.filter(|(of, _)| *of == doubt).map(|(_, text)| text).collect();
    if texts.is_empty() {
        return None;
    }
    found(texts.join("; "), hint)
}

pub(super) fn cpu(seen: &Seen<'_>) -> Option<Found> {
    doubted(
        seen,
        Doubt::Busy,
        "name more agents, let them run more threads (`-t`), or offer less load",
    )
}

pub(super) fn lag(seen: &Seen<'_>) -> Option<Found> {
    doubted(seen, Doubt::Lag, "end other programs on the agent's machine, or name more agents")
}

pub(super) fn start(seen: &Seen<'_>) -> Option<Found> {
    doubted(
        seen,
        Doubt::Start,
        "use agents closer to this machine, and end other programs on theirs",
    )
}
