//! `faceoff agent`: makes parts of loads for coordinators elsewhere (docs/agents.md).

use crate::exit::Error;
use crate::output::{line, message};
use clap::Args;
use load::agents::{Agent, LOOPS_MAX, Only, Token};
use std::net::SocketAddr;
use std::process::ExitCode;

/// What `faceoff agent` is asked.
#[derive(Args)]
pub struct Options {
    /// Where it listens; anything but a loopback address lets other machines ask, who must know the token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7671")]
    listen: SocketAddr,
    /// Event loops of a load at most, each on a thread of its own [default: as many as there are CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(LOOPS_MAX)))]
    threads: Option<u32>,
    /// Load nobody but these, whoever asks: host:port or network/prefix, with commas between [default: anybody]
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    only: Vec<String>,
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    if cfg!(not(feature = "agent")) {
        return Err(crate::features::missing("agent", "make loads for other machines").into());
    }
    let only = Only::read(&options.only)?;
    let token = Token::of_environment()?;
    let cpus = || std::thread::available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(LOOPS_MAX));
    let threads = options.threads.unwrap_or_else(cpus);
    let agent = Agent::new(options.listen, token, threads).map_err(Error::Failed)?.only(only.clone());
    let address = agent.address().map_err(|e| Error::Failed(format!("{} cannot be listened on: {e}", options.listen)))?;
    let stop = crate::signals::stop_flag();
    line(&address.to_string());
    let reached = match address.ip().is_unspecified() {
        true => format!("`--agents NAME:{}`, by any name or address of this machine,", address.port()),
        false => format!("`--agents {address}`"),
    };
    let whom = if only.is_anybody() { String::new() } else { format!(", and loads nobody but {only}") };
    message(&format!("waits for {reached} of `faceoff load` and `faceoff run`, with at most {threads} threads{whom}"));
    agent.serve(&stop, &|what| message(what));
    Ok(ExitCode::from(crate::signals::code()))
}
