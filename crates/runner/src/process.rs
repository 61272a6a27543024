//! A process that runs under a guard.
//!
//! The guard ends it with all its descendants, also when faceoff is killed. [`Process`] talks to
//! the guard, and `run` runs a command to its end.

use crate::guard::{MARK, Order, User};
use rustix::process::Signal;
use spec::system::StopSignal;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Number of lines of a log that a failure quotes.
pub const LOG_LINES: usize = 20;

/// A command, and the limits that it runs with.
pub struct Spec<'a> {
    /// The command.
    pub command: &'a [String],
    /// Its folder.
    pub folder: &'a Path,
    /// Variables to add to the environment.
    pub env: &'a BTreeMap<String, String>,
    /// The CPUs that it may use; empty for all.
    pub cpus: &'a [usize],
    /// Maximum number of descriptors; `None` leaves the limit as it is.
    pub descriptors: Option<u64>,
    /// File that its output is appended to.
    pub log: &'a Path,
    /// The user who runs it; `None` for the user of faceoff.
    pub user: Option<User>,
    /// The run's id.
    pub run: &'a str,
}

/// A running process with all its descendants. Dropping it kills them all.
pub struct Process {
    guard: Child,
    orders: Option<ChildStdin>,
    news: Receiver<News>,
    /// Its process id.
    pub pid: u32,
    /// When it was started (CLOCK_MONOTONIC, ns).
    pub started_ns: u64,
    ended: Option<Ended>,
    log: PathBuf,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// `exit 0`, `signal 9`.
    pub status: String,
}

/// How a process was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// How it ended.
    pub ended: Ended,
    /// How long that took.
    pub took_ns: u64,
    /// Whether it had to be killed.
    pub killed: bool,
    /// Number of processes that it left, which were then killed.
    pub orphans: u32,
    /// Number of its processes that the kernel killed for lack of memory, if it has a limit of its
    /// own.
    pub memory_kills: u64,
}

/// Why a command did not succeed.
pub(crate) enum NotDone {
    /// It could not be started, for this cause.
    NotStarted(String),
    /// It ended with this status, which is not 0.
    Ended(String),
    /// It was asked to stop.
    Interrupted,
    /// It took too long.
    Late,
}

/// Runs a command to its end, at most until an instant (CLOCK_MONOTONIC, ns).
///
/// # Errors
/// Every result but an exit with 0 in time. Nothing of it runs afterwards.
pub(crate) fn run(spec: &Spec<'_>, deadline_ns: u64, stop: &AtomicBool) -> Result<(), NotDone> {
    let mut process = Process::start(spec).map_err(NotDone::NotStarted)?;
    loop {
        if let Some(ended) = process.await_end(Duration::from_millis(50)) {
            return if ended.status == "exit 0" {
                Ok(())
            } else {
                Err(NotDone::Ended(ended.status.clone()))
            };
        }
        if stop.load(Ordering::Relaxed) {
            return Err(NotDone::Interrupted);
        }
        if load::clock::now_ns() > deadline_ns {
            return Err(NotDone::Late);
        }
    }
}

enum News {
    Started(u32, u64),
    Failed(String),
    Ended(Ended),
    Orphans(u32),
}

