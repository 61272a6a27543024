//! Reads the head of a response: the length of its body, and whether the connection is kept.

use super::Malformed;
use crate::limits::HEADERS_MAX;
use httparse::{EMPTY_HEADER, Header, ParserConfig, Response, Status};
use std::mem::MaybeUninit;

/// Headers that are read without an allocation. Nearly every response has fewer.
const HEADERS_USUAL: usize = 128;

/// Parses a head and passes it to `take` with its length in bytes. Returns `None` if it is
/// incomplete.
pub(super) fn parse<T>(
    bytes: &[u8],
    take: impl FnOnce(&Response<'_, '_>, usize) -> Result<T, Malformed>,
) -> Result<Option<T>, Malformed> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_USUAL];
    let mut head = Response::new(&mut []);
    match ParserConfig::default().parse_response_with_uninit_headers(&mut head, bytes, &mut headers)
    {
        Ok(Status::Partial) => Ok(None),
        Ok(Status::Complete(length)) => take(&head, length).map(Some),
        Err(_) => parse_unusual(bytes, take),
    }
}

/// Parses a head with many headers or folded ones.
#[cold]
fn parse_unusual<T>(
    bytes: &[u8],
    take: impl FnOnce(&Response<'_, '_>, usize) -> Result<T, Malformed>,
) -> Result<Option<T>, Malformed> {
    let bytes = unfolded(bytes);
    let mut headers = vec![EMPTY_HEADER; HEADERS_MAX];
    let mut head = Response::new(&mut headers);
    match head.parse(&bytes) {
        Ok(Status::Partial) => Ok(None),
        Ok(Status::Complete(length)) => take(&head, length).map(Some),
        Err(httparse::Error::TooManyHeaders) => Err(Malformed::TooManyHeaders),
        // It has a status line.
        Err(error) if head.code.is_some() => Err(Malformed::Head(error.to_string())),
        Err(error) => Err(Malformed::NotHttp(error.to_string())),
    }
}

/// Returns a head with each header on one line. Spaces replace a line break before a space or tab
/// (RFC 9112, 5.2), so no byte moves. A fold directly after the status line remains, and is
/// rejected.
fn unfolded(bytes: &[u8]) -> Vec<u8> {
    let mut text = bytes.to_vec();
    let ends = |text: &[u8], from: usize| {
        text.get(from..).and_then(|rest| rest.iter().position(|b| *b == b'\n')).map(|at| from + at)
    };
    let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
    let Some(mut line) = ends(&text, start).map(|end| end + 1) else { return text };
    while let Some(end) = ends(&text, line) {
        if matches!(&text[line..end], b"" | b"\r") {
            break;
        }
        if matches!(text.get(end + 1), Some(b' ' | b'\t')) {
            text[end] = b' ';
            if text[end - 1] == b'\r' {
                text[end - 1] = b' ';
            }
        }
        line = end + 1;
    }
    text
}

/// Whether a head may end in bytes after the first `before`. Only then is it worth parsing again.
pub(super) fn may_end(bytes: &[u8], before: usize) -> bool {
    let fresh = &bytes[before.saturating_sub(3)..];
    fresh.windows(2).any(|pair| pair == b"\n\n") || fresh.windows(3).any(|three| three == b"\n\r\n")
}

/// What the headers say about the length of the body and the connection.
pub(super) struct Framing {
    pub length: Option<u64>,
    pub chunked: bool,
    pub keep_alive: Option<bool>,
}

impl Framing {
    pub fn from_headers(headers: &[Header<'_>]) -> Result<Framing, Malformed> {
        let mut framing = Framing { length: None, chunked: false, keep_alive: None };
        for header in headers {
            // Most names differ in length, so few are compared.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    framing.length = Some(
                        content_length(header.value, framing.length).ok_or(Malformed::Length)?,
                    );
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    framing.code(header.value)?
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for option in header.value.split(|b| *b == b',') {
                        match option.trim_ascii() {
                            o if o.eq_ignore_ascii_case(b"close") => {
                                framing.keep_alive = Some(false)
                            }
                            o if o.eq_ignore_ascii_case(b"keep-alive")
                                && framing.keep_alive.is_none() =>
                            {
                                framing.keep_alive = Some(true)
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if framing.chunked && framing.length.is_some() {
            return Err(Malformed::Length);
        }
        Ok(framing)
    }

    /// Reads a Transfer-Encoding line. All lines form one list (RFC 9110, 5.3), which may contain
    /// only one `chunked`.
    fn code(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let refused = |coding: &[u8]| {
            Err(Malformed::TransferCoding(String::from_utf8_lossy(coding).into_owned()))
        };
        for coding in
            value.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty())
        {
            if self.chunked || !coding.eq_ignore_ascii_case(b"chunked") {
                return refused(if self.chunked { b"chunked, chunked" } else { coding });
            }
            self.chunked = true;
        }
        if self.chunked { Ok(()) } else { refused(b"") }
    }
}

/// Reads a Content-Length, given the value of an earlier one. A list may repeat the same number
/// (RFC 9110, 8.6).
pub(crate) fn content_length(value: &[u8], before: Option<u64>) -> Option<u64> {
    std::str::from_utf8(value).ok()?.split(',').try_fold(before, |before, part| {
        let digits = part.trim_matches([' ', '\t']);
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let length = digits.parse().ok().filter(|_| is_number)?;
        before.is_none_or(|before| before == length).then_some(Some(length))
    })?
}
