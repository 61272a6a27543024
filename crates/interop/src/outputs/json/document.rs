//! A JSON document while it is read: each number is used, kept, or noted with its path.
//!
//! [`Reading`] remembers which values were requested. [`Reading::close`] notes the others, so that
//! none is silently unused.

use crate::outputs::{run::Run, run::Slot, run::is_digit, run::place, run::shortened};
use serde_json::Value;
use spec::article::{Figure, Row};
use spec::units::show_number;
use std::cell::RefCell;
use std::collections::HashSet;

/// The most unknown paths that a note shows.
const PATHS_SHOWN: usize = 3;
/// The maximum depth of a path.
const DEEPEST: usize = 64;

/// What was read of a document so far.
#[derive(Default)]
pub struct Reading {
    used: RefCell<HashSet<*const Value>>,
    bad: RefCell<Vec<(*const Value, &'static str)>>,
}

impl Reading {
    /// Reads a number, times a scale. Older versions of Gatling write it as a text.
    pub fn number(&self, value: &Value, scale: f64) -> Option<f64> {
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
        let good = number.filter(|v| (0.0..=1e30).contains(&(v * scale)));
        if !value.is_null() && value.as_str() != Some("-") {
            self.used.borrow_mut().insert(value);
            if good.is_none() {
                self.bad.borrow_mut().push((value, "a number"));
            }
        }
        good
    }

    pub fn count(&self, value: &Value) -> Option<Figure> {
        self.number(value, 1.0).map(|v| Figure::number(v, 1.0, show_number(v)))
    }

    /// Reads a time whose unit is this many seconds.
    pub fn time(&self, value: &Value, scale: f64) -> Option<Figure> {
        self.number(value, scale)
            .map(|v| Figure::number(v, scale, format!("{} ms", show_number(v * scale * 1e3))))
    }

    pub fn seconds(&self, value: &Value, scale: f64) -> Option<Figure> {
        self.number(value, scale)
            .map(|v| Figure::number(v, scale, format!("{} s", show_number(v * scale))))
    }

    pub fn bytes(&self, value: &Value, scale: f64) -> Option<Figure> {
        self.number(value, scale)
            .map(|v| Figure::number(v, scale, format!("{} KB", show_number(v * scale / 1024.0))))
    }

    pub fn share(&self, value: &Value, scale: f64) -> Option<Figure> {
        self.number(value, scale)
            .map(|v| Figure::number(v, scale, format!("{} %", show_number(v * scale * 100.0))))
    }

    /// Reads a figure that is written as a text, with its unit.
    pub fn text(
        &self,
        value: &Value,
        read: fn(&str) -> Result<Figure, String>,
        what: &'static str,
    ) -> Option<Figure> {
        let figure = value.as_str().and_then(|text| read(text).ok());
        if !value.is_null() {
            self.used.borrow_mut().insert(value);
            if figure.is_none() {
                self.bad.borrow_mut().push((value, what));
            }
        }
        figure
    }

    /// Reads a number of connections, users or requests.
    pub fn places(&self, value: &Value) -> Option<u64> {
        self.number(value, 1.0).map(|v| v as u64).filter(|n| (1..=1_000_000_000).contains(n))
    }

    /// Reads times of an object that are named by their percentage, which `named` reads. Other
    /// names are left for [`Reading::close`].
    pub fn quantiles_by_name(
        &self,
        row: &mut Row,
        object: &Value,
        named: impl Fn(&str) -> Option<f64>,
        scale: f64,
    ) {
        for (key, value) in object.as_object().into_iter().flatten() {
            let Some(percent) = named(key) else { continue };
            self.quantiles(row, [(Some(percent), self.time(value, scale))]);
        }
    }

    /// Reads times with their percentages.
    pub fn quantiles(
        &self,
        row: &mut Row,
        named: impl IntoIterator<Item = (Option<f64>, Option<Figure>)>,
    ) {
        for (percent, figure) in named {
            if let (Some(percent), Some(figure)) = (percent, figure) {
                place(row, Slot::Quantile(percent), figure);
            }
        }
    }

    /// Notes what could not be read and what is unknown; keeps what is known but not used.
    pub fn close(&self, document: &Value, asides: &[&str], run: &mut Run) {
        let mut unread = Vec::new();
        self.walk(document, &mut String::new(), asides, run, &mut unread, 0);
        let shown = unread
            .iter()
            .take(PATHS_SHOWN)
            .map(|path| format!("`{}`", shortened(path)))
            .collect::<Vec<_>>()
            .join(", ");
        match unread.len() {
            0 => {}
            1 => run.notes.push(format!("a figure is not known and not read: {shown}")),
            n if n > PATHS_SHOWN => run
                .notes
                .push(format!("{n} figures are not known and not read: {shown}, and others")),
            n => run.notes.push(format!("{n} figures are not known and not read: {shown}")),
        }
    }

    fn walk(
        &self,
        value: &Value,
        path: &mut String,
        asides: &[&str],
        run: &mut Run,
        unread: &mut Vec<String>,
        depth: usize,
    ) {
        if let Some((_, what)) = self.bad.borrow().iter().find(|(bad, _)| std::ptr::eq(*bad, value))
        {
            run.notes.push(format!(
                "`{path}` is not read: `{}` is not {what}",
                shortened(&value.to_string())
            ));
        }
        if self.used.borrow().contains(&std::ptr::from_ref(value)) {
            return;
        }
        if depth > DEEPEST || is_aside(path, asides) {
            if !value.is_null() {
                run.row.other.push((path.clone(), value.to_string()));
            }
            return;
        }
        let mut below = |name: &str, value: &Value, path: &mut String, run: &mut Run| {
            let length = path.len();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            self.walk(value, path, asides, run, unread, depth + 1);
            path.truncate(length);
        };
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| below(name, value, path, run))
            }
            Value::Array(values) => values
                .iter()
                .enumerate()
                .for_each(|(at, value)| below(&at.to_string(), value, path, run)),
            Value::Number(number) => unread.push(format!("{path}: {number}")),
            Value::String(text) if text.contains(is_digit) => {
                run.row.other.push((path.clone(), text.clone()))
            }
            _ => {}
        }
    }
}

/// Returns whether a path is one of these, or below one; `*` matches any end of a name.
fn is_aside(path: &str, asides: &[&str]) -> bool {
    let fits = |wanted: &str, name: &str| {
        wanted.strip_suffix('*').map_or(wanted == name, |begin| name.starts_with(begin))
    };
    asides.iter().any(|aside| {
        let mut names = path.split('.');
        !path.is_empty()
            && aside.split('.').all(|wanted| names.next().is_some_and(|name| fits(wanted, name)))
    })
}
