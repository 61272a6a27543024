//! Errors of a server: on one stream, on the connection, and in the choice of protocol.

use super::*;

#[test]
fn malformed_response_fails_its_stream_only() {
    let end = frame::END_STREAM;
    let cases: [Vec<u8>; 22] = [
        [head(0, 1, &[(":status", "200"), ("content-length", "4")]), data(end, 1, b"hello")]
            .concat(),
        [head(0, 1, &[(":status", "200"), ("content-length", "6")]), data(end, 1, b"hello")]
            .concat(),
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
        head(0, 1, &[(":status", "101")]),
        head(0, 1, &[(":status", "200"), ("a", " b")]),
        head(0, 1, &[(":status", "200"), ("a", "b\t")]),
        head(0, 1, &[(":status", "200"), ("a", " ")]),
        [head(0, 1, OK), head(end, 1, &[("a", "b ")])].concat(),
        head(0, 1, &[(":status", "200"), ("content-length", "5, 6")]),
        [head(0, 1, OK), head(0, 1, &[("a", "b")])].concat(),
        [head(0, 1, OK), head(end, 1, OK)].concat(),
    ];
    for (number, case) in cases.iter().enumerate() {
        let mut client = Client::asking(2, &[]);
        client.hear(case).unwrap();
        assert_eq!(outcomes(&client.events), [(0, "failed")], "case {number}");
        let said = client.said();
        assert_eq!(
            said,
            [(frame::RST_STREAM, 0, 1, frame::PROTOCOL_ERROR.to_be_bytes().to_vec())],
            "case {number}"
        );
        client.hear(&[data(end, 1, b"late"), answer(3, b"hello")].concat()).unwrap();
        assert_eq!(outcomes(&client.events)[1], (1, "right"), "case {number}");
    }
}

#[test]
fn connection_errors_are_named() {
    let long = |kind| [&[0, 64, 1, kind][..], &[0; 5]].concat();
    let block_begun = one(frame::HEADERS, 0, 1, b"\x88");
    let many = one(frame::CONTINUATION, 0, 1, b"").repeat(32);
    let large = one(frame::CONTINUATION, 0, 1, &[0; 16_384]).repeat(11);
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
        (one(frame::CONTINUATION, frame::END_HEADERS, 1, b"\x88"), "CONTINUATION without HEADERS"),
        ([block_begun.clone(), data(0, 1, b"x")].concat(), "interrupts"),
        ([block_begun.clone(), one(frame::CONTINUATION, 0, 3, b"")].concat(), "interrupts"),
        ([block_begun.clone(), many].concat(), "more than 32 frames"),
        ([block_begun, large].concat(), "159 KiB"),
        (one(frame::HEADERS, frame::END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), "number"),
        (one(frame::DATA, frame::PADDED, 1, b""), "padd"),
        (one(frame::DATA, frame::PADDED, 1, b"\x02x"), "padd"),
        (one(frame::HEADERS, frame::END_HEADERS | frame::WITH_PRIORITY, 1, b"\x88"), "priority"),
        (window_update(0, 0), "by 0"),
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
        (one(frame::PING, 0, 0, &[0; 8]).repeat(10_000), "flood"),
        (greeting(&[]).repeat(16_000), "flood"),
    ] {
        let mut client = Client::asking(2, &[]);
        let found = client.hear(&input).unwrap_err();
        assert!(found.contains(why), "`{found}` does not say `{why}`");
        assert!(client.session.is_closing() && client.session.room() == 0);
        assert_eq!(client.said().pop().unwrap().0, frame::GOAWAY, "{why}");
    }
}

#[test]
fn other_protocols_are_named() {
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
