//! Sweeps as curves: each metric over the levels of a parameter, and where two contenders' lines
//! cross.
//!
//! A crossing lies between two levels at which opposite verdicts are decided. Start with
//! [`all_sweeps`].

use crate::judged::Judged;
use crate::readings::values;
use crate::repetitions::compare_repetitions;
use crate::verdict::Judge;
use record::Record;
use record::judgement::{Crossing, Outcome, SweepCurves, SweepLine, SweepPoint};
use spec::experiment::sweep::{Level, Slice, slices};
use spec::metric::Metric;
use spec::name::ContenderName;
use stats::{Interval, mean_interval};

/// Draws every metric of a cell over every parameter that was swept.
pub(crate) fn all_sweeps(judge: &Judge<'_>, verdicts: &[Judged]) -> Vec<SweepCurves> {
    let of_cells = || Metric::ALL.into_iter().filter(|metric| !metric.is_of_trial());
    let slices = slices(&judge.record.header.experiment.cells);
    slices
        .iter()
        .flat_map(|slice| {
            of_cells().filter_map(move |metric| curves(judge, verdicts, slice, metric))
        })
        .collect()
}

/// Draws the curves of one metric. Returns `None` if nothing was measured, or only zeros.
fn curves(
    judge: &Judge<'_>,
    verdicts: &[Judged],
    slice: &Slice<'_>,
    metric: Metric,
) -> Option<SweepCurves> {
    let header = &judge.record.header;
    let confidence = header.experiment.design.confidence;
    let line = |name: &ContenderName| SweepLine {
        contender: name.clone(),
        points: slice
            .cells
            .iter()
            .filter_map(|at| point(judge.record, name, metric, (at.0, &at.1.name), confidence))
            .collect(),
    };
    let lines: Vec<SweepLine> = header.contenders.iter().map(|p| line(&p.name)).collect();
    if lines.iter().flat_map(|line| &line.points).all(|point| point.value == 0.0) {
        return None;
    }
    let crossings = if metric.describe().by_difference {
        Vec::new()
    } else {
        crossings(judge, verdicts, slice, metric, &lines)
    };
    let repetitions = compare_repetitions(judge, slice, metric);
    Some(SweepCurves {
        of: slice.title(),
        parameter: slice.parameter.to_owned(),
        metric,
        confidence,
        lines,
        crossings,
        repetitions,
    })
}

/// Returns the typical trial with its t interval: of the logarithms, or of the values themselves if
/// they may be zero.
fn point(
    record: &Record,
    name: &ContenderName,
    metric: Metric,
    (level, cell): (f64, &str),
    confidence: f64,
) -> Option<SweepPoint> {
    let found: Vec<f64> = values(record, name, metric, Some(cell))
        .into_iter()
        .filter_map(|(_, side)| side.ok())
        .map(|side| side.value)
        .collect();
    let has_logs = !metric.describe().by_difference && found.iter().all(|value| *value > 0.0);
    let to = |value: f64| if has_logs { value.ln() } else { value };
    let back = |value: f64| if has_logs { value.exp() } else { value };
    let scaled: Vec<f64> = found.iter().map(|value| to(*value)).collect();
    let interval = mean_interval(&scaled, confidence)
        .map(|(_, i)| Interval { low: back(i.low), high: back(i.high) });
    Some(SweepPoint {
        cell: cell.to_owned(),
        level,
        value: back(stats::mean(&scaled)?),
        interval: interval.filter(|i| i.low.is_finite() && i.high.is_finite()),
        used: found.len(),
    })
}

/// A level at which two contenders were compared.
struct Compared {
    level: f64,
    log_ratio: f64,
    outcome: Outcome,
}

