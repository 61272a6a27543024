//! What a run is asked to do, and why it may not begin.

use crate::tally::Progress;
use model::experiment::Load;
use model::workload::Workload;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// What to do.
pub struct Plan<'a> {
    /// Where requests go, and how they are spoken.
    pub target: &'a Target,
    /// Which requests, and their right answers.
    pub workload: &'a Workload,
    /// How they arrive.
    pub load: &'a Load,
    /// For how long.
    pub duration: Duration,
    /// At most how many requests.
    pub requests: Option<u64>,
    /// When a request is given up, from the instant at which it is taken up.
    pub timeout: Duration,
    /// Fixes everything that is random: Poisson arrivals, pauses, generated data.
    pub seed: u64,
    /// Event loops, each on a thread of its own with its share of the load.
    pub threads: u32,
    /// How an event loop waits.
    pub wait: Wait,
    /// Set from outside to end early.
    pub stop: &'a AtomicBool,
    /// Gets one message a second from each thread; one that finds no room is dropped.
    pub progress: Option<SyncSender<Progress>>,
}

/// How an event loop waits for the next instant or answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wait {
    /// Asleep, but awake shortly before the next scheduled instant and while an answer is about to
    /// come: a sleep ends tens of microseconds late, which a short latency would show.
    #[default]
    Near,
    /// Always asleep: for a generator that shares its CPU with what it measures.
    Asleep,
}

/// Where requests go, and how they are spoken.
#[derive(Clone)]
pub struct Target {
    /// Taken in turn, one after the other, by new connections. At least one.
    pub addresses: Vec<Address>,
    /// The `Host` header, or `:authority`.
    pub host: String,
    /// How requests are framed.
    pub protocol: Protocol,
    /// `None`: in the clear.
    pub tls: Option<Tls>,
}

/// Where a connection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port of an IPv4 or IPv6 address.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How requests are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1 {
        /// False: each request gets a connection of its own.
        keep_alive: bool,
    },
    /// HTTP/2, by ALPN over TLS, by prior knowledge in the clear.
    Http2,
}

/// TLS as a client sees it.
#[derive(Clone)]
pub struct Tls {
    /// Trust, client certificate, versions and ALPN.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that is asked for (SNI) and that the certificate must bear.
    pub server_name: rustls::pki_types::ServerName<'static>,
}

impl Target {
    /// HTTP/1.1 with keep-alive, in the clear, with the address as its host.
    pub fn plain(address: SocketAddr) -> Target {
        Target {
            addresses: vec![Address::Tcp(address)],
            host: address.to_string(),
            protocol: Protocol::Http1 { keep_alive: true },
            tls: None,
        }
    }
}

/// Why a run could not be made.
#[derive(Debug)]
pub enum LoadError {
    /// Too few descriptors for the connections.
    Descriptors {
        /// The connections of the load.
        needed: u64,
        /// What the system lets this process have.
        allowed: u64,
    },
    /// A load that this protocol cannot carry, or that contradicts itself.
    Impossible(String),
    /// The kernel refused something that nothing works without.
    System(&'static str, Errno),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Descriptors { needed, allowed } => {
                write!(
                    f,
                    "the load needs {needed} descriptors, and this process may have {allowed}\nhint: raise the limit with `ulimit -n {needed}` (hard limit included), or ask for fewer connections"
                )
            }
            LoadError::Impossible(why) => f.write_str(why),
            LoadError::System(what, errno) => write!(f, "{what}: {errno}"),
        }
    }
}

impl std::error::Error for LoadError {}
