//! Something is written for each request: a log, most often.

use super::{Finding, REQUESTS_MIN, Seen, by_block, typical};
use model::judgement::Picture;

/// So many bytes a request, at least: the shortest line of an access log has about 40, and some log one request in two.
const BYTES_MIN: f64 = 16.0;
/// What is written to disks counts from here on: the kernel counts whole pages, and every program writes a few. Its output is among it where that is kept in a file.
const DISK_MIN: u64 = 1 << 20;

pub(super) fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(|(trial, m)| {
        // A collector's log comes with collections, not with requests.
        let output = m.usage.signs.output_bytes.filter(|_| trial.pauses.is_empty()).unwrap_or(0);
        let disk = m.usage.signs.disk_bytes.filter(|bytes| *bytes >= DISK_MIN && trial.pauses.is_empty()).unwrap_or(0);
        let bytes = output.max(disk) as f64 / m.counts.settled().max(1) as f64;
        (m.counts.settled() >= REQUESTS_MIN && bytes >= BYTES_MIN).then_some((bytes, disk.saturating_sub(output) > output))
    })?;
    let to_disk = showing.iter().any(|(_, (_, to_disk))| *to_disk);
    Some(Finding {
        kind: "log-on-hot-path",
        sentence: format!(
            "it wrote {} bytes a request to {} while it was measured: each request pays for that",
            typical(&showing, |found| found.0).round(),
            if to_disk { "files" } else { "its output" }
        ),
        hint: "switch the access log off or write it in batches, and do so for every contender alike",
        picture: Picture {
            title: "Written while measured".into(),
            x: "block".into(),
            y: "bytes a request".into(),
            bars: false,
            series: vec![(seen.contender.to_string(), by_block(&showing, |found| found.0))],
            marks: vec![],
        },
    })
}
