//! Words ratios for people: `17× less CPU per request (12× to 23×)`, `8 % slower (5 % to 11 %)`.
//!
//! A ratio of 1.5 or more is a multiple, a smaller one is in percent. The direction is a word, so
//! no reader has to interpret a number below 1. Start with [`Phrase::of_ratio`], then
//! [`Verdict::phrase`] and [`Verdict::predicate`].

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
    /// The ends of its interval, the nearer one first: `12× to 23×`. `None` if it is unknown, or if
    /// both ends are shown like the size.
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

impl Phrase {
    /// Words how far a ratio is from 1, and in which direction. The directions are the words for a
    /// ratio below 1 and above. The ends of an interval with both directions have a unit of their
    /// own each.
    pub fn of_ratio(ratio: f64, interval: Option<Interval>, directions: [&str; 2]) -> Phrase {
        let [lower, higher] = directions;
        let is_one_sided = interval.is_none_or(|i| (i.low < 1.0) == (i.high < 1.0));
        let unit = Unit::for_ratio(ratio);
        let show = |end: f64| if is_one_sided { unit } else { Unit::for_ratio(end) }.show(end);
        let directed =
            |ratio: f64| format!("{} {}", show(ratio), if ratio < 1.0 { lower } else { higher });
        let rounded = |ratio: f64| match (ratio - 1.0).abs() < LEAST {
            true => NO_DIFFERENCE.to_owned(),
            false => directed(ratio),
        };
        let size = rounded(ratio);
        // Ends that are shown like the estimate add nothing to it.
        let adds = |i: &Interval| [i.low, i.high].into_iter().any(|end| rounded(end) != size);
        let interval = interval.filter(adds).map(|Interval { low, high }| {
            let (near, far) = if ratio < 1.0 { (high, low) } else { (low, high) };
            match is_one_sided {
                true => format!("{} to {}", show(near), show(far)),
                false => format!("{} to {}", directed(near), directed(far)),
            }
        });
        Phrase { size, interval }
    }
}

impl Verdict {
    /// Returns the result without the contender: `17× less CPU per request (12× to 23×)`. Without a
    /// ratio, it is the reason.
    pub fn phrase(&self) -> String {
        match self.ratio {
            Some(ratio) => self.with_place(ratio).to_string(),
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
        let Words { verb, same, .. } = self.metric.describe().words;
        let verb = match (self.outcome, verb) {
            (Outcome::Equivalent, verb) => {
                let within = format!("within {} %", percent(100.0 * self.margin));
                return Some(Phrase { size: format!("{verb} {same}"), interval: Some(within) });
            }
            (Outcome::Better | Outcome::Worse, verb) => verb.to_owned(),
            (Outcome::Undecided, "is") => "looks".to_owned(),
            (Outcome::Undecided, verb) => format!("seems to {}", infinitive(verb)),
        };
        let Phrase { size, interval } = self.with_place(ratio);
        Some(Phrase { size: format!("{verb} {size}"), interval })
    }

    /// Returns the result for a table that names the metric: `17× less (12× to 23×)`.
    pub fn short_phrase(&self) -> Phrase {
        match self.ratio {
            Some(ratio) => {
                Phrase::of_ratio(ratio, self.interval, self.metric.describe().words.short)
            }
            None => match self.difference {
                Some(points) => self.in_points(points),
                None => Phrase { size: "-".into(), interval: None },
            },
        }
    }

    /// Words a difference of shares in percentage points: `+0.50 points (-0.50 to +1.50)`.
    fn in_points(&self, points: f64) -> Phrase {
        let rounded = |points: f64| match points.abs() < 0.005 {
            true => NO_DIFFERENCE.to_owned(),
            false => format!("{points:+.2} points"),
        };
        let size = rounded(points);
        let adds = |i: &Interval| [i.low, i.high].into_iter().any(|end| rounded(end) != size);
        let interval = self.interval.filter(adds);
        Phrase {
            size,
            interval: interval.map(|Interval { low, high }| format!("{low:+.2} to {high:+.2}")),
        }
    }

    /// Words a ratio with the place before the interval: `4.5× faster on average (4.1× to 5.0×)`.
    /// The size names the metric, the ends of the interval do not.
    fn with_place(&self, ratio: f64) -> Phrase {
        let Words { lower, higher, where_, short, .. } = self.metric.describe().words;
        let Phrase { size, .. } = Phrase::of_ratio(ratio, None, [lower, higher]);
        let Phrase { interval, .. } = Phrase::of_ratio(ratio, self.interval, short);
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
            "no difference (0.1 % more to 0.1 % less)"
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
            "looks 2.0× slower at the median (20 % faster to 5.0× slower)"
        );
        let memory = predicate(&verdict(Metric::Memory, 2.0, 0.8, 5.0, Outcome::Undecided));
        assert_eq!(memory, "seems to use 2.0× more memory (20 % less to 5.0× more)");
    }

    #[test]
    fn ends_in_both_directions_have_their_own_unit() {
        let shown = |ratio, low, high| {
            verdict(Metric::Memory, ratio, low, high, Outcome::Undecided).short_phrase().to_string()
        };
        assert_eq!(shown(0.73, 0.03, 18.08), "27 % less (18× more to 33× less)");
        assert_eq!(shown(1.56, 0.92, 2.66), "1.6× more (8 % less to 2.7× more)");
        assert_eq!(shown(1.56, 1.42, 1.66), "1.6× more (1.4× to 1.7×)");
        assert_eq!(shown(0.7, 0.66, 0.74), "30 % less (26 % to 34 %)");
    }

    #[test]
    fn an_interval_that_rounds_to_the_estimate_is_left_out() {
        let shown = |ratio, low, high| {
            verdict(Metric::Memory, ratio, low, high, Outcome::Better).short_phrase().to_string()
        };
        assert_eq!(shown(1.0171, 1.0169, 1.0173), "1.7 % more");
        assert_eq!(shown(1.0171, 1.0169, 1.018), "1.7 % more (1.7 % to 1.8 %)");
        assert_eq!(shown(0.2, 0.1995, 0.2005), "5.0× less");
        assert_eq!(shown(1.0, 0.9998, 1.0002), "no difference");
        let points = |points, low, high| {
            let share = verdict(Metric::FailedShare, 1.0, low, high, Outcome::Worse);
            let difference = Some(points);
            Verdict { ratio: None, difference, ..share }.short_phrase().to_string()
        };
        assert_eq!(points(0.5, 0.499, 0.501), "+0.50 points");
        assert_eq!(points(0.5, -0.5, 1.5), "+0.50 points (-0.50 to +1.50)");
        assert_eq!(points(0.0, -0.001, 0.001), "no difference");
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
