//! Runs the trials of a run and records them.
//!
//! A trial runs alone, or all trials of a block run at once and share the load in slices. A trial
//! that was lost with the engine is not recorded. Start with [`Lab::run_trial`].

use super::Lab;
use super::upstream::upstream_lost;
use crate::block;
use crate::error::LabError;
use crate::participants::Ready;
use crate::progress::{Progress, Watcher};
use crate::trial;
use crate::trial::setup::{Setup, cell_workloads};
use crate::trial_database::TrialDatabase;
use crate::work_folder::tidy;
use record::{Alternation, Line, Trial};
use runner::start::Running;
use spec::experiment::Experiment;
use spec::name::ContenderName;
use std::path::{Path, PathBuf};

/// The name of a trial's folder.
fn folder_of(block: u32, name: &ContenderName) -> String {
    format!("block-{block:03}-{}", name.folder_name())
}

impl Lab<'_> {
    /// Runs the next missing trial, or the first one of the next spare block. Returns `false` if
    /// there is none. A trial that was lost with the engine is not recorded, so it stays missing.
    ///
    /// # Errors
    /// An interruption; a record that cannot be written; an upstream or an engine that is lost for
    /// good; no agent left.
    pub fn run_trial(&mut self, watch: &mut Watcher<'_>) -> Result<bool, LabError> {
        let missing = self.record.missing_or_spare();
        let Some((block, position, name)) = missing.first().cloned() else { return Ok(false) };
        if self.record.header.alternation == Alternation::Slices {
            let of_block: Vec<(u32, ContenderName)> = missing
                .into_iter()
                .filter(|(of, ..)| *of == block)
                .map(|(_, position, name)| (position, name))
                .collect();
            return self.run_block(block, &of_block, watch).map(|()| true);
        }
        if !self.find_present_agents(watch)? {
            return Ok(true);
        }
        let done = self.record.trials.len();
        watch(Progress::Begins { name: &name, block, done, total: done + missing.len() });
        self.run_alone(&name, block, position, watch)?;
        Ok(true)
    }

    /// Runs the trial of one contender, while no other contender runs.
    fn run_alone(
        &mut self,
        name: &ContenderName,
        block: u32,
        position: u32,
        watch: &mut Watcher<'_>,
    ) -> Result<(), LabError> {
        let work = self.work_folder(&folder_of(block, name));
        self.check_engine(watch)?;
        let mut trial = {
            let database = self.fresh_database(self.experiment(), &work)?;
            let around = self.around(&work, &self.cpus().contender);
            let setup = Setup {
                agents: self.agents.as_ref(),
                seconds: self.seconds.as_ref(),
                ..self.setup(name, block, position)
            };
            trial::run(&setup, &around, database, watch)
        };
        if self.is_stopped() {
            return Err(LabError::Interrupted);
        }
        let lost = self.running_upstream.as_mut().and_then(Running::ended);
        let has_failed = trial.failure.is_some() || lost.is_some();
        if let Some(why) = has_failed.then(|| self.runner.lost()).flatten() {
            // The repetition writes its own log.
            let _ = std::fs::remove_dir_all(&work);
            return self.await_engine(&why, watch);
        }
        trial.faults.extend(lost.as_deref().map(upstream_lost));
        self.keep(trial, &work, watch)?;
        self.replace_lost_upstream(lost, watch)
    }

    /// Runs the missing trials of a block in slices.
    fn run_block(
        &mut self,
        block: u32,
        missing: &[(u32, ContenderName)],
        watch: &mut Watcher<'_>,
    ) -> Result<(), LabError> {
        let done = self.record.trials.len();
        let total = done + self.record.missing_or_spare().len();
        watch(Progress::Begins { name: &missing[0].1, block, done, total });
        let works: Vec<PathBuf> =
            missing.iter().map(|(_, name)| self.work_folder(&folder_of(block, name))).collect();
        self.check_engine(watch)?;
        let mut kept = std::mem::take(&mut self.kept);
        let trials = {
            let contenders: Vec<_> = missing
                .iter()
                .zip(&works)
                .map(|((position, name), work)| {
                    let around = self.around(work, &self.cpus().contender);
                    (self.setup(name, block, *position), around)
                })
                .collect();
            block::run(&contenders, &mut kept, watch)
        };
        self.kept = kept;
        if self.is_stopped() {
            return Err(LabError::Interrupted);
        }
        let lost = self.running_upstream.as_mut().and_then(Running::ended);
        let has_failed = trials.iter().any(|trial| trial.failure.is_some()) || lost.is_some();
        if let Some(why) = has_failed.then(|| self.runner.lost()).flatten() {
            // Contenders that ran on in the engine are gone, so the whole block is repeated.
            self.kept = block::Kept::default();
            works.iter().for_each(|work| drop(std::fs::remove_dir_all(work)));
            return self.await_engine(&why, watch);
        }
        for (mut trial, work) in trials.into_iter().zip(&works) {
            trial.faults.extend(lost.as_deref().map(upstream_lost));
            self.keep(trial, work, watch)?;
        }
        self.replace_lost_upstream(lost, watch)
    }

    /// Starts the database of a trial, filled for the cells of an experiment, if there is one.
    pub(super) fn fresh_database(
        &self,
        experiment: &Experiment,
        work: &Path,
    ) -> Result<TrialDatabase, LabError> {
        let workloads = cell_workloads(experiment, &self.workloads);
        match &self.database {
            Some(source) => source.start(&workloads, &self.cpus().upstream, work, self.means()),
            None => Ok(TrialDatabase::none()),
        }
    }

    /// The setup of a trial whose load this machine's generator makes.
    pub(super) fn setup(&self, name: &ContenderName, block: u32, position: u32) -> Setup<'_> {
        let is_it = |ready: &&Ready| ready.contender.name == *name;
        Setup {
            ready: self.ready.iter().find(is_it).expect("the plan names ready contenders only"),
            experiment: self.experiment(),
            workloads: &self.workloads,
            cpus: self.cpus(),
            awake: self.awake.as_ref(),
            energy: self.energy.as_ref(),
            agents: None,
            seconds: None,
            sampling: None,
            upstream: self.running_upstream.as_ref().and_then(Running::pid),
            block,
            position,
        }
    }

    /// Records a trial.
    fn keep(&mut self, trial: Trial, work: &Path, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        self.write_line(&Line::Trial(Box::new(trial.clone())))?;
        tidy(work, trial.failure.is_none());
        watch(Progress::Ended(&trial));
        self.record.trials.push(trial);
        Ok(())
    }
}
