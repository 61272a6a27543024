//! Verdicts, claims, the stopping rule and the noise of the machine, as the report shows them.
//! [`Estimate`] is what verdicts and the cells of a claim have in common.

use record::Record;
use record::judgement as judged;
use record::judgement::{ClaimOutcome, Judgement, Outcome, PlannedLook};
use serde::Serialize;
use stats::Interval;

/// A ratio to the baseline, with what decided about it.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Estimate {
    /// Contender over baseline; null for a metric compared by difference, or from too few blocks.
    ratio: Option<f64>,
    /// The interval that decides.
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    /// The confidence of that interval, as the interim analysis allows: 0.975.
    confidence: f64,
    /// The t interval; null if it could not be computed.
    t: Option<[f64; 2]>,
    /// The bootstrap interval; null if it could not be computed.
    bootstrap: Option<[f64; 2]>,
    /// The one of the two intervals that contains the other, if one does.
    #[cfg_attr(test, ts(type = "\"t\" | \"bootstrap\" | null"))]
    decided_by: Option<&'static str>,
    /// The p-value of a check that decides nothing.
    sign_flip_p: Option<f64>,
    /// About how many blocks would decide it, if it is undecided.
    blocks_needed: Option<usize>,
    margin: f64,
    /// The verdict as a phrase: `31 % of the baseline's CPU per request (29 % to 33 %)`.
    phrase: String,
    /// Why it is undecided; else empty.
    reason: String,
}

/// A contender compared with the baseline by one metric in one cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Verdict {
    cell: String,
    contender: String,
    baseline: String,
    metric: &'static str,
    /// `CPU per request`
    label: &'static str,
    unit: &'static str,
    lower_is_better: bool,
    #[cfg_attr(test, ts(type = "Outcome"))]
    outcome: Outcome,
    #[serde(flatten)]
    estimate: Estimate,
    /// The contender's typical value (geometric mean over the blocks used), in `unit`.
    value: Option<f64>,
    baseline_value: Option<f64>,
    /// The number of blocks used.
    used: usize,
    excluded: usize,
}

/// A claim of the experiment.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Claim {
    text: String,
    contender: String,
    metric: &'static str,
    label: &'static str,
    expects: String,
    #[cfg_attr(test, ts(type = "ClaimOutcome"))]
    outcome: ClaimOutcome,
    reason: String,
    /// Null if nothing was tested.
    p: Option<f64>,
    /// With Holm's correction for all claims of the experiment.
    p_adjusted: Option<f64>,
    /// One interval per cell of the claim.
    cells: Vec<ClaimCell>,
}

/// A claim in one cell.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ClaimCell {
    cell: String,
    #[cfg_attr(test, ts(type = "ClaimOutcome"))]
    outcome: ClaimOutcome,
    #[serde(flatten)]
    estimate: Estimate,
}

/// The interim analyses of the run, and how far it came.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Stopping {
    /// The number of blocks planned.
    planned: u32,
    /// The number of blocks begun.
    run: u32,
    /// Whether it ended at an interim analysis before the last.
    early: bool,
    /// The design's confidence.
    confidence: f64,
    margin: f64,
    looks: Vec<Look>,
}

/// An interim analysis.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Look {
    blocks: u32,
    confidence: f64,
    confidence_equivalence: f64,
    taken: bool,
}

/// The baseline compared with itself.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Noise {
    cell: String,
    metric: &'static str,
    label: &'static str,
    ratio: f64,
    ratio_low: f64,
    ratio_high: f64,
    /// Standard deviation of the blocks' log-ratios.
    log_deviation: f64,
    margin: f64,
    /// Seconds of measurement that give the narrowest interval for the time that a run takes.
    best_seconds: Option<usize>,
}

/// Verdicts in the order of the judgement.
pub(super) fn verdicts(judgement: &Judgement) -> Vec<Verdict> {
    judgement.verdicts.iter().map(verdict).collect()
}

fn verdict(v: &judged::Verdict) -> Verdict {
    let about = v.metric.describe();
    Verdict {
        cell: v.cell.clone().unwrap_or_else(|| "start".into()),
        contender: v.contender.to_string(),
        baseline: v.baseline.to_string(),
        metric: about.name,
        label: about.label,
        unit: about.unit,
        lower_is_better: about.lower_is_better,
        outcome: v.outcome,
        estimate: estimate(v),
        value: v.value,
        baseline_value: v.baseline_value,
        used: v.used,
        excluded: v.excluded,
    }
}

