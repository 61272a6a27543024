//! The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: the lengths determine the
//! codes.

/// The length of each byte's code in bits. The last is that of the end-of-string symbol.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const LONGEST: usize = 30;
/// Codes up to this length are found by one look-up. They include all common ASCII characters.
const QUICK: u32 = 10;

struct Code {
    codes: [u32; 257],
    /// Symbols in the order of their codes.
    symbols: [u16; 257],
    /// By length: the code after the last one of that length, in the upper bits of 32.
    end: [u64; LONGEST + 1],
    first: [u32; LONGEST + 1],
    offset: [u16; LONGEST + 1],
    /// By the next bits: the symbol and its length. The length is 0 for longer codes.
    quick: [(u8, u8); 1 << QUICK],
}

static CODE: Code = build();

const fn build() -> Code {
    let mut code = Code {
        codes: [0; 257],
        symbols: [0; 257],
        end: [0; LONGEST + 1],
        first: [0; LONGEST + 1],
        offset: [0; LONGEST + 1],
        quick: [(0, 0); 1 << QUICK],
    };
    let (mut next, mut placed, mut length) = (0u32, 0usize, 1usize);
    while length <= LONGEST {
        next <<= 1;
        code.first[length] = next;
        code.offset[length] = placed as u16;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                code.codes[symbol] = next;
                code.symbols[placed] = symbol as u16;
                if length <= QUICK as usize {
                    let shift = QUICK as usize - length;
                    let mut i = 0;
                    while i < 1 << shift {
                        code.quick[((next as usize) << shift) + i] = (symbol as u8, length as u8);
                        i += 1;
                    }
                }
                next += 1;
                placed += 1;
            }
            symbol += 1;
        }
        code.end[length] = (next as u64) << (32 - length);
        length += 1;
    }
    code
}

/// Returns the length of `text` in bytes when encoded.
pub fn length(text: &[u8]) -> usize {
    text.iter().map(|&b| usize::from(LENGTHS[usize::from(b)])).sum::<usize>().div_ceil(8)
}

/// Appends the encoded `text`.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for &byte in text {
        let symbol = usize::from(byte);
        bits = bits << LENGTHS[symbol] | u64::from(CODE.codes[symbol]);
        held += u32::from(LENGTHS[symbol]);
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        let padding = 8 - held;
        out.push((bits << padding) as u8 | ((1u16 << padding) - 1) as u8);
    }
}

/// Appends the decoded text. Returns `None` if the code or its padding is invalid.
pub fn decode(coded: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut held, mut rest) = (0u64, 0u32, coded.iter());
    loop {
        while held <= 32 {
            let Some(&byte) = rest.next() else { break };
            bits = bits << 8 | u64::from(byte);
            held += 8;
        }
        if held == 0 {
            return Some(());
        }
        // The next 32 bits, filled up with ones like padding.
        let window = match held >= 32 {
            true => (bits >> (held - 32)) as u32,
            false => (bits << (32 - held)) as u32 | u32::MAX >> held,
        };
        let (mut symbol, mut length) = CODE.quick[(window >> (32 - QUICK)) as usize];
        if length == 0 {
            let found =
                (QUICK as usize + 1..=LONGEST).find(|&l| u64::from(window) < CODE.end[l])?;
            let at = usize::from(CODE.offset[found])
                + ((window >> (32 - found)) - CODE.first[found]) as usize;
            // The end-of-string symbol is never sent. Padding consists of its first bits.
            let whole = u8::try_from(CODE.symbols[at]);
            (symbol, length) = (whole.unwrap_or_default(), found as u8);
            if whole.is_err() {
                return (held < 8 && window == u32::MAX).then_some(());
            }
        }
        if u32::from(length) > held {
            return (held < 8 && window == u32::MAX).then_some(());
        }
        held -= u32::from(length);
        out.push(symbol);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_match_the_rfc() {
        assert_eq!(
            (CODE.codes[usize::from(b'0')], CODE.codes[usize::from(b'z')], CODE.codes[256]),
            (0, 0x7b, 0x3fff_ffff)
        );
        assert_eq!(
            (CODE.codes[0], CODE.codes[249], CODE.codes[22]),
            (0x1ff8, 0xffffffe, 0x3ffffffe)
        );
    }

    #[test]
    fn wrong_padding_and_end_of_string_are_refused() {
        for coded in
            [&b"\xff"[..], b"\xff\xff\xff\xff", b"\xfe", b"\x00\xff\xff", b"\xff\xff\xff\xfc"]
        {
            assert_eq!(decode(coded, &mut Vec::new()), None, "{coded:x?}");
        }
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let (mut coded, mut decoded) = (Vec::new(), Vec::new());
            encode(&text, &mut coded);
            prop_assert_eq!(coded.len(), length(&text));
            prop_assert_eq!(decode(&coded, &mut decoded), Some(()));
            prop_assert_eq!(decoded, text);
        }

        #[test]
        fn encoding_inverts_decoding(coded in prop::collection::vec(any::<u8>(), 0..60)) {
            let (mut decoded, mut again) = (Vec::new(), Vec::new());
            if decode(&coded, &mut decoded).is_some() {
                encode(&decoded, &mut again);
                prop_assert_eq!(again, coded);
            }
        }
    }
}
