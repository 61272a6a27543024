//! Header compression (RFC 7541).
//!
//! The decoder has a dynamic table. The encoder uses only the static table, so a block that is
//! encoded once serves every connection. Servers mostly repeat their headers, so a block that
//! equals the one before is compared instead of decoded.

use super::huffman;
use crate::headers::Headers;
use crate::limits::{HEAD_MAX, HEAD_TOO_LONG, HEADERS_MAX, TOO_MANY_HEADERS};
use std::collections::VecDeque;

/// The largest dynamic table: the initial SETTINGS_HEADER_TABLE_SIZE.
pub const TABLE_MAX: usize = 4096;
/// The size of an entry in addition to its text.
const ENTRY_OVERHEAD: usize = 32;
/// The largest decoded list, counted as SETTINGS_MAX_HEADER_LIST_SIZE does.
pub const LIST_MAX: usize = HEAD_MAX + ENTRY_OVERHEAD * HEADERS_MAX;

const INDEX_OUTSIDE: &str = "a header block that refers to an entry that does not exist";
const CUT_SHORT: &str = "a header block that ends too soon";

/// A decoded list of headers. Its buffers are reused.
#[derive(Debug, Default)]
pub struct Fields {
    text: Vec<u8>,
    fields: Vec<Field>,
    /// The limit that was exceeded. Then fields are missing.
    excess: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    value: usize,
    end: usize,
}

impl Fields {
    /// Returns names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|f| (&self.text[f.start..f.value], &self.text[f.value..f.end]))
    }

    /// Returns the limit that was exceeded, if fields are missing.
    pub fn excess(&self) -> Option<&'static str> {
        self.excess
    }

    /// Adds a field. Returns false if there is no room.
    fn push(&mut self, name: &[u8], value: &[u8]) -> bool {
        // The pseudo-header `:status` does not count.
        let most = HEADERS_MAX + usize::from(self.text.starts_with(b":"));
        if self.fields.len() == most || self.text.len() + name.len() + value.len() > HEAD_MAX {
            self.excess =
                Some(if self.fields.len() == most { TOO_MANY_HEADERS } else { HEAD_TOO_LONG });
            return false;
        }
        let start = self.text.len();
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.fields.push(Field { start, value: start + name.len(), end: self.text.len() });
        true
    }

    fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
        self.excess = None;
    }
}

impl Headers for Fields {
    fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }
}

/// Decodes the header blocks of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    fields: Fields,
    /// The block that `fields` was decoded from, if decoding it again gives the same. Comparing is
    /// cheaper than decoding.
    last: Vec<u8>,
    /// The fields that this block adds to the table, and how many additions are still to be made.
    indexed: Vec<usize>,
    owed: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    pub fn new() -> Decoder {
        Decoder {
            table: Table::new(),
            fields: Fields::default(),
            last: Vec::new(),
            indexed: Vec::new(),
            owed: 0,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Returns the list that was decoded last.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Decodes a complete block. Returns true if the list is the same as before.
    ///
    /// # Errors
    /// What is wrong with the block. The decoder cannot be used any more.
    pub fn decode(&mut self, block: &[u8]) -> Result<bool, &'static str> {
        if !block.is_empty() && block == self.last {
            self.owed += 1;
            return Ok(true);
        }
        self.settle();
        self.last.clear();
        self.fields.clear();
        self.indexed.clear();
        let (mut rest, mut resizes, mut refers) = (block, false, false);
        while let Some(&first) = rest.first() {
            if first & 0x80 != 0 {
                let index = integer(&mut rest, 7)?;
                refers |= index > STATIC.len();
                let (name, value) = self.table.get(index)?;
                self.fields.push(name, value);
                continue;
            }
            if first & 0xe0 == 0x20 {
                if !self.fields.fields.is_empty() {
                    return Err("a header table that changes its size within a block");
                }
                let size = integer(&mut rest, 5)?;
                if size > TABLE_MAX {
                    return Err("a header table larger than 4096 bytes");
                }
                self.table.resize(size);
                resizes = true;
                continue;
            }
            let is_indexed = first & 0x40 != 0;
            let index = integer(&mut rest, if is_indexed { 6 } else { 4 })?;
            refers |= index > STATIC.len();
            self.name.clear();
            match index {
                0 => string(&mut rest, &mut self.name)?,
                _ => self.name.extend_from_slice(self.table.get(index)?.0),
            }
            self.value.clear();
            string(&mut rest, &mut self.value)?;
            let is_kept = self.fields.push(&self.name, &self.value);
            if is_indexed {
                self.table.add(&self.name, &self.value);
            }
            if is_indexed && is_kept {
                self.indexed.push(self.fields.fields.len() - 1);
            }
        }
        // A block that exceeds a limit is decoded each time.
        if !resizes && self.fields.excess.is_none() && (self.indexed.is_empty() || !refers) {
            self.last.extend_from_slice(block);
        }
        Ok(false)
    }

    /// Applies to the table what the blocks that were not decoded would have added.
    fn settle(&mut self) {
        // After this many rounds, the table contains nothing else, and another round changes
        // nothing.
        for _ in 0..std::mem::take(&mut self.owed).min(TABLE_MAX / ENTRY_OVERHEAD) {
            for &at in &self.indexed {
                let Field { start, value, end } = self.fields.fields[at];
                self.table.add(&self.fields.text[start..value], &self.fields.text[value..end]);
            }
        }
    }
}

