//! Designs that are often used instead: first all measurements of one system, then all of the
//! other, with Welch's t test.

use super::world::{MEASURED_S, World, value};
use stats::{Random, mean, sample_deviation, student_t};

/// Requests in a second at level 1.
const REQUESTS: f64 = 1_000.0;

/// Deviation of requests within a second, over their mean.
const DEVIATION: f64 = 0.5;

/// Count, mean and variance of a sample.
#[derive(Clone, Copy, Debug)]
struct Sample {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Sample> {
        let (mean, deviation) = (mean(values)?, sample_deviation(values)?);
        Some(Sample { count: values.len() as f64, mean, variance: deviation * deviation })
    }

    /// Draws the response times of all requests of these seconds. Single requests need not be
    /// drawn: their mean is normal, and their variance is known.
    fn of_requests(seconds: &[f64], random: &mut Random) -> Option<Sample> {
        let of_second = |level: &f64| (1.0 + DEVIATION / REQUESTS.sqrt() * random.normal()) / level;
        let means: Vec<f64> = seconds.iter().map(of_second).collect();
        let within =
            means.iter().map(|m| (DEVIATION * m).powi(2)).sum::<f64>() / means.len() as f64;
        let between = Sample::of(&means)?;
        Some(Sample {
            count: REQUESTS * between.count,
            mean: between.mean,
            variance: within + between.variance,
        })
    }

    /// Returns whether two means differ at 5 %, by the test of Welch (*Biometrika* 34, 1947).
    fn differs_from(self, other: Sample) -> bool {
        let (a, b) = (self.variance / self.count, other.variance / other.count);
        let freedom = (a + b).powi(2) / (a * a / (self.count - 1.0) + b * b / (other.count - 1.0));
        (self.mean - other.mean).abs() / (a + b).sqrt() > student_t(0.95, freedom as usize)
    }
}

/// A design that is often used.
#[derive(Clone, Copy, Debug)]
pub enum Naive {
    /// One start of each, with requests as repetitions.
    OneStart,
    /// As many starts as faceoff makes, with requests as repetitions.
    Requests,
    /// As many starts as faceoff makes, with starts as repetitions.
    Starts,
}

impl Naive {
    /// Every design.
    pub const ALL: [Naive; 3] = [Naive::OneStart, Naive::Requests, Naive::Starts];

    /// Describes the design.
    pub fn name(self) -> &'static str {
        match self {
            Naive::OneStart => "one start of A, then one of B; requests as repetitions",
            Naive::Requests => "12 starts of A, then 12 of B; requests as repetitions",
            Naive::Starts => "12 starts of A, then 12 of B; starts as repetitions",
        }
    }

    /// Returns whether it finds a difference between two systems with this ratio of throughputs. It
    /// measures as long as this many blocks.
    pub fn finds_difference(
        self,
        world: World,
        ratio: f64,
        blocks: usize,
        random: &mut Random,
    ) -> bool {
        let (starts, seconds) = match self {
            Naive::OneStart => (1, blocks * MEASURED_S),
            Naive::Requests | Naive::Starts => (blocks, MEASURED_S),
        };
        let sides = world.one_after_the_other(ratio, starts, seconds, random);
        let samples = sides.map(|trials| match self {
            Naive::Starts => {
                Sample::of(&trials.iter().map(|t| value(t).recip()).collect::<Vec<_>>())
            }
            _ => Sample::of_requests(&trials.concat(), random),
        });
        matches!(samples, [Some(a), Some(b)] if a.differs_from(b))
    }
}
