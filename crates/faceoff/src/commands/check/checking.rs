//! Checks several contenders, one or more at a time, and prints the outcomes in order.

use super::job::{Checks, Shared};
use super::outcome::{Outcome, print_outcomes};
use super::plan::Plan;
use crate::commands::build_groups::{Groups, in_groups, lock_ignoring_panics};
use crate::commands::{VERSION, cache};
use crate::exit::{Error, FAILED};
use crate::output::Format;
use lab::Place;
use spec::catalog::Catalog;
use spec::experiment::{self, RunnerKind};
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::system::Contender;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// How checks are done.
pub struct Wanted<'a> {
    /// The upstream of every proxy; `None` to find one in the experiments.
    pub upstream: Option<&'a ContenderName>,
    /// How contenders run.
    pub kind: RunnerKind,
    /// Number of systems to check at a time.
    pub jobs: usize,
    /// How to print.
    pub format: Format,
}

/// Outcomes so far.
struct Results {
    outcomes: Vec<Option<Outcome>>,
    /// The first one that has not been printed.
    next: usize,
}

/// Checks each contender and prints the outcomes. The caller must hold the machine's lock.
pub fn check_all(
    catalog: &Catalog,
    contenders: Vec<Contender>,
    wanted: &Wanted<'_>,
    stop: &AtomicBool,
) -> Result<ExitCode, Error> {
    let mut where_they_run = experiment::Place::default();
    where_they_run.run_as(wanted.kind);
    let names: Vec<ContenderName> =
        contenders.iter().map(|contender| contender.name.clone()).collect();
    refuse_parallel_containers(&contenders, wanted)?;
    let cache = cache(catalog);
    let place = Place { catalog, cache: &cache, version: VERSION, stop };
    let work = cache.join("check").join(std::process::id().to_string());
    let plan = Plan::for_contenders(catalog, contenders, wanted.upstream)?;
    let groups = Groups::find(&plan.contenders);
    let checked = groups.restricted_to(names.len());
    let shared = Shared::new(place, plan, groups, &work);
    let results = Mutex::new(Results { outcomes: names.iter().map(|_| None).collect(), next: 0 });
    let begin = |job: usize| {
        let runner =
            runner::open::open_runner(&where_they_run, names.iter().chain(wanted.upstream))?;
        Ok::<_, Error>(Checks::new(&shared, runner, work.join(format!("upstream.{job}"))))
    };
    let one = |checks: &mut Checks<'_>, at: usize| -> Result<(), Error> {
        let outcome = checks.check(at)?;
        let mut results = lock_ignoring_panics(&results);
        results.outcomes[at] = Some(outcome);
        // Outcomes are printed in the order of the contenders, even if a later one finishes first.
        while let Some(Some(outcome)) = results.outcomes.get(results.next) {
            if wanted.format == Format::Text {
                lock_ignoring_panics(&shared.show).say(&outcome.describe(&names[results.next]));
            }
            results.next += 1;
        }
        Ok(())
    };
    let end = |mut checks: Checks<'_>| checks.stop_upstream();
    let ended = in_groups(&checked, wanted.jobs, stop, begin, one, end);
    lock_ignoring_panics(&shared.show).done();
    let _ = std::fs::remove_dir_all(&work);
    ended?;
    let outcomes =
        results.into_inner().unwrap_or_else(PoisonError::into_inner).outcomes.into_iter().flatten();
    let outcomes: Vec<(ContenderName, Outcome)> = names.iter().cloned().zip(outcomes).collect();
    let failed = print_outcomes(&outcomes, wanted.format);
    Ok(if failed > 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Refuses several jobs if a contender or the upstream runs in a container or pod.
fn refuse_parallel_containers(
    contenders: &[Contender],
    wanted: &Wanted<'_>,
) -> Result<(), Problems> {
    let mut names = contenders.iter().map(|contender| &contender.name).chain(wanted.upstream);
    let has_container = wanted.kind != RunnerKind::Process
        || names.any(|name| name.place().is_some_and(|(kind, _)| kind != RunnerKind::Process))
        || contenders.iter().any(|contender| contender.system.image.ready_made.is_some());
    if wanted.jobs > 1 && has_container {
        return Err(Problems::plain(
            "containers and pods are checked one at a time",
            "leave out --jobs, or check the systems that run as processes separately",
        ));
    }
    Ok(())
}
