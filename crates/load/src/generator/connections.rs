//! Opens connections, and handles the requests of connections that ended.

use super::{Generator, Sharing};
use crate::connection::{Connection, EndReason, Phase};
use crate::tally::Failed;
use crate::world::World;
use rustix::io::Errno;

impl<W: World> Generator<'_, W> {
    /// Opens a connection to the next address in rotation. If that fails at once, the following
    /// addresses are tried.
    pub(super) fn open(&mut self, slot: u32) -> Result<(), Errno> {
        let next = self.next_address;
        self.next_address += 1;
        self.open_first(slot, next, self.plan.target.addresses.len())
    }

    /// Opens a connection to the first address that does not fail at once.
    fn open_first(
        &mut self,
        slot: u32,
        mut next: usize,
        mut addresses: usize,
    ) -> Result<(), Errno> {
        loop {
            addresses -= 1;
            match self.open_at(slot, next) {
                Ok(()) => {
                    if let Some(connection) = &mut self.slots[slot as usize].connection {
                        connection.others = (next + 1, addresses);
                    }
                    return Ok(());
                }
                Err(errno) if addresses == 0 => return Err(errno),
                Err(_) => next += 1,
            }
        }
    }

    fn open_at(&mut self, slot: u32, number: usize) -> Result<(), Errno> {
        let addresses = &self.plan.target.addresses;
        let address = &addresses[number % addresses.len()];
        let place = &mut self.slots[slot as usize];
        place.generation = place.generation.wrapping_add(1);
        let token = u64::from(place.generation) << 32 | u64::from(slot);
        let connection =
            Connection::open(&mut self.world, self.plan.target, address, token, self.depth)?;
        let connect_time = (connection.phase != Phase::Connecting)
            .then(|| self.world.now_ns() - connection.opened_ns);
        self.slots[slot as usize].connection = Some(connection);
        self.tally.connections_opened += 1;
        if self.sharing == Sharing::Pool {
            // The chosen place is on top.
            self.unopened.pop();
        }
        if let Some(took_ns) = connect_time {
            self.tally.connected(took_ns);
            self.dirty_now(slot);
        }
        Ok(())
    }

    /// Handles the end of a connection. Requests that it had not yet sent are retried, if they were
    /// not the cause.
    pub(super) fn over(&mut self, slot: u32, over: EndReason) {
        let now = self.world.now_ns();
        let place = &mut self.slots[slot as usize];
        let Some(mut connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        if !matches!(over, EndReason::Closed) {
            place.failures_in_a_row += 1;
        }
        // A last frame to the server, such as GOAWAY.
        if matches!(over, EndReason::Malformed(_)) && connection.phase == Phase::Open {
            connection.flush(&mut self.world);
        }
        if self.sharing == Sharing::Pool {
            if connection.is_listed
                && let Some(at) = self.ready.iter().rposition(|listed| *listed == slot)
            {
                self.ready.remove(at);
            }
            self.unopened.push(slot);
        }
        let waiting = std::mem::take(&mut connection.waiting);
        let makes_progress = connection.makes_progress;
        let (next, others) =
            if connection.phase == Phase::Connecting { connection.others } else { (0, 0) };
        drop(connection);
        match over {
            EndReason::Refused(_)
                if others > 0
                    && !waiting.is_empty()
                    && self.open_first(slot, next, others).is_ok() =>
            {
                if let Some(connection) = &mut self.slots[slot as usize].connection {
                    connection.waiting = waiting;
                }
                self.begin_waiting(slot);
            }
            EndReason::Closed => {
                for journey in waiting {
                    self.retry_request(
                        journey,
                        now,
                        makes_progress,
                        "the connection was closed before the request was sent".into(),
                    );
                }
            }
            EndReason::Refused(why) => {
                for journey in waiting {
                    self.failed(journey, now, Failed::Refused, || why.clone());
                }
            }
            EndReason::Broken(why) | EndReason::Malformed(why) => {
                for journey in waiting {
                    self.retry_request(journey, now, makes_progress, why.clone());
                }
                for journey in self.in_flight_on(slot) {
                    self.failed(journey, now, Failed::Broken, || why.clone());
                }
            }
        }
        self.serve_queue();
    }

    /// Returns the journeys with a request in flight on a connection.
    pub(super) fn in_flight_on(&self, slot: u32) -> Vec<u32> {
        let range = match self.sharing {
            Sharing::Own => slot * self.depth..(slot + 1) * self.depth,
            Sharing::Pool => 0..self.journeys.len() as u32,
        };
        range.filter(|j| self.journeys[*j as usize].slot == slot).collect()
    }
}
