//! Thresholds in k6's notation, `p(99)<50ms` and `errors<0.1%`, and service levels made of them.
//!
//! A [`Threshold`] decides whether a load passes. A [`ServiceLevel`] decides whether a capacity's
//! probe holds, and also reports when there were too few requests to decide.

use crate::name::did_you_mean;
use crate::units::{parse_duration, parse_number, show_number, show_share, show_short};
use serde::{Deserialize, Serialize};
use stats::{Histogram, smallest_sample};
use std::fmt;

/// A condition that a run must meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    name: String,
    text: String,
    value: Value,
    comparison: Comparison,
    /// The bound, in the value's unit: nanoseconds, a share, a rate or a count.
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Quantile(f64),
    Mean,
    Min,
    Max,
    Errors,
    Rate,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

/// The figures that thresholds are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Readings<'a> {
    /// Latencies of the correct responses.
    pub times: &'a Histogram,
    /// The number of scheduled requests.
    pub scheduled: u64,
    /// The number of correct responses.
    pub correct: u64,
    /// Requests that failed, were declined or were not sent; unfinished ones are not counted.
    pub failed: u64,
    /// The duration of the load.
    pub duration_ns: u64,
}

/// The result of comparing a run with a threshold.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it holds.
    pub kept: bool,
    /// The threshold as it was written.
    pub text: String,
    /// The measured value: `p(99)=61.2ms`.
    pub found: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}  {}", if self.kept { "✓" } else { "✗" }, self.text, self.found)
    }
}

const NAMES: [&str; 8] = ["p(99)", "avg", "med", "min", "max", "errors", "rate", "count"];

// The longer ones come first, because `<=` begins with `<`.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("===", Comparison::Equal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

/// Reads one threshold, or several between commas.
///
/// # Errors
/// What is wrong with the first invalid one, and what is known.
pub fn parse_thresholds(text: &str) -> Result<Vec<Threshold>, String> {
    text.split(',').map(|one| parse_one(one.trim())).collect()
}

fn parse_one(text: &str) -> Result<Threshold, String> {
    let wrong = |why: String| format!("`{text}` is not a threshold: {why}");
    let at = text
        .find(['<', '>', '=', '!'])
        .ok_or_else(|| wrong("write it like p(99)<50ms or errors<0.1%".into()))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let value = value_named(name)
        .ok_or_else(|| wrong(format!("`{name}` is unknown; {}", did_you_mean(name, NAMES))))?;
    let (sign, comparison) = COMPARISONS
        .iter()
        .find(|(sign, _)| rest.starts_with(sign))
        .ok_or_else(|| wrong("the operators are < <= > >= == !=".into()))?;
    let bound = rest[sign.len()..].trim();
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
    let bound = match value {
        Value::Errors => bound
            .strip_suffix('%')
            .map_or_else(|| number(bound), |percent| number(percent.trim()).map(|p| p / 100.0))
            .ok_or_else(|| wrong("errors are a share: 0.1% or 0.001".into()))?,
        Value::Rate | Value::Count => parse_number(bound).map_err(wrong)?,
        // As in k6, a bare number is in milliseconds.
        _ => match number(bound) {
            Some(milliseconds) => milliseconds * 1e6,
            None => parse_duration(bound).map_err(wrong)?.as_nanos() as f64,
        },
    };
    Ok(Threshold {
        name: name.to_owned(),
        text: text.to_owned(),
        value,
        comparison: *comparison,
        bound,
    })
}

fn value_named(name: &str) -> Option<Value> {
    let quantile = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|p| (0.0..=100.0).contains(p))
            .map(|p| Value::Quantile((p * 1e10).round() / 1e12))
    };
    match name {
        "avg" | "mean" => Some(Value::Mean),
        "med" => Some(Value::Quantile(0.5)),
        "min" => Some(Value::Min),
        "max" => Some(Value::Max),
        "errors" => Some(Value::Errors),
        "rate" => Some(Value::Rate),
        "count" => Some(Value::Count),
        _ => match name.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => quantile(inner),
            None => name.strip_prefix('p').and_then(quantile),
        },
    }
}

