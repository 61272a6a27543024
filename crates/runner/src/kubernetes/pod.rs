//! The pod of one start: made through a deployment, followed, and removed.
//!
//! If a contender has several replicas, this is the first one; `scale_out` adds the others.
//! `started` implements its stop. Start with [`Pod::start`].

use super::cluster::{Cluster, WITHIN, machine, own_node};
use super::objects::{self, Runs, START_LABEL};
use super::replica::{Replica, root_of};
use super::status::{self, State};
use crate::cgroup;
use crate::cpus::keep_on;
use crate::engine::Body;
use crate::place::Order;
use crate::process::{last_lines, without_colours};
use crate::procfs::{is_alive, trees};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;
use spec::name::percent_encoded;
use spec::units::show_duration;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long the cluster may take to notice an end.
const NOTICES_WITHIN: Duration = Duration::from_secs(10);
/// Pause between two requests for the state of a pod.
const POLL: Duration = Duration::from_millis(10);
/// Maximum length of output that is kept.
const LOG_MAX: u64 = 64 << 20;

/// The objects of a start in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub namespace: String,
    /// The name of its service, its deployment, and all its other objects.
    pub name: String,
    /// The ports on which it listens.
    pub ports: Vec<u16>,
    /// Whether it has an Ingress of a class of the cluster.
    pub has_ingress: bool,
}

/// A pod that was started. Dropping it removes it and all its objects.
pub(super) struct Pod {
    pub(super) cluster: Rc<Cluster>,
    pub(super) spot: Spot,
    /// The name that the cluster gave it.
    pub(super) pod: String,
    /// The name of its container.
    container: String,
    pub(super) pid: u32,
    /// Number of replicas, including this one.
    pub(super) replicas: u32,
    /// The further replicas that have given a correct response.
    pub(super) others: Vec<Replica>,
    pub(super) started_ns: u64,
    pub(super) memory_bytes: Option<u64>,
    cpus: Vec<usize>,
    descriptors: Descriptors,
    pub(super) log: PathBuf,
    pub(super) ended: Option<String>,
    is_gone: bool,
}

/// The limit of descriptors of a process.
#[derive(Clone, Copy)]
struct Descriptors {
    most: u64,
    /// Whether the experiment or the manifest sets it.
    is_asked: bool,
}

