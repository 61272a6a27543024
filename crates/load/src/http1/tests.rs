//! Tests of the reader of HTTP/1 responses: framings, limits, refusals, responses cut anywhere.
//!
//! However the bytes are cut, the result is the same, and arbitrary bytes cause no panic.

use super::*;
use crate::answer::Retry;
use crate::check::ResponseCheck;
use crate::check::{Expected, Judgement, Wrong};
use crate::limits::HEAD_MAX;
use crate::values::Vars;
use proptest::prelude::*;
use spec::workload::{Answer, BodyCheck, Statuses, Step};

fn expecting(body: BodyCheck) -> Expected {
    Expected::of_step(&Step { answer: Answer { body, ..Answer::default() }, ..Step::default() })
}

/// Reads the bytes, cut at the given places. Returns all responses.
fn read_all(
    bytes: &[u8],
    cuts: &[usize],
    expected: &mut Expected,
) -> Result<Vec<Finished>, Malformed> {
    let mut reader = AnswerReader::default();
    let mut answers = Vec::new();
    let mut check = ResponseCheck { expected, vars: &mut Vars::default(), is_head: false };
    let mut cuts: Vec<usize> =
        cuts.iter().map(|c| (*c).min(bytes.len())).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    for piece in cuts.windows(2) {
        let mut piece = &bytes[piece[0]..piece[1]];
        while !piece.is_empty() {
            let (used, answer) = reader.read_response(piece, &mut check)?;
            answers.extend(answer);
            piece = &piece[used..];
        }
    }
    if reader.is_within_answer() {
        answers.push(reader.end(&mut check)?);
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
fn every_framing_is_read_with_the_right_keep_alive() {
    let keep_alive: Vec<bool> = ANSWERS
        .iter()
        .map(|answer| {
            let found =
                read_all(answer.as_bytes(), &[], &mut expecting(BodyCheck::Text("hello".into())))
                    .unwrap();
            assert_eq!(found.len(), 1, "{answer}");
            assert_eq!(
                (&found[0].judgement, found[0].bytes),
                (&Judgement::Correct, answer.len() as u64),
                "{answer}"
            );
            found[0].keep_alive
        })
        .collect();
    assert_eq!(keep_alive, [true, true, true, false, false, false]);
}

proptest! {
    /// A remembered response must not change how later ones are judged.
    #[test]
    fn remembered_response_is_judged_like_a_new_one(
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
fn responses_to_head_204_and_304_have_no_body() {
    let mut reader = AnswerReader::default();
    let mut expected = expecting(BodyCheck::Any);
    let mut check =
        ResponseCheck { expected: &mut expected, vars: &mut Vars::default(), is_head: true };
    let (used, answer) =
        reader.read_response(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &mut check).unwrap();
    assert!(used == 38 && answer.is_some(), "an answer to HEAD");
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
    ] {
        assert_eq!(read_all(head.as_bytes(), &[], &mut expected).unwrap().len(), 1, "{head}");
    }
}

#[test]
fn invalid_response_is_named() {
    for (bytes, wanted) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Malformed::Length),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            Malformed::Length,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            Malformed::TransferCoding("gzip".into()),
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhexx", Malformed::Chunk),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            Malformed::Chunk,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Malformed::CutShort),
        ("HTTP/1.1 20", Malformed::CutShort),
    ] {
        assert_eq!(
            read_all(bytes.as_bytes(), &[], &mut expecting(BodyCheck::Any)),
            Err(wanted),
            "{bytes}"
        );
    }
    let garbage = read_all(b"SSH-2.0-OpenSSH\r\n", &[], &mut expecting(BodyCheck::Any));
    assert!(matches!(garbage, Err(Malformed::NotHttp(_))), "{garbage:?}");
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(HEAD_MAX));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000);
    assert_eq!(
        read_all(interim.as_bytes(), &[], &mut expecting(BodyCheck::Any)),
        Err(Malformed::TooManyInterim)
    );
    for cuts in [vec![], vec![30_000, 60_000]] {
        assert_eq!(
            read_all(endless.as_bytes(), &cuts, &mut expecting(BodyCheck::Any)),
            Err(Malformed::HeadTooLong)
        );
    }
}