impl Threshold {
    /// Compares a run with the threshold.
    ///
    /// Times are latencies; rate and count are of correct responses. Errors are wrong, declined,
    /// refused, broken, timed-out and unsent requests, as a share of all but the unfinished.
    pub fn check(&self, readings: &Readings<'_>) -> Outcome {
        let Readings { times, correct, failed, duration_ns, .. } = *readings;
        let outcome = |kept: bool, found: String| Outcome {
            kept,
            text: self.text.clone(),
            found: format!("{}{found}", self.name),
        };
        let found = match self.value {
            Value::Quantile(q) if times.len() < smallest_sample(q) => {
                return outcome(
                    false,
                    format!(
                        " is unknown: it needs {} correct responses, there were {}",
                        smallest_sample(q),
                        times.len()
                    ),
                );
            }
            Value::Mean | Value::Min | Value::Max if times.is_empty() => {
                return outcome(false, " is unknown: no correct response".into());
            }
            Value::Quantile(q) => times.quantile_ns(q) as f64,
            Value::Mean => times.mean_ns(),
            Value::Min => times.min_ns() as f64,
            Value::Max => times.max_ns() as f64,
            Value::Errors => match failed + correct {
                0 => return outcome(false, " are unknown: no request ended".into()),
                all => failed as f64 / all as f64,
            },
            Value::Rate => correct as f64 / (duration_ns as f64 / 1e9),
            Value::Count => correct as f64,
        };
        let kept = self.holds_for(found);
        let shown = self.show(found);
        outcome(kept, format!("={shown}"))
    }

    fn holds_for(&self, found: f64) -> bool {
        match self.comparison {
            Comparison::Below => found < self.bound,
            Comparison::AtMost => found <= self.bound,
            Comparison::Above => found > self.bound,
            Comparison::AtLeast => found >= self.bound,
            Comparison::Equal => found == self.bound,
            Comparison::Unequal => found != self.bound,
        }
    }

    fn show(&self, found: f64) -> String {
        match self.value {
            Value::Errors => format!("{}%", show_number(100.0 * found)),
            Value::Rate => format!("{}/s", show_number(found)),
            Value::Count => format!("{found}"),
            _ => show_short(found),
        }
    }

    /// Describes a bound in a few words: `95 % of responses within 200 ms`.
    fn describe(&self) -> String {
        let within = format!("within {} ms", show_number(self.bound / 1e6));
        match self.value {
            Value::Quantile(q) => format!("{} of responses {within}", show_share(q)),
            Value::Mean => format!("a mean latency {within}"),
            Value::Max => format!("all responses {within}"),
            Value::Errors => match self.comparison {
                Comparison::AtMost => format!("at most {} errors", show_share(self.bound)),
                _ => format!("errors below {}", show_share(self.bound)),
            },
            Value::Min | Value::Rate | Value::Count => self.text.clone(),
        }
    }

    /// Returns whether it bounds a time or a share of errors from above.
    fn is_bound(&self) -> bool {
        matches!(self.comparison, Comparison::Below | Comparison::AtMost)
            && !matches!(self.value, Value::Rate | Value::Count | Value::Min)
    }
}

/// Conditions that must all hold at a level of load: `p95<100ms and errors<0.1%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct ServiceLevel(Vec<Threshold>);

/// The result of comparing a load with a service level.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Whether it holds; `None` if there were too few requests to decide.
    pub kept: Option<bool>,
    /// The measured values: `p95=61.2ms, errors=0%`.
    pub found: String,
}

impl ServiceLevel {
    /// Reads thresholds between `and` or commas. Each must bound a time or the share of errors from
    /// above.
    ///
    /// # Errors
    /// What is wrong, and what is known.
    pub fn parse(text: &str) -> Result<ServiceLevel, String> {
        let parts = text.split(',').flat_map(|part| part.split(" and "));
        let thresholds: Vec<Threshold> =
            parts.map(|one| parse_one(one.trim())).collect::<Result<_, _>>()?;
        match thresholds.iter().find(|threshold| !threshold.is_bound()) {
            Some(other) => Err(format!(
                "`{}` is not allowed in a service level: bound a latency or errors, with < or <=",
                other.text
            )),
            None => Ok(ServiceLevel(thresholds)),
        }
    }

    /// Returns the fewest requests from which all its quantiles can be determined.
    pub fn fewest(&self) -> u64 {
        let of = |threshold: &Threshold| {
            if let Value::Quantile(q) = threshold.value { smallest_sample(q) } else { 1 }
        };
        self.0.iter().map(of).max().unwrap_or(1)
    }