fn estimate(v: &judged::Verdict) -> Estimate {
    let pair = |interval: Option<Interval>| interval.map(|i| [i.low, i.high]);
    Estimate {
        ratio: v.ratio,
        ratio_low: v.interval.map(|i| i.low),
        ratio_high: v.interval.map(|i| i.high),
        confidence: v.confidence,
        t: pair(v.interval_t),
        bootstrap: pair(v.interval_bootstrap),
        decided_by: decided_by(v),
        sign_flip_p: v.sign_flip_p,
        blocks_needed: v.blocks_needed,
        margin: v.margin,
        phrase: v.phrase(),
        reason: v.reason.clone(),
    }
}

/// The one of the two intervals that contains the other, and so decided alone.
fn decided_by(v: &judged::Verdict) -> Option<&'static str> {
    let interval = v.interval?;
    match Some(interval) {
        i if i == v.interval_t => Some("t"),
        i if i == v.interval_bootstrap => Some("bootstrap"),
        _ => None,
    }
}

/// Claims in the order of the experiment.
pub(super) fn claims(judgement: &Judgement) -> Vec<Claim> {
    judgement.claims.iter().map(claim).collect()
}

fn claim(c: &judged::ClaimVerdict) -> Claim {
    let (about, expected) = (c.claim.metric.describe(), c.claim.expected());
    let cell = |cell: &judged::ClaimCell| ClaimCell {
        cell: cell.cell.clone(),
        outcome: cell.outcome,
        estimate: estimate(&cell.verdict),
    };
    Claim {
        text: c.claim.text.clone(),
        contender: c.claim.contender.to_string(),
        metric: about.name,
        label: about.label,
        expects: match c.claim.compared_with {
            Some(compared_with) => format!("{expected}: {}", compared_with.describe()),
            None => expected,
        },
        outcome: c.outcome,
        reason: c.reason.clone(),
        p: c.p,
        p_adjusted: c.p_adjusted,
        cells: c.cells.iter().map(cell).collect(),
    }
}

/// The interim analyses, and how far the run came.
pub(super) fn stopping(record: &Record, judgement: &Judgement) -> Stopping {
    let design = &record.header.experiment.design;
    let look = |l: &PlannedLook| Look {
        blocks: l.blocks,
        confidence: l.confidence,
        confidence_equivalence: l.confidence_equivalence,
        taken: l.taken,
    };
    Stopping {
        planned: design.blocks,
        run: judgement.blocks,
        early: record.is_settled(),
        confidence: design.confidence,
        margin: design.margin,
        looks: judgement.looks.iter().map(look).collect(),
    }
}

/// The baseline against itself, with the margin that it is compared with.
pub(super) fn noise(judgement: &Judgement, margin: f64) -> Vec<Noise> {
    let one = |n: &judged::Noise| {
        let about = n.metric.describe();
        Noise {
            cell: n.cell.clone().unwrap_or_else(|| "start".into()),
            metric: about.name,
            label: about.label,
            ratio: n.ratio,
            ratio_low: n.interval.low,
            ratio_high: n.interval.high,
            log_deviation: n.log_deviation,
            margin,
            best_seconds: n.best_seconds,
        }
    };
    judgement.noise.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use spec::metric::Metric;

    fn interval(low: f64, high: f64) -> Option<Interval> {
        Some(Interval { low, high })
    }

    fn compared(
        interval: Option<Interval>,
        t: Option<Interval>,
        bootstrap: Option<Interval>,
    ) -> judged::Verdict {
        judged::Verdict {
            reason: "r".into(),
            ratio: Some(1.0),
            interval,
            interval_t: t,
            interval_bootstrap: bootstrap,
            confidence: 0.975,
            sign_flip_p: Some(0.03125),
            blocks_needed: Some(19),
            value: Some(2.0),
            baseline_value: Some(2.0),
            margin: 0.05,
            used: 6,
            ..judged::Verdict::open("b".parse().unwrap(), "a".parse().unwrap(), Metric::StartUp)
        }
    }

    #[test]
    fn verdict_has_both_intervals_and_names_the_deciding_one() {
        let shown = |of: &judged::Verdict| serde_json::to_value(verdict(of)).unwrap();
        let (wide, narrow) = (interval(0.5, 2.0), interval(0.75, 1.5));
        let by = |t, bootstrap| shown(&compared(wide, t, bootstrap))["decided_by"].clone();
        assert_eq!([by(wide, narrow), by(narrow, wide), by(wide, None)], ["t", "bootstrap", "t"]);
        let value = shown(&compared(wide, narrow, wide));
        assert_eq!((&value["t"], &value["bootstrap"]), (&json!([0.75, 1.5]), &json!([0.5, 2.0])));
        assert_eq!(
            (&value["confidence"], &value["sign_flip_p"], &value["blocks_needed"]),
            (&json!(0.975), &json!(0.03125), &json!(19))
        );
        assert_eq!((&value["cell"], &value["outcome"]), (&json!("start"), &json!("undecided")));
        assert_eq!(shown(&compared(None, None, None))["decided_by"], Value::Null);
    }
}
