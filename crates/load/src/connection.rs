//! One connection: a socket, TLS where it is spoken, and the protocol's session on top.

use crate::answer::Event;
use crate::check::Questions;
use crate::http1::Http1;
use crate::http2::Http2;
use crate::plan::{Address, Protocol, Target};
use crate::tls;
use crate::world::World;
use rustix::io::Errno;
use std::io;

/// How often a connection is read before the others have their turn: a body without end keeps nobody waiting.
const READS_MAX: usize = 8;

/// Most bytes that wait to be sent before a connection takes no further request, in bytes.
const UNSENT_MAX: usize = 256 << 10;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The TCP handshake is under way.
    Connecting,
    /// The TLS handshake is under way.
    Handshaking,
    /// Requests can be made.
    Open,
}

#[expect(clippy::large_enum_variant, reason = "HTTP/1.1 is the usual case, and lies where its connection does")]
pub(crate) enum Session {
    Http1(Http1),
    Http2(Box<Http2>),
}

pub(crate) struct Connection<S> {
    pub socket: S,
    pub token: u64,
    pub phase: Phase,
    pub session: Session,
    tls: Option<Box<rustls::ClientConnection>>,
    /// Requests that wait for the connection to stand.
    pub waiting: Vec<u32>,
    /// What is still to be sent, from `sent` on.
    pub out: Vec<u8>,
    sent: usize,
    watches_write: bool,
    /// When connecting began, and when it was done.
    pub opened_ns: u64,
    pub connected_ns: u64,
    /// Should its address refuse: which is the next, and how many are still to be tried.
    pub others: (usize, usize),
    /// Whether a request was answered on it.
    pub has_answered: bool,
    /// Whether this connection stands among those that have room.
    pub is_listed: bool,
    /// Whether bytes wait for the end of a round of events to be sent.
    pub is_dirty: bool,
}

/// Why a connection is over.
#[derive(Debug)]
pub(crate) enum Over {
    /// The other end has closed in good order, between answers.
    Closed,
    /// It never stood.
    Refused(String),
    /// It broke with requests under way, or said what is not HTTP.
    Broken(String),
}

impl<S> Connection<S> {
    /// Begins to connect.
    pub fn open<W: World<Socket = S>>(world: &mut W, target: &Target, address: &Address, token: u64, depth: u32) -> Result<Self, Errno> {
        let opened_ns = world.now_ns();
        let (socket, stands) = world.connect(address, token)?;
        let session = match target.protocol {
            Protocol::Http1 { .. } => Session::Http1(Http1::default()),
            Protocol::Http2 => Session::Http2(Box::new(Http2::new(depth))),
        };
        // Fails only for a configuration without a cipher suite, which `tls` does not make.
        let tls = target.tls.as_ref().map(|tls| {
            let client = rustls::ClientConnection::new(tls.config.clone(), tls.server_name.clone());
            Box::new(client.expect("the TLS configuration is usable"))
        });
        let mut connection = Connection {
            socket,
            token,
            phase: Phase::Connecting,
            session,
            tls,
            waiting: Vec::new(),
            out: Vec::new(),
            sent: 0,
            watches_write: !stands,
            opened_ns,
            connected_ns: 0,
            others: (0, 0),
            has_answered: false,
            is_listed: false,
            is_dirty: false,
        };
        if stands {
            connection.stands(opened_ns);
        }
        Ok(connection)
    }

    /// The socket is connected.
    pub fn stands(&mut self, now_ns: u64) {
        self.connected_ns = now_ns;
        self.phase = if self.tls.is_some() { Phase::Handshaking } else { Phase::Open };
        if let Session::Http2(session) = &mut self.session {
            session.start(&mut self.out);
        }
    }

    /// How many requests are under way, those that wait for the connection included.
    pub fn under_way(&self) -> u32 {
        self.waiting.len() as u32
            + match &self.session {
                Session::Http1(session) => session.under_way(),
                Session::Http2(session) => session.under_way(),
            }
    }

    /// How many more requests it takes now.
    pub fn room(&self, depth: u32) -> u32 {
        match &self.session {
            _ if self.is_closing() || self.is_full() => 0,
            Session::Http2(session) if self.phase == Phase::Open => session.room(),
            _ => depth.saturating_sub(self.under_way()),
        }
    }

    /// Whether so much waits to be sent that a server which does not read would fill our memory.
    pub fn is_full(&self) -> bool {
        self.out.len() - self.sent > UNSENT_MAX
    }

    /// Whether it takes no further request, ever.
    pub fn is_closing(&self) -> bool {
        match &self.session {
            Session::Http1(session) => session.is_closing(),
            Session::Http2(session) => session.is_closing(),
        }
    }

