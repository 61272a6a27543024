//! An experiment: a question, contenders, loads, a design and claims (`experiments/<name>.toml`).

use crate::against::Against;
use crate::agents;
use crate::beside::{self, Beside};
use crate::capacity::{self, Capacity};
use crate::data::is_value_name;
use crate::factorial::{self, Factor, walk_factors};
use crate::metric::Metric;
use crate::name::{CPU_LIMITS, ContenderName, MEMORY_LIMITS, did_you_mean, is_name};
use crate::problem::Problems;
use crate::reader::{Levels, Table, read_file};
use crate::sweep::{Axis, MOST_CELLS, Swept, TURN, expand};
use crate::units::{nanoseconds, parse_duration, show_duration, show_number};
use crate::witness::{self, Driver, Truth};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

/// A question, and how it is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The file's name.
    pub name: String,
    /// What is asked, as a sentence.
    pub question: String,
    /// Where the question and the claims come from.
    pub source: Option<Source>,
    /// The contender that the others are compared with.
    pub baseline: ContenderName,
    /// The others.
    pub contenders: Vec<ContenderName>,
    /// What is crossed: the baseline takes part in every combination of these.
    #[serde(default)]
    pub factors: Vec<Factor>,
    /// Whether the baseline takes part a second time, as the last of the contenders (see [`ContenderName::twin`]).
    #[serde(default)]
    pub aa: bool,
    /// The revision that the contender is compared with, which the baseline is of then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// What proxies stand before.
    pub upstream: Option<ContenderName>,
    /// Where contenders keep their data: fresh for each trial.
    #[serde(default)]
    pub database: Option<ContenderName>,
    /// Workloads at load levels.
    pub cells: Vec<Cell>,
    /// How often, how long, in which order, and when a difference counts.
    pub design: Design,
    /// Where contenders run.
    pub place: Place,
    /// What is tested.
    pub claims: Vec<Claim>,
    /// A smaller form, for a first answer within minutes.
    pub quick: Option<Quick>,
    /// The source's own figures.
    pub published: Option<Published>,
    /// What was expected, what was found, and when.
    pub analysis: Option<String>,
}

/// Where a question comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Title.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// Where it stands.
    pub url: Option<String>,
    /// When it appeared.
    pub published: Option<String>,
    /// Its tables, by the name of their file in `articles/`: the page shows their audit.
    #[serde(default)]
    pub article: Option<String>,
}

/// One workload at one load level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Names it within the experiment.
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// What the workload's parameters are here, where not what the workload says.
    #[serde(default)]
    pub with: BTreeMap<String, String>,
    /// How requests arrive.
    pub load: Load,
    /// The other generator that makes them; `None`: ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// What is known of it before anything is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<Truth>,
    /// A request without an answer after this long is counted as timed out.
    #[serde(with = "nanoseconds")]
    pub timeout: Duration,
    /// The cell of the turn before, on whose data it is measured right after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Where it stands in a sweep, if it is of one.
    #[serde(default)]
    pub sweep: Option<Swept>,
}

impl Cell {
    /// The workload with its parameters: `uppercase`, `uppercase, size 128`. Cells that ask the same have the same.
    pub fn asks(&self) -> String {
        self.with.iter().fold(self.workload.clone(), |asks, (name, value)| format!("{asks}, {name} {value}"))
    }

    /// The name it is written with, which all cells of a sweep share.
    pub(crate) fn written_name(&self) -> &str {
        self.sweep.as_ref().map_or(&self.name, |sweep| &sweep.of)
    }
}

/// How requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Load {
    /// On a schedule, whatever the answers do.
    Arrivals {
        /// Requests per second, at the start and as long as no stage says otherwise.
        rate_per_s: f64,
        /// How the rate goes on, one stage after the other; the last rate holds to the end.
        #[serde(default)]
        stages: Vec<Stage>,
        /// How arrivals lie in time.
        #[serde(default)]
        spacing: Spacing,
        /// Most requests under way at once.
        in_flight_max: u32,
        /// What becomes of those that come when so many are under way.
        #[serde(default)]
        overflow: Overflow,
    },
    /// As fast as answered.
    Closed {
        /// Connections.
        connections: u32,
        /// Requests under way on each: HTTP/1.1 pipelines them, HTTP/2 has a stream for each.
        #[serde(default = "one")]
        depth: u32,
    },
    /// People, or what behaves like them: each makes the workload's requests in order, with pauses.
    Users {
        /// How many.
        users: u32,
        /// They begin one after the other, evenly over this time.
        #[serde(with = "nanoseconds")]
        ramp: Duration,
        /// Before every request but a user's first, from the answer before.
        pause: Pause,
        /// How often each makes all requests; `None`: until the time is over.
        rounds: Option<u64>,
        /// Connections that all share; `None`: each user has one of its own.
        pooled: Option<u32>,
    },
    /// The most of one of these at which a service level holds: many short loads, one after the other.
    Capacity(Capacity),
}

fn one() -> u32 {
    1
}

/// A linear change of the rate; a level where the rate stays, a jump where it takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second at its end.
    pub to_per_s: f64,
    /// How long it takes.
    #[serde(with = "nanoseconds")]
    pub over: Duration,
}

/// How arrivals lie in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Evenly.
    #[default]
    Even,
    /// As those of many who know nothing of each other: exponential intervals.
    Poisson,
}

/// What becomes of requests that come when the most are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// They wait, and waiting counts as latency.
    #[default]
    Queue,
    /// They are not sent, and counted as unsent.
    Shed,
}

