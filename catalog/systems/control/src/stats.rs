//! Exact counters of events.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters. Their names in the JSON are in `NAMES`.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// Connections accepted.
    Connections,
    /// Connections closed.
    Closed,
    /// Requests read whole, except for those for the counters.
    Requests,
    /// Whole responses, correct or wrong.
    Answers,
    /// Responses with one wrong byte.
    Wrong,
    /// Responses with a status of `--status-every`.
    Statuses,
    /// Responses with 503 because of `--warm-after`.
    Warming,
    /// Responses after which the connection was closed without an announcement.
    Closes,
    /// Responses cut in the middle of the body.
    Cuts,
    /// Responses that were not HTTP.
    Garbage,
    /// Connections reset instead of a response.
    Resets,
    /// Malformed requests, which were refused.
    Malformed,
    /// Requests whose client had closed its side before the response.
    Left,
    /// Requests without a response because their connection ended first.
    Dropped,
    /// Responses with a delay.
    Delayed,
    /// Sum of the lateness of those, in nanoseconds.
    LateNs,
    /// CPU time used for requests, in nanoseconds.
    CpuNs,
}

const NAMES: [&str; 17] = [
    "connections",
    "closed",
    "requests",
    "answers",
    "wrong",
    "statuses",
    "warming",
    "closes",
    "cuts",
    "garbage",
    "resets",
    "malformed",
    "left",
    "dropped",
    "delayed",
    "late_ns",
    "cpu_ns",
];

/// The counters of one thread. Aligned so that no two threads write to one cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    counts: [AtomicU64; NAMES.len()],
    latest_ns: AtomicU64,
}

impl Counters {
    /// Counts one.
    pub fn one(&self, count: Count) {
        self.add(count, 1);
    }

    /// Counts several.
    pub fn add(&self, count: Count, several: u64) {
        self.counts[count as usize].fetch_add(several, Ordering::Relaxed);
    }

    /// Counts a response that began `nanoseconds` after the end of its delay.
    pub fn late(&self, nanoseconds: u64) {
        self.one(Count::Delayed);
        self.add(Count::LateNs, nanoseconds);
        self.latest_ns.fetch_max(nanoseconds, Ordering::Relaxed);
    }
}

/// Returns the sum of the counters of all threads (and the maximum lateness) as a JSON object.
/// `stalls` is the number of stalls so far, `children` are process ids.
pub fn json(threads: &[Counters], stalls: u64, children: &[u32]) -> String {
    let mut json = String::from("{");
    for (index, name) in NAMES.iter().enumerate() {
        let sum: u64 =
            threads.iter().map(|thread| thread.counts[index].load(Ordering::Relaxed)).sum();
        let _ = write!(json, "\"{name}\":{sum},");
    }
    let latest: u64 =
        threads.iter().map(|thread| thread.latest_ns.load(Ordering::Relaxed)).max().unwrap_or(0);
    // A list of numbers has the same form in Rust and in JSON.
    let _ =
        write!(json, "\"late_max_ns\":{latest},\"stalls\":{stalls},\"children\":{children:?}}}");
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed() {
        let threads = [Counters::default(), Counters::default()];
        threads[0].one(Count::Requests);
        threads[1].one(Count::Requests);
        threads[1].add(Count::CpuNs, 500);
        threads[0].late(30);
        threads[1].late(20);
        let json = json(&threads, 3, &[11, 12]);
        assert!(
            json.starts_with("{\"connections\":0,\"closed\":0,\"requests\":2,\"answers\":0,"),
            "{json}"
        );
        assert!(
            json.ends_with("\"delayed\":2,\"late_ns\":50,\"cpu_ns\":500,\"late_max_ns\":30,\"stalls\":3,\"children\":[11, 12]}"),
            "{json}"
        );
    }
}
