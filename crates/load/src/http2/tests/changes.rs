//! Changes during a connection: settings, exceeded limits, and the end.

use super::*;

#[test]
fn settings_are_acknowledged_before_they_take_effect() {
    let mut client = Client::asking(0, &[(SETTINGS_INITIAL_WINDOW_SIZE, 0)]);
    client.begin(0, &[1; 25]);
    client.out.clear();
    client.hear(&greeting(&[(SETTINGS_INITIAL_WINDOW_SIZE, 10)])).unwrap();
    let said: Vec<_> = client.said().into_iter().map(|(kind, flags, ..)| (kind, flags)).collect();
    assert_eq!(said, [(frame::SETTINGS, frame::ACK), (frame::DATA, 0)]);
    // Several settings in one read are acknowledged one by one, each before its data. A negative
    // window permits nothing.
    let input = [20, 0, 5, 30].map(|window| greeting(&[(SETTINGS_INITIAL_WINDOW_SIZE, window)]));
    client.hear(&input.concat()).unwrap();
    let said: Vec<_> =
        client.said().into_iter().map(|(kind, _, _, payload)| (kind, payload.len())).collect();
    assert_eq!(
        said,
        [
            (frame::SETTINGS, 0),
            (frame::DATA, 10),
            (frame::SETTINGS, 0),
            (frame::SETTINGS, 0),
            (frame::SETTINGS, 0),
            (frame::DATA, 5)
        ]
    );
}

#[test]
fn smaller_table_is_announced_once_in_the_next_block() {
    let block = block("POST", "http", "localhost", "/");
    let first_byte = |client: &mut Client, ticket| {
        client.begin(ticket, b"");
        let (kind, _, _, payload) = client.said().pop().unwrap();
        assert_eq!(kind, frame::HEADERS);
        assert_eq!(payload.strip_prefix(&[NO_TABLE]).unwrap_or(&payload), block);
        payload[0] == NO_TABLE
    };
    let table = |size| greeting(&[(SETTINGS_HEADER_TABLE_SIZE, size)]);
    for (settings, announced) in [
        (vec![table(0)], true),
        (vec![table(4_095)], true),
        (vec![table(0), table(65_536)], true),
        (
            vec![greeting(&[(SETTINGS_HEADER_TABLE_SIZE, 0), (SETTINGS_HEADER_TABLE_SIZE, 4_096)])],
            true,
        ),
        (vec![table(4_096)], false),
        (vec![table(65_536)], false),
        (vec![greeting(&[])], false),
    ] {
        let mut client = Client::asking(0, &[]);
        client.hear(&settings.concat()).unwrap();
        client.out.clear();
        assert_eq!(
            (first_byte(&mut client, 0), first_byte(&mut client, 1)),
            (announced, false),
            "{settings:?}"
        );
        client.hear(&table(0)).unwrap();
        assert_eq!(
            first_byte(&mut client, 2),
            settings != [table(0)],
            "lowered again, or for the first time"
        );
    }
    // Also before a block of several frames.
    let mut client = Client::asking(0, &[(SETTINGS_HEADER_TABLE_SIZE, 0)]);
    client.session.begin(0, &vec![0x88; 16_384], b"", &mut client.out);
    let said: Vec<_> = client
        .said()
        .into_iter()
        .map(|(kind, _, _, payload)| (kind, payload.len(), payload[0]))
        .collect();
    assert_eq!(said, [(frame::HEADERS, 16_384, NO_TABLE), (frame::CONTINUATION, 1, 0x88)]);
}

/// Creates the head of a response of a given size.
type Sized<'a> = &'a dyn Fn(usize) -> Vec<u8>;

