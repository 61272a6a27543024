//! Describes the machine for a record.

use record::Machine;
use std::fs;

/// Reads the description from the system.
pub fn describe() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value_of = |text: &str, key: &str, separator: char| {
        text.lines()
            .find_map(|l| l.split_once(separator).filter(|(k, _)| k.trim() == key))
            .map(|(_, v)| v.trim().trim_matches('"').to_owned())
    };
    let cpuinfo = read("/proc/cpuinfo");
    let memory = value_of(&read("/proc/meminfo"), "MemTotal", ':');
    let kib: u64 = memory.and_then(|m| m.split(' ').next()?.parse().ok()).unwrap_or(0);
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").trim().to_owned();
    Machine {
        cpu: value_of(&cpuinfo, "model name", ':').unwrap_or_else(|| "unknown".into()),
        cores: crate::cpus::usable().len(),
        memory_bytes: kib * 1024,
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        os: value_of(&read("/etc/os-release"), "PRETTY_NAME", '=')
            .unwrap_or_else(|| "unknown".into()),
        governor: (!governor.is_empty()).then_some(governor),
        is_virtual: value_of(&cpuinfo, "flags", ':')
            .is_some_and(|f| f.split(' ').any(|flag| flag == "hypervisor")),
    }
}

/// Total and stolen CPU time of the machine since it started, in kernel ticks.
pub fn cpu_ticks() -> (u64, u64) {
    crate::procfs::Reader::default().machine_ticks().unwrap_or((0, 0))
}
