//! The requests, the ways of sending them, and what servers do not support.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// A listening socket of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// HTTP/1.1.
    Clear,
    /// TLS: HTTP/1.1 or HTTP/2 by ALPN.
    Tls,
    /// HTTP/2 by prior knowledge.
    H2c,
}

/// A way of sending requests.
pub struct Mode {
    pub name: &'static str,
    pub endpoint: Endpoint,
    pub arguments: &'static [&'static str],
    /// Whether connections stay open as long as the server allows.
    pub keeps: bool,
}

/// All ways of sending requests.
pub const MODES: &[Mode] = &[
    Mode { name: "keep-alive", endpoint: Endpoint::Clear, arguments: &[], keeps: true },
    Mode { name: "close", endpoint: Endpoint::Clear, arguments: &["--close"], keeps: false },
    Mode {
        name: "pipeline",
        endpoint: Endpoint::Clear,
        arguments: &["--pipeline", "8"],
        keeps: true,
    },
    Mode { name: "tls", endpoint: Endpoint::Tls, arguments: &[], keeps: true },
    Mode { name: "tls-close", endpoint: Endpoint::Tls, arguments: &["--close"], keeps: false },
    Mode {
        name: "tls-pipeline",
        endpoint: Endpoint::Tls,
        arguments: &["--pipeline", "8"],
        keeps: true,
    },
    Mode { name: "h2", endpoint: Endpoint::Tls, arguments: &["--http2"], keeps: true },
    Mode {
        name: "h2-streams",
        endpoint: Endpoint::Tls,
        arguments: &["--http2", "--streams", "8"],
        keeps: true,
    },
    Mode { name: "h2c", endpoint: Endpoint::H2c, arguments: &["--http2"], keeps: true },
    Mode {
        name: "h2c-streams",
        endpoint: Endpoint::H2c,
        arguments: &["--http2", "--streams", "8"],
        keeps: true,
    },
];

/// In [`UNSUPPORTED`], instead of a mode: the form of the response over HTTP/1.1.
pub const WIRE: &str = "wire";

/// Something that a server does not support.
pub struct Unsupported {
    pub server: &'static str,
    pub case: &'static str,
    pub mode: &'static str,
    pub reason: &'static str,
}

const fn no(
    server: &'static str,
    case: &'static str,
    mode: &'static str,
    reason: &'static str,
) -> Unsupported {
    Unsupported { server, case, mode, reason }
}

/// What servers do not support; `*` at the end of a name matches anything.
pub const UNSUPPORTED: &[Unsupported] = &[
    no("*", "close-*", "pipeline", NOTHING_BEHIND),
    no("*", "close-*", "tls-pipeline", NOTHING_BEHIND),
    no(
        "nginx",
        "trailers",
        WIRE,
        "nginx does not pass trailers on; the body is checked all the same",
    ),
    no("nginx", "early", "*", "nginx passes 103 on from 1.29 only"),
    no("node", "early", "pipeline", EARLY_OUT_OF_TURN),
    no("node", "early", "tls-pipeline", EARLY_OUT_OF_TURN),
    no("node", "length-100000", "tls-pipeline", PAUSED),
    no("node", "chunked-100000", "tls-pipeline", PAUSED),
    no("node", "echo-100000", "tls-pipeline", PAUSED),
    no(
        "tomcat",
        "echo-100000",
        "h2-streams",
        "with several large bodies at once over TLS, Tomcat 11.0.22 breaks connections; h2load meets the same",
    ),
    no("undertow", "early", "*", "Undertow has no way to send 103"),
    no("undertow", "head-close", "pipeline", DROPPED),
    no("undertow", "head-close", "tls-pipeline", DROPPED),
    no("undertow", "keep-alive-off", "pipeline", DROPPED),
    no("undertow", "keep-alive-off", "tls-pipeline", DROPPED),
];

const DROPPED: &str =
    "with further requests behind it, Undertow closes without the last answer, too";
