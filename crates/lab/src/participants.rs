//! Who takes part in a run: contenders, upstream and database, resolved, built and provided for.
//!
//! A contender whose tools are missing or whose build fails is skipped; the run continues with the
//! others. Start with [`gather_all`].

use crate::error::LabError;
use crate::place::Place;
use crate::progress::{Progress, Watcher};
use crate::trial_database::DatabaseSource;
use record::{Participant, Skipped, log_lines};
use runner::build::build;
use runner::database::{Databases, OWN_SERVER};
use runner::image::noted;
use runner::means::Means;
use runner::needs::Tools;
use runner::place::Runner;
use spec::experiment::Experiment;
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::system::{Contender, Kind};
use spec::units::show_bytes;
use spec::workload::Workload;
use std::collections::BTreeMap;
use std::path::Path;

/// A contender that can start.
pub struct Ready {
    /// The contender.
    pub contender: Contender,
    /// Its description for the record.
    pub participant: Participant,
}

/// Everything that a run needs of the catalog, ready to start.
pub(crate) struct Gathered {
    /// The workloads of cells by name and parameters
    /// ([`spec::experiment::Cell::workload_label`]), and the one that warms the upstream up.
    pub workloads: BTreeMap<String, Workload>,
    pub ready: Vec<Ready>,
    pub upstream: Option<Ready>,
    pub database: Option<DatabaseSource>,
    pub skipped: Vec<Skipped>,
}

/// Everything that an experiment names, read but not built.
struct Resolved {
    contenders: Vec<Contender>,
    upstream: Option<Contender>,
    database: Option<Contender>,
    workloads: BTreeMap<String, Workload>,
}

/// Resolves and builds everything that an experiment names.
pub(crate) fn gather_all(
    place: &Place<'_>,
    (tools, runner): (&Tools, &dyn Runner),
    experiment: &Experiment,
    run: &str,
    watch: &mut Watcher<'_>,
) -> Result<Gathered, LabError> {
    // All problems of files are reported before the first build.
    let Resolved { contenders, upstream, database, workloads } = resolve(place, experiment)?;
    let means = Means { tools, run, stop: place.stop };
    let mut gather_and_provide =
        |contender: Contender| match gather(place, tools, contender, run, watch)? {
            Ok(ready) => provide(ready, runner, place.cache, means, watch),
            Err(skipped) => Ok(Err(skipped)),
        };
    let (mut ready, mut skipped) = (Vec::new(), Vec::new());
    for contender in contenders {
        match gather_and_provide(contender)? {
            Ok(participant) => ready.push(participant),
            Err(reason) => skipped.push(reason),
        }
    }
    can_compare(experiment, &ready, &skipped)?;
    let upstream = match upstream.map(gather_and_provide).transpose()? {
        None => None,
        Some(Ok(ready)) => Some(ready),
        Some(Err(skipped)) => {
            return Err(LabError::NothingToCompare(format!(
                "the upstream {} could not be built or started: {}",
                skipped.contender, skipped.reason
            )));
        }
    };
    let database = database
        .map(|contender| provide_database(place, tools, contender, run, watch))
        .transpose()?;
    Ok(Gathered { workloads, ready, upstream, database, skipped })
}

/// Fails unless the baseline and another contender can take part, or the baseline is alone on
/// purpose.
fn can_compare(
    experiment: &Experiment,
    ready: &[Ready],
    skipped: &[Skipped],
) -> Result<(), LabError> {
    let is_ready = |name: &ContenderName| ready.iter().any(|r| r.contender.name == *name);
    let baseline = &experiment.baseline;
    if !is_ready(baseline) {
        let why = skipped
            .iter()
            .find(|s| s.contender == *baseline)
            .map_or(String::new(), |s| format!(": {}", s.reason));
        return Err(LabError::NothingToCompare(format!(
            "the baseline {baseline} could not be built or started{why}"
        )));
    }
    if !experiment.compared().any(is_ready) && !experiment.contenders.is_empty() {
        return Err(LabError::NothingToCompare(
            "only the baseline could be built; there is nothing to compare it with".into(),
        ));
    }
    Ok(())
}

