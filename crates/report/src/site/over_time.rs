//! A metric over the records of one experiment, with the places where it changed.

use super::chart::{Frame, Line, class, dot, plot, stroke};
use super::{Html, Link, Page, minute};
use model::history::{History, Point, Turn};
use model::judgement::RatioUnit;
use model::units::show_number;

/// The records of one experiment, in one form of it.
pub struct OverTime<'a> {
    /// Its name.
    pub experiment: &'a str,
    /// Its question, as the newest record has it.
    pub question: &'a str,
    /// Which form.
    pub is_quick: bool,
    /// Whether there are records of the other form as well.
    pub has_other_form: bool,
    /// Every metric over them.
    pub histories: &'a [History],
    /// The [`key`] of the one that is shown; without such a one, the first that changed, or the first.
    pub chosen: &'a str,
    /// Records that nothing is told from: unsound, or not judged yet.
    pub left_out: usize,
}

/// Names a history among those of an experiment.
pub fn key(history: &History) -> String {
    format!("{}/{}/{}/{}", history.metric.describe().name, cell(history), history.contender, history.baseline)
}

/// The page of an experiment.
pub(super) fn link(experiment: &str, is_quick: bool) -> Link {
    let page = Link::of("/experiments/", experiment);
    if is_quick { page.with("form", "quick") } else { page }
}

fn cell(history: &History) -> &str {
    history.cell.as_deref().unwrap_or("start")
}

/// A metric over records.
pub fn over_time(view: &OverTime<'_>) -> Page {
    let form = if view.is_quick { "quick form" } else { "full form" };
    let other = match view.has_other_form {
        true => Html::default().raw("<p class=\"small\">").link(
            &link(view.experiment, !view.is_quick),
            if view.is_quick { "The records of the full form" } else { "The records of the quick form" },
        ),
        false => Html::default().raw("<p>"),
    };
    let left_out = match view.left_out {
        0 => String::new(),
        1 => "One record is left out: it is unsound, or not judged.".to_owned(),
        n => format!("{n} records are left out: they are unsound, or not judged."),
    };
    let chosen = view.histories.iter().find(|h| key(h) == view.chosen);
    let chosen = chosen.or_else(|| view.histories.iter().find(|h| !h.compared.is_empty())).or_else(|| view.histories.first());
    let body = Html::default()
        .element("<p class=\"lead\">", view.question, "</p>\n")
        .put(other)
        .raw("</p>\n")
        .element("<p class=\"small\">", left_out, "</p>\n")
        .put(chosen.map_or_else(|| Html::default().raw("<p class=\"empty\">No record of it tells of any metric yet.</p>\n"), shown))
        .raw("<h2>Every metric</h2>\n<p class=\"lead\">A change is told where it is more than the margin and chance would show one in a hundred series; with fewer than about ten records none can be. Records were measured on different days: a change of the contender's values and of the baseline's alike is most likely one of the machine.</p>\n")
        .raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr><th>Metric</th><th>Cell</th><th>Who</th><th>Records</th><th>Newest</th><th>Against the baseline</th><th>Its own values</th><th>The baseline's values</th></tr></thead><tbody>\n")
        .all(view.histories.iter().map(|history| row(view, history)))
        .raw("</tbody></table></div>\n");
    Page::new(format!("{} over time, {form}", view.experiment), body)
}

fn row(view: &OverTime<'_>, history: &History) -> Html {
    let to = link(view.experiment, view.is_quick).with("of", &key(history));
    let newest = history.points.last().map_or(String::new(), |p| p.verdict.phrase());
    let told = |turns: &[Turn]| {
        let said = turns.iter().filter_map(|turn| Some(format!("with {}", history.points.get(turn.at)?.record)));
        let said: Vec<String> = said.collect();
        if said.is_empty() { "no change".to_owned() } else { format!("changed {}", said.join(", ")) }
    };
    Html::default()
        .raw("<tr><th scope=\"row\">")
        .link(&to, history.metric.describe().label)
        .element("</th><td><bdi>", cell(history), "</bdi></td>")
        .element("<td><bdi>", format_args!("{} against {}", history.contender, history.baseline), "</bdi></td>")
        .element("<td class=\"number\">", history.points.len(), "</td>")
        .element("<td>", newest, "</td>")
        .element("<td>", told(&history.compared), "</td>")
        .element("<td>", told(&history.values), "</td>")
        .element("<td>", told(&history.baseline_values), "</td></tr>\n")
}

