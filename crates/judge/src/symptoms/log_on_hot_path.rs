//! Bytes that are written for each request, most often an access log.

use super::finding::{Detector, Finding, REQUESTS_MIN, Seen, by_block, typical};
use record::judgement::Picture;

/// The fewest bytes per request. The shortest line of an access log has about 40, and some programs
/// log every second request.
const BYTES_MIN: f64 = 16.0;
/// Bytes written to disks count from here on: the kernel counts whole pages, and every program
/// writes a few. Output that is kept in a file is included.
const DISK_MIN: u64 = 1 << 20;

pub(super) static DETECTOR: Detector = Detector {
    kind: "log-on-hot-path",
    sign: "bytes written to its output or to disks, per request",
    threshold: "at least 16 bytes per request; to disks from 1 MiB on, because the kernel counts \
        pages. It does not apply if the output is a collector's log",
    cause: "an access log",
    hint: "turn the access log off or write it in batches, and do the same for every contender",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(|(trial, m)| {
        // A collector writes its log per collection, not per request.
        let output = m.usage.signs.output_bytes.filter(|_| trial.pauses.is_empty()).unwrap_or(0);
        let disk = m
            .usage
            .signs
            .disk_bytes
            .filter(|bytes| *bytes >= DISK_MIN && trial.pauses.is_empty())
            .unwrap_or(0);
        let bytes = output.max(disk) as f64 / m.counts.settled().max(1) as f64;
        (m.counts.settled() >= REQUESTS_MIN && bytes >= BYTES_MIN)
            .then_some((bytes, disk.saturating_sub(output) > output))
    })?;
    let to_disk = showing.iter().any(|(_, (_, to_disk))| *to_disk);
    Some(Finding {
        sentence: format!(
            "it wrote {} bytes per request to {} during the measurement, at a cost for each request",
            typical(&showing, |found| found.0).round(),
            if to_disk { "files" } else { "its output" }
        ),
        picture: Picture {
            title: "Bytes written during the measurement".into(),
            x: "block".into(),
            y: "bytes per request".into(),
            bars: false,
            series: vec![(seen.contender.to_string(), by_block(&showing, |found| found.0))],
            marks: vec![],
        },
    })
}
