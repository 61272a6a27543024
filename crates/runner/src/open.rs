//! Chooses where systems run: as processes, in Docker, or in Kubernetes.
//!
//! An experiment names the usual runner, and the name of a contender may ask for another one, which
//! is opened when it is first needed. Start with [`open_runner`].

use crate::docker::Docker;
use crate::kubernetes::Kubernetes;
use crate::means::Means;
use crate::place::{AgentPodsSpec, Inside, Order, PodAgents, Runner, Started, Surroundings};
use crate::processes::Processes;
use record::Failure;
use spec::experiment;
use spec::experiment::{Network, RunnerKind};
use spec::image::Image;
use spec::name::{ContenderName, PLACES};
use spec::problem::Problems;
use spec::system::Contender;
use std::cell::OnceCell;
use std::net::Ipv4Addr;
use std::path::Path;

/// Opens the runner that `[place]` of an experiment names. `names` are the contenders and the
/// upstream.
///
/// # Errors
/// An engine that `[place]` names and that does not respond. An engine that only contenders name
/// is opened later. A contender whose name asks for something that its runner does not have.
pub fn open_runner<'n>(
    place: &experiment::Place,
    names: impl IntoIterator<Item = &'n ContenderName>,
) -> Result<Box<dyn Runner>, Problems> {
    let usual = (place.runner, place.network);
    let listen = place.address.unwrap_or(Ipv4Addr::LOCALHOST);
    let names: Vec<&ContenderName> = names.into_iter().collect();
    if let Some((message, hint)) = names.iter().find_map(|name| name.contradiction(place.runner)) {
        return Err(Problems::plain(message, hint));
    }
    let usual_runner = open_kind(usual, listen).map_err(|cause| {
        let how = match place.runner {
            RunnerKind::Kubernetes => "have KUBECONFIG name a cluster",
            _ => "start Docker, have DOCKER_HOST name its socket (unix:///path)",
        };
        let hint = format!("{how}, or run contenders as processes with `--runner process`");
        Problems::plain(cause, hint)
    })?;
    Ok(Box::new(Several {
        kind: usual,
        usual: usual_runner,
        others: PLACES.map(|_| OnceCell::new()),
        listen,
    }))
}

fn open_kind(
    (kind, network): (RunnerKind, Network),
    listen: Ipv4Addr,
) -> Result<Box<dyn Runner>, String> {
    match kind {
        RunnerKind::Process => Ok(Box::new(Processes { listen })),
        RunnerKind::Docker => Ok(Box::new(Docker::open(network)?)),
        RunnerKind::Kubernetes => Ok(Box::new(Kubernetes::open(network)?)),
    }
}

/// The runners of one run: the usual one, and those that single contenders ask for.
struct Several {
    kind: (RunnerKind, Network),
    usual: Box<dyn Runner>,
    /// By their index in [`PLACES`]; an error for a runner that could not be opened.
    others: [OnceCell<Result<Box<dyn Runner>, String>>; PLACES.len()],
    listen: Ipv4Addr,
}

impl Several {
    fn runner_of(&self, contender: &Contender) -> Result<&dyn Runner, String> {
        let place = contender.place(self.kind)?;
        let other = PLACES
            .iter()
            .position(|(_, kind, network)| (*kind, *network) == place)
            .filter(|_| place != self.kind);
        match other.map(|at| self.others[at].get_or_init(|| open_kind(place, self.listen))) {
            None => Ok(&*self.usual),
            Some(Ok(other)) => Ok(&**other),
            Some(Err(cause)) => Err(cause.clone()),
        }
    }

    /// The runners that are open.
    fn opened(&self) -> impl Iterator<Item = &dyn Runner> {
        let others = self.others.iter().filter_map(|cell| cell.get()?.as_deref().ok());
        std::iter::once(&*self.usual).chain(others)
    }
}

impl Runner for Several {
    fn provide(
        &self,
        contender: &Contender,
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Option<Image>, Failure> {
        let runner = self.runner_of(contender).map_err(|cause| Failure {
            stage: "image".into(),
            cause,
            log: vec![],
        })?;
        runner.provide(contender, cache, means)
    }

    fn inside(
        &self,
        contender: &Contender,
        around: &Surroundings<'_>,
        work: &Path,
    ) -> Result<Inside, String> {
        self.runner_of(contender)?.inside(contender, around, work)
    }

    fn start(&self, order: &Order<'_>) -> Result<Box<dyn Started>, String> {
        self.runner_of(order.contender)?.start(order)
    }

    fn agents(&self, spec: &AgentPodsSpec<'_>) -> Result<Box<dyn PodAgents>, String> {
        self.usual.agents(spec)
    }

    fn lost(&self) -> Option<String> {
        // Every runner is called, so that none reports an old failure the next time.
        let all: Vec<Option<String>> = self.opened().map(Runner::lost).collect();
        all.into_iter().flatten().next()
    }

    fn recover(&self) -> Result<(), String> {
        self.opened().try_for_each(Runner::recover)
    }
}
