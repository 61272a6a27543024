//! The picture of the verdicts: one interval a claim and cell, or without claims one a verdict, on a common axis around 1. Marks and
//! colours are those of the page (`web/src/charts/interval.tsx`).

use super::canvas::{Canvas, EDGE, INK, LINE, MUTED, lines};
use crate::answer::answer;
use crate::export::Source;
use crate::scales::{Ratios, band};
use model::judgement::{Verdict, show_confidence};
use model::units::show_number;

/// Where the axis begins and ends; names stand before it, outcomes behind it.
const AXIS: (f64, f64) = (300.0, 690.0);
const ROW: f64 = 26.0;
/// The most intervals of a picture that can still be looked at, and the most titles that these stand under.
const MOST: usize = 200;

/// What an interval comes to: its word, its colour and its mark, which tells the same without the colour.
struct Finding {
    word: &'static str,
    colour: &'static str,
    mark: &'static str,
}

const FINDINGS: [Finding; 6] = [
    Finding { word: "better", colour: "#1a4fb5", mark: "M0,-6L6,5H-6z" },
    Finding { word: "confirmed", colour: "#1a4fb5", mark: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z" },
    Finding { word: "worse", colour: "#a83a06", mark: "M0,6L6,-5H-6z" },
    Finding { word: "refuted", colour: "#a83a06", mark: "M-6,-4L-4,-6L0,-2L4,-6L6,-4L2,0L6,4L4,6L0,2L-4,6L-6,4L-2,0z" },
    Finding { word: "equivalent", colour: "#1d1c1a", mark: "M-5,-5H5V-1H-5zM-5,1H5V5H-5z" },
    Finding { word: "undecided", colour: "#5c5952", mark: "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z" },
];

fn finding(word: &str) -> &'static Finding {
    FINDINGS.iter().find(|finding| finding.word == word).unwrap_or(&FINDINGS[5])
}

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
        let of_claim = |claim: &'a model::judgement::ClaimVerdict| Group {
            title: claim.claim.text.clone(),
            word: Some(claim.outcome.name()),
            rows: claim
                .cells
                .iter()
                .filter(|c| source.has_cell(c.verdict.cell.as_deref()))
                .map(|c| Row { name: c.cell.clone(), word: c.outcome.name(), verdict: &c.verdict })
                .collect(),
        };
        let chosen = judgement.claims.iter().filter(|c| source.has_contender(&c.claim.contender) && source.has_metric(c.claim.metric));
        return chosen.map(of_claim).collect();
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    let drawn = |v: &&Verdict| v.ratio.is_some() && source.has(v.cell.as_deref(), &v.contender) && source.has_metric(v.metric);
    for verdict in judgement.verdicts.iter().filter(drawn) {
        let title = format!("{}, {}", verdict.cell.as_deref().unwrap_or("start"), verdict.metric.describe().label);
        let row = Row { name: verdict.contender.to_string(), word: verdict.outcome.name(), verdict };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { title, word: None, rows: vec![row] }),
        }
    }
    groups
}

/// Where a ratio stands.
fn place(axis: &Ratios, ratio: f64) -> f64 {
    AXIS.0 + (AXIS.1 - AXIS.0) * axis.share(ratio)
}

/// What stands in no other picture.
impl Canvas {
    fn finding(&mut self, x: f64, y: f64, of: &Finding) {
        let Finding { mark, colour, .. } = of;
        // What is undecided is hollow.
        let fill = if of.word == "undecided" { "#fff" } else { *colour };
        self.add(&format!(
            "<path d=\"{mark}\" transform=\"translate({x:.1},{y:.1})\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.2\"/>\n"
        ));
    }

    fn ratios(&mut self, axis: &Ratios) {
        for tick in &axis.ticks {
            self.text(
                place(axis, *tick),
                self.y,
                &format!("text-anchor=\"middle\" font-size=\"12\" fill=\"{MUTED}\""),
                &format!("{tick}×"),
            );
        }
        self.y += 10.0;
    }

