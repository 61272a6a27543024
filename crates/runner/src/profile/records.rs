//! Reads the records that the kernel writes into the ring of a perf event.
//!
//! A record is a header of one word (type, flags, size) and a body, all in words of 8 bytes. Sizes
//! and counts come from memory that the kernel shares with us, so each is checked before it is
//! used. [`Events`] yields one [`Event`] after the other, and skips what it does not need.
//! `perf_event_open(2)` describes the layout.

/// Fields of a sample: process and thread, call chain, registers, a copy of the stack.
pub(super) const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 5 | 1 << 12 | 1 << 13;

/// Registers that unwinding needs, as bits of the kernel's numbering: frame pointer, stack pointer
/// and instruction pointer; on ARM also the return address.
#[cfg(target_arch = "aarch64")]
pub(super) const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
#[cfg(not(target_arch = "aarch64"))]
pub(super) const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

const LOST: u64 = 2;
const RENAMED: u64 = 3;
const ENDED: u64 = 4;
const FORKED: u64 = 7;
const SAMPLE: u64 = 9;
/// The flag of a rename that comes from `execve`.
const EXECUTED: u64 = 1 << 13;
/// Registers of a 64-bit program.
const BITS_64: u64 = 2;
/// Words of a call chain from here on are marks, not addresses.
const MARKS: u64 = -4095i64 as u64;
const MARK_KERNEL: u64 = -128i64 as u64;
const MARK_USER: u64 = -512i64 as u64;

/// What happened, as far as a profile needs it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    Sample(Sample<'a>),
    /// A process has begun.
    Forked {
        pid: u32,
        parent: u32,
    },
    /// A thread has got a name.
    Renamed {
        pid: u32,
        thread: u32,
        name: Vec<u8>,
        /// The process runs another program from now on.
        executed: bool,
    },
    /// A thread has ended.
    Ended {
        thread: u32,
    },
    /// The ring was full, and this number of records is missing.
    Lost(u64),
}

/// What a thread was doing at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub pid: u32,
    pub thread: u32,
    /// Addresses in the kernel, innermost first.
    pub kernel: &'a [u64],
    /// Addresses in the program, found by frame pointers.
    pub user: &'a [u64],
    /// The values of [`REGISTERS`], of a 64-bit program.
    pub registers: Option<&'a [u64]>,
    /// The innermost part of the stack: memory from the stack pointer upwards.
    pub stack: &'a [u64],
}

/// Iterates over the events in the words of a ring.
pub(super) struct Events<'a> {
    words: Words<'a>,
}

impl<'a> Events<'a> {
    pub fn new(words: &'a [u64]) -> Events<'a> {
        Events { words: Words(words) }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let header = self.words.one()?;
            let (kind, flags, size) =
                (header & 0xffff_ffff, header >> 32 & 0xffff, (header >> 48) as usize);
            // A size that cannot be right ends the iteration: the next header is unknown.
            let body = self.words.take((size / 8).checked_sub(1)?)?;
            if let Some(event) = event(kind, flags, body) {
                return Some(event);
            }
        }
    }
}

fn event<'a>(kind: u64, flags: u64, body: &'a [u64]) -> Option<Event<'a>> {
    let mut words = Words(body);
    match kind {
        SAMPLE => sample(words).map(Event::Sample),
        FORKED => {
            let (pid, parent) = halves(words.one()?);
            // A new thread has the process as parent.
            (pid != parent).then_some(Event::Forked { pid, parent })
        }
        RENAMED => {
            let (pid, thread) = halves(words.one()?);
            let bytes = words.0.iter().flat_map(|word| word.to_ne_bytes());
            let name = bytes.take_while(|byte| *byte != 0).collect();
            Some(Event::Renamed { pid, thread, name, executed: flags & EXECUTED != 0 })
        }
        ENDED => {
            let thread = halves(*body.get(1)?).0;
            Some(Event::Ended { thread })
        }
        LOST => Some(Event::Lost(*body.get(1)?)),
        _ => None,
    }
}

