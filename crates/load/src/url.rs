//! Parses a URL and resolves its host to addresses.

use crate::plan::{Address, Protocol, Target};
use crate::tls::TlsOptions;
use spec::problem::Problems;
use std::net::ToSocketAddrs;
use std::path::PathBuf;

/// How a URL's server is reached.
pub struct Access {
    /// The TLS settings for `https://`.
    pub tls: TlsOptions,
    /// The HTTP version.
    pub protocol: Protocol,
    /// A Unix socket to connect to instead of the host's address.
    pub unix: Option<PathBuf>,
    /// Whether the server may be on another machine.
    pub allow_remote: bool,
}

/// A parsed URL.
#[derive(Debug, PartialEq)]
pub struct Url<'a> {
    is_tls: bool,
    /// Host and port as written: the `Host` header.
    authority: &'a str,
    /// The host without brackets.
    host: &'a str,
    port: u16,
    /// Path and query, never empty.
    pub path: String,
}

/// How to write a URL, for hints.
pub const FORM: &str = "write it like http://127.0.0.1:8080/path or https://[::1]:8443/";

impl Url<'_> {
    /// Returns the URL without its path: `http://host:port`.
    pub fn server(&self) -> String {
        format!("{}://{}", if self.is_tls { "https" } else { "http" }, self.authority)
    }
}

/// Parses `http://host:port/path`.
///
/// # Errors
/// What is missing or invalid.
pub fn parse(url: &str) -> Result<Url<'_>, Problems> {
    let wrong = |why: String| Problems::plain(why, FORM);
    let (is_tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err(wrong(format!("`{url}` is not an http:// or https:// URL"))),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        let hint = "send it yourself, from the environment: -H 'Authorization: Basic {env.CREDENTIALS}', the base64 of user:password";
        return Err(Problems::plain("the URL contains a user name, which is not sent", hint));
    }
    let path = path.split('#').next().unwrap_or_default();
    if url.contains(|c: char| !c.is_ascii_graphic()) {
        return Err(wrong(format!("`{url}` contains a character that must be percent-encoded")));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest
            .split_once(']')
            .ok_or_else(|| wrong(format!("`{authority}` lacks a closing bracket")))?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => Some(if is_tls { 443 } else { 80 }),
        None => None,
        Some(digits) => digits.parse().ok(),
    };
    let port = port.ok_or_else(|| wrong(format!("`{authority}` has no port from 0 to 65535")))?;
    if host.is_empty() {
        return Err(wrong(format!("`{url}` has no host")));
    }
    Ok(Url { is_tls, authority, host, port, path })
}

/// Resolves a URL to all addresses of its host. They must be on this machine, unless others are
/// allowed.
///
/// # Errors
/// A host without an address, an address on another machine, or a certificate that cannot be used.
pub fn resolve(url: &Url<'_>, access: &Access) -> Result<Target, Problems> {
    let addresses: Vec<Address> = match &access.unix {
        Some(path) => vec![Address::Unix(path.clone())],
        None => (url.host, url.port)
            .to_socket_addrs()
            .map_err(|e| {
                Problems::plain(
                    format!("`{}` has no address: {e}", url.host),
                    "check the spelling of the name",
                )
            })?
            .map(Address::Tcp)
            .collect(),
    };
    let is_elsewhere = |address: &&Address| matches!(address, Address::Tcp(a) if !a.ip().to_canonical().is_loopback());
    if let Some(elsewhere) = addresses.iter().find(is_elsewhere).filter(|_| !access.allow_remote) {
        return Err(Problems::plain(
            format!("{elsewhere} is not a loopback address"),
            "only this machine is loaded, unless you pass --allow-remote; use it only where the load is permitted",
        ));
    }
    if addresses.is_empty() {
        return Err(Problems::plain(
            format!("`{}` has no address", url.host),
            "check the spelling of the name",
        ));
    }
    let tls = match url.is_tls {
        true => Some(access.tls.client(url.host).map_err(|why| {
            Problems::plain(why, "--cacert sets the trusted authorities, --insecure trusts any certificate, --cert and --key are your client certificate")
        })?),
        false => None,
    };
    Ok(Target {
        addresses,
        host: url.authority.to_owned(),
        protocol: access.protocol,
        tls,
        path: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (bool, &str, u16, String) {
        let url = parse(url).unwrap();
        (url.is_tls, url.host, url.port, url.path)
    }

    #[test]
    fn urls_are_parsed_or_refused() {
        assert_eq!(
            parsed("http://127.0.0.1:8080/a?b#c"),
            (false, "127.0.0.1", 8080, "/a?b".into())
        );
        assert_eq!(parsed("https://localhost"), (true, "localhost", 443, "/".into()));
        assert_eq!(parsed("http://[::1]:81?q=1"), (false, "::1", 81, "/?q=1".into()));
        assert_eq!(parsed("http://[::1]"), (false, "::1", 80, "/".into()));
        for bad in [
            "ftp://x/",
            "http://",
            "http://:80/",
            "http://u@h/",
            "http://h:x/",
            "http://h:99999/",
            "http://[::1/",
            "http://h/a b",
            "http://h/ä",
            "h",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
