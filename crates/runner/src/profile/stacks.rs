//! Counts equal stacks, in bounded memory.
//!
//! Each place in code gets a number, so a stack is a short list of numbers. When the tables are
//! full, samples of new stacks are still counted for their thread, without functions: their CPU
//! time is never lost. Start with [`Stacks::add`].

use super::spaces::Place;
use std::collections::HashMap;

/// Most different stacks.
const STACKS_MAX: usize = 200_000;
/// Most different places in code.
const PLACES_MAX: usize = 1_000_000;
/// Most different names of threads; all others share one.
const THREADS_MAX: usize = 10_000;

/// A stack of one target: thread, and places from the innermost outwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub target: u32,
    /// A number in [`Stacks::threads`].
    pub thread: u32,
    /// Numbers in [`Stacks::places`].
    pub places: Box<[u32]>,
}

/// The samples so far.
#[derive(Default)]
pub(super) struct Stacks {
    pub counts: HashMap<Key, u64>,
    pub places: Vec<Place>,
    numbers: HashMap<Place, u32>,
    pub threads: Vec<String>,
    thread_numbers: HashMap<String, u32>,
    /// Samples whose stack was new when the tables were full.
    pub without_room: u64,
}

impl Stacks {
    /// Counts a sample.
    pub fn add(&mut self, target: u32, thread: u32, stack: impl Iterator<Item = Place>) {
        let places: Option<Box<[u32]>> = stack.map(|place| self.number(place)).collect();
        let key = places.map(|places| Key { target, thread, places });
        let has_room = self.counts.len() < STACKS_MAX;
        let key =
            key.filter(|key| has_room || self.counts.contains_key(key)).unwrap_or_else(|| {
                self.without_room += 1;
                Key { target, thread, places: Box::default() }
            });
        *self.counts.entry(key).or_default() += 1;
    }

    /// The number of a thread's name.
    pub fn thread(&mut self, name: String) -> u32 {
        let name = if self.threads.len() < THREADS_MAX { name } else { "other".to_owned() };
        if let Some(number) = self.thread_numbers.get(&name) {
            return *number;
        }
        let number = self.threads.len() as u32;
        self.threads.push(name.clone());
        self.thread_numbers.insert(name, number);
        number
    }

    fn number(&mut self, place: Place) -> Option<u32> {
        if let Some(number) = self.numbers.get(&place) {
            return Some(*number);
        }
        if self.places.len() >= PLACES_MAX {
            return None;
        }
        let number = self.places.len() as u32;
        self.places.push(place);
        self.numbers.insert(place, number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_counted_together() {
        let mut stacks = Stacks::default();
        let thread = stacks.thread("worker".to_owned());
        assert_eq!(stacks.thread("worker".to_owned()), thread);
        for place in [(2, 10), (2, 20), (2, 10)] {
            stacks.add(0, thread, [place, (2, 1)].into_iter());
        }
        let mut counts: Vec<_> = stacks.counts.values().copied().collect();
        counts.sort_unstable();
        assert_eq!((counts, stacks.places.len()), (vec![1, 2], 3));
    }

    #[test]
    fn threads_beyond_the_limit_share_a_name() {
        let mut stacks = Stacks::default();
        let numbers = (0..2 * THREADS_MAX).map(|at| stacks.thread(format!("worker {at} of many")));
        let last = numbers.last().unwrap();
        assert_eq!(stacks.threads.len(), THREADS_MAX + 1);
        assert_eq!(stacks.threads[last as usize], "other");
    }

    #[test]
    fn samples_beyond_the_limit_are_counted_without_functions() {
        let mut stacks = Stacks::default();
        let samples = STACKS_MAX as u64 + 50;
        for address in 0..samples {
            stacks.add(0, 0, [(2, address)].into_iter());
        }
        assert_eq!(stacks.counts.values().sum::<u64>(), samples);
        assert_eq!((stacks.counts.len(), stacks.without_room), (STACKS_MAX + 1, 50));
    }
}
