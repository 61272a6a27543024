//! The flags, and the behaviour that they define.

use std::net::Ipv4Addr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Parser;

use crate::answer::{self, Body, Framing};
use crate::truth::{Faults, Stall, Truth, Warming};
use crate::units;

/// An HTTP/1.1 server with exactly known behaviour.
///
/// Any path returns the same body. `GET /__control/stats` returns the counters as JSON; a path that
/// begins with /echo returns the head of the request. A request can override the flags:
/// ?delay=10ms&cpu=50us&size=1K&status=404.
///
/// Durations take ns, us, ms, s or m; sizes are bytes, or K, M, G (of 1024). "Every Nth" counts the
/// responses of the whole process.
#[derive(Debug, Parser)]
#[command(name = "control", version, max_term_width = 100)]
pub struct Flags {
    /// Port to listen on; 0 takes any. It is printed on stdout once it is bound.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST)]
    pub listen: Ipv4Addr,
    /// Threads that serve, each with its own listener.
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroUsize,

    /// Body of this number of bytes.
    #[arg(long, value_name = "SIZE", default_value = "74", value_parser = units::size, help_heading = "Responses")]
    body_size: u64,
    /// Body with the bytes of this file; the last one if repeated.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "body_size",
        overrides_with = "body_file",
        help_heading = "Responses"
    )]
    body_file: Option<PathBuf>,
    /// Value of the content-type header.
    #[arg(long, value_name = "TYPE", default_value = "text/plain", value_parser = header_value, help_heading = "Responses")]
    content_type: String,
    /// Status of every response, 200 to 599.
    #[arg(long, default_value = "200", value_parser = units::status, help_heading = "Responses")]
    status: u16,
    /// Makes the head larger by this number of bytes, at least 14.
    #[arg(long, value_name = "SIZE", value_parser = padding, help_heading = "Responses")]
    headers_size: Option<u64>,
    /// Body in chunks, of at most SIZE bytes.
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "256",
          value_parser = chunk, conflicts_with = "no_length", help_heading = "Responses")]
    chunked: Option<u64>,
    /// No content-length: the body ends with the connection.
    #[arg(long, help_heading = "Responses")]
    no_length: bool,

    /// Responds exactly this long after a request was read whole; each request separately.
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = units::duration, help_heading = "Time")]
    delay: u64,
    /// If the path is a whole number, as in /300, that is the delay in milliseconds instead.
    #[arg(long, help_heading = "Time")]
    delay_from_path: bool,
    /// At most this number of delays run at once, in the order of the requests; further requests
    /// wait before theirs begins.
    #[arg(long, value_name = "N", help_heading = "Time")]
    pool: Option<NonZeroUsize>,
    /// Uses this CPU time of the thread for each request.
    #[arg(long, value_name = "DURATION", default_value = "0us", value_parser = units::duration, help_heading = "Time")]
    cpu: u64,
    /// Multiplies every CPU time.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = units::factor, help_heading = "Time")]
    scale_cpu: f64,
    /// Uses this CPU time once every 10 ms on a thread of its own, whether or not there are
    /// requests.
    #[arg(long, value_name = "DURATION", value_parser = units::period, help_heading = "Time")]
    pub background: Option<u64>,
    /// CPU times begin at --warm-factor times their value and approach it linearly over DURATION,
    /// counted from the first request.
    #[arg(long, value_name = "DURATION", value_parser = units::period, requires = "warm_factor", help_heading = "Time")]
    warm_over: Option<u64>,
    /// Factor for the CPU time of the first request; below 1, the server gets slower.
    #[arg(long, value_name = "FACTOR", value_parser = units::factor, requires = "warm_over", help_heading = "Time")]
    warm_factor: Option<f64>,
    /// Stalls the whole server once per DURATION, counted from the first request.
    #[arg(long, value_name = "DURATION", value_parser = units::period, requires = "stall_for", help_heading = "Time")]
    stall_every: Option<u64>,
    /// Length of each stall.
    #[arg(long, value_name = "DURATION", value_parser = units::period, requires = "stall_every", help_heading = "Time")]
    stall_for: Option<u64>,
    /// Sends the body one byte at a time, with this pause between bytes.
    #[arg(long, value_name = "DURATION", value_parser = units::period, help_heading = "Time")]
    drip: Option<u64>,
    /// Polls the clock for the last 50 us before a deadline (the default).
    #[arg(long, overrides_with = "no_exact", help_heading = "Time")]
    exact: bool,
    /// Sleeps until a deadline: late by the time to wake up, but without CPU time.
    #[arg(long, overrides_with = "exact", help_heading = "Time")]
    no_exact: bool,

    /// One byte of the body of every Nth response is wrong.
    #[arg(long, value_name = "N", help_heading = "Faults of responses")]
    wrong_every: Option<NonZeroU64>,
    /// Every Nth response has this status.
    #[arg(long, value_name = "N:STATUS", value_parser = units::status_every, help_heading = "Faults of responses")]
    status_every: Option<(NonZeroU64, u16)>,
    /// Resets the connection (RST) instead of every Nth response.
    #[arg(long, value_name = "N", help_heading = "Faults of responses")]
    reset_every: Option<NonZeroU64>,
    /// Closes the connection after every Nth response without an announcement.
    #[arg(long, value_name = "N", help_heading = "Faults of responses")]
    close_every: Option<NonZeroU64>,
    /// Closes the connection in the middle of the body of every Nth response.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "no_length",
        help_heading = "Faults of responses"
    )]
    cut_every: Option<NonZeroU64>,
    /// Sends bytes that are not HTTP instead of every Nth response, and closes.
    #[arg(long, value_name = "N", help_heading = "Faults of responses")]
    garbage_every: Option<NonZeroU64>,
    /// The first N responses have status 503.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Faults of responses")]
    warm_after: u64,

    /// Starts to listen only this long after the start.
    #[arg(long, value_name = "DURATION", value_parser = units::duration, help_heading = "Faults of the process")]
    pub ready_after: Option<u64>,
    /// Refuses connections when N requests have been read.
    #[arg(long, value_name = "N", help_heading = "Faults of the process")]
    refuse_after: Option<NonZeroU64>,
    /// Listens, but accepts no connection.
    #[arg(long, help_heading = "Faults of the process")]
    never_accept: bool,
    /// Accepts one connection per DURATION and thread, and leaves the others in the queue.
    #[arg(long, value_name = "DURATION", value_parser = units::period, conflicts_with_all = ["never_accept", "refuse_after"],
          help_heading = "Faults of the process")]
    accept_every: Option<u64>,
    /// Maximum number of connections that wait to be accepted, per listener; the kernel allows one
    /// more.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(i32).range(0..), help_heading = "Faults of the process")]
    pub backlog: i32,
    /// Sends head and body in two writes, and lets the kernel delay the second (no TCP_NODELAY).
    #[arg(long, help_heading = "Faults of the process")]
    split_writes: bool,
    /// Writes a line to stdout for each response.
    #[arg(long, help_heading = "Faults of the process")]
    log: bool,
    /// Reads requests, but responds to none (except for the counters).
    #[arg(long, help_heading = "Faults of the process")]
    never_answer: bool,
    /// Exits with status 3 after N responses.
    #[arg(long, value_name = "N", help_heading = "Faults of the process")]
    exit_after: Option<NonZeroU64>,
    /// Exits with status 3 when a thread has more than N connections.
    #[arg(long, value_name = "N", help_heading = "Faults of the process")]
    exit_above: Option<NonZeroUsize>,
    /// Continues after SIGTERM.
    #[arg(long, help_heading = "Faults of the process")]
    pub ignore_term: bool,
    /// Allocates and touches this number of additional bytes.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = units::size, help_heading = "Faults of the process")]
    pub memory: u64,
    /// Starts N threads that do nothing.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Faults of the process")]
    pub extra_threads: u32,
    /// Starts N processes that do nothing for 120 s, and leaves them behind.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Faults of the process")]
    pub children: u32,

    /// Runs as such a process.
    #[arg(long, hide = true)]
    pub idle: bool,
}

