//! A cluster, and the namespace of a run in it.
//!
//! Requests go through `kubectl proxy`, as only kubectl knows how the user logs in. The proxy
//! listens on a socket of ours, runs under a guard, and is idle while a load runs. Start with
//! [`Cluster::open`].

use super::{leftovers, objects, status};
use crate::engine::{Body, Engine, EngineError};
use crate::notes::{Left, Note};
use crate::process::{Process, Spec};
use crate::sha256::hex_digest;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a cluster may take for a quick request.
pub(super) const WITHIN: Duration = Duration::from_secs(30);
/// How long `kubectl proxy` may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
/// How long a new namespace may take until pods can be made in it.
const USABLE_WITHIN: Duration = Duration::from_secs(20);

/// How long removing a namespace with its pods may take.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// A cluster. Dropping it removes everything that was made in it.
pub(super) struct Cluster {
    engine: Engine,
    /// The proxy, which ends when this is dropped.
    kubectl: RefCell<Option<Process>>,
    socket: PathBuf,
    /// The kubectl context of cluster and user; empty if it has no name.
    context: String,
    /// Its name, and the note about it.
    namespace: RefCell<Option<(String, Note)>>,
}

/// Words a failure of a cluster.
pub(super) fn word_error(error: EngineError) -> String {
    match error {
        EngineError::Silent(cause) => format!("the cluster does not respond: {cause}"),
        EngineError::Refused(message) => format!("the cluster refuses: {message}"),
    }
}

impl Cluster {
    /// Connects to the cluster of kubectl.
    pub fn open() -> Result<Cluster, String> {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let folder = leftovers::folder()?;
        let name = format!("{}-{}", std::process::id(), OPENED.fetch_add(1, Ordering::Relaxed));
        let socket = folder.join(format!("{name}.api"));
        let mut cluster = Cluster::at_socket(socket);
        let context =
            crate::needs::output_of(&["kubectl", "config", "current-context"].map(str::to_owned))
                .unwrap_or_default();
        cluster.context = context.lines().next().unwrap_or_default().trim().to_owned();
        cluster.proxy()?;
        Ok(cluster)
    }

    /// The cluster at a socket.
    pub fn at_socket(socket: PathBuf) -> Cluster {
        let engine = Engine::at_socket(socket.clone());
        Cluster {
            engine,
            kubectl: RefCell::default(),
            socket,
            context: String::new(),
            namespace: RefCell::default(),
        }
    }

    /// Starts `kubectl proxy`, and ends an earlier one. Waits until the cluster responds through
    /// it.
    fn proxy(&self) -> Result<(), String> {
        drop(self.kubectl.borrow_mut().take());
        let _ = std::fs::remove_file(&self.socket);
        let log = self.socket.with_extension("log");
        let here = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
        let command = leftovers::in_context(
            &["kubectl", "proxy", &format!("--unix-socket={}", self.socket.display())],
            &self.context,
        );
        let mut kubectl = Process::start(&Spec {
            command: &command,
            // KUBECONFIG may name paths relative to the current folder.
            folder: &here,
            env: &BTreeMap::new(),
            cpus: &[],
            descriptors: None,
            log: &log,
            user: None,
            run: "kubernetes",
        })?;
        let listens = listens(&self.engine, &mut kubectl);
        let _ = std::fs::remove_file(&log);
        // Forget failures from before it listened.
        let _past = self.engine.lost();
        *self.kubectl.borrow_mut() = Some(kubectl);
        listens
    }

    /// Sends a request, and reads the whole response.
    pub fn request(&self, method: &str, path: &str, body: Body<'_>) -> Result<Value, String> {
        self.engine.request(method, path, body, WITHIN).map_err(word_error)
    }

    /// Sends a request whose response arrives bit by bit.
    pub fn stream(&self, path: &str) -> Result<impl Read + use<>, String> {
        self.engine.open("GET", path, Body::Nothing, WITHIN).map_err(word_error)
    }

    /// Forwards a port of a pod to loopback of this machine, while the returned process lives.
    pub fn forward(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
        cpus: &[usize],
    ) -> Result<(Process, SocketAddr), String> {
        let log = self.socket.with_extension(format!("{pod}.log"));
        let _ = std::fs::remove_file(&log);
        let here = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
        let [namespace, pod, port] =
            [format!("--namespace={namespace}"), format!("pod/{pod}"), format!(":{port}")];
        let words = ["kubectl", "port-forward", "--address=127.0.0.1", &namespace, &pod, &port];
        let command = leftovers::in_context(&words, &self.context);
        let env = BTreeMap::new();
        let (folder, run) = (here.as_path(), "kubernetes");
        let mut kubectl = Process::start(&Spec {
            command: &command,
            folder,
            env: &env,
            cpus,
            descriptors: None,
            log: &log,
            user: None,
            run,
        })?;
        let at = forwards(&mut kubectl);
        let _ = std::fs::remove_file(&log);
        at.map(|at| (kubectl, at))
    }

