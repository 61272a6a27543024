//! What the processes of a contender used during a measurement.
//!
//! A sampler reads the whole process tree about ten times a second. [`Usage`] has the samples in
//! columns with their sums; [`Signs`] has counters that hint at causes.

use serde::{Deserialize, Serialize};

/// Samples of a whole process tree, in columns, and the sums over the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// CPU time between the first and the last reading, to the nanosecond.
    pub cpu_ns: u64,
    /// The kernel's share of it, in its 10 ms ticks.
    pub system_ns: u64,
    /// Time between the first and the last reading.
    pub wall_ns: u64,
    /// The largest sampled sum of resident memory. Pages that processes share count for each.
    pub rss_max_bytes: u64,
    /// The largest resident memory since the start, according to the kernel (sum of VmHWM).
    pub rss_peak_bytes: u64,
    /// The most threads.
    pub threads_max: u64,
    /// The most open descriptors.
    pub descriptors_max: u64,
    /// Voluntary context switches of living threads over the measurement.
    pub switches_voluntary: u64,
    /// Involuntary context switches, likewise.
    pub switches_involuntary: u64,
    /// Instants of the samples, from the start of the measurement.
    pub t_ns: Vec<u64>,
    /// CPU time since the first sample.
    pub cpu_ns_at: Vec<u64>,
    /// Resident memory at each sample.
    pub rss_bytes_at: Vec<u64>,
    /// Threads at each sample.
    pub threads_at: Vec<u64>,
    /// Open descriptors at each sample.
    pub descriptors_at: Vec<u64>,
    /// Context switches of both kinds since the first sample.
    pub switches_at: Vec<u64>,
    /// Counters that hint at causes, read before and after the measurement.
    #[serde(default)]
    pub signs: Signs,
    /// The process that was nearest to its limit of descriptors.
    #[serde(default)]
    pub descriptors: Option<Descriptors>,
    /// Descriptors of faceoff itself, which sends the requests.
    #[serde(default)]
    pub generator_descriptors: Option<Descriptors>,
    /// Every CPU that a process or thread of the tree was allowed to run on, as seen about once a
    /// second.
    #[serde(default)]
    pub allowed_cpus: Vec<usize>,
    /// The mean frequency of these CPUs in MHz, about once a second; empty if it cannot be read.
    #[serde(default)]
    pub mhz_at: Vec<f64>,
}

impl Usage {
    /// Returns whether there was a process to watch. Nothing is known about a service that was
    /// already running.
    pub fn is_known(&self) -> bool {
        self.wall_ns > 0
    }

    /// Returns the mean number of CPUs that were used.
    pub fn cpus_used(&self) -> f64 {
        self.cpu_ns as f64 / self.wall_ns.max(1) as f64
    }

    /// Returns the CPU time, in nanoseconds, of each of the first `most` windows of this length, as
    /// far as there are samples. Between two samples, use is assumed to be even.
    pub fn cpu_of_windows(&self, window_ns: u64, most: usize) -> Vec<f64> {
        let (times, values) = (&self.t_ns, &self.cpu_ns_at);
        let until = |ns: u64| {
            let next = times.partition_point(|t| *t < ns);
            let (after, cpu) = (*times.get(next)?, *values.get(next)? as f64);
            let (before, cpu_before) =
                (times[next.saturating_sub(1)], values[next.saturating_sub(1)] as f64);
            let share =
                ns.saturating_sub(before) as f64 / after.saturating_sub(before).max(1) as f64;
            Some(if after > before { cpu_before + (cpu - cpu_before) * share } else { cpu })
        };
        let marks: Vec<f64> =
            (0..=most as u64).map_while(|mark| until(mark.saturating_mul(window_ns))).collect();
        marks.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect()
    }
}

/// What changed from directly before a measurement to directly after it; `None` if it cannot be
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signs {
    /// Time between the two readings.
    pub wall_ns: u64,
    /// CPU time of the busiest thread, running or ready to run.
    pub busiest_thread_ns: Option<u64>,
    /// How long that thread was ready to run and waited for a CPU.
    pub busiest_thread_waited_ns: Option<u64>,
    /// How long all other threads ran or waited for a CPU, in total.
    pub other_threads_wanted_ns: Option<u64>,
    /// Bytes that the process tree wrote to its standard output and error.
    pub output_bytes: Option<u64>,
    /// Bytes that it wrote to files on disks (counted by the kernel in pages).
    pub disk_bytes: Option<u64>,
    /// The effect of its CPU quota.
    pub quota: Option<Quota>,
    /// Counters of its own control group, which containers have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupUsage>,
}

/// Counters of a control group, including processes that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupUsage {
    /// CPU time, which the kernel updates at its ticks.
    pub cpu_ns: u64,
    /// The most memory since its start, including cached files. This is what a limit applies to.
    pub memory_max_bytes: Option<u64>,
    /// The number of its processes that were killed because memory ran out.
    pub memory_kills: u64,
}

/// The effect of a CPU quota: that of the process's control group, or of a parent that delayed it
/// longer. For several pods, the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quota {
    /// Periods of the quota in which it ran.
    pub periods: u64,
    /// Periods in which it was stopped until their end.
    pub throttled_periods: u64,
    /// How long it was stopped, in total over CPUs.
    pub throttled_ns: u64,
}

/// The descriptors of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Descriptors {
    /// The most open descriptors.
    pub open: u64,
    /// The limit of open descriptors.
    pub limit: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_windows_is_read_between_samples() {
        let usage = |t_ns: &[u64], cpu: &[u64]| Usage {
            t_ns: t_ns.into(),
            cpu_ns_at: cpu.into(),
            ..Usage::default()
        };
        let usual = usage(&[0, 50, 150, 210], &[0, 10, 30, 90]);
        assert_eq!(
            usual.cpu_of_windows(100, 9),
            [20.0, 60.0],
            "no window without a sample at or after its end"
        );
        assert_eq!(usual.cpu_of_windows(100, 1), [20.0]);
        assert_eq!(
            usage(&[60, 100], &[7, 9]).cpu_of_windows(100, 1),
            [2.0],
            "nothing is known before the first"
        );
        assert!(
            usage(&[], &[]).cpu_of_windows(100, 3).is_empty()
                && usage(&[0, 500], &[1]).cpu_of_windows(100, 3).is_empty()
        );
    }
}
