//! The rule on plain numbers: pairs of values in, one pair a block, and an outcome out.
//!
//! docs/method/verdict.md explains it. The mean of the log-ratios has two intervals: Student's t
//! over blocks, and a bootstrap over blocks and seconds. The outcome follows from where the
//! interval that contains both lies relative to the margin. Start with [`by_ratio`].

mod canonical;
mod edges;
mod question;
#[cfg(test)]
mod tests;

pub use edges::{Edges, OneSided};
pub use question::{Pair, Question, RESAMPLES, Second, Side};

use canonical::Canonical;
use edges::Intervals;
use record::judgement::Outcome;
use spec::experiment::FEWEST_BLOCKS;
use spec::units::show_number;
use stats::{Interval, mean, mean_interval, pairs_needed, sign_flip};

/// The largest number of blocks to suggest.
const MOST_BLOCKS: usize = 1_000;

/// The result for pairs. Without a ratio (too few pairs, or a value that is not above zero) all
/// numbers are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Better, worse, equivalent or undecided.
    pub outcome: Outcome,
    /// Why, when undecided; else empty.
    pub reason: String,
    /// Contender over baseline, geometric mean of the pairs.
    pub ratio: Option<f64>,
    /// Standard deviation of the log-ratios.
    pub log_deviation: Option<f64>,
    /// The interval that decides: from the lower of the next two's lower ends to the higher of
    /// their upper ends. `None` at a look that can decide nothing.
    pub interval: Option<Interval>,
    /// The t interval.
    pub interval_t: Option<Interval>,
    /// The hierarchical bootstrap's; `None` from fewer than six pairs.
    pub interval_bootstrap: Option<Interval>,
    /// The interval that decides, at the confidence of equivalent.
    pub interval_equivalence: Option<Interval>,
    /// The exact sign-flip test of "no difference". It decides nothing.
    pub sign_flip_p: Option<f64>,
    /// P-value of the likeliest outcome of the three, scaled so that it decides at `1 -
    /// design_confidence`.
    pub p: Option<f64>,
    /// The same for one edge of the margin at a time.
    pub edges: Edges,
    /// About how many blocks would settle it, when undecided. `None` if no number would.
    pub blocks_needed: Option<usize>,
}

impl Finding {
    fn undecided(reason: String) -> Finding {
        Finding {
            outcome: Outcome::Undecided,
            reason,
            ratio: None,
            log_deviation: None,
            interval: None,
            interval_t: None,
            interval_bootstrap: None,
            interval_equivalence: None,
            sign_flip_p: None,
            p: None,
            edges: Edges::default(),
            blocks_needed: None,
        }
    }
}

/// Compares by ratio. The order of the pairs makes no difference, and exchanged sides give the
/// mirrored finding.
pub fn by_ratio(pairs: &[Pair], question: &Question) -> Finding {
    let is_positive = |side: &Side| side.value > 0.0 && side.value.is_finite();
    if !pairs.iter().all(|p| is_positive(&p.contender) && is_positive(&p.baseline)) {
        return Finding::undecided(
            too_few(pairs.len()).unwrap_or_else(|| "a value of zero has no ratio".into()),
        );
    }
    let canonical = Canonical::of_pairs(pairs);
    let logs = canonical.logs();
    let Some(center) = mean(&logs).filter(|_| logs.len() > 1) else {
        return Finding::undecided(too_few(logs.len()).unwrap_or_default());
    };
    let OfLogs { t, bootstrap, decides, t_equivalence, equivalence } =
        OfLogs::compute(&canonical, &logs, question);
    let direction = if canonical.is_exchanged { -1.0 } else { 1.0 };
    let as_ratio = |interval: Interval| {
        let Interval { low, high } = in_direction(interval, canonical.is_exchanged);
        // An interval beyond the largest number is none.
        Some(Interval { low: low.exp(), high: high.exp() }).filter(is_finite)
    };
    let finding = Finding {
        ratio: Some((direction * center).exp()),
        log_deviation: stats::sample_deviation(&logs),
        interval: decides.and_then(as_ratio),
        interval_t: t.and_then(as_ratio),
        // At a look that can decide nothing, percentiles of the resamples are no interval.
        interval_bootstrap: t.and(bootstrap).and_then(as_ratio),
        interval_equivalence: equivalence.and_then(as_ratio),
        sign_flip_p: (question.resamples > 0)
            .then(|| sign_flip(&logs, question.seed))
            .flatten()
            .map(|test| test.p),
        ..Finding::undecided(too_few(pairs.len()).unwrap_or_default())
    };
    // Chosen, so without trailing zeros: `5`, not `5.00`.
    let margin = (question.margin * 1e5).round() / 1e3;
    let describe = |interval: Interval| {
        let shown = in_direction(interval, canonical.is_exchanged);
        match () {
            () if shown.high < 0.0 => format!("lower, but perhaps by less than {margin} %"),
            () if shown.low > 0.0 => format!("higher, but perhaps by less than {margin} %"),
            () => "the interval lies on both sides of the baseline".to_owned(),
        }
    };
    let values = Values {
        all: &logs,
        edge: (1.0 + question.margin).ln(),
        lower_is_better: question.lower_is_better != canonical.is_exchanged,
        intervals: Intervals {
            difference: t.zip(decides),
            equivalence: t_equivalence.zip(equivalence),
        },
    };
    let concluded = conclude(finding, &values, question, describe);
    Finding {
        edges: if canonical.is_exchanged { concluded.edges.exchanged() } else { concluded.edges },
        ..concluded
    }
}

