//! Profiled blocks: after the judged blocks, a few more run in which stacks are sampled.
//!
//! Their trials are not recorded, because sampling costs time; their profiles are. A block that was
//! profiled completely is not profiled again when a run is resumed. Start with [`Lab::profile`].

use super::Lab;
use crate::block;
use crate::error::LabError;
use crate::participants::Ready;
use crate::plan;
use crate::profiled_environment::{of_profiled_start, takes_variables};
use crate::profiling::Sampling;
use crate::progress::{Progress, Watcher};
use crate::trial;
use crate::trial::setup::Setup;
use crate::work_folder::tidy;
use record::{Alternation, Failure, Line, Profile, Trial};
use spec::experiment::Experiment;
use spec::name::ContenderName;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Profiled blocks have numbers from here on where judged blocks are counted too.
const FIRST_BLOCK: u32 = 100_000;

impl Lab<'_> {
    /// Runs the profiled blocks that the experiment asks for and that are missing. Like judged
    /// blocks, none begins after the time budget, which begins anew. Nothing that happens in them
    /// fails the run.
    ///
    /// # Errors
    /// An interruption; a record that cannot be written.
    pub fn profile(&mut self, watch: &mut Watcher<'_>) -> Result<(), LabError> {
        let Some(profiling) = self.experiment().profile.clone() else { return Ok(()) };
        let experiment = profiling.experiment_of(self.experiment());
        if experiment.cells.is_empty() {
            watch(Progress::NotProfiled("no cell has a load that can be sampled"));
            return Ok(());
        }
        let dropped: Vec<&ContenderName> = self.record.dropped().map(|(name, _)| name).collect();
        let present: Vec<ContenderName> = self
            .ready
            .iter()
            .map(|ready| ready.contender.name.clone())
            .filter(|name| !name.is_twin() && !dropped.contains(&name))
            .collect();
        let last = FIRST_BLOCK + profiling.blocks;
        let (began, mut problem, mut is_reported) = (Instant::now(), None, false);
        let orders = plan::blocks(&present, profiling.blocks, experiment.design.seed);
        for (block, order) in (FIRST_BLOCK + 1..=last).zip(orders) {
            let number = block - FIRST_BLOCK;
            let profiles = &self.record.profiles;
            let has_profile = |name: &ContenderName| {
                profiles.iter().any(|of| of.block == number && of.contender == *name)
            };
            if present.iter().all(has_profile) {
                continue;
            }
            if began.elapsed() >= experiment.design.budget {
                break;
            }
            watch(Progress::Profiling { block: number, of: profiling.blocks });
            let profiled = self.profile_block(&experiment, block, &order, &mut problem)?;
            if let (Some(why), false) = (&problem, is_reported) {
                watch(Progress::NotProfiled(why));
                is_reported = true;
            }
            match profiled {
                Ok(profiles) => self.keep_profiles(profiles)?,
                Err(why) => {
                    watch(Progress::NotProfiled(&why));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs one profiled block. The inner error says why nothing can be sampled. `problem` receives
    /// the first failure or fault of a trial.
    fn profile_block(
        &mut self,
        experiment: &Experiment,
        block: u32,
        order: &[ContenderName],
        problem: &mut Option<String>,
    ) -> Result<Result<Vec<Profile>, String>, LabError> {
        let options = self.experiment().profile.as_ref().is_some_and(|of| of.runtime_options);
        let of_name = |name| self.setup(name, block, 1).ready;
        let ready: Vec<Ready> = order
            .iter()
            .map(|name| of_profiled_start(of_name(name), experiment, options))
            .collect();
        let anew = ready.iter().filter(|ready| options && takes_variables(ready, experiment));
        let with_options = anew.map(|ready| ready.contender.name.clone()).collect();
        let sampling = Sampling::of_block(block - FIRST_BLOCK, &self.record.profiles, with_options);
        let works: Vec<PathBuf> = order
            .iter()
            .map(|name| format!("profiled-{}-{}", block - FIRST_BLOCK, name.folder_name()))
            .map(|name| self.work_folder(&name))
            .collect();
        if self.record.header.alternation == Alternation::Slices {
            let trials = self.profile_in_slices(experiment, block, &ready, &works, &sampling);
            *problem = problem.take().or_else(|| trials.iter().find_map(problem_of));
        } else {
            for ((position, ready), work) in (1..).zip(&ready).zip(&works) {
                let setup = self.setup(&ready.contender.name, block, position);
                let setup = Setup { ready, experiment, sampling: Some(&sampling), ..setup };
                let found = self.profile_alone(&setup, work)?;
                *problem = problem.take().or(found);
            }
        }
        works.iter().for_each(|work| tidy(work, true));
        if self.is_stopped() { Err(LabError::Interrupted) } else { Ok(sampling.into_profiles()) }
    }

    fn profile_in_slices(
        &mut self,
        experiment: &Experiment,
        block: u32,
        ready: &[Ready],
        works: &[PathBuf],
        sampling: &Sampling,
    ) -> Vec<Trial> {
        let mut kept = std::mem::take(&mut self.kept);
        let trials = {
            let contenders: Vec<_> = (1..)
                .zip(ready)
                .zip(works)
                .map(|((position, ready), work)| {
                    let setup = self.setup(&ready.contender.name, block, position);
                    let setup = Setup { ready, experiment, sampling: Some(sampling), ..setup };
                    (setup, self.around(work, &self.cpus().contender))
                })
                .collect();
            block::run(&contenders, &mut kept, &mut |_| ())
        };
        self.kept = kept;
        trials
    }

    /// Runs one trial. Returns what went wrong in it, if anything did.
    fn profile_alone(&self, setup: &Setup<'_>, work: &Path) -> Result<Option<String>, LabError> {
        let database = match self.fresh_database(setup.experiment, work) {
            Ok(database) => database,
            Err(LabError::Database(name, failure)) => return Ok(Some(in_words(&name, &failure))),
            Err(error) => return Err(error),
        };
        let around = self.around(work, &self.cpus().contender);
        Ok(problem_of(&trial::run(setup, &around, database, &mut |_| ())))
    }

    fn keep_profiles(&mut self, profiles: Vec<Profile>) -> Result<(), LabError> {
        for profile in profiles {
            self.write_line(&Line::Profile(Box::new(profile.clone())))?;
            self.record.profiles.push(profile);
        }
        Ok(())
    }
}

/// Says what went wrong in a trial: its failure, else its first fault.
fn problem_of(trial: &Trial) -> Option<String> {
    match &trial.failure {
        Some(failure) => Some(in_words(&trial.contender, failure)),
        None => Some(format!("{}: {}", trial.contender, trial.all_faults().next()?.evidence)),
    }
}

fn in_words(name: &impl Display, failure: &Failure) -> String {
    format!("{name}: failed ({}): {}", failure.stage, failure.cause)
}
