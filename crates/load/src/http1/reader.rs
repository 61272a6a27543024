//! Reads the responses of one HTTP/1.1 connection, in whatever pieces they arrive.
//!
//! A response may be cut anywhere, so the reader keeps its place between pieces: in a head, in a
//! body of known length, in chunks, or in a body that ends with the connection. `head.rs` parses
//! heads, `chunked.rs` chunks. Start with `AnswerReader::read_response`.

use super::Malformed;
use super::chunked::{Chunked, SizeLine};
use super::head::{self, Framing};
use crate::answer::Finished;
use crate::check::{Checking, Judgement, KEPT_MAX, ResponseCheck};
use crate::decode::{codings, decoded};
use crate::headers::Headers;
use crate::limits::{HEAD_MAX, INTERIM_MAX};
use httparse::Response;

/// A head up to this length is parsed after each piece, so that other protocols are recognized
/// soon. A longer one is parsed once it may be complete.
const PARSED_EARLY: usize = 4 << 10;

enum Phase {
    Head,
    /// This many bytes of the body are left.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// What follows a head.
enum Next {
    /// The next head, because this was an interim response.
    Head,
    Body,
    /// Nothing: the response is complete.
    End,
}

/// Reads one response after the other from a connection's bytes.
pub struct AnswerReader {
    phase: Phase,
    /// An incomplete head.
    partial_head: Vec<u8>,
    checking: Checking,
    status: u16,
    interim: u8,
    keep_alive: bool,
    bytes: u64,
    kept: Option<Kept>,
}

/// Headers and body of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The header `Content-Type`.
    pub content_type: Option<String>,
    /// The header `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// The names of all headers in lower case, including repetitions.
    pub headers: Vec<String>,
    /// The body without framing, at most its first 16 MiB.
    pub body: Vec<u8>,
}

impl Kept {
    /// Returns the body without its content coding.
    ///
    /// # Errors
    /// An unknown coding, or a body that does not match it.
    pub fn text(&self) -> Result<Vec<u8>, String> {
        let codings = codings(self.content_encoding.as_deref().unwrap_or_default().as_bytes())?;
        decoded(&codings, &self.body, KEPT_MAX)
    }
}

impl Default for AnswerReader {
    fn default() -> Self {
        AnswerReader {
            phase: Phase::Head,
            partial_head: Vec::new(),
            checking: Checking::default(),
            status: 0,
            interim: 0,
            keep_alive: true,
            bytes: 0,
            kept: None,
        }
    }
}

impl AnswerReader {
    /// Keeps the headers and body of the next response.
    pub(crate) fn keep(&mut self) {
        self.kept = Some(Kept::default());
    }

    /// Returns what was kept.
    pub(crate) fn take_kept(&mut self) -> Kept {
        self.kept.take().unwrap_or_default()
    }

    /// Whether an incomplete response was read.
    pub fn is_within_answer(&self) -> bool {
        self.bytes > 0 || !self.partial_head.is_empty()
    }

    /// Reads from `input` until a response is complete or the input is used up. Returns how many
    /// bytes were used, and the response.
    ///
    /// # Errors
    /// Why the bytes are not a response. The connection cannot be used any more.
    pub fn read_response(
        &mut self,
        input: &[u8],
        check: &mut ResponseCheck<'_>,
    ) -> Result<(usize, Option<Finished>), Malformed> {
        let is_fresh = !self.is_within_answer();
        if is_fresh && let Some((length, status)) = check.known(input) {
            let finished = Finished {
                status,
                judgement: Judgement::Correct,
                bytes: length as u64,
                keep_alive: true,
            };
            return Ok((length, Some(finished)));
        }
        let mut used = 0;
        loop {
            let rest = &input[used..];
            if rest.is_empty() {
                return Ok((used, None));
            }
            let finished = match &mut self.phase {
                Phase::Head => match self.read_head(rest, check)? {
                    None => return Ok((input.len(), None)),
                    Some((taken, next)) => {
                        used += taken;
                        matches!(next, Next::End)
                    }
                },
                Phase::Length(left) | Phase::Chunked(Chunked::Data(left)) => {
                    let take = (*left).min(rest.len() as u64) as usize;
                    *left -= take as u64;
                    let is_done = *left == 0;
                    self.take_body(&rest[..take], check);
                    used += take;
                    match (is_done, &self.phase) {
                        (true, Phase::Length(_)) => true,
                        (true, _) => {
                            self.phase = Phase::Chunked(Chunked::End(false));
                            false
                        }
                        (false, _) => false,
                    }
                }
                Phase::UntilClose => {
                    self.take_body(rest, check);
                    return Ok((input.len(), None));
                }
                Phase::Chunked(framing) => {
                    used += 1;
                    self.bytes += 1;
                    framing.read_byte(rest[0])?
                }
            };
            if finished {
                let finished = self.finish(check);
                if is_fresh && finished.keep_alive && finished.judgement == Judgement::Correct {
                    check.remember(&self.checking, &input[..used], finished.status);
                }
                return Ok((used, Some(finished)));
            }
        }
    }

