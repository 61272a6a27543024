//! The coordinator: divides a load among agents, starts them at one instant, and merges their
//! results.
//!
//! Start with [`run_from`]. It connects to each agent and measures the offset of its clock, assigns
//! parts, and waits until connections are open. Then it announces the start and collects the
//! results.

use super::link::{Link, Token};
use super::messages::{REPLY_BYTES_MAX, Reply, Request, Task, TrustedTls};
use super::offset::{Exchange, Offset};
use super::partition::partition_load;
use crate::clock;
use crate::measured::Measured;
use crate::parts::{Part, PartResult, merge_parts};
use crate::plan::Plan;
use crate::run::check_plan;
use record::AgentReport;
use spec::experiment::Load;
use spec::experiment::agents::SECONDS_MAX;
use std::io;
use std::net::ToSocketAddrs;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often each clock is read. The fastest exchange counts.
const EXCHANGES: usize = 16;
/// How often agents are asked for their progress.
const LOOK: Duration = Duration::from_millis(200);
/// How far ahead the start is, and how much further for each agent.
const AHEAD_NS: u64 = 300_000_000;
const AHEAD_EACH_NS: u64 = 20_000_000;
/// The time limit for a reply of an agent.
const REPLY_WITHIN: Duration = Duration::from_secs(8);
/// Connections must open within the timeout of a request, and within this limit.
const CONNECTED_WITHIN: Duration = Duration::from_secs(15);
/// An additional limit for what should be over.
const END_WITHIN: Duration = Duration::from_secs(15);

/// How to reach and name an agent.
pub trait AgentAddress: Sync {
    /// The name in messages.
    fn name(&self) -> &str;

    /// The address: `host:port`.
    fn address(&self) -> &str;
}

/// An agent that is named by its address.
impl AgentAddress for String {
    fn name(&self) -> &str {
        self
    }

    fn address(&self) -> &str {
        self
    }
}

/// An agent with a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The name in messages.
    pub name: String,
    /// The address: `host:port`.
    pub at: String,
}

impl AgentAddress for Seat {
    fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> &str {
        &self.at
    }
}

/// A connected agent.
struct Reached<'a> {
    name: &'a str,
    link: Link,
    loops: u32,
    offset: Offset,
}

/// Describes what an agent did and how well its clock was known.
fn describe_agent(
    agent: &Reached<'_>,
    load: &Load,
    part: Part,
    later: Offset,
    made: &PartResult,
) -> AgentReport {
    let measured = &made.measured;
    let places: u64 = part.shares().map(|share| share.part(load.in_flight_max())).sum();
    let available_ns = measured.duration_ns.saturating_mul(u64::from(measured.threads)).max(1);
    AgentReport {
        name: agent.name.to_owned(),
        first_loop: part.first,
        loops: part.loops,
        loops_of_all: part.of,
        offset_ns: agent.offset.ns,
        offset_error_ns: agent.offset.error_ns,
        drift_ns: agent.offset.drift_ns(later),
        late_ns: made.late_ns,
        counts: measured.counts,
        busy_share: measured.cpu_ns.saturating_sub(measured.spun_ns) as f64 / available_ns as f64,
        lag_p50_ns: measured.lag.quantile_ns(0.5),
        latency_p50_ns: measured.latency.quantile_ns(0.5),
        was_full: measured.in_flight_max >= places,
    }
}

impl Reached<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let gone = |e: io::Error| {
            format!("the agent {} was lost: {e}\nhint: check its output and restart it", self.name)
        };
        self.link.send(request, REPLY_WITHIN).map_err(gone)?;
        match self.link.receive(REPLY_BYTES_MAX, REPLY_WITHIN).map_err(gone)? {
            Reply::Refused(why) => Err(format!("the agent {} refused: {why}", self.name)),
            reply => Ok(reply),
        }
    }

    /// Whether its connections are open.
    fn is_connected(&mut self) -> Result<bool, String> {
        match self.ask(&Request::Watch)? {
            Reply::Running { connected } => Ok(connected),
            _ => Err(self.unexpected_reply()),
        }
    }

    /// Measures the offset of its clock. Also returns how many event loops it would run.
    fn measure_clock(&mut self) -> Result<(Offset, u32), String> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        let mut found = 0;
        for _ in 0..EXCHANGES {
            let asked_ns = clock::now_ns();
            let Reply::Clock { now_ns: theirs_ns, loops } = self.ask(&Request::Clock)? else {
                return Err(self.unexpected_reply());
            };
            exchanges.push(Exchange { asked_ns, theirs_ns, answered_ns: clock::now_ns() });
            found = loops;
        }
        Offset::from_exchanges(&exchanges)
            .map(|offset| (offset, found))
            .ok_or_else(|| self.unexpected_reply())
    }

    fn unexpected_reply(&self) -> String {
        format!(
            "the agent {} sent an unexpected reply\nhint: check that it has the same version",
            self.name
        )
    }
}

