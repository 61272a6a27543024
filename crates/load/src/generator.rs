//! The event loop.

use crate::check::{Expected, Judgement};
use crate::clock;
use crate::connection::{Connection, Request, State};
use crate::http1::{Finished, request_bytes};
use crate::schedule::Schedule;
use crate::tally::{Failed, Measured, Tally};
use model::experiment::Load;
use model::workload::Workload;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What to do.
pub struct Plan<'a> {
    /// Where requests go.
    pub address: SocketAddr,
    /// The `Host` header.
    pub host: &'a str,
    /// Which requests, and their right answers.
    pub workload: &'a Workload,
    /// How they arrive.
    pub load: Load,
    /// For how long.
    pub duration: Duration,
    /// At most how many requests.
    pub requests: Option<u64>,
    /// When a request is given up.
    pub timeout: Duration,
    /// Set from outside to end early.
    pub stop: &'a AtomicBool,
    /// Counts settled requests while the run goes on, for whoever watches.
    pub settled: Option<&'a AtomicU64>,
}

/// Why a run could not be made.
#[derive(Debug)]
pub enum LoadError {
    /// Too few descriptors for the connections.
    Descriptors {
        /// The connections of the load.
        needed: u64,
        /// What the system lets this process have.
        allowed: u64,
    },
    /// The kernel refused something that nothing works without.
    System(&'static str, Errno),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Descriptors { needed, allowed } => {
                write!(
                    f,
                    "the load needs {needed} descriptors, and this process may have {allowed}\nhint: raise the limit with `ulimit -n {needed}` (hard limit included), or ask for fewer connections"
                )
            }
            LoadError::System(what, errno) => write!(f, "{what}: {errno}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// How often connections are looked through for requests that are overdue.
const SWEEP_NS: u64 = 20_000_000;

/// Nearer than this to the next instant, the loop asks again instead of sleeping:
/// a sleep ends some microseconds late.
const SPIN_NS: u64 = 15_000;

/// How long after the end of a schedule its last answers are awaited.
const DRAIN_NS: u64 = 2_000_000_000;

/// A connection that fails is tried again after this, doubled each time.
const RETRY_FIRST_NS: u64 = 1_000_000;
const RETRY_LAST_NS: u64 = 100_000_000;

/// Makes the requests of a plan and measures them, on the calling thread.
///
/// # Errors
/// When it cannot begin. What happens to requests is counted, never an error.
pub fn run(plan: &Plan<'_>) -> Result<Measured, LoadError> {
    let slots = match plan.load {
        Load::Arrivals { in_flight_max, .. } => in_flight_max,
        Load::Closed { connections } => connections,
    } as usize;
    allow_descriptors(slots as u64 + 64)?;
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| LoadError::System("epoll_create1", e))?;
    let mut generator = Generator {
        plan,
        poll,
        slots: (0..slots).map(|_| Slot::default()).collect(),
        idle: Vec::with_capacity(slots),
        unopened: (0..slots as u32).rev().collect(),
        steps: plan.workload.steps.iter().map(|s| (request_bytes(s, plan.host), Expected::of(s), s.method == "HEAD")).collect(),
        tally: Tally::new(0, plan.load.has_schedule()),
        buffer: vec![0; 64 << 10].into_boxed_slice(),
        next_step: 0,
        in_flight: 0,
        in_flight_max: 0,
        opened: 0,
        refilling: false,
        waiting: 0,
    };
    Ok(generator.run())
}

/// Raises the soft limit of descriptors where the hard one lets it.
fn allow_descriptors(needed: u64) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let allowed = limit.maximum.unwrap_or(u64::MAX);
    if allowed < needed {
        return Err(LoadError::Descriptors { needed, allowed });
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).map_err(|e| LoadError::System("setrlimit", e))
}

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    /// Tells events of this connection from those of the one before in this place.
    generation: u32,
    failures_in_a_row: u32,
    /// Not opened again before this instant.
    retry_at_ns: u64,
}

