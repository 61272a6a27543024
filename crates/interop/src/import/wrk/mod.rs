//! Reads scripts of wrk and wrk2, as far as they determine what is sent.
//!
//! No script is executed. Fixed texts, counters, random numbers, lists, pipelines and pauses are
//! recognized in its tokens (`lua.rs`), and become steps and data. A request that is computed in
//! another way is refused by name, so that no different request is sent instead. Start with
//! [`import`].

mod leftovers;
mod numbers;
mod texts;

use super::lua::Token::{self, Name, Number, Symbol, Text};
use super::lua::tokens;
use super::{Imported, Names, Notes, Part, add_header, path, shortened, split_url};
use numbers::Num;
use spec::data::Data;
use spec::experiment::{Load, Pause};
use spec::problem::Problems;
use spec::template::{self, Template};
use spec::workload::{Body, Statuses, Step, is_method};
use std::collections::BTreeMap;
use std::time::Duration;

/// Why a computed value is not carried over.
const COMPUTED: &str = "only fixed texts, counters and math.random are understood";

/// The default number of connections of wrk.
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
        tables: BTreeMap::new(),
        of_threads: Vec::new(),
        server: None,
    };
    script.collect();
    let mut imported = Imported::default();
    let Imported { lost, taken, .. } = &mut imported;
    let calls = script.calls(lost);
    let pipelined = script.has(&["table", ".", "concat"]);
    let requests: f64 = calls.iter().map(|call| call.times).sum();
    let mut steps: Vec<Step> =
        calls.iter().filter_map(|call| script.step(Some(call), lost)).collect();
    if calls.is_empty() {
        steps.extend(script.step(None, lost));
    }
    if steps.is_empty() {
        script.note_rest(lost);
        return Err(lost.nothing(
            "what the script sends is not understood",
            "write it as a workload; see workloads/README.md",
        ));
    }
    let all_alike =
        steps.windows(2).all(|pair| format!("{:?}", pair[0]) == format!("{:?}", pair[1]));
    if all_alike {
        steps.truncate(1);
    } else {
        taken.add("the order", "the requests are made in the order of the script, again and again");
    }
    let depth = if pipelined && requests >= 1.0 { requests.min(MOST_DEPTH) as u32 } else { 1 };
    let load = match script.pause(lost) {
        None => Load::Closed { connections: CONNECTIONS, depth },
        Some(pause) => Load::Users {
            users: CONNECTIONS,
            ramp: Duration::ZERO,
            pause,
            rounds: None,
            pooled: None,
        },
    };
    taken.add(
        "the load",
        format!("a script has none: {CONNECTIONS} connections are the default of wrk; -t, -c, -d and -R are on its command line"),
    );
    script.note_rest(lost);
    script.note_decisions(steps.len(), &mut imported);
    let mut part = Part::new(steps, load);
    part.workload.summary = "requests of a wrk script".into();
    part.workload.data = script.data;
    part.tables = script.tables;
    part.server = script.server;
    imported.push(part);
    Ok(imported)
}

struct Script<'t> {
    tokens: &'t [Token],
    defined: &'t BTreeMap<String, String>,
    /// Where the values of names begin: `wrk.body`, `wrk.headers.accept`, `counter`.
    assigned: BTreeMap<String, Vec<usize>>,
    data: Vec<Data>,
    /// Values that exist already, by the token that needs them.
    drawn: BTreeMap<String, String>,
    names: Names,
    /// Values that are used one after the other, as CSV.
    tables: BTreeMap<String, String>,
    /// What `setup` gives to the first thread, by name.
    of_threads: Vec<(String, String)>,
    server: Option<String>,
}

