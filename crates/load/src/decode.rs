//! Decodes the content codings of HTTP bodies (RFC 9110 §8.4).

use std::io::Read;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`
    Gzip,
    /// `deflate`: the zlib format. Some servers send it without zlib's header.
    Deflate,
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
}

/// Parses a header `Content-Encoding`. Returns the codings in the order in which they were applied.
///
/// # Errors
/// A coding that is not supported.
pub fn codings(header: &[u8]) -> Result<Vec<Coding>, String> {
    let text = String::from_utf8_lossy(header);
    let of = |name: &str| match name.to_ascii_lowercase().as_str() {
        "" | "identity" => None,
        "gzip" | "x-gzip" => Some(Ok(Coding::Gzip)),
        "deflate" => Some(Ok(Coding::Deflate)),
        "br" => Some(Ok(Coding::Brotli)),
        "zstd" => Some(Ok(Coding::Zstd)),
        other => Some(Err(format!("the content coding `{other}` is not supported"))),
    };
    text.split(',').map(str::trim).filter_map(of).collect()
}

/// Decodes a body.
///
/// # Errors
/// Bytes that the coding does not permit, or a result longer than `most`.
pub fn decoded(codings: &[Coding], body: &[u8], most: usize) -> Result<Vec<u8>, String> {
    codings.iter().rev().try_fold(body.to_vec(), |body, coding| one(*coding, &body, most))
}

fn one(coding: Coding, body: &[u8], most: usize) -> Result<Vec<u8>, String> {
    match coding {
        Coding::Gzip => read_limited(flate2::read::MultiGzDecoder::new(body), "gzip", most),
        Coding::Deflate => read_limited(flate2::read::ZlibDecoder::new(body), "deflate", most)
            .or_else(|_| read_limited(flate2::read::DeflateDecoder::new(body), "deflate", most)),
        Coding::Brotli => {
            read_limited(brotli_decompressor::Decompressor::new(body, 4096), "br", most)
        }
        Coding::Zstd => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(body)
                .map_err(|error| format!("the body is not zstd: {error}"))?;
            read_limited(decoder, "zstd", most)
        }
    }
}

fn read_limited(reader: impl Read, name: &str, most: usize) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    reader
        .take(most as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| format!("the body is not {name}: {error}"))?;
    match text.len() > most {
        true => Err(format!(
            "the decoded body is longer than {} MiB, so its content is not checked",
            most >> 20
        )),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const MOST: usize = 1 << 20;

    pub fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// `hello`, as encoded by the programs `brotli` and `zstd`.
    const BROTLI: &[u8] = &[0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
    const ZSTD: &[u8] =
        &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o'];

    #[test]
    fn every_coding_is_decoded_and_several_in_reverse() {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(b"hello").unwrap();
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        bare.write_all(b"hello").unwrap();
        for (header, body) in [
            ("gzip", gzip(b"hello")),
            ("deflate", zlib.finish().unwrap()),
            ("Deflate", bare.finish().unwrap()),
            ("br", BROTLI.to_vec()),
            ("zstd", ZSTD.to_vec()),
            ("zstd, gzip", gzip(ZSTD)),
            ("identity", b"hello".to_vec()),
        ] {
            assert_eq!(
                decoded(&codings(header.as_bytes()).unwrap(), &body, MOST).as_deref(),
                Ok(&b"hello"[..]),
                "{header}"
            );
        }
        assert_eq!(
            codings(b"gzip, x-made-up").unwrap_err(),
            "the content coding `x-made-up` is not supported"
        );
    }

    #[test]
    fn decompression_bomb_is_refused() {
        let bomb = gzip(&vec![0; 8 << 20]);
        assert!(decoded(&[Coding::Gzip], &bomb, MOST).unwrap_err().contains("longer than 1 MiB"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
                let _ = decoded(&[coding], &bytes, MOST);
            }
        }
    }
}
