//! Effects of crossed factors, in words: the factor that matters most, and every effect as text.

use record::judgement::{Effect, Effects, Judgement, show_confidence};
use spec::metric::Metric;
use spec::units::show_number;

/// The metrics whose effects are shown, in this order.
const SHOWN: [Metric; 5] = [
    Metric::CpuPerRequest,
    Metric::LatencyP50,
    Metric::LatencyP99,
    Metric::Throughput,
    Metric::Memory,
];

/// Returns the effects that are shown, metric by metric.
pub(crate) fn shown_effects(judgement: &Judgement) -> impl Iterator<Item = &Effects> {
    SHOWN
        .into_iter()
        .flat_map(|metric| judgement.effects.iter().filter(move |e| e.metric == metric))
}

/// Names the factors of an effect: `security and audit`.
pub(crate) fn effect_name(effect: &Effect) -> String {
    effect.factors.join(" and ")
}

/// Describes the size of an effect: `41 µs (38 to 44), 12 % of the mean`.
pub(crate) fn effect_figure(of: &Effects, effect: &Effect) -> String {
    let unit = of.metric.describe().unit;
    let (value, low, high) = (
        show_number(effect.value),
        show_number(effect.interval.low),
        show_number(effect.interval.high),
    );
    format!(
        "{value} {unit} ({low} to {high}), {} % of the mean",
        show_number(100.0 * effect.value / of.mean)
    )
}

/// The effects of single factors.
fn single_effects(of: &Effects) -> impl Iterator<Item = &Effect> {
    of.effects.iter().filter(|e| !e.is_pair())
}

/// Names the factor that changes the first metric most, in any cell. It is picked among all factors
/// in all cells, so only a p-value that allows for both makes it sure (Holm's correction among
/// factors, Bonferroni's among cells).
pub(super) fn effect_sentence(judgement: &Judgement) -> Option<String> {
    let first = shown_effects(judgement).find(|e| !e.effects.is_empty())?.metric;
    let cells: Vec<&Effects> = judgement
        .effects
        .iter()
        .filter(|of| of.metric == first && !of.effects.is_empty())
        .collect();
    let all = cells.iter().flat_map(|of| single_effects(of).map(move |e| (*of, e)));
    let (of, most) = all.max_by(|(_, a), (_, b)| a.value.abs().total_cmp(&b.value.abs()))?;
    let label = first.describe().label;
    let is_sure = (most.interval.low > 0.0 || most.interval.high < 0.0)
        && most.p_adjusted.is_none_or(|p| p * cells.len() as f64 <= 1.0 - of.confidence);
    if !is_sure {
        return Some(format!(
            "None of {} factors surely changes {label}.",
            single_effects(of).count()
        ));
    }
    let place = of.cell.as_ref().map(|cell| format!(" in {cell}")).unwrap_or_default();
    let verb = if most.value > 0.0 { "adds" } else { "takes away" };
    let (size, [low, high]) =
        (most.value.abs(), [most.interval.low.abs(), most.interval.high.abs()]);
    Some(format!(
        "{} {verb} most: {} {} of {label} ({} interval {} to {}), {} % of the mean{place}.",
        effect_name(most),
        show_number(size),
        first.describe().unit,
        show_confidence(of.confidence),
        show_number(low.min(high)),
        show_number(low.max(high)),
        show_number(100.0 * size / of.mean),
    ))
}

/// Writes a paragraph for each metric in each cell, with one line for each effect.
pub(crate) fn effects_text(judgement: &Judgement) -> String {
    let mut text = String::new();
    for of in shown_effects(judgement) {
        let place = of.cell.as_ref().map(|cell| format!(" in {cell}")).unwrap_or_default();
        let (used, all) = (of.used, of.used + of.excluded);
        text += &format!(
            "\nWhat each adds to {}{place} ({used} of {all} starts)\n",
            of.metric.describe().label
        );
        if !of.reason.is_empty() {
            text += &format!("  undecided: {}\n", of.reason);
        }
        for effect in &of.effects {
            let more = effect.p_adjusted.filter(|_| effect.is_pair()).map(|p| {
                format!(", together beyond their sum (p {} with Holm's correction)", show_number(p))
            });
            text += &format!(
                "  {:<28} {}{}\n",
                effect_name(effect),
                effect_figure(of, effect),
                more.unwrap_or_default()
            );
        }
    }
    text
}
