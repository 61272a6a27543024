//! Writes what a run is doing to a small file next to the record, for `faceoff serve`
//! (docs/guide/serve.md).
//!
//! Each version of the file is written under another name and then renamed, so that readers see
//! complete files only.

use super::activity::word_activity;
use lab::Progress;
use record::run_status::{FILE_NAME, Process, RunStatus, SCHEMA};
use record::{Record, Second};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The status of a run, as the file will contain it.
#[derive(Debug)]
pub struct StatusFile {
    file: PathBuf,
    run: String,
    /// `None` if the kernel does not report it. A reader could not tell an old file from a new one
    /// then, so no file is written.
    process: Option<Process>,
    now: Option<RunStatus>,
    has_changed: bool,
}

/// A version of the file that is ready to be written.
#[derive(Debug)]
pub struct StatusUpdate {
    file: PathBuf,
    status: RunStatus,
}

impl StatusFile {
    /// Begins the status of a run, and removes the file that an earlier run left behind.
    pub fn new(record: &Record) -> StatusFile {
        let id = std::process::id();
        let status = StatusFile {
            file: record.folder.join(FILE_NAME),
            run: record.header.id.clone(),
            process: runner::running_since_ticks(id).map(|began_ticks| Process { id, began_ticks }),
            now: None,
            has_changed: false,
        };
        status.remove();
        status
    }

    /// Takes one piece of progress.
    pub fn take(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Begins { name, block, .. } => {
                self.now = self.process.map(|process| RunStatus {
                    schema: SCHEMA.to_owned(),
                    run: self.run.clone(),
                    process,
                    contender: (*name).clone(),
                    block: *block,
                    doing: String::new(),
                    cell: None,
                    left_out: 0,
                    seconds: Vec::new(),
                });
                self.has_changed = true;
            }
            Progress::Doing(activity) => {
                if let Some(now) = &mut self.now {
                    now.doing = word_activity(activity);
                    now.cell = activity.cell().map(str::to_owned);
                    now.left_out = 0;
                    now.seconds.clear();
                }
                self.has_changed = true;
            }
            // The record contains the trial now, so the file would be out of date.
            Progress::Ended(_) => self.now = None,
            _ => {}
        }
    }

    /// Takes one second of the current measurement.
    pub fn take_second(&mut self, second: Second) {
        if let Some(now) = &mut self.now {
            now.hear(second);
            self.has_changed = true;
        }
    }

    /// Returns a new version of the file if anything has changed.
    pub fn update(&mut self) -> Option<StatusUpdate> {
        let now = self.now.as_ref().filter(|_| self.has_changed)?;
        let update = StatusUpdate { file: self.file.clone(), status: now.clone() };
        self.has_changed = false;
        Some(update)
    }

    /// Removes the file.
    pub fn remove(&self) {
        // Usually there is no file, so errors are ignored.
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(temporary(&self.file));
    }
}

impl StatusUpdate {
    /// Replaces the file. If that fails, the run goes on and `faceoff serve` shows less.
    pub fn write(&self) {
        let new = temporary(&self.file);
        // Usually there is no file. One that exists may be a link to another place, so it is
        // removed and not written to.
        let _ = std::fs::remove_file(&new);
        let put = |bytes: Vec<u8>| File::create_new(&new)?.write_all(&bytes);
        let written = self.status.bytes().map_err(std::io::Error::from).and_then(put);
        if written.and_then(|()| std::fs::rename(&new, &self.file)).is_err() {
            // The old version would be out of date.
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

fn temporary(file: &Path) -> PathBuf {
    file.with_extension("json.new")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Activity;

    #[test]
    fn file_is_written_only_when_status_has_changed() {
        let mut status = StatusFile {
            file: PathBuf::from("nowhere"),
            run: "r".into(),
            process: Some(Process { id: 1, began_ticks: 2 }),
            now: None,
            has_changed: false,
        };
        let second = Second {
            correct: 3,
            not_correct: 0,
            p50_ns: None,
            p99_ns: None,
            max_ns: None,
            max_at_ns: None,
        };
        status.take_second(second);
        assert!(status.update().is_none(), "no trial is under way");
        status.take(&Progress::Begins { name: &"a".parse().unwrap(), block: 2, done: 0, total: 4 });
        for (activity, doing, cell) in [
            (Activity::Starting, "starts", None),
            (
                Activity::WarmingUpForCell { contender: None, cell: "open" },
                "warms up for open",
                None,
            ),
            (Activity::Measuring { cell: "open" }, "open", Some("open")),
            (Activity::Measuring { cell: "open, twice" }, "open, twice", Some("open, twice")),
            (
                Activity::Repeating { cell: "open", attempt: 1 },
                "open, repeated as it was disturbed (1)",
                Some("open"),
            ),
        ] {
            status.take(&Progress::Doing(activity));
            status.take_second(second);
            let now = status.update().unwrap().status;
            assert_eq!(
                (now.doing.as_str(), now.cell.as_deref(), now.block, now.seconds.len()),
                (doing, cell, 2, 1)
            );
            assert!(status.update().is_none(), "nothing has changed");
        }
    }

    #[test]
    fn links_are_not_followed_and_unreplaceable_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, elsewhere) = (folder.path().join(FILE_NAME), folder.path().join("elsewhere"));
        let status = RunStatus {
            schema: SCHEMA.into(),
            run: "r".into(),
            process: Process { id: 1, began_ticks: 2 },
            contender: "a".parse().unwrap(),
            block: 1,
            doing: "open".into(),
            cell: None,
            left_out: 0,
            seconds: Vec::new(),
        };
        let update = StatusUpdate { file: file.clone(), status };
        std::fs::write(&elsewhere, "not ours").unwrap();
        std::os::unix::fs::symlink(&elsewhere, temporary(&file)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        update.write();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "not ours");
        assert!(std::fs::symlink_metadata(&file).unwrap().is_file() && !temporary(&file).exists());
        assert_eq!(std::fs::read(&file).unwrap(), update.status.bytes().unwrap());

        // A folder in the way makes the replacement fail.
        std::fs::create_dir(temporary(&file)).unwrap();
        update.write();
        assert!(!file.exists(), "the file would be out of date");
    }
}
