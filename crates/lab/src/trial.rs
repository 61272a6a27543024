//! One trial: a fresh start of one contender, warm-up, every cell, stop.

use crate::agents::{Agents, lost};
use crate::clock;
use crate::keeping::Keeping;
use crate::participants::Ready;
use crate::pauses;
use crate::plan;
use crate::steady::Decides;
use crate::{Progress, Watcher, capacity, warmup, witness};
use load::agents::LOOPS_MAX;
use load::{Plan, Wait};
use model::database::Used;
use model::experiment::{Cell, CpuSets, Experiment};
use model::record::{Circumstances, Failure, Fault, Generator, Host, Measurement, Trial, Usage, WarmUpWindow};
use model::units::{show_number, show_short};
use model::workload::Workload;
use runner::awake::Awake;
use runner::circumstances;
use runner::sessions;
use runner::signs;
use runner::start::{Running, Surroundings, start};
use runner::usage::{Sampler, tree_cpu_ns};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// Between one cell and the next.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);
/// A cell of which the hypervisor took too much is measured again, so often at most ...
const AGAIN_MAX: u32 = 3;
/// ... and not when so much time has passed since it was measured first ...
const AGAIN_WITHIN: Duration = Duration::from_secs(60);
/// ... after so long a pause, or as long as it is measured: whoever takes CPU time mostly does so for seconds.
const CALM: Duration = Duration::from_secs(5);

pub(crate) struct Setup<'a> {
    pub ready: &'a Ready,
    pub experiment: &'a Experiment,
    pub workloads: &'a BTreeMap<String, Workload>,
    pub cpus: &'a CpuSets,
    /// What keeps them awake.
    pub awake: Option<&'a Awake>,
    /// Who makes the loads, where that is not the generator of this machine.
    pub agents: Option<&'a Agents>,
    /// Who hears of each second of a measurement.
    pub seconds: Option<&'a SyncSender<load::Progress>>,
    /// Process id of the upstream.
    pub upstream: Option<u32>,
    pub block: u32,
    pub position: u32,
}

/// Runs a trial. What fails is in it; a stop from outside leaves it unfinished.
pub(crate) fn run(setup: &Setup<'_>, around: &Surroundings<'_>, keeping: Option<Keeping>, watch: &mut Watcher<'_>) -> Trial {
    let contender = &setup.ready.contender;
    let mut trial = Trial {
        contender: contender.name.clone(),
        block: setup.block,
        position: setup.position,
        started_at: clock::now(),
        command: Vec::new(),
        artifact_sha256: Vec::new(),
        ready_after_ns: None,
        scaled_out_after_ns: None,
        warmed_with: 0,
        warmup: None,
        measurements: Vec::new(),
        robbed: Vec::new(),
        capacities: Vec::new(),
        witnessed: Vec::new(),
        stop: None,
        failure: None,
        faults: Vec::new(),
        host: Host {
            steal_share: 0.0,
            start_steal_share: None,
            load_average: (runner::load_average() - setup.awake.map_or(0.0, Awake::load)).max(0.0),
        },
        database: None,
        pauses: Vec::new(),
    };
    // The folder that a database leaves is gone with it, however this ends.
    let keeping = RefCell::new(keeping);
    measure_all(setup, around, &keeping, &mut trial, watch);
    if let Some(keeping) = keeping.into_inner() {
        let (kept, lost) = keeping.end();
        trial.database = Some(kept);
        trial.faults.extend(lost);
    }
    trial
}

