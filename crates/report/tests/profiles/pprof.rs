//! Reads pprof's format back: a decoder of Protocol Buffers by the specification, as far as the
//! message `Profile` needs it.

use super::{Stacks, exported, stacks_of};
use flate2::read::GzDecoder;
use report::export;
use std::collections::BTreeMap;
use std::io::Read;

/// The fields of a message, in their order: the number, and a number or bytes.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("a number was expected"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => panic!("bytes were expected"),
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let (content, rest) = {
                    let length = varint(&mut bytes) as usize;
                    bytes.split_at(length)
                };
                bytes = rest;
                Value::Bytes(content)
            }
            other => panic!("wire type {other}"),
        };
        all.push((key >> 3, value));
    }
    all
}

fn packed(mut bytes: &[u8]) -> Vec<u64> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(varint(&mut bytes));
    }
    all
}

/// The value of a number field, zero if it is absent.
fn number(message: &[u8], field: u64) -> u64 {
    fields(message).iter().find(|(at, _)| *at == field).map_or(0, |(_, value)| value.number())
}

#[test]
fn pprof_has_every_sample_with_its_labels() {
    let gzip = exported(None, |source| export::pprof(source).unwrap());
    let mut bytes = Vec::new();
    GzDecoder::new(gzip.as_slice()).read_to_end(&mut bytes).unwrap();
    let profile = fields(&bytes);
    let all = |field: u64| -> Vec<&[u8]> {
        profile.iter().filter(|(at, _)| *at == field).map(|(_, value)| value.bytes()).collect()
    };
    let texts: Vec<&str> =
        all(6).into_iter().map(|text| std::str::from_utf8(text).unwrap()).collect();
    assert_eq!(texts[0], "");
    let text = |at: u64| texts[at as usize];
    let kinds: Vec<&str> = all(1).into_iter().map(|kind| text(number(kind, 1))).collect();
    assert_eq!(kinds, ["samples", "cpu"]);
    let functions: BTreeMap<u64, &str> =
        all(5).into_iter().map(|f| (number(f, 1), text(number(f, 2)))).collect();
    let locations: BTreeMap<u64, &str> = all(4)
        .into_iter()
        .map(|location| {
            let line = fields(location).into_iter().find(|(at, _)| *at == 4).unwrap().1.bytes();
            (number(location, 1), functions[&number(line, 1)])
        })
        .collect();
    let mut read: BTreeMap<&str, Stacks> = BTreeMap::new();
    for sample in all(2) {
        let of_sample = fields(sample);
        let bytes_of = |field: u64| {
            of_sample.iter().filter(move |(at, _)| *at == field).map(|(_, value)| value.bytes())
        };
        let labels: BTreeMap<&str, &str> =
            bytes_of(3).map(|label| (text(number(label, 1)), text(number(label, 2)))).collect();
        assert_eq!(labels["cell"], "c");
        let inwards = packed(bytes_of(1).next().unwrap());
        let names = inwards.iter().rev().map(|id| locations[id]);
        let stack: Vec<&str> = std::iter::once(labels["thread"]).chain(names).collect();
        let values = packed(bytes_of(2).next().unwrap());
        assert_eq!(values[1], values[0] * super::PERIOD_NS);
        read.entry(labels["contender"]).or_default().insert(stack.join(";"), values[0]);
    }
    assert_eq!(read, [("a", stacks_of("a")), ("b", stacks_of("b"))].into());
}
