//! Writes HTTP/1.1 responses as bytes: no socket, no clock.
//!
//! A long body is made in pieces as there is room for it. Start with [`Writer`].

use std::sync::Arc;

/// The interim response to `Expect: 100-continue`.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// What `--garbage-every` sends: no line of it is HTTP.
pub const GARBAGE: &[u8] = b"\x00\xff\x15this is not HTTP\r\n\r\n\x80\x81\x82\r\n";

/// A body, known by its length and its bytes.
#[derive(Clone, Debug)]
pub enum Body {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// This number of bytes of the alphabet, over and over.
    Filler(u64),
}

impl Body {
    /// The length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Filler(length) => *length,
        }
    }

    /// Appends the bytes `from..from + length`.
    fn copy(&self, from: u64, length: usize, out: &mut Vec<u8>) {
        match self {
            Body::Bytes(bytes) => out.extend_from_slice(&bytes[from as usize..][..length]),
            Body::Filler(_) => {
                let mut at = (from % 26) as usize;
                let end = out.len() + length;
                while out.len() < end {
                    let piece = &ALPHABETS[at..];
                    out.extend_from_slice(&piece[..piece.len().min(end - out.len())]);
                    at = 0;
                }
            }
        }
    }
}

/// Whole alphabets, to copy a long filler in blocks.
const ALPHABETS: [u8; 26 * 64] = {
    let mut bytes = [0; 26 * 64];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = b'a' + (at % 26) as u8;
        at += 1;
    }
    bytes
};

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By `content-length`.
    Length,
    /// In chunks of at most this number of bytes.
    Chunked(u64),
    /// By the end of the connection.
    Close,
}

/// What a head says about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Nothing: it stays open, the default of HTTP/1.1.
    Unsaid,
    /// `keep-alive`, for HTTP/1.0.
    KeepAlive,
    /// `close`.
    Close,
}

/// A head to be written.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The status code.
    pub status: u16,
    /// The value of `content-type`.
    pub content_type: &'a str,
    /// Additional whole header lines.
    pub padding: &'a [u8],
    /// How the body will end.
    pub framing: Framing,
    /// The `connection` header.
    pub connection: Connection,
    /// The request was HEAD: the head is that of a GET, no body follows.
    pub head_only: bool,
}

