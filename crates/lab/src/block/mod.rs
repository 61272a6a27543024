//! One block in slices: every contender is started and warmed up, the load of each cell alternates
//! between them, then all are stopped.
//!
//! A burst of another program lasts from a fraction of a second to some seconds. Contenders that
//! are measured one after the other meet different bursts. If the load passes from one to the next
//! every 40 to 500 ms, all meet the same ones. Most of a burst then cancels out of
//! their ratio. (After Bulej et al., *Duet Benchmarking*, ICPE 2020, who run both at once.)
//!
//! Contenders without the load keep their connections and their memory, and are paused, so that
//! work that they put off, such as collecting garbage, does not slow down the one that has it. Of a
//! contender that cannot be paused, CPU clocks reveal such work. It counts as its CPU time. If it
//! takes too large a share, the slices of the next block are longer. Start with [`run`].

mod alternation;
mod measure;
mod slice_readings;

pub use alternation::alternation;

use crate::plan;
use crate::progress::{Activity, Progress, Watcher};
use crate::trial;
use crate::trial::cell_load::count_system_calls;
use crate::trial::faults::{ended, not_made};
use crate::trial::readings::steal_share;
use crate::trial::setup::{Setup, warmup_workloads};
use crate::trial_database::TrialDatabase;
use crate::{settle, warmup};
use record::{Failure, Trial};
use runner::place::Surroundings;
use runner::start::Running;
use spec::experiment::Cell;
use spec::system::Contender;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Windows after which a contender that keeps running is warm, unless it still changes: a little
/// more than a second.
const ENOUGH_WINDOWS: usize = 6;

/// A contender of the block.
struct Guest<'a, 's> {
    setup: &'a Setup<'s>,
    around: &'a Surroundings<'a>,
    trial: Trial,
    running: Option<Running>,
    /// Whether this block started it.
    is_new: bool,
}

/// State that a run passes on from block to block.
#[derive(Default)]
pub(crate) struct Kept {
    /// The slice length of each cell.
    lengths: BTreeMap<String, Duration>,
    /// Contenders that keep running: those that faceoff only reaches, and those that are started
    /// once per run.
    standing: BTreeMap<String, Running>,
}

impl Kept {
    /// Stops those of these contenders that still run. The next block starts them again.
    pub fn stop<'a>(&mut self, contenders: impl Iterator<Item = &'a Contender>) {
        for contender in contenders {
            if let Some(running) = self.standing.remove(&contender.name.to_string()) {
                let _ = running.stop(contender);
            }
        }
    }
}

/// Runs a block of these contenders, and returns their trials in the same order. Trials record
/// failures; after a stop from outside they are unfinished.
pub(crate) fn run(
    contenders: &[(Setup<'_>, Surroundings<'_>)],
    kept: &mut Kept,
    watch: &mut Watcher<'_>,
) -> Vec<Trial> {
    let Some((first, around)) = contenders.first() else { return Vec::new() };
    let (experiment, stop) = (first.experiment, around.stop);
    let begun = runner::machine::cpu_ticks();
    let mut guests: Vec<Guest<'_, '_>> = Vec::new();
    for (setup, around) in contenders {
        guests.push(Guest::start(setup, around, kept, watch));
    }
    let cells = plan::cells(&experiment.cells, experiment.design.seed, first.block, 1);
    for (position, cell) in (1..).zip(cells) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for guest in &mut guests {
            if let Err(failure) = guest.prepare(cell, watch) {
                guest.fail(failure);
            }
        }
        watch(Progress::Doing(Activity::Measuring { cell: &cell.name }));
        measure_cell(cell, position, &mut guests, kept);
    }
    guests.into_iter().map(|guest| guest.end(begun, kept)).collect()
}

/// Measures a cell of the contenders that run. If slices were far too short for the service times,
/// measures once more with longer ones.
fn measure_cell(cell: &Cell, position: u32, guests: &mut [Guest<'_, '_>], kept: &mut Kept) {
    let Some(first) = guests.iter().find(|guest| guest.running.is_some()) else { return };
    let (time, stop) = (first.setup.experiment.design.measure, first.around.stop);
    settle(guests, stop);
    let wanted = match kept.lengths.get(&cell.name) {
        Some(known) => *known,
        None => {
            let found = measure::pilot(cell, &running(guests), stop).min(time);
            reset(guests);
            found
        }
    };
    let mut once = measure::measure(cell, (position, 0), &running(guests), wanted, stop);
    if measure::is_too_short(wanted, &once) && !stop.load(Ordering::Relaxed) {
        reset(guests);
        once = measure::measure(cell, (position, 1), &running(guests), once.next, stop);
    }
    kept.lengths.insert(cell.name.clone(), once.next);
    for (setup, running) in running(guests) {
        count_system_calls(setup, cell, running, &mut TrialDatabase::none(), stop);
    }
    for (guest, made) in guests.iter_mut().filter(|guest| guest.running.is_some()).zip(once.made) {
        match made {
            Ok(measurement) => guest.trial.measurements.push(measurement),
            Err(cause) => guest.trial.cell_faults.push(not_made(cell, &cause)),
        }
        guest.fail_if_ended("measure");
    }
}