fn sample(mut words: Words) -> Option<Sample> {
    let (pid, thread) = halves(words.one()?);
    let length = words.one()?;
    let (kernel, user) = parts_of_chain(words.take(usize::try_from(length).ok()?)?);
    let bits = words.one()?;
    let registers = match bits {
        0 => None,
        _ => Some(words.take(REGISTERS.count_ones() as usize)?),
    };
    let reserved = usize::try_from(words.one()? / 8).ok()?;
    let stack = match reserved {
        0 => &[],
        _ => {
            let copied = words.take(reserved)?;
            let filled = usize::try_from(words.one()? / 8).ok()?;
            &copied[..filled.min(copied.len())]
        }
    };
    let registers = registers.filter(|_| bits == BITS_64);
    Some(Sample { pid, thread, kernel, user, registers, stack })
}

/// The addresses after the kernel's mark, and those after the program's.
fn parts_of_chain(chain: &[u64]) -> (&[u64], &[u64]) {
    let after = |mark: u64| {
        let Some(at) = chain.iter().position(|word| *word == mark) else { return &[][..] };
        let part = &chain[at + 1..];
        &part[..part.iter().position(|word| *word >= MARKS).unwrap_or(part.len())]
    };
    (after(MARK_KERNEL), after(MARK_USER))
}

/// The lower and the upper half of a word.
fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_ne_bytes();
    let half =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (half(0), half(4))
}

/// Words that are yet to be read.
struct Words<'a>(&'a [u64]);

impl<'a> Words<'a> {
    fn one(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u64]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u64, flags: u64, body: &[u64]) -> Vec<u64> {
        let header = kind | flags << 32 | (8 * (body.len() as u64 + 1)) << 48;
        [&[header], body].concat()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from(low) | u64::from(high) << 32
    }

    #[test]
    fn sample_has_addresses_registers_and_stack() {
        let chain = [MARK_KERNEL, 0xffff_8000_0000_0001, MARK_USER, 0x400_100, 0x400_200];
        let registers = [7, 8, 9, 10][..REGISTERS.count_ones() as usize].to_vec();
        let body = [
            &[pair(42, 43), chain.len() as u64][..],
            &chain,
            &[BITS_64],
            &registers,
            &[24, 1, 2, 3, 16],
        ]
        .concat();
        let words = [record(99, 0, &[5]), record(SAMPLE, 0, &body)].concat();
        let expected = Sample {
            pid: 42,
            thread: 43,
            kernel: &[0xffff_8000_0000_0001],
            user: &[0x400_100, 0x400_200],
            registers: Some(&registers),
            stack: &[1, 2],
        };
        assert_eq!(Events::new(&words).collect::<Vec<_>>(), [Event::Sample(expected)]);
    }

    #[test]
    fn processes_threads_and_losses_are_read() {
        let words = [
            record(FORKED, 0, &[pair(7, 5), pair(7, 5), 0]),
            record(FORKED, 0, &[pair(7, 7), pair(8, 7), 0]),
            record(RENAMED, EXECUTED, &[pair(7, 7), u64::from_ne_bytes(*b"nginx\0\0\0")]),
            record(ENDED, 0, &[pair(7, 5), pair(8, 5), 0]),
            record(LOST, 0, &[1, 12]),
        ]
        .concat();
        let renamed = Event::Renamed { pid: 7, thread: 7, name: b"nginx".to_vec(), executed: true };
        let expected = [
            Event::Forked { pid: 7, parent: 5 },
            renamed,
            Event::Ended { thread: 8 },
            Event::Lost(12),
        ];
        assert_eq!(Events::new(&words).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn counts_that_exceed_the_record_are_refused() {
        let huge = record(SAMPLE, 0, &[pair(1, 1), u64::MAX, MARK_USER, 1]);
        let cut = [SAMPLE | 4096 << 48, 1, 2];
        let empty = [SAMPLE, 1, 2];
        for words in [&huge[..], &cut, &empty] {
            assert_eq!(Events::new(words).count(), 0, "{words:x?}");
        }
    }

    proptest! {
        #[test]
        fn random_words_never_panic_and_always_end(
            words in prop::collection::vec(any::<u64>(), 0..200),
            kinds in prop::collection::vec((0u64..12, 0u64..9, 0usize..200), 0..40),
        ) {
            let mut words = words;
            for (kind, size, at) in kinds {
                if let Some(word) = words.get_mut(at) {
                    *word = kind | (size * 8) << 48;
                }
            }
            prop_assert!(Events::new(&words).count() <= words.len());
        }
    }
}
