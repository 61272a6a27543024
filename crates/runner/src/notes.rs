//! Notes on disk about things that would survive a killed run: containers, namespaces, schemas.
//!
//! A note is one file. It is written before the thing is made, and removed with it. The run that
//! wrote it keeps it locked while it lives, so a note without a lock belongs to a run that is over.
//! Start with [`Note::write`]; `leftovers` removes what the notes of ended runs describe.

use crate::postgres::{Server, nonce};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Something that must be removed, and where it is. It never contains a password.
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
        /// The value of KUBECONFIG.
        kubeconfig: Option<String>,
        context: String,
    },
    /// A schema in the user's own server.
    Schema {
        name: String,
        server: Server,
        /// Whether the user logged in with a password.
        password: bool,
    },
}

/// A note of something that is about to be made. Dropping it leaves the file to a later run.
pub(crate) struct Note {
    path: PathBuf,
    _held: File,
}

/// The folders for notes: one that survives a reboot and another TMPDIR, else one for temporary
/// files.
pub(crate) fn folders() -> impl Iterator<Item = PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let temporary =
        std::env::temp_dir().join(format!("faceoff-notes-{}", rustix::process::getuid().as_raw()));
    state.map(|state| state.join("faceoff").join("notes")).into_iter().chain([temporary])
}

/// Whether a folder can be written by this user only. Another user may have made a folder or a link
/// of this name before. That must not be trusted, as its content decides what is removed or
/// started.
pub(crate) fn is_ours(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_dir()
        && found.uid() == rustix::process::getuid().as_raw()
        && found.mode() & 0o022 == 0)
}

/// Makes a folder that only this user can write, unless it exists.
pub(crate) fn make_own(path: &Path) -> Result<(), String> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    match made.and_then(|()| is_ours(path)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{} is not a folder of yours alone", path.display())),
        Err(e) => Err(format!("{} cannot be made: {e}", path.display())),
    }
}

impl Note {
    /// Writes a note of something that is about to be made.
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
            // A run that searches for notes must wait until this one is locked.
            let all = File::open(folder)?;
            all.lock()?;
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
            file.lock()?;
            file.write_all(&serde_json::to_vec(left)?)?;
            file.sync_all()?;
            Ok(Note { path, _held: file })
        };
        write().map_err(|e| {
            format!("cannot note in {} what must be removed later: {e}", folder.display())
        })
    }

    /// Its name, which is unique.
    pub fn name(&self) -> &str {
        name_of(&self.path)
    }

    /// Removes the note, as the thing is gone.
    pub fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

pub(crate) fn name_of(note: &Path) -> &str {
    note.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The notes of ended runs in a folder. They are locked, so that no other run removes the same.
pub(crate) fn notes_of_ended(folder: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    if !is_ours(folder)? {
        return Ok(vec![]);
    }
    let all = File::open(folder)?;
    all.lock()?;
    let hold = |path: PathBuf| {
        // Some file systems require write access for a lock.
        let file = File::options().read(true).write(true).open(&path).ok()?;
        file.try_lock().is_ok().then_some((path, file))
    };
    Ok(fs::read_dir(folder)?.flatten().filter_map(|entry| hold(entry.path())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn folder_that_others_can_write_is_not_ours() {
        let around = tempfile::tempdir().unwrap();
        let (own, open, link) =
            (around.path().join("own"), around.path().join("open"), around.path().join("link"));
        make_own(&own).unwrap();
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&own, &link).unwrap();
        assert_eq!([&own, &open, &link].map(|path| is_ours(path).unwrap()), [true, false, false]);
        assert!(is_ours(&around.path().join("none")).is_err() && make_own(&open).is_err());
    }

    #[test]
    fn note_belongs_to_an_ended_run_once_its_lock_is_gone() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("faceoff").join("notes");
        let left = Left::Containers { engine: "/engine".into() };
        let (gone, kept) =
            (Note::write_in(&folder, &left).unwrap(), Note::write_in(&folder, &left).unwrap());
        gone.forget();
        assert!(gone.name() != kept.name() && notes_of_ended(&folder).unwrap().is_empty());
        let name = kept.name().to_owned();
        drop(kept);
        let found = notes_of_ended(&folder).unwrap();
        assert_eq!(found.iter().map(|(path, _)| name_of(path)).collect::<Vec<_>>(), [name]);
        assert!(notes_of_ended(&folder).unwrap().is_empty(), "only one run gets it");
        assert_eq!(
            serde_json::from_str::<Left>(&io::read_to_string(&found[0].1).unwrap()).unwrap(),
            left
        );
    }

    #[test]
    fn note_of_a_schema_has_no_password() {
        let server = Server::parse("postgres://ana:secret-enough@db.local/work").unwrap();
        let left = Left::Schema { name: "faceoff_1".into(), server, password: true };
        let text = serde_json::to_string(&left).unwrap();
        assert!(text.contains("db.local") && !text.contains("secret-enough"), "{text}");
    }
}
