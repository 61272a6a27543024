//! In how many places a check that is not of a single measurement applies, and in how many it could
//! be made. Each function returns these two numbers.

use record::Record;
use spec::experiment::Load;

/// Contenders that agree by chance are fewer than this.
pub(super) const TIE_FEWEST: usize = 3;

fn trials(record: &Record, applies: bool) -> (usize, usize) {
    if applies { (record.trials.len(), record.trials.len()) } else { (0, 0) }
}

pub(super) fn all_trials(record: &Record, _: usize) -> (usize, usize) {
    trials(record, true)
}

pub(super) fn with_agents(record: &Record, _: usize) -> (usize, usize) {
    trials(record, record.header.experiment.place.agents_asked() > 0)
}

pub(super) fn with_upstream(record: &Record, _: usize) -> (usize, usize) {
    trials(record, record.header.upstream.is_some())
}

pub(super) fn with_database(record: &Record, _: usize) -> (usize, usize) {
    trials(record, record.header.database.is_some())
}

/// Data are checked by querying the database afterwards.
pub(super) fn with_data_checked(record: &Record, compared: usize) -> (usize, usize) {
    let checked = record
        .trials
        .iter()
        .filter(|t| t.database.as_ref().is_some_and(|kept| !kept.checks.is_empty()));
    (with_database(record, compared).0, checked.count())
}

pub(super) fn starts(record: &Record, _: usize) -> (usize, usize) {
    (
        record.trials.len(),
        record.trials.iter().filter(|t| t.host.start_steal_share.is_some()).count(),
    )
}

pub(super) fn closed_cells(record: &Record, _: usize) -> (usize, usize) {
    let closed = record
        .header
        .experiment
        .cells
        .iter()
        .filter(|cell| matches!(cell.load, Load::Closed { .. }))
        .count();
    (closed, if may_tie(record) { closed } else { 0 })
}

/// Whether enough contenders take part for a tie to mean something. The baseline's second self
/// does not count.
fn may_tie(record: &Record) -> bool {
    let others = record.header.contenders.iter().filter(|c| !c.name.is_twin());
    others.count() >= TIE_FEWEST
}
