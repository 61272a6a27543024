//! The event loop of one thread: sends requests when they are due, and settles them by their
//! responses.
//!
//! A [`Journey`] is a sequence of requests, one at a time: a user, or one of the concurrent
//! requests of other loads. A slot holds a connection. [`Generator::run`] chooses the loop for the
//! kind of load (`loops`). Requests are sent in `sending`, settled in `settling`, and events are
//! handled in `waiting`. The paths allocate nothing for each request, once buffers have grown.

mod connections;
mod loops;
mod sending;
mod settling;
pub(crate) mod slices;
mod waiting;

use crate::answer::Event;
use crate::check::{Checks, ResponseCheck};
use crate::connection::{Connection, Phase};
use crate::measured::{Measured, StepCounts};
use crate::parts::Start;
use crate::plan::{Plan, Protocol};
use crate::request::Script;
use crate::schedule::{Schedule, Share, uniform};
use crate::sizing::Size;
use crate::tally::{Listeners, Tally};
use crate::values::Vars;
use crate::world::{Ready, World};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use spec::experiment::Load;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;

/// The loop is awake at least this long before a scheduled instant, so that caches and clocks are
/// warm.
const WARM_NS: u64 = 120_000;
/// The loop polls at most this long before an instant, however late sleeps end.
const SPIN_MAX_NS: u64 = 300_000;
/// The longest wait. Afterwards the loop looks for the stop flag and for timeouts.
const LOOK_UP_NS: u64 = 20_000_000;
/// How often the loop checks whether the start is known.
const START_LOOK_NS: u64 = 2_000_000;
/// How long the last responses are awaited after the end of a schedule.
const DRAIN_NS: u64 = 2_000_000_000;
/// How long connections are awaited before the clock starts.
const CONNECT_NS: u64 = 1_000_000_000;
/// Connections of a closed load that are opened together, and the pause before the next group. A
/// listener's queue often holds 100 (Tomcat's acceptCount). A connection that it drops is retried
/// after a second.
const OPENED_AT_ONCE: usize = 32;
const OPENED_EVERY_NS: u64 = 5_000_000;

/// The number of instants of sending that are kept for a schedule.
const SENT_AT_MAX: u64 = 1_000;

const NONE: u32 = u32::MAX;

/// A sequence of requests, one at a time. One for each user, or for each concurrent request of
/// other loads.
struct Journey {
    vars: Vars,
    step: u32,
    rounds: u64,
    scheduled_ns: u64,
    /// When the request in flight was first sent, or 0 if there is none.
    sent_ns: u64,
    deadline_ns: u64,
    /// The slot of its connection.
    slot: u32,
    /// The next older and younger request in flight.
    older: u32,
    younger: u32,
    /// How often it was retried while the server answered nothing else.
    retries: u8,
    /// Whether the server may have processed the request before it was retried.
    in_doubt: bool,
    /// Why it was last retried. Empty if it never was.
    why: String,
}

impl Journey {
    fn new(vars: Vars) -> Journey {
        Journey {
            vars,
            step: 0,
            rounds: 0,
            scheduled_ns: 0,
            sent_ns: 0,
            deadline_ns: 0,
            slot: NONE,
            older: NONE,
            younger: NONE,
            retries: 0,
            in_doubt: false,
            why: String::new(),
        }
    }
}

struct Slot<S> {
    connection: Option<Connection<S>>,
    /// Distinguishes events of this connection from those of earlier ones in the same slot.
    generation: u32,
    failures_in_a_row: u32,
}

/// Which requests may use which connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Each connection serves `depth` journeys of its own.
    Own,
    /// Any connection that has room.
    Pool,
}

