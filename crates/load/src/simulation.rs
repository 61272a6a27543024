//! A [`World`] for tests: simulated sockets connected to a server that may misbehave.
//!
//! Its clock moves only when the event loop waits or works. The same seed gives the same run.

use crate::plan::Address;
use crate::schedule::{exponential, uniform};
use crate::world::{Ready, World};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;

/// The server's behaviour. Shares are of requests or connections, and the rest is correct.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    /// Mean service time, exponentially distributed.
    pub mean_ns: u64,
    /// Shares of connections that are refused, and that never open.
    pub refuses: f64,
    pub ignores: f64,
    /// Shares of requests that are answered byte by byte, with a wrong body, with `Connection:
    /// close`, with garbage, by a reset, by closing, or never.
    pub drips: f64,
    pub wrong: f64,
    pub closes: f64,
    pub garbage: f64,
    pub resets: f64,
    pub hangs_up: f64,
    pub never: f64,
    /// The share of requests that take longer, and by how much.
    pub slow: Option<(f64, u64)>,
    /// The period, and for how long at its end nothing is answered.
    pub stall: Option<(u64, u64)>,
}

pub(crate) const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

enum Happening {
    Connected(usize),
    Bytes(usize, Vec<u8>),
    Reset(usize),
    End(usize),
}

#[derive(Default)]
struct Socket {
    token: u64,
    state: State,
    inbox: VecDeque<u8>,
    /// The bytes of an incomplete request.
    request: Vec<u8>,
    watches_write: bool,
    /// When the last response is sent. Responses keep their order.
    busy_until: u64,
    is_deaf: bool,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum State {
    #[default]
    Connecting,
    Refused,
    Open,
    Ended,
    Reset,
}

/// A socket. Dropping it closes it.
pub(crate) struct Handle {
    number: usize,
    closed: Rc<RefCell<Vec<usize>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.closed.borrow_mut().push(self.number);
    }
}

pub(crate) struct Simulation {
    closed: Rc<RefCell<Vec<usize>>>,
    /// Sockets that are not closed.
    open: BTreeSet<usize>,
    server: Server,
    random: ChaCha8Rng,
    pub now: Cell<u64>,
    sockets: Vec<Socket>,
    coming: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: HashMap<u64, Happening>,
    number: u64,
    /// The number of complete requests that the server has read.
    pub requests: u64,
    /// When it read each of them.
    pub read_at: Vec<u64>,
    pub connections: u64,
    /// When each connection was requested.
    pub connected_at: Vec<u64>,
    /// The largest number of connections open at once.
    pub open_most: usize,
}

impl Simulation {
    pub fn new(server: Server, seed: u64) -> Simulation {
        Simulation {
            closed: Rc::default(),
            open: BTreeSet::new(),
            server,
            random: ChaCha8Rng::seed_from_u64(seed),
            now: 1_000_000_000.into(),
            sockets: Vec::new(),
            coming: BinaryHeap::new(),
            happenings: Default::default(),
            number: 0,
            requests: 0,
            read_at: Vec::new(),
            connections: 0,
            connected_at: Vec::new(),
            open_most: 0,
        }
    }

    fn later(&mut self, after_ns: u64, happening: Happening) {
        self.number += 1;
        self.coming.push(Reverse((self.now.get() + after_ns, self.number)));
        self.happenings.insert(self.number, happening);
    }

    fn chance(&mut self, share: f64) -> bool {
        uniform(&mut self.random) < share
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Connected(socket) if self.sockets[socket].state == State::Connecting => {
                let refused = self.chance(self.server.refuses);
                self.sockets[socket].state = if refused { State::Refused } else { State::Open };
            }
            Happening::Bytes(socket, bytes) if self.sockets[socket].state == State::Open => {
                self.sockets[socket].inbox.extend(bytes)
            }
            Happening::Reset(socket) => self.sockets[socket].state = State::Reset,
            Happening::End(socket) if self.sockets[socket].state == State::Open => {
                self.sockets[socket].state = State::Ended
            }
            _ => {}
        }
    }

    fn answer(&mut self, socket: usize) {
        self.requests += 1;
        self.read_at.push(self.now.get());
        let now = self.now.get();
        let mut takes = (exponential(&mut self.random) * self.server.mean_ns as f64) as u64 + 1;
        if let Some((share, longer_ns)) = self.server.slow
            && self.chance(share)
        {
            takes += longer_ns;
        }
        if let Some((every, long)) = self.server.stall {
            let phase = (now - 1_000_000_000) % every;
            if phase >= every - long {
                takes += every - phase;
            }
        }
        let at = (now + takes).max(self.sockets[socket].busy_until);
        self.sockets[socket].busy_until = at;
        let after = at - now;
        let Server { drips, wrong, closes, garbage, resets, hangs_up, never, .. } = self.server;
        let draw = uniform(&mut self.random);
        let mut edge = 0.0;
        let mut is = |share: f64| {
            edge += share;
            draw < edge
        };
        if self.sockets[socket].is_deaf || is(never) {
            self.sockets[socket].is_deaf = true;
        } else if is(resets) {
            self.later(after, Happening::Reset(socket));
        } else if is(hangs_up) {
            self.later(after, Happening::End(socket));
        } else if is(garbage) {
            self.later(after, Happening::Bytes(socket, b"220 smtp ready\r\n".to_vec()));
        } else if is(wrong) {
            self.later(
                after,
                Happening::Bytes(
                    socket,
                    RIGHT.iter().map(|b| if *b == b'h' { b'H' } else { *b }).collect(),
                ),
            );
        } else if is(closes) {
            let bytes =
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello".to_vec();
            self.later(after, Happening::Bytes(socket, bytes));
            self.later(after + 1, Happening::End(socket));
            self.sockets[socket].is_deaf = true;
        } else if is(drips) {
            for (i, byte) in (0..).zip(RIGHT) {
                self.later(after + i, Happening::Bytes(socket, vec![*byte]));
            }
            self.sockets[socket].busy_until += RIGHT.len() as u64;
        } else {
            self.later(after, Happening::Bytes(socket, RIGHT.to_vec()));
        }
    }
}

