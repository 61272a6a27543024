//! Checks out other revisions of a folder that is in a git repository.
//!
//! Each revision gets a worktree, which shares the objects of the repository. Start with
//! [`check_out`].

use crate::sha256::hex_digest;
use spec::problem::Problems;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A revision that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedOut {
    /// The commit, in full.
    pub commit: String,
    /// The folder of the whole repository at this revision.
    pub tree: PathBuf,
    /// The requested folder at this revision.
    pub dir: PathBuf,
    /// A description of the commit: `1a2b3c4d5e6f, Answer in half the time`.
    pub then: String,
    /// A description of the folder's current state.
    pub now: String,
    /// Whether the tracked files have not changed since that commit.
    pub is_same: bool,
}

/// Checks a revision out, or finds it checked out already. It is outside of the repository, where
/// tools that search parent folders would find the current files.
///
/// # Errors
/// No repository, no such revision, or an error of git.
pub fn check_out(dir: &Path, revision: &str) -> Result<CheckedOut, Problems> {
    let unkept = |error: String| {
        let hint = "revisions need git: keep the folder in a repository, and git on the PATH";
        Problems::plain(format!("{} has no revisions: {error}", dir.display()), hint)
    };
    let top = git(dir, &["rev-parse", "--show-toplevel"]).map_err(unkept)?;
    let prefix = git(dir, &["rev-parse", "--show-prefix"]).map_err(unkept)?;
    let named = (!revision.starts_with('-')).then(|| {
        git(dir, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])
    });
    let commit =
        named.and_then(Result::ok).filter(|commit| !commit.is_empty()).ok_or_else(|| {
            let hint = "name a branch, a tag or a commit; is it fetched? (`git fetch`; in a \
            workflow, check out with `fetch-depth: 0`)";
            Problems::plain(format!("there is no revision `{revision}` here"), hint)
        })?;
    let tree = home().join(format!("{}-{}", short(&commit), id(&top)));
    let failed = |error: String| {
        let hint = format!("remove {} and try again; is the disk full?", tree.display());
        Problems::plain(format!("{revision} cannot be checked out: {error}"), hint)
    };
    let is_there = git(&tree, &["rev-parse", "HEAD"]).is_ok_and(|head| head == commit)
        && git(&tree, &["status", "--porcelain", "--untracked-files=no"])
            .is_ok_and(|changed| changed.is_empty());
    if !is_there {
        let _ = std::fs::remove_dir_all(&tree);
        std::fs::create_dir_all(home()).map_err(|e| failed(e.to_string()))?;
        // Git keeps entries of worktrees that a user removed by hand.
        let _ = git(dir, &["worktree", "prune"]);
        git(dir, &["worktree", "add", "--detach", "--force", &tree.to_string_lossy(), &commit])
            .map_err(failed)?;
    }
    let tree = tree.canonicalize().map_err(|e| failed(e.to_string()))?;
    let describe = |commit: &str| {
        git(dir, &["log", "-1", "--format=%s", commit])
            .map(|subject| format!("{}, {subject}", short(commit)))
    };
    let head = git(dir, &["rev-parse", "HEAD"]).map_err(failed)?;
    let is_changed =
        !git(dir, &["status", "--porcelain", "--untracked-files=no"]).map_err(failed)?.is_empty();
    let now = describe(&head).map_err(failed)?
        + if is_changed { ", with changes that are not committed" } else { "" };
    Ok(CheckedOut {
        then: describe(&commit).map_err(failed)?,
        dir: tree.join(prefix),
        is_same: head == commit && !is_changed,
        now,
        tree,
        commit,
    })
}

/// Removes every revision of a folder's repository that was checked out, and returns their folders.
pub fn forget(dir: &Path) -> Vec<PathBuf> {
    let Ok(top) = git(dir, &["rev-parse", "--show-toplevel"]) else { return Vec::new() };
    let of_this = format!("-{}", id(&top));
    let all = std::fs::read_dir(home()).into_iter().flatten().flatten();
    let trees: Vec<PathBuf> = all
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(&of_this))
        .map(|entry| entry.path())
        .collect();
    let gone = trees.into_iter().filter(|tree| std::fs::remove_dir_all(tree).is_ok()).collect();
    let _ = git(dir, &["worktree", "prune"]);
    gone
}

/// The folder for revisions.
fn home() -> PathBuf {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("faceoff").join("revisions")
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// A name that distinguishes repositories.
fn id(top: &str) -> String {
    hex_digest(top)[..12].to_owned()
}

/// The output of git, or its error message. Hooks do not run.
fn git(dir: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(dir)
        .args(["-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .stdin(Stdio::null());
    // A hook that calls faceoff has these set, for another purpose.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().map_err(|e| format!("git cannot be started: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
