//! Where contenders run, and where loads come from (`[place]` of an experiment).
//!
//! A place has a runner (process, container or cluster), CPU sets, limits, and agents if other
//! machines make the load. [`Place::contradiction`] reports settings that do not fit together.

use super::agents;
use crate::name::{CPU_LIMITS, MEMORY_LIMITS};
use crate::reader::Table;
use crate::runner_kind::{Network, RunnerKind};
use crate::units::{parse_bytes, show_number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Where contenders run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// CPU sets; `None` picks them from the available cores.
    pub cpus: Option<CpuSets>,
    /// Whether upstream and database use the contender's CPUs, as on one server, if CPU sets are
    /// picked automatically.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_cpus: bool,
    /// The most descriptors that each contender may have open.
    pub descriptors: Option<u64>,
    /// Whether CPUs are kept from sleeping while the experiment runs. `None` means: on a virtual
    /// machine that allows it.
    #[serde(default)]
    pub keep_awake: Option<bool>,
    /// How contenders and upstream run.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub runner: RunnerKind,
    /// The network of containers.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub network: Network,
    /// CPU seconds that each contender may use per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<f64>,
    /// Bytes of memory that each contender may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// Agents that make the loads instead of the generator of this machine: `host:port`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The number of agents that make the loads from within the cluster, each in a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_pods: Option<u32>,
    /// The address of this machine at which agents reach contenders; `None` without agents, and
    /// before it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Ipv4Addr>,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Place {
    /// Changes the runner. A network that was the default of the old runner becomes the default of
    /// the new one.
    pub fn run_as(&mut self, runner: RunnerKind) {
        if self.network == self.runner.usual_network() {
            self.network = runner.usual_network();
        }
        self.runner = runner;
    }

    /// Describes how systems run; `None` for processes of this machine without limits.
    pub(super) fn describe(&self) -> Option<String> {
        let network = match (self.runner, self.network) {
            (RunnerKind::Process, _) => return None,
            (RunnerKind::Docker, Network::Bridge) => {
                "in Docker containers on a bridge, their ports published on loopback"
            }
            (RunnerKind::Docker, _) => "in Docker containers on the machine's own network",
            (RunnerKind::Kubernetes, Network::NodePort) => {
                "in Kubernetes pods behind services with a port on each node"
            }
            (RunnerKind::Kubernetes, Network::Ingress) => {
                "in Kubernetes pods behind services with an Ingress"
            }
            (RunnerKind::Kubernetes, _) => {
                "in Kubernetes pods behind services with an address within the cluster"
            }
        };
        let cpus =
            self.cpu_limit.map(|cpus| format!("{} s of CPU time a second", show_number(cpus)));
        let memory =
            self.memory_limit.map(|bytes| format!("{} of memory", crate::units::show_bytes(bytes)));
        let limits: Vec<String> = cpus.into_iter().chain(memory).collect();
        Some(if limits.is_empty() {
            network.to_owned()
        } else {
            format!("{network}; each contender has at most {}", limits.join(" and "))
        })
    }

    /// Describes which agents make the loads; `None` if this machine does.
    pub(super) fn describe_agents(&self) -> Option<String> {
        match self.agent_pods {
            Some(1) => return Some("an agent in a pod of the cluster".to_owned()),
            Some(pods) => return Some(format!("{pods} agents in pods of the cluster")),
            None => {}
        }
        let of = if self.agents.len() == 1 { "the agent" } else { "the agents" };
        let listen = self
            .address
            .map_or(String::new(), |address| format!("; contenders listen at {address}"));
        (!self.agents.is_empty()).then(|| format!("{of} {}{listen}", self.agents.join(", ")))
    }

    /// Returns which setting needs another runner, and what to do; `None` if none does.
    pub fn contradiction(&self) -> Option<(String, String)> {
        if !self.network.fits(self.runner) && self.runner != RunnerKind::Process {
            let whose = if self.runner == RunnerKind::Kubernetes { "a cluster" } else { "Docker" };
            let (network, usual) = (self.network.word(), self.runner.usual_network().word());
            return Some((
                format!("{whose} has no network `{network}`"),
                format!("write `network = \"{usual}\"`, or leave `network` out"),
            ));
        }
        let settings = [
            ("network", self.network != Network::Host),
            ("cpu_limit", self.cpu_limit.is_some()),
            ("memory_limit", self.memory_limit.is_some()),
        ];
        let (key, _) = settings
            .into_iter()
            .find(|(_, is_asked)| *is_asked && self.runner == RunnerKind::Process)?;
        let message =
            format!("`{key}` of [place] is for containers, and contenders run as processes");
        let is_of_cluster =
            matches!(self.network, Network::ClusterIp | Network::NodePort | Network::Ingress);
        let runner = if is_of_cluster { "kubernetes" } else { "docker" };
        Some((message, format!("write `runner = \"{runner}\"`, or leave `{key}` out")))
    }
}

