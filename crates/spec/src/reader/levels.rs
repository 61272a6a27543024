//! Reads numbers that may be lists: the levels of a sweep.
//!
//! A single number is one level. A list makes its parameter an axis of the sweep
//! (`experiment/sweep.rs`), so its numbers must differ.

use super::Table;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::DeValue;

/// The lowest and highest level of a parameter without bounds of its own. Levels are above zero
/// because curves have a logarithmic axis.
const LEVEL_LEAST: f64 = 1e-6;
const LEVEL_MOST: f64 = 1e15;

/// A value for which a file may have several numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Levels<T> {
    /// A single value.
    One(T),
    /// A list of one or more different numbers.
    Several(Vec<f64>),
}

impl<'d> Table<'d> {
    /// Reads a whole number within bounds, or a list of different ones.
    pub fn integer_levels(&self, key: &'static str, low: u64, high: u64) -> Option<Levels<f64>> {
        self.levels(key, self.get(key)?, |value| {
            self.integer_of(key, value, low, high).map(|n| n as f64)
        })
    }

    /// Reads a number within bounds, or a list of different ones.
    pub fn number_levels(&self, key: &'static str, low: f64, high: f64) -> Option<Levels<f64>> {
        self.levels(key, self.get(key)?, |value| self.number_of(key, value, low, high))
    }

    /// Reads a table of texts, numbers above zero, and lists of such numbers; empty if it is
    /// absent. Its names are free.
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
                None => self
                    .levels(&path, value, |value| {
                        self.number_of(&path, value, LEVEL_LEAST, LEVEL_MOST)
                    })
                    .map(|levels| match levels {
                        Levels::One(level) => Levels::One(level.to_string()),
                        Levels::Several(levels) => Levels::Several(levels),
                    }),
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
                    self.push(
                        Some(item.span()),
                        format!("{} has the level {level} twice", self.name_of(key)),
                        Some("name it once".into()),
                    );
                }
                level => levels.extend(level),
            }
        }
        if array.iter().next().is_none() {
            self.push(
                Some(value.span()),
                format!("{} has no level", self.name_of(key)),
                Some("name one level or more".into()),
            );
        }
        (!levels.is_empty()).then_some(Levels::Several(levels))
    }
}
