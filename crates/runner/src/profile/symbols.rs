//! Finds the function at an address: a sorted table of address ranges with names.
//!
//! Tables come from ELF files ([`super::elf`]), from Go's own table of functions, and from the
//! kernel ([`kernel`]). Names stay in the bytes that they were read from, because most of them are
//! never needed.

use std::io::Read;
use std::ops::Range;

/// No list of the kernel's symbols is longer.
const KERNEL_BYTES_MAX: u64 = 64 << 20;

/// A function: its addresses, and where its name is in [`Symbols::names`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub start: u64,
    /// The address after its last byte; equal to `start` if its size is unknown.
    pub end: u64,
    pub name: Range<u32>,
}

/// Functions by address.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    symbols: Vec<Symbol>,
    names: Vec<u8>,
}

impl Symbols {
    /// Sorts the symbols. A function of unknown size ends where the next one begins. Of several
    /// names for one address, the one that people know best is used: see [`rank`].
    pub fn new(mut symbols: Vec<Symbol>, names: Vec<u8>) -> Symbols {
        let name = |symbol: &Symbol| name_in(&names, &symbol.name);
        symbols.sort_by(|a, b| {
            (a.start, rank(name(a)), name(a)).cmp(&(b.start, rank(name(b)), name(b)))
        });
        symbols.dedup_by(|later, first| {
            if later.start != first.start {
                return false;
            }
            first.end = first.end.max(later.end);
            true
        });
        for at in 1..symbols.len() {
            let next = symbols[at].start;
            let symbol = &mut symbols[at - 1];
            if symbol.end <= symbol.start {
                symbol.end = next;
            }
        }
        if let Some(last) = symbols.last_mut().filter(|last| last.end <= last.start) {
            last.end = last.start.saturating_add(1);
        }
        Symbols { symbols, names }
    }

    /// Whether it has no function.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The name of the function at an address.
    pub fn find(&self, address: u64) -> Option<&[u8]> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        let name = name_in(&self.names, &symbol.name);
        (address < symbol.end && !name.is_empty()).then_some(name)
    }
}

fn name_in<'a>(names: &'a [u8], range: &Range<u32>) -> &'a [u8] {
    names.get(range.start as usize..range.end as usize).unwrap_or_default()
}

/// Prefers names with fewer underscores at the beginning, such as `write` before `__write`, then
/// shorter ones.
fn rank(name: &[u8]) -> (usize, usize) {
    (name.iter().take_while(|byte| **byte == b'_').count(), name.len())
}

/// The symbols of the running kernel; none if it hides its addresses.
pub(super) fn kernel() -> Symbols {
    let mut names = Vec::new();
    if let Ok(file) = std::fs::File::open("/proc/kallsyms") {
        let _ = file.take(KERNEL_BYTES_MAX).read_to_end(&mut names);
    }
    parse_kernel(names)
}

/// Reads lines such as `ffffffff81000000 T _stext`, with the module's name in brackets at the end.
fn parse_kernel(names: Vec<u8>) -> Symbols {
    let mut symbols = Vec::new();
    let mut begin = 0;
    for line in names.split(|byte| *byte == b'\n') {
        let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
        if let (Some(address), Some(b"t" | b"T" | b"w" | b"W"), Some(name)) =
            (words.next(), words.next(), words.next())
            && let Some(start) = hexadecimal(address).filter(|start| *start != 0)
        {
            let from = begin + address.len() + 3;
            symbols.push(Symbol {
                start,
                end: start,
                name: from as u32..(from + name.len()) as u32,
            });
        }
        begin += line.len() + 1;
    }
    Symbols::new(symbols, names)
}

/// A number in hexadecimal digits, with or without `0x`.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_belongs_to_the_function_that_covers_it() {
        let text = b"onetwo__two".to_vec();
        let symbol = |start, end, name| Symbol { start, end, name };
        let table = Symbols::new(
            vec![symbol(200, 200, 6..11), symbol(100, 110, 0..3), symbol(200, 200, 3..6)],
            text,
        );
        let found = [99, 100, 109, 110, 200, 201].map(|address| table.find(address));
        let (one, two) = (Some(&b"one"[..]), Some(&b"two"[..]));
        assert_eq!(found, [None, one, one, None, two, None]);
    }

    #[test]
    fn kernel_symbols_are_read_and_hidden_ones_are_not() {
        let text = b"ffffffff81000000 T start\nffffffff81000100 d data\nffffffff81000200 t next\t[mod]\nbad\n";
        let table = parse_kernel(text.to_vec());
        assert_eq!(table.find(0xffff_ffff_8100_01ff), Some(&b"start"[..]));
        assert_eq!(table.find(0xffff_ffff_8100_0200), Some(&b"next"[..]));
        assert!(parse_kernel(b"0000000000000000 T start\n".to_vec()).is_empty());
    }
}
