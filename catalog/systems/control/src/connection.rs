//! One connection: bytes in, requests that wait for their time, bytes out. It touches no socket.
//!
//! Start with [`Connection::read`] and [`Connection::produce`].

use std::collections::VecDeque;
use std::sync::Arc;

use crate::answer::{self, Body, Connection as Said, Framing, Head, Writer};
use crate::clock;
use crate::request::{Event, HEAD_LIMIT, Reader, Refusal, Request, Route};
use crate::server::World;
use crate::stats::Count;
use crate::truth::{Kind, Turn};

/// Maximum number of waiting requests on one connection; further ones are read later.
const WAITING_LIMIT: usize = 1024;
/// Maximum number of bytes of echoed heads that wait.
const ECHO_LIMIT: usize = 256 * 1024;
/// No response begins while more bytes than this are waiting to be sent.
const OUTPUT_LIMIT: usize = 256 * 1024;
/// A body is made in pieces of this number of bytes.
const PIECE: u64 = 64 * 1024;
/// A deadline that never passes.
const NEVER: u64 = u64::MAX;

/// The state of one connection.
#[derive(Default)]
pub struct Connection {
    reader: Reader,
    /// Received bytes that have not been parsed.
    pub input: Vec<u8>,
    waiting: VecDeque<Waiting>,
    echoes: usize,
    sending: Option<Sending>,
    /// Bytes that have not been sent.
    pub output: Vec<u8>,
    /// What happens when everything has been sent.
    pub end: Option<End>,
    /// The client has closed its side: nothing more will be received.
    hung_up: bool,
    /// The client sent malformed bytes: nothing more is read.
    refused: bool,
    /// The process has sent its last response.
    mute: bool,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// On request of the client: it sends nothing more.
    Agreed,
    /// Unexpectedly for the client, which may be sending.
    Close,
    /// With a RST.
    Reset,
    /// Together with the process.
    Exit,
}

/// What a connection waits for when it has produced what it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Input.
    Input,
    /// An instant.
    Instant(u64),
    /// Its output being sent.
    Sent,
}

/// A request that waits for its response, in order.
enum Waiting {
    Continue,
    Refusal(Refusal),
    Request { request: Request, due: u64 },
}

/// A response that has begun.
struct Sending {
    writer: Writer,
    end: Option<End>,
    /// When the next piece is sent.
    next: u64,
}

impl Connection {
    /// Reads requests from `input` and returns how much of it was used. It stops without room for
    /// more, and after a request with CPU time: its response is sent before the next request is
    /// handled.
    pub fn read(&mut self, input: &[u8], world: &World) -> usize {
        let mut used = 0;
        while self.has_room() && used < input.len() {
            match self.reader.read(&input[used..]) {
                Ok((bytes, event)) => {
                    used += bytes;
                    match event {
                        Event::Incomplete => return used,
                        Event::Continue => self.waiting.push_back(Waiting::Continue),
                        Event::Request(request) => {
                            if self.request(request, world) {
                                return used;
                            }
                        }
                    }
                }
                Err(refusal) => {
                    world.count(Count::Malformed);
                    self.waiting.push_back(Waiting::Refusal(refusal));
                    self.refused = true;
                    return input.len();
                }
            }
        }
        used
    }

    /// Accepts a request, and returns whether it used CPU time.
    fn request(&mut self, request: Request, world: &World) -> bool {
        let truth = world.truth();
        if request.route == Route::Stats {
            self.waiting.push_back(Waiting::Request { request, due: 0 });
            return false;
        }
        world.requested();
        let of_path = request.path_delay.filter(|_| truth.delay_from_path);
        let due = match request.wishes.delay.or(of_path).unwrap_or(truth.delay) {
            _ if truth.never_answer => NEVER,
            0 => 0,
            delay => world.due(clock::now(), delay),
        };
        let cpu = request.wishes.cpu.unwrap_or(truth.cpu);
        if cpu > 0 {
            world.add(Count::CpuNs, clock::burn((cpu as f64 * world.cpu_factor()).round() as u64));
        }
        if let Route::Echo(head) = &request.route {
            self.echoes += head.len();
        }
        self.waiting.push_back(Waiting::Request { request, due });
        cpu > 0
    }

    /// Returns whether to receive more input. At most a part of a head is kept.
    pub fn wants_input(&self) -> bool {
        !self.hung_up && self.has_room() && self.input.len() < HEAD_LIMIT
    }

    fn has_room(&self) -> bool {
        !self.refused
            && self.end.is_none()
            && self.waiting.len() < WAITING_LIMIT
            && self.echoes < ECHO_LIMIT
    }

    /// Notes that the client has closed its side. Its earlier requests still get a response.
    pub fn hung_up(&mut self, world: &World) {
        self.hung_up = true;
        world.add(Count::Left, self.unanswered());
    }

    /// Returns whether the connection only has to be closed.
    pub fn is_over(&self) -> bool {
        (self.hung_up || self.refused)
            && self.waiting.is_empty()
            && self.sending.is_none()
            && self.output.is_empty()
    }

    /// Returns how many requests wait for their response to begin.
    pub fn unanswered(&self) -> u64 {
        let counted = |waiting: &&Waiting| matches!(waiting, Waiting::Request { request, .. } if request.route != Route::Stats);
        self.waiting.iter().filter(counted).count() as u64
    }

    /// Writes everything that is due to `output`.
    pub fn produce(&mut self, world: &World) -> Next {
        loop {
            if self.end.is_some() || self.output.len() >= OUTPUT_LIMIT {
                return Next::Sent;
            }
            if self.sending.is_some() {
                if let Some(next) = self.go_on(world) {
                    return next;
                }
                continue;
            }
            match self.waiting.front() {
                None => return Next::Input,
                Some(Waiting::Request { due: NEVER, .. }) => return Next::Input,
                Some(Waiting::Request { .. }) if self.mute => return Next::Input,
                Some(Waiting::Request { due: due @ 1.., .. }) => {
                    let now = clock::now();
                    if now < *due {
                        return Next::Instant(*due);
                    }
                    world.late(now - due);
                    self.answer_next(world);
                }
                Some(_) => self.answer_next(world),
            }
        }
    }

