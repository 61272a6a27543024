//! Checks contenders one after another, and keeps what the next check can reuse.
//!
//! A job keeps one upstream running and one database at hand until another is needed. Builds are
//! shared by all jobs. Start at [`Checks::check`].

use super::outcome::{Outcome, failure};
use super::plan::{Needs, Plan, read_workloads};
use crate::commands::build_groups::{Groups, lock_ignoring_panics};
use crate::exit::Error;
use crate::output::message;
use crate::progress::Show;
use lab::{DatabaseSource, LabError, Place, Ready};
use record::{Failure, Skipped};
use runner::database::own_server;
use runner::means::Means;
use runner::needs::Tools;
use runner::place::{Limits, Runner, Surroundings};
use runner::start::{Running, start};
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::system::{Contender, Kind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

/// An upstream that serves the checks of several proxies.
struct Upstream {
    contender: Contender,
    running: Running,
}

/// Results of builds, by index of the contender.
type Gathered = BTreeMap<usize, Result<Ready, Skipped>>;

/// What all jobs share.
pub struct Shared<'a> {
    place: Place<'a>,
    plan: Plan,
    groups: Groups,
    /// Results of each group, once it is built.
    gathered: Vec<Mutex<Option<Arc<Gathered>>>>,
    cpus: Vec<usize>,
    work: &'a Path,
    /// Locked while a database's data folder is created, which all jobs copy.
    databases: Mutex<()>,
    /// Prints outcomes and progress.
    pub show: Mutex<Show>,
}

impl<'a> Shared<'a> {
    /// Creates the shared state of jobs. `work` is the folder for their files.
    pub fn new(place: Place<'a>, plan: Plan, groups: Groups, work: &'a Path) -> Shared<'a> {
        Shared {
            gathered: groups.members.iter().map(|_| Mutex::default()).collect(),
            place,
            plan,
            groups,
            cpus: runner::cpus::usable(),
            work,
            databases: Mutex::new(()),
            show: Mutex::new(Show::default()),
        }
    }
}

/// The checks of one job.
pub struct Checks<'a> {
    shared: &'a Shared<'a>,
    tools: Tools,
    runner: Box<dyn Runner>,
    upstream_work: PathBuf,
    upstream: Option<Upstream>,
    database: Option<DatabaseSource>,
}

