//! Images of a system's own Dockerfile, which an engine builds.

use super::failed;
use crate::database::Means;
use crate::needs::output_of;
use crate::process::{self, NotDone, Spec, last_lines};
use model::image::{Image, Layer};
use model::record::Failure;
use model::system::Contender;
use model::units::show_duration;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Where a system has no deadline for its build.
const WITHIN: Duration = Duration::from_secs(600);

/// Has the engine that `docker` speaks to build it.
pub(super) fn build(contender: &Contender, file: &str, reference: &str, cache: &Path, means: Means<'_>) -> Result<Image, Failure> {
    let system = &contender.system;
    let file = system.folder.join(file);
    if !file.is_file() {
        return Err(failed(format!("the Dockerfile {} is not there; name it as seen from system.toml", file.display()), vec![]));
    }
    let (log, id) = (cache.join(format!("{}.image.log", system.name)), cache.join(format!("{}.image", system.name)));
    let made = std::fs::create_dir_all(cache);
    made.map_err(|e| failed(format!("{} cannot be made: {e}", cache.display()), vec![]))?;
    let _ = std::fs::remove_file(&id);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let label = format!("{}={}", super::SYSTEM_LABEL, contender.name);
    let (file, id_text) = (text(&file), text(&id));
    let command = ["docker", "build", "--tag", reference, "--label", &label, "--iidfile", &id_text, "--file", &file, "."];
    let command = command.map(str::to_owned);
    let within = system.build.as_ref().map_or(WITHIN, |build| build.within);
    let folder = &system.runs_in;
    run(&command, folder, within, &log, means)?;
    let digest = std::fs::read_to_string(&id).unwrap_or_default().trim().to_owned();
    let told = output_of(&["docker", "image", "inspect", &digest].map(str::to_owned));
    let told = told.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    let layers = told[0]["RootFS"]["Layers"].as_array().cloned().unwrap_or_default();
    let layers: Vec<Layer> =
        layers.iter().filter_map(Value::as_str).map(|digest| Layer { digest: digest.into(), bytes: None, what: String::new() }).collect();
    let Some(bytes) = told[0]["Size"].as_u64() else {
        return Err(failed(format!("`docker image inspect {digest}` does not tell what was built"), vec![]));
    };
    Ok(Image { reference: reference.to_owned(), digest, config: None, bytes, layers, said: vec![] })
}

/// Has the engine write an image into a file.
pub(super) fn save(image: &Image, to: &Path, cache: &Path, means: Means<'_>) -> Result<(), Failure> {
    let to = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    let to = to.to_string_lossy();
    let command = ["docker", "save", "--output", &to, &image.reference].map(str::to_owned);
    run(&command, cache, WITHIN, &cache.join("save.image.log"), means)
}

fn run(command: &[String], folder: &Path, within: Duration, log: &Path, means: Means<'_>) -> Result<(), Failure> {
    let _ = std::fs::remove_file(log);
    let spec = Spec { command, folder, env: &BTreeMap::new(), cpus: &[], descriptors: None, log, user: None, run: means.run };
    let shown = command[..2].join(" ");
    let with_log = |what: String| {
        let cause = format!("`{shown}` {what}; a Dockerfile needs an engine, which DOCKER_HOST may name (log: {})", log.display());
        failed(cause, last_lines(log, 20))
    };
    let deadline = load::clock::now_ns() + within.as_nanos() as u64;
    process::run(&spec, deadline, means.stop).map_err(|why| match why {
        NotDone::NotStarted(cause) => failed(format!("{cause}; a Dockerfile needs Docker's command and an engine"), vec![]),
        NotDone::Ended(status) => with_log(format!("ended with {status}")),
        NotDone::Interrupted => failed("interrupted".into(), vec![]),
        NotDone::Late => with_log(format!("was not done within {}", show_duration(within))),
    })
}
