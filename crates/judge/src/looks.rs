//! When a run may stop, and how certain a verdict must be at each look (interim analysis).
//!
//! Each look spends a part of the error that the design allows, so that several looks together err
//! no more often than one. Start with [`looks`].

use record::Record;
use record::judgement::PlannedLook;
use spec::experiment::Design;
use stats::{anytime_confidence, error_spending};

/// The share of the error that is spent if there is more than one look. Boundaries are computed for
/// a known spread. A few blocks only estimate it, which adds about a tenth to the error
/// (docs/evidence/simulation.md).
const SPENT_OF_SEVERAL: f64 = 0.9;

/// The looks at a run: earlier ones, the current one, later ones and the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// All looks in order. Those up to now are marked as taken.
    pub all: Vec<PlannedLook>,
    /// The current look. Without a complete block it can decide nothing.
    pub now: PlannedLook,
    /// The last look, at which all error may be spent.
    pub last: PlannedLook,
}

/// Returns the looks at a run of at most `blocks` blocks of which `complete` are complete.
///
/// Error is spent by the share of blocks (see [`error_spending`]) at every planned look and at the
/// current one, because the run may stop at any of them. From `blocks` on, also with spare blocks,
/// there is one last look for all of them.
pub fn looks(planned: &[u32], blocks: u32, complete: u32, confidence: f64) -> Looks {
    let blocks = blocks.max(1);
    let mut at: Vec<u32> = planned
        .iter()
        .copied()
        .chain([complete, blocks])
        .map(|n| n.min(blocks))
        .filter(|n| *n > 0)
        .collect();
    at.sort_unstable();
    at.dedup();
    let fractions: Vec<f64> = at.iter().map(|n| f64::from(*n) / f64::from(blocks)).collect();
    let alpha = 1.0 - confidence;
    // Looks that are too close together for the recursion share the error evenly, which is safe.
    let confidences = |alpha: f64| match error_spending(&fractions, alpha) {
        Some(looks) => looks.iter().map(stats::Look::confidence).collect(),
        None => vec![1.0 - alpha / fractions.len() as f64; fractions.len()],
    };
    // A single look has exactly the confidence of the design, without rounding.
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
    let nothing =
        PlannedLook { blocks: 0, confidence: 1.0, confidence_equivalence: 1.0, taken: true };
    let now = all.iter().rfind(|look| look.taken).copied().unwrap_or(nothing);
    Looks { all, now, last }
}

/// Returns the looks at a run that is judged after every block, for as long as it takes: the
/// current one and the last possible one.
pub fn looks_always(blocks: u32, complete: u32, confidence: f64) -> Looks {
    let at = |n: u32, taken: bool| PlannedLook {
        blocks: n,
        confidence: anytime_confidence(n as usize, 1.0 - confidence),
        confidence_equivalence: anytime_confidence(n as usize, 2.0 * (1.0 - confidence)),
        taken,
    };
    let (now, last) = (at(complete, true), at(blocks.max(complete).max(1), complete >= blocks));
    let all = if complete > 0 && complete < blocks { vec![now, last] } else { vec![last] };
    Looks { all, now, last }
}

/// Returns the looks at a record as it is now.
pub(crate) fn looks_of_record(record: &Record) -> Looks {
    let Design { looks: planned, look_always, blocks, confidence, .. } =
        &record.header.experiment.design;
    match look_always {
        true => looks_always(*blocks, record.complete_blocks(), *confidence),
        false => looks(planned, *blocks, record.complete_blocks(), *confidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(looks: &Looks) -> Vec<(u32, bool)> {
        looks.all.iter().map(|l| (l.blocks, l.taken)).collect()
    }

    #[test]
    fn single_look_has_the_design_confidence() {
        let found = looks(&[], 12, 12, 0.95);
        assert_eq!(
            (found.now.confidence, found.now.confidence_equivalence),
            (0.95, 2.0 * 0.95 - 1.0)
        );
        assert_eq!(at(&found), [(12, true)]);
    }

    #[test]
    fn three_looks_spend_little_error_early() {
        let found = looks(&[6, 9, 12], 12, 6, 0.95);
        assert_eq!(at(&found), [(6, true), (9, false), (12, false)]);
        for (look, planned) in
            found.all.iter().zip(error_spending(&[0.5, 0.75, 1.0], 0.045).unwrap())
        {
            assert!((look.confidence - planned.confidence()).abs() < 1e-12, "{look:?}");
            assert!(look.confidence_equivalence < look.confidence);
        }
        assert_eq!((found.now, found.last), (found.all[0], found.all[2]));
    }

    #[test]
    fn unplanned_look_spends_error_too() {
        let found = looks(&[6, 12], 12, 8, 0.95);
        assert_eq!(at(&found), [(6, true), (8, true), (12, false)]);
        assert_eq!(found.now, found.all[1]);
        assert!(found.last.confidence > looks(&[6, 12], 12, 12, 0.95).now.confidence);
    }

    #[test]
    fn spare_blocks_belong_to_the_last_look() {
        let (planned, with_spare) =
            (looks(&[6, 9, 12], 12, 12, 0.95), looks(&[6, 9, 12], 12, 14, 0.95));
        assert_eq!(at(&with_spare), [(6, true), (9, true), (14, true)]);
        assert_eq!(planned.now.confidence, with_spare.now.confidence);
    }

    #[test]
    fn first_blocks_can_decide_almost_nothing() {
        assert_eq!(looks(&[6], 12, 0, 0.95).now.confidence, 1.0);
        assert_eq!(looks(&[], 100, 2, 0.95).now.confidence, 1.0);
        let close = looks(&[6, 7, 8], 100_000, 8, 0.95);
        assert!(close.now.confidence > 0.98, "{close:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn confidence_falls_but_not_below_the_design(planned in prop::collection::btree_set(1u32..40, 0..4), complete in 0u32..50) {
            let planned: Vec<u32> = planned.into_iter().collect();
            let found = looks(&planned, 40, complete, 0.95);
            prop_assert!(found.all.iter().all(|l| l.confidence >= 0.95 - 1e-9 && l.confidence_equivalence >= 0.90 - 1e-9));
            prop_assert!(found.all.windows(2).all(|pair| pair[0].blocks < pair[1].blocks && (pair[0].taken || !pair[1].taken)));
            prop_assert_eq!(found.last, *found.all.last().unwrap());
        }
    }
}
