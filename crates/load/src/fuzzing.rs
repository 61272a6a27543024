//! The targets of `fuzz/`: they read bytes as from a server, and panic if a property does not hold.
//!
//! The first two bytes of the input select options and the length of pieces. The tests replay the
//! seeds of `fuzz/seeds/` on the stable compiler.

use crate::answer::{Ending, Event};
use crate::check::{Checks, Expected, ResponseCheck};
use crate::headers::Headers;
use crate::http1::Http1;
use crate::http2::hpack::{self, Decoder};
use crate::http2::{Http2, encode};
use crate::values::Vars;
use spec::workload::{Answer, BodyCheck, Step};

/// The number of requests in flight when the server starts to respond.
const REQUESTS: u32 = 6;

/// Expects one kind of check after the other.
struct Book {
    expected: Vec<Expected>,
    vars: Vars,
    is_head: bool,
}

impl Book {
    fn new(is_head: bool) -> Book {
        let checks = [
            BodyCheck::Text("hello".into()),
            BodyCheck::Json(serde_json::json!({"a": 1})),
            BodyCheck::Any,
            BodyCheck::Length(5),
        ];
        let expecting = |body| {
            let answer = Answer { body, ..Answer::default() };
            Expected::of_step(&Step { answer, declined: Some(503), ..Step::default() })
        };
        Book {
            expected: checks.into_iter().map(expecting).collect(),
            vars: Vars::default(),
            is_head,
        }
    }
}

impl Checks for Book {
    fn check(&mut self, ticket: u32) -> ResponseCheck<'_> {
        let at = ticket as usize % self.expected.len();
        ResponseCheck {
            expected: &mut self.expected[at],
            vars: &mut self.vars,
            is_head: self.is_head && ticket % 5 == 4,
        }
    }
}

/// Options, the length of pieces, and the bytes of the server.
struct Manner<'a> {
    options: u8,
    piece: usize,
    bytes: &'a [u8],
}

impl Manner<'_> {
    fn parse(data: &[u8]) -> Option<Manner<'_>> {
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

/// Reads bytes as an HTTP/1.1 connection. The result must not depend on how they are cut.
pub fn http1(data: &[u8]) {
    let Some(manner) = Manner::parse(data) else { return };
    let hear = |piece: usize| {
        let (mut session, mut book, mut events) =
            (Http1::default(), Book::new(manner.has(0)), Vec::new());
        (0..REQUESTS).for_each(|ticket| session.begin(ticket, 0));
        let heard = manner
            .bytes
            .chunks(piece.max(1))
            .try_for_each(|piece| session.receive(piece, 0, &mut book, &mut events));
        let ended = heard.and_then(|()| session.end(Ending::InOrder, 0, &mut book, &mut events));
        (ended, events)
    };
    let whole = hear(manner.bytes.len());
    assert_eq!(hear(manner.piece), whole);
    assert_named_once(&whole.1, REQUESTS);
}

/// Reads bytes as an HTTP/2 connection. The result must not depend on how they are cut. Replies
/// must be bounded, even if requests start and are cancelled meanwhile.
pub fn http2(data: &[u8]) {
    let Some(manner) = Manner::parse(data) else { return };
    let mut block = Vec::new();
    for (name, value) in
        [(":method", "POST"), (":scheme", "http"), (":authority", "localhost"), (":path", "/")]
    {
        encode(&mut block, name, value.as_bytes());
    }
    // More than the initial window.
    let body = if manner.has(1) { vec![b'x'; 80_000] } else { Vec::new() };
    let hear = |piece: usize, is_busy: bool| {
        let (mut session, mut book) = (Http2::new(REQUESTS), Book::new(manner.has(0)));
        let (mut out, mut events, mut begun) = (Vec::new(), Vec::new(), REQUESTS);
        session.start(&mut out);
        (0..REQUESTS).for_each(|ticket| {
            session.begin(ticket, &block, &body[body.len() / 4 * (ticket as usize % 4)..], &mut out)
        });
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
        assert!(session.in_flight() <= begun - events.len() as u32);
        assert_named_once(&events, begun);
        // Windows may permit a body byte by byte.
        assert!(
            out.len() < begun as usize * (10 * body.len() + 200) + (128 << 10) + 1_000,
            "it says {} bytes",
            out.len()
        );
        (heard, events, out)
    };
    if manner.has(2) {
        let _ = hear(manner.piece, true);
    } else {
        assert_eq!(hear(manner.piece, false), hear(manner.bytes.len(), false));
    }
}

/// Reads header blocks, each preceded by its length. Encoding the decoded fields and decoding them
/// again must give the same.
pub fn hpack(mut data: &[u8]) {
    let mut decoder = Decoder::new();
    while let Some((&length, rest)) = data.split_first() {
        let (block, after) = rest.split_at(rest.len().min(length.into()));
        data = after;
        if decoder.decode(block).is_err() {
            return;
        }
        let fields: Vec<_> = decoder
            .fields()
            .iter()
            .map(|(name, value)| (String::from_utf8(name.to_vec()), value.to_vec()))
            .collect();
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
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::path::Path;
    use std::sync::LazyLock;

    type Target = fn(&[u8]);

    const TARGETS: [(&str, Target); 3] = [("http1", http1), ("http2", http2), ("hpack", hpack)];

    /// Returns the seeds of a target. All are read once.
    fn seeds(which: usize) -> &'static [Vec<u8>] {
        static SEEDS: LazyLock<[Vec<Vec<u8>>; TARGETS.len()]> =
            LazyLock::new(|| TARGETS.map(|(name, _)| read_seeds(name)));
        &SEEDS[which]
    }

    fn read_seeds(name: &str) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .expect("there are seeds")
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{name}");
        files.iter().map(|file| std::fs::read(file).unwrap()).collect()
    }

    #[test]
    fn seeds_pass() {
        for (which, (_, target)) in TARGETS.iter().enumerate() {
            seeds(which).iter().for_each(|seed| target(seed));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        /// Does for a short time what libFuzzer does for longer: changes, removes and repeats bytes
        /// of a seed.
        #[test]
        fn mutated_seeds_pass(
            which in 0usize..3, seed in any::<Index>(), options in any::<[u8; 2]>(),
            changes in prop::collection::vec((any::<Index>(), 0u8..4, any::<u8>(), 1usize..30), 0..6),
        ) {
            let (_, target) = TARGETS[which];
            let mut bytes = seed.get(seeds(which)).clone();
            let given = bytes.len().min(2);
            bytes[..given].copy_from_slice(&options[..given]);
            for (at, how, byte, length) in changes {
                let at = at.index(bytes.len());
                let part = bytes[at..bytes.len().min(at + length)].to_vec();
                match how {
                    0 => bytes[at] = byte,
                    1 => drop(bytes.splice(at..at, part)),
                    2 if part.len() < bytes.len() => drop(bytes.drain(at..at + part.len())),
                    _ => bytes.insert(at, b"\r\n :;,0"[usize::from(byte) % 7]),
                }
            }
            target(&bytes);
        }
    }
}
