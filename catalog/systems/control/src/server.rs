//! The loop: waits for sockets and deadlines, and moves bytes between sockets and connections.
//!
//! Start with [`Server::run`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, ipproto, sockopt,
};

use crate::answer::{Connection as Said, Framing, Head, Writer};
use crate::clock::{self, SECOND};
use crate::connection::{Connection, End, Next};
use crate::request::HEAD_LIMIT;
use crate::stats::{self, Count, Counters};
use crate::timers::Timers;
use crate::truth::{Truth, Turn};

/// With `exact`, the thread polls the clock for this time before a deadline, because a sleeping
/// thread wakes late by about as much. In nanoseconds.
const SPIN: u64 = 50_000;
/// How long a client may take to notice that the connection is closed, in nanoseconds.
const LINGER: u64 = SECOND;
/// Number of bytes received at once; in front of them there is room for a partial head.
const RECEIVE: usize = 64 * 1024;
/// A longer response is made in pieces instead of kept whole.
const PREPARED_LIMIT: usize = 128 * 1024;
/// Without a free descriptor, connections wait this long to be accepted, in nanoseconds.
const ACCEPT_AGAIN: u64 = SECOND / 100;
const LISTENER: u64 = u64::MAX;

/// The state that all threads share.
pub struct Shared {
    truth: Truth,
    prepared: Option<Vec<u8>>,
    counters: Box<[Counters]>,
    children: Vec<u32>,
    listeners: Vec<OwnedFd>,
    turns: AtomicU64,
    requests: AtomicU64,
    /// The instant of the first request; 0 before it.
    first_request: AtomicU64,
    /// When each used slot of the pool becomes free.
    places: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl Shared {
    /// Makes a server with one thread for each of `listeners`.
    pub fn new(truth: Truth, listeners: Vec<OwnedFd>, children: Vec<u32>) -> Shared {
        let counters = listeners.iter().map(|_| Counters::default()).collect();
        let zero = || AtomicU64::new(0);
        let prepared = prepare(&truth);
        Shared {
            truth,
            prepared,
            counters,
            children,
            listeners,
            turns: zero(),
            requests: zero(),
            first_request: zero(),
            places: Mutex::default(),
        }
    }

    /// Listens on all listeners, each with a queue of `backlog`.
    pub fn listen(&self, backlog: i32) -> io::Result<()> {
        for listener in &self.listeners {
            net::listen(listener, backlog)?;
        }
        Ok(())
    }
}

/// Returns the ordinary response to an ordinary request, whole.
fn prepare(truth: &Truth) -> Option<Vec<u8>> {
    let head = Head {
        status: truth.status,
        content_type: &truth.content_type,
        padding: &truth.padding,
        framing: truth.framing,
        connection: Said::Unsaid,
        head_only: false,
    };
    let whole = truth.drip.is_none()
        && truth.framing != Framing::Close
        && truth.body.len() + truth.padding.len() as u64 <= PREPARED_LIMIT as u64;
    whole.then(|| {
        let (mut writer, mut bytes) = (Writer::new(&head, truth.body.clone()), Vec::new());
        while !writer.write(u64::MAX, &mut bytes) {}
        bytes
    })
}

/// Binds one socket for each of `threads` to a port of an address; none listens yet. Returns them
/// with their port, which the system chooses if `port` is 0.
pub fn bind(address: Ipv4Addr, port: u16, threads: usize) -> io::Result<(Vec<OwnedFd>, u16)> {
    let mut port = port;
    let mut listeners = Vec::new();
    for _ in 0..threads {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener =
            net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        // A single listener must not share its port with another process.
        sockopt::set_socket_reuseport(&listener, threads > 1)?;
        net::bind(&listener, &SocketAddrV4::new(address, port))?;
        port = SocketAddrV4::try_from(net::getsockname(&listener)?)?.port();
        listeners.push(listener);
    }
    Ok((listeners, port))
}

/// Returns everything up to and including the first blank line, or everything.
fn head_of(bytes: &[u8]) -> &[u8] {
    let blank = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    blank.map_or(bytes, |at| &bytes[..at + 4])
}

/// The part of the server that a connection uses: its behaviour, its counters and its schedule.
pub struct World {
    shared: Arc<Shared>,
    thread: usize,
}

impl World {
    /// Returns the behaviour.
    pub fn truth(&self) -> &Truth {
        &self.shared.truth
    }

    /// Returns the ordinary response to an ordinary request, if it is kept whole.
    pub fn prepared(&self) -> Option<&[u8]> {
        self.shared.prepared.as_deref()
    }

    /// Counts one.
    pub fn count(&self, count: Count) {
        self.shared.counters[self.thread].one(count);
    }