/// The CPUs of each part of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuSets {
    /// The contender under measurement.
    pub contender: Vec<usize>,
    /// The load generator and the sampler.
    pub generator: Vec<usize>,
    /// The upstream.
    pub upstream: Vec<usize>,
}

impl CpuSets {
    /// Returns all CPUs, each once, in order.
    pub fn all_cpus(&self) -> Vec<usize> {
        let all: BTreeSet<usize> =
            self.contender.iter().chain(&self.generator).chain(&self.upstream).copied().collect();
        all.into_iter().collect()
    }
}

pub(super) fn parse_place(table: &Table<'_>) -> Place {
    let runner = table.choice("runner", &RunnerKind::WORDS).unwrap_or_default();
    let (agent_pods, agents) = table.integer_or_strings(
        "agents",
        (*agents::PODS.start()).into(),
        (*agents::PODS.end()).into(),
    );
    let place = Place {
        cpus: table.table("cpus", parse_cpu_sets),
        share_cpus: table.flag("share_cpus").unwrap_or_default(),
        descriptors: table.integer("descriptors", 16, 1 << 30),
        keep_awake: table.flag("keep_awake"),
        runner,
        network: table.choice("network", &Network::WORDS).unwrap_or(runner.usual_network()),
        cpu_limit: table.number("cpu_limit", *CPU_LIMITS.start(), *CPU_LIMITS.end()),
        memory_limit: parse_memory_limit(table),
        agents,
        agent_pods: agent_pods.and_then(|pods| u32::try_from(pods).ok()),
        address: parse_address(table),
    };
    if let Some((message, hint)) = agents::misnamed(&place.agents) {
        table.problem("agents", message, hint);
    }
    if place.agents.is_empty() && place.address.is_some() {
        let message =
            "`address` of [place] is where agents reach contenders, and no agents are named";
        table.problem("address", message, "leave it out, or name agents by host and port");
    }
    if place.share_cpus && place.cpus.is_some() {
        table.problem(
            "share_cpus",
            "`share_cpus` and `cpus` of [place] both choose CPUs",
            "leave one of them out",
        );
    }
    if let Some((message, hint)) = place.contradiction() {
        table.problem("runner", message, hint);
    }
    place
}

fn parse_cpu_sets(table: &Table<'_>) -> CpuSets {
    let set = |key: &'static str| -> Vec<usize> {
        table.integers(key).into_iter().map(|n| n as usize).collect()
    };
    let sets = CpuSets {
        contender: set("contender"),
        generator: set("generator"),
        upstream: set("upstream"),
    };
    if sets.contender.is_empty() || sets.generator.is_empty() || sets.upstream.is_empty() {
        table.problem(
            "contender",
            "each of `contender`, `generator` and `upstream` needs a CPU",
            "write cpus = { contender = [1], generator = [0], upstream = [0] }",
        );
    }
    sets
}

fn parse_memory_limit(table: &Table<'_>) -> Option<u64> {
    let text = table.string("memory_limit")?;
    let bytes = parse_bytes(&text).ok().filter(|bytes| MEMORY_LIMITS.contains(bytes));
    if bytes.is_none() {
        table.problem(
            "memory_limit",
            format!("`{text}` is not a memory limit"),
            "write an amount such as 256M, at least 6M",
        );
    }
    bytes
}

fn parse_address(table: &Table<'_>) -> Option<Ipv4Addr> {
    let text = table.string("address")?;
    let address = text
        .parse()
        .ok()
        .filter(|a: &Ipv4Addr| !a.is_unspecified() && !a.is_multicast() && !a.is_broadcast());
    if address.is_none() {
        table.problem(
            "address",
            format!("`{text}` is not an IPv4 address of a machine"),
            "write one of this machine that agents reach, such as 10.0.0.20",
        );
    }
    address
}
