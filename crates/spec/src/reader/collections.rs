//! Reads the fields of a table that are lists and maps.
//!
//! A list or map that is absent is read as empty. A value of the wrong type is reported at its
//! place, and the other values are still read.

use super::Table;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::DeValue;

impl<'d> Table<'d> {
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

    /// Reads a list of texts; empty if it is absent.
    pub fn strings(&self, key: &'static str) -> Vec<String> {
        self.get(key).map(|value| self.strings_of(key, value)).unwrap_or_default()
    }

    /// Reads a whole number within bounds, or a list of texts; neither if it is absent.
    pub fn integer_or_strings(
        &self,
        key: &'static str,
        low: u64,
        high: u64,
    ) -> (Option<u64>, Vec<String>) {
        match self.get(key) {
            None => (None, Vec::new()),
            Some(value) if value.get_ref().is_array() => (None, self.strings_of(key, value)),
            Some(value) if value.get_ref().is_integer() => {
                (self.integer_of(key, value, low, high), Vec::new())
            }
            Some(value) => {
                self.wrong_type(key, value, "a whole number or a list of texts");
                (None, Vec::new())
            }
        }
    }

    /// Reads a list of lists of texts; empty if it is absent.
    pub fn lists(&self, key: &'static str) -> Vec<Vec<String>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of lists of texts");
            return Vec::new();
        };
        array.iter().map(|item| self.strings_of(key, item)).collect()
    }

    /// Reads a list of whole numbers; empty if it is absent.
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

    /// Reads a table of texts; empty if it is absent.
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
                None => {
                    self.wrong_type(&format!("{key}.{}", name.get_ref()), value, "text in quotes")
                }
            }
        }
        map
    }

    /// Reads a table whose values are texts or lists of texts; empty if it is absent.
    pub fn texts_or_lists(&self, key: &'static str) -> BTreeMap<String, Vec<String>> {
        let Some(value) = self.get(key) else { return BTreeMap::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table of texts and lists of texts");
            return BTreeMap::new();
        };
        let mut map = BTreeMap::new();
        for (name, value) in table.iter() {
            let path = format!("{key}.{}", name.get_ref());
            let texts = match value.get_ref().as_str() {
                Some(text) => vec![text.to_owned()],
                None if value.get_ref().is_array() => self.strings_of(&path, value),
                None => {
                    self.wrong_type(&path, value, "text in quotes or a list of texts");
                    continue;
                }
            };
            if texts.is_empty() {
                self.push(
                    Some(value.span()),
                    format!("{} has no value", self.name_of(&path)),
                    Some("leave it out".into()),
                );
            }
            map.insert(name.get_ref().to_string(), texts);
        }
        map
    }

    /// Reads a table of values of any kind, as JSON; empty if it is absent. Dates become texts.
    pub fn values(&self, key: &'static str) -> BTreeMap<String, serde_json::Value> {
        let Some(value) = self.get(key) else { return BTreeMap::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return BTreeMap::new();
        };
        table
            .iter()
            .map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref())))
            .collect()
    }
}

fn to_json(value: &DeValue<'_>) -> serde_json::Value {
    use serde_json::Value;
    let number =
        |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
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
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref())))
                .collect(),
        ),
    }
}