fn reach<'a>(agent: &'a impl AgentAddress, token: &Token) -> Result<Reached<'a>, String> {
    let name = agent.name();
    let hint = "check that `faceoff agent` listens there and has the same token";
    let failed = |e: io::Error| format!("the agent {name} cannot be reached: {e}\nhint: {hint}");
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in agent.address().to_socket_addrs().map_err(failed)? {
        match Link::to_agent(address, token) {
            Ok(link) => {
                let mut reached =
                    Reached { name, link, loops: 1, offset: Offset { ns: 0, error_ns: 0 } };
                (reached.offset, reached.loops) = reached.measure_clock()?;
                return Ok(reached);
            }
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// Checks whether each agent can be reached and knows the token. Returns the results in the order
/// given.
pub fn look<W: AgentAddress>(all: &[W], token: &Token) -> Vec<Result<(), String>> {
    let results = for_each_agent(all, |agent| Ok(reach(agent, token).map(drop)));
    results.unwrap_or_default()
}

/// Makes agents send the requests of a plan. Returns the merged measurement and a description of
/// each agent. `plan.threads` limits the event loops of each agent.
///
/// # Errors
/// If the load cannot start, an agent is lost, or the run is stopped. The results of the other
/// agents are then discarded, because they are not the requested load.
pub fn run<W: AgentAddress>(
    plan: &Plan<'_>,
    tls: Option<&TrustedTls>,
    all: &[W],
    token: &Token,
) -> Result<(Measured, Vec<AgentReport>), String> {
    run_from(plan, tls, all, token, |_| ())
}

/// As [`run`]. Calls `begins` with the start (CLOCK_MONOTONIC, ns) after all agents know it, and
/// before it has come. `begins` may wait for it.
///
/// # Errors
/// As [`run`].
pub fn run_from<W: AgentAddress>(
    plan: &Plan<'_>,
    tls: Option<&TrustedTls>,
    all: &[W],
    token: &Token,
    begins: impl FnOnce(u64),
) -> Result<(Measured, Vec<AgentReport>), String> {
    check_plan(plan).map_err(|e| e.to_string())?;
    // Checks, before contacting any agent, whether the results fit into memory and each agent gets
    // a part.
    let seconds = plan.duration.as_secs().saturating_mul(all.len() as u64);
    if seconds > SECONDS_MAX {
        return Err(format!(
            "{} agents would send {seconds} histograms, one for each second; the limit is {SECONDS_MAX}\nhint: measure for a shorter time, or with fewer agents",
            all.len()
        ));
    }
    partition_load(plan.load, plan.target.protocol, &vec![1; all.len()])?;
    let mut agents = for_each_agent(all, |agent| reach(agent, token))?;
    let requested: Vec<u32> = agents.iter().map(|agent| agent.loops.min(plan.threads)).collect();
    let parts = partition_load(plan.load, plan.target.protocol, &requested)?;
    for_each_agent(agents.iter_mut().zip(&parts), |(agent, part)| {
        let task = Task::for_part(plan, tls.cloned(), *part)?;
        agent.ask(&Request::Task(Box::new(task)))
    })?;
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let connected_by_ns = clock::now_ns()
        .saturating_add(nanoseconds(plan.timeout.min(CONNECTED_WITHIN) + END_WITHIN));
    while !for_each_agent(&mut agents, Reached::is_connected)?
        .into_iter()
        .all(|is_connected| is_connected)
    {
        wait_for_progress(plan, connected_by_ns, "connections do not open")?;
    }
    let begins_ns = clock::now_ns() + AHEAD_NS + AHEAD_EACH_NS * agents.len() as u64;
    for_each_agent(&mut agents, |agent| {
        agent.ask(&Request::Begin { at_ns: agent.offset.theirs(begins_ns) })
    })?;
    begins(begins_ns);
    let over_ns = begins_ns.saturating_add(nanoseconds(plan.duration + plan.timeout + END_WITHIN));
    let mut made: Vec<Option<PartResult>> = agents.iter().map(|_| None).collect();
    while made.iter().any(Option::is_none) {
        wait_for_progress(plan, over_ns, "agents do not finish")?;
        for_each_agent(agents.iter_mut().zip(&mut made), |(agent, made)| {
            // Agents that are done are asked too. In silence they would take the coordinator for
            // lost.
            let request = if made.is_none() { Request::Watch } else { Request::Clock };
            if let Reply::Done(done) = agent.ask(&request)? {
                *made = Some(*done);
            }
            Ok(())
        })?;
    }
    let later = for_each_agent(&mut agents, Reached::measure_clock)?;
    let mut apart = Vec::with_capacity(agents.len());
    for (((agent, part), made), (later, _)) in
        agents.iter().zip(parts).zip(made.iter_mut().flatten()).zip(later)
    {
        // Each agent counted from the same instant, on its own clock.
        made.measured.began_ns = begins_ns;
        apart.push(describe_agent(agent, plan.load, part, later, made));
    }
    let together = merge_parts(made.into_iter().flatten()).ok_or("no agent made a load")?;
    Ok((together.measured, apart))
}

/// Calls a function for each agent, for all at once. An agent that waited for its turn would take
/// the coordinator for lost. Returns the first error.
fn for_each_agent<A: Send, T: Send>(
    all: impl IntoIterator<Item = A>,
    does: impl Fn(A) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let does = &does;
    std::thread::scope(|scope| {
        let each: Vec<_> = all.into_iter().map(|one| scope.spawn(move || does(one))).collect();
        each.into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Waits a little. Fails if the time is over or the run is stopped.
fn wait_for_progress(plan: &Plan<'_>, until_ns: u64, otherwise: &str) -> Result<(), String> {
    std::thread::sleep(LOOK);
    match clock::now_ns() {
        _ if plan.stop.load(Ordering::Relaxed) => {
            Err("the run was stopped, and the agents with it".into())
        }
        now if now >= until_ns => {
            Err(format!("{otherwise}\nhint: check what else runs on the agents' machines"))
        }
        _ => Ok(()),
    }
}
