//! Counts the system calls of a contender, and the time within them, with the program `strace`.
//!
//! Tracepoints of the kernel would cost less, but mostly only root may read their numbers, and not
//! in a container. strace stops a thread at the begin and the end of each call. So the contender
//! is slower meanwhile, which the caller must measure.
//!
//! strace must never stay behind. SIGINT has it release all threads and print a table. If it does
//! not end, it is killed, and the kernel releases them. The kernel also kills it when faceoff is
//! gone. Start with [`Tracer::attach`].

use super::Target;
use record::SystemCall;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long strace may take to attach to all threads.
const ATTACH_WITHIN: Duration = Duration::from_secs(10);
/// How long strace may take to release all threads and to end.
const END_WITHIN: Duration = Duration::from_secs(10);
/// The most processes that are traced.
const PROCESSES_MAX: usize = 500;
/// Lines of strace that are kept. Programs with short threads have two for each thread.
const LINES_MAX: usize = 20_000;
/// Longer times are a mistake: eleven days.
const LONGEST_S: f64 = 1e6;

const NOT_INSTALLED: &str =
    "System calls are not counted, because strace is not installed. Install the package `strace`.";
const NOT_PERMITTED: &str = "System calls are not counted, because strace may not trace this process. Run faceoff as \
     root, give its container the capability SYS_PTRACE, or run `sysctl kernel.yama.ptrace_scope=0`.";

/// strace, attached to all threads of a target. Dropping it ends strace and releases the threads.
pub struct Tracer {
    strace: Child,
    /// What strace prints, line by line.
    lines: Receiver<String>,
}

impl Tracer {
    /// Attaches strace to all threads of a target and to those that begin later.
    ///
    /// # Errors
    /// A sentence says what to do if strace is not installed or not permitted.
    pub fn attach(target: &Target) -> Result<Tracer, String> {
        Tracer::attach_with("strace", target)
    }

    fn attach_with(program: &str, target: &Target) -> Result<Tracer, String> {
        let mut pids = target.pids();
        pids.truncate(PROCESSES_MAX);
        let mut command = Command::new(program);
        command.args(["-f", "-c", "-w"]);
        command.args(pids.iter().flat_map(|pid| ["-p".to_owned(), pid.to_string()]));
        // In another language, numbers have a comma.
        command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: between fork and exec only a system call is made; nothing is allocated or locked.
        unsafe {
            command.pre_exec(|| {
                set_parent_process_death_signal(Some(Signal::KILL)).map_err(Into::into)
            });
        }
        let mut strace = command.stderr(Stdio::piped()).spawn().map_err(|e| match e.kind() {
            ErrorKind::NotFound => NOT_INSTALLED.to_owned(),
            _ => not_counted(&format!("strace cannot be started: {e}")),
        })?;
        let lines = lines_of(strace.stderr.take().expect("stderr is a pipe"));
        let tracer = Tracer { strace, lines };
        tracer.await_attached(&pids).map(|()| tracer)
    }

    /// Waits until strace has reported for each process that it is attached, or why it is not.
    fn await_attached(&self, pids: &[u32]) -> Result<(), String> {
        let deadline = Instant::now() + ATTACH_WITHIN;
        let (mut reported, mut attached, mut last) = (0, 0, String::new());
        while reported < pids.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else { break };
            match attachment(&line) {
                Some(is_attached) => {
                    reported += 1;
                    attached += usize::from(is_attached);
                }
                None => continue,
            }
            last = line;
        }
        match () {
            () if attached > 0 => Ok(()),
            () if last.contains("not permitted") || last.contains("denied") => {
                Err(NOT_PERMITTED.to_owned())
            }
            () if last.is_empty() => Err(not_counted("strace did not attach")),
            () => Err(not_counted(&last)),
        }
    }

    /// Ends strace, which releases all threads, and returns the calls that it counted, most
    /// frequent first.
    ///
    /// # Errors
    /// A sentence says why nothing was counted.
    pub fn stop(self) -> Result<Vec<SystemCall>, String> {
        if let Some(pid) = Pid::from_raw(self.strace.id() as i32) {
            // It may have ended with the last process.
            let _ = kill_process(pid, Signal::INT);
        }
        let deadline = Instant::now() + END_WITHIN;
        let mut text = String::new();
        // The channel ends when strace has closed its output.
        while let Some(left) = deadline.checked_duration_since(Instant::now())
            && let Ok(line) = self.lines.recv_timeout(left)
        {
            text += &line;
            text.push('\n');
        }
        let calls = parse_summary(&text);
        match calls.is_empty() {
            true => Err(not_counted("strace counted none")),
            false => Ok(calls),
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}

fn not_counted(cause: &str) -> String {
    format!("System calls are not counted: {}.", cause.trim().trim_end_matches('.'))
}

/// Reads lines on a thread of its own, so that strace never waits for us.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut room = LINES_MAX;
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            // The table comes last, so only lines before it are dropped.
            if line.starts_with("strace: ") {
                room = room.saturating_sub(1);
            }
            if room > 0 || !line.starts_with("strace: ") {
                let _ = sender.send(line);
            }
        }
    });
    lines
}

