//! Simulated experiments, judged by the rule that judges real ones.

use super::world::{Block, World, value};
use judge::looks::looks;
use judge::rule::{Finding, Pair, Question, Second, Side, by_ratio};
use record::judgement::Outcome;
use stats::{Interval, Random};
use std::ops::AddAssign;
use std::thread::{available_parallelism, scope};

/// The confidence of every design here.
pub const CONFIDENCE: f64 = 0.95;

/// An experiment that is repeated with other random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The simulated machine.
    pub world: World,
    /// True ratio of contender to baseline.
    pub ratio: f64,
    /// The margin of its claim.
    pub margin: f64,
    /// The most blocks.
    pub blocks: u32,
    /// After how many blocks it may stop because the claim is settled.
    pub looks: &'static [u32],
    /// Resamples of the bootstrap.
    pub resamples: usize,
}

/// Counts over many experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// How many experiments.
    pub experiments: u32,
    /// Found below the baseline by more than the margin.
    pub below: u32,
    /// Found above it by more than the margin.
    pub above: u32,
    /// Found within the margin.
    pub equivalent: u32,
    /// Those whose t interval contained the truth at the end.
    pub t_covered: u32,
    /// Those whose printed interval contained the truth at the end.
    pub covered: u32,
    /// Measured blocks.
    pub blocks: u32,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.experiments += other.experiments;
        self.below += other.below;
        self.above += other.above;
        self.equivalent += other.equivalent;
        self.t_covered += other.t_covered;
        self.covered += other.covered;
        self.blocks += other.blocks;
    }
}

impl Tally {
    /// Counts one experiment: its finding after some blocks, with the true ratio.
    pub fn of_one(found: &Finding, ratio: f64, blocks: u32) -> Tally {
        let holds = |interval: Option<Interval>| {
            u32::from(interval.is_some_and(|i| i.low <= ratio && ratio <= i.high))
        };
        let is = |outcome: Outcome| u32::from(found.outcome == outcome);
        Tally {
            experiments: 1,
            below: is(Outcome::Worse),
            above: is(Outcome::Better),
            equivalent: is(Outcome::Equivalent),
            t_covered: holds(found.interval_t),
            covered: holds(found.interval),
            blocks,
        }
    }

    /// Returns a count as a share of the experiments.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.experiments.max(1))
    }
}

fn pair([contender, baseline]: &Block) -> Pair {
    let side = |seconds: &[f64]| Side {
        value: value(seconds),
        seconds: seconds.iter().copied().map(Second::from).collect(),
    };
    Pair { contender: side(contender), baseline: side(baseline) }
}

impl Plan {
    /// Returns the question at each look, with its number of blocks.
    fn questions(&self) -> Vec<(u32, Question)> {
        let at = self.looks.iter().copied().filter(|look| *look < self.blocks).chain([self.blocks]);
        at.map(|complete| {
            let look = looks(self.looks, self.blocks, complete, CONFIDENCE);
            let usual = Question::at_look(&look, CONFIDENCE, self.margin, false, 0);
            (complete, Question { resamples: self.resamples, ..usual })
        })
        .collect()
    }

    /// Runs and judges one experiment: at each look all blocks so far, until the claim is settled
    /// or all blocks are complete.
    fn once(&self, questions: &[(u32, Question)], seed: u64, stream: u64) -> Tally {
        let blocks = self.world.interleaved(
            self.ratio,
            self.blocks as usize,
            &mut Random::new(seed, stream),
        );
        let pairs: Vec<Pair> = blocks.iter().map(pair).collect();
        let mut tally = Tally::default();
        for (complete, question) in questions {
            let found =
                by_ratio(&pairs[..*complete as usize], &Question { seed: stream, ..*question });
            tally = Tally::of_one(&found, self.ratio, *complete);
            if found.outcome != Outcome::Undecided {
                break;
            }
        }
        tally
    }

    /// Runs many, each with its own stream, so that plans with one seed have the same random
    /// numbers.
    pub fn many(&self, experiments: u32, seed: u64) -> Tally {
        let questions = self.questions();
        on_all_cpus(experiments, |number| self.once(&questions, seed, number))
    }

    /// Returns the share of verdicts that the truth forbids: beyond the margin on a side where the
    /// truth is not.
    pub fn false_verdicts(&self, tally: &Tally) -> f64 {
        // A truth at the edge is not beyond the margin, whatever rounding does.
        let edge = (1.0 + self.margin).ln() + 1e-12;
        let above = if self.ratio.ln() > edge { 0 } else { tally.above };
        let below = if self.ratio.ln() < -edge { 0 } else { tally.below };
        tally.share(above + below)
    }
}

/// Sums a function over the numbers from zero to `count`, with one thread per CPU. The sum does not
/// depend on the number of threads.
pub fn on_all_cpus<T: Default + AddAssign + Send>(count: u32, one: impl Fn(u64) -> T + Sync) -> T {
    let threads = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        let one = &one;
        let part = |thread: usize| {
            move || {
                let mut sum = T::default();
                (thread as u64..u64::from(count))
                    .step_by(threads)
                    .for_each(|number| sum += one(number));
                sum
            }
        };
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        let mut sum = T::default();
        handles.into_iter().for_each(|handle| sum += handle.join().expect("no experiment panics"));
        sum
    })
}
