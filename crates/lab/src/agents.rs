//! Agents in the generator's place: whether they are there, where they reach contenders, and the loads that they make (docs/agents.md).

use crate::warmup::Given;
use crate::{Lab, LabError, Progress, Watcher};
use load::agents::{LOOPS_MAX, Seat, Token, TrustedTls, run_from};
use load::{Address, Measured, Plan, Wait};
use model::agents::OfAgent;
use model::experiment::{Experiment, Load, Place};
use model::problem::Problems;
use model::record::Fault;
use model::system::Contender;
use runner::database::Means;
use runner::kubernetes::AgentPods;
use runner::place::{AskedAgents, Runner};
use runner::start::Running;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long agents warm a contender up with each workload.
const WARM: Duration = Duration::from_secs(1);
/// Connections of all of them together, where there are not more agents.
const WARM_CONNECTIONS: usize = 8;
/// Apart from those of windows and of measurements.
const WARM_SEED: u64 = u64::MAX >> 1;

/// The agents of a run.
pub(crate) struct Agents {
    token: Token,
    /// All of them.
    all: Vec<Seat>,
    /// Those that are there.
    present: Vec<Seat>,
    /// The address at which they reach contenders; `None` of those in pods, which reach services within the cluster.
    at: Option<Ipv4Addr>,
    /// Those in pods.
    pods: Option<AgentPods>,
}

/// Why agents are not in pods, and what to do.
fn without_pods(why: &str) -> String {
    format!("agents do not run in pods: {why}\nhint: ask for fewer, give the cluster room, or leave `agents` of [place] out")
}

impl Agents {
    /// Those that an experiment names, `None` where it names none. Where it does not say at which address of this machine they reach
    /// contenders, it does so from here on.
    ///
    /// # Errors
    /// No token; no address of this machine on the way to all of them, or one that is none of its own.
    pub fn of(place: &mut Place) -> Result<Option<Agents>, Problems> {
        if place.agents.is_empty() {
            return Ok(None);
        }
        let token = Token::of_environment()?;
        let at = match place.address {
            Some(address) => address,
            None => *place.address.insert(own_address(&place.agents)?),
        };
        TcpListener::bind((at, 0)).map_err(|e| {
            let message = format!("contenders cannot listen at {at}, where agents would reach them: {e}");
            Problems::plain(message, "have `address` of [place] name an address of this machine")
        })?;
        let all: Vec<Seat> = place.agents.iter().map(|name| Seat { name: name.clone(), at: name.clone() }).collect();
        Ok(Some(Agents { token, present: all.clone(), all, at: Some(at), pods: None }))
    }

