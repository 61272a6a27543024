//! Who takes part: resolved, with its needs met, built, and proved to answer.

use crate::keeping::{Keeping, Source};
use crate::{LabError, Place, Progress, Watcher};
use load::{OfStep, ask};
use model::database::Checked;
use model::experiment::Experiment;
use model::name::ContenderName;
use model::problem::Problems;
use model::record::{Answers, Failure, Participant, Skipped};
use model::system::{Contender, Kind};
use model::units::show_bytes;
use model::workload::Workload;
use runner::build::build;
use runner::database::{Databases, Means, OWN_SERVER};
use runner::image::noted;
use runner::needs::Tools;
use runner::place::Runner;
use runner::start::{Surroundings, start};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How many times each workload is asked for the proof.
const PROOF_PASSES: usize = 3;

/// A contender that can start.
pub struct Ready {
    /// How.
    pub contender: Contender,
    /// As the record describes it.
    pub participant: Participant,
}

pub(crate) struct Gathered {
    /// Those of the cells, by what they ask ([`model::experiment::Cell::asks`]), and the one that the upstream is warmed with.
    pub workloads: BTreeMap<String, Workload>,
    pub ready: Vec<Ready>,
    pub upstream: Option<Ready>,
    pub database: Option<Source>,
    pub skipped: Vec<Skipped>,
}

/// Resolves and builds everybody of an experiment.
pub(crate) fn gather_all(
    place: &Place<'_>,
    (tools, runner): (&Tools, &dyn Runner),
    experiment: &Experiment,
    run: &str,
    watch: &mut Watcher<'_>,
) -> Result<Gathered, LabError> {
    // All that can be wrong in files is said before the first build.
    let contenders = experiment.everybody().map(|name| place.catalog.contender(name)).collect::<Result<Vec<_>, _>>()?;
    let upstream = experiment.upstream.as_ref().map(|name| place.catalog.contender(name)).transpose()?;
    let workloads = workloads(place, experiment, upstream.as_ref())?;
    workloads.values().try_for_each(Workload::must_have_secrets)?;
    contenders.iter().chain(&upstream).try_for_each(|contender| contender.system.must_have_secrets())?;
    if let Some(upstream) = &upstream
        && upstream.system.answers.is_empty()
    {
        return Err(Problems::plain(
            format!("the upstream {} answers no workload", upstream.name),
            "name one in its `answers`, so that it can be warmed and proved",
        )
        .into());
    }
    if let Some(upstream) = upstream.as_ref().filter(|upstream| upstream.system.reached.is_some()) {
        let hint = "name one that is started: what serves all contenders is warmed and watched";
        return Err(Problems::plain(format!("the upstream {} is only reached", upstream.name), hint).into());
    }
    if let (Some(proxy), None) = (contenders.iter().find(|c| c.system.kind == Kind::Proxy), &upstream) {
        return Err(Problems::plain(
            format!("{} is a proxy, and the experiment names no upstream", proxy.name),
            "write `upstream = \"...\"`",
        )
        .into());
    }
    if let (Some(needy), None) = (contenders.iter().find(|c| c.needs_database()), &experiment.database) {
        return Err(Problems::plain(
            format!("{} needs a database, and the experiment names none", needy.name),
            "write `database = \"...\"`",
        )
        .into());
    }
    let database = experiment.database.as_ref().map(|name| place.catalog.contender(name)).transpose()?;
    if let Some(database) = database.as_ref().filter(|database| database.system.kind != Kind::Database) {
        let hint = "name a system of kind \"database\" (`faceoff list` shows all)";
        return Err(Problems::plain(format!("{} is no database", database.name), hint).into());
    }
    let (mut ready, mut skipped) = (Vec::new(), Vec::new());
    let means = Means { tools, run, stop: place.stop };
    let provide = |gathered: Ready, watch: &mut Watcher<'_>| provide(gathered, runner, place.cache, means, watch);
    for contender in contenders {
        match gather(place, tools, contender, run, watch)?.map_or_else(|skipped| Ok(Err(skipped)), |gathered| provide(gathered, watch))? {
            Ok(participant) => ready.push(participant),
            Err(reason) => skipped.push(reason),
        }
    }
    let explain = |skipped: &[Skipped], name: &ContenderName| {
        skipped.iter().find(|s| s.contender == *name).map_or(String::new(), |s| format!(": {}", s.reason))
    };
    if !ready.iter().any(|r| r.contender.name == experiment.baseline) {
        let why = explain(&skipped, &experiment.baseline);
        return Err(LabError::NobodyLeft(format!("the baseline {} cannot take part{why}", experiment.baseline)));
    }
    let is_ready = |name: &ContenderName| ready.iter().any(|r| r.contender.name == *name);
    if !experiment.compared().any(is_ready) && !experiment.contenders.is_empty() {
        return Err(LabError::NobodyLeft("no contender but the baseline can take part".into()));
    }
    let upstream = match upstream {
        None => None,
        Some(contender) => match gather(place, tools, contender, run, watch)?
            .map_or_else(|skipped| Ok(Err(skipped)), |gathered| provide(gathered, watch))?
        {
            Ok(participant) => Some(participant),
            Err(skipped) => {
                return Err(LabError::NobodyLeft(format!("the upstream {} cannot take part: {}", skipped.contender, skipped.reason)));
            }
        },
    };
    let database = database.map(|contender| provide_database(place, tools, contender, run, watch)).transpose()?;
    Ok(Gathered { workloads, ready, upstream, database, skipped })
}