    /// Returns the strictest bound of a time, in nanoseconds.
    pub fn latency_bound_ns(&self) -> Option<f64> {
        let of_time = self
            .0
            .iter()
            .filter(|t| matches!(t.value, Value::Quantile(_) | Value::Mean | Value::Max));
        of_time.map(|t| t.bound).min_by(f64::total_cmp)
    }

    /// Describes it in a few words, to follow `with`: `95 % of responses within 200 ms and errors
    /// below 0.1 %`.
    pub fn describe(&self) -> String {
        self.0.iter().map(Threshold::describe).collect::<Vec<_>>().join(" and ")
    }

    /// Compares a load with the service level. A request without a correct response counts as an
    /// error, and as one that waited longer than any bound.
    pub fn check(&self, readings: &Readings<'_>) -> Kept {
        let Readings { times, scheduled, correct, .. } = *readings;
        let (all, right) = (scheduled as f64, correct as f64);
        let one = |threshold: &Threshold| -> (Option<bool>, String) {
            let name = &threshold.name;
            let found = match threshold.value {
                Value::Quantile(q) if scheduled < smallest_sample(q) => {
                    return (
                        None,
                        format!(
                            "{name} is unknown: it needs {} requests, there were {}",
                            smallest_sample(q),
                            scheduled
                        ),
                    );
                }
                Value::Errors if scheduled == 0 => {
                    return (None, "no request was made".into());
                }
                Value::Errors => (all - right) / all,
                _ if correct == 0 => {
                    return (Some(false), format!("{name} is unknown: no correct response"));
                }
                Value::Quantile(q) if q * all >= right && right < all => {
                    return (
                        Some(false),
                        format!(
                            "{name} cannot be measured: {} of {all} got no correct response",
                            all - right
                        ),
                    );
                }
                // The rank among all requests. A rounding error must not select the next rank.
                Value::Quantile(q) => {
                    times.quantile_ns((q * all / right * (1.0 - 1e-12)).min(1.0)) as f64
                }
                Value::Mean => times.mean_ns(),
                _ => times.max_ns() as f64,
            };
            (Some(threshold.holds_for(found)), format!("{name}={}", threshold.show(found)))
        };
        let all: Vec<_> = self.0.iter().map(one).collect();
        let kept = if all.iter().any(|(kept, _)| *kept == Some(false)) {
            Some(false)
        } else {
            all.iter().all(|(kept, _)| kept.is_some()).then_some(true)
        };
        Kept { kept, found: all.into_iter().map(|(_, found)| found).collect::<Vec<_>>().join(", ") }
    }
}

impl fmt::Display for ServiceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            &self
                .0
                .iter()
                .map(|threshold| threshold.text.as_str())
                .collect::<Vec<_>>()
                .join(" and "),
        )
    }
}

impl From<ServiceLevel> for String {
    fn from(level: ServiceLevel) -> String {
        level.to_string()
    }
}

impl TryFrom<String> for ServiceLevel {
    type Error = String;

    fn try_from(text: String) -> Result<ServiceLevel, String> {
        ServiceLevel::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Makes 10,000 correct responses of 50 to 149 µs, except one of 2.3 ms, within 2 s, and two
    /// failures.
    fn measured() -> Histogram {
        let mut times = Histogram::new();
        times.record(2_345_678);
        (1..10_000).for_each(|n: u64| times.record(50_000 + 1_000 * (n % 100)));
        times
    }

    fn readings(times: &Histogram) -> Readings<'_> {
        Readings {
            times,
            scheduled: 10_002,
            correct: 10_000,
            failed: 2,
            duration_ns: 2_000_000_000,
        }
    }

    fn check(text: &str, times: &Histogram) -> Outcome {
        parse_thresholds(text).unwrap()[0].check(&readings(times))
    }