    /// Those in pods, started where the experiment asks for them; otherwise those that it names, if any.
    ///
    /// # Errors
    /// Why they do not run; interrupted.
    pub fn or_in_pods(
        named: Option<Agents>,
        experiment: &Experiment,
        runner: &dyn Runner,
        cpus: &[usize],
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Option<Agents>, LabError> {
        let Some(pods) = experiment.place.agent_pods else { return Ok(named) };
        let started = runner.agents(&AskedAgents { pods, longest: experiment.design.measure, cpus, cache, means });
        let pods = started.map_err(|why| match means.stop.load(Ordering::Relaxed) {
            true => LabError::Interrupted,
            false => LabError::Agents(without_pods(&why)),
        })?;
        let all = pods.seats();
        Ok(Some(Agents { token: pods.token().clone(), present: all.clone(), all, at: None, pods: Some(pods) }))
    }

    /// Asks all of them whether they are there, and goes on with those that are; where one in a pod is not, with pods that are made anew.
    /// Why others that were are not any more.
    pub fn look(&mut self, stop: &AtomicBool) -> Vec<String> {
        if let Some(pods) = &mut self.pods {
            let looked = pods.look(stop);
            self.all = if looked.is_ok() { pods.seats() } else { Vec::new() };
            self.present.clone_from(&self.all);
            return looked.map_or_else(|why| vec![without_pods(&why)], Vec::from_iter);
        }
        let found = load::agents::look(&self.all, &self.token);
        let before = std::mem::take(&mut self.present);
        let mut lost = Vec::new();
        for (seat, found) in self.all.iter().zip(found) {
            match found {
                Ok(()) => self.present.push(seat.clone()),
                Err(why) if before.contains(seat) => lost.push(why),
                Err(_) => {}
            }
        }
        lost
    }

    /// Whether none is there.
    pub fn are_gone(&self) -> bool {
        self.present.is_empty()
    }

    /// Why they do not reach a service that ran already.
    pub fn cannot_reach(&self, contender: &Contender) -> Option<Problems> {
        let is_here_alone = contender.system.reached.as_ref().is_some_and(|reached| !reached.remote);
        (is_here_alone && !self.have_our_loopback()).then(|| {
            let message = format!("{} is reached at loopback, which is another machine to each agent", contender.name);
            Problems::plain(message, "have its `url` name an address of this machine that agents reach, with `remote = true`")
        })
    }

    /// Whether loopback is to them what it is here.
    fn have_our_loopback(&self) -> bool {
        self.at.is_some_and(|at| at.is_loopback())
    }

    /// How their event loops wait: those on this machine leave its CPUs to what they measure, and the quota of a pod counts waiting awake.
    pub fn wait(&self) -> Wait {
        if self.pods.is_some() || self.have_our_loopback() { Wait::Asleep } else { Wait::Near }
    }

    /// Whether they are on the CPUs of this machine's generator, in its place.
    pub fn are_in_its_place(&self) -> bool {
        self.pods.as_ref().is_some_and(AgentPods::are_here)
    }

    /// Makes a load. `begins` hears of the start before it has come.
    ///
    /// # Errors
    /// An agent that is gone, with what it was asked to do.
    pub fn make(&self, plan: &Plan<'_>, begins: impl FnOnce(u64)) -> Result<(Measured, Vec<OfAgent>), String> {
        let is_loopback = |address: &Address| matches!(address, Address::Tcp(address) if address.ip().is_loopback());
        if !self.have_our_loopback() && plan.target.addresses.iter().any(is_loopback) {
            let hint = "give it an address that agents reach";
            return Err(format!("it is asked at loopback, which is another machine to each agent\nhint: {hint}"));
        }
        // A system's certificate is its own, and trusted as it stands.
        let made = run_from(plan, TrustedTls::of(plan.target, true).as_ref(), &self.present, &self.token, begins);
        let (measured, mut apart) = made.map_err(|why| self.explained(why, plan.stop))?;
        // Of what its quota leaves to it: more it could not use.
        let share = self.pods.as_ref().map_or(1.0, AgentPods::cpus);
        apart.iter_mut().for_each(|agent| agent.busy_share /= share);
        Ok((measured, apart))
    }

    /// Why a load was not made, with the end of a pod that explains it.
    fn explained(&self, why: String, stop: &AtomicBool) -> String {
        let pods = self.pods.as_ref().filter(|_| !stop.load(Ordering::Relaxed));
        let Some(end) = pods.and_then(AgentPods::end) else { return why };
        let cause = why.lines().next().unwrap_or_default();
        format!("{cause}; {end}\nhint: see what else happened to the pods of the cluster then")
    }

    /// Warms a contender up as it will be measured, over the way that requests of agents take; how many were answered rightly.
    ///
    /// # Errors
    /// An agent that is gone, or that does not reach the contender, which has answered requests from here before.
    pub fn warm(&self, running: &Running, given: &Given<'_>) -> Result<u64, Fault> {
        let connections = self.present.len().max(WARM_CONNECTIONS) as u32;
        let mut correct = 0;
        for workload in given.workloads {
            let plan = Plan {
                target: &running.target,
                workload,
                load: &Load::closed(connections),
                duration: WARM.min(given.at_most),
                requests: None,
                timeout: Duration::from_secs(10),
                seed: WARM_SEED,
                threads: LOOPS_MAX,
                wait: Wait::Asleep,
                stop: given.stop,
                progress: None,
            };
            let (measured, apart) = self.make(&plan, |_| ()).map_err(|why| lost("warm-up", &why))?;
            (given.heard)(workload, &measured);
            correct += measured.counts.correct;
            if let Some(agent) = apart.iter().find(|agent| agent.counts.correct == 0 && agent.counts.refused > 0) {
                let said = measured.examples.first().map_or(String::new(), |example| format!(": {example}"));
                let why = format!("the agent {} cannot connect to {}{said}", agent.name, running.address);
                return Err(lost("warm-up", &format!("{why}\nhint: see whether a firewall keeps its machine from this one")));
            }
        }
        Ok(correct)
    }
}

impl Lab<'_> {
    /// Asks agents before a trial whether they are there. `false` where what they ran in was lost, and is there again.
    pub(crate) fn look_at_agents(&mut self, watch: &mut Watcher<'_>) -> Result<bool, LabError> {
        let Some(agents) = &mut self.agents else { return Ok(true) };
        let absent = agents.look(self.place.stop);
        let (are_gone, made_anew) = (agents.are_gone(), agents.pods.is_some());
        let Some(first) = absent.first() else { return Ok(true) };
        if self.is_stopped() {
            return Err(LabError::Interrupted);
        }
        if !are_gone {
            absent.iter().for_each(|why| watch(Progress::AgentAbsent { why, made_anew }));
            return Ok(true);
        }
        match self.runner.lost().filter(|_| made_anew) {
            Some(why) => self.await_engine(&why, watch).map(|()| false),
            None => Err(LabError::Agents(first.clone())),
        }
    }
}

