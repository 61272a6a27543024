//! Computes when requests are due. The formula is closed, so no rounding error accumulates.
//!
//! A rate may be constant, or change linearly in stages. The area under the rate says how many
//! requests are due until an instant, and its inverse says when the next one is. Start with
//! `Schedule`.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use spec::experiment::{Spacing, Stage};

/// Arrivals at a rate that may change, in nanoseconds after the start.
///
/// With a rate `r(t)`, the expected number of arrivals until `t` is the area under it. An arrival
/// is due where that area reaches its number. Evenly spaced arrivals have the numbers 0, 1, 2, and
/// so on. Poisson arrivals have sums of exponential intervals with mean 1 (Çinlar, *Introduction to
/// Stochastic Processes*, 1975, ch. 4.7: time rescaled by the expected count).
#[derive(Debug)]
pub struct Schedule {
    pieces: Vec<Piece>,
    end_ns: u64,
    most: u64,
    /// The number of the next arrival, over all threads.
    index: u64,
    /// Its position on the scale of expected arrivals.
    expected: f64,
    random: Option<ChaCha8Rng>,
    share: Share,
    due: Option<u64>,
}

/// The arrivals of one thread: every `of`-th, starting at `thread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of the thread, from 0.
    pub thread: u32,
    /// The number of threads.
    pub of: u32,
}

impl Share {
    /// The share that contains everything.
    pub const WHOLE: Share = Share { thread: 0, of: 1 };

    /// Returns this thread's part of a whole that is divided into nearly equal parts.
    pub fn part(self, whole: u64) -> u64 {
        let (thread, of) = (u64::from(self.thread), u64::from(self.of));
        whole / of + u64::from(thread < whole % of)
    }
}

/// A period in which the rate changes linearly.
#[derive(Clone, Copy, Debug)]
struct Piece {
    begins_s: f64,
    /// Arrivals expected before it.
    before: f64,
    /// Arrivals expected in it.
    within: f64,
    /// Arrivals per second at the beginning.
    rate: f64,
    /// The change of the rate per second.
    slope: f64,
}

impl Schedule {
    /// Schedules all arrivals before the end, at most `most`.
    pub fn new(
        rate_per_s: f64,
        stages: &[Stage],
        spacing: Spacing,
        end_ns: u64,
        most: u64,
        seed: u64,
    ) -> Schedule {
        let (mut begins_s, mut before, mut rate) = (0.0, 0.0, rate_per_s);
        let mut pieces = Vec::with_capacity(stages.len() + 1);
        for stage in stages {
            let length_s = stage.over.as_secs_f64();
            if length_s > 0.0 {
                let within = (rate + stage.to_per_s) / 2.0 * length_s;
                pieces.push(Piece {
                    begins_s,
                    before,
                    within,
                    rate,
                    slope: (stage.to_per_s - rate) / length_s,
                });
                (begins_s, before) = (begins_s + length_s, before + within);
            }
            rate = stage.to_per_s;
        }
        pieces.push(Piece {
            begins_s,
            before,
            within: if rate > 0.0 { f64::INFINITY } else { 0.0 },
            rate,
            slope: 0.0,
        });
        let random = (spacing == Spacing::Poisson).then(|| ChaCha8Rng::seed_from_u64(seed));
        let mut schedule = Schedule {
            pieces,
            end_ns,
            most,
            index: 0,
            expected: 0.0,
            random,
            share: Share::WHOLE,
            due: None,
        };
        schedule.expected = schedule.interval(0.0);
        schedule.due = schedule.due_ns();
        schedule
    }

    /// Keeps only this thread's share of the arrivals.
    pub fn share(mut self, share: Share) -> Schedule {
        self.share = share;
        while self.index % u64::from(share.of) != u64::from(share.thread) {
            self.step();
        }
        self.due = self.due_ns();
        self
    }

    /// Returns when the next request is due, in nanoseconds after the start. `None` if none is
    /// left.
    #[inline]
    pub fn peek(&self) -> Option<u64> {
        self.due
    }

    /// Moves on to the next request.
    #[inline]
    pub fn advance(&mut self) {
        for _ in 0..self.share.of {
            self.step();
        }
        self.due = self.due_ns();
    }

    /// Removes the requests that are due until an instant. Returns how many there were.
    pub fn take_due(&mut self, until_ns: u64) -> u64 {
        let mut taken = 0;
        while self.peek().is_some_and(|due| due <= until_ns) {
            self.advance();
            taken += 1;
        }
        taken
    }

    fn step(&mut self) {
        self.index += 1;
        self.expected = match self.random {
            None => self.index as f64,
            Some(_) => self.expected + self.interval(1.0),
        };
    }

    /// Returns the next interval on the scale of expected arrivals. Evenly spaced arrivals use
    /// `even`.
    fn interval(&mut self, even: f64) -> f64 {
        match &mut self.random {
            None => even,
            Some(random) => exponential(random),
        }
    }

    fn due_ns(&self) -> Option<u64> {
        if self.index >= self.most {
            return None;
        }
        let at = self.pieces.partition_point(|piece| piece.before + piece.within <= self.expected);
        let Piece { begins_s, before, rate, slope, .. } = *self.pieces.get(at)?;
        let n = self.expected - before;
        // Solves rate·t + slope·t²/2 = n in a form without cancellation.
        let after_s = if n <= 0.0 {
            0.0
        } else {
            2.0 * n / (rate + (rate * rate + 2.0 * slope * n).max(0.0).sqrt())
        };
        Some(((begins_s + after_s) * 1e9).round() as u64).filter(|due| *due < self.end_ns)
    }
}

