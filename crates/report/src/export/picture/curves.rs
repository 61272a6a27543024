//! Panels of curves that a judgement has: levels of a sweep, capacities, quantiles, effects and
//! symptoms.

use crate::chart::panel::{Axis, NAMES, Panel, Series};
use crate::chart::scales::{Scale, is_drawable};
use crate::export::source::Source;
use record::judgement::{
    CapacityCurves, CapacityLine, Effects, Picture, SweepCurves, Symptom, show_confidence,
};
use spec::metric::Metric;
use stats::Interval;

fn has_ends(interval: &Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite()
}

/// The name of a metric with its unit: `CPU per request, µs`.
fn with_unit(metric: Metric) -> String {
    let about = metric.describe();
    if about.unit.is_empty() {
        about.label.to_owned()
    } else {
        format!("{}, {}", about.label, about.unit)
    }
}

/// Every point of lines and intervals.
fn points(series: &[Series]) -> impl Iterator<Item = (f64, f64)> {
    series.iter().flat_map(|s| s.line.iter().chain(s.reaches.iter().flatten()).copied())
}

/// Metrics over the levels of parameters, with the interval of each level.
pub(super) fn sweeps(source: &Source<'_>) -> Vec<Panel> {
    let chosen = source.judgement.sweeps.iter().filter(|sweep| source.has_metric(sweep.metric));
    chosen.filter_map(|sweep| swept(source, sweep)).collect()
}

fn swept(source: &Source<'_>, sweep: &SweepCurves) -> Option<Panel> {
    let mut series: Vec<Series> = Vec::new();
    for line in sweep.lines.iter().filter(|line| source.has_contender(&line.contender)) {
        let mut of = Series { who: line.contender.to_string(), ..Series::default() };
        let is_finite =
            |level: f64, value: f64| is_drawable(level) && value.is_finite() && value >= 0.0;
        for point in line
            .points
            .iter()
            .filter(|p| source.has_cell(Some(&p.cell)) && is_finite(p.level, p.value))
        {
            of.line.push((point.level, point.value));
            let interval = point.interval.filter(has_ends);
            of.reaches.extend(interval.map(|i| [(point.level, i.low), (point.level, i.high)]));
        }
        series.extend(Some(of).filter(|of| !of.line.is_empty()));
    }
    if series.is_empty() {
        return None;
    }
    let is_log = series.iter().flat_map(|s| &s.line).all(|(_, value)| *value > 0.0);
    let heights = points(&series).map(|(_, value)| value);
    let y = if is_log { Scale::logarithmic(heights) } else { Scale::with_zero(heights) };
    let label = sweep.metric.describe().label;
    Some(Panel {
        title: format!(
            "{label} over {}: {}, with {} intervals",
            sweep.parameter,
            sweep.of,
            show_confidence(sweep.confidence)
        ),
        x: Axis {
            name: format!("{}, log scale", sweep.parameter),
            scale: Scale::levels(series.iter().flat_map(|s| &s.line).map(|(level, _)| *level)),
        },
        y: Axis {
            name: format!("{}{}", with_unit(sweep.metric), if is_log { ", log scale" } else { "" }),
            scale: y,
        },
        has_rows: false,
        pointers: sweep
            .crossings
            .iter()
            .filter(|c| is_drawable(c.level))
            .map(|c| (c.level, "they cross".to_owned()))
            .collect(),
        series,
    })
}

/// How often the service level was kept at each level; the capacity is where half of the probes
/// keep it. Probes are drawn above the curves if they kept it, and below if not, in one row for
/// each contender.
pub(super) fn capacities(source: &Source<'_>) -> Vec<Panel> {
    let chosen = source.judgement.capacities.iter().filter(|of| source.has_cell(Some(&of.cell)));
    chosen.filter_map(|of| kept(source, of)).collect()
}

/// Per cent of the axis for the probes of one contender.
const PROBES: f64 = 4.0;
/// The largest factor between a drawn level and the capacities.
const REACH: f64 = 2.5;

