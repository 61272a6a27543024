//! Builds the requests of a workload.
//!
//! A [`Script`] prepares every step once for a target. A request in which nothing varies becomes
//! fixed bytes. For the others, the parts between values are encoded in advance. Sending a request
//! then only copies bytes and inserts values.

use crate::check::{Expected, ResponseCheck};
use crate::http2;
use crate::plan::{Protocol, Target};
use crate::values::{Draws, Names, Text};
use spec::template::Template;
use spec::workload::{Body, Step, Workload};
use std::io::Write;

pub use crate::values::Vars;

/// Idempotent methods: repeating a request has the same effect (RFC 9110, 9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/// A workload, prepared for a target.
pub struct Script {
    steps: Vec<Prepared>,
    draws: Draws,
    has_captures: bool,
    scratch: Vec<u8>,
}

struct Prepared {
    name: String,
    is_head: bool,
    is_idempotent: bool,
    expected: Expected,
    request: Request,
}

enum Request {
    /// Nothing varies: the bytes of the head and of the body.
    Fixed(Vec<u8>, Vec<u8>),
    Varying(Varying),
}

/// A request that is assembled each time it is sent.
struct Varying {
    /// The bytes before the path, and those between the path and the headers that vary.
    before_path: Vec<u8>,
    after_path: Vec<u8>,
    path: Text,
    /// The authority, if it varies.
    host: Option<Text>,
    headers: Vec<(String, Text)>,
    body: Content,
}

/// The body of a request. The length of a fixed body is among the fixed headers.
enum Content {
    Fixed(Vec<u8>),
    Varying(Text),
}

