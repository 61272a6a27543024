//! The guard: the process between faceoff and a system.
//!
//! It adopts every process that the system leaves (child subreaper), and forwards signals. It ends
//! everything when its standard input closes, which happens when faceoff dies by any signal. If the
//! guard itself is killed, the kernel kills the system (parent-death signal).
//!
//! It reads commands from standard input, one per line (`signal 15`, `kill`). It reports events on
//! standard output (`started PID NS`, `failed CAUSE`, `ended STATUS`, `orphans N`).

use crate::cpus::set_of;
use crate::procfs::{descendants, is_alive};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, wait,
};
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The first argument of the faceoff command when it runs as a guard.
pub const ARGUMENT: &str = "__guard";

/// The environment variable that marks every descendant of a system with the run's id.
pub const MARK: &str = "FACEOFF_RUN";

/// How long processes that a system left may take to end by themselves.
const GRACE: Duration = Duration::from_millis(200);
/// Pause between two looks at which processes run.
const PAUSE: Duration = Duration::from_millis(5);

/// The user of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub user: u32,
    /// Group id. The user is in no other group.
    pub group: u32,
}

impl User {
    fn parse(text: &str) -> Option<User> {
        let (user, group) = text.split_once(':')?;
        Some(User { user: user.parse().ok()?, group: group.parse().ok()? })
    }
}

/// What a guard must do. Everything is in its arguments, so that `ps` shows it.
pub(crate) struct Order<'a> {
    pub cpus: &'a [usize],
    pub descriptors: Option<u64>,
    pub user: Option<User>,
    pub log: &'a std::path::Path,
    pub command: &'a [String],
}

impl Order<'_> {
    pub fn arguments(&self) -> Vec<String> {
        let cpus: Vec<String> = self.cpus.iter().map(ToString::to_string).collect();
        let descriptors = self.descriptors.map(|n| n.to_string()).unwrap_or_default();
        let user =
            self.user.map(|User { user, group }| format!("{user}:{group}")).unwrap_or_default();
        let log = self.log.to_string_lossy().into_owned();
        [ARGUMENT.to_owned(), cpus.join(","), descriptors, user, log]
            .into_iter()
            .chain(self.command.iter().cloned())
            .collect()
    }
}

/// Runs as a guard. `arguments` are those after [`ARGUMENT`].
pub fn main(arguments: &[String]) -> ExitCode {
    let [cpus, descriptors, user, log, command @ ..] = arguments else { return ExitCode::from(2) };
    let [program, rest @ ..] = command else { return ExitCode::from(2) };
    // In a session of its own, so that Ctrl-C at the terminal reaches faceoff only.
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"faceoff-guard");
    let _ = set_child_subreaper(Pid::from_raw(1));
    let mut child = Command::new(program);
    let open_log = || std::fs::File::options().append(true).create(true).open(log);
    let (Ok(out), Ok(err)) = (open_log(), open_log()) else {
        println!("failed the log {log} cannot be written");
        return ExitCode::FAILURE;
    };
    child.args(rest).stdin(Stdio::null()).stdout(out).stderr(err);
    match User::parse(user) {
        Some(User { user, group }) => drop(child.gid(group).uid(user)),
        None if user.is_empty() => {}
        None => return ExitCode::from(2),
    }
    confine(&mut child, cpus, descriptors);
    let before = load::clock::now_ns();
    let child = match child.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            println!("failed {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("started {} {before}", child.as_raw_pid());
    // The main thread waits. It must outlive the system, whose parent-death signal depends on it.
    std::thread::spawn(move || obey(child));
    await_end(child)
}

/// Has a child die with this process, and limits its CPUs and its descriptors.
fn confine(child: &mut Command, cpus: &str, descriptors: &str) {
    let set = set_of(&cpus.split(',').filter_map(|c| c.parse().ok()).collect::<Vec<usize>>());
    let has_cpus = !cpus.is_empty();
    let descriptors: Option<u64> = descriptors.parse().ok();
    let me = rustix::process::getpid();
    // The parent-death signal is set last, as a change of the user would reset it.
    // SAFETY: between fork and exec only system calls are made; nothing is allocated or locked.
    unsafe {
        child.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() != Some(me) {
                return Err(std::io::Error::other("the guard is gone"));
            }
            if has_cpus {
                rustix::thread::sched_setaffinity(None, &set)?;
            }
            if let Some(most) = descriptors {
                setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: Some(most) })?;
            }
            Ok(())
        });
    }
}

/// Waits until the system and everything that it left have ended.
fn await_end(child: Pid) -> ExitCode {
    let mut is_reported = false;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                report(&format!("ended {}", describe(status)));
                is_reported = true;
                let orphans = count_orphans();
                report(&format!("orphans {orphans}"));
                if orphans > 0 {
                    kill_all();
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No child remains.
            Err(_) => {
                if !is_reported {
                    report("ended lost");
                }
                return ExitCode::SUCCESS;
            }
        }
    }
}

/// Counts the processes that the system left and that do not end by themselves within [`GRACE`]. A
/// helper often ends when the pipe to its parent closes.
fn count_orphans() -> usize {
    let give_up_at = load::clock::now_ns() + GRACE.as_nanos() as u64;
    loop {
        let left = living_descendants().len();
        if left == 0 || load::clock::now_ns() >= give_up_at {
            return left;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The descendants that run. Those that have ended and wait to be reaped are not among them.
fn living_descendants() -> Vec<u32> {
    descendants(std::process::id()).into_iter().filter(|pid| is_alive(*pid)).collect()
}

/// Reports an event to faceoff, which may be gone.
fn report(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Obeys the commands on standard input. Its end means that faceoff is gone.
fn obey(child: Pid) {
    for line in std::io::stdin().lock().lines() {
        let number =
            line.as_deref().ok().and_then(|line| line.strip_prefix("signal ")?.parse().ok());
        match number.and_then(Signal::from_named_raw) {
            Some(signal) => drop(kill_process(child, signal)),
            None => kill_all(),
        }
    }
    kill_all();
}

/// Kills every descendant, including those that start meanwhile.
fn kill_all() {
    for _ in 0..200 {
        let alive = living_descendants();
        for pid in &alive {
            if let Some(pid) = Pid::from_raw(*pid as i32) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if alive.is_empty() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "lost".into(),
    }
}
