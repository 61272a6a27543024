//! The event loop of each kind of load: closed, arrivals and users.
//!
//! Each loop sends what is due, handles timeouts from time to time, and waits for the next instant
//! or event.

use super::{Generator, LOOK_UP_NS};
use crate::schedule::Schedule;
use crate::world::World;
use spec::experiment::Overflow;
use std::cmp::Reverse;

/// If many requests are in flight, the loop rests for this share of their service time before it
/// polls. Each poll then finds more responses, and the server is interrupted less often.
const REST_SHARE: u64 = 256;
/// A shorter rest costs more than it saves.
const REST_MIN_NS: u64 = 15_000;

impl<W: World> Generator<'_, W> {
    /// Keeps every connection busy. Returns true if it was stopped early.
    pub(super) fn run_closed(&mut self, planned_ns: u64) -> bool {
        self.start_idle_journeys(self.start_ns);
        let interrupted = self.keep_busy(self.start_ns + planned_ns, |_| false);
        self.continues = false;
        interrupted
    }

    /// Starts every journey of a closed load that has no request in flight.
    pub(super) fn start_idle_journeys(&mut self, at_ns: u64) {
        self.alarms.clear();
        self.fresh.clear();
        for journey in 0..self.journeys.len() as u32 {
            let idle = &mut self.journeys[journey as usize];
            if idle.sent_ns == 0 {
                idle.scheduled_ns = at_ns;
                self.fresh.push_back(journey);
            }
        }
    }

    /// Sends the next request of a closed load after each response, until an instant or until a
    /// condition holds. Returns true if it was stopped early.
    pub(super) fn keep_busy(&mut self, end_ns: u64, holds: impl Fn(&Self) -> bool) -> bool {
        let mut look_up_at = self.world.now_ns();
        loop {
            self.take_fresh();
            let now = self.world.now_ns();
            self.take_alarms(now, end_ns);
            let stopped = self.is_stopped();
            let is_served = self.taken >= self.most && self.tally.in_flight() == 0;
            if now >= end_ns || stopped || is_served || holds(self) {
                return stopped && !is_served;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            // After the last request is taken, nothing is due.
            let next = self
                .alarms
                .peek()
                .filter(|_| self.taken < self.most)
                .map_or(u64::MAX, |Reverse((at, _))| *at);
            let until = look_up_at.min(end_ns).min(next);
            let rest_ns = self.tally.typical_service_ns() / REST_SHARE;
            if self.depth > 1 && rest_ns >= REST_MIN_NS && now + rest_ns < until {
                self.world.rest(rest_ns);
            }
            self.wait(now, until);
        }
    }

    /// Serves a schedule to its end. Returns true if it was stopped early.
    pub(super) fn run_arrivals(
        &mut self,
        mut schedule: Schedule,
        overflow: Overflow,
        planned_ns: u64,
    ) -> bool {
        self.idle = (0..self.journeys.len() as u32).rev().collect();
        let give_up_at = self.start_ns + planned_ns + self.drain_ns();
        let mut look_up_at = self.start_ns;
        loop {
            let now = self.send_due(&mut schedule, u64::MAX, overflow);
            let is_served = schedule.peek().is_none() && self.tally.in_flight() == 0;
            let stopped = self.is_stopped();
            if is_served || stopped || now >= give_up_at {
                self.shed += schedule.take_due(now - self.start_ns);
                return stopped && !is_served;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            // A request that is due but found no room waits for a response, not for an instant.
            let next = schedule.peek().map_or(u64::MAX, |due| self.start_ns + due);
            let next = if next <= now { u64::MAX } else { next };
            self.wait_for_schedule(now, next, look_up_at.min(give_up_at));
            self.take_fresh();
        }
    }

    /// Sends the arrivals that are due by now and scheduled before `until_ns`. Returns the instant
    /// of the last of them, or now.
    #[inline]
    pub(super) fn send_due(
        &mut self,
        schedule: &mut Schedule,
        until_ns: u64,
        overflow: Overflow,
    ) -> u64 {
        let mut now = self.world.now_ns();
        while let Some(due) = schedule
            .peek()
            .filter(|due| *due < until_ns)
            .map(|due| self.start_ns + due)
            .filter(|due| *due <= now)
        {
            if self.has_place() {
                let journey = self.idle.pop().expect("there is a place");
                self.take(journey, due);
                now = self.last_sent_ns.max(now);
            } else if overflow == Overflow::Shed {
                self.shed += 1;
            } else {
                break;
            }
            schedule.advance();
            if self.depth == 1 {
                self.flush();
            }
        }
        self.flush();
        now
    }

    /// Runs all users to the end. Returns true if it was stopped early.
    pub(super) fn run_users(&mut self, users: u32, ramp_ns: u64, planned_ns: u64) -> bool {
        for journey in 0..self.journeys.len() as u32 {
            let begins = self.start_ns
                + (u128::from(ramp_ns) * u128::from(self.number(journey)) / u128::from(users))
                    as u64;
            self.alarms.push(Reverse((begins, journey)));
        }
        let end_ns = self.start_ns + planned_ns;
        let give_up_at = end_ns + self.drain_ns();
        let mut look_up_at = self.start_ns;
        loop {
            let now = self.world.now_ns();
            self.take_alarms(now, end_ns);
            self.flush();
            let is_ending =
                now >= end_ns || self.taken >= self.most || self.done == self.journeys.len() as u64;
            let is_served = is_ending && self.tally.in_flight() == 0 && self.queue.is_empty();
            let stopped = self.is_stopped();
            if is_served || stopped || now >= give_up_at {
                return stopped && !is_served;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            let next = if is_ending {
                u64::MAX
            } else {
                self.alarms.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
            };
            self.wait_for_schedule(
                now,
                next,
                look_up_at.min(if now < end_ns { end_ns } else { give_up_at }),
            );
            self.take_fresh();
        }
    }

    /// Starts the journeys whose alarms have passed, if requests may still start.
    fn take_alarms(&mut self, now: u64, end_ns: u64) {
        while self.alarms.peek().is_some_and(|Reverse((at, _))| *at <= now.min(end_ns - 1))
            && self.taken < self.most
        {
            let Some(Reverse((at, journey))) = self.alarms.pop() else { return };
            self.take(journey, at);
            if self.depth == 1 {
                self.flush();
            }
        }
        self.flush();
    }

    pub(super) fn take_fresh(&mut self) {
        loop {
            if let Some(journey) = self.again.pop_front() {
                self.place(journey);
                continue;
            }
            let Some(journey) = self.fresh.pop_front() else { break };
            if self.continues && self.taken < self.most {
                self.take(journey, self.journeys[journey as usize].scheduled_ns);
            }
        }
        self.flush();
    }
}
