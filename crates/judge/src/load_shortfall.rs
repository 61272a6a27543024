//! Loads of the experiment that could not be made in full, because of the machine or the time.
//!
//! The result is one sentence for each shortfall of a cell. It warns the reader that the cell shows
//! less than its name promises. Start with [`list_shortfalls`].

use crate::soundness::FaultKind;
use record::{Measurement, Record};
use spec::experiment::{Cell, Load};
use spec::name::ContenderName;
use spec::units::show_duration;

/// A shortfall is reported if at least this share of a contender's measurements show it.
const SHARE_MIN: f64 = 0.5;
/// Fewer users than this do not raise the question of how many waited at once.
const USERS_MANY: u32 = 100;

/// Lists the shortfalls of a record that holds all of its faults, by cell.
pub(crate) fn list_shortfalls(record: &Record) -> Vec<String> {
    let cells = record.header.experiment.cells.iter().filter(|cell| cell.load.capacity().is_none());
    cells
        .flat_map(|cell| {
            [cut_off(record, cell), beyond_machine(record, cell), most_waiting(record, cell)]
                .into_iter()
                .flatten()
        })
        .collect()
}

fn measurements<'r>(
    record: &'r Record,
    cell: &'r Cell,
) -> impl Iterator<Item = (&'r ContenderName, &'r Measurement)> {
    let of_cell = move |m: &&Measurement| m.cell == cell.name;
    record
        .trials
        .iter()
        .flat_map(move |t| t.measurements.iter().filter(of_cell).map(move |m| (&t.contender, m)))
}

/// Reports a load that lasts longer than the measurement: `published-users-4000 is planned with
/// 4000 users over 1 min, but was measured for 8.0 s: 534 of them began, ...`
fn cut_off(record: &Record, cell: &Cell) -> Option<String> {
    let measured = record.header.experiment.design.measure;
    let began = cell.load.users_cut(measured)?;
    measurements(record, cell).next()?;
    let (planned, took) = (cell.load.describe(), show_duration(measured));
    Some(format!(
        "{} is planned with {planned}, but was measured for {took}: {began} of them began, and the effect of the others was not measured.",
        cell.name
    ))
}

/// Reports a load that is more than this machine can offer.
fn beyond_machine(record: &Record, cell: &Cell) -> Option<String> {
    let mut found: Vec<String> = not_made(record, cell).into_iter().collect();
    // A closed loop plans no more than the contender answers.
    let rows = FaultKind::ALL.iter().map(|kind| kind.row()).filter(|_| cell.load.has_schedule());
    for (kind, what) in rows.filter_map(|row| Some((row.name, row.limit?))) {
        let limited = limited_contenders(record, cell, kind);
        if !limited.is_empty() {
            found.push(format!("{what} ({})", limited.join(", ")));
        }
    }
    (!found.is_empty()).then(|| {
        format!(
            "{} is planned with {}, more than this machine can offer: {}. So it shows the effect of that load on this machine, not how much of it the contenders could carry.",
            cell.name,
            cell.load.describe(),
            found.join("; ")
        )
    })
}

/// Reports starts in which the load of a cell could not be made at all.
fn not_made(record: &Record, cell: &Cell) -> Option<String> {
    let causes: Vec<&str> = record
        .trials
        .iter()
        .flat_map(|t| &t.cell_faults)
        .filter(|of| of.cell == cell.name && of.fault.kind == FaultKind::Generator.row().name)
        .filter_map(|of| of.fault.evidence.lines().next())
        .collect();
    let (first, n) = (causes.first()?, causes.len());
    let starts = if n == 1 { "start" } else { "starts" };
    Some(format!("the load could not be made at all (in {n} {starts}: {first})"))
}

/// Lists the contenders most of whose measurements show a kind of fault.
fn limited_contenders(record: &Record, cell: &Cell, kind: &str) -> Vec<String> {
    let shows = |m: &Measurement| m.faults.iter().any(|fault| fault.kind == kind);
    let names = record.header.contenders.iter().map(|p| &p.name);
    let counted = names.map(|name| {
        let all: Vec<&Measurement> =
            measurements(record, cell).filter(|(of, _)| *of == name).map(|(_, m)| m).collect();
        (name, all.iter().filter(|m| shows(m)).count(), all.len())
    });
    counted
        .filter(|(_, n, all)| *n > 0 && *n as f64 >= SHARE_MIN * *all as f64)
        .map(|(name, n, all)| format!("in {n} of {all} measurements of {name}"))
        .collect()
}

/// Reports how many of many users waited at once: `Of the 10000 users of c, the most that waited for
/// a response at once were 2310 with bank-java, 83 with bank-go.`
fn most_waiting(record: &Record, cell: &Cell) -> Option<String> {
    let Load::Users { users: users @ USERS_MANY.., ramp, .. } = cell.load else { return None };
    if ramp.is_zero() {
        return None;
    }
    let most = |name: &ContenderName| {
        let all = measurements(record, cell)
            .filter(|(of, _)| *of == name)
            .map(|(_, m)| m.generator.in_flight_max);
        all.max().map(|most| format!("{most} with {name}"))
    };
    let each: Vec<String> = record.header.contenders.iter().filter_map(|p| most(&p.name)).collect();
    let each = if each.is_empty() { return None } else { each.join(", ") };
    Some(format!(
        "Of the {users} users of {}, the most that waited for a response at once were {each}.",
        cell.name
    ))
}
