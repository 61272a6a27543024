//! Samples the CPU time, memory, threads and descriptors of process trees while a load runs.
//!
//! Start with [`Sampler`].

use crate::circumstances::mhz;
use crate::cpus::allowed;
use crate::procfs::{Reader, cpu_ns, descriptors, threads, trees};
use record::{Descriptors, Usage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between samples.
const PERIOD_NS: u64 = 100_000_000;

/// Number of samples after which the tree is searched again.
const SEARCH_AGAIN: usize = 10;

/// With more threads than this, context switches are read only when the tree is searched. One file
/// per thread is too much ten times a second.
const THREADS_MANY: u64 = 128;

/// CPU time of a process and all its descendants, in nanoseconds. For descendants that have ended
/// it is known in ticks, once their parent has waited for them.
pub fn tree_cpu_ns(root: u32) -> u64 {
    trees_cpu_ns(&[root])
}

/// CPU time of several processes and their descendants.
pub fn trees_cpu_ns(roots: &[u32]) -> u64 {
    let mut reader = Reader::default();
    let mut of =
        |pid: u32| cpu_ns(pid).unwrap_or(0) + reader.stat(pid).map_or(0, |stat| stat.reaped_ns);
    trees(roots).into_iter().map(&mut of).sum()
}

/// The CPU clocks of the processes that run now, to be read often. Processes that begin later are
/// not included.
pub struct Clocks {
    pids: Vec<u32>,
}

impl Clocks {
    /// The clocks of processes with their descendants.
    pub fn of_trees(roots: &[u32]) -> Clocks {
        Clocks { pids: if roots.is_empty() { Vec::new() } else { trees(roots) } }
    }

    /// The sum of all clocks, in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.pids.iter().filter_map(|pid| cpu_ns(*pid)).sum()
    }
}

/// Samples processes with their descendants until it is stopped, on a thread of its own.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Usage>,
}

impl Sampler {
    /// Takes the first reading before it returns. The usage of `others` counts as well, but the
    /// CPUs that they may use are not recorded. The sampler runs on `cpus`.
    pub fn start(roots: &[u32], others: &[u32], cpus: &[usize]) -> Sampler {
        let (stop, stopped) = channel();
        let cpus = cpus.to_vec();
        let mut watch = Watch::new(roots.to_vec(), others.to_vec());
        let begin = load::clock::now_ns();
        watch.sample(begin, false);
        let thread = std::thread::spawn(move || {
            // Without permission to pin the thread, it runs on any CPU.
            let _ = crate::cpus::pin_this_thread(&cpus);
            for tick in 1.. {
                let due = begin + tick * PERIOD_NS;
                let left = Duration::from_nanos(due.saturating_sub(load::clock::now_ns()));
                match stopped.recv_timeout(left) {
                    Err(RecvTimeoutError::Timeout) => watch.sample(load::clock::now_ns(), false),
                    _ => break,
                }
            }
            watch.find_processes();
            watch.sample(load::clock::now_ns(), true);
            watch.finish()
        });
        Sampler { stop, thread }
    }

