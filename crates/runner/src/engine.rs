//! A client for a local engine: Docker, or a cluster behind `kubectl proxy`.
//!
//! It sends one HTTP/1.0 request per connection over a socket, so a response ends with the
//! connection. It also notices when the engine fails or is replaced. Start with
//! [`Engine::request`].

use serde_json::Value;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Maximum length of the head of a response.
const HEAD_MAX: usize = 64 << 10;
/// Maximum length of a response that is read whole.
const BODY_MAX: u64 = 64 << 20;
/// The usual socket of an engine.
const USUAL: &str = "/var/run/docker.sock";

/// An engine of this machine, or a proxy for one.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    socket: PathBuf,
    /// Shared by all users of the engine.
    seen: Rc<RefCell<Seen>>,
}

/// State of an engine, which no system in it can cause.
#[derive(Debug, Default)]
struct Seen {
    /// Its first failure.
    failed: Option<String>,
    /// The identity of its socket.
    socket: Option<(u64, i64, i64)>,
}

/// Distinguishes a socket from another one of the same name: a server that listens again creates a
/// new one.
fn identity(socket: &Path) -> Option<(u64, i64, i64)> {
    let found = std::fs::metadata(socket).ok()?;
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

/// The body of a request.
pub(crate) enum Body<'b> {
    Nothing,
    Json(&'b Value),
    /// An archive of this many bytes.
    Archive(&'b mut dyn Read, u64),
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum EngineError {
    /// The engine does not respond.
    Silent(String),
    /// The engine refuses, with this message.
    Refused(String),
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EngineError::Silent(cause) => write!(f, "the engine does not respond: {cause}"),
            EngineError::Refused(message) => write!(f, "the engine refuses: {message}"),
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
                format!(
                    "DOCKER_HOST is {named}, but the engine must be on this machine, where \
                    faceoff can read the processes of its containers"
                )
            })?,
        };
        Ok(Engine::at_socket(socket.into()))
    }

    /// The engine at a socket.
    pub fn at_socket(socket: PathBuf) -> Engine {
        let seen = Seen { failed: None, socket: identity(&socket) };
        Engine { socket, seen: Rc::new(RefCell::new(seen)) }
    }

    /// How the engine failed since the last call: it did not respond, or was replaced. Failures of
    /// systems meanwhile may be due to it.
    pub fn lost(&self) -> Option<String> {
        let mut seen = self.seen.borrow_mut();
        let now = identity(&self.socket);
        let is_another = std::mem::replace(&mut seen.socket, now) != now;
        seen.failed.take().or_else(|| is_another.then(|| "it was restarted".to_owned()))
    }

    /// Records a failure of the engine.
    pub fn note(&self, how: &str) {
        self.seen.borrow_mut().failed.get_or_insert_with(|| how.to_owned());
    }

    fn silent(&self, error: &io::Error) -> EngineError {
        let cause = error.to_string();
        self.note(&format!("it does not respond: {cause}"));
        EngineError::Silent(cause)
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sends a request, and reads the whole response; `Null` if it is not JSON.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        body: Body<'_>,
        within: Duration,
    ) -> Result<Value, EngineError> {
        let mut text = Vec::new();
        let read = self.open(method, path, body, within)?.take(BODY_MAX).read_to_end(&mut text);
        read.map_err(|error| self.silent(&error))?;
        Ok(serde_json::from_slice(&text).unwrap_or(Value::Null))
    }

    /// Sends a request. The caller reads the response.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        body: Body<'_>,
        within: Duration,
    ) -> Result<impl Read + use<>, EngineError> {
        let (status, mut answer) =
            self.send(method, path, body, within).map_err(|error| self.silent(&error))?;
        if (200..300).contains(&status) || status == 304 {
            return Ok(answer);
        }
        let mut bytes = Vec::new();
        (&mut answer).take(1 << 16).read_to_end(&mut bytes).map_err(|error| self.silent(&error))?;
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let message = body["message"]
            .as_str()
            .map_or_else(|| String::from_utf8_lossy(&bytes).trim().to_owned(), str::to_owned);
        if is_of_engine(status, &body) {
            self.note(&message);
        }
        Err(EngineError::Refused(message))
    }

    /// Sends a request. Returns the status, and the rest of the response, which the caller reads.
    fn send(
        &self,
        method: &str,
        path: &str,
        body: Body<'_>,
        within: Duration,
    ) -> io::Result<(u16, impl Read + use<>)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(within))?;
        stream.set_write_timeout(Some(within))?;
        let text = if let Body::Json(value) = &body { value.to_string() } else { String::new() };
        let (kind, length) = match &body {
            Body::Nothing => ("", 0),
            Body::Json(_) => ("Content-Type: application/json\r\n", text.len() as u64),
            Body::Archive(_, length) => ("Content-Type: application/x-tar\r\n", *length),
        };
        // `kubectl proxy` responds to no other host name.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\n{kind}Content-Length: {length}\r\n\r\n"
        );
        let sent =
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
        let sent = sent.and_then(|()| match body {
            Body::Archive(archive, _) => io::copy(archive, &mut stream).map(drop),
            _ => Ok(()),
        });
        // A server that refuses may close before everything is sent. Its response explains more
        // than the write error.
        let answer = read_head(&mut stream);
        let (status, rest) = answer.map_err(|error| sent.err().unwrap_or(error))?;
        Ok((status, io::Cursor::new(rest).chain(stream)))
    }
}