/// The dynamic table. Its text is in one buffer, oldest first.
#[derive(Debug)]
struct Table {
    entries: VecDeque<Field>,
    text: Vec<u8>,
    size: usize,
    limit: usize,
}

impl Table {
    fn new() -> Table {
        Table { entries: VecDeque::new(), text: Vec::new(), size: 0, limit: TABLE_MAX }
    }

    fn get(&self, index: usize) -> Result<(&[u8], &[u8]), &'static str> {
        if let Some((name, value)) = index.checked_sub(1).and_then(|i| STATIC.get(i)) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let age = index.checked_sub(STATIC.len() + 1).ok_or(INDEX_OUTSIDE)?;
        let at = self.entries.len().checked_sub(age + 1).ok_or(INDEX_OUTSIDE)?;
        let Field { start, value, end } = self.entries[at];
        Ok((&self.text[start..value], &self.text[value..end]))
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        self.evict(self.limit.saturating_sub(size));
        if size > self.limit {
            return;
        }
        let used = self.entries.front().map_or(self.text.len(), |oldest| oldest.start);
        if used > TABLE_MAX {
            self.text.drain(..used);
            for entry in &mut self.entries {
                *entry = Field {
                    start: entry.start - used,
                    value: entry.value - used,
                    end: entry.end - used,
                };
            }
        }
        let start = self.text.len();
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.entries.push_back(Field { start, value: start + name.len(), end: self.text.len() });
        self.size += size;
    }

    fn resize(&mut self, limit: usize) {
        self.limit = limit;
        self.evict(limit);
    }

    fn evict(&mut self, limit: usize) {
        while self.size > limit
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.end - oldest.start + ENTRY_OVERHEAD;
        }
    }
}

