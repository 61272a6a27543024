//! What `faceoff load` is asked, and what that adds up to.

use super::{Format, Run};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use load::tls::TlsOptions;
use load::url::{self, Access};
use load::{Protocol, Wait};
use model::capacity::{Capacity, Of, USUAL_FROM, USUAL_PROBE};
use model::experiment::{Load, Overflow, Pause, RATE_MAX, RATE_MIN, Spacing, Stage, in_flight_for};
use model::problem::Problems;
use model::secret;
use model::template::Template;
use model::threshold::{self, ServiceLevel, Threshold};
use model::units::{parse_duration, parse_number};
use model::witness::{Driver, Task};
use model::workload::{Answer, Body, Statuses, Step, Workload, is_header_name, is_header_value, is_method, is_written_by_generator};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that is bounded by a number of requests or rounds ends by itself.
const LONGEST: Duration = Duration::from_secs(3600);
const USUAL: Duration = Duration::from_secs(10);

/// What `faceoff load` is asked.
#[derive(Args)]
#[command(
    after_help = "Latency counts from the scheduled instant, service time from the sending. Exit codes: 0 done, 1 no right answer, 2 usage, 3 a threshold breached, 130 interrupted."
)]
pub struct Options {
    /// Where requests go: http://host:port/path or https://...; here, in headers and in the body `{env.NAME}` is an environment variable
    pub url: String,

    /// Connections of a closed load; with a rate, the most requests under way at once [default: 64; with a rate 1024 or those of 100 ms]
    #[arg(short, long, value_name = "N", value_parser = count, help_heading = "Load")]
    connections: Option<u32>,
    /// Threads, each with its share of the load
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Load")]
    threads: u32,
    /// How long: 500ms, 30s, 2m; a bare number is seconds [default: 10s; the stages; until -n or --rounds is done, at most 1h]
    #[arg(short = 'd', long, short_alias = 'z', value_parser = parse_duration, help_heading = "Load")]
    duration: Option<Duration>,
    /// At most this many requests (10k, 1M)
    #[arg(short = 'n', long, value_name = "N", value_parser = whole, help_heading = "Load")]
    requests: Option<u64>,
    /// Requests per second in all (1k, 2.5k); without it, as fast as answered
    #[arg(short = 'R', long, short_alias = 'q', value_name = "RATE", value_parser = parse_number, help_heading = "Load")]
    rate: Option<f64>,
    /// So many requests, evenly over the duration: a rate by another name
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Load")]
    arrivals: Option<u64>,
    /// Rates to go to, one after the other, as TIME:RATE; TIME 0 jumps. Begins at --rate, or at the first RATE
    #[arg(long, value_name = "30s:100,1m:200", value_delimiter = ',', value_parser = stage, help_heading = "Load")]
    stages: Vec<Stage>,
    /// Arrivals as those of many who know nothing of each other, not evenly
    #[arg(long, help_heading = "Load")]
    poisson: bool,
    /// What arrives when the most are under way is not sent, and counted as unsent; otherwise it waits, which counts as latency
    #[arg(long, help_heading = "Load")]
    shed: bool,
    /// So many users, each with a connection, who pause between requests
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Load")]
    users: Option<u32>,
    /// Users begin one after the other over this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Load")]
    ramp: Option<Duration>,
    /// A user's pause: 1s, 1s..2s, or ~1s for exponential pauses with that mean
    #[arg(long, value_parser = Pause::parse, help_heading = "Load")]
    pause: Option<Pause>,
    /// How often each user goes through the workload
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Load")]
    rounds: Option<u64>,
    /// Users share so many connections
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Load")]
    pooled: Option<u32>,

