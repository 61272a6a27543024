//! Where systems run: the seam between starting a system and what it starts as.
//!
//! [`start`](crate::start::start) asks a [`Runner`] what a contender finds where it will be, fills that into its command and rendered
//! files, has the runner start it, and from then on knows a [`Started`]: something with a process id, an end and a log. Whoever measures reads
//! the process id, and so needs to know nothing of engines.

use crate::database::Means;
use crate::docker::Docker;
use crate::kubernetes::{AgentPods, Kubernetes};
use crate::ports;
use crate::process::{Process, Spec, Stop};
use crate::start::Surroundings;
use load::WrongAnswer;
use model::experiment::{self, Network, RunnerKind};
use model::image::Image;
use model::name::ContenderName;
use model::problem::Problems;
use model::record::Failure;
use model::system::{Contender, StopSignal};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where systems run: as processes of this machine, in containers of an engine, in pods of a cluster.
pub trait Runner {
    /// Sees to it that a contender that is built can start; the image that it will start from, where it starts from one. `cache` is
    /// where images and logs are kept.
    ///
    /// # Errors
    /// The failure: an image that cannot be made, or that the engine does not take.
    fn provide(&self, contender: &Contender, cache: &Path, means: Means<'_>) -> Result<Option<Image>, Failure>;

    /// What a contender finds where it starts; `work` is the folder for what is rendered, as it is called here.
    ///
    /// # Errors
    /// In words, what cannot be had there.
    fn inside(&self, contender: &Contender, around: &Surroundings<'_>, work: &Path) -> Result<Inside, String>;

    /// Starts it. Whatever was begun is gone where it fails.
    ///
    /// # Errors
    /// In words, why it does not start.
    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String>;

    /// Has agents run beside what it starts, which make the loads.
    ///
    /// # Errors
    /// In words, why there are none.
    fn agents(&self, _: &AskedAgents<'_>) -> Result<AgentPods, String> {
        Err("only a cluster has pods for agents".into())
    }

    /// Why what failed since this was last asked may have failed by the doing of the engine that it runs in, and not by its own; `None`
    /// where that is as it was.
    fn lost(&self) -> Option<String> {
        None
    }

    /// Removes whatever a lost engine kept of earlier starts, none of which is needed any more.
    ///
    /// # Errors
    /// In words, why it is not there again.
    fn recover(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Agents that a runner is to have beside what it starts.
pub struct AskedAgents<'a> {
    /// How many.
    pub pods: u32,
    /// The longest load that they make.
    pub longest: Duration,
    /// The CPUs of the load generator, in whose place they are where they are on this machine.
    pub cpus: &'a [usize],
    /// Where images and logs are kept.
    pub cache: &'a Path,
    /// The rest.
    pub means: Means<'a>,
}

/// What a contender finds where it starts.
#[derive(Clone, Debug)]
pub struct Inside {
    /// What `{java}`, `{java.home}`, `{work}`, `{listen}` and `{port.*}` stand for.
    pub texts: BTreeMap<String, String>,
    /// Where it is reached from here.
    pub address: SocketAddr,
    /// Ports at which it listens and at which it is reached from here, where they differ.
    pub published: Vec<(u16, u16)>,
}

impl Inside {
    /// The named ports with their numbers, as the system knows them.
    pub(crate) fn ports(&self, names: &[String]) -> Vec<(String, u16)> {
        names.iter().filter_map(|name| Some((name.clone(), self.texts.get(&format!("port.{name}"))?.parse().ok()?))).collect()
    }
}

/// A start, with all placeholders filled in.
pub struct Order<'a> {
    /// Who.
    pub contender: &'a Contender,
    /// The command.
    pub command: &'a [String],
    /// Added to the environment.
    pub env: &'a BTreeMap<String, String>,
    /// What the runner said of it.
    pub inside: &'a Inside,
    /// The folder of what was rendered, as it is called here.
    pub work: &'a Path,
    /// Most descriptors.
    pub descriptors: u64,
    /// Where its output goes, at its end at the latest.
    pub log: &'a Path,
    /// The rest.
    pub around: &'a Surroundings<'a>,
}

impl Order<'_> {
    /// How much of the machine it may use: what its name says, and where that says nothing, what is said of all.
    pub fn limits(&self) -> Limits {
        let (share, usual) = (self.contender.name.share(), self.around.limits);
        Limits { cpus: share.cpus.or(usual.cpus), memory_bytes: share.memory_bytes.or(usual.memory_bytes) }
    }
}

/// Asks a replica at its own address: when it answered rightly (CLOCK_MONOTONIC, ns).
pub type Asks<'a> = dyn Fn(SocketAddr) -> Result<u64, WrongAnswer> + 'a;

/// Replicas that have all answered rightly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaledOut {
    /// How long it took, from when they were asked for.
    pub after_ns: u64,
    /// How often they were asked before, and gave no right answer.
    pub asked_in_vain: u64,
}

