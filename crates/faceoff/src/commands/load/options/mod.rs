//! The options of `faceoff load`, and the load that they describe.
//!
//! `contradictions` refuses combinations, and `arrival` derives how requests arrive. Start at
//! [`Options::planned_load`].

mod arrival;
mod contradictions;
#[cfg(test)]
mod tests;

use super::planned_load::PlannedLoad;
use super::request::{body_of, count, one_request, stage, whole};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use load::tls::TlsOptions;
use load::url::{self, Access};
use load::{Protocol, Wait};
use spec::experiment::external_generator::{Driver, Task};
use spec::experiment::{Pause, Stage};
use spec::problem::Problems;
use spec::secret;
use spec::threshold;
use spec::threshold::{ServiceLevel, Threshold};
use spec::units::{parse_duration, parse_number};
use spec::workload::{Statuses, Workload};
use std::path::PathBuf;
use std::time::Duration;

/// How `faceoff load` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs: faceoff.load.v1
    Json,
    /// One line per second
    Csv,
}

/// Options of `faceoff load`.
#[derive(Args)]
#[command(
    after_help = "Latency counts from the scheduled instant, service time from the instant of \
                  sending.\n\n\
                  Exit codes: 0 done, 1 no correct response, 2 usage, 3 a threshold breached, 130 \
                  and 143 interrupted. With --capacity: 0 a capacity was found, or the search \
                  reached a given bound, 1 it ended earlier, 2 usage, 130 and 143 interrupted. \
                  With --driver: 0 done, 1 the tool is missing, failed, or got no response, 2 \
                  usage, or it cannot make this load, 130 and 143 interrupted."
)]
pub struct Options {
    /// The URL: http://host:port/path or https://...; `{env.NAME}` in the URL, headers and body is
    /// replaced by an environment variable
    pub url: String,

    /// Connections of a closed load; with a rate, maximum number of requests in flight [default:
    /// 64; with a rate 1024 or the requests of 100 ms]
    #[arg(short, long, value_name = "N", value_parser = count, help_heading = "Load")]
    connections: Option<u32>,
    /// Number of threads, each with its share of the load
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Load")]
    threads: u32,
    /// Duration: 500ms, 30s, 2m; a plain number is seconds [default: 10s; with --stages their sum;
    /// with -n or --rounds until done, at most 1h]
    #[arg(short = 'd', long, short_alias = 'z', value_parser = parse_duration, help_heading = "Load")]
    duration: Option<Duration>,
    /// Maximum number of requests (10k, 1M)
    #[arg(short = 'n', long, value_name = "N", value_parser = whole, help_heading = "Load")]
    requests: Option<u64>,
    /// Requests per second in total (1k, 2.5k) [default: as fast as responses arrive]
    #[arg(short = 'R', long, short_alias = 'q', value_name = "RATE", value_parser = parse_number, help_heading = "Load")]
    rate: Option<f64>,
    /// Number of requests, spread evenly over the duration: another way to give a rate
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Load")]
    arrivals: Option<u64>,
    /// Rates to change to, one after another, as TIME:RATE; TIME 0 jumps. Begins at --rate, or at
    /// the first RATE
    #[arg(long, value_name = "30s:100,1m:200", value_delimiter = ',', value_parser = stage, help_heading = "Load")]
    stages: Vec<Stage>,
    /// Random arrivals (Poisson), as from many independent users, instead of even ones
    #[arg(long, help_heading = "Load")]
    poisson: bool,
    /// Drop requests beyond the in-flight limit and count them as unsent; without it they wait,
    /// which counts as latency
    #[arg(long, help_heading = "Load")]
    shed: bool,
    /// Number of users, each with a connection and pauses between requests
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Load")]
    users: Option<u32>,
    /// Time over which users start, one after another
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Load")]
    ramp: Option<Duration>,
    /// Pause between a user's requests: 1s, 1s..2s, or ~1s for exponential pauses with that mean
    #[arg(long, value_parser = Pause::parse, help_heading = "Load")]
    pause: Option<Pause>,
    /// How often each user repeats the workload
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Load")]
    rounds: Option<u64>,
    /// Number of connections that users share
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Load")]
    pooled: Option<u32>,

