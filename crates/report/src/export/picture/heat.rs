//! Times by second and trial, from light to dark. The picture shows drift and outliers, and can be
//! read without colour. Start with [`heat_svg`].

use super::over_time::{Reading, readings};
use super::sheet::{PANELS, heading};
use crate::chart::canvas::{Canvas, EDGE, INK, LINE, MUTED, WIDTH, short};
use crate::chart::panel::{LETTER, NAME, NAMES, Panel, Series};
use crate::chart::scales::{round_number, ticks};
use crate::export::source::Source;
use spec::units::show_number;
use std::collections::BTreeMap;

/// The colours, which are those of the report.
const RAMP: [&str; 7] =
    ["#dbe7fa", "#bcd1f2", "#9bb9e9", "#7a9fdc", "#5880c4", "#365fa3", "#16387a"];
/// Height of one contender's rows together, and of one row.
const HEIGHT: (f64, f64) = (120.0, 14.0);
/// The most tiles of a picture, and the most rows of a contender.
const TILES: usize = 60_000;
const ROWS: usize = 60;

/// The note on long measurements.
const MANY: &str = "In long measurements a tile shows the maximum of several seconds.";

/// Draws the picture; `None` if nothing was recorded by the second. It shows the 99th percentile if
/// seconds have enough responses for it, else the median.
pub(super) fn heat_svg(source: &Source<'_>) -> Option<String> {
    let reading = [Reading::P99, Reading::P50, Reading::Max]
        .into_iter()
        .find(|reading| !readings(source, *reading).is_empty())?;
    let all = readings(source, reading);
    let panels = &all[..all.len().min(PANELS)];
    let values = || {
        panels
            .iter()
            .flat_map(|panel| &panel.series)
            .flat_map(|series| &series.line)
            .map(|(_, value)| *value)
    };
    let low = values().fold(f64::INFINITY, f64::min);
    let ramp = Ramp { low, high: values().fold(low * 1.5, f64::max) };
    let rows: usize = panels.iter().map(|panel| panel.series.len()).sum();
    let columns = (TILES / rows.max(1)).clamp(4, 600);
    let mut canvas = heading(source, "Latency by second and trial");
    ramp.key(&mut canvas);
    panels.iter().for_each(|panel| draw(panel, &ramp, columns, &mut canvas));
    let note = "One row for each trial. Blank: a second with too few responses. Pale: a trial that no verdict uses. ";
    let more = if all.len() > PANELS {
        format!("{} more cells are not drawn. ", all.len() - PANELS)
    } else {
        String::new()
    };
    canvas.y += LINE;
    canvas.paragraph(
        EDGE,
        130,
        &format!("font-size=\"12\" fill=\"{MUTED}\""),
        &format!("{note}{more}{MANY}"),
    );
    Some(canvas.document("Latency by second and trial"))
}

/// Steps of equal width in logarithms.
struct Ramp {
    low: f64,
    high: f64,
}

impl Ramp {
    fn step(&self, value: f64) -> usize {
        let share = (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        // A value that is not a number becomes 0.
        ((share * RAMP.len() as f64) as usize).min(RAMP.len() - 1)
    }

    fn limit(&self, step: usize) -> f64 {
        (self.low.ln() + (self.high.ln() - self.low.ln()) * step as f64 / RAMP.len() as f64).exp()
    }

    fn key(&self, canvas: &mut Canvas) {
        let wide = (WIDTH - 2.0 * EDGE) / RAMP.len() as f64;
        for (step, colour) in RAMP.iter().enumerate() {
            let x = EDGE + wide * step as f64;
            let (from, to) = (show_number(self.limit(step)), show_number(self.limit(step + 1)));
            canvas.add(&format!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"14\" fill=\"{colour}\"/>\n",
                canvas.y - 12.0
            ));
            canvas.text(
                x + 20.0,
                canvas.y,
                &format!("font-size=\"12\" fill=\"{INK}\""),
                &short(&format!("{from} to {to} ms"), 24),
            );
        }
        canvas.y += LINE;
    }
}