/// Whether strace attached to a process that it was asked to trace; `None` for lines about anything
/// else. `strace: Process 7 attached with 2 threads`, `strace: attach: ptrace(PTRACE_SEIZE, 7):
/// Operation not permitted`.
fn attachment(line: &str) -> Option<bool> {
    let news = line.strip_prefix("strace: ")?;
    match news.strip_prefix("Process ") {
        Some(process) => process.contains(" attached").then_some(true),
        None => (news.contains("attach") || news.contains("ptrace(")).then_some(false),
    }
}

/// Parses the table of `strace -c`, most frequent call first. It has a row for each call, with or
/// without errors: `62.02    0.000214          17        12         3 openat`. Programs for two
/// architectures have two tables.
fn parse_summary(text: &str) -> Vec<SystemCall> {
    let mut calls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, count, spent_ns)) = parse_row(line) {
            let sum = calls.entry(name).or_default();
            *sum = (sum.0.saturating_add(count), sum.1.saturating_add(spent_ns));
        }
    }
    let call = |(name, (calls, spent_ns)): (&str, (u64, u64))| SystemCall {
        name: name.to_owned(),
        calls,
        spent_ns: Some(spent_ns),
    };
    let mut calls: Vec<SystemCall> = calls.into_iter().map(call).collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.calls));
    calls
}

