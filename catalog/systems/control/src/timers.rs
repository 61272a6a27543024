//! Deadlines, the nearest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Deadlines in nanoseconds, each with the item that waits for it. No deadline is removed early:
/// the caller checks whether it is still due.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Timers {
    /// Sets a deadline.
    pub fn set(&mut self, deadline: u64, token: u64) {
        self.heap.push(Reverse((deadline, token)));
    }

    /// Returns the nearest deadline.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Removes and returns the item of the nearest deadline that has passed at `now`.
    pub fn take(&mut self, now: u64) -> Option<(u64, u64)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_comes_first_and_never_early() {
        let mut timers = Timers::default();
        for (deadline, token) in [(30, 1), (10, 2), (20, 3), (10, 4)] {
            timers.set(deadline, token);
        }
        assert_eq!((timers.next(), timers.take(9)), (Some(10), None));
        assert_eq!(
            (timers.take(10), timers.take(10), timers.take(10)),
            (Some((10, 2)), Some((10, 4)), None)
        );
        assert_eq!(
            (timers.take(99), timers.take(99), timers.take(99)),
            (Some((20, 3)), Some((30, 1)), None)
        );
        assert_eq!(timers.next(), None);
    }
}
