//! How many connections and concurrent requests a load needs.
//!
//! A load is divided among event loops. [`Size::of_share`] gives the numbers for one of them, and
//! [`event_loops`] how many of them a load can keep busy.

use crate::plan::Protocol;
use crate::schedule::Share;
use spec::experiment::Load;

/// Streams on one HTTP/2 connection if the load does not set a number.
const STREAMS: u32 = 100;
/// Arrivals may open this many connections with either protocol.
const CONNECTIONS_USUAL: u32 = 1_024;

/// What one event loop needs for its share of a load.
pub(crate) struct Size {
    pub connections: u32,
    /// Requests in flight at most: one for each journey.
    pub journeys: u32,
    /// Requests in flight on one connection at most.
    pub depth: u32,
    /// Whether each connection serves `depth` journeys of its own. If not, all share a pool.
    pub has_own_connections: bool,
}

impl Size {
    /// Computes the size of a share of a load.
    pub fn of_share(load: &Load, protocol: Protocol, share: Share) -> Size {
        let part = |whole: u32| share.part(u64::from(whole)) as u32;
        let streams = if protocol == Protocol::Http2 { STREAMS } else { 1 };
        let (connections, journeys, depth, has_own_connections) = match *load {
            Load::Closed { connections, depth } => {
                (part(connections), part(connections) * depth, depth, true)
            }
            Load::Arrivals { in_flight_max, .. } => {
                // A server may allow fewer streams than that. Then more connections are opened.
                let connections =
                    in_flight_max.div_ceil(streams).max(in_flight_max.min(CONNECTIONS_USUAL));
                (part(connections), part(in_flight_max), streams, false)
            }
            Load::Users { users, pooled: None, .. } => (part(users), part(users), 1, true),
            Load::Users { users, pooled: Some(connections), .. } => {
                (part(connections), part(users), streams, false)
            }
            // A search makes other loads and has no size itself.
            Load::Capacity(_) => (1, 1, 1, true),
        };
        Size { connections, journeys, depth, has_own_connections }
    }
}

/// Returns how many of the requested event loops a load can use. Each needs at least one
/// connection.
pub fn event_loops(load: &Load, protocol: Protocol, requested: u32) -> u32 {
    let Size { connections, journeys, .. } = Size::of_share(load, protocol, Share::WHOLE);
    requested.clamp(1, connections.min(journeys).max(1))
}
