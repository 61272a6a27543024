//! Tells those who watch from outside what is under way (docs/serve.md): a small file beside the record, put in place whole.

use lab::Progress;
use model::record::{Record, Second};
use model::under_way::{FILE_NAME, Process, SCHEMA, UnderWay};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the file is to hold.
#[derive(Debug)]
pub struct Told {
    file: PathBuf,
    run: String,
    /// Unknown where the kernel does not say: then nobody could tell an old file from a new one, and none is written.
    process: Option<Process>,
    cells: Vec<String>,
    now: Option<UnderWay>,
    is_news: bool,
}

/// A file to be written.
#[derive(Debug)]
pub struct Telling {
    file: PathBuf,
    under_way: UnderWay,
}

impl Told {
    /// Of a run that begins or goes on; what one before left is taken away.
    pub fn new(record: &Record) -> Told {
        let id = std::process::id();
        let told = Told {
            file: record.folder.join(FILE_NAME),
            run: record.header.id.clone(),
            process: runner::running_since_ticks(id).map(|began_ticks| Process { id, began_ticks }),
            cells: record.header.experiment.cells.iter().map(|cell| cell.name.clone()).collect(),
            now: None,
            is_news: false,
        };
        told.remove();
        told
    }

    /// Takes one piece of progress.
    pub fn take(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Begins { name, block, .. } => {
                self.now = self.process.map(|process| UnderWay {
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
                self.is_news = true;
            }
            Progress::Doing(what) => {
                // `open`, and `open, again for steal (1)`.
                let is_of = |cell: &&String| what.strip_prefix(cell.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "));
                let cell = self.cells.iter().filter(is_of).max_by_key(|cell| cell.len()).cloned();
                if let Some(now) = &mut self.now {
                    (now.doing, now.cell, now.left_out) = ((*what).to_owned(), cell, 0);
                    now.seconds.clear();
                }
                self.is_news = true;
            }
            // It stands in the record: what the file says of it is past.
            Progress::Ended(_) => self.now = None,
            _ => {}
        }
    }

    /// Takes a second of the measurement under way.
    pub fn hear(&mut self, second: Second) {
        if let Some(now) = &mut self.now {
            now.hear(second);
            self.is_news = true;
        }
    }

    /// What is to be written, where it has changed.
    pub fn news(&mut self) -> Option<Telling> {
        let now = self.now.as_ref().filter(|_| self.is_news)?;
        let telling = Telling { file: self.file.clone(), under_way: now.clone() };
        self.is_news = false;
        Some(telling)
    }

    /// Takes the file away.
    pub fn remove(&self) {
        // Mostly there is none.
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(new(&self.file));
    }
}

impl Telling {
    /// Puts the file in place of the one before. Where that cannot be, those who watch see less, and the run goes on.
    pub fn write(&self) {
        let new = new(&self.file);
        // Mostly there is none. What stands there may be a link to somewhere else, so it is not written to.
        let _ = std::fs::remove_file(&new);
        let put = |bytes: Vec<u8>| File::create_new(&new)?.write_all(&bytes);
        let written = self.under_way.bytes().map_err(std::io::Error::from).and_then(put);
        if written.and_then(|()| std::fs::rename(&new, &self.file)).is_err() {
            // What the file says is past.
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

fn new(file: &Path) -> PathBuf {
    file.with_extension("json.new")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_of_what_is_done_now_and_only_news_is_written() {
        let mut told = Told {
            file: PathBuf::from("nowhere"),
            run: "r".into(),
            process: Some(Process { id: 1, began_ticks: 2 }),
            cells: vec!["open".into(), "open, twice".into()],
            now: None,
            is_news: false,
        };
        let second = Second { correct: 3, not_correct: 0, p50_ns: None, p99_ns: None, max_ns: None, max_at_ns: None };
        told.hear(second);
        assert!(told.news().is_none(), "no trial is under way");
        told.take(&Progress::Begins { name: &"a".parse().unwrap(), block: 2, done: 0, total: 4 });
        for (doing, cell) in [
            ("starts", None),
            ("opens", None),
            ("open", Some("open")),
            ("open, twice", Some("open, twice")),
            ("open, again for steal (1)", Some("open")),
        ] {
            told.take(&Progress::Doing(doing));
            told.hear(second);
            let now = told.news().unwrap().under_way;
            assert_eq!((now.doing.as_str(), now.cell.as_deref(), now.block, now.seconds.len()), (doing, cell, 2, 1));
            assert!(told.news().is_none(), "it stands there");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_and_what_cannot_be_replaced_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let (file, elsewhere) = (folder.path().join(FILE_NAME), folder.path().join("elsewhere"));
        let under_way = UnderWay {
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
        let telling = Telling { file: file.clone(), under_way };
        std::fs::write(&elsewhere, "not ours").unwrap();
        std::os::unix::fs::symlink(&elsewhere, new(&file)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        telling.write();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "not ours");
        assert!(std::fs::symlink_metadata(&file).unwrap().is_file() && !new(&file).exists());
        assert_eq!(std::fs::read(&file).unwrap(), telling.under_way.bytes().unwrap());

        // Nothing can be made where a folder stands.
        std::fs::create_dir(new(&file)).unwrap();
        telling.write();
        assert!(!file.exists(), "it would tell of what is past");
    }
}