/// Returns the result of reading one response, which must not depend on its cuts.
fn read_one(bytes: &[u8]) -> Result<Finished, Malformed> {
    let mut found = read_all(bytes, &[], &mut expecting(BodyCheck::Any))?;
    for cuts in [
        vec![1],
        vec![bytes.len() / 2],
        vec![bytes.len() - 1],
        (0..bytes.len()).step_by(700).collect(),
    ] {
        assert_eq!(
            read_all(bytes, &cuts, &mut expecting(BodyCheck::Any)).as_ref(),
            Ok(&found),
            "cut at {cuts:?}"
        );
    }
    assert_eq!(found.len(), 1);
    Ok(found.remove(0))
}

/// Creates a response of a given size.
type Sized<'a> = &'a dyn Fn(usize) -> String;

#[test]
fn limits_do_not_depend_on_cuts_and_are_named() {
    let head = |bytes: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {}\r\n\r\n", "a".repeat(bytes - 43))
    };
    let headers = |count: usize| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n",
            "Set-Cookie: a=b\r\n".repeat(count - 1)
        )
    };
    let interim = |count: usize| {
        format!(
            "{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 103 x\r\nLink: a\r\n\r\n".repeat(count)
        )
    };
    let chunked =
        |rest: String| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{rest}");
    let chunk_line =
        |bytes: usize| chunked(format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(bytes - 3)));
    let trailers = |count: usize| chunked(format!("0\r\n{}\r\n", "A: b\r\n".repeat(count)));
    let trailer = |bytes: usize| chunked(format!("0\r\nA: {}\r\n\r\n", "b".repeat(bytes - 3)));
    let cases: [(Sized<'_>, usize, Malformed, &str); 6] = [
        (&head, HEAD_MAX, Malformed::HeadTooLong, "128 KiB"),
        (&headers, 1_000, Malformed::TooManyHeaders, "more than 1000 headers"),
        (&interim, 100, Malformed::TooManyInterim, "more than 100 interim responses"),
        (&chunk_line, 4_096, Malformed::ChunkLineTooLong, "4096 bytes"),
        (&trailers, 1_000, Malformed::TooManyHeaders, "more than 1000 headers"),
        (&trailer, HEAD_MAX, Malformed::HeadTooLong, "128 KiB"),
    ];
    for (response, most, wanted, said) in cases {
        assert!(read_one(response(most).as_bytes()).is_ok(), "{said}");
        let beyond = response(most + 1);
        for cuts in [vec![], vec![beyond.len() - 10], (0..beyond.len()).step_by(1_000).collect()] {
            assert_eq!(
                read_all(beyond.as_bytes(), &cuts, &mut expecting(BodyCheck::Any)),
                Err(wanted.clone()),
                "cut at {cuts:?}"
            );
        }
        assert!(wanted.to_string().contains(said), "{wanted}");
    }
}

#[test]
fn folded_headers_are_read_as_one_line() {
    let checked = |bytes: &str, name: &str, value: &str| {
        let answer = Answer {
            headers: vec![(name.into(), spec::template::Template::parse(value).unwrap())],
            ..Answer::default()
        };
        let mut expected = Expected::of_step(&Step { answer, ..Step::default() });
        for cuts in [vec![], (0..bytes.len()).collect()] {
            let found = read_all(bytes.as_bytes(), &cuts, &mut expected).unwrap();
            assert_eq!(found[0].judgement, Judgement::Correct, "{bytes:?}");
            assert!(found[0].keep_alive && found.len() == 1, "{bytes:?}");
        }
    };
    checked("HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 0\r\n\r\n", "x", "a    b");
    checked("HTTP/1.1 200 OK\nX: a\n\tb\n c\nContent-Length: 0\n\n", "x", "a \tb  c");
    checked("HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\nX: y\r\n\r\n\r\n", "x", "y");
    checked(
        "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n",
        "x",
        "y",
    );
    checked(
        "HTTP/1.1 103 x\r\nLink: a\r\n b\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 1\r\n\r\n ",
        "x",
        "y",
    );
    let behind_the_status = "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 0\r\n\r\n";
    assert!(matches!(
        read_all(behind_the_status.as_bytes(), &[], &mut expecting(BodyCheck::Any)),
        Err(Malformed::Head(_))
    ));
}

