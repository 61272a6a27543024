//! Charts within pages of the site, drawn by the engine of `crate::chart`.

use super::html::Html;
use crate::chart::canvas::Canvas;
use crate::chart::look::Looks;
use crate::chart::panel::{Axis, Panel, Series, draw_panels};
use crate::chart::ratio_bars::{Bars, finding};
use crate::chart::scales::Scale;
use record::judgement::{Outcome, Verdict};

/// Width of a chart, and height of its plot.
const SIZE: (f64, f64) = (560.0, 150.0);

/// Returns the class of an outcome in the style sheet.
pub(super) fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "good",
        Outcome::Worse => "bad",
        Outcome::Equivalent => "even",
        Outcome::Undecided => "open",
    }
}

/// A line of a plot, with gaps where a value is missing.
pub(super) struct Line {
    /// Its name in the key.
    pub name: String,
    /// Its points, rising in the first value.
    pub points: Vec<(f64, Option<f64>)>,
}

/// Draws lines over a common axis, with a key. A line without any value is left out.
pub(super) fn plot(title: &str, axes: [&str; 2], baseline: Option<&str>, lines: &[Line]) -> Html {
    let stretches = lines.iter().flat_map(|line| {
        let stretches = line.points.split(|(_, y)| y.is_none());
        let known = stretches.map(|stretch| stretch.iter().filter_map(|(x, y)| Some((*x, (*y)?))));
        known.map(|points| Series {
            who: line.name.clone(),
            line: points.collect(),
            ..Series::default()
        })
    });
    let series: Vec<Series> = stretches.filter(|series| !series.line.is_empty()).collect();
    let points = || series.iter().flat_map(|series| &series.line);
    let [x, y] = axes;
    let panel = Panel {
        title: String::new(),
        x: Axis { name: x.to_owned(), scale: Scale::spanning(points().map(|point| point.0)) },
        y: Axis { name: y.to_owned(), scale: Scale::with_zero(points().map(|point| point.1)) },
        has_rows: false,
        pointers: Vec::new(),
        series: Vec::new(),
    };
    let looks = Looks::of_names(lines.iter().map(|line| line.name.clone()), baseline);
    figure(title, Panel { series, ..panel }, &looks)
}

/// Draws one panel as a figure.
pub(super) fn figure(title: &str, panel: Panel, looks: &Looks) -> Html {
    let mut canvas = Canvas::in_site(SIZE.0, SIZE.1);
    draw_panels(&mut canvas, &[panel], looks);
    Html::default().raw("<figure>").drawing(&canvas, title).raw("</figure>\n")
}

/// Draws intervals one below the other, on an axis of ratios of their own. The band is the margin,
/// which shows the scale of the axis; a verdict without an interval leaves its line empty.
pub(super) fn intervals(title: &str, verdicts: &[&Verdict]) -> Html {
    const WIDTH: f64 = 220.0;
    const EACH: f64 = 14.0;
    let mut canvas = Canvas::in_site(WIDTH, 0.0);
    canvas.y = 0.0;
    let bars = Bars::around(verdicts.iter().copied(), std::iter::empty(), (6.0, WIDTH - 6.0));
    for verdict in verdicts {
        canvas.bar(&bars, EACH, verdict, finding(verdict.outcome.name()));
        canvas.y += EACH;
    }
    Html::default().drawing(&canvas, title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::metric::Metric;

    fn drawn(values: &[Option<f64>]) -> String {
        let points = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
        plot("t", ["x", "y"], None, &[Line { name: "<b>".into(), points }]).document()
    }

    /// Lines and marks below the key.
    fn counts(values: &[Option<f64>]) -> [usize; 3] {
        let html = drawn(values);
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>"), "{html}");
        let (_, plot) = html.split_once(">y</text>").unwrap();
        let paths = plot.matches("<path").count();
        let marks = plot.matches("<path d=\"M-4,-4h8v8h-8z\"").count();
        [paths - marks, marks, plot.matches('L').count()]
    }

    #[test]
    fn line_without_values_is_left_out() {
        let html = drawn(&[None]);
        assert!(!html.contains("<path") && !html.contains("NaN"), "{html}");
    }

    #[test]
    fn point_without_neighbours_has_a_mark() {
        assert_eq!(counts(&[Some(1.0)]), [1, 1, 0]);
        assert_eq!(counts(&[None, Some(0.0), None]), [1, 1, 0]);
        // Two of one point, and one of three.
        let stretches = [Some(1.0), None, Some(1.0), Some(2.0), Some(3.0), None, Some(2.0)];
        assert_eq!(counts(&stretches), [3, 5, 2]);
    }

    #[test]
    fn points_are_drawn_between_the_axes() {
        let html = drawn(&[Some(5.0), Some(f64::NAN), Some(15.0)]);
        assert!(!html.contains("NaN"), "{html}");
        let axis = Scale::around([7.0].into_iter());
        assert!(axis.share(7.0) > 0.0, "{axis:?}");
    }

    #[test]
    fn interval_is_drawn_with_band_and_mark() {
        let mut verdict =
            Verdict::open("b".parse().unwrap(), "a".parse().unwrap(), Metric::Throughput);
        verdict.margin = 0.05;
        (verdict.outcome, verdict.ratio) = (Outcome::Better, Some(2.0));
        verdict.interval = Some(stats::Interval { low: 1.8, high: 2.2 });
        let html = intervals("<t>", &[&verdict, &verdict]).document();
        assert_eq!(html.matches("<rect").count(), 2, "{html}");
        assert!(html.contains("<title>&lt;t&gt;</title>") && html.contains("<path"), "{html}");
    }
}
