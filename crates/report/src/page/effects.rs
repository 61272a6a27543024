//! Effects of crossed factors, as the report shows them.

use crate::wording::effects::{effect_figure, effect_name, shown_effects};
use record::judgement as judged;
use record::judgement::Judgement;
use serde::Serialize;

/// What each factor does to a metric, apart from the others.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Effects {
    cell: String,
    metric: &'static str,
    label: &'static str,
    unit: &'static str,
    /// The mean of all starts, in the metric's unit.
    mean: f64,
    /// The confidence of each interval by itself.
    confidence: f64,
    used: usize,
    excluded: usize,
    /// Why there are none; else empty.
    reason: String,
    /// Factors first, then pairs whose effect is beyond chance.
    effects: Vec<Effect>,
}

/// The effect of one factor, or of a pair of factors.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Effect {
    /// `audit` or `audit and security`
    name: String,
    pair: bool,
    value: f64,
    low: f64,
    high: f64,
    /// The value as a part of the mean.
    share: f64,
    share_low: f64,
    share_high: f64,
    /// Holm's p-value among all pairs; null for a factor.
    p: Option<f64>,
    /// `41 µs (38 to 44), 12 % of the mean`
    phrase: String,
}

/// The effects of every metric that is shown, by cell.
pub(super) fn effects(judgement: &Judgement) -> Vec<Effects> {
    let of_metric = |of: &judged::Effects| {
        let about = of.metric.describe();
        Effects {
            cell: of.cell.clone().unwrap_or_else(|| "start".into()),
            metric: about.name,
            label: about.label,
            unit: about.unit,
            mean: of.mean,
            confidence: of.confidence,
            used: of.used,
            excluded: of.excluded,
            reason: of.reason.clone(),
            effects: of.effects.iter().map(|e| effect(of, e)).collect(),
        }
    };
    shown_effects(judgement).map(of_metric).collect()
}

fn effect(of: &judged::Effects, e: &judged::Effect) -> Effect {
    Effect {
        name: effect_name(e),
        pair: e.is_pair(),
        value: e.value,
        low: e.interval.low,
        high: e.interval.high,
        share: e.value / of.mean,
        share_low: e.interval.low / of.mean,
        share_high: e.interval.high / of.mean,
        p: e.p_adjusted,
        phrase: effect_figure(of, e),
    }
}
