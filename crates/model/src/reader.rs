//! Reads a TOML file field by field and keeps every problem with its place,
//! so that all of them can be said at once.

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

/// The least and the greatest level of what has no bounds of its own: above zero, as levels stand on a logarithmic axis.
const LEVEL_LEAST: f64 = 1e-6;
const LEVEL_MOST: f64 = 1e15;

/// A value where several numbers may stand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Levels<T> {
    /// One, by itself.
    One(T),
    /// A list of them, one or more, all different.
    Several(Vec<f64>),
}

/// Reads a file and walks it; returns what was read, or all problems found.
pub(crate) fn read_file<T>(path: &Path, walk: impl FnOnce(&Table<'_>) -> T) -> Result<T, Problems> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Problems::plain(format!("{} cannot be read: {e}", path.display()), "is it there, and yours to read, and UTF-8?"))?;
    read_text(path, &text, walk)
}

/// As [`read_file`], from a text that was read already.
pub(crate) fn read_text<T>(path: &Path, text: &str, walk: impl FnOnce(&Table<'_>) -> T) -> Result<T, Problems> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let sink = RefCell::new(Vec::new());
    for error in errors {
        sink.borrow_mut().push(Problem { span: error.span(), message: error.message().to_owned(), hint: None });
    }
    let syntax_is_sound = sink.borrow().is_empty();
    let root = Table {
        entries: document.get_ref(),
        span: None,
        path: String::new(),
        known: RefCell::default(),
        ignored: Cell::new(false),
        sink: &sink,
    };
    let read = walk(&root);
    root.finish();
    let mut problems = sink.into_inner();
    if !syntax_is_sound {
        // A hole in the syntax makes fields seem missing: only what has a place of its own is sure.
        problems.retain(|p| p.span.is_some());
    }
    if problems.is_empty() {
        return Ok(read);
    }
    problems.sort_by_key(|p| p.span.as_ref().map_or(usize::MAX, |s| s.start));
    Err(Problems::in_file(path, text, problems))
}

/// A table of the file, whose fields are asked for by name. What is never asked
/// for is unknown, and [`Table::finish`] says so.
pub(crate) struct Table<'d> {
    entries: &'d DeTable<'d>,
    span: Option<Range<usize>>,
    path: String,
    known: RefCell<Vec<&'static str>>,
    ignored: Cell<bool>,
    sink: &'d RefCell<Vec<Problem>>,
}

impl<'d> Table<'d> {
    /// Notes a problem with the value of a field, or with the whole table when the field is absent.
    pub fn problem(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.entries.get(key).map(|v| v.span()).or_else(|| self.span.clone());
        self.push(span, message.into(), Some(hint.into()));
    }

    /// Notes a problem with a field of the table that has this name, in an array of tables.
    pub fn problem_of(&self, (array, name): (&str, &str), key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let tables = self.entries.get(array).and_then(|value| value.get_ref().as_array());
        let is_named = |table: &&DeTable<'_>| table.get("name").and_then(|value| value.get_ref().as_str()) == Some(name);
        let named = tables.into_iter().flat_map(|array| array.iter()).filter_map(|item| item.get_ref().as_table()).find(is_named);
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
        self.push(Some(value.span()), format!("{} must be {wanted}, not {found}", self.name_of(key)), None);
    }

    fn missing(&self, key: &str, wanted: &str) {
        let place = if self.path.is_empty() { String::new() } else { format!(" of [{}]", self.path) };
        self.push(self.span.clone(), format!("the field `{key}`{place} is missing"), Some(format!("write `{key} = {wanted}`")));
    }

    /// Whether the field is there.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Whether the field is there and a text.
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

    /// A field read from its text by a function that says what is wrong with it.
    pub fn parsed<T>(&self, key: &'static str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let text = self.string(key)?;
        parse(&text)
            .map_err(|message| self.push(self.entries.get(key).map(|v| v.span()), format!("{}: {message}", self.name_of(key)), None))
            .ok()
    }

    /// One of a few words.
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

    /// Takes every field as known: for a table that is wrong as a whole.
    pub fn ignore_rest(&self) {
        self.ignored.set(true);
    }

    pub fn duration(&self, key: &'static str) -> Option<Duration> {
        self.parsed(key, units::parse_duration)
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        let DeValue::Boolean(flag) = value.get_ref() else {
            self.wrong_type(key, value, "true or false");
            return None;
        };
        Some(*flag)
    }

    /// A whole number within bounds.
    pub fn integer(&self, key: &'static str, low: u64, high: u64) -> Option<u64> {
        self.integer_of(key, self.get(key)?, low, high)
    }

    fn integer_of(&self, key: &str, value: &Spanned<DeValue<'_>>, low: u64, high: u64) -> Option<u64> {
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(key, value, "a whole number");
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|n| (low..=high).contains(n));
        if number.is_none() {
            self.push(Some(value.span()), format!("{} must be from {low} to {high}, not {}", self.name_of(key), integer.as_str()), None);
        }
        number
    }

    /// A number within bounds, whole or not.
    pub fn number(&self, key: &'static str, low: f64, high: f64) -> Option<f64> {
        self.number_of(key, self.get(key)?, low, high)
    }

    fn number_of(&self, key: &str, value: &Spanned<DeValue<'_>>, low: f64, high: f64) -> Option<f64> {
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
            self.push(Some(value.span()), format!("{} must be from {low} to {high}", self.name_of(key)), None);
        }
        number
    }

    /// A whole number within bounds, or a list of them, each once.
    pub fn integer_levels(&self, key: &'static str, low: u64, high: u64) -> Option<Levels<f64>> {
        self.levels(key, self.get(key)?, |value| self.integer_of(key, value, low, high).map(|n| n as f64))
    }

    /// A number within bounds, or a list of them, each once.
    pub fn number_levels(&self, key: &'static str, low: f64, high: f64) -> Option<Levels<f64>> {
        self.levels(key, self.get(key)?, |value| self.number_of(key, value, low, high))
    }

    /// A table whose names are free, of texts, numbers above zero, and lists of these numbers; empty when absent.
    pub fn texts_or_levels(&self, key: &'static str) -> BTreeMap<String, Levels<String>> {
        let Some(value) = self.get(key) else { return BTreeMap::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return BTreeMap::new();
        };
        let mut all = BTreeMap::new();
        for (name, value) in table.iter() {
            let path = format!("{key}.{}", name.get_ref());
            let read = match value.get_ref().as_str() {
                Some(text) => Some(Levels::One(text.to_owned())),
                None => {
                    self.levels(&path, value, |value| self.number_of(&path, value, LEVEL_LEAST, LEVEL_MOST)).map(|levels| match levels {
                        Levels::One(level) => Levels::One(level.to_string()),
                        Levels::Several(levels) => Levels::Several(levels),
                    })
                }
            };
            all.extend(read.map(|read| (name.get_ref().to_string(), read)));
        }
        all
    }

    fn levels(
        &self,
        key: &str,
        value: &'d Spanned<DeValue<'d>>,
        read: impl Fn(&Spanned<DeValue<'_>>) -> Option<f64>,
    ) -> Option<Levels<f64>> {
        let Some(array) = value.get_ref().as_array() else { return read(value).map(Levels::One) };
        let mut levels = Vec::new();
        for item in array.iter() {
            match read(item) {
                Some(level) if levels.contains(&level) => {
                    self.push(Some(item.span()), format!("{} has the level {level} twice", self.name_of(key)), Some("name it once".into()));
                }
                level => levels.extend(level),
            }
        }
        if array.iter().next().is_none() {
            self.push(Some(value.span()), format!("{} has no level", self.name_of(key)), Some("name one level or more".into()));
        }
        (!levels.is_empty()).then_some(Levels::Several(levels))
    }

    fn strings_of(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of texts");
            return Vec::new();
        };
        let mut strings = Vec::new();
        for item in array.iter() {
            match item.get_ref().as_str() {
                Some(text) => strings.push(text.to_owned()),
                None => self.wrong_type(key, item, "a list of texts"),
            }
        }
        strings
    }

    /// A list of texts; empty when absent.
    pub fn strings(&self, key: &'static str) -> Vec<String> {
        self.get(key).map(|value| self.strings_of(key, value)).unwrap_or_default()
    }

    /// A whole number within bounds, or a list of texts; neither when absent.
    pub fn integer_or_strings(&self, key: &'static str, low: u64, high: u64) -> (Option<u64>, Vec<String>) {
        match self.get(key) {
            None => (None, Vec::new()),
            Some(value) if value.get_ref().is_array() => (None, self.strings_of(key, value)),
            Some(value) if value.get_ref().is_integer() => (self.integer_of(key, value, low, high), Vec::new()),
            Some(value) => {
                self.wrong_type(key, value, "a whole number or a list of texts");
                (None, Vec::new())
            }
        }
    }

    /// A list of lists of texts; empty when absent.
    pub fn lists(&self, key: &'static str) -> Vec<Vec<String>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of lists of texts");
            return Vec::new();
        };
        array.iter().map(|item| self.strings_of(key, item)).collect()
    }

    /// A list of whole numbers; empty when absent.
    pub fn integers(&self, key: &'static str) -> Vec<u64> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of whole numbers");
            return Vec::new();
        };
        let mut integers = Vec::new();
        for item in array.iter() {
            match item.get_ref().as_integer().and_then(|i| i.as_str().parse().ok()) {
                Some(number) => integers.push(number),
                None => self.wrong_type(key, item, "a list of whole numbers"),
            }
        }
        integers
    }

    /// A table of texts; empty when absent.
    pub fn map(&self, key: &'static str) -> BTreeMap<String, String> {
        let Some(value) = self.get(key) else { return BTreeMap::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table of texts");
            return BTreeMap::new();
        };
        let mut map = BTreeMap::new();
        for (name, value) in table.iter() {
            match value.get_ref().as_str() {
                Some(text) => drop(map.insert(name.get_ref().to_string(), text.to_owned())),
                None => self.wrong_type(&format!("{key}.{}", name.get_ref()), value, "text in quotes"),
            }
        }
        map
    }

    /// A table of values of any kind, as JSON; empty when absent. Dates are texts.
    pub fn values(&self, key: &'static str) -> BTreeMap<String, serde_json::Value> {
        let Some(value) = self.get(key) else { return BTreeMap::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return BTreeMap::new();
        };
        table.iter().map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref()))).collect()
    }

    fn child(&self, path: String, value: &'d Spanned<DeValue<'d>>) -> Option<Table<'d>> {
        let Some(entries) = value.get_ref().as_table() else {
            self.wrong_type(&path, value, "a table");
            return None;
        };
        let path = if self.path.is_empty() { path } else { format!("{}.{path}", self.path) };
        Some(Table { entries, span: Some(value.span()), path, known: RefCell::default(), ignored: Cell::new(false), sink: self.sink })
    }

    /// Reads a table in the field; `None` when absent.
    pub fn table<T>(&self, key: &'static str, read: impl FnOnce(&Table<'d>) -> T) -> Option<T> {
        let table = self.child(key.to_owned(), self.get(key)?)?;
        let value = read(&table);
        table.finish();
        Some(value)
    }

    /// Reads each table of a list (`[[key]]`); empty when absent.
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

    /// Reads each entry of a list, which is a text or a table; empty when absent.
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

    /// Reads each named table of a field (`[key.name]`); empty when absent.
    pub fn named_tables<T>(&self, key: &'static str, mut read: impl FnMut(&str, &Table<'d>) -> T) -> BTreeMap<String, T> {
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

    /// Says which fields nobody asked for.
    fn finish(&self) {
        if self.ignored.get() {
            return;
        }
        let known = self.known.borrow();
        for (key, _) in self.entries.iter() {
            if !known.iter().any(|k| k == key.get_ref()) {
                let place = if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) };
                let mut sorted: Vec<&str> = known.clone();
                sorted.sort_unstable();
                sorted.dedup();
                self.push(Some(key.span()), format!("unknown field `{}`{place}", key.get_ref()), Some(did_you_mean(key.get_ref(), sorted)));
            }
        }
    }
}

fn to_json(value: &DeValue<'_>) -> serde_json::Value {
    use serde_json::Value;
    let number = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => integer.into(),
            Err(_) => number(integer.as_str()),
        },
        DeValue::Float(float) => number(float.as_str()),
        DeValue::Boolean(boolean) => (*boolean).into(),
        DeValue::Datetime(datetime) => Value::String(datetime.to_string()),
        DeValue::Array(array) => array.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            Value::Object(table.iter().map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref()))).collect())
        }
    }
}
