//! Checks that need the complete body: JSON, pointers into it and patterns. Also captures values.

use super::judgement::Wrong;
use super::pointer::Pointer;
use super::text::{lossy, shortened};
use crate::values::{Names, Text, Vars};
use regex_lite::Regex;
use serde_json::Value;
use spec::workload::pointer_token;
use spec::workload::{Answer, BodyCheck, Capture, Source, Wanted};
use std::borrow::Cow;
use std::fmt;

/// The checks of one step that need the complete body.
pub(super) struct Content {
    json: Option<Value>,
    pointers: Vec<(Pointer, ExpectedValue)>,
    regex: Option<Regex>,
    /// Whether the checks depend on values of the user.
    pub(super) varies: bool,
}

enum ExpectedValue {
    Value(Value),
    Spelling(Text),
    Anything,
}

pub(super) struct Taken {
    pub(super) capture: Capture,
    pub(super) place: usize,
    pointer: Option<Pointer>,
}

impl Content {
    pub(super) fn new(answer: &Answer, names: &Names) -> Content {
        let wanted = |wanted: &Wanted| match wanted {
            Wanted::Value(value) => ExpectedValue::Value(value.clone()),
            Wanted::Spelling(template) => ExpectedValue::Spelling(Text::new(template, names)),
            Wanted::Present => ExpectedValue::Anything,
        };
        Content {
            json: match &answer.body {
                BodyCheck::Json(value) => Some(value.clone()),
                _ => None,
            },
            pointers: answer
                .pointers
                .iter()
                .map(|(pointer, there)| (Pointer::new(pointer), wanted(there)))
                .collect(),
            regex: answer.regex.clone(),
            varies: answer.pointers.iter().any(|(_, wanted)| matches!(wanted, Wanted::Spelling(_))),
        }
    }

    pub(super) fn is_checked(&self) -> bool {
        self.json.is_some() || !self.pointers.is_empty() || self.regex.is_some()
    }

    pub(super) fn judge(&self, text: &[u8], vars: &Vars) -> Result<(), Wrong> {
        if let Some(right) = &self.json {
            let found: Value = serde_json::from_slice(text)
                .map_err(|error| Wrong::Content(format!("the body is not JSON: {error}")))?;
            if let Some(difference) = difference(&found, right, "") {
                return Err(Wrong::Content(difference));
            }
        }
        for (pointer, wanted) in &self.pointers {
            let found = pointer.find(text)?.ok_or_else(|| {
                Wrong::Content(format!("the body has nothing at `{}`", pointer.text))
            })?;
            let wrong = |right: String| {
                Err(Wrong::Content(format!(
                    "`{}` is {} instead of {right}",
                    pointer.text,
                    shortened(found)
                )))
            };
            match wanted {
                ExpectedValue::Value(right)
                    if serde_json::from_str::<Value>(found).ok().as_ref() != Some(right) =>
                {
                    return wrong(right.to_string());
                }
                ExpectedValue::Spelling(right) => {
                    let spelling = spelling(found);
                    if spelling.len() != right.len(vars)
                        || !right.has_at(vars, 0, spelling.as_bytes())
                    {
                        let mut text = Vec::new();
                        right.write(vars, &mut text);
                        return wrong(lossy(&text));
                    }
                }
                ExpectedValue::Value(_) | ExpectedValue::Anything => {}
            }
        }
        match &self.regex {
            Some(regex) if !regex.is_match(&String::from_utf8_lossy(text)) => {
                Err(Wrong::Content(format!("nothing in the body matches `{regex}`")))
            }
            _ => Ok(()),
        }
    }
}

impl Taken {
    pub(super) fn new(capture: &Capture, names: &Names) -> Taken {
        Taken {
            place: names.place(&capture.name),
            pointer: match &capture.from {
                Source::Json(pointer) => Some(Pointer::new(pointer)),
                _ => None,
            },
            capture: capture.clone(),
        }
    }

    pub(super) fn take(&self, text: &[u8], vars: &mut Vars) -> Result<(), Wrong> {
        let whole = match &self.pointer {
            Some(pointer) => pointer.find(text)?.map(spelling),
            None => Some(String::from_utf8_lossy(text)),
        };
        match whole.as_deref().and_then(|whole| self.part_of(whole)) {
            Some(value) => vars.set(self.place, value.as_bytes()),
            None => return Err(self.missing()),
        }
        Ok(())
    }

    pub(super) fn part_of<'t>(&self, whole: &'t str) -> Option<&'t str> {
        let Some(regex) = &self.capture.regex else { return Some(whole) };
        let found = regex.captures(whole)?;
        found.get(1).or_else(|| found.get(0)).map(|part| part.as_str())
    }

    pub(super) fn missing(&self) -> Wrong {
        let Capture { name, from, regex } = &self.capture;
        let place = match from {
            Source::Json(pointer) => format!("at `{pointer}`"),
            Source::Header(header) => format!("in the header `{header}`"),
            Source::Body => "in the body".into(),
        };
        let that =
            regex.as_ref().map(|regex| format!(" that matches `{regex}`")).unwrap_or_default();
        Wrong::Content(format!("there is nothing {place}{that} to take `{name}` from"))
    }
}

/// Describes where two JSON values first differ: the path and both values. Returns `None` if they
/// are equal.
fn difference(found: &Value, right: &Value, path: &str) -> Option<String> {
    let below = |key: &dyn fmt::Display| format!("{path}/{}", pointer_token(&key.to_string()));
    let short = |value: &Value| shortened(&value.to_string()).into_owned();
    match (found, right) {
        (Value::Object(found), Value::Object(right)) => {
            let missing = |(key, right): (&String, &Value)| match found.get(key) {
                Some(found) => difference(found, right, &below(key)),
                None => Some(format!(
                    "the body has nothing at `{}`, expected {}",
                    below(key),
                    short(right)
                )),
            };
            let extra = |(key, found): (&String, &Value)| match right.contains_key(key) {
                true => None,
                false => Some(format!(
                    "the body has {} at `{}`, expected nothing there",
                    short(found),
                    below(key)
                )),
            };
            right.iter().find_map(missing).or_else(|| found.iter().find_map(extra))
        }
        (Value::Array(found), Value::Array(right)) if found.len() == right.len() => found
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(at, (found, right))| difference(found, right, &below(&at))),
        (Value::Array(found), Value::Array(right)) => {
            Some(format!("{} has {} values instead of {}", place(path), found.len(), right.len()))
        }
        _ if found == right => None,
        _ => Some(format!("{} is {} instead of {}", place(path), short(found), short(right))),
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { "the body".into() } else { format!("`{path}`") }
}

/// Returns a JSON text without the quotes of a string.
fn spelling(found: &str) -> Cow<'_, str> {
    match found.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => plain.into(),
        Some(_) => serde_json::from_str::<String>(found).map_or(found.into(), Cow::from),
        None => found.into(),
    }
}
