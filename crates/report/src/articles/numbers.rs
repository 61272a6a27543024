//! What an article's own numbers cannot be: the findings of its audit in sentences, findings with
//! the same explanation together. Start with [`impossible_figures`].

use super::prose::{Block, Prose, code, plain, with_names};
use record::audit::{Audit, Finding};
use spec::units::show_number;

/// Writes the findings of an audit, and its remarks.
pub(super) fn impossible_figures(audit: &Audit) -> Vec<Block> {
    let rows = match audit.rows() {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let command = code("faceoff audit articles");
    let intro = match audit.flagged() {
        0 => command.plain(format_args!(
            " checks {rows} of its tables, and finds no figures that contradict each other."
        )),
        flagged => command.plain(format_args!(
            " checks {rows} of its tables. In {flagged} of them figures do not fit together, \
             whatever the reason."
        )),
    };
    let mut blocks = vec![Block::Paragraph(intro)];
    let mut explanations: Vec<&[String]> = Vec::new();
    for finding in findings(audit) {
        if !explanations.contains(&finding.explanations.as_slice()) {
            explanations.push(&finding.explanations);
        }
    }
    for explanation in explanations {
        let same = findings(audit).filter(|finding| finding.explanations == explanation);
        blocks.push(Block::List(same.map(sentence).collect()));
        if !explanation.is_empty() {
            let text = format!("What would explain it: {}.", explanation.join("; or "));
            blocks.push(Block::Small(with_names(&text)));
        }
    }
    let notes = audit.tables.iter().flat_map(|table| &table.notes);
    let notes: Vec<Prose> = notes.map(|note| row(&note.row, &note.what)).collect();
    if !notes.is_empty() {
        blocks.push(Block::Paragraph(plain("Possible, but to be read with care:")));
        blocks.push(Block::List(notes));
    }
    blocks
}

fn findings(audit: &Audit) -> impl Iterator<Item = &Finding> {
    audit.tables.iter().flat_map(|table| &table.findings)
}

fn sentence(finding: &Finding) -> Prose {
    let factor = finding.factor.map(|factor| format!(" (a factor of {})", show_number(factor)));
    row(&finding.row, &format!("{}{}", finding.what, factor.unwrap_or_default()))
}

fn row(name: &str, what: &str) -> Prose {
    Prose::default().strong(name).plain(": ").put(with_names(what)).plain(".")
}
