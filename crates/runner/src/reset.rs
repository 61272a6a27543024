//! Prepares or cleans a running system, as its manifest says.

use crate::process::{Process, Spec, last_lines};
use crate::start::{Running, Surroundings};
use load::ask;
use model::record::Failure;
use model::system::Contender;
use model::units::show_duration;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How many lines of a command's log are kept with a failure.
const LOG_LINES: usize = 20;

/// Does what `[reset]` says; nothing where it says nothing.
///
/// # Errors
/// The failure: a command that did not end with 0, a request that was not answered rightly, either of them too late.
pub fn reset(contender: &Contender, running: &Running, around: &Surroundings<'_>) -> Result<(), Failure> {
    let Some(reset) = &contender.system.reset else { return Ok(()) };
    let fail = |cause: String, log: Vec<String>| Failure { stage: "reset".into(), cause, log };
    if let Some(workload) = reset.step.workload() {
        return ask(running.address, &running.target, &workload, reset.within)
            .map(drop)
            .map_err(|wrong| fail(wrong.to_string(), running.process.last_lines(LOG_LINES)));
    }
    let log = running.process.log().with_file_name("reset.log");
    let (folder, command) = (&contender.system.folder, &running.reset.words);
    let spec =
        Spec { command, folder, env: &running.reset.env, cpus: around.cpus, descriptors: None, log: &log, user: None, run: around.run };
    let mut process = Process::start(&spec).map_err(|cause| fail(cause, vec![]))?;
    let deadline = process.started_ns + reset.within.as_nanos() as u64;
    loop {
        if let Some(ended) = process.await_end(Duration::from_millis(20)) {
            return match ended.status.as_str() {
                "exit 0" => Ok(()),
                status => Err(fail(format!("`{}` ended with {status}", command.join(" ")), last_lines(&log, LOG_LINES))),
            };
        }
        if around.stop.load(Ordering::Relaxed) {
            return Err(fail("interrupted".into(), vec![]));
        }
        if load::clock::now_ns() > deadline {
            let cause = format!("`{}` was not done within {}", command.join(" "), show_duration(reset.within));
            return Err(fail(cause, last_lines(&log, LOG_LINES)));
        }
    }
}
