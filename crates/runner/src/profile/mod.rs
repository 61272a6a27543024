//! Samples what contenders do with their CPU time: stacks of functions, 499 times per CPU second.
//!
//! The kernel takes the samples (`events`, `ring`, `records`). A thread of ours walks and
//! counts their stacks while they arrive (`processes`, `spaces`, `stacks`). Functions are
//! named at the end, while the processes still run (`naming`, from `modules`, `symbols` and
//! `perf_map`). Nothing is changed in the contender. A Java virtual machine has to list its
//! compiled code at the end, which `hotspot` makes it do. System calls are counted apart from
//! sampling, by `tracer`.
//!
//! Whatever cannot be read becomes a note, never an error: only the start can fail. Memory is
//! bounded by the limits at the top of each file. Start with [`Profiler`].

mod bytes;
mod elf;
mod events;
mod go;
mod hotspot;
mod modules;
mod names;
mod naming;
mod outcome;
mod perf_map;
mod processes;
mod records;
mod ring;
mod spaces;
mod stacks;
mod symbols;
#[cfg(test)]
mod tests;
mod tracer;
mod waits;

use crate::cpus::{allowed, pin_this_thread};
use crate::procfs::{threads, trees};
use crate::usage::trees_cpu_ns;
use events::Events;
use processes::Processes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use waits::Reading;

pub use outcome::Sampled;
pub use tracer::Tracer;

/// Time between two readings of the rings.
const PERIOD: Duration = Duration::from_millis(25);
/// Threads of a process that are asked for the CPUs that they may use.
const THREADS_ASKED: usize = 128;

/// What is sampled together: one contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Processes; all their descendants belong to the target too.
    pub roots: Vec<u32>,
    /// Further processes with their descendants, such as a database of the contender.
    pub others: Vec<u32>,
}

impl Target {
    fn all_roots(&self) -> Vec<u32> {
        [&self.roots[..], &self.others].concat()
    }

    fn pids(&self) -> Vec<u32> {
        let roots = self.all_roots();
        if roots.is_empty() { Vec::new() } else { trees(&roots) }
    }
}

/// The files that the processes of a target write if an option makes them list the code that they
/// generate. Files in containers, which vanish with these, are not among them.
pub fn perf_maps(target: &Target) -> Vec<PathBuf> {
    let is_here = |pid: &u32| perf_map::path_of(*pid).1 == *pid;
    let of_process = |pid| {
        let names = [format!("perf-{pid}.map"), format!("perfinfo-{pid}.map")];
        let maps = names.map(|name| Path::new("/tmp").join(name));
        maps.into_iter().chain(logs_of_node(pid))
    };
    target.pids().into_iter().filter(is_here).flat_map(of_process).collect()
}

/// The log that Node creates next to a perf map, in the folder where it runs.
fn logs_of_node(pid: u32) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_link(format!("/proc/{pid}/cwd")) else { return Vec::new() };
    let is_log =
        |name: &str| name.starts_with("isolate-") && name.ends_with(&format!("-{pid}-v8.log"));
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = files.filter(|file| file.file_name().to_str().is_some_and(is_log));
    logs.map(|file| file.path()).collect()
}

/// Samples targets until it is stopped, on a thread of its own.
pub struct Profiler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sampled>>,
    /// The number of targets.
    targets: usize,
}

impl Profiler {
    /// Starts to sample all targets at once. The profiler's thread runs on `cpus`.
    ///
    /// # Errors
    /// A sentence says what to set if the kernel permits no sampling.
    pub fn start(targets: &[Target], cpus: &[usize]) -> Result<Profiler, String> {
        Profiler::start_with(targets, cpus, Events::open)
    }