/// Reads everything that an experiment names from the catalog, and checks that it fits together.
fn resolve(place: &Place<'_>, experiment: &Experiment) -> Result<Resolved, Problems> {
    let read = |name: &ContenderName| place.catalog.contender(name);
    let contenders = experiment.all_contenders().map(read).collect::<Result<Vec<_>, _>>()?;
    let upstream = experiment.upstream.as_ref().map(read).transpose()?;
    let workloads = workloads(place, experiment, upstream.as_ref())?;
    workloads.values().try_for_each(Workload::must_have_secrets)?;
    contenders
        .iter()
        .chain(&upstream)
        .try_for_each(|contender| contender.system.must_have_secrets())?;
    if let Some(upstream) = &upstream {
        can_be_upstream(upstream)?;
    }
    let proxy = contenders.iter().find(|c| c.system.kind == Kind::Proxy);
    if let (Some(proxy), None) = (proxy, &upstream) {
        return Err(Problems::plain(
            format!("{} is a proxy, and the experiment names no upstream", proxy.name),
            "write `upstream = \"...\"`",
        ));
    }
    let user = contenders.iter().find(|c| c.needs_database());
    if let (Some(user), None) = (user, &experiment.database) {
        return Err(Problems::plain(
            format!("{} needs a database, and the experiment names none", user.name),
            "write `database = \"...\"`",
        ));
    }
    let database = experiment.database.as_ref().map(read).transpose()?;
    if let Some(other) = database.as_ref().filter(|other| other.system.kind != Kind::Database) {
        return Err(Problems::plain(
            format!("{} is not a database", other.name),
            "name a system of kind \"database\" (`faceoff list` shows all)",
        ));
    }
    Ok(Resolved { contenders, upstream, database, workloads })
}

/// Fails unless a system can be warmed up and watched as an upstream.
fn can_be_upstream(upstream: &Contender) -> Result<(), Problems> {
    if upstream.system.answers.is_empty() {
        return Err(Problems::plain(
            format!(
                "the system.toml of the upstream {} lists no workload in `answers`",
                upstream.name
            ),
            "list one; faceoff uses it to warm up the upstream",
        ));
    }
    if upstream.system.reached.is_some() {
        return Err(Problems::plain(
            format!(
                "the upstream {} already runs ([reached] in its system.toml), so faceoff cannot start it",
                upstream.name
            ),
            "name an upstream that faceoff starts, as it must warm it up and watch it",
        ));
    }
    Ok(())
}

/// Builds a database and makes its first data folder. If the environment names the user's own
/// server, that server is used instead.
///
/// # Errors
/// A missing tool, a failure, or an interruption.
pub fn provide_database(
    place: &Place<'_>,
    tools: &Tools,
    contender: Contender,
    run: &str,
    watch: &mut Watcher<'_>,
) -> Result<DatabaseSource, LabError> {
    let name = contender.name.clone();
    let own = runner::database::own_server().map_err(|why| {
        Problems::plain(why, "write it like postgres://user:password@host:5432/name, or unset it")
    })?;
    if let Some(server) = own {
        let databases = Databases::own(server)
            .map_err(|failure| LabError::Database(name.clone(), Box::new(failure)))?;
        let participant = Participant {
            name: name.clone(),
            summary: format!("the server that {OWN_SERVER} names, with a schema for each trial"),
            facts: BTreeMap::new(),
            versions: BTreeMap::new(),
            artifacts: vec![],
            image: None,
            reached: None,
        };
        return Ok(DatabaseSource { name, databases, participant });
    }
    let ready = gather(place, tools, contender, run, watch)?.map_err(|skipped| {
        let why = skipped.reason;
        LabError::NothingToCompare(format!(
            "the database {name} could not be built or started: {why}"
        ))
    })?;
    let means = Means { tools, run, stop: place.stop };
    let databases =
        Databases::fresh(&ready.contender, &ready.participant.artifacts, place.cache, means);
    let databases = databases.map_err(|failure| match place.is_stopped() {
        true => LabError::Interrupted,
        false => LabError::Database(name.clone(), Box::new(failure)),
    })?;
    Ok(DatabaseSource { name, databases, participant: ready.participant })
}