/// Compares by difference, contender minus baseline, for metrics that should be zero. The margin
/// counts in percentage points. Ratio and intervals of a ratio stay `None`; [`Finding::interval`]
/// is the difference's.
pub fn by_difference(pairs: &[(f64, f64)], question: &Question) -> Finding {
    let differences: Vec<f64> =
        pairs.iter().map(|(contender, baseline)| contender - baseline).collect();
    let t = t_interval(&differences, question.confidence);
    let equivalence = t_interval(&differences, question.confidence_equivalence);
    let finding = Finding {
        interval: t,
        interval_t: t,
        interval_equivalence: equivalence,
        sign_flip_p: sign_flip(&differences, question.seed).map(|test| test.p),
        ..Finding::undecided(too_few(pairs.len()).unwrap_or_default())
    };
    let values = Values {
        all: &differences,
        edge: 100.0 * question.margin,
        lower_is_better: question.lower_is_better,
        intervals: Intervals { difference: t.zip(t), equivalence: equivalence.zip(equivalence) },
    };
    conclude(finding, &values, question, |interval| {
        format!(
            "the difference lies between {} and {} points",
            show_number(interval.low),
            show_number(interval.high)
        )
    })
}

/// The intervals of the mean of log-ratios.
struct OfLogs {
    t: Option<Interval>,
    bootstrap: Option<Interval>,
    /// Contains both.
    decides: Option<Interval>,
    /// The t interval at the confidence of equivalent.
    t_equivalence: Option<Interval>,
    /// Contains both at the confidence of equivalent.
    equivalence: Option<Interval>,
}

impl OfLogs {
    fn compute(canonical: &Canonical<'_>, logs: &[f64], question: &Question) -> OfLogs {
        let bootstrap = (logs.len() >= FEWEST_BLOCKS as usize)
            .then(|| canonical.bootstrap(question.seed, question.resamples))
            .flatten();
        let of_bootstrap = |confidence: f64| {
            bootstrap.as_ref().map(|b| b.percentile(confidence)).filter(is_finite)
        };
        let t = t_interval(logs, question.confidence);
        let t_equivalence = t_interval(logs, question.confidence_equivalence);
        let drawn = of_bootstrap(question.confidence);
        let drawn_equivalence = of_bootstrap(question.confidence_equivalence);
        OfLogs {
            t,
            bootstrap: drawn,
            decides: t.map(|t| containing(t, drawn)),
            t_equivalence,
            equivalence: t_equivalence.map(|t| containing(t, drawn_equivalence)),
        }
    }
}

/// Numbers that are compared with a margin around zero, with the intervals of their mean.
struct Values<'v> {
    all: &'v [f64],
    edge: f64,
    lower_is_better: bool,
    intervals: Intervals,
}

/// Adds the outcome and p or, if nothing is decided, why not. `describe` says what the interval
/// shows.
fn conclude(
    mut finding: Finding,
    values: &Values<'_>,
    question: &Question,
    describe: impl Fn(Interval) -> String,
) -> Finding {
    if !finding.reason.is_empty() {
        return finding;
    }
    let Values { all, edge, lower_is_better, intervals } = values;
    finding.edges = Edges::of_values(all, *edge, intervals, question);
    finding.p = finding.edges.p();
    let (Some((_, decides)), Some(_)) = (intervals.difference, intervals.equivalence) else {
        finding.reason =
            "no interim analysis yet: too few of the planned blocks are complete".into();
        return finding;
    };
    if let Some(place) = finding.edges.place() {
        finding.outcome = place.outcome(*lower_is_better);
        return finding;
    }
    // If the bootstrap decides, its spread counts.
    let deviation = stats::sample_deviation(all).unwrap_or(0.0);
    let spread = Some(intervals.widening())
        .filter(|factor| factor.is_finite())
        .map_or(f64::INFINITY, |factor| deviation * factor);
    finding.blocks_needed =
        blocks_needed(mean(all).unwrap_or(0.0), *edge, spread, all.len(), question);
    finding.reason = match finding.blocks_needed {
        Some(n) => format!("{}; about {n} blocks would settle it", describe(decides)),
        None => format!("{}; too close to the margin to be settled", describe(decides)),
    };
    finding
}

/// Returns after how many blocks an interval of the last look would exclude the nearest edge of the
/// margin.
fn blocks_needed(
    center: f64,
    edge: f64,
    spread: f64,
    pairs: usize,
    question: &Question,
) -> Option<usize> {
    let confidence = if center.abs() < edge {
        question.last_confidence_equivalence
    } else {
        question.last_confidence
    };
    pairs_needed(spread, (center.abs() - edge).abs(), confidence, MOST_BLOCKS)
        .map(|n| n.max(pairs + 1))
}

/// Explains why a few pairs have no verdict.
fn too_few(pairs: usize) -> Option<String> {
    let have = match pairs {
        0 => "no block has".to_owned(),
        1 => "only 1 block has".to_owned(),
        n => format!("only {n} blocks have"),
    };
    (pairs < FEWEST_BLOCKS as usize)
        .then(|| format!("{have} a value for this metric; a verdict needs {FEWEST_BLOCKS}"))
}

fn t_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    mean_interval(values, confidence).map(|(_, interval)| interval).filter(is_finite)
}

fn is_finite(interval: &Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite()
}

/// Mirrors an interval of log-ratios if the sides are exchanged.
fn in_direction(interval: Interval, is_exchanged: bool) -> Interval {
    match is_exchanged {
        true => Interval { low: -interval.high, high: -interval.low },
        false => interval,
    }
}

/// Returns the interval that contains both. One that is wider overall may still end earlier on one
/// side.
fn containing(t: Interval, bootstrap: Option<Interval>) -> Interval {
    bootstrap.map_or(t, |b| Interval { low: t.low.min(b.low), high: t.high.max(b.high) })
}
