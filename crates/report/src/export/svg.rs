//! The picture of the verdicts as SVG: one interval a claim and cell, or without claims one a verdict, on a common axis around 1. Marks and
//! colours are those of the page (`web/src/charts/interval.tsx`, `scales.ts`).

use super::{Source, xml};
use crate::answer::answer;
use model::judgement::{Verdict, show_confidence};
use model::units::show_number;

const WIDTH: f64 = 960.0;
const EDGE: f64 = 24.0;
/// Where the axis begins and ends; names stand before it, outcomes behind it.
const AXIS: (f64, f64) = (300.0, 690.0);
const LINE: f64 = 18.0;
const ROW: f64 = 26.0;
/// The most intervals of a picture that can still be looked at.
const MOST: usize = 200;

const INK: &str = "#1d1c1a";
const MUTED: &str = "#5c5952";

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
        return judgement.claims.iter().filter(|c| source.has_contender(&c.claim.contender)).map(of_claim).collect();
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    let drawn = |v: &&Verdict| v.ratio.is_some() && source.has(v.cell.as_deref(), &v.contender);
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

/// A log axis around 1 that holds all intervals, up to a thousandfold; what lies beyond is held at the edge.
pub(crate) struct Axis {
    reach: f64,
    ticks: Vec<f64>,
}

impl Axis {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Axis {
        let farthest = values.filter(|v| v.is_finite() && *v > 0.0).map(|v| v.ln().abs()).fold(0.0, f64::max);
        let reach = (farthest * 1.06).exp().clamp(1.3, 1100.0);
        const TICKS: [(f64, &[f64]); 7] = [
            (100.0, &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]),
            (20.0, &[0.05, 0.2, 1.0, 5.0, 20.0]),
            (10.0, &[0.1, 0.3, 1.0, 3.0, 10.0]),
            (4.0, &[0.25, 0.5, 1.0, 2.0, 4.0]),
            (2.0, &[0.5, 0.7, 1.0, 1.4, 2.0]),
            (1.5, &[0.7, 0.8, 1.0, 1.25, 1.5]),
            (0.0, &[0.8, 0.9, 1.0, 1.1, 1.25]),
        ];
        let all = TICKS.iter().find(|(least, _)| reach >= *least).map_or(&[][..], |(_, ticks)| *ticks);
        Axis { reach, ticks: all.iter().copied().filter(|t| *t <= reach && *t >= 1.0 / reach).collect() }
    }

    /// Where a ratio stands, from 0 to 1.
    pub(crate) fn share(&self, ratio: f64) -> f64 {
        if ratio > 0.0 { (0.5 + ratio.ln() / (2.0 * self.reach.ln())).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn x(&self, ratio: f64) -> f64 {
        AXIS.0 + (AXIS.1 - AXIS.0) * self.share(ratio)
    }
}

/// The band within which a difference is too small to matter.
pub(crate) fn band(margin: f64) -> [f64; 2] {
    let most = 1.0 + margin.max(0.0);
    [1.0 / most, most]
}

/// The elements so far, and where the next line stands.
struct Picture {
    elements: String,
    y: f64,
}

impl Picture {
    fn text(&mut self, x: f64, y: f64, style: &str, text: &str) {
        self.elements += &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>\n", xml(text));
    }

    /// Text over as many lines as it needs.
    fn paragraph(&mut self, x: f64, characters: usize, style: &str, text: &str) {
        for line in lines(text, characters) {
            self.text(x, self.y, style, &line);
            self.y += LINE;
        }
    }

    fn mark(&mut self, x: f64, y: f64, of: &Finding) {
        let Finding { mark, colour, .. } = of;
        // What is undecided is hollow.
        let fill = if of.word == "undecided" { "#fff" } else { *colour };
        self.elements += &format!(
            "<path d=\"{mark}\" transform=\"translate({x:.1},{y:.1})\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.2\"/>\n"
        );
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        self.elements += &format!("<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>\n", from.0, from.1, to.0, to.1);
    }

    fn ticks(&mut self, axis: &Axis) {
        for tick in &axis.ticks {
            self.text(axis.x(*tick), self.y, &format!("text-anchor=\"middle\" font-size=\"12\" fill=\"{MUTED}\""), &format!("{tick}×"));
        }
        self.y += 10.0;
    }

    fn row(&mut self, row: &Row<'_>, axis: &Axis) {
        let (middle, v) = (self.y + ROW / 2.0, row.verdict);
        let of = finding(row.word);
        let name = lines(&row.name, 36).into_iter().next().unwrap_or_default();
        self.text(EDGE + 16.0, middle + 4.0, &format!("font-size=\"13\" fill=\"{INK}\""), &name);
        let [low, high] = band(v.margin).map(|ratio| axis.x(ratio));
        self.elements += &format!(
            "<rect x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{ROW}\" fill=\"#e2ddcf\"/>\n",
            self.y,
            (high - low).max(0.0)
        );
        self.line((axis.x(1.0), self.y), (axis.x(1.0), self.y + ROW), &format!("stroke=\"{MUTED}\""));
        if let Some(interval) = v.interval {
            let style = format!("stroke=\"{}\" stroke-width=\"3\"", of.colour);
            self.line((axis.x(interval.low), middle), (axis.x(interval.high), middle), &style);
            // What reaches beyond the axis ends in an arrow.
            for (end, way) in [(interval.low, 6.0), (interval.high, -6.0)] {
                let x = axis.x(end);
                if !(1.0 / axis.reach..=axis.reach).contains(&end) {
                    self.elements += &format!(
                        "<path d=\"M{:.1},{:.1}L{x:.1},{middle:.1}L{:.1},{:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                        x + way,
                        middle - 5.0,
                        x + way,
                        middle + 5.0,
                        of.colour
                    );
                }
            }
        }
        let told = match v.ratio {
            Some(ratio) => {
                self.mark(axis.x(ratio), middle, of);
                let interval = v.interval.map(|i| format!(" ({} to {})", show_number(i.low), show_number(i.high)));
                format!("{}, {}{}", row.word, show_number(ratio), interval.unwrap_or_default())
            }
            None => format!("{}, no ratio", row.word),
        };
        self.text(AXIS.1 + 14.0, middle + 4.0, &format!("font-size=\"13\" fill=\"{}\"", of.colour), &told);
        self.y += ROW;
    }
}

/// A text broken into lines of about so many characters; a longer word is broken as well.
fn lines(text: &str, characters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut long = 0;
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(characters.max(1)) {
            if long > 0 && long + 1 + piece.len() > characters {
                lines.push(String::new());
                long = 0;
            }
            let Some(line) = lines.last_mut() else { continue };
            if long > 0 {
                line.push(' ');
                long += 1;
            }
            line.extend(piece);
            long += piece.len();
        }
    }
    lines
}

