//! What requests say.

use crate::check::{Asked, Expected};
use crate::http2;
use crate::plan::{Protocol, Target};
use crate::values::{Draws, Names, Text};
use model::workload::{Body, Step, Workload};
use std::io::Write;

pub use crate::values::Vars;

/// A workload prepared for a target.
pub struct Script {
    steps: Vec<Prepared>,
    draws: Draws,
    has_captures: bool,
    scratch: Vec<u8>,
}

struct Prepared {
    name: String,
    is_head: bool,
    expected: Expected,
    request: Request,
}

enum Request {
    /// Nothing varies: the bytes of the head, and of the body.
    Fixed(Vec<u8>, Vec<u8>),
    Varying(Varying),
}

/// What is put together for each request.
struct Varying {
    /// What stands before the path, and between the path and the headers that vary.
    before_path: Vec<u8>,
    after_path: Vec<u8>,
    path: Text,
    headers: Vec<(String, Text)>,
    body: Content,
}

/// A request's body; the length of a fixed one stands among the fixed headers.
enum Content {
    Fixed(Vec<u8>),
    Varying(Text),
}

impl Script {
    /// Prepares every step. What is random follows from the seed and the thread, one of so many.
    pub fn new(workload: &Workload, target: &Target, seed: u64, thread: u32, threads: u32) -> Script {
        let filled = workload.with_secrets();
        let names = Names::of(&filled.steps);
        // Messages name a step as it is written, without what the environment gave.
        let prepare = |(step, written): (&Step, &Step)| Prepared {
            name: format!("{} {}", written.method, written.path),
            is_head: step.method == "HEAD",
            expected: Expected::new(step, &names),
            request: request(step, target, &names),
        };
        Script {
            steps: filled.steps.iter().zip(&workload.steps).map(prepare).collect(),
            draws: Draws::new(&filled, &names, seed, thread, threads),
            has_captures: workload.steps.iter().any(|step| !step.captures.is_empty()),
            scratch: Vec::new(),
        }
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether a step takes something from an answer.
    pub fn has_captures(&self) -> bool {
        self.has_captures
    }

    /// What a new user knows.
    pub fn vars(&self) -> Vars {
        self.draws.vars()
    }

    /// Draws what is used in one pass of a user over all steps.
    pub fn begin_round(&mut self, vars: &mut Vars, user: u32) {
        self.draws.draw(vars, user);
    }

    /// Adds the bytes of a step's request.
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

    /// Replaces a header block and a body by those of a step's request.
    pub fn write_http2(&mut self, step: usize, vars: &Vars, block: &mut Vec<u8>, body: &mut Vec<u8>) {
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

    /// How the answer to a step is checked.
    #[inline]
    pub fn asked<'a>(&'a mut self, step: usize, vars: &'a mut Vars) -> Asked<'a> {
        let Prepared { expected, is_head, .. } = &mut self.steps[step];
        Asked { expected, vars, is_head: *is_head }
    }

    /// `GET /path`, for messages.
    pub fn name(&self, step: usize) -> &str {
        &self.steps[step].name
    }
}

impl Varying {
    fn write_http1(&self, vars: &Vars, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before_path);
        self.path.write_in_path(vars, out);
        out.extend_from_slice(&self.after_path);
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.write_in_header(vars, out);
            out.extend_from_slice(b"\r\n");
        }
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

    fn write_http2(&self, vars: &Vars, scratch: &mut Vec<u8>, block: &mut Vec<u8>, body: &mut Vec<u8>) {
        block.extend_from_slice(&self.before_path);
        let mut field = |name: &str, write: &dyn Fn(&mut Vec<u8>), block: &mut Vec<u8>| {
            scratch.clear();
            write(scratch);
            http2::encode(block, name, scratch);
        };
        field(":path", &|out| self.path.write_in_path(vars, out), block);
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

fn request(step: &Step, target: &Target, names: &Names) -> Request {
    let is_http2 = target.protocol == Protocol::Http2;
    let of_host = step.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).and_then(|(_, host)| host.as_fixed());
    let host = of_host.unwrap_or(&target.host);
    let (mut before_path, mut after_path) = (Vec::new(), Vec::new());
    if is_http2 {
        let scheme = if target.tls.is_some() { "https" } else { "http" };
        for (name, value) in [(":method", step.method.as_str()), (":scheme", scheme), (":authority", host)] {
            http2::encode(&mut before_path, name, value.as_bytes());
        }
    } else {
        before_path.extend_from_slice(format!("{} ", step.method).as_bytes());
        after_path.extend_from_slice(format!(" HTTP/1.1\r\nHost: {host}\r\n").as_bytes());
        if target.protocol == (Protocol::Http1 { keep_alive: false }) {
            after_path.extend_from_slice(b"Connection: close\r\n");
        }
    }
    let mut fixed = |name: &str, value: &[u8]| match is_http2 {
        true => http2::encode(&mut after_path, &name.to_ascii_lowercase(), value),
        false => after_path.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat()),
    };
    let mut headers = Vec::new();
    for (name, value) in step.headers.iter().filter(|(name, _)| is_sent(name, is_http2)) {
        match value.as_fixed() {
            Some(value) => fixed(name, value.as_bytes()),
            None if is_http2 => headers.push((name.to_ascii_lowercase(), Text::new(value, names))),
            None => headers.push((name.clone(), Text::new(value, names))),
        }
    }
    let body = match &step.body {
        Body::Text(text) if text.as_fixed().is_none() => Content::Varying(Text::new(text, names)),
        Body::Text(text) => Content::Fixed(text.as_fixed().unwrap_or_default().into()),
        Body::Bytes(bytes) => Content::Fixed(bytes.clone()),
        Body::None => Content::Fixed(Vec::new()),
    };
    let has_body = !matches!(step.body, Body::None) || matches!(step.method.as_str(), "POST" | "PUT" | "PATCH");
    if let Content::Fixed(body) = &body
        && has_body
    {
        fixed("Content-Length", body.len().to_string().as_bytes());
    }
    let varying = Varying { before_path, after_path, path: Text::new(&step.path, names), headers, body };
    if varying.path.varies() || !varying.headers.is_empty() || matches!(varying.body, Content::Varying(_)) {
        return Request::Varying(varying);
    }
    let (mut head, mut body) = (Vec::new(), Vec::new());
    match is_http2 {
        true => varying.write_http2(&Vars::default(), &mut Vec::new(), &mut head, &mut body),
        false => varying.write_http1(&Vars::default(), &mut head),
    }
    Request::Fixed(head, body)
}

/// Whether a header is one for the server: not one that we write ourselves, nor one that HTTP/2 forbids (RFC 9113, 8.2.2).
fn is_sent(name: &str, is_http2: bool) -> bool {
    let forbidden = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
    let is_forbidden = is_http2 && forbidden.iter().any(|other| name.eq_ignore_ascii_case(other));
    !is_forbidden && !name.eq_ignore_ascii_case("host")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::data::{Data, Values};
    use model::template::Template;
    use proptest::prelude::*;

    fn script(step: Step, data: Vec<Data>, keep_alive: bool) -> Script {
        let workload = Workload { data, steps: vec![step], ..Workload::default() };
        let target = Target { protocol: Protocol::Http1 { keep_alive }, ..Target::plain("127.0.0.1:80".parse().unwrap()) };
        Script::new(&workload, &target, 1, 0, 1)
    }

    fn written(script: &mut Script) -> String {
        let (mut vars, mut out) = (script.vars(), Vec::new());
        script.begin_round(&mut vars, 7);
        script.write_http1(0, &vars, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn parse(text: &str) -> Template {
        Template::parse(text).unwrap()
    }

    #[test]
    fn requests_in_which_nothing_varies() {
        let get = Step { headers: vec![("Accept".into(), "*/*".into())], ..Step::default() };
        assert_eq!(written(&mut script(get.clone(), vec![], true)), "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept: */*\r\n\r\n");
        assert_eq!(
            written(&mut script(get, vec![], false)),
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        );
        let post = Step { method: "POST".into(), ..Step::default() };
        assert_eq!(written(&mut script(post.clone(), vec![], true)), "POST / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 0\r\n\r\n");
        let with_body = Step { body: Body::Text("hello".into()), ..post };
        assert_eq!(
            written(&mut script(with_body, vec![], true)),
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 5\r\n\r\nhello"
        );
    }

    #[test]
    fn a_header_host_replaces_ours() {
        let step = Step { headers: vec![("host".into(), "example.org".into())], ..Step::default() };
        assert_eq!(written(&mut script(step, vec![], true)), "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
    }

    #[test]
    fn http2_has_the_same_request_in_its_own_form() {
        let step = Step {
            method: "POST".into(),
            path: parse("/${user}"),
            headers: vec![("A".into(), "b".into()), ("Upgrade".into(), "x".into()), ("V".into(), parse("${round}"))],
            body: Body::Text(parse("n${round}")),
            ..Step::default()
        };
        let workload = Workload { steps: vec![step], ..Workload::default() };
        let target = Target { protocol: Protocol::Http2, ..Target::plain("127.0.0.1:80".parse().unwrap()) };
        let mut script = Script::new(&workload, &target, 1, 0, 1);
        let (mut vars, mut block, mut body) = (script.vars(), vec![], vec![]);
        script.begin_round(&mut vars, 7);
        script.write_http2(0, &vars, &mut block, &mut body);
        let fields = http2::decode(&block).unwrap();
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
    fn values_stand_where_they_are_named_and_break_nothing() {
        let step = Step {
            method: "POST".into(),
            path: parse("/${x}?u=${user}"),
            headers: vec![("A".into(), "fixed".into()), ("B".into(), parse("<${x}>"))],
            body: Body::Text(parse("[${x}]")),
            ..Step::default()
        };
        let data = vec![Data { name: "x".into(), values: Values::Choice(vec!["a b\r\nC: d".into()]) }];
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
        fn every_request_can_be_read_and_announces_its_body(value in "\\PC{0,20}", path in "/[a-z]{0,5}", body in "[a-z ]{0,9}", has_value in any::<bool>()) {
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
