//! The event loop: takes requests when they are due, keeps them on connections, settles them.

use crate::agents::Start;
use crate::answer::{Event, Finished};
use crate::check::{Asked, Judgement, Questions};
use crate::connection::{Connection, Over, Phase, Session};
use crate::plan::{Plan, Protocol, Wait};
use crate::request::{Script, Vars};
use crate::schedule::{Schedule, Share, exponential, uniform};
use crate::tally::{Failed, Listeners, Measured, OfStep, Tally};
use crate::world::{Ready, World};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use model::experiment::{Load, Overflow, Pause};
use model::units::show_duration;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;

/// Nearer than this to the next instant, the loop asks again instead of sleeping.
const SPIN_MIN_NS: u64 = 15_000;
/// The loop is awake at least so long before an instant of a schedule: caches and clocks are warm again by then.
const WARM_NS: u64 = 120_000;
/// However late sleeps end, not more than this is spent looking at the clock.
const SPIN_MAX_NS: u64 = 300_000;
/// A look at what has happened takes a microsecond or two. In what it takes beyond this another thread had the CPU, which nobody spent looking.
const LOOK_MOST_NS: u64 = 5_000;
/// Where many requests are under way, answers are looked for after this share of the time that they take: so more
/// of them are there at each look, and the server is not disturbed for each alone.
const REST_SHARE: u64 = 256;
/// A shorter rest would not save what it costs.
const REST_MIN_NS: u64 = 15_000;
/// Answers that take longer are not looked for awake: a late wake-up hardly shows in them.
const SHORT_SERVICE_NS: u64 = 400_000;
/// How often the loop looks up though nothing happens: at the stop flag, at what is overdue.
const LOOK_UP_NS: u64 = 20_000_000;
/// How often the loop looks whether it is known when all begin.
const START_LOOK_NS: u64 = 2_000_000;
/// How long after the end of a schedule its last answers are awaited.
const DRAIN_NS: u64 = 2_000_000_000;
/// How long connections are awaited before the clock starts.
const CONNECT_NS: u64 = 1_000_000_000;
/// A connection that fails is tried again after this, doubled each time.
const RETRY_FIRST_NS: u64 = 1_000_000;
const RETRY_LAST_NS: u64 = 100_000_000;
/// How often a request is sent again that the server says it has not looked at.
const SENT_AGAIN_MAX: u8 = 10;
/// Streams on one HTTP/2 connection where the load does not say.
const STREAMS: u32 = 100;
/// Connections that arrivals may open whatever the protocol.
const CONNECTIONS_USUAL: u32 = 1_024;

/// Instants of sending that are kept of a schedule.
const SENT_AT_MAX: u64 = 1_000;

const NONE: u32 = u32::MAX;

/// One after another, the requests of somebody: a user of a load of users, a place of the others.
struct Journey {
    vars: Vars,
    step: u32,
    rounds: u64,
    scheduled_ns: u64,
    /// When the request under way was first sent; 0 when there is none.
    sent_ns: u64,
    deadline_ns: u64,
    /// Its connection.
    slot: u32,
    /// Its neighbours among the requests under way, by age.
    older: u32,
    younger: u32,
    sent_again: u8,
}

struct Slot<S> {
    connection: Option<Connection<S>>,
    /// Tells events of this connection from those of the one before in this place.
    generation: u32,
    failures_in_a_row: u32,
}

/// Who may use which connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Each connection has `depth` journeys of its own.
    Own,
    /// Any that has room.
    Pool,
}

pub(crate) struct Generator<'a, W: World> {
    world: W,
    plan: &'a Plan<'a>,
    share: Share,
    script: Script,
    sharing: Sharing,
    /// Requests that a connection takes at once.
    depth: u32,
    slots: Vec<Slot<W::Socket>>,
    /// Connections of the pool that have room, the last used on top.
    ready: Vec<u32>,
    /// Places of the pool without a connection.
    unopened: Vec<u32>,
    next_address: usize,
    journeys: Vec<Journey>,
    /// Those of an arrival load that have nothing to do.
    idle: Vec<u32>,
    /// Taken, but no connection of the pool has room.
    queue: VecDeque<u32>,
    /// To be taken up at an instant.
    alarms: BinaryHeap<Reverse<(u64, u32)>>,
    /// To be taken up as soon as the connection at hand is dealt with: what is sent again, before anything new.
    again: VecDeque<u32>,
    fresh: VecDeque<u32>,
    /// Connections with something to send.
    dirty: Vec<u32>,
    oldest: u32,
    youngest: u32,
    tally: Tally,
    start_ns: u64,
    timeout_ns: u64,
    /// Requests taken so far, and the most there may be.
    taken: u64,
    most: u64,
    shed: u64,
    /// Users who have made all their rounds.
    done: u64,
    /// Whether journeys go on after an answer.
    going_on: bool,
    random: ChaCha8Rng,
    /// When the last request was sent.
    last_sent_ns: u64,
    /// How late sleeps end, at the most these days.
    overshoot_ns: u64,
    spun_ns: u64,
    buffer: Box<[u8]>,
    events: Vec<Event>,
    happened: Vec<Ready>,
    block: Vec<u8>,
    body: Vec<u8>,
}

