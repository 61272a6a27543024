//! A small client for PostgreSQL's wire protocol (3.0): connect, send SQL as text, read rows.
//!
//! It is our own because every client crate brings an async runtime below the crates that measure.
//! Start with [`Client::connect`].

mod scram;
mod url;

pub use url::Server;

use scram::Scram;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Version 3.0.
const PROTOCOL: i32 = 3 << 16;
/// A longer message is an error, as no query here has such a result.
const MESSAGE_MAX: usize = 16 << 20;

/// A row's values as text; `None` for null.
pub type Row = Vec<Option<String>>;

/// A connection.
#[derive(Debug)]
pub struct Client {
    socket: TcpStream,
    /// Why the connection can no longer be used. The next response may belong to an earlier
    /// request.
    lost: Option<Error>,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An error of the server: its message and code.
    Said {
        /// Five letters and digits, such as `42P01`.
        code: String,
        /// The message.
        message: String,
    },
    /// The connection is lost, or a message cannot be parsed.
    Lost(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Said { code, message } => write!(f, "{message} ({code})"),
            Error::Lost(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A socket's timeout is reported as "try again", which explains nothing.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Error::Lost("the database does not respond in time".into())
            }
            io::ErrorKind::UnexpectedEof => {
                Error::Lost("the database closed the connection".into())
            }
            _ => Error::Lost(error.to_string()),
        }
    }
}

fn not_understood(what: &str) -> Error {
    Error::Lost(format!("a message of the database is not understood: {what}"))
}

/// Reads the fields of a message. A message that ends too early is an error, never a panic.
struct Fields<'m>(&'m [u8]);

impl<'m> Fields<'m> {
    fn take(&mut self, length: usize) -> Result<&'m [u8], Error> {
        let (head, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| not_understood("a message is too short"))?;
        self.0 = rest;
        Ok(head)
    }

    fn int16(&mut self) -> Result<i16, Error> {
        Ok(i16::from_be_bytes(self.take(2)?.try_into().expect("two bytes")))
    }

    fn int32(&mut self) -> Result<i32, Error> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    /// Reads a text up to a zero byte.
    fn text(&mut self) -> Result<String, Error> {
        let end = self
            .0
            .iter()
            .position(|b| *b == 0)
            .ok_or_else(|| not_understood("a text does not end"))?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Ok(text)
    }
}

