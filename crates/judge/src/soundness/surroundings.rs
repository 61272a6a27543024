//! Whether the machine let both work.

use super::{Seen, fault};
use model::record::{Circumstances, Descriptors, Fault, STEAL_SHARE_MAX, Trial};
use model::units::{show_duration, show_number, show_share};
use std::time::Duration;

/// What helps against other programs.
pub(super) const END_OTHERS: &str = "end what else runs (`top` shows it), or choose other CPUs with `cpus` of [place]";
/// The clock rate may change so much from the first half to the second.
const FREQUENCY_MAX: f64 = 0.10;
/// Readings in each half of a measurement, at least.
pub(super) const READINGS_FEWEST: usize = 2;
/// Descriptors and ports may be used up to this share.
const DESCRIPTORS_SHARE_MAX: f64 = 0.95;
const PORTS_SHARE_MAX: f64 = 0.90;
/// Segments that may be sent again, in shares and in all.
const RETRANSMITTED_SHARE_MAX: f64 = 0.001;
const RETRANSMITTED_MAX: u64 = 10;
/// Memory that must be left.
const MEMORY_SHARE_MIN: f64 = 0.05;
/// So far may the wall clock move, and so long may the machine sleep.
const CLOCK_MOVED_MAX_NS: u64 = 50_000_000;

fn circumstances<'a>(seen: &'a Seen<'_>) -> Option<&'a Circumstances> {
    seen.measurement.circumstances.as_ref()
}

pub(super) fn steal(seen: &Seen<'_>) -> Option<Fault> {
    let around = circumstances(seen).filter(|around| around.is_robbed())?;
    stolen("steal", around.steal_share()?, "")
}

/// Of a start; of the whole trial, where older records know no better.
pub(super) fn start_steal(trial: &Trial) -> Option<Fault> {
    let host = &trial.host;
    let knows_better = trial.measurements.iter().all(|m| m.circumstances.as_ref().is_some_and(|c| c.steal_share().is_some()));
    let (kind, share, what) = match host.start_steal_share {
        Some(share) => ("start-steal", share, " of the start"),
        None if knows_better => return None,
        None => ("steal", host.steal_share, ""),
    };
    (share > STEAL_SHARE_MAX).then(|| stolen(kind, share, what))?
}

fn stolen(kind: &str, share: f64, what: &str) -> Option<Fault> {
    let evidence = format!("the hypervisor took {} of the CPU time{what}", show_share(share));
    fault(kind, evidence, "measure when the host is quieter, or on a machine of your own")
}

pub(super) fn other_cpu(seen: &Seen<'_>) -> Option<Fault> {
    // Of a service that ran already nobody knows on which CPUs, and how busy.
    let measurement = Some(seen.measurement).filter(|m| m.usage.is_known())?;
    let behind_ns = measurement.upstream_cpu_ns.unwrap_or(0);
    let (whose, share) = circumstances(seen)?.others(seen.cpus, measurement.usage.cpu_ns, behind_ns)?;
    let evidence = format!("other processes used {} of the CPUs of {whose}", show_share(share));
    fault("other-cpu", evidence, END_OTHERS)
}

pub(super) fn frequency(seen: &Seen<'_>) -> Option<Fault> {
    let mhz = &seen.measurement.usage.mhz_at;
    if mhz.len() < 2 * READINGS_FEWEST {
        return None;
    }
    let (first, second) = mhz.split_at(mhz.len() / 2);
    let (first, second) = (stats::mean(first)?, stats::mean(second)?);
    if (second / first).max(first / second) <= 1.0 + FREQUENCY_MAX {
        return None;
    }
    let evidence =
        format!("the contender's CPUs ran at {} MHz in the first half and at {} in the second", show_number(first), show_number(second));
    fault("frequency", evidence, "fix the clock rate (governor `performance`, no turbo), or cool the machine")
}

pub(super) fn descriptors(seen: &Seen<'_>) -> Option<Fault> {
    let is_near = |d: &Descriptors| d.open as f64 >= DESCRIPTORS_SHARE_MAX * d.limit as f64;
    let usage = &seen.measurement.usage;
    // A limit that was written is what is studied.
    let contender = usage.descriptors.filter(|_| seen.experiment.place.descriptors.is_none());
    let near = [("the generator", usage.generator_descriptors), ("a process of the contender", contender)];
    let near = near.into_iter().find_map(|(who, d)| d.filter(is_near).map(|d| format!("{who} held {} of {} descriptors", d.open, d.limit)));
    let refused = || seen.measurement.examples.iter().find(|text| text.contains("the generator is out of descriptors")).cloned();
    fault(
        "descriptors",
        near.or_else(refused)?,
        "raise the limit (`ulimit -n`), or set `descriptors` of [place] where it is what is studied",
    )
}

