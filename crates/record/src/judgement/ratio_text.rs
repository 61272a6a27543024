//! Words ratios for people: `17× less CPU per request (12× to 23×)`, `8 % slower (5 % to 11 %)`.
//!
//! A ratio of 1.5 or more is a multiple, a smaller one is in percent. The direction is a word, so
//! no reader has to interpret a number below 1. Start with [`Verdict::phrase`] and
//! [`Verdict::predicate`].

use super::{Outcome, Verdict};
use spec::metric::Words;
use spec::units::show_number;
use stats::Interval;
use std::fmt;

/// From this factor on a ratio is shown as a multiple, below it in percent.
const MULTIPLE_FROM: f64 = 1.5;

/// Larger values are shown as "over" this.
const MOST: f64 = 99_999.0;

/// Ratios that are nearer to 1 than this are shown as 1, because percent are shown to a tenth.
const LEAST: f64 = 5e-4;
const NO_DIFFERENCE: &str = "no difference";

/// The unit of shown ratios: multiples or percent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Percent,
    Times,
}

impl Unit {
    fn for_ratio(ratio: f64) -> Unit {
        if factor(ratio) >= MULTIPLE_FROM { Unit::Times } else { Unit::Percent }
    }

    /// Shows how far a ratio is from 1, in either direction.
    fn show(self, ratio: f64) -> String {
        match self {
            Unit::Times => format!("{}×", two_digits(factor(ratio))),
            Unit::Percent => format!(
                "{} %",
                percent(100.0 * if ratio < 1.0 { 1.0 - ratio } else { ratio - 1.0 })
            ),
        }
    }
}

fn factor(ratio: f64) -> f64 {
    ratio.max(ratio.recip())
}

/// Shows two significant digits: `17`, `4.5`, `1000`.
fn two_digits(value: f64) -> String {
    match value {
        v if v.is_nan() || v >= MOST => format!("over {MOST:.0}"),
        v if v >= 9.95 => {
            let step = 10f64.powf((v.log10() + 1e-12).floor() - 1.0);
            format!("{:.0}", (v / step).round() * step)
        }
        v => format!("{v:.1}"),
    }
}

