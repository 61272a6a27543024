//! HTTP/1.1 as bytes: answers read as they come, however they are cut. No I/O.

use crate::answer::{Event, Finished};
use crate::check::{Asked, Checking, Headers, Judgement, KEPT_MAX, Questions};
use std::collections::VecDeque;
use std::fmt;
use std::mem::MaybeUninit;

/// Longest head of an answer that is read, in bytes.
const HEAD_MAX: usize = 64 << 10;

/// Most headers of an answer.
const HEADERS_MAX: usize = 128;

/// Why bytes are no HTTP/1.1 answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The head cannot be read.
    Head(String),
    /// The head is longer than 64 KiB.
    HeadTooLong,
    /// Content-Length is no number, or two that differ, or stands beside chunked.
    Length,
    /// A transfer coding other than chunked.
    TransferCoding,
    /// A chunk without a valid size or end.
    Chunk,
    /// The connection ended in the middle.
    CutShort,
    /// The connection ended instead.
    NoAnswer,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Head(cause) => write!(f, "not an HTTP answer: {cause}"),
            Malformed::HeadTooLong => f.write_str("a head of more than 64 KiB"),
            Malformed::Length => f.write_str("an ambiguous Content-Length"),
            Malformed::TransferCoding => f.write_str("a transfer coding that is not chunked"),
            Malformed::Chunk => f.write_str("a malformed chunk"),
            Malformed::CutShort => f.write_str("closed in the middle of an answer"),
            Malformed::NoAnswer => f.write_str("closed without an answer"),
        }
    }
}

enum Phase {
    Head,
    /// So many bytes of body are left.
    Length(u64),
    ChunkSize {
        size: u64,
        digits: u8,
        after: After,
    },
    ChunkData(u64),
    /// Whether the carriage return has come.
    ChunkEnd(bool),
    /// Trailer lines; the length of the line so far.
    Trailer(u32),
    UntilClose,
}

/// What came last of a chunk's size line.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Digits,
    Extension,
    Return,
}

/// Reads one answer after the other from a connection's bytes, however they are cut.
pub struct AnswerReader {
    phase: Phase,
    /// A head that came in pieces.
    partial_head: Vec<u8>,
    checking: Checking,
    status: u16,
    keep_alive: bool,
    bytes: u64,
    kept: Option<Kept>,
}

/// What an answer said besides its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The header `Content-Type`.
    pub content_type: Option<String>,
    /// The body, without its framing; of a longer one the first 16 MiB.
    pub body: Vec<u8>,
}

impl Default for AnswerReader {
    fn default() -> Self {
        let (partial_head, checking) = (Vec::new(), Checking::default());
        AnswerReader { phase: Phase::Head, partial_head, checking, status: 0, keep_alive: true, bytes: 0, kept: None }
    }
}

impl AnswerReader {
    /// One that keeps what its answer says.
    pub fn keeping() -> AnswerReader {
        AnswerReader { kept: Some(Kept::default()), ..AnswerReader::default() }
    }

    /// What was kept.
    pub fn into_kept(self) -> Kept {
        self.kept.unwrap_or_default()
    }

    /// Whether bytes of an unfinished answer were read.
    pub fn is_within_answer(&self) -> bool {
        self.bytes > 0 || !self.partial_head.is_empty()
    }