/// A call of `wrk.format`.
struct Call {
    /// The position after the bracket.
    at: usize,
    /// How often the loop around it executes it.
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
        (0..self.tokens.len())
            .any(|at| words.iter().enumerate().all(|(n, word)| self.is(at + n, word)))
    }

    fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the name that begins here with its fields, and where it ends:
    /// `wrk.headers["Accept"]` is `wrk.headers.accept`.
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
            // Fields of a table literal are not assignments. They follow `{` or `,`.
            let in_table = at > 0 && (self.is(at - 1, "{") || self.is(at - 1, ","));
            // The variable of a loop has another value in each round.
            let is_loop = at > 0 && self.is(at - 1, "for");
            match self.place(at) {
                Some((name, end)) if self.is(end, "=") && !in_table && !is_loop => {
                    self.assigned.entry(name).or_default().push(end + 1);
                    at = end + 1;
                }
                Some((_, end)) => at = end,
                None => at += 1,
            }
        }
    }

    /// Returns every call of `wrk.format`, in order.
    fn calls(&mut self, lost: &mut Notes) -> Vec<Call> {
        let mut calls = Vec::new();
        for at in 0..self.tokens.len() {
            if self.is(at, "wrk")
                && self.is(at + 1, ".")
                && self.is(at + 2, "format")
                && self.is(at + 3, "(")
            {
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
            let times = bound(at + 3)
                .and_then(|(from, comma)| Some(bound(comma + 1)?.0 - from + 1.0))
                .filter(|n| *n >= 1.0);
            for call in calls.iter_mut().filter(|call| (body..end).contains(&call.at)) {
                match times {
                    Some(times) => call.times *= times,
                    None => lost.add(
                        "how often a loop makes a request",
                        "its bounds are not known: give an argument as --define 'args[1]=16'",
                    ),
                }
            }
        }
        calls
    }

    /// Returns where the block that is opened here ends.
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

    /// Returns where each argument of a call begins.
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

    /// Returns the headers of a table: those of `wrk.headers`, of a name, or of a literal.
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
                let table = self
                    .assigned
                    .get("wrk.headers")
                    .and_then(|places| places.last())
                    .copied()
                    .filter(|at| self.is(*at, "{"));
                let mut all = table.map_or(Some(Vec::new()), |at| self.literal(at))?;
                all.extend(self.fields("wrk.headers")?);
                Some(all)
            }
        }
    }

    /// Returns what is assigned to the fields of a name.
    fn fields(&mut self, name: &str) -> Option<Vec<(String, Template)>> {
        let prefix = format!("{name}.");
        let fields: Vec<(String, Option<usize>)> = self
            .assigned
            .iter()
            .filter_map(|(key, places)| {
                Some((key.strip_prefix(&prefix)?.to_owned(), places.last().copied()))
            })
            .collect();
        fields.into_iter().map(|(key, at)| Some((key, self.text(at?, 0)?.0))).collect()
    }

    /// Reads a table literal: `{ ["Accept"] = "x", host = "y" }`.
    fn literal(&mut self, at: usize) -> Option<Vec<(String, Template)>> {
        let mut fields = Vec::new();
        let mut at = at + 1;
        while !self.is(at, "}") {
            let (key, value) = match self.tokens.get(at)? {
                Symbol("[") => match self.tokens.get(at + 1)? {
                    Text(key) if self.is(at + 2, "]") && self.is(at + 3, "=") => {
                        (key.clone(), at + 4)
                    }
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

    /// Makes the request of a call. Without a call, it is that of the settings of `wrk`.
    fn step(&mut self, call: Option<&Call>, lost: &mut Notes) -> Option<Step> {
        let places = call.map(|call| self.arguments(call.at)).unwrap_or_default();
        let given = |script: &Self, n: usize| {
            places.get(n).copied().filter(|at| !script.is(*at, "nil") && !script.is(*at, ")"))
        };
        let what = if call.is_some() { "a request" } else { "the request" };
        let mut texts = Vec::new();
        for (n, (field, usual)) in
            [("wrk.method", Some("GET")), ("wrk.path", Some("/")), ("", None), ("wrk.body", None)]
                .into_iter()
                .enumerate()
        {
            let at = given(self, n)
                .or_else(|| self.assigned.get(field).and_then(|places| places.last()).copied());
            texts.push(match at.filter(|at| n != 2 && !self.is(*at, "nil")) {
                None => usual.map(Template::fixed),
                Some(at) => match self.text(at, 0) {
                    Some((text, _)) => Some(text),
                    None => {
                        let part = ["method", "path", "", "body"][n];
                        lost.add(format!("{what} whose {part} is computed"), COMPUTED);
                        return None;
                    }
                },
            });
        }
        let Some(headers) = self.headers(given(self, 2)) else {
            lost.add(format!("{what} whose headers are computed"), COMPUTED);
            return None;
        };
        let body = texts.pop().flatten();
        texts.pop();
        let target = texts.pop().flatten().unwrap_or_default();
        let method = texts
            .pop()
            .flatten()
            .and_then(|method| method.as_fixed().map(str::to_owned))
            .unwrap_or_default();
        if !is_method(&method) {
            lost.add(
                format!("{what} with the method `{}`", shortened(&method)),
                "it is not an HTTP method",
            );
            return None;
        }
        let target = match target.as_fixed().and_then(split_url) {
            Some((server, rest)) => {
                self.server.get_or_insert(server);
                Template::fixed(rest)
            }
            None => target,
        };
        // wrk accepts any status up to 399.
        let mut step = Step {
            method,
            path: path(target),
            answer: super::answer(Statuses { from: 200, to: 399 }),
            ..Step::default()
        };
        for (name, value) in headers {
            add_header(&mut step, &name, value, lost);
        }
        step.body = body.map_or(Body::None, Body::Text);
        Some(step)
    }

    /// Returns the pause: what `delay` returns, in milliseconds.
    fn pause(&mut self, lost: &mut Notes) -> Option<Pause> {
        let is_delay = |at: &usize| {
            (self.is(*at, "function") && self.is(at + 1, "delay"))
                || (self.is(*at, "delay") && self.is(at + 1, "=") && self.is(at + 2, "function"))
        };
        let at = (0..self.tokens.len()).find(is_delay)?;
        let returned = (at..self.end_of(at)).find(|at| self.is(*at, "return")).map(|at| at + 1);
        let ms = |n: f64| Duration::from_millis(n.clamp(0.0, 3.6e6) as u64);
        let returned =
            returned.and_then(|at| self.number(at, 0)).filter(|(_, end)| self.is(*end, "end"));
        let pause = returned.and_then(|(number, _)| match number {
            Num::Const(n) => Some(Pause::Constant(ms(n))),
            Num::Random { from, to, .. } => Some(Pause::Uniform { from: ms(from), to: ms(to) }),
            _ => None,
        });
        if pause.is_none() {
            lost.add("delay", "what it returns is computed: choose how users pause");
        }
        pause
    }
}

fn value_of(name: &str) -> Template {
    Template { parts: vec![template::Part::Value(name.to_owned())] }
}
