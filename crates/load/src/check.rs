//! What a right answer is, and whether one is: every byte, as it comes.

use crate::request::Vars;
use crate::values::{Names, Text};
use model::template::Template;
use model::workload::{BodyCheck, Capture, Source, Statuses, Step, Wanted};
use regex_lite::Regex;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
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

/// A place in a JSON document (RFC 6901).
#[derive(Clone)]
struct Pointer {
    text: String,
    tokens: Vec<String>,
}

impl Pointer {
    fn new(text: &str) -> Pointer {
        let tokens = text.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        Pointer { text: text.to_owned(), tokens }
    }

    /// The value there as it is spelt, found without building the document.
    fn find<'t>(&self, text: &'t [u8]) -> Result<Option<&'t str>, Wrong> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let found = Below(&self.tokens).deserialize(&mut json).and_then(|found| json.end().map(|()| found));
        found.map(|raw| raw.map(RawValue::get)).map_err(|error| Wrong::Content(format!("the body is not JSON: {error}")))
    }
}

/// What lies so many tokens below a value.
#[derive(Clone, Copy)]
struct Below<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Below<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => <&RawValue as de::Deserialize>::deserialize(json).map(Some),
            _ => json.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Below<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(&self.0[0]))? {
            match is_it {
                true => found = map.next_value_seed(Below(&self.0[1..]))?,
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let token = &self.0[0];
        let is_index = token == "0" || !token.starts_with(['0', '+']);
        let wanted = token.parse::<usize>().ok().filter(|_| is_index);
        let mut found = None;
        for index in 0.. {
            if Some(index) == wanted {
                match items.next_element_seed(Below(&self.0[1..]))? {
                    Some(there) => found = there,
                    None => break,
                }
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a key is this one.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<bool, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Answer;
    use proptest::prelude::*;
    use serde_json::json;

    const JSON: [httparse::Header<'_>; 1] = [httparse::Header { name: "Content-Type", value: b"application/json" }];

    fn answering(answer: Answer) -> Step {
        Step { answer, declined: Some(503), ..Step::default() }
    }

    fn expecting(body: BodyCheck) -> Step {
        answering(Answer { headers: vec![("content-type".into(), "application/json".into())], body, ..Answer::default() })
    }

    /// One user who asks one step again and again.
    struct User {
        expected: Expected,
        vars: Vars,
        names: Names,
        checking: Checking,
    }

    impl User {
        fn asking(step: &Step) -> User {
            let names = Names::of(std::slice::from_ref(step));
            let workload = model::workload::Workload { steps: vec![step.clone()], ..Default::default() };
            let vars = crate::values::Draws::new(&workload, &names, 0, 0, 1).vars();
            User { expected: Expected::new(step, &names), vars, names, checking: Checking::default() }
        }

        fn knows(mut self, name: &str, value: &str) -> User {
            self.vars.set(self.names.place(name), value.as_bytes());
            self
        }

        fn value(&self, name: &str) -> String {
            let mut out = Vec::new();
            Text::new(&Template::parse(&format!("${{{name}}}")).unwrap(), &self.names).write(&self.vars, &mut out);
            lossy(&out)
        }

        fn judge_head(&mut self, status: u16, headers: &[httparse::Header<'_>]) -> Judgement {
            Asked { expected: &mut self.expected, vars: &mut self.vars, is_head: false }.judge_head(status, headers)
        }

        fn judge(&mut self, body: &[u8], cut: usize) -> Judgement {
            let mut asked = Asked { expected: &mut self.expected, vars: &mut self.vars, is_head: false };
            let cut = cut.min(body.len());
            asked.head(&mut self.checking, 200, &JSON[..]);
            asked.body(&mut self.checking, &body[..cut]);
            asked.body(&mut self.checking, &body[cut..]);
            asked.finish(&mut self.checking)
        }

        fn says(&mut self, body: &str) -> String {
            match self.judge(body.as_bytes(), 3) {
                Judgement::Right => "right".into(),
                Judgement::Declined => "declined".into(),
                Judgement::Wrong(wrong) => wrong.to_string(),
            }
        }
    }

    #[test]
    fn heads() {
        let mut user = User::asking(&expecting(BodyCheck::Any));
        let text = [httparse::Header { name: "Content-Type", value: b"text/plain" }];
        assert_eq!(user.judge_head(200, &JSON), Judgement::Right);
        assert_eq!(user.judge_head(503, &[]), Judgement::Declined);
        assert_eq!(user.judge_head(500, &JSON), Judgement::Wrong(Wrong::Status { found: 500, expected: Statuses::one(200) }));
        assert!(matches!(user.judge_head(200, &text), Judgement::Wrong(Wrong::Header { found: Some(_), .. })));
        assert!(matches!(user.judge_head(200, &[]), Judgement::Wrong(Wrong::Header { found: None, .. })));
    }

    #[test]
    fn json_is_equal_in_any_spelling_and_a_change_of_spelling_is_no_fault() {
        let mut user = User::asking(&expecting(BodyCheck::Json(json!({"a": 1, "b": [true]}))));
        for body in [r#"{"a":1,"b":[true]}"#, r#"{"b":[true],"a":1}"#, r#"{"a":1,"b":[true]}"#, "{ \"a\": 1, \"b\": [true] }"] {
            for cut in 0..body.len() {
                assert_eq!(user.judge(body.as_bytes(), cut), Judgement::Right, "{body} cut at {cut}");
            }
        }
        for body in ["", "{", r#"{"a":1,"b":[true]"#, r#"{"a":2,"b":[true]}"#, r#"{"a":1,"b":[true]} x"#] {
            assert!(matches!(user.judge(body.as_bytes(), 3), Judgement::Wrong(Wrong::Content(_))), "{body}");
        }
    }

    #[test]
    fn another_spelling_while_an_answer_is_half_read_disturbs_neither() {
        let step = expecting(BodyCheck::Json(json!({"a": 1, "b": 2})));
        let mut user = User::asking(&step);
        let (first, second) = (br#"{"a":1,"b":2}"#, br#"{"b":2,"a":1}"#);
        assert_eq!(user.judge(first, 0), Judgement::Right);
        let (mut one, mut other) = (Checking::default(), Checking::default());
        let mut asked = Asked { expected: &mut user.expected, vars: &mut user.vars, is_head: false };
        asked.head(&mut one, 200, &JSON[..]);
        asked.body(&mut one, &first[..9]);
        asked.head(&mut other, 200, &JSON[..]);
        asked.body(&mut other, second);
        assert_eq!(asked.finish(&mut other), Judgement::Right);
        asked.body(&mut one, &first[9..]);
        assert_eq!(asked.finish(&mut one), Judgement::Right);
    }

    #[test]
    fn values_are_taken_from_every_place() {
        let capture = |name: &str, from, regex: Option<&str>| Capture {
            name: name.into(),
            from,
            regex: regex.map(|regex| Regex::new(regex).unwrap()),
        };
        let step = Step {
            captures: vec![
                capture("id", Source::Json("/list/1/id".into()), None),
                capture("name", Source::Json("/name".into()), None),
                capture("type", Source::Header("content-type".into()), Some("/(.*)")),
                capture("any", Source::Body, Some("[0-9]+")),
            ],
            ..Step::default()
        };
        let mut user = User::asking(&step);
        for cut in 0..40 {
            assert_eq!(user.judge(br#"{"name": "a\"b", "list": [0, {"id": 42}]}"#, cut), Judgement::Right);
            assert_eq!(["id", "name", "type", "any"].map(|name| user.value(name)), ["42", "a\"b", "json", "0"]);
        }
        assert_eq!(user.says(r#"{"name": 1, "list": [{}]}"#), "there is nothing at `/list/1/id` to take `id` from");
        assert_eq!(user.says("{"), "the body is not JSON: EOF while parsing an object at line 1 column 1");
    }

    #[test]
    fn places_and_patterns_of_an_answer() {
        let spelt = |text: &str| Wanted::Spelling(Template::parse(text).unwrap());
        let answer = Answer {
            pointers: vec![("/n".into(), Wanted::Value(json!(5))), ("/who".into(), spelt("${who}")), ("/id".into(), spelt("${id}"))],
            regex: Some(Regex::new("ok+").unwrap()),
            ..Answer::default()
        };
        let mut user = User::asking(&answering(answer)).knows("who", "Ann").knows("id", "7");
        assert_eq!(user.says(r#"{"n":5,"who":"Ann","id":7,"x":"okk"}"#), "right");
        assert_eq!(user.says(r#"{"n":5,"who":"Ann","id":"7","x":"ok"}"#), "right");
        assert_eq!(user.says(r#"{"n":6,"who":"Ann","id":7,"x":"ok"}"#), "`/n` is 6 instead of 5");
        assert_eq!(user.says(r#"{"n":5,"who":"Bob","id":7,"x":"ok"}"#), "`/who` is \"Bob\" instead of Ann");
        assert_eq!(user.says(r#"{"n":5,"who":"Ann","x":"ok"}"#), "the body has nothing at `/id`");
        assert_eq!(user.says(r#"{"n":5,"who":"Ann","id":7,"x":"no"}"#), "nothing in the body matches `ok+`");
        let present = Answer { pointers: vec![("/list/0".into(), Wanted::Present)], ..Answer::default() };
        let mut user = User::asking(&answering(present));
        assert_eq!(user.says(r#"{"list":[null]}"#), "right");
        assert_eq!(user.says(r#"{"list":[]}"#), "the body has nothing at `/list/0`");
    }

    #[test]
    fn answers_that_vary_are_compared_with_what_was_asked() {
        let text = Template::parse("hello ${who}!").unwrap();
        let answer = Answer {
            body: BodyCheck::Text(text),
            headers: vec![("content-type".into(), Template::parse("${type}").unwrap())],
            ..Answer::default()
        };
        let mut user = User::asking(&answering(answer)).knows("who", "Ann").knows("type", "application/json");
        assert_eq!(user.says("hello Ann!"), "right");
        assert_eq!(user.says("hello Bob!"), "a body with other bytes");
        assert_eq!(user.says("hello Ann"), "a body of 9 bytes instead of 10");
        assert_eq!(
            user.knows("type", "text/plain").says("hello Ann!"),
            "header `content-type` is `application/json` instead of `text/plain`"
        );
    }

    #[test]
    fn a_written_share_of_answers_is_looked_into_and_the_rest_is_still_compared() {
        let answer = |sample| Answer { body: BodyCheck::Json(json!(1)), sample, ..Answer::default() };
        for (sample, from, to) in [(0.0, 0, 0), (0.1, 850, 1_150), (1.0, 10_000, 10_000)] {
            let mut user = User::asking(&answering(answer(sample)));
            let found = (0..10_000).filter(|_| user.judge(b"2", 1) != Judgement::Right).count();
            assert!((from..=to).contains(&found), "{sample}: {found}");
        }
        let mut user = User::asking(&answering(Answer { body: BodyCheck::Text("ab".into()), sample: 0.0, ..Answer::default() }));
        assert_eq!(user.says("ac"), "a body with other bytes");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\/~é]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            let key = "[ab/~\"\\\\01]{0,2}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4).prop_map(|entries| entries.into_iter().collect::<serde_json::Map<_, _>>().into())
            ]
        })
    }

    proptest! {
        #[test]
        fn a_pointer_finds_what_serde_json_finds(json in any_json(), pointer in "(/(a|b|~0|~1|0|1|-|01|\"|\\\\){1,2}){0,3}", pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
            let found = Pointer::new(&pointer).find(text.as_bytes()).unwrap();
            let found = found.map(|raw| serde_json::from_str::<Value>(raw).unwrap());
            prop_assert_eq!(found.as_ref(), json.pointer(&pointer));
        }

        #[test]
        fn bytes_that_are_no_json_are_said_to_be_none(text in "[\\[\\]{}\":,a0-9.e \\\\-]{0,12}") {
            let is_json = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert_eq!(Pointer::new("/a").find(text.as_bytes()).is_ok(), is_json);
        }

        #[test]
        fn a_text_body_is_right_only_when_every_byte_is(text in "[a-c]{0,40}", other in "[a-c]{0,40}", cut in 0usize..50) {
            let mut user = User::asking(&expecting(BodyCheck::Text(text.as_str().into())));
            prop_assert_eq!(user.judge(other.as_bytes(), cut) == Judgement::Right, text == other);
        }

        #[test]
        fn one_wrong_byte_is_found_anywhere(length in 1usize..300, at in 0usize..300, cut in 0usize..300, bit in 0u8..8) {
            let right = model::data::filler(length);
            let mut user = User::asking(&expecting(BodyCheck::Bytes(right.clone())));
            prop_assert_eq!(user.judge(&right, cut), Judgement::Right);
            let mut wrong = right.clone();
            wrong[at % length] ^= 1 << bit;
            prop_assert_eq!(user.judge(&wrong, cut), Judgement::Wrong(Wrong::Bytes));
            prop_assert_eq!(user.judge(&right, cut), Judgement::Right);
        }
    }
}
