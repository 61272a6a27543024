//! The messages between a coordinator and an agent. The coordinator sends [`Request`], and the
//! agent replies to each with one [`Reply`].

use crate::parts::{Part, PartResult};
use crate::plan::{Address, Plan, Protocol, Target, Wait};
use crate::tls::TlsOptions;
use serde::{Deserialize, Serialize};
use spec::experiment::agents::LONGEST;
use spec::experiment::{Load, Pause, RATE_MAX};
use spec::workload::Workload;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The largest request. It contains the bodies of the workload.
pub(super) const REQUEST_BYTES_MAX: u32 = 256 << 20;
/// The largest reply. It contains the latencies of every second.
pub(super) const REPLY_BYTES_MAX: u32 = 256 << 20;

/// The largest number of stages of a load.
const STAGES_MAX: usize = 10_000;
/// The largest number of connections, users and requests in flight.
const MANY: u32 = 1_000_000;

/// A request of the coordinator.
#[derive(Serialize, Deserialize)]
pub(super) enum Request {
    /// Asks for the clock.
    Clock,
    /// Assigns a part of a load. The agent opens its connections.
    Task(Box<Task>),
    /// Asks for progress.
    Watch,
    /// Starts the load when the agent's clock shows this instant.
    Begin { at_ns: u64 },
}

/// A reply of the agent.
#[derive(Serialize, Deserialize)]
pub(super) enum Reply {
    /// The time on its clock, and how many event loops it would run.
    Clock { now_ns: u64, loops: u32 },
    /// The load is in progress. Tells whether its connections are open.
    Running { connected: bool },
    /// The load is complete.
    Done(Box<PartResult>),
    /// The request cannot be met, and why.
    Refused(String),
}

/// A part of a load with everything that is needed to make it.
#[derive(Serialize, Deserialize)]
pub(super) struct Task {
    pub part: Part,
    pub load: Load,
    pub workload: Workload,
    pub addresses: Vec<SocketAddr>,
    pub host: String,
    pub protocol: Protocol,
    pub tls: Option<TrustedTls>,
    pub duration: Duration,
    pub requests: Option<u64>,
    pub timeout: Duration,
    pub seed: u64,
    pub wait: Wait,
}

/// TLS settings without files, because those are on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedTls {
    /// The name that the certificate must contain.
    pub host: String,
    /// Whether any certificate is trusted. Otherwise the agent's system decides.
    pub insecure: bool,
}

impl TrustedTls {
    /// Returns what an agent needs of a target's TLS. `None` without TLS.
    pub fn of_target(target: &Target, insecure: bool) -> Option<TrustedTls> {
        target
            .tls
            .as_ref()
            .map(|tls| TrustedTls { host: tls.server_name.to_str().into_owned(), insecure })
    }
}

impl Task {
    /// Creates the task for one part of a plan.
    ///
    /// # Errors
    /// If agents cannot do this.
    pub fn for_part(plan: &Plan<'_>, tls: Option<TrustedTls>, part: Part) -> Result<Task, String> {
        if plan.duration > LONGEST {
            return Err("agents make loads of at most 15 minutes, because they keep every second\nhint: set a duration, such as -d 1m".into());
        }
        match (&plan.target.tls, &tls) {
            (Some(_), None) => {
                return Err("TLS files are not sent to agents\nhint: install the certificate authority on their systems, or trust any certificate".into());
            }
            (None, Some(_)) => return Err("the target does not use TLS".into()),
            _ => {}
        }
        let tcp = |address: &Address| match address {
            Address::Tcp(address) => Ok(*address),
            Address::Unix(path) => Err(format!(
                "agents cannot reach {}, a socket of this machine\nhint: use a TCP port",
                path.display()
            )),
        };
        Ok(Task {
            part,
            load: plan.load.clone(),
            workload: match &plan.target.path {
                Some(path) => plan.workload.with_path(path).to_send(),
                None => plan.workload.to_send(),
            },
            addresses: plan.target.addresses.iter().map(tcp).collect::<Result<_, _>>()?,
            host: plan.target.host.clone(),
            protocol: plan.target.protocol,
            tls,
            duration: plan.duration,
            requests: plan.requests,
            timeout: plan.timeout,
            seed: plan.seed,
            wait: plan.wait,
        })
    }

