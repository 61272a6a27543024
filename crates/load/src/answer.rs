//! What reading a connection's bytes gives, whatever the protocol.

use crate::check::Judgement;

/// An answer that was read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its status.
    pub status: u16,
    /// What it turned out to be.
    pub judgement: Judgement,
    /// Bytes as they were received, framing included.
    pub bytes: u64,
    /// Whether another request may follow on the connection.
    pub keep_alive: bool,
}

/// What became of a request, which is named by its ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was answered.
    Answered {
        /// The request.
        ticket: u32,
        /// The answer.
        finished: Finished,
    },
    /// It will not be answered on this connection, which may be of use for others.
    Failed {
        /// The request.
        ticket: u32,
        /// In words.
        why: String,
        /// The server says that it has not looked at it.
        sent_again_is_safe: bool,
    },
}
