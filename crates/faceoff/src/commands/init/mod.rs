//! `faceoff init`: creates an experiment for two services of yours, and checks that both respond
//! alike.
//!
//! `services` collects the description of both, from options and `questions`. The shared parts are
//! in `authoring`: writing files, sampling responses, learning what a correct response is.

mod options;
mod questions;
mod services;

pub use options::Options;

use super::authoring::experiment::{Measurements, experiment_text};
use super::authoring::requests::parse_request;
use super::authoring::sampling::{CONNECTIONS, Samples, WORKLOAD, sample, workload_to_sample};
use super::authoring::service::Service;
use super::authoring::written_files::WrittenFiles;
use super::check::{Wanted, check_all};
use super::lock;
use crate::exit::Error;
use crate::output::{Format, message};
use crate::signals;
use interop::import::Requests;
use lab::record_files::cannot_create;
use questions::Questions;
use spec::catalog::Catalog;
use spec::experiment::RunnerKind;
use spec::name::ContenderName;
use spec::problem::Problems;
use spec::units::parse_duration;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Responses that a 99th percentile needs, with a few to spare.
const ENOUGH: f64 = 600.0;
/// The default time limit from a service's start to its first correct response.
const READY: &str = "60s";

/// Runs the subcommand.
pub fn run(dir: Option<&Path>, options: &Options) -> Result<ExitCode, Error> {
    let mut questions = Questions::of_stdin();
    let (first, second) = services::both_services(options, &mut questions)?;
    let requests = match &options.request {
        Some(request) => parse_request(request)?,
        None => {
            let question =
                "The request to send to both: `/path`, `POST /path BODY`, or a curl command line";
            questions.ask_for(question, Some("/"), "--request", parse_request)?
        }
    };
    let duration = |text: &str| {
        parse_duration(text).map_err(|why| Error::from(Problems::plain(why, "write it like 30s")))
    };
    let ready = match options.ready {
        Some(ready) => ready,
        None => {
            let question = "The time limit from a service's start to its first correct response";
            questions.ask_for(question, Some(READY), "--ready", duration)?
        }
    };
    let dir = dir.unwrap_or(Path::new("."));
    let unusable = |e| cannot_create(dir, &e, "--dir");
    let existed = dir.exists();
    std::fs::create_dir_all(dir).map_err(unusable)?;
    let project = dir.canonicalize().map_err(unusable)?;
    let mut files = WrittenFiles::of_project(&project, options.force);
    let created = create(&project, &mut files, [&first, &second], requests, ready);
    // Incomplete files would only block the next try.
    created.inspect_err(|_| {
        files.remove_new();
        if !existed {
            let _ = std::fs::remove_dir_all(dir.join(".faceoff"));
            let _ = std::fs::remove_dir(dir);
        }
    })
}

/// Writes all files and checks both services. The responses of both show what is correct.
fn create(
    project: &Path,
    files: &mut WrittenFiles,
    services: [&Service; 2],
    mut requests: Requests,
    ready: Duration,
) -> Result<ExitCode, Error> {
    let [first, second] = services;
    let name = format!("{}-or-{}", first.name, second.name);
    let experiment = format!("experiments/{name}.toml");
    write_manifests(files, services, &experiment, ready)?;
    let stop = signals::stop_flag();
    let _lock = lock(&stop)?;
    let catalog = Catalog::open(project)?;
    let sampled = sample_both(&catalog, services, &mut requests, &stop)?;
    // Services that do not respond alike are reported by the check that follows. The files stay,
    // so that you can change them.
    let compared = files
        .write_workload(&mut requests, WORKLOAD, &sampled.responses)
        .or_else(|_| files.write_workload(&mut requests, WORKLOAD, &sampled.responses[..1]))?;
    let rate = sampled.usual_rate();
    let measurements =
        Measurements { rate: Some(rate), connections: Some(CONNECTIONS), design: design(rate) };
    let names = services.map(|service| service.name.as_str());
    let text = experiment_text(&name, &names, WORKLOAD, &measurements);
    files.write(&experiment, text.as_bytes())?;
    // Reading the files back proves that they are valid.
    catalog.experiment(&name)?;
    catalog.workload(WORKLOAD)?;
    message(&format!("wrote {}", files.list()));
    message(&format!("compared: {compared}{}", requests.lost()));
    requests.kept_out().iter().for_each(|text| message(text));
    let workload = files.shown(&format!("workloads/{WORKLOAD}.toml"));
    check_both(&catalog, services, [&name, &workload], &stop)
}

/// Writes the manifests of both services. Refuses if any of the files to come already exists.
fn write_manifests(
    files: &mut WrittenFiles,
    services: [&Service; 2],
    experiment: &str,
    ready: Duration,
) -> Result<(), Error> {
    let manifests = services.map(|service| format!("systems/{}/system.toml", service.name));
    let others = [format!("workloads/{WORKLOAD}.toml"), experiment.to_owned()];
    let hint = "choose other names for the services, or replace the files with --force";
    files.must_be_new(manifests.iter().chain(&others), hint)?;
    for (path, service) in manifests.iter().zip(services) {
        let text = service.manifest(files.dir(), WORKLOAD, ready);
        files.write(path, text.as_bytes())?;
    }
    Ok(())
}

/// Starts both services and samples their responses.
fn sample_both(
    catalog: &Catalog,
    services: [&Service; 2],
    requests: &mut Requests,
    stop: &AtomicBool,
) -> Result<Samples, Error> {
    let [first, second] = services;
    let summary = format!("the request to {} and {}", first.name, second.name);
    let workload = workload_to_sample(requests, summary)?;
    let names = services.map(|service| service.name.as_str());
    sample(catalog, &names, workload, stop, &|name, what, log| {
        services.iter().find(|service| service.name == name).unwrap_or(&first).failed(what, log)
    })
}

/// Checks the responses of both services, and prints the next step.
fn check_both(
    catalog: &Catalog,
    services: [&Service; 2],
    [experiment, workload]: [&str; 2],
    stop: &AtomicBool,
) -> Result<ExitCode, Error> {
    let contenders = services.map(|service| {
        catalog.contender(&ContenderName { system: service.name.clone(), variants: vec![] })
    });
    let contenders = contenders.into_iter().collect::<Result<Vec<_>, _>>()?;
    let wanted =
        Wanted { upstream: None, kind: RunnerKind::Process, jobs: 1, format: Format::Text };
    let code = check_all(catalog, contenders, &wanted, stop)?;
    let ([first, second], shown) = (services, catalog.dir().display());
    message(&match code == ExitCode::SUCCESS {
        true => {
            format!("both respond alike; next: `faceoff --dir {shown} run {experiment} --quick`")
        }
        false => format!(
            "hint: {workload} describes the correct response. Keep there what matters, fix what fails, then run `faceoff --dir {shown} check {} {}`",
            first.name, second.name
        ),
    });
    Ok(code)
}

/// Returns the text of the design that a new experiment gets.
///
/// Each measurement is long enough for a 99th percentile at this rate, up to 10 s. In the quick
/// form, the six blocks together are long enough.
fn design(rate: f64) -> String {
    let seconds = |responses: f64| (responses / rate).ceil().clamp(1.0, 10.0);
    format!(
        "[design]\nblocks  = 12\nmargin  = 0.05\nwarmup  = \"30s\"\nmeasure = \"{}s\"\n\n\
         [quick]\nblocks  = 6\nwarmup  = \"10s\"\nmeasure = \"{}s\"\n",
        seconds(ENOUGH).max(3.0),
        seconds(ENOUGH / 6.0)
    )
}