/// How long a user waits between an answer and the next request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Always so long.
    Constant(#[serde(with = "nanoseconds")] Duration),
    /// Anything between, all alike likely.
    Uniform {
        /// At least.
        #[serde(with = "nanoseconds")]
        from: Duration,
        /// At most.
        #[serde(with = "nanoseconds")]
        to: Duration,
    },
    /// Exponential with this mean.
    Exponential(#[serde(with = "nanoseconds")] Duration),
}

impl Load {
    /// Evenly spaced arrivals at one rate, queued beyond `in_flight_max`.
    pub fn arrivals(rate_per_s: f64, in_flight_max: u32) -> Load {
        Load::Arrivals { rate_per_s, stages: Vec::new(), spacing: Spacing::Even, in_flight_max, overflow: Overflow::Queue }
    }

    /// As fast as answered, one request at a time on each connection.
    pub fn closed(connections: u32) -> Load {
        Load::Closed { connections, depth: 1 }
    }

    /// The same load at another level of a parameter.
    pub(crate) fn set(&mut self, parameter: &str, level: f64) {
        match (self, parameter) {
            (Load::Arrivals { rate_per_s, .. }, "rate") => *rate_per_s = level,
            (Load::Closed { connections, .. }, "connections") => *connections = level as u32,
            (Load::Closed { depth, .. }, "depth") => *depth = level as u32,
            (Load::Users { users, .. }, "users") => *users = level as u32,
            // It has no other that is read as a level.
            _ => {}
        }
    }

    /// What is looked for, where it is a capacity.
    pub fn capacity(&self) -> Option<&Capacity> {
        if let Load::Capacity(capacity) = self { Some(capacity) } else { None }
    }

    /// Whether requests have a scheduled instant.
    pub fn has_schedule(&self) -> bool {
        !matches!(self, Load::Closed { .. })
    }

    /// When the last request of a schedule is due, where it ends by itself: behind a last stage to a rate of 0.
    pub fn ends_after(&self) -> Option<Duration> {
        match self {
            Load::Arrivals { stages, .. } if stages.last().is_some_and(|last| last.to_per_s == 0.0) => {
                Some(stages.iter().map(|stage| stage.over).sum())
            }
            _ => None,
        }
    }

    /// Most requests that can be under way at once.
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Load::Arrivals { in_flight_max, .. } => u64::from(*in_flight_max),
            Load::Closed { connections, depth } => u64::from(*connections) * u64::from(*depth),
            Load::Users { users, .. } => u64::from(*users),
            Load::Capacity(capacity) => capacity.load_at(capacity.at_most, capacity.probe).in_flight_max(),
        }
    }

    /// How many arrivals are expected until an instant: the area under the rate. `None` for a load without a rate.
    pub fn expected_until(&self, seconds: f64) -> Option<f64> {
        let Load::Arrivals { rate_per_s, stages, .. } = self else { return None };
        let (mut expected, mut rate, mut left) = (0.0, *rate_per_s, seconds.max(0.0));
        for stage in stages {
            let long = stage.over.as_secs_f64();
            let within = left.min(long);
            if long > 0.0 {
                let reached = rate + (stage.to_per_s - rate) * within / long;
                expected += (rate + reached) / 2.0 * within;
            }
            (rate, left) = (stage.to_per_s, left - within);
            if left <= 0.0 {
                return Some(expected);
            }
        }
        Some(expected + rate * left)
    }

    /// For people: `arrivals at 200/s, evenly spaced`.
    pub fn describe(&self) -> String {
        match self {
            Load::Arrivals { rate_per_s, stages, spacing, .. } => {
                let mut text = format!("arrivals at {}/s", show_number(*rate_per_s));
                for stage in stages {
                    text += &format!(", to {}/s over {}", show_number(stage.to_per_s), show_duration(stage.over));
                }
                text + match spacing {
                    Spacing::Even => ", evenly spaced",
                    Spacing::Poisson => ", Poisson",
                }
            }
            Load::Closed { connections, depth } => {
                let connections = if *connections == 1 { "1 connection".to_owned() } else { format!("{connections} connections") };
                match depth {
                    1 => format!("closed loop, {connections}"),
                    _ => format!("closed loop, {connections} with {depth} requests each"),
                }
            }
            Load::Users { users, ramp, pause, rounds, pooled } => {
                let mut text = format!("{users} user{}", if *users == 1 { "" } else { "s" });
                if !ramp.is_zero() {
                    text += &format!(" over {}", show_duration(*ramp));
                }
                text += &match pause {
                    Pause::Constant(pause) if pause.is_zero() => ", no pause".to_owned(),
                    pause => format!(", pausing {}", pause.describe()),
                };
                if let Some(rounds) = rounds {
                    text += &format!(", {rounds} round{} each", if *rounds == 1 { "" } else { "s" });
                }
                if let Some(pooled) = pooled {
                    text += &format!(", sharing {pooled} connection{}", if *pooled == 1 { "" } else { "s" });
                }
                text
            }
            Load::Capacity(capacity) => capacity.describe(),
        }
    }
}

/// How often, how long, in which order, and when a difference counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Blocks; each is one trial of every contender in random order.
    pub blocks: u32,
    /// Further blocks, run only while faults leave a verdict with fewer blocks than it needs.
    pub spare_blocks: u32,
    /// After so many blocks the run is looked at and stops when every claim is settled; rising. The last look, after all
    /// blocks, need not stand here.
    #[serde(default)]
    pub looks: Vec<u32>,
    /// A ratio within `[1/(1+margin), 1+margin]` makes no difference that matters.
    pub margin: f64,
    /// Of the intervals that make a contender better or worse.
    pub confidence: f64,
    /// Fixes the order of trials and cells.
    pub seed: u64,
    /// The most load before the first measurement of each trial: it ends as soon as the steady state is found.
    #[serde(with = "nanoseconds")]
    pub warmup: Duration,
    /// Length of each cell's measurement.
    #[serde(with = "nanoseconds")]
    pub measure: Duration,
    /// No new block begins after this.
    #[serde(with = "nanoseconds")]
    pub budget: Duration,
}

