//! Figures with ratios, bounds and verdicts, as text and as JSON.

use serde_json::{Value, json};
use stats::{Interval, PairedRatio, median};

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// One comparison of several programs.
#[derive(Debug)]
pub struct Figure {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description of the comparison.
    pub about: String,
    /// A row for each program or quantity.
    pub rows: Vec<Row>,
}

/// The values of one program, or of one quantity of it.
#[derive(Debug)]
pub struct Row {
    /// The program or the quantity.
    pub subject: String,
    /// A value for each repeat, in `unit`.
    pub values: Vec<f64>,
    /// The unit of the values.
    pub unit: &'static str,
    /// Our values divided by these, repeat by repeat.
    pub ratio: Option<PairedRatio>,
    /// The bound to meet.
    pub bound: Option<Bound>,
    /// Why there are no values.
    pub absent: Option<Absent>,
}

/// The largest allowed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Of the ratio of ours to it.
    Ratio(f64),
    /// Of the median of its values.
    Median(f64),
}

/// Why a program has no values.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// It is not installed; how to get it.
    Missing(&'static str),
    /// It failed, with this message.
    Failed(String),
}

/// Whether a bound is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is met.
    Met,
    /// It is not met.
    NotMet,
    /// There is no peer to compare with.
    Open,
    /// The row has no bound.
    Shown,
}

impl Verdict {
    /// Its name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::NotMet => "not met",
            Verdict::Open => "peer missing",
            Verdict::Shown => "shown",
        }
    }
}

impl Row {
    /// Makes a row without a bound.
    pub fn shown(subject: impl Into<String>, values: Vec<f64>, unit: &'static str) -> Row {
        Row { subject: subject.into(), values, unit, ratio: None, bound: None, absent: None }
    }

    /// Makes a row whose median has a bound.
    pub fn bounded(
        subject: impl Into<String>,
        values: Vec<f64>,
        unit: &'static str,
        bound: f64,
    ) -> Row {
        Row { bound: Some(Bound::Median(bound)), ..Row::shown(subject, values, unit) }
    }

    /// Makes a row of a program with which ours is compared.
    pub fn against(
        subject: impl Into<String>,
        ours: &[f64],
        values: Vec<f64>,
        unit: &'static str,
        bound: Option<f64>,
    ) -> Row {
        let pairs: Vec<(f64, f64)> = ours.iter().copied().zip(values.iter().copied()).collect();
        Row {
            ratio: ratio(&pairs),
            bound: bound.map(Bound::Ratio),
            ..Row::shown(subject, values, unit)
        }
    }

    /// Makes a row of a program without values.
    pub fn absent(subject: impl Into<String>, why: Absent, bound: Option<f64>) -> Row {
        Row {
            bound: bound.map(Bound::Ratio),
            absent: Some(why),
            ..Row::shown(subject, Vec::new(), "")
        }
    }

    /// Decides whether the bound is met. The estimate decides; the interval is only shown.
    pub fn verdict(&self) -> Verdict {
        let (measured, bound) = match self.bound {
            None => return Verdict::Shown,
            Some(Bound::Ratio(bound)) => (self.ratio.map(|ratio| ratio.ratio), bound),
            Some(Bound::Median(bound)) => (median(&self.values), bound),
        };
        match measured {
            None => Verdict::Open,
            Some(measured) if measured <= bound => Verdict::Met,
            Some(_) => Verdict::NotMet,
        }
    }

    /// Returns whether the program ran and failed.
    pub fn failed(&self) -> bool {
        matches!(self.absent, Some(Absent::Failed(_)))
    }

    fn to_text(&self) -> String {
        let mut parts = Vec::new();
        match &self.absent {
            Some(Absent::Missing(hint)) => parts.push(format!("{:>11}  {hint}", "missing")),
            Some(Absent::Failed(why)) => {
                parts.push(format!("{:>11}  {}", "failed", why.lines().next().unwrap_or_default()))
            }
            None => parts.extend(
                median(&self.values).map(|middle| format!("{:>11} {}", show(middle), self.unit)),
            ),
        }
        match self.ratio {
            Some(PairedRatio { ratio, interval, .. }) if self.values.len() > 1 => {
                parts.push(format!(
                    "ours is {ratio:.3} [{:.3}, {:.3}] of it",
                    interval.low, interval.high
                ));
            }
            Some(PairedRatio { ratio, .. }) => parts.push(format!("ours is {ratio:.3} of it")),
            None if self.values.len() > 1 => {
                let (least, greatest) = self
                    .values
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                        (low.min(*v), high.max(*v))
                    });
                parts.push(format!("({} to {})", show(least), show(greatest)));
            }
            None => {}
        }
        if let Some(Bound::Ratio(bound) | Bound::Median(bound)) = self.bound {
            parts.push(format!("at most {bound}: {}", self.verdict().name()));
        }
        format!("  {:<28}{}\n", self.subject, parts.join("  "))
    }

    fn to_json(&self) -> Value {
        let ends = |interval: Interval| json!({ "low": interval.low, "high": interval.high });
        json!({
            "subject": self.subject,
            "unit": self.unit,
            "values": self.values,
            "median": median(&self.values),
            "ratio": self.ratio.map(|ratio| ratio.ratio),
            "ratio_interval": self.ratio.filter(|_| self.values.len() > 1).map(|ratio| ends(ratio.interval)),
            "bound": self.bound.map(|(Bound::Ratio(bound) | Bound::Median(bound))| bound),
            "verdict": self.verdict().name(),
            "missing": self.absent.as_ref().and_then(|absent| if let Absent::Missing(hint) = absent { Some(hint) } else { None }),
            "failed": self.absent.as_ref().and_then(|absent| if let Absent::Failed(why) = absent { Some(why) } else { None }),
        })
    }
}

