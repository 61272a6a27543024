//! The rule, on plain numbers: what pairs of values, one a block, come to.

use crate::looks::Looks;
use model::experiment::FEWEST_BLOCKS;
use model::judgement::Outcome;
use model::units::show_number;
use stats::{Block, Interval, hierarchical_bootstrap, mean, mean_interval, p_above, p_below, pairs_needed, sign_flip};

/// How often blocks and seconds are resampled.
pub const RESAMPLES: usize = 4_000;

/// More blocks than this are never said to be needed.
const MOST_BLOCKS: usize = 1_000;

/// A part of a trial that may be drawn again: `amount` over `weight` is its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Such as CPU time, in any unit.
    pub amount: f64,
    /// Such as right answers; 1 where the amount is the value.
    pub weight: f64,
}

impl From<f64> for Second {
    fn from(amount: f64) -> Second {
        Second { amount, weight: 1.0 }
    }
}

/// One trial: its value, and its seconds where there are any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// The trial's value, in the metric's unit.
    pub value: f64,
    /// Its seconds; the value moves as the sum of their amounts over the sum of their weights.
    pub seconds: Vec<Second>,
}

/// The trials of a block that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Of the contender.
    pub contender: Side,
    /// Of the baseline.
    pub baseline: Side,
}

/// What is asked of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Confidence of better and worse at this look; 1 allows nothing.
    pub confidence: f64,
    /// Confidence of equivalent at this look.
    pub confidence_equivalence: f64,
    /// As the design says it; p-values are scaled to `1 - design_confidence`.
    pub design_confidence: f64,
    /// At the last look, for the blocks still needed.
    pub last_confidence: f64,
    /// The same for equivalent.
    pub last_confidence_equivalence: f64,
    /// A ratio within `[1/(1+margin), 1+margin]` makes no difference that matters.
    pub margin: f64,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// Of the resamples.
    pub seed: u64,
    /// How many resamples: [`RESAMPLES`], save where thousands of experiments are simulated.
    pub resamples: usize,
}

impl Question {
    /// What the look of now allows.
    pub fn at(looks: &Looks, design_confidence: f64, margin: f64, lower_is_better: bool, seed: u64) -> Question {
        Question {
            confidence: looks.now.confidence,
            confidence_equivalence: looks.now.confidence_equivalence,
            design_confidence,
            last_confidence: looks.last.confidence,
            last_confidence_equivalence: looks.last.confidence_equivalence,
            margin,
            lower_is_better,
            seed,
            resamples: RESAMPLES,
        }
    }
}

/// A statement about one edge of the margin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneSided {
    /// Whether it surely holds, by the interval that decides.
    pub holds: bool,
    /// As [`Finding::p`].
    pub p: Option<f64>,
}

/// Where the ratio (or difference) lies beside each edge of the margin: who asks whether somebody is worse asks about one edge alone. Beyond the margin
/// by the interval of better and worse, this side of it by that of equivalent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Edges {
    /// Lower than the baseline by more than the margin.
    pub below_lower: OneSided,
    /// Not lower by more than the margin.
    pub above_lower: OneSided,
    /// Not higher by more than the margin.
    pub below_upper: OneSided,
    /// Higher by more than the margin.
    pub above_upper: OneSided,
}

/// What pairs come to. Without a ratio (too few pairs, or a value that is not above zero) all numbers are `None`.
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
    /// From the lower of the next two's lower ends to the higher of their upper ends, which decides; `None` at a look that allows nothing.
    pub interval: Option<Interval>,
    /// The t interval.
    pub interval_t: Option<Interval>,
    /// The hierarchical bootstrap's; `None` from fewer than six pairs.
    pub interval_bootstrap: Option<Interval>,
    /// The same of the two at the confidence of equivalent.
    pub interval_equivalence: Option<Interval>,
    /// The exact sign-flip test of "no difference"; decides nothing.
    pub sign_flip_p: Option<f64>,
    /// p of the likeliest outcome of the three, scaled so that it decides at `1 - design_confidence`.
    pub p: Option<f64>,
    /// The same of one edge of the margin at a time.
    pub edges: Edges,
    /// About how many blocks would settle it, when undecided; `None` where no number would.
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

