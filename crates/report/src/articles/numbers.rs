//! What an article's own numbers cannot be: the findings of its audit in sentences, findings with
//! the same explanation together. Start with [`impossible_figures`].

use super::prose::{Block, Prose, code, plain, with_names};
use record::audit::{Audit, Finding, Note};
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
    let notes: Vec<&Note> = audit.tables.iter().flat_map(|table| &table.notes).collect();
    if !notes.is_empty() {
        blocks.push(Block::Paragraph(plain("Possible, but to be read with care:")));
        blocks.push(Block::List(remarks(&notes)));
    }
    blocks
}

/// Writes remarks, one sentence for more than [`EACH_ALONE`] that differ in their share only.
fn remarks(notes: &[&Note]) -> Vec<Prose> {
    let mut groups: Vec<Vec<&Note>> = Vec::new();
    for &note in notes {
        match groups.iter_mut().find(|group| differ_in_share(group[0], note)) {
            Some(group) => group.push(note),
            None => groups.push(vec![note]),
        }
    }
    let mut sentences = Vec::new();
    for group in groups {
        if group.len() > EACH_ALONE {
            sentences.extend(together(&group));
        } else {
            sentences.extend(group.iter().map(|note| row(&note.row, &note.what)));
        }
    }
    sentences
}

/// The most remarks that differ in their share only and are sentences of their own.
const EACH_ALONE: usize = 3;

/// Returns the share that a remark begins with, in percent, and the rest of the remark.
fn share_and_rest(note: &Note) -> Option<(f64, &str)> {
    let (share, rest) = note.what.split_once(" %")?;
    share.parse().ok().map(|share| (share, rest))
}

fn differ_in_share(a: &Note, b: &Note) -> bool {
    let rests = share_and_rest(a).zip(share_and_rest(b));
    rests.is_some_and(|((_, a), (_, b))| a == b)
}

fn together(group: &[&Note]) -> Option<Prose> {
    let mut shares: Vec<(f64, &str, &str)> = group
        .iter()
        .filter_map(|note| share_and_rest(note).map(|(share, rest)| (share, &*note.row, rest)))
        .collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, first, rest) = *shares.first()?;
    let (most, last, _) = *shares.last()?;
    let [least, most] = [least, most].map(show_number);
    let what = format!("from {least} % ({first}) to {most} % ({last}){rest}");
    Some(row(&format!("{} rows", shares.len()), &what))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_remarks_that_differ_in_their_share_are_one_sentence() {
        let failed = |row: &str, share: &str| Note {
            row: row.to_owned(),
            what: format!("{share} % of the requests failed"),
        };
        let other = Note { row: "Go".to_owned(), what: "2 % of the checks failed".to_owned() };
        let three = [failed("a", "3"), failed("b", "16.03"), failed("c", "1.07")];
        let mut notes: Vec<&Note> = three.iter().chain([&other]).collect();
        assert_eq!(remarks(&notes).len(), 4);
        let fourth = failed("d", "39.3");
        notes.push(&fourth);
        let all: Vec<String> = remarks(&notes).iter().map(Prose::text).collect();
        let together = "4 rows: from 1.07 % (c) to 39.3 % (d) of the requests failed.";
        assert_eq!(all, [together, "Go: 2 % of the checks failed."]);
    }
}
