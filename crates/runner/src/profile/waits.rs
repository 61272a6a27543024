//! What processes do besides using a CPU: waiting for one, context switches, page faults.
//!
//! The kernel counts for each thread since its start. A [`Reading`] has all counts at one moment,
//! and [`Reading::until`] is the difference of two. A thread that began in between counts from
//! zero, and the counts of one that ended are unknown.

use crate::procfs::{Reader, threads};
use record::Waits;
use std::collections::HashMap;

/// Most threads of a target that are read.
const THREADS_MAX: usize = 2_000;

/// The counts of a target's processes and threads at one moment.
#[derive(Default)]
pub(super) struct Reading {
    threads: HashMap<u32, Thread>,
    /// Minor and major page faults, by process.
    faults: HashMap<u32, (u64, u64)>,
    /// The number of threads, also of those that were not read.
    number: usize,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    run_queue_ns: Option<u64>,
    voluntary: u64,
    involuntary: u64,
}

impl Reading {
    /// Reads the counts of these processes.
    pub fn take(pids: &[u32]) -> Reading {
        let mut reader = Reader::default();
        let mut reading = Reading::default();
        for pid in pids {
            reading.faults.extend(reader.page_faults(*pid).map(|faults| (*pid, faults)));
            let threads = threads(*pid);
            reading.number += threads.len();
            let room = THREADS_MAX.saturating_sub(reading.threads.len());
            for thread in threads.into_iter().take(room) {
                let (voluntary, involuntary) = reader.thread_switches(*pid, thread);
                let times = reader.thread_times(*pid, thread);
                let run_queue_ns = times.map(|(_, waited)| waited);
                reading.threads.insert(thread, Thread { run_queue_ns, voluntary, involuntary });
            }
        }
        reading
    }

    /// What happened from this reading to a later one, with notes if not all was read.
    pub fn until(&self, later: &Reading) -> (Waits, Vec<String>) {
        let mut waits = Waits::default();
        for (thread, last) in &later.threads {
            let first = self.threads.get(thread).copied().unwrap_or_default();
            if let Some(last) = last.run_queue_ns {
                let waited = last.saturating_sub(first.run_queue_ns.unwrap_or(0));
                *waits.run_queue_ns.get_or_insert(0) += waited;
            }
            waits.voluntary_switches += last.voluntary.saturating_sub(first.voluntary);
            waits.involuntary_switches += last.involuntary.saturating_sub(first.involuntary);
        }
        for (pid, last) in &later.faults {
            let first = self.faults.get(pid).copied().unwrap_or_default();
            waits.minor_faults += last.0.saturating_sub(first.0);
            waits.major_faults += last.1.saturating_sub(first.1);
        }
        let mut notes = Vec::new();
        if later.number > later.threads.len() {
            notes.push(format!(
                "Waiting times and context switches are those of {} threads; there were {}.",
                later.threads.len(),
                later.number
            ));
        }
        let is_gone = |thread: &&u32| !later.threads.contains_key(thread);
        let ended = self.threads.keys().filter(is_gone).count();
        // Of too many threads, one that is not there may only not have been read.
        if notes.is_empty() && ended > 0 {
            notes.push(format!(
                "Waiting times and context switches lack those of threads that ended meanwhile: \
                 {ended}."
            ));
        }
        (waits, notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_between_two_readings_counts() {
        let own = [std::process::id()];
        let first = Reading::take(&own);
        // So large that the allocator always maps new memory, whose pages fault.
        let mut memory = Vec::<u8>::with_capacity(40 << 20);
        memory.resize(1 << 20, 1);
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let (waits, _) = first.until(&Reading::take(&own));
        assert!(std::hint::black_box(memory).len() == 1 << 20);
        assert!(waits.voluntary_switches >= 5, "{waits:?}");
        assert!(waits.minor_faults >= 1, "{waits:?}");
        assert!(waits.run_queue_ns.is_some(), "{waits:?}");
        let (none, notes) = first.until(&first);
        assert_eq!(notes, Vec::<String>::new());
        let counts = [none.voluntary_switches, none.involuntary_switches, none.minor_faults];
        assert_eq!(counts, [0, 0, 0]);
    }

    #[test]
    fn missing_threads_are_noted() {
        let later = Reading { number: 10_000, ..Reading::default() };
        let (waits, notes) = Reading::default().until(&later);
        assert_eq!(waits, Waits::default());
        assert!(notes[0].contains("there were 10000"), "{notes:?}");
        let threads = (1..4).map(|thread| (thread, Thread::default())).collect();
        let first = Reading { threads, number: 3, ..Reading::default() };
        assert_eq!(first.until(&later).1, notes, "not read is not ended");
        let (_, notes) = first.until(&Reading::default());
        assert!(notes[0].contains("ended meanwhile: 3."), "{notes:?}");
    }
}