/// Where contenders run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// CPU sets; `None` picks them from the cores there are.
    pub cpus: Option<CpuSets>,
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

    fn word(self) -> &'static str {
        Network::WORDS.iter().find(|(_, network)| *network == self).map_or("", |(word, _)| *word)
    }

    /// Whether a runner has such networks.
    fn fits(self, runner: RunnerKind) -> bool {
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
    fn describe(&self) -> Option<String> {
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
    fn describe_agents(&self) -> Option<String> {
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

/// A sentence that can be confirmed or refuted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// Whom it is about, compared with the baseline.
    pub contender: ContenderName,
    /// What is compared.
    pub metric: Metric,
    /// What must be seen.
    pub expects: Expectation,
    /// The margin, where it is not the design's.
    pub margin: Option<f64>,
    /// The most that may be seen, in the metric's unit; of [`Expectation::Times`] how many times the baseline. Of these two alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The cells it speaks of; all when empty.
    pub cells: Vec<String>,
    /// It speaks of machines on which a contender has so many CPUs, and stays open on smaller ones.
    #[serde(default)]
    pub contender_cpus: Option<u32>,
    /// What of the same contender it compares with, where that is not the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// What a claim says will be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// Below the baseline by more than the margin.
    Lower,
    /// Above the baseline by more than the margin.
    Higher,
    /// Within the margin of the baseline.
    Same,
    /// Within the margin of the claim's value times the baseline.
    Times,
    /// Better than the baseline, or within the margin of it.
    NotWorse,
    /// Zero in every trial.
    Zero,
    /// Above zero in every trial.
    AboveZero,
    /// At most the claim's value in every trial.
    AtMost,
}

impl Expectation {
    /// All of them, as files spell them.
    pub const WORDS: [(&'static str, Expectation); 8] = [
        ("lower", Expectation::Lower),
        ("higher", Expectation::Higher),
        ("same", Expectation::Same),
        ("times", Expectation::Times),
        ("not_worse", Expectation::NotWorse),
        ("zero", Expectation::Zero),
        ("above_zero", Expectation::AboveZero),
        ("at_most", Expectation::AtMost),
    ];

    /// Whether it speaks of what is seen in each trial, and compares nobody.
    pub fn is_absolute(self) -> bool {
        matches!(self, Expectation::Zero | Expectation::AboveZero | Expectation::AtMost)
    }
}

impl Claim {
    /// What must be seen, for people: `lower`, `above zero`, `0.5 times the baseline`, `at most 360 ms`.
    pub fn expected(&self) -> String {
        match self.value {
            Some(value) if self.expects == Expectation::Times => format!("{value} times the baseline"),
            Some(value) => format!("at most {} {}", show_number(value), self.metric.describe().unit).trim_end().to_owned(),
            None => {
                let word = Expectation::WORDS.iter().find(|(_, expects)| *expects == self.expects).map_or("", |(word, _)| *word);
                word.replace('_', " ")
            }
        }
    }
}

/// A smaller form of the same experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quick {
    /// Which of the contenders take part; all when empty. The baseline always does.
    pub contenders: Vec<ContenderName>,
    /// Which of the factors are crossed; all when empty. The others stay as the baseline has them.
    #[serde(default)]
    pub factors: Vec<String>,
    /// Which cells are measured; all when empty.
    pub cells: Vec<String>,
    /// Blocks.
    pub blocks: u32,
    /// Further blocks, as in [`Design::spare_blocks`].
    pub spare_blocks: u32,
    /// The most warm-up per trial.
    #[serde(with = "nanoseconds")]
    pub warmup: Duration,
    /// Length of a measurement.
    #[serde(with = "nanoseconds")]
    pub measure: Duration,
    /// Length of a capacity's probes, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_ns: Option<u64>,
    /// How many probes there are around its edge, where there are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
}

/// A table as its author published it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What it shows.
    pub title: String,
    /// Heads of its columns.
    pub columns: Vec<String>,
    /// Its rows, as printed.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know of it.
    pub note: Option<String>,
}

/// Fewest blocks from which anybody may win: below, the exact sign-flip test
/// cannot reach 5 % (2/2⁵ = 0.0625).
pub const FEWEST_BLOCKS: u32 = 6;

impl Experiment {
    /// Reads an experiment. That the named systems and workloads exist is
    /// checked by [`crate::catalog::Catalog`].
    ///
    /// # Errors
    /// Every problem of the file, with its place.
    pub fn read(path: &Path) -> Result<Experiment, Problems> {
        Experiment::read_with(path, &|_| None)
    }

    /// As [`Experiment::read`], with the workloads of cells: whether another generator can make a load depends on what is asked.
    pub(crate) fn read_with(path: &Path, workload_of: &dyn Fn(&Cell) -> Option<Workload>) -> Result<Experiment, Problems> {
        read_file(path, |table| {
            let experiment = walk(table, path);
            witness::check(table, &experiment, workload_of);
            experiment
        })
    }

    /// The name of the article whose claims it tries.
    pub fn article(&self) -> Option<&str> {
        self.source.as_ref()?.article.as_deref()
    }

    /// The baseline, then the others.
    pub fn everybody(&self) -> impl Iterator<Item = &ContenderName> {
        std::iter::once(&self.baseline).chain(&self.contenders)
    }

    /// The contenders that the question is about: without the baseline's twin, where there are others.
    pub fn compared(&self) -> impl Iterator<Item = &ContenderName> {
        let only_twin = self.contenders.iter().all(ContenderName::is_twin);
        self.contenders.iter().filter(move |name| only_twin || !name.is_twin())
    }

    /// The cell of a name.
    pub fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.name == name)
    }

    /// With another number of blocks: looks as they are by default are so for these as well; written ones beyond the
    /// blocks fall away.
    pub fn with_blocks(mut self, blocks: u32) -> Experiment {
        let has_claims = !self.claims.is_empty();
        if self.design.looks == default_looks(self.design.blocks, has_claims) {
            self.design.looks = default_looks(blocks, has_claims);
        }
        self.design.looks.retain(|look| *look <= blocks);
        self.design.blocks = blocks;
        self
    }

    /// The experiment in its quick form, where it has one.
    pub fn quickened(mut self) -> Experiment {
        let Some(quick) = self.quick.clone() else { return self };
        if !quick.contenders.is_empty() {
            self.contenders.retain(|c| quick.contenders.contains(c) || c.is_twin());
        }
        if !quick.factors.is_empty() {
            let crossed = self.combinations();
            self.contenders.retain(|name| !crossed.iter().any(|c| c.contender == *name));
            self.factors.retain(|factor| quick.factors.contains(&factor.name));
            let crossed = factorial::combinations(&self.baseline, &self.factors);
            self.contenders.extend(crossed.into_iter().skip(1).map(|combination| combination.contender));
        }
        if !quick.cells.is_empty() {
            self.cells.retain(|c| quick.cells.contains(&c.name));
        }
        for cell in &mut self.cells {
            if let Load::Capacity(capacity) = &mut cell.load {
                capacity.probe = quick.probe_ns.map_or(capacity.probe, Duration::from_nanos);
                capacity.probes = quick.probes.unwrap_or(capacity.probes);
            }
        }
        self = self.with_blocks(quick.blocks);
        self.design.spare_blocks = quick.spare_blocks;
        self.design.warmup = quick.warmup;
        self.design.measure = quick.measure;
        let cells: Vec<String> = self.cells.iter().map(|c| c.name.clone()).collect();
        self.claims.retain_mut(|claim| {
            let spoke_of_all = claim.cells.is_empty();
            claim.cells.retain(|c| cells.contains(c));
            (spoke_of_all || !claim.cells.is_empty()) && (claim.contender == self.baseline || self.contenders.contains(&claim.contender))
        });
        // Nothing is settled early where no claim is left.
        if self.claims.is_empty() {
            self.design.looks.clear();
        }
        self
    }

    /// The experiment with others beside its contenders, last; whoever takes part already does not do so twice.
    pub fn with_contenders(mut self, others: &[ContenderName]) -> Experiment {
        for other in others {
            if !self.everybody().any(|name| name == other) {
                self.contenders.push(other.clone());
            }
        }
        self
    }

    /// About how long one trial takes, from what is written, a start-up time, and when such a system is
    /// usually found steady.
    pub fn trial_estimate(&self, start_up: Duration, steady: Duration) -> Duration {
        let settling = Duration::from_millis(700);
        let besides = |cell: &Cell| if cell.driver.is_some() { Duration::from_secs(3) } else { Duration::from_millis(300) };
        // Agents are greeted, told the start and waited for; before, they warm the contender up as well.
        let agreeing = if self.place.agents_asked() == 0 { Duration::ZERO } else { Duration::from_secs(3) };
        let long = |cell: &Cell| cell.load.capacity().map_or(self.design.measure, Capacity::estimate) + besides(cell) + agreeing;
        start_up + steady.min(self.design.warmup) + self.cells.iter().map(long).sum::<Duration>() + settling
    }

    /// What the design says, for people.
    pub fn describe_design(&self) -> Vec<(&'static str, String)> {
        let d = &self.design;
        let place = self.place.describe().map(|place| ("runs", place));
        let agents = self.place.describe_agents().map(|agents| ("load by", agents));
        let design = vec![
            (
                "blocks",
                format!(
                    "{}, each one trial of every contender in random order; {} more where faults spoil too many",
                    d.blocks, d.spare_blocks
                ),
            ),
            ("looks", describe_looks(d)),
            ("seed of the order", d.seed.to_string()),
            ("warm-up", warm_up_in_words(d.warmup)),
            ("measurement", format!("{}, cells in random order", self.describe_measurement())),
            (
                "margin",
                format!(
                    "a ratio within {}..{} makes no difference that matters",
                    show_number(1.0 / (1.0 + d.margin)),
                    show_number(1.0 + d.margin)
                ),
            ),
            (
                "confidence",
                format!(
                    "{} % for better and worse, {} % for equivalent",
                    show_number(d.confidence * 100.0),
                    show_number((2.0 * d.confidence - 1.0) * 100.0)
                ),
            ),
        ];
        place.into_iter().chain(agents).chain(design).collect()
    }

    /// How long a cell is measured; a search for the most has probes instead.
    fn describe_measurement(&self) -> String {
        let probe = |cell: &Cell| cell.load.capacity().map(|capacity| format!("probes of {}", show_duration(capacity.probe)));
        let written = |cell: &Cell| probe(cell).unwrap_or_else(|| format!("{} per cell", show_duration(self.design.measure)));
        let mut ways: Vec<String> = self.cells.iter().map(written).collect();
        ways.sort();
        ways.dedup();
        ways.join("; ")
    }
}

