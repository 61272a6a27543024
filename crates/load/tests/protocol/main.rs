//! Requests to servers that respond early, close, refuse, flood or wait: scripted servers on real
//! sockets.

mod http2;

use load::tls::TlsOptions;
use load::{Measured, Plan, Protocol, Target, Wait};
use rcgen::{CertificateParams, KeyPair};
use record::Counts;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use spec::experiment::Load;
use spec::workload::{Answer, Body, Statuses, Step, Workload};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// More than the buffers of a connection take.
const LARGE: usize = 16 << 20;

/// Starts a server that calls a function for each connection with its number, on a thread of its
/// own.
fn serve(behave: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let behave = Arc::new(behave);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let behave = behave.clone();
            std::thread::spawn(move || behave(stream, number));
        }
    });
    address
}

/// Reads the head of a request. Returns `None` at the end.
fn head(stream: &mut impl Read) -> Option<String> {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        seen.push(byte[0]);
    }
    Some(String::from_utf8(seen).unwrap())
}

fn body_length(head: &str) -> usize {
    head.lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap())
}

fn post(length: usize) -> Step {
    Step { method: "POST".into(), body: Body::Bytes(vec![b'x'; length]), ..Step::default() }
}

/// A load that is ordinary except for a few settings.
struct Case {
    step: Step,
    target: Target,
    load: Load,
    requests: u64,
    timeout: Duration,
}

impl Case {
    fn new(address: SocketAddr, step: Step) -> Case {
        let timeout = Duration::from_secs(60);
        Case { step, target: Target::plain(address), load: Load::closed(1), requests: 6, timeout }
    }

    fn protocol(mut self, protocol: Protocol) -> Case {
        self.target.protocol = protocol;
        self
    }

    fn run(self) -> Measured {
        let answer = Answer { status: Statuses::parse("2xx").unwrap(), ..Answer::default() };
        let workload = Workload {
            name: "w".into(),
            steps: vec![Step { answer, ..self.step }],
            ..Workload::default()
        };
        let stop = AtomicBool::new(false);
        let measured = load::run(&Plan {
            target: &self.target,
            workload: &workload,
            load: &self.load,
            duration: Duration::from_secs(120),
            requests: Some(self.requests),
            timeout: self.timeout,
            seed: 1,
            threads: 1,
            wait: Wait::Asleep,
            stop: &stop,
            progress: None,
        });
        let measured = measured.unwrap();
        assert!(measured.counts.add_up(), "{:?}", measured.counts);
        measured
    }
}

/// Asserts that all requests had this outcome.
fn are(measured: &Measured, wanted: Counts) {
    let scheduled = wanted.correct + wanted.wrong + wanted.broken + wanted.timed_out;
    assert_eq!(measured.counts, Counts { scheduled, ..wanted }, "{:?}", measured.examples);
}

fn says(measured: &Measured, text: &str) {
    assert!(
        measured.examples.iter().any(|example| example.contains(text)),
        "nothing says `{text}`: {:?}",
        measured.examples
    );
}

/// Creates a configuration for `localhost` with a self-signed certificate.
fn tls() -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::aws_lc_rs::default_provider(),
    ));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap())
}

fn over_tls(address: SocketAddr) -> Target {
    let options = TlsOptions { insecure: true, ..TlsOptions::default() };
    Target { tls: Some(options.client("localhost").unwrap()), ..Target::plain(address) }
}

/// Reads a little of a request, responds, and closes. Either in order, reading what still arrives,
/// or at once, which the kernel turns into a reset.
fn answers_early(mut stream: TcpStream, answer: &[u8], is_hard: bool) {
    let Some(_) = head(&mut stream) else { return };
    let _ = stream.read_exact(&mut [0; 1_000]);
    let _ = stream.write_all(answer);
    if !is_hard {
        let _ = stream.shutdown(Shutdown::Write);
        while stream.read(&mut [0; 65_536]).is_ok_and(|length| length > 0) {}
    }
}

#[test]
fn early_response_is_read_before_a_write_error_counts() {
    for answer in [
        &b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig"[..],
        b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
    ] {
        for is_hard in [false, true] {
            let address = serve(move |stream, _| answers_early(stream, answer, is_hard));
            for keep_alive in [true, false] {
                let measured =
                    Case::new(address, post(LARGE)).protocol(Protocol::Http1 { keep_alive }).run();
                are(&measured, Counts { wrong: 6, ..Counts::default() });
                assert!(measured.connections_opened >= 6, "each on a connection of its own");
                assert!(
                    measured.examples.len() == 1 && measured.examples[0].starts_with("status "),
                    "{:?}",
                    measured.examples
                );
            }
            // The same applies if a workload is checked before a run.
            let workload =
                Workload { name: "w".into(), steps: vec![post(LARGE)], ..Workload::default() };
            let wrong =
                load::ask(address, &Target::plain(address), &workload, Duration::from_secs(60))
                    .unwrap_err()
                    .to_string();
            assert!(wrong.starts_with("POST /: status "), "{wrong}");
        }
    }
}

