//! In which order trials and cells run: random within each block, fixed by the seed.

use model::experiment::Cell;
use model::name::ContenderName;

/// Streams of the seed from here on shuffle cells; those below shuffle blocks.
const CELL_STREAMS: u64 = 1 << 32;

/// For each block, everybody once in random order.
pub fn blocks(everybody: &[ContenderName], blocks: u32, seed: u64) -> Vec<Vec<ContenderName>> {
    (0..u64::from(blocks))
        .map(|block| {
            let mut order = everybody.to_vec();
            stats::shuffle(&mut order, seed, block);
            order
        })
        .collect()
}

/// The order of cells within one trial, given its block and position, both from 1. Turns follow each other.
pub fn cells(cells: &[Cell], seed: u64, block: u32, position: u32) -> Vec<&Cell> {
    let mut firsts: Vec<&Cell> = cells.iter().filter(|cell| cell.after.is_none()).collect();
    stats::shuffle(&mut firsts, seed, CELL_STREAMS + u64::from(block) * 1_000 + u64::from(position));
    let next = |before: &&Cell| cells.iter().find(|cell| cell.after.as_deref() == Some(before.name.as_str()));
    firsts.into_iter().flat_map(|first| std::iter::successors(Some(first), next)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<ContenderName> {
        all.iter().map(|n| n.parse().unwrap()).collect()
    }

    #[test]
    fn every_block_has_everybody_once_and_the_seed_fixes_the_order() {
        let everybody = names(&["a", "b", "c:x"]);
        let plan = blocks(&everybody, 20, 7);
        assert_eq!(plan, blocks(&everybody, 20, 7));
        assert_ne!(plan, blocks(&everybody, 20, 8));
        for block in &plan {
            let mut sorted = block.clone();
            sorted.sort();
            assert_eq!(sorted, everybody);
        }
        assert!(everybody.iter().all(|n| plan.iter().any(|b| b[0] == *n)), "nobody is always late");
    }

    #[test]
    fn turns_follow_each_other_wherever_they_come() {
        let cell = |name: &str, after: Option<&str>| Cell {
            name: name.into(),
            workload: "w".into(),
            with: Default::default(),
            driver: None,
            truth: None,
            load: model::experiment::Load::closed(1),
            timeout: std::time::Duration::from_secs(1),
            warmup: std::time::Duration::ZERO,
            after: after.map(str::to_owned),
            sweep: None,
        };
        let all = [cell("a", None), cell("c-3", Some("c-2")), cell("c-1", None), cell("c-2", Some("c-1")), cell("b", None)];
        let mut places = std::collections::BTreeSet::new();
        for block in 1..=30 {
            let order: Vec<&str> = cells(&all, 7, block, 1).iter().map(|cell| cell.name.as_str()).collect();
            let at = order.iter().position(|name| *name == "c-1").unwrap();
            assert_eq!((order.len(), &order[at..at + 3]), (5, &["c-1", "c-2", "c-3"][..]));
            places.insert(at);
        }
        assert_eq!(places.len(), 3, "first, second and last");
    }

    #[test]
    fn a_longer_plan_begins_like_a_shorter_one() {
        let everybody = names(&["a", "b", "c", "d"]);
        assert_eq!(blocks(&everybody, 12, 1)[..6], blocks(&everybody, 6, 1)[..]);
    }
}
