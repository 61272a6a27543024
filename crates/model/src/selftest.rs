//! What the instrument found when it measured what is known (`faceoff selftest`).

use crate::experiment::CpuSets;
use crate::record::Machine;
use crate::units::nanoseconds;
use serde::{Deserialize, Serialize};
use stats::Interval;
use std::time::Duration;

/// Names the form of the result.
pub const SCHEMA: &str = "faceoff.selftest.v1";

/// The file, in the folder where build stamps are kept, that holds the last result.
pub const FILE_NAME: &str = "selftest.json";

/// The instrument against known truth, on one machine at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of faceoff.
    pub faceoff: String,
    /// When it ended, RFC 3339, UTC.
    pub at: String,
    /// Where.
    pub machine: Machine,
    /// Who ran on which CPUs.
    pub cpus: CpuSets,
    /// Whether it was the longer form.
    pub full: bool,
    /// How long it took.
    #[serde(with = "nanoseconds")]
    pub took: Duration,
    /// Of the intervals.
    pub confidence: f64,
    /// What all truths come to.
    pub outcome: TruthOutcome,
    /// One by one.
    pub truths: Vec<Truth>,
    /// The most that the generator does here; `None` where it could not be measured.
    pub ceiling: Option<Ceiling>,
}

impl SelfTest {
    /// What several truths come to: missed when one is, unsound when one could not be measured.
    pub fn outcome_of(truths: &[Truth]) -> TruthOutcome {
        truths.iter().map(|t| t.outcome).max().unwrap_or(TruthOutcome::Unsound)
    }

    /// Whether a machine is the one it was made on, as far as the instrument is concerned.
    pub fn is_of(&self, machine: &Machine) -> bool {
        let of = |m: &Machine| (m.cpu.clone(), m.cores, m.kernel.clone());
        of(&self.machine) == of(machine)
    }
}

/// Something known, and what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// What stands against what.
    pub what: String,
    /// Under which load; empty where it is under all.
    pub cell: String,
    /// What is measured.
    pub quantity: String,
    /// The unit of the figures; empty for a ratio.
    pub unit: String,
    /// Between what bounds the truth is known to lie, both alike where it is exact. `None`: that there is no difference.
    pub known: Option<Interval>,
    /// The estimate.
    pub measured: Option<f64>,
    /// Its interval, at the self-test's confidence.
    pub interval: Option<Interval>,
    /// Whether the interval leaves "no difference" out; `None` where nothing is compared.
    pub told_apart: Option<bool>,
    /// Blocks that it comes from.
    pub blocks: usize,
    /// Whether it was found.
    pub outcome: TruthOutcome,
    /// More of it in words, where there is more to say.
    pub note: String,
}

impl Truth {
    /// How far the estimate lies outside of what is known, as a share of it.
    pub fn error(&self) -> Option<f64> {
        let (known, measured) = (self.known?, self.measured?);
        let nearest = measured.clamp(known.low, known.high);
        Some((measured - nearest) / nearest)
    }
}

/// Whether what is known was found. Later ones outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruthOutcome {
    /// It lies within the interval.
    Holds,
    /// Faults left too little to tell.
    Unsound,
    /// It does not.
    Missed,
}

/// The most that the generator does on this machine, against the cheapest server there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Right answers per second in a closed loop: median over blocks.
    pub per_s: f64,
    /// Connections of that loop.
    pub connections: u32,
    /// CPU time of the generator for each of them, in microseconds: median over blocks.
    pub cpu_us: f64,
    /// The modest rate at which lag was measured.
    pub rate_per_s: f64,
    /// Median lag at that rate, in microseconds, over all blocks.
    pub lag_p50_us: Option<f64>,
    /// 99th percentile of lag, likewise.
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
        for (outcomes, expected) in
            [(vec![Holds, Holds], Holds), (vec![Holds, Unsound], Unsound), (vec![Missed, Unsound, Holds], Missed), (vec![], Unsound)]
        {
            assert_eq!(SelfTest::outcome_of(&outcomes.into_iter().map(truth).collect::<Vec<_>>()), expected);
        }
    }

    #[test]
    fn an_error_is_counted_from_the_nearest_bound() {
        let error = |measured| Truth { measured: Some(measured), ..truth(TruthOutcome::Holds) }.error().unwrap();
        assert_eq!((error(0.9), error(1.5), error(2.5)), (0.9 - 1.0, 0.0, 0.25));
    }
}
