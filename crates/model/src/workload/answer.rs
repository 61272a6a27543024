//! What makes an answer right.

use crate::template::Template;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What makes an answer right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The status.
    pub status: Statuses,
    /// Headers that must be there with exactly this value, compared as bytes.
    pub headers: Vec<(String, Template)>,
    /// The whole body.
    pub body: BodyCheck,
    /// What must stand at places of a body that is JSON.
    pub pointers: Vec<(String, Wanted)>,
    /// What must be found somewhere in the body.
    #[serde(with = "crate::sent::pattern")]
    pub regex: Option<regex_lite::Regex>,
    /// On which share of the answers the costly checks are made: JSON, pointers and `regex`. The
    /// status, headers, bytes and length are looked at on every answer whatever this says.
    pub sample: f64,
}

impl Default for Answer {
    fn default() -> Self {
        Answer { status: Statuses::one(200), headers: Vec::new(), body: BodyCheck::Any, pointers: Vec::new(), regex: None, sample: 1.0 }
    }
}

impl Answer {
    /// What is looked at, in words.
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
        let mut text = format!("{} of every answer", cheap.join(", "));
        if !costly.is_empty() {
            text.push_str(&format!(", {} of {} %", costly.join(", "), (self.sample * 1e6).round() / 1e4));
        }
        text
    }
}

/// Statuses of which any is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statuses {
    /// The least.
    pub from: u16,
    /// The greatest.
    pub to: u16,
}

impl Statuses {
    /// One alone.
    pub fn one(status: u16) -> Statuses {
        Statuses { from: status, to: status }
    }

    /// Whether a status is right.
    pub fn has(self, status: u16) -> bool {
        (self.from..=self.to).contains(&status)
    }

    /// Reads `200`, `2xx`, `200..399`.
    ///
    /// # Errors
    /// What is none of these.
    pub fn parse(text: &str) -> Result<Statuses, String> {
        let one = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (200..=599).contains(status));
        let statuses = match (text.strip_suffix("xx"), text.split_once("..")) {
            (Some(hundreds), _) => one(&format!("{hundreds}00")).map(|from| Statuses { from, to: from + 99 }),
            (_, Some((from, to))) => one(from).zip(one(to)).map(|(from, to)| Statuses { from, to }).filter(|s| s.from <= s.to),
            _ => one(text).map(Statuses::one),
        };
        statuses.ok_or_else(|| format!("`{text}` is no status from 200 to 599: write it like 200, 2xx or 200..399"))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Statuses { from, to } if from == to => write!(f, "{from}"),
            Statuses { from, to } if from % 100 == 0 && to == from + 99 => write!(f, "{}xx", from / 100),
            Statuses { from, to } => write!(f, "{from}..{to}"),
        }
    }
}

/// What the body must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BodyCheck {
    /// Anything.
    Any,
    /// Exactly this text.
    Text(Template),
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// JSON equal to this value, in any spelling.
    Json(serde_json::Value),
    /// Any bytes, so many.
    Length(u64),
}

/// What must stand at a place of a JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wanted {
    /// This value.
    Value(serde_json::Value),
    /// The text, or number, that is spelt so.
    Spelling(Template),
    /// Anything at all.
    Present,
}
