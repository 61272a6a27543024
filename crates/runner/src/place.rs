//! The interface between starting a system and where it runs.
//!
//! [`start`](crate::start::start) asks a [`Runner`] which addresses and folders a contender finds
//! where it runs, fills them into its command and rendered files, and has the runner start it. From
//! then on it knows a [`Started`]: something with a process id, an end and a log. Measurements use
//! the process id, so they do not depend on containers or clusters.
//!
//! Runners are in `processes`, `docker` and `kubernetes`; `open` chooses one.

use crate::means::Means;
use crate::needs::Tools;
use crate::process::Stop;
use load::WrongAnswer;
use load::agents::{Seat, Token};
use record::Failure;
use spec::experiment;
use spec::image::Image;
use spec::system::{Contender, StopSignal};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where systems run: as processes of this machine, in containers of an engine, or in pods of a
/// cluster.
pub trait Runner {
    /// Prepares a built contender so that it can start. Returns the image that it will start from,
    /// if any. `cache` is the folder for images and logs.
    ///
    /// # Errors
    /// An image that cannot be made, or that the engine rejects.
    fn provide(
        &self,
        contender: &Contender,
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Option<Image>, Failure>;

    /// The addresses and folders that a contender will find where it starts. `work` is the folder
    /// for rendered files, as this machine names it.
    ///
    /// # Errors
    /// Something that this runner cannot provide.
    fn inside(
        &self,
        contender: &Contender,
        around: &Surroundings<'_>,
        work: &Path,
    ) -> Result<Inside, String>;

    /// Starts a contender. If that fails, nothing of it remains.
    ///
    /// # Errors
    /// Why it does not start.
    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String>;

    /// Starts agents in pods, which make the loads.
    ///
    /// # Errors
    /// Why there are none.
    fn agents(&self, _: &AgentPodsSpec<'_>) -> Result<Box<dyn PodAgents>, String> {
        Err("only a cluster has pods for agents".into())
    }

    /// How the engine or cluster failed since the last call; `None` if it did not. Failures of
    /// systems meanwhile may be due to it.
    fn lost(&self) -> Option<String> {
        None
    }

    /// Removes what a lost engine kept of earlier starts.
    ///
    /// # Errors
    /// Why the engine is not back.
    fn recover(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Agents that a runner is asked to start.
pub struct AgentPodsSpec<'a> {
    /// Number of pods.
    pub pods: u32,
    /// The longest load that they make.
    pub longest: Duration,
    /// The CPUs of the load generator, which agents on this machine use in its place.
    pub cpus: &'a [usize],
    /// Folder for images and logs.
    pub cache: &'a Path,
    /// Tools, run and stop flag.
    pub means: Means<'a>,
}

/// Agents that run in pods. Dropping them removes the pods.
pub trait PodAgents {
    /// The agents that run, by their numbers.
    fn seats(&self) -> Vec<Seat>;

    /// The token that authenticates requests to the agents.
    fn token(&self) -> &Token;

    /// Whether all agents are on this machine, and so on the CPUs of its generator.
    fn are_here(&self) -> bool;

    /// The CPU time in seconds that the event loop of each agent may use per second. It is less
    /// than the pod's quota if several nodes share this machine.
    fn cpus(&self) -> f64;

    /// Replaces all pods if an agent does not respond, and returns why it did not.
    ///
    /// # Errors
    /// Why new pods cannot be made.
    fn replace_lost(&mut self, stop: &AtomicBool) -> Result<Option<String>, String>;

    /// How a pod of an agent ended, if one has. The cluster notices an end a little later.
    fn end_of_one(&self) -> Option<String>;
}

/// What a contender finds where it starts.
#[derive(Clone, Debug)]
pub struct Inside {
    /// The values of `{java}`, `{java.home}`, `{work}`, `{listen}` and `{port.*}`.
    pub texts: BTreeMap<String, String>,
    /// The address at which this machine reaches it.
    pub address: SocketAddr,
    /// Pairs of the port on which it listens and the port at which this machine reaches it, if
    /// they differ.
    pub published: Vec<(u16, u16)>,
}

impl Inside {
    /// The named ports with their numbers, as the system knows them.
    pub(crate) fn ports(&self, names: &[String]) -> Vec<(String, u16)> {
        names
            .iter()
            .filter_map(|name| {
                Some((name.clone(), self.texts.get(&format!("port.{name}"))?.parse().ok()?))
            })
            .collect()
    }
}

/// A start, with all placeholders filled in.
pub struct Order<'a> {
    /// The contender.
    pub contender: &'a Contender,
    /// The command.
    pub command: &'a [String],
    /// Variables to add to the environment.
    pub env: &'a BTreeMap<String, String>,
    /// What [`Runner::inside`] returned.
    pub inside: &'a Inside,
    /// The folder of rendered files, as this machine names it.
    pub work: &'a Path,
    /// Maximum number of descriptors.
    pub descriptors: u64,
    /// File for its output, complete at the latest when it ends.
    pub log: &'a Path,
    /// Everything else.
    pub around: &'a Surroundings<'a>,
}

impl Order<'_> {
    /// How much of the machine the contender may use: the limits in its name, else those of the
    /// experiment.
    pub fn limits(&self) -> Limits {
        let (share, usual) = (self.contender.name.share(), self.around.limits);
        Limits {
            cpus: share.cpus.or(usual.cpus),
            memory_bytes: share.memory_bytes.or(usual.memory_bytes),
        }
    }
}