/// Waits until contenders have done what they put off during the warm-up. With the load they would do
/// it in their slices. One that has run since an earlier block did it long ago.
fn settle(guests: &[Guest<'_, '_>], stop: &AtomicBool) {
    let started = guests.iter().filter(|guest| guest.is_new);
    let started: Vec<&Running> = started.filter_map(|guest| guest.running.as_ref()).collect();
    let measured = guests.first().map_or(Duration::ZERO, |g| g.setup.experiment.design.measure);
    settle::settle(&started, settle::limit(measured * started.len() as u32), stop);
}

/// The contenders that run.
fn running<'g, 's>(guests: &'g [Guest<'_, 's>]) -> Vec<measure::Guest<'g, 's>> {
    guests.iter().filter_map(|guest| Some((guest.setup, guest.running.as_ref()?))).collect()
}

/// Resets the contenders that run, so that a measurement meets the state that the load before met.
fn reset(guests: &mut [Guest<'_, '_>]) {
    for guest in guests {
        if let Err(failure) = guest.reset() {
            guest.fail(failure);
        }
    }
}

impl<'a, 's> Guest<'a, 's> {
    /// Starts a contender and warms it up, unless the run was stopped.
    fn start(
        setup: &'a Setup<'s>,
        around: &'a Surroundings<'a>,
        kept: &mut Kept,
        watch: &mut Watcher<'_>,
    ) -> Guest<'a, 's> {
        let trial = setup.new_trial();
        let stood = kept.standing.contains_key(&trial.contender.to_string());
        let is_new = !stood && setup.ready.contender.system.reached.is_none();
        let mut guest = Guest { setup, around, trial, running: None, is_new };
        if around.stop.load(Ordering::Relaxed) {
            return guest;
        }
        match start(setup, around, &mut guest.trial, kept, watch) {
            Ok(running) => guest.running = Some(running),
            Err(failure) => guest.trial.failure = Some(failure),
        }
        guest.fail_if_ended("warm-up");
        guest
    }

    /// Resets the contender before a cell, and warms it up with the load of this cell if the cell
    /// asks for it.
    fn prepare(&mut self, cell: &Cell, watch: &mut Watcher<'_>) -> Result<(), Failure> {
        self.reset()?;
        let Some(running) = &self.running else { return Ok(()) };
        if cell.warmup.is_zero() {
            return Ok(());
        }
        let contender = Some(&self.trial.contender);
        watch(Progress::Doing(Activity::WarmingUpForCell { contender, cell: &cell.name }));
        let (mut none, stop) = (TrialDatabase::none(), self.around.stop);
        let warmed = trial::cell_load::warm_up_for_cell(self.setup, cell, running, &mut none, stop);
        // If this load cannot be made, the measurement reports it.
        self.trial.warmed_with += warmed.unwrap_or(0);
        Ok(())
    }

    fn reset(&self) -> Result<(), Failure> {
        let Some(running) = &self.running else { return Ok(()) };
        runner::reset(&self.setup.ready.contender, running, self.around)
    }

    fn fail_if_ended(&mut self, stage: &str) {
        if let Some(failure) = self.running.as_mut().and_then(|running| ended(running, stage)) {
            self.fail(failure);
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.trial.failure.get_or_insert(failure);
        if let Some(running) = self.running.take() {
            trial::start::stop(self.setup, running, &mut self.trial);
        }
    }

    /// Ends the trial: stops the contender unless it keeps running for the next block.
    fn end(self, begun: (u64, u64), kept: &mut Kept) -> Trial {
        let Guest { setup, mut trial, running, .. } = self;
        match running {
            Some(running) if keeps_running(setup) => {
                drop(kept.standing.insert(trial.contender.to_string(), running))
            }
            Some(running) => trial::start::stop(setup, running, &mut trial),
            None => {}
        }
        trial.host.steal_share = steal_share(begun);
        trial
    }
}

/// Whether a contender keeps running from block to block.
fn keeps_running(setup: &Setup<'_>) -> bool {
    setup.experiment.design.start_once || setup.ready.contender.system.reached.is_some()
}

/// Starts a contender and warms it up, unless it keeps running from the block before.
fn start(
    setup: &Setup<'_>,
    around: &Surroundings<'_>,
    trial: &mut Trial,
    kept: &mut Kept,
    watch: &mut Watcher<'_>,
) -> Result<Running, Failure> {
    if let Some(running) = kept.standing.remove(&trial.contender.to_string()) {
        trial.command = running.command.clone();
        return Ok(running);
    }
    let design = &setup.experiment.design;
    let window = match keeps_running(setup) {
        // A service that already ran is usually warm, which a short time shows.
        true => warmup::WINDOW / 5,
        false => warmup::window_of(design.warmup),
    };
    let parameters = warmup::Parameters {
        workloads: &warmup_workloads(setup.experiment, &setup.cell_workloads()),
        at_least: design.warmup_least,
        at_most: design.warmup,
        window,
        enough: keeps_running(setup).then_some(ENOUGH_WINDOWS),
        cpus: &setup.cpus.generator,
        stop: around.stop,
    };
    trial::start::start_warm(setup, around, &mut TrialDatabase::none(), &parameters, trial, watch)
}