/// The verdicts as a picture, in one file, without fonts or scripts of its own.
pub fn svg(source: &Source<'_>) -> String {
    let (record, judgement) = (source.record, source.judgement);
    let mut groups = groups(source);
    let all: usize = groups.iter().map(|group| group.rows.len()).sum();
    let mut left = MOST;
    for group in &mut groups {
        group.rows.truncate(left);
        left -= group.rows.len();
    }
    groups.retain(|group| group.word.is_some() || !group.rows.is_empty());
    let verdicts = || groups.iter().flat_map(|group| &group.rows).map(|row| row.verdict);
    let axis = Axis::of(verdicts().flat_map(|v| {
        let interval = v.interval.map_or([None, None], |i| [Some(i.low), Some(i.high)]);
        interval.into_iter().flatten().chain(v.ratio).chain(band(v.margin)).collect::<Vec<_>>()
    }));
    let mut picture = Picture { elements: String::new(), y: EDGE + 10.0 };
    picture.paragraph(EDGE, 110, &format!("font-size=\"14\" fill=\"{MUTED}\""), &record.header.experiment.question);
    let said = answer(record, judgement);
    picture.y += 4.0;
    picture.paragraph(EDGE, 100, &format!("font-size=\"16\" font-weight=\"600\" fill=\"{INK}\""), &said.sentence);
    picture.y += 12.0;
    if verdicts().next().is_some() {
        picture.ticks(&axis);
    }
    for group in &groups {
        picture.y += LINE;
        if let Some(word) = group.word {
            let of = finding(word);
            picture.mark(EDGE + 6.0, picture.y - 5.0, of);
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
    let more = if all > MOST { format!(" {} more are not drawn.", all - MOST) } else { String::new() };
    let key = format!("Ratio to {}, log scale. {bar}Band: within the margin, too little to matter.{more}", judgement.baseline);
    picture.paragraph(EDGE, 130, &format!("font-size=\"12\" fill=\"{MUTED}\""), &key);
    let height = picture.y;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
        xml(&said.sentence),
        picture.elements
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `web/test/unit/scales.test.ts` asks of the page's axis.
    #[test]
    fn the_axis_is_that_of_the_page() {
        let axis = Axis::of([0.3, 2.4].into_iter());
        assert!((axis.share(1.0) - 0.5).abs() < 1e-12 && axis.share(0.3) > 0.0);
        assert!((axis.share(2.0) - 0.5 - (0.5 - axis.share(0.5))).abs() < 1e-12);
        let near = Axis::of([1.001].into_iter());
        assert_eq!((near.reach, near.ticks.contains(&1.0), near.ticks.len() >= 3), (1.3, true, true));
        let far = Axis::of([1e9, f64::NAN, 0.0, -1.0].into_iter());
        assert_eq!((far.reach, [1e9, 0.0, -1.0, 1e-12].map(|v| far.share(v))), (1100.0, [1.0, 0.0, 0.0, 0.0]));
        for farthest in [1.2, 1.6, 2.5, 5.0, 12.0, 30.0, 500.0] {
            let Axis { reach, ticks } = Axis::of(std::iter::once(farthest));
            assert!(ticks.len() <= 7 && ticks.iter().all(|t| *t <= reach && *t >= 1.0 / reach));
        }
        assert_eq!((band(0.25), band(-3.0)), ([0.8, 1.25], [1.0, 1.0]));
    }

    #[test]
    fn lines_are_broken_between_words_and_long_words_anywhere() {
        assert_eq!(lines("one two  three", 7), ["one two", "three"]);
        assert_eq!(lines("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(lines("", 3), [""]);
    }
}
