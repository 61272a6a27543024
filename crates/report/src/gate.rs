//! Whether a contender is worse than at another revision: a sentence, and a summary in Markdown for
//! a merge request. Start with [`gate`].

use crate::export::markdown_text;
use record::Record;
use record::judgement::{ClaimCell, ClaimOutcome, ClaimVerdict, Judgement, Outcome};
use spec::experiment::against::Against;
use spec::units::show_share;
use std::fmt::Write;

/// The result of a run against another revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The result in one sentence.
    pub sentence: String,
    /// The sentence, every metric in every cell, and what a reader must know.
    pub markdown: String,
}

/// Returns the result of a run against another revision; `None` for any other run.
pub fn gate(record: &Record, judgement: &Judgement) -> Option<Gate> {
    let against = record.header.experiment.against.as_ref()?;
    let sentence = sentence(record, judgement, against);
    let mut text = format!("### {}\n\n", markdown_text(&sentence));
    let then = markdown_text(against.short());
    let _ = writeln!(
        text,
        "| by | in | at {then} | now | now against then | |\n|---|---|---:|---:|---|---|"
    );
    for (claim, cell) in
        judgement.claims.iter().flat_map(|claim| claim.cells.iter().map(move |cell| (claim, cell)))
    {
        let _ = writeln!(text, "{}", row(claim, cell));
    }
    let design = &record.header.experiment.design;
    let _ = writeln!(
        text,
        "\n{} of {} blocks, both revisions interleaved on one machine; a difference within {} does not matter. *Worse* must lie beyond it, corrected for the number of metrics.",
        record.complete_blocks(),
        design.blocks,
        show_share(design.margin)
    );
    for (what, which) in
        [("Then", record.header.contenders.first()), ("Now", record.header.contenders.get(1))]
    {
        if let Some(revision) = which.and_then(|p| p.facts.get("revision")) {
            let _ = writeln!(text, "{what}: {}.", markdown_text(revision));
        }
    }
    if !judgement.faults.is_empty() {
        let _ = writeln!(text, "Faults that invalidated measurements: {}.", judgement.faults.len());
    }
    let _ = writeln!(text, "Record: {}.", markdown_text(&record.header.id));
    Some(Gate { sentence, markdown: text })
}

fn sentence(record: &Record, judgement: &Judgement, against: &Against) -> String {
    let of = judgement.claims.first().map_or_else(
        || record.header.experiment.baseline.system.clone(),
        |c| c.claim.contender.to_string(),
    );
    let then = against.short();
    // The exit code reports it first.
    let incomplete =
        if judgement.incomplete { "; trials failed or are missing as well" } else { "" };
    if judgement.unsound {
        return format!(
            "Whether {of} is worse than at {then} is not known: the measurement is unsound{incomplete}."
        );
    }
    let by = |outcome: ClaimOutcome| -> Vec<&ClaimVerdict> {
        judgement.claims.iter().filter(|c| c.outcome == outcome).collect()
    };
    let labels = |claims: &[&ClaimVerdict]| {
        claims.iter().map(|c| c.claim.metric.describe().label).collect::<Vec<_>>().join(", ")
    };
    let (refuted, open) = (by(ClaimOutcome::Refuted), by(ClaimOutcome::Undecided));
    if !refuted.is_empty() {
        let shown: Vec<String> = refuted.iter().map(|claim| worst(claim)).collect();
        return format!("{of} is worse than at {then} by {}{incomplete}.", shown.join("; by "));
    }
    if judgement.incomplete {
        return format!(
            "Whether {of} is worse than at {then} is not known: trials failed or are missing."
        );
    }
    match (open.len(), judgement.claims.len()) {
        (0, _) => format!("{of} is not worse than at {then}."),
        (open, all) if open == all => {
            format!("{of} was not found to be worse than at {then}; nothing was settled.")
        }
        _ => format!(
            "{of} was not found to be worse than at {then}; by {} it is undecided.",
            labels(&open)
        ),
    }
}

/// Names the cell that refutes a claim most: `CPU per request: 12 % more (8 % to 16 %) in open`.
fn worst(claim: &ClaimVerdict) -> String {
    let label = claim.claim.metric.describe().label;
    let off = |cell: &&ClaimCell| cell.verdict.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let refuting = claim.cells.iter().filter(|cell| cell.outcome == ClaimOutcome::Refuted);
    match refuting.max_by(|a, b| off(a).total_cmp(&off(b))) {
        Some(cell) => format!("{label}: {} in {}", cell.verdict.short_phrase(), cell.cell),
        None => label.to_owned(),
    }
}

fn row(claim: &ClaimVerdict, cell: &ClaimCell) -> String {
    let verdict = &cell.verdict;
    let about = verdict.metric.describe();
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), |v| verdict.metric.show(v));
    let word = match (cell.outcome, claim.outcome, verdict.outcome) {
        (ClaimOutcome::Refuted, ClaimOutcome::Refuted, _) => "**worse**".to_owned(),
        (ClaimOutcome::Refuted, ..) => {
            "undecided: worse by itself, but not after correction for the number of comparisons"
                .to_owned()
        }
        (ClaimOutcome::Confirmed, _, Outcome::Better) => "better".to_owned(),
        (ClaimOutcome::Confirmed, ..) => "not worse".to_owned(),
        (ClaimOutcome::Undecided, ..) => format!("undecided: {}", markdown_text(&verdict.reason)),
    };
    let (then, now) = (shown(verdict.baseline_value), shown(verdict.value));
    format!(
        "| {} | {} | {then} | {now} | {} | {word} |",
        about.label,
        markdown_text(&cell.cell),
        cell.verdict.short_phrase()
    )
}