impl Flags {
    /// Returns the behaviour that the flags define, or an error with a hint.
    pub fn truth(&self) -> Result<Truth, String> {
        let body = match &self.body_file {
            None => Body::Filler(self.body_size),
            Some(file) => {
                let bytes = std::fs::read(file).map_err(|error| {
                    format!("cannot read --body-file '{}': {error}\n\nhint: a relative path starts at the current folder", file.display())
                })?;
                Body::Bytes(bytes.into())
            }
        };
        if body.len() == 0 && (self.wrong_every.is_some() || self.cut_every.is_some()) {
            return Err("an empty body can be neither wrong nor cut\n\nhint: use another --body-size or --body-file".to_owned());
        }
        let stall =
            self.stall_every.zip(self.stall_for).map(|(every, lasts)| Stall { every, lasts });
        if stall.is_some_and(|stall| stall.lasts >= stall.every) {
            return Err("--stall-for is not shorter than --stall-every\n\nhint: --stall-every counts from one start to the next".to_owned());
        }
        Ok(Truth {
            body,
            content_type: self.content_type.clone(),
            status: self.status,
            padding: self
                .headers_size
                .map_or_else(Vec::new, |bytes| answer::padding(bytes as usize)),
            framing: match self.chunked {
                Some(size) => Framing::Chunked(size),
                None if self.no_length => Framing::Close,
                None => Framing::Length,
            },
            delay: self.delay,
            delay_from_path: self.delay_from_path,
            pool: self.pool,
            cpu: self.cpu,
            cpu_factor: self.scale_cpu,
            warming: self
                .warm_over
                .zip(self.warm_factor)
                .map(|(over, factor)| Warming { over, factor }),
            drip: self.drip,
            stall,
            faults: Faults {
                wrong: self.wrong_every,
                status: self.status_every,
                reset: self.reset_every,
                close: self.close_every,
                cut: self.cut_every,
                garbage: self.garbage_every,
                warm_after: self.warm_after,
                exit_after: self.exit_after,
            },
            refuse_after: self.refuse_after,
            exit_above: self.exit_above,
            never_accept: self.never_accept,
            accept_every: self.accept_every,
            split_writes: self.split_writes,
            log: self.log,
            never_answer: self.never_answer,
            exact: !self.no_exact,
        })
    }
}

fn header_value(text: &str) -> Result<String, String> {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(
            "not a header value; hint: write a media type, as in application/json".to_owned()
        );
    }
    Ok(text.to_owned())
}

fn padding(text: &str) -> Result<u64, String> {
    match units::size(text)? {
        bytes @ answer::LEAST_PADDING..=0x10_0000 => Ok(bytes),
        _ => Err(format!(
            "a header line cannot have that size; hint: choose from {} to 1M",
            answer::LEAST_PADDING
        )),
    }
}

fn chunk(text: &str) -> Result<u64, String> {
    match units::size(text)? {
        0 => Err("a chunk of 0 bytes ends the body; hint: choose 1 or more".to_owned()),
        bytes => Ok(bytes),
    }
}
