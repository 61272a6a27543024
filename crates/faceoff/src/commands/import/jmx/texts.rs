//! Texts of a plan, in which `${name}` is a variable and `${__name(...)}` a function.

use super::super::{Imported, Names, shortened};
use model::data::{Data, Values};
use model::template::{Part, Template};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

const DEEPEST: usize = 10;
/// More places than any plan has come of variables that hold each other many times.
const MOST_PLACES: usize = 100_000;

/// What texts may name.
pub struct Texts<'x> {
    /// Properties that were given.
    given: &'x BTreeMap<String, String>,
    /// Variables of the plan, as they are written.
    defined: BTreeMap<String, String>,
    /// What draws a value: columns, counters, random numbers.
    values: BTreeMap<String, String>,
    /// What has been taken from answers so far.
    captured: BTreeSet<String>,
    names: Names,
    /// Data that functions ask for.
    pub made: Vec<Data>,
    /// Properties that were not given.
    missing: BTreeMap<String, String>,
    /// How many places may still be filled.
    left: usize,
}

impl<'x> Texts<'x> {
    pub fn new(given: &'x BTreeMap<String, String>) -> Texts<'x> {
        Texts {
            given,
            defined: BTreeMap::new(),
            values: BTreeMap::new(),
            captured: BTreeSet::new(),
            names: Names::default(),
            made: Vec::new(),
            missing: BTreeMap::new(),
            left: MOST_PLACES,
        }
    }

    pub fn define(&mut self, name: &str, text: &str) {
        self.defined.insert(name.trim().to_owned(), text.to_owned());
    }

    /// A variable whose values are drawn.
    pub fn value(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// A variable that later steps may name.
    pub fn captured(&mut self, name: &str) {
        self.captured.insert(name.to_owned());
    }

    /// Forgets what was taken from answers: another group begins.
    pub fn forget(&mut self) {
        self.captured.clear();
    }

    /// Says what had to be assumed.
    pub fn said(&self, imported: &mut Imported) {
        for (name, text) in &self.missing {
            imported
                .taken
                .add(format!("the property {name}"), format!("it is not given: `{text}` is taken; --define {name}=VALUE gives it"));
        }
    }

    /// A text as a template.
    pub fn template(&mut self, text: &str, imported: &mut Imported) -> Template {
        let mut parts = Vec::new();
        self.read(text, 0, &mut parts, imported);
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            match (part, joined.last_mut()) {
                (Part::Text(text), Some(Part::Text(before))) => before.push_str(&text),
                (part, _) => joined.push(part),
            }
        }
        joined.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Template { parts: joined }
    }

    /// A text in which nothing varies; what does is said.
    pub fn fixed(&mut self, text: &str, imported: &mut Imported) -> Option<String> {
        let template = self.template(text, imported);
        let fixed = template.as_fixed().map(|text| text.trim().to_owned());
        if fixed.is_none() {
            imported.lost.add(format!("`{}`", shortened(text)), "it varies where a workload or a load needs a fixed text");
        }
        fixed
    }

    /// A number within bounds; `None` and said, where it is none. Nothing written is nothing said.
    pub fn number(&mut self, text: &str, what: &str, bounds: RangeInclusive<f64>, imported: &mut Imported) -> Option<f64> {
        let text = self.fixed(text, imported).filter(|text| !text.is_empty())?;
        let number = text.parse::<f64>().ok().filter(|n| bounds.contains(n));
        if number.is_none() {
            imported.lost.add(what, format!("`{}` is no number that can be taken", shortened(&text)));
        }
        number
    }

    fn read(&mut self, text: &str, depth: usize, parts: &mut Vec<Part>, imported: &mut Imported) {
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            parts.push(Part::Text(rest[..at].to_owned()));
            let inside = &rest[at + 2..];
            let Some(end) = closing(inside) else {
                rest = &rest[at..];
                break;
            };
            self.left = self.left.saturating_sub(1);
            match depth < DEEPEST && self.left > 0 {
                true => self.meaning(&inside[..end], depth, parts, imported),
                false => imported.lost.add(format!("`{}`", shortened(text)), "variables hold each other too often"),
            }
            rest = &inside[end + 1..];
        }
        parts.push(Part::Text(rest.to_owned()));
    }

