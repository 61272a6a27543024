//! Speaks to an engine over its socket, a Docker engine or a cluster behind `kubectl proxy`: one request a connection, as HTTP/1.0 has
//! it, so that an answer ends where the connection does.

use serde_json::Value;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The longest head of an answer.
const HEAD_MAX: usize = 64 << 10;
/// The longest answer that is read whole.
const BODY_MAX: u64 = 64 << 20;
/// Where an engine listens where nobody says otherwise.
const USUAL: &str = "/var/run/docker.sock";

/// An engine, or what speaks for one, of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    socket: PathBuf,
    /// Shared by all that speak to it.
    seen: Rc<RefCell<Seen>>,
}

/// What was seen of an engine that no system in it has a part in.
#[derive(Debug, Default)]
struct Seen {
    /// How it failed first.
    failed: Option<String>,
    /// Which socket it was.
    socket: Option<(u64, i64, i64)>,
}

/// What tells a socket from another of the same name: whoever listens anew makes it anew.
fn identity(socket: &Path) -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata(socket).ok()?;
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

/// What is sent with a request.
pub(crate) enum Body<'b> {
    Nothing,
    Json(&'b Value),
    /// An archive of so many bytes.
    Archive(&'b mut dyn Read, u64),
}

/// Why an engine did not do as it was asked.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It does not answer.
    Silent(String),
    /// It refuses, and says this.
    Refused(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Silent(cause) => write!(f, "the engine does not answer: {cause}"),
            Trouble::Refused(said) => write!(f, "the engine says: {said}"),
        }
    }
}

impl Engine {
    /// The engine that DOCKER_HOST names, or the one at the usual socket.
    pub fn named() -> Result<Engine, String> {
        let named = std::env::var("DOCKER_HOST").ok().filter(|named| !named.is_empty());
        let socket = match &named {
            None => USUAL,
            Some(named) => named.strip_prefix("unix://").ok_or_else(|| {
                format!("DOCKER_HOST is {named}, and only an engine of this machine is measured: its containers' processes are read here")
            })?,
        };
        Ok(Engine::at(socket.into()))
    }

    /// What listens at a socket.
    pub fn at(socket: PathBuf) -> Engine {
        let seen = Seen { failed: None, socket: identity(&socket) };
        Engine { socket, seen: Rc::new(RefCell::new(seen)) }
    }

    /// Why what failed since this was last asked may have failed by the engine's doing: it did not answer, or is another than before.
    pub fn lost(&self) -> Option<String> {
        let mut seen = self.seen.borrow_mut();
        let now = identity(&self.socket);
        let is_another = std::mem::replace(&mut seen.socket, now) != now;
        seen.failed.take().or_else(|| is_another.then(|| "it was started anew".to_owned()))
    }

    /// Notes that it failed.
    pub fn note(&self, how: &str) {
        self.seen.borrow_mut().failed.get_or_insert_with(|| how.to_owned());
    }

