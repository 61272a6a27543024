//! Lines, marks and intervals over common axes. Who is who is told by colour, mark and dash, as on the page (`web/src/identity.tsx`), and by a
//! key. Whatever a record holds, as much is drawn as can be looked at.

use super::canvas::{Canvas, EDGE, INK, LINE, MUTED, WIDTH, short};
use crate::scales::Scale;
use std::collections::BTreeMap;

/// Of an axis with numbers.
const HEIGHT: f64 = 280.0;
/// Of a row of an axis with names.
const ROW: f64 = 26.0;
/// The most characters of a name ...
pub const NAME: usize = 30;
/// ... and the width of one, with some room.
pub const LETTER: f64 = 7.0;
/// The most names in a key, and rows of an axis.
pub const NAMES: usize = 60;
/// The most series of a panel.
const SERIES: usize = 240;
/// The most points of all lines of a picture, and those that a line has in any case.
const POINTS: (usize, usize) = (40_000, 16);
/// How many marks tell whose line it is.
const MARKS: usize = 6;
/// The most marks of what was looked at one by one.
const DOTS: usize = 400;
/// The most places that are pointed at.
const POINTERS: usize = 12;

const COLOURS: [&str; 7] = ["#2660d8", "#e0713a", "#04604c", "#b5348b", "#756708", "#2495d4", "#5b0382"];
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];
/// Each fits a circle of radius 5; the first is the baseline's.
const SHAPES: [&str; 6] = [
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5L5,4H-5z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "M0,5L5,-4H-5z",
    "M-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
];

/// How somebody looks everywhere in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    colour: &'static str,
    shape: &'static str,
    dash: &'static str,
    width: f64,
}

const BASELINE: Look = Look { colour: INK, shape: SHAPES[0], dash: "", width: 2.6 };
const UNKNOWN: Look = Look { colour: MUTED, shape: SHAPES[0], dash: "2 2", width: 1.9 };

/// How everybody looks, by name.
pub struct Looks(BTreeMap<String, Look>);

impl Looks {
    /// The baseline in ink, the others in turn.
    pub fn of(names: impl Iterator<Item = String>, baseline: Option<&str>) -> Looks {
        let mut looks = BTreeMap::new();
        let mut place = 0;
        for name in names {
            if looks.contains_key(&name) {
                continue;
            }
            let look = if Some(name.as_str()) == baseline {
                BASELINE
            } else {
                place += 1;
                let at = place - 1;
                let dash = DASHES[at / COLOURS.len() % DASHES.len()];
                Look { colour: COLOURS[at % COLOURS.len()], shape: SHAPES[at % (SHAPES.len() - 1) + 1], dash, width: 1.9 }
            };
            looks.insert(name, look);
        }
        Looks(looks)
    }

    fn get(&self, name: &str) -> Look {
        self.0.get(name).copied().unwrap_or(UNKNOWN)
    }
}

/// What somebody has in a panel.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Who.
    pub who: String,
    /// A line through these points, with marks on it.
    pub line: Vec<(f64, f64)>,
    /// Marks of their own.
    pub marks: Vec<(f64, f64)>,
    /// Small ones.
    pub dots: Vec<(f64, f64)>,
    /// Intervals, from one point to the other.
    pub reaches: Vec<[(f64, f64); 2]>,
    /// No verdict uses it: dashed, and hollow.
    pub is_unused: bool,
}

/// An axis with what it is of, and its unit.
#[derive(Clone, Debug)]
pub struct Axis {
    /// `latency, ms`
    pub name: String,
    /// Where values stand.
    pub scale: Scale,
}

/// Series over common axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical one.
    pub y: Axis,
    /// Whether that one has names in place of numbers.
    pub has_rows: bool,
    /// Who has what.
    pub series: Vec<Series>,
    /// Places of the horizontal axis to point at, with words.
    pub pointers: Vec<(f64, String)>,
}

/// Panels, one below the other, below a key; whether anything is left out.
pub fn draw(canvas: &mut Canvas, panels: &[Panel], looks: &Looks) -> bool {
    let shown = || panels.iter().flat_map(|panel| panel.series.iter().take(SERIES));
    let most = (POINTS.0 / shown().count().max(1)).max(POINTS.1);
    let names = shown().map(|series| series.who.as_str()).fold(Vec::new(), |mut names: Vec<&str>, name| {
        if !names.contains(&name) && names.len() <= NAMES {
            names.push(name);
        }
        names
    });
    key(canvas, &names, looks);
    panels.iter().for_each(|panel| panel.draw(canvas, looks, most));
    let is_cut = |panel: &Panel| panel.series.len() > SERIES || panel.pointers.len() > POINTERS;
    names.len() > NAMES || panels.iter().any(is_cut) || shown().any(|series| series.line.len() > most || series.dots.len() > DOTS)
}