struct Asking<'a> {
    script: &'a mut Script,
    journeys: &'a mut [Journey],
}

impl Questions for Asking<'_> {
    #[inline]
    fn asked(&mut self, ticket: u32) -> Asked<'_> {
        let journey = &mut self.journeys[ticket as usize];
        self.script.asked(journey.step as usize, &mut journey.vars)
    }
}

/// How many connections and journeys a thread's share of a load needs, and who uses which.
pub(crate) fn size(load: &Load, protocol: Protocol, share: Share) -> (u32, u32, u32, bool) {
    let part = |whole: u32| share.part(u64::from(whole)) as u32;
    let streams = if protocol == Protocol::Http2 { STREAMS } else { 1 };
    match *load {
        Load::Closed { connections, depth } => (part(connections), part(connections) * depth, depth, true),
        Load::Arrivals { in_flight_max, .. } => {
            // A server may allow fewer streams than that: then more connections are opened.
            let connections = in_flight_max.div_ceil(streams).max(in_flight_max.min(CONNECTIONS_USUAL));
            (part(connections), part(in_flight_max), streams, false)
        }
        Load::Users { users, pooled: None, .. } => (part(users), part(users), 1, true),
        Load::Users { users, pooled: Some(connections), .. } => (part(connections), part(users), streams, false),
        // Made of other loads.
        Load::Capacity(_) => (1, 1, 1, true),
    }
}

impl<'a, W: World> Generator<'a, W> {
    pub fn new(world: W, plan: &'a Plan<'a>, share: Share) -> Self {
        let (connections, journeys, depth, own) = size(plan.load, plan.target.protocol, share);
        let script = Script::new(plan.workload, plan.target, plan.seed, share.thread, share.of);
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
        // A stream of its own for each thread, apart from those of the schedule and the data.
        random.set_stream(1 << 32 | u64::from(share.thread));
        let journey = || Journey {
            vars: script.vars(),
            step: 0,
            rounds: 0,
            scheduled_ns: 0,
            sent_ns: 0,
            deadline_ns: 0,
            slot: NONE,
            older: NONE,
            younger: NONE,
            sent_again: 0,
        };
        let sharing = if own { Sharing::Own } else { Sharing::Pool };
        Generator {
            sharing,
            depth,
            slots: (0..connections).map(|_| Slot { connection: None, generation: 0, failures_in_a_row: 0 }).collect(),
            ready: Vec::with_capacity(if own { 0 } else { connections as usize }),
            unopened: if own { Vec::new() } else { (0..connections).rev().collect() },
            next_address: share.thread as usize,
            journeys: (0..journeys).map(|_| journey()).collect(),
            idle: Vec::new(),
            queue: VecDeque::new(),
            alarms: BinaryHeap::with_capacity(journeys as usize),
            again: VecDeque::new(),
            fresh: VecDeque::with_capacity(depth as usize),
            dirty: Vec::with_capacity(16),
            oldest: NONE,
            youngest: NONE,
            tally: Tally::new(0, plan.load.has_schedule()),
            start_ns: 0,
            timeout_ns: plan.timeout.as_nanos() as u64,
            taken: 0,
            most: plan.requests.map_or(u64::MAX, |most| share.part(most)),
            shed: 0,
            done: 0,
            going_on: true,
            random,
            last_sent_ns: 0,
            overshoot_ns: WARM_NS,
            spun_ns: 0,
            buffer: vec![0; 64 << 10].into_boxed_slice(),
            events: Vec::with_capacity(64),
            happened: Vec::with_capacity(256),
            block: Vec::new(),
            body: Vec::new(),
            world,
            plan,
            share,
            script,
        }
    }

