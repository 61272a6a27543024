//! The interface between the event loop and the outside: sockets and time.
//!
//! `kernel` implements it for real runs. `simulation` implements it for tests, with its own clock.

use crate::plan::Address;
use rustix::io::Errno;

/// Something happened on a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// The token under which the socket was opened.
    pub token: u64,
    /// There may be bytes to read, or the peer is gone.
    pub readable: bool,
    /// There may be room to write, or the connection is open.
    pub writable: bool,
    /// The peer sends no more. The end follows the bytes that are still to be read.
    pub ended: bool,
}

/// Sockets and time. Only [`World::wait`] and [`World::rest`] block.
pub(crate) trait World {
    type Socket;

    /// Reads the monotonic clock, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Starts to connect, and watches the socket under a token. Returns true if the connection is
    /// open at once.
    fn connect(&mut self, address: &Address, token: u64) -> Result<(Self::Socket, bool), Errno>;

    /// Returns how connecting ended.
    fn connected(&mut self, socket: &Self::Socket) -> Result<(), Errno>;

    /// Sets whether the socket is watched for room to write, in addition to bytes to read.
    fn watch_write(&mut self, socket: &Self::Socket, token: u64, write: bool);

    /// Reads what has arrived: `None` if nothing has, `Some(0)` at the end.
    fn read(&mut self, socket: &Self::Socket, buffer: &mut [u8]) -> Result<Option<usize>, Errno>;

    /// Writes some bytes. Returns 0 if there is no room.
    fn write(&mut self, socket: &Self::Socket, bytes: &[u8]) -> Result<usize, Errno>;

    /// Sleeps for the given time, whatever happens on sockets.
    fn rest(&mut self, ns: u64);

    /// Waits for events at most this long, and appends them. Zero polls once and returns.
    fn wait(&mut self, at_most_ns: u64, happened: &mut Vec<Ready>);
}
