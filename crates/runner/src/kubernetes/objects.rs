//! What the cluster is told to make.

use crate::image::WORK;
use crate::place::Limits;
use load::agents::TOKEN_VARIABLE;
use model::experiment::Network;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The label of all that is made, with the run's id.
pub(super) const RUN_LABEL: &str = "faceoff.run";
/// The label of what belongs to one start, with its name.
pub(super) const START_LABEL: &str = "faceoff.start";
/// The label of agents, with the name of their job.
pub(super) const AGENTS_LABEL: &str = "faceoff.agents";

/// What tells nodes apart.
pub(super) const HOST_LABEL: &str = "kubernetes.io/hostname";
/// Nobody: an agent writes nothing.
const NOBODY: u32 = 65_534;
/// The key of the token in its secret.
const TOKEN_KEY: &str = "token";

/// The name of a run's namespace: in small letters and digits, 63 characters at most; `unique` tells it from all others of that id.
pub(super) fn namespace_name(run: &str, unique: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let id: String = run.chars().map(plain).take(40).collect();
    ["faceoff", id.trim_matches('-'), unique].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("-")
}

/// A text as the value of a label: letters, digits, `-`, `_` and `.`, 63 at most, a letter or digit at either end.
fn label(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let value: String = text.chars().map(plain).take(63).collect();
    value.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// The namespace of a run.
pub(super) fn namespace(name: &str, run: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {RUN_LABEL: label(run)}}})
}

/// The service of one start: where it is reached, whichever pod it is.
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
            // Whether it is ready is found by asking it, here as everywhere.
            "publishNotReadyAddresses": true,
        },
    })
}

/// What has everything that comes to a class of Ingresses go to the service of a start.
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

/// The files that were rendered for a start, each under a key of its own: not every name of a file may be one.
pub(super) fn config_map(name: &str, run: &str, rendered: &[(String, String)]) -> Value {
    let data: BTreeMap<String, &str> = rendered.iter().enumerate().map(|(n, (_, text))| (key(n), text.as_str())).collect();
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

/// What a deployment runs.
pub(super) struct Runs<'a> {
    pub name: &'a str,
    pub image: &'a str,
    pub command: &'a [String],
    pub env: &'a BTreeMap<String, String>,
    pub ports: &'a [u16],
    /// Names of files in the config map, in its order.
    pub rendered: &'a [String],
    /// How long it may take to end when it is asked to.
    pub grace_seconds: u64,
    /// Who runs it: user and group.
    pub user: (u32, u32),
    /// How much of a machine it may use.
    pub limits: Limits,
    /// Whether there will be more of it.
    pub is_one_of_many: bool,
    /// The host name of the node on which it is to run, where there are several.
    pub node: Option<&'a str>,
}

/// The deployment of one start, of one pod.
pub(super) fn deployment(runs: &Runs<'_>, run: &str) -> Value {
    let (program, arguments) = runs.command.split_first().map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
    let arguments: Vec<String> = arguments.iter().map(|argument| literal(argument)).collect();
    let env: Vec<Value> = runs.env.iter().map(|(name, value)| json!({"name": name, "value": literal(value)})).collect();
    let ports: Vec<Value> = runs.ports.iter().map(|port| json!({"containerPort": port})).collect();
    let mut mounts = vec![json!({"name": "work", "mountPath": WORK})];
    let mut volumes = vec![json!({"name": "work", "emptyDir": {}})];
    if !runs.rendered.is_empty() {
        volumes.push(json!({"name": "rendered", "configMap": {"name": runs.name}}));
    }
    for (n, file) in runs.rendered.iter().enumerate() {
        mounts.push(json!({"name": "rendered", "mountPath": format!("{WORK}/{file}"), "subPath": key(n)}));
    }
    let mut limits = serde_json::Map::new();
    if let Some(cpus) = runs.limits.cpus {
        limits.insert("cpu".into(), json!(format!("{}m", (cpus * 1000.0).round().max(1.0) as u64)));
    }
    if let Some(bytes) = runs.limits.memory_bytes {
        limits.insert("memory".into(), json!(bytes.to_string()));
    }
    // Many are to be where there is no room for all their limits: they ask for little (Burstable).
    let requests = if runs.is_one_of_many { json!({"cpu": "5m", "memory": "4Mi"}) } else { json!(limits) };
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
                        // It was loaded; whatever a registry has under this name is something else.
                        "imagePullPolicy": "Never",
                        "command": [literal(program)],
                        "args": arguments,
                        "env": env,
                        "ports": ports,
                        "volumeMounts": mounts,
                        "resources": {"requests": requests, "limits": limits},
                        // As it would run as a process.
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

/// How many pods a deployment shall have.
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
    /// Of their job, and of the secret that holds their token.
    pub name: &'a str,
    pub image: &'a str,
    pub pods: u32,
    pub port: u16,
    /// CPU time of each a second, in milliseconds.
    pub cpu_millis: u64,
    pub memory_bytes: u64,
    /// What this machine is called, where there are several nodes.
    pub apart_from: Option<&'a str>,
}

