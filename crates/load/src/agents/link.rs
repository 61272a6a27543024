//! The connection between a coordinator and an agent: TLS 1.3, a shared token, and messages.
//!
//! The agent creates its own certificate, which no authority has signed. The token authenticates
//! both ends. Each end sends a proof that is derived from the token and the keys of this
//! connection: exported keying material (RFC 8446, 7.5) with the token as its context. The
//! coordinator proves itself first, then the agent.
//!
//! So the token is never sent, and a proof is worthless on another connection. An attacker in the
//! middle has two connections with different keys, so neither proof is valid on the other.

use crate::clock;
use crate::tls::AcceptAny;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use serde::Serialize;
use serde::de::DeserializeOwned;
use spec::problem::Problems;
use spec::secret;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name in an agent's certificate.
const NAME: &str = "faceoff-agent";
/// The labels that distinguish the proofs of the two ends.
const OF_COORDINATOR: &[u8] = b"EXPERIMENTAL faceoff coordinator";
const OF_AGENT: &[u8] = b"EXPERIMENTAL faceoff agent";
const PROOF_BYTES: usize = 32;
/// The time limit for both proofs.
const GREETING_WITHIN: Duration = Duration::from_secs(5);
/// The minimum length of a token in bytes. Shorter ones could be guessed.
pub const TOKEN_SHORTEST: usize = 32;
/// The environment variable that contains the token.
pub const TOKEN_VARIABLE: &str = "FACEOFF_AGENT_TOKEN";

/// The secret that a coordinator and its agents share.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// Creates a token from a text, without surrounding white space.
    ///
    /// # Errors
    /// A token that is too short.
    pub fn new(text: &str) -> Result<Token, String> {
        let text = text.trim();
        if text.len() < TOKEN_SHORTEST {
            return Err(format!(
                "a token of {} bytes can be guessed\nhint: use {TOKEN_SHORTEST} bytes or more, such as the output of `openssl rand -hex 32`",
                text.len()
            ));
        }
        Ok(Token(text.as_bytes().to_vec()))
    }

    /// Reads the token from the environment. It is masked in all output from now on.
    ///
    /// # Errors
    /// A token that is missing or too short.
    pub fn from_environment() -> Result<Token, Problems> {
        let text = secret::value(TOKEN_VARIABLE).map_err(Problems::from)?;
        Token::new(&text).map_err(|why| {
            let (cause, hint) =
                why.split_once("\nhint: ").unwrap_or((why.as_str(), "choose another"));
            Problems::plain(format!("{TOKEN_VARIABLE}: {cause}"), hint)
        })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

/// Creates a key and a self-signed certificate.
#[cfg(any(test, feature = "agent"))]
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), String> {
    let failed = |e: rcgen::Error| format!("cannot create a certificate: {e}");
    let key = rcgen::KeyPair::generate().map_err(failed)?;
    let parameters = rcgen::CertificateParams::new(vec![NAME.to_owned()]);
    let certificate = parameters.and_then(|it| it.self_signed(&key)).map_err(failed)?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(key)))
}

#[cfg(not(any(test, feature = "agent")))]
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), String> {
    Err("cannot create a certificate: this build lacks the feature `agent`".into())
}

/// Configures TLS for an agent, with a new certificate.
///
/// # Errors
/// If no key can be created.
pub fn agent_tls() -> Result<Arc<ServerConfig>, String> {
    let (certificate, key) = own_certificate()?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13]);
    let config =
        builder.and_then(|b| b.with_no_client_auth().with_single_cert(vec![certificate], key));
    config.map(Arc::new).map_err(|e| format!("TLS: {e}"))
}

/// A socket whose reads and writes end at an instant.
struct Timed {
    tcp: TcpStream,
    until_ns: Arc<AtomicU64>,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until_ns.load(Ordering::Relaxed).saturating_sub(clock::now_ns()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            // A timeout below a microsecond would mean none.
            left => Ok(Some(Duration::from_nanos(left.max(1_000)))),
        }
    }
}

