//! Ports for systems.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ephemeral range, so that no outgoing connection sits on one.
const FIRST: u16 = 18_000;
const COUNT: u16 = 12_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port of loopback that nobody listens on. Each call gives another one.
pub(crate) fn pick() -> Option<u16> {
    pick_at(Ipv4Addr::LOCALHOST)
}

/// The same, at another address of this machine.
pub(crate) fn pick_at(address: Ipv4Addr) -> Option<u16> {
    let offset = (std::process::id() % u32::from(COUNT)) as u16;
    (0..COUNT).find_map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (offset + step) % COUNT;
        TcpListener::bind((address, port)).is_ok().then_some(port)
    })
}

/// Whether a port of loopback can be listened on.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
