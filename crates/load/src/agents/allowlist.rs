//! Restricts which addresses an agent may load. Its command line sets the list, and it applies to
//! all coordinators.

use spec::problem::Problems;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The addresses that an agent may load. An empty list permits all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowlist(Vec<Among>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// One port of one machine.
    Port(SocketAddr),
    /// Every port of a network: all addresses that share this number of leading bits.
    Network(IpAddr, u32),
}

impl Allowlist {
    /// Parses `host:port` and `network/prefix`. Hosts are resolved now.
    ///
    /// # Errors
    /// An entry of neither form, or a host without an address.
    pub fn parse(texts: &[String]) -> Result<Allowlist, Problems> {
        let mut all = Vec::new();
        for text in texts {
            let found: Result<Vec<Among>, String> = match text.split_once('/') {
                Some((network, bits)) => Among::network(network, bits).map(|network| vec![network]),
                None => text
                    .to_socket_addrs()
                    .map(|found| found.map(Among::Port).collect())
                    .map_err(|e| e.to_string()),
            };
            // An empty list would permit all addresses.
            match found.and_then(|found| {
                if found.is_empty() { Err("it has no address".into()) } else { Ok(found) }
            }) {
                Ok(found) => all.extend(found),
                Err(why) => {
                    let hint = "write host:port, such as 10.0.0.20:8080, or a network, such as 10.0.0.0/24 (10.0.0.20/32: one machine at any port)";
                    return Err(Problems::plain(
                        format!("`{text}` is not an address to load: {why}"),
                        hint,
                    ));
                }
            }
        }
        Ok(Allowlist(all))
    }

    /// Whether all addresses are permitted.
    pub fn permits_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first address that is not permitted.
    pub(super) fn first_refused(&self, addresses: &[SocketAddr]) -> Option<SocketAddr> {
        let may = |address: &SocketAddr| {
            self.permits_all() || self.0.iter().any(|among| among.holds(*address))
        };
        addresses.iter().copied().find(|address| !may(address))
    }
}

impl Among {
    fn network(network: &str, bits: &str) -> Result<Among, String> {
        let address: IpAddr =
            network.parse().map_err(|_| format!("`{network}` is not an IP address"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits
            .parse::<u32>()
            .ok()
            .filter(|bits| *bits <= most)
            .ok_or_else(|| format!("`{bits}` is not a number up to {most}"))?;
        Ok(Among::Network(address, bits))
    }

    fn holds(self, target: SocketAddr) -> bool {
        // `::ffff:10.0.0.20` is 10.0.0.20.
        let ip = target.ip().to_canonical();
        match (self, ip) {
            (Among::Port(address), _) => {
                (address.ip().to_canonical(), address.port()) == (ip, target.port())
            }
            (Among::Network(IpAddr::V4(network), bits), IpAddr::V4(ip)) => {
                (network.to_bits() ^ ip.to_bits()).leading_zeros() >= bits
            }
            (Among::Network(IpAddr::V6(network), bits), IpAddr::V6(ip)) => {
                (network.to_bits() ^ ip.to_bits()).leading_zeros() >= bits
            }
            (Among::Network(..), _) => false,
        }
    }
}

impl fmt::Display for Allowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Display for Among {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Among::Port(address) => write!(f, "{address}"),
            Among::Network(network, bits) => write!(f, "{network}/{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries, addresses that they permit, and addresses that they do not.
    type Case = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);
    const CASES: &[Case] = &[
        (
            &["10.0.0.20:8080"],
            &["10.0.0.20:8080", "[::ffff:10.0.0.20]:8080"],
            &["10.0.0.20:8081", "10.0.0.21:8080", "[::1]:8080"],
        ),
        (&["[fd00::1]:80"], &["[fd00::1]:80"], &["[fd00::2]:80", "10.0.0.20:80"]),
        (
            &["10.0.0.0/24"],
            &["10.0.0.0:1", "10.0.0.255:9", "[::ffff:10.0.0.7]:1"],
            &["10.0.1.0:1", "9.255.255.255:1", "[fd00::1]:1"],
        ),
        (&["10.0.0.77/24"], &["10.0.0.20:1"], &["10.0.1.20:1"]),
        (&["10.0.0.20/32"], &["10.0.0.20:1"], &["10.0.0.21:1"]),
        (&["127.0.0.0/8"], &["127.9.9.9:1"], &["0.0.0.0:1", "128.0.0.0:1"]),
        (&["fd00::/8"], &["[fdff::1]:1"], &["[fe80::1]:1", "10.0.0.20:1"]),
        (&["0.0.0.0/0"], &["203.0.113.1:1"], &["[::1]:1"]),
        (&["10.0.0.20:80", "fd00::/8"], &["10.0.0.20:80", "[fd00::1]:9"], &["10.0.0.20:81"]),
        (&[], &["203.0.113.1:1", "[::1]:1"], &[]),
    ];

    fn only(texts: &[&str]) -> Result<Allowlist, Problems> {
        Allowlist::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn unlisted_address_is_refused_unless_the_list_is_empty() {
        for (named, may, may_not) in CASES {
            let only = only(named).unwrap();
            let is_refused = |text: &&str| only.first_refused(&[text.parse().unwrap()]).is_some();
            assert!(!may.iter().any(is_refused) && may_not.iter().all(is_refused), "{named:?}");
            assert_eq!(only.to_string(), named.join(", "));
        }
        let all: Vec<SocketAddr> =
            ["10.0.0.20:80", "10.0.0.21:80"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(
            only(&["10.0.0.20/32"]).unwrap().first_refused(&all),
            Some(all[1]),
            "a name with several addresses is checked at each"
        );
    }

    #[test]
    fn invalid_entry_is_an_error() {
        for text in [
            "",
            "10.0.0.20",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0/8",
            "fd00::/129",
            "host/8",
            "/8",
            "10.0.0.20:8080/32",
            ":",
        ] {
            let refused = only(&["10.0.0.20:80", text]).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{text}` is not an address to load")), "{refused}");
        }
    }
}