/// Takes an integer with a prefix of `prefix` bits.
fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, &'static str> {
    let (&first, mut tail) = rest.split_first().ok_or(CUT_SHORT)?;
    let mask = (1usize << prefix) - 1;
    let mut value = usize::from(first) & mask;
    if value == mask {
        // Four bytes of 7 bits exceed any size that we accept.
        for shift in [0, 7, 14, 21, 28] {
            let (&byte, after) = tail.split_first().ok_or(CUT_SHORT)?;
            if shift == 28 {
                return Err("a header block with a number that is too large");
            }
            tail = after;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = tail;
    Ok(value)
}

/// Takes a string and appends it to `out`.
fn string(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let is_coded = rest.first().is_some_and(|b| b & 0x80 != 0);
    let length = integer(rest, 7)?;
    let (text, tail) = rest.split_at_checked(length).ok_or(CUT_SHORT)?;
    *rest = tail;
    match is_coded {
        true => huffman::decode(text, out).ok_or("a header block whose Huffman code is wrong"),
        false => {
            out.extend_from_slice(text);
            Ok(())
        }
    }
}

fn put_integer(out: &mut Vec<u8>, pattern: u8, prefix: u32, mut value: usize) {
    let mask = (1usize << prefix) - 1;
    if value < mask {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | mask as u8);
    value -= mask;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    let coded = huffman::length(text);
    if coded < text.len() {
        put_integer(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        put_integer(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}

/// Appends one header, which never enters the dynamic table.
pub fn encode(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    if let Some(at) = STATIC.iter().position(|&(n, v)| n == name && v.as_bytes() == value) {
        return put_integer(out, 0x80, 7, at + 1);
    }
    match STATIC.iter().position(|&(n, _)| n == name) {
        Some(at) => put_integer(out, 0, 4, at + 1),
        None => {
            out.push(0);
            put_string(out, name.as_bytes());
        }
    }
    put_string(out, value);
}

/// Returns names and values of a complete block.
#[cfg(test)]
pub fn decode(block: &[u8]) -> Result<Vec<(String, String)>, &'static str> {
    let mut decoder = Decoder::new();
    decoder.decode(block)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(decoder.fields().iter().map(|(name, value)| (text(name), text(value))).collect())
}

#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Blocks that add to the table, refer to it or change its size, and some that do not. The last
    /// entry is larger than a small table.
    const BLOCKS: [&str; 9] = [
        "88",
        "884001610162",
        "8840016101624001630164",
        "be",
        "88bf",
        "7e0165",
        "3f0188",
        "3fe11f88",
        "4001662800000000000000000000000000000000000000000000000000000000000000000000000000000000",
    ];

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        hex.chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn decoded(decoder: &mut Decoder, hex: &str) -> String {
        decoder.decode(&bytes(hex)).unwrap();
        let line = |(n, v): (&[u8], &[u8])| {
            format!("{}={}", String::from_utf8_lossy(n), String::from_utf8_lossy(v))
        };
        decoder.fields().iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn integers_of_appendix_c_1() {
        for (hex, prefix, value) in [("0a", 5, 10), ("1f9a0a", 5, 1337), ("2a", 8, 42)] {
            let text = bytes(hex);
            assert_eq!(integer(&mut &text[..], prefix), Ok(value));
            let mut out = Vec::new();
            put_integer(&mut out, 0, prefix, value);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn fields_of_appendix_c_2() {
        let of = |hex| decoded(&mut Decoder::new(), hex);
        assert_eq!(
            of("400a637573746f6d2d6b65790d637573746f6d2d686561646572"),
            "custom-key=custom-header"
        );
        assert_eq!(of("040c2f73616d706c652f70617468"), ":path=/sample/path");
        assert_eq!(of("100870617373776f726406736563726574"), "password=secret");
        assert_eq!(of("82"), ":method=GET");
    }

    #[test]
    fn requests_of_appendix_c_3_and_c_4() {
        let plain = [
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ];
        let coded = [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ];
        for blocks in [plain, coded] {
            let mut decoder = Decoder::new();
            assert_eq!(
                decoded(&mut decoder, blocks[0]),
                ":method=GET|:scheme=http|:path=/|:authority=www.example.com"
            );
            assert_eq!(decoder.table.size, 57);
            assert_eq!(
                decoded(&mut decoder, blocks[1]),
                ":method=GET|:scheme=http|:path=/|:authority=www.example.com|cache-control=no-cache"
            );
            assert_eq!(decoder.table.size, 110);
            assert_eq!(
                decoded(&mut decoder, blocks[2]),
                ":method=GET|:scheme=https|:path=/index.html|:authority=www.example.com|custom-key=custom-value"
            );
            assert_eq!(decoder.table.size, 164);
        }
    }

    #[test]
    fn answers_of_appendix_c_5_and_c_6_with_evictions() {
        let plain = [
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
        ];
        let coded = [
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ];
        let rest = "cache-control=private|date=Mon, 21 Oct 2013 20:13:21 GMT|location=https://www.example.com";
        for blocks in [plain, coded] {
            let mut decoder = Decoder::new();
            decoder.table.resize(256);
            assert_eq!(decoded(&mut decoder, blocks[0]), format!(":status=302|{rest}"));
            assert_eq!(decoder.table.size, 222);
            assert_eq!(decoded(&mut decoder, blocks[1]), format!(":status=307|{rest}"));
            assert_eq!(decoder.table.size, 222);
            assert_eq!(
                decoded(&mut decoder, blocks[2]),
                ":status=200|cache-control=private|date=Mon, 21 Oct 2013 20:13:22 GMT|location=https://www.example.com|content-encoding=gzip|set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
            );
            assert_eq!(decoder.table.size, 215);
        }
    }

    #[test]
    fn malformed_block_is_an_error() {
        for hex in [
            "80",
            "be",
            "3f",
            "3fe21f",
            "8220",
            "ffffffffffffff",
            "0001",
            "000161",
            "0084ffffffff00",
        ] {
            assert!(Decoder::new().decode(&bytes(hex)).is_err(), "{hex}");
        }
    }

    #[test]
    fn repeated_block_may_have_another_meaning() {
        let mut decoder = Decoder::new();
        assert_eq!(decoded(&mut decoder, "4001610162"), "a=b");
        assert_eq!(decoded(&mut decoder, "be"), "a=b");
        assert_eq!(decoded(&mut decoder, "4001630164"), "c=d");
        assert_eq!(decoded(&mut decoder, "be"), "c=d");
        assert_eq!(decoded(&mut decoder, "be"), "c=d");
        assert_eq!(decoded(&mut decoder, "4001630164"), "c=d");
        assert_eq!(decoder.table.entries.len(), 3);
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(fields in prop::collection::vec(("[a-z:-]{1,20}", "\\PC{0,300}"), 0..20)) {
            let mut block = Vec::new();
            fields.iter().for_each(|(name, value)| encode(&mut block, name, value.as_bytes()));
            let mut decoder = Decoder::new();
            for _ in 0..2 {
                decoder.decode(&block).unwrap();
                let found: Vec<_> = decoder.fields().iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
                let right: Vec<_> = fields.iter().map(|(n, v)| (n.clone().into_bytes(), v.clone().into_bytes())).collect();
                prop_assert_eq!(found, right);
            }
        }

        #[test]
        fn comparing_blocks_equals_decoding_them(
            blocks in prop::collection::vec((0usize..BLOCKS.len(), prop_oneof![1usize..4, Just(200)]), 0..12),
        ) {
            let (mut comparing, mut decoding) = (Decoder::new(), Decoder::new());
            for (block, times) in blocks {
                for _ in 0..times {
                    decoding.settle();
                    decoding.last.clear();
                    let block = bytes(BLOCKS[block]);
                    prop_assert_eq!(comparing.decode(&block).is_ok(), decoding.decode(&block).is_ok());
                    prop_assert!(comparing.fields().iter().eq(decoding.fields().iter()));
                }
                comparing.settle();
                let entries = |d: &Decoder| (62..62 + d.table.entries.len()).map(|i| d.table.get(i).map(|(n, v)| (n.to_vec(), v.to_vec()))).collect::<Vec<_>>();
                prop_assert_eq!(entries(&comparing), entries(&decoding));
                prop_assert_eq!(comparing.table.size, decoding.table.size);
            }
        }

        #[test]
        fn no_bytes_cause_a_panic_or_overfill_the_table(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
            let mut decoder = Decoder::new();
            for block in blocks {
                let _ = decoder.decode(&block);
                prop_assert!(decoder.table.size <= TABLE_MAX && decoder.table.text.len() <= 3 * TABLE_MAX);
            }
        }
    }
}
