//! How requests find a place on a connection and are sent there.

use super::connections::describe_connect;
use super::{Generator, Journey, NONE, Sharing};
use crate::connection::{Phase, Session};
use crate::tally::Failed;
use crate::world::World;

/// How often a request is sent again that the server says it has not looked at.
pub(super) const SENT_AGAIN_MAX: u8 = 10;

impl<W: World> Generator<'_, W> {
    /// Whether an arrival finds a journey that is idle and a connection that has room.
    pub(super) fn has_place(&mut self) -> bool {
        !self.idle.is_empty() && self.chosen().is_some()
    }

    /// The connection of the pool that takes the next request, standing or not.
    fn chosen(&mut self) -> Option<u32> {
        while let Some(slot) = self.ready.last().copied() {
            match &mut self.slots[slot as usize].connection {
                Some(connection) if connection.room(self.depth) > 0 => return Some(slot),
                Some(connection) => connection.is_listed = false,
                None => {}
            }
            self.ready.pop();
        }
        self.unopened.last().copied()
    }

    /// A journey's next request begins.
    pub(super) fn take(&mut self, journey: u32, scheduled_ns: u64) {
        self.taken += 1;
        let number = self.number(journey);
        let taken = &mut self.journeys[journey as usize];
        taken.scheduled_ns = scheduled_ns;
        taken.sent_again = 0;
        if taken.step == 0 {
            self.script.begin_round(&mut taken.vars, number);
        }
        self.place(journey);
    }

    /// Gives a request to a connection; it waits where none has room.
    pub(super) fn place(&mut self, journey: u32) {
        let slot = match self.sharing {
            Sharing::Own => journey / self.depth,
            Sharing::Pool => match self.chosen() {
                Some(slot) => slot,
                None => return self.queue.push_back(journey),
            },
        };
        self.stamp(journey, slot);
        if self.slots[slot as usize].connection.is_none()
            && let Err(errno) = self.open(slot)
        {
            let now = self.world.now_ns();
            self.slots[slot as usize].failures_in_a_row += 1;
            return self.failed(journey, now, Failed::Refused, || describe_connect(errno));
        }
        self.write(journey, slot);
    }

    /// Notes when the request is sent, and for how long it is awaited.
    fn stamp(&mut self, journey: u32, slot: u32) {
        let sent = &mut self.journeys[journey as usize];
        sent.slot = slot;
        if sent.sent_ns > 0 {
            return;
        }
        let now = self.world.now_ns();
        sent.sent_ns = now;
        sent.deadline_ns = now + self.timeout_ns;
        (sent.older, sent.younger) = (self.youngest, NONE);
        let scheduled_ns = sent.scheduled_ns;
        match self.youngest {
            NONE => self.oldest = journey,
            before => self.journeys[before as usize].younger = journey,
        }
        self.youngest = journey;
        self.last_sent_ns = now;
        self.tally.sent(scheduled_ns, now);
    }

    /// The request of this journey is no longer under way.
    pub(super) fn unlink(&mut self, journey: u32) {
        let Journey { older, younger, .. } = self.journeys[journey as usize];
        match older {
            NONE => self.oldest = younger,
            older => self.journeys[older as usize].younger = younger,
        }
        match younger {
            NONE => self.youngest = older,
            younger => self.journeys[younger as usize].older = older,
        }
    }

    /// Writes the request's bytes, or keeps it until the connection takes it.
    fn write(&mut self, journey: u32, slot: u32) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("the connection was opened");
        let is_full = connection.is_full();
        let Journey { vars, step, .. } = &self.journeys[journey as usize];
        let step = *step as usize;
        match &mut connection.session {
            _ if connection.phase != Phase::Open => connection.waiting.push(journey),
            Session::Http1(session) if !session.is_closing() => {
                self.script.write_http1(step, vars, &mut connection.out);
                session.begin(journey);
            }
            Session::Http2(session) if session.room() > 0 && !is_full => {
                self.script.write_http2(step, vars, &mut self.block, &mut self.body);
                session.begin(journey, &self.block, &self.body, &mut connection.out);
            }
            _ => connection.waiting.push(journey),
        }
        if !connection.is_dirty {
            connection.is_dirty = true;
            self.dirty.push(slot);
        }
        self.list(slot);
    }

    /// Offers a connection of the pool for further requests.
    fn list(&mut self, slot: u32) {
        if self.sharing == Sharing::Own {
            return;
        }
        if let Some(connection) = &mut self.slots[slot as usize].connection
            && !connection.is_listed
            && connection.room(self.depth) > 0
        {
            connection.is_listed = true;
            self.ready.push(slot);
        }
    }

    /// Sends what was written.
    pub(super) fn flush(&mut self) {
        while let Some(slot) = self.dirty.pop() {
            let Some(connection) = &mut self.slots[slot as usize].connection else { continue };
            connection.is_dirty = false;
            if connection.phase != Phase::Connecting
                && let Err(over) = connection.flush(&mut self.world)
            {
                self.over(slot, over);
            }
        }
    }

    pub(super) fn dirty_now(&mut self, slot: u32) {
        if let Some(connection) = &mut self.slots[slot as usize].connection
            && !connection.is_dirty
        {
            connection.is_dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Takes a request off its connection; it begins anew when that is dealt with.
    pub(super) fn send_again(&mut self, journey: u32) {
        self.journeys[journey as usize].slot = NONE;
        self.again.push_back(journey);
    }

    /// A connection that answers anything is one that gets on: to be sent again from it is no sign of a server that never will.
    pub(super) fn may_be_sent_again(&mut self, journey: u32) -> bool {
        let slot = self.journeys[journey as usize].slot;
        if self.slots.get(slot as usize).and_then(|slot| slot.connection.as_ref()).is_some_and(|c| c.has_answered) {
            return true;
        }
        let sent_again = &mut self.journeys[journey as usize].sent_again;
        *sent_again += 1;
        *sent_again <= SENT_AGAIN_MAX
    }

    /// Gives a connection the requests that waited for it, or for any.
    pub(super) fn begin_waiting(&mut self, slot: u32) {
        let Some(connection) = &mut self.slots[slot as usize].connection else { return };
        if connection.phase == Phase::Open && !connection.waiting.is_empty() && !connection.is_closing() {
            let room = match &connection.session {
                Session::Http1(_) => connection.waiting.len(),
                Session::Http2(_) if connection.is_full() => 0,
                Session::Http2(session) => connection.waiting.len().min(session.room() as usize),
            };
            let begins: Vec<u32> = connection.waiting.drain(..room).collect();
            for journey in begins {
                self.write(journey, slot);
            }
        }
        self.list(slot);
        self.serve_queue();
    }

    pub(super) fn serve_queue(&mut self) {
        while !self.queue.is_empty() && self.chosen().is_some() {
            let journey = self.queue.pop_front().expect("asked before");
            self.place(journey);
        }
    }
}
