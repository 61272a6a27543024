//! Parsers for values that several commands take on the command line.

use spec::experiment::RunnerKind;
use spec::metric::Metric;
use spec::name::did_you_mean;

/// Parses the name of a metric.
pub fn metric(text: &str) -> Result<Metric, String> {
    Metric::named(text).ok_or_else(|| did_you_mean(text, Metric::ALL.map(|m| m.describe().name)))
}

/// Parses `process`, `docker` or `kubernetes`.
pub fn runner_kind(text: &str) -> Result<RunnerKind, String> {
    let known = RunnerKind::WORDS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind);
    known.ok_or_else(|| did_you_mean(text, RunnerKind::WORDS.map(|(word, _)| word)))
}
