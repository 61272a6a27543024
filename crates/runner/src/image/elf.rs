//! Finds the C libraries that a program needs, by asking its own loader.
//!
//! [`kind`] reads the header of a file for its loader. [`needed`] has the loader list the
//! libraries.

use crate::needs::output_of;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The kind of a file, as the kernel sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No 64-bit program.
    Other,
    /// A program without a loader, or a library.
    Alone,
    /// A program that this loader loads.
    LoadedBy(PathBuf),
}

/// Reads the kind of a file from its header.
pub(super) fn kind(path: &Path) -> Kind {
    read_kind(path).unwrap_or(Kind::Other)
}

fn read_kind(path: &Path) -> Option<Kind> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; 64];
    file.read_exact(&mut head).ok()?;
    // 64 bits, little-endian.
    if head[..6] != *b"\x7fELF\x02\x01" {
        return Some(Kind::Other);
    }
    let short =
        |bytes: &[u8], at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let long =
        |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (table, size, count) = (long(&head, 32)?, short(&head, 54)?, short(&head, 56)?);
    for number in 0..u64::from(count) {
        let mut entry = [0; 56];
        file.read_exact_at(&mut entry, table.checked_add(number * u64::from(size))?).ok()?;
        const INTERPRETER: [u8; 4] = 3u32.to_le_bytes();
        if entry[..4] == INTERPRETER {
            // Longer than any path, so the header is wrong.
            let length =
                usize::try_from(long(&entry, 32)?).ok().filter(|length| *length <= 4096)?;
            let mut name = vec![0; length];
            file.read_exact_at(&mut name, long(&entry, 8)?).ok()?;
            let name = String::from_utf8(name).ok()?;
            return Some(Kind::LoadedBy(PathBuf::from(name.trim_end_matches('\0'))));
        }
    }
    Some(Kind::Alone)
}

/// The libraries of a program or library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needed {
    /// Paths of those that were found.
    pub found: Vec<PathBuf>,
    /// Names of those that are missing.
    pub missing: Vec<String>,
}

/// Asks a loader for everything that a file needs, directly or indirectly; `None` if it refuses.
pub(super) fn needed(loader: &Path, file: &Path) -> Option<Needed> {
    let words = [loader.to_str()?, "--list", file.to_str()?].map(str::to_owned);
    Some(parse(&output_of(&words)?))
}

fn parse(output: &str) -> Needed {
    let mut needed = Needed::default();
    for line in output.lines().map(str::trim) {
        // `name => place (address)`, `name => not found`, `/place (address)`
        match line.split_once(" => ") {
            Some((name, "not found")) => needed.missing.push(name.to_owned()),
            Some((_, place)) => needed.found.extend(place_of(place)),
            None => needed.found.extend(place_of(line)),
        }
    }
    needed
}

fn place_of(text: &str) -> Option<PathBuf> {
    let (place, _) = text.rsplit_once(" (0x")?;
    place.starts_with('/').then(|| PathBuf::from(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_loader_is_parsed() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\tlibjvm.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tstatically linked\n";
        let needed = parse(text);
        assert_eq!(
            needed.found,
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from)
        );
        assert_eq!(needed.missing, ["libjvm.so"]);
    }

    #[test]
    fn programs_libraries_and_other_files_are_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        // A program with one header entry, followed by its loader's name.
        let program = |length: u64| {
            let mut bytes = vec![0; 64 + 56];
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            bytes[32] = 64;
            (bytes[54], bytes[56]) = (56, 1);
            bytes[64] = 3;
            bytes[64 + 8] = 120;
            bytes[64 + 32..64 + 40].copy_from_slice(&length.to_le_bytes());
            bytes.extend(b"/lib/ld.so\0");
            bytes
        };
        assert_eq!(kind(&write("dynamic", &program(11))), Kind::LoadedBy("/lib/ld.so".into()));
        assert_eq!(kind(&write("too-long", &program(u64::MAX))), Kind::Other);
        let mut alone = program(11);
        alone[64] = 1;
        assert_eq!(kind(&write("static", &alone)), Kind::Alone);
        assert_eq!(kind(&write("cut", &alone[..80])), Kind::Other);
        assert_eq!(kind(&write("script", b"#!/bin/sh\n")), Kind::Other);
        assert_eq!(kind(&folder.path().join("nothing")), Kind::Other);
    }

    #[test]
    fn libraries_of_this_program_are_found() {
        let me = std::env::current_exe().unwrap();
        let Kind::LoadedBy(loader) = kind(&me) else { return assert_eq!(kind(&me), Kind::Alone) };
        let needed = needed(&loader, &me).unwrap();
        assert!(
            needed.found.iter().all(|path| path.is_file()) && !needed.found.is_empty(),
            "{needed:?}"
        );
        assert_eq!(needed.missing, Vec::<String>::new());
    }
}
