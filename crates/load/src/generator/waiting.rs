//! Waits for instants and events: asleep while that is precise enough, awake shortly before an
//! instant.

use super::{Generator, JourneyChecks, SPIN_MAX_NS, WARM_NS};
use crate::answer::{Event, Retry};
use crate::connection::{EndReason, Phase, Session, describe_connect};
use crate::plan::{Protocol, Wait};
use crate::world::{Ready, World};
use spec::experiment::Load;

/// Closer than this to the next instant, the loop polls instead of sleeping.
const SPIN_MIN_NS: u64 = 15_000;
/// A poll takes a microsecond or two. If it takes longer than this, another thread had the CPU, and
/// the excess is not counted as polling.
const LOOK_MOST_NS: u64 = 5_000;
/// Slower responses are not polled for, because a late wake-up hardly shows in them.
const SHORT_SERVICE_NS: u64 = 400_000;

impl<W: World> Generator<'_, W> {
    /// Waits for the next scheduled instant, or for an earlier event.
    pub(super) fn wait_for_schedule(&mut self, now: u64, scheduled: u64, other: u64) {
        if self.plan.wait == Wait::Asleep {
            return self.wait(now, scheduled.min(other));
        }
        let typical = self.tally.typical_service_ns();
        let expects_answer = self.tally.in_flight() > 0
            && typical < SHORT_SERVICE_NS
            && now.saturating_sub(self.last_sent_ns) < 4 * typical;
        if expects_answer || scheduled.saturating_sub(now) <= self.overshoot_ns {
            self.look(0);
            if self.happened.is_empty() {
                // The loop reads the clock at its top anyway. The difference is what polling costs.
                self.spun_ns += (self.world.now_ns() - now).min(LOOK_MOST_NS);
            }
            return self.handle();
        }
        let until = (scheduled - self.overshoot_ns).min(other);
        self.look(until.saturating_sub(now));
        if self.happened.is_empty() && until < other {
            let late = self.world.now_ns().saturating_sub(until);
            // Rises at once, falls slowly.
            self.overshoot_ns =
                late.max(self.overshoot_ns - self.overshoot_ns / 64).clamp(WARM_NS, SPIN_MAX_NS);
        }
        self.handle();
    }

    /// Waits for events, at most until an instant, and handles them.
    pub(super) fn wait(&mut self, now: u64, until: u64) {
        let sleep = until.saturating_sub(now);
        self.look(if sleep <= SPIN_MIN_NS { 0 } else { sleep - SPIN_MIN_NS / 2 });
        self.handle();
    }

    fn look(&mut self, at_most_ns: u64) {
        self.happened.clear();
        self.world.wait(at_most_ns, &mut self.happened);
    }

    fn handle(&mut self) {
        for at in 0..self.happened.len() {
            let ready = self.happened[at];
            let (slot, generation) = (ready.token as u32, (ready.token >> 32) as u32);
            let place = &self.slots[slot as usize];
            if place.generation == generation && place.connection.is_some() {
                self.happened_on(slot, ready);
                // With several requests on a connection, what is due is sent together after the
                // next poll.
                if self.depth == 1 {
                    self.take_fresh();
                }
            }
        }
    }

    fn happened_on(&mut self, slot: u32, ready: Ready) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("checked before");
        if connection.phase == Phase::Connecting {
            if !ready.writable {
                return;
            }
            if let Err(errno) = self.world.connected(&connection.socket) {
                return self.over(slot, EndReason::Refused(describe_connect(errno)));
            }
            let now = self.world.now_ns();
            connection.set_connected(now);
            self.tally.connected(now - connection.opened_ns);
            self.dirty_now(slot);
            return self.begin_waiting(slot);
        }
        connection.reads_on |= ready.ended;
        if ready.writable {
            connection.flush(&mut self.world);
            self.begin_waiting(slot);
        }
        if ready.readable {
            self.receive(slot);
        }
    }

    fn receive(&mut self, slot: u32) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("checked before");
        let was_open = connection.phase == Phase::Open;
        let mut checks = JourneyChecks { script: &mut self.script, journeys: &mut self.journeys };
        let result =
            connection.receive(&mut self.world, &mut self.buffer, &mut checks, &mut self.events);
        let now = self.world.now_ns();
        if !was_open {
            if connection.phase == Phase::Open {
                self.tally.handshake_done(now - connection.connected_ns, connection.is_resumed());
            }
            self.dirty_now(slot);
        } else if !connection.out.is_empty() || matches!(connection.session, Session::Http2(_)) {
            self.dirty_now(slot);
        }
        let mut asks_for_retries = false;
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event {
                Event::Answered { ticket, finished } => self.answered(ticket, finished, now),
                Event::Failed { ticket, why, retry } => {
                    asks_for_retries |= retry != Retry::No;
                    self.unanswered(ticket, now, retry, why);
                }
            }
        }
        self.events = events;
        if asks_for_retries && let Some(connection) = &mut self.slots[slot as usize].connection {
            connection.makes_progress = false;
        }
        if let Err(over) = result {
            return self.over(slot, over);
        }
        let connection = self.slots[slot as usize].connection.as_mut().expect("it is not over");
        let in_flight = connection.in_flight() - connection.waiting.len() as u32;
        let closes_after_each =
            self.plan.target.protocol == (Protocol::Http1 { keep_alive: false });
        let is_over = in_flight == 0
            && (connection.is_closing()
                || (closes_after_each && was_open && connection.waiting.is_empty()));
        if is_over && connection.has_surplus() {
            self.tally
                .note(|| "the server sent bytes after a complete response, with no request in flight; the connection was closed".into());
        }
        if is_over || self.has_left(slot) {
            return self.over(slot, EndReason::Closed);
        }
        self.begin_waiting(slot);
    }

    /// Whether the connection belongs to a user who has finished all rounds. Kept open, it would
    /// block a later user at the server.
    fn has_left(&self, slot: u32) -> bool {
        match self.plan.load {
            Load::Users { rounds: Some(rounds), pooled: None, .. } => {
                self.journeys[slot as usize].rounds >= *rounds
            }
            _ => false,
        }
    }
}
