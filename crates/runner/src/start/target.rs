//! How requests reach a system that starts, and until when it may fail to respond.

use load::tls::TlsOptions;
use load::{Protocol as Framing, Target};
use spec::system::Protocol;
use spec::units::show_duration;
use std::net::SocketAddr;
use std::time::Duration;

/// The shortest and the longest pause between two requests to a starting system.
pub(super) const RETRY: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(200)..=Duration::from_millis(20);
/// The shortest and the longest timeout of one request while a system starts, in nanoseconds.
const TIMEOUT_NS: std::ops::RangeInclusive<u64> = 1_000_000..=2_000_000_000;

/// The target of requests to a system. Its certificate is self-signed, so it is not verified, but
/// the cost of TLS is paid all the same.
pub(super) fn system_target(address: SocketAddr, protocol: Protocol) -> Result<Target, String> {
    let plain = Target::plain(address);
    let http2 = match protocol {
        Protocol::Http1 => return Ok(plain),
        Protocol::Http1Tls => false,
        Protocol::Http2Tls => true,
    };
    let tls = TlsOptions { insecure: true, http2, ..TlsOptions::default() }
        .client(&address.ip().to_string())?;
    Ok(Target {
        protocol: if http2 { Framing::Http2 } else { plain.protocol },
        tls: Some(tls),
        ..plain
    })
}

/// Until when a system must give its first correct response.
pub(super) struct Deadline {
    at_ns: u64,
    within: Duration,
}

impl Deadline {
    /// The deadline this long after an instant (CLOCK_MONOTONIC, ns).
    pub fn after(began_ns: u64, within: Duration) -> Deadline {
        Deadline { at_ns: began_ns + within.as_nanos() as u64, within }
    }

    /// How long the next request may take.
    pub fn request_timeout(&self) -> Duration {
        let left = self.at_ns.saturating_sub(load::clock::now_ns());
        Duration::from_nanos(left.clamp(*TIMEOUT_NS.start(), *TIMEOUT_NS.end()))
    }

    pub fn has_passed(&self) -> bool {
        load::clock::now_ns() >= self.at_ns
    }

    /// Words a missed deadline, with the cause of the last failed request.
    pub fn missed(&self, url: Option<&str>, last: &str) -> String {
        let (from, within) =
            (url.map_or(String::new(), |url| format!(" from {url}")), show_duration(self.within));
        format!("no correct response{from} within {within}; the last attempt: {last}")
    }
}
