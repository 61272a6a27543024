//! Simulated sessions whose truth is known: what moves a measurement besides the systems measured.
//!
//! Everything is a logarithm until the end, so that the ratio of two systems is exactly what was asked for.

use stats::{Random, mean};

/// Seconds that a start and its warm-up take, unmeasured.
const PAUSE_S: usize = 10;

/// Seconds that are measured of a trial.
pub const MEASURED_S: usize = 5;

/// Correlation of neighbouring seconds of a trial.
const CORRELATION: f64 = 0.6;

/// How likely a second is a slow one.
const SLOW: f64 = 0.01;

/// Standard deviations in units of the spread: what makes one block's log-ratio deviate by the spread.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The level of a start.
    restart: f64,
    /// A second of a trial, as AR(1).
    second: f64,
    /// What a slow second loses; exponential, the mean.
    slow: f64,
    /// A step of the machine's random walk, each second.
    step: f64,
    /// Amplitude of the machine's slow wave, one a session.
    wave: f64,
}

/// Of the variance of a block's log-ratio restarts make 45 %, seconds 20 %, slow seconds 10 % and drift 25 %. The wave
/// alone spans four times the spread from crest to trough.
pub const USUAL: Parts = Parts { restart: 0.474, second: 0.437, slow: 3.5, step: 0.087, wave: 2.1 };

/// Restarts make 10 %, seconds 10 %, slow seconds 5 % and drift the rest.
pub const DRIFTING: Parts = Parts { restart: 0.224, second: 0.309, slow: 2.5, step: 0.145, wave: 3.5 };

/// A machine on which systems are measured.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Standard deviation of a block's log-ratio.
    pub spread: f64,
    /// What it is made of.
    pub parts: Parts,
}

/// A block: the measured seconds (right answers per second) of contender and baseline.
pub type Block = [Vec<f64>; 2];

/// The machine while a session lasts.
#[derive(Debug)]
struct Machine<'a> {
    world: World,
    random: &'a mut Random,
    walk: f64,
    /// Where the wave stands, in turns.
    turn: f64,
    /// By how much it moves on each second.
    pace: f64,
}

impl<'a> Machine<'a> {
    /// For a session of so many seconds.
    fn new(world: World, session_s: usize, random: &'a mut Random) -> Self {
        let turn = random.uniform();
        Machine { world, random, walk: 0.0, turn, pace: 1.0 / session_s as f64 }
    }

    /// One second later: the level of the machine.
    fn tick(&mut self) -> f64 {
        let Parts { step, wave, .. } = self.world.parts;
        self.walk += step * self.random.normal();
        self.turn += self.pace;
        self.walk + wave * (std::f64::consts::TAU * self.turn).sin()
    }

    /// Starts a system of this level (a logarithm), warms it up and measures so many seconds.
    fn trial(&mut self, level: f64, seconds: usize) -> Vec<f64> {
        for _ in 0..PAUSE_S {
            self.tick();
        }
        let World { spread, parts } = self.world;
        let start = parts.restart * self.random.normal();
        let mut wobble = self.random.normal();
        let mut one = |machine: &mut Self| {
            let slow = if machine.random.uniform() < SLOW { -parts.slow * machine.random.uniform().ln() } else { 0.0 };
            let value = machine.tick() + start + parts.second * wobble - slow;
            wobble = CORRELATION * wobble + (1.0 - CORRELATION * CORRELATION).sqrt() * machine.random.normal();
            (level + spread * value).exp()
        };
        (0..seconds).map(|_| one(self)).collect()
    }
}

impl World {
    /// Blocks of one trial each in random order, as faceoff measures: contender over baseline is `ratio`.
    pub fn interleaved(self, ratio: f64, blocks: usize, random: &mut Random) -> Vec<Block> {
        let mut machine = Machine::new(self, 2 * blocks * (PAUSE_S + MEASURED_S), random);
        let one = |_| {
            if machine.random.uniform() < 0.5 {
                let contender = machine.trial(ratio.ln(), MEASURED_S);
                [contender, machine.trial(0.0, MEASURED_S)]
            } else {
                let baseline = machine.trial(0.0, MEASURED_S);
                [machine.trial(ratio.ln(), MEASURED_S), baseline]
            }
        };
        (0..blocks).map(one).collect()
    }

    /// All trials of the contender, then all of the baseline, each side a list of trials.
    pub fn one_after_the_other(self, ratio: f64, starts: usize, seconds: usize, random: &mut Random) -> [Vec<Vec<f64>>; 2] {
        let mut machine = Machine::new(self, 2 * starts * (PAUSE_S + seconds), random);
        [ratio.ln(), 0.0].map(|level| (0..starts).map(|_| machine.trial(level, seconds)).collect())
    }
}

/// What a trial comes to: right answers per second over all its seconds.
pub fn value(seconds: &[f64]) -> f64 {
    mean(seconds).unwrap_or(f64::NAN)
}
