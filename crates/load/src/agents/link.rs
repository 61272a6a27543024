//! A connection between a coordinator and an agent: TLS 1.3, a token that both have, and messages.
//!
//! The agent makes itself a certificate, which nobody has signed. What makes sure of who is there is the token: each end shows a
//! value that follows from it and from the keys of this very connection (exported keying material, RFC 8446, 7.5, with the token as its
//! context), first the coordinator, then the agent. So the token itself is never sent, what was shown on one connection is worth
//! nothing on another, and whoever stands between the two has two connections with different keys.

use crate::clock;
use crate::tls::Anybody;
use model::problem::Problems;
use model::secret;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name in an agent's certificate.
const NAME: &str = "faceoff-agent";
/// What sets the proofs of the two ends apart.
const OF_COORDINATOR: &[u8] = b"EXPERIMENTAL faceoff coordinator";
const OF_AGENT: &[u8] = b"EXPERIMENTAL faceoff agent";
const PROOF_BYTES: usize = 32;
/// Both ends have shown that they are who they should be within.
const GREETING_WITHIN: Duration = Duration::from_secs(5);
/// The fewest bytes of a token: what is shorter could be guessed.
pub const TOKEN_SHORTEST: usize = 32;
/// The environment variable that holds it.
pub const TOKEN_VARIABLE: &str = "FACEOFF_AGENT_TOKEN";

/// What a coordinator and its agents know, and nobody else.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// A token, without white space around it.
    ///
    /// # Errors
    /// One that could be guessed.
    pub fn new(text: &str) -> Result<Token, String> {
        let text = text.trim();
        if text.len() < TOKEN_SHORTEST {
            return Err(format!(
                "a token of {} bytes could be guessed\nhint: take {TOKEN_SHORTEST} or more, such as `openssl rand -hex 32` prints",
                text.len()
            ));
        }
        Ok(Token(text.as_bytes().to_vec()))
    }

    /// The token of the environment, which is kept out of what is written from now on.
    ///
    /// # Errors
    /// None there, or one that could be guessed.
    pub fn of_environment() -> Result<Token, Problems> {
        let text = secret::value(TOKEN_VARIABLE).map_err(Problems::from)?;
        Token::new(&text).map_err(|why| {
            let (cause, hint) = why.split_once("\nhint: ").unwrap_or((why.as_str(), "choose another"));
            Problems::plain(format!("{TOKEN_VARIABLE}: {cause}"), hint)
        })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

/// A new key and a certificate of it that the key itself has signed.
#[cfg(any(test, feature = "agent"))]
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), String> {
    let failed = |e: rcgen::Error| format!("no certificate can be made: {e}");
    let key = rcgen::KeyPair::generate().map_err(failed)?;
    let parameters = rcgen::CertificateParams::new(vec![NAME.to_owned()]);
    let certificate = parameters.and_then(|it| it.self_signed(&key)).map_err(failed)?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(key)))
}

#[cfg(not(any(test, feature = "agent")))]
fn own_certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), String> {
    Err("no certificate can be made: this build lacks the feature `agent`".into())
}

/// TLS as an agent speaks it, with a certificate of its own.
///
/// # Errors
/// When no key can be made.
pub fn agent_tls() -> Result<Arc<ServerConfig>, String> {
    let (certificate, key) = own_certificate()?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider())).with_protocol_versions(&[&TLS13]);
    let config = builder.and_then(|b| b.with_no_client_auth().with_single_cert(vec![certificate], key));
    config.map(Arc::new).map_err(|e| format!("TLS: {e}"))
}

/// A socket on which nothing takes longer than until an instant.
struct Timed {
    tcp: TcpStream,
    until_ns: Arc<AtomicU64>,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until_ns.load(Ordering::Relaxed).saturating_sub(clock::now_ns()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            // A timeout of less than a microsecond would be none at all.
            left => Ok(Some(Duration::from_nanos(left.max(1_000)))),
        }
    }
}

/// A socket tells a timeout as it tells that there is nothing yet.
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