/// What agents and whoever asks them know.
pub(super) fn agents_secret(name: &str, run: &str, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {RUN_LABEL: label(run), AGENTS_LABEL: name}},
        "stringData": {TOKEN_KEY: token},
    })
}

/// The job of agents: each in a pod that is started once.
pub(super) fn agents_job(agents: &Agents<'_>, run: &str) -> Value {
    let name = agents.name;
    let labels = json!({RUN_LABEL: label(run), AGENTS_LABEL: name});
    // Requests are the limits: nobody takes from who makes the load.
    let resources = json!({"cpu": format!("{}m", agents.cpu_millis), "memory": agents.memory_bytes.to_string()});
    let mut pod = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{
            // Its command is the image's.
            "name": "agent",
            "image": agents.image,
            "imagePullPolicy": "Never",
            "env": [{"name": TOKEN_VARIABLE, "valueFrom": {"secretKeyRef": {"name": name, "key": TOKEN_KEY}}}],
            "ports": [{"containerPort": agents.port}],
            "resources": {"requests": resources, "limits": resources},
            "securityContext": {"runAsUser": NOBODY, "runAsGroup": NOBODY, "allowPrivilegeEscalation": false},
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

/// On no node on which something of the run is started, now or later, in whichever of its namespaces; nor on this machine, where that is to
/// be.
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

/// A text in which the cluster replaces nothing: `$(NAME)` means a variable there, and `$$` a dollar.
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
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let (command, rendered) = (owned(command), owned(rendered));
        let env = BTreeMap::from([("HOME".to_owned(), "$(PATH)".to_owned())]);
        let (image, ports) = ("faceoff/a:latest-0123456789ab", &[8080_u16][..]);
        let (name, command, env, rendered) = ("start-1", &command[..], &env, &rendered[..]);
        let (is_one_of_many, node) = (replicas > 1, (replicas > 1).then_some("here"));
        let runs = Runs { name, image, command, env, ports, rendered, grace_seconds: 10, user: (7, 8), limits, is_one_of_many, node };
        deployment(&runs, "Bank Of 2026/é")
    }

    #[test]
    fn names_are_what_a_cluster_takes() {
        let long = namespace_name(&"Reverse_Proxy.2026 é".repeat(9), "0123456789");
        let is_plain = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(long.len() <= 63 && is_plain(&long) && long.ends_with("-0123456789"), "{long}");
        assert_eq!(namespace_name("bank-20261121", "ab"), "faceoff-bank-20261121-ab");
        assert_eq!(namespace_name("é/", "ab"), "faceoff-ab");
        assert_eq!(label("-a/b_c."), "a-b_c");
        assert_eq!(label(""), "");
    }

    #[test]
    fn requests_are_the_limits_and_nothing_is_asked_where_nothing_is_said() {
        let resources = |limits| made(limits, &["/app/a"], &[])["spec"]["template"]["spec"]["containers"][0]["resources"].clone();
        let both = resources(Limits { cpus: Some(0.5), memory_bytes: Some(64 << 20) });
        assert_eq!(both["limits"], json!({"cpu": "500m", "memory": "67108864"}));
        assert_eq!(both["requests"], both["limits"]);
        assert_eq!(resources(Limits::default())["limits"], json!({}));
    }

    #[test]
    fn many_ask_for_less_than_they_may() {
        let limits = Limits { cpus: Some(0.5), memory_bytes: Some(64 << 20) };
        let made = made_of(10, limits, &["/app/a"], &[]);
        let resources = &made["spec"]["template"]["spec"]["containers"][0]["resources"];
        assert_eq!(*resources, json!({"requests": {"cpu": "5m", "memory": "4Mi"}, "limits": {"cpu": "500m", "memory": "67108864"}}));
        // All but the first are asked for once that answers.
        assert_eq!((&made["spec"]["replicas"], &scale("n", "start-1", 10)["spec"]["replicas"]), (&json!(1), &json!(10)));
    }

    #[test]
    fn it_runs_where_it_is_told_to() {
        let selector = |replicas| {
            let made = made_of(replicas, Limits::default(), &["/app/a"], &[]);
            made["spec"]["template"]["spec"]["nodeSelector"].clone()
        };
        assert_eq!((selector(2), selector(1)), (json!({"kubernetes.io/hostname": "here"}), json!(null)));
    }

    #[test]
    fn nothing_of_a_command_or_its_environment_is_replaced() {
        let container = made(Limits::default(), &["/app/a", "$(HOME)", "a$$b"], &[])["spec"]["template"]["spec"]["containers"][0].clone();
        assert_eq!(container["command"], json!(["/app/a"]));
        assert_eq!(container["args"], json!(["$$(HOME)", "a$$$$b"]));
        assert_eq!(container["env"], json!([{"name": "HOME", "value": "$$(PATH)"}]));
    }

    #[test]
    fn rendered_files_are_mounted_where_the_system_looks_for_them() {
        let pod = made(Limits::default(), &["/app/a"], &["nginx.conf", "more.conf"])["spec"]["template"]["spec"].clone();
        assert_eq!(pod["volumes"][1], json!({"name": "rendered", "configMap": {"name": "start-1"}}));
        let mount = &pod["containers"][0]["volumeMounts"][2];
        assert_eq!(*mount, json!({"name": "rendered", "mountPath": "/run/faceoff/more.conf", "subPath": "file-1"}));
        let map = config_map("start-1", "x", &[("nginx.conf".into(), "one".into()), ("more.conf".into(), "two".into())]);
        assert_eq!(map["data"], json!({"file-0": "one", "file-1": "two"}));
        assert_eq!(made(Limits::default(), &["/app/a"], &[])["spec"]["template"]["spec"]["volumes"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_service_finds_the_pods_of_its_start_alone() {
        let made = service("start-1", "x", &[("http".into(), 8080), ("admin".into(), 8081)], Network::NodePort);
        assert_eq!((&made["spec"]["type"], &made["spec"]["selector"]), (&json!("NodePort"), &json!({"faceoff.start": "start-1"})));
        assert_eq!(made["spec"]["ports"][1]["targetPort"], 8081);
        assert_eq!(service("s", "x", &[], Network::ClusterIp)["spec"]["type"], "ClusterIP");
        let before = ingress("start-1", "x", "nginx", 8080);
        let backend = &before["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
        assert_eq!(*backend, json!({"name": "start-1", "port": {"number": 8080}}));
        assert_eq!(before["spec"]["ingressClassName"], "nginx");
    }

    fn agents(apart_from: Option<&str>) -> Value {
        let (name, image, port) = ("agents-1", "faceoff/faceoff-agent:latest-0123456789ab", 8080);
        agents_job(&Agents { name, image, pods: 3, port, cpu_millis: 500, memory_bytes: 300 << 20, apart_from }, "Bank Of 2026/é")
    }

    #[test]
    fn agents_are_an_indexed_job_that_starts_nobody_again() {
        let spec = agents(None)["spec"].clone();
        assert_eq!((&spec["completions"], &spec["parallelism"], &spec["backoffLimit"]), (&json!(3), &json!(3), &json!(0)));
        assert_eq!((&spec["completionMode"], &spec["template"]["spec"]["restartPolicy"]), (&json!("Indexed"), &json!("Never")));
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["resources"]["limits"], json!({"cpu": "500m", "memory": "314572800"}));
        assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
        assert_eq!(container["image"], "faceoff/faceoff-agent:latest-0123456789ab");
        // What is measured is selected by another label: no service finds an agent.
        assert_eq!(spec["template"]["metadata"]["labels"], json!({"faceoff.run": "Bank-Of-2026", "faceoff.agents": "agents-1"}));
    }

    #[test]
    fn the_token_of_agents_stands_in_their_secret_alone() {
        let (secret, job) = (agents_secret("agents-1", "x", "0123"), agents(None));
        assert_eq!(secret["stringData"], json!({"token": "0123"}));
        let env = &job["spec"]["template"]["spec"]["containers"][0]["env"];
        let from = json!({"secretKeyRef": {"name": "agents-1", "key": "token"}});
        assert_eq!(*env, json!([{"name": "FACEOFF_AGENT_TOKEN", "valueFrom": from}]));
        assert!(!job.to_string().contains("0123\""), "{job}");
    }

    #[test]
    fn where_there_are_several_nodes_agents_are_apart_from_what_is_measured() {
        assert_eq!(agents(None)["spec"]["template"]["spec"]["affinity"], json!(null), "one node has them all");
        let affinity = agents(Some("here"))["spec"]["template"]["spec"]["affinity"].clone();
        let term = &affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(term["namespaceSelector"], json!({"matchLabels": {"faceoff.run": "Bank-Of-2026"}}));
        assert_eq!(term["labelSelector"]["matchExpressions"], json!([{"key": "faceoff.start", "operator": "Exists"}]));
        let terms = &affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        let not_here = json!({"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["here"]});
        assert_eq!(*terms, json!([{"matchExpressions": [not_here]}]));
    }
}
