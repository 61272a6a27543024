//! Reads HTTP/1.0 and HTTP/1.1 requests from bytes: no socket, no clock, and no state beyond one
//! request. Start with [`Reader::read`].

use std::mem::{self, MaybeUninit};

use crate::units;

/// The maximum length of a head in bytes, including its blank line.
pub const HEAD_LIMIT: usize = 64 * 1024;
const HEADERS_LIMIT: usize = 256;

/// A request, read whole. Its body has been discarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// HEAD: the response ends after its head.
    pub head_only: bool,
    /// HTTP/1.0: has no chunks, and needs a header to keep the connection.
    pub http_1_0: bool,
    /// Whether the client wants to use the connection again.
    pub keep_alive: bool,
    /// The kind of path.
    pub route: Route,
    /// The keys of the query string.
    pub wishes: Wishes,
    /// The path as milliseconds, in nanoseconds, if it is one whole number: `/300`.
    pub path_delay: Option<u64>,
}

/// The kind of path of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Any path: the body that the flags set.
    Body,
    /// `/echo...`: the head of the request itself.
    Echo(Box<[u8]>),
    /// `GET /__control/stats`: the counters.
    Stats,
}

/// The keys of a query string, each instead of the flag of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// `delay`, in nanoseconds.
    pub delay: Option<u64>,
    /// `cpu`, in nanoseconds.
    pub cpu: Option<u64>,
    /// `size`, in bytes.
    pub size: Option<u64>,
    /// `status`.
    pub status: Option<u16>,
}

/// What the bytes so far contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// More bytes are needed.
    Incomplete,
    /// The client waits for `100 Continue` before it sends the body.
    Continue,
    /// A request has been read whole.
    Request(Request),
}

/// The status for a request that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub u16);

const BAD: Refusal = Refusal(400);
const TOO_LARGE: Refusal = Refusal(431);
const NOT_IMPLEMENTED: Refusal = Refusal(501);
const VERSION: Refusal = Refusal(505);

/// Reads the requests of one connection.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Body(Request, Rest),
}

/// The rest of a body.
#[derive(Debug)]
enum Rest {
    Length(u64),
    Chunked(Chunk),
}

impl Reader {
    /// Continues to read `input`, and returns how many of its bytes were used and what they were.
    /// The caller keeps the others and passes them again with more bytes. All bytes of an
    /// incomplete head are kept. A `Refusal` is final: the following bytes cannot be parsed.
    pub fn read(&mut self, input: &[u8]) -> Result<(usize, Event), Refusal> {
        match mem::take(&mut self.state) {
            State::Head => self.head(input),
            State::Body(request, rest) => self.body(request, rest, input),
        }
    }

    fn head(&mut self, input: &[u8]) -> Result<(usize, Event), Refusal> {
        let Some(head) = Head::parse(input)? else {
            return if input.len() < HEAD_LIMIT {
                Ok((0, Event::Incomplete))
            } else {
                Err(TOO_LARGE)
            };
        };
        match head.rest {
            None => Ok((head.length, Event::Request(head.request))),
            Some(rest) if head.expects_continue => {
                self.state = State::Body(head.request, rest);
                Ok((head.length, Event::Continue))
            }
            Some(rest) => {
                let (used, event) = self.body(head.request, rest, &input[head.length..])?;
                Ok((head.length + used, event))
            }
        }
    }

    fn body(
        &mut self,
        request: Request,
        mut rest: Rest,
        input: &[u8],
    ) -> Result<(usize, Event), Refusal> {
        let (used, whole) = match &mut rest {
            Rest::Length(left) => {
                let used = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= used as u64;
                (used, *left == 0)
            }
            Rest::Chunked(chunk) => chunk.discard(input)?,
        };
        if whole {
            return Ok((used, Event::Request(request)));
        }
        self.state = State::Body(request, rest);
        Ok((used, Event::Incomplete))
    }
}

struct Head {
    length: usize,
    request: Request,
    rest: Option<Rest>,
    expects_continue: bool,
}

