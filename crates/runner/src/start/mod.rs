//! Starts a contender and waits until it gives a correct response.
//!
//! [`start`] prepares the command and its files, has the runner start it, and sends requests until
//! one gets a correct response. A service that already runs is only found and sent requests.

mod prepare;
mod reach;
mod running;
mod target;

pub use prepare::usual_descriptors;
pub use running::Running;

use crate::place::{Order, Started, Surroundings};
use crate::ports;
use crate::process::LOG_LINES;
use load::{Target, WrongAnswer, ask};
use prepare::{Prepared, prepare};
use record::Failure;
use running::Command;
use spec::system::{Contender, Protocol};
use spec::workload::Workload;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;
use target::{Deadline, RETRY, system_target};

/// A starting system gets the next request after this share of the time that has passed, within
/// bounds. So its start-up time is known to 1 %, and a slow start is not disturbed.
const RETRY_SHARE: f64 = 0.01;
/// How long one of several replicas may take to respond before the next one gets a request.
const REPLICA_TIMEOUT: Duration = Duration::from_millis(500);

/// Starts a contender and waits for its first correct response to the workload `ready`.
///
/// # Errors
/// The failure, and the command: a system that does not start, ends early, or gives no correct
/// response before the deadline.
pub fn start(
    contender: &Contender,
    ready: &Workload,
    around: &Surroundings<'_>,
) -> Result<Running, (Failure, Vec<String>)> {
    if let Some(reached) = &contender.system.reached {
        return reach::reach(contender, reached, ready, around)
            .map_err(|failure| (failure, vec![reached.url.clone()]));
    }
    // Another program can take a port between the choice and the start.
    for _ in 0..2 {
        match start_once(contender, ready, around) {
            Err(NotStarted::PortTaken) => {}
            Err(NotStarted::Failed(failure, command)) => return Err((failure, command)),
            Ok(running) => return Ok(running),
        }
    }
    let cause = "other programs took the chosen ports, twice".to_owned();
    Err((failure("start", cause, vec![]), vec![]))
}

enum NotStarted {
    PortTaken,
    Failed(Failure, Vec<String>),
}

/// Why waiting for the first correct response ended without one.
enum NotReady {
    PortTaken,
    Failed(Failure),
}

fn failure(stage: &str, cause: String, log: Vec<String>) -> Failure {
    Failure { stage: stage.into(), cause, log }
}

fn start_once(
    contender: &Contender,
    ready: &Workload,
    around: &Surroundings<'_>,
) -> Result<Running, NotStarted> {
    let system = &contender.system;
    let prepared = prepare(contender, around)
        .map_err(|cause| NotStarted::Failed(failure("start", cause, vec![]), vec![]))?;
    let order = Order {
        contender,
        command: &prepared.command,
        env: &prepared.env,
        inside: &prepared.inside,
        work: &prepared.work,
        descriptors: prepared.descriptors,
        log: &prepared.log,
        around,
    };
    let failed = |failure| NotStarted::Failed(failure, prepared.command.clone());
    let address = prepared.inside.address;
    let target = system_target(address, system.start.protocol)
        .map_err(|cause| failed(failure("start", cause, vec![])))?;
    let mut process =
        around.runner.start(&order).map_err(|cause| failed(failure("start", cause, vec![])))?;
    let mut waiting = Waiting { contender, ready, around, address, target, failed_attempts: 0 };
    let at_ns = waiting.await_ready(&mut *process).map_err(|why| match why {
        NotReady::PortTaken => NotStarted::PortTaken,
        NotReady::Failed(failure) => failed(failure),
    })?;
    let began_ns = process.started_ns();
    let requests = |replica: SocketAddr| ask_replica(replica, system.start.protocol, ready);
    let scaled = process.scale_out(&requests, system.ready_within, around.stop);
    let scaled = scaled
        .map_err(|cause| failed(failure("scale-out", cause, process.last_lines(LOG_LINES))))?;
    let Waiting { target, failed_attempts, .. } = waiting;
    let Prepared { command, reset, env, inside, scrub, .. } = prepared;
    Ok(Running {
        process: Some(process),
        watched: Vec::new(),
        began_ns,
        address,
        ports: inside.ports(&system.start.ports),
        target,
        command,
        ready_after_ns: Some(at_ns - began_ns),
        scaled_out_after_ns: scaled.map(|scaled| scaled.after_ns),
        failed_attempts: failed_attempts + scaled.map_or(0, |scaled| scaled.failed_attempts),
        reset: Command { words: reset, env },
        _scrub: Some(scrub),
    })
}

