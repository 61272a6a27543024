//! Where a metric changed over the records of one experiment.
//!
//! E-divisive (`stats::e_divisive`) finds the points at which a series moves to another level.
//! Changes within the margin are dropped. Start with [`histories`].

use record::history::{ChangePoint, Chapter, History, Point};
use record::judgement::Verdict;
use stats::{e_divisive, median};

/// How many of the newest records of an experiment are compared.
pub const MOST_RECORDS: usize = 120;
/// Fewer records in a row than this are outliers, not a level.
const SHORTEST: usize = 3;
/// P-value of a change. Small, because there are many metrics to test.
const LEVEL: f64 = 0.01;
const PERMUTATIONS: u32 = 999;
const SEED: u64 = 1;

/// Returns every metric of every contender in every cell over the records of one experiment, in the
/// order of their first verdict.
///
/// A record without a value is skipped. Changes are found between logarithms if values are ratios
/// or cannot be zero. The margin is that of the newest record.
pub fn histories(chapters: &[Chapter<'_>]) -> Vec<History> {
    let mut ordered: Vec<&Chapter<'_>> = chapters.iter().collect();
    ordered.sort_by(|a, b| a.recorded_at.cmp(b.recorded_at).then_with(|| a.record.cmp(b.record)));
    let newest = &ordered[ordered.len().saturating_sub(MOST_RECORDS)..];
    let mut all: Vec<History> = Vec::new();
    let mut machines = Vec::new();
    for chapter in newest {
        for verdict in chapter.verdicts.iter().filter(|v| compared(v).is_some()) {
            let known =
                all.iter().position(|history| is_of(history, verdict)).unwrap_or_else(|| {
                    all.push(begun(verdict));
                    machines.push(chapter.machine);
                    all.len() - 1
                });
            let point = Point {
                record: chapter.record.to_owned(),
                recorded_at: chapter.recorded_at.to_owned(),
                is_elsewhere: machines[known] != chapter.machine,
                verdict: verdict.clone(),
            };
            machines[known] = chapter.machine;
            all[known].points.push(point);
        }
    }
    for history in &mut all {
        let is_logarithmic = !history.metric.describe().by_difference;
        let margin = history.points.last().map_or(0.0, |p| p.verdict.margin).max(0.0);
        let column = |of: fn(&Verdict) -> Option<f64>| {
            history.points.iter().map(|p| of(&p.verdict)).collect::<Vec<_>>()
        };
        let (compared, values, baseline_values) =
            (column(compared), column(|v| v.value), column(|v| v.baseline_value));
        history.compared = turns(&compared, is_logarithmic, margin);
        history.values = turns(&values, is_logarithmic, margin);
        history.baseline_values = turns(&baseline_values, is_logarithmic, margin);
    }
    all
}

/// Returns the ratio, or the difference for a metric that can be zero.
fn compared(verdict: &Verdict) -> Option<f64> {
    verdict.ratio.or(verdict.difference).filter(|value| value.is_finite())
}

fn is_of(history: &History, verdict: &Verdict) -> bool {
    history.metric == verdict.metric
        && history.cell == verdict.cell
        && history.contender == verdict.contender
        && history.baseline == verdict.baseline
}

fn begun(verdict: &Verdict) -> History {
    History {
        cell: verdict.cell.clone(),
        contender: verdict.contender.clone(),
        baseline: verdict.baseline.clone(),
        metric: verdict.metric,
        points: Vec::new(),
        compared: Vec::new(),
        values: Vec::new(),
        baseline_values: Vec::new(),
    }
}

/// Finds where a column changes its level by more than the margin. Missing values are skipped.
fn turns(column: &[Option<f64>], is_logarithmic: bool, margin: f64) -> Vec<ChangePoint> {
    let is_fit = |value: f64| value.is_finite() && (!is_logarithmic || value > 0.0);
    let (places, values): (Vec<usize>, Vec<f64>) = column
        .iter()
        .enumerate()
        .filter_map(|(at, value)| Some((at, value.filter(|v| is_fit(*v))?)))
        .unzip();
    let series: Vec<f64> =
        values.iter().map(|v| if is_logarithmic { v.ln() } else { *v }).collect();
    let mut changes = e_divisive(&series, SHORTEST, LEVEL, PERMUTATIONS, SEED).unwrap_or_default();
    let reach = if is_logarithmic { (1.0 + margin).ln() } else { 100.0 * margin };
    loop {
        let levels = levels(&series, &changes);
        let steps = levels.windows(2).map(|pair| (pair[1] - pair[0]).abs()).enumerate();
        // Drop the smallest step first: without it, its neighbours may be larger.
        match steps.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, step)| *step <= reach) {
            Some((least, _)) => changes.remove(least),
            None => break,
        };
    }
    let levels = levels(&values, &changes);
    let turn = |(change, pair): (&stats::Change, &[f64])| ChangePoint {
        at: places[change.at],
        before: pair[0],
        after: pair[1],
        p: change.p,
    };
    changes.iter().zip(levels.windows(2)).map(turn).collect()
}

/// Returns the medians between changes.
fn levels(series: &[f64], changes: &[stats::Change]) -> Vec<f64> {
    let begins = std::iter::once(0).chain(changes.iter().map(|c| c.at));
    let ends = changes.iter().map(|c| c.at).chain([series.len()]);
    begins.zip(ends).filter_map(|(begin, end)| median(&series[begin..end])).collect()
}