    /// Takes the last reading.
    pub fn stop(self) -> Usage {
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

/// The first and the last reading of one process.
#[derive(Clone, Copy, Default)]
struct Seen {
    cpu_first: u64,
    cpu_last: u64,
    system_first: u64,
    system_last: u64,
    switches_first: (u64, u64),
    switches_last: (u64, u64),
}

struct Watch {
    roots: Vec<u32>,
    others: Vec<u32>,
    reader: Reader,
    alive: Vec<u32>,
    seen: BTreeMap<u32, Seen>,
    /// Limits of descriptors, by process.
    limits: BTreeMap<u32, u64>,
    allowed: BTreeSet<usize>,
    begin_ns: u64,
    usage: Usage,
}

impl Watch {
    fn new(roots: Vec<u32>, others: Vec<u32>) -> Watch {
        let mut watch = Watch {
            roots,
            others,
            reader: Reader::default(),
            alive: Vec::new(),
            seen: BTreeMap::new(),
            limits: BTreeMap::new(),
            allowed: BTreeSet::new(),
            begin_ns: 0,
            usage: Usage::default(),
        };
        watch.find_processes();
        watch
    }

    /// Searches for the processes of the tree. A process that appears later began within the
    /// measurement, so it counts from zero.
    fn find_processes(&mut self) {
        let is_first = self.seen.is_empty();
        self.alive = trees(&self.roots);
        let others = trees(&self.others);
        self.alive.extend(&others);
        for pid in &self.alive {
            if !self.seen.contains_key(pid) {
                let (cpu, system, switches) = if is_first {
                    let system = self.reader.stat(*pid).map_or(0, |s| s.system_ns);
                    (cpu_ns(*pid).unwrap_or(0), system, self.reader.switches(*pid))
                } else {
                    (0, 0, (0, 0))
                };
                let seen = Seen {
                    cpu_first: cpu,
                    cpu_last: cpu,
                    system_first: system,
                    system_last: system,
                    switches_first: switches,
                    switches_last: switches,
                };
                self.seen.insert(*pid, seen);
            }
            // Limits and CPUs can be changed at any time.
            if let Some(limit) = self.reader.descriptor_limit(*pid) {
                self.limits.insert(*pid, limit);
            }
            if others.contains(pid) {
                continue;
            }
            for thread in threads(*pid).into_iter().take(THREADS_MANY as usize) {
                self.allowed.extend(allowed(Some(thread)).unwrap_or_default());
            }
        }
    }

    fn sample(&mut self, now_ns: u64, is_last: bool) {
        let count = self.usage.t_ns.len();
        if count == 0 {
            self.begin_ns = now_ns;
        } else if count.is_multiple_of(SEARCH_AGAIN) {
            self.find_processes();
        }
        let (mut rss, mut threads, mut open) = (0, 0, 0);
        let many = self.usage.threads_max > THREADS_MANY;
        for pid in &self.alive {
            let seen = self.seen.get_mut(pid).expect("find_processes has seen every process");
            // A process that ended meanwhile keeps its last reading.
            seen.cpu_last = cpu_ns(*pid).unwrap_or(seen.cpu_last).max(seen.cpu_last);
            if let Some(stat) = self.reader.stat(*pid) {
                seen.system_last = stat.system_ns;
                threads += stat.threads;
            }
            rss += self.reader.resident_bytes(*pid).unwrap_or(0);
            let theirs = descriptors(*pid).unwrap_or(0);
            open += theirs;
            if let Some(limit) = self.limits.get(pid) {
                keep_fullest(
                    &mut self.usage.descriptors,
                    Descriptors { open: theirs, limit: *limit },
                );
            }
            if !many || count.is_multiple_of(SEARCH_AGAIN) {
                let switches = self.reader.switches(*pid);
                // Switches of threads that ended are missing from the sum, so keep it from falling.
                seen.switches_last =
                    (switches.0.max(seen.switches_last.0), switches.1.max(seen.switches_last.1));
            }
        }
        // The last reading comes after the load.
        if !is_last && (count == 1 || (count > 0 && count.is_multiple_of(SEARCH_AGAIN))) {
            let allowed: Vec<usize> = self.allowed.iter().copied().collect();
            self.usage.mhz_at.extend(mhz(&allowed));
        }
        let usage = &mut self.usage;
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(u64::MAX);
        keep_fullest(
            &mut usage.generator_descriptors,
            Descriptors { open: descriptors(std::process::id()).unwrap_or(0), limit },
        );
        usage.t_ns.push(now_ns - self.begin_ns);
        usage.cpu_ns_at.push(self.seen.values().map(|s| s.cpu_last - s.cpu_first).sum());
        usage.rss_bytes_at.push(rss);
        usage.threads_at.push(threads);
        usage.descriptors_at.push(open);
        let switches = |s: &Seen| {
            (s.switches_last.0 - s.switches_first.0) + (s.switches_last.1 - s.switches_first.1)
        };
        usage.switches_at.push(self.seen.values().map(switches).sum());
        usage.rss_max_bytes = usage.rss_max_bytes.max(rss);
        usage.threads_max = usage.threads_max.max(threads);
        usage.descriptors_max = usage.descriptors_max.max(open);
    }

    fn finish(mut self) -> Usage {
        let usage = &mut self.usage;
        usage.cpu_ns = usage.cpu_ns_at.last().copied().unwrap_or(0);
        usage.wall_ns = usage.t_ns.last().copied().unwrap_or(0);
        usage.system_ns =
            self.seen.values().map(|s| s.system_last.saturating_sub(s.system_first)).sum();
        usage.switches_voluntary =
            self.seen.values().map(|s| s.switches_last.0 - s.switches_first.0).sum();
        usage.switches_involuntary =
            self.seen.values().map(|s| s.switches_last.1 - s.switches_first.1).sum();
        usage.allowed_cpus = self.allowed.into_iter().collect();
        usage.rss_peak_bytes =
            self.alive.iter().filter_map(|pid| self.reader.peak_resident_bytes(*pid)).sum();
        self.usage
    }
}

fn keep_fullest(fullest: &mut Option<Descriptors>, now: Descriptors) {
    let share = |d: Descriptors| d.open as f64 / d.limit.max(1) as f64;
    if fullest.is_none_or(|before| share(now) > share(before)) {
        *fullest = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_process_and_its_idle_child_are_sampled() {
        let sampler = Sampler::start(&[std::process::id()], &[], &crate::cpus::usable());
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let begin = load::clock::thread_cpu_ns();
        while load::clock::thread_cpu_ns() - begin < 300_000_000 {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
        let usage = sampler.stop();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(usage.cpu_ns >= 300_000_000, "{usage:?}");
        assert!(
            usage.t_ns.len() >= 3 && usage.t_ns.is_sorted() && usage.cpu_ns_at.is_sorted(),
            "{usage:?}"
        );
        assert_eq!(usage.allowed_cpus, crate::cpus::usable());
        assert!(usage.descriptors.is_some_and(|d| d.open >= 3 && d.open <= d.limit), "{usage:?}");
        assert!(
            usage.rss_max_bytes > 0
                && usage.threads_max >= 2
                && usage.rss_peak_bytes > 0
                && usage.descriptors_max >= 3,
            "{usage:?}"
        );
    }
}