fn describe_looks(design: &Design) -> String {
    let early: Vec<String> = design.looks.iter().filter(|look| **look < design.blocks).map(ToString::to_string).collect();
    match early.as_slice() {
        [] => "one, after the last block".to_owned(),
        early => format!("after {} and {} blocks; the run ends as soon as every claim is settled", early.join(", "), design.blocks),
    }
}

/// Looks where none are written: after half, three quarters and all of the blocks, none before the fewest blocks that can
/// settle anything; where nothing is claimed, none but the last.
pub(crate) fn default_looks(blocks: u32, has_claims: bool) -> Vec<u32> {
    let mut looks: Vec<u32> = [blocks.div_ceil(2), (3 * blocks).div_ceil(4), blocks].into_iter().filter(|n| *n >= FEWEST_BLOCKS).collect();
    looks.dedup();
    if has_claims { looks } else { Vec::new() }
}

fn warm_up_in_words(at_most: Duration) -> String {
    match at_most {
        Duration::ZERO => "none".into(),
        _ => format!("per trial until the steady state is found, {} at most", show_duration(at_most)),
    }
}

fn walk(table: &Table<'_>, path: &Path) -> Experiment {
    let name = table.required_string("name");
    if path.file_stem().is_some_and(|stem| *stem != *name) {
        table.problem("name", format!("the name `{name}` is not that of its file"), "name the file `<name>.toml`");
    }
    let baseline = if table.has("baseline") { contender(table, "baseline") } else { table.required_string("baseline").parse().ok() };
    let mut contenders = contenders(table, baseline.as_ref());
    for name in contenders.iter().chain(&baseline).filter(|name| name.is_twin()) {
        table.problem("contenders", format!("`{name}`: the variant `aa` is not to be named"), "write `aa = true`");
    }
    let factors = walk_factors(table);
    let crossed = baseline.as_ref().map(|baseline| factorial::combinations(baseline, &factors)).unwrap_or_default();
    contenders.extend(crossed.into_iter().skip(1).map(|combination| combination.contender));
    let aa = table.flag("aa").unwrap_or(false);
    if let (true, Some(baseline)) = (aa, &baseline) {
        contenders.push(baseline.twin());
    }
    let cells = walk_cells(table);
    let place = table.table("place", walk_place).unwrap_or_default();
    let claims = table.tables("claim", |t| walk_claim(t, &cells));
    let has_claims = !claims.is_empty();
    let design = table.table("design", |t| walk_design(t, has_claims)).unwrap_or_else(|| default_design(has_claims));
    let quick = table.table("quick", |t| Quick {
        contenders: self::contenders(t, baseline.as_ref()),
        factors: t.strings("factors"),
        cells: named_cells(t, &cells),
        blocks: t.integer("blocks", 1, 1000).unwrap_or(u64::from(FEWEST_BLOCKS)) as u32,
        spare_blocks: t.integer("spare_blocks", 0, 100).unwrap_or(1) as u32,
        warmup: t.duration("warmup").unwrap_or(design.warmup / 2),
        measure: t.duration("measure").unwrap_or(design.measure),
        probe_ns: t.duration("probe").map(|probe| probe.as_nanos() as u64),
        probes: t.integer("probes", 6, 1000).map(|n| n as u32),
    });
    let experiment = Experiment {
        name,
        question: table.required_string("question"),
        source: table.table("source", |t| Source {
            title: t.required_string("title"),
            author: t.string("author"),
            url: t.string("url"),
            published: t.string("published"),
            article: t.string("article"),
        }),
        baseline: baseline.unwrap_or(ContenderName { system: "unknown".into(), variants: Vec::new() }),
        contenders,
        factors,
        aa,
        against: None,
        upstream: contender(table, "upstream"),
        database: contender(table, "database"),
        cells,
        design,
        place,
        claims,
        quick,
        published: table.table("published", |t| Published {
            title: t.required_string("title"),
            columns: t.strings("columns"),
            rows: t.lists("rows"),
            note: t.string("note"),
        }),
        analysis: table.string("analysis"),
    };
    check(table, &experiment);
    experiment
}