    /// Continues the response that has begun; `Some` if it cannot be finished now.
    fn go_on(&mut self, world: &World) -> Option<Next> {
        let sending = self.sending.as_mut()?;
        let most = match world.truth().drip {
            None => PIECE,
            Some(pause) => {
                let now = clock::now();
                if now < sending.next {
                    return Some(Next::Instant(sending.next));
                }
                sending.next = now + pause;
                1
            }
        };
        if sending.writer.write(most, &mut self.output) {
            self.end = sending.end;
            self.sending = None;
        }
        None
    }

    fn answer_next(&mut self, world: &World) {
        match self.waiting.pop_front() {
            None => {}
            Some(Waiting::Continue) => self.output.extend_from_slice(answer::CONTINUE),
            Some(Waiting::Refusal(Refusal(status))) => {
                let body = Body::Bytes(b"the request cannot be read\n".as_slice().into());
                let head = Head { status, connection: Said::Close, ..plain() };
                Writer::new(&head, body).write(u64::MAX, &mut self.output);
                self.end = Some(End::Close);
            }
            Some(Waiting::Request { request, .. }) if request.route == Route::Stats => {
                let (connection, end) = farewell(&request, Framing::Length);
                let head = Head { content_type: "application/json", connection, ..plain() };
                Writer::new(&head, Body::Bytes(world.stats().into_bytes().into()))
                    .write(u64::MAX, &mut self.output);
                self.end = end;
            }
            Some(Waiting::Request { request, due }) => match world.turn() {
                Some(turn) => self.answer(request, turn, world),
                None => {
                    self.waiting.push_front(Waiting::Request { request, due });
                    self.mute = true;
                }
            },
        }
    }

    fn answer(&mut self, request: Request, turn: Turn, world: &World) {
        let truth = world.truth();
        if let Some(prepared) = world.prepared()
            && turn == Turn::default()
            && is_plain(&request)
        {
            world.answered(truth.status, truth.body.len());
            self.output.extend_from_slice(prepared);
            return;
        }
        let framing = match truth.framing {
            Framing::Chunked(_) if request.http_1_0 => Framing::Close,
            framing => framing,
        };
        let (connection, mut end) = farewell(&request, framing);
        let status = turn.status.or(request.wishes.status).unwrap_or(truth.status);
        let head_only = request.head_only;
        let (body, content_type) = match request.route {
            Route::Echo(head) => {
                self.echoes -= head.len();
                (Body::Bytes(Arc::from(head)), "text/plain")
            }
            _ => (
                request.wishes.size.map_or_else(|| truth.body.clone(), Body::Filler),
                &*truth.content_type,
            ),
        };
        let head =
            Head { status, content_type, padding: &truth.padding, framing, connection, head_only };
        // A response without a body can be neither wrong nor cut.
        let length = if head.has_body() { body.len() } else { 0 };
        let mut writer = Writer::new(&head, body);
        match turn.kind {
            Kind::Reset => {
                world.count(Count::Resets);
                self.end = Some(if turn.last { End::Exit } else { End::Reset });
                return;
            }
            Kind::Garbage => {
                world.count(Count::Garbage);
                self.output.extend_from_slice(answer::GARBAGE);
                self.end = Some(if turn.last { End::Exit } else { End::Close });
                return;
            }
            Kind::Cut if length > 0 => {
                world.count(Count::Cuts);
                writer = writer.cut();
                end = Some(End::Close);
            }
            Kind::Answer | Kind::Cut => {
                world.answered(status, length);
                writer = with_faults(writer, turn, length, world);
                if turn.close {
                    end = Some(End::Close);
                }
            }
        }
        if turn.last {
            end = Some(End::Exit);
        }
        self.sending = Some(Sending { writer, end, next: 0 });
    }
}

/// Counts the faults of a whole response, and makes one byte of its body wrong if its turn says so.
fn with_faults(writer: Writer, turn: Turn, length: u64, world: &World) -> Writer {
    if turn.close {
        world.count(Count::Closes);
    }
    match (turn.warming, turn.status) {
        (true, _) => world.count(Count::Warming),
        (false, Some(_)) => world.count(Count::Statuses),
        (false, None) => {}
    }
    match turn.wrong {
        Some(nth) if length > 0 => {
            world.count(Count::Wrong);
            writer.corrupt((nth - 1) % length)
        }
        _ => writer,
    }
}

/// Returns whether the prepared response fits.
fn is_plain(request: &Request) -> bool {
    !request.head_only
        && !request.http_1_0
        && request.keep_alive
        && request.route == Route::Body
        && request.wishes.size.is_none()
        && request.wishes.status.is_none()
}

/// Returns the `connection` header of the response, and what then happens to the connection.
fn farewell(request: &Request, framing: Framing) -> (Said, Option<End>) {
    match (request.keep_alive, framing) {
        (false, _) => (Said::Close, Some(End::Agreed)),
        (true, Framing::Close) => (Said::Close, Some(End::Close)),
        (true, _) if request.http_1_0 => (Said::KeepAlive, None),
        (true, _) => (Said::Unsaid, None),
    }
}

/// Returns the head of a response that no flag changes.
fn plain() -> Head<'static> {
    Head {
        status: 200,
        content_type: "text/plain",
        padding: b"",
        framing: Framing::Length,
        connection: Said::Unsaid,
        head_only: false,
    }
}