    fn silent(&self, error: &io::Error) -> Trouble {
        let cause = error.to_string();
        self.note(&format!("it does not answer: {cause}"));
        Trouble::Silent(cause)
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Asks something, and reads the answer whole; no answer of JSON is `Null`.
    pub fn ask(&self, method: &str, path: &str, body: Body<'_>, within: Duration) -> Result<Value, Trouble> {
        let mut text = Vec::new();
        let read = self.open(method, path, body, within)?.take(BODY_MAX).read_to_end(&mut text);
        read.map_err(|error| self.silent(&error))?;
        Ok(serde_json::from_slice(&text).unwrap_or(Value::Null))
    }

    /// Asks something; the answer is yet to be read.
    pub fn open(&self, method: &str, path: &str, body: Body<'_>, within: Duration) -> Result<impl Read + use<>, Trouble> {
        let (status, mut answer) = self.send(method, path, body, within).map_err(|error| self.silent(&error))?;
        if (200..300).contains(&status) || status == 304 {
            return Ok(answer);
        }
        let mut said = Vec::new();
        (&mut answer).take(1 << 16).read_to_end(&mut said).map_err(|error| self.silent(&error))?;
        let told: Value = serde_json::from_slice(&said).unwrap_or(Value::Null);
        let said = told["message"].as_str().map_or_else(|| String::from_utf8_lossy(&said).trim().to_owned(), str::to_owned);
        if is_of_engine(status, &told) {
            self.note(&said);
        }
        Err(Trouble::Refused(said))
    }

    /// Asks something: the status, and the rest of the answer, yet to be read.
    fn send(&self, method: &str, path: &str, body: Body<'_>, within: Duration) -> io::Result<(u16, impl Read + use<>)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(within))?;
        stream.set_write_timeout(Some(within))?;
        let text = if let Body::Json(value) = &body { value.to_string() } else { String::new() };
        let (kind, length) = match &body {
            Body::Nothing => ("", 0),
            Body::Json(_) => ("Content-Type: application/json\r\n", text.len() as u64),
            Body::Archive(_, length) => ("Content-Type: application/x-tar\r\n", *length),
        };
        // `kubectl proxy` answers nobody who calls it otherwise.
        let head = format!("{method} {path} HTTP/1.0\r\nHost: localhost\r\n{kind}Content-Length: {length}\r\n\r\n");
        let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
        let sent = sent.and_then(|()| match body {
            Body::Archive(archive, _) => io::copy(archive, &mut stream).map(drop),
            _ => Ok(()),
        });
        // Who refuses may close before all is sent: what it says is the better reason.
        let answer = read_head(&mut stream);
        let (status, rest) = answer.map_err(|error| sent.err().unwrap_or(error))?;
        Ok((status, io::Cursor::new(rest).chain(stream)))
    }
}

/// Whether a refusal says that the engine is out of order, and nothing of what was asked: what stands before it does not reach it (502 to
/// 504, or an error of `kubectl proxy`, which alone has no JSON).
fn is_of_engine(status: u16, told: &Value) -> bool {
    (502..=504).contains(&status) || (status >= 500 && told.is_null())
}

/// Reads the head of an answer: its status, and what was read beyond.
fn read_head(stream: &mut impl Read) -> io::Result<(u16, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]);
            let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
            let status = status.ok_or_else(|| io::Error::other("it does not speak HTTP"))?;
            return Ok((status, bytes.split_off(end + 4)));
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Err(io::Error::other("it closed the connection")),
            Ok(_) if bytes.len() > HEAD_MAX => return Err(io::Error::other("its answer has no end")),
            Ok(length) => bytes.extend(&buffer[..length]),
            // Whoever is held still and let go finds its wait broken off.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A text as part of a path or a query.
pub(crate) fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_and_nothing_beyond_is_lost() {
        let read = |bytes: &'static [u8]| read_head(&mut io::Cursor::new(bytes)).map_err(|e| e.to_string());
        assert_eq!(read(b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n{}"), Ok((200, b"{}".to_vec())));
        assert_eq!(read(b"HTTP/1.1 404 Not Found\r\n\r\n"), Ok((404, vec![])));
        for garbage in [&b""[..], b"HTTP/1.0 200 OK\r\n", b"HTTP/1.0 \r\n\r\n", b"\xff\r\n\r\n", b"SSH-2.0\r\n\r\n"] {
            assert!(read(garbage).is_err(), "{garbage:?}");
        }
    }

    #[test]
    fn what_an_engine_fails_in_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine");
        let engine = Engine::at(socket.clone());
        assert_eq!(engine.lost(), None);
        let asked = engine.clone().ask("GET", "/version", Body::Nothing, Duration::from_secs(1));
        assert!(matches!(asked, Err(Trouble::Silent(_))));
        engine.note("something later");
        assert!(engine.lost().is_some_and(|why| why.starts_with("it does not answer: ")));
        assert_eq!(engine.lost(), None);
        std::fs::write(&socket, "").unwrap();
        assert_eq!(engine.lost().as_deref(), Some("it was started anew"));
        assert_eq!(engine.lost(), None);
    }

    #[test]
    fn a_refusal_of_the_engine_is_none_of_what_was_asked() {
        let told = serde_json::json!({"message": "no such image"});
        assert_eq!([404, 500, 502, 503].map(|status| is_of_engine(status, &told)), [false, false, true, true]);
        assert_eq!([404, 500].map(|status| is_of_engine(status, &Value::Null)), [false, true]);
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a/b:c {\"x\"}"), "a%2Fb%3Ac%20%7B%22x%22%7D");
    }
}
