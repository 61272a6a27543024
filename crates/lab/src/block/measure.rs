//! Measures a cell in slices: the load passes from contender to contender every few hundredths of a
//! second, in random order within each round. Contenders that do not have it are paused.
//!
//! A slice must be long enough for the slowest contender's responses, and its drain should not take
//! longer than the slice. A [`pilot`] finds the first length, and each measurement the length for
//! the next block. If drains make a measurement far longer than planned, it ends with fewer slices.
//! Start with [`measure`].

use super::slice_readings::SliceReadings;
use crate::profiling::Spans;
use crate::trial::readings::{Readings, Seen, measurement};
use crate::trial::setup::{Purpose, Setup};
use crate::trial_database::TrialDatabase;
use crate::warmup;
use load::slices::{LONGEST, Lane, slice_length};
use load::{LoadError, Measured, Plan};
use record::{Measurement, Slices};
use runner::start::Running;
use spec::experiment::{Cell, Load};
use stats::Histogram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A contender that cannot be paused may use this share of its CPU time while others have the load.
const SPILL_OVER_MAX: f64 = 0.10;
/// A measurement is repeated if its slices should have been this many times as long.
const TOO_SHORT: u32 = 4;
/// No round begins once a measurement has taken this many times the planned time.
const OVERTIME_MAX: u32 = 3;
/// Duration of the load that finds the first slice length.
const PILOT: Duration = Duration::from_millis(60);
/// Streams of the seed from here on order the contenders of a round.
const ROUND_STREAMS: u64 = 1 << 40;

