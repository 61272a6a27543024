//! Starts a contender, warms it up, and stops it.

use super::readings::steal_share;
use super::setup::{Setup, steady_series};
use crate::pauses;
use crate::progress::{Activity, Progress, Watcher};
use crate::trial_database::TrialDatabase;
use crate::warmup;
use record::{Failure, Trial};
use runner::place::Surroundings;
use runner::start::{Running, start};
use std::path::Path;

/// Starts a contender and warms it up, and notes in the trial how that went.
///
/// # Errors
/// The failure of a contender that did not start.
pub(crate) fn start_warm(
    setup: &Setup<'_>,
    around: &Surroundings<'_>,
    database: &mut TrialDatabase,
    parameters: &warmup::Parameters<'_>,
    trial: &mut Trial,
    watch: &mut Watcher<'_>,
) -> Result<Running, Failure> {
    note_artifacts(setup, trial)?;
    let begun = runner::machine::cpu_ticks();
    watch(Progress::Doing(Activity::Starting));
    let first = setup.workload(&setup.experiment.cells[0]);
    let workloads = setup.cell_workloads();
    // The first response may need initial rows.
    database.begin(&workloads);
    let started = start(&setup.ready.contender, first, around);
    let mut running = started.map_err(|(failure, command)| {
        trial.command = command;
        failure
    })?;
    trial.ready_after_ns = running.ready_after_ns;
    trial.scaled_out_after_ns = running.scaled_out_after_ns;
    trial.command = running.command.clone();
    trial.host.start_steal_share = Some(steal_share(begun));
    // Rows of the first responses are not counted. All later ones are.
    database.doubt(first, running.failed_attempts);
    database.begin(&workloads);
    let decides = steady_series(setup.experiment, &running);
    trial.warmup =
        warmup::run(&mut running, parameters, decides, database, &mut |elapsed, last| {
            watch(Progress::Doing(Activity::WarmingUp { elapsed, last }));
        });
    trial.warmed_with = trial.warmup.iter().flat_map(|w| &w.windows).map(|w| w.correct).sum();
    Ok(running)
}

/// Notes the artefacts in the trial, and checks that they are those that were built for this run.
fn note_artifacts(setup: &Setup<'_>, trial: &mut Trial) -> Result<(), Failure> {
    let system = &setup.ready.contender.system;
    let Some(build) = &system.build else { return Ok(()) };
    match runner::build::artifacts(build, &system.runs_in) {
        Ok(now) if now == setup.ready.participant.artifacts => {
            trial.artifact_sha256 = now.into_iter().map(|a| a.sha256).collect();
            Ok(())
        }
        found => {
            let why = found.err().map(|why| format!(": {why}")).unwrap_or_default();
            let cause =
                format!("its artefacts have changed since they were built for this run{why}");
            Err(Failure { stage: "start".into(), cause, log: vec![] })
        }
    }
}

/// Stops a contender, and notes in the trial how that went.
pub(crate) fn stop(setup: &Setup<'_>, running: Running, trial: &mut Trial) {
    let (log, began_ns) = (running.log().map(Path::to_owned), running.began_ns);
    let (stopped, failure) = running.stop(&setup.ready.contender);
    if let (Some(sampling), Some(log)) = (setup.sampling, &log) {
        sampling.read_log(&setup.ready.contender.name, log, began_ns);
    }
    trial.pauses = log.map(|log| pauses::pauses_in_log(&log, began_ns)).unwrap_or_default();
    trial.stop = stopped;
    trial.failure = trial.failure.take().or(failure);
}
