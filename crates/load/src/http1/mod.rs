//! The client side of HTTP/1.1 (RFC 9112) without I/O: reads responses, in whatever pieces they
//! arrive.
//!
//! `Http1` is the state of one connection: the requests in flight, in order. [`AnswerReader`]
//! (`reader`) reads one response after the other. `head` reads what a head says about framing, and
//! `chunked` reads chunks.

mod chunked;
mod head;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use head::content_length;
pub use reader::{AnswerReader, Kept};

use crate::answer::{Ending, Event, Finished, Retry};
use crate::check::Checks;
use crate::limits::{CHUNK_LINE_TOO_LONG, HEAD_TOO_LONG, TOO_MANY_HEADERS, TOO_MANY_INTERIM};
use std::collections::VecDeque;
use std::fmt;

/// Why bytes are not a valid HTTP/1.1 response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes are not HTTP.
    NotHttp(String),
    /// The head is invalid.
    Head(String),
    /// The head or the trailers exceed the limit.
    HeadTooLong,
    /// The number of headers or trailers exceeds the limit.
    TooManyHeaders,
    /// The number of interim responses exceeds the limit.
    TooManyInterim,
    /// Content-Length is not a number, appears with two values, or appears together with chunked.
    Length,
    /// A transfer coding other than chunked, or chunked twice.
    TransferCoding(String),
    /// A chunk has no valid size or end.
    Chunk,
    /// A chunk-size line exceeds the limit.
    ChunkLineTooLong,
    /// A trailer is not a header.
    Trailer,
    /// The connection ended within a response.
    CutShort,
    /// The connection ended before a response.
    NoAnswer,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::NotHttp(cause) => write!(f, "not an HTTP answer: {cause}"),
            Malformed::Head(cause) => write!(f, "a malformed response head: {cause}"),
            Malformed::HeadTooLong => f.write_str(HEAD_TOO_LONG),
            Malformed::TooManyHeaders => f.write_str(TOO_MANY_HEADERS),
            Malformed::TooManyInterim => f.write_str(TOO_MANY_INTERIM),
            Malformed::Length => f.write_str("an ambiguous Content-Length"),
            Malformed::TransferCoding(coding) => {
                write!(f, "Transfer-Encoding `{coding}` instead of `chunked`")
            }
            Malformed::Chunk => f.write_str("a malformed chunk"),
            Malformed::ChunkLineTooLong => f.write_str(CHUNK_LINE_TOO_LONG),
            Malformed::Trailer => f.write_str("a malformed trailer"),
            Malformed::CutShort => f.write_str("closed in the middle of an answer"),
            Malformed::NoAnswer => f.write_str("closed without an answer"),
        }
    }
}

/// A request in flight, and where it ends, counted in all bytes of the connection.
struct InFlight {
    ticket: u32,
    ends_at: u64,
}

/// The requests in flight on one connection, in the order in which they were sent.
#[derive(Default)]
pub(crate) struct Http1 {
    reader: AnswerReader,
    in_flight: VecDeque<InFlight>,
    /// Where the oldest request starts, counted in all bytes of the connection.
    begins_at: u64,
    /// Whether the server takes no further request on this connection.
    closing: bool,
    /// Whether bytes arrived that no request accounts for.
    surplus: bool,
}

impl Http1 {
    pub fn in_flight(&self) -> u32 {
        self.in_flight.len() as u32
    }

    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether bytes arrived after a complete response that no request accounts for.
    pub fn has_surplus(&self) -> bool {
        self.surplus
    }

    /// Whether part of the oldest request is not sent yet.
    pub fn is_sending(&self, sent: u64) -> bool {
        self.in_flight.front().is_some_and(|request| request.ends_at > sent)
    }

    /// Whether part of a response has arrived.
    pub fn is_within_answer(&self) -> bool {
        self.reader.is_within_answer()
    }

    /// Keeps the headers and body of the next response.
    pub fn keep(&mut self) {
        self.reader.keep();
    }