const NOTHING_BEHIND: &str = "requests behind an answer that ends with the connection are unread when it closes: TCP may reset it before the end is seen";
const EARLY_OUT_OF_TURN: &str =
    "of a pipelined request, Node writes the 103 between the head and the body of another answer";
const PAUSED: &str = "with much to send, Node pauses its parser, and ends the connection (HPE_PAUSED) when TLS hands it the next requests";

impl Unsupported {
    /// Whether the entry applies.
    pub fn fits(&self, server: &str, case: &str, mode: &str) -> bool {
        matches(self.server, server) && matches(self.case, case) && matches(self.mode, mode)
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// The lengths of bodies.
pub const LENGTHS: &[usize] = &[0, 1, 1_000, 100_000];

/// Returns the body of a length, which all servers send.
pub fn pattern(length: usize) -> String {
    ('a'..='z').cycle().take(length).collect()
}

/// A request and its correct response.
struct Step {
    method: &'static str,
    path: &'static str,
    /// Bytes sent.
    sent: Option<usize>,
    status: u16,
    /// Bytes that come back.
    body: usize,
    /// The required Content-Length, if there is one.
    length: Option<&'static str>,
}

const fn get(path: &'static str, body: usize) -> Step {
    Step { method: "GET", path, sent: None, status: 200, body, length: None }
}

const fn head(path: &'static str, length: Option<&'static str>) -> Step {
    Step { method: "HEAD", path, sent: None, status: 200, body: 0, length }
}

const fn status(path: &'static str, status: u16) -> Step {
    Step { method: "GET", path, sent: None, status, body: 0, length: None }
}

const fn echo(bytes: usize) -> Step {
    Step {
        method: "POST",
        path: "/echo",
        sent: Some(bytes),
        status: 200,
        body: bytes,
        length: None,
    }
}

/// Requests that are sent one after another on the same connections.
pub struct Case {
    pub name: &'static str,
    steps: &'static [Step],
    /// What the response to the first step contains over HTTP/1.1, in lower case.
    signs: &'static [&'static str],
    /// What its head must not contain.
    lacks: &'static [&'static str],
    /// Whether the server keeps the connection.
    pub keeps: bool,
}

const fn case(name: &'static str, steps: &'static [Step], signs: &'static [&'static str]) -> Case {
    Case { name, steps, signs, lacks: &[], keeps: true }
}

const fn closing(name: &'static str, steps: &'static [Step]) -> Case {
    Case {
        name,
        steps,
        signs: &[],
        lacks: &["content-length:", "transfer-encoding:"],
        keeps: false,
    }
}