/// A started system that has given no correct response yet.
struct Waiting<'a> {
    contender: &'a Contender,
    ready: &'a Workload,
    around: &'a Surroundings<'a>,
    address: SocketAddr,
    target: Target,
    failed_attempts: u64,
}

impl Waiting<'_> {
    /// Sends requests until one gets a correct response. Returns when that arrived.
    fn await_ready(&mut self, process: &mut dyn Started) -> Result<u64, NotReady> {
        let ready_within = self.contender.system.ready_within;
        let deadline = Deadline::after(process.started_ns(), ready_within);
        // A wrong response explains more than a last attempt that the deadline cut short.
        let mut wrong = None;
        let mut behind = process.behind();
        loop {
            let within = deadline.request_timeout();
            // An Ingress whose service does not listen yet would respond in the service's place, or
            // delay its response. So the service itself must respond first.
            let service = behind.map_or(Ok(()), |service| {
                ask(service, &Target::plain(service), self.ready, within).map(drop)
            });
            let result = service.and_then(|()| {
                behind = None;
                ask(self.address, &self.target, self.ready, within)
            });
            let cause = match result {
                Ok(at_ns) => return Ok(at_ns),
                Err(why) => self.note_attempt(why, &mut wrong),
            };
            if let Some(status) = process.ended() {
                return Err(self.ended_early(&status, process));
            }
            if self.around.stop.load(Ordering::Relaxed) {
                return Err(NotReady::Failed(failure("ready", "interrupted".into(), vec![])));
            }
            if deadline.has_passed() {
                let cause = deadline.missed(None, &wrong.unwrap_or(cause));
                let log = process.last_lines(LOG_LINES);
                return Err(NotReady::Failed(failure("ready", cause, log)));
            }
            let passed = Duration::from_nanos(load::clock::now_ns() - process.started_ns());
            std::thread::sleep(passed.mul_f64(RETRY_SHARE).clamp(*RETRY.start(), *RETRY.end()));
        }
    }

    /// Counts a failed attempt, and words its cause. Keeps the cause of the last wrong response.
    fn note_attempt(&mut self, why: WrongAnswer, wrong: &mut Option<String>) -> String {
        match why {
            WrongAnswer::NotListening(cause) if self.address.ip().is_loopback() => cause,
            // A system that listens on loopback only is not reached at another address.
            WrongAnswer::NotListening(cause) => {
                format!("{cause}; it must listen where `{{listen}}` says")
            }
            WrongAnswer::NoAnswer(cause) => {
                self.failed_attempts += 1;
                cause
            }
            WrongAnswer::Wrong(cause) => {
                self.failed_attempts += 1;
                wrong.insert(format!("a wrong response: {cause}")).clone()
            }
        }
    }

    fn ended_early(&self, status: &str, process: &dyn Started) -> NotReady {
        // At another address no other program can have taken the port.
        if self.address.ip().is_loopback() && !ports::is_free(self.address.port()) {
            return NotReady::PortTaken;
        }
        let cause = format!("it ended with {status} before it was ready");
        NotReady::Failed(failure("start", cause, process.last_lines(LOG_LINES)))
    }
}

/// Sends a request to one of several replicas. Returns when a correct response arrived.
fn ask_replica(
    address: SocketAddr,
    protocol: Protocol,
    ready: &Workload,
) -> Result<u64, WrongAnswer> {
    let target = system_target(address, protocol).map_err(WrongAnswer::NotListening)?;
    ask(address, &target, ready, REPLICA_TIMEOUT)
}
