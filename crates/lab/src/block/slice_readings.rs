//! Readings of one contender while several share the load of a cell in slices.

use crate::trial::setup::Setup;
use load::slices::Lane;
use record::{Slices, Usage};
use runner::energy::Meter;
use runner::start::Running;
use runner::usage::Clocks;
use std::time::Duration;

/// Readings of one contender's slices.
pub(super) struct SliceReadings<'a> {
    /// Energy of the whole machine within the slices.
    pub energy: Meter<'a>,
    contender: Clocks,
    backends: Option<Clocks>,
    pub slices: Slices,
    /// CPU time of the upstream or database within the contender's slices.
    backends_ns: u64,
    /// Begin and end of each slice.
    pub spans: Vec<(u64, u64)>,
    /// CPU time of the contender at the end of its last slice.
    last_ns: u64,
}

impl<'a> SliceReadings<'a> {
    /// Begins to read, for slices of this length.
    pub fn begin(setup: &Setup<'a>, running: &Running, length: Duration) -> SliceReadings<'a> {
        let contender = Clocks::of_trees(&[running.pids(), running.forwarders()].concat());
        let backends = setup.upstream.map(|pid| Clocks::of_trees(&[pid]));
        let last_ns = contender.sum_ns();
        let slices = Slices { length_ns: length.as_nanos() as u64, ..Slices::default() };
        SliceReadings {
            energy: Meter::new(setup.energy),
            contender,
            backends,
            slices,
            backends_ns: 0,
            spans: Vec::new(),
            last_ns,
        }
    }

    fn backends_now(&self) -> u64 {
        self.backends.as_ref().map_or(0, Clocks::sum_ns)
    }

    /// Makes one slice of the load of a measurement that began at this time.
    pub fn take(&mut self, began_ns: u64, lane: &mut Lane<'_>) {
        let (before_ns, backends_before_ns) = (self.contender.sum_ns(), self.backends_now());
        self.energy.begin();
        let slice = lane.slice(Duration::from_nanos(self.slices.length_ns));
        self.energy.end();
        let after_ns = self.contender.sum_ns();
        self.backends_ns += self.backends_now().saturating_sub(backends_before_ns);
        let slices = &mut self.slices;
        slices.at_ns.push(slice.began_ns.saturating_sub(began_ns));
        slices.measured_ns.push(slice.measured_ns);
        slices.correct.push((1e3 * slice.correct).round() / 1e3);
        slices.cpu_ns.push(after_ns.saturating_sub(before_ns));
        slices.idle_cpu_ns.push(before_ns.saturating_sub(self.last_ns));
        slices.whole_ns += slice.ended_ns.saturating_sub(slice.began_ns);
        self.spans.push((slice.began_ns, slice.ended_ns));
        self.last_ns = after_ns;
    }

    /// CPU time of the contender, in its slices and between them.
    pub fn cpu_ns(&self) -> u64 {
        self.slices.cpu_ns.iter().chain(&self.slices.idle_cpu_ns).sum()
    }

    /// How long a slice took on average after its load had ended.
    pub fn mean_drain(&self) -> Duration {
        let count = self.spans.len().max(1) as u64;
        let whole = Duration::from_nanos(self.slices.whole_ns / count);
        whole.saturating_sub(Duration::from_nanos(self.slices.length_ns))
    }

    /// CPU time of the upstream or database for a measurement of this length; `None` if there is
    /// neither. Slices end later than the measured time, so only a share of it counts.
    pub fn backends_ns(&self, measured_ns: u64) -> Option<u64> {
        let share = measured_ns as f64 / self.slices.whole_ns.max(1) as f64;
        self.backends.as_ref().map(|_| (self.backends_ns as f64 * share.min(1.0)) as u64)
    }
}

/// Moves the samples of a process to a time axis that consists of its slices only.
pub(super) fn to_slice_time(usage: &mut Usage, spans: &[(u64, u64)], since_ns: u64, whole_ns: u64) {
    let within =
        |at_ns: u64| spans.iter().map(|(from, to)| at_ns.clamp(*from, *to) - from).sum::<u64>();
    for at in &mut usage.t_ns {
        *at = within(since_ns + *at);
    }
    usage.wall_ns = whole_ns.max(1);
    usage.signs.wall_ns = usage.signs.wall_ns.min(usage.wall_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_between_slices_move_to_the_edge_of_a_slice() {
        let mut usage =
            Usage { t_ns: vec![0, 50, 120, 230, 400], wall_ns: 400, ..Usage::default() };
        to_slice_time(&mut usage, &[(1_000, 1_100), (1_200, 1_300)], 1_000, 200);
        assert_eq!((usage.t_ns, usage.wall_ns), (vec![0, 50, 100, 130, 200], 200));
    }
}