    /// Instead of one load: the highest rate, or with --users the most users, at which this holds: 'p95<100ms and errors<0.1%'.
    /// The search begins at -R or --users; -d is the length of a probe [default: 3s]
    #[arg(long, value_name = "LEVEL", value_parser = ServiceLevel::parse, help_heading = "Capacity",
          conflicts_with_all = ["requests", "arrivals", "stages", "shed", "ramp", "rounds", "thresholds", "hdr", "pipeline", "streams", "driver"])]
    capacity: Option<ServiceLevel>,
    /// The search ends there
    #[arg(long, value_name = "N", value_parser = parse_number, requires = "capacity", help_heading = "Capacity")]
    at_most: Option<f64>,
    /// Probes around the edge
    #[arg(long, value_name = "N", default_value = "24", requires = "capacity", value_parser = clap::value_parser!(u32).range(6..=1000), help_heading = "Capacity")]
    probes: u32,

    /// A header, as `Name: value`; may be given several times
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Requests")]
    headers: Vec<String>,
    /// The method [default: GET, with a body POST]
    #[arg(short = 'X', long, short_alias = 'm', help_heading = "Requests")]
    method: Option<String>,
    /// The body, or @FILE
    #[arg(long, value_name = "TEXT", help_heading = "Requests")]
    body: Option<String>,
    /// The status of a right answer: 200, 2xx, 200..399 [default: 2xx]
    #[arg(long, value_parser = Statuses::parse, help_heading = "Requests")]
    status: Option<Statuses>,
    /// A workload file instead: its requests in turn, every answer checked; the URL then gives only the server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["headers", "method", "body", "status"], help_heading = "Requests")]
    workload: Option<PathBuf>,
    /// When a request is given up
    #[arg(long, default_value = "10s", value_parser = parse_duration, help_heading = "Requests")]
    timeout: Duration,
    /// Fixes what is random: Poisson arrivals, pauses, generated data
    #[arg(long, default_value = "1", help_heading = "Requests")]
    seed: u64,

    /// HTTP/2: by ALPN over TLS, by prior knowledge in the clear
    #[arg(long, help_heading = "Connections")]
    http2: bool,
    /// A connection for each request
    #[arg(long, help_heading = "Connections")]
    close: bool,
    /// Requests under way on each HTTP/1.1 connection of a closed load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Connections")]
    pipeline: Option<u32>,
    /// Streams on each HTTP/2 connection of a closed load
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
    /// Let the load go to another machine; make sure that it is yours to load
    #[arg(long, help_heading = "Connections")]
    allow_remote: bool,
    /// Have another load generator make the load, and read what it reports; see docs/witnesses.md
    #[arg(long, value_parser = read_driver(), help_heading = "Load")]
    pub driver: Option<Driver>,
    /// Have agents make the load, each its part; they and the environment variable FACEOFF_AGENT_TOKEN have one token; see docs/agents.md
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', help_heading = "Load",
          conflicts_with_all = ["capacity", "driver", "unix", "cacert", "cert"])]
    pub agents: Vec<String>,
    /// How threads wait: near is awake shortly before an instant is due; asleep leaves the CPU to others
    #[arg(long, value_enum, default_value = "near", help_heading = "Connections")]
    wait: Waiting,

    /// What must hold, or the exit code is 3: 'p(99)<50ms', 'errors<0.1%', avg, med, min, max, rate, count; may be given several times
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = threshold::parse, help_heading = "Results")]
    thresholds: Vec<Vec<Threshold>>,
    /// How to print
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub format: Format,
    /// Print into a file
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub output: Option<PathBuf>,
    /// Write the distributions as an HdrHistogram interval log
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub hdr: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Waiting {
    Near,
    Asleep,
}

/// Reads `100`, `10k`: a whole number from 1.
pub fn whole(text: &str) -> Result<u64, String> {
    let number = parse_number(text)?;
    match number.round() == number && (1.0..=1e15).contains(&number) {
        true => Ok(number as u64),
        false => Err(format!("`{text}` is not a whole number from 1")),
    }
}

/// Reads a number of connections or users.
pub fn count(text: &str) -> Result<u32, String> {
    u32::try_from(whole(text)?).ok().filter(|n| *n <= 1_000_000).ok_or_else(|| format!("`{text}` is more than 1M"))
}

