//! Loads in slices. Each contender has a lane, and the caller decides which lane makes the next
//! slice.
//!
//! All lanes run on one thread. `generator/slices.rs` explains what counts as measured time.

use crate::clock;
use crate::generator::Generator;
use crate::kernel::Kernel;
use crate::measured::Measured;
use crate::plan::{LoadError, Plan};
use crate::run::{OTHER_DESCRIPTORS, allow_descriptors, check_plan};
use crate::schedule::{Schedule, Share};
use crate::sizing::Size;
use spec::experiment::Load;
use std::time::Duration;

pub use crate::generator::slices::Slice;

/// A load between two slices, with its connections open.
pub struct Lane<'a> {
    generator: Generator<'a, Kernel>,
    schedule: Option<Schedule>,
    /// CPU time of the generator within slices, and the duration of slices with leads and drains.
    cpu_ns: u64,
    whole_ns: u64,
}

impl<'a> Lane<'a> {
    /// Opens the connections of loads that alternate. [`Plan::duration`] is the measured time of
    /// all slices of a load together. A load that cannot be made, or not in slices, gives an error; so
    /// do all of them if they need too many descriptors at once.
    pub fn open_all(plans: &'a [Plan<'a>]) -> Vec<Result<Lane<'a>, LoadError>> {
        let connections = |plan: &Plan<'_>| {
            u64::from(Size::of_share(plan.load, plan.target.protocol, Share::WHOLE).connections)
        };
        let all: u64 = plans.iter().map(|plan| connections(plan) + OTHER_DESCRIPTORS).sum();
        let allowed = allow_descriptors(all);
        plans.iter().map(|plan| allowed.clone().and_then(|()| Lane::open(plan))).collect()
    }

    fn open(plan: &'a Plan<'a>) -> Result<Lane<'a>, LoadError> {
        check_plan(plan)?;
        if !can_be_sliced(plan.load) {
            return Err(LoadError::Impossible("this load cannot be made in slices".into()));
        }
        let kernel = Kernel::new().map_err(|e| LoadError::System("epoll_create1", e))?;
        let mut generator = Generator::new(kernel, plan, Share::WHOLE);
        generator.connect();
        let schedule = generator.begin_slices();
        Ok(Lane { generator, schedule, cpu_ns: 0, whole_ns: 0 })
    }

    /// Makes the load for this long, then waits for responses to the requests in flight.
    pub fn slice(&mut self, length: Duration) -> Slice {
        let cpu_before = clock::thread_cpu_ns();
        let slice = self.generator.slice(&mut self.schedule, length.as_nanos() as u64);
        self.cpu_ns += clock::thread_cpu_ns() - cpu_before;
        self.whole_ns += slice.ended_ns.saturating_sub(slice.began_ns);
        slice
    }

    /// Closes the connections. Returns what all slices measured, as if they had followed each
    /// other.
    pub fn end(mut self) -> Measured {
        let mut measured = self.generator.end_slices();
        // Scaled to the measured time, as the duration is.
        let share = measured.duration_ns as f64 / self.whole_ns.max(1) as f64;
        measured.cpu_ns = (self.cpu_ns as f64 * share.min(1.0)) as u64;
        measured.spun_ns = (measured.spun_ns as f64 * share.min(1.0)) as u64;
        measured
    }
}

/// Whether a load can be interrupted and continued. Users pause on their own clocks, and a ramp
/// must run once without interruption.
pub fn can_be_sliced(load: &Load) -> bool {
    match load {
        Load::Closed { .. } => true,
        Load::Arrivals { stages, .. } => stages.is_empty(),
        Load::Users { .. } | Load::Capacity(_) => false,
    }
}

/// Returns how long a slice must be so that each concurrent request of a load is answered often
/// enough. Depends on the service time. At least [`SHORTEST`], at most [`LONGEST`]; longer for a
/// closed load whose responses take more than a fifth of that.
pub fn slice_length(load: &Load, service: Duration) -> Duration {
    match load {
        Load::Arrivals { rate_per_s, .. } => {
            Duration::from_secs_f64((ANSWERS / rate_per_s.max(1e-3)).min(60.0))
                .max(4 * service)
                .clamp(SHORTEST, LONGEST)
        }
        _ => (ROUNDS * service).clamp(SHORTEST, LONGEST.max(ROUNDS_FEWEST * service)),
    }
}

/// Responses of each concurrent request of a closed load in one slice.
const ROUNDS: u32 = 20;
/// The fewest of them. The first round meets an idle service, so its responses come sooner than
/// later ones. The lead, which is not measured, takes two of five.
const ROUNDS_FEWEST: u32 = 5;
/// Responses in one slice of arrivals.
const ANSWERS: f64 = 20.0;
/// Shorter slices would consist mostly of lead and drain.
pub const SHORTEST: Duration = Duration::from_millis(40);
/// In longer slices, bursts of other programs would hit one contender alone.
pub const LONGEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Target, Wait};
    use spec::workload::{Step, Workload};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn lanes_together_may_not_exceed_the_descriptor_limit() {
        let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
        let Some(allowed) = allowed else { return };
        // Each of them alone could be opened.
        let connections = (allowed / 2).min(900_000) as u32;
        let (load, stop) = (Load::closed(connections), AtomicBool::new(false));
        let target = Target::plain("127.0.0.1:1".parse().unwrap());
        let workload = Workload { steps: vec![Step::default()], ..Workload::default() };
        let plan = || Plan {
            target: &target,
            workload: &workload,
            load: &load,
            duration: Duration::from_secs(1),
            requests: None,
            timeout: Duration::from_secs(1),
            seed: 1,
            threads: 1,
            wait: Wait::Asleep,
            stop: &stop,
            progress: None,
        };
        let plans: Vec<Plan<'_>> = (0..=allowed / u64::from(connections)).map(|_| plan()).collect();
        for lane in Lane::open_all(&plans) {
            assert!(matches!(lane, Err(LoadError::Descriptors { .. })));
        }
    }

    #[test]
    fn slice_length_follows_the_service_time() {
        let closed = Load::closed(8);
        let ms = Duration::from_millis;
        assert_eq!(slice_length(&closed, Duration::from_micros(200)), SHORTEST);
        assert_eq!(slice_length(&closed, ms(10)), ms(200));
        assert_eq!(slice_length(&closed, ms(100)), LONGEST);
        assert_eq!(slice_length(&closed, ms(250)), ms(1_250), "the lead has the first round");
    }
}
