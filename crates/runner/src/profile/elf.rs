//! Reads executables and libraries: where they are loaded, their symbols and their unwind data.
//!
//! Files belong to the contender, so every offset and size is checked, and nothing is read beyond
//! the end of the file. Only 64-bit, little-endian files are read, as on all machines that faceoff
//! is released for. Start with [`Elf::open`]; [`Elf::symbols`] uses the first table that exists:
//! the symbols, a separate file with them, Go's table of functions, the exported symbols.

use super::bytes::{int, long, name_at, short};
use super::go::GoTable;
use super::symbols::{Symbol, Symbols};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A section or table larger than this is not read.
const BYTES_MAX: u64 = 1 << 30;

const LOAD: u32 = 1;
const EXECUTABLE_SEGMENT: u32 = 1;
const EXECUTABLE_SECTION: u64 = 4;
const NO_BITS: u32 = 8;
const SYMBOL_BYTES: usize = 24;

/// A file, or an image of one in memory.
#[derive(Debug)]
pub(super) struct Elf {
    file: File,
    /// Where the image begins.
    base: u64,
    length: u64,
    sections: Vec<Section>,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, Default)]
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

/// Code as it is loaded.
#[derive(Clone, Debug)]
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
    executable: bool,
}

/// A section's address in the file, and its bytes.
pub(super) struct Contents {
    pub address: u64,
    pub bytes: Arc<[u8]>,
}

impl Elf {
    /// Reads the headers of a file.
    pub fn open(file: File) -> Option<Elf> {
        let length = file.metadata().ok()?.len();
        Elf::open_at(file, 0, length)
    }

    /// Reads the headers of an image within a file.
    pub fn open_at(file: File, base: u64, length: u64) -> Option<Elf> {
        let mut elf = Elf { file, base, length, sections: Vec::new(), segments: Vec::new() };
        let head = elf.bytes(0, 64)?;
        if head[..6] != *b"\x7fELF\x02\x01" {
            return None;
        }
        elf.segments = elf
            .table(long(&head, 32)?, short(&head, 54)?, short(&head, 56)?)?
            .iter()
            .filter_map(|entry| segment(entry))
            .collect();
        // Sections are not needed to run a program, and may be missing.
        if let Some(table) = elf.table(long(&head, 40)?, short(&head, 58)?, short(&head, 60)?) {
            elf.sections = elf.named_sections(&table, short(&head, 62)?);
        }
        Some(elf)
    }

    /// The difference between an address in memory and in the file, for code at this offset of the
    /// file that is loaded to `start`.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = rustix::param::page_size() as u64;
        let segment = self.segments.iter().find(|segment| {
            let begin = segment.offset - segment.offset % page;
            segment.executable
                && (begin..segment.offset.saturating_add(segment.size)).contains(&offset)
        })?;
        Some(start.wrapping_sub(segment.address.wrapping_sub(segment.offset).wrapping_add(offset)))
    }

    /// The lowest address that is loaded.
    pub fn lowest_address(&self) -> u64 {
        self.segments.iter().map(|segment| segment.address).min().unwrap_or(0)
    }

    /// A section's contents; `None` if it is missing or too large.
    pub fn contents(&self, name: &str) -> Option<Contents> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        Some(Contents { address: section.address, bytes: self.read(section)?.into() })
    }

    /// The functions of the file.
    pub fn symbols(&self) -> Symbols {
        let separate = || self.separate_file().and_then(|elf| elf.symbol_table(".symtab"));
        self.symbol_table(".symtab")
            .or_else(separate)
            .or_else(|| self.go_table()?.symbols())
            .or_else(|| self.symbol_table(".dynsym"))
            .unwrap_or_default()
    }

    fn symbol_table(&self, name: &str) -> Option<Symbols> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        let table = self.read(section)?;
        let names = self.read(self.sections.get(section.link as usize)?)?;
        let function = |entry: &[u8]| {
            let section = self.sections.get(usize::from(short(entry, 6)?))?;
            // Functions, functions that a resolver chooses, and labels of assembly.
            let is_function =
                matches!(entry[4] & 15, 2 | 10) || (entry[4] & 15 == 0 && entry[4] >> 4 != 0);
            if !is_function || section.flags & EXECUTABLE_SECTION == 0 {
                return None;
            }
            let (start, size) = (long(entry, 8)?, long(entry, 16)?);
            let name = name_at(&names, int(entry, 0)?)?;
            (start != 0).then(|| Symbol { start, end: start.saturating_add(size), name })
        };
        let functions = table.chunks_exact(SYMBOL_BYTES).filter_map(function).collect();
        let symbols = Symbols::new(functions, names);
        (!symbols.is_empty()).then_some(symbols)
    }

    /// The file that a distribution keeps separate symbols in.
    fn separate_file(&self) -> Option<Elf> {
        let note = self.contents(".note.gnu.build-id")?.bytes;
        let id: String = note.get(16..)?.iter().map(|byte| format!("{byte:02x}")).collect();
        let path: PathBuf =
            format!("/usr/lib/debug/.build-id/{}/{}.debug", id.get(..2)?, id.get(2..)?).into();
        Elf::open(File::open(path).ok()?)
    }

    /// The table of functions of a Go program.
    pub fn go_table(&self) -> Option<GoTable> {
        let names = [".gopclntab", ".data.rel.ro.gopclntab"];
        let table = names.iter().find_map(|name| self.contents(name))?.bytes;
        let text = self.sections.iter().find(|section| section.name == ".text")?.address;
        GoTable::new(table, text)
    }

    /// The entries of a table of headers.
    fn table(&self, offset: u64, size: u16, count: u16) -> Option<Vec<Vec<u8>>> {
        let (size, count) = (u64::from(size), u64::from(count));
        let bytes = self.bytes(offset, size * count)?;
        Some(bytes.chunks_exact((size as usize).max(1)).map(<[u8]>::to_vec).collect())
    }

    fn named_sections(&self, table: &[Vec<u8>], names: u16) -> Vec<Section> {
        let sections: Vec<_> =
            table.iter().map(|entry| section(entry).unwrap_or_default()).collect();
        let names = sections.get(usize::from(names)).and_then(|s| self.read(s)).unwrap_or_default();
        let named = sections.into_iter().zip(table).map(|(mut section, entry)| {
            let range = int(entry, 0).and_then(|at| name_at(&names, at)).unwrap_or_default();
            let name = &names[range.start as usize..range.end as usize];
            section.name = String::from_utf8_lossy(name).into_owned();
            section
        });
        named.collect()
    }

    fn read(&self, section: &Section) -> Option<Vec<u8>> {
        if section.kind == NO_BITS {
            return None;
        }
        self.bytes(section.offset, section.size)
    }

    fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        if offset.checked_add(size)? > self.length || size > BYTES_MAX {
            return None;
        }
        let mut bytes = vec![0; size as usize];
        self.file.read_exact_at(&mut bytes, self.base.checked_add(offset)?).ok()?;
        Some(bytes)
    }
}

