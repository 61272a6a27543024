//! What makes a response correct: the checks of a step (`[step.answer]`).
//!
//! Cheap checks (status, headers, bytes, length) apply to every response. JSON, pointers and
//! `regex` may apply to a sample. The crate `load` applies them.

use crate::template::Template;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The checks that make a response correct.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The allowed status.
    pub status: Statuses,
    /// Headers that must be present with exactly this value, compared as bytes.
    pub headers: Vec<(String, Template)>,
    /// The check of the whole body.
    pub body: BodyCheck,
    /// The values that a JSON body must have, by pointer.
    pub pointers: Vec<(String, Wanted)>,
    /// A pattern that must match somewhere in the body.
    #[serde(with = "crate::workload::request_spec::pattern")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub regex: Option<regex_lite::Regex>,
    /// The share of responses that get the costly checks: JSON, pointers and `regex`. Status,
    /// headers, bytes and length are always checked.
    pub sample: f64,
}

impl Default for Answer {
    fn default() -> Self {
        Answer {
            status: Statuses::one(200),
            headers: Vec::new(),
            body: BodyCheck::Any,
            pointers: Vec::new(),
            regex: None,
            sample: 1.0,
        }
    }
}

impl Answer {
    /// Describes what is checked.
    pub(super) fn checks(&self) -> String {
        let mut cheap = vec!["status"];
        if !self.headers.is_empty() {
            cheap.push("headers");
        }
        let mut costly = Vec::new();
        match self.body {
            BodyCheck::Any => {}
            BodyCheck::Text(_) | BodyCheck::Bytes(_) => cheap.push("every byte of the body"),
            BodyCheck::Length(_) => cheap.push("length"),
            BodyCheck::Json(_) => costly.push("the whole JSON"),
        }
        if !self.pointers.is_empty() {
            costly.push("JSON pointers");
        }
        if self.regex.is_some() {
            costly.push("a regular expression");
        }
        if self.sample >= 1.0 {
            cheap.append(&mut costly);
        }
        let mut text = format!("{} of every response", cheap.join(", "));
        if !costly.is_empty() {
            text.push_str(&format!(
                ", {} of {} %",
                costly.join(", "),
                (self.sample * 1e6).round() / 1e4
            ));
        }
        text
    }
}

/// Allowed statuses, as a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statuses {
    /// The lowest.
    pub from: u16,
    /// The highest.
    pub to: u16,
}

impl Statuses {
    /// Makes a range of one status.
    pub fn one(status: u16) -> Statuses {
        Statuses { from: status, to: status }
    }

    /// Returns whether a status is in the range.
    pub fn has(self, status: u16) -> bool {
        (self.from..=self.to).contains(&status)
    }

    /// Reads `200`, `2xx` or `200..399`.
    ///
    /// # Errors
    /// The text, if it is none of these.
    pub fn parse(text: &str) -> Result<Statuses, String> {
        let one = |text: &str| {
            text.trim().parse::<u16>().ok().filter(|status| (200..=599).contains(status))
        };
        let statuses = match (text.strip_suffix("xx"), text.split_once("..")) {
            (Some(hundreds), _) => {
                one(&format!("{hundreds}00")).map(|from| Statuses { from, to: from + 99 })
            }
            (_, Some((from, to))) => one(from)
                .zip(one(to))
                .map(|(from, to)| Statuses { from, to })
                .filter(|s| s.from <= s.to),
            _ => one(text).map(Statuses::one),
        };
        statuses.ok_or_else(|| {
            format!("`{text}` is not a status from 200 to 599: write it like 200, 2xx or 200..399")
        })
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Statuses { from, to } if from == to => write!(f, "{from}"),
            Statuses { from, to } if from % 100 == 0 && to == from + 99 => {
                write!(f, "{}xx", from / 100)
            }
            Statuses { from, to } => write!(f, "{from}..{to}"),
        }
    }
}

/// The check of a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BodyCheck {
    /// Anything.
    Any,
    /// Exactly this text.
    Text(Template),
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// JSON equal to this value, in any notation.
    Json(serde_json::Value),
    /// Any bytes, of this number.
    Length(u64),
}

/// The value that a place of a JSON document must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Wanted {
    /// This value.
    Value(serde_json::Value),
    /// A text or number that is written exactly like this.
    Spelling(Template),
    /// Anything at all.
    Present,
}

/// Writes a key as a token of a JSON pointer (RFC 6901 §3): `a/b` becomes `a~1b`.
pub fn pointer_token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
