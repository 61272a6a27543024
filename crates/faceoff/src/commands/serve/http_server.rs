//! The web server of `faceoff serve`: HTTP/1.1 on one thread, with hyper.
//!
//! It decides which requests are allowed, and hands them to the page cache on its own thread. Start
//! at [`HttpServer::admit`] for the rules.

use super::page_cache::{PageCache, PageRequest, Reply, as_page};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use report::site::{refusal, style};
use spec::name::percent_decoded;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Maximum number of connections; further ones are closed.
const CONNECTIONS: usize = 64;
/// Maximum number of requests that wait for a page; further ones are refused.
const WAITING: usize = 64;
/// Time limit for reading a request's head.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Maximum size of a request's head, in bytes.
const HEAD_LONGEST: usize = 16 << 10;
/// Maximum duration of a connection.
const CONNECTION_LONGEST: Duration = Duration::from_secs(600);

/// The content security policy of the site's pages: its own styles and forms, and no script.
const SITE_POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

type Question = (PageRequest, oneshot::Sender<Reply>);

/// The server, connected to the page cache.
pub struct HttpServer {
    pages: mpsc::Sender<Question>,
    names: Vec<String>,
    record_policy: HeaderValue,
}

impl HttpServer {
    /// Starts the page cache on its own thread. `names` are further host names of the site.
    pub fn new(mut pages: PageCache, names: Vec<String>) -> HttpServer {
        let (sender, mut questions) = mpsc::channel::<Question>(WAITING);
        std::thread::spawn(move || {
            while let Some((request, answer)) = questions.blocking_recv() {
                // A closed channel means that the client has gone.
                if !answer.is_closed() {
                    let _ = answer.send(pages.answer(&request));
                }
            }
        });
        let policy = format!("{}; frame-ancestors 'none'", report::policy());
        let record_policy = HeaderValue::from_str(&policy)
            .unwrap_or(HeaderValue::from_static("default-src 'none'"));
        HttpServer { pages: sender, names, record_policy }
    }

    /// Serves until the process ends.
    pub fn serve(self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (server, places) = (Arc::new(self), Arc::new(Semaphore::new(CONNECTIONS)));
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Most likely out of descriptors: wait for others to be closed.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let (Ok(place), Ok(here)) =
                    (Arc::clone(&places).try_acquire_owned(), stream.local_addr())
                else {
                    continue;
                };
                let server = Arc::clone(&server);
                tokio::spawn(async move {
                    let answer = service_fn(|request: Request<Incoming>| {
                        let server = Arc::clone(&server);
                        // The body is not read.
                        let (head, _) = request.into_parts();
                        async move { Ok::<_, Infallible>(server.answer(head, here).await) }
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
            return page(status, refusal("Not allowed", why), SITE_POLICY);
        }
        let request = match route(head.uri.path(), head.uri.query().unwrap_or_default()) {
            Route::Style => {
                return sent(StatusCode::OK, "text/css; charset=utf-8", style(), SITE_POLICY);
            }
            Route::Icon => {
                return sent(StatusCode::NO_CONTENT, "image/x-icon", String::new(), SITE_POLICY);
            }
            Route::Nothing => {
                return page(
                    StatusCode::NOT_FOUND,
                    refusal("Not found", "There is no such page."),
                    SITE_POLICY,
                );
            }
            Route::Page(request) => request,
        };
        let (sender, reply) = oneshot::channel();
        if self.pages.try_send((request, sender)).is_err() {
            return page(
                StatusCode::SERVICE_UNAVAILABLE,
                refusal("Busy", "Too many pages are requested at the moment: try again."),
                SITE_POLICY,
            );
        }
        let reply =
            reply.await.unwrap_or_else(|_| Reply::Failed("The page could not be created.".into()));
        let is_record = matches!(reply, Reply::Record(_));
        let (status, html) = as_page(reply);
        let mut response = page(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            html,
            SITE_POLICY,
        );
        if is_record {
            response
                .headers_mut()
                .insert(header::CONTENT_SECURITY_POLICY, self.record_policy.clone());
        }
        response
    }

    /// Refuses requests that do not come from this site.
    ///
    /// A page elsewhere can make a browser send requests here, even under its own name that points
    /// to this machine (DNS rebinding). It cannot make the browser send our host and origin.
    fn admit(&self, head: &Parts, here: SocketAddr) -> Result<(), (StatusCode, &'static str)> {
        let headers = &head.headers;
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "This site only serves pages, with GET."));
        }
        let host = only(headers, &header::HOST).filter(|_| head.uri.authority().is_none());
        let Some(host) = host else {
            return Err((StatusCode::BAD_REQUEST, "The request has no Host header, or several."));
        };
        if !is_ours(host, here.ip(), &self.names) {
            return Err((
                StatusCode::MISDIRECTED_REQUEST,
                "This host name is not allowed: start `faceoff serve` with `--name` to allow it.",
            ));
        }
        let origin = headers
            .get_all(header::ORIGIN)
            .iter()
            .all(|origin| origin.as_bytes() == format!("http://{host}").as_bytes());
        let fetch = |name: &'static str| {
            headers.get(HeaderName::from_static(name)).map(HeaderValue::as_bytes)
        };
        let is_from_elsewhere =
            matches!(fetch("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
        if !origin || (is_from_elsewhere && fetch("sec-fetch-mode") != Some(b"navigate")) {
            return Err((
                StatusCode::FORBIDDEN,
                "Other sites may link here, but may not send requests.",
            ));
        }
        Ok(())
    }
}

/// Returns the value of a header that occurs exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    all.next().filter(|_| all.next().is_none())?.to_str().ok()
}

