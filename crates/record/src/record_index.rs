//! Lists the records of a folder without reading them whole.
//!
//! A record may have hundreds of megabytes. A list needs only its first line, its last line, and
//! the judgement next to it. All limits here protect against folders that contain something else.
//! Start with [`records`] and [`IndexedRecord::glance`].

use crate::judgement::{self, Judgement};
use crate::{FILE_NAME, Header, Line, Record};
use spec::problem::Problems;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The maximum depth below the folder at which records are searched for: `reality/seed-1`.
const DEPTH: usize = 2;
/// The most entries that are visited, so that a folder with other content is left soon.
const MOST_ENTRIES: usize = 20_000;
/// The longest first line. A longer one is not a header.
const LONGEST_HEADER: u64 = 16 << 20;
/// The longest file of a judgement that is read.
const LONGEST_JUDGEMENT: u64 = 64 << 20;
/// The last line of a finished record is within this number of bytes of its end.
const TAIL: u64 = 4096;

/// A record in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedRecord {
    /// The path of its folder, relative to the searched folder, with parts joined by `/`.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The length of its file.
    pub bytes: u64,
    /// When its file was last written.
    pub written: SystemTime,
}

/// What can be read of a record quickly.
#[derive(Clone, Debug)]
pub struct RecordSummary {
    /// The record without trials and proofs. Of its sessions it has only the last, if the run
    /// ended.
    pub record: Record,
    /// The judgement next to it, if it was made from the current state of the record.
    pub judgement: Option<Judgement>,
}

/// Lists every record in a folder and below it, in the order of their ids; or the folder itself, if
/// it is one. Links are not followed, so nothing outside is found.
pub fn records(root: &Path) -> Vec<IndexedRecord> {
    if let Some(metadata) = record_file(root) {
        let name =
            root.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        return vec![indexed(name.unwrap_or_else(|| "record".to_owned()), root, &metadata)];
    }
    let (mut found, mut left) = (Vec::new(), MOST_ENTRIES);
    search(root, "", DEPTH, &mut left, &mut found);
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

/// Adds the records below a folder, whose path relative to the searched one is `above`.
fn search(
    folder: &Path,
    above: &str,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<IndexedRecord>,
) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        // The type of the entry itself, because links are not followed.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Some(name) =
            entry.file_name().to_str().map(|name| format!("{above}{name}")).filter(|_| is_folder)
        else {
            continue;
        };
        let path = entry.path();
        match record_file(&path) {
            Some(metadata) => found.push(indexed(name, &path, &metadata)),
            None if depth > 1 => search(&path, &format!("{name}/"), depth - 1, left, found),
            None => {}
        }
    }
}

fn record_file(folder: &Path) -> Option<Metadata> {
    std::fs::symlink_metadata(folder.join(FILE_NAME)).ok().filter(Metadata::is_file)
}

fn indexed(id: String, folder: &Path, metadata: &Metadata) -> IndexedRecord {
    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    IndexedRecord { id, folder: folder.to_owned(), bytes: metadata.len(), written }
}

impl IndexedRecord {
    /// Reads its first line, its end, and the judgement next to it.
    ///
    /// # Errors
    /// A first line that is not a header of this schema.
    pub fn glance(&self) -> Result<RecordSummary, Problems> {
        let path = self.folder.join(FILE_NAME);
        let wrong = |why: String| {
            Problems::plain(format!("{} is not a record: {why}", self.id), "see what wrote it")
        };
        let mut file = File::open(&path).map_err(|e| wrong(e.to_string()))?;
        let mut line = Vec::new();
        BufReader::new(&file)
            .take(LONGEST_HEADER)
            .read_until(b'\n', &mut line)
            .map_err(|e| wrong(e.to_string()))?;
        let header = Header::of_line(line.trim_ascii_end()).map_err(wrong)?;
        let sessions = match last_line(&mut file, self.bytes).as_deref().map(serde_json::from_slice)
        {
            Some(Ok(Line::Session(session))) => vec![session],
            _ => Vec::new(),
        };
        let record = Record { sessions, ..Record::of_header(self.folder.clone(), header) };
        let judgement = self.judgement();
        Ok(RecordSummary { record, judgement })
    }

    /// Reads the judgement that a run, or `faceoff judge`, left next to it after its last line.
    fn judgement(&self) -> Option<Judgement> {
        let path = self.folder.join("judgement.json");
        let metadata = std::fs::symlink_metadata(&path)
            .ok()
            .filter(|m| m.is_file() && m.len() <= LONGEST_JUDGEMENT)?;
        if metadata.modified().ok()? < self.written {
            return None;
        }
        let judgement: Judgement = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        (judgement.schema == judgement::SCHEMA).then_some(judgement)
    }
}

/// Returns the last complete line, if it is short.
fn last_line(file: &mut File, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let whole = tail.strip_suffix(b"\n")?;
    let begin = whole.iter().rposition(|b| *b == b'\n')?;
    Some(whole[begin + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("record-index-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn put(root: &Path, id: &str, text: &str) {
        std::fs::create_dir_all(root.join(id)).unwrap();
        std::fs::write(root.join(id).join(FILE_NAME), text).unwrap();
    }

    #[test]
    fn records_are_found_two_levels_deep_without_links() {
        let (root, elsewhere) = (folder("found"), folder("elsewhere"));
        for id in ["b", "a", "group/c", "group/deeper/d", "a/starts/e"] {
            put(&root, id, "{}\n");
        }
        put(&elsewhere, "secret", "{}\n");
        std::os::unix::fs::symlink(elsewhere.join("secret"), root.join("linked")).unwrap();
        std::fs::create_dir(root.join("hollow")).unwrap();
        std::os::unix::fs::symlink(
            elsewhere.join("secret").join(FILE_NAME),
            root.join("hollow").join(FILE_NAME),
        )
        .unwrap();
        let ids = |at: &Path| records(at).into_iter().map(|r| r.id).collect::<Vec<_>>();
        assert_eq!(ids(&root), ["a", "b", "group/c"]);
        assert_eq!(ids(&root.join("b")), ["b"], "a record itself");
        assert!(ids(&root.join("nothing")).is_empty());
        let _ = (std::fs::remove_dir_all(&root), std::fs::remove_dir_all(&elsewhere));
    }

    #[test]
    fn a_file_that_is_not_a_record_is_refused_with_the_reason() {
        let root = folder("wrong");
        put(&root, "empty", "");
        put(&root, "other", "{\"session\":{\"event\":\"finished\",\"at\":\"\"}}\n");
        let whys: Vec<String> =
            records(&root).iter().map(|r| r.glance().unwrap_err().to_string()).collect();
        assert!(
            whys[0].contains("empty is not a record: its first line is not a header"),
            "{whys:?}"
        );
        assert!(
            whys[1].contains("other is not a record: its first line is not a header"),
            "{whys:?}"
        );
        let _ = std::fs::remove_dir_all(&root);
    }

    #[test]
    fn the_last_line_is_read_if_it_is_short_and_complete() {
        let root = folder("tail");
        let path = root.join("lines");
        let last = |text: &str| {
            std::fs::write(&path, text).unwrap();
            last_line(&mut File::open(&path).unwrap(), text.len() as u64)
                .map(|line| String::from_utf8(line).unwrap())
        };
        assert_eq!(last("one\ntwo\n").as_deref(), Some("two"));
        assert_eq!(last("one\ntwo"), None, "cut short");
        assert_eq!(last(&format!("one\n{}\n", "x".repeat(TAIL as usize))), None, "a trial");
        assert_eq!(last(""), None);
        let _ = std::fs::remove_dir_all(&root);
    }
}
