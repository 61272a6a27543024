//! What a right answer is, and whether one is: every byte, as it comes.

use crate::request::Vars;
use model::workload::{Answer, BodyCheck, Step};
use std::fmt;

/// Most bytes of a body that are kept to be read as JSON.
const KEPT_MAX: usize = 16 << 20;

/// What is expected of the answers to one step.
pub struct Expected {
    status: u16,
    headers: Vec<(String, String)>,
    body: ExpectedBody,
    declined: Option<u16>,
}

enum ExpectedBody {
    Any,
    Length(u64),
    Text(Vec<u8>),
    /// A value, and the last spelling of it that was found equal: as a server
    /// hardly changes its spelling, comparing bytes settles nearly every answer.
    Json {
        value: serde_json::Value,
        spelling: Vec<u8>,
    },
}

/// How far one answer has been checked. One for each request under way; its buffers are kept for the next.
#[derive(Default)]
pub struct Checking {
    /// What the head came to.
    head: Judgement,
    seen: u64,
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
    /// The variables of whoever asked.
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
        /// The right one.
        expected: u16,
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
    /// A body that is not JSON, or not equal.
    Json(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Status { found, expected } => write!(f, "status {found} instead of {expected}"),
            Wrong::Header { name, found: None, expected } => write!(f, "no header `{name}`, expected `{expected}`"),
            Wrong::Header { name, found: Some(found), expected } => write!(f, "header `{name}` is `{found}` instead of `{expected}`"),
            Wrong::Length { found, expected } => write!(f, "a body of {found} bytes instead of {expected}"),
            Wrong::Bytes => f.write_str("a body with other bytes"),
            Wrong::Json(cause) => f.write_str(cause),
        }
    }
}

impl Expected {
    /// What a step expects.
    pub fn of(step: &Step) -> Expected {
        let Answer { status, headers, body } = &step.answer;
        Expected {
            status: *status,
            headers: headers.clone(),
            declined: step.declined,
            body: match body {
                BodyCheck::Any => ExpectedBody::Any,
                BodyCheck::Length(length) => ExpectedBody::Length(*length),
                BodyCheck::Text(text) => ExpectedBody::Text(text.clone().into_bytes()),
                BodyCheck::Json(value) => ExpectedBody::Json { value: value.clone(), spelling: Vec::new() },
            },
        }
    }

    /// Looks at a final head.
    pub fn head(&self, checking: &mut Checking, status: u16, headers: &(impl Headers + ?Sized)) {
        checking.head = self.judge_head(status, headers);
    }

    fn judge_head(&self, status: u16, headers: &(impl Headers + ?Sized)) -> Judgement {
        if status != self.status {
            return match self.declined == Some(status) {
                true => Judgement::Declined,
                false => Judgement::Wrong(Wrong::Status { found: status, expected: self.status }),
            };
        }
        for (name, expected) in &self.headers {
            let found = headers.value(name);
            if found != Some(expected.as_bytes()) {
                let found = found.map(|v| String::from_utf8_lossy(v).into_owned());
                return Judgement::Wrong(Wrong::Header { name: name.clone(), found, expected: expected.clone() });
            }
        }
        Judgement::Right
    }

