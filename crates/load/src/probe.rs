//! Sends each request of a workload once and checks the responses, outside any measurement.
//!
//! [`ask`] tells when a server is ready and whether it is correct. [`hear`] also returns the last
//! response.

use crate::answer::{Event, Retry};
use crate::check::{Checks, Judgement, ResponseCheck, harmless};
use crate::clock;
use crate::connection::{Connection, EndReason, Phase, Session};
use crate::http1::Kept;
use crate::kernel::Kernel;
use crate::plan::{Address, Protocol, Target, Tls};
use crate::request::Script;
use crate::values::Vars;
use crate::world::World;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustls::ClientConfig;
use spec::workload::Workload;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The largest number of bytes read at once.
const BUFFER: usize = 64 << 10;

/// Why a pass failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongAnswer {
    /// Nothing listens at the address, so no request was sent. This may change.
    NotListening(String),
    /// No response arrived, or the connection broke. This may change.
    NoAnswer(String),
    /// The response is not correct.
    Wrong(String),
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongAnswer::NotListening(cause)
            | WrongAnswer::NoAnswer(cause)
            | WrongAnswer::Wrong(cause) => f.write_str(cause),
        }
    }
}

/// Sends every request of a workload once, in order, on one connection. Returns the instant of the
/// last correct response (CLOCK_MONOTONIC, ns).
///
/// The target decides whether TLS is used. The version is always HTTP/1.1, because a server of
/// HTTP/2 offers both.
///
/// # Errors
/// The first request without a correct response within the timeout.
pub fn ask(
    address: SocketAddr,
    target: &Target,
    workload: &Workload,
    timeout: Duration,
) -> Result<u64, WrongAnswer> {
    let mut pass = Pass::new(address, target, workload, timeout);
    for step in 0..pass.script.len() {
        pass.step(step, false)?;
    }
    Ok(clock::now_ns())
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The status code.
    pub status: u16,
    /// Headers and body.
    pub kept: Kept,
}

/// As [`ask`], but returns the response to the last request.
///
/// # Errors
/// As [`ask`].
pub fn hear(
    address: SocketAddr,
    target: &Target,
    workload: &Workload,
    timeout: Duration,
) -> Result<Heard, WrongAnswer> {
    let mut pass = Pass::new(address, target, workload, timeout);
    let mut heard = Err(WrongAnswer::Wrong("the workload has no requests".into()));
    for step in 0..pass.script.len() {
        heard = Ok(pass.step(step, true)?);
    }
    heard
}

/// A pass in progress.
struct Pass {
    address: Address,
    target: Target,
    timeout: Duration,
    script: Script,
    vars: Vars,
    /// The connection of the last request, if the server keeps it open.
    kept: Option<(Kernel, Connection<OwnedFd>)>,
    deadline_ns: u64,
}

/// The one request in flight.
struct StepCheck<'a> {
    script: &'a mut Script,
    vars: &'a mut Vars,
    step: usize,
}

impl Checks for StepCheck<'_> {
    fn check(&mut self, _ticket: u32) -> ResponseCheck<'_> {
        self.script.check(self.step, self.vars)
    }
}

impl Pass {
    fn new(address: SocketAddr, target: &Target, workload: &Workload, timeout: Duration) -> Pass {
        let deadline_ns = clock::now_ns() + timeout.as_nanos() as u64;
        let tls = target.tls.as_ref().map(|tls| {
            let mut config = ClientConfig::clone(&tls.config);
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Tls { config: Arc::new(config), server_name: tls.server_name.clone() }
        });
        let target =
            Target { protocol: Protocol::Http1 { keep_alive: true }, tls, ..target.clone() };
        let mut script = Script::new(workload, &target, 0, 0, 1);
        let mut vars = script.vars();
        script.begin_round(&mut vars, 0);
        Pass {
            address: Address::Tcp(address),
            target,
            timeout,
            script,
            vars,
            kept: None,
            deadline_ns,
        }
    }

    /// Sends one request and waits for its correct response.
    fn step(&mut self, step: usize, keeps: bool) -> Result<Heard, WrongAnswer> {
        let subject = self.script.name(step).to_owned();
        let heard = match self.kept.take() {
            None => self.ask_on_new_connection(step, keeps),
            // A server may close a kept connection at any time. Then the request is sent on a new
            // one.
            Some(kept) => match self.ask_on(kept, step, keeps) {
                Err(Failure::MayBeRetried(_)) => self.ask_on_new_connection(step, keeps),
                heard => heard,
            },
        };
        heard.map_err(|failure| {
            let said = |cause: String| format!("{subject}: {}", harmless(&cause));
            match failure {
                // In a later step, a request was already sent.
                Failure::Refused(errno) if errno == Errno::CONNREFUSED && step == 0 => {
                    WrongAnswer::NotListening(said(errno.to_string()))
                }
                Failure::Refused(errno) => WrongAnswer::NoAnswer(said(errno.to_string())),
                Failure::NoAnswer(cause) | Failure::MayBeRetried(cause) => {
                    WrongAnswer::NoAnswer(said(cause))
                }
                Failure::Wrong(cause) => WrongAnswer::Wrong(said(cause)),
            }
        })
    }

