//! Finds free ports for systems.

use spec::system::Contender;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port: below the ephemeral range, so that no outgoing connection uses one.
const FIRST: u16 = 18_000;
const COUNT: u16 = 12_000;

/// Distance between the first ports of two processes with neighbouring ids. It has no divisor in
/// common with [`COUNT`].
const STRIDE: u64 = 769;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// Finds a free port of loopback. Each call returns another one.
pub(crate) fn pick() -> Option<u16> {
    pick_at(Ipv4Addr::LOCALHOST)
}

/// Finds a free port at an address of this machine.
///
/// A port that was found is used a moment later. Commands that are started at once, as tests do,
/// have neighbouring process ids, so these must not lead to the same ports.
pub(crate) fn pick_at(address: Ipv4Addr) -> Option<u16> {
    let offset = (u64::from(std::process::id()) * STRIDE % u64::from(COUNT)) as u16;
    (0..COUNT).find_map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (offset + step) % COUNT;
        TcpListener::bind((address, port)).is_ok().then_some(port)
    })
}

/// Whether a port of loopback is free.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Finds a free port for each port that a contender names, and adds them to the placeholders.
/// Returns the first.
pub(crate) fn pick_ports(
    contender: &Contender,
    at: Ipv4Addr,
    texts: &mut BTreeMap<String, String>,
) -> Result<u16, String> {
    let mut first = None;
    for name in &contender.system.start.ports {
        let port = pick_at(at).ok_or("no port of 18000-29999 is free")?;
        first.get_or_insert(port);
        texts.insert(format!("port.{name}"), port.to_string());
    }
    first.ok_or_else(|| "the system names no port".to_owned())
}
