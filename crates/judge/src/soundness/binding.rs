//! Whether the contender was the limit, and not its upstream or database.
//!
//! If the upstream (or database) used all of its CPUs while the contender had time to spare, then
//! the measurement shows the upstream's speed. The generator counts with the upstream where they
//! share CPUs. Start with [`upstream`].

use super::seen::{Found, Seen, found};
use record::capacity::{CapacitySearch, Probe, told};
use record::{Header, Measurement};
use spec::experiment::{CpuSets, Experiment};
use spec::units::show_share;

/// CPUs that are busier than this count as fully used.
const BUSY_SHARE: f64 = 0.95;
/// An upstream that shares the generator's CPUs and uses less of them than this is not the limit:
/// the generator is.
const UPSTREAM_SHARE_MIN: f64 = 0.05;
/// The largest share of the broken probes around the edge that the upstream may have limited.
const BOUND_SHARE_MAX: f64 = 0.5;

/// Returns how much of its CPUs a contender used.
pub(super) fn cpu_share(measurement: &Measurement, cpus: &CpuSets) -> f64 {
    measurement.usage.cpus_used() / cpus.contender.len().max(1) as f64
}

/// Returns whether the generator runs on the upstream's CPUs.
fn is_shared(cpus: &CpuSets) -> bool {
    cpus.upstream.iter().any(|cpu| cpus.generator.contains(cpu))
}

/// Shares of the CPUs that were used.
struct Used {
    /// Of the upstream's CPUs, by the upstream or database, and by the generator if it shares them.
    behind: f64,
    /// Of the contender's CPUs, by the contender.
    contender: f64,
    /// Of the upstream's CPUs, by the upstream or database alone.
    upstream: f64,
}

impl Used {
    fn within(
        cpus: &CpuSets,
        duration_ns: u64,
        (upstream_ns, generator_ns): (u64, u64),
        contender: f64,
    ) -> Used {
        let share =
            |ns: u64| ns as f64 / duration_ns.max(1) as f64 / cpus.upstream.len().max(1) as f64;
        let upstream = share(upstream_ns);
        Used { behind: upstream + share(generator_ns), contender, upstream }
    }

    fn is_bound_behind(&self) -> bool {
        self.behind > BUSY_SHARE
            && self.contender < BUSY_SHARE
            && self.upstream >= UPSTREAM_SHARE_MIN
    }
}

/// Names what limited the measurement. `used` describes how much of the CPUs each side used, given
/// the word for whose CPUs they are.
fn binds(
    experiment: &Experiment,
    is_shared: bool,
    used: impl FnOnce(&str) -> String,
) -> Option<Found> {
    let what = if experiment.upstream.is_none() && experiment.database.is_some() {
        "database"
    } else {
        "upstream"
    };
    let evidence = match is_shared {
        true => format!("{what} and generator together used {}", used("their")),
        false => format!("the {what} used {}", used("its")),
    };
    let hint = format!(
        "the {what} was measured, not the contender: give it more CPUs, or use a faster one"
    );
    found(evidence, &hint)
}

pub(super) fn upstream(seen: &Seen<'_>) -> Option<Found> {
    let (measurement, cpus) = (seen.measurement, seen.cpus);
    let upstream_ns = measurement.upstream_cpu_ns.filter(|_| cpus.contender != cpus.upstream)?;
    let is_shared = !seen.is_by_agents() && is_shared(cpus);
    let generator_ns = if is_shared { measurement.generator.busy_ns() } else { 0 };
    let used = Used::within(
        cpus,
        measurement.duration_ns,
        (upstream_ns, generator_ns),
        cpu_share(measurement, cpus),
    );
    if !used.is_bound_behind() {
        return None;
    }
    binds(seen.experiment, is_shared, |whose| {
        format!(
            "{} of {whose} CPUs, the contender {} of its own",
            show_share(used.behind),
            show_share(used.contender)
        )
    })
}

/// Checks the probes around the edge that broke the level: they decide what the capacity is.
pub(super) fn upstream_of_search(searched: &CapacitySearch, header: &Header) -> Option<Found> {
    let cpus = &header.cpus;
    if cpus.contender == cpus.upstream {
        return None;
    }
    let is_shared = is_shared(cpus);
    let used = |probe: &Probe| {
        let generator_ns =
            if is_shared { probe.generator_busy * probe.duration_ns as f64 } else { 0.0 };
        let contender = probe.contender_cpu_ns? as f64
            / probe.duration_ns.max(1) as f64
            / cpus.contender.len().max(1) as f64;
        let behind_ns = (probe.behind_cpu_ns?, generator_ns as u64);
        Some(Used::within(cpus, probe.duration_ns, behind_ns, contender))
    };
    let broke = told(&searched.probes)
        .into_iter()
        .filter(|(probe, result)| probe.at_edge && !result.held)
        .map(|(probe, _)| probe);
    let all: Vec<Used> = broke.filter_map(used).collect();
    let bound: Vec<&Used> = all.iter().filter(|used| used.is_bound_behind()).collect();
    if bound.len() as f64 <= BOUND_SHARE_MAX * all.len() as f64 {
        return None;
    }
    let least = bound.iter().map(|used| used.behind).fold(f64::INFINITY, f64::min);
    let most = bound.iter().map(|used| used.contender).fold(0.0, f64::max);
    let (bound, all) = (bound.len(), all.len());
    binds(&header.experiment, is_shared, |whose| {
        format!(
            "{} or more of {whose} CPUs in {bound} of the {all} probes around the edge that broke the level, the contender at most {} of its own",
            show_share(least),
            show_share(most)
        )
    })
}
