//! `faceoff vs`: compares services without any files of yours.
//!
//! The services run already, or are started by a command or from an image. `services` parses them.
//! `authoring` writes an experiment for them into the record's folder, and `measuring` runs it
//! until every primary metric is settled. Start at [`run`].

mod services;

use super::authoring::experiment::{Measurements, experiment_text};
use super::authoring::requests::{json_type, parse_request};
use super::authoring::sampling::{CONNECTIONS, Samples, WORKLOAD, sample, workload_to_sample};
use super::authoring::written_files::WrittenFiles;
use super::measuring::{self, Planned, Reporting, place};
use super::{cache, lock};
use crate::exit::Error;
use crate::output::message;
use crate::progress::Show;
use crate::signals;
use clap::Args;
use interop::import::{Requests, time};
use lab::record_files::{cannot_create, default_folder, must_hold_no_record};
use services::{Service, parse_services};
use spec::catalog::Catalog;
use spec::experiment::{Experiment, RATE_MAX, RATE_MIN};
use spec::problem::Problems;
use spec::units::{parse_duration, parse_number, show_duration, show_number};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Options of `faceoff vs`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  faceoff vs http://127.0.0.1:8080/ http://127.0.0.1:8081/\n  faceoff vs go=http://127.0.0.1:8080/orders node=http://127.0.0.1:8081/orders -R 1k\n  faceoff vs 'go=./server --port {port}' 'node=node app.js'\n  faceoff vs image=shop/orders:1.2 image=shop/orders:1.3\n\nThe first service is the baseline. The load alternates between the services in slices of 40 to 500 ms. For a service on this machine, faceoff also measures CPU time and memory of the process that listens at the port. Nothing is restarted, so the verdict is about these processes.\n\nExit codes: 0 done, 1 a service does not respond correctly or the time was too short for 6 blocks, 2 usage, 4 nothing could be judged, 130 and 143 interrupted."
)]
pub struct Options {
    /// The services: http://host:port/path, NAME=http://..., NAME=COMMAND with {port} for its port
    /// (else it gets the variable PORT), or image=NAME:TAG, which starts in Docker
    /// (image=NAME:TAG#8080 if it listens at port 8080)
    #[arg(required = true, num_args = 2.., value_name = "SERVICE")]
    services: Vec<String>,
    /// The request: `POST /path BODY` or a curl command line [default: GET and the URL's path]
    #[arg(long, value_name = "REQUEST", conflicts_with_all = ["headers", "method", "body"])]
    request: Option<String>,
    /// A header, as `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The method [default: GET, or POST with a body]
    #[arg(short = 'X', long)]
    method: Option<String>,
    /// The body, or @FILE
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Requests per second (1k, 2.5k) [default: a third of the slowest service's maximum, and also
    /// 8 connections]
    #[arg(short = 'R', long, value_name = "RATE", value_parser = rate)]
    rate: Option<f64>,
    /// Connections that each send the next request when the last response has arrived
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: Option<u32>,
    /// Time limit; the run ends earlier if every primary metric is settled
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    at_most: Duration,
    /// How long each load is measured per service and block [default: 200ms]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Maximum number of blocks, each with every load on every service (a verdict needs 6)
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// The largest difference that does not matter: 5%, 0.05
    #[arg(long, value_name = "MARGIN", default_value = "5%", value_parser = margin)]
    margin: f64,
    /// Maximum warm-up before the first measurement; it ends when the service is steady
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    warmup: Duration,
    /// The folder for the record; must not hold one yet [default: records/vs-<time>]
    // The text of --help, not HTML.
    #[allow(rustdoc::invalid_html_tags)]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Allow services on other machines; make sure that you may load them
    #[arg(long)]
    allow_remote: bool,
    /// Show the plan and measure nothing
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    reporting: Reporting,
}

/// The experiment's name.
const EXPERIMENT: &str = "vs";
/// How long a load is measured per service and block.
const MEASURE: Duration = Duration::from_millis(200);

/// Parses a rate.
fn rate(text: &str) -> Result<f64, String> {
    let rate = parse_number(text).ok().filter(|rate| (RATE_MIN..=RATE_MAX).contains(rate));
    rate.ok_or_else(|| {
        format!("a rate is a number from {RATE_MIN} to {RATE_MAX}, such as 300 or 1k")
    })
}

/// Parses a margin.
fn margin(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let margin = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    margin
        .filter(|margin| (0.0..=10.0).contains(margin))
        .ok_or_else(|| "a margin is a share such as 5% or 0.05".into())
}

/// Returns the paths of the services' URLs, without repetitions in a row.
fn url_paths<'s>(services: &'s [Service<'_>]) -> Vec<&'s str> {
    let mut paths: Vec<&str> =
        services.iter().filter_map(|service| service.url().map(|url| url.path.as_str())).collect();
    paths.dedup();
    paths
}

/// Returns the request that is sent to every service.
fn shared_request(options: &Options, services: &[Service<'_>]) -> Result<Requests, Error> {
    let paths = url_paths(services);
    if let Some(request) = &options.request {
        if paths.iter().any(|path| *path != "/") {
            let hint = "end the URLs with the port: the request has its own path";
            return Err(Problems::plain("--request and a URL both give a path", hint).into());
        }
        return parse_request(request);
    }
    let path = paths.first().unwrap_or(&"/");
    // The path comes from a URL, so curl's syntax has no meaning in it.
    let mut words =
        vec!["--globoff".to_owned(), "--path-as-is".to_owned(), format!("http://127.0.0.1{path}")];
    for header in &options.headers {
        words.extend(["-H".to_owned(), header.clone()]);
    }
    if let Some(body) = &options.body {
        words.extend(["--data-binary".to_owned(), body.clone()]);
        let has_type =
            options.headers.iter().any(|header| header.to_lowercase().starts_with("content-type:"));
        if !has_type {
            words.extend(json_type(body));
        }
    }
    if let Some(method) = &options.method {
        words.extend(["-X".to_owned(), method.clone()]);
    }
    Ok(Requests::of_curl(&words)?)
}

/// What a comparison needs after its files are written.
struct Written {
    catalog: Catalog,
    experiment: Experiment,
}

/// Runs the subcommand. `project` is the folder in which faceoff keeps data about this machine, if
/// there is one.
pub fn run(
    dir: Option<&Path>,
    project: Option<&Catalog>,
    options: &Options,
) -> Result<ExitCode, Error> {
    let show = Show::on_request(options.reporting.progress())?;
    let services = parse_services(&options.services, options.allow_remote)?;
    let mut requests = shared_request(options, &services)?;
    let now = jiff::Timestamp::now();
    let folder = options
        .out
        .clone()
        .unwrap_or_else(|| default_folder(dir.unwrap_or(Path::new(".")), EXPERIMENT, now));
    must_hold_no_record(&folder)?;
    let existed = folder.exists();
    let unusable = |e| cannot_create(&folder, &e, "--out");
    std::fs::create_dir_all(&folder).map_err(unusable)?;
    let mut files = WrittenFiles::new(folder.canonicalize().map_err(unusable)?, false);
    let stop = signals::stop_flag();
    let Written { catalog, experiment } =
        match write_files(&mut files, &services, &mut requests, options, &stop) {
            Ok(written) if !options.plan => written,
            not_run => {
                files.remove_new();
                if !existed {
                    remove_if_empty(&folder);
                }
                return not_run.map(|_| ExitCode::SUCCESS);
            }
        };
    let cache = cache(project.unwrap_or(&catalog));
    let place = place(&catalog, &cache, &stop);
    let experiment = options.reporting.apply_to(experiment);
    let planned = Planned { experiment, is_quick: false, changes: vec![] };
    let code = measuring::begin(&place, planned, files.dir(), show, &options.reporting.ending())?;
    message(&format!("to repeat it: faceoff --dir {} run {EXPERIMENT}", folder.display()));
    Ok(code)
}

/// Removes a folder and its parent, each only if it is empty.
fn remove_if_empty(folder: &Path) {
    let _ = std::fs::remove_dir(folder)
        .and_then(|()| folder.parent().map_or(Ok(()), std::fs::remove_dir));
}

/// Writes the files of the experiment, and prints what will be compared.
///
/// The services' own responses show what a correct response is.
fn write_files(
    files: &mut WrittenFiles,
    services: &[Service<'_>],
    requests: &mut Requests,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Written, Error> {
    let experiment = format!("experiments/{EXPERIMENT}.toml");
    write_manifests(files, services, options.allow_remote, &experiment)?;
    let catalog = Catalog::open(files.dir())?;
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let sampled = sample_services(&catalog, services, requests, stop)?;
    let compared = files.write_workload(requests, WORKLOAD, &sampled.responses)?;
    let (rate, connections) = match (options.rate, options.connections) {
        (None, None) => (Some(sampled.usual_rate()), Some(CONNECTIONS)),
        given => given,
    };
    let measurements = Measurements { rate, connections, design: design(options) };
    let text = experiment_text(EXPERIMENT, &names, WORKLOAD, &measurements);
    files.write(&experiment, text.as_bytes())?;
    // Reading the file back proves that it is valid.
    let experiment = catalog.experiment(EXPERIMENT)?;
    message(&format!("compared: {compared}{}", requests.lost()));
    requests.kept_out().iter().for_each(|text| message(text));
    let open = rate.map(|rate| format!("{}/s", show_number(rate)));
    let closed = connections.map(|n| format!("{n} connections as fast as they are answered"));
    let loads: Vec<String> = open.into_iter().chain(closed).collect();
    message(&format!(
        "{} with {}, alternating in slices of 40 to 500 ms, until it is settled or for {}",
        names.join(" against "),
        loads.join(" and "),
        show_duration(options.at_most)
    ));
    Ok(Written { catalog, experiment })
}

/// Writes the manifests of all services. Refuses if any of the files to come already exists.
fn write_manifests(
    files: &mut WrittenFiles,
    services: &[Service<'_>],
    allow_remote: bool,
    experiment: &str,
) -> Result<(), Error> {
    let manifests: Vec<String> =
        services.iter().map(|service| format!("systems/{}/system.toml", service.name)).collect();
    let others = [format!("workloads/{WORKLOAD}.toml"), experiment.to_owned()];
    files.must_be_new(manifests.iter().chain(&others), "name another folder with --out")?;
    let has_paths = url_paths(services).len() > 1;
    for (path, service) in manifests.iter().zip(services) {
        let manifest = service.manifest(files.dir(), allow_remote, has_paths);
        files.write(path, manifest.as_bytes())?;
    }
    Ok(())
}

/// Starts or reaches all services and samples their responses.
fn sample_services(
    catalog: &Catalog,
    services: &[Service<'_>],
    requests: &mut Requests,
    stop: &AtomicBool,
) -> Result<Samples, Error> {
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    let summary = format!("the request that {} get", names.join(", "));
    let workload = workload_to_sample(requests, summary)?;
    let _lock = lock(stop)?;
    sample(catalog, &names, workload, stop, &|name, what, log| {
        let service = services.iter().find(|service| service.name == name);
        service.unwrap_or(&services[0]).failed(what, log)
    })
}

/// Returns the text of the experiment's design.
fn design(options: &Options) -> String {
    format!(
        "[design]\nblocks    = {}\nmargin    = {}\nwarmup    = \"{}\"\nmeasure   = \"{}\"\nbudget    = \"{}\"\nalternate = \"slices\"\n# Verdicts are about these processes.\nstart_once = true\n",
        options.blocks,
        options.margin,
        time(options.warmup),
        time(options.duration.unwrap_or(MEASURE)),
        time(options.at_most),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_and_rates_are_parsed() {
        assert_eq!(
            (margin("5%"), margin("0.05"), margin("x").is_err()),
            (Ok(0.05), Ok(0.05), true)
        );
        assert_eq!((rate("1k"), rate("2.5k"), rate("-1").is_err()), (Ok(1000.0), Ok(2500.0), true));
    }
}
