//! The JSON of the objects that are made in a cluster: namespaces, services, deployments, jobs.
//!
//! Each function returns one object. There is no I/O in this module.

use crate::image::WORK;
use crate::place::Limits;
use load::agents::TOKEN_VARIABLE;
use serde_json::{Value, json};
use spec::experiment::Network;
use std::collections::BTreeMap;

/// The label of all objects, with the run's id.
pub(super) const RUN_LABEL: &str = "faceoff.run";
/// The label of the objects of one start, with its name.
pub(super) const START_LABEL: &str = "faceoff.start";
/// The label of agents, with the name of their job.
pub(super) const AGENTS_LABEL: &str = "faceoff.agents";

/// The label that distinguishes nodes.
pub(super) const HOST_LABEL: &str = "kubernetes.io/hostname";
/// The user of agents, who owns nothing: an agent writes no file.
const AGENT_USER: u32 = 65_534;
/// The key of the token in its secret.
const TOKEN_KEY: &str = "token";

/// The name of a run's namespace: at most 63 lower-case letters and digits. `unique` distinguishes
/// runs of the same id.
pub(super) fn namespace_name(run: &str, unique: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let id: String = run.chars().map(plain).take(40).collect();
    ["faceoff", id.trim_matches('-'), unique]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join("-")
}

/// A text as the value of a label: at most 63 letters, digits, `-`, `_` and `.`, with a letter or
/// digit at either end.
fn label(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let value: String = text.chars().map(plain).take(63).collect();
    value.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// The namespace of a run.
pub(super) fn namespace(name: &str, run: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {RUN_LABEL: label(run)}}})
}

/// The service of one start, which has the same address for each of its pods.
pub(super) fn service(name: &str, run: &str, ports: &[(String, u16)], network: Network) -> Value {
    // Names of ports are shorter than ours may be.
    let ports: Vec<Value> = ports
        .iter()
        .enumerate()
        .map(|(n, (_, port))| json!({"name": format!("port-{n}"), "port": port, "targetPort": port, "protocol": "TCP"}))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {RUN_LABEL: label(run), START_LABEL: name}},
        "spec": {
            "type": if network == Network::NodePort { "NodePort" } else { "ClusterIP" },
            "selector": {START_LABEL: name},
            "ports": ports,
            // Requests show whether it is ready, as for all other runners.
            "publishNotReadyAddresses": true,
        },
    })
}

/// The Ingress that forwards all requests of a class to the service of a start.
pub(super) fn ingress(name: &str, run: &str, class: &str, port: u16) -> Value {
    let backend = json!({"service": {"name": name, "port": {"number": port}}});
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "labels": {RUN_LABEL: label(run), START_LABEL: name}},
        "spec": {
            "ingressClassName": class,
            "rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        },
    })
}

/// The rendered files of a start, each under a generated key, as not every file name is a valid
/// key.
pub(super) fn config_map(name: &str, run: &str, rendered: &[(String, String)]) -> Value {
    let data: BTreeMap<String, &str> =
        rendered.iter().enumerate().map(|(n, (_, text))| (key(n), text.as_str())).collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {RUN_LABEL: label(run), START_LABEL: name}},
        "data": data,
    })
}

fn key(n: usize) -> String {
    format!("file-{n}")
}

/// The pod of a deployment.
pub(super) struct Runs<'a> {
    pub name: &'a str,
    pub image: &'a str,
    pub command: &'a [String],
    pub env: &'a BTreeMap<String, String>,
    pub ports: &'a [u16],
    /// Names of files in the config map, in its order.
    pub rendered: &'a [String],
    /// How long it may take to end.
    pub grace_seconds: u64,
    /// User and group.
    pub user: (u32, u32),
    /// How much of a machine it may use.
    pub limits: Limits,
    /// Whether it will have more replicas.
    pub is_one_of_many: bool,
    /// The host name of its node, if there are several.
    pub node: Option<&'a str>,
}

