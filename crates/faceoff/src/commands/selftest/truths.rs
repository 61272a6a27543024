//! Compares what the records measured with what is known about the server.
//!
//! Each function `of_…` takes the record of one experiment and returns its known values with the
//! measured ones. docs/guide/selftest.md has the reasons.

use super::experiments::{
    self, BURN, CLOSED, CONFIDENCE, CONNECTIONS, DELAY, MEMORY_BYTES, MORE, OPEN, RATE,
    STALL_EVERY, STALLS, THREADS, burns, contender, delays, frozen, more,
};
use record::judgement::Outcome;
use record::selftest::{Ceiling, Truth, TruthOutcome};
use record::{Measurement, Record, Trial};
use spec::experiment::FEWEST_BLOCKS;
use spec::metric::Metric;
use stats::{Histogram, Interval, mean_interval, median, paired_difference};
use std::collections::BTreeMap;
use std::time::Duration;

/// Resolution of quantiles, whose histogram buckets have three digits.
const THREE_DIGITS: f64 = 0.001;
/// Maximum half-width of an interval, as a share of the known value. A wider one would contain
/// anything.
const WIDEST: f64 = 0.1;
/// The quantiles that are known for a stalling server.
const QUANTILES: [(f64, &str); 3] =
    [(0.9, "90th percentile"), (0.95, "95th percentile"), (0.99, "99th percentile")];

/// A known value, before it is compared with the measurement.
struct Known {
    what: String,
    cell: &'static str,
    quantity: String,
    unit: &'static str,
    bounds: Interval,
    /// The resolution of the measurement, as a share of the value.
    resolution: f64,
    /// The value that would mean no difference.
    none: Option<f64>,
}

impl Known {
    /// Compares the known value with an estimate from a number of blocks.
    fn found(self, estimate: Option<(f64, Interval)>, blocks: usize) -> Truth {
        let wide = |interval: Interval| {
            let slack = self.resolution * self.bounds.low.abs();
            Interval { low: interval.low - slack, high: interval.high + slack }
        };
        let holds = |interval: Interval| {
            wide(interval).low <= self.bounds.high && wide(interval).high >= self.bounds.low
        };
        let enough = blocks >= FEWEST_BLOCKS as usize;
        let (outcome, note) = match estimate {
            Some((_, interval)) if enough && !holds(interval) => {
                (TruthOutcome::Missed, String::new())
            }
            Some((_, interval))
                if enough
                    && (interval.high - interval.low) / 2.0 > WIDEST * self.bounds.low.abs() =>
            {
                (TruthOutcome::Unsound, "too noisy".to_owned())
            }
            Some(_) if enough => (TruthOutcome::Holds, String::new()),
            _ => (TruthOutcome::Unsound, format!("{blocks} of {FEWEST_BLOCKS} blocks")),
        };
        Truth {
            what: self.what,
            cell: self.cell.to_owned(),
            quantity: self.quantity,
            unit: self.unit.to_owned(),
            known: Some(self.bounds),
            measured: estimate.map(|(value, _)| value),
            interval: estimate.map(|(_, interval)| interval),
            told_apart: self
                .none
                .zip(estimate)
                .map(|(none, (_, interval))| none < interval.low || none > interval.high),
            blocks,
            outcome,
            note,
        }
    }
}

fn exactly(value: f64) -> Interval {
    Interval { low: value, high: value }
}

/// Returns a value per block, from trials that no fault has invalidated.
fn values(
    record: &Record,
    variant: &str,
    cell: &str,
    metric: Metric,
    pick: impl Fn(&Trial, &Measurement) -> Option<f64>,
) -> BTreeMap<u32, f64> {
    let name = contender(variant);
    let trials =
        record.trials.iter().filter(|t| t.contender == name && judge::exclusion(t).is_none());
    let fit = trials.filter_map(|trial| {
        let measurement = judge::measurement(trial, cell)?;
        let is_invalid = trial
            .faults
            .iter()
            .chain(&measurement.faults)
            .any(|fault| judge::invalidates(&fault.kind, metric));
        (!is_invalid).then(|| pick(trial, measurement)).flatten().map(|value| (trial.block, value))
    });
    fit.collect()
}

fn of_metric(record: &Record, variant: &str, cell: &str, metric: Metric) -> BTreeMap<u32, f64> {
    values(record, variant, cell, metric, |trial, measurement| {
        judge::value(metric, trial, Some(measurement))
    })
}

