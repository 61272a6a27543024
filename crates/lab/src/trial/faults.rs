//! Failures and faults that a trial records.

use crate::agents::agent_lost;
use record::{CellFault, Failure, Fault};
use runner::process::LOG_LINES;
use runner::start::Running;
use spec::experiment::Cell;

/// The failure of a contender that has ended; `None` while it runs.
pub(crate) fn ended(running: &mut Running, stage: &str) -> Option<Failure> {
    let status = running.ended()?;
    Some(Failure {
        stage: stage.into(),
        cause: format!("it ended with {status}"),
        log: running.last_lines(LOG_LINES),
    })
}

/// The fault of a cell whose load could not be made.
pub(crate) fn not_made(cell: &Cell, cause: &str) -> CellFault {
    let fault = Fault {
        kind: "generator".into(),
        evidence: cause.into(),
        hint: "fix this cause, then run again".into(),
    };
    CellFault { cell: cell.name.clone(), fault }
}

/// The fault of a cell whose load was not made because an agent was lost.
pub(crate) fn agent_lost_in(cell: &Cell, cause: &str) -> Fault {
    agent_lost(&format!("cell {}", cell.name), cause)
}
