//! Whether the machine left contender and generator alone: CPU time taken by others, clock rate,
//! clocks, memory, descriptors, ports and TCP.
//!
//! Each function is one check of a measurement; `kinds.rs` lists them with their thresholds and
//! reasons.

use super::seen::{Found, Seen, found};
use record::{Descriptors, STEAL_SHARE_MAX, Trial};
use spec::units::{show_duration, show_number, show_share};
use std::time::Duration;

/// The hint against other programs.
pub(super) const END_OTHERS: &str =
    "end other programs (`top` shows them), or choose other CPUs with `cpus` of [place]";
/// What other contenders may use within slices, and the contender outside them, as a share of what
/// its CPUs have within them.
const SPILL_OVER_MAX: f64 = 0.05;
/// The hint against work while another contender has the load.
const WITHOUT_SPILL_OVER: &str = "let faceoff start the services by a command, as it then pauses \
    them; or measure them one after another (`alternate = \"trials\"`)";
/// The clock rate may change by this share from the first half to the second.
const FREQUENCY_MAX: f64 = 0.10;
/// The fewest readings in each half of a measurement.
pub(super) const READINGS_FEWEST: usize = 2;
/// The largest shares of descriptors and of ports in use.
const DESCRIPTORS_SHARE_MAX: f64 = 0.95;
const PORTS_SHARE_MAX: f64 = 0.90;
/// The most segments to be retransmitted: as a share, and in all.
const RETRANSMITTED_SHARE_MAX: f64 = 0.001;
const RETRANSMITTED_MAX: u64 = 10;
/// The smallest share of memory to be available.
const MEMORY_SHARE_MIN: f64 = 0.05;
/// The most that the wall clock may move, and that the machine may sleep.
const CLOCK_MOVED_MAX_NS: u64 = 50_000_000;

pub(super) fn steal(seen: &Seen<'_>) -> Option<Found> {
    let around = seen.circumstances().filter(|c| c.exceeds_steal_limit() && !seen.is_sliced())?;
    stolen(around.steal_share()?, "")
}

/// Checks what other programs, or CPU steal, took while contenders alternated in slices. All of
/// them met the same, so ratios of throughput and CPU time hold. A latency includes the wait for a
/// CPU, which brings contenders closer together.
pub(super) fn shared_cpu(seen: &Seen<'_>) -> Option<Found> {
    let around = seen.circumstances().filter(|_| seen.is_sliced())?;
    let others = used_by_others(seen).map(|(whose, share)| {
        format!("other processes used {} of the CPUs of {whose}", show_share(share))
    });
    let stolen = || {
        let share = around.steal_share().filter(|_| around.exceeds_steal_limit())?;
        Some(format!("CPU steal was {}", show_share(share)))
    };
    found(others.or_else(stolen)?, END_OTHERS)
}

/// Checks whether contenders worked while another had the load.
pub(super) fn spill_over(seen: &Seen<'_>) -> Option<Found> {
    let slices = seen.measurement.slices.as_ref().filter(|_| seen.measurement.usage.is_known())?;
    // A service that already ran has no CPUs of its own.
    let cpus = match seen.measurement.usage.allowed_cpus.is_empty() {
        true => seen.cpus.all_cpus().len(),
        false => seen.cpus.contender.len(),
    };
    let share = |ns: u64| ns as f64 / (cpus.max(1) as f64 * slices.whole_ns.max(1) as f64);
    let within = share(slices.neighbours_within_ns.unwrap_or(0));
    // The first is left out: in older records it includes work before anything had the load.
    let outside = share(slices.idle_cpu_ns.iter().skip(1).sum());
    let evidence = match (within > SPILL_OVER_MAX, outside > SPILL_OVER_MAX) {
        (true, _) => format!(
            "other contenders used {} of the contender's CPUs while it had the load",
            show_share(within)
        ),
        (false, true) => format!(
            "between its slices it used CPU time worth {} of what its CPUs have within them",
            show_share(outside)
        ),
        (false, false) => return None,
    };
    found(evidence, WITHOUT_SPILL_OVER)
}

