//! What is read from the contender, the database and the machine during a measurement.
//!
//! [`Readings::begin`] and [`Readings::end`] enclose a load, and [`measurement`] combines both for
//! the record.

use super::setup::Setup;
use crate::trial_database::TrialDatabase;
use load::Measured;
use record::database::DatabaseUsage;
use record::{Circumstances, Generator, Measurement, Usage};
use runner::circumstances;
use runner::energy::Meter;
use runner::sessions;
use runner::signs;
use runner::start::Running;
use runner::usage::{Sampler, tree_cpu_ns};
use spec::experiment::Cell;
use std::path::Path;

/// Readings that have begun.
pub(crate) struct Readings<'a> {
    machine: circumstances::Reading<'a>,
    backends_ns: Option<u64>,
    database: Option<sessions::Sampler>,
    contender: Option<(signs::Reading, Sampler)>,
    energy: Meter<'a>,
}

/// Readings of a whole measurement.
pub(crate) struct Seen {
    pub usage: Usage,
    /// CPU time of upstream and database.
    pub backends_ns: Option<u64>,
    /// Energy of the whole machine.
    pub energy_uj: Option<u64>,
    database: Option<DatabaseUsage>,
    circumstances: Circumstances,
}

impl<'a> Readings<'a> {
    /// Begins to read.
    pub fn begin(
        setup: &Setup<'a>,
        running: &Running,
        trial_database: &TrialDatabase,
    ) -> Readings<'a> {
        let cpus = setup.cpus;
        let machine = circumstances::Reading::now(&cpus.all_cpus(), setup.awake);
        let backends_ns = backends_cpu_ns(setup, trial_database);
        let database =
            trial_database.pid().map(|pid| sessions::Sampler::start(pid, &cpus.generator));
        let pids = running.pids();
        let sampled = || {
            let log = running.log().unwrap_or(Path::new("/dev/null"));
            // A service that already ran may use any CPU, so its placement is not checked.
            let (roots, others) = match running.is_elsewhere() {
                true => (Vec::new(), pids.clone()),
                false => (pids.clone(), running.forwarders()),
            };
            (signs::Reading::take(&pids, log), Sampler::start(&roots, &others, &cpus.generator))
        };
        let contender = (!pids.is_empty()).then(sampled);
        let mut energy = Meter::new(setup.energy);
        energy.begin();
        Readings { machine, backends_ns, database, contender, energy }
    }

    /// Ends reading.
    pub fn end(mut self, setup: &Setup<'_>, trial_database: &TrialDatabase) -> Seen {
        self.energy.end();
        let energy_uj = self.energy.sum_uj();
        let usage = self.contender.map_or_else(Usage::default, |(before, sampler)| {
            let usage = sampler.stop();
            Usage { signs: before.until_now(), ..usage }
        });
        let database = self.database.map(sessions::Sampler::stop);
        let backends_ns = self
            .backends_ns
            .zip(backends_cpu_ns(setup, trial_database))
            .map(|(before, after)| after.saturating_sub(before));
        Seen { usage, backends_ns, energy_uj, database, circumstances: self.machine.until_now() }
    }
}

/// CPU time so far of the systems behind the contender: upstream and database.
pub(crate) fn backends_cpu_ns(setup: &Setup<'_>, database: &TrialDatabase) -> Option<u64> {
    let database = database.cpu_ns();
    let upstream = setup.upstream.map(tree_cpu_ns);
    (upstream.is_some() || database.is_some())
        .then(|| upstream.unwrap_or(0) + database.unwrap_or(0))
}

/// The share of the machine's CPU time that was stolen by the hypervisor since these ticks.
pub(crate) fn steal_share(since: (u64, u64)) -> f64 {
    let now = runner::machine::cpu_ticks();
    now.1.saturating_sub(since.1) as f64 / now.0.saturating_sub(since.0).max(1) as f64
}

/// Whether the hypervisor or other programs took too much CPU time for a measurement to be used.
pub(crate) fn is_disturbed(setup: &Setup<'_>, measurement: &Measurement) -> bool {
    measurement.circumstances.as_ref().is_some_and(|around| {
        let others = || {
            around.others(
                setup.cpus,
                measurement.usage.cpu_ns,
                measurement.upstream_cpu_ns.unwrap_or(0),
            )
        };
        around.exceeds_steal_limit() || measurement.usage.is_known() && others().is_some()
    })
}

/// Combines a load and the readings during it into a measurement of the record.
pub(crate) fn measurement(
    cell: &Cell,
    position: u32,
    running: &Running,
    measured: Measured,
    seen: Seen,
) -> Measurement {
    // Without a schedule no latency can be counted from it, so the record has service times only.
    let has_schedule = cell.load.has_schedule();
    Measurement {
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
        upstream_cpu_ns: seen.backends_ns,
        energy_uj: seen.energy_uj,
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
            agents: Vec::new(),
        },
        circumstances: Some(seen.circumstances),
        slices: None,
        faults: Vec::new(),
    }
}
