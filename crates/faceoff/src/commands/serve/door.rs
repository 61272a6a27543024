//! Who is let in, and what is said at the door: HTTP/1.1 by hyper, on one thread.

use super::desk::{Ask, Desk, Reply, as_page};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use model::name::percent_decoded;
use report::site::{refusal, style};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Connections at once; further ones are closed.
const CONNECTIONS: usize = 64;
/// Questions that wait for an answer, further ones are refused.
const WAITING: usize = 64;
/// A head is read within, and may be as long as.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
const HEAD_LONGEST: usize = 16 << 10;
/// A connection is closed after so long, whatever it does.
const CONNECTION_LONGEST: Duration = Duration::from_secs(600);

/// What a page of the site may do: use the site's style and its forms. There is no script.
const SITE_POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

type Question = (Ask, oneshot::Sender<Reply>);

/// The door, with whoever answers behind it.
pub struct Door {
    desk: mpsc::Sender<Question>,
    names: Vec<String>,
    record_policy: HeaderValue,
}

impl Door {
    /// Puts the desk on a thread of its own. `names` are those by which the site may be reached.
    pub fn new(mut desk: Desk, names: Vec<String>) -> Door {
        let (sender, mut questions) = mpsc::channel::<Question>(WAITING);
        std::thread::spawn(move || {
            while let Some((ask, answer)) = questions.blocking_recv() {
                // Whoever has gone needs no answer.
                if !answer.is_closed() {
                    let _ = answer.send(desk.answer(&ask));
                }
            }
        });
        let policy = format!("{}; frame-ancestors 'none'", report::policy());
        let record_policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
        Door { desk: sender, names, record_policy }
    }

    /// Serves until the process ends.
    pub fn serve(self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (door, places) = (Arc::new(self), Arc::new(Semaphore::new(CONNECTIONS)));
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Out of descriptors, most likely: others will be closed.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let (Ok(place), Ok(here)) = (Arc::clone(&places).try_acquire_owned(), stream.local_addr()) else { continue };
                let door = Arc::clone(&door);
                tokio::spawn(async move {
                    let answer = service_fn(|request: Request<Incoming>| {
                        let door = Arc::clone(&door);
                        // Nothing is read of a body.
                        let (head, _) = request.into_parts();
                        async move { Ok::<_, Infallible>(door.answer(head, here).await) }
                    });
                    let connection = hyper::server::conn::http1::Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(HEAD_WITHIN)
                        .max_buf_size(HEAD_LONGEST)
                        .serve_connection(TokioIo::new(stream), answer);
                    let _ = tokio::time::timeout(CONNECTION_LONGEST, connection).await;
                    drop(place);
                });
            }
        })
    }

    async fn answer(&self, head: Parts, here: SocketAddr) -> Response<Full<Bytes>> {
        if let Err((status, why)) = self.admit(&head, here) {
            return page(status, refusal("Not let in", why), SITE_POLICY);
        }
        let ask = match asked(head.uri.path(), head.uri.query().unwrap_or_default()) {
            Asked::Style => return sent(StatusCode::OK, "text/css; charset=utf-8", style(), SITE_POLICY),
            Asked::Icon => return sent(StatusCode::NO_CONTENT, "image/x-icon", String::new(), SITE_POLICY),
            Asked::Nothing => return page(StatusCode::NOT_FOUND, refusal("Not found", "There is no such page."), SITE_POLICY),
            Asked::Desk(ask) => ask,
        };
        let (sender, reply) = oneshot::channel();
        if self.desk.try_send((ask, sender)).is_err() {
            return page(StatusCode::SERVICE_UNAVAILABLE, refusal("Busy", "Too many pages are being made: try again."), SITE_POLICY);
        }
        let reply = reply.await.unwrap_or_else(|_| Reply::Failed("It went away.".into()));
        let is_record = matches!(reply, Reply::Record(_));
        let (status, html) = as_page(reply);
        let mut response = page(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), html, SITE_POLICY);
        if is_record {
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, self.record_policy.clone());
        }
        response
    }

    /// Whether a request is of this site: a page elsewhere can make a browser send requests here, also under a name of its own
    /// that it has point to this machine (DNS rebinding), but cannot have it say that they are ours.
    fn admit(&self, head: &Parts, here: SocketAddr) -> Result<(), (StatusCode, &'static str)> {
        let headers = &head.headers;
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "Pages are read here, with GET, and nothing else is done."));
        }
        let host = only(headers, &header::HOST).filter(|_| head.uri.authority().is_none());
        let Some(host) = host else { return Err((StatusCode::BAD_REQUEST, "The request names no host, or several.")) };
        if !is_ours(host, here.ip(), &self.names) {
            return Err((StatusCode::MISDIRECTED_REQUEST, "This site is not reached by that name: `--name` lets one in."));
        }
        let origin = headers.get_all(header::ORIGIN).iter().all(|origin| origin.as_bytes() == format!("http://{host}").as_bytes());
        let fetch = |name: &'static str| headers.get(HeaderName::from_static(name)).map(HeaderValue::as_bytes);
        let is_from_elsewhere = matches!(fetch("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
        if !origin || (is_from_elsewhere && fetch("sec-fetch-mode") != Some(b"navigate")) {
            return Err((StatusCode::FORBIDDEN, "Another site may link here, and may ask for nothing."));
        }
        Ok(())
    }
}

