//! Limits on the framing of a response, the same for HTTP/1.1 and HTTP/2. The page
//! docs/guide/protocol.md lists them.

/// The longest head, and the longest trailers. HTTP/1.1 counts all bytes, HTTP/2 names and values.
pub(crate) const HEAD_MAX: usize = 128 << 10;
/// The largest number of headers, and of trailers.
pub(crate) const HEADERS_MAX: usize = 1_000;
/// The largest number of interim responses (1xx) before the final one.
pub(crate) const INTERIM_MAX: u8 = 100;
/// The longest chunk-size line, including extensions.
pub(crate) const CHUNK_LINE_MAX: u32 = 4 << 10;

pub(crate) const HEAD_TOO_LONG: &str =
    "a head or trailers of more than 128 KiB, the most that faceoff reads";
pub(crate) const TOO_MANY_HEADERS: &str = "more than 1000 headers, the most that faceoff reads";
pub(crate) const TOO_MANY_INTERIM: &str =
    "more than 100 interim responses (1xx) before the final one, the most that faceoff reads";
pub(crate) const CHUNK_LINE_TOO_LONG: &str =
    "a chunk-size line of more than 4096 bytes, the most that faceoff reads";