    /// Search for the highest rate, or with --users the most users, at which a service level holds:
    /// 'p95<100ms and errors<0.1%'. The search begins at -R or --users; -d is the duration of one
    /// probe [default: 3s]
    #[arg(long, value_name = "LEVEL", value_parser = ServiceLevel::parse, help_heading = "Capacity",
          conflicts_with_all = ["requests", "arrivals", "stages", "shed", "ramp", "rounds", "thresholds", "hdr", "pipeline", "streams", "driver"])]
    capacity: Option<ServiceLevel>,
    /// Maximum rate, or number of users, to try
    #[arg(long, value_name = "N", value_parser = parse_number, requires = "capacity", help_heading = "Capacity")]
    at_most: Option<f64>,
    /// Number of probes around the limit
    #[arg(long, value_name = "N", default_value = "24", requires = "capacity", value_parser = clap::value_parser!(u32).range(6..=1000), help_heading = "Capacity")]
    probes: u32,

    /// A header, as `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Requests")]
    headers: Vec<String>,
    /// The method [default: GET, or POST with a body]
    #[arg(short = 'X', long, short_alias = 'm', help_heading = "Requests")]
    method: Option<String>,
    /// The body, or @FILE
    #[arg(long, value_name = "TEXT", help_heading = "Requests")]
    body: Option<String>,
    /// The status of a correct response: 200, 2xx, 200..399 [default: 2xx]
    #[arg(long, value_parser = Statuses::parse, help_heading = "Requests")]
    status: Option<Statuses>,
    /// Send the requests of a workload file and check every response; the URL then names only the
    /// server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["headers", "method", "body", "status"], help_heading = "Requests")]
    workload: Option<PathBuf>,
    /// Time limit for one request
    #[arg(long, default_value = "10s", value_parser = parse_duration, help_heading = "Requests")]
    timeout: Duration,
    /// Seed for everything random: Poisson arrivals, pauses, generated data
    #[arg(long, default_value = "1", help_heading = "Requests")]
    seed: u64,

    /// Use HTTP/2: by ALPN over TLS, by prior knowledge without TLS
    #[arg(long, help_heading = "Connections")]
    http2: bool,
    /// Open a new connection for each request
    #[arg(long, help_heading = "Connections")]
    close: bool,
    /// Requests in flight on each HTTP/1.1 connection of a closed load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Connections")]
    pipeline: Option<u32>,
    /// Streams in flight on each HTTP/2 connection of a closed load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Connections")]
    streams: Option<u32>,
    /// Trust any certificate
    #[arg(short = 'k', long, help_heading = "Connections")]
    pub insecure: bool,
    /// Trust only these certificate authorities (PEM)
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "Connections")]
    cacert: Option<PathBuf>,
    /// The client's certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Connections")]
    cert: Option<PathBuf>,
    /// The key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "Connections")]
    key: Option<PathBuf>,
    /// Connect to this Unix socket
    #[arg(long, value_name = "PATH", help_heading = "Connections")]
    unix: Option<PathBuf>,
    /// Allow a target on another machine; make sure that you may load it
    #[arg(long, help_heading = "Connections")]
    allow_remote: bool,
    /// Generate the load with another tool and read its report; see
    /// docs/guide/external-generators.md
    #[arg(long, value_parser = driver_names(), help_heading = "Load")]
    pub driver: Option<Driver>,
    /// Generate the load with agents, each a part of it. They must have the same token as the
    /// environment variable FACEOFF_AGENT_TOKEN; see docs/guide/several-machines.md
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', help_heading = "Load",
          conflicts_with_all = ["capacity", "driver", "unix", "cacert", "cert"])]
    pub agents: Vec<String>,
    /// How threads wait: near wakes up shortly before a request is due; asleep leaves the CPU to
    /// others
    #[arg(long, value_enum, default_value = "near", help_heading = "Connections")]
    wait: Waiting,

    /// Exit with 3 unless this holds: 'p(99)<50ms', 'errors<0.1%', avg, med, min, max, rate, count;
    /// repeatable
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = threshold::parse_thresholds, help_heading = "Results")]
    thresholds: Vec<Vec<Threshold>>,
    /// How to print
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub format: Format,
    /// Write the results into a file
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Write the distributions into a file, as an HdrHistogram interval log
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub hdr: Option<PathBuf>,
}

