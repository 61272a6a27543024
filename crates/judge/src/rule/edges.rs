//! Where a mean lies relative to each edge of the margin, with p-values.
//!
//! Better and worse need an interval beyond one edge, equivalent one within both. A claim such as
//! "not worse" needs one edge only, so each edge is tested by itself. Start with
//! [`Edges::of_values`].

use super::question::Question;
use record::judgement::Outcome;
use stats::{Interval, mean, p_above, p_below};

/// A statement about one edge of the margin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneSided {
    /// Whether it holds, by the interval that decides.
    pub holds: bool,
    /// Its p-value, scaled as [`super::Finding::p`].
    pub p: Option<f64>,
}

/// Where the ratio (or difference) lies relative to each edge of the margin. The interval of better
/// and worse decides "beyond the edge", that of equivalent decides "not beyond it".
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

/// Where an interval lies relative to the margin.
pub(super) enum Place {
    Below,
    Within,
    Above,
}

impl Place {
    pub fn outcome(self, lower_is_better: bool) -> Outcome {
        match self {
            Place::Within => Outcome::Equivalent,
            Place::Below if lower_is_better => Outcome::Better,
            Place::Above if !lower_is_better => Outcome::Better,
            Place::Below | Place::Above => Outcome::Worse,
        }
    }
}

/// The t interval and the interval that decides, for both confidences. The second may be wider.
pub(super) struct Intervals {
    /// At the confidence of better and worse.
    pub difference: Option<(Interval, Interval)>,
    /// At the confidence of equivalent.
    pub equivalence: Option<(Interval, Interval)>,
}

impl Intervals {
    /// Returns how many times wider than the t interval the one that decides is.
    pub fn widening(&self) -> f64 {
        let width = |interval: Interval| interval.high - interval.low;
        self.difference.map_or(1.0, |(t, used)| match () {
            () if width(t) > 0.0 => width(used) / width(t),
            () if width(used) > 0.0 => f64::INFINITY,
            () => 1.0,
        })
    }
}

/// A one-sided test: given the t interval and the one that decides, whether the statement holds,
/// and its p-value.
type Test<'t> = &'t dyn Fn(Interval, Interval) -> (bool, Option<f64>);

impl Edges {
    /// Tests each statement about values around zero, with `edge` as the margin on both sides.
    ///
    /// The t tests give the p-values. First the values are spread until their t interval is as wide
    /// as the interval that decides, so that p-value and interval always agree. Then the p-values
    /// are scaled from the error that this look may spend, on two sides, to that of the design.
    pub(super) fn of_values(
        values: &[f64],
        edge: f64,
        intervals: &Intervals,
        question: &Question,
    ) -> Edges {
        let Some(center) = mean(values) else { return Edges::default() };
        let alpha = 1.0 - question.design_confidence;
        let over = |t: Interval, used: Interval, bound: f64| {
            p_above(&spread(values, center, center - t.low, center - used.low), bound)
        };
        let under = |t: Interval, used: Interval, bound: f64| {
            p_below(&spread(values, center, t.high - center, used.high - center), bound)
        };
        let tested = |both: Option<(Interval, Interval)>, confidence: f64, test: Test<'_>| {
            both.map_or(OneSided::default(), |(t, used)| {
                let (holds, one_sided) = test(t, used);
                // A statement that holds is within its threshold, whatever rounding does.
                let most = if holds { alpha } else { 1.0 };
                OneSided {
                    holds,
                    p: one_sided.map(|p| (2.0 * p * alpha / (1.0 - confidence)).min(most)),
                }
            })
        };
        let beyond = |test: Test<'_>| tested(intervals.difference, question.confidence, test);
        let within =
            |test: Test<'_>| tested(intervals.equivalence, question.confidence_equivalence, test);
        Edges {
            below_lower: beyond(&|t, used| (used.high < -edge, under(t, used, -edge))),
            above_lower: within(&|t, used| (used.low >= -edge, over(t, used, -edge))),
            below_upper: within(&|t, used| (used.high <= edge, under(t, used, edge))),
            above_upper: beyond(&|t, used| (used.low > edge, over(t, used, edge))),
        }
    }

    /// Returns the same statements as seen from the baseline.
    pub(super) fn exchanged(self) -> Edges {
        let Edges { below_lower, above_lower, below_upper, above_upper } = self;
        Edges {
            below_lower: above_upper,
            above_lower: below_upper,
            below_upper: above_lower,
            above_upper: below_lower,
        }
    }

    /// Returns where the interval lies. Returns `None` if that is open.
    pub(super) fn place(&self) -> Option<Place> {
        match () {
            () if self.below_lower.holds => Some(Place::Below),
            () if self.above_upper.holds => Some(Place::Above),
            () if self.above_lower.holds && self.below_upper.holds => Some(Place::Within),
            () => None,
        }
    }

    /// Returns the smaller p-value of "beyond the margin" and "within it". Within needs both of its
    /// tests (Schuirmann 1987).
    pub(super) fn p(&self) -> Option<f64> {
        let beyond = self.below_lower.p.zip(self.above_upper.p).map(|(a, b)| a.min(b));
        let within = self.above_lower.p.zip(self.below_upper.p).map(|(a, b)| a.max(b));
        beyond.into_iter().chain(within).reduce(f64::min)
    }
}

/// Spreads values around their mean until their t interval reaches as far as another interval.
fn spread(values: &[f64], center: f64, reach_t: f64, reach: f64) -> Vec<f64> {
    // Equal values cannot be spread: then nothing is tested.
    match reach_t > 0.0 {
        true if reach == reach_t => values.to_vec(),
        true => {
            let factor = (reach / reach_t).max(0.0);
            values.iter().map(|v| center + (v - center) * factor).collect()
        }
        false if reach > 0.0 => Vec::new(),
        false => values.to_vec(),
    }
}