#[test]
fn early_response_is_read_over_tls() {
    for (is_closed, is_hard) in [(true, false), (true, true), (false, true)] {
        let config = tls();
        let address = serve(move |socket, _| {
            // Bytes that are not sent when the socket closes would be lost.
            socket.set_nodelay(true).unwrap();
            let mut stream =
                StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
            if head(&mut stream).is_none() {
                return;
            }
            let _ =
                stream.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
            if is_closed {
                stream.conn.send_close_notify();
            }
            let _ = stream.flush();
            if !is_hard {
                let _ = stream.sock.shutdown(Shutdown::Write);
                while stream.sock.read(&mut [0; 65_536]).is_ok_and(|length| length > 0) {}
            }
        });
        let measured = Case { target: over_tls(address), ..Case::new(address, post(LARGE)) }.run();
        are(&measured, Counts { wrong: 6, ..Counts::default() });
        let workload =
            Workload { name: "w".into(), steps: vec![post(LARGE)], ..Workload::default() };
        let wrong = load::ask(address, &over_tls(address), &workload, Duration::from_secs(60))
            .unwrap_err()
            .to_string();
        assert_eq!(wrong, "POST /: status 413 instead of 200");
    }
}

#[test]
fn connection_end_during_a_request_is_named() {
    for half in [&b""[..], b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 30\r\n\r\nbig"] {
        for is_hard in [false, true] {
            let address = serve(move |stream, _| answers_early(stream, half, is_hard));
            let measured = Case::new(address, post(LARGE)).run();
            are(&measured, Counts { broken: 6, ..Counts::default() });
            // A server that closes in order may still take all bytes.
            says(
                &measured,
                if is_hard {
                    "the server ended the connection while the request was being sent"
                } else {
                    "closed"
                },
            );
        }
    }
}

#[test]
fn response_may_arrive_during_its_request() {
    // Sends every body back while it still arrives.
    fn echo(mut stream: impl Read + Write) {
        while let Some(head) = head(&mut stream) {
            let mut left = body_length(&head);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n");
            let mut piece = [0; 65_536];
            while left > 0 {
                let Ok(length @ 1..) = stream.read(&mut piece[..left.min(65_536)]) else { return };
                if stream.write_all(&piece[..length]).is_err() {
                    return;
                }
                left -= length;
            }
            let _ = stream.flush();
        }
    }
    let clear = serve(|stream, _| echo(stream));
    for keep_alive in [false, true] {
        for load in [Load::closed(2), Load::arrivals(20.0, 4)] {
            let case = Case {
                load,
                ..Case::new(clear, post(LARGE)).protocol(Protocol::Http1 { keep_alive })
            };
            are(&case.run(), Counts { correct: 6, ..Counts::default() });
        }
    }
    let config = tls();
    let over = serve(move |socket, _| {
        echo(StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket))
    });
    let case = Case { target: over_tls(over), requests: 2, ..Case::new(over, post(LARGE)) };
    are(
        &case.protocol(Protocol::Http1 { keep_alive: false }).run(),
        Counts { correct: 2, ..Counts::default() },
    );
}

