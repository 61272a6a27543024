//! `faceoff wrk`: takes the options of wrk and wrk2, and prints results in their format.
//!
//! Scripts that parse the output of wrk can run this instead, so units, rounding and columns are
//! those of wrk. The load itself is that of `faceoff load`. Start with `run`.

use super::output::seconds;
use super::planned_load::PlannedLoad;
use super::request::{count, one_request, rate_in_range};
use crate::exit::{Error, FAILED};
use crate::output::print;
use clap::Args;
use load::tls::TlsOptions;
use load::url::{self, Access};
use load::{Measured, Progress, Protocol, Wait};
use spec::experiment::{Load, Overflow, Spacing};
use spec::problem::Problems;
use spec::secret;
use spec::units::{parse_duration, parse_number};
use spec::workload::Statuses;
use stats::{Histogram, smallest_sample};
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Options of `faceoff wrk`: the ones of wrk and wrk2.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done, 1 no correct response, 2 usage, 130 and 143 interrupted."
)]
pub struct Options {
    /// The URL
    url: String,
    /// Number of connections in total
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = count)]
    connections: u32,
    /// Number of threads
    #[arg(short, long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Duration: 2s, 2m, 2h
    #[arg(short, long, value_name = "T", default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// Requests per second in total, as in wrk2; latency then counts from the schedule
    #[arg(short = 'R', long, value_name = "T", value_parser = parse_number)]
    rate: Option<f64>,
    /// A Lua script: not supported
    #[arg(short, long, value_name = "S")]
    script: Option<String>,
    /// A header
    #[arg(short = 'H', long = "header", value_name = "H")]
    headers: Vec<String>,
    /// Print the latency distribution
    #[arg(short = 'L', long)]
    latency: bool,
    /// Print the latency distribution from the instant of sending
    #[arg(short = 'U', long = "u_latency")]
    u_latency: bool,
    /// Accepted and ignored: wrk2 measures each batch by its first request with it
    #[arg(short = 'B', long = "batch_latency", hide = true)]
    _batch_latency: bool,
    /// Time limit for one request
    #[arg(long, value_name = "T", default_value = "2s", value_parser = parse_duration)]
    timeout: Duration,
    /// Allow a target on another machine; make sure that you may load it
    #[arg(long)]
    allow_remote: bool,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let run = options.planned_load()?;
    print(&format!(
        "Running {} test @ {}\n  {} threads and {} connections\n",
        units(options.duration.as_secs_f64(), &SECONDS, 0),
        options.url,
        options.threads,
        options.connections
    ));
    let (measured, rates) = run.measure(|messages| rates(&messages))?;
    print(&options.to_text(&measured, &rates));
    if measured.interrupted {
        return Ok(ExitCode::from(crate::signals::code()));
    }
    Ok(ExitCode::from(if measured.counts.correct == 0 { FAILED } else { 0 }))
}

/// Returns the correct responses of each whole second of each thread.
fn rates(messages: &Receiver<Progress>) -> Vec<u64> {
    messages.iter().map(|progress| progress.second.correct).collect()
}

impl Options {
    /// Returns the load that the options describe.
    fn planned_load(&self) -> Result<PlannedLoad, Problems> {
        if let Some(script) = &self.script {
            return Err(Problems::plain(
                format!("the Lua script {script} cannot be run"),
                "convert it into a workload with `faceoff import`, and run `faceoff load --workload FILE`; see docs/guide/import.md",
            ));
        }
        if self.connections < self.threads {
            return Err(Problems::plain(
                "there are more threads than connections",
                "each thread needs a connection: raise -c, or lower -t",
            ));
        }
        if self.duration.is_zero() || self.timeout.is_zero() {
            return Err(Problems::plain(
                "the duration or the timeout is zero",
                "give both, such as -d 10s and --timeout 2s",
            ));
        }
        let filled = secret::filled(&self.url)?;
        secret::notice_query(&filled);
        let url = url::parse(&filled)?;
        let tls = TlsOptions { ca: None, insecure: true, certificate: None, http2: false };
        let access = Access {
            tls,
            protocol: Protocol::Http1 { keep_alive: true },
            unix: None,
            allow_remote: self.allow_remote,
        };
        let load = match self.rate {
            None => Load::Closed { connections: self.connections, depth: 1 },
            Some(rate) => Load::Arrivals {
                rate_per_s: rate_in_range(rate)?,
                stages: Vec::new(),
                spacing: Spacing::Even,
                in_flight_max: self.connections,
                overflow: Overflow::Queue,
            },
        };
        Ok(PlannedLoad {
            url: self.url.clone(),
            target: url::resolve(&url, &access)?,
            workload: one_request(
                &self.url,
                "GET",
                &url.path,
                &self.headers,
                None,
                Statuses { from: 200, to: 399 },
            )?,
            load,
            duration: self.duration,
            requests: None,
            timeout: self.timeout,
            seed: 1,
            threads: self.threads,
            wait: Wait::Near,
        })
    }

