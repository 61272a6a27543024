//! What a right answer is, and whether one is: every byte, as it comes.

mod pointer;

use crate::request::Vars;
use crate::values::{Names, Text};
use model::template::Template;
use model::workload::{BodyCheck, Capture, Source, Statuses, Step, Wanted};
use pointer::Pointer;
use regex_lite::Regex;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

/// Most bytes of an answer that is known again as a whole: what is longer costs more to compare than to read.
const KNOWN_MAX: usize = 8 << 10;

/// Most bytes of a body that are kept to be looked into.
pub(crate) const KEPT_MAX: usize = 16 << 20;

/// What is expected of the answers to one step.
pub struct Expected {
    status: Statuses,
    declined: Option<u16>,
    headers: Vec<(String, Text)>,
    body: Plain,
    content: Content,
    /// Places of values, with what is taken from headers and bodies.
    from_headers: Vec<Taken>,
    from_body: Vec<Taken>,
    /// The share of answers whose content is looked into, and how many answers there were.
    sample: f64,
    answers: u64,
    /// The last body whose content was found right: as a server hardly changes its spelling,
    /// comparing bytes settles nearly every answer.
    last_right: Rc<Vec<u8>>,
    /// The last answer that was right, head and all, where nothing in what is expected varies.
    known: Option<Known>,
}

struct Known {
    bytes: Vec<u8>,
    status: u16,
    is_head: bool,
}

/// What is compared as bytes, while they come.
enum Plain {
    Any,
    Length(u64),
    Bytes(Vec<u8>),
    Varying(Text),
}

/// What can only be told from the whole body.
struct Content {
    json: Option<Value>,
    pointers: Vec<(Pointer, WantedThere)>,
    regex: Option<Regex>,
    /// Whether it depends on values of the user.
    varies: bool,
}

enum WantedThere {
    Value(Value),
    Spelling(Text),
    Anything,
}

struct Taken {
    capture: Capture,
    place: usize,
    pointer: Option<Pointer>,
}

/// How far one answer has been checked. One for each request under way; its buffers are kept for the next.
#[derive(Default)]
pub struct Checking {
    /// What the head came to.
    head: Judgement,
    /// Bytes of the body so far, and whether one of them is not the right one.
    seen: u64,
    differs: bool,
    /// Whether the content is looked into, and whether the body is needed for that or for anything else.
    is_sampled: bool,
    is_needed: bool,
    /// The body is the beginning of this one, or it lies in `kept`.
    like: Rc<Vec<u8>>,
    diverged: bool,
    kept: Vec<u8>,
}

/// Headers of an answer, however they came.
pub trait Headers {
    /// The first value of a header, whose name is compared without case.
    fn value(&self, name: &str) -> Option<&[u8]>;
}

impl Headers for [httparse::Header<'_>] {
    fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value)
    }
}

/// What was asked: how its answer is checked, and what it may fill in.
pub struct Asked<'a> {
    /// What is expected.
    pub expected: &'a mut Expected,
    /// The values of whoever asked.
    pub vars: &'a mut Vars,
    /// Whether it was a HEAD, whose answer has no body.
    pub is_head: bool,
}

/// Knows what was asked with a ticket, the number of a request under way.
pub trait Questions {
    /// What was asked.
    fn asked(&mut self, ticket: u32) -> Asked<'_>;
}

/// What an answer turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Judgement {
    /// As it should be.
    #[default]
    Right,
    /// A status by which the workload allows to shed.
    Declined,
    /// Anything else.
    Wrong(Wrong),
}

/// In what an answer is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Another status.
    Status {
        /// The one that came.
        found: u16,
        /// The right ones.
        expected: Statuses,
    },
    /// A header that is missing or has another value.
    Header {
        /// Its name.
        name: String,
        /// What came.
        found: Option<String>,
        /// The right value.
        expected: String,
    },
    /// A body of another length.
    Length {
        /// Bytes that came.
        found: u64,
        /// Bytes that should.
        expected: u64,
    },
    /// A body with other bytes, as long as the right one.
    Bytes,
    /// A body that is not as it should be, in words.
    Content(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Status { found, expected } => write!(f, "status {found} instead of {expected}"),
            Wrong::Header { name, found: None, expected } => write!(f, "no header `{name}`, expected `{expected}`"),
            Wrong::Header { name, found: Some(found), expected } => write!(f, "header `{name}` is `{found}` instead of `{expected}`"),
            Wrong::Length { found, expected } => write!(f, "a body of {found} bytes instead of {expected}"),
            Wrong::Bytes => f.write_str("a body with other bytes"),
            Wrong::Content(cause) => f.write_str(cause),
        }
    }
}

