//! Settles requests: by a response, by a failure, or by a timeout.

use super::{Generator, Journey, NONE};
use crate::answer::Finished;
use crate::check::Judgement;
use crate::connection::{EndReason, Phase, Session};
use crate::schedule::{exponential, uniform};
use crate::tally::Failed;
use crate::world::World;
use spec::experiment::{Load, Pause};
use spec::units::show_duration;
use std::cmp::Reverse;

/// The pause before a failed connection is opened again. It doubles each time.
const RETRY_FIRST_NS: u64 = 1_000_000;
const RETRY_LAST_NS: u64 = 100_000_000;

impl<W: World> Generator<'_, W> {
    pub(super) fn answered(&mut self, journey: u32, finished: Finished, now: u64) {
        let Journey { scheduled_ns, sent_ns, slot, step, in_doubt, .. } =
            self.journeys[journey as usize];
        let place = &mut self.slots[slot as usize];
        place.failures_in_a_row = 0;
        if let Some(connection) = &mut place.connection {
            (connection.has_answered, connection.makes_progress) = (true, true);
        }
        let step_counts = &mut self.tally.steps[step as usize];
        let is_correct = match &finished.judgement {
            Judgement::Correct => {
                step_counts.correct += 1;
                self.tally.correct(scheduled_ns, sent_ns, now, finished.status, finished.bytes);
                true
            }
            Judgement::Declined => {
                step_counts.in_doubt += u64::from(in_doubt);
                self.tally.declined(now, finished.status);
                false
            }
            Judgement::Wrong(wrong) => {
                // A server that responds with 3xx or 4xx has not changed anything.
                step_counts.in_doubt +=
                    u64::from(in_doubt || !(300..500).contains(&finished.status));
                self.tally.wrong(now, finished.status, wrong);
                false
            }
        };
        self.settled(journey, now, is_correct, 0);
    }

    pub(super) fn failed(
        &mut self,
        journey: u32,
        now: u64,
        how: Failed,
        why: impl FnOnce() -> String,
    ) {
        let Journey { step, in_doubt, .. } = self.journeys[journey as usize];
        // It was sent before on another connection, so it does not count as refused.
        let how = if in_doubt && how == Failed::Refused { Failed::Broken } else { how };
        if let Some(step_counts) =
            self.tally.steps.get_mut(step as usize).filter(|_| how != Failed::Refused)
        {
            step_counts.in_doubt += 1;
        }
        let before = &self.journeys[journey as usize].why;
        self.tally.failed(now, how, || match before.is_empty() {
            true => why(),
            false => format!("{}; retried before, because: {before}", why()),
        });
        let failures = self
            .slots
            .get(self.journeys[journey as usize].slot as usize)
            .map_or(0, |slot| slot.failures_in_a_row);
        let back_off_ns = (RETRY_FIRST_NS << failures.clamp(1, 8) >> 1).min(RETRY_LAST_NS);
        self.settled(journey, now, false, back_off_ns);
    }

    /// Ends a journey's request and decides when the next one starts.
    fn settled(&mut self, journey: u32, now: u64, is_correct: bool, back_off_ns: u64) {
        self.unlink(journey);
        let is_broken_off = !is_correct && self.script.has_captures();
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
            // Without a schedule, the next request is due now.
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
            Pause::Exponential(mean) => {
                (exponential(&mut self.random) * mean.as_nanos() as f64) as u64
            }
        }
    }

    /// Handles what is due from time to time: timeouts, pauses, the end of seconds.
    pub(super) fn look_up(&mut self, now: u64) {
        self.tally.advance_to(now);
        self.end_pauses(now);
        while self.oldest != NONE && self.journeys[self.oldest as usize].deadline_ns <= now {
            self.give_up(self.oldest, now);
        }
        self.take_fresh();
    }

    /// Gives up a request whose timeout has passed.
    fn give_up(&mut self, journey: u32, now: u64) {
        let slot = self.journeys[journey as usize].slot;
        let timeout = self.plan.timeout;
        if slot == NONE {
            // It left one connection and has not reached another yet.
            self.queue.retain(|waits| *waits != journey);
            self.again.retain(|waits| *waits != journey);
            self.paused.retain(|(_, waits)| *waits != journey);
            return self.failed(journey, now, Failed::TimedOut, || {
                format!("no answer within {}", show_duration(timeout))
            });
        }
        let connection = self.slots[slot as usize].connection.as_mut();
        let is_open = connection.as_ref().is_some_and(|c| c.phase == Phase::Open);
        let why = connection.as_ref().map_or_else(
            || format!("no connection within {}", show_duration(timeout)),
            |c| c.late(journey, timeout),
        );
        let (mut is_in_order, mut goes_on) = (true, false);
        if let Some(connection) = connection {
            let waited = connection.waiting.iter().position(|waits| *waits == journey);
            if let Some(at) = waited {
                connection.waiting.remove(at);
            }
            if is_open && let Session::Http2(session) = &mut connection.session {
                if waited.is_none() {
                    session.cancel(journey, &mut connection.out);
                }
                // Streams do not block each other. A connection that takes no more requests and has
                // none in flight is over.
                is_in_order = false;
                goes_on = !session.is_closing() || session.in_flight() > 0;
            }
        }
        self.failed(journey, now, Failed::TimedOut, || why);
        if goes_on {
            self.dirty_now(slot);
            // There is room for another request.
            return self.begin_waiting(slot);
        }
        if is_open && is_in_order {
            // Responses arrive in order, so those behind this request will not arrive either.
            if let Some(connection) = self.slots[slot as usize].connection.as_mut() {
                connection.waiting.clear();
            }
            for behind in self.in_flight_on(slot) {
                self.failed(behind, now, Failed::TimedOut, || {
                    "behind a request that got no answer in time".into()
                });
            }
        }
        if !is_open && let Some(connection) = self.slots[slot as usize].connection.as_mut() {
            for waits in std::mem::take(&mut connection.waiting) {
                self.retry_request(
                    waits,
                    now,
                    false,
                    format!("no connection within {}", show_duration(timeout)),
                );
            }
        }
        self.over(slot, EndReason::Closed);
    }
}