/// What only shows when the parts are seen together.
fn check(table: &Table<'_>, experiment: &Experiment) {
    let cell_names: Vec<&str> = experiment.cells.iter().map(|c| c.name.as_str()).collect();
    let everybody: Vec<String> = experiment.everybody().map(ToString::to_string).collect();
    for (i, name) in everybody.iter().enumerate() {
        if everybody[..i].contains(name) {
            table.problem(
                "contenders",
                format!("`{name}` takes part twice"),
                "the baseline stands in `baseline` alone; each other contender once",
            );
        }
    }
    for name in experiment.everybody().chain(&experiment.upstream) {
        if let Some((message, hint)) = name.contradiction(experiment.place.runner) {
            table.problem("contenders", message, hint);
        }
    }
    if let Some(upstream) = experiment.upstream.as_ref().filter(|upstream| upstream.share().replicas.is_some()) {
        table.problem("upstream", format!("the upstream `{upstream}` has several pods"), "only contenders have; leave `replicas-` out");
    }
    if let (Network::Ingress, Some(upstream)) = (experiment.place.network, &experiment.upstream) {
        let hint = "leave `network` out, and name contenders such as `proxy-gin:in-kubernetes-ingress`";
        table.problem("place", format!("the upstream `{upstream}` would be behind an Ingress as well"), hint);
    }
    let known = |name: &ContenderName| everybody.contains(&name.to_string());
    let unknown = |key: &str, what: &str, name: &str, all: &mut dyn Iterator<Item = &str>| {
        let all: Vec<&str> = all.collect();
        table.problem(key, format!("{what} `{name}`, which is not in this experiment"), did_you_mean(name, all));
    };
    for claim in &experiment.claims {
        if !known(&claim.contender) {
            unknown(
                "claim",
                &format!("the claim \"{}\" is about", claim.text),
                &claim.contender.to_string(),
                &mut everybody.iter().map(String::as_str),
            );
        }
        if claim.contender == experiment.baseline && !claim.expects.is_absolute() && claim.beside.is_none() {
            table.problem("claim", format!("the claim \"{}\" compares the baseline with itself", claim.text), "name another contender");
        }
        if let Some((message, hint)) = beside::contradiction(claim, experiment) {
            table.problem("claim", message, hint);
        }
        let is_of_zero = matches!(claim.expects, Expectation::Zero | Expectation::AboveZero);
        if claim.expects == Expectation::Times && claim.metric.describe().by_difference {
            table.problem(
                "claim",
                format!("the claim \"{}\" expects so many times of a metric that can be zero", claim.text),
                "expect `lower`, `higher` or `same` of it",
            );
        }
        if is_of_zero && !claim.metric.describe().by_difference {
            table.problem(
                "claim",
                format!("the claim \"{}\" expects zero of a metric that never is", claim.text),
                "use it with `failed_share`",
            );
        }
        for cell in claim.cells.iter().filter(|c| !cell_names.contains(&c.as_str())) {
            unknown("claim", &format!("the claim \"{}\" speaks of cell", claim.text), cell, &mut cell_names.iter().copied());
        }
        let metric = claim.metric.describe();
        let is_spoken_of = |cell: &&Cell| claim.cells.is_empty() || claim.cells.contains(&cell.name);
        let has_it = |cell: &Cell| metric.of_trial || claim.metric.is_of(cell);
        let mut spoken_of = experiment.cells.iter().filter(is_spoken_of).peekable();
        let (is_named, is_anywhere) = (!claim.cells.is_empty(), spoken_of.peek().is_none() || spoken_of.clone().any(has_it));
        if !is_anywhere || (is_named && !spoken_of.all(has_it)) {
            table.problem(
                "claim",
                format!("the claim \"{}\" speaks of {} where it is not measured", claim.text, metric.label),
                "a cell with `kind = \"capacity\"` has a capacity and nothing else, one with a `driver` nothing that we measure; others have \
                 everything but a capacity",
            );
        }
    }
    if let Some(quick) = &experiment.quick {
        for cell in quick.cells.iter().filter(|c| !cell_names.contains(&c.as_str())) {
            unknown("quick", "[quick] speaks of cell", cell, &mut cell_names.iter().copied());
        }
        let quickened = experiment.clone().quickened();
        let capacities: Vec<&Capacity> = quickened.cells.iter().filter_map(|cell| cell.load.capacity()).collect();
        if (quick.probe_ns, quick.probes) != (None, None) && capacities.is_empty() {
            table.problem("quick", "[quick] speaks of probes, and looks for no capacity", "leave out `probe` and `probes`");
        }
        if let Some((what, hint)) = capacities.iter().find_map(|capacity| capacity.contradiction()).filter(|_| quick.probe_ns.is_some()) {
            table.problem("quick", what, hint);
        }
        let is_kept = |name: &str| quick.cells.iter().any(|cell| cell == name);
        for cell in experiment.cells.iter().filter(|cell| is_kept(&cell.name)) {
            if let Some(before) = cell.after.as_deref().filter(|before| !is_kept(before)) {
                table.problem("quick", format!("`{}` comes after `{before}`, which is not in [quick]", cell.name), "name that as well");
            }
        }
        let factor_names: Vec<&str> = experiment.factors.iter().map(|f| f.name.as_str()).collect();
        for factor in quick.factors.iter().filter(|f| !factor_names.contains(&f.as_str())) {
            unknown("quick", "[quick] speaks of factor", factor, &mut factor_names.iter().copied());
        }
        for name in quick.contenders.iter().filter(|c| !known(c)) {
            unknown("quick", "[quick] speaks of contender", &name.to_string(), &mut everybody.iter().map(String::as_str));
        }
    }
    for beyond in experiment.beyond_agents() {
        match &beyond.cell {
            Some(cell) => table.problem_of(("cell", cell), "load", beyond.message, beyond.hint),
            None => table.problem("place", beyond.message, beyond.hint),
        }
    }
    if let Some(published) = &experiment.published
        && let Some(row) = published.rows.iter().find(|r| r.len() != published.columns.len())
    {
        table.problem(
            "published",
            format!("a published row has {} values for {} columns", row.len(), published.columns.len()),
            "one value a column",
        );
    }
}

