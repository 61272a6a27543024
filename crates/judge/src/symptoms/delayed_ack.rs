//! Nagle's algorithm meets delayed acknowledgements: RFC 896 and RFC 1122 (4.2.3.2), 40 ms on Linux.

use super::{Finding, REQUESTS_MIN, Seen, bars, typical};
use model::judgement::Picture;
use model::units::show_share;
use stats::Histogram;

const MS: u64 = 1_000_000;
/// Where such service times lie: Linux's shortest delay of an acknowledgement is 40 ms, its timers tick each 1 to 10 ms.
const FLOOR: (u64, u64) = (38 * MS, 48 * MS);
/// Hardly anything lies here.
const GAP: (u64, u64) = (20 * MS, 36 * MS);
/// So many of the service times, at least.
const SHARE_MIN: f64 = 0.10;
/// Most samples in the gap, for each at the floor.
const GAP_MAX: f64 = 0.25;

pub(super) fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(|(_, m)| {
        let (times, all) = (&m.service, m.service.len());
        let at_floor = times.count_between(FLOOR.0, FLOOR.1);
        let share = at_floor as f64 / all.max(1) as f64;
        // A connection that was just opened is still acknowledged at once: whoever is never quick is only slow.
        let is_shown = all >= REQUESTS_MIN
            && share >= SHARE_MIN
            && times.count_between(GAP.0, GAP.1) as f64 <= GAP_MAX * at_floor as f64
            && times.min_ns() < GAP.0
            && m.generator.connections_opened <= all / 2;
        is_shown.then_some(share)
    })?;
    let mut times = Histogram::new();
    showing.iter().for_each(|((_, m), _)| times.merge(&m.service));
    Some(Finding {
        kind: "delayed-ack",
        sentence: format!(
            "{} of the service times lie between 38 and 48 ms and hardly any from 20 to 36 ms, on connections that are kept: \
             the second of two small writes waits (Nagle) for an acknowledgement that the other side puts off for 40 ms",
            show_share(typical(&showing, |share| *share))
        ),
        hint: "send head and body in one write, or set TCP_NODELAY",
        picture: Picture {
            title: "Service times".into(),
            x: "service time, ms".into(),
            y: "share of requests, %".into(),
            bars: true,
            series: vec![(seen.contender.to_string(), bars(&times, 2 * MS, 30))],
            marks: vec![(40.0, "40 ms".into())],
        },
    })
}
