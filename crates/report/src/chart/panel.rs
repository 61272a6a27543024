//! Lines, marks and intervals over two axes, below a key that names them. A record may hold any
//! number of them, so each kind has a limit. Start with [`Panel`] and [`draw_panels`].

use super::canvas::{Canvas, EDGE, GRID, INK, LINE, MUTED, short};
use super::look::{Look, Looks};
use super::scales::Scale;
use crate::escape::xml;

/// Height of a row of an axis with names.
const ROW: f64 = 26.0;
/// The most characters of a name ...
pub(crate) const NAME: usize = 30;
/// ... and the width of one, with some room.
pub(crate) const LETTER: f64 = 7.0;
/// The most names in a key, and rows of an axis.
pub(crate) const NAMES: usize = 60;
/// The most series of a panel.
const SERIES: usize = 240;
/// The most points of all lines of a picture, and the fewest that a line may be cut to.
const POINTS: (usize, usize) = (40_000, 16);
/// The number of marks on a line.
const MARKS: usize = 6;
/// The most marks and intervals of a series.
const DOTS: usize = 400;
/// The most characters of the text of a mark.
const SPOT: usize = 400;
/// The most pointers of a panel.
const POINTERS: usize = 12;

/// What one name has in a panel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    /// The name.
    pub who: String,
    /// A line through these points, with marks on it.
    pub line: Vec<(f64, f64)>,
    /// Marks without a line.
    pub marks: Vec<(f64, f64)>,
    /// Small marks.
    pub dots: Vec<(f64, f64)>,
    /// Marks with a text that appears when one points at them.
    pub spots: Vec<Spot>,
    /// Intervals, from one point to the other.
    pub reaches: Vec<[(f64, f64); 2]>,
    /// Whether no verdict uses it; it is then dashed and hollow.
    pub is_unused: bool,
}

/// A mark with a text and, in the site, a link.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// Its place.
    pub at: (f64, f64),
    /// The text.
    pub text: String,
    /// An address of the site.
    pub link: Option<String>,
}

/// An axis with its name and unit.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// `latency, ms`
    pub name: String,
    /// The positions of values.
    pub scale: Scale,
}

/// Series over two axes.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// What it shows; empty if the text around it tells that.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Whether the vertical axis has names instead of numbers.
    pub has_rows: bool,
    /// What each name has.
    pub series: Vec<Series>,
    /// Places of the horizontal axis to point at, with a text.
    pub pointers: Vec<(f64, String)>,
}

/// Draws panels one below the other, below a key. Returns whether anything was left out.
pub(crate) fn draw_panels(canvas: &mut Canvas, panels: &[Panel], looks: &Looks) -> bool {
    let shown = || panels.iter().flat_map(|panel| panel.series.iter().take(SERIES));
    let most = (POINTS.0 / shown().count().max(1)).max(POINTS.1);
    let names =
        shown().map(|series| series.who.as_str()).fold(Vec::new(), |mut names: Vec<&str>, name| {
            if !names.contains(&name) && names.len() <= NAMES {
                names.push(name);
            }
            names
        });
    key(canvas, &names, looks);
    panels.iter().for_each(|panel| panel.draw(canvas, looks, most));
    let is_cut = |panel: &Panel| panel.series.len() > SERIES || panel.pointers.len() > POINTERS;
    names.len() > NAMES
        || panels.iter().any(is_cut)
        || shown().any(|series| series.line.len() > most || series.dots.len() > DOTS)
}

/// Draws the look of each name, as many in a line as there is room for.
fn key(canvas: &mut Canvas, names: &[&str], looks: &Looks) {
    const COLUMN: f64 = 228.0;
    let wide = canvas.width - 2.0 * EDGE;
    let columns = ((wide / COLUMN) as usize).max(1);
    let wide = wide / columns as f64;
    for line in names[..names.len().min(NAMES)].chunks(columns) {
        for (column, name) in line.iter().enumerate() {
            let (x, y, look) = (EDGE + wide * column as f64, canvas.y - 4.0, looks.get(name));
            canvas.stroke(&[(x, y), (x + 24.0, y)], look.colour, look.width, look.dash);
            canvas.mark((x + 12.0, y), look, 1.0, false);
            canvas.text(
                x + 32.0,
                canvas.y,
                &format!("font-size=\"13\" fill=\"{INK}\""),
                &short(name, NAME - 3),
            );
        }
        canvas.y += LINE;
    }
}