fn contender(table: &Table<'_>, key: &'static str) -> Option<ContenderName> {
    table.parsed(key, |text| text.parse::<ContenderName>())
}

/// Names, and tables of which each stands for every combination of variants but the baseline.
fn contenders(table: &Table<'_>, baseline: Option<&ContenderName>) -> Vec<ContenderName> {
    let named = |text: &str| -> Vec<ContenderName> {
        let say = |message: String| table.problem("contenders", message, "write `system`, `system:variant` or `system:one+another`");
        text.parse().map_err(say).into_iter().collect()
    };
    let combined = |t: &Table<'_>| -> Vec<ContenderName> { combinations(t).into_iter().filter(|name| Some(name) != baseline).collect() };
    table.texts_or_tables("contenders", named, combined).into_iter().flatten().collect()
}

/// Most contenders that one table may stand for.
const MOST_COMBINATIONS: usize = 100;

/// A system with one variant of each list, in every combination; the empty text stands for none.
fn combinations(table: &Table<'_>) -> Vec<ContenderName> {
    let (system, lists) = (table.required_string("system"), table.lists("variants"));
    if lists.is_empty() || lists.iter().any(Vec::is_empty) {
        let hint = "write `variants = [[\"g1\", \"zgc\"], [\"\", \"quiet\"]]`: one of each list, \"\" for none";
        table.problem("variants", "`contenders.variants` needs one list or more, each with a variant or more", hint);
        return Vec::new();
    }
    for (key, name) in [("system", &system)].into_iter().chain(lists.iter().flatten().map(|variant| ("variants", variant))) {
        if !name.is_empty() && !is_name(name) {
            table.problem(key, format!("`{name}` is not a name"), "use letters, digits, `-`, `_` and `.`");
        }
    }
    let count = lists.iter().try_fold(1usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > MOST_COMBINATIONS) {
        table.problem("variants", format!("these are more than {MOST_COMBINATIONS} combinations"), "leave some out");
        return Vec::new();
    }
    let with = |name: &ContenderName, variant: &String| {
        let mut name = name.clone();
        name.variants.extend(Some(variant).filter(|variant| !variant.is_empty()).cloned());
        name
    };
    let alone = vec![ContenderName { system, variants: Vec::new() }];
    lists.iter().fold(alone, |names, list| names.iter().flat_map(|name| list.iter().map(move |variant| with(name, variant))).collect())
}

fn walk_cells(table: &Table<'_>) -> Vec<Cell> {
    let written = table.tables("cell", walk_cell);
    if written.is_empty() {
        table.problem("cell", "the experiment measures nothing", "write one [[cell]] or more, each with `name`, `workload` and `load`");
    }
    let mut names = BTreeSet::new();
    for cells in &written {
        let name = cells.first().map_or("", Cell::written_name);
        let of_sweep = cells.iter().filter(|cell| cell.sweep.is_some()).map(|cell| cell.name.as_str());
        // Where the written name is taken, those made from it need not be looked at.
        let taken = std::iter::once(name).chain(of_sweep).find(|name| !names.insert((*name).to_owned()));
        if let Some(name) = taken {
            table.problem("cell", format!("two cells are named `{name}`"), "give each its own name");
        }
    }
    written.into_iter().flatten().collect()
}

/// One cell, or where levels stand in lists one for each combination of them.
fn walk_cell(table: &Table<'_>) -> Vec<Cell> {
    let name = table.required_string("name");
    if !is_name(&name) && table.has("name") {
        table.problem("name", format!("`{name}` cannot name a cell"), "use letters, digits, `-`, `_` and `.`");
    }
    let (mut axes, mut driver) = (Vec::new(), None);
    let walk_load = |t: &Table<'_>| {
        driver = witness::walk_driver(t);
        walk_load(t, &mut axes)
    };
    let load = table.table("load", walk_load).unwrap_or_else(|| {
        table.problem(
            "load",
            format!("the cell `{name}` says not how requests arrive"),
            "write `load = { kind = \"arrivals\", rate = 100 }` or `{ kind = \"closed\", connections = 64 }`",
        );
        Load::closed(1)
    });
    let cell = Cell {
        name,
        workload: table.required_string("workload"),
        with: walk_with(table, &mut axes),
        load,
        driver,
        truth: witness::walk_truth(table),
        timeout: table.duration("timeout").unwrap_or(Duration::from_secs(10)),
        after: None,
        sweep: None,
    };
    if let Some(turns) = table.integer("turns", 2, TURNS_MAX) {
        if cell.load.capacity().is_some() {
            table.problem("turns", "a capacity is not looked for in turns", "each of its probes begins alike; give the turns another load");
        }
        if axes.iter().any(|axis| axis.parameter == TURN) {
            table.problem("turns", "`turn` is swept as well", "give the workload's parameter another name");
        }
        axes.push(Axis { parameter: TURN.to_owned(), levels: (1..=turns).map(|turn| turn as f64).collect(), of_load: true });
    }
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.levels.len()));
    if count.is_none_or(|count| count > MOST_CELLS) {
        table.problem("", format!("the levels of `{}` make more than {MOST_CELLS} cells", cell.name), "leave some out");
        return vec![cell];
    }
    if let (Some(driver), false) = (cell.driver, axes.is_empty()) {
        let message = format!("the cell `{}` is swept, and {} makes its load", cell.name, driver.name());
        table.problem("load", message, "write a cell for each level");
    }
    let cells = expand(cell, &axes);
    if let Some(long) = cells.iter().find(|cell| !is_name(&cell.name) && is_name(cell.written_name())) {
        table.problem("name", format!("`{}` is too long to name a cell", long.name), "give the cell a shorter name");
    }
    cells
}

