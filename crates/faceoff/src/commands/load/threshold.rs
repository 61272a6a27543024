//! Thresholds in k6's words: `p(99)<50ms`, `errors<0.1%`.

use super::output::show_short;
use load::Measured;
use model::name::did_you_mean;
use model::units::{parse_duration, parse_number, show_number};
use stats::smallest_sample;
use std::fmt;

/// What a run must keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    name: String,
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
#[derive(Debug)]
pub struct Outcome {
    pub kept: bool,
    /// As it was asked.
    pub text: String,
    /// What was found: `p(99)=61.2ms`.
    pub found: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}  {}", if self.kept { "✓" } else { "✗" }, self.text, self.found)
    }
}

const NAMES: [&str; 8] = ["p(99)", "avg", "med", "min", "max", "errors", "rate", "count"];

// The longer first: `<=` begins with `<`.
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
/// What is wrong with the first that is wrong, and what is known.
pub fn parse(text: &str) -> Result<Vec<Threshold>, String> {
    text.split(',').map(|one| parse_one(one.trim())).collect()
}

fn parse_one(text: &str) -> Result<Threshold, String> {
    let wrong = |why: String| format!("`{text}` is no threshold: {why}");
    let at = text.find(['<', '>', '=', '!']).ok_or_else(|| wrong("write it like p(99)<50ms or errors<0.1%".into()))?;
    let (name, rest) = (text[..at].trim(), &text[at..]);
    let value = value_named(name).ok_or_else(|| wrong(format!("nothing is called `{name}`; {}", did_you_mean(name, NAMES))))?;
    let (sign, comparison) =
        COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(|| wrong("the operators are < <= > >= == !=".into()))?;
    let bound = rest[sign.len()..].trim();
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
    let bound = match value {
        Value::Errors => bound
            .strip_suffix('%')
            .map_or_else(|| number(bound), |percent| number(percent.trim()).map(|p| p / 100.0))
            .ok_or_else(|| wrong("errors are a share: 0.1% or 0.001".into()))?,
        Value::Rate | Value::Count => parse_number(bound).map_err(wrong)?,
        // As k6 has it, a bare number is milliseconds.
        _ => match number(bound) {
            Some(milliseconds) => milliseconds * 1e6,
            None => parse_duration(bound).map_err(wrong)?.as_nanos() as f64,
        },
    };
    Ok(Threshold { name: name.to_owned(), text: text.to_owned(), value, comparison: *comparison, bound })
}

fn value_named(name: &str) -> Option<Value> {
    let quantile = |text: &str| {
        text.trim().parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)).map(|p| Value::Quantile((p * 1e10).round() / 1e12))
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
    /// Compares. Times are latencies; rate and count are of right
    /// answers; errors are wrong, declined, refused, broken, timed-out and unsent requests as a share of
    /// all but the unfinished.
    pub fn check(&self, measured: &Measured) -> Outcome {
        let times = &measured.latency;
        let outcome = |kept: bool, found: String| Outcome { kept, text: self.text.clone(), found: format!("{}{found}", self.name) };
        let counts = &measured.counts;
        let found = match self.value {
            Value::Quantile(q) if times.len() < smallest_sample(q) => {
                return outcome(false, format!(" is unknown: it needs {} right answers, there were {}", smallest_sample(q), times.len()));
            }
            Value::Mean | Value::Min | Value::Max if times.is_empty() => return outcome(false, " is unknown: no right answer".into()),
            Value::Quantile(q) => times.quantile_ns(q) as f64,
            Value::Mean => times.mean_ns(),
            Value::Min => times.min_ns() as f64,
            Value::Max => times.max_ns() as f64,
            Value::Errors => {
                let failed = counts.failed() + counts.declined + counts.unsent;
                match failed + counts.correct {
                    0 => return outcome(false, " are unknown: no request came to an end".into()),
                    all => failed as f64 / all as f64,
                }
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
            _ => show_short(found),
        };
        outcome(kept, format!("={shown}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::measured;
    use super::*;
    use proptest::prelude::*;

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
            let read = &parse(text).unwrap()[0];
            assert_eq!((read.value, read.bound), (value, bound), "{text}");
        }
        assert_eq!(parse("p(99)<50ms, errors<1%,max!=0").unwrap().len(), 3);
        assert!(parse("erors<1%").unwrap_err().contains("did you mean `errors`?"));
        for wrong in ["", "p(99)", "p(101)<1ms", "p(99)<", "p(99)~5", "rate>x", "errors<1ms", "<5", "p()<1", "p(99)=5", "max<1,"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn kept_and_breached_are_said_with_what_was_found() {
        let measured = measured();
        let said = |text: &str| parse(text).unwrap()[0].check(&measured).to_string();
        assert_eq!(said("count==10000"), "✓ count==10000  count=10000");
        assert_eq!(said("errors<0.01%"), "✗ errors<0.01%  errors=0.0200%");
        assert!(said("max<1ms").starts_with("✗ max<1ms  max="), "{}", said("max<1ms"));
        assert!(said("p(99.99)<1h").starts_with("✗ p(99.99)<1h  p(99.99) is unknown: it needs 56647"), "{}", said("p(99.99)<1h"));
    }

    proptest! {
        #[test]
        fn whatever_is_written_never_panics(text in "\\PC*", like in "(p|p\\(|avg|errors|rate)[0-9.()]{0,6}[<>=!]{1,2}[0-9.a-z%µ]{0,8}") {
            let _ = parse(&text);
            if let Ok(read) = parse(&like) {
                read[0].check(&measured());
            }
        }
    }
}
