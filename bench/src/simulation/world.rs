//! Simulated sessions with a known truth, and with everything that disturbs a real measurement:
//! restarts, correlated and slow seconds, drift.
//!
//! Everything is a logarithm until the end, so that the ratio of two systems is exact.

use stats::{Random, mean};

/// Unmeasured seconds of a start and its warm-up.
const PAUSE_S: usize = 10;

/// Measured seconds of a trial.
pub const MEASURED_S: usize = 5;

/// Correlation of neighbouring seconds of a trial.
const CORRELATION: f64 = 0.6;

/// How likely a second is a slow one.
const SLOW: f64 = 0.01;

/// The sources of spread, as standard deviations in units of the spread. Together they make a
/// block's log-ratio deviate by the spread.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The level of a start.
    restart: f64,
    /// A second of a trial, as AR(1).
    second: f64,
    /// Mean loss of a slow second, which is exponential.
    slow: f64,
    /// A step of the machine's random walk, each second.
    step: f64,
    /// Amplitude of the machine's slow wave, one per session.
    wave: f64,
}

/// The usual machine: restarts make 45 % of the variance of a block's log-ratio, seconds 20 %, slow
/// seconds 10 % and drift 25 %. The wave alone spans four times the spread.
pub const USUAL: Parts = Parts { restart: 0.474, second: 0.437, slow: 3.5, step: 0.087, wave: 2.1 };

/// A drifting machine: restarts make 10 %, seconds 10 %, slow seconds 5 %, and drift the rest.
pub const DRIFTING: Parts =
    Parts { restart: 0.224, second: 0.309, slow: 2.5, step: 0.145, wave: 3.5 };

/// A simulated machine.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Standard deviation of a block's log-ratio.
    pub spread: f64,
    /// The sources of that spread.
    pub parts: Parts,
}

/// A block: the measured seconds (correct responses per second) of contender and baseline.
pub type Block = [Vec<f64>; 2];

/// The machine during a session.
#[derive(Debug)]
struct Machine<'a> {
    world: World,
    random: &'a mut Random,
    walk: f64,
    /// Phase of the wave, as a fraction of its length.
    turn: f64,
    /// How much the phase moves each second.
    pace: f64,
}

impl<'a> Machine<'a> {
    /// Starts a session of `session_s` seconds.
    fn new(world: World, session_s: usize, random: &'a mut Random) -> Self {
        let turn = random.uniform();
        Machine { world, random, walk: 0.0, turn, pace: 1.0 / session_s as f64 }
    }

    /// Moves on by a second and returns the level of the machine.
    fn tick(&mut self) -> f64 {
        let Parts { step, wave, .. } = self.world.parts;
        self.walk += step * self.random.normal();
        self.turn += self.pace;
        self.walk + wave * (std::f64::consts::TAU * self.turn).sin()
    }

    /// Starts a system of this level (a logarithm), warms it up and measures it.
    fn trial(&mut self, level: f64, seconds: usize) -> Vec<f64> {
        for _ in 0..PAUSE_S {
            self.tick();
        }
        let World { spread, parts } = self.world;
        let start = parts.restart * self.random.normal();
        let mut wobble = self.random.normal();
        let mut one = |machine: &mut Self| {
            let slow = if machine.random.uniform() < SLOW {
                -parts.slow * machine.random.uniform().ln()
            } else {
                0.0
            };
            let value = machine.tick() + start + parts.second * wobble - slow;
            wobble = CORRELATION * wobble
                + (1.0 - CORRELATION * CORRELATION).sqrt() * machine.random.normal();
            (level + spread * value).exp()
        };
        (0..seconds).map(|_| one(self)).collect()
    }
}

impl World {
    /// Simulates blocks with one trial of each side in random order, as faceoff measures. `ratio`
    /// is contender over baseline.
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

    /// Simulates all trials of the contender, then all of the baseline. Each side is a list of
    /// trials.
    pub fn one_after_the_other(
        self,
        ratio: f64,
        starts: usize,
        seconds: usize,
        random: &mut Random,
    ) -> [Vec<Vec<f64>>; 2] {
        let mut machine = Machine::new(self, 2 * starts * (PAUSE_S + seconds), random);
        [ratio.ln(), 0.0].map(|level| (0..starts).map(|_| machine.trial(level, seconds)).collect())
    }
}

/// Returns the value of a trial: its mean of correct responses per second.
pub fn value(seconds: &[f64]) -> f64 {
    mean(seconds).unwrap_or(f64::NAN)
}