#[test]
fn oversized_head_fails_its_stream_only() {
    let block = |fields: &[(&str, String)]| {
        let mut block = Vec::from(*b"\x88");
        fields.iter().for_each(|(name, value)| hpack::encode(&mut block, name, value.as_bytes()));
        let mut frames = Vec::new();
        let mut kind = frame::HEADERS;
        let mut pieces = block.chunks(PAYLOAD_MAX).peekable();
        while let Some(piece) = pieces.next() {
            let flags = if pieces.peek().is_none() { frame::END_HEADERS } else { 0 };
            frame::write_frame(
                &mut frames,
                std::mem::replace(&mut kind, frame::CONTINUATION),
                flags,
                1,
                piece,
            );
        }
        frames
    };
    let many = |count: usize| block(&vec![("a", "b".into()); count]);
    let long = |bytes: usize| block(&[("a", "~".repeat(bytes - 11))]);
    let interim =
        |count: usize| [head(0, 1, &[(":status", "103")]).repeat(count), head(0, 1, OK)].concat();
    let cases: [(Sized<'_>, usize, &str); 3] = [
        (&many, 1_000, "more than 1000 headers"),
        (&long, 128 << 10, "128 KiB"),
        (&interim, 100, "more than 100 interim responses"),
    ];
    for (head, most, said) in cases {
        let mut client = Client::asking(2, &[]);
        client.hear(&[head(most), data(frame::END_STREAM, 1, b"hello")].concat()).unwrap();
        assert_eq!(outcomes(&client.events), [(0, "right")], "{said}");
        let mut client = Client::asking(2, &[]);
        client.hear(&[head(most + 1), answer(3, b"hello")].concat()).unwrap();
        assert_eq!(outcomes(&client.events), [(0, "failed"), (1, "right")], "{said}");
        assert!(
            matches!(&client.events[0], Event::Failed { why, .. } if why.contains(said)),
            "{:?}",
            client.events
        );
        assert_eq!(
            client.said(),
            [(frame::RST_STREAM, 0, 1, frame::ENHANCE_YOUR_CALM.to_be_bytes().to_vec())]
        );
    }
}

#[test]
fn replies_that_are_sent_are_no_flood() {
    let mut client = Client::asking(1, &[]);
    for _ in 0..1_000 {
        client.hear(&one(frame::PING, 0, 0, &[0; 8]).repeat(1_000)).unwrap();
        let sent = client.said().len() * 17;
        client.session.sent(sent, sent);
    }
    assert!(client.session.in_flight() == 1 && !client.session.is_closing());
}

#[test]
fn end_reports_retries_and_the_reason() {
    let ended = |heard: &[u8], how: Ending, sent: u64| {
        let mut client = Client::asking(0, &[]);
        let block = block("GET", "http", "localhost", "/");
        (0..3).for_each(|ticket| client.session.begin(ticket, &block, b"", &mut client.out));
        let each = client.out.len() as u64 / 3;
        client.hear(heard).unwrap();
        let why = client.session.end(how, sent * each, &mut client.events);
        (
            outcomes(&client.events)
                .into_iter()
                .map(|(ticket, how)| format!("{ticket} {how}"))
                .collect::<Vec<_>>(),
            why,
        )
    };
    let closed = Some("closed with requests in flight".to_owned());
    // The first has part of a response, the second has none, and the third is not sent.
    let part = head(0, 1, OK);
    let (found, why) = ended(&part, Ending::InOrder, 2);
    assert_eq!((found, why), (vec!["1 idempotent".into(), "2 again".into()], closed.clone()));
    assert_eq!(ended(&part, Ending::Broken, 2), (vec!["2 again".to_owned()], closed));
    let all = [answer(1, b"hello"), answer(3, b"hello"), answer(5, b"hello")].concat();
    assert_eq!(ended(&all, Ending::Broken, 3).1, None, "nothing was in flight");
    let mut payload = [5u32.to_be_bytes(), frame::ENHANCE_YOUR_CALM.to_be_bytes()].concat();
    payload.extend_from_slice(b"too_many_pings");
    let (found, why) = ended(&one(frame::GOAWAY, 0, 0, &payload), Ending::InOrder, 3);
    assert_eq!(found, ["0 idempotent", "1 idempotent", "2 idempotent"]);
    assert_eq!(why.unwrap(), "the server sent GOAWAY: ENHANCE_YOUR_CALM, `too_many_pings`");
}
