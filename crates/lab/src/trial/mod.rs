//! One trial: a fresh start of one contender, its warm-up, a measurement of every cell, and its
//! stop.
//!
//! [`run`] never fails: a trial records failures and faults. Inside, [`Course`] uses errors to
//! leave the sequence of cells early. There is one function per kind of cell:
//!
//! - [`Course::search_capacity`]: a search for the highest level that meets an objective,
//! - [`Course::run_external_generator`]: another tool makes the load,
//! - [`Course::measure_load`]: our own generator or agents make it.
//!
//! `block` measures several contenders at once and uses the same parts.

mod capacity;
pub(crate) mod cell_load;
mod external_generator;
pub(crate) mod faults;
pub(crate) mod readings;
pub(crate) mod setup;
pub(crate) mod start;

use crate::plan;
use crate::progress::{Activity, Progress, Watcher};
use crate::trial_database::TrialDatabase;
use crate::warmup;
use faults::{agent_lost_in, ended, not_made};
use readings::{is_disturbed, steal_share};
use record::{Failure, Measurement, Trial};
use runner::place::Surroundings;
use runner::start::Running;
use setup::{Setup, warmup_workloads};
use spec::experiment::Cell;
use spec::experiment::capacity::Capacity;
use spec::experiment::external_generator::Driver;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A cell is repeated at most this often if the hypervisor or other programs took CPU time, ...
const REPETITIONS_MAX: u32 = 3;
/// ... and only within this time of the first measurement, ...
const REPEAT_WITHIN: Duration = Duration::from_secs(60);
/// ... after this pause, or a shorter one for short measurements. Most disturbances last seconds.
const CALM: Duration = Duration::from_secs(5);

/// Runs a trial. After a stop from outside it is unfinished.
pub(crate) fn run(
    setup: &Setup<'_>,
    around: &Surroundings<'_>,
    mut database: TrialDatabase,
    watch: &mut Watcher<'_>,
) -> Trial {
    let mut trial = setup.new_trial();
    let values = database.values();
    let around = &Surroundings { database: values.as_ref(), ..*around };
    let workloads = setup.cell_workloads();
    let design = &setup.experiment.design;
    let parameters = warmup::Parameters {
        workloads: &warmup_workloads(setup.experiment, &workloads),
        at_least: design.warmup_least,
        at_most: design.warmup,
        window: warmup::window_of(design.warmup),
        enough: None,
        cpus: &setup.cpus.generator,
        stop: around.stop,
    };
    let begun = runner::machine::cpu_ticks();
    match start::start_warm(setup, around, &mut database, &parameters, &mut trial, watch) {
        Ok(running) => {
            let mut course = Course {
                setup,
                around,
                parameters: &parameters,
                running: Ok(running),
                database: &mut database,
                trial,
            };
            if let Err(EarlyEnd::Failed(failure)) = course.measure_all(watch) {
                course.trial.failure = Some(failure);
            }
            trial = course.stop();
        }
        Err(failure) => trial.failure = Some(failure),
    }
    trial.host.steal_share = steal_share(begun);
    // The database is stopped after every outcome, and its data folder is removed with it.
    if let Some((kept, lost)) = database.end() {
        trial.database = Some(kept);
        trial.faults.extend(lost);
    }
    trial
}

/// Why a trial ends before all of its cells are measured.
enum EarlyEnd {
    /// The contender failed.
    Failed(Failure),
    /// An agent was lost. Its fault is in the trial; agents are looked for before the next trial.
    AgentsLost,
}

impl From<Failure> for EarlyEnd {
    fn from(failure: Failure) -> Self {
        EarlyEnd::Failed(failure)
    }
}

/// Why a cell has no measurement.
enum NotMeasured {
    /// The contender failed, which ends the trial.
    Failed(Failure),
    /// The load was not made, for this reason.
    NotMade(String),
}

impl From<Failure> for NotMeasured {
    fn from(failure: Failure) -> Self {
        NotMeasured::Failed(failure)
    }
}

impl From<String> for NotMeasured {
    fn from(cause: String) -> Self {
        NotMeasured::NotMade(cause)
    }
}

