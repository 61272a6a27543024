//! Finds a connection for each request, and sends it there.
//!
//! If no connection has room, the request waits in a queue. A request without a response is retried
//! if that is safe, with growing pauses if the server makes no progress. Start with
//! `Generator::take`, which begins a request.

use super::{Generator, Journey, NONE, Sharing};
use crate::answer::Retry;
use crate::connection::{Phase, Session, describe_connect};
use crate::tally::Failed;
use crate::world::World;

/// How often a request that the server did not process is retried while the server answers nothing
/// else.
pub(super) const RETRIES_MAX: u8 = 50;
/// The pause before the second retry. The first retry has none. Each later pause is twice as long,
/// up to [`PAUSE_LAST_NS`]. A pause ends when the loop looks up, so it may be longer by
/// [`LOOK_UP_NS`](super::LOOK_UP_NS).
const PAUSE_FIRST_NS: u64 = 1_000_000;
/// The longest pause.
const PAUSE_LAST_NS: u64 = 100_000_000;

impl<W: World> Generator<'_, W> {
    /// Whether an arrival finds an idle journey and a connection with room.
    pub(super) fn has_place(&mut self) -> bool {
        !self.idle.is_empty() && self.chosen().is_some()
    }

    /// Returns the slot of the pool that takes the next request, whether it is open or not.
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

    /// Starts a journey's next request.
    pub(super) fn take(&mut self, journey: u32, scheduled_ns: u64) {
        self.taken += 1;
        let number = self.number(journey);
        let taken = &mut self.journeys[journey as usize];
        taken.scheduled_ns = scheduled_ns;
        (taken.retries, taken.in_doubt) = (0, false);
        taken.why.clear();
        if taken.step == 0 {
            self.script.begin_round(&mut taken.vars, number);
        }
        self.place(journey);
    }

    /// Gives a request to a connection. If none has room, the request waits.
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
        self.write_request(journey, slot);
    }

    /// Records when the request is sent and when it times out.
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

    /// Removes a journey's request from the list of those in flight.
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

    /// Writes the bytes of a request, or keeps it until the connection takes it.
    fn write_request(&mut self, journey: u32, slot: u32) {
        let connection =
            self.slots[slot as usize].connection.as_mut().expect("the connection was opened");
        let is_full = connection.is_full();
        let Journey { vars, step, .. } = &self.journeys[journey as usize];
        let step = *step as usize;
        match &mut connection.session {
            _ if connection.phase != Phase::Open => connection.waiting.push(journey),
            Session::Http1(session) if !session.is_closing() => {
                self.script.write_http1(step, vars, &mut connection.out);
                session.begin(journey, connection.sent_before + connection.out.len() as u64);
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

    /// Lists a connection of the pool for further requests, if it has room.
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
            if connection.phase != Phase::Connecting {
                connection.flush(&mut self.world);
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

    /// Retries a request without a response, if that is safe. Otherwise the request has failed.
    ///
    /// A retry is safe if the server did not process the request. It is also safe for idempotent
    /// methods if the server closed a kept connection before any byte of the response (RFC 9110,
    /// 9.2.2). A server may close an idle connection at any time.
    pub(super) fn unanswered(&mut self, journey: u32, now: u64, retry: Retry, why: String) {
        let Journey { slot, step, .. } = self.journeys[journey as usize];
        let connection = self.slots[slot as usize].connection.as_ref();
        let (has_answered, makes_progress) = connection.map_or((false, false), |connection| {
            (connection.has_answered, connection.makes_progress)
        });
        match retry {
            Retry::Safe => self.retry_request(journey, now, makes_progress, why),
            Retry::Idempotent if has_answered && self.script.is_idempotent(step as usize) => {
                self.journeys[journey as usize].in_doubt = true;
                self.retry_request(journey, now, true, why);
            }
            Retry::Idempotent if has_answered => {
                let method = self
                    .script
                    .name(step as usize)
                    .split(' ')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                self.failed(journey, now, Failed::Broken, || {
                    format!("{why}; a {method} is not idempotent, so it is not retried")
                });
            }
            _ => self.failed(journey, now, Failed::Broken, || why),
        }
    }

    /// Removes a request from its connection and retries it. The retry is immediate if the
    /// connection answers other requests (`makes_progress`). Otherwise pauses grow, and there are
    /// at most [`RETRIES_MAX`] retries.
    pub(super) fn retry_request(
        &mut self,
        journey: u32,
        now: u64,
        makes_progress: bool,
        why: String,
    ) {
        let sent = &mut self.journeys[journey as usize];
        if !makes_progress && sent.retries == RETRIES_MAX {
            sent.why.clear();
            return self.failed(journey, now, Failed::Broken, || {
                format!("{why}; retried {RETRIES_MAX} times")
            });
        }
        sent.retries += u8::from(!makes_progress);
        sent.slot = NONE;
        sent.why = why;
        self.tally.retried += 1;
        match sent.retries {
            times @ 2.. if !makes_progress => {
                let pause = (PAUSE_FIRST_NS << (times - 2).min(10)).min(PAUSE_LAST_NS);
                self.paused.push((now + pause, journey));
            }
            _ => self.again.push_back(journey),
        }
    }

    /// Retries the requests whose pause is over.
    pub(super) fn end_pauses(&mut self, now: u64) {
        let again = &mut self.again;
        self.paused.retain(|&(until, journey)| {
            let is_over = until <= now;
            if is_over {
                again.push_back(journey);
            }
            !is_over
        });
    }

    /// Sends the requests that waited for this connection, or for any.
    pub(super) fn begin_waiting(&mut self, slot: u32) {
        let Some(connection) = &mut self.slots[slot as usize].connection else { return };
        if connection.phase == Phase::Open
            && !connection.waiting.is_empty()
            && !connection.is_closing()
        {
            let room = match &connection.session {
                Session::Http1(_) => connection.waiting.len(),
                Session::Http2(_) if connection.is_full() => 0,
                Session::Http2(session) => connection.waiting.len().min(session.room() as usize),
            };
            let begins: Vec<u32> = connection.waiting.drain(..room).collect();
            for journey in begins {
                self.write_request(journey, slot);
            }
        }
        self.list(slot);
        self.serve_queue();
    }

    pub(super) fn serve_queue(&mut self) {
        while !self.queue.is_empty() && self.chosen().is_some() {
            let journey = self.queue.pop_front().expect("checked before");
            self.place(journey);
        }
    }
}