/// Pairs the values of blocks that have both.
fn pairs(a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> Vec<(f64, f64)> {
    a.iter().filter_map(|(block, a)| Some((*a, *b.get(block)?))).collect()
}

/// A ladder of servers that add known amounts, each compared with the first.
///
/// A request also has a cost of its own, which is the same on every rung. In each block it is what
/// the first server costs beyond its known amount, and it is subtracted.
struct Ladder<'a> {
    record: &'a Record,
    cell: &'static str,
    metric: Metric,
    verb: &'static str,
    resolution: f64,
    /// Converts the amount of a rung into the metric's unit.
    amount: fn(Duration) -> f64,
    variant: fn(Duration) -> String,
    base: Duration,
}

/// Returns the ratio of what two servers add, if the second adds `amount`.
fn ratio_without_own((more, base): (f64, f64), amount: f64) -> f64 {
    let own = base - amount;
    (more - own) / amount
}

impl Ladder<'_> {
    fn truths(&self) -> impl Iterator<Item = Truth> + '_ {
        let of = |time| of_metric(self.record, &(self.variant)(time), self.cell, self.metric);
        let amount = (self.amount)(self.base);
        let base = of(self.base);
        MORE.into_iter().map(move |percent| {
            let pairs = pairs(&of(more(self.base, percent)), &base);
            let ratios: Vec<f64> =
                pairs.into_iter().map(|pair| ratio_without_own(pair, amount)).collect();
            let known = Known {
                what: format!("{} {percent} % more", self.verb),
                cell: self.cell,
                quantity: format!("ratio of {}", experiments::label(self.metric)),
                unit: "",
                bounds: exactly(1.0 + f64::from(percent) / 100.0),
                resolution: self.resolution,
                none: Some(1.0),
            };
            known.found(mean_interval(&ratios, CONFIDENCE), ratios.len())
        })
    }
}

/// Compares the known CPU times.
pub fn of_cpu(record: &Record) -> Vec<Truth> {
    let ladder = |cell| Ladder {
        record,
        cell,
        metric: Metric::CpuPerRequest,
        verb: "burns",
        resolution: 0.0,
        amount: |cpu| cpu.as_secs_f64() * 1e6,
        variant: burns,
        base: BURN,
    };
    [CLOSED, OPEN].into_iter().flat_map(|cell| ladder(cell).truths().collect::<Vec<_>>()).collect()
}

/// Compares the known delays.
pub fn of_delay(record: &Record) -> Vec<Truth> {
    let ladder = Ladder {
        record,
        cell: OPEN,
        metric: Metric::LatencyP50,
        verb: "delays",
        resolution: THREE_DIGITS,
        amount: |delay| delay.as_secs_f64() * 1e3,
        variant: delays,
        base: DELAY,
    };
    ladder.truths().collect()
}

/// Returns bounds of a latency quantile for a server that stalls for `stall` in each `every`.
///
/// Requests arrive at an even rate. After a stall, the server needs between nothing and `each` for
/// every request that arrived meanwhile. Returns `None` if the quantile is not within the stall.
///
/// A request that arrives `after` the start of a stall waits for its end, `stall - after`. So a
/// share `after / every` of all requests waits longer than that. Arrivals lie on a grid of 1/rate
/// with an unknown offset.
fn frozen_quantile(
    quantile: f64,
    every: Duration,
    stall: Duration,
    rate: f64,
    each: Duration,
) -> Option<Interval> {
    let after = every.mul_f64(1.0 - quantile);
    let waits = stall.checked_sub(after)?.as_secs_f64();
    let grid = 1.0 / rate;
    // All connections that were opened meanwhile are accepted before the first response.
    let ahead = stall.as_secs_f64() * rate;
    Some(Interval {
        low: 1e3 * (waits - grid),
        high: 1e3 * (waits + grid + ahead * each.as_secs_f64()),
    })
}

/// Compares the known quantiles of a stalling server.
pub fn of_stall(record: &Record, ceiling: Option<&Ceiling>) -> Vec<Truth> {
    let each = ceiling.map_or(Duration::ZERO, |c| Duration::from_secs_f64(1.0 / c.per_s));
    let mut truths = Vec::new();
    for stall in STALLS {
        for (quantile, label) in QUANTILES {
            let Some(bounds) = frozen_quantile(quantile, STALL_EVERY, stall, RATE, each) else {
                continue;
            };
            let read = |_: &Trial, m: &Measurement| {
                let times = m.times();
                (times.len() >= stats::smallest_sample(quantile))
                    .then(|| times.quantile_ns(quantile) as f64 / 1e6)
            };
            let found: Vec<f64> = values(record, &frozen(stall), OPEN, Metric::LatencyP99, read)
                .into_values()
                .collect();
            let known = Known {
                what: format!("stalls {} ms in {}", stall.as_millis(), STALL_EVERY.as_millis()),
                cell: OPEN,
                quantity: label.to_owned(),
                unit: "ms",
                bounds,
                resolution: THREE_DIGITS,
                none: None,
            };
            truths.push(known.found(mean_interval(&found, CONFIDENCE), found.len()));
        }
    }
    truths
}

