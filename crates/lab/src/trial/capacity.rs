//! Searches for the capacity of a cell within a trial.
//!
//! The search itself is in the crate `load`, which drives a [`Subject`]. [`Contender`] is that
//! subject: it makes each probe begin in the same state, measures it, and starts the contender
//! again when it does not recover from an overload. Start with [`search_cell`].

use super::readings::backends_cpu_ns;
use super::setup::{SETTLE, Setup, steady_series, wait_for};
use crate::progress::{Activity, Progress, Watcher};
use crate::trial_database::TrialDatabase;
use crate::warmup;
use load::capacity::{Reading, Subject, quiet_plan, quiet_time_ns, search};
use load::{LoadError, Plan};
use record::Failure;
use record::capacity::CapacitySearch;
use runner::circumstances;
use runner::place::Surroundings;
use runner::start::{Running, start};
use spec::experiment::capacity::Capacity;
use spec::experiment::{Cell, Load};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A contender whose capacity is searched for.
pub(super) struct Contender<'a, 's> {
    pub setup: &'a Setup<'a>,
    pub cell: &'a Cell,
    pub parameters: &'a warmup::Parameters<'a>,
    pub around: &'a Surroundings<'s>,
    pub database: &'a mut TrialDatabase,
    /// The process, which may be replaced; why there is none any more.
    pub running: &'a mut Result<Running, Failure>,
}

/// Searches for the capacity of a cell. Contenders of a block are probed at the same levels for as
/// long as they respond alike.
///
/// # Errors
/// The reason why a load could not be made.
pub(super) fn search_cell(
    mut contender: Contender<'_, '_>,
    capacity: &Capacity,
    position: u32,
    watch: &mut Watcher<'_>,
) -> Result<CapacitySearch, String> {
    let (cell, seed) = (contender.cell, contender.setup.seed());
    let mut probes = Vec::new();
    let ended = search(&mut contender, capacity, cell.timeout, seed, &mut |probe| {
        probes.push(probe.clone());
        watch(Progress::Doing(Activity::Probed {
            cell: &cell.name,
            number: probes.len(),
            quantity: capacity.of,
            level: probe.level,
            kept: probe.kept == Some(true),
        }));
    });
    let ended = ended.map_err(|error| error.to_string())?;
    Ok(CapacitySearch { cell: cell.name.clone(), position, probes, ended, faults: Vec::new() })
}

impl Contender<'_, '_> {
    /// Plans a load of one generator thread.
    fn plan<'p>(
        &'p self,
        running: &'p Running,
        load: &'p Load,
        duration: Duration,
        seed: u64,
    ) -> Plan<'p> {
        Plan {
            target: &running.target,
            workload: self.setup.workload(self.cell),
            load,
            duration,
            requests: None,
            timeout: self.cell.timeout,
            seed,
            threads: 1,
            wait: wait_for(self.setup.cpus, running),
            stop: self.around.stop,
            progress: None,
        }
    }

    /// Brings each probe to the same initial state: checks the tables, resets the system, and
    /// empties the tables.
    fn make_alike(&mut self) {
        let Ok(running) = &*self.running else { return };
        let contender = &self.setup.ready.contender;
        // The check comes first: a reset may remove rows that the probe before stored.
        self.database.check(&self.cell.name);
        if let Err(failure) = runner::reset(contender, running, self.around) {
            self.end(failure);
            return;
        }
        self.database.begin(&[self.setup.workload(self.cell)]);
        if self.database.exists() || contender.system.reset.is_some() {
            std::thread::sleep(SETTLE);
        }
    }

    /// Stops the contender, if it runs. It has failed from here on. Returns what was wrong with its
    /// end.
    fn end(&mut self, failure: Failure) -> Option<String> {
        let running = std::mem::replace(self.running, Err(failure)).ok()?;
        let (_, failure) = running.stop(&self.setup.ready.contender);
        failure.map(|failure| failure.cause)
    }

    /// CPU time so far of the contender, and of upstream and database.
    fn cpu_ns(&self, running: &Running) -> (u64, Option<u64>) {
        (running.cpu_ns(), backends_cpu_ns(self.setup, self.database))
    }
}

impl Subject for Contender<'_, '_> {
    fn load(
        &mut self,
        load: &Load,
        duration: Duration,
        seed: u64,
    ) -> Result<Option<Reading>, LoadError> {
        self.make_alike();
        let Ok(running) = &*self.running else { return Ok(None) };
        let cpus = self.setup.cpus;
        let machine = circumstances::Reading::now(&cpus.all_cpus(), self.setup.awake);
        let before = self.cpu_ns(running);
        let plan = self.plan(running, load, duration, seed);
        let measured = warmup::on_cpus(&plan, &cpus.generator)?;
        let (after, around) = (self.cpu_ns(running), machine.until_now());
        let is_ours = running.pid().is_some();
        self.database.record(self.setup.workload(self.cell), &measured.steps);
        let contender_ns = after.0.saturating_sub(before.0);
        let behind_cpu_ns =
            before.1.zip(after.1).map(|(before, after)| after.saturating_sub(before));
        let ended = self.running.as_mut().ok().and_then(Running::ended);
        // The CPU time is unknown for a service that already ran, and for a process that is gone.
        let contender_cpu_ns = (is_ours && ended.is_none()).then_some(contender_ns);
        let others =
            contender_cpu_ns.and_then(|used| around.others(cpus, used, behind_cpu_ns.unwrap_or(0)));
        Ok((!measured.interrupted).then(|| Reading {
            contender_cpu_ns,
            behind_cpu_ns,
            steal_share: around.steal_share(),
            others_share: others.map(|(_, share)| share),
            ended,
            ..Reading::from_measured(measured, load)
        }))
    }

    fn quiet(&mut self) -> Result<Option<u64>, LoadError> {
        let Ok(running) = &*self.running else { return Ok(None) };
        let one = Load::closed(1);
        let plan = self.plan(running, &one, Duration::ZERO, self.setup.experiment.design.seed);
        let measured = warmup::on_cpus(&quiet_plan(&plan, &one), &self.setup.cpus.generator)?;
        self.database.record(self.setup.workload(self.cell), &measured.steps);
        Ok(quiet_time_ns(&measured))
    }

    fn has_ended(&mut self) -> bool {
        self.running.as_mut().is_ok_and(|running| running.ended().is_some())
    }

    fn stop(&mut self) -> Option<String> {
        self.end(Failure {
            stage: "measure".into(),
            cause: "it was not started again".into(),
            log: vec![],
        })
    }

    fn start(&mut self) -> bool {
        let first = self.parameters.workloads[0];
        *self.running =
            start(&self.setup.ready.contender, first, self.around).map_err(|(failure, _)| failure);
        if let Ok(running) = &mut *self.running {
            // The rows that its first correct response stored were not counted.
            self.database.doubt(first, running.failed_attempts + 1);
            // Earlier probes measured a warm process, so this one is warmed up as well.
            let decides = steady_series(self.setup.experiment, running);
            let _ = warmup::run(running, self.parameters, decides, self.database, &mut |_, _| ());
        }
        self.running.is_ok()
    }

    fn rest(&mut self, for_so_long: Duration) {
        std::thread::sleep(for_so_long);
    }

    fn now_ns(&self) -> u64 {
        load::clock::now_ns()
    }

    fn is_stopped(&self) -> bool {
        self.around.stop.load(Ordering::Relaxed)
    }
}
