//! Keeps CPUs from sleeping while a virtual machine measures.
//!
//! A hypervisor gives a sleeping virtual CPU to other machines, and it comes back late: that time
//! is stolen. So each CPU gets a process of the scheduling class that runs only when no other
//! process wants the CPU (`SCHED_IDLE`, sched(7)), and the CPU never sleeps. The processes end when
//! their standard input closes, which the kernel does when faceoff dies.

use crate::cpus::pin_this_thread;
use crate::procfs::cpu_ns;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The first argument of the faceoff command when it keeps a CPU awake.
pub const ARGUMENT: &str = "__awake";

const STARTED: &str = "awake";

/// How long the process runs before it yields the CPU for a moment. Otherwise a generator that woke
/// up sent up to 5 ms late (Linux 6.18), which is about a tick. Since 6.6, the scheduler EEVDF
/// seems to let a process that has had more than its fair share wait even behind this class.
const YIELD_AFTER: Duration = Duration::from_micros(20);

/// CPUs that are kept awake until this is dropped.
pub struct Awake {
    processes: Vec<(usize, Child)>,
}

impl Awake {
    /// Keeps these CPUs awake.
    ///
    /// # Errors
    /// A process that cannot be started, or whose class the kernel does not permit.
    pub fn start(cpus: &[usize]) -> io::Result<Awake> {
        let mut awake = Awake { processes: Vec::new() };
        for cpu in cpus {
            let mut child = Command::new("/proc/self/exe")
                .args([ARGUMENT, &cpu.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            let (out, err) = (
                child.stdout.take().expect("stdout is a pipe"),
                child.stderr.take().expect("stderr is a pipe"),
            );
            awake.processes.push((*cpu, child));
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line)?;
            if line.trim() != STARTED {
                let mut cause = String::new();
                BufReader::new(err).read_to_string(&mut cause)?;
                return Err(io::Error::other(cause.trim().to_owned()));
            }
        }
        Ok(awake)
    }

    /// What this adds to the load average.
    pub fn load(&self) -> f64 {
        self.processes.len() as f64
    }

    /// CPU time used so far to keep this CPU awake, in nanoseconds.
    pub fn cpu_ns(&self, cpu: usize) -> u64 {
        self.processes
            .iter()
            .filter(|(at, _)| *at == cpu)
            .filter_map(|(_, child)| cpu_ns(child.id()))
            .sum()
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for (_, child) in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Keeps one CPU awake until standard input ends. `arguments` are those after [`ARGUMENT`].
pub fn main(arguments: &[String]) -> ExitCode {
    let Some(cpu) = arguments.first().and_then(|a| a.parse::<usize>().ok()) else {
        return ExitCode::from(2);
    };
    // In a session of its own, so that Ctrl-C at the terminal reaches faceoff only. If the kernel
    // shares CPUs out by session (sched_autogroup), the class applies within a session only, and
    // the session's nice value applies between sessions.
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"faceoff-awake");
    let _ = std::fs::write("/proc/self/autogroup", "19");
    std::thread::spawn(move || match idle_on(cpu) {
        Ok(()) => {
            let mut out = io::stdout();
            let _ = writeln!(out, "{STARTED}").and_then(|()| out.flush());
            // No pause instruction: a hypervisor takes many of them for a lock that waits for
            // another CPU, and takes this CPU away.
            loop {
                let began = Instant::now();
                while began.elapsed() < YIELD_AFTER {}
                std::thread::yield_now();
            }
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            std::process::exit(1);
        }
    });
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    ExitCode::SUCCESS
}

/// Moves the calling thread to a CPU and below every other process there.
fn idle_on(cpu: usize) -> io::Result<()> {
    pin_this_thread(&[cpu])?;
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: `priority` outlives the call, which reads it and nothing else.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