#[test]
fn ambiguous_framing_is_refused() {
    let of = |head: &str, body: &str| read_one(format!("HTTP/1.{head}\r\n\r\n{body}").as_bytes());
    let keeps = |head: &str, body: &str| of(head, body).unwrap().keep_alive;
    const OK: &str = "2\r\nok\r\n0\r\n\r\n";
    assert!(keeps("1 200 OK\r\nTransfer-Encoding: Chunked", OK));
    assert!(
        keeps("1 200 OK\r\nTransfer-Encoding: chunked,", OK),
        "empty elements of a list are ignored"
    );
    assert!(keeps("0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2", "ok"));
    assert!(
        !keeps("0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked", OK),
        "HTTP/1.0 has no chunks"
    );
    assert!(
        keeps("1 200 OK\r\nContent-Length: 2, 2", "ok")
            && keeps("1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2", "ok")
    );
    assert!(!keeps("1 101 Switching Protocols\r\nUpgrade: x", ""));
    for twice in ["chunked, chunked", "chunked\r\nTransfer-Encoding: chunked", "chunked,,chunked"] {
        let refused = of(&format!("1 200 OK\r\nTransfer-Encoding: {twice}"), OK).unwrap_err();
        assert_eq!(refused, Malformed::TransferCoding("chunked, chunked".into()), "{twice}");
    }
    for other in ["gzip, chunked", "chunked, gzip", "identity", "", "xchunked"] {
        let refused = of(&format!("1 200 OK\r\nTransfer-Encoding: {other}"), OK).unwrap_err();
        assert!(matches!(refused, Malformed::TransferCoding(_)), "{other}: {refused:?}");
    }
    for length in ["2, 3", "2\r\nContent-Length: 3", "2,", "-2", "0x2", ""] {
        assert_eq!(
            of(&format!("1 200 OK\r\nContent-Length: {length}"), "ok"),
            Err(Malformed::Length),
            "{length}"
        );
    }
    assert!(matches!(of("1 099 x", ""), Err(Malformed::Head(_))));
}

#[test]
fn lenient_chunks_are_read_and_ambiguous_ones_refused() {
    let of = |body: &str| {
        read_one(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}").as_bytes())
    };
    for lenient in [
        "2\nok\n0\n\n",
        "0002\r\nok\r\n00\r\n\r\n",
        "2 \t\r\nok\r\n0\r\n\r\n",
        "2 ; a=\"\u{1}\"\r\nok\r\n0;x\r\n\r\n",
        "2\r\nok\r\n0\r\nA: b\nC: d\r\n e\r\n\n",
    ] {
        assert!(of(lenient).is_ok_and(|found| found.keep_alive), "{lenient:?}");
    }
    for (refused, wanted) in [
        ("2 x\r\nok\r\n0\r\n\r\n", Malformed::Chunk),
        ("2\rok\r\n0\r\n\r\n", Malformed::Chunk),
        ("2;a\rb\r\nok\r\n0\r\n\r\n", Malformed::Chunk),
        (" 2\r\nok\r\n0\r\n\r\n", Malformed::Chunk),
        ("+2\r\nok\r\n0\r\n\r\n", Malformed::Chunk),
        ("0x2\r\nok\r\n0\r\n\r\n", Malformed::Chunk),
        ("2\r\nok0\r\n\r\n", Malformed::Chunk),
        ("2\r\nok\r\r\n0\r\n\r\n", Malformed::Chunk),
        ("0000000000000002\r\nok\r\n0\r\n\r\n", Malformed::Chunk),
        ("0\r\nno name\r\n\r\n", Malformed::Trailer),
        ("0\r\n: value\r\n\r\n", Malformed::Trailer),
        ("0\r\n A: b\r\n\r\n", Malformed::Trailer),
        ("0\r\nA: b\rC: d\r\n\r\n", Malformed::Trailer),
    ] {
        assert_eq!(of(refused), Err(wanted), "{refused:?}");
    }
}

