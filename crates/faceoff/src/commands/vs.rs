//! `faceoff vs`: two services that run already, compared in interleaved trials by the same rule.

use super::init::files::{self, Files, Means};
use super::init::{WORKLOAD, listen, requests};
use super::{VERSION, cache, lock, run};
use crate::exit::Error;
use crate::output::message;
use crate::progress::{How, Show};
use crate::signals;
use clap::Args;
use lab::Place;
use load::Protocol;
use load::tls::TlsOptions;
use load::url::{self, Access, Url};
use model::catalog::Catalog;
use model::experiment::{RATE_MAX, RATE_MIN};
use model::name::is_name;
use model::problem::Problems;
use model::secret;
use model::units::parse_duration;
use model::workload::{Statuses, Workload};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What `faceoff vs` is asked.
#[derive(Args)]
#[command(
    after_help = "Nothing is started, so start-up time, CPU time and memory are not known; the page says so. The first gives the right answer.\n\nExit codes: 0 done, 1 one does not answer rightly, 2 usage, 4 the measurement is unsound, 130 and 143 interrupted."
)]
pub struct Options {
    /// The first, which the other is compared with: http://host:port/path or NAME=http://...
    a: String,
    /// The other, asked the same
    b: String,
    /// What both are asked, where it is not GET and the path: `POST /path BODY` or a command line of curl
    #[arg(long, value_name = "REQUEST")]
    request: Option<String>,
    /// Arrivals a second [default: 100, and 8 connections as well]
    #[arg(short = 'R', long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Connections of a closed load, as fast as answered
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: Option<u32>,
    /// How long each load is measured, in each trial
    #[arg(short, long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    duration: Duration,
    /// How many blocks, each with one trial of both (6 are needed for a verdict)
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// A ratio from 1/(1+MARGIN) to 1+MARGIN makes no difference that matters
    #[arg(long, value_name = "MARGIN", default_value = "0.05", value_parser = margin)]
    margin: f64,
    /// The most load before the first measurement of each trial; it ends when throughput is steady
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    warmup: Duration,
    /// The folder for the record, and for the files that say what was done; must not hold one yet [default: records/vs-<time>]
    // The text of --help, not HTML.
    #[allow(rustdoc::invalid_html_tags)]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// They may be on another machine: do so only where the load is welcome
    #[arg(long)]
    allow_remote: bool,
    /// Show the plan and how long it takes, and measure nothing
    #[arg(long)]
    plan: bool,
    /// How to say how far it is [default: live on a terminal, else plain]
    #[arg(long, value_enum, value_name = "HOW")]
    progress: Option<How>,
}

/// What the experiment is called.
const EXPERIMENT: &str = "vs";

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (RATE_MIN..=RATE_MAX).contains(rate));
    rate.ok_or_else(|| format!("a rate is a number from {RATE_MIN} to {RATE_MAX}"))
}

fn margin(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|margin| (0.0..=10.0).contains(margin)).ok_or_else(|| "a margin is a number from 0 to 10, such as 0.05".into())
}

/// One of the two.
struct Side<'t> {
    name: String,
    url: Url<'t>,
}

impl Side<'_> {
    fn read(text: &str) -> Result<Side<'_>, Problems> {
        let named = text.split_once('=').filter(|(name, url)| is_name(name) && url.starts_with("http"));
        secret::notice_query(text);
        let url = url::parse(named.map_or(text, |(_, url)| url))?;
        let server = url.server();
        let authority = server.split("://").nth(1).unwrap_or_default();
        let usual = || authority.replace(['[', ']'], "").replace(':', "-").trim_matches('-').to_owned();
        Ok(Side { name: named.map_or_else(usual, |(name, _)| name.to_owned()), url })
    }

    fn manifest(&self, remote: bool) -> String {
        let server = files::quoted(&self.url.server());
        let remote = if remote { "remote = true\n" } else { "" };
        format!(
            "name    = {name}\nsummary = {summary}\nkind    = \"service\"\nanswers = [\"{WORKLOAD}\"]\n\n# It runs already: nothing is started, and nothing is known of its process.\n[reached]\nurl = {server}\n{remote}",
            name = files::quoted(&self.name),
            summary = files::quoted(&format!("what answers at {}", self.url.server())),
        )
    }
}