#[test]
fn lost_idempotent_request_is_retried() {
    // Answers two requests of each connection, and closes after reading the third.
    let address = serve(|mut stream, _| {
        for _ in 0..2 {
            let Some(head) = head(&mut stream) else { return };
            let _ = stream.read_exact(&mut vec![0; body_length(&head)]);
            let _ = stream.write_all(OK);
        }
        let Some(head) = head(&mut stream) else { return };
        let _ = stream.read_exact(&mut vec![0; body_length(&head)]);
    });
    let make = |method: &str| Case::new(address, Step { method: method.into(), ..post(10) }).run();
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let measured = make(method);
        are(&measured, Counts { correct: 6, ..Counts::default() });
        assert_eq!((measured.retried, measured.connections_opened), (2, 3), "{method}");
    }
    for method in ["POST", "PATCH"] {
        let measured = make(method);
        are(&measured, Counts { correct: 4, broken: 2, ..Counts::default() });
        says(
            &measured,
            &format!(
                "closed without an answer; a {method} is not idempotent, so it is not retried"
            ),
        );
        assert_eq!(measured.retried, 0);
    }
    // Over TLS too, with and without an announced end.
    for is_said in [true, false] {
        let config = tls();
        let address = serve(move |socket, _| {
            let mut stream =
                StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
            let _ = head(&mut stream);
            let _ = stream.write_all(OK).and_then(|()| stream.flush());
            let _ = head(&mut stream);
            if is_said {
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        let measured =
            Case { target: over_tls(address), requests: 3, ..Case::new(address, Step::default()) }
                .run();
        are(&measured, Counts { correct: 3, ..Counts::default() });
        assert_eq!((measured.retried, measured.connections_opened), (2, 3));
    }
    // This does not apply to a connection that was not kept.
    let silent = serve(|mut stream, _| drop(head(&mut stream)));
    let measured = Case::new(silent, Step::default()).run();
    are(&measured, Counts { broken: 6, ..Counts::default() });
    says(&measured, "closed without an answer");
    // Checking a workload continues too.
    let workload =
        Workload { name: "w".into(), steps: vec![Step::default(); 5], ..Workload::default() };
    load::ask(address, &Target::plain(address), &workload, Duration::from_secs(60)).unwrap();
}

#[test]
fn connection_that_ended_takes_no_further_request() {
    let address = serve(|mut stream, _| {
        let Some(head) = head(&mut stream) else { return };
        let _ = stream.read_exact(&mut vec![0; body_length(&head)]);
        // The end is sent in one segment with the response, which does not announce it.
        rustix::net::sockopt::set_tcp_cork(&stream, true).unwrap();
        let _ = stream.write_all(OK);
        let _ = stream.shutdown(Shutdown::Write);
        while stream.read(&mut [0; 4_096]).is_ok_and(|length| length > 0) {}
    });
    let measured = Case::new(address, post(10)).run();
    are(&measured, Counts { correct: 6, ..Counts::default() });
    assert_eq!((measured.retried, measured.connections_opened), (0, 6));
}

#[test]
fn incomplete_response_fails_but_not_requests_behind_it() {
    // The second response of each connection is incomplete, with more requests behind it.
    let address = serve(|mut stream, _| {
        let _ = (head(&mut stream), head(&mut stream));
        let _ = stream.write_all(&[OK, &OK[..30]].concat());
        let _ = stream.shutdown(Shutdown::Write);
        while head(&mut stream).is_some() {}
    });
    let case = Case {
        load: Load::Closed { connections: 1, depth: 4 },
        requests: 8,
        ..Case::new(address, Step::default())
    };
    let measured = case.run();
    are(&measured, Counts { correct: 4, broken: 4, ..Counts::default() });
    says(&measured, "closed in the middle of an answer");
    assert!(measured.retried >= 2, "{}", measured.retried);
    let address = serve(|mut stream, _| {
        let _ = head(&mut stream);
        let _ = stream.write_all(OK);
        let _ = head(&mut stream);
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    });
    let measured = Case::new(address, Step::default()).run();
    are(&measured, Counts { correct: 3, broken: 3, ..Counts::default() });
    says(&measured, "receiving failed: Connection reset");
}

#[test]
fn surplus_bytes_end_the_connection_and_are_noted() {
    let address = serve(|mut stream, _| {
        let _ = head(&mut stream);
        let _ = stream.write_all(OK);
        std::thread::sleep(Duration::from_millis(300));
        let _ = stream.write_all(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
        while head(&mut stream).is_some() {}
    });
    let measured =
        Case { load: Load::arrivals(1.0, 1), requests: 2, ..Case::new(address, Step::default()) }
            .run();
    are(&measured, Counts { correct: 2, ..Counts::default() });
    says(&measured, "bytes after a complete response, with no request in flight");
    assert_eq!(measured.connections_opened, 2);
}

#[test]
fn timeout_names_what_was_missing() {
    let late = |case: Case, said: &str| {
        let measured = Case { requests: 1, timeout: Duration::from_millis(300), ..case }.run();
        are(&measured, Counts { timed_out: 1, ..Counts::default() });
        says(&measured, said);
    };
    let wait = |stream: TcpStream| (std::thread::sleep(Duration::from_secs(60)), drop(stream)).0;
    let deaf = serve(move |stream, _| wait(stream));
    late(Case::new(deaf, Step::default()), "no answer within 300 ms");
    late(
        Case::new(deaf, post(LARGE)),
        "no answer within 300 ms: the server did not read the whole request",
    );
    late(
        Case { target: over_tls(deaf), ..Case::new(deaf, Step::default()) },
        "no connection within 300 ms: the TLS handshake did not end",
    );
    late(
        Case::new(deaf, Step::default()).protocol(Protocol::Http2),
        "no answer within 300 ms: the server sent no SETTINGS",
    );
    let slow = serve(move |mut stream, _| {
        let _ = stream.write_all(&OK[..20]);
        wait(stream);
    });
    late(
        Case::new(slow, Step::default()),
        "no answer within 300 ms: a part of the response arrived",
    );
    let h2 = |frames: &'static [u8]| {
        serve(move |mut stream, _| {
            let _ = stream.write_all(frames);
            wait(stream);
        })
    };
    let windowless = h2(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    late(
        Case::new(windowless, post(100_000)).protocol(Protocol::Http2),
        "the server's windows did not let the whole request through",
    );
    // Its first request, which may be sent before SETTINGS arrive, is in flight.
    let streamless = h2(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
    let case = Case {
        load: Load::Closed { connections: 1, depth: 2 },
        ..Case::new(streamless, Step::default()).protocol(Protocol::Http2)
    };
    let measured = Case { requests: 2, timeout: Duration::from_millis(300), ..case }.run();
    are(&measured, Counts { timed_out: 2, ..Counts::default() });
    says(&measured, "it waited for a stream, and the server allows 0 at once");
    let workload = Workload { name: "w".into(), steps: vec![post(LARGE)], ..Workload::default() };
    let wrong = load::ask(deaf, &Target::plain(deaf), &workload, Duration::from_millis(300))
        .unwrap_err()
        .to_string();
    assert_eq!(wrong, "POST /: no answer within 300 ms: the server did not read the whole request");
}
