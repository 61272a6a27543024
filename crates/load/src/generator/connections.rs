//! How connections are opened, and what becomes of what was under way on one that is over.

use super::{Generator, Sharing};
use crate::connection::{Connection, Over, Phase};
use crate::tally::Failed;
use crate::world::World;
use rustix::io::Errno;

impl<W: World> Generator<'_, W> {
    /// Opens a connection to the next address in turn, or to one after it where that fails at once.
    pub(super) fn open(&mut self, slot: u32) -> Result<(), Errno> {
        let next = self.next_address;
        self.next_address += 1;
        self.open_first(slot, next, self.plan.target.addresses.len())
    }

    /// Opens a connection to the first of so many addresses that does not fail at once.
    fn open_first(&mut self, slot: u32, mut next: usize, mut addresses: usize) -> Result<(), Errno> {
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
        let connection = Connection::open(&mut self.world, self.plan.target, address, token, self.depth)?;
        let stands = (connection.phase != Phase::Connecting).then(|| self.world.now_ns() - connection.opened_ns);
        self.slots[slot as usize].connection = Some(connection);
        self.tally.connections_opened += 1;
        if self.sharing == Sharing::Pool {
            // The one that was chosen lies on top.
            self.unopened.pop();
        }
        if let Some(took_ns) = stands {
            self.tally.connected(took_ns);
            self.dirty_now(slot);
        }
        Ok(())
    }

    /// A connection is over: nothing more comes of what was under way on it. What it had not yet
    /// taken begins anew where that is no fault of its own.
    pub(super) fn over(&mut self, slot: u32, over: Over) {
        let now = self.world.now_ns();
        let place = &mut self.slots[slot as usize];
        let Some(mut connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        if matches!(over, Over::Broken(_) | Over::Refused(_)) {
            place.failures_in_a_row += 1;
        }
        // A last word to the server, such as GOAWAY.
        if matches!(over, Over::Broken(_)) && connection.phase == Phase::Open {
            let _ = connection.flush(&mut self.world);
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
        let (next, others) = if connection.phase == Phase::Connecting { connection.others } else { (0, 0) };
        drop(connection);
        match over {
            Over::Refused(_) if others > 0 && !waiting.is_empty() && self.open_first(slot, next, others).is_ok() => {
                if let Some(connection) = &mut self.slots[slot as usize].connection {
                    connection.waiting = waiting;
                }
                self.begin_waiting(slot);
            }
            Over::Closed => waiting.into_iter().for_each(|journey| self.send_again(journey)),
            Over::Refused(why) => {
                for journey in waiting {
                    self.failed(journey, now, Failed::Refused, || why.clone());
                }
            }
            Over::Broken(why) => {
                for journey in self.under_way_on(slot) {
                    self.failed(journey, now, Failed::Broken, || why.clone());
                }
            }
        }
        self.serve_queue();
    }

    /// The journeys with a request under way on a connection.
    pub(super) fn under_way_on(&self, slot: u32) -> Vec<u32> {
        let range = match self.sharing {
            Sharing::Own => slot * self.depth..(slot + 1) * self.depth,
            Sharing::Pool => 0..self.journeys.len() as u32,
        };
        range.filter(|j| self.journeys[*j as usize].slot == slot).collect()
    }
}

pub(crate) fn describe_connect(errno: Errno) -> String {
    match errno {
        Errno::ADDRNOTAVAIL => "connecting failed: no ephemeral port is free (net.ipv4.ip_local_port_range is used up)".into(),
        Errno::AGAIN => "connecting failed: the server's queue of connections is full (its listen backlog)".into(),
        Errno::MFILE | Errno::NFILE => "connecting failed: the generator is out of descriptors".into(),
        _ => format!("connecting failed: {errno}"),
    }
}
