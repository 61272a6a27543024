//! Reads processes and the machine from `/proc`.
//!
//! [`Reader`] reads files into one reused buffer, as samples are taken often. Functions below it
//! read single values.

use record::{CpuTime, TICK_NS};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub parent: u32,
    pub system_ns: u64,
    /// CPU time of children that it has waited for, and of their children.
    pub reaped_ns: u64,
    pub threads: u64,
}

fn read_file(path: &str, buffer: &mut Vec<u8>) -> Option<()> {
    buffer.clear();
    fs::File::open(path).ok()?.read_to_end(buffer).ok()?;
    Some(())
}

/// Reads files of /proc into one reused buffer.
#[derive(Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    pub fn stat(&mut self, pid: u32) -> Option<Stat> {
        read_file(&format!("/proc/{pid}/stat"), &mut self.buffer)?;
        parse_stat(&self.buffer)
    }

    /// Resident memory in bytes.
    pub fn resident_bytes(&mut self, pid: u32) -> Option<u64> {
        self.memory_bytes(pid).map(|(resident, _)| resident)
    }

    /// Resident memory in bytes, and the part that may be shared with others: files and shared
    /// memory.
    pub fn memory_bytes(&mut self, pid: u32) -> Option<(u64, u64)> {
        read_file(&format!("/proc/{pid}/statm"), &mut self.buffer)?;
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let mut bytes = text.split(' ').skip(1).map_while(|pages| {
            Some(pages.parse::<u64>().ok()? * rustix::param::page_size() as u64)
        });
        Some((bytes.next()?, bytes.next()?))
    }

    /// The value of a line `Name:  123 kB` in `/proc/PID/status`, or in that of a thread.
    fn status_value(&self, name: &str) -> Option<u64> {
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    }

    /// Maximum resident memory since the start, in bytes.
    pub fn peak_resident_bytes(&mut self, pid: u32) -> Option<u64> {
        read_file(&format!("/proc/{pid}/status"), &mut self.buffer)?;
        self.status_value("VmHWM").map(|kib| kib * 1024)
    }

    /// Context switches of all living threads: voluntary, involuntary.
    pub fn switches(&mut self, pid: u32) -> (u64, u64) {
        let mut sum = (0, 0);
        for thread in threads(pid) {
            let (voluntary, involuntary) = self.thread_switches(pid, thread);
            sum.0 += voluntary;
            sum.1 += involuntary;
        }
        sum
    }

    /// Context switches of a thread: voluntary, involuntary.
    pub fn thread_switches(&mut self, pid: u32, thread: u32) -> (u64, u64) {
        if read_file(&format!("/proc/{pid}/task/{thread}/status"), &mut self.buffer).is_none() {
            return (0, 0);
        }
        (
            self.status_value("voluntary_ctxt_switches").unwrap_or(0),
            self.status_value("nonvoluntary_ctxt_switches").unwrap_or(0),
        )
    }

    /// Page faults of all threads of a process: without and with a read from disk.
    pub fn page_faults(&mut self, pid: u32) -> Option<(u64, u64)> {
        read_file(&format!("/proc/{pid}/stat"), &mut self.buffer)?;
        parse_page_faults(&self.buffer)
    }

    /// How long a thread ran, and how long it could have run but waited for a CPU, in nanoseconds.
    pub fn thread_times(&mut self, pid: u32, thread: u32) -> Option<(u64, u64)> {
        read_file(&format!("/proc/{pid}/task/{thread}/schedstat"), &mut self.buffer)?;
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let mut numbers = text.split_whitespace().map_while(|n| n.parse().ok());
        Some((numbers.next()?, numbers.next()?))
    }

    /// Bytes that a process wrote to disks, or that the kernel has yet to write.
    pub fn disk_bytes(&mut self, pid: u32) -> Option<u64> {
        read_file(&format!("/proc/{pid}/io"), &mut self.buffer)?;
        self.status_value("write_bytes")
    }

    /// The environment entry `name=` of a process of ours.
    pub fn environment(&mut self, pid: u32, name: &str) -> Option<String> {
        read_file(&format!("/proc/{pid}/environ"), &mut self.buffer)?;
        self.buffer.split(|b| *b == 0).find_map(|entry| {
            let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    }

    /// Total and stolen CPU time of the machine, in ticks.
    pub fn machine_ticks(&mut self) -> Option<(u64, u64)> {
        read_file("/proc/stat", &mut self.buffer)?;
        let text = std::str::from_utf8(&self.buffer).ok()?;
        let ticks: Vec<u64> = text
            .lines()
            .next()?
            .split_whitespace()
            .skip(1)
            .filter_map(|t| t.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; guest time is within user.
        Some((ticks.iter().take(8).sum(), *ticks.get(7)?))
    }

    /// How each CPU has spent its time. The kernel charges interrupts to no program, or to the one
    /// that was interrupted.
    pub fn cpu_times(&mut self) -> Vec<CpuTime> {
        let _ = read_file("/proc/stat", &mut self.buffer);
        parse_cpu_times(&self.buffer)
    }

    /// Maximum number of descriptors that a process may open.
    pub fn descriptor_limit(&mut self, pid: u32) -> Option<u64> {
        read_file(&format!("/proc/{pid}/limits"), &mut self.buffer)?;
        let text = std::str::from_utf8(&self.buffer).ok()?;
        match text
            .lines()
            .find_map(|l| l.strip_prefix("Max open files"))?
            .split_whitespace()
            .next()?
        {
            "unlimited" => Some(u64::MAX),
            limit => limit.parse().ok(),
        }
    }
}

fn parse_cpu_times(stat: &[u8]) -> Vec<CpuTime> {
    let text = String::from_utf8_lossy(stat);
    let of_line = |line: &str| {
        let (cpu, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        let ticks: Vec<u64> =
            ticks.split_whitespace().map_while(|t| t.parse().ok()).take(8).collect();
        let sum = |ticks: &[u64]| ticks.iter().fold(0u64, |sum, t| sum.saturating_add(*t));
        Some(CpuTime {
            cpu: cpu.parse().ok()?,
            busy_ticks: sum(ticks.get(..3)?),
            ticks: sum(&ticks),
            stolen_ticks: ticks.get(7).copied(),
        })
    };
    text.lines().take_while(|l| l.starts_with("cpu")).filter_map(of_line).collect()
}

fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    // The name is in parentheses and may contain any character, also parentheses.
    let text = String::from_utf8_lossy(bytes);
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        parent: number(1)? as u32,
        system_ns: number(12)? * TICK_NS,
        reaped_ns: (number(13)? + number(14)?) * TICK_NS,
        threads: number(17)?,
    })
}

