//! What is kept on disk of things that stay when faceoff is killed, as no process of ours takes them along: one file each, written before the
//! thing is made, and gone when it is. Whoever wrote it holds it locked for as long as it lives: one that is not locked is of a run that is over.

use crate::postgres::{Server, nonce};
use crate::{database, docker, kubernetes};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What must be removed, and where it is. Never a password.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Left {
    /// Containers that carry the note's name.
    Containers {
        /// The socket of their engine.
        engine: PathBuf,
    },
    /// A namespace of a cluster.
    Namespace {
        name: String,
        /// What KUBECONFIG was.
        kubeconfig: Option<String>,
        context: String,
    },
    /// A schema in the user's own server.
    Schema {
        name: String,
        server: Server,
        /// Whether the user was let in by one.
        password: bool,
    },
}

/// A note of something that is about to be made. Dropping it leaves it to the next that looks.
pub(crate) struct Note {
    path: PathBuf,
    _held: File,
}

/// Where notes are: where neither a reboot nor another TMPDIR loses them, or else among temporary files.
fn folders() -> impl Iterator<Item = PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let temporary = std::env::temp_dir().join(format!("faceoff-notes-{}", rustix::process::getuid().as_raw()));
    state.map(|state| state.join("faceoff").join("notes")).into_iter().chain([temporary])
}

/// Whether it is a folder that nobody else writes in. Anybody may have made one of this name, or a link, before we did; what stands there
/// is removed, or says what is started.
pub(crate) fn is_ours(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o022 == 0)
}

/// Makes a folder that nobody else writes in, unless it is there.
pub(crate) fn make_own(path: &Path) -> Result<(), String> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    match made.and_then(|()| is_ours(path)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{} is not a folder of yours alone", path.display())),
        Err(e) => Err(format!("{} cannot be made: {e}", path.display())),
    }
}

impl Note {
    /// Notes what is about to be made.
    pub fn write(left: &Left) -> Result<Note, String> {
        let mut written = Err("there is no folder for notes".to_owned());
        for folder in folders() {
            written = Note::write_in(&folder, left);
            if written.is_ok() {
                break;
            }
        }
        written
    }

    fn write_in(folder: &Path, left: &Left) -> Result<Note, String> {
        make_own(folder)?;
        let write = || -> io::Result<Note> {
            let path = folder.join(format!("{}.json", nonce()?));
            // Whoever looks for notes waits until this one is locked.
            let all = File::open(folder)?;
            all.lock()?;
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
            file.lock()?;
            file.write_all(&serde_json::to_vec(left)?)?;
            file.sync_all()?;
            Ok(Note { path, _held: file })
        };
        write().map_err(|e| format!("what is to be removed later cannot be noted in {}: {e}", folder.display()))
    }

    /// What it is called, unlike any other.
    pub fn name(&self) -> &str {
        name_of(&self.path)
    }

    /// What it is of is no more.
    pub fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn name_of(note: &Path) -> &str {
    note.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// What killed runs left, and became of it.
#[derive(Debug, Default)]
pub struct Cleared {
    /// What was removed.
    pub removed: Vec<String>,
    /// What could not be, why, and what to do about it.
    pub kept: Vec<String>,
}

/// Removes what runs that are over have noted.
pub fn clear() -> Cleared {
    let mut cleared = Cleared::default();
    for folder in folders() {
        for (path, held) in of_the_dead(&folder).unwrap_or_default() {
            let text = io::read_to_string(&held).unwrap_or_default();
            let removed = match serde_json::from_str::<Left>(&text) {
                Ok(left) => left.remove(name_of(&path)),
                // Cut short: it is written before anything is made.
                Err(error) if error.is_eof() => Ok(None),
                Err(error) => Err(format!("what a killed run left is noted in words that are not known here: {error}")),
            };
            match removed {
                Ok(what) => {
                    cleared.removed.extend(what);
                    let _ = fs::remove_file(&path);
                }
                Err(why) => cleared.kept.push(format!("{why}\nhint: where that is no more, remove {}", path.display())),
            }
        }
        // Only where it is empty.
        let _ = fs::remove_dir(&folder);
    }
    cleared
}

/// The notes of those that are over, held so that nobody else removes the same.
fn of_the_dead(folder: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    if !is_ours(folder)? {
        return Ok(vec![]);
    }
    let all = File::open(folder)?;
    all.lock()?;
    let hold = |path: PathBuf| {
        // To be written, as some file systems want it of whoever locks.
        let file = File::options().read(true).write(true).open(&path).ok()?;
        file.try_lock().is_ok().then_some((path, file))
    };
    Ok(fs::read_dir(folder)?.flatten().filter_map(|entry| hold(entry.path())).collect())
}

impl Left {
    /// Removes it: what it was, where there was anything.
    fn remove(&self, note: &str) -> Result<Option<String>, String> {
        match self {
            Left::Containers { engine } => docker::remove_noted(engine, note),
            Left::Namespace { name, kubeconfig, context } => kubernetes::remove_namespace(name, kubeconfig.as_deref(), context).map(Some),
            Left::Schema { name, server, password } => database::remove_schema(name, server, *password).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_somebody_else_may_write_in_is_not_ours() {
        let around = tempfile::tempdir().unwrap();
        let (own, open, link) = (around.path().join("own"), around.path().join("open"), around.path().join("link"));
        make_own(&own).unwrap();
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&own, &link).unwrap();
        assert_eq!([&own, &open, &link].map(|path| is_ours(path).unwrap()), [true, false, false]);
        assert!(is_ours(&around.path().join("none")).is_err() && make_own(&open).is_err());
    }

    #[test]
    fn a_note_is_of_the_living_until_who_wrote_it_is_gone() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("faceoff").join("notes");
        let left = Left::Containers { engine: "/engine".into() };
        let (gone, kept) = (Note::write_in(&folder, &left).unwrap(), Note::write_in(&folder, &left).unwrap());
        gone.forget();
        assert!(gone.name() != kept.name() && of_the_dead(&folder).unwrap().is_empty());
        let name = kept.name().to_owned();
        drop(kept);
        let found = of_the_dead(&folder).unwrap();
        assert_eq!(found.iter().map(|(path, _)| name_of(path)).collect::<Vec<_>>(), [name]);
        assert!(of_the_dead(&folder).unwrap().is_empty(), "whoever removes it has it alone");
        assert_eq!(serde_json::from_str::<Left>(&io::read_to_string(&found[0].1).unwrap()).unwrap(), left);
    }

    #[test]
    fn no_password_is_noted() {
        let server = Server::parse("postgres://ana:secret-enough@db.local/work").unwrap();
        let left = Left::Schema { name: "faceoff_1".into(), server, password: true };
        let text = serde_json::to_string(&left).unwrap();
        assert!(text.contains("db.local") && !text.contains("secret-enough"), "{text}");
    }
}