fn crossings(
    judge: &Judge<'_>,
    verdicts: &[Judged],
    slice: &Slice<'_>,
    metric: Metric,
    lines: &[SweepLine],
) -> Vec<Crossing> {
    let lines: Vec<&SweepLine> = lines.iter().filter(|line| !line.contender.is_twin()).collect();
    let mut found = Vec::new();
    for (at, first) in lines.iter().enumerate() {
        for second in lines[at + 1..].iter().filter(|second| are_on_both_sides(first, second)) {
            let (first, second) = (&first.contender, &second.contender);
            let compared = compare(judge, verdicts, slice, metric, [first, second]);
            found.extend(changes(&compared).map(|(from, to, level)| {
                let (below, above) =
                    if from.outcome == Outcome::Better { (second, first) } else { (first, second) };
                let between = (from.level, to.level);
                let about = two_digits(level, between);
                let sentence = sentence(metric, slice.parameter, [below, above], about, between);
                Crossing {
                    below: below.clone(),
                    above: above.clone(),
                    level,
                    about,
                    between,
                    sentence,
                }
            }));
        }
    }
    found
}

/// Returns whether a line is above another at one level and below it at another. Other lines cannot
/// cross.
fn are_on_both_sides(a: &SweepLine, b: &SweepLine) -> bool {
    let pairs = || {
        a.points.iter().filter_map(|p| {
            b.points.iter().find(|q| q.level == p.level).map(|q| (p.value, q.value))
        })
    };
    pairs().any(|(p, q)| p < q) && pairs().any(|(p, q)| p > q)
}

/// Compares the second of two contenders with the first, level by level, by the rule of all
/// verdicts.
fn compare(
    judge: &Judge<'_>,
    verdicts: &[Judged],
    slice: &Slice<'_>,
    metric: Metric,
    [first, second]: [&ContenderName; 2],
) -> Vec<Compared> {
    let margin = judge.record.header.experiment.design.margin;
    let at = |level: f64, cell: &str| {
        let known = verdicts.iter().find(|j| {
            let v = &j.verdict;
            v.contender == *second
                && v.baseline == *first
                && v.metric == metric
                && v.cell.as_deref() == Some(cell)
        });
        let verdict = known.map_or_else(
            || judge.between(second, first, metric, Some(cell), margin).verdict,
            |known| known.verdict.clone(),
        );
        Some(Compared { level, log_ratio: verdict.ratio?.ln(), outcome: verdict.outcome })
    };
    slice.cells.iter().filter_map(|(level, cell)| at(*level, &cell.name)).collect()
}

/// Finds where better becomes worse, or worse better. Returns the neighbouring decided levels, and
/// the level between them at which the ratio is 1. Between levels, log-ratios are interpolated over
/// the logarithm of the level.
fn changes(compared: &[Compared]) -> impl Iterator<Item = (&Compared, &Compared, f64)> {
    let decided: Vec<usize> = (0..compared.len())
        .filter(|at| matches!(compared[*at].outcome, Outcome::Better | Outcome::Worse))
        .collect();
    let neighbours: Vec<(usize, usize)> =
        decided.windows(2).map(|pair| (pair[0], pair[1])).collect();
    neighbours.into_iter().filter_map(move |(from, to)| {
        let level =
            compared[from..=to].windows(2).find_map(|pair| level_of_one(&pair[0], &pair[1]));
        Some((&compared[from], &compared[to], level?))
            .filter(|(from, to, _)| from.outcome != to.outcome)
    })
}

fn level_of_one(from: &Compared, to: &Compared) -> Option<f64> {
    if from.log_ratio == 0.0 {
        return Some(from.level);
    }
    let share = from.log_ratio / (from.log_ratio - to.log_ratio);
    (from.log_ratio.signum() != to.log_ratio.signum())
        .then(|| from.level * (to.level / from.level).powf(share))
}

