//! Makes the load of one cell once, to warm a contender up or to measure it.

use super::readings::{Readings, measurement};
use super::setup::{Purpose, SETTLE, Setup};
use crate::agents::Agents;
use crate::profiling::traced_for;
use crate::settle::{limit, settle};
use crate::trial_database::TrialDatabase;
use crate::warmup;
use load::{Plan, Wait};
use record::Measurement;
use runner::start::Running;
use spec::experiment::{Cell, Load};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a warm-up for a cell makes the load before it pauses.
const ROUND: Duration = Duration::from_secs(2);
/// A shorter round would mostly open connections.
const ROUND_MIN: Duration = Duration::from_millis(200);

/// Makes a cell's load in rounds for as long as the cell's own warm-up lasts. After a round, the
/// contender has as long again to do what it put off; after the last one, as long as [`limit`] says.
/// Returns the number of correct responses.
///
/// # Errors
/// The reason why the load was not made.
pub(crate) fn warm_up_for_cell(
    setup: &Setup<'_>,
    cell: &Cell,
    running: &Running,
    database: &mut TrialDatabase,
    stop: &AtomicBool,
) -> Result<u64, String> {
    database.begin(&[setup.workload(cell)]);
    std::thread::sleep(SETTLE);
    let is_divisible = is_divisible(&cell.load);
    let longest = if is_divisible { ROUND } else { cell.warmup };
    let (began, mut correct) = (Instant::now(), 0);
    let left = || cell.warmup.saturating_sub(began.elapsed());
    for round in 0.. {
        let time = left().min(longest);
        let plan = setup.plan((cell, Purpose::WarmUp { round }), running, time, stop);
        let measured = match setup.agents {
            None => warmup::on_cpus(&plan, &setup.cpus.generator).map_err(|e| e.to_string())?,
            Some(agents) => agents.make(&plan, |_| ())?.0,
        };
        database.record(plan.workload, &measured.steps);
        correct += measured.counts.correct;
        if !is_divisible || stop.load(Ordering::Relaxed) {
            break;
        }
        settle(&[running], left().min(ROUND), stop);
        if left() < ROUND_MIN {
            break;
        }
    }
    settle(&[running], limit(setup.experiment.design.measure), stop);
    database.check("warm-up");
    Ok(correct)
}

/// Whether a part of the load is the same load for a shorter time. Users begin one after the other,
/// and stages follow one another.
fn is_divisible(load: &Load) -> bool {
    match load {
        Load::Closed { .. } => true,
        Load::Arrivals { stages, .. } => stages.is_empty(),
        Load::Users { .. } | Load::Capacity(_) => false,
    }
}

/// Measures a cell once.
///
/// # Errors
/// The reason why the load was not made.
pub(crate) fn measure_once(
    setup: &Setup<'_>,
    cell: &Cell,
    (position, attempt): (u32, u32),
    running: &Running,
    database: &mut TrialDatabase,
    stop: &AtomicBool,
) -> Result<Measurement, String> {
    if cell.after.is_none() {
        database.begin(&[setup.workload(cell)]);
    }
    std::thread::sleep(SETTLE);
    let (purpose, time) = (Purpose::Measuring { attempt }, setup.experiment.design.measure);
    let plan = Plan {
        progress: setup.seconds.cloned(),
        ..setup.plan((cell, purpose), running, time, stop)
    };
    let mut sampler = None;
    let (readings, made) = match setup.agents {
        None => {
            let readings = Readings::begin(setup, running, database);
            sampler = setup.sampling.and_then(|s| s.begin(&[running], &setup.cpus.generator));
            let made = warmup::on_cpus(&plan, &setup.cpus.generator)
                .map(|measured| (measured, Vec::new()))
                .map_err(|e| e.to_string());
            (Some(readings), made)
        }
        Some(agents) => {
            let mut readings = None;
            let made = agents.make(&plan, |at_ns| {
                // Readings must cover the same time as the load.
                let until_then = at_ns.saturating_sub(load::clock::now_ns());
                std::thread::sleep(Duration::from_nanos(until_then));
                readings = Some(Readings::begin(setup, running, database));
            });
            (readings, made)
        }
    };
    let seen = readings.map(|readings| readings.end(setup, database));
    let (measured, agents) = made?;
    let seen = seen.ok_or("the load never began")?;
    database.record(plan.workload, &measured.steps);
    database.check(&cell.name);
    let mut measurement = measurement(cell, position, running, measured, seen);
    measurement.generator.agents = agents;
    if let (Some(sampling), Some(sampler)) = (setup.sampling, sampler) {
        let began_ns = running.began_ns + measurement.began_after_ns;
        let spans = vec![(began_ns, began_ns + measurement.duration_ns)];
        let name = &setup.ready.contender.name;
        sampling.end(sampler, std::iter::once((name, Some(&measurement), spans)));
    }
    if setup.agents.is_some_and(Agents::are_in_its_place)
        && let Some(circumstances) = &mut measurement.circumstances
    {
        // Agents on the generator's CPUs belong to faceoff as the generator does.
        circumstances.faceoff_cpu_ns =
            circumstances.faceoff_cpu_ns.saturating_add(measurement.generator.cpu_ns);
    }
    Ok(measurement)
}

/// Has the system calls of a contender counted that was sampled in a cell, during a short load of
/// the same kind. Does nothing in blocks that are judged.
pub(crate) fn count_system_calls(
    setup: &Setup<'_>,
    cell: &Cell,
    running: &Running,
    database: &mut TrialDatabase,
    stop: &AtomicBool,
) {
    let Some(sampling) = setup.sampling.filter(|_| !stop.load(Ordering::Relaxed)) else { return };
    let time = traced_for(setup.experiment.design.measure);
    // Tracing needs a CPU, which a generator that polls would take from it.
    let plan = setup.plan((cell, Purpose::Tracing), running, time, stop);
    let plan = Plan { wait: Wait::Asleep, ..plan };
    database.begin(&[plan.workload]);
    std::thread::sleep(SETTLE);
    sampling.trace((&setup.ready.contender.name, running), &cell.name, || {
        let measured = warmup::on_cpus(&plan, &setup.cpus.generator).ok()?;
        database.record(plan.workload, &measured.steps);
        Some(measured)
    });
    database.check(&cell.name);
}