pub(crate) struct Generator<'a, W: World> {
    world: W,
    plan: &'a Plan<'a>,
    share: Share,
    script: Script,
    sharing: Sharing,
    /// The number of requests in flight that a connection takes.
    depth: u32,
    slots: Vec<Slot<W::Socket>>,
    /// Connections of the pool that have room. The last one used is on top.
    ready: Vec<u32>,
    /// Slots of the pool without a connection.
    unopened: Vec<u32>,
    next_address: usize,
    journeys: Vec<Journey>,
    /// Journeys of arrivals without a request.
    idle: Vec<u32>,
    /// Journeys whose request is taken but finds no connection with room.
    queue: VecDeque<u32>,
    /// Journeys that start at an instant.
    alarms: BinaryHeap<Reverse<(u64, u32)>>,
    /// Journeys to retry as soon as the current connection is handled, before anything new.
    again: VecDeque<u32>,
    /// Journeys to retry after a pause, with its end.
    paused: Vec<(u64, u32)>,
    fresh: VecDeque<u32>,
    /// Connections with bytes to send.
    dirty: Vec<u32>,
    oldest: u32,
    youngest: u32,
    tally: Tally,
    start_ns: u64,
    timeout_ns: u64,
    /// The number of requests taken so far, and the limit.
    taken: u64,
    most: u64,
    shed: u64,
    /// The measured time so far, if the load is made in slices.
    sliced_ns: u64,
    /// The number of users who have finished all rounds.
    done: u64,
    /// Whether journeys continue after a response.
    continues: bool,
    random: ChaCha8Rng,
    /// When the last request was sent.
    last_sent_ns: u64,
    /// How late sleeps have recently ended, at most.
    overshoot_ns: u64,
    spun_ns: u64,
    buffer: Box<[u8]>,
    events: Vec<Event>,
    happened: Vec<Ready>,
    block: Vec<u8>,
    body: Vec<u8>,
}

struct JourneyChecks<'a> {
    script: &'a mut Script,
    journeys: &'a mut [Journey],
}

impl Checks for JourneyChecks<'_> {
    #[inline]
    fn check(&mut self, ticket: u32) -> ResponseCheck<'_> {
        let journey = &mut self.journeys[ticket as usize];
        self.script.check(journey.step as usize, &mut journey.vars)
    }
}

