//! Maximum latencies that pauses of the garbage collector explain.
//!
//! The slowest requests of a measurement are compared with the pauses that the collector logged. If
//! most of a request's extra time lies within pauses, they explain it. Start with [`find`].

use super::finding::{Detector, Finding, Measured, Seen, duration};
use record::Pause;
use record::judgement::Picture;
use spec::units::show_share;

/// Difference between clocks and logs: Go logs instants in whole milliseconds.
const TOLERANCE_NS: u64 = 2_000_000;
/// The smallest share of a request's time beyond the median that must lie within pauses.
const COVERED_MIN: f64 = 0.5;
/// The most seconds to compare: those with the highest maximum latencies.
const LONGEST_MAX: usize = 10;
/// A second counts if its maximum latency is at least this share of the overall maximum.
const NEAR_LONGEST: f64 = 0.5;
/// The maximum must be at least this multiple of the median, and exceed it by this time.
const TIMES_MEDIAN: f64 = 3.0;
const BEYOND_MEDIAN_NS: u64 = 1_000_000;
/// The program keeps running during a concurrent collection. To explain anything, it must cover
/// this multiple of the maxima that its share of the time would cover by chance.
const BEYOND_CHANCE: f64 = 2.0;
const CONCURRENT: &str = "concurrent mark";
/// The most pauses to mark in the chart.
const MARKS_MAX: usize = 5;

struct Explained {
    explained: usize,
    of: usize,
    longest_ns: u64,
    median_ns: u64,
    pause: Pause,
    share: f64,
}

pub(super) static DETECTOR: Detector = Detector {
    kind: "gc-pauses",
    sign: "the maximum latencies lie within the collector's pauses",
    threshold: "the maximum latency is at least 3 medians, and at least 1 ms beyond the median. \
        faceoff takes the ten seconds with the highest latencies, if these are at least half of \
        the maximum. In at least half of them, a request spent half of its time beyond the median \
        in pauses (± 2 ms). Go's concurrent marking counts if it explains twice what chance would",
    cause: "allocation, a small heap, a collector with long pauses",
    hint: "allocate less per request, use a larger heap, or use a collector with shorter pauses",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(explained)?;
    let sum = |of: &dyn Fn(&Explained) -> usize| showing.iter().map(|(_, e)| of(e)).sum::<usize>();
    let (measured, worst) = showing.iter().max_by_key(|(_, e)| e.longest_ns)?;
    Some(Finding {
        sentence: format!(
            "{} of the {} highest latencies (up to {}, median {}) lie within pauses of the garbage collector, such as \"{}\" of {}; \
             these took {} of the time",
            sum(&|e| e.explained),
            sum(&|e| e.of),
            duration(worst.longest_ns as f64),
            duration(worst.median_ns as f64),
            worst.pause.kind,
            duration(worst.pause.duration_ns as f64),
            show_share(worst.share),
        ),
        picture: picture(*measured),
    })
}

/// Lists the pauses that overlap a measurement, with their instants from its start.
fn during<'t>((trial, m): Measured<'t>) -> impl Iterator<Item = (i64, &'t Pause)> {
    let began = m.began_after_ns as i64;
    let within = move |at: i64, pause: &Pause| at < m.duration_ns as i64 && end(at, pause) > 0;
    trial
        .pauses
        .iter()
        .map(move |pause| ((pause.at_ns as i64).saturating_sub(began), pause))
        .filter(move |(at, pause)| within(*at, pause))
}

fn end(at: i64, pause: &Pause) -> i64 {
    at.saturating_add(pause.duration_ns.min(i64::MAX as u64) as i64)
}

fn explained(measured: Measured<'_>) -> Option<Explained> {
    let (_, m) = measured;
    if m.began_after_ns == 0 {
        return None;
    }
    let median_ns = m.times().quantile_ns(0.5);
    let mut longest: Vec<(u64, u64)> =
        m.seconds.iter().filter_map(|s| s.max_ns.zip(s.max_at_ns)).collect();
    longest.sort_unstable_by(|a, b| b.cmp(a));
    let longest_ns = longest.first()?.0;
    if (longest_ns as f64) < TIMES_MEDIAN * median_ns as f64
        || longest_ns.saturating_sub(median_ns) < BEYOND_MEDIAN_NS
    {
        return None;
    }
    longest.retain(|(ns, _)| *ns as f64 >= NEAR_LONGEST * longest_ns as f64);
    longest.truncate(LONGEST_MAX);
    let of = longest.len();
    let by = |pauses: &[(i64, &Pause)]| {
        let is_explained = |(ns, at): &&(u64, u64)| {
            let (from, to) = (
                at.saturating_sub(*ns).saturating_sub(TOLERANCE_NS),
                at.saturating_add(TOLERANCE_NS),
            );
            covered(pauses, from as i64, to as i64) as f64
                >= COVERED_MIN * ns.saturating_sub(median_ns) as f64
        };
        let explained = longest.iter().filter(is_explained).count();
        let share = covered(pauses, 0, m.duration_ns as i64) as f64 / m.duration_ns.max(1) as f64;
        let pause = pauses.iter().map(|(_, p)| *p).max_by_key(|p| p.duration_ns)?.clone();
        (2 * explained >= of && explained > 0).then_some(Explained {
            explained,
            of,
            longest_ns,
            median_ns,
            pause,
            share,
        })
    };
    let (all, stopped): (Vec<_>, Vec<_>) = (
        during(measured).collect(),
        during(measured).filter(|(_, p)| p.kind != CONCURRENT).collect(),
    );
    let beyond_chance = |e: &Explained| e.explained as f64 >= BEYOND_CHANCE * e.share * e.of as f64;
    by(&stopped).or_else(|| by(&all).filter(beyond_chance))
}

/// Returns how much of a period lies within pauses. Pauses are in order of their beginning, and may
/// overlap.
fn covered(pauses: &[(i64, &Pause)], from: i64, to: i64) -> u64 {
    let (mut sum, mut reached) = (0, from);
    for (at, pause) in pauses {
        let (begin, end) = ((*at).max(reached), end(*at, pause).min(to));
        if end > begin {
            sum += end.abs_diff(begin);
            reached = end;
        }
    }
    sum
}

fn picture(measured: Measured<'_>) -> Picture {
    let (seconds, ms) = (|ns: f64| ns / 1e9, |ns: u64| ns as f64 / 1e6);
    let mut pauses: Vec<(i64, &Pause)> = during(measured).collect();
    let stems = pauses.iter().flat_map(|(at, pause)| {
        let at = seconds((*at).max(0) as f64);
        [(at, 0.0), (at, ms(pause.duration_ns)), (at, 0.0)]
    });
    let stems = stems.collect();
    let maxima = measured
        .1
        .seconds
        .iter()
        .filter_map(|s| Some((seconds(s.max_at_ns? as f64), ms(s.max_ns?))))
        .collect();
    pauses.sort_by_key(|(_, pause)| std::cmp::Reverse(pause.duration_ns));
    pauses.truncate(MARKS_MAX);
    pauses.sort_by_key(|(at, _)| *at);
    Picture {
        title: "Maximum latency of each second, and the collector's pauses".into(),
        x: "time, s".into(),
        y: "ms".into(),
        bars: false,
        series: vec![("maximum latency".into(), maxima), ("pauses".into(), stems)],
        marks: pauses
            .iter()
            .map(|(at, pause)| (seconds((*at).max(0) as f64), pause.kind.clone()))
            .collect(),
    }
}