/// Builds a database and makes its first data folder; where the environment names a server of the user's own, that takes its place.
///
/// # Errors
/// What is missing, what failed, or that it was interrupted.
pub fn provide_database(
    place: &Place<'_>,
    tools: &Tools,
    contender: Contender,
    run: &str,
    watch: &mut Watcher<'_>,
) -> Result<Source, LabError> {
    let name = contender.name.clone();
    let own = runner::database::own_server();
    let own = own.map_err(|why| Problems::plain(why, "write it like postgres://user:password@host:5432/name, or unset it"))?;
    if let Some(server) = own {
        let databases = Databases::own(server).map_err(|failure| LabError::Database(name.clone(), Box::new(failure)))?;
        let participant = Participant {
            name: name.clone(),
            summary: format!("the server that {OWN_SERVER} names, with a schema for each trial"),
            facts: BTreeMap::new(),
            versions: BTreeMap::new(),
            artifacts: vec![],
            image: None,
            reached: None,
        };
        return Ok(Source { name, databases, participant });
    }
    let ready = match gather(place, tools, contender, run, watch)? {
        Ok(ready) => ready,
        Err(skipped) => return Err(LabError::NobodyLeft(format!("the database {name} cannot take part: {}", skipped.reason))),
    };
    let means = Means { tools, run, stop: place.stop };
    let databases = Databases::fresh(&ready.contender, &ready.participant.artifacts, place.cache, means);
    let interrupted = place.stop.load(Ordering::Relaxed);
    let databases =
        databases.map_err(|f| if interrupted { LabError::Interrupted } else { LabError::Database(name.clone(), Box::new(f)) })?;
    Ok(Source { name, databases, participant: ready.participant })
}

fn workloads(place: &Place<'_>, experiment: &Experiment, upstream: Option<&Contender>) -> Result<BTreeMap<String, Workload>, Problems> {
    let warmed_with = upstream.and_then(|u| u.system.answers.first());
    let of_cells = experiment.cells.iter().map(|cell| place.catalog.workload_of(cell).map(|workload| (cell.asks(), workload)));
    let of_upstream = warmed_with.map(|name| place.catalog.workload(name).map(|workload| (name.clone(), workload)));
    of_cells.chain(of_upstream).collect()
}

/// The fact that tells of an image which was made of a contender.
const IMAGE: &str = "container image";