/// Writes `By CPU per request, a is better up to about 17 connections, b above (judged at 12 and
/// 24).`
fn sentence(
    metric: Metric,
    parameter: &str,
    [below, above]: [&ContenderName; 2],
    about: f64,
    between: (f64, f64),
) -> String {
    let label = metric.describe().label;
    let about = Level { parameter: parameter.to_owned(), value: about };
    format!(
        "By {label}, {below} is better up to about {about}, {above} above (judged at {} and {}).",
        between.0, between.1
    )
}

/// Rounds a level to two digits, and to a whole number between whole levels.
fn two_digits(level: f64, (low, high): (f64, f64)) -> f64 {
    let is_whole = low.fract() == 0.0 && high.fract() == 0.0;
    let digits = if is_whole { 0.0 } else { f64::INFINITY };
    let decimals = (1.0 - level.log10().floor()).min(digits) as i32;
    // Only powers of ten from 1 upwards are exact.
    let unit = 10f64.powi(decimals.abs());
    let rounded =
        if decimals > 0 { (level * unit).round() / unit } else { (level / unit).round() * unit };
    rounded.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(all: &[(f64, f64, Outcome)]) -> Vec<Compared> {
        all.iter()
            .map(|(level, ratio, outcome)| Compared {
                level: *level,
                log_ratio: ratio.ln(),
                outcome: *outcome,
            })
            .collect()
    }

    fn levels(all: &[(f64, f64, Outcome)]) -> Vec<(f64, f64, f64)> {
        changes(&compared(all)).map(|(from, to, level)| (from.level, to.level, level)).collect()
    }

    #[test]
    fn crossing_needs_decided_levels_on_both_sides() {
        use Outcome::{Better, Equivalent, Undecided, Worse};
        assert_eq!(levels(&[(1.0, 0.5, Better), (4.0, 2.0, Worse)]), [(1.0, 4.0, 2.0)]);
        assert_eq!(levels(&[(1.0, 0.5, Better), (4.0, 2.0, Undecided)]), []);
        assert_eq!(levels(&[(1.0, 0.5, Better), (4.0, 0.9, Better)]), []);
        // Undecided levels between show where the lines cross.
        let between = levels(&[
            (1.0, 0.5, Better),
            (4.0, 0.9, Undecided),
            (16.0, 1.0 / 0.9, Equivalent),
            (64.0, 2.0, Worse),
        ]);
        assert!(
            between.len() == 1 && between[0].1 == 64.0 && (between[0].2 - 8.0).abs() < 1e-9,
            "{between:?}"
        );
        assert_eq!(
            levels(&[
                (1.0, 0.5, Better),
                (2.0, 1.0, Equivalent),
                (4.0, 2.0, Worse),
                (16.0, 0.5, Better)
            ]),
            [(1.0, 4.0, 2.0), (4.0, 16.0, 8.0)]
        );
    }

    #[test]
    fn crossing_is_rounded_to_two_digits() {
        let levels = [
            (17.4, (12.0, 24.0)),
            (3456.0, (2000.0, 8000.0)),
            (1.04, (0.5, 2.0)),
            (0.01234, (0.01, 0.1)),
            (12.2, (12.0, 12.5)),
            (99.7, (96.0, 192.0)),
        ];
        assert_eq!(
            levels.map(|(level, between)| two_digits(level, between)),
            [17.0, 3500.0, 1.0, 0.012, 12.0, 100.0]
        );
        let names = ["a", "b:x"].map(|name| name.parse::<ContenderName>().unwrap());
        let [below, above] = &names;
        let of = |parameter| {
            sentence(Metric::CpuPerRequest, parameter, [below, above], 17.0, (12.0, 24.0))
        };
        assert_eq!(
            of("connections"),
            "By CPU per request, a is better up to about 17 connections, b:x above (judged at 12 and 24)."
        );
        assert_eq!(
            of("rate"),
            "By CPU per request, a is better up to about 17/s, b:x above (judged at 12 and 24)."
        );
        assert_eq!(
            of("size"),
            "By CPU per request, a is better up to about size 17, b:x above (judged at 12 and 24)."
        );
    }
}
