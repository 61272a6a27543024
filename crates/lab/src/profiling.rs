//! Samples the stacks of contenders while a cell is measured, in blocks that are not judged.
//!
//! Sampling must cover the same time as the readings of CPU time, so that both can be compared.
//! Where a kernel forbids it, the run goes on, and says once what to set. [`Sampling`] is created
//! for a block; [`Sampling::begin`] and [`Sampling::end`] enclose a load. Contenders that started
//! with options of their runtimes have a note, and the files that these made them write are removed
//! at the end.

use crate::profiled_environment;
use record::{Measurement, Profile};
use runner::profile::{Profiler, Target, perf_maps};
use runner::start::Running;
use spec::name::ContenderName;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What the measurements of one profiled block gave.
pub(crate) struct Sampling {
    /// The number of the profiled block, from 1.
    block: u32,
    /// Contenders that started with options of their runtimes.
    with_options: BTreeSet<ContenderName>,
    /// The files that their processes may have written.
    maps: RefCell<BTreeSet<PathBuf>>,
    profiles: RefCell<Vec<Profile>>,
    /// Why nothing could be sampled.
    refused: RefCell<Option<String>>,
}

impl Sampling {
    /// Collects the samples of a profiled block, in which these contenders started with options of
    /// their runtimes.
    pub fn of_block(block: u32, with_options: BTreeSet<ContenderName>) -> Sampling {
        Sampling {
            block,
            with_options,
            maps: RefCell::default(),
            profiles: RefCell::default(),
            refused: RefCell::default(),
        }
    }

    /// Returns the profiles of the block, or why there is none. Call this when the contenders have
    /// ended.
    pub fn into_profiles(self) -> Result<Vec<Profile>, String> {
        for map in self.maps.into_inner() {
            // Most processes have written none.
            let _ = std::fs::remove_file(map);
        }
        match self.refused.into_inner() {
            Some(why) => Err(why),
            None => Ok(self.profiles.into_inner()),
        }
    }

    /// Begins to sample contenders whose processes run on this machine. The sampler itself runs on
    /// the generator's CPUs.
    pub fn begin(&self, running: &[&Running], cpus: &[usize]) -> Option<Profiler> {
        let targets: Vec<Target> = running
            .iter()
            .map(|running| Target { roots: running.pids(), others: running.forwarders() })
            .collect();
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

    /// Ends sampling, and keeps what was sampled of each contender that has a measurement. Takes
    /// them in the order in which sampling began.
    pub fn end<'m>(
        &self,
        profiler: Profiler,
        measured: impl Iterator<Item = (&'m ContenderName, Option<&'m Measurement>)>,
    ) {
        for (sampled, (contender, measurement)) in profiler.stop().into_iter().zip(measured) {
            let Some(measurement) = measurement.filter(|m| m.usage.is_known()) else { continue };
            let mut notes = sampled.notes;
            if self.with_options.contains(contender) {
                notes.extend(profiled_environment::note(&sampled.frames));
            }
            let mut profiles = self.profiles.borrow_mut();
            // A measurement that was repeated replaces the first one.
            profiles.retain(|p| p.contender != *contender || p.cell != measurement.cell);
            profiles.push(Profile {
                contender: contender.clone(),
                block: self.block,
                cell: measurement.cell.clone(),
                period_ns: sampled.period_ns,
                cpu_ns: sampled.cpu_ns,
                correct: measurement.counts.correct,
                lost: sampled.lost,
                frames: sampled.frames,
                stacks: sampled.stacks,
                waits: sampled.waits,
                notes,
            });
        }
    }
}
