//! The picture of the verdicts: one interval for each claim and cell, on a common axis around 1.
//! Without claims it has one for each verdict. Start with [`verdicts_svg`].

use super::sheet::heading;
use crate::chart::canvas::{Canvas, EDGE, INK, LINE, MUTED, lines};
use crate::chart::ratio_bars::{Bars, finding, interval_key};
use crate::export::source::Source;
use crate::wording::answer::answer;
use record::judgement::Verdict;
use spec::units::show_number;

/// The two ends of the axis. Names are left of it, outcomes right of it.
const AXIS: (f64, f64) = (300.0, 690.0);
const ROW: f64 = 26.0;
/// The most intervals of a picture, and the most titles above them.
const MOST: usize = 200;

/// An interval of the picture.
struct Row<'a> {
    name: String,
    word: &'static str,
    verdict: &'a Verdict,
}

/// Intervals under a title.
struct Group<'a> {
    title: String,
    word: Option<&'static str>,
    rows: Vec<Row<'a>>,
}

fn groups<'a>(source: &Source<'a>) -> Vec<Group<'a>> {
    let judgement = source.judgement;
    if !judgement.claims.is_empty() {
        let of_claim = |claim: &'a record::judgement::ClaimVerdict| Group {
            title: claim.claim.text.clone(),
            word: Some(claim.outcome.name()),
            rows: claim
                .cells
                .iter()
                .filter(|c| source.has_cell(c.verdict.cell.as_deref()))
                .map(|c| Row { name: c.cell.clone(), word: c.outcome.name(), verdict: &c.verdict })
                .collect(),
        };
        let chosen = judgement.claims.iter().filter(|c| {
            source.has_contender(&c.claim.contender) && source.has_metric(c.claim.metric)
        });
        return chosen.map(of_claim).collect();
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    let drawn = |v: &&Verdict| {
        v.ratio.is_some()
            && source.has(v.cell.as_deref(), &v.contender)
            && source.has_metric(v.metric)
    };
    for verdict in judgement.verdicts.iter().filter(drawn) {
        let title = format!(
            "{}, {}",
            verdict.cell.as_deref().unwrap_or("start"),
            verdict.metric.describe().label
        );
        let row =
            Row { name: verdict.contender.to_string(), word: verdict.outcome.name(), verdict };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { title, word: None, rows: vec![row] }),
        }
    }
    groups
}

/// Elements that only pictures of verdicts have.
impl Canvas {
    fn row(&mut self, row: &Row<'_>, bars: &Bars) {
        let (middle, v, of) = (self.y + ROW / 2.0, row.verdict, finding(row.word));
        let name = lines(&row.name, 36).into_iter().next().unwrap_or_default();
        self.text(EDGE + 16.0, middle + 4.0, &format!("font-size=\"13\" fill=\"{INK}\""), &name);
        self.bar(bars, ROW, v, of);
        let text = match v.ratio {
            Some(ratio) => {
                let interval = v
                    .interval
                    .map(|i| format!(" ({} to {})", show_number(i.low), show_number(i.high)));
                format!("{}, {}{}", row.word, show_number(ratio), interval.unwrap_or_default())
            }
            None => format!("{}, no ratio", row.word),
        };
        self.text(
            bars.ends.1 + 14.0,
            middle + 4.0,
            &format!("font-size=\"13\" fill=\"{}\"", of.colour),
            &text,
        );
        self.y += ROW;
    }
}

/// Draws the verdicts.
pub(super) fn verdicts_svg(source: &Source<'_>) -> String {
    let (record, judgement) = (source.record, source.judgement);
    let mut groups = groups(source);
    let all: usize = groups.iter().map(|group| group.rows.len()).sum();
    groups.truncate(MOST);
    let mut left = MOST;
    for group in &mut groups {
        group.rows.truncate(left);
        left -= group.rows.len();
    }
    groups.retain(|group| group.word.is_some() || !group.rows.is_empty());
    let verdicts = || groups.iter().flat_map(|group| &group.rows).map(|row| row.verdict);
    let bars = Bars::around(verdicts(), std::iter::empty(), AXIS);
    let answer = answer(record, judgement);
    let mut picture = heading(source, &answer.sentence);
    picture.y += 4.0;
    if verdicts().next().is_some() {
        picture.ratios(&bars);
    }
    for group in &groups {
        picture.y += LINE;
        if let Some(word) = group.word {
            let of = finding(word);
            picture.finding(EDGE + 6.0, picture.y - 5.0, of);
            let style = format!("font-size=\"13\" font-weight=\"600\" fill=\"{}\"", of.colour);
            picture.text(EDGE + 18.0, picture.y, &style, word);
        }
        let x = if group.word.is_some() { EDGE + 100.0 } else { EDGE };
        picture.paragraph(x, 105, &format!("font-size=\"13\" fill=\"{INK}\""), &group.title);
        picture.y -= LINE / 2.0;
        group.rows.iter().for_each(|row| picture.row(row, &bars));
    }
    picture.y += LINE;
    let bar = interval_key("Bar", verdicts());
    let drawn = verdicts().count();
    let more =
        if all > drawn { format!(" {} more are not drawn.", all - drawn) } else { String::new() };
    let key = format!(
        "Ratio to {}, log scale. {bar}Band: within the margin, too little to matter.{more}",
        judgement.baseline
    );
    picture.paragraph(EDGE, 130, &format!("font-size=\"12\" fill=\"{MUTED}\""), &key);
    picture.document(&answer.sentence)
}
