use super::side_by_side::{Groups, held, in_groups};
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
use runner::database::{Means, own_server};
use runner::needs::Tools;
use runner::place::{Limits, Runner};
use runner::start::{Running, Surroundings, start};
use serde_json::json as value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// Build and check this many systems at a time. Variants of one system, and systems whose builds write into the same folder, are
    /// still built and checked one after another. Starts that share the machine take longer
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
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

/// What checks are to be done with.
pub struct Wanted<'a> {
    /// The upstream of every proxy; `None` to find one in the experiments.
    pub upstream: Option<&'a ContenderName>,
    /// What contenders run as.
    pub kind: RunnerKind,
    /// How many systems at a time.
    pub jobs: usize,
    /// How to print.
    pub format: Format,
}

pub fn run(catalog: &Catalog, options: &Options) -> Result<ExitCode, Error> {
    let stop = crate::signals::stop_flag();
    let contenders = contenders(catalog, &options.systems, options.all)?;
    let _lock = lock(&stop)?;
    let (kind, jobs) = (options.runner.unwrap_or_default(), options.jobs.into());
    prove(catalog, contenders, Wanted { upstream: options.upstream.as_ref(), kind, jobs, format: options.format }, &stop)
}

/// Proves each, and says what came of it; whoever asks holds the machine's lock.
pub fn prove(catalog: &Catalog, contenders: Vec<Contender>, wanted: Wanted<'_>, stop: &AtomicBool) -> Result<ExitCode, Error> {
    let mut where_they_run = model::experiment::Place::default();
    where_they_run.run_as(wanted.kind);
    let names: Vec<ContenderName> = contenders.iter().map(|contender| contender.name.clone()).collect();
    let all_names = || names.iter().chain(wanted.upstream);
    if wanted.jobs > 1
        && (wanted.kind != RunnerKind::Process || all_names().any(|name| name.place().is_some_and(|(kind, _)| kind != RunnerKind::Process)))
    {
        let hint = "leave --jobs out, or check what runs as a process without the others";
        return Err(Problems::plain("containers and pods are checked one at a time", hint).into());
    }
    let cache = cache(catalog);
    let place = Place { catalog, cache: &cache, version: VERSION, stop };
    let work = cache.join("check").join(std::process::id().to_string());
    let plan = Plan::make(catalog, contenders, wanted.upstream)?;
    let groups = Groups::find(&plan.contenders);
    let asked: Vec<Vec<usize>> =
        groups.members.iter().map(|group| group.iter().copied().filter(|at| *at < names.len()).collect()).collect();
    let asked: Vec<Vec<usize>> = asked.into_iter().filter(|group| !group.is_empty()).collect();
    let shared = Shared {
        gathered: groups.members.iter().map(|_| Mutex::default()).collect(),
        place,
        plan,
        groups,
        cpus: runner::cpus::usable(),
        work: &work,
        databases: Mutex::new(()),
        show: Mutex::new(Show::default()),
    };
    let results = Mutex::new(Results { outcomes: names.iter().map(|_| None).collect(), next: 0 });
    let begin = |job: usize| {
        let runner = runner::place::runner(&where_they_run, all_names())?;
        let upstream_work = work.join(format!("upstream.{job}"));
        Ok::<_, Error>(Checks { shared: &shared, tools: Tools::default(), runner, upstream_work, upstream: None, database: None })
    };
    let one = |checks: &mut Checks<'_>, at: usize| -> Result<(), Error> {
        let outcome = checks.one(at)?;
        let mut results = held(&results);
        results.outcomes[at] = Some(outcome);
        // Prints outcomes in the order of the contenders, also when a later one is finished first.
        while let Some(Some(outcome)) = results.outcomes.get(results.next) {
            if wanted.format == Format::Text {
                held(&shared.show).say(&describe(&names[results.next], outcome));
            }
            results.next += 1;
        }
        Ok(())
    };
    let came = in_groups(&asked, wanted.jobs, stop, begin, one, |mut checks| checks.stop_upstream());
    held(&shared.show).done();
    let _ = std::fs::remove_dir_all(&work);
    came?;
    let outcomes = results.into_inner().unwrap_or_else(PoisonError::into_inner).outcomes.into_iter().flatten();
    let outcomes: Vec<(ContenderName, Outcome)> = names.into_iter().zip(outcomes).collect();
    let count = |pick: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| pick(o)).count();
    let failed = count(|o| matches!(o, Outcome::Failed(_)));
    match wanted.format {
        Format::Json => json(&outcomes.iter().map(|(name, o)| to_json(name, o)).collect::<Vec<_>>()),
        Format::Text => line(&format!(
            "{} right, {} skipped, {failed} failed",
            count(|o| matches!(o, Outcome::Right(_))),
            count(|o| matches!(o, Outcome::Skipped(_)))
        )),
    }
    Ok(if failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// The outcomes so far.
struct Results {
    outcomes: Vec<Option<Outcome>>,
    /// The first that has not been printed.
    next: usize,
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

/// What the checks need, found before the first build.
struct Plan {
    /// The contenders to check, then further upstreams and databases that these need.
    contenders: Vec<Contender>,
    /// Needs of each contender to check.
    needs: Vec<Needs>,
}

/// What the check of a contender needs in addition to the contender.
#[derive(Default)]
struct Needs {
    workloads: Vec<Workload>,
    /// Its index in the plan.
    upstream: Option<usize>,
    database: Option<ContenderName>,
}

impl Plan {
    /// Finds upstreams and databases, and reports problems in files.
    fn make(catalog: &Catalog, contenders: Vec<Contender>, upstream: Option<&ContenderName>) -> Result<Plan, Error> {
        let tools = Tools::default();
        let (asked, mut contenders, mut needs) = (contenders.len(), contenders, Vec::new());
        for at in 0..asked {
            let contender = contenders[at].clone();
            let mut needed = Needs::default();
            if contender.system.kind != Kind::Database && !contender.system.answers.is_empty() {
                needed.workloads = workloads(catalog, &contender, &contender.system.answers)?;
                // A contender that cannot be built needs no upstream and no database.
                if tools.of(&contender).iter().all(|tool| tool.version.is_some()) {
                    if contender.system.kind == Kind::Proxy {
                        let wanted = upstream.map_or_else(|| upstream_of(catalog, &contender), |name| Ok(name.clone()))?;
                        needed.upstream = Some(Plan::index_of(&mut contenders, catalog, &wanted)?);
                    }
                    if contender.needs_database() {
                        let wanted = database_of(catalog, &contender)?;
                        Plan::index_of(&mut contenders, catalog, &wanted)?;
                        needed.database = Some(wanted);
                    }
                }
            }
            needs.push(needed);
        }
        Ok(Plan { contenders, needs })
    }

    /// Finds the index of a contender, and adds it where it is missing.
    fn index_of(contenders: &mut Vec<Contender>, catalog: &Catalog, name: &ContenderName) -> Result<usize, Error> {
        if let Some(at) = contenders.iter().position(|contender| contender.name == *name) {
            return Ok(at);
        }
        contenders.push(catalog.contender(name)?);
        Ok(contenders.len() - 1)
    }
}

/// Reads workloads, and checks that all secrets of them and of the contender are set.
fn workloads(catalog: &Catalog, contender: &Contender, names: &[String]) -> Result<Vec<Workload>, Error> {
    let workloads = names.iter().map(|name| catalog.workload(name)).collect::<Result<Vec<_>, _>>()?;
    workloads.iter().try_for_each(Workload::must_have_secrets)?;
    contender.system.must_have_secrets()?;
    Ok(workloads)
}

/// Results of builds, by index of the contender.
type Gathered = BTreeMap<usize, Result<Ready, Skipped>>;

/// What all jobs share.
struct Shared<'a> {
    place: Place<'a>,
    plan: Plan,
    groups: Groups,
    /// Results of each group, once it is built.
    gathered: Vec<Mutex<Option<Arc<Gathered>>>>,
    cpus: Vec<usize>,
    work: &'a Path,
    /// Locked while the data folder of a database is made, which all jobs copy.
    databases: Mutex<()>,
    show: Mutex<Show>,
}

/// The checks of one job.
struct Checks<'a> {
    shared: &'a Shared<'a>,
    tools: Tools,
    runner: Box<dyn Runner>,
    upstream_work: PathBuf,
    upstream: Option<Upstream>,
    database: Option<Source>,
}

