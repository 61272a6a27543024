//! One pass over a workload, to see whether the answers are right.

use crate::check::Judgement;
use crate::clock;
use crate::http1::AnswerReader;
use crate::plan::{Protocol, Target, Tls};
use crate::request::Script;
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
    let deadline = clock::now_ns() + timeout.as_nanos() as u64;
    let target = Target { protocol: Protocol::Http1 { keep_alive: true }, ..target.clone() };
    let mut stream = None;
    let mut buffer = [0; 16 << 10];
    let mut script = Script::new(workload, &target, 0, 0, 1);
    let mut vars = script.vars();
    script.begin_round(&mut vars, 0);
    let mut request = Vec::new();
    for step in 0..script.len() {
        let subject = script.name(step).to_owned();
        let no_answer = |cause: io::Error| {
            // A socket's timeout comes as "try again", which says nothing to a reader.
            let is_late = matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            WrongAnswer::NoAnswer(if is_late { format!("{subject}: no answer in time") } else { format!("{subject}: {cause}") })
        };
        let left = || Duration::from_nanos(deadline.saturating_sub(clock::now_ns()).max(1_000_000));
        let mut connection = match stream.take() {
            Some(connection) => connection,
            None => Connection::open(address, target.tls.as_ref(), left()).map_err(|cause| match cause.kind() {
                // A pass that got further has asked something.
                io::ErrorKind::ConnectionRefused if step == 0 => WrongAnswer::NobodyThere(format!("{subject}: {cause}")),
                _ => no_answer(cause),
            })?,
        };
        connection.socket.set_write_timeout(Some(left())).map_err(no_answer)?;
        connection.socket.set_read_timeout(Some(left())).map_err(no_answer)?;
        request.clear();
        script.write_http1(step, &vars, &mut request);
        connection.write_all(&request).map_err(no_answer)?;
        let mut reader = AnswerReader::default();
        let finished = loop {
            if clock::now_ns() >= deadline {
                return Err(WrongAnswer::NoAnswer(format!("{subject}: no answer in time")));
            }
            connection.socket.set_read_timeout(Some(left())).map_err(no_answer)?;
            let length = connection.read(&mut buffer).map_err(no_answer)?;
            let mut asked = script.asked(step, &mut vars);
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
        match finished.judgement {
            Judgement::Right => {}
            Judgement::Declined => return Err(WrongAnswer::Wrong(format!("{subject}: declined with status {}", finished.status))),
            Judgement::Wrong(wrong) => return Err(WrongAnswer::Wrong(format!("{subject}: {wrong}"))),
        }
        if finished.keep_alive {
            stream = Some(connection);
        }
    }
    Ok(clock::now_ns())
}
