//! What the targets in `fuzz/` run: bytes of a server that may say anything. Each panics where a
//! property does not hold. The first bytes say how the rest is given.

use crate::answer::Event;
use crate::check::{Asked, Expected, Headers, Questions};
use crate::http1::Http1;
use crate::http2::hpack::{self, Decoder};
use crate::http2::{Http2, encode};
use crate::request::Vars;
use model::workload::{Answer, BodyCheck, Step};

/// Requests under way when the server begins to speak.
const REQUESTS: u32 = 6;

/// Answers of each kind of check, in turn.
struct Book {
    expected: Vec<Expected>,
    vars: Vars,
    is_head: bool,
}

impl Book {
    fn new(is_head: bool) -> Book {
        let checks = [BodyCheck::Text("hello".into()), BodyCheck::Json(serde_json::json!({"a": 1})), BodyCheck::Any, BodyCheck::Length(5)];
        let expecting = |body| {
            let answer = Answer { body, ..Answer::default() };
            Expected::of(&Step { answer, declined: Some(503), ..Step::default() })
        };
        Book { expected: checks.into_iter().map(expecting).collect(), vars: Vars::default(), is_head }
    }
}

impl Questions for Book {
    fn asked(&mut self, ticket: u32) -> Asked<'_> {
        let at = ticket as usize % self.expected.len();
        Asked { expected: &mut self.expected[at], vars: &mut self.vars, is_head: self.is_head && ticket % 5 == 4 }
    }
}

/// How bytes are given: options, and the length of pieces.
struct Manner<'a> {
    options: u8,
    piece: usize,
    bytes: &'a [u8],
}

impl Manner<'_> {
    fn of(data: &[u8]) -> Option<Manner<'_>> {
        let (&[options, piece], bytes) = data.split_first_chunk::<2>()?;
        Some(Manner { options, piece: usize::from(piece) + 1, bytes })
    }

    fn has(&self, option: u8) -> bool {
        self.options & 1 << option != 0
    }
}

fn assert_named_once(events: &[Event], requests: u32) {
    let mut named = vec![false; requests as usize];
    for Event::Answered { ticket, .. } | Event::Failed { ticket, .. } in events {
        assert!(!std::mem::replace(&mut named[*ticket as usize], true), "{ticket} is named twice");
    }
}

/// An HTTP/1.1 connection: however the bytes are cut, the same answers come of them.
pub fn http1(data: &[u8]) {
    let Some(manner) = Manner::of(data) else { return };
    let hear = |piece: usize| {
        let (mut session, mut book, mut events) = (Http1::default(), Book::new(manner.has(0)), Vec::new());
        (0..REQUESTS).for_each(|ticket| session.begin(ticket));
        let heard = manner.bytes.chunks(piece.max(1)).try_for_each(|piece| session.receive(piece, &mut book, &mut events));
        let ended = heard.and_then(|()| session.end(&mut book, &mut events));
        (ended, events)
    };
    let whole = hear(manner.bytes.len());
    assert_eq!(hear(manner.piece), whole);
    assert_named_once(&whole.1, REQUESTS);
}

/// An HTTP/2 connection: however the bytes are cut, the same comes of them; and what is said in
/// return is bounded, also when requests are begun and given up meanwhile.
pub fn http2(data: &[u8]) {
    let Some(manner) = Manner::of(data) else { return };
    let mut block = Vec::new();
    for (name, value) in [(":method", "POST"), (":scheme", "http"), (":authority", "localhost"), (":path", "/")] {
        encode(&mut block, name, value.as_bytes());
    }
    // More than the window that stands unasked.
    let body = if manner.has(1) { vec![b'x'; 80_000] } else { Vec::new() };
    let hear = |piece: usize, is_busy: bool| {
        let (mut session, mut book) = (Http2::new(REQUESTS), Book::new(manner.has(0)));
        let (mut out, mut events, mut begun) = (Vec::new(), Vec::new(), REQUESTS);
        session.start(&mut out);
        (0..REQUESTS).for_each(|ticket| session.begin(ticket, &block, &body[body.len() / 4 * (ticket as usize % 4)..], &mut out));
        let heard: Result<(), String> = manner.bytes.chunks(piece.max(1)).try_for_each(|piece| {
            session.receive(piece, &mut book, &mut out, &mut events)?;
            while is_busy && session.room() > 0 {
                session.begin(begun, &block, &body, &mut out);
                if begun.is_multiple_of(3) {
                    session.cancel(begun, &mut out);
                }
                begun += 1;
            }
            Ok(())
        });
        assert!(session.under_way() <= begun - events.len() as u32);
        assert_named_once(&events, begun);
        // Windows may let a body through by single bytes.
        assert!(out.len() < begun as usize * (10 * body.len() + 200) + (64 << 10) + 1_000, "it says {} bytes", out.len());
        (heard, events, out)
    };
    if manner.has(2) {
        let _ = hear(manner.piece, true);
    } else {
        assert_eq!(hear(manner.piece, false), hear(manner.bytes.len(), false));
    }
}

/// Header blocks, one after the other, each behind its length: what is decoded can be encoded, and is then the same.
pub fn hpack(mut data: &[u8]) {
    let mut decoder = Decoder::new();
    while let Some((&length, rest)) = data.split_first() {
        let (block, after) = rest.split_at(rest.len().min(length.into()));
        data = after;
        if decoder.decode(block).is_err() {
            return;
        }
        let fields: Vec<_> = decoder.fields().iter().map(|(name, value)| (String::from_utf8(name.to_vec()), value.to_vec())).collect();
        let mut encoded = Vec::new();
        for (name, value) in &fields {
            let Ok(name) = name else { return };
            assert!(decoder.fields().value(name).is_some());
            hpack::encode(&mut encoded, name, value);
        }
        let mut again = Decoder::new();
        again.decode(&encoded).expect("what we encode can be decoded");
        assert!(again.fields().iter().eq(decoder.fields().iter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_seeds_hold() {
        for (name, target) in [("http1", http1 as fn(&[u8])), ("http2", http2), ("hpack", hpack)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
            let mut count = 0;
            for file in std::fs::read_dir(&folder).expect("there are seeds") {
                target(&std::fs::read(file.unwrap().path()).unwrap());
                count += 1;
            }
            assert!(count > 0, "{name}");
        }
    }
}