/// Compares known memory and threads, and a server with itself.
pub fn of_held(record: &Record) -> Vec<Truth> {
    let plain = experiments::plain();
    let difference = |variant: &str, metric: Metric| {
        let pairs = pairs(
            &of_metric(record, variant, OPEN, metric),
            &of_metric(record, &plain, OPEN, metric),
        );
        (paired_difference(&pairs, CONFIDENCE), pairs.len())
    };
    let held = |what: String, metric: Metric, more: f64, variant: String| {
        let (estimate, blocks) = difference(&variant, metric);
        let known = Known {
            what,
            cell: OPEN,
            quantity: format!("more {}", experiments::label(metric)),
            unit: metric.describe().unit,
            bounds: exactly(more),
            resolution: 0.0,
            none: Some(0.0),
        };
        known.found(estimate, blocks)
    };
    vec![
        against_itself(record),
        held(
            format!("holds {} MiB more", MEMORY_BYTES >> 20),
            Metric::Memory,
            MEMORY_BYTES as f64 / 1e6,
            experiments::memory(),
        ),
        held(
            format!("has {THREADS} threads more"),
            Metric::Threads,
            f64::from(THREADS),
            experiments::threads(),
        ),
    ]
}

/// Compares a server with itself: any winner is an error.
fn against_itself(record: &Record) -> Truth {
    let judgement = judge::judge(record);
    let again = contender(&experiments::again());
    let verdicts: Vec<_> = judgement.verdicts.iter().filter(|v| v.contender == again).collect();
    let count = |outcome| verdicts.iter().filter(|v| v.outcome == outcome).count();
    let wrong: Vec<String> = verdicts
        .iter()
        .filter(|v| matches!(v.outcome, Outcome::Better | Outcome::Worse))
        .map(|v| {
            format!(
                "{} ({}) {:?}",
                experiments::label(v.metric),
                v.cell.as_deref().unwrap_or("start"),
                v.outcome
            )
            .to_lowercase()
        })
        .collect();
    let blocks = verdicts
        .iter()
        .filter(|v| v.ratio.is_some() || v.invalidated > 0)
        .map(|v| v.used)
        .min()
        .unwrap_or(0);
    let outcome = match () {
        () if !wrong.is_empty() => TruthOutcome::Missed,
        () if judgement.unsound || blocks < FEWEST_BLOCKS as usize => TruthOutcome::Unsound,
        () => TruthOutcome::Holds,
    };
    let mut note = format!(
        "{} equivalent, {} undecided",
        count(Outcome::Equivalent),
        count(Outcome::Undecided)
    );
    if !wrong.is_empty() {
        note = format!("{note}; {}", wrong.join(", "));
    }
    Truth {
        what: "against itself".into(),
        cell: String::new(),
        quantity: format!("{} verdicts", verdicts.len()),
        unit: String::new(),
        known: None,
        measured: None,
        interval: None,
        told_apart: None,
        blocks,
        outcome,
        note,
    }
}

