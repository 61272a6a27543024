//! Decides whether a response is correct.
//!
//! [`Expected`] holds what a step expects. [`Checking`] is the progress of one response: the head,
//! then each piece of the body, is compared as it arrives. `content` checks what only the complete
//! body shows. Servers mostly repeat their responses byte for byte, so the last correct response is
//! remembered, and one comparison then replaces parsing and checking.

mod content;
mod judgement;
mod pointer;
mod text;

pub use crate::headers::Headers;
pub use judgement::{Judgement, Wrong};
pub(crate) use text::harmless;

use crate::decode::{Coding, codings, decoded};
use crate::values::{Names, Text, Vars};
use content::{Content, Taken};
use spec::workload::{BodyCheck, Source, Statuses, Step};
use std::rc::Rc;
use text::{lossy, shortened};

/// The longest response that is remembered as a whole. Longer ones cost more to compare than to
/// read.
const KNOWN_MAX: usize = 8 << 10;

/// The largest number of bytes of a body that are kept for checks of its content.
pub(crate) const KEPT_MAX: usize = 16 << 20;

/// What a step expects of its responses.
pub struct Expected {
    status: Statuses,
    declined: Option<u16>,
    headers: Vec<(String, Text)>,
    body: Plain,
    /// Whether the body is a text. Texts are compared after decoding their content coding.
    is_text: bool,
    content: Content,
    /// What is captured from headers and from bodies.
    from_headers: Vec<Taken>,
    from_body: Vec<Taken>,
    /// The share of responses whose content is checked, and the number of responses so far.
    sample: f64,
    answers: u64,
    /// The last body with correct content. Servers rarely change the formatting, so comparing bytes
    /// settles nearly every response.
    last_correct: Rc<Vec<u8>>,
    /// The last correct response including its head, if nothing in the expectation varies.
    known: Option<Known>,
}

struct Known {
    bytes: Vec<u8>,
    status: u16,
    is_head: bool,
}

/// What is compared byte by byte while a body arrives.
enum Plain {
    Any,
    Length(u64),
    Bytes(Vec<u8>),
    Varying(Text),
}

/// How far one response has been checked. There is one for each request in flight, and its buffers
/// are reused.
#[derive(Default)]
pub struct Checking {
    /// The result of checking the head.
    head: Judgement,
    /// Bytes of the body so far, and whether any of them is wrong.
    seen: u64,
    differs: bool,
    /// Whether the content is checked, and whether the body is kept for that or for another reason.
    is_sampled: bool,
    is_needed: bool,
    /// The content codings that must be decoded, or why they cannot be.
    codings: Vec<Coding>,
    unknown_coding: Option<String>,
    /// The body is a prefix of `like`. Once it diverged, it is in `kept`.
    like: Rc<Vec<u8>>,
    diverged: bool,
    kept: Vec<u8>,
}

/// The check of one response: its expectation, and the variables that it may fill in.
pub struct ResponseCheck<'a> {
    /// What the step expects.
    pub expected: &'a mut Expected,
    /// The variables of the user who sent the request.
    pub vars: &'a mut Vars,
    /// Whether the request was a HEAD, whose response has no body.
    pub is_head: bool,
}

/// Finds the check of a request in flight by its ticket.
pub trait Checks {
    /// Returns the check of a request.
    fn check(&mut self, ticket: u32) -> ResponseCheck<'_>;
}

impl Expected {
    /// Returns the expectation of a step outside a workload.
    pub fn of_step(step: &Step) -> Expected {
        Expected::new(step, &Names::of_steps(std::slice::from_ref(step)))
    }