/// Whether a refusal means that the engine is out of order: a proxy cannot reach it (502 to 504, or
/// an error of `kubectl proxy`, which is not JSON).
fn is_of_engine(status: u16, body: &Value) -> bool {
    (502..=504).contains(&status) || (status >= 500 && body.is_null())
}

/// Reads the head of a response. Returns its status, and what was read beyond it.
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
            Ok(_) if bytes.len() > HEAD_MAX => {
                return Err(io::Error::other("its response has no end"));
            }
            Ok(length) => bytes.extend(&buffer[..length]),
            // A process that is stopped and continued gets its read interrupted.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_of_a_response_is_read_and_the_rest_kept() {
        let read = |bytes: &'static [u8]| {
            read_head(&mut io::Cursor::new(bytes)).map_err(|e| e.to_string())
        };
        assert_eq!(read(b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n{}"), Ok((200, b"{}".to_vec())));
        assert_eq!(read(b"HTTP/1.1 404 Not Found\r\n\r\n"), Ok((404, vec![])));
        for garbage in [
            &b""[..],
            b"HTTP/1.0 200 OK\r\n",
            b"HTTP/1.0 \r\n\r\n",
            b"\xff\r\n\r\n",
            b"SSH-2.0\r\n\r\n",
        ] {
            assert!(read(garbage).is_err(), "{garbage:?}");
        }
    }

    #[test]
    fn failure_of_an_engine_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine");
        let engine = Engine::at_socket(socket.clone());
        assert_eq!(engine.lost(), None);
        let result =
            engine.clone().request("GET", "/version", Body::Nothing, Duration::from_secs(1));
        assert!(matches!(result, Err(EngineError::Silent(_))));
        engine.note("something later");
        assert!(engine.lost().is_some_and(|why| why.starts_with("it does not respond: ")));
        assert_eq!(engine.lost(), None);
        std::fs::write(&socket, "").unwrap();
        assert_eq!(engine.lost().as_deref(), Some("it was restarted"));
        assert_eq!(engine.lost(), None);
    }

    #[test]
    fn refusal_by_a_broken_engine_is_no_refusal_of_the_request() {
        let body = serde_json::json!({"message": "no such image"});
        assert_eq!(
            [404, 500, 502, 503].map(|status| is_of_engine(status, &body)),
            [false, false, true, true]
        );
        assert_eq!([404, 500].map(|status| is_of_engine(status, &Value::Null)), [false, true]);
    }
}