impl Head<'_> {
    /// Returns whether a body follows this head at all.
    pub fn has_body(&self) -> bool {
        !self.head_only && !forbids_body(self.status)
    }

    fn write(&self, length: u64, out: &mut Vec<u8>) {
        let line = format!(
            "HTTP/1.1 {} {}\r\ncontent-type: {}\r\n",
            self.status,
            reason(self.status),
            self.content_type
        );
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(self.padding);
        if !forbids_body(self.status) {
            match self.framing {
                Framing::Length => {
                    out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes())
                }
                Framing::Chunked(_) => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
                Framing::Close => {}
            }
        }
        match self.connection {
            Connection::Unsaid => {}
            Connection::KeepAlive => out.extend_from_slice(b"connection: keep-alive\r\n"),
            Connection::Close => out.extend_from_slice(b"connection: close\r\n"),
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// Returns the header line of exactly `bytes` bytes for `--headers-size`.
pub fn padding(bytes: usize) -> Vec<u8> {
    let (start, end) = (b"x-padding: ".as_slice(), b"\r\n".as_slice());
    let middle = vec![b'x'; bytes.saturating_sub(start.len() + end.len())];
    [start, &middle, end].concat()
}

/// The smallest line of `padding`: one byte of value.
pub const LEAST_PADDING: u64 = 14;

/// Writes one response, in any number of pieces.
#[derive(Debug)]
pub struct Writer {
    /// What is written before the next byte of the body: the head, at first.
    head: Vec<u8>,
    body: Body,
    at: u64,
    /// Where the body ends: before its length if it is cut, at 0 if there is none.
    end: u64,
    chunk: Option<u64>,
    cut: bool,
    corrupt: Option<u64>,
}

impl Writer {
    /// Begins the response of `head` and `body`.
    pub fn new(head: &Head, body: Body) -> Writer {
        let mut bytes = Vec::with_capacity(256);
        head.write(body.len(), &mut bytes);
        let chunk = match head.framing {
            Framing::Chunked(chunk) if head.has_body() => Some(chunk),
            _ => None,
        };
        let end = if head.has_body() { body.len() } else { 0 };
        Writer { head: bytes, body, at: 0, end, chunk, cut: false, corrupt: None }
    }

    /// Makes one bit of the body's byte `at` wrong.
    pub fn corrupt(mut self, at: u64) -> Writer {
        self.corrupt = Some(at);
        self
    }

    /// Ends the response after half of its body.
    pub fn cut(mut self) -> Writer {
        self.end /= 2;
        self.cut = true;
        self
    }

    /// Appends the head, if it has not been written, and at most `most` bytes of the body, in one
    /// chunk if there are chunks. Returns whether the response is complete.
    pub fn write(&mut self, most: u64, out: &mut Vec<u8>) -> bool {
        out.append(&mut self.head);
        if self.at < self.end {
            let piece = most.min(self.chunk.unwrap_or(u64::MAX)).min(self.body.len() - self.at);
            // A cut chunk has announced its whole length.
            let here = piece.min(self.end - self.at);
            if self.chunk.is_some() {
                out.extend_from_slice(format!("{piece:x}\r\n").as_bytes());
            }
            let start = out.len();
            self.body.copy(self.at, here as usize, out);
            if let Some(at) =
                self.corrupt.and_then(|at| at.checked_sub(self.at)).filter(|&at| at < here)
            {
                out[start + at as usize] ^= 1;
            }
            if self.chunk.is_some() && here == piece {
                out.extend_from_slice(b"\r\n");
            }
            self.at += here;
        }
        let done = self.at == self.end;
        if done && self.chunk.is_some() && !self.cut {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        done
    }
}

/// No body may follow these, for any request.
fn forbids_body(status: u16) -> bool {
    matches!(status, 204 | 304)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        // The phrase may be empty; the space before it is required.
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head {
        status: 200,
        content_type: "text/plain",
        padding: b"",
        framing: Framing::Length,
        connection: Connection::Unsaid,
        head_only: false,
    };

    fn hello() -> Body {
        Body::Bytes(b"hello".as_slice().into())
    }

    fn all(mut writer: Writer, most: u64) -> String {
        let mut out = Vec::new();
        while !writer.write(most, &mut out) {}
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn by_length() {
        let expected =
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello";
        for most in [1, 2, 5, u64::MAX] {
            assert_eq!(all(Writer::new(&HEAD, hello()), most), expected);
        }
    }

    #[test]
    fn in_chunks() {
        let head = Head { framing: Framing::Chunked(2), ..HEAD };
        let start =
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(
            all(Writer::new(&head, hello()), 9),
            format!("{start}2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n")
        );
        assert_eq!(all(Writer::new(&head, Body::Filler(0)), 9), format!("{start}0\r\n\r\n"));
    }

    #[test]
    fn by_the_end_of_the_connection() {
        let head = Head { framing: Framing::Close, connection: Connection::Close, ..HEAD };
        let expected =
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nhello";
        assert_eq!(all(Writer::new(&head, hello()), u64::MAX), expected);
    }

    #[test]
    fn without_a_body() {
        let head = Head { head_only: true, connection: Connection::KeepAlive, ..HEAD };
        let expected = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(all(Writer::new(&head, hello()), u64::MAX), expected);
        for framing in [Framing::Length, Framing::Chunked(2), Framing::Close] {
            let head = Head { status: 204, framing, ..HEAD };
            assert_eq!(
                all(Writer::new(&head, hello()), u64::MAX),
                "HTTP/1.1 204 No Content\r\ncontent-type: text/plain\r\n\r\n"
            );
        }
    }

    #[test]
    fn an_unknown_status_keeps_its_space() {
        assert!(
            all(Writer::new(&Head { status: 299, ..HEAD }, hello()), 9)
                .starts_with("HTTP/1.1 299 \r\n")
        );
    }

    #[test]
    fn one_byte_is_wrong() {
        for most in [1, 3, 9] {
            for at in 0..5 {
                let whole = all(Writer::new(&HEAD, hello()).corrupt(at), most);
                let body = whole.split_once("\r\n\r\n").unwrap().1;
                let wrong: Vec<usize> =
                    (0..5).filter(|&i| body.as_bytes()[i] != b"hello"[i]).collect();
                assert_eq!((wrong, body.len()), (vec![at as usize], 5));
            }
        }
    }

    #[test]
    fn half_the_body_is_missing() {
        assert!(all(Writer::new(&HEAD, hello()).cut(), 9).ends_with("content-length: 5\r\n\r\nhe"));
        let head = Head { framing: Framing::Chunked(5), ..HEAD };
        assert!(all(Writer::new(&head, hello()).cut(), 9).ends_with("\r\n\r\n5\r\nhe"));
        let head = Head { framing: Framing::Chunked(2), ..HEAD };
        assert!(
            all(Writer::new(&head, hello()).cut(), 9).ends_with("\r\n\r\n2\r\nhe\r\n"),
            "no last chunk"
        );
    }

    #[test]
    fn filler_is_the_alphabet() {
        let whole = all(Writer::new(&HEAD, Body::Filler(5000)), 700);
        let body = whole.split_once("\r\n\r\n").unwrap().1.as_bytes();
        assert_eq!(body.len(), 5000);
        assert!(body.iter().enumerate().all(|(at, &byte)| byte == b'a' + (at % 26) as u8));
    }

    #[test]
    fn padding_is_exact() {
        for bytes in [LEAST_PADDING as usize, 100, 8192] {
            let line = padding(bytes);
            assert_eq!(line.len(), bytes);
            assert!(line.starts_with(b"x-padding: x") && line.ends_with(b"\r\n"));
        }
    }
}
