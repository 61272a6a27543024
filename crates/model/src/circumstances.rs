//! What the machine did around a measurement, and what that says of others on it.

use crate::experiment::CpuSets;
use serde::{Deserialize, Serialize};

/// What the machine did from right before a measurement to right after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    /// Time between the two readings.
    pub wall_ns: u64,
    /// By CPU, those of contender, generator and upstream.
    pub cpus: Vec<CpuTime>,
    /// CPU time of faceoff itself, with that of agents in pods on its generator's CPUs.
    pub faceoff_cpu_ns: u64,
    /// Resident memory of faceoff itself at the end, all that it keeps of the run included; `None` where it cannot be read, and in older records.
    #[serde(default)]
    pub faceoff_memory_bytes: Option<u64>,
    /// Of all TCP connections; `None` where it cannot be read.
    pub tcp: Option<Tcp>,
    /// Of the ports that connections are made from.
    pub ports: Option<Ports>,
    /// Of the machine.
    pub memory: Option<Memory>,
    /// How far the wall clock moved against the monotonic one.
    pub wall_clock_moved_ns: i64,
    /// How long the machine slept.
    pub slept_ns: i64,
}

/// One of the kernel's ticks, in nanoseconds: USER_HZ is 100 on every Linux that has a stable interface.
pub const TICK_NS: u64 = 10_000_000;

/// How a CPU spent its time, in ticks of [`TICK_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// Its number.
    pub cpu: usize,
    /// In programs and in the kernel on their behalf; without interrupts.
    pub busy_ticks: u64,
    /// Altogether, idle time included.
    pub ticks: u64,
    /// Of these, taken by the hypervisor; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ticks: Option<u64>,
}

/// CPU time that the hypervisor may take of a measurement, as a share: beyond it times are longer by as much as the usual margin.
pub const STEAL_SHARE_MAX: f64 = 0.05;

/// CPU time that other programs may use of a set of CPUs, as a share.
const OTHER_SHARE_MAX: f64 = 0.05;

impl Circumstances {
    /// The share of the CPU time that the hypervisor took; `None` where it was not read.
    pub fn steal_share(&self) -> Option<f64> {
        let (mut stolen, mut all) = (0u64, 0u64);
        for time in &self.cpus {
            stolen = stolen.saturating_add(time.stolen_ticks?);
            all = all.saturating_add(time.ticks);
        }
        (all > 0).then(|| stolen as f64 / all as f64)
    }

    /// Whether that is more than [`STEAL_SHARE_MAX`].
    pub fn is_robbed(&self) -> bool {
        self.steal_share().is_some_and(|share| share > STEAL_SHARE_MAX)
    }

    /// What other programs used of the contender's CPUs or, where nobody did, of the generator's: whose, and the share of them. It is what is left beside
    /// the contender, what stands behind it and faceoff itself; `None` where it is little, or no more than the kernel's counting leaves open.
    pub fn others(&self, sets: &CpuSets, contender_ns: u64, behind_ns: u64) -> Option<(&'static str, f64)> {
        let overlaps = |a: &[usize], b: &[usize]| a.iter().any(|cpu| b.contains(cpu));
        let others = |cpus: &[usize]| {
            let times = || self.cpus.iter().filter(|time| cpus.contains(&time.cpu));
            // The kernel looks at even instants who runs, which arrivals at even distances may always meet; how long a CPU is idle it measures.
            let wall = self.wall_ns as f64 / TICK_NS as f64;
            let not_idle = |time: &CpuTime| (wall - time.ticks.saturating_sub(time.busy_ticks) as f64).clamp(0.0, time.busy_ticks as f64);
            let busy: f64 = times().map(not_idle).sum();
            let all: f64 = times().map(|time| time.ticks as f64).sum();
            // Whoever may have run there is taken to have done all its work there: nobody is accused in vain.
            let ours = [(&sets.contender, contender_ns), (&sets.upstream, behind_ns), (&sets.generator, self.faceoff_cpu_ns)];
            let ours: f64 = ours.into_iter().filter(|(set, _)| overlaps(set, cpus)).map(|(_, ns)| ns as f64).sum();
            let other = busy - ours / TICK_NS as f64;
            // The kernel counts by looking 100 times a second: four standard deviations of that, and a tick at each end.
            let noise = 2.0 * all.sqrt() + 2.0;
            (other > noise && other > OTHER_SHARE_MAX * all).then(|| other / all)
        };
        let names = [("the contender", &sets.contender), ("the generator", &sets.generator)];
        names.into_iter().find_map(|(whose, cpus)| Some((whose, others(cpus)?)))
    }
}

/// What TCP counted meanwhile, on the whole machine (network namespace).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tcp {
    /// Segments sent.
    pub segments: u64,
    /// Of these, sent again.
    pub retransmitted: u64,
    /// Of those, to ask for an acknowledgement that was late (tail loss probes, RFC 8985): nobody waits for them. 0 in older records, which did not tell.
    #[serde(default)]
    pub probes: u64,
    /// Connections that found the queue of a listener full.
    pub listen_overflows: u64,
    /// Connections that a listener dropped, for that or another reason.
    pub listen_drops: u64,
}

/// Ephemeral ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// TCP sockets in use or in TIME_WAIT, before.
    pub taken_before: u64,
    /// And after, when the generator's connections are closed.
    pub taken_after: u64,
    /// How many ports there are (`net.ipv4.ip_local_port_range`).
    pub range: u64,
}

/// Memory of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What programs could still have, the less of before and after.
    pub available_bytes: u64,
    /// All there is.
    pub total_bytes: u64,
    /// Pages that were swapped in or out meanwhile.
    pub swapped_pages: u64,
}
