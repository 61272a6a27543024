//! Simulated blocks in slices, on a machine where another program uses the CPU in bursts. The rule
//! may judge after every block.

use super::experiments::{CONFIDENCE, Tally, on_all_cpus};
use judge::looks::{Looks, looks, looks_always};
use judge::rule::{Pair, Question, Side, by_ratio};
use record::judgement::Outcome;
use stats::Random;

/// One slice, in seconds.
const SLICE_S: f64 = 0.040;
/// Slices of each side in a block.
const ROUNDS: usize = 6;
/// Time between two blocks: the other load, and reading the results.
const BETWEEN_S: f64 = 0.7;
/// Standard deviation of a slice's log throughput, in addition to the bursts.
const SLICE_SPREAD: f64 = 0.04;
/// The share of the CPU that a burst leaves.
const LEFT: f64 = 0.5;

/// A simulated design.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// True ratio of contender to baseline.
    pub ratio: f64,
    /// A difference that does not matter.
    pub margin: f64,
    /// The most blocks.
    pub blocks: u32,
    /// Whether there are bursts.
    pub bursts: bool,
    /// Whether it is judged after every block, or only once.
    pub always: bool,
    /// Resamples of the bootstrap.
    pub resamples: usize,
}

/// A program that uses the CPU for 0.2 to 3 s, then pauses for a time drawn the same way.
struct Bursts {
    is_busy: bool,
    left_s: f64,
}

impl Bursts {
    fn new(random: &mut Random) -> Bursts {
        Bursts {
            is_busy: random.uniform() < 0.5,
            left_s: Bursts::length(random) * random.uniform(),
        }
    }

    fn length(random: &mut Random) -> f64 {
        0.2 * 15f64.powf(random.uniform())
    }

    /// Returns the share of the CPU that is left over a time.
    fn pass(&mut self, mut seconds: f64, random: &mut Random) -> f64 {
        let (whole, mut left) = (seconds, 0.0);
        while seconds > 0.0 {
            let step = seconds.min(self.left_s);
            left += step * if self.is_busy { LEFT } else { 1.0 };
            (seconds, self.left_s) = (seconds - step, self.left_s - step);
            if self.left_s <= 0.0 {
                (self.is_busy, self.left_s) = (!self.is_busy, Bursts::length(random));
            }
        }
        left / whole
    }
}

impl Plan {
    fn block(&self, bursts: &mut Bursts, random: &mut Random) -> Pair {
        let mut done = [0.0; 2];
        for _ in 0..ROUNDS {
            let first = usize::from(random.uniform() < 0.5);
            for side in [first, 1 - first] {
                let left = if self.bursts { bursts.pass(SLICE_S, random) } else { 1.0 };
                let level = if side == 0 { self.ratio } else { 1.0 };
                done[side] += level * left * (SLICE_SPREAD * random.normal()).exp();
            }
        }
        if self.bursts {
            bursts.pass(BETWEEN_S, random);
        }
        let side = |value: f64| Side { value, seconds: Vec::new() };
        Pair { contender: side(done[0]), baseline: side(done[1]) }
    }

    fn looks_after(&self, complete: u32) -> Looks {
        match self.always {
            true => looks_always(self.blocks, complete, CONFIDENCE),
            false => looks(&[], self.blocks, complete, CONFIDENCE),
        }
    }

    fn once(&self, seed: u64, stream: u64) -> Tally {
        let mut random = Random::new(seed, stream);
        let mut bursts = Bursts::new(&mut random);
        let pairs: Vec<Pair> =
            (0..self.blocks).map(|_| self.block(&mut bursts, &mut random)).collect();
        let mut tally = Tally::default();
        let from = if self.always { 6 } else { self.blocks };
        for complete in from..=self.blocks {
            let usual = Question::at_look(
                &self.looks_after(complete),
                CONFIDENCE,
                self.margin,
                false,
                stream,
            );
            let found = by_ratio(
                &pairs[..complete as usize],
                &Question { resamples: self.resamples, ..usual },
            );
            tally = Tally::of_one(&found, self.ratio, complete);
            if found.outcome != Outcome::Undecided {
                break;
            }
        }
        tally
    }

    /// Simulates many, each with its own random numbers.
    pub fn many(&self, experiments: u32, seed: u64) -> Tally {
        on_all_cpus(experiments, |number| self.once(seed, number))
    }

    /// Returns the share of verdicts that the truth forbids.
    pub fn false_verdicts(&self, tally: &Tally) -> f64 {
        let edge = (1.0 + self.margin).ln() + 1e-12;
        let log = self.ratio.ln();
        let above = if log > edge { 0 } else { tally.above };
        let below = if log < -edge { 0 } else { tally.below };
        let equivalent = if log.abs() <= edge { 0 } else { tally.equivalent };
        tally.share(above + below + equivalent)
    }
}
