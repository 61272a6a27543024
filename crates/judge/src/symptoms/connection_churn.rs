//! Connections that are opened anew again and again, although the load would keep them.

use super::{Finding, REQUESTS_MIN, Seen, by_block, typical};
use model::{experiment::Load, judgement::Picture};

/// So many connections a request, beyond those that the load needs and those that were refused.
const SHARE_MIN: f64 = 0.10;

pub(super) fn find(seen: &Seen<'_>) -> Option<Finding> {
    // Users keep their connections, though few of them may wait for an answer at once.
    let of_users = if let Load::Users { users, pooled, .. } = seen.cell.load { u64::from(pooled.unwrap_or(users)) } else { 0 };
    let showing = seen.in_half(|(_, m)| {
        let needed = m.generator.in_flight_max.max(of_users);
        let again = m.generator.connections_opened.saturating_sub(needed.saturating_add(m.counts.refused));
        let share = again as f64 / m.counts.settled().max(1) as f64;
        (m.counts.settled() >= REQUESTS_MIN && share > SHARE_MIN).then_some(share)
    })?;
    Some(Finding {
        kind: "connection-churn",
        sentence: format!(
            "{} connections were opened for every 100 requests, although the load keeps them: it closes them, and each new one costs a handshake",
            typical(&showing, |share| share * 100.0).round()
        ),
        hint: "look for `Connection: close`, answers without a length, or a low limit of requests for each connection",
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