/// Compares by ratio. The order of the pairs makes no difference, and exchanged sides give the mirrored finding.
pub fn by_ratio(pairs: &[Pair], question: &Question) -> Finding {
    let is_positive = |side: &Side| side.value > 0.0 && side.value.is_finite();
    if !pairs.iter().all(|p| is_positive(&p.contender) && is_positive(&p.baseline)) {
        return Finding::undecided(too_few(pairs.len()).unwrap_or_else(|| "a value of zero has no ratio".into()));
    }
    let canonical = Canonical::of(pairs);
    let logs = canonical.logs();
    let Some(center) = mean(&logs).filter(|_| logs.len() > 1) else {
        return Finding::undecided(too_few(logs.len()).unwrap_or_default());
    };
    let bootstrap = if pairs.len() < FEWEST_BLOCKS as usize { None } else { canonical.bootstrap(question.seed, question.resamples) };
    let of_t = |confidence: f64| mean_interval(&logs, confidence).map(|(_, interval)| interval).filter(is_finite);
    let of_bootstrap = |confidence: f64| bootstrap.as_ref().map(|b| b.percentile(confidence)).filter(is_finite);
    let (t, boot) = (of_t(question.confidence), of_bootstrap(question.confidence));
    let wide = t.map(|t| both(t, boot));
    let t_narrow = of_t(question.confidence_equivalence);
    let narrow = t_narrow.map(|t| both(t, of_bootstrap(question.confidence_equivalence)));
    let direction = if canonical.is_exchanged { -1.0 } else { 1.0 };
    // What reaches further than numbers go is no interval.
    let back = |interval: Interval| {
        let (low, high) = if canonical.is_exchanged { (-interval.high, -interval.low) } else { (interval.low, interval.high) };
        Some(Interval { low: low.exp(), high: high.exp() }).filter(is_finite)
    };
    let finding = Finding {
        ratio: Some((direction * center).exp()),
        log_deviation: stats::sample_deviation(&logs),
        interval: wide.and_then(back),
        interval_t: t.and_then(back),
        // At a look that allows nothing the percentiles of any number of resamples would look like an interval.
        interval_bootstrap: t.and(boot).and_then(back),
        interval_equivalence: narrow.and_then(back),
        sign_flip_p: sign_flip(&logs, question.seed).map(|test| test.p),
        ..Finding::undecided(too_few(pairs.len()).unwrap_or_default())
    };
    let margin = show_number(question.margin * 100.0);
    let say = |wide: Interval| {
        let shown = if canonical.is_exchanged { Interval { low: -wide.high, high: -wide.low } } else { wide };
        match () {
            () if shown.high < 0.0 => format!("lower, but not surely by more than {margin} %"),
            () if shown.low > 0.0 => format!("higher, but not surely by more than {margin} %"),
            () => "the interval holds both sides of the baseline".to_owned(),
        }
    };
    let lower_is_better = question.lower_is_better != canonical.is_exchanged;
    let stretch = Stretch { wide: t.zip(wide), narrow: t_narrow.zip(narrow) };
    let values = Values { all: &logs, edge: (1.0 + question.margin).ln(), lower_is_better, stretch };
    let concluded = conclude(finding, &values, question, say);
    Finding { edges: if canonical.is_exchanged { concluded.edges.exchanged() } else { concluded.edges }, ..concluded }
}