/// A socket reports a timeout like an empty buffer.
fn in_time(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tcp.set_read_timeout(self.left()?)?;
        self.tcp.read(buffer).map_err(in_time)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tcp.set_write_timeout(self.left()?)?;
        self.tcp.write(bytes).map_err(in_time)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// An authenticated connection.
pub(crate) struct Link {
    stream: Box<dyn Stream>,
    until_ns: Arc<AtomicU64>,
}

impl Link {
    /// Connects to an agent.
    ///
    /// # Errors
    /// If nothing listens there, it does not use TLS, or it has another token.
    pub fn to_agent(address: SocketAddr, token: &Token) -> io::Result<Link> {
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?;
        // The token authenticates the agent, not its certificate.
        let config = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
            .with_no_client_auth();
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        let (timed, until_ns) = greeted(TcpStream::connect_timeout(&address, GREETING_WITHIN)?)?;
        let mut tls = StreamOwned::new(
            ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?,
            timed,
        );
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock)?;
        }
        let ours = tls
            .conn
            .export_keying_material([0; PROOF_BYTES], OF_COORDINATOR, Some(&token.0))
            .map_err(io::Error::other)?;
        let theirs = tls
            .conn
            .export_keying_material([0; PROOF_BYTES], OF_AGENT, Some(&token.0))
            .map_err(io::Error::other)?;
        tls.write_all(&ours)?;
        tls.flush()?;
        // An agent closes the connection if the token is wrong.
        expect(&mut tls, &theirs).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => not_known(),
            _ => e,
        })?;
        Ok(Link { stream: Box::new(tls), until_ns })
    }

    /// Accepts a coordinator.
    ///
    /// # Errors
    /// If the peer does not use TLS, or has another token.
    pub fn from_coordinator(
        tcp: TcpStream,
        config: Arc<ServerConfig>,
        token: &Token,
    ) -> io::Result<Link> {
        let (timed, until_ns) = greeted(tcp)?;
        let mut tls =
            StreamOwned::new(ServerConnection::new(config).map_err(io::Error::other)?, timed);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock)?;
        }
        let theirs = tls
            .conn
            .export_keying_material([0; PROOF_BYTES], OF_COORDINATOR, Some(&token.0))
            .map_err(io::Error::other)?;
        let ours = tls
            .conn
            .export_keying_material([0; PROOF_BYTES], OF_AGENT, Some(&token.0))
            .map_err(io::Error::other)?;
        // Nothing is sent to a peer before its proof.
        expect(&mut tls, &theirs)?;
        tls.write_all(&ours)?;
        tls.flush()?;
        Ok(Link { stream: Box::new(tls), until_ns })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the connection is lost or the message is not sent in time.
    pub fn send(&mut self, message: &impl Serialize, within: Duration) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        let length =
            u32::try_from(text.len()).map_err(|_| io::Error::other("the message is too long"))?;
        self.has(within);
        self.stream.write_all(&length.to_be_bytes())?;
        self.stream.write_all(&text)?;
        self.stream.flush()
    }

    /// Receives a message of at most `longest` bytes.
    ///
    /// # Errors
    /// If the connection is lost, nothing arrives in time, or the message is invalid.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        longest: u32,
        within: Duration,
    ) -> io::Result<T> {
        self.has(within);
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).map_err(hung_up)?;
        let length = u32::from_be_bytes(length);
        if length > longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a message of {length} bytes, of at most {longest}"),
            ));
        }
        // Allocates for bytes that arrive, not for the announced length.
        let mut text = Vec::new();
        Read::by_ref(&mut self.stream)
            .take(length.into())
            .read_to_end(&mut text)
            .map_err(hung_up)?;
        if text.len() < length as usize {
            return Err(hung_up(io::ErrorKind::UnexpectedEof.into()));
        }
        // Does not quote the message, which may contain a secret of the other end.
        let none = |e: serde_json::Error| {
            format!(
                "an invalid message at byte {}: check that both ends have the same version",
                e.column()
            )
        };
        serde_json::from_slice(&text)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, none(e)))
    }

    fn has(&self, within: Duration) {
        self.until_ns
            .store(clock::now_ns().saturating_add(within.as_nanos() as u64), Ordering::Relaxed);
    }
}

