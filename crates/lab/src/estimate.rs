//! Estimates how long an experiment takes, before anything runs.
//!
//! The estimate adds up what the experiment's file says (warm-up, measurement, blocks) and typical
//! times of what it does not say: how long a JVM or another program needs to start and to become
//! steady. Start at [`Estimate::of_experiment`].

use crate::profiling::traced_for;
use crate::warmup::upstream_warmup;
use spec::catalog::Catalog;
use spec::experiment::{CpuSets, Experiment};
use spec::problem::Problems;
use spec::system::Contender;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a fresh database takes to start for one trial.
const FRESH_DATABASE: Duration = Duration::from_secs(1);
/// How long one response check takes once the contender is ready.
const RESPONSE_CHECK: Duration = Duration::from_millis(500);
/// How long an upstream takes to start and stop, in addition to its warm-up.
const UPSTREAM: Duration = Duration::from_secs(7);

/// How long the parts of an experiment take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// How long each cell is measured, by the cell's name.
    pub cells: BTreeMap<String, Duration>,
    /// How long the response checks and the upstream's warm-up take, before the first block.
    pub before_blocks: Duration,
    /// How long one block takes: a trial of every contender.
    pub block: Duration,
    /// How long the profiled blocks take, after the others.
    pub profile: Duration,
}

impl Estimate {
    /// Estimates an experiment on these CPUs.
    ///
    /// # Errors
    /// A workload or a system cannot be read.
    pub fn of_experiment(
        catalog: &Catalog,
        experiment: &Experiment,
        cpus: &CpuSets,
    ) -> Result<Estimate, Problems> {
        let mut cells = BTreeMap::new();
        for cell in &experiment.cells {
            let requests = catalog.workload_of(cell)?.steps.len();
            cells.insert(cell.name.clone(), experiment.measured_about(cell, requests));
        }
        let (mut before_blocks, mut block) = (Duration::ZERO, Duration::ZERO);
        for name in experiment.all_contenders() {
            let (start_up, steady) = start_up_and_warm_up(&catalog.contender(name)?, cpus);
            block += experiment.trial_estimate(start_up, steady, |cell| cells[&cell.name]);
            before_blocks += start_up + RESPONSE_CHECK;
            if experiment.database.is_some() {
                block += FRESH_DATABASE;
                before_blocks += FRESH_DATABASE;
            }
        }
        if experiment.upstream.is_some() {
            before_blocks += upstream_warmup(experiment) + UPSTREAM;
        }
        let profile = match &experiment.profile {
            Some(profiling) => {
                let profiled = profiling.experiment_of(experiment);
                let one = Estimate::of_experiment(catalog, &profiled, cpus)?.block;
                let loads = profiled.cells.len() * profiled.all_contenders().count();
                let one = one + traced_for(profiling.measure) * loads as u32;
                // No profiled block begins after a budget of their own.
                (one * profiling.blocks).min(experiment.design.budget)
            }
            None => Duration::ZERO,
        };
        Ok(Estimate { cells, before_blocks, block, profile })
    }

    /// How long all blocks take if none of them is cut by the time budget.
    pub fn all_blocks(&self, experiment: &Experiment) -> Duration {
        self.block * experiment.design.blocks
    }

    /// How long the whole run takes, within the time budget.
    pub fn total(&self, experiment: &Experiment) -> Duration {
        let judged = self.all_blocks(experiment).min(experiment.design.budget);
        self.before_blocks + judged + self.profile
    }
}

/// Returns how long a contender takes to start, and to become steady under load.
///
/// A JVM needs seconds, and more of them on one CPU. Other programs need hardly any time.
fn start_up_and_warm_up(contender: &Contender, cpus: &CpuSets) -> (Duration, Duration) {
    match contender.system.jdk {
        Some(_) if cpus.contender.len() == 1 => (Duration::from_secs(9), Duration::from_secs(70)),
        Some(_) => (Duration::from_secs(4), Duration::from_secs(20)),
        None => (Duration::from_millis(300), Duration::from_secs(9)),
    }
}
