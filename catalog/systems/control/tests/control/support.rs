//! A running `control` and a plain client, both over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longer than any step on the slowest machine; a step that takes longer has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server that is killed at the end of the test, also after a failure.
pub struct Control {
    child: Child,
    pub port: u16,
}

impl Control {
    /// Starts it with these flags, separated by spaces, and waits for its port.
    pub fn start(flags: &str) -> Control {
        Control::with(&flags.split_whitespace().collect::<Vec<_>>())
    }

    pub fn with(flags: &[&str]) -> Control {
        let mut child = command(flags).stdout(Stdio::piped()).spawn().expect("start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout"))
            .read_line(&mut line)
            .expect("read the port");
        let port = line.trim_end().parse().unwrap_or_else(|_| panic!("a port, not {line:?}"));
        Control { child, port }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id() as i32).expect("an id");
        kill_process(id, signal).expect("send a signal");
    }

    /// Waits until it has exited by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it goes on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_none()
    }

    pub fn connect(&self) -> Client {
        self.try_connect().expect("connect")
    }

    pub fn try_connect(&self) -> std::io::Result<Client> {
        let stream =
            TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], self.port)), PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Client { reader: BufReader::new(stream) })
    }

    /// Sends one GET on a new connection.
    pub fn get(&self, path: &str) -> Answer {
        self.connect().get(path)
    }

    /// Returns one of the counters.
    pub fn stat(&self, name: &str) -> u64 {
        let json = self.get("/__control/stats").text();
        let (_, rest) = json
            .split_once(&format!("\"{name}\":"))
            .unwrap_or_else(|| panic!("no {name} in {json}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    }

    /// Waits until a counter is `value`: the client may see an event before it is counted.
    pub fn until(&self, name: &str, value: u64) {
        let start = Instant::now();
        while self.stat(name) != value {
            assert!(start.elapsed() < PATIENCE, "{name} is {}, not {value}", self.stat(name));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn command(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_control"));
    command.args(flags).stdin(Stdio::null());
    command
}

/// A connection.
pub struct Client {
    reader: BufReader<TcpStream>,
}

/// A response, with the body without its chunks.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    pub chunks: Vec<usize>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }
}

impl Client {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.reader.get_mut().write_all(bytes.as_ref()).expect("send");
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.send(get(path));
        self.answer()
    }

    pub fn head(&mut self, path: &str) -> Answer {
        self.send(format!("HEAD {path} HTTP/1.1\r\nHost: test\r\n\r\n"));
        self.read(false).expect("an answer")
    }

    pub fn answer(&mut self) -> Answer {
        self.try_answer().expect("an answer")
    }

    /// Reads the next response. The error is `UnexpectedEof` if the connection closed before its
    /// end, and `InvalidData` if it is not HTTP.
    pub fn try_answer(&mut self) -> std::io::Result<Answer> {
        self.read(true)
    }

    fn read(&mut self, with_body: bool) -> std::io::Result<Answer> {
        let mut answer =
            Answer { status: 0, head: String::new(), body: Vec::new(), chunks: Vec::new() };
        while !answer.head.ends_with("\r\n\r\n") {
            if self.reader.read_line(&mut answer.head)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = answer.head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.split(' ').next());
        answer.status =
            status.and_then(|status| status.parse().ok()).ok_or(std::io::ErrorKind::InvalidData)?;
        if !with_body || matches!(answer.status, 100 | 204 | 304) {
            return Ok(answer);
        }
        if let Some(length) = answer.header("content-length") {
            answer.body = vec![0; length.parse().expect("a length")];
            self.reader.read_exact(&mut answer.body)?;
        } else if answer.header("transfer-encoding") == Some("chunked") {
            while self.chunk(&mut answer)? > 0 {}
        } else {
            self.reader.read_to_end(&mut answer.body)?;
        }
        Ok(answer)
    }

    fn chunk(&mut self, answer: &mut Answer) -> std::io::Result<usize> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim_end(), 16)
            .map_err(|_| std::io::ErrorKind::UnexpectedEof)?;
        let mut piece = vec![0; size + 2];
        self.reader.read_exact(&mut piece)?;
        assert!(piece.ends_with(b"\r\n"), "a chunk ends with its line");
        answer.body.extend_from_slice(&piece[..size]);
        answer.chunks.push(size);
        Ok(size)
    }

    /// Reads everything up to the end of the connection, and returns whether that was a reset.
    pub fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => (bytes, false),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => (bytes, true),
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns whether nothing arrives for a while.
    pub fn is_silent(&mut self) -> bool {
        self.reader.get_ref().set_read_timeout(Some(Duration::from_millis(200))).expect("set");
        let outcome = self.reader.fill_buf().map(<[u8]>::len);
        self.reader.get_ref().set_read_timeout(Some(PATIENCE)).expect("set");
        matches!(outcome, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    }

    pub fn socket(&self) -> &TcpStream {
        self.reader.get_ref()
    }
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// Returns the body of `--body-size`.
pub fn filler(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}