fn stage(text: &str) -> Result<Stage, String> {
    let (over, rate) = text.split_once(':').ok_or_else(|| format!("`{text}` is no stage: write it like 30s:100"))?;
    let to_per_s = parse_number(rate)?;
    match (0.0..=RATE_MAX).contains(&to_per_s) {
        true => Ok(Stage { over: parse_duration(over)?, to_per_s }),
        false => Err(format!("a rate of {rate}/s is out of range: give one from 0 to 10M")),
    }
}

/// Refuses a rate that is none.
pub fn rate_in_range(rate: f64) -> Result<f64, Problems> {
    match (RATE_MIN..=RATE_MAX).contains(&rate) {
        true => Ok(rate),
        false => Err(Problems::plain(format!("a rate of {rate}/s is out of range"), "give a rate from 0.001 to 10M")),
    }
}

impl Options {
    /// What all of this adds up to.
    ///
    /// # Errors
    /// What contradicts itself, and what to do.
    pub fn to_run(&self) -> Result<Run, Problems> {
        self.contradictions()?;
        let filled = secret::filled(&self.url)?;
        secret::notice_query(&filled);
        let url = url::parse(&filled)?;
        let load = self.load()?;
        let protocol = if self.http2 { Protocol::Http2 } else { Protocol::Http1 { keep_alive: !self.close } };
        let tls = TlsOptions {
            ca: self.cacert.clone(),
            insecure: self.insecure,
            certificate: self.cert.clone().zip(self.key.clone()),
            http2: self.http2,
        };
        let access = Access { tls, protocol, unix: self.unix.clone(), allow_remote: self.allow_remote };
        let workload = match &self.workload {
            Some(file) => {
                let workload = Workload::read(file)?;
                workload.must_have_secrets()?;
                workload
            }
            None => {
                let body = self.body.as_deref().map(read_body).transpose()?;
                let method = self.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" });
                one_step(&self.url, method, &url.path, &self.headers, body, self.status.unwrap_or(Statuses { from: 200, to: 299 }))?
            }
        };
        Ok(Run {
            url: self.url.clone(),
            target: url::resolve(&url, &access)?,
            workload,
            duration: self.duration()?,
            requests: self.requests,
            timeout: self.timeout,
            seed: self.seed,
            // Each probe has as many of them as its level can use.
            threads: if self.capacity.is_some() { self.threads } else { load::event_loops(&load, protocol, self.threads) },
            wait: if self.wait == Waiting::Near { Wait::Near } else { Wait::Asleep },
            load,
        })
    }

