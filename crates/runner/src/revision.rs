//! Other revisions of a folder that git keeps, checked out beside it: worktrees, which share the repository's objects.

use crate::sha256::hex_digest;
use model::problem::Problems;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A revision that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedOut {
    /// The commit, in full.
    pub commit: String,
    /// The whole of it.
    pub tree: PathBuf,
    /// What the folder was then.
    pub dir: PathBuf,
    /// The commit in words: `1a2b3c4d5e6f, Answer in half the time`.
    pub then: String,
    /// What the folder is now, in words.
    pub now: String,
    /// Whether what git keeps of it has not changed since.
    pub is_same: bool,
}

/// Checks a revision out, or finds it checked out already. Outside of the repository: what looks for things in the folders above it would
/// find those of now.
///
/// # Errors
/// No repository, no such revision, or what git says.
pub fn check_out(dir: &Path, revision: &str) -> Result<CheckedOut, Problems> {
    let unkept = |said: String| {
        let hint = "it is git that knows of revisions: keep the folder in a repository, and git on the PATH";
        Problems::plain(format!("{} has no revisions: {said}", dir.display()), hint)
    };
    let top = git(dir, &["rev-parse", "--show-toplevel"]).map_err(unkept)?;
    let prefix = git(dir, &["rev-parse", "--show-prefix"]).map_err(unkept)?;
    let named = (!revision.starts_with('-')).then(|| git(dir, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]));
    let commit = named.and_then(Result::ok).filter(|commit| !commit.is_empty()).ok_or_else(|| {
        let hint = "name a branch, a tag or a commit; is it fetched? (`git fetch`; in a workflow, check out with `fetch-depth: 0`)";
        Problems::plain(format!("there is no revision `{revision}` here"), hint)
    })?;
    let tree = home().join(format!("{}-{}", short(&commit), id(&top)));
    let failed = |said: String| {
        let hint = format!("remove {} and try again; is there room?", tree.display());
        Problems::plain(format!("{revision} cannot be checked out: {said}"), hint)
    };
    let is_there = git(&tree, &["rev-parse", "HEAD"]).is_ok_and(|head| head == commit)
        && git(&tree, &["status", "--porcelain", "--untracked-files=no"]).is_ok_and(|changed| changed.is_empty());
    if !is_there {
        let _ = std::fs::remove_dir_all(&tree);
        std::fs::create_dir_all(home()).map_err(|e| failed(e.to_string()))?;
        // Of those that somebody removed by hand git still keeps a note.
        let _ = git(dir, &["worktree", "prune"]);
        git(dir, &["worktree", "add", "--detach", "--force", &tree.to_string_lossy(), &commit]).map_err(failed)?;
    }
    let tree = tree.canonicalize().map_err(|e| failed(e.to_string()))?;
    let describe = |commit: &str| git(dir, &["log", "-1", "--format=%s", commit]).map(|subject| format!("{}, {subject}", short(commit)));
    let head = git(dir, &["rev-parse", "HEAD"]).map_err(failed)?;
    let is_changed = !git(dir, &["status", "--porcelain", "--untracked-files=no"]).map_err(failed)?.is_empty();
    let now = describe(&head).map_err(failed)? + if is_changed { ", with changes that are not committed" } else { "" };
    Ok(CheckedOut {
        then: describe(&commit).map_err(failed)?,
        dir: tree.join(prefix),
        is_same: head == commit && !is_changed,
        now,
        tree,
        commit,
    })
}

/// Removes every revision of a folder's repository that was checked out; says which.
pub fn forget(dir: &Path) -> Vec<PathBuf> {
    let Ok(top) = git(dir, &["rev-parse", "--show-toplevel"]) else { return Vec::new() };
    let of_this = format!("-{}", id(&top));
    let all = std::fs::read_dir(home()).into_iter().flatten().flatten();
    let trees: Vec<PathBuf> =
        all.filter(|entry| entry.file_name().to_string_lossy().ends_with(&of_this)).map(|entry| entry.path()).collect();
    let gone = trees.into_iter().filter(|tree| std::fs::remove_dir_all(tree).is_ok()).collect();
    let _ = git(dir, &["worktree", "prune"]);
    gone
}

/// Where revisions are checked out.
fn home() -> PathBuf {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("faceoff").join("revisions")
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Tells one repository from another.
fn id(top: &str) -> String {
    hex_digest(top)[..12].to_owned()
}

/// What git prints, or what it says is wrong. Hooks do not run.
fn git(dir: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "core.hooksPath=/dev/null"]).args(arguments).stdin(Stdio::null());
    // Whoever calls from a hook has these set, for another purpose.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().map_err(|e| format!("git cannot be started: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
