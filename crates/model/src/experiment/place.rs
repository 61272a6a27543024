//! Where contenders run, and where loads come from.

use crate::agents;
use crate::name::{CPU_LIMITS, MEMORY_LIMITS};
use crate::reader::Table;
use crate::units::show_number;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Where contenders run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// CPU sets; `None` picks them from the cores there are.
    pub cpus: Option<CpuSets>,
    /// Whether, where they are picked, upstream and database work on the contender's CPUs, as on one server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_cpus: bool,
    /// Most descriptors each contender may hold.
    pub descriptors: Option<u64>,
    /// Whether CPUs are kept from sleeping while the experiment runs; `None` where the machine is virtual and lets it be done.
    #[serde(default)]
    pub keep_awake: Option<bool>,
    /// What contenders and upstream run as.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub runner: RunnerKind,
    /// The network of containers.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub network: Network,
    /// CPU time that each contender may use a second, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<f64>,
    /// Memory that each contender may use, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// Agents that make the loads in place of the generator of this machine: `host:port`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// How many agents make them from within the cluster instead, each in a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_pods: Option<u32>,
    /// The address of this machine at which contenders listen for them; `None` where there are none, and before it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Ipv4Addr>,
}

/// What systems run as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunnerKind {
    /// As processes of this machine.
    #[default]
    Process,
    /// In containers of a Docker engine of this machine.
    Docker,
    /// In pods of a Kubernetes cluster.
    Kubernetes,
}

impl RunnerKind {
    /// As they are written.
    pub const WORDS: [(&'static str, RunnerKind); 3] =
        [("process", RunnerKind::Process), ("docker", RunnerKind::Docker), ("kubernetes", RunnerKind::Kubernetes)];

    /// How its systems are reached where nothing is said.
    pub fn usual_network(self) -> Network {
        if self == RunnerKind::Kubernetes { Network::ClusterIp } else { Network::Host }
    }
}

/// How containers and pods are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// They have this machine's own network.
    #[default]
    Host,
    /// They have a network of their own, and their ports are published on loopback.
    Bridge,
    /// A service of the cluster has an address within it.
    ClusterIp,
    /// A service of the cluster has a port on each node.
    NodePort,
    /// A service of the cluster is behind an Ingress.
    Ingress,
}

impl Network {
    /// As they are written.
    pub const WORDS: [(&'static str, Network); 5] = [
        ("host", Network::Host),
        ("bridge", Network::Bridge),
        ("cluster_ip", Network::ClusterIp),
        ("node_port", Network::NodePort),
        ("ingress", Network::Ingress),
    ];

    pub(super) fn word(self) -> &'static str {
        Network::WORDS.iter().find(|(_, network)| *network == self).map_or("", |(word, _)| *word)
    }