/// Who is who, four in a line.
fn key(canvas: &mut Canvas, names: &[&str], looks: &Looks) {
    const COLUMNS: usize = 4;
    let wide = (WIDTH - 2.0 * EDGE) / COLUMNS as f64;
    for line in names[..names.len().min(NAMES)].chunks(COLUMNS) {
        for (column, name) in line.iter().enumerate() {
            let (x, y, look) = (EDGE + wide * column as f64, canvas.y - 4.0, looks.get(name));
            canvas.stroke(&[(x, y), (x + 24.0, y)], look.colour, look.width, look.dash);
            canvas.mark((x + 12.0, y), look, 1.0, false);
            canvas.text(x + 32.0, canvas.y, &format!("font-size=\"13\" fill=\"{INK}\""), &short(name, NAME - 3));
        }
        canvas.y += LINE;
    }
}

/// What panels are drawn with.
impl Canvas {
    fn stroke(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str) {
        let mut path = String::new();
        for (x, y) in points {
            let step = if path.is_empty() { 'M' } else { 'L' };
            path += &format!("{step}{x:.1},{y:.1}");
        }
        // A line of one point is a dot.
        let end = if points.len() == 1 { "h0" } else { "" };
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        self.add(&format!("<path d=\"{path}{end}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>\n"));
    }

    fn mark(&mut self, (x, y): (f64, f64), look: Look, size: f64, is_hollow: bool) {
        let Look { colour, shape, .. } = look;
        let fill = if is_hollow { "#fff" } else { colour };
        self.add(&format!(
            "<path d=\"{shape}\" transform=\"translate({x:.1},{y:.1}) scale({size})\" fill=\"{fill}\" stroke=\"{colour}\"/>\n"
        ));
    }
}

impl Panel {
    fn draw(&self, canvas: &mut Canvas, looks: &Looks, most: usize) {
        let small = format!("font-size=\"12\" fill=\"{MUTED}\"");
        let longest = self.y.scale.ticks.iter().map(|(_, text)| text.chars().count().min(NAME)).max().unwrap_or(0);
        let left = EDGE + 16.0 + LETTER * longest as f64;
        let height = if self.has_rows { ROW * self.y.scale.ticks.len().max(1) as f64 } else { HEIGHT };
        canvas.y += LINE;
        canvas.paragraph(EDGE, 110, &format!("font-size=\"14\" font-weight=\"600\" fill=\"{INK}\""), &self.title);
        canvas.text(EDGE, canvas.y, &small, &short(&self.y.name, 100));
        let (top, bottom) = (canvas.y + 12.0, canvas.y + 12.0 + height);
        let at = |(x, y): (f64, f64)| (left + self.x.scale.share(x) * (WIDTH - EDGE - left), bottom - self.y.scale.share(y) * height);
        let grid = "stroke=\"#ddd8cb\"";
        for (tick, text) in &self.y.scale.ticks {
            let y = at((0.0, *tick)).1;
            canvas.line((left, y), (WIDTH - EDGE, y), grid);
            canvas.text(left - 8.0, y + 4.0, &format!("text-anchor=\"end\" {small}"), &short(text, NAME));
        }
        for (tick, text) in &self.x.scale.ticks {
            let x = at((*tick, 0.0)).0;
            canvas.line((x, top), (x, bottom), grid);
            canvas.text(x, bottom + 16.0, &format!("text-anchor=\"middle\" {small}"), text);
        }
        canvas.text(WIDTH - EDGE, bottom + 34.0, &format!("text-anchor=\"end\" {small}"), &short(&self.x.name, 100));
        for (place, text) in self.pointers.iter().take(POINTERS) {
            let x = at((*place, 0.0)).0;
            canvas.stroke(&[(x, top), (x, bottom)], MUTED, 1.2, "4 3");
            let anchor = if x > WIDTH / 2.0 { "end" } else { "start" };
            let aside = if x > WIDTH / 2.0 { -4.0 } else { 4.0 };
            canvas.text(x + aside, top + 12.0, &format!("text-anchor=\"{anchor}\" {small}"), &short(text, 2 * NAME));
        }
        for series in self.series.iter().take(SERIES) {
            let width_max = if self.series.len() > 12 { 1.0 } else { 3.0 };
            series.draw(canvas, looks.get(&series.who), &at, width_max, most);
        }
        canvas.y = bottom + 34.0 + LINE / 2.0;
    }
}

