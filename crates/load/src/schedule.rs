//! When requests are due: in closed form, so that no error adds up.

/// Evenly spaced arrivals: request `i` is due `i / rate` after the start.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    rate_per_s: f64,
    total: u64,
}

impl Schedule {
    /// All arrivals of a rate within a duration, at most `most`.
    pub fn constant(rate_per_s: f64, duration_ns: u64, most: u64) -> Schedule {
        let mut schedule = Schedule { rate_per_s, total: (rate_per_s * duration_ns as f64 / 1e9).ceil() as u64 };
        // As many as are due before the end, the first in any case. Both the product and a due
        // instant are rounded, so what the product says is one too many at times.
        while schedule.total > 1 && schedule.due_ns(schedule.total - 1) >= duration_ns {
            schedule.total -= 1;
        }
        schedule.total = schedule.total.clamp(1, most.max(1));
        schedule
    }

    /// How many requests there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// When request `index` is due, in nanoseconds after the start.
    pub fn due_ns(&self, index: u64) -> u64 {
        (index as f64 * 1e9 / self.rate_per_s).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_a_second_for_six_seconds() {
        let schedule = Schedule::constant(100.0, 6_000_000_000, u64::MAX);
        assert_eq!((schedule.total(), schedule.due_ns(0), schedule.due_ns(599)), (600, 0, 5_990_000_000));
        assert_eq!(Schedule::constant(100.0, 6_000_000_000, 10).total(), 10);
        // The last would be due half a nanosecond before the end, and is rounded to the end.
        assert_eq!(Schedule::constant(941525.166667763, 6_000_000_000, u64::MAX).total(), 5_649_151);
        assert_eq!(Schedule::constant(0.01, 1_000_000_000, 10).total(), 1);
    }

    proptest! {
        #[test]
        fn arrivals_rise_keep_their_spacing_and_end_in_time(rate in 0.1f64..1e6, seconds in 1u64..20) {
            let duration = seconds * 1_000_000_000;
            let schedule = Schedule::constant(rate, duration, u64::MAX);
            let last = schedule.total() - 1;
            prop_assert!(last == 0 || schedule.due_ns(last) < duration);
            prop_assert!((schedule.total() as f64 - rate * seconds as f64).abs() <= 1.0);
            for i in [0, last / 3, last / 2, last.saturating_sub(1)] {
                let gap = schedule.due_ns(i + 1) - schedule.due_ns(i);
                prop_assert!((gap as f64 - 1e9 / rate).abs() <= 1.5);
            }
        }
    }
}
