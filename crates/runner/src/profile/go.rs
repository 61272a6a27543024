//! Reads Go's own table of functions, which is in every Go program, also in a stripped one.
//!
//! It names functions, and knows the size of a stack frame at each instruction. Go keeps frame
//! pointers, but small functions that call no others set none up. So the frame pointer is that of
//! their caller, and a walk by frame pointers would leave out the caller. [`GoTable::frame_size`]
//! finds it. `runtime/symtab.go` describes the table (Go 1.18 and later).

use super::bytes::{int, long, name_at};
use super::symbols::{Symbol, Symbols};
use std::sync::Arc;

/// The marks of the table's versions: Go 1.18, and Go 1.20 and later.
const MARKS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];
const POINTER_BYTES: u8 = 8;

/// The table of functions of a Go program.
pub(super) struct GoTable {
    bytes: Arc<[u8]>,
    /// The address of the first function.
    text: u64,
    /// Instructions begin at multiples of this.
    step: u64,
    count: usize,
    names: usize,
    programs: usize,
    functions: usize,
}

impl GoTable {
    /// Reads the head of a table. `text` is where the code begins, for tables without that address.
    pub fn new(bytes: Arc<[u8]>, text: u64) -> Option<GoTable> {
        if !MARKS.contains(&int(&bytes, 0)?) || bytes.get(7) != Some(&POINTER_BYTES) {
            return None;
        }
        let field = |at: usize| usize::try_from(long(&bytes, at)?).ok();
        let (count, names, programs, functions) = (field(8)?, field(32)?, field(56)?, field(64)?);
        let text = match long(&bytes, 24)? {
            0 => text,
            written => written,
        };
        let step = u64::from(*bytes.get(6)?);
        Some(GoTable { bytes, text, step, count, names, programs, functions })
    }

    /// All functions.
    pub fn symbols(&self) -> Option<Symbols> {
        let names = self.bytes.get(self.names..)?;
        let functions = self.bytes.get(self.functions..)?;
        let number = functions.len() / 8;
        let symbols = (0..self.count.min(number)).filter_map(|at| {
            let start = self.text.checked_add(u64::from(int(functions, 8 * at)?))?;
            let end = self.text.checked_add(u64::from(int(functions, 8 * (at + 1))?))?;
            let record = int(functions, 8 * at + 4)? as usize;
            let name = name_at(names, int(functions, record.checked_add(4)?)?)?;
            (end > start).then_some(Symbol { start, end, name })
        });
        Some(Symbols::new(symbols.collect(), names.to_vec()))
    }

    /// How far the return address is above the stack pointer, at an instruction.
    pub fn frame_size(&self, address: u64) -> Option<u64> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let functions = self.bytes.get(self.functions..)?;
        let entry = |at: usize| int(functions, 8 * at);
        // The last entry is the end of the code.
        let (mut low, mut high) = (0, self.count.min(functions.len() / 8));
        while low < high {
            let middle = (low + high) / 2;
            if entry(middle)? <= offset { low = middle + 1 } else { high = middle }
        }
        let record = int(functions, 8 * low.checked_sub(1)? + 4)? as usize;
        let program = int(functions, record.checked_add(16)?)? as usize;
        let start = u64::from(int(functions, record)?);
        let program = self.bytes.get(self.programs.checked_add(program)?..)?;
        value_at(program, start, u64::from(offset), self.step)
    }
}

/// Runs a table of differences, of values and of addresses, until it covers `offset`.
fn value_at(mut program: &[u8], start: u64, offset: u64, step: u64) -> Option<u64> {
    let (mut value, mut covered) = (-1i64, start);
    let mut is_first = true;
    loop {
        let difference = variable(&mut program)?;
        if difference == 0 && !is_first {
            return None;
        }
        is_first = false;
        // The lowest bit is the sign.
        let half = i64::from(difference >> 1);
        value = value.checked_add(if difference & 1 == 0 { half } else { !half })?;
        covered = covered.checked_add(u64::from(variable(&mut program)?).checked_mul(step)?)?;
        if offset < covered {
            return u64::try_from(value).ok();
        }
    }
}

/// A number in seven bits per byte, lowest first.
fn variable(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0u32;
    for shift in (0..32).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table with one function `main.f` at 4096, with a frame of 8 bytes from its fourth byte on.
    fn table() -> Vec<u8> {
        let mut bytes = MARKS[1].to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        let (names, programs, functions) = (72u64, 80u64, 96u64);
        for field in [1, 0, 4096, names, 0, 0, programs, functions] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(b"\0main.f\0");
        // Value 0 for 4 bytes, then 8 for 16 bytes.
        bytes.extend([0, 2, 4, 16, 16, 0]);
        bytes.resize(functions as usize, 0);
        // Begin and record of the function, and the end of the code; then the record.
        for field in [0u32, 12, 20, 0, 1, 0, 0, 1] {
            bytes.extend(field.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn function_has_its_name_and_its_frame() {
        let table = GoTable::new(table().into(), 0).unwrap();
        let symbols = table.symbols().unwrap();
        assert_eq!(symbols.find(4100), Some(&b"main.f"[..]));
        let sizes = [4095, 4096, 4099, 4100, 4115, 4116].map(|address| table.frame_size(address));
        assert_eq!(sizes, [None, Some(0), Some(0), Some(8), Some(8), None]);
    }

    proptest! {
        #[test]
        fn damaged_tables_never_panic(
            damage in prop::collection::vec((0usize..128, any::<u8>()), 0..12), address: u64,
        ) {
            let mut bytes = table();
            for (at, byte) in damage {
                bytes[at] = byte;
            }
            if let Some(table) = GoTable::new(bytes.into(), 0) {
                let _ = (table.symbols(), table.frame_size(address), table.frame_size(4100));
            }
        }
    }
}
