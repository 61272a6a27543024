//! Looks for the capacity of a cell within a trial.

use crate::keeping::Keeping;
use crate::trial::{SETTLE, Setup, behind, not_made, waits, with};
use crate::{Progress, Watcher, warmup};
use load::capacity::{Reading, Subject, quiet_of, quiet_plan, search};
use load::{LoadError, Plan};
use model::capacity::{Capacity, Searched};
use model::experiment::{Cell, Load};
use model::record::{Failure, Fault};
use runner::circumstances;
use runner::start::{Running, Surroundings, start};
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What came of a search.
pub(crate) struct Outcome {
    /// What was found, where it could be made.
    pub found: Option<Searched>,
    /// Why it could not.
    pub fault: Option<Fault>,
    /// The system, perhaps another start of it; or why there is none any more.
    pub running: Result<Running, Failure>,
}

/// A contender that is started again where it does not come back from an overload.
struct Contender<'a, 's> {
    setup: &'a Setup<'a>,
    cell: &'a Cell,
    given: &'a warmup::Given<'a>,
    around: &'a Surroundings<'s>,
    keeping: &'a RefCell<Option<Keeping>>,
    running: Result<Running, Failure>,
}

impl Contender<'_, '_> {
    /// Runs what is asked.
    fn on_cpus(&self, plan: &Plan<'_>) -> Result<load::tally::Measured, LoadError> {
        let measured = warmup::on_cpus(plan, &self.setup.cpus.generator)?;
        (self.given.heard)(plan.workload, &measured);
        Ok(measured)
    }

    fn plan<'p>(&'p self, running: &'p Running, load: &'p Load, duration: Duration, seed: u64) -> Plan<'p> {
        Plan {
            target: &running.target,
            workload: &self.setup.workloads[&self.cell.asks()],
            load,
            duration,
            requests: None,
            timeout: self.cell.timeout,
            seed,
            threads: 1,
            wait: waits(self.setup.cpus, running),
            stop: self.around.stop,
            progress: None,
        }
    }
}

impl Contender<'_, '_> {
    /// Each probe finds what the first one found: the tables looked into, the system reset, the tables emptied.
    fn make_alike(&mut self) {
        let Ok(running) = &self.running else { return };
        let contender = &self.setup.ready.contender;
        // A reset may take what the probe before stored.
        with(self.keeping, |keeping| keeping.check(&self.cell.name));
        if let Err(failure) = runner::reset(contender, running, self.around) {
            self.end(failure);
            return;
        }
        let has_database = self.keeping.borrow().is_some();
        with(self.keeping, |keeping| keeping.begin(&[&self.setup.workloads[&self.cell.asks()]]));
        if has_database || contender.system.reset.is_some() {
            std::thread::sleep(SETTLE);
        }
    }

    /// Stops it, if it runs; from here on it failed. What was wrong with how it ended.
    fn end(&mut self, failure: Failure) -> Option<String> {
        let running = std::mem::replace(&mut self.running, Err(failure)).ok()?;
        let (_, failure) = running.stop(&self.setup.ready.contender);
        failure.map(|failure| failure.cause)
    }
}

impl Subject for Contender<'_, '_> {
    fn load(&mut self, load: &Load, duration: Duration, seed: u64) -> Result<Option<Reading>, LoadError> {
        self.make_alike();
        let Ok(running) = &self.running else { return Ok(None) };
        let cpus = self.setup.cpus;
        let used = || (running.cpu_ns(), behind(self.setup, self.keeping));
        let before = (circumstances::Reading::now(&cpus.all(), self.setup.awake), used());
        let measured = self.on_cpus(&self.plan(running, load, duration, seed))?;
        let ((contender_ns, behind_ns), around) = (used(), before.0.until_now());
        let contender_ns = contender_ns.saturating_sub(before.1.0);
        let behind_cpu_ns = before.1.1.zip(behind_ns).map(|(before, after)| after.saturating_sub(before));
        let is_ours = running.pid().is_some();
        let ended = self.running.as_mut().ok().and_then(Running::ended);
        // Of a service that ran already nobody knows what it used, nor any more of one that is gone.
        let contender_cpu_ns = (is_ours && ended.is_none()).then_some(contender_ns);
        let others = contender_cpu_ns.and_then(|used| around.others(cpus, used, behind_cpu_ns.unwrap_or(0)));
        Ok((!measured.interrupted).then(|| Reading {
            contender_cpu_ns,
            behind_cpu_ns,
            steal_share: around.steal_share(),
            others_share: others.map(|(_, share)| share),
            ended,
            ..Reading::of(measured, load)
        }))
    }

    fn quiet(&mut self) -> Result<Option<u64>, LoadError> {
        let Ok(running) = &self.running else { return Ok(None) };
        let one = Load::closed(1);
        let plan = self.plan(running, &one, Duration::ZERO, self.setup.experiment.design.seed);
        self.on_cpus(&quiet_plan(&plan, &one)).map(|measured| quiet_of(&measured))
    }

    fn has_ended(&mut self) -> bool {
        self.running.as_mut().is_ok_and(|running| running.ended().is_some())
    }

    fn stop(&mut self) -> Option<String> {
        self.end(Failure { stage: "measure".into(), cause: "it was not started again".into(), log: vec![] })
    }

    fn start(&mut self) -> bool {
        let first = self.given.workloads[0];
        self.running = start(&self.setup.ready.contender, first, self.around).map_err(|(failure, _)| failure);
        if let Ok(running) = &mut self.running {
            // Nobody counted what its first right answer stored.
            with(self.keeping, |keeping| keeping.doubt(first, running.asked_in_vain + 1));
            // A cold process is not what was probed before.
            let _ = warmup::run(running, self.given, &mut |_, _| ());
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

/// Looks for the capacity of a cell: the same levels are drawn for every contender of a block, as far as they answer alike.
pub(crate) fn run<'a>(
    setup: &'a Setup<'a>,
    (cell, capacity): (&'a Cell, &Capacity),
    position: u32,
    running: Running,
    (given, around, keeping): (&'a warmup::Given<'a>, &'a Surroundings<'_>, &'a RefCell<Option<Keeping>>),
    watch: &mut Watcher<'_>,
) -> Outcome {
    let mut subject = Contender { setup, cell, given, around, keeping, running: Ok(running) };
    let mut probes = Vec::new();
    let seed = setup.experiment.design.seed.wrapping_add(u64::from(setup.block));
    let ended = search(&mut subject, capacity, cell.timeout, seed, &mut |probe| {
        probes.push(probe.clone());
        let kept = if probe.kept == Some(true) { "kept" } else { "not kept" };
        watch(Progress::Doing(&format!("{}, probe {}: {} {kept}", cell.name, probes.len(), capacity.of.show(probe.level))));
    });
    let (found, fault) = match ended {
        Ok(ended) => (Some(Searched { cell: cell.name.clone(), position, probes, ended, faults: Vec::new() }), None),
        Err(error) => (None, Some(not_made(cell, &error.to_string()))),
    };
    Outcome { found, fault, running: subject.running }
}