/// What a cell sets of its workload's parameters; those with several levels are swept.
fn walk_with(table: &Table<'_>, axes: &mut Vec<Axis>) -> BTreeMap<String, String> {
    let mut with = BTreeMap::new();
    for (parameter, given) in table.texts_or_levels("with") {
        if !is_value_name(&parameter) {
            table.problem("with", format!("`{parameter}` cannot name a parameter"), "use letters, digits, `-` and `_`");
        }
        if axes.iter().any(|axis| axis.parameter == parameter) {
            table.problem("with", format!("`{parameter}` is swept in the load as well"), "give the workload's parameter another name");
        }
        match given {
            Levels::One(value) => drop(with.insert(parameter, value)),
            Levels::Several(levels) => axes.push(Axis { parameter, levels, of_load: false }),
        }
    }
    with
}

/// A level of the load; of several the first, and all of them are swept.
fn level(found: Option<Levels<f64>>, parameter: &str, axes: &mut Vec<Axis>) -> Option<f64> {
    match found? {
        Levels::One(level) => Some(level),
        Levels::Several(levels) => {
            let first = levels.first().copied();
            axes.push(Axis { parameter: parameter.to_owned(), levels, of_load: true });
            first
        }
    }
}

/// The cells that the field `cells` names: each by itself, or all of a sweep by the name that it is written with.
fn named_cells(table: &Table<'_>, cells: &[Cell]) -> Vec<String> {
    let of_sweep = |name: &str| -> Vec<String> {
        let swept = cells.iter().filter(|cell| cell.sweep.as_ref().is_some_and(|sweep| sweep.of == name));
        swept.map(|cell| cell.name.clone()).collect()
    };
    let mut named = Vec::new();
    for name in table.strings("cells") {
        match of_sweep(&name) {
            all if all.is_empty() => named.push(name),
            all => named.extend(all),
        }
    }
    named
}

fn walk_load(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    let kind = table.required_string("kind");
    match kind.as_str() {
        "arrivals" => walk_arrivals(table, axes),
        "closed" => {
            if !table.has("connections") {
                table.problem("connections", "a closed load needs its connections", "write `connections = 64`");
            }
            Load::Closed {
                connections: level(table.integer_levels("connections", 1, 1_000_000), "connections", axes).unwrap_or(1.0) as u32,
                depth: level(table.integer_levels("depth", 1, 10_000), "depth", axes).unwrap_or(1.0) as u32,
            }
        }
        "users" => walk_users(table, axes),
        "capacity" => capacity::walk(table).map_or(Load::closed(1), Load::Capacity),
        other => {
            if table.has("kind") {
                table.problem("kind", format!("unknown load `{other}`"), did_you_mean(other, ["arrivals", "closed", "users", "capacity"]));
            }
            // Read whatever stands there, so that it is not called unknown as well.
            table.ignore_rest();
            Load::closed(1)
        }
    }
}

fn walk_arrivals(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    if !table.has("rate") {
        table.problem("rate", "arrivals need a rate", "write `rate = 100`, in requests per second");
    }
    Load::Arrivals {
        rate_per_s: level(table.number_levels("rate", RATE_MIN, RATE_MAX), "rate", axes).unwrap_or(1.0),
        stages: table.tables("stages", |stage| Stage {
            to_per_s: stage.number("to", 0.0, RATE_MAX).unwrap_or_else(|| {
                if !stage.has("to") {
                    stage.problem("to", "a stage needs the rate that it leads to", "write `{ to = 200, over = \"10s\" }`");
                }
                1.0
            }),
            over: stage.duration("over").unwrap_or(Duration::ZERO),
        }),
        spacing: table.choice("spacing", &[("even", Spacing::Even), ("poisson", Spacing::Poisson)]).unwrap_or_default(),
        in_flight_max: table.integer("in_flight_max", 1, 1_000_000).unwrap_or(DEFAULT_IN_FLIGHT) as u32,
        overflow: table.choice("overflow", &[("queue", Overflow::Queue), ("shed", Overflow::Shed)]).unwrap_or_default(),
    }
}

fn walk_users(table: &Table<'_>, axes: &mut Vec<Axis>) -> Load {
    if !table.has("users") {
        table.problem("users", "the load does not say how many users", "write `users = 1000`");
    }
    let pause = table.string("pause").map(|text| Pause::parse(&text));
    if let Some(Err(why)) = &pause {
        table.problem("pause", why.clone(), "write `1s`, `1s..2s`, or `~1s` for exponential pauses with that mean");
    }
    Load::Users {
        users: level(table.integer_levels("users", 1, 1_000_000), "users", axes).unwrap_or(1.0) as u32,
        ramp: table.duration("ramp").unwrap_or(Duration::ZERO),
        pause: pause.and_then(Result::ok).unwrap_or(Pause::Constant(Duration::ZERO)),
        rounds: table.integer("rounds", 1, u64::MAX),
        pooled: table.integer("pooled", 1, 1_000_000).map(|n| n as u32),
    }
}

impl Pause {
    /// For people: `1.0 s`, `1.0 s to 2.0 s`, `1.0 s on average (exponential)`.
    pub fn describe(&self) -> String {
        match self {
            Pause::Constant(pause) => show_duration(*pause),
            Pause::Uniform { from, to } => format!("{} to {}", show_duration(*from), show_duration(*to)),
            Pause::Exponential(mean) => format!("{} on average (exponential)", show_duration(*mean)),
        }
    }

    /// Reads `1s`, `1s..2s` or `~1s`, the last for exponential pauses with that mean.
    ///
    /// # Errors
    /// Why the text is none of these.
    pub fn parse(text: &str) -> Result<Pause, String> {
        if let Some(mean) = text.strip_prefix('~') {
            return Ok(Pause::Exponential(parse_duration(mean)?));
        }
        match text.split_once("..") {
            None => Ok(Pause::Constant(parse_duration(text)?)),
            Some((from, to)) => {
                let (from, to) = (parse_duration(from)?, parse_duration(to)?);
                if from > to {
                    return Err(format!("a pause from {} to {} ends before it begins", show_duration(from), show_duration(to)));
                }
                Ok(Pause::Uniform { from, to })
            }
        }
    }
}