impl Head {
    /// Returns `None` if the head is not complete.
    fn parse(input: &[u8]) -> Result<Option<Head>, Refusal> {
        let mut headers = [MaybeUninit::uninit(); HEADERS_LIMIT];
        let mut parsed = httparse::Request::new(&mut []);
        let length = match parsed.parse_with_uninit_headers(input, &mut headers) {
            Ok(httparse::Status::Complete(length)) if length <= HEAD_LIMIT => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(TOO_LARGE),
            Err(httparse::Error::Version) => return Err(VERSION),
            Err(_) => return Err(BAD),
        };
        let (method, target) = (parsed.method.ok_or(BAD)?, parsed.path.ok_or(BAD)?);
        let http_1_0 = parsed.version == Some(0);

        let mut fields = Fields::default();
        for header in parsed.headers.iter() {
            fields.take(header)?;
        }
        // Several hosts, or none in HTTP/1.1, must be refused (RFC 9112, 3.2).
        if fields.hosts > 1 || (fields.hosts == 0 && !http_1_0) {
            return Err(BAD);
        }
        let rest = match (fields.chunked, fields.length) {
            // Either allows request smuggling.
            (true, Some(_)) => return Err(BAD),
            (true, None) if http_1_0 => return Err(BAD),
            (true, None) => Some(Rest::Chunked(Chunk::START)),
            (false, None | Some(0)) => None,
            (false, Some(length)) => Some(Rest::Length(length)),
        };

        let (path, query) = split_target(target);
        let route = match path {
            "/__control/stats" if method == "GET" => Route::Stats,
            _ if path.starts_with("/echo") => Route::Echo(input[..length].into()),
            _ => Route::Body,
        };
        let request = Request {
            head_only: method == "HEAD",
            http_1_0,
            keep_alive: !fields.close && (!http_1_0 || fields.keep_alive),
            route,
            wishes: query.map_or(Ok(Wishes::default()), wishes)?,
            path_delay: path_delay(path),
        };
        Ok(Some(Head {
            length,
            request,
            rest,
            expects_continue: fields.expects_continue && !http_1_0,
        }))
    }
}

/// The header fields that matter for reading and responding.
#[derive(Default)]
struct Fields {
    hosts: u32,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl Fields {
    fn take(&mut self, header: &httparse::Header) -> Result<(), Refusal> {
        let (name, value) = (header.name, header.value);
        if name.eq_ignore_ascii_case("host") {
            self.hosts += 1;
        } else if name.eq_ignore_ascii_case("content-length") {
            let length = whole_number(value).ok_or(BAD)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(BAD);
            }
            self.length = Some(length);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(NOT_IMPLEMENTED);
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case("connection") {
            for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                self.close |= option.eq_ignore_ascii_case(b"close");
                self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if name.eq_ignore_ascii_case("expect") {
            self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
        }
        Ok(())
    }
}

/// Accepts digits only: `str::parse` also accepts a sign, which is not part of a length.
fn whole_number(value: &[u8]) -> Option<u64> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(value).ok()?.parse().ok()
}

fn split_target(target: &str) -> (&str, Option<&str>) {
    let (path, query) =
        target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    // The absolute form, which clients send to a proxy.
    let path = match path.split_once("://") {
        Some((_, rest)) if !path.starts_with('/') => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => path,
    };
    (path, query)
}

/// At most a day, like every duration; a larger number is an ordinary path.
fn path_delay(path: &str) -> Option<u64> {
    let milliseconds = whole_number(path.strip_prefix('/')?.as_bytes())?;
    (milliseconds <= 86_400_000).then(|| milliseconds * 1_000_000)
}

fn wishes(query: &str) -> Result<Wishes, Refusal> {
    let mut wishes = Wishes::default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match name {
            "delay" => wishes.delay = Some(units::duration(value).map_err(|_| BAD)?),
            "cpu" => wishes.cpu = Some(units::duration(value).map_err(|_| BAD)?),
            "size" => wishes.size = Some(units::size(value).map_err(|_| BAD)?),
            "status" => wishes.status = Some(units::status(value).map_err(|_| BAD)?),
            _ => {}
        }
    }
    Ok(wishes)
}

/// The state within a chunked body. One byte decides the next state, so the division of the bytes
/// does not matter.
#[derive(Clone, Copy, Debug)]
enum Chunk {
    Size { value: u64, digits: u8 },
    Extension(u64),
    SizeEnd(u64),
    Data(u64),
    DataReturn,
    DataEnd,
    TrailerStart,
    Trailer,
    TrailerEnd,
    End,
}

impl Chunk {
    const START: Chunk = Chunk::Size { value: 0, digits: 0 };

