//! The coordinator: divides a load among agents, has all begin at one instant, and puts together what they measured.

use super::link::{Link, Token};
use super::words::{Ask, SAY_LONGEST, Say, Task, TrustedTls};
use super::{Exchange, Made, Offset, Part, deal, merged};
use crate::clock;
use crate::plan::Plan;
use crate::possible;
use crate::tally::Measured;
use model::agents::{OfAgent, SECONDS_MAX};
use model::experiment::Load;
use std::io;
use std::net::ToSocketAddrs;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often each clock is asked: the quickest answer says most.
const EXCHANGES: usize = 16;
/// How often agents are asked how far they are.
const LOOK: Duration = Duration::from_millis(200);
/// The start lies so far ahead, and as much farther for each agent that must be told.
const AHEAD_NS: u64 = 300_000_000;
const AHEAD_EACH_NS: u64 = 20_000_000;
/// An answer of an agent comes within.
const ASK_WITHIN: Duration = Duration::from_secs(8);
/// Connections stand within the timeout of a request, but not longer than this, ...
const CONNECTED_WITHIN: Duration = Duration::from_secs(15);
/// ... and this is how long whatever should be over may take besides.
const OVER_WITHIN: Duration = Duration::from_secs(15);

/// An agent as a coordinator knows it.
pub trait Whom: Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// Where it is reached: `host:port`.
    fn at(&self) -> &str;
}

/// One that is called as it is reached.
impl Whom for String {
    fn name(&self) -> &str {
        self
    }

    fn at(&self) -> &str {
        self
    }
}

/// One that is called otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// What it is called.
    pub name: String,
    /// Where it is reached: `host:port`.
    pub at: String,
}

impl Whom for Seat {
    fn name(&self) -> &str {
        &self.name
    }

    fn at(&self) -> &str {
        &self.at
    }
}

/// An agent that was reached.
struct Reached<'a> {
    name: &'a str,
    link: Link,
    loops: u32,
    offset: Offset,
}

/// What an agent did, and how well it kept to it.
fn told(agent: &Reached<'_>, load: &Load, part: Part, later: Offset, made: &Made) -> OfAgent {
    let measured = &made.measured;
    let places: u64 = part.shares().map(|share| share.part(load.in_flight_max())).sum();
    let there_was_ns = measured.duration_ns.saturating_mul(u64::from(measured.threads)).max(1);
    OfAgent {
        name: agent.name.to_owned(),
        first_loop: part.first,
        loops: part.loops,
        loops_of_all: part.of,
        offset_ns: agent.offset.ns,
        offset_error_ns: agent.offset.error_ns,
        drift_ns: agent.offset.drift_ns(later),
        late_ns: made.late_ns,
        counts: measured.counts,
        busy_share: measured.cpu_ns.saturating_sub(measured.spun_ns) as f64 / there_was_ns as f64,
        lag_p50_ns: measured.lag.quantile_ns(0.5),
        latency_p50_ns: measured.latency.quantile_ns(0.5),
        was_full: measured.in_flight_max >= places,
    }
}

impl Reached<'_> {
    fn ask(&mut self, ask: &Ask) -> Result<Say, String> {
        let gone = |e: io::Error| format!("the agent {} is gone: {e}\nhint: see what it printed, and start it again", self.name);
        self.link.send(ask, ASK_WITHIN).map_err(gone)?;
        match self.link.receive(SAY_LONGEST, ASK_WITHIN).map_err(gone)? {
            Say::Refused(why) => Err(format!("the agent {} refuses: {why}", self.name)),
            said => Ok(said),
        }
    }

    /// Whether its connections stand.
    fn stands(&mut self) -> Result<bool, String> {
        match self.ask(&Ask::Watch)? {
            Say::AtIt { connected } => Ok(connected),
            _ => Err(self.off_the_point()),
        }
    }

    /// Reads its clock.
    fn look_at_clock(&mut self) -> Result<(Offset, u32), String> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        let mut found = 0;
        for _ in 0..EXCHANGES {
            let asked_ns = clock::now_ns();
            let Say::Clock { now_ns: theirs_ns, loops } = self.ask(&Ask::Clock)? else { return Err(self.off_the_point()) };
            exchanges.push(Exchange { asked_ns, theirs_ns, answered_ns: clock::now_ns() });
            found = loops;
        }
        Offset::of(&exchanges).map(|offset| (offset, found)).ok_or_else(|| self.off_the_point())
    }

    fn off_the_point(&self) -> String {
        format!("the agent {} answers what was not asked\nhint: is it of this version?", self.name)
    }
}