/// A trial whose contender has started.
struct Course<'a, 's> {
    setup: &'a Setup<'a>,
    around: &'a Surroundings<'s>,
    parameters: &'a warmup::Parameters<'a>,
    /// The contender's process; why there is none after a search for its capacity.
    running: Result<Running, Failure>,
    database: &'a mut TrialDatabase,
    trial: Trial,
}

impl Course<'_, '_> {
    /// Ends the warm-up, then measures each cell.
    fn measure_all(&mut self, watch: &mut Watcher<'_>) -> Result<(), EarlyEnd> {
        self.end_warm_up(watch)?;
        let setup = self.setup;
        let seed = setup.experiment.design.seed;
        let cells = plan::cells(&setup.experiment.cells, seed, setup.block, setup.position);
        for (position, cell) in (1..).zip(cells) {
            if self.is_stopped() {
                return Ok(());
            }
            // A repetition is measured on the data that the one before left.
            if cell.after.is_none() {
                self.reset()?;
            }
            watch(Progress::Doing(Activity::Measuring { cell: &cell.name }));
            match (cell.load.capacity(), cell.driver) {
                (Some(capacity), _) => self.search_capacity((cell, capacity), position, watch),
                (None, Some(driver)) => self.run_external_generator((cell, driver), position)?,
                (None, None) => self.measure_load(cell, position, watch)?,
            }
            self.must_run("measure")?;
        }
        Ok(())
    }

    /// Has agents, if any, warm the contender up over their own connections, and checks the
    /// database.
    fn end_warm_up(&mut self, watch: &mut Watcher<'_>) -> Result<(), EarlyEnd> {
        let mut warmed = Ok(());
        if !self.setup.experiment.design.warmup.is_zero() {
            warmed = self.warm_up_by_agents(watch);
            // Nothing is known about writes that a lost agent had acknowledged.
            if warmed.is_ok() {
                self.database.check("warm-up");
            }
        }
        self.must_run("warm-up")?;
        warmed
    }

    fn warm_up_by_agents(&mut self, watch: &mut Watcher<'_>) -> Result<(), EarlyEnd> {
        let Some(agents) = self.setup.agents else { return Ok(()) };
        let Ok(running) = &mut self.running else { return Ok(()) };
        if running.ended().is_some() {
            return Ok(());
        }
        watch(Progress::Doing(Activity::WarmingUpByAgents));
        match agents.warm(running, self.parameters, self.database) {
            Ok(correct) => {
                self.trial.warmed_with += correct;
                Ok(())
            }
            Err(fault) => {
                self.trial.faults.push(fault);
                Err(EarlyEnd::AgentsLost)
            }
        }
    }

    /// Searches for the capacity of a cell. The search may stop the contender for good.
    fn search_capacity(
        &mut self,
        (cell, capacity): (&Cell, &Capacity),
        position: u32,
        watch: &mut Watcher<'_>,
    ) {
        self.database.begin(&[self.setup.workload(cell)]);
        let found = capacity::search_cell(
            capacity::Contender {
                setup: self.setup,
                cell,
                parameters: self.parameters,
                around: self.around,
                database: self.database,
                running: &mut self.running,
            },
            capacity,
            position,
            watch,
        );
        self.database.check(&cell.name);
        match found {
            Ok(searched) => self.trial.capacities.push(searched),
            Err(cause) => self.trial.cell_faults.push(not_made(cell, &cause)),
        }
    }

    /// Has another tool make the load of a cell.
    fn run_external_generator(
        &mut self,
        (cell, driver): (&Cell, Driver),
        position: u32,
    ) -> Result<(), EarlyEnd> {
        let running = self.running.as_ref().map_err(Failure::clone)?;
        match external_generator::measure(
            self.setup,
            (cell, driver),
            position,
            running,
            self.around,
        ) {
            Ok(report) => self.trial.external_reports.push(report),
            Err(fault) => self.trial.faults.push(fault),
        }
        Ok(())
    }

