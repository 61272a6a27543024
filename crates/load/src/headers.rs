//! Looks up a header of a response, whatever the protocol.

/// The headers of a response, with either HTTP version.
pub trait Headers {
    /// Returns the first value of a header. The case of names does not matter.
    fn value(&self, name: &str) -> Option<&[u8]>;
}

impl Headers for [httparse::Header<'_>] {
    fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value)
    }
}