impl Expected {
    /// What a step expects that stands alone.
    pub fn of(step: &Step) -> Expected {
        Expected::new(step, &Names::of(std::slice::from_ref(step)))
    }

    pub(crate) fn new(step: &Step, names: &Names) -> Expected {
        let text = |template: &Template| Text::new(template, names);
        let answer = &step.answer;
        let wanted = |wanted: &Wanted| match wanted {
            Wanted::Value(value) => WantedThere::Value(value.clone()),
            Wanted::Spelling(template) => WantedThere::Spelling(text(template)),
            Wanted::Present => WantedThere::Anything,
        };
        let taken = |capture: &Capture| Taken {
            place: names.place(&capture.name),
            pointer: match &capture.from {
                Source::Json(pointer) => Some(Pointer::new(pointer)),
                _ => None,
            },
            capture: capture.clone(),
        };
        let (from_headers, from_body) = step.captures.iter().map(taken).partition(|taken| matches!(taken.capture.from, Source::Header(_)));
        Expected {
            status: answer.status,
            declined: step.declined,
            headers: answer.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            body: match &answer.body {
                BodyCheck::Any | BodyCheck::Json(_) => Plain::Any,
                BodyCheck::Length(length) => Plain::Length(*length),
                BodyCheck::Bytes(bytes) => Plain::Bytes(bytes.clone()),
                BodyCheck::Text(template) => match template.as_fixed() {
                    Some(text) => Plain::Bytes(text.into()),
                    None => Plain::Varying(text(template)),
                },
            },
            content: Content {
                json: match &answer.body {
                    BodyCheck::Json(value) => Some(value.clone()),
                    _ => None,
                },
                pointers: answer.pointers.iter().map(|(pointer, there)| (Pointer::new(pointer), wanted(there))).collect(),
                regex: answer.regex.clone(),
                varies: answer.pointers.iter().any(|(_, wanted)| matches!(wanted, Wanted::Spelling(_))),
            },
            from_headers,
            from_body,
            sample: answer.sample,
            answers: 0,
            last_right: Rc::default(),
            known: None,
        }
    }

    /// Forgets a body that broke off.
    pub fn abandon(checking: &mut Checking) {
        *checking = Checking::default();
    }

    /// Whether every answer that is right once is right always.
    fn is_constant(&self) -> bool {
        let Expected { headers, body, content, from_headers, from_body, .. } = self;
        let is_fixed = !matches!(body, Plain::Varying(_)) && !content.varies && headers.iter().all(|(_, value)| !value.varies());
        is_fixed && from_headers.is_empty() && from_body.is_empty()
    }

    /// Whether the content of the next answer is looked into.
    fn draw(&mut self) -> bool {
        if !self.content.is_asked_for() || self.sample <= 0.0 {
            return false;
        }
        self.answers += 1;
        if self.sample >= 1.0 {
            return true;
        }
        // SplitMix64 of the answer's number (Steele, Lea, Flood 2014): even, and the same in each run.
        let mut mixed = self.answers.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < self.sample
    }
}