    /// What another generator is to do.
    ///
    /// # Errors
    /// What it is not asked.
    pub fn task<'a>(&self, run: &'a Run) -> Result<Task<'a>, Problems> {
        let refused = [
            (self.requests.is_some(), "-n", "bound it by time, with -d"),
            (!self.thresholds.is_empty(), "--threshold", "hold what it reports against your bounds yourself"),
            (self.hdr.is_some(), "--hdr", "its distributions are its own"),
            (self.output.is_some(), "--output", "send what is printed to a file"),
            (self.format == Format::Csv, "--format csv", "print text or json"),
            (self.unix.is_some(), "--unix", "give a port"),
            (self.cacert.is_some() || self.cert.is_some(), "--cacert or --cert", "let it trust anybody, with --insecure"),
        ];
        if let Some((_, what, hint)) = refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            return Err(Problems::plain(format!("--driver with {what} is not done"), hint));
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

    /// Everything that must hold.
    pub fn thresholds(&self) -> impl Iterator<Item = &Threshold> {
        self.thresholds.iter().flatten()
    }

    fn contradictions(&self) -> Result<(), Problems> {
        let has_rate = self.rate.is_some() || self.arrivals.is_some();
        let (arrivals, users) =
            (has_rate || !self.stages.is_empty() || (self.capacity.is_some() && self.users.is_none()), self.users.is_some());
        let closed = !arrivals && !users;
        let rules = [
            (
                self.arrivals.is_some() && (self.rate.is_some() || !self.stages.is_empty()),
                "--arrivals with --rate or --stages",
                "say how many requests arrive, or how many a second",
            ),
            (
                users && arrivals,
                "--users with --rate or --stages",
                "users make requests when their pauses are over: leave out the rate, or the users",
            ),
            (
                users && self.connections.is_some(),
                "--users with --connections",
                "each user has a connection: leave -c out, or share some with --pooled",
            ),
            (!users && self.ramp.is_some(), "--ramp without --users", "say how many users, or give a rate that rises with --stages"),
            (!users && self.pause.is_some(), "--pause without --users", "say how many users there are"),
            (!users && self.rounds.is_some(), "--rounds without --users", "say how many users there are, or bound the requests with -n"),
            (!users && self.pooled.is_some(), "--pooled without --users", "say how many users there are, or connections with -c"),
            (!arrivals && self.poisson, "--poisson without --rate", "say how many requests a second arrive"),
            (!arrivals && self.shed, "--shed without --rate", "say how many requests a second arrive"),
            (self.http2 && self.pipeline.is_some(), "--pipeline with --http2", "HTTP/2 has streams: write --streams"),
            (!self.http2 && self.streams.is_some(), "--streams without --http2", "add --http2, or write --pipeline"),
            (self.http2 && self.close, "--close with --http2", "HTTP/2 keeps its connections: leave out one of them"),
            (
                self.close && self.pipeline.is_some(),
                "--close with --pipeline",
                "a connection for one request carries no other: leave out one of them",
            ),
            (!closed && self.pipeline.is_some(), "--pipeline with --rate or --users", "only a closed load is pipelined: leave it out"),
            (
                !closed && self.streams.is_some(),
                "--streams with --rate or --users",
                "as many streams are opened as are needed: leave it out",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| *holds) {
            Some((_, what, hint)) => Err(Problems::plain(format!("{what} makes no sense"), hint)),
            None if self.timeout.is_zero() => Err(Problems::plain("the timeout is zero", "say how long, such as --timeout 2s")),
            None => Ok(()),
        }
    }

    fn duration(&self) -> Result<Duration, Problems> {
        let staged: Duration = self.stages.iter().map(|stage| stage.over).sum();
        let duration = match self.duration {
            Some(duration) => duration,
            None if self.capacity.is_some() => USUAL_PROBE,
            None if !self.stages.is_empty() => staged,
            None if self.requests.is_some() || self.rounds.is_some() => LONGEST,
            None => USUAL,
        };
        match duration.is_zero() {
            true => Err(Problems::plain("the duration is zero", "say how long, such as -d 10s")),
            false => Ok(duration),
        }
    }

    /// A capacity of users, where they are given, else of a rate.
    fn capacity(&self, service_level: &ServiceLevel) -> Result<Capacity, Problems> {
        let spacing = if self.poisson { Spacing::Poisson } else { Spacing::Even };
        let of = match self.users {
            Some(_) => Of::Users { pause: self.pause.unwrap_or(Pause::Constant(Duration::ZERO)), pooled: self.pooled },
            None => Of::Rate { spacing, in_flight_max: self.connections },
        };
        let capacity = Capacity {
            of,
            service_level: service_level.clone(),
            from: self.users.map(f64::from).or(self.rate).unwrap_or(USUAL_FROM),
            at_most: self.at_most.unwrap_or(of.most()),
            probe: self.duration()?,
            probes: self.probes,
        };
        match capacity.contradiction() {
            Some((what, hint)) => Err(Problems::plain(what, hint)),
            None => Ok(capacity),
        }
    }

    fn load(&self) -> Result<Load, Problems> {
        if let Some(service_level) = &self.capacity {
            return self.capacity(service_level).map(Load::Capacity);
        }
        if let Some(users) = self.users {
            let pause = self.pause.unwrap_or(Pause::Constant(Duration::ZERO));
            return Ok(Load::Users { users, ramp: self.ramp.unwrap_or_default(), pause, rounds: self.rounds, pooled: self.pooled });
        }
        let spread = self.arrivals.map(|n| self.duration().map(|over| n as f64 / over.as_secs_f64())).transpose()?;
        let Some(rate_per_s) = self.rate.or(spread).or(self.stages.first().map(|first| first.to_per_s)) else {
            let depth = self.pipeline.or(self.streams).unwrap_or(1);
            return Ok(Load::Closed { connections: self.connections.unwrap_or(64), depth });
        };
        if let Some(rate) = self.rate.or(spread) {
            rate_in_range(rate)?;
        }
        let peak = self.stages.iter().map(|stage| stage.to_per_s).fold(rate_per_s, f64::max);
        Ok(Load::Arrivals {
            rate_per_s,
            stages: self.stages.clone(),
            spacing: if self.poisson { Spacing::Poisson } else { Spacing::Even },
            in_flight_max: self.connections.unwrap_or_else(|| in_flight_for(peak)),
            overflow: if self.shed { Overflow::Shed } else { Overflow::Queue },
        })
    }
}