/// What is compared, as it stands on the axis.
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
    let title = format!("{} of {} in {}, against {}", about.label, history.contender, cell(history), history.baseline);
    let values = |of: fn(&Point) -> Option<f64>| (1u32..).zip(&history.points).map(|(n, p)| (f64::from(n), of(p))).collect();
    let lines = [
        Line { name: history.contender.to_string(), class: "c1", points: values(|p| p.verdict.value) },
        Line { name: format!("{} (baseline)", history.baseline), class: "c0", points: values(|p| p.verdict.baseline_value) },
    ];
    let turns = history.compared.iter().map(|turn| sentence(history, turn, "The contender changed against the baseline"));
    let own = history.values.iter().map(|turn| sentence(history, turn, "The contender's own values changed"));
    let behind = history.baseline_values.iter().map(|turn| sentence(history, turn, "The baseline's values changed"));
    let sentences: Vec<Html> = turns.chain(own).chain(behind).collect();
    let told = match sentences.is_empty() {
        true => Html::default().raw("<p>No change is told.</p>\n"),
        false => Html::default().raw("<ul>\n").all(sentences).raw("</ul>\n"),
    };
    Html::default()
        .element("<h2>", &title, "</h2>\n")
        .put(told)
        .raw("<div class=\"charts\">\n<div><h3>Against the baseline</h3><figure>")
        .put(comparison(history, &title, &what))
        .raw("<figcaption class=\"small\">A mark a record with its interval; a level begins at each dashed line.</figcaption></figure></div>\n<div><h3>Both by themselves</h3>")
        .put(plot(&format!("Values of {title}"), "records, oldest first", &format!("{}, {}", about.label, about.unit), &lines))
        .raw("</div>\n</div>\n")
        .put(points(history))
}

fn sentence(history: &History, turn: &Turn, what: &'static str) -> Html {
    let Some(point) = history.points.get(turn.at) else { return Html::default() };
    let of = if turn.before > 0.0 {
        let ratio = turn.after / turn.before;
        let unit = RatioUnit::of(&[ratio]);
        format!(", {} {}what it was", unit.show(ratio), unit.preposition())
    } else {
        String::new()
    };
    Html::default().raw("<li>").raw(what).raw(" with ").link(&Link::of("/records/", &point.record), &point.record).element(
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

/// A mark and an interval for each record, and the levels.
fn comparison(history: &History, title: &str, what: &str) -> Html {
    let at = |index: usize| (index + 1) as f64;
    let reach = history.points.iter().enumerate().flat_map(|(index, p)| {
        let ends = p.verdict.interval.map_or([None, None], |i| [Some(i.low), Some(i.high)]);
        ends.into_iter().chain([compared(p)]).flatten().map(move |value| (at(index), value))
    });
    let frame = Frame::around(reach, false);
    let marks = history.points.iter().enumerate().filter_map(|(index, p)| {
        let middle = frame.at(at(index), compared(p)?);
        let whisker = p.verdict.interval.map_or_else(Html::default, |i| {
            let of = class(p.verdict.outcome);
            Html::default()
                .raw("<g class=\"")
                .raw(of)
                .raw("\">")
                .put(stroke("reach", frame.at(at(index), i.low), frame.at(at(index), i.high)))
                .raw("</g>")
        });
        let said = format!("{}, {}: {}, {}", p.record, minute(&p.recorded_at), p.verdict.phrase(), p.verdict.outcome.name());
        let mark = Html::default().link_of(&Link::of("/records/", &p.record), dot(class(p.verdict.outcome), middle, 4.5, &said));
        Some(whisker.put(mark).raw("\n"))
    });
    let begins = std::iter::once(0).chain(history.compared.iter().map(|t| t.at));
    let ends = history.compared.iter().map(|t| t.at).chain([history.points.len()]);
    let typical = history.compared.first().map(|t| t.before).into_iter().chain(history.compared.iter().map(|t| t.after));
    let levels = begins
        .zip(ends)
        .zip(typical)
        .map(|((begin, end), level)| stroke("median", frame.at(at(begin) - 0.5, level), frame.at(at(end) - 0.5, level)));
    let changes = history.compared.iter().map(|turn| {
        let (x, bottom) = frame.at(at(turn.at) - 0.5, f64::MIN);
        stroke("change", (x, bottom), (x, frame.at(at(turn.at), f64::MAX).1))
    });
    frame.picture(title, "records, oldest first", what, Html::default().all(levels).all(changes).all(marks), true)
}

fn points(history: &History) -> Html {
    let unit = history.metric.describe().unit;
    let show = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{} {unit}", show_number(v)).trim_end().to_owned());
    let rows = history.points.iter().rev().map(|p| {
        Html::default()
            .element("<tr><td>", minute(&p.recorded_at), "</td><td>")
            .link(&Link::of("/records/", &p.record), &p.record)
            .raw(if p.is_elsewhere { " <span class=\"small\">(another machine than before)</span>" } else { "" })
            .raw("</td><td><span class=\"outcome ")
            .raw(class(p.verdict.outcome))
            .element("\">", p.verdict.outcome.name(), "</span> ")
            .text(p.verdict.phrase())
            .element("</td><td class=\"number\">", show(p.verdict.value), "</td>")
            .element("<td class=\"number\">", show(p.verdict.baseline_value), "</td></tr>\n")
    });
    Html::default()
        .raw("<details class=\"more\"><summary>As a table</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr><th>Begun</th><th>Record</th><th>Against the baseline</th><th class=\"number\">Contender</th><th class=\"number\">Baseline</th></tr></thead><tbody>\n")
        .all(rows)
        .raw("</tbody></table></div></details>\n")
}