fn kept(source: &Source<'_>, of: &CapacityCurves) -> Option<Panel> {
    let is_shown = |line: &&CapacityLine| {
        source.has_contender(&line.contender) && line.probes.iter().any(|p| is_drawable(p.level))
    };
    let lines = of.lines.iter().filter(is_shown).take(NAMES);
    let series: Vec<Series> = lines.enumerate().map(|(row, line)| probed(row, line)).collect();
    if series.is_empty() {
        return None;
    }
    let edges: Vec<f64> = series
        .iter()
        .flat_map(|s| s.marks.iter().chain(s.reaches.iter().flatten()))
        .map(|(level, _)| *level)
        .collect();
    let (least, most) =
        edges.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), level| {
            (least.min(*level), most.max(*level))
        });
    let is_near = |level: &f64| edges.is_empty() || (least / REACH..=most * REACH).contains(level);
    let levels =
        series.iter().flat_map(|s| &s.dots).map(|(level, _)| *level).chain(edges.iter().copied());
    let room = PROBES * (series.len() as f64 + 1.0);
    Some(Panel {
        title: format!("{}: how often {} holds", of.cell, of.service_level),
        x: Axis {
            name: format!("{}, log scale", of.unit),
            scale: Scale::logarithmic(levels.filter(is_near)),
        },
        y: Axis {
            name: "probes that keep it, %".into(),
            scale: Scale::between(-room, 100.0 + room, &[0.0, 25.0, 50.0, 75.0, 100.0]),
        },
        has_rows: false,
        pointers: Vec::new(),
        series,
    })
}

fn probed(row: usize, line: &CapacityLine) -> Series {
    let aside = PROBES * (row as f64 + 1.0);
    let height = |kept: bool| if kept { 100.0 + aside } else { -aside };
    let interval = line.interval.filter(|i| is_drawable(i.low) && is_drawable(i.high));
    let value = line.value.filter(|value| is_drawable(*value));
    let curve = line
        .curve
        .iter()
        .filter(|(level, share)| is_drawable(*level) && (0.0..=1.0).contains(share));
    Series {
        who: line.contender.to_string(),
        line: curve.map(|(level, share)| (*level, 100.0 * share)).collect(),
        marks: value.map(|value| (value, 50.0)).into_iter().collect(),
        dots: line
            .probes
            .iter()
            .filter(|p| is_drawable(p.level))
            .map(|p| (p.level, height(p.kept)))
            .collect(),
        reaches: interval.map(|i| [(i.low, 50.0), (i.high, 50.0)]).into_iter().collect(),
        ..Series::default()
    }
}

/// Latency by quantile, with one panel for each cell.
pub(super) fn quantiles(source: &Source<'_>) -> Vec<Panel> {
    let mut cells: Vec<(&str, Vec<Series>)> = Vec::new();
    for curve in source
        .judgement
        .curves
        .iter()
        .filter(|curve| source.has(Some(&curve.cell), &curve.contender))
    {
        let line: Vec<(f64, f64)> = curve
            .points
            .iter()
            .copied()
            .filter(|(q, ms)| (0.0..1.0).contains(q) && is_drawable(*ms))
            .collect();
        if line.is_empty() {
            continue;
        }
        let series = Series { who: curve.contender.to_string(), line, ..Series::default() };
        match cells.iter_mut().find(|(cell, _)| *cell == curve.cell) {
            Some((_, all)) => all.push(series),
            None => cells.push((curve.cell.as_str(), vec![series])),
        }
    }
    let panel = |(cell, series): (&str, Vec<Series>)| Panel {
        title: format!("Latency by quantile: {cell}"),
        x: Axis {
            name: "requests that took at most this long, each nine as wide".into(),
            scale: Scale::quantiles(points(&series).map(|(q, _)| q)),
        },
        y: Axis {
            name: format!("{}, ms, log scale", source.times_of(cell)),
            scale: Scale::logarithmic(points(&series).map(|(_, ms)| ms)),
        },
        has_rows: false,
        pointers: Vec::new(),
        series,
    };
    cells.into_iter().map(panel).collect()
}