impl Script {
    /// Prepares every step. Random values depend on the seed and on the number of the thread.
    pub fn new(
        workload: &Workload,
        target: &Target,
        seed: u64,
        thread: u32,
        threads: u32,
    ) -> Script {
        let filled = workload.with_secrets();
        let moved = target.path.as_ref().map(|path| filled.with_path(path));
        let filled = moved.as_ref().unwrap_or(&filled);
        let names = Names::of_steps(&filled.steps);
        // Messages name a step as written in the workload, without values of environment variables.
        let prepare = |(step, written): (&Step, &Step)| Prepared {
            name: format!("{} {}", written.method, written.path),
            is_head: step.method == "HEAD",
            is_idempotent: IDEMPOTENT.contains(&step.method.as_str()),
            expected: Expected::new(step, &names),
            request: request(step, target, &names),
        };
        Script {
            steps: filled.steps.iter().zip(&workload.steps).map(prepare).collect(),
            draws: Draws::new(filled, &names, seed, thread, threads),
            has_captures: workload.steps.iter().any(|step| !step.captures.is_empty()),
            scratch: Vec::new(),
        }
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether a step captures a value from a response.
    pub fn has_captures(&self) -> bool {
        self.has_captures
    }

    /// Returns the variables of a new user.
    pub fn vars(&self) -> Vars {
        self.draws.vars()
    }

    /// Draws the values that a user needs for one pass over all steps.
    pub fn begin_round(&mut self, vars: &mut Vars, user: u32) {
        self.draws.draw(vars, user);
    }

    /// Appends the bytes of a step's request.
    #[inline]
    pub fn write_http1(&self, step: usize, vars: &Vars, out: &mut Vec<u8>) {
        match &self.steps[step].request {
            Request::Fixed(head, body) => {
                out.extend_from_slice(head);
                out.extend_from_slice(body);
            }
            Request::Varying(varying) => varying.write_http1(vars, out),
        }
    }

    /// Replaces a header block and a body with those of a step's request.
    pub fn write_http2(
        &mut self,
        step: usize,
        vars: &Vars,
        block: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) {
        block.clear();
        body.clear();
        match &self.steps[step].request {
            Request::Fixed(fixed_block, fixed_body) => {
                block.extend_from_slice(fixed_block);
                body.extend_from_slice(fixed_body);
            }
            Request::Varying(varying) => varying.write_http2(vars, &mut self.scratch, block, body),
        }
    }

    /// Returns how the response to a step is checked.
    #[inline]
    pub fn check<'a>(&'a mut self, step: usize, vars: &'a mut Vars) -> ResponseCheck<'a> {
        let Prepared { expected, is_head, .. } = &mut self.steps[step];
        ResponseCheck { expected, vars, is_head: *is_head }
    }

    /// Whether a step's request may be repeated with the same effect.
    pub fn is_idempotent(&self, step: usize) -> bool {
        self.steps[step].is_idempotent
    }

    /// Returns the method and path of a step, for messages: `GET /path`.
    pub fn name(&self, step: usize) -> &str {
        &self.steps[step].name
    }
}

impl Varying {
    fn new(step: &Step, target: &Target, names: &Names) -> Varying {
        let is_http2 = target.protocol == Protocol::Http2;
        let of_host = step
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, host)| host);
        let host = of_host.map_or(Some(target.host.as_str()), Template::as_fixed);
        let (before_path, mut after_path) = start_of_head(step, target, host);
        let mut fixed = |name: &str, value: &[u8]| match is_http2 {
            true => http2::encode(&mut after_path, &name.to_ascii_lowercase(), value.trim_ascii()),
            false => {
                after_path.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat())
            }
        };
        let mut headers: Vec<(String, Text)> = Vec::new();
        for (name, value) in step.headers.iter().filter(|(name, _)| is_sent(name, is_http2)) {
            // Headers that vary are written after fixed ones. If a header varies, later headers of
            // the same name are written after it too, so they keep their order.
            let is_behind = headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
            match value.as_fixed().filter(|_| !is_behind) {
                Some(value) => fixed(name, value.as_bytes()),
                None if is_http2 => {
                    headers.push((name.to_ascii_lowercase(), Text::new(value, names)))
                }
                None => headers.push((name.clone(), Text::new(value, names))),
            }
        }
        let body = content(&step.body, names);
        let has_body = !matches!(step.body, Body::None)
            || matches!(step.method.as_str(), "POST" | "PUT" | "PATCH");
        if let Content::Fixed(body) = &body
            && has_body
        {
            fixed("Content-Length", body.len().to_string().as_bytes());
        }
        Varying {
            before_path,
            after_path,
            path: Text::new(&step.path, names),
            host: of_host.filter(|_| host.is_none()).map(|host| Text::new(host, names)),
            headers,
            body,
        }
    }

    /// Whether a request differs from the one before.
    fn varies(&self) -> bool {
        self.path.varies()
            || self.host.is_some()
            || !self.headers.is_empty()
            || matches!(self.body, Content::Varying(_))
    }

    fn write_http1(&self, vars: &Vars, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before_path);
        self.path.write_in_path(vars, out);
        out.extend_from_slice(&self.after_path);
        let mut field = |name: &str, value: &Text| {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.write_in_header(vars, out);
            out.extend_from_slice(b"\r\n");
        };
        self.host.iter().for_each(|host| field("Host", host));
        self.headers.iter().for_each(|(name, value)| field(name, value));
        match &self.body {
            Content::Fixed(body) => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(body);
            }
            Content::Varying(body) => {
                // Writing to memory does not fail.
                let _ = write!(out, "Content-Length: {}\r\n\r\n", body.len(vars));
                body.write(vars, out);
            }
        }
    }

    fn write_http2(
        &self,
        vars: &Vars,
        scratch: &mut Vec<u8>,
        block: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) {
        block.extend_from_slice(&self.before_path);
        let mut field = |name: &str, write: &dyn Fn(&mut Vec<u8>), block: &mut Vec<u8>| {
            scratch.clear();
            write(scratch);
            http2::encode(block, name, scratch.trim_ascii());
        };
        field(":path", &|out| self.path.write_in_path(vars, out), block);
        if let Some(host) = &self.host {
            field(":authority", &|out| host.write_in_header(vars, out), block);
        }
        block.extend_from_slice(&self.after_path);
        for (name, value) in &self.headers {
            field(name, &|out| value.write_in_header(vars, out), block);
        }
        match &self.body {
            Content::Fixed(bytes) => body.extend_from_slice(bytes),
            Content::Varying(text) => {
                text.write(vars, body);
                field("content-length", &|out| drop(write!(out, "{}", body.len())), block);
            }
        }
    }
}

/// Prepares the request of a step.
fn request(step: &Step, target: &Target, names: &Names) -> Request {
    let is_http2 = target.protocol == Protocol::Http2;
    let varying = Varying::new(step, target, names);
    if varying.varies() {
        return Request::Varying(varying);
    }
    let (mut head, mut body) = (Vec::new(), Vec::new());
    match is_http2 {
        true => varying.write_http2(&Vars::default(), &mut Vec::new(), &mut head, &mut body),
        false => varying.write_http1(&Vars::default(), &mut head),
    }
    Request::Fixed(head, body)
}