/// The deployment of one start, with one pod.
pub(super) fn deployment(runs: &Runs<'_>, run: &str) -> Value {
    let (program, arguments) = runs
        .command
        .split_first()
        .map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
    let arguments: Vec<String> = arguments.iter().map(|argument| literal(argument)).collect();
    let env: Vec<Value> = runs
        .env
        .iter()
        .map(|(name, value)| json!({"name": name, "value": literal(value)}))
        .collect();
    let ports: Vec<Value> = runs.ports.iter().map(|port| json!({"containerPort": port})).collect();
    let mut mounts = vec![json!({"name": "work", "mountPath": WORK})];
    let mut volumes = vec![json!({"name": "work", "emptyDir": {}})];
    if !runs.rendered.is_empty() {
        volumes.push(json!({"name": "rendered", "configMap": {"name": runs.name}}));
    }
    for (n, file) in runs.rendered.iter().enumerate() {
        mounts.push(
            json!({"name": "rendered", "mountPath": format!("{WORK}/{file}"), "subPath": key(n)}),
        );
    }
    let labels = json!({RUN_LABEL: label(run), START_LABEL: runs.name});
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": runs.name, "labels": labels},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {START_LABEL: runs.name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    "terminationGracePeriodSeconds": runs.grace_seconds,
                    "volumes": volumes,
                    "containers": [{
                        "name": "system",
                        "image": runs.image,
                        // The image was loaded. A registry may have another one under this name.
                        "imagePullPolicy": "Never",
                        "command": [literal(program)],
                        "args": arguments,
                        "env": env,
                        "ports": ports,
                        "volumeMounts": mounts,
                        "resources": resources(runs),
                        // As a process would run.
                        "securityContext": {"runAsUser": runs.user.0, "runAsGroup": runs.user.1, "allowPrivilegeEscalation": false},
                    }],
                },
            },
        },
    });
    if let Some(node) = runs.node {
        deployment["spec"]["template"]["spec"]["nodeSelector"] = json!({HOST_LABEL: node});
    }
    deployment
}

/// The limits and requests of a container. One of several replicas requests little (Burstable), as
/// a node may not have room for the limits of all.
fn resources(runs: &Runs<'_>) -> Value {
    let mut limits = serde_json::Map::new();
    if let Some(cpus) = runs.limits.cpus {
        limits.insert("cpu".into(), json!(format!("{}m", (cpus * 1000.0).round().max(1.0) as u64)));
    }
    if let Some(bytes) = runs.limits.memory_bytes {
        limits.insert("memory".into(), json!(bytes.to_string()));
    }
    let requests =
        if runs.is_one_of_many { json!({"cpu": "5m", "memory": "4Mi"}) } else { json!(limits) };
    json!({"requests": requests, "limits": limits})
}

/// Sets the number of pods of a deployment.
pub(super) fn scale(namespace: &str, name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas},
    })
}

/// The agents of a run.
pub(super) struct Agents<'a> {
    /// The name of their job, and of the secret with their token.
    pub name: &'a str,
    pub image: &'a str,
    pub pods: u32,
    pub port: u16,
    /// CPU time of each per second, in milliseconds.
    pub cpu_millis: u64,
    pub memory_bytes: u64,
    /// The name of this machine, if there are several nodes.
    pub apart_from: Option<&'a str>,
}

/// The secret with the token of agents.
pub(super) fn agents_secret(name: &str, run: &str, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {RUN_LABEL: label(run), AGENTS_LABEL: name}},
        "stringData": {TOKEN_KEY: token},
    })
}

/// The job of agents: each runs in a pod that is started once.
pub(super) fn agents_job(agents: &Agents<'_>, run: &str) -> Value {
    let name = agents.name;
    let labels = json!({RUN_LABEL: label(run), AGENTS_LABEL: name});
    // Requests equal the limits, so no pod takes CPU time from the load generator.
    let resources = json!({"cpu": format!("{}m", agents.cpu_millis), "memory": agents.memory_bytes.to_string()});
    let mut pod = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{
            // The image has the command.
            "name": "agent",
            "image": agents.image,
            "imagePullPolicy": "Never",
            "env": [{"name": TOKEN_VARIABLE, "valueFrom": {"secretKeyRef": {"name": name, "key": TOKEN_KEY}}}],
            "ports": [{"containerPort": agents.port}],
            "resources": {"requests": resources, "limits": resources},
            "securityContext": {"runAsUser": AGENT_USER, "runAsGroup": AGENT_USER, "allowPrivilegeEscalation": false},
        }],
    });
    if let Some(machine) = agents.apart_from {
        pod["affinity"] = apart(machine, run);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": agents.pods,
            "parallelism": agents.pods,
            "backoffLimit": 0,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}

