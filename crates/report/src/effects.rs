//! What crossed factors do, in words and for the page.

use model::judgement::{Effect, Effects, Judgement, show_confidence};
use model::metric::Metric;
use model::units::show_number;
use serde_json::{Value, json};

/// What people ask of a part of a program, in this order.
const SHOWN: [Metric; 5] = [Metric::CpuPerRequest, Metric::LatencyP50, Metric::LatencyP99, Metric::Throughput, Metric::Memory];

fn shown(judgement: &Judgement) -> impl Iterator<Item = &Effects> {
    SHOWN.into_iter().flat_map(|metric| judgement.effects.iter().filter(move |e| e.metric == metric))
}

/// `security and audit`
fn names(effect: &Effect) -> String {
    effect.factors.join(" and ")
}

/// `41 µs (38 to 44), 12 % of the mean`
fn figure(of: &Effects, effect: &Effect) -> String {
    let unit = of.metric.describe().unit;
    let (value, low, high) = (show_number(effect.value), show_number(effect.interval.low), show_number(effect.interval.high));
    format!("{value} {unit} ({low} to {high}), {} % of the mean", show_number(100.0 * effect.value / of.mean))
}

/// Those of factors by themselves.
fn alone(of: &Effects) -> impl Iterator<Item = &Effect> {
    of.effects.iter().filter(|e| !e.is_pair())
}

/// The factor that changes the first metric that has effects most, in whatever cell. It is picked among all factors in all cells, so it is sure only by a p-value
/// that allows for both (Holm's among factors, Bonferroni's among cells).
pub(crate) fn sentence(judgement: &Judgement) -> Option<String> {
    let first = shown(judgement).find(|e| !e.effects.is_empty())?.metric;
    let cells: Vec<&Effects> = judgement.effects.iter().filter(|of| of.metric == first && !of.effects.is_empty()).collect();
    let all = cells.iter().flat_map(|of| alone(of).map(move |e| (*of, e)));
    let (of, most) = all.max_by(|(_, a), (_, b)| a.value.abs().total_cmp(&b.value.abs()))?;
    let label = first.describe().label;
    let is_sure = (most.interval.low > 0.0 || most.interval.high < 0.0)
        && most.p_adjusted.is_none_or(|p| p * cells.len() as f64 <= 1.0 - of.confidence);
    if !is_sure {
        return Some(format!("None of {} factors surely changes {label}.", alone(of).count()));
    }
    let place = of.cell.as_ref().map(|cell| format!(" in {cell}")).unwrap_or_default();
    let verb = if most.value > 0.0 { "adds" } else { "takes away" };
    let (size, [low, high]) = (most.value.abs(), [most.interval.low.abs(), most.interval.high.abs()]);
    Some(format!(
        "{} {verb} most: {} {} of {label} ({} interval {} to {}), {} % of the mean{place}.",
        names(most),
        show_number(size),
        first.describe().unit,
        show_confidence(of.confidence),
        show_number(low.min(high)),
        show_number(low.max(high)),
        show_number(100.0 * size / of.mean),
    ))
}

/// A paragraph for each metric in each cell, one line a factor.
pub(crate) fn text(judgement: &Judgement) -> String {
    let mut text = String::new();
    for of in shown(judgement) {
        let place = of.cell.as_ref().map(|cell| format!(" in {cell}")).unwrap_or_default();
        let (used, all) = (of.used, of.used + of.excluded);
        text += &format!("\nWhat each adds to {}{place} ({used} of {all} starts)\n", of.metric.describe().label);
        if !of.reason.is_empty() {
            text += &format!("  undecided: {}\n", of.reason);
        }
        for effect in &of.effects {
            let more = effect
                .p_adjusted
                .filter(|_| effect.is_pair())
                .map(|p| format!(", together beyond their sum (p {} with Holm's correction)", show_number(p)));
            text += &format!("  {:<28} {}{}\n", names(effect), figure(of, effect), more.unwrap_or_default());
        }
    }
    text
}

/// For the page's chart.
pub(crate) fn values(judgement: &Judgement) -> Vec<Value> {
    let effect = |of: &Effects, e: &Effect| {
        json!({
            "name": names(e), "pair": e.is_pair(), "value": e.value, "low": e.interval.low, "high": e.interval.high,
            "share": e.value / of.mean, "share_low": e.interval.low / of.mean, "share_high": e.interval.high / of.mean, "p": e.p_adjusted,
            "phrase": figure(of, e),
        })
    };
    let of_metric = |of: &Effects| {
        let about = of.metric.describe();
        json!({
            "cell": of.cell.as_deref().unwrap_or("start"), "metric": about.name, "label": about.label, "unit": about.unit, "mean": of.mean,
            "confidence": of.confidence, "used": of.used, "excluded": of.excluded, "reason": of.reason,
            "effects": of.effects.iter().map(|e| effect(of, e)).collect::<Vec<_>>(),
        })
    };
    shown(judgement).map(of_metric).collect()
}
