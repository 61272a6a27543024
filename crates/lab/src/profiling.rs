//! Samples the stacks of contenders while a cell is measured, in blocks that are not judged.
//!
//! Sampling must cover the same time as the readings of CPU time, so that both can be compared.
//! Where a kernel forbids it, the run goes on, and says once what to set. [`Sampling`] is created
//! for a block; [`Sampling::begin`] and [`Sampling::end`] enclose a load. A short load follows, in
//! which [`Sampling::trace`] has system calls counted. Once a contender has stopped,
//! [`Sampling::read_log`] adds the pauses of its garbage collector. Contenders that started with
//! options of their runtimes have a note, and the files that these made them write are removed at
//! the end.

use crate::{pauses, profiled_environment};
use load::Measured;
use record::{Measurement, Profile, SampledLoad, TracedLoad};
use runner::profile::{Profiler, Target, Tracer, perf_maps};
use runner::start::Running;
use spec::name::ContenderName;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the system calls of a contender are counted at most.
const TRACED: Duration = Duration::from_secs(1);

/// Begin and end of each time in which a contender had the load (CLOCK_MONOTONIC, ns).
pub(crate) type Spans = Vec<(u64, u64)>;

const NO_RESPONSE: &str =
    "System calls are not counted: no correct response arrived while they were traced.";

/// What the measurements of one profiled block gave.
pub(crate) struct Sampling {
    /// The number of the profiled block, from 1.
    block: u32,
    /// Contenders that started with options of their runtimes.
    with_options: BTreeSet<ContenderName>,
    /// The files that their processes may have written.
    maps: RefCell<BTreeSet<PathBuf>>,
    /// Each profile with the time of its load.
    profiles: RefCell<Vec<(Profile, Spans)>>,
    /// Why nothing could be sampled.
    refused: RefCell<Option<String>>,
    /// Why system calls could not be counted. Each reason is noted once in a run.
    untraced: RefCell<BTreeSet<String>>,
}

impl Sampling {
    /// Collects the samples of a profiled block. `earlier` are the profiles of blocks before it.
    /// The contenders `with_options` started with options of their runtimes.
    pub fn of_block(
        block: u32,
        earlier: &[Profile],
        with_options: BTreeSet<ContenderName>,
    ) -> Sampling {
        let noted = earlier.iter().flat_map(|profile| profile.notes.iter().cloned()).collect();
        Sampling {
            block,
            with_options,
            maps: RefCell::default(),
            profiles: RefCell::default(),
            refused: RefCell::default(),
            untraced: RefCell::new(noted),
        }
    }

    /// Returns the profiles of the block, or why there is none. Call this when the contenders have
    /// ended.
    pub fn into_profiles(self) -> Result<Vec<Profile>, String> {
        for map in self.maps.into_inner() {
            // Most processes have written none.
            let _ = std::fs::remove_file(map);
        }
        let profiles = self.profiles.into_inner().into_iter().map(|(profile, _)| profile);
        match self.refused.into_inner() {
            Some(why) => Err(why),
            None => Ok(profiles.collect()),
        }
    }

    /// Begins to sample contenders whose processes run on this machine. The sampler itself runs on
    /// the generator's CPUs.
    pub fn begin(&self, running: &[&Running], cpus: &[usize]) -> Option<Profiler> {
        let targets: Vec<Target> = running.iter().map(|running| target(running)).collect();
        if !self.with_options.is_empty() {
            self.maps.borrow_mut().extend(targets.iter().flat_map(perf_maps));
        }
        let begun = match targets.iter().all(|target| target.roots.is_empty()) {
            true => Err("no process of a contender is on this machine".to_owned()),
            false => Profiler::start(&targets, cpus),
        };
        match begun {
            Ok(profiler) => Some(profiler),
            Err(why) => {
                self.refused.borrow_mut().get_or_insert(why);
                None
            }
        }
    }

    /// Ends sampling, and keeps what was sampled of each contender that has a measurement, with the
    /// time of its load. Takes them in the order in which sampling began.
    pub fn end<'m>(
        &self,
        profiler: Profiler,
        measured: impl Iterator<Item = (&'m ContenderName, Option<&'m Measurement>, Spans)>,
    ) {
        for (sampled, (contender, measurement, spans)) in profiler.stop().into_iter().zip(measured)
        {
            let Some(measurement) = measurement.filter(|m| m.usage.is_known()) else { continue };
            let mut notes = sampled.notes;
            if self.with_options.contains(contender) {
                notes.extend(profiled_environment::note(&sampled.frames));
            }
            let mut profiles = self.profiles.borrow_mut();
            // A measurement that was repeated replaces the first one.
            profiles.retain(|(p, _)| p.contender != *contender || p.cell != measurement.cell);
            let profile = Profile {
                contender: contender.clone(),
                block: self.block,
                cell: measurement.cell.clone(),
                period_ns: sampled.period_ns,
                cpu_ns: sampled.cpu_ns,
                correct: measurement.counts.correct,
                load: Some(load_of(measurement)),
                lost: sampled.lost,
                frames: sampled.frames,
                stacks: sampled.stacks,
                waits: sampled.waits,
                notes,
            };
            profiles.push((profile, spans));
        }
    }

    /// Has the system calls of a contender counted while `make_load` runs, if it was sampled in
    /// this cell.
    pub fn trace(
        &self,
        (contender, running): (&ContenderName, &Running),
        cell: &str,
        make_load: impl FnOnce() -> Option<Measured>,
    ) {
        let mut profiles = self.profiles.borrow_mut();
        let is_it = |(p, _): &&mut (Profile, Spans)| p.contender == *contender && p.cell == cell;
        let Some((profile, _)) = profiles.iter_mut().find(is_it) else { return };
        let counted = Tracer::attach(&target(running)).and_then(|tracer| {
            let measured = make_load().filter(|measured| measured.counts.correct > 0);
            let calls = tracer.stop()?;
            Ok((calls, measured.ok_or(NO_RESPONSE)?))
        });
        match counted {
            Ok((calls, measured)) => {
                profile.waits.system_calls = calls;
                profile.waits.traced = Some(TracedLoad {
                    correct: measured.counts.correct,
                    duration_ns: measured.duration_ns,
                });
            }
            Err(why) => {
                let is_new = self.untraced.borrow_mut().insert(why.clone());
                profile.notes.extend(is_new.then_some(why));
            }
        }
    }

    /// Adds up the pauses in the log of a contender that has stopped. It was started at
    /// `began_ns`.
    pub fn read_log(&self, contender: &ContenderName, log: &Path, began_ns: u64) {
        for (profile, spans) in self.profiles.borrow_mut().iter_mut() {
            if profile.contender == *contender {
                profile.waits.pauses = pauses::pauses_within(log, began_ns, spans);
            }
        }
    }
}

/// How long the system calls of a contender are counted in a cell that is measured this long.
pub(crate) fn traced_for(measure: Duration) -> Duration {
    measure.min(TRACED)
}

fn target(running: &Running) -> Target {
    Target { roots: running.pids(), others: running.forwarders() }
}

fn load_of(measurement: &Measurement) -> SampledLoad {
    let response = measurement.latency.as_ref().unwrap_or(&measurement.service);
    SampledLoad {
        duration_ns: measurement.duration_ns,
        response_ns: response.mean_ns().round() as u64,
    }
}