impl Series {
    fn draw(&self, canvas: &mut Canvas, look: Look, at: &impl Fn((f64, f64)) -> (f64, f64), width_max: f64, most: usize) {
        let width = look.width.min(width_max);
        let line: Vec<(f64, f64)> = highest(&self.line, most).into_iter().map(at).collect();
        if !line.is_empty() {
            canvas.stroke(&line, look.colour, width, if self.is_unused { "1 3" } else { look.dash });
        }
        for [from, to] in self.reaches.iter().take(DOTS) {
            let style = format!("stroke=\"{}\" stroke-width=\"{width}\"", look.colour);
            canvas.line(at(*from), at(*to), &style);
        }
        for point in self.dots.iter().take(DOTS) {
            canvas.mark(at(*point), look, 0.6, self.is_unused);
        }
        let own = self.marks.iter().take(DOTS).map(|point| at(*point));
        // Also the last, where nobody else's line covers it most often.
        let every = line.len().div_ceil(MARKS).max(1);
        for place in line.iter().rev().step_by(every).copied().chain(own) {
            canvas.mark(place, look, 0.8, self.is_unused);
        }
    }
}

/// So many of the points at most: of each stretch the highest, so that no peak is lost.
fn highest(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let stretch = points.len().div_ceil(most.max(1)).max(1);
    points.chunks(stretch).filter_map(|of| of.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(series: Vec<Series>) -> Panel {
        let points = || series.iter().flat_map(|s| s.line.iter().copied()).collect::<Vec<_>>();
        Panel {
            title: "p99 over time".into(),
            x: Axis { name: "s".into(), scale: Scale::with_zero(points().into_iter().map(|p| p.0)) },
            y: Axis { name: "p99, ms".into(), scale: Scale::with_zero(points().into_iter().map(|p| p.1)) },
            has_rows: false,
            series,
            pointers: vec![(5.0, "here".into())],
        }
    }

    fn series(who: usize, points: usize) -> Series {
        Series { who: format!("c{who}"), line: (0..points).map(|i| (i as f64, (i % 7) as f64)).collect(), ..Series::default() }
    }

    #[test]
    fn everybody_looks_otherwise_also_without_colour() {
        let names = || (0..20).map(|i| format!("c{i:02}"));
        let looks = Looks::of(names().chain(names()), Some("c03"));
        assert_eq!((looks.0.len(), looks.get("c03"), looks.get("nobody")), (20, BASELINE, UNKNOWN));
        let all: Vec<Look> = names().map(|name| looks.get(&name)).collect();
        let seen = |tells: fn(&Look) -> (&str, &str)| all.iter().map(tells).collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(seen(|look| (look.colour, look.shape)), 20);
        // Five shapes, and a dash for every seven.
        assert!(seen(|look| (look.shape, look.dash)) >= 14);
    }

    #[test]
    fn of_a_long_line_every_peak_is_kept() {
        let points: Vec<(f64, f64)> = (0..1_000).map(|i| (f64::from(i), if i == 777 { 9.0 } else { 1.0 })).collect();
        let kept = highest(&points, 10);
        assert!(kept.len() == 10 && kept.contains(&(777.0, 9.0)), "{kept:?}");
        assert_eq!((highest(&points, 5_000).len(), highest(&[], 10).len()), (1_000, 0));
    }

    #[test]
    fn what_is_drawn_has_an_end() {
        let mut canvas = Canvas::new();
        let panels: Vec<Panel> = (0..4).map(|_| panel((0..1_000).map(|who| series(who, 500)).collect())).collect();
        let looks = Looks::of((0..1_000).map(|i| format!("c{i}")), None);
        assert!(draw(&mut canvas, &panels, &looks), "something is left out");
        let drawn = canvas.document("t");
        assert!(drawn.len() < 4_000_000 && drawn.matches("<path").count() < 4 * SERIES * (MARKS + 2) + 200, "{}", drawn.len());
        let mut canvas = Canvas::new();
        let few = Looks::of(std::iter::once("c1".to_owned()), None);
        assert!(!draw(&mut canvas, &[panel(vec![series(1, 20)])], &few));
        let drawn = canvas.document("t");
        for text in [">c1<", ">p99, ms<", ">here<", ">p99 over time<", "stroke-dasharray=\"4 3\""] {
            assert!(drawn.contains(text), "{text}\n{drawn}");
        }
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