/// `around` is the folder in which faceoff keeps what it knows of this machine, where there is one.
pub fn run(dir: Option<&Path>, around: Option<&Catalog>, options: &Options) -> Result<ExitCode, Error> {
    let show = Show::asked(options.progress)?;
    let (a, b) = (Side::read(&options.a)?, Side::read(&options.b)?);
    if a.name == b.name {
        let hint = "give them names: old=http://127.0.0.1:8080/ new=http://127.0.0.1:8081/";
        return Err(Problems::plain(format!("both are called `{}`", a.name), hint).into());
    }
    for side in [&a, &b] {
        if !is_name(&side.name) {
            let hint = format!("give it one: mine={}", side.url.server());
            return Err(Problems::plain(format!("`{}` cannot name a service", side.name), hint).into());
        }
        let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
        let access = Access { tls, protocol: Protocol::Http1 { keep_alive: true }, unix: None, allow_remote: options.allow_remote };
        url::resolve(&side.url, &access)?;
    }
    let mut requests = match &options.request {
        Some(_) if a.url.path != "/" || b.url.path != "/" => {
            let hint = "let both URLs end with the port: the request has a path of its own";
            return Err(Problems::plain("--request and a path both say what is asked", hint).into());
        }
        Some(request) => requests(request)?,
        None if a.url.path != b.url.path => {
            let hint = "both must be asked the same: give them the same path";
            return Err(
                Problems::plain(format!("the two URLs ask for different things, `{}` and `{}`", a.url.path, b.url.path), hint).into()
            );
        }
        None => requests(&a.url.path)?,
    };
    let folder = options.out.clone().unwrap_or_else(|| run::default_folder(dir.unwrap_or(Path::new(".")), EXPERIMENT));
    let unusable = |e| Error::Failed(format!("{} cannot be made: {e}\nhint: name another folder with --out", folder.display()));
    std::fs::create_dir_all(&folder).map_err(unusable)?;
    let mut files = Files::new(folder.canonicalize().map_err(unusable)?, false);
    let stop = signals::stop_flag();
    let catalog = match write(&mut files, [&a, &b], &mut requests, options, &stop) {
        Ok(catalog) if !options.plan => catalog,
        ended => {
            let said = ended.and_then(|catalog| run::plan(&catalog, &catalog.experiment(EXPERIMENT)?));
            files.take_back();
            let _ = std::fs::remove_dir(&folder);
            message(&said?);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let experiment = catalog.experiment(EXPERIMENT)?;
    message(&run::plan(&catalog, &experiment)?);
    let cache = cache(around.unwrap_or(&catalog));
    let place = Place { catalog: &catalog, cache: &cache, version: VERSION, stop: &stop };
    let code = run::begin(&place, experiment, false, vec![], files.dir(), show, &run::Ending::default())?;
    message(&format!("the files that say what was done stand there as well; again: faceoff --dir {} run {EXPERIMENT}", folder.display()));
    Ok(code)
}

/// Writes the files of the experiment; the first service is asked for the right answer.
fn write(
    files: &mut Files,
    sides: [&Side<'_>; 2],
    requests: &mut super::import::Requests,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Catalog, Error> {
    let manifests = sides.map(|side| format!("systems/{}/system.toml", side.name));
    let (workload, experiment) = (format!("workloads/{WORKLOAD}.toml"), format!("experiments/{EXPERIMENT}.toml"));
    files.must_be_new(manifests.iter().chain([&workload, &experiment]), "name another folder with --out")?;
    for (path, side) in manifests.iter().zip(sides) {
        files.write(path, side.manifest(options.allow_remote).as_bytes())?;
    }
    let (rate, connections) = match (options.rate, options.connections) {
        (None, None) => (Some(100.0), Some(8)),
        given => given,
    };
    let time = files::time;
    let design = format!(
        "[design]\nblocks  = {}\nmargin  = {}\nwarmup  = \"{}\"\nmeasure = \"{}\"\n",
        options.blocks,
        options.margin,
        time(options.warmup),
        time(options.duration)
    );
    let means = Means { rate, connections, design };
    let catalog = Catalog::open(files.dir())?;
    let asked: &mut Workload = requests.workload();
    asked.name = WORKLOAD.into();
    asked.summary = format!("what {} and {} are asked", sides[0].name, sides[1].name);
    if let Some(last) = asked.steps.last_mut() {
        last.answer.status = Statuses { from: 200, to: 399 };
    }
    asked.must_have_secrets()?;
    let heard = {
        let _lock = lock(stop)?;
        listen(&catalog, &sides[0].name, asked, stop, &|what, _| {
            Error::Failed(format!("{} {what}\nhint: does it run, and is what is asked right?", sides[0].name))
        })?
    };
    let right = files.write_workload(requests, WORKLOAD, &heard)?;
    files.write(&experiment, files::experiment(EXPERIMENT, sides.map(|side| side.name.as_str()), WORKLOAD, &means).as_bytes())?;
    // What reads them has the last word.
    catalog.experiment(EXPERIMENT)?;
    message(&format!("the right answer is what {} gave: {right}{}", sides[0].name, requests.lost()));
    requests.kept_out().iter().for_each(|text| message(text));
    Ok(catalog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_named_or_called_after_their_place() {
        let read = |text: &str| Side::read(text).map(|side| (side.name, side.url.server(), side.url.path)).map_err(|e| e.to_string());
        let whole = |name: &str, server: &str, path: &str| Ok((name.to_owned(), server.to_owned(), path.to_owned()));
        assert_eq!(read("http://localhost:8080/a?b=c"), whole("localhost-8080", "http://localhost:8080", "/a?b=c"));
        assert_eq!(read("old=https://h/x=y"), whole("old", "https://h", "/x=y"));
        assert_eq!(read("http://[::1]:81"), whole("1-81", "http://[::1]:81", "/"));
        assert!(read("old=ftp://h").unwrap_err().contains("is not an http:// or https:// URL"));
    }
}
