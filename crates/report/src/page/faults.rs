//! Faults, as the report shows them.

use crate::wording::findings;
use record::judgement::Judgement;
use serde::Serialize;

/// A reason not to use a measurement, with its evidence.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Fault {
    kind: String,
    /// `block 3, nginx, cell closed-64`
    r#where: String,
    evidence: String,
    hint: String,
}

/// The number of faults of one kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct FaultCount {
    kind: String,
    count: usize,
}

/// The faults in the order of the judgement.
pub(super) fn faults(judgement: &Judgement) -> Vec<Fault> {
    let all = judgement.faults.iter().map(|fault| Fault {
        kind: fault.kind.clone(),
        r#where: fault.place.clone(),
        evidence: fault.evidence.clone(),
        hint: fault.hint.clone(),
    });
    all.collect()
}

/// The number of faults of each kind, most frequent first.
pub(super) fn fault_counts(judgement: &Judgement) -> Vec<FaultCount> {
    let counts = findings::fault_counts(&judgement.faults).into_iter();
    counts.map(|(kind, count)| FaultCount { kind: kind.to_owned(), count }).collect()
}
