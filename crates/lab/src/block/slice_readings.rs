//! Readings of one contender while several share the load of a cell in slices. Between its slices
//! it is paused, if it can be.

use crate::trial::setup::Setup;
use load::slices::Lane;
use record::{Slices, Usage};
use runner::energy::Meter;
use runner::pause::Pausable;
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
    pausable: Pausable,
}

impl<'a> SliceReadings<'a> {
    /// Begins to read, for slices of this length. A contender that is profiled is not paused: it
    /// would switch threads more often.
    pub fn begin(setup: &Setup<'a>, running: &Running, length: Duration) -> SliceReadings<'a> {
        let contender = Clocks::of_trees(&[running.pids(), running.forwarders()].concat());
        let backends = setup.upstream.map(|pid| Clocks::of_trees(&[pid]));
        let last_ns = contender.sum_ns();
        let pausable = match setup.sampling {
            Some(_) => Pausable::none(),
            None => Pausable::of(running),
        };
        let slices = Slices {
            length_ns: length.as_nanos() as u64,
            paused: !pausable.is_empty(),
            neighbours_within_ns: Some(0),
            ..Slices::default()
        };
        SliceReadings {
            energy: Meter::new(setup.energy),
            contender,
            backends,
            slices,
            backends_ns: 0,
            spans: Vec::new(),
            last_ns,
            pausable,
        }
    }

    /// Pauses the contender until its first slice. What it did so far, such as accepting
    /// connections, is not what it puts off.
    pub fn begin_rounds(&mut self) {
        self.last_ns = self.now_ns();
        self.pausable.pause();
    }

    /// Resumes the contender after its last slice.
    pub fn resume(&mut self) {
        self.pausable.resume();
    }

    /// CPU time of the contender so far.
    pub fn now_ns(&self) -> u64 {
        self.contender.sum_ns()
    }

    fn backends_now(&self) -> u64 {
        self.backends.as_ref().map_or(0, Clocks::sum_ns)
    }

    /// Makes one slice of the load of a measurement that began at this time.
    pub fn take(&mut self, began_ns: u64, lane: &mut Lane<'_>) {
        self.pausable.resume();
        let (before_ns, backends_before_ns) = (self.now_ns(), self.backends_now());
        self.energy.begin();
        let slice = lane.slice(Duration::from_nanos(self.slices.length_ns));
        self.energy.end();
        let after_ns = self.now_ns();
        self.pausable.pause();
        let idle_ns = if self.slices.paused { 0 } else { before_ns.saturating_sub(self.last_ns) };
        self.backends_ns += self.backends_now().saturating_sub(backends_before_ns);
        let slices = &mut self.slices;
        slices.at_ns.push(slice.began_ns.saturating_sub(began_ns));
        slices.measured_ns.push(slice.measured_ns);
        slices.correct.push((1e3 * slice.correct).round() / 1e3);
        slices.cpu_ns.push(after_ns.saturating_sub(before_ns));
        slices.idle_cpu_ns.push(idle_ns);
        slices.whole_ns += slice.ended_ns.saturating_sub(slice.began_ns);
        self.spans.push((slice.began_ns, slice.ended_ns));
        self.last_ns = after_ns;
    }

    /// What a process used in slices, from its usage since this instant. During that usage its CPU
    /// clock advanced by `clock_ns`.
    pub fn usage_in_slices(&self, mut usage: Usage, since_ns: u64, clock_ns: u64) -> Usage {
        if usage.is_known() {
            to_slice_time(&mut usage, &self.spans, since_ns, self.slices.whole_ns);
            if self.slices.paused {
                let within_ns: u64 = self.slices.cpu_ns.iter().sum();
                without(&mut usage, clock_ns.saturating_sub(within_ns));
            }
        }
        usage
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
fn to_slice_time(usage: &mut Usage, spans: &[(u64, u64)], since_ns: u64, whole_ns: u64) {
    let within =
        |at_ns: u64| spans.iter().map(|(from, to)| at_ns.clamp(*from, *to) - from).sum::<u64>();
    for at in &mut usage.t_ns {
        *at = within(since_ns + *at);
    }
    usage.wall_ns = whole_ns.max(1);
    usage.signs.wall_ns = usage.signs.wall_ns.min(usage.wall_ns);
}

/// Removes the CPU time that a process used outside its slices, mostly to be paused and resumed. It
/// is spread evenly over the samples, and over programs and kernel.
fn without(usage: &mut Usage, outside_ns: u64) {
    let counted_ns = usage.cpu_ns.saturating_sub(outside_ns);
    let share = counted_ns as f64 / usage.cpu_ns.max(1) as f64;
    for ns in usage.cpu_ns_at.iter_mut().chain([&mut usage.system_ns]) {
        *ns = (*ns as f64 * share) as u64;
    }
    usage.cpu_ns = counted_ns;
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

    #[test]
    fn cpu_time_outside_slices_is_removed() {
        let mut usage =
            Usage { cpu_ns: 500, system_ns: 200, cpu_ns_at: vec![0, 100, 500], ..Usage::default() };
        without(&mut usage, 100);
        assert_eq!((usage.cpu_ns, usage.system_ns), (400, 160));
        assert_eq!(usage.cpu_ns_at, [0, 80, 400]);
    }
}