impl Asked<'_> {
    /// Whether these bytes begin with the very answer that was the last right one; its length and status. Servers
    /// answer alike: one comparison of all bytes then does what reading and checking them did.
    #[inline]
    pub fn known(&self, bytes: &[u8]) -> Option<(usize, u16)> {
        let known = self.expected.known.as_ref()?;
        (bytes.starts_with(&known.bytes) && known.is_head == self.is_head).then_some((known.bytes.len(), known.status))
    }

    /// Remembers the bytes of an answer that was found right.
    pub fn remember(&mut self, checking: &Checking, bytes: &[u8], status: u16) {
        let was_looked_into = checking.is_sampled || !self.expected.content.is_asked_for();
        if bytes.len() > KNOWN_MAX || !was_looked_into || !self.expected.is_constant() {
            return;
        }
        let known = self.expected.known.get_or_insert_with(|| Known { bytes: Vec::new(), status, is_head: false });
        known.bytes.clear();
        known.bytes.extend_from_slice(bytes);
        (known.status, known.is_head) = (status, self.is_head);
    }

    /// Looks at a final head.
    pub fn head(&mut self, checking: &mut Checking, status: u16, headers: &(impl Headers + ?Sized)) {
        checking.head = self.judge_head(status, headers);
        if checking.head == Judgement::Right {
            checking.is_sampled = self.expected.draw();
            checking.is_needed = checking.is_sampled || !self.expected.from_body.is_empty();
            if checking.is_needed {
                checking.like = self.expected.last_right.clone();
            }
        }
    }

    fn judge_head(&mut self, status: u16, headers: &(impl Headers + ?Sized)) -> Judgement {
        let Expected { status: right, declined, headers: expected, from_headers, .. } = &*self.expected;
        if !right.has(status) {
            return match *declined == Some(status) {
                true => Judgement::Declined,
                false => Judgement::Wrong(Wrong::Status { found: status, expected: *right }),
            };
        }
        for (name, expected) in expected {
            let found = headers.value(name);
            if !found.is_some_and(|found| found.len() == expected.len(self.vars) && expected.has_at(self.vars, 0, found)) {
                let mut right = Vec::new();
                expected.write(self.vars, &mut right);
                return Judgement::Wrong(Wrong::Header { name: name.clone(), found: found.map(lossy), expected: lossy(&right) });
            }
        }
        for taken in from_headers {
            let Source::Header(name) = &taken.capture.from else { continue };
            let found = headers.value(name).and_then(|value| std::str::from_utf8(value).ok());
            match found.and_then(|text| taken.part_of(text)) {
                Some(value) => self.vars.set(taken.place, value.as_bytes()),
                None => return Judgement::Wrong(taken.missing()),
            }
        }
        Judgement::Right
    }

    /// Compares the next bytes of a body.
    #[inline]
    pub fn body(&self, checking: &mut Checking, bytes: &[u8]) {
        if checking.head != Judgement::Right {
            return;
        }
        let at = checking.seen as usize;
        checking.seen += bytes.len() as u64;
        match &self.expected.body {
            Plain::Any | Plain::Length(_) => {}
            Plain::Bytes(text) => checking.differs |= !has_at(text, at, bytes),
            Plain::Varying(text) => checking.differs |= !text.has_at(self.vars, at, bytes),
        }
        if checking.is_needed {
            checking.keep(at, bytes);
        }
    }

    /// Settles a body at its end, takes values from it, and readies the state for the next.
    pub fn finish(&mut self, checking: &mut Checking) -> Judgement {
        let judgement = match std::mem::take(&mut checking.head) {
            Judgement::Right => self.settle(checking),
            head => head,
        };
        checking.seen = 0;
        checking.differs = false;
        checking.diverged = false;
        judgement
    }

    fn settle(&mut self, checking: &mut Checking) -> Judgement {
        let found = checking.seen;
        let right = match &self.expected.body {
            Plain::Any => found,
            Plain::Length(length) => *length,
            Plain::Bytes(text) => text.len() as u64,
            Plain::Varying(text) => text.len(self.vars) as u64,
        };
        if found != right {
            return Judgement::Wrong(Wrong::Length { found, expected: right });
        }
        if checking.differs {
            return Judgement::Wrong(Wrong::Bytes);
        }
        if !checking.is_needed {
            return Judgement::Right;
        }
        let like = std::mem::take(&mut checking.like);
        let mut kept = std::mem::take(&mut checking.kept);
        let judgement = self.look_into(checking, like, &mut kept).map_or_else(Judgement::Wrong, |()| Judgement::Right);
        kept.clear();
        checking.kept = kept;
        judgement
    }

    fn look_into(&mut self, checking: &Checking, like: Rc<Vec<u8>>, kept: &mut Vec<u8>) -> Result<(), Wrong> {
        let expected = &mut *self.expected;
        let seen = checking.seen as usize;
        if seen > KEPT_MAX {
            return Err(Wrong::Content("a body of more than 16 MiB, which is not looked into".into()));
        }
        let is_known = !checking.diverged && seen == like.len() && seen > 0;
        let text = if checking.diverged { &kept[..] } else { &like[..seen] };
        if checking.is_sampled && (!is_known || expected.content.varies) {
            expected.content.judge(text, self.vars)?;
        }
        for taken in &expected.from_body {
            taken.take(text, self.vars)?;
        }
        if checking.is_sampled && !is_known && !expected.content.varies {
            if !checking.diverged {
                kept.extend_from_slice(&like[..seen]);
            }
            drop(like);
            match Rc::get_mut(&mut expected.last_right) {
                Some(last_right) => std::mem::swap(last_right, kept),
                None => expected.last_right = Rc::new(std::mem::take(kept)),
            }
        }
        Ok(())
    }
}

