use super::*;
use crate::check::{Asked, Judgement, Wrong};
use crate::request::Vars;
use model::workload::{Answer, BodyCheck, Step};
use proptest::prelude::*;

const OK: &[(&str, &str)] = &[(":status", "200")];

/// Expects one answer, whatever the ticket.
struct Asker {
    expected: Expected,
    vars: Vars,
    is_head: bool,
}

impl Asker {
    fn new(body: BodyCheck) -> Asker {
        let step = Step { answer: Answer { body, ..Answer::default() }, ..Step::default() };
        Asker { expected: Expected::of(&step), vars: Vars::default(), is_head: false }
    }
}

impl Questions for Asker {
    fn asked(&mut self, _ticket: u32) -> Asked<'_> {
        Asked { expected: &mut self.expected, vars: &mut self.vars, is_head: self.is_head }
    }
}

/// A client, and what it has been told and said.
struct Client {
    session: Http2,
    asker: Asker,
    out: Vec<u8>,
    events: Vec<Event>,
}

impl Client {
    fn new(body: BodyCheck) -> Client {
        Client { session: Http2::new(100), asker: Asker::new(body), out: Vec::new(), events: Vec::new() }
    }

    /// Started, greeted by these settings, and with so many requests under way.
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
        self.session.receive(bytes, &mut self.asker, &mut self.out, &mut self.events)
    }

    /// What it said, as (kind, flags, stream, payload).
    fn said(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        frames(&std::mem::take(&mut self.out))
    }

    /// Bytes of request bodies that it said by stream, and which streams it ended.
    fn sent_bodies(&mut self) -> Vec<(u32, usize, bool)> {
        let data = self.said().into_iter().filter(|(kind, ..)| *kind == frame::DATA);
        data.map(|(_, flags, stream, payload)| (stream, payload.len(), flags & frame::END_STREAM != 0)).collect()
    }
}

/// The header block of a request.
fn block(method: &str, scheme: &str, authority: &str, path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)] {
        encode(&mut block, name, value.as_bytes());
    }
    block
}

fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    bytes = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
    let mut frames = Vec::new();
    while let Some(head) = Head::read(bytes) {
        frames.push((head.kind, head.flags, head.stream, bytes[HEAD..HEAD + head.length].to_vec()));
        bytes = &bytes[HEAD + head.length..];
    }
    assert!(bytes.is_empty());
    frames
}

fn one(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, kind, flags, stream, payload);
    bytes
}

