//! Connections to servers of the test: TLS in several forms, Unix sockets, IPv6, several addresses.

use load::tls::TlsOptions;
use load::{Address, LoadError, Measured, Plan, Protocol, Target, Wait};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion, version,
};
use spec::experiment::Load;
use spec::workload::{Answer, Body, BodyCheck, Statuses, Step, Workload};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Answers requests one after the other until the peer closes.
fn answer(mut stream: impl Read + Write) {
    let mut asked = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        asked.extend_from_slice(&piece[..length]);
        while let Some(end) = asked.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&asked[..end]).into_owned();
            let is_last = head.contains("Connection: close");
            let body = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "))
                .map_or(0, |n| n.parse().unwrap());
            if asked.len() < end + 4 + body {
                break;
            }
            asked.drain(..end + 4 + body);
            if stream.write_all(ANSWER).and_then(|()| stream.flush()).is_err() || is_last {
                return;
            }
        }
    }
}

fn run(target: &Target, connections: u32, requests: u64) -> Result<Measured, LoadError> {
    run_step(Step::default(), target, connections, requests)
}

fn run_step(
    step: Step,
    target: &Target,
    connections: u32,
    requests: u64,
) -> Result<Measured, LoadError> {
    let answer = Answer { body: BodyCheck::Text("hello".into()), ..Answer::default() };
    let workload = Workload {
        name: "hello".into(),
        steps: vec![Step { answer, ..step }],
        ..Workload::default()
    };
    let (load, stop) = (Load::closed(connections), AtomicBool::new(false));
    load::run(&Plan {
        target,
        workload: &workload,
        load: &load,
        duration: Duration::from_secs(20),
        requests: Some(requests),
        timeout: Duration::from_secs(5),
        seed: 1,
        threads: 1,
        wait: Wait::Asleep,
        stop: &stop,
        progress: None,
    })
}

/// A certificate authority and what it has signed, as files.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem())
            .unwrap();
        Authority { folder, issuer: Issuer::new(params, key) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a certificate and key for a name.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        let (chain_file, key_file) =
            (self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")));
        std::fs::write(&chain_file, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        (chain_file, key_file)
    }
}

/// What a server has seen of its clients.
#[derive(Default)]
struct Seen {
    names: Mutex<Vec<String>>,
    resumed: AtomicU64,
}

/// Starts a server for `localhost` with these TLS versions. Requests a client certificate if
/// configured.
fn serve_tls(
    authority: &Authority,
    versions: &[&'static SupportedProtocolVersion],
    asks: bool,
) -> (SocketAddr, Arc<Seen>) {
    serve_tls_with(authority, versions, asks, answer)
}

/// As [`serve_tls`], with a custom way to answer.
fn serve_tls_with(
    authority: &Authority,
    versions: &[&'static SupportedProtocolVersion],
    asks: bool,
    answer: impl Fn(StreamOwned<ServerConnection, TcpStream>) + Clone + Send + 'static,
) -> (SocketAddr, Arc<Seen>) {
    let (chain, key) = authority.sign("localhost");
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .unwrap();
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority.file("ca.pem")).unwrap()).unwrap();
        builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap(),
        )
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![CertificateDer::from_pem_file(chain).unwrap()];
    let config = Arc::new(
        builder.with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Seen::default()));
    std::thread::spawn({
        let seen = seen.clone();
        move || {
            for socket in listener.incoming().flatten() {
                let (config, seen, answer) = (config.clone(), seen.clone(), answer.clone());
                std::thread::spawn(move || {
                    let mut stream =
                        StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
                    while stream.conn.is_handshaking() {
                        if stream.conn.complete_io(&mut stream.sock).is_err() {
                            return;
                        }
                    }
                    seen.names.lock().unwrap().extend(stream.conn.server_name().map(str::to_owned));
                    let resumed =
                        stream.conn.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
                    seen.resumed.fetch_add(resumed.into(), Ordering::Relaxed);
                    answer(stream);
                });
            }
        }
    });
    (address, seen)
}

fn target(address: SocketAddr, host: &str, tls: &TlsOptions, keep_alive: bool) -> Target {
    let protocol = Protocol::Http1 { keep_alive };
    Target {
        addresses: vec![Address::Tcp(address)],
        host: host.to_owned(),
        protocol,
        tls: Some(tls.client(host).unwrap()),
        path: None,
    }
}

#[test]
fn each_tls_version_accepts_a_trusted_certificate() {
    let authority = Authority::new();
    let trusting = TlsOptions { ca: Some(authority.file("ca.pem")), ..TlsOptions::default() };
    for version in [&version::TLS12, &version::TLS13] {
        let (address, seen) = serve_tls(&authority, &[version], false);
        let measured = run(&target(address, "localhost", &trusting, true), 2, 50).unwrap();
        assert_eq!(measured.counts.correct, 50, "{version:?}: {:?}", measured.examples);
        assert!(seen.names.lock().unwrap().iter().all(|name| name == "localhost"));
    }
}

