//! A system that runs: where it is reached, its processes, and how it is stopped.
//!
//! [`Running`] hides whether a process, a container or a pod was started, or nothing.

use crate::place::{Started, Upstream};
use crate::process::{LOG_LINES, Stop};
use crate::scrub::Scrub;
use crate::usage::trees_cpu_ns;
use load::Target;
use record::{Failure, Stopped};
use spec::system::Contender;
use spec::units::show_duration;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

/// How systems end in order. A JVM that ends by a signal exits with 128 + its number, others with 0
/// or by the signal itself.
const ORDERLY: [&str; 8] = [
    "exit 0",
    "exit 143",
    "exit 130",
    "exit 131",
    "signal 15",
    "signal 2",
    "signal 3",
    "signal 10",
];

/// A system that runs and has given a correct response.
pub struct Running {
    /// The started process; `None` for a service that already ran.
    pub(super) process: Option<Box<dyn Started>>,
    /// Processes of a service that already ran on this machine, which are watched.
    pub(super) watched: Vec<u32>,
    /// When it was started, or first reached if it already ran (CLOCK_MONOTONIC, ns).
    pub began_ns: u64,
    /// The address at which it listens.
    pub address: SocketAddr,
    /// Its ports as it knows them, by name; none for a service that already ran.
    pub(super) ports: Vec<(String, u16)>,
    /// Where requests go, and in which protocol.
    pub target: Target,
    /// The command, as it was run.
    pub command: Vec<String>,
    /// Time from its start to the first correct response; `None` if nothing was started.
    pub ready_after_ns: Option<u64>,
    /// Time from the request for further replicas until all had given a correct response; `None` if
    /// there is only one.
    pub scaled_out_after_ns: Option<u64>,
    /// Number of requests before the first correct response that a server received.
    pub failed_attempts: u64,
    /// The command that resets it, if a command does.
    pub(crate) reset: Command,
    /// Removes secrets from its files; dropped after the process.
    pub(super) _scrub: Option<Scrub>,
}

/// A command with its environment.
#[derive(Debug, Default)]
pub(crate) struct Command {
    pub words: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// The address of a system's port `https`, given the address of its first port. Unknown if its
/// ports are reached by other numbers than it listens on.
fn https_address(address: SocketAddr, ports: &[(String, u16)]) -> Option<SocketAddr> {
    let has_own_number = ports.first().is_some_and(|(_, first)| *first == address.port());
    let https = ports.iter().find(|(name, _)| has_own_number && name == "https");
    https.map(|(_, port)| SocketAddr::new(address.ip(), *port))
}

impl Running {
    /// Its process id; `None` for a service that already ran.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.pid())
    }

    /// The process ids of all its replicas, or of the watched processes of a service that already
    /// ran.
    pub fn pids(&self) -> Vec<u32> {
        let started = self
            .process
            .iter()
            .flat_map(|process| std::iter::once(process.pid()).chain(process.others()));
        started.chain(self.watched.iter().copied()).collect()
    }

    /// The process ids of its replicas if they may be paused, otherwise none.
    pub(crate) fn pausable_pids(&self) -> Vec<u32> {
        let may = self.process.as_ref().is_some_and(|process| process.can_be_paused());
        if may { self.pids() } else { Vec::new() }
    }

    /// Whether it runs on CPUs of its own choice, as a service that already ran does.
    pub fn is_elsewhere(&self) -> bool {
        self.process.is_none()
    }

    /// The process ids of what the engine runs to forward packets to it alone.
    pub fn forwarders(&self) -> Vec<u32> {
        self.process.iter().flat_map(|process| process.forwarders()).collect()
    }

    /// The address at which other systems of the run reach it.
    pub fn seen_by_others(&self) -> Upstream {
        let address = self
            .process
            .as_ref()
            .and_then(|process| process.seen_by_others())
            .unwrap_or(self.address);
        Upstream { address, https: https_address(address, &self.ports) }
    }

    /// CPU time of its processes so far; 0 if they are unknown.
    pub fn cpu_ns(&self) -> u64 {
        trees_cpu_ns(&[self.pids(), self.forwarders()].concat())
    }

    /// How its process ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.process.as_mut()?.ended()
    }

    /// File with its output.
    pub fn log(&self) -> Option<&Path> {
        self.process.as_ref().map(|process| process.log())
    }

    /// The last lines that it wrote.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        self.process.as_ref().map(|process| process.last_lines(most)).unwrap_or_default()
    }

    /// Stops it in order; a service that already ran keeps running. It has failed if it had to be
    /// killed, or had ended before.
    pub fn stop(self, contender: &Contender) -> (Option<Stopped>, Option<Failure>) {
        let rule = &contender.system.stop;
        let Some(mut process) = self.process else { return (None, None) };
        let ended_before = process.ended();
        let log = process.last_lines(LOG_LINES);
        let Stop { ended, took_ns: after_ns, killed, orphans, memory_kills } =
            process.stop(rule.signal, rule.within);
        let is_orderly = ORDERLY.contains(&ended.status.as_str());
        let failure = match (&ended_before, killed) {
            (Some(status), _) => Some(format!("it had ended with {status} before it was stopped")),
            (None, true) => {
                Some(format!("it did not end within {} and was killed", show_duration(rule.within)))
            }
            (None, false) if !is_orderly => {
                Some(format!("it ended with {} when it was stopped", ended.status))
            }
            (None, false) if memory_kills > 0 => {
                Some(format!("{memory_kills} of its processes were killed for lack of memory"))
            }
            (None, false) if orphans == 1 => {
                Some("it left 1 process behind, which was killed".into())
            }
            (None, false) if orphans > 1 => {
                Some(format!("it left {orphans} processes behind, which were killed"))
            }
            _ => None,
        };
        let stopped = Stopped { after_ns, clean: failure.is_none(), status: ended.status };
        (Some(stopped), failure.map(|cause| Failure { stage: "stop".into(), cause, log }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_known_only_if_the_first_port_keeps_its_number() {
        let ports =
            [("http".to_owned(), 8080), ("admin".to_owned(), 8081), ("https".to_owned(), 8082)];
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(https_address(at("10.0.0.7:8080"), &ports), Some(at("10.0.0.7:8082")));
        assert_eq!(
            https_address(at("10.0.0.7:31080"), &ports),
            None,
            "the port of a node does not reveal others"
        );
        assert_eq!(https_address(at("127.0.0.1:8080"), &ports[..2]), None);
        assert_eq!(https_address(at("127.0.0.1:8080"), &[]), None);
    }
}
