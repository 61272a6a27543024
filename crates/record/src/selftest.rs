//! The result of a self-test: what the instrument measured of known quantities.
//!
//! `faceoff selftest` measures servers with known behaviour. A [`SelfTest`] has one [`Truth`] for
//! each quantity and whether it was found, and the most load that the generator makes here.

use crate::Machine;
use serde::{Deserialize, Serialize};
use spec::experiment::CpuSets;
use spec::units::nanoseconds;
use stats::Interval;
use std::time::Duration;

/// The name of the layout of the result.
pub const SCHEMA: &str = "faceoff.selftest.v1";

/// The file with the latest result, in the folder of build stamps.
pub const FILE_NAME: &str = "selftest.json";

/// The instrument compared with known quantities, on one machine at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfTest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of faceoff.
    pub faceoff: String,
    /// When it ended, RFC 3339, UTC.
    pub at: String,
    /// The machine.
    pub machine: Machine,
    /// The CPUs of each part of a trial.
    pub cpus: CpuSets,
    /// Whether it was the longer form.
    pub full: bool,
    /// How long it took.
    #[serde(with = "nanoseconds")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub took: Duration,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The combined result.
    pub outcome: TruthOutcome,
    /// The results one by one.
    pub truths: Vec<Truth>,
    /// The most load that the generator makes here; `None` if it could not be measured.
    pub ceiling: Option<Ceiling>,
}

impl SelfTest {
    /// Combines the results of several quantities: missed if one is, unsound if one could not be
    /// measured.
    pub fn outcome_of(truths: &[Truth]) -> TruthOutcome {
        truths.iter().map(|t| t.outcome).max().unwrap_or(TruthOutcome::Unsound)
    }

    /// Returns whether a machine is the one of this self-test, as far as the instrument is
    /// concerned.
    pub fn is_of(&self, machine: &Machine) -> bool {
        let of = |m: &Machine| (m.cpu.clone(), m.cores, m.kernel.clone());
        of(&self.machine) == of(machine)
    }
}

/// A known quantity, and what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Truth {
    /// What is compared with what.
    pub what: String,
    /// The load; empty if it covers all loads.
    pub cell: String,
    /// The quantity.
    pub quantity: String,
    /// The unit of the figures; empty for a ratio.
    pub unit: String,
    /// The bounds of the known value, which are equal if it is exact. `None` means that there is no
    /// difference.
    pub known: Option<Interval>,
    /// The estimate.
    pub measured: Option<f64>,
    /// The interval, at the self-test's confidence.
    pub interval: Option<Interval>,
    /// Whether the interval excludes "no difference"; `None` if nothing is compared.
    pub told_apart: Option<bool>,
    /// The number of blocks.
    pub blocks: usize,
    /// Whether the known value was found.
    pub outcome: TruthOutcome,
    /// Details in words, if there are any.
    pub note: String,
}

impl Truth {
    /// Returns how far the estimate lies outside the known bounds, as a share of them.
    pub fn error(&self) -> Option<f64> {
        let (known, measured) = (self.known?, self.measured?);
        let nearest = measured.clamp(known.low, known.high);
        Some((measured - nearest) / nearest)
    }
}

/// Whether a known value was found. Later variants outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TruthOutcome {
    /// The known value lies within the interval.
    Holds,
    /// Faults left too few measurements to decide.
    Unsound,
    /// The known value lies outside the interval.
    Missed,
}

/// The most load that the generator makes on this machine, to the cheapest possible server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// Correct responses per second in a closed loop: the median over blocks.
    pub per_s: f64,
    /// The connections of that loop.
    pub connections: u32,
    /// CPU time of the generator for each response, in microseconds: the median over blocks.
    pub cpu_us: f64,
    /// The modest rate at which lag was measured.
    pub rate_per_s: f64,
    /// The median lag at that rate, in microseconds, over all blocks.
    pub lag_p50_us: Option<f64>,
    /// The 99th percentile of lag, likewise.
    pub lag_p99_us: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(outcome: TruthOutcome) -> Truth {
        Truth {
            what: String::new(),
            cell: String::new(),
            quantity: String::new(),
            unit: String::new(),
            known: Some(Interval { low: 1.0, high: 2.0 }),
            measured: None,
            interval: None,
            told_apart: None,
            blocks: 6,
            outcome,
            note: String::new(),
        }
    }

    #[test]
    fn a_missed_truth_outweighs_an_unsound_one() {
        use TruthOutcome::{Holds, Missed, Unsound};
        for (outcomes, expected) in [
            (vec![Holds, Holds], Holds),
            (vec![Holds, Unsound], Unsound),
            (vec![Missed, Unsound, Holds], Missed),
            (vec![], Unsound),
        ] {
            assert_eq!(
                SelfTest::outcome_of(&outcomes.into_iter().map(truth).collect::<Vec<_>>()),
                expected
            );
        }
    }

    #[test]
    fn an_error_is_counted_from_the_nearest_bound() {
        let error = |measured| {
            Truth { measured: Some(measured), ..truth(TruthOutcome::Holds) }.error().unwrap()
        };
        assert_eq!((error(0.9), error(1.5), error(2.5)), (0.9 - 1.0, 0.0, 0.25));
    }
}
