//! One non-blocking connection with at most one request under way.

use crate::http1::AnswerReader;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with, sockopt};
use std::net::SocketAddr;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The handshake is under way, with or without a request that waits for it.
    Connecting,
    /// Ready for a request.
    Idle,
    /// A request is being sent or answered.
    Busy,
}

/// The request under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub step: usize,
    pub scheduled_ns: u64,
    /// When its first byte went out; 0 before.
    pub sent_ns: u64,
    /// When it is given up.
    pub deadline_ns: u64,
    /// How many of its bytes went out.
    pub written: usize,
}

pub(crate) struct Connection {
    socket: OwnedFd,
    pub state: State,
    pub request: Option<Request>,
    pub reader: AnswerReader,
    /// Whether epoll watches for room to write as well.
    pub watches_write: bool,
}

impl Connection {
    /// Begins to connect.
    pub fn open(address: SocketAddr) -> Result<Connection, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        let state = match connect(&socket, &address) {
            Ok(()) => State::Idle,
            Err(Errno::INPROGRESS) => State::Connecting,
            Err(error) => return Err(error),
        };
        Ok(Connection { socket, state, request: None, reader: AnswerReader::default(), watches_write: false })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// How the handshake ended.
    pub fn connect_result(&self) -> Result<(), Errno> {
        sockopt::socket_error(&self.socket).unwrap_or_else(Err)
    }

    /// Writes some bytes; `Ok(0)` when there is no room.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            other => other,
        }
    }

    /// Reads what is there: `None` when nothing is, `Some(0)` at the end.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        match recv(&self.socket, buffer, RecvFlags::empty()) {
            Ok((length, _)) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
