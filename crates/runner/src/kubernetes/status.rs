//! Reads the state of a pod from the cluster's description.
//!
//! Start with [`state`]. There is no I/O in this module.

use serde_json::Value;
use spec::units::show_bytes;
use std::net::IpAddr;

/// The state of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It waits for this.
    Waiting(String),
    /// Its container of this name runs.
    Running(String),
    /// Its container has ended at least once, in this way.
    Ended(String),
    /// It will never run, for this reason of the cluster.
    Broken(String),
}

/// Reasons to wait from which a container never recovers. Its node retries others with success: a
/// secret that could not be read within a second (CreateContainerConfigError), or a slow container
/// runtime (CreateContainerError, RunContainerError).
const FATAL: [&str; 5] = [
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CrashLoopBackOff",
];

/// The state of a pod, from the cluster's description.
pub(super) fn state(pod: &Value, memory_bytes: Option<u64>) -> State {
    let status = &pod["status"];
    let container = &status["containerStatuses"][0];
    if let Some(status) = ended(pod, memory_bytes) {
        return State::Ended(status);
    }
    if status["phase"] == "Failed" {
        return State::Broken(reason(status).unwrap_or_else(|| "its pod failed".into()));
    }
    if container["state"]["running"].is_object()
        && let Some((_, id)) = container["containerID"].as_str().and_then(|id| id.split_once("://"))
    {
        return State::Running(id.to_owned());
    }
    let waiting = &container["state"]["waiting"];
    if let Some(why) = reason(waiting) {
        let is_fatal = waiting["reason"].as_str().is_some_and(|reason| FATAL.contains(&reason));
        return if is_fatal { State::Broken(why) } else { State::Waiting(why) };
    }
    let unmet = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["status"] == "False");
    State::Waiting(unmet.and_then(reason).unwrap_or_else(|| "its pod is pending".into()))
}

/// How its container ended, if it has. If it was started again, how it ended before.
pub(super) fn ended(pod: &Value, memory_bytes: Option<u64>) -> Option<String> {
    let status = &pod["status"];
    let container = &status["containerStatuses"][0];
    let end = [&container["state"]["terminated"], &container["lastState"]["terminated"]]
        .into_iter()
        .find(|end| end.is_object())?;
    let code = end["exitCode"].as_i64().unwrap_or(-1);
    let evicted = (status["reason"] == "Evicted").then(|| reason(status)).flatten();
    Some(match (evicted, end["reason"].as_str()) {
        (Some(evicted), _) => format!("exit {code} ({evicted})"),
        (None, Some("OOMKilled")) => {
            let limit =
                memory_bytes.map(|limit| format!(" of {}", show_bytes(limit))).unwrap_or_default();
            format!("exit {code}, out of its memory{limit}")
        }
        (None, Some(reason)) if !matches!(reason, "Completed" | "Error") => {
            match end["message"].as_str() {
                Some(message) => format!("exit {code} ({reason}: {})", message.trim()),
                None => format!("exit {code} ({reason})"),
            }
        }
        _ => format!("exit {code}"),
    })
}

fn reason(of: &Value) -> Option<String> {
    let reason = of["reason"].as_str()?;
    Some(match of["message"].as_str().filter(|message| !message.is_empty()) {
        Some(message) => format!("{reason}: {message}"),
        None => reason.to_owned(),
    })
}

/// The address of a pod within the cluster.
pub(super) fn address(pod: &Value) -> Option<IpAddr> {
    pod["status"]["podIP"].as_str()?.parse().ok()
}

/// Why no node is ready, in the cluster's words; `None` if one is ready or none is known.
pub(super) fn not_ready(nodes: &[Value]) -> Option<String> {
    let why = |node: &Value| {
        let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions
            .find(|condition| condition["type"] == "Ready" && condition["status"] != "True")?;
        let name = node["metadata"]["name"].as_str().unwrap_or("unknown");
        Some(format!(
            "its node {name} is not ready{}",
            reason(ready).map(|reason| format!(" ({reason})")).unwrap_or_default()
        ))
    };
    nodes.iter().map(why).collect::<Option<Vec<String>>>()?.into_iter().next()
}

