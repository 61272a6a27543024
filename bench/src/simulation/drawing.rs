//! Draws lines over two axes as SVG.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 350.0;

/// A line with its name.
#[derive(Debug)]
pub struct Line {
    /// The label at its end.
    pub name: String,
    /// Whether the line is dashed.
    pub is_dashed: bool,
    /// Points in order of x; y is a share.
    pub points: Vec<(f64, f64)>,
}

/// A chart of lines: shares over a horizontal axis that begins at zero.
#[derive(Debug)]
pub struct Drawing {
    /// A description for readers who cannot see it.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Ticks of the horizontal axis, which ends at the last.
    pub ticks: Vec<f64>,
    /// A share to mark.
    pub mark: f64,
    /// The lines.
    pub lines: Vec<Line>,
}

/// Colours that are distinct on light and on dark paper.
const STYLE: &str = "
  svg { color-scheme: light dark; font: 14px system-ui, 'Noto Sans', 'Liberation Sans', sans-serif; }
  .paper { fill: #fcfbf8; } text { fill: #1d1c1a; } .grid { stroke: #e6e2d9; } .mark { stroke: #5c5952; stroke-dasharray: 2 4; }
  polyline { fill: none; stroke-width: 2.2; } .dashed { stroke-dasharray: 7 5; }
  .c0 { stroke: #2660d8; } .c1 { stroke: #e0713a; } .c2 { stroke: #04604c; } .c3 { stroke: #04604c; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #16171a; } text { fill: #eceae5; } .grid { stroke: #2c2e33; } .mark { stroke: #a9a69f; }
    .c0 { stroke: #3d97ff; } .c1 { stroke: #f5822e; } .c2 { stroke: #3f8a60; } .c3 { stroke: #3f8a60; }
  }
";

/// The smallest distance between labels.
const LEADING: f64 = 19.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

impl Drawing {
    /// Draws the chart.
    pub fn to_svg(&self) -> String {
        let most = self.ticks.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let x = |value: f64| LEFT + (RIGHT - LEFT) * value / most;
        let y = |share: f64| BOTTOM - (BOTTOM - TOP) * share;
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
        );
        for share in [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] {
            let at = y(share);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
            );
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>",
                LEFT - 8.0,
                at + 5.0,
                100.0 * share
            );
        }
        for tick in &self.ticks {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{:.0} %</text>",
                x(*tick),
                BOTTOM + 20.0,
                100.0 * tick
            );
        }
        let at = y(self.mark);
        let _ = writeln!(
            svg,
            "<line class=\"mark\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
        );
        let middle = (LEFT + RIGHT) / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 42.0,
            escaped(&self.x)
        );
        let centre = (TOP + BOTTOM) / 2.0;
        let _ = writeln!(
            svg,
            "<text transform=\"translate(14 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.y)
        );
        for (number, line) in self.lines.iter().enumerate() {
            let points: Vec<String> =
                line.points.iter().map(|(a, b)| format!("{:.1},{:.1}", x(*a), y(*b))).collect();
            let dashed = if line.is_dashed { " dashed" } else { "" };
            let _ = writeln!(
                svg,
                "<polyline class=\"c{number}{dashed}\" points=\"{}\"/>",
                points.join(" ")
            );
        }
        for (name, at) in self.names(y) {
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\">{}</text>",
                RIGHT + 8.0,
                at + 5.0,
                escaped(name)
            );
        }
        svg + "</svg>\n"
    }

    /// Places the labels at the ends of the lines, moved up until they do not overlap.
    fn names(&self, y: impl Fn(f64) -> f64) -> Vec<(&str, f64)> {
        let mut names: Vec<(&str, f64)> = self
            .lines
            .iter()
            .filter_map(|line| Some((line.name.as_str(), y(line.points.last()?.1))))
            .collect();
        names.sort_by(|a, b| b.1.total_cmp(&a.1));
        for i in 1..names.len() {
            names[i].1 = names[i].1.min(names[i - 1].1 - LEADING);
        }
        names
    }
}