/// A system that was started. Dropping it ends it, and leaves nothing of it.
pub trait Started {
    /// Its process id, as this machine knows it.
    fn pid(&self) -> u32;

    /// When it was started, or its start was asked for (CLOCK_MONOTONIC, ns).
    fn started_ns(&self) -> u64;

    /// Where other systems of the same runner reach it, where that is another place than from here.
    fn seen_by_others(&self) -> Option<SocketAddr> {
        None
    }

    /// Where the service itself is reached, where another stands before it.
    fn behind(&self) -> Option<SocketAddr> {
        None
    }

    /// The process ids of the further replicas, where it has several.
    fn others(&self) -> Vec<u32> {
        vec![]
    }

    /// The process ids of what the engine runs to pass its packets on, for it alone.
    fn forwarders(&self) -> Vec<u32> {
        vec![]
    }

    /// Asks for the further replicas that its name says, and waits until each has answered rightly; `None` where it has none.
    ///
    /// # Errors
    /// In words, how many came, and what the others waited for.
    fn scale_out(&mut self, _: &Asks<'_>, _within: Duration, _stop: &AtomicBool) -> Result<Option<ScaledOut>, String> {
        Ok(None)
    }

    /// How it ended, if it has: `exit 0`, `signal 9`.
    fn ended(&mut self) -> Option<String>;

    /// Where its output goes, at its end at the latest.
    fn log(&self) -> &Path;

    /// The last lines it wrote.
    fn last_lines(&self, most: usize) -> Vec<String>;

    /// Asks it to end, and kills it after a deadline.
    fn stop(self: Box<Self>, signal: StopSignal, within: Duration) -> Stop;
}

/// How much of the machine a system may use; nothing where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time a second, in seconds.
    pub cpus: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// Those of an experiment's `[place]`.
    pub fn of(place: &experiment::Place) -> Limits {
        Limits { cpus: place.cpu_limit, memory_bytes: place.memory_limit }
    }
}

/// The runner that a `[place]` names, for whoever takes part: some may say themselves what they run as.
///
/// # Errors
/// An engine that is not there, where `[place]` names it. One that only contenders name is missed when they are provided for. A contender
/// that cannot be given what its name says.
pub fn runner<'n>(place: &experiment::Place, names: impl IntoIterator<Item = &'n ContenderName>) -> Result<Box<dyn Runner>, Problems> {
    let usual = (place.runner, place.network);
    let listen = place.address.unwrap_or(Ipv4Addr::LOCALHOST);
    let names: Vec<&ContenderName> = names.into_iter().collect();
    if let Some((message, hint)) = names.iter().find_map(|name| name.contradiction(place.runner)) {
        return Err(Problems::plain(message, hint));
    }
    let usual_runner = open(usual, listen).map_err(|cause| {
        let hint = match place.runner {
            RunnerKind::Kubernetes => "have KUBECONFIG name a cluster, or run contenders as processes with `--runner process`",
            _ => "start Docker, have DOCKER_HOST name its socket (unix:///path), or run contenders as processes with `--runner process`",
        };
        Problems::plain(cause, hint)
    })?;
    let mut others = BTreeMap::new();
    for other in names.into_iter().filter_map(ContenderName::place).filter(|other| *other != usual) {
        others.entry(other).or_insert_with(|| open(other, listen));
    }
    if others.is_empty() { Ok(usual_runner) } else { Ok(Box::new(Several { usual: usual_runner, others })) }
}

fn open((kind, network): (RunnerKind, Network), listen: Ipv4Addr) -> Result<Box<dyn Runner>, String> {
    match kind {
        RunnerKind::Process => Ok(Box::new(Processes { listen })),
        RunnerKind::Docker => Ok(Box::new(Docker::open(network)?)),
        RunnerKind::Kubernetes => Ok(Box::new(Kubernetes::open(network)?)),
    }
}

