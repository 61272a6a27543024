//! The executables and libraries of all sampled processes, each opened once.
//!
//! A file is opened when a process is first seen with it, and stays open. So its functions can be
//! named later, also if it has been deleted or the process has ended. [`Modules::of_mapping`] finds
//! the module of a mapping, and [`mappings`] reads the mappings of a process.

use super::elf::{Contents, Elf};
use super::go::GoTable;
use super::symbols::hexadecimal;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Most bytes that are read of `/proc/PID/maps`.
const MAPS_BYTES_MAX: u64 = 16 << 20;

/// The kernel, in [`Modules`].
pub(super) const KERNEL: u32 = 0;
/// Addresses of processes that could not be read.
pub(super) const UNKNOWN: u32 = 1;
const VDSO: &str = "[vdso]";

/// Where code comes from.
pub(super) struct Module {
    /// The name that people see.
    pub name: String,
    pub code: Code,
}

pub(super) enum Code {
    Kernel,
    Unknown,
    /// An executable or library.
    File {
        elf: Elf,
        unwind: Option<UnwindData>,
        go: Option<GoTable>,
    },
    /// A file that could not be read, with the reason.
    Unreadable(String),
    /// Memory that a process has filled with code.
    Compiled {
        pid: u32,
    },
}

/// What unwinding needs of a file.
pub(super) struct UnwindData {
    pub frames: Contents,
    /// The index of `frames`.
    pub index: Option<Contents>,
}

/// All modules, by number.
pub(super) struct Modules {
    list: Vec<Module>,
    /// Numbers of files by device and inode.
    files: HashMap<(String, u64), u32>,
    compiled: HashMap<u32, u32>,
}

impl Modules {
    pub fn new() -> Modules {
        let plain = |name: &str, code| Module { name: name.to_owned(), code };
        let list = vec![plain("kernel", Code::Kernel), plain("unknown", Code::Unknown)];
        Modules { list, files: HashMap::new(), compiled: HashMap::new() }
    }

    pub fn get(&self, number: u32) -> &Module {
        &self.list[number as usize]
    }

    /// The number of the module that a process has mapped.
    pub fn of_mapping(&mut self, pid: u32, mapping: &Mapping) -> u32 {
        if mapping.has_generated_code() {
            return self.compiled_by(pid);
        }
        // The kernel maps the same image into each process.
        let identity = (mapping.device.clone(), mapping.inode);
        if let Some(number) = self.files.get(&identity) {
            return *number;
        }
        let name = mapping.file_name().trim_end_matches(" (deleted)").to_owned();
        let elf = match mapping.path == VDSO {
            true => image_of_kernel().ok_or_else(|| "the kernel's image is damaged".to_owned()),
            false => open_mapped(pid, mapping),
        };
        let code = elf.map_or_else(Code::Unreadable, |elf| {
            let frames = elf.contents(".eh_frame").filter(|frames| !frames.bytes.is_empty());
            let unwind =
                frames.map(|frames| UnwindData { frames, index: elf.contents(".eh_frame_hdr") });
            let go = elf.go_table();
            Code::File { elf, unwind, go }
        });
        let number = self.add(Module { name, code });
        self.files.insert(identity, number);
        number
    }

    /// The module of code that a process has generated.
    pub fn compiled_by(&mut self, pid: u32) -> u32 {
        if let Some(number) = self.compiled.get(&pid) {
            return *number;
        }
        let number = self.add(Module { name: "jit".to_owned(), code: Code::Compiled { pid } });
        self.compiled.insert(pid, number);
        number
    }

    fn add(&mut self, module: Module) -> u32 {
        self.list.push(module);
        self.list.len() as u32 - 1
    }
}

/// The difference between addresses in memory and in the file.
pub(super) fn bias(module: &Module, mapping: &Mapping) -> u64 {
    match &module.code {
        Code::File { elf, .. } => elf.bias(mapping.start, mapping.offset).unwrap_or(0),
        _ => 0,
    }
}

/// Executable memory of a process: a line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    device: String,
    inode: u64,
    path: String,
}

