//! What reading a connection yields, with either HTTP version: responses, failed requests, and
//! whether a failed request may be retried.

use crate::check::Judgement;

/// A complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The status code.
    pub status: u16,
    /// The result of checking the response.
    pub judgement: Judgement,
    /// Bytes received, including framing.
    pub bytes: u64,
    /// Whether another request may follow on the connection.
    pub keep_alive: bool,
}

/// The outcome of a request. The ticket identifies the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The response is complete.
    Answered {
        /// The request.
        ticket: u32,
        /// The response.
        finished: Finished,
    },
    /// No response will arrive on this connection. Other requests may still use it.
    Failed {
        /// The request.
        ticket: u32,
        /// The reason, for people.
        why: String,
        /// Whether the request may be retried.
        retry: Retry,
    },
}

impl Event {
    /// Returns the ticket of the request.
    pub fn ticket(&self) -> u32 {
        match self {
            Event::Answered { ticket, .. } | Event::Failed { ticket, .. } => *ticket,
        }
    }
}

/// Whether a request without a response may be retried (RFC 9110, 9.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// No: the server may have processed it, or it broke off its response.
    No,
    /// Only if the method is idempotent and the connection had been kept open. The server may have
    /// processed the request before it closed the connection in good order.
    Idempotent,
    /// Yes: the server did not process it.
    Safe,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server closed it in good order.
    InOrder,
    /// The server closed TCP without closing TLS. A response that lasts until the end may be
    /// truncated.
    CutOff,
    /// It was reset, or another error occurred.
    Broken,
}

impl Ending {
    /// Returns whether a request may be retried if no byte of its response arrived. `is_unsent`
    /// says that none of it was sent.
    pub fn retry(self, is_unsent: bool) -> Retry {
        match self {
            _ if is_unsent => Retry::Safe,
            Ending::InOrder | Ending::CutOff => Retry::Idempotent,
            Ending::Broken => Retry::No,
        }
    }
}