    #[test]
    fn thresholds_are_read_as_k6_writes_them() {
        for (text, value, bound) in [
            ("p(99)<50ms", Value::Quantile(0.99), 50e6),
            ("p99.9 <= 0.2s", Value::Quantile(0.999), 200e6),
            ("med<500", Value::Quantile(0.5), 500e6),
            ("avg<10ms", Value::Mean, 10e6),
            ("errors < 0.1 %", Value::Errors, 0.001),
            ("errors==0", Value::Errors, 0.0),
            ("errors===0", Value::Errors, 0.0),
            ("rate>=1k", Value::Rate, 1000.0),
        ] {
            let read = &parse_thresholds(text).unwrap()[0];
            assert_eq!((read.value, read.bound), (value, bound), "{text}");
        }
        assert_eq!(parse_thresholds("p(99)<50ms, errors<1%,max!=0").unwrap().len(), 3);
        assert!(parse_thresholds("erors<1%").unwrap_err().contains("did you mean `errors`?"));
        for wrong in [
            "",
            "p(99)",
            "p(101)<1ms",
            "p(99)<",
            "p(99)~5",
            "rate>x",
            "errors<1ms",
            "<5",
            "p()<1",
            "p(99)=5",
            "max<1,",
        ] {
            assert!(parse_thresholds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_threshold_reports_the_measured_value() {
        let measured = measured();
        let message = |text: &str| check(text, &measured).to_string();
        assert_eq!(message("count==10000"), "✓ count==10000  count=10000");
        assert_eq!(message("errors<0.01%"), "✗ errors<0.01%  errors=0.0200%");
        assert!(message("max<1ms").starts_with("✗ max<1ms  max="), "{}", message("max<1ms"));
        assert!(
            message("p(99.99)<1h")
                .starts_with("✗ p(99.99)<1h  p(99.99) is unknown: it needs 56647"),
            "{}",
            message("p(99.99)<1h")
        );
    }

    #[test]
    fn a_service_level_holds_if_all_its_thresholds_do() {
        let level = |text: &str, scheduled: u64, correct: u64| {
            let mut times = Histogram::new();
            (0..correct).for_each(|n| times.record(1_000_000 * (n + 1)));
            let readings =
                Readings { times: &times, scheduled, correct, failed: 0, duration_ns: 1 };
            let kept = ServiceLevel::parse(text).unwrap().check(&readings);
            (kept.kept, kept.found)
        };
        assert_eq!(
            level("p50<501ms and errors<0.1%", 1000, 1000),
            (Some(true), "p50=500ms, errors=0%".into())
        );
        assert_eq!(level("p50<499ms,errors<0.1%", 1000, 1000).0, Some(false));
        // A request without a response waited longest. The median of 1,000 is then that of 1,001
        // responses, with one error.
        let (kept, found) = level("p50<502ms and errors<0.05%", 1000, 999);
        assert_eq!((kept, found.as_str()), (Some(false), "p50=500ms, errors=0.100%"));
        assert_eq!(
            level("p(99) < 1h", 1000, 985),
            (Some(false), "p(99) cannot be measured: 15 of 1000 got no correct response".into())
        );
        assert_eq!(
            level("p99<1h", 100, 100),
            (None, "p99 is unknown: it needs 563 requests, there were 100".into())
        );
        assert_eq!(level("p99<1h and max<1ms", 100, 100).0, Some(false));
        assert_eq!((level("max<1h", 10, 0).0, level("errors<1%", 0, 0).0), (Some(false), None));
    }

    #[test]
    fn a_service_level_is_written_as_it_was_read() {
        let level = ServiceLevel::parse("p95<100ms and errors<0.1%").unwrap();
        assert_eq!(serde_json::to_string(&level).unwrap(), r#""p95<100ms and errors<0.1%""#);
        assert_eq!(
            serde_json::from_str::<ServiceLevel>(r#""p95<100ms and errors<0.1%""#).unwrap(),
            level
        );
        assert_eq!(
            (level.latency_bound_ns(), level.fewest()),
            (Some(100e6), smallest_sample(0.95))
        );
        assert_eq!(level.describe(), "95 % of responses within 100 ms and errors below 0.1 %");
        let other = ServiceLevel::parse("mean<2s,max<=2.5ms,errors<=1%").unwrap().describe();
        assert_eq!(
            other,
            "a mean latency within 2000 ms and all responses within 2.50 ms and at most 1 % errors"
        );
        for wrong in
            ["", "p95>100ms", "rate<5", "p95<100ms and", "p95<100ms or errors<1%", "min<1ms", "p95"]
        {
            assert!(ServiceLevel::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_threshold_panic(text in "\\PC*", like in "(p|p\\(|avg|errors|rate)[0-9.()]{0,6}[<>=!]{1,2}[0-9.a-z%µ]{0,8}") {
            let _ = parse_thresholds(&text);
            if let Ok(read) = parse_thresholds(&like) {
                read[0].check(&readings(&measured()));
            }
        }
    }
}
