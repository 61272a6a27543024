//! When a run may stop, and what each look at it allows.

use model::judgement::PlannedLook;
use stats::error_spending;

/// The share of the error that is spent where there is more than one look. Boundaries are computed for a known spread;
/// from few blocks, whose spread is estimated, they let pass about a tenth more than was planned (docs/simulation.md).
const SPENT_OF_SEVERAL: f64 = 0.9;

/// The looks at a run, one of them now: those that were planned before it, this one, those that are still to come,
/// and the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// In order; those up to now are taken.
    pub all: Vec<PlannedLook>,
    /// The one now; without a complete block, one that allows nothing.
    pub now: PlannedLook,
    /// The last one, at which all error may be spent.
    pub last: PlannedLook,
}

/// Looks at a run of at most `blocks` blocks of which `complete` are there. Error is spent by the share of
/// blocks (see [`error_spending`]) at every planned look and at this one, planned or not: whoever looks may stop. From `blocks` on, also
/// with spare blocks, there is one last look for all of them.
pub fn looks(planned: &[u32], blocks: u32, complete: u32, confidence: f64) -> Looks {
    let blocks = blocks.max(1);
    let mut at: Vec<u32> = planned.iter().copied().chain([complete, blocks]).map(|n| n.min(blocks)).filter(|n| *n > 0).collect();
    at.sort_unstable();
    at.dedup();
    let fractions: Vec<f64> = at.iter().map(|n| f64::from(*n) / f64::from(blocks)).collect();
    let alpha = 1.0 - confidence;
    // Looks too close together for the recursion share the error evenly, which is always safe.
    let confidences = |alpha: f64| match error_spending(&fractions, alpha) {
        Some(looks) => looks.iter().map(stats::Look::confidence).collect(),
        None => vec![1.0 - alpha / fractions.len() as f64; fractions.len()],
    };
    // The last look without others before it is at the confidence as written, free of rounding.
    let (wide, narrow) = match at.len() {
        1 => (vec![confidence], vec![2.0 * confidence - 1.0]),
        _ => (confidences(SPENT_OF_SEVERAL * alpha), confidences(SPENT_OF_SEVERAL * 2.0 * alpha)),
    };
    let all: Vec<PlannedLook> = at
        .iter()
        .zip(wide.iter().zip(&narrow))
        .map(|(n, (wide, narrow))| PlannedLook {
            // Spare blocks belong to the last look.
            blocks: if *n == blocks { complete.max(blocks) } else { *n },
            confidence: *wide,
            confidence_equivalence: *narrow,
            taken: *n <= complete,
        })
        .collect();
    let last = all[all.len() - 1];
    let nothing = PlannedLook { blocks: 0, confidence: 1.0, confidence_equivalence: 1.0, taken: true };
    let now = all.iter().rfind(|look| look.taken).copied().unwrap_or(nothing);
    Looks { all, now, last }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(looks: &Looks) -> Vec<(u32, bool)> {
        looks.all.iter().map(|l| (l.blocks, l.taken)).collect()
    }

    #[test]
    fn one_look_at_the_end_has_the_whole_confidence() {
        let found = looks(&[], 12, 12, 0.95);
        assert_eq!((found.now.confidence, found.now.confidence_equivalence), (0.95, 2.0 * 0.95 - 1.0));
        assert_eq!(at(&found), [(12, true)]);
    }

    #[test]
    fn three_looks_allow_little_early_and_nearly_all_at_the_end() {
        let found = looks(&[6, 9, 12], 12, 6, 0.95);
        assert_eq!(at(&found), [(6, true), (9, false), (12, false)]);
        for (look, planned) in found.all.iter().zip(error_spending(&[0.5, 0.75, 1.0], 0.045).unwrap()) {
            assert!((look.confidence - planned.confidence()).abs() < 1e-12, "{look:?}");
            assert!(look.confidence_equivalence < look.confidence);
        }
        assert_eq!((found.now, found.last), (found.all[0], found.all[2]));
    }

    #[test]
    fn a_look_that_was_not_planned_costs_as_one_that_was() {
        let found = looks(&[6, 12], 12, 8, 0.95);
        assert_eq!(at(&found), [(6, true), (8, true), (12, false)]);
        assert_eq!(found.now, found.all[1]);
        assert!(found.last.confidence > looks(&[6, 12], 12, 12, 0.95).now.confidence);
    }

    #[test]
    fn spare_blocks_belong_to_the_last_look() {
        let (planned, with_spare) = (looks(&[6, 9, 12], 12, 12, 0.95), looks(&[6, 9, 12], 12, 14, 0.95));
        assert_eq!(at(&with_spare), [(6, true), (9, true), (14, true)]);
        assert_eq!(planned.now.confidence, with_spare.now.confidence);
    }

    #[test]
    fn nothing_is_allowed_before_the_first_block_and_next_to_nothing_after_it() {
        assert_eq!(looks(&[6], 12, 0, 0.95).now.confidence, 1.0);
        assert_eq!(looks(&[], 100, 2, 0.95).now.confidence, 1.0);
        let close = looks(&[6, 7, 8], 100_000, 8, 0.95);
        assert!(close.now.confidence > 0.98, "{close:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn confidence_falls_from_look_to_look_and_never_below_the_written(planned in prop::collection::btree_set(1u32..40, 0..4), complete in 0u32..50) {
            let planned: Vec<u32> = planned.into_iter().collect();
            let found = looks(&planned, 40, complete, 0.95);
            prop_assert!(found.all.iter().all(|l| l.confidence >= 0.95 - 1e-9 && l.confidence_equivalence >= 0.90 - 1e-9));
            prop_assert!(found.all.windows(2).all(|pair| pair[0].blocks < pair[1].blocks && (pair[0].taken || !pair[1].taken)));
            prop_assert_eq!(found.last, *found.all.last().unwrap());
        }
    }
}
