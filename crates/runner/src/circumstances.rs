//! Readings of the machine around a measurement: other programs, stolen CPU time, clocks, sockets.
//!
//! One reading is taken right before a measurement and one right after it. Start with [`Reading`].

use crate::awake::Awake;
use crate::procfs::Reader;
use record::{Circumstances, CpuTime, Memory, Ports, TICK_NS, Tcp};
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// A reading of the machine.
pub struct Reading<'a> {
    awake: Option<&'a Awake>,
    monotonic_ns: i64,
    realtime_ns: i64,
    boottime_ns: i64,
    faceoff_cpu_ns: u64,
    cpus: Vec<CpuTime>,
    tcp: Option<Tcp>,
    memory: Option<Memory>,
    ports: Option<(u64, u64)>,
}

impl<'a> Reading<'a> {
    /// Reads these CPUs now. The processes that keep them awake count as idle.
    pub fn now(cpus: &[usize], awake: Option<&'a Awake>) -> Reading<'a> {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let without_awake = |time: CpuTime| {
            let spent = awake.map_or(0, |a| a.cpu_ns(time.cpu)) / TICK_NS;
            CpuTime { busy_ticks: time.busy_ticks.saturating_sub(spent), ..time }
        };
        let cpu_times = Reader::default().cpu_times();
        let (monotonic_ns, realtime_ns, boottime_ns) = clocks();
        Reading {
            awake,
            monotonic_ns,
            realtime_ns,
            boottime_ns,
            faceoff_cpu_ns: clock(ClockId::ProcessCPUTime) as u64,
            cpus: cpu_times
                .into_iter()
                .filter(|time| cpus.contains(&time.cpu))
                .map(without_awake)
                .collect(),
            tcp: tcp(&read("/proc/net/snmp"), &read("/proc/net/netstat")),
            memory: memory(&read("/proc/meminfo"), &read("/proc/vmstat")),
            ports: ports(
                &read("/proc/net/sockstat"),
                &read("/proc/sys/net/ipv4/ip_local_port_range"),
            ),
        }
    }

    /// What happened from this reading until now.
    pub fn until_now(&self) -> Circumstances {
        let of_cpus: Vec<usize> = self.cpus.iter().map(|time| time.cpu).collect();
        let now = Reading::now(&of_cpus, self.awake);
        let wall_ns = now.monotonic_ns - self.monotonic_ns;
        // A CPU that went offline meanwhile has no second reading.
        let both = self.cpus.iter().filter_map(|before| {
            Some((before, now.cpus.iter().find(|after| after.cpu == before.cpu)?))
        });
        let cpus = both.map(|(before, after)| CpuTime {
            cpu: before.cpu,
            busy_ticks: after.busy_ticks.saturating_sub(before.busy_ticks),
            ticks: after.ticks.saturating_sub(before.ticks),
            stolen_ticks: before
                .stolen_ticks
                .zip(after.stolen_ticks)
                .map(|(before, after)| after.saturating_sub(before)),
        });
        Circumstances {
            wall_ns: wall_ns.max(0) as u64,
            cpus: cpus.collect(),
            faceoff_cpu_ns: now.faceoff_cpu_ns.saturating_sub(self.faceoff_cpu_ns),
            faceoff_memory_bytes: Reader::default().resident_bytes(std::process::id()),
            tcp: self.tcp.zip(now.tcp).map(|(before, after)| Tcp {
                segments: after.segments.saturating_sub(before.segments),
                retransmitted: after.retransmitted.saturating_sub(before.retransmitted),
                probes: after.probes.saturating_sub(before.probes),
                listen_overflows: after.listen_overflows.saturating_sub(before.listen_overflows),
                listen_drops: after.listen_drops.saturating_sub(before.listen_drops),
            }),
            ports: self.ports.zip(now.ports).map(|((taken_before, _), (taken_after, range))| {
                Ports { taken_before, taken_after, range }
            }),
            memory: self.memory.zip(now.memory).map(|(before, after)| Memory {
                available_bytes: after.available_bytes.min(before.available_bytes),
                total_bytes: after.total_bytes,
                swapped_pages: after.swapped_pages.saturating_sub(before.swapped_pages),
            }),
            wall_clock_moved_ns: now.realtime_ns - self.realtime_ns - wall_ns,
            slept_ns: now.boottime_ns - self.boottime_ns - wall_ns,
        }
    }
}

fn clock(id: ClockId) -> i64 {
    let time = clock_gettime(id);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The monotonic, the wall and the boot clock at one instant. They are read again if something
/// interrupted.
fn clocks() -> (i64, i64, i64) {
    let mut read = (0, 0, 0);
    for _ in 0..10 {
        let before = clock(ClockId::Monotonic);
        let (realtime, boottime) = (clock(ClockId::Realtime), clock(ClockId::Boottime));
        let after = clock(ClockId::Monotonic);
        read = (before + (after - before) / 2, realtime, boottime);
        if after - before < 100_000 {
            break;
        }
    }
    read
}

/// A value from lines of names followed by lines of values, as in `/proc/net/snmp`.
fn named(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|(n, _)| *n == name)?
        .1
        .parse()
        .ok()
}

fn tcp(snmp: &str, netstat: &str) -> Option<Tcp> {
    Some(Tcp {
        segments: named(snmp, "Tcp", "OutSegs")?,
        retransmitted: named(snmp, "Tcp", "RetransSegs")?,
        probes: named(netstat, "TcpExt", "TCPLossProbes").unwrap_or(0),
        listen_overflows: named(netstat, "TcpExt", "ListenOverflows")?,
        listen_drops: named(netstat, "TcpExt", "ListenDrops")?,
    })
}

/// The number after a name at the beginning of a line.
fn after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

fn memory(meminfo: &str, vmstat: &str) -> Option<Memory> {
    Some(Memory {
        available_bytes: after(meminfo, "MemAvailable:")?.checked_mul(1024)?,
        total_bytes: after(meminfo, "MemTotal:")?.checked_mul(1024)?,
        swapped_pages: after(vmstat, "pswpin ")
            .unwrap_or(0)
            .saturating_add(after(vmstat, "pswpout ").unwrap_or(0)),
    })
}

/// TCP sockets in use or in TIME_WAIT, and the number of ephemeral ports.
fn ports(sockets: &str, range: &str) -> Option<(u64, u64)> {
    // TCP: inuse 6 orphan 0 tw 68 alloc 9 mem 27
    let fields: Vec<&str> =
        sockets.lines().find_map(|line| line.strip_prefix("TCP:"))?.split_whitespace().collect();
    let of = |name: &str| fields.iter().skip_while(|f| **f != name).nth(1)?.parse::<u64>().ok();
    let mut ends = range.split_whitespace().map_while(|n| n.parse::<u64>().ok());
    let (first, last) = (ends.next()?, ends.next()?);
    Some((of("inuse")?.checked_add(of("tw")?)?, last.checked_sub(first)?.checked_add(1)?))
}

/// The mean current frequency of these CPUs in MHz; `None` if it is hidden, as on most virtual
/// machines.
pub(crate) fn mhz(cpus: &[usize]) -> Option<f64> {
    let khz = |cpu: &usize| {
        let text = fs::read_to_string(format!(
            "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
        ))
        .ok()?;
        text.trim().parse::<f64>().ok()
    };
    let all: Vec<f64> = cpus.iter().map(khz).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_kernel_tables_are_found_by_name() {
        let snmp = "Ip: A B\nIp: 1 2\nTcp: MaxConn OutSegs RetransSegs\nTcp: -1 500 7\n";
        let netstat = "TcpExt: X ListenOverflows ListenDrops TCPLossProbes\nTcpExt: 0 3 4 5\nIpExt: X\nIpExt: 1\n";
        let read = Tcp {
            segments: 500,
            retransmitted: 7,
            probes: 5,
            listen_overflows: 3,
            listen_drops: 4,
        };
        assert_eq!(tcp(snmp, netstat), Some(read));
        assert_eq!(tcp("", netstat), None);
        let meminfo = "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n";
        let read = Memory { available_bytes: 409_600, total_bytes: 1_024_000, swapped_pages: 5 };
        assert_eq!(memory(meminfo, "nr 1\npswpin 2\npswpout 3\n"), Some(read));
        let sockets = "sockets: used 32\nTCP: inuse 6 orphan 0 tw 68 alloc 1 mem 27\n";
        assert_eq!(ports(sockets, "32768\t60999\n"), Some((74, 28_232)));
        assert_eq!(ports("TCP: inuse x", "1 2"), None);
        assert_eq!(ports(sockets, "9 1"), None);
    }

    #[test]
    fn reading_of_this_machine_has_plausible_values() {
        let cpus = crate::cpus::usable();
        let before = Reading::now(&cpus, None);
        let begin = load::clock::thread_cpu_ns();
        while load::clock::thread_cpu_ns() - begin < 50_000_000 {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
        let seen = before.until_now();
        assert!(seen.wall_ns >= 50_000_000 && seen.faceoff_cpu_ns >= 50_000_000, "{seen:?}");
        assert!(seen.faceoff_memory_bytes.unwrap() > 100_000, "{seen:?}");
        assert_eq!(seen.cpus.len(), cpus.len());
        assert!(seen.cpus.iter().all(|time| time.ticks >= time.busy_ticks), "{seen:?}");
        assert!(seen.memory.unwrap().available_bytes < seen.memory.unwrap().total_bytes);
        assert!(seen.tcp.is_some() && seen.ports.is_some());
        assert!(
            seen.wall_clock_moved_ns.abs() < 50_000_000
                && seen.slept_ns == seen.slept_ns.clamp(-50_000_000, 50_000_000),
            "{seen:?}"
        );
    }
}
