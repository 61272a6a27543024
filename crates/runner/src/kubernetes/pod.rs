//! The pod of one start, the first where there are several: made through a deployment, followed, stopped, removed.

use super::WITHIN;
use super::cluster::{Cluster, machine, own_node};
use super::objects::{self, Runs, START_LABEL};
use super::replicas::Replica;
use super::status::{self, State};
use crate::cgroup;
use crate::cpus::keep_on;
use crate::engine::{Body, escaped};
use crate::place::{Asks, Order, ScaledOut, Started};
use crate::process::{Ended, Stop, as_signal, last_lines, without_colours};
use crate::procfs::{is_alive, parents, trees};
use model::system::StopSignal;
use model::units::show_duration;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the cluster may take to say that what has ended has ended.
const NOTICES_WITHIN: Duration = Duration::from_secs(10);
/// How often it is asked how far a pod is.
const ASK_AGAIN: Duration = Duration::from_millis(10);
/// The longest output that is kept.
const LOG_MAX: u64 = 64 << 20;

/// Where a start is in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub namespace: String,
    /// The name of its service and its deployment, and of whatever else it has.
    pub name: String,
    /// The ports on which it listens.
    pub ports: Vec<u16>,
    /// Whether it has an Ingress of a class of the cluster.
    pub has_ingress: bool,
}

/// A pod that was started. Dropping it removes it, with all that was made for it.
pub(super) struct Pod {
    pub(super) cluster: Rc<Cluster>,
    pub(super) spot: Spot,
    /// What the cluster calls it.
    pub(super) pod: String,
    /// What its container is called.
    container: String,
    pid: u32,
    /// How many of it there shall be.
    pub(super) replicas: u32,
    /// Those besides the first that have answered.
    pub(super) others: Vec<Replica>,
    started_ns: u64,
    pub(super) memory_bytes: Option<u64>,
    cpus: Vec<usize>,
    descriptors: Descriptors,
    log: PathBuf,
    ended: Option<String>,
    is_gone: bool,
}

/// The most descriptors of a process.
#[derive(Clone, Copy)]
struct Descriptors {
    most: u64,
    /// Whether somebody said so.
    is_asked: bool,
}

impl Pod {
    /// Makes one, and waits until its container runs.
    pub fn start(cluster: &Rc<Cluster>, image: &str, spot: Spot, order: &Order<'_>) -> Result<Pod, String> {
        let (start, stop) = (&order.contender.system.start, &order.contender.system.stop);
        let read = |file: &String| -> Result<(String, String), String> {
            let text = std::fs::read_to_string(order.work.join(file)).map_err(|e| format!("{file} cannot be read: {e}"))?;
            Ok((file.clone(), text))
        };
        let rendered = start.render.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let replicas = order.contender.name.share().replicas.unwrap_or(1);
        // Whoever may not list nodes hears of a pod elsewhere once it is there.
        let node = own_node(&cluster.nodes().unwrap_or_default(), &machine());
        let runs = Runs {
            name: &spot.name,
            image,
            command: order.command,
            env: order.env,
            ports: &spot.ports,
            rendered: &start.render,
            grace_seconds: grace_seconds(stop.within),
            user: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
            limits: order.limits(),
            is_one_of_many: replicas > 1,
            node: node.as_deref(),
        };
        let deployment = objects::deployment(&runs, order.around.run);
        // From here on it is removed, however this ends.
        let mut pod = Pod {
            cluster: Rc::clone(cluster),
            spot,
            pod: String::new(),
            container: String::new(),
            pid: 0,
            replicas,
            others: vec![],
            started_ns: 0,
            memory_bytes: order.limits().memory_bytes,
            cpus: order.around.cpus.to_vec(),
            descriptors: Descriptors { most: order.descriptors, is_asked: order.around.descriptors.or(start.descriptors).is_some() },
            log: order.log.to_owned(),
            ended: None,
            is_gone: false,
        };
        if !rendered.is_empty() {
            let map = objects::config_map(&pod.spot.name, order.around.run, &rendered);
            cluster.ask("POST", &pod.path("/api/v1", "configmaps", ""), Body::Json(&map))?;
        }
        pod.started_ns = load::clock::now_ns();
        cluster.ask("POST", &pod.path("/apis/apps/v1", "deployments", ""), Body::Json(&deployment))?;
        pod.container = pod.await_running(order)?;
        pod.pid = pod.find()?;
        pod.confine(&[pod.pid])?;
        Ok(pod)
    }

