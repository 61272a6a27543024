//! The verdict on one metric of one contender in one cell.
//!
//! [`Judge`] pairs the trials of two sides block by block, applies the rule, and withdraws what
//! must not be said although the numbers allow it. Start with [`Judge::all_verdicts`].

use crate::durability;
use crate::judged::Judged;
use crate::looks::{Looks, looks_of_record};
use crate::readings::{Missing, invalidating, side, values};
use crate::restraint::{bar_biased, bar_failed, bar_failed_equal};
use crate::rule::{Finding, Pair, Question, Second, Side, by_difference, by_ratio};
use crate::soundness::{has_failed, measurement, summary};
use record::Record;
use record::judgement::{Disqualified, Verdict};
use spec::experiment::{Cell, FEWEST_BLOCKS};
use spec::metric::{Metric, Subject};
use spec::name::ContenderName;
use stats::{Interval, smallest_sample};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A contender in a cell, or in none for a metric of the start.
type Place<'a> = (&'a ContenderName, Option<&'a str>);

/// Two sides that are compared by a metric.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    contender: Place<'a>,
    /// Another contender, or the same one in another cell.
    baseline: Place<'a>,
    metric: Metric,
    margin: f64,
    /// The baseline's values count this many times. The ratio is still to the baseline itself.
    factor: f64,
}

/// The pairs of a comparison, and how many blocks have none.
struct Pairs {
    pairs: Vec<Pair>,
    excluded: usize,
    /// How many of the excluded ones a fault invalidated.
    invalidated: usize,
}

/// A record with what all its verdicts share.
pub(crate) struct Judge<'r> {
    pub record: &'r Record,
    pub looks: Looks,
    /// The cells and metrics in which the baseline differs from itself, with a description.
    pub differs: BTreeMap<(Option<String>, &'static str), String>,
    /// The contenders that lost or doubled writes that they acknowledged.
    pub disqualified: Vec<Disqualified>,
}

