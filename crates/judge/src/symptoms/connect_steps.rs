//! A listen queue that overflows.
//!
//! The kernel drops the SYN, and the client repeats it after 1 s, then 2 s, then 4 s (RFC 6298, as
//! in Linux). So connecting takes 1, 3 or 7 s, and the times show these steps.

use super::finding::{Detector, Finding, Seen, bars, typical};
use record::judgement::Picture;
use spec::units::show_share;
use stats::Histogram;

const MS: u64 = 1_000_000;
/// How long a connection takes whose SYN was dropped once, twice or three times.
const STEPS: [(u64, u64); 3] =
    [(950 * MS, 1_600 * MS), (2_900 * MS, 4_000 * MS), (6_800 * MS, 9_000 * MS)];
/// The smallest share of such connections.
const SHARE_MIN: f64 = 0.01;

pub(super) static DETECTOR: Detector = Detector {
    kind: "connect-steps",
    sign: "connecting takes 1, 3 or 7 s",
    threshold: "at least 1 % of connections take 0.95–1.6, 2.9–4 or 6.8–9 s",
    cause: "dropped SYNs that the client retries: a full backlog",
    hint: "accept connections sooner, or with a longer backlog (and net.core.somaxconn); `nstat \
        TcpExtListenOverflows` counts the dropped ones",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    let showing = seen.in_half(|(_, m)| {
        let connect = m.generator.connect.as_ref().filter(|connect| !connect.is_empty())?;
        let late = STEPS.iter().map(|(from, to)| connect.count_between(*from, *to)).sum::<u64>();
        let share = late as f64 / connect.len() as f64;
        (late > 0 && share >= SHARE_MIN).then_some((share, late as f64))
    })?;
    let mut times = Histogram::new();
    showing
        .iter()
        .filter_map(|((_, m), _)| m.generator.connect.as_ref())
        .for_each(|connect| times.merge(connect));
    Some(Finding {
        sentence: format!(
            "{} of the connections ({} per measurement) took 1, 3 or 7 s to open: the kernel dropped the first packet, \
             most often because the listen queue was full, and the client repeated it after a timeout",
            show_share(typical(&showing, |found| found.0)),
            typical(&showing, |found| found.1).round()
        ),
        picture: Picture {
            title: "How long connecting took".into(),
            x: "time to connect, s".into(),
            y: "share of connections, %".into(),
            bars: true,
            series: vec![(seen.contender.to_string(), bars(&times, 250 * MS, 32))],
            marks: vec![(1.0, "1 s".into()), (3.0, "3 s".into()), (7.0, "7 s".into())],
        },
    })
}