    fn row(&mut self, row: &Row<'_>, axis: &Ratios) {
        let x = |ratio: f64| place(axis, ratio);
        let (middle, v) = (self.y + ROW / 2.0, row.verdict);
        let of = finding(row.word);
        let name = lines(&row.name, 36).into_iter().next().unwrap_or_default();
        self.text(EDGE + 16.0, middle + 4.0, &format!("font-size=\"13\" fill=\"{INK}\""), &name);
        let [low, high] = band(v.margin).map(x);
        self.add(&format!(
            "<rect x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{ROW}\" fill=\"#e2ddcf\"/>\n",
            self.y,
            (high - low).max(0.0)
        ));
        self.line((x(1.0), self.y), (x(1.0), self.y + ROW), &format!("stroke=\"{MUTED}\""));
        if let Some(interval) = v.interval {
            let style = format!("stroke=\"{}\" stroke-width=\"3\"", of.colour);
            self.line((x(interval.low), middle), (x(interval.high), middle), &style);
            // What reaches beyond the axis ends in an arrow.
            for (end, way) in [(interval.low, 6.0), (interval.high, -6.0)] {
                if !axis.holds(end) {
                    let x = x(end);
                    self.add(&format!(
                        "<path d=\"M{:.1},{:.1}L{x:.1},{middle:.1}L{:.1},{:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                        x + way,
                        middle - 5.0,
                        x + way,
                        middle + 5.0,
                        of.colour
                    ));
                }
            }
        }
        let told = match v.ratio {
            Some(ratio) => {
                self.finding(x(ratio), middle, of);
                let interval = v.interval.map(|i| format!(" ({} to {})", show_number(i.low), show_number(i.high)));
                format!("{}, {}{}", row.word, show_number(ratio), interval.unwrap_or_default())
            }
            None => format!("{}, no ratio", row.word),
        };
        self.text(AXIS.1 + 14.0, middle + 4.0, &format!("font-size=\"13\" fill=\"{}\"", of.colour), &told);
        self.y += ROW;
    }
}

/// The verdicts as a picture.
pub fn svg(source: &Source<'_>) -> String {
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
    let axis = Ratios::of(verdicts().flat_map(|v| {
        let interval = v.interval.map_or([None, None], |i| [Some(i.low), Some(i.high)]);
        interval.into_iter().flatten().chain(v.ratio).chain(band(v.margin)).collect::<Vec<_>>()
    }));
    let mut picture = Canvas::new();
    picture.paragraph(EDGE, 110, &format!("font-size=\"14\" fill=\"{MUTED}\""), &record.header.experiment.question);
    let said = answer(record, judgement);
    picture.y += 4.0;
    picture.paragraph(EDGE, 100, &format!("font-size=\"16\" font-weight=\"600\" fill=\"{INK}\""), &said.sentence);
    picture.y += 12.0;
    if verdicts().next().is_some() {
        picture.ratios(&axis);
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
        group.rows.iter().for_each(|row| picture.row(row, &axis));
    }
    picture.y += LINE;
    let confidences: Vec<String> = {
        let mut known: Vec<f64> = verdicts().filter(|v| v.interval.is_some()).map(|v| v.confidence).collect();
        known.sort_by(f64::total_cmp);
        known.dedup();
        known.into_iter().map(show_confidence).collect()
    };
    let bar = if confidences.is_empty() { String::new() } else { format!("Bar: {} interval. ", confidences.join(" or ")) };
    let drawn = verdicts().count();
    let more = if all > drawn { format!(" {} more are not drawn.", all - drawn) } else { String::new() };
    let key = format!("Ratio to {}, log scale. {bar}Band: within the margin, too little to matter.{more}", judgement.baseline);
    picture.paragraph(EDGE, 130, &format!("font-size=\"12\" fill=\"{MUTED}\""), &key);
    picture.document(&said.sentence)
}
