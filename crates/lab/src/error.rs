//! Why a run cannot begin or continue, worded for the person at the terminal.
//!
//! Faults and failures of single trials are not errors: they are part of the record.

use record::{Failure, log_lines};
use spec::name::ContenderName;
use spec::problem::Problems;
use std::fmt;
use std::path::PathBuf;

/// Why a run cannot begin or continue.
#[derive(Debug)]
pub enum LabError {
    /// A file or an option is wrong.
    Problems(Problems),
    /// The record cannot be written.
    Record(PathBuf, std::io::Error),
    /// The baseline, or every other contender, could not be built or started.
    NothingToCompare(String),
    /// The upstream does not start or does not keep running.
    Upstream(ContenderName, Failure),
    /// The database cannot be started for a trial.
    Database(ContenderName, Box<Failure>),
    /// An agent is missing before the first measurement, or none remains: why, with a hint.
    Agents(String),
    /// The container engine or cluster was lost and did not come back.
    Engine(String),
    /// The run was asked to stop.
    Interrupted,
}

impl From<Problems> for LabError {
    fn from(problems: Problems) -> Self {
        LabError::Problems(problems)
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::Problems(problems) => problems.fmt(f),
            LabError::Record(path, error) => write!(
                f,
                "error: the record {} cannot be written: {error}\n\
                 hint: earlier measurements are kept; free some disk space, or name another \
                 folder with --out",
                path.display()
            ),
            LabError::NothingToCompare(why) => write!(
                f,
                "error: {why}\n\
                 hint: `faceoff doctor` shows which tools are missing, `faceoff check` which \
                 contender fails"
            ),
            LabError::Upstream(name, failure) => write_failure(f, "upstream", name, failure),
            LabError::Database(name, failure) => write_failure(f, "database", name, failure),
            LabError::Agents(why) => write!(f, "error: {why}"),
            LabError::Engine(why) => write!(
                f,
                "error: lost the container engine or cluster: {why}\n\
                 hint: start it, then continue with `faceoff run --resume`; finished trials are \
                 recorded"
            ),
            LabError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for LabError {}

fn write_failure(
    f: &mut fmt::Formatter<'_>,
    role: &str,
    name: &ContenderName,
    failure: &Failure,
) -> fmt::Result {
    let log = log_lines(&failure.log);
    write!(f, "error: the {role} {name} failed ({}): {}{log}", failure.stage, failure.cause)
}
