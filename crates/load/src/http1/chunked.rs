//! Reads the framing of a chunked body (RFC 9112, 7.1), byte by byte. A line ends with CR LF or a
//! bare LF, as in a head.

use super::Malformed;
use crate::limits::{CHUNK_LINE_MAX, HEAD_MAX, HEADERS_MAX};

/// The largest number of digits of a chunk's size. More might not fit into a number.
const DIGITS_MAX: u8 = 15;

/// The position of the next byte in a chunked body.
pub(super) enum Chunked {
    /// In a chunk-size line.
    Size(SizeLine),
    /// In the data of a chunk, with this many bytes left.
    Data(u64),
    /// After the data of a chunk. Whether the carriage return has arrived.
    End(bool),
    /// In the trailers, or the empty line that ends them.
    Trailers(Trailers),
}

/// What has arrived of a chunk-size line.
#[derive(Clone, Copy, Default)]
pub(super) struct SizeLine {
    size: u64,
    digits: u8,
    length: u32,
    after: After,
}

/// The last part of a chunk-size line that has arrived.
#[derive(Clone, Copy, Default, PartialEq)]
enum After {
    #[default]
    Digits,
    Space,
    Extension,
    Return,
}

/// What has arrived of the trailers.
#[derive(Clone, Copy, Default)]
pub(super) struct Trailers {
    fields: usize,
    bytes: usize,
    /// The current line: its length, whether it continues the line before, has a colon, and has a
    /// carriage return.
    length: usize,
    is_folded: bool,
    has_name: bool,
    is_returned: bool,
}

impl Chunked {
    /// Reads a byte that is not data. Returns true after the last chunk and the trailers.
    pub fn read_byte(&mut self, byte: u8) -> Result<bool, Malformed> {
        *self = match self {
            Chunked::Size(line) => line.read_byte(byte)?,
            Chunked::End(false) if byte == b'\r' => Chunked::End(true),
            Chunked::End(_) if byte == b'\n' => Chunked::Size(SizeLine::default()),
            Chunked::Trailers(trailers) => return trailers.read_byte(byte),
            Chunked::End(_) | Chunked::Data(_) => return Err(Malformed::Chunk),
        };
        Ok(false)
    }
}

impl SizeLine {
    fn read_byte(mut self, byte: u8) -> Result<Chunked, Malformed> {
        use After::{Digits, Extension, Return, Space};
        self.length += 1;
        match (self.after, byte) {
            (Digits, digit) if digit.is_ascii_hexdigit() && self.digits < DIGITS_MAX => {
                self.size =
                    self.size * 16 + u64::from((digit as char).to_digit(16).expect("a hex digit"));
                self.digits += 1;
            }
            _ if self.digits == 0 => return Err(Malformed::Chunk),
            (_, b'\n') if self.size == 0 => return Ok(Chunked::Trailers(Trailers::default())),
            (_, b'\n') => return Ok(Chunked::Data(self.size)),
            (Return, _) => return Err(Malformed::Chunk),
            (_, b'\r') => self.after = Return,
            (Digits | Space, b' ' | b'\t') => self.after = Space,
            (Digits | Space, b';') | (Extension, _) => self.after = Extension,
            (Digits | Space, _) => return Err(Malformed::Chunk),
        }
        if self.length > CHUNK_LINE_MAX {
            Err(Malformed::ChunkLineTooLong)
        } else {
            Ok(Chunked::Size(self))
        }
    }
}

impl Trailers {
    fn read_byte(&mut self, byte: u8) -> Result<bool, Malformed> {
        if byte == b'\n' {
            if self.length == 0 {
                return Ok(true);
            }
            if !self.is_folded && !self.has_name {
                return Err(Malformed::Trailer);
            }
            let Trailers { fields, bytes, is_folded, .. } = *self;
            *self =
                Trailers { fields: fields + usize::from(!is_folded), bytes, ..Trailers::default() };
            return if self.fields > HEADERS_MAX {
                Err(Malformed::TooManyHeaders)
            } else {
                Ok(false)
            };
        }
        if self.is_returned {
            return Err(Malformed::Trailer);
        }
        self.is_returned = byte == b'\r';
        if self.is_returned {
            return Ok(false);
        }
        self.bytes += 1;
        match byte {
            b' ' | b'\t' if self.length == 0 && self.fields > 0 => self.is_folded = true,
            // An empty name, or one with a space, is invalid, as in a head.
            b':' if self.length == 0 => return Err(Malformed::Trailer),
            b' ' | b'\t' if !self.has_name && !self.is_folded => return Err(Malformed::Trailer),
            b':' => self.has_name = true,
            _ => {}
        }
        self.length += 1;
        if self.bytes > HEAD_MAX { Err(Malformed::HeadTooLong) } else { Ok(false) }
    }
}