fn parse_page_faults(stat: &[u8]) -> Option<(u64, u64)> {
    let text = String::from_utf8_lossy(stat);
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    Some((fields.nth(7)?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}

/// Whether a process runs. One that has ended but was not waited for does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rfind(')')
        .and_then(|at| stat[at + 1..].trim_start().chars().next())
        .is_some_and(|state| !matches!(state, 'Z' | 'X' | 'x'))
}

/// When a process began, in ticks of the kernel since boot; `None` if no process has this id. Id
/// and begin together identify a process.
pub fn running_since_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok().filter(|_| is_alive(pid))?;
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(19)?.parse().ok()
}

/// The words of a process's command line; none if it is gone.
pub(crate) fn command(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).split_terminator('\0').map(String::from).collect()
}

/// Number of open descriptors of a process.
pub(crate) fn descriptors(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/fd");
    // Since Linux 6.2, the size of the folder is this number.
    match fs::metadata(&path).ok()?.len() {
        0 => Some(fs::read_dir(&path).ok()?.count() as u64),
        count => Some(count),
    }
}

/// CPU time of a process with all its threads, also those that ended, in nanoseconds. It is read
/// from the process's CPU clock, which is exact; `/proc/PID/stat` counts ticks.
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    // MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of linux/posix-timers.h.
    let clock = ((!pid) << 3 | 2) as libc::clockid_t;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; an unknown clock is an error, nothing else.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// Every process and its parent.
pub(crate) fn parents() -> BTreeMap<u32, u32> {
    let mut reader = Reader::default();
    numbers_in("/proc")
        .into_iter()
        .filter_map(|pid| Some((pid, reader.stat(pid)?.parent)))
        .collect()
}

/// All descendants of a process, without itself; nearest first.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    trees(&[root]).split_off(1)
}

/// Processes with all their descendants: themselves first.
pub(crate) fn trees(roots: &[u32]) -> Vec<u32> {
    let parents = parents();
    let mut found = roots.to_vec();
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|(_, p)| **p == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found
}

/// Maximum resident memory of a process since its start, in bytes; `None` if it is gone.
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
    fn process_name_with_parentheses_does_not_shift_fields() {
        let line = b"42 (a) b (c)) S 7 42 42 0 -1 4194560 1 0 0 0 11 5 1 2 20 0 3 0 100 1 2";
        assert_eq!(
            parse_stat(line),
            Some(Stat { parent: 7, system_ns: 50_000_000, reaped_ns: 30_000_000, threads: 3 })
        );
        assert_eq!(parse_stat(b"garbage"), None);
        let faults = b"42 (a) b (c)) S 7 42 42 0 -1 4194560 11 12 13 14 0 0 0 0 20 0 3";
        assert_eq!(parse_page_faults(faults), Some((11, 13)));
        assert_eq!(parse_page_faults(b"garbage"), None);
    }

    #[test]
    fn cpu_times_are_read_for_each_cpu() {
        let stat = b"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu12 1 0 0 1 0 0 0 0\ncpu13 x\nintr 5\n";
        let [a, b] = parse_cpu_times(stat)[..] else { panic!() };
        assert_eq!(a, CpuTime { cpu: 0, busy_ticks: 6, ticks: 72, stolen_ticks: Some(8) });
        assert_eq!(b, CpuTime { cpu: 12, busy_ticks: 1, ticks: 2, stolen_ticks: Some(0) });
        assert!(parse_cpu_times(b"garbage").is_empty());
    }

    #[test]
    fn values_of_this_process_are_plausible() {
        let (mut reader, me) = (Reader::default(), std::process::id());
        assert!(reader.resident_bytes(me).unwrap() > 100_000);
        assert!(reader.peak_resident_bytes(me).unwrap() >= reader.resident_bytes(me).unwrap() / 2);
        assert!(reader.stat(me).unwrap().threads >= 1);
        assert!(descriptors(me).unwrap() >= 3);
        assert!(reader.descriptor_limit(me).unwrap() >= descriptors(me).unwrap());
        assert!(threads(me).contains(&me));
        let before = cpu_ns(me).unwrap();
        std::hint::black_box((0..2_000_000u64).sum::<u64>());
        assert!(cpu_ns(me).unwrap() > before);
        assert_eq!(cpu_ns(u32::MAX >> 4), None);
        assert!(is_alive(me) && !is_alive(u32::MAX >> 4));
        let since = running_since_ticks(me).unwrap();
        assert!(
            since > 0
                && running_since_ticks(me) == Some(since)
                && running_since_ticks(u32::MAX >> 4).is_none()
        );
    }
}
