//! Reads a TOML file field by field and reports all problems at once, each at its place.
//!
//! A person who corrects a file wants every mistake listed, not only the first one. So a function
//! that reads a [`Table`] always returns a value, with defaults where something is wrong. Each
//! problem goes into a list that all tables of the file share. [`read_file`] returns either the
//! value or the problems.
//!
//! Fields that were never requested are unknown. [`Table::finish`] reports them.

use crate::name::did_you_mean;
use crate::problem::{Problem, Problems};
use crate::units;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

mod collections;
mod levels;

pub(crate) use levels::Levels;

/// Reads a file with a function, and returns its result or all problems.
pub(crate) fn read_file<T>(
    path: &Path,
    parse: impl FnOnce(&Table<'_>) -> T,
) -> Result<T, Problems> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Problems::plain(
            format!("{} cannot be read: {e}", path.display()),
            "does it exist, may you read it, and is it UTF-8?",
        )
    })?;
    read_text(path, &text, parse)
}

/// Reads a text that was loaded already, like [`read_file`].
pub(crate) fn read_text<T>(
    path: &Path,
    text: &str,
    parse: impl FnOnce(&Table<'_>) -> T,
) -> Result<T, Problems> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let sink = RefCell::new(Vec::new());
    let broken: Vec<Problem> = errors.iter().map(|error| syntax_problem(text, error)).collect();
    let root = Table {
        entries: document.get_ref(),
        span: None,
        path: String::new(),
        known: RefCell::default(),
        ignored: Cell::new(false),
        sink: &sink,
    };
    let read = parse(&root);
    root.finish();
    let mut problems = sink.into_inner();
    if !broken.is_empty() {
        // Broken syntax makes fields seem missing. Only problems with a span are certain, and one
        // problem per place is enough.
        let is_broken = |at: &Range<usize>| {
            broken
                .iter()
                .filter_map(|p| p.span.as_ref())
                .any(|span| span.start < at.end && at.start < span.end)
        };
        problems.retain(|p| p.span.as_ref().is_some_and(|span| !is_broken(span)));
        problems.extend(broken);
    }
    if problems.is_empty() {
        return Ok(read);
    }
    problems.sort_by_key(|p| p.span.as_ref().map_or(usize::MAX, |s| s.start));
    Err(Problems::in_file(path, text, problems))
}

/// Explains a syntax error. The parser takes a text without quotes for the beginning of another
/// value, so the message says what is missing.
fn syntax_problem(text: &str, error: &toml::de::Error) -> Problem {
    let word = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    let is_word = word.starts_with(char::is_alphabetic)
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    match error.message() {
        message if is_word && message.starts_with("invalid ") => Problem {
            span: error.span(),
            message: format!("`{word}` is not a value"),
            hint: Some(format!("write a number in digits, a text in quotes: \"{word}\"")),
        },
        message => Problem { span: error.span(), message: message.to_owned(), hint: None },
    }
}

/// A table of the file. Its fields are requested by name; [`Table::finish`] reports the others as
/// unknown.
pub(crate) struct Table<'d> {
    entries: &'d DeTable<'d>,
    span: Option<Range<usize>>,
    path: String,
    known: RefCell<Vec<&'static str>>,
    ignored: Cell<bool>,
    sink: &'d RefCell<Vec<Problem>>,
}

impl<'d> Table<'d> {
    /// Adds a problem with the value of a field, or with the whole table if the field is absent.
    pub fn problem(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.entries.get(key).map(|v| v.span()).or_else(|| self.span.clone());
        self.push(span, message.into(), Some(hint.into()));
    }