struct Generator<'a> {
    plan: &'a Plan<'a>,
    poll: OwnedFd,
    slots: Vec<Slot>,
    /// Connections ready for a request, the last used on top.
    idle: Vec<u32>,
    /// Places without a connection.
    unopened: Vec<u32>,
    /// Request bytes, expected answer and whether it is a HEAD, a step.
    steps: Vec<(Vec<u8>, Expected, bool)>,
    tally: Tally,
    buffer: Box<[u8]>,
    next_step: usize,
    in_flight: u64,
    in_flight_max: u64,
    opened: u64,
    /// Whether a connection that becomes free takes the next request at once (closed load).
    refilling: bool,
    /// How many places wait for their time to open again (closed load).
    waiting: u32,
}

impl Generator<'_> {
    fn run(&mut self) -> Measured {
        if let Load::Closed { .. } = self.plan.load {
            self.connect_all();
        }
        let cpu_before = clock::thread_cpu_ns();
        let opened_before = self.opened;
        let start_ns = clock::now_ns();
        let planned_ns = self.plan.duration.as_nanos() as u64;
        self.tally = Tally::new(start_ns, self.plan.load.has_schedule());
        let interrupted = match self.plan.load {
            Load::Arrivals { rate_per_s, .. } => {
                let schedule = Schedule::constant(rate_per_s, planned_ns, self.plan.requests.unwrap_or(u64::MAX));
                self.run_schedule(start_ns, schedule)
            }
            Load::Closed { .. } => self.run_closed(start_ns + planned_ns),
        };
        let ended_ns = clock::now_ns();
        self.tally.counts.unfinished = self.in_flight;
        let has_schedule = self.plan.load.has_schedule();
        let tally = std::mem::replace(&mut self.tally, Tally::new(0, has_schedule));
        // Stopped by count or by hand, it lasted as long as it did.
        let planned_ns = if interrupted || self.plan.requests.is_some() { planned_ns.min(ended_ns - start_ns) } else { planned_ns };
        let mut measured = tally.finish(planned_ns, ended_ns);
        measured.counts.scheduled = measured.counts.parts().iter().map(|(_, n)| n).sum();
        measured.cpu_ns = clock::thread_cpu_ns() - cpu_before;
        measured.in_flight_max = self.in_flight_max;
        measured.connections_opened = self.opened - opened_before;
        measured.interrupted = interrupted;
        measured
    }

    fn is_stopped(&self) -> bool {
        self.plan.stop.load(Ordering::Relaxed)
    }

    /// Serves a schedule to its end; true when it was stopped early.
    fn run_schedule(&mut self, start_ns: u64, schedule: Schedule) -> bool {
        let total = schedule.total();
        let (mut sent, mut due) = (0, 0);
        let mut sweep_at = start_ns + SWEEP_NS;
        let drain_ns = DRAIN_NS.min(self.plan.timeout.as_nanos() as u64);
        let give_up_at = start_ns + self.plan.duration.as_nanos() as u64 + drain_ns;
        loop {
            let mut now = clock::now_ns();
            while due < total && start_ns + schedule.due_ns(due) <= now {
                due += 1;
            }
            while sent < due && self.take_request(start_ns + schedule.due_ns(sent)) {
                sent += 1;
                now = clock::now_ns();
                while due < total && start_ns + schedule.due_ns(due) <= now {
                    due += 1;
                }
            }
            let served = sent == total && self.in_flight == 0;
            let stopped = self.is_stopped();
            if served || stopped || now >= give_up_at {
                self.tally.counts.unsent = due - sent;
                return stopped && !served;
            }
            if now >= sweep_at {
                self.sweep(now);
                sweep_at = now + SWEEP_NS;
            }
            let next_due = if due < total { start_ns + schedule.due_ns(due) } else { u64::MAX };
            self.wait(now, next_due.min(sweep_at).min(give_up_at));
        }
    }

    /// Keeps every connection busy until an instant; true when it was stopped early.
    fn run_closed(&mut self, end_ns: u64) -> bool {
        let most = self.plan.requests.unwrap_or(u64::MAX);
        self.refilling = true;
        let mut sweep_at = 0;
        loop {
            let now = clock::now_ns();
            let begun = self.tally.counts.parts().iter().map(|(_, n)| n).sum::<u64>() + self.in_flight;
            if begun >= most {
                self.refilling = false;
            }
            let stopped = self.is_stopped();
            if now >= end_ns || stopped || (!self.refilling && self.in_flight == 0) {
                self.refilling = false;
                return stopped;
            }
            if self.refilling {
                let mut left = most - begun;
                while left > 0 && !self.idle.is_empty() && self.take_request(now) {
                    left -= 1;
                }
                self.open_due(now, left);
            }
            if now >= sweep_at {
                self.sweep(now);
                sweep_at = now + SWEEP_NS;
            }
            // Places that wait to be opened again are looked at every millisecond.
            let retry_at = if self.waiting > 0 { now + RETRY_FIRST_NS } else { u64::MAX };
            self.wait(now, sweep_at.min(end_ns).min(retry_at));
        }
    }

    /// Opens every connection of a closed load before the clock starts, as far as
    /// that succeeds within the timeout.
    fn connect_all(&mut self) {
        let begin = clock::now_ns();
        for slot in std::mem::take(&mut self.unopened) {
            if self.open(slot, begin).is_err() {
                self.unopened.push(slot);
            }
        }
        let limit = begin + (self.plan.timeout.as_nanos() as u64).min(1_000_000_000);
        loop {
            let now = clock::now_ns();
            let connecting = self.slots.iter().any(|s| s.connection.as_ref().is_some_and(|c| c.state == State::Connecting));
            if !connecting || now >= limit || self.is_stopped() {
                return;
            }
            self.wait(now, limit.min(now + 10_000_000));
        }
    }

    /// Gives a request to a free connection, or to a new one. False when every place is busy.
    fn take_request(&mut self, scheduled_ns: u64) -> bool {
        let now = clock::now_ns();
        let slot = match self.idle.pop() {
            Some(slot) => slot,
            None => {
                let Some(slot) = self.unopened.pop() else { return false };
                if let Err(errno) = self.open(slot, now) {
                    self.unopened.push(slot);
                    self.tally.failed(now, Failed::Refused, || describe_connect(errno));
                    self.settle();
                    return true;
                }
                slot
            }
        };
        let step = self.next_step;
        self.next_step = (step + 1) % self.steps.len();
        let deadline_ns = now + self.plan.timeout.as_nanos() as u64;
        let connection = self.slots[slot as usize].connection.as_mut().expect("a chosen place has a connection");
        connection.request = Some(Request { step, scheduled_ns, sent_ns: 0, deadline_ns, written: 0 });
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        if connection.state != State::Connecting {
            connection.state = State::Busy;
            self.send(slot);
        }
        true
    }

    /// Closed load: opens places whose time has come.
    fn open_due(&mut self, now: u64, mut left: u64) {
        self.waiting = 0;
        let mut at = 0;
        while at < self.unopened.len() && left > 0 {
            let slot = self.unopened[at];
            if self.slots[slot as usize].retry_at_ns > now {
                self.waiting += 1;
                at += 1;
                continue;
            }
            self.unopened.swap_remove(at);
            // To the top, so that it is the one that is taken.
            self.unopened.push(slot);
            if !self.take_request(now) {
                return;
            }
            left -= 1;
            if self.unopened.last() == Some(&slot) {
                self.back_off(slot, now);
                self.waiting += 1;
            }
            at = at.min(self.unopened.len());
        }
    }

    fn open(&mut self, slot: u32, now: u64) -> Result<(), Errno> {
        let connection = match Connection::open(self.plan.address) {
            Ok(connection) => connection,
            Err(errno) => {
                self.back_off(slot, now);
                return Err(errno);
            }
        };
        let place = &mut self.slots[slot as usize];
        place.generation = place.generation.wrapping_add(1);
        let data = epoll::EventData::new_u64(u64::from(place.generation) << 32 | u64::from(slot));
        let connecting = connection.state == State::Connecting;
        let flags = if connecting { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
        epoll::add(&self.poll, connection.fd(), data, flags)?;
        self.opened += 1;
        if !connecting {
            self.idle.push(slot);
        }
        place.connection = Some(connection);
        place.connection.as_mut().expect("just placed").watches_write = connecting;
        Ok(())
    }

    fn back_off(&mut self, slot: u32, now: u64) {
        let place = &mut self.slots[slot as usize];
        place.retry_at_ns = now + (RETRY_FIRST_NS << place.failures_in_a_row.min(7)).min(RETRY_LAST_NS);
        place.failures_in_a_row += 1;
    }

    fn watch(&mut self, slot: u32, write: bool) {
        let place = &mut self.slots[slot as usize];
        let Some(connection) = &mut place.connection else { return };
        if connection.watches_write == write {
            return;
        }
        connection.watches_write = write;
        let data = epoll::EventData::new_u64(u64::from(place.generation) << 32 | u64::from(slot));
        let flags = if write { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
        // Cannot fail for a descriptor that is watched; if it did, the timeout would count it.
        let _ = epoll::modify(&self.poll, connection.fd(), data, flags);
    }

    /// Writes what is left of the request under way.
    fn send(&mut self, slot: u32) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("a busy place has a connection");
        let request = connection.request.as_mut().expect("a busy connection has a request");
        let bytes = &self.steps[request.step].0;
        if request.sent_ns == 0 {
            request.sent_ns = clock::now_ns();
            let scheduled_ns = request.scheduled_ns;
            let sent_ns = request.sent_ns;
            self.tally.sent(scheduled_ns, sent_ns);
        }
        let request = connection.request.as_ref().copied().expect("as before");
        match connection.write(&bytes[request.written..]) {
            Ok(written) => {
                let written = request.written + written;
                let is_all = written == bytes.len();
                connection.request.as_mut().expect("as before").written = written;
                self.watch(slot, !is_all);
            }
            Err(errno) => self.fail(slot, Failed::Broken, || format!("sending failed: {errno}")),
        }
    }

    /// Waits for something to happen, at most until an instant, and handles it.
    fn wait(&mut self, now: u64, until: u64) {
        let sleep = until.saturating_sub(now);
        let sleep = if sleep <= SPIN_NS { 0 } else { sleep - SPIN_NS / 2 };
        let timeout = Timespec { tv_sec: (sleep / 1_000_000_000) as i64, tv_nsec: (sleep % 1_000_000_000) as _ };
        let mut events = [std::mem::MaybeUninit::<epoll::Event>::uninit(); 256];
        let Ok((events, _)) = epoll::wait(&self.poll, &mut events, Some(&timeout)) else { return };
        for event in events.iter() {
            let data = event.data.u64();
            let (slot, generation) = (data as u32, (data >> 32) as u32);
            if self.slots[slot as usize].generation != generation {
                continue;
            }
            let Some(connection) = &self.slots[slot as usize].connection else { continue };
            let flags = event.flags;
            if connection.state == State::Connecting {
                self.connected(slot);
            } else {
                if flags.contains(epoll::EventFlags::OUT) && connection.request.is_some() {
                    self.send(slot);
                }
                if flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
                    self.receive(slot);
                }
            }
        }
    }

    /// The handshake has ended, well or not.
    fn connected(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let connection = place.connection.as_mut().expect("an event comes from a connection");
        match connection.connect_result() {
            Ok(()) => {
                place.failures_in_a_row = 0;
                let has_request = connection.request.is_some();
                connection.state = if has_request { State::Busy } else { State::Idle };
                if has_request {
                    self.send(slot);
                } else {
                    self.idle.push(slot);
                    self.watch(slot, false);
                }
            }
            Err(errno) => self.fail(slot, Failed::Refused, || describe_connect(errno)),
        }
    }

    fn receive(&mut self, slot: u32) {
        // A short read means that the socket is empty: no second call is needed to know.
        loop {
            let Some(connection) = &self.slots[slot as usize].connection else { return };
            match connection.read(&mut self.buffer) {
                Ok(None) => return,
                Ok(Some(0)) => return self.ended(slot),
                Ok(Some(length)) => {
                    if !self.take_bytes(slot, length) || length < self.buffer.len() {
                        return;
                    }
                }
                Err(errno) => return self.fail(slot, Failed::Broken, || format!("receiving failed: {errno}")),
            }
        }
    }

    /// Reads received bytes; false when the connection is gone.
    fn take_bytes(&mut self, slot: u32, length: usize) -> bool {
        let connection = self.slots[slot as usize].connection.as_mut().expect("bytes come from a connection");
        let Some(request) = connection.request else {
            // Nothing was asked: the server says something unheard of, and is not listened to.
            self.close(slot);
            return false;
        };
        let (_, expected, is_head) = &mut self.steps[request.step];
        match connection.reader.read(&self.buffer[..length], *is_head, expected) {
            Ok((_, None)) => true,
            Ok((used, Some(finished))) => self.answered(slot, request, finished, used < length),
            Err(malformed) => {
                self.fail(slot, Failed::Broken, || malformed.to_string());
                false
            }
        }
    }

    /// An answer is whole; false when its connection was closed.
    fn answered(&mut self, slot: u32, request: Request, finished: Finished, has_stray_bytes: bool) -> bool {
        let done_ns = clock::now_ns();
        match &finished.judgement {
            Judgement::Right => self.tally.correct(request.scheduled_ns, request.sent_ns, done_ns, finished.status, finished.bytes),
            Judgement::Declined => self.tally.declined(done_ns, finished.status),
            Judgement::Wrong(wrong) => self.tally.wrong(done_ns, finished.status, wrong),
        }
        self.in_flight -= 1;
        self.settle();
        let place = &mut self.slots[slot as usize];
        place.failures_in_a_row = 0;
        let connection = place.connection.as_mut().expect("an answer comes from a connection");
        connection.request = None;
        let was_sent_whole = request.written == self.steps[request.step].0.len();
        if !finished.keep_alive || has_stray_bytes || !was_sent_whole {
            self.close(slot);
            return false;
        }
        connection.state = State::Idle;
        self.idle.push(slot);
        if self.refilling && self.plan.requests.is_none() {
            self.take_request(done_ns);
        }
        true
    }

    /// The server has closed.
    fn ended(&mut self, slot: u32) {
        let connection = self.slots[slot as usize].connection.as_mut().expect("an end comes from a connection");
        let Some(request) = connection.request else { return self.close(slot) };
        let had_begun = connection.reader.is_within_answer();
        match connection.reader.end(&mut self.steps[request.step].1) {
            Ok(finished) => drop(self.answered(slot, request, finished, false)),
            Err(malformed) => {
                self.fail(slot, Failed::Broken, || if had_begun { malformed.to_string() } else { "closed without an answer".into() })
            }
        }
    }

    /// The request under way, if any, will not be answered; the connection is closed.
    fn fail(&mut self, slot: u32, how: Failed, why: impl FnOnce() -> String) {
        let now = clock::now_ns();
        let had_request = self.slots[slot as usize].connection.as_ref().is_some_and(|c| c.request.is_some());
        if had_request {
            self.in_flight -= 1;
            self.tally.failed(now, how, why);
            self.settle();
        }
        self.close(slot);
        self.back_off(slot, now);
    }

    fn close(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        if let Some(connection) = place.connection.take()
            && connection.state == State::Idle
            && let Some(at) = self.idle.iter().rposition(|s| *s == slot)
        {
            self.idle.remove(at);
        }
        place.generation = place.generation.wrapping_add(1);
        self.unopened.push(slot);
    }

    fn settle(&self) {
        if let Some(settled) = self.plan.settled {
            settled.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Gives up requests that are overdue.
    fn sweep(&mut self, now: u64) {
        for slot in 0..self.slots.len() as u32 {
            let overdue = self.slots[slot as usize].connection.as_ref().and_then(|c| c.request).is_some_and(|r| r.deadline_ns <= now);
            if overdue {
                let timeout = self.plan.timeout;
                self.fail(slot, Failed::TimedOut, || format!("no answer within {}", model::units::show_duration(timeout)));
            }
        }
    }
}

fn describe_connect(errno: Errno) -> String {
    match errno {
        Errno::ADDRNOTAVAIL => "connecting failed: no ephemeral port is free (net.ipv4.ip_local_port_range is used up)".into(),
        Errno::MFILE | Errno::NFILE => "connecting failed: the generator is out of descriptors".into(),
        _ => format!("connecting failed: {errno}"),
    }
}
