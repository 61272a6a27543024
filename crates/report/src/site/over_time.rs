//! A metric over the records of one experiment, with the records at which it changed. Start with
//! [`over_time`].

use super::brief::minute;
use super::chart::{Line, class, figure, plot};
use super::html::{Html, Link, Page};
use crate::chart::canvas::INK;
use crate::chart::look::{Look, Looks};
use crate::chart::panel::{Axis, Panel, Series, Spot};
use crate::chart::ratio_bars::finding;
use crate::chart::scales::Scale;
use record::history::{ChangePoint, History, Point};
use record::judgement::{Outcome, Phrase};
use spec::units::show_number;

/// The records of one experiment, of its full or its quick form.
pub struct OverTime<'a> {
    /// Its name.
    pub experiment: &'a str,
    /// Its question in the newest record.
    pub question: &'a str,
    /// Whether they are of the quick form.
    pub is_quick: bool,
    /// Whether there are records of the other form.
    pub has_other_form: bool,
    /// Every metric over the records.
    pub histories: &'a [History],
    /// The [`key`] of the history that is shown. If there is none of that key, the first that
    /// changed is shown, or the first.
    pub chosen: &'a str,
    /// The number of records that are not used: unsound, or not judged yet.
    pub left_out: usize,
}

/// Returns the name of a history among those of an experiment.
pub fn key(history: &History) -> String {
    format!(
        "{}/{}/{}/{}",
        history.metric.describe().name,
        cell(history),
        history.contender,
        history.baseline
    )
}

/// Returns the address of the page of an experiment.
pub(super) fn link_to_history(experiment: &str, is_quick: bool) -> Link {
    let page = Link::to("/experiments/", experiment);
    if is_quick { page.with("form", "quick") } else { page }
}

fn cell(history: &History) -> &str {
    history.cell.as_deref().unwrap_or("start")
}

/// Shows a metric over records.
pub fn over_time(view: &OverTime<'_>) -> Page {
    let form = if view.is_quick { "quick form" } else { "full form" };
    let other = match view.has_other_form {
        true => Html::default().raw("<p class=\"small\">").link(
            &link_to_history(view.experiment, !view.is_quick),
            if view.is_quick {
                "The records of the full form"
            } else {
                "The records of the quick form"
            },
        ),
        false => Html::default().raw("<p>"),
    };
    let left_out = match view.left_out {
        0 => String::new(),
        1 => "One record is not used: it is unsound, or not judged.".to_owned(),
        n => format!("{n} records are not used: they are unsound, or not judged."),
    };
    let chosen = view.histories.iter().find(|h| key(h) == view.chosen);
    let chosen = chosen
        .or_else(|| view.histories.iter().find(|h| !h.compared.is_empty()))
        .or_else(|| view.histories.first());
    let body = Html::default()
        .element("<p class=\"lead\">", view.question, "</p>\n")
        .put(other)
        .raw("</p>\n")
        .element("<p class=\"small\">", left_out, "</p>\n")
        .put(chosen.map_or_else(|| Html::default().raw("<p class=\"empty\">No record of it has a metric yet.</p>\n"), shown))
        .raw("<h2>Every metric</h2>\n<p class=\"lead\">A change is reported if it is larger than the margin, and if chance would cause one in at most a hundred series. With fewer than about ten records none is reported. Records were measured on different days: if the values of contender and baseline change alike, the machine probably changed.</p>\n")
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr><th>Metric</th><th>Cell</th><th>Contender</th><th>Records</th><th>Newest</th><th>Against the baseline</th><th>Its own values</th><th>The baseline's values</th></tr></thead><tbody>\n")
        .put_all(view.histories.iter().map(|history| row(view, history)))
        .raw("</tbody></table></div>\n");
    Page::new(format!("{} over time, {form}", view.experiment), body)
}

