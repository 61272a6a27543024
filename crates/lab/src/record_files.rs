//! Names, checks and writes the files of a record's folder, and other output files.
//!
//! Every error is a sentence with a hint, so that a command can print it as it is.

use jiff::Timestamp;
use record::judgement::Judgement;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file or a folder that cannot be used, described in a sentence with a hint.
#[derive(Debug)]
pub struct FileError(String);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FileError {}

/// Returns the folder for a record that was given none: `records/<experiment>-<time>`.
pub fn default_folder(dir: &Path, experiment: &str, now: Timestamp) -> PathBuf {
    let stamp = now.strftime("%Y%m%d-%H%M%S");
    dir.join("records").join(format!("{experiment}-{stamp}"))
}

/// Refuses a folder that already holds a record.
///
/// # Errors
/// The folder holds a record.
pub fn must_hold_no_record(folder: &Path) -> Result<(), FileError> {
    match folder.join(record::FILE_NAME).exists() {
        false => Ok(()),
        true => Err(FileError(format!(
            "{} already holds a record\nhint: name another folder, or continue it with --resume",
            folder.display()
        ))),
    }
}

/// Writes a file, and replaces the one that is there.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), FileError> {
    std::fs::write(path, contents).map_err(|e| {
        FileError(format!(
            "{} cannot be written: {e}\nhint: free some disk space, or name another place with \
             --out",
            path.display()
        ))
    })
}

/// Creates a folder and its parents; `option` is the command-line option that names it.
///
/// # Errors
/// The folder cannot be created.
pub fn create_folder(folder: &Path, option: &str) -> Result<(), FileError> {
    std::fs::create_dir_all(folder).map_err(|e| cannot_create(folder, &e, option))
}

/// Returns the error for a folder that cannot be created.
pub fn cannot_create(folder: &Path, error: &io::Error, option: &str) -> FileError {
    FileError(format!(
        "{} cannot be created: {error}\nhint: name another folder with {option}",
        folder.display()
    ))
}

/// Returns a judgement as it is written and printed. The same record gives the same bytes.
pub fn judgement_text(judgement: &Judgement) -> String {
    serde_json::to_string_pretty(judgement).expect("a judgement is plain data") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_folder_names_experiment_and_second() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let folder = default_folder(Path::new("here"), "api", now);
        assert_eq!(folder, Path::new("here/records/api-20260102-030405"));
    }

    #[test]
    fn folder_with_record_is_refused_with_hint() {
        let folder = tempfile::tempdir().unwrap();
        assert!(must_hold_no_record(folder.path()).is_ok());
        write_file(&folder.path().join(record::FILE_NAME), "{}").unwrap();
        let refused = must_hold_no_record(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("already holds a record\nhint: "), "{refused}");
    }

    #[test]
    fn unwritable_file_is_reported_with_hint() {
        let folder = tempfile::tempdir().unwrap();
        let refused = write_file(folder.path(), "text").unwrap_err().to_string();
        assert!(refused.contains("cannot be written: ") && refused.contains("--out"), "{refused}");
    }
}
