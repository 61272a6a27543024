//! Nagle's algorithm together with delayed acknowledgements (RFC 896; RFC 1122, 4.2.3.2).
//!
//! The second of two small writes waits for an acknowledgement that the receiver delays by 40 ms on
//! Linux. Then a group of service times is just above 40 ms, and hardly any are just below.

use super::finding::{Detector, Finding, REQUESTS_MIN, Seen, bars, typical};
use record::judgement::Picture;
use spec::units::show_share;
use stats::Histogram;

const MS: u64 = 1_000_000;
/// The range of such service times: Linux delays an acknowledgement by at least 40 ms, and its
/// timers tick every 1 to 10 ms.
const FLOOR: (u64, u64) = (38 * MS, 48 * MS);
/// The range that is nearly empty.
const GAP: (u64, u64) = (20 * MS, 36 * MS);
/// The smallest share of such service times.
const SHARE_MIN: f64 = 0.10;
/// The largest number of samples in the gap, per sample at the floor.
const GAP_MAX: f64 = 0.25;

pub(super) static DETECTOR: Detector = Detector {
    kind: "delayed-ack",
    sign: "a floor of 40 ms on persistent connections",
    threshold: "at least 10 % of service times are from 38 to 48 ms. From 20 to 36 ms there is at \
        most a quarter of that, and some are below 20 ms. At most one connection was opened per \
        two requests",
    cause: "Nagle with delayed acknowledgements: two small writes without TCP_NODELAY",
    hint: "send head and body in one write, or set TCP_NODELAY",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(|(_, m)| {
        let (times, all) = (&m.service, m.service.len());
        let at_floor = times.count_between(FLOOR.0, FLOOR.1);
        let share = at_floor as f64 / all.max(1) as f64;
        // A new connection is acknowledged at once. A contender without quick responses is only
        // slow.
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
        sentence: format!(
            "{} of the service times lie between 38 and 48 ms and hardly any from 20 to 36 ms, on connections that are kept: \
             the second of two small writes waits (Nagle) for an acknowledgement that the other side delays by 40 ms",
            show_share(typical(&showing, |share| *share))
        ),
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
