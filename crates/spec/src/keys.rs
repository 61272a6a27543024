//! Describes the keys of the files that people write, for `docs/reference/experiment.md` and
//! `system.md`.
//!
//! A meaning and a default are written next to the code that reads the keys
//! (`experiment/keys.rs`, `system/keys.rs`). Which keys there are, and which values each takes, is
//! taken from the reader itself: a key that it cannot know makes it list the known ones, and a
//! wrong value makes it name the right ones. So a page cannot omit a key or state another range.
//! `reference.rs` writes the pages. Start with [`Page`], then [`value_of`].

use crate::problem::Problem;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A key of a table.
pub(crate) struct Key {
    pub name: &'static str,
    pub otherwise: Otherwise,
    meaning: &'static str,
}

/// What applies if a key is absent.
pub(crate) enum Otherwise {
    /// The key is required. A value in TOML makes the table valid.
    Required(&'static str),
    /// The default, in TOML.
    Default(&'static str),
    /// What its absence means, in words.
    Means(&'static str),
    /// One of several keys that are required. A value in TOML, and what applies without it.
    Either(&'static str, &'static str),
}

/// A key that must be present, with a value that is valid.
pub(crate) const fn required(
    name: &'static str,
    value: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, otherwise: Otherwise::Required(value), meaning }
}

/// A key with a default, as a file would write it.
pub(crate) const fn usual(name: &'static str, value: &'static str, meaning: &'static str) -> Key {
    Key { name, otherwise: Otherwise::Default(value), meaning }
}

/// A key whose absence means something else than a fixed value.
pub(crate) const fn optional(
    name: &'static str,
    absent: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, otherwise: Otherwise::Means(absent), meaning }
}

/// A key that is required unless another one is present.
pub(crate) const fn either(
    name: &'static str,
    value: &'static str,
    absent: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, otherwise: Otherwise::Either(value, absent), meaning }
}

/// The keys of one table of a file.
pub(crate) struct KeyTable {
    /// The title of its section.
    pub title: &'static str,
    /// Its path in the messages of the reader, such as `cell.load`.
    pub path: &'static str,
    /// A valid file with `@` where the keys of this table are.
    pub file: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// Reads a file's text. The value is shown with all its fields, so that two can be compared.
pub(crate) type Read = fn(&str) -> Result<String, Vec<Problem>>;

/// A page about one kind of file.
pub(crate) struct Page {
    /// The name of the page.
    pub name: &'static str,
    /// What precedes the tables.
    pub head: &'static str,
    /// The tables of the file.
    pub tables: &'static [KeyTable],
    /// Reads such a file.
    pub read: Read,
}

/// A name that is like no key and no word.
const ABSURD: &str = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";

impl KeyTable {
    /// Returns a file with the required keys of this table, except one, and with a further line.
    pub fn text(&self, without: &str, more: Option<&str>) -> String {
        let required = self.keys.iter().filter_map(|key| match key.otherwise {
            Otherwise::Required(value) | Otherwise::Either(value, _) if key.name != without => {
                Some(format!("{} = {value}", key.name))
            }
            _ => None,
        });
        let lines: Vec<String> = required.chain(more.map(str::to_owned)).collect();
        self.file.replace('@', &lines.join(if self.path.is_empty() { "\n" } else { ", " }))
    }

    /// Returns the problems of a file in which a key has a value.
    fn problems(&self, read: Read, key: &str, value: &str) -> Vec<Problem> {
        read(&self.text(key, Some(&format!("{key} = {value}")))).err().unwrap_or_default()
    }

    /// Returns the keys that the reader accepts here.
    pub fn accepted(&self, read: Read) -> BTreeSet<String> {
        let problems = self.problems(read, ABSURD, "1");
        let unknown = problems.iter().find(|problem| problem.message.contains(ABSURD));
        let hint = unknown.and_then(|problem| problem.hint.as_deref());
        let hint = hint.unwrap_or_else(|| panic!("{}: {problems:?}", self.title));
        names_in(hint.strip_prefix("known: ").expect("no key is similar"))
            .map(str::to_owned)
            .collect()
    }
}

/// Returns the names in a text such as `` `a`, `b` ``.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns which values a key takes, from what the reader reports about wrong ones.
pub(crate) fn value_of(table: &KeyTable, key: &str, read: Read) -> String {
    let path = match table.path {
        "" => format!("`{key}`"),
        path => format!("`{path}.{key}`"),
    };
    let of_date = table.problems(read, key, "1979-05-27");
    let wanted = of_date
        .iter()
        .find_map(|problem| {
            let wanted = problem.message.strip_prefix(&path)?.strip_prefix(" must be ")?;
            wanted.strip_suffix(", not datetime")
        })
        .unwrap_or_else(|| panic!("{path}: {of_date:?}"));
    let wanted = wanted.strip_prefix("a ").unwrap_or(wanted);
    if wanted.contains("number") && !wanted.starts_with("list") {
        let of_negative = table.problems(read, key, "-1");
        let range = of_negative.iter().find_map(|problem| {
            let range = problem.message.strip_prefix(&path)?.strip_prefix(" must be from ")?;
            Some(range.split(", not").next()?.to_owned())
        });
        let range = range.unwrap_or_else(|| panic!("{path}: {of_negative:?}"));
        let range = range.trim_end_matches(&format!(" to {}", u64::MAX)).to_owned();
        return format!("{wanted}, from {range}");
    }
    if wanted != "text in quotes" {
        return wanted.replace(", written [[", ", `[[").replace("]]", "]]`");
    }
    let of_word = table.problems(read, key, &format!("\"{ABSURD}\""));
    let words = of_word.iter().find_map(|problem| {
        let is_choice = ["unknown ", "cannot be `"].iter().any(|p| problem.message.contains(p));
        is_choice.then_some(problem.hint.as_deref()?.strip_prefix("known: ")?)
    });
    match words {
        Some(words) => words.to_owned(),
        None if of_word.iter().any(|p| p.message.contains("is not a duration")) => {
            "duration".to_owned()
        }
        None => "text".to_owned(),
    }
}

impl Page {
    /// Writes the page.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}\n\nA key that is not listed is an error, which names the nearest one. A duration \
             is a number with\n`ms`, `s`, `m` or `h`, such as `\"1m30s\"`. *Required* keys have no \
             default.\n",
            self.head
        );
        for table in self.tables {
            let _ = writeln!(
                text,
                "\n## {}\n\n| key | value | default | meaning |\n|---|---|---|---|",
                table.title
            );
            for key in table.keys {
                let value = value_of(table, key.name, self.read);
                let otherwise = match key.otherwise {
                    Otherwise::Required(_) => "*required*".to_owned(),
                    Otherwise::Default(default) => format!("`{default}`"),
                    Otherwise::Means(words) | Otherwise::Either(_, words) => words.to_owned(),
                };
                let _ =
                    writeln!(text, "| `{}` | {value} | {otherwise} | {} |", key.name, key.meaning);
            }
        }
        text
    }
}