    /// Returns what was kept.
    pub fn take_kept(&mut self) -> Kept {
        self.reader.take_kept()
    }

    /// Adds a request that ends at this position, counted in all bytes of the connection.
    pub fn begin(&mut self, ticket: u32, ends_at: u64) {
        self.in_flight.push_back(InFlight { ticket, ends_at });
    }

    /// Reads received bytes, given how many bytes were sent so far.
    ///
    /// # Errors
    /// Why the connection cannot be used any more. Requests in flight get no response.
    pub fn receive(
        &mut self,
        mut input: &[u8],
        sent: u64,
        checks: &mut impl Checks,
        events: &mut Vec<Event>,
    ) -> Result<(), Malformed> {
        while !input.is_empty() {
            let Some(ticket) = self.in_flight.front().map(|request| request.ticket) else {
                // There is no request, so the bytes are not read.
                self.closing = true;
                match events.last_mut() {
                    // Bytes that arrive together with a response belong to it. It is longer than it
                    // announces.
                    Some(last @ Event::Answered { .. }) => {
                        *last = Event::Failed {
                            ticket: last.ticket(),
                            why: "more bytes than the answer announces".into(),
                            retry: Retry::No,
                        };
                    }
                    _ => self.surplus = true,
                }
                return Ok(());
            };
            let (used, finished) = self.reader.read_response(input, &mut checks.check(ticket))?;
            input = &input[used..];
            if let Some(finished) = finished {
                self.answered(ticket, finished, sent, events);
            }
        }
        Ok(())
    }

    /// Ends the connection, given how many bytes were sent. Appends events for requests that may be
    /// retried.
    ///
    /// # Errors
    /// If this truncates a response, or leaves a request without one.
    pub fn end(
        &mut self,
        how: Ending,
        sent: u64,
        checks: &mut impl Checks,
        events: &mut Vec<Event>,
    ) -> Result<(), Malformed> {
        self.closing = true;
        let Some(ticket) = self.in_flight.front().map(|request| request.ticket) else {
            return Ok(());
        };
        let is_within = self.reader.is_within_answer();
        let mut why = Malformed::NoAnswer;
        if is_within {
            match self.reader.end(&mut checks.check(ticket)) {
                Ok(finished) if how == Ending::InOrder => {
                    self.answered(ticket, finished, sent, events);
                    return Ok(());
                }
                // A body that lasts until the end is incomplete if the end was not in order.
                Ok(_) => why = Malformed::CutShort,
                Err(malformed) => why = malformed,
            }
        }
        let mut begins_at = self.begins_at;
        for (number, InFlight { ticket, ends_at }) in self.in_flight.iter().enumerate() {
            let retry = how.retry(std::mem::replace(&mut begins_at, *ends_at) >= sent);
            if (number > 0 || !is_within) && retry != Retry::No {
                events.push(Event::Failed {
                    ticket: *ticket,
                    why: Malformed::NoAnswer.to_string(),
                    retry,
                });
            }
        }
        Err(why)
    }

    fn answered(
        &mut self,
        ticket: u32,
        mut finished: Finished,
        sent: u64,
        events: &mut Vec<Event>,
    ) {
        if let Some(request) = self.in_flight.pop_front() {
            self.begins_at = request.ends_at;
            // The response arrived before all of its request was sent. The rest would have to be
            // sent before another request (RFC 9112, 9.5).
            finished.keep_alive &= request.ends_at <= sent;
        }
        let keep_alive = finished.keep_alive;
        events.push(Event::Answered { ticket, finished });
        if !keep_alive {
            self.closing = true;
            // After a final response, the server processes no further request of the connection
            // (RFC 9112, 9.6).
            for InFlight { ticket, .. } in self.in_flight.drain(..) {
                events.push(Event::Failed {
                    ticket,
                    why: "the connection ended with an earlier response".into(),
                    retry: Retry::Safe,
                });
            }
        }
    }
}
