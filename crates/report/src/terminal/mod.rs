//! What the terminal shows at the end of a run: the summary, the tables of verdicts, and where CPU
//! time went. Start with [`summary`]; its sections are in `sections.rs` and `costs.rs`, the tables
//! in `tables.rs` and `why.rs`.

mod costs;
mod sections;
mod tables;
mod why;

pub use tables::verdict_table;
pub use why::why;

use crate::wording::answer::{answer, other_answers};
use crate::wording::effects::effects_text;
use crate::wording::findings::{database_use, noise_sentence};
use crate::wording::generators::skipped_cells;
use crate::wording::notes::{measured_again, not_known, unsteady};
use record::Record;
use record::judgement::Judgement;
use std::fmt::Write;

/// Writes the answer, the claims and where to look next, without the tables.
pub fn summary(record: &Record, judgement: &Judgement) -> String {
    let mut text = String::new();
    let answer = answer(record, judgement);
    let _ = writeln!(text, "{}\n\n{}", record.header.experiment.question, answer.sentence);
    for detail in &answer.details {
        let _ = writeln!(text, "{detail}");
    }
    sections::other_contenders(&mut text, &other_answers(record, judgement, &answer));
    sections::claims(&mut text, &judgement.claims);
    for curves in &judgement.capacities {
        let _ = writeln!(text, "\n{}", sections::capacities(curves));
    }
    text += &costs::costs_text(judgement.costs.as_ref(), &judgement.baseline);
    sections::crossings(&mut text, &judgement.sweeps);
    sections::repetitions(&mut text, &judgement.sweeps);
    if !judgement.databases.is_empty() {
        let _ = writeln!(text, "\nDatabase");
    }
    for used in &judgement.databases {
        let _ = writeln!(text, "  {}, {}: {}", used.cell, used.contender, database_use(used));
    }
    if !judgement.offered.is_empty() {
        let _ = writeln!(text, "\nOffered\n  {}", judgement.offered.join("\n  "));
    }
    text += &effects_text(judgement);
    sections::warm_up(&mut text, &judgement.warmups, &unsteady(record, judgement));
    left_out(&mut text, record, judgement);
    sections::symptoms(&mut text, &judgement.symptoms);
    sections::faults(&mut text, &judgement.faults);
    let lines = [
        not_known(record),
        measured_again(judgement),
        sections::stopped_early(record, judgement),
        noise_sentence(&judgement.noise),
        sections::audit(judgement),
    ];
    for line in lines.into_iter().flatten() {
        let _ = writeln!(text, "\n{line}");
    }
    text
}

/// What was not measured, or is in no verdict, with the reason.
fn left_out(text: &mut String, record: &Record, judgement: &Judgement) {
    if record.torn_lines > 0 {
        let _ = writeln!(
            text,
            "\nlines of the record that a crash cut short, which were ignored: {}",
            record.torn_lines
        );
    }
    for skipped in &record.header.skipped {
        let _ = writeln!(text, "\nskipped: {}: {}", skipped.contender, skipped.reason);
    }
    *text += &skipped_cells(record);
    for (name, failure) in record.dropped() {
        let _ = writeln!(
            text,
            "\nout: {name} failed before anything was timed ({}): {}",
            failure.stage, failure.cause
        );
    }
    for excluded in &judgement.excluded {
        let _ = writeln!(
            text,
            "excluded: block {}, {}: {}",
            excluded.block, excluded.contender, excluded.reason
        );
    }
}
