//! Reads the pauses of a garbage collector from a contender's log.
//!
//! A variant must switch the log on: `-Xlog:gc,safepoint:stdout:timenanos` for a JVM, or
//! `GODEBUG=gctrace=1` for Go. In profiled starts `profiled_environment.rs` does. Start with
//! [`pauses_in_log`], or with [`pauses_within`] for their sum.

use record::{Pause, Pauses};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Maximum number of bytes to read, from the end of a log.
const READ_MAX: u64 = 16 << 20;
/// Maximum number of pauses to keep: the longest.
const PAUSES_MAX: usize = 2_000;
/// Shorter pauses do not matter for any latency.
const SHORTEST_NS: u64 = 50_000;
/// A longer or later pause is a parse error: eleven days.
const LONGEST_NS: f64 = 1e15;
/// Maximum length of a pause's name.
const KIND_MAX: usize = 64;
/// The two pauses of a collection by Go.
const TERMINATION: &str = "sweep termination";
const MARK_TERMINATION: &str = "mark termination";

/// Reads the pauses in a log, ordered by their beginning. `started_ns` is when the process was
/// started (CLOCK_MONOTONIC).
pub(crate) fn pauses_in_log(path: &Path, started_ns: u64) -> Vec<Pause> {
    longest_pauses(&end_of_log(path), started_ns)
}

/// Adds up the pauses in a log that began within any of these spans (CLOCK_MONOTONIC) and stopped
/// all threads of the program. `None` if the log has nothing of a garbage collector.
pub(crate) fn pauses_within(path: &Path, started_ns: u64, spans: &[(u64, u64)]) -> Option<Pauses> {
    sum_within(&end_of_log(path), started_ns, spans)
}

fn end_of_log(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let length = file.metadata().map(|m| m.len()).unwrap_or(0);
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(READ_MAX)));
        let _ = file.take(READ_MAX).read_to_end(&mut bytes);
    }
    bytes
}

fn sum_within(log: &[u8], started_ns: u64, spans: &[(u64, u64)]) -> Option<Pauses> {
    let (mut sum, mut has_log) = (Pauses::default(), false);
    for line in log.split(|b| *b == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        has_log |= is_first_line(line);
        for pause in pauses_in_line(line, started_ns) {
            has_log = true;
            let at_ns = started_ns.saturating_add(pause.at_ns);
            if stops_all(&pause) && spans.iter().any(|(from, to)| (*from..*to).contains(&at_ns)) {
                sum.count += 1;
                sum.total_ns = sum.total_ns.saturating_add(pause.duration_ns);
                sum.longest_ns = sum.longest_ns.max(pause.duration_ns);
            }
        }
    }
    has_log.then_some(sum)
}

/// Whether a pause is one of the collector itself. Safepoints have other reasons too, and those of
/// a collection are in its own line as well.
fn stops_all(pause: &Pause) -> bool {
    pause.kind.starts_with("Pause ") || [TERMINATION, MARK_TERMINATION].contains(&&*pause.kind)
}

/// Whether this is the line with which a JVM begins its log of collections: `[...][gc] Using G1`.
fn is_first_line(line: &str) -> bool {
    decorations(line).is_some_and(|(decorations, text)| {
        text.starts_with("Using ") && decorations.split("][").any(|part| part.trim() == "gc")
    })
}

fn longest_pauses(log: &[u8], started_ns: u64) -> Vec<Pause> {
    let mut pauses = Vec::new();
    for line in log.split(|b| *b == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        pauses.extend(pauses_in_line(line, started_ns));
        if pauses.len() >= 2 * PAUSES_MAX {
            keep_longest(&mut pauses);
        }
    }
    keep_longest(&mut pauses);
    pauses.sort_by_key(|pause| pause.at_ns);
    pauses
}

