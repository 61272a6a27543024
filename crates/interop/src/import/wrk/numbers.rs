//! Numbers of a script: constants, counters, random numbers, and arithmetic on them.
//!
//! A counter with a remainder repeats after some requests. Its values are then written as a table,
//! which gives exactly the requests that wrk would send. Start with [`Num`].

use super::super::lua::Token::{Name, Number, Symbol, Text};
use super::{DEEPEST, Script, value_of};
use spec::data::{Data, Values};
use spec::template::{self, Template};
use std::ops::Range;

/// The most values of a number before it repeats.
const MOST_VALUES: u64 = 100_000;
/// Whole numbers up to this are written without an exponent.
const WHOLE: f64 = 1e14;

/// A number, as a script computes it.
#[derive(Clone, Debug)]
pub enum Num {
    Const(f64),
    /// The value in the first request, and the difference from one request to the next.
    Counter {
        name: String,
        first: f64,
        step: f64,
    },
    /// Both bounds are included. The word at this place draws it.
    Random {
        from: f64,
        to: f64,
        at: usize,
    },
    Reckoned(Box<Num>, char, Box<Num>),
}

/// `factor * variable + rest`
struct Linear {
    variable: Option<Num>,
    factor: f64,
    rest: f64,
}

fn reckon(left: f64, sign: char, right: f64) -> Option<f64> {
    match sign {
        '+' => Some(left + right),
        '-' => Some(left - right),
        '*' => Some(left * right),
        '/' => (right != 0.0).then(|| left / right),
        _ => (right != 0.0).then(|| left - (left / right).floor() * right),
    }
}

impl Num {
    /// Returns its value in a request, counted from 0.
    fn at(&self, request: u64) -> Option<f64> {
        match self {
            Num::Const(number) => Some(*number),
            Num::Counter { first, step, .. } => Some(first + step * request as f64),
            Num::Random { .. } => None,
            Num::Reckoned(left, sign, right) => {
                reckon(left.at(request)?, *sign, right.at(request)?)
            }
        }
    }

    fn linear(&self) -> Option<Linear> {
        match self {
            Num::Const(number) => Some(Linear { variable: None, factor: 0.0, rest: *number }),
            Num::Counter { .. } | Num::Random { .. } => {
                Some(Linear { variable: Some(self.clone()), factor: 1.0, rest: 0.0 })
            }
            Num::Reckoned(left, sign, right) => {
                let (left, right) = (left.linear()?, right.linear()?);
                match (sign, &left.variable, &right.variable) {
                    (_, None, None) | ('+' | '-', _, None) => {
                        Some(Linear { rest: reckon(left.rest, *sign, right.rest)?, ..left })
                    }
                    ('+', None, _) => Some(Linear { rest: left.rest + right.rest, ..right }),
                    ('*', _, None) => Some(Linear {
                        factor: left.factor * right.rest,
                        rest: left.rest * right.rest,
                        ..left
                    }),
                    ('*', None, _) => Some(Linear {
                        factor: left.rest * right.factor,
                        rest: left.rest * right.rest,
                        ..right
                    }),
                    _ => None,
                }
            }
        }
    }

    /// Returns after how many requests it repeats, if it varies only in remainders.
    fn period(&self) -> Option<u64> {
        match self {
            Num::Const(_) => Some(1),
            Num::Counter { .. } | Num::Random { .. } => None,
            Num::Reckoned(left, '%', right) => {
                let (left, right) = (left.linear()?, right.linear()?);
                let whole = |number: f64| {
                    Some(number as u64)
                        .filter(|_| number.fract() == 0.0 && (0.0..=1e12).contains(&number))
                };
                let modulus =
                    whole(right.rest).filter(|modulus| *modulus > 0 && right.variable.is_none())?;
                let Some(Num::Counter { step, .. }) = left.variable else {
                    return left.variable.is_none().then_some(1);
                };
                Some(modulus / common(whole(left.factor * step)? % modulus, modulus))
            }
            Num::Reckoned(left, _, right) => {
                let (left, right) = (left.period()?, right.period()?);
                (left / common(left, right)).checked_mul(right)
            }
        }
        .filter(|period| *period <= MOST_VALUES)
    }
}

fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Writes a number as Lua does; `None` for one that is not whole.
fn shown(number: f64) -> Option<String> {
    (number.fract() == 0.0 && number.abs() < WHOLE).then(|| format!("{number}"))
}