/// Compares by difference, contender minus baseline, where zero is what is hoped for; the margin counts in hundredths.
/// Ratio and intervals of a ratio stay `None`; [`Finding::interval`] is the difference's.
pub fn by_difference(pairs: &[(f64, f64)], question: &Question) -> Finding {
    let differences: Vec<f64> = pairs.iter().map(|(contender, baseline)| contender - baseline).collect();
    let t = mean_interval(&differences, question.confidence).map(|(_, interval)| interval).filter(is_finite);
    let narrow = mean_interval(&differences, question.confidence_equivalence).map(|(_, interval)| interval).filter(is_finite);
    let finding = Finding {
        interval: t,
        interval_t: t,
        interval_equivalence: narrow,
        sign_flip_p: sign_flip(&differences, question.seed).map(|test| test.p),
        ..Finding::undecided(too_few(pairs.len()).unwrap_or_default())
    };
    let stretch = Stretch { wide: t.zip(t), narrow: narrow.zip(narrow) };
    let values = Values { all: &differences, edge: 100.0 * question.margin, lower_is_better: question.lower_is_better, stretch };
    conclude(finding, &values, question, |wide| {
        format!("the difference lies between {} and {} points", show_number(wide.low), show_number(wide.high))
    })
}

/// Numbers that are held against a margin around zero, with the intervals of their mean.
struct Values<'v> {
    all: &'v [f64],
    edge: f64,
    lower_is_better: bool,
    stretch: Stretch,
}

/// Adds the outcome and p or, where nothing is decided, why not: `say` tells what the interval shows.
fn conclude(mut finding: Finding, values: &Values<'_>, question: &Question, say: impl Fn(Interval) -> String) -> Finding {
    if !finding.reason.is_empty() {
        return finding;
    }
    let Values { all, edge, lower_is_better, stretch } = values;
    finding.edges = Edges::of(all, *edge, stretch, question);
    finding.p = finding.edges.p();
    let (Some((_, wide)), Some(_)) = (stretch.wide, stretch.narrow) else {
        finding.reason = "no look yet: after so few of the planned blocks nothing is said".into();
        return finding;
    };
    if let Some(place) = finding.edges.place() {
        finding.outcome = place.outcome(*lower_is_better);
        return finding;
    }
    // The bootstrap's spread counts where it is what decides.
    let deviation = stats::sample_deviation(all).unwrap_or(0.0);
    let spread = Some(stretch.factor()).filter(|f| f.is_finite()).map_or(f64::INFINITY, |factor| deviation * factor);
    finding.blocks_needed = needed(mean(all).unwrap_or(0.0), *edge, spread, all.len(), question);
    finding.reason = match finding.blocks_needed {
        Some(n) => format!("{}; about {n} blocks would settle it", say(wide)),
        None => format!("{}; it lies too near the margin to be settled", say(wide)),
    };
    finding
}

/// Why so few pairs have no verdict.
fn too_few(pairs: usize) -> Option<String> {
    let blocks = if pairs == 1 { "1 block".to_owned() } else { format!("{pairs} blocks") };
    (pairs < FEWEST_BLOCKS as usize).then(|| format!("{blocks} of the {FEWEST_BLOCKS} that a verdict needs"))
}

fn is_finite(interval: &Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite()
}

fn width(interval: Interval) -> f64 {
    interval.high - interval.low
}

/// What either of the two holds: an interval that is wider on the whole may still end before the other on one side.
fn both(t: Interval, bootstrap: Option<Interval>) -> Interval {
    bootstrap.map_or(t, |b| Interval { low: t.low.min(b.low), high: t.high.max(b.high) })
}

/// Where an interval lies beside the margin.
enum Place {
    Below,
    Within,
    Above,
}

impl Place {
    fn outcome(self, lower_is_better: bool) -> Outcome {
        match self {
            Place::Within => Outcome::Equivalent,
            Place::Below if lower_is_better => Outcome::Better,
            Place::Above if !lower_is_better => Outcome::Better,
            Place::Below | Place::Above => Outcome::Worse,
        }
    }
}