impl Client {
    /// Connects and logs in. Every single wait, now and later, lasts `within` at most.
    ///
    /// # Errors
    /// A server that does not respond, or that rejects the login.
    pub fn connect(server: &Server, within: Duration) -> Result<Client, Error> {
        let deadline = Instant::now() + within;
        let addresses = (server.host.as_str(), server.port).to_socket_addrs()?;
        let mut last = Error::Lost(format!("{} has no address", server.host));
        for address in addresses {
            match TcpStream::connect_timeout(
                &address,
                deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)),
            ) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    socket.set_read_timeout(Some(within))?;
                    socket.set_write_timeout(Some(within))?;
                    let mut client = Client { socket, lost: None };
                    client.sign_on(server)?;
                    return Ok(client);
                }
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    fn sign_on(&mut self, server: &Server) -> Result<(), Error> {
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for (name, value) in
            [("user", &*server.user), ("database", &*server.name), ("application_name", "faceoff")]
        {
            body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        self.send(None, &body)?;
        let mut scram = None;
        loop {
            let (kind, body) = self.receive()?;
            match kind {
                b'R' => self.authenticate(server, &mut Fields(&body), &mut scram)?,
                b'E' => return Err(parse_error(&body)?),
                b'Z' => return Ok(()),
                // Settings, the cancellation key, notices.
                _ => {}
            }
        }
    }

    fn authenticate(
        &mut self,
        server: &Server,
        fields: &mut Fields<'_>,
        scram: &mut Option<Scram>,
    ) -> Result<(), Error> {
        let password = server.password.as_deref().unwrap_or_default();
        match fields.int32()? {
            0 => Ok(()),
            3 => self.send(Some(b'p'), &[password.as_bytes(), b"\0"].concat()),
            10 => {
                let mut offered = Vec::new();
                while !fields.0.is_empty() {
                    offered.push(fields.text()?);
                }
                if !offered.iter().any(|name| name == scram::NAME) {
                    return Err(Error::Lost(format!(
                        "the database asks for {}, which is not supported",
                        offered.join(" or ")
                    )));
                }
                let begun = scram.insert(Scram::new(password, &nonce()?));
                let first = begun.first();
                let length = (first.len() as i32).to_be_bytes();
                self.send(
                    Some(b'p'),
                    &[scram::NAME.as_bytes(), b"\0", &length, first.as_bytes()].concat(),
                )
            }
            11 => {
                let begun = scram
                    .as_mut()
                    .ok_or_else(|| not_understood("SCRAM continues before it begins"))?;
                let proof = begun
                    .proof(&String::from_utf8_lossy(fields.0))
                    .map_err(|why| not_understood(&why))?;
                self.send(Some(b'p'), proof.as_bytes())
            }
            12 => {
                let begun =
                    scram.as_ref().ok_or_else(|| not_understood("SCRAM ends before it begins"))?;
                match begun.is_genuine(&String::from_utf8_lossy(fields.0)) {
                    true => Ok(()),
                    false => Err(Error::Lost(
                        "the database did not prove that it knows the password".into(),
                    )),
                }
            }
            other => Err(Error::Lost(format!(
                "the database asks for an unsupported login (number {other}); use SCRAM-SHA-256, \
                 a clear-text password, or none"
            ))),
        }
    }

    /// Runs statements, separated by semicolons; returns the rows of all of them.
    ///
    /// # Errors
    /// An error of the server; a lost connection.
    pub fn run(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        if sql.contains('\0') {
            return Err(Error::Lost("a statement cannot hold a zero byte".into()));
        }
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let ran = self.exchange(sql);
        self.lost = ran.as_ref().err().filter(|error| matches!(error, Error::Lost(_))).cloned();
        ran
    }

    fn exchange(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat())?;
        let (mut rows, mut error) = (Vec::new(), None);
        loop {
            let (kind, body) = self.receive()?;
            match kind {
                b'D' => rows.push(row(&body)?),
                b'E' => error = Some(parse_error(&body)?),
                b'Z' => return error.map_or(Ok(rows), Err),
                // It would wait for data that never comes.
                b'G' => return Err(not_understood("COPY FROM STDIN")),
                _ => {}
            }
        }
    }

    /// The single value that a statement returns.
    ///
    /// # Errors
    /// As [`Client::run`]; and a result that is not one value, or null.
    pub fn value(&mut self, sql: &str) -> Result<String, Error> {
        let rows = self.run(sql)?;
        match rows.as_slice() {
            [row] if row.len() == 1 => row[0].clone().ok_or_else(|| not_understood("null")),
            _ => Err(Error::Lost(format!("expected one value, got {} rows", rows.len()))),
        }
    }

    /// Sets how long a single response may take from now on.
    ///
    /// # Errors
    /// A closed socket.
    pub fn wait_for(&mut self, within: Duration) -> Result<(), Error> {
        Ok(self.socket.set_read_timeout(Some(within))?)
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> Result<(), Error> {
        let length = i32::try_from(body.len() + 4)
            .map_err(|_| Error::Lost("a statement is too long".into()))?;
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend(length.to_be_bytes());
        message.extend(body);
        Ok(self.socket.write_all(&message)?)
    }

    fn receive(&mut self) -> Result<(u8, Vec<u8>), Error> {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head)?;
        let length = i32::from_be_bytes(head[1..].try_into().expect("four bytes"));
        let length = usize::try_from(length)
            .ok()
            .and_then(|n| n.checked_sub(4))
            .filter(|n| *n <= MESSAGE_MAX);
        let mut body =
            vec![0; length.ok_or_else(|| not_understood("a message of an impossible length"))?];
        self.socket.read_exact(&mut body)?;
        Ok((head[0], body))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // An orderly end, so that the server does not log a broken connection.
        let _ = self.send(Some(b'X'), &[]);
    }
}

fn row(body: &[u8]) -> Result<Row, Error> {
    let mut fields = Fields(body);
    let count = fields.int16()?;
    (0..count)
        .map(|_| {
            Ok(match fields.int32()? {
                -1 => None,
                length => {
                    let length = usize::try_from(length)
                        .map_err(|_| not_understood("a value of a length below zero"))?;
                    Some(String::from_utf8_lossy(fields.take(length)?).into_owned())
                }
            })
        })
        .collect()
}

