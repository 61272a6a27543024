//! Two runs never measure at once on one machine.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Held for as long as it lives; the kernel gives it back when the process ends.
pub struct Lock {
    _file: File,
}

fn path() -> PathBuf {
    std::env::temp_dir().join("faceoff.lock")
}

/// Which it is, as its path may be another file in another container: the machine's boot, device and inode. Empty where it cannot be read.
pub(crate) fn identity() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    std::fs::metadata(path()).map_or_else(|_| String::new(), |file| format!("{}-{:x}-{:x}", boot.trim(), file.dev(), file.ino()))
}

/// Takes the lock. While another holds it, `wait` is told who and returns
/// whether to wait on.
///
/// # Errors
/// When the lock file cannot be opened. `Ok(None)` when `wait` gave up.
pub fn take(mut wait: impl FnMut(&str) -> bool) -> std::io::Result<Option<Lock>> {
    let path = path();
    let open = |create: bool| File::options().read(true).write(true).create(create).truncate(false).open(&path);
    // Somebody else's file in a sticky folder can be opened, but not with O_CREAT.
    let mut file = open(false).or_else(|_| open(true))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut holder));
                if !wait(holder.trim()) {
                    return Ok(None);
                }
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            Err(error) => return Err(error.into()),
        }
    }
    // Only to tell the others; the lock does not hang on it.
    let _ = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| write!(file, "process {}", std::process::id()));
    Ok(Some(Lock { _file: file }))
}