/// How threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Waiting {
    Near,
    Asleep,
}

impl Options {
    /// Returns the load that the options describe.
    ///
    /// # Errors
    /// Options contradict each other, or a value is out of range.
    pub fn planned_load(&self) -> Result<PlannedLoad, Problems> {
        self.refuse_contradictions()?;
        let filled = secret::filled(&self.url)?;
        secret::notice_query(&filled);
        let url = url::parse(&filled)?;
        let load = self.load()?;
        let protocol =
            if self.http2 { Protocol::Http2 } else { Protocol::Http1 { keep_alive: !self.close } };
        let tls = TlsOptions {
            ca: self.cacert.clone(),
            insecure: self.insecure,
            certificate: self.cert.clone().zip(self.key.clone()),
            http2: self.http2,
        };
        let access =
            Access { tls, protocol, unix: self.unix.clone(), allow_remote: self.allow_remote };
        let workload = match &self.workload {
            Some(file) => {
                let workload = Workload::read(file)?;
                workload.must_have_secrets()?;
                workload
            }
            None => {
                let body = self.body.as_deref().map(body_of).transpose()?;
                let method =
                    self.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" });
                one_request(
                    &self.url,
                    method,
                    &url.path,
                    &self.headers,
                    body,
                    self.status.unwrap_or(Statuses { from: 200, to: 299 }),
                )?
            }
        };
        Ok(PlannedLoad {
            url: self.url.clone(),
            target: url::resolve(&url, &access)?,
            workload,
            duration: self.duration()?,
            requests: self.requests,
            timeout: self.timeout,
            seed: self.seed,
            // Each probe of a search uses as many threads as its level needs.
            threads: if self.capacity.is_some() {
                self.threads
            } else {
                load::event_loops(&load, protocol, self.threads)
            },
            wait: if self.wait == Waiting::Near { Wait::Near } else { Wait::Asleep },
            load,
        })
    }

    /// Returns the task for another load generator.
    ///
    /// # Errors
    /// An option cannot be combined with another generator.
    pub fn task<'a>(&self, run: &'a PlannedLoad) -> Result<Task<'a>, Problems> {
        let refused = [
            (self.requests.is_some(), "-n", "bound it by time, with -d"),
            (
                !self.thresholds.is_empty(),
                "--threshold",
                "compare its report with your thresholds yourself",
            ),
            (self.hdr.is_some(), "--hdr", "use the distributions that the tool itself writes"),
            (self.output.is_some(), "--output", "redirect the output to a file"),
            (self.format == Format::Csv, "--format csv", "print text or json"),
            (self.unix.is_some(), "--unix", "give a port"),
            (
                self.cacert.is_some() || self.cert.is_some(),
                "--cacert or --cert",
                "disable certificate checks with --insecure",
            ),
        ];
        if let Some((_, what, hint)) = refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            return Err(Problems::plain(format!("--driver cannot be combined with {what}"), hint));
        }
        Ok(Task {
            server: url::parse(&secret::filled(&self.url)?)?.server(),
            workload: &run.workload,
            load: &run.load,
            duration: run.duration,
            timeout: run.timeout,
            threads: run.threads,
            is_http2: self.http2,
            closes: self.close,
            is_insecure: self.insecure,
        })
    }

    /// Returns all thresholds.
    pub fn thresholds(&self) -> impl Iterator<Item = &Threshold> {
        self.thresholds.iter().flatten()
    }
}

/// Parses the name of another load generator.
fn driver_names() -> impl TypedValueParser<Value = Driver> {
    PossibleValuesParser::new(Driver::ALL.map(Driver::name))
        .try_map(|name| Driver::named(&name).ok_or("no such driver"))
}