/// Draws a uniform number in 0..1 (53 bits), excluding 1.
pub(crate) fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Draws an exponential number with mean 1, by inversion.
pub(crate) fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - uniform(random)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::anderson_darling;
    use std::time::Duration;

    const S: u64 = 1_000_000_000;

    fn constant(rate: f64, end_ns: u64, most: u64) -> Schedule {
        Schedule::new(rate, &[], Spacing::Even, end_ns, most, 0)
    }

    fn all_due(mut schedule: Schedule) -> Vec<u64> {
        std::iter::from_fn(|| {
            let due = schedule.peek()?;
            schedule.advance();
            Some(due)
        })
        .collect()
    }

    #[test]
    fn constant_rate_has_evenly_spaced_arrivals() {
        let due = all_due(constant(100.0, 6 * S, u64::MAX));
        assert_eq!((due.len(), due[0], due[599]), (600, 0, 5_990_000_000));
        assert_eq!(all_due(constant(100.0, 6 * S, 10)).len(), 10);
        assert_eq!(all_due(constant(0.01, S, 10)), [0]);
        // The last would be due half a nanosecond before the end and is rounded to the end.
        let mut close = constant(941_525.166_667_763, 6 * S, u64::MAX);
        assert_eq!(close.take_due(u64::MAX), 5_649_151);
    }

    #[test]
    fn ramp_has_as_many_arrivals_as_its_area() {
        // From 0 to 100/s in 10 s: 500 arrivals, the n-th at sqrt(n/5) s.
        let up = [
            Stage { to_per_s: 100.0, over: Duration::from_secs(10) },
            Stage { to_per_s: 0.0, over: Duration::ZERO },
        ];
        let due = all_due(Schedule::new(0.0, &up, Spacing::Even, 60 * S, u64::MAX, 0));
        assert_eq!(due.len(), 500);
        for n in [0usize, 1, 5, 125, 499] {
            assert_eq!(due[n], ((n as f64 / 5.0).sqrt() * 1e9).round() as u64, "arrival {n}");
        }
        // Down again, then a level: 100 + 50 + 10·20.
        let stages = [
            Stage { to_per_s: 0.0, over: Duration::from_secs(2) },
            Stage { to_per_s: 50.0, over: Duration::from_secs(2) },
            Stage { to_per_s: 20.0, over: Duration::ZERO },
        ];
        let due = all_due(Schedule::new(100.0, &stages, Spacing::Even, 14 * S, u64::MAX, 0));
        assert_eq!(due.len(), 350);
        assert!(due.is_sorted());
        assert_eq!(due[150], 4 * S);
    }

    #[test]
    fn rate_of_zero_has_no_arrivals() {
        let never = [Stage { to_per_s: 0.0, over: Duration::ZERO }];
        assert!(
            all_due(Schedule::new(10.0, &never, Spacing::Even, 10 * S, u64::MAX, 0)).is_empty()
        );
    }

    #[test]
    fn poisson_intervals_are_exponential_also_on_a_ramp() {
        for seed in 0..5 {
            let due = all_due(Schedule::new(1000.0, &[], Spacing::Poisson, 20 * S, u64::MAX, seed));
            let mut intervals: Vec<f64> =
                due.windows(2).map(|d| (d[1] - d[0]) as f64 / 1e9).collect();
            assert!(
                anderson_darling::exponential(&mut intervals, 1e-3).unwrap().p > 0.01,
                "seed {seed}"
            );
            // On a ramp, the expected counts between arrivals are exponential with mean 1.
            let up = [Stage { to_per_s: 2000.0, over: Duration::from_secs(20) }];
            let due = all_due(Schedule::new(0.0, &up, Spacing::Poisson, 20 * S, u64::MAX, seed));
            let area: Vec<f64> = due.iter().map(|d| 50.0 * (*d as f64 / 1e9).powi(2)).collect();
            let mut intervals: Vec<f64> = area.windows(2).map(|a| a[1] - a[0]).collect();
            assert!(
                anderson_darling::exponential(&mut intervals, 1.0).unwrap().p > 0.01,
                "seed {seed}"
            );
        }
    }

    #[test]
    fn even_arrivals_are_not_mistaken_for_poisson() {
        let due = all_due(constant(1000.0, 2 * S, u64::MAX));
        let mut intervals: Vec<f64> = due.windows(2).map(|d| (d[1] - d[0]) as f64 / 1e9).collect();
        assert!(anderson_darling::exponential(&mut intervals, 1e-3).unwrap().statistic > 100.0);
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        for spacing in [Spacing::Even, Spacing::Poisson] {
            let whole = || Schedule::new(777.0, &[], spacing, S, u64::MAX, 7);
            let mut dealt: Vec<u64> =
                (0..3).flat_map(|thread| all_due(whole().share(Share { thread, of: 3 }))).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, all_due(whole()));
        }
        assert_eq!([0, 1, 2].map(|thread| Share { thread, of: 3 }.part(8)), [3, 3, 2]);
    }

    proptest! {
        #[test]
        fn even_arrivals_keep_their_spacing_and_end_in_time(rate in 0.1f64..1e6, millis in 1u64..400) {
            let end_ns = millis * 1_000_000;
            let due = all_due(constant(rate, end_ns, u64::MAX));
            prop_assert!(due.iter().all(|d| *d < end_ns));
            prop_assert!((due.len() as f64 - rate * millis as f64 / 1e3).abs() <= 1.0);
            for pair in due.windows(2) {
                prop_assert!(((pair[1] - pair[0]) as f64 - 1e9 / rate).abs() <= 1.5);
            }
        }
    }
}