#[test]
fn ask_uses_http1_over_tls_for_every_protocol() {
    let authority = Authority::new();
    let (address, _) = serve_tls(&authority, &[&version::TLS13], false);
    let offering = TlsOptions { insecure: true, http2: true, ..TlsOptions::default() };
    let target =
        Target { protocol: Protocol::Http2, ..target(address, "localhost", &offering, true) };
    let answer = Answer { body: BodyCheck::Text("hello".into()), ..Answer::default() };
    let steps = vec![Step { answer, ..Step::default() }; 2];
    let workload = Workload { name: "hello".into(), steps, ..Workload::default() };
    load::ask(address, &target, &workload, Duration::from_secs(20)).unwrap();
}

#[test]
fn bodies_of_any_size_are_sent_over_tls() {
    let authority = Authority::new();
    let trusting = TlsOptions { ca: Some(authority.file("ca.pem")), ..TlsOptions::default() };
    let (address, _) = serve_tls(&authority, &[&version::TLS13], false);
    let target = target(address, "localhost", &trusting, true);
    let step =
        Step { method: "POST".into(), body: Body::Bytes(vec![b'x'; 3 << 20]), ..Step::default() };
    let measured = run_step(step, &target, 2, 6).unwrap();
    assert_eq!(measured.counts.correct, 6, "{:?}", measured.examples);
}

#[test]
fn unframed_response_fails_if_tls_is_truncated() {
    let authority = Authority::new();
    let insecure = TlsOptions { insecure: true, ..TlsOptions::default() };
    for says_so in [true, false] {
        let (address, _) =
            serve_tls_with(&authority, &[&version::TLS13], false, move |mut stream| {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello");
                if says_so {
                    stream.conn.send_close_notify();
                }
                let _ = stream.flush();
            });
        let measured = run(&target(address, "localhost", &insecure, true), 1, 3).unwrap();
        let found = (measured.counts.correct, measured.counts.broken);
        assert_eq!(found, if says_so { (3, 0) } else { (0, 3) }, "{:?}", measured.examples);
    }
}

#[test]
fn untrusted_certificate_is_refused_with_the_reason() {
    let authority = Authority::new();
    let (address, _) = serve_tls(&authority, &[&version::TLS13], false);
    let stranger = Authority::new();
    let trusting = |ca: PathBuf| TlsOptions { ca: Some(ca), ..TlsOptions::default() };
    for (options, host, why) in [
        (trusting(stranger.file("ca.pem")), "localhost", "invalid peer certificate"),
        (trusting(authority.file("ca.pem")), "example.com", "not valid for name"),
    ] {
        let measured = run(&target(address, host, &options, true), 1, 3).unwrap();
        assert_eq!(
            (measured.counts.refused, measured.counts.correct),
            (3, 0),
            "{:?}",
            measured.counts
        );
        assert!(measured.examples[0].contains(why), "{why}: {:?}", measured.examples);
    }
    let insecure = TlsOptions { insecure: true, ..TlsOptions::default() };
    assert_eq!(
        run(&target(address, "example.com", &insecure, true), 1, 3).unwrap().counts.correct,
        3
    );
}

#[test]
fn client_certificate_is_sent_on_request() {
    let authority = Authority::new();
    let certificate = Some(authority.sign("client"));
    for version in [&version::TLS12, &version::TLS13] {
        let (address, _) = serve_tls(&authority, &[version], true);
        let with = TlsOptions {
            ca: Some(authority.file("ca.pem")),
            certificate: certificate.clone(),
            ..TlsOptions::default()
        };
        let measured = run(&target(address, "localhost", &with, true), 1, 5).unwrap();
        assert_eq!(measured.counts.correct, 5, "{version:?}: {:?}", measured.examples);
        let without = TlsOptions { certificate: None, ..with };
        let measured = run(&target(address, "localhost", &without, true), 1, 3).unwrap();
        assert_eq!(measured.counts.correct, 0);
        assert!(
            measured.examples.iter().any(|e| e.contains("ertificate")),
            "{version:?}: {:?}",
            measured.examples
        );
    }
}

#[test]
fn sessions_resume_and_handshakes_count_as_latency() {
    let authority = Authority::new();
    let trusting = TlsOptions { ca: Some(authority.file("ca.pem")), ..TlsOptions::default() };
    for version in [&version::TLS12, &version::TLS13] {
        let (address, seen) = serve_tls(&authority, &[version], false);
        let measured = run(&target(address, "localhost", &trusting, false), 1, 30).unwrap();
        assert_eq!(measured.counts.correct, 30, "{version:?}: {:?}", measured.examples);
        assert_eq!(measured.connections_opened, 30);
        assert_eq!(measured.handshake.len(), 30, "one handshake for each connection");
        assert_eq!(measured.resumed, 29, "{version:?}: all but the first");
        assert_eq!(
            seen.resumed.load(Ordering::Relaxed),
            29,
            "{version:?}: and the server says so, too"
        );
        assert!(
            measured.service.min_ns() > measured.handshake.min_ns() + measured.connect.min_ns(),
            "on the path, it counts"
        );
    }
}