    pub(crate) fn new(step: &Step, names: &Names) -> Expected {
        let answer = &step.answer;
        let (from_headers, from_body) = step
            .captures
            .iter()
            .map(|capture| Taken::new(capture, names))
            .partition(|taken| matches!(taken.capture.from, Source::Header(_)));
        Expected {
            status: answer.status,
            declined: step.declined,
            headers: answer
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), Text::new(value, names)))
                .collect(),
            body: match &answer.body {
                BodyCheck::Any | BodyCheck::Json(_) => Plain::Any,
                BodyCheck::Length(length) => Plain::Length(*length),
                BodyCheck::Bytes(bytes) => Plain::Bytes(bytes.clone()),
                BodyCheck::Text(template) => match template.as_fixed() {
                    Some(text) => Plain::Bytes(text.into()),
                    None => Plain::Varying(Text::new(template, names)),
                },
            },
            is_text: matches!(answer.body, BodyCheck::Text(_)),
            content: Content::new(answer, names),
            from_headers,
            from_body,
            sample: answer.sample,
            answers: 0,
            last_correct: Rc::default(),
            known: None,
        }
    }

    /// Discards the state of a body that broke off.
    pub fn abandon(checking: &mut Checking) {
        *checking = Checking::default();
    }

    /// Whether the same bytes are always correct if they are correct once.
    fn is_constant(&self) -> bool {
        let Expected { headers, body, content, from_headers, from_body, .. } = self;
        let is_fixed = !matches!(body, Plain::Varying(_))
            && !content.varies
            && headers.iter().all(|(_, value)| !value.varies());
        is_fixed && from_headers.is_empty() && from_body.is_empty()
    }

    /// Decides whether the content of the next response is checked.
    fn draw(&mut self) -> bool {
        if !self.content.is_checked() || self.sample <= 0.0 {
            return false;
        }
        self.answers += 1;
        if self.sample >= 1.0 {
            return true;
        }
        // SplitMix64 of the response's number (Steele, Lea, Flood 2014): evenly spread, and the
        // same in each run.
        let mut mixed = self.answers.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < self.sample
    }
}

