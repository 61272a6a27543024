//! The result of checking a response.

use spec::workload::Statuses;
use std::fmt;

/// Whether a response passed its checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Judgement {
    /// It passed.
    #[default]
    Correct,
    /// It has the status with which the workload allows servers to shed load.
    Declined,
    /// It failed a check.
    Wrong(Wrong),
}

/// The first check that a response failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The status is wrong.
    Status {
        /// The status received.
        found: u16,
        /// The correct statuses.
        expected: Statuses,
    },
    /// A header is missing or has a wrong value.
    Header {
        /// The name of the header.
        name: String,
        /// The value received.
        found: Option<String>,
        /// The correct value.
        expected: String,
    },
    /// The body has a wrong length.
    Length {
        /// Bytes received.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
    /// The body has the correct length but other bytes.
    Bytes,
    /// The content of the body is wrong, as described.
    Content(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Status { found, expected } => write!(f, "status {found} instead of {expected}"),
            Wrong::Header { name, found: None, expected } => {
                write!(f, "no header `{name}`, expected `{expected}`")
            }
            Wrong::Header { name, found: Some(found), expected } => {
                write!(f, "header `{name}` is `{found}` instead of `{expected}`")
            }
            Wrong::Length { found, expected } => {
                write!(f, "a body of {found} bytes instead of {expected}")
            }
            Wrong::Bytes => f.write_str("a body with other bytes"),
            Wrong::Content(cause) => f.write_str(cause),
        }
    }
}