fn measure_all(
    setup: &Setup<'_>,
    around: &Surroundings<'_>,
    keeping: &RefCell<Option<Keeping>>,
    trial: &mut Trial,
    watch: &mut Watcher<'_>,
) {
    let contender = &setup.ready.contender;
    let experiment = setup.experiment;
    let database = keeping.borrow().as_ref().map(Keeping::values);
    let around = &Surroundings { database: database.as_ref(), ..*around };
    match &contender.system.build {
        None => {}
        Some(build) => match runner::build::artifacts(build, &contender.system.runs_in) {
            Ok(now) if now == setup.ready.participant.artifacts => trial.artifact_sha256 = now.into_iter().map(|a| a.sha256).collect(),
            _ => {
                let cause = "its artefacts are not those that were built for this run".to_owned();
                trial.failure = Some(Failure { stage: "start".into(), cause, log: vec![] });
                return;
            }
        },
    }
    let begun = runner::machine::cpu_ticks();
    watch(Progress::Doing("starts"));
    let first = &setup.workloads[&experiment.cells[0].asks()];
    let workloads = distinct(experiment, setup.workloads);
    // A first answer may need what is to be there.
    with(keeping, |keeping| keeping.begin(&workloads));
    let mut running = match start(contender, first, around) {
        Ok(running) => running,
        Err((failure, command)) => {
            (trial.failure, trial.command) = (Some(failure), command);
            return;
        }
    };
    trial.ready_after_ns = running.ready_after_ns;
    trial.scaled_out_after_ns = running.scaled_out_after_ns;
    trial.command = running.command.clone();
    trial.host.start_steal_share = Some(steal_share(begun));
    let given = warmup::Given {
        workloads: &warming(experiment, &workloads),
        decides: decides(experiment, &running),
        at_least: experiment.design.warmup_least,
        at_most: experiment.design.warmup,
        cpus: &setup.cpus.generator,
        stop: around.stop,
        heard: &|workload, measured| with(keeping, |keeping| keeping.told(workload, &measured.steps)),
    };
    // What the first answers left is not counted: from here on everything is.
    with(keeping, |keeping| {
        keeping.doubt(first, running.asked_in_vain);
        keeping.begin(&workloads);
    });
    trial.warmup = warmup::run(&mut running, &given, &mut |so_far, last| {
        let how = last.map(how_it_warms).unwrap_or_default();
        watch(Progress::Doing(&format!("warms up, {} s{how}", so_far.as_secs())));
    });
    trial.warmed_with = trial.warmup.iter().flat_map(|w| &w.windows).map(|w| w.correct).sum();
    let mut agents_are_lost = false;
    if let Some(agents) = setup.agents.filter(|_| !experiment.design.warmup.is_zero() && running.ended().is_none()) {
        watch(Progress::Doing("warms up, by agents"));
        match agents.warm(&running, &given) {
            Ok(correct) => trial.warmed_with += correct,
            Err(fault) => {
                trial.faults.push(fault);
                agents_are_lost = true;
            }
        }
    }
    // What was acknowledged to an agent that is gone is known to nobody, and cannot be held against what is there.
    if !experiment.design.warmup.is_zero() && !agents_are_lost {
        with(keeping, |keeping| keeping.check("warm-up"));
    }
    if let Some(failure) = died(&mut running, "warm-up") {
        trial.failure = Some(failure);
    } else if !agents_are_lost {
        let cells = plan::cells(&experiment.cells, experiment.design.seed, setup.block, setup.position);
        'cells: for (position, cell) in (1..).zip(cells) {
            if around.stop.load(Ordering::Relaxed) {
                break;
            }
            // A turn is measured on what the one before left.
            if cell.after.is_none()
                && let Err(failure) = runner::reset(contender, &running, around)
            {
                trial.failure = Some(failure);
                break;
            }
            watch(Progress::Doing(&cell.name));
            if let Some(asked) = cell.load.capacity() {
                with(keeping, |keeping| keeping.begin(&[&setup.workloads[&cell.asks()]]));
                let searched = capacity::run(setup, (cell, asked), position, running, (&given, around, keeping), watch);
                with(keeping, |keeping| keeping.check(&cell.name));
                trial.capacities.extend(searched.found);
                trial.faults.extend(searched.fault);
                match searched.running {
                    Ok(back) => running = back,
                    Err(failure) => {
                        trial.failure = Some(failure);
                        trial.host.steal_share = steal_share(begun);
                        return;
                    }
                }
                if let Some(failure) = died(&mut running, "measure") {
                    trial.failure = Some(failure);
                    break;
                }
                continue;
            }
            if let Some(driver) = cell.driver {
                match witness::of_cell(setup, (cell, driver), position, &running, around) {
                    Ok(witnessed) => trial.witnessed.push(witnessed),
                    Err(trouble) => trial.faults.push(trouble),
                }
                if let Some(failure) = died(&mut running, "measure") {
                    trial.failure = Some(failure);
                    break;
                }
                continue;
            }
            let mut warmed = Ok(0);
            if !cell.warmup.is_zero() {
                watch(Progress::Doing(&format!("warms up for {}", cell.name)));
                warmed = warm(setup, cell, &running, keeping, around.stop);
                watch(Progress::Doing(&cell.name));
            }
            let mut made = warmed.and_then(|correct| {
                trial.warmed_with += correct;
                measure(setup, cell, position, &running, keeping, around.stop)
            });
            let first = Instant::now();
            for again in 1..=AGAIN_MAX {
                // What a turn found is not there a second time.
                let is_too_late = first.elapsed() > AGAIN_WITHIN || cell.after.is_some();
                let is_over = is_too_late || around.stop.load(Ordering::Relaxed) || running.ended().is_some();
                match made {
                    Ok(robbed) if !is_over && robbed.circumstances.as_ref().is_some_and(Circumstances::is_robbed) => {
                        trial.robbed.push(robbed)
                    }
                    _ => break,
                }
                watch(Progress::Doing(&format!("{}, again for steal ({again})", cell.name)));
                std::thread::sleep(setup.experiment.design.measure.min(CALM));
                // It counts in place of the one that was robbed, so it finds what that one found.
                if let Err(failure) = runner::reset(contender, &running, around) {
                    trial.failure = Some(failure);
                    break 'cells;
                }
                made = measure(setup, cell, position, &running, keeping, around.stop);
            }
            match made {
                Ok(measurement) => trial.measurements.push(measurement),
                Err(cause) if setup.agents.is_some() => {
                    trial.faults.push(lost(&format!("cell {}", cell.name), &cause));
                    agents_are_lost = true;
                }
                Err(cause) => trial.faults.push(not_made(cell, &cause)),
            }
            if let Some(failure) = died(&mut running, "measure") {
                trial.failure = Some(failure);
                break;
            }
            // The trial is spoilt; who is there is asked before the next.
            if agents_are_lost {
                break;
            }
        }
    }
    let (log, began_ns) = (running.log().map(Path::to_owned), running.began_ns);
    let (stopped, failure) = running.stop(contender);
    trial.pauses = log.map(|log| pauses::of_log(&log, began_ns)).unwrap_or_default();
    trial.stop = stopped;
    trial.failure = trial.failure.take().or(failure);
    trial.host.steal_share = steal_share(begun);
}