impl<'r> Judge<'r> {
    pub fn new(record: &'r Record) -> Judge<'r> {
        Judge {
            record,
            looks: looks_of_record(record),
            differs: BTreeMap::new(),
            disqualified: durability::disqualified(record),
        }
    }

    /// Returns every verdict of a record, in reading order.
    pub fn all_verdicts(&self) -> Vec<Judged> {
        self.verdicts(|_, _| true)
    }

    /// Returns the verdicts on primary metrics.
    pub fn primary_verdicts(&self) -> Vec<Judged> {
        self.verdicts(|metric, cell| metric.is_primary(cell))
    }

    /// Returns the verdicts on some metrics, in reading order.
    fn verdicts(&self, is_asked: impl Fn(Metric, Option<&Cell>) -> bool) -> Vec<Judged> {
        let experiment = &self.record.header.experiment;
        // Crossed factors are judged all together, not combination by combination.
        let crossed = experiment.combinations();
        let is_compared = |name: &&ContenderName| {
            **name != experiment.baseline && !crossed.iter().any(|c| c.contender == **name)
        };
        let others: Vec<&ContenderName> =
            self.record.header.contenders.iter().map(|p| &p.name).filter(is_compared).collect();
        let mut verdicts = Vec::new();
        let of_trial = Metric::ALL.into_iter().filter(|m| m.is_of_trial());
        let places = experiment
            .cells
            .iter()
            .flat_map(|c| {
                Metric::ALL.into_iter().filter(move |m| m.is_of(c)).map(move |m| (Some(c), m))
            })
            .chain(of_trial.map(|m| (None, m)))
            .filter(|(cell, metric)| is_asked(*metric, *cell))
            .map(|(cell, metric)| (cell.map(|cell| cell.name.as_str()), metric));
        for (cell, metric) in places {
            for contender in others.iter().filter(|name| self.has(metric, name)) {
                verdicts.push(self.with_baseline(
                    contender,
                    metric,
                    cell,
                    experiment.design.margin,
                ));
            }
        }
        verdicts
    }

    /// Returns whether both a contender and the baseline have a metric.
    fn has(&self, metric: Metric, contender: &ContenderName) -> bool {
        let both = [contender, &self.record.header.experiment.baseline];
        let is_reached = |name: &&ContenderName| {
            self.record.header.contenders.iter().any(|p| p.reached.is_some() && p.name == **name)
        };
        let has_several =
            |name: &ContenderName| name.share().replicas.is_some_and(|replicas| replicas > 1);
        match (metric, metric.describe().of) {
            (Metric::ScaleOut, _) => both.into_iter().all(has_several),
            (Metric::EnergyPerRequest, _) => {
                both.into_iter().all(|name| self.record.has_energy(name))
            }
            (Metric::StartUp, _) => !both.iter().any(is_reached),
            // A service that ran already is watched only on this machine.
            (_, Subject::Process | Subject::Start) => {
                both.iter().all(|name| !is_reached(name) || self.record.is_watched(name))
            }
            (_, Subject::Requests | Subject::Latency) => true,
        }
    }

    /// Compares one contender with the baseline.
    pub fn with_baseline(
        &self,
        contender: &ContenderName,
        metric: Metric,
        cell: Option<&str>,
        margin: f64,
    ) -> Judged {
        self.between(contender, &self.record.header.experiment.baseline, metric, cell, margin)
    }

    /// Compares one contender with another, as if that were the baseline.
    pub fn between(
        &self,
        contender: &ContenderName,
        baseline: &ContenderName,
        metric: Metric,
        cell: Option<&str>,
        margin: f64,
    ) -> Judged {
        let sides = ((contender, cell), (baseline, cell));
        let comparison =
            Comparison { contender: sides.0, baseline: sides.1, metric, margin, factor: 1.0 };
        let mut judged = self.compare(&comparison);
        self.bar(&mut judged, metric, cell);
        self.restrain(&mut judged);
        judged
    }

    /// Compares one contender with a multiple of the baseline. The ratio is to the baseline itself.
    /// A contender with failures of its own cannot be judged to equal the multiple.
    pub fn with_multiple(
        &self,
        contender: &ContenderName,
        metric: Metric,
        cell: Option<&str>,
        margin: f64,
        factor: f64,
    ) -> Judged {
        let baseline = (&self.record.header.experiment.baseline, cell);
        let contender = (contender, cell);
        let mut judged = self.compare(&Comparison { contender, baseline, metric, margin, factor });
        self.bar(&mut judged, metric, cell);
        if !metric.describe().by_difference {
            bar_failed_equal(&mut judged, self.record, cell);
        }
        self.restrain(&mut judged);
        judged
    }

    /// Compares a contender in one cell with itself in another.
    pub fn with_itself(
        &self,
        name: &ContenderName,
        metric: Metric,
        cell: &str,
        first: &str,
        margin: f64,
    ) -> Judged {
        let (contender, baseline) = ((name, Some(cell)), (name, Some(first)));
        let mut judged =
            self.compare(&Comparison { contender, baseline, metric, margin, factor: 1.0 });
        self.restrain(&mut judged);
        judged
    }

    /// Withdraws a verdict in favour of a contender that failed, or that faults of its own spared.
    fn bar(&self, judged: &mut Judged, metric: Metric, cell: Option<&str>) {
        if !metric.describe().by_difference {
            bar_failed(judged, self.record, cell);
            cell.iter().for_each(|cell| bar_biased(judged, self.record, cell));
        }
    }

    /// Returns whether a contender lost or doubled a write that it acknowledged.
    pub fn is_disqualified(&self, contender: &ContenderName) -> bool {
        self.disqualified.iter().any(|d| d.contender == *contender)
    }

    /// Withdraws what must not be said although the numbers allow it.
    pub fn restrain(&self, judged: &mut Judged) {
        let verdict = &judged.verdict;
        let is_about =
            |d: &&Disqualified| d.contender == verdict.contender || d.contender == verdict.baseline;
        if let Some(Disqualified { contender, reason }) = self.disqualified.iter().find(is_about) {
            judged.withdraw(format!("{contender} is disqualified: {reason}"));
        } else if let Some(how) =
            self.differs.get(&(verdict.cell.clone(), verdict.metric.describe().name))
        {
            judged.unsettle(format!("the baseline differs from itself here: {how}"));
        }
    }

    /// Judges by the numbers alone.
    fn compare(&self, comparison: &Comparison<'_>) -> Judged {
        let Comparison { metric, margin, .. } = *comparison;
        let design = &self.record.header.experiment.design;
        let about = metric.describe();
        let question = Question::at_look(
            &self.looks,
            design.confidence,
            margin,
            about.lower_is_better,
            design.seed.wrapping_add(comparison.hash()),
        );
        let Pairs { mut pairs, excluded, invalidated } = self.pairs(comparison);
        let used = pairs.len();
        // If faults left too little for a verdict, show what was measured all the same, marked as
        // unconfirmed.
        let mut unconfirmed = String::new();
        if used < FEWEST_BLOCKS as usize && invalidated > 0 {
            pairs = self.pairs_with_faults(comparison);
            unconfirmed = self.faults_in_words(comparison);
        }
        let found = match about.by_difference {
            true => {
                let values = pairs.iter().map(|p| (p.contender.value, p.baseline.value));
                by_difference(&values.collect::<Vec<_>>(), &question)
            }
            false => by_ratio(&pairs, &question),
        };
        let verdict = Verdict {
            confidence: self.looks.now.confidence,
            used,
            excluded,
            invalidated,
            unconfirmed: unconfirmed.clone(),
            ..comparison.verdict(&pairs)
        };
        let mut judged = Judged::of_finding(comparison.over_baseline(found), verdict);
        if used == 0
            && invalidated == 0
            && let Some(reason) = self.too_few_responses(comparison)
        {
            judged.verdict.reason = reason;
        }
        if !unconfirmed.is_empty() {
            judged.withdraw(format!(
                "not confirmed: {unconfirmed} in {invalidated} of {} blocks",
                used + excluded
            ));
        }
        judged
    }

    /// Pairs the usable trials of both sides, block by block.
    fn pairs(&self, comparison: &Comparison<'_>) -> Pairs {
        let Comparison { contender, baseline, metric, factor, .. } = *comparison;
        let by_block = |(name, cell): Place<'_>| -> BTreeMap<u32, Result<Side, Missing>> {
            values(self.record, name, metric, cell).into_iter().collect()
        };
        let (mut of_contender, mut of_baseline) = (by_block(contender), by_block(baseline));
        let mut found = Pairs { pairs: Vec::new(), excluded: 0, invalidated: 0 };
        for block in 1..=self.record.header.plan.len() as u32 {
            match (of_contender.remove(&block), of_baseline.remove(&block)) {
                (Some(Ok(contender)), Some(Ok(baseline))) => {
                    found.pairs.push(Pair { contender: divided(contender, factor), baseline })
                }
                (None, None) => {}
                (a, b) => {
                    let is_invalidated = |side| side == Some(Err(Missing::Invalidated));
                    found.excluded += 1;
                    found.invalidated += usize::from(is_invalidated(a) || is_invalidated(b));
                }
            }
        }
        found
    }

