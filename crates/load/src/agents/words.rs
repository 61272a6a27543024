//! What a coordinator and an agent say to each other. The coordinator asks, and each question has one answer.

use super::{Made, Part};
use crate::plan::{Address, Plan, Protocol, Target, Wait};
use crate::tls::TlsOptions;
use model::agents::LONGEST;
use model::experiment::{Load, Pause, RATE_MAX};
use model::workload::Workload;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Most bytes of a question: bodies of requests are in it.
pub(super) const ASK_LONGEST: u32 = 256 << 20;
/// Most bytes of an answer: the latencies of every second are in it.
pub(super) const SAY_LONGEST: u32 = 256 << 20;

/// Most stages of a load.
const STAGES_MAX: usize = 10_000;
/// Most connections, users and requests under way.
const MANY: u32 = 1_000_000;

/// What the coordinator asks.
#[derive(Serialize, Deserialize)]
pub(super) enum Ask {
    /// What does your clock show?
    Clock,
    /// Get ready to make this, with connections that stand.
    Task(Box<Task>),
    /// How far are you?
    Watch,
    /// Begin when your clock shows this.
    Begin { at_ns: u64 },
}

/// What the agent answers.
#[derive(Serialize, Deserialize)]
pub(super) enum Say {
    /// What its clock shows, and how many event loops it would run.
    Clock { now_ns: u64, loops: u32 },
    /// It is at it; whether its connections stand.
    AtIt { connected: bool },
    /// It is over.
    Done(Box<Made>),
    /// It cannot be, and why.
    Refused(String),
}

/// A part of a load, with all that it takes to make it.
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

/// TLS without files, which are on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedTls {
    /// The name that the certificate must bear.
    pub host: String,
    /// Whether anybody is trusted; otherwise the authorities that the agent's system knows.
    pub insecure: bool,
}

impl TrustedTls {
    /// What an agent needs of a target's TLS; `None` of one in the clear.
    pub fn of(target: &Target, insecure: bool) -> Option<TrustedTls> {
        target.tls.as_ref().map(|tls| TrustedTls { host: tls.server_name.to_str().into_owned(), insecure })
    }
}

impl Task {
    /// A part of a plan.
    ///
    /// # Errors
    /// What agents cannot do.
    pub fn of(plan: &Plan<'_>, tls: Option<TrustedTls>, part: Part) -> Result<Task, String> {
        if plan.duration > LONGEST {
            return Err("agents make loads of at most 15 minutes\nhint: they keep each second; say how long, such as -d 1m".into());
        }
        match (&plan.target.tls, &tls) {
            (Some(_), None) => {
                return Err("files for TLS are not sent to agents\nhint: let their systems know the authority, or trust anybody".into());
            }
            (None, Some(_)) => return Err("TLS to a target in the clear".into()),
            _ => {}
        }
        let tcp = |address: &Address| match address {
            Address::Tcp(address) => Ok(*address),
            Address::Unix(path) => Err(format!("{} is a socket of this machine alone\nhint: give agents a port", path.display())),
        };
        Ok(Task {
            part,
            load: plan.load.clone(),
            workload: plan.workload.to_send(),
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

    /// Where its requests go.
    ///
    /// # Errors
    /// What cannot be made of it here.
    pub fn target(&self) -> Result<Target, String> {
        self.workload.could_be_read()?;
        if !is_sound(&self.load) {
            return Err("a load that no file could ask for".into());
        }
        if self.duration > LONGEST || self.timeout > LONGEST {
            return Err("a load of more than 15 minutes".into());
        }
        if !model::workload::is_header_value(&self.host) || self.host.contains(' ') {
            return Err("a host that cannot be sent".into());
        }
        let http2 = self.protocol == Protocol::Http2;
        let tls = self.tls.as_ref().map(|tls| TlsOptions { insecure: tls.insecure, http2, ..TlsOptions::default() }.client(&tls.host));
        Ok(Target {
            addresses: self.addresses.iter().copied().map(Address::Tcp).collect(),
            host: self.host.clone(),
            protocol: self.protocol,
            tls: tls.transpose()?,
        })
    }

    /// The plan that it is part of.
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

/// Whether a file or a command line could have asked for it; what the protocol does not carry is refused by who makes it.
fn is_sound(load: &Load) -> bool {
    let is_rate = |rate: f64| (0.0..=RATE_MAX).contains(&rate);
    match load {
        Load::Arrivals { rate_per_s, stages, in_flight_max, .. } => {
            let are_stages = stages.iter().all(|stage| is_rate(stage.to_per_s) && stage.over <= LONGEST);
            is_rate(*rate_per_s) && stages.len() <= STAGES_MAX && are_stages && (1..=MANY).contains(in_flight_max)
        }
        Load::Closed { connections, depth } => (1..=MANY).contains(connections) && (1..=MANY).contains(depth),
        Load::Users { users, ramp, pause, pooled, .. } => {
            let longest = match pause {
                Pause::Constant(pause) | Pause::Exponential(pause) => *pause,
                Pause::Uniform { from, to } if from > to => return false,
                Pause::Uniform { to, .. } => *to,
            };
            (1..=MANY).contains(users) && *ramp <= LONGEST && longest <= LONGEST && pooled.is_none_or(|some| (1..=MANY).contains(&some))
        }
        Load::Capacity(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_nobody_could_write_is_refused() {
        let users = |pause, users, pooled| Load::Users { users, ramp: Duration::ZERO, pause, rounds: None, pooled };
        let second = Duration::from_secs(1);
        for load in [Load::closed(64), Load::arrivals(1_000.0, 64), users(Pause::Constant(second), 3, Some(2))] {
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
