//! The coordinator: divides a load among agents, has all begin at one instant, and puts together what they measured.

use super::link::{Link, Token};
use super::words::{Ask, SAY_LONGEST, Say, Task, TrustedTls};
use super::{Exchange, Made, Offset, Part, deal, merged};
use crate::clock;
use crate::plan::Plan;
use crate::possible;
use crate::tally::Measured;
use model::experiment::Load;
use model::record::Counts;
use model::units::show_short;
use serde::{Deserialize, Serialize};
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
/// Clocks may be as uncertain, and beginnings as late: that is what is allowed to the tail of the lag as well.
const APART_MAX_NS: u64 = 1_000_000;
/// A median lag below this is never the agent's fault: the clock and a wake-up cost that much.
const LAG_FLOOR_NS: u64 = 50_000;
/// The event loops of an agent may use this share of their CPUs.
const BUSY_MAX: f64 = 0.90;

/// What one agent did, and how well it kept to what it was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfAgent {
    /// As it was named.
    pub name: String,
    /// What it made of the load.
    pub part: Part,
    /// How far its clock is ahead of ours, before the load.
    pub offset: Offset,
    /// By how much the clocks went apart during the load, as far as that is certain.
    pub drift_ns: u64,
    /// By how much it missed the start.
    pub late_ns: u64,
    /// What became of its requests.
    pub counts: Counts,
    /// CPU time that its event loops needed, as a share of that of their CPUs.
    pub busy_share: f64,
    /// The median of how late its requests were taken up.
    pub lag_p50_ns: u64,
    /// The median of its latencies.
    pub latency_p50_ns: u64,
    /// Whether all of its places were taken at times: then requests waited for the server, not for the agent.
    pub was_full: bool,
}

impl OfAgent {
    fn new(agent: &Reached<'_>, load: &Load, part: Part, later: Offset, made: &Made) -> OfAgent {
        let measured = &made.measured;
        let places: u64 = part.shares().map(|share| share.part(load.in_flight_max())).sum();
        let there_was_ns = measured.duration_ns.saturating_mul(u64::from(measured.threads)).max(1);
        OfAgent {
            name: agent.name.to_owned(),
            part,
            offset: agent.offset,
            drift_ns: agent.offset.drift_ns(later),
            late_ns: made.late_ns,
            counts: measured.counts,
            busy_share: measured.cpu_ns.saturating_sub(measured.spun_ns) as f64 / there_was_ns as f64,
            lag_p50_ns: measured.lag.quantile_ns(0.5),
            latency_p50_ns: measured.latency.quantile_ns(0.5),
            was_full: measured.in_flight_max >= places,
        }
    }

    /// Why what it measured may be its own, in words.
    pub fn doubts(&self) -> Vec<String> {
        let show = |ns: u64| show_short(ns as f64);
        let lags = self.lag_p50_ns > LAG_FLOOR_NS && self.lag_p50_ns.saturating_mul(10) > self.latency_p50_ns && !self.was_full;
        let doubts = [
            (self.offset.error_ns > APART_MAX_NS, format!("its clock is known to {} only", show(self.offset.error_ns))),
            (self.drift_ns > APART_MAX_NS, format!("its clock went {} apart from ours", show(self.drift_ns))),
            (self.late_ns > APART_MAX_NS, format!("it began {} late", show(self.late_ns))),
            (lags, "half of its requests left late by a tenth of their latency or more".into()),
            (self.busy_share > BUSY_MAX, format!("it was busy for {:.0} % of the time", 100.0 * self.busy_share)),
        ];
        doubts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!("agent {}: {what}", self.name)).collect()
    }
}

/// An agent that was reached.
struct Reached<'a> {
    name: &'a str,
    link: Link,
    loops: u32,
    offset: Offset,
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

fn reach<'a>(name: &'a str, token: &Token) -> Result<Reached<'a>, String> {
    let hint = "does `faceoff agent` listen there, with this token?";
    let failed = |e: io::Error| format!("the agent {name} cannot be reached: {e}\nhint: {hint}");
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in name.to_socket_addrs().map_err(failed)? {
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

/// Has agents make the requests of a plan, and gives what they measured together and apart. `plan.threads` is the most event loops of each.
///
/// # Errors
/// What could not begin, and an agent that is gone: what the others measured is then part of no load that was asked for. Stopped from
/// outside, it is an error as well.
pub fn run(plan: &Plan<'_>, tls: Option<&TrustedTls>, names: &[String], token: &Token) -> Result<(Measured, Vec<OfAgent>), String> {
    possible(plan).map_err(|e| e.to_string())?;
    // Before anybody is asked: whether there is something for each.
    deal(plan.load, plan.target.protocol, &vec![1; names.len()])?;
    let mut agents = of_each(names, |name| reach(name, token))?;
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
        apart.push(OfAgent::new(agent, plan.load, part, later, made));
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn kept() -> OfAgent {
        OfAgent {
            name: "there:1".into(),
            part: Part::whole(1),
            offset: Offset { ns: -5, error_ns: MS / 10 },
            drift_ns: 0,
            late_ns: MS / 10,
            counts: Counts::default(),
            busy_share: 0.5,
            lag_p50_ns: MS / 100,
            latency_p50_ns: MS,
            was_full: false,
        }
    }

    #[test]
    fn who_kept_to_it_is_not_doubted_and_who_did_not_is() {
        assert!(kept().doubts().is_empty());
        let doubted = |agent: OfAgent, why: &str| {
            let doubts = agent.doubts();
            assert!(matches!(&doubts[..], [only] if only.starts_with("agent there:1: ") && only.contains(why)), "{why}: {doubts:?}");
        };
        doubted(OfAgent { offset: Offset { ns: 0, error_ns: 2 * MS }, ..kept() }, "known to");
        doubted(OfAgent { drift_ns: 2 * MS, ..kept() }, "apart");
        doubted(OfAgent { late_ns: 2 * MS, ..kept() }, "late");
        doubted(OfAgent { busy_share: 0.95, ..kept() }, "95 %");
        let lagging = OfAgent { lag_p50_ns: MS / 5, ..kept() };
        doubted(lagging.clone(), "half of its requests");
        assert!(OfAgent { was_full: true, ..lagging.clone() }.doubts().is_empty(), "they waited for the server");
        assert!(OfAgent { latency_p50_ns: 100 * MS, ..lagging }.doubts().is_empty(), "it hardly shows");
    }
}
