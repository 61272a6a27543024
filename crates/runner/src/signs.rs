//! Readings that hint at causes, such as throttling, a busy thread, disk writes or a growing log.
//!
//! They are taken right before a measurement and right after it, so that nothing is read meanwhile.

use crate::cgroup;
use crate::procfs::{Reader, threads as threads_of, trees};
use record::{GroupUsage, Quota, Signs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Maximum number of threads that are read: each is one file.
const THREADS_MAX: usize = 4_096;

/// A reading of process trees.
pub struct Reading {
    roots: Vec<u32>,
    at_ns: u64,
    log: PathBuf,
    threads: BTreeMap<(u32, u32), (u64, u64)>,
    output_bytes: Option<u64>,
    disk_bytes: BTreeMap<u32, u64>,
    /// The files of each root's control groups, and their counts.
    files: Vec<Vec<PathBuf>>,
    quotas: BTreeMap<PathBuf, Quota>,
    group: Option<GroupUsage>,
}

impl Reading {
    /// Reads processes and all their descendants. `log` is the output of the first one.
    pub fn take(roots: &[u32], log: &Path) -> Reading {
        let mut reader = Reader::default();
        let tree = trees(roots);
        let files: Vec<Vec<PathBuf>> = roots.iter().map(|root| cgroup::stat_files(*root)).collect();
        // Pods share some groups.
        let each: BTreeSet<&PathBuf> = files.iter().flatten().collect();
        let quotas = each
            .into_iter()
            .filter_map(|file| cgroup::quota(file).map(|quota| (file.clone(), quota)))
            .collect();
        let groups =
            roots.iter().map(|root| cgroup::own_usage(*root)).collect::<Option<Vec<GroupUsage>>>();
        let mut threads = BTreeMap::new();
        for pid in &tree {
            for thread in threads_of(*pid).into_iter().take(THREADS_MAX - threads.len()) {
                if let Some(times) = reader.thread_times(*pid, thread) {
                    threads.insert((*pid, thread), times);
                }
            }
        }
        Reading {
            roots: roots.to_vec(),
            at_ns: load::clock::now_ns(),
            log: log.to_owned(),
            threads,
            output_bytes: std::fs::metadata(log).map(|m| m.len()).ok(),
            disk_bytes: tree
                .iter()
                .filter_map(|pid| Some((*pid, reader.disk_bytes(*pid)?)))
                .collect(),
            files,
            quotas,
            group: groups.and_then(|groups| groups.into_iter().reduce(together)),
        }
    }

    /// The changes since this reading.
    pub fn until_now(&self) -> Signs {
        let ended_ns = load::clock::now_ns();
        let now = Reading::take(&self.roots, &self.log);
        let before = |id| self.threads.get(id).copied().unwrap_or_default();
        let used = now.threads.iter().map(|(id, (ran, waited))| {
            (ran.saturating_sub(before(id).0), waited.saturating_sub(before(id).1))
        });
        let used: Vec<(u64, u64)> = used.collect();
        let wanted = |(ran, waited): &(u64, u64)| ran + waited;
        let busiest = used.iter().copied().max_by_key(wanted);
        let all: u64 = used.iter().map(wanted).sum();
        // A process that began meanwhile counts from zero.
        let disk = now.disk_bytes.iter().map(|(pid, bytes)| {
            bytes.saturating_sub(self.disk_bytes.get(pid).copied().unwrap_or(0))
        });
        Signs {
            wall_ns: ended_ns.saturating_sub(self.at_ns),
            busiest_thread_ns: busiest.map(|(ran, _)| ran),
            busiest_thread_waited_ns: busiest.map(|(_, waited)| waited),
            other_threads_wanted_ns: busiest.map(|busiest| all - wanted(&busiest)),
            output_bytes: now
                .output_bytes
                .zip(self.output_bytes)
                .map(|(after, before)| after.saturating_sub(before)),
            disk_bytes: (!now.disk_bytes.is_empty()).then(|| disk.sum()),
            quota: throttled(&now.files, &self.quotas, &now.quotas),
            group: self.group.zip(now.group).map(|(before, after)| GroupUsage {
                cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
                memory_max_bytes: after.memory_max_bytes,
                memory_kills: after.memory_kills.saturating_sub(before.memory_kills),
            }),
        }
    }
}

/// How all were throttled: each as its most throttled group was. A group counts once, however many
/// processes it has.
fn throttled(
    files: &[Vec<PathBuf>],
    before: &BTreeMap<PathBuf, Quota>,
    after: &BTreeMap<PathBuf, Quota>,
) -> Option<Quota> {
    let passed = |file: &PathBuf| {
        let (before, after) = (before.get(file)?, after.get(file)?);
        Some(Quota {
            periods: after.periods.saturating_sub(before.periods),
            throttled_periods: after.throttled_periods.saturating_sub(before.throttled_periods),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
        })
    };
    let of_one = |files: &Vec<PathBuf>| {
        let each = files.iter().filter_map(|file| Some((file.clone(), passed(file)?)));
        each.max_by_key(|(_, quota)| (quota.throttled_periods, quota.throttled_ns, quota.periods))
    };
    let most: BTreeMap<PathBuf, Quota> = files.iter().filter_map(of_one).collect();
    most.into_values().reduce(|one, other| Quota {
        periods: one.periods + other.periods,
        throttled_periods: one.throttled_periods + other.throttled_periods,
        throttled_ns: one.throttled_ns + other.throttled_ns,
    })
}

/// The sum of two groups.
fn together(one: GroupUsage, other: GroupUsage) -> GroupUsage {
    GroupUsage {
        cpu_ns: one.cpu_ns + other.cpu_ns,
        memory_max_bytes: one
            .memory_max_bytes
            .zip(other.memory_max_bytes)
            .map(|(one, other)| one + other),
        memory_kills: one.memory_kills + other.memory_kills,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn busy_thread_and_growing_log_are_read() {
        let path = std::env::temp_dir().join(format!("faceoff-signs-{}", std::process::id()));
        let mut log = std::fs::File::create(&path).unwrap();
        log.write_all(b"before").unwrap();
        let before = Reading::take(&[std::process::id()], &path);
        let burnt = 50_000_000;
        let begin = load::clock::thread_cpu_ns();
        while load::clock::thread_cpu_ns() - begin < burnt {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
        log.write_all(b"after").unwrap();
        let signs = before.until_now();
        let _ = std::fs::remove_file(&path);
        assert_eq!(signs.output_bytes, Some(5));
        assert!(signs.wall_ns >= burnt);
        // Another test's thread may have wanted more. The kernel updates the figures at its ticks.
        let ticks = 20_000_000;
        let wanted = signs.busiest_thread_ns.zip(signs.busiest_thread_waited_ns);
        assert!(wanted.is_none_or(|(ran, waited)| ran + waited + ticks >= burnt), "{signs:?}");
    }

    #[test]
    fn throttling_of_a_shared_group_counts_once() {
        let quota = |periods, throttled_periods| Quota {
            periods,
            throttled_periods,
            throttled_ns: throttled_periods * 1_000,
        };
        let group =
            |file: &str, periods, throttled| (PathBuf::from(file), quota(periods, throttled));
        let pods = [["a", "all"], ["b", "all"]].map(|files| files.map(PathBuf::from).to_vec());
        let before = [group("a", 10, 1), group("b", 10, 2), group("all", 50, 0)].into();
        let after = [group("a", 110, 41), group("b", 110, 22), group("all", 150, 0)].into();
        assert_eq!(throttled(&pods, &before, &after), Some(quota(200, 60)), "each by its own");
        let of_all = [group("a", 110, 1), group("b", 110, 2), group("all", 150, 30)].into();
        assert_eq!(
            throttled(&pods, &before, &of_all),
            Some(quota(100, 30)),
            "both by what they share"
        );
        assert_eq!(throttled(&[vec![]], &BTreeMap::new(), &BTreeMap::new()), None);
    }

    #[test]
    fn missing_process_gives_empty_signs() {
        let signs = Reading::take(&[u32::MAX >> 4], Path::new("/no/such/file")).until_now();
        assert_eq!(Signs { wall_ns: 0, ..signs }, Signs::default());
    }
}
