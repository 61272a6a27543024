//! How the loop waits: asleep while that is precise enough, awake just before an instant, and for what happens on connections.

use super::connections::describe_connect;
use super::{Asking, Generator, SPIN_MAX_NS, WARM_NS};
use crate::answer::Event;
use crate::connection::{Over, Phase, Session};
use crate::plan::{Protocol, Wait};
use crate::tally::Failed;
use crate::world::{Ready, World};
use model::experiment::Load;

/// Nearer than this to the next instant, the loop asks again instead of sleeping.
const SPIN_MIN_NS: u64 = 15_000;
/// A look at what has happened takes a microsecond or two. In what it takes beyond this another thread had the CPU, which nobody spent looking.
const LOOK_MOST_NS: u64 = 5_000;
/// Answers that take longer are not looked for awake: a late wake-up hardly shows in them.
const SHORT_SERVICE_NS: u64 = 400_000;

impl<W: World> Generator<'_, W> {
    /// Waits for the next scheduled instant, or for whatever else comes.
    pub(super) fn wait_for_schedule(&mut self, now: u64, scheduled: u64, other: u64) {
        if self.plan.wait == Wait::Asleep {
            return self.wait(now, scheduled.min(other));
        }
        let typical = self.tally.typical_service_ns();
        let expects_answer =
            self.tally.in_flight() > 0 && typical < SHORT_SERVICE_NS && now.saturating_sub(self.last_sent_ns) < 4 * typical;
        if expects_answer || scheduled.saturating_sub(now) <= self.overshoot_ns {
            self.look(0);
            if self.happened.is_empty() {
                // The clock is read anyway at the top of the loop; this is what looking costs.
                self.spun_ns += (self.world.now_ns() - now).min(LOOK_MOST_NS);
            }
            return self.handle();
        }
        let until = (scheduled - self.overshoot_ns).min(other);
        self.look(until.saturating_sub(now));
        if self.happened.is_empty() && until < other {
            let late = self.world.now_ns().saturating_sub(until);
            // Rises at once, falls slowly.
            self.overshoot_ns = late.max(self.overshoot_ns - self.overshoot_ns / 64).clamp(WARM_NS, SPIN_MAX_NS);
        }
        self.handle();
    }

    /// Waits for something to happen, at most until an instant, and handles it.
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
                // Where several are under way, what is due goes out together, with what the next look brings.
                if self.depth == 1 {
                    self.take_fresh();
                }
            }
        }
    }

    fn happened_on(&mut self, slot: u32, ready: Ready) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("asked before");
        if connection.phase == Phase::Connecting {
            if !ready.writable {
                return;
            }
            if let Err(errno) = self.world.connected(&connection.socket) {
                return self.over(slot, Over::Refused(describe_connect(errno)));
            }
            let now = self.world.now_ns();
            connection.stands(now);
            self.tally.connected(now - connection.opened_ns);
            self.dirty_now(slot);
            return self.begin_waiting(slot);
        }
        if ready.writable {
            if let Err(over) = connection.flush(&mut self.world) {
                return self.over(slot, over);
            }
            self.begin_waiting(slot);
        }
        if ready.readable {
            self.receive(slot);
        }
    }

    fn receive(&mut self, slot: u32) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("asked before");
        let was_open = connection.phase == Phase::Open;
        let mut asking = Asking { script: &mut self.script, journeys: &mut self.journeys };
        let result = connection.receive(&mut self.world, &mut self.buffer, &mut asking, &mut self.events);
        let now = self.world.now_ns();
        if !was_open {
            if connection.phase == Phase::Open {
                self.tally.shook_hands(now - connection.connected_ns, connection.is_resumed());
            }
            self.dirty_now(slot);
        } else if !connection.out.is_empty() || matches!(connection.session, Session::Http2(_)) {
            self.dirty_now(slot);
        }
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event {
                Event::Answered { ticket, finished } => self.answered(ticket, finished, now),
                Event::Failed { ticket, sent_again_is_safe: true, .. } if self.may_be_sent_again(ticket) => self.send_again(ticket),
                Event::Failed { ticket, why, .. } => self.failed(ticket, now, Failed::Broken, || why),
            }
        }
        self.events = events;
        if let Err(over) = result {
            return self.over(slot, over);
        }
        let connection = self.slots[slot as usize].connection.as_mut().expect("it is not over");
        let under_way = connection.under_way() - connection.waiting.len() as u32;
        let closes_after_each = self.plan.target.protocol == (Protocol::Http1 { keep_alive: false });
        let is_over = under_way == 0 && (connection.is_closing() || (closes_after_each && was_open && connection.waiting.is_empty()));
        if is_over || self.has_left(slot) {
            return self.over(slot, Over::Closed);
        }
        self.begin_waiting(slot);
    }

    /// Whether a connection is that of a user who has made all rounds. Kept, it would take a place at the server from those who are still to come.
    fn has_left(&self, slot: u32) -> bool {
        match self.plan.load {
            Load::Users { rounds: Some(rounds), pooled: None, .. } => self.journeys[slot as usize].rounds >= *rounds,
            _ => false,
        }
    }
}
