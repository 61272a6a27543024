//! `faceoff load`: one URL, one load, everything that was measured.

mod capacity;
mod live;
#[cfg(test)]
mod made_up;
mod options;
mod output;
mod witness;
pub mod wrk;

pub use options::Options;

use crate::exit::{BREACHED, Error, FAILED};
use crate::output::{message, print};
use clap::ValueEnum;
use load::agents::{Token, TrustedTls};
use load::{Measured, Plan, Progress, Target, Wait};
use model::experiment::Load;
use model::secret::hidden;
use model::threshold::Readings;
use model::units::{show_duration, show_number, show_short};
use model::workload::Workload;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

/// How `faceoff load` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs: faceoff.load.v1
    Json,
    /// A line for each second
    Csv,
}

/// One load on one target.
pub struct Run {
    url: String,
    target: Target,
    workload: Workload,
    load: Load,
    duration: Duration,
    requests: Option<u64>,
    timeout: Duration,
    seed: u64,
    threads: u32,
    wait: Wait,
}

impl Run {
    fn plan<'a>(&'a self, stop: &'a AtomicBool, progress: Option<SyncSender<Progress>>) -> Plan<'a> {
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

    /// Has agents measure, each its part, and says what each did.
    fn measure_by(&self, names: &[String], insecure: bool) -> Result<Measured, Error> {
        let token = Token::of_environment()?;
        let stop = crate::signals::stop_flag();
        let tls = TrustedTls::of(&self.target, insecure);
        let made = load::agents::run(&self.plan(&stop, None), tls.as_ref(), names, &token);
        let (measured, apart) = made.map_err(|why| match stop.load(Ordering::Relaxed) {
            true => Error::Interrupted(crate::signals::code()),
            false => Error::Failed(why),
        })?;
        for agent in &apart {
            message(&format!(
                "agent {}: {} of {} requests, {} % busy, its clock known to {}",
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

    /// Measures, while somebody watches.
    fn measure<W: Send + 'static>(&self, watch: impl FnOnce(Receiver<Progress>) -> W + Send + 'static) -> Result<(Measured, W), Error> {
        let stop = crate::signals::stop_flag();
        // One message a second from each thread; what is not looked at in time is not worth keeping.
        let (sender, messages) = mpsc::sync_channel(4 * self.threads as usize);
        let plan = self.plan(&stop, Some(sender));
        let watching = std::thread::spawn(move || watch(messages));
        let measured = load::run(&plan).map_err(|e| Error::Failed(e.to_string()));
        // Its sender gone, whoever watches ends.
        drop(plan);
        let watched = watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        measured.map(|measured| (measured, watched))
    }
}

/// A file that cannot be written is told before the run, not after.
fn create(file: &Path) -> Result<std::fs::File, Error> {
    std::fs::File::create(file).map_err(|e| Error::Failed(format!("{} cannot be written: {e}\nhint: name another file", file.display())))
}

/// What thresholds look at.
fn readings(measured: &Measured) -> Readings<'_> {
    Readings { times: &measured.latency, counts: &measured.counts, duration_ns: measured.duration_ns }
}

pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let run = options.to_run()?;
    if let Some(capacity) = run.load.capacity() {
        return capacity::run(options, &run, capacity);
    }
    if let Some(driver) = options.driver {
        return witness::run(&run, driver, &options.task(&run)?, options.format);
    }
    let mut hdr = options.hdr.as_deref().map(create).transpose()?;
    let mut out = options.output.as_deref().map(create).transpose()?;
    let started_at = jiff::Timestamp::now();
    message(&format!("{} at {}, for {}", run.load.describe(), run.url, show_duration(run.duration)));
    let (threads, planned) = (run.threads, run.duration);
    let (measured, in_flight) = match &options.agents[..] {
        [] => run.measure(move |messages| live::show(&messages, threads, planned))?,
        agents => (run.measure_by(agents, options.insecure)?, Default::default()),
    };
    let outcomes: Vec<_> = options.thresholds().map(|threshold| threshold.check(&readings(&measured))).collect();
    let text = match options.format {
        Format::Json => format!("{:#}\n", output::to_json(&measured, &run.load, &run.workload.checks(), &outcomes)),
        Format::Csv => output::to_csv(&measured, &in_flight),
        Format::Text => output::to_text(&measured, &run.load, &run.workload.checks()),
    };
    // A wrong answer may repeat what it was sent.
    match out.as_mut().map(|file| file.write_all(hidden(&text).as_bytes())) {
        None => print(&text),
        Some(Ok(())) => {}
        // What was measured is not lost for a disk that is full.
        Some(Err(error)) => {
            print(&text);
            message(&format!("the file could not be written whole: {error}; the result stands here instead"));
        }
    }
    if let Some(file) = &mut hdr {
        let log = output::to_hdr_log(&measured, started_at.as_millisecond() as f64 / 1e3);
        file.write_all(log.as_bytes())
            .map_err(|e| Error::Failed(format!("the interval log cannot be written: {e}\nhint: is the disk full?")))?;
    }
    for outcome in &outcomes {
        message(&outcome.to_string());
    }
    if measured.interrupted {
        return Ok(ExitCode::from(crate::signals::code()));
    }
    Ok(match measured.counts.correct {
        0 => ExitCode::from(FAILED),
        _ if outcomes.iter().any(|outcome| !outcome.kept) => ExitCode::from(BREACHED),
        _ => ExitCode::SUCCESS,
    })
}