    /// Pairs all trials that have a value, also those that faults invalidate: the best estimate if
    /// nothing else is left.
    fn pairs_with_faults(&self, comparison: &Comparison<'_>) -> Vec<Pair> {
        let Comparison { contender, baseline, metric, factor, .. } = *comparison;
        let by_block = |(name, cell): Place<'_>| -> BTreeMap<u32, Side> {
            let trials = self.record.trials.iter();
            let of_name = trials.filter(|t| t.contender == *name && !has_failed(t));
            of_name.filter_map(|t| Some((t.block, side(t, metric, cell)?))).collect()
        };
        let mut of_baseline = by_block(baseline);
        let pair = |(block, side): (u32, Side)| {
            let baseline = of_baseline.remove(&block)?;
            Some(Pair { contender: divided(side, factor), baseline })
        };
        by_block(contender).into_iter().filter_map(pair).collect()
    }

    /// Explains that no measurement of one of the two has as many responses as a quantile needs.
    fn too_few_responses(&self, comparison: &Comparison<'_>) -> Option<String> {
        let needed = smallest_sample(comparison.metric.quantile()?);
        let most = |(name, cell): Place<'_>| {
            let of_name = self.record.trials.iter().filter(|trial| trial.contender == *name);
            of_name.filter_map(|trial| Some(measurement(trial, cell?)?.times().len())).max()
        };
        let had = most(comparison.contender)?.min(most(comparison.baseline)?);
        (had < needed).then(|| {
            format!(
                "a verdict needs {needed} responses in each block, and no block had more than {had}"
            )
        })
    }

    /// Names the faults that invalidated measurements of either side, in a few words.
    fn faults_in_words(&self, comparison: &Comparison<'_>) -> String {
        let kinds = |(name, cell): Place<'_>| -> Vec<&str> {
            let of_name = self.record.trials.iter().filter(|t| t.contender == *name);
            of_name.flat_map(|t| invalidating(t, comparison.metric, cell)).collect()
        };
        let mut words: Vec<Cow<str>> = [kinds(comparison.contender), kinds(comparison.baseline)]
            .concat()
            .into_iter()
            .map(summary)
            .collect();
        words.sort_unstable();
        words.dedup();
        words.join(", ")
    }
}