fn segment(entry: &[u8]) -> Option<Segment> {
    let (kind, flags) = (int(entry, 0)?, int(entry, 4)?);
    (kind == LOAD).then_some(())?;
    Some(Segment {
        address: long(entry, 16)?,
        offset: long(entry, 8)?,
        size: long(entry, 32)?,
        executable: flags & EXECUTABLE_SEGMENT != 0,
    })
}

fn section(entry: &[u8]) -> Option<Section> {
    Some(Section {
        name: String::new(),
        kind: int(entry, 4)?,
        flags: long(entry, 8)?,
        address: long(entry, 16)?,
        offset: long(entry, 24)?,
        size: long(entry, 32)?,
        link: int(entry, 40)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::modules::mappings;
    use proptest::prelude::*;
    use std::io::Write;

    #[test]
    fn own_executable_has_this_function() {
        let elf = Elf::open(File::open("/proc/self/exe").unwrap()).unwrap();
        let own = name_at as *const () as u64;
        let mapping = mappings(std::process::id())
            .into_iter()
            .find(|mapping| (mapping.start..mapping.end).contains(&own))
            .unwrap();
        let bias = elf.bias(mapping.start, mapping.offset).unwrap();
        let symbols = elf.symbols();
        let name = String::from_utf8_lossy(symbols.find(own - bias).unwrap());
        assert!(name.contains("name_at"), "{name}");
        assert!(elf.contents(".eh_frame").is_some_and(|c| !c.bytes.is_empty()));
    }

    /// A small but complete file: the library that the kernel maps into each process.
    fn small_file() -> Vec<u8> {
        let mapping = mappings(std::process::id())
            .into_iter()
            .find(|mapping| mapping.file_name() == "[vdso]")
            .unwrap();
        let mut bytes = vec![0; (mapping.end - mapping.start) as usize];
        let memory = File::open("/proc/self/mem").unwrap();
        memory.read_exact_at(&mut bytes, mapping.start).unwrap();
        bytes
    }

    fn open(bytes: &[u8]) -> Option<Elf> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Elf::open(file)
    }

    #[test]
    fn small_file_is_read() {
        assert!(!open(&small_file()).unwrap().symbols().is_empty());
        assert!(open(b"#!/bin/sh").is_none() && open(b"").is_none());
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read(
            damage in prop::collection::vec((0f64..1.0, any::<u8>()), 0..60),
            head in prop::collection::vec((6usize..64, any::<u8>()), 0..2),
            length in 0f64..1.2,
        ) {
            let mut bytes = small_file();
            let whole = bytes.len() as f64;
            for (at, byte) in damage {
                bytes[(at * whole) as usize] = byte;
            }
            for (at, byte) in head {
                bytes[at] = byte;
            }
            bytes.truncate((length * whole) as usize);
            if let Some(elf) = open(&bytes) {
                let _ = (elf.symbols().find(1), elf.bias(4096, 0), elf.lowest_address());
            }
        }
    }
}
