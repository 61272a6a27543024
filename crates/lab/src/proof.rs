//! Proves that a contender gives correct responses, before anything is measured.

use crate::error::LabError;
use crate::trial_database::{DatabaseSource, TrialDatabase};
use crate::work_folder::tidy;
use load::{StepCounts, ask};
use record::database::{DatabaseCheck, DatabaseOfTrial};
use record::{Answers, Failure, Fault};
use runner::means::Means;
use runner::place::Surroundings;
use runner::process::LOG_LINES;
use runner::start::{Running, start};
use spec::system::Contender;
use spec::workload::Workload;
use std::time::Duration;

/// How many times each workload is sent.
const PASSES: usize = 3;
/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Starts a contender, sends every workload a few times, checks the responses, and stops it. Gives
/// it a database on these CPUs, if the experiment has one.
///
/// # Errors
/// A database that cannot be started.
pub fn prove(
    contender: &Contender,
    workloads: &[&Workload],
    around: &Surroundings<'_>,
    database: Option<&DatabaseSource>,
    cpus: &[usize],
) -> Result<Answers, LabError> {
    let means = Means { tools: around.tools, run: around.run, stop: around.stop };
    let mut database = match database {
        Some(source) => source.start(workloads, cpus, around.work, means)?,
        None => TrialDatabase::none(),
    };
    let mut answers =
        Answers { contender: contender.name.clone(), ready_after_ns: None, failure: None };
    let Some(first) = workloads.first() else { return Ok(answers) };
    database.begin(workloads);
    let values = database.values();
    let around = &Surroundings { database: values.as_ref(), ..*around };
    let running = match start(contender, first, around) {
        Ok(running) => running,
        Err((failure, _)) => {
            answers.failure = Some(failure);
            return Ok(answers);
        }
    };
    answers.ready_after_ns = running.ready_after_ns;
    database.doubt(first, running.failed_attempts);
    let failed = send_all(&running, workloads, &mut database);
    let (_, stop_failure) = running.stop(contender);
    answers.failure = failed.or(stop_failure);
    if answers.failure.is_none() {
        answers.failure = database.end().and_then(database_failure);
    } else {
        drop(database);
    }
    tidy(around.work, answers.failure.is_none());
    Ok(answers)
}

/// Sends every workload, and returns the failure of the first wrong response.
fn send_all(
    running: &Running,
    workloads: &[&Workload],
    database: &mut TrialDatabase,
) -> Option<Failure> {
    for workload in workloads.iter().cycle().take(PASSES * workloads.len()) {
        // A workload may not expect the rows that another one stored.
        database.begin(&[workload]);
        if let Err(wrong) = ask(running.address, &running.target, workload, TIMEOUT) {
            let cause = format!("workload {}: {wrong}", workload.name);
            let log = running.last_lines(LOG_LINES);
            return Some(Failure { stage: "answers".into(), cause, log });
        }
        database
            .record(workload, &vec![StepCounts { correct: 1, in_doubt: 0 }; workload.steps.len()]);
        database.check(&workload.name);
    }
    None
}

/// The failure that the checks of a database, or its loss, amount to.
fn database_failure((kept, lost): (DatabaseOfTrial, Option<Fault>)) -> Option<Failure> {
    let of_check = |checked: &DatabaseCheck| {
        let (_, what) = checked.broken().into_iter().next()?;
        Some(format!("after {}: {what}", checked.after))
    };
    let cause = kept.checks.iter().find_map(of_check).or(lost.map(|fault| fault.evidence));
    cause.map(|cause| Failure { stage: "answers".into(), cause, log: vec![] })
}
