//! The lock that keeps two runs from measuring on one machine at the same time. Start with
//! [`take`].

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A lock that is held while this value lives. The kernel releases it when the process ends.
pub struct Lock {
    _file: File,
}

fn path() -> PathBuf {
    std::env::temp_dir().join("faceoff.lock")
}

/// The identity of the lock file: the machine's boot, device and inode. Its path may be another
/// file in another container. Empty if it cannot be read.
pub(crate) fn identity() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    std::fs::metadata(path()).map_or_else(
        |_| String::new(),
        |file| format!("{}-{:x}-{:x}", boot.trim(), file.dev(), file.ino()),
    )
}

/// Takes the lock. While another run holds it, calls `wait` with the holder, which returns whether
/// to keep waiting.
///
/// # Errors
/// A lock file that cannot be opened. `Ok(None)` if `wait` gave up.
pub fn take(mut wait: impl FnMut(&str) -> bool) -> std::io::Result<Option<Lock>> {
    let path = path();
    let open = |create: bool| {
        File::options().read(true).write(true).create(create).truncate(false).open(&path)
    };
    // Another user's file in a sticky folder can be opened, but not with O_CREAT.
    let mut file = open(false).or_else(|_| open(true))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let _ =
                    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut holder));
                if !wait(holder.trim()) {
                    return Ok(None);
                }
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            Err(error) => return Err(error.into()),
        }
    }
    // The text only informs other runs; the lock does not depend on it.
    let _ = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| write!(file, "process {}", std::process::id()));
    Ok(Some(Lock { _file: file }))
}
