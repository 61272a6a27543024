//! What Prometheus's remote write takes: version 1.0 of its protocol, one request with every value.

use super::Source;
use super::metrics::{Point, families};
use model::problem::Problems;

/// A record as the body of a remote write request: protobuf, in snappy's block format.
///
/// # Errors
/// A trial has no time that can be read.
pub fn remote_write(source: &Source<'_>) -> Result<Vec<u8>, Problems> {
    let mut request = Vec::new();
    for family in families(source) {
        for point in &family.points {
            bytes(&mut request, 1, &series(family.name, point)?);
        }
    }
    snap::raw::Encoder::new().compress_vec(&request).map_err(|e| {
        Problems::plain(format!("one request cannot hold all of the record: {e}"), "choose with --cell or --contender what is written")
    })
}

/// A time series of one value: its labels, sorted, and the value with its time.
fn series(family: &str, point: &Point) -> Result<Vec<u8>, Problems> {
    let at_ms = point.at_ms.ok_or_else(|| {
        Problems::plain("a trial of the record has no time that can be read", "remote write needs times; OpenMetrics text can do without")
    })?;
    // What is empty is as if it were not there, and may not be.
    let named = point.labels.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (*name, value.clone()));
    let mut labels: Vec<(&str, String)> = named.chain([("__name__", format!("{family}{}", point.suffix))]).collect();
    labels.sort();
    let mut series = Vec::new();
    for (name, value) in labels {
        let mut label = Vec::new();
        bytes(&mut label, 1, name.as_bytes());
        bytes(&mut label, 2, value.as_bytes());
        bytes(&mut series, 1, &label);
    }
    let mut sample = vec![FIRST_FIELD_OF_EIGHT_BYTES];
    sample.extend(point.value.to_le_bytes());
    sample.push(SECOND_FIELD_OF_A_NUMBER);
    number(&mut sample, at_ms as u64);
    bytes(&mut series, 2, &sample);
    Ok(series)
}

const FIRST_FIELD_OF_EIGHT_BYTES: u8 = (1 << 3) | 1;
const SECOND_FIELD_OF_A_NUMBER: u8 = 2 << 3;

/// A field of so many bytes, as protobuf has it: texts and messages within messages.
fn bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    number(out, (field << 3) | 2);
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A whole number, seven bits a byte, the lowest first.
fn number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