    /// Compares the next bytes of a body.
    #[inline]
    pub fn body(&self, state: &mut Checking, bytes: &[u8]) {
        if state.head != Judgement::Right {
            return;
        }
        let at = state.seen as usize;
        state.seen += bytes.len() as u64;
        let same = |right: &[u8]| right.get(at..at + bytes.len()) == Some(bytes);
        match &self.body {
            ExpectedBody::Any | ExpectedBody::Length(_) => {}
            ExpectedBody::Text(text) => state.diverged = state.diverged || !same(text),
            ExpectedBody::Json { spelling, .. } => {
                if !state.diverged {
                    if same(spelling) {
                        return;
                    }
                    state.diverged = true;
                    state.kept.extend_from_slice(&spelling[..at]);
                }
                let room = KEPT_MAX - state.kept.len();
                state.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    /// Settles a body at its end, and readies the state for the next.
    pub fn finish(&mut self, state: &mut Checking, _vars: &mut Vars) -> Judgement {
        let head = std::mem::take(&mut state.head);
        if head != Judgement::Right {
            return head;
        }
        let (seen, diverged) = (state.seen, state.diverged);
        state.seen = 0;
        state.diverged = false;
        let length = |expected: u64| match seen == expected {
            true => Judgement::Right,
            false => Judgement::Wrong(Wrong::Length { found: seen, expected }),
        };
        match &mut self.body {
            ExpectedBody::Any => Judgement::Right,
            ExpectedBody::Length(expected) => length(*expected),
            ExpectedBody::Text(text) => match length(text.len() as u64) {
                Judgement::Right if diverged => Judgement::Wrong(Wrong::Bytes),
                judgement => judgement,
            },
            ExpectedBody::Json { value, spelling } => {
                if !diverged && seen == spelling.len() as u64 && seen > 0 {
                    return Judgement::Right;
                }
                let text = if diverged { std::mem::take(&mut state.kept) } else { spelling[..seen as usize].to_vec() };
                match serde_json::from_slice::<serde_json::Value>(&text) {
                    Err(error) => Judgement::Wrong(Wrong::Json(format!("the body is not JSON: {error}"))),
                    Ok(found) if found != *value => {
                        Judgement::Wrong(Wrong::Json("the body is JSON, but not equal to the right one".into()))
                    }
                    Ok(_) => {
                        *spelling = text;
                        Judgement::Right
                    }
                }
            }
        }
    }

    /// Forgets a body that broke off.
    pub fn abandon(state: &mut Checking) {
        *state = Checking::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expecting(body: BodyCheck) -> Expected {
        let answer = Answer { status: 200, headers: vec![("content-type".into(), "application/json".into())], body };
        Expected::of(&Step { path: "/".into(), answer, declined: Some(503), ..Step::default() })
    }

    fn judge(expected: &mut Expected, body: &[u8], cut: usize) -> Judgement {
        let mut state = Checking::default();
        let cut = cut.min(body.len());
        expected.body(&mut state, &body[..cut]);
        expected.body(&mut state, &body[cut..]);
        expected.finish(&mut state, &mut Vars::default())
    }

    #[test]
    fn heads() {
        let expected = expecting(BodyCheck::Any);
        let json = [httparse::Header { name: "Content-Type", value: b"application/json" }];
        let text = [httparse::Header { name: "Content-Type", value: b"text/plain" }];
        assert_eq!(expected.judge_head(200, &json[..]), Judgement::Right);
        assert_eq!(expected.judge_head(503, &[][..]), Judgement::Declined);
        assert_eq!(expected.judge_head(500, &json[..]), Judgement::Wrong(Wrong::Status { found: 500, expected: 200 }));
        assert!(matches!(expected.judge_head(200, &text[..]), Judgement::Wrong(Wrong::Header { found: Some(_), .. })));
        assert!(matches!(expected.judge_head(200, &[][..]), Judgement::Wrong(Wrong::Header { found: None, .. })));
    }

    #[test]
    fn json_is_equal_in_any_spelling_and_a_change_of_spelling_is_no_fault() {
        let mut expected = expecting(BodyCheck::Json(serde_json::json!({"a": 1, "b": [true]})));
        for body in [r#"{"a":1,"b":[true]}"#, r#"{"b":[true],"a":1}"#, r#"{"a":1,"b":[true]}"#, "{ \"a\": 1, \"b\": [true] }"] {
            for cut in 0..body.len() {
                assert_eq!(judge(&mut expected, body.as_bytes(), cut), Judgement::Right, "{body} cut at {cut}");
            }
        }
        for body in ["", "{", r#"{"a":1,"b":[true]"#, r#"{"a":2,"b":[true]}"#, r#"{"a":1,"b":[true]} x"#] {
            assert!(matches!(judge(&mut expected, body.as_bytes(), 3), Judgement::Wrong(Wrong::Json(_))), "{body}");
        }
    }

    proptest! {
        #[test]
        fn a_text_body_is_right_only_when_every_byte_is(text in "[a-c]{0,40}", other in "[a-c]{0,40}", cut in 0usize..50) {
            let mut expected = expecting(BodyCheck::Text(text.clone()));
            let right = judge(&mut expected, other.as_bytes(), cut) == Judgement::Right;
            prop_assert_eq!(right, text == other);
        }
    }
}