/// Shows percent: `8`, `0.4`.
fn percent(value: f64) -> String {
    match value {
        v if v.is_nan() || v >= MOST => format!("over {MOST:.0}"),
        v if (100.0 * LEAST..2.0).contains(&v) => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A result in words, with its interval apart. Shown as `17× less (12× to 23×)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// How large it is, and in which direction: `17× less`.
    pub size: String,
    /// The ends of its interval, the nearer one first: `12× to 23×`.
    pub interval: Option<String>,
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interval {
            Some(interval) => write!(f, "{} ({interval})", self.size),
            None => f.write_str(&self.size),
        }
    }
}

/// Words how far a ratio is from 1, and in which direction. `lower` and `higher` name the
/// directions.
pub(super) fn compared(
    ratio: f64,
    interval: Option<Interval>,
    lower: &str,
    higher: &str,
) -> Phrase {
    let is_one = |ratio: f64| (ratio - 1.0).abs() < LEAST;
    let unit = Unit::for_ratio(ratio);
    let word = |ratio: f64| if ratio < 1.0 { lower } else { higher };
    let directed = |ratio: f64| format!("{} {}", unit.show(ratio), word(ratio));
    let size = if is_one(ratio) { NO_DIFFERENCE.to_owned() } else { directed(ratio) };
    let is_all_one = |i: &Interval| is_one(ratio) && is_one(i.low) && is_one(i.high);
    let interval =
        interval.filter(|interval| !is_all_one(interval)).map(|Interval { low, high }| {
            let (near, far) = if ratio < 1.0 { (high, low) } else { (low, high) };
            match (near < 1.0) == (far < 1.0) {
                true => format!("{} to {}", unit.show(near), unit.show(far)),
                false => format!("{} to {}", directed(near), directed(far)),
            }
        });
    Phrase { size, interval }
}

impl Verdict {
    /// Returns the result without the contender: `17× less CPU per request (12× to 23×)`. Without a
    /// ratio, it is the reason.
    pub fn phrase(&self) -> String {
        let Words { lower, higher, where_, .. } = self.metric.describe().words;
        match self.ratio {
            Some(ratio) => self.with_place(ratio, lower, higher, where_).to_string(),
            None => match self.difference.and(self.value.zip(self.baseline_value)) {
                Some((value, baseline)) => {
                    format!("{} % against {} %", show_number(value), show_number(baseline))
                }
                None => self.reason.clone(),
            },
        }
    }

    /// Returns the result with a verb, to follow the contender's name; `None` if nothing was
    /// compared. The interval of an equivalent result is its margin.
    ///
    /// Examples: `uses 17× less CPU per request (12× to 23×)`, `uses as much memory (within 5 %)`,
    /// `looks 20 % faster (3 % slower to 50 % faster)`.
    pub fn predicate(&self) -> Option<Phrase> {
        let ratio = self.ratio?;
        let Words { verb, lower, higher, where_, same } = self.metric.describe().words;
        let verb = match (self.outcome, verb) {
            (Outcome::Equivalent, verb) => {
                let within = format!("within {} %", percent(100.0 * self.margin));
                return Some(Phrase { size: format!("{verb} {same}"), interval: Some(within) });
            }
            (Outcome::Better | Outcome::Worse, verb) => verb.to_owned(),
            (Outcome::Undecided, "is") => "looks".to_owned(),
            (Outcome::Undecided, verb) => format!("seems to {}", infinitive(verb)),
        };
        let Phrase { size, interval } = self.with_place(ratio, lower, higher, where_);
        Some(Phrase { size: format!("{verb} {size}"), interval })
    }

    /// Returns the result for a table that names the metric: `17× less (12× to 23×)`.
    pub fn short_phrase(&self) -> Phrase {
        let Words { lower, higher, .. } = self.metric.describe().words;
        let (lower, higher) = if lower == "faster" { (lower, higher) } else { ("less", "more") };
        match self.ratio {
            Some(ratio) => compared(ratio, self.interval, lower, higher),
            None => match self.difference {
                Some(points) => self.in_points(points),
                None => Phrase { size: "-".into(), interval: None },
            },
        }
    }

    /// Words a difference of shares in percentage points: `+0.50 points (-0.50 to +1.50)`.
    fn in_points(&self, points: f64) -> Phrase {
        let is_zero = |points: f64| points.abs() < 0.005;
        let interval = self.interval.filter(|i| !is_zero(i.low) || !is_zero(i.high));
        Phrase {
            size: match is_zero(points) {
                true => NO_DIFFERENCE.to_owned(),
                false => format!("{points:+.2} points"),
            },
            interval: interval.map(|Interval { low, high }| format!("{low:+.2} to {high:+.2}")),
        }
    }

    /// Words a ratio with the place before the interval: `4.5× faster on average (4.1× to 5.0×)`.
    fn with_place(&self, ratio: f64, lower: &str, higher: &str, where_: &str) -> Phrase {
        let Phrase { size, interval } = compared(ratio, self.interval, lower, higher);
        Phrase { size: size + where_, interval }
    }
}

fn infinitive(verb: &str) -> &str {
    match verb {
        "has" => "have",
        "has a" => "have a",
        "carries" => "carry",
        "scales out" => "scale out",
        verb => verb.strip_suffix('s').unwrap_or(verb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::metric::Metric;

    fn verdict(metric: Metric, ratio: f64, low: f64, high: f64, outcome: Outcome) -> Verdict {
        Verdict {
            ratio: Some(ratio),
            interval: Some(Interval { low, high }),
            outcome,
            margin: 0.05,
            ..Verdict::open("b".parse().unwrap(), "a".parse().unwrap(), metric)
        }
    }

    fn predicate(verdict: &Verdict) -> String {
        verdict.predicate().unwrap().to_string()
    }

    #[test]
    fn a_ratio_is_a_factor_or_a_percentage_with_its_direction() {
        let shown =
            |metric, ratio, low, high| verdict(metric, ratio, low, high, Outcome::Better).phrase();
        assert_eq!(
            shown(Metric::CpuPerRequest, 0.0588, 0.0435, 0.0833),
            "17× less CPU per request (12× to 23×)"
        );
        assert_eq!(
            shown(Metric::LatencyMean, 1.08, 1.05, 1.11),
            "8 % slower on average (5 % to 11 %)"
        );
        assert_eq!(
            shown(Metric::LatencyMean, 0.222, 0.2, 0.243),
            "4.5× faster on average (4.1× to 5.0×)"
        );
        assert_eq!(
            shown(Metric::Throughput, 0.92, 0.90, 0.94),
            "8 % fewer requests per second (6 % to 10 %)"
        );
        assert_eq!(
            shown(Metric::StartUp, 9.9e-4, 8.85e-4, 1.11e-3),
            "1000× faster (900× to 1100×)"
        );
        assert_eq!(
            shown(Metric::Memory, 1.004, 1.001, 1.007),
            "0.4 % more memory (0.1 % to 0.7 %)"
        );
        assert_eq!(
            shown(Metric::Memory, 0.99993, 0.999, 1.001),
            "no difference (0.1 % more memory to 0.1 % less memory)"
        );
        assert_eq!(shown(Metric::Memory, 1.001, 1.0001, 1.002), "0.1 % more memory (0 % to 0.2 %)");
    }

    #[test]
    fn an_interval_with_both_directions_names_them() {
        let open = |ratio, low, high| {
            predicate(&verdict(Metric::LatencyP50, ratio, low, high, Outcome::Undecided))
        };
        assert_eq!(
            open(0.83, 0.667, 1.03),
            "looks 17 % faster at the median (3 % slower to 33 % faster)"
        );
        assert_eq!(
            open(2.0, 0.8, 5.0),
            "looks 2.0× slower at the median (1.2× faster to 5.0× slower)"
        );
        let memory = predicate(&verdict(Metric::Memory, 2.0, 0.8, 5.0, Outcome::Undecided));
        assert_eq!(memory, "seems to use 2.0× more memory (1.2× less memory to 5.0× more memory)");
    }

    #[test]
    fn an_equivalent_result_is_worded_as_equal() {
        let shown = predicate(&verdict(Metric::Throughput, 1.004, 0.99, 1.01, Outcome::Equivalent));
        assert_eq!(shown, "handles as many requests per second (within 5 %)");
        assert_eq!(
            predicate(&verdict(Metric::Memory, 0.5, 0.4, 0.6, Outcome::Better)),
            "uses 2.0× less memory (1.7× to 2.5×)"
        );
    }
}
