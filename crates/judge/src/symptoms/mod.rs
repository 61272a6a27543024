//! Causes that the shape of the data shows, such as a full connection pool.
//!
//! Each detector is a pure function of what one contender did in one cell (`finding::Seen`).
//! docs/guide/symptoms.md lists thresholds and likely causes. A symptom decides nothing. Start
//! with [`find_symptoms`].

mod connect_steps;
mod connection_churn;
mod cpu_throttled;
mod delayed_ack;
mod finding;
mod gc_pauses;
mod log_on_hot_path;
mod one_core;
mod pool_exhausted;

use finding::Seen;
use record::Record;
use record::judgement::Symptom;

/// Finds every symptom of a record: at most one of a kind for each contender and cell.
pub(crate) fn find_symptoms(record: &Record) -> Vec<Symptom> {
    let detectors = [
        delayed_ack::find,
        pool_exhausted::find,
        connect_steps::find,
        gc_pauses::find,
        cpu_throttled::find,
        one_core::find,
        connection_churn::find,
        log_on_hot_path::find,
    ];
    let mut symptoms = Vec::new();
    for participant in &record.header.contenders {
        for cell in &record.header.experiment.cells {
            let seen = Seen::of_cell(record, &participant.name, cell);
            symptoms.extend(detectors.iter().filter_map(|find| find(&seen)).map(|finding| {
                Symptom {
                    kind: finding.kind.into(),
                    contender: participant.name.clone(),
                    cell: Some(cell.name.clone()),
                    sentence: finding.sentence,
                    hint: finding.hint.into(),
                    picture: finding.picture,
                }
            }));
        }
    }
    symptoms
}