    fn to_text(&self, measured: &Measured, rates: &[u64]) -> String {
        let times = if self.rate.is_some() { &measured.latency } else { &measured.service };
        let mut text =
            format!("  Thread Stats{:>6}{:>11}{:>8}{:>12}\n", "Avg", "Stdev", "Max", "+/- Stdev");
        let (mean, deviation) = (times.mean_ns(), times.deviation_ns());
        let within = times
            .count_between((mean - deviation).max(0.0).ceil() as u64, (mean + deviation) as u64);
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        text += &row(
            "Latency",
            [mean, deviation, times.max_ns() as f64].map(time),
            share(within, times.len()),
        );
        let (rate_mean, rate_deviation) = moments(rates);
        let near =
            rates.iter().filter(|rate| (**rate as f64 - rate_mean).abs() <= rate_deviation).count()
                as u64;
        let top = rates.iter().copied().max().unwrap_or(0) as f64;
        let shown = [rate_mean, rate_deviation, top].map(|rate| units(rate, &METRIC, 2));
        text += &row("Req/Sec", shown, share(near, rates.len() as u64));
        if self.latency {
            text += &self.distribution(
                times,
                if self.rate.is_some() { " (HdrHistogram - Recorded Latency)" } else { "" },
            );
        }
        if self.u_latency {
            text += &self.distribution(
                &measured.service,
                " (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))",
            );
        }
        let counts = &measured.counts;
        let answered = counts.correct + counts.wrong + counts.declined;
        let seconds = seconds(measured);
        let bytes = |bytes: f64| format!("{}B", units(bytes, &BINARY, 2));
        text += &format!(
            "  {answered} requests in {}, {} read\n",
            time(measured.duration_ns as f64),
            bytes(measured.received_bytes as f64)
        );
        if counts.refused + counts.broken + counts.timed_out > 0 {
            text += &format!(
                "  Socket errors: connect {}, read {}, write 0, timeout {}\n",
                counts.refused, counts.broken, counts.timed_out
            );
        }
        if counts.wrong + counts.declined > 0 {
            text += &format!("  Non-2xx or 3xx responses: {}\n", counts.wrong + counts.declined);
        }
        text += &format!("Requests/sec: {:>9.2}\n", answered as f64 / seconds);
        text += &format!("Transfer/sec: {:>10}\n", bytes(measured.received_bytes as f64 / seconds));
        text += "\nMeasured by faceoff: latency and bytes cover correct responses, Req/Sec covers whole seconds, read errors count all\nbroken connections, quantiles with too few samples are left out. `faceoff load` prints more.\n";
        text
    }

    fn distribution(&self, times: &Histogram, title: &str) -> String {
        let of_wrk = [50.0, 75.0, 90.0, 99.0];
        let of_wrk2 = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
        let mut text = format!("  Latency Distribution{title}\n");
        let is_wrk2 = self.rate.is_some();
        for percent in if is_wrk2 { &of_wrk2[..] } else { &of_wrk } {
            let quantile = percent / 100.0;
            if quantile < 1.0 && times.len() < smallest_sample(quantile) {
                continue;
            }
            let value =
                time(if quantile < 1.0 { times.quantile_ns(quantile) } else { times.max_ns() }
                    as f64);
            text += &match is_wrk2 {
                true => format!("{percent:>7.3}%{}\n", padded(&value, 10)),
                false => format!("{percent:>7.0}%{}\n", padded(&value, 10)),
            };
        }
        if is_wrk2 {
            text += &spectrum(times);
        }
        text
    }
}

