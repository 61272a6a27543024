//! A container of one start: created, started, watched, stopped and removed.
//!
//! Start with [`Container::start`].

use super::names::{Known, LOCK_LABEL, NOTE_LABEL, RUN_LABEL, WITHIN};
use crate::engine::{Body, Engine, EngineError};
use crate::image::{PORT, WORK};
use crate::place::{Order, Started};
use crate::process::{Ended, Stop, as_signal, last_lines, without_colours};
use crate::procfs::{self, is_alive};
use crate::{cgroup, cpus};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use spec::experiment::Network;
use spec::system::StopSignal;
use spec::units::show_bytes;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the engine may take to notice that a process has ended.
const NOTICES_WITHIN: Duration = Duration::from_secs(10);

/// A started container. Dropping it removes it.
pub(super) struct Container {
    engine: Engine,
    id: String,
    pid: u32,
    started_ns: u64,
    seen_by_others: Option<SocketAddr>,
    forwarders: Vec<u32>,
    memory_bytes: Option<u64>,
    log: PathBuf,
    ended: Option<String>,
    is_gone: bool,
}

impl Container {
    /// Creates and starts a container.
    pub fn start(
        engine: &Engine,
        note: &str,
        image: &Known,
        network: Network,
        order: &Order<'_>,
    ) -> Result<Container, String> {
        let words = |error: EngineError| error.to_string();
        let created = engine
            .request(
                "POST",
                "/containers/create",
                Body::Json(&description(note, image, network, order)),
                WITHIN,
            )
            .map_err(words)?;
        let id =
            created["Id"].as_str().ok_or("the engine names no container that it made")?.to_owned();
        // From here on every return removes it.
        let mut container = Container {
            engine: engine.clone(),
            id,
            pid: 0,
            started_ns: load::clock::now_ns(),
            seen_by_others: None,
            forwarders: vec![],
            memory_bytes: order.limits().memory_bytes,
            log: order.log.to_owned(),
            ended: None,
            is_gone: false,
        };
        container.request("POST", "/start").map_err(words)?;
        let state = container.inspect().map_err(words)?;
        container.pid = state["State"]["Pid"].as_u64().unwrap_or(0) as u32;
        if container.pid == 0 {
            let status = container.status(&state);
            container.keep_log();
            let log = last_lines(&container.log, 5).join("; ");
            return Err(format!(
                "it ended with {status} as soon as it was started{}{log}",
                if log.is_empty() { "" } else { ": " }
            ));
        }
        // It may have ended already, which is noticed later. A process of another user must be left
        // alone.
        let group =
            std::fs::read_to_string(format!("/proc/{}/cgroup", container.pid)).unwrap_or_default();
        if !group.is_empty() && !group.contains(&container.id) {
            return Err(
                "the Docker engine runs in another PID namespace (such as Docker Desktop's \
                        VM), so the container's processes cannot be measured; run faceoff on the \
                        engine's machine"
                    .into(),
            );
        }
        if network == Network::Bridge {
            let address = state["NetworkSettings"]["Networks"]["bridge"]["IPAddress"]
                .as_str()
                .and_then(|a| a.parse::<IpAddr>().ok());
            container.seen_by_others = address.map(|address| {
                SocketAddr::from((
                    address,
                    order.inside.published.first().map_or(PORT, |(inside, _)| *inside),
                ))
            });
            container.forwarders = forwarders(order);
        }
        Ok(container)
    }

    fn request(&self, method: &str, what: &str) -> Result<Value, EngineError> {
        self.engine.request(
            method,
            &format!("/containers/{}{what}", self.id),
            Body::Nothing,
            WITHIN,
        )
    }

    fn inspect(&self) -> Result<Value, EngineError> {
        self.request("GET", "/json")
    }

    /// How it ended, from the engine's description.
    fn status(&self, state: &Value) -> String {
        let state = &state["State"];
        let code = state["ExitCode"].as_i64().unwrap_or(-1);
        let memory =
            self.memory_bytes.map(|limit| format!(" of {}", show_bytes(limit))).unwrap_or_default();
        match state["OOMKilled"].as_bool() {
            Some(true) => format!("exit {code}, out of its memory{memory}"),
            _ => match state["Error"].as_str().filter(|error| !error.is_empty()) {
                Some(error) => format!("exit {code} ({error})"),
                None => format!("exit {code}"),
            },
        }
    }

    /// Waits until the engine has noticed the end.
    fn learn_end(&mut self) {
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        let status = loop {
            match self.inspect() {
                Ok(state) if state["State"]["Running"] == false => break self.status(&state),
                Ok(_) if load::clock::now_ns() > deadline => {
                    self.engine.note("it reports a container as running that has ended");
                    break "lost: the engine reports that it runs".into();
                }
                Ok(_) => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => {
                    // Also if the engine has never known the container, which is no end of the
                    // contender.
                    self.engine.note(&error.to_string());
                    break format!("lost: {error}");
                }
            }
        };
        self.ended = Some(status);
    }