    /// The path of something of its namespace, or of all that belongs to its start.
    pub(super) fn path(&self, group: &str, kind: &str, name: &str) -> String {
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        format!("{group}/namespaces/{}/{kind}{name}", self.spot.namespace)
    }

    /// What a list or a removal is of: what carries the label of its start.
    pub(super) fn of_start(&self) -> String {
        format!("labelSelector={}", escaped(&format!("{START_LABEL}={}", self.spot.name)))
    }

    /// Its pods as the cluster has them now.
    pub(super) fn all(&self) -> Result<Vec<Value>, String> {
        let path = format!("{}?{}", self.path("/api/v1", "pods", ""), self.of_start());
        let all = self.cluster.ask("GET", &path, Body::Nothing)?;
        Ok(all["items"].as_array().cloned().unwrap_or_default())
    }

    /// A pod of its, by name.
    fn own(&self, pod: &str) -> Result<Value, String> {
        self.cluster.ask("GET", &self.path("/api/v1", "pods", pod), Body::Nothing)
    }

    fn ended_at_once(&self, how: &str) -> String {
        let log = self.last_lines(5).join("; ");
        self.keep_log();
        format!("it ended with {how} as soon as it was started{}{log}", if log.is_empty() { "" } else { ": " })
    }

    /// What the cluster warned of, for a failure.
    pub(super) fn warnings(&self) -> String {
        let path = format!("{}?fieldSelector=type%3DWarning", self.path("/api/v1", "events", ""));
        let events = self.cluster.ask("GET", &path, Body::Nothing).unwrap_or_default();
        status::warnings(&events, &self.spot.name).iter().map(|warning| format!("; {warning}")).collect()
    }