/// A load that agents did not make; `of` is what it was for.
pub(crate) fn lost(of: &str, why: &str) -> Fault {
    let (cause, hint) = why.split_once("\nhint: ").unwrap_or((why, "see what the agent printed"));
    Fault { kind: "agent-lost".into(), evidence: format!("{of}: {cause}"), hint: hint.into() }
}

/// The address of this machine on the way to all agents.
fn own_address(names: &[String]) -> Result<Ipv4Addr, Problems> {
    let hint = "write `address = \"...\"` in [place]: one of this machine that all of them reach";
    let mut found: Option<(&str, Ipv4Addr)> = None;
    for name in names {
        let address = towards(name)
            .map_err(|e| Problems::plain(format!("the address at which the agent {name} reaches this machine is not found: {e}"), hint))?;
        match found {
            Some((other, before)) if before != address => {
                let message = format!("the agent {other} reaches this machine at {before}, and {name} at {address}");
                return Err(Problems::plain(message, hint));
            }
            _ => found = Some((name.as_str(), address)),
        }
    }
    Ok(found.map_or(Ipv4Addr::LOCALHOST, |(_, address)| address))
}

/// The address of this machine on the way to an agent. Nothing is sent: the kernel says which it would take.
fn towards(name: &str) -> io::Result<Ipv4Addr> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "its name has no IPv4 address");
    let agent = name.to_socket_addrs()?.find(SocketAddr::is_ipv4).ok_or_else(none)?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(agent)?;
    match socket.local_addr()?.ip() {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(_) => Err(none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_way_to_agents_says_where_they_reach_this_machine() {
        assert_eq!(own_address(&names(&["127.0.0.1:7671", "127.0.0.1:7672"])).ok(), Some(Ipv4Addr::LOCALHOST));
        let error = own_address(&names(&["[::1]:7671"])).unwrap_err().to_string();
        assert!(error.contains("the agent [::1]:7671") && error.contains("no IPv4 address") && error.contains("`address = "), "{error}");
    }

    #[test]
    fn without_agents_no_token_is_asked_for() {
        assert!(matches!(Agents::of(&mut Place::default()), Ok(None)));
    }

    #[test]
    fn a_load_that_was_lost_says_what_to_do() {
        let fault = lost("cell c", "the agent a:1 is gone: reset\nhint: start it again");
        assert_eq!((fault.kind.as_str(), fault.evidence.as_str()), ("agent-lost", "cell c: the agent a:1 is gone: reset"));
        assert_eq!(fault.hint, "start it again");
    }
}