/// Checks CPU steal during a start.
pub(super) fn start_steal(trial: &Trial) -> Option<Found> {
    stolen(trial.host.start_steal_share.filter(|share| *share > STEAL_SHARE_MAX)?, " at the start")
}

/// Checks CPU steal during a whole trial, for older records that have no closer readings.
pub(super) fn steal_of_trial(trial: &Trial) -> Option<Found> {
    let host = &trial.host;
    let has_closer = trial
        .measurements
        .iter()
        .all(|m| m.circumstances.as_ref().is_some_and(|c| c.steal_share().is_some()));
    if host.start_steal_share.is_some() || has_closer || host.steal_share <= STEAL_SHARE_MAX {
        return None;
    }
    stolen(host.steal_share, "")
}

fn stolen(share: f64, when: &str) -> Option<Found> {
    let evidence = format!("CPU steal was {}{when}", show_share(share));
    found(evidence, "measure when the host is quieter, or on your own machine")
}

/// Returns whose CPUs other programs used, and what share of them.
fn used_by_others(seen: &Seen<'_>) -> Option<(&'static str, f64)> {
    // Processes that cannot be watched have no known CPU time.
    let measurement = Some(seen.measurement).filter(|m| m.usage.is_known())?;
    let slices = measurement.slices.as_ref();
    let neighbours_ns = slices.map_or(0, |slices| slices.neighbours_cpu_ns);
    // Older records do not have what the upstream did for other contenders, so the CPUs that it may
    // use show nothing.
    let outside_ns = slices.map_or(Some(0), |slices| slices.upstream_outside_ns);
    let behind_ns = measurement
        .upstream_cpu_ns
        .map_or(0, |within_ns| outside_ns.map_or(u64::MAX, |ns| within_ns.saturating_add(ns)));
    seen.circumstances()?.others(
        seen.cpus,
        measurement.usage.cpu_ns.saturating_add(neighbours_ns),
        behind_ns,
    )
}

pub(super) fn other_cpu(seen: &Seen<'_>) -> Option<Found> {
    let (whose, share) = used_by_others(seen).filter(|_| !seen.is_sliced())?;
    let evidence = format!("other processes used {} of the CPUs of {whose}", show_share(share));
    found(evidence, END_OTHERS)
}

pub(super) fn frequency(seen: &Seen<'_>) -> Option<Found> {
    let mhz = &seen.measurement.usage.mhz_at;
    if mhz.len() < 2 * READINGS_FEWEST {
        return None;
    }
    let (first, second) = mhz.split_at(mhz.len() / 2);
    let (first, second) = (stats::mean(first)?, stats::mean(second)?);
    if (second / first).max(first / second) <= 1.0 + FREQUENCY_MAX {
        return None;
    }
    let evidence = format!(
        "the contender's CPUs ran at {} MHz in the first half and at {} in the second",
        show_number(first),
        show_number(second)
    );
    found(evidence, "fix the clock rate (governor `performance`, no turbo), or cool the machine")
}

pub(super) fn descriptors(seen: &Seen<'_>) -> Option<Found> {
    let is_near = |d: &Descriptors| d.open as f64 >= DESCRIPTORS_SHARE_MAX * d.limit as f64;
    let usage = &seen.measurement.usage;
    // A limit set in the experiment is part of the question.
    let contender = usage.descriptors.filter(|_| seen.experiment.place.descriptors.is_none());
    let near =
        [("the generator", usage.generator_descriptors), ("a process of the contender", contender)];
    let near = near.into_iter().find_map(|(who, d)| {
        d.filter(is_near).map(|d| format!("{who} held {} of {} descriptors", d.open, d.limit))
    });
    let refused = || {
        seen.measurement
            .examples
            .iter()
            .find(|text| text.contains("the generator is out of descriptors"))
            .cloned()
    };
    found(
        near.or_else(refused)?,
        "raise the limit (`ulimit -n`), or set `descriptors` of [place] if you study that limit",
    )
}

