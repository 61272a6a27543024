//! One connection: a socket, TLS if it is used, and the HTTP session on top.
//!
//! [`Connection::receive`] reads what has arrived and turns it into events. [`Connection::flush`]
//! sends what is waiting. Neither blocks. The HTTP sessions in `http1` and `http2` do no I/O.

use crate::answer::{Ending, Event};
use crate::check::{Checks, Judgement};
use crate::http1::Http1;
use crate::http2::Http2;
use crate::plan::{Address, Protocol, Target};
use crate::tls;
use crate::world::World;
use rustix::io::Errno;
use spec::units::show_duration;
use std::io;
use std::time::Duration;

/// How often one connection is read in a row. Then others get their turn, so an endless body does
/// not delay them.
const READS_MAX: usize = 8;

/// A connection with more unsent bytes than this takes no further request.
const UNSENT_MAX: usize = 256 << 10;

/// Sent bytes are dropped once there are more than this, and more than the unsent bytes.
const SENT_KEPT: usize = 64 << 10;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The TCP handshake is in progress.
    Connecting,
    /// The TLS handshake is in progress.
    Handshaking,
    /// Requests can be sent.
    Open,
}

#[expect(
    clippy::large_enum_variant,
    reason = "HTTP/1.1 is the usual case, and lies where its connection does"
)]
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
    /// Requests that wait until the connection is open.
    pub waiting: Vec<u32>,
    /// Bytes to send. Those before `sent` are sent already.
    pub out: Vec<u8>,
    sent: usize,
    /// The number of bytes sent before those in `out`.
    pub sent_before: u64,
    /// Why nothing more can be sent. Bytes that the server sent before it closed are still read,
    /// because they may be a response (RFC 9112, 9.6).
    unsendable: Option<Errno>,
    /// Whether a short read may be followed by more, such as the end of the stream. Set if there
    /// was no room to send, or if the world reported the end.
    pub reads_on: bool,
    watches_write: bool,
    /// When connecting started, and when it was done.
    pub opened_ns: u64,
    pub connected_ns: u64,
    /// If the address refuses: the next address, and how many are still to be tried.
    pub others: (usize, usize),
    /// Whether a request was answered on this connection.
    pub has_answered: bool,
    /// Whether one was answered since the server last caused retries.
    pub makes_progress: bool,
    /// Whether the pool lists this connection as having room.
    pub is_listed: bool,
    /// Whether bytes wait to be sent at the end of the current round of events.
    pub is_dirty: bool,
}

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum EndReason {
    /// The server closed it in good order, between responses.
    Closed,
    /// It never opened.
    Refused(String),
    /// It broke with requests in flight.
    Broken(String),
    /// The server sent something that is not HTTP.
    Malformed(String),
}