    /// What stands between `${` and `}`.
    fn meaning(&mut self, inside: &str, depth: usize, parts: &mut Vec<Part>, imported: &mut Imported) {
        let inside = inside.trim();
        if let Some(function) = inside.strip_prefix("__") {
            return self.function(function, depth, parts, imported);
        }
        if self.captured.contains(inside) {
            parts.push(Part::Value(super::super::value_name(inside)));
        } else if let Some(value) = self.values.get(inside) {
            parts.push(Part::Value(value.clone()));
        } else if let Some(text) = self.defined.get(inside).cloned() {
            self.read(&text, depth + 1, parts, imported);
        } else {
            imported.lost.add(
                format!("`${{{}}}`", shortened(inside)),
                "nothing before it gives the value: it stands as it is written, as JMeter sends it",
            );
            parts.push(Part::Text(format!("${{{inside}}}")));
        }
    }

    fn function(&mut self, text: &str, depth: usize, parts: &mut Vec<Part>, imported: &mut Imported) {
        let (name, inside) = text.split_once('(').map_or((text, ""), |(name, rest)| (name, rest.strip_suffix(')').unwrap_or(rest)));
        let mut arguments = Vec::new();
        for argument in split(inside) {
            let mut inner = Vec::new();
            self.read(&argument, depth + 1, &mut inner, imported);
            arguments.push(Template { parts: inner }.to_string());
        }
        let argument = |n: usize| arguments.get(n).map(|text| text.trim()).unwrap_or_default();
        let whole = |n: usize| argument(n).parse::<u64>().ok().filter(|n| *n <= 1 << 50);
        match name.trim() {
            "P" | "property" => {
                let place = if name.trim() == "P" { 1 } else { 2 };
                let usual = match (argument(place), place) {
                    ("", 1) => "1",
                    ("", _) => argument(0),
                    (usual, _) => usual,
                };
                let text = self.given.get(argument(0)).cloned().unwrap_or_else(|| {
                    self.missing.insert(argument(0).to_owned(), usual.to_owned());
                    usual.to_owned()
                });
                parts.push(Part::Text(text));
            }
            "Random" => match (whole(0), whole(1)) {
                (Some(from), Some(to)) if from <= to => self.make("random", Values::Number { from, to }, parts),
                _ => imported.lost.add(format!("`__{}`", shortened(text)), "its bounds are no whole numbers from 0"),
            },
            "RandomString" => match whole(0).filter(|size| *size <= 1 << 20) {
                Some(size) => {
                    self.make("text", Values::Text(size as usize), parts);
                    if !argument(1).is_empty() {
                        imported
                            .taken
                            .add(format!("`__{}`", shortened(text)), "letters and digits at random, not only those that it names");
                    }
                }
                None => imported.lost.add(format!("`__{}`", shortened(text)), "its length is no number"),
            },
            "UUID" => {
                self.make("uuid", Values::Text(32), parts);
                imported.taken.add("`__UUID`", "32 letters and digits at random stand in its place");
            }
            "counter" => self.make("counter", Values::Counter { from: 1, step: 1 }, parts),
            "threadNum" => {
                parts.push(Part::Value("user".into()));
                imported.taken.add("`__threadNum`", "users count from 0, JMeter's threads from 1");
            }
            "iterationNum" => {
                parts.push(Part::Value("round".into()));
                imported.taken.add("`__iterationNum`", "rounds count from 0, JMeter's iterations from 1");
            }
            _ => imported.lost.add(format!("`__{}`", shortened(text)), "the function is not known, and leaves nothing"),
        }
    }

    fn make(&mut self, wish: &str, values: Values, parts: &mut Vec<Part>) {
        let name = self.names.new_name(&format!("fn-{wish}"));
        parts.push(Part::Value(name.clone()));
        self.made.push(Data { name, values });
    }
}

/// Where the `}` stands that ends what begins here.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Arguments between commas; those in brackets and behind `\` separate nothing.
fn split(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut depth = 0usize;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                if let Some(last) = all.last_mut() {
                    last.extend(next.filter(|c| ",\\$".contains(*c)).map_or(vec!['\\'], |c| vec![c]));
                    last.extend(next.filter(|c| !",\\$".contains(*c)));
                }
                continue;
            }
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all
}
