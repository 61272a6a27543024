//! What being measured later changes: a contender's last repetition of a cell within a trial,
//! compared with its first. The repetitions before it left their data behind.

use crate::verdict::Judge;
use record::judgement::{Outcome, Repetitions, Verdict, show_confidence};
use spec::experiment::sweep::{REPETITION, Slice};
use spec::metric::Metric;
use spec::units::show_number;

/// Compares the last repetition with the first, for each contender that has both. Returns nothing
/// for a slice over another parameter.
pub(crate) fn compare_repetitions(
    judge: &Judge<'_>,
    slice: &Slice<'_>,
    metric: Metric,
) -> Vec<Repetitions> {
    let (Some((_, first)), Some((last, cell)), REPETITION) =
        (slice.cells.first(), slice.cells.last(), slice.parameter)
    else {
        return Vec::new();
    };
    let margin = judge.record.header.experiment.design.margin;
    let names =
        judge.record.header.contenders.iter().map(|p| &p.name).filter(|name| !name.is_twin());
    let compared = names.filter_map(|name| {
        let verdict = judge.with_itself(name, metric, &cell.name, &first.name, margin).verdict;
        // Nothing was measured there, or nothing but zeros.
        if verdict.used == 0 || (verdict.value, verdict.baseline_value) == (Some(0.0), Some(0.0)) {
            return None;
        }
        let sentence = sentence(&slice.title(), *last, &verdict);
        let Verdict { outcome, ratio, interval, difference, used, contender, .. } = verdict;
        Some(Repetitions {
            contender,
            last: *last,
            outcome,
            ratio,
            interval,
            difference,
            used,
            sentence,
        })
    });
    compared.collect()
}

/// Writes `bank-go, published: CPU per request in repetition 2 is 1.42 times that in repetition 1 (95 %
/// interval 1.31 to 1.55): worse.`
fn sentence(title: &str, last: f64, verdict: &Verdict) -> String {
    let about = verdict.metric.describe();
    let start = format!("{}, {title}: {} in repetition {last} is", verdict.contender, about.label);
    let how = match (verdict.ratio, verdict.interval, verdict.difference) {
        (Some(ratio), Some(i), _) => {
            let (low, high) = (show_number(i.low), show_number(i.high));
            let confidence = show_confidence(verdict.confidence);
            format!(
                "{} times that in repetition 1 ({confidence} interval {low} to {high})",
                show_number(ratio)
            )
        }
        (Some(ratio), None, _) => format!("{} times that in repetition 1", show_number(ratio)),
        (None, _, Some(difference)) => {
            let way = if difference < 0.0 { "below" } else { "above" };
            format!("{} {} {way} that in repetition 1", show_number(difference.abs()), about.unit)
        }
        _ => "not comparable with that in repetition 1".to_owned(),
    };
    let outcome = match verdict.outcome {
        Outcome::Better => "better".to_owned(),
        Outcome::Worse => "worse".to_owned(),
        Outcome::Equivalent => "no difference that matters".to_owned(),
        Outcome::Undecided => format!("undecided: {}", verdict.reason),
    };
    format!("{start} {how}: {outcome}.")
}