/// Elements that only panels have.
impl Canvas {
    /// Adds a line through points.
    fn stroke(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str) {
        let mut path = String::new();
        for (x, y) in points {
            let step = if path.is_empty() { 'M' } else { 'L' };
            path += &format!("{step}{x:.1},{y:.1}");
        }
        // A line of one point is a dot.
        let end = if points.len() == 1 { "h0" } else { "" };
        let dash =
            if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        self.add(&format!("<path d=\"{path}{end}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>\n"));
    }

    /// Adds a mark with its text and its link.
    fn spot(&mut self, spot: &Spot, at: (f64, f64), look: Look, is_hollow: bool) {
        if let Some(link) = &spot.link {
            self.begin_link(link);
        }
        self.add(&format!("<g><title>{}</title>", xml(&short(&spot.text, SPOT))));
        self.mark(at, look, 1.0, is_hollow);
        self.add("</g>");
        if spot.link.is_some() {
            self.end_link();
        }
    }

    /// Adds a mark.
    fn mark(&mut self, (x, y): (f64, f64), look: Look, size: f64, is_hollow: bool) {
        let Look { colour, shape, .. } = look;
        let fill = if is_hollow { "#fff" } else { colour };
        self.add(&format!(
            "<path d=\"{shape}\" transform=\"translate({x:.1},{y:.1}) scale({size})\" fill=\"{fill}\" stroke=\"{colour}\"/>\n"
        ));
    }
}

/// Where the plot of a panel is on its canvas.
struct Plot<'p> {
    panel: &'p Panel,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot<'_> {
    /// The place of a point on the canvas.
    fn place_of(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (x, y) = (self.panel.x.scale.share(x), self.panel.y.scale.share(y));
        (self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top))
    }

    /// Draws lines and texts at ticks, and the name of the horizontal axis.
    fn axes(&self, canvas: &mut Canvas, small: &str) {
        let Plot { panel, left, right, top, bottom } = *self;
        let grid = format!("stroke=\"{GRID}\"");
        for (tick, text) in &panel.y.scale.ticks {
            let y = self.place_of((0.0, *tick)).1;
            canvas.line((left, y), (right, y), &grid);
            canvas.text(
                left - 8.0,
                y + 4.0,
                &format!("text-anchor=\"end\" {small}"),
                &short(text, NAME),
            );
        }
        for (tick, text) in &panel.x.scale.ticks {
            let x = self.place_of((*tick, 0.0)).0;
            canvas.line((x, top), (x, bottom), &grid);
            canvas.text(x, bottom + 16.0, &format!("text-anchor=\"middle\" {small}"), text);
        }
        canvas.text(
            right,
            bottom + 34.0,
            &format!("text-anchor=\"end\" {small}"),
            &short(&panel.x.name, 100),
        );
    }

    /// Draws the pointers with their texts.
    fn pointers(&self, canvas: &mut Canvas, small: &str) {
        for (place, text) in self.panel.pointers.iter().take(POINTERS) {
            let x = self.place_of((*place, 0.0)).0;
            canvas.stroke(&[(x, self.top), (x, self.bottom)], MUTED, 1.2, "4 3");
            let anchor = if x > canvas.width / 2.0 { "end" } else { "start" };
            let aside = if x > canvas.width / 2.0 { -4.0 } else { 4.0 };
            canvas.text(
                x + aside,
                self.top + 12.0,
                &format!("text-anchor=\"{anchor}\" {small}"),
                &short(text, 2 * NAME),
            );
        }
    }
}

impl Panel {
    fn draw(&self, canvas: &mut Canvas, looks: &Looks, most: usize) {
        let small = format!("font-size=\"12\" fill=\"{MUTED}\"");
        let ticks = &self.y.scale.ticks;
        let longest =
            ticks.iter().map(|(_, text)| text.chars().count().min(NAME)).max().unwrap_or(0);
        let height =
            if self.has_rows { ROW * ticks.len().max(1) as f64 } else { canvas.plot_height };
        canvas.y += LINE;
        if !self.title.is_empty() {
            canvas.paragraph(
                EDGE,
                canvas.characters(EDGE, 14.0).min(110),
                &format!("font-size=\"14\" font-weight=\"600\" fill=\"{INK}\""),
                &self.title,
            );
        }
        canvas.paragraph(EDGE, canvas.characters(EDGE, 12.0).min(110), &small, &self.y.name);
        canvas.y -= LINE;
        let plot = Plot {
            panel: self,
            left: EDGE + 16.0 + LETTER * longest as f64,
            right: canvas.width - EDGE,
            top: canvas.y + 12.0,
            bottom: canvas.y + 12.0 + height,
        };
        plot.axes(canvas, &small);
        plot.pointers(canvas, &small);
        for series in self.series.iter().take(SERIES) {
            let width_max = if self.series.len() > 12 { 1.0 } else { 3.0 };
            series.draw(canvas, looks.get(&series.who), &plot, width_max, most);
        }
        canvas.y = plot.bottom + 34.0 + LINE / 2.0;
    }
}

