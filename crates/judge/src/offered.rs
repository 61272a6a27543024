//! What of the loads that an experiment asks for this machine, or the time it was given, could not offer.

use model::experiment::{Cell, Load};
use model::name::ContenderName;
use model::record::{Measurement, Record};
use model::units::show_duration;

/// Faults that say that not the contender was the limit, with what was short.
const LIMITS: [(&str, &str); 8] = [
    ("generator-cpu", "the load generator was at the limit of its CPU"),
    ("agent-cpu", "agents were at the limit of their CPUs"),
    ("rate-not-achieved", "fewer requests were sent than were due"),
    ("in-flight-limit", "as many requests were under way as the cell allows"),
    ("upstream-binds", "what stands behind the contenders, and the generator, had no CPU time left"),
    ("descriptors", "descriptors ran out"),
    ("ports", "ports ran out"),
    ("memory", "memory ran out"),
];
/// It is said where so many of a contender's measurements show it.
const SHARE_MIN: f64 = 0.5;
/// Fewer users than this are there at once without anybody asking how many.
const USERS_MANY: u32 = 100;

/// Sentences, by cell; none for a cell that got what it asked for. The record holds every fault by now.
pub(crate) fn all(record: &Record) -> Vec<String> {
    let cells = record.header.experiment.cells.iter().filter(|cell| cell.load.capacity().is_none());
    cells.flat_map(|cell| [cut(record, cell), short(record, cell), at_once(record, cell)].into_iter().flatten()).collect()
}

fn measurements<'r>(record: &'r Record, cell: &'r Cell) -> impl Iterator<Item = (&'r ContenderName, &'r Measurement)> {
    let of_cell = move |m: &&Measurement| m.cell == cell.name;
    record.trials.iter().flat_map(move |t| t.measurements.iter().filter(of_cell).map(move |m| (&t.contender, m)))
}

/// `published-users-4000 asks for 4000 users over 1 min and was measured for 8.0 s: 534 of them began.`
fn cut(record: &Record, cell: &Cell) -> Option<String> {
    let measured = record.header.experiment.design.measure;
    let began = cell.load.users_cut(measured)?;
    measurements(record, cell).next()?;
    let (asked, took) = (cell.load.describe(), show_duration(measured));
    Some(format!(
        "{} asks for {asked}, and was measured for {took}: {began} of them began, and what more would do was not seen.",
        cell.name
    ))
}

/// `published-users-10000 asks for 10000 users ..., more than this machine can offer: ...`
fn short(record: &Record, cell: &Cell) -> Option<String> {
    let place = format!("cell {}: ", cell.name);
    let not_made: Vec<&str> = record
        .trials
        .iter()
        .flat_map(|t| &t.faults)
        .filter(|f| f.kind == "generator")
        .filter_map(|f| f.evidence.strip_prefix(&place)?.lines().next())
        .collect();
    let mut found = Vec::new();
    if let Some(why) = not_made.first() {
        found.push(format!("it could not be made at all (in {}: {why})", starts(not_made.len())));
    }
    let names = || record.header.contenders.iter().map(|p| &p.name);
    // A closed loop asks for no more than is answered.
    let limits = LIMITS.iter().filter(|_| cell.load.has_schedule());
    for (kind, what) in limits {
        let shows = |m: &Measurement| m.faults.iter().any(|fault| fault.kind == *kind);
        let of = |name: &ContenderName| {
            let all: Vec<&Measurement> = measurements(record, cell).filter(|(of, _)| *of == name).map(|(_, m)| m).collect();
            (all.iter().filter(|m| shows(m)).count(), all.len())
        };
        let bound = names().map(|name| (name, of(name))).filter(|(_, (n, all))| *n > 0 && *n as f64 >= SHARE_MIN * *all as f64);
        let bound: Vec<String> = bound.map(|(name, (n, all))| format!("in {n} of {all} measurements of {name}")).collect();
        if !bound.is_empty() {
            found.push(format!("{what} ({})", bound.join(", ")));
        }
    }
    (!found.is_empty()).then(|| {
        format!(
            "{} asks for {}, more than this machine can offer: {}. So it shows what comes of that load on this machine, and not how much of it the contenders could carry.",
            cell.name,
            cell.load.describe(),
            found.join("; ")
        )
    })
}

fn starts(n: usize) -> String {
    if n == 1 { "1 start".to_owned() } else { format!("{n} starts") }
}

/// `Of the 10000 users of published-users-10000 at most 2310 waited for an answer at once with bank-java, 83 with bank-go.`
fn at_once(record: &Record, cell: &Cell) -> Option<String> {
    let Load::Users { users: users @ USERS_MANY.., ramp, .. } = cell.load else { return None };
    if ramp.is_zero() {
        return None;
    }
    let most = |name: &ContenderName| {
        let all = measurements(record, cell).filter(|(of, _)| *of == name).map(|(_, m)| m.generator.in_flight_max);
        all.max().map(|most| format!("{most} with {name}"))
    };
    let each: Vec<String> = record.header.contenders.iter().filter_map(|p| most(&p.name)).collect();
    let each = if each.is_empty() { return None } else { each.join(", ") };
    Some(format!("Of the {users} users of {}, at most so many waited for an answer at once: {each}.", cell.name))
}