    fn start_with(
        targets: &[Target],
        cpus: &[usize],
        open: impl FnOnce(&[usize], &[u32], bool) -> Result<Events, String>,
    ) -> Result<Profiler, String> {
        let pids: Vec<Vec<u32>> = targets.iter().map(Target::pids).collect();
        // Reading the files of large programs takes a while, so it comes before the first sample.
        let mut processes = Processes::follow(&pids);
        let of_targets: Vec<u32> = pids.iter().flatten().flat_map(|pid| threads(*pid)).collect();
        let waits = pids.iter().map(|pids| Reading::take(pids)).collect();
        let events = open(&cpus_of(&pids), &of_targets, processes.keep_frame_pointers())?;
        processes.follow_new(&targets.iter().map(Target::pids).collect::<Vec<_>>());
        let cpu_ns = targets.iter().map(|target| trees_cpu_ns(&target.all_roots())).collect();
        let course = Course { targets: targets.to_vec(), processes, waits, cpu_ns, events };
        let (stop, stopped) = channel();
        let cpus = cpus.to_vec();
        let thread = std::thread::spawn(move || {
            // Without permission to pin the thread, it runs on any CPU.
            let _ = pin_this_thread(&cpus);
            let mut course = course;
            loop {
                match stopped.recv_timeout(PERIOD) {
                    Err(RecvTimeoutError::Timeout) => course.read_rings(),
                    Ok(()) => return course.finish(),
                    // The profiler was dropped, so that its samples are of no use.
                    Err(RecvTimeoutError::Disconnected) => return Vec::new(),
                }
            }
        });
        Ok(Profiler { stop, thread, targets: targets.len() })
    }

    /// Stops, and returns what was sampled of each target, in the same order. Call this while the
    /// processes still run, so that compiled code can be named.
    pub fn stop(self) -> Vec<Sampled> {
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| {
            let notes = vec!["The profiler failed, and its samples are lost.".to_owned()];
            vec![Sampled { notes, ..Sampled::default() }; self.targets]
        })
    }
}

/// The CPUs that processes may use. Other programs run there too, but fewer than elsewhere.
fn cpus_of(pids: &[Vec<u32>]) -> Vec<usize> {
    let threads =
        pids.iter().flatten().flat_map(|pid| threads(*pid).into_iter().take(THREADS_ASKED));
    let cpus: BTreeSet<usize> =
        threads.filter_map(|thread| allowed(Some(thread))).flatten().collect();
    let online = std::thread::available_parallelism().map_or(1, usize::from);
    match cpus.is_empty() {
        true => (0..online).collect(),
        false => cpus.into_iter().collect(),
    }
}

/// Sampling under way.
struct Course {
    targets: Vec<Target>,
    processes: Processes,
    /// The counts of each target at the start.
    waits: Vec<Reading>,
    /// CPU time of each target at the start.
    cpu_ns: Vec<u64>,
    events: Events,
}

impl Course {
    fn read_rings(&mut self) {
        let rings = self.events.rings.iter_mut().map(|ring| {
            let mut words = Vec::new();
            ring.take(&mut words);
            words
        });
        let rings: Vec<Vec<u64>> = rings.collect();
        for words in &rings {
            records::Events::new(words).for_each(|event| self.processes.expect(&event));
        }
        for words in &rings {
            records::Events::new(words).for_each(|event| self.processes.take(event));
        }
    }

    fn finish(mut self) -> Vec<Sampled> {
        let cpu_ns = self
            .targets
            .iter()
            .zip(&self.cpu_ns)
            .map(|(target, first)| trees_cpu_ns(&target.all_roots()).saturating_sub(*first));
        let cpu_ns: Vec<u64> = cpu_ns.collect();
        self.read_rings();
        let Course { targets, processes, waits, events, .. } = self;
        let notes = events.notes.clone();
        drop(events);
        let waits = targets
            .iter()
            .zip(waits)
            .map(|(target, first)| first.until(&Reading::take(&target.pids())));
        let waits: Vec<_> = waits.collect();
        let mut sampled = outcome::of(&processes, targets.len(), &notes);
        for ((sampled, cpu_ns), (waits, notes)) in sampled.iter_mut().zip(cpu_ns).zip(waits) {
            (sampled.cpu_ns, sampled.waits) = (cpu_ns, waits);
            sampled.notes.extend(notes);
        }
        sampled
    }
}
