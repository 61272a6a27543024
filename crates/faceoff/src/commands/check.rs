use super::{VERSION, cache, contenders, lock};
use crate::Format;
use crate::exit::{Error, FAILED};
use crate::output::{json, line, message};
use crate::progress::Show;
use clap::Args;
use lab::{LabError, Place, Ready, Source};
use model::catalog::Catalog;
use model::experiment::RunnerKind;
use model::name::ContenderName;
use model::problem::Problems;
use model::record::{Failure, Skipped};
use model::system::{Contender, Kind};
use model::units::show_duration;
use model::workload::Workload;
use runner::database::Means;
use runner::needs::Tools;
use runner::place::{Limits, Runner};
use runner::start::{Running, Surroundings, start};
use serde_json::json as value;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What `faceoff check` is asked.
#[derive(Args)]
pub struct Options {
    /// Systems, with variants as `system:variant` or `system:one+another`
    #[arg(required_unless_present = "all")]
    systems: Vec<String>,
    /// Every system here, with each of its variants
    #[arg(long)]
    all: bool,
    /// What proxies stand before [default: the upstream of an experiment with the proxy, or with a workload that it answers]
    #[arg(long, value_name = "SYSTEM")]
    upstream: Option<ContenderName>,
    /// What they run as: process, docker for containers of the engine that is here, or kubernetes for pods of the cluster that kubectl speaks to [default: process]
    #[arg(long, value_name = "RUNNER", value_parser = super::runner_kind)]
    runner: Option<RunnerKind>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

enum Outcome {
    /// After so long; `None` where it ran already.
    Right(Option<u64>),
    Skipped(String),
    Failed(Failure),
}

/// An upstream that serves the checks of several proxies.
struct Upstream {
    contender: Contender,
    running: Running,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let contenders = contenders(catalog, &options.systems, options.all)?;
    let _lock = lock(&stop)?;
    prove(catalog, contenders, options.upstream.as_ref(), options.runner.unwrap_or_default(), options.format, &stop)
}

/// Proves each, and says what came of it; whoever asks holds the machine's lock.
pub fn prove(
    catalog: &Catalog,
    contenders: Vec<Contender>,
    upstream: Option<&ContenderName>,
    kind: RunnerKind,
    format: Format,
    stop: &AtomicBool,
) -> Result<ExitCode, Error> {
    let cache = cache(catalog);
    let place = Place { catalog, cache: &cache, version: VERSION, stop };
    let work = cache.join("check").join(std::process::id().to_string());
    let mut where_they_run = model::experiment::Place::default();
    where_they_run.run_as(kind);
    let mut checks = Checks {
        place,
        tools: Tools::default(),
        runner: runner::place::runner(&where_they_run, contenders.iter().map(|contender| &contender.name).chain(upstream))?,
        cpus: runner::cpus::usable(),
        work: &work,
        upstream: None,
        database: None,
        show: Show::default(),
    };
    let mut outcomes = Vec::new();
    for contender in contenders {
        let name = contender.name.clone();
        let outcome = checks.one(contender, upstream)?;
        if format == Format::Text {
            checks.show.say(&describe(&name, &outcome));
        }
        outcomes.push((name, outcome));
    }
    checks.show.done();
    checks.stop_upstream();
    let _ = std::fs::remove_dir_all(&work);
    let count = |pick: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| pick(o)).count();
    let failed = count(|o| matches!(o, Outcome::Failed(_)));
    match format {
        Format::Json => json(&outcomes.iter().map(|(name, o)| to_json(name, o)).collect::<Vec<_>>()),
        Format::Text => line(&format!(
            "{} right, {} skipped, {failed} failed",
            count(|o| matches!(o, Outcome::Right(_))),
            count(|o| matches!(o, Outcome::Skipped(_)))
        )),
    }
    Ok(if failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn describe(name: &ContenderName, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Right(Some(ns)) => format!("right    {name} (first answer after {})", show_duration(Duration::from_nanos(*ns))),
        Outcome::Right(None) => format!("right    {name} (it ran already)"),
        Outcome::Skipped(reason) => format!("skipped  {name}: {reason}"),
        Outcome::Failed(failure) => {
            let log: String = failure.log.iter().map(|l| format!("\n         | {l}")).collect();
            format!("FAILED   {name} ({}): {}{log}", failure.stage, failure.cause)
        }
    }
}

fn to_json(name: &ContenderName, outcome: &Outcome) -> serde_json::Value {
    match outcome {
        Outcome::Right(ns) => value!({"system": name, "outcome": "right", "ready_after_ns": ns}),
        Outcome::Skipped(reason) => value!({"system": name, "outcome": "skipped", "reason": reason}),
        Outcome::Failed(f) => value!({"system": name, "outcome": "failed", "stage": f.stage, "reason": f.cause, "log": f.log}),
    }
}

struct Checks<'a> {
    place: Place<'a>,
    tools: Tools,
    runner: Box<dyn Runner>,
    cpus: Vec<usize>,
    work: &'a Path,
    upstream: Option<Upstream>,
    database: Option<Source>,
    show: Show,
}