/// Sends a request to a replica at its own address. Returns when the correct response arrived
/// (CLOCK_MONOTONIC, ns).
pub type SendTo<'a> = dyn Fn(SocketAddr) -> Result<u64, WrongAnswer> + 'a;

/// Replicas that have all given a correct response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaledOut {
    /// Time since they were requested.
    pub after_ns: u64,
    /// Number of earlier requests that got no correct response.
    pub failed_attempts: u64,
}

/// A system that was started. Dropping it ends it, and nothing of it remains.
pub trait Started {
    /// Its process id on this machine.
    fn pid(&self) -> u32;

    /// When it was started, or its start was requested (CLOCK_MONOTONIC, ns).
    fn started_ns(&self) -> u64;

    /// The address at which other systems of the same runner reach it, if that differs from the one
    /// for this machine.
    fn seen_by_others(&self) -> Option<SocketAddr> {
        None
    }

    /// The address of the service itself, if an Ingress forwards to it.
    fn behind(&self) -> Option<SocketAddr> {
        None
    }

    /// The process ids of further replicas.
    fn others(&self) -> Vec<u32> {
        vec![]
    }

    /// The process ids of what the engine runs to forward packets to this system alone.
    fn forwarders(&self) -> Vec<u32> {
        vec![]
    }

    /// Starts the further replicas that its name asks for, and waits until each has given a correct
    /// response; `None` if it has none.
    ///
    /// # Errors
    /// How many replicas came, and what the others waited for.
    fn scale_out(
        &mut self,
        _: &SendTo<'_>,
        _within: Duration,
        _stop: &AtomicBool,
    ) -> Result<Option<ScaledOut>, String> {
        Ok(None)
    }

    /// Whether signals to its processes may pause and resume it. An engine would take a paused
    /// container for one that hangs.
    fn can_be_paused(&self) -> bool {
        false
    }

    /// How it ended, if it has: `exit 0`, `signal 9`.
    fn ended(&mut self) -> Option<String>;

    /// File with its output, complete at the latest when it ends.
    fn log(&self) -> &Path;

    /// The last lines that it wrote.
    fn last_lines(&self, most: usize) -> Vec<String>;

    /// Asks it to end, and kills it after a deadline.
    fn stop(self: Box<Self>, signal: StopSignal, within: Duration) -> Stop;
}

/// How much of the machine a system may use; no limit by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time per second, in seconds.
    pub cpus: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// The limits of an experiment's `[place]`.
    pub fn of_place(place: &experiment::Place) -> Limits {
        Limits { cpus: place.cpu_limit, memory_bytes: place.memory_limit }
    }
}

/// What a start needs in addition to the contender.
pub struct Surroundings<'a> {
    /// The tools of this machine.
    pub tools: &'a Tools,
    /// Where the contender runs.
    pub runner: &'a dyn Runner,
    /// How much of the machine it may use.
    pub limits: Limits,
    /// The upstream of a proxy.
    pub upstream: Option<Upstream>,
    /// Its database: the values of `{database.*}`.
    pub database: Option<&'a BTreeMap<String, String>>,
    /// The CPUs that it may use.
    pub cpus: &'a [usize],
    /// Maximum number of descriptors, if the experiment sets one.
    pub descriptors: Option<u64>,
    /// A folder for rendered files and the log, which is created.
    pub work: &'a Path,
    /// The run's id.
    pub run: &'a str,
    /// Set when everything must end.
    pub stop: &'a AtomicBool,
}

impl Surroundings<'_> {
    /// Checks that a container or pod, which has a loopback of its own, reaches its database and
    /// its upstream.
    ///
    /// # Errors
    /// A database or an upstream that listens on this machine's loopback. `instead` is a hint for
    /// such an upstream.
    pub(crate) fn reached_from(&self, place: &str, instead: &str) -> Result<(), String> {
        let host = self.database.and_then(|database| database.get("database.host"));
        if let Some(host) = host.filter(|host| is_loopback(host)) {
            let instead = "FACEOFF_DATABASE may name one that listens elsewhere";
            return Err(format!(
                "its database listens at {host}, which {place}s cannot connect to; {instead}"
            ));
        }
        let address = self.upstream.map(|upstream| upstream.address);
        match address.filter(|address| address.ip().is_loopback()) {
            Some(upstream) => Err(format!(
                "its upstream listens at {upstream}, which {place}s cannot connect to; {instead}"
            )),
            None => Ok(()),
        }
    }
}

/// Whether a host name is a loopback name or address.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Where proxies reach their upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The address of its first port.
    pub address: SocketAddr,
    /// The address of its port `https`, if it has one that is reachable.
    pub https: Option<SocketAddr>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_and_addresses_are_loopback() {
        assert!(["localhost", "127.0.0.1", "127.1.2.3", "::1"].into_iter().all(is_loopback));
        assert!(!["10.0.0.7", "db.example", ""].into_iter().any(is_loopback));
    }
}
