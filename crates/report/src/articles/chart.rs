//! The chart of an answer: for each result two bars, one for each contender, with their values and
//! the difference in words. The mark on the contender's bar spans the interval of the ratio, taken
//! from the end of the baseline's bar. Lengths begin at zero. Start with [`answer_svg`].

use super::answers::{Answered, Part};
use super::names::{contender, load, shown};
use super::prose::capital;
use super::sentences::shown_outcome;
use super::tried::Found;
use crate::chart::canvas::{Canvas, GRID, INK, LINE, MUTED, short};
use crate::chart::ratio_bars::{finding, interval_key};
use crate::chart::scales::round_number;
use record::judgement::{ClaimCell, ClaimOutcome, Verdict};
use spec::article::Article;
use spec::experiment::Expectation;

/// The free space at both sides; the picture is narrow.
const SIDE: f64 = 12.0;
/// Height of a bar.
const BAR: f64 = 12.0;
/// The colour of the contender's bar, and of the baseline's.
const COLOURS: [&str; 2] = ["#2660d8", MUTED];

/// A bar with its name and its value.
struct Bar {
    name: String,
    value: f64,
    shown: String,
}

/// Draws the results of an answer; `None` if none of them has a value.
pub(super) fn answer_svg(answered: &Answered<'_>, article: &Article) -> Option<String> {
    let found: Vec<(Found<'_>, &ClaimCell)> = answered
        .results
        .iter()
        .filter_map(|part| match part {
            Part::Found(found, cell) => cell.verdict.value.map(|_| (*found, *cell)),
            Part::Open(_) => None,
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let mut picture = Canvas::in_document();
    picture.y = SIDE + 12.0;
    for (found, cell) in &found {
        result(&mut picture, *found, cell, article);
    }
    let key = interval_key("Line", found.iter().map(|(_, cell)| &cell.verdict));
    let key = format!("Triangle up: better than the grey bar; down: worse. {key}");
    paragraph(&mut picture, 11.0, MUTED, key.trim_end());
    Some(picture.document(&answered.summary.question))
}

/// Draws one result: its metric and load, the difference, and the bars.
fn result(picture: &mut Canvas, found: Found<'_>, cell: &ClaimCell, article: &Article) {
    let v = &cell.verdict;
    let load = load(&found.tried.experiment, v.cell.as_deref()).text();
    let label = capital(v.metric.describe().label);
    paragraph(picture, 13.0, INK, &format!("{label}{load}"));
    let expects = found.claim.claim.expects;
    let of =
        finding(if expects.is_absolute() { cell.outcome.name() } else { shown_outcome(v).name() });
    let words = match (expects, cell.outcome) {
        _ if !expects.is_absolute() => v.short_phrase().to_string(),
        (_, ClaimOutcome::Undecided) => "undecided".to_owned(),
        (Expectation::AtMost, ClaimOutcome::Confirmed) => "within the limit".to_owned(),
        (Expectation::AtMost, ClaimOutcome::Refuted) => "above the limit".to_owned(),
        (_, ClaimOutcome::Confirmed) => "as claimed".to_owned(),
        (_, ClaimOutcome::Refuted) => "not as claimed".to_owned(),
    };
    picture.finding(SIDE + 6.0, picture.y - 4.0, of);
    let style = format!("font-size=\"13\" font-weight=\"600\" fill=\"{}\"", of.colour);
    let room = picture.characters(SIDE + 18.0, 13.0);
    picture.paragraph(SIDE + 18.0, room, &style, &words);
    let bars = bars(found, v, article);
    let ends = v.interval.zip(v.baseline_value).filter(|_| v.ratio.is_some());
    let ends = ends.map(|(interval, of)| [interval.low * of, interval.high * of]);
    let longest = bars.iter().map(|bar| bar.value).chain(ends.into_iter().flatten());
    let longest = longest.filter(|value| value.is_finite()).fold(0.0, f64::max);
    for (at, bar) in bars.iter().enumerate() {
        draw(picture, bar, COLOURS[at.min(1)], longest, ends.filter(|_| at == 0));
    }
    picture.y += 16.0;
}

/// The bars of a result: the contender, then the baseline or the most that was expected.
fn bars(found: Found<'_>, v: &Verdict, article: &Article) -> Vec<Bar> {
    let claim = &found.claim.claim;
    let experiment = &found.tried.experiment;
    let bar = |name: String, value: f64| Bar { name, value, shown: shown(experiment, v, value) };
    let limit = claim.value.filter(|_| claim.expects == Expectation::AtMost);
    let first = v.value.map(|value| bar(contender(article, &v.contender).text(), value));
    let second = match limit {
        Some(limit) => Some(Bar {
            name: "expected at most".to_owned(),
            value: limit,
            shown: format!("{} {}", round_number(limit), v.metric.describe().unit),
        }),
        None => v.baseline_value.map(|value| bar(contender(article, &v.baseline).text(), value)),
    };
    first.into_iter().chain(second).collect()
}

/// Draws a bar below its name and its value.
fn draw(picture: &mut Canvas, bar: &Bar, colour: &str, longest: f64, ends: Option<[f64; 2]>) {
    let (left, right) = (SIDE, picture.width - SIDE);
    let place = |value: f64| match longest > 0.0 {
        true => left + (right - left) * (value / longest).clamp(0.0, 1.0),
        false => left,
    };
    let room = picture.characters(SIDE, 12.0).saturating_sub(bar.shown.chars().count() + 2);
    let style = format!("font-size=\"12\" fill=\"{MUTED}\"");
    picture.text(left, picture.y, &style, &short(&capital(&bar.name), room));
    let style = format!("text-anchor=\"end\" font-size=\"12\" fill=\"{INK}\"");
    picture.text(right, picture.y, &style, &bar.shown);
    picture.y += 5.0;
    let (y, middle) = (picture.y, picture.y + BAR / 2.0);
    picture.line((left, middle), (right, middle), &format!("stroke=\"{GRID}\""));
    let wide = (place(bar.value) - left).max(1.0);
    picture.add(&format!(
        "<rect x=\"{left}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>\n"
    ));
    if let Some(ends) = ends {
        let [low, high] = ends.map(place);
        let style = format!("stroke=\"{INK}\" stroke-width=\"2\"");
        picture.line((low, middle), (high, middle), &style);
        for x in [low, high] {
            picture.line((x, y + 2.0), (x, y + BAR - 2.0), &style);
        }
    }
    picture.y += BAR + LINE - 1.0;
}

fn paragraph(picture: &mut Canvas, size: f64, colour: &str, text: &str) {
    let style = format!("font-size=\"{size}\" fill=\"{colour}\"");
    picture.paragraph(SIDE, picture.characters(SIDE, size), &style, text);
}
