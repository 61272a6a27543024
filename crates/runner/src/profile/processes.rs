//! Follows the processes of all targets while they are sampled, and counts their stacks.
//!
//! The kernel reports each process and thread that begins, gets a name or ends. A child belongs to
//! the target of its parent. The mappings of a process are read when it is first sampled, and
//! again after `execve` and when it runs code in memory that was not mapped then. Start with
//! [`Processes::follow`].

use super::modules::{KERNEL, Modules};
use super::names;
use super::records::{Event, Sample};
use super::spaces::{Cache, DEPTH_MAX, Space, Walked, unknown_place};
use super::stacks::Stacks;
use crate::procfs::is_alive;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most processes that are followed.
const PROCESSES_MAX: usize = 4_096;
/// Names of threads that are remembered.
const THREADS_MAX: usize = 100_000;
/// The shortest time between two readings of the mappings of a process.
const READ_AGAIN: Duration = Duration::from_millis(500);
/// The shortest time between two searches for processes that have ended.
const FORGET_AGAIN: Duration = Duration::from_secs(1);

/// The processes of all targets, with what was sampled of them.
pub(super) struct Processes {
    by_pid: HashMap<u32, Process>,
    /// Numbers of threads' names in [`Stacks::threads`].
    thread_names: HashMap<u32, u32>,
    pub modules: Modules,
    pub stacks: Stacks,
    cache: Cache,
    /// Samples of each target without their outermost functions.
    pub cut: Vec<u64>,
    /// Records that the kernel dropped because a ring was full.
    pub lost: u64,
    /// Processes that were not followed because there were too many.
    pub unfollowed: u64,
    forgot_at: Option<Instant>,
}

struct Process {
    target: usize,
    space: Option<Arc<Space>>,
    /// The mappings must be read again.
    is_stale: bool,
    read_at: Option<Instant>,
}

impl Processes {
    /// Begins with the processes of each target.
    pub fn follow(targets: &[Vec<u32>]) -> Processes {
        let mut processes = Processes {
            by_pid: HashMap::new(),
            thread_names: HashMap::new(),
            modules: Modules::new(),
            stacks: Stacks::default(),
            cache: Cache::new(),
            cut: vec![0; targets.len()],
            lost: 0,
            unfollowed: 0,
            forgot_at: None,
        };
        processes.follow_new(targets);
        let Processes { by_pid, modules, .. } = &mut processes;
        by_pid.iter_mut().for_each(|(pid, process)| process.read(*pid, modules));
        processes
    }

    /// Follows those processes of each target that are not followed yet. Call this once more when
    /// the events are open: they do not report processes that began before.
    pub fn follow_new(&mut self, targets: &[Vec<u32>]) {
        for (target, pids) in targets.iter().enumerate() {
            for pid in pids {
                if !self.by_pid.contains_key(pid) {
                    self.begin(*pid, target, None);
                }
            }
        }
    }

    fn begin(&mut self, pid: u32, target: usize, space: Option<Arc<Space>>) {
        if self.by_pid.len() >= PROCESSES_MAX {
            self.forget_ended();
        }
        if self.by_pid.len() >= PROCESSES_MAX {
            self.unfollowed += 1;
            return;
        }
        let is_stale = space.is_none();
        self.by_pid.insert(pid, Process { target, space, is_stale, read_at: None });
    }

    /// Whether all programs are in Go or on a Java virtual machine, whose code keeps frame pointers
    /// as far as it does at all.
    pub fn keep_frame_pointers(&self) -> bool {
        let spaces = || self.by_pid.values().filter_map(|process| process.space.as_ref());
        spaces().all(|space| space.keeps_frame_pointers(&self.modules)) && spaces().count() > 0
    }

    /// Makes room for new processes, at most once a second.
    fn forget_ended(&mut self) {
        if self.forgot_at.is_none_or(|at| at.elapsed() >= FORGET_AGAIN) {
            self.forgot_at = Some(Instant::now());
            self.by_pid.retain(|pid, _| is_alive(*pid));
        }
    }

    /// Takes note of a new process. Call this with all events before [`Processes::take`]: a child
    /// may run on another CPU, whose ring is read earlier.
    pub fn expect(&mut self, event: &Event) {
        let Event::Forked { pid, parent } = event else { return };
        match self.by_pid.get(parent) {
            Some(process) => {
                let (target, space) = (process.target, process.space.clone());
                self.begin(*pid, target, space);
            }
            // The id of a process that has ended is used again, by another program.
            None => {
                self.by_pid.remove(pid);
            }
        }
    }

    /// Counts a sample, or follows a change.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Sample(sample) => self.count(&sample),
            Event::Renamed { pid, thread, name, executed } => {
                if let Some(process) = self.by_pid.get_mut(&pid) {
                    if executed {
                        (process.space, process.is_stale) = (None, true);
                    }
                    self.name_thread(thread, &name);
                }
            }
            Event::Ended { thread } => {
                self.thread_names.remove(&thread);
            }
            Event::Lost(records) => self.lost = self.lost.saturating_add(records),
            Event::Forked { .. } => {}
        }
    }

    fn count(&mut self, sample: &Sample) {
        let Some(process) = self.by_pid.get_mut(&sample.pid) else { return };
        if process.is_stale {
            process.read(sample.pid, &mut self.modules);
        }
        let mut walked = process.walk(sample, &self.modules, &mut self.cache);
        if walked.is_new_code && process.may_read_again() {
            process.read(sample.pid, &mut self.modules);
            walked = process.walk(sample, &self.modules, &mut self.cache);
        }
        let target = process.target;
        self.cut[target] += u64::from(walked.is_cut);
        let thread = match self.thread_names.get(&sample.thread) {
            Some(number) => *number,
            None => {
                let path = format!("/proc/{}/task/{}/comm", sample.pid, sample.thread);
                let name = std::fs::read(path).unwrap_or_default();
                self.name_thread(sample.thread, name.trim_ascii_end())
            }
        };
        let kernel = sample.kernel.iter().enumerate().map(|(depth, address)| {
            // A return address may be the first of the next function; the call is before it.
            (KERNEL, address.wrapping_sub(u64::from(depth > 0)))
        });
        let places = kernel.chain(walked.places).take(2 * DEPTH_MAX);
        self.stacks.add(target as u32, thread, places);
    }

    fn name_thread(&mut self, thread: u32, name: &[u8]) -> u32 {
        let number = self.stacks.thread(names::thread(name));
        if self.thread_names.len() >= THREADS_MAX {
            self.thread_names.clear();
        }
        self.thread_names.insert(thread, number);
        number
    }
}

impl Process {
    /// Reads its mappings; those from before remain if it has ended.
    fn read(&mut self, pid: u32, modules: &mut Modules) {
        self.read_at = Some(Instant::now());
        self.is_stale = false;
        if let Some(space) = Space::read(pid, modules) {
            self.space = Some(Arc::new(space));
        }
    }

    fn may_read_again(&self) -> bool {
        self.read_at.is_none_or(|at| at.elapsed() >= READ_AGAIN)
    }

    fn walk(&self, sample: &Sample, modules: &Modules, cache: &mut Cache) -> Walked {
        match &self.space {
            Some(space) => space.walk(sample, modules, cache),
            None => {
                let places = unknown_place(sample).into_iter().collect();
                Walked { places, is_cut: false, is_new_code: false }
            }
        }
    }
}