impl Pod {
    /// Makes a pod, and waits until its container runs.
    pub fn start(
        cluster: &Rc<Cluster>,
        image: &str,
        spot: Spot,
        order: &Order<'_>,
    ) -> Result<Pod, String> {
        let (start, stop) = (&order.contender.system.start, &order.contender.system.stop);
        let read = |file: &String| -> Result<(String, String), String> {
            let text = std::fs::read_to_string(order.work.join(file))
                .map_err(|e| format!("{file} cannot be read: {e}"))?;
            Ok((file.clone(), text))
        };
        let rendered = start.render.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let replicas = order.contender.name.share().replicas.unwrap_or(1);
        // Without permission to list nodes, a pod on another node is only noticed once it runs.
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
        // From here on every return removes it.
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
            descriptors: Descriptors {
                most: order.descriptors,
                is_asked: order.around.descriptors.or(start.descriptors).is_some(),
            },
            log: order.log.to_owned(),
            ended: None,
            is_gone: false,
        };
        if !rendered.is_empty() {
            let map = objects::config_map(&pod.spot.name, order.around.run, &rendered);
            cluster.request("POST", &pod.path("/api/v1", "configmaps", ""), Body::Json(&map))?;
        }
        pod.started_ns = load::clock::now_ns();
        cluster.request(
            "POST",
            &pod.path("/apis/apps/v1", "deployments", ""),
            Body::Json(&deployment),
        )?;
        pod.container = pod.await_running(order)?;
        pod.pid = pod.find_process()?;
        pod.confine(&[pod.pid])?;
        Ok(pod)
    }

    /// The path of an object of its namespace; of all objects of a kind without a name.
    pub(super) fn path(&self, group: &str, kind: &str, name: &str) -> String {
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        format!("{group}/namespaces/{}/{kind}{name}", self.spot.namespace)
    }

    /// The selector of objects with the label of its start.
    pub(super) fn of_start(&self) -> String {
        format!("labelSelector={}", percent_encoded(&format!("{START_LABEL}={}", self.spot.name)))
    }

    /// All pods of its start, as the cluster has them now.
    pub(super) fn list_pods(&self) -> Result<Vec<Value>, String> {
        let path = format!("{}?{}", self.path("/api/v1", "pods", ""), self.of_start());
        let all = self.cluster.request("GET", &path, Body::Nothing)?;
        Ok(all["items"].as_array().cloned().unwrap_or_default())
    }

    /// One pod of its start, by name.
    fn own(&self, pod: &str) -> Result<Value, String> {
        self.cluster.request("GET", &self.path("/api/v1", "pods", pod), Body::Nothing)
    }

    fn ended_at_once(&self, how: &str) -> String {
        let log = self.last_output(5).join("; ");
        self.keep_log();
        format!(
            "it ended with {how} as soon as it was started{}{log}",
            if log.is_empty() { "" } else { ": " }
        )
    }

    /// The warnings of the cluster, to append to a failure.
    pub(super) fn warnings(&self) -> String {
        let path = format!("{}?fieldSelector=type%3DWarning", self.path("/api/v1", "events", ""));
        let events = self.cluster.request("GET", &path, Body::Nothing).unwrap_or_default();
        status::warnings(&events, &self.spot.name)
            .iter()
            .map(|warning| format!("; {warning}"))
            .collect()
    }

    /// Waits until its container runs. Returns the name of the container.
    fn await_running(&mut self, order: &Order<'_>) -> Result<String, String> {
        let within = order.contender.system.ready_within;
        let deadline = self.started_ns + within.as_nanos() as u64;
        let mut waits_for = "no pod was made of it".to_owned();
        loop {
            if let Some(pod) = self.list_pods()?.into_iter().next() {
                self.pod = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                match status::state(&pod, self.memory_bytes) {
                    State::Running(container) => return Ok(container),
                    State::Ended(how) => return Err(self.ended_at_once(&how)),
                    State::Broken(why) => {
                        return Err(format!("its pod cannot run: {why}{}", self.warnings()));
                    }
                    State::Waiting(what) => waits_for = what,
                }
            }
            if order.around.stop.load(Ordering::Relaxed) {
                return Err("interrupted".into());
            }
            if load::clock::now_ns() > deadline {
                return Err(format!(
                    "its pod did not run within {}: {waits_for}{}",
                    show_duration(within),
                    self.warnings()
                ));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Finds the first process of its container on this machine.
    fn find_process(&self) -> Result<u32, String> {
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        loop {
            if let Some(pid) = root_of(&self.container) {
                return Ok(pid);
            }
            // The cluster notices an end up to a second later.
            let pod = self.own(&self.pod)?;
            if let Some(how) = status::ended(&pod, self.memory_bytes) {
                return Err(self.ended_at_once(&how));
            }
            if load::clock::now_ns() > deadline {
                let node = pod["spec"]["nodeName"].as_str().unwrap_or("unknown");
                return Err(format!(
                    "its pod runs on the node {node}, which is not this machine; faceoff reads \
                     the resources of pods on its own machine only"
                ));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Gives processes and their descendants the CPUs and the limit of descriptors that they have
    /// outside of a cluster. The description of a pod has no field for either.
    pub(super) fn confine(&self, roots: &[u32]) -> Result<(), String> {
        let tree = trees(roots);
        // If the kubelet chooses other CPUs, a fault reports it.
        keep_on(&self.cpus, &tree);
        let Descriptors { most, is_asked } = self.descriptors;
        for pid in tree {
            let set = prlimit(
                Pid::from_raw(pid as i32),
                Resource::Nofile,
                Rlimit { current: Some(most), maximum: Some(most) },
            );
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
    pub(super) fn runs(&self) -> bool {
        cgroup::runs_in(self.pid, &self.container)
    }

    /// Waits until no replica runs.
    pub(super) fn await_end(&self, most: Duration) -> bool {
        let deadline = load::clock::now_ns() + most.as_nanos() as u64;
        while self.runs() || self.others.iter().any(Replica::runs) {
            if load::clock::now_ns() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Waits until the cluster has none of its pods. Then no container of it runs or will start.
    fn await_gone(&self) -> bool {
        let deadline = load::clock::now_ns() + WITHIN.as_nanos() as u64;
        loop {
            match self.list_pods() {
                Ok(pods) if pods.is_empty() => return true,
                Ok(_) if load::clock::now_ns() < deadline => std::thread::sleep(POLL),
                _ => return false,
            }
        }
    }

    /// Waits until the cluster has noticed an end. Returns how it ended.
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
                self.cluster.note("it reports a pod as running that has ended");
                return "lost: the cluster reports that it runs".into();
            }
            std::thread::sleep(POLL);
        }
    }

    /// Removes its deployment but not its pods, so that the cluster does not replace a pod that
    /// ends.
    pub(super) fn orphan(&self) {
        let deployments = self.path("/apis/apps/v1", "deployments", &self.spot.name);
        let sets = self.path("/apis/apps/v1", "replicasets", "");
        let _ = self.cluster.request(
            "DELETE",
            &format!("{deployments}?propagationPolicy=Orphan"),
            Body::Nothing,
        );
        let of_start = self.of_start();
        let _ = self.cluster.request(
            "DELETE",
            &format!("{sets}?propagationPolicy=Orphan&{of_start}"),
            Body::Nothing,
        );
        let deadline = load::clock::now_ns() + NOTICES_WITHIN.as_nanos() as u64;
        let is_left = || {
            let left = self.cluster.request("GET", &format!("{sets}?{of_start}"), Body::Nothing);
            left.is_ok_and(|left| left["items"].as_array().is_some_and(|items| !items.is_empty()))
        };
        while is_left() && load::clock::now_ns() < deadline {
            std::thread::sleep(POLL);
        }
    }

    /// Removes the pod that has ended. The cluster gets a second to note how.
    pub(super) fn remove_pod(&self) {
        // Without a name, this would remove all pods of the run.
        if self.pod.is_empty() {
            return;
        }
        let path = format!("{}?gracePeriodSeconds=1", self.path("/api/v1", "pods", &self.pod));
        let _ = self.cluster.request("DELETE", &path, Body::Nothing);
    }

    pub(super) fn log_path(&self, query: &str) -> String {
        format!("{}/log?container=system&{query}", self.path("/api/v1", "pods", &self.pod))
    }

    /// Copies its output so far into its log.
    fn keep_log(&self) {
        if let Ok(output) = self.cluster.stream(&self.log_path("")) {
            keep(output, &self.log);
        }
    }

    /// The last lines of its output.
    pub(super) fn last_output(&self, most: usize) -> Vec<String> {
        let mut text = Vec::new();
        match self.cluster.stream(&self.log_path(&format!("tailLines={most}"))) {
            Ok(output) => drop(output.take(1 << 20).read_to_end(&mut text)),
            // Once the pod is gone, its log has the rest.
            Err(_) => return last_lines(&self.log, most),
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<String> =
            text.lines().map(without_colours).filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(most)..].to_vec()
    }

    pub(super) fn remove(&mut self) {
        if self.is_gone {
            return;
        }
        let of_start = self.of_start();
        let mut went = true;
        let mut delete =
            |path: String| went &= self.cluster.request("DELETE", &path, Body::Nothing).is_ok();
        // Removing one object fails if it is already gone, so only the removals of whole lists show
        // whether everything is gone.
        let _ = self.cluster.request(
            "DELETE",
            &self.path("/apis/apps/v1", "deployments", &self.spot.name),
            Body::Nothing,
        );
        let _ = self.cluster.request(
            "DELETE",
            &self.path("/api/v1", "services", &self.spot.name),
            Body::Nothing,
        );
        if self.spot.has_ingress {
            let _ = self.cluster.request(
                "DELETE",
                &self.path("/apis/networking.k8s.io/v1", "ingresses", &self.spot.name),
                Body::Nothing,
            );
        }
        delete(format!("{}?{of_start}", self.path("/apis/apps/v1", "replicasets", "")));
        // A pod whose process is unknown may still start, even after the cluster has forgotten it.
        // A pod that ended by itself may be started again meanwhile.
        let is_known = self.pid != 0
            && self.others.len() + 1 >= self.replicas as usize
            && self.ended.is_none();
        let grace_seconds = u8::from(!is_known);
        delete(format!(
            "{}?gracePeriodSeconds={grace_seconds}&{of_start}",
            self.path("/api/v1", "pods", "")
        ));
        delete(format!("{}?{of_start}", self.path("/api/v1", "configmaps", "")));
        if !is_known {
            went &= self.await_gone();
        }
        // Nothing of it may run next to the next contender.
        if !self.await_end(NOTICES_WITHIN) {
            went &= self.signal(Signal::KILL);
        }
        self.is_gone = went;
    }

    /// Sends a signal to all replicas that run. Returns whether all received it.
    pub(super) fn signal(&self, signal: Signal) -> bool {
        let first = self.runs().then_some(self.pid);
        let pids = first
            .into_iter()
            .chain(self.others.iter().filter(|replica| replica.runs()).map(|replica| replica.pid));
        // A failed signal must not keep it from the others.
        let went: Vec<bool> = pids
            .map(|pid| {
                Pid::from_raw(pid as i32).is_some_and(|pid| kill_process(pid, signal).is_ok())
            })
            .collect();
        went.into_iter().all(|went| went)
    }
}

/// The grace period in whole seconds, at least one. With none, the cluster would kill it at once.
pub(super) fn grace_seconds(within: Duration) -> u64 {
    (within.as_nanos().div_ceil(1_000_000_000) as u64).max(1)
}

/// Appends output to a log file. Errors are ignored: without a log, a failure quotes none.
pub(super) fn keep(output: impl Read, log: &Path) {
    if let Ok(mut file) = std::fs::File::options().append(true).create(true).open(log) {
        let _ = std::io::copy(&mut output.take(LOG_MAX), &mut file);
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
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::{Receiver, channel};

    /// A cluster that has a pod for this number of requests, and the requests that it receives.
    fn cluster_with_a_pod_for(looks: usize) -> (tempfile::TempDir, Rc<Cluster>, Receiver<String>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("api");
        let listener = UnixListener::bind(&socket).unwrap();
        let (sender, requests) = channel();
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
        (folder, Rc::new(Cluster::at_socket(socket)), requests)
    }

    fn pod(cluster: Rc<Cluster>, pid: u32, replicas: u32) -> Pod {
        Pod {
            cluster,
            spot: Spot {
                namespace: "n".into(),
                name: "start-1".into(),
                ports: vec![],
                has_ingress: false,
            },
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
    fn removal_waits_for_pods_that_may_still_start() {
        // A pod with a known process (of another program by now), one with an unknown process, and
        // one of two replicas.
        for (pid, replicas, grace, looks) in [
            (1, 1, "gracePeriodSeconds=0", 0),
            (0, 1, "gracePeriodSeconds=1", 4),
            (1, 2, "gracePeriodSeconds=1", 4),
        ] {
            let (_folder, cluster, requests) = cluster_with_a_pod_for(3);
            let mut pod = pod(cluster, pid, replicas);
            pod.remove();
            assert!(pod.is_gone);
            let requests: Vec<String> = requests.try_iter().collect();
            let removed = requests
                .iter()
                .find(|line| line.starts_with("DELETE") && line.contains("/pods?"))
                .unwrap();
            assert!(removed.contains(grace), "{removed}");
            assert_eq!(
                requests.iter().filter(|line| line.starts_with("GET")).count(),
                looks,
                "{requests:?}"
            );
        }
    }

    #[test]
    fn grace_period_is_at_least_one_whole_second() {
        let of = |milliseconds| grace_seconds(Duration::from_millis(milliseconds));
        assert_eq!([of(0), of(500), of(1000), of(1001), of(10_000)], [1, 1, 1, 2, 10]);
    }
}