    /// Counts several.
    pub fn add(&self, count: Count, several: u64) {
        self.shared.counters[self.thread].add(count, several);
    }

    /// Counts a response that begins `nanoseconds` after the end of its delay.
    pub fn late(&self, nanoseconds: u64) {
        self.shared.counters[self.thread].late(nanoseconds);
    }

    /// Notes a request that was read whole.
    pub fn requested(&self) {
        let shared = &*self.shared;
        self.count(Count::Requests);
        let is_counted_from = shared.truth.stall.is_some() || shared.truth.warming.is_some();
        if is_counted_from && shared.first_request.load(Ordering::Relaxed) == 0 {
            let _ = shared.first_request.compare_exchange(
                0,
                clock::now(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        if let Some(last) = shared.truth.refuse_after
            && NonZeroU64::new(shared.requests.fetch_add(1, Ordering::Relaxed) + 1) == Some(last)
        {
            for listener in &shared.listeners {
                // It was listening, so this cannot fail. From now on connections are refused.
                let _ = net::shutdown(listener, Shutdown::Both);
            }
        }
    }

    /// Returns the present factor for CPU times.
    pub fn cpu_factor(&self) -> f64 {
        let truth = self.truth();
        let warming = truth.warming.map_or(1.0, |warming| {
            let first = self.shared.first_request.load(Ordering::Relaxed);
            warming.at(clock::now().saturating_sub(first))
        });
        truth.cpu_factor * warming
    }

    /// Returns the end of a delay that may begin now. With a pool, it includes the wait for a slot.
    pub fn due(&self, now: u64, delay: u64) -> u64 {
        let Some(pool) = self.truth().pool else { return now + delay };
        // No operation on it can leave it inconsistent.
        let mut places = self.shared.places.lock().unwrap_or_else(PoisonError::into_inner);
        let free = if places.len() < pool.get() {
            0
        } else {
            places.pop().map_or(0, |Reverse(free)| free)
        };
        let due = now.max(free) + delay;
        places.push(Reverse(due));
        due
    }

    /// Counts a whole response, and writes a log line if enabled. A closed stdout is not a reason
    /// to stop.
    pub fn answered(&self, status: u16, length: u64) {
        self.count(Count::Answers);
        if self.truth().log {
            let _ = writeln!(
                io::stdout(),
                "{} answered with status {status} and {length} bytes",
                clock::now()
            );
        }
    }

    /// Takes the next turn; `None` after the last.
    pub fn turn(&self) -> Option<Turn> {
        let faults = &self.shared.truth.faults;
        if !faults.are_possible() {
            return Some(Turn::default());
        }
        faults.turn(self.shared.turns.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Returns the counters as JSON.
    pub fn stats(&self) -> String {
        let shared = &*self.shared;
        let stalls = match (&shared.truth.stall, shared.first_request.load(Ordering::Relaxed)) {
            (None, _) | (_, 0) => 0,
            (Some(stall), first) => stall.begun(clock::now() - first),
        };
        stats::json(&shared.counters, stalls, &shared.children)
    }

    /// Stalls while the schedule says so. Called before anything is accepted, received or sent.
    fn stand_still(&self) {
        let Some(stall) = &self.shared.truth.stall else { return };
        let first = self.shared.first_request.load(Ordering::Relaxed);
        if first > 0
            && let Some(end) = stall.ends(clock::now() - first)
        {
            clock::sleep_until(first + end);
        }
    }
}

/// One thread of the server.
pub struct Server {
    world: World,
    epoll: OwnedFd,
    sockets: Vec<Option<Socket>>,
    /// Free slots of `sockets`.
    free: Vec<u32>,
    /// Number of sockets so far, to recognise an event of a former one.
    generation: u32,
    timers: Timers,
    /// Buffer for input, behind the kept part of the last one.
    scratch: Box<[u8]>,
}

/// A connection and its socket.
struct Socket {
    fd: OwnedFd,
    token: u64,
    connection: Connection,
    /// How much of the output has been sent.
    sent: usize,
    interest: EventFlags,
    /// The present deadline, if any.
    timer: Option<u64>,
    /// Closed for sending: waits for the client to close too.
    lingers: bool,
}

/// The state of a socket after an event.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    Ends,
}

impl Server {
    /// Makes the loop of thread number `thread`.
    pub fn new(shared: Arc<Shared>, thread: usize) -> io::Result<Server> {
        // By default the kernel may wake a thread up to 50 µs late on purpose.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        if !shared.truth.never_accept {
            epoll::add(
                &epoll,
                &shared.listeners[thread],
                EventData::new_u64(LISTENER),
                EventFlags::IN,
            )?;
        }
        Ok(Server {
            world: World { shared, thread },
            epoll,
            sockets: Vec::new(),
            free: Vec::new(),
            generation: 0,
            timers: Timers::default(),
            scratch: vec![0; HEAD_LIMIT + RECEIVE].into(),
        })
    }

    /// Serves until the process exits; returns only if a necessary system call fails.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(512);
        loop {
            events.clear();
            let timeout = self.timeout().map(clock::timespec);
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    token => {
                        self.with_socket(token, |server, socket| server.ready(socket, event.flags))
                    }
                }
            }
            while let Some(now) = self.timers.next().map(|_| clock::now())
                && let Some((deadline, token)) = self.timers.take(now)
            {
                match token {
                    LISTENER => self.heed_listener(EventFlags::IN)?,
                    token => {
                        self.with_socket(token, |server, socket| server.expired(socket, deadline))
                    }
                }
            }
        }
    }