fn draw(panel: &Panel, ramp: &Ramp, columns: usize, canvas: &mut Canvas) {
    let small = format!("font-size=\"12\" fill=\"{MUTED}\"");
    let mut names: Vec<&str> = Vec::new();
    for series in &panel.series {
        if !names.contains(&series.who.as_str()) && names.len() < NAMES {
            names.push(&series.who);
        }
    }
    let longest = names.iter().map(|name| name.chars().count().min(NAME)).max().unwrap_or(0);
    let left = EDGE + 16.0 + LETTER * longest as f64;
    let last = panel
        .series
        .iter()
        .flat_map(|series| &series.line)
        .fold(1.0, |last: f64, (t, _)| last.max(*t));
    canvas.y += LINE;
    canvas.paragraph(
        EDGE,
        110,
        &format!("font-size=\"14\" font-weight=\"600\" fill=\"{INK}\""),
        &panel.title,
    );
    canvas.text(EDGE, canvas.y, &small, &short(&panel.y.name, 100));
    canvas.y += 10.0;
    let seconds = Seconds {
        left,
        wide: (WIDTH - EDGE - left) / last,
        stretch: (last / columns as f64).ceil().max(1.0),
    };
    for name in names {
        let rows: Vec<&Series> =
            panel.series.iter().filter(|series| series.who == name).take(ROWS).collect();
        let high = (HEIGHT.0 / rows.len().max(1) as f64).min(HEIGHT.1);
        let middle = canvas.y + high * rows.len() as f64 / 2.0 + 4.0;
        canvas.text(
            left - 8.0,
            middle,
            &format!("text-anchor=\"end\" {small}"),
            &short(name, NAME),
        );
        for row in rows {
            seconds.row(row, ramp, high, canvas);
            canvas.y += high;
        }
        canvas.y += 6.0;
    }
    for tick in ticks(0.0, last, 8) {
        let x = left + seconds.wide * tick;
        canvas.text(
            x,
            canvas.y + 10.0,
            &format!("text-anchor=\"middle\" {small}"),
            &short(&round_number(tick), 12),
        );
    }
    canvas.text(
        WIDTH - EDGE,
        canvas.y + 28.0,
        &format!("text-anchor=\"end\" {small}"),
        &panel.x.name,
    );
    canvas.y += 28.0 + LINE / 2.0;
}

/// The positions of seconds.
struct Seconds {
    left: f64,
    /// Width of one second.
    wide: f64,
    /// The number of seconds of a tile.
    stretch: f64,
}

impl Seconds {
    fn row(&self, row: &Series, ramp: &Ramp, high: f64, canvas: &mut Canvas) {
        // Seconds are counted by their ends, from 1.
        let mut tiles: BTreeMap<usize, f64> = BTreeMap::new();
        for (t, value) in &row.line {
            let tile = tiles.entry(((t - 1.0) / self.stretch) as usize).or_insert(*value);
            *tile = tile.max(*value);
        }
        let mut paths = vec![String::new(); RAMP.len()];
        let wide = self.wide * self.stretch;
        for (place, value) in tiles {
            let x = self.left + wide * place as f64;
            paths[ramp.step(value)] +=
                &format!("M{x:.1},{:.1}h{wide:.2}v{high:.1}h-{wide:.2}z", canvas.y);
        }
        let pale = if row.is_unused { " fill-opacity=\"0.35\"" } else { "" };
        for (path, colour) in paths.iter().zip(RAMP).filter(|(path, _)| !path.is_empty()) {
            canvas.add(&format!("<path d=\"{path}\" fill=\"{colour}\"{pale}/>\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_equal_width_in_logarithms() {
        let ramp = Ramp { low: 1.0, high: 128.0 };
        assert_eq!(
            [1.0, 1.9, 2.1, 60.0, 128.0, 1e9, 0.0, f64::NAN].map(|value| ramp.step(value)),
            [0, 0, 1, 5, 6, 6, 0, 0]
        );
        assert!((ramp.limit(0) - 1.0).abs() < 1e-9 && (ramp.limit(7) - 128.0).abs() < 1e-9);
    }

    #[test]
    fn tile_shows_the_maximum_of_its_seconds() {
        let mut canvas = Canvas::new();
        let row = Series { line: vec![(1.0, 1.0), (2.0, 128.0), (3.0, 1.0)], ..Series::default() };
        Seconds { left: 0.0, wide: 10.0, stretch: 2.0 }.row(
            &row,
            &Ramp { low: 1.0, high: 128.0 },
            14.0,
            &mut canvas,
        );
        let drawn = canvas.document("t");
        let dark = format!("h20.00v14.0h-20.00z\" fill=\"{}\"/>", RAMP[6]);
        assert!(drawn.contains(&dark) && drawn.matches("<path").count() == 2, "{drawn}");
    }
}