    /// Handles the end of the connection. A response that lasts until the end is now complete.
    ///
    /// # Errors
    /// [`Malformed::CutShort`] within any other response, or what is wrong with it before that.
    pub fn end(&mut self, check: &mut ResponseCheck<'_>) -> Result<Finished, Malformed> {
        match self.phase {
            Phase::UntilClose => Ok(self.finish(check)),
            _ => {
                // An error in an incomplete head takes precedence.
                let half = std::mem::take(&mut self.partial_head);
                self.parse_head(&half, check)?;
                Err(Malformed::CutShort)
            }
        }
    }

    fn take_body(&mut self, bytes: &[u8], check: &ResponseCheck<'_>) {
        self.bytes += bytes.len() as u64;
        if let Some(kept) = &mut self.kept {
            let room = KEPT_MAX - kept.body.len();
            kept.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        check.body(&mut self.checking, bytes);
    }

    fn finish(&mut self, check: &mut ResponseCheck<'_>) -> Finished {
        let judgement = check.finish(&mut self.checking);
        let finished = Finished {
            status: self.status,
            judgement,
            bytes: self.bytes,
            keep_alive: self.keep_alive,
        };
        self.phase = Phase::Head;
        (self.bytes, self.interim) = (0, 0);
        finished
    }

    /// Reads a head, starting with the bytes that arrived before. Returns how many bytes of `rest`
    /// were used and what follows. `None` if the head is incomplete.
    fn read_head(
        &mut self,
        rest: &[u8],
        check: &mut ResponseCheck<'_>,
    ) -> Result<Option<(usize, Next)>, Malformed> {
        if self.partial_head.is_empty() {
            // Limited, so that the result does not depend on how much has arrived.
            let rest = &rest[..rest.len().min(HEAD_MAX + 1)];
            let found = self.parse_head(rest, check)?;
            if found.is_none() {
                self.partial_head.extend_from_slice(rest);
                return if rest.len() > HEAD_MAX { Err(Malformed::HeadTooLong) } else { Ok(None) };
            }
            return Ok(found);
        }
        let before = self.partial_head.len();
        let mut whole = std::mem::take(&mut self.partial_head);
        whole.extend_from_slice(&rest[..rest.len().min(HEAD_MAX + 1 - before)]);
        let is_parsed =
            whole.len() <= PARSED_EARLY || whole.len() > HEAD_MAX || head::may_end(&whole, before);
        let found = if is_parsed { self.parse_head(&whole, check)? } else { None };
        match found {
            Some((length, next)) => {
                whole.clear();
                self.partial_head = whole;
                Ok(Some((length - before, next)))
            }
            None if whole.len() > HEAD_MAX => Err(Malformed::HeadTooLong),
            None => {
                self.partial_head = whole;
                Ok(None)
            }
        }
    }

    fn parse_head(
        &mut self,
        bytes: &[u8],
        check: &mut ResponseCheck<'_>,
    ) -> Result<Option<(usize, Next)>, Malformed> {
        head::parse(bytes, |head, length| {
            self.take_head(head, length, check).map(|next| (length, next))
        })
    }

    fn take_head(
        &mut self,
        head: &Response<'_, '_>,
        length: usize,
        check: &mut ResponseCheck<'_>,
    ) -> Result<Next, Malformed> {
        if length > HEAD_MAX {
            return Err(Malformed::HeadTooLong);
        }
        self.bytes += length as u64;
        let status = head.code.unwrap_or(0);
        // Status 101 is final: no request asks for another protocol, so what follows it is not ours
        // to read.
        if (100..200).contains(&status) && status != 101 {
            self.interim += 1;
            return if self.interim > INTERIM_MAX {
                Err(Malformed::TooManyInterim)
            } else {
                Ok(Next::Head)
            };
        }
        if status < 100 {
            return Err(Malformed::Head("a status below 100".into()));
        }
        let framing = Framing::from_headers(head.headers)?;
        self.status = status;
        if let Some(kept) = &mut self.kept {
            let value = |name: &str| {
                head.headers.value(name).map(|value| String::from_utf8_lossy(value).into_owned())
            };
            (kept.content_type, kept.content_encoding) =
                (value("content-type"), value("content-encoding"));
            kept.headers =
                head.headers.iter().map(|header| header.name.to_ascii_lowercase()).collect();
        }
        check.head(&mut self.checking, status, &*head.headers);
        let is_1_1 = head.version == Some(1);
        // HTTP/1.0 has no Transfer-Encoding, so its framing cannot be trusted any further (RFC
        // 9112, 6.1).
        self.keep_alive =
            framing.keep_alive.unwrap_or(is_1_1) && (is_1_1 || !framing.chunked) && status != 101;
        if check.is_head || matches!(status, 101 | 204 | 304) {
            return Ok(Next::End);
        }
        self.phase = match framing.length {
            _ if framing.chunked => Phase::Chunked(Chunked::Size(SizeLine::default())),
            Some(0) => return Ok(Next::End),
            Some(length) => Phase::Length(length),
            None => {
                self.keep_alive = false;
                Phase::UntilClose
            }
        };
        Ok(Next::Body)
    }
}
