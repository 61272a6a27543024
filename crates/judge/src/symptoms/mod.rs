//! Causes that the shape of the data shows, such as a full connection pool.
//!
//! Each file has one [`Detector`]: its texts, and a pure function of what one contender did in one
//! cell (`finding::Seen`). The table in docs/guide/symptoms.md is generated from them. A symptom
//! decides nothing. Start with [`DETECTORS`]. To add one, write its file and list it there.

mod connect_steps;
mod connection_churn;
mod cpu_throttled;
mod delayed_ack;
mod finding;
mod gc_pauses;
mod log_on_hot_path;
mod one_core;
mod pool_exhausted;

pub use finding::Detector;

use finding::Seen;
use record::Record;
use record::judgement::Symptom;

/// Every kind of symptom, in reading order.
pub static DETECTORS: [&Detector; 8] = [
    &delayed_ack::DETECTOR,
    &pool_exhausted::DETECTOR,
    &connect_steps::DETECTOR,
    &gc_pauses::DETECTOR,
    &cpu_throttled::DETECTOR,
    &one_core::DETECTOR,
    &connection_churn::DETECTOR,
    &log_on_hot_path::DETECTOR,
];

/// Finds every symptom of a record: at most one of a kind for each contender and cell.
pub(crate) fn find_symptoms(record: &Record) -> Vec<Symptom> {
    let mut symptoms = Vec::new();
    for participant in &record.header.contenders {
        for cell in &record.header.experiment.cells {
            let seen = Seen::of_cell(record, &participant.name, cell);
            symptoms.extend(DETECTORS.iter().filter_map(|detector| {
                let finding = (detector.find)(&seen)?;
                Some(Symptom {
                    kind: detector.kind.into(),
                    contender: participant.name.clone(),
                    cell: Some(cell.name.clone()),
                    sentence: finding.sentence,
                    hint: detector.hint.into(),
                    picture: finding.picture,
                })
            }));
        }
    }
    symptoms
}
