//! Whether contenders kept what they acknowledged.
//!
//! After a load, faceoff queries the database and compares its rows with the acknowledged writes.
//! A contender that lost or doubled a write is disqualified: no verdict compares it.

use record::Record;
use record::judgement::{Disqualified, FaultAt};
use spec::name::ContenderName;
use std::collections::BTreeMap;

/// Lists every disagreement between responses and data, with contender and place.
///
/// A database that is lost later (the fault `database-lost`) does not take back what was seen
/// before: nothing is queried after that.
fn disagreements(record: &Record) -> Vec<(&ContenderName, FaultAt)> {
    let hint =
        "the contender is disqualified: it must keep each write that it acknowledges, exactly once";
    let mut found = Vec::new();
    for (trial, kept) in
        record.trials.iter().filter_map(|trial| Some((trial, trial.database.as_ref()?)))
    {
        for checked in &kept.checks {
            let place =
                format!("block {}, {}, after {}", trial.block, trial.contender, checked.after);
            let faults = checked.broken().into_iter().map(|(kind, evidence)| FaultAt {
                place: place.clone(),
                kind: kind.into(),
                evidence,
                hint: hint.into(),
            });
            found.extend(faults.map(|fault| (&trial.contender, fault)));
        }
    }
    found
}

/// Lists the disagreements as faults.
pub(crate) fn durability_faults(record: &Record) -> impl Iterator<Item = FaultAt> {
    disagreements(record).into_iter().map(|(_, fault)| fault)
}

/// Lists the contenders that lost or doubled an acknowledged write, with the first place where that
/// was seen.
pub(crate) fn disqualified(record: &Record) -> Vec<Disqualified> {
    let mut all: BTreeMap<&ContenderName, Vec<FaultAt>> = BTreeMap::new();
    for (contender, fault) in disagreements(record) {
        all.entry(contender).or_default().push(fault);
    }
    all.into_iter()
        .map(|(contender, faults)| {
            let more = match faults.len() - 1 {
                0 => String::new(),
                1 => "; 1 more finding".to_owned(),
                n => format!("; {n} more findings"),
            };
            Disqualified {
                contender: contender.clone(),
                reason: format!("{} ({}){more}", faults[0].evidence, faults[0].place),
            }
        })
        .collect()
}