/// Returns the maximum rate and the lag of the generator on this machine.
pub fn ceiling(record: &Record) -> Option<Ceiling> {
    let plain = experiments::plain();
    // The generator's limits are the result here, so its faults exclude nothing.
    let trials = || {
        record
            .trials
            .iter()
            .filter(|t| t.contender == contender(&plain) && judge::exclusion(t).is_none())
    };
    let closed: Vec<&Measurement> = trials()
        .filter_map(|t| judge::measurement(t, CLOSED))
        .filter(|m| m.counts.correct > 0)
        .collect();
    let typical = |value: fn(&Measurement) -> f64| {
        median(&closed.iter().map(|m| value(m)).collect::<Vec<_>>())
    };
    let mut lag = Histogram::new();
    for found in trials().filter_map(|t| judge::measurement(t, OPEN)?.generator.lag.as_ref()) {
        lag.merge(found);
    }
    let quantile =
        |q: f64| (lag.len() >= stats::smallest_sample(q)).then(|| lag.quantile_ns(q) as f64 / 1e3);
    Some(Ceiling {
        per_s: typical(Measurement::throughput_per_s)?,
        connections: CONNECTIONS,
        cpu_us: typical(|m| m.generator.busy_ns() as f64 / 1e3 / m.counts.correct as f64)?,
        rate_per_s: RATE,
        lag_p50_us: quantile(0.5),
        lag_p99_us: quantile(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(bounds: Interval, resolution: f64) -> Known {
        Known {
            what: "w".into(),
            cell: OPEN,
            quantity: "q".into(),
            unit: "",
            bounds,
            resolution,
            none: Some(1.0),
        }
    }

    #[test]
    fn known_value_outside_interval_is_missed() {
        let interval = Interval { low: 1.04, high: 1.06 };
        let found = |truth: f64, resolution| {
            known(exactly(truth), resolution).found(Some((1.05, interval)), 6)
        };
        assert_eq!(found(1.05, 0.0).outcome, TruthOutcome::Holds);
        assert_eq!(found(1.05, 0.0).told_apart, Some(true));
        assert_eq!(found(1.02, 0.0).outcome, TruthOutcome::Missed, "a wrong value is detected");
        assert_eq!(found(1.10, 0.0).outcome, TruthOutcome::Missed);
        assert_eq!(found(1.0605, 0.0).outcome, TruthOutcome::Missed);
        assert_eq!(
            found(1.0605, 0.001).outcome,
            TruthOutcome::Holds,
            "within the resolution of the buckets"
        );
    }

    #[test]
    fn wide_interval_decides_nothing() {
        let found = |low, high| {
            known(exactly(1.5), 0.0).found(Some((1.5, Interval { low, high })), 6).outcome
        };
        assert_eq!(found(1.36, 1.64), TruthOutcome::Holds);
        assert_eq!(found(1.34, 1.66), TruthOutcome::Unsound);
        assert_eq!(found(1.6, 9.0), TruthOutcome::Missed, "even if the interval is wide");
    }

    #[test]
    fn too_few_blocks_decide_nothing() {
        let interval = Interval { low: 0.0, high: 9.0 };
        let found = known(exactly(1.05), 0.0).found(Some((1.05, interval)), 5);
        assert_eq!((found.outcome, found.told_apart), (TruthOutcome::Unsound, Some(false)));
    }

    #[test]
    fn own_cost_of_server_is_subtracted() {
        // An own cost of 12 µs, then 15 µs, in addition to 200 and 210.
        assert!((ratio_without_own((222.0, 212.0), 200.0) - 1.05).abs() < 1e-12);
        assert!((ratio_without_own((225.0, 215.0), 200.0) - 1.05).abs() < 1e-12);
        // A measurement that is 10 % too high is detected.
        assert!((ratio_without_own((1.1 * 312.0, 1.1 * 212.0), 200.0) - 1.55).abs() < 1e-12);
    }

    #[test]
    fn only_blocks_with_both_values_are_paired() {
        let by_block =
            |values: &[(u32, f64)]| values.iter().copied().collect::<BTreeMap<u32, f64>>();
        assert_eq!(
            pairs(&by_block(&[(1, 1.0), (3, 3.0)]), &by_block(&[(2, 2.0), (3, 4.0)])),
            [(3.0, 4.0)]
        );
    }

    /// Simulates every arrival of one period.
    #[test]
    fn frozen_quantiles_match_simulated_arrivals() {
        let (every, stall, rate) =
            (Duration::from_millis(500), Duration::from_millis(100), 1_000.0);
        for offset_us in [0, 250, 999] {
            for each in [Duration::ZERO, Duration::from_micros(30)] {
                let mut free_at: f64 = 0.0;
                let mut waits: Vec<f64> = (0..500)
                    .map(|i| {
                        let arrives = f64::from(i) + f64::from(offset_us) / 1e3;
                        free_at = free_at.max(arrives).max(stall.as_secs_f64() * 1e3)
                            + each.as_secs_f64() * 1e3;
                        free_at - arrives
                    })
                    .collect();
                waits.sort_by(f64::total_cmp);
                for (quantile, _) in QUANTILES {
                    let waited = waits[(quantile * 500.0).ceil() as usize - 1];
                    let bounds = frozen_quantile(quantile, every, stall, rate, each).unwrap();
                    assert!(
                        bounds.low <= waited && waited <= bounds.high,
                        "{quantile} {waited} {bounds:?}"
                    );
                    assert!(bounds.high - bounds.low < 5.1, "{bounds:?}");
                }
            }
        }
        assert_eq!(frozen_quantile(0.5, every, stall, rate, Duration::ZERO), None);
    }
}
