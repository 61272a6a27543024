//! How systems run and how they are reached, as files and names of contenders write it.

use serde::{Deserialize, Serialize};

/// How systems run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// All kinds, as files write them.
    pub const WORDS: [(&'static str, RunnerKind); 3] = [
        ("process", RunnerKind::Process),
        ("docker", RunnerKind::Docker),
        ("kubernetes", RunnerKind::Kubernetes),
    ];

    /// Returns the default network.
    pub fn usual_network(self) -> Network {
        if self == RunnerKind::Kubernetes { Network::ClusterIp } else { Network::Host }
    }
}

/// How containers and pods are reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// They use this machine's network.
    #[default]
    Host,
    /// They have their own network, and their ports are published on loopback.
    Bridge,
    /// A service of the cluster has an address within it.
    ClusterIp,
    /// A service of the cluster has a port on each node.
    NodePort,
    /// A service of the cluster is behind an Ingress.
    Ingress,
}

impl Network {
    /// All networks, as files write them.
    pub const WORDS: [(&'static str, Network); 5] = [
        ("host", Network::Host),
        ("bridge", Network::Bridge),
        ("cluster_ip", Network::ClusterIp),
        ("node_port", Network::NodePort),
        ("ingress", Network::Ingress),
    ];

    pub(crate) fn word(self) -> &'static str {
        Network::WORDS.iter().find(|(_, network)| *network == self).map_or("", |(word, _)| *word)
    }

    /// Returns whether a runner has this network.
    pub(crate) fn fits(self, runner: RunnerKind) -> bool {
        match self {
            Network::Host => runner != RunnerKind::Kubernetes,
            Network::Bridge => runner == RunnerKind::Docker,
            Network::ClusterIp | Network::NodePort | Network::Ingress => {
                runner == RunnerKind::Kubernetes
            }
        }
    }
}
