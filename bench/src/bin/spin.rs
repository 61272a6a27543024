//! The truth about latency: one connection on a closed-form schedule.
//!
//! It never sleeps, neither for an instant of the schedule nor for a response. So its measurements
//! contain no wake-up.

use clap::Parser;
use client::{connect, learn_length, now_ns, request};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde_json::{Value, json};
use stats::Histogram;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

/// A request that is not answered within this many nanoseconds ends the run.
const TIMEOUT_NS: u64 = 5_000_000_000;

/// One connection that spins; prints latency quantiles in microseconds as JSON
#[derive(Parser)]
struct Options {
    /// The server's address
    address: SocketAddr,
    /// The path of the requests
    #[arg(long, default_value = "/")]
    path: String,
    /// Requests per second
    #[arg(short = 'R', long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: u64,
    /// Seconds
    #[arg(short, long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    duration: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("spin: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<Value, String> {
    let request = request(options.address, &options.path);
    let length = learn_length(options.address, &request)?;
    let (mut latency, mut service) = (Histogram::new(), Histogram::new());
    exchange(options, &request, length, &mut latency, &mut service).map_err(|error| {
        format!("{}: {error}; hint: does the server keep connections open?", options.address)
    })?;
    Ok(
        json!({ "requests": latency.len(), "latency_us": quantiles(&latency), "service_us": quantiles(&service) }),
    )
}

fn exchange(
    options: &Options,
    request: &[u8],
    length: usize,
    latency: &mut Histogram,
    service: &mut Histogram,
) -> io::Result<()> {
    let stream = connect(options.address)?;
    stream.set_nonblocking(true)?;
    let mut piece = vec![0; 64 * 1024];
    let start = now_ns();
    for number in 0..options.rate * options.duration {
        let due = start + (u128::from(number) * 1_000_000_000 / u128::from(options.rate)) as u64;
        let mut sent = now_ns();
        while sent < due {
            std::hint::spin_loop();
            sent = now_ns();
        }
        if send(&stream, request, SendFlags::NOSIGNAL)? != request.len() {
            return Err(io::Error::other("the socket took only a part of the request"));
        }
        let mut received = 0;
        while received < length {
            match recv(&stream, &mut piece[..], RecvFlags::empty()) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((more, _)) => received += more,
                Err(Errno::AGAIN | Errno::INTR) if now_ns() - sent < TIMEOUT_NS => {}
                Err(Errno::AGAIN | Errno::INTR) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) => return Err(error.into()),
            }
        }
        let done = now_ns();
        latency.record(done - due);
        service.record(done - sent);
    }
    Ok(())
}

fn quantiles(histogram: &Histogram) -> Value {
    let us = |quantile| histogram.quantile_ns(quantile) as f64 / 1e3;
    json!({ "p50": us(0.5), "p90": us(0.9), "p99": us(0.99), "max": histogram.max_ns() as f64 / 1e3 })
}