fn parse_error(body: &[u8]) -> Result<Error, Error> {
    let mut fields = Fields(body);
    let (mut code, mut message) = (String::new(), String::new());
    while let Some(kind) = fields.0.first().copied().filter(|kind| *kind != 0) {
        fields.take(1)?;
        let text = fields.text()?;
        match kind {
            b'C' => code = text,
            b'M' => message = text,
            _ => {}
        }
    }
    Ok(Error::Said { code, message })
}

/// Random letters and digits.
pub(crate) fn nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Quotes a name for SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a text for SQL, whatever the server does with backslashes.
pub fn literal(text: &str) -> String {
    format!(" E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that sends these messages after the first request, one after each request.
    fn saying(answers: Vec<Vec<u8>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            for answer in answers {
                let mut request = [0; 4096];
                if socket.read(&mut request).unwrap_or(0) == 0 || socket.write_all(&answer).is_err()
                {
                    return;
                }
            }
        });
        Server {
            host: "127.0.0.1".into(),
            port,
            user: "u".into(),
            password: None,
            name: "d".into(),
        }
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind], ((body.len() + 4) as i32).to_be_bytes().as_slice(), body].concat()
    }

    fn welcome() -> Vec<u8> {
        [message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), message(b'Z', b"I")].concat()
    }

    const WITHIN: Duration = Duration::from_secs(5);

    #[test]
    fn rows_and_errors_of_a_server_are_read() {
        let rows = [
            message(b'D', b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff"),
            message(b'C', b"SELECT 1\0"),
            message(b'Z', b"I"),
        ]
        .concat();
        let error =
            [message(b'E', b"SERROR\0C42P01\0Mno such table\0\0"), message(b'Z', b"I")].concat();
        let mut client = Client::connect(&saying(vec![welcome(), rows, error]), WITHIN).unwrap();
        assert_eq!(client.run("SELECT").unwrap(), [vec![Some("ab".to_owned()), None]]);
        assert_eq!(client.run("SELECT").unwrap_err().to_string(), "no such table (42P01)");
    }

    #[test]
    fn late_response_is_not_taken_for_another_one() {
        let count = |rows: &[u8]| {
            [message(b'D', &[b"\0\x01\0\0\0\x01", rows].concat()), message(b'Z', b"I")].concat()
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (late, is_late) = std::sync::mpsc::channel::<()>();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).unwrap();
            socket.write_all(&welcome()).unwrap();
            let _ = socket.read(&mut request).unwrap();
            is_late.recv().unwrap();
            socket.write_all(&count(b"7")).unwrap();
            let _ = socket.read(&mut request);
        });
        let server_of = Server {
            host: "127.0.0.1".into(),
            port,
            user: "u".into(),
            password: None,
            name: "d".into(),
        };
        let mut client = Client::connect(&server_of, WITHIN).unwrap();
        client.wait_for(Duration::from_millis(50)).unwrap();
        let lost = client.value("SELECT count(*) FROM one").unwrap_err();
        assert_eq!(lost, Error::Lost("the database does not respond in time".into()));
        late.send(()).unwrap();
        client.wait_for(WITHIN).unwrap();
        assert_eq!(client.value("SELECT count(*) FROM other").unwrap_err(), lost);
        drop(client);
        server.join().unwrap();
    }

    #[test]
    fn random_messages_of_a_server_are_errors() {
        let hostile = [
            message(b'R', &[0, 0, 0, 99]),
            message(b'R', &[0]),
            message(b'R', b"\0\0\0\x0aSCRAM-SHA-9\0\0"),
            message(b'R', b"\0\0\0\x0bx"),
            message(b'E', b"M"),
            b"R\xff\xff\xff\xff".to_vec(),
            b"R\0\0\0\x01".to_vec(),
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        ];
        for answer in hostile {
            assert!(Client::connect(&saying(vec![answer.clone()]), WITHIN).is_err(), "{answer:?}");
        }
        for body in [&b"\0\x02\0\0\0\x09ab"[..], b"\0", b"\0\x01\xff\xff\xff\x00", b"\x7f\xff"] {
            let mut client =
                Client::connect(&saying(vec![welcome(), message(b'D', body)]), WITHIN).unwrap();
            assert!(client.run("SELECT").is_err(), "{body:?}");
        }
    }

    #[test]
    fn quote_within_a_quoted_text_is_escaped() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
        assert_eq!(literal(r"a'b\"), r" E'a\'b\\'");
    }
}