    /// Opens the connections of a closed load before the clock starts, as far as that succeeds in time.
    pub fn connect(&mut self) {
        if !matches!(self.plan.load, Load::Closed { .. }) || self.plan.target.protocol == (Protocol::Http1 { keep_alive: false }) {
            return;
        }
        for slot in 0..self.slots.len() as u32 {
            let _ = self.open(slot);
        }
        let limit = self.world.now_ns() + self.timeout_ns.min(CONNECT_NS);
        loop {
            let now = self.world.now_ns();
            let stands = |slot: &Slot<W::Socket>| slot.connection.as_ref().is_none_or(|c| c.phase == Phase::Open);
            if now >= limit || self.is_stopped() || self.slots.iter().all(stands) {
                return;
            }
            self.wait(now, limit.min(now + LOOK_UP_NS));
        }
    }

    /// Waits for the instant at which all begin, and sees to connections meanwhile; gives it, and by how much it was missed. Who is
    /// stopped before begins at once, so as to end.
    pub fn await_start(&mut self, start: &Start) -> (u64, u64) {
        loop {
            let now = self.world.now_ns();
            let until = match start.get() {
                Some(at) if at <= now => return (at, now - at),
                _ if self.is_stopped() => return (now, 0),
                // The last of it awake, as a sleep ends late.
                Some(at) => now.max(at.saturating_sub(SPIN_MAX_NS)).min(now + LOOK_UP_NS),
                None => now + START_LOOK_NS,
            };
            self.wait(now, until);
        }
    }

    /// The clock of its world.
    pub fn now_ns(&self) -> u64 {
        self.world.now_ns()
    }