impl Checks<'_> {
    fn one(&mut self, contender: Contender, upstream: Option<&ContenderName>) -> Result<Outcome, Error> {
        if contender.system.kind == Kind::Database {
            return self.database(contender);
        }
        if contender.system.answers.is_empty() {
            return Ok(Outcome::Skipped("it answers no workload that could be asked (`answers` is empty)".into()));
        }
        let workloads = contender.system.answers.iter().map(|w| self.place.catalog.workload(w)).collect::<Result<Vec<_>, _>>()?;
        workloads.iter().try_for_each(Workload::must_have_secrets)?;
        contender.system.must_have_secrets()?;
        let name = contender.name.clone();
        let needs_upstream = contender.system.kind == Kind::Proxy;
        let needs_database = contender.needs_database();
        let ready = match lab::gather(&self.place, &self.tools, contender, "check", &mut |p| self.show.take(p))? {
            Ok(ready) => ready,
            Err(skipped) if skipped.failed => {
                return Ok(Outcome::Failed(Failure { stage: "build".into(), cause: skipped.reason, log: vec![] }));
            }
            Err(skipped) => return Ok(Outcome::Skipped(skipped.reason)),
        };
        let ready = match self.provide(ready)? {
            Ok(ready) => ready,
            Err(skipped) => return Ok(Outcome::Failed(Failure { stage: "image".into(), cause: skipped.reason, log: vec![] })),
        };
        if needs_upstream {
            let wanted = match upstream {
                Some(name) => name.clone(),
                None => upstream_of(self.place.catalog, &ready.contender)?,
            };
            if let Err(failure) = self.provide_upstream(&wanted)? {
                return Ok(Outcome::Failed(failure));
            }
        }
        if needs_database {
            let wanted = database_of(self.place.catalog, &ready.contender)?;
            if let Err(failure) = self.provide_database(&wanted)? {
                return Ok(Outcome::Failed(failure));
            }
        }
        self.show.take(lab::Progress::Proving(&name));
        let work = self.work.join(name.to_string().replace(':', "_"));
        let address = self.upstream.as_ref().map(|u| u.running.seen_by_others()).filter(|_| needs_upstream);
        let database = self.database.as_ref().filter(|_| needs_database);
        let answers =
            lab::prove(&ready.contender, &workloads.iter().collect::<Vec<_>>(), &self.around(&work, address), database, &self.cpus)?;
        if self.place.stop.load(Ordering::Relaxed) {
            self.stop_upstream();
            return Err(Error::Interrupted(crate::signals::code()));
        }
        Ok(match answers.failure {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Right(answers.ready_after_ns),
        })
    }

    fn around<'s>(&'s self, work: &'s Path, upstream: Option<runner::start::Upstream>) -> Surroundings<'s> {
        let (tools, stop) = (&self.tools, self.place.stop);
        let (runner, limits, cpus) = (&*self.runner, Limits::default(), &self.cpus);
        Surroundings { tools, runner, limits, upstream, database: None, cpus, descriptors: None, work, run: "check", stop }
    }

    /// Sees to it that the runner can start it.
    fn provide(&mut self, ready: Ready) -> Result<Result<Ready, Skipped>, Error> {
        let means = Means { tools: &self.tools, run: "check", stop: self.place.stop };
        Ok(lab::provide(ready, &*self.runner, self.place.cache, means, &mut |p| self.show.take(p))?)
    }

    /// Has the wanted database at hand.
    fn provide_database(&mut self, wanted: &ContenderName) -> Result<Result<(), Failure>, Error> {
        if self.database.as_ref().is_some_and(|database| database.name() == wanted) {
            return Ok(Ok(()));
        }
        let contender = self.place.catalog.contender(wanted)?;
        match lab::provide_database(&self.place, &self.tools, contender, "check", &mut |p| self.show.take(p)) {
            Ok(database) => self.database = Some(database),
            Err(LabError::Database(_, failure)) => return Ok(Err(*failure)),
            Err(LabError::NobodyLeft(cause)) => return Ok(Err(Failure { stage: "database".into(), cause, log: vec![] })),
            Err(error) => return Err(error.into()),
        }
        Ok(Ok(()))
    }

    /// Starts and stops a database.
    fn database(&mut self, contender: Contender) -> Result<Outcome, Error> {
        let found = self.tools.of(&contender);
        if let Some(missing) = found.iter().find(|tool| tool.version.is_none()) {
            return Ok(Outcome::Skipped(format!("needs {} ({})", missing.tool, missing.hint)));
        }
        let name = contender.name.clone();
        if let Err(failure) = self.provide_database(&name)? {
            return Ok(Outcome::Failed(failure));
        }
        let work = self.work.join(name.to_string().replace(':', "_"));
        let means = Means { tools: &self.tools, run: "check", stop: self.place.stop };
        match self.database.as_ref().map(|database| database.prove(&self.cpus, &work, means)) {
            Some(Ok(ns)) => Ok(Outcome::Right(Some(ns))),
            Some(Err(LabError::Database(_, failure))) => Ok(Outcome::Failed(*failure)),
            Some(Err(error)) => Err(error.into()),
            None => Ok(Outcome::Skipped("there is none at hand".into())),
        }
    }

    /// Has the wanted upstream running, and no other.
    fn provide_upstream(&mut self, wanted: &ContenderName) -> Result<Result<(), Failure>, Error> {
        if self.upstream.as_ref().is_some_and(|u| u.contender.name == *wanted) {
            return Ok(Ok(()));
        }
        self.stop_upstream();
        let contender = self.place.catalog.contender(wanted)?;
        let Some(first) = contender.system.answers.first() else {
            return Err(Problems::plain(format!("{wanted} answers no workload"), "name one in its `answers`").into());
        };
        let workload = self.place.catalog.workload(first)?;
        workload.must_have_secrets()?;
        contender.system.must_have_secrets()?;
        let failed = |cause: String| Failure { stage: "upstream".into(), cause, log: vec![] };
        let ready = match lab::gather(&self.place, &self.tools, contender, "check", &mut |p| self.show.take(p))? {
            Ok(ready) => ready,
            Err(skipped) => return Ok(Err(failed(format!("{wanted}: {}", skipped.reason)))),
        };
        let ready = match self.provide(ready)? {
            Ok(ready) => ready,
            Err(skipped) => return Ok(Err(failed(format!("{wanted}: {}", skipped.reason)))),
        };
        let work = self.work.join("upstream");
        match start(&ready.contender, &workload, &self.around(&work, None)) {
            Ok(running) => {
                self.upstream = Some(Upstream { contender: ready.contender, running });
                Ok(Ok(()))
            }
            Err((failure, _)) => Ok(Err(failed(format!("{wanted} ({}): {}", failure.stage, failure.cause)))),
        }
    }

    fn stop_upstream(&mut self) {
        if let Some(Upstream { contender, running }) = self.upstream.take()
            && let (_, Some(failure)) = running.stop(&contender)
        {
            message(&format!("warning: the upstream {}: {}", contender.name, failure.cause));
        }
    }
}

