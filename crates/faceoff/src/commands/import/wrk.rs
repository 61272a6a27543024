//! Scripts of wrk and wrk2, as far as they say what is sent: fixed texts, counters, random numbers, pipelines, pauses.

use super::lua::Token::{self, Name, Number, Symbol, Text};
use super::lua::tokens;
use super::{Imported, Names, Notes, Part, add_header, path, shortened, split_url};
use model::data::{Data, Values};
use model::experiment::{Load, Pause};
use model::problem::Problems;
use model::template::{self, Template};
use model::workload::{Body, Statuses, Step, is_method};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// wrk's own, where it is not told.
const CONNECTIONS: u32 = 10;
const DEEPEST: usize = 20;
const MOST_DEPTH: f64 = 10_000.0;

/// Reads a script.
pub fn import(text: &str, defined: &BTreeMap<String, String>) -> Result<Imported, Problems> {
    let tokens = tokens(text);
    let mut script = Script {
        tokens: &tokens,
        defined,
        assigned: BTreeMap::new(),
        data: Vec::new(),
        drawn: BTreeMap::new(),
        names: Names::default(),
        server: None,
    };
    script.collect();
    let mut imported = Imported::default();
    let Imported { lost, taken, .. } = &mut imported;
    let calls = script.calls(lost);
    let pipelined = script.has(&["table", ".", "concat"]);
    let requests: f64 = calls.iter().map(|call| call.times).sum();
    let mut steps: Vec<Step> = calls.iter().filter_map(|call| script.step(Some(call), lost)).collect();
    if calls.is_empty() {
        steps.extend(script.step(None, lost));
    }
    if steps.is_empty() {
        return Err(Problems::plain("what the script sends is not understood", "write it as a workload; see workloads/README.md"));
    }
    let all_alike = steps.windows(2).all(|pair| format!("{:?}", pair[0]) == format!("{:?}", pair[1]));
    if all_alike {
        steps.truncate(1);
    } else {
        taken.add("the order", "the requests are made in the order of the script, again and again");
    }
    let depth = if pipelined && requests >= 1.0 { requests.min(MOST_DEPTH) as u32 } else { 1 };
    let load = match script.pause(lost) {
        None => Load::Closed { connections: CONNECTIONS, depth },
        Some(pause) => Load::Users { users: CONNECTIONS, ramp: Duration::ZERO, pause, rounds: None, pooled: None },
    };
    taken.add(
        "the load",
        format!("a script says none: {CONNECTIONS} connections are what wrk has by itself; -t, -c, -d and -R stand on its command line"),
    );
    script.said(lost);
    let mut part = Part::new(steps, load);
    part.workload.summary = "what a script of wrk asks".into();
    part.workload.data = script.data;
    part.server = script.server;
    imported.parts.push(part);
    Ok(imported)
}

struct Script<'t> {
    tokens: &'t [Token],
    defined: &'t BTreeMap<String, String>,
    /// Where the values of names begin: `wrk.body`, `wrk.headers.accept`, `counter`.
    assigned: BTreeMap<String, Vec<usize>>,
    data: Vec<Data>,
    /// Values that were made already, by the token that asked for them.
    drawn: BTreeMap<String, String>,
    names: Names,
    server: Option<String>,
}

/// A call of `wrk.format`.
struct Call {
    /// Behind the bracket.
    at: usize,
    /// How often a loop around it makes it.
    times: f64,
}