/// Keeps agents off every node that runs, or will run, a pod of the run in any of its namespaces.
/// Keeps them off this machine as well, if it is a node.
fn apart(machine: &str, run: &str) -> Value {
    let of_run = json!({RUN_LABEL: label(run)});
    json!({
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": HOST_LABEL,
            "namespaceSelector": {"matchLabels": of_run},
            "labelSelector": {"matchLabels": of_run, "matchExpressions": [{"key": START_LABEL, "operator": "Exists"}]},
        }]},
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": HOST_LABEL, "operator": "NotIn", "values": [label(machine)]}]},
        ]}},
    })
}

/// A text in which the cluster replaces nothing. There, `$(NAME)` is a variable, and `$$` a dollar.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(limits: Limits, command: &[&str], rendered: &[&str]) -> Value {
        made_of(1, limits, command, rendered)
    }

    fn made_of(replicas: u32, limits: Limits, command: &[&str], rendered: &[&str]) -> Value {
        let owned =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let (command, rendered) = (owned(command), owned(rendered));
        let env = BTreeMap::from([("HOME".to_owned(), "$(PATH)".to_owned())]);
        let (image, ports) = ("faceoff/a:latest-0123456789ab", &[8080_u16][..]);
        let (name, command, env, rendered) = ("start-1", &command[..], &env, &rendered[..]);
        let (is_one_of_many, node) = (replicas > 1, (replicas > 1).then_some("here"));
        let runs = Runs {
            name,
            image,
            command,
            env,
            ports,
            rendered,
            grace_seconds: 10,
            user: (7, 8),
            limits,
            is_one_of_many,
            node,
        };
        deployment(&runs, "Bank Of 2026/é")
    }

    #[test]
    fn names_and_labels_are_valid_in_a_cluster() {
        let long = namespace_name(&"Reverse_Proxy.2026 é".repeat(9), "0123456789");
        let is_plain = |name: &str| {
            name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        assert!(long.len() <= 63 && is_plain(&long) && long.ends_with("-0123456789"), "{long}");
        assert_eq!(namespace_name("bank-20261121", "ab"), "faceoff-bank-20261121-ab");
        assert_eq!(namespace_name("é/", "ab"), "faceoff-ab");
        assert_eq!(label("-a/b_c."), "a-b_c");
        assert_eq!(label(""), "");
    }

    #[test]
    fn requests_equal_the_limits() {
        let resources = |limits| {
            made(limits, &["/app/a"], &[])["spec"]["template"]["spec"]["containers"][0]["resources"]
                .clone()
        };
        let both = resources(Limits { cpus: Some(0.5), memory_bytes: Some(64 << 20) });
        assert_eq!(both["limits"], json!({"cpu": "500m", "memory": "67108864"}));
        assert_eq!(both["requests"], both["limits"]);
        assert_eq!(resources(Limits::default())["limits"], json!({}));
    }

    #[test]
    fn one_of_several_replicas_requests_less_than_its_limit() {
        let limits = Limits { cpus: Some(0.5), memory_bytes: Some(64 << 20) };
        let made = made_of(10, limits, &["/app/a"], &[]);
        let resources = &made["spec"]["template"]["spec"]["containers"][0]["resources"];
        assert_eq!(
            *resources,
            json!({"requests": {"cpu": "5m", "memory": "4Mi"}, "limits": {"cpu": "500m", "memory": "67108864"}})
        );
        // Further replicas are requested when the first one responds.
        assert_eq!(
            (&made["spec"]["replicas"], &scale("n", "start-1", 10)["spec"]["replicas"]),
            (&json!(1), &json!(10))
        );
    }

    #[test]
    fn pod_runs_on_the_requested_node() {
        let selector = |replicas| {
            let made = made_of(replicas, Limits::default(), &["/app/a"], &[]);
            made["spec"]["template"]["spec"]["nodeSelector"].clone()
        };
        assert_eq!(
            (selector(2), selector(1)),
            (json!({"kubernetes.io/hostname": "here"}), json!(null))
        );
    }

    #[test]
    fn command_and_environment_are_literal() {
        let container = made(Limits::default(), &["/app/a", "$(HOME)", "a$$b"], &[])["spec"]["template"]["spec"]["containers"][0].clone();
        assert_eq!(container["command"], json!(["/app/a"]));
        assert_eq!(container["args"], json!(["$$(HOME)", "a$$$$b"]));
        assert_eq!(container["env"], json!([{"name": "HOME", "value": "$$(PATH)"}]));
    }

    #[test]
    fn rendered_files_are_mounted_in_the_work_folder() {
        let pod =
            made(Limits::default(), &["/app/a"], &["nginx.conf", "more.conf"])["spec"]["template"]
                ["spec"]
                .clone();
        assert_eq!(
            pod["volumes"][1],
            json!({"name": "rendered", "configMap": {"name": "start-1"}})
        );
        let mount = &pod["containers"][0]["volumeMounts"][2];
        assert_eq!(
            *mount,
            json!({"name": "rendered", "mountPath": "/run/faceoff/more.conf", "subPath": "file-1"})
        );
        let map = config_map(
            "start-1",
            "x",
            &[("nginx.conf".into(), "one".into()), ("more.conf".into(), "two".into())],
        );
        assert_eq!(map["data"], json!({"file-0": "one", "file-1": "two"}));
        assert_eq!(
            made(Limits::default(), &["/app/a"], &[])["spec"]["template"]["spec"]["volumes"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
    }

    #[test]
    fn service_selects_only_pods_of_its_start() {
        let made = service(
            "start-1",
            "x",
            &[("http".into(), 8080), ("admin".into(), 8081)],
            Network::NodePort,
        );
        assert_eq!(
            (&made["spec"]["type"], &made["spec"]["selector"]),
            (&json!("NodePort"), &json!({"faceoff.start": "start-1"}))
        );
        assert_eq!(made["spec"]["ports"][1]["targetPort"], 8081);
        assert_eq!(service("s", "x", &[], Network::ClusterIp)["spec"]["type"], "ClusterIP");
        let before = ingress("start-1", "x", "nginx", 8080);
        let backend = &before["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
        assert_eq!(*backend, json!({"name": "start-1", "port": {"number": 8080}}));
        assert_eq!(before["spec"]["ingressClassName"], "nginx");
    }

    fn agents(apart_from: Option<&str>) -> Value {
        let (name, image, port) = ("agents-1", "faceoff/faceoff-agent:latest-0123456789ab", 8080);
        agents_job(
            &Agents {
                name,
                image,
                pods: 3,
                port,
                cpu_millis: 500,
                memory_bytes: 300 << 20,
                apart_from,
            },
            "Bank Of 2026/é",
        )
    }

    #[test]
    fn agents_are_an_indexed_job_without_restarts() {
        let spec = agents(None)["spec"].clone();
        assert_eq!(
            (&spec["completions"], &spec["parallelism"], &spec["backoffLimit"]),
            (&json!(3), &json!(3), &json!(0))
        );
        assert_eq!(
            (&spec["completionMode"], &spec["template"]["spec"]["restartPolicy"]),
            (&json!("Indexed"), &json!("Never"))
        );
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["limits"], json!({"cpu": "500m", "memory": "314572800"}));
        assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
        assert_eq!(container["image"], "faceoff/faceoff-agent:latest-0123456789ab");
        // The service selects pods by another label, so it does not find an agent.
        assert_eq!(
            spec["template"]["metadata"]["labels"],
            json!({"faceoff.run": "Bank-Of-2026", "faceoff.agents": "agents-1"})
        );
    }

    #[test]
    fn token_of_agents_is_only_in_their_secret() {
        let (secret, job) = (agents_secret("agents-1", "x", "0123"), agents(None));
        assert_eq!(secret["stringData"], json!({"token": "0123"}));
        let env = &job["spec"]["template"]["spec"]["containers"][0]["env"];
        let from = json!({"secretKeyRef": {"name": "agents-1", "key": "token"}});
        assert_eq!(*env, json!([{"name": "FACEOFF_AGENT_TOKEN", "valueFrom": from}]));
        assert!(!job.to_string().contains("0123\""), "{job}");
    }

    #[test]
    fn agents_avoid_nodes_with_measured_pods() {
        assert_eq!(
            agents(None)["spec"]["template"]["spec"]["affinity"],
            json!(null),
            "one node has them all"
        );
        let affinity = agents(Some("here"))["spec"]["template"]["spec"]["affinity"].clone();
        let term =
            &affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(
            term["namespaceSelector"],
            json!({"matchLabels": {"faceoff.run": "Bank-Of-2026"}})
        );
        assert_eq!(
            term["labelSelector"]["matchExpressions"],
            json!([{"key": "faceoff.start", "operator": "Exists"}])
        );
        let terms = &affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        let not_here =
            json!({"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["here"]});
        assert_eq!(*terms, json!([{"matchExpressions": [not_here]}]));
    }
}
