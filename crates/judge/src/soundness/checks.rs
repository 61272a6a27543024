//! Which checks there are, what each says where it finds nothing, and where it can look: a check without its reading has not held.

use super::capacity::OF_SEARCH;
use super::generator::{ARRIVALS_FEWEST, LITTLE_FEWEST};
use super::series::WINDOWS_FEWEST;
use super::surroundings::READINGS_FEWEST;
use super::{Seen, agents, binding, generator, series, surroundings};
use model::experiment::Load;
use model::judgement::FaultAt;
use model::record::{Circumstances, Fault, Measurement, Record};
use model::soundness::Check;

/// A check of a measurement.
pub(super) struct OfMeasurement {
    /// The kind of the faults that it finds.
    kind: &'static str,
    /// What is so where it finds none.
    what: &'static str,
    /// Whether the measurement has what it looks at.
    can: fn(&Seen<'_>) -> bool,
    /// The fault, if there is one.
    pub find: fn(&Seen<'_>) -> Option<Fault>,
}

/// Every check of a measurement, in reading order.
pub(super) const OF_MEASUREMENT: [OfMeasurement; 24] = [
    of("counts", "every request is accounted for", always, generator::counts),
    of("generator-cpu", "the load generator had CPU time to spare", |s| !by_agents(s), generator::cpu),
    of("generator-lag", "requests left when they were due (median)", has_lag, generator::lag),
    of("generator-lag-tail", "requests left when they were due (99th percentile)", has_lag, generator::lag_of_tail),
    of("agent-cpu", "each agent had CPU time to spare", by_agents, agents::cpu),
    of("agent-lag", "the requests of each agent left when they were due (median)", by_agents, agents::lag),
    of("agent-start", "all agents began at one instant", by_agents, agents::start),
    of(
        "rate-not-achieved",
        "the rate that was asked for was offered",
        |s| arrives(s) && m(s).generator.sent_in_time.is_some(),
        generator::rate,
    ),
    of("in-flight-limit", "arrivals never had to wait for answers", arrives, generator::in_flight_limit),
    of("arrivals", "arrivals follow their schedule (Anderson and Darling)", has_arrivals, generator::arrivals),
    of("littles-law", "requests under way are rate times time (Little's law)", has_under_way, generator::littles_law),
    // Told by all measurements of a contender ([`series::not_stationary`]), none by itself.
    of("not-stationary", "the second half is like the first", has_tenths, |_| None),
    of("upstream-binds", "the contender was the limit, not what stands behind it", |s| m(s).upstream_cpu_ns.is_some(), binding::upstream),
    of("steal", "the hypervisor left the CPUs alone", |s| around(s).is_some_and(|c| c.steal_share().is_some()), surroundings::steal),
    of("other-cpu", "no other program used these CPUs", |s| around(s).is_some(), surroundings::other_cpu),
    of("frequency", "the clock rate stayed as it was", |s| m(s).usage.mhz_at.len() >= 2 * READINGS_FEWEST, surroundings::frequency),
    of("descriptors", "there were descriptors left", |s| m(s).usage.generator_descriptors.is_some(), surroundings::descriptors),
    of("ports", "there were ports left", |s| around(s).is_some_and(|c| c.ports.is_some()), surroundings::ports),
    of("backlog", "no listener's queue was full", has_tcp, surroundings::backlog),
    of("retransmits", "next to no TCP segment was sent again", has_tcp, surroundings::retransmits),
    of("memory", "memory was left, and nothing was swapped", |s| around(s).is_some_and(|c| c.memory.is_some()), surroundings::memory),
    of("clock-step", "nobody set the wall clock", |s| around(s).is_some(), surroundings::clock_step),
    of("suspended", "the machine did not sleep", |s| around(s).is_some(), surroundings::suspended),
    of("left-cpu-set", "the contender kept to its CPUs", |s| !m(s).usage.allowed_cpus.is_empty(), surroundings::left_cpu_set),
];

const fn of(kind: &'static str, what: &'static str, can: fn(&Seen<'_>) -> bool, find: fn(&Seen<'_>) -> Option<Fault>) -> OfMeasurement {
    OfMeasurement { kind, what, can, find }
}

fn m<'a>(seen: &Seen<'a>) -> &'a Measurement {
    seen.measurement
}

fn around<'a>(seen: &Seen<'a>) -> Option<&'a Circumstances> {
    seen.measurement.circumstances.as_ref()
}

fn always(_: &Seen<'_>) -> bool {
    true
}

fn by_agents(seen: &Seen<'_>) -> bool {
    !m(seen).generator.agents.is_empty()
}

fn arrives(seen: &Seen<'_>) -> bool {
    matches!(seen.cell.load, Load::Arrivals { .. })
}

fn has_lag(seen: &Seen<'_>) -> bool {
    m(seen).generator.lag.is_some() && m(seen).latency.as_ref().is_some_and(|times| !times.is_empty())
}

fn has_arrivals(seen: &Seen<'_>) -> bool {
    arrives(seen) && m(seen).generator.sent_at_us.len() >= ARRIVALS_FEWEST
}

