//! Reads numbers and texts out of tables in files of contenders.
//!
//! All are little-endian, as on every machine that faceoff is released for. Nothing is read beyond
//! the end of a table: `None` means that the table is damaged.

use std::ops::Range;

pub(super) fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

pub(super) fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// Where the text that begins at `at` and ends with a zero byte is.
pub(super) fn name_at(names: &[u8], at: u32) -> Option<Range<u32>> {
    let length = names.get(at as usize..)?.iter().position(|byte| *byte == 0)?;
    Some(at..at.checked_add(u32::try_from(length).ok()?)?)
}
