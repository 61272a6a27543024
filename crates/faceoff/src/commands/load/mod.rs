//! `faceoff load`: one URL, one load, everything that was measured.

mod live;
pub mod output;
mod target;
mod threshold;

use crate::exit::{BREACHED, Error, FAILED};
use crate::output::{json, message, print};
use clap::{Args, ValueEnum};
use load::{Measured, Plan, Target, Wait};
use model::experiment::{DEFAULT_IN_FLIGHT, Load, Overflow, Pause, Spacing, Stage};
use model::problem::Problems;
use model::units::{parse_duration, parse_number, show_duration};
use model::workload::{Answer, BodyCheck, Step, Workload};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// How `faceoff load` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs: faceoff.load.v1
    Json,
    /// A line for each second
    Csv,
}

/// How the generator waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Waiting {
    /// Awake shortly before each request of a schedule and while a quick answer is about to come
    Near,
    /// Always asleep: where it shares its CPU with what it loads
    Asleep,
}

/// What `faceoff load` is asked.
#[derive(Args)]
#[command(after_help = "Examples:
  faceoff load http://127.0.0.1:8080/                       64 connections, as fast as answered, 10 s
  faceoff load -R 2k -d 30s http://127.0.0.1:8080/          2,000 requests a second, latency from the schedule
  faceoff load --users 1000 --ramp 10s --pause 1s..2s URL   people who read before they click
  faceoff load -R 500 --threshold 'p(99)<50ms' URL          exits with 3 when that is not kept")]
pub struct Options {
    /// Where requests go: http://host:port/path or https://
    url: String,
    /// Connections of a closed load; with a rate, the most requests under way at once [default: 64, with a rate 1024]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: Option<u32>,
    /// Event loops, each on a thread of its own
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// How long: 500ms, 30s, 2m; a bare number is seconds
    #[arg(short = 'd', long, short_alias = 'z', default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// At most this many requests
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Requests per second in all (1k, 2.5k); without it, as fast as answered
    #[arg(short = 'R', long, short_alias = 'q', value_name = "RATE", value_parser = parse_number)]
    rate: Option<f64>,
    /// How the rate goes on: over 30 s to 100/s, then over 1 min to 200/s; over 0s it jumps
    #[arg(long, value_name = "30s:100,1m:200", value_delimiter = ',', value_parser = parse_stage, requires = "rate")]
    stages: Vec<Stage>,
    /// Arrivals at random (Poisson) instead of evenly spaced
    #[arg(long, requires = "rate")]
    poisson: bool,
    /// What finds no place is not sent (and counted as unsent) instead of waiting
    #[arg(long, requires = "rate")]
    shed: bool,
    /// So many users, each with a connection, one request at a time and a pause before the next
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "connections", "pipeline", "streams"], value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: Option<u32>,
    /// Over this time users begin, one after the other
    #[arg(long, value_name = "TIME", requires = "users", default_value = "0s", value_parser = parse_duration)]
    ramp: Duration,
    /// Between an answer and the next request: 1s, 1s..2s (uniform), ~1s (exponential)
    #[arg(long, requires = "users", default_value = "0s", value_parser = Pause::parse)]
    pause: Pause,
    /// How often each user makes all requests
    #[arg(long, value_name = "N", requires = "users", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Users share so many connections
    #[arg(long, value_name = "N", requires = "users", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pooled: Option<u32>,
    /// Requests under way on each connection of a closed load, HTTP/1.1
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "close"], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pipeline: Option<u32>,
    /// Speak HTTP/2: by ALPN over https, by prior knowledge over http
    #[arg(long, conflicts_with_all = ["close", "pipeline"])]
    http2: bool,
    /// Streams under way on each connection of a closed load, HTTP/2
    #[arg(long, value_name = "N", requires = "http2", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    streams: Option<u32>,
    /// A connection for each request
    #[arg(long)]
    close: bool,
    /// A header, as `Name: value`; may be given several times
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The method
    #[arg(short = 'X', long, short_alias = 'm', default_value = "GET")]
    method: String,
    /// The body, or @FILE
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// The status of a right answer
    #[arg(long, default_value = "200", value_parser = clap::value_parser!(u16).range(100..=599))]
    status: u16,
    /// A workload file: its steps and right answers; of the URL, the host counts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["headers", "method", "body", "status"])]
    workload: Option<PathBuf>,
    /// When a request is given up
    #[arg(long, default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,
    /// Trust any certificate
    #[arg(short = 'k', long)]
    insecure: bool,
    /// Trust only these certificate authorities (PEM)
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The client's certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Connect to this Unix socket; the URL gives host and path
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Fixes what is random
    #[arg(long, default_value = "1")]
    seed: u64,
    /// How the generator waits
    #[arg(long, value_enum, default_value = "near")]
    wait: Waiting,
    /// What must be kept, or the exit code is 3: p(99)<50ms, errors<0.1%; several by comma
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',', value_parser = threshold::parse)]
    threshold: Vec<threshold::Threshold>,
    /// Let the load go to another machine; make sure that it is yours to load
    #[arg(long)]
    allow_remote: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Write what is printed to a file instead
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the histograms as an HdrHistogram interval log
    #[arg(long, value_name = "FILE")]
    hdr: Option<PathBuf>,
}