    /// Whether the TLS handshake took up an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed))
    }

    /// Sends what there is to send, as far as there is room.
    pub fn flush<W: World<Socket = S>>(&mut self, world: &mut W) -> Result<(), Over> {
        let all = match &mut self.tls {
            None => {
                while self.sent < self.out.len() {
                    match world.write(&self.socket, &self.out[self.sent..]) {
                        Ok(0) => break,
                        Ok(length) => self.sent += length,
                        Err(errno) => return Err(Over::Broken(format!("sending failed: {errno}"))),
                    }
                }
                let all = self.sent == self.out.len();
                if all {
                    self.out.clear();
                    self.sent = 0;
                }
                all
            }
            Some(tls) => {
                let failed = |e: io::Error| Over::Broken(format!("sending failed: {e}"));
                let mut io = Io { world, socket: &self.socket };
                let all = loop {
                    // Before the handshake is over this would be early data, which is not asked for.
                    if self.phase == Phase::Open && self.sent < self.out.len() {
                        // Takes as much as its buffer has room for.
                        self.sent += io::Write::write(&mut tls.writer(), &self.out[self.sent..]).map_err(failed)?;
                    }
                    if !tls.wants_write() {
                        break true;
                    }
                    match tls.write_tls(&mut io) {
                        Ok(_) => {}
                        Err(e) if e.kind() == io::ErrorKind::WouldBlock => break false,
                        Err(e) => {
                            // The alert that says why may have come before the connection was closed.
                            let alert = tls.read_tls(&mut io).ok().and_then(|_| tls.process_new_packets().err());
                            return Err(alert.map_or_else(|| failed(e), |alert| Over::Broken(tls::describe(&alert))));
                        }
                    }
                };
                if self.sent == self.out.len() {
                    self.out.clear();
                    self.sent = 0;
                }
                all
            }
        };
        if self.watches_write == all {
            self.watches_write = !all;
            world.watch_write(&self.socket, self.token, !all);
        }
        Ok(())
    }

    /// Reads what has arrived and adds what it means.
    ///
    /// # Errors
    /// Why the connection is over. Events that came before are there.
    pub fn receive<W: World<Socket = S>>(
        &mut self,
        world: &mut W,
        buffer: &mut [u8],
        questions: &mut impl Questions,
        events: &mut Vec<Event>,
    ) -> Result<(), Over> {
        if self.tls.is_some() {
            return self.receive_tls(world, buffer, questions, events);
        }
        for _ in 0..READS_MAX {
            match world.read(&self.socket, buffer) {
                Ok(None) => return Ok(()),
                Ok(Some(0)) => return Err(self.ended(true, questions, events)),
                Ok(Some(length)) => {
                    self.understand(&buffer[..length], questions, events)?;
                    // A short read means that the socket is empty: no second call is needed to know.
                    if length < buffer.len() {
                        return Ok(());
                    }
                }
                Err(errno) => return Err(Over::Broken(format!("receiving failed: {errno}"))),
            }
        }
        Ok(())
    }

    fn receive_tls<W: World<Socket = S>>(
        &mut self,
        world: &mut W,
        buffer: &mut [u8],
        questions: &mut impl Questions,
        events: &mut Vec<Event>,
    ) -> Result<(), Over> {
        for _ in 0..READS_MAX {
            let tls = self.tls.as_mut().expect("asked before");
            let ended = match tls.read_tls(&mut Io { world, socket: &self.socket }) {
                Ok(0) => true,
                Ok(_) => false,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(self.broke(format!("receiving failed: {e}"))),
            };
            let state = match tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The alert that says so to the server.
                    let _ = tls.write_tls(&mut Io { world, socket: &self.socket });
                    return Err(self.broke(tls::describe(&error)));
                }
            };
            if self.phase == Phase::Handshaking && !tls.is_handshaking() {
                if matches!(self.session, Session::Http2(_)) && tls.alpn_protocol() != Some(b"h2") {
                    return Err(Over::Refused("TLS: the server does not agree to HTTP/2 (ALPN `h2`)".into()));
                }
                self.phase = Phase::Open;
            }
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let tls = self.tls.as_mut().expect("asked before");
                let length = io::Read::read(&mut tls.reader(), buffer).map_err(|e| Over::Broken(format!("TLS: {e}")))?;
                if length == 0 {
                    break;
                }
                left -= length.min(left);
                self.understand(&buffer[..length], questions, events)?;
            }
            if ended || state.peer_has_closed() {
                let is_said = state.peer_has_closed();
                return Err(match self.phase {
                    Phase::Open => self.ended(is_said, questions, events),
                    _ => Over::Refused("TLS: the server closed during the handshake".into()),
                });
            }
        }
        Ok(())
    }

    fn broke(&self, why: String) -> Over {
        if self.phase == Phase::Open { Over::Broken(why) } else { Over::Refused(why) }
    }

    fn understand(&mut self, bytes: &[u8], questions: &mut impl Questions, events: &mut Vec<Event>) -> Result<(), Over> {
        match &mut self.session {
            Session::Http1(session) => session.receive(bytes, questions, events).map_err(|malformed| Over::Broken(malformed.to_string())),
            Session::Http2(session) => session.receive(bytes, questions, &mut self.out, events).map_err(Over::Broken),
        }
    }

    /// The other end has closed; over TLS it may not have said so, and who cut the connection is then unknown.
    fn ended(&mut self, is_said: bool, questions: &mut impl Questions, events: &mut Vec<Event>) -> Over {
        let is_cut = !is_said && self.under_way() > 0;
        match &mut self.session {
            _ if is_cut => Over::Broken("TLS: cut off without a close_notify".into()),
            Session::Http1(session) => match session.end(questions, events) {
                Ok(()) => Over::Closed,
                Err(malformed) => Over::Broken(malformed.to_string()),
            },
            Session::Http2(session) if session.under_way() == 0 => Over::Closed,
            Session::Http2(_) => Over::Broken("closed with requests under way".into()),
        }
    }
}

/// A socket as rustls wants it.
struct Io<'a, W: World> {
    world: &'a mut W,
    socket: &'a W::Socket,
}

impl<W: World> io::Read for Io<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.world.read(self.socket, buffer)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl<W: World> io::Write for Io<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.world.write(self.socket, bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            length => Ok(length),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
