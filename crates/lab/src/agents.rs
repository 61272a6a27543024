//! Agents: load generators on other machines or in pods, which replace the generator of this
//! machine.
//!
//! This module finds out which agents respond, at which address they reach contenders, and has them
//! make loads. See docs/guide/several-machines.md. Start with [`Agents`].

use crate::error::LabError;
use crate::trial_database::TrialDatabase;
use crate::warmup::Parameters;
use load::agents::{LOOPS_MAX, Seat, Token, TrustedTls, run_from};
use load::{Address, Measured, Plan, Wait};
use record::AgentReport;
use record::Fault;
use runner::means::Means;
use runner::place::{AgentPodsSpec, PodAgents, Runner};
use runner::start::Running;
use spec::experiment::{Experiment, Load, Place};
use spec::problem::Problems;
use spec::system::Contender;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Duration for which agents warm a contender up with each workload.
const WARM: Duration = Duration::from_secs(1);
/// Connections of all agents together, unless there are more agents.
const WARM_CONNECTIONS: usize = 8;
/// Seed of this warm-up, which differs from those of windows and measurements.
const WARM_SEED: u64 = u64::MAX >> 1;

/// The agents of a run.
pub(crate) struct Agents {
    token: Token,
    /// All agents.
    all: Vec<Seat>,
    /// The agents that respond.
    present: Vec<Seat>,
    /// The address of this machine at which agents reach contenders; `None` for agents in pods,
    /// which use services within the cluster.
    at: Option<Ipv4Addr>,
    /// The pods, if agents run in pods.
    pods: Option<Box<dyn PodAgents>>,
}

/// The message about agents that could not start in pods.
fn without_pods(why: &str) -> String {
    format!(
        "agents do not run in pods: {why}\nhint: reduce `agents` of [place], free resources of \
         the cluster, or remove `agents`"
    )
}

impl Agents {
    /// Resolves the agents that an experiment names; `None` if it names none. Fills in the address
    /// of this machine at which agents reach contenders, unless the experiment names it.
    ///
    /// # Errors
    /// No token; no address of this machine that leads to all agents, or an address of another
    /// machine.
    pub fn named_in(place: &mut Place) -> Result<Option<Agents>, Problems> {
        if place.agents.is_empty() {
            return Ok(None);
        }
        let token = Token::from_environment()?;
        let at = match place.address {
            Some(address) => address,
            None => *place.address.insert(own_address(&place.agents)?),
        };
        TcpListener::bind((at, 0)).map_err(|e| {
            let message =
                format!("contenders cannot listen at {at}, where agents would reach them: {e}");
            Problems::plain(message, "set `address` of [place] to an address of this machine")
        })?;
        let all: Vec<Seat> =
            place.agents.iter().map(|name| Seat { name: name.clone(), at: name.clone() }).collect();
        Ok(Some(Agents { token, present: all.clone(), all, at: Some(at), pods: None }))
    }

