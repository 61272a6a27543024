//! Loads in slices. One load runs for a short time, then other contenders run, then it continues.
//! Connections stay open.
//!
//! Only time within slices is measured. Rates, seconds and schedules are as if the slices followed
//! each other. Each slice ends with a drain: no request starts, and those in flight are answered or
//! time out before the next contender gets the load. Otherwise their latency would include the
//! slices of others.
//!
//! A closed load is measured in the middle of its slice. All connections start at one instant, so
//! the first round meets an idle service. The measured part starts after a few rounds on average,
//! and ends with the slice. A response counts by the share of its service time that lies within the
//! part. Responses that started before the part or end after it count in part.
//!
//! This is unbiased. A connection that is always busy completes work at a rate of one over its
//! service time at every instant. The mean of that rate is its throughput, for any distribution of
//! service times, and also if all connections are in step (the time average of a renewal process;
//! Cox, *Renewal Theory*, 1962). Counting whole responses would err by up to one per connection and
//! slice.
//!
//! The times of responses that end within the part are recorded. Few of those that are longer than
//! the lead can end there, and none that is longer than a slice. So their starts count as well: over
//! a time as long as the part, from the beginning of the slice on. The first requests of a slice do
//! not belong to it, because they all start at one instant.
//!
//! Arrivals are measured from the first scheduled instant to the last response, however late it
//! arrives. Nothing of a schedule is left out.

use super::Generator;
use super::LOOK_UP_NS;
use crate::measured::Measured;
use crate::schedule::Schedule;
use crate::tally::Listeners;
use crate::world::World;
use spec::experiment::{Load, Overflow};

/// The lead of a closed load lasts until each concurrent request was answered this often on
/// average.
const LEAD_ROUNDS: u64 = 3;
/// The lead takes at most this share of its slice.
const LEAD_SHARE_MAX: f64 = 0.4;

/// The measurement of one slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// When its first request was sent (CLOCK_MONOTONIC).
    pub began_ns: u64,
    /// The length of its measured part.
    pub measured_ns: u64,
    /// The number of correct responses in the measured part. Of a closed load, those at its edges
    /// count in part.
    pub correct: f64,
    /// When nothing was in flight any more, or waiting for it ended (CLOCK_MONOTONIC).
    pub ended_ns: u64,
}

impl<W: World> Generator<'_, W> {
    /// Starts a load that is made in slices. The schedule of arrivals continues from slice to
    /// slice.
    pub fn begin_slices(&mut self) -> Option<Schedule> {
        let now = self.world.now_ns();
        let planned_ns =
            self.begin(now, Listeners { progress: self.plan.progress.clone(), seconds: None });
        self.tally.freeze(now, false);
        (self.sliced_ns, self.continues) = (0, false);
        let schedule = self.schedule(planned_ns);
        if schedule.is_some() {
            self.idle = (0..self.journeys.len() as u32).rev().collect();
        }
        schedule
    }

    /// Makes the load for this long, then waits for responses to the requests in flight.
    pub fn slice(&mut self, schedule: &mut Option<Schedule>, length_ns: u64) -> Slice {
        // First sees what happened meanwhile, such as connections that the server closed.
        let now = self.world.now_ns();
        self.wait(now, now);
        match (schedule, self.plan.load) {
            (Some(schedule), Load::Arrivals { overflow, .. }) => {
                self.slice_of_arrivals(schedule, *overflow, length_ns)
            }
            _ => self.slice_of_closed(length_ns),
        }
    }

    /// Ends the load and returns what was measured.
    pub fn end_slices(&mut self) -> Measured {
        let interrupted = self.is_stopped();
        self.end(self.sliced_ns, interrupted)
    }

    fn slice_of_closed(&mut self, length_ns: u64) -> Slice {
        let began_ns = self.world.now_ns();
        let end_ns = began_ns + length_ns;
        self.continues = true;
        self.start_idle_journeys(began_ns);
        let (places, settled_before) = (self.journeys.len() as u64, self.tally.settled_requests());
        let lead_until = began_ns + (length_ns as f64 * LEAD_SHARE_MAX) as u64;
        self.keep_busy(lead_until, |generator| {
            generator.tally.settled_requests() - settled_before >= LEAD_ROUNDS * places
        });
        let opened_ns = self.world.now_ns();
        self.start_ns = self.tally.thaw(opened_ns);
        self.tally.open_part(began_ns, opened_ns);
        self.keep_busy(end_ns, |_| false);
        let closed_ns = self.world.now_ns();
        self.tally.freeze(closed_ns, false);
        self.tally.close_part(closed_ns);
        self.continues = false;
        let measured_ns = closed_ns.saturating_sub(opened_ns);
        self.sliced_ns += measured_ns;
        let ended_ns = self.drain();
        Slice { began_ns, measured_ns, correct: self.tally.take_part(), ended_ns }
    }

    /// Returns how long to wait for responses at most: until every request has timed out.
    fn slice_drain_ns(&self) -> u64 {
        self.timeout_ns.saturating_add(2 * LOOK_UP_NS)
    }

    /// Waits until nothing is in flight. Returns the instant at which it ended.
    fn drain(&mut self) -> u64 {
        let give_up_at = self.world.now_ns().saturating_add(self.slice_drain_ns());
        let mut look_up_at = 0;
        loop {
            let now = self.world.now_ns();
            if self.tally.in_flight() == 0 || now >= give_up_at || self.is_stopped() {
                return now;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            self.wait(now, look_up_at.min(give_up_at));
            self.take_fresh();
        }
    }

    fn slice_of_arrivals(
        &mut self,
        schedule: &mut Schedule,
        overflow: Overflow,
        length_ns: u64,
    ) -> Slice {
        let began_ns = self.world.now_ns();
        self.start_ns = self.tally.thaw(began_ns);
        let recorded = self.tally.recorded();
        let until_ns = self.sliced_ns + length_ns;
        let end_ns = self.start_ns + until_ns;
        self.sliced_ns = until_ns;
        let due = |schedule: &Schedule| schedule.peek().filter(|due| *due < until_ns);
        self.continues = true;
        let give_up_at = end_ns.saturating_add(self.slice_drain_ns());
        let (mut look_up_at, mut is_frozen) = (began_ns, false);
        let ended_ns = loop {
            let now = self.send_due(schedule, until_ns, overflow);
            if !is_frozen && now >= end_ns {
                is_frozen = true;
                self.tally.freeze(end_ns, true);
            }
            let is_served = due(schedule).is_none() && self.tally.in_flight() == 0;
            if now >= end_ns && (is_served || now >= give_up_at) || self.is_stopped() {
                while due(schedule).is_some_and(|due| self.start_ns + due <= now) {
                    schedule.advance();
                    self.shed += 1;
                }
                break now;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            let next = due(schedule).map_or(u64::MAX, |due| self.start_ns + due);
            let next = if next <= now { u64::MAX } else { next };
            let other = look_up_at.min(if is_frozen { give_up_at } else { end_ns });
            self.wait_for_schedule(now, next, other);
            self.take_fresh();
        };
        if !is_frozen {
            self.tally.freeze(ended_ns.min(end_ns), true);
        }
        Slice {
            began_ns,
            measured_ns: length_ns,
            correct: (self.tally.recorded() - recorded) as f64,
            ended_ns,
        }
    }
}
