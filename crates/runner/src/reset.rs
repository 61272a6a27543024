//! Resets a running system before a cell, as its manifest asks.

use crate::place::Surroundings;
use crate::process::{self, LOG_LINES, NotDone, Spec, last_lines};
use crate::start::Running;
use load::ask;
use record::Failure;
use spec::system::Contender;
use spec::units::show_duration;

/// Does what `[reset]` of the manifest asks; nothing without it.
///
/// # Errors
/// A command that does not end with 0, or a request without a correct response, in time.
pub fn reset(
    contender: &Contender,
    running: &Running,
    around: &Surroundings<'_>,
) -> Result<(), Failure> {
    let Some(reset) = &contender.system.reset else { return Ok(()) };
    let fail = |cause: String, log: Vec<String>| Failure { stage: "reset".into(), cause, log };
    if let Some(workload) = reset.step.workload() {
        return ask(running.address, &running.target, &workload, reset.within)
            .map(drop)
            .map_err(|wrong| fail(wrong.to_string(), running.last_lines(LOG_LINES)));
    }
    let log = running.log().unwrap_or(around.work).with_file_name("reset.log");
    let (folder, command) = (&contender.system.runs_in, &running.reset.words);
    let spec = Spec {
        command,
        folder,
        env: &running.reset.env,
        cpus: around.cpus,
        descriptors: None,
        log: &log,
        user: None,
        run: around.run,
    };
    let deadline = load::clock::now_ns() + reset.within.as_nanos() as u64;
    let with_log =
        |what: String| fail(format!("`{}` {what}", command.join(" ")), last_lines(&log, LOG_LINES));
    process::run(&spec, deadline, around.stop).map_err(|why| match why {
        NotDone::NotStarted(cause) => fail(cause, vec![]),
        NotDone::Ended(status) => with_log(format!("ended with {status}")),
        NotDone::Interrupted => fail("interrupted".into(), vec![]),
        NotDone::Late => with_log(format!("was not done within {}", show_duration(reset.within))),
    })
}
