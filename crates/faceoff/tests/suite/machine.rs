//! Shares the machine between tests: most run next to each other, and a test that measures runs
//! alone.
//!
//! The lock is on a file, so it also works between processes: a test runner that starts a process
//! per test, or a second `cargo test` of the same target directory. A test that waits in [`alone`]
//! does not keep others from [`share`]. So a test can take a share for each of its folders and
//! never waits for itself.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;

thread_local! {
    /// Whether the test of this thread has the machine to itself.
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// A share of the machine. Within a test that runs alone it holds no lock.
pub struct Shared {
    _lock: Option<File>,
}

/// Exclusive use of the machine.
pub struct Alone {
    _lock: File,
}

impl Drop for Alone {
    fn drop(&mut self) {
        IS_ALONE.set(false);
    }
}

fn open() -> File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine.lock");
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Waits while another test has the machine alone. Folders and servers take a share, as they start
/// processes.
pub fn share() -> Shared {
    if IS_ALONE.get() {
        return Shared { _lock: None };
    }
    let file = open();
    file.lock_shared().unwrap();
    Shared { _lock: Some(file) }
}

/// Waits until no other test uses the machine. Call it before the first [`share`] of a test: later,
/// the test waits for itself.
pub fn alone() -> Alone {
    assert!(!IS_ALONE.get(), "this test has the machine alone already");
    let file = open();
    file.lock().unwrap();
    IS_ALONE.set(true);
    Alone { _lock: file }
}

#[test]
fn alone_excludes_shares_of_other_tests() {
    let shared_by_another =
        || std::thread::spawn(|| open().try_lock_shared().is_ok()).join().unwrap();
    let alone = alone();
    assert!(!shared_by_another());
    assert!(share()._lock.is_none());
    drop(alone);
    let (first, second) = (share(), share());
    drop(first);
    assert!(open().try_lock().is_err(), "the second share is still there");
    drop(second);
    // Another test may be next to have the machine alone, so this waits until it is free.
    open().lock_shared().unwrap();
}
