//! Removes what killed runs left in a cluster, and their sockets on this machine.
//!
//! [`clear`] removes sockets, and [`remove_namespace`] a namespace that a note describes. Only
//! names with our prefix are removed.

use crate::needs::output_within;
use crate::notes::{is_ours, make_own};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How long a cluster may take to respond to a removal.
const SILENT: &str = "--request-timeout=15s";
/// How long kubectl may take for a removal, including its login.
const WITHIN: Duration = Duration::from_secs(20);

/// The folder of sockets. It is next to the lock, so the holder of the lock owns them. Other users
/// cannot read it.
fn path() -> PathBuf {
    std::env::temp_dir().join(format!("faceoff-kubernetes-{}", rustix::process::getuid().as_raw()))
}

/// Makes the folder, unless it exists.
pub(super) fn folder() -> Result<PathBuf, String> {
    let path = path();
    make_own(&path).map(|()| path)
}

/// Removes sockets and logs of ended runs. The caller holds the lock, so no other run uses them.
pub fn clear() {
    let folder = path();
    if is_ours(&folder).unwrap_or(false) {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
        let _ = std::fs::remove_dir(&folder);
    }
}

/// The value of KUBECONFIG with absolute paths.
pub(super) fn kubeconfig() -> Option<String> {
    std::env::var_os("KUBECONFIG").map(|list| absolute(&list))
}

fn absolute(list: &OsStr) -> String {
    let paths = std::env::split_paths(list).map(|path| std::path::absolute(&path).unwrap_or(path));
    std::env::join_paths(paths).map_or_else(
        |_| list.to_string_lossy().into_owned(),
        |all| all.to_string_lossy().into_owned(),
    )
}

/// The arguments that remove a namespace; `None` if it is not one of ours.
fn words(namespace: &str, context: &str) -> Option<Vec<String>> {
    // Only namespaces with our prefix are removed, whatever a note contains.
    let namespace = Some(namespace).filter(|name| name.starts_with("faceoff-"))?;
    Some(in_context(
        &["delete", "namespace", namespace, "--ignore-not-found", "--wait=false", SILENT],
        context,
    ))
}

/// A kubectl command for the cluster of a context, even if the user switches to another one
/// meanwhile. Uses the current context if it has no name.
pub(super) fn in_context(words: &[&str], context: &str) -> Vec<String> {
    let context = Some(context)
        .filter(|context| !context.is_empty())
        .map(|context| format!("--context={context}"));
    words.iter().map(|word| (*word).to_owned()).chain(context).collect()
}

/// Removes a namespace of ours from its cluster. Returns what was removed, or why it remains.
pub(crate) fn remove_namespace(
    namespace: &str,
    kubeconfig: Option<&str>,
    context: &str,
) -> Result<String, String> {
    let left = |why: String| format!("the namespace {namespace} is left: {why}");
    let words =
        words(namespace, context).ok_or_else(|| left("its name is not one of ours".into()))?;
    let mut command = Command::new("kubectl");
    command.args(&words);
    match kubeconfig {
        Some(config) => command.env("KUBECONFIG", config),
        None => command.env_remove("KUBECONFIG"),
    };
    let output = output_within(&mut command, WITHIN)
        .map_err(|e| left(format!("kubectl cannot be started: {e}")))?;
    let output = output.ok_or_else(|| {
        left(format!("kubectl was not done within {}", spec::units::show_duration(WITHIN)))
    })?;
    if !output.status.success() {
        return Err(left(output.err.trim().to_owned()));
    }
    Ok(format!("the namespace {namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubeconfig_paths_become_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(OsStr::new("/a/b:c")), format!("/a/b:{}", here.join("c").display()));
    }

    #[test]
    fn only_our_namespaces_are_removed() {
        let all = words("faceoff-x-1", "mine").unwrap();
        assert_eq!(all[..3], ["delete", "namespace", "faceoff-x-1"]);
        assert_eq!(all.last().map(String::as_str), Some("--context=mine"));
        assert!(
            words("faceoff-x-1", "").unwrap().iter().all(|word| !word.starts_with("--context"))
        );
        assert_eq!(["", "default", "--all"].map(|odd| words(odd, "")), [None, None, None]);
    }
}
