//! A URL, resolved once.

use super::Options;
use crate::exit::Error;
use load::tls::TlsOptions;
use load::{Address, Protocol, Target};
use model::problem::Problems;
use std::net::ToSocketAddrs;

/// Where a URL leads, and the path that it asks for.
pub fn resolve(url: &str, options: &Options) -> Result<(Target, String), Error> {
    let wrong = |why: String| Error::Problems(Problems::plain(why, "write it like http://127.0.0.1:8080/path"));
    let (is_tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err(wrong(format!("`{url}` is not an http:// or https:// URL"))),
    };
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(at);
    if host.is_empty() || host.contains('@') {
        return Err(wrong(format!("`{url}` names no host, or a user, which is not sent")));
    }
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']') && port.parse::<u16>().is_ok());
    let with_port = if has_port { host.to_owned() } else { format!("{host}:{}", if is_tls { 443 } else { 80 }) };
    let addresses = match &options.unix {
        Some(path) => vec![Address::Unix(path.clone())],
        None => {
            let found = with_port.to_socket_addrs().map_err(|e| wrong(format!("`{host}` is no address: {e}")))?;
            found.map(Address::Tcp).collect()
        }
    };
    let is_here = |address: &Address| matches!(address, Address::Unix(_)) || matches!(address, Address::Tcp(a) if a.ip().is_loopback());
    if addresses.is_empty() {
        return Err(wrong(format!("`{host}` has no address")));
    }
    if let Some(elsewhere) = addresses.iter().find(|address| !is_here(address))
        && !options.allow_remote
    {
        return Err(Problems::plain(
            format!("{elsewhere} is not on this machine"),
            "only loopback is loaded, unless you say --allow-remote; do so only where the load is welcome",
        )
        .into());
    }
    let name = if has_port { host.rsplit_once(':').map_or(host, |(name, _)| name) } else { host };
    let tls_options = TlsOptions {
        ca: options.cacert.clone(),
        insecure: options.insecure,
        certificate: options.cert.clone().zip(options.key.clone()),
        http2: options.http2,
    };
    let tls = match is_tls {
        true => Some(tls_options.client(name).map_err(|why| {
            Error::Problems(Problems::plain(why, "see --cacert, --cert, --key and --insecure in `faceoff load --help`"))
        })?),
        false => None,
    };
    let protocol = if options.http2 { Protocol::Http2 } else { Protocol::Http1 { keep_alive: !options.close } };
    Ok((Target { addresses, host: host.to_owned(), protocol, tls }, path))
}
