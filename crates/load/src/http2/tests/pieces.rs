//! The same bytes give the same events, however they are cut, and never a panic.

use super::*;
use proptest::prelude::*;

/// Returns frames of a server for several streams.
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

/// Reads the bytes, cut at the given places, with requests in flight and a body that waits. Returns
/// everything that results.
fn hear_in_pieces(bytes: &[u8], cuts: &[usize]) -> (Result<(), String>, Vec<Event>, Vec<u8>) {
    let mut client = Client::new(BodyCheck::Text("hello".into()));
    client.session.start(&mut client.out);
    (0..6).for_each(|ticket| client.begin(ticket, &vec![0; ticket as usize * 15_000]));
    let mut cuts: Vec<usize> =
        cuts.iter().map(|c| (*c).min(bytes.len())).chain([0, bytes.len()]).collect();
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
fn conversation_cut_at_any_byte_is_the_same() {
    let bytes = conversation();
    let whole = hear_in_pieces(&bytes, &[]);
    assert_eq!(whole.0, Ok(()));
    assert_eq!(
        outcomes(&whole.1),
        [(0, "right"), (1, "right"), (2, "again"), (3, "failed"), (5, "again"), (4, "right")]
    );
    for cut in 0..bytes.len() {
        assert_eq!(hear_in_pieces(&bytes, &[cut]), whole, "cut at {cut}");
    }
    let everywhere: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(hear_in_pieces(&bytes, &everywhere), whole);
}

/// Generates frames of every kind with arbitrary payloads.
fn any_frames() -> impl Strategy<Value = Vec<u8>> {
    let any_frame = (0u8..11, any::<u8>(), 0u32..14, prop::collection::vec(any::<u8>(), 0..24));
    let any_frame =
        any_frame.prop_map(|(kind, flags, stream, payload)| one(kind, flags, stream, &payload));
    let sound = prop_oneof![
        (0u32..7).prop_map(|n| answer(2 * n + 1, b"hello")),
        (0u32..7, prop::collection::vec(any::<u8>(), 0..9)).prop_map(|(n, body)| data(
            0,
            2 * n + 1,
            &body
        )),
        (0u32..7, 100u16..600).prop_map(|(n, status)| head(
            0,
            2 * n + 1,
            &[(":status", &status.to_string())]
        )),
        (0u32..14, any::<u32>()).prop_map(|(stream, by)| window_update(stream, by)),
        (1u16..8, any::<u32>()).prop_map(|(setting, value)| greeting(&[(setting, value)])),
        (0u32..14, 0u32..15).prop_map(|(last, code)| goaway(last, code)),
        (0u32..14, 0u32..15).prop_map(|(stream, code)| reset(stream, code)),
    ];
    prop::collection::vec(prop_oneof![1 => any_frame, 3 => sound], 0..20)
        .prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn any_frames_cut_anywhere_give_the_same_events(
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
    fn no_bytes_cause_a_panic_or_unbounded_output(
        bytes in prop::collection::vec(any::<u8>(), 0..400), greeted in any::<bool>(), cut in 0usize..400,
    ) {
        let bytes = if greeted { [greeting(&[]), bytes].concat() } else { bytes };
        let (_, _, out) = hear_in_pieces(&bytes, &[cut]);
        // Requests of 15,000 bytes times 0 to 5, and a few frames.
        prop_assert!(out.len() < 15 * 15_000 + 2_000 + 17 * bytes.len());
    }
}