/// The cases.
pub const CASES: &[Case] = &[
    case(
        "length-0",
        &[Step { length: Some("0"), ..get("/length/0", 0) }],
        &["content-length: 0\r\n"],
    ),
    case(
        "length-1",
        &[Step { length: Some("1"), ..get("/length/1", 1) }],
        &["content-length: 1\r\n"],
    ),
    case(
        "length-1000",
        &[Step { length: Some("1000"), ..get("/length/1000", 1_000) }],
        &["content-length: 1000\r\n"],
    ),
    case(
        "length-100000",
        &[Step { length: Some("100000"), ..get("/length/100000", 100_000) }],
        &["content-length: 100000\r\n"],
    ),
    case("chunked-0", &[get("/chunked/0", 0)], CHUNKED),
    case("chunked-1", &[get("/chunked/1", 1)], CHUNKED),
    case("chunked-1000", &[get("/chunked/1000", 1_000)], CHUNKED),
    case("chunked-100000", &[get("/chunked/100000", 100_000)], CHUNKED),
    closing("close-0", &[get("/close/0", 0)]),
    closing("close-1000", &[get("/close/1000", 1_000)]),
    closing("close-100000", &[get("/close/100000", 100_000)]),
    case("head-length", &[head("/length/1000", Some("1000"))], &["content-length: 1000\r\n"]),
    case("head-chunked", &[head("/chunked/1000", None)], &["http/1.1 200 "]),
    Case { keeps: false, ..case("head-close", &[head("/close/1000", None)], &["http/1.1 200 "]) },
    case("status-204", &[status("/status/204", 204)], &["http/1.1 204 "]),
    case("status-304", &[status("/status/304", 304)], &["http/1.1 304 "]),
    case("echo-0", &[echo(0)], &["http/1.1 200 "]),
    case("echo-1000", &[echo(1_000)], &["http/1.1 200 "]),
    case("echo-100000", &[echo(100_000)], &["http/1.1 200 "]),
    case(
        "trailers",
        &[get("/trailers", 1_000)],
        &["transfer-encoding: chunked\r\n", "\r\n0\r\nchecksum: abc\r\n\r\n"],
    ),
    case("early", &[get("/early", 1_000)], &["http/1.1 103 ", "http/1.1 200 "]),
    Case {
        keeps: false,
        ..case("keep-alive-off", &[get("/keep-alive-off", 1_000)], &["connection: close\r\n"])
    },
    case(
        "in-turn",
        &[
            head("/length/1000", Some("1000")),
            get("/chunked/1000", 1_000),
            status("/status/304", 304),
            echo(1_000),
            status("/status/204", 204),
            head("/chunked/1000", None),
            get("/length/0", 0),
            get("/trailers", 1_000),
            get("/length/100000", 100_000),
        ],
        &[],
    ),
];

const CHUNKED: &[&str] = &["transfer-encoding: chunked\r\n"];

impl Case {
    /// Writes the workload and its bodies.
    pub fn write(&self, place: &Path) {
        let mut text = format!("name = \"{0}\"\nsummary = \"{0}\"\n", self.name);
        for Step { method, path, sent, status, body, length } in self.steps {
            let _ = writeln!(text, "[[step]]\nmethod = \"{method}\"\npath = \"{path}\"");
            if let Some(sent) = sent {
                fs::write(place.join(format!("body-{sent}")), pattern(*sent)).unwrap();
                let _ = writeln!(text, "body_file = \"body-{sent}\"");
            }
            fs::write(place.join(format!("body-{body}")), pattern(*body)).unwrap();
            let _ = writeln!(text, "[step.answer]\nstatus = {status}\nbody_file = \"body-{body}\"");
            if let Some(length) = length {
                let _ = writeln!(text, "headers = {{ content-length = \"{length}\" }}");
            }
        }
        fs::write(place.join(format!("{}.toml", self.name)), text).unwrap();
    }

    /// Whether the server responds to the first step in the form of the case. Otherwise the case
    /// tests nothing.
    pub fn check_wire(&self, port: u16) -> Result<(), String> {
        let Step { method, path, sent, .. } = &self.steps[0];
        let body = pattern(sent.unwrap_or_default());
        let length = sent.map(|sent| format!("Content-Length: {sent}\r\n")).unwrap_or_default();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{length}\r\n{body}");
        let mut stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(|e| e.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(|e| e.to_string())?;
        stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
        let mut answer = String::new();
        let mut buffer = [0; 16 << 10];
        let has_all = |answer: &str| {
            answer.contains("\r\n\r\n") && self.signs.iter().all(|sign| answer.contains(sign))
        };
        while !has_all(&answer) {
            match stream.read(&mut buffer) {
                Ok(length @ 1..) => {
                    answer += &String::from_utf8_lossy(&buffer[..length]).to_lowercase()
                }
                _ => {
                    return Err(format!(
                        "no {:?} in\n{}",
                        self.signs,
                        answer.chars().take(1_000).collect::<String>()
                    ));
                }
            }
        }
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        match self.lacks.iter().find(|header| head.contains(**header)) {
            Some(header) => Err(format!("`{header}` in\n{head}")),
            None => Ok(()),
        }
    }
}