impl<S> Connection<S> {
    /// Starts to connect.
    pub fn open<W: World<Socket = S>>(
        world: &mut W,
        target: &Target,
        address: &Address,
        token: u64,
        depth: u32,
    ) -> Result<Self, Errno> {
        let opened_ns = world.now_ns();
        let (socket, is_connected) = world.connect(address, token)?;
        let session = match target.protocol {
            Protocol::Http1 { .. } => Session::Http1(Http1::default()),
            Protocol::Http2 => Session::Http2(Box::new(Http2::new(depth))),
        };
        // This fails only without any cipher suite, and `tls` always configures some.
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
            sent_before: 0,
            unsendable: None,
            reads_on: false,
            watches_write: !is_connected,
            opened_ns,
            connected_ns: 0,
            others: (0, 0),
            has_answered: false,
            makes_progress: false,
            is_listed: false,
            is_dirty: false,
        };
        if is_connected {
            connection.set_connected(opened_ns);
        }
        Ok(connection)
    }

    /// Handles that the socket is connected.
    pub fn set_connected(&mut self, now_ns: u64) {
        self.connected_ns = now_ns;
        self.phase = if self.tls.is_some() { Phase::Handshaking } else { Phase::Open };
        if let Session::Http2(session) = &mut self.session {
            session.start(&mut self.out);
        }
    }

    /// Returns the number of requests in flight, including those that wait for the connection.
    pub fn in_flight(&self) -> u32 {
        self.waiting.len() as u32
            + match &self.session {
                Session::Http1(session) => session.in_flight(),
                Session::Http2(session) => session.in_flight(),
            }
    }

    /// Returns how many more requests the connection takes now.
    pub fn room(&self, depth: u32) -> u32 {
        match &self.session {
            _ if self.is_closing() || self.is_full() => 0,
            Session::Http2(session) if self.phase == Phase::Open => session.room(),
            _ => depth.saturating_sub(self.in_flight()),
        }
    }

    /// Whether too many bytes are unsent. Without this limit, a server that does not read would
    /// fill our memory.
    pub fn is_full(&self) -> bool {
        self.out.len() - self.sent > UNSENT_MAX
    }

    /// Whether the connection takes no further request.
    pub fn is_closing(&self) -> bool {
        self.unsendable.is_some()
            || match &self.session {
                Session::Http1(session) => session.is_closing(),
                Session::Http2(session) => session.is_closing(),
            }
    }

    /// Whether the server sent bytes after a complete response that no request accounts for.
    pub fn has_surplus(&self) -> bool {
        matches!(&self.session, Session::Http1(session) if session.has_surplus())
    }

    /// Returns how many bytes were sent. If rustls holds bytes back for lack of room, one byte
    /// counts as missing.
    fn sent_bytes(&self) -> u64 {
        let is_kept = self.watches_write && self.tls.as_ref().is_some_and(|tls| tls.wants_write());
        (self.sent_before + self.sent as u64).saturating_sub(is_kept.into())
    }

    /// Describes a request that got no response in time, with the reason if it is known.
    pub fn late(&self, ticket: u32, timeout: Duration) -> String {
        let what = if self.phase == Phase::Open { "no answer" } else { "no connection" };
        let delay = self.delay_of(ticket).map(|delay| format!(": {delay}")).unwrap_or_default();
        format!("{what} within {}{delay}", show_duration(timeout))
    }

    /// Returns why a request has no response yet, or `None` if nothing more is known.
    fn delay_of(&self, ticket: u32) -> Option<String> {
        if let Some(errno) = self.unsendable {
            return Some(format!("sending failed: {errno}"));
        }
        match (&self.session, self.phase) {
            (_, Phase::Connecting) => None,
            (_, Phase::Handshaking) => Some("the TLS handshake did not end".into()),
            (Session::Http1(session), _) if session.is_sending(self.sent_bytes()) => {
                Some("the server did not read the whole request".into())
            }
            (Session::Http1(session), _) if session.is_within_answer() => {
                Some("a part of the response arrived".into())
            }
            (Session::Http1(_), _) => None,
            (Session::Http2(session), _) => session.delay_of(ticket),
        }
    }

    /// Whether the TLS handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|tls| tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed))
    }

    /// Sends as much as there is room for. A failure to send is not reported yet: what has arrived
    /// is read first.
    pub fn flush<W: World<Socket = S>>(&mut self, world: &mut W) {
        let before = self.sent;
        let sent = match (self.unsendable, &self.tls) {
            (Some(errno), _) => Err(errno),
            (None, None) => self.send(world),
            (None, Some(_)) => self.send_tls(world),
        };
        let all = sent.unwrap_or_else(|errno| {
            self.unsendable = Some(errno);
            self.out.truncate(self.sent);
            true
        });
        let fresh = self.sent - before;
        let mut dropped = 0;
        if self.sent == self.out.len() || self.sent > SENT_KEPT.max(self.out.len() / 2) {
            dropped = std::mem::take(&mut self.sent);
            self.sent_before += dropped as u64;
            self.out.drain(..dropped);
        }
        if let Session::Http2(session) = &mut self.session {
            session.sent(fresh, dropped);
        }
        self.reads_on |= !all;
        if self.watches_write == all {
            self.watches_write = !all;
            world.watch_write(&self.socket, self.token, !all);
        }
    }

    /// Writes to the socket. Returns whether everything was sent.
    fn send<W: World<Socket = S>>(&mut self, world: &mut W) -> Result<bool, Errno> {
        while self.sent < self.out.len() {
            match world.write(&self.socket, &self.out[self.sent..])? {
                0 => return Ok(false),
                length => self.sent += length,
            }
        }
        Ok(true)
    }

    /// Writes through TLS. Returns whether everything was sent.
    fn send_tls<W: World<Socket = S>>(&mut self, world: &mut W) -> Result<bool, Errno> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        let failed = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let mut io = Io { world, socket: &self.socket };
        loop {
            // Before the handshake ends, this would be early data, which is not used.
            if self.phase == Phase::Open && self.sent < self.out.len() {
                // Takes as much as fits into its buffer.
                self.sent +=
                    io::Write::write(&mut tls.writer(), &self.out[self.sent..]).map_err(failed)?;
            }
            if !tls.wants_write() {
                return Ok(true);
            }
            match tls.write_tls(&mut io) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Reads what has arrived, and appends events.
    ///
    /// # Errors
    /// Why the connection ended. Events from before the end are appended.
    pub fn receive<W: World<Socket = S>>(
        &mut self,
        world: &mut W,
        buffer: &mut [u8],
        checks: &mut impl Checks,
        events: &mut Vec<Event>,
    ) -> Result<(), EndReason> {
        if self.tls.is_some() {
            return self.receive_tls(world, buffer, checks, events);
        }
        for _ in 0..READS_MAX {
            match world.read(&self.socket, buffer) {
                Ok(None) => {
                    self.reads_on = false;
                    return Ok(());
                }
                Ok(Some(0)) => return Err(self.ended(Ending::InOrder, None, checks, events)),
                Ok(Some(length)) => {
                    self.understand(&buffer[..length], checks, events)?;
                    // A short read means that the socket is empty, so no second call is needed.
                    // After an early refusal, a second call finds out whether the server has
                    // closed.
                    let is_refused = matches!(events.last(), Some(Event::Answered { finished, .. }) if !matches!(finished.judgement, Judgement::Correct));
                    let is_done = || self.is_closing() && self.in_flight() == 0;
                    if length < buffer.len() && (!(self.reads_on || is_refused) || is_done()) {
                        return Ok(());
                    }
                    self.reply(world);
                }
                Err(errno) => {
                    return Err(self.ended(Ending::Broken, Some(errno.into()), checks, events));
                }
            }
        }
        Ok(())
    }

    fn receive_tls<W: World<Socket = S>>(
        &mut self,
        world: &mut W,
        buffer: &mut [u8],
        checks: &mut impl Checks,
        events: &mut Vec<Event>,
    ) -> Result<(), EndReason> {
        for _ in 0..READS_MAX {
            let tls = self.tls.as_mut().expect("checked before");
            let ended = match tls.read_tls(&mut Io { world, socket: &self.socket }) {
                Ok(0) => true,
                Ok(_) => false,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if self.phase != Phase::Open => {
                    return Err(EndReason::Refused(format!("receiving failed: {error}")));
                }
                Err(error) => {
                    return Err(self.ended(Ending::Broken, Some(error), checks, events));
                }
            };
            let state = match tls.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // Sends the alert that tells the server.
                    let _ = tls.write_tls(&mut Io { world, socket: &self.socket });
                    // Complete responses from before the error count.
                    while let Some(tls) = &mut self.tls
                        && let Ok(length @ 1..) = io::Read::read(&mut tls.reader(), buffer)
                    {
                        self.understand(&buffer[..length], checks, events)?;
                    }
                    return Err(self.broke(tls::describe(&error)));
                }
            };
            if self.phase == Phase::Handshaking && !tls.is_handshaking() {
                if matches!(self.session, Session::Http2(_)) && tls.alpn_protocol() != Some(b"h2") {
                    return Err(EndReason::Refused(
                        "TLS: the server does not agree to HTTP/2 (ALPN `h2`)".into(),
                    ));
                }
                self.phase = Phase::Open;
            }
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let tls = self.tls.as_mut().expect("checked before");
                let length = io::Read::read(&mut tls.reader(), buffer)
                    .map_err(|e| EndReason::Broken(format!("TLS: {e}")))?;
                if length == 0 {
                    break;
                }
                left -= length.min(left);
                self.understand(&buffer[..length], checks, events)?;
            }
            self.reply(world);
            if ended || state.peer_has_closed() {
                let how = if state.peer_has_closed() { Ending::InOrder } else { Ending::CutOff };
                return Err(match self.phase {
                    Phase::Open => self.ended(how, None, checks, events),
                    _ => EndReason::Refused("TLS: the server closed during the handshake".into()),
                });
            }
        }
        Ok(())
    }

    fn broke(&self, why: String) -> EndReason {
        if self.phase == Phase::Open { EndReason::Broken(why) } else { EndReason::Refused(why) }
    }

    /// Sends pending HTTP/2 replies before more is read. Otherwise a server that reads them would
    /// look like one that does not.
    fn reply<W: World<Socket = S>>(&mut self, world: &mut W) {
        if matches!(&self.session, Session::Http2(session) if session.has_many_replies()) {
            self.flush(world);
        }
    }

    fn understand(
        &mut self,
        bytes: &[u8],
        checks: &mut impl Checks,
        events: &mut Vec<Event>,
    ) -> Result<(), EndReason> {
        let sent = self.sent_bytes();
        match &mut self.session {
            Session::Http1(session) => {
                session.receive(bytes, sent, checks, events).map_err(|malformed| {
                    // Requests of which nothing was sent may be retried.
                    let _ = session.end(Ending::Broken, sent, checks, events);
                    EndReason::Malformed(malformed.to_string())
                })
            }
            Session::Http2(session) => {
                session.receive(bytes, checks, &mut self.out, events).map_err(|malformed| {
                    session.end(Ending::Broken, sent, events);
                    EndReason::Malformed(malformed)
                })
            }
        }
    }

    /// Ends the connection. Appends an event for each request that may be retried, and returns why
    /// the others have no response.
    fn ended(
        &mut self,
        how: Ending,
        error: Option<io::Error>,
        checks: &mut impl Checks,
        events: &mut Vec<Event>,
    ) -> EndReason {
        // After a write has reported a reset, reads see an orderly end.
        let how = if self.unsendable.is_some_and(|errno| errno != Errno::PIPE) {
            Ending::Broken
        } else {
            how
        };
        let error = error.or_else(|| self.unsendable.map(io::Error::from));
        let sent = self.sent_bytes();
        let (is_sending, why) = match &mut self.session {
            Session::Http1(session) => {
                let is_sending = session.is_sending(sent);
                (
                    is_sending,
                    session
                        .end(how, sent, checks, events)
                        .err()
                        .map(|malformed| malformed.to_string()),
                )
            }
            Session::Http2(session) => (
                self.sent < self.out.len() || self.unsendable.is_some(),
                session.end(how, sent, events),
            ),
        };
        let Some(why) = why else { return EndReason::Closed };
        EndReason::Broken(match error {
            _ if is_sending => {
                let cause = error.map_or(why, |error| error.to_string());
                format!("the server ended the connection while the request was being sent: {cause}")
            }
            Some(error) => format!("receiving failed: {error}"),
            None if how == Ending::CutOff => "TLS: cut off without a close_notify".into(),
            None => why,
        })
    }
}

/// Adapts a socket to the traits that rustls uses.
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

/// Describes why a connection could not be opened.
pub(crate) fn describe_connect(errno: Errno) -> String {
    match errno {
        Errno::ADDRNOTAVAIL => {
            "connecting failed: no ephemeral port is free (net.ipv4.ip_local_port_range is used up)"
                .into()
        }
        Errno::AGAIN => {
            "connecting failed: the server's queue of connections is full (its listen backlog)"
                .into()
        }
        Errno::MFILE | Errno::NFILE => {
            "connecting failed: the generator is out of descriptors".into()
        }
        _ => format!("connecting failed: {errno}"),
    }
}
