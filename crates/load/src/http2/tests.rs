//! Tests of an HTTP/2 connection without sockets: frames in, frames and events out.
//!
//! `crates/load/tests/protocol/http2.rs` tests it with another implementation.

mod changes;
mod errors;
mod pieces;

use super::*;
use crate::answer::{Ending, Retry};
use crate::check::{Judgement, ResponseCheck, Wrong};
use crate::values::Vars;
use spec::workload::{Answer, BodyCheck, Step};

const OK: &[(&str, &str)] = &[(":status", "200")];

/// Expects the same response for every ticket.
struct Checker {
    expected: Expected,
    vars: Vars,
    is_head: bool,
}

impl Checker {
    fn new(body: BodyCheck) -> Checker {
        let step = Step { answer: Answer { body, ..Answer::default() }, ..Step::default() };
        Checker { expected: Expected::of_step(&step), vars: Vars::default(), is_head: false }
    }
}

impl Checks for Checker {
    fn check(&mut self, _ticket: u32) -> ResponseCheck<'_> {
        ResponseCheck { expected: &mut self.expected, vars: &mut self.vars, is_head: self.is_head }
    }
}

/// A client with its output and events.
struct Client {
    session: Http2,
    checker: Checker,
    out: Vec<u8>,
    events: Vec<Event>,
}

