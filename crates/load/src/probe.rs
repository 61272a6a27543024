//! One pass over a workload, to see whether the answers are right.

use crate::answer::Finished;
use crate::check::Judgement;
use crate::clock;
use crate::http1::{AnswerReader, Kept};
use crate::plan::{Protocol, Target, Tls};
use crate::request::{Script, Vars};
use model::workload::Workload;
use rustls::{ClientConfig, ClientConnection};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Why a pass was not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongAnswer {
    /// Nobody listens there, so nothing was asked: perhaps later.
    NobodyThere(String),
    /// No answer came, or the connection broke: perhaps later.
    NoAnswer(String),
    /// An answer came, and it is not the right one.
    Wrong(String),
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrongAnswer::NobodyThere(cause) | WrongAnswer::NoAnswer(cause) | WrongAnswer::Wrong(cause) => f.write_str(cause),
        }
    }
}

/// A connection, in the clear or not.
struct Connection {
    socket: TcpStream,
    tls: Option<ClientConnection>,
}

impl Connection {
    fn open(address: SocketAddr, tls: Option<&Tls>, timeout: Duration) -> io::Result<Connection> {
        let socket = TcpStream::connect_timeout(&address, timeout)?;
        socket.set_nodelay(true)?;
        let tls = tls.map(|tls| {
            let mut config = ClientConfig::clone(&tls.config);
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            ClientConnection::new(Arc::new(config), tls.server_name.clone()).map_err(io::Error::other)
        });
        Ok(Connection { socket, tls: tls.transpose()? })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => self.socket.write_all(bytes),
            Some(tls) => rustls::Stream::new(tls, &mut self.socket).write_all(bytes),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(buffer),
            Some(tls) => rustls::Stream::new(tls, &mut self.socket).read(buffer),
        }
    }
}

/// Makes every request of a workload once, in order, on one connection; returns
/// the instant of the last right answer (CLOCK_MONOTONIC, ns). Over TLS as the
/// target says, but always HTTP/1.1: who offers HTTP/2 there offers both.
///
/// # Errors
/// The first request that is not answered rightly within the timeout.
pub fn ask(address: SocketAddr, target: &Target, workload: &Workload, timeout: Duration) -> Result<u64, WrongAnswer> {
    let mut pass = Pass::new(address, target, workload, timeout);
    for step in 0..pass.script.len() {
        pass.step(step, &mut AnswerReader::default())?;
    }
    Ok(clock::now_ns())
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Its status.
    pub status: u16,
    /// The rest of it.
    pub kept: Kept,
}

/// As [`ask`], and gives the answer to the last request as it came.
///
/// # Errors
/// As [`ask`].
pub fn hear(address: SocketAddr, target: &Target, workload: &Workload, timeout: Duration) -> Result<Heard, WrongAnswer> {
    let mut pass = Pass::new(address, target, workload, timeout);
    let mut heard = Err(WrongAnswer::Wrong("the workload makes no request".into()));
    for step in 0..pass.script.len() {
        let mut reader = AnswerReader::keeping();
        let status = pass.step(step, &mut reader)?.status;
        heard = Ok(Heard { status, kept: reader.into_kept() });
    }
    heard
}

/// A pass under way.
struct Pass<'t> {
    address: SocketAddr,
    target: &'t Target,
    script: Script,
    vars: Vars,
    connection: Option<Connection>,
    deadline_ns: u64,
}

impl<'t> Pass<'t> {
    fn new(address: SocketAddr, target: &'t Target, workload: &Workload, timeout: Duration) -> Pass<'t> {
        let deadline_ns = clock::now_ns() + timeout.as_nanos() as u64;
        let mut script = Script::new(workload, &Target { protocol: Protocol::Http1 { keep_alive: true }, ..target.clone() }, 0, 0, 1);
        let mut vars = script.vars();
        script.begin_round(&mut vars, 0);
        Pass { address, target, script, vars, connection: None, deadline_ns }
    }

    fn left(&self) -> Duration {
        Duration::from_nanos(self.deadline_ns.saturating_sub(clock::now_ns()).max(1_000_000))
    }

    /// Makes one request and awaits its right answer.
    fn step(&mut self, step: usize, reader: &mut AnswerReader) -> Result<Finished, WrongAnswer> {
        let subject = self.script.name(step).to_owned();
        let no_answer = |cause: io::Error| {
            // A socket's timeout comes as "try again", which says nothing to a reader.
            let is_late = matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            WrongAnswer::NoAnswer(if is_late { format!("{subject}: no answer in time") } else { format!("{subject}: {cause}") })
        };
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.address, self.target.tls.as_ref(), self.left()).map_err(|cause| match cause.kind() {
                // A pass that got further has asked something.
                io::ErrorKind::ConnectionRefused if step == 0 => WrongAnswer::NobodyThere(format!("{subject}: {cause}")),
                _ => no_answer(cause),
            })?,
        };
        connection.socket.set_write_timeout(Some(self.left())).map_err(no_answer)?;
        connection.socket.set_read_timeout(Some(self.left())).map_err(no_answer)?;
        let mut request = Vec::new();
        self.script.write_http1(step, &self.vars, &mut request);
        connection.write_all(&request).map_err(no_answer)?;
        let mut buffer = [0; 16 << 10];
        let finished = loop {
            if clock::now_ns() >= self.deadline_ns {
                return Err(WrongAnswer::NoAnswer(format!("{subject}: no answer in time")));
            }
            connection.socket.set_read_timeout(Some(self.left())).map_err(no_answer)?;
            let length = connection.read(&mut buffer).map_err(no_answer)?;
            let mut asked = self.script.asked(step, &mut self.vars);
            let read = match length {
                0 => reader.end(&mut asked).map(|finished| (0, Some(finished))),
                _ => reader.read(&buffer[..length], &mut asked),
            };
            match read {
                Ok((_, Some(finished))) => break finished,
                Ok((_, None)) => {}
                Err(malformed) if length == 0 => return Err(WrongAnswer::NoAnswer(format!("{subject}: {malformed}"))),
                Err(malformed) => return Err(WrongAnswer::Wrong(format!("{subject}: {malformed}"))),
            }
        };
        match &finished.judgement {
            Judgement::Right => {}
            Judgement::Declined => return Err(WrongAnswer::Wrong(format!("{subject}: declined with status {}", finished.status))),
            Judgement::Wrong(wrong) => return Err(WrongAnswer::Wrong(format!("{subject}: {wrong}"))),
        }
        if finished.keep_alive {
            self.connection = Some(connection);
        }
        Ok(finished)
    }
}
