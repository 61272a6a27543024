//! Processes that an earlier run left because both it and the guard were killed.

use crate::guard::MARK;
use crate::procfs::{Reader, command, parents};
use rustix::process::{Pid, Signal, kill_process};

/// Kills processes that carry a run's mark and whose guard is gone: no
/// ancestor of theirs carries the mark or is a guard. Returns how many.
pub fn clear() -> usize {
    let parents = parents();
    let mut reader = Reader::default();
    let me = std::process::id();
    let marked: Vec<u32> = parents.keys().copied().filter(|pid| *pid != me && reader.environment(*pid, MARK).is_some()).collect();
    let mut cleared = 0;
    for pid in &marked {
        // A guard carries the mark as well; its parent, faceoff, does not. What
        // init or a subreaper of the session adopted has no marked parent either.
        let is_guard = |pid: u32| command(pid).get(1).is_some_and(|word| word == crate::guard::ARGUMENT);
        let mut ancestor = parents.get(pid).copied();
        let mut has_guard = is_guard(*pid);
        while let Some(a) = ancestor.filter(|a| marked.contains(a)) {
            has_guard |= is_guard(a);
            ancestor = parents.get(&a).copied();
        }
        if !has_guard && let Some(pid) = Pid::from_raw(*pid as i32) {
            cleared += usize::from(kill_process(pid, Signal::KILL).is_ok());
        }
    }
    cleared
}