    /// The namespace of the run, made on the first call.
    pub fn namespace(&self, run: &str) -> Result<String, String> {
        if let Some((name, _)) = &*self.namespace.borrow() {
            return Ok(name.clone());
        }
        let name = objects::namespace_name(run, &unique(&self.socket));
        let (kubeconfig, context) = (leftovers::kubeconfig(), self.context.clone());
        let note = Note::write(&Left::Namespace { name: name.clone(), kubeconfig, context })?;
        self.request("POST", "/api/v1/namespaces", Body::Json(&objects::namespace(&name, run)))?;
        *self.namespace.borrow_mut() = Some((name.clone(), note));
        // Pods can be made once it has a default service account.
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        let deadline = load::clock::now_ns() + USABLE_WITHIN.as_nanos() as u64;
        while let Err(why) = self.request("GET", &account, Body::Nothing) {
            if load::clock::now_ns() > deadline {
                return Err(format!("no pod can be made in the namespace {name}: {why}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(name)
    }

    /// How the cluster failed since the last call. Failures of systems meanwhile may be due to it.
    pub fn lost(&self) -> Option<String> {
        let nodes = self.nodes().unwrap_or_default();
        self.engine.lost().or_else(|| status::not_ready(&nodes))
    }

    /// Records a failure of the cluster.
    pub fn note(&self, how: &str) {
        self.engine.note(how);
    }

    /// Removes the namespace with everything in it, once the cluster responds again. The next start
    /// gets another one.
    pub fn renew(&self) -> Result<(), String> {
        if self.request("GET", "/version", Body::Nothing).is_err() {
            // The proxy must forget the state of a cluster that was replaced.
            self.proxy()?;
        }
        if let Some(why) = status::not_ready(&self.nodes()?) {
            return Err(why);
        }
        let Some(name) = self.namespace.borrow().as_ref().map(|(name, _)| name.clone()) else {
            return Ok(());
        };
        let path = format!("/api/v1/namespaces/{name}");
        // A cluster that was replaced does not have it.
        let _ = self.request("DELETE", &path, Body::Nothing);
        let deadline = load::clock::now_ns() + GONE_WITHIN.as_nanos() as u64;
        while !matches!(self.engine.request("GET", &path, Body::Nothing, WITHIN), Err(EngineError::Refused(why)) if why.contains("not found"))
        {
            if load::clock::now_ns() > deadline {
                return Err(format!("the namespace {name} is not removed"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        if let Some((_, note)) = self.namespace.borrow_mut().take() {
            note.forget();
        }
        Ok(())
    }

    /// The nodes of the cluster.
    pub fn nodes(&self) -> Result<Vec<Value>, String> {
        let all = self.request("GET", "/api/v1/nodes", Body::Nothing)?;
        Ok(all["items"].as_array().cloned().unwrap_or_default())
    }

    /// Whether all nodes have an image of this name.
    pub fn has_image(&self, name: &str) -> bool {
        let is_it = |known: &str| {
            known.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let names = |node: &Value| {
            let images = node["status"]["images"].as_array().cloned().unwrap_or_default();
            images
                .iter()
                .flat_map(|image| image["names"].as_array().cloned().unwrap_or_default())
                .collect::<Vec<Value>>()
        };
        // Without permission to list nodes, the image is loaded again, which does no harm.
        let nodes = self.nodes().unwrap_or_default();
        !nodes.is_empty()
            && nodes.iter().all(|node| names(node).iter().filter_map(Value::as_str).any(is_it))
    }
}

/// Waits until the cluster responds.
fn listens(engine: &Engine, kubectl: &mut Process) -> Result<(), String> {
    let deadline = load::clock::now_ns() + LISTENS_WITHIN.as_nanos() as u64;
    loop {
        let why = match engine.request("GET", "/version", Body::Nothing, WITHIN) {
            Ok(_) => return Ok(()),
            // The proxy listens, and reports an error of the cluster.
            Err(refused @ EngineError::Refused(_)) => return Err(word_error(refused)),
            Err(silent) => silent.to_string(),
        };
        if let Some(ended) = kubectl.ended() {
            let status = ended.status.clone();
            let log = kubectl.last_lines(3).join("; ");
            return Err(format!(
                "`kubectl proxy` ended with {status}{}{log}",
                if log.is_empty() { "" } else { ": " }
            ));
        }
        if load::clock::now_ns() > deadline {
            return Err(format!("`kubectl proxy` does not listen: {why}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until `kubectl port-forward` prints its address.
fn forwards(kubectl: &mut Process) -> Result<SocketAddr, String> {
    let deadline = load::clock::now_ns() + LISTENS_WITHIN.as_nanos() as u64;
    loop {
        // The address is printed before it ends, if at all.
        let ended = kubectl.ended().map(|ended| ended.status.clone());
        let lines = kubectl.last_lines(3);
        if let Some(at) = lines.iter().find_map(|line| forwarded(line)) {
            return Ok(at);
        }
        if let Some(status) = ended {
            return Err(format!(
                "`kubectl port-forward` ended with {status}: {}",
                lines.join("; ")
            ));
        }
        if load::clock::now_ns() > deadline {
            return Err("`kubectl port-forward` does not listen".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Parses the address in `Forwarding from 127.0.0.1:36431 -> 8080`.
fn forwarded(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("Forwarding from ")?.split(' ').next()?.parse().ok()
}

/// A text that makes the names of namespaces unique across runs and machines.
fn unique(socket: &Path) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let host = rustix::system::uname();
    let text = format!(
        "{machine} {} {} {}",
        host.nodename().to_string_lossy(),
        socket.display(),
        load::clock::now_ns()
    );
    hex_digest(text)[..8].to_owned()
}

/// The address of services that listen on nodes: the first internal address of a node.
pub(super) fn node_address(nodes: &[Value]) -> Option<IpAddr> {
    let addresses =
        nodes.iter().flat_map(|node| node["status"]["addresses"].as_array().into_iter().flatten());
    addresses
        .filter(|address| address["type"] == "InternalIP")
        .find_map(|address| address["address"].as_str()?.parse().ok())
}

/// The name of this machine, in the form of node names.
pub(super) fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_lowercase()
}

/// The host name of the node that is this machine, if there are others. Pods must run here to be
/// measured.
pub(super) fn own_node(nodes: &[Value], machine: &str) -> Option<String> {
    let mut names =
        nodes.iter().filter_map(|node| node["metadata"]["labels"][objects::HOST_LABEL].as_str());
    names.find(|name| nodes.len() > 1 && *name == machine).map(str::to_owned)
}

/// The number of nodes that accept any pod.
pub(super) fn schedulable(nodes: &[Value]) -> usize {
    fn is_barred(node: &Value) -> bool {
        let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
        node["spec"]["unschedulable"] == true
            || taints.any(|taint| taint["effect"] != "PreferNoSchedule")
    }
    nodes.iter().filter(|node| !is_barred(node)).count()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some((name, note)) = self.namespace.get_mut().take() {
            // If this fails, the note remains for a later run.
            if self.request("DELETE", &format!("/api/v1/namespaces/{name}"), Body::Nothing).is_ok()
            {
                note.forget();
            }
        }
        let _ = std::fs::remove_file(&self.socket);
        if let Some(folder) = self.socket.parent() {
            // Fails unless it is empty.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn node_address_is_the_first_internal_one() {
        let node = |kind: &str, address: &str| {
            let addresses = [
                json!({"type": "Hostname", "address": "n"}),
                json!({"type": kind, "address": address}),
            ];
            json!({"status": {"addresses": addresses}})
        };
        assert_eq!(
            node_address(&[node("ExternalIP", "9.9.9.9"), node("InternalIP", "10.0.0.7")]),
            Some(IpAddr::from([10, 0, 0, 7]))
        );
        assert_eq!(node_address(&[node("InternalIP", "nowhere"), json!(null)]), None);
    }

    #[test]
    fn nodes_that_accept_no_pods_do_not_count() {
        let node = |spec: Value| json!({"spec": spec});
        let taint = |effect: &str| node(json!({"taints": [{"key": "k", "effect": effect}]}));
        assert_eq!(
            schedulable(&[
                node(json!({})),
                node(json!({"unschedulable": true})),
                taint("NoSchedule"),
                taint("NoExecute")
            ]),
            1
        );
        assert_eq!(
            schedulable(&[
                taint("PreferNoSchedule"),
                json!({"spec": {"unschedulable": false}}),
                json!(null)
            ]),
            3
        );
    }

    #[test]
    fn own_node_is_found_among_several() {
        let node = |name: &str| json!({"metadata": {"labels": {"kubernetes.io/hostname": name}}});
        assert_eq!(own_node(&[node("other"), node("here")], "here"), Some("here".into()));
        assert_eq!(
            own_node(&[node("kind-1"), json!(null)], "here"),
            None,
            "a node with another name is not this machine"
        );
        assert_eq!(own_node(&[node("here")], "here"), None, "one node has them all");
    }

    #[test]
    fn forwarded_address_is_read_from_output_of_kubectl() {
        assert_eq!(
            forwarded("Forwarding from 127.0.0.1:36431 -> 8080"),
            Some(SocketAddr::from(([127, 0, 0, 1], 36431)))
        );
        assert_eq!(
            forwarded("Forwarding from [::1]:36431 -> 8080").map(|at| at.is_ipv6()),
            Some(true)
        );
        for odd in [
            "",
            "Forwarding from",
            "Forwarding from nowhere",
            "Handling connection for 36431",
            "error: no pod",
        ] {
            assert_eq!(forwarded(odd), None, "{odd}");
        }
    }

    #[test]
    fn unique_texts_differ() {
        let socket = Path::new("/nowhere");
        let (one, two) = (unique(socket), unique(socket));
        assert!(one != two && one.len() == 8, "{one} {two}");
    }
}