pub(super) fn ports(seen: &Seen<'_>) -> Option<Found> {
    let generators = seen.measurement.usage.generator_descriptors.map_or(0, |d| d.open);
    let near = seen.circumstances()?.ports.and_then(|ports| {
        let taken = ports.taken_before.saturating_add(generators).max(ports.taken_after);
        let evidence = || {
            format!(
                "{taken} TCP sockets were in use or in TIME_WAIT, of {} ephemeral ports",
                ports.range
            )
        };
        (taken as f64 >= PORTS_SHARE_MAX * ports.range as f64).then(evidence)
    });
    let refused = || {
        seen.measurement
            .examples
            .iter()
            .find(|text| text.contains("no ephemeral port is free"))
            .cloned()
    };
    found(
        near.or_else(refused)?,
        "widen net.ipv4.ip_local_port_range, or wait a minute for TIME_WAIT to pass",
    )
}

pub(super) fn backlog(seen: &Seen<'_>) -> Option<Found> {
    let tcp =
        seen.circumstances()?.tcp.filter(|tcp| tcp.listen_overflows.max(tcp.listen_drops) > 0)?;
    let evidence = format!(
        "a listener's queue was full {} times, and {} connections were dropped",
        tcp.listen_overflows, tcp.listen_drops
    );
    found(
        evidence,
        "raise net.core.somaxconn and the listener's own backlog, or open fewer connections at once",
    )
}

pub(super) fn retransmits(seen: &Seen<'_>) -> Option<Found> {
    let tcp = seen.circumstances()?.tcp?;
    let lost = tcp.retransmitted.saturating_sub(tcp.probes);
    if lost <= RETRANSMITTED_MAX || lost as f64 <= RETRANSMITTED_SHARE_MAX * tcp.segments as f64 {
        return None;
    }
    let evidence = format!("{lost} of {} TCP segments were retransmitted", tcp.segments);
    found(evidence, "look for a full listen queue or a lossy link (`nstat`, `ss -ti`)")
}

pub(super) fn memory(seen: &Seen<'_>) -> Option<Found> {
    let memory = seen.circumstances()?.memory?;
    let left = memory.available_bytes as f64 / memory.total_bytes.max(1) as f64;
    let evidence = match () {
        () if memory.swapped_pages > 0 => format!("{} pages were swapped", memory.swapped_pages),
        () if left < MEMORY_SHARE_MIN => {
            format!("{} of the memory was available", show_share(left))
        }
        () => return None,
    };
    found(evidence, "free memory, or give the contenders less")
}

pub(super) fn clock_step(seen: &Seen<'_>) -> Option<Found> {
    let moved = seen.circumstances()?.wall_clock_moved_ns;
    if moved.unsigned_abs() <= CLOCK_MOVED_MAX_NS {
        return None;
    }
    let way = if moved > 0 { "forward" } else { "back" };
    let evidence = format!(
        "the wall clock was set {way} by {}",
        show_duration(Duration::from_nanos(moved.unsigned_abs()))
    );
    found(evidence, "let the clock settle (`chronyc tracking`, `timedatectl`) before measuring")
}

pub(super) fn suspended(seen: &Seen<'_>) -> Option<Found> {
    let slept = seen.circumstances()?.slept_ns;
    if slept <= CLOCK_MOVED_MAX_NS as i64 {
        return None;
    }
    let evidence = format!(
        "the machine slept for {}",
        show_duration(Duration::from_nanos(slept.unsigned_abs()))
    );
    found(evidence, "keep the machine awake while it measures (`systemd-inhibit faceoff run ...`)")
}

pub(super) fn left_cpu_set(seen: &Seen<'_>) -> Option<Found> {
    let strays: Vec<String> = seen
        .measurement
        .usage
        .allowed_cpus
        .iter()
        .filter(|cpu| !seen.cpus.contender.contains(cpu))
        .map(usize::to_string)
        .collect();
    if strays.is_empty() {
        return None;
    }
    let evidence = format!(
        "a thread of the contender may run on CPU {}, which is not its own",
        strays.join(", ")
    );
    found(
        evidence,
        "keep it from setting its own affinity (`taskset`, worker_cpu_affinity, GOMAXPROCS and the like)",
    )
}
