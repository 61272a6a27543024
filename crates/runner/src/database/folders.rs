//! The folders of databases: where they are, who owns them, and when they are removed.
//!
//! Runs share a lock while they use the folder. [`forget`] removes it unless it is in use, and
//! [`remove_leftovers`] removes the data of runs that are over.

use crate::guard::User;
use spec::system::Contender;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// The folder of databases if root runs faceoff. Home folders are often closed to other users.
const HOME_OF_ROOT: &str = "/var/cache/faceoff";
/// The user that runs databases for root.
const UNPRIVILEGED: &str = "nobody";
/// How names of data folders begin; the id of their process follows.
pub(super) const DATA: &str = "data-";

/// The folder of databases: next to stamps and logs or, if root runs faceoff, one that other users
/// can read.
pub fn home(cache: &Path) -> PathBuf {
    if rustix::process::geteuid().is_root() {
        PathBuf::from(HOME_OF_ROOT)
    } else {
        cache.join("databases")
    }
}

/// Opens the lock of the folder. It is next to the folder, which may be removed. Runs that use the
/// folder share the lock; a run that removes it holds the lock alone.
pub(super) fn lock_file(home: &Path) -> io::Result<File> {
    std::fs::create_dir_all(home.parent().unwrap_or(home))?;
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(home.with_extension("lock"))
}

/// Result of removing the folder of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// The folder does not exist.
    Nothing,
    /// The folder was removed.
    Removed,
    /// Another run has databases there.
    InUse,
}

/// Removes the folder of databases, unless it is in use.
///
/// # Errors
/// When it cannot be removed.
pub fn forget(home: &Path) -> io::Result<Forgotten> {
    if !home.exists() {
        return Ok(Forgotten::Nothing);
    }
    let lock = lock_file(home)?;
    match lock.try_lock() {
        Ok(()) => std::fs::remove_dir_all(home).map(|()| Forgotten::Removed),
        Err(TryLockError::WouldBlock) => Ok(Forgotten::InUse),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The user that runs databases if root runs faceoff, as PostgreSQL refuses to run as root.
pub(super) fn ordinary_user() -> Result<Option<User>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user, group, ..] = fields[..] else { return None };
        (name == UNPRIVILEGED)
            .then_some(User { user: user.parse().ok()?, group: group.parse().ok()? })
    };
    let found = users.lines().find_map(of).filter(|found| found.user != 0);
    found.map(Some).ok_or(
        "root must not run a database, and there is no user `nobody`: run \
        faceoff as an ordinary user"
            .into(),
    )
}

/// Removes the data folders of runs that are over.
pub(super) fn remove_leftovers(home: &Path) {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner =
            name.strip_prefix(DATA).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path())
                .or_else(|_| std::fs::remove_file(entry.path()));
        }
    }
}

/// The folder of the built programs, or of a copy that the user who runs them can read.
pub(super) fn programs(
    contender: &Contender,
    home: &Path,
    version: &str,
    user: Option<User>,
) -> io::Result<PathBuf> {
    let system = &contender.system;
    let built = system.build.as_ref().and_then(|build| build.outputs.first());
    let built = system.runs_in.join(built.map_or(".", String::as_str));
    if user.is_none() {
        return Ok(built);
    }
    let copy = home.join(format!("{}-programs-{version}", system.name));
    if !copy.exists() {
        let fresh = home.join(format!("{DATA}{}-programs", std::process::id()));
        copy_tree(&built, &fresh, None)?;
        std::fs::rename(&fresh, &copy)?;
    }
    Ok(copy)
}

/// Lets all users read a folder, whatever mask it was made under.
pub(super) fn open_to_others(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

/// Copies a folder with its content, which one user then owns, or which all users can read.
pub(super) fn copy_tree(from: &Path, to: &Path, user: Option<User>) -> io::Result<()> {
    let state = std::fs::symlink_metadata(from)?;
    if state.is_symlink() {
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    if state.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_tree(&from.join(&name), &to.join(&name), user)?;
        }
        std::fs::set_permissions(to, state.permissions())?;
        if user.is_none() {
            open_to_others(to)?;
        }
    } else {
        std::fs::copy(from, to)?;
    }
    match user {
        Some(User { user, group }) => chown(to, Some(user), Some(group)),
        None => Ok(()),
    }
}
