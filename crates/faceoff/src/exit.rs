//! Exit codes, and the error type of all commands.

use lab::LabError;
use lab::record_files::FileError;
use record::judgement::{ClaimOutcome, Judgement};
use spec::problem::Problems;
use std::fmt;
use std::process::ExitCode;

/// A tool or a trial failed.
pub const FAILED: u8 = 1;
/// The command line or a file is wrong.
pub const USAGE: u8 = 2;
/// A claim was refuted in a strict run, a threshold was breached, or figures are impossible.
pub const BREACHED: u8 = 3;
/// The measurement is unsound, so nothing could be judged.
pub const UNSOUND: u8 = 4;

/// Why a command ends before its work is done.
#[derive(Debug)]
pub enum Error {
    /// The command line or a file is wrong.
    Problems(Problems),
    /// A run could not begin or continue.
    Lab(LabError),
    /// Something failed: a sentence with a hint.
    Failed(String),
    /// A signal ended the command; its exit code.
    Interrupted(u8),
}

impl Error {
    /// Returns the exit code for this error.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Error::Problems(_) | Error::Lab(LabError::Problems(_)) => USAGE,
            Error::Lab(_) | Error::Failed(_) => FAILED,
            Error::Interrupted(code) => *code,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Problems(problems) => problems.fmt(f),
            Error::Lab(error) => error.fmt(f),
            Error::Failed(text) => write!(f, "error: {text}"),
            Error::Interrupted(_) => f.write_str("interrupted"),
        }
    }
}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Error::Problems(problems)
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Error::Failed(error.to_string())
    }
}

impl From<LabError> for Error {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => Error::Interrupted(crate::signals::code()),
            other => Error::Lab(other),
        }
    }
}

/// Returns the exit code of a judgement. With `strict`, a refuted claim has its own code.
pub fn judgement_code(judgement: &Judgement, strict: bool) -> ExitCode {
    let is_refuted = judgement.claims.iter().any(|c| c.outcome == ClaimOutcome::Refuted);
    match () {
        () if judgement.incomplete => ExitCode::from(FAILED),
        () if judgement.unsound => ExitCode::from(UNSOUND),
        () if strict && is_refuted => ExitCode::from(BREACHED),
        () => ExitCode::SUCCESS,
    }
}