    /// Waits until its container runs; what the container is called.
    fn await_running(&mut self, order: &Order<'_>) -> Result<String, String> {
        let within = order.contender.system.ready_within;
        let deadline = self.started_ns + within.as_nanos() as u64;
        let mut waits_for = "no pod was made of it".to_owned();
        loop {
            if let Some(pod) = self.all()?.into_iter().next() {
                self.pod = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                match status::state(&pod, self.memory_bytes) {
                    State::Running(container) => return Ok(container),
                    State::Ended(how) => return Err(self.ended_at_once(&how)),
                    State::Broken(why) => return Err(format!("its pod cannot run: {why}{}", self.warnings())),
                    State::Waiting(what) => waits_for = what,
                }
            }
            if order.around.stop.load(Ordering::Relaxed) {
                return Err("interrupted".into());
            }
            if load::clock::now_ns() > deadline {
                return Err(format!("its pod did not run within {}: {waits_for}{}", show_duration(within), self.warnings()));
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// The first process of its container, as this machine knows it.
    fn find(&self) -> Result<u32, String> {
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        loop {
            if let Some(pid) = root_of(&self.container) {
                return Ok(pid);
            }
            // It may have ended meanwhile, which the cluster notices a second later.
            let pod = self.own(&self.pod)?;
            if let Some(how) = status::ended(&pod, self.memory_bytes) {
                return Err(self.ended_at_once(&how));
            }
            if load::clock::now_ns() > deadline {
                let node = pod["spec"]["nodeName"].as_str().unwrap_or("unknown");
                return Err(format!(
                    "its pod runs on the node {node}, which is not this machine: what a pod uses is read here, where its processes are"
                ));
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// Gives processes and all that descend from them the CPUs and the limit of descriptors that they have outside of a cluster; a pod's
    /// description has no words for either.
    pub(super) fn confine(&self, roots: &[u32]) -> Result<(), String> {
        let tree = trees(roots);
        // Where the kubelet gives it others, the check of its CPUs says so.
        keep_on(&self.cpus, &tree);
        let Descriptors { most, is_asked } = self.descriptors;
        for pid in tree {
            let set = prlimit(Pid::from_raw(pid as i32), Resource::Nofile, Rlimit { current: Some(most), maximum: Some(most) });
            if let Err(error) = set
                && is_asked
                && is_alive(pid)
            {
                return Err(format!("its limit of {most} descriptors cannot be set: {error}"));
            }
        }
        Ok(())
    }

    /// Whether its first process runs.
    fn runs(&self) -> bool {
        cgroup::runs_in(self.pid, &self.container)
    }

    /// Waits until neither it nor any further replica runs.
    fn await_end(&self, most: Duration) -> bool {
        let deadline = load::clock::now_ns() + most.as_nanos() as u64;
        while self.runs() || self.others.iter().any(Replica::runs) {
            if load::clock::now_ns() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Waits until the cluster has no pod of it any more: none of its containers runs then, or will.
    fn await_gone(&self) -> bool {
        let deadline = load::clock::now_ns() + WITHIN.as_nanos() as u64;
        loop {
            match self.all() {
                Ok(pods) if pods.is_empty() => return true,
                Ok(_) if load::clock::now_ns() < deadline => std::thread::sleep(ASK_AGAIN),
                _ => return false,
            }
        }
    }

    /// Asks the cluster until it has noticed the end.
    pub(super) fn learn_end(&self, pod: &str) -> String {
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        loop {
            match self.own(pod).map(|pod| status::state(&pod, self.memory_bytes)) {
                Ok(State::Ended(how)) => return how,
                Ok(State::Broken(why)) => return format!("its pod ({why})"),
                Ok(State::Running(_) | State::Waiting(_)) => {}
                Err(why) => {
                    self.cluster.note(&why);
                    return format!("lost: {why}{}", self.warnings());
                }
            }
            if load::clock::now_ns() > deadline {
                self.cluster.note("it believes that what has ended runs");
                return "lost: the cluster believes that it runs".into();
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// Sees to it that nothing takes its place when it ends: what made it is removed, and it is not.
    fn orphan(&self) {
        let deployments = self.path("/apis/apps/v1", "deployments", &self.spot.name);
        let sets = self.path("/apis/apps/v1", "replicasets", "");
        let _ = self.cluster.ask("DELETE", &format!("{deployments}?propagationPolicy=Orphan"), Body::Nothing);
        let of_start = self.of_start();
        let _ = self.cluster.ask("DELETE", &format!("{sets}?propagationPolicy=Orphan&{of_start}"), Body::Nothing);
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        let is_left = || {
            let left = self.cluster.ask("GET", &format!("{sets}?{of_start}"), Body::Nothing);
            left.is_ok_and(|left| left["items"].as_array().is_some_and(|items| !items.is_empty()))
        };
        while is_left() && load::clock::now_ns() < deadline {
            std::thread::sleep(ASK_AGAIN);
        }
    }

    /// Has the cluster take away what has ended, with the second in which it notes how.
    fn remove_pod(&self) {
        // Without a name it would be all pods of the run.
        if self.pod.is_empty() {
            return;
        }
        let path = format!("{}?gracePeriodSeconds=1", self.path("/api/v1", "pods", &self.pod));
        let _ = self.cluster.ask("DELETE", &path, Body::Nothing);
    }

    fn log_path(&self, query: &str) -> String {
        format!("{}/log?container=system&{query}", self.path("/api/v1", "pods", &self.pod))
    }

    /// Copies what it wrote so far into its log.
    fn keep_log(&self) {
        if let Ok(output) = self.cluster.read(&self.log_path("")) {
            keep(output, &self.log);
        }
    }

    fn remove(&mut self) {
        if self.is_gone {
            return;
        }
        let of_start = self.of_start();
        let mut went = true;
        let mut delete = |path: String| went &= self.cluster.ask("DELETE", &path, Body::Nothing).is_ok();
        // What is gone already is refused: only what can be asked of all at once tells whether it went.
        let _ = self.cluster.ask("DELETE", &self.path("/apis/apps/v1", "deployments", &self.spot.name), Body::Nothing);
        let _ = self.cluster.ask("DELETE", &self.path("/api/v1", "services", &self.spot.name), Body::Nothing);
        if self.spot.has_ingress {
            let _ = self.cluster.ask("DELETE", &self.path("/apis/networking.k8s.io/v1", "ingresses", &self.spot.name), Body::Nothing);
        }
        delete(format!("{}?{of_start}", self.path("/apis/apps/v1", "replicasets", "")));
        // Whose process is not known may be starting yet, and would also once the cluster has forgotten it.
        // What ended by itself may be started again beside us.
        let is_known = self.pid != 0 && self.others.len() + 1 >= self.replicas as usize && self.ended.is_none();
        let grace_seconds = u8::from(!is_known);
        delete(format!("{}?gracePeriodSeconds={grace_seconds}&{of_start}", self.path("/api/v1", "pods", "")));
        delete(format!("{}?{of_start}", self.path("/api/v1", "configmaps", "")));
        if !is_known {
            went &= self.await_gone();
        }
        // Nothing of it may run beside whoever comes next.
        if !self.await_end(NOTICES_WITHIN) {
            went &= self.signal(Signal::KILL);
        }
        self.is_gone = went;
    }

    /// Sends a signal to those that run; whether all got it.
    fn signal(&self, signal: Signal) -> bool {
        let first = self.runs().then_some(self.pid);
        let pids = first.into_iter().chain(self.others.iter().filter(|replica| replica.runs()).map(|replica| replica.pid));
        // Each gets it, whatever became of the one before.
        let went: Vec<bool> = pids.map(|pid| Pid::from_raw(pid as i32).is_some_and(|pid| kill_process(pid, signal).is_ok())).collect();
        went.into_iter().all(|went| went)
    }
}

/// Whole seconds, as a cluster counts, and one at least: with none it would not be asked to end, but killed.
fn grace_seconds(within: Duration) -> u64 {
    (within.as_nanos().div_ceil(1_000_000_000) as u64).max(1)
}

/// The first process of a container: the one in its control group whose parent is not.
pub(super) fn root_of(container: &str) -> Option<u32> {
    // Anything less could be part of another's name.
    if container.len() < 12 {
        return None;
    }
    let parents = parents();
    let is_inside = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|groups| groups.contains(container));
    let inside: BTreeSet<u32> = parents.keys().copied().filter(is_inside).collect();
    inside.iter().copied().find(|pid| parents.get(pid).is_none_or(|parent| !inside.contains(parent)))
}

/// Appends an output to a file. Without it there is none to show, nothing worse.
fn keep(output: impl Read, log: &Path) {
    if let Ok(mut file) = std::fs::File::options().append(true).create(true).open(log) {
        let _ = std::io::copy(&mut output.take(LOG_MAX), &mut file);
    }
}

/// Reads what a watch tells of a pod until it has ended: how.
fn end_told(watch: impl Read, memory_bytes: Option<u64>) -> String {
    for line in BufReader::new(watch).lines().map_while(Result::ok) {
        let Ok(told) = serde_json::from_str::<Value>(&line) else { break };
        if let Some(status) = status::ended(&told["object"], memory_bytes) {
            return status;
        }
        match told["type"].as_str() {
            Some("DELETED") => break,
            Some("ERROR") => return format!("lost: {}", told["object"]["message"].as_str().unwrap_or_default()),
            _ => {}
        }
    }
    "lost: the cluster does not say how".into()
}

impl Started for Pod {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn started_ns(&self) -> u64 {
        self.started_ns
    }

    fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            self.ended = if self.runs() { self.ended_of_others() } else { Some(self.learn_end(&self.pod)) };
        }
        self.ended.clone()
    }

    fn others(&self) -> Vec<u32> {
        self.others.iter().map(|replica| replica.pid).collect()
    }

    fn scale_out(&mut self, asks: &Asks<'_>, within: Duration, stop: &AtomicBool) -> Result<Option<ScaledOut>, String> {
        self.ask_for_all(asks, within, stop)
    }

    fn log(&self) -> &Path {
        &self.log
    }

    fn last_lines(&self, most: usize) -> Vec<String> {
        let mut text = Vec::new();
        match self.cluster.read(&self.log_path(&format!("tailLines={most}"))) {
            Ok(output) => drop(output.take(1 << 20).read_to_end(&mut text)),
            // Once it is gone, there is what was kept of it.
            Err(_) => return last_lines(&self.log, most),
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<String> = text.lines().map(without_colours).filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(most)..].to_vec()
    }

    fn stop(mut self: Box<Self>, signal: StopSignal, within: Duration) -> Stop {
        // Its group goes with its first process.
        let pids = std::iter::once(self.pid).chain(self.others());
        let memory_kills: u64 = pids.filter_map(cgroup::own_usage).map(|usage| usage.memory_kills).sum();
        self.orphan();
        self.dismiss_others(grace_seconds(within));
        // How it ended and what it wrote are known only as long as the pod is.
        // From whatever state the cluster has at hand (0): the newest is waited for in vain where pods alone have not changed since.
        let of_it = format!("watch=1&resourceVersion=0&fieldSelector=metadata.name%3D{}", self.pod);
        let watch = format!("{}?{of_it}", self.path("/api/v1", "pods", ""));
        let (watch, output) = (self.cluster.read(&watch), self.cluster.read(&self.log_path("follow=1")));
        let begin = load::clock::now_ns();
        // A cluster asks with TERM alone, and only once its kubelet has come to it.
        self.signal(as_signal(signal));
        let mut killed = false;
        if !self.await_end(within) {
            killed = true;
            self.signal(Signal::KILL);
            self.await_end(WITHIN);
        }
        let took_ns = load::clock::now_ns() - begin;
        // Before it is started again.
        self.remove_pod();
        let status = match (self.ended.clone(), watch) {
            (Some(status), _) => status,
            (None, Ok(watch)) => end_told(watch, self.memory_bytes),
            (None, Err(why)) => format!("lost: {why}"),
        };
        if let Some(why) = status.strip_prefix("lost: ") {
            self.cluster.note(why);
        }
        if let Ok(output) = output {
            keep(output, &self.log);
        }
        self.remove();
        Stop { ended: Ended { status }, took_ns, killed, orphans: 0, memory_kills }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::{Receiver, channel};

    /// A cluster that has a pod for so many looks, and what is asked of it.
    fn a_cluster(looks: usize) -> (tempfile::TempDir, Rc<Cluster>, Receiver<String>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("api");
        let listener = UnixListener::bind(&socket).unwrap();
        let (sender, asked) = channel();
        std::thread::spawn(move || {
            let mut left = looks;
            for mut client in listener.incoming().flatten() {
                let line = BufReader::new(&client).lines().next().unwrap().unwrap();
                let is_look = line.starts_with("GET") && line.contains("/pods?");
                let items = if is_look && left > 0 { "[{}]" } else { "[]" };
                left = left.saturating_sub(usize::from(is_look));
                let _ = sender.send(line);
                let _ = write!(client, "HTTP/1.0 200 OK\r\n\r\n{{\"items\":{items}}}");
            }
        });
        (folder, Rc::new(Cluster::at(socket)), asked)
    }

    fn pod(cluster: Rc<Cluster>, pid: u32, replicas: u32) -> Pod {
        Pod {
            cluster,
            spot: Spot { namespace: "n".into(), name: "start-1".into(), ports: vec![], has_ingress: false },
            pod: String::new(),
            container: "0123abcd".repeat(8),
            pid,
            replicas,
            others: vec![],
            started_ns: 0,
            memory_bytes: None,
            cpus: vec![],
            descriptors: Descriptors { most: 0, is_asked: false },
            log: PathBuf::new(),
            ended: None,
            is_gone: false,
        }
    }

    #[test]
    fn what_may_be_starting_yet_is_waited_for_until_it_is_gone() {
        // One whose process was known (another has got its number), one whose process was not, and one of two.
        for (pid, replicas, grace, looks) in
            [(1, 1, "gracePeriodSeconds=0", 0), (0, 1, "gracePeriodSeconds=1", 4), (1, 2, "gracePeriodSeconds=1", 4)]
        {
            let (_folder, cluster, asked) = a_cluster(3);
            let mut pod = pod(cluster, pid, replicas);
            pod.remove();
            assert!(pod.is_gone);
            let asked: Vec<String> = asked.try_iter().collect();
            let removed = asked.iter().find(|line| line.starts_with("DELETE") && line.contains("/pods?")).unwrap();
            assert!(removed.contains(grace), "{removed}");
            assert_eq!(asked.iter().filter(|line| line.starts_with("GET")).count(), looks, "{asked:?}");
        }
    }

    #[test]
    fn grace_is_in_whole_seconds_and_never_none() {
        let of = |milliseconds| grace_seconds(Duration::from_millis(milliseconds));
        assert_eq!([of(0), of(500), of(1000), of(1001), of(10_000)], [1, 1, 1, 2, 10]);
    }

    #[test]
    fn a_watch_tells_the_end_wherever_it_is_cut() {
        let line = |kind: &str, state: &str| {
            format!("{{\"type\":\"{kind}\",\"object\":{{\"status\":{{\"containerStatuses\":[{{\"state\":{state}}}]}}}}}}\n")
        };
        let end = "{\"terminated\":{\"exitCode\":143,\"reason\":\"Error\"}}";
        let all = [line("ADDED", "{\"running\":{}}"), line("MODIFIED", end)].concat();
        assert_eq!(end_told(all.as_bytes(), None), "exit 143");
        let lost = "lost: the cluster does not say how";
        for cut in 0..all.len() - 1 {
            assert_eq!(end_told(&all.as_bytes()[..cut], None), lost, "cut at {cut}");
        }
        assert_eq!(end_told(line("DELETED", "{\"running\":{}}").as_bytes(), None), lost);
        let refused = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"too old\"}}\n";
        assert_eq!(end_told(refused.as_bytes(), None), "lost: too old");
    }

    #[test]
    fn no_process_is_found_of_a_container_without_a_name() {
        assert_eq!(root_of(""), None);
        assert_eq!(root_of(&"0123abcd".repeat(8)), None);
    }
}
