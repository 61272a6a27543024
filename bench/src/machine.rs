//! The machine: two CPUs, programs on one of them with what they used, and a folder for their
//! files.
//!
//! Servers run on the last CPU and clients on the first. CPU time and peak memory come from the
//! kernel (`wait4`). Start with [`run`].

use client::get;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::Timespec;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for a server.
const READY: Duration = Duration::from_secs(10);

/// A load average above this means that the machine is not idle.
const BUSY: f64 = 0.7;

/// The CPUs of servers and clients: the last and the first that this process may use.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// The CPU of every client.
    pub client: usize,
    /// The CPU of every server.
    pub server: usize,
}

impl Cpus {
    /// Chooses the CPUs.
    ///
    /// # Errors
    /// If there is only one.
    pub fn choose() -> Result<Cpus, String> {
        let allowed = sched_getaffinity(None)
            .map_err(|error| format!("the CPUs of this process cannot be read: {error}"))?;
        let mut numbers = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        match (numbers.next(), numbers.next_back()) {
            (Some(client), Some(server)) => Ok(Cpus { client, server }),
            _ => Err("this process may use one CPU only\nhint: client and server need one each; check `taskset -p $$`".to_owned()),
        }
    }
}

/// A folder for configurations and output. It is removed on drop.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a new folder among the temporary files.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> Result<Scratch, String> {
        let path = std::env::temp_dir().join(format!("faceoff-bench-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| {
            format!(
                "{} cannot be made: {error}\nhint: set TMPDIR to a folder that you may write to",
                path.display()
            )
        })?;
        Ok(Scratch(path))
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and returns its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::write(&path, text).map_err(|error| {
            format!("{} cannot be written: {error}\nhint: is the disk full?", path.display())
        })?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a program printed and used.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its standard output.
    pub stdout: String,
    /// User and system time of all its threads, in seconds.
    pub cpu_s: f64,
    /// Its peak resident memory, in bytes.
    pub peak_rss_bytes: u64,
}

/// Runs a program to its end on one CPU.
///
/// # Errors
/// If it cannot be started, fails, or has not ended after `at_most`.
pub fn run(
    mut command: Command,
    cpu: usize,
    at_most: Duration,
    scratch: &Scratch,
) -> Result<Finished, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| format!("{name} cannot be run: {error}");
    // Files instead of pipes, so that nothing has to read while it runs.
    let (out, err) = (scratch.path().join("stdout"), scratch.path().join("stderr"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(failed)?)
        .stderr(File::create(&err).map_err(failed)?);
    let mut child = spawn_on(&mut command, cpu).map_err(failed)?;
    let in_time = ends_within(&child, at_most).map_err(failed)?;
    if !in_time {
        child.kill().map_err(failed)?;
    }
    let (status, usage) = wait(&child).map_err(failed)?;
    let stdout = String::from_utf8_lossy(&fs::read(&out).map_err(failed)?).into_owned();
    if !in_time || !status.success() {
        let stderr = String::from_utf8_lossy(&fs::read(&err).map_err(failed)?).into_owned();
        let why = if in_time {
            status.to_string()
        } else {
            format!("still running after {} s", at_most.as_secs())
        };
        let arguments: Vec<_> =
            command.get_args().map(|argument| argument.to_string_lossy()).collect();
        return Err(format!(
            "{name} {}: {why}\n{}{}",
            arguments.join(" "),
            last_lines(&stdout),
            last_lines(&stderr)
        ));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let kilobytes = u64::try_from(usage.ru_maxrss).unwrap_or(0);
    Ok(Finished {
        stdout,
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_rss_bytes: kilobytes * 1024,
    })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].iter().map(|line| format!("  {line}\n")).collect()
}

/// Starts a child on one CPU. It inherits the CPUs of the thread that starts it.
fn spawn_on(command: &mut Command, cpu: usize) -> io::Result<Child> {
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(cpu);
    // SAFETY: one system call, which neither allocates nor locks. The child must not outlive this
    // program, however it ends.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    sched_setaffinity(None, &only)?;
    let child = command.spawn();
    sched_setaffinity(None, &before)?;
    child
}

/// Returns whether a child ends in time. Waiting uses no CPU.
fn ends_within(child: &Child, at_most: Duration) -> io::Result<bool> {
    let descriptor = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let timeout = Timespec {
        tv_sec: at_most.as_secs().cast_signed(),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    Ok(poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout))? > 0)
}

/// Waits for a child and returns what it used, which `std` does not.
fn wait(child: &Child) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: a structure of numbers, of which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are valid to write to. The child has not been waited for, and is not
    // again: `Child` does so only on request.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, &mut usage) };
    if waited == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok((ExitStatus::from_raw(status), usage))
    }
}