    /// Reads from `input` until an answer is whole or the input used up. Returns
    /// how many bytes were used, and the answer.
    ///
    /// # Errors
    /// What makes the bytes no answer; the connection is of no use then.
    pub fn read(&mut self, input: &[u8], asked: &mut Asked<'_>) -> Result<(usize, Option<Finished>), Malformed> {
        let is_fresh = !self.is_within_answer();
        if is_fresh && let Some((length, status)) = asked.known(input) {
            let finished = Finished { status, judgement: Judgement::Right, bytes: length as u64, keep_alive: true };
            return Ok((length, Some(finished)));
        }
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let finished = match &mut self.phase {
                Phase::Head => {
                    if rest.is_empty() {
                        return Ok((used, None));
                    }
                    match self.read_head(rest, asked)? {
                        None => return Ok((input.len(), None)),
                        Some((taken, has_body)) => {
                            used += taken;
                            !has_body
                        }
                    }
                }
                Phase::Length(left) | Phase::ChunkData(left) => {
                    if rest.is_empty() {
                        return Ok((used, None));
                    }
                    let take = (*left).min(rest.len() as u64) as usize;
                    *left -= take as u64;
                    let is_done = *left == 0;
                    self.take_body(&rest[..take], asked);
                    used += take;
                    match (is_done, &self.phase) {
                        (true, Phase::Length(_)) => true,
                        (true, _) => {
                            self.phase = Phase::ChunkEnd(false);
                            false
                        }
                        (false, _) => false,
                    }
                }
                Phase::UntilClose => {
                    self.take_body(rest, asked);
                    return Ok((input.len(), None));
                }
                _ => {
                    let Some(byte) = rest.first() else { return Ok((used, None)) };
                    used += 1;
                    self.bytes += 1;
                    self.read_chunk_framing(*byte)?
                }
            };
            if finished {
                let finished = self.finish(asked);
                if is_fresh && finished.keep_alive && finished.judgement == Judgement::Right {
                    asked.remember(&self.checking, &input[..used], finished.status);
                }
                return Ok((used, Some(finished)));
            }
        }
    }

    /// The connection has ended: an answer that lasts until then is whole now.
    ///
    /// # Errors
    /// [`Malformed::CutShort`] in the middle of any other answer.
    pub fn end(&mut self, asked: &mut Asked<'_>) -> Result<Finished, Malformed> {
        match self.phase {
            Phase::UntilClose => Ok(self.finish(asked)),
            _ => Err(Malformed::CutShort),
        }
    }

    fn take_body(&mut self, bytes: &[u8], asked: &Asked<'_>) {
        self.bytes += bytes.len() as u64;
        if let Some(kept) = &mut self.kept {
            let room = KEPT_MAX - kept.body.len();
            kept.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        asked.body(&mut self.checking, bytes);
    }

    fn finish(&mut self, asked: &mut Asked<'_>) -> Finished {
        let judgement = asked.finish(&mut self.checking);
        let finished = Finished { status: self.status, judgement, bytes: self.bytes, keep_alive: self.keep_alive };
        self.phase = Phase::Head;
        self.bytes = 0;
        finished
    }

    /// Reads a head, first from what came before. Returns the bytes of `rest`
    /// that were used and whether a body follows; `None` when the head is not whole.
    fn read_head(&mut self, rest: &[u8], asked: &mut Asked<'_>) -> Result<Option<(usize, bool)>, Malformed> {
        if self.partial_head.is_empty() {
            return match self.parse_head(rest, asked)? {
                Some((length, has_body)) => Ok(Some((length, has_body))),
                None if rest.len() > HEAD_MAX => Err(Malformed::HeadTooLong),
                None => {
                    self.partial_head.extend_from_slice(rest);
                    Ok(None)
                }
            };
        }
        let before = self.partial_head.len();
        let mut whole = std::mem::take(&mut self.partial_head);
        whole.extend_from_slice(&rest[..rest.len().min(HEAD_MAX + 1)]);
        let parsed = self.parse_head(&whole, asked)?;
        match parsed {
            Some((length, has_body)) => {
                whole.clear();
                self.partial_head = whole;
                Ok(Some((length - before, has_body)))
            }
            None if whole.len() > HEAD_MAX => Err(Malformed::HeadTooLong),
            None => {
                self.partial_head = whole;
                Ok(None)
            }
        }
    }

    fn parse_head(&mut self, bytes: &[u8], asked: &mut Asked<'_>) -> Result<Option<(usize, bool)>, Malformed> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut before = 0;
        // Interim answers come before the final one.
        let (length, head) = loop {
            let mut head = httparse::Response::new(&mut []);
            let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut head, &bytes[before..], &mut headers);
            match parsed.map_err(|e| Malformed::Head(e.to_string()))? {
                httparse::Status::Partial => return Ok(None),
                httparse::Status::Complete(length) if head.code.is_some_and(|code| (100..200).contains(&code)) => before += length,
                httparse::Status::Complete(length) => break (before + length, head),
            }
        };
        self.bytes += length as u64;
        let status = head.code.unwrap_or(0);
        let framing = Framing::of(head.headers)?;
        self.status = status;
        if let Some(kept) = &mut self.kept {
            kept.content_type = head.headers.value("content-type").map(|value| String::from_utf8_lossy(value).into_owned());
        }
        asked.head(&mut self.checking, status, &*head.headers);
        self.keep_alive = framing.keep_alive.unwrap_or(head.version == Some(1));
        let has_no_body = asked.is_head || matches!(status, 204 | 304);
        let has_body = if has_no_body {
            false
        } else if framing.chunked {
            self.phase = Phase::ChunkSize { size: 0, digits: 0, after: After::Digits };
            true
        } else if let Some(body) = framing.length {
            self.phase = Phase::Length(body);
            body > 0
        } else {
            self.phase = Phase::UntilClose;
            self.keep_alive = false;
            true
        };
        Ok(Some((length, has_body)))
    }

    /// One byte of chunked framing; true when the last chunk and the trailers are read.
    fn read_chunk_framing(&mut self, byte: u8) -> Result<bool, Malformed> {
        use After::{Digits, Extension, Return};
        self.phase = match (&self.phase, byte) {
            (Phase::ChunkSize { size, digits, after: Digits }, b) if b.is_ascii_hexdigit() && *digits < 15 => {
                let digit = u64::from((b as char).to_digit(16).expect("a hex digit"));
                Phase::ChunkSize { size: size * 16 + digit, digits: digits + 1, after: Digits }
            }
            (Phase::ChunkSize { digits: 0, .. }, _) => return Err(Malformed::Chunk),
            (Phase::ChunkSize { size: 0, .. }, b'\n') => Phase::Trailer(0),
            (Phase::ChunkSize { size, .. }, b'\n') => Phase::ChunkData(*size),
            (Phase::ChunkSize { after: Return, .. }, _) => return Err(Malformed::Chunk),
            (Phase::ChunkSize { size, digits, .. }, b'\r') => Phase::ChunkSize { size: *size, digits: *digits, after: Return },
            (Phase::ChunkSize { size, digits, after }, b) if *after == Extension || b"; \t".contains(&b) => {
                Phase::ChunkSize { size: *size, digits: *digits, after: Extension }
            }
            (Phase::ChunkEnd(false), b'\r') => Phase::ChunkEnd(true),
            (Phase::ChunkEnd(_), b'\n') => Phase::ChunkSize { size: 0, digits: 0, after: Digits },
            (Phase::Trailer(0), b'\n') => return Ok(true),
            (Phase::Trailer(_), b'\n') => Phase::Trailer(0),
            (Phase::Trailer(length), b'\r') => Phase::Trailer(*length),
            (Phase::Trailer(length), _) if (*length as usize) < HEAD_MAX => Phase::Trailer(length + 1),
            _ => return Err(Malformed::Chunk),
        };
        Ok(false)
    }
}

