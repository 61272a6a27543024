//! A process under a guard.

use crate::guard::{MARK, Order, User};
use model::system::StopSignal;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// What to run, and how it is confined.
pub struct Spec<'a> {
    /// The command.
    pub command: &'a [String],
    /// Where it runs.
    pub folder: &'a Path,
    /// Added to the environment.
    pub env: &'a BTreeMap<String, String>,
    /// The CPUs it may use; empty for all.
    pub cpus: &'a [usize],
    /// Most descriptors; `None` leaves the limit as it is.
    pub descriptors: Option<u64>,
    /// Where its output goes, appended.
    pub log: &'a Path,
    /// Who runs it; `None` for whoever runs faceoff.
    pub user: Option<User>,
    /// The run's id.
    pub run: &'a str,
}

/// A process that runs, with all that it started. Dropping it kills them all.
pub struct Process {
    guard: Child,
    orders: Option<ChildStdin>,
    news: Receiver<News>,
    /// Its process id.
    pub pid: u32,
    /// When it was started (CLOCK_MONOTONIC, ns).
    pub started_ns: u64,
    ended: Option<Ended>,
    orphans: u32,
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
    /// How many processes it left behind, which were then killed.
    pub orphans: u32,
    /// How many of its processes the kernel had killed for want of memory, where a limit is its own.
    pub memory_kills: u64,
}

/// Why a command did not do what it was started for.
pub(crate) enum NotDone {
    /// It could not be started: the cause.
    NotStarted(String),
    /// It ended otherwise than with 0: how.
    Ended(String),
    /// It was told to end.
    Interrupted,
    /// It took too long.
    Late,
}

/// Runs a command to its end, until an instant (CLOCK_MONOTONIC, ns) at most.
///
/// # Errors
/// Whatever is not an end with 0 in time; nothing of it runs any more then.
pub(crate) fn run(spec: &Spec<'_>, deadline_ns: u64, stop: &AtomicBool) -> Result<(), NotDone> {
    let mut process = Process::start(spec).map_err(NotDone::NotStarted)?;
    loop {
        if let Some(ended) = process.await_end(Duration::from_millis(50)) {
            return if ended.status == "exit 0" { Ok(()) } else { Err(NotDone::Ended(ended.status.clone())) };
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
    /// In words, when the program is not there or may not be run.
    pub fn start(spec: &Spec<'_>) -> Result<Process, String> {
        let order = Order { cpus: spec.cpus, descriptors: spec.descriptors, user: spec.user, log: spec.log, command: spec.command };
        let program = &spec.command[0];
        // The running binary itself, even when its file has been replaced meanwhile.
        let mut guard = Command::new("/proc/self/exe")
            .args(order.arguments())
            .current_dir(spec.folder)
            // With it a system could have other machines load whatever they reach.
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
        let mut process = Process { guard, orders, news, pid: 0, started_ns: 0, ended: None, orphans: 0, log: spec.log.to_owned() };
        match process.news.recv_timeout(Duration::from_secs(10)) {
            Ok(News::Started(pid, started_ns)) => {
                (process.pid, process.started_ns) = (pid, started_ns);
                Ok(process)
            }
            Ok(News::Failed(cause)) => Err(format!("{program} cannot be started: {cause}")),
            _ => Err(format!("{program} cannot be started: its guard says nothing")),
        }
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<&Ended> {
        self.await_end(Duration::ZERO)
    }

    /// Waits for its end, at most so long.
    pub fn await_end(&mut self, most: Duration) -> Option<&Ended> {
        let deadline = load::clock::now_ns() + most.as_nanos() as u64;
        while self.ended.is_none() {
            let left = Duration::from_nanos(deadline.saturating_sub(load::clock::now_ns()));
            match self.news.recv_timeout(left) {
                Ok(News::Ended(ended)) => self.ended = Some(ended),
                Ok(News::Orphans(count)) => self.orphans = count,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => self.ended = Some(Ended { status: "lost with its guard".into() }),
            }
        }
        self.ended.as_ref()
    }

    fn order(&mut self, line: &str) {
        if let Some(orders) = &mut self.orders {
            // A guard that is gone has told so.
            let _ = orders.write_all(line.as_bytes()).and_then(|()| orders.flush());
        }
    }

    /// Asks it to end, and kills it after a deadline, with all that it left behind.
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
        self.release();
        // The guard tells of orphans after the end, before it ends itself.
        while let Ok(news) = self.news.recv_timeout(Duration::from_secs(1)) {
            if let News::Orphans(count) = news {
                self.orphans = count;
            }
        }
        Stop { ended, took_ns, killed, orphans: self.orphans, memory_kills: 0 }
    }

    /// Lets the guard clear up, and waits until it is gone.
    fn release(&mut self) {
        self.orders = None;
        let _ = self.guard.wait();
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines it wrote.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        last_lines(&self.log, most)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.release();
    }
}

/// The signal as the kernel knows it.
pub(crate) fn as_signal(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Quit => Signal::QUIT,
        StopSignal::Usr1 => Signal::USR1,
    }
}

/// The last lines of a file, of at most 64 KiB of it; terminal colours removed.
pub fn last_lines(path: &Path, most: usize) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut bytes = Vec::new();
    if let Ok(mut file) = std::fs::File::open(path) {
        let length = file.metadata().map(|m| m.len()).unwrap_or(0);
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(64 << 10)));
        let _ = file.take(64 << 10).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(without_colours).filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].to_vec()
}

/// Drops `ESC [ ... letter` sequences.
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
    fn colours_are_dropped() {
        assert_eq!(without_colours("[\x1b[1;31mERROR\x1b[m] x"), "[ERROR] x");
    }
}