/// Reads the workloads of all cells, and the one that warms the upstream up.
fn workloads(
    place: &Place<'_>,
    experiment: &Experiment,
    upstream: Option<&Contender>,
) -> Result<BTreeMap<String, Workload>, Problems> {
    let warmed_with = upstream.and_then(|u| u.system.answers.first());
    let of_cells = experiment.cells.iter().map(|cell| {
        place.catalog.workload_of(cell).map(|workload| (cell.workload_label(), workload))
    });
    let of_upstream = warmed_with
        .map(|name| place.catalog.workload(name).map(|workload| (name.clone(), workload)));
    of_cells.chain(of_upstream).collect()
}

/// Name of the fact that describes a contender's image.
const IMAGE: &str = "container image";

/// Checks that a contender's tools exist, and builds it. The inner error is why it is skipped.
///
/// # Errors
/// [`LabError::Interrupted`].
pub fn gather(
    place: &Place<'_>,
    tools: &Tools,
    contender: Contender,
    run: &str,
    watch: &mut Watcher<'_>,
) -> Result<Result<Ready, Skipped>, LabError> {
    let found = tools.check(&contender);
    let missing: Vec<String> = found
        .iter()
        .filter(|f| f.version.is_none())
        .map(|f| format!("needs {} ({})", f.tool, f.hint))
        .collect();
    let skip =
        |reason: String, failed| Skipped { contender: contender.name.clone(), reason, failed };
    if !missing.is_empty() {
        let skipped = skip(missing.join("; "), false);
        watch(Progress::Skipped(&skipped));
        return Ok(Err(skipped));
    }
    watch(Progress::Building(&contender.name));
    let built = match build(&contender, tools, place.cache, run, place.stop) {
        Ok(built) => built,
        Err(_) if place.is_stopped() => return Err(LabError::Interrupted),
        Err(failure) => {
            let log = log_lines(&failure.log);
            let skipped = skip(format!("its build failed: {}{log}", failure.cause), true);
            watch(Progress::Skipped(&skipped));
            return Ok(Err(skipped));
        }
    };
    watch(Progress::Built { name: &contender.name, was_built: built.was_built });
    let mut participant = Participant {
        name: contender.name.clone(),
        summary: contender.summary.clone(),
        facts: {
            let reset =
                contender.system.reset.iter().map(|reset| ("reset".to_owned(), reset.describe()));
            contender.system.facts.clone().into_iter().chain(reset).collect()
        },
        versions: found.into_iter().filter_map(|f| Some((f.tool, f.version?))).collect(),
        artifacts: built.artifacts,
        image: None,
        reached: contender.system.reached.as_ref().map(|reached| reached.url.clone()),
    };
    // An image of the current files says nothing about another revision.
    if contender.system.revision.is_none()
        && let Some(image) = noted(&participant, place.cache)
    {
        let description = format!(
            "{} unpacked, {}, {}; it does not start from it",
            show_bytes(image.bytes),
            image.reference,
            image.digest
        );
        participant.facts.entry(IMAGE.to_owned()).or_insert(description);
    }
    Ok(Ok(Ready { contender, participant }))
}

/// Has a runner prepare to start a built contender, for example by loading its image. The inner
/// error is why it is skipped.
///
/// # Errors
/// [`LabError::Interrupted`].
pub fn provide(
    ready: Ready,
    runner: &dyn Runner,
    cache: &Path,
    means: Means<'_>,
    watch: &mut Watcher<'_>,
) -> Result<Result<Ready, Skipped>, LabError> {
    match runner.provide(&ready.contender, cache, means) {
        Ok(image) => {
            let mut participant = Participant { image, ..ready.participant };
            if participant.image.is_some() {
                participant.facts.remove(IMAGE);
            }
            Ok(Ok(Ready { participant, ..ready }))
        }
        Err(_) if means.is_stopped() => Err(LabError::Interrupted),
        Err(failure) => {
            let log = log_lines(&failure.log);
            let reason = format!("no container can be made of it: {}{log}", failure.cause);
            let skipped = Skipped { contender: ready.contender.name, reason, failed: true };
            watch(Progress::Skipped(&skipped));
            Ok(Err(skipped))
        }
    }
}
