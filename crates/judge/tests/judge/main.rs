//! What is judged from records and articles.

mod audit;
mod capacities;
mod effects;
mod history;
mod itself;
mod keeping;
mod made_up;
mod offered;
mod replayed;
mod soundness;
mod sweeps;
mod symptoms;
mod verdicts;
mod witnesses;

use made_up::name;
use model::record::{Fault, Record};

/// The first `n` trials of a contender, with such a fault of its measurement.
fn faulty(record: &mut Record, contender: &str, kind: &str, n: usize) {
    let trials = record.trials.iter_mut().filter(|t| t.contender == name(contender)).take(n);
    trials.for_each(|t| t.measurements[0].faults.push(Fault { kind: kind.into(), evidence: "e".into(), hint: "h".into() }));
}