/// Runners of one run, each for the contenders that name it.
struct Several {
    usual: Box<dyn Runner>,
    /// Those that could not be opened: why.
    others: BTreeMap<(RunnerKind, Network), Result<Box<dyn Runner>, String>>,
}

impl Several {
    fn of(&self, contender: &Contender) -> Result<&dyn Runner, String> {
        match contender.name.place().and_then(|place| self.others.get(&place)) {
            None => Ok(&*self.usual),
            Some(Ok(other)) => Ok(&**other),
            Some(Err(cause)) => Err(cause.clone()),
        }
    }

    /// Those that could be opened.
    fn all(&self) -> impl Iterator<Item = &dyn Runner> {
        std::iter::once(&*self.usual).chain(self.others.values().flatten().map(|other| &**other))
    }
}

impl Runner for Several {
    fn provide(&self, contender: &Contender, cache: &Path, means: Means<'_>) -> Result<Option<Image>, Failure> {
        let runner = self.of(contender).map_err(|cause| Failure { stage: "image".into(), cause, log: vec![] })?;
        runner.provide(contender, cache, means)
    }

    fn inside(&self, contender: &Contender, around: &Surroundings<'_>, work: &Path) -> Result<Inside, String> {
        self.of(contender)?.inside(contender, around, work)
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        self.of(order.contender)?.start(order)
    }

    fn agents(&self, asked: &AskedAgents<'_>) -> Result<AgentPods, String> {
        self.usual.agents(asked)
    }

    fn lost(&self) -> Option<String> {
        // Each is asked, so that none tells the next time what was before.
        let all: Vec<Option<String>> = self.all().map(Runner::lost).collect();
        all.into_iter().flatten().next()
    }

    fn recover(&self) -> Result<(), String> {
        self.all().try_for_each(Runner::recover)
    }
}

/// Processes of this machine.
pub struct Processes {
    /// The address of this machine at which they listen.
    pub listen: Ipv4Addr,
}

impl Processes {
    /// Those that nobody reaches from elsewhere.
    pub const ON_LOOPBACK: Processes = Processes { listen: Ipv4Addr::LOCALHOST };
}

impl Runner for Processes {
    fn provide(&self, _: &Contender, _: &Path, _: Means<'_>) -> Result<Option<Image>, Failure> {
        Ok(None)
    }

    fn inside(&self, contender: &Contender, around: &Surroundings<'_>, work: &Path) -> Result<Inside, String> {
        let mut texts = BTreeMap::new();
        if let Some(jdk) = around.tools.jvm(&contender.system) {
            texts.insert("java".into(), jdk.java().to_string_lossy().into_owned());
            texts.insert("java.home".into(), jdk.home.to_string_lossy().into_owned());
        }
        texts.insert("work".into(), work.to_string_lossy().into_owned());
        texts.insert("listen".into(), self.listen.to_string());
        let first = pick_ports(contender, self.listen, &mut texts)?;
        Ok(Inside { texts, address: SocketAddr::from((self.listen, first)), published: vec![] })
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        let spec = Spec {
            command: order.command,
            folder: &order.contender.system.runs_in,
            env: order.env,
            cpus: order.around.cpus,
            descriptors: Some(order.descriptors),
            log: order.log,
            user: None,
            run: order.around.run,
        };
        Ok(Box::new(Process::start(&spec)?))
    }
}

/// Gives each port of a contender one that is free at an address of this machine; the first of them.
pub(crate) fn pick_ports(contender: &Contender, at: Ipv4Addr, texts: &mut BTreeMap<String, String>) -> Result<u16, String> {
    let mut first = None;
    for name in &contender.system.start.ports {
        let port = ports::pick_at(at).ok_or("no port of 18000-29999 is free")?;
        first.get_or_insert(port);
        texts.insert(format!("port.{name}"), port.to_string());
    }
    first.ok_or_else(|| "the system names no port".to_owned())
}

impl Started for Process {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn started_ns(&self) -> u64 {
        self.started_ns
    }

    fn ended(&mut self) -> Option<String> {
        Process::ended(self).map(|ended| ended.status.clone())
    }

    fn log(&self) -> &Path {
        Process::log(self)
    }

    fn last_lines(&self, most: usize) -> Vec<String> {
        Process::last_lines(self, most)
    }

    fn stop(self: Box<Self>, signal: StopSignal, within: Duration) -> Stop {
        Process::stop(*self, signal, within)
    }
}