    /// Starts agents in pods if the experiment asks for them; otherwise returns the named ones, if
    /// any.
    ///
    /// # Errors
    /// Agents that do not start; an interruption.
    pub fn or_start_pods(
        named: Option<Agents>,
        experiment: &Experiment,
        runner: &dyn Runner,
        cpus: &[usize],
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Option<Agents>, LabError> {
        let Some(pods) = experiment.place.agent_pods else { return Ok(named) };
        let started = runner.agents(&AgentPodsSpec {
            pods,
            longest: experiment.design.measure,
            cpus,
            cache,
            means,
        });
        let pods = started.map_err(|why| match means.is_stopped() {
            true => LabError::Interrupted,
            false => LabError::Agents(without_pods(&why)),
        })?;
        let all = pods.seats();
        Ok(Some(Agents {
            token: pods.token().clone(),
            present: all.clone(),
            all,
            at: None,
            pods: Some(pods),
        }))
    }

    /// Finds the agents that respond, and uses those from now on. If an agent in a pod does not
    /// respond, all pods are replaced. Returns the reasons for agents that were lost.
    pub fn find_present(&mut self, stop: &AtomicBool) -> Vec<String> {
        if let Some(pods) = &mut self.pods {
            let found = pods.replace_lost(stop);
            self.all = if found.is_ok() { pods.seats() } else { Vec::new() };
            self.present.clone_from(&self.all);
            return found.map_or_else(|why| vec![without_pods(&why)], Vec::from_iter);
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

    /// Whether agents run in pods.
    pub fn are_in_pods(&self) -> bool {
        self.pods.is_some()
    }

    /// Whether no agent responds.
    pub fn are_gone(&self) -> bool {
        self.present.is_empty()
    }

    /// The problem of a running service that agents cannot reach.
    pub fn cannot_reach(&self, contender: &Contender) -> Option<Problems> {
        let is_here_alone =
            contender.system.reached.as_ref().is_some_and(|reached| !reached.remote);
        (is_here_alone && !self.have_our_loopback()).then(|| {
            let message = format!(
                "{} has a loopback address, which agents on other machines \
                cannot reach",
                contender.name
            );
            Problems::plain(
                message,
                "have its `url` name an address of this machine that agents \
                reach, with `remote = true`",
            )
        })
    }

    /// Whether agents run on this machine, so that its loopback is theirs.
    fn have_our_loopback(&self) -> bool {
        self.at.is_some_and(|at| at.is_loopback())
    }

    /// How their event loops wait. Polling would take CPU time from a contender on this machine,
    /// and uses up the quota of a pod.
    pub fn wait(&self) -> Wait {
        if self.pods.is_some() || self.have_our_loopback() { Wait::Asleep } else { Wait::Near }
    }

    /// Whether agents run on the CPUs of this machine's generator.
    pub fn are_in_its_place(&self) -> bool {
        self.pods.as_ref().is_some_and(|pods| pods.are_here())
    }

    /// Has the agents make a load. Calls `begins` with the start time, shortly before it.
    ///
    /// # Errors
    /// An agent that was lost.
    pub fn make(
        &self,
        plan: &Plan<'_>,
        begins: impl FnOnce(u64),
    ) -> Result<(Measured, Vec<AgentReport>), String> {
        let is_loopback = |address: &Address| matches!(address, Address::Tcp(address) if address.ip().is_loopback());
        if !self.have_our_loopback() && plan.target.addresses.iter().any(is_loopback) {
            let hint = "give it an address that agents reach";
            return Err(format!(
                "its address is a loopback address, which agents on other machines cannot \
                 reach\nhint: {hint}"
            ));
        }
        // The certificates of systems are self-signed.
        let made = run_from(
            plan,
            TrustedTls::of_target(plan.target, true).as_ref(),
            &self.present,
            &self.token,
            begins,
        );
        let (measured, mut apart) = made.map_err(|why| self.explained(why, plan.stop))?;
        // Relative to its quota, the most that an agent can use.
        let share = self.pods.as_ref().map_or(1.0, |pods| pods.cpus());
        apart.iter_mut().for_each(|agent| agent.busy_share /= share);
        Ok((measured, apart))
    }

    /// The reason why a load was not made, with the end of a pod that explains it.
    fn explained(&self, why: String, stop: &AtomicBool) -> String {
        let pods = self.pods.as_ref().filter(|_| !stop.load(Ordering::Relaxed));
        let Some(end) = pods.and_then(|pods| pods.end_of_one()) else { return why };
        let cause = why.lines().next().unwrap_or_default();
        format!("{cause}; {end}\nhint: check the other pods of the cluster at that time")
    }

    /// Warms a contender up over the connections that agents use. Returns the number of correct
    /// responses.
    ///
    /// # Errors
    /// An agent that was lost, or that does not reach the contender.
    pub fn warm(
        &self,
        running: &Running,
        parameters: &Parameters<'_>,
        database: &mut TrialDatabase,
    ) -> Result<u64, Fault> {
        let connections = self.present.len().max(WARM_CONNECTIONS) as u32;
        let mut correct = 0;
        for workload in parameters.workloads {
            let plan = Plan {
                target: &running.target,
                workload,
                load: &Load::closed(connections),
                duration: WARM.min(parameters.at_most),
                requests: None,
                timeout: Duration::from_secs(10),
                seed: WARM_SEED,
                threads: LOOPS_MAX,
                wait: Wait::Asleep,
                stop: parameters.stop,
                progress: None,
            };
            let (measured, apart) =
                self.make(&plan, |_| ()).map_err(|why| agent_lost("warm-up", &why))?;
            database.record(workload, &measured.steps);
            correct += measured.counts.correct;
            if let Some(agent) =
                apart.iter().find(|agent| agent.counts.correct == 0 && agent.counts.refused > 0)
            {
                let example = measured
                    .examples
                    .first()
                    .map_or(String::new(), |example| format!(": {example}"));
                let why = format!(
                    "the agent {} cannot connect to {}{example}",
                    agent.name, running.address
                );
                return Err(agent_lost(
                    "warm-up",
                    &format!(
                        "{why}\nhint: check whether a firewall separates its machine from \
                        this one"
                    ),
                ));
            }
        }
        Ok(correct)
    }
}

/// The fault of a load, named by `of`, that agents did not make.
pub(crate) fn agent_lost(of: &str, why: &str) -> Fault {
    let (cause, hint) = why.split_once("\nhint: ").unwrap_or((why, "see what the agent printed"));
    Fault { kind: "agent-lost".into(), evidence: format!("{of}: {cause}"), hint: hint.into() }
}

/// Finds the address of this machine on the way to all agents.
fn own_address(names: &[String]) -> Result<Ipv4Addr, Problems> {
    let hint = "write `address = \"...\"` in [place]: one of this machine that all of them reach";
    let mut found: Option<(&str, Ipv4Addr)> = None;
    for name in names {
        let address = address_towards(name).map_err(|e| {
            Problems::plain(
                format!(
                    "the address at which the agent {name} reaches this machine is not found: {e}"
                ),
                hint,
            )
        })?;
        match found {
            Some((other, before)) if before != address => {
                let message = format!(
                    "the agent {other} reaches this machine at {before}, and {name} at {address}"
                );
                return Err(Problems::plain(message, hint));
            }
            _ => found = Some((name.as_str(), address)),
        }
    }
    Ok(found.map_or(Ipv4Addr::LOCALHOST, |(_, address)| address))
}

/// Finds the address of this machine on the way to an agent. The kernel chooses the address when
/// the socket connects; nothing is sent.
fn address_towards(name: &str) -> io::Result<Ipv4Addr> {
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
    fn own_address_is_that_on_the_way_to_the_agents() {
        assert_eq!(
            own_address(&names(&["127.0.0.1:7671", "127.0.0.1:7672"])).ok(),
            Some(Ipv4Addr::LOCALHOST)
        );
        let error = own_address(&names(&["[::1]:7671"])).unwrap_err().to_string();
        assert!(
            error.contains("the agent [::1]:7671")
                && error.contains("no IPv4 address")
                && error.contains("`address = "),
            "{error}"
        );
    }

    #[test]
    fn no_token_is_needed_without_agents() {
        assert!(matches!(Agents::named_in(&mut Place::default()), Ok(None)));
    }

    #[test]
    fn fault_of_a_lost_agent_separates_its_hint() {
        let fault = agent_lost("cell c", "the agent a:1 is gone: reset\nhint: start it again");
        assert_eq!(
            (fault.kind.as_str(), fault.evidence.as_str()),
            ("agent-lost", "cell c: the agent a:1 is gone: reset")
        );
        assert_eq!(fault.hint, "start it again");
    }
}