pub(super) fn ports(seen: &Seen<'_>) -> Option<Fault> {
    let generators = seen.measurement.usage.generator_descriptors.map_or(0, |d| d.open);
    let near = circumstances(seen)?.ports.and_then(|ports| {
        let taken = ports.taken_before.saturating_add(generators).max(ports.taken_after);
        let evidence = || format!("{taken} TCP sockets were in use or in TIME_WAIT, of {} ephemeral ports", ports.range);
        (taken as f64 >= PORTS_SHARE_MAX * ports.range as f64).then(evidence)
    });
    let refused = || seen.measurement.examples.iter().find(|text| text.contains("no ephemeral port is free")).cloned();
    fault("ports", near.or_else(refused)?, "widen net.ipv4.ip_local_port_range, or wait a minute for TIME_WAIT to pass")
}

pub(super) fn backlog(seen: &Seen<'_>) -> Option<Fault> {
    let tcp = circumstances(seen)?.tcp.filter(|tcp| tcp.listen_overflows.max(tcp.listen_drops) > 0)?;
    let evidence = format!("a listener's queue was full {} times, and {} connections were dropped", tcp.listen_overflows, tcp.listen_drops);
    fault("backlog", evidence, "raise net.core.somaxconn and the listener's own backlog, or open fewer connections at once")
}

pub(super) fn retransmits(seen: &Seen<'_>) -> Option<Fault> {
    let tcp = circumstances(seen)?.tcp?;
    let lost = tcp.retransmitted.saturating_sub(tcp.probes);
    if lost <= RETRANSMITTED_MAX || lost as f64 <= RETRANSMITTED_SHARE_MAX * tcp.segments as f64 {
        return None;
    }
    let evidence = format!("{lost} of {} TCP segments were sent again", tcp.segments);
    fault("retransmits", evidence, "look for a full listen queue or a lossy link (`nstat`, `ss -ti`)")
}

pub(super) fn memory(seen: &Seen<'_>) -> Option<Fault> {
    let memory = circumstances(seen)?.memory?;
    let left = memory.available_bytes as f64 / memory.total_bytes.max(1) as f64;
    let evidence = match () {
        () if memory.swapped_pages > 0 => format!("{} pages were swapped", memory.swapped_pages),
        () if left < MEMORY_SHARE_MIN => format!("{} of the memory was left", show_share(left)),
        () => return None,
    };
    fault("memory", evidence, "free memory, or give the contenders less")
}

pub(super) fn clock_step(seen: &Seen<'_>) -> Option<Fault> {
    let moved = circumstances(seen)?.wall_clock_moved_ns;
    if moved.unsigned_abs() <= CLOCK_MOVED_MAX_NS {
        return None;
    }
    let way = if moved > 0 { "forward" } else { "back" };
    let evidence = format!("the wall clock was set {way} by {}", show_duration(Duration::from_nanos(moved.unsigned_abs())));
    fault("clock-step", evidence, "let the clock settle (`chronyc tracking`, `timedatectl`) before measuring")
}

pub(super) fn suspended(seen: &Seen<'_>) -> Option<Fault> {
    let slept = circumstances(seen)?.slept_ns;
    if slept <= CLOCK_MOVED_MAX_NS as i64 {
        return None;
    }
    let evidence = format!("the machine slept for {}", show_duration(Duration::from_nanos(slept.unsigned_abs())));
    fault("suspended", evidence, "keep the machine awake while it measures (`systemd-inhibit faceoff run ...`)")
}

pub(super) fn left_cpu_set(seen: &Seen<'_>) -> Option<Fault> {
    let strays: Vec<String> =
        seen.measurement.usage.allowed_cpus.iter().filter(|cpu| !seen.cpus.contender.contains(cpu)).map(usize::to_string).collect();
    if strays.is_empty() {
        return None;
    }
    let evidence = format!("a thread of the contender may run on CPU {}, which is not its own", strays.join(", "));
    fault("left-cpu-set", evidence, "keep it from setting its own affinity (`taskset`, worker_cpu_affinity, GOMAXPROCS and the like)")
}