/// The database of an experiment that a system takes part in, else the first that is here.
fn database_of(catalog: &Catalog, contender: &Contender) -> Result<ContenderName, Error> {
    for name in catalog.experiment_names() {
        let experiment = catalog.experiment(&name)?;
        let takes_part = experiment.everybody().any(|c| c.system == contender.name.system);
        if let Some(database) = experiment.database.filter(|_| takes_part) {
            return Ok(database);
        }
    }
    for name in catalog.system_names() {
        if catalog.system(&name)?.kind == Kind::Database {
            return Ok(ContenderName { system: name, variants: Vec::new() });
        }
    }
    let hint = "add a system of kind \"database\"";
    Err(Problems::plain(format!("{} needs a database, and there is none here", contender.name), hint).into())
}

/// The upstream of an experiment that a proxy takes part in, or else could: one that asks what the proxy must answer. Before others
/// one with both, one with the proxy's very variants, one whose upstream has none; then the first.
fn upstream_of(catalog: &Catalog, proxy: &Contender) -> Result<ContenderName, Error> {
    let mut found: Option<([bool; 4], ContenderName)> = None;
    for name in catalog.experiment_names() {
        let experiment = catalog.experiment(&name)?;
        let takes_part = experiment.everybody().any(|c| c.system == proxy.name.system);
        let asks = experiment.cells.iter().any(|cell| proxy.system.answers.contains(&cell.workload));
        let Some(upstream) = experiment.upstream.as_ref().filter(|_| takes_part || asks) else { continue };
        let rank = [takes_part, asks, experiment.everybody().any(|c| *c == proxy.name), upstream.variants.is_empty()];
        if found.as_ref().is_none_or(|(best, _)| rank > *best) {
            found = Some((rank, upstream.clone()));
        }
    }
    if let Some((_, upstream)) = found {
        return Ok(upstream);
    }
    let proxy = &proxy.name;
    Err(Problems::plain(format!("{proxy} is a proxy, and no experiment here says what it could stand before"), "name it with --upstream")
        .into())
}