/// Returns the ratio of pairs. A single pair has a ratio without an interval.
fn ratio(pairs: &[(f64, f64)]) -> Option<PairedRatio> {
    match pairs {
        [(ours, theirs)] if *theirs > 0.0 => {
            let ratio = ours / theirs;
            Some(PairedRatio {
                ratio,
                interval: Interval { low: ratio, high: ratio },
                log_deviation: 0.0,
            })
        }
        pairs => stats::paired_ratio(pairs, CONFIDENCE),
    }
}

/// Shows three digits, or the whole number.
fn show(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

impl Figure {
    /// Formats the figure for people.
    pub fn to_text(&self) -> String {
        let rows: String = self.rows.iter().map(Row::to_text).collect();
        format!("{}: {}\n{rows}\n", self.name, self.about)
    }

    /// Returns whether one of its programs failed.
    pub fn failed(&self) -> bool {
        self.rows.iter().any(Row::failed)
    }

    /// Formats the figure for programs.
    pub fn to_json(&self) -> Value {
        json!({ "figure": self.name, "about": self.about, "rows": self.rows.iter().map(Row::to_json).collect::<Vec<_>>() })
    }
}

/// Says in one line how many bounds are met.
pub fn summary(figures: &[Figure]) -> String {
    let verdicts: Vec<Verdict> =
        figures.iter().flat_map(|figure| &figure.rows).map(Row::verdict).collect();
    let count = |verdict| verdicts.iter().filter(|v| **v == verdict).count();
    let (met, not_met, missing) =
        (count(Verdict::Met), count(Verdict::NotMet), count(Verdict::Open));
    let peers = if missing > 0 { format!(", {missing} without a peer") } else { String::new() };
    format!("{met} of {} bounds met{peers}", met + not_met + missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_has_an_interval_and_a_verdict() {
        let row = Row::against("wrk", &[8.0, 9.0, 8.5], vec![10.0, 11.0, 10.0], "us", Some(0.92));
        let text = row.to_text();
        assert!(
            text.contains("ours is 0.822 [0.7") && text.ends_with("of it  at most 0.92: met\n"),
            "{text}"
        );
        assert_eq!(
            Row::against("wrk", &[10.0, 10.0], vec![10.0, 10.0], "us", Some(0.92)).verdict(),
            Verdict::NotMet
        );
        // A row without a ratio has no verdict: the bound is not about its values.
        assert_eq!(
            Row::against("spin", &[f64::NAN, 1.0], vec![1.0, 1.0], "us", Some(1.15)).verdict(),
            Verdict::Open
        );
        assert_eq!(
            Row::against("ab", &[10.0, 10.0], vec![10.0, 10.0], "us", None).verdict(),
            Verdict::Shown
        );
    }

    #[test]
    fn single_repeat_has_no_interval() {
        let row = Row::against("wrk", &[9.0], vec![10.0], "us", Some(0.92));
        assert!(row.to_text().contains("ours is 0.900 of it"), "{}", row.to_text());
        assert_eq!(row.to_json()["ratio_interval"], Value::Null);
    }

    #[test]
    fn bound_without_a_ratio_limits_the_median() {
        assert_eq!(Row::bounded("lag", vec![40.0, 90.0, 30.0], "us", 50.0).verdict(), Verdict::Met);
        assert_eq!(Row::bounded("lag", vec![51.0], "us", 50.0).verdict(), Verdict::NotMet);
        assert_eq!(Row::bounded("failures", vec![0.0], "", 0.0).verdict(), Verdict::Met);
    }

    #[test]
    fn missing_program_is_shown_with_how_to_get_it() {
        let row = Row::absent("oha", Absent::Missing("cargo install oha --locked"), Some(0.8));
        assert!(
            row.to_text().contains("cargo install oha --locked  at most 0.8: peer missing"),
            "{}",
            row.to_text()
        );
        let figure = Figure {
            name: "http2",
            about: "x".into(),
            rows: vec![row, Row::bounded("lag", vec![1.0], "us", 2.0)],
        };
        assert_eq!(summary(&[figure]), "1 of 2 bounds met, 1 without a peer");
    }
}