fn reach<'a>(whom: &'a impl Whom, token: &Token) -> Result<Reached<'a>, String> {
    let name = whom.name();
    let hint = "does `faceoff agent` listen there, with this token?";
    let failed = |e: io::Error| format!("the agent {name} cannot be reached: {e}\nhint: {hint}");
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in whom.at().to_socket_addrs().map_err(failed)? {
        match Link::to_agent(address, token) {
            Ok(link) => {
                let mut reached = Reached { name, link, loops: 1, offset: Offset { ns: 0, error_ns: 0 } };
                (reached.offset, reached.loops) = reached.look_at_clock()?;
                return Ok(reached);
            }
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// Whether each is there and knows the token; why not, in the order in which they are given.
pub fn look<W: Whom>(all: &[W], token: &Token) -> Vec<Result<(), String>> {
    let looked = of_each(all, |whom| Ok(reach(whom, token).map(drop)));
    looked.unwrap_or_default()
}

/// Has agents make the requests of a plan, and gives what they measured together and apart. `plan.threads` is the most event loops of each.
///
/// # Errors
/// What could not begin, and an agent that is gone: what the others measured is then part of no load that was asked for. Stopped from
/// outside, it is an error as well.
pub fn run<W: Whom>(plan: &Plan<'_>, tls: Option<&TrustedTls>, all: &[W], token: &Token) -> Result<(Measured, Vec<OfAgent>), String> {
    run_from(plan, tls, all, token, |_| ())
}

/// As [`run`]; `begins` hears of the start (CLOCK_MONOTONIC, ns) once all agents have been told it, which is before it has come, and may
/// wait for it.
///
/// # Errors
/// As those of [`run`].
pub fn run_from<W: Whom>(
    plan: &Plan<'_>,
    tls: Option<&TrustedTls>,
    all: &[W],
    token: &Token,
    begins: impl FnOnce(u64),
) -> Result<(Measured, Vec<OfAgent>), String> {
    possible(plan).map_err(|e| e.to_string())?;
    // Before anybody is asked: whether it would fit here, and whether there is something for each.
    let seconds = plan.duration.as_secs().saturating_mul(all.len() as u64);
    if seconds > SECONDS_MAX {
        return Err(format!(
            "{} agents bring {seconds} histograms, one for each second, and at most {SECONDS_MAX} are taken\nhint: measure for a shorter time, or with fewer agents",
            all.len()
        ));
    }
    deal(plan.load, plan.target.protocol, &vec![1; all.len()])?;
    let mut agents = of_each(all, |whom| reach(whom, token))?;
    let asked: Vec<u32> = agents.iter().map(|agent| agent.loops.min(plan.threads)).collect();
    let parts = deal(plan.load, plan.target.protocol, &asked)?;
    of_each(agents.iter_mut().zip(&parts), |(agent, part)| {
        let task = Task::of(plan, tls.cloned(), *part)?;
        agent.ask(&Ask::Task(Box::new(task)))
    })?;
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let stand_by_ns = clock::now_ns().saturating_add(nanoseconds(plan.timeout.min(CONNECTED_WITHIN) + OVER_WITHIN));
    while !of_each(&mut agents, Reached::stands)?.into_iter().all(|stands| stands) {
        go_on(plan, stand_by_ns, "connections do not stand")?;
    }
    let begins_ns = clock::now_ns() + AHEAD_NS + AHEAD_EACH_NS * agents.len() as u64;
    of_each(&mut agents, |agent| agent.ask(&Ask::Begin { at_ns: agent.offset.theirs(begins_ns) }))?;
    begins(begins_ns);
    let over_ns = begins_ns.saturating_add(nanoseconds(plan.duration + plan.timeout + OVER_WITHIN));
    let mut made: Vec<Option<Made>> = agents.iter().map(|_| None).collect();
    while made.iter().any(Option::is_none) {
        go_on(plan, over_ns, "agents do not end")?;
        of_each(agents.iter_mut().zip(&mut made), |(agent, made)| {
            // Who is done is asked all the same: in silence it would take us for gone.
            let ask = if made.is_none() { Ask::Watch } else { Ask::Clock };
            if let Say::Done(done) = agent.ask(&ask)? {
                *made = Some(*done);
            }
            Ok(())
        })?;
    }
    let later = of_each(&mut agents, Reached::look_at_clock)?;
    let mut apart = Vec::with_capacity(agents.len());
    for (((agent, part), made), (later, _)) in agents.iter().zip(parts).zip(made.iter_mut().flatten()).zip(later) {
        // Each counted from the same instant, on a clock of its own.
        made.measured.began_ns = begins_ns;
        apart.push(told(agent, plan.load, part, later, made));
    }
    let together = merged(made.into_iter().flatten()).ok_or("no agent made a load")?;
    Ok((together.measured, apart))
}

/// Does something with each, with all at once: an agent that waits for its turn would take us for gone. The first that fails is told of.
fn of_each<A: Send, T: Send>(all: impl IntoIterator<Item = A>, does: impl Fn(A) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    let does = &does;
    std::thread::scope(|scope| {
        let each: Vec<_> = all.into_iter().map(|one| scope.spawn(move || does(one))).collect();
        each.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Waits a little, as long as there is time and nobody wants it to end.
fn go_on(plan: &Plan<'_>, until_ns: u64, otherwise: &str) -> Result<(), String> {
    std::thread::sleep(LOOK);
    match clock::now_ns() {
        _ if plan.stop.load(Ordering::Relaxed) => Err("it was stopped, and the agents with it".into()),
        now if now >= until_ns => Err(format!("{otherwise}\nhint: look at what the machines of the agents do besides")),
        _ => Ok(()),
    }
}