/// One connection's requests under way, in the order in which they were sent.
#[derive(Default)]
pub(crate) struct Http1 {
    reader: AnswerReader,
    under_way: VecDeque<u32>,
    /// The server takes no further request on this connection.
    closing: bool,
}

impl Http1 {
    pub fn under_way(&self) -> u32 {
        self.under_way.len() as u32
    }

    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// A request goes out.
    pub fn begin(&mut self, ticket: u32) {
        self.under_way.push_back(ticket);
    }

    /// Reads received bytes.
    ///
    /// # Errors
    /// What makes the connection of no use; nothing more comes of the requests under way.
    pub fn receive(&mut self, mut input: &[u8], questions: &mut impl Questions, events: &mut Vec<Event>) -> Result<(), Malformed> {
        while !input.is_empty() {
            let Some(ticket) = self.under_way.front().copied() else {
                // Nothing was asked: the server says something unheard of, and is not listened to.
                self.closing = true;
                // What follows an answer in one piece is its own: the answer is longer than it says.
                if let Some(last) = events.last_mut()
                    && let Event::Answered { ticket, .. } = *last
                {
                    *last = Event::Failed { ticket, why: "more bytes than the answer announces".into(), sent_again_is_safe: false };
                }
                return Ok(());
            };
            let (used, finished) = self.reader.read(input, &mut questions.asked(ticket))?;
            input = &input[used..];
            if let Some(finished) = finished {
                self.answered(ticket, finished, events);
            }
        }
        Ok(())
    }

    /// The server has closed.
    ///
    /// # Errors
    /// When that cuts an answer short, or leaves a request without one.
    pub fn end(&mut self, questions: &mut impl Questions, events: &mut Vec<Event>) -> Result<(), Malformed> {
        self.closing = true;
        let Some(ticket) = self.under_way.front().copied() else { return Ok(()) };
        if !self.reader.is_within_answer() {
            return Err(Malformed::NoAnswer);
        }
        let finished = self.reader.end(&mut questions.asked(ticket))?;
        self.answered(ticket, finished, events);
        Ok(())
    }

