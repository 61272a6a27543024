//! `faceoff agent`: generates load on this machine for a faceoff on another one
//! (docs/guide/several-machines.md).

use crate::exit::Error;
use crate::output::{line, message};
use clap::Args;
use load::agents::{Agent, Allowlist, LOOPS_MAX, Token};
use spec::problem::Problems;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Options of `faceoff agent`.
#[derive(Args)]
#[command(after_help = "Exit codes: 1 cannot listen, 2 usage, 130 and 143 ended by a signal.")]
pub struct Options {
    /// The address to listen on. Other machines can connect unless it is a loopback address, and
    /// need the token in FACEOFF_AGENT_TOKEN
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7671")]
    listen: SocketAddr,
    /// Maximum number of threads of one load [default: number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(LOOPS_MAX)))]
    threads: Option<u32>,
    /// Send load to these targets only: host:port or network/prefix, separated by commas [default:
    /// any]
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    only: Vec<String>,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    if cfg!(not(feature = "agent")) {
        return Err(Problems::missing_feature("agent", "generate load for other machines").into());
    }
    let only = Allowlist::parse(&options.only)?;
    let token = Token::from_environment()?;
    let cpus = || {
        std::thread::available_parallelism()
            .map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(LOOPS_MAX))
    };
    let threads = options.threads.unwrap_or_else(cpus);
    let agent =
        Agent::new(options.listen, token, threads).map_err(Error::Failed)?.only(only.clone());
    let address = agent
        .address()
        .map_err(|e| Error::Failed(format!("cannot listen on {}: {e}", options.listen)))?;
    let stop = crate::signals::stop_flag();
    line(&address.to_string());
    let reached = match address.ip().is_unspecified() {
        true => {
            format!("`--agents NAME:{}`, by any name or address of this machine,", address.port())
        }
        false => format!("`--agents {address}`"),
    };
    let whom =
        if only.permits_all() { String::new() } else { format!(", and sends load to {only} only") };
    message(&format!(
        "waiting for {reached} of `faceoff load` and `faceoff run`, with at most {threads} threads{whom}"
    ));
    agent.serve(&stop, &|what| message(what));
    Ok(ExitCode::from(crate::signals::code()))
}
