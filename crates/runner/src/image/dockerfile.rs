//! Images from a system's own Dockerfile, which an engine builds.
//!
//! The `docker` command does the work, as it knows the user's engine and its credentials. Start
//! with [`build`].

use super::layout::{SYSTEM_LABEL, describe, failed};
use crate::means::Means;
use crate::needs::output_of;
use crate::process::{self, NotDone, Spec, last_lines};
use record::Failure;
use serde_json::Value;
use spec::image::Image;
use spec::system::Contender;
use spec::units::show_duration;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long a build may take if the system sets no deadline.
const WITHIN: Duration = Duration::from_secs(600);

/// Has the engine of the `docker` command build the image.
pub(super) fn build(
    contender: &Contender,
    file: &str,
    reference: &str,
    cache: &Path,
    means: Means<'_>,
) -> Result<Image, Failure> {
    let system = &contender.system;
    let file = system.folder.join(file);
    if !file.is_file() {
        return Err(failed(
            format!(
                "there is no Dockerfile {}; write its path relative to system.toml",
                file.display()
            ),
            vec![],
        ));
    }
    let (log, id) = (
        cache.join(format!("{}.image.log", system.name)),
        cache.join(format!("{}.image", system.name)),
    );
    let made = std::fs::create_dir_all(cache);
    made.map_err(|e| failed(format!("{} cannot be made: {e}", cache.display()), vec![]))?;
    let _ = std::fs::remove_file(&id);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let label = format!("{}={}", SYSTEM_LABEL, contender.name);
    let (file, id_text) = (text(&file), text(&id));
    let command = [
        "docker",
        "build",
        "--tag",
        reference,
        "--label",
        &label,
        "--iidfile",
        &id_text,
        "--file",
        &file,
        ".",
    ];
    let command = command.map(str::to_owned);
    let within = system.build.as_ref().map_or(WITHIN, |build| build.within);
    let folder = &system.runs_in;
    run(&command, folder, within, &log, means)?;
    let digest = std::fs::read_to_string(&id).unwrap_or_default().trim().to_owned();
    let found = output_of(&["docker", "image", "inspect", &digest].map(str::to_owned));
    let found =
        found.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    describe(reference, &found[0]).ok_or_else(|| {
        failed(format!("`docker image inspect {digest}` does not describe the built image"), vec![])
    })
}

/// Has the engine write an image to a file.
pub(super) fn save(
    image: &Image,
    to: &Path,
    cache: &Path,
    means: Means<'_>,
) -> Result<(), Failure> {
    let to = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    let to = to.to_string_lossy();
    let command = ["docker", "save", "--output", &to, &image.reference].map(str::to_owned);
    run(&command, cache, WITHIN, &cache.join("save.image.log"), means)
}

fn run(
    command: &[String],
    folder: &Path,
    within: Duration,
    log: &Path,
    means: Means<'_>,
) -> Result<(), Failure> {
    let _ = std::fs::remove_file(log);
    let spec = Spec {
        command,
        folder,
        env: &BTreeMap::new(),
        cpus: &[],
        descriptors: None,
        log,
        user: None,
        run: means.run,
    };
    let shown = command[..2].join(" ");
    let with_log = |what: String| {
        let cause = format!(
            "`{shown}` {what}; a Dockerfile needs an engine, which DOCKER_HOST may name (log: {})",
            log.display()
        );
        failed(cause, last_lines(log, 20))
    };
    let deadline = load::clock::now_ns() + within.as_nanos() as u64;
    process::run(&spec, deadline, means.stop).map_err(|why| match why {
        NotDone::NotStarted(cause) => {
            failed(format!("{cause}; a Dockerfile needs Docker's command and an engine"), vec![])
        }
        NotDone::Ended(status) => with_log(format!("ended with {status}")),
        NotDone::Interrupted => failed("interrupted".into(), vec![]),
        NotDone::Late => with_log(format!("was not done within {}", show_duration(within))),
    })
}