impl Mapping {
    /// The name of its file, without folders.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether a virtual machine may have filled it, and no file has.
    fn has_generated_code(&self) -> bool {
        let of_memory = ["/memfd:", "/dev/zero", "/SYSV"].iter().any(|p| self.path.starts_with(p));
        self.path != VDSO && (self.inode == 0 || of_memory)
    }
}

/// The executable mappings of a process; none if it has ended.
pub(super) fn mappings(pid: u32) -> Vec<Mapping> {
    let mut text = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/maps")) {
        // The read of a process that has ended fails.
        let _ = file.take(MAPS_BYTES_MAX).read_to_end(&mut text);
    }
    text.split(|byte| *byte == b'\n').filter_map(mapping).collect()
}

/// Reads a line such as `00400000-00452000 r-xp 00000000 08:02 173521  /usr/bin/program`.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = hexadecimal(words.next()?.as_bytes())?;
    let device = words.next()?.to_owned();
    let inode = words.next()?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start().to_owned();
    let (start, end) = (hexadecimal(start.as_bytes())?, hexadecimal(end.as_bytes())?);
    let is_code = permissions.as_bytes().get(2) == Some(&b'x') && path != "[vsyscall]";
    (is_code && start < end).then_some(Mapping { start, end, offset, device, inode, path })
}

/// Opens the file of a mapping: by the mapping itself, which needs privileges, or by its path in
/// the process's root, or as the executable, which also works if it was deleted.
fn open_mapped(pid: u32, mapping: &Mapping) -> Result<Elf, String> {
    let Mapping { start, end, inode, path, .. } = mapping;
    let open = |path: String, is_right: &dyn Fn(&File) -> bool| {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        (is_file && is_right(&file)).then_some(file)
    };
    let executable = format!("/proc/{pid}/exe");
    let is_executable = std::fs::read_link(&executable).is_ok_and(|exe| exe == Path::new(path));
    let same = |file: &File| file.metadata().is_ok_and(|metadata| metadata.ino() == *inode);
    let file = open(format!("/proc/{pid}/map_files/{start:x}-{end:x}"), &|_| true)
        .or_else(|| open(format!("/proc/{pid}/root{path}"), &same))
        .or_else(|| open(executable, &|_| is_executable));
    match file.map(Elf::open) {
        Some(Some(elf)) => Ok(elf),
        Some(None) => Err("it is no 64-bit ELF file".to_owned()),
        None if path.ends_with(" (deleted)") => Err("it was deleted".to_owned()),
        None => Err("it cannot be opened".to_owned()),
    }
}

/// The library that the kernel maps into each process, as it is in this one.
fn image_of_kernel() -> Option<Elf> {
    let mapping = mappings(std::process::id()).into_iter().find(|m| m.path == VDSO)?;
    let memory = File::open("/proc/self/mem").ok()?;
    Elf::open_at(memory, mapping.start, mapping.end - mapping.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_mappings_are_read() {
        let line = b"7f00-7f10 r-xp 00001000 fd:00 42   /a b/c (deleted)";
        let expected = Mapping {
            start: 0x7f00,
            end: 0x7f10,
            offset: 0x1000,
            device: "fd:00".into(),
            inode: 42,
            path: "/a b/c (deleted)".into(),
        };
        assert_eq!(mapping(line), Some(expected));
        let others = [&b"7f00-7f10 rw-p 0 fd:00 42 /a"[..], b"", b"x-y r-xp 0 fd:00 42", b"1-2"];
        assert_eq!(others.map(mapping), [None, None, None, None]);
    }

    #[test]
    fn own_mappings_are_files_or_generated() {
        let (mut modules, own) = (Modules::new(), std::process::id());
        let numbers: Vec<u32> =
            mappings(own).iter().map(|mapping| modules.of_mapping(own, mapping)).collect();
        let exe = std::env::current_exe().unwrap();
        let exe = exe.file_name().unwrap().to_str().unwrap();
        let module = numbers.iter().map(|n| modules.get(*n)).find(|module| module.name == exe);
        assert!(matches!(module.unwrap().code, Code::File { unwind: Some(_), .. }));
        let vdso =
            numbers.iter().map(|n| modules.get(*n)).find(|module| module.name == VDSO).unwrap();
        let Code::File { elf, .. } = &vdso.code else { panic!() };
        assert!(!elf.symbols().is_empty());
    }
}
