//! SHA-256, from the library that already provides the cryptography of TLS.

use aws_lc_rs::digest::{Context, SHA256};

/// A digest of bytes that arrive in pieces.
pub(crate) struct Sha256(Context);

impl Sha256 {
    pub fn new() -> Sha256 {
        Sha256(Context::new(&SHA256))
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    /// The digest as 64 hexadecimal digits.
    pub fn hex(self) -> String {
        hex(self.0.finish().as_ref())
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of bytes as 64 hexadecimal digits.
pub(crate) fn hex_digest(bytes: impl AsRef<[u8]>) -> String {
    let mut hash = Sha256::new();
    hash.update(bytes);
    hash.hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    // FIPS 180-2, appendix B.1.
    #[test]
    fn digest_of_the_standard_example_is_right() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex_digest("abc"), known);
        let mut pieces = Sha256::new();
        pieces.update("a");
        pieces.update("bc");
        assert_eq!(pieces.hex(), known);
    }
}