/// The pauses that one line of a log describes: up to three of Go, one of a JVM.
fn pauses_in_line(line: &str, started_ns: u64) -> impl Iterator<Item = Pause> {
    let (go, jvm) = match line.strip_prefix("gc ") {
        Some(cycle) => (go(cycle), None),
        None => (None, jvm(line.trim_end(), started_ns)),
    };
    go.into_iter().flatten().chain(jvm)
}

fn keep_longest(pauses: &mut Vec<Pause>) {
    pauses.retain(|pause| pause.duration_ns >= SHORTEST_NS);
    pauses.sort_by_key(|pause| std::cmp::Reverse(pause.duration_ns));
    pauses.truncate(PAUSES_MAX);
}

/// Parses `12.5` of a unit of this many nanoseconds.
fn nanoseconds(number: &str, unit: f64) -> Option<u64> {
    let value = number.parse::<f64>().ok()? * unit;
    (0.0..=LONGEST_NS).contains(&value).then_some(value.round() as u64)
}

fn kind(text: &str) -> String {
    text.chars().take(KIND_MAX).collect()
}

/// Parses `1 @0.012s 2%: 0.026+0.39+0.10 ms clock, ...` of Go: a pause, a concurrent phase, and
/// another pause.
fn go(cycle: &str) -> Option<[Pause; 3]> {
    let (number, rest) = cycle.split_once(" @")?;
    number.parse::<u64>().ok()?;
    let (at, rest) = rest.split_once("s ")?;
    let (_, clock) = rest.split_once("%: ")?;
    let (clock, _) = clock.split_once(" ms clock")?;
    let mut at_ns = nanoseconds(at, 1e9)?;
    let mut durations = clock.split('+').map(|ms| nanoseconds(ms, 1e6));
    let mut next = |kind: &str| {
        let duration_ns = durations.next()??;
        let pause = Pause { at_ns, duration_ns, kind: kind.into() };
        at_ns += duration_ns;
        Some(pause)
    };
    Some([next(TERMINATION)?, next("concurrent mark")?, next(MARK_TERMINATION)?])
}

/// Parses `[12.345s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M)
/// 2.345ms` and `[...][safepoint] Safepoint "ICBufferFull", ..., Total: 2099584 ns` of a JVM. It
/// writes each line when the pause is over.
fn jvm(line: &str, started_ns: u64) -> Option<Pause> {
    let (decorations, text) = decorations(line)?;
    let (duration_ns, kind) =
        if let Some((_, pause)) = text.strip_prefix("GC(").and_then(|rest| rest.split_once(") ")) {
            // The Z collector names the generation in front: `Y: Pause Mark Start (Major) 0.02ms`.
            let pause = pause.split_once(": ").map_or(pause, |(_, pause)| pause);
            let (what, duration) = pause.strip_prefix("Pause ")?.rsplit_once(' ')?;
            let name = what.split_once(" (").map_or(what, |(name, _)| name);
            (nanoseconds(duration.strip_suffix("ms")?, 1e6)?, kind(&format!("Pause {name}")))
        } else {
            let (name, rest) = text.strip_prefix("Safepoint \"")?.split_once('"')?;
            let (_, total) = rest.rsplit_once("Total: ")?;
            let total = total.split_once(" ns").map_or(total, |(total, _)| total);
            (nanoseconds(total.trim(), 1.0)?, kind(&format!("safepoint {name}")))
        };
    let ended_ns = decorations
        .split("][")
        .find_map(|decoration| after_start(decoration.trim(), started_ns))?;
    Some(Pause { at_ns: ended_ns.saturating_sub(duration_ns), duration_ns, kind })
}

/// Splits a line into its decorations, without the outer brackets, and the text after them.
fn decorations(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix('[')?;
    let end = inner.find("] ")?;
    Some((&inner[..end], inner[end + 2..].trim_start()))
}

