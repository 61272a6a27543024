//! What the kernel says of processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

/// One tick of the times in `/proc/PID/stat`, in nanoseconds: USER_HZ is 100 on
/// every Linux that has a stable interface.
const TICK_NS: u64 = 10_000_000;

/// The part of `/proc/PID/stat` that is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub parent: u32,
    pub system_ns: u64,
    pub threads: u64,
}

fn read(path: &str, buffer: &mut Vec<u8>) -> Option<()> {
    buffer.clear();
    fs::File::open(path).ok()?.read_to_end(buffer).ok()?;
    Some(())
}

/// Reads files of /proc into one buffer that is used again.
#[derive(Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    pub fn stat(&mut self, pid: u32) -> Option<Stat> {
        read(&format!("/proc/{pid}/stat"), &mut self.buffer)?;
        parse_stat(&self.buffer)
    }

    /// Resident memory in bytes.
    pub fn resident_bytes(&mut self, pid: u32) -> Option<u64> {
        read(&format!("/proc/{pid}/statm"), &mut self.buffer)?;
        let text = std::str::from_utf8(&self.buffer).ok()?;
        Some(text.split(' ').nth(1)?.parse::<u64>().ok()? * rustix::param::page_size() as u64)
    }

    /// A `Name:  123 kB` line of `/proc/PID/status` or of a thread's.
    fn status_value(&self, name: &str) -> Option<u64> {
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    }

    /// Greatest resident memory since the start, in bytes.
    pub fn peak_resident_bytes(&mut self, pid: u32) -> Option<u64> {
        read(&format!("/proc/{pid}/status"), &mut self.buffer)?;
        self.status_value("VmHWM").map(|kib| kib * 1024)
    }

    /// Context switches of all living threads: voluntary, involuntary.
    pub fn switches(&mut self, pid: u32) -> (u64, u64) {
        let mut sum = (0, 0);
        for thread in numbers_in(&format!("/proc/{pid}/task")) {
            if read(&format!("/proc/{pid}/task/{thread}/status"), &mut self.buffer).is_some() {
                sum.0 += self.status_value("voluntary_ctxt_switches").unwrap_or(0);
                sum.1 += self.status_value("nonvoluntary_ctxt_switches").unwrap_or(0);
            }
        }
        sum
    }

    /// The environment entry `name=` of a process of ours.
    pub fn environment(&mut self, pid: u32, name: &str) -> Option<String> {
        read(&format!("/proc/{pid}/environ"), &mut self.buffer)?;
        self.buffer.split(|b| *b == 0).find_map(|entry| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    }

    /// Total and stolen CPU time of the machine, in ticks.
    pub fn machine_ticks(&mut self) -> Option<(u64, u64)> {
        read("/proc/stat", &mut self.buffer)?;
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let ticks: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).filter_map(|t| t.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is within user.
        Some((ticks.iter().take(8).sum(), *ticks.get(7)?))
    }
}

fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    // The name stands in parentheses and may hold anything, parentheses too.
    let text = String::from_utf8_lossy(bytes);
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat { parent: number(1)? as u32, system_ns: number(12)? * TICK_NS, threads: number(17)? })
}

/// Open descriptors of a process.
pub(crate) fn descriptors(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/fd");
    // Since Linux 6.2 the size of the folder is their number.
    match fs::metadata(&path).ok()?.len() {
        0 => Some(fs::read_dir(&path).ok()?.count() as u64),
        count => Some(count),
    }
}

/// CPU time of a process with all its threads, also those that ended, to the
/// nanosecond: its own CPU clock, which unlike `/proc/PID/stat` has no ticks.
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    // MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of linux/posix-timers.h.
    let clock = ((!pid) << 3 | 2) as libc::clockid_t;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; an unknown clock is an error, nothing else.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// Every process and its parent.
pub(crate) fn parents() -> BTreeMap<u32, u32> {
    let mut reader = Reader::default();
    numbers_in("/proc").into_iter().filter_map(|pid| Some((pid, reader.stat(pid)?.parent))).collect()
}

/// All that descend from a process, without itself; nearest first.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![root];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|(_, p)| **p == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// Greatest resident memory of a process since its start, in bytes; `None` when it is gone.
pub fn peak_resident_bytes(pid: u32) -> Option<u64> {
    Reader::default().peak_resident_bytes(pid)
}

/// The load average of the last minute.
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|t| t.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = b"42 (a) b (c)) S 7 42 42 0 -1 4194560 1 0 0 0 11 5 0 0 20 0 3 0 100 1 2";
        assert_eq!(parse_stat(line), Some(Stat { parent: 7, system_ns: 50_000_000, threads: 3 }));
        assert_eq!(parse_stat(b"garbage"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let (mut reader, me) = (Reader::default(), std::process::id());
        assert!(reader.resident_bytes(me).unwrap() > 100_000);
        assert!(reader.peak_resident_bytes(me).unwrap() >= reader.resident_bytes(me).unwrap() / 2);
        assert!(reader.stat(me).unwrap().threads >= 1);
        assert!(descriptors(me).unwrap() >= 3);
        let before = cpu_ns(me).unwrap();
        std::hint::black_box((0..2_000_000u64).sum::<u64>());
        assert!(cpu_ns(me).unwrap() > before);
        assert_eq!(cpu_ns(u32::MAX >> 4), None);
    }
}