fn read_body(body: &str) -> Result<Vec<u8>, Problems> {
    match body.strip_prefix('@') {
        None => Ok(secret::filled(body)?.into()),
        Some(file) => std::fs::read(Path::new(file))
            .map_err(|e| Problems::plain(format!("the body's file {file} cannot be read: {e}"), "is it there, and yours to read?")),
    }
}

/// A workload of one request, whose answer is right when its status is.
///
/// # Errors
/// A method or header that cannot be sent.
pub fn one_step(
    summary: &str,
    method: &str,
    path: &str,
    headers: &[String],
    body: Option<Vec<u8>>,
    status: Statuses,
) -> Result<Workload, Problems> {
    if !is_method(method) {
        return Err(Problems::plain(format!("`{method}` is not a method"), "write GET, POST, ..."));
    }
    let step = Step {
        method: method.to_owned(),
        path: Template::fixed(path),
        headers: headers.iter().map(|header| read_header(header)).collect::<Result<_, _>>()?,
        body: body.map_or(Body::None, Body::Bytes),
        answer: Answer { status, ..Answer::default() },
        ..Step::default()
    };
    secret::notice(&step);
    Ok(Workload { name: "load".into(), summary: summary.to_owned(), steps: vec![step], ..Workload::default() })
}

fn read_driver() -> impl TypedValueParser<Value = Driver> {
    PossibleValuesParser::new(Driver::ALL.map(Driver::name)).try_map(|name| Driver::named(&name).ok_or("no such driver"))
}