/// Looks at a contender's needs and builds it. The inner error says why it is skipped.
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
    let found = tools.of(&contender);
    let missing: Vec<String> = found.iter().filter(|f| f.version.is_none()).map(|f| format!("needs {} ({})", f.tool, f.hint)).collect();
    let skip = |reason: String, failed| Skipped { contender: contender.name.clone(), reason, failed };
    if !missing.is_empty() {
        let skipped = skip(missing.join("; "), false);
        watch(Progress::Skipped(&skipped));
        return Ok(Err(skipped));
    }
    watch(Progress::Building(&contender.name));
    let built = match build(&contender, tools, place.cache, run, place.stop) {
        Ok(built) => built,
        Err(_) if place.stop.load(Ordering::Relaxed) => return Err(LabError::Interrupted),
        Err(failure) => {
            let log: String = failure.log.iter().map(|line| format!("\n  | {line}")).collect();
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
            let reset = contender.system.reset.iter().map(|reset| ("reset".to_owned(), reset.describe()));
            contender.system.facts.clone().into_iter().chain(reset).collect()
        },
        versions: found.into_iter().filter_map(|f| Some((f.tool, f.version?))).collect(),
        artifacts: built.artifacts,
        image: None,
        reached: contender.system.reached.as_ref().map(|reached| reached.url.clone()),
    };
    // At a revision it has other files.
    if contender.system.revision.is_none()
        && let Some(image) = noted(&participant, place.cache)
    {
        let said = format!("{} unpacked, {}, {}; it does not start from it", show_bytes(image.bytes), image.reference, image.digest);
        participant.facts.entry(IMAGE.to_owned()).or_insert(said);
    }
    Ok(Ok(Ready { contender, participant }))
}

/// Sees to it that a runner can start whoever is built. The inner error says why it is skipped.
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
        Err(_) if means.stop.load(Ordering::Relaxed) => Err(LabError::Interrupted),
        Err(failure) => {
            let log: String = failure.log.iter().map(|line| format!("\n  | {line}")).collect();
            let reason = format!("no container can be made of it: {}{log}", failure.cause);
            let skipped = Skipped { contender: ready.contender.name, reason, failed: true };
            watch(Progress::Skipped(&skipped));
            Ok(Err(skipped))
        }
    }
}

/// Starts a contender, asks every workload some times over, and stops it; with a database of its own on these CPUs, where it gets one.
///
/// # Errors
/// A database that cannot be started.
pub fn prove(
    contender: &Contender,
    workloads: &[&Workload],
    around: &Surroundings<'_>,
    database: Option<&Source>,
    cpus: &[usize],
) -> Result<Answers, LabError> {
    let means = Means { tools: around.tools, run: around.run, stop: around.stop };
    let mut keeping = database.map(|source| source.start(workloads, cpus, around.work, means)).transpose()?;
    let mut answers = Answers { contender: contender.name.clone(), ready_after_ns: None, failure: None };
    let Some(first) = workloads.first() else { return Ok(answers) };
    if let Some(keeping) = &mut keeping {
        keeping.begin(workloads);
    }
    let values = keeping.as_ref().map(Keeping::values);
    let around = &Surroundings { database: values.as_ref(), ..*around };
    let running = match start(contender, first, around) {
        Ok(running) => running,
        Err((failure, _)) => {
            answers.failure = Some(failure);
            return Ok(answers);
        }
    };
    answers.ready_after_ns = running.ready_after_ns;
    if let Some(keeping) = &mut keeping {
        keeping.doubt(first, running.asked_in_vain);
    }
    for workload in workloads.iter().cycle().take(PROOF_PASSES * workloads.len()) {
        // What one workload leaves, another may not expect.
        if let Some(keeping) = &mut keeping {
            keeping.begin(&[workload]);
        }
        if let Err(wrong) = ask(running.address, &running.target, workload, Duration::from_secs(10)) {
            let cause = format!("workload {}: {wrong}", workload.name);
            answers.failure = Some(Failure { stage: "answers".into(), cause, log: running.last_lines(20) });
            break;
        }
        if let Some(keeping) = &mut keeping {
            keeping.told(workload, &vec![OfStep { right: 1, in_doubt: 0 }; workload.steps.len()]);
            keeping.check(&workload.name);
        }
    }
    let (_, failure) = running.stop(contender);
    answers.failure = answers.failure.or(failure);
    if let (Some(keeping), None) = (keeping, &answers.failure) {
        let (kept, lost) = keeping.end();
        let of_check = |checked: &Checked| checked.broken().into_iter().map(|(_, what)| format!("after {}: {what}", checked.after)).next();
        let cause = kept.checks.iter().find_map(of_check).or(lost.map(|fault| fault.evidence));
        answers.failure = cause.map(|cause| Failure { stage: "answers".into(), cause, log: vec![] });
    }
    crate::tidy(around.work, answers.failure.is_none());
    Ok(answers)
}
