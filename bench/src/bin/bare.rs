//! The physical limit of a load generator: an epoll loop that counts bytes.
//!
//! It sends fixed requests. A response is complete once as many bytes are there as the first one
//! had. Nothing is parsed, compared or timed.

use clap::Parser;
use client::{connect, cpu_s, learn_length, now_ns, request, response_length};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;

/// An epoll loop that counts responses by their length; prints requests and CPU time as JSON
#[derive(Parser)]
struct Options {
    /// The server's address
    address: SocketAddr,
    /// The path of the requests
    #[arg(long, default_value = "/")]
    path: String,
    /// Connections
    #[arg(short, long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Requests in flight on each connection
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    depth: u32,
    /// Seconds
    #[arg(short, long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    duration: u64,
}

/// A connection, and how much of the current response is there.
struct Connection {
    stream: TcpStream,
    received: usize,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<String, String> {
    let one = request(options.address, &options.path);
    let length = learn_length(options.address, &one)?;
    let requests = one.repeat(options.depth as usize);
    let (start, cpu_start) = (now_ns(), cpu_s());
    let answered =
        exchange(options, one.len(), &requests, length, start + options.duration * 1_000_000_000)
            .map_err(|error| {
            format!("{}: {error}; hint: does the server keep connections open?", options.address)
        })?;
    let seconds = (now_ns() - start) as f64 / 1e9;
    Ok(serde_json::json!({ "requests": answered, "seconds": seconds, "cpu_s": cpu_s() - cpu_start }).to_string())
}

/// Returns the number of responses received until `end`, an instant in nanoseconds.
fn exchange(
    options: &Options,
    one: usize,
    requests: &[u8],
    length: usize,
    end: u64,
) -> io::Result<u64> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut connections = Vec::new();
    for index in 0..options.connections {
        let stream = connect(options.address)?;
        stream.set_nonblocking(true)?;
        epoll::add(
            &epoll,
            &stream,
            epoll::EventData::new_u64(index.into()),
            epoll::EventFlags::IN,
        )?;
        send_all(&stream, requests)?;
        connections.push(Connection { stream, received: 0 });
    }
    let mut events = Vec::with_capacity(1024);
    let mut piece = vec![0; 64 * 1024];
    let (mut answered, mut first) = (0, true);
    while now_ns() < end {
        let until_end = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&until_end))?;
        for event in events.drain(..) {
            let connection = &mut connections[event.data.u64() as usize];
            let received = match recv(&connection.stream, &mut piece[..], RecvFlags::empty()) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((received, _)) => received,
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            // Check the first bytes once: responses of differing lengths would be miscounted.
            if std::mem::take(&mut first)
                && response_length(&piece[..received])
                    .is_ok_and(|known| known.is_some_and(|known| known != length))
            {
                return Err(io::Error::other("responses differ in length"));
            }
            let whole = (connection.received + received) / length;
            connection.received = (connection.received + received) % length;
            if whole > options.depth as usize {
                return Err(io::Error::other("more responses than requests"));
            }
            answered += whole as u64;
            if whole > 0 {
                send_all(&connection.stream, &requests[..whole * one])?;
            }
        }
    }
    Ok(answered)
}

/// Sends all bytes at once: the requests in flight on one connection fit any socket buffer.
fn send_all(stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    match send(stream, bytes, SendFlags::NOSIGNAL)? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::Error::other("the socket took only a part of the requests")),
    }
}