/// By how much the interval that decides is wider than the t interval, for both confidences.
struct Stretch {
    wide: Option<(Interval, Interval)>,
    narrow: Option<(Interval, Interval)>,
}

impl Stretch {
    fn factor(&self) -> f64 {
        self.wide.map_or(1.0, |(t, used)| match () {
            () if width(t) > 0.0 => width(used) / width(t),
            () if width(used) > 0.0 => f64::INFINITY,
            () => 1.0,
        })
    }
}

impl Edges {
    /// The t tests' p-values of each statement. The values are spread until their t interval reaches as far as the interval that decides, so that p and
    /// interval always agree; and scaled from what the look may spend, on two sides, to what the whole may.
    fn of(values: &[f64], edge: f64, stretch: &Stretch, question: &Question) -> Edges {
        let Some(center) = mean(values) else { return Edges::default() };
        let alpha = 1.0 - question.design_confidence;
        let spread = |reach_t: f64, reach: f64| -> Vec<f64> {
            // Values that are all alike cannot be spread: nothing is tested.
            match reach_t > 0.0 {
                true if reach == reach_t => values.to_vec(),
                true => values.iter().map(|v| center + (v - center) * (reach / reach_t).max(0.0)).collect(),
                false if reach > 0.0 => Vec::new(),
                false => values.to_vec(),
            }
        };
        let over = |t: Interval, used: Interval, bound: f64| p_above(&spread(center - t.low, center - used.low), bound);
        let under = |t: Interval, used: Interval, bound: f64| p_below(&spread(t.high - center, used.high - center), bound);
        let of = |both: Option<(Interval, Interval)>, confidence: f64, test: &dyn Fn(Interval, Interval) -> (bool, Option<f64>)| {
            both.map_or(OneSided::default(), |(t, used)| {
                let (holds, one_sided) = test(t, used);
                // What holds lies within its threshold, whatever rounding says.
                let most = if holds { alpha } else { 1.0 };
                OneSided { holds, p: one_sided.map(|p| (2.0 * p * alpha / (1.0 - confidence)).min(most)) }
            })
        };
        let beyond = |test: &dyn Fn(Interval, Interval) -> (bool, Option<f64>)| of(stretch.wide, question.confidence, test);
        let within = |test: &dyn Fn(Interval, Interval) -> (bool, Option<f64>)| of(stretch.narrow, question.confidence_equivalence, test);
        Edges {
            below_lower: beyond(&|t, used| (used.high < -edge, under(t, used, -edge))),
            above_lower: within(&|t, used| (used.low >= -edge, over(t, used, -edge))),
            below_upper: within(&|t, used| (used.high <= edge, under(t, used, edge))),
            above_upper: beyond(&|t, used| (used.low > edge, over(t, used, edge))),
        }
    }

    /// The same seen from the baseline.
    fn exchanged(self) -> Edges {
        let Edges { below_lower, above_lower, below_upper, above_upper } = self;
        Edges { below_lower: above_upper, above_lower: below_upper, below_upper: above_lower, above_upper: below_lower }
    }

    fn place(&self) -> Option<Place> {
        match () {
            () if self.below_lower.holds => Some(Place::Below),
            () if self.above_upper.holds => Some(Place::Above),
            () if self.above_lower.holds && self.below_upper.holds => Some(Place::Within),
            () => None,
        }
    }

    /// Of "beyond the margin" and "within it", the smaller; within takes both of its tests (Schuirmann 1987).
    fn p(&self) -> Option<f64> {
        let beyond = self.below_lower.p.zip(self.above_upper.p).map(|(a, b)| a.min(b));
        let within = self.above_lower.p.zip(self.below_upper.p).map(|(a, b)| a.max(b));
        beyond.into_iter().chain(within).reduce(f64::min)
    }
}