fn greeting(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = settings.iter().flat_map(|(s, v)| [&s.to_be_bytes()[..], &v.to_be_bytes()].concat()).collect();
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

/// What became of each ticket, in short.
fn outcomes(events: &[Event]) -> Vec<(u32, &str)> {
    let outcome = |event: &Event| match event {
        Event::Answered { ticket, finished } if finished.judgement == Judgement::Right => (*ticket, "right"),
        Event::Answered { ticket, .. } => (*ticket, "wrong"),
        Event::Failed { ticket, sent_again_is_safe: true, .. } => (*ticket, "again"),
        Event::Failed { ticket, .. } => (*ticket, "failed"),
    };
    events.iter().map(outcome).collect()
}

#[test]
fn a_connection_begins_with_the_preface_and_settings() {
    let mut client = Client::new(BodyCheck::Any);
    client.session.start(&mut client.out);
    assert!(client.out.starts_with(PREFACE));
    let said = client.said();
    assert_eq!(said.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>(), [frame::SETTINGS, frame::WINDOW_UPDATE]);
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
fn a_request_is_what_was_asked() {
    let mut block = block("GET", "https", "localhost", "/a?b");
    encode(&mut block, "accept", b"*/*");
    let mut decoder = Decoder::new();
    decoder.decode(&block).unwrap();
    let found: Vec<_> = decoder.fields().iter().map(|(n, v)| (std::str::from_utf8(n).unwrap(), std::str::from_utf8(v).unwrap())).collect();
    assert_eq!(found, [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/a?b"), ("accept", "*/*")]);

    let mut client = Client::asking(0, &[]);
    client.session.begin(7, &block, b"", &mut client.out);
    client.session.begin(8, &vec![0; 40_000], b"body", &mut client.out);
    let said: Vec<_> = client.said().into_iter().map(|(kind, flags, stream, payload)| (kind, flags, stream, payload.len())).collect();
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
fn answers_come_in_any_order_and_shape() {
    let mut client = Client::asking(7, &[]);
    let padded = |flags, stream, text: &[u8]| one(frame::DATA, flags | frame::PADDED, stream, &[&[3][..], text, b"\0\0\0"].concat());
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
        one(frame::HEADERS, frame::END_HEADERS | frame::PADDED | frame::WITH_PRIORITY, 9, &prioritised),
        data(frame::END_STREAM, 9, b"hellO"),
        head(frame::END_STREAM, 7, &[(":status", "503")]),
        answer(11, b"hello!"),
    ];
    client.hear(&input.concat()).unwrap();
    let right = [(0, "right"), (6, "right"), (1, "right"), (2, "right"), (4, "wrong"), (3, "wrong"), (5, "wrong")];
    assert_eq!(outcomes(&client.events), right);
    let Event::Answered { finished, .. } = &client.events[4] else { panic!() };
    assert_eq!(finished.judgement, Judgement::Wrong(Wrong::Bytes));
    let Event::Answered { finished, .. } = &client.events[0] else { panic!() };
    assert_eq!((finished.status, finished.bytes, finished.keep_alive), (200, 9 + 1 + 9 + 5, true));
    assert_eq!((client.session.under_way(), client.session.room()), (0, 100));
    assert!(client.out.is_empty());
}

#[test]
fn answers_without_a_body_have_none() {
    let mut client = Client::asking(4, &[]);
    client.asker = Asker::new(BodyCheck::Any);
    client.asker.is_head = true;
    client.hear(&head(frame::END_STREAM, 1, &[(":status", "200"), ("content-length", "5")])).unwrap();
    client.hear(&answer(3, b"hello")).unwrap();
    client.asker.is_head = false;
    client.hear(&head(frame::END_STREAM, 5, &[(":status", "304"), ("content-length", "5")])).unwrap();
    client.hear(&answer(7, b"")).unwrap();
    assert_eq!(outcomes(&client.events), [(0, "right"), (1, "failed"), (2, "wrong"), (3, "right")]);
}

#[test]
fn a_malformed_answer_costs_its_stream_alone() {
    let end = frame::END_STREAM;
    let cases: [Vec<u8>; 16] = [
        [head(0, 1, &[(":status", "200"), ("content-length", "4")]), data(end, 1, b"hello")].concat(),
        [head(0, 1, &[(":status", "200"), ("content-length", "6")]), data(end, 1, b"hello")].concat(),
        head(end, 1, &[(":status", "200"), ("content-length", "6")]),
        head(0, 1, &[(":status", "200"), ("content-length", "x")]),
        head(0, 1, &[(":status", "200"), ("content-length", "5"), ("content-length", "6")]),
        data(end, 1, b"hello"),
        head(0, 1, &[]),
        head(0, 1, &[("server", "x"), (":status", "200")]),
        head(0, 1, &[(":status", "20")]),
        head(0, 1, &[(":status", "200"), (":status", "200")]),
        head(0, 1, &[(":status", "200"), ("Server", "x")]),
        head(0, 1, &[(":status", "200"), ("server", "a\nb")]),
        head(0, 1, &[(":status", "200"), ("connection", "close")]),
        head(end, 1, &[(":status", "100")]),
        [head(0, 1, OK), head(0, 1, &[("a", "b")])].concat(),
        [head(0, 1, OK), head(end, 1, OK)].concat(),
    ];
    for (number, case) in cases.iter().enumerate() {
        let mut client = Client::asking(2, &[]);
        client.hear(case).unwrap();
        assert_eq!(outcomes(&client.events), [(0, "failed")], "case {number}");
        let said = client.said();
        assert_eq!(said, [(frame::RST_STREAM, 0, 1, frame::PROTOCOL_ERROR.to_be_bytes().to_vec())], "case {number}");
        client.hear(&[data(end, 1, b"late"), answer(3, b"hello")].concat()).unwrap();
        assert_eq!(outcomes(&client.events)[1], (1, "right"), "case {number}");
    }
}

#[test]
fn what_breaks_a_connection_is_said() {
    let long = |kind| [&[0, 64, 1, kind][..], &[0; 5]].concat();
    let block_begun = one(frame::HEADERS, 0, 1, b"\x88");
    let many = one(frame::CONTINUATION, 0, 1, b"").repeat(32);
    let large = one(frame::CONTINUATION, 0, 1, &[0; 16_384]).repeat(5);
    let done = answer(1, b"hello");
    for (input, why) in [
        (long(frame::DATA), "larger than 16384"),
        (one(frame::PUSH_PROMISE, frame::END_HEADERS, 1, &[0; 5]), "PUSH_PROMISE"),
        (data(0, 0, b"x"), "never opened"),
        (data(0, 2, b"x"), "never opened"),
        (data(0, 5, b"x"), "never opened"),
        (head(0, 5, OK), "never opened"),
        (reset(5, 0), "never opened"),
        (window_update(5, 1), "never opened"),
        ([done.clone(), data(0, 1, b"x")].concat(), "after its end"),
        ([done.clone(), head(0, 1, OK)].concat(), "after its end"),
        (one(frame::CONTINUATION, frame::END_HEADERS, 1, b"\x88"), "CONTINUATION of nothing"),
        ([block_begun.clone(), data(0, 1, b"x")].concat(), "interrupts"),
        ([block_begun.clone(), one(frame::CONTINUATION, 0, 3, b"")].concat(), "interrupts"),
        ([block_begun.clone(), many].concat(), "more than 32"),
        ([block_begun, large].concat(), "64 KiB"),
        (one(frame::HEADERS, frame::END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), "number"),
        (one(frame::DATA, frame::PADDED, 1, b""), "padd"),
        (one(frame::DATA, frame::PADDED, 1, b"\x02x"), "padd"),
        (one(frame::HEADERS, frame::END_HEADERS | frame::WITH_PRIORITY, 1, b"\x88"), "priority"),
        (window_update(0, 0), "by nothing"),
        (window_update(0, i32::MAX as u32), "2^31-1"),
        (greeting(&[(SETTINGS_INITIAL_WINDOW_SIZE, 1 << 31)]), "2^31-1"),
        (greeting(&[(SETTINGS_MAX_FRAME_SIZE, 16_383)]), "MAX_FRAME_SIZE"),
        (greeting(&[(SETTINGS_ENABLE_PUSH, 1)]), "push"),
        (one(frame::SETTINGS, 0, 1, b""), "on a stream"),
        (one(frame::SETTINGS, 0, 0, b"x"), "length"),
        (one(frame::SETTINGS, frame::ACK, 0, &[0; 6]), "length"),
        (one(frame::PING, 0, 0, b"x"), "8 bytes"),
        (one(frame::PING, 0, 1, &[0; 8]), "on a stream"),
        (one(frame::PRIORITY, 0, 0, &[0; 5]), "no stream"),
        (one(frame::PRIORITY, 0, 1, &[0; 4]), "5 bytes"),
        (one(frame::RST_STREAM, 0, 1, b""), "4 bytes"),
        (one(frame::WINDOW_UPDATE, 0, 1, b""), "4 bytes"),
        (one(frame::GOAWAY, 0, 0, b""), "too short"),
        (one(frame::GOAWAY, 0, 1, &[0; 8]), "on a stream"),
        (one(frame::PING, 0, 0, &[0; 8]).repeat(5_000), "flood"),
        (greeting(&[]).repeat(8_000), "flood"),
    ] {
        let mut client = Client::asking(2, &[]);
        let found = client.hear(&input).unwrap_err();
        assert!(found.contains(why), "`{found}` does not say `{why}`");
        assert!(client.session.is_closing() && client.session.room() == 0);
        assert_eq!(client.said().pop().unwrap().0, frame::GOAWAY, "{why}");
    }
}

#[test]
fn another_protocol_is_named() {
    for (input, why) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "the server answers in HTTP/1.1, not HTTP/2"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the server does not speak HTTP/2"),
        (b"\0\0\0\x04\x01\0\0\0\0", "the server does not speak HTTP/2"),
    ] {
        for cut in 0..input.len() {
            let mut client = Client::new(BodyCheck::Any);
            client.session.start(&mut client.out);
            let result = client.hear(&input[..cut]).and_then(|()| client.hear(&input[cut..]));
            assert_eq!(result, Err(why.to_owned()));
        }
    }
}

#[test]
fn goaway_takes_the_streams_above_the_last_and_no_more_are_opened() {
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
    assert!(!finished.keep_alive && client.session.under_way() == 0);
}

#[test]
fn resets_say_whether_sending_again_is_safe() {
    let mut client = Client::asking(4, &[]);
    let cut_short = [head(0, 5, OK), data(0, 5, b"hel"), reset(5, 0)].concat();
    let after_the_whole = [answer(7, b"hello"), reset(7, 0), window_update(7, 1)].concat();
    client.hear(&[reset(1, frame::REFUSED_STREAM), reset(3, 2), cut_short, after_the_whole].concat()).unwrap();
    assert_eq!(outcomes(&client.events), [(0, "again"), (1, "failed"), (2, "failed"), (3, "right")]);
    let Event::Failed { why, .. } = &client.events[1] else { panic!() };
    assert_eq!(why, "the server sent RST_STREAM: INTERNAL_ERROR");
    // The place of the one cut short begins anew.
    client.begin(9, b"");
    client.begin(10, b"");
    client.begin(11, b"");
    client.hear(&[answer(9, b"hello"), answer(11, b"hello"), answer(13, b"hello")].concat()).unwrap();
    assert_eq!(outcomes(&client.events)[4..], [(9, "right"), (10, "right"), (11, "right")]);
}

#[test]
fn a_request_given_up_is_not_heard_of_again() {
    let mut client = Client::asking(2, &[]);
    client.hear(&[head(0, 1, OK), data(0, 1, b"hel")].concat()).unwrap();
    client.session.cancel(0, &mut client.out);
    client.session.cancel(77, &mut client.out);
    assert_eq!(client.said(), [(frame::RST_STREAM, 0, 1, frame::CANCEL.to_be_bytes().to_vec())]);
    // What it indexes is needed by what comes after.
    let indexed = one(frame::HEADERS, frame::END_HEADERS | frame::END_STREAM, 1, b"\x40\x01a\x01b");
    let uses_it = one(frame::HEADERS, frame::END_HEADERS, 3, b"\x88\xbe");
    client.hear(&[data(0, 1, b"lo"), indexed, uses_it, data(frame::END_STREAM, 3, b"hello")].concat()).unwrap();
    assert_eq!(outcomes(&client.events), [(1, "right")]);
    assert_eq!(client.session.under_way(), 0);
}

#[test]
fn no_more_streams_than_either_side_wants() {
    let mut client = Client::new(BodyCheck::Any);
    client.session = Http2::new(500);
    client.session.start(&mut client.out);
    assert_eq!(client.session.room(), STREAMS_UNASKED);
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
fn bodies_wait_for_both_windows() {
    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 10)]);
    client.begin(0, &[1; 25]);
    client.begin(1, &[2; 10]);
    client.begin(2, &[3; 11]);
    assert_eq!(client.sent_bodies(), [(1, 10, false), (3, 10, true), (5, 10, false)]);
    client.hear(&window_update(1, 5)).unwrap();
    assert_eq!(client.sent_bodies(), [(1, 5, false)]);
    // The window of streams shrinks below nothing, and comes back.
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
    assert_eq!(outcomes(&client.events), [(1, "failed")], "a window too large costs the stream alone");
}

#[test]
fn an_answer_before_the_end_of_its_request_counts_and_the_rest_is_not_sent() {
    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 10)]);
    client.begin(0, &[0; 25]);
    client.out.clear();
    client.hear(&[answer(1, b"hello"), reset(1, 0), window_update(1, 100)].concat()).unwrap();
    assert_eq!(outcomes(&client.events), [(0, "right")]);
    assert_eq!(client.said(), [(frame::RST_STREAM, 0, 1, frame::CANCEL.to_be_bytes().to_vec())]);
}

#[test]
fn what_was_received_is_credited_in_batches() {
    let mut client = Client::asking(1, &[]);
    client.asker = Asker::new(BodyCheck::Any);
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
fn nothing_is_allocated_for_a_request_once_there_was_one_like_it() {
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
    assert_eq!((streams.len(), free.len(), sending.len(), partial.capacity(), block_text.capacity()), (8, 8, 0, 0, 0));
}

/// Something that a server may say, with each stream's share of it in order.
fn conversation() -> Vec<u8> {
    let mut indexing = Vec::from(*b"\x88\x40\x01a\x01b");
    hpack::encode(&mut indexing, "content-length", b"5");
    [
        greeting(&[(SETTINGS_MAX_CONCURRENT_STREAMS, 50), (SETTINGS_INITIAL_WINDOW_SIZE, 3)]),
        one(frame::SETTINGS, frame::ACK, 0, b""),
        one(frame::HEADERS, frame::END_HEADERS, 1, &indexing),
        one(frame::PING, 0, 0, b"12345678"),
        data(0, 1, b"hel"),
        window_update(0, 7),
        head(0, 3, &[(":status", "100")]),
        one(frame::HEADERS, 0, 3, b"\x88"),
        one(frame::CONTINUATION, frame::END_HEADERS, 3, b"\xbe"),
        window_update(5, 2),
        data(frame::END_STREAM, 1, b"lo"),
        data(frame::END_STREAM | frame::PADDED, 3, b"\x02hello\0\0"),
        reset(5, frame::REFUSED_STREAM),
        head(frame::END_STREAM, 7, &[(":status", "200"), ("content-length", "7")]),
        goaway(9, 0),
        answer(9, b"hello"),
        reset(9, 0),
        one(99, 0, 0, b"??"),
    ]
    .concat()
}

/// Hears the bytes cut at the given places, with requests under way and a body that waits; returns all that comes of it.
fn hear_in_pieces(bytes: &[u8], cuts: &[usize]) -> (Result<(), String>, Vec<Event>, Vec<u8>) {
    let mut client = Client::new(BodyCheck::Text("hello".into()));
    client.session.start(&mut client.out);
    (0..6).for_each(|ticket| client.begin(ticket, &vec![0; ticket as usize * 15_000]));
    let mut cuts: Vec<usize> = cuts.iter().map(|c| (*c).min(bytes.len())).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    let mut result = Ok(());
    for piece in cuts.windows(2) {
        result = client.hear(&bytes[piece[0]..piece[1]]);
        if result.is_err() {
            break;
        }
    }
    (result, client.events, client.out)
}

#[test]
fn a_conversation_cut_at_any_byte_is_the_same() {
    let bytes = conversation();
    let whole = hear_in_pieces(&bytes, &[]);
    assert_eq!(whole.0, Ok(()));
    assert_eq!(outcomes(&whole.1), [(0, "right"), (1, "right"), (2, "again"), (3, "failed"), (5, "again"), (4, "right")]);
    for cut in 0..bytes.len() {
        assert_eq!(hear_in_pieces(&bytes, &[cut]), whole, "cut at {cut}");
    }
    let everywhere: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(hear_in_pieces(&bytes, &everywhere), whole);
}

/// Frames of every kind with payloads of any bytes.
fn any_frames() -> impl Strategy<Value = Vec<u8>> {
    let any_frame = (0u8..11, any::<u8>(), 0u32..14, prop::collection::vec(any::<u8>(), 0..24));
    let any_frame = any_frame.prop_map(|(kind, flags, stream, payload)| one(kind, flags, stream, &payload));
    let sound = prop_oneof![
        (0u32..7).prop_map(|n| answer(2 * n + 1, b"hello")),
        (0u32..7, prop::collection::vec(any::<u8>(), 0..9)).prop_map(|(n, body)| data(0, 2 * n + 1, &body)),
        (0u32..7, 100u16..600).prop_map(|(n, status)| head(0, 2 * n + 1, &[(":status", &status.to_string())])),
        (0u32..14, any::<u32>()).prop_map(|(stream, by)| window_update(stream, by)),
        (1u16..8, any::<u32>()).prop_map(|(setting, value)| greeting(&[(setting, value)])),
        (0u32..14, 0u32..15).prop_map(|(last, code)| goaway(last, code)),
        (0u32..14, 0u32..15).prop_map(|(stream, code)| reset(stream, code)),
    ];
    prop::collection::vec(prop_oneof![1 => any_frame, 3 => sound], 0..20).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn any_frames_cut_anywhere_mean_the_same_and_name_each_request_once(
        frames in any_frames(), cuts in prop::collection::vec(0usize..600, 0..8),
    ) {
        let bytes = [greeting(&[]), frames].concat();
        let whole = hear_in_pieces(&bytes, &[]);
        prop_assert_eq!(&hear_in_pieces(&bytes, &cuts), &whole);
        let mut tickets: Vec<u32> = outcomes(&whole.1).iter().map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        let count = tickets.len();
        tickets.dedup();
        prop_assert!(tickets.len() == count && tickets.iter().all(|t| *t < 6));
    }

    #[test]
    fn no_bytes_make_it_panic_or_say_more_than_it_should(
        bytes in prop::collection::vec(any::<u8>(), 0..400), greeted in any::<bool>(), cut in 0usize..400,
    ) {
        let bytes = if greeted { [greeting(&[]), bytes].concat() } else { bytes };
        let (_, _, out) = hear_in_pieces(&bytes, &[cut]);
        // Requests of 15,000 bytes times 0 to 5, and a few frames.
        prop_assert!(out.len() < 15 * 15_000 + 2_000 + 17 * bytes.len());
    }
}
