//! Reads texts of a plan: `${name}` is a variable and `${__name(...)}` a function.
//!
//! Variables may contain variables, so replacement is limited in depth and number. A text becomes a
//! template of a workload. Start with [`Texts::template`].

use super::super::{Imported, Names, shortened, value_name};
use spec::data::{Data, Values};
use spec::template::{Part, Template};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

const DEEPEST: usize = 10;
/// The most replacements in a plan, whose variables may contain each other many times.
const MOST_PLACES: usize = 100_000;

/// The names that texts may use.
pub struct Texts<'x> {
    /// Properties from the command line.
    given: &'x BTreeMap<String, String>,
    /// Variables of the plan, as they are written.
    defined: BTreeMap<String, String>,
    /// Drawn values by variable: columns, counters, random numbers.
    values: BTreeMap<String, String>,
    /// Variables that responses have set so far.
    captured: BTreeSet<String>,
    names: Names,
    /// Data that functions need.
    pub made: Vec<Data>,
    /// Properties that the command line does not set.
    missing: BTreeMap<String, String>,
    /// How many replacements may still be made.
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

    /// Defines a variable whose values are drawn.
    pub fn value(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Defines a variable that a response sets, for later steps.
    pub fn captured(&mut self, name: &str) {
        self.captured.insert(name.to_owned());
    }

    /// Forgets what responses have set, because another group begins.
    pub fn forget(&mut self) {
        self.captured.clear();
    }

    /// Notes what had to be assumed.
    pub fn note_missing(&self, imported: &mut Imported) {
        for (name, text) in &self.missing {
            imported.taken.add(
                format!("the property {name}"),
                format!("it is not set: `{text}` is used; set it with --define {name}=VALUE"),
            );
        }
    }

    /// Reads a text as a template.
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

    /// Reads a text that must not vary, and notes one that does.
    pub fn fixed(&mut self, text: &str, imported: &mut Imported) -> Option<String> {
        let template = self.template(text, imported);
        let fixed = template.as_fixed().map(|text| text.trim().to_owned());
        if fixed.is_none() {
            imported.lost.add(
                format!("`{}`", shortened(text)),
                "it varies where a workload or a load needs a fixed text",
            );
        }
        fixed
    }

    /// Reads a number within bounds; `None` for an empty text. Any other text is noted, and `None`
    /// too.
    pub fn number(
        &mut self,
        text: &str,
        what: &str,
        bounds: RangeInclusive<f64>,
        imported: &mut Imported,
    ) -> Option<f64> {
        let text = self.fixed(text, imported).filter(|text| !text.is_empty())?;
        let number = text.parse::<f64>().ok().filter(|n| bounds.contains(n));
        if number.is_none() {
            imported
                .lost
                .add(what, format!("`{}` is not a number within its limits", shortened(&text)));
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
                false => imported.lost.add(
                    format!("`{}`", shortened(text)),
                    "variables contain each other too often",
                ),
            }
            rest = &inside[end + 1..];
        }
        parts.push(Part::Text(rest.to_owned()));
    }

    /// Reads what is between `${` and `}`.
    fn meaning(
        &mut self,
        inside: &str,
        depth: usize,
        parts: &mut Vec<Part>,
        imported: &mut Imported,
    ) {
        let inside = inside.trim();
        if let Some(function) = inside.strip_prefix("__") {
            return self.function(function, depth, parts, imported);
        }
        if self.captured.contains(inside) {
            parts.push(Part::Value(value_name(inside)));
        } else if let Some(value) = self.values.get(inside) {
            parts.push(Part::Value(value.clone()));
        } else if let Some(text) = self.defined.get(inside).cloned() {
            self.read(&text, depth + 1, parts, imported);
        } else {
            imported.lost.add(
                format!("`${{{}}}`", shortened(inside)),
                "nothing before it sets the value: it is sent as it is written, as in JMeter",
            );
            parts.push(Part::Text(format!("${{{inside}}}")));
        }
    }

    fn function(
        &mut self,
        text: &str,
        depth: usize,
        parts: &mut Vec<Part>,
        imported: &mut Imported,
    ) {
        let (name, inside) = text
            .split_once('(')
            .map_or((text, ""), |(name, rest)| (name, rest.strip_suffix(')').unwrap_or(rest)));
        let mut arguments = Vec::new();
        for argument in split(inside) {
            let mut inner = Vec::new();
            self.read(&argument, depth + 1, &mut inner, imported);
            arguments.push(Template { parts: inner }.to_string());
        }
        let argument = |n: usize| arguments.get(n).map(|text| text.trim()).unwrap_or_default();
        let whole = |n: usize| argument(n).parse::<u64>().ok().filter(|n| *n <= 1 << 50);
        match name.trim() {
            "P" => self.given_property(argument(0), argument(1), "1", parts),
            "property" => self.given_property(argument(0), argument(2), argument(0), parts),
            "Random" => match (whole(0), whole(1)) {
                (Some(from), Some(to)) if from <= to => {
                    self.make("random", Values::Number { from, to }, parts)
                }
                _ => imported.lost.add(
                    format!("`__{}`", shortened(text)),
                    "its bounds are not whole numbers from 0",
                ),
            },
            "RandomString" => match whole(0).filter(|size| *size <= 1 << 20) {
                Some(size) => {
                    self.make("text", Values::Text(size as usize), parts);
                    if !argument(1).is_empty() {
                        imported.taken.add(
                            format!("`__{}`", shortened(text)),
                            "letters and digits at random, not only those that it names",
                        );
                    }
                }
                None => imported
                    .lost
                    .add(format!("`__{}`", shortened(text)), "its length is not a number"),
            },
            "UUID" => {
                self.make("uuid", Values::Text(32), parts);
                imported.taken.add("`__UUID`", "it is replaced with 32 random letters and digits");
            }
            "counter" => self.make("counter", Values::Counter { from: 1, step: 1 }, parts),
            "threadNum" => {
                parts.push(Part::Value("user".into()));
                imported.taken.add("`__threadNum`", "users count from 0, JMeter's threads from 1");
            }
            "iterationNum" => {
                parts.push(Part::Value("round".into()));
                imported
                    .taken
                    .add("`__iterationNum`", "rounds count from 0, JMeter's iterations from 1");
            }
            _ => imported.lost.add(
                format!("`__{}`", shortened(text)),
                "the function is unknown, and is replaced with nothing",
            ),
        }
    }

    /// Adds the value of a property: the one given, the default of the call, or else `otherwise`.
    fn given_property(
        &mut self,
        name: &str,
        default: &str,
        otherwise: &str,
        parts: &mut Vec<Part>,
    ) {
        let usual = if default.is_empty() { otherwise } else { default };
        let text = self.given.get(name).cloned().unwrap_or_else(|| {
            self.missing.insert(name.to_owned(), usual.to_owned());
            usual.to_owned()
        });
        parts.push(Part::Text(text));
    }

    fn make(&mut self, wish: &str, values: Values, parts: &mut Vec<Part>) {
        let name = self.names.new_name(&format!("fn-{wish}"));
        parts.push(Part::Value(name.clone()));
        self.made.push(Data { name, values });
    }
}

/// Returns the position of the closing `}`.
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

/// Splits arguments at commas, except those in brackets and after `\`.
fn split(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut depth = 0usize;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                if let Some(last) = all.last_mut() {
                    last.extend(
                        next.filter(|c| ",\\$".contains(*c)).map_or(vec!['\\'], |c| vec![c]),
                    );
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
