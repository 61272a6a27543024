//! A run of one experiment, from its files to its record.
//!
//! [`Lab::open`] resolves and builds everything and writes the header of the record;
//! [`Lab::begin`] warms the upstream up and proves that contenders respond correctly;
//! [`Lab::run_trial`] runs the next missing trial. The caller may judge between trials, and stop.
//! [`Lab::finish`] ends the run. Each file of this folder adds the methods of one of these steps.

mod agents;
mod engine;
mod open;
mod profiled;
mod prove;
mod trials;
mod upstream;

use crate::agents::Agents;
use crate::block;
use crate::clock;
use crate::error::LabError;
use crate::participants::Ready;
use crate::place::Place;
use crate::trial_database::DatabaseSource;
use crate::writer::Writer;
use record::{Event, Line, Record, Session};
use runner::awake::Awake;
use runner::energy::Packages;
use runner::means::Means;
use runner::needs::Tools;
use runner::place::{Limits, Runner, Surroundings};
use runner::start::Running;
use spec::experiment::{CpuSets, Experiment};
use spec::workload::Workload;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

/// A run in progress.
pub struct Lab<'a> {
    place: &'a Place<'a>,
    tools: Tools,
    runner: Box<dyn Runner>,
    agents: Option<Agents>,
    /// By the name that [`spec::experiment::Cell::workload_label`] returns.
    workloads: BTreeMap<String, Workload>,
    ready: Vec<Ready>,
    upstream: Option<Ready>,
    database: Option<DatabaseSource>,
    awake: Option<Awake>,
    energy: Option<Packages>,
    running_upstream: Option<Running>,
    upstream_restarts: u32,
    engine_losses: u32,
    seconds: Option<SyncSender<load::Progress>>,
    /// State that blocks in slices pass on to the next block.
    kept: block::Kept,
    writer: Writer,
    record: Record,
}

impl Lab<'_> {
    /// Sends each second of a measurement to this listener. Seconds are dropped while its queue is
    /// full.
    pub fn tell_seconds(&mut self, listener: SyncSender<load::Progress>) {
        self.seconds = Some(listener);
    }

    /// The record so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Stops the upstream and everything else that still runs, and returns the record.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn finish(mut self, event: Event) -> Result<Record, LabError> {
        self.stop_kept();
        if let (Some(running), Some(upstream)) = (self.running_upstream.take(), &self.upstream) {
            let _ = running.stop(&upstream.contender);
        }
        let _ = std::fs::remove_dir(self.record.folder.join("starts"));
        self.note(event)?;
        Ok(self.record)
    }

    /// Stops the contenders that keep running from block to block.
    fn stop_kept(&mut self) {
        self.kept.stop(self.ready.iter().map(|ready| &ready.contender));
    }

    fn experiment(&self) -> &Experiment {
        &self.record.header.experiment
    }

    fn cpus(&self) -> &CpuSets {
        &self.record.header.cpus
    }

    fn is_stopped(&self) -> bool {
        self.place.is_stopped()
    }

    fn write_line(&mut self, line: &Line) -> Result<(), LabError> {
        self.writer.write_line(line).map_err(|e| LabError::Record(self.record.folder.clone(), e))
    }

    fn note(&mut self, event: Event) -> Result<(), LabError> {
        let session = Session { event, at: clock::now() };
        self.write_line(&Line::Session(session.clone()))?;
        self.record.sessions.push(session);
        Ok(())
    }

    fn work_folder(&self, name: &str) -> PathBuf {
        self.record.folder.join("starts").join(name)
    }

    fn around<'s>(&'s self, work: &'s Path, cpus: &'s [usize]) -> Surroundings<'s> {
        Surroundings {
            tools: &self.tools,
            runner: &*self.runner,
            limits: Limits::of_place(&self.experiment().place),
            upstream: self.running_upstream.as_ref().map(Running::seen_by_others),
            database: None,
            cpus,
            descriptors: self.experiment().place.descriptors,
            work,
            run: &self.record.header.id,
            stop: self.place.stop,
        }
    }

    fn means(&self) -> Means<'_> {
        Means { tools: &self.tools, run: &self.record.header.id, stop: self.place.stop }
    }
}