impl Series {
    fn draw(&self, canvas: &mut Canvas, look: Look, plot: &Plot<'_>, width_max: f64, most: usize) {
        let width = look.width.min(width_max);
        let line: Vec<(f64, f64)> =
            highest(&self.line, most).into_iter().map(|point| plot.place_of(point)).collect();
        if !line.is_empty() {
            canvas.stroke(
                &line,
                look.colour,
                width,
                if self.is_unused { "1 3" } else { look.dash },
            );
        }
        for [from, to] in self.reaches.iter().take(DOTS) {
            let style = format!("stroke=\"{}\" stroke-width=\"{width}\"", look.colour);
            canvas.line(plot.place_of(*from), plot.place_of(*to), &style);
        }
        for point in self.dots.iter().take(DOTS) {
            canvas.mark(plot.place_of(*point), look, 0.6, self.is_unused);
        }
        let own = self.marks.iter().take(DOTS).map(|point| plot.place_of(*point));
        // From the last point on, which other lines cover least often.
        let every = line.len().div_ceil(MARKS).max(1);
        for place in line.iter().rev().step_by(every).copied().chain(own) {
            canvas.mark(place, look, 0.8, self.is_unused);
        }
        for spot in self.spots.iter().take(DOTS) {
            canvas.spot(spot, plot.place_of(spot.at), look, self.is_unused);
        }
    }
}

/// Thins points to at most `most`: of each stretch the highest is kept, so that no peak is lost.
fn highest(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let stretch = points.len().div_ceil(most.max(1)).max(1);
    points
        .chunks(stretch)
        .filter_map(|of| of.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(series: Vec<Series>) -> Panel {
        let points = || series.iter().flat_map(|s| s.line.iter().copied()).collect::<Vec<_>>();
        Panel {
            title: "p99 over time".into(),
            x: Axis {
                name: "s".into(),
                scale: Scale::with_zero(points().into_iter().map(|p| p.0)),
            },
            y: Axis {
                name: "p99, ms".into(),
                scale: Scale::with_zero(points().into_iter().map(|p| p.1)),
            },
            has_rows: false,
            series,
            pointers: vec![(5.0, "here".into())],
        }
    }

    fn series(who: usize, points: usize) -> Series {
        Series {
            who: format!("c{who}"),
            line: (0..points).map(|i| (i as f64, (i % 7) as f64)).collect(),
            ..Series::default()
        }
    }

    #[test]
    fn long_line_keeps_every_peak() {
        let points: Vec<(f64, f64)> =
            (0..1_000).map(|i| (f64::from(i), if i == 777 { 9.0 } else { 1.0 })).collect();
        let kept = highest(&points, 10);
        assert!(kept.len() == 10 && kept.contains(&(777.0, 9.0)), "{kept:?}");
        assert_eq!((highest(&points, 5_000).len(), highest(&[], 10).len()), (1_000, 0));
    }

    #[test]
    fn drawing_is_bounded_and_reports_what_it_left_out() {
        let mut canvas = Canvas::new();
        let panels: Vec<Panel> =
            (0..4).map(|_| panel((0..1_000).map(|who| series(who, 500)).collect())).collect();
        let looks = Looks::of_names((0..1_000).map(|i| format!("c{i}")), None);
        assert!(draw_panels(&mut canvas, &panels, &looks), "something is left out");
        let drawn = canvas.document("t");
        assert!(
            drawn.len() < 4_000_000
                && drawn.matches("<path").count() < 4 * SERIES * (MARKS + 2) + 200,
            "{}",
            drawn.len()
        );
        let mut canvas = Canvas::new();
        let few = Looks::of_names(std::iter::once("c1".to_owned()), None);
        assert!(!draw_panels(&mut canvas, &[panel(vec![series(1, 20)])], &few));
        let drawn = canvas.document("t");
        for text in [">c1<", ">p99, ms<", ">here<", ">p99 over time<", "stroke-dasharray=\"4 3\""] {
            assert!(drawn.contains(text), "{text}\n{drawn}");
        }
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