impl ResponseCheck<'_> {
    /// Recognizes the last correct response at the start of these bytes. Returns its length and
    /// status.
    ///
    /// Servers mostly send the same bytes again. One comparison then replaces parsing and checking.
    #[inline]
    pub fn known(&self, bytes: &[u8]) -> Option<(usize, u16)> {
        let known = self.expected.known.as_ref()?;
        (bytes.starts_with(&known.bytes) && known.is_head == self.is_head)
            .then_some((known.bytes.len(), known.status))
    }

    /// Remembers the bytes of a correct response.
    pub fn remember(&mut self, checking: &Checking, bytes: &[u8], status: u16) {
        let was_looked_into = checking.is_sampled || !self.expected.content.is_checked();
        if bytes.len() > KNOWN_MAX || !was_looked_into || !self.expected.is_constant() {
            return;
        }
        let known = self.expected.known.get_or_insert_with(|| Known {
            bytes: Vec::new(),
            status,
            is_head: false,
        });
        known.bytes.clear();
        known.bytes.extend_from_slice(bytes);
        (known.status, known.is_head) = (status, self.is_head);
    }

    /// Checks the final head.
    pub fn head(
        &mut self,
        checking: &mut Checking,
        status: u16,
        headers: &(impl Headers + ?Sized),
    ) {
        checking.head = self.judge_head(status, headers);
        if checking.head == Judgement::Correct {
            checking.is_sampled = self.expected.draw();
            checking.is_needed = checking.is_sampled || !self.expected.from_body.is_empty();
            if let Some(header) = headers.value("content-encoding") {
                match codings(header) {
                    Ok(codings) => checking.codings = codings,
                    Err(unknown) => checking.unknown_coding = Some(unknown),
                }
                // A coded body is decoded too, in order to tell another coding from another text.
                checking.is_needed |=
                    !checking.codings.is_empty() && !matches!(self.expected.body, Plain::Any);
            }
            if checking.is_needed {
                checking.like = self.expected.last_correct.clone();
            }
        }
    }

    fn judge_head(&mut self, status: u16, headers: &(impl Headers + ?Sized)) -> Judgement {
        let Expected { status: right, declined, headers: expected, from_headers, .. } =
            &*self.expected;
        if !right.has(status) {
            return match *declined == Some(status) {
                true => Judgement::Declined,
                false => Judgement::Wrong(Wrong::Status { found: status, expected: *right }),
            };
        }
        for (name, expected) in expected {
            let found = headers.value(name);
            if !found.is_some_and(|found| {
                found.len() == expected.len(self.vars) && expected.has_at(self.vars, 0, found)
            }) {
                let mut right = Vec::new();
                expected.write(self.vars, &mut right);
                return Judgement::Wrong(Wrong::Header {
                    name: name.clone(),
                    found: found.map(|found| shortened(&lossy(found)).into()),
                    expected: lossy(&right),
                });
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
        Judgement::Correct
    }

    /// Compares the next bytes of a body.
    #[inline]
    pub fn body(&self, checking: &mut Checking, bytes: &[u8]) {
        if checking.head != Judgement::Correct {
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

    /// Finishes a body, captures values from it, and resets the state for the next response.
    pub fn finish(&mut self, checking: &mut Checking) -> Judgement {
        let judgement = match std::mem::take(&mut checking.head) {
            Judgement::Correct => self.settle(checking),
            head => head,
        };
        checking.codings.clear();
        checking.unknown_coding = None;
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
        if (found != right || checking.differs)
            && !checking.codings.is_empty()
            && let Some(judgement) = self.without_coding(checking)
        {
            return judgement;
        }
        if found != right {
            return Judgement::Wrong(Wrong::Length { found, expected: right });
        }
        if checking.differs {
            return Judgement::Wrong(Wrong::Bytes);
        }
        if !checking.is_needed {
            return Judgement::Correct;
        }
        let like = std::mem::take(&mut checking.like);
        let mut kept = std::mem::take(&mut checking.kept);
        let judgement = self
            .look_into(checking, like, &mut kept)
            .map_or_else(Judgement::Wrong, |()| Judgement::Correct);
        kept.clear();
        checking.kept = kept;
        judgement
    }

    /// Judges a coded body whose bytes differ from the expected ones. A text is correct if only its
    /// coding differs. Returns `None` if it also differs after decoding.
    fn without_coding(&mut self, checking: &mut Checking) -> Option<Judgement> {
        let seen = checking.seen as usize;
        let coded = if checking.diverged {
            &checking.kept[..]
        } else {
            &checking.like[..seen.min(checking.like.len())]
        };
        let text = match decoded(&checking.codings, coded, KEPT_MAX) {
            Ok(text) => text,
            Err(cause) => return Some(Judgement::Wrong(Wrong::Content(cause))),
        };
        let is_correct = match &self.expected.body {
            Plain::Any | Plain::Length(_) => false,
            Plain::Bytes(right) => *right == text,
            Plain::Varying(right) => {
                right.len(self.vars) == text.len() && right.has_at(self.vars, 0, &text)
            }
        };
        match (is_correct, self.expected.is_text) {
            (true, true) => Some(Judgement::Correct),
            (true, false) => Some(Judgement::Wrong(Wrong::Content(format!(
                "the body is correct except for its Content-Encoding: {:?}",
                checking.codings
            )))),
            (false, _) => None,
        }
    }

    fn look_into(
        &mut self,
        checking: &Checking,
        like: Rc<Vec<u8>>,
        kept: &mut Vec<u8>,
    ) -> Result<(), Wrong> {
        let expected = &mut *self.expected;
        let seen = checking.seen as usize;
        if seen > KEPT_MAX {
            return Err(Wrong::Content(
                "the body is longer than 16 MiB, so its content is not checked".into(),
            ));
        }
        let is_known = !checking.diverged && seen == like.len() && seen > 0;
        if let Some(unknown) = &checking.unknown_coding {
            return Err(Wrong::Content(unknown.clone()));
        }
        let coded = if checking.diverged { &kept[..] } else { &like[..seen] };
        let plain;
        let text = match checking.codings.is_empty() {
            true => coded,
            // A body that was correct before need not be decoded again.
            false if is_known && !expected.content.varies && expected.from_body.is_empty() => coded,
            false => {
                plain = decoded(&checking.codings, coded, KEPT_MAX).map_err(Wrong::Content)?;
                &plain
            }
        };
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
            match Rc::get_mut(&mut expected.last_correct) {
                Some(last_correct) => std::mem::swap(last_correct, kept),
                None => expected.last_correct = Rc::new(std::mem::take(kept)),
            }
        }
        Ok(())
    }
}

impl Checking {
    /// Keeps bytes that are needed later, unless they equal those of the last correct body.
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

#[inline]
fn has_at(text: &[u8], at: usize, bytes: &[u8]) -> bool {
    text.get(at..at + bytes.len()) == Some(bytes)
}

#[cfg(test)]
mod tests;
