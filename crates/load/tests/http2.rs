//! Our HTTP/2 client against the server of another implementation (`h2`). Each request must have
//! the outcome that the server intended.

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use load::check::{Checks, Expected, Judgement, ResponseCheck};
use load::http2::{Http2, encode};
use load::request::Vars;
use load::{Address, Event, Plan, Protocol, Retry, Target, Wait};
use proptest::prelude::*;
use record::Counts;
use spec::experiment::Load;
use spec::workload::{Answer, Body, BodyCheck, Step, Workload};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;

/// Longer than any correct run takes.
const TOO_LONG: Duration = Duration::from_secs(300);

/// What the server does with one request.
#[derive(Clone, Debug)]
enum Fate {
    /// Responds with `length` bytes in pieces, after reading the request's body.
    Answer { length: usize, piece: usize, trailers: bool, announced: bool },
    /// Responds without reading the request's body.
    AnswerEarly { length: usize },
    /// Responds with one wrong byte.
    Corrupt { length: usize },
    /// Resets the stream, before or within a response.
    Reset { reason: u32, begun: bool },
}

#[derive(Clone, Debug)]
struct PlannedRequest {
    body: usize,
    /// The length of a response header. Small numbers recur, so that they are indexed.
    header: usize,
    fate: Fate,
    /// The client cancels the request immediately.
    cancelled: bool,
}

#[derive(Clone, Debug)]
struct Case {
    asked: Vec<PlannedRequest>,
    depth: u32,
    streams: u32,
    stream_window: u32,
    connection_window: u32,
    pipe: usize,
    read: usize,
    /// The server shuts down gracefully after this many requests.
    shuts_down_after: Option<usize>,
}

fn text(seed: usize, length: usize) -> String {
    (0..length).map(|at| char::from(b'a' + ((at * 7 + at / 26 + seed) % 26) as u8)).collect()
}

impl PlannedRequest {
    fn expected(&self, number: usize) -> Expected {
        let body = match self.fate {
            Fate::Answer { length, .. }
            | Fate::AnswerEarly { length }
            | Fate::Corrupt { length } => BodyCheck::Bytes(text(number, length).into()),
            Fate::Reset { .. } => BodyCheck::Any,
        };
        let headers = vec![("x-text".to_owned(), text(0, self.header).as_str().into())];
        Expected::of_step(&Step {
            answer: Answer { headers, body, ..Answer::default() },
            ..Step::default()
        })
    }
}

/// Reads a body to its end. Returns whether it is correct.
async fn is_correct(mut body: RecvStream, right: &str) -> Result<bool, h2::Error> {
    let mut found = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        found.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len())?;
    }
    Ok(found == right.as_bytes())
}

async fn serve(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    case: Arc<Case>,
) -> Result<(), h2::Error> {
    let number: usize = request.uri().path()[1..].parse().unwrap();
    let asked = &case.asked[number];
    let response = || {
        Response::builder()
            .status(200)
            .header("x-text", text(0, asked.header))
            .header("x-number", number)
    };
    let length = match asked.fate {
        Fate::Answer { length, .. } => {
            if !is_correct(request.into_body(), &text(number, asked.body)).await? {
                respond.send_response(Response::builder().status(400).body(()).unwrap(), true)?;
                return Ok(());
            }
            length
        }
        Fate::AnswerEarly { length } | Fate::Corrupt { length } => length,
        Fate::Reset { reason, begun: false } => {
            respond.send_reset(Reason::from(reason));
            return Ok(());
        }
        Fate::Reset { .. } => 10,
    };
    let mut right = text(number, length).into_bytes();
    let mut head = response();
    if let Fate::Answer { announced: true, .. } = asked.fate {
        head = head.header("content-length", length);
    }
    let mut sending = respond.send_response(head.body(()).unwrap(), false)?;
    match asked.fate {
        Fate::Answer { piece, trailers, .. } => {
            for piece in right.chunks(piece) {
                sending.send_data(Bytes::copy_from_slice(piece), false)?;
                tokio::task::yield_now().await;
            }
            match trailers {
                true => sending.send_trailers(HeaderMap::from_iter([(
                    http::header::ETAG,
                    "x".parse().unwrap(),
                )]))?,
                false => sending.send_data(Bytes::new(), true)?,
            }
        }
        Fate::AnswerEarly { .. } => sending.send_data(right.into(), true)?,
        Fate::Corrupt { .. } => {
            right[length / 2] ^= 1;
            sending.send_data(right.into(), true)?;
        }
        Fate::Reset { reason, .. } => {
            sending.send_data(right.into(), false)?;
            tokio::task::yield_now().await;
            sending.send_reset(Reason::from(reason));
        }
    }
    Ok(())
}

