//! Exit codes, and the errors that lead to them.

use lab::LabError;
use model::problem::Problems;
use std::fmt;
use std::process::ExitCode;

/// A tool or a trial failed.
pub const FAILED: u8 = 1;
/// Something that was asked or written is wrong.
pub const USAGE: u8 = 2;
/// A claim was refuted, and that was to be strict; or figures do not fit each other.
pub const BREACHED: u8 = 3;
/// The measurement is unsound.
pub const UNSOUND: u8 = 4;

/// Why a command ends before its work is done.
#[derive(Debug)]
pub enum Error {
    /// Something that was written is wrong.
    Problems(Problems),
    /// A run could not begin or go on.
    Lab(LabError),
    /// Something failed, in words with a hint.
    Failed(String),
    /// A signal.
    Interrupted(u8),
}

impl Error {
    /// The exit code.
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

impl From<LabError> for Error {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => Error::Interrupted(crate::signals::code()),
            other => Error::Lab(other),
        }
    }
}