/// `, 812/s, p50 2.10ms, 310us CPU a request`, as far as it is known.
fn how_it_warms(window: &WarmUpWindow) -> String {
    let mut text = format!(", {}/s", show_number(window.correct as f64 / (window.load_ns.max(1) as f64 / 1e9)));
    if let Some(p50_ns) = window.p50_ns {
        text += &format!(", p50 {}", show_short(p50_ns as f64));
    }
    if window.correct > 0 && window.cpu_ns > 0 {
        text += &format!(", {} CPU a request", show_short(window.cpu_ns as f64 / window.correct as f64));
    }
    text
}

/// The share of the machine's CPU time that the hypervisor took since then.
fn steal_share(since: (u64, u64)) -> f64 {
    let now = runner::machine::cpu_ticks();
    now.1.saturating_sub(since.1) as f64 / now.0.saturating_sub(since.0).max(1) as f64
}

/// What the warm-up asks, each once.
fn warming<'w>(experiment: &Experiment, all: &[&'w Workload]) -> Vec<&'w Workload> {
    let is_named = |workload: &&Workload| experiment.design.warmup_workloads.contains(&workload.name);
    let named: Vec<&Workload> = all.iter().copied().filter(is_named).collect();
    if named.is_empty() { all.to_vec() } else { named }
}

/// What the cells ask, each once.
pub(crate) fn distinct<'w>(experiment: &Experiment, workloads: &'w BTreeMap<String, Workload>) -> Vec<&'w Workload> {
    let mut asked: Vec<String> = Vec::new();
    for cell in &experiment.cells {
        let asks = cell.asks();
        if !asked.contains(&asks) {
            asked.push(asks);
        }
    }
    asked.iter().map(|asks| &workloads[asks]).collect()
}

/// CPU time shows a compiler at work that a low rate would not; where every cell asks as fast as it is
/// answered, throughput is compared as well.
fn decides(experiment: &Experiment, running: &Running) -> Decides {
    let all_closed = experiment.cells.iter().all(|c| !c.load.has_schedule());
    match (running.pid(), all_closed) {
        (None, _) => Decides::Throughput,
        (_, true) => Decides::CpuAndThroughput,
        (_, false) => Decides::Cpu,
    }
}

