//! The outcome of a check, and how it is printed.

use crate::output::{Format, json, line};
use record::Failure;
use serde_json::{Value, json as value};
use spec::name::ContenderName;
use spec::units::show_duration;
use std::time::Duration;

/// The outcome of the check of one contender.
pub enum Outcome {
    /// Its responses are correct. Holds the start-up time in nanoseconds, if it was started here.
    Correct(Option<u64>),
    /// It was not checked, for this reason.
    Skipped(String),
    /// It was not built, did not start, or gave a wrong response.
    Failed(Failure),
}

impl Outcome {
    /// Creates the outcome of a check that failed before a program wrote a log.
    pub fn failed(stage: &str, cause: String) -> Outcome {
        Outcome::Failed(failure(stage, cause))
    }

    /// Describes the outcome in a line, and a log below it.
    pub fn describe(&self, name: &ContenderName) -> String {
        match self {
            Outcome::Correct(Some(ns)) => format!(
                "correct  {name} (first response after {})",
                show_duration(Duration::from_nanos(*ns))
            ),
            Outcome::Correct(None) => format!("correct  {name} (it was already running)"),
            Outcome::Skipped(reason) => format!("skipped  {name}: {reason}"),
            Outcome::Failed(failure) => {
                let log: String = failure.log.iter().map(|l| format!("\n         | {l}")).collect();
                format!("FAILED   {name} ({}): {}{log}", failure.stage, failure.cause)
            }
        }
    }

    fn to_json(&self, name: &ContenderName) -> Value {
        match self {
            Outcome::Correct(ns) => {
                value!({"system": name, "outcome": "correct", "ready_after_ns": ns})
            }
            Outcome::Skipped(reason) => {
                value!({"system": name, "outcome": "skipped", "reason": reason})
            }
            Outcome::Failed(f) => {
                value!({"system": name, "outcome": "failed", "stage": f.stage, "reason": f.cause, "log": f.log})
            }
        }
    }
}

/// Creates a failure without a log.
pub fn failure(stage: &str, cause: String) -> Failure {
    Failure { stage: stage.into(), cause, log: vec![] }
}

/// Prints all outcomes as JSON, or their counts as text, and returns the number of failures.
pub fn print_outcomes(outcomes: &[(ContenderName, Outcome)], format: Format) -> usize {
    let count = |pick: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| pick(o)).count();
    let failed = count(|o| matches!(o, Outcome::Failed(_)));
    match format {
        Format::Json => json(&outcomes.iter().map(|(name, o)| o.to_json(name)).collect::<Vec<_>>()),
        Format::Text => line(&format!(
            "{} correct, {} skipped, {failed} failed",
            count(|o| matches!(o, Outcome::Correct(_))),
            count(|o| matches!(o, Outcome::Skipped(_)))
        )),
    }
    failed
}