/// Encodes what is before and directly after the path, as far as it is fixed. `host` is `None` if
/// it varies. Then each request encodes it.
fn start_of_head(step: &Step, target: &Target, host: Option<&str>) -> (Vec<u8>, Vec<u8>) {
    let (mut before_path, mut after_path) = (Vec::new(), Vec::new());
    if target.protocol == Protocol::Http2 {
        let scheme = if target.tls.is_some() { "https" } else { "http" };
        for (name, value) in [
            (":method", Some(step.method.as_str())),
            (":scheme", Some(scheme)),
            (":authority", host),
        ] {
            value.iter().for_each(|value| http2::encode(&mut before_path, name, value.as_bytes()));
        }
        return (before_path, after_path);
    }
    before_path.extend_from_slice(format!("{} ", step.method).as_bytes());
    after_path.extend_from_slice(b" HTTP/1.1\r\n");
    after_path.extend(host.iter().flat_map(|host| [b"Host: ", host.as_bytes(), b"\r\n"].concat()));
    if target.protocol == (Protocol::Http1 { keep_alive: false }) {
        after_path.extend_from_slice(b"Connection: close\r\n");
    }
    (before_path, after_path)
}

/// Prepares the body of a request.
fn content(body: &Body, names: &Names) -> Content {
    match body {
        Body::Text(text) => match text.as_fixed() {
            Some(text) => Content::Fixed(text.into()),
            None => Content::Varying(Text::new(text, names)),
        },
        Body::Bytes(bytes) => Content::Fixed(bytes.clone()),
        Body::None => Content::Fixed(Vec::new()),
    }
}