/// A load could not be made.
pub(crate) fn not_made(cell: &Cell, cause: &str) -> Fault {
    Fault { kind: "generator".into(), evidence: format!("cell {}: {cause}", cell.name), hint: "mend what it names, then run again".into() }
}

fn died(running: &mut Running, stage: &str) -> Option<Failure> {
    let status = running.ended()?;
    Some(Failure { stage: stage.into(), cause: format!("it ended with {status}"), log: running.last_lines(20) })
}

/// Does something with the database, where there is one.
pub(crate) fn with(keeping: &RefCell<Option<Keeping>>, does: impl FnOnce(&mut Keeping)) {
    if let Some(keeping) = keeping.borrow_mut().as_mut() {
        does(keeping);
    }
}

/// How the generator waits: looking for an answer on the CPU that must make it would only delay it. Where a service that ran already
/// works, nobody knows.
pub(crate) fn waits(cpus: &CpuSets, running: &Running) -> Wait {
    let has_own_cpu = |others: &[usize]| !others.iter().any(|cpu| cpus.generator.contains(cpu));
    if running.pid().is_some() && has_own_cpu(&cpus.contender) && has_own_cpu(&cpus.upstream) { Wait::Near } else { Wait::Asleep }
}

/// CPU time so far of what stands behind the contender: upstream and database.
pub(crate) fn behind(setup: &Setup<'_>, keeping: &RefCell<Option<Keeping>>) -> Option<u64> {
    let database = keeping.borrow().as_ref().and_then(Keeping::cpu_ns);
    let upstream = setup.upstream.map(tree_cpu_ns);
    (upstream.is_some() || database.is_some()).then(|| upstream.unwrap_or(0) + database.unwrap_or(0))
}

/// What is read of contender, database and machine while a cell is measured.
struct Watched<'a> {
    machine: circumstances::Reading<'a>,
    behind_ns: Option<u64>,
    database: Option<sessions::Sampler>,
    contender: Option<(signs::Reading, Sampler)>,
}

/// What that came to.
struct Seen {
    usage: Usage,
    behind_ns: Option<u64>,
    database: Option<Used>,
    circumstances: Circumstances,
}

impl<'a> Watched<'a> {
    fn begin(setup: &Setup<'a>, running: &Running, keeping: &RefCell<Option<Keeping>>) -> Watched<'a> {
        let cpus = setup.cpus;
        let machine = circumstances::Reading::now(&cpus.all(), setup.awake);
        let behind_ns = behind(setup, keeping);
        let database = keeping.borrow().as_ref().and_then(Keeping::pid).map(|pid| sessions::Sampler::start(pid, &cpus.generator));
        let sampled = |log| {
            let pids = running.pids();
            (signs::Reading::take(&pids, log), Sampler::start(&pids, &running.forwarders(), &cpus.generator))
        };
        Watched { machine, behind_ns, database, contender: running.log().map(sampled) }
    }

    fn end(self, setup: &Setup<'_>, keeping: &RefCell<Option<Keeping>>) -> Seen {
        let usage = self.contender.map_or_else(Usage::default, |(before, sampler)| {
            let usage = sampler.stop();
            Usage { signs: before.until_now(), ..usage }
        });
        let database = self.database.map(sessions::Sampler::stop);
        let behind_ns = self.behind_ns.zip(behind(setup, keeping)).map(|(before, after)| after.saturating_sub(before));
        Seen { usage, behind_ns, database, circumstances: self.machine.until_now() }
    }
}

/// A cell's load, over so much time.
fn plan<'p>(setup: &'p Setup<'_>, cell: &'p Cell, running: &'p Running, duration: Duration, stop: &'p AtomicBool) -> Plan<'p> {
    Plan {
        target: &running.target,
        workload: &setup.workloads[&cell.asks()],
        load: &cell.load,
        duration,
        requests: None,
        timeout: cell.timeout,
        // The same arrivals and data for every contender of a block.
        seed: setup.experiment.design.seed.wrapping_add(u64::from(setup.block)),
        threads: if setup.agents.is_some() { LOOPS_MAX } else { 1 },
        wait: setup.agents.map_or_else(|| waits(setup.cpus, running), Agents::wait),
        stop,
        progress: None,
    }
}