    /// Adds a problem with a field of the table that has this name, in an array of tables.
    pub fn problem_of(
        &self,
        (array, name): (&str, &str),
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let tables = self.entries.get(array).and_then(|value| value.get_ref().as_array());
        let is_named = |table: &&DeTable<'_>| {
            table.get("name").and_then(|value| value.get_ref().as_str()) == Some(name)
        };
        let named = tables
            .into_iter()
            .flat_map(|array| array.iter())
            .filter_map(|item| item.get_ref().as_table())
            .find(is_named);
        let span = named.and_then(|table| table.get(key)).map(|value| value.span());
        self.push(span.or_else(|| self.span.clone()), message.into(), Some(hint.into()));
    }

    fn push(&self, span: Option<Range<usize>>, message: String, hint: Option<String>) {
        self.sink.borrow_mut().push(Problem { span, message, hint });
    }

    fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() { format!("`{key}`") } else { format!("`{}.{key}`", self.path) }
    }

    fn get(&self, key: &'static str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.known.borrow_mut().push(key);
        self.entries.get(key)
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let found = value.get_ref().type_str();
        self.push(
            Some(value.span()),
            format!("{} must be {wanted}, not {found}", self.name_of(key)),
            None,
        );
    }

    fn missing(&self, key: &str, wanted: &str) {
        let place =
            if self.path.is_empty() { String::new() } else { format!(" of [{}]", self.path) };
        self.push(
            self.span.clone(),
            format!("the field `{key}`{place} is missing"),
            Some(format!("write `{key} = {wanted}`")),
        );
    }

    /// Returns whether the field is present.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns whether the field is present and a text.
    pub fn is_text(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|value| value.get_ref().as_str().is_some())
    }

    pub fn string(&self, key: &'static str) -> Option<String> {
        let value = self.get(key)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong_type(key, value, "text in quotes");
        }
        text.map(str::to_owned)
    }

    pub fn required_string(&self, key: &'static str) -> String {
        if !self.has(key) {
            self.missing(key, "\"...\"");
        }
        self.string(key).unwrap_or_default()
    }

    /// Reads a field with a function that reports what is wrong with its text.
    pub fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.string(key)?;
        parse(&text)
            .map_err(|message| {
                self.push(
                    self.entries.get(key).map(|v| v.span()),
                    format!("{}: {message}", self.name_of(key)),
                    None,
                )
            })
            .ok()
    }

    /// Reads one of a few words.
    pub fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.string(key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            self.problem(
                key,
                format!("{} cannot be `{text}`", self.name_of(key)),
                did_you_mean(&text, words.iter().map(|(word, _)| *word)),
            );
        }
        found
    }

    /// Takes every field as known, for a table that is wrong as a whole.
    pub fn ignore_rest(&self) {
        self.ignored.set(true);
    }

    pub fn duration(&self, key: &'static str) -> Option<Duration> {
        self.parsed(key, units::parse_duration)
    }

    /// Reads `true` or `false`.
    pub fn flag(&self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        let DeValue::Boolean(flag) = value.get_ref() else {
            self.wrong_type(key, value, "true or false");
            return None;
        };
        Some(*flag)
    }

    /// Reads a whole number within bounds.
    pub fn integer(&self, key: &'static str, low: u64, high: u64) -> Option<u64> {
        self.integer_of(key, self.get(key)?, low, high)
    }

    fn integer_of(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        low: u64,
        high: u64,
    ) -> Option<u64> {
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(key, value, "a whole number");
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .filter(|n| (low..=high).contains(n));
        if number.is_none() {
            self.push(
                Some(value.span()),
                format!(
                    "{} must be from {low} to {high}, not {}",
                    self.name_of(key),
                    integer.as_str()
                ),
                None,
            );
        }
        number
    }

    /// Reads a number within bounds, whole or not.
    pub fn number(&self, key: &'static str, low: f64, high: f64) -> Option<f64> {
        self.number_of(key, self.get(key)?, low, high)
    }

    fn number_of(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        low: f64,
        high: f64,
    ) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(integer) => integer.as_str().parse::<f64>().ok(),
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            _ => {
                self.wrong_type(key, value, "a number");
                return None;
            }
        };
        let number = number.filter(|n| (low..=high).contains(n));
        if number.is_none() {
            self.push(
                Some(value.span()),
                format!("{} must be from {low} to {high}", self.name_of(key)),
                None,
            );
        }
        number
    }

    fn child(&self, path: String, value: &'d Spanned<DeValue<'d>>) -> Option<Table<'d>> {
        let Some(entries) = value.get_ref().as_table() else {
            self.wrong_type(&path, value, "a table");
            return None;
        };
        let path = if self.path.is_empty() { path } else { format!("{}.{path}", self.path) };
        Some(Table {
            entries,
            span: Some(value.span()),
            path,
            known: RefCell::default(),
            ignored: Cell::new(false),
            sink: self.sink,
        })
    }

    /// Reads a table; `None` if it is absent.
    pub fn table<T>(&self, key: &'static str, read: impl FnOnce(&Table<'d>) -> T) -> Option<T> {
        let table = self.child(key.to_owned(), self.get(key)?)?;
        let value = read(&table);
        table.finish();
        Some(value)
    }

    /// Reads each table of a list (`[[key]]`); empty if it is absent.
    pub fn tables<T>(&self, key: &'static str, mut read: impl FnMut(&Table<'d>) -> T) -> Vec<T> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, &format!("a list of tables, written [[{key}]]"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for item in array.iter() {
            if let Some(table) = self.child(key.to_owned(), item) {
                all.push(read(&table));
                table.finish();
            }
        }
        all
    }

    /// Reads each entry of a list, which is a text or a table; empty if it is absent.
    pub fn texts_or_tables<T>(
        &self,
        key: &'static str,
        mut of_text: impl FnMut(&str) -> T,
        mut of_table: impl FnMut(&Table<'d>) -> T,
    ) -> Vec<T> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of texts or tables");
            return Vec::new();
        };
        let mut all = Vec::new();
        for item in array.iter() {
            if let Some(text) = item.get_ref().as_str() {
                all.push(of_text(text));
            } else if item.get_ref().as_table().is_none() {
                self.wrong_type(key, item, "a list of texts or tables");
            } else if let Some(table) = self.child(key.to_owned(), item) {
                all.push(of_table(&table));
                table.finish();
            }
        }
        all
    }

    /// Reads each named table of a field (`[key.name]`); empty if it is absent.
    pub fn named_tables<T>(
        &self,
        key: &'static str,
        mut read: impl FnMut(&str, &Table<'d>) -> T,
    ) -> BTreeMap<String, T> {
        let Some(value) = self.get(key) else { return BTreeMap::new() };
        let Some(named) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table of tables");
            return BTreeMap::new();
        };
        let mut all = BTreeMap::new();
        for (name, value) in named.iter() {
            if let Some(table) = self.child(format!("{key}.{}", name.get_ref()), value) {
                all.insert(name.get_ref().to_string(), read(name.get_ref(), &table));
                table.finish();
            }
        }
        all
    }

    /// Reports the fields that were never requested.
    fn finish(&self) {
        if self.ignored.get() {
            return;
        }
        let known = self.known.borrow();
        for (key, _) in self.entries.iter() {
            if !known.iter().any(|k| k == key.get_ref()) {
                let place = if self.path.is_empty() {
                    String::new()
                } else {
                    format!(" in [{}]", self.path)
                };
                let mut sorted: Vec<&str> = known.clone();
                sorted.sort_unstable();
                sorted.dedup();
                self.push(
                    Some(key.span()),
                    format!("unknown field `{}`{place}", key.get_ref()),
                    Some(did_you_mean(key.get_ref(), sorted)),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
