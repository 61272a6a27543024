//! Throughput against the ramp-up of users, as JMeter prints it.
//!
//! Users that start over 10 s and each send one request finish no sooner than those 10 s. That a
//! table was made this way follows from the table: most of its rows obey the rule. With stated
//! users and loops, a run takes at least the ramp-up. Start with [`wrong_ramp_ups`].

use super::figures::{EDGE, Range, finding};
use super::text::{count, time};
use record::audit::{Check, Finding};
use spec::article::{Row, Table};
use spec::units::show_share;

/// How late a generator's first request may leave, in seconds: a cold JVM loads its classes.
const LATE_START: f64 = 2.0;
/// From this share of the possible throughput on, the ramp-up is worth a note.
const WORTH_A_NOTE: f64 = 0.75;

/// Finds requests that do not match throughput and ramp-up, for each row.
pub(super) fn wrong_ramp_ups(table: &Table) -> Vec<Option<Finding>> {
    let known: Vec<Option<OneRequest>> = table.rows.iter().map(one_request_per_user).collect();
    let rows = known.iter().flatten().count();
    let matching = known.iter().flatten().filter(|one| one.is_kept).count();
    let is_rule = rows >= 3 && matching * 2 > rows;
    let exception = |row: &Row, one: Option<OneRequest>| {
        let expected = one.filter(|one| is_rule && !one.is_kept)?.rate;
        differs_from_table(row, expected, matching, rows)
    };
    let rows = table.rows.iter().zip(known);
    rows.map(|(row, one)| exception(row, one).or_else(|| too_fast(row))).collect()
}

/// A row whose users may have sent one request each.
#[derive(Clone, Copy)]
struct OneRequest {
    /// The throughput in that case.
    rate: f64,
    /// Whether the row has it.
    is_kept: bool,
}

/// Returns `None` if the row does not have the figures for it.
fn one_request_per_user(row: &Row) -> Option<OneRequest> {
    if row.load.users.is_some() || row.load.loops.is_some() {
        return None;
    }
    let (samples, ramp_up, rate) =
        (row.samples.as_ref()?, row.load.ramp_up.as_ref()?, row.throughput.as_ref()?);
    if samples.low() <= 1.0 || ramp_up.value() <= 0.0 || rate.low() <= 0.0 {
        return None;
    }
    let lasted = Range::of_figure(samples).over(Range::of_figure(rate));
    let last_response = row.latency.max.as_ref()?.high();
    let starts_end = ramp_up.value() * (1.0 - 1.0 / samples.low()) - LATE_START;
    let is_kept = lasted.high * (1.0 + EDGE) >= starts_end
        && lasted.low * (1.0 - EDGE) <= ramp_up.value() + last_response;
    Some(OneRequest { rate: samples.value() / ramp_up.value(), is_kept })
}

fn differs_from_table(row: &Row, expected: f64, matching: usize, rows: usize) -> Option<Finding> {
    let (samples, ramp_up, rate) =
        (row.samples.as_ref()?, row.load.ramp_up.as_ref()?, row.throughput.as_ref()?);
    let factor =
        if expected > rate.value() { expected / rate.value() } else { rate.value() / expected };
    let what = format!(
        "{} requests in a ramp-up of {} are {}/s, not {}/s; {matching} of the {rows} rows with a ramp-up match that",
        samples.text(),
        ramp_up.text(),
        count(expected),
        rate.text()
    );
    let why = vec![
        format!("a ramp-up of about {}", time((samples.value() / rate.value()).round())),
        "users that sent several requests with pauses, in this row only".into(),
    ];
    let possible = format!("the throughput is {}/s", count(expected));
    Some(finding(row, Check::RampUp, what, Some(factor), Some(possible), why))
}

fn too_fast(row: &Row) -> Option<Finding> {
    let (most, ramp_up) = fastest(row)?;
    let rate = row.throughput.as_ref()?;
    let all = row.load.users? as f64 * row.load.loops? as f64;
    // A late first request shortens the measured run.
    let latest = all / (all / most - LATE_START).max(f64::MIN_POSITIVE);
    if rate.low() <= latest {
        return None;
    }
    let what = format!(
        "{} requests by users that start over {} are at most {}/s, not {}/s",
        count(all),
        ramp_up,
        count(most),
        rate.text()
    );
    let why = vec!["throughput taken over the time after the ramp-up".into()];
    let possible = format!("the throughput is at most {}/s", count(most));
    Some(finding(row, Check::RampUp, what, Some(rate.value() / most), Some(possible), why))
}

/// Returns the highest throughput of users that start over a ramp-up, however fast the responses,
/// and the ramp-up's text. A ramp-up is a setting, so its digits are exact.
fn fastest(row: &Row) -> Option<(f64, String)> {
    let (users, loops, ramp_up) =
        (row.load.users? as f64, row.load.loops? as f64, row.load.ramp_up.as_ref()?);
    let last_start = ramp_up.value() * (1.0 - 1.0 / users);
    (last_start > 0.0).then(|| (users * loops / last_start, ramp_up.text().to_owned()))
}

/// Notes that the ramp-up alone explains most of a row's throughput.
pub(super) fn note_ramp_up(row: &Row) -> Option<String> {
    let (most, ramp_up) = fastest(row)?;
    let rate = row.throughput.as_ref().filter(|rate| rate.value() >= WORTH_A_NOTE * most)?;
    let mut what = format!(
        "users that start over {ramp_up} make at most {}/s, however fast the responses; {}/s is {} of that",
        count(most),
        rate.text(),
        show_share(rate.value() / most)
    );
    if let Some(((users, loops), mean)) =
        row.load.users.zip(row.load.loops).zip(row.latency.mean.as_ref())
    {
        let lasts = users as f64 * loops as f64 / most + loops as f64 * mean.value();
        what += &format!(
            ", and ramp-up and mean together give {}/s",
            count(users as f64 * loops as f64 / lasts)
        );
    }
    Some(what)
}