/// Puts a cell's load on for as long as its own warm-up lasts, and tells how many answers were right.
fn warm(setup: &Setup<'_>, cell: &Cell, running: &Running, keeping: &RefCell<Option<Keeping>>, stop: &AtomicBool) -> Result<u64, String> {
    let plan = plan(setup, cell, running, cell.warmup, stop);
    with(keeping, |keeping| keeping.begin(&[plan.workload]));
    std::thread::sleep(SETTLE);
    let measured = match setup.agents {
        None => warmup::on_cpus(&plan, &setup.cpus.generator).map_err(|e| e.to_string())?,
        Some(agents) => agents.make(&plan, |_| ())?.0,
    };
    with(keeping, |keeping| {
        keeping.told(plan.workload, &measured.steps);
        keeping.check("warm-up");
    });
    Ok(measured.counts.correct)
}

fn measure(
    setup: &Setup<'_>,
    cell: &Cell,
    position: u32,
    running: &Running,
    keeping: &RefCell<Option<Keeping>>,
    stop: &AtomicBool,
) -> Result<Measurement, String> {
    if cell.after.is_none() {
        with(keeping, |keeping| keeping.begin(&[&setup.workloads[&cell.asks()]]));
    }
    std::thread::sleep(SETTLE);
    let plan = Plan { progress: setup.seconds.cloned(), ..plan(setup, cell, running, setup.experiment.design.measure, stop) };
    let (watched, made) = match setup.agents {
        None => {
            let watched = Watched::begin(setup, running, keeping);
            (Some(watched), warmup::on_cpus(&plan, &setup.cpus.generator).map(|measured| (measured, Vec::new())).map_err(|e| e.to_string()))
        }
        Some(agents) => {
            let mut watched = None;
            let made = agents.make(&plan, |at_ns| {
                // Readings count from the start, as what is measured does.
                std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(load::clock::now_ns())));
                watched = Some(Watched::begin(setup, running, keeping));
            });
            (watched, made)
        }
    };
    let seen = watched.map(|watched| watched.end(setup, keeping));
    let (measured, agents) = made?;
    let seen = seen.ok_or("the load never began")?;
    with(keeping, |keeping| {
        keeping.told(plan.workload, &measured.steps);
        keeping.check(&cell.name);
    });
    let mut circumstances = seen.circumstances;
    if setup.agents.is_some_and(Agents::are_in_its_place) {
        // They are ours as the generator is, and on its CPUs.
        circumstances.faceoff_cpu_ns = circumstances.faceoff_cpu_ns.saturating_add(measured.cpu_ns);
    }
    // A closed load has nothing that a latency could count from: the record has its service times.
    let has_schedule = cell.load.has_schedule();
    Ok(Measurement {
        cell: cell.name.clone(),
        position,
        began_after_ns: measured.began_ns.saturating_sub(running.began_ns),
        duration_ns: measured.duration_ns,
        latency: has_schedule.then_some(measured.latency),
        service: measured.service,
        counts: measured.counts,
        statuses: measured.statuses,
        received_bytes: measured.received_bytes,
        examples: measured.examples,
        seconds: measured.seconds,
        usage: seen.usage,
        upstream_cpu_ns: seen.behind_ns,
        database: seen.database,
        generator: Generator {
            lag: has_schedule.then_some(measured.lag),
            cpu_ns: measured.cpu_ns,
            spun_ns: measured.spun_ns,
            in_flight_max: measured.in_flight_max,
            connections_opened: measured.connections_opened,
            connect: Some(measured.connect),
            sent_in_time: Some(measured.sent_in_time),
            in_flight_mean: Some(measured.in_flight_mean),
            sent_at_us: measured.sent_at_us,
            correct_per_tenth: measured.correct_per_tenth,
            agents,
        },
        circumstances: Some(circumstances),
        faults: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_warm_up_in_words() {
        let window = WarmUpWindow {
            at_ns: 0,
            load_ns: 500_000_000,
            connections: 4,
            correct: 406,
            cpu_ns: 406 * 310_000,
            pause_ns: 0,
            pause_cpu_ns: 0,
            p50_ns: Some(2_100_000),
            max_ns: None,
        };
        assert_eq!(how_it_warms(&window), ", 812/s, p50 2.10ms, 310us CPU a request");
        assert_eq!(how_it_warms(&WarmUpWindow { correct: 0, p50_ns: None, ..window }), ", 0/s", "nothing came back");
    }
}