    /// Whether a runner has such networks.
    pub(super) fn fits(self, runner: RunnerKind) -> bool {
        match self {
            Network::Host => runner != RunnerKind::Kubernetes,
            Network::Bridge => runner == RunnerKind::Docker,
            Network::ClusterIp | Network::NodePort | Network::Ingress => runner == RunnerKind::Kubernetes,
        }
    }
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Place {
    /// The same with another runner; what was usual for the one before becomes what is usual for it.
    pub fn run_as(&mut self, runner: RunnerKind) {
        if self.network == self.runner.usual_network() {
            self.network = runner.usual_network();
        }
        self.runner = runner;
    }

    /// What systems run as, where that is not as processes of this machine without limits.
    pub(super) fn describe(&self) -> Option<String> {
        let network = match (self.runner, self.network) {
            (RunnerKind::Process, _) => return None,
            (RunnerKind::Docker, Network::Bridge) => "in Docker containers on a bridge, their ports published on loopback",
            (RunnerKind::Docker, _) => "in Docker containers on the machine's own network",
            (RunnerKind::Kubernetes, Network::NodePort) => "in Kubernetes pods behind services with a port on each node",
            (RunnerKind::Kubernetes, Network::Ingress) => "in Kubernetes pods behind services with an Ingress",
            (RunnerKind::Kubernetes, _) => "in Kubernetes pods behind services with an address within the cluster",
        };
        let cpus = self.cpu_limit.map(|cpus| format!("{} s of CPU time a second", show_number(cpus)));
        let memory = self.memory_limit.map(|bytes| format!("{} of memory", crate::units::show_bytes(bytes)));
        let limits: Vec<String> = cpus.into_iter().chain(memory).collect();
        Some(if limits.is_empty() { network.to_owned() } else { format!("{network}; each contender has at most {}", limits.join(" and ")) })
    }

    /// Who makes the loads, where that is not this machine.
    pub(super) fn describe_agents(&self) -> Option<String> {
        match self.agent_pods {
            Some(1) => return Some("an agent in a pod of the cluster".to_owned()),
            Some(pods) => return Some(format!("{pods} agents in pods of the cluster")),
            None => {}
        }
        let of = if self.agents.len() == 1 { "the agent" } else { "the agents" };
        let listen = self.address.map_or(String::new(), |address| format!("; contenders listen at {address}"));
        (!self.agents.is_empty()).then(|| format!("{of} {}{listen}", self.agents.join(", ")))
    }

    /// Why what is written needs another runner, and what to do; `None` where it does not.
    pub fn contradiction(&self) -> Option<(String, String)> {
        if !self.network.fits(self.runner) && self.runner != RunnerKind::Process {
            let whose = if self.runner == RunnerKind::Kubernetes { "a cluster" } else { "Docker" };
            let (network, usual) = (self.network.word(), self.runner.usual_network().word());
            return Some((format!("{whose} has no network `{network}`"), format!("write `network = \"{usual}\"`, or leave `network` out")));
        }
        let asked = [
            ("network", self.network != Network::Host),
            ("cpu_limit", self.cpu_limit.is_some()),
            ("memory_limit", self.memory_limit.is_some()),
        ];
        let (key, _) = asked.into_iter().find(|(_, is_asked)| *is_asked && self.runner == RunnerKind::Process)?;
        let message = format!("`{key}` of [place] is for containers, and contenders run as processes");
        let is_of_cluster = matches!(self.network, Network::ClusterIp | Network::NodePort | Network::Ingress);
        let runner = if is_of_cluster { "kubernetes" } else { "docker" };
        Some((message, format!("write `runner = \"{runner}\"`, or leave `{key}` out")))
    }
}

/// Which CPUs who runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSets {
    /// The contender under measurement.
    pub contender: Vec<usize>,
    /// The load generator and the sampler.
    pub generator: Vec<usize>,
    /// The upstream.
    pub upstream: Vec<usize>,
}

impl CpuSets {
    /// All of them, each once, in order.
    pub fn all(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.contender.iter().chain(&self.generator).chain(&self.upstream).copied().collect();
        all.into_iter().collect()
    }
}

pub(super) fn walk_place(table: &Table<'_>) -> Place {
    let cpus = table.table("cpus", |t| {
        let set = |key: &'static str| -> Vec<usize> { t.integers(key).into_iter().map(|n| n as usize).collect() };
        let sets = CpuSets { contender: set("contender"), generator: set("generator"), upstream: set("upstream") };
        if sets.contender.is_empty() || sets.generator.is_empty() || sets.upstream.is_empty() {
            t.problem(
                "contender",
                "each of `contender`, `generator` and `upstream` needs a CPU",
                "write cpus = { contender = [1], generator = [0], upstream = [0] }",
            );
        }
        sets
    });
    let memory_limit = table.string("memory_limit").and_then(|text| {
        let bytes = crate::units::parse_bytes(&text).ok().filter(|bytes| MEMORY_LIMITS.contains(bytes));
        if bytes.is_none() {
            table.problem("memory_limit", format!("`{text}` is no limit of memory"), "write how much, such as 256M; 6M at least");
        }
        bytes
    });
    let runner = table.choice("runner", &RunnerKind::WORDS).unwrap_or_default();
    let (agent_pods, agents) = table.integer_or_strings("agents", (*agents::PODS.start()).into(), (*agents::PODS.end()).into());
    let place = Place {
        cpus,
        share_cpus: table.flag("share_cpus").unwrap_or_default(),
        descriptors: table.integer("descriptors", 16, 1 << 30),
        keep_awake: table.flag("keep_awake"),
        runner,
        network: table.choice("network", &Network::WORDS).unwrap_or(runner.usual_network()),
        cpu_limit: table.number("cpu_limit", *CPU_LIMITS.start(), *CPU_LIMITS.end()),
        memory_limit,
        agents,
        agent_pods: agent_pods.and_then(|pods| u32::try_from(pods).ok()),
        address: table.string("address").and_then(|text| {
            let address = text.parse().ok().filter(|a: &Ipv4Addr| !a.is_unspecified() && !a.is_multicast() && !a.is_broadcast());
            if address.is_none() {
                let message = format!("`{text}` is no IPv4 address of a machine");
                table.problem("address", message, "write one of this machine that agents reach, such as 10.0.0.20");
            }
            address
        }),
    };
    if let Some((message, hint)) = agents::misnamed(&place.agents) {
        table.problem("agents", message, hint);
    }
    if place.agents.is_empty() && place.address.is_some() {
        let message = "`address` of [place] is where agents reach contenders, and none are named";
        table.problem("address", message, "leave it out, or name agents by host and port");
    }
    if place.share_cpus && place.cpus.is_some() {
        table.problem("share_cpus", "`share_cpus` and `cpus` of [place] both say who works where", "leave one of them out");
    }
    if let Some((message, hint)) = place.contradiction() {
        table.problem("runner", message, hint);
    }
    place
}