fn row(view: &OverTime<'_>, history: &History) -> Html {
    let to = link_to_history(view.experiment, view.is_quick).with("of", &key(history));
    let newest = history.points.last().map_or(String::new(), |p| p.verdict.phrase());
    let changes = |turns: &[ChangePoint]| {
        let records = turns
            .iter()
            .filter_map(|turn| Some(format!("with {}", history.points.get(turn.at)?.record)));
        let records: Vec<String> = records.collect();
        if records.is_empty() {
            "no change".to_owned()
        } else {
            format!("changed {}", records.join(", "))
        }
    };
    Html::default()
        .raw("<tr><th scope=\"row\">")
        .link(&to, history.metric.describe().label)
        .element("</th><td><bdi>", cell(history), "</bdi></td>")
        .element(
            "<td><bdi>",
            format_args!("{} against {}", history.contender, history.baseline),
            "</bdi></td>",
        )
        .element("<td class=\"number\">", history.points.len(), "</td>")
        .element("<td>", newest, "</td>")
        .element("<td>", changes(&history.compared), "</td>")
        .element("<td>", changes(&history.values), "</td>")
        .element("<td>", changes(&history.baseline_values), "</td></tr>\n")
}

/// The compared value of a record, as on the axis.
fn compared(point: &Point) -> Option<f64> {
    point.verdict.ratio.or(point.verdict.difference)
}

fn shown(history: &History) -> Html {
    let about = history.metric.describe();
    let what = if about.by_difference {
        format!("{} less the baseline's, {}", about.label, about.unit)
    } else {
        format!("{}, ratio to the baseline", about.label)
    };
    let title = format!(
        "{} of {} in {}, against {}",
        about.label,
        history.contender,
        cell(history),
        history.baseline
    );
    let values = |of: fn(&Point) -> Option<f64>| {
        (1u32..).zip(&history.points).map(|(n, p)| (f64::from(n), of(p))).collect()
    };
    let lines = [
        Line { name: history.contender.to_string(), points: values(|p| p.verdict.value) },
        Line {
            name: format!("{} (baseline)", history.baseline),
            points: values(|p| p.verdict.baseline_value),
        },
    ];
    let unit = format!("{}, {}", about.label, about.unit);
    Html::default()
        .element("<h2>", &title, "</h2>\n")
        .put(changes(history))
        .raw("<div class=\"charts\">\n<div><h3>Against the baseline</h3>")
        .put(comparison(history, &title, &what))
        .raw("<p class=\"small\">One mark for each record, with its interval. A new level begins at each dashed line.</p></div>\n<div><h3>Values of both</h3>")
        .put(plot(&format!("Values of {title}"), ["records, oldest first", &unit], Some(&lines[1].name), &lines))
        .raw("</div>\n</div>\n")
        .put(points(history))
}

/// The changes in sentences.
fn changes(history: &History) -> Html {
    let turns = history
        .compared
        .iter()
        .map(|turn| sentence(history, turn, "The contender changed against the baseline"));
    let own = history
        .values
        .iter()
        .map(|turn| sentence(history, turn, "The contender's own values changed"));
    let behind = history
        .baseline_values
        .iter()
        .map(|turn| sentence(history, turn, "The baseline's values changed"));
    let sentences: Vec<Html> = turns.chain(own).chain(behind).collect();
    match sentences.is_empty() {
        true => Html::default().raw("<p>No change was found.</p>\n"),
        false => Html::default().raw("<ul>\n").put_all(sentences).raw("</ul>\n"),
    }
}

fn sentence(history: &History, turn: &ChangePoint, what: &'static str) -> Html {
    let Some(point) = history.points.get(turn.at) else { return Html::default() };
    let of = if turn.before > 0.0 {
        let directions = history.metric.describe().words.short;
        format!(": {}", Phrase::of_ratio(turn.after / turn.before, None, directions))
    } else {
        String::new()
    };
    Html::default()
        .raw("<li>")
        .raw(what)
        .raw(" with ")
        .link(&Link::to("/records/", &point.record), &point.record)
        .element(
            " (",
            format_args!(
                "{}), from {} to {}{of}; p {}.",
                minute(&point.recorded_at),
                show_number(turn.before),
                show_number(turn.after),
                show_number(turn.p)
            ),
            "</li>\n",
        )
}

/// Draws a mark and an interval for each record, the typical level between changes, and the
/// changes.
fn comparison(history: &History, title: &str, axis: &str) -> Html {
    let mut series: Vec<Series> = OUTCOMES.map(|outcome| of_outcome(history, outcome)).into();
    series.push(Series { who: LEVEL.into(), reaches: levels(history), ..Series::default() });
    series.retain(|of| !of.spots.is_empty() || !of.reaches.is_empty());
    let heights = || {
        let ends = series.iter().flat_map(|of| of.reaches.iter().flatten()).map(|(_, y)| *y);
        ends.chain(series.iter().flat_map(|of| &of.spots).map(|spot| spot.at.1))
    };
    let changes = history.compared.iter().map(|turn| (place(turn.at) - 0.5, "changed".to_owned()));
    let panel = Panel {
        title: String::new(),
        x: Axis {
            name: "records, oldest first".into(),
            scale: Scale::spanning((0..history.points.len()).map(place)),
        },
        y: Axis { name: axis.to_owned(), scale: Scale::around(heights()) },
        has_rows: false,
        pointers: changes.collect(),
        series,
    };
    figure(title, panel, &looks_of_outcomes())
}

