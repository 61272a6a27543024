//! The input of a run, and the errors that keep it from starting.
//!
//! Start with [`Plan`].

use crate::measured::Progress;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use spec::experiment::Load;
use spec::workload::Workload;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// The input of a run.
pub struct Plan<'a> {
    /// Where requests go, and with which protocol.
    pub target: &'a Target,
    /// The requests and their correct responses.
    pub workload: &'a Workload,
    /// How requests arrive.
    pub load: &'a Load,
    /// How long requests are sent.
    pub duration: Duration,
    /// The largest number of requests.
    pub requests: Option<u64>,
    /// How long a request may take, counted from the instant at which it is first sent.
    pub timeout: Duration,
    /// Seeds everything that is random: Poisson arrivals, pauses, generated data.
    pub seed: u64,
    /// The number of event loops. Each has its own thread and its share of the load.
    pub threads: u32,
    /// How an event loop waits.
    pub wait: Wait,
    /// Set by the caller to stop early.
    pub stop: &'a AtomicBool,
    /// Receives one message a second from each thread. A message is dropped if the channel is full.
    pub progress: Option<SyncSender<Progress>>,
}

/// How an event loop waits for the next instant or response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wait {
    /// Sleeps, but stays awake shortly before the next scheduled instant and while a response is
    /// expected soon. Sleeps end tens of microseconds late, which would show in short latencies.
    #[default]
    Near,
    /// Always sleeps. For a generator that shares its CPU with the system under test.
    Asleep,
}

/// Where requests go, and with which protocol.
#[derive(Clone)]
pub struct Target {
    /// The addresses. New connections use them in rotation. At least one.
    pub addresses: Vec<Address>,
    /// The `Host` header, or `:authority`.
    pub host: String,
    /// The HTTP version.
    pub protocol: Protocol,
    /// TLS, or `None` for plain text.
    pub tls: Option<Tls>,
    /// Replaces the path and query of every request. For services that differ in their path.
    pub path: Option<String>,
}

/// The address that a connection is opened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IPv4 or IPv6 address and port.
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

/// The HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1 {
        /// If false, each request uses a new connection.
        keep_alive: bool,
    },
    /// HTTP/2: negotiated by ALPN over TLS, by prior knowledge without.
    Http2,
}

/// The TLS settings of a client.
#[derive(Clone)]
pub struct Tls {
    /// Trusted certificates, client certificate, versions and ALPN.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that is sent (SNI) and that the certificate must contain.
    pub server_name: rustls::pki_types::ServerName<'static>,
}

impl Target {
    /// Returns a target with HTTP/1.1, keep-alive and no TLS. Its host is the address.
    pub fn plain(address: SocketAddr) -> Target {
        Target {
            addresses: vec![Address::Tcp(address)],
            host: address.to_string(),
            protocol: Protocol::Http1 { keep_alive: true },
            tls: None,
            path: None,
        }
    }
}

/// Why a run cannot start.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// The limit of file descriptors is too low for the connections.
    Descriptors {
        /// The descriptors that the load needs.
        needed: u64,
        /// The descriptors that the system permits.
        allowed: u64,
    },
    /// The protocol cannot carry the load, or the load contradicts itself.
    Impossible(String),
    /// The kernel refused a system call that is essential.
    System(&'static str, Errno),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Descriptors { needed, allowed } => {
                write!(
                    f,
                    "the load needs {needed} descriptors, and this process may have {allowed}\nhint: raise the limit with `ulimit -n {needed}` (hard limit included), or use fewer connections"
                )
            }
            LoadError::Impossible(why) => f.write_str(why),
            LoadError::System(what, errno) => write!(f, "{what}: {errno}"),
        }
    }
}

impl std::error::Error for LoadError {}
