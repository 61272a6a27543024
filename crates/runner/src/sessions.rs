//! Samples a database while a load runs.
//!
//! A database has a process per session, a hundred or more, which share most of their memory. So it
//! is sampled less often than other systems, and shared memory counts once.

use crate::procfs::{Reader, descendants};
use crate::usage::tree_cpu_ns;
use record::database::DatabaseUsage;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between samples.
const PERIOD: Duration = Duration::from_secs(1);

/// Samples the processes of a database until it is stopped, on a thread of its own.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<DatabaseUsage>,
}

impl Sampler {
    /// Takes the first reading before it returns. The sampler runs on these CPUs.
    pub fn start(root: u32, cpus: &[usize]) -> Sampler {
        let (stop, stopped) = channel();
        let cpus = cpus.to_vec();
        let begin_ns = load::clock::now_ns();
        let mut used = DatabaseUsage::default();
        let before = tree_cpu_ns(root);
        sample(&mut used, root, before, begin_ns);
        let thread = std::thread::spawn(move || {
            // Without permission to pin the thread, it runs on any CPU.
            let _ = crate::cpus::pin_this_thread(&cpus);
            loop {
                let is_last =
                    !matches!(stopped.recv_timeout(PERIOD), Err(RecvTimeoutError::Timeout));
                sample(&mut used, root, before, begin_ns);
                if is_last {
                    return used;
                }
            }
        });
        Sampler { stop, thread }
    }

    /// Takes the last reading.
    pub fn stop(self) -> DatabaseUsage {
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

fn sample(used: &mut DatabaseUsage, root: u32, before: u64, begin_ns: u64) {
    let mut reader = Reader::default();
    let (mut own, mut shared, mut processes) = (0, 0, 0);
    for (resident, of_all) in
        std::iter::once(root).chain(descendants(root)).filter_map(|pid| reader.memory_bytes(pid))
    {
        own += resident.saturating_sub(of_all);
        shared = of_all.max(shared);
        processes += 1;
    }
    // CPU time of processes that have ended is only known in ticks, so the sum could fall slightly.
    used.cpu_ns = tree_cpu_ns(root).saturating_sub(before).max(used.cpu_ns);
    used.wall_ns = load::clock::now_ns().saturating_sub(begin_ns);
    used.memory_max_bytes = used.memory_max_bytes.max(own + shared);
    used.processes_max = used.processes_max.max(processes);
    used.t_ns.push(used.wall_ns);
    used.cpu_ns_at.push(used.cpu_ns);
    used.memory_bytes_at.push(own + shared);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_of_sessions_counts_once() {
        let mut children: Vec<_> = (0..3)
            .map(|_| std::process::Command::new("sleep").arg("20").spawn().unwrap())
            .collect();
        let sampler = Sampler::start(std::process::id(), &crate::cpus::usable());
        let begin = load::clock::thread_cpu_ns();
        while load::clock::thread_cpu_ns() - begin < 100_000_000 {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
        let used = sampler.stop();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(used.cpu_ns >= 100_000_000 && used.processes_max >= 4, "{used:?}");
        assert!(
            used.t_ns.len() >= 2
                && used.t_ns.is_sorted()
                && used.cpu_ns_at.is_sorted()
                && used.wall_ns > 0,
            "{used:?}"
        );
        let mut reader = Reader::default();
        let (resident, shared) = reader.memory_bytes(std::process::id()).unwrap();
        assert!(
            shared > 0 && shared <= resident && used.memory_max_bytes > shared,
            "{used:?}, {resident}, {shared}"
        );
    }
}