/// How many requests may be under way where a load with a schedule does not say.
pub const DEFAULT_IN_FLIGHT: u64 = 1024;

/// Most requests under way by default: those of so many seconds, if none were answered, but within bounds.
const IN_FLIGHT_S: f64 = 0.1;
const IN_FLIGHT_MOST: f64 = 16_384.0;

/// The most requests under way of arrivals at a rate, where a command line or a capacity does not say.
pub fn in_flight_for(rate_per_s: f64) -> u32 {
    (rate_per_s * IN_FLIGHT_S).clamp(DEFAULT_IN_FLIGHT as f64, IN_FLIGHT_MOST) as u32
}

/// The least rate of arrivals, per second; a stage may lead to 0.
pub const RATE_MIN: f64 = 0.001;

/// The greatest margin of a claim: a thousand times as much.
const CLAIM_MARGIN_MAX: f64 = 1000.0;

/// Most turns of a cell.
const TURNS_MAX: u64 = 20;

/// The greatest rate of arrivals, per second.
pub const RATE_MAX: f64 = 10_000_000.0;

fn default_design(has_claims: bool) -> Design {
    Design {
        blocks: 12,
        spare_blocks: 2,
        looks: default_looks(12, has_claims),
        margin: 0.05,
        confidence: 0.95,
        seed: 1,
        warmup: Duration::from_secs(30),
        measure: Duration::from_secs(10),
        budget: Duration::from_secs(2 * 3600),
    }
}

fn walk_design(table: &Table<'_>, has_claims: bool) -> Design {
    let usual = default_design(has_claims);
    let blocks = table.integer("blocks", 1, 1000).map_or(usual.blocks, |n| n as u32);
    Design {
        blocks,
        looks: if table.has("looks") { walk_looks(table, blocks) } else { default_looks(blocks, has_claims) },
        spare_blocks: table.integer("spare_blocks", 0, 100).map_or(usual.spare_blocks, |n| n as u32),
        margin: table.number("margin", 0.0, 10.0).unwrap_or(usual.margin),
        confidence: table.number("confidence", 0.8, 0.999).unwrap_or(usual.confidence),
        seed: table.integer("seed", 0, u64::MAX).unwrap_or(usual.seed),
        warmup: table.duration("warmup").unwrap_or(usual.warmup),
        measure: positive(table, "measure").unwrap_or(usual.measure),
        budget: positive(table, "budget").unwrap_or(usual.budget),
    }
}

fn walk_looks(table: &Table<'_>, blocks: u32) -> Vec<u32> {
    let looks = table.integers("looks");
    if let Some(pair) = looks.windows(2).find(|pair| pair[0] >= pair[1]) {
        table.problem("looks", format!("looks must rise: {} stands before {}", pair[0], pair[1]), "write them as [6, 9, 12]");
    }
    for look in &looks {
        if *look > u64::from(blocks) {
            table.problem(
                "looks",
                format!("a look after {look} blocks comes behind the last of {blocks}"),
                "leave it out, or plan more blocks",
            );
        } else if *look < u64::from(FEWEST_BLOCKS) {
            table.problem(
                "looks",
                format!("a look after {look} blocks can settle nothing: a verdict needs {FEWEST_BLOCKS}"),
                "leave it out; `looks = []` is one look at the end",
            );
        }
    }
    looks.into_iter().map(|look| look.min(u64::from(blocks)) as u32).collect()
}

fn positive(table: &Table<'_>, key: &'static str) -> Option<Duration> {
    let duration = table.duration(key)?;
    if duration.is_zero() {
        table.problem(key, format!("`{key}` is zero"), "write how long, such as 10s");
        return None;
    }
    Some(duration)
}

fn walk_place(table: &Table<'_>) -> Place {
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
    if let Some((message, hint)) = place.contradiction() {
        table.problem("runner", message, hint);
    }
    place
}

fn walk_claim(table: &Table<'_>, cells: &[Cell]) -> Claim {
    let metric = table.required_string("metric");
    let expects = walk_expectation(table);
    Claim {
        text: table.required_string("text"),
        contender: if table.has("contender") { contender(table, "contender") } else { table.required_string("contender").parse().ok() }
            .unwrap_or(ContenderName { system: "unknown".into(), variants: Vec::new() }),
        metric: Metric::named(&metric).unwrap_or_else(|| {
            if table.has("metric") {
                table.problem(
                    "metric",
                    format!("unknown metric `{metric}`"),
                    did_you_mean(&metric, Metric::ALL.map(|m| m.describe().name)),
                );
            }
            Metric::Throughput
        }),
        expects,
        margin: table.number("margin", 0.0, CLAIM_MARGIN_MAX),
        value: table.number("value", 0.0, 1e12),
        cells: named_cells(table, cells),
        contender_cpus: table.integer("contender_cpus", 1, 4096).map(|n| n as u32),
        beside: table.choice("beside", &Beside::WORDS),
    }
}

/// What is expected, and whether the value stands there that it needs.
fn walk_expectation(table: &Table<'_>) -> Expectation {
    let word = table.required_string("expects");
    let known = Expectation::WORDS.iter().find(|(known, _)| *known == word);
    if known.is_none() && table.has("expects") {
        table.problem(
            "expects",
            format!("unknown expectation `{word}`"),
            did_you_mean(&word, Expectation::WORDS.iter().map(|(known, _)| *known)),
        );
    }
    let expects = known.map_or(Expectation::Same, |(_, expects)| *expects);
    let is_of_value = matches!(expects, Expectation::AtMost | Expectation::Times);
    if expects == Expectation::AtMost && !table.has("value") {
        table.problem("expects", "a claim that expects `at_most` does not say how much", "write `value = 360`, in the metric's unit");
    }
    if expects == Expectation::Times && table.number("value", 1e-6, 1e6).is_none() && !table.has("value") {
        table.problem("expects", "a claim that expects `times` does not say how many", "write `value = 0.5` for half of the baseline");
    }
    if expects == Expectation::AtMost && table.has("margin") {
        table.problem("margin", "a claim that expects `at_most` compares nobody, so it has no margin", "put what is allowed into `value`");
    }
    if !is_of_value && known.is_some() && table.has("value") {
        let hint = "leave it out, or write `expects = \"at_most\"` or `expects = \"times\"`";
        table.problem("value", format!("a claim that expects `{word}` has no value"), hint);
    }
    expects
}