impl<'a, W: World> Generator<'a, W> {
    pub fn new(world: W, plan: &'a Plan<'a>, share: Share) -> Self {
        let Size { connections, journeys, depth, has_own_connections } =
            Size::of_share(plan.load, plan.target.protocol, share);
        let script = Script::new(plan.workload, plan.target, plan.seed, share.thread, share.of);
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
        // Each thread has its own random stream, separate from those of the schedule and the data.
        random.set_stream(1 << 32 | u64::from(share.thread));
        let sharing = if has_own_connections { Sharing::Own } else { Sharing::Pool };
        Generator {
            sharing,
            depth,
            slots: (0..connections)
                .map(|_| Slot { connection: None, generation: 0, failures_in_a_row: 0 })
                .collect(),
            ready: match sharing {
                Sharing::Own => Vec::new(),
                Sharing::Pool => Vec::with_capacity(connections as usize),
            },
            unopened: match sharing {
                Sharing::Own => Vec::new(),
                Sharing::Pool => (0..connections).rev().collect(),
            },
            next_address: share.thread as usize,
            journeys: (0..journeys).map(|_| Journey::new(script.vars())).collect(),
            idle: Vec::new(),
            queue: VecDeque::new(),
            alarms: BinaryHeap::with_capacity(journeys as usize),
            again: VecDeque::new(),
            paused: Vec::new(),
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
            sliced_ns: 0,
            done: 0,
            continues: true,
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

    /// Opens the connections of a closed load before the clock starts, as far as time permits.
    pub fn connect(&mut self) {
        if !matches!(self.plan.load, Load::Closed { .. })
            || self.plan.target.protocol == (Protocol::Http1 { keep_alive: false })
        {
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
        self.wait_while(limit, |generator| {
            !generator
                .slots
                .iter()
                .all(|s| s.connection.as_ref().is_none_or(|c| c.phase == Phase::Open))
        });
    }

    /// Handles connections until an instant, while a condition holds and the run is not stopped.
    fn wait_while(&mut self, until: u64, holds: impl Fn(&Self) -> bool) {
        loop {
            let now = self.world.now_ns();
            if now >= until || self.is_stopped() || !holds(self) {
                return;
            }
            self.wait(now, until.min(now + LOOK_UP_NS));
        }
    }

    /// Waits for the agreed start and handles connections meanwhile. Returns the start, and by how
    /// much it was missed. If the run is stopped earlier, it starts at once in order to end.
    pub fn await_start(&mut self, start: &Start) -> (u64, u64) {
        loop {
            let now = self.world.now_ns();
            let until = match start.get() {
                Some(at) if at <= now => return (at, now - at),
                _ if self.is_stopped() => return (now, 0),
                // The last part is spent awake, because sleeps end late.
                Some(at) => now.max(at.saturating_sub(SPIN_MAX_NS)).min(now + LOOK_UP_NS),
                None => now + START_LOOK_NS,
            };
            self.wait(now, until);
        }
    }

    /// Reads the clock of the world.
    pub fn now_ns(&self) -> u64 {
        self.world.now_ns()
    }

    /// Sends the requests of a load that starts at an instant, now or slightly before. Returns what
    /// was measured.
    pub fn run(&mut self, start_ns: u64, listeners: Listeners) -> Measured {
        let planned_ns = self.begin(start_ns, listeners);
        let interrupted = match self.plan.load {
            Load::Closed { .. } => self.run_closed(planned_ns),
            Load::Arrivals { overflow, .. } => {
                let schedule = self.schedule(planned_ns).expect("arrivals have one");
                self.run_arrivals(schedule, *overflow, planned_ns)
            }
            Load::Users { users, ramp, .. } => {
                self.run_users(*users, ramp.as_nanos() as u64, planned_ns)
            }
            // `check_plan` has refused this.
            Load::Capacity(_) => false,
        };
        self.end(planned_ns, interrupted)
    }

    /// Starts to count at an instant. Returns how long requests are to be sent.
    fn begin(&mut self, start_ns: u64, listeners: Listeners) -> u64 {
        self.start_ns = start_ns;
        let before = std::mem::replace(
            &mut self.tally,
            Tally::with_listeners(start_ns, self.plan.load.has_schedule(), listeners),
        );
        self.tally.steps = vec![StepCounts::default(); self.script.len()];
        (self.tally.connections_opened, self.tally.connect) =
            (before.connections_opened, before.connect);
        let planned_ns = self
            .plan
            .load
            .ends_after()
            .map_or(self.plan.duration, |end| end.min(self.plan.duration))
            .as_nanos() as u64;
        let chosen = self.sampled_requests(planned_ns);
        self.tally.expect(planned_ns, chosen);
        planned_ns
    }

    /// Returns this thread's share of the arrivals, if the load has a schedule.
    fn schedule(&self, planned_ns: u64) -> Option<Schedule> {
        let Load::Arrivals { rate_per_s, stages, spacing, .. } = self.plan.load else {
            return None;
        };
        let most = self.plan.requests.unwrap_or(u64::MAX);
        Some(
            Schedule::new(*rate_per_s, stages, *spacing, planned_ns, most, self.plan.seed)
                .share(self.share),
        )
    }

    /// Ends the run and returns what was measured.
    fn end(&mut self, planned_ns: u64, interrupted: bool) -> Measured {
        let has_schedule = self.plan.load.has_schedule();
        let ended_ns = self.world.now_ns();
        let ends_by_itself = self.plan.requests.is_some()
            || matches!(self.plan.load, Load::Users { rounds: Some(_), .. });
        // A run that was stopped, by count or by hand, lasted as long as it took.
        let planned_ns = if interrupted || ends_by_itself {
            planned_ns.min(ended_ns - self.start_ns)
        } else {
            planned_ns
        };
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(0, has_schedule));
        let never_sent = |journey: &&u32| self.journeys[**journey as usize].sent_ns == 0;
        tally.counts.unsent = self.shed + self.queue.iter().filter(never_sent).count() as u64;
        tally.counts.unfinished = tally.in_flight();
        for in_flight in self.journeys.iter().filter(|journey| journey.sent_ns > 0) {
            tally.steps[in_flight.step as usize].in_doubt += 1;
        }
        let mut measured = tally.finish(planned_ns, ended_ns);
        measured.counts.scheduled = self.taken + self.shed;
        measured.spun_ns = self.spun_ns;
        measured.interrupted = interrupted;
        measured
    }

    /// Chooses the requests whose instants of sending are kept, in descending order:
    /// [`SENT_AT_MAX`] of those expected, at random.
    fn sampled_requests(&self, planned_ns: u64) -> Vec<u64> {
        let Some(expected) = self.plan.load.expected_until(planned_ns as f64 / 1e9) else {
            return Vec::new();
        };
        let expected = expected.min(self.plan.requests.map_or(f64::MAX, |most| most as f64));
        // More Poisson arrivals than expected may come. The last ones must have the same chance to
        // be chosen.
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

    /// Returns how long to wait for last responses: long enough for a timeout, within a limit.
    fn drain_ns(&self) -> u64 {
        DRAIN_NS.min(self.timeout_ns + 2 * LOOK_UP_NS)
    }

    fn is_stopped(&self) -> bool {
        self.plan.stop.load(Ordering::Relaxed)
    }

    /// Returns the number of a journey over all threads.
    fn number(&self, journey: u32) -> u32 {
        journey * self.share.of + self.share.thread
    }
}

#[cfg(test)]
mod tests;
