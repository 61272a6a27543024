//! What comparisons and claims come to, and how that is said.

use crate::experiment::Claim;
use crate::metric::Metric;
use crate::name::ContenderName;
use crate::units::show_number;
use serde::{Deserialize, Serialize};
use stats::Interval;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Better than the baseline by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Within the margin.
    Equivalent,
    /// None of the three can be said.
    Undecided,
}

impl Outcome {
    /// As it stands in a judgement.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::Equivalent => "equivalent",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A contender compared with the baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The cell; `None` for a metric of the start.
    pub cell: Option<String>,
    /// Who.
    pub contender: ContenderName,
    /// With whom.
    pub baseline: ContenderName,
    /// By what.
    pub metric: Metric,
    /// What it comes to.
    pub outcome: Outcome,
    /// Why, when undecided; else empty.
    pub reason: String,
    /// Contender over baseline (geometric mean over blocks); `None` for a difference, or from too few blocks.
    pub ratio: Option<f64>,
    /// Its interval at [`Verdict::confidence`]: all that the next two hold.
    pub interval: Option<Interval>,
    /// The t interval of the paired log-ratios.
    pub interval_t: Option<Interval>,
    /// The hierarchical bootstrap's; `None` where it could not be made.
    pub interval_bootstrap: Option<Interval>,
    /// What this look allows: the design's confidence, or more where there were, or will be, other looks.
    pub confidence: f64,
    /// The exact sign-flip test's p-value of "no difference"; it decides nothing.
    pub sign_flip_p: Option<f64>,
    /// About how many blocks would settle it, when undecided; `None` where no number would.
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
    /// Blocks that were used.
    pub used: usize,
    /// Blocks of the record that were not.
    pub excluded: usize,
    /// Of these, those that a fault spoilt.
    pub spoilt: usize,
}

impl Verdict {
    /// Nothing compared: undecided, without a figure, a margin or a confidence.
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
            spoilt: 0,
        }
    }

    /// Its ratio and the ends of its interval for people, in one unit; `None` where it has not both.
    pub fn ratio_shown(&self) -> Option<(RatioUnit, [String; 3])> {
        let (ratio, interval) = self.ratio.zip(self.interval)?;
        let unit = RatioUnit::of(&[ratio, interval.high]);
        Some((unit, [ratio, interval.low, interval.high].map(|r| unit.show(r))))
    }

    /// Whose the other figure is.
    fn whose(&self) -> &'static str {
        if self.contender == self.baseline { "its own at first" } else { "the baseline's" }
    }

    /// The verdict in a few words: `31 % of the baseline's (29 % to 33 %)`, `2.4 × the baseline's (2.1 × to 2.7 ×)`.
    pub fn phrase(&self) -> String {
        let Some((unit, [ratio, low, high])) = self.ratio_shown() else {
            return match self.difference.and(self.value.zip(self.baseline_value)) {
                Some((value, baseline)) => format!("{} % against {} {} %", show_number(value), self.whose(), show_number(baseline)),
                None => self.reason.clone(),
            };
        };
        format!("{ratio} {}{} ({low} to {high})", unit.preposition(), self.whose())
    }
}

/// How ratios that stand together are shown to people: all in per cent, or all as multiples.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RatioUnit {
    /// `31 %`
    Percent,
    /// `2.4 ×`
    Times,
}

impl RatioUnit {
    /// Multiples as soon as one of them is one and a half.
    pub fn of(ratios: &[f64]) -> RatioUnit {
        if ratios.iter().any(|ratio| *ratio >= 1.5) { RatioUnit::Times } else { RatioUnit::Percent }
    }

    /// One of them.
    pub fn show(self, ratio: f64) -> String {
        match self {
            RatioUnit::Percent => format!("{} %", show_number(ratio * 100.0)),
            RatioUnit::Times => format!("{} ×", show_number(ratio)),
        }
    }

    /// What stands between a ratio and whose it is: `31 % of the baseline's`, `2.4 × the baseline's`.
    pub fn preposition(self) -> &'static str {
        match self {
            RatioUnit::Percent => "of ",
            RatioUnit::Times => "",
        }
    }
}

/// A confidence for people: `95 %`, `99.87 %`, as many digits as tell it from certainty.
pub fn show_confidence(confidence: f64) -> String {
    let error = (1.0 - confidence) * 100.0;
    if error.is_nan() || error <= 0.0 {
        return "100 %".into();
    }
    // Two digits of the error; thresholds beyond a billionth mean nothing.
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.decimals$}", 100.0 - error);
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// What a claim comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// It holds in every cell that it speaks of.
    Confirmed,
    /// It does not hold in at least one.
    Refuted,
    /// Neither can be said.
    Undecided,
}

impl ClaimOutcome {
    /// As it stands in a judgement.
    pub fn name(self) -> &'static str {
        match self {
            ClaimOutcome::Confirmed => "confirmed",
            ClaimOutcome::Refuted => "refuted",
            ClaimOutcome::Undecided => "undecided",
        }
    }
}

/// A claim and what it comes to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// The claim.
    pub claim: Claim,
    /// What it comes to.
    pub outcome: ClaimOutcome,
    /// In words, why.
    pub reason: String,
    /// The p-value of what it came to, scaled so that 1 minus the confidence is its threshold; `None` where nothing was tested.
    pub p: Option<f64>,
    /// The same with Holm's correction for all claims of the experiment.
    pub p_adjusted: Option<f64>,
    /// Cell by cell.
    pub cells: Vec<ClaimCell>,
}

/// A claim in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimCell {
    /// The cell; `start` for a metric of the start, `warm-up` for a start beside its own first second.
    pub cell: String,
    /// What it comes to there.
    pub outcome: ClaimOutcome,
    /// The verdict it rests on, with the claim's margin.
    pub verdict: Verdict,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_told_from_certainty() {
        let shown = [0.5, 0.9, 0.95, 0.975, 0.99866, 0.999_987, 1.0].map(show_confidence);
        assert_eq!(shown, ["50 %", "90 %", "95 %", "97.5 %", "99.87 %", "99.9987 %", "100 %"]);
    }
    #[test]
    fn ratios_that_stand_together_are_shown_in_one_unit() {
        let shown = |ratios: &[f64]| {
            let unit = RatioUnit::of(ratios);
            ratios.iter().map(|ratio| unit.show(*ratio)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(shown(&[0.31, 0.29, 1.2]), "31.0 %, 29.0 %, 120 %");
        assert_eq!(shown(&[1.2, 0.886, 1.64]), "1.20 ×, 0.886 ×, 1.64 ×");
    }
}
