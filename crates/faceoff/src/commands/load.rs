use crate::Format;
use crate::exit::{Error, FAILED};
use crate::output::{json, message, print};
use clap::Args;
use load::{Measured, Plan};
use model::experiment::{DEFAULT_IN_FLIGHT, Load};
use model::problem::Problems;
use model::units::{parse_duration, parse_number, show_bytes, show_duration, show_number};
use model::workload::{Answer, BodyCheck, Step, Workload};
use serde_json::{Value, json as value};
use stats::{Histogram, smallest_sample};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

/// What `faceoff load` is asked.
#[derive(Args)]
pub struct Options {
    /// Where requests go: http://host:port/path
    url: String,
    /// Connections of a closed load; with a rate, the most requests under way at once [default: 64, with a rate 1024]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: Option<u32>,
    /// How long: 500ms, 30s, 2m; a bare number is seconds
    #[arg(short = 'd', long, short_alias = 'z', default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// At most this many requests
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Requests per second in all, evenly spaced (1k, 2.5k); without it, as fast as answered
    #[arg(short = 'R', long, short_alias = 'q', value_name = "RATE", value_parser = parse_number)]
    rate: Option<f64>,
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
    /// When a request is given up
    #[arg(long, default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,
    /// Let the load go to another machine; make sure that it is yours to load
    #[arg(long)]
    allow_remote: bool,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let target = Target::parse(&options.url)?;
    if !target.address.ip().is_loopback() && !options.allow_remote {
        return Err(Problems::plain(
            format!("{} is not on this machine", target.address),
            "only loopback is loaded, unless you say --allow-remote; do so only where the load is welcome",
        )
        .into());
    }
    let load = match options.rate {
        Some(rate) if !(0.001..=10_000_000.0).contains(&rate) => {
            return Err(Problems::plain(format!("a rate of {rate}/s is out of range"), "give a rate from 0.001 to 10M").into());
        }
        Some(rate_per_s) => Load::Arrivals { rate_per_s, in_flight_max: options.connections.unwrap_or(DEFAULT_IN_FLIGHT as u32) },
        None => Load::Closed { connections: options.connections.unwrap_or(64) },
    };
    if options.duration.is_zero() {
        return Err(Problems::plain("the duration is zero", "say how long, such as -d 10s").into());
    }
    let workload = workload(options, &target)?;
    let stop = crate::signals::stop_flag();
    message(&format!("{} at {}, for {}", load.describe(), options.url, show_duration(options.duration)));
    let plan = Plan {
        address: target.address,
        host: &target.host,
        workload: &workload,
        load,
        duration: options.duration,
        requests: options.requests,
        timeout: options.timeout,
        stop: &stop,
        settled: None,
    };
    let measured = load::run(&plan).map_err(|e| Error::Failed(e.to_string()))?;
    match options.format {
        Format::Json => json(&to_json(&measured, &load)),
        Format::Text => print(&to_text(&measured, &load)),
    }
    if measured.interrupted {
        return Ok(ExitCode::from(crate::signals::code()));
    }
    Ok(if measured.counts.correct == 0 { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

struct Target {
    address: SocketAddr,
    host: String,
    path: String,
}

impl Target {
    fn parse(url: &str) -> Result<Target, Error> {
        let wrong = |why: String| Error::Problems(Problems::plain(why, "write it like http://127.0.0.1:8080/path"));
        let rest = url.strip_prefix("http://").ok_or_else(|| wrong(format!("`{url}` is not an http:// URL")))?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(at);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is_bracketed = host.ends_with(']');
        let with_port = if is_bracketed || !host.contains(':') { format!("{host}:80") } else { host.to_owned() };
        let mut found = with_port.to_socket_addrs().map_err(|e| wrong(format!("`{host}` is no address: {e}")))?;
        let address = found.next().ok_or_else(|| wrong(format!("`{host}` has no address")))?;
        Ok(Target { address, host: host.to_owned(), path })
    }
}

fn workload(options: &Options, target: &Target) -> Result<Workload, Error> {
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
    let step = Step { method: options.method.clone(), path: target.path.clone(), headers, body, answer, declined: None };
    Ok(Workload { name: "load".into(), summary: options.url.clone(), steps: vec![step] })
}

const QUANTILES: [(&str, f64); 6] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];

fn to_json(measured: &Measured, load: &Load) -> Value {
    let seconds = measured.duration_ns as f64 / 1e9;
    let times = |histogram: &Histogram| {
        let us = |ns: f64| ns / 1e3;
        let mut object = value!({
            "min": us(histogram.min_ns() as f64), "mean": us(histogram.mean_ns()), "stddev": us(histogram.deviation_ns()), "max": us(histogram.max_ns() as f64),
        });
        for (name, q) in QUANTILES {
            object[name] = if histogram.len() >= smallest_sample(q) { value!(us(histogram.quantile_ns(q) as f64)) } else { Value::Null };
        }
        object
    };
    let offered = match load {
        Load::Arrivals { rate_per_s, .. } => Some(*rate_per_s),
        Load::Closed { .. } => None,
    };
    value!({
        "schema": "faceoff.load.v1",
        "duration_s": seconds,
        "counts": measured.counts,
        "statuses": measured.statuses,
        "rate_per_s": {"offered": offered, "achieved": measured.counts.correct as f64 / seconds},
        "received_bytes": measured.received_bytes,
        "latency_us": measured.latency.as_ref().map(times),
        "service_us": times(&measured.service),
        "lag_us": measured.lag.as_ref().map(times),
        "generator": {"cpu_s": measured.cpu_ns as f64 / 1e9, "in_flight_max": measured.in_flight_max, "connections_opened": measured.connections_opened},
        "examples": measured.examples,
    })
}

fn to_text(measured: &Measured, load: &Load) -> String {
    let seconds = measured.duration_ns as f64 / 1e9;
    let counts = &measured.counts;
    let mut text = String::new();
    if let Load::Arrivals { rate_per_s, .. } = load {
        text += &format!("offered    {}/s\n", show_number(*rate_per_s));
    }
    text += &format!(
        "achieved   {}/s right answers over {}\n",
        show_number(counts.correct as f64 / seconds),
        show_duration(Duration::from_nanos(measured.duration_ns))
    );
    text += &format!("received   {}/s\n", show_bytes((measured.received_bytes as f64 / seconds) as u64));
    let parts: Vec<String> =
        counts.parts().iter().filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{n} {}", kind.replace('_', " "))).collect();
    text += &format!("requests   {}: {}\n", counts.scheduled, parts.join(", "));
    for example in &measured.examples {
        text += &format!("           e.g. {example}\n");
    }
    let rows = [("latency", measured.latency.as_ref()), ("service", Some(&measured.service)), ("lag", measured.lag.as_ref())];
    text += &format!("\n{:<10}{:>10}{:>10}", "", "min", "mean");
    for (name, _) in QUANTILES {
        text += &format!("{:>10}", name.replace('_', "."));
    }
    text += &format!("{:>10}\n", "max");
    for (name, histogram) in rows {
        let Some(h) = histogram.filter(|h| !h.is_empty()) else { continue };
        let show = |ns: f64| show_duration_short(ns);
        text += &format!("{name:<10}{:>10}{:>10}", show(h.min_ns() as f64), show(h.mean_ns()));
        for (_, q) in QUANTILES {
            let shown = if h.len() >= smallest_sample(q) { show(h.quantile_ns(q) as f64) } else { "-".into() };
            text += &format!("{shown:>10}");
        }
        text += &format!("{:>10}\n", show(h.max_ns() as f64));
    }
    if measured.latency.is_none() {
        text += "           a closed load has no schedule: these are service times\n";
    }
    let per_request = measured.cpu_ns as f64 / 1e3 / counts.settled().max(1) as f64;
    text += &format!(
        "\ngenerator  {} % of a CPU, {} µs a request, at most {} under way, {} connections opened\n",
        show_number(100.0 * measured.cpu_ns as f64 / measured.duration_ns as f64),
        show_number(per_request),
        measured.in_flight_max,
        measured.connections_opened
    );
    text
}

/// `55.2us`, `1.34ms`, `2.05s`: narrow, for columns.
fn show_duration_short(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{}us", show_number(ns / 1e3)),
        ns if ns < 1e9 => format!("{}ms", show_number(ns / 1e6)),
        ns => format!("{}s", show_number(ns / 1e9)),
    }
}
