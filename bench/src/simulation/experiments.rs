//! Simulated experiments, judged by the rule that judges real ones.

use super::world::{Block, World, value};
use judge::looks::looks;
use judge::rule::{Pair, Question, Second, Side, by_ratio};
use model::judgement::Outcome;
use stats::{Interval, Random};
use std::ops::AddAssign;
use std::thread::{available_parallelism, scope};

/// The confidence of every design here.
pub const CONFIDENCE: f64 = 0.95;

/// An experiment that is repeated with other chances.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where it is measured.
    pub world: World,
    /// Contender over baseline, in truth.
    pub ratio: f64,
    /// The margin of its claim.
    pub margin: f64,
    /// Its most blocks.
    pub blocks: u32,
    /// After how many blocks it stops when the claim is settled.
    pub looks: &'static [u32],
    /// Of the bootstrap.
    pub resamples: usize,
}

/// What became of experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// How many there were.
    pub experiments: u32,
    /// Found below the baseline by more than the margin.
    pub below: u32,
    /// Found above it by more than the margin.
    pub above: u32,
    /// Found within the margin.
    pub equivalent: u32,
    /// Those whose t interval held the truth when they stopped.
    pub t_covered: u32,
    /// Those whose printed interval held the truth when they stopped.
    pub covered: u32,
    /// Blocks that were measured.
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
    /// A count as a share of the experiments.
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.experiments.max(1))
    }
}

fn pair([contender, baseline]: &Block) -> Pair {
    let side = |seconds: &[f64]| Side { value: value(seconds), seconds: seconds.iter().copied().map(Second::from).collect() };
    Pair { contender: side(contender), baseline: side(baseline) }
}

impl Plan {
    /// What is asked after how many blocks.
    fn questions(&self) -> Vec<(u32, Question)> {
        let at = self.looks.iter().copied().filter(|look| *look < self.blocks).chain([self.blocks]);
        at.map(|complete| {
            let look = looks(self.looks, self.blocks, complete, CONFIDENCE);
            let usual = Question::at(&look, CONFIDENCE, self.margin, false, 0);
            (complete, Question { resamples: self.resamples, ..usual })
        })
        .collect()
    }

    /// Runs and judges one: at each look all blocks so far, until the claim is settled or all blocks are there.
    fn once(&self, questions: &[(u32, Question)], seed: u64, stream: u64) -> Tally {
        let blocks = self.world.interleaved(self.ratio, self.blocks as usize, &mut Random::new(seed, stream));
        let pairs: Vec<Pair> = blocks.iter().map(pair).collect();
        let mut tally = Tally::default();
        for (complete, question) in questions {
            let found = by_ratio(&pairs[..*complete as usize], &Question { seed: stream, ..*question });
            let holds = |interval: Option<Interval>| u32::from(interval.is_some_and(|i| i.low <= self.ratio && self.ratio <= i.high));
            let is = |outcome: Outcome| u32::from(found.outcome == outcome);
            tally = Tally {
                experiments: 1,
                below: is(Outcome::Worse),
                above: is(Outcome::Better),
                equivalent: is(Outcome::Equivalent),
                t_covered: holds(found.interval_t),
                covered: holds(found.interval),
                blocks: *complete,
            };
            if found.outcome != Outcome::Undecided {
                break;
            }
        }
        tally
    }

    /// Runs many, each with a stream of its own, so that plans of one seed meet the same chances.
    pub fn many(&self, experiments: u32, seed: u64) -> Tally {
        let questions = self.questions();
        on_all_cpus(experiments, |number| self.once(&questions, seed, number))
    }

    /// Verdicts that the truth forbids: beyond the margin on a side where the truth is not.
    pub fn false_verdicts(&self, tally: &Tally) -> f64 {
        // At its edge the truth is not beyond the margin, whatever rounding says.
        let edge = (1.0 + self.margin).ln() + 1e-12;
        let above = if self.ratio.ln() > edge { 0 } else { tally.above };
        let below = if self.ratio.ln() < -edge { 0 } else { tally.below };
        tally.share(above + below)
    }
}

/// Sums what numbers from zero come to, in one thread a CPU. The sum is the same on any number of them.
pub fn on_all_cpus<T: Default + AddAssign + Send>(count: u32, one: impl Fn(u64) -> T + Sync) -> T {
    let threads = available_parallelism().map_or(1, usize::from);
    scope(|scope| {
        let one = &one;
        let part = |thread: usize| {
            move || {
                let mut sum = T::default();
                (thread as u64..u64::from(count)).step_by(threads).for_each(|number| sum += one(number));
                sum
            }
        };
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(part(thread))).collect();
        let mut sum = T::default();
        handles.into_iter().for_each(|handle| sum += handle.join().expect("no experiment panics"));
        sum
    })
}
