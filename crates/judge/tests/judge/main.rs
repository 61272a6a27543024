//! What the judge concludes from records and articles, on made-up records with known answers.
//!
//! Start with `made_up.rs`, which makes the records, and `verdicts.rs`.

mod audit;
mod capacities;
mod causes;
mod checks;
mod claims;
mod costs;
mod durability;
mod effects;
mod energy;
mod external_generators;
mod fault_kinds;
mod history;
mod load_shortfall;
mod made_up;
mod profiled;
mod ratios;
mod readings;
mod replayed;
mod restraint;
mod self_comparison;
mod soundness;
mod stationarity;
mod sweeps;
mod symptoms;
mod twins;
mod verdicts;
mod worked_example;

use made_up::name;
use record::{CellFault, Fault, Record};

/// Adds a fault to the measurements of a contender's first `n` trials.
fn faulty(record: &mut Record, contender: &str, kind: &str, n: usize) {
    let trials = record.trials.iter_mut().filter(|t| t.contender == name(contender)).take(n);
    trials.for_each(|t| {
        t.measurements[0].faults.push(Fault {
            kind: kind.into(),
            evidence: "e".into(),
            hint: "h".into(),
        })
    });
}

/// Makes the fault of a cell whose load could not be made.
fn not_made(cell: &str, cause: &str) -> CellFault {
    let fault = Fault { kind: "generator".into(), evidence: cause.into(), hint: "h".into() };
    CellFault { cell: cell.into(), fault }
}