impl<'a> Checks<'a> {
    /// Creates a job. `upstream_work` is the folder for the files of its upstream.
    pub fn new(
        shared: &'a Shared<'a>,
        runner: Box<dyn Runner>,
        upstream_work: PathBuf,
    ) -> Checks<'a> {
        let (tools, upstream, database) = (Tools::default(), None, None);
        Checks { shared, tools, runner, upstream_work, upstream, database }
    }

    /// Checks a contender, by its index in the plan.
    pub fn check(&mut self, at: usize) -> Result<Outcome, Error> {
        let contender = &self.shared.plan.contenders[at];
        let Needs { workloads, upstream, database: wanted } = &self.shared.plan.needs[at];
        if contender.system.kind == Kind::Database {
            return self.check_database(at);
        }
        if contender.system.answers.is_empty() {
            return Ok(Outcome::Skipped(
                "it serves no workload that could be sent (`answers` is empty)".into(),
            ));
        }
        let ready = match self.gathered(at)? {
            Ok(ready) => ready,
            Err(skipped) if skipped.failed => {
                return Ok(Outcome::failed("build", skipped.reason));
            }
            Err(skipped) => return Ok(Outcome::Skipped(skipped.reason)),
        };
        let ready = match self.provide(ready)? {
            Ok(ready) => ready,
            Err(skipped) => return Ok(Outcome::failed("image", skipped.reason)),
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
        let work = self.shared.work.join(contender.name.folder_name());
        let address = self
            .upstream
            .as_ref()
            .map(|u| u.running.seen_by_others())
            .filter(|_| upstream.is_some());
        let database = self.database.as_ref().filter(|_| wanted.is_some());
        let answers = lab::prove(
            &ready.contender,
            &workloads.iter().collect::<Vec<_>>(),
            &self.around(&work, address),
            database,
            &self.shared.cpus,
        )?;
        if self.shared.place.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted(crate::signals::code()));
        }
        Ok(match answers.failure {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Correct(answers.ready_after_ns),
        })
    }

    fn show(&self) -> MutexGuard<'_, Show> {
        lock_ignoring_panics(&self.shared.show)
    }

    /// Builds the group of a contender, and returns the result of that contender.
    ///
    /// No system of a group starts before all of them are built, because a build may rewrite files
    /// that another system runs from.
    fn gathered(&self, at: usize) -> Result<Result<Ready, Skipped>, Error> {
        let group = self.shared.groups.of[at];
        let all = {
            let mut gathered = lock_ignoring_panics(&self.shared.gathered[group]);
            match &*gathered {
                Some(all) => Arc::clone(all),
                None => Arc::clone(
                    gathered.insert(Arc::new(self.gather(&self.shared.groups.members[group])?)),
                ),
            }
        };
        match all.get(&at) {
            Some(Ok(ready)) => Ok(Ok(Ready {
                contender: ready.contender.clone(),
                participant: ready.participant.clone(),
            })),
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
            // Systems without a workload are not checked. A server of the user replaces a database.
            let is_database = contender.system.kind == Kind::Database;
            let is_needless = if is_database {
                !matches!(own_server(), Ok(None))
            } else {
                contender.system.answers.is_empty()
            };
            if is_needless {
                continue;
            }
            // The check of the database reports missing tools.
            if is_database && self.tools.check(contender).iter().any(|tool| tool.version.is_none())
            {
                continue;
            }
            let built = lab::gather(
                &self.shared.place,
                &self.tools,
                contender.clone(),
                "check",
                &mut |p| self.show().take(p),
            )?;
            gathered.insert(*at, built);
        }
        Ok(gathered)
    }

    fn around<'s>(
        &'s self,
        work: &'s Path,
        upstream: Option<runner::place::Upstream>,
    ) -> Surroundings<'s> {
        let (tools, stop) = (&self.tools, self.shared.place.stop);
        let (runner, limits, cpus) = (&*self.runner, Limits::default(), &self.shared.cpus);
        Surroundings {
            tools,
            runner,
            limits,
            upstream,
            database: None,
            cpus,
            descriptors: None,
            work,
            run: "check",
            stop,
        }
    }

    /// Prepares a contender for the runner, for example as an image.
    fn provide(&mut self, ready: Ready) -> Result<Result<Ready, Skipped>, Error> {
        let means = Means { tools: &self.tools, run: "check", stop: self.shared.place.stop };
        Ok(lab::provide(ready, &*self.runner, self.shared.place.cache, means, &mut |p| {
            self.show().take(p)
        })?)
    }

    /// Prepares the database that the next check needs.
    fn provide_database(&mut self, wanted: &ContenderName) -> Result<Result<(), Failure>, Error> {
        if self.database.as_ref().is_some_and(|database| database.name() == wanted) {
            return Ok(Ok(()));
        }
        let Shared { place, plan, databases, .. } = self.shared;
        if let Some(at) = plan.contenders.iter().position(|contender| contender.name == *wanted) {
            // Build everything that writes into its folder first.
            drop(self.gathered(at)?);
        }
        let contender = place.catalog.contender(wanted)?;
        let _alone = lock_ignoring_panics(databases);
        match lab::provide_database(place, &self.tools, contender, "check", &mut |p| {
            lock_ignoring_panics(&self.shared.show).take(p)
        }) {
            Ok(database) => self.database = Some(database),
            Err(LabError::Database(_, failure)) => return Ok(Err(*failure)),
            Err(LabError::NothingToCompare(cause)) => {
                return Ok(Err(failure("database", cause)));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Ok(()))
    }

    /// Checks that a database starts and stops.
    fn check_database(&mut self, at: usize) -> Result<Outcome, Error> {
        let contender = &self.shared.plan.contenders[at];
        let found = self.tools.check(contender);
        if let Some(missing) = found.iter().find(|tool| tool.version.is_none()) {
            return Ok(Outcome::Skipped(format!("needs {} ({})", missing.tool, missing.hint)));
        }
        let name = contender.name.clone();
        if let Err(failure) = self.provide_database(&name)? {
            return Ok(Outcome::Failed(failure));
        }
        let work = self.shared.work.join(name.folder_name());
        let means = Means { tools: &self.tools, run: "check", stop: self.shared.place.stop };
        match self.database.as_ref().map(|database| database.prove(&self.shared.cpus, &work, means))
        {
            Some(Ok(ns)) => Ok(Outcome::Correct(Some(ns))),
            Some(Err(LabError::Database(_, failure))) => Ok(Outcome::Failed(*failure)),
            Some(Err(error)) => Err(error.into()),
            None => Ok(Outcome::Skipped("it could not be prepared".into())),
        }
    }

    /// Starts the upstream that the next check needs, and stops any other.
    fn provide_upstream(&mut self, at: usize) -> Result<Result<(), Failure>, Error> {
        let contender = &self.shared.plan.contenders[at];
        let wanted = &contender.name;
        if self.upstream.as_ref().is_some_and(|u| u.contender.name == *wanted) {
            return Ok(Ok(()));
        }
        self.stop_upstream();
        let Some(first) = contender.system.answers.first() else {
            return Err(Problems::plain(
                format!("the system.toml of {wanted} lists no workload in `answers`"),
                "list one; faceoff uses it to warm up the upstream",
            )
            .into());
        };
        let workload =
            read_workloads(self.shared.place.catalog, contender, std::slice::from_ref(first))?
                .remove(0);
        let failed = |cause: String| failure("upstream", cause);
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
            Err((failure, _)) => {
                Ok(Err(failed(format!("{wanted} ({}): {}", failure.stage, failure.cause))))
            }
        }
    }

    /// Stops the upstream, if one is running.
    pub fn stop_upstream(&mut self) {
        if let Some(Upstream { contender, running }) = self.upstream.take()
            && let (_, Some(failure)) = running.stop(&contender)
        {
            message(&format!("warning: the upstream {}: {}", contender.name, failure.cause));
        }
    }
}