    /// Makes the requests of a schedule that begins at an instant, now or a little before, and measures them.
    pub fn run(&mut self, start_ns: u64, listeners: Listeners) -> Measured {
        let has_schedule = self.plan.load.has_schedule();
        self.start_ns = start_ns;
        let before = std::mem::replace(&mut self.tally, Tally::heard(self.start_ns, has_schedule, listeners));
        self.tally.steps = vec![OfStep::default(); self.script.len()];
        (self.tally.connections_opened, self.tally.connect) = (before.connections_opened, before.connect);
        let planned_ns = self.plan.load.ends_after().map_or(self.plan.duration, |end| end.min(self.plan.duration)).as_nanos() as u64;
        let chosen = self.looked_at(planned_ns);
        self.tally.expect(planned_ns, chosen);
        let interrupted = match self.plan.load {
            Load::Closed { .. } => self.run_closed(planned_ns),
            Load::Arrivals { rate_per_s, stages, spacing, overflow, .. } => {
                let most = self.plan.requests.unwrap_or(u64::MAX);
                let schedule = Schedule::new(*rate_per_s, stages, *spacing, planned_ns, most, self.plan.seed).share(self.share);
                self.run_arrivals(schedule, *overflow, planned_ns)
            }
            Load::Users { users, ramp, .. } => self.run_users(*users, ramp.as_nanos() as u64, planned_ns),
            // Refused before it comes here.
            Load::Capacity(_) => false,
        };
        let ended_ns = self.world.now_ns();
        let ends_by_itself = self.plan.requests.is_some() || matches!(self.plan.load, Load::Users { rounds: Some(_), .. });
        // Stopped by count or by hand, it lasted as long as it did.
        let planned_ns = if interrupted || ends_by_itself { planned_ns.min(ended_ns - self.start_ns) } else { planned_ns };
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(0, has_schedule));
        let never_sent = |journey: &&u32| self.journeys[**journey as usize].sent_ns == 0;
        tally.counts.unsent = self.shed + self.queue.iter().filter(never_sent).count() as u64;
        tally.counts.unfinished = tally.in_flight();
        for under_way in self.journeys.iter().filter(|journey| journey.sent_ns > 0) {
            tally.steps[under_way.step as usize].in_doubt += 1;
        }
        let mut measured = tally.finish(planned_ns, ended_ns);
        measured.counts.scheduled = self.taken + self.shed;
        measured.spun_ns = self.spun_ns;
        measured.interrupted = interrupted;
        measured
    }

    /// The requests whose instants of sending are kept, falling: a random [`SENT_AT_MAX`] of those that are expected.
    fn looked_at(&self, planned_ns: u64) -> Vec<u64> {
        let Some(expected) = self.plan.load.expected_until(planned_ns as f64 / 1e9) else { return Vec::new() };
        let expected = expected.min(self.plan.requests.map_or(f64::MAX, |most| most as f64));
        // Poisson arrivals may be more than expected: each has the same chance, also the last.
        let numbers = self.share.part((expected + 6.0 * expected.sqrt()).ceil() as u64 + 1);
        let most = self.share.part(SENT_AT_MAX);
        if numbers <= most {
            return (0..numbers).rev().collect();
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.plan.seed);
        random.set_stream(2 << 32 | u64::from(self.share.thread));
        let mut chosen = BTreeSet::new();
        while (chosen.len() as u64) < most {
            chosen.insert((uniform(&mut random) * numbers as f64) as u64);
        }
        chosen.into_iter().rev().collect()
    }

    /// Long enough for the last request to time out, as far as that is not too long.
    fn drain_ns(&self) -> u64 {
        DRAIN_NS.min(self.timeout_ns + 2 * LOOK_UP_NS)
    }

    fn is_stopped(&self) -> bool {
        self.plan.stop.load(Ordering::Relaxed)
    }

    /// Keeps every connection busy; true when it was stopped early.
    fn run_closed(&mut self, planned_ns: u64) -> bool {
        let end_ns = self.start_ns + planned_ns;
        for journey in 0..self.journeys.len() as u32 {
            self.journeys[journey as usize].scheduled_ns = self.start_ns;
            self.fresh.push_back(journey);
        }
        let mut look_up_at = self.start_ns;
        loop {
            self.take_fresh();
            let now = self.world.now_ns();
            self.take_alarms(now, end_ns);
            let stopped = self.is_stopped();
            let is_served = self.taken >= self.most && self.tally.in_flight() == 0;
            if now >= end_ns || stopped || is_served {
                self.going_on = false;
                return stopped && !is_served;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            let next = self.alarms.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let until = look_up_at.min(end_ns).min(next);
            let rest_ns = self.tally.typical_service_ns() / REST_SHARE;
            if self.depth > 1 && rest_ns >= REST_MIN_NS && now + rest_ns < until {
                self.world.rest(rest_ns);
            }
            self.wait(now, until);
        }
    }

    /// Serves a schedule to its end; true when it was stopped early.
    fn run_arrivals(&mut self, mut schedule: Schedule, overflow: Overflow, planned_ns: u64) -> bool {
        self.idle = (0..self.journeys.len() as u32).rev().collect();
        let give_up_at = self.start_ns + planned_ns + self.drain_ns();
        let mut look_up_at = self.start_ns;
        loop {
            let mut now = self.world.now_ns();
            while let Some(due) = schedule.peek().map(|due| self.start_ns + due).filter(|due| *due <= now) {
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
            // What is due and found no place waits for an answer, not for an instant.
            let next = schedule.peek().map_or(u64::MAX, |due| self.start_ns + due);
            let next = if next <= now { u64::MAX } else { next };
            self.wait_for_schedule(now, next, look_up_at.min(give_up_at));
            self.take_fresh();
        }
    }

    /// Lets every user do what they do; true when it was stopped early.
    fn run_users(&mut self, users: u32, ramp_ns: u64, planned_ns: u64) -> bool {
        for journey in 0..self.journeys.len() as u32 {
            let begins = self.start_ns + (u128::from(ramp_ns) * u128::from(self.number(journey)) / u128::from(users)) as u64;
            self.alarms.push(Reverse((begins, journey)));
        }
        let end_ns = self.start_ns + planned_ns;
        let give_up_at = end_ns + self.drain_ns();
        let mut look_up_at = self.start_ns;
        loop {
            let now = self.world.now_ns();
            self.take_alarms(now, end_ns);
            self.flush();
            let nobody_goes_on = now >= end_ns || self.taken >= self.most || self.done == self.journeys.len() as u64;
            let is_served = nobody_goes_on && self.tally.in_flight() == 0 && self.queue.is_empty();
            let stopped = self.is_stopped();
            if is_served || stopped || now >= give_up_at {
                return stopped && !is_served;
            }
            if now >= look_up_at {
                self.look_up(now);
                look_up_at = now + LOOK_UP_NS;
            }
            let next = if nobody_goes_on { u64::MAX } else { self.alarms.peek().map_or(u64::MAX, |Reverse((at, _))| *at) };
            self.wait_for_schedule(now, next, look_up_at.min(if now < end_ns { end_ns } else { give_up_at }));
            self.take_fresh();
        }
    }

    /// A journey's number over all threads.
    fn number(&self, journey: u32) -> u32 {
        journey * self.share.of + self.share.thread
    }

    /// Takes up what is due, as long as anything may begin.
    fn take_alarms(&mut self, now: u64, end_ns: u64) {
        while self.alarms.peek().is_some_and(|Reverse((at, _))| *at <= now.min(end_ns - 1)) && self.taken < self.most {
            let Some(Reverse((at, journey))) = self.alarms.pop() else { return };
            self.take(journey, at);
            if self.depth == 1 {
                self.flush();
            }
        }
        self.flush();
    }

    fn take_fresh(&mut self) {
        loop {
            if let Some(journey) = self.again.pop_front() {
                self.place(journey);
                continue;
            }
            let Some(journey) = self.fresh.pop_front() else { break };
            if self.going_on && self.taken < self.most {
                self.take(journey, self.journeys[journey as usize].scheduled_ns);
            }
        }
        self.flush();
    }

    /// Whether an arrival finds a journey that is idle and a connection that has room.
    fn has_place(&mut self) -> bool {
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
    fn take(&mut self, journey: u32, scheduled_ns: u64) {
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
    fn place(&mut self, journey: u32) {
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
    fn unlink(&mut self, journey: u32) {
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
    fn flush(&mut self) {
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

    /// Opens a connection to the next address in turn, or to one after it where that fails at once.
    fn open(&mut self, slot: u32) -> Result<(), Errno> {
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

    fn dirty_now(&mut self, slot: u32) {
        if let Some(connection) = &mut self.slots[slot as usize].connection
            && !connection.is_dirty
        {
            connection.is_dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Waits for the next scheduled instant, or for whatever else comes.
    fn wait_for_schedule(&mut self, now: u64, scheduled: u64, other: u64) {
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
    fn wait(&mut self, now: u64, until: u64) {
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
        if under_way == 0 && (connection.is_closing() || (closes_after_each && was_open && connection.waiting.is_empty())) {
            return self.over(slot, Over::Closed);
        }
        self.begin_waiting(slot);
    }

    /// Takes a request off its connection; it begins anew when that is dealt with.
    fn send_again(&mut self, journey: u32) {
        self.journeys[journey as usize].slot = NONE;
        self.again.push_back(journey);
    }

    /// A connection that answers anything is one that gets on: to be sent again from it is no sign of a server that never will.
    fn may_be_sent_again(&mut self, journey: u32) -> bool {
        let slot = self.journeys[journey as usize].slot;
        if self.slots.get(slot as usize).and_then(|slot| slot.connection.as_ref()).is_some_and(|c| c.has_answered) {
            return true;
        }
        let sent_again = &mut self.journeys[journey as usize].sent_again;
        *sent_again += 1;
        *sent_again <= SENT_AGAIN_MAX
    }

    /// Gives a connection the requests that waited for it, or for any.
    fn begin_waiting(&mut self, slot: u32) {
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

    fn serve_queue(&mut self) {
        while !self.queue.is_empty() && self.chosen().is_some() {
            let journey = self.queue.pop_front().expect("asked before");
            self.place(journey);
        }
    }

    fn answered(&mut self, journey: u32, finished: Finished, now: u64) {
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

    fn failed(&mut self, journey: u32, now: u64, how: Failed, why: impl FnOnce() -> String) {
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

    /// A connection is over: nothing more comes of what was under way on it. What it had not yet
    /// taken begins anew where that is no fault of its own.
    fn over(&mut self, slot: u32, over: Over) {
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
    fn under_way_on(&self, slot: u32) -> Vec<u32> {
        let range = match self.sharing {
            Sharing::Own => slot * self.depth..(slot + 1) * self.depth,
            Sharing::Pool => 0..self.journeys.len() as u32,
        };
        range.filter(|j| self.journeys[*j as usize].slot == slot).collect()
    }

    /// What is due from time to time.
    fn look_up(&mut self, now: u64) {
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

fn describe_connect(errno: Errno) -> String {
    match errno {
        Errno::ADDRNOTAVAIL => "connecting failed: no ephemeral port is free (net.ipv4.ip_local_port_range is used up)".into(),
        Errno::AGAIN => "connecting failed: the server's queue of connections is full (its listen backlog)".into(),
        Errno::MFILE | Errno::NFILE => "connecting failed: the generator is out of descriptors".into(),
        _ => format!("connecting failed: {errno}"),
    }
}

#[cfg(test)]
#[path = "generator_tests.rs"]
mod tests;
