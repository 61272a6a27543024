//! Connections that are opened again and again, although the load would keep them.

use super::finding::{Detector, Finding, REQUESTS_MIN, Seen, by_block, typical};
use record::judgement::Picture;
use spec::experiment::Load;

/// The smallest number of connections per request, beyond needed and refused ones.
const SHARE_MIN: f64 = 0.10;

pub(super) static DETECTOR: Detector = Detector {
    kind: "connection-churn",
    sign: "connections are reopened although the load keeps them",
    threshold: "more than one new connection per 10 requests, beyond those in flight and those \
        refused",
    cause: "`Connection: close`, responses without a length",
    hint: "look for `Connection: close`, responses without a length, or a low limit of requests \
        per connection",
    find,
};

fn find(seen: &Seen<'_>) -> Option<Finding> {
    // Users keep their connections, though few of them may wait for a response at once.
    let of_users = if let Load::Users { users, pooled, .. } = seen.cell.load {
        u64::from(pooled.unwrap_or(users))
    } else {
        0
    };
    let showing = seen.in_half(|(_, m)| {
        let needed = m.generator.in_flight_max.max(of_users);
        let again =
            m.generator.connections_opened.saturating_sub(needed.saturating_add(m.counts.refused));
        let share = again as f64 / m.counts.settled().max(1) as f64;
        (m.counts.settled() >= REQUESTS_MIN && share > SHARE_MIN).then_some(share)
    })?;
    Some(Finding {
        sentence: format!(
            "{} connections were opened for every 100 requests, although the load keeps them: the contender closes them, and each new one costs a handshake",
            typical(&showing, |share| share * 100.0).round()
        ),
        picture: Picture {
            title: "Connections opened again".into(),
            x: "block".into(),
            y: "for every 100 requests".into(),
            bars: false,
            series: vec![(seen.contender.to_string(), by_block(&showing, |share| share * 100.0))],
            marks: vec![],
        },
    })
}
