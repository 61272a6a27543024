//! Whether what contenders acknowledged was kept: the looks into the database beside the answers.

use model::judgement::{Disqualified, FaultAt};
use model::name::ContenderName;
use model::record::Record;
use std::collections::BTreeMap;

/// Every disagreement between answers and data, with who and where. Where the database was lost later (the fault `database-lost`), what was
/// seen before stands: nothing is looked into afterwards.
fn found(record: &Record) -> Vec<(&ContenderName, FaultAt)> {
    let mut found = Vec::new();
    for (trial, kept) in record.trials.iter().filter_map(|trial| Some((trial, trial.database.as_ref()?))) {
        for checked in &kept.checks {
            let place = format!("block {}, {}, after {}", trial.block, trial.contender, checked.after);
            let hint = "it is disqualified: what it acknowledges it must keep, once";
            let faults = checked.broken().into_iter();
            found.extend(faults.map(|(kind, evidence)| {
                (&trial.contender, FaultAt { place: place.clone(), kind: kind.into(), evidence, hint: hint.into() })
            }));
        }
    }
    found
}

/// The same as faults.
pub(crate) fn faults(record: &Record) -> impl Iterator<Item = FaultAt> {
    found(record).into_iter().map(|(_, fault)| fault)
}

/// Who did not keep what it acknowledged, or kept it twice, with the first place where that was seen.
pub(crate) fn disqualified(record: &Record) -> Vec<Disqualified> {
    let mut all: BTreeMap<&ContenderName, Vec<FaultAt>> = BTreeMap::new();
    for (contender, fault) in found(record) {
        all.entry(contender).or_default().push(fault);
    }
    all.into_iter()
        .map(|(contender, faults)| {
            let more = if faults.len() > 1 { format!(", and {} more of this kind", faults.len() - 1) } else { String::new() };
            Disqualified { contender: contender.clone(), reason: format!("{} ({}){more}", faults[0].evidence, faults[0].place) }
        })
        .collect()
}