/// The last warnings about the objects of a start, each once, in the cluster's words.
pub(super) fn warnings(events: &Value, start: &str) -> Vec<String> {
    let is_of_start = |event: &&Value| {
        let rest =
            event["involvedObject"]["name"].as_str().and_then(|name| name.strip_prefix(start));
        event["type"] == "Warning"
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    let mut found: Vec<String> = Vec::new();
    for text in
        events["items"].as_array().into_iter().flatten().filter(is_of_start).filter_map(reason)
    {
        found.retain(|before| *before != text);
        found.push(text);
    }
    found.split_off(found.len().saturating_sub(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(state: Value, last: Value) -> Value {
        json!({"status": {"phase": "Running", "containerStatuses": [
            {"containerID": "containerd://0123abc", "state": state, "lastState": last}]}})
    }

    #[test]
    fn state_of_a_pod_follows_its_container() {
        let of = |pod: &Value| state(pod, Some(64 << 20));
        assert_eq!(
            of(&json!({"status": {"phase": "Pending"}})),
            State::Waiting("its pod is pending".into())
        );
        let condition = json!({"status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"});
        let unscheduled = json!({"status": {"phase": "Pending", "conditions": [condition]}});
        assert_eq!(
            of(&unscheduled),
            State::Waiting("Unschedulable: 0/1 nodes are available".into())
        );
        let waiting =
            |reason: &str| pod(json!({"waiting": {"reason": reason, "message": "m"}}), json!({}));
        assert_eq!(
            of(&waiting("ContainerCreating")),
            State::Waiting("ContainerCreating: m".into())
        );
        assert_eq!(of(&waiting("ErrImageNeverPull")), State::Broken("ErrImageNeverPull: m".into()));
        let tried_again = "CreateContainerConfigError";
        assert_eq!(
            of(&waiting(tried_again)),
            State::Waiting(format!("{tried_again}: m")),
            "as of a secret that is not read yet"
        );
        assert_eq!(of(&pod(json!({"running": {}}), json!({}))), State::Running("0123abc".into()));
        assert_eq!(
            of(&pod(json!({"terminated": {"exitCode": 2, "reason": "Error"}}), json!({}))),
            State::Ended("exit 2".into())
        );
    }

    #[test]
    fn restarted_container_counts_as_ended() {
        let again = pod(
            json!({"running": {}}),
            json!({"terminated": {"exitCode": 0, "reason": "Completed"}}),
        );
        assert_eq!(state(&again, None), State::Ended("exit 0".into()));
        let killed = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        let looping = pod(json!({"waiting": {"reason": "CrashLoopBackOff"}}), killed);
        assert_eq!(
            state(&looping, Some(64 << 20)),
            State::Ended("exit 137, out of its memory of 64.0 MiB".into())
        );
        let odd = pod(
            json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file\n"}}),
            json!({}),
        );
        assert_eq!(ended(&odd, None).as_deref(), Some("exit 128 (StartError: no such file)"));
    }

    #[test]
    fn eviction_reports_its_reason() {
        let text = json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}});
        assert_eq!(
            state(&text, None),
            State::Broken("Evicted: The node was low on memory.".into())
        );
    }

    #[test]
    fn first_node_is_named_if_none_is_ready() {
        let node = |name: &str, status: &str| {
            let conditions = [
                json!({"type": "MemoryPressure", "status": "False"}),
                json!({"type": "Ready", "status": status, "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}),
            ];
            json!({"metadata": {"name": name}, "status": {"conditions": conditions}})
        };
        assert_eq!(not_ready(&[node("a", "True"), node("b", "Unknown")]), None);
        let found = not_ready(&[node("b", "Unknown"), node("a", "False")]);
        assert_eq!(
            found.as_deref(),
            Some(
                "its node b is not ready (NodeStatusUnknown: Kubelet stopped posting node status.)"
            )
        );
        assert_eq!(not_ready(&[json!(null), json!({"status": {"conditions": 3}})]), None);
        assert_eq!(not_ready(&[]), None);
    }

    #[test]
    fn pod_of_unknown_form_is_pending() {
        for odd in [
            json!(null),
            json!([1]),
            json!({"status": 3}),
            json!({"status": {"containerStatuses": [{"state": "running"}]}}),
        ] {
            assert!(matches!(state(&odd, None), State::Waiting(_)), "{odd}");
            assert!(warnings(&odd, "start-1").is_empty());
        }
    }

    #[test]
    fn only_the_last_warnings_of_a_start_are_reported() {
        let event = |name: &str, reason: &str| json!({"type": "Warning", "reason": reason, "message": "m", "involvedObject": {"name": name}});
        let items = [
            event("start-1-a-b", "A"),
            event("start-12-a-b", "B"),
            event("start-1", "C"),
            event("start-1-a-b", "A"),
        ];
        assert_eq!(warnings(&json!({"items": items}), "start-1"), ["C: m", "A: m"]);
        let normal =
            json!({"type": "Normal", "reason": "Pulled", "involvedObject": {"name": "start-1"}});
        assert!(warnings(&json!({"items": [normal]}), "start-1").is_empty());
    }
}