    /// Returns how long to sleep, in nanoseconds; `None` until an event.
    fn timeout(&self) -> Option<u64> {
        let deadline = self.timers.next()?;
        let left = deadline.saturating_sub(clock::now());
        Some(if self.world.truth().exact { left.saturating_sub(SPIN) } else { left })
    }

    fn accept(&mut self) -> io::Result<()> {
        self.world.stand_still();
        // A limit, so that existing connections are served too.
        for _ in 0..64 {
            let shared = Arc::clone(&self.world.shared);
            let listener = &shared.listeners[self.world.thread];
            match net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(fd) => {
                    self.add(fd)?;
                    if let Some(every) = self.world.truth().accept_every {
                        return self.accept_again(every);
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                // The listener has been shut down.
                Err(Errno::INVAL) => return Ok(epoll::delete(&self.epoll, listener)?),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    return self.accept_again(ACCEPT_AGAIN);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Accepts nothing for this time.
    fn accept_again(&mut self, after: u64) -> io::Result<()> {
        self.timers.set(clock::now() + after, LISTENER);
        self.heed_listener(EventFlags::empty())
    }

    fn heed_listener(&self, interest: EventFlags) -> io::Result<()> {
        let listener = &self.world.shared.listeners[self.world.thread];
        Ok(epoll::modify(&self.epoll, listener, EventData::new_u64(LISTENER), interest)?)
    }

    fn add(&mut self, fd: OwnedFd) -> io::Result<()> {
        self.world.count(Count::Connections);
        sockopt::set_tcp_nodelay(&fd, !self.world.truth().split_writes)?;
        let place = self.free.pop().unwrap_or_else(|| {
            self.sockets.push(None);
            self.sockets.len() as u32 - 1
        });
        self.generation = self.generation.wrapping_add(1) & (u32::MAX >> 1);
        let token = u64::from(self.generation) << 32 | u64::from(place);
        epoll::add(&self.epoll, &fd, EventData::new_u64(token), EventFlags::IN)?;
        let connection = Connection::default();
        self.sockets[place as usize] = Some(Socket {
            fd,
            token,
            connection,
            sent: 0,
            interest: EventFlags::IN,
            timer: None,
            lingers: false,
        });
        let open = self.sockets.len() - self.free.len();
        if self.world.truth().exit_above.is_some_and(|most| open > most.get()) {
            std::process::exit(3);
        }
        Ok(())
    }

    /// Applies a function to the socket of `token`, if it still exists, and ends it if the function
    /// says so.
    fn with_socket(&mut self, token: u64, act: impl FnOnce(&mut Server, &mut Socket) -> Fate) {
        let place = (token & u64::from(u32::MAX)) as usize;
        // Removed for now, so that it and the others can be changed at once.
        let Some(mut socket) = self.sockets[place].take_if(|socket| socket.token == token) else {
            return;
        };
        match act(self, &mut socket) {
            Fate::Stays => self.sockets[place] = Some(socket),
            Fate::Ends => {
                self.world.count(Count::Closed);
                self.world.add(Count::Dropped, socket.connection.unanswered());
                drop(socket);
                self.free.push(place as u32);
            }
        }
    }

    /// Handles a socket that can be read or written, or has failed.
    fn ready(&mut self, socket: &mut Socket, flags: EventFlags) -> Fate {
        self.world.stand_still();
        if socket.lingers {
            return self.linger(socket);
        }
        if flags.contains(EventFlags::ERR)
            || (flags.contains(EventFlags::HUP) && !socket.interest.contains(EventFlags::IN))
        {
            return Fate::Ends;
        }
        let readable = socket.interest.contains(EventFlags::IN)
            && flags.intersects(EventFlags::IN | EventFlags::HUP);
        if readable && self.receive(socket) == Fate::Ends {
            return Fate::Ends;
        }
        self.go_on(socket)
    }

    /// Handles a deadline that has passed.
    fn expired(&mut self, socket: &mut Socket, deadline: u64) -> Fate {
        self.world.stand_still();
        if socket.timer != Some(deadline) {
            return Fate::Stays;
        }
        socket.timer = None;
        if socket.lingers { Fate::Ends } else { self.go_on(socket) }
    }

    fn receive(&mut self, socket: &mut Socket) -> Fate {
        let connection = &mut socket.connection;
        let kept = connection.input.len();
        self.scratch[..kept].copy_from_slice(&connection.input);
        match net::recv(&socket.fd, &mut self.scratch[kept..], RecvFlags::empty()) {
            Ok((0, _)) => connection.hung_up(&self.world),
            Ok((received, _)) => {
                let input = &self.scratch[..kept + received];
                let used = connection.read(input, &self.world);
                connection.input.clear();
                connection.input.extend_from_slice(&input[used..]);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Fate::Ends,
        }
        Fate::Stays
    }

    /// Responds, sends and reads until nothing more can be done now.
    fn go_on(&mut self, socket: &mut Socket) -> Fate {
        loop {
            let next = socket.connection.produce(&self.world);
            match self.send(socket) {
                Ok(true) => {}
                Ok(false) => return self.wait_for(socket, next),
                Err(_) => return Fate::Ends,
            }
            if let Some(end) = socket.connection.end {
                return self.end(socket, end);
            }
            let input = mem::take(&mut socket.connection.input);
            let used = socket.connection.read(&input, &self.world);
            socket.connection.input = input;
            socket.connection.input.drain(..used);
            if used == 0 && next != Next::Sent {
                if socket.connection.is_over() {
                    return Fate::Ends;
                }
                return self.wait_for(socket, next);
            }
        }
    }

    /// Sends the output; returns whether all was sent.
    fn send(&mut self, socket: &mut Socket) -> Result<bool, Errno> {
        let output = &mut socket.connection.output;
        while socket.sent < output.len() {
            self.world.stand_still();
            let rest = &output[socket.sent..];
            let piece = if self.world.truth().split_writes { head_of(rest) } else { rest };
            match net::send(&socket.fd, piece, SendFlags::NOSIGNAL) {
                Ok(sent) => socket.sent += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        socket.sent = 0;
        output.clear();
        Ok(true)
    }

    /// Registers for `next`, and for other events that the socket waits for.
    fn wait_for(&mut self, socket: &mut Socket, next: Next) -> Fate {
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::IN, socket.connection.wants_input());
        interest.set(EventFlags::OUT, !socket.connection.output.is_empty());
        if let Next::Instant(deadline) = next
            && socket.timer != Some(deadline)
        {
            socket.timer = Some(deadline);
            self.timers.set(deadline, socket.token);
        }
        self.watch(socket, interest)
    }

    fn watch(&mut self, socket: &mut Socket, interest: EventFlags) -> Fate {
        if socket.interest != interest {
            socket.interest = interest;
            if epoll::modify(&self.epoll, &socket.fd, EventData::new_u64(socket.token), interest)
                .is_err()
            {
                return Fate::Ends;
            }
        }
        Fate::Stays
    }

    /// Ends the connection after everything has been sent.
    fn end(&mut self, socket: &mut Socket, end: End) -> Fate {
        match end {
            End::Agreed => Fate::Ends,
            End::Reset => {
                // Otherwise the close would be orderly; a failed socket is already reset.
                let _ = sockopt::set_socket_linger(&socket.fd, Some(Duration::ZERO));
                Fate::Ends
            }
            End::Exit => std::process::exit(3),
            End::Close => {
                // The kernel resets a socket that is closed with unread input, and the client might
                // lose the response.
                if net::shutdown(&socket.fd, Shutdown::Write).is_err() {
                    return Fate::Ends;
                }
                self.world.add(Count::Dropped, socket.connection.unanswered());
                socket.connection = Connection::default();
                socket.lingers = true;
                let deadline = clock::now() + LINGER;
                socket.timer = Some(deadline);
                self.timers.set(deadline, socket.token);
                self.watch(socket, EventFlags::IN)
            }
        }
    }

    /// Discards input until the client has closed its side.
    fn linger(&mut self, socket: &mut Socket) -> Fate {
        match net::recv(&socket.fd, &mut *self.scratch, RecvFlags::empty()) {
            Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR) => Fate::Stays,
            Ok(_) | Err(_) => Fate::Ends,
        }
    }
}
