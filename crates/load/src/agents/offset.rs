//! Measures how far the clock of another machine is ahead of ours.

use serde::{Deserialize, Serialize};

/// One reading of another clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When it was requested, by our clock.
    pub asked_ns: u64,
    /// The other clock's time.
    pub theirs_ns: u64,
    /// When the reply arrived, by our clock.
    pub answered_ns: u64,
}

/// How far another clock is ahead of ours.
///
/// The other clock was read at some instant between request and reply. The error of the offset is
/// therefore at most half the time between them. The fastest exchange is the most precise
/// (Cristian, "Probabilistic clock synchronization", *Distributed Computing* 3, 1989).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Their clock minus ours, in nanoseconds.
    pub ns: i64,
    /// The largest possible error.
    pub error_ns: u64,
}

impl Offset {
    /// Computes the offset from several exchanges. `None` if there are none.
    pub fn from_exchanges(exchanges: &[Exchange]) -> Option<Offset> {
        let took = |exchange: &Exchange| exchange.answered_ns.checked_sub(exchange.asked_ns);
        let sound = exchanges.iter().filter_map(|exchange| Some((took(exchange)?, exchange)));
        let (took_ns, best) = sound.min_by_key(|(took_ns, _)| *took_ns)?;
        let error_ns = took_ns.div_ceil(2);
        let ns = i128::from(best.theirs_ns) - i128::from(best.asked_ns) - i128::from(took_ns / 2);
        Some(Offset { ns: ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64, error_ns })
    }

    /// Converts an instant of our clock to theirs.
    pub fn theirs(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.ns)
    }

    /// Returns by how much the clocks drifted between two offsets, beyond what errors can explain.
    pub fn drift_ns(self, later: Offset) -> u64 {
        self.ns.abs_diff(later.ns).saturating_sub(self.error_ns.saturating_add(later.error_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fastest_exchange_determines_the_offset() {
        let slow = Exchange { asked_ns: 1_000, theirs_ns: 5_900, answered_ns: 2_000 };
        let quick = Exchange { asked_ns: 3_000, theirs_ns: 7_050, answered_ns: 3_100 };
        assert_eq!(
            Offset::from_exchanges(&[slow, quick]),
            Some(Offset { ns: 4_000, error_ns: 50 })
        );
        assert_eq!(Offset::from_exchanges(&[]), None);
        let backwards = Exchange { asked_ns: 2, theirs_ns: 1, answered_ns: 1 };
        assert_eq!(Offset::from_exchanges(&[backwards]), None);
    }

    #[test]
    fn drift_excludes_the_errors_of_both_offsets() {
        let (before, after) = (Offset { ns: -100, error_ns: 30 }, Offset { ns: 50, error_ns: 20 });
        assert_eq!(
            (before.drift_ns(after), after.drift_ns(before), before.drift_ns(before)),
            (100, 100, 0)
        );
        assert_eq!((before.theirs(1_000), before.theirs(1)), (900, 0));
    }

    proptest! {
        /// Whatever the times to and fro, the truth is within the error.
        #[test]
        fn true_offset_is_within_the_error(
            ahead in -1_000_000_000_000i64..1_000_000_000_000, ways in prop::collection::vec((0u64..5_000_000, 0u64..5_000_000), 1..20),
        ) {
            let mut now = 2_000_000_000_000u64;
            let exchanges: Vec<Exchange> = ways
                .into_iter()
                .map(|(there, back)| {
                    let asked_ns = now;
                    now += there + back;
                    Exchange { asked_ns, theirs_ns: (asked_ns + there).saturating_add_signed(ahead), answered_ns: now }
                })
                .collect();
            let offset = Offset::from_exchanges(&exchanges).unwrap();
            prop_assert!(offset.ns.abs_diff(ahead) <= offset.error_ns, "{:?} of {}", offset, ahead);
            prop_assert!(offset.theirs(now).abs_diff(now.saturating_add_signed(ahead)) <= offset.error_ns);
        }
    }
}
