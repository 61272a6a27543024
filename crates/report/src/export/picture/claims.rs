//! The picture of one question in a document about an article. It has an interval of the ratio for
//! each claim and cell, on a common axis around the baseline, with the ratio of the article's
//! figures if it printed any. An experiment that crosses factors has their effects instead. Start
//! with [`claims_svg`].

use super::curves;
use super::sheet::PANELS;
use crate::chart::canvas::{Canvas, GRID, INK, LINE, MUTED, short};
use crate::chart::look::Looks;
use crate::chart::panel::draw_panels;
use crate::chart::ratio_bars::{Bars, finding, interval_key};
use record::judgement::{ClaimVerdict, Effects, Evidence};

/// The free space at both sides; the picture is narrow.
const SIDE: f64 = 12.0;
/// Height of an interval.
const BAR: f64 = 18.0;
/// The most intervals of a picture.
const MOST: usize = 60;
/// The mark of an article's figures.
const PRINTED: &str = "M0,-5.5L5.5,0L0,5.5L-5.5,0z";

/// An interval of the picture.
pub(crate) struct Bar<'a> {
    /// The claim.
    pub claim: &'a ClaimVerdict,
    /// The place of its cell among the claim's.
    pub at: usize,
    /// The ratio of the article's figures for the same.
    pub printed: Option<f64>,
}

/// Draws the results of claims; `None` if none of them has a ratio. Bars of one claim follow each
/// other.
pub(crate) fn claims_svg(question: &str, run: &Evidence, all: &[Bar<'_>]) -> Option<String> {
    let drawn: Vec<&Bar<'_>> =
        all.iter().filter(|bar| bar.verdict().ratio.is_some()).take(MOST).collect();
    if drawn.is_empty() {
        return None;
    }
    let mut picture = Canvas::in_document();
    let ends = (2.0 * SIDE, picture.width - 2.0 * SIDE);
    let bars = Bars::around(
        drawn.iter().map(|bar| bar.verdict()),
        drawn.iter().filter_map(|bar| bar.printed),
        ends,
    );
    head(&mut picture, question);
    picture.ratios(&bars);
    let mut before: Option<&ClaimVerdict> = None;
    for bar in &drawn {
        if before.is_none_or(|claim| !std::ptr::eq(claim, bar.claim)) {
            title(&mut picture, bar.claim);
            before = Some(bar.claim);
        }
        interval(&mut picture, &bars, bar);
    }
    picture.y += LINE;
    picture.ratios(&bars);
    picture.y += 10.0;
    let diamond = if drawn.iter().any(|bar| bar.printed.is_some()) {
        "Diamond: the article's figures. "
    } else {
        ""
    };
    let left_out = all.len() - drawn.len();
    let rest = if left_out > 0 {
        format!("Not drawn, as they have no ratio or there are too many: {left_out}.")
    } else {
        String::new()
    };
    let key = format!(
        "Ratio to the baseline ({}) at 1×, log scale. {}{diamond}Band: within the margin. {rest}",
        run.baseline,
        interval_key("Bar", drawn.iter().map(|bar| bar.verdict()))
    );
    small(&mut picture, key.trim_end());
    Some(picture.document(question))
}

/// Draws what each factor adds; `None` if no effect is known.
pub(crate) fn factors_svg<'a>(
    question: &str,
    effects: impl Iterator<Item = &'a Effects>,
) -> Option<String> {
    let panels: Vec<_> = effects.filter_map(curves::added).take(PANELS).collect();
    if panels.is_empty() {
        return None;
    }
    let mut picture = Canvas::in_document();
    head(&mut picture, question);
    let names = panels.iter().flat_map(|panel| &panel.series).map(|series| series.who.clone());
    draw_panels(&mut picture, &panels, &Looks::of_names(names, None));
    picture.y += 10.0;
    small(&mut picture, "An interval that holds 0 may be no effect at all.");
    Some(picture.document(question))
}

impl<'a> Bar<'a> {
    fn verdict(&self) -> &'a record::judgement::Verdict {
        &self.claim.cells[self.at].verdict
    }
}

fn head(picture: &mut Canvas, question: &str) {
    picture.y = SIDE + 14.0;
    let style = format!("font-size=\"15\" font-weight=\"600\" fill=\"{INK}\"");
    picture.paragraph(SIDE, picture.characters(SIDE, 15.0), &style, question);
    picture.y += 6.0;
}

fn small(picture: &mut Canvas, text: &str) {
    picture.paragraph(
        SIDE,
        picture.characters(SIDE, 12.0),
        &format!("font-size=\"12\" fill=\"{MUTED}\""),
        text,
    );
}

/// The claim with its outcome, its contender and its metric.
fn title(picture: &mut Canvas, claim: &ClaimVerdict) {
    let (of, about) = (finding(claim.outcome.name()), &claim.claim);
    picture.y += LINE;
    picture.paragraph(
        SIDE,
        picture.characters(SIDE, 13.0),
        &format!("font-size=\"13\" fill=\"{INK}\""),
        &about.text,
    );
    picture.finding(SIDE + 6.0, picture.y - 5.0, of);
    let compared_with = about
        .compared_with
        .map(|compared_with| format!(", {}", compared_with.describe()))
        .unwrap_or_default();
    let text =
        format!("{}: {}, {}{compared_with}", of.word, about.contender, about.metric.short_label());
    picture.paragraph(
        SIDE + 18.0,
        picture.characters(SIDE + 18.0, 12.0),
        &format!("font-size=\"12\" fill=\"{}\"", of.colour),
        &text,
    );
}

/// The cell and the result in words, with the interval below.
fn interval(picture: &mut Canvas, bars: &Bars, bar: &Bar<'_>) {
    let (cell, verdict) = (&bar.claim.cells[bar.at], bar.verdict());
    let of = finding(cell.outcome.name());
    let found = verdict.short_phrase().to_string();
    let room = picture.characters(SIDE, 12.0);
    picture.text(
        SIDE,
        picture.y,
        &format!("font-size=\"12\" fill=\"{MUTED}\""),
        &short(&cell.cell, room),
    );
    if cell.cell.chars().count() + found.chars().count() + 2 > room {
        picture.y += LINE - 2.0;
    }
    picture.text(
        picture.width - SIDE,
        picture.y,
        &format!("text-anchor=\"end\" font-size=\"12\" fill=\"{INK}\""),
        &found,
    );
    picture.y += 5.0;
    let middle = picture.y + BAR / 2.0;
    picture.line((bars.ends.0, middle), (bars.ends.1, middle), &format!("stroke=\"{GRID}\""));
    picture.bar(bars, BAR, verdict, of);
    if let Some(printed) = bar.printed {
        let x = bars.place(printed);
        picture.add(&format!(
            "<path d=\"{PRINTED}\" transform=\"translate({x:.1},{middle:.1})\" fill=\"#fff\" stroke=\"{INK}\" stroke-width=\"1.5\"/>\n"
        ));
    }
    picture.y += BAR + LINE;
}
