//! Pictures within a page, as SVG without a style of its own: classes, so that they follow light and dark.

use super::Html;
use crate::scales::{Ratios, band, round_number, ticks};
use model::judgement::{Outcome, Verdict};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// The class of an outcome.
pub fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "good",
        Outcome::Worse => "bad",
        Outcome::Equivalent => "even",
        Outcome::Undecided => "open",
    }
}

/// A line of a plot, with gaps where nothing is known.
pub struct Line {
    /// Its name, in the legend.
    pub name: String,
    /// The class that gives its colour.
    pub class: &'static str,
    /// Rising in the first.
    pub points: Vec<(f64, Option<f64>)>,
}

/// Axes, and where points stand between them.
pub struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// Around points; the vertical axis begins at 0 where that is asked, and where all values are nearly the same.
    pub fn around(points: impl Iterator<Item = (f64, f64)>, from_zero: bool) -> Frame {
        let (mut x, mut y) = ((f64::INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::NEG_INFINITY));
        for (at, value) in points.filter(|(at, value)| at.is_finite() && value.is_finite()) {
            x = (x.0.min(at), x.1.max(at));
            y = (y.0.min(value), y.1.max(value));
        }
        if x.0 > x.1 {
            return Frame { x: (0.0, 1.0), y: (0.0, 1.0) };
        }
        if x.0 == x.1 {
            x = (x.0 - 1.0, x.1 + 1.0);
        }
        let room = 0.08 * (y.1 - y.0);
        let least = if from_zero || room <= 1e-6 * y.1.abs() { y.0.min(0.0) } else { y.0 - room };
        let most = if y.1 > least { y.1 + room } else { least + 1.0 };
        Frame { x, y: (least, most) }
    }

    /// Where a point stands.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let share = |value: f64, (low, high): (f64, f64)| ((value - low) / (high - low)).clamp(0.0, 1.0);
        (LEFT + share(x, self.x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - share(y, self.y) * (HEIGHT - TOP - BOTTOM))
    }

    /// The picture: axes with ticks, and what stands between them; with links in it, it is no mere image.
    pub fn picture(&self, title: &str, x_name: &str, y_name: &str, within: Html, has_links: bool) -> Html {
        let horizontal = ticks(self.y.0, self.y.1, 5).into_iter().map(|tick| {
            let (x, y) = self.at(self.x.0, tick);
            stroke("grid", (x, y), (WIDTH - RIGHT, y)).put(words("end", (x - 6.0, y + 4.0), &round_number(tick)))
        });
        let vertical = ticks(self.x.0, self.x.1, 8).into_iter().map(|tick| {
            let (x, y) = self.at(tick, self.y.0);
            words("middle", (x, y + 16.0), &round_number(tick))
        });
        Html::default()
            .raw("<svg class=\"plotted\" viewBox=\"0 0 560 190\" role=\"")
            .raw(if has_links { "group" } else { "img" })
            .raw("\">\n")
            .element("<title>", title, "</title>\n")
            .all(horizontal)
            .all(vertical)
            .put(words("end", (WIDTH - RIGHT, HEIGHT - 6.0), x_name))
            .put(words("", (0.0, HEIGHT - 6.0), y_name))
            .put(within)
            .raw("</svg>\n")
    }
}

/// Lines over a common axis, with their legend; of those of which nothing is known, neither.
pub fn plot(title: &str, x_name: &str, y_name: &str, lines: &[Line]) -> Html {
    let lines: Vec<&Line> = lines.iter().filter(|line| line.points.iter().any(|(_, y)| y.is_some())).collect();
    let points = lines.iter().flat_map(|line| line.points.iter().filter_map(|(x, y)| Some((*x, (*y)?))));
    let frame = Frame::around(points, true);
    let drawn = lines.iter().map(|line| {
        let stretches = line.points.split(|(_, y)| y.is_none()).map(|stretch| {
            let places: Vec<(f64, f64)> = stretch.iter().filter_map(|(x, y)| Some(frame.at(*x, (*y)?))).collect();
            match places.as_slice() {
                [] => Html::default(),
                // A line of one point would be as good as invisible.
                [(x, y)] => Html::default()
                    .raw("<circle class=\"point ")
                    .raw(line.class)
                    .raw("\" cx=\"")
                    .number(*x)
                    .raw("\" cy=\"")
                    .number(*y)
                    .raw("\" r=\"1.5\"/>\n"),
                places => {
                    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                    Html::default().raw("<path class=\"curve ").raw(line.class).raw("\" d=\"M").text(path.join("L")).raw("\"/>\n")
                }
            }
        });
        Html::default().all(stretches)
    });
    let picture = frame.picture(title, x_name, y_name, Html::default().all(drawn), false);
    let legend = lines.iter().map(|line| {
        Html::default().raw("<span><svg width=\"18\" height=\"8\" aria-hidden=\"true\"><path class=\"curve ").raw(line.class).element(
            "\" d=\"M0,4H18\"/></svg> ",
            &line.name,
            "</span> ",
        )
    });
    Html::default().raw("<figure>").put(picture).raw("<figcaption class=\"key\">").all(legend).raw("</figcaption></figure>\n")
}