/// Runs the server. Records which requests it accepted.
async fn server(pipe: DuplexStream, case: Arc<Case>, taken: Arc<Mutex<Vec<u32>>>) {
    let mut connection = server::Builder::new()
        .initial_window_size(case.stream_window)
        .initial_connection_window_size(case.connection_window)
        .max_concurrent_streams(case.streams)
        .max_concurrent_reset_streams(1_000)
        .max_pending_accept_reset_streams(1_000)
        .handshake(pipe)
        .await
        .unwrap();
    let mut count = 0;
    while let Some(request) = connection.accept().await {
        let Ok((request, respond)) = request else { return };
        taken.lock().unwrap().push(request.uri().path()[1..].parse().unwrap());
        tokio::spawn(serve(request, respond, case.clone()));
        count += 1;
        if case.shuts_down_after == Some(count) {
            connection.graceful_shutdown();
        }
    }
}

struct Book {
    expected: Vec<Expected>,
    vars: Vars,
}

impl Checks for Book {
    fn check(&mut self, ticket: u32) -> ResponseCheck<'_> {
        ResponseCheck {
            expected: &mut self.expected[ticket as usize],
            vars: &mut self.vars,
            is_head: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Right,
    Wrong,
    Failed,
    Again,
}

/// Runs the client, which sends all requests that the connection takes. Returns their outcomes.
async fn client(mut pipe: DuplexStream, case: &Case) -> Vec<Option<Outcome>> {
    let mut session = Http2::new(case.depth);
    let mut book = Book {
        expected: case.asked.iter().zip(0..).map(|(a, n)| a.expected(n)).collect(),
        vars: Vars::default(),
    };
    let (mut out, mut events, mut buffer) = (Vec::new(), Vec::new(), vec![0; case.read]);
    let mut outcomes = vec![None; case.asked.len()];
    let mut next = 0;
    session.start(&mut out);
    loop {
        while session.room() > 0 && next < case.asked.len() {
            let (asked, mut block) = (&case.asked[next], Vec::new());
            let path = format!("/{next}");
            for (name, value) in [
                (":method", "POST"),
                (":scheme", "http"),
                (":authority", "localhost"),
                (":path", &path),
                ("x-a", "b"),
            ] {
                encode(&mut block, name, value.as_bytes());
            }
            session.begin(next as u32, &block, text(next, asked.body).as_bytes(), &mut out);
            if asked.cancelled {
                session.cancel(next as u32, &mut out);
            }
            next += 1;
        }
        if out.is_empty()
            && session.in_flight() == 0
            && (next == case.asked.len() || session.is_closing())
        {
            return outcomes;
        }
        let (mut reader, mut writer) = tokio::io::split(&mut pipe);
        tokio::select! {
            written = writer.write(&out), if !out.is_empty() => match written {
                Ok(length) => drop(out.drain(..length)),
                // The server announced that it would close, and does not wait for our last frames.
                Err(_) => out.clear(),
            },
            read = reader.read(&mut buffer) => match read.unwrap() {
                0 => return outcomes,
                length => session.receive(&buffer[..length], &mut book, &mut out, &mut events).unwrap(),
            },
        }
        for event in events.drain(..) {
            let (ticket, outcome) = match event {
                Event::Answered { ticket, finished }
                    if finished.judgement == Judgement::Correct =>
                {
                    (ticket, Outcome::Right)
                }
                Event::Answered { ticket, .. } => (ticket, Outcome::Wrong),
                Event::Failed { ticket, retry, .. } => {
                    (ticket, if retry == Retry::Safe { Outcome::Again } else { Outcome::Failed })
                }
            };
            assert!(
                outcomes[ticket as usize].replace(outcome).is_none(),
                "{ticket} is named twice"
            );
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs a case and checks every outcome.
fn check(case: &Case) -> Result<(), TestCaseError> {
    let case = Arc::new(case.clone());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let outcomes = runtime().block_on(async {
        let (ours, theirs) = tokio::io::duplex(case.pipe);
        tokio::spawn(server(theirs, case.clone(), taken.clone()));
        tokio::time::timeout(TOO_LONG, client(ours, &case)).await.expect("it comes to an end")
    });
    let taken = taken.lock().unwrap();
    for (number, (asked, outcome)) in case.asked.iter().zip(outcomes).enumerate() {
        let meant = match asked.fate {
            _ if asked.cancelled => None,
            Fate::Answer { .. } | Fate::AnswerEarly { .. } => Some(Outcome::Right),
            Fate::Corrupt { .. } => Some(Outcome::Wrong),
            Fate::Reset { reason: 7, .. } => Some(Outcome::Again),
            Fate::Reset { .. } => Some(Outcome::Failed),
        };
        // Requests that the server did not accept are safe to retry. It also refuses streams while
        // it still has to reset those that it answered early.
        match (taken.contains(&(number as u32)), outcome) {
            (false, None) => prop_assert!(asked.cancelled || case.shuts_down_after.is_some()),
            (false, _) => prop_assert_eq!(outcome, Some(Outcome::Again)),
            (true, _) => prop_assert_eq!(outcome, meant, "{}: {:?}", number, asked),
        }
    }
    Ok(())
}

fn any_request() -> impl Strategy<Value = PlannedRequest> {
    let length = || prop_oneof![0usize..20, 0usize..3_000, 0usize..70_000];
    let fate = prop_oneof![
        6 => (length(), 1usize..20_000, any::<(bool, bool)>()).prop_map(|(length, piece, (trailers, announced))| {
            Fate::Answer { length, piece: piece.max(length / 50), trailers, announced }
        }),
        1 => length().prop_map(|length| Fate::AnswerEarly { length }),
        1 => (1usize..3_000).prop_map(|length| Fate::Corrupt { length }),
        1 => (1u32..14, any::<bool>()).prop_map(|(reason, begun)| Fate::Reset { reason, begun }),
    ];
    (length(), prop_oneof![0usize..4, 0usize..1_500], fate, prop::bool::weighted(0.05)).prop_map(
        |(body, header, fate, cancelled)| PlannedRequest { body, header, fate, cancelled },
    )
}

fn any_case() -> impl Strategy<Value = Case> {
    let windows = (prop_oneof![20u32..200, 200u32..100_000], 65_535u32..1_000_000);
    let pipe =
        (prop_oneof![16usize..64, 64usize..100_000], prop_oneof![16usize..64, 64usize..70_000]);
    (
        prop::collection::vec(any_request(), 1..30),
        1u32..40,
        1u32..40,
        windows,
        pipe,
        prop::option::weighted(0.3, 1usize..20),
    )
        .prop_map(
            |(
                asked,
                depth,
                streams,
                (stream_window, connection_window),
                (pipe, read),
                shuts_down_after,
            )| Case {
                asked,
                depth,
                streams,
                stream_window,
                connection_window,
                pipe,
                read,
                shuts_down_after,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_has_the_outcome_that_the_server_sent(case in any_case()) {
        check(&case)?;
    }
}

/// Answers every request with `hello`. Every `wrong_each`-th response has a wrong byte, and
/// connections shut down gracefully after a number of requests.
async fn greet(
    listener: tokio::net::TcpListener,
    wrong_each: u64,
    shuts_down_after: u64,
    wrong: Arc<AtomicU64>,
) {
    let served = Arc::new(AtomicU64::new(0));
    while let Ok((socket, _)) = listener.accept().await {
        let (served, wrong) = (served.clone(), wrong.clone());
        tokio::spawn(async move {
            let Ok(mut connection) =
                server::Builder::new().max_concurrent_streams(10).handshake(socket).await
            else {
                return;
            };
            let mut on_this = 0;
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                on_this += 1;
                if on_this == shuts_down_after {
                    connection.graceful_shutdown();
                }
                let is_wrong = wrong_each > 0
                    && (served.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(wrong_each);
                let wrong = wrong.clone();
                tokio::spawn(async move {
                    if !is_correct(request.into_body(), &text(1, 20_000)).await.unwrap_or(false) {
                        return;
                    }
                    if is_wrong {
                        wrong.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Ok(mut sending) = respond.send_response(Response::new(()), false) {
                        let body = if is_wrong {
                            Bytes::from_static(b"hellO")
                        } else {
                            Bytes::from_static(b"hello")
                        };
                        let _ = sending.send_data(body, true);
                    }
                });
            }
        });
    }
}

/// Runs a load against such a server. Returns the measurement and the number of wrong responses.
fn run(load: Load, requests: u64, wrong_each: u64, shuts_down_after: u64) -> (load::Measured, u64) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let wrong = Arc::new(AtomicU64::new(0));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let for_server = wrong.clone();
    let server = std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            tokio::select! {
                () = greet(listener, wrong_each, shuts_down_after, for_server) => {}
                _ = stopped => {}
            }
        });
    });
    let target = Target {
        addresses: vec![Address::Tcp(address)],
        protocol: Protocol::Http2,
        ..Target::plain(address)
    };
    let answer = Answer { body: BodyCheck::Text("hello".into()), ..Answer::default() };
    let step = Step {
        method: "POST".into(),
        body: Body::Bytes(text(1, 20_000).into()),
        answer,
        ..Step::default()
    };
    let workload = Workload { name: "hello".into(), steps: vec![step], ..Workload::default() };
    let never = AtomicBool::new(false);
    let plan = Plan {
        target: &target,
        workload: &workload,
        load: &load,
        duration: TOO_LONG,
        requests: Some(requests),
        timeout: TOO_LONG,
        seed: 1,
        threads: 1,
        wait: Wait::Asleep,
        stop: &never,
        progress: None,
    };
    let measured = load::run(&plan).unwrap();
    drop(stop);
    server.join().unwrap();
    let wrong = wrong.load(Ordering::Relaxed);
    (measured, wrong)
}

#[test]
fn run_counts_every_response() {
    let (measured, wrong) = run(Load::Closed { connections: 3, depth: 8 }, 500, 25, 0);
    assert_eq!(
        measured.counts,
        Counts { scheduled: 500, correct: 480, wrong: 20, ..Counts::default() },
        "{:?}",
        measured.examples
    );
    assert_eq!((wrong, measured.in_flight_max), (20, 24));
}

#[test]
fn streams_beyond_the_servers_limit_wait() {
    let (measured, _) = run(Load::Closed { connections: 2, depth: 30 }, 500, 0, 0);
    assert_eq!(
        measured.counts,
        Counts { scheduled: 500, correct: 500, ..Counts::default() },
        "{:?}",
        measured.examples
    );
}

#[test]
fn goaway_loses_no_request() {
    for load in [Load::Closed { connections: 2, depth: 8 }, Load::arrivals(2_000.0, 200)] {
        let (measured, _) = run(load.clone(), 600, 0, 25);
        let counts = measured.counts;
        assert_eq!(
            counts,
            Counts { scheduled: 600, correct: 600, ..Counts::default() },
            "{load:?}: {:?}",
            measured.examples
        );
        assert!(measured.connections_opened >= 600 / 60, "{}", measured.connections_opened);
    }
}

/// Starts a server that sends only the given frames and never responds.
fn silent(frames: &'static [u8]) -> Target {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, frames);
            kept.push(stream);
        }
    });
    Target {
        addresses: vec![Address::Tcp(address)],
        protocol: Protocol::Http2,
        ..Target::plain(address)
    }
}

#[test]
fn timed_out_streams_leave_room_for_others() {
    let target = silent(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let step = Step { answer: Answer::default(), ..Step::default() };
    let workload = Workload { name: "silence".into(), steps: vec![step], ..Workload::default() };
    let never = AtomicBool::new(false);
    let plan = Plan {
        target: &target,
        workload: &workload,
        load: &Load::arrivals(2_000.0, 200),
        duration: Duration::from_secs(2),
        requests: None,
        timeout: Duration::from_millis(100),
        seed: 1,
        threads: 1,
        wait: Wait::Asleep,
        stop: &never,
        progress: None,
    };
    let counts = load::run(&plan).unwrap().counts;
    // More than twice the number of concurrent requests, so slots were reused.
    assert!(counts.timed_out > 600 && counts.add_up(), "{counts:?}");
}
