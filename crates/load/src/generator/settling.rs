//! How a request ends: by its answer, by a failure, or because no answer came in time.

use super::{Generator, Journey, NONE};
use crate::answer::Finished;
use crate::check::Judgement;
use crate::connection::{Over, Phase, Session};
use crate::schedule::{exponential, uniform};
use crate::tally::Failed;
use crate::world::World;
use model::experiment::{Load, Pause};
use model::units::show_duration;
use std::cmp::Reverse;

/// A connection that fails is tried again after this, doubled each time.
const RETRY_FIRST_NS: u64 = 1_000_000;
const RETRY_LAST_NS: u64 = 100_000_000;

impl<W: World> Generator<'_, W> {
    pub(super) fn answered(&mut self, journey: u32, finished: Finished, now: u64) {
        let Journey { scheduled_ns, sent_ns, slot, step, .. } = self.journeys[journey as usize];
        let place = &mut self.slots[slot as usize];
        place.failures_in_a_row = 0;
        if let Some(connection) = &mut place.connection {
            connection.has_answered = true;
        }
        let of_step = &mut self.tally.steps[step as usize];
        let is_right = match &finished.judgement {
            Judgement::Right => {
                of_step.right += 1;
                self.tally.correct(scheduled_ns, sent_ns, now, finished.status, finished.bytes);
                true
            }
            Judgement::Declined => {
                self.tally.declined(now, finished.status);
                false
            }
            Judgement::Wrong(wrong) => {
                // Who answers 3xx or 4xx says that nothing was done.
                of_step.in_doubt += u64::from(!(300..500).contains(&finished.status));
                self.tally.wrong(now, finished.status, wrong);
                false
            }
        };
        self.settled(journey, now, is_right, 0);
    }

    pub(super) fn failed(&mut self, journey: u32, now: u64, how: Failed, why: impl FnOnce() -> String) {
        let step = self.journeys[journey as usize].step as usize;
        if let Some(of_step) = self.tally.steps.get_mut(step).filter(|_| how != Failed::Refused) {
            of_step.in_doubt += 1;
        }
        self.tally.failed(now, how, why);
        let failures = self.slots.get(self.journeys[journey as usize].slot as usize).map_or(0, |slot| slot.failures_in_a_row);
        let back_off_ns = (RETRY_FIRST_NS << failures.clamp(1, 8) >> 1).min(RETRY_LAST_NS);
        self.settled(journey, now, false, back_off_ns);
    }

    /// The request of a journey is over; says when its next one begins.
    fn settled(&mut self, journey: u32, now: u64, is_right: bool, back_off_ns: u64) {
        self.unlink(journey);
        let is_broken_off = !is_right && self.script.has_captures();
        let steps = self.script.len() as u32;
        let settled = &mut self.journeys[journey as usize];
        (settled.sent_ns, settled.slot) = (0, NONE);
        settled.step += 1;
        if settled.step == steps || is_broken_off {
            settled.step = 0;
            settled.rounds += 1;
        }
        let rounds_made = settled.rounds;
        match self.plan.load {
            // Without a schedule, the next is due now.
            Load::Closed { .. } if back_off_ns == 0 => {
                settled.scheduled_ns = now;
                self.fresh.push_back(journey);
            }
            Load::Closed { .. } => self.alarms.push(Reverse((now + back_off_ns, journey))),
            Load::Arrivals { .. } | Load::Capacity(_) => self.idle.push(journey),
            Load::Users { rounds: Some(rounds), .. } if rounds_made >= *rounds => self.done += 1,
            Load::Users { pause, .. } => {
                let due = now.saturating_add(self.draw(*pause).max(back_off_ns));
                self.alarms.push(Reverse((due, journey)));
            }
        }
    }

    fn draw(&mut self, pause: Pause) -> u64 {
        match pause {
            Pause::Constant(pause) => pause.as_nanos() as u64,
            Pause::Uniform { from, to } => {
                let from = from.as_nanos() as u64;
                from + (uniform(&mut self.random) * (to.as_nanos() as u64 - from) as f64) as u64
            }
            Pause::Exponential(mean) => (exponential(&mut self.random) * mean.as_nanos() as f64) as u64,
        }
    }

    /// What is due from time to time.
    pub(super) fn look_up(&mut self, now: u64) {
        self.tally.turn_to(now);
        while self.oldest != NONE && self.journeys[self.oldest as usize].deadline_ns <= now {
            self.give_up(self.oldest, now);
        }
        self.take_fresh();
    }

    /// No answer came in time.
    fn give_up(&mut self, journey: u32, now: u64) {
        let slot = self.journeys[journey as usize].slot;
        let timeout = self.plan.timeout;
        if slot == NONE {
            // Off one connection, and not yet on another.
            self.queue.retain(|waits| *waits != journey);
            self.again.retain(|waits| *waits != journey);
            return self.failed(journey, now, Failed::TimedOut, || format!("no answer within {}", show_duration(timeout)));
        }
        let connection = self.slots[slot as usize].connection.as_mut();
        let stands = connection.as_ref().is_some_and(|c| c.phase == Phase::Open);
        let (mut is_in_order, mut goes_on) = (true, false);
        if let Some(connection) = connection {
            let waited = connection.waiting.iter().position(|waits| *waits == journey);
            if let Some(at) = waited {
                connection.waiting.remove(at);
            }
            if stands && let Session::Http2(session) = &mut connection.session {
                if waited.is_none() {
                    session.cancel(journey, &mut connection.out);
                }
                // Streams do not wait for each other; a connection that takes no more and carries none is over.
                is_in_order = false;
                goes_on = !session.is_closing() || session.under_way() > 0;
            }
        }
        self.failed(journey, now, Failed::TimedOut, || {
            let what = if stands { "no answer" } else { "no connection" };
            format!("{what} within {}", show_duration(timeout))
        });
        if goes_on {
            self.dirty_now(slot);
            // There is room for another.
            return self.begin_waiting(slot);
        }
        if stands && is_in_order {
            // Answers come in order: those behind it will not come either.
            if let Some(connection) = self.slots[slot as usize].connection.as_mut() {
                connection.waiting.clear();
            }
            for behind in self.under_way_on(slot) {
                self.failed(behind, now, Failed::TimedOut, || "behind a request that got no answer in time".into());
            }
        }
        self.over(slot, Over::Closed);
    }
}