fn read_header(header: &str) -> Result<(String, Template), Problems> {
    // What follows the name may be a secret.
    let shown = header.split([':', ' ']).next().unwrap_or_default();
    let wrong = || Problems::plain(format!("`{shown}` begins no header"), "write it like -H 'Accept: text/html'");
    let (name, value) = header.split_once(':').ok_or_else(wrong)?;
    let value = secret::filled(value)?;
    let (name, value) = (name.trim(), value.trim());
    if !is_header_name(name) || !is_header_value(value) {
        return Err(wrong());
    }
    if is_written_by_generator(name) {
        return Err(Problems::plain(
            format!("the header `{name}` is written by the load generator itself"),
            "leave it out; --close has a connection closed after each request",
        ));
    }
    Ok((name.to_owned(), Template::fixed(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    fn read(line: &str) -> Result<Run, String> {
        let all = ["load"].into_iter().chain(line.split(' ')).chain(["http://127.0.0.1:8080/"]);
        let command = Command::try_parse_from(all).map_err(|e| e.to_string())?;
        command.options.to_run().map_err(|problems| problems.to_string())
    }

    #[test]
    fn every_kind_of_load_can_be_written() {
        let load = |line: &str| read(line).unwrap_or_else(|e| panic!("{line}: {e}")).load;
        assert_eq!(load("-c 8 --pipeline 16"), Load::Closed { connections: 8, depth: 16 });
        assert_eq!(load("-c 8 --http2 --streams 32"), Load::Closed { connections: 8, depth: 32 });
        assert_eq!(load("-R 1k"), Load::arrivals(1000.0, 1024));
        assert_eq!(load("-R 100k"), Load::arrivals(100_000.0, 10_000));
        assert_eq!(load("--arrivals 3k -d 2m"), Load::arrivals(25.0, 1024));
        let stages = vec![Stage { over: Duration::from_secs(30), to_per_s: 100.0 }, Stage { over: Duration::ZERO, to_per_s: 200.0 }];
        let (spacing, overflow) = (Spacing::Poisson, Overflow::Shed);
        let staged = Load::Arrivals { rate_per_s: 10.0, stages, spacing, in_flight_max: 5, overflow };
        assert_eq!(load("-R 10 --stages 30s:100,0s:200 --poisson --shed -c 5"), staged);
        let pause = Pause::Uniform { from: Duration::from_secs(1), to: Duration::from_secs(2) };
        let users = Load::Users { users: 10_000, ramp: Duration::from_secs(10), pause, rounds: Some(3), pooled: None };
        assert_eq!(load("--users 10k --ramp 10s --pause 1s..2s --rounds 3"), users);
        let capacity = |line: &str| load(line).capacity().cloned().unwrap();
        let of_rate = capacity("--capacity p95<100ms,errors<0.1% -R 50 -d 2s --at-most 5k -c 200 --poisson");
        assert_eq!(of_rate.of, Of::Rate { spacing: Spacing::Poisson, in_flight_max: Some(200) });
        assert_eq!((of_rate.from, of_rate.at_most, of_rate.probe, of_rate.probes), (50.0, 5_000.0, Duration::from_secs(2), 24));
        let of_users = capacity("--capacity p95<100ms --users 5 --pause 1s --probes 12");
        assert_eq!((of_users.of.is_whole(), of_users.from, of_users.at_most, of_users.probes), (true, 5.0, 1e6, 12));
        assert_eq!(capacity("--capacity p95<100ms").from, 10.0);
    }

    #[test]
    fn a_run_lasts_as_long_as_what_bounds_it() {
        let lasts = |line: &str| read(line).unwrap().duration.as_secs();
        assert_eq!((lasts("-c 1"), lasts("-d 30"), lasts("-z 2m"), lasts("-n 5"), lasts("-n 5 -d 7")), (10, 30, 120, 3600, 7));
        assert_eq!(lasts("-R 10 --stages 30s:100,1m:200"), 90);
    }

    #[test]
    fn contradictions_are_said_with_what_to_do() {
        for line in [
            "--users 5 -R 10",
            "--arrivals 5 -R 10",
            "--users 5 -c 10",
            "--ramp 1s",
            "--pause 1s",
            "--rounds 2",
            "--pooled 2",
            "--poisson",
            "--shed",
            "--http2 --pipeline 2",
            "--streams 2",
            "--http2 --close",
            "--close --pipeline 2",
            "-R 5 --pipeline 2",
            "--capacity p95<1ms --users 5 -R 10",
            "--capacity p95<1ms -R 10 --at-most 5",
            "--capacity p95<1ms --users 10 --at-most 20.5",
            "--capacity p95<1ms -d 100ms",
            "--capacity p95<1ms --pause 1s",
            "--users 5 --http2 --streams 2",
            "-R 0",
            "-R 99M",
            "-d 0",
            "--timeout 0",
            "-X G:T",
            "-H nothing",
            "-H Connection:close",
        ] {
            let why = read(line).err().unwrap_or_else(|| panic!("{line} was taken"));
            assert!(why.starts_with("error: ") && why.contains("hint: "), "{line}: {why}");
        }
        for line in [
            "-c 0",
            "-c 2M",
            "-n 1.5",
            "-t 0",
            "-d soon",
            "--status 99",
            "--threshold p(99)",
            "--insecure --cacert x",
            "--cert x",
            "--at-most 5",
            "--capacity p95>1ms",
            "--capacity p95<1ms -n 5",
            "--capacity p95<1ms --probes 1",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