struct Checker(Expected, Vars);

impl Checks for Checker {
    fn check(&mut self, _: u32) -> ResponseCheck<'_> {
        ResponseCheck { expected: &mut self.0, vars: &mut self.1, is_head: false }
    }
}

/// Creates a session with requests of ten bytes each in flight, of which `sent` bytes were sent,
/// and lets it read bytes.
fn session(requests: u32, sent: u64, heard: &[u8]) -> (Http1, Checker, Vec<Event>) {
    let mut checker = Checker(expecting(BodyCheck::Any), Vars::default());
    let (mut session, mut events) = (Http1::default(), Vec::new());
    (0..requests).for_each(|ticket| session.begin(ticket, 10 * u64::from(ticket + 1)));
    session.receive(heard, sent, &mut checker, &mut events).unwrap();
    (session, checker, events)
}

fn outcomes(events: &[Event]) -> Vec<(u32, Option<Retry>)> {
    let of = |event: &Event| match event {
        Event::Answered { .. } => None,
        Event::Failed { retry, .. } => Some(*retry),
    };
    events.iter().map(|event| (event.ticket(), of(event))).collect()
}

const SHORT: &[u8] = b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n";

#[test]
fn response_before_the_request_is_sent_ends_the_connection() {
    for (sent, closes) in [(9, true), (10, false), (25, false)] {
        let (session, _, events) = session(3, sent, SHORT);
        assert_eq!(
            (session.is_closing(), session.in_flight()),
            (closes, if closes { 0 } else { 2 }),
            "{sent}"
        );
        let behind = [(0, None), (1, Some(Retry::Safe)), (2, Some(Retry::Safe))];
        assert_eq!(outcomes(&events), behind[..if closes { 3 } else { 1 }], "{sent}");
    }
}

#[test]
fn retry_after_the_end_depends_on_bytes_and_ending() {
    use Retry::{Idempotent, Safe};
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nha";
    for (heard, how, wanted, why) in [
        (
            &b""[..],
            Ending::InOrder,
            vec![(0, Idempotent), (1, Idempotent), (2, Safe)],
            Malformed::NoAnswer,
        ),
        (
            b"",
            Ending::CutOff,
            vec![(0, Idempotent), (1, Idempotent), (2, Safe)],
            Malformed::NoAnswer,
        ),
        (b"", Ending::Broken, vec![(2, Safe)], Malformed::NoAnswer),
        (half, Ending::InOrder, vec![(1, Idempotent), (2, Safe)], Malformed::CutShort),
        (half, Ending::Broken, vec![(2, Safe)], Malformed::CutShort),
        (SHORT, Ending::InOrder, vec![(1, Idempotent), (2, Safe)], Malformed::NoAnswer),
        (
            b"HTTP/1.1 100 Continue\r\n\r\n",
            Ending::InOrder,
            vec![(1, Idempotent), (2, Safe)],
            Malformed::CutShort,
        ),
    ] {
        let (mut session, mut checker, mut events) = session(3, 20, heard);
        events.clear();
        assert_eq!(session.end(how, 20, &mut checker, &mut events), Err(why), "{how:?}");
        let found: Vec<_> =
            outcomes(&events).into_iter().map(|(ticket, retry)| (ticket, retry.unwrap())).collect();
        assert_eq!(found, wanted, "{how:?} after {heard:?}");
    }
    // A body that lasts until the end is complete only if the end is in order.
    for (how, is_whole) in
        [(Ending::InOrder, true), (Ending::CutOff, false), (Ending::Broken, false)]
    {
        let (mut session, mut checker, mut events) =
            session(1, 10, b"HTTP/1.1 200 OK\r\n\r\nhello");
        assert_eq!(session.end(how, 10, &mut checker, &mut events).is_ok(), is_whole, "{how:?}");
        assert_eq!(events.len(), usize::from(is_whole));
    }
}

#[test]
fn bytes_after_a_counted_response_are_noted() {
    let (mut session, mut checker, mut events) = session(1, 10, SHORT);
    events.clear();
    assert!(!session.has_surplus() && !session.is_closing());
    session.receive(SHORT, 10, &mut checker, &mut events).unwrap();
    assert!(session.has_surplus() && session.is_closing() && events.is_empty());
}