impl Client {
    fn new(body: BodyCheck) -> Client {
        Client {
            session: Http2::new(100),
            checker: Checker::new(body),
            out: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Starts a client with these settings of the server and this many requests in flight.
    fn asking(requests: u32, settings: &[(u16, u32)]) -> Client {
        let mut client = Client::new(BodyCheck::Text("hello".into()));
        client.session.start(&mut client.out);
        client.hear(&greeting(settings)).unwrap();
        (0..requests).for_each(|ticket| client.begin(ticket, b""));
        client.out.clear();
        client
    }

    fn begin(&mut self, ticket: u32, body: &[u8]) {
        let block = block("POST", "http", "localhost", "/");
        self.session.begin(ticket, &block, body, &mut self.out);
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.session.receive(bytes, &mut self.checker, &mut self.out, &mut self.events)
    }

    /// Takes what the client wrote, as (kind, flags, stream, payload).
    fn said(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        frames(&std::mem::take(&mut self.out))
    }

    /// Takes the lengths of request bodies that the client wrote, by stream, and whether they ended
    /// it.
    fn sent_bodies(&mut self) -> Vec<(u32, usize, bool)> {
        let data = self.said().into_iter().filter(|(kind, ..)| *kind == frame::DATA);
        data.map(|(_, flags, stream, payload)| {
            (stream, payload.len(), flags & frame::END_STREAM != 0)
        })
        .collect()
    }
}

/// Encodes the header block of a request.
fn block(method: &str, scheme: &str, authority: &str, path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in
        [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
    {
        encode(&mut block, name, value.as_bytes());
    }
    block
}

fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    bytes = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
    let mut frames = Vec::new();
    while let Some(head) = Head::parse(bytes) {
        frames.push((head.kind, head.flags, head.stream, bytes[HEAD..HEAD + head.length].to_vec()));
        bytes = &bytes[HEAD + head.length..];
    }
    assert!(bytes.is_empty());
    frames
}

fn one(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write_frame(&mut bytes, kind, flags, stream, payload);
    bytes
}

fn greeting(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(s, v)| [&s.to_be_bytes()[..], &v.to_be_bytes()].concat())
        .collect();
    one(frame::SETTINGS, 0, 0, &payload)
}

fn head(flags: u8, stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    fields.iter().for_each(|(name, value)| hpack::encode(&mut block, name, value.as_bytes()));
    one(frame::HEADERS, flags | frame::END_HEADERS, stream, &block)
}

fn data(flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    one(frame::DATA, flags, stream, body)
}

fn answer(stream: u32, body: &[u8]) -> Vec<u8> {
    [head(0, stream, OK), data(frame::END_STREAM, stream, body)].concat()
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    one(frame::RST_STREAM, 0, stream, &code.to_be_bytes())
}

fn window_update(stream: u32, by: u32) -> Vec<u8> {
    one(frame::WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    one(frame::GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// Returns the outcome of each ticket, abbreviated.
fn outcomes(events: &[Event]) -> Vec<(u32, &str)> {
    let outcome = |event: &Event| match event {
        Event::Answered { ticket, finished } if finished.judgement == Judgement::Correct => {
            (*ticket, "right")
        }
        Event::Answered { ticket, .. } => (*ticket, "wrong"),
        Event::Failed { ticket, retry: Retry::Safe, .. } => (*ticket, "again"),
        Event::Failed { ticket, retry: Retry::Idempotent, .. } => (*ticket, "idempotent"),
        Event::Failed { ticket, .. } => (*ticket, "failed"),
    };
    events.iter().map(outcome).collect()
}

#[test]
fn connection_starts_with_preface_and_settings() {
    let mut client = Client::new(BodyCheck::Any);
    client.session.start(&mut client.out);
    assert!(client.out.starts_with(PREFACE));
    let said = client.said();
    assert_eq!(
        said.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(),
        [frame::SETTINGS, frame::WINDOW_UPDATE]
    );
    assert_eq!(said[0].3[..6], [0, 2, 0, 0, 0, 0], "push is declined");
    client.hear(&greeting(&[])).unwrap();
    assert_eq!(client.said(), [(frame::SETTINGS, frame::ACK, 0, vec![])]);
    client.hear(&one(frame::SETTINGS, frame::ACK, 0, b"")).unwrap();
    client.hear(&one(frame::PING, 0, 0, b"12345678")).unwrap();
    assert_eq!(client.said(), [(frame::PING, frame::ACK, 0, b"12345678".to_vec())]);
    client.hear(&one(frame::PING, frame::ACK, 0, b"12345678")).unwrap();
    assert!(client.out.is_empty());
}

#[test]
fn request_frames_match_the_block_and_body() {
    let mut block = block("GET", "https", "localhost", "/a?b");
    encode(&mut block, "accept", b"*/*");
    let mut decoder = Decoder::new();
    decoder.decode(&block).unwrap();
    let found: Vec<_> = decoder
        .fields()
        .iter()
        .map(|(n, v)| (std::str::from_utf8(n).unwrap(), std::str::from_utf8(v).unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", "/a?b"),
            ("accept", "*/*")
        ]
    );

    let mut client = Client::asking(0, &[]);
    client.session.begin(7, &block, b"", &mut client.out);
    client.session.begin(8, &vec![0; 40_000], b"body", &mut client.out);
    let said: Vec<_> = client
        .said()
        .into_iter()
        .map(|(kind, flags, stream, payload)| (kind, flags, stream, payload.len()))
        .collect();
    let whole = frame::END_STREAM | frame::END_HEADERS;
    assert_eq!(
        said,
        [
            (frame::HEADERS, whole, 1, block.len()),
            (frame::HEADERS, 0, 3, 16_384),
            (frame::CONTINUATION, 0, 3, 16_384),
            (frame::CONTINUATION, frame::END_HEADERS, 3, 40_000 - 2 * 16_384),
            (frame::DATA, frame::END_STREAM, 3, 4),
        ]
    );
}

#[test]
fn responses_are_read_in_any_order_and_framing() {
    let mut client = Client::asking(7, &[]);
    let padded = |flags, stream, text: &[u8]| {
        one(frame::DATA, flags | frame::PADDED, stream, &[&[3][..], text, b"\0\0\0"].concat())
    };
    let mut block = Vec::new();
    hpack::encode(&mut block, ":status", b"200");
    hpack::encode(&mut block, "content-length", b"5");
    let prioritised = [&[2, 0, 0, 0, 0, 16][..], &block, b"\0\0"].concat();
    let input = [
        head(0, 13, &[(":status", "103"), ("link", "</a>")]),
        head(0, 5, &[(":status", "200"), ("content-length", "5")]),
        answer(1, b"hello"),
        head(0, 13, OK),
        data(0, 5, b"he"),
        padded(0, 13, b"hell"),
        data(0, 5, b""),
        padded(frame::END_STREAM, 13, b"o"),
        one(frame::HEADERS, 0, 3, &block[..1]),
        one(frame::CONTINUATION, 0, 3, b""),
        one(frame::CONTINUATION, frame::END_HEADERS, 3, &block[1..]),
        one(0xfa, 0xff, 77, b"unknown"),
        one(frame::PRIORITY, 0, 99, &[0; 5]),
        data(frame::END_STREAM, 3, b"hello"),
        data(0, 5, b"llo"),
        head(frame::END_STREAM, 5, &[("trailer", "x")]),
        one(
            frame::HEADERS,
            frame::END_HEADERS | frame::PADDED | frame::WITH_PRIORITY,
            9,
            &prioritised,
        ),
        data(frame::END_STREAM, 9, b"hellO"),
        head(frame::END_STREAM, 7, &[(":status", "503")]),
        answer(11, b"hello!"),
    ];
    client.hear(&input.concat()).unwrap();
    let right = [
        (0, "right"),
        (6, "right"),
        (1, "right"),
        (2, "right"),
        (4, "wrong"),
        (3, "wrong"),
        (5, "wrong"),
    ];
    assert_eq!(outcomes(&client.events), right);
    let Event::Answered { finished, .. } = &client.events[4] else { panic!() };
    assert_eq!(finished.judgement, Judgement::Wrong(Wrong::Bytes));
    let Event::Answered { finished, .. } = &client.events[0] else { panic!() };
    assert_eq!((finished.status, finished.bytes, finished.keep_alive), (200, 9 + 1 + 9 + 5, true));
    assert_eq!((client.session.in_flight(), client.session.room()), (0, 100));
    assert!(client.out.is_empty());
}

#[test]
fn responses_to_head_and_304_have_no_body() {
    let mut client = Client::asking(4, &[]);
    client.checker = Checker::new(BodyCheck::Any);
    client.checker.is_head = true;
    client
        .hear(&head(frame::END_STREAM, 1, &[(":status", "200"), ("content-length", "5")]))
        .unwrap();
    client.hear(&answer(3, b"hello")).unwrap();
    client.checker.is_head = false;
    client
        .hear(&head(frame::END_STREAM, 5, &[(":status", "304"), ("content-length", "5")]))
        .unwrap();
    client.hear(&answer(7, b"")).unwrap();
    assert_eq!(outcomes(&client.events), [(0, "right"), (1, "failed"), (2, "wrong"), (3, "right")]);
}

#[test]
fn goaway_fails_streams_above_the_last_and_opens_none() {
    let mut client = Client::asking(4, &[]);
    client.hear(&goaway(STREAM_ID_MAX, 0)).unwrap();
    assert!(client.events.is_empty() && client.session.is_closing() && client.session.room() == 0);
    client.hear(&goaway(3, frame::ENHANCE_YOUR_CALM)).unwrap();
    assert_eq!(outcomes(&client.events), [(2, "again"), (3, "again")]);
    let Event::Failed { why, .. } = &client.events[0] else { panic!() };
    assert_eq!(why, "the server sent GOAWAY: ENHANCE_YOUR_CALM");
    client.hear(&[answer(5, b"late"), answer(3, b"hello"), answer(1, b"hello")].concat()).unwrap();
    assert_eq!(outcomes(&client.events)[2..], [(1, "right"), (0, "right")]);
    let Event::Answered { finished, .. } = &client.events[3] else { panic!() };
    assert!(!finished.keep_alive && client.session.in_flight() == 0);
}

#[test]
fn reset_tells_whether_a_retry_is_safe() {
    let mut client = Client::asking(4, &[]);
    let cut_short = [head(0, 5, OK), data(0, 5, b"hel"), reset(5, 0)].concat();
    let after_the_whole = [answer(7, b"hello"), reset(7, 0), window_update(7, 1)].concat();
    client
        .hear(&[reset(1, frame::REFUSED_STREAM), reset(3, 2), cut_short, after_the_whole].concat())
        .unwrap();
    assert_eq!(
        outcomes(&client.events),
        [(0, "again"), (1, "failed"), (2, "failed"), (3, "right")]
    );
    let Event::Failed { why, .. } = &client.events[1] else { panic!() };
    assert_eq!(why, "the server sent RST_STREAM: INTERNAL_ERROR");
    // The slot of the truncated response is reused.
    client.begin(9, b"");
    client.begin(10, b"");
    client.begin(11, b"");
    client
        .hear(&[answer(9, b"hello"), answer(11, b"hello"), answer(13, b"hello")].concat())
        .unwrap();
    assert_eq!(outcomes(&client.events)[4..], [(9, "right"), (10, "right"), (11, "right")]);
}

#[test]
fn cancelled_request_has_no_event() {
    let mut client = Client::asking(2, &[]);
    client.hear(&[head(0, 1, OK), data(0, 1, b"hel")].concat()).unwrap();
    client.session.cancel(0, &mut client.out);
    client.session.cancel(77, &mut client.out);
    assert_eq!(client.said(), [(frame::RST_STREAM, 0, 1, frame::CANCEL.to_be_bytes().to_vec())]);
    // Later blocks need what this one indexes.
    let indexed = one(frame::HEADERS, frame::END_HEADERS | frame::END_STREAM, 1, b"\x40\x01a\x01b");
    let uses_it = one(frame::HEADERS, frame::END_HEADERS, 3, b"\x88\xbe");
    client
        .hear(&[data(0, 1, b"lo"), indexed, uses_it, data(frame::END_STREAM, 3, b"hello")].concat())
        .unwrap();
    assert_eq!(outcomes(&client.events), [(1, "right")]);
    assert_eq!(client.session.in_flight(), 0);
}

#[test]
fn open_streams_keep_both_limits() {
    let mut client = Client::new(BodyCheck::Any);
    client.session = Http2::new(500);
    client.session.start(&mut client.out);
    assert_eq!(client.session.room(), STREAMS_INITIAL);
    client.hear(&greeting(&[])).unwrap();
    assert_eq!(client.session.room(), 500);
    client.hear(&greeting(&[(SETTINGS_MAX_CONCURRENT_STREAMS, 2)])).unwrap();
    client.begin(0, b"");
    assert_eq!(client.session.room(), 1);
    client.hear(&greeting(&[(SETTINGS_MAX_CONCURRENT_STREAMS, 0)])).unwrap();
    assert_eq!((client.session.room(), client.session.is_closing()), (0, false));
    client.session.next_id = STREAM_ID_MAX;
    client.hear(&greeting(&[(SETTINGS_MAX_CONCURRENT_STREAMS, 9)])).unwrap();
    client.begin(1, b"");
    assert!(client.session.is_closing() && client.session.room() == 0, "no id is left");
    client.hear(&[answer(STREAM_ID_MAX, b""), answer(1, b"")].concat()).unwrap();
    assert_eq!(outcomes(&client.events), [(1, "right"), (0, "right")]);
}

#[test]
fn body_waits_for_both_windows() {
    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 10)]);
    client.begin(0, &[1; 25]);
    client.begin(1, &[2; 10]);
    client.begin(2, &[3; 11]);
    assert_eq!(client.sent_bodies(), [(1, 10, false), (3, 10, true), (5, 10, false)]);
    client.hear(&window_update(1, 5)).unwrap();
    assert_eq!(client.sent_bodies(), [(1, 5, false)]);
    // The window of streams becomes negative, and recovers.
    client.hear(&greeting(&[(SETTINGS_INITIAL_WINDOW_SIZE, 0)])).unwrap();
    client.hear(&window_update(1, 10)).unwrap();
    assert_eq!(client.sent_bodies(), []);
    client.hear(&greeting(&[(SETTINGS_INITIAL_WINDOW_SIZE, 4)])).unwrap();
    assert_eq!(client.sent_bodies(), [(1, 4, false)]);
    client.hear(&greeting(&[(SETTINGS_INITIAL_WINDOW_SIZE, 100)])).unwrap();
    assert_eq!(client.sent_bodies(), [(1, 6, true), (5, 1, true)]);

    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20)]);
    client.begin(0, &[0; 65_000]);
    client.begin(1, &[0; 1_000]);
    assert_eq!(client.sent_bodies().iter().map(|(_, length, _)| length).sum::<usize>(), 65_535);
    client.begin(2, &[0; 10]);
    assert_eq!(client.sent_bodies(), []);
    client.hear(&window_update(0, 470)).unwrap();
    assert_eq!(client.sent_bodies(), [(3, 465, true), (5, 5, false)]);
    client.session.cancel(2, &mut client.out);
    client.hear(&window_update(0, 100)).unwrap();
    assert_eq!(client.sent_bodies(), []);
    client.hear(&window_update(3, i32::MAX as u32)).unwrap();
    assert_eq!(
        outcomes(&client.events),
        [(1, "failed")],
        "a window too large fails the stream only"
    );
}

