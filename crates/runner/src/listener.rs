//! Finds the processes that listen on a port of this machine, so that a service that already runs
//! can be watched. Start with [`listeners`].

use crate::procfs::{command, parents};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Programs that listen in place of another one, and forward to it. Their usage is not that of the
/// service.
const FORWARDERS: [&str; 9] = [
    "docker-proxy",
    "rootlessport",
    "rootlesskit",
    "slirp4netns",
    "pasta",
    "gvproxy",
    "ssh",
    "sshd",
    "socat",
];

/// The processes that listen at an address of this machine, without those that another of them has
/// started. Empty if the address is on another machine, if the processes belong to another user, or
/// if they only forward connections.
pub fn listeners(address: SocketAddr) -> Vec<u32> {
    if !address.ip().is_loopback() {
        return Vec::new();
    }
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let mut inodes = inodes(&read("/proc/net/tcp"), address);
    inodes.extend(self::inodes(&read("/proc/net/tcp6"), address));
    if inodes.is_empty() {
        return Vec::new();
    }
    let parents = parents();
    let holders: BTreeSet<u32> =
        parents.keys().copied().filter(|pid| holds(*pid, &inodes)).collect();
    let is_forwarder = |pid: &u32| {
        let words = command(*pid);
        let name = words
            .first()
            .and_then(|word| word.split_whitespace().next()?.rsplit('/').next().map(str::to_owned));
        name.is_none_or(|name| {
            FORWARDERS.iter().any(|forwarder| name.trim_end_matches(':') == *forwarder)
        })
    };
    if holders.iter().any(is_forwarder) {
        return Vec::new();
    }
    topmost(&holders, &parents)
}

/// The processes without an ancestor among them, such as the master of a server with several
/// workers.
fn topmost(holders: &BTreeSet<u32>, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    let has_holder_above = |pid: &u32| {
        let above = std::iter::successors(parents.get(pid), |parent| parents.get(parent));
        above.take(parents.len()).any(|ancestor| holders.contains(ancestor))
    };
    holders.iter().copied().filter(|pid| !has_holder_above(pid)).collect()
}

/// Whether a process has one of these sockets open.
fn holds(pid: u32, inodes: &BTreeSet<u64>) -> bool {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    entries.flatten().any(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let inode = target
            .to_str()
            .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
        inode.is_some_and(|inode: u64| inodes.contains(&inode))
    })
}

/// The sockets in a table of the kernel (`/proc/net/tcp`) that listen at an address, or at any
/// address on its port.
fn inodes(table: &str, address: SocketAddr) -> BTreeSet<u64> {
    const LISTENS: &str = "0A";
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (at, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let (ip, port) = at.split_once(':')?;
        let is_at = *state == LISTENS && u16::from_str_radix(port, 16).ok()? == address.port();
        let ip = parse_ip(ip)?;
        let is_here = is_at && (ip == address.ip() || ip.is_unspecified());
        inode.parse().ok().filter(|inode| is_here && *inode > 0)
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

/// Parses an address as the kernel prints it: words of 32 bits in the byte order of the machine. An
/// IPv4 address within IPv6 becomes IPv4.
fn parse_ip(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        u32::from_str_radix(hex.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_ne_bytes)
    };
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let bytes: Vec<u8> = (0..4).map(word).collect::<Option<Vec<_>>>()?.concat();
            let ip = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
            Some(ip.to_ipv4_mapped().map_or(ip.into(), IpAddr::from))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn process_that_listens_is_found_by_its_address() {
        for host in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let port = listener.local_addr().unwrap().port();
            assert_eq!(
                listeners(SocketAddr::from(([127, 0, 0, 1], port))),
                [std::process::id()],
                "{host}"
            );
        }
        for unused in ["127.0.0.1:1", "192.0.2.1:80"] {
            assert!(listeners(unused.parse().unwrap()).is_empty(), "{unused}");
        }
    }

    #[test]
    fn worker_processes_count_with_their_master() {
        let parents = BTreeMap::from([(1, 0), (10, 1), (11, 10), (12, 10), (20, 1)]);
        assert_eq!(topmost(&BTreeSet::from([10, 11, 12, 20]), &parents), [10, 20]);
    }
}