    /// Measures a cell with our own generator or agents.
    fn measure_load(
        &mut self,
        cell: &Cell,
        position: u32,
        watch: &mut Watcher<'_>,
    ) -> Result<(), EarlyEnd> {
        match self.measure_undisturbed(cell, position, watch) {
            Ok(measurement) => {
                self.trial.measurements.push(measurement);
                self.count_system_calls(cell);
            }
            Err(NotMeasured::Failed(failure)) => return Err(failure.into()),
            Err(NotMeasured::NotMade(cause)) if self.setup.agents.is_some() => {
                self.trial.faults.push(agent_lost_in(cell, &cause));
                self.must_run("measure")?;
                return Err(EarlyEnd::AgentsLost);
            }
            Err(NotMeasured::NotMade(cause)) => self.trial.cell_faults.push(not_made(cell, &cause)),
        }
        Ok(())
    }

    fn count_system_calls(&mut self, cell: &Cell) {
        if let Ok(running) = &self.running {
            let (setup, stop) = (self.setup, self.around.stop);
            cell_load::count_system_calls(setup, cell, running, self.database, stop);
        }
    }

    /// Measures a cell, and repeats the measurement while the hypervisor or other programs take too
    /// much CPU time. A repetition within a trial is not repeated: the data that it was measured on
    /// exists only once.
    fn measure_undisturbed(
        &mut self,
        cell: &Cell,
        position: u32,
        watch: &mut Watcher<'_>,
    ) -> Result<Measurement, NotMeasured> {
        self.warm_up_for_cell(cell, watch)?;
        let mut measurement = self.measure_once(cell, (position, 0))?;
        let first = Instant::now();
        for attempt in 1..=REPETITIONS_MAX {
            let is_too_late = first.elapsed() > REPEAT_WITHIN || cell.after.is_some();
            if is_too_late
                || self.is_stopped()
                || self.has_ended()
                || !is_disturbed(self.setup, &measurement)
            {
                break;
            }
            self.trial.stolen.push(measurement);
            watch(Progress::Doing(Activity::Repeating { cell: &cell.name, attempt }));
            std::thread::sleep(self.setup.experiment.design.measure.min(CALM));
            // It replaces the disturbed measurement, so it begins in the same state.
            self.reset()?;
            measurement = self.measure_once(cell, (position, attempt))?;
        }
        Ok(measurement)
    }

    fn warm_up_for_cell(
        &mut self,
        cell: &Cell,
        watch: &mut Watcher<'_>,
    ) -> Result<(), NotMeasured> {
        if cell.warmup.is_zero() {
            return Ok(());
        }
        watch(Progress::Doing(Activity::WarmingUpForCell { contender: None, cell: &cell.name }));
        let (setup, stop) = (self.setup, self.around.stop);
        let running = self.running.as_ref().map_err(Failure::clone)?;
        let warmed = cell_load::warm_up_for_cell(setup, cell, running, self.database, stop);
        watch(Progress::Doing(Activity::Measuring { cell: &cell.name }));
        self.trial.warmed_with += warmed?;
        Ok(())
    }

    fn measure_once(
        &mut self,
        cell: &Cell,
        (position, attempt): (u32, u32),
    ) -> Result<Measurement, NotMeasured> {
        let (setup, stop) = (self.setup, self.around.stop);
        let running = self.running.as_ref().map_err(Failure::clone)?;
        let place = (position, attempt);
        Ok(cell_load::measure_once(setup, cell, place, running, self.database, stop)?)
    }

    /// Brings the contender back to the state that its manifest asks for before each cell.
    fn reset(&mut self) -> Result<(), Failure> {
        let running = self.running.as_ref().map_err(Failure::clone)?;
        runner::reset(&self.setup.ready.contender, running, self.around)
    }

    /// Fails if the contender has ended.
    fn must_run(&mut self, stage: &str) -> Result<(), Failure> {
        match &mut self.running {
            Ok(running) => ended(running, stage).map_or(Ok(()), Err),
            Err(failure) => Err(failure.clone()),
        }
    }

    fn has_ended(&mut self) -> bool {
        self.running.as_mut().map_or(true, |running| running.ended().is_some())
    }

    fn is_stopped(&self) -> bool {
        self.around.stop.load(Ordering::Relaxed)
    }

    /// Stops the contender, if it still runs.
    fn stop(mut self) -> Trial {
        if let Ok(running) = self.running {
            start::stop(self.setup, running, &mut self.trial);
        }
        self.trial
    }
}