    fn ask_on_new_connection(&mut self, step: usize, keeps: bool) -> Result<Heard, Failure> {
        let mut kernel = Kernel::untimed().map_err(Failure::Refused)?;
        let connection = Connection::open(&mut kernel, &self.target, &self.address, 0, 1)
            .map_err(Failure::Refused)?;
        self.ask_on((kernel, connection), step, keeps)
    }

    /// Sends a request on a connection once it is open. Bytes that arrive meanwhile are read too.
    fn ask_on(
        &mut self,
        (mut kernel, mut connection): (Kernel, Connection<OwnedFd>),
        step: usize,
        keeps: bool,
    ) -> Result<Heard, Failure> {
        let (mut buffer, mut events, mut ready, mut is_begun) =
            (vec![0; BUFFER], Vec::new(), Vec::new(), false);
        loop {
            if connection.phase == Phase::Open && !is_begun {
                is_begun = true;
                self.script.write_http1(step, &self.vars, &mut connection.out);
                let ends_at = connection.sent_before + connection.out.len() as u64;
                if let Session::Http1(session) = &mut connection.session {
                    if keeps {
                        session.keep();
                    }
                    session.begin(0, ends_at);
                }
            }
            if connection.phase != Phase::Connecting {
                connection.flush(&mut kernel);
            }
            let now = clock::now_ns();
            if now >= self.deadline_ns {
                return Err(Failure::NoAnswer(connection.late(0, self.timeout)));
            }
            ready.clear();
            kernel.wait(self.deadline_ns - now, &mut ready);
            if !ready.is_empty() && connection.phase == Phase::Connecting {
                kernel.connected(&connection.socket).map_err(Failure::Refused)?;
                connection.set_connected(clock::now_ns());
                continue;
            }
            if !ready.iter().any(|ready| ready.readable) {
                continue;
            }
            let mut checks = StepCheck { script: &mut self.script, vars: &mut self.vars, step };
            let over = connection.receive(&mut kernel, &mut buffer, &mut checks, &mut events).err();
            if let Some(event) = events.pop() {
                return self.heard(event, step, (kernel, connection), keeps);
            }
            match over {
                None => {}
                Some(EndReason::Closed) => {
                    return Err(Failure::MayBeRetried("closed without an answer".into()));
                }
                Some(EndReason::Refused(cause) | EndReason::Broken(cause)) => {
                    return Err(Failure::NoAnswer(cause));
                }
                Some(EndReason::Malformed(cause)) => return Err(Failure::Wrong(cause)),
            }
        }
    }

    /// Turns an event into the result of a step. Keeps the connection if the server does.
    fn heard(
        &mut self,
        event: Event,
        step: usize,
        (kernel, mut connection): (Kernel, Connection<OwnedFd>),
        keeps: bool,
    ) -> Result<Heard, Failure> {
        let finished = match event {
            Event::Answered { finished, .. } => finished,
            Event::Failed { why, retry: Retry::No, .. } => return Err(Failure::Wrong(why)),
            Event::Failed { why, retry: Retry::Idempotent, .. }
                if !self.script.is_idempotent(step) =>
            {
                return Err(Failure::NoAnswer(why));
            }
            Event::Failed { why, .. } => return Err(Failure::MayBeRetried(why)),
        };
        let kept = match &mut connection.session {
            Session::Http1(session) if keeps => session.take_kept(),
            _ => Kept::default(),
        };
        if finished.keep_alive && !connection.is_closing() {
            self.kept = Some((kernel, connection));
        }
        match finished.judgement {
            Judgement::Correct => Ok(Heard { status: finished.status, kept }),
            Judgement::Declined => {
                Err(Failure::Wrong(format!("declined with status {}", finished.status)))
            }
            Judgement::Wrong(wrong) => Err(Failure::Wrong(wrong.to_string())),
        }
    }
}

/// Why a request has no correct response.
enum Failure {
    /// No connection could be opened.
    Refused(Errno),
    /// The connection broke, or nothing arrived in time.
    NoAnswer(String),
    /// As [`Failure::NoAnswer`], but if the connection had been kept, the request may be retried on
    /// a new one.
    MayBeRetried(String),
    /// The response is wrong.
    Wrong(String),
}
