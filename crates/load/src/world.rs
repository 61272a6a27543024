//! What the event loop asks of the world: sockets and time. The kernel answers in a run, a
//! simulation in tests.

use crate::plan::Address;
use rustix::io::Errno;

/// Something happened on a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// The number with which the socket was connected.
    pub token: u64,
    /// There may be something to read, or the other end is gone.
    pub readable: bool,
    /// There may be room to write, or the connection stands.
    pub writable: bool,
}

/// Sockets and time. No call waits but [`World::wait`].
pub(crate) trait World {
    type Socket;

    /// The monotonic clock, in nanoseconds.
    fn now_ns(&self) -> u64;

    /// Begins to connect, and watches the socket under a token; true when the connection stands at once.
    fn connect(&mut self, address: &Address, token: u64) -> Result<(Self::Socket, bool), Errno>;

    /// How connecting ended.
    fn connected(&mut self, socket: &Self::Socket) -> Result<(), Errno>;

    /// Whether room to write is watched for, besides bytes to read.
    fn watch_write(&mut self, socket: &Self::Socket, token: u64, write: bool);

    /// Reads what is there: `None` when nothing is, `Some(0)` at the end.
    fn read(&mut self, socket: &Self::Socket, buffer: &mut [u8]) -> Result<Option<usize>, Errno>;

    /// Writes some bytes; `Ok(0)` when there is no room.
    fn write(&mut self, socket: &Self::Socket, bytes: &[u8]) -> Result<usize, Errno>;

    /// Sleeps, whatever happens.
    fn rest(&mut self, ns: u64);

    /// Waits until something happens, at most so long, and adds what did. No time means: look,
    /// and come back.
    fn wait(&mut self, at_most_ns: u64, happened: &mut Vec<Ready>);
}
