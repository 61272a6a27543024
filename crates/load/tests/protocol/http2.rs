//! The same over HTTP/2, with servers that write frames directly.

use super::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Encodes an HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// What an HTTP/2 server does with a frame: its kind, flags and stream.
type Behaviour = dyn Fn(&mut TcpStream, usize, (u8, u8, u32)) -> bool + Send + Sync;

/// Starts an HTTP/2 server that sends SETTINGS and calls a function for each frame other than
/// SETTINGS, while that returns true.
fn serve_h2(behave: Box<Behaviour>) -> SocketAddr {
    serve(move |mut stream, number| {
        let mut preface = [0; 24];
        if stream
            .write_all(&frame(SETTINGS, 0, 0, b""))
            .and_then(|()| stream.read_exact(&mut preface))
            .is_err()
        {
            return;
        }
        loop {
            let mut head = [0; 9];
            if stream.read_exact(&mut head).is_err() {
                return;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let id = u32::from_be_bytes(head[5..].try_into().unwrap());
            if stream.read_exact(&mut vec![0; length]).is_err()
                || (head[3] != SETTINGS && !behave(&mut stream, number, (head[3], head[4], id)))
            {
                return;
            }
        }
    })
}

fn status(code: &[u8; 3], stream: u32, flags: u8) -> Vec<u8> {
    frame(1, 4 | flags, stream, &[&[8, 3][..], code].concat())
}

#[test]
fn early_response_is_read_over_http2() {
    for (is_reset, is_hard) in [(true, false), (true, true), (false, true)] {
        let address = serve_h2(Box::new(move |stream, _, (kind, _, id)| {
            if kind != 1 {
                return true;
            }
            let _ = stream.write_all(&[status(b"413", id, 0), frame(0, 1, id, b"big")].concat());
            if is_reset {
                let _ = stream.write_all(&frame(3, 0, id, &[0; 4]));
            }
            !is_hard
        }));
        let measured = Case::new(address, post(LARGE)).protocol(Protocol::Http2).run();
        are(&measured, Counts { wrong: 6, ..Counts::default() });
        assert_eq!(measured.connections_opened, if is_hard { 6 } else { 1 });
    }
}

#[test]
fn refusals_are_retried_up_to_the_limit() {
    for ends in [true, false] {
        for refuses in [false, true] {
            let count = Arc::new(AtomicUsize::new(0));
            let address = serve_h2(Box::new(move |stream, _, (kind, _, id)| {
                if kind != 1 {
                    return true;
                }
                if count.fetch_add(1, Ordering::Relaxed) < 12 || !ends {
                    let no = if refuses {
                        frame(3, 0, id, &7u32.to_be_bytes())
                    } else {
                        frame(7, 0, 0, &[0; 8])
                    };
                    return stream.write_all(&no).is_ok() && refuses;
                }
                stream.write_all(&status(b"200", id, 1)).is_ok()
            }));
            let requests = if ends { 3 } else { 1 };
            let measured =
                Case { requests, ..Case::new(address, post(9)).protocol(Protocol::Http2) }.run();
            let (correct, broken) = if ends { (3, 0) } else { (0, 1) };
            are(&measured, Counts { correct, broken, ..Counts::default() });
            assert_eq!(measured.retried, if ends { 12 } else { 50 });
            if !ends {
                // Pauses of 1, 2, 4 ms and so on, 100 ms at most.
                assert!(measured.duration_ns > 4_200_000_000, "{}", measured.duration_ns);
                says(
                    &measured,
                    if refuses {
                        "RST_STREAM: REFUSED_STREAM; retried 50 times"
                    } else {
                        "GOAWAY: NO_ERROR; retried 50 times"
                    },
                );
            }
        }
    }
}

#[test]
fn closed_http2_connection_loses_what_http1_loses() {
    let serve = || {
        let seen = Arc::new(Mutex::new(std::collections::BTreeMap::<usize, u32>::new()));
        serve_h2(Box::new(move |stream, number, (kind, flags, id)| {
            // The first request of each connection is answered, the second ends it.
            let is_whole = (kind < 2 && flags & 1 != 0)
                .then(|| *seen.lock().unwrap().entry(number).and_modify(|n| *n += 1).or_insert(1));
            match is_whole {
                None => true,
                Some(1) => stream.write_all(&status(b"200", id, 1)).is_ok(),
                Some(_) => false,
            }
        }))
    };
    let measured =
        Case { requests: 3, ..Case::new(serve(), Step::default()).protocol(Protocol::Http2) }.run();
    are(&measured, Counts { correct: 3, ..Counts::default() });
    assert_eq!((measured.retried, measured.connections_opened), (2, 3));
    let measured =
        Case { requests: 4, ..Case::new(serve(), post(9)).protocol(Protocol::Http2) }.run();
    are(&measured, Counts { correct: 2, broken: 2, ..Counts::default() });
    says(
        &measured,
        "closed with requests in flight; a POST is not idempotent, so it is not retried",
    );
}

#[test]
fn pings_whose_replies_are_read_are_no_flood() {
    let answered = Arc::new(AtomicUsize::new(0));
    let address = serve_h2(Box::new({
        let answered = answered.clone();
        move |stream, _, (kind, flags, id)| match kind {
            // All at once. Only then does the server read the replies.
            1 => stream
                .write_all(
                    &[frame(PING, 0, 0, &[0; 8]).repeat(40_000), status(b"200", id, 1)].concat(),
                )
                .is_ok(),
            PING if flags == 1 => answered.fetch_add(1, Ordering::Relaxed) < usize::MAX,
            _ => true,
        }
    }));
    let measured =
        Case { requests: 2, ..Case::new(address, Step::default()).protocol(Protocol::Http2) }.run();
    are(&measured, Counts { correct: 2, ..Counts::default() });
    assert!(answered.load(Ordering::Relaxed) >= 40_000);
    // A server that reads nothing is named as such.
    let deaf = serve(|mut stream, _| {
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, b""));
        let pings = frame(PING, 0, 0, &[0; 8]).repeat(10_000);
        while stream.write_all(&pings).is_ok() {}
    });
    let measured =
        Case { requests: 1, ..Case::new(deaf, Step::default()).protocol(Protocol::Http2) }.run();
    are(&measured, Counts { broken: 1, ..Counts::default() });
    says(&measured, "a flood of frames that need replies, which the server does not read");
}