/// Returns the percentile spectrum as wrk2 and HdrHistogram print it, in milliseconds.
fn spectrum(times: &Histogram) -> String {
    let line = "-".repeat(58);
    format!("\n  Detailed Percentile spectrum:\n{}{line}\n", report::export::spectrum(times, 5, 6))
}

/// Returns mean and standard deviation.
fn moments(values: &[u64]) -> (f64, f64) {
    let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
    (stats::mean(&values).unwrap_or(0.0), stats::sample_deviation(&values).unwrap_or(0.0))
}

fn row(name: &str, [mean, deviation, max]: [String; 3], within: f64) -> String {
    format!(
        "    {name:<10}{}{}{}{within:>8.2}%\n",
        padded(&mean, 8),
        padded(&deviation, 10),
        padded(&max, 9)
    )
}

/// Aligns the digits on the right, for units of any length.
fn padded(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).take_while(|c| c.is_alphabetic()).count();
    format!(
        "{text:>width$}{}",
        "  ".get(letters..).unwrap_or_default(),
        width = width - (2 - letters)
    )
}

/// The factor between units, and their names from the smallest on.
struct Units(f64, &'static [&'static str]);

const MICROSECONDS: Units = Units(1000.0, &["us", "ms"]);
const SECONDS: Units = Units(60.0, &["s", "m", "h"]);
const METRIC: Units = Units(1000.0, &["", "k", "M", "G"]);
const BINARY: Units = Units(1024.0, &["", "K", "M", "G", "T"]);

/// Shows a value as wrk does: in the next unit from 85 % of it on.
fn units(value: f64, Units(scale, names): &Units, digits: usize) -> String {
    let (mut amount, mut at) = (value, 0);
    while at + 1 < names.len() && amount >= scale * 0.85 {
        amount /= scale;
        at += 1;
    }
    format!("{amount:.digits$}{}", names[at])
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => units(ns / 1e9, &SECONDS, 2),
        ns => units(ns / 1e3, &MICROSECONDS, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_measurement::measured;
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &str) -> Options {
        Command::parse_from(line.split(' ')).options
    }

    #[test]
    fn output_matches_wrk() {
        let text = options("wrk -t2 -c64 -d2s --latency http://127.0.0.1:80/")
            .to_text(&measured(), &[2_000, 2_100, 2_900, 3_000]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn output_matches_wrk2() {
        let text = options("wrk -t2 -c64 -d2s -R5k -L http://127.0.0.1:80/")
            .to_text(&measured(), &[2_000, 3_000]);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn units_match_wrk() {
        assert_eq!(
            [635_910.0, 890_000.0, 12_920_000.0, 1.5e9, 90e9].map(time),
            ["635.91us", "0.89ms", "12.92ms", "1.50s", "1.50m"]
        );
        assert_eq!(units(606.33 * 1024.0 * 1024.0, &BINARY, 2), "606.33M");
        assert_eq!(units(30.0, &SECONDS, 0), "30s");
        assert_eq!(
            (padded("635.91us", 8), padded("56.20k", 8), padded("12.00", 8)),
            ("635.91us".into(), " 56.20k ".into(), " 12.00  ".into())
        );
    }

    #[test]
    fn unsupported_options_are_refused_with_reason() {
        let why = |line: &str| {
            options(line)
                .planned_load()
                .err()
                .map(|problems| problems.to_string())
                .unwrap_or_default()
        };
        assert!(why("wrk -s post.lua http://127.0.0.1:80/").contains("workload"));
        assert!(why("wrk -t4 -c2 http://127.0.0.1:80/").contains("more threads than connections"));
        assert!(why("wrk http://192.0.2.1/").contains("not a loopback address"));
        assert_eq!(why("wrk -R 1k http://127.0.0.1:80/"), "");
    }
}