fn parse_news(line: &str) -> Option<News> {
    let (word, rest) = line.split_once(' ')?;
    match word {
        "started" => {
            let (pid, ns) = rest.split_once(' ')?;
            Some(News::Started(pid.parse().ok()?, ns.parse().ok()?))
        }
        "failed" => Some(News::Failed(rest.into())),
        "ended" => Some(News::Ended(Ended { status: rest.into() })),
        "orphans" => Some(News::Orphans(rest.parse().ok()?)),
        _ => None,
    }
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    /// A program that does not exist or may not be run.
    pub fn start(spec: &Spec<'_>) -> Result<Process, String> {
        let order = Order {
            cpus: spec.cpus,
            descriptors: spec.descriptors,
            user: spec.user,
            log: spec.log,
            command: spec.command,
        };
        let program = &spec.command[0];
        // The running binary itself, even if its file has been replaced meanwhile.
        let mut guard = Command::new("/proc/self/exe")
            .args(order.arguments())
            .current_dir(spec.folder)
            // With this token, a system could have other machines load any server that they reach.
            .env_remove(load::agents::TOKEN_VARIABLE)
            .envs(spec.env)
            .env(MARK, spec.run)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{program} cannot be started: {e}"))?;
        let orders = guard.stdin.take();
        let out = BufReader::new(guard.stdout.take().expect("stdout is a pipe"));
        let (sender, news) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if parse_news(&line).is_none_or(|news| sender.send(news).is_err()) {
                    return;
                }
            }
        });
        let mut process = Process {
            guard,
            orders,
            news,
            pid: 0,
            started_ns: 0,
            ended: None,
            log: spec.log.to_owned(),
        };
        match process.news.recv_timeout(Duration::from_secs(10)) {
            Ok(News::Started(pid, started_ns)) => {
                (process.pid, process.started_ns) = (pid, started_ns);
                Ok(process)
            }
            Ok(News::Failed(cause)) => Err(format!("{program} cannot be started: {cause}")),
            _ => Err(format!("{program} cannot be started: its guard does not report")),
        }
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<&Ended> {
        self.await_end(Duration::ZERO)
    }

    /// Waits for its end, at most this long.
    pub fn await_end(&mut self, most: Duration) -> Option<&Ended> {
        let deadline = load::clock::now_ns() + most.as_nanos() as u64;
        while self.ended.is_none() {
            let left = Duration::from_nanos(deadline.saturating_sub(load::clock::now_ns()));
            match self.news.recv_timeout(left) {
                Ok(News::Ended(ended)) => self.ended = Some(ended),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = Some(Ended { status: "lost with its guard".into() })
                }
            }
        }
        self.ended.as_ref()
    }

    fn order(&mut self, line: &str) {
        if let Some(orders) = &mut self.orders {
            // A guard that is gone has reported the end.
            let _ = orders.write_all(line.as_bytes()).and_then(|()| orders.flush());
        }
    }

    /// Asks it to end, and kills it after a deadline, with everything that it left.
    pub fn stop(mut self, signal: StopSignal, within: Duration) -> Stop {
        let begin = load::clock::now_ns();
        if self.ended().is_none() {
            self.order(&format!("signal {}\n", as_signal(signal).as_raw()));
        }
        let mut killed = false;
        if self.await_end(within).is_none() {
            killed = true;
            self.order("kill\n");
            self.await_end(Duration::from_secs(10));
        }
        let ended = self.ended.clone().unwrap_or(Ended { status: "still there after KILL".into() });
        let took_ns = load::clock::now_ns() - begin;
        let orphans = self.await_orphans();
        self.release();
        Stop { ended, took_ns, killed, orphans, memory_kills: 0 }
    }

    /// Waits for the number of processes that it left. The guard reports it soon after the end. If
    /// it were released before, it would kill them uncounted.
    fn await_orphans(&self) -> u32 {
        while let Ok(news) = self.news.recv_timeout(Duration::from_secs(1)) {
            if let News::Orphans(count) = news {
                return count;
            }
        }
        0
    }

    /// Has the guard kill everything, and waits until it is gone.
    fn release(&mut self) {
        self.orders = None;
        let _ = self.guard.wait();
    }

    /// File with its output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines that it wrote.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        last_lines(&self.log, most)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.release();
    }
}

/// The kernel's name of a signal.
pub(crate) fn as_signal(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Quit => Signal::QUIT,
        StopSignal::Usr1 => Signal::USR1,
    }
}

/// The last lines of a file, from at most 64 KiB of it, without terminal colours.
pub fn last_lines(path: &Path, most: usize) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut bytes = Vec::new();
    if let Ok(mut file) = std::fs::File::open(path) {
        let length = file.metadata().map(|m| m.len()).unwrap_or(0);
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(64 << 10)));
        let _ = file.take(64 << 10).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> =
        text.lines().map(without_colours).filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}

/// Removes `ESC [ ... letter` sequences.
pub(crate) fn without_colours(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\x1b[") {
        kept.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        rest = after.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &after[end + 1..]);
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_from_a_line() {
        assert_eq!(without_colours("[\x1b[1;31mERROR\x1b[m] x"), "[ERROR] x");
    }
}