impl Comparison<'_> {
    /// Returns a number of the names that is the same on every machine and release (FNV-1a, 64
    /// bits). It is also the same whichever side is called the baseline, so that the same resamples
    /// are drawn.
    fn hash(&self) -> u64 {
        let ((contender, cell), (baseline, _)) = (self.contender, self.baseline);
        let mut names = [contender.to_string(), baseline.to_string()];
        names.sort();
        let texts: [&str; 4] =
            [cell.unwrap_or_default(), self.metric.describe().name, &names[0], &names[1]];
        let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Makes the ratio one to the baseline itself. The interval of a difference is no ratio's.
    fn over_baseline(&self, found: Finding) -> Finding {
        let (factor, by_difference) = (self.factor, self.metric.describe().by_difference);
        let of_ratio = |interval: Option<Interval>| {
            let times =
                |Interval { low, high }| Interval { low: low * factor, high: high * factor };
            interval.filter(|_| !by_difference).map(times)
        };
        Finding {
            ratio: found.ratio.map(|ratio| ratio * factor),
            interval: of_ratio(found.interval),
            interval_t: of_ratio(found.interval_t),
            interval_bootstrap: of_ratio(found.interval_bootstrap),
            interval_equivalence: of_ratio(found.interval_equivalence),
            ..found
        }
    }

    /// Returns an open verdict with the values of both sides.
    fn verdict(&self, pairs: &[Pair]) -> Verdict {
        let ((contender, cell), factor) = (self.contender, self.factor);
        let column = |pick: fn(&Pair) -> f64| pairs.iter().map(pick).collect::<Vec<f64>>();
        let (contenders, baselines) = (column(|p| p.contender.value), column(|p| p.baseline.value));
        let typical =
            |values: &[f64]| stats::geometric_mean(values).or_else(|| stats::mean(values));
        let difference = stats::mean(&contenders).zip(stats::mean(&baselines)).map(|(a, b)| a - b);
        let by_difference = self.metric.describe().by_difference;
        Verdict {
            cell: cell.map(str::to_owned),
            difference: difference.filter(|_| by_difference && pairs.len() > 1),
            value: typical(&contenders).map(|value| value * factor),
            baseline_value: typical(&baselines),
            margin: self.margin,
            ..Verdict::open(contender.clone(), self.baseline.0.clone(), self.metric)
        }
    }
}

/// Divides a side's value and seconds.
fn divided(side: Side, divisor: f64) -> Side {
    let seconds = side
        .seconds
        .into_iter()
        .map(|second| Second { amount: second.amount / divisor, ..second })
        .collect();
    Side { value: side.value / divisor, seconds }
}