/// A connection on which both ends have shown that they know the token.
pub(crate) struct Link {
    stream: Box<dyn Stream>,
    until_ns: Arc<AtomicU64>,
}

impl Link {
    /// Connects to an agent.
    ///
    /// # Errors
    /// Nobody there, no TLS, or somebody who does not know the token.
    pub fn to_agent(address: SocketAddr, token: &Token) -> io::Result<Link> {
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[&TLS13]).map_err(io::Error::other)?;
        // Who is there is shown by the token.
        let config = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))).with_no_client_auth();
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        let (timed, until_ns) = greeted(TcpStream::connect_timeout(&address, GREETING_WITHIN)?)?;
        let mut tls = StreamOwned::new(ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?, timed);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock)?;
        }
        let ours = tls.conn.export_keying_material([0; PROOF_BYTES], OF_COORDINATOR, Some(&token.0)).map_err(io::Error::other)?;
        let theirs = tls.conn.export_keying_material([0; PROOF_BYTES], OF_AGENT, Some(&token.0)).map_err(io::Error::other)?;
        tls.write_all(&ours)?;
        tls.flush()?;
        // An agent hangs up on whoever does not know its token.
        expect(&mut tls, &theirs).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => not_known(),
            _ => e,
        })?;
        Ok(Link { stream: Box::new(tls), until_ns })
    }

    /// Lets a coordinator in.
    ///
    /// # Errors
    /// No TLS, or somebody who does not know the token.
    pub fn from_coordinator(tcp: TcpStream, config: Arc<ServerConfig>, token: &Token) -> io::Result<Link> {
        let (timed, until_ns) = greeted(tcp)?;
        let mut tls = StreamOwned::new(ServerConnection::new(config).map_err(io::Error::other)?, timed);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock)?;
        }
        let theirs = tls.conn.export_keying_material([0; PROOF_BYTES], OF_COORDINATOR, Some(&token.0)).map_err(io::Error::other)?;
        let ours = tls.conn.export_keying_material([0; PROOF_BYTES], OF_AGENT, Some(&token.0)).map_err(io::Error::other)?;
        // Nothing is said to somebody who has not shown this.
        expect(&mut tls, &theirs)?;
        tls.write_all(&ours)?;
        tls.flush()?;
        Ok(Link { stream: Box::new(tls), until_ns })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The connection is gone, or does not take it in time.
    pub fn send(&mut self, message: &impl Serialize, within: Duration) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        let length = u32::try_from(text.len()).map_err(|_| io::Error::other("a message that is too long"))?;
        self.has(within);
        self.stream.write_all(&length.to_be_bytes())?;
        self.stream.write_all(&text)?;
        self.stream.flush()
    }

    /// Receives a message of so many bytes at most.
    ///
    /// # Errors
    /// The connection is gone, nothing came in time, or what came is no such message.
    pub fn receive<T: DeserializeOwned>(&mut self, longest: u32, within: Duration) -> io::Result<T> {
        self.has(within);
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).map_err(hung_up)?;
        let length = u32::from_be_bytes(length);
        if length > longest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes, of at most {longest}")));
        }
        // Takes the memory that comes, not the memory that is announced.
        let mut text = Vec::new();
        Read::by_ref(&mut self.stream).take(length.into()).read_to_end(&mut text).map_err(hung_up)?;
        if text.len() < length as usize {
            return Err(hung_up(io::ErrorKind::UnexpectedEof.into()));
        }
        // Without what stands there: it may be a secret of the other end.
        let none = |e: serde_json::Error| format!("a message that is none, from byte {} on: are both of one version?", e.column());
        serde_json::from_slice(&text).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, none(e)))
    }

    fn has(&self, within: Duration) {
        self.until_ns.store(clock::now_ns().saturating_add(within.as_nanos() as u64), Ordering::Relaxed);
    }
}

