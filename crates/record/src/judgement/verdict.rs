//! Verdicts on comparisons and claims.
//!
//! A [`Verdict`] compares one metric of a contender with the baseline: a ratio, its interval and an
//! outcome. A [`ClaimVerdict`] tells whether a claim is confirmed.

use serde::{Deserialize, Serialize};
use spec::experiment::Claim;
use spec::metric::Metric;
use spec::name::ContenderName;
use stats::Interval;

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Better than the baseline by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Within the margin.
    Equivalent,
    /// None of the three is certain.
    Undecided,
}

impl Outcome {
    /// Returns its name in a judgement.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Equivalent => "equivalent",
            Outcome::Undecided => "undecided",
        }
    }
}

/// One metric of a contender, compared with the baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// The contender.
    pub contender: ContenderName,
    /// The contender that it is compared with.
    pub baseline: ContenderName,
    /// The metric.
    pub metric: Metric,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, if undecided; otherwise empty.
    pub reason: String,
    /// Contender over baseline (geometric mean over blocks); `None` for a difference, or with too
    /// few blocks.
    pub ratio: Option<f64>,
    /// Its interval at [`Verdict::confidence`], which covers the next two.
    pub interval: Option<Interval>,
    /// The t interval of the paired log-ratios.
    pub interval_t: Option<Interval>,
    /// The interval of the hierarchical bootstrap; `None` if it could not be made.
    pub interval_bootstrap: Option<Interval>,
    /// The confidence that this look allows: the design's, or more if there were or will be other
    /// looks.
    pub confidence: f64,
    /// The p-value of the exact sign-flip test of "no difference". It decides nothing.
    pub sign_flip_p: Option<f64>,
    /// The approximate number of blocks that would settle it, if undecided; `None` if no number
    /// would.
    pub blocks_needed: Option<usize>,
    /// Its interval for equivalence, at twice the error.
    pub interval_equivalence: Option<Interval>,
    /// Contender minus baseline, in the metric's unit, for a metric compared by difference.
    pub difference: Option<f64>,
    /// Typical value of the contender, in the metric's unit.
    pub value: Option<f64>,
    /// Typical value of the baseline.
    pub baseline_value: Option<f64>,
    /// The margin.
    pub margin: f64,
    /// The number of used blocks.
    pub used: usize,
    /// The number of the record's blocks that were not used.
    pub excluded: usize,
    /// The number of these that a fault invalidated.
    pub invalidated: usize,
    /// What disturbed the measurements, in a few words, if faults left too few blocks for a
    /// verdict. Ratio and interval are then the best estimate from all blocks, including disturbed
    /// ones. Otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unconfirmed: String,
}

impl Verdict {
    /// Makes an undecided verdict without a figure, a margin or a confidence.
    pub fn open(contender: ContenderName, baseline: ContenderName, metric: Metric) -> Verdict {
        Verdict {
            cell: None,
            contender,
            baseline,
            metric,
            outcome: Outcome::Undecided,
            reason: String::new(),
            ratio: None,
            interval: None,
            interval_t: None,
            interval_bootstrap: None,
            confidence: 0.0,
            sign_flip_p: None,
            blocks_needed: None,
            interval_equivalence: None,
            difference: None,
            value: None,
            baseline_value: None,
            margin: 0.0,
            used: 0,
            excluded: 0,
            invalidated: 0,
            unconfirmed: String::new(),
        }
    }

    /// Returns whether it compares failures of two sides that had none.
    pub fn is_without_failures(&self) -> bool {
        self.metric.describe().by_difference
            && (self.value, self.baseline_value) == (Some(0.0), Some(0.0))
    }
}

/// Shows a confidence with as many digits as distinguish it from certainty: `95 %`, `99.87 %`.
pub fn show_confidence(confidence: f64) -> String {
    let error = (1.0 - confidence) * 100.0;
    if error.is_nan() || error <= 0.0 {
        return "100 %".into();
    }
    // Two digits of the error. Errors below a billionth have no meaning.
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.decimals$}", 100.0 - error);
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// It holds in each of its cells.
    Confirmed,
    /// It does not hold in at least one cell.
    Refuted,
    /// Neither is certain.
    Undecided,
}

impl ClaimOutcome {
    /// Returns its name in a judgement.
    pub fn name(self) -> &'static str {
        match self {
            ClaimOutcome::Confirmed => "confirmed",
            ClaimOutcome::Refuted => "refuted",
            ClaimOutcome::Undecided => "undecided",
        }
    }
}

/// A claim with its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimVerdict {
    /// The claim.
    pub claim: Claim,
    /// The outcome.
    pub outcome: ClaimOutcome,
    /// The reason, in words.
    pub reason: String,
    /// The p-value of the outcome, scaled so that 1 minus the confidence is its threshold; `None`
    /// if nothing was tested.
    pub p: Option<f64>,
    /// The same with Holm's correction for all claims of the experiment.
    pub p_adjusted: Option<f64>,
    /// The outcome cell by cell.
    pub cells: Vec<ClaimCell>,
}

/// A claim in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimCell {
    /// The cell; `start` for a metric of the start, `warm-up` for a start compared with its own
    /// first second.
    pub cell: String,
    /// The outcome in this cell.
    pub outcome: ClaimOutcome,
    /// The verdict that decides it, with the claim's margin.
    pub verdict: Verdict,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_shown_as_different_from_certainty() {
        let shown = [0.5, 0.9, 0.95, 0.975, 0.99866, 0.999_987, 1.0].map(show_confidence);
        assert_eq!(shown, ["50 %", "90 %", "95 %", "97.5 %", "99.87 %", "99.9987 %", "100 %"]);
    }
}