impl Checking {
    /// Keeps bytes that are needed later, unless they are those of the last right body.
    fn keep(&mut self, at: usize, bytes: &[u8]) {
        if !self.diverged {
            if has_at(&self.like, at, bytes) {
                return;
            }
            self.diverged = true;
            self.kept.clear();
            self.kept.extend_from_slice(&self.like[..at]);
        }
        let room = KEPT_MAX - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

impl Content {
    fn is_asked_for(&self) -> bool {
        self.json.is_some() || !self.pointers.is_empty() || self.regex.is_some()
    }

    fn judge(&self, text: &[u8], vars: &Vars) -> Result<(), Wrong> {
        if let Some(right) = &self.json {
            let found: Value = serde_json::from_slice(text).map_err(|error| Wrong::Content(format!("the body is not JSON: {error}")))?;
            if found != *right {
                return Err(Wrong::Content("the body is JSON, but not equal to the right one".into()));
            }
        }
        for (pointer, wanted) in &self.pointers {
            let found = pointer.find(text)?.ok_or_else(|| Wrong::Content(format!("the body has nothing at `{}`", pointer.text)))?;
            let wrong = |right: String| Err(Wrong::Content(format!("`{}` is {} instead of {right}", pointer.text, shortened(found))));
            match wanted {
                WantedThere::Value(right) if serde_json::from_str::<Value>(found).ok().as_ref() != Some(right) => {
                    return wrong(right.to_string());
                }
                WantedThere::Spelling(right) => {
                    let spelling = spelling(found);
                    if spelling.len() != right.len(vars) || !right.has_at(vars, 0, spelling.as_bytes()) {
                        let mut text = Vec::new();
                        right.write(vars, &mut text);
                        return wrong(lossy(&text));
                    }
                }
                WantedThere::Value(_) | WantedThere::Anything => {}
            }
        }
        match &self.regex {
            Some(regex) if !regex.is_match(&String::from_utf8_lossy(text)) => {
                Err(Wrong::Content(format!("nothing in the body matches `{regex}`")))
            }
            _ => Ok(()),
        }
    }
}

impl Taken {
    fn take(&self, text: &[u8], vars: &mut Vars) -> Result<(), Wrong> {
        let whole = match &self.pointer {
            Some(pointer) => pointer.find(text)?.map(spelling),
            None => Some(String::from_utf8_lossy(text)),
        };
        match whole.as_deref().and_then(|whole| self.part_of(whole)) {
            Some(value) => vars.set(self.place, value.as_bytes()),
            None => return Err(self.missing()),
        }
        Ok(())
    }

    fn part_of<'t>(&self, whole: &'t str) -> Option<&'t str> {
        let Some(regex) = &self.capture.regex else { return Some(whole) };
        let found = regex.captures(whole)?;
        found.get(1).or_else(|| found.get(0)).map(|part| part.as_str())
    }

    fn missing(&self) -> Wrong {
        let Capture { name, from, regex } = &self.capture;
        let place = match from {
            Source::Json(pointer) => format!("at `{pointer}`"),
            Source::Header(header) => format!("in the header `{header}`"),
            Source::Body => "in the body".into(),
        };
        let that = regex.as_ref().map(|regex| format!(" that matches `{regex}`")).unwrap_or_default();
        Wrong::Content(format!("there is nothing {place}{that} to take `{name}` from"))
    }
}

#[inline]
fn has_at(text: &[u8], at: usize, bytes: &[u8]) -> bool {
    text.get(at..at + bytes.len()) == Some(bytes)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// A JSON text without the quotes of a string.
fn spelling(found: &str) -> Cow<'_, str> {
    match found.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => plain.into(),
        Some(_) => serde_json::from_str::<String>(found).map_or(found.into(), Cow::from),
        None => found.into(),
    }
}

#[cfg(test)]
mod tests;