/// Prepares a socket and sets the time limit for the proofs.
fn greeted(tcp: TcpStream) -> io::Result<(Timed, Arc<AtomicU64>)> {
    tcp.set_nodelay(true)?;
    let until_ns = Arc::new(AtomicU64::new(clock::now_ns() + GREETING_WITHIN.as_nanos() as u64));
    Ok((Timed { tcp, until_ns: until_ns.clone() }, until_ns))
}

/// Reads the proof of the other end and compares it in constant time.
fn expect(stream: &mut impl Read, proof: &[u8; PROOF_BYTES]) -> io::Result<()> {
    let mut shown = [0; PROOF_BYTES];
    stream.read_exact(&mut shown).map_err(hung_up)?;
    match shown.iter().zip(proof).fold(0, |differs, (a, b)| differs | (a ^ b)) {
        0 => Ok(()),
        _ => Err(not_known()),
    }
}

/// Replaces the message of TLS about the end of a connection, which is meant for programmers.
fn hung_up(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        io::Error::new(error.kind(), "it hung up")
    } else {
        error
    }
}

fn not_known() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the two ends have different tokens")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const SECOND: Duration = Duration::from_secs(1);

    fn token(text: &str) -> Token {
        Token::new(&text.repeat(TOKEN_SHORTEST)).unwrap()
    }

    /// Connects an agent and a coordinator. Returns the results of both ends.
    fn met(agent: Token, coordinator: Token) -> (io::Result<Link>, io::Result<Link>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let agent = std::thread::spawn(move || {
            Link::from_coordinator(listener.accept().unwrap().0, agent_tls().unwrap(), &agent)
        });
        let coordinator = Link::to_agent(address, &coordinator);
        (agent.join().unwrap(), coordinator)
    }

    #[test]
    fn same_token_connects_and_exchanges_messages() {
        let (agent, coordinator) = met(token("a"), token("a"));
        let (mut agent, mut coordinator) = (agent.unwrap(), coordinator.unwrap());
        coordinator.send(&vec!["one", "two"], SECOND).unwrap();
        assert_eq!(agent.receive::<Vec<String>>(100, SECOND).unwrap(), ["one", "two"]);
        agent.send(&7, SECOND).unwrap();
        assert!(
            coordinator.receive::<String>(100, SECOND).unwrap_err().to_string().contains("invalid"),
            "a number is not a text"
        );
        coordinator.send(&"a secret", SECOND).unwrap();
        assert!(
            !agent.receive::<u8>(100, SECOND).unwrap_err().to_string().contains("secret"),
            "the message is not quoted"
        );
        agent.send(&"longer than that", SECOND).unwrap();
        assert!(
            coordinator
                .receive::<String>(5, SECOND)
                .unwrap_err()
                .to_string()
                .contains("of at most 5")
        );
        let begun = clock::now_ns();
        assert_eq!(
            agent.receive::<u8>(5, SECOND / 20).unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        assert!(clock::now_ns() - begun < 1_000_000_000);
        drop(coordinator);
        assert_eq!(agent.receive::<u8>(5, SECOND).unwrap_err().to_string(), "it hung up");
    }

    #[test]
    fn different_tokens_are_refused_at_both_ends() {
        let (agent, coordinator) = met(token("a"), token("b"));
        assert_eq!(agent.err().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(coordinator.err().unwrap().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn peer_without_tls_or_proof_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let plain = std::thread::spawn(move || {
            let mut tcp = TcpStream::connect(address).unwrap();
            tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut said = Vec::new();
            let _ = tcp.read_to_end(&mut said);
            said
        });
        assert!(
            Link::from_coordinator(listener.accept().unwrap().0, agent_tls().unwrap(), &token("a"))
                .is_err()
        );
        let said = plain.join().unwrap();
        assert!(said.len() < 16, "only an alert: {said:?}");
    }

    #[test]
    fn short_token_is_refused_and_no_token_is_printed() {
        assert!(Token::new("secret").unwrap_err().contains("hint:"));
        assert_eq!(format!("{:?}", token("a")), "Token(...)");
        assert_eq!(Token::new(&format!(" {}\n", "x".repeat(32))).unwrap().0.len(), 32);
    }
}