fn has_under_way(seen: &Seen<'_>) -> bool {
    m(seen).generator.in_flight_mean.is_some() && m(seen).counts.correct >= LITTLE_FEWEST
}

fn has_tenths(seen: &Seen<'_>) -> bool {
    !series::changes_by_design(&seen.cell.load) && m(seen).generator.correct_per_tenth.len() >= WINDOWS_FEWEST
}

fn has_tcp(seen: &Seen<'_>) -> bool {
    around(seen).is_some_and(|c| c.tcp.is_some())
}

/// Faults that do not come of a measurement's readings: kind, what is so without them, and what they are of.
const OTHERS: [(&str, &str, &str); 10] = [
    ("start-steal", "the hypervisor left the CPUs alone while systems started", "starts"),
    ("generator", "every load could be made", "trials"),
    ("agent-lost", "every agent stayed, and reached the contender", "trials"),
    ("upstream-lost", "the upstream stayed up", "trials"),
    ("database-lost", "the database stayed up", "trials"),
    ("lost-write", "every acknowledged write is there", "trials"),
    ("doubled-write", "no acknowledged write is there twice", "trials"),
    ("broken-data", "the data are what the workload says", "trials"),
    ("all-tie", "contenders differ: nothing that they share was measured in their place", "cells"),
    ("aa-differs", "the baseline does not differ from itself", "comparisons"),
];

/// Every check, in reading order: the kind of the faults that it finds, and what is so where it finds none.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    OF_MEASUREMENT.iter().map(|check| (check.kind, check.what)).chain(OTHERS.iter().map(|(kind, what, _)| (*kind, *what)))
}

/// All checks of a record with what they came to, those that found something first. `compared` says how often the baseline was compared with itself.
pub(crate) fn checks(record: &Record, faults: &[FaultAt], compared: usize) -> Vec<Check> {
    let seen: Vec<Seen<'_>> = record.trials.iter().flat_map(|t| &t.measurements).filter_map(|m| Seen::of(record, m)).collect();
    let searches = || record.trials.iter().flat_map(|t| &t.capacities);
    let of_measurement = OF_MEASUREMENT.iter().map(|check| {
        let of_search = OF_SEARCH.iter().find(|of_search| of_search.kind == check.kind);
        let (searched, seen_of_it) = of_search.map_or((0, 0), |of| (searches().count(), searches().filter(|s| (of.can)(s)).count()));
        // Who made a load is known: nobody looks in vain for whoever did not.
        let is_of = |s: &&Seen<'_>| match check.kind {
            "generator-cpu" => !by_agents(s),
            "agent-cpu" | "agent-lag" | "agent-start" => by_agents(s),
            _ => true,
        };
        let could = |s: &&Seen<'_>| (check.can)(s) || (check.find)(s).is_some();
        let (all, looked_at) = (seen.iter().filter(is_of).count(), seen.iter().filter(could).count());
        (check.kind, check.what, "measurements", all + searched, looked_at + seen_of_it)
    });
    let others = OTHERS.iter().map(|(kind, what, of)| {
        let (all, looked_at) = reach(record, kind, compared);
        (*kind, *what, *of, all, looked_at)
    });
    let mut checks: Vec<Check> = of_measurement
        .chain(others)
        .map(|(kind, what, of, all, looked_at)| {
            let found = faults.iter().filter(|fault| fault.kind == kind).count();
            // An older record holds faults whose readings it does not.
            let looked_at = looked_at.max(found.min(all));
            Check { kind: kind.into(), what: what.into(), of: of.into(), all, looked_at, found }
        })
        .filter(|check| check.all > 0 || check.found > 0)
        .collect();
    checks.sort_by_key(|check| std::cmp::Reverse(check.found));
    checks
}

/// How many there are that a check of no measurement speaks of, and at how many it could look.
fn reach(record: &Record, kind: &str, compared: usize) -> (usize, usize) {
    let header = &record.header;
    let trials = record.trials.len();
    let whole = |is_there: bool| if is_there { (trials, trials) } else { (0, 0) };
    match kind {
        "start-steal" => (trials, record.trials.iter().filter(|t| t.host.start_steal_share.is_some()).count()),
        "generator" => whole(true),
        "upstream-lost" => whole(header.upstream.is_some()),
        "agent-lost" => whole(header.experiment.place.agents_asked() > 0),
        "all-tie" => {
            let is_compared = binding::may_tie(record);
            let closed = header.experiment.cells.iter().filter(|cell| matches!(cell.load, Load::Closed { .. })).count();
            (closed, if is_compared { closed } else { 0 })
        }
        "aa-differs" => (compared, compared),
        // What a database was asked afterwards.
        "database-lost" => whole(header.database.is_some()),
        _ => {
            let asked = record.trials.iter().filter(|t| t.database.as_ref().is_some_and(|kept| !kept.checks.is_empty())).count();
            (if header.database.is_some() { trials } else { 0 }, asked)
        }
    }
}