#[test]
fn early_response_counts_and_stops_the_request_body() {
    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 10)]);
    client.begin(0, &[0; 25]);
    client.out.clear();
    client.hear(&[answer(1, b"hello"), reset(1, 0), window_update(1, 100)].concat()).unwrap();
    assert_eq!(outcomes(&client.events), [(0, "right")]);
    assert_eq!(client.said(), [(frame::RST_STREAM, 0, 1, frame::CANCEL.to_be_bytes().to_vec())]);
}

#[test]
fn received_bytes_are_credited_in_batches() {
    let mut client = Client::asking(1, &[]);
    client.checker = Checker::new(BodyCheck::Any);
    client.hear(&head(0, 1, OK)).unwrap();
    let full = data(0, 1, &[0; 16_384]);
    let frames = CONNECTION_WINDOW as usize / 2 / 16_384;
    let mut credits = [0u64; 2];
    for _ in 0..frames {
        client.hear(&full).unwrap();
        for (kind, _, stream, payload) in client.said() {
            assert_eq!(kind, frame::WINDOW_UPDATE);
            credits[stream as usize] += u64::from(frame::number(&payload));
        }
    }
    assert_eq!(credits, [frames as u64 * 16_384; 2]);
}

#[test]
fn repeated_requests_allocate_nothing() {
    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 10)]);
    for round in 0..100 {
        for ticket in 0..8 {
            client.begin(ticket, &[0; 20]);
        }
        for stream in (round * 16 + 1..round * 16 + 17).step_by(2) {
            client.hear(&[window_update(stream, 10), answer(stream, b"hello")].concat()).unwrap();
        }
        client.hear(&window_update(0, 160)).unwrap();
        client.out.clear();
        client.events.clear();
    }
    let Http2 { streams, free, sending, partial, block_text, .. } = &client.session;
    assert_eq!(
        (streams.len(), free.len(), sending.len(), partial.capacity(), block_text.capacity()),
        (8, 8, 0, 0, 0)
    );
}