    fn answered(&mut self, ticket: u32, finished: Finished, events: &mut Vec<Event>) {
        self.under_way.pop_front();
        let keep_alive = finished.keep_alive;
        events.push(Event::Answered { ticket, finished });
        if !keep_alive {
            self.closing = true;
            // RFC 9112, 9.6: after it said so, the server processes no further request of the connection.
            for ticket in self.under_way.drain(..) {
                events.push(Event::Failed { ticket, why: "closed before its turn".into(), sent_again_is_safe: true });
            }
        }
    }
}

/// What the headers say of the body's length and the connection.
struct Framing {
    length: Option<u64>,
    chunked: bool,
    keep_alive: Option<bool>,
}

impl Framing {
    fn of(headers: &[httparse::Header<'_>]) -> Result<Framing, Malformed> {
        let mut framing = Framing { length: None, chunked: false, keep_alive: None };
        for header in headers {
            // The length tells most names apart before a byte is compared.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    let text = std::str::from_utf8(header.value).map_err(|_| Malformed::Length)?.trim();
                    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                    let length = text.parse().ok().filter(|_| digits).ok_or(Malformed::Length)?;
                    if framing.length.is_some_and(|before| before != length) {
                        return Err(Malformed::Length);
                    }
                    framing.length = Some(length);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    if !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                        return Err(Malformed::TransferCoding);
                    }
                    framing.chunked = true;
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for option in header.value.split(|b| *b == b',') {
                        match option.trim_ascii() {
                            o if o.eq_ignore_ascii_case(b"close") => framing.keep_alive = Some(false),
                            o if o.eq_ignore_ascii_case(b"keep-alive") && framing.keep_alive.is_none() => framing.keep_alive = Some(true),
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Expected, Judgement, Wrong};
    use crate::request::Vars;
    use model::workload::{Answer, BodyCheck, Statuses, Step};
    use proptest::prelude::*;

    fn expecting(body: BodyCheck) -> Expected {
        Expected::of(&Step { answer: Answer { body, ..Answer::default() }, ..Step::default() })
    }

    /// Feeds the bytes cut at the given places, and returns all answers.
    fn read_all(bytes: &[u8], cuts: &[usize], expected: &mut Expected) -> Result<Vec<Finished>, Malformed> {
        let mut reader = AnswerReader::default();
        let mut answers = Vec::new();
        let mut asked = Asked { expected, vars: &mut Vars::default(), is_head: false };
        let mut cuts: Vec<usize> = cuts.iter().map(|c| (*c).min(bytes.len())).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        for piece in cuts.windows(2) {
            let mut piece = &bytes[piece[0]..piece[1]];
            while !piece.is_empty() {
                let (used, answer) = reader.read(piece, &mut asked)?;
                answers.extend(answer);
                piece = &piece[used..];
            }
        }
        if reader.is_within_answer() {
            answers.push(reader.end(&mut asked)?);
        }
        Ok(answers)
    }

    const ANSWERS: [&str; 6] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;ext=\"1\"\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nhello",
    ];

    #[test]
    fn every_framing_is_read_and_kept_alive_where_it_may_be() {
        let keep_alive: Vec<bool> = ANSWERS
            .iter()
            .map(|answer| {
                let found = read_all(answer.as_bytes(), &[], &mut expecting(BodyCheck::Text("hello".into()))).unwrap();
                assert_eq!(found.len(), 1, "{answer}");
                assert_eq!((&found[0].judgement, found[0].bytes), (&Judgement::Right, answer.len() as u64), "{answer}");
                found[0].keep_alive
            })
            .collect();
        assert_eq!(keep_alive, [true, true, true, false, false, false]);
    }

    proptest! {
        /// What an expectation remembers of earlier answers never changes what it says of later ones.
        #[test]
        fn an_answer_known_again_is_judged_as_one_never_seen(
            picks in prop::collection::vec(0usize..5, 1..20), cuts in prop::collection::vec(0usize..1000, 0..10), json in any::<bool>(),
        ) {
            let answers = [
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[1,2]",
                "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 5\r\n\r\n[1,2]",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n[1,3]",
                "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\n[1,2]",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,2]\r\n0\r\n\r\n",
            ];
            let check = || if json { BodyCheck::Json(serde_json::json!([1, 2])) } else { BodyCheck::Text("[1,2]".into()) };
            let bytes: String = picks.iter().map(|pick| answers[*pick]).collect();
            let together = read_all(bytes.as_bytes(), &cuts, &mut expecting(check())).unwrap();
            let apart: Vec<_> =
                picks.iter().flat_map(|pick| read_all(answers[*pick].as_bytes(), &[], &mut expecting(check())).unwrap()).collect();
            prop_assert_eq!(together, apart);
        }
    }

    #[test]
    fn answers_without_a_body_have_none() {
        let mut reader = AnswerReader::default();
        let mut expected = expecting(BodyCheck::Any);
        let mut asked = Asked { expected: &mut expected, vars: &mut Vars::default(), is_head: true };
        let (used, answer) = reader.read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &mut asked).unwrap();
        assert!(used == 38 && answer.is_some(), "an answer to HEAD");
        for head in ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"] {
            assert_eq!(read_all(head.as_bytes(), &[], &mut expected).unwrap().len(), 1, "{head}");
        }
    }

    #[test]
    fn what_is_no_answer_is_said() {
        for (bytes, wanted) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", Malformed::Length),
            ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", Malformed::Length),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Malformed::Length),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", Malformed::Length),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Malformed::TransferCoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Malformed::Chunk),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhexx", Malformed::Chunk),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", Malformed::Chunk),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Malformed::CutShort),
            ("HTTP/1.1 20", Malformed::CutShort),
        ] {
            assert_eq!(read_all(bytes.as_bytes(), &[], &mut expecting(BodyCheck::Any)), Err(wanted), "{bytes}");
        }
        let garbage = read_all(b"SSH-2.0-OpenSSH\r\n", &[], &mut expecting(BodyCheck::Any));
        assert!(matches!(garbage, Err(Malformed::Head(_))), "{garbage:?}");
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(HEAD_MAX));
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000);
        assert_eq!(read_all(interim.as_bytes(), &[], &mut expecting(BodyCheck::Any)), Err(Malformed::HeadTooLong));
        for cuts in [vec![], vec![30_000, 60_000]] {
            assert_eq!(read_all(endless.as_bytes(), &cuts, &mut expecting(BodyCheck::Any)), Err(Malformed::HeadTooLong));
        }
    }

    struct Asker(Expected, Vars);

    impl Questions for Asker {
        fn asked(&mut self, _: u32) -> Asked<'_> {
            Asked { expected: &mut self.0, vars: &mut self.1, is_head: false }
        }
    }

    #[test]
    fn an_answer_that_is_longer_than_it_says_is_broken() {
        for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", "HTTP/1.1 204 No Content\r\n\r\nhello"] {
            let mut asker = Asker(
                Expected::of(&Step { answer: Answer { status: Statuses { from: 200, to: 299 }, ..Answer::default() }, ..Step::default() }),
                Vars::default(),
            );
            let (mut session, mut events) = (Http1::default(), Vec::new());
            session.begin(7);
            session.receive(answer.as_bytes(), &mut asker, &mut events).unwrap();
            assert!(matches!(&events[..], [Event::Failed { ticket: 7, sent_again_is_safe: false, .. }]), "{events:?}");
            assert!(session.is_closing());
        }
    }

    proptest! {
        #[test]
        fn an_answer_cut_anywhere_is_the_same_answer(which in 0usize..5, again in 0usize..3, cuts in prop::collection::vec(0usize..300, 0..12)) {
            // Two keep-alive answers in a row, then one of any kind.
            let bytes = format!("{}{}{}", ANSWERS[again], ANSWERS[0], ANSWERS[which]);
            let mut expected = expecting(BodyCheck::Text("hello".into()));
            let whole = read_all(bytes.as_bytes(), &[], &mut expected).unwrap();
            let cut = read_all(bytes.as_bytes(), &cuts, &mut expected).unwrap();
            prop_assert_eq!(whole.len(), 3);
            prop_assert_eq!(whole, cut);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
            let mut expected = expecting(BodyCheck::Json(serde_json::json!(1)));
            let _ = read_all(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &bytes].concat(), &[cut], &mut expected);
            let _ = read_all(&bytes, &[cut], &mut expected);
        }

        #[test]
        fn one_wrong_byte_is_found_wherever_it_is(at in 0usize..5, cut in 0usize..60) {
            let mut body = *b"hello";
            body[at] ^= 1;
            let bytes = [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".as_slice(), &body].concat();
            let found = read_all(&bytes, &[cut], &mut expecting(BodyCheck::Text("hello".into()))).unwrap();
            prop_assert_eq!(&found[0].judgement, &Judgement::Wrong(Wrong::Bytes));
        }
    }
}
