//! What the machine did during a measurement, and whether other programs disturbed it.
//!
//! The lab reads counters of the kernel directly before and after a measurement.
//! [`Circumstances::steal_share`] and [`Circumstances::others`] derive CPU steal and the load of
//! other programs from them; the judge compares both with limits.

use serde::{Deserialize, Serialize};
use spec::experiment::CpuSets;

/// What the machine did from directly before a measurement to directly after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Circumstances {
    /// Time between the two readings.
    pub wall_ns: u64,
    /// The CPUs of contender, generator and upstream.
    pub cpus: Vec<CpuTime>,
    /// CPU time of faceoff itself, including agents in pods on its generator's CPUs.
    pub faceoff_cpu_ns: u64,
    /// Resident memory of faceoff at the end, including everything it keeps of the run. `None` if
    /// it cannot be read, and in older records.
    #[serde(default)]
    pub faceoff_memory_bytes: Option<u64>,
    /// Counters of all TCP connections; `None` if they cannot be read.
    pub tcp: Option<Tcp>,
    /// The use of local ports.
    pub ports: Option<Ports>,
    /// The memory of the machine.
    pub memory: Option<Memory>,
    /// How far the wall clock moved relative to the monotonic clock.
    pub wall_clock_moved_ns: i64,
    /// How long the machine slept.
    pub slept_ns: i64,
}

/// The length of a kernel tick, in nanoseconds. USER_HZ is 100 on every Linux with a stable
/// interface.
pub const TICK_NS: u64 = 10_000_000;

/// How a CPU spent its time, in ticks of [`TICK_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuTime {
    /// Its number.
    pub cpu: usize,
    /// Ticks in programs, and in the kernel on their behalf; without interrupts.
    pub busy_ticks: u64,
    /// All ticks, including idle ones.
    pub ticks: u64,
    /// Ticks that were CPU steal; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ticks: Option<u64>,
}

/// The largest allowed share of CPU steal. Beyond it, times are longer by as much as the usual
/// margin.
pub const STEAL_SHARE_MAX: f64 = 0.05;

/// The largest share of a set of CPUs that other programs may use.
const OTHER_SHARE_MAX: f64 = 0.05;

impl Circumstances {
    /// Returns the share of CPU steal; `None` if it was not read.
    pub fn steal_share(&self) -> Option<f64> {
        let (mut stolen, mut all) = (0u64, 0u64);
        for time in &self.cpus {
            stolen = stolen.saturating_add(time.stolen_ticks?);
            all = all.saturating_add(time.ticks);
        }
        (all > 0).then(|| stolen as f64 / all as f64)
    }

    /// Returns whether CPU steal exceeds [`STEAL_SHARE_MAX`].
    pub fn exceeds_steal_limit(&self) -> bool {
        self.steal_share().is_some_and(|share| share > STEAL_SHARE_MAX)
    }

    /// Returns which CPUs other programs used and the share of them: those of the contender, or
    /// else those of the generator.
    ///
    /// The share is what remains without the contender, upstream, database and faceoff itself.
    /// `None` if it is small, or within the uncertainty of the kernel's counting.
    pub fn others(
        &self,
        sets: &CpuSets,
        contender_ns: u64,
        behind_ns: u64,
    ) -> Option<(&'static str, f64)> {
        let overlaps = |a: &[usize], b: &[usize]| a.iter().any(|cpu| b.contains(cpu));
        let others = |cpus: &[usize]| {
            let times = || self.cpus.iter().filter(|time| cpus.contains(&time.cpu));
            // The kernel samples at even instants, which evenly spaced arrivals may always coincide
            // with. The idle time of a CPU is measured instead.
            let wall = self.wall_ns as f64 / TICK_NS as f64;
            let not_idle = |time: &CpuTime| {
                (wall - time.ticks.saturating_sub(time.busy_ticks) as f64)
                    .clamp(0.0, time.busy_ticks as f64)
            };
            let busy: f64 = times().map(not_idle).sum();
            let all: f64 = times().map(|time| time.ticks as f64).sum();
            // Each process that may have run on a CPU is assumed to have done all its work there.
            // So other programs are never blamed wrongly.
            let ours = [
                (&sets.contender, contender_ns),
                (&sets.upstream, behind_ns),
                (&sets.generator, self.faceoff_cpu_ns),
            ];
            let ours: f64 = ours
                .into_iter()
                .filter(|(set, _)| overlaps(set, cpus))
                .map(|(_, ns)| ns as f64)
                .sum();
            let other = busy - ours / TICK_NS as f64;
            // The kernel samples 100 times a second. The noise is four standard deviations of that,
            // and a tick at each end.
            let noise = 2.0 * all.sqrt() + 2.0;
            (other > noise && other > OTHER_SHARE_MAX * all).then(|| other / all)
        };
        let names = [("the contender", &sets.contender), ("the generator", &sets.generator)];
        names.into_iter().find_map(|(whose, cpus)| Some((whose, others(cpus)?)))
    }
}

/// What TCP counted during the measurement, on the whole machine (network namespace).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tcp {
    /// Sent segments.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Retransmissions that only request a late acknowledgement (tail loss probes, RFC 8985). No
    /// request waits for them. 0 in older records, which did not separate them.
    #[serde(default)]
    pub probes: u64,
    /// Connections that found a listener's queue full.
    pub listen_overflows: u64,
    /// Connections that a listener dropped, for that or another reason.
    pub listen_drops: u64,
}

/// Local ports for outgoing connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ports {
    /// TCP sockets in use or in TIME_WAIT, before the measurement.
    pub taken_before: u64,
    /// The same after it, when the generator's connections are closed.
    pub taken_after: u64,
    /// The number of ports (`net.ipv4.ip_local_port_range`).
    pub range: u64,
}

/// The memory of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Memory that is available to programs, the smaller value of before and after.
    pub available_bytes: u64,
    /// All memory.
    pub total_bytes: u64,
    /// Pages that were swapped in or out during the measurement.
    pub swapped_pages: u64,
}