fn parse_stage(text: &str) -> Result<Stage, String> {
    let (over, to) = text.split_once(':').ok_or_else(|| format!("`{text}` is no stage: write it like 30s:100"))?;
    let to_per_s = parse_number(to)?;
    if !(0.0..=10_000_000.0).contains(&to_per_s) {
        return Err(format!("a rate of {to}/s is out of range: give one from 0 to 10M"));
    }
    Ok(Stage { to_per_s, over: parse_duration(over)? })
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let (target, path) = target::resolve(&options.url, options)?;
    let load = load_of(options)?;
    if options.duration.is_zero() {
        return Err(Problems::plain("the duration is zero", "say how long, such as -d 10s").into());
    }
    let workload = match &options.workload {
        Some(file) => Workload::read(file)?,
        None => workload(options, path)?,
    };
    let started_at = jiff::Timestamp::now();
    message(&format!("{} at {}, for {}", load.describe(), options.url, show_duration(options.duration)));
    let measured = measure(options, &target, &workload, &load)?;
    let text = match options.format {
        Format::Json => None,
        Format::Text => Some(output::to_text(&measured, &load)),
        Format::Csv => Some(output::to_csv(&measured)),
    };
    let written = |file: &PathBuf, text: String| {
        std::fs::write(file, text).map_err(|e| Error::Failed(format!("{} cannot be written: {e}\nhint: name another file", file.display())))
    };
    if let Some(file) = &options.hdr {
        written(file, output::to_hdr_log(&measured, started_at.as_millisecond() as f64 / 1e3))?;
    }
    match (&options.output, text) {
        (Some(file), Some(text)) => written(file, text)?,
        (Some(file), None) => written(file, format!("{:#}\n", output::to_json(&measured, &load)))?,
        (None, Some(text)) => print(&text),
        (None, None) => json(&output::to_json(&measured, &load)),
    }
    let outcomes: Vec<_> = options.threshold.iter().map(|threshold| threshold.check(&measured)).collect();
    for outcome in &outcomes {
        message(&outcome.to_string());
    }
    if measured.interrupted {
        return Ok(ExitCode::from(crate::signals::code()));
    }
    Ok(match measured.counts.correct {
        0 => ExitCode::from(FAILED),
        _ if outcomes.iter().any(|outcome| !outcome.kept) => ExitCode::from(BREACHED),
        _ => ExitCode::SUCCESS,
    })
}

fn load_of(options: &Options) -> Result<Load, Error> {
    if let Some(users) = options.users {
        let Options { ramp, pause, rounds, pooled, .. } = options;
        return Ok(Load::Users { users, ramp: *ramp, pause: *pause, rounds: *rounds, pooled: *pooled });
    }
    let Some(rate_per_s) = options.rate else {
        let depth = options.pipeline.or(options.streams).unwrap_or(1);
        return Ok(Load::Closed { connections: options.connections.unwrap_or(64), depth });
    };
    let can_grow = options.stages.iter().any(|stage| stage.to_per_s > 0.0);
    if !(0.001..=10_000_000.0).contains(&rate_per_s) && !(rate_per_s == 0.0 && can_grow) {
        return Err(Problems::plain(format!("a rate of {rate_per_s}/s is out of range"), "give a rate from 0.001 to 10M").into());
    }
    Ok(Load::Arrivals {
        rate_per_s,
        stages: options.stages.clone(),
        spacing: if options.poisson { Spacing::Poisson } else { Spacing::Even },
        in_flight_max: options.connections.unwrap_or(DEFAULT_IN_FLIGHT as u32),
        overflow: if options.shed { Overflow::Shed } else { Overflow::Queue },
    })
}

fn measure(options: &Options, target: &Target, workload: &Workload, load: &Load) -> Result<Measured, Error> {
    let stop = crate::signals::stop_flag();
    // One message a second from each thread; what is not looked at in time is not worth keeping.
    let (sender, messages) = mpsc::sync_channel(4 * options.threads as usize);
    let plan = Plan {
        target,
        workload,
        load,
        duration: options.duration,
        requests: options.requests,
        timeout: options.timeout,
        seed: options.seed,
        threads: options.threads,
        wait: if options.wait == Waiting::Near { Wait::Near } else { Wait::Asleep },
        stop: &stop,
        progress: Some(sender),
    };
    let watching = std::thread::spawn({
        let (threads, planned) = (options.threads, options.duration);
        move || live::show(&messages, threads, planned)
    });
    let measured = load::run(&plan).map_err(|e| Error::Failed(e.to_string()));
    // Its sender gone, whoever watches ends.
    drop(plan);
    let _ = watching.join();
    measured
}

fn workload(options: &Options, path: String) -> Result<Workload, Error> {
    let problem = |why: String, hint: &str| Error::Problems(Problems::plain(why, hint));
    let mut headers = Vec::new();
    for header in &options.headers {
        let (name, text) =
            header.split_once(':').ok_or_else(|| problem(format!("`{header}` is not a header"), "write it like -H 'Accept: text/html'"))?;
        if name.is_empty() || header.contains(['\r', '\n']) {
            return Err(problem(format!("`{header}` is not a header"), "write it like -H 'Accept: text/html'"));
        }
        headers.push((name.trim().to_owned(), text.trim().to_owned()));
    }
    if !options.method.bytes().all(|b| b.is_ascii_alphabetic()) || options.method.is_empty() {
        return Err(problem(format!("`{}` is not a method", options.method), "write GET, POST, ..."));
    }
    let body = match options.body.as_deref().map(|b| (b, b.strip_prefix('@'))) {
        None => None,
        Some((_, Some(file))) => Some(
            std::fs::read_to_string(file)
                .map_err(|e| problem(format!("the body's file {file} cannot be read: {e}"), "is it there, and UTF-8?"))?,
        ),
        Some((text, None)) => Some(text.to_owned()),
    };
    let answer = Answer { status: options.status, headers: vec![], body: BodyCheck::Any };
    let step = Step { method: options.method.clone(), path, headers, body, answer, declined: None };
    Ok(Workload { name: "load".into(), summary: options.url.clone(), steps: vec![step] })
}
