//! Whether the contender was what was measured.

use super::{Seen, fault};
use crate::{exclusion, measurement};
use model::capacity::{Probe, Searched};
use model::experiment::{CpuSets, Experiment, Load};
use model::record::{Fault, Header, Measurement, Record};
use model::units::{show_number, show_share};

/// CPUs that are busier than this are taken as fully used.
const BUSY_SHARE: f64 = 0.95;
/// An upstream that shares the generator's CPUs and uses less of them does not bind: then the generator does.
const UPSTREAM_SHARE_MIN: f64 = 0.05;
/// Of the probes around an edge that broke the level, so many may be bound by what stands behind.
const BOUND_SHARE_MAX: f64 = 0.5;
/// Throughputs that lie within this ratio of each other tie.
const TIE: f64 = 1.01;
/// So many contenders do not tie by chance.
const TIE_FEWEST: usize = 3;
/// A contender that uses more of its CPUs than this may be what limits.
const TIE_BUSY_SHARE: f64 = 0.90;

/// How much of its CPUs a contender used.
fn own_share(measurement: &Measurement, cpus: &CpuSets) -> f64 {
    measurement.usage.cpus_used() / cpus.contender.len().max(1) as f64
}

/// Whether the generator works on the CPUs of what stands behind the contender.
fn is_shared(cpus: &CpuSets) -> bool {
    cpus.upstream.iter().any(|cpu| cpus.generator.contains(cpu))
}

/// How much of their CPUs what stands behind used, with the generator where it shares them, and the contender of its own.
struct Used {
    behind: f64,
    own: f64,
    /// What stands behind, alone.
    upstream: f64,
}

impl Used {
    fn of(cpus: &CpuSets, duration_ns: u64, upstream_ns: u64, generator_ns: u64, own: f64) -> Used {
        let share = |ns: u64| ns as f64 / duration_ns.max(1) as f64 / cpus.upstream.len().max(1) as f64;
        Used { behind: share(upstream_ns) + share(generator_ns), own, upstream: share(upstream_ns) }
    }

    fn is_bound_behind(&self) -> bool {
        self.behind > BUSY_SHARE && self.own < BUSY_SHARE && self.upstream >= UPSTREAM_SHARE_MIN
    }
}

/// Who stands behind the contenders, with the generator where it shares their CPUs: the fault of it.
fn binds(experiment: &Experiment, is_shared: bool, used: &str) -> Option<Fault> {
    let what = if experiment.upstream.is_none() && experiment.database.is_some() { "database" } else { "upstream" };
    let who = if is_shared { format!("{what} and generator together") } else { format!("the {what}") };
    let hint = format!("what was measured here is the {what}: give it more CPUs, or take a faster one");
    fault("upstream-binds", format!("{who} used {used}"), &hint)
}

pub(super) fn upstream(seen: &Seen<'_>) -> Option<Fault> {
    let (measurement, cpus) = (seen.measurement, seen.cpus);
    let upstream_ns = measurement.upstream_cpu_ns.filter(|_| cpus.contender != cpus.upstream)?;
    let is_shared = measurement.generator.agents.is_empty() && is_shared(cpus);
    let generator_ns = if is_shared { measurement.generator.busy_ns() } else { 0 };
    let used = Used::of(cpus, measurement.duration_ns, upstream_ns, generator_ns, own_share(measurement, cpus));
    if !used.is_bound_behind() {
        return None;
    }
    let said = format!("{} of their CPUs, the contender {} of its own", show_share(used.behind), show_share(used.own));
    binds(seen.experiment, is_shared, &said)
}

/// Of a search the probes around the edge tell it that broke the level: it is there that the capacity lies.
pub(super) fn upstream_of_search(searched: &Searched, header: &Header) -> Option<Fault> {
    let cpus = &header.cpus;
    if cpus.contender == cpus.upstream {
        return None;
    }
    let is_shared = is_shared(cpus);
    let used = |probe: &Probe| {
        let generator_ns = if is_shared { probe.generator_busy * probe.duration_ns as f64 } else { 0.0 };
        let own = probe.contender_cpu_ns? as f64 / probe.duration_ns.max(1) as f64 / cpus.contender.len().max(1) as f64;
        Some(Used::of(cpus, probe.duration_ns, probe.behind_cpu_ns?, generator_ns as u64, own))
    };
    let broke = searched.probes.iter().filter(|probe| probe.at_edge && probe.says().is_some_and(|said| !said.held));
    let all: Vec<Used> = broke.filter_map(used).collect();
    let bound: Vec<&Used> = all.iter().filter(|used| used.is_bound_behind()).collect();
    if bound.len() as f64 <= BOUND_SHARE_MAX * all.len() as f64 {
        return None;
    }
    let least = bound.iter().map(|used| used.behind).fold(f64::INFINITY, f64::min);
    let most = bound.iter().map(|used| used.own).fold(0.0, f64::max);
    let (bound, all) = (bound.len(), all.len());
    let said = format!(
        "{} or more of their CPUs in {bound} of the {all} probes around the edge that broke the level, the contender {} of its own at most",
        show_share(least),
        show_share(most)
    );
    binds(&header.experiment, is_shared, &said)
}

/// Cells of a closed load in which all contenders come to one throughput though none is at its limit.
pub(super) fn ties(record: &Record) -> Vec<(String, Fault)> {
    let header = &record.header;
    let closed = header.experiment.cells.iter().filter(|cell| matches!(cell.load, Load::Closed { .. }));
    closed.filter_map(|cell| Some((cell.name.clone(), tie(record, &cell.name)?))).collect()
}

/// Whether so many take part that a tie would say something; the baseline a second time is no other contender.
pub(super) fn may_tie(record: &Record) -> bool {
    record.header.contenders.iter().filter(|participant| !participant.name.is_twin()).count() >= TIE_FEWEST
}

fn tie(record: &Record, cell: &str) -> Option<Fault> {
    let (mut throughputs, mut busiest) = (Vec::new(), 0.0f64);
    for participant in &record.header.contenders {
        // The baseline a second time is no other contender.
        if participant.name.is_twin() {
            continue;
        }
        let trials = record.trials.iter().filter(|t| t.contender == participant.name && exclusion(t).is_none());
        let all: Vec<&Measurement> = trials.filter_map(|t| measurement(t, cell)).filter(|m| m.counts.correct > 0).collect();
        let rates: Vec<f64> = all.iter().map(|m| m.throughput_per_s()).collect();
        // Whoever took no part ties with nobody.
        let Some(throughput) = stats::mean(&rates) else { continue };
        throughputs.push(throughput);
        // Whoever is not watched may be what limits.
        let share = |m: &Measurement| if m.usage.is_known() { own_share(m, &record.header.cpus) } else { 1.0 };
        let shares: Vec<f64> = all.iter().map(|m| share(m)).collect();
        busiest = busiest.max(stats::mean(&shares)?);
    }
    let (low, high) = throughputs.iter().fold((f64::INFINITY, 0.0f64), |(low, high), t| (low.min(*t), high.max(*t)));
    if throughputs.len() < TIE_FEWEST || high > TIE * low || busiest >= TIE_BUSY_SHARE {
        return None;
    }
    let evidence = format!(
        "all {} contenders answered {} to {} requests a second, though none used more than {} of its CPUs",
        throughputs.len(),
        show_number(low),
        show_number(high),
        show_share(busiest)
    );
    fault("all-tie", evidence, "the generator, the upstream or a delay was measured, not they: load them more, or compare CPU per request")
}
