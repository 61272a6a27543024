//! The list of checks of a record: how many found something, and where each could be made.
//!
//! Start with [`list_checks`]. The row of its kind describes each check ([`FaultKind::row`]). A
//! check that has no readings did not pass: it could not be made, and counts as such.

use super::kinds::FaultKind;
use super::look::{Look, OfMeasurement, OfSearch};
use super::seen::Seen;
use record::Record;
use record::judgement::FaultAt;
use record::soundness::Check;
use std::collections::BTreeSet;

/// Returns all checks of a record with their results, those that found something first. `compared`
/// is how often the baseline was compared with itself.
pub(crate) fn list_checks(record: &Record, faults: &[FaultAt], compared: usize) -> Vec<Check> {
    let seen: Vec<Seen<'_>> = record
        .trials
        .iter()
        .flat_map(|t| &t.measurements)
        .filter_map(|m| Seen::of_measurement(record, m))
        .collect();
    let of_kind = |kind: &FaultKind| {
        let row = kind.row();
        let (of, (all, could)) = match &row.look {
            Look::Measurement(check) => ("measurements", of_measurements(check, &seen)),
            Look::MeasurementOrSearch(check, of_search) => {
                let ((all, could), (searches, could_search)) =
                    (of_measurements(check, &seen), of_searches(of_search, record));
                ("measurements", (all + searches, could + could_search))
            }
            Look::Elsewhere { of, reach } => (*of, reach(record, compared)),
            Look::Apart => return None,
        };
        Some(check(row.name, row.holds, of, (all, could), faults))
    };
    let mut checks: Vec<Check> = FaultKind::ALL.iter().filter_map(of_kind).collect();
    checks.extend(unknown(record, faults));
    checks.retain(|check| check.all > 0 || check.found > 0);
    checks.sort_by_key(|check| std::cmp::Reverse(check.found));
    checks
}

/// Makes a check of the faults of its kind. `could` is at how many of `all` it could be made.
fn check(
    kind: &str,
    what: &str,
    of: &str,
    (all, could): (usize, usize),
    faults: &[FaultAt],
) -> Check {
    let found = faults.iter().filter(|fault| fault.kind == kind).count();
    // An older record holds faults without the readings that show them.
    Check {
        kind: kind.into(),
        what: what.into(),
        of: of.into(),
        all,
        looked_at: could.max(found.min(all)),
        found,
    }
}

/// Faults that another version recorded, so that they do not invalidate everything unnoticed.
fn unknown(record: &Record, faults: &[FaultAt]) -> Vec<Check> {
    let kinds: BTreeSet<&str> = faults
        .iter()
        .map(|fault| fault.kind.as_str())
        .filter(|kind| FaultKind::named(kind).is_none())
        .collect();
    let what = "this version of faceoff knows every kind of fault in the record";
    kinds
        .into_iter()
        .map(|kind| check(kind, what, "trials", (record.trials.len(), 0), faults))
        .collect()
}

fn of_measurements(check: &OfMeasurement, seen: &[Seen<'_>]) -> (usize, usize) {
    let could = |s: &&Seen<'_>| (check.can)(s) || (check.find)(s).is_some();
    (seen.iter().filter(|s| (check.applies)(s)).count(), seen.iter().filter(could).count())
}

fn of_searches(check: &OfSearch, record: &Record) -> (usize, usize) {
    let searches = || record.trials.iter().flat_map(|t| &t.capacities);
    (searches().count(), searches().filter(|searched| (check.can)(searched)).count())
}