#[test]
fn response_longer_than_announced_fails() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello",
        "HTTP/1.1 204 No Content\r\n\r\nhello",
    ] {
        let mut checker = Checker(
            Expected::of_step(&Step {
                answer: Answer { status: Statuses { from: 200, to: 299 }, ..Answer::default() },
                ..Step::default()
            }),
            Vars::default(),
        );
        let (mut session, mut events) = (Http1::default(), Vec::new());
        session.begin(7, 0);
        session.receive(answer.as_bytes(), 0, &mut checker, &mut events).unwrap();
        assert!(
            matches!(&events[..], [Event::Failed { ticket: 7, retry: Retry::No, .. }]),
            "{events:?}"
        );
        assert!(session.is_closing());
    }
}

proptest! {
    #[test]
    fn response_cut_anywhere_is_the_same(which in 0usize..5, again in 0usize..3, cuts in prop::collection::vec(0usize..300, 0..12)) {
        // Two responses with keep-alive, then one of any kind.
        let bytes = format!("{}{}{}", ANSWERS[again], ANSWERS[0], ANSWERS[which]);
        let mut expected = expecting(BodyCheck::Text("hello".into()));
        let whole = read_all(bytes.as_bytes(), &[], &mut expected).unwrap();
        let cut = read_all(bytes.as_bytes(), &cuts, &mut expected).unwrap();
        prop_assert_eq!(whole.len(), 3);
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
        let mut expected = expecting(BodyCheck::Json(serde_json::json!(1)));
        let _ = read_all(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &bytes].concat(), &[cut], &mut expected);
        let _ = read_all(&bytes, &[cut], &mut expected);
    }

    #[test]
    fn one_wrong_byte_is_found_anywhere(at in 0usize..5, cut in 0usize..60) {
        let mut body = *b"hello";
        body[at] ^= 1;
        let bytes = [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".as_slice(), &body].concat();
        let found = read_all(&bytes, &[cut], &mut expecting(BodyCheck::Text("hello".into()))).unwrap();
        prop_assert_eq!(&found[0].judgement, &Judgement::Wrong(Wrong::Bytes));
    }

    /// However a head and its chunks are written and cut, the result is the same: a response, or
    /// one error.
    #[test]
    fn any_head_and_chunks_cut_anywhere_give_the_same(
        lines in prop::collection::vec(any_line(), 0..8), repeated in prop_oneof![Just(0usize), 990usize..1_010, 5_000usize..5_005],
        padding in prop_oneof![Just(0usize), 130_900usize..131_100], body in any_chunks(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let padding = if padding > 0 { format!("P: {}\r\n", "p".repeat(padding)) } else { String::new() };
        let head = format!("HTTP/1.1 200 OK\r\n{}{}{padding}\r\n", lines.concat(), "R: r\r\n".repeat(repeated));
        let bytes = [head.as_bytes(), &body].concat();
        let whole = read_all(&bytes, &[], &mut expecting(BodyCheck::Any));
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        prop_assert_eq!(read_all(&bytes, &cuts, &mut expecting(BodyCheck::Any)), whole);
    }
}

fn any_line() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "Transfer-Encoding: chunked",
        "Content-Length: 2",
        "Connection: close",
        "Connection: keep-alive",
        "A",
        " folded",
        "A : b",
        ": c",
    ];
    let line = prop_oneof![
        prop::sample::select(KNOWN).prop_map(str::to_owned),
        "[A-Za-z]{1,3}: [ -~]{0,5}",
        "[ \t][a-z]{0,3}"
    ];
    (line, prop::sample::select(&["\r\n", "\n", "\r\n ", "\r"][..]))
        .prop_map(|(line, end)| line + end)
}

fn any_chunks() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "2\r\nok\r\n",
        "1;x\r\na\r\n",
        "2\nok\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "0\r\nA: b\r\n c\r\n",
        "\r\n",
        "zz",
        "ok",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..6)
        .prop_map(|pieces| pieces.concat().into_bytes())
}
