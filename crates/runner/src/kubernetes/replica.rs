//! A further pod of a start, and the processes of containers.

use crate::cgroup;
use crate::procfs::parents;
use std::collections::BTreeSet;

/// A pod in addition to the first.
pub(super) struct Replica {
    /// The name that the cluster gave it.
    pub name: String,
    /// The name of its container.
    pub container: String,
    pub pid: u32,
}

impl Replica {
    /// Whether its first process runs.
    pub fn runs(&self) -> bool {
        cgroup::runs_in(self.pid, &self.container)
    }
}

/// Finds the first process of a container: the one in its control group whose parent is not in it.
pub(super) fn root_of(container: &str) -> Option<u32> {
    // A shorter text could be part of another container's name.
    if container.len() < 12 {
        return None;
    }
    let parents = parents();
    let is_inside = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
            .is_ok_and(|groups| groups.contains(container))
    };
    let inside: BTreeSet<u32> = parents.keys().copied().filter(is_inside).collect();
    inside
        .iter()
        .copied()
        .find(|pid| parents.get(pid).is_none_or(|parent| !inside.contains(parent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_process_is_found_for_an_unnamed_container() {
        assert_eq!(root_of(""), None);
        assert_eq!(root_of(&"0123abcd".repeat(8)), None);
    }
}