const OUTCOMES: [Outcome; 4] =
    [Outcome::Better, Outcome::Worse, Outcome::Equivalent, Outcome::Undecided];
/// The name of the typical level between two changes.
const LEVEL: &str = "level between changes";

fn looks_of_outcomes() -> Looks {
    let outcomes = OUTCOMES.map(|outcome| {
        let finding = finding(outcome.name());
        let (colour, shape) = (finding.colour, finding.mark);
        (outcome.name().to_owned(), Look { colour, shape, dash: "", width: 1.9 })
    });
    let level = Look { colour: INK, shape: "", dash: "", width: 1.2 };
    Looks::chosen(outcomes.into_iter().chain([(LEVEL.to_owned(), level)]))
}

/// The place of a record on the axis, from 1.
fn place(index: usize) -> f64 {
    (index + 1) as f64
}

/// The records with one outcome, as marks that link to them, with their intervals.
fn of_outcome(history: &History, outcome: Outcome) -> Series {
    let points = history.points.iter().enumerate();
    let of_outcome = || points.clone().filter(|(_, point)| point.verdict.outcome == outcome);
    let spot = |(index, point): (usize, &Point)| {
        let text = format!(
            "{}, {}: {}, {}",
            point.record,
            minute(&point.recorded_at),
            point.verdict.phrase(),
            outcome.name()
        );
        let link = Link::to("/records/", &point.record).address().to_owned();
        Some(Spot { at: (place(index), compared(point)?), text, link: Some(link) })
    };
    let reach = |(index, point): (usize, &Point)| {
        let interval = point.verdict.interval.filter(|_| compared(point).is_some())?;
        Some([(place(index), interval.low), (place(index), interval.high)])
    };
    Series {
        who: outcome.name().to_owned(),
        spots: of_outcome().filter_map(spot).collect(),
        reaches: of_outcome().filter_map(reach).collect(),
        is_unused: outcome == Outcome::Undecided,
        ..Series::default()
    }
}

/// The typical level before, between and after the changes.
fn levels(history: &History) -> Vec<[(f64, f64); 2]> {
    let begins = std::iter::once(0).chain(history.compared.iter().map(|t| t.at));
    let ends = history.compared.iter().map(|t| t.at).chain([history.points.len()]);
    let first = history.compared.first().map(|t| t.before);
    let typical = first.into_iter().chain(history.compared.iter().map(|t| t.after));
    let levels = begins.zip(ends).zip(typical);
    levels
        .map(|((begin, end), level)| [(place(begin) - 0.5, level), (place(end) - 0.5, level)])
        .collect()
}

fn points(history: &History) -> Html {
    let unit = history.metric.describe().unit;
    let show = |value: Option<f64>| {
        value.map_or("-".to_owned(), |v| format!("{} {unit}", show_number(v)).trim_end().to_owned())
    };
    let rows = history.points.iter().rev().map(|p| {
        Html::default()
            .element("<tr><td>", minute(&p.recorded_at), "</td><td>")
            .link(&Link::to("/records/", &p.record), &p.record)
            .raw(if p.is_elsewhere {
                " <span class=\"small\">(another machine than before)</span>"
            } else {
                ""
            })
            .raw("</td><td><span class=\"outcome ")
            .raw(class(p.verdict.outcome))
            .element("\">", p.verdict.outcome.name(), "</span> ")
            .text(p.verdict.phrase())
            .element("</td><td class=\"number\">", show(p.verdict.value), "</td>")
            .element("<td class=\"number\">", show(p.verdict.baseline_value), "</td></tr>\n")
    });
    Html::default()
        .raw("<details class=\"more\"><summary>As a table</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr><th>Begun</th><th>Record</th><th>Against the baseline</th><th class=\"number\">Contender</th><th class=\"number\">Baseline</th></tr></thead><tbody>\n")
        .put_all(rows)
        .raw("</tbody></table></div></details>\n")
}