/// A socket on which the greeting must be over in time.
fn greeted(tcp: TcpStream) -> io::Result<(Timed, Arc<AtomicU64>)> {
    tcp.set_nodelay(true)?;
    let until_ns = Arc::new(AtomicU64::new(clock::now_ns() + GREETING_WITHIN.as_nanos() as u64));
    Ok((Timed { tcp, until_ns: until_ns.clone() }, until_ns))
}

/// Reads what the other end shows, and compares it without telling by the time it takes where it differs.
fn expect(stream: &mut impl Read, proof: &[u8; PROOF_BYTES]) -> io::Result<()> {
    let mut shown = [0; PROOF_BYTES];
    stream.read_exact(&mut shown).map_err(hung_up)?;
    match shown.iter().zip(proof).fold(0, |differs, (a, b)| differs | (a ^ b)) {
        0 => Ok(()),
        _ => Err(not_known()),
    }
}

/// The end of a connection in words of ours; what TLS says of it is for who programs with it.
fn hung_up(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof { io::Error::new(error.kind(), "it hung up") } else { error }
}

fn not_known() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the two do not have the same token")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const SECOND: Duration = Duration::from_secs(1);

    fn token(text: &str) -> Token {
        Token::new(&text.repeat(TOKEN_SHORTEST)).unwrap()
    }

    /// What an agent's end and a coordinator's end come to.
    fn met(agent: Token, coordinator: Token) -> (io::Result<Link>, io::Result<Link>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let agent = std::thread::spawn(move || Link::from_coordinator(listener.accept().unwrap().0, agent_tls().unwrap(), &agent));
        let coordinator = Link::to_agent(address, &coordinator);
        (agent.join().unwrap(), coordinator)
    }

    #[test]
    fn who_has_the_token_is_let_in_and_heard() {
        let (agent, coordinator) = met(token("a"), token("a"));
        let (mut agent, mut coordinator) = (agent.unwrap(), coordinator.unwrap());
        coordinator.send(&vec!["one", "two"], SECOND).unwrap();
        assert_eq!(agent.receive::<Vec<String>>(100, SECOND).unwrap(), ["one", "two"]);
        agent.send(&7, SECOND).unwrap();
        assert!(coordinator.receive::<String>(100, SECOND).unwrap_err().to_string().contains("none"), "seven is no text");
        coordinator.send(&"a secret", SECOND).unwrap();
        assert!(!agent.receive::<u8>(100, SECOND).unwrap_err().to_string().contains("secret"), "it is not said what stood there");
        agent.send(&"longer than that", SECOND).unwrap();
        assert!(coordinator.receive::<String>(5, SECOND).unwrap_err().to_string().contains("of at most 5"));
        let begun = clock::now_ns();
        assert_eq!(agent.receive::<u8>(5, SECOND / 20).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(clock::now_ns() - begun < 1_000_000_000);
        drop(coordinator);
        assert_eq!(agent.receive::<u8>(5, SECOND).unwrap_err().to_string(), "it hung up");
    }

    #[test]
    fn who_has_another_token_is_refused_at_both_ends() {
        let (agent, coordinator) = met(token("a"), token("b"));
        assert_eq!(agent.err().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(coordinator.err().unwrap().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn who_speaks_no_tls_or_shows_nothing_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let plain = std::thread::spawn(move || {
            let mut tcp = TcpStream::connect(address).unwrap();
            tcp.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut said = Vec::new();
            let _ = tcp.read_to_end(&mut said);
            said
        });
        assert!(Link::from_coordinator(listener.accept().unwrap().0, agent_tls().unwrap(), &token("a")).is_err());
        let said = plain.join().unwrap();
        assert!(said.len() < 16, "an alert at most, and nothing of what it is: {said:?}");
    }

    #[test]
    fn a_token_that_could_be_guessed_is_refused_and_none_is_printed() {
        assert!(Token::new("secret").unwrap_err().contains("hint:"));
        assert_eq!(format!("{:?}", token("a")), "Token(...)");
        assert_eq!(Token::new(&format!(" {}\n", "x".repeat(32))).unwrap().0.len(), 32);
    }
}
