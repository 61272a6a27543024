//! Reads and writes records that are compressed with Zstandard.
//!
//! A record of many trials is some megabytes of JSON, and a small part of that compressed, so it can
//! be kept in a repository and judged again. A compressed file is recognised by its first bytes, not
//! by its name. Start with [`open_lines`].

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// The first bytes of a Zstandard frame (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Opens a file of lines, whether it is compressed or not.
pub(crate) fn open_lines(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(File::open(path)?);
    if !file.fill_buf()?.starts_with(&MAGIC) {
        return Ok(Box::new(file));
    }
    let decoder = StreamingDecoder::new(file).map_err(io::Error::other)?;
    Ok(Box::new(BufReader::new(decoder)))
}

/// Compresses the text of a record.
pub fn compress_record(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn read_back(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, bytes).unwrap();
        let mut text = Vec::new();
        open_lines(&path)?.read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn repeated_lines_become_a_tenth_or_less() {
        let text = "{\"trial\":{\"block\":1,\"measurements\":[]}}\n".repeat(1_000).into_bytes();
        let packed = compress_record(&text);
        assert!(packed.len() < text.len() / 10, "{} of {}", packed.len(), text.len());
        assert_eq!(read_back(&packed).unwrap(), text);
    }

    #[test]
    fn file_that_was_cut_short_is_an_error() {
        let packed = compress_record(&b"a line\n".repeat(100));
        assert!(read_back(&packed[..packed.len() - 3]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_read_back(text in prop::collection::vec(any::<u8>(), 0..4_000)) {
            prop_assert_eq!(read_back(&compress_record(&text)).unwrap(), text.clone());
            if !text.starts_with(&MAGIC) {
                prop_assert_eq!(read_back(&text).unwrap(), text);
            }
        }
    }
}
