//! Reads decoded header blocks, and rejects malformed ones (RFC 9113, 8.2 and 8.3).

use super::hpack::Fields;
use crate::http1::content_length;

/// Returns the status of a head, and the length of the body if the head announces it.
pub(super) fn read_head(fields: &Fields) -> Result<(u16, Option<u64>), &'static str> {
    let mut fields = fields.iter();
    let status = match fields.next() {
        Some((b":status", &[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'])) => {
            u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0')
        }
        Some((b":status", _)) => return Err("a status that is not a number of three digits"),
        _ => return Err("no status"),
    };
    let mut length = None;
    for (name, value) in fields {
        check_field(name, value)?;
        if name == b"content-length" {
            length = Some(content_length(value, length).ok_or("an ambiguous content-length")?);
        }
    }
    Ok((status, length))
}

pub(super) fn read_trailers(fields: &Fields) -> Result<(), &'static str> {
    fields.iter().try_for_each(|(name, value)| check_field(name, value))
}

/// Rejects fields that make a message malformed (RFC 9113, 8.2).
fn check_field(name: &[u8], value: &[u8]) -> Result<(), &'static str> {
    if name.is_empty()
        || name.iter().any(|b| b.is_ascii_uppercase() || matches!(b, 0..=b' ' | b':' | 0x7f..))
    {
        return Err("a header name that HTTP/2 forbids");
    }
    if value.iter().any(|b| matches!(b, 0 | b'\n' | b'\r')) {
        return Err("a header value with a line break");
    }
    if matches!(value, [b' ' | b'\t', ..] | [.., b' ' | b'\t']) {
        return Err("a header value that begins or ends with a space or tab");
    }
    if is_forbidden(name) { Err("a header of HTTP/1.1 connections") } else { Ok(()) }
}

/// Whether a header exists only in HTTP/1.1 (RFC 9113, 8.2.2). The name must be in lower case.
pub(crate) fn is_forbidden(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade"
    )
}
