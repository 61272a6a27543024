//! Configures TLS from options of a command line or file.

use crate::plan::Tls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which certificates to trust, and what to offer.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Trust only these certificate authorities (PEM). `None` trusts those of the system.
    pub ca: Option<PathBuf>,
    /// Trust any certificate.
    pub insecure: bool,
    /// The client's certificate chain and key (PEM).
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Offer only HTTP/2 by ALPN. Otherwise only HTTP/1.1.
    pub http2: bool,
}

impl TlsOptions {
    /// Configures a client of TLS 1.2 and 1.3. The host's name is sent, and its certificate must
    /// contain it. Sessions are resumed if the server allows it.
    ///
    /// # Errors
    /// A file that cannot be read or used, or an invalid host name.
    pub fn client(&self, host: &str) -> Result<Tls, String> {
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let server_name = ServerName::try_from(name.to_owned())
            .map_err(|e| format!("`{host}` is not a valid name for TLS: {e}"))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| format!("TLS: {e}"))?;
        let builder = if self.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
        } else {
            builder.with_root_certificates(self.roots()?)
        };
        let mut config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let key = PrivateKeyDer::from_pem_file(key)
                    .map_err(|e| format!("the key {} cannot be used: {e}", key.display()))?;
                builder
                    .with_client_auth_cert(certificates(chain)?, key)
                    .map_err(|e| format!("the client's certificate: {e}"))?
            }
        };
        config.alpn_protocols =
            vec![if self.http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        Ok(Tls { config: Arc::new(config), server_name })
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        let found = match &self.ca {
            Some(file) => certificates(file)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        let (usable, _) = roots.add_parsable_certificates(found);
        match (usable, &self.ca) {
            (0, Some(file)) => Err(format!("{} contains no certificate authority", file.display())),
            (0, None) => {
                Err("this system has no certificate authority: name one, or trust any certificate"
                    .into())
            }
            _ => Ok(roots),
        }
    }
}

/// Describes why a handshake failed, with what the user can do.
pub(crate) fn describe(error: &rustls::Error) -> String {
    let text = error.to_string();
    if matches!(error, rustls::Error::InvalidMessage(_)) {
        return "TLS: the server responds without TLS; for a plain port write http:// instead of https://".into();
    }
    match text.contains("CaUsedAsEndEntity") {
        true => "TLS: the server's certificate is self-signed; to accept it, trust any certificate (--insecure)".into(),
        false => format!("TLS: {text}"),
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |e: rustls::pki_types::pem::Error| {
        format!("the certificates of {} cannot be read: {e}", file.display())
    };
    CertificateDer::pem_file_iter(file).map_err(wrong)?.collect::<Result<_, _>>().map_err(wrong)
}

/// Trusts every certificate, as with `-k`. Signatures are still verified, because that work is part
/// of the cost of a handshake.
#[derive(Debug)]
pub(crate) struct AcceptAny(pub(crate) Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
