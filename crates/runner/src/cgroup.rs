//! Control groups, version 1 or 2.
//!
//! Reads the CPU quota that a process runs under, and the usage of a group of its own. Start with
//! [`quota`] and [`own_usage`].

use crate::procfs::is_alive;
use record::{GroupUsage, Quota};
use std::fs;
use std::path::{Path, PathBuf};

/// The `cpu.stat` files of a process's cgroup and of those above it; none if cgroups cannot be
/// read.
pub(crate) fn stat_files(pid: u32) -> Vec<PathBuf> {
    folders(pid, "cpu")
        .into_iter()
        .map(|folder| folder.join("cpu.stat"))
        .filter(|file| file.exists())
        .collect()
}

/// The folders of a process's groups for a controller, nearest first.
fn folders(pid: u32, controller: &str) -> Vec<PathBuf> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    places(&read(&format!("/proc/{pid}/cgroup")), &read("/proc/self/mountinfo"), controller)
}

/// Whether a process runs in a container. Another process that has got the same id is not in a
/// group of that name.
pub(crate) fn runs_in(pid: u32, container: &str) -> bool {
    let groups = || fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    pid != 0 && is_alive(pid) && groups().contains(container)
}

/// The usage of a process's own group; `None` if it shares ours, as processes that we start do, or
/// if it cannot be read.
pub(crate) fn own_usage(pid: u32) -> Option<GroupUsage> {
    let own = |controller: &str| {
        let nearest = folders(pid, controller).into_iter().next()?;
        (folders(std::process::id(), controller).first() != Some(&nearest) && nearest.is_dir())
            .then_some(nearest)
    };
    let number = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let among = |file: PathBuf, key: &str| value_of(&fs::read_to_string(file).ok()?, key);
    let cpu = own("cpuacct")?;
    let memory = own("memory");
    let of_memory = |one: &str, two: &str| {
        memory
            .as_ref()
            .and_then(|folder| number(folder.join(one)).or_else(|| number(folder.join(two))))
    };
    let kills =
        |file: &str| memory.as_ref().and_then(|folder| among(folder.join(file), "oom_kill"));
    Some(GroupUsage {
        cpu_ns: number(cpu.join("cpuacct.usage"))
            .or_else(|| among(cpu.join("cpu.stat"), "usage_usec")?.checked_mul(1_000))?,
        memory_max_bytes: of_memory("memory.max_usage_in_bytes", "memory.peak"),
        memory_kills: kills("memory.oom_control").or_else(|| kills("memory.events")).unwrap_or(0),
    })
}

/// The number after a word at the beginning of a line.
fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Reads the throttling so far from a `cpu.stat`; `None` if it has no quota.
pub(crate) fn quota(file: &Path) -> Option<Quota> {
    parse_quota(&fs::read_to_string(file).ok()?)
}

fn parse_quota(text: &str) -> Option<Quota> {
    let value = |key: &str| value_of(text, key);
    // Version 1 counts nanoseconds, version 2 microseconds.
    let throttled_ns =
        value("throttled_time").or_else(|| value("throttled_usec")?.checked_mul(1_000))?;
    Some(Quota {
        periods: value("nr_periods")?,
        throttled_periods: value("nr_throttled")?,
        throttled_ns,
    })
}

/// The folders of a process's cgroup for a controller, nearest first, up to the mount point of the
/// hierarchy.
fn places(cgroup: &str, mountinfo: &str, controller: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|c| c == controller) {
            continue;
        }
        let Some((root, mounted_at)) =
            mountinfo.lines().find_map(|mount| mounted(mount, is_v2, controller))
        else {
            continue;
        };
        // In a container, the path may begin above the mounted part.
        let below = Path::new(path)
            .strip_prefix(&root)
            .or_else(|_| Path::new(path).strip_prefix("/"))
            .unwrap_or(Path::new(""));
        if below.components().any(|part| part == std::path::Component::ParentDir) {
            continue;
        }
        found.extend(below.ancestors().map(|folder| mounted_at.join(folder)));
    }
    found
}

/// The part of the hierarchy that a line of `mountinfo` mounts and its mount point, if the line
/// mounts this controller.
fn mounted(line: &str, is_v2: bool, controller: &str) -> Option<(PathBuf, PathBuf)> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut filesystem = filesystem.split(' ');
    let (kind, options) = (filesystem.next()?, filesystem.nth(1)?);
    let fits = if is_v2 {
        kind == "cgroup2"
    } else {
        kind == "cgroup" && options.split(',').any(|o| o == controller)
    };
    let mut fields = mount.split(' ').skip(3);
    let path = |text: &str| PathBuf::from(text.replace("\\040", " "));
    fits.then_some((path(fields.next()?), path(fields.next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn paths(cgroup: &str, mountinfo: &str) -> Vec<String> {
        places(cgroup, mountinfo, "cpu").iter().map(|p| p.display().to_string()).collect()
    }

    #[test]
    fn cgroup_folders_are_found_up_to_the_mount_point() {
        assert_eq!(
            paths("4:memory:/m\n2:cpu,cpuacct:/a/b\n", V1),
            [
                "/sys/fs/cgroup/cpu,cpuacct/a/b",
                "/sys/fs/cgroup/cpu,cpuacct/a",
                "/sys/fs/cgroup/cpu,cpuacct/"
            ]
        );
        let v2 = "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            paths("0::/user.slice/x\n", v2),
            ["/sys/fs/cgroup/user.slice/x", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/"]
        );
    }

    #[test]
    fn mounted_part_of_a_path_is_removed_in_a_container() {
        let mount = "24 1 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(paths("0::/docker/abc/x\n", mount), ["/sys/fs/cgroup/x", "/sys/fs/cgroup/"]);
        assert!(paths("0::/../..\n", mount).is_empty());
    }

    #[test]
    fn only_version_1_has_a_folder_per_controller() {
        let own = "5:cpuset:/s\n4:memory:/m\n2:cpu,cpuacct:/a\n0::/u\n";
        let first =
            |controller: &str| places(own, V1, controller).first().map(|p| p.display().to_string());
        assert_eq!(first("cpuacct").as_deref(), Some("/sys/fs/cgroup/cpu,cpuacct/a"));
        assert_eq!(first("cpuset").as_deref(), Some("/sys/fs/cgroup/cpuset/s"));
        // Its hierarchy is not mounted here, and the line of version 2 comes later.
        assert_eq!(first("memory").as_deref(), Some("/sys/fs/cgroup/unified/u"));
        assert_eq!(value_of("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
    }

    #[test]
    fn process_that_we_start_has_no_own_group() {
        assert_eq!(own_usage(std::process::id()), None);
        assert_eq!(own_usage(u32::MAX >> 4), None);
    }

    #[test]
    fn cpu_stat_is_read_in_both_versions() {
        let expected = Quota { periods: 20, throttled_periods: 7, throttled_ns: 5_000 };
        assert_eq!(
            parse_quota("nr_periods 20\nnr_throttled 7\nthrottled_time 5000\n"),
            Some(expected)
        );
        let v2 = "usage_usec 1\nuser_usec 1\nsystem_usec 0\nnr_periods 20\nnr_throttled 7\nthrottled_usec 5\nnr_bursts 0\n";
        assert_eq!(parse_quota(v2), Some(expected));
        assert_eq!(parse_quota("usage_usec 1\n"), None);
        assert_eq!(
            parse_quota("nr_periods x\nnr_throttled -1\nthrottled_usec 99999999999999999999\n"),
            None
        );
    }
}
