//! Inputs of a trial, and the plans of its loads.
//!
//! [`Setup`] holds everything that a trial needs and does not change. The functions derive from it
//! which workloads warm a contender up, and the load of each cell.

use crate::agents::Agents;
use crate::clock;
use crate::participants::Ready;
use crate::profiling::Sampling;
use crate::steady::Decides;
use load::agents::LOOPS_MAX;
use load::{Plan, Wait};
use record::{Host, Trial};
use runner::awake::Awake;
use runner::energy::Packages;
use runner::start::Running;
use spec::experiment::{Cell, CpuSets, Experiment};
use spec::workload::Workload;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Pause before each load, in which work left over from the load before ends.
pub(crate) const SETTLE: Duration = Duration::from_millis(200);

/// Seeds of loads in one trial differ by multiples of this. It is larger than the number of a block,
/// by which the seeds of trials differ.
const OTHER_DATA: u64 = 1 << 40;

/// What a load of a cell is for. Each purpose sends data of its own: a system may refuse what it has
/// stored before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To measure, for the first time or again.
    Measuring { attempt: u32 },
    /// To find the length of slices.
    Pilot,
    /// To warm up for a cell, for the nth time.
    WarmUp { round: u32 },
    /// To count system calls.
    Tracing,
}

impl Purpose {
    /// Returns the seed, from that of the block.
    fn seed(self, of_block: u64) -> u64 {
        match self {
            Purpose::Measuring { attempt } => {
                of_block.wrapping_add(u64::from(attempt) * OTHER_DATA)
            }
            Purpose::Pilot => of_block.wrapping_sub(OTHER_DATA),
            Purpose::Tracing => of_block.wrapping_sub(2 * OTHER_DATA),
            Purpose::WarmUp { round } => of_block.wrapping_sub((3 + u64::from(round)) * OTHER_DATA),
        }
    }
}

/// Everything that a trial needs and does not change.
pub(crate) struct Setup<'a> {
    pub ready: &'a Ready,
    pub experiment: &'a Experiment,
    /// By the name that [`Cell::workload_label`] returns.
    pub workloads: &'a BTreeMap<String, Workload>,
    pub cpus: &'a CpuSets,
    /// Keeps the CPUs from sleeping.
    pub awake: Option<&'a Awake>,
    /// The counters of energy, where they can be read.
    pub energy: Option<&'a Packages>,
    /// Agents that make the loads, in place of this machine's generator.
    pub agents: Option<&'a Agents>,
    /// Receives each second of a measurement.
    pub seconds: Option<&'a SyncSender<load::Progress>>,
    /// Samples stacks while cells are measured; `None` in blocks that are judged.
    pub sampling: Option<&'a Sampling>,
    /// Process id of the upstream.
    pub upstream: Option<u32>,
    pub block: u32,
    pub position: u32,
}

impl<'a> Setup<'a> {
    /// The workload of a cell.
    pub fn workload(&self, cell: &Cell) -> &'a Workload {
        &self.workloads[&cell.workload_label()]
    }

    /// The workloads of all cells, each once.
    pub fn cell_workloads(&self) -> Vec<&'a Workload> {
        cell_workloads(self.experiment, self.workloads)
    }

    /// An empty trial that begins now.
    pub fn new_trial(&self) -> Trial {
        let own_load = self.awake.map_or(0.0, Awake::load);
        Trial {
            contender: self.ready.contender.name.clone(),
            block: self.block,
            position: self.position,
            started_at: clock::now(),
            command: Vec::new(),
            artifact_sha256: Vec::new(),
            ready_after_ns: None,
            scaled_out_after_ns: None,
            warmed_with: 0,
            warmup: None,
            measurements: Vec::new(),
            stolen: Vec::new(),
            capacities: Vec::new(),
            external_reports: Vec::new(),
            stop: None,
            failure: None,
            faults: Vec::new(),
            cell_faults: Vec::new(),
            host: Host {
                steal_share: 0.0,
                start_steal_share: None,
                load_average: (runner::load_average() - own_load).max(0.0),
            },
            database: None,
            pauses: Vec::new(),
        }
    }

    /// Plans the load of a cell for this long.
    pub fn plan<'p>(
        &'p self,
        (cell, purpose): (&'p Cell, Purpose),
        running: &'p Running,
        duration: Duration,
        stop: &'p AtomicBool,
    ) -> Plan<'p> {
        Plan {
            target: &running.target,
            workload: self.workload(cell),
            load: &cell.load,
            duration,
            requests: None,
            timeout: cell.timeout,
            seed: purpose.seed(self.seed()),
            threads: if self.agents.is_some() { LOOPS_MAX } else { 1 },
            wait: self.agents.map_or_else(|| wait_for(self.cpus, running), Agents::wait),
            stop,
            progress: None,
        }
    }

    /// The seed of the block: the same arrivals and data for each of its contenders.
    pub fn seed(&self) -> u64 {
        self.experiment.design.seed.wrapping_add(u64::from(self.block))
    }
}

/// The workloads that warm a contender up: those that the design names, else all.
pub(crate) fn warmup_workloads<'w>(
    experiment: &Experiment,
    all: &[&'w Workload],
) -> Vec<&'w Workload> {
    let is_named =
        |workload: &&Workload| experiment.design.warmup_workloads.contains(&workload.name);
    let named: Vec<&Workload> = all.iter().copied().filter(is_named).collect();
    if named.is_empty() { all.to_vec() } else { named }
}

/// The workloads of an experiment's cells, each once.
pub(crate) fn cell_workloads<'w>(
    experiment: &Experiment,
    workloads: &'w BTreeMap<String, Workload>,
) -> Vec<&'w Workload> {
    let mut names: Vec<String> = Vec::new();
    for cell in &experiment.cells {
        let name = cell.workload_label();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.iter().map(|name| &workloads[name]).collect()
}

/// Chooses the series that decides when a contender is warm. CPU time reveals a compiler at work
/// that a low rate would hide. If no cell has a schedule, throughput must be steady as well.
pub(crate) fn steady_series(experiment: &Experiment, running: &Running) -> Decides {
    let all_closed = experiment.cells.iter().all(|c| !c.load.has_schedule());
    match (running.pids().is_empty(), all_closed) {
        (true, _) => Decides::Throughput,
        (false, true) => Decides::CpuAndThroughput,
        (false, false) => Decides::Cpu,
    }
}

/// Chooses how the generator waits for responses. Polling on a CPU that the contender needs would
/// delay the response. The CPUs of a service that already ran are unknown.
pub(crate) fn wait_for(cpus: &CpuSets, running: &Running) -> Wait {
    let is_apart = |others: &[usize]| !others.iter().any(|cpu| cpus.generator.contains(cpu));
    if running.pid().is_some() && is_apart(&cpus.contender) && is_apart(&cpus.upstream) {
        Wait::Near
    } else {
        Wait::Asleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn loads_of_all_trials_have_different_seeds() {
        let measuring = (0..4).map(|attempt| Purpose::Measuring { attempt });
        let warming_up = (0..100).map(|round| Purpose::WarmUp { round });
        let purposes: Vec<Purpose> =
            measuring.chain([Purpose::Pilot, Purpose::Tracing]).chain(warming_up).collect();
        let of_block = |block: u64| purposes.iter().map(move |purpose| purpose.seed(7 + block));
        let seeds: BTreeSet<u64> = (0..1_000).flat_map(of_block).collect();
        assert_eq!(seeds.len(), 1_000 * purposes.len());
        assert_eq!(Purpose::Measuring { attempt: 0 }.seed(7), 7, "as in older records");
    }
}