/// The value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())?.to_str().ok()
}

/// Whether a `Host` is this site: the address that the connection came to, `localhost` where that is loopback, or a name that was given.
fn is_ours(host: &str, here: IpAddr, names: &[String]) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) if port.is_empty() || is_port(port) => name,
        Some(_) => return false,
        None => match host.rsplit_once(':') {
            Some((name, port)) if is_port(&format!(":{port}")) => name,
            Some(_) => return false,
            None => host,
        },
    };
    let here = here.to_canonical();
    name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == here)
        || (name.eq_ignore_ascii_case("localhost") && here.is_loopback())
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// `:7670`
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok())
}

/// What a path and its query ask.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Style,
    Icon,
    Desk(Ask),
    Nothing,
}

fn asked(path: &str, query: &str) -> Asked {
    let field = |name: &str| {
        let fields = query.split('&').filter_map(|field| field.split_once('='));
        let value = fields.filter(|(key, _)| *key == name).map(|(_, value)| percent_decoded(&value.replace('+', " "))).next();
        value.and_then(Result::ok).unwrap_or_default()
    };
    let parts: Vec<Option<String>> = path.split('/').skip(1).map(|part| percent_decoded(part).ok()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| part.as_deref().unwrap_or_default()).collect();
    match parts.as_slice() {
        [""] => Asked::Desk(Ask::List(field("q"))),
        ["style.css"] => Asked::Style,
        ["favicon.ico"] => Asked::Icon,
        ["compare"] => Asked::Desk(Ask::Compare(field("a"), field("b"))),
        ["experiments", name] => Asked::Desk(Ask::Experiment((*name).to_owned(), field("form") == "quick", field("of"))),
        ["records", id] => Asked::Desk(Ask::Record((*id).to_owned())),
        ["records", id, "live"] => Asked::Desk(Ask::Live((*id).to_owned(), field("still") == "1")),
        _ => Asked::Nothing,
    }
}

fn page(status: StatusCode, html: String, policy: &'static str) -> Response<Full<Bytes>> {
    sent(status, "text/html; charset=utf-8", html, policy)
}

fn sent(status: StatusCode, kind: &'static str, text: String, policy: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let all = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    response.headers_mut().extend(all.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_itself_and_names_that_were_given_are_ours() {
        let names = ["lab.example".to_owned()];
        let is = |host: &str, here: &str| is_ours(host, here.parse().unwrap(), &names);
        for host in ["127.0.0.1", "127.0.0.1:7670", "localhost:7670", "LOCALHOST", "lab.example:80", "Lab.Example"] {
            assert!(is(host, "127.0.0.1"), "{host}");
        }
        assert!(is("[::1]:7670", "::1") && is("[::1]", "::1") && is("127.0.0.1:1", "::ffff:127.0.0.1") && is("192.0.2.7:80", "192.0.2.7"));
        for host in [
            "",
            "evil.example",
            "evil.example:7670",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:7670@evil.example",
            "127.0.0.2",
            "[::1]x",
            "localhost:70000",
            "localhost:",
        ] {
            assert!(!is(host, "127.0.0.1"), "{host}");
        }
        assert!(!is("localhost", "192.0.2.7"), "another machine's localhost is another");
    }

    #[test]
    fn paths_become_questions_and_never_paths() {
        let desk = |path, query| match asked(path, query) {
            Asked::Desk(ask) => ask,
            other => panic!("{other:?}"),
        };
        assert_eq!(desk("/", "q=go+proxy%26x"), Ask::List("go proxy&x".into()));
        assert_eq!(desk("/records/reality%2Fseed-1", ""), Ask::Record("reality/seed-1".into()));
        assert_eq!(desk("/records/a/live", "still=1"), Ask::Live("a".into(), true));
        assert_eq!(desk("/compare", "a=x&b=%79"), Ask::Compare("x".into(), "y".into()));
        assert_eq!(desk("/experiments/x", "form=quick&of=a%2Fb"), Ask::Experiment("x".into(), true, "a/b".into()));
        assert_eq!(desk("/records/..%2F..%2Fetc", ""), Ask::Record("../../etc".into()), "compared with what was found, where it is not");
        for nothing in ["/records", "/records/a/b", "/records/../etc/passwd", "//", "/style.css/x", ""] {
            assert_eq!(asked(nothing, ""), Asked::Nothing, "{nothing}");
        }
        assert_eq!(desk("/records/%ff", ""), Ask::Record(String::new()), "what is no text names nothing");
    }
}