/// The blocks after which an interval of the last look would no longer hold the nearest edge of the margin.
fn needed(center: f64, edge: f64, spread: f64, pairs: usize, question: &Question) -> Option<usize> {
    let confidence = if center.abs() < edge { question.last_confidence_equivalence } else { question.last_confidence };
    pairs_needed(spread, (center.abs() - edge).abs(), confidence, MOST_BLOCKS).map(|n| n.max(pairs + 1))
}

/// Pairs in an order and orientation of their own, so that neither who is called the baseline nor the order of
/// blocks changes what is resampled.
struct Canonical<'p> {
    /// Numerator and denominator of each log-ratio.
    sides: Vec<(&'p Side, &'p Side)>,
    /// Whether the baseline is the numerator.
    is_exchanged: bool,
}

impl<'p> Canonical<'p> {
    fn of(pairs: &'p [Pair]) -> Canonical<'p> {
        let log = |a: &Side, b: &Side| (a.value / b.value).ln();
        let mut sum: Vec<f64> = pairs.iter().map(|p| log(&p.contender, &p.baseline)).collect();
        sum.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let is_exchanged = sum.iter().sum::<f64>() < 0.0;
        let mut sides: Vec<(&Side, &Side)> =
            pairs.iter().map(|p| if is_exchanged { (&p.baseline, &p.contender) } else { (&p.contender, &p.baseline) }).collect();
        sides.sort_by(|a, b| {
            let first = |s: &Side| s.seconds.first().map_or(0.0, |s| s.amount);
            let key = |s: &(&Side, &Side)| [s.0.value / s.1.value, s.0.value, first(s.0), first(s.1)];
            key(a).iter().zip(key(b)).map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        Canonical { sides, is_exchanged }
    }

    fn logs(&self) -> Vec<f64> {
        self.sides.iter().map(|(a, b)| a.value.ln() - b.value.ln()).collect()
    }

    /// Resamples blocks and, within each side's trial, seconds (Kalibera and Jones 2012): the mean of the log-ratios.
    fn bootstrap(&self, seed: u64, resamples: usize) -> Option<stats::Bootstrap> {
        let blocks: Vec<Block<Drawn, 2>> = self.sides.iter().map(|(a, b)| [vec![drawn(a)], vec![drawn(b)]]).collect();
        hierarchical_bootstrap(&blocks, resamples, seed, |sample| {
            let side = |block: usize, side: usize| {
                let seconds = sample.seconds(block, side);
                let Some(first) = seconds.first() else { return f64::NAN };
                if seconds.len() == 1 {
                    return first.log_value;
                }
                let (amount, weight) = seconds.iter().fold((0.0, 0.0), |(a, w), s| (a + s.amount, w + s.weight));
                // A draw of empty seconds alone is far off, not infinitely far.
                let drawn = if weight > 0.0 { amount / weight } else { f64::MAX };
                first.log_value + drawn.clamp(f64::MIN_POSITIVE, f64::MAX).ln() - first.log_whole
            };
            let blocks = sample.blocks();
            (0..blocks).map(|b| side(b, 0) - side(b, 1)).sum::<f64>() / blocks as f64
        })
    }
}

/// A second with what its trial comes to, so that a draw of seconds finds its value.
struct Drawn {
    amount: f64,
    weight: f64,
    log_value: f64,
    log_whole: f64,
}

/// The seconds of a trial; its value alone where they are too few or say nothing.
fn drawn(side: &Side) -> Vec<Drawn> {
    let log_value = side.value.ln();
    let (amount, weight) = side.seconds.iter().fold((0.0, 0.0), |(a, w), s| (a + s.amount, w + s.weight));
    let is_usable = |s: &Second| s.amount.is_finite() && s.weight.is_finite() && s.amount >= 0.0 && s.weight >= 0.0;
    if side.seconds.len() < 2 || !side.seconds.iter().all(is_usable) || amount <= 0.0 || weight <= 0.0 {
        return vec![Drawn { amount: 1.0, weight: 1.0, log_value, log_whole: 0.0 }];
    }
    let log_whole = (amount / weight).ln();
    side.seconds.iter().map(|s| Drawn { amount: s.amount, weight: s.weight, log_value, log_whole }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looks::looks;
    use proptest::prelude::*;

    fn question(margin: f64) -> Question {
        Question::at(&looks(&[], 6, 6, 0.95), 0.95, margin, true, 1)
    }

    fn pairs(ratios: &[f64]) -> Vec<Pair> {
        let side = |value: f64| Side { value, seconds: vec![] };
        ratios
            .iter()
            .zip(1..)
            .map(|(ratio, block)| Pair { contender: side(ratio * f64::from(block)), baseline: side(f64::from(block)) })
            .collect()
    }

    /// Seconds that vary by `spread` around 1.
    fn with_seconds(ratios: &[f64], spread: f64) -> Vec<Pair> {
        let mut all = pairs(ratios);
        for pair in &mut all {
            for side in [&mut pair.contender, &mut pair.baseline] {
                side.seconds = (0..10).map(|i| Second::from(if i % 2 == 0 { 1.0 + spread } else { 1.0 - spread })).collect();
            }
        }
        all
    }

    /// ln-ratios 0.1 to 0.6: mean 0.35, s = 0.18708, t(5; 0.975) = 2.5706: half-width 0.19633. Among all sign
    /// assignments only the one seen and its mirror reach the sum: 2/2⁶.
    #[test]
    fn worked_by_hand() {
        let found = by_ratio(&pairs(&[0.1f64, 0.2, 0.3, 0.4, 0.5, 0.6].map(f64::exp)), &question(0.05));
        let t = found.interval_t.unwrap();
        assert!((found.ratio.unwrap().ln() - 0.35).abs() < 1e-9);
        assert!((t.low.ln() - 0.15367).abs() < 1e-5 && (t.high.ln() - 0.54633).abs() < 1e-5, "{t:?}");
        assert_eq!(found.interval, Some(t), "the t interval holds the other");
        assert_eq!((found.outcome, found.sign_flip_p), (Outcome::Worse, Some(2.0 / 64.0)));
        // The bootstrap of a mean has the deviation √((n−1)/n)·s/√n = 0.0697: ± 1.96 of it, about.
        let bootstrap = found.interval_bootstrap.unwrap();
        assert!((bootstrap.low.ln() - 0.213).abs() < 0.012 && (bootstrap.high.ln() - 0.487).abs() < 0.012, "{bootstrap:?}");
    }

    #[test]
    fn seconds_that_vary_more_than_blocks_make_the_bootstrap_decide() {
        let ratios = [1.099, 1.1, 1.101, 1.1, 1.099, 1.101];
        let (calm, restless) =
            (by_ratio(&with_seconds(&ratios, 0.0), &question(0.05)), by_ratio(&with_seconds(&ratios, 0.5), &question(0.05)));
        assert_eq!(calm.interval_t, restless.interval_t);
        assert_eq!((calm.interval, calm.outcome), (calm.interval_t, Outcome::Worse));
        assert_eq!((restless.interval, restless.outcome), (restless.interval_bootstrap, Outcome::Undecided));
        assert!(restless.p.unwrap() > 0.05 && restless.blocks_needed.unwrap() > 6, "{restless:?}");
        assert_eq!(calm.blocks_needed, None);
    }

    #[test]
    fn an_early_look_asks_for_more_and_names_the_last_ones_blocks() {
        let noisy = pairs(&[1.10, 1.14, 1.08, 1.16, 1.09, 1.13]);
        let early = Question::at(&looks(&[6, 9, 12], 12, 6, 0.95), 0.95, 0.05, true, 1);
        let (now, at_end) = (by_ratio(&noisy, &early), by_ratio(&noisy, &question(0.05)));
        assert_eq!((now.outcome, at_end.outcome), (Outcome::Undecided, Outcome::Worse));
        assert_eq!(now.blocks_needed, Some(7), "at the end's confidence it is settled already");
        assert!(now.p.unwrap() > 0.05 && at_end.p.unwrap() < 0.05);
        let nothing = by_ratio(&noisy, &Question { confidence: 1.0, confidence_equivalence: 1.0, ..early });
        assert_eq!((nothing.outcome, nothing.interval), (Outcome::Undecided, None));
        assert!(nothing.reason.starts_with("no look yet"), "{}", nothing.reason);
    }

    #[test]
    fn too_few_pairs_and_values_without_ratio_are_said() {
        let five = by_ratio(&pairs(&[3.0; 5]), &question(0.05));
        assert_eq!((five.outcome, five.reason.as_str()), (Outcome::Undecided, "5 blocks of the 6 that a verdict needs"));
        assert!(five.ratio.is_some() && five.interval_bootstrap.is_none());
        assert_eq!(by_ratio(&pairs(&[0.0; 6]), &question(0.05)).reason, "a value of zero has no ratio");
        assert_eq!(by_ratio(&[], &question(0.05)).reason, "0 blocks of the 6 that a verdict needs");
        assert_eq!(by_ratio(&pairs(&[2.0]), &question(0.05)).ratio, None, "one block has no spread");
    }

    #[test]
    fn margin_zero_still_knows_the_same_from_the_different() {
        assert_eq!(by_ratio(&pairs(&[1.0; 6]), &question(0.0)).outcome, Outcome::Equivalent);
        assert_eq!(by_ratio(&pairs(&[1.01, 1.012, 1.011, 1.009, 1.01, 1.011]), &question(0.0)).outcome, Outcome::Worse);
        assert!(by_ratio(&pairs(&[1.0; 6]), &question(0.0)).p.unwrap() <= 0.05 + 1e-12);
    }

    /// Of 4 % less nobody knows whether it is more than 5 % less; but more than 5 % more it is not.
    #[test]
    fn an_edge_is_asked_about_alone() {
        let about_less = by_ratio(&pairs(&[0.93, 0.97, 0.95, 0.96, 0.94, 0.98]), &question(0.05));
        assert_eq!(about_less.outcome, Outcome::Undecided);
        let Edges { below_lower, above_lower, below_upper, above_upper } = about_less.edges;
        assert_eq!([below_lower, above_lower, below_upper, above_upper].map(|side| side.holds), [false, false, true, false]);
        assert!(below_upper.p.unwrap() < 0.001 && above_upper.p.unwrap() == 1.0, "{about_less:?}");
        assert!(below_lower.p.unwrap() > 0.05 && above_lower.p.unwrap() > 0.05, "{about_less:?}");
        // By the one-sided t test itself: mean of the logs −0.046, s 0.0196, five degrees of freedom, twice 0.05 of either side.
        let logs: Vec<f64> = [0.93f64, 0.97, 0.95, 0.96, 0.94, 0.98].map(f64::ln).to_vec();
        let exact = stats::p_above(&logs, -(1.05f64.ln())).unwrap();
        assert!((above_lower.p.unwrap() - exact).abs() < 0.02, "{above_lower:?} {exact}");
    }

    #[test]
    fn differences_of_shares() {
        let of = |values: [f64; 6]| by_difference(&values.map(|v| (v, 0.0)), &question(0.05));
        assert_eq!(of([0.0; 6]).outcome, Outcome::Equivalent);
        assert_eq!(of([98.0, 97.0, 99.0, 98.0, 98.0, 97.0]).outcome, Outcome::Worse);
        let open = of([0.0, 20.0, 0.0, 30.0, 0.0, 10.0]);
        assert_eq!(open.outcome, Outcome::Undecided);
        assert!(open.reason.contains("points; about") && open.p.unwrap() > 0.05, "{open:?}");
        assert_eq!(by_difference(&[(1.0, 0.0)], &question(0.05)).reason, "1 block of the 6 that a verdict needs");
    }

    #[test]
    fn seconds_that_say_nothing_are_left_out() {
        let ratios = [1.1, 1.2, 1.1, 1.2, 1.1, 1.2];
        let mut odd = pairs(&ratios);
        odd[0].contender.seconds = vec![Second { amount: 0.0, weight: 0.0 }; 5];
        odd[1].baseline.seconds = vec![Second { amount: f64::NAN, weight: 1.0 }; 5];
        odd[2].baseline.seconds = vec![1.0.into()];
        assert_eq!(by_ratio(&odd, &question(0.05)), by_ratio(&pairs(&ratios), &question(0.05)));
        // A draw of stalled seconds alone must not become infinite.
        odd[3].contender.seconds = vec![0.0.into(), 1.0.into()];
        let found = by_ratio(&odd, &question(0.05)).interval_bootstrap.unwrap();
        assert!(found.low.is_finite() && found.high.is_finite(), "{found:?}");
    }

    fn side() -> impl Strategy<Value = Side> {
        (0.5f64..2.0, prop::collection::vec((0.1f64..2.0, 0.5f64..2.0), 0..5)).prop_map(|(value, seconds)| Side {
            value,
            seconds: seconds.into_iter().map(|(amount, weight)| Second { amount, weight }).collect(),
        })
    }

    fn any_pairs() -> impl Strategy<Value = Vec<Pair>> {
        prop::collection::vec((side(), side()).prop_map(|(contender, baseline)| Pair { contender, baseline }), 6..9)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_order_of_blocks_changes_nothing(pairs in any_pairs(), seed in any::<u64>()) {
            let mut shuffled = pairs.clone();
            stats::shuffle(&mut shuffled, seed, 0);
            prop_assert_eq!(by_ratio(&pairs, &question(0.05)), by_ratio(&shuffled, &question(0.05)));
        }

        #[test]
        fn exchanged_sides_mirror(pairs in any_pairs()) {
            let exchanged: Vec<Pair> = pairs.iter().map(|p| Pair { contender: p.baseline.clone(), baseline: p.contender.clone() }).collect();
            let (there, back) = (by_ratio(&pairs, &question(0.05)), by_ratio(&exchanged, &question(0.05)));
            let mirrored = match there.outcome { Outcome::Better => Outcome::Worse, Outcome::Worse => Outcome::Better, same => same };
            prop_assert_eq!(back.outcome, mirrored);
            prop_assert_eq!((back.p, back.sign_flip_p, back.blocks_needed), (there.p, there.sign_flip_p, there.blocks_needed));
            prop_assert_eq!(back.edges, there.edges.exchanged());
            for (a, b) in [(there.interval, back.interval), (there.interval_bootstrap, back.interval_bootstrap), (there.interval_equivalence, back.interval_equivalence)] {
                let (a, b) = (a.unwrap(), b.unwrap());
                prop_assert!((a.low * b.high - 1.0).abs() < 1e-9 && (a.high * b.low - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn p_and_outcome_agree(pairs in any_pairs(), margin in 0.0f64..0.5) {
            let found = by_ratio(&pairs, &question(margin));
            prop_assert_eq!(found.outcome == Outcome::Undecided, found.p.unwrap() > 0.05 + 1e-9, "{:?}", found);
            prop_assert_eq!(found.outcome == Outcome::Undecided, !found.reason.is_empty());
            let Edges { below_lower, above_lower, below_upper, above_upper } = found.edges;
            for side in [below_lower, above_lower, below_upper, above_upper] {
                prop_assert_eq!(side.holds, side.p.unwrap() <= 0.05 + 1e-9, "{:?}", found);
            }
            prop_assert!(!(below_lower.holds && above_lower.holds || below_upper.holds && above_upper.holds), "{:?}", found);
        }
    }
}