#[test]
fn server_without_tls_is_refused_with_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let measured = run(
        &target(
            address,
            "localhost",
            &TlsOptions { insecure: true, ..TlsOptions::default() },
            true,
        ),
        1,
        2,
    )
    .unwrap();
    assert_eq!(measured.counts.refused, 2, "{:?}", measured.counts);
    assert!(measured.examples[0].starts_with("TLS: "), "{:?}", measured.examples);
}

#[test]
fn unusable_tls_files_are_errors_before_connecting() {
    let authority = Authority::new();
    let (chain, _) = authority.sign("client");
    let missing = authority.file("missing.pem");
    let why = |options: TlsOptions| options.client("localhost").err().unwrap();
    let ca = |file: &PathBuf| TlsOptions { ca: Some(file.clone()), ..TlsOptions::default() };
    assert!(why(ca(&missing)).contains("missing.pem"));
    std::fs::write(&missing, "no certificate").unwrap();
    assert!(why(ca(&missing)).contains("contains no certificate authority"));
    let wrong_key = TlsOptions {
        insecure: true,
        certificate: Some((chain.clone(), chain)),
        ..TlsOptions::default()
    };
    assert!(why(wrong_key).contains("the key "));
    assert!(TlsOptions { insecure: true, ..TlsOptions::default() }.client("not a host").is_err());
}

/// Answers on a listener. Returns its address and a count of accepted connections.
fn counting(listener: TcpListener) -> (SocketAddr, Arc<AtomicU64>) {
    let (address, accepted) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
    std::thread::spawn({
        let accepted = accepted.clone();
        move || {
            for stream in listener.incoming().flatten() {
                accepted.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || answer(stream));
            }
        }
    });
    (address, accepted)
}

#[test]
fn unix_sockets_work_and_addresses_rotate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        listener
            .incoming()
            .flatten()
            .for_each(|stream| drop(std::thread::spawn(move || answer(stream))))
    });
    let of = |addresses: Vec<Address>, keep_alive| Target {
        addresses,
        host: "localhost".into(),
        protocol: Protocol::Http1 { keep_alive },
        tls: None,
        path: None,
    };
    let serve = |bind: &str| counting(TcpListener::bind(bind).unwrap());
    assert_eq!(run(&of(vec![Address::Unix(path)], true), 2, 20).unwrap().counts.correct, 20);
    let missing = run(&of(vec![Address::Unix(folder.path().join("missing"))], true), 1, 2).unwrap();
    assert_eq!(missing.counts.refused, 2, "{:?}", missing.examples);

    let (first, second) = (serve("127.0.0.1:0"), serve("127.0.0.2:0"));
    let both = of(vec![Address::Tcp(first.0), Address::Tcp(second.0)], false);
    assert_eq!(run(&both, 1, 20).unwrap().counts.correct, 20);
    assert_eq!(
        (first.1.load(Ordering::Relaxed), second.1.load(Ordering::Relaxed)),
        (10, 10),
        "addresses rotate"
    );
    // An address that refuses costs no request if another accepts.
    let unused = "127.0.0.1:1".parse().unwrap();
    for keep_alive in [true, false] {
        let measured =
            run(&of(vec![Address::Tcp(unused), Address::Tcp(first.0)], keep_alive), 4, 40).unwrap();
        assert_eq!(measured.counts.correct, 40, "{:?}", measured.examples);
    }
}

#[test]
#[ignore = "needs IPv6"]
fn ipv6_address_is_reached() {
    let listener = TcpListener::bind("[::1]:0")
        .expect("this test needs IPv6\nhint: have the loopback interface carry ::1");
    let (address, accepted) = counting(listener);
    assert_eq!(run(&Target::plain(address), 1, 5).unwrap().counts.correct, 5);
    assert_eq!(accepted.load(Ordering::Relaxed), 1);
}

#[test]
fn hear_returns_the_body_without_framing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let chunked: &[u8] = b"HTTP/1.1 203 x\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    let answers = [chunked, b"HTTP/1.1 404 x\r\nContent-Length: 2\r\n\r\nno"];
    let server = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            let _ = stream.read(&mut asked).unwrap();
            // In pieces, as a network may deliver it.
            for piece in answer.chunks(20) {
                stream.write_all(piece).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let workload = Workload {
        name: "w".into(),
        steps: vec![Step {
            answer: Answer { status: Statuses::parse("2xx").unwrap(), ..Answer::default() },
            ..Step::default()
        }],
        ..Workload::default()
    };
    let hear = || load::hear(address, &Target::plain(address), &workload, Duration::from_secs(5));
    let heard = hear().unwrap();
    assert_eq!(
        (heard.status, heard.kept.body.as_slice(), heard.kept.content_type.as_deref()),
        (203, &b"hello"[..], Some("a/b"))
    );
    let wrong = hear().unwrap_err().to_string();
    assert!(wrong.starts_with("GET /: status 404 instead of"), "{wrong}");
    server.join().unwrap();
}