/// Whether a header of the workload is sent. The host is written separately, and HTTP/2 forbids
/// some headers (RFC 9113, 8.2.2).
fn is_sent(name: &str, is_http2: bool) -> bool {
    let name = name.to_ascii_lowercase();
    name != "host" && !(is_http2 && http2::is_forbidden(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use spec::data::{Data, Values};

    fn script(step: Step, data: Vec<Data>, keep_alive: bool) -> Script {
        let workload = Workload { data, steps: vec![step], ..Workload::default() };
        let target = Target {
            protocol: Protocol::Http1 { keep_alive },
            ..Target::plain("127.0.0.1:80".parse().unwrap())
        };
        Script::new(&workload, &target, 1, 0, 1)
    }

    fn written(script: &mut Script) -> String {
        let (mut vars, mut out) = (script.vars(), Vec::new());
        script.begin_round(&mut vars, 7);
        script.write_http1(0, &vars, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Returns the header fields and the body of a step's request over HTTP/2.
    fn written_http2(step: Step) -> (Vec<(String, String)>, Vec<u8>) {
        let workload = Workload { steps: vec![step], ..Workload::default() };
        let target =
            Target { protocol: Protocol::Http2, ..Target::plain("127.0.0.1:80".parse().unwrap()) };
        let mut script = Script::new(&workload, &target, 1, 0, 1);
        let (mut vars, mut block, mut body) = (script.vars(), vec![], vec![]);
        script.begin_round(&mut vars, 7);
        script.write_http2(0, &vars, &mut block, &mut body);
        (http2::decode(&block).unwrap(), body)
    }

    fn parse(text: &str) -> Template {
        Template::parse(text).unwrap()
    }

    #[test]
    fn fixed_request_is_written_verbatim() {
        let get = Step { headers: vec![("Accept".into(), "*/*".into())], ..Step::default() };
        assert_eq!(
            written(&mut script(get.clone(), vec![], true)),
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept: */*\r\n\r\n"
        );
        assert_eq!(
            written(&mut script(get, vec![], false)),
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        );
        let post = Step { method: "POST".into(), ..Step::default() };
        assert_eq!(
            written(&mut script(post.clone(), vec![], true)),
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 0\r\n\r\n"
        );
        let with_body = Step { body: Body::Text("hello".into()), ..post };
        assert_eq!(
            written(&mut script(with_body, vec![], true)),
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 5\r\n\r\nhello"
        );
    }

    #[test]
    fn host_header_replaces_ours() {
        let step = Step { headers: vec![("host".into(), "example.org".into())], ..Step::default() };
        assert_eq!(
            written(&mut script(step, vec![], true)),
            "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
        );
    }

    #[test]
    fn varying_host_and_repeated_headers_are_sent_in_order() {
        let headers = [
            ("host", "${user}.example"),
            ("x-tag", "a"),
            ("x-tag", "${round}"),
            ("x-tag", "b"),
            ("accept-language", "de"),
        ];
        let step = Step {
            headers: headers.map(|(name, value)| (name.to_owned(), parse(value))).into(),
            ..Step::default()
        };
        let text = written(&mut script(step.clone(), vec![], true));
        assert!(
            text.starts_with("GET / HTTP/1.1\r\n") && text.contains("Host: 7.example\r\n"),
            "{text}"
        );
        let tags: Vec<&str> = text.lines().filter(|line| line.starts_with("x-tag")).collect();
        assert_eq!(tags, ["x-tag: a", "x-tag: 0", "x-tag: b"]);
        let (fields, _) = written_http2(step);
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                ":method",
                ":scheme",
                ":path",
                ":authority",
                "x-tag",
                "accept-language",
                "x-tag",
                "x-tag"
            ]
        );
        assert_eq!(fields[3].1, "7.example");
    }

    #[test]
    fn http2_request_has_the_same_fields() {
        let step = Step {
            method: "POST".into(),
            path: parse("/${user}"),
            headers: vec![
                ("A".into(), "b".into()),
                ("Upgrade".into(), "x".into()),
                ("V".into(), parse("${round}")),
            ],
            body: Body::Text(parse("n${round}")),
            ..Step::default()
        };
        let (fields, body) = written_http2(step);
        let right = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "127.0.0.1:80"),
            (":path", "/7"),
            ("a", "b"),
            ("v", "0"),
            ("content-length", "2"),
        ];
        assert_eq!(fields, right.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(body, b"n0");
    }

    #[test]
    fn http2_values_have_no_surrounding_spaces() {
        let headers = vec![("A".into(), parse(" b ")), ("V".into(), parse("\t${round} "))];
        let (fields, _) = written_http2(Step { headers, ..Step::default() });
        assert_eq!(
            fields[4..],
            [("a", "b"), ("v", "0")].map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn values_are_inserted_and_escaped() {
        let step = Step {
            method: "POST".into(),
            path: parse("/${x}?u=${user}"),
            headers: vec![("A".into(), "fixed".into()), ("B".into(), parse("<${x}>"))],
            body: Body::Text(parse("[${x}]")),
            ..Step::default()
        };
        let data =
            vec![Data { name: "x".into(), values: Values::Choice(vec!["a b\r\nC: d".into()]) }];
        assert_eq!(
            written(&mut script(step.clone(), data.clone(), true)),
            "POST /a%20b%0D%0AC:%20d?u=7 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nA: fixed\r\nB: <a b  C: d>\r\nContent-Length: 11\r\n\r\n[a b\r\nC: d]"
        );
        let fixed_body = Step { body: Body::Bytes(b"xyz".into()), ..step };
        let text = written(&mut script(fixed_body, data, true));
        assert!(text.contains("Content-Length: 3\r\n") && text.ends_with("\r\n\r\nxyz"), "{text}");
    }

    proptest! {
        #[test]
        fn every_request_parses_and_announces_its_body(value in "\\PC{0,20}", path in "/[a-z]{0,5}", body in "[a-z ]{0,9}", has_value in any::<bool>()) {
            let place = if has_value { "${x}" } else { "" };
            let step = Step {
                method: "PUT".into(),
                path: parse(&format!("{path}{place}")),
                headers: vec![("H".into(), parse(&format!("h{place}")))],
                body: Body::Text(parse(&format!("{body}{place}"))),
                ..Step::default()
            };
            let text = written(&mut script(step, vec![Data { name: "x".into(), values: Values::Choice(vec![value]) }], true));
            let mut headers = [httparse::EMPTY_HEADER; 8];
            let mut request = httparse::Request::new(&mut headers);
            let head = request.parse(text.as_bytes()).unwrap().unwrap();
            let length = request.headers.iter().find(|h| h.name == "Content-Length").unwrap().value;
            prop_assert_eq!(std::str::from_utf8(length).unwrap().parse(), Ok(text.len() - head));
        }
    }
}