impl Script<'_> {
    /// Reads the number at a place, and where its expression ends.
    pub fn number(&mut self, at: usize, depth: usize) -> Option<(Num, usize)> {
        let (mut number, mut at) = self.product(at, depth)?;
        while let Some(Symbol(sign @ ("+" | "-"))) = self.tokens.get(at) {
            let (right, end) = self.product(at + 1, depth)?;
            number = Num::Reckoned(
                Box::new(number),
                if *sign == "+" { '+' } else { '-' },
                Box::new(right),
            );
            at = end;
        }
        Some((number, at))
    }

    fn product(&mut self, at: usize, depth: usize) -> Option<(Num, usize)> {
        let (mut number, mut at) = self.primary(at, depth)?;
        while let Some(Symbol(sign @ ("*" | "/" | "%"))) = self.tokens.get(at) {
            let (right, end) = self.primary(at + 1, depth)?;
            number = Num::Reckoned(Box::new(number), sign.chars().next()?, Box::new(right));
            at = end;
        }
        Some((number, at))
    }

    fn primary(&mut self, at: usize, depth: usize) -> Option<(Num, usize)> {
        if depth > DEEPEST {
            return None;
        }
        match self.tokens.get(at)? {
            Number(number) => Some((Num::Const(*number), at + 1)),
            Symbol("-") => {
                let (number, end) = self.primary(at + 1, depth + 1)?;
                Some((Num::Reckoned(Box::new(Num::Const(0.0)), '-', Box::new(number)), end))
            }
            Symbol("(") => {
                let (number, end) = self.number(at + 1, depth + 1)?;
                self.is(end, ")").then_some((number, end + 1))
            }
            Symbol("#") => {
                let (name, end) = self.place(at + 1)?;
                Some((Num::Const(self.list(&name)?.len() as f64), end))
            }
            Name(word) if word == "math" && self.is(at + 1, ".") && self.is(at + 2, "random") => {
                self.random(at, depth)
            }
            Name(word) if word == "tonumber" || word == "tostring" => {
                let (number, end) = self
                    .number(at + 2, depth + 1)
                    .filter(|(_, end)| self.is(at + 1, "(") && self.is(*end, ")"))?;
                Some((number, end + 1))
            }
            Name(_) => {
                let (name, end) = self.place(at)?;
                Some((self.number_of(&name, at, depth)?, end))
            }
            _ => None,
        }
    }

    /// Returns the number that a name has at the place where it is used.
    fn number_of(&mut self, name: &str, used: usize, depth: usize) -> Option<Num> {
        let places = self.assigned.get(name)?.clone();
        let mut counts = Vec::new();
        let mut begins = Vec::new();
        for place in places {
            match self.place(place) {
                Some((own, end)) if own == name && self.is(end, "+") => {
                    let (step, end) = self.product(end + 1, depth + 1)?;
                    counts.push((
                        place,
                        step.at(0).filter(|_| !self.goes_on(end) && step.period() == Some(1))?,
                    ));
                }
                _ => {
                    let (number, end) = self.number(place, depth + 1)?;
                    begins.push((place, number, end));
                }
            }
        }
        match (begins.as_slice(), counts.as_slice()) {
            ([(_, number, end)], []) => (!self.goes_on(*end)).then(|| number.clone()),
            (all, [(counted, step)]) => {
                let function = self.function_around(*counted)?;
                let begun = all.iter().map(|(place, number, end)| {
                    let outside = !function.contains(place) && !self.goes_on(*end);
                    number.at(0).filter(|_| outside && number.period() == Some(1))
                });
                let begun: Vec<f64> = begun.collect::<Option<_>>()?;
                let first =
                    begun.first().filter(|first| begun.iter().all(|other| other == *first))?;
                // Whether it is counted each time the function runs, before or after the place of
                // use.
                let is_sure =
                    function.contains(&used) && self.is_straight(function.start, *counted);
                let first = if *counted < used { first + step } else { *first };
                (is_sure && *step >= 1.0).then(|| Num::Counter {
                    name: name.to_owned(),
                    first,
                    step: *step,
                })
            }
            _ => None,
        }
    }

    /// Returns the function of a script around a place: `request`, `setup` and others.
    fn function_around(&self, at: usize) -> Option<Range<usize>> {
        let begins = (0..at).rev().filter(|begin| self.is(*begin, "function"));
        begins.map(|begin| begin..self.end_of(begin)).find(|function| function.contains(&at))
    }

    /// Returns whether a place of a function is outside any branch and loop.
    fn is_straight(&self, from: usize, at: usize) -> bool {
        let opens = |word: &usize| {
            ["if", "do", "repeat", "function"].iter().any(|opener| self.is(*word, opener))
        };
        !(from + 1..at).filter(opens).any(|open| self.end_of(open) > at)
    }

    /// Reads `math.random(6)` or `math.random(1, 6)`.
    fn random(&mut self, at: usize, depth: usize) -> Option<(Num, usize)> {
        let (first, end) = self.number(at + 4, depth + 1).filter(|_| self.is(at + 3, "("))?;
        let (second, end) = match self.is(end, ",") {
            true => self.number(end + 1, depth + 1).map(|(second, end)| (Some(second), end))?,
            false => (None, end),
        };
        let fixed = |number: &Num| {
            number.linear().filter(|linear| linear.variable.is_none()).map(|linear| linear.rest)
        };
        let first = fixed(&first)?;
        let (from, to) = match second {
            Some(second) => (first, fixed(&second)?),
            None => (1.0, first),
        };
        let sound = self.is(end, ")")
            && from <= to
            && [from, to].iter().all(|bound| bound.fract() == 0.0 && bound.abs() <= 1e15);
        sound.then_some((Num::Random { from, to, at }, end + 1))
    }

    /// Returns the texts of a list with a name, such as `{ "a", 7 }`.
    fn list(&self, name: &str) -> Option<Vec<String>> {
        let [place] = self.assigned.get(name)?.as_slice() else { return None };
        let mut at = place + 1;
        let mut all = Vec::new();
        while self.is(*place, "{") && !self.is(at, "}") {
            all.push(match self.tokens.get(at)? {
                Text(text) => text.clone(),
                Number(number) => shown(*number)?,
                _ => return None,
            });
            at += 1;
            match self.is(at, ",") || self.is(at, ";") {
                true => at += 1,
                false if self.is(at, "}") => {}
                false => return None,
            }
        }
        (!all.is_empty()).then_some(all)
    }

    /// Reads one item of a list: `ids[math.random(#ids)]`, `ids[n % #ids + 1]`.
    pub fn one_of_list(&mut self, at: usize, depth: usize) -> Option<(Template, usize)> {
        let name = self.name(at)?.to_owned();
        let texts = self.list(&name).filter(|_| self.is(at + 1, "["))?;
        let (index, end) = self.number(at + 2, depth + 1).filter(|(_, end)| self.is(*end, "]"))?;
        let text = |number: f64| texts.get((number as usize).checked_sub(1)?).cloned();
        let template = match &index {
            Num::Random { from, to, at } => {
                let all: Option<Vec<String>> = (*from as u64..=*to as u64)
                    .take(texts.len() + 1)
                    .map(|n| text(n as f64))
                    .collect();
                Some(self.drawn(*at, &name, Values::Choice(all?)))
            }
            index => {
                let all: Option<Vec<String>> =
                    (0..index.period()?).map(|n| text(index.at(n)?)).collect();
                self.in_turn(format!("{name}[{index:?}]"), &name, all?)
            }
        };
        Some((template?, end + 1))
    }

    /// Writes a number as a text: fixed, counted, drawn, or one value after the other.
    pub fn number_text(&mut self, number: &Num) -> Option<Template> {
        if let Some(Linear { variable, factor, rest }) = number.linear() {
            match variable {
                None => return shown(rest).map(Template::fixed),
                Some(Num::Counter { name, first, step }) => {
                    let (from, step) = (first * factor + rest, step * factor);
                    let sound = from >= 0.0
                        && step >= 1.0
                        && [from, step].iter().all(|n| n.fract() == 0.0 && *n < 4e9);
                    let values = Values::Counter { from: from as u64, step: step as u64 };
                    return sound
                        .then(|| self.draw(format!("{name} {from} {step}"), &name, values));
                }
                Some(Num::Random { from, to, at })
                    if factor == 1.0 && from + rest >= 0.0 && rest.fract() == 0.0 =>
                {
                    return Some(self.drawn(
                        at,
                        "random",
                        Values::Number { from: (from + rest) as u64, to: (to + rest) as u64 },
                    ));
                }
                Some(_) => return None,
            }
        }
        let all: Option<Vec<String>> =
            (0..number.period()?).map(|n| shown(number.at(n)?)).collect();
        self.in_turn(format!("{number:?}"), "number", all?)
    }

    /// Makes values that are used one after the other, and then again from the first.
    fn in_turn(&mut self, key: String, wish: &str, texts: Vec<String>) -> Option<Template> {
        if let [only] = texts.as_slice() {
            return Some(Template::fixed(only.as_str()));
        }
        if let Some(made) = self.drawn.get(&key) {
            return Some(value_of(&format!("{made}.value")));
        }
        let name = self.names.new_name(wish);
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["value"]).ok()?;
        texts.iter().try_for_each(|text| writer.write_record([text])).ok()?;
        self.tables.insert(name.clone(), String::from_utf8(writer.into_inner().ok()?).ok()?);
        let rows = texts.into_iter().map(|text| vec![text]).collect();
        self.data.push(Data {
            name: name.clone(),
            values: Values::Rows { columns: vec!["value".into()], rows, at_random: false },
        });
        self.drawn.insert(key, name.clone());
        Some(Template { parts: vec![template::Part::Value(format!("{name}.value"))] })
    }

    /// Returns what `thread:set("name", ...)` gives to the first thread.
    pub fn of_thread(&mut self, name: &str) -> Option<Template> {
        let set = (0..self.tokens.len()).find(|at| {
            let is_name = matches!(self.tokens.get(at + 3), Some(Text(text)) if text == name);
            self.is(*at, ":")
                && self.is(at + 1, "set")
                && self.is(at + 2, "(")
                && is_name
                && self.is(at + 4, ",")
        })?;
        let text = match self.number(set + 5, 0).filter(|(_, end)| self.is(*end, ")")) {
            Some((number, _)) => shown(number.at(0)?)?,
            None => self
                .text(set + 5, 0)
                .filter(|(_, end)| self.is(*end, ")"))?
                .0
                .as_fixed()?
                .to_owned(),
        };
        self.of_threads.push((name.to_owned(), text.clone()));
        Some(Template::fixed(text))
    }
}
