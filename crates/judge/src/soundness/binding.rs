//! Whether the contender was what was measured.

use super::{Seen, fault};
use crate::{exclusion, measurement};
use model::experiment::{CpuSets, Load};
use model::record::{Fault, Measurement, Record};
use model::units::{show_number, show_share};

/// CPUs that are busier than this are taken as fully used.
const BUSY_SHARE: f64 = 0.95;
/// An upstream that shares the generator's CPUs and uses less of them does not bind: then the generator does.
const UPSTREAM_SHARE_MIN: f64 = 0.05;
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

pub(super) fn upstream(seen: &Seen<'_>) -> Option<Fault> {
    let (measurement, cpus) = (seen.measurement, seen.cpus);
    let upstream = measurement.upstream_cpu_ns.filter(|_| cpus.contender != cpus.upstream)?;
    let generator = &measurement.generator;
    let shares_with_generator = generator.agents.is_empty() && cpus.upstream.iter().any(|c| cpus.generator.contains(c));
    let share = |ns: u64| ns as f64 / measurement.duration_ns.max(1) as f64 / cpus.upstream.len().max(1) as f64;
    let behind = share(upstream) + if shares_with_generator { share(generator.busy_ns()) } else { 0.0 };
    let own = own_share(measurement, cpus);
    if behind <= BUSY_SHARE || own >= BUSY_SHARE || share(upstream) < UPSTREAM_SHARE_MIN {
        return None;
    }
    let what = if seen.experiment.upstream.is_none() && seen.experiment.database.is_some() { "database" } else { "upstream" };
    let who = if shares_with_generator { format!("{what} and generator together") } else { format!("the {what}") };
    let evidence = format!("{who} used {} of their CPUs, the contender {} of its own", show_share(behind), show_share(own));
    let hint = format!("what was measured here is the {what}: give it more CPUs, or take a faster one");
    fault("upstream-binds", evidence, &hint)
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