    /// Returns the target of the task.
    ///
    /// # Errors
    /// If the task is invalid.
    pub fn target(&self) -> Result<Target, String> {
        self.workload.could_be_read()?;
        if !is_sound(&self.load) {
            return Err("the load is outside the limits".into());
        }
        if self.duration > LONGEST || self.timeout > LONGEST {
            return Err("the load is longer than 15 minutes".into());
        }
        if !spec::workload::is_header_value(&self.host) || self.host.contains(' ') {
            return Err("the host is not a valid header value".into());
        }
        let http2 = self.protocol == Protocol::Http2;
        let tls = self.tls.as_ref().map(|tls| {
            TlsOptions { insecure: tls.insecure, http2, ..TlsOptions::default() }.client(&tls.host)
        });
        Ok(Target {
            addresses: self.addresses.iter().copied().map(Address::Tcp).collect(),
            host: self.host.clone(),
            protocol: self.protocol,
            tls: tls.transpose()?,
            // The coordinator has already replaced the paths of the workload.
            path: None,
        })
    }

    /// Returns the plan of the whole load.
    pub fn plan<'a>(&'a self, target: &'a Target, stop: &'a AtomicBool) -> Plan<'a> {
        Plan {
            target,
            workload: &self.workload,
            load: &self.load,
            duration: self.duration,
            requests: self.requests,
            timeout: self.timeout,
            seed: self.seed,
            threads: self.part.loops,
            wait: self.wait,
            stop,
            progress: None,
        }
    }
}

/// Whether a load is within the limits of files and command lines. What the protocol cannot carry
/// is refused later.
fn is_sound(load: &Load) -> bool {
    let is_rate = |rate: f64| (0.0..=RATE_MAX).contains(&rate);
    match load {
        Load::Arrivals { rate_per_s, stages, in_flight_max, .. } => {
            let are_stages =
                stages.iter().all(|stage| is_rate(stage.to_per_s) && stage.over <= LONGEST);
            is_rate(*rate_per_s)
                && stages.len() <= STAGES_MAX
                && are_stages
                && (1..=MANY).contains(in_flight_max)
        }
        Load::Closed { connections, depth } => {
            (1..=MANY).contains(connections) && (1..=MANY).contains(depth)
        }
        Load::Users { users, ramp, pause, pooled, .. } => {
            let longest = match pause {
                Pause::Constant(pause) | Pause::Exponential(pause) => *pause,
                Pause::Uniform { from, to } if from > to => return false,
                Pause::Uniform { to, .. } => *to,
            };
            (1..=MANY).contains(users)
                && *ramp <= LONGEST
                && longest <= LONGEST
                && pooled.is_none_or(|some| (1..=MANY).contains(&some))
        }
        Load::Capacity(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_beyond_the_limits_is_unsound() {
        let users = |pause, users, pooled| Load::Users {
            users,
            ramp: Duration::ZERO,
            pause,
            rounds: None,
            pooled,
        };
        let second = Duration::from_secs(1);
        for load in [
            Load::closed(64),
            Load::arrivals(1_000.0, 64),
            users(Pause::Constant(second), 3, Some(2)),
        ] {
            assert!(is_sound(&load), "{load:?}");
        }
        let backwards = Pause::Uniform { from: second, to: Duration::ZERO };
        for load in [
            Load::closed(0),
            Load::arrivals(f64::NAN, 64),
            Load::arrivals(-1.0, 64),
            Load::arrivals(f64::INFINITY, 64),
            Load::arrivals(1.0, u32::MAX),
            users(backwards, 3, None),
            users(Pause::Constant(Duration::MAX), 3, None),
            users(Pause::Constant(second), 3, Some(0)),
        ] {
            assert!(!is_sound(&load), "{load:?}");
        }
    }
}