/// Intervals on an axis of ratios of their own, one below the other, with the band of the margin, which tells its scale; what has none
/// leaves its line empty.
pub fn intervals(title: &str, verdicts: &[&Verdict]) -> Html {
    const LONG: f64 = 220.0;
    const EACH: f64 = 12.0;
    let height = EACH * verdicts.len() as f64;
    let axis = Ratios::of(verdicts.iter().flat_map(|v| {
        let interval = v.interval.map_or([None, None], |i| [Some(i.low), Some(i.high)]);
        interval.into_iter().flatten().chain(v.ratio).chain(band(v.margin)).collect::<Vec<_>>()
    }));
    let x = |ratio: f64| 6.0 + (LONG - 12.0) * axis.share(ratio);
    let [low, high] = band(verdicts.first().map_or(0.0, |v| v.margin)).map(x);
    let all = verdicts.iter().enumerate().map(|(at, v)| {
        let middle = EACH * (at as f64 + 0.5);
        let Some((interval, ratio)) = v.interval.zip(v.ratio) else { return Html::default() };
        stroke_of("whisker", class(v.outcome), (x(interval.low), middle), (x(interval.high), middle)).put(dot(
            class(v.outcome),
            (x(ratio), middle),
            4.0,
            "",
        ))
    });
    Html::default()
        .raw("<svg class=\"interval\" width=\"220\" height=\"")
        .number(height)
        .raw("\" role=\"img\">")
        .element("<title>", title, "</title>")
        .raw("<rect class=\"band\" y=\"0\" x=\"")
        .number(low)
        .raw("\" width=\"")
        .number(high - low)
        .raw("\" height=\"")
        .number(height)
        .raw("\"/>")
        .put(stroke("one", (x(1.0), 0.0), (x(1.0), height)))
        .all(all)
        .raw("</svg>")
}

/// A straight line.
pub fn stroke(class: &'static str, from: (f64, f64), to: (f64, f64)) -> Html {
    stroke_of(class, "", from, to)
}

fn stroke_of(class: &'static str, more: &'static str, from: (f64, f64), to: (f64, f64)) -> Html {
    Html::default()
        .raw("<line class=\"")
        .raw(class)
        .raw(" ")
        .raw(more)
        .raw("\" x1=\"")
        .number(from.0)
        .raw("\" y1=\"")
        .number(from.1)
        .raw("\" x2=\"")
        .number(to.0)
        .raw("\" y2=\"")
        .number(to.1)
        .raw("\"/>")
}

/// A point, with what is said of it.
pub fn dot(class: &'static str, (x, y): (f64, f64), radius: f64, title: &str) -> Html {
    Html::default()
        .raw("<circle class=\"glyph ")
        .raw(class)
        .raw("\" cx=\"")
        .number(x)
        .raw("\" cy=\"")
        .number(y)
        .raw("\" r=\"")
        .number(radius)
        .element("\"><title>", title, "</title></circle>")
}

/// Words in a picture.
pub fn words(class: &'static str, (x, y): (f64, f64), text: &str) -> Html {
    Html::default().raw("<text class=\"").raw(class).raw("\" x=\"").number(x).raw("\" y=\"").number(y).element("\">", text, "</text>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_between_the_axes() {
        let frame = Frame::around([(1.0, 5.0), (3.0, 15.0), (2.0, f64::NAN)].into_iter(), true);
        assert_eq!(frame.at(1.0, 0.0), (LEFT, HEIGHT - BOTTOM));
        assert_eq!(frame.at(3.0, 1e9), (WIDTH - RIGHT, TOP));
        let one = Frame::around(std::iter::once((4.0, 7.0)), false);
        assert!(one.at(4.0, 7.0).0 > LEFT && one.at(4.0, 7.0).1 < HEIGHT - BOTTOM);
        let none = plot("t", "x", "y", &[Line { name: "<b>".into(), class: "c1", points: vec![(0.0, None)] }]).document();
        assert!(!none.contains("<path") && !none.contains("<circle") && !none.contains("NaN"), "{none}");
    }

    #[test]
    fn a_point_without_neighbours_is_a_dot() {
        let drawn = |values: &[Option<f64>]| {
            let points = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            let html = plot("t", "x", "y", &[Line { name: "<b>".into(), class: "c4", points }]).document();
            assert!(html.contains("&lt;b&gt;"), "{html}");
            let picture = &html[..html.find("<figcaption").unwrap()];
            [picture.matches("<circle class=\"point c4\"").count(), picture.matches("<path").count(), picture.matches('L').count()]
        };
        assert_eq!(drawn(&[Some(1.0)]), [1, 0, 0]);
        assert_eq!(drawn(&[None, Some(0.0), None]), [1, 0, 0]);
        assert_eq!(drawn(&[Some(1.0), None, Some(1.0), Some(2.0), Some(3.0), None, Some(2.0)]), [2, 1, 2]);
    }
}