/// A contender that runs, with the setup of its trial.
pub(super) type Guest<'a, 's> = (&'a Setup<'s>, &'a Running);

/// Readings of one contender over a measurement.
struct During {
    /// When they began.
    since_ns: u64,
    /// CPU time of the contender during them.
    clock_ns: u64,
    seen: Seen,
}

/// What one measurement of a cell gave.
pub(super) struct Once {
    /// The measurement of each contender.
    pub made: Vec<Result<Measurement, String>>,
    /// The slice length that the service times need.
    needed: Duration,
    /// The slice length of the next measurement.
    pub next: Duration,
}

/// Returns whether slices were far too short. The pilot may find too short a length: a new
/// connection is often faster than one that is in use, and responses that take long miss its end.
pub(super) fn is_too_short(wanted: Duration, once: &Once) -> bool {
    once.next >= TOO_SHORT * wanted || once.needed > LONGEST && once.needed >= 2 * wanted
}

/// Measures a cell in slices of about this length.
pub(super) fn measure<'a>(
    cell: &'a Cell,
    (position, attempt): (u32, u32),
    guests: &[Guest<'a, '_>],
    wanted: Duration,
    stop: &'a AtomicBool,
) -> Once {
    let Some((first, _)) = guests.first() else {
        return Once { made: Vec::new(), needed: wanted, next: wanted };
    };
    let time = first.experiment.design.measure;
    // The time is a whole number of rounds, so slices may be a little longer or shorter.
    let rounds = (time.as_secs_f64() / wanted.as_secs_f64().max(1e-9) - 0.1).ceil().max(1.0) as u32;
    let length = time / rounds;
    let none = TrialDatabase::none();
    let mut slices: Vec<SliceReadings<'_>> = guests
        .iter()
        .map(|(setup, running)| SliceReadings::begin(setup, running, length))
        .collect();
    let mut readings: Vec<(u64, u64, Readings<'_>)> = Vec::new();
    for ((setup, running), slices) in guests.iter().zip(&slices) {
        let since_ns = load::clock::now_ns();
        let begun = Readings::begin(setup, running, &none);
        readings.push((since_ns, slices.now_ns(), begun));
    }
    let sampler = first.sampling.and_then(|sampling| {
        let running: Vec<&Running> = guests.iter().map(|(_, running)| *running).collect();
        sampling.begin(&running, &first.cpus.generator)
    });
    let measured = make_rounds((cell, position, attempt), guests, rounds, &mut slices, stop);
    let ended = readings.into_iter().zip(guests).zip(&slices).map(|((begun, guest), slices)| {
        let (since_ns, clock_ns, readings) = begun;
        let clock_ns = slices.now_ns().saturating_sub(clock_ns);
        During { since_ns, clock_ns, seen: readings.end(guest.0, &none) }
    });
    let seen: Vec<During> = ended.collect();
    // Only now, so that nothing that they put off is counted.
    slices.iter_mut().for_each(SliceReadings::resume);
    let spans: Vec<Spans> = slices.iter().map(|slices| slices.spans.clone()).collect();
    let all_ns: u64 = seen.iter().map(|during| during.seen.usage.cpu_ns).sum();
    let drain = slices.iter().map(SliceReadings::mean_drain).max().unwrap_or_default();
    let (mut spilled, mut made) = (false, Vec::new());
    for (((measured, seen), slices), (_, running)) in
        measured.into_iter().zip(seen).zip(slices).zip(guests)
    {
        spilled |= slices.slices.spill_over() > SPILL_OVER_MAX;
        made.push(measured.map_err(|error| error.to_string()).map(|measured| {
            in_slices((cell, position), running, measured, seen, (slices, all_ns))
        }));
    }
    if let (Some(sampling), Some(sampler)) = (first.sampling, sampler) {
        let names = guests.iter().map(|(setup, _)| &setup.ready.contender.name);
        let made = made.iter().map(|made| made.as_ref().ok());
        sampling.end(sampler, names.zip(made).zip(spans).map(|((name, m), s)| (name, m, s)));
    }
    let times = made.iter().flatten().map(|measurement| &measurement.service);
    let needed = times.map(|service| length_for(&cell.load, service)).max().unwrap_or(wanted);
    let next = if spilled { 2 * wanted } else { wanted }.max(needed).max(drain).min(time);
    Once { made, needed, next }
}

/// Makes the load of a cell in rounds, in each of which every contender gets one slice. Makes fewer
/// rounds if they take far longer than planned, such as where each drain waits for a timeout.
fn make_rounds<'a>(
    (cell, position, attempt): (&'a Cell, u32, u32),
    guests: &[Guest<'a, '_>],
    rounds: u32,
    slices: &mut [SliceReadings<'_>],
    stop: &'a AtomicBool,
) -> Vec<Result<Measured, LoadError>> {
    let Some((first, _)) = guests.first() else { return Vec::new() };
    let design = &first.experiment.design;
    let purpose = Purpose::Measuring { attempt };
    let plan = |(setup, running): &Guest<'a, '_>| {
        setup.plan((cell, purpose), running, design.measure, stop)
    };
    let plans: Vec<Plan<'_>> = guests.iter().map(plan).collect();
    let stream = ROUND_STREAMS + (u64::from(first.block) << 20) + (u64::from(position) << 14);
    let (count, seed) = (guests.len(), design.seed);
    let order = |round: u64| {
        let mut order: Vec<usize> = (0..count).collect();
        stats::shuffle(&mut order, seed, stream + round);
        order
    };
    let made = warmup::on_pinned_thread(&first.cpus.generator, || {
        let mut lanes = Lane::open_all(&plans);
        slices.iter_mut().for_each(SliceReadings::begin_rounds);
        let (began, began_ns) = (Instant::now(), load::clock::now_ns());
        for round in 0..rounds {
            if is_overtime(began.elapsed(), design.measure, count) {
                break;
            }
            for at in order(u64::from(round)) {
                if let Ok(lane) = &mut lanes[at]
                    && !stop.load(Ordering::Relaxed)
                {
                    let before_ns = neighbours_ns(slices, at);
                    slices[at].take(began_ns, lane);
                    let within_ns = neighbours_ns(slices, at).saturating_sub(before_ns);
                    *slices[at].slices.neighbours_within_ns.get_or_insert(0) += within_ns;
                }
            }
        }
        lanes.into_iter().map(|lane| lane.map(Lane::end)).collect()
    });
    made.unwrap_or_else(|error| plans.iter().map(|_| Err(error.clone())).collect())
}

/// CPU time so far of all contenders but one.
fn neighbours_ns(slices: &[SliceReadings<'_>], one: usize) -> u64 {
    let others = slices.iter().enumerate().filter(|(at, _)| *at != one);
    others.map(|(_, slices)| slices.now_ns()).sum()
}

/// Returns whether a measurement of `measure` for each of `guests` has taken far longer than that.
fn is_overtime(passed: Duration, measure: Duration, guests: usize) -> bool {
    passed >= OVERTIME_MAX * measure * guests as u32
}

/// Combines the load of one contender and the readings during it into a measurement.
fn in_slices(
    (cell, position): (&Cell, u32),
    running: &Running,
    measured: Measured,
    During { since_ns, clock_ns, mut seen }: During,
    (readings, all_contenders_ns): (SliceReadings<'_>, u64),
) -> Measurement {
    let behind_ns = seen.backends_ns.unwrap_or(0);
    seen.backends_ns = readings.backends_ns(measured.duration_ns);
    seen.energy_uj = readings.energy.sum_uj();
    seen.usage = readings.usage_in_slices(seen.usage, since_ns, clock_ns);
    let slices = Slices {
        neighbours_cpu_ns: all_contenders_ns.saturating_sub(seen.usage.cpu_ns),
        upstream_outside_ns: Some(behind_ns.saturating_sub(seen.backends_ns.unwrap_or(0))),
        ..readings.slices
    };
    Measurement { slices: Some(slices), ..measurement(cell, position, running, measured, seen) }
}

/// The slice length for a contender with these service times; the longest if there are none.
fn length_for(load: &Load, service: &Histogram) -> Duration {
    match service.is_empty() {
        true => LONGEST,
        false => slice_length(load, Duration::from_nanos(service.quantile_ns(0.5))),
    }
}

/// Finds the slice length of a cell: the length that the slowest contender needs.
pub(super) fn pilot(cell: &Cell, guests: &[Guest<'_, '_>], stop: &AtomicBool) -> Duration {
    let length = |(setup, running): &Guest<'_, '_>| {
        let plan = setup.plan((cell, Purpose::Pilot), running, PILOT, stop);
        warmup::on_cpus(&plan, &setup.cpus.generator)
            .map_or(LONGEST, |measured| length_for(&cell.load, &measured.service))
    };
    guests.iter().map(length).max().unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_without_a_whole_lead_are_measured_again() {
        let ms = Duration::from_millis;
        let again = |wanted, needed, next| {
            is_too_short(ms(wanted), &Once { made: vec![], needed: ms(needed), next: ms(next) })
        };
        assert!(again(40, 160, 160) && !again(40, 159, 159), "a pilot that was too fast");
        assert!(again(500, 1_050, 1_050) && !again(500, 900, 900), "responses that take long");
        assert!(!again(500, 400, 1_000), "work that spilled over waits for the next block");
    }

    #[test]
    fn measurement_that_waits_for_timeouts_ends() {
        let s = Duration::from_secs;
        assert!(!is_overtime(s(11), s(2), 2) && is_overtime(s(12), s(2), 2));
    }

    #[test]
    fn slice_length_follows_the_service_times() {
        let length = |values: &[u64]| {
            let mut service = Histogram::new();
            values.iter().for_each(|ms| service.record(ms * 1_000_000));
            length_for(&Load::closed(8), &service)
        };
        assert_eq!(length(&[]), LONGEST, "no response arrived within a slice");
        assert!(
            length(&[10, 10, 10]).abs_diff(Duration::from_millis(200)) < Duration::from_millis(1)
        );
        assert_eq!(length(&[43, 44, 43]), LONGEST);
    }
}