impl World for Simulation {
    type Socket = Handle;

    fn now_ns(&self) -> u64 {
        // Reading the clock takes time, so a loop that only polls makes progress.
        self.now.set(self.now.get() + 20);
        self.now.get()
    }

    fn connect(&mut self, _address: &Address, token: u64) -> Result<(Handle, bool), Errno> {
        let socket = self.sockets.len();
        self.sockets.push(Socket { token, watches_write: true, ..Socket::default() });
        self.connections += 1;
        self.connected_at.push(self.now.get());
        if !self.chance(self.server.ignores) {
            self.later(30_000, Happening::Connected(socket));
        }
        self.open.insert(socket);
        self.open_most = self.open_most.max(self.open.len());
        Ok((Handle { number: socket, closed: self.closed.clone() }, false))
    }

    fn connected(&mut self, socket: &Handle) -> Result<(), Errno> {
        if self.sockets[socket.number].state == State::Refused {
            Err(Errno::CONNREFUSED)
        } else {
            Ok(())
        }
    }

    fn watch_write(&mut self, socket: &Handle, _token: u64, write: bool) {
        self.sockets[socket.number].watches_write = write;
    }

    fn read(&mut self, socket: &Handle, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        let socket = &mut self.sockets[socket.number];
        if socket.state == State::Reset {
            return Err(Errno::CONNRESET);
        }
        let length = socket.inbox.len().min(buffer.len());
        if length == 0 {
            return Ok(if socket.state == State::Ended { Some(0) } else { None });
        }
        for (to, from) in buffer.iter_mut().zip(socket.inbox.drain(..length)) {
            *to = from;
        }
        Ok(Some(length))
    }

    fn write(&mut self, socket: &Handle, bytes: &[u8]) -> Result<usize, Errno> {
        let number = socket.number;
        self.now.set(self.now.get() + 1_000);
        if self.sockets[number].state == State::Reset {
            return Err(Errno::PIPE);
        }
        // Sometimes there is room for a part only.
        let length = if self.chance(0.05) { bytes.len() / 2 } else { bytes.len() };
        self.sockets[number].request.extend_from_slice(&bytes[..length]);
        while let Some(end) = self.sockets[number].request.windows(4).position(|w| w == b"\r\n\r\n")
        {
            self.sockets[number].request.drain(..end + 4);
            self.answer(number);
        }
        Ok(length)
    }

    fn rest(&mut self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }

    fn wait(&mut self, at_most_ns: u64, happened: &mut Vec<Ready>) {
        for socket in self.closed.borrow_mut().drain(..) {
            self.open.remove(&socket);
            self.sockets[socket] = Socket { state: State::Ended, ..Socket::default() };
        }
        let until = self.now.get() + at_most_ns.max(200);
        loop {
            while let Some(Reverse((at, number))) =
                self.coming.peek().copied().filter(|Reverse((at, _))| *at <= self.now.get())
            {
                self.coming.pop();
                if let Some(happening) = self.happenings.remove(&number) {
                    self.happen(happening);
                }
                debug_assert!(at <= self.now.get());
            }
            for socket in &self.open {
                let socket = &self.sockets[*socket];
                let readable =
                    !socket.inbox.is_empty() || matches!(socket.state, State::Ended | State::Reset);
                let writable = socket.watches_write && socket.state != State::Connecting;
                if readable || writable {
                    happened.push(Ready {
                        token: socket.token,
                        readable,
                        writable,
                        ended: socket.state == State::Ended,
                    });
                }
            }
            let next = self.coming.peek().map(|Reverse((at, _))| *at).filter(|at| *at <= until);
            match next {
                _ if !happened.is_empty() => return,
                None => return self.now.set(until.max(self.now.get())),
                Some(at) => self.now.set(at),
            }
        }
    }
}