impl Checks<'_> {
    fn one(&mut self, at: usize) -> Result<Outcome, Error> {
        let contender = &self.shared.plan.contenders[at];
        let Needs { workloads, upstream, database: wanted } = &self.shared.plan.needs[at];
        if contender.system.kind == Kind::Database {
            return self.database(at);
        }
        if contender.system.answers.is_empty() {
            return Ok(Outcome::Skipped("it answers no workload that could be asked (`answers` is empty)".into()));
        }
        let ready = match self.gathered(at)? {
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
        if let Some(upstream) = upstream
            && let Err(failure) = self.provide_upstream(*upstream)?
        {
            return Ok(Outcome::Failed(failure));
        }
        if let Some(wanted) = wanted
            && let Err(failure) = self.provide_database(wanted)?
        {
            return Ok(Outcome::Failed(failure));
        }
        self.show().take(lab::Progress::Proving(&contender.name));
        let work = self.shared.work.join(contender.name.to_string().replace(':', "_"));
        let address = self.upstream.as_ref().map(|u| u.running.seen_by_others()).filter(|_| upstream.is_some());
        let database = self.database.as_ref().filter(|_| wanted.is_some());
        let answers =
            lab::prove(&ready.contender, &workloads.iter().collect::<Vec<_>>(), &self.around(&work, address), database, &self.shared.cpus)?;
        if self.shared.place.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted(crate::signals::code()));
        }
        Ok(match answers.failure {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Right(answers.ready_after_ns),
        })
    }

    fn show(&self) -> MutexGuard<'_, Show> {
        held(&self.shared.show)
    }

    /// Builds the group of a contender, and returns the result of that contender. No system of a group starts before all of them are
    /// built, as a build may rewrite files that another one runs from.
    fn gathered(&self, at: usize) -> Result<Result<Ready, Skipped>, Error> {
        let group = self.shared.groups.of[at];
        let all = {
            let mut gathered = held(&self.shared.gathered[group]);
            match &*gathered {
                Some(all) => Arc::clone(all),
                None => Arc::clone(gathered.insert(Arc::new(self.gather(&self.shared.groups.members[group])?))),
            }
        };
        match all.get(&at) {
            Some(Ok(ready)) => Ok(Ok(Ready { contender: ready.contender.clone(), participant: ready.participant.clone() })),
            Some(Err(skipped)) => Ok(Err(skipped.clone())),
            None => Ok(Err(Skipped {
                contender: self.shared.plan.contenders[at].name.clone(),
                reason: "it was not built".into(),
                failed: true,
            })),
        }
    }

    /// Builds contenders one after another.
    fn gather(&self, members: &[usize]) -> Result<Gathered, Error> {
        let mut gathered = Gathered::new();
        for at in members {
            if self.shared.place.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted(crate::signals::code()));
            }
            let contender = &self.shared.plan.contenders[*at];
            // Systems without a workload are not checked, and the user's own server replaces a database.
            let is_database = contender.system.kind == Kind::Database;
            if if is_database { !matches!(own_server(), Ok(None)) } else { contender.system.answers.is_empty() } {
                continue;
            }
            // The check of the database reports what it lacks.
            if is_database && self.tools.of(contender).iter().any(|tool| tool.version.is_none()) {
                continue;
            }
            let built = lab::gather(&self.shared.place, &self.tools, contender.clone(), "check", &mut |p| self.show().take(p))?;
            gathered.insert(*at, built);
        }
        Ok(gathered)
    }

    fn around<'s>(&'s self, work: &'s Path, upstream: Option<runner::start::Upstream>) -> Surroundings<'s> {
        let (tools, stop) = (&self.tools, self.shared.place.stop);
        let (runner, limits, cpus) = (&*self.runner, Limits::default(), &self.shared.cpus);
        Surroundings { tools, runner, limits, upstream, database: None, cpus, descriptors: None, work, run: "check", stop }
    }

    /// Sees to it that the runner can start it.
    fn provide(&mut self, ready: Ready) -> Result<Result<Ready, Skipped>, Error> {
        let means = Means { tools: &self.tools, run: "check", stop: self.shared.place.stop };
        Ok(lab::provide(ready, &*self.runner, self.shared.place.cache, means, &mut |p| self.show().take(p))?)
    }

    /// Has the wanted database at hand.
    fn provide_database(&mut self, wanted: &ContenderName) -> Result<Result<(), Failure>, Error> {
        if self.database.as_ref().is_some_and(|database| database.name() == wanted) {
            return Ok(Ok(()));
        }
        let Shared { place, plan, databases, .. } = self.shared;
        if let Some(at) = plan.contenders.iter().position(|contender| contender.name == *wanted) {
            // Builds everything that writes into its folder first.
            drop(self.gathered(at)?);
        }
        let contender = place.catalog.contender(wanted)?;
        let _alone = held(databases);
        match lab::provide_database(place, &self.tools, contender, "check", &mut |p| held(&self.shared.show).take(p)) {
            Ok(database) => self.database = Some(database),
            Err(LabError::Database(_, failure)) => return Ok(Err(*failure)),
            Err(LabError::NobodyLeft(cause)) => return Ok(Err(Failure { stage: "database".into(), cause, log: vec![] })),
            Err(error) => return Err(error.into()),
        }
        Ok(Ok(()))
    }

    /// Starts and stops a database.
    fn database(&mut self, at: usize) -> Result<Outcome, Error> {
        let contender = &self.shared.plan.contenders[at];
        let found = self.tools.of(contender);
        if let Some(missing) = found.iter().find(|tool| tool.version.is_none()) {
            return Ok(Outcome::Skipped(format!("needs {} ({})", missing.tool, missing.hint)));
        }
        let name = contender.name.clone();
        if let Err(failure) = self.provide_database(&name)? {
            return Ok(Outcome::Failed(failure));
        }
        let work = self.shared.work.join(name.to_string().replace(':', "_"));
        let means = Means { tools: &self.tools, run: "check", stop: self.shared.place.stop };
        match self.database.as_ref().map(|database| database.prove(&self.shared.cpus, &work, means)) {
            Some(Ok(ns)) => Ok(Outcome::Right(Some(ns))),
            Some(Err(LabError::Database(_, failure))) => Ok(Outcome::Failed(*failure)),
            Some(Err(error)) => Err(error.into()),
            None => Ok(Outcome::Skipped("there is none at hand".into())),
        }
    }

    /// Has the wanted upstream running, and no other.
    fn provide_upstream(&mut self, at: usize) -> Result<Result<(), Failure>, Error> {
        let contender = &self.shared.plan.contenders[at];
        let wanted = &contender.name;
        if self.upstream.as_ref().is_some_and(|u| u.contender.name == *wanted) {
            return Ok(Ok(()));
        }
        self.stop_upstream();
        let Some(first) = contender.system.answers.first() else {
            return Err(Problems::plain(format!("{wanted} answers no workload"), "name one in its `answers`").into());
        };
        let workload = workloads(self.shared.place.catalog, contender, std::slice::from_ref(first))?.remove(0);
        let failed = |cause: String| Failure { stage: "upstream".into(), cause, log: vec![] };
        let ready = match self.gathered(at)? {
            Ok(ready) => ready,
            Err(skipped) => return Ok(Err(failed(format!("{wanted}: {}", skipped.reason)))),
        };
        let ready = match self.provide(ready)? {
            Ok(ready) => ready,
            Err(skipped) => return Ok(Err(failed(format!("{wanted}: {}", skipped.reason)))),
        };
        match start(&ready.contender, &workload, &self.around(&self.upstream_work, None)) {
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
