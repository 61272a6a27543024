//! The loop: waits for sockets and deadlines, and moves bytes between sockets and connections.

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
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, ipproto, sockopt};

use crate::answer::{Connection as Said, Framing, Head, Writer};
use crate::clock::{self, SECOND};
use crate::connection::{Connection, End, Next};
use crate::request::HEAD_LIMIT;
use crate::stats::{self, Count, Counters};
use crate::timers::Timers;
use crate::truth::{Truth, Turn};

/// With `exact`, the last stretch before a deadline is spent looking at the clock, because a sleeping thread wakes late by about
/// as much. In nanoseconds.
const SPIN: u64 = 50_000;
/// How long a client may take to notice that the connection is closed, in nanoseconds.
const LINGER: u64 = SECOND;
/// So much is received at once; before it there is room for a head that came in part.
const RECEIVE: usize = 64 * 1024;
/// A longer answer is not kept whole, but made in pieces.
const PREPARED_LIMIT: usize = 128 * 1024;
/// When no descriptor is left, connections wait so long to be accepted, in nanoseconds.
const ACCEPT_AGAIN: u64 = SECOND / 100;
const LISTENER: u64 = u64::MAX;

/// What all threads share.
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
    /// When each place of the pool that has been taken becomes free.
    places: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl Shared {
    /// A server with one thread for each of `listeners`.
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

/// The ordinary answer to an ordinary request, whole.
fn prepare(truth: &Truth) -> Option<Vec<u8>> {
    let head = Head {
        status: truth.status,
        content_type: &truth.content_type,
        padding: &truth.padding,
        framing: truth.framing,
        connection: Said::Unsaid,
        head_only: false,
    };
    let whole =
        truth.drip.is_none() && truth.framing != Framing::Close && truth.body.len() + truth.padding.len() as u64 <= PREPARED_LIMIT as u64;
    whole.then(|| {
        let (mut writer, mut bytes) = (Writer::new(&head, truth.body.clone()), Vec::new());
        while !writer.write(u64::MAX, &mut bytes) {}
        bytes
    })
}

/// Binds one socket for each of `threads` to a port of an address; none listens yet. Returns them with their port,
/// which the system chooses if `port` is 0.
pub fn bind(address: Ipv4Addr, port: u16, threads: usize) -> io::Result<(Vec<OwnedFd>, u16)> {
    let mut port = port;
    let mut listeners = Vec::new();
    for _ in 0..threads {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        // Alone, the port must be taken by no one else.
        sockopt::set_socket_reuseport(&listener, threads > 1)?;
        net::bind(&listener, &SocketAddrV4::new(address, port))?;
        port = SocketAddrV4::try_from(net::getsockname(&listener)?)?.port();
        listeners.push(listener);
    }
    Ok((listeners, port))
}

/// Everything up to the first blank line and with it, or everything.
fn head_of(bytes: &[u8]) -> &[u8] {
    let blank = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    blank.map_or(bytes, |at| &bytes[..at + 4])
}

/// What a connection sees of the server: its truth, its counters and its schedule.
pub struct World {
    shared: Arc<Shared>,
    thread: usize,
}

impl World {
    /// The truth.
    pub fn truth(&self) -> &Truth {
        &self.shared.truth
    }

    /// The ordinary answer to an ordinary request, if it can be had whole.
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

    /// Counts an answer that begins `nanoseconds` after its delay has passed.
    pub fn late(&self, nanoseconds: u64) {
        self.shared.counters[self.thread].late(nanoseconds);
    }

    /// Takes note of a request read whole.
    pub fn requested(&self) {
        let shared = &*self.shared;
        self.count(Count::Requests);
        let is_counted_from = shared.truth.stall.is_some() || shared.truth.warming.is_some();
        if is_counted_from && shared.first_request.load(Ordering::Relaxed) == 0 {
            let _ = shared.first_request.compare_exchange(0, clock::now(), Ordering::Relaxed, Ordering::Relaxed);
        }
        if let Some(last) = shared.truth.refuse_after
            && NonZeroU64::new(shared.requests.fetch_add(1, Ordering::Relaxed) + 1) == Some(last)
        {
            for listener in &shared.listeners {
                // It has been listening, so this cannot fail; from here on connections are refused.
                let _ = net::shutdown(listener, Shutdown::Both);
            }
        }
    }

    /// What CPU times are multiplied by now.
    pub fn cpu_factor(&self) -> f64 {
        let truth = self.truth();
        let warming = truth.warming.map_or(1.0, |warming| {
            let first = self.shared.first_request.load(Ordering::Relaxed);
            warming.at(clock::now().saturating_sub(first))
        });
        truth.cpu_factor * warming
    }

    /// When a delay is over that may begin now: later by the wait for a place, where there is a pool.
    pub fn due(&self, now: u64, delay: u64) -> u64 {
        let Some(pool) = self.truth().pool else { return now + delay };
        // Nothing that is done with it can leave it half changed.
        let mut places = self.shared.places.lock().unwrap_or_else(PoisonError::into_inner);
        let free = if places.len() < pool.get() { 0 } else { places.pop().map_or(0, |Reverse(free)| free) };
        let due = now.max(free) + delay;
        places.push(Reverse(due));
        due
    }

    /// Counts a whole answer, and writes a line where that is asked. That nobody reads it is no reason to stop.
    pub fn answered(&self, status: u16, length: u64) {
        self.count(Count::Answers);
        if self.truth().log {
            let _ = writeln!(io::stdout(), "{} answered with status {status} and {length} bytes", clock::now());
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

    /// The counters, as JSON.
    pub fn stats(&self) -> String {
        let shared = &*self.shared;
        let stalls = match (&shared.truth.stall, shared.first_request.load(Ordering::Relaxed)) {
            (None, _) | (_, 0) => 0,
            (Some(stall), first) => stall.begun(clock::now() - first),
        };
        stats::json(&shared.counters, stalls, &shared.children)
    }

    /// Stands still while the schedule says so. Called before anything is accepted, received or sent.
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
    /// Places in `sockets` that are free.
    free: Vec<u32>,
    /// How many sockets there have been, so that an event for a former one is known as such.
    generation: u32,
    timers: Timers,
    /// Where input is received, after what was kept of the last.
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
    /// The deadline that has been set, if any.
    timer: Option<u64>,
    /// Closed for sending: waits for the client to close too.
    lingers: bool,
}

/// What became of a socket.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    Ends,
}

impl Server {
    /// The loop of thread number `thread`.
    pub fn new(shared: Arc<Shared>, thread: usize) -> io::Result<Server> {
        // The kernel may otherwise wake a thread up to 50 µs late on purpose.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        if !shared.truth.never_accept {
            epoll::add(&epoll, &shared.listeners[thread], EventData::new_u64(LISTENER), EventFlags::IN)?;
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

    /// Serves until the process ends; returns only if the kernel refuses what it must not refuse.
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
                    token => self.with_socket(token, |server, socket| server.ready(socket, event.flags)),
                }
            }
            while let Some(now) = self.timers.next().map(|_| clock::now())
                && let Some((deadline, token)) = self.timers.take(now)
            {
                match token {
                    LISTENER => self.heed_listener(EventFlags::IN)?,
                    token => self.with_socket(token, |server, socket| server.expired(socket, deadline)),
                }
            }
        }
    }

    /// How long to sleep, in nanoseconds; `None` for as long as nothing comes.
    fn timeout(&self) -> Option<u64> {
        let deadline = self.timers.next()?;
        let left = deadline.saturating_sub(clock::now());
        Some(if self.world.truth().exact { left.saturating_sub(SPIN) } else { left })
    }

    fn accept(&mut self) -> io::Result<()> {
        self.world.stand_still();
        // A bound, so that those already here are served too.
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

    /// Accepts nothing for so long.
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
        self.sockets[place as usize] =
            Some(Socket { fd, token, connection, sent: 0, interest: EventFlags::IN, timer: None, lingers: false });
        let open = self.sockets.len() - self.free.len();
        if self.world.truth().exit_above.is_some_and(|most| open > most.get()) {
            std::process::exit(3);
        }
        Ok(())
    }

    /// Does something with the socket of `token`, if it is still there, and ends it if that is its fate.
    fn with_socket(&mut self, token: u64, act: impl FnOnce(&mut Server, &mut Socket) -> Fate) {
        let place = (token & u64::from(u32::MAX)) as usize;
        // Taken out, so that it and the rest can be changed at once.
        let Some(mut socket) = self.sockets[place].take_if(|socket| socket.token == token) else { return };
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

    /// A socket can be read or written, or has broken.
    fn ready(&mut self, socket: &mut Socket, flags: EventFlags) -> Fate {
        self.world.stand_still();
        if socket.lingers {
            return self.linger(socket);
        }
        if flags.contains(EventFlags::ERR) || (flags.contains(EventFlags::HUP) && !socket.interest.contains(EventFlags::IN)) {
            return Fate::Ends;
        }
        let readable = socket.interest.contains(EventFlags::IN) && flags.intersects(EventFlags::IN | EventFlags::HUP);
        if readable && self.receive(socket) == Fate::Ends {
            return Fate::Ends;
        }
        self.go_on(socket)
    }

    /// A deadline has passed.
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

    /// Answers, sends and reads on until nothing more can be done now.
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

    /// Sends what there is; whether that was all.
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

    /// Asks to be called again when `next` comes, or whatever else the socket waits for.
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
            if epoll::modify(&self.epoll, &socket.fd, EventData::new_u64(socket.token), interest).is_err() {
                return Fate::Ends;
            }
        }
        Fate::Stays
    }

    /// Everything has been sent; ends the connection.
    fn end(&mut self, socket: &mut Socket, end: End) -> Fate {
        match end {
            End::Agreed => Fate::Ends,
            End::Reset => {
                // Without it the close would be an orderly one; a broken socket is reset already.
                let _ = sockopt::set_socket_linger(&socket.fd, Some(Duration::ZERO));
                Fate::Ends
            }
            End::Exit => std::process::exit(3),
            End::Close => {
                // Were it closed with input unread, the kernel would reset it, and the client might lose the answer.
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