    fn await_end(&mut self, most: Duration) -> bool {
        let deadline = load::clock::now_ns() + most.as_nanos() as u64;
        while self.ended.is_none() && is_alive(self.pid) {
            if load::clock::now_ns() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.ended.is_none() {
            self.learn_end();
        }
        true
    }

    /// Copies its output into its log.
    fn keep_log(&self) {
        let copy = || -> io::Result<()> {
            let path = format!("/containers/{}/logs?stdout=1&stderr=1", self.id);
            let answer = self
                .engine
                .open("GET", &path, Body::Nothing, WITHIN)
                .map_err(|error| io::Error::other(error.to_string()))?;
            let file = std::fs::File::options().append(true).create(true).open(&self.log)?;
            copy_output(answer, BufWriter::new(file))
        };
        // Errors are ignored: without a log, a failure quotes none.
        let _ = copy();
    }

    fn remove(&mut self) {
        if !self.is_gone {
            self.is_gone = self.request("DELETE", "?force=1&v=1").is_ok();
        }
        if !self.is_gone {
            self.signal_from_here(Signal::KILL);
        }
    }

    /// Has the engine send a signal.
    fn signal(&self, signal: Signal) {
        // A container that ended meanwhile is noticed later.
        if self.request("POST", &format!("/kill?signal={}", signal.as_raw())).is_err() {
            self.signal_from_here(signal);
        }
    }

    /// Sends a signal to its first process without the engine. Containers outlive their engine, and
    /// would run next to the next contender.
    fn signal_from_here(&self, signal: Signal) {
        if cgroup::runs_in(self.pid, &self.id)
            && let Some(pid) = Pid::from_raw(self.pid as i32)
        {
            let _ = kill_process(pid, signal);
        }
    }
}

/// The engine's processes that forward packets to the published ports of one container. They would
/// disturb the generator on its CPUs, so they are pinned to the container's CPUs if permitted.
fn forwarders(order: &Order<'_>) -> Vec<u32> {
    let is_here =
        |port: &str| order.inside.published.iter().any(|(_, here)| here.to_string() == port);
    let passes = |pid: &u32| {
        let words = procfs::command(*pid);
        words.first().is_some_and(|program| program.ends_with("docker-proxy"))
            && words.windows(2).any(|pair| pair[0] == "-host-port" && is_here(&pair[1]))
    };
    let found: Vec<u32> = procfs::parents().into_keys().filter(passes).collect();
    // Without permission, their use of the generator's CPUs is reported as that of other programs.
    cpus::keep_on(order.around.cpus, &found);
    found
}

/// The description of a container for the engine.
fn description(note: &str, image: &Known, network: Network, order: &Order<'_>) -> Value {
    let (around, limits) = (order.around, order.limits());
    let mut env: Vec<String> =
        order.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    env.extend(
        image
            .ready_made
            .filter(|listens| listens.by_environment)
            .map(|listens| format!("PORT={}", listens.port)),
    );
    let cpus: Vec<String> = around.cpus.iter().map(ToString::to_string).collect();
    let port = |inside: u16| format!("{inside}/tcp");
    let exposed: BTreeMap<String, Value> =
        order.inside.published.iter().map(|(inside, _)| (port(*inside), json!({}))).collect();
    let bindings: BTreeMap<String, Value> = order
        .inside
        .published
        .iter()
        .map(|(inside, here)| {
            (port(*inside), json!([{"HostIp": "127.0.0.1", "HostPort": here.to_string()}]))
        })
        .collect();
    let mut host = json!({
        "Mounts": [{"Type": "bind", "Source": order.work, "Target": WORK}],
        "NetworkMode": if network == Network::Host { "host" } else { "bridge" },
        "PortBindings": bindings,
        "CpusetCpus": cpus.join(","),
        "Ulimits": [{"Name": "nofile", "Soft": order.descriptors, "Hard": order.descriptors}],
        "LogConfig": {"Type": "json-file", "Config": {}},
    });
    if let Some(cpus) = limits.cpus {
        host["NanoCpus"] = json!((cpus * 1e9).round() as i64);
    }
    if let Some(bytes) = limits.memory_bytes {
        // Without swap, as a system that swaps is measured by its disk.
        (host["Memory"], host["MemorySwap"]) = (json!(bytes), json!(bytes));
    }
    let mut container = json!({
        "Image": image.id,
        "Env": env,
        "Labels": {RUN_LABEL: around.run, LOCK_LABEL: crate::lock::identity(), NOTE_LABEL: note},
        "ExposedPorts": exposed,
        "HostConfig": host,
    });
    // An existing image keeps its own command and user, unless the manifest has a command.
    if let Some((program, arguments)) = order.command.split_first() {
        (container["Entrypoint"], container["Cmd"]) = (json!([program]), json!(arguments));
    }
    if image.ready_made.is_none() {
        // The user that a process would have.
        let user = format!(
            "{}:{}",
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw()
        );
        container["User"] = json!(user);
    }
    container
}

/// Extracts a container's output from the frames of the engine. A frame begins with 8 bytes, of
/// which the last four are its length.
fn copy_output(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    loop {
        let mut head = [0; 8];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return to.flush(),
            other => other?,
        }
        let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let copied = io::copy(&mut (&mut from).take(u64::from(length)), &mut to)?;
        if copied < u64::from(length) {
            return to.flush();
        }
    }
}

