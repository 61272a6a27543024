//! Thresholds in k6's words: `p(99)<50ms`, `errors<0.1%`.

use load::Measured;
use model::name::did_you_mean;
use model::units::{parse_duration, show_number};
use stats::smallest_sample;
use std::fmt;

/// What a run must keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    value: Value,
    comparison: Comparison,
    /// In the value's own unit: nanoseconds, a share, a rate, a count.
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

/// How a run compares with a threshold.
pub struct Outcome {
    /// Whether it was kept.
    pub kept: bool,
    text: String,
    found: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}  {}", if self.kept { "✓" } else { "✗" }, self.text, self.found)
    }
}

const NAMES: [&str; 9] = ["p(N)", "avg", "mean", "med", "min", "max", "errors", "rate", "count"];
// The longer first: `<=` begins with `<`.
const COMPARISONS: [(&str, Comparison); 8] = [
    ("===", Comparison::Equal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
    ("=", Comparison::Equal),
];

/// Reads one threshold.
///
/// # Errors
/// What is wrong with it, and what is known.
pub fn parse(text: &str) -> Result<Threshold, String> {
    let wrong = |why: String| format!("`{text}` is no threshold: {why}");
    let at = text.find(['<', '>', '=', '!']).ok_or_else(|| wrong("write it like p(99)<50ms or errors<0.1%".into()))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let (sign, comparison) =
        COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(|| wrong("the operators are < <= > >= == !=".into()))?;
    let bound = rest[sign.len()..].trim();
    let value = value_named(name).ok_or_else(|| wrong(format!("nothing is called `{name}`; {}", did_you_mean(name, NAMES))))?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let bound = match value {
        Value::Errors => match bound.strip_suffix('%') {
            Some(percent) => number(percent).map(|p| p / 100.0),
            None => number(bound),
        }
        .ok_or_else(|| wrong("errors are a share: 0.1% or 0.001".into()))?,
        Value::Rate | Value::Count => number(bound).ok_or_else(|| wrong(format!("`{bound}` is no number")))?,
        // As k6 has it, a bare number is milliseconds.
        _ => match number(bound) {
            Some(milliseconds) => milliseconds * 1e6,
            None => parse_duration(bound).map_err(wrong)?.as_nanos() as f64,
        },
    };
    Ok(Threshold { text: text.trim().to_owned(), value, comparison: *comparison, bound })
}

fn value_named(name: &str) -> Option<Value> {
    let quantile = |text: &str| text.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)).map(|p| Value::Quantile(p / 100.0));
    match name {
        "avg" | "mean" => Some(Value::Mean),
        "med" => Some(Value::Quantile(0.5)),
        "min" => Some(Value::Min),
        "max" => Some(Value::Max),
        "errors" => Some(Value::Errors),
        "rate" => Some(Value::Rate),
        "count" => Some(Value::Count),
        _ => match name.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) => quantile(inner.trim()),
            None => name.strip_prefix('p').and_then(quantile),
        },
    }
}

impl Threshold {
    /// Compares. Times are latencies, of a closed load service times; errors are what was neither
    /// answered rightly nor left unfinished, as a share of all but the unfinished.
    pub fn check(&self, measured: &Measured) -> Outcome {
        let times = measured.latency.as_ref().unwrap_or(&measured.service);
        let counts = &measured.counts;
        let name = self.text.split(['<', '>', '=', '!']).next().unwrap_or_default().trim();
        let found = match self.value {
            Value::Quantile(q) if times.len() < smallest_sample(q) => {
                let found = format!("{name} is unknown: {} answers, {} are needed", times.len(), smallest_sample(q));
                return Outcome { kept: false, text: self.text.clone(), found };
            }
            _ if times.is_empty() && !matches!(self.value, Value::Errors | Value::Rate | Value::Count) => {
                return Outcome { kept: false, text: self.text.clone(), found: format!("{name} is unknown: no right answer") };
            }
            Value::Quantile(q) => times.quantile_ns(q) as f64,
            Value::Mean => times.mean_ns(),
            Value::Min => times.min_ns() as f64,
            Value::Max => times.max_ns() as f64,
            Value::Errors => {
                let settled = (counts.scheduled - counts.unfinished).max(1);
                (settled - counts.correct.min(settled)) as f64 / settled as f64
            }
            Value::Rate => counts.correct as f64 / (measured.duration_ns as f64 / 1e9),
            Value::Count => counts.correct as f64,
        };
        let kept = match self.comparison {
            Comparison::Below => found < self.bound,
            Comparison::AtMost => found <= self.bound,
            Comparison::Above => found > self.bound,
            Comparison::AtLeast => found >= self.bound,
            Comparison::Equal => found == self.bound,
            Comparison::Unequal => found != self.bound,
        };
        let shown = match self.value {
            Value::Errors => format!("{}%", show_number(100.0 * found)),
            Value::Rate => format!("{}/s", show_number(found)),
            Value::Count => format!("{found}"),
            _ => super::output::show_short(found),
        };
        Outcome { kept, text: self.text.clone(), found: format!("{name}={shown}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_k6_writes_them() {
        for (text, value, bound) in [
            ("p(99)<50ms", Value::Quantile(0.99), 50e6),
            ("p99.9 <= 0.2s", Value::Quantile(0.999), 200e6),
            ("med<500", Value::Quantile(0.5), 500e6),
            ("avg<10ms", Value::Mean, 10e6),
            ("errors<0.1%", Value::Errors, 0.001),
            ("errors==0", Value::Errors, 0.0),
            ("rate>=1000", Value::Rate, 1000.0),
        ] {
            let read = parse(text).unwrap();
            assert_eq!((read.value, read.bound), (value, bound), "{text}");
        }
        assert!(parse("erors<1%").unwrap_err().contains("did you mean `errors`?"));
        for wrong in ["", "p(99)", "p(101)<1ms", "p(99)<", "p(99)~5", "rate>x", "errors<1ms", "<5", "p()<1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
