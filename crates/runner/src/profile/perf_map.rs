//! Reads the names of compiled code from the perf map of a virtual machine.
//!
//! A perf map is `/tmp/perf-PID.map` with one line per piece of code: address, size, name. Java,
//! Node, Python and .NET write them. The file belongs to the contender and may have any content and
//! size, so it is read line by line, and only names of addresses that were sampled are kept. Where
//! lines overlap, the last one counts, because code is moved and its memory is used again.

use super::symbols::hexadecimal;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Most bytes that are read of one map.
pub(super) const BYTES_MAX: u64 = 100_000_000;
/// A longer line is read as several.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Longer names are cut.
const NAME_BYTES: usize = 2_000;

/// Names from a perf map.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// A name for each address that was asked for, in the same order.
    pub found: Vec<Option<String>>,
    /// Lines that are no piece of code.
    pub unreadable: u64,
    /// The map is longer than what was read.
    pub cut: bool,
}

/// Where a process writes its perf map, as seen from here, and its own id in its namespace.
pub(super) fn path_of(pid: u32) -> (PathBuf, u32) {
    let own = own_id(pid).unwrap_or(pid);
    let file = format!("perf-{own}.map");
    let in_its_root = PathBuf::from(format!("/proc/{pid}/root/tmp"));
    match in_its_root.is_dir() {
        true => (in_its_root.join(file), own),
        false => (Path::new("/tmp").join(file), own),
    }
}

/// The id of a process in its innermost namespace.
fn own_id(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

/// Opens a file that belongs to the contender: never through a link, and never one that blocks.
pub(super) fn open(path: &Path) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// Reads the names of these addresses, which must be sorted.
pub(super) fn read(map: impl Read, addresses: &[u64]) -> Names {
    let mut names = Names { found: vec![None; addresses.len()], ..Names::default() };
    let mut map = BufReader::new(map.take(BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        match map.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ => break,
        }
        let is_whole = line.last() == Some(&b'\n');
        if !is_whole && map.get_ref().limit() == 0 && map.buffer().is_empty() {
            names.cut = true;
            break;
        }
        let Some((start, end, name)) = piece(line.trim_ascii()) else {
            names.unreadable += u64::from(!line.trim_ascii().is_empty());
            continue;
        };
        let from = addresses.partition_point(|address| *address < start);
        let covered = addresses[from..].iter().take_while(|address| **address < end).count();
        for found in &mut names.found[from..from + covered] {
            *found = Some(String::from_utf8_lossy(name).into_owned());
        }
    }
    names
}

/// Start, end and name of a line.
fn piece(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (start, size) = (hexadecimal(words.next()?)?, hexadecimal(words.next()?)?);
    let name = words.next()?.trim_ascii();
    let end = start.checked_add(size).filter(|end| *end > start)?;
    (!name.is_empty()).then_some((start, end, &name[..name.len().min(NAME_BYTES)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(found: &[Option<&str>]) -> Vec<Option<String>> {
        found.iter().map(|name| name.map(str::to_owned)).collect()
    }

    #[test]
    fn addresses_get_the_last_name_that_covers_them() {
        let map = "0x1000 10 void a.B.c(int)\n1010 20 first\n1018 8 moved here\n";
        let read = read(map.as_bytes(), &[0xfff, 0x100f, 0x1010, 0x1018, 0x1020, 0x1030]);
        let expected =
            [None, Some("void a.B.c(int)"), Some("first"), Some("moved here"), Some("first"), None];
        assert_eq!((read.found, read.unreadable), (names(&expected), 0));
    }

    #[test]
    fn lines_that_lie_are_counted() {
        let map =
            "zz 10 a\n1000 0 empty\nffffffffffffffff ff beyond\n1000 10\n-1 1 x\n\n2000 1 ok\n";
        let read = read(map.as_bytes(), &[0x2000]);
        assert_eq!((read.found, read.unreadable), (names(&[Some("ok")]), 5));
    }

    #[test]
    fn map_without_end_is_read_to_the_limit() {
        let read = read(std::io::repeat(b'7'), &[1]);
        assert!(read.cut && read.unreadable > 0, "{read:?}");
        assert_eq!(read.found, [None]);
    }

    #[test]
    fn links_and_pipes_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (map, link) = (folder.path().join("map"), folder.path().join("link"));
        std::fs::write(&map, "1 1 x\n").unwrap();
        std::os::unix::fs::symlink(&map, &link).unwrap();
        assert!(open(&map).is_some() && open(&link).is_none() && open(folder.path()).is_none());
    }

    proptest! {
        #[test]
        fn random_maps_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            lines in "([0-9a-fx]{0,17} [0-9a-f]{0,17} ?[a-z.(]{0,9}\n){0,9}",
            mut addresses in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            addresses.sort_unstable();
            prop_assert_eq!(read(&bytes[..], &addresses).found.len(), addresses.len());
            prop_assert_eq!(read(lines.as_bytes(), &addresses).found.len(), addresses.len());
        }
    }
}
