//! A load on one target, ready to run, here or on agents.

use crate::exit::Error;
use crate::output::message;
use load::agents::{Token, TrustedTls};
use load::{Measured, Plan, Progress, Target, Wait};
use spec::experiment::Load;
use spec::threshold::Readings;
use spec::units::{show_number, show_short};
use spec::workload::Workload;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

/// A load on one target.
pub struct PlannedLoad {
    /// The URL as it was given.
    pub url: String,
    /// Where the requests go.
    pub target: Target,
    /// The requests.
    pub workload: Workload,
    /// How the requests arrive.
    pub load: Load,
    /// How long the load lasts.
    pub duration: Duration,
    /// Maximum number of requests.
    pub requests: Option<u64>,
    /// The time limit for one request.
    pub timeout: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Number of threads.
    pub threads: u32,
    /// How threads wait.
    pub wait: Wait,
}

impl PlannedLoad {
    /// Returns the plan for the generator.
    pub fn plan<'a>(
        &'a self,
        stop: &'a AtomicBool,
        progress: Option<SyncSender<Progress>>,
    ) -> Plan<'a> {
        Plan {
            target: &self.target,
            workload: &self.workload,
            load: &self.load,
            duration: self.duration,
            requests: self.requests,
            timeout: self.timeout,
            seed: self.seed,
            threads: self.threads,
            wait: self.wait,
            stop,
            progress,
        }
    }

    /// Has agents generate the load, each a part, and prints what each did.
    pub fn measure_by_agents(&self, names: &[String], insecure: bool) -> Result<Measured, Error> {
        let token = Token::from_environment()?;
        let stop = crate::signals::stop_flag();
        let tls = TrustedTls::of_target(&self.target, insecure);
        let made = load::agents::run(&self.plan(&stop, None), tls.as_ref(), names, &token);
        let (measured, apart) = made.map_err(|why| match stop.load(Ordering::Relaxed) {
            true => Error::Interrupted(crate::signals::code()),
            false => Error::Failed(why),
        })?;
        for agent in &apart {
            message(&format!(
                "agent {}: {} of {} requests, {} % busy, clock offset known to {}",
                agent.name,
                agent.counts.scheduled,
                measured.counts.scheduled,
                show_number(100.0 * agent.busy_share),
                show_short(agent.offset_error_ns as f64)
            ));
            agent.doubts().iter().for_each(|(_, doubt)| message(&format!("warning: {doubt}")));
        }
        Ok(measured)
    }

    /// Generates the load while `watch` receives each second on another thread.
    pub fn measure<W: Send + 'static>(
        &self,
        watch: impl FnOnce(Receiver<Progress>) -> W + Send + 'static,
    ) -> Result<(Measured, W), Error> {
        let stop = crate::signals::stop_flag();
        // One message per second from each thread; late ones are dropped.
        let (sender, messages) = mpsc::sync_channel(4 * self.threads as usize);
        let plan = self.plan(&stop, Some(sender));
        let watching = std::thread::spawn(move || watch(messages));
        let measured = load::run(&plan).map_err(|e| Error::Failed(e.to_string()));
        // Dropping the sender ends the watching thread.
        drop(plan);
        let watched = watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        measured.map(|measured| (measured, watched))
    }
}

/// Returns the readings that thresholds are checked against.
pub fn readings(measured: &Measured) -> Readings<'_> {
    measured.counts.readings(&measured.latency, measured.duration_ns)
}

/// Creates an output file before the run, so that an error is reported early.
pub fn create(file: &Path) -> Result<std::fs::File, Error> {
    std::fs::File::create(file).map_err(|e| {
        Error::Failed(format!("{} cannot be written: {e}\nhint: name another file", file.display()))
    })
}