    /// Returns how many bytes of `input` belong to the body, and whether it ends with them.
    fn discard(&mut self, input: &[u8]) -> Result<(usize, bool), Refusal> {
        let mut at = 0;
        while at < input.len() {
            if let Chunk::Data(left) = *self {
                let here = (input.len() - at).min(usize::try_from(left).unwrap_or(usize::MAX));
                at += here;
                *self = if here as u64 == left {
                    Chunk::DataReturn
                } else {
                    Chunk::Data(left - here as u64)
                };
                continue;
            }
            let byte = input[at];
            at += 1;
            *self = match (*self, byte) {
                // 15 digits leave room in 64 bits.
                (
                    Chunk::Size { value, digits: digits @ 0..15 },
                    b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
                ) => {
                    let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                    Chunk::Size { value: value * 16 + digit, digits: digits + 1 }
                }
                (Chunk::Size { value, digits: 1.. }, b';' | b' ' | b'\t') => {
                    Chunk::Extension(value)
                }
                (Chunk::Size { value, digits: 1.. } | Chunk::Extension(value), b'\r') => {
                    Chunk::SizeEnd(value)
                }
                (Chunk::Extension(value), byte) if byte != b'\n' => Chunk::Extension(value),
                (Chunk::SizeEnd(0), b'\n') => Chunk::TrailerStart,
                (Chunk::SizeEnd(value), b'\n') => Chunk::Data(value),
                (Chunk::DataReturn, b'\r') => Chunk::DataEnd,
                (Chunk::DataEnd, b'\n') => Chunk::START,
                (Chunk::TrailerStart, b'\r') => Chunk::End,
                (Chunk::Trailer, b'\r') => Chunk::TrailerEnd,
                (Chunk::TrailerStart | Chunk::Trailer, byte) if byte != b'\n' => Chunk::Trailer,
                (Chunk::TrailerEnd, b'\n') => Chunk::TrailerStart,
                (Chunk::End, b'\n') => return Ok((at, true)),
                _ => return Err(BAD),
            };
        }
        Ok((at, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads pieces like a connection: unused bytes are kept and passed again. An `Err` ends it.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Option<Refusal>) {
        let (mut reader, mut kept, mut events) = (Reader::default(), Vec::new(), Vec::new());
        for piece in pieces {
            kept.extend_from_slice(piece);
            loop {
                match reader.read(&kept) {
                    Ok((used, Event::Incomplete)) => {
                        kept.drain(..used);
                        break;
                    }
                    Ok((used, event)) => {
                        kept.drain(..used);
                        events.push(event);
                    }
                    Err(refusal) => return (events, Some(refusal)),
                }
            }
        }
        (events, None)
    }

    fn one(text: &str) -> Request {
        match read([text.as_bytes()]) {
            (events, None) => match &events[..] {
                [Event::Request(request)] => request.clone(),
                other => panic!("{other:?}"),
            },
            refused => panic!("{refused:?}"),
        }
    }

    fn refused(text: &str) -> u16 {
        read([text.as_bytes()]).1.unwrap_or_else(|| panic!("read: {text}")).0
    }

    const MANY: &[u8] = b"GET /a?delay=10ms&x=1 HTTP/1.1\r\nHost: a\r\n\r\n\
        POST /echo HTTP/1.1\r\nhost: a\r\nContent-Length: 5\r\n\r\nhello\
        \r\nPUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n\
        5;name=\"v\"\r\nhello\r\n0C \r\nhello\r\nhello\r\n0\r\nTrailer: t\r\nA: b\r\n\r\n\
        HEAD / HTTP/1.0\r\n\r\n\
        GET /__control/stats HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n";

    #[test]
    fn many_requests_in_one_piece() {
        let (events, refusal) = read([MANY]);
        assert_eq!(refusal, None);
        assert_eq!(events.len(), 6);
        let Event::Request(first) = &events[0] else { panic!() };
        assert_eq!(first.wishes.delay, Some(10_000_000));
        assert!(first.keep_alive && !first.head_only && !first.http_1_0);
        let Event::Request(second) = &events[1] else { panic!() };
        assert_eq!(
            second.route,
            Route::Echo(
                b"POST /echo HTTP/1.1\r\nhost: a\r\nContent-Length: 5\r\n\r\n".as_slice().into()
            )
        );
        assert_eq!(events[2], Event::Continue);
        let Event::Request(head) = &events[4] else { panic!() };
        assert!(head.head_only && head.http_1_0 && !head.keep_alive);
        let Event::Request(last) = &events[5] else { panic!() };
        assert_eq!(last.route, Route::Stats);
        assert!(!last.keep_alive);
    }

    #[test]
    fn a_split_at_any_byte_changes_nothing() {
        let whole = read([MANY]);
        for at in 0..=MANY.len() {
            let (left, right) = MANY.split_at(at);
            assert_eq!(read([left, right]), whole, "split at {at}");
        }
        assert_eq!(read(MANY.chunks(1)), whole);
    }

    #[test]
    fn a_path_may_be_a_number_of_milliseconds() {
        let delay = |path: &str| one(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).path_delay;
        assert_eq!(
            ["/0", "/300", "http://a/7?x"].map(delay),
            [Some(0), Some(300_000_000), Some(7_000_000)]
        );
        assert_eq!(delay("/86400000"), Some(86_400_000_000_000));
        assert_eq!(
            [
                "/",
                "/+1",
                "/1/2",
                "/a",
                "/86400001",
                "/18446744073709551615",
                "/99999999999999999999",
                "*"
            ]
            .map(delay),
            [None; 8]
        );
    }

    #[test]
    fn wishes_replace_flags() {
        let wishes = one(
            "GET /x?a&delay=10ms&cpu=50us&size=1K&status=404&size=2K HTTP/1.1\r\nHost: a\r\n\r\n",
        )
        .wishes;
        let expected = Wishes {
            delay: Some(10_000_000),
            cpu: Some(50_000),
            size: Some(2048),
            status: Some(404),
        };
        assert_eq!(wishes, expected);
        for query in ["delay=10", "cpu=x", "size=-1", "status=99"] {
            assert_eq!(
                refused(&format!("GET /?{query} HTTP/1.1\r\nHost: a\r\n\r\n")),
                400,
                "{query}"
            );
        }
    }

    #[test]
    fn targets() {
        assert_eq!(
            one("GET http://h:1/__control/stats HTTP/1.1\r\nHost: a\r\n\r\n").route,
            Route::Stats
        );
        assert_eq!(
            one("GET /x/http://h/__control/stats HTTP/1.1\r\nHost: a\r\n\r\n").route,
            Route::Body
        );
        assert_eq!(one("POST /__control/stats HTTP/1.1\r\nHost: a\r\n\r\n").route, Route::Body);
        assert_eq!(one("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").route, Route::Body);
        assert!(matches!(
            one("GET /echo/me?x=1 HTTP/1.1\r\nHost: a\r\n\r\n").route,
            Route::Echo(_)
        ));
    }

    #[test]
    fn keep_alive_by_version() {
        assert!(!one("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(one("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
        assert!(!one("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").keep_alive);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(refused("nonsense\r\n\r\n"), 400);
        assert_eq!(refused("\x16\x03\x01\x02"), 400);
        assert_eq!(refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        for headers in [
            "Content-Length: +5",
            "Content-Length: ",
            "Content-Length: 5, 5",
            "Content-Length: 99999999999999999999",
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
        ] {
            assert_eq!(
                refused(&format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n")),
                400,
                "{headers}"
            );
        }
        assert_eq!(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
        assert_eq!(
            refused("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            501
        );
    }

    #[test]
    fn broken_chunks_are_refused() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        for body in [
            "x\r\n",
            "\r\n",
            "5\nhello",
            "5\r\nhelloX",
            "5\r\nhello\rX",
            "1000000000000000\r\n",
            "0\r\nA: b\n",
            "5;x\n",
        ] {
            assert_eq!(refused(&format!("{head}{body}")), 400, "{body:?}");
        }
    }

    #[test]
    fn a_head_is_bounded() {
        let head = |bytes: usize| {
            let start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
            format!("{start}{}\r\n\r\n", "x".repeat(bytes - start.len() - 4))
        };
        one(&head(HEAD_LIMIT));
        assert_eq!(refused(&head(HEAD_LIMIT + 1)), 431);
        assert_eq!(refused(&"GET / HTTP/1.1\r\nX: ".repeat(4000)), 431, "a head that never ends");
        assert_eq!(
            refused(&format!(
                "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
                "A: b\r\n".repeat(HEADERS_LIMIT)
            )),
            431
        );
    }

    #[test]
    fn a_body_takes_no_memory() {
        let mut reader = Reader::default();
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", 1_u64 << 40);
        assert_eq!(reader.read(head.as_bytes()), Ok((head.len(), Event::Incomplete)));
        let piece = vec![0; 1 << 16];
        for _ in 0..1000 {
            assert_eq!(
                reader.read(&piece),
                Ok((piece.len(), Event::Incomplete)),
                "used at once, so never kept"
            );
        }
    }
}