fn parse_row(line: &str) -> Option<(&str, u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (numbers, name) = match words[..] {
        [share, seconds, each, calls, name] => ([share, seconds, each, calls], name),
        [share, seconds, each, calls, errors, name] => {
            errors.parse::<u64>().ok()?;
            ([share, seconds, each, calls], name)
        }
        _ => return None,
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let [share, seconds, each, calls] = numbers;
    share.parse::<f64>().ok()?;
    each.parse::<u64>().ok()?;
    let seconds = seconds.parse::<f64>().ok().filter(|s| (0.0..=LONGEST_S).contains(s))?;
    let calls = calls.parse().ok()?;
    (is_name && name != "total").then(|| (name, calls, (seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::is_alive;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    const TABLE: &str = "strace: Process 42 detached\n\
        % time     seconds  usecs/call     calls    errors syscall\n\
        ------ ----------- ----------- --------- --------- ----------------\n \
        62.02    0.400214        1007       400         3 epoll_wait\n \
        37.98    0.000131           3       412           write\n\
        ------ ----------- ----------- --------- --------- ----------------\n\
        100.00    0.400345         493       812         3 total\n";

    fn call(name: &str, calls: u64, spent_ns: u64) -> SystemCall {
        SystemCall { name: name.into(), calls, spent_ns: Some(spent_ns) }
    }

    #[test]
    fn table_of_strace_is_read_most_frequent_call_first() {
        let expected = [call("write", 412, 131_000), call("epoll_wait", 400, 400_214_000)];
        assert_eq!(parse_summary(TABLE), expected);
        let twice = parse_summary(&format!("{TABLE}\n{TABLE}"));
        assert_eq!(twice[0], call("write", 824, 262_000));
    }

    #[test]
    fn lines_in_another_form_are_no_calls() {
        for line in [
            "",
            "1 2 3 4 5",
            "1 2 3 4 x write",
            "1 2 3 -4 write",
            "1 NaN 3 4 write",
            "1 1e300 3 4 write",
            "% time seconds usecs/call calls syscall",
            "1 2 3 4 total",
            "1 2 3 4 5 6 write",
        ] {
            assert_eq!(parse_summary(line), [], "{line}");
        }
    }

    #[test]
    fn lines_on_attaching_are_told_from_others() {
        for (line, expected) in [
            ("strace: Process 7 attached", Some(true)),
            ("strace: Process 7 attached with 31 threads", Some(true)),
            ("strace: attach: ptrace(PTRACE_SEIZE, 7): Operation not permitted", Some(false)),
            ("strace: attach: ptrace(PTRACE_SEIZE, 7): No such process", Some(false)),
            ("strace: Process 7 detached", None),
            ("[ Process PID=7 runs in 32 bit mode. ]", None),
        ] {
            assert_eq!(attachment(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn printed_table_is_read_back(
            rows in prop::collection::btree_map("[a-z][a-z0-9_]{1,20}", (1u64..1_000_000_000, 0u64..1_000_000_000_000, any::<bool>()), 0..40)
        ) {
            let mut text = String::new();
            for (name, (calls, us, has_errors)) in &rows {
                let errors = if *has_errors { "7" } else { "" };
                text += &format!("{:6.2} {:>11.6} {:>11} {calls:>9} {errors:>9} {name}\n", 1.5, *us as f64 / 1e6, us / calls);
            }
            let read = parse_summary(&text);
            let rows: BTreeMap<_, _> = rows.into_iter().filter(|(name, _)| name != "total").collect();
            prop_assert_eq!(read.len(), rows.len());
            for call in read {
                let (calls, us, _) = rows[&call.name];
                prop_assert_eq!((call.calls, call.spent_ns), (calls, Some(us * 1_000)));
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[0-9a-z.% \n-]{0,300}") {
            prop_assert!(parse_summary(&text).iter().all(|call| call.name != "total"));
        }
    }

    /// A program that is ended with the test, with its children.
    struct Program(Child);

    impl Drop for Program {
        fn drop(&mut self) {
            for pid in self.target().pids().into_iter().rev() {
                let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
            }
            let _ = self.0.wait();
        }
    }

    impl Program {
        /// A shell whose child makes system calls in a loop, for at most a minute.
        fn busy() -> Program {
            let script = "timeout 60 cat /dev/zero >/dev/null; true";
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stdin(Stdio::null());
            let program = Program(shell.spawn().unwrap());
            program.await_calls(1);
            program
        }

        fn target(&self) -> Target {
            Target { roots: vec![self.0.id()], others: Vec::new() }
        }

        /// Bytes that its processes have read so far.
        fn read(&self) -> u64 {
            let pids = self.target().pids();
            let of_process = |pid: &u32| {
                let io = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
                io.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse::<u64>().ok()
            };
            pids.iter().filter_map(of_process).sum()
        }

        /// Waits until it has read a number of MiB more: it is not stopped.
        fn await_calls(&self, mib: u64) {
            let first = self.read();
            while self.read() < first + (mib << 20) {
                assert!(is_alive(self.0.id()), "the program has ended");
                std::thread::sleep(Duration::from_millis(5));
            }
        }

        /// The processes that trace it.
        fn tracers(&self) -> Vec<String> {
            let of_process = |pid: &u32| {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
                let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
                Some(tracer.trim().to_owned()).filter(|tracer| tracer != "0")
            };
            self.target().pids().iter().filter_map(of_process).collect()
        }
    }

    #[test]
    #[ignore = "needs strace"]
    fn calls_of_a_program_and_its_children_are_counted() {
        let program = Program::busy();
        let tracer = Tracer::attach(&program.target()).unwrap();
        assert!(!program.tracers().is_empty());
        program.await_calls(4);
        let calls = tracer.stop().unwrap();
        let of = |name: &str| calls.iter().find(|call| call.name == name).unwrap();
        assert!(of("read").calls >= 10 && of("write").calls >= 10, "{calls:?}");
        assert!(of("read").spent_ns.unwrap() > 0);
        assert_eq!(program.tracers(), Vec::<String>::new());
        program.await_calls(4);
    }

    #[test]
    #[ignore = "needs strace"]
    fn program_goes_on_when_strace_is_dropped_or_killed() {
        let program = Program::busy();
        drop(Tracer::attach(&program.target()).unwrap());
        assert_eq!(program.tracers(), Vec::<String>::new());
        program.await_calls(4);
        let tracer = Tracer::attach(&program.target()).unwrap();
        kill_process(Pid::from_child(&tracer.strace), Signal::KILL).unwrap();
        assert!(tracer.stop().unwrap_err().contains("counted none"));
        assert_eq!(program.tracers(), Vec::<String>::new());
        program.await_calls(4);
    }

    #[test]
    #[ignore = "needs strace"]
    fn program_may_end_while_it_is_traced() {
        let mut program = Program(Command::new("sleep").arg("60").spawn().unwrap());
        let tracer = Tracer::attach(&program.target()).unwrap();
        program.0.kill().unwrap();
        program.0.wait().unwrap();
        let strace = tracer.strace.id();
        // A call that was not finished is not in the table.
        let _ = tracer.stop();
        assert!(!is_alive(strace));
        let gone = Tracer::attach(&program.target()).map(|_| ()).unwrap_err();
        assert!(gone.contains("No such process"), "{gone}");
    }

    #[test]
    fn missing_strace_and_missing_permission_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target { roots: vec![std::process::id()], others: Vec::new() };
        let attach = |program: &std::path::Path| {
            Tracer::attach_with(program.to_str().unwrap(), &target).map(|_| ()).unwrap_err()
        };
        let missing = folder.path().join("strace");
        assert!(attach(&missing).contains("Install the package `strace`"));
        let forbidden = folder.path().join("forbidden");
        let script = "#!/bin/sh\nfor last; do :; done\n\
            echo \"strace: attach: ptrace(PTRACE_SEIZE, $last): Operation not permitted\" >&2\n";
        std::fs::write(&forbidden, script).unwrap();
        std::fs::set_permissions(&forbidden, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(attach(&forbidden).contains("ptrace_scope"));
    }
}