/// A server. It is ended on drop.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// The address on which it listens.
    pub address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts `control`, which prints its port.
    ///
    /// # Errors
    /// If it does not start.
    pub fn control(program: &Path, cpu: usize, flags: &[&str]) -> Result<Server, String> {
        let failed = |error: io::Error| {
            format!(
                "{} cannot be run: {error}\nhint: build it with `cargo build --release -p control`",
                program.display()
            )
        };
        let mut child = spawn_on(
            Command::new(program).args(flags).stdin(Stdio::null()).stdout(Stdio::piped()),
            cpu,
        )
        .map_err(failed)?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(failed)?;
        }
        let mut server = Server { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) };
        let port = line.trim().parse().map_err(|_| {
            format!("control {} printed no port\nhint: run it by hand", flags.join(" "))
        })?;
        server.address.set_port(port);
        Ok(server)
    }

    /// Starts a server on a given port, and waits until it accepts connections.
    ///
    /// # Errors
    /// If it does not start, or accepts no connection in time.
    pub fn start(mut command: Command, cpu: usize, port: u16) -> Result<Server, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = spawn_on(command.stdin(Stdio::null()).stdout(Stdio::null()), cpu)
            .map_err(|error| format!("{name} cannot be run: {error}"))?;
        let server = Server { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)) };
        let start = Instant::now();
        while TcpStream::connect(server.address).is_err() {
            if start.elapsed() > READY {
                return Err(format!(
                    "{name} does not listen on {}\nhint: see its output above",
                    server.address
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Reads a counter of `control`.
    ///
    /// # Errors
    /// If it does not answer, or has no such counter.
    pub fn counter(&self, name: &str) -> Result<u64, String> {
        let text = get(self.address, "/__control/stats")?;
        let counters: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| format!("the counters of control are not JSON: {error}"))?;
        counters[name]
            .as_u64()
            .ok_or_else(|| format!("control has no counter `{name}`\nhint: rebuild it"))
    }
}

/// Returns a port that was free a moment ago.
///
/// # Errors
/// If there is none.
pub fn free_port() -> Result<u16, String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("no port is free: {error}"))
}

/// Finds a program on the PATH, or in the folders of system programs, which a user's PATH may lack.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Raises the limit of descriptors to the maximum. Programs inherit it.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // If that is not allowed, a program that needs more reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// The machine that the figures depend on, for later readers.
#[derive(Debug)]
pub struct Machine {
    cpu: String,
    kernel: String,
    cpus: Cpus,
    /// Programs that ran or waited for a CPU in the last minute, on average.
    load_average: f64,
}

impl Machine {
    /// Describes this machine now.
    pub fn describe(cpus: Cpus) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Machine {
            cpu: model.map_or("unknown CPU", |(_, model)| model.trim()).to_owned(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            cpus,
            load_average: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok())
                .unwrap_or(0.0),
        }
    }

    /// Explains why figures would be unreliable, if so.
    pub fn warning(&self) -> Option<String> {
        let busy = self.load_average > BUSY;
        busy.then(|| {
            format!(
                "the load average is {}: another program is running\nhint: measure on an idle machine",
                self.load_average
            )
        })
    }

    /// Formats it for people.
    pub fn to_text(&self) -> String {
        let Machine { cpu, kernel, cpus: Cpus { client, server }, load_average } = self;
        format!(
            "{cpu}, Linux {kernel}, clients on CPU {client}, servers on CPU {server}, load average before {load_average}"
        )
    }

    /// Formats it for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let Machine { cpu, kernel, cpus: Cpus { client, server }, load_average } = self;
        serde_json::json!({ "cpu": cpu, "kernel": kernel, "client_cpu": client, "server_cpu": server, "load_average": load_average })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn first_cpu() -> usize {
        let allowed = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap()
    }

    #[test]
    fn program_runs_on_its_cpu_and_reports_what_it_used() {
        let scratch = Scratch::new().unwrap();
        let cpu = first_cpu();
        let command = shell(
            "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; grep Cpus_allowed_list /proc/self/status",
        );
        let finished = run(command, cpu, Duration::from_secs(60), &scratch).unwrap();
        assert_eq!(finished.stdout.split_whitespace().last(), Some(cpu.to_string().as_str()));
        assert!(finished.cpu_s > 0.0 && finished.peak_rss_bytes > 100_000, "{finished:?}");

        let failed =
            run(shell("echo why; exit 3"), cpu, Duration::from_secs(60), &scratch).unwrap_err();
        assert!(failed.contains("exit status: 3") && failed.contains("why"), "{failed}");
        let late = run(shell("sleep 60"), cpu, Duration::from_millis(50), &scratch).unwrap_err();
        assert!(late.contains("still running"), "{late}");
    }

    #[test]
    fn program_is_found_by_name() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-such-program-anywhere"), None);
    }
}
