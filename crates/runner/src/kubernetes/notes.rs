//! What is kept on disk of the namespaces that are ours, so that a run that was killed leaves none: one file each, written before the
//! cluster is asked to make it, and gone when it is.

use crate::engine::escaped;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long a cluster that is asked to remove something may be silent.
const WITHIN: &str = "--request-timeout=15s";

/// Where notes and sockets are: beside the lock, so that whoever holds it knows whose they are; nobody else's to read.
fn path() -> PathBuf {
    std::env::temp_dir().join(format!("faceoff-kubernetes-{}", rustix::process::getuid().as_raw()))
}

/// Whether it is a folder that nobody else writes in. Anybody may have made one of this name, or a link, before we did; what stands there
/// is removed, or says what kubectl is started with.
fn is_ours(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o022 == 0)
}

/// Makes it, unless it is there.
pub(super) fn folder() -> Result<PathBuf, String> {
    let path = path();
    let _ = DirBuilder::new().mode(0o700).create(&path);
    match is_ours(&path) {
        Ok(true) => Ok(path),
        Ok(false) => Err(format!("{} is not a folder of yours alone", path.display())),
        Err(e) => Err(format!("{} cannot be made: {e}", path.display())),
    }
}

fn file(name: &str) -> PathBuf {
    path().join(format!("{}.json", escaped(name)))
}

/// Notes a namespace that is about to be made, and where.
pub(super) fn write(namespace: &str, context: &str) -> Result<(), String> {
    folder()?;
    let kubeconfig = std::env::var_os("KUBECONFIG").map(|list| absolute(&list));
    let note = json!({"namespace": namespace, "kubeconfig": kubeconfig, "context": context});
    fs::write(file(namespace), note.to_string()).map_err(|e| format!("{} cannot be written: {e}", file(namespace).display()))
}

/// What KUBECONFIG names, as it is called from everywhere.
fn absolute(list: &OsStr) -> String {
    let paths = std::env::split_paths(list).map(|path| std::path::absolute(&path).unwrap_or(path));
    std::env::join_paths(paths).map_or_else(|_| list.to_string_lossy().into_owned(), |all| all.to_string_lossy().into_owned())
}

/// Forgets one that is no more.
pub(super) fn forget(namespace: &str) {
    let _ = fs::remove_file(file(namespace));
}

/// The words that remove what a note names; `None` of one that names nothing.
fn words(note: &Value) -> Option<Vec<String>> {
    // Whatever else stands there: nothing is removed that has another name than ours.
    let namespace = note["namespace"].as_str().filter(|name| name.starts_with("faceoff-"))?;
    let mut words: Vec<String> = ["delete", "namespace", namespace, "--ignore-not-found", "--wait=false", WITHIN].map(str::to_owned).into();
    let context = note["context"].as_str().filter(|context| !context.is_empty());
    words.extend(context.map(|context| format!("--context={context}")));
    Some(words)
}

/// Removes the namespaces of runs that held the lock which whoever calls holds now: they are over. What was removed, and what could
/// not be: why.
pub fn clear() -> (Vec<String>, Vec<String>) {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    let folder = path();
    if !is_ours(&folder).unwrap_or(false) {
        return (removed, kept);
    }
    let Ok(entries) = fs::read_dir(&folder) else { return (removed, kept) };
    for entry in entries.flatten().map(|entry| entry.path()) {
        if entry.extension().is_none_or(|extension| extension != "json") {
            // Sockets and logs of those that were killed.
            let _ = fs::remove_file(&entry);
            continue;
        }
        match remove(&entry) {
            Ok(name) => removed.push(name),
            Err(why) => kept.push(why),
        }
    }
    // Only where it is empty.
    let _ = fs::remove_dir(&folder);
    (removed, kept)
}

fn remove(file: &Path) -> Result<String, String> {
    let text = fs::read(file).map_err(|e| format!("the note {} of a namespace cannot be read: {e}", file.display()))?;
    let note: Value = serde_json::from_slice(&text).unwrap_or_default();
    let Some(words) = words(&note) else {
        // Cut short: it is written before anything is made.
        let _ = fs::remove_file(file);
        return Err(format!("the note {} names no namespace, and is forgotten", file.display()));
    };
    let hint = format!("hint: where its cluster is no more, remove {}", file.display());
    let left = |why: String| format!("the namespace {} is left: {why}\n{hint}", words[2]);
    let mut command = Command::new("kubectl");
    command.args(&words).stdin(Stdio::null());
    match note["kubeconfig"].as_str() {
        Some(config) => command.env("KUBECONFIG", config),
        None => command.env_remove("KUBECONFIG"),
    };
    let output = command.output().map_err(|e| left(format!("kubectl cannot be started: {e}")))?;
    if !output.status.success() {
        return Err(left(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let _ = fs::remove_file(file);
    Ok(words[2].clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_somebody_else_may_write_in_is_not_ours() {
        let around = tempfile::tempdir().unwrap();
        let (own, open, link) = (around.path().join("own"), around.path().join("open"), around.path().join("link"));
        DirBuilder::new().mode(0o700).create(&own).unwrap();
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&own, &link).unwrap();
        assert_eq!([&own, &open, &link].map(|path| is_ours(path).unwrap()), [true, false, false]);
        assert!(is_ours(&around.path().join("none")).is_err());
    }

    #[test]
    fn files_are_named_from_everywhere() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(OsStr::new("/a/b:c")), format!("/a/b:{}", here.join("c").display()));
    }

    #[test]
    fn a_note_removes_its_namespace_in_its_cluster_and_nothing_else() {
        let all = words(&json!({"namespace": "faceoff-x-1", "context": "mine"})).unwrap();
        assert_eq!(all[..3], ["delete", "namespace", "faceoff-x-1"]);
        assert_eq!(all.last().map(String::as_str), Some("--context=mine"));
        assert!(words(&json!({"namespace": "faceoff-x-1"})).unwrap().iter().all(|word| !word.starts_with("--context")));
        for odd in [json!(null), json!({}), json!({"namespace": "default"}), json!({"namespace": "--all"}), json!({"namespace": 1})] {
            assert_eq!(words(&odd), None, "{odd}");
        }
    }
}
