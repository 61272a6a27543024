//! Pauses the processes of a contender while another contender has the load.
//!
//! Work that a contender puts off, such as compilation or garbage collection, would otherwise take
//! CPU time from the one that has the load. Start with [`Pausable`].

use crate::procfs::{threads, trees};
use crate::start::Running;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::time::Duration;

/// How long a thread may take to run again. It wakes up, returns to what it waited for, and sleeps
/// again: some microseconds.
const RESUMING_THREAD: Duration = Duration::from_micros(10);
/// How long a contender takes to run again, whatever its number of threads.
const RESUMING_LEAST: Duration = Duration::from_millis(1);
const RESUMING_MOST: Duration = Duration::from_millis(20);

/// Processes that can be paused. Dropping it resumes them.
pub struct Pausable {
    /// They name a process even after its number was given to another.
    processes: Vec<OwnedFd>,
    is_paused: bool,
    resuming: Duration,
}

impl Pausable {
    /// The processes of a system with their descendants, as far as they run now; those that begin
    /// later are not paused. There are none of a container, a pod or a service that already ran, or
    /// if not all of them may be signalled.
    pub fn of(running: &Running) -> Pausable {
        Pausable::of_trees(&running.pausable_pids())
    }

    fn of_trees(roots: &[u32]) -> Pausable {
        let pids = trees(roots);
        let number = pids.iter().map(|pid| threads(*pid).len() as u32).sum();
        let resuming = RESUMING_THREAD.saturating_mul(number).clamp(RESUMING_LEAST, RESUMING_MOST);
        let opened: Result<Vec<Option<OwnedFd>>, Errno> = pids.into_iter().map(open).collect();
        let processes = opened.into_iter().flatten().flatten().collect();
        Pausable { processes, is_paused: false, resuming }
    }

    /// None, which nothing pauses.
    pub fn none() -> Pausable {
        Pausable::of_trees(&[])
    }

    /// Whether nothing is paused by it.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Pauses them. Their connections stay open, and the kernel still accepts what arrives.
    pub fn pause(&mut self) {
        self.signal(Signal::STOP);
        self.is_paused = true;
    }

    /// Resumes them, and waits until they run.
    pub fn resume(&mut self) {
        if self.is_paused && !self.is_empty() {
            self.signal(Signal::CONT);
            std::thread::sleep(self.resuming);
        }
        self.is_paused = false;
    }

    fn signal(&self, signal: Signal) {
        for process in &self.processes {
            // A process that has ended needs no signal.
            let _ = pidfd_send_signal(process, signal);
        }
    }
}

/// Opens a process that may be signalled; `None` if it has ended.
fn open(pid: u32) -> Result<Option<OwnedFd>, Errno> {
    let Some(pid) = Pid::from_raw(pid as i32) else { return Ok(None) };
    let opened = pidfd_open(pid, PidfdFlags::empty()).and_then(|process| {
        // It has no effect on a process that runs.
        pidfd_send_signal(&process, Signal::CONT).map(|()| process)
    });
    match opened {
        Err(Errno::SRCH) => Ok(None),
        opened => opened.map(Some),
    }
}

impl Drop for Pausable {
    fn drop(&mut self) {
        if self.is_paused {
            self.signal(Signal::CONT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Clocks;
    use std::process::{Child, Command};

    fn busy() -> Child {
        Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()
    }

    /// Whether a process uses the CPU within half a second.
    fn works(process: &Child) -> bool {
        let clocks = Clocks::of_trees(&[process.id()]);
        let before_ns = clocks.sum_ns();
        std::thread::sleep(Duration::from_millis(500));
        clocks.sum_ns() > before_ns + 1_000_000
    }

    #[test]
    fn paused_process_does_nothing_until_it_is_resumed() {
        let mut child = busy();
        let mut pausable = Pausable::of_trees(&[child.id()]);
        assert!(works(&child) && !pausable.is_empty());
        pausable.pause();
        std::thread::sleep(Duration::from_millis(20));
        assert!(!works(&child));
        pausable.resume();
        assert!(works(&child));
        pausable.pause();
        drop(pausable);
        assert!(works(&child), "nothing stays paused");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn process_that_has_ended_is_no_error() {
        let mut child = busy();
        let mut pausable = Pausable::of_trees(&[child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        pausable.pause();
        pausable.resume();
        assert!(Pausable::of_trees(&[child.id()]).is_empty());
    }
}