/// What each factor adds, apart from the others.
pub(super) fn effects(source: &Source<'_>) -> Vec<Panel> {
    let chosen = source
        .judgement
        .effects
        .iter()
        .filter(|of| source.has_cell(of.cell.as_deref()) && source.has_metric(of.metric));
    chosen.filter_map(added).collect()
}

/// What each factor adds to one metric in one cell.
pub(super) fn added(of: &Effects) -> Option<Panel> {
    let mut series = Series { who: "effect, with its interval".into(), ..Series::default() };
    let mut names = Vec::new();
    let points =
        of.effects.iter().filter(|effect| effect.value.is_finite() && has_ends(&effect.interval));
    for (row, effect) in points.take(NAMES).enumerate() {
        let y = Scale::row(row);
        series.marks.push((effect.value, y));
        series.reaches.push([(effect.interval.low, y), (effect.interval.high, y)]);
        names.push(effect.factors.join(" and "));
    }
    if names.is_empty() {
        return None;
    }
    let (label, cell) = (of.metric.describe().label, of.cell.as_deref().unwrap_or("start"));
    let values =
        series.marks.iter().chain(series.reaches.iter().flatten()).map(|(value, _)| *value);
    Some(Panel {
        title: format!(
            "What each factor adds to {label}: {cell}, with {} intervals",
            show_confidence(of.confidence)
        ),
        x: Axis { name: with_unit(of.metric), scale: Scale::with_zero(values) },
        y: Axis {
            name: "change of the mean when the factor is on; for a pair: half of the interaction"
                .into(),
            scale: Scale::rows(&names),
        },
        has_rows: true,
        pointers: Vec::new(),
        series: vec![series],
    })
}

/// The evidence of symptoms.
pub(super) fn symptoms(source: &Source<'_>) -> Vec<Panel> {
    let is_chosen = |s: &&Symptom| {
        source.has_contender(&s.contender)
            && (s.cell.is_none() || source.has_cell(s.cell.as_deref()))
    };
    source.judgement.symptoms.iter().filter(is_chosen).filter_map(shown).collect()
}

fn shown(symptom: &Symptom) -> Option<Panel> {
    let picture = &symptom.picture;
    let lines = picture.series.iter().map(|(name, points)| Series {
        who: name.clone(),
        line: outline(picture, points),
        ..Series::default()
    });
    let series: Vec<Series> = lines.filter(|series| !series.line.is_empty()).collect();
    let marked = || picture.marks.iter().filter(|(at, _)| at.is_finite());
    if series.is_empty() {
        return None;
    }
    let across = points(&series).map(|(x, _)| x).chain(marked().map(|(at, _)| *at));
    Some(Panel {
        title: format!("{}: {}", symptom.contender, picture.title),
        x: Axis { name: picture.x.clone(), scale: Scale::with_zero(across) },
        y: Axis {
            name: picture.y.clone(),
            scale: Scale::with_zero(points(&series).map(|(_, y)| y)),
        },
        has_rows: false,
        pointers: marked().cloned().collect(),
        series,
    })
}

/// A line through points, or along the tops of bars. A bar ends where the next begins, and the last
/// is as wide as the one before.
fn outline(picture: &Picture, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite: Vec<(f64, f64)> =
        points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    if !picture.bars {
        return finite;
    }
    let end = match finite[..] {
        [.., (before, _), (last, height)] => Some((2.0 * last - before, height)),
        _ => None,
    };
    finite
        .windows(2)
        .flat_map(|two| [two[0], (two[1].0, two[0].1)])
        .chain(finite.last().copied())
        .chain(end)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_drawn_along_their_tops() {
        let picture = |bars| Picture {
            title: String::new(),
            x: String::new(),
            y: String::new(),
            bars,
            series: vec![],
            marks: vec![],
        };
        let points = [(0.0, 3.0), (f64::NAN, 9.0), (2.0, 1.0)];
        assert_eq!(
            outline(&picture(true), &points),
            [(0.0, 3.0), (2.0, 3.0), (2.0, 1.0), (4.0, 1.0)]
        );
        assert_eq!(outline(&picture(false), &points), [(0.0, 3.0), (2.0, 1.0)]);
        assert!(outline(&picture(true), &[]).is_empty());
    }
}
