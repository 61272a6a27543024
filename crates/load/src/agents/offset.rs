//! How far the clock of another machine is ahead of ours.

use serde::{Deserialize, Serialize};

/// A question to another clock: when it was asked, what that clock showed, when the answer was here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// By our clock.
    pub asked_ns: u64,
    /// By the other clock.
    pub theirs_ns: u64,
    /// By our clock.
    pub answered_ns: u64,
}

/// How far another clock is ahead of ours.
///
/// The other clock was read at some instant between question and answer; so its distance is known to half the time between them,
/// and best by the quickest exchange (Cristian, "Probabilistic clock synchronization", *Distributed Computing* 3, 1989).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// Their clock less ours, in nanoseconds.
    pub ns: i64,
    /// It is not farther from the truth than this.
    pub error_ns: u64,
}

impl Offset {
    /// What several exchanges say; `None` of none.
    pub fn of(exchanges: &[Exchange]) -> Option<Offset> {
        let took = |exchange: &Exchange| exchange.answered_ns.checked_sub(exchange.asked_ns);
        let sound = exchanges.iter().filter_map(|exchange| Some((took(exchange)?, exchange)));
        let (took_ns, best) = sound.min_by_key(|(took_ns, _)| *took_ns)?;
        let error_ns = took_ns.div_ceil(2);
        let ns = i128::from(best.theirs_ns) - i128::from(best.asked_ns) - i128::from(took_ns / 2);
        Some(Offset { ns: ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64, error_ns })
    }

    /// What their clock shows at an instant of ours.
    pub fn theirs(self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.ns)
    }

    /// By how much the clocks have gone apart from this to a later offset, as far as errors cannot explain it.
    pub fn drift_ns(self, later: Offset) -> u64 {
        self.ns.abs_diff(later.ns).saturating_sub(self.error_ns.saturating_add(later.error_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_quickest_exchange_says_most() {
        let slow = Exchange { asked_ns: 1_000, theirs_ns: 5_900, answered_ns: 2_000 };
        let quick = Exchange { asked_ns: 3_000, theirs_ns: 7_050, answered_ns: 3_100 };
        assert_eq!(Offset::of(&[slow, quick]), Some(Offset { ns: 4_000, error_ns: 50 }));
        assert_eq!(Offset::of(&[]), None);
        let backwards = Exchange { asked_ns: 2, theirs_ns: 1, answered_ns: 1 };
        assert_eq!(Offset::of(&[backwards]), None);
    }

    #[test]
    fn clocks_drift_by_what_errors_do_not_explain() {
        let (before, after) = (Offset { ns: -100, error_ns: 30 }, Offset { ns: 50, error_ns: 20 });
        assert_eq!((before.drift_ns(after), after.drift_ns(before), before.drift_ns(before)), (100, 100, 0));
        assert_eq!((before.theirs(1_000), before.theirs(1)), (900, 0));
    }

    proptest! {
        /// Whatever the way there and back took: the truth lies within the error.
        #[test]
        fn the_truth_lies_within_the_error(
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
            let offset = Offset::of(&exchanges).unwrap();
            prop_assert!(offset.ns.abs_diff(ahead) <= offset.error_ns, "{:?} of {}", offset, ahead);
            prop_assert!(offset.theirs(now).abs_diff(now.saturating_add_signed(ahead)) <= offset.error_ns);
        }
    }
}