impl Started for Container {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn started_ns(&self) -> u64 {
        self.started_ns
    }

    fn seen_by_others(&self) -> Option<SocketAddr> {
        self.seen_by_others
    }

    fn forwarders(&self) -> Vec<u32> {
        self.forwarders.clone()
    }

    fn ended(&mut self) -> Option<String> {
        if self.await_end(Duration::ZERO) { self.ended.clone() } else { None }
    }

    fn log(&self) -> &Path {
        &self.log
    }

    fn last_lines(&self, most: usize) -> Vec<String> {
        let mut text = Vec::new();
        let path = format!("/containers/{}/logs?stdout=1&stderr=1&tail={most}", self.id);
        if let Ok(answer) = self.engine.open("GET", &path, Body::Nothing, WITHIN) {
            let _ = copy_output(answer.take(1 << 20), &mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<String> =
            text.lines().map(without_colours).filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(most)..].to_vec()
    }

    fn stop(mut self: Box<Self>, signal: StopSignal, within: Duration) -> Stop {
        // Its control group is removed with its first process.
        let memory_kills = cgroup::own_usage(self.pid).map_or(0, |usage| usage.memory_kills);
        let begin = load::clock::now_ns();
        if self.ended.is_none() {
            self.signal(as_signal(signal));
        }
        let mut killed = false;
        if !self.await_end(within) {
            killed = true;
            self.signal(Signal::KILL);
            self.await_end(Duration::from_secs(10));
        }
        let status = self.ended.clone().unwrap_or("still there after KILL".into());
        let took_ns = load::clock::now_ns() - begin;
        self.keep_log();
        self.remove();
        // All processes of a container end with its first one.
        Stop { ended: Ended { status }, took_ns, killed, orphans: 0, memory_kills }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// A container whose engine is gone, and its process, which is in this process's groups.
    fn without_engine() -> (Box<Container>, Child) {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let process = Command::new("sleep").arg("60").spawn().unwrap();
        let container = Container {
            engine: Engine::at_socket("/nowhere/engine.sock".into()),
            id: groups.lines().next().unwrap().to_owned(),
            pid: process.id(),
            started_ns: 0,
            seen_by_others: None,
            forwarders: vec![],
            memory_bytes: None,
            log: PathBuf::new(),
            ended: None,
            is_gone: false,
        };
        (Box::new(container), process)
    }

    #[test]
    fn container_is_stopped_without_its_engine() {
        let (container, mut process) = without_engine();
        let stopped = container.stop(StopSignal::Term, Duration::from_secs(20));
        assert!(!stopped.killed && stopped.ended.status.starts_with("lost: "), "{stopped:?}");
        assert_eq!(process.wait().unwrap().to_string(), "signal: 15 (SIGTERM)");
        let (container, mut process) = without_engine();
        drop(container);
        assert_eq!(process.wait().unwrap().to_string(), "signal: 9 (SIGKILL)");
        let (mut container, mut process) = without_engine();
        container.id = "0123abcd".repeat(8);
        drop(container);
        assert!(process.try_wait().unwrap().is_none(), "a number that another process has got");
        process.kill().and_then(|()| process.wait()).unwrap();
    }

    #[test]
    fn frames_are_read_wherever_they_are_cut() {
        let frame = |stream: u8, text: &str| {
            [&[stream, 0, 0, 0][..], &(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
        };
        let all = [frame(1, "one\n"), frame(2, "two\n")].concat();
        let copy = |bytes: &[u8]| {
            let mut text = Vec::new();
            copy_output(bytes, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(copy(&all), "one\ntwo\n");
        for cut in 0..all.len() {
            assert!("one\ntwo\n".starts_with(&copy(&all[..cut])), "cut at {cut}");
        }
    }
}