/// Whether a `Host` names this site.
///
/// Allowed are the connection's own address, `localhost` if that is a loopback address, and the
/// names that were given.
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

/// Whether a text is a port, such as `:7670`.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| {
        digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok()
    })
}

/// What a path and its query lead to.
#[derive(Debug, PartialEq, Eq)]
enum Route {
    Style,
    Icon,
    Page(PageRequest),
    Nothing,
}

fn route(path: &str, query: &str) -> Route {
    let field = |name: &str| {
        let fields = query.split('&').filter_map(|field| field.split_once('='));
        let value = fields
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| percent_decoded(&value.replace('+', " ")))
            .next();
        value.and_then(Result::ok).unwrap_or_default()
    };
    let parts: Vec<Option<String>> =
        path.split('/').skip(1).map(|part| percent_decoded(part).ok()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| part.as_deref().unwrap_or_default()).collect();
    match parts.as_slice() {
        [""] => Route::Page(PageRequest::List(field("q"))),
        ["style.css"] => Route::Style,
        ["favicon.ico"] => Route::Icon,
        ["compare"] => Route::Page(PageRequest::Compare(field("a"), field("b"))),
        ["experiments", name] => Route::Page(PageRequest::Experiment(
            (*name).to_owned(),
            field("form") == "quick",
            field("of"),
        )),
        ["records", id] => Route::Page(PageRequest::Record((*id).to_owned())),
        ["records", id, "live"] => {
            Route::Page(PageRequest::Live((*id).to_owned(), field("still") == "1"))
        }
        _ => Route::Nothing,
    }
}

fn page(status: StatusCode, html: String, policy: &'static str) -> Response<Full<Bytes>> {
    sent(status, "text/html; charset=utf-8", html, policy)
}

fn sent(
    status: StatusCode,
    kind: &'static str,
    text: String,
    policy: &'static str,
) -> Response<Full<Bytes>> {
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
    fn only_own_address_and_given_names_are_accepted() {
        let names = ["lab.example".to_owned()];
        let is = |host: &str, here: &str| is_ours(host, here.parse().unwrap(), &names);
        for host in [
            "127.0.0.1",
            "127.0.0.1:7670",
            "localhost:7670",
            "LOCALHOST",
            "lab.example:80",
            "Lab.Example",
        ] {
            assert!(is(host, "127.0.0.1"), "{host}");
        }
        assert!(
            is("[::1]:7670", "::1")
                && is("[::1]", "::1")
                && is("127.0.0.1:1", "::ffff:127.0.0.1")
                && is("192.0.2.7:80", "192.0.2.7")
        );
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
        assert!(!is("localhost", "192.0.2.7"), "localhost of another machine");
    }

    #[test]
    fn urls_become_requests_and_never_file_paths() {
        let pages = |path, query| match route(path, query) {
            Route::Page(request) => request,
            other => panic!("{other:?}"),
        };
        assert_eq!(pages("/", "q=go+proxy%26x"), PageRequest::List("go proxy&x".into()));
        assert_eq!(
            pages("/records/reality%2Fseed-1", ""),
            PageRequest::Record("reality/seed-1".into())
        );
        assert_eq!(pages("/records/a/live", "still=1"), PageRequest::Live("a".into(), true));
        assert_eq!(pages("/compare", "a=x&b=%79"), PageRequest::Compare("x".into(), "y".into()));
        assert_eq!(
            pages("/experiments/x", "form=quick&of=a%2Fb"),
            PageRequest::Experiment("x".into(), true, "a/b".into())
        );
        assert_eq!(
            pages("/records/..%2F..%2Fetc", ""),
            PageRequest::Record("../../etc".into()),
            "no record has this id"
        );
        for nothing in
            ["/records", "/records/a/b", "/records/../etc/passwd", "//", "/style.css/x", ""]
        {
            assert_eq!(route(nothing, ""), Route::Nothing, "{nothing}");
        }
        assert_eq!(
            pages("/records/%ff", ""),
            PageRequest::Record(String::new()),
            "invalid UTF-8 names nothing"
        );
    }
}
