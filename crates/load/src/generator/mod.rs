//! The event loop: takes requests when they are due, keeps them on connections, settles them.

mod connections;
mod sending;
mod settling;
mod waiting;

pub(crate) use connections::describe_connect;

use crate::agents::Start;
use crate::answer::Event;
use crate::check::{Asked, Questions};
use crate::connection::{Connection, Phase};
use crate::plan::{Plan, Protocol};
use crate::request::{Script, Vars};
use crate::schedule::{Schedule, Share, uniform};
use crate::tally::{Listeners, Measured, OfStep, Tally};
use crate::world::{Ready, World};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use model::experiment::{Load, Overflow};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;

/// The loop is awake at least so long before an instant of a schedule: caches and clocks are warm again by then.
const WARM_NS: u64 = 120_000;
/// However late sleeps end, not more than this is spent looking at the clock.
const SPIN_MAX_NS: u64 = 300_000;
/// Where many requests are under way, answers are looked for after this share of the time that they take: so more
/// of them are there at each look, and the server is not disturbed for each alone.
const REST_SHARE: u64 = 256;
/// A shorter rest would not save what it costs.
const REST_MIN_NS: u64 = 15_000;
/// How often the loop looks up though nothing happens: at the stop flag, at what is overdue.
const LOOK_UP_NS: u64 = 20_000_000;
/// How often the loop looks whether it is known when all begin.
const START_LOOK_NS: u64 = 2_000_000;
/// How long after the end of a schedule its last answers are awaited.
const DRAIN_NS: u64 = 2_000_000_000;
/// How long connections are awaited before the clock starts.
const CONNECT_NS: u64 = 1_000_000_000;
/// Connections of a closed load that are opened at once, and when the next are: a listener's queue often holds 100 (Tomcat's acceptCount),
/// and one that it drops is tried again after a second.
const OPENED_AT_ONCE: usize = 32;
const OPENED_EVERY_NS: u64 = 5_000_000;
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
        let at_most = self.timeout_ns.min(CONNECT_NS);
        let limit = self.world.now_ns() + at_most;
        let groups = self.slots.len().div_ceil(OPENED_AT_ONCE) as u64;
        let pause = OPENED_EVERY_NS.min(at_most / 2 / groups.max(1));
        for slot in 0..self.slots.len() {
            if slot > 0 && slot % OPENED_AT_ONCE == 0 {
                let next = self.world.now_ns() + pause;
                self.wait_while(next, |_| true);
            }
            let _ = self.open(slot as u32);
        }
        self.wait_while(limit, |generator| !generator.slots.iter().all(|s| s.connection.as_ref().is_none_or(|c| c.phase == Phase::Open)));
    }

    /// Sees to connections until an instant, as long as something holds, unless it is stopped.
    fn wait_while(&mut self, until: u64, holds: impl Fn(&Self) -> bool) {
        loop {
            let now = self.world.now_ns();
            if now >= until || self.is_stopped() || !holds(self) {
                return;
            }
            self.wait(now, until.min(now + LOOK_UP_NS));
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
}

#[cfg(test)]
mod tests;