impl Script<'_> {
    fn is(&self, at: usize, word: &str) -> bool {
        match self.tokens.get(at) {
            Some(Name(name)) => name == word,
            Some(Symbol(symbol)) => *symbol == word,
            _ => false,
        }
    }

    fn has(&self, words: &[&str]) -> bool {
        (0..self.tokens.len()).any(|at| words.iter().enumerate().all(|(n, word)| self.is(at + n, word)))
    }

    fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Name(name)) => Some(name),
            _ => None,
        }
    }

    /// The name that begins here, with its fields, and where it ends: `wrk.headers["Accept"]` is `wrk.headers.accept`.
    fn place(&self, at: usize) -> Option<(String, usize)> {
        let mut name = self.name(at)?.to_owned();
        let mut at = at + 1;
        loop {
            match (self.tokens.get(at), self.tokens.get(at + 1)) {
                (Some(Symbol(".")), Some(Name(field))) => {
                    name += &format!(".{field}");
                    at += 2;
                }
                (Some(Symbol("[")), Some(Text(field))) if self.is(at + 2, "]") => {
                    name += &format!(".{field}");
                    at += 3;
                }
                (Some(Symbol("[")), Some(Number(field))) if self.is(at + 2, "]") => {
                    name += &format!("[{field}]");
                    at += 3;
                }
                _ => return Some((name, at)),
            }
        }
    }

    /// Notes where each name gets its values.
    fn collect(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            // Fields of a table literal are none of these: they stand behind `{` or `,`.
            let in_table = at > 0 && (self.is(at - 1, "{") || self.is(at - 1, ","));
            match self.place(at) {
                Some((name, end)) if self.is(end, "=") && !in_table => {
                    self.assigned.entry(name).or_default().push(end + 1);
                    at = end + 1;
                }
                Some((_, end)) => at = end,
                None => at += 1,
            }
        }
    }

    /// What stands at a place as a text, and where it ends; `None` where it is not understood.
    fn text(&mut self, at: usize, depth: usize) -> Option<(Template, usize)> {
        let (mut template, mut at) = self.term(at, depth)?;
        while self.is(at, "..") {
            let (more, end) = self.term(at + 1, depth)?;
            template.parts.extend(more.parts);
            at = end;
        }
        // Anything that goes on as an expression would change it.
        let goes_on = ["+", "-", "*", "/", "%", "^", "//", "(", "==", "<", ">", "~=", "and", "or", "[", ".", ":"];
        (!goes_on.iter().any(|word| self.is(at, word))).then_some((template, at))
    }

    fn term(&mut self, at: usize, depth: usize) -> Option<(Template, usize)> {
        if depth > DEEPEST {
            return None;
        }
        match self.tokens.get(at)? {
            Text(text) => Some((Template::fixed(text.as_str()), at + 1)),
            Number(number) => Some((Template::fixed(number.to_string()), at + 1)),
            Symbol("(") => {
                let (inside, end) = self.text(at + 1, depth + 1)?;
                self.is(end, ")").then_some((inside, end + 1))
            }
            Name(word) if word == "tostring" || word == "tonumber" => {
                let (inside, end) = self.term_in_brackets(at + 1, depth)?;
                self.or_else(inside, end, depth)
            }
            Name(word) if word == "math" && self.is(at + 1, ".") && self.is(at + 2, "random") => {
                let (from, to, end) = self.random(at + 3)?;
                Some((self.drawn(at, "random", Values::Number { from, to }), end))
            }
            Name(_) => {
                let (name, end) = self.place(at)?;
                if name.starts_with("args[") {
                    let given = self.defined.get(&name).map(|text| Template::fixed(text.as_str()));
                    return self.or_else(given, end, depth);
                }
                Some((self.value(&name, depth)?, end))
            }
            Symbol(_) => None,
        }
    }

    /// A number's or a text's name in brackets: what it is, if that is known, and where the brackets end.
    fn term_in_brackets(&mut self, at: usize, depth: usize) -> Option<(Option<Template>, usize)> {
        if !self.is(at, "(") {
            return None;
        }
        if let Some((name, end)) = self.place(at + 1)
            && name.starts_with("args[")
            && self.is(end, ")")
        {
            return Some((self.defined.get(&name).map(|text| Template::fixed(text.as_str())), end + 1));
        }
        let (inside, end) = self.text(at + 1, depth + 1)?;
        self.is(end, ")").then_some((Some(inside), end + 1))
    }

    /// A value, or what stands behind `or`.
    fn or_else(&mut self, value: Option<Template>, at: usize, depth: usize) -> Option<(Template, usize)> {
        if !self.is(at, "or") {
            return value.map(|value| (value, at));
        }
        let (usual, end) = self.term(at + 1, depth + 1)?;
        Some((value.unwrap_or(usual), end))
    }

    /// What a name stands for: a text, or a counter.
    fn value(&mut self, name: &str, depth: usize) -> Option<Template> {
        let places = self.assigned.get(name)?.clone();
        let counts = |place: &usize| {
            let (own, end) = self.place(*place)?;
            let step = match (self.tokens.get(end), self.tokens.get(end + 1)) {
                (Some(Symbol("+")), Some(Number(step))) if own == name && *step >= 1.0 => *step as u64,
                _ => return None,
            };
            Some(step)
        };
        let steps: Vec<u64> = places.iter().filter_map(counts).collect();
        match (places.as_slice(), steps.as_slice()) {
            ([only], []) => Some(self.text(*only, depth + 1)?.0),
            (_, [step]) if places.len() <= 2 => {
                let first = places.iter().find_map(|place| match (self.tokens.get(*place), self.tokens.get(*place + 1)) {
                    (Some(Number(_)), Some(Symbol(symbol))) if *symbol != ";" => None,
                    (Some(Number(first)), _) if *first >= 0.0 => Some(*first as u64),
                    _ => None,
                });
                let values = Values::Counter { from: first.unwrap_or(0).min(u64::MAX >> 2), step: (*step).min(u64::MAX >> 33) };
                let made = self.drawn.get(name).cloned();
                Some(made.map_or_else(|| self.draw(name.to_owned(), name, values), |made| value_of(&made)))
            }
            _ => None,
        }
    }

    /// The value that the word at a place draws.
    fn drawn(&mut self, at: usize, wish: &str, values: Values) -> Template {
        let key = format!("#{at}");
        match self.drawn.get(&key).cloned() {
            Some(made) => value_of(&made),
            None => self.draw(key, wish, values),
        }
    }

    fn draw(&mut self, key: String, wish: &str, values: Values) -> Template {
        let name = self.names.new_name(wish);
        self.drawn.insert(key, name.clone());
        self.data.push(Data { name: name.clone(), values });
        value_of(&name)
    }

    /// `(6)`, `(1, 6)`: the bounds, and where the brackets end.
    fn random(&self, at: usize) -> Option<(u64, u64, usize)> {
        let whole = |at: usize| match self.tokens.get(at) {
            Some(Number(n)) if *n >= 0.0 && *n <= 1e15 && n.fract() == 0.0 => Some(*n as u64),
            _ => None,
        };
        let first = whole(at + 1).filter(|_| self.is(at, "("))?;
        if self.is(at + 2, ")") {
            return (first >= 1).then_some((1, first, at + 3));
        }
        let second = whole(at + 3).filter(|_| self.is(at + 2, ",") && self.is(at + 4, ")"))?;
        (first <= second).then_some((first, second, at + 5))
    }

    /// Every call of `wrk.format`, in order.
    fn calls(&mut self, lost: &mut Notes) -> Vec<Call> {
        let mut calls = Vec::new();
        for at in 0..self.tokens.len() {
            if self.is(at, "wrk") && self.is(at + 1, ".") && self.is(at + 2, "format") && self.is(at + 3, "(") {
                calls.push(Call { at: at + 4, times: 1.0 });
            }
        }
        for at in 0..self.tokens.len() {
            if !(self.is(at, "for") && self.is(at + 2, "=")) {
                continue;
            }
            let end = self.end_of(at);
            let Some(body) = (at..end).find(|at| self.is(*at, "do")) else { continue };
            let mut bound = |at: usize| {
                let text = self.text(at, 0)?;
                Some((text.0.as_fixed()?.parse::<f64>().ok()?, text.1))
            };
            let times = bound(at + 3).and_then(|(from, comma)| Some(bound(comma + 1)?.0 - from + 1.0)).filter(|n| *n >= 1.0);
            for call in calls.iter_mut().filter(|call| (body..end).contains(&call.at)) {
                match times {
                    Some(times) => call.times *= times,
                    None => {
                        lost.add("how often a loop makes a request", "its bounds are not known: give an argument as --define 'args[1]=16'")
                    }
                }
            }
        }
        calls
    }

    /// Where the block ends that the word here opens.
    fn end_of(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for here in at..self.tokens.len() {
            match self.name(here) {
                Some("do" | "function" | "if" | "repeat") => depth += 1,
                Some("end" | "until") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return here;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The arguments of a call: where each begins.
    fn arguments(&self, at: usize) -> Vec<usize> {
        let mut begins = vec![at];
        let mut depth = 0usize;
        for here in at..self.tokens.len() {
            match self.tokens.get(here) {
                Some(Symbol("(" | "{" | "[")) => depth += 1,
                Some(Symbol(")")) if depth == 0 => break,
                Some(Symbol(")" | "}" | "]")) => depth = depth.saturating_sub(1),
                Some(Symbol(",")) if depth == 0 => begins.push(here + 1),
                _ => {}
            }
        }
        begins
    }

    /// The headers of a table: those of `wrk.headers`, of a name, or as they stand.
    fn headers(&mut self, at: Option<usize>) -> Option<Vec<(String, Template)>> {
        match at {
            Some(at) if self.is(at, "{") => self.literal(at),
            Some(at) if !self.is(at, "nil") => {
                let (name, _) = self.place(at)?;
                let mut all = match self.assigned.get(&name).cloned().as_deref() {
                    Some([only]) if self.is(*only, "{") => self.literal(*only)?,
                    Some(_) => return None,
                    None => Vec::new(),
                };
                all.extend(self.fields(&name)?);
                Some(all)
            }
            _ => {
                let table = self.assigned.get("wrk.headers").and_then(|places| places.last()).copied().filter(|at| self.is(*at, "{"));
                let mut all = table.map_or(Some(Vec::new()), |at| self.literal(at))?;
                all.extend(self.fields("wrk.headers")?);
                Some(all)
            }
        }
    }

    /// What is assigned to the fields of a name.
    fn fields(&mut self, name: &str) -> Option<Vec<(String, Template)>> {
        let prefix = format!("{name}.");
        let fields: Vec<(String, Option<usize>)> = self
            .assigned
            .iter()
            .filter_map(|(key, places)| Some((key.strip_prefix(&prefix)?.to_owned(), places.last().copied())))
            .collect();
        fields.into_iter().map(|(key, at)| Some((key, self.text(at?, 0)?.0))).collect()
    }

    /// `{ ["Accept"] = "x", host = "y" }`
    fn literal(&mut self, at: usize) -> Option<Vec<(String, Template)>> {
        let mut fields = Vec::new();
        let mut at = at + 1;
        while !self.is(at, "}") {
            let (key, value) = match self.tokens.get(at)? {
                Symbol("[") => match self.tokens.get(at + 1)? {
                    Text(key) if self.is(at + 2, "]") && self.is(at + 3, "=") => (key.clone(), at + 4),
                    _ => return None,
                },
                Name(key) if self.is(at + 1, "=") => (key.clone(), at + 2),
                _ => return None,
            };
            let (text, end) = self.text(value, 0)?;
            fields.push((key, text));
            at = if self.is(end, ",") || self.is(end, ";") { end + 1 } else { end };
        }
        Some(fields)
    }

    /// The request of a call; without one, that of the settings of `wrk`.
    fn step(&mut self, call: Option<&Call>, lost: &mut Notes) -> Option<Step> {
        let places = call.map(|call| self.arguments(call.at)).unwrap_or_default();
        let given = |script: &Self, n: usize| places.get(n).copied().filter(|at| !script.is(*at, "nil") && !script.is(*at, ")"));
        let what = if call.is_some() { "a request" } else { "the request" };
        let mut texts = Vec::new();
        for (n, (field, usual)) in
            [("wrk.method", Some("GET")), ("wrk.path", Some("/")), ("", None), ("wrk.body", None)].into_iter().enumerate()
        {
            let at = given(self, n).or_else(|| self.assigned.get(field).and_then(|places| places.last()).copied());
            texts.push(match at.filter(|at| n != 2 && !self.is(*at, "nil")) {
                None => usual.map(Template::fixed),
                Some(at) => match self.text(at, 0) {
                    Some((text, _)) => Some(text),
                    None => {
                        let part = ["method", "path", "", "body"][n];
                        lost.add(format!("{what} whose {part} is computed"), "only fixed texts, counters and math.random are understood");
                        return None;
                    }
                },
            });
        }
        let Some(headers) = self.headers(given(self, 2)) else {
            lost.add(format!("{what} whose headers are computed"), "only fixed texts, counters and math.random are understood");
            return None;
        };
        let body = texts.pop().flatten();
        texts.pop();
        let target = texts.pop().flatten().unwrap_or_default();
        let method = texts.pop().flatten().and_then(|method| method.as_fixed().map(str::to_owned)).unwrap_or_default();
        if !is_method(&method) {
            lost.add(format!("{what} with the method `{}`", shortened(&method)), "it is no method");
            return None;
        }
        let target = match target.as_fixed().and_then(split_url) {
            Some((server, rest)) => {
                self.server.get_or_insert(server);
                Template::fixed(rest)
            }
            None => target,
        };
        // wrk takes any status up to 399.
        let mut step = Step { method, path: path(target), answer: super::answer(Statuses { from: 200, to: 399 }), ..Step::default() };
        for (name, value) in headers {
            add_header(&mut step, &name, value, lost);
        }
        step.body = body.map_or(Body::None, Body::Text);
        Some(step)
    }

    /// What `delay` returns, in milliseconds.
    fn pause(&self, lost: &mut Notes) -> Option<Pause> {
        let is_delay = |at: &usize| {
            (self.is(*at, "function") && self.is(at + 1, "delay"))
                || (self.is(*at, "delay") && self.is(at + 1, "=") && self.is(at + 2, "function"))
        };
        let at = (0..self.tokens.len()).find(is_delay)?;
        let returned = (at..self.end_of(at)).find(|at| self.is(*at, "return")).map(|at| at + 1);
        let ms = |n: u64| Duration::from_millis(n.min(3_600_000));
        let pause = returned.and_then(|at| match self.tokens.get(at) {
            Some(Number(n)) if *n >= 0.0 && self.is(at + 1, "end") => Some(Pause::Constant(ms(*n as u64))),
            Some(Name(word)) if word == "math" && self.is(at + 2, "random") => {
                let (from, to, end) = self.random(at + 3)?;
                self.is(end, "end").then(|| Pause::Uniform { from: ms(from), to: ms(to) })
            }
            _ => None,
        });
        if pause.is_none() {
            lost.add("delay", "what it returns is computed: say how users pause");
        }
        pause
    }

    /// What else a script does.
    fn said(&self, lost: &mut Notes) {
        let functions: BTreeSet<&str> = (0..self.tokens.len())
            .filter_map(|at| match () {
                () if self.is(at, "function") => self.name(at + 1),
                () if self.is(at + 1, "=") && self.is(at + 2, "function") => self.name(at),
                () => None,
            })
            .collect();
        for function in functions {
            match function {
                "response" => lost.add("response", "what a script makes of answers: write [step.answer] and captures"),
                "setup" => lost.add("setup", "threads are given nothing of their own"),
                // `done` only prints; the others have been looked into.
                "done" | "init" | "request" | "delay" => {}
                other => lost.add(format!("the function `{}`", shortened(other)), "it is not run"),
            }
        }
        let request =
            (0..self.tokens.len()).find(|at| self.is(*at, "request") && (self.is(at + 1, "=") || self.is(at.wrapping_sub(1), "function")));
        if request.is_some_and(|at| (at..self.end_of(at)).any(|at| self.is(at, "if"))) {
            lost.add("`if`", "which request is made when is not followed: all are made in turn");
        }
        for field in ["wrk.method", "wrk.path", "wrk.body"] {
            if self.assigned.get(field).is_some_and(|places| places.len() > 1) {
                lost.add(field, "it gets several values: the last is taken");
            }
        }
    }
}

fn value_of(name: &str) -> Template {
    Template { parts: vec![template::Part::Value(name.to_owned())] }
}
