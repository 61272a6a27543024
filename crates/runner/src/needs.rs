//! Checks the tools that systems need before anything is built.
//!
//! Each tool is called once, and its version read from its output. Start with [`Tools::check`].

use crate::jdk::Jdk;
use crate::process::without_colours;
use rustix::process::{Pid, Signal, kill_process_group};
use spec::system::{Contender, Need, System};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The tools of this machine, each checked once.
pub struct Tools {
    jdks: Vec<Jdk>,
    tried: std::cell::RefCell<BTreeMap<Vec<String>, Option<String>>>,
}

/// A tool that a system needs, and whether it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub tool: String,
    /// Its version; `None` if it is missing, or in no version that fits.
    pub version: Option<String>,
    /// How to install it.
    pub hint: String,
}

/// How long a tool may take to print its version.
const WITHIN: Duration = Duration::from_secs(20);

impl Default for Tools {
    fn default() -> Self {
        Tools { jdks: Jdk::find_all(), tried: Default::default() }
    }
}

impl Tools {
    /// The newest JDK that can build a system.
    pub fn jdk(&self, system: &System) -> Option<&Jdk> {
        Jdk::newest(&self.jdks, system.jdk?..)
    }

    /// The newest JDK that can start a system.
    pub fn jvm(&self, system: &System) -> Option<&Jdk> {
        Jdk::newest(&self.jdks, system.jdk?..=system.jdk_at_most.unwrap_or(u32::MAX))
    }

    /// Everything that a contender needs, whether it exists or not.
    pub fn check(&self, contender: &Contender) -> Vec<Found> {
        let system = &contender.system;
        let mut found = Vec::new();
        if let Some(least) = system.jdk {
            found.push(Found {
                tool: format!("JDK {least}+"),
                version: self.jdk(system).map(|jdk| jdk.version.clone()),
                hint: format!(
                    "install a JDK {least} or newer (on Debian: apt-get install \
                     openjdk-{least}-jdk-headless), or set JAVA_HOME to one"
                ),
            });
        }
        if let Some(most) = system.jdk_at_most {
            found.push(Found {
                tool: format!("JDK up to {most}"),
                version: self.jvm(system).map(|jdk| jdk.version.clone()),
                hint: format!(
                    "install JDK {most} in addition to the others (on Debian: apt-get \
                    install openjdk-{most}-jdk-headless)"
                ),
            });
        }
        for need in &system.needs {
            found.push(Found {
                tool: need.tool.clone(),
                version: self.version(need),
                hint: need.hint.clone(),
            });
        }
        found
    }

    /// The version of a tool: what its pattern captures, else its first line.
    fn version(&self, need: &Need) -> Option<String> {
        let output = self
            .tried
            .borrow_mut()
            .entry(need.run.clone())
            .or_insert_with(|| output_of(&need.run))
            .clone()?;
        let Some(pattern) = &need.pattern else {
            return Some(output.lines().next().unwrap_or("found").trim().to_owned());
        };
        let captures = regex_lite::Regex::new(pattern).ok()?.captures(&output)?;
        Some(captures.get(1).or(captures.get(0))?.as_str().to_owned())
    }
}

/// How a command ended, and its output.
pub(crate) struct Done {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end; `None` if it takes too long, in which case it is killed with all its
/// descendants.
pub(crate) fn output_within(command: &mut Command, within: Duration) -> io::Result<Option<Done>> {
    // Its descendants are found by its process group.
    let mut child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        let (sender, read) = channel();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.map(|p| p.take(64 << 10).read_to_end(&mut text));
            sender.send(String::from_utf8_lossy(&text).into_owned())
        });
        read
    };
    let out = read(child.stdout.take().map(|p| Box::new(p) as _));
    let err = read(child.stderr.take().map(|p| Box::new(p) as _));
    let deadline = load::clock::now_ns() + within.as_nanos() as u64;
    let left = || Duration::from_nanos(deadline.saturating_sub(load::clock::now_ns()));
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if left().is_zero() => {
                if let Some(group) = Pid::from_raw(child.id() as i32) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                return Ok(None);
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    // A descendant that keeps the pipes open is not waited for.
    let text = |output: Receiver<String>| output.recv_timeout(left()).unwrap_or_default();
    Ok(Some(Done { status, out: text(out), err: text(err) }))
}

/// Both outputs of a command; `None` if it cannot run, fails or takes too long.
pub(crate) fn output_of(command: &[String]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let done = output_within(Command::new(program).args(arguments), WITHIN).ok()??;
    // Maven colours its version even without a terminal.
    done.status.success().then(|| without_colours(&format!("{}{}", done.out, done.err)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(run: &[&str], pattern: Option<&str>) -> Need {
        Need {
            tool: "t".into(),
            run: run.iter().map(|s| (*s).to_owned()).collect(),
            pattern: pattern.map(str::to_owned),
            hint: "h".into(),
        }
    }

    #[test]
    fn version_is_captured_from_either_output() {
        let tools = Tools { jdks: vec![], tried: Default::default() };
        assert_eq!(
            tools
                .version(&need(&["sh", "-c", "echo tool 1.2.3 >&2"], Some(r"tool (\S+)")))
                .as_deref(),
            Some("1.2.3")
        );
        assert_eq!(
            tools.version(&need(&["echo", "first line"], None)).as_deref(),
            Some("first line")
        );
        assert_eq!(
            tools.version(&need(&["echo", "tool 1"], Some(r"tool ([2-9])"))),
            None,
            "a version that does not fit"
        );
        assert_eq!(tools.version(&need(&["no-such-tool-here"], None)), None);
        assert_eq!(tools.version(&need(&["false"], None)), None);
    }

    #[test]
    fn slow_command_is_killed_with_its_descendants() {
        let folder = tempfile::tempdir().unwrap();
        let begun = std::time::Instant::now();
        let script = "sleep 60 & echo $! > child; wait";
        let late = output_within(
            Command::new("sh").args(["-c", script]).current_dir(folder.path()),
            Duration::from_secs(1),
        )
        .unwrap();
        assert!(late.is_none() && begun.elapsed() < Duration::from_secs(30));
        let child: u32 =
            std::fs::read_to_string(folder.path().join("child")).unwrap().trim().parse().unwrap();
        while crate::procfs::is_alive(child) {
            assert!(begun.elapsed() < Duration::from_secs(30), "what it started runs on");
            std::thread::sleep(Duration::from_millis(5));
        }
        // A descendant may keep its outputs open.
        let kept = output_within(
            Command::new("sh").args(["-c", "sleep 5 & exit 3"]),
            Duration::from_secs(1),
        )
        .unwrap()
        .unwrap();
        assert_eq!(kept.status.code(), Some(3));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
