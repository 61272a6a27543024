//! The records of a folder, as far as they can be told without reading them whole.

use crate::judgement::{self, Judgement};
use crate::problem::Problems;
use crate::record::{FILE_NAME, Header, Line, Record};
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// So deep below the folder records are looked for: `reality/seed-1`.
const DEPTH: usize = 2;
/// So many entries are looked at, so that a folder of something else is soon left.
const MOST_ENTRIES: usize = 20_000;
/// A longer first line is no header.
const LONGEST_HEADER: u64 = 16 << 20;
/// A longer file of a judgement is not read.
const LONGEST_JUDGEMENT: u64 = 64 << 20;
/// Within so many bytes of its end stands the last line of a record that came to its end.
const TAIL: u64 = 4096;

/// A record of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelved {
    /// Its folder's path below the one that was looked into, parts joined by `/`.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The length of its file.
    pub bytes: u64,
    /// When something was last written into it.
    pub written: SystemTime,
}

/// What can be told of a record at a glance.
#[derive(Clone, Debug)]
pub struct Glance {
    /// The record without its trials and proofs; of its sessions the last, where the run came to its end.
    pub record: Record,
    /// What stands beside it, where that was made of it as it is now.
    pub judgement: Option<Judgement>,
}

/// Every record in a folder and in the folders within, in the order of their ids; or the folder itself where it is one. Links are not
/// followed, so that nothing outside is found.
pub fn records(root: &Path) -> Vec<Shelved> {
    if let Some(metadata) = record_file(root) {
        let name = root.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        return vec![shelved(name.unwrap_or_else(|| "record".to_owned()), root, &metadata)];
    }
    let (mut found, mut left) = (Vec::new(), MOST_ENTRIES);
    look(root, "", DEPTH, &mut left, &mut found);
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

fn look(folder: &Path, above: &str, depth: usize, left: &mut usize, found: &mut Vec<Shelved>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        // Of the entry itself: a link is none.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Some(name) = entry.file_name().to_str().map(|name| format!("{above}{name}")).filter(|_| is_folder) else { continue };
        let path = entry.path();
        match record_file(&path) {
            Some(metadata) => found.push(shelved(name, &path, &metadata)),
            None if depth > 1 => look(&path, &format!("{name}/"), depth - 1, left, found),
            None => {}
        }
    }
}

fn record_file(folder: &Path) -> Option<Metadata> {
    std::fs::symlink_metadata(folder.join(FILE_NAME)).ok().filter(Metadata::is_file)
}

fn shelved(id: String, folder: &Path, metadata: &Metadata) -> Shelved {
    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    Shelved { id, folder: folder.to_owned(), bytes: metadata.len(), written }
}

impl Shelved {
    /// Reads its first line, its end, and the judgement beside it.
    ///
    /// # Errors
    /// A first line that is no header of this schema.
    pub fn glance(&self) -> Result<Glance, Problems> {
        let path = self.folder.join(FILE_NAME);
        let wrong = |why: String| Problems::plain(format!("{} is not a record: {why}", self.id), "see what wrote it");
        let mut file = File::open(&path).map_err(|e| wrong(e.to_string()))?;
        let mut line = Vec::new();
        BufReader::new(&file).take(LONGEST_HEADER).read_until(b'\n', &mut line).map_err(|e| wrong(e.to_string()))?;
        let header = Header::of_line(line.trim_ascii_end()).map_err(wrong)?;
        let sessions = match last_line(&mut file, self.bytes).as_deref().map(serde_json::from_slice) {
            Some(Ok(Line::Session(session))) => vec![session],
            _ => Vec::new(),
        };
        let record =
            Record { folder: self.folder.clone(), header, answers: vec![], upstreams: vec![], trials: vec![], sessions, torn_lines: 0 };
        let judgement = self.judgement();
        Ok(Glance { record, judgement })
    }

    /// The judgement that a run, or `faceoff judge`, left beside it after its last line.
    fn judgement(&self) -> Option<Judgement> {
        let path = self.folder.join("judgement.json");
        let metadata = std::fs::symlink_metadata(&path).ok().filter(|m| m.is_file() && m.len() <= LONGEST_JUDGEMENT)?;
        if metadata.modified().ok()? < self.written {
            return None;
        }
        let judgement: Judgement = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        (judgement.schema == judgement::SCHEMA).then_some(judgement)
    }
}

/// The last whole line, where it is a short one.
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
        let folder = std::env::temp_dir().join(format!("shelf-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn put(root: &Path, id: &str, text: &str) {
        std::fs::create_dir_all(root.join(id)).unwrap();
        std::fs::write(root.join(id).join(FILE_NAME), text).unwrap();
    }

    #[test]
    fn records_are_found_two_deep_and_no_link_is_followed() {
        let (root, elsewhere) = (folder("found"), folder("elsewhere"));
        for id in ["b", "a", "group/c", "group/deeper/d", "a/starts/e"] {
            put(&root, id, "{}\n");
        }
        put(&elsewhere, "secret", "{}\n");
        std::os::unix::fs::symlink(elsewhere.join("secret"), root.join("linked")).unwrap();
        std::fs::create_dir(root.join("hollow")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("secret").join(FILE_NAME), root.join("hollow").join(FILE_NAME)).unwrap();
        let ids = |at: &Path| records(at).into_iter().map(|r| r.id).collect::<Vec<_>>();
        assert_eq!(ids(&root), ["a", "b", "group/c"]);
        assert_eq!(ids(&root.join("b")), ["b"], "a record itself");
        assert!(ids(&root.join("nothing")).is_empty());
        let _ = (std::fs::remove_dir_all(&root), std::fs::remove_dir_all(&elsewhere));
    }

    #[test]
    fn what_is_no_record_says_why() {
        let root = folder("wrong");
        put(&root, "empty", "");
        put(&root, "other", "{\"session\":{\"event\":\"finished\",\"at\":\"\"}}\n");
        let whys: Vec<String> = records(&root).iter().map(|r| r.glance().unwrap_err().to_string()).collect();
        assert!(whys[0].contains("empty is not a record: its first line is no header"), "{whys:?}");
        assert!(whys[1].contains("other is not a record: its first line is no header"), "{whys:?}");
        let _ = std::fs::remove_dir_all(&root);
    }

    #[test]
    fn the_last_line_is_read_where_it_is_short_and_whole() {
        let root = folder("tail");
        let path = root.join("lines");
        let last = |text: &str| {
            std::fs::write(&path, text).unwrap();
            last_line(&mut File::open(&path).unwrap(), text.len() as u64).map(|line| String::from_utf8(line).unwrap())
        };
        assert_eq!(last("one\ntwo\n").as_deref(), Some("two"));
        assert_eq!(last("one\ntwo"), None, "cut short");
        assert_eq!(last(&format!("one\n{}\n", "x".repeat(TAIL as usize))), None, "a trial");
        assert_eq!(last(""), None);
        let _ = std::fs::remove_dir_all(&root);
    }
}
