//! Whom an agent may load: who started it says so, whoever asks later.

use model::problem::Problems;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// Addresses that an agent may load; any, where none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only(Vec<Among>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// One port of one machine.
    Port(SocketAddr),
    /// Every port of the machines whose addresses begin with as many bits of this one.
    Network(IpAddr, u32),
}

impl Only {
    /// As it is written: `host:port`, whose addresses are looked up now, or `network/prefix`.
    ///
    /// # Errors
    /// What is neither, and a host without an address.
    pub fn read(texts: &[String]) -> Result<Only, Problems> {
        let mut all = Vec::new();
        for text in texts {
            let found: Result<Vec<Among>, String> = match text.split_once('/') {
                Some((network, bits)) => Among::network(network, bits).map(|network| vec![network]),
                None => text.to_socket_addrs().map(|found| found.map(Among::Port).collect()).map_err(|e| e.to_string()),
            };
            // Nobody at all would become anybody.
            match found.and_then(|found| if found.is_empty() { Err("it has no address".into()) } else { Ok(found) }) {
                Ok(found) => all.extend(found),
                Err(why) => {
                    let hint = "write host:port, such as 10.0.0.20:8080, or a network, such as 10.0.0.0/24 (10.0.0.20/32: one machine at any port)";
                    return Err(Problems::plain(format!("`{text}` names nobody to load: {why}"), hint));
                }
            }
        }
        Ok(Only(all))
    }

    /// Whether it is anybody.
    pub fn is_anybody(&self) -> bool {
        self.0.is_empty()
    }

    /// The first of these that may not be loaded.
    pub(super) fn beyond(&self, addresses: &[SocketAddr]) -> Option<SocketAddr> {
        let may = |address: &SocketAddr| self.is_anybody() || self.0.iter().any(|among| among.holds(*address));
        addresses.iter().copied().find(|address| !may(address))
    }
}

impl Among {
    fn network(network: &str, bits: &str) -> Result<Among, String> {
        let address: IpAddr = network.parse().map_err(|_| format!("`{network}` is no address"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.parse::<u32>().ok().filter(|bits| *bits <= most).ok_or_else(|| format!("`{bits}` is no number up to {most}"))?;
        Ok(Among::Network(address, bits))
    }

    fn holds(self, asked: SocketAddr) -> bool {
        // `::ffff:10.0.0.20` is 10.0.0.20.
        let ip = asked.ip().to_canonical();
        match (self, ip) {
            (Among::Port(address), _) => (address.ip().to_canonical(), address.port()) == (ip, asked.port()),
            (Among::Network(IpAddr::V4(network), bits), IpAddr::V4(ip)) => (network.to_bits() ^ ip.to_bits()).leading_zeros() >= bits,
            (Among::Network(IpAddr::V6(network), bits), IpAddr::V6(ip)) => (network.to_bits() ^ ip.to_bits()).leading_zeros() >= bits,
            (Among::Network(..), _) => false,
        }
    }
}

impl fmt::Display for Only {
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

    /// What is named, whom that lets an agent load, and whom not.
    type Case = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);
    const CASES: &[Case] = &[
        (&["10.0.0.20:8080"], &["10.0.0.20:8080", "[::ffff:10.0.0.20]:8080"], &["10.0.0.20:8081", "10.0.0.21:8080", "[::1]:8080"]),
        (&["[fd00::1]:80"], &["[fd00::1]:80"], &["[fd00::2]:80", "10.0.0.20:80"]),
        (&["10.0.0.0/24"], &["10.0.0.0:1", "10.0.0.255:9", "[::ffff:10.0.0.7]:1"], &["10.0.1.0:1", "9.255.255.255:1", "[fd00::1]:1"]),
        (&["10.0.0.77/24"], &["10.0.0.20:1"], &["10.0.1.20:1"]),
        (&["10.0.0.20/32"], &["10.0.0.20:1"], &["10.0.0.21:1"]),
        (&["127.0.0.0/8"], &["127.9.9.9:1"], &["0.0.0.0:1", "128.0.0.0:1"]),
        (&["fd00::/8"], &["[fdff::1]:1"], &["[fe80::1]:1", "10.0.0.20:1"]),
        (&["0.0.0.0/0"], &["203.0.113.1:1"], &["[::1]:1"]),
        (&["10.0.0.20:80", "fd00::/8"], &["10.0.0.20:80", "[fd00::1]:9"], &["10.0.0.20:81"]),
        (&[], &["203.0.113.1:1", "[::1]:1"], &[]),
    ];

    fn only(texts: &[&str]) -> Result<Only, Problems> {
        Only::read(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn who_is_not_named_may_not_be_loaded_unless_nobody_is() {
        for (named, may, may_not) in CASES {
            let only = only(named).unwrap();
            let beyond = |text: &&str| only.beyond(&[text.parse().unwrap()]).is_some();
            assert!(!may.iter().any(beyond) && may_not.iter().all(beyond), "{named:?}");
            assert_eq!(only.to_string(), named.join(", "));
        }
        let all: Vec<SocketAddr> = ["10.0.0.20:80", "10.0.0.21:80"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(only(&["10.0.0.20/32"]).unwrap().beyond(&all), Some(all[1]), "a name with several addresses is asked at each");
    }

    #[test]
    fn what_names_nobody_is_no_leave_for_anybody() {
        for text in ["", "10.0.0.20", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "fd00::/129", "host/8", "/8", "10.0.0.20:8080/32", ":"] {
            let refused = only(&["10.0.0.20:80", text]).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{text}` names nobody to load")), "{refused}");
        }
    }
}