/// Parses the time in a decoration, since the start of the process. `12.345s`, `12345ms` and
/// `12345ns` count from there. With `timenanos`, nanoseconds are those of the clock of
/// `started_ns`.
fn after_start(decoration: &str, started_ns: u64) -> Option<u64> {
    if let Some(number) = decoration.strip_suffix("ns") {
        let ns = number.parse::<u64>().ok()?;
        let since = ns.checked_sub(started_ns).unwrap_or(ns);
        return (since as f64 <= LONGEST_NS).then_some(since);
    }
    match decoration.strip_suffix("ms") {
        Some(number) => nanoseconds(number, 1e6),
        None => nanoseconds(decoration.strip_suffix('s')?, 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pauses(log: &str) -> Vec<(u64, u64, String)> {
        longest_pauses(log.as_bytes(), 5_000_000_000)
            .into_iter()
            .map(|p| (p.at_ns, p.duration_ns, p.kind))
            .collect()
    }

    #[test]
    fn pauses_of_a_jvm_are_collections_and_safepoints() {
        let log = "[0.005s][info][gc] Using G1\n\
            [2.000s][info][gc,start    ] GC(3) Pause Young (Normal) (G1 Evacuation Pause)\n\
            [2.010s][info][gc          ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 10.000ms\n\
            [2.011s][info][gc,phases   ] GC(3)   Evacuate Collection Set: 1.9ms\n\
            [7100000000ns][safepoint   ] Safepoint \"G1CollectFull\", Time since last: 1 ns, Reaching safepoint: 1 ns, At safepoint: 1 ns, Total: 50000000 ns\n\
            [9000ms] GC(4) Pause Full (System.gc()) 3M->3M(10M) 12.5ms\n";
        assert_eq!(
            pauses(log),
            [
                (2_000_000_000, 10_000_000, "Pause Young".into()),
                (2_050_000_000, 50_000_000, "safepoint G1CollectFull".into()),
                (8_987_500_000, 12_500_000, "Pause Full".into()),
            ]
        );
    }

    #[test]
    fn pauses_of_go_are_three_parts_of_each_cycle() {
        let log = "gc 1 @1.500s 2%: 0.060+30+0.10 ms clock, 0.05+0.1/0.3/0.5+0.2 ms cpu, 4->4->0 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 2 P\n";
        let expected = [
            (1_500_000_000, 60_000, "sweep termination".into()),
            (1_500_060_000, 30_000_000, "concurrent mark".into()),
            (1_530_060_000, 100_000, "mark termination".into()),
        ];
        assert_eq!(pauses(log), expected);
    }

    fn within(log: &str, spans: &[(u64, u64)]) -> Option<(u64, u64, u64)> {
        let sum = sum_within(log.as_bytes(), 5_000_000_000, spans)?;
        Some((sum.count, sum.total_ns, sum.longest_ns))
    }

    #[test]
    fn pauses_within_spans_are_added_up() {
        let jvm = "[5001000000ns][gc] Using The Z Garbage Collector\n\
            [6000000000ns][gc,phases] GC(0) Y: Pause Mark Start (Major) 0.020ms\n\
            [6100000000ns][gc,phases] GC(0) Y: Concurrent Mark 7.000ms\n\
            [6200000000ns][safepoint] Safepoint \"XMarkEnd\", Total: 9000000 ns\n\
            [6300000000ns][gc,phases] GC(0) O: Pause Mark End 0.030ms\n\
            [9000000000ns][gc] GC(1) Pause Full (System.gc()) 3M->3M(10M) 12.5ms\n";
        let spans = [(5_900_000_000, 6_200_000_000), (6_250_000_000, 8_000_000_000)];
        assert_eq!(within(jvm, &spans), Some((2, 50_000, 30_000)));
        assert_eq!(within(jvm, &spans[..1]), Some((1, 20_000, 20_000)));
        let go =
            "gc 7 @1.500s 2%: 0.060+30+0.10 ms clock, 0.1+0.1/0.3/0.5+0.2 ms cpu, 4->4->0 MB\n";
        assert_eq!(within(go, &[(6_000_000_000, 7_000_000_000)]), Some((2, 160_000, 100_000)));
    }

    #[test]
    fn log_without_a_collector_has_no_sum() {
        assert_eq!(within("[1s] ready\ngc is fine\nUsing G1\n", &[(0, u64::MAX)]), None);
        let idle = "[0.005s][info][gc] Using G1\n";
        assert_eq!(within(idle, &[(0, u64::MAX)]), Some((0, 0, 0)));
    }

    #[test]
    fn lines_in_another_form_are_ignored() {
        for line in [
            "gc ",
            "gc 1 @",
            "gc x @1s 0%: 1+1+1 ms clock",
            "gc 1 @1s 0%: 1+1 ms clock",
            "gc 1 @-1s 0%: 1+1+1 ms clock",
            "gc 1 @NaNs 0%: inf+1+1 ms clock",
            "GC(1) Pause Young 5.0ms",
            "[] GC(1) Pause Young 5.0ms",
            "[x] GC(1) Pause Young 5.0ms",
            "[1s] GC(1) Pause 5ms",
            "[1s] GC(1) Pause Young 5",
            "[1s] GC(1) Pause Young 1e99ms",
            "[99999999999999999999999ns] GC(1) Pause Young 5ms",
            "[1s] Safepoint \"x\" 5 ns",
            "[1s",
            "] ",
            "[1s] GC(",
            "\u{0}",
        ] {
            assert!(pauses(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn only_the_longest_pauses_are_kept() {
        let log: String = (0..3 * PAUSES_MAX)
            .map(|i| format!("[{i}s] GC({i}) Pause Young (x) {i}ms\n"))
            .collect();
        let found = longest_pauses(log.as_bytes(), 0);
        assert_eq!(found.len(), PAUSES_MAX);
        assert!(
            found.iter().all(|p| p.duration_ns >= 2 * PAUSES_MAX as u64 * 1_000_000)
                && found.is_sorted_by_key(|p| p.at_ns)
        );
    }

    proptest! {
        #[test]
        fn random_bytes_neither_panic_nor_take_memory(bytes in prop::collection::vec(any::<u8>(), 0..2_000), started in any::<u64>()) {
            prop_assert!(longest_pauses(&bytes, started).len() <= PAUSES_MAX);
            let _ = sum_within(&bytes, started, &[(0, u64::MAX)]);
        }

        #[test]
        fn valid_words_in_any_order_neither_panic_nor_grow(
            words in prop::collection::vec(prop::sample::select(vec![
                "[", "]", "] ", "][", "1.5s", "18446744073709551615ns", "-3ms", "GC(", ") ", "Pause ", "Young ", "(", "ms", "gc ", " @", "s ", "%: ", "+",
                " ms clock", "1e308", "Safepoint \"", "\"", "Total: ", " ns", "\n", "é", "0.001",
            ]), 0..200),
            started in any::<u64>(),
        ) {
            for pause in longest_pauses(words.concat().as_bytes(), started) {
                prop_assert!(pause.kind.chars().count() <= KIND_MAX && pause.duration_ns as f64 <= LONGEST_NS);
            }
        }

        #[test]
        fn pause_printed_by_a_jvm_is_read_back(at_ms in 1_000u64..1_000_000, us in 100u64..900_000, name in "[A-Z][a-z]{1,10}") {
            let log = format!("[{}.{:03}s][info][gc] GC(7) Pause {name} (Cause) 9M->1M(9M) {}.{:03}ms\n", at_ms / 1000, at_ms % 1000, us / 1000, us % 1000);
            let found = longest_pauses(log.as_bytes(), u64::MAX);
            prop_assert_eq!(found.len(), 1);
            prop_assert!(found[0].duration_ns.abs_diff(us * 1000) <= 1 && (found[0].at_ns + found[0].duration_ns).abs_diff(at_ms * 1_000_000) <= 2);
            prop_assert_eq!(&found[0].kind, &format!("Pause {name}"));
        }
    }
}
